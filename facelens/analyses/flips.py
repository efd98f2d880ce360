"""Flips: searches and pairs that were right with the old model and are wrong with the new one, and the reverse.

Computes    old/old and new/old, each at its own threshold t of the same FAR over all impostor pairs
            search of a face among all others: right where its best mate scores >= t and >= the best stranger
            pair of two faces of one person, the query's and the gallery's, in both orders: right where its score >= t
Shapes      old, query, gallery (N, D) of the same N faces; identity (N,) codes
Departs     impostor pairs are not looked at: at the same FAR as many are accepted of both, by construction
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from facelens.analyses import scores, similarity, verification
from facelens.analyses.search import flat_pairs, pairs_of
from facelens.images.faceset import Ids
from facelens.progress import Tick, part_of, silent
from facelens.words import tr

Floats = NDArray[np.float32]
Places = NDArray[np.int64]
LOST, SAME, GAINED = -1, 0, 1
UNSEARCHED = 2  # a face that does not search: it has no mate, no vector of both models, or was fitted on
GENUINE = 1 << 19  # genuine pairs looked at at once
ROUNDING = 1e-6  # a product that is worked out in another order may differ by so much


@dataclass(frozen=True, eq=False)
class Searched:
    """Every face that has a mate, searched among all others: old/old, and new queries in the old gallery."""

    ids: Ids  # (Q,)
    old_match: Ids  # (Q,) the nearest face
    new_match: Ids
    old_right: NDArray[np.bool_]  # (Q,) the nearest face is of the same person, and its score passes the threshold
    new_right: NDArray[np.bool_]
    old_mate: Ids  # (Q,) the nearest face of the same person
    new_mate: Ids
    old_score: Floats  # (Q,) of that mate
    new_score: Floats
    old_margin: Floats  # (Q,) score of the mate - the larger of threshold and best stranger: right where >= 0
    new_margin: Floats

    @property
    def change(self) -> NDArray[np.int8]:
        """(Q,) LOST, SAME or GAINED."""
        return self.new_right.astype(np.int8) - self.old_right.astype(np.int8)


@dataclass(frozen=True, eq=False)
class Pairs:
    """Genuine pairs whose decision changed, at the same FAR of both."""

    first: Ids  # (P,) whose vector is the query's
    second: Ids  # (P,) of the gallery
    old: Floats  # (P,) scores
    new: Floats
    change: NDArray[np.int8]  # (P,) LOST or GAINED; the largest change of margin first
    genuine: int  # of all genuine pairs


@dataclass(frozen=True, eq=False)
class Flips:
    """What changed for faces and for pairs."""

    searches: Searched
    pairs: Pairs
    old_threshold: float
    new_threshold: float
    far: float

    @property
    def lost(self) -> NDArray[np.int64]:
        """Places in `searches` that were right and are wrong now, the largest loss of margin first."""
        return self._changed(LOST)

    @property
    def gained(self) -> NDArray[np.int64]:
        """Places in `searches` that were wrong and are right now, the largest gain of margin first."""
        return self._changed(GAINED)

    def _changed(self, way: int) -> NDArray[np.int64]:
        found = np.flatnonzero(self.searches.change == way)
        moved = way * (self.searches.new_margin[found] - self.searches.old_margin[found])
        return found[np.argsort(-moved, kind="stable")]


def flips(
    old: scores.Floats,
    query: scores.Floats,
    gallery: scores.Floats,
    *,
    ids: Ids,
    identity: NDArray[np.int32],
    far: float = 1e-3,
    thresholds: tuple[float | None, float | None] | None = None,
    tick: Tick = silent,
) -> Flips:
    """What changes where `query` is searched in `gallery` (new/old, whichever is mapped) instead of `old` in itself.

    All are unit vectors of the same faces, of known people. `thresholds` of both tests at this FAR where they are known
    already; None in them accepts nothing.
    """
    if thresholds is None:
        sides = ((old, None), (query, gallery))
        found = [_threshold(*each, ids, identity, far, tick=part_of(tick, i, 5)) for i, each in enumerate(sides)]
        thresholds, begun = (found[0], found[1]), 2
    else:
        begun = 0
    limits = [np.inf if one is None else one - ROUNDING for one in thresholds]
    ticks = [part_of(tick, begun + turn, begun + 3) for turn in range(3)]
    before = _Best.of(old, old, identity, tick=ticks[0])
    after = _Best.of(query, gallery, identity, tick=ticks[1])
    changed: list[Pairs] = []
    for first, second in _genuine(identity, tick=ticks[2]):
        was = similarity.products_of(old, old, first, second)
        now = similarity.products_of(query, gallery, first, second)
        before.see(first, second, was)
        after.see(first, second, now)
        change = (now >= limits[1]).astype(np.int8) - (was >= limits[0])
        some = np.flatnonzero(change)
        old_score, new_score = (one[some].astype(np.float32) for one in (was, now))
        changed.append(Pairs(ids[first[some]], ids[second[some]], old_score, new_score, change[some], len(first)))
    searches = _searched(ids, before, after, limits)
    return Flips(searches, _largest(changed, limits), limits[0], limits[1], far)


def _threshold(
    query: scores.Floats,
    against: scores.Floats | None,
    ids: Ids,
    identity: NDArray[np.int32],
    far: float,
    *,
    tick: Tick,
) -> float | None:
    made = similarity.all_pairs(query, ids=ids, identity=identity, against=against, fars=(far,), tick=tick)
    if verification.undefined(made):
        return None
    at = verification.place(made.steps, far)
    return float(made.steps.threshold[at]) if at >= 0 else None


@dataclass(frozen=True, eq=False)
class _Best:
    """For every face its best mate and the best stranger, of one test: places, -1 for none, and scores, -inf."""

    mate: Places
    mate_score: scores.Floats
    other: Places
    other_score: scores.Floats

    @classmethod
    def of(cls, query: scores.Floats, gallery: scores.Floats, identity: NDArray[np.int32], *, tick: Tick) -> _Best:
        """The strangers of all; mates are found by `see`."""
        against = None if gallery is query else gallery
        other, _ = similarity.nearest_others(query, identity=identity, against=against, tick=tick)
        rows = np.flatnonzero(other >= 0)
        kind = np.result_type(query, gallery)
        score: scores.Floats = np.full(len(query), -np.inf, kind)
        # As mates are scored, so that two pictures that are the same have the same score.
        score[rows] = similarity.products_of(query, gallery, rows, other[rows])
        return cls(np.full(len(query), -1, np.int64), np.full(len(query), -np.inf, kind), other, score)

    def see(self, first: Places, second: Places, score: scores.Floats) -> None:
        """Some genuine pairs, by query; all those of a query together."""
        if not len(first):
            return
        begins = np.flatnonzero(np.r_[True, first[1:] != first[:-1]])
        best = np.maximum.reduceat(score, begins)
        hits = np.flatnonzero(score == np.repeat(best, np.diff(np.r_[begins, len(first)])))
        asking, leading = np.unique(first[hits], return_index=True)
        self.mate[asking] = second[hits[leading]]
        self.mate_score[asking] = best


def _genuine(identity: NDArray[np.int32], *, tick: Tick) -> Iterator[tuple[Places, Places]]:
    """All ordered pairs of two faces of one person, by query, some of them at a time."""
    order, start, stop = pairs_of(identity, identity)
    ends = np.cumsum(stop - start)
    here, N = 0, len(identity)
    while here < N:
        tick(here, N, tr("Comparing pairs of one person"))
        done = ends[here - 1] if here else 0
        there = max(here + 1, int(np.searchsorted(ends, done + GENUINE, side="right")))
        row, second = flat_pairs(order, start[here:there], stop[here:there])
        first = row + here
        apart = first != second
        yield first[apart], second[apart]
        here = there
    tick(N, N)


def _searched(ids: Ids, before: _Best, after: _Best, limits: list[float]) -> Searched:
    rows = np.flatnonzero(before.mate >= 0)
    told = []
    for best, limit in zip((before, after), limits):
        mate, stranger = best.mate_score[rows], best.other_score[rows]
        margin = (mate - np.maximum(stranger, limit)).astype(np.float32)
        match = np.where(mate >= stranger, best.mate[rows], best.other[rows])
        told.append((ids[match], margin >= 0, ids[best.mate[rows]], mate.astype(np.float32), margin))
    return Searched(ids[rows], *(one for pair in zip(*told) for one in pair))


def _largest(parts: list[Pairs], limits: list[float]) -> Pairs:
    """All in one, the largest change of margin first."""
    names = ("first", "second", "old", "new", "change")
    joined = {name: np.concatenate([getattr(one, name) for one in parts]) for name in names}
    # Where nothing is accepted, all margins are infinite: scores are compared as they are.
    shift = limits[1] - limits[0] if np.isfinite(limits).all() else 0.0
    order = np.argsort(-np.abs(joined["new"] - joined["old"] - shift), kind="stable")
    return Pairs(**{name: one[order] for name, one in joined.items()}, genuine=sum(one.genuine for one in parts))
