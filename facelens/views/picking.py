"""Which of a million points is meant: the nearest one, those in a rectangle, those inside a loop.

Points lie in rows from low to high, so a look at some of them touches only the rows that matter. Everything is worked
out in the coordinates of the points, never in pixels: the same loop holds the same points at any zoom.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Places = NDArray[np.int64]
ROWS = 1 << 16  # sorted as whole numbers of 16 bits, which takes a tenth of the time
FEW = 8  # ids up to which each is looked for by itself


class Index:
    """Points (x, y), or `some` of them, in rows; places are those in `x`."""

    def __init__(self, x: Array, y: Array, some: Places) -> None:
        self.x, self.y, self.some = x, y, some
        up = y[some]
        self._low = float(up.min()) if len(up) else 0.0
        span = float(up.max()) - self._low if len(up) else 0.0
        self._scale = (ROWS - 1) / span if span > 0 else 0.0
        row = self._row(up).astype(np.uint16)
        order = np.argsort(row, kind="stable")
        self._start = np.append(0, np.cumsum(np.bincount(row, minlength=ROWS)))
        self.place = some[order]
        self.across, self.up = x[self.place], up[order]

    def __len__(self) -> int:
        return len(self.place)

    def _row(self, y: Array | float) -> Array:
        return np.clip((np.asarray(y) - self._low) * self._scale, 0, ROWS - 1)

    def rows(self, low: float, high: float) -> slice:
        """Where all points from `low` to `high` are, and some others of the first and the last row."""
        first, last = int(self._row(low)), int(self._row(high))
        return slice(int(self._start[first]), int(self._start[last + 1]))

    def nearest(self, x: float, y: float, reach: float, *, squeeze: float = 1.0) -> int | None:
        """The place of the nearest point within `reach`; a step in y counts `squeeze` times one in x."""
        rows = self.rows(y - reach / squeeze, y + reach / squeeze)
        near = np.flatnonzero(np.abs(self.across[rows] - x) <= reach) + rows.start
        if not len(near):
            return None
        away = (self.across[near] - x) ** 2 + ((self.up[near] - y) * squeeze) ** 2
        best = int(np.argmin(away))
        return int(self.place[near[best]]) if away[best] <= reach**2 else None

    def within(self, left: float, right: float, low: float, high: float) -> Places:
        """Places of the points in a rectangle, borders included."""
        rows = self.rows(low, high)
        x, y = self.across[rows], self.up[rows]
        return self.place[rows][(x >= left) & (x <= right) & (y >= low) & (y <= high)]

    def same(self, x: Array, y: Array, some: Places) -> bool:
        """Whether it is of these very points."""
        return self.x is x and self.y is y and self.some is some


class Loop:
    """A line from point to point, closed by a straight one; it turns so many times around each point of an index.

    A step changes only the rows that it passes, so a loop can be followed while it is drawn.
    """

    def __init__(self, index: Index) -> None:
        self._index = index
        self._turns = np.zeros(len(index), np.int16)
        self.trail: list[tuple[float, float]] = []

    def add(self, x: float, y: float) -> None:
        """Go on to a point."""
        if self.trail:
            first, last = self.trail[0], self.trail[-1]
            self._step(first, last)  # the straight line from last to first is taken back
            self._step(last, (x, y))
            self._step((x, y), first)
        self.trail.append((x, y))

    def _step(self, a: tuple[float, float], b: tuple[float, float]) -> None:
        """Points at whose right an edge goes up are turned around once more, where it goes down, once less."""
        (x0, y0), (x1, y1) = sorted((a, b), key=lambda end: end[1])
        if y0 == y1:
            return
        rows = self._index.rows(y0, y1)
        x, y = self._index.across[rows], self._index.up[rows]
        inside = (x - x0) * (y1 - y0) < (y - y0) * (x1 - x0)
        inside &= y >= y0
        inside &= y < y1
        turns = self._turns[rows]
        if a[1] < b[1]:
            turns += inside
        else:
            turns -= inside

    @property
    def count(self) -> int:
        """How many points are inside."""
        return int(np.count_nonzero(self._turns))

    @property
    def places(self) -> Places:
        """The points inside."""
        return self._index.place[self._turns != 0]


class Known:
    """Ids, and where each is."""

    def __init__(self, ids: Places) -> None:
        self.ids = ids
        self._sorted: tuple[Places, Places] | None = None

    def places(self, ids: Places) -> Places:
        """Where these are; what is not known is dropped."""
        if len(ids) <= FEW:
            found = [np.flatnonzero(self.ids == one)[:1] for one in ids]
            return np.concatenate(found) if found else np.zeros(0, np.int64)
        if not len(self.ids):
            return np.zeros(0, np.int64)
        if self._sorted is None:
            order = np.argsort(self.ids)
            self._sorted = self.ids[order], order
        known, order = self._sorted
        at = np.minimum(np.searchsorted(known, ids), len(known) - 1)
        return np.asarray(order[at[known[at] == ids]], np.int64)
