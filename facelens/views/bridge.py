"""From other threads to the main one: the only way in is a queued signal."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, Qt, QThread, Signal


class Bridge(QObject):
    """Runs functions on the thread it lives on (the main one), in the order they were posted."""

    _posted = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._open = True
        self._posted.connect(self._on_posted, Qt.ConnectionType.QueuedConnection)

    def post(self, function: Callable[[], object]) -> None:
        """May be called from any thread; after `close` functions are dropped."""
        if self._open:
            self._posted.emit(function)

    def close(self) -> None:
        """Drop what has not run yet."""
        self._open = False

    def _on_posted(self, function: Callable[[], object]) -> None:
        assert QThread.currentThread() is self.thread()
        if self._open:
            function()
