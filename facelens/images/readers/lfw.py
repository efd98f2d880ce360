"""Lists of pairs: LFW's pairs.txt, tables of two paths and a truth value, and the path form that the builder writes.

LFW's form: a first line "folds pairs" (or "pairs" alone), then for each fold that many lines "Name 1 4" (same person)
and as many "Name 1 Other 2" (different people); Name 1 is the picture Name/Name_0001.jpg. In the path form the lines
are "path, path, 1 or 0" with tabs between and % escapes (%09 is a tab) in the paths.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote_to_bytes

import numpy as np
from numpy.typing import NDArray

from facelens.errors import InputError
from facelens.images.faceset import FaceSet
from facelens.images.protocol import Pairs, Protocol
from facelens.images.readers import table
from facelens.words import escaped, plural, tr

LEFT = ("a", "path1", "file1", "image1", "img1", "left", "first", "patha", "imagea", "filea", "lhs", "probe")
RIGHT = ("b", "path2", "file2", "image2", "img2", "right", "second", "pathb", "imageb", "fileb", "rhs", "reference")
SAME = ("same", "issame", "label", "match", "genuine", "target", "y", "equal")
FOLD = ("fold", "split", "set")
FOLDS = 10
_TRUE = frozenset({"1", "true", "yes", "same", "genuine", "y", "t", "match"})
_FALSE = frozenset({"0", "-1", "false", "no", "different", "impostor", "n", "f", "nonmatch"})
_NUMBERED = re.compile(rb"^(.+)_0*(\d+)$")

Key = tuple[bytes, int] | bytes  # (name, number) or a path


@dataclass(frozen=True, eq=False)
class PairList:
    """Pairs as written: keys of both sides, truth and fold."""

    name: str
    left: list[Key]
    right: list[Key]
    same: NDArray[np.bool_]
    fold: NDArray[np.int32]


def is_pairs_file(path: Path) -> bool:
    """A cheap look: pairs.txt by its first lines, a table by its header."""
    suffix = path.suffix.lower()
    if suffix not in (".txt", ".csv", ".tsv", ".lst"):
        return False
    try:
        with open(path, "rb") as stream:
            lines = [line for line in stream.read(1 << 14).splitlines()[:6] if line.strip()]
    except OSError:
        return False
    if not lines:
        return False
    if _is_header(lines[0]) and len(lines) > 1:
        return _lfw_line(lines[1]) is not None or _path_line(lines[1]) is not None
    if _lfw_line(lines[0]) is not None and suffix == ".txt":
        return True
    return _columns(lines[0]) is not None


def _is_header(line: bytes) -> bool:
    parts = line.split()
    return len(parts) in (1, 2) and all(part.isdigit() for part in parts)


def _split(line: bytes) -> list[bytes]:
    line = line.rstrip(b"\r\n")
    return line.split(b"\t") if b"\t" in line else line.split()


def _lfw_line(line: bytes) -> tuple[Key, Key, bool] | None:
    parts = _split(line)
    if len(parts) == 3 and parts[1].isdigit() and parts[2].isdigit() and not parts[0].isdigit():
        return (parts[0], int(parts[1])), (parts[0], int(parts[2])), True
    if len(parts) == 4 and parts[1].isdigit() and parts[3].isdigit():
        return (parts[0], int(parts[1])), (parts[2], int(parts[3])), False
    return None


def _path_line(line: bytes) -> tuple[Key, Key, bool] | None:
    parts = _split(line)
    if len(parts) == 3 and parts[2] in (b"0", b"1") and not (parts[0].isdigit() or parts[1].isdigit()):
        return unquote_to_bytes(parts[0]), unquote_to_bytes(parts[1]), parts[2] == b"1"
    return None


def _columns(line: bytes) -> tuple[int, int, int, int | None, str] | None:
    for delimiter in (",", ";", "\t"):
        text = line.decode("utf-8-sig", "replace").strip()
        names = [re.sub(r"[\s._\-\"]+", "", name.lower()) for name in text.split(delimiter)]
        sides = [next((names.index(n) for n in wanted if n in names), None) for wanted in (LEFT, RIGHT, SAME, FOLD)]
        left, right, same, fold = sides
        if left is not None and right is not None and same is not None:
            return left, right, same, fold, delimiter
    return None


def parse(path: Path) -> PairList:
    """Read a list of pairs; what cannot be understood is an InputError that names the line."""
    try:
        if os.path.getsize(path) > 1 << 30:
            raise InputError(tr("{name} is too large for a list of pairs.", name=escaped(path.name)))
        data = path.read_bytes()
    except OSError as error:
        raise table.unreadable(path, error) from error
    lines = data.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    first = next((line for line in lines if line.strip()), b"")
    return _parse_table(path, data) if _columns(first) else _parse_lines(path, lines)


def _parse_lines(path: Path, lines: list[bytes]) -> PairList:
    left: list[Key] = []
    right: list[Key] = []
    same: list[bool] = []
    folds, per_fold = 0, 0
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        if not left and not folds and _is_header(line):
            parts = [int(part) for part in line.split()]
            folds, per_fold = (parts[0], parts[1]) if len(parts) == 2 else (1, parts[0])
            continue
        pair = _lfw_line(line) or _path_line(line)
        if pair is None:
            shown = escaped(os.fsdecode(line[:60].strip()))
            message = tr("Line {n} of {name} is not a pair: {line}", n=number, name=escaped(path.name), line=shown)
            raise InputError(message, hint=tr("Lines look like “Name 1 4” or “Name 1 Other 2”."))
        left.append(pair[0])
        right.append(pair[1])
        same.append(pair[2])
    if not left:
        raise InputError(tr("{name} lists no pairs.", name=escaped(path.name)), hint=tr("Choose another file."))
    count = len(left)
    if per_fold and 2 * folds * per_fold == count:
        fold = (np.arange(count) // (2 * per_fold)).astype(np.int32)
    else:
        fold = np.zeros(count, np.int32) if folds < 2 else (np.arange(count) * folds // count).astype(np.int32)
    return PairList(path.name, left, right, np.array(same, bool), fold)


def _parse_table(path: Path, data: bytes) -> PairList:
    found = _columns(next(line for line in data.removeprefix(b"\xef\xbb\xbf").split(b"\n") if line.strip()))
    assert found is not None
    a, b, truth, fold_at, delimiter = found
    left: list[Key] = []
    right: list[Key] = []
    same, folds = [], []
    shape = table.Shape(delimiter, "utf-8-sig", "surrogateescape", True)
    for number, row in enumerate(table._records(path, shape), 1):
        if number == 1:
            continue
        word = row[truth].strip().lower() if len(row) > max(a, b, truth) else ""
        if word not in _TRUE and word not in _FALSE:
            message = tr(
                "Row {n} of {name} does not say whether its pair is the same person.", n=number, name=escaped(path.name)
            )
            raise InputError(message, hint=tr("Write 1 or 0 there."))
        left.append(_path(row[a]))
        right.append(_path(row[b]))
        same.append(word in _TRUE)
        folds.append(row[fold_at].strip() if fold_at is not None and len(row) > fold_at else "")
    if not left:
        raise InputError(tr("{name} lists no pairs.", name=escaped(path.name)), hint=tr("Choose another file."))
    _, fold = np.unique(np.array(folds), return_inverse=True)
    return PairList(path.name, left, right, np.array(same, bool), fold.astype(np.int32))


def _path(cell: str) -> bytes:
    return os.fsencode(cell.strip().removeprefix("./"))


def protocol(faces: FaceSet, pairs: PairList) -> tuple[Protocol | None, tuple[str, ...]]:
    """The pairs whose two pictures are among `faces`, and what was left out. None where no pair is."""
    rows = _rows(faces, pairs)
    found = np.array(
        [[rows.get(a, -1), rows.get(b, -1)] for a, b in zip(pairs.left, pairs.right, strict=True)], np.int64
    ).reshape(-1, 2)
    there = (found >= 0).all(1)
    unclear = int((found == _SEVERAL).any(1).sum())
    absent = int((~there).sum()) - unclear
    notes = []
    if absent:
        one, many = (
            "{n} pair of {name} was left out: its pictures are not here.",
            "{n} pairs of {name} were left out: their pictures are not here.",
        )
        notes.append(
            plural(absent, one.replace("{name}", escaped(pairs.name)), many.replace("{name}", escaped(pairs.name)))
        )
    if unclear:
        one, many = (
            "{n} pair was left out: several pictures have its name.",
            "{n} pairs were left out: several pictures have their names.",
        )
        notes.append(plural(unclear, one, many))
    if not there.any():
        return None, tuple(notes)
    kept = Pairs(found[there], pairs.same[there], pairs.fold[there])
    return Protocol(pairs.name, kept, notes=tuple(notes)), tuple(notes)


_SEVERAL = -2


def _rows(faces: FaceSet, pairs: PairList) -> dict[Key, int]:
    wanted = {*pairs.left, *pairs.right}
    rows: dict[Key, int] = {}

    def put(key: Key, row: int) -> None:
        if key in wanted:
            rows[key] = row if rows.get(key, row) == row else _SEVERAL

    paths = list(faces.paths)
    for row, path in enumerate(paths):
        put(path, row)
        stem = os.path.splitext(path.rpartition(b"/")[2])[0]
        match = _NUMBERED.match(stem)
        if match:
            put((match.group(1), int(match.group(2))), row)
    if any(isinstance(key, bytes) and key not in rows for key in wanted):
        # A list may count from the folder above, or from a folder inside: compare by the last parts of the path.
        exact = dict(rows)
        for row, path in enumerate(paths):
            parts = path.split(b"/")
            for start in range(1, min(len(parts), 4)):
                key = b"/".join(parts[start:])
                if key not in exact:
                    put(key, row)
        above = os.fsencode(faces.root.name) + b"/"
        at = {path: row for row, path in enumerate(paths)}
        for wish in wanted:
            if isinstance(wish, bytes) and wish not in rows and wish.startswith(above):
                rows[wish] = at.get(wish[len(above) :], -1)
    return rows
