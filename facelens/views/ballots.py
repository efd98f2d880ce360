"""How parts vote, a row for each: tick box, number, bar from zero, value.

A click on a box leaves a part out or lets it vote again, a click beside it makes that part the current one. Keys: up
and down move, Space ticks, Enter makes current, Esc lets go.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil, floor, log10

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QEvent, QLineF, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QAccessible,
    QAccessibleAnnouncementEvent,
    QBrush,
    QFocusEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
)
from PySide6.QtWidgets import QAbstractScrollArea, QWidget

from facelens.analyses.parts import Layout
from facelens.figures.part_words import part_name
from facelens.views import icons, theme
from facelens.views.controls import by_keyboard, draw_text, text_width
from facelens.views.hover import paint_tag
from facelens.words import number, tr

HEAD = 20  # px
LOWEST, HIGHEST = 14, 30  # px of a row
EDGE = 12  # px at either side
BOX = 12  # px of a tick box, which is hit up to TICKED
TICKED, BARS = 30, 66  # px where numbers and bars begin
STUB = 28  # px of hatching where there is no vote
SIDE = 0.2  # share of the bars' room that either side of zero has at least
ENTER = (Qt.Key.Key_Return, Qt.Key.Key_Enter)
MOVES = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1, Qt.Key.Key_PageUp: -8, Qt.Key.Key_PageDown: 8, Qt.Key.Key_Home: -64,
         Qt.Key.Key_End: 64}  # fmt: skip


def _none() -> NDArray[np.float64]:
    return np.zeros(0)


@dataclass(frozen=True, eq=False)
class Ballot:
    """What is shown: a vote of each part, of those left out what they would say."""

    layout: Layout
    votes: NDArray[np.float64] = field(default_factory=_none)  # (K,) NaN: it has nothing to go by
    kept: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, bool))
    marks: NDArray[np.float64] = field(default_factory=_none)  # (K,) to compare with, NaN: nothing
    mark: str = ""  # what that is
    low: NDArray[np.float64] = field(default_factory=_none)  # (K,) or none: between them lies half of many votes
    high: NDArray[np.float64] = field(default_factory=_none)
    against: tuple[int, ...] = ()  # parts that disagree

    @property
    def decimals(self) -> int:
        """So many that votes can be told apart; the score has as many."""
        known = np.abs(self.votes[np.isfinite(self.votes)])
        highest = float(known.max(initial=0))
        return 3 if highest < 1 else 2 if highest < 10 else 1

    def text(self, value: float) -> str:
        """A vote as it is written."""
        return number(value, self.decimals, sign=True) if np.isfinite(value) else tr("n/a")

    def spoken(self, part: int) -> str:
        """All about one part in a line."""
        vote, mark = float(self.votes[part]), float(self.marks[part])
        named = part_name(self.layout, part)
        if np.isnan(vote):
            return tr("{part}, no vote: it has nothing to go by", part=named)
        if not self.kept[part]:
            return tr("{part}, left out, would vote {vote}", part=named, vote=self.text(vote))
        said = [tr("{part}, votes {vote}", part=named, vote=self.text(vote))]
        if len(self.low):
            ends = (self.text(float(end[part])) for end in (self.low, self.high))
            said.append(tr("half of them between {low} and {high}", low=next(ends), high=next(ends)))
        if np.isfinite(mark):
            said.append(f"{self.mark} {self.text(mark)}")
        if part in self.against:
            said.append(tr("disagrees"))
        return ", ".join(said)


class Ballots(QAbstractScrollArea):
    """See the module's words."""

    ticked = Signal(int)  # a part whose box was clicked
    chosen = Signal(int)  # a part

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.ballot: Ballot | None = None
        self.part = -1  # the current one
        self._under = -1  # where the pointer or the keyboard is
        self._by_key = False
        self._ends = (0.0, 1.0)  # of the bars
        self._words = 0.0  # px of the votes in words, at the right
        self.setAccessibleName(tr("Votes of the parts"))
        self.setWhatsThis(
            tr(
                "A bar for each part: how it votes on the pair. A click on the box leaves a part out or lets it vote "
                "again, beside it makes it the current one. Up and down move, Space ticks, Enter makes current."
            )
        )
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setMinimumSize(200, HEAD + 4 * LOWEST)
        self.viewport().setMouseTracking(True)

    # What is shown

    def show_ballot(self, ballot: Ballot) -> None:
        """Other votes."""
        self.ballot = ballot
        self._ends = _ends(np.concatenate([ballot.votes, ballot.marks, ballot.low, ballot.high]))
        texts = [tr("left out"), *(ballot.text(float(vote)) for vote in ballot.votes)]
        self._words = max(text_width(text, 10) for text in texts) + 8
        self._under = min(self._under, len(ballot.votes) - 1)
        self._roll()
        self._speak()
        self.viewport().update()

    def set_part(self, part: int) -> None:
        """Another part is the current one."""
        if part != self.part:
            self.part = part
            if 0 <= part < self.count:
                self._reveal(part)
            self.viewport().update()

    @property
    def count(self) -> int:
        """K."""
        return len(self.ballot.votes) if self.ballot is not None else 0

    def sizeHint(self) -> QSize:
        return QSize(380, HEAD + 16 * 17)

    # Where things are

    @property
    def line(self) -> float:
        """From one row to the next."""
        room = (self.viewport().height() - HEAD - 2) / max(self.count, 1)
        return min(max(room, LOWEST), HIGHEST)

    def row(self, part: int) -> QRectF:
        """The place of a part."""
        top = HEAD + part * self.line - self.verticalScrollBar().value()
        return QRectF(0, top, self.viewport().width(), self.line)

    def box(self, part: int) -> QRectF:
        """Where its tick box is."""
        row, side = self.row(part), min(BOX, self.line - 3)
        return QRectF(EDGE + 0.5, round(row.center().y() - side / 2) + 0.5, side, side)

    def spot(self, value: float) -> float:
        """Where a vote ends."""
        low, high = self._ends
        left, right = BARS, self.viewport().width() - EDGE - self._words - 4
        zero = min(max(-low / (high - low), SIDE), 1 - SIDE)
        scale = min(zero / max(-low, 1e-12), (1 - zero) / max(high, 1e-12))
        return left + (right - left) * (zero + value * scale)

    def at(self, point: QPointF) -> int:
        """The part under a point, -1: none."""
        part = int((point.y() - HEAD + self.verticalScrollBar().value()) // self.line)
        return part if point.y() >= HEAD and part < self.count else -1

    def _roll(self) -> None:
        """The scroll bar has as far to go as there are rows out of sight."""
        room, bar = self.viewport().height() - HEAD - 2, self.verticalScrollBar()
        bar.setRange(0, max(0, round(self.count * self.line - room)))
        bar.setPageStep(max(1, room))
        bar.setSingleStep(round(self.line))

    def _reveal(self, part: int) -> None:
        row, bar = self.row(part), self.verticalScrollBar()
        beyond = max(0, row.bottom() + 2 - self.viewport().height())
        bar.setValue(bar.value() + round(min(0, row.top() - HEAD) + beyond))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._roll()

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        self.viewport().update()

    # Painting

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, now = QPainter(self.viewport()), theme.current()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        area = QRectF(self.viewport().rect())
        painter.fillRect(area, now.q("base"))
        ballot = self.ballot
        if ballot is None or not self.count:
            return
        zero = round(self.spot(0)) + 0.5
        self._paint_head(painter, ballot, area, zero)
        painter.setClipRect(area.adjusted(0, HEAD, 0, 0))
        foot = min(area.bottom(), self.row(self.count - 1).bottom())
        first = int(self.verticalScrollBar().value() // self.line)
        last = min(self.count, first + int(area.height() // self.line) + 2)
        if 0 <= self._under < self.count:
            painter.fillRect(self.row(self._under), now.q("hover", 0.55))
        for part in range(first, last):
            self._paint_row(painter, ballot, part, zero)
        painter.setPen(QPen(now.q("line2"), 1))
        painter.drawLine(QLineF(zero, HEAD, zero, foot))
        for part in range(first, last):
            self._paint_mark(painter, float(ballot.marks[part]), self.row(part))
        if 0 <= self.part < self.count:
            painter.setPen(QPen(now.q("accent"), 1.6))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(self.row(self.part).adjusted(5, 0.5, -5, -0.5), 3, 3)
        painter.setClipping(False)
        if 0 <= self._under < self.count:
            said = ballot.spoken(self._under).replace(", ", " · ")
            paint_tag(painter, self.row(self._under).adjusted(BARS, 0, -EDGE, 0), said, room=area)
        if self.hasFocus() and self._by_key:
            painter.setPen(QPen(now.q("accent"), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(area.adjusted(1, 1, -1, -1), 4, 4)

    def _paint_head(self, painter: QPainter, ballot: Ballot, area: QRectF, zero: float) -> None:
        words = {"learners": tr("learner"), "slices": tr("slice")}.get(ballot.layout.kind, tr("part"))
        draw_text(painter, QRectF(EDGE, 0, BARS, HEAD), words, "text3", 10)
        draw_text(painter, QRectF(0, 0, zero - 8, HEAD), tr("against ◂"), "bad", 10, align="right")
        draw_text(painter, QRectF(zero + 8, 0, 80, HEAD), tr("▸ for"), "good", 10)
        right = area.right() - EDGE
        draw_text(painter, QRectF(0, 0, right, HEAD), tr("vote"), "text3", 10, align="right")
        end = right - text_width(tr("vote"), 10) - 14
        begin = end - text_width(ballot.mark, 10) - 2
        if ballot.mark and begin - 12 > zero + 16 + text_width(tr("▸ for"), 10):
            draw_text(painter, QRectF(begin, 0, end - begin + 2, HEAD), ballot.mark, "text3", 10)
            painter.setPen(QPen(theme.current().q("text"), 1.6))
            painter.drawLine(QLineF(begin - 5, 4, begin - 5, HEAD - 4))

    def _paint_row(self, painter: QPainter, ballot: Ballot, part: int, zero: float) -> None:
        now, row = theme.current(), self.row(part)
        vote, kept = float(ballot.votes[part]), bool(ballot.kept[part])
        small = 10 if self.line < 16 else 11
        _paint_box(painter, self.box(part), kept)
        ink = "text" if part == self.part else "text2" if kept else "text3"
        at = QRectF(TICKED, row.top(), 22, row.height())
        draw_text(painter, at, str(part + 1), ink, small, bold=part == self.part)
        if part in ballot.against:
            draw_text(painter, QRectF(TICKED + 17, row.top(), 14, row.height()), "≠", "text", small, align="centre")
        high = min(14.0, row.height() - 3)
        bar = QRectF(zero, row.center().y() - high / 2, 0, high)
        words = QRectF(0, row.top(), row.right() - EDGE, row.height())
        if np.isnan(vote):
            bar.setRight(zero + STUB)
            painter.fillRect(bar, QBrush(now.q("text3", 0.45), Qt.BrushStyle.BDiagPattern))
            draw_text(painter, words, tr("n/a"), "text3", 10, align="right")
            return
        bar.setRight(self.spot(vote))
        bar, colour = bar.normalized(), "good" if vote >= 0 else "bad"
        if kept:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(now.q(colour))
            painter.drawRoundedRect(bar, 2, 2)
        else:
            pen = QPen(now.q(colour), 1)
            pen.setDashPattern([3, 2])
            painter.setPen(pen)
            painter.setBrush(QBrush(now.q(colour, 0.45), Qt.BrushStyle.BDiagPattern))
            painter.drawRoundedRect(bar.adjusted(0.5, 0.5, -0.5, -0.5), 2, 2)
        if len(ballot.low):
            _paint_whisker(
                painter, self.spot(float(ballot.low[part])), self.spot(float(ballot.high[part])), row.center().y()
            )
        text = ballot.text(vote) if kept else tr("left out")
        draw_text(painter, words, text, ink if kept else "text3", 10, align="right")

    def _paint_mark(self, painter: QPainter, mark: float, row: QRectF) -> None:
        if np.isfinite(mark):
            now, x = theme.current(), round(self.spot(mark))
            for colour, wide in (("base", 4), ("text", 2)):
                painter.setPen(QPen(now.q(colour), wide, Qt.PenStyle.SolidLine, Qt.PenCapStyle.FlatCap))
                painter.drawLine(QLineF(x, row.top() + 1, x, row.bottom() - 1))

    # Hands

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._go(self.at(event.position()), by_key=False)

    def leaveEvent(self, event: QEvent) -> None:
        self._go(-1, by_key=False)
        super().leaveEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        part = self.at(event.position())
        if event.button() == Qt.MouseButton.LeftButton and part >= 0:
            (self.ticked if event.position().x() < TICKED else self.chosen).emit(part)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self.mousePressEvent(event)  # a box that is clicked twice is ticked twice

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = Qt.Key(event.key())
        if key in MOVES and self.count:
            place = max(self.part, 0) if self._under < 0 else self._under + MOVES[key]
            self._go(min(max(place, 0), self.count - 1), by_key=True)
        elif key == Qt.Key.Key_Space and self._under >= 0:
            self.ticked.emit(self._under)
            self._speak(aloud=True)
        elif key in ENTER and self._under >= 0:
            self.chosen.emit(self._under)
        elif key == Qt.Key.Key_Escape and self._under >= 0:
            self._go(-1, by_key=True)
        else:
            super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        self._by_key = by_keyboard(event)
        super().focusInEvent(event)
        self.viewport().update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self._go(-1, by_key=False)
        self.viewport().update()

    def _go(self, part: int, *, by_key: bool) -> None:
        shape = Qt.CursorShape.PointingHandCursor if part >= 0 else Qt.CursorShape.ArrowCursor
        self.viewport().setCursor(shape)
        if part == self._under:
            return
        self._under = part
        if by_key:
            self._by_key = True
            if part >= 0:
                self._reveal(part)
            self._speak(aloud=True)
        self.viewport().update()

    def _speak(self, *, aloud: bool = False) -> None:
        ballot = self.ballot
        text = ballot.spoken(self._under) if ballot is not None and 0 <= self._under < self.count else ""
        self.setAccessibleDescription(text)
        if aloud and text and QAccessible.isActive():
            QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, text))


def _ends(values: NDArray[np.float64]) -> tuple[float, float]:
    """Round limits around zero and all values: bars keep their scale while votes move a little.

    >>> _ends(np.array([-0.013, 0.044, np.nan]))
    (-0.02, 0.05)
    """
    known = values[np.isfinite(values)]
    low, high = float(known.min(initial=0)), float(known.max(initial=0))
    widest = max(-low, high)
    if widest <= 0:
        return -1.0, 1.0
    step = 10.0 ** floor(log10(widest))
    return round(floor(low / step) * step, 12) + 0.0, round(ceil(high / step) * step, 12)


def _paint_box(painter: QPainter, box: QRectF, on: bool) -> None:
    now = theme.current()
    painter.setPen(QPen(now.q("accent" if on else "line2"), 1))
    painter.setBrush(now.q("accent") if on else Qt.BrushStyle.NoBrush)
    painter.drawRoundedRect(box, 3, 3)
    if on:
        icons.paint(painter, box.adjusted(1, 1, -1, -1), "check", "onaccent", width=2.4)


def _paint_whisker(painter: QPainter, left: float, right: float, y: float) -> None:
    for colour, wide in (("base", 3.0), ("text2", 1.2)):
        painter.setPen(QPen(theme.current().q(colour), wide))
        painter.drawLine(QLineF(left, y, right, y))
        for x in (left, right):
            painter.drawLine(QLineF(x, y - 2.5, x, y + 2.5))
