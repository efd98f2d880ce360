"""Make tests out of a gallery: balanced pairs with folds, as pairs.txt or .bin; and lists of its faces."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO
from urllib.parse import quote_from_bytes

import numpy as np
from numpy.typing import NDArray

from facelens.errors import InputError
from facelens.files import atomic_write
from facelens.images import decode
from facelens.images.faceset import FaceSet, Labels, Rows
from facelens.images.protocol import Pairs
from facelens.progress import Tick, silent
from facelens.words import escaped, tr


def build_pairs(faces: FaceSet, *, folds: int = 10, per_fold: int = 300, seed: int = 0) -> Pairs:
    """`per_fold` pairs of the same and of different people in each fold, none twice; equal for equal seeds.

    No identity is in two folds where the gallery allows it (`disjoint_folds` tells); otherwise the pairs are drawn from
    all. People take turns, so that those with many pictures do not dominate. Too few pairs are an InputError.
    """
    if folds < 1 or per_fold < 1:
        raise InputError(tr("Pairs need at least one fold and one pair in it."))
    rng = np.random.default_rng(seed)
    codes = faces.identity.codes
    members = [np.flatnonzero(codes == code) for code in range(len(faces.identity.names))]
    genuine = sum(len(rows) * (len(rows) - 1) // 2 for rows in members)
    known = sum(len(rows) for rows in members)
    impostor = known * (known - 1) // 2 - genuine
    need = folds * per_fold
    if genuine < need or impostor < need:
        short, what = (genuine, tr("the same person")) if genuine < need else (impostor, tr("different people"))
        message = tr(
            "{need} pairs of {what} are wanted, but {name} has {n}.",
            need=need,
            what=what,
            name=escaped(faces.name),
            n=short,
        )
        most = min(genuine, impostor) // folds
        hint = tr("Ask for at most {n} pairs a fold.", n=most) if most else tr("Ask for fewer folds, or add pictures.")
        raise InputError(message, hint=hint)
    parts = _disjoint_parts(members, folds, per_fold, rng)
    if parts is None:
        # One draw from all, dealt out to the folds.
        same = _genuine(members, need, rng)[rng.permutation(need)].reshape(folds, per_fold, 2)
        different = _impostor(members, need, rng).reshape(folds, per_fold, 2)
    else:
        same = np.stack([_genuine(part, per_fold, rng) for part in parts])
        different = np.stack([_impostor(part, per_fold, rng) for part in parts])
    pairs = np.concatenate([same, different], 1).reshape(-1, 2)  # fold by fold: the same people first
    truth = np.tile(np.repeat([True, False], per_fold), folds)
    return Pairs(pairs, truth, np.repeat(np.arange(folds, dtype=np.int32), 2 * per_fold))


def disjoint_folds(faces: FaceSet, pairs: Pairs) -> bool:
    """Whether every identity is in one fold only."""
    codes = faces.identity.codes[pairs.pairs]
    both = np.stack([codes.ravel(), np.repeat(pairs.fold, 2)], 1)
    seen = np.unique(both[both[:, 0] >= 0], axis=0)
    return len(np.unique(seen[:, 0])) == len(seen)


def _disjoint_parts(
    members: list[NDArray[np.int64]], folds: int, per_fold: int, rng: np.random.Generator
) -> list[list[NDArray[np.int64]]] | None:
    """Identities dealt to folds so that each fold has pairs enough, or None where that fails."""
    order = [int(i) for i in rng.permutation(len(members))]
    order.sort(key=lambda i: -len(members[i]))  # stable: chance decides among equals
    parts: list[list[NDArray[np.int64]]] = [[] for _ in range(folds)]
    pairs = np.zeros(folds, np.int64)
    people = np.zeros(folds, np.int64)
    for i in order:
        poorest = int(np.lexsort((people, pairs))[0])
        parts[poorest].append(members[i])
        pairs[poorest] += len(members[i]) * (len(members[i]) - 1) // 2
        people[poorest] += 1
    for part, genuine in zip(parts, pairs, strict=True):
        n = sum(len(rows) for rows in part)
        impostor = n * (n - 1) // 2 - genuine
        if genuine < per_fold or impostor < per_fold:
            return None
    return parts


def _genuine(members: list[NDArray[np.int64]], need: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """(need, 2) rows of the same person, people taking turns, no pair twice."""
    able = [rows for rows in members if len(rows) > 1]
    order = rng.permutation(len(able))
    drawn: list[Iterator[NDArray[np.int64]]] = [_pairs_of(able[i], need, rng) for i in order]
    made: list[NDArray[np.int64]] = []
    while len(made) < need:
        left = []
        for source in drawn:
            pair = next(source, None)
            if pair is not None:
                made.append(pair)
                left.append(source)
        drawn = left
    return np.stack(made[:need])


def _pairs_of(rows: NDArray[np.int64], most: int, rng: np.random.Generator) -> Iterator[NDArray[np.int64]]:
    n = len(rows)
    total = n * (n - 1) // 2
    if total <= 4 * most:
        first, second = np.triu_indices(n, 1)
        for i in rng.permutation(total):
            yield rows[[first[i], second[i]]]
        return
    seen: set[tuple[int, int]] = set()
    while len(seen) < most:
        a, b = sorted(int(i) for i in rng.choice(n, 2, replace=False))
        if (a, b) not in seen:
            seen.add((a, b))
            yield rows[[a, b]]


def _impostor(members: list[NDArray[np.int64]], need: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """(need, 2) rows of different people, no pair twice."""
    rows = np.concatenate(members)
    owner = np.repeat(np.arange(len(members)), [len(m) for m in members])
    n = len(rows)
    if n * (n - 1) // 2 <= 20 * need:
        first, second = np.triu_indices(n, 1)
        different = np.flatnonzero(owner[first] != owner[second])
        chosen = rng.choice(different, need, replace=False)
        return np.stack([rows[first[chosen]], rows[second[chosen]]], 1)
    filled = [m for m in members if len(m)]
    seen: set[tuple[int, int]] = set()
    tries = 0
    while len(seen) < need and tries < 100 * need:
        tries += 1
        p, q = rng.choice(len(filled), 2, replace=False)
        a, b = sorted((int(rng.choice(filled[p])), int(rng.choice(filled[q]))))
        seen.add((a, b))
    if len(seen) < need:  # one person has nearly all pictures: chance finds too few, so count them out
        one = max(filled, key=len)
        others = rows[~np.isin(rows, one)]
        for a in others.tolist():
            for b in one.tolist():
                if len(seen) == need:
                    break
                seen.add((min(a, b), max(a, b)))
    made = np.array(sorted(seen), np.int64)
    return made[rng.permutation(len(made))][:need]


def write_pairs_txt(path: Path, faces: FaceSet, pairs: Pairs) -> None:
    """Write pairs.txt: LFW's form where the names allow it (Name/Name_0001.jpg), else with paths (see readers.lfw)."""
    with atomic_write(path) as stream:
        put_pairs(stream, faces, pairs)


