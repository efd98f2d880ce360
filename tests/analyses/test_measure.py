"""Measure: what a table shows where there is a number, and where there is none."""

from __future__ import annotations

import pytest

from facelens.analyses.measure import Measure, rate


def test_a_value_without_support_shows_its_reason_only() -> None:
    measure = Measure(0.9, 0.8, 1.0, why="no support", supported=False)
    assert not measure.defined and measure.text() == "no support" and measure.value == 0.9


def test_no_value_is_not_a_number() -> None:
    measure = Measure.none("no genuine pair", n=3)
    assert (measure.value, measure.n, measure.defined) == (None, 3, False)
    assert measure.text() == "n/a: no genuine pair"


def test_an_interval_is_shown_where_there_is_one() -> None:
    assert Measure(0.5).with_interval(0.4, 0.6).text(2) == "0.50 [0.40, 0.60]"
    assert Measure(0.5).with_interval(None, None).text(2) == "0.50"


@pytest.mark.parametrize(
    ("value", "shown"), [(0.0, "0"), (1.0, "1"), (0.1, "1e-1"), (0.003, "3e-3"), (2.41e-6, "2.4e-6"), (9.96e-4, "1e-3")]
)
def test_rates(value: float, shown: str) -> None:
    assert rate(value) == shown
