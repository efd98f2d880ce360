"""The projection page with two models: who moved, what was gained and lost, the nearest vectors, focus, little room."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from facelens.analyses import projection
from facelens.analyses.nearest import nearest
from facelens.analyses.plan import ProjectionPlan
from facelens.images.faceset import FaceSet, Labels
from facelens.session.depicting import CHANGE, MOVED, look_of
from facelens.session.selection import Selection
from facelens.session.workspace import Answer
from facelens.views import motion
from facelens.views.controls import Dock, Header
from facelens.views.main_window import MainWindow
from facelens.views.panel import Desk
from facelens.views.panels.projection import ProjectionPanel
from tests.gui.conftest import pump
from tests.gui.upgraded import models, studied

LEFT, NONE = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
PCA = ProjectionPlan(method="pca")


@pytest.fixture
def faces(desk: Desk, load: Callable[..., None], tiny_faces: Path) -> FaceSet:
    load(tiny_faces, check=False)
    found = desk.workspace.faces
    assert found is not None
    found = found.with_columns({"role": Labels.of(["cover", "clear", "degraded"] * 4)})
    desk.store.update(faces=found, features=models(found), projection_plan=replace(PCA, model="old", other="new"))
    return found


@pytest.fixture
def shown(
    faces: FaceSet, panel: Callable[..., Any], desk: Desk, settle: Callable[..., None]
) -> ProjectionPanel:
    made: ProjectionPanel = panel(ProjectionPanel)
    made.resize(1100, 640)
    settle(desk)
    assert desk.workspace.projection is not None and desk.workspace.projection.other is not None
    return made


def test_two_models_are_shown_as_old_and_new(shown: ProjectionPanel, desk: Desk, settle: Callable[..., None]) -> None:
    assert shown.pair.isVisible() and not shown.map.isVisible() and shown.pair.switch.isVisible()
    assert "fitted on both models" in shown.notes.text() and "N = 12" in shown.notes.text()
    assert not shown.controls.with_part.isVisible()
    other = shown.controls.other
    assert [other.itemData(i) for i in range(other.count())] == ["", "mid", "new", "next", "upper", "wide"]
    for name, word in (("upper", "residual"), ("wide", "residual")):
        other.setCurrentIndex(other.findData(name))
        other.activated.emit(other.currentIndex())
        settle(desk)
        assert word in shown.notes.text() and desk.workspace.projection.how == "aligned"  # type: ignore[union-attr]
    other.setCurrentIndex(0)
    other.activated.emit(0)
    settle(desk)
    assert shown.map.isVisible() and not shown.pair.isVisible() and not shown.pair.switch.isVisible()


def test_who_moved_most_is_listed_and_selected(shown: ProjectionPanel, desk: Desk, faces: FaceSet) -> None:
    found = desk.workspace.projection
    assert found is not None and found.moved is not None and shown.beside.isVisible()
    mean = {
        name: found.moved[faces.identity.codes == code].mean() for code, name in enumerate(faces.identity.names)
    }
    expected = sorted(mean, key=lambda name: -mean[name])
    assert [shown.moved.name(i) for i in range(shown.moved.count)] == [name.replace("_", " ") for name in expected]
    QTest.mouseClick(shown.moved, LEFT, NONE, QPoint(80, shown.moved.head + 10))
    code = faces.identity.names.index(expected[0])
    chosen = np.flatnonzero(faces.identity.codes == code)
    assert set(faces.rows_of(desk.workspace.selection.ids).tolist()) == set(chosen.tolist())
    assert faces.row_of(desk.workspace.selection.current) == chosen[np.argmax(found.moved[chosen])]
    shown._on_groups("role")
    assert shown.figure_view().groups == "role"
    assert sorted(shown.moved.name(i) for i in range(shown.moved.count)) == ["clear", "cover", "degraded"]
    shown.moved.setFocus()
    QTest.keyClick(shown.moved, Qt.Key.Key_Down)
    QTest.keyClick(shown.moved, Qt.Key.Key_End)
    QTest.keyClick(shown.moved, Qt.Key.Key_Return)
    assert len(desk.workspace.selection) == 4 and shown.moved.name(2) in shown.moved.accessibleDescription()


def test_what_became_of_the_faces_comes_from_the_upgrade(shown: ProjectionPanel, desk: Desk, faces: FaceSet) -> None:
    def offered() -> list[object]:
        return [shown.legend.colour.itemData(i) for i in range(shown.legend.colour.count())]

    assert CHANGE not in offered() and MOVED in offered()
    found = studied(faces, desk.workspace.features)
    desk.store.update(model_a="old", model_b="new", upgrade_plan=found.plan)
    desk.store.update(upgrade_answer=Answer(desk.workspace.upgrade_question, found))
    assert CHANGE in offered()
    shown.colour_by(CHANGE)
    change = found.change_of(desk.workspace.projection.ids)  # type: ignore[union-attr]
    assert [one.accessibleName() for one in shown.legend.entries] == [
        f"gained {(change > 0).sum()}", f"lost {(change < 0).sum()}", f"same {(change == 0).sum()}"
    ]  # fmt: skip
    assert shown.pair._change is not None and shown.pair._change.tolist() == change.tolist()
    assert any("moved" in str(line) for line in shown.pair.new_map._words(0))
    desk.store.update(projection_plan=replace(desk.workspace.projection_plan, other="next"))
    assert CHANGE not in offered(), "of another upgrade nothing is known"


def test_how_far_faces_moved_is_a_colour(shown: ProjectionPanel, desk: Desk) -> None:
    shown.colour_by(MOVED)
    found = desk.workspace.projection
    assert found is not None and found.moved is not None and shown.legend.ramp.isVisible()
    shades = shown.pair.new_map._colouring.shades  # type: ignore[union-attr]
    assert shades.sum(1).argmax() == found.moved.argmax()


def test_lines_lead_to_the_nearest_vectors_by_each_model(
    shown: ProjectionPanel, desk: Desk, faces: FaceSet, settle: Callable[..., None]
) -> None:
    face = int(faces.ids[4])
    desk.store.update(selection=Selection(current=face))
    for place, name in enumerate(("old", "new")):
        ids, _ = nearest(desk.workspace.features[name], face, k=10)
        one = shown.pair.maps[place]
        assert [int(one._ids[b]) for _, b in one._links.tolist()] == ids.tolist()
        assert {int(one._ids[a]) for a, _ in one._links.tolist()} == {face}
        codes = faces.identity.codes
        same = [bool(codes[faces.row_of(int(other))] == codes[4]) for other in ids]
        assert one._right is not None and one._right.tolist() == same
    assert "10 nearest vectors" in shown.notes.text()
    shown.controls.links.click()
    assert not len(shown.pair.old_map._links) and "nearest vectors" not in shown.notes.text()
    desk.store.update(projection_plan=replace(PCA, model="old"), selection=Selection(current=int(faces.ids[5])))
    settle(desk)
    shown.controls.links.click()
    assert len(shown.map._links) == 10 and "10 nearest vectors" in shown.map._foot


def test_in_focus_only_some_people_have_colours(shown: ProjectionPanel, desk: Desk, faces: FaceSet) -> None:
    assert shown.legend.focus.isVisible() and not shown.legend.focus.isEnabled()
    desk.store.update(selection=Selection(ids=faces.ids[:2]))
    assert shown.legend.focus.isEnabled()
    shown.legend.focus.click()
    name = faces.identity.name(0)
    assert shown.focus == {name}
    own = faces.identity.codes == faces.identity.codes[0]
    shades = shown.pair.new_map._colouring.shades  # type: ignore[union-attr]
    assert len(np.unique(shades[~own], axis=0)) == 1 and np.ptp(shades[~own][0]) < 0.02, "grey"
    assert np.ptp(shades[own][0]) > 0.1
    last = shown.pair.new_map._drawn[-int(own.sum()) :]
    assert own[last].all(), "they lie over the others"
    assert shown.legend.entries[0].accessibleName() == f"{name.replace('_', ' ')} {own.sum()}"
    shown.legend.focus.click()
    assert not shown.focus and shown.pair.new_map._front is None


def test_where_there_is_little_room_the_map_has_it(shown: ProjectionPanel, desk: Desk) -> None:
    header = Header("Projection")
    header.resize(600, 30)
    shown.dress(header)
    header.show()
    shown.resize(640, 190)
    pump()
    assert not shown.controls.isVisible() and not shown.legend.isVisible() and not shown.notes.isVisible()
    assert not shown.beside.isVisible() and shown.pair.new_map.height() > 150
    assert shown.short_colour.isVisible()
    shown.short_colour.setCurrentIndex(shown.short_colour.findData("role"))
    shown.short_colour.chosen.emit("role")
    assert shown.colour == "role"
    shown.resize(1100, 640)
    pump()
    assert shown.controls.isVisible() and shown.legend.isVisible() and not shown.short_colour.isVisible()
    header.close()
    header.deleteLater()


def test_the_same_map_is_not_made_twice_for_two_places(
    faces: FaceSet, panel: Callable[..., Any], desk: Desk, settle: Callable[..., None]
) -> None:
    one, two = panel(ProjectionPanel), panel(ProjectionPanel)
    jobs = [job for job in desk.jobs.jobs if job.request.slot == "projection"]
    settle(desk)
    assert len(jobs) == 1 and one._shown is two._shown is not None


def test_a_figure_has_the_look_of_the_page(shown: ProjectionPanel, desk: Desk, faces: FaceSet, calls: Any) -> None:
    shown.colour_by(MOVED)
    made = look_of(desk.workspace, shown.figure_view())
    assert made.by == "moved" and made.selection is None and made.change is None
    desk.store.update(selection=Selection(ids=faces.ids[:2]))
    shown.colour_by("identity")
    shown.legend.focus.click()
    shown.shape_by("role", frozenset({"degraded"}))
    made = look_of(desk.workspace, shown.figure_view())
    assert made.by == "identity" and made.focus == shown.focus and made.selection is not None
    assert (made.shape, made.augmented) == ("role", frozenset({"degraded"}))
    from facelens.figures.projection import draw_map

    found = desk.workspace.projection
    assert found is not None and len(draw_map(faces, found, made).axes) >= 2
    for action in shown.controls.export.menu().actions():
        action.trigger()
    assert calls.named("act") == ["projection.figure", "projection.export"]


def test_the_map_opens_at_the_foot_of_the_gallery(browsing: MainWindow) -> None:
    browsing.act("projection.beside")
    pump()
    dock = browsing.findChild(Dock, "beside-projection")
    assert dock is not None and browsing.dockWidgetArea(dock) == Qt.DockWidgetArea.BottomDockWidgetArea
    panel = dock.widget()
    assert isinstance(panel, ProjectionPanel) and panel.low and panel.short_colour.isVisible()
    assert not panel.controls.isVisible() and browsing.stage.word == "gallery"
    tabbed = browsing.tabifiedDockWidgets(browsing.docks["jobs"])
    assert {one.objectName() for one in tabbed} == {"log", "history"}
    dock.close()
    pump()


def test_motion_is_reduced_where_the_user_wants_it(window: MainWindow, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(motion, "reduced", False)
    window.act("view.still")
    assert motion.reduced and window.desk.settings.still and window.actions_by_id["view.still"].isChecked()
    window.act("view.still")
    assert not motion.reduced and not window.actions_by_id["view.still"].isChecked()


def test_a_map_that_was_taken_over_can_be_laid_out_anew(
    shown: ProjectionPanel, desk: Desk, settle: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    found, asked = desk.workspace.projection, list[bool]()
    assert found is not None and not shown.controls.run.isVisible()
    desk.store.update(projection_answer=Answer(desk.workspace.projection_question, replace(found, borrowed=11)))
    assert shown.controls.run.isVisible() and shown.controls.run.text() == "Lay out anew"

    def project(*given: Any, **how: Any) -> Any:
        asked.append(how["anew"])
        return found

    monkeypatch.setattr(projection, "project", project)
    shown.controls.run.click()
    settle(desk)
    assert asked == [True] and not shown.controls.run.isVisible()
