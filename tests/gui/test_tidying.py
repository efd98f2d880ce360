"""Garbage is collected on the thread of the window, and on no other."""

from __future__ import annotations

import gc
import threading
import weakref

import pytest
from PySide6.QtWidgets import QApplication, QWidget

from facelens.views.tidying import Tidying


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
