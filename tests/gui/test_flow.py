"""User stories with the real worker, and what many Qt calls must not change."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QFileDialog, QLabel

from facelens.session.jobs import Request, State
from facelens.session.settings import Settings
from facelens.views.main_window import MainWindow
from facelens.views.sheets import BuildPairs


def test_open_look_select_export_with_the_real_worker(
    leftovers: None, tiny_faces: Path, tmp_path: Path, settle: Callable, close: Callable, until: Callable
) -> None:
    window = MainWindow(Settings(theme="dark"))
    window.show()
    try:
        window.opening.open(tiny_faces)
        settle(window)
        assert window.store.workspace.diagnosis is not None and window.jobs.worker_pid is not None
        gallery = window.panel("gallery")
        window.commands.show_identity("Cy_Diaz")
        window.act("select.all")
        assert len(window.store.workspace.selection) == 3
        window.commands.figures.draw("gallery", tmp_path / "sheet.pdf")
        settle(window)
        assert (tmp_path / "sheet.pdf").read_bytes().startswith(b"%PDF")
        assert window.statusBar().currentMessage() == f"Written to {tmp_path / 'sheet.pdf'}"
        window.commands.figures.draw("gallery", tmp_path / "sheet.gif")
        settle(window)
        [card] = window.notices.cards
        assert card.accessibleName() == "sheet.gif has no ending that FaceLens can draw."
        assert gallery.view == "grid"
    finally:
        close(window)


def held(gate: threading.Event, *, tick) -> None:
    while not gate.wait(0.002):
        tick(1, 2)


def test_cancel_midway_and_go_on(browsing: MainWindow, until: Callable, settle: Callable) -> None:
    gate = threading.Event()
    done: list[State] = []
    number = browsing.jobs.submit(Request("Embed", held, (gate,)), then=lambda job: done.append(job.state))
    until(lambda: browsing.jobs.job(number).done == 1)
    browsing.act("jobs.cancel")
    settle(browsing)
    assert browsing.jobs.job(number).state is State.CANCELLED and not done
    gate.set()
    browsing.jobs.retry(number)
    settle(browsing)
    assert done == [State.DONE]
    browsing.act("select.all")
    assert len(browsing.store.workspace.selection) == 12


def test_close_midway(browsing: MainWindow, until: Callable) -> None:
    gate = threading.Event()
    number = browsing.jobs.submit(Request("Check", held, (gate,), slot="doctor"))
    until(lambda: browsing.jobs.job(number).done == 1)
    assert browsing.close()
    assert browsing.jobs.job(number).state is State.CANCELLED


def test_filter_group_exclude_build(
    browsing: MainWindow, tmp_path: Path, settle: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(tmp_path / "mine.bin"), ""))
    line = browsing.panel("filter").line
    browsing.act("find.focus")
    line.setText("blur < p30")
    QTest.keyClick(line, Qt.Key.Key_Return)
    browsing.act("select.all")
    picked = len(browsing.store.workspace.selection)
    assert 0 < picked < 12
    browsing.act("faces.exclude")
    browsing.act("find.clear")
    assert len(browsing.store.workspace.shown) == 12 - picked
    browsing.act("protocol.build_bin")
    dialog = browsing.findChild(BuildPairs)
    dialog.folds.setValue(1)
    dialog.per_fold.setValue(2)
    dialog._on_save()
    settle(browsing)
    assert (tmp_path / "mine.bin").stat().st_size > 100
    browsing.opening.open(tmp_path / "mine.bin")
    settle(browsing)
    assert browsing.store.workspace.protocol is not None


def test_qt_calls_do_not_eat_none(window: MainWindow) -> None:
    """A broken binding drops a reference to None with every call that returns nothing, and aborts after some 6,000."""
    label, before = QLabel("x"), sys.getrefcount(None)
    for i in range(10_000):
        label.setText("x")
        label.setToolTip("y")
        label.update()
        window.job_bar.setValue(i % 2)
    after = sys.getrefcount(None)
    # On newer Pythons None lives for ever and the count never moves.
    assert abs(after - before) < 200, f"{after - before} references in 40,000 calls"
    label.deleteLater()


@pytest.mark.slow
def test_open_and_close_again_and_again(
    open_window: Callable, close: Callable, tiny_faces: Path, settle: Callable
) -> None:
    """Memory levels off; what a window held goes with it."""
    import gc

    def resident() -> int:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096

    def round_() -> None:
        window = open_window()
        window.opening.open(tiny_faces)
        settle(window)
        close(window)

    for _ in range(4):
        round_()
    gc.collect()
    before = resident()
    for _ in range(10):
        round_()
    gc.collect()
    grown = (resident() - before) / 10 / 1e6
    assert grown < 1.5, f"{grown:.2f} MB for each window"
