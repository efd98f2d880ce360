"""Scatter: the score that refuses faces against another one, a dot for each face; whether both tell the same story.

A click looks at a face, a drag over the ground selects those inside (Shift adds, Alt takes away, both intersect), a
drag of the line refuses more or fewer; the rest is as in every cloud. Keys: up and down move the line (Shift: ten
steps), left and right walk from face to face, Enter selects.
"""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QEvent, QPointF, Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QWidget

from facelens.views.scatter_ground import ScatterGround
from facelens.views.thumbnails import Thumbnails

GRAB, CLOSE = 9, 3  # px from the line, and where a dot is in the way
STEPS = 200  # of the line over the whole range


class ScoreScatter(ScatterGround):
    """See the module's words. Nothing is emitted by `show_scores` and `set_*`."""

    limit_moved = Signal(float)  # while the line is dragged or typed
    limit_settled = Signal(float)  # it was let go

    def __init__(self, thumbnails: Thumbnails, parent: QWidget | None = None) -> None:
        super().__init__(thumbnails, parent)
        self._from = 0.0  # px from the pointer to the line
        self._unsettled = False  # the line has moved and `limit_settled` was not told yet

    # Pointer

    def mousePressEvent(self, event: QMouseEvent) -> None:
        super().mousePressEvent(event)
        at = event.position()
        if event.button() == Qt.MouseButton.LeftButton and not self._drag and self._grabs(at):
            self._drag, self._from = "line", (self._line_py() or at.y()) - at.y()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        at = event.position()
        if self._drag == "line" and self._press is not None:
            if self._unsettled or abs(at.y() - self._press.y()) > 1:
                self._move_line(self._value_at(at.y() + self._from))
        else:
            super().mouseMoveEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        held = self._drag == "line"
        super().mouseReleaseEvent(event)
        if held and self._press is None:
            self._settle()

    def leaveEvent(self, event: QEvent) -> None:
        self._over_line = False
        super().leaveEvent(event)

    def _grabs(self, at: QPointF) -> bool:
        """Whether the pointer is on the line; a dot under it goes before a line that is only near."""
        y, box = self._line_py(), self._box()
        if y is None or not box.left() - 12 <= at.x() <= box.right() + 6:
            return False
        return abs(at.y() - y) <= (GRAB if self._under(at) is None or at.x() < box.left() + 12 else CLOSE)

    def _point_at(self, at: QPointF) -> None:
        over = self._grabs(at)
        if over != self._over_line:
            self._over_line = over
            self.update()
        if over:
            self._cursor(Qt.CursorShape.SplitVCursor)
            self._hover_over(None)
        else:
            super()._point_at(at)

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
        else:
            super().keyPressEvent(event)
            return
        self._by_key = True
        self.update()

    def keyReleaseEvent(self, event: QKeyEvent) -> None:
        if not event.isAutoRepeat() and event.key() in (Qt.Key.Key_Up, Qt.Key.Key_Down):
            self._settle()
        super().keyReleaseEvent(event)

    def _walk(self, steps: int) -> None:
        """To the next face in the order of the x score."""
        start = self._hover if self._hover is not None else self._current()
        at = np.flatnonzero(self._drawn == (-1 if start is None else start))
        here = int(at[0]) + steps if len(at) else len(self._drawn) // 2
        self._walk_to(int(self._drawn[min(max(here, 0), len(self._drawn) - 1)]))

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self._settle()
        super().focusOutEvent(event)
