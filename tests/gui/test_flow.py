"""User stories with the real worker, a monkey at the keyboard, and what many Qt calls must not change."""

from __future__ import annotations

import random
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialog, QFileDialog, QLabel, QMessageBox, QWidget

from facelens.session.actions import ACTIONS
from facelens.session.jobs import Request, State
from facelens.session.selection import Mode, Selection
from facelens.session.settings import Settings
from facelens.session.workspace import Arrangement
from facelens.views.main_window import MainWindow
from facelens.views.naming import NameSheet, faces_of
from facelens.views.panels import PANELS
from facelens.views.sheets import BuildPairs

CTRL, SHIFT, ALT, NONE = (
    Qt.KeyboardModifier.ControlModifier,
    Qt.KeyboardModifier.ShiftModifier,
    Qt.KeyboardModifier.AltModifier,
    Qt.KeyboardModifier.NoModifier,
)


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


LEFT_ALONE = ("application.quit", "figure.export", "figure.copy", "training.start", "training.resume")


class Monkey:
    """Does at random what hands can do; says what it did when something breaks."""

    def __init__(self, window: MainWindow, galleries: list[Path], seed: int) -> None:
        self.window, self.galleries, self.rng = window, galleries, random.Random(seed)
        self.done: list[str] = []
        self.tricks: list[tuple[int, Callable[[], object]]] = [
            (30, self.act),
            (25, self.key),
            (20, self.click),
            (6, self.wheel),
            (8, self.update),
            (6, self.type),
            (3, self.tab),
            (2, self.job),
            (1, self.open),
            (2, self.size),
            (2, self.chip),
            (4, self.name),
        ]

    def step(self) -> None:
        trick = self.rng.choices([t for _, t in self.tricks], [w for w, _ in self.tricks])[0]
        self.done.append(f"{trick.__name__} {trick()}")
        for dialog in [w for w in QApplication.topLevelWidgets() if isinstance(w, QDialog) and w.isVisible()]:
            dialog.close()

    def act(self) -> str:
        action = self.rng.choice([a for a in ACTIONS if a.id not in LEFT_ALONE])
        if action.id.startswith("theme.") and self.rng.random() < 0.8:
            return "nothing"  # dressing the whole window anew takes as long as a hundred other tricks
        self.window.act(action.id)
        return action.id

    def key(self) -> str:
        key = self.rng.choice(
            [
                Qt.Key.Key_Left, Qt.Key.Key_Right, Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_Home, Qt.Key.Key_End,
                Qt.Key.Key_PageDown, Qt.Key.Key_PageUp, Qt.Key.Key_Space, Qt.Key.Key_Return, Qt.Key.Key_Escape,
                Qt.Key.Key_Tab, Qt.Key.Key_Delete, Qt.Key.Key_E, Qt.Key.Key_G, Qt.Key.Key_C, Qt.Key.Key_N,
                Qt.Key.Key_F6, Qt.Key.Key_Backspace, Qt.Key.Key_A, Qt.Key.Key_Plus,
                Qt.Key.Key_P, Qt.Key.Key_X, Qt.Key.Key_U, Qt.Key.Key_0, Qt.Key.Key_3, Qt.Key.Key_F5,
            ]
        )  # fmt: skip
        modifiers = self.rng.choice([NONE, NONE, NONE, SHIFT, CTRL])
        if key == Qt.Key.Key_Return and isinstance(QApplication.focusWidget(), QLabel):
            return "nothing"
        QTest.keyClick(QApplication.focusWidget() or self.window, key, modifiers)
        return f"{key.name} {modifiers}"

    def click(self) -> str:
        grid = getattr(self.window.stage.current, "grid", None) or self.window.panel("gallery").grid  # type: ignore[attr-defined]
        if not grid.isVisible():
            return "nothing"
        spot = QPoint(self.rng.randrange(grid.width()), self.rng.randrange(max(1, grid.height())))
        modifiers = self.rng.choice([NONE, NONE, CTRL, SHIFT, ALT, CTRL | SHIFT])
        if self.rng.random() < 0.15:
            QTest.mouseDClick(grid.viewport(), Qt.MouseButton.LeftButton, modifiers, spot)
        else:
            QTest.mouseClick(grid.viewport(), Qt.MouseButton.LeftButton, modifiers, spot)
        return f"{spot} {modifiers}"

    def wheel(self) -> str:
        view = self.rng.choice([w for w in self.window.findChildren(QWidget) if w.isVisible()])
        modifiers = self.rng.choice([NONE, CTRL])
        middle = QPointF(view.rect().center())
        turned = QPoint(0, self.rng.choice([-240, -120, 120, 240]))
        event = QWheelEvent(
            middle, QPointF(view.mapToGlobal(view.rect().center())), QPoint(), turned,
            Qt.MouseButton.NoButton, modifiers, Qt.ScrollPhase.NoScrollPhase, False,
        )  # fmt: skip
        QApplication.sendEvent(view, event)
        return type(view).__name__

    def update(self) -> str:
        store, rng = self.window.store, self.rng
        faces = store.workspace.faces
        if faces is None:
            return "nothing"
        ids = faces.ids[np.array(rng.sample(range(len(faces)), min(len(faces), rng.randrange(6))), int)]
        store.update(
            selection=rng.choice(
                [
                    Selection(ids=ids, current=int(rng.choice(faces.ids))),
                    store.workspace.selection.combine(ids, rng.choice(list(Mode))),
                ]
            ),
            arrangement=Arrangement(
                filter=rng.choice(["", "", "blur > 0.5", "split = test", 'identity ~ "a"', "nobody", "not blur < 2"])
                if "blur" in faces.columns
                else rng.choice(["", "flag = rejected", "not tag = ada"]),
                sort=rng.choice(["", *faces.sortable, "rating", "flag"]),
                descending=rng.random() < 0.5,
                group=rng.choice(["", "identity"]),
            ),
            excluded=ids if rng.random() < 0.3 else store.workspace.excluded,
        )
        return store.workspace.arrangement.filter

    def type(self) -> str:
        text = self.rng.choice(["blur > ", "ada", "(", '"', "p9", "and", "<b>", "split = test"])
        panels = {word: self.window.panel(word) for word in ("filter", "identities", "tags", "inspector")}
        tags = panels["tags"].line, panels["inspector"].marks.line
        lines = panels["filter"].line, panels["identities"].search, self.window.palette_card.line
        line = self.rng.choice([*lines, *tags])
        if line.isVisible():
            QTest.keyClicks(line, text)
            if self.rng.random() < 0.5:
                QTest.keyClick(line, Qt.Key.Key_Return)
            if self.rng.random() < 0.5:
                line.clear()
            self.window.panel("filter")._hide_words()
        return text

    def tab(self) -> str:
        word = self.rng.choice([cls.word for cls in PANELS])
        self.window.stage.show_page(word)
        if self.rng.random() < 0.2:
            self.window.open_beside("doctor")
        dock = self.rng.choice(list(self.window.docks.values()))
        self.rng.choice([dock.show, dock.close, lambda: dock.setFloating(not dock.isFloating())])()
        return word

    def job(self) -> str:
        self.window.jobs.submit(Request("Work", busy, (self.rng.random() < 0.3,), slot=self.rng.choice(["", "x"])))
        rows = list(self.window.panel("jobs").rows.values())
        if rows:
            row = self.rng.choice(rows)
            for button in (row.retry, row.details, row.cancel):
                if button.isVisible() and self.rng.random() < 0.5:
                    button.click()
                    break
        return "job"

    def open(self) -> str:
        path = self.rng.choice(self.galleries)
        self.window.opening.open(path, add=self.rng.random() < 0.2)
        return path.name

    def size(self) -> str:
        self.window.resize(self.rng.randrange(900, 1600), self.rng.randrange(560, 1000))
        return "size"

    def chip(self) -> str:
        flow = self.window.panel("filter").flow
        if flow.count():
            flow.itemAt(self.rng.randrange(flow.count())).widget().removed.emit()
        return "chip"


    def name(self) -> str:
        """Somebody else for the faces at hand, or for all of a person."""
        workspace, rng = self.window.store.workspace, self.rng
        faces = workspace.faces
        person = rng.choice(["", *(faces.identity.names if faces is not None else ())])
        ids = faces_of(workspace, person) if person else workspace.selection.ids
        if faces is None or not len(ids):
            return "nothing"
        sheet = NameSheet(self.window.desk, ids, self.window, person=person)
        sheet.show()
        sheet.line.setText(rng.choice(["ada byron", "Somebody", "<b>x</b>", "a\u202eb", "", *faces.identity.names]))
        rng.choice([sheet.give.click, sheet.give.click, sheet.nobody.click, sheet.reject])()
        return person


