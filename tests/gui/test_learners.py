"""The Learners panel: who finds whom, one current learner in all its views, every mark leads to faces."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import QPointF, Qt
from PySide6.QtTest import QTest

from facelens.analyses import divided
from facelens.analyses.divided import Learners
from facelens.analyses.plan import PartsPlan
from facelens.features.featureset import FeatureSet
from facelens.images.faceset import FaceSet
from facelens.session.selection import Selection
from facelens.session.workspace import Answer
from facelens.views.panel import Desk
from facelens.views.panels import learners as page_file
from facelens.views.panels.learners import LearnersPanel
from facelens.views.specialists import HEAD
from facelens.words import number
from tests.gui.conftest import Calls, settle
from tests.gui.evaluation.stub import choose, features, gallery

K = 4
PLAN = PartsPlan(model="new", baseline="old", parts=K)
_ANSWERS: dict[object, Learners] = {}


@pytest.fixture(autouse=True)
def answered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same question is worked out once for all tests of this file."""
    real = divided.learners

    def once(faces: FaceSet, plan: PartsPlan, *, features: dict[str, FeatureSet], excluded: Any, tick: Any) -> Learners:
        key = plan, tuple(features), len(faces), excluded.tobytes()
        if key not in _ANSWERS:
            _ANSWERS[key] = real(faces, plan, features=features, excluded=excluded, resamples=20)
        return _ANSWERS[key]

    monkeypatch.setattr(divided, "learners", once)


@pytest.fixture(scope="module")
def faces() -> FaceSet:
    """Four people with four faces each, and one that is alone."""
    names = [f"Person_{i // 4}" for i in range(17)]
    paths = [f"{name}/{i:02}.png" for i, name in enumerate(names)]
    return FaceSet.build("stub", Path("/nowhere"), paths=paths, identities=names)


