"""Blocks as text: every report is written by these rules."""

from __future__ import annotations

from facelens.session.blocks import Block, lines, table


def test_columns_stand_under_each_other_and_a_short_row_runs_on() -> None:
    rows = [["FAR", "threshold", "TAR"], ["1e-1", "0.2", "0.9"], ["1e-6", "no support: there are too few pairs"], ["x"]]
    assert table(rows) == [
        "  FAR   threshold  TAR",
        "  1e-1  0.2        0.9",
        "  1e-6  no support: there are too few pairs",
        "  x",
    ]
    assert table([]) == []


def test_title_notes_table_and_what_is_told_under_it() -> None:
    block = Block("Members: TAR", [["a", "b"]], told=("under",), noted=("between",))
    assert block.lines() == ["Members: TAR", "  between", "  a  b", "  under"] and block.columns == 2
    assert Block(rows=[["a", "b"]], told=("under",)).lines() == ["  a  b", "  under"]
    assert Block("Left out", told=("nobody",)).lines() == ["Left out", "  nobody"]


def test_lines_by_themselves_are_not_set_in() -> None:
    assert Block(told=("one", "two"), figures=("roc",)).lines() == ["one", "two"]


def test_an_empty_line_between_blocks_that_do_not_belong_together() -> None:
    told = [
        Block(told=("head",)),
        Block(),
        Block("t", [["a"]]),
        Block(rows=[["b"]], goes_on=True),
        Block(told=("end",)),
    ]
    assert lines(told) == ["head", "", "t", "  a", "  b", "", "end"]
    assert lines([]) == [] and lines([Block(figures=("roc",))]) == []
