"""Many byte strings in two flat buffers: a million paths cost two arrays, not a million objects.

Shapes    blob (bytes,) uint8; offsets (N + 1,) int64; string i is blob[offsets[i]:offsets[i + 1]]
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Packed:
    """A frozen sequence of byte strings. File names are kept as the bytes that the disk holds."""

    blob: NDArray[np.uint8]
    offsets: NDArray[np.int64]

    @classmethod
    def of(cls, items: Iterable[bytes | str]) -> Packed:
        """Pack; a str is taken as a file name (`os.fsencode`), so undecodable names survive."""
        parts = [item if isinstance(item, bytes) else os.fsencode(item) for item in items]
        offsets = np.zeros(len(parts) + 1, np.int64)
        np.cumsum(np.fromiter(map(len, parts), np.int64, len(parts)), out=offsets[1:])
        blob = np.frombuffer(b"".join(parts), np.uint8)
        offsets.flags.writeable = False
        return cls(blob, offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> bytes:
        row = row + len(self) if row < 0 else row
        if not 0 <= row < len(self):
            raise IndexError(row)
        return self.blob[self.offsets[row] : self.offsets[row + 1]].tobytes()

    def __iter__(self) -> Iterator[bytes]:
        whole, ends = self.blob.tobytes(), self.offsets.tolist()
        return (whole[start:end] for start, end in pairwise(ends))

    def take(self, rows: NDArray[np.int64]) -> Packed:
        """The strings at `rows`, in that order."""
        lengths = np.diff(self.offsets)[rows]
        offsets = np.zeros(len(rows) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        # Source position of every byte: its string's start, plus its place in the string.
        source = np.repeat(self.offsets[:-1][rows] - offsets[:-1], lengths) + np.arange(offsets[-1])
        offsets.flags.writeable = False
        return Packed(self.blob[source], offsets)
