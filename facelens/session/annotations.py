"""Annotations: what the user says about faces: flags, ratings, tags and notes. Nothing on disk is moved or changed.

Shapes    ids (n,) int64, sorted and unique; levels (n,) int8
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from facelens.errors import InputError
from facelens.images.faceset import FaceSet, Ids
from facelens.session.selection import Mode, Selection
from facelens.words import escaped, tr

FLAGGED, REJECTED = 1, -1
BEST = 5  # rating
NAME_LENGTH, NOTE_LENGTH = 60, 4_000  # characters
_NONE: Ids = np.zeros(0, np.int64)
_NONE.flags.writeable = False


@dataclass(frozen=True, eq=False)
class Levels:
    """A small whole number for some faces: 1 or -1 for flags, 1 to 5 for ratings; all others have none."""

    ids: Ids = field(default_factory=lambda: _NONE)
    values: NDArray[np.int8] = field(default_factory=lambda: np.zeros(0, np.int8))

    def __len__(self) -> int:
        return len(self.ids)

    def at(self, ids: Ids) -> NDArray[np.int8]:
        """(n,) the level of each face, 0 for those that have none."""
        if not len(self.ids):
            return np.zeros(len(ids), np.int8)
        place = np.minimum(np.searchsorted(self.ids, ids), len(self.ids) - 1)
        return np.where(self.ids[place] == ids, self.values[place], 0).astype(np.int8)

    def of(self, face: int) -> int:
        """The level of one face."""
        return int(self.at(np.array([face], np.int64))[0])

    def having(self, level: int) -> Ids:
        """Faces with that level."""
        found: Ids = self.ids[self.values == level]
        return found

    def put(self, ids: Ids, level: int) -> Levels:
        """With another level for some faces, 0 for none; itself where they have it already.

        >>> Levels().put(np.array([3, 1]), 4).put(np.array([1]), 0).ids.tolist()
        [3]
        """
        ids = Selection(ids).ids  # sorted, each once
        if (self.at(ids) == level).all():
            return self
        kept = ~_among(self.ids, ids)
        if not level:
            return Levels(self.ids[kept], self.values[kept])
        both = np.concatenate([self.ids[kept], ids])
        values = np.concatenate([self.values[kept], np.full(len(ids), level, np.int8)])
        order = np.argsort(both, kind="stable")  # two sorted runs are only merged
        return Levels(both[order], values[order])

    def since(self, before: Levels) -> NDArray[np.int8]:
        """(n,) the levels of the faces that had another one before, 0 for those that have none now."""
        if before is self:
            return np.zeros(0, np.int8)
        changed = self.values[before.at(self.ids) != self.values]
        return np.concatenate([changed, np.zeros(int((self.at(before.ids) == 0).sum()), np.int8)])


Plain = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Annotations:
    """All that was said about the faces of a gallery. Functions below give changed ones; equal ones stay the same."""

    flags: Levels = field(default_factory=Levels)
    ratings: Levels = field(default_factory=Levels)
    tags: Mapping[str, Ids] = field(default_factory=lambda: MappingProxyType({}))  # by name, in the order of names
    notes: Mapping[int, str] = field(default_factory=lambda: MappingProxyType({}))  # by id
    aside: Plain = field(default_factory=dict)  # of paths that the gallery does not have; as in `as_plain`

    @property
    def nbytes(self) -> int:
        """About what it takes in memory."""
        ids = (self.flags.ids, self.ratings.ids, *self.tags.values())
        return sum(one.nbytes for one in ids) + sum(len(note) for note in self.notes.values())

    @property
    def unknown(self) -> int:
        """How many pictures that are not in the gallery something was said about."""
        of_tags = (path for paths in self.aside.get("tags", {}).values() for path in paths)
        others = (path for name in ("flags", "ratings", "notes") for path in self.aside.get(name, {}))
        return len({*of_tags, *others})

    def tags_of(self, face: int) -> tuple[str, ...]:
        """The tags of one face."""
        one = np.array([face], np.int64)
        return tuple(name for name, ids in self.tags.items() if _among(one, ids)[0])


def flagged(annotations: Annotations, ids: Ids, flag: int) -> Annotations:
    """With faces flagged (1), rejected (-1) or neither (0)."""
    flags = annotations.flags.put(ids, flag)
    return annotations if flags is annotations.flags else replace(annotations, flags=flags)


def rated(annotations: Annotations, ids: Ids, rating: int) -> Annotations:
    """With a rating of 1 to 5 for faces, 0 for none."""
    ratings = annotations.ratings.put(ids, rating)
    return annotations if ratings is annotations.ratings else replace(annotations, ratings=ratings)


def tagged(annotations: Annotations, ids: Ids, name: str) -> Annotations:
    """With a tag on faces; a tag that differs in case or underscores only is the same one."""
    name = spelled(name, annotations.tags)
    return _with_tag(annotations, name, joined(annotations.tags.get(name, _NONE), ids, Mode.ADD))


def untagged(annotations: Annotations, ids: Ids, name: str) -> Annotations:
    """With a tag taken off faces; a tag of no face is none."""
    return _with_tag(annotations, name, joined(annotations.tags.get(name, _NONE), ids, Mode.REMOVE))


def retagged(annotations: Annotations, old: str, new: str) -> Annotations:
    """With another name for a tag; where there is one of that name, both become one."""
    new = cleaned(new)
    others = {name: ids for name, ids in annotations.tags.items() if name != old}
    new = spelled(new, others)
    others[new] = joined(others.get(new, _NONE), annotations.tags[old], Mode.ADD)
    aside = dict(annotations.aside)
    if waiting := aside.get("tags", {}).get(old):
        rest = {name: paths for name, paths in aside["tags"].items() if name != old}
        aside["tags"] = rest | {new: sorted({*rest.get(new, ()), *waiting})}
    return replace(annotations, tags=_by_name(others), aside=aside)


def noted(annotations: Annotations, ids: Ids, text: str) -> Annotations:
    """With a note on faces, none where the text is empty."""
    text = text.strip()[:NOTE_LENGTH]
    faces = [int(face) for face in ids]
    if all(annotations.notes.get(face, "") == text for face in faces):
        return annotations
    notes = {**annotations.notes, **dict.fromkeys(faces, text)}
    return replace(annotations, notes=MappingProxyType({face: note for face, note in notes.items() if note}))


def cleaned(name: str) -> str:
    """A name for a tag or a subset as it is kept: spaces in one, no comma or semicolon, which stand between names.

    >>> cleaned("  very   blurry ")
    'very blurry'
    """
    text = re.sub(r"\s+", " ", name).strip()
    if not text or len(text) > NAME_LENGTH or re.search(r"[,;]", text) or not text.isprintable():
        raise InputError(
            tr("“{name}” cannot be a name.", name=escaped(text[:NAME_LENGTH])),
            hint=tr("Use 1 to {n} letters, digits and signs, but no comma or semicolon.", n=NAME_LENGTH),
        )
    return text


def spelled(name: str, known: Iterable[str]) -> str:
    """The name as it is known already, if it differs in case or underscores only."""
    name = cleaned(name)
    return next((one for one in known if alike(one) == alike(name)), name)


def alike(name: str) -> str:
    """What filters compare names by."""
    return name.casefold().replace("_", " ")


def _with_tag(annotations: Annotations, name: str, ids: Ids) -> Annotations:
    before = annotations.tags.get(name, _NONE)
    if len(ids) == len(before):
        return annotations  # faces only come, or only go
    others = {one: of for one, of in annotations.tags.items() if one != name}
    return replace(annotations, tags=_by_name(others | ({name: ids} if len(ids) else {})))


def joined(first: Ids, second: Ids, mode: Mode) -> Ids:
    """Faces of two sets, of which the first is sorted; by merging, which is far faster than numpy's sets."""
    return Selection(first).combine(second, mode).ids


