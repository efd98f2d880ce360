"""Rank correlation: against scipy, and its interval against draws of people that are ranked anew each time."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr

from facelens.analyses.correlation import spearman


def scores(seed: int, *, people: int = 60, pictures: int = 10, tied: bool = False) -> tuple[np.ndarray, ...]:
    """Two scores that belong to people more than to pictures."""
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(people, dtype=np.int32), pictures)
    x = rng.normal(size=people)[who]
    y = 0.6 * x + 0.8 * rng.normal(size=people)[who]
    x, y = (one + 0.7 * rng.normal(size=len(who)) for one in (x, y))
    return np.round(2 * x) if tied else x, y, who


@pytest.mark.parametrize("tied", [False, True])
def test_the_value_is_that_of_scipy(tied: bool) -> None:
    x, y, _ = scores(0, tied=tied)
    assert spearman(x, y).value == pytest.approx(spearmanr(x, y).statistic, abs=1e-12)
    assert spearman(-x, y).value == pytest.approx(-spearman(x, y).value, abs=1e-12)


@pytest.mark.parametrize("tied", [False, True])
def test_the_interval_is_that_of_draws_of_people(tied: bool) -> None:
    x, y, who = scores(1, tied=tied)
    rng, drawn = np.random.default_rng(0), []
    for _ in range(400):
        rows = (rng.integers(0, 60, 60)[:, None] * 10 + np.arange(10)).ravel()
        drawn.append(spearmanr(x[rows], y[rows]).statistic)
    low, high = np.quantile(drawn, [0.025, 0.975])
    found, alone = spearman(x, y, groups=who), spearman(x, y)
    assert found.high - found.low == pytest.approx(high - low, rel=0.15)
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.03)
    assert alone.high - alone.low < 0.7 * (found.high - found.low), "pictures of a person are not independent"


def test_faces_without_a_score_do_not_count_and_nobody_is_a_person_of_his_own() -> None:
    x, y, who = scores(2)
    x[::3] = np.nan
    known = np.isfinite(x)
    found = spearman(x, y, groups=who)
    assert found == spearman(x[known], y[known], groups=who[known]) and found.n == known.sum()
    assert spearman(x, y, groups=np.full_like(who, -1)) == spearman(x, y)


def test_where_there_is_nothing_to_order_it_says_so() -> None:
    few = spearman(np.array([1.0, 2, np.nan]), np.arange(3.0))
    assert not few.defined and few.n == 2
    assert not spearman(np.zeros(9), np.arange(9.0)).defined
    same = spearman(np.arange(9.0), np.arange(9.0))
    assert same.value == 1 and same.low is None, "no interval around a perfect order"
