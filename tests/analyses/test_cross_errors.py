"""The errors behind a cell of the matrix are exactly those its numbers count."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from facelens.analyses import cross_errors, crossing
from facelens.analyses.plan import UpgradePlan
from facelens.analyses.spaces import Spaces

PEOPLE, PICTURES, D = 9, 4, 12


@pytest.fixture(scope="module")
def found() -> Spaces:
    rng = np.random.default_rng(4)
    identity = np.repeat(np.arange(PEOPLE), PICTURES).astype(np.int32)
    truth = rng.normal(size=(PEOPLE, D))[identity]

    def unit(noise: float) -> np.ndarray:
        made = truth + noise * rng.normal(size=truth.shape)
        return (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float32)

    ids = rng.permutation(len(identity)).astype(np.int64) + 100
    vectors = {"old": unit(1.1), "new": unit(0.8)}
    rows = np.arange(len(ids))
    return Spaces("old", "new", ("old", "new"), ids, rows, identity, vectors, {}, "direct")


def test_pairs_are_those_that_a_loop_finds(found: Spaces) -> None:
    plan = UpgradePlan("old", "new", far=0.05, resamples=0)
    test = crossing.crossed(found, plan).test("new", "old")
    errors = cross_errors.of_test(found, plan, "new", "old", "direct")
    assert test is not None and errors.threshold == pytest.approx(test.threshold, abs=1e-6)
    missed, accepted = set(), set()
    for i, one in enumerate(found.ids.tolist()):
        for j, other in enumerate(found.ids.tolist()):
            score = float(found.vectors["new"][i] @ found.vectors["old"][j])
            same = found.identity[i] == found.identity[j]
            if i != j and same and score < test.threshold - 1e-6:
                missed.add((one, other))
            if not same and score >= test.threshold - 1e-6:
                accepted.add((one, other))
    listed = list(zip(errors.first.tolist(), errors.second.tolist()))
    assert {pair for pair, own in zip(listed, errors.genuine) if own} == missed
    assert {pair for pair, own in zip(listed, errors.genuine) if not own} == accepted
    assert (errors.missed, errors.accepted) == (len(missed), len(accepted))
    assert test.verification.value == pytest.approx(1 - len(missed) / (PEOPLE * PICTURES * (PICTURES - 1)))


def test_the_worst_come_first_and_margins_say_how_far_off(found: Spaces) -> None:
    errors = cross_errors.of_test(found, UpgradePlan("old", "new", far=0.05), "old", "old", "self")
    assert errors.genuine.tolist() == sorted(errors.genuine.tolist(), reverse=True), "missed ones first"
    for kind in (True, False):
        assert (np.diff(errors.margin[errors.genuine == kind]) >= 0).all()
    assert (errors.margin <= 0).all()


def test_searches_are_those_the_rate_counts(found: Spaces) -> None:
    plan = UpgradePlan("old", "new", fpir=0.2, resamples=0, task="1:N")
    test = crossing.crossed(found, plan).test("new", "old")
    errors = cross_errors.of_test(found, plan, "new", "old", "direct")
    searched = crossing.searched(found, plan, *found.sides("new", "old"))
    assert test is not None and test.identification.value is not None
    by_gallery = [searched.searches.gallery[searched.searches.mated] == g for g in np.unique(searched.searches.gallery)]
    assert errors.missed == pytest.approx((1 - test.identification.value) * sum(own.sum() for own in by_gallery), abs=2)
    who = dict(zip(found.ids.tolist(), found.identity.tolist()))
    for first, second, own, margin in zip(errors.first, errors.second, errors.genuine, errors.margin):
        assert margin <= 0
        assert own or who[int(first)] != who[int(second)]


def test_few_are_listed_and_all_are_counted(found: Spaces, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = UpgradePlan("old", "new", far=0.05)
    whole = cross_errors.of_test(found, plan, "old", "old", "self")
    monkeypatch.setattr(cross_errors, "LISTED", 3)
    few = cross_errors.of_test(found, plan, "old", "old", "self")
    assert (few.missed, few.accepted) == (whole.missed, whole.accepted)
    assert len(few.first) == 6 and few.score[0] == whole.score[0]


def test_where_nothing_is_accepted_everything_is_missed(found: Spaces) -> None:
    plan = replace(UpgradePlan("old", "new"), far=1e-9)
    errors = cross_errors.of_test(found, plan, "old", "old", "self")
    assert errors.accepted == 0
    assert errors.threshold is None or errors.missed < PEOPLE * PICTURES * (PICTURES - 1) / 2
