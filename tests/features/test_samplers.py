"""Samplers: batches follow from seed and step alone."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from facelens.errors import InputError
from facelens.features.recipe import Batch
from facelens.features.samplers import Balanced, Clustered, Plain, sampler, share

CODES = np.array([0] * 5 + [-1] * 3 + [1] * 2 + [2] * 9 + [3] * 1)


def batches(kind: str, *, seed: int = 0) -> Plain | Balanced | Clustered:
    return sampler(Batch(kind, people=2, pictures=3, size=6), CODES, seed=seed)


@pytest.mark.parametrize("kind", ["plain", "balanced", "cluster"])
def test_any_step_comes_out_the_same_whatever_was_asked_before(kind: str) -> None:
    through = batches(kind)
    all_of_them = [through.rows(step).tolist() for step in range(20)]
    for step in (13, 2, 19, 0):
        assert batches(kind).rows(step).tolist() == all_of_them[step]
        assert through.rows(step).tolist() == all_of_them[step]
    assert [batches(kind, seed=1).rows(step).tolist() for step in range(20)] != all_of_them
    assert all(CODES[row] >= 0 for rows in all_of_them for row in rows)
    assert len({tuple(rows) for rows in all_of_them}) > 10


def test_plain_shows_each_picture_once_an_epoch() -> None:
    one = Plain(np.zeros(12, int), size=4, seed=0)
    assert one.epoch == 3
    for epoch in range(3):
        rows = np.concatenate([one.rows(3 * epoch + step) for step in range(3)])
        assert sorted(rows.tolist()) == list(range(12))
    assert one.rows(0).tolist() != one.rows(3).tolist()
    assert len(Plain(np.zeros(3, int), size=8, seed=0).rows(5)) == 3, "a batch is never larger than all there is"


def test_balanced_gives_people_their_turns() -> None:
    one = batches("balanced")
    for step in range(10):
        rows = one.rows(step)
        people = CODES[rows].reshape(2, 3)
        assert (people == people[:, :1]).all()
        for who, group in zip(people[:, 0], rows.reshape(2, 3)):
            has = CODES.tolist().count(who)
            assert has < 3 or len(set(group.tolist())) == 3
    turns = Counter(int(CODES[row]) for step in range(10) for row in one.rows(step)[::3])
    assert turns == {0: 5, 1: 5, 2: 5, 3: 5}, "20 turns among 4 people"


def test_clusters_take_turns_and_lone_pictures_stay_out() -> None:
    one = Clustered(np.array([0, 0, 0, 1, 1, 2, 2, 2]), people=2, pictures=2, seed=0)
    one.divide(np.array([0, 0, 1, 1, 1, 0, 0, 1]), clusters=2)
    for step in range(12):
        rows = set(one.rows(step).tolist())
        assert one.cluster(step) == step % 2
        assert rows <= ({0, 1, 5, 6} if step % 2 == 0 else {3, 4}), "2 and 7 are alone in theirs"
    one.divide(np.array([0] * 8), clusters=2)
    assert len(one.rows(1)) == 4, "an empty cluster borrows"


def test_nothing_to_draw_from() -> None:
    with pytest.raises(InputError, match="nothing to train on"):
        sampler(Batch(), np.full(4, -1), seed=0)


def test_shares_are_the_batch() -> None:
    rows = np.arange(12)
    assert np.concatenate([rows[share(rows, rank, 3)] for rank in range(3)]).tolist() == rows.tolist()
    with pytest.raises(InputError, match="cannot be divided"):
        share(rows, 0, 5)
