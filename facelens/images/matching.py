"""Matching: the names by which a file from elsewhere calls pictures, and the faces of a gallery that are meant.

A name fits a face when it is the face's path, when one of the two is the end of the other, or when it is that but for
the path's ending. What fits several faces is given to none.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from facelens.images.faceset import FaceSet, Rows
from facelens.words import escaped

NONE, SEVERAL = -1, -2


def rows_by_name(names: Sequence[str], faces: FaceSet, *, loosely: bool = False) -> Rows:
    """(n,) rows of the faces so named; NONE where there is none, SEVERAL where it could be more than one.

    `loosely` also takes a file name that occurs once on both sides, though the folders, or else the endings, differ.
    """
    paths = [os.fsdecode(path) for path in faces.paths]
    whole, stems = _Index(paths), _Index(map(_stem, paths))
    for row, path in enumerate(paths):
        whole.paths.setdefault(escaped(path), row)  # as exports of text write it
    found = np.empty(len(names), np.int64)
    for place, name in enumerate(names):
        found[place] = next(
            (row for spelling in _spellings(name) for index in (whole, stems) if (row := index.find(spelling)) != NONE),
            NONE,
        )
    if loosely:
        _match_file_names(names, paths, found)
    return found


class _Index:
    """Paths, and all that they end in."""

    def __init__(self, paths: Iterable[str]) -> None:
        self.paths: dict[str, int] = {}
        self.ends: dict[str, int] = {}
        for row, path in enumerate(paths):
            _put(self.paths, path, row)
            for end in _ends(path):
                _put(self.ends, end, row)

    def find(self, name: str) -> int:
        for known in (self.paths, self.ends):
            if name in known:
                return known[name]
        return next((self.paths[end] for end in _ends(name) if end in self.paths), NONE)


def _put(known: dict[str, int], name: str, row: int) -> None:
    known[name] = SEVERAL if name in known else row


def _ends(path: str) -> Iterator[str]:
    """What follows each slash, the longest first."""
    at = path.find("/")
    while at >= 0:
        yield path[at + 1 :]
        at = path.find("/", at + 1)


def _spellings(name: str) -> Iterator[str]:
    """The name, and what it may stand for: Windows slashes, a guard against formulas, Latin-1."""
    yield name
    plain = name.replace("\\", "/").strip().removeprefix("./")
    if plain != name:
        yield plain
    if plain.startswith("'"):
        yield plain[1:]
    if not plain.isascii():
        try:
            plain.encode()
        except UnicodeEncodeError:
            yield plain.encode("utf-8", "surrogateescape").decode("latin-1")


def _stem(name: str) -> str:
    head, dot, ending = name.rpartition(".")
    return head if dot and "/" not in ending and head and not head.endswith("/") else name


def _match_file_names(names: Sequence[str], paths: Sequence[str], found: Rows) -> None:
    """Give names that fit no face to the only face of that file name that nobody else asks for."""
    for shortened in (_file_name, lambda name: _stem(_file_name(name))):
        free = np.setdiff1d(np.arange(len(paths)), found)
        lost = np.flatnonzero(found == NONE)
        wanted = Counter(shortened(names[place]) for place in lost.tolist())
        there: dict[str, int] = {}
        for row in free.tolist():
            _put(there, shortened(paths[row]), row)
        for place in lost.tolist():
            key = shortened(names[place])
            if wanted[key] == 1 and there.get(key, NONE) >= 0:
                found[place] = there[key]


def _file_name(name: str) -> str:
    return name.replace("\\", "/").strip().rpartition("/")[2]
