"""Two maps brought to agree: against scipy's Procrustes and plain loops."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import procrustes

from facelens.analyses import agreement, layouts


def test_turned_is_the_best_of_all_turns() -> None:
    rng = np.random.default_rng(0)
    onto = rng.normal(size=(30, 2)).astype(np.float32) + 4
    angle = 1.2
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    points = (onto @ turn * np.array([1, -1]) * 3 + 7 + rng.normal(size=(30, 2)) * 0.2).astype(np.float32)
    found = agreement.turned(points, onto)
    assert agreement.residual(onto, found) == pytest.approx(procrustes(onto, points)[2], rel=1e-4)
    for step in np.linspace(-0.05, 0.05, 5):  # no other turn about its middle is nearer
        other = np.array([[np.cos(step), -np.sin(step)], [np.sin(step), np.cos(step)]])
        moved = (found - found.mean(0)) @ other + found.mean(0)
        assert agreement.residual(onto, moved) >= agreement.residual(onto, found) - 1e-9


@pytest.mark.parametrize("n", [0, 1, 2])
def test_hardly_any_points(n: int) -> None:
    points = np.arange(2 * n, dtype=np.float32).reshape(n, 2)
    assert np.isfinite(agreement.turned(points, points)).all() and agreement.residual(points, points) == 0
    assert agreement.walked(points, points).tolist() == [0.0] * n


@pytest.mark.parametrize("block", [1 << 22, 40])
def test_how_far_vectors_are_apart_against_a_loop(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agreement, "BLOCK", block)
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(2, 25, 8)).astype(np.float32)
    expected = [1 - float(u @ v / np.linalg.norm(u) / np.linalg.norm(v)) for u, v in zip(x, y)]
    np.testing.assert_allclose(agreement.apart(x, y), expected, atol=1e-6)


def test_how_far_faces_walk_does_not_depend_on_the_scale() -> None:
    rng = np.random.default_rng(2)
    one, other = rng.normal(size=(2, 40, 2)).astype(np.float32)
    np.testing.assert_allclose(agreement.walked(one, other), agreement.walked(one * 9 + 3, other * 9 + 3), rtol=1e-4)
    spread = np.sqrt(((one - one.mean(0)) ** 2).sum(1).mean())
    assert agreement.walked(one, other)[5] == pytest.approx(np.linalg.norm(one[5] - other[5]) / spread, rel=1e-5)


def test_models_that_agree_are_told_from_those_that_do_not() -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(300, 32)).astype(np.float32)
    near, strange = x + 0.8 * rng.normal(size=x.shape), rng.normal(size=x.shape)
    found = agreement.alike(x, near.astype(np.float32))
    assert found is not None and found.clear and found.own > 0.7 > abs(found.others)
    found = agreement.alike(x, strange.astype(np.float32))
    assert found is not None and not found.clear
    assert agreement.alike(x, near[:, :16].astype(np.float32)) is None
    assert agreement.alike(x[:1], x[:1]) is None and layouts.LEAST > 1
