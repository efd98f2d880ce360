"""Scatter: the score that refuses faces against another one, a dot for each face; whether both tell the same story.

A click looks at a face, a drag over the ground selects those inside (Shift adds, Alt takes away, both intersect), a
drag of the line refuses more or fewer. The wheel zooms at the pointer, middle drag pans, F and double-click show
everything. Keys: up and down move the line (Shift: ten steps), left and right walk from face to face, Enter selects.
"""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QEvent, QPointF, QRect, QRectF, Qt, QTimer, Signal
from PySide6.QtGui import QFocusEvent, QHideEvent, QKeyEvent, QMouseEvent, QWheelEvent
from PySide6.QtWidgets import QWidget

from facelens.session.selection import Mode
from facelens.views.grid import band_mode
from facelens.views.hover import DELAY, FACE, HoverCard
from facelens.views.scatter_ground import ScatterGround, View
from facelens.views.thumbnails import Thumbnails

GRAB, CLOSE = 9, 3  # px from the line, and where a dot is in the way
STILL = 4  # px a click may move
STEPS = 200  # of the line over the whole range


class ScoreScatter(ScatterGround):
    """See the module's words. Nothing is emitted by `show_scores` and `set_*`."""

    limit_moved = Signal(float)  # while the line is dragged or typed
    limit_settled = Signal(float)  # it was let go
    select = Signal(object, object)  # ids, Mode
    look = Signal(object)  # id of the face that became current

    def __init__(self, thumbnails: Thumbnails, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._thumbnails = thumbnails
        self._held = Qt.KeyboardModifier.NoModifier
        self._from = 0.0  # px from the pointer to the line
        self._unsettled = False  # the line has moved and `limit_settled` was not told yet
        self._card = HoverCard(self)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(DELAY)
        self._timer.timeout.connect(self._show_card)
        thumbnails.ready.connect(self._on_ready)

    # Pointer

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._by_key = False
        self.setFocus(Qt.FocusReason.MouseFocusReason)
        self._hide_card()
        at = event.position()
        if event.button() == Qt.MouseButton.MiddleButton:
            self._press, self._drag = at, "pan"
            self.setCursor(Qt.CursorShape.ClosedHandCursor)
        elif event.button() == Qt.MouseButton.LeftButton:
            self._press, self._held, self._at = at, event.modifiers(), at
            self._drag = "line" if self._grabs(at) else ""
            self._from = (self._line_py() or at.y()) - at.y()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        at = event.position()
        if self._press is None:
            self._point_at(at)
        elif self._drag == "pan":
            self._pan(at - self._press)
            self._press = at
        elif self._drag == "line":
            if self._unsettled or abs(at.y() - self._press.y()) > 1:
                self._move_line(self._value_at(at.y() + self._from))
        else:
            self._at = at
            if (at - self._press).manhattanLength() > STILL and len(self._drawn):
                self._drag = "band"
            self.update()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if self._press is None or event.button() not in (Qt.MouseButton.LeftButton, Qt.MouseButton.MiddleButton):
            return
        at, drag = event.position(), self._drag
        band = self._band() if drag == "band" else QRectF()
        press, self._press, self._drag = self._press, None, ""
        if drag == "line":
            self._settle()
        elif drag == "band":
            self.select.emit(self._inside(band), band_mode(self._held))
        elif not drag and (at - press).manhattanLength() <= STILL:
            self._click(self._under(at))
        self._point_at(at)
        self.update()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton and self._under(event.position()) is None:
            self.fit()

    def wheelEvent(self, event: QWheelEvent) -> None:
        box, at, turn = self._box(), event.position(), event.angleDelta().y()
        if not turn or not box.contains(at):
            event.ignore()
            return
        factor, view, whole = 0.85 ** (turn / 120), self._view, self._whole
        x = view.left + (at.x() - box.left()) / box.width() * (view.right - view.left)
        y = self._value_at(at.y())
        span = max(factor, 1e-4 * (whole.right - whole.left) / (view.right - view.left))
        new = View(
            *_within(x - (x - view.left) * span, x + (view.right - x) * span, whole.left, whole.right),
            *_within(y - (y - view.low) * span, y + (view.high - y) * span, whole.low, whole.high),
        )
        if new == view:
            event.ignore()  # nothing outside: the page goes on scrolling
            return
        self._hide_card()
        self._look_at(new)
        event.accept()

    def leaveEvent(self, event: QEvent) -> None:
        self._hover, self._over_line = None, False
        self._hide_card()
        self.update()

    def hideEvent(self, event: QHideEvent) -> None:
        self._hide_card()
        super().hideEvent(event)

    def _grabs(self, at: QPointF) -> bool:
        """Whether the pointer is on the line; a dot under it goes before a line that is only near."""
        y, box = self._line_py(), self._box()
        if y is None or not box.left() - 12 <= at.x() <= box.right() + 6:
            return False
        return abs(at.y() - y) <= (GRAB if self._under(at) is None or at.x() < box.left() + 12 else CLOSE)

    def _point_at(self, at: QPointF) -> None:
        over = self._grabs(at)
        place = None if over else self._under(at)
        shape = Qt.CursorShape.SplitVCursor if over else Qt.CursorShape.ArrowCursor
        if place is not None:
            shape = Qt.CursorShape.PointingHandCursor
        if self.cursor().shape() != shape:
            self.setCursor(shape)
        if (over, place) != (self._over_line, self._hover):
            if place != self._hover:
                self._hide_card()
                if place is not None:
                    self._timer.start()
            self._over_line, self._hover = over, place
            self.update()

    def _pan(self, by: QPointF) -> None:
        box, view, whole = self._box(), self._view, self._whole
        x = -by.x() * (view.right - view.left) / box.width()
        y = by.y() * (view.high - view.low) / box.height()
        self._look_at(
            View(
                *_within(view.left + x, view.right + x, whole.left, whole.right),
                *_within(view.low + y, view.high + y, whole.low, whole.high),
            )
        )

    def _click(self, place: int | None) -> None:
        if place is None:
            if self._held == Qt.KeyboardModifier.NoModifier:
                self.select.emit(np.zeros(0, np.int64), Mode.REPLACE)
            return
        self.select.emit(self._ids[place : place + 1], band_mode(self._held))
        self.look.emit(int(self._ids[place]))

    def _move_line(self, value: float) -> None:
        value = min(max(value, self._view.low), self._view.high)
        if value != self._limit:
            self._unsettled = True
            self.set_limit(value)
            self.limit_moved.emit(value)

    def _settle(self) -> None:
        if self._unsettled:
            self._unsettled = False
            self.limit_settled.emit(self._limit)

    # The card

    def _show_card(self) -> None:
        place, faces = self._hover, self._faces
        if place is None or faces is None:
            return
        spot, row = self._spot(place), faces.row_of(int(self._ids[place]))
        if spot is None or row is None:
            self._hide_card()
            return
        pixmap = self._thumbnails.get(faces, row, round(FACE * self.devicePixelRatioF()))
        broken = self._thumbnails.broken(int(self._ids[place])) if pixmap is None else None
        lines = [broken] if broken else self._words(place)
        self._card.tell(pixmap, faces.label(row), file=faces.file_name(row), lines=lines, broken=broken is not None)
        self._card.place(QRect(round(spot.x()) - 8, round(spot.y()) - 8, 16, 16))

    def _hide_card(self) -> None:
        self._timer.stop()
        self._card.hide()

    def _on_ready(self, ids: object) -> None:
        if self._card.isVisible():
            self._show_card()

    # Keys

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = Qt.Key(event.key())
        times = 10 if event.modifiers() & Qt.KeyboardModifier.ShiftModifier else 1
        rise = {Qt.Key.Key_Up: 1, Qt.Key.Key_Down: -1}.get(key, 0)
        walk = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}.get(key, 0)
        if rise and len(self._sorted):
            step = (self._whole.high - self._whole.low) / STEPS
            self._move_line(min(self._limit, self._whole.high) + rise * times * step)
        elif walk and len(self._drawn):
            self._walk(walk * times)
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space) and self._hover is not None:
            self._held = event.modifiers()
            self._click(self._hover)
        elif key == Qt.Key.Key_F and not event.modifiers():
            self.fit()
        elif key == Qt.Key.Key_Escape and self._drag == "band":
            self._press, self._drag = None, ""
        else:
            event.ignore()
            return
        self._by_key = True
        self.update()

    def keyReleaseEvent(self, event: QKeyEvent) -> None:
        if not event.isAutoRepeat() and event.key() in (Qt.Key.Key_Up, Qt.Key.Key_Down):
            self._settle()

    def _walk(self, steps: int) -> None:
        """To the next face in the order of the x score."""
        start = self._hover if self._hover is not None else self._current()
        at = np.flatnonzero(self._drawn == (-1 if start is None else start))
        here = int(at[0]) + steps if len(at) else len(self._drawn) // 2
        self._hover = int(self._drawn[min(max(here, 0), len(self._drawn) - 1)])
        self._show_card()
        self._tell()

    def focusInEvent(self, event: QFocusEvent) -> None:
        self._by_key = event.reason() in (
            Qt.FocusReason.TabFocusReason, Qt.FocusReason.BacktabFocusReason, Qt.FocusReason.ShortcutFocusReason,
        )  # fmt: skip
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self._settle()
        self._hide_card()
        self.update()


def _within(low: float, high: float, least: float, most: float) -> tuple[float, float]:
    """A range moved and cut so that it lies in another."""
    width = min(high - low, most - least)
    start = min(max(low, least), most - width)
    return start, start + width
