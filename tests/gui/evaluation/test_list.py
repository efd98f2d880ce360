"""The list of pairs on the evaluation page."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from facelens.session import listing
from facelens.session.selection import Selection
from facelens.views.panels.evaluation import EvaluationPanel
from facelens.views.plots import Mark
from tests.gui.conftest import Calls, settle
from tests.gui.evaluation.truth import Truth, holds


def test_arrows_walk_the_list_and_enter_compares(both: EvaluationPanel, asked: Calls) -> None:
    desk = both.desk
    both.verification.points.tap(0, 5)
    ids = desk.workspace.selection.ids
    both.list.setFocus()
    QTest.keyClick(both.list, Qt.Key.Key_Down)
    found = both.list.listing
    pair = (int(found.first[1]), int(found.second[1]))
    assert both.list.current == 1 and desk.workspace.selection.pair == pair
    assert desk.workspace.selection.ids.tolist() == ids.tolist()
    assert both.list.accessibleDescription().startswith(f"2 of {found.total}, false match, Person ")
    QTest.keyClick(both.list, Qt.Key.Key_End)
    assert both.list.current == len(found) - 1
    QTest.keyClick(both.list, Qt.Key.Key_Return)
    last = {int(found.first[-1]), int(found.second[-1])}
    assert asked.named("act") == ["view.compare"] and set(desk.workspace.selection.ids.tolist()) == last


def test_the_list_follows_a_pair_chosen_elsewhere_and_can_be_emptied(both: EvaluationPanel) -> None:
    desk = both.desk
    both.verification.points.tap(0, 5)
    found = both.list.listing
    pair = (int(found.first[3]), int(found.second[3]))
    desk.store.update(selection=Selection(np.array(pair), pair[0], pair))
    assert both.list.current == 3
    both.clear.click()
    assert not len(both.list.listing) and not both.errors.header.subtitle() and not both.clear.isVisible()
    assert not len(desk.workspace.selection)


def test_what_is_listed_ends_with_the_selection(both: EvaluationPanel) -> None:
    page_ = both.verification
    page_.roc._pick(Mark("B", 20))
    assert len(both.list.listing) and page_.roc.ring is not None
    both.desk.store.update(selection=Selection())  # as Esc does
    assert not len(both.list.listing) and page_.roc.ring is None and not both.clear.isVisible()
    page_.points.tap(0, 5)
    assert page_.points.framed
    both.desk.store.update(selection=Selection())
    assert not page_.points.framed and both.desk.workspace.evaluation is not None


def test_an_empty_list_says_so_in_one_sentence(single: EvaluationPanel) -> None:
    said = single.list.accessibleDescription
    page_ = single.verification
    for genuine, words in ((False, "no false match above 0.999"), (True, "no false non-match below −0.999")):
        t = -0.999 if genuine else 0.999
        page_._list(lambda now, genuine=genuine, t=t: now.errors("B", genuine=genuine, threshold=t), page_.points)
        assert said() == f"Nothing to list There is {words}."
    page_.scores.bin_picked.emit("genuine", 1.5, 2.0)
    assert said().endswith("There is no genuine pair from 1.500 to 2.000.")


def test_an_empty_list_names_the_model_where_there_are_two(both: EvaluationPanel) -> None:
    said = both.list.accessibleDescription
    page_ = both.verification
    page_._list(lambda now: now.errors("A", genuine=False, threshold=0.999), page_.points)
    assert said().endswith("A has no false match above 0.999.")
    both.show_part("identification")
    both.identification.cmc.picked.emit("B", 29)
    assert said().endswith("B has no search that misses at rank 30.")


def test_thousands_of_pairs_have_no_widget_each(both: EvaluationPanel) -> None:
    edges = both.verification.view.side.verification.histogram.edges
    before = len(both.findChildren(object))
    both.verification.scores.brushed.emit(float(edges[0]), float(edges[-1]))
    both.grab()
    assert len(both.list.listing) == 435 and len(both.findChildren(object)) <= before + 2
    assert len(both.list.visible_places()) < 20


def test_of_very_many_pairs_the_worst_of_each_kind_are_listed(
    both: EvaluationPanel, monkeypatch: pytest.MonkeyPatch
) -> None:
    both.verification._on_brush(-1.0, 1.0)
    whole = both.list.listing
    monkeypatch.setattr(listing, "LISTED", 20)
    both.verification._on_brush(-1.0, 1.0)
    found = both.list.listing
    assert len(found) == 40 and found.total == len(whole) and "40 can be listed" in both.foot.text()
    genuine = np.isin(whole.kind, (listing.GENUINE, listing.FALSE_NON_MATCH))
    worst = np.sort(np.concatenate([np.flatnonzero(genuine)[:20], np.flatnonzero(~genuine)[:20]]))
    for column in ("first", "second", "score", "margin", "kind"):
        assert np.array_equal(getattr(found, column), getattr(whole, column)[worst]), column


def test_pairs_that_are_only_counted_are_fetched(single: EvaluationPanel, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = single.desk
    from facelens.analyses.scores import Bulk

    evaluation = desk.workspace.evaluation
    report = evaluation.b
    scores, truth = report.scores, Truth(desk, "new")
    floor = float(np.sort(scores.impostor_scores)[-60])
    keep = scores.genuine | (scores.score >= floor)
    lost = np.sort(scores.score[~keep]).astype(np.float64)
    edges = np.append(np.unique(lost), floor)
    cut = replace(
        scores, score=scores.score[keep], first=scores.first[keep], second=scores.second[keep],
        genuine=scores.genuine[keep], floor=floor, bulk=Bulk(edges, np.histogram(lost, edges)[0].astype(np.int64)),
    )  # fmt: skip
    view = single.verification.view
    short = replace(view.side, report=replace(report, scores=cut))
    single.verification.view = replace(view, sides=(short,))
    low = float(np.sort(scores.impostor_scores)[-90])
    single.verification.scores.brushed.emit(low, 2.0)
    assert single.list.listing.total > len(single.list.listing) and "can be listed" in single.foot.text()
    settle(desk)
    holds(single, truth, truth.score >= low - 1e-6)
