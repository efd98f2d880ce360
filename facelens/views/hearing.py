"""What a painted view hears besides mouse, keys and paint: its own keys, where words are asked for, that it is left.

Not by an `event` of its own that calls Qt's. All that the view does would then be Python under Qt under Python, and
there PySide (6.11, on Python 3.11) ends the program when something fails that would else be told in a notice.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, QPointF
from PySide6.QtGui import QHelpEvent, QKeyEvent
from PySide6.QtWidgets import QToolTip, QWidget


class _Ear(QObject):
    """Hears one kind of event before its widget does; the methods that answer are not kept alive."""

    def __init__(self, widget: QWidget, kind: QEvent.Type, answer: Callable[..., object]) -> None:
        super().__init__(widget)
        self._kind, self._answer = kind, weakref.WeakMethod(answer)
        widget.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() != self._kind or (answer := self._answer()) is None:
            return False
        return self.hear(answer, watched, event)

    def hear(self, answer: Callable[..., object], watched: QObject, event: QEvent) -> bool:
        """Whether nobody else is to hear it."""
        answer()
        return False


class _Keys(_Ear):
    def hear(self, answer: Callable[..., object], watched: QObject, event: QEvent) -> bool:
        if not isinstance(event, QKeyEvent) or not answer(event):
            return False
        event.accept()
        return True


class _Words(_Ear):
    def hear(self, answer: Callable[..., object], watched: QObject, event: QEvent) -> bool:
        from facelens.views.controls import plain_tip  # where chips hear, too

        if isinstance(event, QHelpEvent) and isinstance(watched, QWidget):
            QToolTip.showText(event.globalPos(), plain_tip(str(answer(QPointF(event.pos())))), watched)
        return True


def keep_keys(widget: QWidget, wants: Callable[[QKeyEvent], bool]) -> None:
    """Keys that `wants` says yes to are the widget's while it has the keyboard, whatever they do in the window."""
    _Keys(widget, QEvent.Type.ShortcutOverride, wants)


def tell(widget: QWidget, words: Callable[[QPointF], str]) -> None:
    """`words` says what a tooltip tells of a place; "" for nothing."""
    _Words(widget, QEvent.Type.ToolTip, words)


def when_left(widget: QWidget, call: Callable[[], object]) -> None:
    """Call it when the pointer leaves."""
    _Ear(widget, QEvent.Type.Leave, call)
