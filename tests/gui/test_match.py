"""The Match panel: the face looked at is searched for, a click explains, alpha moves without asking anybody."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import shiboken6

from facelens.analyses import transport
from facelens.analyses.decisions import Strangers
from facelens.analyses.patch_sets import PatchSets
from facelens.analyses.plan import MatchPlan
from facelens.analyses.reranking import Reranked, explain, order
from facelens.features.card import Card
from facelens.features.featureset import FeatureSet
from facelens.features.library import Inspection
from facelens.features.patching import Shown
from facelens.features.saliency import Deletion
from facelens.images.faceset import FaceSet
from facelens.images.occlusion import CLEAR, Occlusion
from facelens.session import deciding, matching
from facelens.session.ground import Ground
from facelens.session.selection import Selection
from facelens.session.settings import Searching
from facelens.session.workspace import Answer
from facelens.views.panel import Desk
from facelens.views.panels.match import TRIED, MatchPanel
from tests.figures.matched import make_sweep
from tests.gui.conftest import settle
from tests.gui.evaluation.stub import features, gallery

GRID = (3, 2)
CROP = np.full((48, 32, 3), 90, np.uint8)


@pytest.fixture(scope="module")
def faces() -> FaceSet:
    return gallery(6, 4)


@pytest.fixture(scope="module")
def vectors(faces: FaceSet) -> FeatureSet:
    rng = np.random.default_rng(1)
    return features(faces, rng.normal(size=(6, 8))[faces.identity.codes] + rng.normal(size=(len(faces), 8)), "net")


def patches(faces: FaceSet, ids: np.ndarray) -> PatchSets:
    found = np.stack([np.random.default_rng(int(face) % 997).normal(size=(6, 5)) for face in ids])
    unit = (found / np.linalg.norm(found, axis=2, keepdims=True)).astype(np.float32)
    return PatchSets(np.asarray(ids), unit, unit.mean(1), unit[:, 0], GRID)


@pytest.fixture(autouse=True)
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """Searches without a network: cosines of the vectors, patches made of the ids."""
    calls: list[tuple[Any, ...]] = []

    def search(ground: Ground, query: int, plan: MatchPlan, **given: Any) -> matching.Searched:
        faces, occlusion = ground.faces, given["occlusion"] or CLEAR
        calls.append(("search", query, plan.weights, occlusion.kind))
        unit = ground.features.unit(faces.ids)[0]
        cosine = unit @ unit[faces.row_of(query)]
        rows = np.argsort(-cosine, kind="stable")
        rows = rows[faces.ids[rows] != query][: plan.shortlist]
        emd = np.random.default_rng(len(occlusion.kind)).random(len(rows))
        found = Reranked(query, faces.ids[rows], cosine[rows], emd, emd * 0, plan.solver, GRID, 0.01)
        right = faces.identity.codes[rows] == faces.identity.codes[faces.row_of(query)]
        first = int(np.flatnonzero(right)[0]) + 1
        return matching.Searched(found, right, len(faces) - 1, first, 0, Shown(CROP, None), occlusion)

    def told(ground: Ground, query: int, other: int, plan: MatchPlan, **given: Any) -> matching.Pair:
        calls.append(("explain", query, other))
        sides = [patches(ground.faces, np.array([one])) for one in (query, other)]
        return matching.Pair(explain(*sides, plan, cosine=0.5), Shown(CROP, None), Shown(CROP, None))

    def strangers(ground: Ground, plan: MatchPlan, **given: Any) -> Strangers:
        return Strangers(np.full(400, 0.1), np.linspace(0.5, 1, 400))

    monkeypatch.setattr(deciding, "strangers", strangers)
    monkeypatch.setattr(matching, "search", search)
    monkeypatch.setattr(matching, "explain", told)
    return calls


@pytest.fixture
def page(panel: Callable[..., Any], desk: Desk, faces: FaceSet, vectors: FeatureSet) -> MatchPanel:
    card = Card("net", "small_plain", size=(48, 32), patch_layer="stage3", grid=GRID, dimensions=8)
    seen = Inspection(Path("/nowhere/net.pt"), "weights", "0" * 64, 1, card)
    desk.store.update(faces=faces, features={"net": vectors}, models=(seen,), model_b="net")
    made = panel(MatchPanel)
    made.resize(1400, 800)
    return made


def look(desk: Desk, face: int) -> None:
    desk.store.update(selection=desk.workspace.selection.looking_at(face))
    settle(desk)


def test_the_face_looked_at_is_searched_for(page: MatchPanel, desk: Desk, faces: FaceSet, asked: list[Any]) -> None:
    assert page.pages.currentWidget() is page.empty
    look(desk, int(faces.ids[0]))
    assert desk.workspace.query == int(faces.ids[0])
    assert page.pages.currentWidget() is page.area
    assert {kind for what, *_, kind in asked if what == "search"} == set(TRIED), "other occlusions are tried too"


def test_what_comes_after_the_page_is_gone_is_for_nobody(
    page: MatchPanel, desk: Desk, faces: FaceSet, monkeypatch: pytest.MonkeyPatch, pump: Callable
) -> None:
    began, gate, search = threading.Event(), threading.Event(), matching.search

    def late(*args: Any, **given: Any) -> matching.Searched:
        if given["occlusion"] is not None:  # that under other occlusions is for this page alone
            began.set()
            gate.wait(30)
        return search(*args, **given)

    monkeypatch.setattr(matching, "search", late)
    desk.store.update(selection=desk.workspace.selection.looking_at(int(faces.ids[0])))
    while not began.is_set():
        pump()
    page.close_panel()
    shiboken6.delete(page)
    gate.set()
    settle(desk)  # an exception in a slot would fail the test


def test_a_candidate_is_explained_beside_the_same_query(page: MatchPanel, desk: Desk, faces: FaceSet) -> None:
    query, other = int(faces.ids[0]), int(faces.ids[9])
    look(desk, query)
    page.slopes.candidate_chosen.emit(other)
    settle(desk)
    assert desk.workspace.selection.pair == (query, other)
    assert desk.workspace.query == query
    assert page._current(page._shown) == other
    told = page._pairs[desk.workspace.match_question, other].found
    u = transport.weights(*(patches(faces, np.array([one])).patches[0] for one in (query, other)))[0]
    assert told.flow.sum(1) == pytest.approx(u)


def test_alpha_asks_nobody(page: MatchPanel, desk: Desk, faces: FaceSet, asked: list[Any]) -> None:
    look(desk, int(faces.ids[0]))
    found, before = page._shown, len([one for one in asked if one[0] == "search"])
    for alpha in (0, 55, 100):
        page.controls.alpha.setValue(alpha)
    settle(desk)
    assert desk.workspace.match_plan.alpha == 1.0
    assert page._shown is found
    assert len([one for one in asked if one[0] == "search"]) == before
    best = order(found.found, alpha=1.0)[0]
    assert found.found.emd[best] == found.found.emd.min()
    assert page._current(found) == int(found.found.ids[best]), "the first one is looked at where none was clicked"
    page._write_down()
    assert desk.settings.searching.alpha == 1.0


def test_a_threshold_comes_from_strangers_and_follows_alpha(page: MatchPanel, desk: Desk, faces: FaceSet) -> None:
    page.controls.planned.emit({"far": 0.1})
    look(desk, int(faces.ids[0]))
    assert page._threshold() == pytest.approx(0.7 * 0.55 + 0.3 * 0.9, abs=0.005)
    page.controls.planned.emit({"alpha": 0.0})
    assert page._threshold() == pytest.approx(0.9)


def test_weights_are_asked_for_anew(page: MatchPanel, desk: Desk, faces: FaceSet, asked: list[Any]) -> None:
    look(desk, int(faces.ids[0]))
    page.controls.planned.emit({"weights": "apc"})
    settle(desk)
    assert ("search", int(faces.ids[0]), "apc", "none") in asked
    page._write_down()
    assert desk.settings.searching == replace(Searching(), weights="apc")


def test_painting_searches_for_the_painted_face(page: MatchPanel, desk: Desk, faces: FaceSet) -> None:
    look(desk, int(faces.ids[0]))
    page.tried.occlusion_chosen.emit(Occlusion("mask"))
    settle(desk)
    assert page._shown.occlusion.kind == "mask"
    page.canvas.occlusion_changed.emit(None)
    settle(desk)
    assert desk.workspace.occlusion is None
    assert page._shown.occlusion.clear


def test_every_control_is_undone_and_shows_it(page: MatchPanel, desk: Desk, faces: FaceSet) -> None:
    look(desk, int(faces.ids[0]))
    page.controls.planned.emit({"solver": "sinkhorn"})  # so that epsilon is there
    settle(desk)
    shown = page.controls

    def seen() -> tuple[object, ...]:
        boxes = (shown.grid.currentText(), shown.solver.currentData(), shown.shortlist.currentData())
        return shown.value.text(), shown.weights.value(), *boxes, shown.epsilon.value(), shown.epsilon_row.isHidden()

    for change in (
        {"alpha": 0.2},
        {"alpha": -1.0},
        {"weights": "sc similarity"},
        {"layer": "", "grid": (3, 2)},
        {"epsilon": 0.2},
        {"solver": "exact"},
        {"shortlist": 10},
    ):
        before, plan, question = seen(), desk.workspace.match_plan, desk.workspace.match_question
        desk.store.clock = lambda later=desk.store.clock() + 10: later  # type: ignore[misc]  # noqa: B008
        shown.planned.emit(change)
        settle(desk)
        assert desk.workspace.match_plan == replace(plan, **change), change  # type: ignore[arg-type]
        desk.store.go(desk.workspace.history.done - 1)
        settle(desk)
        assert (desk.workspace.match_plan, seen(), desk.workspace.match_question) == (plan, before, question), change
        assert page._shown is page.found() is not None, "and what was found then is shown"


def test_what_is_painted_by_hand_has_ranks_and_is_painted_on_all(
    page: MatchPanel, desk: Desk, faces: FaceSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    look(desk, int(faces.ids[0]))
    stroke = Occlusion("brush", strokes=((0.2, 0.3, 0.1), (0.4, 0.3, 0.1)))
    page.canvas.occlusion_changed.emit(stroke)
    settle(desk)
    assert page.tried.rows._ranks["brush"] == (page._shown.first, page._shown.after(0.7))
    painted: list[object] = []
    monkeypatch.setattr(matching, "sweep", lambda ground, plan, **given: painted.append(given["occlusion"]))
    page.tried.sweep_wanted.emit("brush")
    settle(desk)
    assert painted == [stroke] and desk.workspace.occlusion == stroke
    page.controls.occluder.click()
    assert page.plan.header.title() == "Occlude the query" and not page.explorer.controls.isVisible()


def test_searches_for_all_by_other_settings_are_drawn(
    page: MatchPanel, desk: Desk, faces: FaceSet, until: Callable
) -> None:
    look(desk, int(faces.ids[0]))
    plan = replace(desk.workspace.resolved_match, weights="apc")
    for changed in (plan, replace(plan, solver="sinkhorn"), replace(plan, grid=(2, 2))):
        desk.store.update(match_plan=changed)
        desk.store.update(sweep_answer=Answer(desk.workspace.sweep_question, make_sweep(faces)))
        settle(desk)
    assert [one.solver for one in page.figure_view().tried] == [plan.solver, "sinkhorn", plan.solver]
    assert [plan for plan, _ in page.figure_held()["tried"]] == list(page.figure_view().tried)
    assert page.sweep.by.offers("grid") and not page.sweep.by.offers("solver"), "one of them has both as they were"
    page.sweep.by.set_value("grid")
    page.sweep.by.setFocus()
    assert page.figure_name() == "grids"
    page.slopes.set_mode("queries")
    page.slopes.table.setFocus()
    assert page.figure_name() == "ranks"
    page.tried.rows.setFocus()
    assert page.figure_name() == "painted"
    until(lambda: set(page.figure_held()["painted"]) == set(TRIED))
    page.ledger.mode.set_value("selection")
    assert dict(page.figure_places()).get(page.regions) == "averaged"


def test_maps_that_are_worked_out_are_drawn(
    page: MatchPanel, desk: Desk, faces: FaceSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    def saliency(ground: Ground, query: int, other: int, plan: MatchPlan, **given: Any) -> matching.Salient:
        check = Deletion(np.array([0.0, 1.0]), np.zeros(2), np.zeros((8, 2)))
        return matching.Salient(given["kind"], np.ones(GRID), check, Shown(CROP, None))

    monkeypatch.setattr(matching, "saliency", saliency)
    look(desk, int(faces.ids[0]))
    assert page.figure_view().heat == () and dict(page.figure_places())[page.plan] == "flow"
    for kind in ("gradient", "occlusion"):
        page.explorer.over.button(kind).click()
        settle(desk)
    assert page.figure_view().heat == ("occlusion", "gradient")
    assert [one.kind for one in page.figure_held()["salient"]] == ["occlusion", "gradient"]
    assert dict(page.figure_places())[page.plan] == "saliency"
    page.slopes.candidate_chosen.emit(int(faces.ids[9]))
    assert page.figure_view().heat == (), "those are of another pair"


def test_how_the_plan_is_looked_at_is_a_step(
    page: MatchPanel, desk: Desk, faces: FaceSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What lies over the query, the cells, what is hidden and the colours."""
    wanted: list[str] = []
    look(desk, int(faces.ids[0]))
    settle(desk)
    monkeypatch.setattr(page.errands, "submit", lambda request, **_: wanted.append(request.kwargs.get("kind", "")))
    explorer, first = page.explorer, desk.workspace.history.done
    usual = explorer.look

    def later() -> None:
        desk.store.clock = lambda later=desk.store.clock() + 10: later  # type: ignore[misc]  # noqa: B008

    for act, said in (
        (explorer.over.button("gradient").click, "over the query query weights → gradient"),
        (explorer.cells.button("cost").click, "cells of the plan whole plan → cost"),
        (lambda: explorer.controls.opacity.setValue(30), "opacity 30 %"),
        (lambda: explorer.controls.colours.activated.emit(_chosen(explorer.controls.colours, 1)), "colours cividis"),
        (lambda: [explorer.controls.cut.setValue(step) for step in (8, 12, 20)], "hide mass below 10 %"),
    ):
        later()
        act()
        assert desk.workspace.history.undo == said
    assert desk.workspace.history.done == first + 5, "a drag is one"
    assert (desk.workspace.looks.plan_cut, desk.workspace.looks.plan_colours) == (0.1, "cividis")
    desk.store.go(first)
    assert explorer.look == usual and explorer.over.value() == "weights" and explorer.cells.value() == "flow"
    page._write_down()
    assert desk.settings.searching.cut == usual.cut, "and is what is remembered"
    desk.store.go(first + 5)
    assert (explorer.look.cut, explorer.look.colours, explorer.cells.value()) == (0.1, "cividis", "cost")
    assert "gradient" in wanted
    desk.store.update(looks=replace(desk.workspace.looks, plan_colours="jet"))
    assert explorer.look.colours == "cividis", "of colours that are not offered a file has no say"


