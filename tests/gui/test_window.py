"""The frame: layouts, docks, state that survives a restart, theme, status bar, regions, closing."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QApplication, QMessageBox, QToolButton

from facelens.session.jobs import Request, State
from facelens.session.selection import Selection
from facelens.session.settings import Settings
from facelens.views import theme
from facelens.views.controls import Dock
from facelens.views.docks import DOCKS
from facelens.views.main_window import LAYOUTS, MainWindow
from facelens.views.panels import PANELS


def visible(window: MainWindow) -> set[str]:
    return {word for word, dock in window.docks.items() if dock.isVisible()}


def test_a_new_window_is_empty_and_says_what_to_do(window: MainWindow) -> None:
    assert window.windowTitle() == "FaceLens"
    assert window.selected.text() == "No gallery"
    assert window.local.text().strip() == "Local only"
    assert "opens no network connection" in window.local.toolTip()
    assert visible(window) == set(LAYOUTS["browse"])
    assert window.panel("gallery").welcome.isVisible()


def test_measures(window: MainWindow, pump: Callable) -> None:
    pump()
    assert window.toolbar.height() == 42
    assert window.statusBar().height() == 25
    assert window.stage.tabs.parentWidget().height() == 32
    for dock in window.docks.values():
        assert dock.header.height() == 30
    assert abs(window.docks["sources"].width() - 232) <= 4
    assert abs(window.docks["inspector"].width() - 272) <= 4


@pytest.mark.parametrize("size", [(1440, 900), (1280, 720), (900, 560)])
def test_nothing_is_squeezed_below_its_least_size(
    size: tuple[int, int], open_window: Callable, tiny_faces: Path, settle: Callable
) -> None:
    window = open_window(size=size)
    window.opening.open(tiny_faces)
    settle(window)
    window.act("select.next")
    settle(window)
    assert (window.width(), window.height()) == size, "the content forces the window larger"
    assert window.stage.width() >= window.stage.minimumWidth()
    squeezed = []
    for part in window.findChildren(type(window.theme_button)) + window.findChildren(type(window.find_button)):
        if part.isVisible() and part.width() + 1 < part.minimumSizeHint().width() and part.text():
            squeezed.append((part.text(), part.width(), part.minimumSizeHint().width()))
    assert not squeezed


def test_status_bar_counts(browsing: MainWindow) -> None:
    ids = browsing.store.workspace.faces.ids
    assert browsing.selected.text() == "0 of 12 selected"
    assert browsing.about.text() == "tiny · 12 faces · 4 identities"
    browsing.store.update(selection=Selection(ids=ids[:5]))
    assert browsing.selected.text() == "5 of 12 selected"
    assert browsing.windowTitle().startswith("tiny")
    browsing.act("gallery.close")
    assert browsing.selected.text() == "No gallery" and browsing.windowTitle() == "FaceLens"
    assert not browsing.about_rule.isVisible(), "no line before nothing"
    browsing.statusBar().showMessage("Done")
    browsing.statusBar().clearMessage()
    assert browsing.selected.isVisible() and not browsing.about_rule.isVisible()


@pytest.mark.parametrize("name", LAYOUTS)
def test_named_layouts(name: str, window: MainWindow) -> None:
    window.act(f"layout.{name}")
    assert visible(window) == set(LAYOUTS[name])
    assert window.layouts.value() == name
    assert window.actions_by_id[f"layout.{name}"].isChecked()
    window.act("layout.browse")
    assert visible(window) == set(LAYOUTS["browse"])


def test_all_layouts_but_browse_give_the_stage_the_room(window: MainWindow, pump: Callable) -> None:
    for name in ("match", "upgrade", "report"):
        window.act(f"layout.{name}")
        pump()
        assert window.stage.height() > window.height() - 140, name
        assert window.stage.width() == window.width(), name


def test_a_layout_remembers_what_was_changed_until_it_is_reset(window: MainWindow) -> None:
    window.docks["log"].close()
    window.act("layout.match")
    window.docks["jobs"].show()
    window.act("layout.browse")
    assert visible(window) == set(LAYOUTS["browse"]) - {"log"}
    window.act("layout.match")
    assert visible(window) == {"jobs"}
    window.act("layout.reset")
    assert visible(window) == set()
    window.act("layout.browse")
    window.docks["inspector"].setFloating(True)
    window.act("layout.reset")
    assert not window.docks["inspector"].isFloating()


def test_state_is_restored_after_a_restart(open_window: Callable, close: Callable, facelens_home: Path) -> None:
    first = open_window(Settings(theme="light"))
    first.resize(1300, 800)
    first.act("layout.report")
    first.docks["jobs"].show()
    first.act("view.larger")  # cannot be used without a gallery
    first.panel("gallery").size_slider.setValue(5)
    close(first)
    read = Settings.load()
    assert (read.theme, read.layout, read.thumbnail_size) == ("light", "report", 160)
    again = open_window(read, size=(1300, 800))
    assert again.layout_name == "report" and again.layouts.value() == "report"
    assert visible(again) == {"jobs"}
    assert again.panel("gallery").grid.thumbnail_size == 160
    assert again.actions_by_id["theme.light"].isChecked()


def test_geometry_is_restored(open_window: Callable, close: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    first = open_window(size=(1111, 777))
    kept = bytes(first.saveGeometry().data())
    close(first)
    # The offscreen screen is smaller than any window of ours and Qt would cut the size: what it is given counts.
    given: list[bytes] = []
    monkeypatch.setattr(MainWindow, "restoreGeometry", lambda self, state: given.append(bytes(state.data())))
    open_window(Settings.load())
    assert given == [kept]


def test_broken_settings_open_a_window_all_the_same(open_window: Callable) -> None:
    window = open_window(
        Settings(layout="nonsense", layouts={"browse": b"rubbish", "match": b""}, geometry=b"xx", theme="dark")
    )
    assert visible(window) == set(LAYOUTS["browse"])
    window.act("layout.match")
    assert visible(window) == set()


def test_the_tour_keeps_no_settings(open_window: Callable, close: Callable, facelens_home: Path) -> None:
    window = open_window(remember=False)
    window.act("layout.report")
    close(window)
    assert not (facelens_home / "config" / "settings.json").exists()


def test_theme_switches_live(browsing: MainWindow, settle: Callable) -> None:
    def ground() -> QColor:
        return browsing.grab().toImage().pixelColor(browsing.width() // 2, browsing.height() // 2 + 120)

    assert theme.current().dark and ground().lightness() < 60
    browsing.theme_button.click()
    settle(browsing)
    assert not theme.current().dark and ground().lightness() > 200
    assert browsing.desk.settings.theme == "light"
    assert browsing.actions_by_id["theme.light"].isChecked()
    browsing.theme_button.click()
    assert theme.current().dark and browsing.desk.settings.theme == "dark"


def test_a_page_opens_beside_and_dies_when_closed(browsing: MainWindow, pump: Callable, settle: Callable) -> None:
    browsing.open_beside("doctor")
    browsing.open_beside("doctor")  # it is on its way
    dock = browsing.findChild(Dock, "beside-doctor")
    assert not dock.isVisible(), "made in this round, shown in the next"
    settle(browsing)
    panel = dock.widget()
    assert panel.isVisible() and len(panel.list.lines) == len(browsing.store.workspace.diagnosis.findings)
    browsing.open_beside("doctor")
    assert len(browsing.findChildren(Dock, "beside-doctor")) == 1
    assert panel in browsing.regions()
    before = len(browsing.store._listeners)
    gone = weakref.ref(panel)
    dock.close()
    del dock, panel
    pump()
    gc.collect()
    pump()
    assert browsing.findChild(Dock, "beside-doctor") is None
    assert gone() is None, "a closed panel stays in memory"
    assert len(browsing.store._listeners) == before - 1
    browsing.act("select.all")


def test_pages_beside_share_a_place(browsing: MainWindow, pump: Callable, settle: Callable) -> None:
    browsing.resize(1440, 900)
    pump()
    before = browsing.stage.width()
    docks = []
    for word in ("doctor", "evaluation", "upgrade"):
        browsing.open_beside(word)
        settle(browsing)
        docks.append(browsing.findChild(Dock, f"beside-{word}"))
        assert [one for one in docks if not one.widget().visibleRegion().isEmpty()] == docks[-1:], "the newest is seen"
    assert browsing.stage.width() >= min(before, 560) and browsing.width() == 1440
    browsing.open_beside("doctor")
    settle(browsing)
    assert not docks[0].widget().visibleRegion().isEmpty() and docks[2].widget().visibleRegion().isEmpty()
    for dock in docks:
        dock.close()
    pump()
    assert not [one for one in browsing.findChildren(Dock) if one.objectName().startswith("beside-")]


def test_layouts_with_a_page_beside_survive_a_restart(
    open_window: Callable, tiny_faces: Path, settle: Callable, close: Callable
) -> None:
    first = open_window()
    first.open_beside("doctor")
    close(first)
    again = open_window(Settings.load())
    assert visible(again) == set(LAYOUTS["browse"])


def test_f6_walks_every_region_both_ways(browsing: MainWindow, pump: Callable) -> None:
    browsing.act("select.next")  # an inspector without a face has nothing to focus
    browsing.panel("gallery").grid.setFocus()
    regions = browsing.regions()

    def here() -> int:
        focus = QApplication.focusWidget()
        return next(i for i, region in enumerate(regions) if region is focus or region.isAncestorOf(focus))

    walked = []
    for _ in regions:
        QTest.keyClick(QApplication.focusWidget(), Qt.Key.Key_F6)
        walked.append(here())
    start = 2
    assert walked == [(start + 1 + i) % len(regions) for i in range(len(regions))]
    assert QApplication.focusWidget() is browsing.panel("gallery").grid
    QTest.keyClick(QApplication.focusWidget(), Qt.Key.Key_F6, Qt.KeyboardModifier.ShiftModifier)
    assert here() == start - 1


def test_the_list_of_regions_follows_the_layout(window: MainWindow) -> None:
    window.act("layout.upgrade")
    assert len(window.regions()) == 3
    for _ in range(7):
        window.act("region.next")


def test_keyboard_starts_where_one_goes_on(window: MainWindow, tiny_faces: Path, settle: Callable) -> None:
    assert QApplication.focusWidget() is window.panel("gallery").welcome.first
    window.opening.open(tiny_faces)
    settle(window)
    assert QApplication.focusWidget() is window.panel("gallery").grid
    window.act("gallery.close")
    assert QApplication.focusWidget() is window.panel("gallery").welcome.first


def test_keyboard_stays_with_who_is_typing(window: MainWindow, tiny_faces: Path, settle: Callable) -> None:
    window.panel("identities").search.setFocus()
    window.opening.open(tiny_faces)
    settle(window)
    assert QApplication.focusWidget() is window.panel("identities").search


def test_arrows_move_in_the_grid(browsing: MainWindow) -> None:
    ids = browsing.store.workspace.shown_ids
    for key in (Qt.Key.Key_Right, Qt.Key.Key_Right, Qt.Key.Key_Right, Qt.Key.Key_Left):
        QTest.keyClick(QApplication.focusWidget(), key)
    assert browsing.store.workspace.selection.current == ids[1]
    QTest.keyClick(QApplication.focusWidget(), Qt.Key.Key_Return)
    assert browsing.panel("gallery").view == "loupe"
    QTest.keyClick(QApplication.focusWidget(), Qt.Key.Key_Escape)
    assert browsing.panel("gallery").view == "grid"
    assert QApplication.focusWidget() is browsing.panel("gallery").grid


def test_a_page_is_made_when_it_is_first_shown(window: MainWindow) -> None:
    assert list(window.stage.panels) == ["gallery"]
    window.stage.show_page("doctor")
    assert list(window.stage.panels) == ["gallery", "doctor"]
    assert window.stage.pages.currentWidget() is window.stage.panels["doctor"]
    assert window.stage.pages.count() == len(PANELS)


def test_the_table_of_panels_is_right(window: MainWindow) -> None:
    for page in PANELS:
        panel = window.stage.panels[page.word]
        assert (panel.word, panel.title) == (page.word, page.title)


def test_closing_stops_everything_and_lets_go(open_window: Callable, tiny_faces: Path, settle: Callable, pump) -> None:
    window = open_window()
    window.opening.open(tiny_faces)
    settle(window)
    for cls in PANELS:
        window.stage.show_page(cls.word)
    window.act("view.loupe")
    panels = [weakref.ref(panel) for panel in (*window.stage.panels.values(), *window.dock_panels.values())]
    assert len(panels) == len(PANELS) + len(DOCKS)
    window.close()
    assert not window.store._listeners and not window.jobs._listeners
    from facelens.session import log

    assert not log.memory._listeners


def slow(*, tick) -> None:
    import time

    for i in range(100_000):
        tick(i, 100_000)
        time.sleep(0.002)


@pytest.mark.parametrize("answer", ["Stop and close", "Keep working"])
def test_closing_during_a_job_asks(
    answer: str, window: MainWindow, monkeypatch: pytest.MonkeyPatch, until: Callable
) -> None:
    said: list[str] = []

    def reply(box: QMessageBox) -> int:
        said.extend([box.text(), box.informativeText()])
        assert box.textFormat() == Qt.TextFormat.PlainText
        next(b for b in box.buttons() if b.text() == answer).click()
        return 0

    monkeypatch.setattr(QMessageBox, "exec", reply)
    number = window.jobs.submit(Request("Embed <b>faces</b>", slow))
    until(lambda: (job := window.jobs.job(number)) is not None and job.done > 0 and job.total > 0)
    closed = window.close()
    assert said[0].startswith("Embed <b>faces</b> is still running (") and said[0].endswith(" %).")
    assert said[1] == "Finished work is kept."
    assert closed == (answer == "Stop and close")
    assert window.isVisible() != closed
    state = window.jobs.job(number).state
    assert state is (State.CANCELLED if closed else State.RUNNING)


def test_opening_and_checking_do_not_ask(window: MainWindow, until: Callable) -> None:
    window.jobs.submit(Request("Check tiny", slow, slot="doctor"))
    until(lambda: window.jobs.running)
    assert window.close()


def test_progress_reaches_the_status_bar_late_and_leaves_at_once(
    window: MainWindow, until: Callable, pump: Callable
) -> None:
    number = window.jobs.submit(Request("Embed faces", slow))
    until(lambda: window.jobs.running)
    pump()
    assert not window.job_bar.isVisible(), "a short job is not worth a bar"
    until(window.job_bar.isVisible)
    assert window.job_name.text() == "Embed faces" and window.job_bar.maximum() == 1000
    window.jobs.cancel(number)
    until(lambda: not window.job_bar.isVisible())
    assert not window.job_name.isVisible()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_functions_wait_for_the_first_paint(
    layout: str, leftovers: None, until: Callable, close: Callable, pump: Callable
) -> None:
    window = MainWindow(Settings(theme="dark", layout=layout), remember=False)
    ran: list[bool] = []
    window.after_paint(lambda: ran.append(window.isVisible()))
    pump()
    assert not ran
    window.show()
    until(lambda: ran)
    assert ran == [True]
    close(window)


def test_window_dies_after_closing(open_window: Callable, close: Callable, pump: Callable, qapp: QApplication) -> None:
    before = len(QApplication.allWidgets())
    for _ in range(3):
        close(open_window())
    gc.collect()
    pump()
    assert len(QApplication.allWidgets()) <= before + 5


def test_a_million_selected_faces_are_counted_with_commas(window: MainWindow) -> None:
    from facelens.images.faceset import FaceSet, Labels
    from facelens.images.packed import Packed

    n = 12_345
    faces = FaceSet(
        "big",
        Path("/nowhere"),
        Packed.of([b"a.png"]).take(np.zeros(n, np.int64)),
        Labels(np.zeros(n, np.int32), ("a",)),
        {},
        None,
        np.arange(n, dtype=np.int64),
    )
    window.store.update(faces=faces)
    window.act("select.all")
    assert window.selected.text() == "12,345 of 12,345 selected"
    assert window.about.text() == "big · 12,345 faces · 1 identity"


def test_the_mark_stays_while_a_message_is_shown(browsing: MainWindow, until: Callable) -> None:
    browsing.statusBar().showMessage("Written to <b>x</b>.png", 30)
    assert browsing.local.isVisible() and not browsing.about.isVisible()
    assert browsing.statusBar().currentMessage() == "Written to <b>x</b>.png"
    until(lambda: browsing.about.isVisible())
    assert browsing.statusBar().currentMessage() == ""


def test_docks_have_their_width_also_in_a_smaller_window(open_window: Callable, pump: Callable) -> None:
    window = open_window(size=(1280, 720))
    pump()
    assert abs(window.docks["sources"].width() - 232) <= 4
    assert abs(window.docks["inspector"].width() - 272) <= 4


@pytest.mark.parametrize("width", [900, 1000, 1100, 1440])
@pytest.mark.parametrize("models", [False, True])
def test_the_toolbar_shows_whole_words_at_any_width(
    open_window: Callable, width: int, models: bool, pump: Callable
) -> None:
    from facelens.session.workspace import Source
    from tests.gui.evaluation.stub import gallery, vectors

    window = open_window(size=(width, 640))
    faces = gallery(4, 3)
    known = {name: vectors(faces, name) for name in ("mobilefacenet 2.0", "inception resnet v1")} if models else {}
    a, b = tuple(known) or ("", "")
    source = Source(Path("/x"), "g", len(faces), "folders")
    window.store.update(faces=faces, source=source, features=known, model_a=a, model_b=b)
    pump(0.05)
    assert window.width() == width
    shown = [one for one in window.strip.findChildren(QAbstractButton) if one.isVisible()]
    places = [(one.mapTo(window.strip, one.rect().topLeft()).x(), one.width(), one) for one in shown]
    places.sort(key=lambda place: place[0])
    for (x, wide, one), (after, _, other) in pairwise(places):
        assert x + wide <= after, f"{one.accessibleName()} lies under {other.accessibleName()}"
    assert places[-1][0] + places[-1][1] <= width
    for one in shown:
        assert one.width() >= min(one.sizeHint().width(), one.minimumSizeHint().width()) - 1, one.accessibleName()
    folded = window.switch.button.isVisible()
    assert folded == (models and width <= 1000) and folded != window.layouts.isVisible()
    if folded:
        assert window.switch.button.text().strip() == "Browse"
        window.switch.button.menu().actions()[1].trigger()
        assert window.layout_name == "match" and window.switch.button.text().strip() == "Match"
        assert "Match" in window.switch.button.toolTip()


def test_all_pages_have_a_tab_that_can_be_read_in_a_smaller_window_too(open_window: Callable, pump: Callable) -> None:
    window = open_window(size=(1280, 720))
    for width in (1280, 1440, 1280):
        window.resize(width, 720)
        pump(0.05)
        tabs = window.stage.tabs
        last = tabs.tabRect(tabs.count() - 1)
        assert last.right() < tabs.width() and tabs.width() <= window.stage.width()  # so none has to be scrolled to
        for place in range(tabs.count()):
            assert tabs.tabRect(place).width() >= tabs.fontMetrics().horizontalAdvance(tabs.tabText(place)) + 8


def test_the_tasks_of_the_first_page_lead_to_pages_that_say_what_they_need(window: MainWindow, pump: Callable) -> None:
    welcome = window.panel("gallery").welcome
    for task in [one for one in welcome.findChildren(QToolButton) if one.objectName() == "task"]:
        window.stage.show_page("gallery")
        task.click()
        pump(0.05)
        assert window.stage.word != "gallery"
        assert window.stage.current.empty.isVisible() and window.stage.current.open.isVisible()
