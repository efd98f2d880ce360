"""A shard: one immutable Arrow IPC file of vectors that can tell whether it is what was written.

The name holds the checksum of everything but the vectors; that holds one for each block of vectors. So a shard needs no
second file, is there whole or not at all, and other programs open it as a table.

Columns    id int64, norm float32, key uint64, confidence float32[S] (not always), vector float32[D]: the last
"""

from __future__ import annotations

import errno
import json
import os
import re
import secrets
import shutil
import tempfile
import zlib
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from facelens.files import sync_folder
from facelens.images.faceset import Ids, Rows
from facelens.words import tr

Keys = NDArray[np.uint64]

BLOCK = 4 << 20  # bytes of vectors under one checksum
_PIECE = 4 << 20

# order, merges, rows, dimensions, parts, start of the vectors, checksum of all else, chance; all but the last two say
# how the file is laid out, so they go into the checksum as well.
_NAME = re.compile(
    r"([0-9a-f]{8})\.([0-9a-f]{1,8})\.([0-9a-f]{1,8})\.([0-9a-f]{1,8})\.([0-9a-f]{1,8})\.([0-9a-f]{1,12})"
    r"\.([0-9a-f]{8})\.([0-9a-f]{8})\.arrow"
)


def commit(folder: Path, write: Callable[[BinaryIO], None], *, name: Callable[[Path], str]) -> Path:
    """Write a file for the owner alone that is there whole, under the name found when it is finished, or not at all."""
    part: str | None = None
    try:
        handle, part = tempfile.mkstemp(prefix=".", suffix=".part", dir=folder)
        with os.fdopen(handle, "wb") as stream:
            write(stream)
            stream.flush()
            os.fsync(stream.fileno())
        final = folder / name(Path(part))
        os.replace(part, final)
        part = None
        sync_folder(folder)
        return final
    finally:
        if part is not None:
            remove(Path(part))


def amount(size: float) -> str:
    """Bytes in words.

    >>> amount(3_100_000_000), amount(41_000_000), amount(900)
    ('3.1 GB', '41 MB', '1 kB')
    """
    for unit, scale, decimals in ((tr("GB"), 1e9, 1), (tr("MB"), 1e6, 0)):
        if size >= 0.995 * scale:
            return f"{size / scale:.{decimals}f} {unit}"
    return f"{max(1, round(size / 1e3))} {tr('kB')}"


def remove(path: Path) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass


def is_full(error: BaseException) -> bool:
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)


def free_bytes(folder: Path) -> int:
    """Room on the disk of `folder`."""
    return shutil.disk_usage(folder).free


