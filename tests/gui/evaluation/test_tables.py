"""Tables of the evaluation page: what changes is painted anew, and nothing else."""

from __future__ import annotations

from PySide6.QtCore import QRect

from facelens.views.panels.evaluation import EvaluationPanel
from facelens.views.tables import Cell, Column, ResultTable
from tests.gui.conftest import pump


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


def test_columns_stand_still_while_their_words_fit(leftovers: None) -> None:
    table = ResultTable("numbers")
    heads = [Column("query", align="left"), Column("score")]

    def widths(score: str) -> list[int]:
        table.fill(heads, [[Cell("Ada Byron"), Cell(score)]])
        return [table.columnWidth(0), table.columnWidth(1)]

    table.resize(260, 120)
    table.show()
    before = widths("0.5711")
    assert widths("0.1") == before
    assert widths("a score that is a very long sentence of words")[1] > before[1]
    table.deleteLater()


def test_a_number_stays_in_the_middle_of_a_row_of_two_lines(leftovers: None) -> None:
    table = ResultTable("numbers")
    table.fill([Column("query", align="left"), Column("RP")], [[Cell("Ada Byron · 0001.jpg"), Cell("0.571")]])
    need = table._needs(11, tall=True)
    table.setFixedSize(int(sum(need)) + 1 + 2 * table.frameWidth(), 120)
    table.show()
    pump()
    assert table.tall
    table.setColumnWidth(1, int(need[1]) - 3)  # a hair too narrow for one line
    row = table.visualRect(table.model_.index(0, 1))
    image = table.viewport().grab(QRect(row)).toImage()
    ground = image.pixelColor(0, 0)
    inked = [y for y in range(image.height()) if any(image.pixelColor(x, y) != ground for x in range(image.width()))]
    assert abs(sum(inked) / len(inked) - image.height() / 2) < 3
    table.deleteLater()


def test_all_measures_of_retrieval_are_seen_and_a_hand_that_moved_them_is_kept(both: EvaluationPanel) -> None:
    both.resize(1440, 780)
    both.show_part("retrieval")
    pump()
    page = both.retrieval
    assert not page.means.verticalScrollBar().maximum()
    page.rows.setSizes([200, 500])
    page.rows.splitterMoved.emit(200, 1)
    upper = page.rows.sizes()[0]
    both.resize(1440, 781)
    pump()
    assert abs(page.rows.sizes()[0] - upper) < 8


def test_a_reason_is_given_the_room_that_is_left(leftovers: None) -> None:
    table = ResultTable("numbers")
    why = "n/a: other dimensions than the query model"
    table.fill([Column("member", align="left", share=5), Column("TAR")], [[Cell("Ada"), Cell(why, why=True)]])
    table.resize(520, 120)
    table.show()
    pump()
    assert table.columnWidth(1) > table.fontMetrics().horizontalAdvance(why)
    table.deleteLater()
