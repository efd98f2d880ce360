"""From other threads to the main one: the only way in is a queued signal."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

from PySide6.QtCore import QObject, Qt, QThread, Signal


class _Voice(QObject):
    """What threads speak through. There is one, and it never ends: of a window that Qt deletes meanwhile, or whose last
    word is let go of in the wrong thread, a thread may not hold anything."""

    said = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self.said.connect(self._on_said, Qt.ConnectionType.QueuedConnection)

    def _on_said(self, function: Callable[[], object]) -> None:
        assert QThread.currentThread() is self.thread()
        function()


@cache
def _voice() -> _Voice:
    return _Voice()


class Bridge:
    """Runs functions on the thread that made it (the main one), in the order they were posted."""

    def __init__(self) -> None:
        self._open = True
        self._say = _voice().said.emit

    def post(self, function: Callable[[], object]) -> None:
        """May be called from any thread; after `close` functions are dropped."""
        if self._open:
            self._say(partial(self._run, function))

    def close(self) -> None:
        """Drop what has not run yet."""
        self._open = False

    def _run(self, function: Callable[[], object]) -> None:
        if self._open:
            function()
