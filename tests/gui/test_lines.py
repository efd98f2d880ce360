"""A list whose lines lie in Python: what it shows, says, ticks, and whom it tells."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from facelens.views.key_report import Way, _Keys
from facelens.views.lines import Line, Lines

ROLE, KEY = Qt.ItemDataRole, Qt.Key


def shown(lines: list[Line], **filled) -> tuple[Lines, list[int]]:
    made, told = Lines(height=20), []
    made.moved.connect(told.append)
    made.fill(lines, **filled)
    made.resize(200, 200)
    made.show()
    return made, told


def test_it_shows_and_says_what_it_was_given(qapp: QApplication) -> None:
    made, told = shown([Line("Ada", {"a": 1}, "<b>tip</b>", "Ada, one"), Line("Bo")], row=1)
    index = made.model().index(0, 0)
    assert (index.data(), index.data(ROLE.AccessibleTextRole)) == ("Ada", "Ada, one")
    assert "&lt;b&gt;" in index.data(ROLE.ToolTipRole), "a name is never markup"
    assert index.data(ROLE.CheckStateRole) is None and index.data(ROLE.SizeHintRole).height() == 20
    assert made.row == 1 and made.line is made.lines[1] and made.lines[0].of == {"a": 1}
    assert not told, "filling tells nobody"
    made.fill([])
    assert made.row == -1 and made.line is None and not told
    made.close()


def test_arrows_clicks_and_enter_tell(qapp: QApplication) -> None:
    made, told = shown([Line("a"), Line("heading", able=False), Line("b")], row=0)
    touched, opened = [], []
    made.touched.connect(touched.append)
    made.opened.connect(opened.append)
    QTest.keyClick(made, KEY.Key_Down)
    assert told == [2], "headings are passed over"
    QTest.keyClick(made, KEY.Key_Return)
    assert opened == [2]
    spot = made.visualRect(made.model().index(0, 0)).center()
    QTest.mouseClick(made.viewport(), Qt.MouseButton.LeftButton, pos=spot)
    assert touched == [0] and told == [2, 0] and made.row == 0
    made.go(7)
    assert made.row == -1 and told == [2, 0, -1]
    made.close()


def test_boxes_are_ticked_by_space_and_by_hand(qapp: QApplication) -> None:
    made, _ = shown([Line("a"), Line("b"), Line("c")], row=1, ticked=frozenset({0}))
    changes: list[frozenset[int]] = []
    made.ticks_changed.connect(lambda: changes.append(made.ticked))
    QTest.keyClick(made, KEY.Key_Space)
    made.tick(0, on=False)
    assert changes == [{0, 1}, {1}] and made.ticked == {1}
    assert made.model().index(1, 0).data(ROLE.CheckStateRole) == Qt.CheckState.Checked
    made.close()


def test_keys_fold_and_unfold(qapp: QApplication) -> None:
    keys = _Keys()
    keys.show_ways((Way("missing", ("a", "b")), Way("unexpected", ())))
    keys.show()
    assert [line.text for line in keys.lines] == ["missing", "unexpected"] and not keys.lines[1].able
    assert keys.lines[0].spoken == "missing, 2 names, folded"
    keys.go(0)
    QTest.keyClick(keys, KEY.Key_Left)
    assert len(keys.lines) == 2, "it is folded already"
    QTest.keyClick(keys, KEY.Key_Right)
    assert [line.text for line in keys.lines] == ["missing", "a", "b", "unexpected"] and keys.row == 0
    QTest.mouseClick(keys.viewport(), Qt.MouseButton.LeftButton, pos=keys.visualRect(keys.model().index(0, 0)).center())
    assert len(keys.lines) == 2
    keys.close()
