"""Where the cells of the grid are: a million positions by arithmetic."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QRectF

MARGIN = 11
CAPTION, CAPTION_GAP = 14, 5  # under the ring of the current face
SECTION = 30  # height of a group's heading


@dataclass(frozen=True, eq=False)
class Layout:
    """Positions of all places (0 to count - 1, in display order), by arithmetic.

    Shapes    starts (S + 1,) first place of each section, then the count
              tops (S + 1,) upper edge of each section, then the lower edge of the last
    """

    size: int
    columns: int
    pitch: float
    starts: NDArray[np.int64]
    tops: NDArray[np.int64]
    heading: int

    @classmethod
    def make(cls, count: int, width: int, *, size: int, starts: NDArray[np.int64] | None = None) -> Layout:
        """Fill `width` with columns of cells of size + 10; what is left over goes between them, up to 24 px each."""
        room = max(width - 2 * MARGIN, size)
        columns = max(1, (room + 10) // (size + 10))
        pitch = min((room - size) / (columns - 1), size + 34.0) if columns > 1 else float(size)
        firsts = np.zeros(1, np.int64) if starts is None else np.asarray(starts, np.int64)
        bounds = np.append(firsts, count)
        heading = 0 if starts is None else SECTION
        lines = -(-np.diff(bounds) // columns)
        tops = np.zeros(len(bounds), np.int64)
        np.cumsum(lines * (size + 29) + heading, out=tops[1:])
        return cls(size, columns, pitch, bounds, tops + (MARGIN if starts is None else 0), heading)

    @property
    def count(self) -> int:
        return int(self.starts[-1])

    @property
    def line(self) -> int:
        """Height of a cell."""
        return self.size + 29

    @property
    def height(self) -> int:
        return int(self.tops[-1]) + (2 if self.count else 0)

    def section(self, place: int) -> int:
        """The section of a place."""
        return int(np.searchsorted(self.starts, place, "right")) - 1

    def x(self, column: int) -> int:
        return MARGIN + round(column * self.pitch)

    def corner(self, place: int) -> tuple[int, int]:
        """Upper left corner of the picture at `place`."""
        section = self.section(place)
        line, column = divmod(place - int(self.starts[section]), self.columns)
        return self.x(column), int(self.tops[section]) + self.heading + line * self.line

    def at(self, x: float, y: float) -> int | None:
        """The place whose picture or caption covers a point."""
        spot = self._spot(x, y)
        if spot is None:
            return None
        section, line, column = spot
        left, top = self.x(column), int(self.tops[section]) + self.heading + line * self.line
        inside = left <= x < left + self.size and top <= y < top + self.size + CAPTION_GAP + CAPTION
        place = int(self.starts[section]) + line * self.columns + column
        return place if inside and place < self.starts[section + 1] else None

    def section_at(self, x: float, y: float) -> int | None:
        """The section whose heading covers a point."""
        if not self.heading or not self.count:
            return None
        section = int(np.searchsorted(self.tops, y, "right")) - 1
        on = 0 <= section < len(self.starts) - 1 and y < self.tops[section] + self.heading
        return section if on else None

    def nearest(self, x: float, y: float) -> int:
        """The place closest to a point; the count must not be 0."""
        section = min(max(int(np.searchsorted(self.tops, y, "right")) - 1, 0), len(self.starts) - 2)
        while self.starts[section] == self.starts[section + 1]:
            section -= 1
        first, last = int(self.starts[section]), int(self.starts[section + 1]) - 1
        line = min(max(int((y - self.tops[section] - self.heading) // self.line), 0), (last - first) // self.columns)
        column = min(max(round((x - MARGIN) / self.pitch), 0), self.columns - 1) if self.columns > 1 else 0
        return min(first + line * self.columns + column, last)

    def above(self, place: int) -> int:
        """The place one line up, or the same."""
        section = self.section(place)
        first = int(self.starts[section])
        if place - first >= self.columns:
            return place - self.columns
        if section == 0:
            return place
        column = (place - first) % self.columns
        start, end = int(self.starts[section - 1]), first - 1
        return min(start + (end - start) // self.columns * self.columns + column, end)

    def below(self, place: int) -> int:
        """The place one line down, or the same; a short last line gives its last place."""
        section = self.section(place)
        first, last = int(self.starts[section]), int(self.starts[section + 1]) - 1
        if (place - first) // self.columns < (last - first) // self.columns:
            return min(place + self.columns, last)
        if section == len(self.starts) - 2:
            return place
        column = (place - first) % self.columns
        return min(last + 1 + column, int(self.starts[section + 2]) - 1)

    def visible(self, top: float, bottom: float) -> Iterator[tuple[int, int, int]]:
        """(section, first place, place after the last) of what lies between two heights."""
        section = max(int(np.searchsorted(self.tops, top, "right")) - 1, 0)
        while section < len(self.starts) - 1 and self.tops[section] < bottom:
            first, after = int(self.starts[section]), int(self.starts[section + 1])
            start = int(self.tops[section]) + self.heading
            low = first + max(0, int((top - start) // self.line)) * self.columns
            high = first + max(0, -int((start - bottom) // self.line)) * self.columns
            yield section, min(low, after), min(max(low, high), after)
            section += 1

    def within(self, rect: QRectF) -> NDArray[np.int64]:
        """Places whose picture meets `rect`."""
        columns = [c for c in range(self.columns) if self.x(c) < rect.right() and self.x(c) + self.size > rect.left()]
        found = []
        for section, first, after in self.visible(rect.top(), rect.bottom()):
            places = np.arange(first, after, dtype=np.int64)
            line, column = np.divmod(places - self.starts[section], self.columns)
            top = self.tops[section] + self.heading + line * self.line
            meets = np.isin(column, columns) & (top < rect.bottom()) & (top + self.size > rect.top())
            found.append(places[meets])
        return np.concatenate(found) if found else np.zeros(0, np.int64)

    def _spot(self, x: float, y: float) -> tuple[int, int, int] | None:
        section = int(np.searchsorted(self.tops, y, "right")) - 1
        if not 0 <= section < len(self.starts) - 1:
            return None
        line = int((y - self.tops[section] - self.heading) // self.line)
        column = int((x - MARGIN) // self.pitch) if self.columns > 1 else 0
        return (section, line, column) if line >= 0 and 0 <= column < self.columns else None
