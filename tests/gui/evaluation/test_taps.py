"""Every tap on the evaluation page lists exactly the pairs behind it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from facelens.images.faceset import FaceSet, Labels
from facelens.session import listing
from facelens.session.workspace import Operating
from facelens.views.controls import text_width
from facelens.views.panels.evaluation import EvaluationPanel
from facelens.views.retrieval_page import RetrievalPage
from tests.gui.conftest import pump, settle
from tests.gui.evaluation.stub import FARS, choose
from tests.gui.evaluation.truth import Truth, holds, listed, threshold


def test_the_table_has_the_numbers_of_the_evaluation(both: EvaluationPanel) -> None:
    desk = both.desk
    table, evaluation = both.verification.points, desk.workspace.evaluation
    heads = [column.title for column in table.model_.columns]
    assert heads == ["target FAR", "A  TAR [95 %]", "B  TAR [95 %]", "B − A, paired", "threshold B", "impostors"]
    assert [table.text(i, 0) for i in range(4)] == ["0.2", "5e-2", "1e-2", "1e-5"]
    point = evaluation.b.verification.points[1]
    assert table.text(1, 2).startswith(f"{point.tar.value:.4f} [") and table.text(1, 5) == f"{point.false_matches:,}"
    assert table.text(1, 3)[0] in "+−" or table.text(1, 3).startswith("0.0000")
    assert table.cell(3, 1).why and table.cell(3, 1).span == 4 and "impostor pairs" in table.text(3, 1)
    assert table.marked == 1


def test_differences_are_coloured_only_when_zero_is_outside() -> None:
    from facelens.analyses.measure import Measure
    from facelens.views.tables import difference_cell

    assert difference_cell(Measure(0.02, -0.01, 0.05)).colour == "text"
    assert difference_cell(Measure(0.02, 0.01, 0.05)).colour == "good"
    low = difference_cell(Measure(-0.02, -0.03, -0.01))
    assert low.colour == "bad" and low.text == "−0.0200 [−0.0300, −0.0100]"
    assert difference_cell(Measure.none("too few")).why and difference_cell(None).why


def test_cells_of_the_table(both: EvaluationPanel) -> None:
    desk = both.desk
    truth = Truth(desk, "new")
    for row in (0, 1):
        both.verification.points.tap(row, 5)
        t = threshold(both, "B")
        holds(both, truth, ~truth.genuine & (truth.score >= t - 1e-6))
        n = len(both.list.listing)
        assert both.errors.header.subtitle() == f"B: {n} false matches above {t:.3f}".replace("-", "−")
        assert int(both.verification.points.text(row, 5)) == n and desk.workspace.operating.far == FARS[row]
        assert both.foot.text().endswith(f"of {n}")
    for column, name, letter in ((1, "old", "A"), (2, "new", "B")):
        both.verification.points.tap(2, column)
        truth = Truth(desk, name)
        holds(both, truth, truth.genuine & (truth.score < threshold(both, letter) - 1e-6))
        title = both.errors.header.subtitle()
        assert title.startswith(f"{letter}: ") and "false non-match" in title


def test_a_difference_lists_the_pairs_that_changed_sides(both: EvaluationPanel) -> None:
    desk = both.desk
    both.verification.points.tap(1, 3)
    a, b = Truth(desk, "old"), Truth(desk, "new")
    right_a, right_b = a.score >= threshold(both, "A") - 1e-6, b.score >= threshold(both, "B") - 1e-6
    changed = b.genuine & (right_a != right_b)
    assert changed.any() and listed(both) == b.pairs(changed)
    gained = int((b.genuine & right_b & ~right_a).sum())
    assert int((both.list.listing.kind == listing.GAINED).sum()) == gained
    assert f"{gained} gained by B" in both.errors.header.subtitle()


def test_a_point_of_a_curve_lists_both_errors(both: EvaluationPanel) -> None:
    desk = both.desk
    page_ = both.verification
    side = page_.view.side_of("A")
    index = len(side.drawn) // 3
    page_.det.picked.emit("A", index)
    truth = Truth(desk, "old")
    t = float(side.verification.curve.threshold[side.drawn[index]])
    wrong = np.where(truth.genuine, truth.score < t - 1e-6, truth.score >= t - 1e-6)
    holds(both, truth, wrong)
    assert desk.workspace.operating == Operating(float(side.verification.curve.far[side.drawn[index]]), t, "a")
    assert threshold(both, "A") == t and page_.points.rows_.count(None) == 1


def test_bins_and_brushes(both: EvaluationPanel) -> None:
    desk = both.desk
    truth = Truth(desk, "new")
    edges = both.verification.view.side.verification.histogram.edges
    middle = len(edges) // 2
    low, high = float(edges[middle - 6]), float(edges[middle + 6])
    inside = (truth.score >= low) & (truth.score < high)
    both.verification.scores.brushed.emit(low, high)
    holds(both, truth, inside)
    for key, kind in (("genuine", truth.genuine), ("impostor", ~truth.genuine)):
        both.verification.scores.bin_picked.emit(key, low, high)
        holds(both, truth, inside & kind)
    both.verification.scores.brushed.emit(float(edges[0]), float(edges[-1]))
    assert len(both.list.listing) == len(truth.score), "the last bin holds its upper edge"


def test_confusable_people_list_their_pairs(both: EvaluationPanel) -> None:
    desk = both.desk
    page_ = both.verification
    page_.places.show_key("confusable")
    one = page_.view.side.report.confusable[0]
    page_.confusable.tap(0, 0)
    truth = Truth(desk, "new")
    a, b = truth.codes[truth.i], truth.codes[truth.j]
    holds(both, truth, ((a == one.first) & (b == one.second)) | ((a == one.second) & (b == one.first)))
    assert page_.view.who(one.first) in both.errors.header.subtitle()


def test_a_breakdown_and_the_errors_of_a_group(both: EvaluationPanel) -> None:
    desk = both.desk
    page_ = both.verification
    page_.places.show_key("slices")
    assert page_.slices.cell(0, 0).why and "choose a column" in page_.slices.text(0, 0)
    choose(both.controls.breakdown, "light")
    settle(desk)
    assert [page_.slices.text(i, 0) for i in range(2)] == ["day", "night"]
    desk.store.update(operating=Operating(0.2))
    page_.slices.tap(0, 7)  # real FAR of B
    truth = Truth(desk, "new")
    day = np.asarray(desk.workspace.faces.columns["light"].codes) == 0
    t = threshold(both, "B")
    holds(both, truth, ~truth.genuine & (truth.score >= t - 1e-6) & day[truth.i] & day[truth.j])
    assert both.errors.header.subtitle().endswith("in day")
    page_.slices.tap(0, 4)  # TAR of A
    truth = Truth(desk, "old")
    holds(both, truth, truth.genuine & (truth.score < threshold(both, "A") - 1e-6) & day[truth.i] & day[truth.j])


def test_a_breakdown_by_numbers_has_quarters(both: EvaluationPanel) -> None:
    page_, desk = both.verification, both.desk
    page_.places.show_key("slices")
    choose(both.controls.breakdown, "yaw")
    settle(desk)
    assert [page_.slices.text(i, 0) for i in range(4)] == ["−40 to −20", "−20 to 0", "0 to 20", "20 to 40"]
    desk.store.update(operating=Operating(0.2))
    truth, t = Truth(desk, "new"), threshold(both, "B")
    yaw = np.asarray(desk.workspace.faces.columns["yaw"])
    for row, inside in enumerate((yaw < -20, (yaw >= -20) & (yaw < 0), (yaw >= 0) & (yaw < 20), yaw >= 20)):
        wrong = ~truth.genuine & (truth.score >= t - 1e-6) & inside[truth.i] & inside[truth.j]
        page_.slices.tap(row, 7)
        assert listed(both) == truth.pairs(wrong)
        assert page_.slices.text(row, 1) == str(int(inside.sum()))


def test_only_columns_that_divide_are_offered(both: EvaluationPanel) -> None:
    faces = both.desk.workspace.faces
    own = Labels.of([f"file {i}" for i in range(30)])
    more = {"width": np.full(30, 112.0), "name": own, "blur": np.where(np.arange(30) < 25, 0.0, 0.5)}
    both.desk.store.update(faces=replace(faces, columns={**faces.columns, **more}))
    combo = both.controls.breakdown
    assert [combo.itemData(i) for i in range(combo.count())] == ["", "light", "yaw", "blur"]


def test_ranks_and_open_set(both: EvaluationPanel) -> None:
    desk = both.desk
    both.show_part("identification")
    found = desk.workspace.evaluation.b.identification
    both.identification.table.tap(0, 2)
    missed = found.searches.query[found.searches.mated & (found.searches.rank > 1)]
    assert sorted(both.list.listing.first.tolist()) == sorted(missed.tolist()) and len(missed)
    assert both.errors.header.subtitle() == f"B: {len(missed)} searches miss at rank 1"
    assert set(missed.tolist()) <= set(desk.workspace.selection.ids.tolist())
    both.identification.cmc.picked.emit("B", 2)
    beyond = found.searches.mated & (found.searches.rank > 3)
    assert sorted(both.list.listing.first.tolist()) == sorted(found.searches.query[beyond].tolist())
    row = next(i for i, (kind, key) in enumerate(both.identification._lines) if kind == "open" and key == 0.1)
    point = next(p for p in found.open if p.target == 0.1)
    if not both.identification.table.cell(row, 1).why:
        both.identification.table.tap(row, 6)
        assert len(both.list.listing) == point.false_alarms
    index = len(both.identification._drawn["B"]) // 2
    both.identification.open.picked.emit("B", index)
    assert "missed search" in both.errors.header.subtitle()


def test_a_query_is_called_by_its_name_once(qtbot: Any) -> None:
    page = RetrievalPage()
    qtbot.addWidget(page)
    names = ["Ada_Byron_0001.jpg", "DSC_17.jpg", "loose.jpg"]
    paths = [f"Ada_Byron/{name}" for name in names[:2]] + names[2:]
    page.faces = FaceSet.build("few", Path("/nowhere"), paths=paths, identities=["Ada_Byron", "Ada_Byron", ""])
    said = [page.label_of(int(face)) for face in page.faces.ids]
    assert said == ["Ada Byron · 0001.jpg", "Ada Byron · DSC_17.jpg", "loose.jpg"]


def test_queries_worst_first(both: EvaluationPanel) -> None:
    desk = both.desk
    both.show_part("retrieval")
    retrieval, found = both.retrieval, desk.workspace.evaluation.b.retrieval
    assert retrieval.query_frame.header.subtitle() == "worst first, by MAP@R"
    both.resize(1300, 700)
    pump()
    assert retrieval.by.currentText() == "worst in MAP@R"
    assert retrieval.by.width() >= text_width("worst in MAP@R", 12) + 24, "it can be read"
    values = [float(retrieval.queries.text(i, 3)) for i in range(len(found.queries.query))]
    assert values == sorted(values) and len(values) == 30
    row = next(i for i in range(9) if retrieval.means.text(i, 0) == "P@1")
    retrieval.means.tap(row, 2)
    wrong = found.queries.query[np.asarray(found.queries.values["P@1"]) < 1]
    assert sorted(both.list.listing.first.tolist()) == sorted(wrong.tolist()) and len(wrong)
    retrieval.queries.tap(0, 0)
    line = int(found.queries.worst("MAP@R")[0])
    assert set(both.list.listing.first.tolist()) == {int(found.queries.query[line])}
    assert int(found.queries.nearest_wrong[line]) in both.list.listing.second.tolist()
