"""k-means against scikit-learn and against its own definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from facelens.errors import Cancelled
from facelens.features import k_means as module
from facelens.features.k_means import k_means
from facelens.progress import silent


def blobs(k: int, each: int, *, kind: Any = np.float32, length: float = 10.0) -> tuple[NDArray[Any], NDArray[np.int64]]:
    dice = np.random.default_rng(0)
    label = np.repeat(np.arange(k), each)
    return (length * np.eye(k, 8)[label] + dice.normal(size=(len(label), 8))).astype(kind), label


def spread(vectors: NDArray[Any], labels: NDArray[np.int32]) -> float:
    groups = [vectors[labels == one].astype(np.float64) for one in np.unique(labels)]
    return float(sum(((group - group.mean(0)) ** 2).sum() for group in groups))


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_blobs_are_found(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    vectors, label = blobs(5, 30, kind=kind)
    found = k_means(vectors, 5, seed=3)
    assert found.dtype == np.int32 and len(set(zip(found.tolist(), label.tolist()))) == 5
    monkeypatch.setattr(module, "BLOCK", 35)  # seven vectors at once
    np.testing.assert_array_equal(k_means(vectors, 5, seed=3), found)


def test_groups_are_those_of_scikit_learn() -> None:
    """From the same seeds the same groups; and seeds as good as its own."""
    from sklearn.cluster import KMeans, kmeans_plusplus
    from threadpoolctl import threadpool_limits

    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(1000, 4)) * [1, 2, 3, 4] + 5
    squares = (vectors**2).sum(1)
    centres = module._seeds(vectors, squares, 12, seed=3, tick=silent)
    with threadpool_limits(1):  # threads that wait for each other are slow on a busy machine
        whole = KMeans(12, init=centres, n_init=1).fit(vectors)
    assert whole.n_iter_ > 10
    np.testing.assert_array_equal(k_means(vectors, 12, seed=3), whole.labels_)

    def left(seeds: NDArray[Any]) -> float:
        return float(((vectors[:, None] - seeds) ** 2).sum(2).min(1).sum())

    wanted = [left(kmeans_plusplus(vectors, 40, random_state=seed)[0]) for seed in range(6)]
    made = [left(module._seeds(vectors, squares, 40, seed=seed, tick=silent)) for seed in range(6)]
    drawn = [left(vectors[rng.choice(1000, 40, replace=False)]) for _ in range(6)]
    assert np.mean(made) < 1.05 * np.mean(wanted) < 0.95 * np.mean(drawn)


def test_every_turn_improves_and_at_the_end_each_is_in_the_nearest_group() -> None:
    rough = np.random.default_rng(0).normal(size=(2000, 6))
    after = [spread(rough, k_means(rough, 5, iterations=n)) for n in (1, 3, 10, 25)]
    assert after == sorted(after, reverse=True) and len(set(after)) == 4
    labels = k_means(rough, 5)
    means = np.array([rough[labels == one].mean(0) for one in range(5)])
    nearest = ((rough[:, None] - means) ** 2).sum(2).argmin(1)
    assert (nearest == labels).mean() > 0.99


def test_no_group_stays_empty_where_vectors_differ() -> None:
    line = np.arange(40.0)[:, None] ** 3
    assert set(k_means(line, 40).tolist()) == set(range(40))
    twins = np.repeat(np.eye(3), 4, axis=0)
    found = k_means(twins, 6)
    assert len({tuple(found[i : i + 4].tolist()) for i in (0, 4, 8)}) == 3  # those that differ are apart


def test_it_tells_how_far_it_is_and_stops_at_any_time() -> None:
    vectors, _ = blobs(8, 20, length=2.0)
    told: list[float] = []
    k_means(vectors, 30, tick=lambda done, total, note="": told.append(done / total))
    assert told == sorted(told) and told[-1] == 1 and len(told) > 30
    for last in (0, 20, len(told) - 1):
        left = iter(range(last))

        def stop(done: int, total: int, note: str = "", left: Any = left) -> None:
            if next(left, None) is None:
                raise Cancelled

        with pytest.raises(Cancelled):
            k_means(vectors, 30, tick=stop)
