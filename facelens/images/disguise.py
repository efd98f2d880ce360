"""Disguise: faces under pseudonyms, or blurred, for what leaves this computer.

A disguised FaceSet is a FaceSet like any other, with the same rows, ids and codes, so that every writer and every
figure takes it and tells nothing else: people are P0001, P0002, ..., their pictures P0001/001.jpg, the gallery is
"gallery". What it hides (`FaceSet.behind`) is only used to read pictures. Numbers go by a keyed hash, so they follow
neither the alphabet nor the dates; without the key nobody can make them again, and another key gives others. Columns of
numbers stay. Of columns of text only those stay whose words are harmless (`HARMLESS`), or that the user names; all
others become codes ("camera 1"), and notes go.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from facelens.images.decode import SUFFIXES
from facelens.images.faceset import ROLE, SPLIT, Behind, Column, FaceSet, Labels, Rows, path_order
from facelens.images.packed import Packed
from facelens.words import escaped

GALLERY, QUERIES, NOBODY, PICTURE = "gallery", "queries", "unknown", "picture"  # what they are called
KEPT = (SPLIT, ROLE)  # columns of text that say what a picture is for
NOTES = ("note", "my note", "notes", "comment", "comments")  # columns in which anything may stand
# Words that name nobody; a column that has no others stays as it is.
HARMLESS = frozenset({
    "yes", "no", "true", "false", "none", "unknown", "other", "flagged", "rejected", "left", "right", "front",
    "frontal", "profile", "up", "down", "male", "female", "man", "woman", "m", "f", "n", "y", "train", "training",
    "test", "testing", "val", "valid", "validation", "dev", "eval", "gallery", "query", "queries", "probe", "enrol",
    "cover", "original", "augmented", "clean", "clear", "blurred", "sharp", "low", "high", "medium", "good", "bad",
    "indoor", "outdoor", "day", "night",
})  # fmt: skip
LONGEST = 4096  # letters of a name that is looked for in a sentence


@dataclass(frozen=True)
class Guise:
    """What is to be hidden. Without a key one is drawn for each export, so that two of them cannot be put together."""

    pseudonyms: bool = False
    blur: bool = False
    key: str = ""
    keep: tuple[str, ...] = ()  # columns of text that stay as they are

    def __bool__(self) -> bool:
        return self.pseudonyms or self.blur


class Disguise:
    """The pseudonyms of some galleries, the first of which is the one that matters: it is numbered first."""

    def __init__(self, guise: Guise, *galleries: FaceSet) -> None:
        self.guise = guise
        self.galleries = galleries
        self._key = hashlib.sha256(guise.key.encode("utf-8", "surrogateescape")).digest() if guise.key else None
        self._key = self._key or secrets.token_bytes(32)
        self._more: dict[str, str] = {}  # words that are told as others

    # -- faces

    def faces(self, faces: FaceSet) -> FaceSet:
        """The same faces in disguise; those that are in one stay as they are."""
        if faces.behind is not None or not self.guise:
            return faces
        if not self.guise.pseudonyms:
            return replace(faces, behind=Behind(faces.root, faces.paths, blur=True))
        names = self._pictures(faces)
        columns = {name: self._column(name, one) for name, one in faces.columns.items()}
        return replace(
            faces,
            name=self.gallery(faces.name),
            root=Path(GALLERY),
            paths=Packed.of(names),
            identity=Labels(faces.identity.codes, tuple(self._people[name] for name in faces.identity.names)),
            columns={name: one for name, one in columns.items() if one is not None},
            path_order=path_order(names),
            opened=None,
            given=None,
            behind=Behind(faces.root, faces.paths, self.guise.blur, self.secret(faces.digest)),
        )

    @cached_property
    def _homes(self) -> list[list[FaceSet]]:
        """The sets by their folder, in order; the largest of each first, of which the others are parts."""
        homes: dict[Path, list[FaceSet]] = {}
        for one in self.galleries:
            homes.setdefault(one.root, []).append(one)
        return [sorted(sets, key=len, reverse=True) for sets in homes.values()]

    @cached_property
    def _people(self) -> dict[str, str]:
        """Pseudonyms by name: of the first gallery, then whom only others have."""
        listed: dict[str, None] = {}
        for sets in self._homes:
            new = {name for one in sets for name in one.identity.names} - listed.keys()
            listed |= dict.fromkeys(sorted(new, key=lambda name: self._hash(b"person", _bytes(name))))
        digits = max(4, len(str(len(listed))))
        return {name: f"P{number:0{digits}}" for number, name in enumerate(listed, 1)}

    @cached_property
    def _numbered(self) -> dict[tuple[Path, int], bytes]:
        """The path of each face of several galleries, by folder and id."""
        taken: dict[str, int] = {}
        made: dict[tuple[Path, int], bytes] = {}
        for sets in self._homes:
            for one in sets:
                new = np.array([(one.root, face) not in made for face in one.ids.tolist()], bool)
                rows = np.flatnonzero(new)
                for row, name in zip(rows.tolist(), self._named(one, rows, taken), strict=True):
                    made[one.root, int(one.ids[row])] = name
        return made

    def _pictures(self, faces: FaceSet) -> list[bytes]:
        if len(self.galleries) == 1 and self.galleries[0] is faces:
            return self._named(faces, np.arange(len(faces)), {})
        known, root = self._numbered, faces.root
        return [known[root, face] for face in faces.ids.tolist()]

    def _named(self, faces: FaceSet, rows: Rows, taken: dict[str, int]) -> list[bytes]:
        """P0001/001.jpg for each of the rows; numbers of a person go on after those that are `taken`."""
        paths = list(faces.paths.take(rows))
        codes = faces.identity.codes[rows].astype(np.int64)
        order = np.lexsort((self._hashes(paths), codes))
        start = np.flatnonzero(np.append(True, codes[order][1:] != codes[order][:-1])) if len(rows) else rows
        place = np.empty(len(rows), np.int64)
        place[order] = np.arange(len(rows)) - np.repeat(start, np.diff(np.append(start, len(rows)))) + 1
        people = [*(self._people[name] for name in faces.identity.names), NOBODY]
        offset = np.array([taken.get(person, 0) for person in people], np.int64)
        place += offset[codes]  # of nobody, -1, the last one
        digits = max(3, len(str(int(place.max(initial=1)))))
        for code, count in zip(*np.unique(codes, return_counts=True), strict=True):
            taken[people[code]] = taken.get(people[code], 0) + int(count)
        return [
            f"{people[code]}/{number:0{digits}}".encode() + _ending(path)
            for code, number, path in zip(codes.tolist(), place.tolist(), paths, strict=True)
        ]

    def _hashes(self, paths: Sequence[bytes]) -> NDArray[np.uint64]:
        raw = b"".join(self._hash(b"picture", path) for path in paths)
        return np.frombuffer(raw, "<u8")

    def _hash(self, kind: bytes, of: bytes) -> bytes:
        assert self._key is not None
        return hashlib.blake2b(of, digest_size=8, key=self._key, person=kind).digest()

    # -- columns

    def _column(self, name: str, column: Column) -> Column | None:
        if not isinstance(column, Labels):
            return column
        if name in self.guise.keep:
            return column
        if name.casefold() in NOTES:
            return None
        codes = self._codes(name, column)
        return column if codes is None else column.renamed(codes)

    def _codes(self, column: str, labels: Labels) -> dict[str, str] | None:
        """Codes of the single words of a column, None where it stays as it is."""
        single = labels.single
        if column in KEPT or column in self.guise.keep or harmless(single):
            return None
        return self.codes(column, single)

    def codes(self, kind: str, words: Iterable[str]) -> dict[str, str]:
        """A code for each word: its kind and a number."""
        order = sorted(words, key=lambda word: self._hash(b"word", _bytes(f"{kind}\0{word}")))
        digits = len(str(len(order)))
        return {word: f"{kind} {number:0{digits}}" for number, word in enumerate(order, 1)}

    # -- words

    def person(self, name: str) -> str:
        """The pseudonym of somebody; nobody's is empty."""
        return self._people.get(name, NOBODY) if self.guise.pseudonyms and name else name

    def gallery(self, name: str, other: str = GALLERY) -> str:
        """What a gallery is called; `other` where it is none of those that are known."""
        if not self.guise.pseudonyms:
            return name
        names = [sets[0].name for sets in self._homes]
        if name not in names:
            return other
        return GALLERY if names.index(name) == 0 else QUERIES

    def value(self, column: str, word: str) -> str:
        """A value of a column as it is told; `identity` counts as one."""
        if not self.guise.pseudonyms:
            return word
        if column == "identity":
            return self._escaped_people.get(word, word)
        for one in self.galleries:
            found = one.columns.get(column)
            if isinstance(found, Labels):
                codes = self._codes(column, found)
                return word if codes is None else {escaped(old): new for old, new in codes.items()}.get(word, NOBODY)
        return word

    @cached_property
    def _escaped_people(self) -> dict[str, str]:
        return {escaped(name): told for name, told in self._people.items()} | self._people

    def secret(self, digest: str) -> str:
        """A fingerprint that cannot be made again by guessing what it is of."""
        if not digest or not self.guise.pseudonyms:
            return digest
        assert self._key is not None
        made = hashlib.blake2b(digest.encode(), key=self._key, person=b"digest").hexdigest()
        return made[: len(digest)]

    def also(self, word: str, told: str) -> None:
        """A further word that sentences are not to have."""
        if word and word != told:
            self._more[word] = told

    @cached_property
    def _longest(self) -> int:
        return min(LONGEST, max(map(len, self._words), default=0))

    def sentence(self, text: str) -> str:
        """The text with the names of people, pictures and galleries told as pseudonyms, wherever they stand alone."""
        if not self.guise.pseudonyms or not text:
            return text
        words, more = self._words, self._more
        longest = max(self._longest, *map(len, more), 0)
        ends = [i for i in range(len(text) + 1) if _between(text, i)]
        made, at = [], 0
        for number, start in enumerate(ends):
            if start < at:
                continue
            last = bisect_right(ends, start + longest)
            for end in reversed(ends[number + 1 : last]):
                word = text[start:end]
                if told := more.get(word) or words.get(word):
                    made += [text[at:start], told]
                    at = end
                    break
        return "".join([*made, text[at:]])

    @cached_property
    def _words(self) -> dict[str, str]:
        words: dict[str, str] = {}
        for one in self.galleries:
            hidden = self.faces(one)
            for old, new in zip(one.paths, hidden.paths, strict=True):
                path, told = os.fsdecode(old), new.decode()
                file = path.rpartition("/")[2]
                several = file in words and words[file] != told
                words[file] = words[escaped(file)] = PICTURE if several else told  # rather nobody than the wrong one
                words[path] = words[escaped(path)] = told
        for name, told in self._people.items():
            words[name] = words[escaped(name)] = words[escaped(name).replace("_", " ")] = told
        for one in self.galleries:
            for name in (one.name, one.root.name, str(one.root), str(one.root.absolute())):
                words[name] = words[escaped(name)] = self.gallery(one.name)
        words.pop("", None)
        return words