@pytest.fixture(scope="module")
def two(faces: FaceSet) -> dict[str, FeatureSet]:
    """Slices 2 to 4 of "new" each know some of the people that all other slices mix up; slice 1 knows nobody."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(len(faces), 4 * K)).astype(np.float32)
    who = np.asarray(faces.identity.codes)
    centre = 9 * rng.normal(size=(5, 4))
    for part, known in ((1, (0, 1)), (2, (2,)), (3, (3,))):
        mine = np.isin(who, known)
        x[mine, 4 * part : 4 * part + 4] += centre[who[mine]]
    return {"new": features(faces, x, "new"), "old": features(faces, rng.normal(size=x.shape), "old")}


@pytest.fixture
def page(panel: Callable[..., Any], desk: Desk, faces: FaceSet, two: dict[str, FeatureSet]) -> LearnersPanel:
    """A panel on which the slices of "new" have been compared with those of "old"."""
    made = panel(LearnersPanel)
    made.resize(1300, 800)
    desk.store.update(faces=faces, features=two, learners_plan=PLAN)
    settle(desk)
    assert desk.workspace.learners is not None
    assert desk.workspace.learners.complete
    return made


def click(view: Any, at: QPointF, held: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
    QTest.mouseClick(view, Qt.MouseButton.LeftButton, held, at.toPoint())


def test_small_galleries_are_looked_at_unasked(page: LearnersPanel, desk: Desk) -> None:
    found = desk.workspace.learners
    assert [job.request.slot for job in desk.jobs.jobs] == ["learners"], "asked once"
    assert page.pages.currentWidget() is page.area
    assert page.controls.count.text() == "4 slices, not learned parts · N = 17"
    lead = page.table.lead.gain
    assert lead.title.startswith("Recall@1 of the whole vector"), "slices were not taught to find anybody alone"
    assert lead.value == number(found.own.whole[0].value, 3)
    assert found.whole_gain[0].text(3, sign=True) in lead.under


def test_learners_lead_with_their_mean(page: LearnersPanel, desk: Desk) -> None:
    found = desk.workspace.learners
    ground = replace(found.own.layout, kind="learners")
    page.table.show_learners(replace(found, own=replace(found.own, layout=ground)), 1)
    lead = page.table.lead.gain
    assert lead.title.startswith("Mean Recall@1 of 4 learners")
    assert (lead.value, lead.before) == (
        number(found.own.mean[0].value, 3),
        f"slices of old {number(found.baseline.mean[0].value, 3)}",
    )


def test_a_row_for_each_learner_beside_the_baseline(page: LearnersPanel, desk: Desk) -> None:
    found, table = desk.workspace.learners, page.table.table
    names = [table.text(row, 0) for row in range(K + 3)]
    assert names == ["all together", "mean of each", "correlation", "slice 1", "slice 2", "slice 3", "slice 4"]
    assert table.text(3, 1).startswith(number(found.own.recall[0][0].value, 4))
    assert table.text(4, 2).startswith(number(found.baseline.recall[0][1].value, 4))
    choose_k = page.controls.k.button("4")
    choose_k.click()
    assert table.text(3, 1).startswith(number(found.own.recall[2][0].value, 4))
    assert page.curve.y_axis.title == "Recall@4, higher is better"
    drawn = {one.series.key: one.y for one in page.curve._drawn}
    np.testing.assert_allclose(drawn["B"], found.own.curve.ordered[2])
    np.testing.assert_allclose(drawn["A"], found.baseline.curve.ordered[2])


def test_one_current_learner_in_all_views(page: LearnersPanel, desk: Desk) -> None:
    page.table.table.tap(3 + 2, 0)
    assert desk.workspace.part == 2
    assert [view.part for view in (page.specialists, page.curve, page.clusters.cells, page.ranks)] == [2] * 4
    assert page.table.table.ringed == 3 + 2
    page.curve.picked.emit("B", 1)
    assert desk.workspace.part == 1
    desk.store.update(part=K)  # of another model with more parts
    assert page.table.table.ringed == page.specialists.part == -1


def test_faces_that_only_one_learner_finds(page: LearnersPanel, desk: Desk) -> None:
    view, found = page.specialists, desk.workspace.learners
    np.testing.assert_array_equal(view.ids(view.row_of(1)), found.specialists[1])
    assert len(found.specialists[1]) and not len(found.specialists[0])
    assert view.row_of(0) > view.row_of(1) == 0, "those without faces come last"
    assert view.count_text(K - 1) == "no face that only it finds"
    first = int(found.specialists[1][0])
    box = view.box_of(first)
    click(view, box.topLeft() + QPointF(6, 6))
    assert desk.workspace.selection.ids.tolist() == [first]
    ranks = found.ranks[np.flatnonzero(found.queries == first)[0]]
    told = [(f"slice {k + 1}", str(rank)) for k, rank in enumerate(ranks)]
    assert list(view.lines(first))[1:] == told
    click(view, box.bottomRight() - QPointF(6, 6))
    assert desk.workspace.selection.current == int(found.found[1][0]), "the face that was found"
    click(view, QPointF(30, box.center().y()))
    np.testing.assert_array_equal(desk.workspace.selection.ids, np.sort(found.specialists[1]))
    assert desk.workspace.part == 1


def test_a_limit_keeps_those_that_others_find_late(page: LearnersPanel, desk: Desk) -> None:
    found = desk.workspace.learners
    later = replace(found, ranks=np.where(found.ranks > 1, 2 * found.ranks, found.ranks))
    desk.store.update(learners_answer=Answer(desk.workspace.learners_question, later))
    assert [page.limit.button(limit).isEnabled() for limit in ("1", "5", "30")] == [True, True, False]
    page.limit.button("5").click()
    view, kept = page.specialists, 0
    for part, ids in enumerate(later.specialists):
        at = [int(np.flatnonzero(later.queries == face)[0]) for face in ids]
        late = np.delete(later.ranks[at], part, axis=1).min(1, initial=99) > 5
        np.testing.assert_array_equal(view.ids(view.row_of(part)), ids[late])
        kept += int(late.sum())
    assert 0 < kept < sum(map(len, later.specialists))
    assert page.only.header.subtitle().startswith(f"{kept} face")


def test_faces_are_walked_with_keys_and_compared(page: LearnersPanel, desk: Desk, calls: Calls) -> None:
    view, found = page.specialists, desk.workspace.learners
    part = view._listed[0]
    QTest.keyClick(view, Qt.Key.Key_Right)
    face = int(found.specialists[part][0])
    assert desk.workspace.selection.current == face
    QTest.keyClick(view, Qt.Key.Key_Return)
    assert desk.workspace.selection.pair == (face, int(found.found[part][0]))
    assert calls.named("act") == ["view.compare"]
    QTest.keyClick(view, Qt.Key.Key_Left)
    assert view._cursor[1] == HEAD
    QTest.keyClick(view, Qt.Key.Key_Return)
    np.testing.assert_array_equal(desk.workspace.selection.ids, np.sort(found.specialists[part]))


def test_a_group_leads_to_its_faces(page: LearnersPanel, desk: Desk) -> None:
    page.show_below("clusters")
    found, cells = desk.workspace.learners, page.clusters.cells
    assert (cells.rows, cells.columns) == (K, K)
    group = int(found.clusters.learner[0])
    click(cells.viewport(), QPointF(20, cells.box(group, 0).center().y()))
    np.testing.assert_array_equal(desk.workspace.selection.ids, np.sort(found.ids[found.clusters.learner == group]))
    click(cells.viewport(), cells.box(group, 3).center())
    assert desk.workspace.part == 3
    assert page.clusters.stability.gain.value == number(found.clusters.stability.value, 2)


def test_ranks_of_the_current_face(page: LearnersPanel, desk: Desk, faces: FaceSet) -> None:
    page.show_below("ranks")
    assert page.ranks.sentence().startswith("Click a face")
    found = desk.workspace.learners
    desk.store.update(selection=Selection(current=int(found.queries[5])))
    np.testing.assert_array_equal(page.ranks.ranks, found.ranks[5])
    click(page.ranks, page.ranks.column(2).center())
    assert desk.workspace.part == 2
    desk.store.update(selection=Selection(current=int(faces.ids[16])))  # the only face of its person
    assert page.ranks.ranks is None
    assert page.ranks.sentence().startswith("Not among those that searched")


def test_figures_show_what_the_page_shows(page: LearnersPanel, desk: Desk) -> None:
    assert (page.figure_view().k, page.figure_view().limit) == (1, 1)
    page.controls.k.set_value("4")
    page.specialists.set_limit(5)
    assert (page.figure_view().k, page.figure_view().limit) == (4, 5)
    page.show_below("ranks")
    page.ranks.setFocus()
    assert page.figure_name() == "ranks"


def test_compared_with_nothing(page: LearnersPanel, desk: Desk) -> None:
    choose(page.controls.baseline, "")
    settle(desk)
    assert desk.workspace.learners.baseline is None
    assert [column.title for column in page.table.table.model_.columns] == ["slice", "B  new"]
    assert not page.table.lead.gain.before
    choose(page.controls.baseline, "old")
    settle(desk)
    assert desk.workspace.learners.baseline is not None


def test_a_baseline_can_be_cut_into_as_many_slices(
    page: LearnersPanel, desk: Desk, faces: FaceSet, two: dict[str, FeatureSet]
) -> None:
    odd = features(faces, np.random.default_rng(2).normal(size=(len(faces), 9)), "odd")
    desk.store.update(features={**two, "odd": odd})
    listed = page.controls.baseline
    flags = [listed.model().flags(listed.model().index(i, 0)) for i in range(listed.count())]
    offered = {listed.itemText(i): bool(flags[i] & Qt.ItemFlag.ItemIsEnabled) for i in range(listed.count())}
    assert offered == {"nothing": True, "old": True, "odd": False}


def test_one_model_is_enough(page: LearnersPanel, desk: Desk, two: dict[str, FeatureSet]) -> None:
    desk.store.update(features={"old": two["old"]})
    settle(desk)
    assert desk.workspace.learners.own.model == "old"
    assert not page.controls.baseline.isEnabled()


def test_large_galleries_wait_to_be_asked(
    page: LearnersPanel, desk: Desk, monkeypatch: pytest.MonkeyPatch, faces: FaceSet
) -> None:
    monkeypatch.setattr(page_file, "AT_ONCE", 4)
    desk.store.update(excluded=faces.ids[-1:])
    settle(desk)
    assert page.pages.currentWidget() is page.empty
    assert page.empty.accessibleDescription() == "16 faces, new beside old."
    page.run.click()
    settle(desk)
    assert page.pages.currentWidget() is page.area


def test_what_is_missing_is_said(panel: Callable[..., Any], desk: Desk, two: dict[str, FeatureSet]) -> None:
    made = panel(LearnersPanel)
    assert (made.empty.accessibleName(), made.home()) == ("No gallery yet", made.open)
    strangers = gallery(12, 1)
    desk.store.update(faces=strangers)
    assert (made.empty.accessibleName(), made.home()) == ("No model yet", made.next)
    rng = np.random.default_rng(1)
    desk.store.update(features={"new": features(strangers, rng.normal(size=(12, 8)), "new")})
    assert made.empty.accessibleName() == "Nobody to find"
    assert not desk.jobs.jobs, "nothing is asked that cannot be answered"
