"""Clusters for learners: found, matched with the ones before, kept full, and scheduled."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from numpy.typing import NDArray

from facelens.errors import Cancelled, InputError
from facelens.features.clusters import (
    MERGED,
    SLICES,
    WHOLE,
    Division,
    Partition,
    assignment,
    divide,
    filled,
    iou,
    preset,
    regroup,
    relabelled,
    stability,
    usable,
)


def blobs(k: int = 4, each: int = 30, *, seed: int = 0) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
    dice = np.random.default_rng(seed)
    label = np.repeat(np.arange(k, dtype=np.int32), each)
    centre = 10 * np.eye(k, 8)
    return (centre[label] + dice.normal(size=(len(label), 8))).astype(np.float32), label


@pytest.mark.parametrize("match", ["iou", "l1"])
@pytest.mark.parametrize(
    "cycle", [[1, 2, 0, 3, 4, 5], [1, 2, 3, 0, 4, 5], [1, 2, 3, 4, 5, 0], [2, 0, 1, 5, 3, 4], [1, 0, 2, 3, 4, 5]]
)
def test_a_change_of_names_is_undone(match: str, cycle: list[int]) -> None:  # T3
    previous = np.random.default_rng(0).integers(0, 6, 500).astype(np.int32)
    new = np.array(cycle, np.int32)[previous]
    assert (relabelled(new, previous, learners=6, match=match) == previous).mean() == 1.0


def test_every_permutation_is_undone_with_some_pictures_moved() -> None:  # T3
    dice = np.random.default_rng(1)
    previous = dice.integers(0, 4, 400).astype(np.int32)
    moved = previous.copy()
    moved[:40] = dice.integers(0, 4, 40)
    for names in permutations(range(4)):
        found = relabelled(np.array(names, np.int32)[moved], previous, learners=4)
        assert np.array_equal(found, moved)


def test_the_direction_is_current_to_previous() -> None:
    previous = np.repeat(np.arange(3, dtype=np.int32), [5, 6, 7])
    new = np.array([1, 2, 0], np.int32)[previous]  # what was 0 is now called 1
    assert assignment(new, previous, learners=3).tolist() == [2, 0, 1]  # what is called 0 was 2


def test_identical_partitions_have_the_identity() -> None:  # T4
    label = np.random.default_rng(0).integers(0, 5, 300).astype(np.int32)
    assert np.array_equal(iou(label, label, learners=5), np.eye(5))
    assert assignment(label, label, learners=5).tolist() == [0, 1, 2, 3, 4]


def test_iou_against_sets() -> None:
    dice = np.random.default_rng(3)
    new, previous = (dice.integers(-1, 4, 60).astype(np.int32) for _ in range(2))
    found = iou(new, previous, learners=5)  # nobody is in cluster 4
    for i in range(5):
        for j in range(5):
            a, b = set(np.flatnonzero(new == i)), set(np.flatnonzero(previous == j))
            assert found[i, j] == (len(a & b) / len(a | b) if a | b else 0.0)


@pytest.mark.parametrize("match", ["iou", "l1"])
def test_the_assignment_is_the_best_of_all(match: str) -> None:
    dice = np.random.default_rng(5)
    for _ in range(20):
        new, previous = (dice.integers(0, 4, 30).astype(np.int32) for _ in range(2))
        members = lambda label: [set(np.flatnonzero(label == i)) for i in range(4)]  # noqa: E731
        a, b = members(new), members(previous)

        def worth(names: tuple[int, ...], a: list[set[int]] = a, b: list[set[int]] = b) -> float:
            if match == "iou":
                return sum(len(a[i] & b[j]) / len(a[i] | b[j]) for i, j in enumerate(names))
            return -sum(len(a[i] ^ b[j]) for i, j in enumerate(names))

        found = assignment(new, previous, learners=4, match=match)
        assert worth(tuple(found)) == pytest.approx(max(worth(names) for names in permutations(range(4))))


def test_iou_and_symmetric_difference_can_disagree() -> None:
    """A small cluster that stayed whole outweighs some pictures of a large one."""
    dice = np.random.default_rng(0)
    differ = 0
    for _ in range(100):
        new, previous = (np.minimum(dice.geometric(0.4, 25) - 1, 3).astype(np.int32) for _ in range(2))
        found = [tuple(assignment(new, previous, learners=4, match=match)) for match in ("iou", "l1")]
        differ += found[0] != found[1]
    assert differ > 5


def test_unknown_choices_are_refused() -> None:
    label = np.zeros(3, np.int32)
    with pytest.raises(ValueError, match="cosine"):
        assignment(label, label, learners=1, match="cosine")
    for wrong in ({"match": "cosine"}, {"source": "pixels"}, {"every": 0}, {"merge_from": 300}, {"whole_from": 195}):
        with pytest.raises(ValueError):
            Division(**wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="book"):
        preset("book")


def test_what_cannot_be_divided_is_refused() -> None:
    with pytest.raises(InputError, match="3 pictures cannot be divided among 4"):
        divide(np.zeros((3, 2), np.float32), 4)
    with pytest.raises(InputError, match="hold no numbers"):
        divide(np.full((9, 2), np.nan, np.float32), 4)


def test_dividing_repeats_itself_and_can_be_stopped() -> None:
    rough = np.random.default_rng(0).normal(size=(500, 16)).astype(np.float32)
    assert np.array_equal(divide(rough, 8, seed=1), divide(rough, 8, seed=1)) and not divide(rough, 1).any()
    assert not np.array_equal(divide(rough, 8, seed=1), divide(rough, 8, seed=2))

    def stop(done: int, total: int, note: str = "") -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        divide(rough, 4, tick=stop)


def test_no_cluster_is_empty() -> None:
    twins = np.ones((10, 3), np.float32)
    found = divide(twins, 4)
    assert set(found.tolist()) == {0, 1, 2, 3}
    vectors = np.concatenate([np.zeros((20, 2)), np.full((20, 2), 9.0), np.ones((2, 2))]).astype(np.float32)
    label = np.array([0] * 40 + [2, 2], np.int32)
    mended = filled(label, vectors, 3)
    assert np.bincount(mended).tolist() == [20, 20, 2]
    assert len(set(mended[:20].tolist())) == len(set(mended[20:40].tolist())) == 1  # cut where it is wide
    assert np.array_equal(label, [0] * 40 + [2, 2])  # the caller's array is left alone


def test_lone_pictures_of_a_person_are_left_out_for_now() -> None:
    clusters = np.array([0, 0, 0, 1, 1, 2], np.int32)
    people = np.array([7, 7, 8, 8, 9, 9])
    assert usable(clusters, people).tolist() == [True, True, False, False, False, False]
    part = Partition(clusters, usable(clusters, people), 4)
    assert part.sizes.tolist() == [3, 2, 1, 0]
    assert part.members(0).tolist() == [0, 1] and part.members(1).tolist() == []


def test_left_out_pictures_still_count_when_clusters_are_matched() -> None:
    vectors, label = blobs()
    people = np.arange(len(label))  # everybody alone: nothing is usable
    first = regroup(vectors, people, division=preset("paper", learners=4))
    assert not first.usable.any() and first.stability is None and first.kept is None
    again = regroup(vectors, people, division=preset("paper", learners=4, seed=11), previous=first)
    assert np.array_equal(again.learner, first.learner)
    assert again.stability == pytest.approx(1.0) and again.kept == 1.0


@pytest.mark.parametrize("name", ["paper", "repo"])
def test_regrouping_follows_clusters_as_they_drift(name: str) -> None:
    vectors, label = blobs(each=40)
    people = np.arange(len(label)) // 4
    before = regroup(vectors, people, division=preset(name, learners=4))
    assert before.usable.all()
    moved = vectors.copy()
    moved[:8] = vectors[40:48]  # eight pictures of the first blob went over to the second
    for seed in range(5):
        after = regroup(moved, people, division=preset(name, learners=4, seed=seed), previous=before)
        assert after.kept == pytest.approx(152 / 160)
        assert 0.7 < (after.stability or 0.0) < 1.0


def test_the_layer_before_the_embedding_is_brought_to_length_one() -> None:
    vectors, label = blobs()
    vectors = vectors * np.geomspace(0.001, 1000, len(vectors))[::-1, None].astype(np.float32)
    people = np.arange(len(label)) // 2
    repo = regroup(vectors, people, division=preset("repo", learners=4))
    assert stability(repo.learner, label) == pytest.approx(1.0)
    paper = regroup(vectors, people, division=preset("paper", learners=4))
    assert stability(paper.learner, label) < 0.9  # the embedding is taken as it is


def test_stability_has_no_names() -> None:
    label = np.random.default_rng(0).integers(0, 4, 2000).astype(np.int32)
    assert stability((label + 1) % 4, label) == pytest.approx(1.0)
    assert stability(np.random.default_rng(1).permutation(label), label) < 0.02


def test_phases_of_the_paper_and_of_the_code() -> None:
    paper, repo = preset("paper"), preset("repo")
    assert {paper.phase(epoch).name for epoch in range(190)} == {"slices"}
    assert paper.phase(189) == SLICES and paper.phase(190) == MERGED
    assert (
        repo.phase(79) == SLICES and repo.phase(80) == WHOLE and repo.phase(189) == WHOLE and repo.phase(190) == MERGED
    )
    assert (WHOLE.clusters, WHOLE.slices) == (True, False) and not MERGED.clusters and not MERGED.slices
    assert (paper.source, paper.match, paper.sampler) == ("embedding", "iou", "distance-weighted")
    assert (repo.source, repo.match, repo.sampler) == ("penultimate", "l1", "closest")
    assert [epoch for epoch in range(8) if paper.regroups(epoch)] == [0, 2, 4, 6]
    assert repo.regroups(100) and not repo.regroups(190) and not repo.regroups(101)
    assert preset("repo", merge_from=19, epochs=20).whole_from == 8
    assert preset("repo", whole_from=None).whole_from is None
