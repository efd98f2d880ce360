"""Lines by the hundred thousand as one picture: where many pass it is denser, and the longest lie on top.

All lines are walked pixel by pixel at the same time, and what they pass is counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtGui import QColor, QImage

from facelens.views import dots

Floats = NDArray[np.float32]
Array = NDArray[np.floating]
Whole = NDArray[np.integer]
LEADING, MANY = 240, 3_000  # of more than so many lines, the longest are drawn once more over the others
SMOOTH = 1_500_000  # pixels up to which lines have smooth edges
MOST = 9_000_000  # pixels that are walked; of lines that have more, some stand for all
BITS = 14  # of a whole number that are parts of a pixel
ONE = 1 << BITS
MANY_LONG = (1 << 16) - 1  # pixels of the longest line that is told from longer ones


@dataclass(frozen=True, eq=False)
class Lines:
    """Lines of one kind: both ends in pixels, colour; `opacity` is that of a single one."""

    x0: Array
    y0: Array
    x1: Array
    y1: Array
    colour: QColor | Floats  # of all, or (n, 3) of each: red, green, blue from 0 to 1
    opacity: float = 0.5
    full: float = dots.FULL  # where most pass
    leading: bool = True  # the longest of very many are drawn once more over the others


def picture(layers: Sequence[Lines], width: int, height: int, *, ratio: float = 1.0) -> QImage:
    """All lines, later kinds over earlier ones, on a clear ground of `width` x `height` pixels."""
    ground = dots.Ground(width, height, ratio)
    for lines in layers:
        ends, which = _seen(lines, ground)
        _lay(ground, lines, ends, which, crowd=len(which) > LEADING)
        if lines.leading and len(which) > MANY:
            _lay(ground, lines, ends[:, -LEADING:], which[-LEADING:], crowd=False)
    return ground.image()


def _lay(ground: dots.Ground, lines: Lines, ends: Array, which: Whole, *, crowd: bool) -> None:
    if not len(which):
        return
    own = not isinstance(lines.colour, QColor)
    count, top = _passed(ends, ground.wide, ground.high, own=own)
    where = np.flatnonzero(count)
    count = count[where]
    if crowd:
        ink = dots.crowded(count, lines.opacity, lines.full)
    else:
        ink = np.minimum(count, 1) * np.float32(max(lines.opacity, 0.5))
    colour = lines.colour
    ground.lay(where, ink, colour if isinstance(colour, QColor) else dots.packed(colour)[which[top[where]]])


def _seen(lines: Lines, ground: dots.Ground) -> tuple[Array, Whole]:
    """(4, k) both ends of what is seen of each line, the longest line last, and which lines these are."""
    x0, y0, x1, y1 = (np.asarray(v, np.float64) * ground.ratio for v in (lines.x0, lines.y0, lines.x1, lines.y1))
    dx, dy = x1 - x0, y1 - y0
    first, last = np.zeros(len(x0)), np.ones(len(x0))
    with np.errstate(divide="ignore", invalid="ignore"):
        for start, way, most in ((x0, dx, ground.wide), (y0, dy, ground.high)):
            a, b = -start / way, (most - 1e-6 - start) / way
            there = (start >= 0) & (start < most)  # where it does not move this way, it is inside or not
            np.maximum(first, np.where(way != 0, np.minimum(a, b), np.where(there, 0, 2)), out=first)
            np.minimum(last, np.where(way != 0, np.maximum(a, b), 1), out=last)
    seen = np.flatnonzero(first <= last)
    far = np.hypot(dx[seen], dy[seen])
    which = seen[_order(far / max(float(far.max(initial=0)), 1e-9) * MANY_LONG)]
    if (walked := float((np.hypot(dx, dy) * (last - first))[which].sum())) > MOST:
        which = which[:: int(np.ceil(walked / MOST))]
    x0, y0, dx, dy, first, last = (v[which] for v in (x0, y0, dx, dy, first, last))
    return np.stack([x0 + first * dx, y0 + first * dy, x0 + last * dx, y0 + last * dy]), which


def _passed(ends: Array, wide: int, high: int, *, own: bool) -> tuple[Floats, Whole]:
    """How many lines pass each pixel, and the last of them; (1, 1) wider on each side for what lies beside them."""
    x0, y0, x1, y1 = ends
    flat = np.abs(x1 - x0) >= np.abs(y1 - y0)
    smooth = float(np.maximum(np.abs(x1 - x0), np.abs(y1 - y0)).sum()) <= SMOOTH
    across = wide + 2
    count = np.zeros(across * (high + 2), np.float32)
    top = np.full(len(count) if own else 0, -1, np.int32)
    for some, (along, aside, to, over), steps in (
        (np.flatnonzero(flat), (x0, y0, x1, y1), (1, across)),
        (np.flatnonzero(~flat), (y0, x0, y1, x1), (across, 1)),
    ):
        if not len(some):
            continue
        beside = 0.5 if smooth else 0.0
        walk = along[some], aside[some] - beside, to[some], over[some] - beside
        places, share, line = _walked(*walk, steps, shares=smooth, lines=own)
        places += across + 1
        if smooth:
            np.add.at(count, places, 1 - share)
            np.add.at(count, places + steps[1], share)
        else:
            count += np.bincount(places, minlength=len(count))
        if own:
            np.maximum.at(top, places + steps[1] * (share > 0.5) if smooth else places, some[line].astype(np.int32))
    inside = np.s_[1:-1, 1:-1]
    shape = (high + 2, across)
    return count.reshape(shape)[inside].reshape(-1), top.reshape(shape)[inside].reshape(-1) if own else top


def _walked(
    a0: Array, b0: Array, a1: Array, b1: Array, size: tuple[int, int], *, shares: bool, lines: bool
) -> tuple[Whole, Floats, Whole]:
    """Every pixel of lines that go further along a than along b: where it is when a step along each counts `size`; if
    asked for, how far the line is on its way to the next pixel along b, and which line it is."""
    last = np.floor(np.abs(a1 - a0)).astype(np.int64)
    order = _order(last)[::-1]
    last = last[order]
    parts = np.maximum(np.abs(a1 - a0), 1)
    a, b, along, aside = (
        np.floor(v[order] * ONE).astype(np.int32) for v in (a0, b0, (a1 - a0) / parts, (b1 - b0) / parts)
    )
    going = np.cumsum(np.bincount(last)[::-1])[::-1]  # lines that have a step of this number
    total, at = int(going.sum()), 0
    places = np.empty(total, np.int64)
    share, line = np.empty(total if shares else 0, np.int32), np.empty(total if lines else 0, np.int64)
    for n in going.tolist():
        now = slice(at, at + n)
        np.add((a[:n] >> BITS) * size[0], (b[:n] >> BITS) * size[1], out=places[now])
        if shares:
            np.bitwise_and(b[:n], ONE - 1, out=share[now])
        if lines:
            line[now] = order[:n]
        a[:n] += along[:n]
        b[:n] += aside[:n]
        at += n
    return places, np.multiply(share, np.float32(1 / ONE), dtype=np.float32), line


def _order(values: NDArray[Any]) -> Whole:
    """From the smallest to the largest of values from 0 to MANY_LONG; by whole numbers, which takes a tenth of the
    time."""
    return np.argsort(np.minimum(values, MANY_LONG).astype(np.uint16), kind="stable")
