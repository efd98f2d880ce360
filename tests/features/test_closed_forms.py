"""Ridge and procrustes against their equations."""

from __future__ import annotations

import numpy as np
import pytest

from facelens.errors import Cancelled
from facelens.features import closed_forms
from facelens.features.closed_forms import Floats, Matrix, Moments, Way, procrustes, ridge, solved


def unit(x: Matrix) -> Matrix:
    made: Matrix = x / np.linalg.norm(x, axis=1, keepdims=True)
    return made


def vectors(n: int, *widths: int, seed: int = 0) -> list[Matrix]:
    rng = np.random.default_rng(seed)
    return [unit(rng.standard_normal((n, width))) for width in widths]


def cost(w: Matrix, x: Floats, y: Floats, strength: float) -> float:
    """What a ridge makes smallest, picture by picture and number by number."""
    missed = sum(
        (sum(xi[a] * w[a, b] for a in range(len(xi))) - yi[b]) ** 2 for xi, yi in zip(x, y) for b in range(len(yi))
    )
    return float(missed / len(x) + strength / x.shape[1] * sum(v * v for row in w for v in row))


@pytest.mark.parametrize("strength", [0.01, 1.0])
def test_no_step_from_a_ridge_costs_less(strength: float) -> None:
    x, y = vectors(9, 4, 3)
    w = ridge(Moments.of(x, y), strength=strength)
    least = cost(w, x, y, strength)
    for a in range(4):
        for b in range(3):
            step = np.zeros_like(w)
            step[a, b] = 1e-4
            there, back = (cost(w + s * step, x, y, strength) for s in (1, -1))
            assert there > least and back > least
            assert (there - back) / 2e-4 == pytest.approx(0, abs=1e-9)  # the gradient


def test_a_ridge_does_not_care_how_often_every_picture_is_there() -> None:
    x, y = vectors(30, 8, 5)
    once, thrice = ridge(Moments.of(x, y)), ridge(Moments.of(np.tile(x, (3, 1)), np.tile(y, (3, 1))))
    np.testing.assert_allclose(once, thrice, atol=1e-12)


def test_a_ridge_works_with_fewer_pictures_than_dimensions() -> None:
    x, y = vectors(3, 16, 5)
    np.testing.assert_allclose(x @ ridge(Moments.of(x, y), strength=1e-9), y, atol=1e-6)


@pytest.mark.parametrize(("width_in", "width"), [(6, 6), (5, 8), (8, 5)])
def test_procrustes_is_orthonormal_and_the_best_of_its_kind(width_in: int, width: int) -> None:
    x, y = vectors(40, width_in, width)
    w = procrustes(Moments.of(x, y))
    small = w @ w.T if width_in <= width else w.T @ w
    np.testing.assert_allclose(small, np.eye(min(width_in, width)), atol=1e-12)

    def gained(one: Matrix) -> float:
        return sum(float(yi @ (one.T @ xi)) for xi, yi in zip(x, y))

    rng = np.random.default_rng(1)
    for _ in range(100):
        other = np.linalg.qr(rng.standard_normal((max(width_in, width), min(width_in, width))))[0]
        assert gained(w) > gained(other if width_in >= width else other.T)


def test_procrustes_finds_a_rotation_exactly() -> None:
    (x,) = vectors(20, 7)
    rotation = np.linalg.qr(np.random.default_rng(2).standard_normal((7, 7)))[0]
    np.testing.assert_allclose(procrustes(Moments.of(x, x @ rotation)), rotation, atol=1e-12)


def test_moments_in_blocks_and_without_some_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = vectors(23, 6, 4)
    whole = Moments.of(x, y)
    monkeypatch.setattr(closed_forms, "_BLOCK", 5)
    np.testing.assert_allclose(Moments.of(x, y).xy, x.T @ y)
    rest = whole - Moments.of(x[:8], y[:8])
    expected = Moments.of(x[8:], y[8:])
    assert rest.n == expected.n == 15
    np.testing.assert_allclose(rest.xx, expected.xx, atol=1e-12)
    np.testing.assert_allclose(rest.xy, expected.xy, atol=1e-12)


def test_float32_is_summed_in_float64() -> None:
    x, y = (one.astype(np.float32) for one in vectors(50, 6, 4))
    found = Moments.of(x, y)
    assert found.xx.dtype == found.xy.dtype == np.float64
    np.testing.assert_allclose(found.xx, x.astype(np.float64).T @ x.astype(np.float64), rtol=1e-14)


def test_ways_by_name() -> None:
    moments = Moments.of(*vectors(12, 4, 3))
    np.testing.assert_array_equal(solved(Way("ridge", 0.5), moments), ridge(moments, strength=0.5))
    np.testing.assert_array_equal(solved(Way("procrustes"), moments), procrustes(moments))
    assert [str(Way("ridge", 0.01)), str(Way("ridge", 1.0)), str(Way("procrustes"))] == [
        "ridge",
        "ridge of strength 1",
        "procrustes",
    ]


def test_summing_can_be_stopped() -> None:
    def stop(done: int, total: int, note: str = "") -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        Moments.of(*vectors(5, 3, 3), tick=stop)
