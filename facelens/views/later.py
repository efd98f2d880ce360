"""Work that would keep the window waiting, done in a thread of its own; of what waits, only the newest counts."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress

from PySide6.QtCore import QObject, Signal


class Later(QObject):
    """`done` tells results in the thread of the window."""

    done = Signal(object)

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._lock = threading.Lock()
        self._waiting: Callable[[], object] | None = None
        self._busy = False

    def ask(self, work: Callable[[], object]) -> None:
        """Do this next."""
        with self._lock:
            self._waiting = work
            if not self._busy:
                self._busy = True
                threading.Thread(target=self._run, name="later", daemon=True).start()

    def _run(self) -> None:
        while True:
            with self._lock:
                work, self._waiting = self._waiting, None
                if work is None:
                    self._busy = False
                    return
            try:
                result = work()
            except BaseException:
                with self._lock:
                    self._busy = False
                raise
            with suppress(RuntimeError):  # the window was closed meanwhile
                self.done.emit(result)
