"""Cross errors: the pairs and searches behind one cell of a matrix of cross-tests.

Computes    1:1  pairs of one person below the threshold of the FAR, and pairs of two people at or above it
            1:N  searches of enrolled people that are not answered with them at the threshold of the FPIR, and searches
                 of others that are answered with somebody; as the face that stood in the way, else the mate
            margin: how far a score is from being right, < 0; of a search that is not first, its mate - the first
Shapes      (n,) for each error, those of one person first, each kind the worst first
Departs     of each kind the worst `LISTED` are given, all are counted
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from facelens.analyses import crossing, identification, verification
from facelens.analyses.plan import UpgradePlan
from facelens.analyses.scores import Scores
from facelens.analyses.spaces import Spaces, compared, spaces
from facelens.features.featureset import FeatureSet
from facelens.images.faceset import FaceSet, Ids
from facelens.progress import Tick, part_of, silent

LISTED = 1_000  # errors of a kind


@dataclass(frozen=True, eq=False)
class CrossErrors:
    """What one test gets wrong."""

    query: str
    gallery: str
    direction: str  # of DIRECTIONS, or SELF
    task: str  # of TASKS
    threshold: float | None  # None: nothing is accepted
    first: Ids  # (n,) whose vector is the query's
    second: Ids  # (n,)
    score: NDArray[np.float64]  # (n,)
    margin: NDArray[np.float64]  # (n,) NaN where nothing is accepted
    genuine: NDArray[np.bool_]  # (n,) of one person: missed; else accepted
    missed: int  # all of them
    accepted: int


def cross_errors(
    faces: FaceSet,
    plan: UpgradePlan,
    test: tuple[str, str, str],
    *,
    features: Mapping[str, FeatureSet],
    fitting: Ids | None = None,
    excluded: Ids | None = None,
    folder: Path | None = None,
    tick: Tick = silent,
) -> CrossErrors:
    """The errors of a test (query, gallery, direction) of the plan's task; see `spaces` for the rest."""
    found = spaces(
        faces, plan, features=features, fitting=fitting, excluded=excluded, folder=folder, tick=part_of(tick, 0, 2)
    )
    return of_test(found, plan, *test, tick=part_of(tick, 1, 2))


def of_test(
    found: Spaces, plan: UpgradePlan, query: str, gallery: str, direction: str, *, tick: Tick = silent
) -> CrossErrors:
    """The errors of one test."""
    sides = found.sides(query, gallery, direction)
    if plan.task == "1:1":
        scores = compared(*sides, found.ids, found.identity, far=plan.far, tick=tick)
        parts = _of_pairs(scores, plan.far)
    else:
        searched = crossing.searched(found, plan, *sides, tick=tick)
        parts = _of_searches(searched)
    return CrossErrors(query, gallery, direction, plan.task, *parts)


def _of_pairs(scores: Scores, far: float) -> tuple:  # type: ignore[type-arg]
    at = -1 if verification.undefined(scores) else verification.place(scores.steps, far)
    threshold = float(scores.steps.threshold[at]) if at >= 0 else None
    limit = np.inf if threshold is None else threshold
    missed = scores.between(-np.inf, limit, genuine=True)[::-1]
    taken = scores.between(limit, np.inf, genuine=False) if threshold is not None else missed[:0]
    accepted = int(scores.steps.impostor[at]) if at >= 0 else 0
    places = np.concatenate([missed[:LISTED], taken[:LISTED]])
    genuine = scores.genuine[places]
    score = np.asarray(scores.score[places], np.float64)
    margin = np.where(genuine, 1, -1) * (score - limit) if threshold is not None else np.full(len(score), np.nan)
    first, second = (scores.ids[side[places]] for side in (scores.first, scores.second))
    return threshold, first, second, score, margin, genuine, len(missed), accepted


def _of_searches(found: identification.Identification) -> tuple:  # type: ignore[type-arg]
    searches, point = found.searches, found.open[0]
    missed = identification.misses(searches, point.thresholds or point.threshold)
    taken = identification.false_alarms(searches, point.thresholds or point.threshold)
    limit = np.array([np.inf if t is None else t for t in point.thresholds or (point.threshold,)])
    rows = np.concatenate([missed[:LISTED], taken[:LISTED]])
    own = limit[np.maximum(searches.gallery[rows] - 1, 0)] if len(limit) > 1 else np.full(len(rows), limit[0])
    genuine, behind = searches.mated[rows], searches.rank[rows] != 1
    mate, other = searches.mate_score[rows], searches.other_score[rows]
    stranger = ~genuine | (behind & (searches.other[rows] >= 0))
    with np.errstate(invalid="ignore"):
        margin = np.where(genuine, mate - np.maximum(np.where(stranger, other, -np.inf), own), own - other)
    return (
        point.threshold,
        searches.query[rows],
        np.where(stranger, searches.other[rows], searches.mate[rows]),
        np.where(stranger, other, mate),
        np.where(np.isfinite(margin), margin, np.nan),
        genuine,
        len(missed),
        len(taken),
    )
