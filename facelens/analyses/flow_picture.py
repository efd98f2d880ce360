"""Flow picture: the query put together again from the patches of the gallery face that its mass goes to.

Computes    k_i = argmax_j F_ij, the patch of the gallery face that cell i of the query shows; brightness, Eq. 10:
            (f_i - min f) / (max f - min f), f_i = max_j F_ij; 1 everywhere where all f are equal
Shapes      F (P, G), rows query; k (P,), -1 for a patch without mass; brightness (P,); pictures (H, W, 3) uint8 RGB
            of any size, cells row by row: cell r of R ends before pixel round((r + 1) H / R)
Reference   Phan, Nguyen, "DeepFace-EMD", CVPR 2022, Eq. 10
Departs     the authors' code dims by row sums; here, as they write, by the largest flow
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from facelens.analyses.patch_sets import Grid

Array = NDArray[np.float64]
Picture = NDArray[np.uint8]


def largest(flow: Array) -> tuple[NDArray[np.int64], Array]:
    """k (P,) and brightness (P,) of a plan.

    >>> k, brightness = largest(np.array([[0.1, 0.3], [0.2, 0.0], [0.0, 0.0]]))
    >>> k.tolist(), brightness.round(2).tolist()
    ([1, 0, -1], [1.0, 0.67, 0.0])
    """
    most = flow.max(1)
    span = float(most.max() - most.min())
    equal = span <= 1e-9 * float(most.max())
    return np.where(most > 0, flow.argmax(1), -1), np.ones(len(most)) if equal else (most - most.min()) / span


def moved(flow: Array, gallery: Picture, gallery_grid: Grid, grid: Grid, size: tuple[int, int]) -> Picture:
    """The picture, of `size` (height, width); black where a patch has no mass."""
    k, brightness = largest(flow)
    made = np.zeros((*size, 3), np.uint8)
    for i, (which, bright) in enumerate(zip(k.tolist(), brightness.tolist())):
        if which >= 0:
            rows, columns = cell(i, grid, size)
            from_rows, from_columns = cell(which, gallery_grid, gallery.shape[:2])
            part = gallery[_along(from_rows, len(rows))][:, _along(from_columns, len(columns))]
            made[rows.start : rows.stop, columns.start : columns.stop] = np.rint(part * bright)
    return made


def cell(i: int, grid: Grid, size: tuple[int, int]) -> tuple[range, range]:
    """Rows and columns of the pixels of a patch, in a picture of `size` (height, width).

    >>> cell(7, (7, 6), (112, 96))
    (range(16, 32), range(16, 32))
    """
    row, column = divmod(i, grid[1])
    return _stretch(row, grid[0], size[0]), _stretch(column, grid[1], size[1])


def _stretch(place: int, count: int, pixels: int) -> range:
    return range(round(place * pixels / count), round((place + 1) * pixels / count))


def _along(pixels: range, count: int) -> NDArray[np.int64]:
    """The pixels, or the nearest of them where another number is wanted."""
    places = (np.arange(count) + 0.5) * len(pixels) / count
    return pixels.start + places.astype(np.int64)
