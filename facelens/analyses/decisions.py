"""Decisions: whether two faces are one person, by their patches and as a whole.

Computes    two faces are one person where distance = alpha EMD + (1 - alpha) (1 - cosine), Eq. 9, is below t;
            from pairs of strangers t is the (floor(FAR n) + 1)-th least distance: no more than FAR of them are below
            listed pairs: verification of the score 1 - distance; of the plain sum 1 - distance / 2
Shapes      cosine (n,), emd (n,) of pairs
Reference   Phan, Nguyen, "DeepFace-EMD", CVPR 2022 (S4)
Departs     none
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from facelens.analyses import verification
from facelens.analyses.measure import Measure
from facelens.analyses.patch_sets import PatchSets
from facelens.analyses.plan import RESAMPLES, MatchPlan
from facelens.analyses.reranking import Array, blended, distances, rerank
from facelens.analyses.scores import Scores
from facelens.analyses.verification import Verification, support
from facelens.images.faceset import Ids
from facelens.progress import Tick, part_of, silent
from facelens.words import tr

STRANGERS = 5000  # pairs from which a threshold is read off: enough for one in a thousand


@dataclass(frozen=True, eq=False)
class Strangers:
    """Pairs of different people, from which one learns how near strangers come."""

    cosine: Array  # (n,)
    emd: Array  # (n,)


@dataclass(frozen=True, eq=False)
class Listed:
    """Pairs that a test lists."""

    first: Ids  # (n,)
    second: Ids  # (n,)
    genuine: NDArray[np.bool_]  # (n,)
    people: NDArray[np.int32] | None = None  # (n, 2) codes, -1 = not known
    fold: NDArray[np.int32] | None = None  # (n,)

    def scores(self, score: Array) -> Scores:
        """The pairs by descending score."""
        ids, places = np.unique(np.stack([self.first, self.second], 1), return_inverse=True)
        rows = places.reshape(-1, 2).astype(np.int32)
        identity = np.full(len(ids), -1, np.int32)
        if self.people is not None:
            identity[rows] = self.people
        by = np.argsort(-score, kind="stable")
        fold = None if self.fold is None else self.fold[by]
        return Scores(ids, identity, score[by], rows[by, 0], rows[by, 1], self.genuine[by], fold)


@dataclass(frozen=True, eq=False)
class Verified:
    """What 1:1 comparisons say for each share of the patches; scores are 1 - distance."""

    alphas: tuple[float, ...]
    found: tuple[Verification, ...]
    weights: str
    solver: str


def strangers(
    sets: PatchSets, identity: NDArray[np.integer], plan: MatchPlan, *, most: int = STRANGERS, tick: Tick = silent
) -> Strangers:
    """Compare faces of different people, each with each; of many faces so many that there are about `most` pairs."""
    few = min(len(sets), int(np.ceil((1 + np.sqrt(1 + 8 * most)) / 2)))
    rows = np.linspace(0, len(sets) - 1, few).astype(np.int64)
    cosine, emd = [np.zeros(0)], [np.zeros(0)]
    for place, one in enumerate(rows):
        tick(place, few, tr("Comparing strangers"))
        others = rows[place + 1 :][identity[rows[place + 1 :]] != identity[one]]
        whole = sets.embedding[others] @ sets.embedding[one]
        found = rerank(sets.take(rows[place : place + 1]), sets.take(others), whole, plan)
        cosine.append(found.cosine)
        emd.append(found.emd)
    return Strangers(np.concatenate(cosine), np.concatenate(emd))


def threshold(found: Strangers, *, alpha: float, far: float) -> Measure:
    """Two faces are taken for one person where their distance of Eq. 9 is below this.

    Of the strangers no more than a share `far` are. It is not supported where too few were compared to say so: the
    rule of three, with pairs that share faces counted as if they did not.
    """
    n = len(found.cosine)
    if not n:
        return Measure.none(tr("no two people were compared"))
    ordered = np.sort(blended(found.cosine, found.emd, alpha=alpha))
    value = float(ordered[min(int(far * n + 1e-9), n - 1)])
    status, why = support(far, n)
    return Measure(value, n=n, why=why, supported=status == "ok")


def compare(
    pieces: Iterable[tuple[PatchSets, PatchSets]], plan: MatchPlan, *, total: int = 0, tick: Tick = silent
) -> tuple[Array, Array]:
    """Cosines and distances by patches (n,) of listed pairs, which come in pieces: each face with its own other."""
    cosine, emd = [np.zeros(0)], [np.zeros(0)]
    done = 0
    for first, second in pieces:
        tick(done, max(total, done), tr("Matching patches"))
        cosine.append(np.einsum("nd,nd->n", first.embedding, second.embedding, dtype=np.float64))
        emd.append(distances(first, second, plan)[0])
        done += len(first)
    return np.concatenate(cosine), np.concatenate(emd)


def verify(
    pairs: Listed,
    cosine: Array,
    emd: Array,
    plan: MatchPlan,
    *,
    alphas: tuple[float, ...],
    resamples: int = RESAMPLES,
    seed: int = 0,
    tick: Tick = silent,
) -> Verified:
    """How well the distance of Eq. 9 tells whether listed pairs are of one person, for each of `alphas`."""
    found = []
    for done, alpha in enumerate(alphas):
        scores = pairs.scores(similarity(cosine, emd, alpha=alpha))
        inner = part_of(tick, done, len(alphas))
        found.append(verification.verify(scores, fars=(plan.far,), resamples=resamples, seed=seed, tick=inner))
    return Verified(tuple(alphas), tuple(found), plan.weights, plan.solver)


def similarity(cosine: Array, emd: Array, *, alpha: float) -> Array:
    """1 - the distance of Eq. 9, in the range of a cosine; of the plain sum its mean, which has the same order."""
    return 1 - blended(cosine, emd, alpha=0.5 if alpha < 0 else alpha)
