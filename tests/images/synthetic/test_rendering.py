"""What a picture shows must be what its labels say."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from facelens.images.synthetic import (
    CAMERA_FAULTS,
    OCCLUDERS,
    Head,
    Photo,
    Rendered,
    build_head,
    render,
    sample_identity,
    sample_photo,
)

HeadOf = Callable[..., Head]
STUDIO = Photo(smile=0.2, light_azimuth=15, seed=4)


def _grey(r: Rendered) -> np.ndarray:
    return r.picture.astype(float).mean(2)


def _sharpness(r: Rendered) -> float:
    g = _grey(r)
    return float(np.square(np.diff(g, axis=0)).mean() + np.square(np.diff(g, axis=1)).mean())


def _patch(picture: np.ndarray, point: np.ndarray, radius: int) -> np.ndarray:
    x, y = np.round(point - 0.5).astype(int)
    return picture[max(y - radius, 0) : y + radius + 1, max(x - radius, 0) : x + radius + 1]


@pytest.mark.parametrize("size", [64, 112, 224])
def test_shapes_types_and_ranges(head_of: HeadOf, size: int) -> None:
    r = render(head_of(3, size), STUDIO)
    assert r.picture.shape == (size, size, 3) and r.picture.dtype == np.uint8
    assert r.mask.shape == (size, size) and r.mask.dtype == np.uint8
    assert r.landmarks.shape == (5, 2) and r.points.shape == (68, 2) and r.visible.shape == (68,)
    assert r.visible.dtype == bool and r.photo == STUDIO
    assert 20 < r.picture.mean() < 235 and r.picture.std() > 20


def test_the_same_seed_gives_the_same_bytes(head_of: HeadOf) -> None:
    photo = sample_photo(np.random.default_rng(8), degrade=1.0)
    photo = replace(photo, noise=0.4, jpeg=0.3, scarf=0.5)
    first = render(head_of(7), photo)
    again = render(build_head(sample_identity(7)), photo)
    assert first.picture.tobytes() == again.picture.tobytes()
    assert first.mask.tobytes() == again.mask.tobytes()
    assert np.array_equal(first.points, again.points) and np.array_equal(first.visible, again.visible)
    assert first.picture.tobytes() != render(head_of(7), replace(photo, seed=photo.seed + 1)).picture.tobytes()


@pytest.mark.parametrize("seed", range(8))
def test_five_points_lie_where_a_face_has_them(head_of: HeadOf, seed: int) -> None:
    left, right, nose, mouth_left, mouth_right = render(head_of(seed), STUDIO).landmarks
    assert left[0] < nose[0] < right[0] and mouth_left[0] < mouth_right[0]
    assert max(left[1], right[1]) < nose[1] < min(mouth_left[1], mouth_right[1])
    assert left[0] < mouth_left[0] + 4 and mouth_right[0] < right[0] + 4
    assert 25 < right[0] - left[0] < 40  # of 112 pixels


@pytest.mark.parametrize("seed", [1, 4, 6, 12, 14])
def test_the_eye_points_hit_dark_irises_on_bright_whites(head_of: HeadOf, seed: int) -> None:
    r = render(head_of(seed, 224), replace(STUDIO, smile=0.0))
    grey = _grey(r)
    for eye, start in ((0, 36), (1, 42)):
        iris = _patch(grey, r.landmarks[eye], 3)
        ring = r.points[start : start + 6]
        x0, y0, x1, y1 = (*ring.min(0).astype(int), *ring.max(0).astype(int))
        eye_box = grey[y0 : y1 + 1, x0 : x1 + 1]
        assert np.median(iris) < 0.75 * np.percentile(eye_box, 95)
        assert x1 - x0 > 1.3 * (y1 - y0)


def test_points_follow_roll_and_shift(head_of: HeadOf) -> None:
    upright = render(head_of(2), STUDIO).points
    moved = render(head_of(2), replace(STUDIO, shift_x=0.05, shift_y=-0.03)).points
    assert np.allclose(moved - upright, [5.6, -3.36], atol=0.05)
    rolled = render(head_of(2), replace(STUDIO, roll=20)).landmarks
    slope = np.degrees(np.arctan2(*(rolled[1] - rolled[0])[::-1]))
    assert -25 < slope < -15  # anticlockwise: the right eye rises


def test_turning_right_moves_the_nose_right_and_hides_the_far_side(head_of: HeadOf) -> None:
    ahead, right, left = (render(head_of(1), replace(STUDIO, yaw=y)) for y in (0, 55, -55))
    offset = [r.landmarks[2, 0] - r.landmarks[:2, 0].mean() for r in (ahead, right, left)]
    assert abs(offset[0]) < 3 and offset[1] > 8 and offset[2] < -8
    assert ahead.visible[36:48].all()
    assert right.visible[36:42].all() and right.visible[42:48].sum() < 6
    assert left.visible[42:48].all() and left.visible[36:42].sum() < 6
    # the far side of the jaw is gone in profile
    profile = render(head_of(1), replace(STUDIO, yaw=80))
    assert not profile.visible[10:17].any() and profile.visible[0:6].sum() >= 3


def test_lifting_the_chin_raises_the_nose(head_of: HeadOf) -> None:
    down, up = (render(head_of(1), replace(STUDIO, pitch=p)).landmarks for p in (-20, 20))
    assert up[2, 1] - up[:2, 1].mean() < down[2, 1] - down[:2, 1].mean() - 4


def test_occluders_hide_the_points_behind_them(head_of: HeadOf) -> None:
    head = head_of(1)
    bare = render(head, STUDIO)
    assert bare.visible[17:68].all()
    mouth, eyes = slice(48, 68), slice(36, 48)
    masked = render(head, replace(STUDIO, mask=0.9))
    assert not masked.visible[mouth].any() and masked.visible[eyes].all()
    dark = render(head, replace(STUDIO, sunglasses=0.8))
    assert not dark.visible[eyes].any() and dark.visible[mouth].all()
    glasses = render(head, replace(STUDIO, glasses=0.6))
    assert glasses.visible[eyes].sum() >= 8 and glasses.visible[mouth].all()
    wrapped = render(head, replace(STUDIO, scarf=1.0))
    assert wrapped.visible[mouth].sum() < 8 and wrapped.visible[eyes].all()
    hand = render(head, replace(STUDIO, hand=0.9))
    assert hand.visible.sum() < bare.visible.sum() - 8
    for r in (masked, dark, wrapped, hand):
        assert r.mask.sum(dtype=float) < 0.93 * bare.mask.sum(dtype=float)


@pytest.mark.parametrize(("kind", "points"), [("mask", slice(48, 68)), ("scarf", slice(0, 17)), ("hand", slice(0, 68))])
def test_a_stronger_occluder_covers_more_face(head_of: HeadOf, kind: str, points: slice) -> None:
    covered = [render(head_of(1), replace(STUDIO, **{kind: s})).mask.sum(dtype=float) for s in (0.05, 0.5, 1.0)]
    assert covered[0] > covered[1] > covered[2]
    assert not render(head_of(1), replace(STUDIO, **{kind: 1.0})).visible[points].all()


def test_a_hat_covers_the_hair_and_leaves_the_eyes(head_of: HeadOf) -> None:
    for seed in (0, 5, 9, 15):
        bare, hat = (render(head_of(seed), replace(STUDIO, hat=s)).visible[36:48].sum() for s in (0.0, 0.6))
        assert hat >= bare - 1


def test_the_mask_marks_the_face_and_not_the_corners(head_of: HeadOf) -> None:
    r = render(head_of(4), STUDIO)
    assert r.mask[:8, :8].max() == 0 and r.mask[-8:, :8].max() == 0
    for point in r.landmarks:
        assert _patch(r.mask, point, 0).item() > 200
    assert 0.12 < (r.mask > 127).mean() < 0.5


@pytest.mark.parametrize("kind", ["blur", "lowres"])
def test_blur_and_lowres_take_away_detail(head_of: HeadOf, kind: str) -> None:
    values = [_sharpness(render(head_of(6), replace(STUDIO, **{kind: s}))) for s in (0.0, 0.25, 0.5, 0.75, 1.0)]
    assert all(a > b for a, b in itertools.pairwise(values)) and values[-1] < 0.2 * values[0]


@pytest.mark.parametrize("kind", ["noise", "jpeg"])
def test_noise_and_jpeg_move_pixels_away_from_the_clean_picture(head_of: HeadOf, kind: str) -> None:
    clean = render(head_of(6), STUDIO).picture.astype(float)
    errors = [
        np.abs(render(head_of(6), replace(STUDIO, **{kind: s})).picture - clean).mean() for s in (0.1, 0.4, 0.7, 1.0)
    ]
    assert all(a < b for a, b in itertools.pairwise(errors))


def test_exposure_is_monotone_and_crop_pushes_the_face_out(head_of: HeadOf) -> None:
    means = [_grey(render(head_of(6), replace(STUDIO, exposure=s))).mean() for s in (-1, -0.5, 0, 0.5, 1)]
    assert all(a < b for a, b in itertools.pairwise(means))
    seen = [render(head_of(6), replace(STUDIO, crop=s)).visible.sum() for s in (0, 0.6, 1.0)]
    assert seen[0] > seen[1] > seen[2]


def test_light_from_the_left_makes_the_left_brighter(head_of: HeadOf) -> None:
    for azimuth, sign in ((-70, 1), (70, -1)):
        r = render(head_of(11), replace(STUDIO, light_azimuth=azimuth, light_elevation=15))
        left, right = (_patch(_grey(r), p, 3).mean() for p in (r.points[3] * [1, 1] + [6, 0], r.points[13] - [6, 0]))
        assert sign * (left - right) > 10


def test_a_smile_lifts_and_widens_the_mouth(head_of: HeadOf) -> None:
    flat, smiling = (render(head_of(1), replace(STUDIO, smile=s)).points for s in (0.0, 1.0))
    width = [p[54, 0] - p[48, 0] for p in (flat, smiling)]
    curve = [p[57, 1] - p[[48, 54], 1].mean() for p in (flat, smiling)]
    assert width[1] > 1.1 * width[0] and curve[1] > curve[0] + 1
    opened = render(head_of(1), replace(STUDIO, mouth_open=1.0)).points
    assert opened[66, 1] - opened[62, 1] > flat[66, 1] - flat[62, 1] + 3


def test_a_blink_closes_the_eyes(head_of: HeadOf) -> None:
    awake, closed = (render(head_of(1), replace(STUDIO, blink=b)).points for b in (0.0, 1.0))
    assert np.ptp(closed[36:42, 1]) < 0.75 * np.ptp(awake[36:42, 1])


def test_people_differ_more_than_pictures_of_one_person(head_of: HeadOf) -> None:
    seeds = range(12)
    quiet = Photo(smile=0.1, seed=1)
    other = replace(quiet, smile=0.5, yaw=4.0, light_azimuth=12.0, key=0.9, brow_raise=0.4)

    def crop(photo: Photo, seed: int) -> np.ndarray:
        return render(head_of(seed), photo).picture[24:100, 24:88].astype(float)

    a, b = [crop(quiet, s) for s in seeds], [crop(other, s) for s in seeds]
    same = np.array([np.abs(x - y).mean() for x, y in zip(a, b)])
    different = np.array([[np.abs(a[i] - b[j]).mean() for j in seeds if j != i] for i in seeds])
    assert same.mean() < 0.6 * different.mean()
    assert (same < different.min(1)).mean() > 0.7


EXTREMES = {
    "yaw": (-90.0, 90.0), "pitch": (-45.0, 45.0), "roll": (-180.0, 90.0), "smile": (-1.0, 1.5),
    "mouth_open": (0.0, 2.0), "blink": (0.5, 1.0), "brow_raise": (0.0, 2.0), "gaze_x": (-0.05, 0.05),
    "gaze_y": (-0.03, 0.03), "light_azimuth": (-180.0, 180.0), "light_elevation": (-90.0, 90.0), "key": (0.0, 3.0),
    "ambient": (0.0, 2.0), "warmth": (-2.0, 2.0), "shift_x": (-2.0, 2.0), "shift_y": (-2.0, 2.0), "zoom": (0.2, 6.0),
    "exposure": (-1.0, 1.0), "blur": (0.0, 1.0), "noise": (0.0, 1.0), "lowres": (0.0, 1.0), "jpeg": (0.001, 1.0),
    "crop": (0.0, 1.0), "glasses": (0.001, 1.0), "sunglasses": (0.001, 1.0), "mask": (0.001, 1.0),
    "scarf": (0.001, 1.0), "hand": (0.001, 1.0), "hat": (0.001, 1.0),
}  # fmt: skip


def test_the_extremes_cover_every_variation() -> None:
    assert set(EXTREMES) == set(Photo().strengths())


@pytest.mark.parametrize("name", EXTREMES)
def test_extreme_values_are_drawn_without_complaint(head_of: HeadOf, name: str) -> None:
    for value in EXTREMES[name]:
        r = render(head_of(9), replace(STUDIO, **{name: value}))
        assert np.isfinite(r.points).all() and r.picture.shape == (112, 112, 3)


def test_all_occluders_and_faults_at_once(head_of: HeadOf) -> None:
    everything = dict.fromkeys(CAMERA_FAULTS + OCCLUDERS, 1.0)
    for seed in (0, 13):
        assert render(head_of(seed), replace(STUDIO, **everything)).picture.shape == (112, 112, 3)


def test_every_hair_style_and_beard_can_be_drawn() -> None:
    from facelens.images.synthetic.identity import BEARDS, HAIR_STYLES

    person = replace(sample_identity(21), beard="none")
    pictures = set()
    for style in HAIR_STYLES:
        pictures.add(render(build_head(replace(person, style=style), size=64), STUDIO).picture.tobytes())
    for beard in BEARDS[1:]:
        pictures.add(render(build_head(replace(person, style="bald", beard=beard), size=64), STUDIO).picture.tobytes())
    assert len(pictures) == len(HAIR_STYLES) + len(BEARDS) - 1
