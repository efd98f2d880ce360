"""The gallery page: sorting, grouping, sizes, the three views, and the selection that all views share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget

from facelens.session.selection import Mode, Selection
from facelens.session.workspace import Arrangement
from facelens.views.grid import SIZES
from facelens.views.main_window import MainWindow
from facelens.views.panels.gallery import GalleryPanel

CTRL, SHIFT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier
LEFT = Qt.MouseButton.LeftButton


def click(window: MainWindow, place: int, modifiers: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
    grid = window.panel("gallery").grid
    QTest.mouseClick(grid.viewport(), LEFT, modifiers, grid.cell_rect(place).center())


def choose(combo, data: str) -> None:
    """As a user does: the signal of a choice by hand."""
    at = combo.findData(data)
    assert at >= 0, f"{data} is not offered"
    combo.setCurrentIndex(at)
    combo.activated.emit(at)


def test_clicks_make_the_one_selection_and_all_follow(browsing: MainWindow, settle: Callable) -> None:
    store = browsing.store
    ids = store.workspace.shown_ids
    click(browsing, 2)
    assert store.workspace.selection.ids.tolist() == [ids[2]] and store.workspace.selection.current == ids[2]
    click(browsing, 5, CTRL)
    assert set(store.workspace.selection.ids.tolist()) == {ids[2], ids[5]}
    click(browsing, 7, SHIFT)
    assert set(store.workspace.selection.ids.tolist()) == set(ids[5:8].tolist())
    settle(browsing)
    faces = store.workspace.faces
    assert browsing.panel("inspector").name.text() == faces.label(faces.row_of(int(ids[7])))
    assert browsing.docks["inspector"].header.subtitle() == "1 of 3 selected"
    assert browsing.selected.text() == "3 of 12 selected"


def test_selection_from_elsewhere_is_shown(browsing: MainWindow) -> None:
    ids = browsing.store.workspace.shown_ids
    browsing.stage.show_page("doctor")
    browsing.store.update(selection=Selection(ids=ids[3:6], current=int(ids[4])))
    browsing.stage.show_page("gallery")
    grid = browsing.panel("gallery").grid
    assert grid.current == ids[4] and np.array_equal(grid._selection.ids, np.sort(ids[3:6]))
    assert "selected" in grid.current_text()


def test_sort_by_every_column(browsing: MainWindow) -> None:
    panel, store = browsing.panel("gallery"), browsing.store
    faces = store.workspace.faces
    offered = [panel.sort.itemData(i) for i in range(panel.sort.count())]
    assert offered == ["", *faces.sortable, "flag", "rating", "tag", "note", "subset"]
    for name in offered:
        choose(panel.sort, name)
        assert store.workspace.arrangement.sort == name
        assert len(panel.grid.ids) == 12
    choose(panel.sort, "blur")
    panel.direction.click()
    values = faces.columns["blur"][faces.rows_of(panel.grid.ids)]
    known = values[~np.isnan(values)]
    assert (np.diff(known) <= 0).all() and np.isnan(values[len(known) :]).all(), "missing values come last"
    assert panel.direction.toolTip() == "Largest first. Click for smallest first."
    choose(panel.sort, "")
    assert not panel.direction.isEnabled()
    assert np.array_equal(panel.grid.ids, faces.ids)


def test_group(browsing: MainWindow) -> None:
    panel = browsing.panel("gallery")
    offered = {panel.group.itemData(i) for i in range(panel.group.count())}
    assert {"", "identity", "split"} <= offered and "blur" not in offered
    choose(panel.sort, "blur")
    choose(panel.group, "split")
    faces = browsing.store.workspace.faces
    split = [faces.columns["split"].name(int(row)) for row in faces.rows_of(panel.grid.ids)]
    assert split == ["test"] * 6 + ["train"] * 6
    browsing.grab()


def test_the_face_looked_at_stays_in_sight_when_sorting(
    open_window: Callable, make_gallery: Callable, tmp_path: Path, settle: Callable
) -> None:
    window = open_window()
    window.opening.open(make_gallery(tmp_path / "g", people=tuple(f"p{i:02}" for i in range(30)), pictures=4))
    settle(window)
    panel, store = window.panel("gallery"), window.store
    ids = store.workspace.shown_ids
    store.update(selection=Selection(ids=ids[100:101], current=int(ids[100])))
    for column in ("blur", "yaw", "identity"):
        choose(panel.sort, column)
        box = panel.grid.cell_rect(panel.grid.place_of(int(ids[100])))
        assert panel.grid.viewport().rect().intersects(box)


def test_sizes(browsing: MainWindow) -> None:
    panel = browsing.panel("gallery")
    assert panel.grid.thumbnail_size == 101 and SIZES[panel.size_slider.value()] == 101
    browsing.act("view.larger")
    assert panel.grid.thumbnail_size == 128 and SIZES[panel.size_slider.value()] == 128
    for _ in range(10):
        browsing.act("view.smaller")
    assert panel.grid.thumbnail_size == SIZES[0]
    panel.grid.set_thumbnail_size(224)
    assert SIZES[panel.size_slider.value()] == 224


def test_the_three_views(browsing: MainWindow, settle: Callable) -> None:
    panel, store = browsing.panel("gallery"), browsing.store
    ids = store.workspace.shown_ids
    panel.mode.button("loupe").click()
    assert panel.view == "grid" and panel.mode.value() == "grid", "no face to look at yet"
    assert browsing.statusBar().currentMessage() == "Needs a face. Click one first."
    click(browsing, 4)
    panel.mode.button("loupe").click()
    settle(browsing)
    assert panel.view == "loupe" and panel.loupe.isVisible()
    panel.step(1)
    assert store.workspace.selection.current == ids[5]
    browsing.act("view.grid")
    click(browsing, 6, CTRL)
    panel.mode.button("compare").click()
    settle(browsing)
    assert panel.view == "compare"
    store.update(selection=Selection())
    assert panel.view == "grid", "nothing to compare any more"


def test_double_click_opens_the_loupe(browsing: MainWindow) -> None:
    grid = browsing.panel("gallery").grid
    QTest.mouseDClick(grid.viewport(), LEFT, Qt.KeyboardModifier.NoModifier, grid.cell_rect(3).center())
    assert browsing.panel("gallery").view == "loupe"
    assert browsing.store.workspace.selection.current == grid.ids[3]


def test_summary_and_empty_result(browsing: MainWindow) -> None:
    panel, store = browsing.panel("gallery"), browsing.store
    assert (panel.count.text(), panel.of.text()) == ("12 faces", "4 identities")
    browsing.commands.show_identity("Bo_Chen")
    assert (panel.count.text(), panel.of.text()) == ("3 faces", "of 12 · 1 identity · filter on")
    store.update(arrangement=replace(store.workspace.arrangement, filter="blur > 9"))
    assert panel.count.text() == "0 faces"
    assert (
        panel.grid.current_text() == "No face matches No face matches blur > 9. Clear the filter (Esc) or widen it."
        or (panel.grid.current_text().endswith("No face matches blur > 9. Clear the filter (Esc) or widen it."))
    )
    browsing.grab()
    store.update(arrangement=Arrangement(), excluded=store.workspace.faces.ids)
    assert panel.grid.current_text().endswith("All faces are excluded. Take them back from the Gallery menu.")


def test_nobody_has_a_name(window: MainWindow, make_gallery: Callable, tmp_path: Path, settle: Callable) -> None:
    root = make_gallery(tmp_path / "flat", people=("a",), pictures=3, manifest=False)
    flat = tmp_path / "only"
    flat.mkdir()
    for i, picture in enumerate(sorted(root.rglob("*.png"))):
        picture.rename(flat / f"{'abc'[i]}zzz.png")
    window.opening.open(flat)
    settle(window)
    panel = window.panel("gallery")
    assert panel.of.text() == "no identities"
    assert [panel.group.itemData(i) for i in range(panel.group.count())] == [""]
    assert window.panel("identities").model.rowCount() == 0
    window.act("select.next")
    window.act("select.identity")
    window.act("view.loupe")
    settle(window)
    window.grab()


def test_banner_comes_and_goes(panel: Callable, load: Callable, make_gallery: Callable, tmp_path: Path, calls) -> None:
    page = panel(GalleryPanel)
    load(make_gallery(tmp_path / "hurt", broken=2, manifest=False))
    assert page.banner.isVisible() and page.banner.text().startswith("2 of 12 pictures could not be read")
    page.banner.acted.emit()
    assert calls.named("act") == ["doctor.show"]
    load(make_gallery(tmp_path / "whole", manifest=False))
    assert not page.banner.isVisible()


def test_a_hidden_page_refreshes_when_it_is_shown(panel: Callable, load: Callable, tiny_faces: Path, desk) -> None:
    page = panel(GalleryPanel, shown=False)
    seen: list[frozenset[str]] = []
    real = page.refresh
    page.refresh = lambda changed: (seen.append(changed), real(changed))  # type: ignore[method-assign]
    load(tiny_faces)
    desk.store.update(selection=Selection(ids=desk.workspace.faces.ids[:2]))
    assert not seen and not len(page.grid.ids)
    page.show()
    assert len(seen) == 1 and {"faces", "selection"} <= seen[0]
    assert len(page.grid.ids) == 12 and len(page.grid._selection) == 2
    page.hide()
    page.show()
    assert len(seen) == 1, "nothing changed meanwhile"


@pytest.mark.parametrize("mode", list(Mode))
def test_what_the_grid_wishes_becomes_the_selection(
    mode: Mode, panel: Callable, load: Callable, tiny_faces, desk
) -> None:
    page = panel(GalleryPanel)
    load(tiny_faces)
    ids = desk.workspace.faces.ids
    desk.store.update(selection=Selection(ids=ids[:4]))
    page.grid.select.emit(ids[2:6], mode)
    assert np.array_equal(desk.workspace.selection.ids, Selection(ids=ids[:4]).combine(ids[2:6], mode).ids)


@pytest.mark.parametrize("width", [560, 640, 760, 1100])
def test_controls_of_the_grid_do_not_lie_over_each_other(browsing: MainWindow, width: int, pump: Callable) -> None:
    panel = browsing.panel("gallery")
    browsing.stage.setFixedWidth(width)
    pump(0.05)
    parts = [one for one in panel.controls.findChildren(QWidget) if one.parent() is panel.controls and one.isVisible()]
    parts.sort(key=lambda one: one.x())
    for one, other in pairwise(parts):
        assert one.x() + one.width() <= other.x(), f"{one.accessibleName()} and {other.accessibleName()}"
    assert parts[-1].x() + parts[-1].width() <= panel.controls.width()
