"""Scores of faces from elsewhere: a table of numbers by file name (CSV, TSV, Parquet; OFIQ, LightQNet and the like).

Which way a score is better a file does not say, so the values stay as they are. OFIQ writes a score of -1 where it
could not assess a picture; such values, and those that are no number, are missing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from facelens.errors import InputError
from facelens.images.faceset import Column, FaceSet
from facelens.images.matching import NONE, SEVERAL, rows_by_name
from facelens.images.readers import manifest, table
from facelens.progress import Tick, silent
from facelens.words import escaped, plural, tr

Scores = NDArray[np.float64]

LARGEST = 2 << 30  # bytes
MOST = manifest.MOST_COLUMNS
OURS = re.compile("norm, |([a-z]+ )?variance(, |$)")  # columns that come from models
SCALAR, FAILED = ".scalar", -1.0  # OFIQ


@dataclass(frozen=True, eq=False)
class ScoreTable:
    """The lines of a table: what each is about, and its numbers (NaN = missing), by the names of their columns."""

    name: str  # of the file, without its ending
    keys: tuple[str, ...]  # (L,) as the file writes them
    scores: Mapping[str, Scores]  # (L,) each
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.keys)


@dataclass(frozen=True)
class Joined:
    """What came of giving scores to faces: the names of the new columns, and how much of the table fitted."""

    columns: tuple[str, ...]
    faces: int  # with a value in one of the columns
    of: int
    unmatched: int  # lines that match no face
    unclear: int  # lines that match several, or the same as another line does
    notes: tuple[str, ...] = ()

    @property
    def whole(self) -> bool:
        """Whether every face got a value and every line was of use."""
        return self.faces == self.of and not self.unmatched and not self.unclear

    def sentence(self) -> str:
        """How many faces have a value, and how many lines are no use."""
        parts = [
            tr("{n} of {total} faces have a value", n=self.faces, total=self.of),
            plural(self.unmatched, "{n} line matches no face", "{n} lines match no face"),
        ]
        if self.unclear:
            one, many = "{n} line could be several faces", "{n} lines could be several faces"
            parts.append(plural(self.unclear, one, many))
        return "; ".join(parts) + "."


def columns_of(path: Path) -> tuple[str, ...]:
    """Names of the columns of a table that look like scores; none where it is no table of scores. A bounded look."""
    try:
        header, rows, shape = table.sample(path)
        key = _key_column(path, header, rows, named=shape is None or shape.header)
    except InputError:
        return ()
    columns = list(zip(*rows, strict=True)) or [()] * len(header)
    return tuple(name for i, name in enumerate(header) if i != key and _numbers(columns[i]))


def read(path: Path, *, tick: Tick = silent) -> ScoreTable:
    """Every column of numbers of a table, and the column that says which picture a line is about.

    Lines without a name are left out; a picture that two lines give different scores is an InputError.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(tr("There is no file {path}.", path=escaped(str(path))), hint=tr("Choose another file."))
    if os.path.getsize(path) > LARGEST:
        message = tr("{name} is too large for a table of scores.", name=escaped(path.name))
        raise InputError(message, hint=tr("Keep the column of names and those of scores."))
    header, rows, shape = table.sample(path)
    named = shape is None or shape.header
    key = header[_key_column(path, header, rows, named=named)]
    loaded = table.load(path, shape, tick=tick)
    if key not in loaded.header:
        raise _no_key(path, header)
    scores: dict[str, Scores] = {}
    notes: list[str] = []
    for place, column in enumerate(loaded.header):
        tick(0, 0)
        values = loaded.numbers(place) if column != key else None
        if values is None:
            continue
        if len(scores) == MOST:
            notes.append(tr("Only the first {n} columns were taken.", n=MOST))
            break
        scores[column] = values
    if not scores:
        message = tr("{name} has no column of numbers.", name=escaped(path.name))
        raise InputError(message, hint=tr("Scores are written like 0.58, with a point."))
    if not named and len(scores) == 1:
        scores = {escaped(path.stem): next(iter(scores.values()))}  # nobody has named it
    _clear(scores, notes)
    keys = loaded.strings(loaded.header.index(key))
    keep = np.array([bool(cell.strip()) for cell in keys], bool)
    keep[_repeated(path, keys, scores, keep)] = False
    kept = np.flatnonzero(keep)
    return ScoreTable(
        escaped(path.stem),
        tuple(keys[row] for row in kept.tolist()),
        {name: values[kept] for name, values in scores.items()},
        tuple(notes),
    )


