"""Vectors as a Parquet table, for Embedding Atlas, FiftyOne, pandas, DuckDB; written block by block.

image         struct<bytes: binary, path: string>: a small JPEG (Embedding Atlas: --image; Hugging Face's form)
identity      string
path          string, inside the gallery, fit to be shown
...           the columns of the gallery; one that has a name of this list already gets a _ behind it
norm          float
projection_x, projection_y    float, where there is a map (Embedding Atlas: --x, --y)
neighbors     struct<ids: list<int64>, distances: list<float>>: rows of this table from 0 (Embedding Atlas: --neighbors)
embedding     fixed_size_list<float>[D]
confidence    fixed_size_list<float>[S], where there is one
filepath      string, where the picture lies (FiftyOne's name for it); empty where it lies in another file
id            string, of FaceLens: 63 bits, more than a number of a browser can hold
path_bytes    binary, where `path` is not exact

The schema's metadata `facelens` says in JSON whose vectors these are, with SHA-256 and licence.
"""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np

from facelens.errors import FaceLensError
from facelens.features.exports import Floats, Outgoing, free_names
from facelens.files import atomic_write
from facelens.images import decode
from facelens.images.faceset import Column, FaceSet, Labels, Rows
from facelens.progress import Tick, silent
from facelens.words import escaped, tr

BLOCK = 1 << 13  # faces that are held at once
QUALITY = 85  # of JPEG
OWN = (
    *("id", "path", "path_bytes", "filepath", "identity", "norm", "embedding", "confidence"),
    *("projection_x", "projection_y", "neighbors", "image"),
)


def write(path: Path, out: Outgoing, *, thumbnails: int = 0, tick: Tick = silent) -> None:
    """A row for each face; with `thumbnails` pictures of at most so many pixels a side go along."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = Path(path)
    told = tr("Writing {name}", name=escaped(path.name))
    table = _Table(out, thumbnails)

    def watched(done: int) -> None:
        tick(done, len(out), told)

    with atomic_write(path) as stream:
        schema = pa.schema(table.fields(), metadata={b"facelens": json.dumps(out.about).encode()})
        with pq.ParquetWriter(stream, schema, compression="zstd", use_dictionary=False) as writer:
            for some in out.blocks(BLOCK):
                watched(some.start)
                columns = table.columns(some, watched)
                writer.write_batch(pa.RecordBatch.from_arrays([columns[field.name] for field in schema], schema=schema))
    tick(len(out), len(out), told)


class _Table:
    """What stands in the columns, asked for a stretch of faces at a time."""

    def __init__(self, out: Outgoing, thumbnails: int) -> None:
        self.out, self.thumbnails = out, thumbnails
        names = free_names([escaped(name) for name in out.faces.columns], set(OWN))
        self.extra = dict(zip(names, out.faces.columns.values(), strict=True))
        self.exact = not all(_is_text(name) for name in out.names)

    def fields(self) -> list[Any]:
        """Names and types, in order."""
        import pyarrow as pa

        out, confidence = self.out, self.out.features.confidence
        kinds = {}
        if self.thumbnails:
            kinds["image"] = pa.struct({"bytes": pa.binary(), "path": pa.string()})
        kinds |= {"identity": pa.string(), "path": pa.string()}
        kinds |= {name: _kind(column) for name, column in self.extra.items()}
        kinds["norm"] = pa.float32()
        if out.points is not None:
            kinds |= {"projection_x": pa.float32(), "projection_y": pa.float32()}
        if out.near is not None:
            kinds["neighbors"] = pa.struct({"ids": pa.list_(pa.int64()), "distances": pa.list_(pa.float32())})
        kinds["embedding"] = pa.list_(pa.float32(), out.features.dimensions)
        if confidence is not None:
            kinds["confidence"] = pa.list_(pa.float32(), confidence.shape[1])
        kinds |= {"filepath": pa.string(), "id": pa.string()}
        if self.exact:
            kinds["path_bytes"] = pa.binary()
        return [pa.field(name, kind) for name, kind in kinds.items()]

    def columns(self, some: slice, watched: Any) -> dict[str, Any]:
        """Each column's part."""
        import pyarrow as pa

        out, features = self.out, self.out.features
        rows, numbers = out.rows[some], range(some.start, some.stop)
        found: dict[str, Any] = {
            "id": pa.array([str(face) for face in out.told_ids[some].tolist()], pa.string()),
            "path": pa.array([out.name(n) for n in numbers], pa.string()),
            "filepath": pa.array([out.file(n) for n in numbers], pa.string()),
            "identity": _names(out.faces.identity, rows),
            "norm": pa.array(features.norms[out.places[some]], pa.float32()),
            "embedding": _lists(out.vectors(some)),
        }
        if self.exact:
            found["path_bytes"] = pa.array(out.names[some], pa.binary())
        if features.confidence is not None:
            found["confidence"] = _lists(features.confidence[out.places[some]])
        if out.points is not None:
            for axis, name in enumerate(("projection_x", "projection_y")):
                found[name] = pa.array(out.points[some, axis], pa.float32(), from_pandas=True)
        if out.near is not None:
            found["neighbors"] = _nearest(out, some)
        if self.thumbnails:
            found["image"] = self._pictures(some, watched)
        for name, column in self.extra.items():
            named = isinstance(column, Labels)
            found[name] = _names(column, rows) if named else pa.array(column[rows], from_pandas=True)  # type: ignore[arg-type,index]
        return found

    def _pictures(self, some: slice, watched: Any) -> Any:
        import pyarrow as pa

        cells: list[dict[str, Any] | None] = []
        for n in range(some.start, some.stop):
            watched(n)
            data = thumbnail(self.out.faces, int(self.out.rows[n]), self.thumbnails)
            cells.append(None if data is None else {"bytes": data, "path": self.out.name(n).rpartition("/")[2]})
        return pa.array(cells, pa.struct({"bytes": pa.binary(), "path": pa.string()}))


