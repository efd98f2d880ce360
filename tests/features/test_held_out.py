"""The check on people who are left out: its pairs, its numbers, its sentence."""

from __future__ import annotations

import numpy as np
import pytest

from facelens.features import held_out
from facelens.features.closed_forms import Way
from facelens.features.held_out import Check, Scores, check, compared, parts


def test_parts_leave_out_everybody_once() -> None:
    labels = np.random.default_rng(0).integers(0, 23, 200)
    found = list(parts(labels, seed=3))
    people = [set(labels[rows]) for rows, _ in found]
    assert len(found) == 5 and set.union(*people) == set(range(23)) and sum(map(len, people)) == 23
    assert all(set(rows) == set(shown) for rows, shown in found)
    assert sorted(np.concatenate([rows for rows, _ in found])) == list(range(200))
    turned = list(parts(labels[::-1], seed=3))  # who it is does not depend on the order of the pictures
    assert [set(labels[::-1][rows]) for rows, _ in turned] == people
    assert [set(labels[rows]) for rows, _ in parts(labels, seed=4)] != people


@pytest.mark.parametrize(("people", "count"), [(2, 0), (3, 0), (4, 2), (7, 3), (10, 5)])
def test_every_part_has_two_people(people: int, count: int) -> None:
    labels = np.repeat(np.arange(people), 3)
    found = list(parts(labels, seed=0))
    assert len(found) == count and all(len(set(labels[rows])) >= 2 for rows, _ in found)


def test_many_pictures_are_compared_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(held_out, "_MOST", 12)
    monkeypatch.setattr(held_out, "_OF_ONE", 3)
    labels = np.repeat(np.arange(50), 10)
    for rows, shown in parts(labels, seed=0):
        assert len(rows) == 100 and np.bincount(labels[shown]).max() == 3 and len(shown) == 12
        assert set(shown) <= set(rows)


def naive_tar(genuine: list[float], impostor: list[float], far: float) -> float:
    """The highest TAR at a threshold that accepts no more impostors than it may."""
    best = 0.0
    for t in [*genuine, *impostor]:
        if sum(s >= t for s in impostor) <= far * len(impostor):
            best = max(best, sum(s >= t for s in genuine) / len(genuine))
    return best


def test_scores_and_tar_against_naive_loops() -> None:
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(12), 4)
    centres = rng.standard_normal((12, 8))
    mapped, target = (centres[labels] + 0.8 * rng.standard_normal((48, 8)) for _ in range(2))
    mapped, target = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in (mapped, target))
    pairs = [(i, j, float(mapped[i] @ target[j])) for i in range(48) for j in range(48)]
    genuine = [s for i, j, s in pairs if labels[i] == labels[j] and i != j]
    impostor = [s for i, j, s in pairs if labels[i] != labels[j]]
    scores = Scores.of(mapped, target, labels)
    np.testing.assert_allclose(np.sort(scores.genuine), np.sort(genuine))
    np.testing.assert_allclose(np.sort(scores.impostor), np.sort(impostor))
    np.testing.assert_allclose(scores.same, [s for i, j, s in pairs if i == j])
    found = check(Way("procrustes"), [scores], people=12)
    assert (found.far, found.people) == ("1e-2", 12)  # 2,112 impostors are too few for 1e-3
    assert found.tar == pytest.approx(naive_tar(genuine, impostor, 1e-2))
    spread = np.sqrt((np.var(genuine) + np.var(impostor)) / 2)
    assert found.separation == pytest.approx((np.mean(genuine) - np.mean(impostor)) / spread)


@pytest.mark.parametrize("impostors", [1000, 1099, 1100, 2570])
def test_as_many_impostors_are_accepted_as_may_be(impostors: int) -> None:
    rng = np.random.default_rng(impostors)
    genuine, others = rng.random(400) * 0.04 + 0.97, rng.random(impostors)
    found = check(Way("procrustes"), [Scores(genuine, others, genuine)], people=9)
    assert found.tar == pytest.approx(naive_tar(genuine.tolist(), others.tolist(), 1e-2))


def test_the_far_follows_from_the_number_of_impostors() -> None:
    rng = np.random.default_rng(0)

    def far(genuine: int, impostor: int) -> str:
        drawn = Scores(rng.random(genuine) + 1, rng.random(impostor), rng.random(5) + 1)
        found = check(Way("ridge", 0.01), [drawn], people=9)
        assert (found.tar is None) == (found.far == "")
        return found.far

    assert [far(30, n) for n in (999, 1000, 9999, 10_000)] == ["", "1e-2", "1e-2", "1e-3"]
    assert far(3, 10_000) == ""


def test_pictures_themselves_count_where_people_have_one_each() -> None:
    scores = Scores(np.zeros(0), np.array([0.0, 0.1, 0.2, 0.1]), np.array([0.9, 0.7]))
    assert check(Way("procrustes"), [scores], people=2).separation > 5


def test_sentences() -> None:
    ridge, strong = Check("ridge", 0.01, "1e-3", 0.96134, 3.5, 48), Check("ridge", 1.0, "1e-3", 0.92, 3.1, 48)
    rotation = Check("procrustes", 0.0, "1e-3", 0.948, 3.6, 48)
    assert compared([]) == ""
    assert compared([ridge, rotation, strong]) == (
        "ridge: TAR 0.9613 at FAR 1e-3 against 0.9480 of procrustes, 0.9200 of ridge of strength 1, "
        "on 48 people left out in turn."
    )
    few = [Check("procrustes", 0.0, "", None, 2.5, 1_200), Check("ridge", 0.01, "", None, 2.25, 1_200)]
    assert compared(few) == "procrustes: separation 2.50 against 2.25 of ridge, on 1,200 people left out in turn."
    equal = [Check("procrustes", 0.0, "1e-2", 1.0, 5.5, 4), Check("ridge", 0.01, "1e-2", 1.0, 5.25, 4)]
    assert compared(equal) == (
        "procrustes: separation 5.50 against 5.25 of ridge (TAR 1.0000 at FAR 1e-2 for all), "
        "on 4 people left out in turn."
    )
    assert max(equal, key=lambda one: one.order) is equal[0]
    assert max([ridge, rotation], key=lambda one: one.order) is ridge
