"""Diversity: every size of ensemble against the ensembles themselves, one after the other."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest

from facelens.analyses import diversity
from facelens.analyses.diversity import sizes
from facelens.analyses.ensemble import combined
from facelens.analyses.rejection import identify_risk, verify_risk


def world(members: int, *, people: int = 30, pictures: int = 4) -> tuple[list[np.ndarray], dict[str, Any]]:
    rng = np.random.default_rng(members)
    identity = np.repeat(np.arange(people), pictures).astype(np.int32)
    true = rng.normal(size=(people, 16))[identity]
    every = [(true + 1.2 * rng.normal(size=true.shape)).astype(np.float32) for _ in range(members + 1)]
    made = [one / np.linalg.norm(one, axis=1, keepdims=True) for one in every]
    faces = {"query": made[-1], "ids": rng.permutation(999)[: len(identity)], "identity": identity}
    return made[:-1], faces


@pytest.mark.parametrize("symmetric", [False, True])
def test_sizes_are_means_over_all_choices(symmetric: bool) -> None:
    members, faces = world(3)
    rates: dict[str, Any] = {"far": 0.01, "fpir": 0.1}
    if symmetric:
        faces["query"] = None
    found = sizes(members, models=["a", "b", "c"], networks=["x"] * 3, **faces, **rates, resamples=50)
    assert [(one.members, one.diversity, one.choices) for one in found] == [
        (1, "D-TG", 3),
        (2, "D-TG", 3),
        (3, "D-TG", 1),
    ]
    flat = np.zeros(120)
    for one in found:
        tar, tpir = [], []
        for chosen in combinations(range(3), one.members):
            gallery = combined([members[i] for i in chosen]).vectors if len(chosen) > 1 else members[chosen[0]]
            sides = gallery if symmetric else faces["query"], gallery, faces["ids"], faces["identity"], flat
            tar.append(1 - verify_risk(*sides, far=0.01, resamples=50).error.value[0])
            tpir.append(1 - identify_risk(*sides, fpir=0.1, resamples=50).error.value[0])
        assert one.verification.value == pytest.approx(np.mean(tar)) and one.verification.n > 100
        assert one.identification.value == pytest.approx(np.mean(tpir)) and one.identification.n == 60
        for measure in (one.verification, one.identification):
            assert measure.low is not None and measure.high is not None and measure.low < measure.high
            assert measure.low <= measure.value <= measure.high
    assert found[0].verification.value < found[1].verification.value < found[2].verification.value
    one_ensemble = 1 - verify_risk(*sides, far=0.01, resamples=50).error.high[0]
    assert found[-1].verification.low == pytest.approx(one_ensemble)


def test_levels_by_what_the_members_are() -> None:
    members, faces = world(4)
    found = sizes(members, models=["a", "a", "b", "c"], networks=["x", "x", "x", "y"], **faces, resamples=0)
    shown = {(one.diversity, one.members): one.choices for one in found}
    assert shown == {
        ("D-T", 1): 2, ("D-T", 2): 1,
        ("D-TG", 1): 3, ("D-TG", 2): 2, ("D-TG", 3): 1,
        ("D-TGA", 1): 4, ("D-TGA", 2): 3, ("D-TGA", 3): 3, ("D-TGA", 4): 1,
    }  # fmt: skip
    assert found[0].verification.low is None


def test_one_member_many_choices_and_many_faces(monkeypatch: pytest.MonkeyPatch) -> None:
    members, faces = world(5)
    (one,) = sizes(members[:1], models=["a"], networks=[""], **faces, resamples=0)
    assert (one.members, one.diversity, one.choices) == (1, "D-T", 1)
    monkeypatch.setattr(diversity, "CHOICES", 3)
    monkeypatch.setattr(diversity, "MANY", 6)  # of ten
    monkeypatch.setattr(diversity, "FACES", 61)
    few = sizes(members, models=list("abcde"), networks=["x"] * 5, **faces, far=0.02, resamples=0)
    assert [one.choices for one in few] == [3, 3, 3, 3, 1]
    assert few[0].verification.n == 15 * 4 * 3  # ordered pairs of fifteen people


def test_where_there_is_nothing_to_compare() -> None:
    members, faces = world(2)
    faces["identity"] = np.arange(120, dtype=np.int32)
    found = sizes(members, models=["a", "b"], networks=["", ""], **faces)
    assert "no genuine pair" in found[0].verification.why and found[0].identification.why == "nobody is enrolled"
    members[0][5] = np.nan
    faces["identity"] = (np.arange(120) // 4).astype(np.int32)
    found = sizes(members, models=["a", "b"], networks=["", ""], **faces, resamples=0)
    assert {one.verification.n for one in found} == {29 * 12 + 6}  # the same faces for every size