def thumbnail(faces: FaceSet, row: int, size: int) -> bytes | None:
    """A face as a small JPEG, None where its picture cannot be read."""
    from PIL import Image

    try:
        picture = Image.fromarray(decode.thumbnail_face(faces, row, size))
    except (FaceLensError, OSError):
        return None
    picture.thumbnail((size, size))
    data = io.BytesIO()
    picture.convert("RGB").save(data, "JPEG", quality=QUALITY)
    return data.getvalue()


def _kind(column: Column) -> Any:
    import pyarrow as pa

    return pa.string() if isinstance(column, Labels) else pa.from_numpy_dtype(column.dtype)


def _names(column: Labels, rows: Rows) -> Any:
    """Names of some rows, empty where there is none."""
    import pyarrow as pa

    codes = column.codes[rows]
    used, place = np.unique(codes[codes >= 0], return_inverse=True)
    indices = np.zeros(len(codes), np.int64)
    indices[codes >= 0] = place
    known = pa.array([escaped(column.names[code]) for code in used.tolist()], pa.string())
    return known.take(pa.array(indices, mask=codes < 0))


def _lists(values: Floats) -> Any:
    import pyarrow as pa

    flat = pa.array(np.ascontiguousarray(values, np.float32).reshape(-1))
    return pa.FixedSizeListArray.from_arrays(flat, values.shape[1])


def _nearest(out: Outgoing, some: slice) -> Any:
    import pyarrow as pa

    assert out.near is not None
    places, distances = out.near.places[some], out.near.distances[some]
    there = places >= 0
    ends = pa.array(np.append(0, np.cumsum(there.sum(1))).astype(np.int32))
    lists = (
        pa.ListArray.from_arrays(ends, pa.array(places[there])),
        pa.ListArray.from_arrays(ends, pa.array(distances[there].astype(np.float32))),
    )
    return pa.StructArray.from_arrays(lists, ["ids", "distances"])


def _is_text(name: bytes) -> bool:
    try:
        text = name.decode()
    except UnicodeDecodeError:
        return False
    return escaped(text) == text
