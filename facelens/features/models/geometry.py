"""Where the patches of a map lie in the picture.

Computes    patch (r, c) of a map with R rows and K columns: the tile [c W/K, (c + 1) W/K) x [r H/R, (r + 1) H/R);
            its receptive field is centred at start + stride * (c, r)
Shapes      boxes (P, 4) float64: left, top, right, bottom in pixels, P = R * K, row by row; centres (P, 2): x, y
Reference   tiles as in Phan, Nguyen, "DeepFace-EMD", CVPR 2022 (row = int(y * R / H)); centres by the arithmetic of
            convolutions: start += (kernel - 1) / 2 - padding, in steps of the stride so far
Departs     none. Tiles share the picture out evenly, every pixel to one patch, and are what is drawn; the fields behind
            them overlap widely and are centred up to half a tile further left and up
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from facelens.errors import InputError
from facelens.features.card import Card
from facelens.words import tr

# Architectures whose first patch is not centred on the first pixel: (start, stride), of their usual patch layer.
_CENTRES = {
    "inception_resnet_v1": (37.0, 32.0),  # convolutions without padding
    "resnetface18": (0.5, 16.0),  # a 2 x 2 maximum
}


def patch_boxes(card: Card, grid: tuple[int, int]) -> NDArray[np.float64]:
    """The tile of every patch, in pixels of the picture that goes into the network (`card.size`)."""
    rows, columns = _checked(grid)
    height, width = card.size
    y = np.arange(rows + 1) * (height / rows)
    x = np.arange(columns + 1) * (width / columns)
    left, top = np.meshgrid(x[:-1], y[:-1])
    right, bottom = np.meshgrid(x[1:], y[1:])
    return np.stack([left, top, right, bottom], -1).reshape(-1, 4)


def patch_centres(card: Card, grid: tuple[int, int]) -> NDArray[np.float64]:
    """The centre of every patch's receptive field, in the same pixels; the centre of pixel 0 is 0.5."""
    rows, columns = _checked(grid)
    height, width = card.size
    # Without an entry: padded convolutions throughout, and a stride that the sizes tell.
    usual = (0.0, 2.0 ** round(np.log2(height / rows)), 2.0 ** round(np.log2(width / columns)))
    start, down, across = usual
    if card.architecture in _CENTRES and card.grid == grid:
        start, down = _CENTRES[card.architecture]
        across = down
    y = 0.5 + start + down * np.arange(rows)
    x = 0.5 + start + across * np.arange(columns)
    return np.stack(np.meshgrid(x, y), -1).reshape(-1, 2)


def in_aligned(boxes: NDArray[np.float64], card: Card) -> NDArray[np.float64]:
    """Boxes (or centres) of the network's input as pixels of the aligned picture it was cropped and resized from.

    Without a crop the two have the same size; whether the picture was resized as a whole is not known here.
    """
    if card.crop is None:
        return boxes.copy()
    top, left, bottom, right = card.crop
    height, width = card.size
    scale = np.array([(right - left) / width, (bottom - top) / height])
    shift = np.array([left, top], np.float64)
    points = boxes.reshape(-1, 2)
    moved: NDArray[np.float64] = points * scale + shift
    return moved.reshape(boxes.shape)


def patch_at(card: Card, grid: tuple[int, int], *, x: float, y: float) -> int | None:
    """The patch whose tile holds a point of the input, counted row by row; None outside.

    >>> patch_at(Card("n", "iresnet50"), (7, 7), x=111.9, y=0)
    6
    """
    rows, columns = _checked(grid)
    height, width = card.size
    if not (0 <= x < width and 0 <= y < height):
        return None
    return int(y * rows / height) * columns + int(x * columns / width)


def _checked(grid: tuple[int, int]) -> tuple[int, int]:
    rows, columns = grid
    if rows < 1 or columns < 1:
        raise InputError(tr("A patch map has at least one row and one column."))
    return rows, columns
