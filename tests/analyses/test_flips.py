"""Flips, by the definition: face by face and pair by pair."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from facelens.analyses import similarity, verification
from facelens.analyses.flips import GAINED, LOST, Flips, flips
from facelens.errors import Cancelled

FAR = 0.01


def world(people: int = 12, pictures: int = 5, seed: int = 0) -> tuple[NDArray, ...]:
    """Old and new vectors of the same faces in one space, ids, and who they are; the last one is alone."""
    rng = np.random.default_rng(seed)
    who = np.append(np.repeat(np.arange(people), pictures), people).astype(np.int32)
    centres = rng.normal(size=(people + 1, 16))
    old, new = (similarity.unit(centres[who] + 0.9 * rng.normal(size=(len(who), 16)))[0] for _ in range(2))
    return old.astype(np.float32), new.astype(np.float32), rng.permutation(len(who)).astype(np.int64) * 3, who


def by_hand(query: NDArray, gallery: NDArray, who: NDArray) -> tuple[NDArray, float]:
    """All scores, and the lowest of them that accepts no more strangers than the FAR allows."""
    score = query.astype(np.float64) @ gallery.T
    others = score[who[:, None] != who]
    pairs = score[~np.eye(len(who), dtype=bool)]
    return score, min(t for t in pairs if (others >= t - 1e-9).mean() <= FAR)


@pytest.fixture(scope="module")
def found() -> tuple[Flips, tuple[NDArray, ...]]:
    old, new, ids, who = made = world()
    return flips(old, new, old, ids=ids, identity=who, far=FAR), made


def test_searches_are_those_of_the_definition(found: tuple[Flips, tuple[NDArray, ...]]) -> None:
    result, (old, new, ids, who) = found
    told = result.searches
    assert told.ids.tolist() == ids[:-1].tolist()  # nobody else is the last one
    sides = ((old, "old", result.old_threshold), (new, "new", result.new_threshold))
    for query, name, threshold in sides:
        score, t = by_hand(query, old, who)
        assert threshold == pytest.approx(t, abs=1e-5)
        for i in range(len(told.ids)):
            others = [j for j in range(len(who)) if j != i]
            nearest = max(others, key=lambda j: score[i, j])
            mate = max((j for j in others if who[j] == who[i]), key=lambda j: score[i, j])
            right = who[nearest] == who[i] and score[i, nearest] >= t - 1e-6
            limit = max(t, *(score[i, j] for j in others if who[j] != who[i]))
            assert getattr(told, f"{name}_match")[i] == ids[nearest]
            assert getattr(told, f"{name}_mate")[i] == ids[mate]
            assert getattr(told, f"{name}_right")[i] == right
            assert getattr(told, f"{name}_score")[i] == pytest.approx(score[i, mate], abs=1e-5)
            assert getattr(told, f"{name}_margin")[i] == pytest.approx(score[i, mate] - limit, abs=1e-5)
    for places, way in ((result.lost, LOST), (result.gained, GAINED)):
        assert len(places) and (told.change[places] == way).all()
        moved = way * (told.new_margin - told.old_margin)[places]
        assert (np.diff(moved) <= 0).all()


def test_pairs_are_those_whose_decision_changed(found: tuple[Flips, tuple[NDArray, ...]]) -> None:
    result, (old, new, ids, who) = found
    (before, t), (after, u) = by_hand(old, old, who), by_hand(new, old, who)
    genuine = [(i, j) for i in range(len(who)) for j in range(len(who)) if i != j and who[i] == who[j]]
    change = {(ids[i], ids[j]): int(after[i, j] >= u - 1e-6) - int(before[i, j] >= t - 1e-6) for i, j in genuine}
    pairs = result.pairs
    told = {(a, b): c for a, b, c in zip(pairs.first, pairs.second, pairs.change)}
    assert pairs.genuine == len(genuine)
    assert told == {pair: way for pair, way in change.items() if way}
    assert (np.diff(np.abs((pairs.new - u) - (pairs.old - t))) <= 1e-5).all()


def test_pairs_account_for_the_difference_of_tar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("facelens.analyses.flips.GENUINE", 7)  # a few pairs at a time
    old, new, ids, who = world(seed=1)
    tars, thresholds = [], []
    for query, against in ((old, None), (new, old)):
        scores = similarity.all_pairs(query, ids=ids, identity=who, against=against)
        point = verification.verify(scores, fars=(FAR,), resamples=0).points[0]
        tars.append(point.tar.value or 0.0)
        thresholds.append(point.threshold)
    result = flips(old, new, old, ids=ids, identity=who, far=FAR, thresholds=(thresholds[0], thresholds[1]))
    assert result.pairs.change.sum() == pytest.approx((tars[1] - tars[0]) * result.pairs.genuine)


def test_where_nothing_is_accepted_all_that_was_right_is_lost() -> None:
    old, new, ids, who = world(people=3, pictures=2)
    result = flips(old, new, old, ids=ids, identity=who, thresholds=(-1.0, None))
    assert not result.searches.new_right.any()
    assert set(result.pairs.change) == {LOST} and len(result.pairs.change) == result.pairs.genuine


def test_twins_under_two_names_do_not_count_against_the_mate() -> None:
    old, _, ids, who = world(people=3, pictures=2)
    old[2] = old[1]  # a stranger who is the same picture as a mate
    result = flips(old, old, old, ids=ids, identity=who, thresholds=(-1.0, -1.0))
    assert result.searches.old_right[0] == (result.searches.old_match[0] == ids[1])
    assert result.searches.old_margin[0] <= 0 and not result.searches.change.any()


def test_it_stops_when_asked() -> None:
    def stop(done: int, total: int, note: str = "") -> None:
        raise Cancelled

    old, new, ids, who = world(people=3, pictures=2)
    with pytest.raises(Cancelled):
        flips(old, new, old, ids=ids, identity=who, tick=stop)
