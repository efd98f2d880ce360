"""Garbage is collected on the thread of the window alone.

Python looks for cycles on whatever thread happens to allocate next. Widgets and items of charts lie in cycles, and one
that a decoding thread destroys while the window paints takes the program with it.
"""

from __future__ import annotations

import gc

from PySide6.QtCore import QObject, QTimer

PAUSE = 500  # ms


class Tidying(QObject):
    """While it lives, the collector runs from a timer of this thread, as often as Python itself would have run it."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._thresholds = gc.get_threshold()
        gc.disable()
        self.destroyed.connect(gc.enable)
        self._timer = QTimer(self)
        self._timer.timeout.connect(self.look)
        self._timer.start(PAUSE)

    def look(self) -> int | None:
        """Collect the oldest generation that is due; which one, None for none."""
        due = [i for i, (count, most) in enumerate(zip(gc.get_count(), self._thresholds)) if count > most]
        if not due:
            return None
        gc.collect(due[-1])
        return due[-1]
