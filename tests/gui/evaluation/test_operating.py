"""One operating point for all charts and tables of the evaluation page."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from facelens.images.faceset import FaceSet
from facelens.session import listing
from facelens.session.workspace import Operating
from facelens.views.canvas import Mark
from facelens.views.panels.evaluation import EvaluationPanel
from tests.gui.conftest import settle
from tests.gui.evaluation.stub import choose, features, put
from tests.gui.evaluation.truth import Truth, holds, listed, threshold


def test_everything_follows_the_line(both: EvaluationPanel) -> None:
    desk = both.desk
    page_, truth = both.verification, Truth(desk, "new")
    page_.scores.moved.emit(0.3)
    assert desk.workspace.operating.threshold == 0.3 and page_.scores.decision == pytest.approx(0.3)
    accepted = int((~truth.genuine & (truth.score >= 0.3)).sum())
    far = accepted / int((~truth.genuine).sum())
    assert page_.roc.decision == pytest.approx(far) and desk.workspace.operating.far == pytest.approx(far)
    row = page_.points.marked
    assert page_.points.rows_[row] is None and page_.points.text(row, 5) == str(accepted)
    tar = float((truth.score[truth.genuine] >= 0.3).mean())
    assert page_.points.text(row, 2).startswith(f"{tar:.4f}")
    side = page_.view.side_of("A")
    assert threshold(both, "A") == listing.threshold_at(side.report.scores, far, rule="roc") != 0.3
    page_.roc.moved.emit(0.0501)  # near a row: it snaps
    assert desk.workspace.operating == Operating(0.05) and page_.points.marked == 1 and None not in page_.points.rows_
    page_.points.tap(0, 0)
    assert page_.roc.decision == pytest.approx(0.2) and page_.scores.decision == pytest.approx(threshold(both, "B"))


def test_the_list_follows_when_the_line_is_let_go(both: EvaluationPanel) -> None:
    desk = both.desk
    page_, truth = both.verification, Truth(desk, "new")
    page_.points.tap(1, 5)
    page_.roc.moved.emit(0.11)
    before = listed(both)
    page_.roc.settled.emit(0.11)
    t = threshold(both, "B")
    holds(both, truth, ~truth.genuine & (truth.score >= t - 1e-6))
    assert listed(both) != before


def test_the_line_moves_where_there_are_no_intervals(both: EvaluationPanel) -> None:
    """One person alone has several pictures, so draws of people say nothing."""
    names = ["a", "a", "a", *(f"p{i}" for i in range(27))]
    faces = FaceSet.build("g", Path("/nowhere"), paths=[f"{i}.png" for i in range(30)], identities=names)
    put(both.desk, faces, features(faces, np.random.default_rng(0).normal(size=(30, 8)), "net"), model_a="")
    settle(both.desk)
    page_ = both.verification
    page_.roc.moved.emit(0.3)
    assert page_.points.rows_[page_.points.marked] is None and "[" not in page_.points.text(page_.points.marked, 1)
    assert all("nan" not in line and "[" not in line for line in page_.roc._card_lines(Mark("B", 1)))


def test_the_scores_of_the_other_model(both: EvaluationPanel) -> None:
    desk = both.desk
    page_ = both.verification
    choose(page_.model, "A")
    assert page_.scores.decision == pytest.approx(threshold(both, "A"))
    page_.scores.settled.emit(0.2)
    assert desk.workspace.operating.of == "a"


def test_a_threshold_is_carried_over(both: EvaluationPanel) -> None:
    desk = both.desk
    page_, truth = both.verification, Truth(desk, "new")
    page_.places.show_key("threshold")
    table = page_.bench.table
    assert [table.text(i, 0) for i in range(3)] == ["A  old", "B  with the threshold of A", "B  new"]
    t = threshold(both, "A")
    assert table.text(1, 4) == str(int((~truth.genuine & (truth.score >= t)).sum()))
    assert "the threshold of A gives B" in page_.bench.sentence.text()
    heads = [column.title for column in table.model_.columns]
    assert heads[2:4] == ["real FAR [95 %]", "TAR [95 %]"]
    for row in range(3):  # no rate without its interval
        for column in (2, 3):
            value, low, high = (
                float(v) for v in table.text(row, column).translate(str.maketrans("[],", "   ")).split()
            )
            assert low <= value <= high and low < high
    table.tap(1, 5)
    holds(both, truth, truth.genuine & (truth.score < t - 1e-6))
    choose(page_.bench.target, 0.2)
    assert desk.workspace.operating == Operating(0.2)


def test_numbers_that_need_no_operating_point(both: EvaluationPanel) -> None:
    desk, page_, truth = both.desk, both.verification, Truth(both.desk, "new")
    page_.places.show_key("summary")
    table, found = page_.summary, desk.workspace.evaluation.b.verification
    assert [table.text(i, 0) for i in range(6)] == ["EER", "AUC", "d′", "FMR100", "FMR1000", "best accuracy"]
    assert table.text(0, 2).startswith(f"{found.eer.value:.4f} [")
    assert table.text(0, 3)[0] in "+−0" and table.text(2, 3) == "not paired"
    table.tap(0, 2)
    t = found.eer_threshold
    holds(both, truth, np.where(truth.genuine, truth.score < t - 1e-6, truth.score >= t - 1e-6))
    table.tap(3, 2)
    t = listing.threshold_at(desk.workspace.evaluation.b.scores, 1e-2, rule="roc")
    holds(both, truth, truth.genuine & (truth.score < t - 1e-6))
    before = listed(both)
    table.tap(1, 2)  # of all pairs: there is no threshold
    assert listed(both) == before


def test_a_far_is_added_and_taken_out(both: EvaluationPanel) -> None:
    desk = both.desk
    menu = both.verification.add_far.menu()
    menu.aboutToShow.emit()
    [add] = [action for action in menu.actions() if action.text() == "Add 1e-1"]
    add.trigger()
    assert 0.1 in desk.workspace.plan.fars
    settle(desk)
    assert both.verification.points.text(1, 0) == "1e-1"
    menu.aboutToShow.emit()
    [out] = [action for action in menu.actions() if action.text() == "Take out 1e-5"]
    out.trigger()
    assert desk.workspace.plan.fars == (0.2, 0.1, 0.05, 0.01)


def test_differences_that_are_on_their_way_are_not_called_impossible(both: EvaluationPanel) -> None:
    from dataclasses import replace

    page_, view = both.verification, both.verification.points.view
    bare = replace(view.evaluation, paired=None, paired_search=None, paired_retrieval=None)
    for whole, said in ((False, "to come"), (True, "not paired")):
        view_now = replace(view, evaluation=replace(bare, complete=whole))
        page_.points.show_view(view_now)
        page_.summary.show_view(view_now)
        assert page_.points.text(0, 3) == said and page_.points.cell(0, 3).why is whole
        assert page_.summary.text(0, 3) == said
    page_.points.show_view(view)
    page_.summary.show_view(view)
