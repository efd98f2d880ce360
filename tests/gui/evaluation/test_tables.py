"""Tables of the evaluation page: what changes is painted anew, and nothing else."""

from __future__ import annotations

from facelens.views.panels.evaluation import EvaluationPanel


def test_a_moving_line_changes_its_own_row_and_no_other(both: EvaluationPanel) -> None:
    page_ = both.verification
    page_.scores.moved.emit(0.3)
    model = page_.points.model_
    rows: set[int] = set()
    whole: list[object] = []
    model.dataChanged.connect(lambda first, last: rows.update(range(first.row(), last.row() + 1)))
    model.modelReset.connect(lambda: whole.append(True))
    before = page_.points.text(page_.points.marked, 2)
    page_.scores.moved.emit(0.33)
    assert page_.points.text(page_.points.marked, 2) != before
    assert rows == {page_.points.marked} and not whole
