"""Scores: what 1:1 comparisons gave, genuine and impostor, with everything needed to find the pictures behind them.

Shapes      ids (N,) int64 what is compared (faces, or templates); identity (N,) int32 codes, -1 = not known
            score (P,) float descending; first, second (P,) int32 rows of `ids`; genuine (P,) bool
            bulk: edges (T + 1,) ascending, counts (T,) of the impostor pairs that are not kept one by one

All genuine pairs are kept. Impostor pairs are kept from the highest score down to `floor`; where there are too many,
those below it are only counted, in `bulk`. So every pair above `floor` can be shown, and every rate is exact there.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from facelens.images.faceset import Ids

Floats = NDArray[np.float32] | NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Bulk:
    """Impostor pairs that are only counted: bin i holds scores in [edges[i], edges[i + 1])."""

    edges: NDArray[np.float64]
    counts: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Steps:
    """What each threshold accepts, exactly, by descending threshold; between two of them nothing changes."""

    threshold: NDArray[np.float64]
    kept: NDArray[np.int64]  # pairs that are kept one by one
    impostor: NDArray[np.int64]
    genuine: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Scores:
    """Pairs by descending score; ties in any order. Higher is more alike."""

    ids: Ids
    identity: NDArray[np.int32]
    score: Floats
    first: NDArray[np.int32]
    second: NDArray[np.int32]
    genuine: NDArray[np.bool_]
    fold: NDArray[np.int32] | None = None  # of a published list of pairs
    floor: float = -np.inf
    bulk: Bulk | None = None
    of: str = "face"  # or "template"
    invalid: Ids = field(default_factory=lambda: np.zeros(0, np.int64))  # left out: NaN, Inf, zero norm, no vector
    missing: int = 0  # listed pairs that could not be compared because a side is invalid
    queries: int = 0  # > 0: two sets were compared, and so many of the rows (the first ones) are those that search

    def __post_init__(self) -> None:
        if len(self.score) and np.isnan(self.score[[0, -1]]).any():
            raise ValueError("scores must not be NaN")
        if self.bulk is not None and not np.isfinite(self.floor):
            raise ValueError("pairs that are only counted need a floor above them")

    def __getstate__(self) -> dict[str, object]:
        # What has been derived stays behind: it is several times as large, and quickly made again.
        return {one.name: getattr(self, one.name) for one in fields(self)}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        _ = self.steps  # in the thread that reads it: for millions of pairs it would hold up the page that draws them

    @cached_property
    def n_genuine(self) -> int:
        """Genuine pairs."""
        return int(np.count_nonzero(self.genuine))

    @cached_property
    def n_impostor(self) -> int:
        """Impostor pairs, the counted ones among them."""
        counted = int(self.bulk.counts.sum()) if self.bulk is not None else 0
        return len(self.score) - self.n_genuine + counted

    @cached_property
    def genuine_scores(self) -> NDArray[np.float64]:
        """(n,) descending."""
        return np.asarray(self.score[self.genuine], np.float64)

    @cached_property
    def impostor_scores(self) -> NDArray[np.float64]:
        """(n,) descending; those that are kept."""
        return np.asarray(self.score[~self.genuine], np.float64)

    @cached_property
    def _ascending(self) -> Floats:
        ascending: Floats = self.score[::-1].copy()
        return ascending

    @cached_property
    def genuine_above(self) -> NDArray[np.int64]:
        """(P + 1,) how many of the first p pairs are genuine."""
        return np.concatenate([[0], np.cumsum(self.genuine, dtype=np.int64)])

    def above(self, thresholds: float | NDArray[np.float64]) -> NDArray[np.int64]:
        """How many kept pairs have a score >= each threshold."""
        t = np.asarray(thresholds, np.float64)
        if self.score.dtype == np.float32:
            # The smallest float32 that is not below t: the same pairs, without a float64 copy of all scores.
            with np.errstate(over="ignore"):
                rounded = t.astype(np.float32)
                t = np.where(rounded < t, np.nextafter(rounded, np.float32(np.inf)), rounded).astype(np.float32)
        return np.asarray(len(self.score) - np.searchsorted(self._ascending, t, side="left"), np.int64)

    @cached_property
    def steps(self) -> Steps:
        """What every threshold that makes a difference accepts."""
        if self.bulk is None:
            kept, thresholds = self._distinct(len(self.score))
            counted = np.zeros(len(kept), np.int64)
        else:
            # Down to the floor each score is a step. Below it the impostors are known at the edges of bins, so the
            # edges are the steps; below the last of them only genuine scores are left.
            edges = np.asarray(self.bulk.edges, np.float64)
            below = np.concatenate([np.cumsum(self.bulk.counts[::-1])[::-1], [0]]).astype(np.int64)
            exact = min(self.floor, float(edges[-1]))
            upper, t_upper = self._distinct(int(self.above(exact)))
            used = np.flatnonzero(edges < exact)[::-1]
            at_edges = self.above(edges[used])
            start = len(upper) and int(upper[-1])
            changes = (np.diff(at_edges, prepend=start) != 0) | (np.diff(below[used], prepend=0) != 0)
            used, at_edges = used[changes], at_edges[changes]
            lowest = int(at_edges[-1]) if len(used) else int(upper[-1]) if len(upper) else 0
            rest, t_rest = self._distinct(len(self.score), start=lowest)
            kept = np.concatenate([upper, at_edges, rest])
            thresholds = np.concatenate([t_upper, edges[used], t_rest])
            counted = np.concatenate(
                [np.zeros(len(upper), np.int64), below[used], np.full(len(rest), below[0], np.int64)]
            )
        genuine = self.genuine_above[kept]
        return Steps(thresholds, kept, kept - genuine + counted, genuine)

    def _distinct(self, stop: int, *, start: int = 0) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Of the pairs start..stop: for each distinct score how many pairs lie at or above it, and the score."""
        part = self.score[start:stop]
        if not len(part):
            return np.zeros(0, np.int64), np.zeros(0)
        last = np.append(np.flatnonzero(part[1:] != part[:-1]), len(part) - 1)
        return last.astype(np.int64) + start + 1, part[last].astype(np.float64)

    def between(self, low: float, high: float, *, genuine: bool | None = None) -> NDArray[np.int64]:
        """Places of the kept pairs with low <= score < high, highest first; of one kind where `genuine` says so."""
        places = np.arange(int(self.above(high)), int(self.above(low)), dtype=np.int64)
        return places if genuine is None else places[self.genuine[places] == genuine]