@dataclass(eq=False)
class Shard:
    """One file. Everything but the vectors is verified when it is loaded, the vectors block by block when asked for."""

    path: Path
    sequence: int
    merges: int
    rows: int
    dimensions: int
    parts: int
    start: int  # of the vectors in the file
    checksum: int
    told: dict[str, Any] = field(default_factory=dict)
    ids: Ids = field(default_factory=lambda: np.zeros(0, np.int64))
    norms: NDArray[np.float32] = field(default_factory=lambda: np.zeros(0, np.float32))
    keys: Keys = field(default_factory=lambda: np.zeros(0, np.uint64))
    confidence: NDArray[np.float32] | None = None
    vectors: NDArray[np.float32] = field(default_factory=lambda: np.zeros((0, 0), np.float32))
    loaded: bool = False
    good: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, bool))  # blocks that have been verified

    @classmethod
    def named(cls, path: Path) -> Shard | None:
        """What the name says; None for files that are no shards."""
        match = _NAME.fullmatch(path.name)
        if match is None:
            return None
        sequence, merges, rows, dimensions, parts, start, checksum, _ = (int(text, 16) for text in match.groups())
        shard = cls(path, sequence, merges, rows, dimensions, parts, start, checksum)
        return shard if shard.rows and shard.dimensions else None

    @property
    def order(self) -> tuple[int, int, str]:
        return self.sequence, self.merges, self.path.name

    @property
    def end(self) -> int:
        return self.start + 4 * self.rows * self.dimensions

    @property
    def block_rows(self) -> int:
        return block_rows(self.dimensions)

    @property
    def layout(self) -> str:
        return f"{self.rows:x}.{self.dimensions:x}.{self.parts:x}.{self.start:x}"

    def load(self, fingerprint: str) -> bool:
        """Verify and map; False where the file is not what was written."""
        import pyarrow as pa

        with open(self.path, "rb") as stream:
            if _frame_checksum(stream, self.start, end=self.end, layout=self.layout) != self.checksum:
                return False
        whole = pa.memory_map(str(self.path)).read_buffer()
        batch = pa.ipc.open_file(whole).get_batch(0)
        told = json.loads(batch.schema.metadata[b"facelens"])
        if told["manifest"]["fingerprint"] != fingerprint:
            return False
        self.told = told
        self.ids = batch.column("id").to_numpy()
        self.norms = batch.column("norm").to_numpy()
        self.keys = batch.column("key").to_numpy()
        self.vectors = batch.column("vector").values.to_numpy().reshape(self.rows, self.dimensions)
        if self.parts:
            self.confidence = batch.column("confidence").values.to_numpy().reshape(self.rows, self.parts)
        self.good = np.zeros(len(told["sums"]), bool)
        self.loaded = True
        return True

    def verify(self, rows: Rows | slice | None = None) -> list[int]:
        """Blocks of the given rows, all by default, that are not what was written. Reads; a mapping would just die."""
        if rows is None:
            blocks = np.arange(len(self.good))
        elif isinstance(rows, slice):
            blocks = np.arange(rows.start // self.block_rows, (rows.stop - 1) // self.block_rows + 1)
        else:
            blocks = np.unique(rows // self.block_rows)
        todo = blocks[~self.good[blocks]].tolist()
        if not todo:
            return []
        size = 4 * self.block_rows * self.dimensions
        sums: list[int] = self.told["sums"]

        def check(some: list[int]) -> list[int]:
            bad = []
            try:
                stream = open(self.path, "rb", buffering=0)  # noqa: SIM115
            except FileNotFoundError:  # merged away since; the mapping still holds it
                parts = ((block, block * self.block_rows) for block in some)
                return [b for b, row in parts if zlib.crc32(self.vectors[row : row + self.block_rows].data) != sums[b]]
            with stream:
                room = bytearray(min(size, self.end - self.start))
                for block in some:
                    length = min(size, self.end - self.start - block * size)
                    view = memoryview(room)[:length]
                    try:
                        stream.seek(self.start + block * size)
                        whole = _fill(stream, view)
                    except OSError as error:
                        if error.errno != errno.EIO:
                            raise
                        whole = False
                    if not whole or zlib.crc32(view) != sums[block]:
                        bad.append(block)
            return bad

        threads = min(os.cpu_count() or 1, 4, 1 + len(todo) // 8)
        if threads == 1:
            bad = check(todo)
        else:
            with ThreadPoolExecutor(threads) as pool:
                shares = pool.map(check, (todo[i::threads] for i in range(threads)))
                bad = sorted(block for share in shares for block in share)
        self.good[[block for block in todo if block not in set(bad)]] = True
        return bad


def block_rows(dimensions: int) -> int:
    """Rows of vectors under one checksum."""
    return max(1, BLOCK // (4 * dimensions))


def _fill(stream: Any, view: memoryview) -> bool:
    done = 0
    while done < len(view):
        count = stream.readinto(view[done:])
        if not count:
            return False
        done += count
    return True


def _frame_checksum(stream: BinaryIO, start: int, *, end: int, layout: str) -> int:
    """Checksum of everything before and after the vectors, and of how the file is laid out."""
    size = os.fstat(stream.fileno()).st_size
    sum_ = zlib.crc32(layout.encode())
    for first, after in ((0, min(start, size)), (end, size)):
        if first >= after:
            continue
        stream.seek(first)
        left = after - first
        while left:
            piece = stream.read(min(_PIECE, left))
            if not piece:
                return -1
            sum_ = zlib.crc32(piece, sum_)
            left -= len(piece)
    return sum_ if size > end else -1


def write_shard(
    folder: Path,
    columns: Mapping[str, NDArray[Any]],
    *,
    manifest: Mapping[str, Any],
    order: tuple[int | None, int] = (None, 0),
) -> Path:
    """Make a shard, safe on disk when this returns; `order` is (sequence, merges), None for the next sequence."""
    import pyarrow as pa

    vectors = np.ascontiguousarray(columns["vector"], np.float32)
    rows, dimensions = vectors.shape
    parts = columns["confidence"].shape[1] if "confidence" in columns else 0
    step = block_rows(dimensions)
    told = {
        "manifest": dict(manifest),
        "sums": [zlib.crc32(vectors[start : start + step].data) for start in range(0, rows, step)],
        "unique": len(np.unique(columns["id"])) == rows,
    }
    types = {"id": pa.int64(), "norm": pa.float32(), "key": pa.uint64()}

    def arrow(name: str, values: NDArray[Any]) -> Any:
        # From buffers: nothing is copied, also where the vectors are mapped.
        flat = np.ascontiguousarray(values).reshape(-1)
        made = pa.Array.from_buffers(types.get(name, pa.float32()), len(flat), [None, pa.py_buffer(flat)])
        return made if name in types else pa.FixedSizeListArray.from_arrays(made, values.shape[1])

    names = ["id", "norm", "key", *(["confidence"] if parts else []), "vector"]
    arrays = [arrow(name, vectors if name == "vector" else columns[name]) for name in names]
    schema = pa.schema(
        [pa.field(name, array.type, nullable=False) for name, array in zip(names, arrays)],
        metadata={"facelens": json.dumps(told)},
    )
    batch = pa.RecordBatch.from_arrays(arrays, schema=schema)

    def write(stream: BinaryIO) -> None:
        file = pa.ipc.new_file(stream, schema)
        file.write_batch(batch)
        file.close()

    def name(part: Path) -> str:
        whole = pa.memory_map(str(part)).read_buffer()
        stored = pa.ipc.open_file(whole).get_batch(0).column("vector").values.buffers()[1]
        start = stored.address - whole.address
        layout = f"{rows:x}.{dimensions:x}.{parts:x}.{start:x}"
        with open(part, "rb") as stream:
            sum_ = _frame_checksum(stream, start, end=start + 4 * rows * dimensions, layout=layout)
        sequence, merges = order
        if sequence is None:
            sequence = 1 + max((shard.sequence for shard in shards_in(folder)), default=0)
        return f"{sequence:08x}.{merges:x}.{layout}.{sum_:08x}.{secrets.token_hex(4)}.arrow"

    return commit(folder, write, name=name)


def shards_in(folder: Path) -> list[Shard]:
    """The shards of a folder by their names, in no order, none of them opened."""
    found = (Shard.named(folder / name) for name in os.listdir(folder))
    return [shard for shard in found if shard is not None]