def put_pairs(stream: IO[bytes], faces: FaceSet, pairs: Pairs) -> None:
    """Write the same to an open file."""
    order = np.lexsort((np.arange(len(pairs)), ~pairs.same, pairs.fold))  # LFW counts folds by lines
    both, same, fold = pairs.pairs[order], pairs.same[order], pairs.fold[order]
    numbers = _lfw_names(faces, np.unique(both))
    counts = {(int(f), bool(s)): int(((fold == f) & (same == s)).sum()) for f in np.unique(fold) for s in (True, False)}
    even = len(set(counts.values())) == 1
    folds = len(np.unique(fold))
    if even:
        stream.write(b"%d\t%d\n" % (folds, next(iter(counts.values()))))
    for (a, b), truth in zip(both.tolist(), same.tolist(), strict=True):
        if numbers is None or not even:
            stream.write(b"%s\t%s\t%d\n" % (_quoted(faces.paths[a]), _quoted(faces.paths[b]), truth))
        elif truth:
            stream.write(b"%s\t%d\t%d\n" % (*numbers[a], numbers[b][1]))
        else:
            stream.write(b"%s\t%d\t%s\t%d\n" % (*numbers[a], *numbers[b]))


_LFW = re.compile(rb"^(?:.*/)?([^/\s]+)/\1_(\d{4,})\.[A-Za-z0-9]+$")


def _lfw_names(faces: FaceSet, rows: NDArray[np.int64]) -> dict[int, tuple[bytes, int]] | None:
    """(name, number) of each row where all have LFW's names and nobody else has the same; None otherwise."""
    everywhere: dict[tuple[bytes, int], int] = {}
    made: dict[int, tuple[bytes, int]] = {}
    wanted = set(rows.tolist())
    for row, path in enumerate(faces.paths):
        match = _LFW.match(path)
        if match is None:
            if row in wanted:
                return None
            continue
        key = (match.group(1), int(match.group(2)))
        if key in everywhere or key[0].isdigit():
            return None
        everywhere[key] = row
        if row in wanted:
            made[row] = key
    return made


def _quoted(path: bytes) -> bytes:
    # Only what would break a line or a word is escaped, so that usual paths stay readable.
    kept = bytes(c for c in range(0x21, 0x7F) if c != 0x25).decode("ascii")
    try:
        text = path.decode()
    except UnicodeDecodeError:
        return quote_from_bytes(path, safe=kept).encode()
    return "".join(
        c if c.isprintable() and not c.isspace() and c != "%" else quote_from_bytes(c.encode()) for c in text
    ).encode()


def write_bin(path: Path, faces: FaceSet, pairs: Pairs, *, tick: Tick = silent) -> None:
    """Write the pairs with their pictures as an insightface .bin; JPEGs and PNGs go in as they are, others as PNG."""
    with atomic_write(path) as stream:
        stream.write(b"\x80\x03](")  # protocol 3; a list
        for count, row in enumerate(pairs.pairs.ravel().tolist()):
            tick(count, 2 * len(pairs))
            data = _encoded(faces, row)
            stream.write(b"B" + len(data).to_bytes(4, "little"))
            stream.write(data)
        stream.write(b"e](")
        stream.write(b"".join(b"\x88" if truth else b"\x89" for truth in pairs.same.tolist()))
        stream.write(b"e\x86.")


