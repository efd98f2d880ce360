"""Occlusions: the same value paints the same, each face its own; points go where a crop takes them."""

from __future__ import annotations

import numpy as np
import pytest

from facelens.images.occlusion import CLEAR, GREY, KINDS, Occlusion, moved, painted, title

FACE = np.random.default_rng(0).integers(0, 256, (112, 96, 3), np.uint8)


@pytest.mark.parametrize("kind", KINDS[1:])
def test_the_same_value_paints_the_same(kind: str) -> None:
    asked = Occlusion(kind, strokes=((0.5, 0.5, 0.2),))
    once, again = (painted(FACE, asked, face=7) for _ in range(2))
    np.testing.assert_array_equal(once, again)
    assert once.shape == FACE.shape and once.dtype == np.uint8
    assert 0.05 < (once != FACE).any(2).mean() <= 1
    assert not asked.clear and title(kind)


def test_chance_is_drawn_by_seed_and_face() -> None:
    made = [painted(FACE, Occlusion("blocks", 0.5, seed=seed), face=face) for seed, face in ((0, 1), (0, 2), (1, 1))]
    assert not np.array_equal(made[0], made[1]) and not np.array_equal(made[0], made[2])


@pytest.mark.parametrize("nothing", [CLEAR, Occlusion("mask", 0.0), Occlusion("brush")])
def test_nothing_painted(nothing: Occlusion) -> None:
    assert nothing.clear
    np.testing.assert_array_equal(painted(FACE, nothing), FACE)


def test_dabs_are_round_and_where_they_were_put() -> None:
    made = painted(FACE, Occlusion("brush", strokes=((0.25, 0.5, 0.125),)))  # 12 pixels around (24, 56)
    y, x = np.mgrid[:112, :96] + 0.5
    far = np.hypot(x - 24, y - 56)
    assert (made[far < 11] == GREY).all()
    np.testing.assert_array_equal(made[far > 13], FACE[far > 13])
    half = painted(FACE, Occlusion("brush", 0.5, strokes=((0.25, 0.5, 0.125),)))
    np.testing.assert_allclose(half[far < 11], (FACE[far < 11].astype(float) + GREY) / 2, atol=1)


def test_points_follow_a_crop() -> None:
    picture = np.zeros((112, 96, 3), np.uint8)
    picture[54:59, 44:49] = 255  # around (46, 56)
    asked = Occlusion("crop70", seed=3)
    ((x, y),) = moved(np.array([[46.0, 56.0]]), (112, 96), asked, face=5)
    weight = painted(picture, asked, face=5)[..., 0].astype(float)
    rows, columns = np.mgrid[:112, :96]
    np.testing.assert_allclose(
        [x, y], [(columns * weight).sum() / weight.sum(), (rows * weight).sum() / weight.sum()], atol=0.6
    )
    assert abs(x - 46) + abs(y - 56) > 1
    np.testing.assert_array_equal(moved(np.array([[46.0, 56.0]]), (112, 96), Occlusion("mask")), [[46, 56]])


def test_unknown_kinds_are_refused() -> None:
    with pytest.raises(ValueError, match="hat"):
        Occlusion("hat")