def _by_name(tags: Mapping[str, Ids]) -> Mapping[str, Ids]:
    return MappingProxyType(dict(sorted(tags.items(), key=lambda one: (alike(one[0]), one[0]))))


def _among(ids: Ids, known: Ids) -> NDArray[np.bool_]:
    """(n,) which ids occur in the sorted `known`."""
    if not len(known):
        return np.zeros(len(ids), bool)
    place = np.minimum(np.searchsorted(known, ids), len(known) - 1)
    found: NDArray[np.bool_] = known[place] == ids
    return found


# For files: a face is called by its path inside the gallery, so marks survive moving the folder


def as_plain(annotations: Annotations, faces: FaceSet) -> Plain:
    """What JSON has, by paths inside the gallery; with what was kept aside for pictures that are not here."""
    aside = annotations.aside
    tags = {name: paths_of(ids, faces) for name, ids in annotations.tags.items()}
    for name, paths in aside.get("tags", {}).items():
        tags[name] = sorted({*tags.get(name, ()), *paths})
    notes = np.array(sorted(annotations.notes), np.int64)
    here = notes[_here(notes, faces)]
    told = zip(paths_of(here, faces), (annotations.notes[int(face)] for face in here), strict=True)
    return {
        "flags": aside.get("flags", {}) | _plain_levels(annotations.flags, faces),
        "ratings": aside.get("ratings", {}) | _plain_levels(annotations.ratings, faces),
        "tags": tags,
        "notes": aside.get("notes", {}) | dict(told),
    }


