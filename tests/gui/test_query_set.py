"""Queries of another gallery: opened, listed, searched for, undone; work that ends with its gallery."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from facelens.analyses.measure import Measure
from facelens.analyses.plan import MatchPlan
from facelens.analyses.reranking import Reranked, Sweep, SweepRow
from facelens.errors import Cancelled
from facelens.features.card import Card
from facelens.features.featureset import FeatureSet
from facelens.features.library import Inspection
from facelens.features.patching import Shown
from facelens.images.faceset import FaceSet
from facelens.images.occlusion import CLEAR
from facelens.progress import Tick, offer
from facelens.session import deciding, match_queries, matching
from facelens.session.ground import Ground
from facelens.session.jobs import State
from facelens.session.questions import SWEEP
from facelens.session.store import Store
from facelens.views.main_window import MainWindow
from facelens.views.panel import Desk
from facelens.views.panels.match import MatchPanel
from facelens.views.query_set import HERE, OTHER, QuerySet
from tests.gui.conftest import settle
from tests.gui.evaluation.stub import features, gallery

CROP = np.full((48, 32, 3), 90, np.uint8)
GRID = (3, 2)


@pytest.fixture(scope="module")
def faces() -> FaceSet:
    return gallery(5, 3)


@pytest.fixture(scope="module")
def others() -> FaceSet:
    names = ["Person_1", "Person_1", "Nobody"]
    return FaceSet.build("masked", Path("/masked"), paths=[f"{i}.png" for i in range(3)], identities=names)


@pytest.fixture(autouse=True)
def grounds(monkeypatch: pytest.MonkeyPatch, others: FaceSet) -> list[Ground]:
    """Searches without a network; where each of them was."""
    seen: list[Ground] = []

    def search(ground: Ground, query: int, plan: MatchPlan, **given: Any) -> matching.Searched:
        seen.append(ground)
        ids = ground.faces.ids[:4]
        right = ground.faces.identity.codes[:4] == match_queries.person(ground.faces, ground.queries, query)
        found = Reranked(query, ids, np.linspace(0.9, 0.1, 4), np.full(4, 0.2), np.zeros(4), plan.solver, GRID, 0.01)
        occlusion = given["occlusion"] or CLEAR
        return matching.Searched(found, right, len(ground.faces), 1, 0, Shown(CROP, None), occlusion)

    def embed(queries: FaceSet, model: object, **given: Any) -> FeatureSet:
        return features(queries, np.eye(8)[: len(queries)] + 0.1, "net")

    def nothing(*given: Any, **named: Any) -> None:
        raise Cancelled

    monkeypatch.setattr(matching, "search", search)
    monkeypatch.setattr(matching, "explain", nothing)
    monkeypatch.setattr(deciding, "strangers", nothing)
    monkeypatch.setattr(match_queries, "embed", embed)
    return seen


@pytest.fixture
def page(panel: Callable[..., Any], desk: Desk, faces: FaceSet) -> MatchPanel:
    card = Card("net", "small_plain", size=(48, 32), patch_layer="stage3", grid=GRID, dimensions=8)
    seen = Inspection(Path("/nowhere/net.pt"), "weights", "0" * 64, 1, card)
    x = features(faces, np.random.default_rng(0).normal(size=(len(faces), 8)), "net")
    desk.store.update(faces=faces, features={"net": x}, models=(seen,), model_b="net")
    made: MatchPanel = panel(MatchPanel)
    made.resize(1400, 800)
    return made


def open_set(desk: Desk, others: FaceSet) -> None:
    desk.store.update(queries=others, query=int(others.ids[0]))
    settle(desk)


def past(store: Store) -> None:
    """A pause of the hand."""
    later = store.clock() + 10
    store.clock = lambda: later


def test_queries_of_another_gallery_are_listed_and_searched_for(
    page: MatchPanel, desk: Desk, faces: FaceSet, others: FaceSet, grounds: list[Ground]
) -> None:
    open_set(desk, others)
    assert grounds[-1].queries is others
    vectors = desk.workspace.queries_features
    assert vectors is not None and grounds[-1].asking is vectors, "their vectors are made once and go along"
    assert page._told.startswith("Names of masked that are in stub too: 1 of 2") and page._told in page.notes.text()
    assert page.slopes.table.ids.tolist() == others.ids.tolist() and page.slopes.set.apart
    assert page._person() == faces.identity.names.index("Person_1")
    page.slopes.query_wanted.emit(int(others.ids[2]))
    settle(desk)
    assert desk.workspace.query == int(others.ids[2]) and page._person() == -1
    assert desk.workspace.selection.current is None, "the selection is of the gallery"
    page.slopes.candidate_chosen.emit(int(faces.ids[2]))
    assert desk.workspace.selection.current == int(faces.ids[2]) and desk.workspace.selection.pair is None
    assert desk.workspace.query == int(others.ids[2])


def test_the_set_and_its_queries_are_undone(page: MatchPanel, desk: Desk, faces: FaceSet, others: FaceSet) -> None:
    desk.store.update(selection=desk.workspace.selection.looking_at(int(faces.ids[0])))
    past(desk.store)
    open_set(desk, others)
    past(desk.store)
    page.slopes.query_wanted.emit(int(others.ids[1]))
    past(desk.store)
    page.slopes.set.here_wanted.emit()
    settle(desk)
    assert desk.workspace.queries is None and desk.workspace.query == int(faces.ids[0]) and not page.slopes.set.apart
    done = desk.workspace.history.done
    for back, queries, query in ((1, others, others.ids[1]), (2, others, others.ids[0]), (3, None, faces.ids[0])):
        desk.store.go(done - back)
        settle(desk)
        assert desk.workspace.queries is queries and desk.workspace.query == int(query)
        assert page.slopes.set.apart is (queries is not None)
        assert page._shown is not None and page._shown.found.query == int(query), "and its ranking is shown"


def test_the_choice_stays_until_it_is_there(others: FaceSet, leftovers: None) -> None:
    made, heard = QuerySet(), []
    made.other_wanted.connect(lambda: heard.append(OTHER))
    made.here_wanted.connect(lambda: heard.append(HERE))
    made.choice.button(OTHER).click()
    assert made.choice.value() == HERE and heard == [OTHER]
    made.show_set(others, "told")
    assert made.choice.value() == OTHER and made.choice.button(OTHER).accessibleName() == "masked"
    assert "3 faces" in made.choice.button(OTHER).toolTip() and "told" in made.choice.button(OTHER).toolTip()
    made.choice.button(HERE).click()
    assert made.choice.value() == OTHER and heard == [OTHER, HERE]
    made.deleteLater()


def some(n: int, *, complete: bool) -> Sweep:
    measures = dict.fromkeys(("P@1", "RP", "MAP@R"), (Measure(0.5, n=n),))
    row = SweepRow("uniform", (0.7,), measures, np.ones((1, n), np.int32))
    before = dict.fromkeys(("P@1", "RP", "MAP@R"), Measure(0.4, n=n))
    return Sweep(np.arange(n), before, np.ones(n, np.int32), (row,), "", 15, 10, "exact", "so", complete)


@pytest.fixture
def endless(monkeypatch: pytest.MonkeyPatch) -> Event:
    """A sweep that offers a part and goes on until it is stopped; set when it was."""
    stopped = Event()

    def sweep(ground: Ground, plan: MatchPlan, *, tick: Tick, **given: Any) -> Sweep:
        offer(tick, some(2, complete=False))
        try:
            while True:
                tick(2, 15)
        except Cancelled:
            stopped.set()
            raise

    monkeypatch.setattr(matching, "sweep", sweep)
    return stopped


def ended(desk: Desk) -> State:
    return next(job.state for job in desk.jobs.jobs if job.request.slot == SWEEP)


def test_a_sweep_ends_with_its_gallery(
    page: MatchPanel, desk: Desk, endless: Event, until: Callable[..., None]
) -> None:
    page.sweep.run_wanted.emit()
    until(lambda: desk.workspace.sweep_answer is not None)
    desk.store.update(faces=gallery(2, 2), features={})
    until(endless.is_set, "the sweep to be stopped")
    settle(desk)
    assert ended(desk) is State.CANCELLED


def test_a_sweep_that_is_stopped_leaves_what_it_found(
    page: MatchPanel, desk: Desk, faces: FaceSet, endless: Event, until: Callable[..., None]
) -> None:
    desk.store.update(selection=desk.workspace.selection.looking_at(int(faces.ids[0])))
    page.sweep.run_wanted.emit()
    until(lambda: page.sweep.stop.isVisible() and page.sweep.sweep is not None)
    page.sweep.stop.click()
    until(endless.is_set)
    settle(desk)
    until(page.sweep.again.isVisible)
    assert ended(desk) is State.CANCELLED and page.sweep.chart.aside.startswith("stopped before the end")
    kept = desk.workspace.sweep_answer
    assert kept is not None and len(kept.found.queries) == 2  # type: ignore[attr-defined]


def test_a_folder_becomes_the_query_set(browsing: MainWindow, make_gallery: Callable, tmp_path: Path) -> None:
    folder = make_gallery(tmp_path / "masked", people=("Abe_Else", "Ada_Byron"), pictures=2)
    browsing.opening.open_queries(folder)
    settle(browsing)
    now = browsing.store.workspace
    assert now.queries is not None and now.queries.name == "masked" and browsing.stage.word == "match"
    row = now.queries.row_of(now.query)
    assert row is not None and now.queries.identity.name(row) == "Ada_Byron"
    assert now.history.undo == "query set masked"
    QTest.keyClick(browsing, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert browsing.store.workspace.queries is None
    browsing.act("gallery.close")
    settle(browsing)
    assert browsing.store.workspace.queries is None and browsing.store.workspace.query is None
