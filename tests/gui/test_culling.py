"""Culling: keys in grid and loupe, moving on, a list that stands still, marks on faces, undo."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from facelens.images.faceset import FaceSet
from facelens.session.annotations import FLAGGED, REJECTED, flagged, rated, tagged
from facelens.session.selection import Selection
from facelens.session.workspace import Arrangement, Source
from facelens.views import marks
from facelens.views.main_window import MainWindow

KEY = Qt.Key


def look(window: MainWindow, place: int) -> int:
    face = int(window.store.workspace.shown_ids[place])
    window.store.update(selection=Selection(np.array([face]), face))
    return face


def press(window: MainWindow, *keys: Qt.Key) -> None:
    for key in keys:
        QTest.keyClick(window.stage.current.home(), key)


def flag_of(window: MainWindow, face: int) -> int:
    return window.store.workspace.annotations.flags.of(face)


def rating_of(window: MainWindow, face: int) -> int:
    return window.store.workspace.annotations.ratings.of(face)


@pytest.mark.parametrize("view", ["grid", "loupe"])
def test_keys_mark_the_face(browsing: MainWindow, view: str) -> None:
    face = look(browsing, 4)
    browsing.panel("gallery").show_view(view)
    press(browsing, KEY.Key_P)
    assert flag_of(browsing, face) == FLAGGED
    press(browsing, KEY.Key_X, KEY.Key_4)
    assert (flag_of(browsing, face), rating_of(browsing, face)) == (REJECTED, 4)
    press(browsing, KEY.Key_U, KEY.Key_0)
    assert (flag_of(browsing, face), rating_of(browsing, face)) == (0, 0)
    assert browsing.panel("gallery").view == view and browsing.store.workspace.selection.current == face


def test_grid_marks_the_selection_and_the_loupe_one_face(browsing: MainWindow) -> None:
    ids = browsing.store.workspace.shown_ids
    browsing.store.update(selection=Selection(ids[2:6], int(ids[3])))
    press(browsing, KEY.Key_P)
    assert len(browsing.store.workspace.annotations.flags) == 4
    assert browsing.store.workspace.history.undo == "flag of 4 faces"
    browsing.panel("gallery").show_view("loupe")
    press(browsing, KEY.Key_X)
    assert browsing.store.workspace.annotations.flags.having(REJECTED).tolist() == [ids[3]]
    assert "rejected" in browsing.panel("gallery").loupe.accessibleDescription()


@pytest.mark.parametrize("view", ["grid", "loupe"])
def test_moving_on_after_marking(browsing: MainWindow, view: str) -> None:
    ids = browsing.store.workspace.shown_ids
    browsing.act("mark.advance")
    assert browsing.desk.settings.advance and browsing.actions_by_id["mark.advance"].isChecked()
    look(browsing, 9)
    browsing.panel("gallery").show_view(view)
    press(browsing, KEY.Key_P, KEY.Key_5, KEY.Key_X)
    said = browsing.store.workspace.annotations
    assert said.flags.at(ids[9:]).tolist() == [FLAGGED, 0, REJECTED] and said.ratings.of(int(ids[10])) == 5
    assert browsing.store.workspace.selection.current == ids[11], "at the end it stays"
    browsing.act("history.undo")
    assert flag_of(browsing, int(ids[11])) == 0


def test_undoing_leads_back_to_the_face(browsing: MainWindow) -> None:
    browsing.act("mark.advance")
    face = look(browsing, 0)
    press(browsing, KEY.Key_X)
    assert browsing.store.workspace.selection.current != face
    browsing.act("history.undo")
    assert browsing.store.workspace.selection.current == face and flag_of(browsing, face) == 0


def test_the_list_never_jumps(browsing: MainWindow) -> None:
    panel, store = browsing.panel("gallery"), browsing.store
    store.update(arrangement=Arrangement(filter="not flag = rejected", sort="rating", descending=True))
    before = panel.grid.ids.copy()
    face = look(browsing, 7)
    press(browsing, KEY.Key_X, KEY.Key_5)
    assert panel.grid.ids.tolist() == before.tolist() and panel.grid.current == face
    assert panel.again.isVisible()
    QTest.mouseClick(panel.again, Qt.MouseButton.LeftButton)
    assert face not in panel.grid.ids and len(panel.grid.ids) == 11 and not panel.again.isVisible()
    browsing.act("history.undo")
    browsing.act("history.undo")
    browsing.act("find.again")
    assert panel.grid.ids.tolist() == before.tolist()


def test_marks_are_drawn_and_told(browsing: MainWindow, monkeypatch: pytest.MonkeyPatch, settle: Callable) -> None:
    drawn: list[str] = []
    for name in ("flag", "reject"):
        monkeypatch.setattr(marks, name, lambda *_, name=name: drawn.append(name))
    grid = browsing.panel("gallery").grid
    look(browsing, 1)
    press(browsing, KEY.Key_P, KEY.Key_3)
    look(browsing, 2)
    press(browsing, KEY.Key_X)
    settle(browsing)
    drawn.clear()
    grid.grab()
    assert sorted(drawn) == ["flag", "reject"]
    assert "rejected" in grid.current_text()
    look(browsing, 1)
    assert "flagged" in grid.current_text() and "rated 3" in grid.current_text()


def test_grouped_by_flag(browsing: MainWindow) -> None:
    look(browsing, 5)
    press(browsing, KEY.Key_X)
    browsing.store.update(arrangement=replace(browsing.store.workspace.arrangement, group="flag"))
    grid = browsing.panel("gallery").grid
    assert [grid._group_name(i) for i in range(2)] == ["rejected", "none"]


def test_one_flag_among_many_is_quick(window: MainWindow, pump: Callable) -> None:
    n = 100_000
    names = [f"p{i % 5000}" for i in range(n)]
    faces = FaceSet.build("many", Path("/nowhere"), paths=[b"%06d.png" % i for i in range(n)], identities=names)
    window.store.update(faces=faces, source=Source(Path("/nowhere"), "many", n, "folders"))
    said = rated(window.store.workspace.annotations, faces.ids[::2], 3)
    said = tagged(flagged(said, faces.ids[1::2], FLAGGED), faces.ids[::3], "blurry")
    window.store.update(annotations=said)
    window.store.update(arrangement=Arrangement(filter="not flag = rejected", sort="rating"))
    look(window, 50_000)
    pump()
    took = []
    for _ in range(8):
        start = time.thread_time()  # of this thread: other work on the machine does not count
        window.act("mark.reject")
        took.append(time.thread_time() - start)
        look(window, 50_000 + len(took))
        pump()
    assert len(window.store.workspace.shown) == n
    assert min(took) < 0.05, f"{1000 * min(took):.0f} ms"
    print(f"a flag among {n:,}: {1000 * min(took):.1f} to {1000 * max(took):.1f} ms")
