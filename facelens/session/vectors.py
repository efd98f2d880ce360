"""Vectors of a store that is named in any way, with the gallery they were made from: what an evaluation starts with.

A store is given as its folder, as the start of its name in the cache, or as a file of exported vectors.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from facelens.analyses.things import Searching
from facelens.errors import InputError
from facelens.features import exchange
from facelens.features.featureset import FeatureSet
from facelens.features.store import MANIFEST, Store, fingerprint, stores
from facelens.images import readers
from facelens.images.faceset import FaceSet, Ids
from facelens.images.protocol import Protocol
from facelens.progress import Tick, silent
from facelens.session.tasks import joined, open_gallery
from facelens.words import escaped, plural, tr

if TYPE_CHECKING:
    from facelens.features.exchange import Vectors

SHOWN = 5  # stores that a message names


@dataclass(frozen=True, eq=False)
class Opened:
    """A gallery, its test, and the vectors of each store that was asked for, in that order."""

    faces: FaceSet
    protocol: Protocol | None
    features: tuple[FeatureSet, ...]
    notes: tuple[str, ...] = ()
    queries: FeatureSet | None = None  # of the store of queries
    searching: Searching | None = None  # where the queries are of another gallery: `faces` then holds both


def open_stores(
    names: Sequence[str],
    *,
    cache: Path,
    gallery: Path | None = None,
    protocol: Path | None = None,
    query: str = "",
    query_gallery: Path | None = None,
    tick: Tick = silent,
) -> Opened:
    """Open stores and the gallery they were made from (or `gallery`, where it has moved), with its test or `protocol`.

    All stores must hold vectors of the faces of one gallery; those of `query` may be of another, which is opened too
    (or `query_gallery`).
    """
    found = [_located(name, cache) for name in names]
    reading = _gallery_of(found, names, gallery, tick=tick)
    faces, notes = reading.faces, list(reading.notes)
    if gallery is None:
        _check_gallery(found, names, faces)
    test = reading.protocol
    if protocol is not None:
        test, left_out = readers.pairs_of(protocol, faces)
        notes += left_out
    features = []
    for name, one in zip(names, found, strict=True):
        made, said = _features(name, one, faces)
        features.append(made)
        notes += said
    opened = Opened(faces, test, tuple(features), tuple(dict.fromkeys(notes)))
    if not query:
        return opened
    kept = _located(query, cache)
    homes = {one.path.resolve() for one in (faces.opened, *(getattr(one, "opened", None) for one in found)) if one}
    other = _queries_from(query, kept, faces, homes=homes, given=query_gallery, tick=tick)
    if other is None:
        made, said = _features(query, kept, faces)
        return replace(opened, queries=made, notes=tuple(dict.fromkeys((*opened.notes, *said))))
    return _beside(opened, other, *_features(query, kept, other.faces))


def _queries_from(
    name: str, kept: Store | Vectors, faces: FaceSet, *, homes: set[Path], given: Path | None, tick: Tick
) -> readers.Reading | None:
    """The gallery of the queries, where it is not that of `faces`."""
    if given is not None:
        reading = open_gallery(given, tick=tick)
    elif isinstance(kept, Store):
        if kept.opened is None or kept.opened.path.resolve() in homes:
            return None
        if not kept.opened.path.exists():
            raise InputError(
                tr("The gallery of the queries is not at {path} any more.", path=escaped(str(kept.opened.path))),
                hint=tr("Say where it is now: --query-gallery PATH."),
            )
        opened = kept.opened
        reading = open_gallery(opened.path, kind=opened.kind or None, options=opened.options, tick=tick)
    else:
        if kept.names is None or len(exchange.join(kept, faces).features):
            return None  # vectors of these faces: names are all that a file says about its gallery
        reading = readers.Reading(exchange.faces_of(kept, root=Path(name).absolute().parent))
    other = reading.faces
    same_place = other.root.resolve() == faces.root.resolve() and other.embedded == faces.embedded
    # The same pictures under two names, such as a folder and a list of it, are one gallery.
    return None if same_place and np.array_equal(np.sort(other.ids), np.sort(faces.ids)) else reading


def _beside(opened: Opened, other: readers.Reading, queries: FeatureSet, said: Sequence[str]) -> Opened:
    """Queries of another gallery beside the gallery, as one set of faces in which each has an id of its own."""
    faces, asking = opened.faces, other.faces
    both = replace(joined(faces, asking, apart=True), name=faces.name)
    ids = both.ids[len(faces) :]

    def renumbered(old: Ids) -> Ids:
        return ids[asking.rows_of(old)]

    notes = []
    if alike := int(np.isin(asking.ids, faces.ids).sum()):
        one = "{n} query has the same path as a face of the gallery; the two are compared as well."
        many = "{n} queries have the same paths as faces of the gallery; they are compared with these as well."
        notes.append(plural(alike, one, many))
    return replace(
        opened,
        faces=both,
        queries=replace(queries, ids=renumbered(queries.ids), invalid=renumbered(queries.invalid)),
        searching=Searching(asking.name, ids, tuple(notes)),
        notes=tuple(dict.fromkeys((*opened.notes, *other.notes, *said))),
    )


def _located(name: str, cache: Path) -> Store | Vectors:
    """What a word on the command line means: a folder, a file, or the start of a name in the cache."""
    path = Path(name)
    if path.is_dir():
        if (path / MANIFEST).is_file() or re.fullmatch("[0-9a-f]{8,64}", path.name):
            return _store(path)
        inside = stores(path)
        if len(inside) == 1:
            return _store(inside[0].folder)
        if inside:
            raise _several(name, [f"{one.fingerprint[:12]} ({escaped(one.model)})" for one in inside])
        raise InputError(
            tr("{path} is no store.", path=escaped(name)),
            hint=tr("A store is a folder with {file}; “facelens embed” says where it makes one.", file=MANIFEST),
        )
    if path.is_file():
        return exchange.read(path)
    fits = [one for one in stores(cache) if one.fingerprint.startswith(name.lower())] if len(name) >= 4 else []
    if len(fits) == 1:
        return _store(fits[0].folder)
    if fits:
        raise _several(name, [f"{one.fingerprint[:12]} ({escaped(one.model)})" for one in fits])
    raise InputError(
        tr("There is no store {name}.", name=escaped(name)),
        hint=tr("Give its folder, or the start of a name that “facelens models cached” lists."),
    )


def _store(folder: Path) -> Store:
    folder = folder.absolute()
    try:
        return Store.open(folder.parent, folder.name)
    except ValueError:
        raise InputError(
            tr("{path} has been renamed.", path=escaped(str(folder))),
            hint=tr("A store keeps the name that “facelens embed” gave it."),
        ) from None


def _several(name: str, fits: list[str]) -> InputError:
    listed = ", ".join(fits[:SHOWN]) + (", …" if len(fits) > SHOWN else "")
    return InputError(
        tr("{name} could be several stores: {listed}.", name=escaped(name), listed=listed),
        hint=tr("Give more of its name."),
    )


def _gallery_of(
    found: Sequence[Store | Vectors], names: Sequence[str], given: Path | None, *, tick: Tick
) -> readers.Reading:
    if given is not None:
        return open_gallery(given, tick=tick)
    kept = [one for one in found if isinstance(one, Store)]
    opened = next((one.opened for one in kept if one.opened is not None), None)
    if opened is not None:
        if not opened.path.exists():
            raise InputError(
                tr("The gallery of this store is not at {path} any more.", path=escaped(str(opened.path))),
                hint=tr("Say where it is now: --gallery PATH."),
            )
        return open_gallery(opened.path, kind=opened.kind or None, options=opened.options, tick=tick)
    if kept:
        raise InputError(
            tr("This store does not say where its gallery lies: an earlier version made it."),
            hint=tr("Say where it is: --gallery PATH."),
        )
    first = found[0]
    assert not isinstance(first, Store)
    return readers.Reading(exchange.faces_of(first, root=Path(names[0]).absolute().parent))


def _check_gallery(found: Sequence[Store | Vectors], names: Sequence[str], faces: FaceSet) -> None:
    """Pictures of two galleries may have the same paths, so it is where they lie that tells."""
    kept = [(name, one, one.opened) for name, one in zip(names, found, strict=True) if isinstance(one, Store)]
    places = [(name, one, opened.path) for name, one, opened in kept if opened is not None]
    for name, one, path in places:
        here = fingerprint(faces, weights=str(one.manifest["weights"]), card=one.card) == one.fingerprint
        if not here and path.resolve() != places[0][2].resolve():
            raise InputError(
                tr(
                    "{name} is of another gallery, {there}, not {here}.",
                    name=escaped(name),
                    there=escaped(str(path)),
                    here=escaped(str(places[0][2])),
                ),
                hint=tr("Give stores of one gallery; where it has moved, say where it is: --gallery PATH."),
            )


def _features(name: str, one: Store | Vectors, faces: FaceSet) -> tuple[FeatureSet, list[str]]:
    notes = []
    if isinstance(one, Store):
        # As embedded: whether a picture has changed since, the next embedding finds out.
        made = one.features(faces, lazy=True)
        if one.notice:
            notes.append(one.notice)
    else:
        joined = exchange.join(one, faces)
        made = joined.features
        notes += [f"{line}." for line in joined.report if "no vector" not in line and "no use" not in line]
    if not len(made) and not len(made.invalid):
        raise InputError(
            tr("No vector of {name} belongs to a face of {gallery}.", name=escaped(name), gallery=escaped(faces.name)),
            hint=tr("Give the gallery it was made from: --gallery PATH, or --query-gallery PATH for queries."),
        )
    return made, notes
