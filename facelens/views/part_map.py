"""A map of parts: one cell for each, in reading order. Cells are parts, not places of a face."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import ceil, isqrt

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QImage, QPainter

CELL = 5  # px; a cell is no smaller
ROUNDED = 12  # px; a cell so large has round corners


@dataclass(frozen=True)
class PartMap:
    """K cells in a square: full rows where that is nearly square, else the last cells are free."""

    parts: int
    rows: int
    columns: int
    side: int

    @classmethod
    def make(cls, parts: int, side: int = 0) -> PartMap:
        """
        >>> [(found.rows, found.columns) for found in map(PartMap.make, (4, 8, 16, 64, 3, 7))]
        [(2, 2), (2, 4), (4, 4), (8, 8), (2, 2), (3, 3)]
        """
        rows = next((rows for rows in range(isqrt(parts), 0, -1) if parts % rows == 0), 1)
        columns = parts // rows
        if columns > 2 * rows:
            columns = ceil(parts**0.5)
            rows = ceil(parts / columns)
        return cls(parts, rows, columns, side)

    @property
    def least(self) -> int:
        """The side it needs."""
        return CELL * self.columns

    @property
    def gap(self) -> int:
        """Ground between cells."""
        return 2 if self.side >= 16 * self.columns else 1

    @property
    def radius(self) -> float:
        """Corners of cells."""
        return 2.5 if self.side >= ROUNDED * self.columns else 1.0

    def cell(self, part: int, corner: QPointF = QPointF()) -> QRectF:  # noqa: B008  a value, never changed
        """The cell of a part, in a map whose upper left corner is given."""
        row, column = divmod(part, self.columns)
        left, right = _start(column, self.columns, self), _start(column + 1, self.columns, self)
        top, bottom = _start(row, self.rows, self), _start(row + 1, self.rows, self)
        return QRectF(corner.x() + left, corner.y() + top, right - left - self.gap, bottom - top - self.gap)

    def at(self, x: float, y: float) -> int | None:
        """The part at a point of the map; what is between cells belongs to the one before."""
        column = next(c for c in reversed(range(self.columns)) if x >= _start(c, self.columns, self) or not c)
        row = next(r for r in reversed(range(self.rows)) if y >= _start(r, self.rows, self) or not r)
        part = row * self.columns + column
        return part if part < self.parts else None

    def pictures(self, shades: NDArray[np.uint8], ratio: float) -> QImage:
        """Maps of faces below one another, each `side` high, from (n, K, 4) colours; where there are none, nothing."""
        whose, cover = _stencil(self, ratio)
        made = shades[:, whose]  # (n, S, S, 4)
        made[..., 3] = np.where(made[..., 3] > 0, cover, 0)
        pixels = np.ascontiguousarray(made.reshape(-1, *made.shape[2:]))
        width, height = pixels.shape[1], pixels.shape[0]
        return QImage(pixels.data, width, height, 4 * width, QImage.Format.Format_RGBA8888).copy()


def _start(place: int, count: int, of: PartMap) -> int:
    return round(place * (of.side + of.gap) / count)


@lru_cache(maxsize=32)
def _stencil(of: PartMap, ratio: float) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """(S, S) in pixels of the screen: whose cell a pixel is, and how much of it is covered."""
    side = round(of.side * ratio)
    image = QImage(side, side, QImage.Format.Format_Alpha8)
    image.fill(0)
    painter = QPainter(image)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(Qt.GlobalColor.black)
    painter.scale(ratio, ratio)
    for part in range(of.parts):
        painter.drawRoundedRect(of.cell(part), of.radius, of.radius)
    painter.end()
    cover = np.frombuffer(image.constBits(), np.uint8).reshape(side, image.bytesPerLine())[:, :side].copy()
    middles = (np.arange(side) + 0.5) / ratio
    rows = np.searchsorted([_start(r, of.rows, of) for r in range(1, of.rows)], middles, "right")
    columns = np.searchsorted([_start(c, of.columns, of) for c in range(1, of.columns)], middles, "right")
    return np.minimum(rows[:, None] * of.columns + columns, of.parts - 1), cover
