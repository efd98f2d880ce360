"""Patching: what a network sees of faces place by place, found again or made; torch is loaded by the functions.

The last encoders and their caches stay in the process, so that a second question does not load the model again. For one
thread at a time.

Shapes      maps (C, rows, columns) float32, rounded as the cache keeps them; fed pictures (height, width, 3) uint8
"""

from __future__ import annotations

import multiprocessing
import os
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from facelens.errors import InputError
from facelens.features.card import Card
from facelens.features.feed import feed_face, placed_face
from facelens.features.patches import BLOCK, Maps, PatchCache
from facelens.features.store import fingerprint, picture_keys
from facelens.images import quarantine
from facelens.images.decode import PictureError
from facelens.images.faceset import FaceSet, Ids, Rows
from facelens.images.occlusion import CLEAR, Occlusion, moved, painted
from facelens.images.quarantine import Guard
from facelens.progress import Tick, silent
from facelens.words import escaped, tr

if TYPE_CHECKING:
    from facelens.features.encoder import Encoder
    from facelens.features.library import Inspection

MEMORY = 64 << 20  # bytes of maps of one layer; what is asked for again and again is kept ready by who asks
TOGETHER = 32  # painted pictures that are encoded at once
ENCODERS, CACHES, LOOKS, CROPS = 2, 4, 32, 256  # how many of each stay

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


@dataclass(frozen=True)
class Model:
    """A model file and how it is fed; None: by the card beside it, or as it looks."""

    path: Path
    card: Card | None = None
    consents: Path | None = None  # the book of trusted programs


class Network(NamedTuple):
    """A model ready to be asked for patches; its card names the layer."""

    encoder: Encoder
    seen: Inspection

    @property
    def card(self) -> Card:
        """How it is fed."""
        return self.encoder.card


class Found(NamedTuple):
    """Maps by face id, and the pictures that gave none with the reason."""

    maps: dict[int, Maps]
    skipped: tuple[tuple[int, str], ...] = ()


class Shown(NamedTuple):
    """One face as a network is shown it."""

    crop: NDArray[np.uint8]
    points: NDArray[np.float64] | None  # (5, 2) in pixels of the crop, where they are known or the template has them


class Look(NamedTuple):
    """What a network made of one face."""

    shown: Shown
    vector: NDArray[np.float32]  # (D,) as the model gives it
    map: Maps


