"""Dots by the million as one picture: painted by counting, so many cost hardly more than few.

Dots of a kind lie over each other like ink: where many are, it is denser; in a crowd it follows the logarithm of their
number, so that neither one dot is lost nor thousands run together. Where each has a colour of its own, that of the
last one shows.
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
Packed = NDArray[np.uint32]
FINE = 4  # parts of a pixel in which the edge of a dot is worked out
HALF = 0.5  # of a pixel: where a dot covers less, it decides the colour only if no other does
FEW = 14  # the picture has so many times the pixels that there are dots: they are painted one by one
CROWD = 24.0  # in a crowd, so many over each other have all the ink, unless more lie elsewhere
FULL = 0.97  # the ink there
SAMPLED = 7  # every so many pixels are looked at to find out how many that is


@dataclass(frozen=True, eq=False)
class Dots:
    """Dots of one kind: places in pixels, shape, colour; `opacity` is that of a single one."""

    x: NDArray[np.floating]
    y: NDArray[np.floating]
    shape: str  # "disc", "hollow", "cross", "ring", "halo", "triangle", "up", "down"
    colour: QColor | Floats | Packed  # of all, or (n, 3) of each: red, green, blue from 0 to 1; or `packed`
    opacity: float = 1.0
    size: float = 1.0  # 1: a disc of radius 2.3 px
    rank: NDArray[np.int32] | None = None  # (n,) the row of `colour` each has, where they differ; the highest is on top
    crowd: bool = False  # the ink follows the logarithm of how many lie over each other


def picture(layers: Sequence[Dots], width: int, height: int, *, ratio: float = 1.0) -> QImage:
    """All dots, later kinds over earlier ones, on a clear ground of `width` x `height` pixels."""
    ground = Ground(width, height, ratio)
    for dots in layers:
        if len(dots.x):
            where, ink, top = _covered(dots, ground)
            ground.lay(where, ink, dots.colour if isinstance(dots.colour, QColor) else dots.colour[top])
    return ground.image()


def packed(shades: Floats) -> Packed:
    """(n,) colours (n, 3) as whole numbers, which are looked up in a third of the time."""
    made = np.zeros((len(shades), 4), np.uint8)
    for channel in range(3):
        np.add(shades[:, 2 - channel] * np.float32(255), np.float32(0.5), out=made[:, channel], casting="unsafe")
    return made.view(np.uint32).reshape(-1)


class Ground:
    """A clear picture on which ink is laid."""

    def __init__(self, width: int, height: int, ratio: float) -> None:
        self.wide, self.high, self.ratio = max(1, round(width * ratio)), max(1, round(height * ratio)), ratio
        self._pixels = np.zeros((self.wide * self.high, 4), np.uint8)  # blue, green, red, alpha, each times alpha
        self._clear = True

    def lay(self, where: Whole, ink: Floats, colour: QColor | Floats | Packed) -> None:
        """Ink (k,) from 0 to 1 on the pixels `where`, in one colour, (k, 3) of each, or (k,) packed ones."""
        new = np.empty((len(where), 4), np.uint8)
        old = None if self._clear else self._pixels.view(np.uint32)[where].view(np.uint8)
        rest = 1 - ink
        for channel in range(4):
            if channel == 3:
                value: float | Floats = 255.0
            elif isinstance(colour, QColor):
                value = 255 * (colour.blueF(), colour.greenF(), colour.redF())[channel]
            elif colour.ndim == 1:
                value = colour.view(np.uint8).reshape(-1, 4)[:, channel].astype(np.float32)
            else:
                value = colour[:, 2 - channel] * np.float32(255)
            mixed = ink * value
            if old is not None:
                mixed += old[:, channel] * rest
            np.add(mixed, np.float32(0.5), out=new[:, channel], casting="unsafe")
        self._pixels.view(np.uint32)[where] = new.view(np.uint32)
        self._clear = False

    def image(self) -> QImage:
        """The picture."""
        format_ = QImage.Format.Format_ARGB32_Premultiplied
        image = QImage(self._pixels.data, self.wide, self.high, 4 * self.wide, format_).copy()
        image.setDevicePixelRatio(self.ratio)
        return image


def crowded(count: Floats, opacity: float, full: float = FULL) -> Floats:
    """The ink where so many lie over each other: `opacity` for one, then by the logarithm of their number, until it is
    `full` where most are."""
    most = max(CROWD, float(np.percentile(some, 99.5)) if len(some := count[::SAMPLED]) else 0.0)
    slope = np.float32((full - opacity) / np.log(most))
    ink = np.log(np.maximum(count, np.float32(1)))
    ink *= slope
    ink += np.minimum(count, np.float32(1)) * np.float32(opacity)
    return np.minimum(ink, np.float32(1), out=ink)


def _covered(dots: Dots, ground: Ground) -> tuple[Whole, Floats, Whole]:
    """Pixels, how much ink each has, and the dot on top of it; the latter only where dots have colours."""
    wide, high, own = ground.wide, ground.high, not isinstance(dots.colour, QColor)
    shape = stamp(dots.shape, ground.ratio, dots.size)
    reach = len(shape) // 2
    above = 2 * reach + 1  # dots reach in from outside, and there is room outside for what they cover there
    across, down = wide + 2 * reach, high + 2 * above
    column, row = (np.floor(np.asarray(v) * ground.ratio).astype(np.int32) for v in (dots.x, dots.y))
    column += reach
    row += above
    seen = (column >= 0) & (column < across) & (row >= above - reach) & (row < above + high + reach)
    row *= across
    row += column
    places, rank = row, np.arange(len(row), dtype=np.int32) if dots.rank is None else dots.rank
    if not seen.all():
        places, rank = places[seen], rank[seen]
    weight = shape if dots.crowd else _through(shape, dots.opacity)
    spread = _one_by_one if len(places) * FEW < wide * high else _all_at_once
    total, top = spread(places, rank if own else None, shape, weight, across, across * down)
    inside = np.s_[above : above + high, reach : reach + wide]
    total = total.reshape(down, across)[inside].reshape(-1)
    where = np.flatnonzero(total)
    total = total[where]
    ink = crowded(total, dots.opacity) if dots.crowd else -np.expm1(total)
    if not own:
        return where, ink, where
    return where, ink, top.reshape(down, across)[inside].reshape(-1)[where]


def _all_at_once(
    places: Whole, rank: Whole | None, shape: Floats, weight: Floats, across: int, pixels: int
) -> tuple[Floats, Whole]:
    """What dots lay on each pixel in sum, and the highest rank there: how many are at a place is spread around it."""
    counts = np.bincount(places, minlength=pixels).astype(np.float32)
    total, part = np.zeros_like(counts), np.empty_like(counts)
    for i, j, step in _steps(shape, across):
        to, source = _moved(step)
        total[to] += np.multiply(counts[source], weight[i, j], out=part[source])
    if rank is None:
        return total, places
    highest = np.full(pixels, -1, np.int32)
    np.maximum.at(highest, places, rank)
    top, edge = np.full_like(highest, -1), np.full_like(highest, -1)
    for i, j, step in _steps(shape, across):
        found = top if shape[i, j] >= HALF else edge
        to, source = _moved(step)
        np.maximum(found[to], highest[source], out=found[to])
    np.copyto(top, edge, where=top < 0)
    return total, top


def _one_by_one(
    places: Whole, rank: Whole | None, shape: Floats, weight: Floats, across: int, pixels: int
) -> tuple[Floats, Whole]:
    """The same of few dots: no other pixels than theirs are looked at."""
    total = np.zeros(pixels, np.float32)
    top, edge = (np.full(pixels if rank is not None else 0, -1, np.int32) for _ in range(2))
    for i, j, step in _steps(shape, across):
        np.add.at(total, places + step, weight[i, j])
        if rank is not None:
            np.maximum.at(top if shape[i, j] >= HALF else edge, places + step, rank)
    np.copyto(top, edge, where=top < 0)
    return total, top


def _steps(shape: Floats, across: int) -> list[tuple[int, int, int]]:
    """Pixels that a dot covers, and how far each is from its middle."""
    middle = len(shape) // 2
    return [(i, j, (i - middle) * across + j - middle) for i, j in np.argwhere(shape > 0).tolist()]


def _moved(step: int) -> tuple[slice, slice]:
    """Of two rows of pixels, those in one that lie so far behind those in the other."""
    return (slice(step, None), slice(None, -step or None)) if step >= 0 else (slice(None, step), slice(-step, None))


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
    elif shape == "hollow":
        inside = (away >= 1.3) & (away <= 2.4)
    elif shape == "ring":
        inside = (away >= 3.2) & (away <= 4.6)
    elif shape == "halo":  # of a dot that is drawn over it
        inside = (away >= 2.3) & (away <= 3.8)
    elif shape == "triangle":
        inside = (_far(x, y) <= 2.3) & (_far(x, y) >= 1.2)
    elif shape in ("up", "down"):
        inside = _far(x, y if shape == "up" else -y) <= 1.9
    else:
        inside = (np.minimum(abs(x - y), abs(x + y)) <= 1.2) & (np.maximum(abs(x), abs(y)) <= 3.4)
    fine = inside.reshape(side, FINE, side, FINE)
    return np.asarray(fine.mean(axis=(1, 3)), np.float32)


def _far(x: NDArray[np.floating], y: NDArray[np.floating]) -> Floats:
    """How far each place is from the middle of a triangle that stands on its base: the same along each side."""
    turns = np.pi * np.array([1, 7 / 3, 11 / 3]) / 2
    return np.asarray(np.max([x * np.cos(turn) + y * np.sin(turn) for turn in turns], axis=0), np.float32)