def _encoded(faces: FaceSet, row: int) -> bytes:
    head = decode.header_face(faces, row)
    if head.format in ("JPEG", "PNG") and head.mode in ("RGB", "L"):
        data = decode.face_bytes(faces, row)
        # Readers of .bin files do not turn pictures upright.
        if decode.orientation(data) == 1:
            return data
    from PIL import Image

    made = io.BytesIO()
    Image.fromarray(decode.read_face(faces, row)).save(made, "PNG")
    return made.getvalue()


_FORMULA = re.compile("^'*[=+\\-@\t\r\0]")


def guarded(cell: str) -> str:
    """Text that no spreadsheet takes as a formula: a quote goes before = + - @, tab, return and zero.

    >>> guarded("=1+1"), guarded("Ann"), guarded("'=1")
    ("'=1+1", 'Ann', "''=1")
    """
    return "'" + cell if _FORMULA.match(cell) else cell


def write_list(path: Path, faces: FaceSet, rows: Rows, *, raw: bool = False) -> None:
    """Write the faces at `rows` as CSV, JSON or Parquet, by the ending: path (exact bytes), identity and all columns.

    Paths count from the list's own folder where the gallery lies in or below it, else they are absolute; pseudonyms
    stand for themselves, in their order. A CSV has the readable path too, and its text is guarded against being run as
    a formula; `raw` leaves it as it is, and leaves out the readable column. CSV and Parquet open as a gallery again.
    """
    path = Path(path)
    prefix = b"" if faces.disguised else _prefix(path.parent.resolve(), faces)
    rows = faces.listed(rows)
    with atomic_write(path) as stream:
        if path.suffix.lower() == ".json":
            _put_json(stream, faces, rows, prefix)
        elif path.suffix.lower() == ".parquet":
            _put_parquet(stream, faces, rows, prefix)
        else:
            put_list(stream, faces, rows, prefix=prefix, raw=raw)


def _put_json(stream: IO[bytes], faces: FaceSet, rows: Rows, prefix: bytes) -> None:
    """A list with an object for each face; what is not known is null."""
    for place, row in enumerate(rows.tolist()):
        said: dict[str, object] = {"path": os.fsdecode(prefix + faces.paths[row]), "identity": faces.identity.name(row)}
        for name, column in faces.columns.items():
            value = column.name(row) if isinstance(column, Labels) else column[row].item()
            said[name] = None if isinstance(value, float) and not math.isfinite(value) else value
        stream.write(b"[\n" if place == 0 else b",\n")
        stream.write(json.dumps(said).encode("ascii"))
    stream.write(b"\n]\n" if len(rows) else b"[]\n")


def _put_parquet(stream: IO[bytes], faces: FaceSet, rows: Rows, prefix: bytes) -> None:
    """A column for each, of its own type; a path that is no text makes that column one of bytes."""
    import pyarrow as pa
    from pyarrow import parquet

    paths: list[bytes] | list[str] = [prefix + faces.paths[row] for row in rows.tolist()]
    try:
        paths = [path.decode() for path in paths]  # type: ignore[union-attr]
    except UnicodeDecodeError:
        pass
    made = {"path": pa.array(paths), "identity": pa.array([faces.identity.name(row) for row in rows.tolist()])}
    for name, column in faces.columns.items():
        if isinstance(column, Labels):
            made[name] = pa.array([column.name(row) for row in rows.tolist()])
        else:
            made[name] = pa.array(np.asarray(column)[rows], from_pandas=True)  # NaN is null
    parquet.write_table(pa.table(made), stream)


def put_list(stream: IO[bytes], faces: FaceSet, rows: Rows, *, prefix: bytes = b"", raw: bool = False) -> None:
    """Write the same to an open file; `prefix` stands before the paths."""
    names = list(faces.columns)
    safe = (lambda cell: cell) if raw else guarded
    text = io.TextIOWrapper(stream, encoding="utf-8", errors="surrogateescape", newline="")
    writer = csv.writer(text)
    writer.writerow(["path", *([] if raw else ["readable"]), "identity", *(safe(name) for name in names)])
    for row in rows.tolist():
        key = os.fsdecode(prefix + faces.paths[row])
        cells = [safe(key)] + ([] if raw else [safe(escaped(key))]) + [safe(faces.identity.name(row))]
        for name in names:
            column = faces.columns[name]
            cells.append(safe(column.name(row)) if isinstance(column, Labels) else _number(column[row]))
        writer.writerow(cells)
    text.flush()
    text.detach()


def _number(value: float | int) -> str:
    return "" if value != value else repr(value.item()) if hasattr(value, "item") else repr(value)


def _prefix(folder: Path, faces: FaceSet) -> bytes:
    root = faces.root.resolve()
    if root == folder:
        return b""
    if root.is_relative_to(folder):
        return os.fsencode(root.relative_to(folder).as_posix()) + b"/"
    return os.fsencode(root.as_posix()).rstrip(b"/") + b"/"
