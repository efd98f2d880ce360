"""Ensembles: one vector of several, and how far they lie apart."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from facelens.analyses import ensemble
from facelens.analyses.correlation import spearman
from facelens.analyses.ensemble import apart, combined, pairwise, percentiles
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
        distance = np.mean([np.sum((a - b) ** 2) for a, b in itertools.combinations(unit, 2)])
        assert distance == pytest.approx(pairwise(found.variance, count)[face], abs=1e-12)
        np.testing.assert_allclose(found.vectors[face], mean / np.linalg.norm(mean), atol=1e-6)


@pytest.mark.parametrize("count", [2, 3, 5])
def test_a_member_apart_from_the_others(count: int) -> None:
    given = members(count)
    found = apart(given)
    assert found.shape == (count, 5)
    for face in range(5):
        unit = [one[face] / np.linalg.norm(one[face]) for one in given]
        for number in range(count):
            others = np.mean([one for i, one in enumerate(unit) if i != number], axis=0)
            cosine = unit[number] @ others / np.linalg.norm(others)
            assert found[number, face] == pytest.approx(1 - cosine, abs=1e-6)


def test_others_that_cancel_have_no_mean() -> None:
    one = members(2)[0]
    found = apart([one, 2 * one, -one])
    assert np.isnan(found[2]).sum() == 0 and found[2] == pytest.approx(2)
    assert np.isnan(found[:2]).all()


def test_blocks_leave_no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    given = members(3, faces=51)
    whole, distance = combined(given), apart(given)
    monkeypatch.setattr(ensemble, "BLOCK", 20)  # two faces at a time
    parts = combined(given)
    np.testing.assert_array_equal(parts.vectors, whole.vectors)
    np.testing.assert_array_equal(parts.variance, whole.variance)
    np.testing.assert_array_equal(apart(given), distance)


def test_no_face_at_all() -> None:
    found = combined([np.zeros((0, 4))] * 2)
    assert found.vectors.shape == (0, 4) and found.variance.shape == (0,) and apart([np.zeros((0, 4))] * 3).size == 0


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


def test_t5_many_beat_one_and_their_spread_tells_the_noise() -> None:
    rng = np.random.default_rng(1)
    people, pictures = 60, 5
    identity = np.repeat(np.arange(people), pictures)
    true = np.repeat(rng.normal(size=(people, 64)), pictures, axis=0)
    noise = rng.uniform(0.3, 4, len(identity))
    turned = [np.linalg.qr(rng.normal(size=(64, 64)))[0] for _ in range(4)]
    spaces = [(true + noise[:, None] * rng.normal(size=true.shape)) @ turn for turn in turned]
    given = [space @ turn.T for space, turn in zip(spaces, turned)]  # mapped into one space, as a transform would

    def first_is_right(vectors: np.ndarray) -> float:
        unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        cosine = unit @ unit.T
        np.fill_diagonal(cosine, -1)
        return float((identity[cosine.argmax(axis=1)] == identity).mean())

    found = combined(given)
    assert first_is_right(found.vectors) > max(first_is_right(one) for one in given)
    assert (spearman(found.variance, noise).value or 0) > 0.8


def test_percentiles_by_counting() -> None:
    values = np.array([3.0, 1, np.nan, 3, 3, -np.inf, 7, 1])
    known = values[~np.isnan(values)]
    for value, found in zip(values, percentiles(values)):
        if np.isnan(value):
            assert np.isnan(found)
        else:
            assert found == pytest.approx(100 * np.mean((known < value) + 0.5 * (known == value)))
    assert np.isnan(percentiles(np.full(3, np.nan))).all() and len(percentiles(np.zeros(0))) == 0
    assert percentiles(np.ones(4)) == pytest.approx(50)


def test_what_cannot_be_combined_is_refused() -> None:
    for work in (combined, apart):
        with pytest.raises(InputError, match="two models"):
            work(members(2)[:1])
    with pytest.raises(InputError, match="same faces and dimensions"):
        combined([np.ones((3, 4)), np.ones((3, 5))])
