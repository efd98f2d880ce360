"""The Confidence panel: one part in all its views, one pair before the jury, slices where nothing was learned."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from facelens.analyses import parts as cutting
from facelens.analyses.plan import PartsPlan
from facelens.features.featureset import FeatureSet
from facelens.images.faceset import FaceSet
from facelens.session.depicting import names_of_faces
from facelens.session.looks import Looks
from facelens.session.selection import Selection
from facelens.session.workspace import UNSURE, with_model_columns
from facelens.views.panel import Desk
from facelens.views.panels.confidence import ConfidencePanel
from tests.gui.conftest import settle
from tests.gui.evaluation.stub import features, gallery

PEOPLE, PICTURES, K = 12, 4, 4


@pytest.fixture(scope="module")
def faces() -> FaceSet:
    rng = np.random.default_rng(3)
    return gallery(PEOPLE, PICTURES, blur=rng.random(PEOPLE * PICTURES))


@pytest.fixture(scope="module")
def models(faces: FaceSet) -> dict[str, FeatureSet]:
    rng = np.random.default_rng(5)
    truth = rng.normal(size=(PEOPLE, 16))[faces.identity.codes]
    vectors = truth + 0.5 * rng.normal(size=truth.shape)
    unsure = np.asarray(faces.columns["blur"])[:, None] + 0.1 * rng.normal(size=(len(faces), K))
    learned = replace(features(faces, vectors, "sure"), confidence=np.exp(-unsure).astype(np.float32))
    return {"plain": features(faces, vectors, "plain"), "sure": learned}


@pytest.fixture
def page(panel: Callable[..., Any], desk: Desk, faces: FaceSet, models: dict[str, FeatureSet]) -> ConfidencePanel:
    made = panel(ConfidencePanel)
    made.resize(1300, 760)
    desk.store.update(faces=faces, features=models, model_b="plain", parts_plan=PartsPlan(far=0.05))
    settle(desk)
    assert desk.workspace.parts is not None
    return made


def test_the_model_that_knows_its_parts_comes_first(page: ConfidencePanel, desk: Desk) -> None:
    assert desk.workspace.resolved_parts.model == "sure"
    assert desk.workspace.parts.layout.kind == "learned"
    assert page.pages.currentWidget() is page.area
    assert page.controls.model.currentText() == "sure, 4 learned parts"
    assert not page.controls.slices.isVisible()
    assert desk.workspace.study is not None and desk.workspace.study.complete, "few faces are studied unasked"


def test_one_part_is_current_in_all_views(page: ConfidencePanel, desk: Desk) -> None:
    page.spread.part_chosen.emit(2)
    assert desk.workspace.part == 2
    assert {view.part for view in (page.attributes, page.correlation, page.recall)} == {2}


def test_the_pair_is_the_two_faces_looked_at_last(page: ConfidencePanel, desk: Desk, faces: FaceSet) -> None:
    a, b, c = (int(face) for face in faces.ids[[0, 1, 9]])
    assert page.figure_held()["verdict"] is not None, "an example before anybody clicked"
    for face in (a, b, c):
        desk.store.update(selection=desk.workspace.selection.looking_at(face))
    assert (page.figure_held()["verdict"].query, page.figure_held()["verdict"].gallery) == (b, c)
    desk.store.update(selection=Selection(faces.ids[:2], a, (a, b)))
    assert (page.figure_held()["verdict"].query, page.figure_held()["verdict"].gallery) == (a, b)


@pytest.mark.parametrize("match", ["cosine", "weighted", "likelihood"])
def test_votes_add_up_to_the_score_whatever_is_left_out(
    page: ConfidencePanel, desk: Desk, faces: FaceSet, match: str
) -> None:
    page.controls.planned.emit({"match": match})
    desk.store.update(selection=Selection(faces.ids[:2], None, (int(faces.ids[0]), int(faces.ids[1]))))
    page.jury.left_out_changed.emit((1, 3))
    settle(desk)
    verdict = page.figure_held()["verdict"]
    assert desk.workspace.left_out == (1, 3)
    assert verdict.kept.tolist() == [True, False, True, False]
    assert verdict.votes[verdict.kept].sum() == pytest.approx(verdict.score, abs=1e-6)
    found = desk.workspace.parts
    rows = found.rows_of(faces.ids[:2])
    product = cutting.products(desk.workspace.features["sure"], found, int(faces.ids[0]))[rows[1]]
    votes = cutting.votes_between(found, rows[:1], rows[1:], product[None], match=match, kept=verdict.kept)
    assert votes.sum() == pytest.approx(verdict.score, abs=1e-5)


def test_an_ordinary_model_is_cut_into_slices_and_the_page_says_so(page: ConfidencePanel, desk: Desk) -> None:
    desk.store.update(left_out=(1,), part=3)
    page.controls.planned.emit({"model": "plain"})
    settle(desk)
    found = desk.workspace.parts
    assert (found.layout.kind, found.layout.parts) == ("slices", 16)
    assert desk.workspace.left_out == () and desk.workspace.part == 0, "other parts than before"
    assert "no learned confidence" in page.notes.text()
    assert page.controls.slices.isVisible()
    page.controls.slices.planned.emit({"parts": 4, "cut": "rotation"})
    settle(desk)
    assert desk.workspace.parts.layout.parts == 4
    assert desk.workspace.parts.rotation is not None
    page.controls.planned.emit({"match": "likelihood"})
    settle(desk)
    assert page.figure_held()["match"] == "cosine", "nobody says how sure these are"


def test_matrix_and_gallery_share_the_selection(page: ConfidencePanel, desk: Desk, faces: FaceSet) -> None:
    from facelens.session.selection import Mode

    page.matrix.select.emit(faces.ids[3:6], Mode.REPLACE)
    assert desk.workspace.selection.ids.tolist() == sorted(faces.ids[3:6].tolist())
    page.jury.mode.set_value("selection")
    page.court.show()
    desk.store.update(selection=Selection(faces.ids[:10]))
    settle(desk)


@pytest.mark.parametrize("key", ["attributes", "correlation", "recall"])
def test_every_page_of_the_foot_shows_the_study(page: ConfidencePanel, key: str) -> None:
    page.show_foot(key)
    view = getattr(page, key)
    assert view.study is not None and view.study.complete


def test_recall_at_how_many_is_a_step(page: ConfidencePanel, desk: Desk) -> None:
    page.show_foot("recall")
    recall, store = page.recall, desk.store
    ks = [str(k) for k in desk.workspace.study.curve.ks]
    recall.k.button(ks[2]).click()
    assert desk.workspace.looks.parts_at == ks[2] and desk.workspace.history.undo == f"Recall at {ks[2]}"
    store.go(0)
    assert recall.k.value() == ks[0] and f"Recall@{ks[0]}" in recall.reach.text()
    store.go(1)
    assert recall.k.value() == ks[2] and f"Recall@{ks[2]}" in recall.reach.text()


def test_recall_of_a_file_waits_for_its_curve(
    panel: Callable[..., Any], desk: Desk, faces: FaceSet, models: dict[str, FeatureSet], pump: Callable[..., None]
) -> None:
    with desk.store.aside():
        desk.store.update(looks=Looks(parts_at="4"))
    made = panel(ConfidencePanel)
    made.show_foot("recall")
    desk.store.update(faces=faces, features=models, model_b="plain", parts_plan=PartsPlan(far=0.05))
    settle(desk)
    pump()
    assert made.recall.k.value() == "4" and not desk.workspace.history.steps


def test_figures_list_faces_and_parts_as_the_page_does(page: ConfidencePanel, desk: Desk, faces: FaceSet) -> None:
    page.matrix.set_order(2, False)
    page.matrix.order_parts("mean", True)
    view = page.figure_view()
    assert (view.by, view.descending) == ("2", False) and view.columns == tuple(page.matrix.columns.tolist())
    first = faces.row_of(page.matrix.listed(1)[0])
    assert view.listed[0] == names_of_faces(faces, [int(faces.ids[first])])[0]
    page.matrix.setFocus()
    assert page.figure_name() == "matrix"


def test_nothing_to_look_at(panel: Callable[..., Any], desk: Desk, faces: FaceSet) -> None:
    made = panel(ConfidencePanel)
    assert made.pages.currentWidget() is made.empty
    assert made.open.isVisible()
    desk.store.update(faces=faces)
    assert made.next.isVisible() and not made.open.isVisible()


def test_unsure_faces_can_be_sorted_by(faces: FaceSet, models: dict[str, FeatureSet]) -> None:
    column = with_model_columns(faces, models, {}).columns[UNSURE.format(name="sure")]
    assert np.corrcoef(column, np.asarray(faces.columns["blur"]))[0, 1] > 0.9


def test_nothing_of_another_model_stays_where_nothing_can_be_said(
    page: ConfidencePanel, desk: Desk, models: dict[str, FeatureSet]
) -> None:
    alone = gallery(20, 1)
    vectors = features(alone, np.random.default_rng(0).normal(size=(20, 16)), "plain")
    desk.store.update(faces=alone, features={"plain": vectors}, parts_plan=PartsPlan(unit=True))
    settle(desk)
    assert not desk.workspace.parts.values
    assert page._named == ""
    assert not len(page.matrix.ids)
