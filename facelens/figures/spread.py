"""Spread: how a score is spread over faces, in bins of round numbers; what a limit refuses is looked up, not counted.

Shapes    n faces that have a value, of N; T bins
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from facelens.figures.scales import Array, nice, ticks
from facelens.images.faceset import Ids

MOST, USUAL, LEAST = 400, 100, 12  # bins: ever, over all but the outliers of many faces, of a few faces


@dataclass(frozen=True, eq=False)
class Spread:
    """The values of faces in ascending order, and how many fall into each bin."""

    values: Array  # (n,) ascending
    ids: Ids  # (n,) whose they are
    edges: Array  # (T + 1,)
    counts: NDArray[np.int64]  # (T,) low <= value < high, the last one with its upper edge
    missing: int  # faces without a value

    @classmethod
    def of(cls, values: Array, ids: Ids) -> Spread:
        """Sort and count.

        >>> found = Spread.of(np.array([0.3, np.nan, 0.1]), np.array([7, 8, 9]))
        >>> found.ids.tolist(), found.missing, int(found.counts.sum())
        ([9, 7], 1, 2)
        """
        raw = np.asarray(values, np.float64)
        rows = np.flatnonzero(np.isfinite(raw))
        order = rows[np.argsort(raw[rows], kind="stable")]
        known = raw[order]
        edges = _edges(known)
        starts = np.searchsorted(known, edges)
        starts[-1] = len(known)
        return cls(known, np.asarray(ids)[order], edges, np.diff(starts).astype(np.int64), len(raw) - len(known))

    def __len__(self) -> int:
        return len(self.values)

    @property
    def decimals(self) -> int:
        """How many a value needs to be told from its neighbours."""
        width = float(self.edges[1] - self.edges[0])
        return 1 if width >= 1 else max(3, int(np.ceil(-np.log10(width) - 1e-9)))

    @property
    def start(self) -> float:
        """Where the axis begins: at 0 where that is not far."""
        first, last = float(self.edges[0]), float(self.edges[-1])
        return 0.0 if 0 <= first < 0.5 * last else first

    def refused(self, limit: float) -> int:
        """Faces with a value above `limit`."""
        return len(self) - int(np.searchsorted(self.values, limit, side="right"))

    def percentile(self, limit: float) -> str:
        """The share of faces at or below `limit`, never rounded up to all of them.

        >>> found = Spread.of(np.arange(1000.0), np.arange(1000))
        >>> found.percentile(919.0), found.percentile(998.0)
        ('p92', 'p99.9')
        """
        share = np.floor(1000 * (1 - self.refused(limit) / max(len(self), 1)) + 1e-6) / 10
        return f"p{share:g}"

    def within(self, low: float, high: float) -> slice:
        """Which of the faces lie in low <= value < high; up to the last edge, with it."""
        start, stop = np.searchsorted(self.values, [low, high])
        return slice(int(start), len(self) if high >= self.edges[-1] else int(stop))

    def bin_of(self, values: Array) -> NDArray[np.int64]:
        """The bin of each value that was counted."""
        return np.minimum(np.searchsorted(self.edges, values, side="right") - 1, len(self.counts) - 1)


def heights(counts: NDArray[np.int64] | Array, *, log: bool) -> Array:
    """How high counts are drawn; a logarithmic axis begins at one half, so that one face is seen and none is not.

    >>> heights(np.array([0, 1, 50]), log=True).round(2).tolist()
    [0.0, 0.3, 2.0]
    """
    real: Array = np.asarray(counts, np.float64)
    return np.asarray(np.log10(np.maximum(2 * real, 1))) if log else real


def top(counts: NDArray[np.int64] | Array, *, log: bool) -> float:
    """Where the axis of counts ends, with some room above the highest bin."""
    peak = max(int(np.max(counts, initial=0)), 1)
    if log:
        return float(heights(np.array([1.6 * peak]), log=True)[0])
    step = max(nice(peak / 5), 1.0)
    return float(step * np.ceil(1.08 * peak / step))


def count_ticks(high: float, *, log: bool, room: int) -> list[tuple[float, str]]:
    """Places on the axis of counts up to `high`, and what stands there.

    >>> count_ticks(2.0, log=False, room=5)
    [(0.0, '0'), (1.0, '1'), (2.0, '2')]
    >>> [text for _, text in count_ticks(2.5, log=True, room=5)]
    ['1', '10', '100']
    """
    if log:
        powers = 10 ** np.arange(9)
        places = heights(powers, log=True)
        return [(float(p), f"{n:,}") for p, n in zip(places, powers) if p <= high]
    return [(p, f"{p:,.0f}") for p, _ in ticks("linear", 0.0, high, room=room) if p == round(p)]


def _edges(known: Array) -> Array:
    """Round numbers around ascending values, as many bins as their number deserves; outliers do not make them wide."""
    if not len(known):
        return np.array([0.0, 1.0])
    low, high = float(known[0]), float(known[-1])
    finest = 8 * float(np.spacing(max(abs(low), abs(high))))
    if high - low <= finest:
        width = nice(max(abs(low), 0.1) / 100)
        return np.asarray((np.floor(low / width) + np.arange(-2.0, 4.0)) * width)
    core = float(np.diff(np.quantile(known, [0.005, 0.995]))[0]) or high - low
    bins = min(max(2.5 * np.sqrt(len(known)), LEAST), USUAL)
    width = nice(max(core / bins, (high - low) / MOST, finest))
    first = np.floor(low / width)
    first -= first * width > low  # rounding
    last = np.ceil(high / width)
    return np.arange(first, max(last, first + 1) + 1) * width
