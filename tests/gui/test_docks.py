"""The docks: what they show of an empty, a small, a dirty and a full gallery, and what a click does."""

from __future__ import annotations

import gc
import logging
import os
import threading
import time
import weakref
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel

from facelens.errors import InputError
from facelens.images.faceset import FaceSet, Labels
from facelens.session import log
from facelens.session.annotations import tagged
from facelens.session.jobs import Job, Request, State
from facelens.session.selection import Selection
from facelens.session.settings import Recent
from facelens.session.workspace import Arrangement, Source
from facelens.views.docks import DOCKS
from facelens.views.docks.filter import FilterDock
from facelens.views.docks.identities import IdentitiesDock
from facelens.views.docks.inspector import InspectorDock
from facelens.views.docks.jobs import JobsDock, progress_text
from facelens.views.docks.log import LogDock
from facelens.views.docks.sources import SourcesDock
from facelens.views.main_window import MainWindow
from facelens.views.panels import PANELS

ALL = [cls for cls, _ in DOCKS] + [page.load() for page in PANELS]
CTRL, ALT, NONE = (
    Qt.KeyboardModifier.ControlModifier,
    Qt.KeyboardModifier.AltModifier,
    Qt.KeyboardModifier.NoModifier,
)


# Every panel and dock, with every kind of gallery


def made(root: Path, n: int, identities: list[str | None], **columns) -> FaceSet:
    return FaceSet.build("g", root, paths=[f"{i}.png" for i in range(n)], identities=identities, columns=columns)


def batteries(root: Path, make_gallery: Callable) -> dict[str, FaceSet]:
    """Galleries as people have them."""
    n = 8
    for i in range(n):
        make_gallery(root, people=(f"x{i}",), pictures=1, manifest=False, seed=i)
        (root / f"x{i}" / "00.png").rename(root / f"{i}.png")
    (root / "3.png").write_bytes(b"no picture")
    hostile = [
        "<b>bold</b>",
        "a & b",
        "Smith & Sons",
        "p\udcffq",
        "line\nbreak",
        "\u202egnp.exe",
        "é" * 200,
        "x" * 4000,
    ]
    many = {f"column {i}": np.linspace(-1, 1, n) * 10.0**i for i in range(26)}
    odd = {
        "nan": np.full(n, np.nan),
        "half": np.where(np.arange(n) % 2, np.nan, 0.5),
        "inf": np.full(n, np.inf),
        "<i>html</i>": np.arange(n, dtype=float),
        "whole": np.arange(n),
        "name & co": Labels.of([*hostile[:4], None, None, "z", ""]),
    }
    return {
        "one face": made(root, 1, ["Ada"]),
        "no identities": made(root, n, [None] * n),
        "one identity": made(root, n, ["Ada"] * n),
        "hostile names": made(root, n, hostile, **odd),
        "many columns": made(root, n, [f"p{i % 3}" for i in range(n)], **many),
        "missing files": FaceSet.build("g", root / "gone", paths=["a.png", "b.png"], identities=["A", "B"]),
    }


@pytest.mark.parametrize("cls", ALL, ids=lambda cls: cls.word)
def test_dirty_battery(
    cls, panel: Callable, desk, make_gallery: Callable, tmp_path: Path, settle: Callable, calls
) -> None:
    from facelens.images import doctor

    page = panel(cls)
    page.grab()
    for name, faces in batteries(tmp_path / "battery", make_gallery).items():
        diagnosis = doctor.diagnose(faces, threads=1)
        faces = faces.with_columns(diagnosis.columns)
        desk.store.update(
            faces=faces,
            source=Source(faces.root, name, len(faces), "folders"),
            diagnosis=diagnosis,
            excluded=np.zeros(0, np.int64),
            arrangement=Arrangement(),
            selection=Selection(),
        )
        settle(desk)
        page.grab()
        for row in range(len(faces)):
            desk.store.update(selection=Selection(ids=faces.ids[: row + 1], current=int(faces.ids[row])))
        for column in faces.sortable:
            desk.store.update(arrangement=Arrangement(sort=column, descending=True))
        desk.store.update(arrangement=Arrangement(sort="path", group="identity"))
        settle(desk)
        page.grab()
        desk.store.update(excluded=faces.ids)
        page.grab()
        assert not calls, f"{name}: {calls}"
    desk.store.update(faces=None, diagnosis=None, source=None, selection=Selection(), arrangement=Arrangement())
    page.grab()


