"""Painted faces in rows of one height, under headings that stay; what does not fit is scrolled."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QFocusEvent, QKeyEvent, QResizeEvent, QWheelEvent
from PySide6.QtWidgets import QScrollBar, QWidget

from facelens.views.grid import SCROLL_BAR
from facelens.views.hearing import keep_keys
from facelens.views.painted import PaintedFaces
from facelens.views.panel import Desk
from facelens.views.shortcuts import pressed

KEYS = Qt.Key
MOVES = (KEYS.Key_Up, KEYS.Key_Down, KEYS.Key_PageUp, KEYS.Key_PageDown, KEYS.Key_Home, KEYS.Key_End)
ENTER = (KEYS.Key_Return, KEYS.Key_Enter)


class PaintedRows(PaintedFaces):
    """Subclasses say how many rows there are (`count`), and paint them."""

    head, foot = 24, 0  # px over the rows and under them
    keys: tuple[Qt.Key, ...] = ()  # letters that mean something here, whatever they do in the window
    commands: tuple[str, ...] = ()  # commands of the window that are done here, on the row of the keyboard

    def __init__(self, desk: Desk, parent: QWidget | None = None) -> None:
        super().__init__(desk, parent)
        keep_keys(self, self._listens)
        self.by_key = False  # whether the ring around the keyboard's place is shown
        self.bar = QScrollBar(Qt.Orientation.Vertical, self)
        self.bar.valueChanged.connect(self._on_scrolled)

    @property
    def count(self) -> int:
        """How many rows there are."""
        raise NotImplementedError

    @property
    def pitch(self) -> float:
        """From one row to the next."""
        raise NotImplementedError

    # Where rows are

    @property
    def body(self) -> QRectF:
        """Where rows are seen."""
        return QRectF(0, self.head, self.width() - SCROLL_BAR, max(0, self.height() - self.head - self.foot))

    def top(self, place: float) -> float:
        """The upper edge of a row on the screen."""
        return self.head + place * self.pitch - self.bar.value()

    def seen(self) -> range:
        """Rows of which something is seen."""
        first = int(self.bar.value() / self.pitch)
        last = -int(-(self.bar.value() + self.body.height()) // self.pitch)
        return range(first, min(last, self.count))

    def in_sight(self, place: int) -> bool:
        """Whether the middle of a row is seen."""
        return self.head <= self.top(place + 0.5) <= self.body.bottom() + 1

    def place_at(self, y: float) -> int | None:
        """The row at a height."""
        place = int((y - self.head + self.bar.value()) // self.pitch)
        return place if y >= self.head and 0 <= place < self.count else None

    def bring(self, place: int) -> None:
        """Scroll as little as shows a row whole."""
        top, room = place * self.pitch, self.body.height()
        self.bar.setValue(round(min(max(self.bar.value(), top + self.pitch - room), top)))

    def roll(self) -> None:
        """The bar has as far to go as there are rows out of sight."""
        room = self.body.height()
        self.bar.setGeometry(self.width() - SCROLL_BAR, self.head, SCROLL_BAR, self.height() - self.head)
        self.bar.setSingleStep(max(1, round(self.pitch)))
        self.bar.setPageStep(max(1, int(room)))
        self.bar.setRange(0, max(0, round(self.count * self.pitch - room)))
        self.bar.setVisible(self.bar.maximum() > 0)

    def resizeEvent(self, event: QResizeEvent) -> None:
        self.set_under(None)
        self.roll()

    def wheelEvent(self, event: QWheelEvent) -> None:
        self.bar.wheelEvent(event)
        event.setAccepted(self.bar.maximum() > 0)

    def _on_scrolled(self) -> None:
        self.set_under(None)
        self.update()

    # Keyboard

    def target(self, key: Qt.Key, place: int | None) -> int | None:
        """The row a key leads to from another; None for keys that do not move."""
        if key not in MOVES or not self.count:
            return None
        last, page = self.count - 1, max(1, int(self.body.height() // self.pitch))
        steps = dict(zip(MOVES, (-1, 1, -page, page, -last, last)))
        return 0 if place is None else min(max(place + steps[key], 0), last)

    def _listens(self, event: QKeyEvent) -> bool:
        own = event.key() in self.keys and not event.modifiers()
        return own or any(pressed(event, id) for id in self.commands)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.by_key = event.reason() in (Qt.FocusReason.TabFocusReason, Qt.FocusReason.BacktabFocusReason)
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.by_key = False
        self.update()
