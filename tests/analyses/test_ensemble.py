"""Ensembles: one vector of several, and how far they lie apart."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from facelens.analyses.ensemble import combined
from facelens.errors import InputError


def members(count: int, *, faces: int = 5, dimensions: int = 7) -> list[np.ndarray]:
    return list(np.random.default_rng(count).normal(size=(count, faces, dimensions)) * 9)


@pytest.mark.parametrize("count", [2, 3, 4])
def test_t3_variance_by_three_definitions(count: int) -> None:
    given = members(count)
    found = combined(given)
    for face in range(5):
        unit = [one[face] / np.linalg.norm(one[face]) for one in given]
        mean = sum(unit) / count
        assert found.variance[face] == pytest.approx(sum(np.sum((z - mean) ** 2) for z in unit) / count, abs=1e-12)
        apart = np.mean([np.sum((a - b) ** 2) for a, b in itertools.combinations(unit, 2)])
        assert apart == pytest.approx(2 * count / (count - 1) * found.variance[face], abs=1e-12)
        np.testing.assert_allclose(found.vectors[face], mean / np.linalg.norm(mean), atol=1e-6)


def test_members_that_agree_have_no_variance() -> None:
    one = members(2)[0]
    found = combined([one, 3 * one])
    assert found.variance == pytest.approx(0, abs=1e-12)
    np.testing.assert_allclose(np.linalg.norm(found.vectors, axis=1), 1, rtol=1e-6)


def test_a_face_that_one_member_does_not_know_has_no_value() -> None:
    given = members(3)
    given[1][2] = np.nan
    found = combined(given)
    assert np.isnan(found.variance[2]) and np.isnan(found.vectors[2]).all()
    assert np.isfinite(np.delete(found.variance, 2)).all()


def test_t6_noise_is_refused_first() -> None:
    rng = np.random.default_rng(0)
    true = rng.normal(size=(200, 32))
    noisy = rng.permutation(200)[:20]
    given = []
    for _ in range(4):
        one = true + 0.3 * rng.normal(size=true.shape)
        one[noisy] = rng.normal(size=(20, 32))
        given.append(one)
    worst = np.argsort(combined(given).variance)[-20:]
    assert len(np.intersect1d(worst, noisy)) > 18


def test_what_cannot_be_combined_is_refused() -> None:
    with pytest.raises(InputError, match="two models"):
        combined(members(2)[:1])
    with pytest.raises(InputError, match="same faces and dimensions"):
        combined([np.ones((3, 4)), np.ones((3, 5))])
