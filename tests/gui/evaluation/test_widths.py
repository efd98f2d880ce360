"""The evaluation page fits from 700 px of width on: nothing is cut at its side, no table has to be pushed sideways."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget

from facelens.views.controls import text_width
from facelens.views.panels.evaluation import EvaluationPanel
from facelens.views.tables import PADDING, Cell, Column, ResultTable, two_lines
from tests.gui.conftest import pump, settle
from tests.gui.evaluation.stub import choose


def inside(part: QWidget, whole: QWidget) -> bool:
    return whole.rect().contains(QRect(part.mapTo(whole, QPoint(0, 0)), part.size()))


@pytest.mark.parametrize("width", [700, 768, 899, 900, 928, 1100, 1440])
def test_nothing_is_cut_at_the_side(both: EvaluationPanel, width: int) -> None:
    choose(both.controls.breakdown, "light")
    settle(both.desk)
    both.resize(width, 620)
    pump()
    page = both.verification
    views = [("verification", key) for key in page.places.keys if page.switch_shows(key)]
    for part, key in [*views, ("identification", ""), ("retrieval", "")]:
        both.show_part(part)
        if key:
            page.places.show_key(key)
        pump()
        assert both.body.width() == both.area.viewport().width(), (part, key)
        for frame in (both.errors, both.parts.currentWidget(), page.places.switch if key else both.controls):
            across = QRect(frame.mapTo(both, QPoint(0, 0)), frame.size())
            assert across.left() >= 0 and across.right() < width, (part, key, frame)
        for table in both.parts.currentWidget().findChildren(ResultTable):
            if table.isVisible():
                assert not table.horizontalScrollBar().maximum(), (part, key, table.accessibleName())


def test_the_switch_folds_into_a_list_where_its_segments_have_no_room(both: EvaluationPanel) -> None:
    places = both.verification.places
    title = places.header._title
    both.resize(1440, 620)
    pump()
    assert not places.switch.folded and title.isVisible()
    both.resize(928, 620)
    pump()
    assert not places.switch.folded and not title.isVisible(), "the chosen segment says what the title would"
    places.resize(420, 220)
    assert places.switch.folded and title.isVisible() and inside(places.switch.list, places)
    assert not any(places.switch.button(key).isVisible() for key in places.keys)
    choose(places.switch.list, "summary")
    assert places.key == "summary" and both.verification.summary.isVisible()
    assert places.switch.list.findData("scores") == (0 if both.verification.low else -1)
    places.resize(900, 220)
    assert not places.switch.folded and places.switch.button("summary").isChecked()


def test_arrows_pass_over_a_segment_that_is_not_offered(both: EvaluationPanel) -> None:
    places = both.verification.places
    both.resize(1440, 900)
    pump()
    assert not both.verification.switch_shows("scores") and places.key == "points"
    QTest.keyClick(places.switch.button("points"), Qt.Key.Key_Left)
    assert places.key == "points"
    QTest.keyClick(places.switch.button("points"), Qt.Key.Key_Right)
    assert places.key == "summary"


def test_words_of_a_table_take_two_lines_before_any_is_cut(leftovers: None) -> None:
    table = ResultTable("numbers", large=True)
    value = "0.9643 [0.952, 0.971]"
    heads = [Column("measure", align="left"), Column("faces", spare=True), Column("A  TAR"), Column("B  TAR")]
    table.fill(heads, [[Cell("TPIR at FPIR 1e-2"), Cell("12,345"), Cell(value), Cell(value)]])
    large, small = sum(table._needs(12, tall=False)), sum(table._needs(11, tall=False))
    tall = table._needs(11, tall=True)
    for room, form in (
        (large, (12, False, False)),
        (small, (11, False, False)),
        (sum(tall), (11, True, False)),
        (sum(tall) - tall[1], (11, True, True)),
    ):
        table.setFixedSize(int(room) + 1 + 2 * table.frameWidth(), 120)
        table.show()
        assert (table.px, table.tall, table.isColumnHidden(1)) == form, room
        lines = two_lines(value) if table.tall else (value, "")
        for line, px in zip(lines, (table.px, 10)):
            assert table.columnWidth(2) - 2 * PADDING >= text_width(line, px) - 1
    table.grab()
    table.deleteLater()