def _chosen(combo: Any, place: int) -> int:
    combo.setCurrentIndex(place)
    return place


def test_what_all_queries_are_compared_by_is_a_step(page: MatchPanel, desk: Desk, faces: FaceSet) -> None:
    look(desk, int(faces.ids[0]))
    plan = replace(desk.workspace.resolved_match, weights="apc")
    for changed in (plan, replace(plan, grid=(2, 2))):
        desk.store.update(match_plan=changed)
        desk.store.update(sweep_answer=Answer(desk.workspace.sweep_question, make_sweep(faces)))
        settle(desk)
    page.sweep.by.button("grid").click()
    assert desk.workspace.history.undo == "compare by α → grid"
    page.sweep.by.fold(True)  # where there is no room a list stands for the segments
    desk.store.go(desk.workspace.history.done - 1)
    assert page.sweep.by.value() == "alpha"
    desk.store.go(desk.workspace.history.done + 1)
    assert page.sweep.by.value() == "grid" and page.sweep.pages.currentWidget() is page.sweep.bars


def test_a_pair_from_elsewhere_is_taken_over(page: MatchPanel, desk: Desk, faces: FaceSet) -> None:
    a, b = int(faces.ids[3]), int(faces.ids[5])
    desk.store.update(selection=Selection(np.array([a, b]), a, (a, b)))
    settle(desk)
    assert desk.workspace.query == a
    assert page._current(page._shown) == b


def test_without_patches_the_page_says_what_is_missing(
    panel: Callable[..., Any], desk: Desk, faces: FaceSet, vectors: FeatureSet
) -> None:
    made = panel(MatchPanel)
    desk.store.update(faces=faces, features={"net": vectors})
    assert made.pages.currentWidget() is made.empty
    assert made.next.isVisible()


def test_the_candidate_can_be_searched_for_itself(page: MatchPanel, desk: Desk, faces: FaceSet) -> None:
    query, other = int(faces.ids[0]), int(faces.ids[9])
    look(desk, query)
    page.slopes.candidate_chosen.emit(other)
    settle(desk)
    page.slopes.face_wanted.emit(other)
    settle(desk)
    assert desk.workspace.query == other
    assert page._shown is not None and page._shown.found.query == other


def test_another_patch_layer_is_another_search(page: MatchPanel, desk: Desk, faces: FaceSet) -> None:
    look(desk, int(faces.ids[0]))
    [seen] = desk.workspace.models
    asked = desk.workspace.match_question
    desk.store.update(models=(replace(seen, card=seen.card.changed(patch_layer="stage1", grid=(6, 4))),))
    assert desk.workspace.match_question != asked