@pytest.mark.parametrize("cls", ALL, ids=lambda cls: cls.word)
def test_a_closed_panel_is_let_go(cls, panel: Callable, desk, load: Callable, tiny_faces: Path, settle, pump) -> None:
    listeners = len(desk.store._listeners), len(desk.jobs._listeners), len(log.memory._listeners)
    page = cls(desk)
    page.show()
    load(tiny_faces)
    desk.store.update(selection=Selection(ids=desk.workspace.faces.ids[:2], current=int(desk.workspace.faces.ids[0])))
    settle(desk)
    gone = weakref.ref(page)
    page.close_panel()
    page.close()
    page.deleteLater()
    del page
    pump()
    gc.collect()
    assert gone() is None
    assert (len(desk.store._listeners), len(desk.jobs._listeners), len(log.memory._listeners)) == listeners


@pytest.mark.parametrize("cls", ALL, ids=lambda cls: cls.word)
def test_a_panel_hears_only_what_it_reads(cls, panel: Callable, desk, load: Callable, tiny_faces: Path) -> None:
    load(tiny_faces)
    page = panel(cls)
    seen: list[frozenset[str]] = []
    page.refresh = seen.append
    ids = desk.workspace.faces.ids
    for change in (
        {"selection": Selection(ids=ids[:2])},
        {"arrangement": Arrangement(filter="ada")},
        {"excluded": ids[-1:]},
        {"notes": ("a",)},
        {"protocol": None},
    ):
        before = len(seen)
        desk.store.update(**change)
        name = next(iter(change))
        assert (len(seen) > before) == (name in cls.reads and name != "protocol")
    page.hide()
    before = len(seen)
    desk.store.update(selection=Selection(), excluded=ids[:0], arrangement=Arrangement(), notes=())
    assert len(seen) == before, "hidden panels do nothing"
    page.show()
    assert len(seen) == before + bool(cls.reads & {"selection", "excluded", "arrangement", "notes"})


# Filter and identities: one text


def chips(dock: FilterDock) -> list[str]:
    return [dock.flow.itemAt(i).widget().text() for i in range(dock.flow.count())]


def test_text_chips_and_clicks_agree(browsing: MainWindow, pump: Callable) -> None:
    filter_dock, people, store = browsing.panel("filter"), browsing.panel("identities"), browsing.store

    def state() -> tuple[str, list[str], set[str], int]:
        chosen = {people.model.names[code] for code in people.chosen}
        return filter_dock.line.text(), chips(filter_dock), chosen, len(store.workspace.shown)

    filter_dock.line.setText("split = test")
    QTest.keyClick(filter_dock.line, Qt.Key.Key_Return)
    assert state() == ("split = test", ["split = test"], set(), 6)
    code = people.model.names.index("Bo_Chen")
    people.choose(code, NONE)
    text, terms, chosen, shown = state()
    assert terms[0] == "split = test" and len(terms) == 2 and chosen == {"Bo_Chen"}
    assert text == store.workspace.arrangement.filter and 0 < shown < 3
    people.choose(people.model.names.index("Di_Eng"), CTRL)
    assert state()[2] == {"Bo_Chen", "Di_Eng"} and len(chips(filter_dock)) == 2
    people.choose(people.model.names.index("Di_Eng"), CTRL)
    assert state()[2] == {"Bo_Chen"}
    filter_dock.flow.itemAt(0).widget().removed.emit()
    pump()
    assert state()[2:] == ({"Bo_Chen"}, 3)
    people.choose(code, NONE)
    assert state() == ("", [], set(), 12)
    people.choose(code, ALT)
    assert state()[3] == 9 and len(chips(filter_dock)) == 1
    assert browsing.clear_filter.isVisible()
    browsing.act("find.clear")
    assert state() == ("", [], set(), 12)
    assert not browsing.clear_filter.isVisible(), "one cross is left, and it closes the dock"


