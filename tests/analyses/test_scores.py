"""Scores: which pairs lie where."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from facelens.analyses.scores import Bulk, Scores, choose, from_arrays, restrict


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_above_counts_pairs_at_or_above_a_threshold(dtype: type) -> None:
    values = np.round(np.random.default_rng(0).normal(size=500), 1).astype(dtype)
    scores = from_arrays(values[:100], values[100:])
    score = scores.score.astype(dtype)
    scores = choose(
        Scores(scores.ids, scores.identity, score, scores.first, scores.second, scores.genuine), np.arange(500)
    )
    # 0.1 in float64 lies below 0.1 in float32 and above -0.1 in it; all must be compared as they are.
    for t in [0.1, -0.1, 0.3, float(np.float32(0.1)), np.nextafter(0.1, 1), np.inf, -np.inf, 1e300, -1e300]:
        assert scores.above(t) == np.sum(score.astype(np.float64) >= t), t
    thresholds = np.linspace(-3, 3, 61)
    assert np.array_equal(scores.above(thresholds), [np.sum(score.astype(np.float64) >= t) for t in thresholds])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_between_lists_a_half_open_range(dtype: type) -> None:
    scores = from_arrays(np.array([0.9, 0.5, 0.5, 0.1]), np.array([0.5, 0.4, 0.1]))
    scores = Scores(
        scores.ids, scores.identity, scores.score.astype(dtype), scores.first, scores.second, scores.genuine
    )
    half, ninety = float(scores.score[1]), float(scores.score[0])
    assert len(scores.between(half, ninety)) == 3
    assert len(scores.between(half, 2.0, genuine=True)) == 3
    assert len(scores.between(0.0, half, genuine=False)) == 2
    assert len(scores.between(0.95, 2.0)) == 0
    places = scores.between(0, 1)
    assert (np.diff(scores.score[places]) <= 0).all() and len(places) == 7


def test_steps_are_the_distinct_scores() -> None:
    steps = from_arrays(np.array([0.9, 0.5, 0.5]), np.array([0.5, 0.2, 0.2])).steps
    assert steps.threshold.tolist() == [0.9, 0.5, 0.2]
    assert steps.genuine.tolist() == [1, 3, 3] and steps.impostor.tolist() == [0, 1, 3]
    assert steps.kept.tolist() == [1, 4, 6]
    assert len(from_arrays(np.zeros(0), np.zeros(0)).steps.threshold) == 0


def test_counted_pairs_are_steps_at_the_edges_of_their_bins() -> None:
    kept = from_arrays(np.array([0.9, 0.33, 0.05, -0.7]), np.array([0.8, 0.6]))
    scores = Scores(kept.ids, kept.identity, kept.score, kept.first, kept.second, kept.genuine, floor=0.5,
                    bulk=Bulk(np.array([-0.5, 0.0, 0.25, 0.4, 0.5]), np.array([7, 3, 0, 2])))  # fmt: skip
    assert scores.n_impostor == 14 and scores.n_genuine == 4
    steps = scores.steps
    assert steps.threshold.tolist() == [0.9, 0.8, 0.6, 0.4, 0.25, 0.0, -0.5, -0.7]
    assert steps.impostor.tolist() == [0, 1, 2, 4, 4, 7, 14, 14]
    assert steps.genuine.tolist() == [1, 1, 1, 1, 2, 3, 3, 4]


def test_an_edge_between_empty_bins_is_a_step_where_a_genuine_score_lies() -> None:
    kept = from_arrays(np.array([0.9, 0.33]), np.array([0.8]))
    bulk = Bulk(np.array([0.0, 0.1, 0.2, 0.33, 0.4, 0.5]), np.array([4, 0, 0, 0, 2]))
    scores = Scores(kept.ids, kept.identity, kept.score, kept.first, kept.second, kept.genuine, floor=0.5, bulk=bulk)
    assert scores.steps.threshold.tolist() == [0.9, 0.8, 0.4, 0.33, 0.0]
    assert scores.steps.impostor.tolist() == [0, 1, 3, 3, 7] and scores.steps.genuine.tolist() == [1, 1, 1, 2, 2]


def test_only_counted_pairs_have_steps_too() -> None:
    none = from_arrays(np.zeros(0), np.zeros(0))
    scores = Scores(none.ids, none.identity, none.score, none.first, none.second, none.genuine, floor=0.5,
                    bulk=Bulk(np.array([0.0, 0.25, 0.5]), np.array([1, 2])))  # fmt: skip
    assert scores.steps.threshold.tolist() == [0.25, 0.0] and scores.steps.impostor.tolist() == [2, 3]


def test_a_count_without_a_floor_is_refused() -> None:
    none = from_arrays(np.zeros(0), np.zeros(0))
    with pytest.raises(ValueError, match="floor"):
        Scores(none.ids, none.identity, none.score, none.first, none.second, none.genuine,
               bulk=Bulk(np.array([0.0, 1]), np.array([1])))  # fmt: skip


def test_restricting_keeps_pairs_with_both_sides() -> None:
    score = np.array([0.9, 0.5, 0.1])
    first, second = np.array([0, 0, 1], np.int32), np.array([1, 2, 2], np.int32)
    genuine, fold = np.array([True, False, False]), np.array([1, 2, 3], np.int32)
    scores = Scores(np.array([7, 8, 9]), np.array([0, 0, 1], np.int32), score, first, second, genuine, fold=fold)
    part = restrict(scores, np.array([True, False, True]))
    assert part.score.tolist() == [0.5] and part.fold.tolist() == [2]
    assert (part.ids[part.first[0]], part.ids[part.second[0]]) == (7, 9)


def test_folds_follow_their_pairs() -> None:
    scores = from_arrays(np.array([0.1, 0.9]), np.array([0.5]), fold_genuine=np.array([1, 2], np.int32),
                         fold_impostor=np.array([3], np.int32))  # fmt: skip
    assert scores.fold.tolist() == [2, 3, 1] and scores.genuine.tolist() == [True, False, True]


def test_what_travels_is_only_what_was_given() -> None:
    scores = from_arrays(np.array([0.9, 0.5]), np.linspace(0, 0.4, 1000))
    before = len(pickle.dumps(scores))
    assert scores.steps is not None and len(scores.impostor_scores) == 1000 and scores.n_genuine == 2
    again = pickle.loads(pickle.dumps(scores))
    assert len(pickle.dumps(scores)) == before
    assert "steps" in vars(again), "made where it is read, not when a page first asks"
    assert again.n_genuine == 2 and np.array_equal(again.steps.impostor, scores.steps.impostor)
