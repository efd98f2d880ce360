"""Old and new on one map: one camera, lines to the other place, the slider, and what became of the faces."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from facelens.analyses.flips import UNSEARCHED
from facelens.analyses.plan import ProjectionPlan
from facelens.analyses.projection import Projection
from facelens.images.faceset import FaceSet
from facelens.session.selection import Mode, Selection
from facelens.views import map_scene, motion
from facelens.views.hover import Inked
from facelens.views.old_new_map import OldNewMap
from facelens.views.panel import Desk
from tests.gui.conftest import pump

N = 40


def found(faces: FaceSet, *, seed: int = 0) -> Projection:
    rng = np.random.default_rng(seed)
    old = rng.normal(size=(N, 2)).astype(np.float32)
    new = (old + rng.normal(size=(N, 2))).astype(np.float32)
    return Projection(faces.ids, old, ProjectionPlan(model="a", other="b"), "umap", final=True, other=new, how="joint")


@pytest.fixture
def faces() -> FaceSet:
    paths = [f"p{i % 8}/{i:02}.png" for i in range(N)]
    return FaceSet.build("made up", Path("."), paths=paths, identities=[path[:2] for path in paths])


@pytest.fixture
def shown(desk: Desk, faces: FaceSet) -> Iterator[OldNewMap]:
    made = OldNewMap(desk.thumbnails)
    made.set_names("one", "two")
    made.resize(900, 420)
    made.show()
    made.show_map(faces, found(faces))
    pump()
    yield made
    made.close()
    made.deleteLater()
    pump()


def at(one: Any) -> Any:
    return np.column_stack([one._x, one._y]).astype(np.float32)


def test_the_old_map_stays_and_the_new_one_goes_from_old_to_new(shown: OldNewMap, faces: FaceSet) -> None:
    both = found(faces)
    np.testing.assert_allclose(at(shown.old_map), both.points)
    np.testing.assert_allclose(at(shown.new_map), both.other)
    shown.scrub.slider.setValue(25)
    np.testing.assert_allclose(at(shown.new_map), 0.75 * both.points + 0.25 * both.other, atol=1e-6)
    np.testing.assert_allclose(at(shown.old_map), both.points)
    shown.scrub.slider.setFocus()
    QTest.keyClick(shown.scrub.slider, Qt.Key.Key_Home)
    np.testing.assert_allclose(at(shown.new_map), both.points)
    QTest.keyClick(shown.scrub.slider, Qt.Key.Key_Right)
    np.testing.assert_allclose(at(shown.new_map), 0.99 * both.points + 0.01 * both.other, atol=1e-6)


def test_play_jumps_where_nothing_is_to_move(shown: OldNewMap, faces: FaceSet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(motion, "reduced", True)
    both = found(faces)
    shown.scrub.play.click()
    assert not shown.scrub.running and shown.scrub.share == 0
    np.testing.assert_allclose(at(shown.new_map), both.points)
    shown.scrub.play.click()
    np.testing.assert_allclose(at(shown.new_map), both.other)


def test_play_moves_and_ends_at_new(shown: OldNewMap, faces: FaceSet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(motion, "wanted", lambda widget: True)
    seen: list[float] = []
    shown.scrub.moved.connect(seen.append)
    shown.scrub._flow.setDuration(60)
    shown.scrub.play.click()
    assert shown.scrub.running
    shown.scrub._flow.setCurrentTime(30)
    assert 0 < shown.scrub.share < 1
    np.testing.assert_allclose(
        at(shown.new_map), found(faces).points * (1 - seen[-1]) + found(faces).other * seen[-1], atol=1e-5
    )
    shown.scrub._flow.setCurrentTime(60)
    assert shown.scrub.share == 1 and shown.scrub.slider.value() == 100


def test_both_maps_have_one_camera(shown: OldNewMap) -> None:
    one, other = shown.maps
    assert one.camera.left == pytest.approx(other.camera.left, rel=0.01) and one.camera.low == other.camera.low
    one._zoom(0.5, one._box().center())
    seen, same = one.camera, other.camera
    assert (seen.left + seen.right) == pytest.approx(same.left + same.right)
    assert (seen.right - seen.left) == pytest.approx(same.right - same.left, rel=0.02)
    other._zoom(0.5, other._box().topLeft())
    assert one.camera.left == pytest.approx(other.camera.left, abs=0.02)
    one.fit()
    assert one.sees_all and other.sees_all


def test_the_face_that_is_pointed_at_is_ringed_in_both(shown: OldNewMap, faces: FaceSet) -> None:
    heard: list[object] = []
    shown.hovered.connect(heard.append)
    shown.new_map._hover_over(7)
    assert shown.old_map._echo == 7 and heard == [int(faces.ids[7])]
    shown.new_map._hover_over(None)
    assert shown.old_map._echo is None


def test_lines_lead_to_the_other_place(shown: OldNewMap, faces: FaceSet) -> None:
    both = found(faces)
    lines = shown.old_map._lines
    assert lines is not None and lines.start is None
    np.testing.assert_allclose(np.column_stack([lines.x, lines.y]), both.other)
    lines = shown.new_map._lines
    np.testing.assert_allclose(np.column_stack([lines.x, lines.y]), both.points)
    shown.switch.button("overlay").click()
    assert not shown.old_map.isVisible()
    lines = shown.new_map._lines
    np.testing.assert_allclose(np.column_stack([lines.x, lines.y]), both.other)
    np.testing.assert_allclose(np.column_stack(lines.start), both.points)
    assert "Old one" in shown.new_map.accessibleDescription() and "New two" in shown.new_map.accessibleDescription()


def test_where_there_is_no_room_for_two_there_is_one(shown: OldNewMap) -> None:
    shown.resize(420, 300)
    pump()
    assert not shown.old_map.isVisible() and shown.mode == "side"
    shown.resize(900, 300)
    pump()
    assert shown.old_map.isVisible()


def test_what_became_of_the_faces(shown: OldNewMap, faces: FaceSet) -> None:
    assert not shown.legend.isVisible()
    change = np.zeros(N, np.int8)
    change[[3, 5]], change[[8, 9, 11]] = -1, 1
    shown.set_change(change)
    assert [one.accessibleName() for one in shown.legend.entries] == ["gained 3", "lost 2", f"same {N - 5}"]
    heard: list[Any] = []
    shown.select.connect(lambda ids, mode: heard.append((ids.tolist(), mode)))
    shown.legend.entries[1].click()
    assert heard == [(faces.ids[[3, 5]].tolist(), Mode.REPLACE)]
    before = shown.new_map.grab().toImage()
    unsearched = np.where(change == 0, UNSEARCHED, change).astype(np.int8)
    shown.set_change(unsearched)
    assert [one.accessibleName() for one in shown.legend.entries] == [
        "gained 3", "lost 2", "same 0", f"not searched {N - 5}",
    ]  # fmt: skip
    assert (shown.new_map._marks == map_scene.UNSEARCHED).sum() == N - 5
    assert (shown.new_map._marks == map_scene.LOST).sum() == 2
    shown.set_change(None)
    pump()
    assert not shown.legend.isVisible() and shown.new_map.grab().toImage() != before


def test_the_card_says_what_the_page_knows(shown: OldNewMap, faces: FaceSet) -> None:
    shown.set_words(lambda face: [Inked("lost: mate 0.52 → 0.41", "bad"), f"face {face}"])
    assert shown.new_map._words(4)[-2:] == ["lost: mate 0.52 → 0.41", f"face {int(faces.ids[4])}"]
    shown.show_map(faces, found(faces, seed=1))
    assert shown.old_map._words(4)[-1] == f"face {int(faces.ids[4])}", "also on the next map"


def test_the_same_map_goes_on(shown: OldNewMap, faces: FaceSet) -> None:
    change = np.ones(N, np.int8)
    shown.set_change(change)
    shown.scrub.slider.setValue(50)
    shown.new_map._zoom(0.5, shown.new_map._box().center())
    seen = shown.new_map.camera
    shown.show_map(faces, found(faces, seed=2), same=True)
    assert shown.scrub.share == 0.5 and shown.legend.isVisible()
    middle = (shown.new_map.camera.left + shown.new_map.camera.right) / 2
    assert middle == pytest.approx((seen.left + seen.right) / 2, abs=0.3)
    np.testing.assert_allclose(
        at(shown.new_map), (found(faces, seed=2).points + found(faces, seed=2).other) / 2, atol=1e-5
    )
    shown.set_selection(Selection(ids=faces.ids[:3], current=int(faces.ids[0])))
    assert shown.old_map._places.tolist() == shown.new_map._places.tolist() == [0, 1, 2]
