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


def test_keys_are_there_again_in_a_new_window(open_window: Callable[..., MainWindow]) -> None:
    window = open_window(Settings(theme="dark", keys={"palette.open": ("F2",)}))
    assert window.key_of("palette.open") == "F2" and "(F2)" in window.find_button.toolTip()


def test_it_is_written_for_paper(sheet: KeySheet, tmp_path: Path) -> None:
    sheet.write(tmp_path / "keys.pdf")
    written = (tmp_path / "keys.pdf").read_bytes()
    assert written.startswith(b"%PDF") and written.count(b"/Type /Page\n") + written.count(b"/Type /Page ") <= 2
