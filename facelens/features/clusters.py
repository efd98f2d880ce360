"""The training data divided among learners: clusters of the embedding, found again as it changes.

Computes    k-means of all vectors into K clusters, every T epochs; then each new cluster i goes to the learner j whose
            last cluster it is most like: the assignment with the largest sum of IoU_ij = |N_i and P_j| / |N_i or P_j|
Shapes      vectors (N, D) float32; learner (N,) int32, 0 to K - 1; IoU (K, K), rows new, columns previous
Reference   Sanakoyeu, Tschernezki, Buechler, Ommer, "Divide and Conquer the Embedding Space for Metric Learning",
            CVPR 2019
Departs     an empty cluster takes half of the largest one. The preset "repo" follows the authors' code where it differs
            from the paper (clusters of the layer before the embedding, least symmetric difference instead of IoU, a
            phase that trains the whole embedding on clusters, the closest negatives), but not where that code names a
            cluster by the inverse of the assignment
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from facelens.errors import InputError
from facelens.features.k_means import k_means
from facelens.progress import Tick, silent
from facelens.words import tr

MATCHES = ("iou", "l1")
SOURCES = ("embedding", "penultimate")


@dataclass(frozen=True)
class Phase:
    """What an epoch does: batches from single clusters or from everything, one slice at a time or the embedding."""

    name: str
    clusters: bool
    slices: bool


SLICES = Phase("slices", clusters=True, slices=True)
WHOLE = Phase("whole", clusters=True, slices=False)
MERGED = Phase("merged", clusters=False, slices=False)


@dataclass(frozen=True)
class Division:
    """How and when the data are divided. `preset("paper")` and `preset("repo")` are the two in print."""

    learners: int = 8
    every: int = 2  # epochs between one clustering and the next
    epochs: int = 200
    merge_from: int = 190  # the epoch that drops the clusters
    whole_from: int | None = None  # the epoch from which a cluster trains the whole embedding
    source: str = "embedding"
    match: str = "iou"
    sampler: str = "distance-weighted"
    iterations: int = 100
    seed: int = 0

    def __post_init__(self) -> None:
        if self.match not in MATCHES or self.source not in SOURCES:
            raise ValueError(f"match is one of {MATCHES}, source one of {SOURCES}")
        if self.learners < 1 or self.every < 1 or not 0 <= self.merge_from <= self.epochs:
            raise ValueError("learners and every are at least 1, merge_from lies within the epochs")
        if self.whole_from is not None and not 0 <= self.whole_from <= self.merge_from:
            raise ValueError("whole_from lies before merge_from")

    def phase(self, epoch: int) -> Phase:
        """What epoch `epoch` does, counted from 0."""
        if epoch >= self.merge_from:
            return MERGED
        return WHOLE if self.whole_from is not None and epoch >= self.whole_from else SLICES

    def regroups(self, epoch: int) -> bool:
        """Whether the clusters are found again before this epoch."""
        return self.phase(epoch).clusters and epoch % self.every == 0


def preset(name: str, **changes: Any) -> Division:
    """A division in print, with changes. "repo" trains the whole embedding from 8/19 of merge_from on.

    >>> preset("repo").whole_from, preset("repo").match
    (80, 'l1')
    """
    if name == "paper":
        return Division(**changes)
    if name != "repo":
        raise ValueError(f"preset is paper or repo, not {name!r}")
    plain = Division(**{"source": "penultimate", "match": "l1", "sampler": "closest", **changes})
    return plain if "whole_from" in changes else replace(plain, whole_from=plain.merge_from * 8 // 19)


@dataclass(frozen=True, eq=False)
class Partition:
    """Who learns from what.

    learner     (N,) int32, every picture's, also of those left out
    usable      (N,) bool, False for a picture that is the only one of its person in its cluster: it has no positive
    stability   NMI with the partition before, None for the first
    kept        share of pictures that stayed with their learner, None for the first
    """

    learner: NDArray[np.int32]
    usable: NDArray[np.bool_]
    learners: int
    stability: float | None = None
    kept: float | None = None

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """How many pictures each learner has, with those it cannot use."""
        return np.bincount(self.learner, minlength=self.learners).astype(np.int64)

    def members(self, learner: int) -> NDArray[np.int64]:
        """Rows a learner's batches are drawn from."""
        return np.flatnonzero(self.usable & (self.learner == learner))


def regroup(
    vectors: NDArray[np.floating[Any]],
    classes: NDArray[np.integer[Any]],
    *,
    division: Division,
    previous: Partition | None = None,
    tick: Tick = silent,
) -> Partition:
    """The data divided anew, each cluster with the learner that knows it best.

    `vectors` are of the layer that `division.source` names; those before the embedding are brought to length 1.
    """
    if division.source == "penultimate":
        vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    found = divide(vectors, division.learners, seed=division.seed, iterations=division.iterations, tick=tick)
    if previous is None:
        return Partition(found, usable(found, classes), division.learners)
    matched = relabelled(found, previous.learner, learners=division.learners, match=division.match)
    kept = float(np.mean(matched == previous.learner))
    return Partition(matched, usable(matched, classes), division.learners, stability(found, previous.learner), kept)