class Recent(Generic[Key, Value]):
    """The last few things that were made."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._kept: OrderedDict[Key, Value] = OrderedDict()

    def get(self, key: Key, make: Callable[[], Value]) -> Value:
        """The thing of that name, made where it is not there."""
        if key not in self._kept:
            while len(self._kept) >= self._count:  # before another is made: networks are large
                self._kept.popitem(last=False)
            self._kept[key] = make()
        self._kept.move_to_end(key)
        return self._kept[key]

    def clear(self) -> None:
        """Forget all."""
        self._kept.clear()


_encoders: Recent[tuple[object, ...], Network] = Recent(ENCODERS)
_caches: Recent[tuple[Path, str, str], PatchCache] = Recent(CACHES)
_looks: Recent[tuple[object, ...], Look] = Recent(LOOKS)
_crops: Recent[tuple[object, ...], Shown] = Recent(CROPS)


def forget() -> None:
    """Let go of everything that stays in the process."""
    for kept in (_encoders, _caches, _looks, _crops):
        kept.clear()


def network(model: Model, *, layer: str = "", patches: bool = True) -> Network:
    """The model with `layer` as its patch map, "" for the one its card names; with `patches` it must have one."""
    from facelens.features.checkpoint import TORCHSCRIPT

    try:
        state = model.path.stat()
    except OSError as error:
        raise InputError(
            tr("{name} cannot be read: {reason}.", name=escaped(model.path.name), reason=error.strerror or ""),
            hint=tr("Open the model again."),
        ) from None
    digest = None if model.card is None else (model.card.digest, model.card.patch_layer)
    key = (model.path.absolute(), state.st_size, state.st_mtime_ns, digest, layer)
    found = _encoders.get(key, lambda: _loaded(model, layer))
    if patches and not found.seen.card.patch_layer and found.seen.kind != TORCHSCRIPT:
        raise _none(found.card)
    return found


def _loaded(model: Model, layer: str) -> Network:
    from facelens.features import library
    from facelens.features.checkpoint import ConsentBook, nobody

    trusted = ConsentBook(model.consents) if model.consents else nobody
    card = model.card
    if layer and card is None:
        card = library.inspect(model.path, consents=trusted).card
    if layer and card is not None and layer != card.patch_layer:
        card = card.changed(patch_layer=layer, grid=None)
    return Network(*library.encoder(model.path, card=card, consents=trusted))


def _none(card: Card) -> InputError:
    return InputError(
        tr("{name} has no patch map.", name=escaped(card.name)),
        hint=tr("Choose a patch layer in its model card, or another model."),
    )


def cache(faces: FaceSet, net: Network, folder: Path) -> PatchCache:
    """Where the maps of a gallery by a network are kept."""
    name = fingerprint(faces, weights=net.seen.sha256, card=net.seen.card)
    layer = net.seen.card.patch_layer
    return _caches.get((folder, name, layer), lambda: PatchCache(folder, name, layer=layer, memory=MEMORY))


def maps(
    faces: FaceSet, rows: Rows, net: Network, *, folder: Path, quarantined: Path | None = None, tick: Tick = silent
) -> Found:
    """The maps of the faces at `rows`; those that are not kept in `folder` are made, in batches.

    Cancelling keeps what was made. Pictures that cannot be read are named; `quarantined` is where those are written
    down that crash the decoder.
    """
    kept = cache(faces, net, folder)
    keys = picture_keys(faces, rows)
    found, missing = kept.get(faces.ids[rows], keys=keys)
    if not len(missing):
        return Found(found)
    skipped: list[tuple[int, str]] = []
    waiting: list[tuple[Ids, Maps, NDArray[np.uint64]]] = []

    def keep() -> None:
        if waiting:
            ids, made, states = (np.concatenate(part) for part in zip(*waiting))
            found.update(zip(ids.tolist(), kept.put(ids, made, keys=states)))
            waiting.clear()

    from facelens.features import extract

    todo, done = faces.rows_of(missing), 0
    note = tr("Looking at patches")
    tick(0, len(todo), note)
    try:
        with (
            _guarded(faces, quarantined) as guard,
            extract.encoding(faces, todo, net.encoder, patches=True, guard=guard) as run,
        ):
            for fed, told in run.batches:
                skipped += [(int(faces.ids[row]), reason) for row, reason in fed.bad]
                if told is not None:
                    if told.patches is None:
                        raise _none(net.card)
                    waiting.append((faces.ids[fed.rows], told.patches, fed.keys))
                    if sum(made.nbytes for _, made, _ in waiting) >= 2 * BLOCK:  # half of it on disk
                        keep()
                done += len(fed.rows) + len(fed.bad)
                tick(done, len(todo), note)
    finally:
        keep()
    return Found(found, tuple(skipped))


def look(
    faces: FaceSet, row: int, net: Network, *, occlusion: Occlusion = CLEAR, quarantined: Path | None = None
) -> Look:
    """One face as the network sees it, with something painted on it or not."""

    def made() -> Look:
        seen = shown(faces, row, net.card, occlusion=occlusion, quarantined=quarantined)
        return _seen([seen], net)[0]

    model = (net.seen.sha256, net.seen.card.patch_layer)
    return _looks.get((*_name(faces, row, net.card), *model, occlusion), made)


def looks(
    faces: FaceSet,
    rows: Rows,
    net: Network,
    *,
    occlusion: Occlusion = CLEAR,
    quarantined: Path | None = None,
    tick: Tick = silent,
) -> list[Look | str]:
    """Several faces as the network sees them, in the order of `rows`; the reason where there is no picture."""
    found: list[Look | str] = []

    def worn(row: int) -> Shown | str:
        plain = _shown(faces, row, net.card, guard)
        return plain if isinstance(plain, str) else _painted(plain, occlusion, face=int(faces.ids[row]))

    with _guarded(faces, quarantined) as guard, ThreadPoolExecutor(max(2, os.cpu_count() or 2), "feed") as pool:
        for start in range(0, len(rows), TOGETHER):
            tick(start, len(rows))
            some = rows[start : start + TOGETHER].tolist()
            fed = list(pool.map(worn, some))
            told = iter(_seen([one for one in fed if isinstance(one, Shown)], net))
            found += [next(told) if isinstance(one, Shown) else one for one in fed]
    return found


def _seen(pictures: Sequence[Shown], net: Network) -> list[Look]:
    if not pictures:
        return []
    from facelens.features.encoder import pool

    given = np.stack([one.crop for one in pictures])
    if len(given) == 1:  # cores that share one picture wait for each other
        told = pool(1).submit(net.encoder, given, patches=True).result()
    else:
        told = net.encoder(given, patches=True)
    if told.patches is None:
        raise _none(net.card)
    return [Look(*each) for each in zip(pictures, told.vectors, told.patches)]


def shown(
    faces: FaceSet, row: int, card: Card, *, occlusion: Occlusion = CLEAR, quarantined: Path | None = None
) -> Shown:
    """One face as a network is shown it, and its five points there; PictureError where no picture comes out."""

    def made() -> Shown:
        if not occlusion.clear:
            plain = shown(faces, row, card, quarantined=quarantined)
            return _painted(plain, occlusion, face=int(faces.ids[row]))
        with _guarded(faces, quarantined) as guard:
            found = _shown(faces, row, card, guard)
        if isinstance(found, str):
            message = tr("{name} cannot be shown to a network: {why}.", name=faces.file_name(row), why=found)
            raise PictureError(message, reason=found, hint=tr("Run the doctor on this gallery."))
        return found

    return _crops.get((*_name(faces, row, card), occlusion), made)


def _shown(faces: FaceSet, row: int, card: Card, guard: Guard) -> Shown | str:
    """The face as it is, or why there is none."""
    if why := guard.why(row):
        return why
    try:
        with guard.reading(row):
            return Shown(feed_face(faces, row, card), placed_face(faces, row, card))
    except PictureError as error:
        return error.reason
    except InputError as error:
        return error.message


def _painted(plain: Shown, occlusion: Occlusion, *, face: int) -> Shown:
    crop, points = plain
    after = None if points is None else moved(points, crop.shape[:2], occlusion, face=face)
    return Shown(painted(crop, occlusion, face=face, landmarks=points), after)


def _guarded(faces: FaceSet, quarantined: Path | None) -> AbstractContextManager[Guard]:
    return quarantine.guarded(faces, quarantined, watch=multiprocessing.parent_process() is not None)


def _name(faces: FaceSet, row: int, card: Card) -> tuple[object, ...]:
    return faces.root, int(faces.ids[row]), int(picture_keys(faces, np.array([row]))[0]), card.digest
