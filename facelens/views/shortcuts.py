"""Shortcuts: keys are those the user has chosen, in tooltips that name one and in views that listen for one."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QKeyCombination, QObject, Qt, Signal
from PySide6.QtGui import QKeyEvent, QKeySequence
from PySide6.QtWidgets import QWidget
from shiboken6 import isValid

from facelens.session import keys
from facelens.views.controls import plain_tip


class _Shortcuts(QObject):
    changed = Signal()


shortcuts = _Shortcuts()


class _Tip(QObject):
    """Lives and ends with its widget, so that nothing is told to one that is gone."""

    def __init__(self, widget: QWidget, words: Callable[[], str]) -> None:
        super().__init__(widget)
        self._widget, self._words = widget, words
        self.show()
        shortcuts.changed.connect(self.show)

    def show(self) -> None:
        if isValid(self._widget):
            self._widget.setToolTip(plain_tip(self._words()))


def tipped(widget: QWidget, words: Callable[[], str]) -> None:
    """A tooltip that names keys: it is asked for again when one of them is changed."""
    _Tip(widget, words)


def keyed(widget: QWidget, id: str, text: str) -> None:
    """A tooltip with the key of a command behind it."""
    tipped(widget, lambda: text + keys.hint(id))


def enters(event: QKeyEvent) -> bool:
    """Whether it is Return or Enter, with nothing held."""
    held = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
    return event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and not held


def pressed(event: QKeyEvent, id: str) -> bool:
    """Whether a key is one of a command's: a view that does by itself what the command does listens for this."""
    held = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
    said = QKeySequence(QKeyCombination(held, Qt.Key(event.key()))).toString()
    return bool(said) and keys.alike(said) in {keys.alike(key) for key in keys.keys_of(id)}
