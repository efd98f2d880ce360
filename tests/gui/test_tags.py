"""Tags: the dock, the inspector's marks, subsets and how they are combined."""

from __future__ import annotations

import csv
from collections.abc import Callable
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialog, QInputDialog

from facelens.session.annotations import FLAGGED, REJECTED, flagged, noted, rated, tagged
from facelens.session.selection import Selection
from facelens.views.combining import CombineSubsets
from facelens.views.docks.inspector import InspectorDock
from facelens.views.docks.tags import TagsDock
from facelens.views.main_window import MainWindow

ALT, CTRL, NONE = (
    Qt.KeyboardModifier.AltModifier,
    Qt.KeyboardModifier.ControlModifier,
    Qt.KeyboardModifier.NoModifier,
)


def rows(dock: TagsDock) -> dict[str, int]:
    assert [line.text for line in dock.list.lines] == [one.text for one in dock.entries]
    return {one.text: len(one.ids) for one in dock.entries if one.name}


def click(dock: TagsDock, text: str, modifiers: Qt.KeyboardModifier = NONE) -> None:
    row = next(row for row, line in enumerate(dock.list.lines) if line.text == text)
    index = dock.list.model().index(row, 0)
    dock.list.scrollTo(index)
    spot = dock.list.visualRect(index).center()
    QTest.mouseClick(dock.list.viewport(), Qt.MouseButton.LeftButton, modifiers, spot)


def type_in(line, text: str) -> None:
    line.setFocus()
    line.setText(text)
    QTest.keyClick(line, Qt.Key.Key_Return)


@pytest.fixture
def marked(browsing: MainWindow) -> MainWindow:
    time = count(100.0, 5.0)
    browsing.store.clock = lambda: next(time)  # a hand takes its time
    ids = browsing.store.workspace.shown_ids
    said = browsing.store.workspace.annotations
    said = rated(flagged(flagged(said, ids[:2], FLAGGED), ids[2:5], REJECTED), ids[4:8], 5)
    browsing.store.update(annotations=tagged(tagged(said, ids[:3], "blurry"), ids[2:6], "hat on"))
    return browsing


def answer(text: str) -> None:
    """As a user does: the name, then OK."""
    dialog = next(one for one in QApplication.topLevelWidgets() if isinstance(one, QInputDialog) and one.isVisible())
    dialog.setTextValue(text)
    dialog.accept()


def test_counts_and_clicks(marked: MainWindow) -> None:
    dock, store = marked.panel("tags"), marked.store
    assert rows(dock) == {"Flagged": 2, "Rejected": 3, "★★★★★": 4, "blurry": 3, "hat on": 4}
    click(dock, "blurry")
    assert store.workspace.arrangement.filter == "tag = blurry" and len(store.workspace.shown) == 3
    assert ("tag", "blurry") in dock.chosen
    click(dock, "hat on", CTRL)
    assert store.workspace.arrangement.filter == '(tag = blurry or tag = "hat on")'
    assert len(store.workspace.shown) == 6
    click(dock, "Rejected", ALT)
    assert len(store.workspace.shown) == 3 and "not flag = rejected" in store.workspace.arrangement.filter
    click(dock, "★★★★★")
    assert len(store.workspace.shown) == 1
    click(dock, "★★★★★")
    assert len(store.workspace.shown) == 3, "a second click takes it back"


def test_a_selection_is_tagged_by_typing(marked: MainWindow) -> None:
    dock, store = marked.panel("tags"), marked.store
    ids = store.workspace.shown_ids
    store.update(selection=Selection(ids[5:9], int(ids[5])))
    marked.act("mark.tag")
    assert marked.focusWidget() is dock.line and dock.line.placeholderText() == "Tag 4 faces"
    type_in(dock.line, "Hat_On, new one")
    tags = store.workspace.annotations.tags
    assert len(tags["hat on"]) == 7 and len(tags["new one"]) == 4 and dock.line.text() == ""
    assert store.workspace.history.undo == "marks"
    marked.act("history.undo")
    assert "new one" not in store.workspace.annotations.tags


def test_names_that_cannot_be_are_told(marked: MainWindow) -> None:
    ids = marked.store.workspace.shown_ids
    marked.store.update(selection=Selection(ids[:1], int(ids[0])))
    before = marked.store.workspace.annotations
    type_in(marked.panel("tags").line, "x" * 80)
    assert marked.store.workspace.annotations is before and marked.notices.cards


