"""Reranking: the second stage of a search, by how the patches of two faces match.

Computes    distance = alpha EMD + (1 - alpha) (1 - cosine), Eq. 9; with the plain sum EMD + (1 - cosine); the first k
            of the first stage are put in the order of it, the others stay behind them as they were
            nearest of all: EMD >= 0, and >= sum_i u_i f_i + sum_j v_j g_j with f_i = min_j D_ij, g_j = min_i D_ij - f_i
Shapes      query one PatchSet, gallery k; cosine (k,), emd (k,); flow and distances (P, G), rows query
Reference   Phan, Nguyen, "DeepFace-EMD: Re-ranking Using Patch-wise Earth Mover's Distance Improves Out-Of-Distribution
            Face Identification", CVPR 2022
Departs     distances where the authors have similarities; the order is the same where masses add up to 1
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from facelens.analyses import transport
from facelens.analyses.measure import Measure
from facelens.analyses.patch_sets import Grid, PatchSets
from facelens.analyses.plan import MatchPlan
from facelens.images.faceset import Ids
from facelens.progress import Tick, silent
from facelens.words import tr

Array = NDArray[np.float64]

TOGETHER = 1024  # faces of the gallery after which one can be stopped
ROUNDING = 1e-6  # by which a bound may lie too high
FEW = 2  # faces that are solved first where one is looked for, then twice as many and so on


@dataclass(frozen=True, eq=False)
class Reranked:
    """A query, its shortlist in the order of the first stage, and what the patches say of each."""

    query: int  # id, -1 for a painted face
    ids: Ids  # (k,) by descending cosine
    cosine: Array  # (k,)
    emd: Array  # (k,)
    error: Array  # (k,) of the sums of each plan, see transport.Plan.marginal_error
    solver: str
    grid: Grid  # of the query
    seconds: float  # spent on the second stage


@dataclass(frozen=True, eq=False)
class Explained:
    """Why two faces match as they do."""

    query: int
    gallery: int
    grid: Grid  # of the query
    gallery_grid: Grid
    u: Array  # (P,) weights of the query's patches
    v: Array  # (G,)
    distance: Array  # (P, G)
    flow: Array  # (P, G) how much goes from each patch of the query to each of the gallery face
    emd: float
    cosine: float
    error: float
    gap: float  # how far `emd` may lie above the least
    solver: str
    rounds: int = 0

    @property
    def costs(self) -> Array:
        """(P, G) what each stream adds to the distance."""
        return self.flow * self.distance


@dataclass(frozen=True, eq=False)
class SweepRow:
    """One way to weigh patches, over all queries."""

    weights: str
    alphas: tuple[float, ...]  # (A,)
    measures: dict[str, tuple[Measure, ...]]  # "P@1", "RP", "MAP@R" -> A
    ranks: NDArray[np.int32]  # (A, Q) rank of the first right face, 0: nobody to find


@dataclass(frozen=True, eq=False)
class Sweep:
    """What the second stage does to many queries."""

    queries: Ids  # (Q,)
    before: dict[str, Measure]  # by cosine alone
    ranks: NDArray[np.int32]  # (Q,) by cosine alone
    rows: tuple[SweepRow, ...]
    occlusion: str  # what was done to the queries, "" nothing
    gallery: int
    shortlist: int
    solver: str
    how: str  # one sentence: who is searched for, among whom, whether the clear picture of a query is there
    complete: bool = False
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Nearest:
    """The nearest face of all, and how few had to be looked at."""

    id: int
    cosine: float
    emd: float
    distance: float  # of Eq. 9
    solved: int = 0
    compared: int = 0  # those whose patches were looked at


def blended(cosine: NDArray[np.floating], emd: NDArray[np.floating], *, alpha: float) -> Array:
    """Distances of Eq. 9; below 0 the plain sum.

    >>> blended(np.array([0.5]), np.array([0.2]), alpha=0.7)
    array([0.29])
    """
    whole, patches = 1 - np.asarray(cosine, np.float64), np.asarray(emd, np.float64)
    return np.asarray(whole + patches if alpha < 0 else alpha * patches + (1 - alpha) * whole)


def order(found: Reranked, *, alpha: float) -> NDArray[np.int64]:
    """(k,) places of the shortlist, the nearest first; of equals the one that was ahead stays so."""
    return np.argsort(blended(found.cosine, found.emd, alpha=alpha), kind="stable")


def rerank(
    query: PatchSets, gallery: PatchSets, cosine: NDArray[np.floating], plan: MatchPlan, *, tick: Tick = silent
) -> Reranked:
    """What the patches of one face say of its shortlist, which comes by descending cosine."""
    start = time.perf_counter()
    emd, error = distances(query, gallery, plan, tick=tick)
    spent = time.perf_counter() - start
    whole = np.asarray(cosine, np.float64)
    return Reranked(int(query.ids[0]), gallery.ids, whole, emd, error, plan.solver, query.grid, spent)


def explain(query: PatchSets, gallery: PatchSets, plan: MatchPlan, *, cosine: float) -> Explained:
    """Why one face and another match as they do; the plan in full, in double precision."""
    found = transport.tables(query, gallery, kinds=(plan.weights,))
    u, v = (side[0] for side in transport.masses(found, kind=plan.weights))
    distance = 1 - query.patches[0].astype(np.float64) @ gallery.patches[0].astype(np.float64).T
    moved = transport.pair(distance, u, v, solver=plan.solver, epsilon=plan.epsilon)
    return Explained(
        query=int(query.ids[0]),
        gallery=int(gallery.ids[0]),
        grid=query.grid,
        gallery_grid=gallery.grid,
        u=u,
        v=v,
        distance=distance,
        flow=moved.flow,
        emd=moved.cost,
        cosine=float(cosine),
        error=moved.marginal_error,
        gap=moved.gap,
        solver=moved.solver,
        rounds=moved.rounds,
    )


def nearest(
    query: PatchSets, pieces: Iterable[tuple[PatchSets, NDArray[np.floating]]], plan: MatchPlan
) -> Nearest | None:
    """The nearest face of all, as if the patches of all had been moved; None of none.

    For those who ask for no order: regions averaged over many faces (`matching.ledgers`). `pieces` come by descending
    cosine, and are asked for only as long as a nearer face is possible. Of those, faces whose cost cannot be low enough
    are not solved; of smoothed costs nothing is known beforehand, so all of them are.
    """
    best: Nearest | None = None
    compared = solved = 0
    for gallery, cosine in pieces:
        whole = np.asarray(cosine, np.float64)
        free = blended(whole, np.full(len(whole), -ROUNDING), alpha=plan.alpha)
        if best is not None and (free > best.distance).all():
            break
        bounds, solve = _lazily(query, gallery, plan)
        hope = blended(whole, bounds - ROUNDING, alpha=plan.alpha)
        left, few = np.argsort(hope, kind="stable"), FEW if plan.solver == "exact" else len(whole)
        compared += len(left)
        while len(left):
            some, left, few = left[:few], left[few:], 2 * few
            emd = solve(some)
            solved += len(some)
            for distance, place, cost in sorted(zip(blended(whole[some], emd, alpha=plan.alpha), some, emd)):
                if best is None or distance < best.distance:
                    best = Nearest(int(gallery.ids[place]), float(whole[place]), float(cost), float(distance))
            assert best is not None
            left = left[hope[left] <= best.distance]
    return None if best is None else replace(best, solved=solved, compared=compared)


def _lazily(
    query: PatchSets, gallery: PatchSets, plan: MatchPlan
) -> tuple[Array, Callable[[NDArray[np.int64]], Array]]:
    """(k,) what the costs cannot be below, and what gives those of some faces."""
    if plan.solver != "exact":
        return np.zeros(len(gallery)), lambda some: distances(query, gallery.take(some), plan)[0]
    found = transport.tables(query, gallery, kinds=(plan.weights,))
    u, v = transport.masses(found, kind=plan.weights)
    return transport.bounds(found, u, v), lambda some: transport.solve(found.take(some), u[some], v[some]).cost


def distances(query: PatchSets, gallery: PatchSets, plan: MatchPlan, *, tick: Tick = silent) -> tuple[Array, Array]:
    """Costs and errors (k,) of one face with k others, or of k faces each with its own."""
    k = len(gallery)
    emd, error = np.zeros(k), np.zeros(k)
    for first in range(0, k, TOGETHER):
        tick(first, k, tr("Matching patches"))
        some = slice(first, first + TOGETHER)
        asking = query if len(query) == 1 else query.take(some)
        part = gallery.take(some)
        found = transport.costs(asking, part, kinds=(plan.weights,), solver=plan.solver, epsilon=plan.epsilon)
        emd[some], error[some] = found[plan.weights].cost, found[plan.weights].error
    return emd, error
