"""What PySide would end the program for: an override that fails under another call, places of layouts that it keeps."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest
from PySide6.QtCore import QObject, QSize, Signal
from PySide6.QtWidgets import QApplication, QGridLayout, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from facelens.views import binding
from facelens.views.controls import FlowLayout
from facelens.views.main_window import MainWindow
from facelens.views.panels import PANELS

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
    """Unmended, PySide 6.11 ends this process on Python 3.11."""
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

    wrapped = binding.upright(half)
    assert wrapped(None, 6) == 3 and wrapped(None, 6, by=3) == 2
    with pytest.raises(ZeroDivisionError):
        wrapped(None, 1, by=0)


# Places in a layout are deleted, other objects take their place in memory, and Qt deletes those, too.
STALE = """
import facelens.views
from PySide6.QtCore import QCoreApplication, QEvent, QTimer
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QApplication, QHBoxLayout, QLabel, QToolButton, QVBoxLayout, QWidget

app = QApplication([])
window = QWidget()
column = QVBoxLayout(window)
for kind in (QAction, QTimer, QToolButton, QWidget):
    for _ in range(20):
        line, labels = QHBoxLayout(), [QLabel() for _ in range(40)]
        for label in labels:
            line.addWidget(label)
        column.addLayout(line)
        for label in labels:
            label.setParent(None)
        parent = QWidget()
        made = [kind(parent) for _ in range(200)]
        del made
        parent.deleteLater()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
print("gone")
"""


def test_what_lies_where_places_of_layouts_were_can_go() -> None:
    """Unmended, PySide 6.11 ends the process in the first rounds."""
    done = subprocess.run([sys.executable, "-c", STALE], capture_output=True, text=True, timeout=100)
    assert (done.returncode, done.stdout.strip()) == (0, "gone"), done.stderr


def rows(n: int) -> tuple[QHBoxLayout, list[QLabel]]:
    line, labels = QHBoxLayout(), [QLabel(str(i)) for i in range(n)]
    for label in labels:
        line.addWidget(label)
    line.addStretch(1)
    return line, labels


def test_no_page_keeps_places(browsing: MainWindow, settle: Callable) -> None:
    for cls in PANELS:
        browsing.stage.show_page(cls.word)
        settle(browsing)
    for dock in browsing.docks.values():
        dock.show()
    for id in ("figure.export", "keys.show", "palette.open"):
        browsing.act(id)
        settle(browsing)
    assert binding.kept_places() == 0


def test_places_are_let_go_at_once(qapp: QApplication) -> None:
    before = binding.kept_places()
    window = QWidget()
    column, inner, grid, flow = QVBoxLayout(window), QVBoxLayout(), QGridLayout(), FlowLayout()
    lines = [rows(3) for _ in range(4)]
    inner.addLayout(lines[0][0])
    inner.addWidget(QLabel("between"))
    column.addLayout(inner)
    column.insertLayout(0, lines[1][0])
    grid.addLayout(lines[2][0], 0, 0)
    column.addLayout(grid)
    for label in lines[3][1]:
        flow.addWidget(label)
    column.addLayout(flow)
    assert binding.kept_places() == before
    line, labels = lines[0]
    assert binding.parts(line) == [*labels, None] and binding.kept_places() == before
    labels[1].setParent(None)
    assert binding.parts(line) == [labels[0], labels[2], None]
    assert binding.parts(column) == [lines[1][0], inner, grid, flow]
    flow.setGeometry(column.contentsRect())  # its places are its own
    lines[3][1][0].setParent(None)
    assert flow.count() == 2 and flow.itemAt(0).widget() is lines[3][1][1]
    window.deleteLater()
