"""How sure each sub-embedding is, during training: for every part the faces as they are against those with a variation.

The left half of a part is the faces as they are, the right, hatched half those with a variation; the wider, the more
faces lie there, on one scale for all parts. A click or the arrow keys choose a part.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QBrush,
    QFocusEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPainterPath,
    QPaintEvent,
    QPen,
)
from PySide6.QtWidgets import QWidget

from facelens.figures.scales import Array, ticks
from facelens.views import theme
from facelens.views.controls import by_keyboard, draw_text, text_width
from facelens.views.curves import shade, short
from facelens.views.hearing import tell
from facelens.words import tr

CLEAN, VARIED = 1, 3  # places of their shades
LEFT, TOP, BOTTOM, LEAST = 40, 38, 8, 40  # px around the parts, and the least width of one
MEDIAN = 2  # which of the quantiles


class Confidences(QWidget):
    """The parts side by side at one step of a training."""

    chosen = Signal(int)  # a part

    def __init__(self) -> None:
        super().__init__()
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMinimumSize(200, 110)
        self.setMouseTracking(True)
        tell(self, self._tip_at)
        self.setAccessibleName(tr("Confidences of the sub-embeddings"))
        self.setWhatsThis(
            tr(
                "How sure each part is: at the left the faces as they are, at the right, hatched, those with a "
                "variation. A click or the arrow keys choose a part."
            )
        )
        self.part = 0
        self.against = ""
        self._told: Mapping[str, Any] = {}
        self._step = 0
        self._by_key = False

    def sizeHint(self) -> QSize:
        return QSize(480, 220)

    def show_told(self, told: Mapping[str, Any], *, step: int, against: str) -> None:
        """What features/confidences.py says; `against` names the variation on the right side, "" for none."""
        if told is self._told and (step, against) == (self._step, self.against):
            return
        self._told, self._step, self.against = told, step, against
        self.part = min(self.part, max(self.parts - 1, 0))
        self._speak()
        self.update()

    @property
    def parts(self) -> int:
        """K."""
        groups = self._told.get("groups", {})
        return len(next(iter(groups.values()))["counts"]) if groups else 0

    def choose(self, part: int) -> None:
        """Make a part the current one."""
        if 0 <= part < self.parts and part != self.part:
            self.part = part
            self._speak()
            self.update()
            self.chosen.emit(part)

    def words(self, part: int) -> str:
        """A part in words: the middle of each group and the range of its middle half."""
        lines = [tr("part {n}", n=part + 1)]
        for name in ("clean", self.against):
            if name in self._told.get("groups", {}):
                _, low, middle, high, _ = self._told["groups"][name]["quantiles"][part]
                lines.append(f"{tr(name)} {short(middle)} [{short(low)}, {short(high)}]")
        return "\n".join(lines)

    def _speak(self) -> None:
        self.setAccessibleDescription(self.words(self.part).replace("\n", ", ") if self.parts else "")

    # -- where things are

    def _cells(self) -> list[QRectF]:
        """The place of each part, in one line where there is room, else in two."""
        count = max(self.parts, 1)
        room = self.width() - LEFT - 8
        lines = 1 if room / count >= LEAST else 2
        columns = -(-count // lines)
        wide, high = room / columns, (self.height() - TOP) / lines
        return [
            QRectF(LEFT + (i % columns) * wide, TOP + (i // columns) * high, wide, high - BOTTOM) for i in range(count)
        ]

    def _at(self, point: QPointF) -> int | None:
        return next((i for i, cell in enumerate(self._cells()) if cell.contains(point) and i < self.parts), None)

    def _y(self, value: Array | float, cell: QRectF) -> Array:
        low, high = np.log(self._told["low"]), np.log(self._told["high"])
        share = (np.log(np.maximum(value, 1e-12)) - low) / max(high - low, 1e-9)
        return np.asarray(cell.bottom() - share * (cell.height() - 20))

    # -- painting

    def paintEvent(self, event: QPaintEvent) -> None:
        now, painter = theme.current(), QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.fillRect(self.rect(), now.q("base"))
        if not self.parts:
            return
        self._paint_legend(painter)
        cells = self._cells()
        for top in sorted({cell.top() for cell in cells}):
            self._paint_axis(painter, next(cell for cell in cells if cell.top() == top))
        groups = self._told["groups"]
        shown = [name for name in ("clean", self.against) if name in groups]
        shares = {
            name: np.array([np.divide(part, max(sum(part), 1)) for part in groups[name]["counts"]]) for name in shown
        }
        widest = max(float(found.max()) for found in shares.values())
        for part, cell in enumerate(cells):
            if part == self.part:
                painter.setPen(QPen(now.q("accent"), 1))
                painter.setBrush(now.q("soft", 0.35))
                painter.drawRoundedRect(cell.adjusted(1, 0, -1, 4), 4, 4)
            draw_text(
                painter, QRectF(cell.left(), cell.top(), cell.width(), 16), str(part + 1), "text2", 10, align="centre"
            )
            painter.setPen(QPen(now.q("line2"), 1))
            painter.drawLine(QPointF(cell.center().x(), cell.top() + 18), QPointF(cell.center().x(), cell.bottom()))
            for name in shown:
                self._paint_half(painter, cell, shares[name][part] / widest, left=name == "clean")
                self._paint_median(painter, cell, groups[name]["quantiles"][part], left=name == "clean")
        if self.hasFocus() and self._by_key:
            painter.setPen(QPen(now.q("accent"), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), 4, 4)

    def _paint_legend(self, painter: QPainter) -> None:
        now = theme.current()
        title = tr("confidence (log) at step {n}, higher is surer; width: share of faces", n=self._step)
        draw_text(painter, QRectF(8, 4, self.width() - 16, 14), title, "text2", 10)
        x = float(LEFT)
        for name, left in (("clean", True), (self.against, False)):
            if name in self._told["groups"]:
                painter.setPen(QPen(now.q(_shade(left)), 1.2))
                painter.setBrush(_fill(left))
                painter.drawRect(QRectF(x, 23, 10, 10))
                n = sum(self._told["groups"][name]["counts"][0])
                said = tr("{name}, N = {n}", name=tr(name.replace("_", " ")), n=n)
                draw_text(painter, QRectF(x + 16, 21, 300, 14), said, "text", 10)
                x += 34 + text_width(said, 10)

    def _paint_axis(self, painter: QPainter, cell: QRectF) -> None:
        now = theme.current()
        low, high = np.log10(self._told["low"]), np.log10(self._told["high"])
        for place, text in ticks("log", float(low), float(high), room=max(2, int(cell.height() / 34))):
            y = float(self._y(10.0**place, cell))
            painter.setPen(QPen(now.q("text", 0.09), 1))
            painter.drawLine(QPointF(LEFT, y), QPointF(self.width() - 8, y))
            draw_text(painter, QRectF(0, y - 7, LEFT - 6, 14), text, "text3", 10, align="right")

    def _paint_half(self, painter: QPainter, cell: QRectF, shares: Array, *, left: bool) -> None:
        edges = self._y(np.geomspace(self._told["low"], self._told["high"], len(shares) + 1), cell)
        middle, reach = cell.center().x(), (cell.width() / 2 - 4) * (-1 if left else 1)
        painter.setPen(QPen(theme.current().q(_shade(left)), 1.2))
        painter.setBrush(_fill(left))
        runs = np.split(np.arange(len(shares)), np.flatnonzero(np.diff(shares > 0)) + 1)
        for run in (run for run in runs if shares[run[0]] > 0):
            path = QPainterPath(QPointF(middle, edges[run[0]]))
            for place in run:
                x = middle + reach * max(float(shares[place]), 0.04)
                path.lineTo(x, edges[place])
                path.lineTo(x, edges[place + 1])
            path.lineTo(middle, edges[run[-1] + 1])
            painter.drawPath(path)

    def _paint_median(self, painter: QPainter, cell: QRectF, quantiles: list[float], *, left: bool) -> None:
        y, middle = float(self._y(quantiles[MEDIAN], cell)), cell.center().x()
        painter.setPen(QPen(theme.current().q("text"), 1.8))
        painter.drawLine(QPointF(middle, y), QPointF(middle + (-1 if left else 1) * min(12.0, cell.width() / 2 - 4), y))

    # -- hands

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if (part := self._at(event.position())) is not None:
            self.choose(part)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        steps = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}.get(Qt.Key(event.key()))
        if steps is None:
            super().keyPressEvent(event)
        else:
            self.choose(self.part + steps)

    def _tip_at(self, spot: QPointF) -> str:
        part = self._at(spot)
        return self.words(part) if part is not None else ""

    def focusInEvent(self, event: QFocusEvent) -> None:
        self._by_key = by_keyboard(event)
        super().focusInEvent(event)
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.update()


def _shade(left: bool) -> str:
    return shade(CLEAN if left else VARIED)


def _fill(left: bool) -> QBrush:
    """Filled for faces as they are, hatched for those with a variation."""
    if left:
        return QBrush(theme.current().q(_shade(left), 0.27))
    return QBrush(theme.current().q(_shade(left), 0.75), Qt.BrushStyle.BDiagPattern)
