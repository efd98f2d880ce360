"""Patch maps kept for a while: made on demand, found again in memory or on disk, the least used forgotten first.

A map is kept as float16 times a power of two of its own, so that neither large nor small activations are lost. On disk
a block holds some maps of one `put`; like a shard its name holds its checksums, and it is there whole or not at all.
Blocks of all models and layers share one folder and one limit.

Shapes    map (C, rows, columns) float32 outside, float16 inside
Block     ids int64 (n,), keys uint64 (n,), exponents int32 (n,): under the first checksum; then maps float16
          (n, C, rows, columns): under the second
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import time
import zlib
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from facelens.features.shard import Keys, commit, free_bytes, remove
from facelens.images.faceset import Ids
from facelens.words import plural

DISK = 4 << 30
MEMORY = 256 << 20
MARGIN = 256 << 20  # bytes of the disk that a mere convenience leaves alone
BLOCK = 8 << 20  # bytes of a file: all of it is read for any of its maps
ABANDONED = 3600  # seconds after which an unfinished file has no writer any more

# model and layer, time it was made, n, channels, rows, columns, checksum of the head and of the maps, chance
_NAME = re.compile(
    r"([0-9a-f]{16})\.([0-9a-f]{16})\.([0-9a-f]{1,8})\.([0-9a-f]{1,8})\.([0-9a-f]{1,8})\.([0-9a-f]{1,8})"
    r"\.([0-9a-f]{8})\.([0-9a-f]{8})\.[0-9a-f]{8}\.maps"
)

Maps = NDArray[np.float32]


class _Kept(NamedTuple):
    """One map in memory."""

    key: int
    exponent: int
    values: NDArray[np.float16]


class _Head(NamedTuple):
    """What a block says about its maps."""

    ids: list[int]
    keys: list[int]
    exponents: list[int]


class _Block(NamedTuple):
    """One file, as its name tells."""

    path: Path
    of: str
    made: int
    shape: tuple[int, int, int, int]
    head_sum: int
    maps_sum: int

    @classmethod
    def named(cls, path: Path) -> _Block | None:
        match = _NAME.fullmatch(path.name)
        if match is None:
            return None
        of, *told = match.groups()
        made, n, channels, rows, columns, head, maps = (int(text, 16) for text in told)
        return cls(path, of, made, (n, channels, rows, columns), head, maps)

    @property
    def head_size(self) -> int:
        return 20 * self.shape[0]

    @property
    def size(self) -> int:
        n, channels, rows, columns = self.shape
        return self.head_size + 2 * n * channels * rows * columns


class PatchCache:
    """The patch maps of one layer of one model over one gallery; for one thread at a time.

    `fingerprint` is that of the feature store. Limits are in bytes; the one of the disk counts everything in `folder`.
    """

    def __init__(self, folder: Path, fingerprint: str, *, layer: str, disk: int = DISK, memory: int = MEMORY) -> None:
        self.folder = Path(folder)
        self.of = hashlib.sha256(f"{fingerprint}\0{layer}".encode()).hexdigest()[:16]
        self.disk, self.memory = disk, memory
        self.damaged = 0  # maps found damaged since this was opened
        self._kept: OrderedDict[int, _Kept] = OrderedDict()
        self._held = 0  # bytes in memory
        self._places: dict[int, tuple[_Block, int]] = {}  # where each map lies on disk, as far as is known
        self._heads: dict[str, _Head] = {}  # of the blocks that have been looked at
        self._looked = -1  # time of change of the folder when it was last listed

    @property
    def size(self) -> int:
        """Bytes on disk, of all models and layers."""
        return sum(size for _, size, _ in _entries(self.folder))

    @property
    def notice(self) -> str:
        """What to tell about damage found so far, "" for none."""
        if not self.damaged:
            return ""
        return plural(
            self.damaged,
            "{n} cached patch map was damaged and will be recomputed.",
            "{n} cached patch maps were damaged and will be recomputed.",
        )

    def get(self, ids: Ids, *, keys: Keys | None = None) -> tuple[dict[int, Maps], Ids]:
        """The maps that are here, and the ids of the others; `keys` (`store.picture_keys`) leaves out stale ones."""
        found: dict[int, Maps] = {}
        wanted = {
            int(face): int(key) for face, key in zip(ids, np.zeros(len(ids), np.uint64) if keys is None else keys)
        }
        far: list[int] = []
        for face, key in wanted.items():
            kept = self._kept.get(face)
            if kept is None or not _same(kept.key, key):
                far.append(face)
                continue
            self._kept.move_to_end(face)
            found[face] = _opened(kept)
        if far:
            self._look()
        by_block: dict[str, tuple[_Block, list[tuple[int, int]]]] = {}
        for face in far:
            if face in self._places:
                block, place = self._places[face]
                by_block.setdefault(block.path.name, (block, []))[1].append((face, place))
        for block, places in by_block.values():
            head = self._heads[block.path.name]
            places = [(face, place) for face, place in places if _same(head.keys[place], wanted[face])]
            maps = self._maps(block) if places else None
            if maps is None:
                continue
            for face, place in places:
                kept = _Kept(head.keys[place], head.exponents[place], maps[place].copy())
                self._remember(face, kept)
                found[face] = _opened(kept)
        return found, np.array([face for face in wanted if face not in found], np.int64)

    def put(self, ids: Ids, maps: Maps, *, keys: Keys | None = None) -> Maps:
        """Keep (n, C, rows, columns) maps; returns them rounded, as `get` will.

        A disk that is full keeps none, without a word: they can be made again.
        """
        maps = np.asarray(maps, np.float32)
        if maps.ndim != 4 or len(maps) != len(ids):
            raise ValueError("maps are (n, C, rows, columns), one for each id")
        if not maps.size:
            return maps
        states = np.zeros(len(ids), np.uint64) if keys is None else np.asarray(keys, np.uint64)
        flat = maps.reshape(len(maps), -1)
        largest = np.abs(np.where(np.isfinite(flat), flat, 0)).max(axis=1)
        exponents = np.frexp(largest)[1].astype(np.int32)
        with np.errstate(over="ignore", invalid="ignore"):
            halves = np.ldexp(flat, -exponents[:, None]).astype(np.float16).reshape(maps.shape)
        for face, key, exponent, values in zip(ids.tolist(), states.tolist(), exponents.tolist(), halves):
            self._remember(face, _Kept(key, exponent, values.copy()))
        faces, step = np.asarray(ids, np.int64), max(1, BLOCK // halves[0].nbytes)
        for some in (slice(start, start + step) for start in range(0, len(faces), step)):
            self._write(faces[some], states[some], exponents[some], halves[some])
        return _widened(halves, exponents[:, None, None, None])

    def purge(self) -> None:
        """Forget everything, of all models and layers."""
        self._kept.clear()
        self._held = 0
        self._places.clear()
        self._heads.clear()
        for path, _, _ in list(_entries(self.folder)):
            remove(path)

    def _remember(self, face: int, kept: _Kept) -> None:
        before = self._kept.pop(face, None)
        self._held += kept.values.nbytes - (0 if before is None else before.values.nbytes)
        self._kept[face] = kept
        while self._held > self.memory and self._kept:
            _, gone = self._kept.popitem(last=False)
            self._held -= gone.values.nbytes

    def _write(self, ids: Ids, keys: Keys, exponents: NDArray[np.int32], halves: NDArray[np.float16]) -> None:
        head = ids.tobytes() + keys.tobytes() + exponents.tobytes()
        maps = np.ascontiguousarray(halves).data.cast("B")
        total = len(head) + maps.nbytes

        def write(stream: BinaryIO) -> None:
            stream.write(head)
            stream.write(maps)

        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._make_room(total)
            if total > self.disk or free_bytes(self.folder) < total + MARGIN:
                return
            start = f"{self.of}.{time.time_ns():016x}." + ".".join(f"{n:x}" for n in halves.shape)
            sums = f"{zlib.crc32(head, zlib.crc32(start.encode())):08x}.{zlib.crc32(maps):08x}"
            path = commit(self.folder, write, name=lambda part: f"{start}.{sums}.{secrets.token_hex(4)}.maps")
        except OSError:
            return
        block = _Block.named(path)
        if block is not None:
            self._note(block, _Head(ids.tolist(), keys.tolist(), exponents.tolist()))

    def _note(self, block: _Block, head: _Head) -> None:
        self._heads[block.path.name] = head
        for place, face in enumerate(head.ids):
            known = self._places.get(face)
            if known is None or known[0].made <= block.made:  # the later wins
                self._places[face] = block, place

    def _make_room(self, needed: int) -> None:
        """Remove the blocks that were used longest ago until `needed` bytes fit under the limit."""
        entries = sorted(_entries(self.folder), key=lambda entry: entry[2])
        total = sum(size for _, size, _ in entries)
        old = time.time() - ABANDONED
        for path, size, used in entries:
            if path.name.endswith(".part"):
                if used < old:
                    remove(path)
                    total -= size
            elif total + needed > self.disk:
                remove(path)
                total -= size

    def _look(self) -> None:
        """See which maps lie on disk; blocks of other processes count as well."""
        try:
            changed = os.stat(self.folder).st_mtime_ns
        except OSError:
            changed = 0
        if changed == self._looked:
            return
        # A clock may be coarse: what changed just now may change again without being seen.
        self._looked = changed if changed < time.time_ns() - 10**9 else -1
        found = {path.name: path for path, _, _ in _entries(self.folder)}
        for name in self._heads.keys() - found.keys():
            self._forget(name)
        for name, path in found.items():
            block = _Block.named(path)
            if block is not None and block.of == self.of and name not in self._heads:
                head = self._head(block)
                if head is not None:
                    self._note(block, head)

    def _read(self, block: _Block, start: int, *, end: int, seed: int, checksum: int) -> bytes | None:
        """A part of a block, verified; None where it is gone or damaged, and then so is the block."""
        try:
            with open(block.path, "rb") as stream:
                whole = os.fstat(stream.fileno()).st_size == block.size
                stream.seek(start)
                data = stream.read(end - start) if whole else b""
        except FileNotFoundError:
            self._forget(block.path.name)
            return None
        except OSError:
            data = b""
        if len(data) != end - start or zlib.crc32(data, seed) != checksum:
            self.damaged += block.shape[0]
            self._forget(block.path.name)
            remove(block.path)
            return None
        return data

    def _head(self, block: _Block) -> _Head | None:
        n = block.shape[0]
        start = f"{block.of}.{block.made:016x}." + ".".join(f"{size:x}" for size in block.shape)
        data = self._read(block, 0, end=block.head_size, seed=zlib.crc32(start.encode()), checksum=block.head_sum)
        if data is None:
            return None
        ids, keys = np.frombuffer(data, np.int64, n), np.frombuffer(data, np.uint64, n, 8 * n)
        return _Head(ids.tolist(), keys.tolist(), np.frombuffer(data, np.int32, n, 16 * n).tolist())

    def _maps(self, block: _Block) -> NDArray[np.float16] | None:
        """All maps of a block; it counts as used."""
        data = self._read(block, block.head_size, end=block.size, seed=0, checksum=block.maps_sum)
        if data is None:
            return None
        try:
            os.utime(block.path)
        except OSError:
            pass
        return np.frombuffer(data, np.float16).reshape(block.shape)

    def _forget(self, name: str) -> None:
        head = self._heads.pop(name, None)
        for face in () if head is None else head.ids:
            if face in self._places and self._places[face][0].path.name == name:
                del self._places[face]


def _same(stored: int, now: int) -> bool:
    return stored == now or not stored or not now


def _opened(kept: _Kept) -> Maps:
    return _widened(kept.values, np.int32(kept.exponent))


def _widened(halves: NDArray[np.float16], exponents: NDArray[np.int32] | np.int32) -> Maps:
    with np.errstate(over="ignore", invalid="ignore"):
        made: Maps = np.ldexp(halves.astype(np.float32), exponents)
    return made


def _entries(folder: Path) -> Iterator[tuple[Path, int, float]]:
    """Our files: place, size, when last used."""
    try:
        listed = list(os.scandir(folder))
    except OSError:
        return
    for entry in listed:
        if _NAME.fullmatch(entry.name) or entry.name.endswith(".part"):
            try:
                told = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            yield Path(entry.path), told.st_size, told.st_mtime
