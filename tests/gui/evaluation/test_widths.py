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
    for width in (1440, 928):
        both.resize(width, 620)
        pump()
        assert not places.switch.folded
    places.resize(420, 220)
    assert places.switch.folded and inside(places.switch.list, places)
    assert not any(places.switch.button(key).isVisible() for key in places.keys)
    choose(places.switch.list, "summary")
    assert places.key == "summary" and both.verification.summary.isVisible()
    assert places.switch.list.findData("scores") == (0 if both.verification.low else -1)
    places.resize(900, 220)
    assert not places.switch.folded and places.switch.button("summary").isChecked()


@pytest.mark.parametrize("width", [1440, 928])
def test_the_switch_stands_still(both: EvaluationPanel, width: int) -> None:
    both.resize(width, 620)
    places, at = both.verification.places, set()
    for key in places.keys:
        places.show_key(key)
        pump()
        at.add(places.switch.button("points").mapTo(both, QPoint(0, 0)).x())
    assert len(at) == 1, "what is clicked twice is the same both times"


def test_what_is_listed_is_said_in_full_where_the_title_has_no_room_beside_it(both: EvaluationPanel) -> None:
    header = both.errors.header
    for width, titled in ((928, False), (1500, True)):
        both.resize(width, 620)
        both.verification.points.tap(0, 5)
        pump()
        assert header._title.isVisible() is titled
        assert header._subtitle.width() >= text_width(header.subtitle(), 11)
        both.clear.click()
        assert header._title.isVisible()


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