@pytest.mark.parametrize("wrong", ["blur >", "blurr > 1", "(", "split < 3", 'identity = "x', "blur > p200"])
def test_a_wrong_filter_says_what_is_wrong_and_changes_nothing(browsing: MainWindow, wrong: str) -> None:
    dock = browsing.panel("filter")
    dock.line.setText("split = test")
    dock.apply()
    before = browsing.store.workspace
    dock.line.setText(wrong)
    dock.apply()
    assert browsing.store.workspace is before and len(before.shown) == 6
    assert dock.problem.isVisible() and len(dock.problem.text()) > 10
    assert dock.line.text() == wrong, "what was typed stays to be mended"
    QTest.keyClick(dock.line, Qt.Key.Key_End)
    QTest.keyClicks(dock.line, " ")
    assert not dock.problem.isVisible(), "the complaint goes when typing goes on"


def test_delete_on_a_chip_removes_the_chip_and_no_face(browsing: MainWindow, pump: Callable) -> None:
    browsing.commands.show_identity("Bo_Chen")
    browsing.act("select.all")
    pump()
    chip = browsing.panel("filter").flow.itemAt(0).widget()
    chip.setFocus()
    QTest.keyClick(chip, Qt.Key.Key_Delete)
    assert browsing.store.workspace.arrangement.filter == ""
    assert not len(browsing.store.workspace.excluded)


def test_typing_in_a_field_is_no_command(browsing: MainWindow) -> None:
    browsing.act("select.next")
    line = browsing.panel("filter").line
    browsing.act("find.focus")
    assert QApplication.focusWidget() is line
    QTest.keyClicks(line, "gec?n")
    assert line.text() == "gec?n" and browsing.panel("gallery").view == "grid"
    browsing.panel("filter").completer.popup().hide()
    QTest.keyClick(line, Qt.Key.Key_A, CTRL)
    QTest.keyClick(line, Qt.Key.Key_Delete)
    assert line.text() == "" and not len(browsing.store.workspace.excluded)
    assert len(browsing.store.workspace.selection) == 1, "Ctrl+A selected the text, not the faces"


def test_completions(browsing: MainWindow, pump: Callable) -> None:
    dock = browsing.panel("filter")
    browsing.act("find.focus")
    QTest.keyClicks(dock.line, "bl")
    assert "blur" in dock.words.stringList()
    dock.completer.activated.emit("blur")
    assert dock.line.text() == "blur "
    dock._hide_words()


def test_a_whole_rule_is_completed_by_arrows_and_enter(browsing: MainWindow, pump: Callable) -> None:
    dock = browsing.panel("filter")
    ids = browsing.store.workspace.shown_ids
    browsing.store.update(annotations=tagged(browsing.store.workspace.annotations, ids[:2], "hat on"))
    browsing.act("find.focus")
    pump()

    def take(row: int) -> None:
        popup = dock.completer.popup()
        assert popup.isVisible()
        for _ in range(row + 1):
            QTest.keyClick(popup, Qt.Key.Key_Down)
        QTest.keyClick(popup, Qt.Key.Key_Return)
        pump(0.02)

    QTest.keyClicks(dock.line, "ta")
    take(0)
    assert dock.line.text() == "tag " and dock.words.stringList()[:3] == ["~", "=", "!="]
    take(1)
    assert dock.line.text() == "tag = " and dock.words.stringList() == ['"hat on"']
    take(0)
    assert dock.line.text() == 'tag = "hat on" ' and not dock.completer.popup().isVisible()
    QTest.keyClick(dock.line, Qt.Key.Key_Return)
    assert browsing.store.workspace.shown_ids.tolist() == ids[:2].tolist()


def test_identity_search_and_keys(browsing: MainWindow) -> None:
    dock = browsing.panel("identities")
    assert dock.model.rowCount() == 4
    dock.search.setText("bo ch")
    assert [dock.model.index(i, 0).data() for i in range(dock.model.rowCount())] == ["Bo Chen"]
    dock.search.clear()
    dock.list.setFocus()
    dock.list.setCurrentIndex(dock.model.index(1, 0))
    QTest.keyClick(dock.list, Qt.Key.Key_Return)
    assert len(dock.chosen) == 1
    QTest.keyClicks(dock.list, "d")
    assert QApplication.focusWidget() is dock.search and dock.search.text() == "d"


def test_clicking_an_identity(browsing: MainWindow) -> None:
    dock = browsing.panel("identities")
    box = dock.list.visualRect(dock.model.index(0, 0))
    QTest.mouseClick(dock.list.viewport(), Qt.MouseButton.LeftButton, NONE, box.center())
    assert len(dock.chosen) == 1 and len(browsing.store.workspace.shown) == 3
    QTest.mouseClick(dock.list.viewport(), Qt.MouseButton.LeftButton, NONE, box.center())
    assert not dock.chosen and len(browsing.store.workspace.shown) == 12


