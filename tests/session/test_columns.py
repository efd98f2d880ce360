"""Rows of a training as columns: they grow as rows come in, and a history that was cut is read anew."""

from __future__ import annotations

from typing import Any

import numpy as np

from facelens.session.columns import Columns, thinned


def row(step: int, **parts: Any) -> dict[str, Any]:
    return {"step": step, "rate": 1 / step, "terms": {"loss": float(step)}, **parts}


def test_names_that_come_late_or_now_and_then() -> None:
    rows = [row(1), row(2, validation={"p": 0.5}), row(3, facts={"phase": "slices", "kept": None, "sizes": [1, 2]})]
    columns = Columns()
    for end in (1, 2, 3):
        columns.update(rows[:end])
    whole = Columns()
    whole.update(rows)
    for made in (columns, whole):
        assert made.steps.tolist() == [1, 2, 3] and made.rates.tolist() == [1, 1 / 2, 1 / 3]
        assert made.part("terms")["loss"].tolist() == [1, 2, 3] and made.part("facts") == {}
        assert np.array_equal(made.part("validation")["p"], [np.nan, 0.5, np.nan], equal_nan=True)


def test_rows_that_are_there_are_not_read_again() -> None:
    rows = [row(1), row(2)]
    columns = Columns()
    columns.update(rows)
    rows[0]["terms"]["loss"] = 99.0
    columns.update([*rows, row(3)])
    assert columns.part("terms")["loss"].tolist() == [1, 2, 3]
    columns.update([rows[0]])  # after a restart
    assert columns.part("terms")["loss"].tolist() == [99]
    columns.update([row(7), row(8), row(9)])  # of another training
    assert columns.steps.tolist() == [7, 8, 9]


def test_thinned_keeps_the_mean_and_the_end() -> None:
    steps, values = np.arange(1, 1001.0), np.random.default_rng(0).normal(size=1000)
    at, means = thinned(steps, values, most=250)
    assert len(at) == len(means) == 250 and at[-1] == 1000 and np.isclose(means.mean(), values.mean())
    assert [one.tolist() for one in thinned(steps[:3], values[:3], most=250)] == [[1, 2, 3], values[:3].tolist()]
    assert all(len(one) == 0 for one in thinned(steps, np.full(1000, np.nan), most=250))
