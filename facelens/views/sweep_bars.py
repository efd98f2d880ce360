"""What the second stage does under several settings, side by side: a row each, from what cosine finds to what it finds.

A ring is the value by cosine alone, the dot the one after the second stage, with its interval.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, QSize
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from facelens.analyses.measure import Measure
from facelens.views import marks, theme
from facelens.views.cell_grid import hatch
from facelens.views.controls import draw_text, text_width
from facelens.words import number, tr

LEAST, MOST = 18, 30  # px of a row
EDGE, TOP, FOOT = 12, 26, 20
Row = tuple[str, Measure, Measure]  # what it is called, before, after


class SweepBars(QWidget):
    """See the module's words."""

    def __init__(self) -> None:
        super().__init__()
        self._rows: tuple[Row, ...] = ()
        self._title = self._current = ""
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)

    def show_rows(self, rows: Sequence[Row], *, title: str, current: str) -> None:
        """Other results; `current` is the one in use."""
        self._rows, self._title, self._current = tuple(rows), title, current
        self.setAccessibleName(title)
        told = (f"{name}: {before.text(3)} → {after.text(3)}" for name, before, after in rows)
        self.setAccessibleDescription(". ".join(told))
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(480, TOP + FOOT + MOST * max(len(self._rows), 3))

    def minimumSizeHint(self) -> QSize:
        return QSize(240, TOP + FOOT + LEAST * 2)

    def limits(self) -> tuple[float, float]:
        """Both ends of the scale: all values and intervals are seen."""
        known = [v for _, *two in self._rows for m in two for v in (m.value, m.low, m.high) if v is not None]
        low, high = min(known, default=0.0), max(known, default=1.0)
        spare = max(0.06 * (high - low), 0.002)
        return max(0.0, low - spare), min(1.0, high + spare)

    def paintEvent(self, event: QPaintEvent) -> None:
        now, painter = theme.current(), QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.fillRect(event.rect(), now.q("base"))
        draw_text(painter, QRectF(8, 4, self.width() - 16, 16), self._title, "text2", 10)
        names = max((text_width(name, 11, bold=True) for name, *_ in self._rows), default=0.0)
        values = max((text_width(after.text(3), 10) for *_, after in self._rows if after.defined), default=60.0)
        names, values = min(names, 0.3 * self.width()), min(values, 0.4 * self.width())
        plot = QRectF(EDGE + names + 12, TOP, 0, 0)
        plot.setRight(self.width() - EDGE - values - 30)
        pitch = min(MOST, max(LEAST, (self.height() - TOP - FOOT) / max(len(self._rows), 1)))
        for place, (name, before, after) in enumerate(self._rows):
            line = QRectF(0, TOP + place * pitch, self.width(), pitch)
            chosen = name == self._current
            box = QRectF(EDGE, line.top(), names + 2, pitch)
            draw_text(painter, box, name, "text" if chosen else "text2", 11, bold=chosen)
            plot.setTop(line.top())
            plot.setHeight(pitch)
            self._paint_measures(painter, now, plot, before, after, chosen=chosen)
            value = QRectF(self.width() - EDGE - values - 2, line.top(), values + 2, pitch)
            if after.defined:
                draw_text(painter, value, after.text(3), "text" if chosen else "text2", 10, align="right")
        foot = TOP + len(self._rows) * pitch + 2
        low, high = self.limits()
        draw_text(painter, QRectF(plot.left(), foot, 60, 14), number(low, 2), "text3", 10)
        draw_text(painter, QRectF(plot.right() - 60, foot, 60, 14), number(high, 2), "text3", 10, align="right")

    def _paint_measures(
        self, painter: QPainter, now: theme.Theme, plot: QRectF, before: Measure, after: Measure, *, chosen: bool
    ) -> None:
        low, high = self.limits()
        middle = plot.center().y()

        def at(value: float) -> QPointF:
            return QPointF(plot.left() + (value - low) / (high - low) * plot.width(), middle)

        painter.setPen(QPen(now.q("line"), 1))
        painter.drawLine(QPointF(plot.left(), middle), QPointF(plot.right(), middle))
        if after.value is None or not after.defined:
            hatch(painter, plot.adjusted(0, 4, 0, -4))
            draw_text(painter, plot, after.text(3), "text2", 10, align="centre")
            return
        ink = now.q("accent" if chosen else "text2")
        if after.low is not None and after.high is not None:
            painter.setPen(QPen(ink, 1.4))
            ends = at(after.low), at(after.high)
            painter.drawLine(*ends)
            for end in ends:
                painter.drawLine(end - QPointF(0, 3), end + QPointF(0, 3))
        if before.value is not None and before.defined:
            painter.setPen(QPen(now.q("text3"), 1.6))
            painter.setBrush(now.q("base"))
            painter.drawEllipse(at(before.value), 3.6, 3.6)
            mark = QRectF(plot.right() + 8, middle - 4.5, 10, 9)
            marks.change(painter, mark, now, after.value - before.value)
        painter.setPen(QPen(now.q("base"), 1))
        painter.setBrush(ink)
        painter.drawEllipse(at(after.value), 4.6, 4.6)


def compared(measure: str, setting: str) -> str:
    """What the rows compare."""
    return tr("{measure} by {setting}, higher is better; ring: cosine alone", measure=measure, setting=setting)
