"""A face as patches: where its cells are, its picture, values laid over it as colours, and marks on cells."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF, QSizeF, Qt
from PySide6.QtGui import QBrush, QColor, QImage, QPainter, QPainterPath, QPen

from facelens.analyses.patch_sets import Grid
from facelens.views import heat, theme

Array = NDArray[np.float64]

RADIUS = 3.0  # corners of pictures
HAIRLINE = 0.13  # of white, between cells
FINE = 128  # px; colours are worked out for a picture of this side, more cannot be told apart
WHITE, BLACK = "#ffffff", "#000000"


@dataclass(frozen=True)
class Lattice:
    """Cells of a grid in a box, row by row: what is painted and what is hit."""

    box: QRectF
    grid: Grid  # rows, columns

    def cell(self, patch: int) -> QRectF:
        """Where a patch is."""
        row, column = divmod(patch, self.grid[1])
        (top, bottom), (left, right) = self.rows[row : row + 2], self.columns[column : column + 2]
        return QRectF(left, top, right - left, bottom - top)

    def at(self, point: QPointF) -> int | None:
        """The patch under a point."""
        row, column = bisect_right(self.rows, point.y()) - 1, bisect_right(self.columns, point.x()) - 1
        if not (0 <= row < self.grid[0] and 0 <= column < self.grid[1]):
            return None
        return row * self.grid[1] + column

    @cached_property
    def rows(self) -> list[float]:
        """Where rows begin, and the end."""
        return _edges(self.box.top(), self.box.height(), self.grid[0])

    @cached_property
    def columns(self) -> list[float]:
        """Where columns begin, and the end."""
        return _edges(self.box.left(), self.box.width(), self.grid[1])


def _edges(start: float, room: float, count: int) -> list[float]:
    return [start + round(place * room / count) for place in range(count + 1)]


def walked(patch: int, grid: Grid, across: int, down: int) -> int:
    """The patch so many columns and rows away, or the last one on the way.

    >>> walked(7, (7, 6), -3, 1)
    12
    """
    row, column = divmod(patch, grid[1])
    return min(max(row + down, 0), grid[0] - 1) * grid[1] + min(max(column + across, 0), grid[1] - 1)


def as_image(picture: NDArray[np.uint8]) -> QImage:
    """(H, W, 3) as Qt has it."""
    pixels = np.ascontiguousarray(picture)
    return QImage(
        pixels.data, pixels.shape[1], pixels.shape[0], 3 * pixels.shape[1], QImage.Format.Format_RGB888
    ).copy()


def fitted(size: tuple[int, int], room: QRectF) -> QRectF:
    """The box of a picture of `size` (height, width) in the middle of `room`, on whole pixels."""
    scale = min(room.width() / size[1], room.height() / size[0])
    wide, high = round(size[1] * scale), round(size[0] * scale)
    left, top = room.left() + (room.width() - wide) // 2, room.top() + (room.height() - high) // 2
    return QRectF(QPointF(round(left), round(top)), QSizeF(wide, high))


def spread(values: Array, grid: Grid, side: int = FINE) -> Array:
    """(side, side) values in between those at the middles of cells, bilinear; beyond the outer middles as there."""
    table = np.asarray(values, np.float64).reshape(grid)
    for axis, count in enumerate(grid):
        place = np.clip((np.arange(side) + 0.5) * count / side - 0.5, 0, count - 1)
        low = np.minimum(place.astype(np.int64), max(count - 2, 0))
        share = np.expand_dims(place - low, 1 - axis)
        table = table.take(low, axis) * (1 - share) + table.take(np.minimum(low + 1, count - 1), axis) * share
    return table


def warmed(values: Array, grid: Grid, limits: tuple[float, float], colours: str) -> QImage:
    """Values of patches as a picture to lay over a face; those that are not known have the colour of the least."""
    known = np.nan_to_num(values, nan=limits[0])
    return heat.picture(spread(known, grid), *limits, colours=colours)


# Painting


def paint_picture(painter: QPainter, box: QRectF, image: QImage, *, opacity: float = 1.0) -> None:
    """A picture with its corners rounded."""
    corners = QPainterPath()
    corners.addRoundedRect(box, RADIUS, RADIUS)
    painter.save()
    painter.setClipPath(corners)
    painter.setOpacity(opacity)
    painter.drawImage(box, image)
    painter.restore()


def paint_grid(painter: QPainter, lattice: Lattice) -> None:
    """Hairlines between cells."""
    ink, box = theme.current().q(WHITE, HAIRLINE), lattice.box
    for x in lattice.columns[1:-1]:
        painter.fillRect(QRectF(x, box.top(), 1, box.height()), ink)
    for y in lattice.rows[1:-1]:
        painter.fillRect(QRectF(box.left(), y, box.width(), 1), ink)


def paint_hatch(painter: QPainter, cell: QRectF) -> None:
    """A patch without mass."""
    now = theme.current()
    painter.fillRect(cell, now.q(BLACK, 0.35))
    painter.fillRect(cell, QBrush(now.q(WHITE, 0.55), Qt.BrushStyle.BDiagPattern))


def paint_veil(painter: QPainter, box: QRectF, strength: float, *, spared: Sequence[QRectF] = ()) -> None:
    """Darken a picture, but for some cells."""
    shape = QPainterPath()
    shape.addRoundedRect(box, RADIUS, RADIUS)
    for cell in spared:
        shape.addRect(cell)  # the even-odd rule leaves it out
    painter.fillPath(shape, theme.current().q(BLACK, strength))


def paint_frame(painter: QPainter, cell: QRectF, colour: QColor, width: float = 1.6) -> None:
    """Round a cell, with a dark edge that holds on any picture."""
    inner = cell.adjusted(width / 2, width / 2, -width / 2, -width / 2)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    for ink, wide in ((theme.current().q(BLACK, 0.45), width + 1.3), (colour, width)):
        painter.setPen(QPen(ink, wide, Qt.PenStyle.SolidLine, Qt.PenCapStyle.FlatCap, Qt.PenJoinStyle.MiterJoin))
        painter.drawRect(inner)


def paint_ends(painter: QPainter, cells: Sequence[QRectF], strengths: Sequence[float]) -> None:
    """Cells that streams end in: tinted by how strong these are, 0 to 1, and framed, the strong ones most."""
    now, outer, inner = theme.current(), QPainterPath(), QPainterPath()
    for cell, strong in zip(cells, strengths):
        painter.fillRect(cell, now.q("flow", round(0.18 * strong, 2)))
        if strong < 1:
            outer.addRect(cell.adjusted(0.5, 0.5, -0.5, -0.5))
            inner.addRect(cell.adjusted(1.5, 1.5, -1.5, -1.5))
    painter.strokePath(inner, QPen(now.q(BLACK, 0.35), 1))  # at once: there may be hundreds
    painter.strokePath(outer, QPen(now.q("flow", 0.8), 1))
    for cell, strong in zip(cells, strengths):
        if strong >= 1:
            paint_frame(painter, cell, now.q("flow"))
