"""A rate that is no lower has no lower limits: along a curve, down a table, from rank to rank."""

from __future__ import annotations

import numpy as np
import pytest

from facelens.analyses import bootstrap
from facelens.analyses.verification import verify
from tests.analyses.test_identification import run
from tests.analyses.test_identification import world as searched
from tests.analyses.test_verification import world

TARGETS = (0.5, 0.4, 0.3, 0.2, 0.1, 0.05)


def rises(values: object) -> bool:
    return bool((np.diff(np.asarray(values, float)) >= -1e-12).all())


@pytest.mark.parametrize("n", [1, 7, 60, 280])
def test_limits_of_shares_rise_with_the_share(n: int) -> None:
    right = np.arange(max(0, n - 30), n + 1)  # among n
    draws = np.random.default_rng(0).binomial(n, right[:, None] / n, (len(right), 4000)) / n
    for rates in (draws, 1 - draws[::-1]):
        low, high = np.array([bootstrap.rate_interval(row, n) for row in rates]).T
        assert rises(low) and rises(high)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_limits_along_the_curve_and_down_the_table(seed: int) -> None:
    found = verify(world([6] * 12, seed=seed, noise=0.8), fars=TARGETS, resamples=200)
    assert found.curve.tar[-1] == 1 and found.curve.tar_low[-1] < 1
    assert rises(found.curve.tar_low) and rises(found.curve.tar_high)
    points = sorted(found.points, key=lambda point: point.target)
    assert rises([point.tar.low for point in points]) and rises([point.tar.high for point in points])


@pytest.mark.parametrize("seed", [0, 4])
def test_limits_from_rank_to_rank(seed: int) -> None:
    found = run(searched(seed=seed, noise=0.7), resamples=200)
    assert rises(found.cmc_low) and rises(found.cmc_high)
    assert rises([measure.low for _, measure in found.ranks])
