"""The space bar over a picture: held, it makes the left button pan; let go without that, it does what Enter does."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent, QMouseEvent


class SpaceBar:
    """Told of the keys and presses of its view."""

    def __init__(self) -> None:
        self._down = self._pans = False

    def pressed(self, event: QKeyEvent) -> bool:
        """Whether the key is the space bar."""
        if event.key() != Qt.Key.Key_Space:
            return False
        if not event.isAutoRepeat():
            self._down, self._pans = True, False
        return True

    def clicked(self, event: QKeyEvent) -> bool:
        """Whether it was let go and has moved nothing."""
        if event.key() != Qt.Key.Key_Space or event.isAutoRepeat():
            return False
        alone = self._down and not self._pans
        self._down = False
        return alone

    def pans(self, event: QMouseEvent) -> bool:
        """Whether a press begins to pan: of the middle button, or of the left one over the space bar."""
        by_space = event.button() == Qt.MouseButton.LeftButton and self._down
        self._pans |= by_space
        return by_space or event.button() == Qt.MouseButton.MiddleButton

    def leave(self) -> None:
        """The keyboard is elsewhere, where nobody says that the space bar was let go."""
        self._down = False