def from_arrays(
    genuine: Floats,
    impostor: Floats,
    *,
    fold_genuine: NDArray[np.int32] | None = None,
    fold_impostor: NDArray[np.int32] | None = None,
) -> Scores:
    """Bare scores of two kinds, where nothing is known about who was compared; each pair is its own two faces."""
    score = np.concatenate([np.asarray(genuine, np.float64), np.asarray(impostor, np.float64)])
    order = np.argsort(-score, kind="stable")
    n = len(score)
    fold = None
    if fold_genuine is not None and fold_impostor is not None:
        fold = np.concatenate([fold_genuine, fold_impostor]).astype(np.int32)[order]
    return Scores(
        ids=np.arange(2 * n, dtype=np.int64),
        identity=np.full(2 * n, -1, np.int32),
        score=score[order],
        first=(2 * order).astype(np.int32),
        second=(2 * order + 1).astype(np.int32),
        genuine=(np.arange(n) < len(genuine))[order],
        fold=fold,
    )


def restrict(scores: Scores, keep: NDArray[np.bool_]) -> Scores:
    """Only the pairs both sides of which are kept; `keep` (N,) by row of `ids`. Impostors that are only counted go."""
    chosen = keep[scores.first] & keep[scores.second]
    return choose(scores, np.flatnonzero(chosen))


def choose(scores: Scores, places: NDArray[np.int64]) -> Scores:
    """Only the pairs at `places` (ascending), with the same rows of `ids`. Impostors that are only counted go."""
    return replace(
        scores,
        score=scores.score[places],
        first=scores.first[places],
        second=scores.second[places],
        genuine=scores.genuine[places],
        fold=None if scores.fold is None else scores.fold[places],
        floor=-np.inf,
        bulk=None,
    )
