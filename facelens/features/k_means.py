"""k-means: vectors in groups, each vector in the group whose mean is nearest.

Computes    Lloyd's algorithm from greedy k-means++ seeds (each the best of 2 + ln k vectors that are drawn by their
            squared distance to the seeds before), until no label changes or the means hardly move
Shapes      vectors (N, D) float32 or float64; labels (N,) int32, 0 to k - 1
Reference   Arthur and Vassilvitskii, k-means++: the advantages of careful seeding, SODA 2007
Departs     as scikit-learn has it, but in pieces, so that it can be stopped at any time, and added up in one order, so
            that the same seed gives the same groups
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from facelens.progress import Tick, silent

Vectors = NDArray[np.floating[Any]]

BLOCK = 1 << 22  # products looked at at once
ROWS = 1 << 16  # vectors added up at once: sums of more lose digits
STILL = 1e-4  # of the variance: means that move less have arrived


def k_means(
    vectors: Vectors, k: int, *, seed: int = 0, iterations: int = 300, tick: Tick = silent
) -> NDArray[np.int32]:
    """The group of each vector. Groups are empty only where fewer than k vectors differ, or iterations run out."""
    squares = np.einsum("nd,nd->n", vectors, vectors)
    centres = _seeds(vectors, squares, k, seed=seed, tick=tick)
    enough = STILL * float(vectors.var(axis=0, dtype=np.float64).mean())
    labels, moved = np.full(len(vectors), -1, np.int32), np.inf
    for turn in range(iterations):
        before = labels
        labels, far, means, counts = _assigned(vectors, squares, centres, tick=_turn(tick, turn))
        if moved <= enough or np.array_equal(labels, before):
            break
        empty = np.flatnonzero(counts == 0)
        means[empty] = vectors[
            np.argsort(-far, kind="stable")[: len(empty)]
        ]  # what is farthest gets a group of its own
        moved, centres = float(((means - centres) ** 2).sum()), means
    tick(1, 1)
    return labels


def _assigned(
    vectors: Vectors, squares: Vectors, centres: Vectors, *, tick: Tick
) -> tuple[NDArray[np.int32], NDArray[np.float64], Vectors, NDArray[np.int64]]:
    """Labels (N,), squared distances (N,), and the means (k, D) and sizes (k,) of the groups."""
    from scipy.sparse import csr_array

    n, k = len(vectors), len(centres)
    labels, far, sums = np.empty(n, np.int32), np.empty(n), np.zeros(centres.shape)
    half = np.einsum("kd,kd->k", centres, centres) / 2
    step = min(ROWS, max(1, BLOCK // k))
    for start in range(0, n, step):
        tick(start, n)
        some = slice(start, start + step)
        near = vectors[some] @ centres.T
        near -= half
        labels[some] = near.argmax(axis=1)
        far[some] = squares[some] - 2 * np.take_along_axis(near, labels[some, None], axis=1)[:, 0]
        rows = np.arange(len(near))
        sums += (
            csr_array((np.ones(len(near), vectors.dtype), (labels[some], rows)), shape=(k, len(near))) @ vectors[some]
        )
    counts = np.bincount(labels, minlength=k)
    return labels, far, (sums / np.maximum(counts, 1)[:, None]).astype(vectors.dtype), counts


def _turn(tick: Tick, turn: int) -> Tick:
    """The tick of one turn; nobody knows how many there will be, so each takes a fifth of what is left."""
    left = 0.75 * 0.8**turn

    def inner(done: int, total: int, note: str = "") -> None:
        tick(int(1e6 * (1 - left * (1 - 0.2 * done / max(total, 1)))), 1_000_000, note)

    return inner


def _seeds(vectors: Vectors, squares: Vectors, k: int, *, seed: int, tick: Tick) -> Vectors:
    """(k, D) vectors to start from."""
    generator = np.random.default_rng(seed)
    trials = 2 + int(np.log(k))

    def distances(rows: NDArray[np.int64]) -> Vectors:
        return np.maximum(squares[:, None] + squares[rows] - 2 * (vectors @ vectors[rows].T), 0)

    chosen = [int(generator.integers(len(vectors)))]
    nearest = distances(np.array(chosen))[:, 0]
    while len(chosen) < k:
        tick(len(chosen), 4 * k)
        running = np.cumsum(nearest, dtype=np.float64)
        some = np.searchsorted(running, generator.random(trials) * running[-1])
        some = np.minimum(some, len(vectors) - 1)
        left = np.minimum(distances(some), nearest[:, None])
        best = int(left.sum(axis=0).argmin())
        nearest = left[:, best]
        chosen.append(int(some[best]))
    return vectors[chosen]
