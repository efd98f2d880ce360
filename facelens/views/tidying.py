"""Garbage is collected on the thread of the window alone, and what Python holds of layouts is let go.

Python looks for cycles on whatever thread happens to allocate next. Widgets and items of charts lie in cycles, and one
that a decoding thread destroys while the window paints takes the program with it.

PySide makes an object for every place in a layout that is added to another layout, and does not hear when Qt deletes
that place. Whatever comes to lie there next is known under two names, and when that is deleted by Qt, as the rows of a
list are, PySide (6.11) looks at it once more after it has let it go, and the program ends.
"""

from __future__ import annotations

import gc

from PySide6.QtCore import QObject, QTimer
from PySide6.QtWidgets import QSpacerItem, QWidgetItem
from shiboken6 import Shiboken

PAUSE = 500  # ms


def forget_items() -> int:
    """Let go of the places in layouts that Qt has made; how many there were."""
    kinds = (QWidgetItem, QSpacerItem)
    places = [
        one for one in Shiboken.getAllValidWrappers() if type(one) in kinds and not Shiboken.createdByPython(one)
    ]
    for one in places:
        Shiboken.invalidate(one)
    return len(places)


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
        forget_items()
        due = [i for i, (count, most) in enumerate(zip(gc.get_count(), self._thresholds)) if count > most]
        if not due:
            return None
        gc.collect(due[-1])
        return due[-1]
