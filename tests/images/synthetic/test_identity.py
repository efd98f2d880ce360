from __future__ import annotations

import numpy as np

from facelens.images.synthetic import sample_identity
from facelens.images.synthetic.identity import BEARDS, HAIR_COLOURS, HAIR_STYLES, SHAPE


def test_a_person_is_42_shape_numbers_and_more() -> None:
    assert len(SHAPE) == 42
    person = sample_identity(5)
    assert set(person.shape) == set(SHAPE)
    assert person.style in HAIR_STYLES and person.beard in BEARDS and person.hair in HAIR_COLOURS


def test_the_same_seed_is_the_same_person_and_another_is_not() -> None:
    assert sample_identity(11) == sample_identity(11)
    assert sample_identity(11) != sample_identity(12)


def test_no_spread_gives_everyone_the_mean_shape() -> None:
    a, b = sample_identity(1, spread=0.0), sample_identity(2, spread=0.0)
    assert a.shape["eye_d"] == b.shape["eye_d"] == SHAPE["eye_d"][0]


def test_people_are_varied() -> None:
    people = [sample_identity(i) for i in range(300)]
    melanin = np.array([p.melanin for p in people])
    assert melanin.min() < 0.05 and melanin.max() > 0.9 and 0.3 < melanin.mean() < 0.6
    assert {p.style for p in people} == set(HAIR_STYLES)
    assert {p.beard for p in people} == set(BEARDS)
    assert {p.hair for p in people} == set(HAIR_COLOURS)
    assert 0.4 < np.mean([p.feminine for p in people]) < 0.6
    assert not any(p.feminine and p.beard != "none" for p in people)
    assert np.mean([p.age for p in people if p.hair == "white"]) > np.mean([p.age for p in people]) + 0.2
