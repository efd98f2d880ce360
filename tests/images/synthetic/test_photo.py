from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from facelens.images.synthetic import CAMERA_FAULTS, OCCLUDERS, Photo, sample_photo


def test_sampling_is_deterministic() -> None:
    a, b = (sample_photo(np.random.default_rng(3), degrade=1.0) for _ in range(2))
    assert a == b


def test_hard_zero_is_a_studio() -> None:
    photo = sample_photo(np.random.default_rng(0), hard=0.0)
    assert photo.yaw == photo.pitch == photo.roll == photo.noise == photo.jpeg == photo.exposure == 0
    assert photo.zoom == 1


def test_degrade_adds_exactly_one_fault_and_all_occur() -> None:
    rng, seen = np.random.default_rng(1), set()
    for _ in range(200):
        photo = sample_photo(rng, degrade=1.0)
        strong = [k for k in CAMERA_FAULTS + OCCLUDERS if abs(getattr(photo, k)) >= 0.25]
        assert 1 <= len(strong) <= 2  # a strong everyday exposure may come on top
        seen.update(strong)
    assert seen == set(CAMERA_FAULTS + OCCLUDERS)
    clear = [sample_photo(rng, degrade=0.0) for _ in range(50)]
    assert all(getattr(p, k) == 0 for p in clear for k in ("blur", "lowres", "crop", *OCCLUDERS))


@pytest.mark.parametrize("kind", CAMERA_FAULTS + OCCLUDERS)
def test_degradation_grows_with_every_fault(kind: str) -> None:
    scores = [replace(Photo(), **{kind: s}).degradation for s in (0.0, 0.3, 0.6, 1.0)]
    assert scores[0] == 0
    assert all(a < b for a, b in itertools.pairwise(scores)) and scores[-1] <= 1


def test_degradation_counts_a_turned_head_and_darkness() -> None:
    assert Photo(yaw=-60).degradation == Photo(yaw=60).degradation > Photo(yaw=10).degradation == 0
    assert Photo(exposure=-0.8).degradation == Photo(exposure=0.8).degradation > 0.3


def test_strengths_name_every_variation_but_the_seed() -> None:
    strengths = Photo(blur=0.5, seed=9).strengths()
    assert strengths["blur"] == 0.5 and "seed" not in strengths and len(strengths) == 29
