"""The palette: finding commands, identities and pictures by typing; running them with the keyboard."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from facelens.session.actions import ACTIONS
from facelens.session.workspace import Workspace
from facelens.views.main_window import MainWindow
from facelens.views.palette import entries

CTRL = Qt.KeyboardModifier.ControlModifier


def shown(window: MainWindow) -> list:
    return [line.of for line in window.palette_card.list.lines]


def press(key: Qt.Key, modifiers: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
    QTest.keyClick(QApplication.focusWidget(), key, modifiers)


def test_every_action_is_there() -> None:
    found = {entry.target for entry in entries("", Workspace(), lambda id: "")}
    assert found == {action.id for action in ACTIONS} - {"palette.open"}


def test_what_cannot_be_used_says_why_and_comes_after_what_can() -> None:
    found = entries("gallery", Workspace(), lambda id: "")
    assert found[0].target == "gallery.open" and not found[0].reason
    called = [entry for entry in found if "gallery" in entry.text.lower()]
    assert found[: len(called)] == called  # ahead of those that only speak of a gallery
    for part in (called, found[len(called) :]):
        reasons = [bool(entry.reason) for entry in part]
        assert reasons == sorted(reasons)
    assert next(e for e in found if e.target == "gallery.close").reason.startswith("Needs a gallery.")


def test_ctrl_k_opens_types_runs_and_gives_the_keyboard_back(browsing: MainWindow) -> None:
    grid = browsing.panel("gallery").grid
    grid.setFocus()
    press(Qt.Key.Key_K, CTRL)
    assert browsing.palette_card.isVisible()
    assert QApplication.focusWidget() is browsing.palette_card.line
    QTest.keyClicks(QApplication.focusWidget(), "report lay")
    assert shown(browsing)[0].target == "layout.report"
    assert shown(browsing)[0].key == "Ctrl+4"
    press(Qt.Key.Key_Return)
    assert not browsing.palette_card.isVisible() and browsing.layout_name == "report"
    assert QApplication.focusWidget() is grid
    press(Qt.Key.Key_P, CTRL | Qt.KeyboardModifier.ShiftModifier)
    assert browsing.palette_card.isVisible() and browsing.palette_card.line.text() == ""
    press(Qt.Key.Key_Escape)
    assert not browsing.palette_card.isVisible() and QApplication.focusWidget() is grid


def test_arrows_choose(browsing: MainWindow) -> None:
    browsing.act("palette.open")
    rows = browsing.palette_card.list
    for key, row in (
        (Qt.Key.Key_Down, 1),
        (Qt.Key.Key_Down, 2),
        (Qt.Key.Key_Up, 1),
        (Qt.Key.Key_PageDown, 11),
        (Qt.Key.Key_PageUp, 1),
        (Qt.Key.Key_PageUp, 0),
        (Qt.Key.Key_Up, 0),
    ):
        press(key)
        assert rows.row == row


def test_a_disabled_line_does_nothing(window: MainWindow) -> None:
    window.act("palette.open")
    window.palette_card.line.setText("close gallery")
    assert shown(window)[0].reason
    press(Qt.Key.Key_Return)
    assert window.palette_card.isVisible()


def test_identities_and_pictures(browsing: MainWindow) -> None:
    browsing.act("palette.open")
    browsing.palette_card.line.setText("bo chen")
    [who] = [entry for entry in shown(browsing) if entry.kind == "identity"]
    assert who.text == "Bo Chen"
    press(Qt.Key.Key_Return)
    workspace = browsing.store.workspace
    assert {workspace.faces.identity.name(int(row)) for row in workspace.shown} == {"Bo_Chen"}
    browsing.act("palette.open")
    browsing.palette_card.line.setText("Cy_Diaz/01")
    [picture] = [entry for entry in shown(browsing) if entry.kind == "picture"]
    assert picture.text == "01.png"
    press(Qt.Key.Key_Return)
    workspace = browsing.store.workspace
    assert workspace.selection.current == picture.target and workspace.arrangement.filter == ""


def test_nothing_fits(browsing: MainWindow) -> None:
    browsing.act("palette.open")
    browsing.palette_card.line.setText("zzzz<b>")
    [entry] = shown(browsing)
    assert entry.text == "Nothing fits zzzz<b>"
    for key in (Qt.Key.Key_Down, Qt.Key.Key_Return):
        press(key)
    browsing.grab()
    assert browsing.palette_card.isVisible()


def test_odd_words_are_searched_not_read_as_rules(browsing: MainWindow) -> None:
    for typed in ('"', "and", "not (", "path ~", "\\", "💡💡💡", "a" * 3000, "has:", "x > "):
        assert len(entries(typed, browsing.store.workspace, lambda id: "")) < len(ACTIONS)


def test_a_line_is_read_out_whole(window: MainWindow) -> None:
    window.act("palette.open")
    said = [line.spoken for line in window.palette_card.list.lines]
    assert "Open gallery folder, Ctrl+O" in said
    assert "Close gallery, Needs a gallery. Open one first (Ctrl+O)." in said


def test_it_closes_when_the_keyboard_goes_elsewhere(browsing: MainWindow, pump: Callable) -> None:
    browsing.act("palette.open")
    browsing.panel("filter").line.setFocus()
    assert not browsing.palette_card.isVisible()


def test_the_place_it_came_from_may_be_gone(browsing: MainWindow, pump: Callable) -> None:
    browsing.commands.show_identity("Bo_Chen")
    pump()
    chip = browsing.panel("filter").flow.itemAt(0).widget()
    chip.setFocus()
    browsing.act("palette.open")
    browsing.act("find.clear")
    pump()
    press(Qt.Key.Key_Escape)
    assert not browsing.palette_card.isVisible()


def test_it_fits_the_window(browsing: MainWindow, pump: Callable) -> None:
    browsing.resize(900, 560)
    browsing.act("palette.open")
    pump()
    assert browsing.rect().contains(browsing.palette_card.geometry())


def test_people_come_before_commands_that_only_speak_of_what_was_typed(browsing: MainWindow) -> None:
    found = entries("chen", browsing.store.workspace, lambda id: "")
    assert found[0].kind == "identity" and found[0].target == "Bo_Chen"
    found = entries("di", browsing.store.workspace, lambda id: "")  # Di Eng, Cy Diaz
    kinds = [entry.kind for entry in found]
    spoken = [e.target for e in found[kinds.index("identity") :] if e.kind == "command"]
    assert spoken and not any("di" in e.text.lower() for e in found if e.target in spoken)


def test_people_and_pictures_show_a_face(browsing: MainWindow) -> None:
    faces = browsing.store.workspace.faces
    who, *_ = entries("chen", browsing.store.workspace, lambda id: "")
    assert faces.identity.name(who.row) == "Bo_Chen"
    picture = next(e for e in entries("02.png", browsing.store.workspace, lambda id: "") if e.kind == "picture")
    assert int(faces.ids[picture.row]) == picture.target


def test_a_switch_says_how_it_stands(browsing: MainWindow) -> None:
    for state in ("off", "on", "off"):
        browsing.act("palette.open")
        browsing.palette_card.line.setText("blur faces in")
        [line, *_] = browsing.palette_card.list.lines
        assert line.of.target == "figure.blur" and line.of.state == state and line.spoken.endswith(f", {state}")
        browsing.palette_card.grab()
        press(Qt.Key.Key_Return)
    assert browsing.desk.settings.blur
    browsing.act("figure.blur")