def test_subsets_are_made_combined_renamed_and_deleted(marked: MainWindow, pump: Callable) -> None:
    dock, store = marked.panel("tags"), marked.store
    ids = store.workspace.shown_ids
    store.update(selection=Selection(ids[:6], int(ids[0])))
    QTest.mouseClick(dock.from_selection, Qt.MouseButton.LeftButton)
    answer("first six")
    assert store.workspace.subsets["first six"].tolist() == np.sort(ids[:6]).tolist()
    click(dock, "blurry")
    marked.act("subset.make_shown")
    answer("soft")
    assert len(store.workspace.subsets["soft"]) == 3
    marked.act("subset.combine")
    dialog = next(one for one in QApplication.topLevelWidgets() if isinstance(one, CombineSubsets))
    dialog.join.set_value("not")
    dialog.name.setText("sharp six")
    dialog._show()
    assert dialog.count.text() == "3 faces"
    dialog.buttons.accepted.emit()
    pump()
    assert set(store.workspace.subsets["sharp six"].tolist()) == set(ids[3:6].tolist())
    assert rows(dock)["sharp six"] == 3
    marked.act("find.clear")
    click(dock, "sharp six")
    assert store.workspace.arrangement.filter == 'subset = "sharp six"' and len(store.workspace.shown) == 3
    QTest.mouseClick(dock.pencil, Qt.MouseButton.LeftButton)
    answer("sharp")
    assert list(store.workspace.subsets) == ["first six", "soft", "sharp"]
    QTest.mouseClick(dock.bin, Qt.MouseButton.LeftButton)
    assert list(store.workspace.subsets) == ["first six", "soft"] and len(store.workspace.faces) == 12
    marked.act("history.undo")
    assert list(store.workspace.subsets) == ["first six", "soft", "sharp"]


def test_a_tag_is_renamed_and_deleted(marked: MainWindow) -> None:
    dock, store = marked.panel("tags"), marked.store
    click(dock, "blurry")
    QTest.keyClick(dock.list, Qt.Key.Key_F2)
    answer("soft")
    assert list(store.workspace.annotations.tags) == ["hat on", "soft"]
    assert store.workspace.arrangement.filter == "tag = soft" and len(store.workspace.shown) == 3
    assert store.workspace.history.undo == "tag blurry → soft"
    marked.act("history.undo")
    assert store.workspace.arrangement.filter == "tag = blurry" and len(store.workspace.shown) == 3
    marked.act("history.redo")
    click(dock, "soft")
    QTest.mouseClick(dock.bin, Qt.MouseButton.LeftButton)
    assert list(store.workspace.annotations.tags) == ["hat on"]
    assert not [one for one in QApplication.topLevelWidgets() if isinstance(one, QDialog) and one.isVisible()]


def test_the_inspector_shows_and_changes(panel: Callable, load: Callable, tiny_faces: Path, desk, settle, pump) -> None:
    load(tiny_faces)
    dock = panel(InspectorDock)
    ids = desk.workspace.faces.ids
    desk.store.update(selection=Selection(ids[:2], int(ids[0])))
    card = dock.marks
    QTest.mouseClick(card.stars[3], Qt.MouseButton.LeftButton)
    QTest.mouseClick(card.flag, Qt.MouseButton.LeftButton)
    type_in(card.line, "blurry")
    said = desk.workspace.annotations
    assert said.ratings.of(int(ids[0])) == 4 and said.flags.of(int(ids[0])) == FLAGGED
    assert said.tags["blurry"].tolist() == [ids[0]], "one face, whatever is selected"
    assert [star.text() for star in card.stars] == ["★"] * 4 + ["☆"]
    card.note.setFocus()
    card.note.setPlainText("ask first")
    card.line.setFocus()
    pump()
    assert desk.workspace.annotations.notes == {int(ids[0]): "ask first"}
    card.flow.itemAt(0).widget().removed.emit()
    QTest.mouseClick(card.stars[3], Qt.MouseButton.LeftButton)
    assert not desk.workspace.annotations.tags and not len(desk.workspace.annotations.ratings)
    desk.store.update(selection=Selection(ids[1:2], int(ids[1])))
    assert card.note.toPlainText() == "" and not card.flag.isChecked()
    settle(desk)


def test_a_note_is_of_its_face(panel: Callable, load: Callable, tiny_faces: Path, desk, settle) -> None:
    load(tiny_faces)
    dock = panel(InspectorDock)
    ids = desk.workspace.faces.ids
    desk.store.update(selection=Selection(ids[:1], int(ids[0])))
    dock.marks.note.setFocus()
    QTest.keyClicks(dock.marks.note, "half a")
    desk.store.update(selection=Selection(ids[1:2], int(ids[1])))
    dock.marks.line.setFocus()
    assert desk.workspace.annotations.notes == {int(ids[0]): "half a"}
    settle(desk)


def test_a_list_carries_what_was_said(marked: MainWindow, tmp_path: Path, settle: Callable) -> None:
    ids = marked.store.workspace.shown_ids
    said = noted(marked.store.workspace.annotations, ids[:1], "=cmd|calc")
    marked.store.update(annotations=said, selection=Selection(ids[:3], int(ids[0])))
    marked.commands.export_list(tmp_path / "list.csv")
    settle(marked)
    with (tmp_path / "list.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    assert [line["flag"] for line in lines] == ["flagged", "flagged", "rejected"]
    assert [line["tag"] for line in lines] == ["blurry", "blurry", "blurry, hat on"]
    assert lines[0]["note"] == "'=cmd|calc" and lines[0]["rating"] == "" and "subset" not in lines[0]
