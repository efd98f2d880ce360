"""Labels: where the name of a curve stands, on the screen and on paper, so that it lies on no line.

Everything is in pixels or points, y downwards.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from facelens.figures.scales import Array

Curve = tuple[Array, Array]  # x ascending, y
Box = tuple[float, float, float, float]  # left, top, right, bottom
GAPS = (3.0, 8.0, 14.0)  # between a curve and its name
ACROSS, COLUMNS = 41, 25  # places that are tried, and where on a label lines are looked for
UNCLEAR = 300.0  # the cost of a place that could be taken for that of another curve; lying on one costs more


def beside(
    curve: Curve, others: Sequence[Curve], size: tuple[float, float], box: Box, *, taken: Sequence[Box] = (),
    prefer: float = 0.8, clear: bool = False,
) -> tuple[float, float] | None:  # fmt: skip
    """Left and top of a label of this size, over or under its curve and clear of the others and of what is taken.

    `prefer` is where its middle would like to be, as a share of the width. None where it fits nowhere inside the box;
    where no place is clear, the one where the least lies under it, or with `clear` none.

    >>> flat = np.array([0.0, 300.0]), np.array([50.0, 50.0])
    >>> beside(flat, [], (60.0, 12.0), (0.0, 0.0, 300.0, 100.0))
    (210.0, 35.0)
    """
    width, height = size
    if box[2] - box[0] <= width or not len(curve[0]):
        return None
    lefts = np.linspace(box[0], box[2] - width, ACROSS)
    columns = lefts[:, None] + np.linspace(-3, width + 3, COLUMNS)
    tracks = [np.interp(columns, x, y, left=np.nan, right=np.nan) for x, y in (curve, *others) if len(x)]
    own = np.interp(np.clip(columns, lefts[:, None], lefts[:, None] + width), *curve)
    highest, lowest = own.min(axis=1), own.max(axis=1)
    away = np.abs((lefts + width / 2 - box[0]) / (box[2] - box[0]) - prefer)
    beyond = (lefts < curve[0][0] - 2) | (lefts + width > curve[0][-1] + 2)
    costs, tops = [], []
    for gap in GAPS:
        for top in (highest - gap - height, lowest + gap):
            crossed = np.sum([_crossed(track, top, height) for track in tracks], axis=0)
            nearest = np.min([_away(track, top, height) for track in tracks[1:]], axis=0, initial=np.inf)
            met = np.sum([_met(lefts, top, size, one) for one in taken], axis=0) if taken else 0
            cost = 2000 * met + 1000 * crossed + UNCLEAR * ((crossed > 0) | (nearest < gap))
            cost = cost + 60 * away + 2 * (gap - GAPS[0]) + 0.5 * (lowest - highest)
            costs.append(np.where(beyond | (top < box[1]) | (top + height > box[3]), np.inf, cost))
            tops.append(top)
    row, place = np.unravel_index(int(np.argmin(costs)), (len(costs), ACROSS))
    best = costs[row][place]
    if not np.isfinite(best) or (clear and best >= UNCLEAR):
        return None
    return float(lefts[place]), float(tops[row][place])


def _crossed(track: Array, top: Array, height: float) -> Array:
    """The share of each label's width that lies on a curve (labels, columns)."""
    low, high = np.fmin(track[:, 1:], track[:, :-1]), np.fmax(track[:, 1:], track[:, :-1])
    return np.asarray(np.mean((low < top[:, None] + height + 1) & (high > top[:, None] - 1), axis=1))


def _away(track: Array, top: Array, height: float) -> Array:
    """How far a curve is from each label, above or below."""
    off = np.maximum(top[:, None] - track, track - top[:, None] - height)
    return np.asarray(np.where(np.isnan(off), np.inf, off).min(axis=1))


def _met(lefts: Array, top: Array, size: tuple[float, float], other: Box) -> NDArray[np.bool_]:
    """Which labels lie on a box."""
    width, height = size
    return (lefts < other[2]) & (other[0] < lefts + width) & (top < other[3]) & (other[1] < top + height)
