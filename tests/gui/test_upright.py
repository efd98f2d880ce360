"""What fails in an override that was called under another call from Python is told, and the program goes on."""

from __future__ import annotations

import subprocess
import sys

import pytest
from PySide6.QtCore import QObject, QSize, Signal
from PySide6.QtWidgets import QLabel, QWidget

from facelens.views import upright

FAILS = """
import sys
import numpy as np
import facelens.views
from PySide6.QtCore import QSize
from PySide6.QtWidgets import QAbstractScrollArea, QApplication

class View(QAbstractScrollArea):
    def viewportEvent(self, event): return super().viewportEvent(event)
    def paintEvent(self, event): np.zeros(3)[7]
    def resizeEvent(self, event): int("seven")

told = []
sys.excepthook = lambda kind, error, trace: told.append(f"{kind.__name__} {error}")
app = QApplication([])
view = View()
for size in ((90, 90), (120, 80)):
    try:
        view.resize(*size)
        view.show()
    except ValueError as error:  # PySide gives it back to who called
        told.append(f"{type(error).__name__} {error}")
    app.processEvents()
print(told)
"""


def test_what_fails_is_told() -> None:
    """Without `upright`, PySide 6.11 ends this process on Python 3.11."""
    done = subprocess.run([sys.executable, "-c", FAILS], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, (done.returncode, done.stderr[-2000:])
    assert "index 7 is out of bounds" in done.stdout and "invalid literal" in done.stdout


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="newer Pythons need no wrapping")
def test_overrides_are_wrapped_and_nothing_else() -> None:
    class View(QWidget):
        def sizeHint(self) -> QSize:
            return QSize(3, 4)

        def setToolTip(self, *given: object, **named: object) -> None:
            self.given = given, named

        def own(self) -> int:
            return 5

    assert hasattr(View.sizeHint, "__wrapped__") and hasattr(View.setToolTip, "__wrapped__")
    assert not hasattr(View.own, "__wrapped__") and View.sizeHint.__name__ == "sizeHint"


def test_a_slot_keeps_its_arguments(qtbot) -> None:
    class Bell(QObject):
        rung = Signal(str, int)

    class View(QLabel):
        times = 0

        def clear(self) -> None:
            self.times += 1

        def setText(self, text: str) -> None:
            super().setText(text.upper())

    bell, view = Bell(), View()
    qtbot.addWidget(view)
    bell.rung.connect(view.clear)
    view.setText("a")
    bell.rung.emit("x", 1)
    assert view.times == 1 and view.text() == "A"


def test_what_it_gives_and_raises_is_the_same() -> None:
    def half(self: object, number: int, *, by: int = 2) -> float:
        return number / by

    wrapped = upright.upright(half)
    assert wrapped(None, 6) == 3 and wrapped(None, 6, by=3) == 2
    with pytest.raises(ZeroDivisionError):
        wrapped(None, 1, by=0)
