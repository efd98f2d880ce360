"""What each region of the face adds to a distance of patches, a row for each, beside another face: bars that add up.

Under the pointer, or where the keyboard is (up and down, Esc lets go), a row says more and its patches light up.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QEvent, QLineF, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QAccessible,
    QAccessibleAnnouncementEvent,
    QFocusEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
)
from PySide6.QtWidgets import QSizePolicy, QWidget

from facelens.analyses.regions import REGIONS, title
from facelens.figures.scales import rounded_up
from facelens.views import theme
from facelens.views.controls import by_keyboard, draw_text, text_width
from facelens.views.hover import paint_tag
from facelens.words import number, tr

EDGE = 12  # px at either side
TOP, LEGEND, ROW, SUM = 26, 18, 24, 30  # px of the title, the key, a row and the sum
NAMES = 66  # px of the names of regions
TRACK = 11  # px of a bar
MOVES = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1, Qt.Key.Key_Home: -9, Qt.Key.Key_End: 9}

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Bars:
    """What is shown. `better` is the sign of a difference that speaks for the right face, 0 where that is not known."""

    values: Array  # (R,)
    title: str
    key: str  # what the bars are
    mark: str = ""  # what the ticks are
    marks: Array | None = None  # (R,)
    low: Array | None = None  # (R,) half of many lie between them
    high: Array | None = None
    weight: Array | None = None  # (R,) of the query's mass
    better: int = 0

    def difference(self, value: float) -> tuple[str, str]:
        """A difference as it is written, and its ink."""
        text = number(value, sign=True)
        good = {1: "good", -1: "bad"}.get(int(np.sign(value)) * self.better, "text2")
        return text, "text3" if float(f"{value:.3f}") == 0 else good

    def more(self, region: int) -> list[str]:
        """What a row does not show."""
        total = float(self.values.sum())
        said = []
        if total > 0:
            said.append(tr("{share} % of the EMD", share=f"{100 * float(self.values[region]) / total:.0f}"))
        if self.weight is not None:
            said.append(tr("{share} % of the weight", share=f"{100 * float(self.weight[region]):.0f}"))
        if self.low is not None and self.high is not None:
            low, high = (number(float(end[region])) for end in (self.low, self.high))
            said.append(tr("half between {low} and {high}", low=low, high=high))
        return said

    def spoken(self, region: int) -> str:
        """All about one region in a line."""
        said = [f"{title(region)} {number(float(self.values[region]))}", *self.more(region)]
        if self.marks is not None:
            said.append(f"{self.mark} {number(float(self.marks[region]))}")
        return ", ".join(said)


class RegionBars(QWidget):
    """See the module's words."""

    hovered = Signal(int)  # a region, -1: none

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.bars: Bars | None = None
        self.under = -1  # where the pointer or the keyboard is
        self._by_key = False
        self.setAccessibleName(tr("EMD by region"))
        self.setWhatsThis(
            tr(
                "What each region of the face adds to the distance, beside another face; the bars add up. Under the "
                "pointer, or with up and down, a row says more and its patches light up."
            )
        )
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setFixedHeight(TOP + LEGEND + len(REGIONS) * ROW + SUM)

    def show_bars(self, bars: Bars) -> None:
        """Other numbers."""
        self.bars = bars
        self._speak()
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(300, self.height())

    # Where things are

    def row(self, region: int) -> QRectF:
        """The place of a region; the one after the last is the sum."""
        return QRectF(0, TOP + LEGEND + region * ROW, self.width(), ROW)

    def track(self, region: int) -> QRectF:
        """The room of a bar."""
        row, wide = self.row(region), self._columns()
        right = self.width() - EDGE - sum(wide)
        return QRectF(EDGE + NAMES, row.center().y() - TRACK / 2, max(right - EDGE - NAMES, 20), TRACK)

    def spot(self, value: float, region: int) -> float:
        """Where a value ends."""
        track = self.track(region)
        return track.left() + track.width() * min(max(value / self._end(), 0), 1)

    def at(self, point: QPointF) -> int:
        """The region under a point, -1: none."""
        region = int((point.y() - TOP - LEGEND) // ROW)
        return region if self.bars is not None and 0 <= region < len(REGIONS) else -1

    def _columns(self) -> tuple[float, float]:
        """How wide values and differences are."""
        value = text_width("0.000", 12, True) + 10
        marked = self.bars is not None and self.bars.marks is not None
        return value, text_width("+0.000", 10) + 12 if marked else 0.0

    def _end(self) -> float:
        """The value at the end of the bars."""
        assert self.bars is not None
        known = [part for part in (self.bars.values, self.bars.marks, self.bars.high) if part is not None]
        return rounded_up(float(np.nanmax(np.concatenate(known), initial=0)))

    # Painting

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, now, bars = QPainter(self), theme.current(), self.bars
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.fillRect(self.rect(), now.q("base"))
        if bars is None:
            return
        draw_text(painter, QRectF(EDGE, 4, self.width() - 2 * EDGE, TOP - 4), bars.title, "text", 12, bold=True)
        self._paint_key(painter, bars)
        if self.under >= 0:
            painter.fillRect(self.row(self.under), now.q("hover", 0.55))
        for region in range(len(REGIONS)):
            self._paint_row(painter, bars, region)
        self._paint_sum(painter, bars)
        if self.under >= 0:
            paint_tag(painter, self.row(self.under), " · ".join(bars.more(self.under)), room=QRectF(self.rect()))
        if self.hasFocus() and self._by_key:
            painter.setPen(QPen(now.q("accent"), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), 4, 4)

    def _paint_key(self, painter: QPainter, bars: Bars) -> None:
        now, y = theme.current(), TOP + LEGEND / 2 - 3
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(now.q("accent"))
        painter.drawRect(QRectF(EDGE, y - 3, 12, 6))
        x = EDGE + 17.0
        draw_text(painter, QRectF(x, TOP - 3, self.width() - x, LEGEND), bars.key, "text2", 10)
        if bars.marks is None:
            return
        # Over the bars where that leaves room for what stands before it.
        x = max(x + text_width(bars.key, 10) + 16, self.track(0).left() + 20)
        self._paint_mark(painter, x, y - 6, y + 6)
        total = number(float(bars.marks.sum()))
        words = QRectF(x + 6, TOP - 3, self.width() - x - 6 - 4, LEGEND)
        draw_text(painter, words, f"{bars.mark}, {total}", "text2", 10)

    def _paint_mark(self, painter: QPainter, x: float, top: float, bottom: float) -> None:
        assert self.bars is not None
        ink = {-1: "bad", 1: "good"}.get(self.bars.better, "text")
        for colour, wide in (("base", 4), (ink, 2)):
            painter.setPen(QPen(theme.current().q(colour), wide, Qt.PenStyle.SolidLine, Qt.PenCapStyle.FlatCap))
            painter.drawLine(QLineF(round(x), top, round(x), bottom))

    def _paint_row(self, painter: QPainter, bars: Bars, region: int) -> None:
        now, row, track = theme.current(), self.row(region), self.track(region)
        value = float(bars.values[region])
        ink = "text" if region == self.under else "text2"
        draw_text(painter, QRectF(EDGE, row.top(), NAMES - 4, ROW), title(region), ink, 11)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(now.q("line"))
        painter.drawRoundedRect(track, 2, 2)
        if np.isfinite(value) and value > 0:
            painter.setBrush(now.q("accent"))
            bar = QRectF(track)
            bar.setRight(max(self.spot(value, region), track.left() + 1))
            painter.drawRoundedRect(bar, 2, 2)
        if bars.low is not None and bars.high is not None:
            low, high = (self.spot(float(end[region]), region) for end in (bars.low, bars.high))
            _paint_whisker(painter, low, high, row.center().y())
        if bars.marks is not None:
            x = self.spot(float(bars.marks[region]), region)
            self._paint_mark(painter, x, track.top() - 3, track.bottom() + 3)
        self._paint_numbers(painter, bars, row, value, None if bars.marks is None else float(bars.marks[region]))

    def _paint_sum(self, painter: QPainter, bars: Bars) -> None:
        row = self.row(len(REGIONS)).adjusted(0, 3, 0, 0)
        painter.setPen(QPen(theme.current().q("line2"), 1))
        painter.drawLine(QLineF(EDGE, row.top() - 1.5, self.width() - EDGE, row.top() - 1.5))
        draw_text(painter, QRectF(EDGE, row.top(), NAMES, ROW), tr("sum"), "text", 11, bold=True)
        against = None if bars.marks is None else float(bars.marks.sum())
        self._paint_numbers(painter, bars, row, float(bars.values.sum()), against, bold=True)

    def _paint_numbers(
        self, painter: QPainter, bars: Bars, row: QRectF, value: float, against: float | None, *, bold: bool = False
    ) -> None:
        _, wide = self._columns()
        right = self.width() - EDGE
        written = number(value) if np.isfinite(value) else tr("n/a")
        draw_text(painter, QRectF(0, row.top(), right - wide, ROW), written, "text", 12, bold=bold, align="right")
        if against is not None:
            text, ink = bars.difference(value - against)
            draw_text(painter, QRectF(0, row.top(), right, ROW), text, ink, 10, align="right")

    # Hands

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._go(self.at(event.position()), by_key=False)

    def leaveEvent(self, event: QEvent) -> None:
        self._go(-1, by_key=False)
        super().leaveEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = Qt.Key(event.key())
        if key in MOVES and self.bars is not None:
            self._go(min(max(self.under + MOVES[key], 0), len(REGIONS) - 1), by_key=True)
        elif key == Qt.Key.Key_Escape and self.under >= 0:
            self._go(-1, by_key=True)
        else:
            super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        self._by_key = by_keyboard(event)
        super().focusInEvent(event)
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self._go(-1, by_key=False)
        self.update()

    def _go(self, region: int, *, by_key: bool) -> None:
        if region == self.under:
            return
        self.under = region
        self._by_key |= by_key
        self._speak(aloud=by_key)
        self.hovered.emit(region)
        self.update()

    def _speak(self, *, aloud: bool = False) -> None:
        text = ""
        if self.bars is not None:
            every = (self.bars.spoken(region) for region in range(len(REGIONS)))
            text = self.bars.spoken(self.under) if self.under >= 0 else ". ".join(every)
        self.setAccessibleDescription(text)
        if aloud and text and QAccessible.isActive():
            QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, text))


def _paint_whisker(painter: QPainter, left: float, right: float, y: float) -> None:
    painter.setPen(QPen(theme.current().q("text"), 1.2))
    painter.drawLine(QLineF(left, y, right, y))
    for x in (left, right):
        painter.drawLine(QLineF(x, y - 3.5, x, y + 3.5))
