"""The map of the faces: points, colours, shapes, lasso, and the page around it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QColor, QImage
from PySide6.QtTest import QTest

from facelens.analyses import projection
from facelens.analyses.plan import CURRENT, ProjectionPlan
from facelens.features.card import Card
from facelens.features.featureset import FeatureSet, Provenance
from facelens.images.faceset import FaceSet, Labels
from facelens.session.archive import face_of
from facelens.session.depicting import UNSURE
from facelens.session.looks import Looks
from facelens.session.selection import Selection
from facelens.views import colouring, dots, theme
from facelens.views.panel import Desk
from facelens.views.panels import projection as page
from facelens.views.panels.projection import ProjectionPanel

LEFT = Qt.MouseButton.LeftButton
SHIFT, ALT, NONE = (
    Qt.KeyboardModifier.ShiftModifier,
    Qt.KeyboardModifier.AltModifier,
    Qt.KeyboardModifier.NoModifier,
)
PCA = ProjectionPlan(method="pca")
PARTS = 4


def features(faces: FaceSet, name: str, *, sure: bool = True) -> FeatureSet:
    """Made-up vectors: each person near a corner, with or without a word on how sure each part is."""
    rng = np.random.default_rng(0)
    corner = rng.standard_normal((len(faces.identity.names), 16))
    vectors = corner[faces.identity.codes] + 0.3 * rng.standard_normal((len(faces), 16))
    confidence = np.exp(rng.uniform(0, 4, (len(faces), PARTS))).astype(np.float32) if sure else None
    card = Card(name, "universal", dimensions=16)
    return FeatureSet(faces.ids, vectors.astype(np.float32), Provenance(name, name, card=card), confidence=confidence)


@pytest.fixture
def faces(desk: Desk, load: Callable[..., None], tiny_faces: Path) -> FaceSet:
    """Four people with three pictures each; the last one of each is degraded. Two models have vectors."""
    load(tiny_faces, check=False)
    found = desk.workspace.faces
    assert found is not None
    roles = Labels.of(["cover", "clear", "degraded"] * 4)
    found = found.with_columns({"role": roles})
    both = {"parts": features(found, "parts"), "plain": features(found, "plain", sure=False)}
    desk.store.update(faces=found, features=both, projection_plan=PCA)
    return found


@pytest.fixture
def shown(faces: FaceSet, panel: Callable[..., Any], desk: Desk, settle: Callable[..., None]) -> ProjectionPanel:
    """The page with its map."""
    made = panel(ProjectionPanel)
    settle(desk)
    assert desk.workspace.projection is not None and desk.workspace.projection.final
    return made


def spot(shown: ProjectionPanel, place: int) -> QPoint:
    found = shown.map._spot(place)
    assert found is not None
    return found.toPoint()


def around(shown: ProjectionPanel, places: list[int], *, held: Qt.KeyboardModifier = NONE) -> None:
    """Draw a lasso around some dots: their box, with a dent at its left side."""
    at = np.array([[spot(shown, place).x(), spot(shown, place).y()] for place in places])
    (left, top), (right, bottom) = (at.min(0) - 9).tolist(), (at.max(0) + 9).tolist()
    trail = [QPoint(left, top), QPoint(right, top), QPoint(right, bottom), QPoint(left, bottom)]
    QTest.mousePress(shown.map, LEFT, held, trail[0])
    for point in (*trail[1:], trail[0]):
        QTest.mouseMove(shown.map, point)
    QTest.mouseRelease(shown.map, LEFT, held, trail[0])


def test_the_map_is_that_of_the_vectors(shown: ProjectionPanel, faces: FaceSet) -> None:
    place = shown.map
    assert len(place._drawn) == len(faces) and "PCA of parts" in place._foot and "N = 12" in place._foot
    assert "trustworthiness" in place.accessibleDescription() and "Colour: identity" in place.accessibleDescription()
    box = place._box()
    across = box.width() / (place._view.right - place._view.left)
    assert across == pytest.approx(box.height() / (place._view.high - place._view.low)), "one scale for both directions"
    assert not shown.controls.run.isVisible() and not shown.working.isVisible()


def test_a_click_looks_and_a_double_click_opens(shown: ProjectionPanel, desk: Desk, faces: FaceSet, calls: Any) -> None:
    QTest.mouseClick(shown.map, LEFT, NONE, spot(shown, 4))
    assert desk.workspace.selection.ids.tolist() == [faces.ids[4]] and desk.workspace.selection.current == faces.ids[4]
    QTest.mouseDClick(shown.map, LEFT, NONE, spot(shown, 7))
    assert desk.workspace.selection.current == faces.ids[7] and calls.named("act") == ["view.loupe"]


def test_the_lasso_replaces_adds_and_takes_away(shown: ProjectionPanel, desk: Desk, faces: FaceSet) -> None:
    def selected() -> set[int]:
        return set(faces.rows_of(desk.workspace.selection.ids).tolist())

    around(shown, [0])
    one = selected()
    assert 0 in one and len(one) < 12
    around(shown, [11], held=SHIFT)
    assert selected() >= one | {11}
    around(shown, [0], held=ALT)
    assert 0 not in selected() and 11 in selected()
    around(shown, [11], held=SHIFT | ALT)
    assert 11 in selected()
    around(shown, list(range(12)))
    assert selected() == set(range(12))


def test_the_lasso_leaves_out_what_lies_in_its_dent(shown: ProjectionPanel, faces: FaceSet) -> None:
    place, heard = shown.map, list[set[int]]()
    place.select.connect(lambda ids, mode: heard.append(set(faces.rows_of(ids).tolist())))
    x, y = place._px[np.argsort(place._drawn)], place._py[np.argsort(place._drawn)]
    width, height = place.width() - 1, place.height() - 1
    middle = int(np.argmin(np.hypot(x - width / 2, y - height / 2)))
    dent = QPoint(round(x[middle]) + 14, round(y[middle]))  # the tip of a dent that comes from the left
    trail = [QPoint(0, 0), QPoint(width, 0), QPoint(width, height), QPoint(0, height), dent]
    QTest.mousePress(place, LEFT, NONE, trail[0])
    for point in trail[1:]:
        QTest.mouseMove(place, point)
    QTest.mouseRelease(place, LEFT, NONE, dent)
    assert middle not in heard[0] and heard[0]
    shown.controls.tool.button("select").click()
    QTest.mousePress(place, LEFT, NONE, QPoint(2, 2))
    QTest.mouseMove(place, QPoint(width, height))
    QTest.mouseRelease(place, LEFT, NONE, QPoint(width, height))
    assert heard[1] == set(range(12)), "a rectangle has no dents"


def test_with_a_selection_the_others_fade_and_people_are_named(
    shown: ProjectionPanel, desk: Desk, faces: FaceSet
) -> None:
    def ink(place: int) -> QColor:
        image = shown.map.grab().toImage()
        return image.pixelColor(spot(shown, place))

    before = ink(0)
    assert before.saturation() > 60
    desk.store.update(selection=Selection(ids=faces.ids[9:12]))
    assert ink(0).saturation() < 20, "grey"
    assert "3 faces selected" in shown.map.accessibleDescription()
    desk.store.update(selection=Selection())
    assert ink(0) == before


def test_colours_and_shapes_and_their_legend(shown: ProjectionPanel, desk: Desk, faces: FaceSet) -> None:
    assert (shown.shape, shown.augmented) == ("role", frozenset({"degraded"})), "found by its words"
    texts = [one.accessibleName() for one in shown.legend.entries]
    assert texts == ["original 8", "augmented: degraded 4"]
    shown.legend.entries[1].click()
    assert sorted(faces.rows_of(desk.workspace.selection.ids).tolist()) == [2, 5, 8, 11]
    shown.colour_by("role")
    assert [one.accessibleName() for one in shown.legend.entries][:3] == ["clear 4", "cover 4", "degraded 4"]
    assert len(np.unique(shown.map._colouring.shades, axis=0)) == 3  # type: ignore[union-attr]
    shown.colour_by("blur")
    assert shown.legend.ramp.isVisible() and shown.legend.entries[0].accessibleName() == "not known 2"
    assert shown.map._words(0) == [("blur", f"{faces.columns['blur'][0]:.3f}"), ("shape", "original")]
    shown.shape_by("role", frozenset({"degraded", "cover"}))
    assert shown.map._augmented.tolist() == [True, False, True] * 4
    shown.shape_by("")
    assert not shown.map._augmented.any() and shown.map._words(0) == [("blur", f"{faces.columns['blur'][0]:.3f}")]


def test_colours_shapes_and_links_are_steps(shown: ProjectionPanel, desk: Desk, faces: FaceSet) -> None:
    store, combo = desk.store, shown.legend.colour
    combo.setCurrentIndex(combo.findData("role"))
    combo.activated.emit(combo.currentIndex())
    assert desk.workspace.looks.map_colour == shown.colour == "role"
    assert desk.workspace.history.undo == "colour identity → role"
    store.go(0)
    assert shown.colour == "identity" and combo.currentData() == "identity"
    assert (shown.shape, shown.augmented) == ("role", {"degraded"}), "as it was guessed"
    shown.legend.shaped.emit("role", frozenset({"clear", "degraded"}))
    assert desk.workspace.looks.map_shape == ("role", "clear", "degraded")
    store.go(0)
    assert shown.augmented == {"degraded"} and desk.workspace.looks.map_shape == ()
    QTest.mouseClick(shown.controls.links, LEFT)
    assert not desk.workspace.looks.nearest and not shown._linked
    store.go(0)
    assert shown._linked and shown.controls.links.isChecked()


def test_a_figure_has_the_links_that_are_seen(shown: ProjectionPanel, desk: Desk, faces: FaceSet) -> None:
    assert shown.figure_view().near == "", "nobody is looked at"
    desk.store.update(selection=desk.workspace.selection.looking_at(int(faces.ids[2])))
    assert len(shown._links[0].pairs) and face_of(faces, shown.figure_view().near) == faces.ids[2]
    QTest.mouseClick(shown.controls.links, LEFT)
    assert shown._links == () and shown.figure_view().near == ""


def test_focus_is_a_step(shown: ProjectionPanel, desk: Desk, faces: FaceSet) -> None:
    desk.store.update(selection=Selection(ids=faces.ids[:4]))
    who = tuple(sorted({faces.identity.names[code] for code in faces.identity.codes[:4].tolist()}))
    shown.legend.focus.click()
    assert desk.workspace.looks.map_focus == who and desk.workspace.history.undo == "focus everybody → 2 people"
    desk.store.go(desk.workspace.history.done - 1)
    assert not shown.focus and not shown.legend.focus.isChecked()
    desk.store.go(desk.workspace.history.done + 1)
    assert tuple(sorted(shown.focus)) == who and shown.legend.focus.isChecked()
    desk.store.update(looks=Looks(map_focus=("nobody here",)))
    assert tuple(sorted(shown.focus)) == who


def test_how_unsure_a_part_is(shown: ProjectionPanel, desk: Desk, settle: Callable[..., None]) -> None:
    shown.colour_by(UNSURE)
    sure = desk.workspace.features["parts"].confidence
    assert sure is not None
    found = shown.map._colouring
    assert found is not None and found.title == "log σ², part 1" and found.bright == "bright = less sure"
    assert np.argmax(-sure[:, 0]) == np.argmax(found.shades.sum(1)) and found.told(3) == f"−{np.log(sure[3, 0]):.2f}"
    desk.store.update(part=2)
    assert shown.map._colouring.title == "log σ², part 3", "of the part that is looked at"  # type: ignore[union-attr]
    desk.store.update(projection_plan=replace(PCA, model="plain"))
    settle(desk)
    assert shown.map._colouring.title == "identity", "this model does not say"  # type: ignore[union-attr]


def test_one_part_follows_the_one_that_is_looked_at(
    shown: ProjectionPanel, desk: Desk, settle: Callable[..., None]
) -> None:
    parts = shown.controls.part
    assert [parts.itemText(i) for i in range(parts.count())][:3] == ["all parts", "current: part 1", "part 1"]
    whole = desk.workspace.projection
    parts.setCurrentIndex(parts.findData(CURRENT))
    parts.activated.emit(parts.currentIndex())
    settle(desk)
    first = desk.workspace.projection
    assert first is not None and whole is not None and not np.allclose(first.points, whole.points)
    assert "part 1" in shown.map._foot
    desk.store.update(part=3)
    assert desk.workspace.projection is None, "never the map of another part"
    settle(desk)
    assert desk.workspace.projection is not None and "part 4" in shown.map._foot


def test_many_faces_wait_to_be_refined(
    faces: FaceSet, panel: Callable[..., Any], desk: Desk, settle: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page, "AT_ONCE", 5)
    monkeypatch.setattr(projection, "_refined", lambda x, start, plan, show, *, tick: start * 2)
    desk.store.update(projection_plan=ProjectionPlan(model="parts"))
    shown = panel(ProjectionPanel)
    settle(desk)
    first = desk.workspace.projection
    assert first is not None and not first.final and "not refined" in shown.map._foot
    assert shown.controls.run.isVisible() and shown.controls.run.text() == "Refine with UMAP"
    shown.controls.run.click()
    settle(desk)
    found = desk.workspace.projection
    assert found is not None and found.final and np.allclose(found.points, 2 * first.points)
    assert not shown.controls.run.isVisible() and "UMAP of parts" in shown.map._foot


def test_what_is_looked_at_stays_while_points_move(shown: ProjectionPanel, desk: Desk, faces: FaceSet) -> None:
    place, found = shown.map, desk.workspace.projection
    assert found is not None
    place._zoom(0.5, place._box().center())
    seen = place._view
    assert seen != place._whole
    place.show_map(faces, replace(found, points=found.points * 1.1), same=True)
    assert place._view == seen
    place.show_map(faces, found)
    assert place._view == place._whole


def test_keys_walk_and_zoom(shown: ProjectionPanel, desk: Desk) -> None:
    place = shown.map
    place.setFocus(Qt.FocusReason.TabFocusReason)
    desk.store.update(selection=Selection(current=int(place._ids[0])))
    start = spot(shown, 0)
    way = Qt.Key.Key_Left if start.x() > place.width() / 2 else Qt.Key.Key_Right
    QTest.keyClick(place, way)
    assert place._hover not in (None, 0)
    moved = spot(shown, place._hover).x() - start.x()  # type: ignore[arg-type]
    assert moved < 0 if way == Qt.Key.Key_Left else moved > 0
    QTest.keyClick(place, Qt.Key.Key_Return)
    assert desk.workspace.selection.current == place._ids[place._hover]
    QTest.keyClick(place, Qt.Key.Key_Plus)
    assert place._view != place._whole
    QTest.keyClick(place, Qt.Key.Key_F)
    assert place._view == place._whole


def test_space_and_drag_pans_and_space_alone_selects(shown: ProjectionPanel, desk: Desk, faces: FaceSet) -> None:
    QTest.keyClick(shown.map, Qt.Key.Key_Plus)
    before, start = shown.map.camera, shown.map.rect().center()
    QTest.keyPress(shown.map, Qt.Key.Key_Space)
    QTest.mousePress(shown.map, LEFT, NONE, start)
    QTest.mouseMove(shown.map, start + QPoint(20, 0))
    QTest.mouseRelease(shown.map, LEFT, NONE, start + QPoint(20, 0))
    QTest.keyRelease(shown.map, Qt.Key.Key_Space)
    after = shown.map.camera
    assert after.left < before.left and after.right - after.left == pytest.approx(before.right - before.left)
    assert not len(desk.workspace.selection), "panning selects nobody"
    shown.map._walk_to(0)
    QTest.keyClick(shown.map, Qt.Key.Key_Space)
    assert desk.workspace.selection.ids.tolist() == [int(faces.ids[0])]


def test_empty_states_lead_on(
    panel: Callable[..., Any], desk: Desk, load: Callable[..., None], tiny_faces: Path, calls: Any
) -> None:
    shown = panel(ProjectionPanel)
    assert shown.empty.accessibleName() == "No gallery yet" and not shown.controls.isVisible()
    shown.open.click()
    load(tiny_faces, check=False)
    assert shown.empty.accessibleName() == "No vectors yet"
    shown.next.click()
    assert calls.named("act") == ["gallery.open", "model.show"]


def test_a_job_that_was_stopped_is_not_asked_again_unasked(
    faces: FaceSet, panel: Callable[..., Any], desk: Desk, settle: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    def fails(*given: Any, **how: Any) -> None:
        asked.append(1)
        raise ValueError("no")

    lay_out = projection.project
    monkeypatch.setattr(projection, "project", fails)
    shown = panel(ProjectionPanel)
    settle(desk)
    assert asked == [1] and shown.empty.accessibleName() == "The projection was stopped"
    monkeypatch.setattr(projection, "project", lay_out)
    shown.run.click()
    settle(desk)
    assert desk.workspace.projection is not None and shown.map.isVisible()


# Colours and dots


def test_people_have_the_colour_they_have_everywhere() -> None:
    labels = Labels.of(["Ada", "Bo", "Ada", None])
    found = colouring.by_names("identity", labels, people=True)
    for place, name in enumerate(("Ada", "Bo", "Ada")):
        expected = theme.identity_colour(name, theme.current())
        assert np.allclose(found.shades[place], [expected.redF(), expected.greenF(), expected.blueF()], atol=1e-3)
    assert found.told(3) == "not known" and [(one.words, len(one.places)) for one in found.entries] == [
        ("not known", 1)
    ]
    many = colouring.by_names("city", Labels.of([f"c{i:02}" for i in range(30)]))
    assert len(many.entries) == colouring.LISTED + 1 and many.entries[-1].words == "20 others"
    assert len(many.entries[-1].places) == 20


def test_one_colour_for_all_numbers_that_are_the_same() -> None:
    found = colouring.by_numbers("x", np.array([3.0, 3.0, np.nan]))
    assert np.isfinite(found.shades).all() and found.low < 3 < found.high and found.told(2) == "not known"


def pixels(image: QImage) -> Any:
    return np.frombuffer(image.constBits(), np.uint8).reshape(image.height(), image.width(), 4).astype(int)


@pytest.mark.parametrize("shape", ["disc", "triangle", "halo"])
def test_few_dots_look_like_many(shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    x, y, shades = rng.uniform(-3, 83, 60), rng.uniform(-3, 53, 60), rng.uniform(0, 1, (60, 3)).astype(np.float32)
    drawn = []
    for few in (0, 10**9):
        monkeypatch.setattr(dots, "FEW", few)
        drawn.append(pixels(dots.picture([dots.Dots(x, y, shape, shades, 0.8, 1.3)], 80, 50, ratio=1.5)))
    assert drawn[0].any() and np.array_equal(*drawn)


def test_the_last_dot_lies_on_top() -> None:
    red, blue = [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]
    for first, last in ((red, blue), (blue, red)):
        shades = np.array([first, last], np.float32)
        image = dots.picture([dots.Dots(np.array([8.0, 10.0]), np.array([8.0, 8.0]), "disc", shades, 0.99)], 20, 16)
        assert image.pixelColor(9, 8).redF() == pytest.approx(last[0], abs=0.05)
        assert image.pixelColor(6, 8).redF() == pytest.approx(first[0], abs=0.05)
