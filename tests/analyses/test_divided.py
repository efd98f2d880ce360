"""How much the slices of an embedding say the same."""

from __future__ import annotations

import numpy as np
import pytest

from facelens.analyses.divided import across_slices
from facelens.errors import InputError


def test_against_a_loop() -> None:
    vectors = np.random.default_rng(0).normal(size=(40, 6)) @ np.random.default_rng(1).normal(size=(6, 6))
    found = [
        abs(np.corrcoef(vectors[:, a], vectors[:, b])[0, 1]) for a in range(6) for b in range(6) if a // 2 != b // 2
    ]
    assert across_slices(vectors, 3) == pytest.approx(np.mean(found), abs=1e-12)


def test_inside_a_slice_everything_may_be_the_same() -> None:
    rng = np.random.default_rng(0)
    one, other = rng.normal(size=(2, 4000, 1))
    assert across_slices(np.hstack([one, 2 * one, other, -other]), 2) < 0.05
    assert across_slices(np.hstack([one, other, 2 * one, -other]), 2) > 0.45


def test_dimensions_that_never_change_take_no_part() -> None:
    rng = np.random.default_rng(0)
    one = rng.normal(size=(50, 1))
    assert across_slices(np.hstack([one, np.full((50, 1), 1e6), -one, np.zeros((50, 1))]), 2) == pytest.approx(1)
    with pytest.raises(InputError, match="No two slices"):
        across_slices(np.ones((5, 4)), 2)


@pytest.mark.parametrize("slices", [1, 3])
def test_slices_that_do_not_fit(slices: int) -> None:
    with pytest.raises(InputError, match="cannot be cut"):
        across_slices(np.ones((5, 4)), slices)
