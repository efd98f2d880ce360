"""Vectors from elsewhere: npy, npz, Parquet, TensorBoard's TSV, safetensors; `exports` writes what is read here.

Users' files are read, never mapped and never unpickled, and no size written in a file is believed before it has been
compared with the file. Rows find their faces by id, path, end of path or file name; what finds none is told, both ways.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from facelens.errors import FaceLensError, InputError, NeedsChoice
from facelens.features.featureset import FeatureSet, Provenance
from facelens.images.faceset import FaceSet, Ids, Rows
from facelens.images.matching import NONE, SEVERAL, rows_by_name
from facelens.images.readers import table
from facelens.progress import Tick, silent
from facelens.words import escaped, plural, tr

Floats = NDArray[np.float32]

CEILING = 16 << 30  # bytes that a file may unpack to
RATIO = 20  # and how many times its own size, above FLOOR
FLOOR = 64 << 20
DIMENSIONS = 65_536
SUFFIXES = (".npy", ".npz", ".parquet", ".pq", ".tsv", ".safetensors")
VECTORS = ("vectors", "vector", "embeddings", "embedding", "features", "feature", "feats", "feat", "emb", "x")
NAMES = ("path", "paths", "filepath", "names", "name", "filenames", "filename", "files", "file", "image", "images")
IDS = ("id", "ids", "face_id")
IDENTITY, CONFIDENCE = "identity", "confidence"
PARTS = 4096  # numbers of confidence of a face
LINE = 1 << 22  # longest line of vectors as text
SHOWN = 3  # names in a sentence


@dataclass(frozen=True, eq=False)
class Vectors:
    """The rows of a file: (N, D) vectors and what they belong to, by name, by id, or not said."""

    source: str
    vectors: Floats
    names: tuple[str, ...] | None = None
    ids: Ids | None = None
    identities: tuple[str, ...] | None = None  # who each shows, "" = not said; None where the file has no such column
    confidence: Floats | None = None  # (N, S) where the file says how sure the model was

    def __post_init__(self) -> None:
        told = self.ids if self.ids is not None else self.names
        if told is not None and len(told) != len(self.vectors):
            raise InputError(
                tr("{name} has {n} vectors and {m} names.", name=self.source, n=len(self.vectors), m=len(told)),
                hint=tr("Each vector needs one name, in the same order."),
            )

    def __len__(self) -> int:
        return len(self.vectors)

    def label(self, row: int) -> str:
        """What to call a row."""
        if self.names is not None:
            return escaped(self.names[row])
        return str(int(self.ids[row])) if self.ids is not None else tr("row {n}", n=row + 1)


@dataclass(frozen=True, eq=False)
class Joined:
    """Vectors that found their faces. Those that are no use are in `features.invalid`, not among the vectors."""

    features: FeatureSet
    source: Vectors
    faces: FaceSet
    without_face: Rows  # rows of the file
    without_vector: Rows  # rows of the gallery
    ambiguous: Rows  # rows of the file whose name fits several faces
    twice: Rows  # rows of the file whose face had a vector already; the first one counts

    @property
    def report(self) -> list[str]:
        """Sentences about everything that did not fit, none where all did."""
        of_file = self.source.label
        told = []
        for rows, one, many, name in (
            (self.without_face, "{n} vector belongs to no face", "{n} vectors belong to no face", of_file),
            (self.without_vector, "{n} face has no vector", "{n} faces have no vector", self._face),
            (self.ambiguous, "{n} name fits several faces", "{n} names fit several faces", of_file),
            (self.twice, "{n} vector came a second time", "{n} vectors came a second time", of_file),
            (
                self.faces.rows_of(self.features.invalid),
                "{n} vector is no use (NaN, infinite or zero) and is left out",
                "{n} vectors are no use (NaN, infinite or zero) and are left out",
                self._face,
            ),
        ):
            if len(rows):
                some = ", ".join(name(row) for row in rows[:SHOWN].tolist())
                told.append(f"{plural(len(rows), one, many)}: {some}{', …' if len(rows) > SHOWN else ''}")
        return told

    def _face(self, row: int) -> str:
        return escaped(os.fsdecode(self.faces.paths[row]))


# Reading


def read(path: Path, *, names: Path | None = None, tick: Tick = silent) -> Vectors:
    """The vectors of a file; `names` is a list (txt, csv, tsv) for files that hold none, else looked for beside it."""
    path = Path(path)
    kind = path.suffix.lower()
    tick(0, 0, tr("Reading {name}", name=escaped(path.name)))
    if kind not in READERS:
        raise InputError(
            tr("{name} is not a file of vectors that FaceLens knows.", name=escaped(path.name)),
            hint=tr("Use {kinds}.", kinds=", ".join(SUFFIXES)),
        )
    try:
        size = os.path.getsize(path)
        if not size:
            raise _refused(path, tr("is empty"))
        with open(path, "rb") as stream:
            start = stream.read(512)
            if why := _other_kind(start):
                raise _refused(path, why)
            stream.seek(0)
            found = READERS[kind](path, stream, size)
    except OSError as error:
        raise table.unreadable(path, error) from error
    except MemoryError as error:
        raise _refused(path, tr("needs more memory than there is")) from error
    if found.ids is None:
        beside = names or (None if found.names else _names_beside(path))
        if beside is not None:
            listed, ids = _names_of(Path(beside), len(found))
            return Vectors(found.source, found.vectors, listed, ids, confidence=found.confidence)
    return found


def _refused(path: Path, why: str, *, hint: str = "", details: str = "") -> InputError:
    return InputError(
        tr("{name} {why}; nothing was read.", name=escaped(path.name), why=why),
        hint=hint or tr("Choose another file, or save it again."),
        details=details,
    )


def _other_kind(start: bytes) -> str:
    head = start.lstrip()[:64].lower()
    if head.startswith((b"<!doctype", b"<html")):
        return tr("is a web page (the download has failed)")
    if start.startswith(b"version https://git-lfs"):
        return tr("is a Git LFS pointer, not the file")
    return ""


def _checked_size(path: Path, declared: int, size: int) -> None:
    if declared > CEILING or declared > max(FLOOR, RATIO * size):
        told = tr("says it unpacks from {a} to {b} bytes", a=size, b=declared)
        raise _refused(path, told, hint=tr("Save it again without compression."))


def _usable(path: Path, found: NDArray[Any]) -> Floats:
    """(N, D) float32 of whatever numbers there are."""
    if found.ndim != 2 or found.dtype.kind not in "fiu" or not found.shape[1]:
        shape = " × ".join(map(str, found.shape)) or "1"
        raise _refused(
            path, tr("holds {shape} values of type {kind}, not rows of numbers", shape=shape, kind=found.dtype)
        )
    if found.shape[1] > DIMENSIONS:
        raise _refused(path, tr("has vectors of {n} dims", n=found.shape[1]))
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(found, np.float32)


def _npy_array(path: Path, stream: Any, size: int) -> NDArray[Any]:
    """One array of `size` bytes with its header; the header is checked before anything is allocated."""
    try:
        version = np.lib.format.read_magic(stream)
        reader = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, fortran, dtype = reader(stream)
    except Exception as error:  # numpy takes the header apart as Python text, with all that may go wrong there
        raise _refused(path, tr("is not a numpy file"), details=str(error)) from None
    if dtype.hasobject:
        raise _refused(path, tr("holds Python objects (an object array)"), hint=tr("Save it again as float32."))
    try:
        expected = math.prod(shape) * dtype.itemsize
        left = size - stream.tell()
        if expected != left or any(n < 0 for n in shape):
            raise _refused(path, tr("ends after {a} of {b} bytes", a=max(0, left), b=max(0, expected)))
        data = stream.read(expected)
        if len(data) != expected:
            raise _refused(path, tr("ends after {a} of {b} bytes", a=len(data), b=expected))
        return np.frombuffer(data, dtype).reshape(shape, order="F" if fortran else "C")
    except (ValueError, TypeError) as error:
        raise _refused(path, tr("is not a numpy file"), details=str(error)) from None


def _read_npy(path: Path, stream: BinaryIO, size: int) -> Vectors:
    return Vectors(escaped(path.name), _usable(path, _npy_array(path, stream, size)))


def _read_npz(path: Path, stream: BinaryIO, size: int) -> Vectors:
    import lzma
    import zlib

    try:
        with zipfile.ZipFile(stream) as archive:
            members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
            _checked_size(path, sum(info.file_size for info in archive.infolist()), size)
            arrays: dict[str, NDArray[Any]] = {}
            for name, info in members.items():
                if info.filename.endswith(".npy"):
                    with archive.open(info) as member:
                        arrays[name] = _npy_array(path, member, info.file_size)
    except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, NotImplementedError, RuntimeError) as error:
        raise _refused(path, tr("is not a whole npz file"), details=str(error)) from None
    except (ValueError, KeyError, OverflowError) as error:
        raise _refused(path, tr("is not a whole npz file"), details=str(error)) from None
    rows = {name: array for name, array in arrays.items() if array.ndim == 2 and array.dtype.kind == "f"}
    sure = rows.pop(CONFIDENCE, None) if len(rows) > 1 else None
    chosen = _one_of(path, rows, VECTORS)
    if sure is not None and (len(sure) != len(rows[chosen]) or not 0 < sure.shape[1] <= PARTS):
        raise _refused(path, tr("has a confidence that does not belong to its vectors"))
    names, ids = None, None
    listed = {name.lower(): array for name, array in arrays.items() if array.ndim == 1}
    for name in NAMES:
        if name in listed and listed[name].dtype.kind in "US":
            names = tuple(os.fsdecode(v) if isinstance(v, bytes) else str(v) for v in listed[name].tolist())
            break
    for name in IDS:
        if names is None and name in listed and listed[name].dtype.kind in "iu":
            ids = listed[name].astype(np.int64)
    people = listed.get(IDENTITY)
    identities = None
    if people is not None and people.dtype.kind in "US" and len(people) == len(rows[chosen]):
        identities = tuple(os.fsdecode(v) if isinstance(v, bytes) else str(v) for v in people.tolist())
    known = None if sure is None else _usable(path, sure)
    return Vectors(escaped(path.name), _usable(path, rows[chosen]), names, ids, identities, known)


def _one_of(path: Path, found: Mapping[str, object], wanted: Sequence[str]) -> str:
    """The array or column that holds the vectors: by its name, or the only one that could."""
    by_name = {name.lower(): name for name in found}
    for name in wanted:
        if name in by_name:
            return by_name[name]
    if len(found) == 1:
        return next(iter(found))
    if not found:
        raise _refused(path, tr("holds no vectors"), hint=tr("Vectors are rows of floats, N × D."))
    shown = ", ".join(escaped(name) for name in list(found)[:8])
    raise _refused(path, tr("holds several arrays ({names})", names=shown), hint=tr("Name the one to use “vectors”."))


def _read_parquet(path: Path, stream: BinaryIO, size: int) -> Vectors:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(stream)
        meta = file.metadata
        groups = min(meta.num_row_groups, 100_000)
        _checked_size(path, sum(max(0, meta.row_group(i).total_byte_size) for i in range(groups)), size)
        schema = file.schema_arrow
        lists = {f.name: f for f in schema if _is_list(f.type)}
        chosen = _one_of(path, lists, VECTORS)
        plain = {f.name.lower(): f.name for f in schema if not pa.types.is_nested(f.type)}
        told = next((plain[name] for name in (*NAMES, *IDS) if name in plain), None)
        # "path" may hold escapes where the name is no text; its exact bytes then lie beside it.
        exact = plain.get("path_bytes") if told is not None and told.lower() == "path" else None
        who = plain.get(IDENTITY)
        columns = file.read(columns=[chosen, *(name for name in (exact or told, who) if name)])
        vectors = _list_rows(path, columns.column(chosen))
        if told is None:
            return Vectors(escaped(path.name), vectors)
        values = columns.column(exact or told)
        if told.lower() in IDS and pa.types.is_integer(values.type):
            if values.null_count:
                raise _refused(path, tr("has rows without an id"))
            return Vectors(escaped(path.name), vectors, ids=np.asarray(values.to_numpy(), np.int64))
        cells = values.to_pylist()
    except (pa.ArrowException, ValueError, OverflowError, KeyError, IndexError, UnicodeError) as error:
        if isinstance(error, FaceLensError):
            raise
        raise _refused(path, tr("is not a Parquet file that can be read"), details=str(error)) from None
    except OSError as error:
        raise _refused(path, tr("is not a Parquet file that can be read"), details=str(error)) from None
    names = tuple(os.fsdecode(c) if isinstance(c, bytes) else "" if c is None else str(c) for c in cells)
    identities = None if who is None else tuple("" if c is None else str(c) for c in columns.column(who).to_pylist())
    return Vectors(escaped(path.name), vectors, names, identities=identities)


def _is_list(kind: Any) -> bool:
    import pyarrow as pa

    listed = pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    return bool(listed) and bool(pa.types.is_floating(kind.value_type) or pa.types.is_integer(kind.value_type))


def _list_rows(path: Path, column: Any) -> Floats:
    """(N, D) of a column of lists, which must be of one length; an empty cell is a row of NaN."""
    import pyarrow as pa
    import pyarrow.compute as pc

    lengths = pc.list_value_length(column).drop_null()
    widths = pc.unique(lengths).to_pylist()
    if len(widths) > 1:
        a, b = sorted(widths)[:2]
        raise _refused(path, tr("has vectors of {a} and of {b} dims", a=a, b=b))
    if not widths:
        raise _refused(path, tr("holds no vectors"))
    width = int(widths[0])
    if not 0 < width <= DIMENSIONS:
        raise _refused(path, tr("has vectors of {n} dims", n=width))
    there = pc.is_valid(column).to_numpy()
    with np.errstate(over="ignore"):
        flat = pc.list_flatten(column.drop_null()).cast(pa.float64()).to_numpy().astype(np.float32)
    made = np.full((len(column), width), np.nan, np.float32)
    made[there] = flat.reshape(-1, width)
    return made


def _read_tsv(path: Path, stream: BinaryIO, size: int) -> Vectors:
    import pyarrow as pa
    import pyarrow.csv as pacsv

    first = stream.readline(LINE)
    width = first.count(b"\t") + 1
    if len(first) == LINE or width > DIMENSIONS:
        raise _refused(path, tr("has a line too long to be a vector"))
    try:
        [float(cell) for cell in first.split(b"\t")]
        skip = 0
    except ValueError:
        skip = 1  # a header
    stream.seek(0)
    names = [str(i) for i in range(width)]
    try:
        found = pacsv.read_csv(
            stream,
            read_options=pacsv.ReadOptions(column_names=names, skip_rows=skip, block_size=2 * LINE),
            parse_options=pacsv.ParseOptions(delimiter="\t", quote_char=False),
            convert_options=pacsv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.float32()), null_values=["", "nan", "NaN", "NA"]
            ),
        )
    except (pa.ArrowException, OSError, ValueError) as error:
        raise _refused(path, tr("is not a table of numbers, with tabs between them"), details=str(error)) from None
    made = np.empty((found.num_rows, width), np.float32)
    for place in range(width):
        made[:, place] = found.column(place).to_numpy()
    return Vectors(escaped(path.name), made)


_SAFE = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "U8": "u1"}


def _read_safetensors(path: Path, stream: BinaryIO, size: int) -> Vectors:
    length = int.from_bytes(stream.read(8), "little")
    if not 2 <= length <= min(size - 8, 64 << 20):
        raise _refused(path, tr("is not a safetensors file"))
    try:
        head = json.loads(stream.read(length))
        told = head.pop("__metadata__", None) or {}
        found: dict[str, NDArray[Any]] = {}
        for name, entry in head.items():
            if entry["dtype"] not in (*_SAFE, "BF16"):
                continue
            start, end = (int(n) for n in entry["data_offsets"])
            shape = tuple(int(n) for n in entry["shape"])
            kind = np.dtype(_SAFE.get(entry["dtype"], "<u2"))
            if not (0 <= start <= end <= size - 8 - length and min(shape, default=0) >= 0):
                raise _refused(path, tr("says more than it holds"))
            if math.prod(shape) * kind.itemsize != end - start:
                raise _refused(path, tr("says more than it holds"))
            stream.seek(8 + length + start)
            array = np.frombuffer(stream.read(end - start), kind).reshape(shape)
            if entry["dtype"] == "BF16":
                array = (array.astype(np.uint32) << 16).view(np.float32)
            found[str(name)] = array
        listed = json.loads(told["names"]) if "names" in told else None
        names = tuple(str(name) for name in listed) if isinstance(listed, list) else None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError) as error:
        raise _refused(path, tr("is not a safetensors file"), details=str(error)) from None
    rows = {name: array for name, array in found.items() if array.ndim == 2 and array.dtype.kind == "f"}
    chosen = _one_of(path, rows, VECTORS)
    by_name = {name.lower(): array for name, array in found.items() if array.ndim == 1 and array.dtype.kind == "i"}
    ids = next((by_name[name].astype(np.int64) for name in IDS if name in by_name), None) if names is None else None
    return Vectors(escaped(path.name), _usable(path, rows[chosen]), names, ids)


READERS: Mapping[str, Callable[[Path, BinaryIO, int], Vectors]] = {
    ".npy": _read_npy,
    ".npz": _read_npz,
    ".parquet": _read_parquet,
    ".pq": _read_parquet,
    ".tsv": _read_tsv,
    ".safetensors": _read_safetensors,
}


def _names_beside(path: Path) -> Path | None:
    """The list of names that usually lies with a file of vectors."""
    stem = path.stem
    places = [f"{stem}{end}" for end in (".txt", ".csv", ".names.txt", "_names.txt", "_names.csv", "_paths.txt")]
    for word in ("vectors", "vecs", "tensors", "embeddings", "features"):
        if word in stem:
            places += [
                stem.replace(word, other) + end for other in ("metadata", "names") for end in (".tsv", ".txt", ".csv")
            ]
    return next((path.with_name(name) for name in places if path.with_name(name).is_file()), None)


def _names_of(path: Path, n: int) -> tuple[tuple[str, ...] | None, Ids | None]:
    """Names or ids from a list: one to a line, or the telling column of a table; a header is one row too many."""
    _, _, shape = table.sample(path)
    if path.suffix.lower() == ".txt" and shape is not None:
        lines = _lines(path, shape)
        return tuple(lines[1:] if len(lines) == n + 1 else lines), None
    loaded = table.load(path, shape)
    lower = [name.lower() for name in loaded.header]
    known = [name for name in (*NAMES, *IDS) if name in lower]
    column = lower.index(known[0]) if known else 0
    cells = loaded.strings(column)
    if known and known[0] in IDS and len(cells) == n:
        try:
            return None, np.array([int(cell) for cell in cells], np.int64)
        except (ValueError, OverflowError):
            pass
    if shape is not None and shape.header and not known and len(cells) == n - 1:
        cells = [loaded.header[column], *cells]  # TensorBoard: a single column has no header
    return tuple(cells), None


def _lines(path: Path, shape: table.Shape) -> list[str]:
    try:
        with open(path, encoding=shape.encoding, errors=shape.errors) as stream:
            lines = []
            while line := stream.readline(table.LINE):
                if len(line) == table.LINE:
                    raise _refused(path, tr("has a line too long to be a name"))
                if line.rstrip("\r\n"):
                    lines.append(line.rstrip("\r\n"))
            return lines
    except (OSError, UnicodeError) as error:
        raise _refused(path, tr("could not be read"), details=str(error)) from error


# Joining


def faces_of(vectors: Vectors, *, root: Path) -> FaceSet:
    """The gallery that a file of vectors describes by itself: names as paths, and identities where it has them."""
    if vectors.names is None:
        raise InputError(
            tr("{name} does not say which vector belongs to which face.", name=vectors.source),
            hint=tr("Give the gallery as well."),
        )
    name = vectors.source.rpartition(".")[0] or vectors.source
    return FaceSet.build(name, root, paths=vectors.names, identities=vectors.identities or [None] * len(vectors))


def join(vectors: Vectors, faces: FaceSet, *, by_order: bool = False, model: str = "") -> Joined:
    """Give each vector to its face. `by_order` takes the rows as they come, for files that name nothing."""
    if vectors.names is None and vectors.ids is None:
        if not by_order:
            raise NeedsChoice(
                tr("{name} does not say which vector belongs to which face.", name=vectors.source),
                hint=tr("Choose a list of names, or say that the order is that of the gallery."),
            )
        if len(vectors) != len(faces):
            raise InputError(
                tr("{name} has {n} vectors, the gallery {m} faces.", name=vectors.source, n=len(vectors), m=len(faces)),
                hint=tr("Choose a list of names."),
            )
        row_of = np.arange(len(faces))
    elif vectors.ids is not None:
        known, order = np.sort(faces.ids), np.argsort(faces.ids)
        row_of = np.full(len(vectors), NONE)
        if len(known):
            at = np.minimum(np.searchsorted(known, vectors.ids), len(known) - 1)
            row_of = np.where(known[at] == vectors.ids, order[at], NONE)
    else:
        row_of = rows_by_name(vectors.names or (), faces)
    matched = np.flatnonzero(row_of >= 0)
    _, first = np.unique(row_of[matched], return_index=True)
    taken = matched[np.sort(first)]
    by_face = taken[np.argsort(row_of[taken])]
    ids, found = faces.ids[row_of[by_face]], vectors.vectors[by_face]
    with np.errstate(over="ignore", invalid="ignore"):
        norms = np.sqrt(np.einsum("nd,nd->n", found, found, dtype=np.float64)).astype(np.float32)
    good = np.isfinite(norms) & (norms > 1e-12)
    ids_good, found, norms = ids[good], np.ascontiguousarray(found[good]), norms[good]
    sure = None if vectors.confidence is None else np.ascontiguousarray(vectors.confidence[by_face][good])
    for array in (ids_good, found, norms, *([] if sure is None else [sure])):
        array.flags.writeable = False
    state = hashlib.sha256(np.ascontiguousarray(ids_good).data)
    state.update(found.data)
    provenance = Provenance(state.hexdigest(), model or Path(vectors.source).stem)
    return Joined(
        FeatureSet(ids_good, found, provenance, norms, sure, ids[~good]),
        vectors,
        faces,
        without_face=np.flatnonzero(row_of == NONE),
        without_vector=np.setdiff1d(np.arange(len(faces)), row_of[taken]),
        ambiguous=np.flatnonzero(row_of == SEVERAL),
        twice=np.setdiff1d(matched, taken),
    )


def require_same_space(a: FeatureSet, b: FeatureSet) -> None:
    """Refuse to compare vectors of different dimensions."""
    if a.dimensions != b.dimensions:
        raise InputError(
            tr(
                "{a} has {n} dims, {b} has {m}.",
                a=escaped(a.provenance.model),
                n=a.dimensions,
                b=escaped(b.provenance.model),
                m=b.dimensions,
            ),
            hint=tr("Only vectors of one space can be compared; a compatible model or a transform joins two."),
        )
