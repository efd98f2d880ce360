"""Training pictures, decoded and aligned once and kept as plain pixels on disk. Needs no torch.

A folder holds `pictures.npy`, mapped into memory, and `crops.json`, which is written last: without it the folder counts
as empty. The folder's name says what the pixels depend on, so another gallery or size never meets old pictures.

Shapes    pictures (N, height, width, 3) uint8 RGB; codes (N,) int32 identity of each row into names, -1 = no part;
          points (N, 5, 2) float32 landmarks in pixels of the crop, NaN = not known
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from facelens.errors import InputError
from facelens.features.card import Card
from facelens.features.feed import feed, feed_face
from facelens.features.recipe import Data
from facelens.files import atomic_write
from facelens.images.align import TEMPLATES, similarity
from facelens.images.decode import PictureError
from facelens.images.faceset import SPLIT, Column, FaceSet, Labels, Rows
from facelens.progress import Tick, silent
from facelens.words import escaped, tr

VERSION = 1  # raise it when the pixels that come out of here change
_AT_ONCE = 64
_One = tuple[NDArray[np.uint8] | None, NDArray[np.float32]]


@dataclass(frozen=True, eq=False)
class Roll:
    """Who is on which picture: codes (N,) into names, -1 = plays no part."""

    codes: NDArray[np.int32]
    names: tuple[str, ...]
    digest: str  # of the gallery, or of what is drawn

    def of(self, people: NDArray[np.integer]) -> Roll:
        """Only some people count; they are numbered anew, in the order of their names."""
        people = np.sort(people)
        at = np.full(len(self.names) + 1, -1, np.int32)  # one more, so that -1 stays -1
        at[people] = np.arange(len(people), dtype=np.int32)
        return replace(self, codes=at[self.codes], names=tuple(self.names[i] for i in people))

    def only(self, usable: NDArray[np.bool_]) -> Roll:
        """Without the pictures that are no use."""
        return replace(self, codes=np.where(usable, self.codes, -1).astype(np.int32))

    @property
    def rows(self) -> Rows:
        """Those that play a part."""
        return np.flatnonzero(self.codes >= 0).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Crops:
    """Aligned pictures, mapped from disk."""

    pictures: NDArray[np.uint8]
    points: NDArray[np.float32]
    usable: NDArray[np.bool_]  # (N,)
    folder: Path

    def __len__(self) -> int:
        return len(self.pictures)


def roll(data: Data, faces: FaceSet | None) -> Roll:
    """The people of a gallery (see `wanted`), or those who are drawn."""
    if faces is not None:
        return Roll(faces.identity.codes, faces.identity.names, faces.digest)
    from facelens.images.synthetic.gallery import TRAINING_SEED

    source = {"people": data.people, "pictures": data.pictures, "degrade": data.degrade}
    names = tuple(f"{TRAINING_SEED + i}" for i in range(data.people))
    codes = np.repeat(np.arange(data.people, dtype=np.int32), data.pictures)
    return Roll(codes, names, _digest(source))


def columns(data: Data, faces: FaceSet | None) -> Mapping[str, Column]:
    """What is known of every picture: the columns of the gallery, or of drawn people those that the sample gallery's
    manifest has too."""
    if faces is not None:
        return faces.columns
    from facelens.images.synthetic.gallery import TRAINING_SEED, training_photos

    people = range(TRAINING_SEED, TRAINING_SEED + data.people)
    photos = [one for seed in people for one in training_photos(seed, data.pictures, degrade=data.degrade)]
    told = [{**one.strengths(), "degradation": one.degradation} for one in photos]
    return {name: np.array([one[name] for one in told]) for name in told[0]}


def wanted(faces: FaceSet, data: Data) -> FaceSet:
    """The faces of a gallery that a recipe asks for: those with a name, of one split."""
    keep = faces.identity.codes >= 0
    if data.split:
        column = faces.columns.get(SPLIT)
        if not isinstance(column, Labels) or data.split not in column.names:
            raise InputError(
                tr("No face of {name} has the split {split}.", name=faces.name, split=escaped(data.split)),
                hint=tr("The gallery's manifest needs a column split, or leave data.split out."),
            )
        keep = keep & (column.codes == column.names.index(data.split))
    return faces.take(np.flatnonzero(keep).astype(np.int64))


def ordered(names: tuple[str, ...], seed: int = 0) -> NDArray[np.int64]:
    """People in an order that depends on nothing but their names, so that a share of them is part of a larger share.

    >>> ordered(("a", "b", "c")).tolist() == [int(i) for i in ordered(("a", "b", "c", "d")) if i < 3]
    True
    """
    keys = [hashlib.sha256(f"{seed} {name}".encode("utf-8", "surrogateescape")).digest() for name in names]
    return np.array(sorted(range(len(names)), key=keys.__getitem__), np.int64)


def divided(people: Roll, data: Data, *, held_out: float) -> tuple[Roll, Roll]:
    """The people who are trained on, and those who are only searched for; the same people are held out whatever the
    share."""
    counts = np.bincount(people.codes[people.codes >= 0], minlength=len(people.names))
    order = np.array([who for who in ordered(people.names) if counts[who] >= data.least], np.int64)
    kept = round(len(order) * held_out) if held_out else 0
    kept = max(kept, 2) if held_out and len(order) >= 4 else kept
    first = order[kept:]
    trained = first[: max(1, round(len(first) * data.share))]
    if len(trained) < 2:
        raise InputError(
            tr("Training needs at least two people with {n} pictures each.", n=data.least),
            hint=tr("Choose a larger gallery, or a larger share of it."),
        )
    return people.of(trained), people.of(order[:kept])


def cut(people: Roll, card: Card, *, data: Data, faces: FaceSet | None, cache: Path, tick: Tick = silent) -> Crops:
    """All pictures of a roll as the card feeds them."""
    fed = {"size": card.size, "template": card.template, "crop": card.crop, "version": VERSION}
    digest = _digest({"people": people.digest, **fed})
    folder = cache / f"crops-{digest[:16]}"
    if (found := _kept(folder, digest, len(people.codes))) is None:
        folder.mkdir(parents=True, exist_ok=True)
        pictures = _drawn(data, card) if faces is None else _read(faces, card)
        _write(folder, pictures, len(people.codes), card, digest, tick)
        found = _kept(folder, digest, len(people.codes))
    if found is None:
        raise InputError(tr("{path} could not be read again.", path=escaped(str(folder))))
    return found


def _digest(told: Mapping[str, object]) -> str:
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


def _drawn(data: Data, card: Card) -> Iterator[_One]:
    from facelens.images.synthetic.gallery import TRAINING_SEED, training_pictures

    people = range(TRAINING_SEED, TRAINING_SEED + data.people)
    for one in training_pictures(people, data.pictures, degrade=data.degrade):
        points = one.rendered.landmarks
        yield feed(one.rendered.picture, points, card), points_in_crop(points, card, one.rendered.picture.shape[:2])


def _read(faces: FaceSet, card: Card) -> Iterator[_One]:
    with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
        for start in range(0, len(faces), _AT_ONCE):
            yield from pool.map(partial(_one, faces, card), range(start, min(start + _AT_ONCE, len(faces))))


def _one(faces: FaceSet, card: Card, row: int) -> _One:
    points = np.full((5, 2), np.nan, np.float32)
    try:
        picture = feed_face(faces, row, card)
    except (PictureError, InputError):
        return None, points
    if faces.landmarks is not None and card.template != "none" and np.isfinite(faces.landmarks[row]).all():
        points = points_in_crop(faces.landmarks[row], card, (0, 0))
    return picture, points


def points_in_crop(points: NDArray[np.floating], card: Card, shape: tuple[int, ...]) -> NDArray[np.float32]:
    """Where the landmarks of a picture of `shape` lie in its crop."""
    if card.template == "none":
        corner, size = np.zeros(2), (shape[0], shape[1])
        moved = np.asarray(points, np.float64)
    else:
        target = TEMPLATES[card.template]
        matrix = similarity(points, target.points)
        moved = np.asarray(points, np.float64) @ matrix[:, :2].T + matrix[:, 2]
        corner, size = np.zeros(2), target.size
    if card.crop is not None:
        top, left, bottom, right = card.crop
        corner, size = np.array([left, top], np.float64), (bottom - top, right - left)
    scale = np.array([card.size[1] / max(size[1], 1), card.size[0] / max(size[0], 1)])
    placed: NDArray[np.float32] = ((moved - corner) * scale).astype(np.float32)
    return placed


def _write(folder: Path, pictures: Iterator[_One], n: int, card: Card, digest: str, tick: Tick) -> None:
    points = np.full((n, 5, 2), np.nan, np.float32)
    unusable: list[int] = []
    (folder / "crops.json").unlink(missing_ok=True)
    with atomic_write(folder / "pictures.npy") as file:
        header = {"descr": "|u1", "fortran_order": False, "shape": (n, *card.size, 3)}
        np.lib.format.write_array_header_1_0(file, header)
        for row, (picture, landmarks) in enumerate(pictures):
            if row % 16 == 0:
                tick(row, n, tr("Cutting out faces"))
            if picture is None:
                unusable.append(row)
                picture = np.zeros((*card.size, 3), np.uint8)
            points[row] = landmarks
            file.write(np.ascontiguousarray(picture).tobytes())
    with atomic_write(folder / "points.npy") as file:
        np.save(file, points)
    with atomic_write(folder / "crops.json") as file:
        file.write(json.dumps({"facelens_crops": VERSION, "digest": digest, "unusable": unusable}).encode())
    tick(n, n, tr("Cutting out faces"))


def _kept(folder: Path, digest: str, n: int) -> Crops | None:
    try:
        said = json.loads((folder / "crops.json").read_bytes())
        pictures = np.load(folder / "pictures.npy", mmap_mode="r", allow_pickle=False)
        points = np.load(folder / "points.npy", allow_pickle=False)
    except (OSError, ValueError):
        return None
    if said.get("digest") != digest or len(pictures) != n or len(points) != n:
        return None
    usable = np.ones(n, bool)
    usable[said["unusable"]] = False
    return Crops(pictures, points, usable, folder)
