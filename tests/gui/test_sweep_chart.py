"""The sweep over alpha: the line and what it tells, weights to choose, other comparisons, nothing yet."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from facelens.analyses.measure import Measure
from facelens.analyses.plan import PLAIN_SUM
from facelens.analyses.reranking import Sweep, SweepRow
from facelens.session.jobs import Job, Request, State
from facelens.views.frame import Frame
from facelens.views.sweep_chart import SweepChart

LEFT = Qt.MouseButton.LeftButton
ALPHAS = tuple(float(v) for v in np.round(np.linspace(0, 1, 11), 2))


def around(value: float) -> Measure:
    return Measure(round(value, 3), round(value - 0.02, 3), round(value + 0.02, 3), 158)


def row(weights: str, gain: float, *, plain: bool = False) -> SweepRow:
    alphas = (PLAIN_SUM, *ALPHAS) if plain else ALPHAS
    values = tuple(around(0.715 + gain * abs(alpha)) for alpha in alphas)
    measures = {"P@1": values, "RP": tuple(around(0.5 + gain * abs(alpha)) for alpha in alphas), "MAP@R": values}
    return SweepRow(weights, alphas, measures, np.ones((len(alphas), 158), np.int32))


def sweep(*rows: SweepRow, **other: Any) -> Sweep:
    before = {"P@1": around(0.715), "RP": around(0.5), "MAP@R": around(0.4)}
    ids, ranks = np.arange(158), np.ones(158, np.int32)
    made = Sweep(ids, before, ranks, rows, "mask", 1422, 100, "exact", "each person once", True)
    return replace(made, **other)


@pytest.fixture
def chart(leftovers: None, pump: Callable[..., None]) -> Iterator[SweepChart]:
    made = SweepChart()
    frame = Frame("All queries", made)
    frame.header.add(made.mode)
    frame.resize(720, 180)
    frame.show()
    pump()
    yield made
    frame.close()
    frame.deleteLater()
    pump()


@pytest.fixture
def drawn(chart: SweepChart) -> SweepChart:
    chart.show_sweep(sweep(row("uniform", -0.03), row("apc", 0.05)), weights="apc", alpha=0.7)
    return chart


def heard(signal: Any) -> list[Any]:
    got: list[Any] = []
    signal.connect(lambda *values: got.append(values[0] if values else None))
    return got


def told(chart: SweepChart) -> list[str]:
    return [f"{one.name} {one.measure.text(3)}" for one in chart.values._values]


def at_line(chart: SweepChart) -> QPoint:
    view = chart.chart
    return QPoint(round(view._line_px() or 0), round(view._box().center().y()))


def test_values_at_the_line(drawn: SweepChart) -> None:
    assert told(drawn) == [
        "APC 0.750 [0.730, 0.770]", "Uniform 0.694 [0.674, 0.714]", "cosine only 0.715 [0.695, 0.735]",
    ]  # fmt: skip
    drawn.set_alpha(0.34)
    assert told(drawn)[0] == "APC 0.730 [0.710, 0.750]" and drawn.chart.aside == "values at α 0.30"
    assert drawn.chart.dot == pytest.approx(0.715 + 0.05 * 0.34, abs=1e-3), "the dot lies on the curve"
    assert "α 0.34, APC 0.730" in drawn.chart.accessibleDescription()


def test_only_the_chosen_weights_have_a_band(drawn: SweepChart) -> None:
    drawn.show_sweep(drawn.sweep, weights="uniform", alpha=0.7)
    bands = {one.series.key: one.series.band is not None for one in drawn.chart._drawn}
    assert bands == {"": False, "apc": False, "uniform": True}
    assert told(drawn)[0].startswith("Uniform")


def test_the_line_is_dragged_in_hundredths(drawn: SweepChart) -> None:
    moved, settled = heard(drawn.alpha_moved), heard(drawn.settled)
    view, start = drawn.chart.viewport(), at_line(drawn)
    QTest.mousePress(view, LEFT, pos=start)
    QTest.mouseMove(view, start - QPoint(47, 0))
    QTest.mouseMove(view, start - QPoint(93, 0))
    QTest.mouseRelease(view, LEFT, pos=start - QPoint(93, 0))
    assert moved and all(abs(value * 100 - round(value * 100)) < 1e-9 for value in moved)
    assert moved[-1] == drawn.alpha == drawn.chart.decision < 0.6 and settled == [None]


def test_keys_and_a_double_click(drawn: SweepChart) -> None:
    moved = heard(drawn.alpha_moved)
    QTest.keyClick(drawn.chart, Qt.Key.Key_Right)
    QTest.keyClick(drawn.chart, Qt.Key.Key_Left, Qt.KeyboardModifier.ShiftModifier)
    QTest.mouseDClick(drawn.chart.viewport(), LEFT, pos=QPoint(100, 60))
    assert moved == pytest.approx([0.71, 0.61, 0.7])


def test_the_same_sweep_is_not_drawn_again_while_alpha_moves(drawn: SweepChart) -> None:
    before = list(drawn.chart._drawn)
    drawn.show_sweep(drawn.sweep, weights="apc", alpha=0.2)
    assert drawn.chart._drawn == before and drawn.chart.decision == 0.2


def test_the_plain_sum_has_values_but_no_place_on_the_axis(chart: SweepChart) -> None:
    found = sweep(row("apc", 0.05, plain=True), row("uniform", 0.0))
    chart.show_sweep(found, weights="apc", alpha=PLAIN_SUM)
    assert chart.chart.decision is None
    assert told(chart)[:2] == ["APC 0.765 [0.745, 0.785]", "Uniform n/a: not tried"]
    assert min(one.x.min() for one in chart.chart._drawn) == 0.0


def test_another_measure(drawn: SweepChart) -> None:
    drawn.measure.button("RP").click()
    assert told(drawn)[0] == "APC 0.535 [0.515, 0.555]"
    assert drawn.chart.y_axis.title == "RP over 158 queries · mask, higher is better"


def test_a_click_on_a_name_chooses_those_weights(drawn: SweepChart) -> None:
    chosen, values = heard(drawn.weights_chosen), drawn.values
    for place in range(3):
        QTest.mouseClick(values, LEFT, pos=QPoint(40, round(values.top(place)) + 5))
    assert chosen == ["uniform"], "neither the chosen one nor cosine"


def test_nothing_yet(chart: SweepChart) -> None:
    run = heard(chart.run_wanted)
    chart.show_sweep(None, weights="apc", alpha=0.7)
    chart.set_alpha(0.3)
    assert chart.run.isVisible() and not chart.measure.isVisible()
    QTest.mouseClick(chart.run, LEFT)
    assert run == [None]
    part = replace(row("apc", 0.05), measures=dict.fromkeys(("P@1", "RP", "MAP@R"), ()), alphas=())
    chart.show_sweep(sweep(part, complete=False), weights="apc", alpha=0.7)
    assert chart.chart.isVisible()
    chart.grab()


def test_a_search_that_runs_can_be_stopped_and_run_again(chart: SweepChart) -> None:
    wanted, stopped = heard(chart.run_wanted), heard(chart.stop_wanted)
    job = Job(1, Request("Search", print, unit="queries"), State.RUNNING, done=64, total=2039)
    chart.show_job(job)
    assert chart.stop.isVisible() and not chart.run.isVisible() and "64 of 2,039" in chart.progress.text()
    chart.show_sweep(sweep(row("uniform", 0.1), complete=False), weights="uniform", alpha=0.7)
    assert chart.chart.aside == "still running"
    chart.stop.click()
    chart.show_job(None)
    assert chart.chart.aside == "stopped before the end" and not chart.stop.isVisible()
    chart.again.click()
    assert len(stopped) == len(wanted) == 1
    chart.show_sweep(sweep(row("uniform", 0.1)), weights="uniform", alpha=0.7)
    assert chart.chart.aside == "" and not chart.running.isVisible()


def test_who_cannot_be_found_is_not_counted(chart: SweepChart) -> None:
    ranks = np.where(np.arange(158) < 8, 1, 0).astype(np.int32)
    chart.show_sweep(sweep(row("uniform", 0.1), ranks=ranks), weights="uniform", alpha=0.7)
    assert chart.chart.y_axis.title.startswith("P@1 over 8 of 158 queries · mask")


def test_grids_and_solvers_are_offered_where_there_are_any(drawn: SweepChart) -> None:
    assert not drawn.by.isVisible()
    rows = [("7 × 6", around(0.715), around(0.759)), ("4 × 4", around(0.715), Measure.none("no such layer"))]
    drawn.show_bars("grid", rows, current="7 × 6")
    assert drawn.by.offers("grid") and not drawn.by.offers("solver")
    drawn.by.button("grid").click()
    assert drawn.bars.isVisible() and "n/a: no such layer" in drawn.bars.accessibleDescription()
    low, high = drawn.bars.limits()
    assert low < 0.695 and high > 0.779, "intervals are inside"
    drawn.grab()
    drawn.show_bars("grid", [])
    assert drawn.chart.isVisible() and drawn.by.value() == "alpha"


def test_little_room_leaves_the_values_to_the_line(drawn: SweepChart) -> None:
    drawn.window().resize(360, 200)
    assert not drawn.values.isVisible()
    assert drawn.chart._decision_text == ("α 0.70", "0.750 [0.730, 0.770]")
