"""Alignment against known motions, naive loops over its equations, and crops that another program made.

Whatever is said of the warp holds for both ways to do it, with Pillow and compiled.
"""

from __future__ import annotations

import csv
import math
import sys
from pathlib import Path

import numpy as np
import pytest

from facelens.errors import InputError
from facelens.images import align as aligning
from facelens.images import decode
from facelens.images.align import TEMPLATES, align, similarity, warp


@pytest.fixture(params=["pillow", "compiled"], autouse=True)
def way(request, monkeypatch):
    if request.param == "compiled":
        aligning.hasten()
        assert aligning._compiled is not None
    else:
        monkeypatch.setattr(aligning, "_compiled", None)
    return request.param


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


def _motion(rng, *, scale: float, onto: tuple[float, float]) -> np.ndarray:
    angle = rng.uniform(0, 2 * math.pi)
    a, b = scale * math.cos(angle), scale * math.sin(angle)
    return np.array([[a, -b, onto[0]], [b, a, onto[1]]])


def _naive(picture: np.ndarray, matrix: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """Every pixel by itself: where it comes from, the four around it by their areas; for scales above a half."""
    height, width = picture.shape[:2]
    back = np.linalg.inv(np.vstack([matrix, [0, 0, 1]]))
    moved = np.zeros((*size, 3))
    for row in range(size[0]):
        for column in range(size[1]):
            x, y, _ = back @ [column, row, 1]
            if not (-0.5 <= x < width - 0.5 and -0.5 <= y < height - 0.5):
                continue
            left, top = math.floor(x), math.floor(y)
            for i, j, share in (
                (top, left, (1 - x + left) * (1 - y + top)), (top, left + 1, (x - left) * (1 - y + top)),
                (top + 1, left, (1 - x + left) * (y - top)), (top + 1, left + 1, (x - left) * (y - top)),
            ):  # fmt: skip
                moved[row, column] += share * picture[min(max(i, 0), height - 1), min(max(j, 0), width - 1)]
    return moved


@pytest.mark.parametrize("seed", range(6))
def test_the_warp_is_its_equation(seed):
    rng = np.random.default_rng(seed)
    height, width = rng.integers(1, 40, 2)
    picture = rng.integers(0, 256, (height, width, 3)).astype(np.uint8)
    matrix = _motion(rng, scale=rng.uniform(0.51, 3), onto=(rng.uniform(0, 20), rng.uniform(0, 20)))
    wanted = _naive(picture, matrix, (28, 24))
    difference = wanted - warp(picture, matrix, (28, 24))
    assert wanted.any()
    assert difference.min() > -1e-6 and difference.max() < 1 + 1e-6, "values are cut to whole numbers"


def test_both_ways_give_the_same_pixels(monkeypatch):
    aligning.hasten()
    compiled, rng, seen = aligning._compiled, np.random.default_rng(1), 0
    for _ in range(60):
        height, width = np.exp(rng.uniform(0, math.log(500), 2)).astype(int)
        picture = rng.integers(0, 256, (height, width, 3)).astype(np.uint8)
        matrix = _motion(rng, scale=float(np.exp(rng.uniform(-4, 2))), onto=(0, 0))
        matrix[:, 2] = [56, 48] - matrix[:, :2] @ (rng.uniform(-0.1, 1.1, 2) * [width, height])
        for size in ((112, 112), (112, 96), (1, 7)):
            monkeypatch.setattr(aligning, "_compiled", compiled)
            first, again = warp(picture, matrix, size), warp(picture, matrix, size)
            monkeypatch.setattr(aligning, "_compiled", None)
            assert np.array_equal(first, again)
            assert np.array_equal(first, warp(picture, matrix, size))
            seen += bool(first.any())
    assert seen > 60


@pytest.mark.parametrize("shape", [(1, 1), (1, 300), (2, 2), (3000, 2000)])
def test_pictures_of_any_size_and_even_colour_stay_even(shape):
    picture = np.full((*shape, 3), (200, 90, 31), np.uint8)
    scale = 111 / shape[1]
    matrix = np.array([[scale, 0, 55 - scale * (shape[1] - 1) / 2], [0, scale, 55 - scale * (shape[0] - 1) / 2]])
    moved = warp(picture, matrix, (111, 111)).reshape(-1, 3)
    inside = moved.any(1)
    assert (moved[inside] == (200, 90, 31)).all()
    assert abs(inside.sum() - 111 * min(111, max(1, 111 * shape[0] / shape[1]))) <= 111


def test_grey_stays_grey():
    picture = np.repeat(_random_picture()[..., :1], 3, axis=2)
    moved = warp(picture, _motion(np.random.default_rng(2), scale=1.3, onto=(50, 50)), (112, 112))
    assert moved.any()
    assert (moved == moved[..., :1]).all()


@pytest.mark.parametrize("away", [(-5000, 0), (5000, 0), (0, 1e9), (-1e9, 1e9)])
@pytest.mark.parametrize("template", TEMPLATES)
def test_a_face_outside_the_picture_is_black(away, template):
    found = align(_random_picture(), TEMPLATES[template].points + away, template)
    assert found.shape == (*TEMPLATES[template].size, 3)
    assert not found.any()


def test_a_stored_picture_that_may_not_be_written_to():
    picture = _random_picture()
    expected = warp(picture, np.eye(2, 3) * 1.5, (64, 64))
    picture.flags.writeable = False
    assert np.array_equal(warp(picture, np.eye(2, 3) * 1.5, (64, 64)), expected)
    assert np.array_equal(warp(picture[::-1][::-1], np.eye(2, 3) * 1.5, (64, 64)), expected)


def test_without_the_compiler_everything_goes_on(monkeypatch, caplog):
    monkeypatch.setattr(aligning, "_compiled", None)
    monkeypatch.setitem(sys.modules, "facelens.images.warping", None)
    aligning.hasten()
    assert aligning._compiled is None
    assert "without the compiled loop" in caplog.text
    assert warp(_random_picture(), np.eye(2, 3), (8, 8)).any()


@pytest.mark.parametrize("points", [np.full((5, 2), np.nan), np.ones((5, 2)), None])
def test_points_that_are_no_use_are_refused(points):
    if points is None:  # as far from the template's shape as points can be: no size and no turn helps
        face = TEMPLATES["arcface112"].points - TEMPLATES["arcface112"].points.mean(0)
        both = np.column_stack([face.ravel(), (face @ [[0, 1], [-1, 0]]).ravel()])
        mirrored = (face * [1, -1]).ravel()
        points = (mirrored - both @ np.linalg.lstsq(both, mirrored, rcond=None)[0]).reshape(5, 2) + 50
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
