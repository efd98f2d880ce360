"""Keys, words and leaving reach a painted view by filters, so that what fails in it does not end the program."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QHelpEvent, QKeyEvent
from PySide6.QtWidgets import QApplication, QToolTip, QWidget

import facelens.views
from facelens.views.hearing import keep_keys, tell, when_left


class View(QWidget):
    def __init__(self) -> None:
        super().__init__()
        self.gone = 0
        keep_keys(self, self.wants)
        tell(self, self.words)
        when_left(self, self.on_left)

    def wants(self, event: QKeyEvent) -> bool:
        return event.key() == Qt.Key.Key_Delete

    def words(self, spot: QPointF) -> str:
        return f"<b>{spot.x():.0f}</b>" if spot.x() > 10 else "edge"

    def on_left(self) -> None:
        self.gone += 1


@pytest.fixture
def view(qtbot) -> View:
    made = View()
    qtbot.addWidget(made)
    made.resize(100, 100)
    made.show()
    return made


@pytest.mark.parametrize(("key", "mine"), [(Qt.Key.Key_Delete, True), (Qt.Key.Key_A, False)])
def test_keys_of_its_own(view: View, key: Qt.Key, mine: bool) -> None:
    asked = QKeyEvent(QEvent.Type.ShortcutOverride, key, Qt.KeyboardModifier.NoModifier)
    asked.ignore()
    QApplication.sendEvent(view, asked)
    assert asked.isAccepted() == mine


def test_words_of_a_place_are_no_markup(view: View) -> None:
    for x, words in ((40, "<qt>&lt;b&gt;40&lt;/b&gt;</qt>"), (5, "edge")):
        at = QPoint(x, 20)
        QApplication.sendEvent(view, QHelpEvent(QEvent.Type.ToolTip, at, view.mapToGlobal(at)))
        assert QToolTip.text() == words


def test_leaving(view: View) -> None:
    QApplication.sendEvent(view, QEvent(QEvent.Type.Leave))
    QApplication.sendEvent(view, QEvent(QEvent.Type.Enter))
    assert view.gone == 1


FAILS = """
import sys
import numpy as np
from PySide6.QtWidgets import QAbstractScrollArea, QApplication
from facelens.views.hearing import tell, when_left

class View(QAbstractScrollArea):
    def __init__(self):
        super().__init__()
        when_left(self.viewport(), self.on_left)
        tell(self.viewport(), self.words)

    def on_left(self): ...
    def words(self, spot): return ""
    def paintEvent(self, event): np.zeros(3)[7]

told = []
sys.excepthook = lambda kind, error, trace: told.append(kind.__name__)
app = QApplication([])
view = View()
view.show()
for _ in range(3):
    view.viewport().update()
    app.processEvents()
print(told)
"""


def test_what_fails_while_it_paints_is_told() -> None:
    """With a viewportEvent of Python that calls Qt's, PySide 6.11 ends the process on Python 3.11."""
    done = subprocess.run([sys.executable, "-c", FAILS], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0 and "IndexError" in done.stdout, (done.returncode, done.stderr[-2000:])


def test_no_view_has_an_event_of_its_own() -> None:
    found = {
        path.stem
        for path in Path(facelens.views.__file__).parent.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef) and node.name in ("event", "viewportEvent")
    }
    assert found == {"frame"}, "that one paints nothing, and looks at its size after Qt did"
