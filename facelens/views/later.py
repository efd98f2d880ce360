"""Work that would keep the window waiting, done in a thread of its own; of what waits, only the newest counts."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from PySide6.QtCore import QObject, Signal
from shiboken6 import isValid

from facelens.views.bridge import Bridge

T = TypeVar("T")
under_way: set[object] = set()  # what `aside` has still to tell


class Later(QObject):
    """`done` tells results in the thread of the window."""

    done = Signal(object)

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._errand = _Errand(partial(_tell, weakref.ref(self)))

    def ask(self, work: Callable[[], object]) -> None:
        """Do this next."""
        self._errand.ask(work)


def aside(owner: QObject, work: Callable[[], T], then: Callable[[T], object]) -> None:
    """Do `work` in a thread of its own; `then` is told what came of it, as long as Qt has not deleted `owner`."""
    there, post, errand = weakref.ref(owner), Bridge().post, object()
    under_way.add(errand)

    def told(result: T) -> None:
        under_way.discard(errand)
        if (one := there()) is not None and isValid(one):
            then(result)

    threading.Thread(target=lambda: post(partial(told, work())), name="aside", daemon=True).start()


def _tell(asker: weakref.ref[Later], result: object) -> None:
    later = asker()
    if later is not None and isValid(later):
        later.done.emit(result)


class _Errand:
    """What the thread has in hand: nothing of Qt's that could end before it, or with it in the wrong thread."""

    def __init__(self, tell: Callable[[object], None]) -> None:
        self._lock = threading.Lock()
        self._waiting: Callable[[], object] | None = None
        self._busy = False
        self._tell = tell
        self._post = Bridge().post

    def ask(self, work: Callable[[], object]) -> None:
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
            self._post(partial(self._tell, result))
