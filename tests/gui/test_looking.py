"""Looks: what a page shows of its results is kept, undone, and shown again when its control is seen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QComboBox

from facelens.session import looks
from facelens.session.looks import Looks
from facelens.views.controls import Segmented
from facelens.views.looking import look
from facelens.views.panel import Desk


@pytest.fixture
def counts(desk: Desk, qtbot: Any) -> tuple[Segmented, list[str]]:
    control, drawn = Segmented([("linear", "linear"), ("log", "log")]), []
    control.changed.connect(lambda _: drawn.append(control.value()))
    look(desk, control, "counts")
    qtbot.addWidget(control)
    with qtbot.waitExposed(control):
        control.show()
    return control, drawn


def test_a_choice_is_a_step(desk: Desk, counts: tuple[Segmented, list[str]]) -> None:
    control, drawn = counts
    QTest.mouseClick(control.button("log"), Qt.MouseButton.LeftButton)
    assert desk.workspace.looks.counts == "log" and desk.workspace.history.undo == "counts linear → log"
    assert desk.workspace.history.steps[-1].place == "Uncertainty"
    desk.store.go(0)
    assert control.value() == "linear" and drawn == ["log", "linear"], "the chart follows, as by a click"
    desk.store.go(1)
    assert control.value() == "log" and len(desk.workspace.history.steps) == 1


def test_a_hidden_control_waits_until_it_is_seen(
    desk: Desk, counts: tuple[Segmented, list[str]], until: Callable[..., None]
) -> None:
    control, drawn = counts
    QTest.mouseClick(control.button("log"), Qt.MouseButton.LeftButton)
    control.hide()
    desk.store.go(0)
    assert control.value() == "log" and drawn == ["log"]
    control.show()
    until(lambda: control.value() == "linear")
    assert not desk.workspace.history.done


def test_a_file_may_want_what_is_not_offered_yet(desk: Desk, qtbot: Any) -> None:
    desk.store.update(looks=Looks(compared="blur"))
    control = QComboBox()
    control.addItem("nothing", "")
    look(desk, control, "compared")
    qtbot.addWidget(control)
    with qtbot.waitExposed(control):
        control.show()
    desk.store.update(refusal=1)
    assert control.currentData() == ""
    control.addItem("blur", "blur")  # its column has come
    desk.store.update(refusal=2)
    assert control.currentData() == "blur"


def test_every_look_has_a_page_and_words() -> None:
    from facelens.views.panels import PANELS

    titles = {one.title for one in PANELS}
    for page, words in looks.ABOUT.values():
        assert page in titles and words


def test_orders_of_lists_are_steps(desk: Desk, qtbot: Any) -> None:
    """Of people, of queries: a click on a head is taken back, and what no list has is passed over."""
    from facelens.views.looking import Look
    from facelens.views.query_ranks import QueryRanks
    from facelens.views.weak_identities import WeakIdentities

    people, queries = WeakIdentities(desk), QueryRanks(desk)
    for made, name in ((people, "people_order"), (queries, "queries_order")):
        qtbot.addWidget(made)
        with qtbot.waitExposed(made):
            made.show()
        value = lambda made=made, name=name: getattr(made, name)  # noqa: E731
        assert value() == getattr(Looks(), name), "what goes without saying is what is shown first"
        made.ordered.connect(Look(desk, made, name, value, made.take_order).tell)
    people.sort_by("person", ascending=False)
    assert desk.workspace.looks.people_order == "person descending"
    queries.sort_by("after", turned=True)
    assert desk.workspace.history.undo == "order of queries change → after reversed"
    desk.store.go(0)
    assert (people.people_order, queries.queries_order) == ("left ascending", "change")
    assert not people.take_order("height ascending") and not queries.take_order("")


def test_an_order_is_told_as_it_is_seen() -> None:
    assert looks.said("faces_order", "0 descending") == "part 1 descending"
    assert looks.said("faces_order", "face ascending") == "name ascending"
    assert looks.said("parts_measure", "tar") == "TAR"
