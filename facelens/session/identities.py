"""Identity edits: who faces are by the user's word, where that is not what the gallery says. Nothing on disk changes.

The workspace keeps the edits, by id; its faces carry the names they lead to (`applied`), so everything that asks who
somebody is gets the user's word. What the gallery says stays known as FaceSet.original.

Shapes    ids (n,) int64, sorted and unique; said: Labels of the same n faces, where a missing name is nobody
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from facelens.errors import InputError
from facelens.images.faceset import FaceSet, Ids, Labels
from facelens.session import filters
from facelens.session.annotations import by_path, paths_of
from facelens.session.selection import Selection
from facelens.words import escaped, tr

LONGEST = 200  # characters of a name that is typed
LONGEST_READ = 1_000  # of one in a file, which may be that of a folder
NOBODY = ""

Plain = dict[str, Any]
_NO_IDS: Ids = np.zeros(0, np.int64)
_NO_IDS.flags.writeable = False


@dataclass(frozen=True, eq=False)
class IdentityEdits:
    """Faces that are not who the gallery says. Functions below give changed ones; equal ones stay the same."""

    ids: Ids = field(default_factory=lambda: _NO_IDS)
    said: Labels = field(default_factory=lambda: Labels(np.zeros(0, np.int32), ()))
    aside: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))  # names of paths that are not here

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def nbytes(self) -> int:
        """About what they take in memory."""
        return self.ids.nbytes + self.said.codes.nbytes + sum(len(name) for name in self.said.names)

    @property
    def unknown(self) -> int:
        """How many pictures that are not in the gallery they speak of."""
        return len(self.aside)

    def among(self, ids: Ids) -> Ids:
        """Those of the faces that are edited."""
        known = Selection(ids).ids
        if not len(self) or not len(known):
            return _NO_IDS
        at = np.minimum(np.searchsorted(known, self.ids), len(known) - 1)
        found: Ids = self.ids[known[at] == self.ids]
        return found


def named(edits: IdentityEdits, faces: FaceSet, ids: Ids, name: str) -> IdentityEdits:
    """With faces under a name, "" for nobody; a face that the gallery calls so is not edited."""
    rows = faces.rows_of(ids)
    calls_so = faces.original.codes[rows] == _code(faces.original.names, name)
    return _with(edits, faces.ids[rows], faces.ids[rows[~calls_so]], name)


def taken_back(edits: IdentityEdits, ids: Ids) -> IdentityEdits:
    """Without the edits of faces: they are again who the gallery says."""
    return _with(edits, ids, _NO_IDS, NOBODY)


def _code(names: Sequence[str], name: str) -> int:
    """The code of a name among sorted ones: -1 for nobody, -2 for a name that is not there."""
    at = bisect_left(names, name)
    return -1 if not name else at if at < len(names) and names[at] == name else -2


def _with(edits: IdentityEdits, touched: Ids, put: Ids, name: str) -> IdentityEdits:
    """With `put` under a name, and the others of `touched` not edited."""
    stay, put = ~np.isin(edits.ids, touched), np.unique(put)
    names = tuple(sorted({*edits.said.names, *([name] if name else [])}))
    ids = np.concatenate([edits.ids[stay], put])
    codes = np.concatenate([_moved(edits.said, names)[stay], np.full(len(put), _code(names, name), np.int32)])
    order = np.argsort(ids, kind="stable")
    said = _in_use(codes[order], names)
    before = edits.said
    same = np.array_equal(ids[order], edits.ids) and np.array_equal(said.codes, before.codes)
    return edits if same and said.names == before.names else IdentityEdits(ids[order], said, edits.aside)


def _moved(labels: Labels, names: Sequence[str]) -> NDArray[np.int32]:
    """(N,) the codes of a column among other names, which hold its own."""
    places = np.array([bisect_left(names, name) for name in labels.names] + [-1], np.int32)
    moved: NDArray[np.int32] = places[labels.codes]  # a missing name, -1, takes the last
    return moved


def _in_use(codes: NDArray[np.int32], names: Sequence[str]) -> Labels:
    """A column without the names that nobody has any more."""
    used = np.flatnonzero(np.bincount(codes[codes >= 0], minlength=len(names)))
    places = np.full(len(names) + 1, -1, np.int32)
    places[used] = np.arange(len(used))
    return Labels(places[codes], tuple(names[i] for i in used.tolist()))


# What names were made of, so that faces which have them already are left as they are.
_made: WeakKeyDictionary[Labels, tuple[IdentityEdits, Labels]] = WeakKeyDictionary()


def applied(faces: FaceSet, edits: IdentityEdits) -> FaceSet:
    """The faces under the names that the edits give them; themselves where they have those."""
    original = faces.original
    if not len(edits):
        return faces if faces.identity is original else faces.named(original)
    of = _made.get(faces.identity)
    if of is not None and of[0] is edits and of[1] is original:
        return faces
    names = tuple(sorted({*original.names, *edits.said.names}))
    here, codes = np.isin(edits.ids, faces.ids), _moved(original, names)
    codes[faces.rows_of(edits.ids[here])] = _moved(edits.said, names)[here]
    identity = _in_use(codes, names)
    _made[identity] = edits, original
    return faces.named(identity)


def changes(faces: FaceSet, old: IdentityEdits, new: IdentityEdits) -> tuple[Ids, Labels, Labels]:
    """Faces that are somebody else by the new edits than by the old ones, and who they are by both."""
    ids = np.union1d(old.ids, new.ids)
    ids = faces.ids[faces.rows_of(ids)]
    rows = faces.rows_of(ids)
    was, now = (_names_at(applied(faces, one).identity, rows) for one in (old, new))
    other = np.flatnonzero([a != b for a, b in zip(was, now, strict=True)])
    return ids[other], Labels.of([was[i] for i in other]), Labels.of([now[i] for i in other])


def _names_at(labels: Labels, rows: NDArray[np.int64]) -> list[str]:
    names = (*labels.names, NOBODY)
    return [names[code] for code in labels.codes[rows].tolist()]


# Names


def cleaned(name: str) -> str:
    """A name as it is kept: spaces in one, and nothing that cannot be seen.

    >>> cleaned("  Ada   Byron ")
    'Ada Byron'
    """
    text = re.sub(r"\s+", " ", name).strip()
    if not text or len(text) > LONGEST or not text.isprintable():
        raise InputError(
            tr("“{name}” cannot be a name.", name=escaped(text[:LONGEST])),
            hint=tr("Use 1 to {n} letters, digits and signs.", n=LONGEST),
        )
    return text


def spelled(name: str, known: Labels) -> str:
    """The name as somebody has it already, if it differs in case or underscores only; else as it is kept."""
    if same := filters.names_equal(known, name):
        return same[0]
    name = cleaned(name)
    return next(iter(filters.names_equal(known, name)), name)


# For files: a face is called by its path inside the gallery, so edits survive moving the folder


def as_plain(edits: IdentityEdits, faces: FaceSet) -> Plain:
    """What JSON has, by paths inside the gallery; with what was kept aside for pictures that are not here."""
    here = edits.ids[np.isin(edits.ids, faces.ids)] if len(edits) else _NO_IDS
    places = np.flatnonzero(np.isin(edits.ids, here))
    told = dict(zip(paths_of(here, faces), _names_at(edits.said, places), strict=True))
    by_name: dict[str, list[str]] = {}
    for path, name in sorted({**edits.aside, **told}.items()):
        by_name.setdefault(name, []).append(path)
    nobody = by_name.pop(NOBODY, [])
    return ({"named": dict(sorted(by_name.items()))} if by_name else {}) | ({"nobody": nobody} if nobody else {})


def from_plain(value: object, faces: FaceSet) -> IdentityEdits:
    """What `as_plain` gave; a value of another kind is an InputError, a path that is not here is kept aside."""
    if type(value) is not dict:
        raise _unusable()
    told: dict[str, str] = {}
    lists = [(NOBODY, value.get("nobody", []))]
    by_name = value.get("named", {})
    if type(by_name) is not dict:
        raise _unusable()
    for name, paths in by_name.items():
        _check_name(name)
        lists.append((name, paths))
    for name, paths in lists:
        if type(paths) is not list or any(type(path) is not str for path in paths):
            raise _unusable()
        before = len(told)
        told.update(dict.fromkeys(paths, name))
        if len(told) != before + len(paths):  # a face under two names, or twice
            raise _unusable()
    face_of = by_path(faces) if told else {}
    here = {face_of[path]: name for path, name in told.items() if path in face_of}
    aside = {path: name for path, name in told.items() if path not in face_of}
    ids = np.array(sorted(here), np.int64)
    said = [here[face] for face in ids.tolist()]
    other = [name != own for name, own in zip(said, _names_at(faces.original, faces.rows_of(ids)), strict=True)]
    kept = [name for name, differs in zip(said, other, strict=True) if differs]
    return IdentityEdits(ids[np.array(other, bool)], Labels.of(kept), MappingProxyType(aside))


def _check_name(name: object) -> None:
    """Refuse what no gallery can call anybody."""
    if type(name) is not str or not name.strip() or len(name) > LONGEST_READ or "\0" in name:
        raise _unusable()
    try:
        name.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise _unusable() from None


def _unusable() -> InputError:
    return InputError(tr("What the file says under “{kind}” is not of the kind it should be.", kind="identities"))