def test_counts_leave_out_what_is_excluded(panel: Callable, load: Callable, tiny_faces: Path, desk) -> None:
    dock = panel(IdentitiesDock)
    load(tiny_faces)
    assert dock.model.counts.tolist() == [3, 3, 3, 3]
    desk.store.update(excluded=desk.workspace.faces.ids[:3])
    assert dock.model.counts.tolist() == [0, 3, 3, 3] and dock.model.rowCount() == 3
    said = dock.model.index(0, 0).data(Qt.ItemDataRole.AccessibleTextRole)
    assert said == "Bo Chen, 3 faces"


# Inspector


def test_inspector_shows_the_current_face(panel: Callable, load: Callable, tiny_faces: Path, desk, settle) -> None:
    dock = panel(InspectorDock)
    assert dock.empty.isVisible() and not dock.area.isVisible()
    load(tiny_faces)
    ids = desk.workspace.faces.ids
    desk.store.update(selection=Selection(ids=ids[:3]))
    assert dock.subtitle() == "3 selected" and dock.empty.isVisible(), "none of them is looked at"
    desk.store.update(selection=Selection(ids=ids[:3], current=int(ids[1])))
    settle(desk)
    assert dock.name.text() == "Ada Byron" and dock.file.text() == "01.png"
    assert dock.picture.pixmap is not None
    assert dock.subtitle() == "1 of 3 selected"
    names = [rail.accessibleName() for rail in dock._rails if rail.isVisible()]
    assert {"blur", "yaw"} <= set(names)
    words = {label.text() for label in dock.findChildren(QLabel)}
    assert {"5 points", "test", "nothing found"} & words >= {"5 points", "test"}
    desk.store.update(arrangement=Arrangement(sort="yaw"))
    assert dock._rails[0].accessibleName() == "yaw", "what one sorts by comes first"
    dock.strip.clicked.emit(int(dock.strip.rows[0]))
    assert desk.workspace.selection.current == ids[0] and len(desk.workspace.selection) == 3
    desk.store.update(selection=Selection(ids=ids[:3]))
    assert dock.empty.isVisible()


def test_inspector_folds_many_scores(panel: Callable, desk, make_gallery: Callable, tmp_path: Path) -> None:
    dock = panel(InspectorDock)
    faces = batteries(tmp_path / "b", make_gallery)["many columns"]
    desk.store.update(faces=faces, selection=Selection(ids=faces.ids[:1], current=int(faces.ids[0])))
    assert sum(rail.isVisible() for rail in dock._rails) == 6 and dock.more.text() == "Show all 26"
    dock.more.click()
    assert sum(rail.isVisible() for rail in dock._rails) == 26 and dock.more.text() == "Show fewer"
    dock.more.click()
    assert sum(rail.isVisible() for rail in dock._rails) == 6


def test_a_broken_picture_says_why(
    panel: Callable, load: Callable, make_gallery: Callable, tmp_path, desk, settle
) -> None:
    dock = panel(InspectorDock)
    load(make_gallery(tmp_path / "hurt", broken=1, manifest=False))
    bad = int(desk.workspace.excluded[0])
    desk.store.update(selection=Selection(ids=np.array([bad]), current=bad))
    settle(desk)
    assert dock.picture.pixmap is None
    words = [label.text() for label in dock.findChildren(QLabel) if label.isVisible()]
    title = next(f.title for f in desk.workspace.diagnosis.findings if bad in f.ids and f.severity == "error")
    assert title in words


# Sources


def test_sources_mark_the_open_one(panel: Callable, load: Callable, tiny_faces: Path, desk, calls) -> None:
    desk.settings = replace(desk.settings, recent=(Recent("/data/other & more", "other & more", 1),))
    dock = panel(SourcesDock)
    [line] = dock.list.lines
    assert line.tip == "/data/other & more, 1 face"
    load(tiny_faces)
    assert [line.text for line in dock.list.lines[:2]] == ["tiny", "other & more"]
    dock.list.touched.emit(0)
    assert not calls, "it is open"
    dock.list.opened.emit(1)
    assert calls.named("open") == [Path("/data/other & more")]


