"""Patch sets: a face as a set of patch vectors, one for each cell of a grid.

Computes    map averaged to a grid: cell (r, c) of R x C is the mean over rows floor(r H / R) .. ceil((r + 1) H / R) and
            columns likewise; patch = cell / ||cell||; centre = n(mean of the cells before they are brought to length 1)
            landmarks in a cell: row floor(y R / height), column floor(x C / width), those outside are skipped
Shapes      maps (n, C, H, W); patches (n, P, C), P = rows x columns, row by row; centre (n, C); embedding (n, D)
Reference   Phan, Nguyen, "DeepFace-EMD", CVPR 2022
Departs     a cell without any activation has no direction: its patch is 0, which is at distance 1 from all
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from facelens.images.faceset import Ids

Floats = NDArray[np.float32]
Grid = tuple[int, int]


@dataclass(frozen=True, eq=False)
class PatchSets:
    """Some faces, each as patches of one grid."""

    ids: Ids  # (n,) -1 for a face that is in no gallery, as a painted query
    patches: Floats  # (n, P, C) length 1, or 0
    centre: Floats  # (n, C)
    embedding: Floats  # (n, D) length 1
    grid: Grid  # rows, columns
    points: Floats | None = None  # (n, P) how many landmarks lie in each cell, where they are known

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, rows: NDArray[np.int64] | slice) -> PatchSets:
        """Some of them."""
        points = None if self.points is None else self.points[rows]
        return PatchSets(self.ids[rows], self.patches[rows], self.centre[rows], self.embedding[rows], self.grid, points)


def averaged(maps: Floats, grid: Grid | None) -> Floats:
    """(n, C, rows, columns) maps of a coarser grid, as adaptive average pooling makes them; None leaves them.

    >>> averaged(np.arange(6, dtype=np.float32).reshape(1, 1, 2, 3), (1, 3)).ravel()
    array([1.5, 2.5, 3.5], dtype=float32)
    """
    if grid is None or grid == maps.shape[2:]:
        return maps
    for axis, count in ((2, grid[0]), (3, grid[1])):
        size = maps.shape[axis]
        edges = [(i * size // count, -(-(i + 1) * size // count)) for i in range(count)]
        parts = [maps.take(range(*edge), axis).mean(axis) for edge in edges]
        maps = np.stack(parts, axis)
    return np.asarray(maps, np.float32)


def sets_of(
    ids: Ids, maps: Floats, embedding: Floats, *, grid: Grid | None = None, points: Floats | None = None
) -> PatchSets:
    """Patches of maps, averaged to a grid first."""
    maps = averaged(np.asarray(maps, np.float32), grid)
    n, C, rows, columns = maps.shape
    cells = np.ascontiguousarray(maps.reshape(n, C, rows * columns).transpose(0, 2, 1))
    patches, centre = _unit(cells), _unit(cells.mean(1))
    return PatchSets(np.asarray(ids, np.int64), patches, centre, _unit(embedding), (rows, columns), points)


def landmarks_in(points: Floats, grid: Grid, size: tuple[int, int]) -> Floats:
    """(n, P) how many of the landmarks (n, L, 2), in pixels of pictures of `size` (height, width), lie in each cell."""
    rows, columns = grid
    known = np.isfinite(points).all(2)
    place = np.nan_to_num(points, nan=-1.0)
    row = np.floor(place[..., 1] * rows / size[0]).astype(np.int64)
    column = np.floor(place[..., 0] * columns / size[1]).astype(np.int64)
    inside = known & (row >= 0) & (row < rows) & (column >= 0) & (column < columns)
    found = np.zeros((len(points), rows * columns), np.float32)
    face, which = np.nonzero(inside)
    np.add.at(found, (face, row[face, which] * columns + column[face, which]), 1.0)
    return found


def _unit(vectors: Floats) -> Floats:
    length = np.linalg.norm(np.asarray(vectors, np.float64), axis=-1, keepdims=True)
    return np.asarray(vectors / np.where(length > 1e-12, length, 1.0), np.float32)