def _key_column(path: Path, header: Sequence[str], rows: Sequence[Sequence[str]], *, named: bool) -> int:
    """Where the names of pictures stand: cells that end like pictures, else a column that is called so."""
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(header)
    rank = {name: place for place, name in enumerate(manifest.PATH_NAMES)}
    called = [rank.get(manifest.bare(name), len(rank)) if named else len(rank) for name in header]
    pictures = [manifest.share_of_pictures(cells) >= 0.5 for cells in columns]
    likely = [i for i in range(len(header)) if pictures[i] or called[i] < len(rank)]
    if not likely:
        raise _no_key(path, header)
    return min(likely, key=lambda i: (not pictures[i], called[i]))


def _numbers(cells: Sequence[str]) -> bool:
    filled = [cell for cell in cells if cell.strip() not in table.MISSING]
    return bool(filled) and manifest.numeric(filled)


def _no_key(path: Path, header: Sequence[str]) -> InputError:
    shown = ", ".join(escaped(name) for name in header[:8]) + (", …" if len(header) > 8 else "")
    return InputError(
        tr("{name} has no column of picture names.", name=escaped(path.name)),
        hint=tr("Call it path or filename. Columns: {names}.", names=shown),
    )


def _clear(scores: dict[str, Scores], notes: list[str]) -> None:
    """Make missing what is no score: infinite values, and what OFIQ could not assess."""
    infinite = sum(int(np.isinf(values).sum()) for values in scores.values())
    if infinite:
        one, many = "{n} value is infinite and counts as missing.", "{n} values are infinite and count as missing."
        notes.append(plural(infinite, one, many))
    failed = 0
    for name, values in scores.items():
        values[np.isinf(values)] = np.nan
        raw = scores.get(name.removesuffix(SCALAR)) if name.endswith(SCALAR) else None
        if raw is not None:
            unknown = values == FAILED
            values[unknown] = raw[unknown] = np.nan
            failed += int(unknown.sum())
    if failed:
        one, many = "{n} value could not be assessed by OFIQ.", "{n} values could not be assessed by OFIQ."
        notes.append(plural(failed, one, many))


def _repeated(path: Path, keys: Sequence[str], scores: Mapping[str, Scores], keep: NDArray[np.bool_]) -> list[int]:
    """Lines that say the same again; an InputError where one says something else."""
    first: dict[str, int] = {}
    again = []
    for row in np.flatnonzero(keep).tolist():
        known = first.setdefault(keys[row].strip(), row)
        if known == row:
            continue
        if not all(np.array_equal(values[row], values[known], equal_nan=True) for values in scores.values()):
            name, shown = escaped(path.name), escaped(keys[row].strip())
            message = tr("{name} has two different lines for {shown}.", name=name, shown=shown)
            raise InputError(message, hint=tr("Keep one line for each picture."))
        again.append(row)
    return again


def joined(faces: FaceSet, scores: ScoreTable) -> tuple[FaceSet, Joined]:
    """The faces with the scores as further columns, missing where no line is about them.

    A line finds its face by its path, then by the end of it, then by a file name that occurs only once. A column keeps
    its name; where other values have it already, the name of the file is put before it.
    """
    row_of = rows_by_name(scores.keys, faces, loosely=True)
    matched = row_of >= 0
    lines_of = np.bincount(row_of[matched], minlength=len(faces) + 1)
    row_of[matched & (lines_of[row_of] > 1)] = SEVERAL  # two names of one picture: nobody knows which is right
    lines = np.flatnonzero(row_of >= 0)
    if not len(lines):
        message = tr("No line of {name} is about a face of {gallery}.", name=scores.name, gallery=escaped(faces.name))
        hint = tr("Its names must be paths or file names of pictures of this gallery.")
        raise InputError(message, hint=hint, details="\n".join(escaped(key) for key in scores.keys[:10]))
    made: dict[str, Column] = {}
    known = np.zeros(len(faces), bool)
    for name, values in scores.scores.items():
        column = np.full(len(faces), np.nan)
        column[row_of[lines]] = values[lines]
        known |= ~np.isnan(column)
        made[_free_name(name, column, scores.name, faces)] = column
    report = Joined(
        tuple(made),
        int(known.sum()),
        len(faces),
        int((row_of == NONE).sum()),
        int((row_of == SEVERAL).sum()),
        scores.notes,
    )
    return faces.with_columns(made), report


def _free_name(name: str, column: Scores, stem: str, faces: FaceSet) -> str:
    there = faces.columns.get(name)
    same = isinstance(there, np.ndarray) and np.array_equal(there.astype(np.float64), column, equal_nan=True)
    taken = name in faces.sortable and not same
    return f"{stem}: {name}" if taken or OURS.match(name) else name