def divide(
    vectors: NDArray[np.floating[Any]], k: int, *, seed: int = 0, iterations: int = 100, tick: Tick = silent
) -> NDArray[np.int32]:
    """Clusters 0 to k - 1, none of them empty, the same for the same seed."""
    vectors = np.ascontiguousarray(vectors, np.float32)
    if len(vectors) < k:
        raise InputError(
            tr("{n} pictures cannot be divided among {k} learners.", n=len(vectors), k=k),
            hint=tr("Use fewer learners or more pictures."),
        )
    if not np.isfinite(vectors).all():
        raise InputError(
            tr("Some vectors hold no numbers, so they cannot be divided."), hint=tr("Try a lower learning rate.")
        )
    if k == 1:
        return np.zeros(len(vectors), np.int32)
    return filled(k_means(vectors, k, seed=seed, iterations=iterations, tick=tick), vectors, k, seed=seed)


def filled(
    labels: NDArray[np.int32], vectors: NDArray[np.floating[Any]], k: int, *, seed: int = 0
) -> NDArray[np.int32]:
    """Each empty cluster gets half of the largest: the half that lies farther along its widest direction."""
    labels = labels.copy()
    dice = np.random.default_rng(seed)
    for empty in np.flatnonzero(np.bincount(labels, minlength=k) == 0):
        rows = np.flatnonzero(labels == np.bincount(labels, minlength=k).argmax())
        own = vectors[rows].astype(np.float64)
        own -= own.mean(0)
        direction = own[np.square(own).sum(1).argmax()]  # towards the farthest picture
        # Twins have no direction: they are dealt out.
        order = np.lexsort((dice.permutation(len(rows)), own @ direction))
        labels[rows[order[len(rows) - len(rows) // 2 :]]] = empty
    return labels


def overlap(new: NDArray[np.int32], previous: NDArray[np.int32], *, learners: int) -> NDArray[np.int64]:
    """How many pictures new cluster i shares with previous cluster j: (K, K). Labels below 0 belong to none."""
    both = (new >= 0) & (previous >= 0)
    cell = new[both].astype(np.int64) * learners + previous[both]
    return np.bincount(cell, minlength=learners * learners).reshape(learners, learners).astype(np.int64)


def iou(new: NDArray[np.int32], previous: NDArray[np.int32], *, learners: int) -> NDArray[np.float64]:
    """Intersection over union of every new cluster with every previous one: (K, K); two empty ones: 0."""
    shared = overlap(new, previous, learners=learners)
    union = _sizes(new, learners)[:, None] + _sizes(previous, learners)[None] - shared
    return np.asarray(shared / np.maximum(union, 1), np.float64)


def assignment(
    new: NDArray[np.int32], previous: NDArray[np.int32], *, learners: int, match: str = "iou"
) -> NDArray[np.int32]:
    """[i] the previous cluster, and so the learner, that new cluster i goes to.

    "iou" has the largest sum of IoU, "l1" the smallest sum of symmetric differences, which is the largest overlap.
    """
    from scipy.optimize import linear_sum_assignment

    if match == "iou":
        gain = iou(new, previous, learners=learners)
    elif match == "l1":
        shared = overlap(new, previous, learners=learners)
        gain = (2 * shared - _sizes(new, learners)[:, None] - _sizes(previous, learners)[None]).astype(np.float64)
    else:
        raise ValueError(f"match is one of {MATCHES}, not {match!r}")
    rows, columns = linear_sum_assignment(gain, maximize=True)
    found = np.empty(learners, np.int32)
    found[rows] = columns
    return found


def relabelled(
    new: NDArray[np.int32], previous: NDArray[np.int32], *, learners: int, match: str = "iou"
) -> NDArray[np.int32]:
    """The new clusters under the names of the previous ones they go to."""
    names = assignment(new, previous, learners=learners, match=match)
    return np.where(new >= 0, names[new], new).astype(np.int32)


def stability(new: NDArray[np.int32], previous: NDArray[np.int32]) -> float:
    """NMI of two partitions: 1 where they are the same but for the names, 0 where they know nothing of each other."""
    from sklearn.metrics import normalized_mutual_info_score

    return float(normalized_mutual_info_score(previous, new))


def usable(clusters: NDArray[np.int32], classes: NDArray[np.integer[Any]]) -> NDArray[np.bool_]:
    """Whether another picture of the same person lies in the same cluster: (N,) bool."""
    _, person = np.unique(classes, return_inverse=True)
    cell = person.astype(np.int64) * (int(clusters.max(initial=0)) + 1) + clusters
    _, where, count = np.unique(cell, return_inverse=True, return_counts=True)
    return np.asarray(count[where] > 1, np.bool_)


def _sizes(labels: NDArray[np.int32], learners: int) -> NDArray[np.int64]:
    return np.bincount(labels[labels >= 0], minlength=learners).astype(np.int64)
