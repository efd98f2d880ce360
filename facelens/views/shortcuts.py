"""Shortcuts: a tooltip that names a key names the one the user has chosen, also when it changes."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget
from shiboken6 import isValid

from facelens.session import keys
from facelens.views.controls import plain_tip


class _Shortcuts(QObject):
    changed = Signal()


shortcuts = _Shortcuts()


class _Tip(QObject):
    """Lives and ends with its widget, so that nothing is told to one that is gone."""

    def __init__(self, widget: QWidget, id: str, text: str) -> None:
        super().__init__(widget)
        self._widget, self._id, self._text = widget, id, text
        self.show()
        shortcuts.changed.connect(self.show)

    def show(self) -> None:
        if isValid(self._widget):
            self._widget.setToolTip(plain_tip(self._text + keys.hint(self._id)))


def keyed(widget: QWidget, id: str, text: str) -> None:
    """A tooltip with the key of a command behind it."""
    _Tip(widget, id, text)
