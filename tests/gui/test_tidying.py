"""Garbage is collected on the thread of the window, and on no other; what Python holds of layouts is let go."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import weakref

import pytest
from PySide6.QtWidgets import QApplication, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from facelens.views.controls import FlowLayout
from facelens.views.tidying import Tidying, forget_items


class Knot(QWidget):
    """Garbage that only the collector finds."""

    def __init__(self) -> None:
        super().__init__()
        self.self = self


@pytest.fixture
def tidying(qapp: QApplication) -> Tidying:
    made = Tidying()
    assert not gc.isenabled()
    return made


def test_other_threads_collect_nothing(tidying: Tidying) -> None:
    knot = Knot()
    seen = weakref.ref(knot)
    del knot
    thread = threading.Thread(target=lambda: [[] for _ in range(50_000)])
    thread.start()
    thread.join()
    assert seen() is not None
    gc.collect()
    assert seen() is None


def test_what_is_due_is_collected(tidying: Tidying) -> None:
    gc.collect()
    assert tidying.look() is None
    kept = [[] for _ in range(5_000)]
    assert tidying.look() == 0
    assert kept
    assert tidying.look() is None


def test_python_collects_again_when_it_is_gone(tidying: Tidying) -> None:
    from shiboken6 import delete

    delete(tidying)
    assert gc.isenabled()


# Places in a layout are deleted, rows of a list take their place in memory, and go again.
CLEARED = """
from PySide6.QtWidgets import QApplication, QHBoxLayout, QLabel, QListWidget, QListWidgetItem, QVBoxLayout, QWidget
from facelens.views.tidying import Tidying

app = QApplication([])
tidying = Tidying()
window, rows = QWidget(), QListWidget()
column = QVBoxLayout(window)
for _ in range(30):
    line, parts = QHBoxLayout(), [QLabel() for _ in range(40)]
    for part in parts:
        line.addWidget(part)
    column.addLayout(line)
    tidying.look()
    for part in parts:
        part.setParent(None)
    for i in range(200):
        rows.addItem(QListWidgetItem(str(i)))
    rows.clear()
print("cleared")
"""


def test_a_list_is_cleared_where_places_of_layouts_were() -> None:
    """PySide 6.11 ends the process in the first round where nobody forgets them."""
    done = subprocess.run([sys.executable, "-c", CLEARED], capture_output=True, text=True, timeout=100)
    assert (done.returncode, done.stdout.strip()) == (0, "cleared"), done.stderr


def test_layouts_go_on_without_what_python_held_of_them(qapp: QApplication) -> None:
    forget_items()
    window = QWidget()
    column, line, flow = QVBoxLayout(window), QHBoxLayout(), FlowLayout()
    labels = [QLabel(str(i)) for i in range(5)]
    for label in labels[:3]:
        line.addWidget(label)
    line.addStretch(1)
    for label in labels[3:]:
        flow.addWidget(label)
    column.addLayout(line)
    column.addLayout(flow)
    assert forget_items() == 4 and forget_items() == 0
    labels[1].setParent(None)
    assert line.count() == 3 and line.itemAt(1).widget() is labels[2]
    flow.setGeometry(column.contentsRect())  # its places are its own
    labels[3].setParent(None)
    assert flow.count() == 1 and flow.itemAt(0).widget() is labels[4]
    window.deleteLater()
