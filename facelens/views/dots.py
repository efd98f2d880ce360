"""Dots by the hundred thousand as one picture: painted by counting, so many cost hardly more than few.

Dots of a kind lie over each other like ink: where many are, it is denser. Where each has a colour of its own, that of
the last one shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from PySide6.QtGui import QColor, QImage

Floats = NDArray[np.float32]
Whole = NDArray[np.integer]
FINE = 4  # parts of a pixel in which the edge of a dot is worked out
HALF = 0.5  # of a pixel: where a dot covers less, it decides the colour only if no other does
FEW = 4  # the picture has so many times the pixels of all dots: they are painted one by one


@dataclass(frozen=True, eq=False)
class Dots:
    """Dots of one kind: places in pixels, shape, colour; `opacity` is that of a single one."""

    x: NDArray[np.floating]
    y: NDArray[np.floating]
    shape: str  # "disc", "cross", "ring", "halo", "triangle"
    colour: QColor | Floats  # of all, or (n, 3) of each: red, green, blue from 0 to 1
    opacity: float = 1.0
    size: float = 1.0  # 1: a disc of radius 2.3 px


def picture(layers: Sequence[Dots], width: int, height: int, *, ratio: float = 1.0) -> QImage:
    """All dots, later kinds over earlier ones, on a clear ground of `width` x `height` pixels."""
    wide, high = max(1, round(width * ratio)), max(1, round(height * ratio))
    colours = np.zeros((4, wide * high), np.float32)  # blue, green, red, alpha, each times alpha
    for dots in layers:
        if not len(dots.x):
            continue
        where, clear, top = _covered(dots, wide, high, ratio)
        ink = np.negative(np.expm1(clear, out=clear), out=clear)
        for plane, value in zip(colours, (*_shown(dots.colour, top), 1.0)):
            plane[where] += (value - plane[where]) * ink
    pixels = np.empty((high, wide, 4), np.uint8)
    np.multiply(colours.reshape(4, high, wide).transpose(1, 2, 0), 255, out=pixels, casting="unsafe")
    image = QImage(pixels.data, wide, high, 4 * wide, QImage.Format.Format_ARGB32_Premultiplied).copy()
    image.setDevicePixelRatio(ratio)
    return image


def _shown(colour: QColor | Floats, top: Whole) -> tuple[float, ...] | tuple[Floats, ...]:
    """Blue, green and red, of all pixels or of each."""
    if isinstance(colour, QColor):
        return colour.blueF(), colour.greenF(), colour.redF()
    return tuple(np.asarray(colour[:, channel], np.float32)[top] for channel in (2, 1, 0))


def _covered(dots: Dots, wide: int, high: int, ratio: float) -> tuple[Whole | slice, Floats, Whole]:
    """Some pixels or all, the logarithm of how much of the ground is seen through each, and the dot on top; the latter
    only where dots have colours."""
    shape = stamp(dots.shape, ratio, dots.size)
    reach, own = len(shape) // 2, not isinstance(dots.colour, QColor)
    column, row = (np.floor(np.asarray(v) * ratio).astype(np.int64) for v in (dots.x, dots.y))
    seen = np.flatnonzero((column >= -reach) & (column < wide + reach) & (row >= -reach) & (row < high + reach))
    column, row = column[seen], row[seen]
    if len(seen) * np.count_nonzero(shape) * FEW < wide * high:
        return _one_by_one(seen, column, row, shape, dots.opacity, wide, high)
    shape = shape[::-1, ::-1]  # from a pixel to the dots that reach it
    across, down = wide + 2 * reach, high + 2 * reach
    places = (row + reach) * across + column + reach
    counts = np.bincount(places, minlength=across * down).astype(np.float32).reshape(down, across)
    clear, part = np.zeros((high, wide), np.float32), np.empty((high, wide), np.float32)
    through = _through(shape, dots.opacity)
    for i, j in np.argwhere(shape > 0).tolist():
        clear += np.multiply(counts[i : i + high, j : j + wide], through[i, j], out=part)
    top = np.full((high, wide) if own else (0, 0), -1, np.int32)
    if own:
        last = np.full((down, across), -1, np.int32)
        last.reshape(-1)[places] = seen  # of several at a place, the last
        edge = top.copy()
        for found, offsets in ((top, shape >= HALF), (edge, (shape > 0) & (shape < HALF))):
            for i, j in np.argwhere(offsets).tolist():
                np.maximum(found, last[i : i + high, j : j + wide], out=found)
        np.copyto(top, edge, where=top < 0)
    return slice(None), clear.reshape(-1), top.reshape(-1)


def _one_by_one(
    seen: Whole, column: Whole, row: Whole, shape: Floats, opacity: float, wide: int, high: int
) -> tuple[Whole, Floats, Whole]:
    """The same of few dots, in no more pixels than they have."""
    i, j = np.nonzero(shape)
    down, across = row[:, None] + i - len(shape) // 2, column[:, None] + j - len(shape) // 2
    inside = (down >= 0) & (down < high) & (across >= 0) & (across < wide)
    pixels, place = np.unique((down * wide + across)[inside], return_inverse=True)
    cover = np.broadcast_to(shape[i, j], inside.shape)[inside]
    clear = np.bincount(place, _through(cover, opacity), minlength=len(pixels)).astype(np.float32)
    top = np.full(len(pixels), -1, np.int64)
    dot = np.broadcast_to(seen[:, None], inside.shape)[inside]
    for some in (cover < HALF, cover >= HALF):
        top[place[some]] = dot[some]  # dot after dot: the last stays
    return pixels, clear, top


def _through(cover: Floats, opacity: float) -> Floats:
    """The logarithm of what is seen through a dot that covers so much of a pixel."""
    return np.log1p(-min(opacity, 0.999) * cover)


@lru_cache(maxsize=32)
def stamp(shape: str, ratio: float, size: float = 1.0) -> Floats:
    """(k, k) how much of each pixel one dot covers, k odd."""
    ratio *= size
    side = 2 * int(np.ceil(5 * ratio)) + 1
    middle = (np.arange(side * FINE) + 0.5) / FINE - side / 2
    x, y = np.meshgrid(middle / ratio, middle / ratio)
    away = np.hypot(x, y)
    if shape == "disc":
        inside = away <= 2.3
    elif shape == "ring":
        inside = (away >= 3.2) & (away <= 4.6)
    elif shape == "halo":  # of a dot that is drawn over it
        inside = (away >= 2.3) & (away <= 3.8)
    elif shape == "triangle":
        far = np.max([x * np.cos(turn) + y * np.sin(turn) for turn in np.pi * np.array([1, 7 / 3, 11 / 3]) / 2], axis=0)
        inside = (far <= 2.3) & (far >= 1.2)
    else:
        inside = (np.minimum(abs(x - y), abs(x + y)) <= 1.2) & (np.maximum(abs(x), abs(y)) <= 3.4)
    fine = inside.reshape(side, FINE, side, FINE)
    return np.asarray(fine.mean(axis=(1, 3)), np.float32)
