"""Painted views with some spots that can be pointed at and chosen: card, keyboard, words for screen readers.

A click or Enter chooses a spot; arrows move to the next one that way, Home and End to the first and the last, Esc lets
go. Where a subclass keeps a spot, its card stays until Esc, another click, or until the keyboard goes elsewhere.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

from PySide6.QtCore import QEvent, QPointF, QRectF, Qt, QTimer, Signal
from PySide6.QtGui import (
    QAccessible,
    QAccessibleAnnouncementEvent,
    QColor,
    QFocusEvent,
    QHideEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QPolygonF,
    QResizeEvent,
)
from PySide6.QtWidgets import QSizePolicy, QWidget

from facelens.analyses.measure import Measure
from facelens.views import theme
from facelens.views.cell_grid import ENTER, note
from facelens.views.controls import by_keyboard
from facelens.views.hover import DELAY, WordCard
from facelens.words import tr

WAYS = {Qt.Key.Key_Left: (-1, 0), Qt.Key.Key_Right: (1, 0), Qt.Key.Key_Up: (0, -1), Qt.Key.Key_Down: (0, 1)}


class Spots(QWidget):
    """Subclasses say where spots are (`spots`), what is told of one (`told`) and of all (`spoken`), and `paint`."""

    chosen = Signal(object)  # key of a spot
    walked = Signal(object)  # key of the spot the keyboard is at

    def __init__(self, name: str) -> None:
        super().__init__()
        self.note = ""  # why there are no spots
        self._under: Hashable | None = None  # where the pointer or the keyboard is
        self._kept: Hashable | None = None
        self._by_key = False
        self._card = WordCard(self)
        self._timer = QTimer(self)
        self._timer.setInterval(DELAY)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._show_card)
        self.setAccessibleName(name)
        self.setWhatsThis(tr("The pointer makes a mark say more. Arrows walk the marks, Enter or a click chooses one."))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)

    def spots(self) -> Mapping[Hashable, QRectF]:
        """All that can be pointed at, in reading order."""
        raise NotImplementedError

    def told(self, key: Hashable) -> Sequence[str]:
        """The lines of a spot's card, the first is its title."""
        raise NotImplementedError

    def spoken(self) -> str:
        """The whole in words."""
        raise NotImplementedError

    def paint(self, painter: QPainter) -> None:
        """Everything but the card and the ring of the keyboard."""
        raise NotImplementedError

    def choosable(self, key: Hashable) -> bool:
        """Whether a click does something."""
        return True

    @property
    def under(self) -> Hashable | None:
        """The spot under the pointer or the keyboard."""
        return self._under

    def renew(self) -> None:
        """Other values are shown: what is gone is let go."""
        there = self.spots()
        self._kept = self._kept if self._kept in there else None
        if self._under not in there:
            self._under = None
        self._show_card() if self._card.isVisible() else self._card.hide()
        self._speak()
        self.update()

    def keep(self, key: Hashable | None) -> None:
        """Let the card of a spot stay, or of none."""
        self._kept = key
        self._show_card()
        self.update()

    # Painting

    def paintEvent(self, event: QPaintEvent) -> None:
        now, painter = theme.current(), QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.fillRect(self.rect(), now.q("base"))
        if self.note:
            note(painter, QRectF(self.rect()), self.note)
        else:
            self.paint(painter)
        if self.hasFocus() and self._by_key:
            at = self.spots().get(self._under) if self._under is not None else None
            box = QRectF(self.rect()).adjusted(1, 1, -1, -1) if at is None else at.adjusted(-2, -2, 2, 2)
            painter.setPen(QPen(now.q("accent"), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(box, 4, 4)

    # Hands

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._go(self._at(event.position()), by_key=False)

    def leaveEvent(self, event: QEvent) -> None:
        self._go(None, by_key=False)
        super().leaveEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() != Qt.MouseButton.LeftButton:
            return
        found = self._at(event.position())
        self.keep(None)
        if found is not None and self.choosable(found):
            self.chosen.emit(found)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, there = Qt.Key(event.key()), self.spots()
        way, ends = WAYS.get(key), (Qt.Key.Key_Home, Qt.Key.Key_End)
        if there and (way is not None or key in ends):
            keys = list(there)
            if key in ends:
                place = keys[0 if key == ends[0] else -1]
            elif way is None or self._under is None:
                place = keys[0]
            else:
                place = self._next(there, self._under, way)
            self._go(place, by_key=True)
        elif key in ENTER and self._under is not None:
            if self.choosable(self._under):
                self.chosen.emit(self._under)
        elif key == Qt.Key.Key_Escape and (self._kept is not None or self._under is not None):
            self._kept = None
            self._go(None, by_key=True)
            self._card.hide()
        else:
            super().keyPressEvent(event)

    def _next(self, there: Mapping[Hashable, QRectF], key: Hashable, way: tuple[int, int]) -> Hashable:
        """The nearest spot one way, or the same where there is none."""
        here = there[key].center()

        def cost(other: Hashable) -> float:
            off = there[other].center() - here
            along, across = off.x() * way[0] + off.y() * way[1], off.x() * way[1] + off.y() * way[0]
            return along + 3 * abs(across) if along > 2 else float("inf")

        best = min(there, key=cost)
        return best if cost(best) < float("inf") else key

    def _at(self, point: QPointF) -> Hashable | None:
        return next((key for key, box in self.spots().items() if box.contains(point)), None)

    def _go(self, place: Hashable | None, *, by_key: bool) -> None:
        can = place is not None and self.choosable(place)
        self.setCursor(Qt.CursorShape.PointingHandCursor if can else Qt.CursorShape.ArrowCursor)
        if by_key:
            self._by_key = True
        if place == self._under:
            return
        self._under = place
        self._timer.stop()
        if by_key:
            self._speak(aloud=True)
            self.walked.emit(place)
            self._show_card()
        else:
            self._card.hide()
            self._timer.start()
        self.update()

    def _show_card(self) -> None:
        there = self.spots()
        key = self._under if self._under is not None else self._kept
        box = there.get(key) if key is not None else None
        if box is None or not self.isVisible():
            self._card.hide()
            return
        self._card.tell(self.told(key))
        self._card.place(box.toAlignedRect(), away=6)

    def focusInEvent(self, event: QFocusEvent) -> None:
        self._by_key = by_keyboard(event)
        super().focusInEvent(event)
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self._kept = None
        self._go(None, by_key=False)
        self.update()

    def hideEvent(self, event: QHideEvent) -> None:
        self._timer.stop()
        self._card.hide()
        super().hideEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._card.hide()

    def _speak(self, *, aloud: bool = False) -> None:
        said = ". ".join(self.told(self._under)) if self._under is not None else self.note or self.spoken()
        self.setAccessibleDescription(said)
        if aloud and QAccessible.isActive():
            QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, said))


