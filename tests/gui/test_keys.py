"""The sheet of keys: searched, printed, changed; whatever shows a key follows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel

from facelens.session import keys
from facelens.session.selection import Selection
from facelens.session.settings import Settings
from facelens.views.key_sheet import KeySheet
from facelens.views.main_window import MainWindow
from facelens.views.palette import entries


@pytest.fixture(autouse=True)
def usual() -> Iterator[None]:
    yield
    keys.use({})


@pytest.fixture
def sheet(browsing: MainWindow, pump: Callable) -> Iterator[KeySheet]:
    browsing.act("keys.show")
    yield next(one for one in QApplication.topLevelWidgets() if isinstance(one, KeySheet))
    for one in QApplication.topLevelWidgets():
        if isinstance(one, KeySheet):
            one.close()
    pump()


def press(sheet: KeySheet, id: str, key: str) -> None:
    QTest.mouseClick(sheet.caps[id], Qt.MouseButton.LeftButton)
    sheet.line.setKeySequence(QKeySequence(key))


def test_it_is_searched(sheet: KeySheet) -> None:
    assert sheet.caps["mark.flag"].text() == "P" and "doctor.run" not in sheet.caps
    sheet.search.setText("rate mark")
    assert set(sheet.caps) == {f"mark.rate_{n}" for n in ("one", "two", "three", "four", "five")}
    sheet.search.setText("qqqq")
    assert not sheet.caps and any("qqqq" in one.text() for one in sheet.findChildren(QLabel))
    sheet.search.clear()
    sheet.everything.click()
    assert sheet.caps["doctor.run"].text() == "–"


def test_a_changed_key_works_and_is_shown_everywhere(browsing: MainWindow, sheet: KeySheet, pump: Callable) -> None:
    press(sheet, "mark.flag", "F9")
    assert sheet.take.isEnabled() and sheet.take.text() == "Set"
    QTest.mouseClick(sheet.take, Qt.MouseButton.LeftButton)
    assert sheet.caps["mark.flag"].text() == "F9" and browsing.desk.settings.keys == {"mark.flag": ("F9",)}
    sheet.close()
    assert browsing.key_of("mark.flag") == "F9"
    assert browsing.actions_by_id["mark.flag"].shortcuts() == [QKeySequence("F9")]
    flag = next(one for one in entries("flag", browsing.store.workspace, browsing.key_of) if one.target == "mark.flag")
    assert flag.key == "F9"
    assert "(F9)" in browsing.panel("inspector").marks.flag.toolTip()
    ids = browsing.store.workspace.shown_ids
    browsing.store.update(selection=Selection(ids[:1], int(ids[0])))
    grid = browsing.panel("gallery").grid
    pump()
    browsing.activateWindow()
    pump()
    grid.setFocus()
    QTest.keyClick(grid, Qt.Key.Key_P)
    assert not len(browsing.store.workspace.annotations.flags)
    QTest.keyClick(grid, Qt.Key.Key_F9)
    assert len(browsing.store.workspace.annotations.flags) == 1


def test_clashes_are_told_and_can_be_taken(browsing: MainWindow, sheet: KeySheet) -> None:
    press(sheet, "mark.flag", "Ctrl+O")
    assert sheet.take.text() == "Take it" and "Open gallery folder" in sheet.problem.text()
    QTest.mouseClick(sheet.take, Qt.MouseButton.LeftButton)
    assert browsing.key_of("gallery.open") == "" and browsing.key_of("mark.flag") == "Ctrl+O"
    assert "Ctrl+O" not in browsing.panel("gallery").welcome.first.toolTip()
    press(sheet, "mark.flag", "Space")
    assert not sheet.take.isEnabled() and "Space" in sheet.problem.text()
    QTest.mouseClick(sheet.usual, Qt.MouseButton.LeftButton)
    assert browsing.key_of("mark.flag") == "P"
    press(sheet, "mark.flag", "P")
    QTest.mouseClick(sheet.none, Qt.MouseButton.LeftButton)
    assert browsing.key_of("mark.flag") == ""
    QTest.mouseClick(sheet.reset, Qt.MouseButton.LeftButton)
    assert browsing.desk.settings.keys == {} and browsing.key_of("gallery.open") == "Ctrl+O"
    assert "(Ctrl+O)" in browsing.panel("gallery").welcome.first.toolTip()


def test_the_field_is_left_by_esc_and_the_sheet_says_what_a_click_does(browsing: MainWindow, sheet: KeySheet) -> None:
    assert sheet.told.isVisible() and "Click a key" in sheet.told.text()
    press(sheet, "mark.flag", "F9")
    assert sheet.editor.isVisible() and not sheet.told.isVisible()
    QTest.keyClick(sheet.line, Qt.Key.Key_Escape)
    assert sheet.isVisible() and not sheet.editor.isVisible() and sheet.told.isVisible()
    assert browsing.desk.settings.keys == {} and browsing.key_of("mark.flag") == "P"


def test_keys_are_there_again_in_a_new_window(open_window: Callable[..., MainWindow]) -> None:
    window = open_window(Settings(theme="dark", keys={"palette.open": ("F2",)}))
    assert window.key_of("palette.open") == "F2" and "(F2)" in window.find_button.toolTip()


def test_it_is_written_for_paper(sheet: KeySheet, tmp_path: Path) -> None:
    sheet.write(tmp_path / "keys.pdf")
    written = (tmp_path / "keys.pdf").read_bytes()
    assert written.startswith(b"%PDF") and written.count(b"/Type /Page\n") + written.count(b"/Type /Page ") <= 2


def test_views_that_listen_for_keys_of_commands_ask_the_table(browsing: MainWindow, pump: Callable) -> None:
    """The grid and the loupe do by themselves what some commands do; the old keys of those do nothing there either."""
    gallery, store = browsing.panel("gallery"), browsing.store
    ids = store.workspace.shown_ids
    store.update(selection=Selection(ids[:1], int(ids[0])))
    chosen = {"view.loupe": ("F9",), "select.all": ("F10",), "select.invert": ("F11",), "view.grid": ("F12",)}
    browsing.set_keys({**chosen, "select.none": ("Ctrl+B",)})
    grid = gallery.grid
    grid.setFocus()
    for key, held in ((Qt.Key.Key_E, False), (Qt.Key.Key_A, True), (Qt.Key.Key_I, True), (Qt.Key.Key_Escape, False)):
        modifiers = Qt.KeyboardModifier.ControlModifier if held else Qt.KeyboardModifier.NoModifier
        QTest.keyClick(grid, key, modifiers)
        assert gallery.view == "grid" and len(store.workspace.selection) == 1, key
    QTest.keyClick(grid, Qt.Key.Key_F11)
    assert len(store.workspace.selection) == len(ids) - 1
    QTest.keyClick(grid, Qt.Key.Key_F10)
    assert len(store.workspace.selection) == len(ids)
    QTest.keyClick(grid, Qt.Key.Key_F9)
    assert gallery.view == "loupe"
    for key in (Qt.Key.Key_G, Qt.Key.Key_Escape):
        QTest.keyClick(gallery.loupe, key)
        assert gallery.view == "loupe", key
    QTest.keyClick(gallery.loupe, Qt.Key.Key_F12)
    assert gallery.view == "grid"
    QTest.keyClick(grid, Qt.Key.Key_B, Qt.KeyboardModifier.ControlModifier)
    assert not len(store.workspace.selection)


def test_a_view_alone_listens_for_the_chosen_keys(panel: Callable, load: Callable, tiny_faces: Path, desk) -> None:
    """Where no window catches the key before, as in a list whose command cannot be used."""
    from facelens.views.panels.doctor import DoctorPanel

    page = panel(DoctorPanel)
    load(tiny_faces)
    opened: list[int] = []
    page.grid.open_face.connect(opened.append)
    page.grid.set_faces(desk.workspace.faces, desk.workspace.shown)
    keys.use({"view.loupe": ("F9",), "select.all": ("Alt+A",)})
    QTest.keyClick(page.grid, Qt.Key.Key_Right)
    QTest.keyClick(page.grid, Qt.Key.Key_E)
    QTest.keyClick(page.grid, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    assert not opened and len(desk.workspace.selection) == 1
    QTest.keyClick(page.grid, Qt.Key.Key_A, Qt.KeyboardModifier.AltModifier)
    assert len(desk.workspace.selection) == 12
    QTest.keyClick(page.grid, Qt.Key.Key_F9)
    assert len(opened) == 1
    keys.use({})
    QTest.keyClick(page.grid, Qt.Key.Key_E)
    assert len(opened) == 2


def test_no_view_knows_the_key_of_a_command_by_heart() -> None:
    """Letters that are keys of commands occur in views only through the table, in code and in words."""
    import re

    from facelens.session.actions import ACTIONS

    letters = {key for action in ACTIONS for key in action.keys if len(key) == 1 and key.isalpha()}
    whole = {key for action in ACTIONS for key in action.keys if "+" in key and len(key) > 2}
    root = Path(keys.__file__).parents[1]
    found = []
    for file in sorted((root / "views").rglob("*.py")):
        if file.name == "guide.py":  # a window of its own, with the usual keys of a reader
            continue
        for number, line in enumerate(file.read_text().splitlines(), 1):
            if '"""' in line:
                continue
            by_code = re.search(rf"Key_[{''.join(letters)}]\b", line)
            by_word = any(re.search(rf'{re.escape(key)}(?![\w+])', line) for key in whole if key != "Ctrl++")
            if by_code or by_word or re.search(rf"tr\(.*\(([{''.join(letters)}]|Esc)\)", line):
                found.append(f"{file.name}:{number}: {line.strip()}")
    assert not found


def test_tooltips_that_name_a_key_follow_it(browsing: MainWindow) -> None:
    places = {
        "gallery.open": [browsing.panel(word).open for word in ("match", "projection", "evaluation")],
        "model.swap": [browsing.chips["model_a"], browsing.chips["model_b"]],
        "select.none": [browsing.panel("filter").line],
        "select.identity": [browsing.panel("inspector").strip],
        "identity.name": [browsing.panel("inspector").rename],
    }
    browsing.set_keys(dict.fromkeys(places, ("F9",)))
    for id, widgets in places.items():
        assert all("F9" in one.toolTip() for one in widgets), id
    browsing.set_keys(dict.fromkeys(places, ()))
    for id, widgets in places.items():
        assert all("F9" not in one.toolTip() and "()" not in one.toolTip() for one in widgets), id