def from_plain(value: object, faces: FaceSet) -> Annotations:
    """What `as_plain` gave; a value of another kind is an InputError, a path that is not here is kept aside."""
    told = _mapping(value, "annotations")
    face_of = by_path(faces)
    aside: Plain = {}
    found: dict[str, Any] = {}
    for kind, usable in (("flags", (REJECTED, FLAGGED)), ("ratings", range(1, BEST + 1))):
        listed = _mapping(told.get(kind, {}), kind)
        for level in listed.values():
            if type(level) is not int or level not in usable:
                raise _unusable(kind)
        known = {face_of[path]: level for path, level in listed.items() if path in face_of}
        _keep(aside, kind, {path: level for path, level in listed.items() if path not in face_of})
        ids = np.array(sorted(known), np.int64)
        found[kind] = Levels(ids, np.array([known[int(face)] for face in ids], np.int8))
    notes = _mapping(told.get("notes", {}), "notes")
    if any(type(note) is not str or not note or len(note) > NOTE_LENGTH for note in notes.values()):
        raise _unusable("notes")
    found["notes"] = MappingProxyType({face_of[path]: note for path, note in notes.items() if path in face_of})
    _keep(aside, "notes", {path: note for path, note in notes.items() if path not in face_of})
    tags, waiting = named_faces(told.get("tags", {}), "tags", face_of)
    _keep(aside, "tags", {name: paths for name, paths in waiting.items() if paths})
    return Annotations(**found, tags=_by_name({name: ids for name, ids in tags.items() if len(ids)}), aside=aside)


def named_faces(
    value: object, kind: str, face_of: Mapping[str, int]
) -> tuple[dict[str, Ids], dict[str, tuple[str, ...]]]:
    """Lists of paths by name, as faces, and as what is left over."""
    ids: dict[str, Ids] = {}
    waiting: dict[str, tuple[str, ...]] = {}
    for name, paths in _mapping(value, kind).items():
        if type(paths) is not list or any(type(path) is not str for path in paths):
            raise _unusable(kind)
        if cleaned(name) != name:
            raise _unusable(kind)
        ids[name] = np.unique(np.array([face_of[path] for path in paths if path in face_of], np.int64))
        waiting[name] = tuple(path for path in paths if path not in face_of)
    return ids, waiting


def by_path(faces: FaceSet) -> dict[str, int]:
    """The id of each path inside the gallery; odd bytes of a path are kept as os.fsdecode does it."""
    return {os.fsdecode(path): face for path, face in zip(faces.paths, faces.ids.tolist(), strict=True)}


def paths_of(ids: Ids, faces: FaceSet) -> list[str]:
    """Paths inside the gallery of the ids that it has."""
    return [os.fsdecode(faces.paths[int(row)]) for row in faces.rows_of(ids)]


def _plain_levels(levels: Levels, faces: FaceSet) -> dict[str, int]:
    here = _here(levels.ids, faces)
    return dict(zip(paths_of(levels.ids[here], faces), levels.values[here].tolist(), strict=True))


def _here(ids: Ids, faces: FaceSet) -> NDArray[np.bool_]:
    return np.isin(ids, faces.ids) if len(ids) else np.zeros(0, bool)  # nothing was said of a million faces


def _keep(aside: Plain, kind: str, rest: Mapping[str, object]) -> None:
    if rest:
        aside[kind] = dict(rest)


def _mapping(value: object, kind: str) -> dict[str, Any]:
    if type(value) is not dict or any(type(key) is not str for key in value):
        raise _unusable(kind)
    return value


def _unusable(kind: str) -> InputError:
    return InputError(tr("What the file says under “{kind}” is not of the kind it should be.", kind=kind))