def arranged(faces: FaceSet) -> FaceSet:
    """The faces in the order of their paths, people numbered in the order of their names, as when they are read."""
    rows = np.array(sorted(range(len(faces)), key=list(faces.paths).__getitem__), np.int64)
    taken = faces.take(rows)
    order = sorted(range(len(taken.identity.names)), key=taken.identity.names.__getitem__)
    rank = np.empty(len(order) + 1, np.int32)
    rank[order], rank[-1] = np.arange(len(order)), -1
    names = tuple(taken.identity.names[code] for code in order)
    return replace(taken, identity=Labels(rank[taken.identity.codes], names), path_order=None)


def _between(text: str, i: int) -> bool:
    """Whether a word may begin or end at a place."""
    return i in (0, len(text)) or not (text[i - 1].isalnum() and text[i].isalnum())


def _bytes(name: str) -> bytes:
    return name.encode("utf-8", "surrogateescape")


def _ending(path: bytes) -> bytes:
    dot = path.rfind(b".")
    ending = path[dot:].lower() if dot > path.rfind(b"/") else b""
    return ending if ending in SUFFIXES else b""


def harmless(words: Iterable[str]) -> bool:
    """Whether none of the words can name anybody.

    >>> harmless(["yes", "No"]), harmless(["Ann"])
    (True, False)
    """
    return all(word.casefold() in HARMLESS for word in words)