def busy(fails: bool, *, tick) -> None:
    for i in range(50):
        tick(i, 50)
    if fails:
        raise ValueError("as told")


def let_loose(window: MainWindow, galleries: list[Path], *, seed: int, steps: int, pump: Callable) -> None:
    monkey = Monkey(window, galleries, seed)
    seen: list[BaseException] = []
    for i in range(steps):
        try:
            monkey.step()
            if i % 6 == 0:
                pump()
        except Exception as error:
            seen.append(error)
        if seen:
            raise AssertionError(f"seed {seed}, step {i}: {monkey.done[-12:]}") from seen[0]
        crashes = [card for card in window.notices.cards if "inside FaceLens" in card.accessibleName()]
        told = [card for card in crashes if "as told" not in card.details.toPlainText()]
        assert not told, f"{told[0].details.toPlainText()}\n{monkey.done[-12:]}"


@pytest.fixture
def cage(
    open_window: Callable, make_gallery: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[MainWindow, list[Path]]:
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_: "")
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: ("", ""))
    monkeypatch.setattr(QFileDialog, "getOpenFileNames", lambda *_: ([], ""))
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: ("", ""))
    monkeypatch.setattr(QMessageBox, "exec", lambda box: 0)  # nobody agrees to anything
    galleries = [
        make_gallery(tmp_path / "tiny"),
        make_gallery(tmp_path / "more", people=tuple(f"p{i:02}" for i in range(20)), pictures=3, broken=4, seed=1),
        tmp_path / "nowhere",
    ]
    window = open_window()
    # Jobs run on threads here. Networks belong into the worker: in this process no torch is loaded, as in the real one.
    monkeypatch.setattr(window.opening, "_sampled", lambda: None)
    window.opening.open(galleries[0])
    return window, galleries


def test_a_monkey_breaks_nothing(cage: tuple[MainWindow, list[Path]], pump: Callable, settle: Callable) -> None:
    let_loose(*cage, seed=2, steps=800, pump=pump)
    settle(cage[0])


@pytest.mark.faults
@pytest.mark.parametrize("seed", [3, 4, 5])
def test_a_patient_monkey_breaks_nothing(
    seed: int, cage: tuple[MainWindow, list[Path]], pump: Callable, settle: Callable
) -> None:
    let_loose(*cage, seed=seed, steps=20_000, pump=pump)
    settle(cage[0])


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
