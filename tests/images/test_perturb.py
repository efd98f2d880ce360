"""Variations: what they do, what they leave alone, and that their labels tell the truth."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from PIL import Image

from facelens.images import perturb as perturbing
from facelens.images.align import TEMPLATES
from facelens.images.perturb import VARIATIONS, named, perturb, random_variations, title

TEMPLATE = TEMPLATES["arcface112"].points
EVERY = list(VARIATIONS)


def _picture(height: int = 112, width: int = 112, seed: int = 0) -> np.ndarray:
    """Soft spots with grain: neither flat nor pure noise, nowhere black."""
    rng = np.random.default_rng(seed)
    spots = Image.fromarray(rng.integers(40, 220, (9, 9, 3), np.uint8)).resize(
        (width, height), Image.Resampling.BICUBIC
    )
    return np.clip(np.asarray(spots, np.int16) + rng.integers(-20, 21, (height, width, 3)), 1, 254).astype(np.uint8)


def _vary(name: str, picture: np.ndarray, strength: float, **more) -> np.ndarray:
    return VARIATIONS[name].vary(picture, strength, **more)


def _damage(before: np.ndarray, after: np.ndarray) -> float:
    return float(np.abs(before.astype(float) - after).mean())


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize(
    "shape", [(112, 112, 3), (64, 64, 3), (112, 96, 3), (33, 71, 3), (8, 8, 3), (1, 1, 3), (3, 40, 3)]
)
def test_shape_and_kind_are_kept_and_the_picture_is_left_alone(name, shape):
    picture = _picture(*shape[:2])
    kept = picture.copy()
    picture.flags.writeable = False
    made = _vary(name, picture, 0.8, seed=3)
    assert made.shape == shape and made.dtype == np.uint8 and made.flags.writeable
    assert np.array_equal(picture, kept)
    assert not np.shares_memory(made, picture)
    if min(shape[:2]) >= 8:
        assert _damage(picture, made) > 0


@pytest.mark.parametrize("name", EVERY)
def test_strength_0_changes_nothing(name):
    picture = _picture()
    made = _vary(name, picture, 0.0, seed=1)
    assert np.array_equal(made, picture) and not np.shares_memory(made, picture)


@pytest.mark.parametrize("name", EVERY)
def test_the_same_seed_gives_the_same_picture(name):
    picture = _picture()
    assert np.array_equal(_vary(name, picture, 0.7, seed=5), _vary(name, picture, 0.7, seed=5))


@pytest.mark.parametrize("name", ["occlusion", "pose", "mask", "sunglasses", "crop70"])
def test_seeds_differ(name):
    picture = _picture()
    assert len({_vary(name, picture, 1.0, seed=seed).tobytes() for seed in range(8)}) > 1


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("side", [112, 64])
def test_more_strength_is_more_damage(name, side):
    picture = _picture(side, side)
    harm = [_damage(picture, _vary(name, picture, s, seed=2)) for s in (0.0, 0.2, 0.4, 0.7, 1.0)]
    assert harm[0] == 0
    if name in ("pose", "crop70"):  # things move: further away is not less alike once nothing is alike
        assert harm[1] < 0.9 * max(harm) and min(harm[2:]) > harm[1] > 0
    else:
        assert all(a < b for a, b in pairwise(harm)), harm


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("strength", [-0.1, 1.1, math.nan])
def test_strengths_beyond_the_scale_are_refused(name, strength):
    with pytest.raises(ValueError, match="strength"):
        _vary(name, _picture(16, 16), strength)


@pytest.mark.parametrize("name", EVERY)
def test_grey_pictures(name):
    grey = _picture()[..., 0]
    made = _vary(name, grey, 0.9, seed=4)
    assert made.shape == grey.shape and _damage(grey, made) > 0
    assert np.array_equal(_vary(name, grey[..., None], 0.9, seed=4)[..., 0], made)
    coloured = _vary(name, np.dstack([grey] * 3), 0.9, seed=4)
    assert np.abs(coloured.mean(2) - made).max() < 25  # the colour of cloth has another weight


def test_what_is_no_picture_is_refused():
    for wrong in (np.zeros((8, 8, 3)), np.zeros((8, 8, 4), np.uint8), np.zeros(8, np.uint8)):
        with pytest.raises(ValueError, match="picture"):
            perturbing.blur(wrong, 1.0)
    with pytest.raises(ValueError, match="landmarks"):
        perturbing.mask(_picture(), 1.0, landmarks=np.zeros((68, 2)))
    assert perturbing.mask(np.zeros((0, 5, 3), np.uint8), 1.0).shape == (0, 5, 3)


# ---- each by itself


def test_blur_is_a_gaussian_that_grows_with_the_picture():
    from scipy.ndimage import gaussian_filter

    for side, sigma in ((112, 2.0), (224, 4.0)):
        picture = _picture(side, side)
        wanted = gaussian_filter(picture.astype(float), (sigma, sigma, 0), mode="nearest")
        assert np.abs(wanted - perturbing.blur(picture, 1.0)).mean() < 1.0


@pytest.mark.parametrize("strength", [0.01, 0.5, 1.0])
def test_occlusion_blackens_whole_blocks_and_nothing_else(strength):
    picture = _picture(70, 84)
    made = perturbing.occlusion(picture, strength, seed=1)
    blocks = (made == 0).all(2).reshape(7, 10, 7, 12).transpose(0, 2, 1, 3).reshape(49, -1)
    black = blocks.all(1)
    assert black.sum() == math.ceil(24 * strength) and not blocks[~black].any()
    seen = (made != 0).any(2)
    assert np.array_equal(made[seen], picture[seen])


def test_a_weaker_occlusion_is_part_of_a_stronger_one():
    weak, strong = (perturbing.occlusion(_picture(), s, seed=9) == 0 for s in (0.3, 0.8))
    assert (strong[weak]).all() and strong.sum() > weak.sum()


def test_low_resolution_leaves_sixteen_pixels():
    rng = np.random.default_rng(0)
    coarse = rng.integers(0, 256, (16, 16, 3), np.uint8)
    picture = np.repeat(np.repeat(coarse, 7, 0), 7, 1)
    wanted = np.asarray(Image.fromarray(coarse).resize((112, 112), Image.Resampling.BICUBIC))
    assert np.array_equal(perturbing.low_resolution(picture, 1.0), wanted)


def test_crop_is_a_part_of_the_picture_at_full_size():
    # Ramps: the values at the corners tell which part was taken.
    y, x = np.mgrid[:100, :100]
    picture = np.dstack([x * 2, y * 2, x + y]).astype(np.uint8)
    places = set()
    for seed in range(5):
        made = perturbing.crop70(picture, 1.0, seed=seed).astype(int)
        assert abs((made[50, -2, 0] - made[50, 1, 0]) / 2 - 97 * 0.7) < 1.5
        assert abs((made[-2, 50, 1] - made[1, 50, 1]) / 2 - 97 * 0.7) < 1.5
        places.add((made[50, 1, 0], made[1, 50, 1]))
    assert len(places) == 5


def _turned(points: np.ndarray, degrees: float) -> np.ndarray:
    angle = math.radians(degrees)
    turn = np.array([[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]])
    return (points - 56) @ turn + 56


@pytest.mark.parametrize(
    "points", [TEMPLATE, TEMPLATE * 0.5 + [20, 10], _turned(TEMPLATE, 30)], ids=["as is", "small", "tilted"]
)
@pytest.mark.parametrize("strength", [0.75, 1.0])
def test_a_mask_lies_over_nose_and_mouth_and_not_over_the_eyes(points, strength):
    picture = _picture()
    changed = (perturbing.mask(picture, strength, seed=1, landmarks=points) != picture).any(2)
    x, y = np.rint(points).astype(int).T
    assert changed[y[2:], x[2:]].all()
    eyes = [changed[b - 1 : b + 2, a - 1 : a + 2] for a, b in zip(x[:2], y[:2])]
    a, b = np.rint(points[:2].mean(0)).astype(int)
    assert not np.any(eyes) and not changed[b, a]
    between = points[3] + (points[4] - points[3]) * np.linspace(0, 1, 9)[:, None]
    a, b = np.rint(between).astype(int).T
    assert changed[b, a].all()


@pytest.mark.parametrize(
    "points", [TEMPLATE, TEMPLATE * 0.5 + [20, 10], _turned(TEMPLATE, 30)], ids=["as is", "small", "tilted"]
)
@pytest.mark.parametrize("strength", [0.6, 1.0])
def test_sunglasses_lie_over_both_eyes_and_not_over_nose_and_mouth(points, strength):
    picture = np.maximum(_picture(), 90)
    made = perturbing.sunglasses(picture, strength, seed=1, landmarks=points)
    x, y = np.rint(points).astype(int).T
    assert all((made[b - 2 : b + 3, a - 2 : a + 3].mean() < 0.7 * picture.mean()) for a, b in zip(x[:2], y[:2]))
    assert np.array_equal(made[y[2:], x[2:]], picture[y[2:], x[2:]])


def test_a_mask_is_narrow_on_the_far_side_of_a_turned_head():
    points = TEMPLATE.copy()
    points[2, 0] += 12  # the nose of a head that looks to the right
    picture = _picture()
    columns = np.flatnonzero((perturbing.mask(picture, 1.0, seed=1, landmarks=points) != picture).any((0, 2)))
    assert columns[-1] - points[2, 0] < 0.6 * (points[2, 0] - columns[0])


def test_pose_brings_the_eyes_together_and_keeps_the_face_in_the_middle():
    picture = np.full((112, 112, 3), 128, np.uint8)
    for colour, (x, y) in ((0, TEMPLATE[0]), (1, TEMPLATE[1])):
        picture[round(y) - 2 : round(y) + 3, round(x) - 2 : round(x) + 3, colour] = 255
    sides = set()
    for seed in range(6):
        made = perturbing.approximate_pose(picture, 0.75, seed=seed).astype(float) - 128
        left, right = (
            float((made[..., c].clip(0) * np.arange(112)).sum() / made[..., c].clip(0).sum()) for c in (0, 1)
        )
        assert 10 < right - left < 0.8 * 35.2
        assert abs((left + right) / 2 - 56) < 6
        sides.add(made.tobytes())
    assert len(sides) == 2


def test_a_head_that_looks_aside_is_turned_further():
    picture = _picture()
    for way in (-1, 1):
        points = TEMPLATE + np.outer([0, 0, 1, 0, 0], [way * 10, 0])
        made = {perturbing.approximate_pose(picture, 1.0, seed=seed, landmarks=points).tobytes() for seed in range(6)}
        assert len(made) == 1


# ---- landmarks


@pytest.mark.parametrize("name", ["pose", "mask", "sunglasses"])
@pytest.mark.parametrize(
    "points",
    [
        np.full((5, 2), np.nan),
        np.full((5, 2), np.inf),
        np.where(np.eye(5, 2) > 0, np.nan, TEMPLATE),
        np.zeros((5, 2)),
        TEMPLATE + 500,
        TEMPLATE * 1e9,
    ],
    ids=["none", "infinite", "some missing", "one place", "outside", "immense"],
)
def test_points_that_show_no_face_give_way_to_the_template(name, points):
    picture = _picture()
    made = _vary(name, picture, 0.9, seed=2, landmarks=points)
    assert np.array_equal(made, _vary(name, picture, 0.9, seed=2, landmarks=TEMPLATE))
    assert np.array_equal(made, _vary(name, picture, 0.9, seed=2))


@pytest.mark.parametrize("name", ["pose", "mask", "sunglasses"])
def test_a_face_that_is_partly_outside_is_varied_where_it_is(name):
    picture = _picture()
    made = _vary(name, picture, 1.0, seed=2, landmarks=TEMPLATE + np.array([40, 10]))
    assert _damage(picture, made) > 0.3
    assert not np.array_equal(made, _vary(name, picture, 1.0, seed=2))


def test_the_template_fits_crops_of_other_networks():
    face = perturbing._face(None, 112, 96)
    assert np.allclose(face.points, TEMPLATES["cosface96x112"].points)
    assert np.allclose(perturbing._face(None, 64, 64).points, TEMPLATE * 64 / 112)


# ---- several at once


@pytest.mark.parametrize("chosen", [[], ["mask"], ["crop70", "blur"], EVERY])
def test_labels_say_what_was_done(chosen):
    picture = _picture()
    made = perturb(picture, chosen, seed=11)
    assert made.labels.dtype == np.uint8 and made.labels.tolist() == [int(name in chosen) for name in VARIATIONS]
    assert named(made.labels) == [name for name in VARIATIONS if name in chosen]
    assert set(made.what) == set(chosen)
    for name, strength in made.what.items():
        low, high = VARIATIONS[name].drawn
        assert low <= strength <= high
    assert np.array_equal(made.picture, picture) == (not chosen)
    assert not np.shares_memory(made.picture, picture)


def test_given_strengths_are_used_and_0_is_not_done():
    made = perturb(_picture(), {"blur": 0.5, "mask": 0.0}, seed=1)
    assert made.what == {"blur": 0.5} and named(made.labels) == ["blur"]
    assert np.array_equal(made.picture, perturbing.blur(_picture(), 0.5))


def test_a_picture_depends_on_the_seed_and_not_on_the_order_of_names():
    picture = _picture()
    first, again, other = (perturb(picture, names, seed=s) for names, s in ((EVERY, 1), (EVERY[::-1], 1), (EVERY, 2)))
    assert np.array_equal(first.picture, again.picture) and first.what == again.what
    assert not np.array_equal(first.picture, other.picture)


def test_a_variation_looks_the_same_beside_others():
    picture = _picture()
    alone, beside = perturb(picture, ["mask"], seed=3), perturb(picture, ["mask", "low_resolution"], seed=3)
    assert alone.what["mask"] == beside.what["mask"]
    assert perturb(picture, ["low_resolution"], seed=3).what["low_resolution"] == beside.what["low_resolution"]
    small = perturbing.low_resolution(alone.picture, beside.what["low_resolution"])
    assert np.array_equal(small, beside.picture)


def test_unknown_variations_are_refused():
    for call in (
        lambda: perturb(_picture(), ["fog"], seed=0),
        lambda: random_variations(3, probability={"fog": 0.3}, seed=0),
    ):
        with pytest.raises(ValueError, match="fog"):
            call()
    with pytest.raises(TypeError):
        perturb(_picture(), "mask", seed=0)


def test_random_labels_have_their_probability_and_are_independent():
    u = random_variations(20_000, seed=4)
    assert u.shape == (20_000, len(VARIATIONS)) and u.dtype == np.uint8
    assert np.abs(u.mean(0) - 0.3).max() < 0.015
    assert np.abs(np.corrcoef(u.T) - np.eye(len(VARIATIONS))).max() < 0.03
    assert np.array_equal(u, random_variations(20_000, seed=4))
    assert not np.array_equal(u, random_variations(20_000, seed=5))
    some = random_variations(1000, probability={"mask": 1.0, "blur": 0.5}, seed=0)
    assert some.sum(0)[EVERY.index("mask")] == 1000 and set(np.flatnonzero(some.any(0))) == {0, EVERY.index("mask")}


def test_names_are_those_of_recipes_and_all_have_a_title():
    from facelens.features.recipe import Augment

    assert list(Augment(**dict.fromkeys(EVERY, 0.5)).variations) == EVERY
    assert len({title(name) for name in EVERY}) == len(EVERY)
    assert "approximate" in title("pose")
