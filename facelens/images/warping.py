"""The compiled inner loop of alignment: Pillow's bilinear warp, the same pixels in less than half the time.

Imported only when many pictures are aligned: loading the compiler costs as much as two thousand of them.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

import math

import numpy as np
from numba import types

from facelens.compiling import compiled

# Types are given, so that importing compiles (or loads) it: no picture has to wait, and no two threads compile it.
_PICTURE = types.Array(types.uint8, 3, "C", readonly=True)
_MOTION = types.Array(types.float64, 1, "C")
_MOVED = types.Array(types.uint8, 3, "C")


@compiled(types.void(_PICTURE, _MOTION, _MOVED))
def bilinear(picture, motion, moved):
    """Fill `moved` (h, w, 3) from `picture`: the centre (x, y) of a pixel comes from (a x + b y + c, d x + e y + f).

    Outside is black, at the border the outermost pixels go on, and values are cut to whole numbers: all as Pillow does
    it, in the same order of operations.
    """
    a, b, c, d, e, f = motion[0], motion[1], motion[2], motion[3], motion[4], motion[5]
    height, width, _ = picture.shape
    rows, columns, _ = moved.shape
    line = 3 * columns
    pixels, out = picture.reshape(-1), moved.reshape(-1)
    # First gather a line, then mix it: only the second is sums alone, which the compiler does several at a time.
    corners = np.empty((4, line), np.uint8)
    beside, under = np.empty(line), np.empty(line)
    for row in range(rows):
        for column in range(columns):
            x = a * (column + 0.5) + b * (row + 0.5) + c
            y = d * (column + 0.5) + e * (row + 0.5) + f
            at = np.uint64(3 * column)  # unsigned, so that no index is taken for one from the end
            if x < 0.0 or x >= width or y < 0.0 or y >= height:
                for k in range(3):
                    to = at + np.uint64(k)
                    corners[0, to] = corners[1, to] = corners[2, to] = corners[3, to] = 0
                    beside[to] = under[to] = 0.0
                continue
            x -= 0.5
            y -= 0.5
            left, top = math.floor(x), math.floor(y)
            dx, dy = x - left, y - top
            right, bottom = min(left + 1, width - 1), min(top + 1, height - 1)
            left, top = max(left, 0), max(top, 0)
            first, second = np.uint64(3 * (top * width + left)), np.uint64(3 * (top * width + right))
            third, fourth = np.uint64(3 * (bottom * width + left)), np.uint64(3 * (bottom * width + right))
            for k in range(3):
                u = np.uint64(k)
                to = at + u
                corners[0, to], corners[1, to] = pixels[first + u], pixels[second + u]
                corners[2, to], corners[3, to] = pixels[third + u], pixels[fourth + u]
                beside[to], under[to] = dx, dy
        start = np.uint64(row * line)
        for i in range(line):
            j = np.uint64(i)
            upper = corners[0, j] + (np.int32(corners[1, j]) - np.int32(corners[0, j])) * beside[j]
            lower = corners[2, j] + (np.int32(corners[3, j]) - np.int32(corners[2, j])) * beside[j]
            out[start + j] = np.uint8(np.int32(upper + (lower - upper) * under[j]))
