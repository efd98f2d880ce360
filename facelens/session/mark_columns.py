"""Flags, ratings, tags, notes, subsets and edited identities as columns, to sort, group and filter by like any other.

A gallery may have a column of such a name itself; then that of the user is called "my flag".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from facelens.images.faceset import Column, FaceSet, Ids, Labels
from facelens.session.annotations import BEST, FLAGGED, REJECTED, Annotations, alike

FLAG, RATING, TAG, NOTE, SUBSET = ("flag", "rating", "tag", "note", "subset")
EDITED, ORIGINAL = "edited", "original identity"
KINDS = (FLAG, RATING, TAG, NOTE, SUBSET, EDITED, ORIGINAL)
YES = "yes"  # of a face whose identity was edited
FLAG_WORDS = {FLAGGED: "flagged", REJECTED: "rejected"}


class Marks(Labels):
    """A column of what was said by hand: where nothing was, that is no missing value, it is just not said."""


class Flags(Marks):
    """Of FLAG_WORDS, and never anything else."""


@dataclass(frozen=True, eq=False)
class Sets(Marks):
    """A column of several names a row: each of its names is several joined by commas, `members` tells which."""

    members: tuple[tuple[str, ...], ...] = ()

    def having(self, name: str) -> np.ndarray:
        """(C,) which of the names hold that one."""
        exact = np.array([name in names for names in self.members], bool)
        if exact.any():
            return exact
        return np.array([alike(name) in map(alike, names) for names in self.members], bool)

    @property
    def single(self) -> list[str]:
        """The single names, each once."""
        return sorted({name for names in self.members for name in names})

    def renamed(self, names: Mapping[str, str]) -> Labels:
        """As for any column; equal sets stay equal."""
        return self._recoded([", ".join(sorted(names[name] for name in some)) for some in self.members])


def called(faces: FaceSet) -> dict[str, str]:
    """What the column of each kind is called in a gallery."""
    return {kind: f"my {kind}" if kind in faces.columns else kind for kind in KINDS}


def mark_columns(faces: FaceSet, annotations: Annotations, subsets: Mapping[str, Ids]) -> dict[str, Column]:
    """A column for each kind, by what it is called."""
    names = called(faces)
    count = len(faces)
    flags = np.full(count, -1, np.int32)
    words = tuple(sorted(FLAG_WORDS.values()))
    for level, word in FLAG_WORDS.items():
        flags[faces.rows_of(annotations.flags.having(level))] = words.index(word)
    ratings = np.full(count, np.nan, np.float32)
    for level in range(1, BEST + 1):
        ratings[faces.rows_of(annotations.ratings.having(level))] = level
    notes = np.full(count, -1, np.int32)
    texts = tuple(sorted(set(annotations.notes.values())))
    code = {text: i for i, text in enumerate(texts)}
    for face, text in annotations.notes.items():
        if (row := faces.row_of(face)) is not None:
            notes[row] = code[text]
    edited, original = edits(faces)
    return {
        names[FLAG]: Flags(flags, words),
        names[RATING]: ratings,
        names[TAG]: _sets(faces, annotations.tags.items()),
        names[NOTE]: Marks(notes, texts),
        names[SUBSET]: _sets(faces, subsets.items()),
        names[EDITED]: edited,
        names[ORIGINAL]: original,
    }


def edits(faces: FaceSet) -> tuple[Labels, Labels]:
    """Whether a face is somebody else than the gallery says, and whom the gallery has it for, where it is."""
    given, nothing = faces.given, np.full(len(faces), -1, np.int32)
    if given is None:
        return Labels(nothing, (YES,)), Labels(nothing, ())
    places = {name: code for code, name in enumerate(given.names)}
    same = np.array([places.get(name, -2) for name in faces.identity.names] + [-1], np.int32)
    other = same[faces.identity.codes] != given.codes
    return Labels(np.where(other, 0, -1).astype(np.int32), (YES,)), replace(
        given, codes=np.where(other, given.codes, -1).astype(np.int32)
    )


def spoken(faces: FaceSet, annotations: Annotations, subsets: Mapping[str, Ids]) -> dict[str, Column]:
    """The columns in which something stands, for a list that goes elsewhere."""
    return {
        name: column
        for name, column in mark_columns(faces, annotations, subsets).items()
        if (bool((column.codes >= 0).any()) if isinstance(column, Labels) else not np.isnan(column).all())
    }


def _sets(faces: FaceSet, named: Iterable[tuple[str, Ids]]) -> Sets:
    """Names of each face, equal sets of them under one code."""
    rows_by_name = [(name, faces.rows_of(ids)) for name, ids in named]
    found = np.full(len(faces), -1, np.int32)
    if not rows_by_name:
        return Sets(found, ())
    touched = np.zeros(len(faces), bool)
    for _, rows in rows_by_name:
        touched[rows] = True
    at = np.flatnonzero(touched)
    place = np.full(len(faces), -1, np.int64)
    place[at] = np.arange(len(at))
    codes, sets = np.zeros(len(at), np.int64), [()]  # type: tuple[np.ndarray, list[tuple[str, ...]]]
    for name, rows in rows_by_name:
        has = np.zeros(len(at), np.int64)
        has[place[rows]] = 1
        seen, codes = np.unique(2 * codes + has, return_inverse=True)
        sets = [sets[one >> 1] + ((name,) if one & 1 else ()) for one in seen.tolist()]
    order = sorted(range(len(sets)), key=lambda i: ", ".join(sets[i]))
    rank = np.argsort(order)
    found[at] = rank[codes]
    return Sets(found, tuple(", ".join(sets[i]) for i in order), tuple(sets[i] for i in order))