def test_one_activation_opens_once(panel: Callable, desk, calls, pump) -> None:
    desk.settings = replace(desk.settings, recent=(Recent("/data/other", "other", 1),))
    dock = panel(SourcesDock)
    box = dock.list.visualRect(dock.list.model().index(0, 0))
    QTest.mouseClick(dock.list.viewport(), Qt.MouseButton.LeftButton, NONE, box.center())
    assert calls.named("open") == [Path("/data/other")]
    dock.list.setFocus()
    dock.list.go(0)
    QTest.keyClick(dock.list, Qt.Key.Key_Return)
    assert calls.named("open") == [Path("/data/other")] * 2


# Jobs


def gated(gate: threading.Event, steps: int, *, tick) -> int:
    for i in range(steps):
        tick(i, steps, "reading")
    while not gate.wait(0.002):
        tick(steps // 2, steps, "reading")
    tick(steps, steps, "")
    return steps


def failing(*, tick) -> None:
    raise InputError("x.png is empty.", hint="Leave it out.")


def test_progress_cancel_retry_dismiss(panel: Callable, desk, until: Callable, settle: Callable) -> None:
    dock = panel(JobsDock)
    assert dock.nothing.isVisible()
    gate = threading.Event()
    number = desk.jobs.submit(Request("Embed <b>x</b>", gated, (gate, 10), unit="faces"))
    until(lambda: number in dock.rows and "5 of 10" in dock.rows[number].line.text())
    row = dock.rows[number]
    assert not dock.nothing.isVisible()
    assert row.name.text() == "Embed <b>x</b>" and row.name.textFormat() == Qt.TextFormat.PlainText
    assert row.bar.value() == 500 and "50 percent" in row.bar.accessibleName()
    assert row.cancel.toolTip() == "Cancel; finished work is kept" and not row.retry.isVisible()
    assert dock.subtitle() == "1 running"
    row.cancel.click()
    until(lambda: desk.jobs.job(number).state is State.CANCELLED)
    settle(desk)
    assert row.line.text() == "cancelled at 5 of 10; finished work is kept"
    assert row.retry.isVisible() and row.cancel.toolTip() == "Remove from the list"
    gate.set()
    row.retry.click()
    row.retry.click()  # before the list has heard that it waits again
    until(lambda: desk.jobs.job(number).state is State.DONE)
    settle(desk)
    assert dock.rows[number].line.text().startswith("10 done · ")
    assert dock.rows[number].bar.property("kind") == "good"
    dock.rows[number].cancel.click()
    settle(desk)
    assert not dock.rows and dock.nothing.isVisible() and not desk.jobs.jobs


def test_a_long_name_leaves_the_buttons_of_a_job_in_sight(panel: Callable, desk, settle: Callable) -> None:
    dock = panel(JobsDock)
    dock.resize(260, 200)
    number = desk.jobs.submit(Request("Evaluate one model with a long name and another with a longer one", failing))
    settle(desk)
    row = dock.rows[number]
    assert row.width() <= dock.width() and row.name.toolTip() == row.name.text()
    for button in (row.retry, row.details, row.cancel):
        assert button.isVisible() and button.mapTo(dock, button.rect().topRight()).x() < dock.width()


def test_a_failed_job_says_why_and_shows_details(panel: Callable, desk, settle: Callable, calls) -> None:
    dock = panel(JobsDock)
    number = desk.jobs.submit(Request("Embed", failing))
    settle(desk)
    row = dock.rows[number]
    assert row.line.text() == "x.png is empty." and row.bar.property("kind") == "bad"
    assert row.details.isVisible() and row.retry.isVisible()
    row.details.click()
    [error] = calls.named("notify")
    assert isinstance(error, InputError)


def test_a_dock_opened_late_shows_what_has_happened(panel: Callable, desk, settle: Callable) -> None:
    number = desk.jobs.submit(Request("Embed", failing))
    settle(desk)
    dock = panel(JobsDock)
    assert number in dock.rows


def test_the_list_is_bounded_and_newest_first(panel: Callable, desk, settle: Callable) -> None:
    from facelens.views.docks.jobs import KEPT

    dock = panel(JobsDock)
    for i in range(KEPT + 5):
        desk.jobs.submit(Request(f"job {i}", failing))
    settle(desk)
    assert len(dock.rows) == KEPT
    assert dock.column.itemAt(0).widget().name.text() == f"job {KEPT + 4}"


@pytest.mark.parametrize(
    ("job", "text"),
    [
        (Job(1, Request("a", failing)), "waiting"),
        (Job(1, Request("a", failing), State.RUNNING), "starting"),
        (
            Job(1, Request("a", failing), State.RUNNING, 1096, 2610, rate=640.2, eta_seconds=2.4),
            "1,096 of 2,610 · 640 faces/s · 2 s left",
        ),
        (Job(1, Request("a", failing), State.RUNNING, 1, 9, "Writing"), "Writing · 1 of 9"),
        (
            Job(1, Request("a", failing), State.RUNNING, 1, 9, rate=2.0, eta_seconds=400.0),
            "1 of 9 · 2 faces/s · 7 min left",
        ),
        (Job(1, Request("a", failing), State.CANCELLED), "cancelled"),
        (Job(1, Request("a", failing), State.FAILED, error=ValueError("x")), "failed: ValueError"),
        (Job(1, Request("a", failing), State.DONE, 9, 9, started=1.0, finished=3.5), "9 done · 2.5 s"),
        (Job(1, Request("a", failing), State.DONE), "done"),
        (
            Job(1, Request("a", failing, unit=""), State.RUNNING, 900, 3000, "A", rate=40.0, eta_seconds=9.0),
            "A · 30 % · 9 s left",
        ),
        (Job(1, Request("a", failing, unit=""), State.DONE, 3000, 3000, started=0.0, finished=180.0), "done · 3 min"),
        (Job(1, Request("a", failing, unit=""), State.CANCELLED, 900, 3000), "cancelled"),
    ],
)
def test_progress_text(job: Job, text: str) -> None:
    assert progress_text(job) == text


# Log


def test_lines_from_any_thread(panel: Callable, until: Callable, leftovers: None) -> None:
    restore = log.install()
    try:
        dock = panel(LogDock)
        logging.getLogger("facelens.x").info("from the main thread")
        threads = [
            threading.Thread(target=logging.getLogger("facelens.y").warning, args=("thread %d", i)) for i in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        until(lambda: dock.lines.toPlainText().count("thread ") == 8)
        text = dock.lines.toPlainText()
        assert "from the main thread" in text
        assert all(f"warning: thread {i}" in text for i in range(8))
        assert time.strftime("%H:") in text
    finally:
        restore()


def test_a_long_line_of_the_log_is_read_without_pushing(panel: Callable, until: Callable) -> None:
    restore = log.install()
    try:
        dock = panel(LogDock)
        dock.resize(300, 160)
        logging.getLogger("facelens.x").warning("a job that failed for a reason that takes %s", "many words " * 9)
        until(lambda: "many words" in dock.lines.toPlainText())
        assert not dock.lines.horizontalScrollBar().maximum()
    finally:
        restore()


def test_the_log_follows_its_end_when_it_gets_narrow(panel: Callable, until: Callable, pump: Callable) -> None:
    restore = log.install()
    try:
        dock = panel(LogDock)
        dock.resize(600, 300)
        say = logging.getLogger("facelens.x").info
        for i in range(9):
            say("line %d of a log that has not many words yet", i)
        until(lambda: "line 8" in dock.lines.toPlainText())
        dock.resize(220, 120)
        pump()
        bar = dock.lines.verticalScrollBar()
        assert bar.maximum() > 0 and bar.value() == bar.maximum(), "the last line stays in sight"
        say("the end")
        until(lambda: "the end" in dock.lines.toPlainText())
        assert bar.value() == bar.maximum()
        bar.setValue(0)
        dock.resize(200, 110)
        pump()
        assert bar.value() == 0, "who reads further up is left there"
    finally:
        restore()


def test_the_log_hides_paths_and_markup(panel: Callable, until: Callable) -> None:
    restore = log.install()
    try:
        dock = panel(LogDock)
        logging.getLogger("facelens.x").info("<b>bold %s", os.path.expanduser("~/secret"))
        until(lambda: "bold" in dock.lines.toPlainText())
        assert "secret" not in dock.lines.toPlainText() and "<b>bold" in dock.lines.toPlainText()
        assert dock.lines.isReadOnly()
    finally:
        restore()


def test_a_long_complaint_is_shown_whole(browsing: MainWindow, pump: Callable) -> None:
    dock = browsing.panel("filter")
    dock.line.setText("blurr > 3")
    dock.apply()
    pump()
    pump()
    needed = dock.problem.heightForWidth(dock.problem.width())
    assert dock.problem.height() >= needed
