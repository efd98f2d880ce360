"""Alignment against known motions, a naive least-squares fit, and crops that another program made."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from facelens.errors import InputError
from facelens.images import decode
from facelens.images.align import TEMPLATES, align, similarity, warp


def _random_picture(side: int = 64) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (side, side, 3)).astype(np.uint8)


def test_the_same_place_is_the_same_picture():
    picture = _random_picture()
    assert np.array_equal(warp(picture, np.array([[1.0, 0, 0], [0, 1, 0]]), (64, 64)), picture)


def test_a_shift_moves_whole_pixels_and_fills_with_black():
    picture = _random_picture()
    moved = warp(picture, np.array([[1.0, 0, 3], [0, 1, -2]]), (64, 64))
    assert np.array_equal(moved[:62, 3:], picture[2:, :61])
    assert not moved[:, :3].any()


def test_a_quarter_turn_is_exact():
    picture = _random_picture()
    turned = warp(picture, np.array([[0.0, -1, 63], [1, 0, 0]]), (64, 64))
    assert np.array_equal(turned, np.rot90(picture, -1))


@pytest.mark.parametrize("seed", range(5))
def test_similarity_is_the_least_squares_one(seed):
    """Four unknowns a, b, x, y enter linearly: numpy's own solver is the naive loop here."""
    rng = np.random.default_rng(seed)
    points, onto = rng.normal(50, 20, (5, 2)), rng.normal(50, 20, (5, 2))
    rows, right = [], []
    for (x, y), (u, v) in zip(points, onto, strict=True):
        rows += [[x, -y, 1, 0], [y, x, 0, 1]]
        right += [u, v]
    a, b, dx, dy = np.linalg.lstsq(np.array(rows), np.array(right), rcond=None)[0]
    assert np.allclose(similarity(points, onto), [[a, -b, dx], [b, a, dy]], atol=1e-9)


def test_similarity_never_mirrors():
    points = TEMPLATES["arcface112"].points
    mirrored = points * [-1, 1]
    matrix = similarity(mirrored, points)
    assert np.linalg.det(matrix[:, :2]) >= 0


def test_points_land_on_the_template():
    target = TEMPLATES["arcface112"]
    angle, scale = 0.4, 2.3
    turn = scale * np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    points = target.points @ turn.T + [40, 70]
    matrix = similarity(points, target.points)
    assert np.allclose(points @ matrix[:, :2].T + matrix[:, 2], target.points, atol=1e-9)


def test_large_pictures_do_not_alias():
    """Stripes of one pixel become an even grey when ten of them fall into one."""
    stripes = np.zeros((1000, 1000, 3), np.uint8)
    stripes[:, ::2] = 255
    small = warp(stripes, np.array([[0.1, 0, 0], [0, 0.1, 0]]), (100, 100))[5:-5, 5:-5]
    assert small.std() < 3
    assert abs(small.mean() - 127.5) < 3


@pytest.mark.parametrize("points", [np.full((5, 2), np.nan), np.ones((5, 2))])
def test_points_that_are_no_use_are_refused(points):
    with pytest.raises(InputError):
        align(_random_picture(), points)


@pytest.mark.real
def test_crops_equal_those_of_another_program(real_faces: Path):
    """The aligned pictures beside LFW were cut by an independent implementation and saved as JPEG."""
    lfw = real_faces / "lfw" if (real_faces / "lfw").is_dir() else real_faces / "faces" / "lfw"
    with open(lfw / "images.csv", newline="") as file:
        rows = list(csv.DictReader(file))[::53]
    names = ("le", "re", "nose", "lm", "rm")
    for row in rows:
        points = np.array([[float(row[f"{name}_x"]), float(row[f"{name}_y"])] for name in names])
        ours = align(decode.read(lfw / "raw" / row["path"]), points).astype(float)
        theirs = decode.read(lfw / "aligned112" / row["path"]).astype(float)
        assert np.abs(ours - theirs).mean() < 2.5, row["path"]
