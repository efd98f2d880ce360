"""Dots by the hundred thousand as one picture: painted by counting, so many cost hardly more than few.

Dots of a kind lie over each other like ink: where many are, it is denser.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from PySide6.QtGui import QColor, QImage

Floats = NDArray[np.float32]
FINE = 4  # parts of a pixel in which the edge of a dot is worked out


@dataclass(frozen=True, eq=False)
class Dots:
    """Dots of one kind: places in pixels, shape, colour; `opacity` is that of a single one."""

    x: NDArray[np.floating]
    y: NDArray[np.floating]
    shape: str  # "disc", "cross", "ring"
    colour: QColor
    opacity: float = 1.0


def picture(layers: Sequence[Dots], width: int, height: int, *, ratio: float = 1.0) -> QImage:
    """All dots, later kinds over earlier ones, on a clear ground of `width` x `height` pixels."""
    wide, high = max(1, round(width * ratio)), max(1, round(height * ratio))
    colours = np.zeros((4, high, wide), np.float32)  # blue, green, red, alpha, each times alpha
    for dots in layers:
        if not len(dots.x):
            continue
        ink = _ink(dots, wide, high, ratio)
        for plane, value in zip(colours, (dots.colour.blueF(), dots.colour.greenF(), dots.colour.redF(), 1.0)):
            plane += (value - plane) * ink
    pixels = np.empty((high, wide, 4), np.uint8)
    np.multiply(colours.transpose(1, 2, 0), 255, out=pixels, casting="unsafe")
    image = QImage(pixels.data, wide, high, 4 * wide, QImage.Format.Format_ARGB32_Premultiplied).copy()
    image.setDevicePixelRatio(ratio)
    return image


def _ink(dots: Dots, wide: int, high: int, ratio: float) -> Floats:
    """(high, wide) how much of each pixel is covered."""
    shape = stamp(dots.shape, ratio)
    reach = len(shape) // 2
    column, row = (np.floor(np.asarray(v) * ratio).astype(np.int64) for v in (dots.x, dots.y))
    seen = (column >= -reach) & (column < wide + reach) & (row >= -reach) & (row < high + reach)
    across = wide + 2 * reach
    places = (row[seen] + reach) * across + column[seen] + reach
    counts = np.bincount(places, minlength=across * (high + 2 * reach)).astype(np.float32)
    counts = counts.reshape(high + 2 * reach, across)
    layers, part = np.zeros((high, wide), np.float32), np.empty((high, wide), np.float32)
    for i, j in np.argwhere(shape > 0).tolist():
        layers += np.multiply(counts[i : i + high, j : j + wide], shape[i, j], out=part)
    layers *= np.float32(np.log1p(-min(dots.opacity, 0.999)))
    return np.asarray(-np.expm1(layers, out=layers), np.float32)


@lru_cache(maxsize=16)
def stamp(shape: str, ratio: float) -> Floats:
    """(k, k) how much of each pixel one dot covers, k odd."""
    side = 2 * int(np.ceil(5 * ratio)) + 1
    middle = (np.arange(side * FINE) + 0.5) / FINE - side / 2
    x, y = np.meshgrid(middle / ratio, middle / ratio)
    away = np.hypot(x, y)
    if shape == "disc":
        inside = away <= 2.3
    elif shape == "ring":
        inside = (away >= 3.2) & (away <= 4.6)
    else:
        inside = (np.minimum(abs(x - y), abs(x + y)) <= 1.2) & (np.maximum(abs(x), abs(y)) <= 3.4)
    fine = inside.reshape(side, FINE, side, FINE)
    return np.asarray(fine.mean(axis=(1, 3)), np.float32)
