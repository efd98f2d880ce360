"""Crossing: every test against a loop over pairs and searches; gains, criterion and bounds from the same draws."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from facelens.analyses import bootstrap, identification
from facelens.analyses.compatible import intra_class
from facelens.analyses.crossing import Matrix, crossed
from facelens.analyses.plan import TASKS, UpgradePlan
from facelens.analyses.spaces import Spaces, spaces
from facelens.features.featureset import FeatureSet
from facelens.images.faceset import FaceSet
from tests.analyses.upgraded import PLAN, gallery, models, vectors

Made = tuple[FaceSet, dict[str, FeatureSet]]
FULL = replace(PLAN, upper="upper", others=("mid",))


def matrix(faces: FaceSet, plan: UpgradePlan, **given: Any) -> Matrix:
    """All tests between the models of a plan."""
    return crossed(spaces(faces, plan, **given), plan)


@pytest.fixture(scope="module")
def world() -> Made:
    faces = gallery()
    return faces, models(faces)


@pytest.fixture(scope="module")
def ground(world: Made) -> Spaces:
    faces, features = world
    return spaces(faces, FULL, features=features)


@pytest.fixture(scope="module")
def found(ground: Spaces) -> Matrix:
    return crossed(ground, FULL)


def tar_by_hand(query: NDArray, gallery: NDArray, who: NDArray, weight: NDArray | None = None) -> float:
    """All ordered pairs; `weight` says how often a person counts."""
    weight = np.ones(who.max() + 1) if weight is None else weight
    strangers, mates = [], []
    for i in range(len(who)):
        for j in range(len(who)):
            if i != j:
                score = float(query[i].astype(np.float64) @ gallery[j])
                same = who[i] == who[j]
                (mates if same else strangers).append((score, weight[who[i]] * (1.0 if same else weight[who[j]])))
    strangers.sort(reverse=True)
    allowed, seen, limit = FULL.far * sum(w for _, w in strangers), 0.0, np.inf
    for score, w in strangers:
        seen += w
        if seen > allowed + 1e-9:
            limit = score
            break
    return sum(w for score, w in mates if score > limit) / sum(w for _, w in mates)


def searched_by_hand(query: NDArray, gallery: NDArray, ids: NDArray, who: NDArray) -> tuple[float, float]:
    """TPIR (rank 1) at the FPIR and the share of first ranks, the mean of two galleries."""
    split = identification.split(who, order=np.argsort(ids))
    rates, firsts = [], []
    for part in (1, 2):
        entries = split.gallery[split.part == part]
        mates, others, right = [], [], []
        for probe in split.probe:
            scores = gallery[entries].astype(np.float64) @ query[probe]
            own = [s for s, entry in zip(scores, entries) if who[entry] == who[probe]]
            stranger = max(s for s, entry in zip(scores, entries) if who[entry] != who[probe])
            if own:
                mates.append(own[0])
                right.append(own[0] > stranger)
            else:
                others.append(stranger)
        threshold = sorted(others, reverse=True)[int(FULL.fpir * len(others) + 1e-9) - 1]
        rates.append(np.mean([mate >= threshold and ok for mate, ok in zip(mates, right)]))
        firsts.append(np.mean(right))
    return float(np.mean(rates)), float(np.mean(firsts))


@pytest.mark.parametrize(("query", "searched"), [("old", "old"), ("new", "old"), ("old", "new"), ("mid", "new")])
def test_a_test_is_that_of_the_definition(found: Matrix, ground: Spaces, query: str, searched: str) -> None:
    test = found.test(query, searched)
    assert test is not None
    sides = ground.sides(query, searched)
    assert test.verification.value == pytest.approx(tar_by_hand(*sides, ground.identity), abs=1e-9)
    tpir, first = searched_by_hand(*sides, ground.ids, ground.identity)
    assert test.identification.value == pytest.approx(tpir) and test.first.value == pytest.approx(first)
    for one in (test.verification, test.identification, test.first):
        assert one.low is not None and one.high is not None and one.low <= (one.value or 0.0) <= one.high


def test_every_two_models_are_tested_in_both_orders(found: Matrix) -> None:
    assert found.models == ("old", "new", "upper", "mid")
    assert {(one.query, one.gallery) for one in found.tests} == {(a, b) for a in found.models for b in found.models}
    for a in found.models:
        for b in found.models:
            one, other = found.test(a, b), found.test(b, a)
            assert one is not None and other is not None
            # 1:1 is over all ordered pairs, so whose are the queries makes no difference; 1:N enrols one picture.
            assert one.verification == other.verification
            assert one.chance == ("upper" in (a, b) and a != b)
    one, other = found.test("new", "old"), found.test("old", "new")
    assert one is not None and other is not None and one.identification != other.identification
    assert (found.faces, found.people, found.genuine, found.impostor) == (200, 40, 400, 19_500)


def test_the_difference_is_of_the_same_draws_of_people(found: Matrix, ground: Spaces) -> None:
    """By hand: every draw weighs people, finds both thresholds anew and takes one rate from the other."""
    weights = bootstrap.identity_weights(ground.people, resamples=12, seed=0)
    few = crossed(ground, replace(FULL, resamples=12, upper="", others=()))
    old, sides = ground.sides("old", "old"), ground.sides("new", "old")
    who = ground.identity
    draws = np.array([tar_by_hand(*sides, who, w) - tar_by_hand(*old, who, w) for w in weights])
    low, high = np.quantile(draws, [0.025, 0.975])
    told = few.difference["1:1"]
    assert (told.low, told.high) == (pytest.approx(low, abs=1e-6), pytest.approx(high, abs=1e-6))
    # Paired: narrower than if both had been drawn apart.
    one, other = found.test("new", "old"), found.test("old", "old")
    assert one is not None and other is not None
    value = found.difference["1:1"]
    assert value.value == pytest.approx(one.verification.value - other.verification.value)  # type: ignore[operator]
    widths = [(m.high or 0) - (m.low or 0) for m in (one.verification, other.verification)]
    assert (value.high or 0) - (value.low or 0) < np.hypot(*widths)


def test_gains_are_shares_of_the_way_to_the_upper_model(found: Matrix) -> None:
    for task in TASKS:
        old, new, upper = (found.test(name, name).measure(task).value for name in ("old", "new", "upper"))  # type: ignore[union-attr]
        cross = found.test("new", "old").measure(task).value  # type: ignore[union-attr]
        performance, upgrade = (one for one in found.gains if one.task == task)
        assert (performance.of, upgrade.of, performance.best, upgrade.best) == ("performance", "direct", False, True)
        assert performance.percent.value == pytest.approx(100 * (new - old) / abs(upper - old))
        assert upgrade.percent.value == pytest.approx(100 * (cross - old) / abs(upper - old))
        assert upgrade.got == found.difference[task] and upgrade.possible.value == pytest.approx(upper - old)
        assert performance.telling and upgrade.telling
        assert upgrade.percent.low is not None and upgrade.percent.low < (upgrade.percent.value or 0)


def test_an_upper_model_that_is_worse_than_old_does_not_turn_the_sign(ground: Spaces, world: Made) -> None:
    faces, features = world
    found = matrix(faces, replace(PLAN, upper="worse"), features=features)
    gain = next(one for one in found.gains if one.of == "direct" and one.task == "1:1")
    assert (gain.possible.high or 0) < 0 < (gain.got.value or 0) and gain.telling
    assert gain.percent.value == pytest.approx(100 * (gain.got.value or 0) / abs(gain.possible.value or 1))
    assert (gain.percent.value or 0) > 0


def test_gains_of_an_upper_model_like_the_old_one_are_not_telling(world: Made) -> None:
    faces, features = world
    rng = np.random.default_rng(5)
    x = features["old"].vectors
    like = vectors(faces, x + 0.05 * rng.normal(size=x.shape), "like")
    found = matrix(faces, replace(PLAN, upper="like"), features={**features, "like": like})
    for gain in found.gains:
        low, high = gain.possible.low, gain.possible.high
        assert low is not None and high is not None and low <= 0 <= high
        assert not gain.telling
    same = matrix(faces, replace(PLAN, upper="same"), features={**features, "same": vectors(faces, x, "same")})
    assert all(not one.percent.defined and "nothing to gain" in one.percent.text() for one in same.gains)


def test_without_an_upper_model_there_are_differences_but_no_gains(world: Made) -> None:
    faces, features = world
    found = matrix(faces, PLAN, features=features)
    assert found.gains and all(one.got.defined and not one.percent.defined for one in found.gains)
    assert not any(one.telling for one in found.gains)


def test_the_best_direction_counts_and_guessing_does_not(world: Made) -> None:
    faces, features = world
    found = matrix(faces, replace(PLAN, new="apart", upper="upper"), features=features)
    gains = [one for one in found.gains if one.task == "1:1" and one.of != "performance"]
    assert {one.of for one in gains} == {"backward", "forward"}  # direct is at chance
    (best,) = (one for one in gains if one.best)  # of two that reach the same, the one that is meant
    assert best.got.value == max(one.got.value or 0 for one in gains)
    direct = found.test("apart", "old", "direct")
    assert direct is not None and direct.chance and (direct.verification.value or 0) < 0.05
    assert found.difference["1:1"] == next(one for one in gains if one.of == found.direction).got


def test_bounds_follow_the_sequence(found: Matrix, world: Made) -> None:
    chain = [(one.low, one.high) for one in found.bounds if one.task == "1:1"]
    assert chain == [("old", "mid"), ("mid", "new")]
    for one in found.bounds:
        tests = [found.test(*names) for names in ((one.low, one.low), (one.high, one.low), (one.high, one.high))]
        older, cross, newer = (test.measure(one.task).value for test in tests if test is not None)
        assert one.above.value == pytest.approx(cross - older) and one.below.value == pytest.approx(newer - cross)
        assert one.holds == (older <= cross <= newer)
    assert all(one.holds for one in found.bounds if one.task == "1:1")
    faces, features = world
    down = matrix(faces, replace(PLAN, new="worse"), features=features)
    (bound,) = (one for one in down.bounds if one.task == "1:1")
    assert not bound.holds and (bound.above.value or 0) < 0


def test_other_dimensions_are_said_and_not_tested(world: Made) -> None:
    faces, features = world
    found = matrix(faces, replace(PLAN, others=("wide",)), features=features)
    test = found.test("wide", "old")
    assert test is not None and not test.chance and not test.verification.defined
    assert "wide has 32 dimensions, old has 16" in test.verification.text()
    assert found.test("wide", "wide").verification.defined  # type: ignore[union-attr]


def test_compactness_and_point_distance(found: Matrix, ground: Spaces) -> None:
    assert [one.model for one in found.compactness] == list(found.models)
    told = found.compactness[0]
    for name in ("centre", "pairs", "angle"):
        each = intra_class(ground.vectors["old"], ground.identity, name)
        measure = getattr(told, name)
        assert measure.value == pytest.approx(np.nanmean(each), rel=1e-6) and measure.low < measure.value < measure.high
    a, b = (ground.vectors[name].astype(np.float64) for name in ("old", "new"))
    cosines = [float(x @ y) for x, y in zip(a, b)]
    assert found.point_distance.value == pytest.approx(2 - 2 * np.mean(cosines), abs=1e-5)


def test_one_person_says_nothing_and_why(world: Made) -> None:
    faces, features = world
    alone = faces.ids[faces.identity.codes > 0]
    found = matrix(faces, replace(PLAN, transforms="none"), features=features, excluded=alone)
    test = found.test("new", "old")
    assert test is not None and not test.verification.defined and "one identity" in test.verification.text()
    assert not found.difference["1:1"].defined
