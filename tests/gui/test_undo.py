"""Undo and redo with the keys, in the menu and in the dock of the history."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDoubleSpinBox, QToolButton, QWidget

from facelens.session.selection import Selection
from facelens.session.settings import Settings
from facelens.session.workspace import Arrangement
from facelens.views.docks.history import HistoryDock
from facelens.views.main_window import MainWindow

CTRL = Qt.KeyboardModifier.ControlModifier
SHIFT = Qt.KeyboardModifier.ShiftModifier
Pump = Callable[..., None]


@pytest.fixture
def used(browsing: MainWindow) -> MainWindow:
    """A window where faces were selected, then sorted, then alpha was moved; each after a pause."""
    store, now = browsing.store, [0.0]
    store.clock = lambda: now[0]
    ids = store.workspace.faces.ids  # type: ignore[union-attr]
    for changes in (
        {"selection": Selection(ids[:3])},
        {"arrangement": Arrangement(sort="blur")},
        {"match_plan": replace(store.workspace.match_plan, alpha=0.55)},
    ):
        now[0] += 10
        store.update(**changes)
    return browsing


def press(window: MainWindow, key: Qt.Key, modifiers: Qt.KeyboardModifier = CTRL) -> None:
    QTest.keyClick(QApplication.focusWidget() or window, key, modifiers)


def dock(window: MainWindow) -> HistoryDock:
    found = window.dock_panels["history"]
    assert isinstance(found, HistoryDock)
    return found


def rows(window: MainWindow) -> list[str]:
    model = dock(window).steps
    return [model.data(model.index(i), Qt.ItemDataRole.AccessibleTextRole) for i in range(model.rowCount())]  # type: ignore[misc]


def click(list: QWidget, place: QPoint) -> None:
    QTest.mouseClick(list, Qt.MouseButton.LeftButton, pos=place)


def test_keys_go_back_and_forth_and_the_menu_says_what(used: MainWindow) -> None:
    undo, redo = (used.actions_by_id[f"history.{word}"] for word in ("undo", "redo"))
    assert (undo.text(), redo.isEnabled()) == ("Undo alpha 0.70 → 0.55", False)
    press(used, Qt.Key.Key_Z)
    press(used, Qt.Key.Key_Z)
    now = used.store.workspace
    assert (now.match_plan.alpha, now.arrangement.sort) == (0.7, "")
    assert (undo.text(), redo.text()) == ("Undo selection of 3 faces", "Redo sort by blur")
    assert used.statusBar().currentMessage() == "Undone: sort by blur"
    press(used, Qt.Key.Key_Z, CTRL | SHIFT)
    press(used, Qt.Key.Key_Y)
    assert used.store.workspace.match_plan.alpha == 0.55 and used.store.workspace.arrangement.sort == "blur"


def test_the_buttons_say_what_they_would_do_or_why_they_cannot(used: MainWindow, pump: Pump) -> None:
    def tips() -> list[tuple[bool, str]]:
        pump()
        buttons = used.findChildren(QToolButton)
        found = [one for one in buttons if one.toolTip().startswith(("Undo", "Redo", "Nothing to"))]
        return [(one.isEnabled(), one.toolTip()) for one in found if one.isVisible()]

    assert tips() == [(True, "Undo alpha 0.70 → 0.55 (Ctrl+Z)"), (False, "Nothing to redo.")]
    undo = next(one for one in used.findChildren(QToolButton) if one.toolTip().startswith("Undo"))
    for _ in range(3):
        QTest.mouseClick(undo, Qt.MouseButton.LeftButton)
    assert not used.store.workspace.history.done
    assert tips() == [(False, "Nothing to undo."), (True, "Redo selection of 3 faces (Ctrl+Shift+Z)")]


def test_the_dock_lists_the_steps_and_goes_to_one(used: MainWindow, pump: Pump) -> None:
    steps = ["Beginning", "selection of 3 faces, Gallery", "sort by blur, Gallery", "alpha 0.70 → 0.55, Match"]
    assert rows(used) == [*steps[:3], steps[3] + ", now"]
    view = dock(used).list
    click(view.viewport(), view.visualRect(view.model().index(1)).center())
    assert rows(used) == [steps[0], steps[1] + ", now", *(step + ", undone" for step in steps[2:])]
    assert len(used.store.workspace.selection) == 3 and not used.store.workspace.arrangement.sort
    view.setFocus()
    QTest.keyClick(view, Qt.Key.Key_Down)
    QTest.keyClick(view, Qt.Key.Key_Return)
    assert used.store.workspace.arrangement.sort == "blur" and dock(used).subtitle() == "2 steps"
    used.act("gallery.close")
    pump()
    assert rows(used) == ["Beginning, now"]


def test_the_present_step_is_in_sight_when_the_dock_is_shown(open_window: Callable, pump: Pump) -> None:
    used = open_window(Settings(layout="match"))
    pump()
    store, now = used.store, [100.0]
    store.clock = lambda: now[0]
    for alpha in np.linspace(0, 0.5, 30):
        now[0] += 10
        store.update(match_plan=replace(store.workspace.match_plan, alpha=float(alpha)))
    used.act("layout.browse")
    pump()
    view = dock(used).list
    assert view.viewport().rect().contains(view.visualRect(view.currentIndex()).center())
    assert view.currentIndex().row() == store.workspace.history.done == 30


def test_a_text_field_takes_back_its_own_first(used: MainWindow) -> None:
    used.act("find.focus")
    line = used.dock_panels["filter"].line  # type: ignore[attr-defined]
    QTest.keyClicks(line, "blur > 0.1")
    press(used, Qt.Key.Key_Z)
    assert line.text() == "" and used.store.workspace.history.done == 3, "the text"
    QTest.keyClicks(line, "blur > 0.1")
    QTest.keyClick(line, Qt.Key.Key_Return)
    assert used.store.workspace.arrangement.filter == "blur > 0.1"
    press(used, Qt.Key.Key_Z)
    assert used.store.workspace.arrangement.filter == line.text() == "", "the filter that was entered"
    press(used, Qt.Key.Key_Z)
    assert used.store.workspace.match_plan.alpha == 0.7, "then what was done before"


def test_a_number_that_was_stepped_is_undone(used: MainWindow) -> None:
    field = QDoubleSpinBox(used)
    field.setKeyboardTracking(False)
    field.show()
    field.setFocus()
    QTest.keyClick(field, Qt.Key.Key_Up)
    press(used, Qt.Key.Key_Z)
    assert used.store.workspace.history.done == 2
    field.selectAll()
    QTest.keyClicks(field, "7")
    press(used, Qt.Key.Key_Z)
    assert used.store.workspace.history.done == 2 and field.value() == 1, "it is being typed"


def test_a_drag_lasts_until_the_button_is_up(used: MainWindow, until: Callable[..., None]) -> None:
    store, down = used.store, [True]
    store.held = lambda: down[0]
    time = store.clock() + 10
    store.clock = lambda: time
    for step in (1, 2, 3):
        time += 10
        store.update(refusal=step)
    assert store.workspace.history.done == 4
    down[0] = False
    until(lambda: not store.holding)
    time += 10
    store.update(refusal=9)
    assert store.workspace.history.done == 5


def test_settings_follow_what_is_undone(used: MainWindow, pump: Pump) -> None:
    used.act("match.show")
    match = used.panel("match")
    match._on_planned({"alpha": 0.2})  # type: ignore[attr-defined]
    match._write_down()  # type: ignore[attr-defined]
    assert used.desk.settings.searching.alpha == 0.2
    used.act("history.undo")
    match._write_down()  # type: ignore[attr-defined]
    assert used.desk.settings.searching.alpha == used.store.workspace.match_plan.alpha == 0.7


def test_opening_and_showing_are_no_steps(browsing: MainWindow) -> None:
    assert browsing.store.workspace.diagnosis is not None and not browsing.store.workspace.history.steps
    ids = browsing.store.workspace.shown_ids
    browsing.store.update(selection=Selection(np.array(ids[:1]), int(ids[0])))
    for word in ("match", "gallery"):
        browsing.stage.show_page(word)
    assert [step.label for step in browsing.store.workspace.history.steps] == ["selection of Ada Byron"]
