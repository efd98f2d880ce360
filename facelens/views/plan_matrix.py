"""A plan as a matrix: a row for each patch of the query, a column for each of the gallery face, sums at the sides."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QImage, QPainter, QPen

from facelens.views import heat, theme
from facelens.views.patch_view import BLACK, WHITE

Array = NDArray[np.float64]

BARS, GAP = 20.0, 3.0  # px of the sums, and between them and the cells
SEEN = 3.0  # px; a frame is no thinner than this inside


@dataclass(frozen=True)
class Matrix:
    """Where rows, columns and cells are: what is painted and what is hit."""

    box: QRectF
    rows: int
    columns: int

    @classmethod
    def within(cls, room: QRectF, rows: int, columns: int) -> Matrix:
        """In a room with the sums of rows at its left and those of columns on top."""
        return cls(room.adjusted(BARS + GAP, BARS + GAP, 0, 0), rows, columns)

    def row(self, i: int) -> QRectF:
        """A patch of the query."""
        top, bottom = (_start(i + more, self.rows, self.box.height()) for more in (0, 1))
        return QRectF(self.box.left(), self.box.top() + top, self.box.width(), bottom - top)

    def column(self, j: int) -> QRectF:
        """A patch of the gallery face."""
        left, right = (_start(j + more, self.columns, self.box.width()) for more in (0, 1))
        return QRectF(self.box.left() + left, self.box.top(), right - left, self.box.height())

    def cell(self, i: int, j: int) -> QRectF:
        """What goes from one to the other."""
        return self.row(i).intersected(self.column(j))

    def at(self, point: QPointF) -> tuple[int, int] | None:
        """Row and column under a point; of cells smaller than a pixel one of those that share it."""
        if not self.box.contains(point):
            return None
        x, y = int(point.x() - self.box.left()), int(point.y() - self.box.top())
        i, j = int((y + 0.5) * self.rows / self.box.height()), int((x + 0.5) * self.columns / self.box.width())
        return min(i, self.rows - 1), min(j, self.columns - 1)

    def picture(self, values: Array, limits: tuple[float, float], colours: str, ratio: float) -> QImage:
        """The cells in pixels of the screen; where several share a pixel the largest is seen."""
        size = round(self.box.height() * ratio), round(self.box.width() * ratio)
        for axis in (0, 1):
            values = _resized(values, size[axis], axis)
        return heat.picture(values, *limits, colours=colours)

    def paint(self, painter: QPainter, image: QImage, u: Array, v: Array) -> None:
        """Cells, sums, and hatching over patches without mass."""
        now, box = theme.current(), self.box
        painter.drawImage(box, image)
        hatch = QBrush(now.q(WHITE, 0.3), Qt.BrushStyle.BDiagPattern)
        u, v = u * len(u), v * len(v)  # in averages, so that grids of other sizes have bars of a like length
        most = max(float(u.max(initial=0)), float(v.max(initial=0)), 1e-300)
        painter.setPen(Qt.PenStyle.NoPen)
        for i, mass in enumerate(u.tolist()):
            line = self.row(i)
            if mass <= 0:
                painter.fillRect(line, hatch)
            long = BARS * mass / most
            painter.fillRect(QRectF(box.left() - GAP - long, line.top(), long, _bar(line.height())), now.q("text2"))
        for j, mass in enumerate(v.tolist()):
            line = self.column(j)
            if mass <= 0:
                painter.fillRect(line, hatch)
            long = BARS * mass / most
            painter.fillRect(QRectF(line.left(), box.top() - GAP - long, _bar(line.width()), long), now.q("text2"))

    def paint_row(self, painter: QPainter, i: int) -> None:
        """Frame the current patch of the query."""
        line = self.row(i)
        self._frame(painter, line.adjusted(-1, -_more(line.height()), 1, _more(line.height())), "flow")

    def paint_column(self, painter: QPainter, j: int) -> None:
        """Frame the current patch of the gallery face."""
        line = self.column(j)
        self._frame(painter, line.adjusted(-_more(line.width()), -1, _more(line.width()), 1), "flow")

    def paint_cell(self, painter: QPainter, i: int, j: int) -> None:
        """Frame one stream."""
        cell = QRectF(self.column(j).left(), self.row(i).top(), self.column(j).width(), self.row(i).height())
        wide, high = _more(cell.width()), _more(cell.height())
        self._frame(painter, cell.adjusted(-wide, -high, wide, high), WHITE)

    def _frame(self, painter: QPainter, box: QRectF, colour: str) -> None:
        painter.setBrush(Qt.BrushStyle.NoBrush)
        for ink, width in ((theme.current().q(BLACK, 0.45), 2.9), (theme.current().q(colour), 1.4)):
            painter.setPen(QPen(ink, width))
            painter.drawRect(box)


def _start(place: int, count: int, room: float) -> float:
    """The first pixel whose middle lies in a cell, or beyond."""
    return float(max(0, ceil(place * room / count - 0.5)))


def _bar(room: float) -> float:
    return room - 1 if room >= 3 else max(room, 1.0)


def _more(room: float) -> float:
    """What a frame stands off."""
    return max(0.5, (SEEN - room) / 2)


def _resized(values: Array, pixels: int, axis: int) -> Array:
    count = values.shape[axis]
    if pixels < count:
        return np.asarray(np.maximum.reduceat(values, np.arange(pixels) * count // pixels, axis=axis))
    return values.take(((np.arange(pixels) + 0.5) * count / pixels).astype(np.int64), axis)