class Rail(NamedTuple):
    """Values from left to right; those that lie farther off are arrows at its ends."""

    left: float
    right: float
    low: float
    high: float

    def x(self, value: float) -> float:
        """The place of a value; of one that is off the rail its end."""
        share = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return self.left + share * (self.right - self.left)

    def holds(self, value: float) -> bool:
        """Whether a value is on the rail."""
        return self.low <= value <= self.high

    def whisker(self, painter: QPainter, measure: Measure, y: float, ink: QColor, *, cap: float = 4.0) -> None:
        """The interval of a measure."""
        if measure.low is None or measure.high is None:
            return
        painter.setPen(QPen(ink, 1.6))
        painter.drawLine(QPointF(self.x(measure.low), y), QPointF(self.x(measure.high), y))
        for end in (measure.low, measure.high):
            x = self.x(end)
            if self.holds(end):
                painter.drawLine(QPointF(x, y - cap), QPointF(x, y + cap))
            else:
                self.arrow(painter, end, y, ink)

    def arrow(self, painter: QPainter, value: float, y: float, ink: QColor, *, size: float = 4.0) -> None:
        """Where a value that is off the rail goes on."""
        tip, back = QPointF(self.x(value), y), size * (1.6 if value < self.low else -1.6)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(ink)
        painter.drawPolygon(QPolygonF([tip, tip + QPointF(back, -size), tip + QPointF(back, size)]))
        painter.setPen(QPen(ink, 1.6))
