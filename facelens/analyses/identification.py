"""Identification: whether a search in the gallery finds the right person, and whether strangers are turned away.

Computes    mate score = best over the person's gallery entries; rank = 1 + number of other people's entries with
            score >= mate score; CMC(r) = share of mated probes with rank <= r
            FPIR(t) = share of non-mated probes whose best score >= t
            TPIR(t) = share of mated probes with mate score >= t, and rank 1 where asked for
Shapes      query (Q, D), gallery (G, D); labels (Q,), (G,) int, -1 = not known; results by probe
Rules       "nist": t is one of the non-mated scores, the smallest with FPIR(t) <= x; "roc": the smallest observed score
            of any kind; "mixbct": non-mated score number int(N x) - 1 from the top, accept above it; "pfe": number
            round(N x), accept at it
Reference   Grother, Ngan and Hanaoka, NIST IR 8271; the public code of MixBCT (ijbc_eval) and of PFE (DIR_FAR)
Departs     none; with two galleries each has its own threshold, and rates are the mean of both
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from facelens.analyses import bootstrap, similarity
from facelens.analyses.measure import Measure, rate
from facelens.analyses.plan import FPIRS, OPEN_RULES, RESAMPLES
from facelens.analyses.scores import Floats
from facelens.analyses.search import Side, cosines, flat_pairs, pairs_of
from facelens.images.faceset import Ids, Rows
from facelens.progress import Tick, part_of, silent
from facelens.words import tr

RANKS = (1, 5, 10, 20)
CMC = 100  # ranks that are drawn
POINTS = 200  # of the open-set curve
_TOGETHER = 1 << 20  # searches x draws that are weighed at once

Threshold = float | None | Sequence[float | None]


@dataclass(frozen=True, eq=False)
class Searches:
    """One line for each probe. Scores of gallery entries; ids of faces or templates."""

    query: Ids  # (Q,)
    identity: NDArray[np.int32]  # (Q,)
    gallery: NDArray[np.int8]  # (Q,) which gallery was searched: 0, or 1 and 2
    mated: NDArray[np.bool_]  # (Q,) the person is in the gallery
    rank: NDArray[np.int64]  # (Q,) of the mate, ties against it; 0 for non-mated probes
    mate: Ids  # (Q,) the best entry of the same person, -1
    mate_score: NDArray[np.float64]  # (Q,) -inf where there is none
    other: Ids  # (Q,) the best entry of anybody else, -1
    other_score: NDArray[np.float64]  # (Q,) -inf where there is none

    @property
    def margin(self) -> NDArray[np.float64]:
        """(Q,) how far the mate is ahead of anybody else; -inf without a mate, inf with nobody else."""
        with np.errstate(invalid="ignore"):
            found: NDArray[np.float64] = self.mate_score - self.other_score
        return np.where(np.isnan(found), -np.inf, found)


@dataclass(frozen=True)
class OpenPoint:
    """Where a target FPIR leads."""

    target: float
    rule: str  # of OPEN_RULES
    rank1: Measure  # TPIR, the mate must be first
    anyrank: Measure  # TPIR, the mate's score alone decides
    threshold: float | None  # with two galleries the mean of both; None: nothing is accepted
    fpir: float  # the real one
    false_alarms: int
    thresholds: tuple[float | None, ...] = ()  # one for each gallery: what `misses` and `false_alarms` take
    attainable: bool = True  # False: fewer than one false alarm in all searches of strangers would be allowed


@dataclass(frozen=True, eq=False)
class OpenCurve:
    """TPIR (rank 1) against FPIR by descending threshold, with its band, NaN where there is no interval."""

    threshold: NDArray[np.float64]  # with two galleries the mean of both
    fpir: NDArray[np.float64]
    tpir: NDArray[np.float64]
    tpir_low: NDArray[np.float64]
    tpir_high: NDArray[np.float64]
    thresholds: NDArray[np.float64] = field(default_factory=lambda: np.zeros((0, 0)))  # (galleries, T)


@dataclass(frozen=True, eq=False)
class Identification:
    """All that 1:N searches say; with two galleries rates are the mean of both, and `searches` holds both."""

    n_mated: int
    n_unmated: int
    n_gallery: int  # entries
    n_enrolled: int  # people
    n_invalid: int
    galleries: int
    cmc: NDArray[np.float64]  # (R,) share of mated probes with rank <= 1 .. R
    cmc_low: NDArray[np.float64]  # (R,) NaN where there is no interval
    cmc_high: NDArray[np.float64]
    ranks: tuple[tuple[int, Measure], ...]
    open: tuple[OpenPoint, ...]
    open_curve: OpenCurve | None
    searches: Searches
    how: str  # how gallery and probes were chosen, one sentence
    resamples: int = 0
    notes: tuple[str, ...] = field(default=())
    n_unlabelled: int = 0  # left out: nobody knows who it is
    smallest_fpir: float | None = None  # 3 / N searches of strangers: below it a rate has no support (rule of 3)


@dataclass(frozen=True)
class Paired:
    """Searches of model B minus those of model A: the same probes, each draw of identities used for both."""

    ranks: tuple[tuple[int, Measure], ...]
    open: tuple[tuple[float, Measure], ...]  # target FPIR -> difference of TPIR (rank 1)
    n_mated: int
    n_unmated: int
    notes: tuple[str, ...] = field(default=())


@dataclass(frozen=True, eq=False)
class Split:
    """Which pictures are enrolled and which search; rows of what was split."""

    gallery: Rows  # (G,) enrolled
    part: NDArray[np.int8]  # (G,) 1 or 2: which gallery
    probe: Rows  # (Q,) searched in both
    how: str


def split(identity: NDArray[np.int32], *, order: Rows | None = None, seed: int = 0) -> Split:
    """Two galleries and their probes, where no published list says who is enrolled.

    `order` (N,) gives the rows in the order in which the first picture of a person is the first; without it, as they
    stand. Rows without identity are left out.
    """
    identity = np.asarray(identity)
    order = np.arange(len(identity)) if order is None else np.asarray(order, np.int64)
    order = order[identity[order] >= 0]
    people, first, count = np.unique(identity[order], return_index=True, return_counts=True)
    several = np.flatnonzero(count >= 2)
    shuffled = np.random.default_rng(seed).permutation(several)
    part_of = np.zeros(len(people), np.int8)
    part_of[shuffled[: (len(shuffled) + 1) // 2]] = 1
    part_of[shuffled[(len(shuffled) + 1) // 2 :]] = 2
    gallery = order[first[several]]
    part = part_of[several]
    by_part = np.argsort(part, kind="stable")
    probe = np.setdiff1d(order, gallery)
    how = tr(
        "People with two pictures or more are divided into two galleries ({a} and {b} people) that hold their first "
        "picture; every other picture is searched in both, so it is known in one and a stranger in the other.",
        a=int(np.count_nonzero(part == 1)),
        b=int(np.count_nonzero(part == 2)),
    )
    if not len(several):
        how = tr("Nobody has two pictures, so nobody can be enrolled and searched.")
    return Split(gallery[by_part], part[by_part], probe, how)


def identify(
    query: Floats,
    gallery: Floats,
    *,
    query_ids: Ids,
    gallery_ids: Ids,
    query_identity: NDArray[np.int32],
    gallery_identity: NDArray[np.int32],
    part: NDArray[np.int8] | None = None,
    fpirs: Sequence[float] = FPIRS,
    rule: str = "nist",
    ranks: Sequence[int] = RANKS,
    how: str = "",
    resamples: int = RESAMPLES,
    seed: int = 0,
    tick: Tick = silent,
) -> Identification:
    """Search every query in the gallery, or in both where `part` (G,) says 1 or 2 for each entry."""
    if rule not in OPEN_RULES:
        raise ValueError(f"rule must be one of {OPEN_RULES}, not {rule!r}")
    asking = Side.of(similarity.unit(query, tick=tick), query_ids, query_identity)
    enrolled = Side.of(similarity.unit(gallery, tick=tick), gallery_ids, gallery_identity)
    which = np.zeros(len(gallery), np.int8) if part is None else np.asarray(part, np.int8)
    if part is not None and not np.isin(which, (1, 2)).all():
        raise ValueError("part must say 1 or 2 for each entry")
    galleries = {int(one): enrolled.part(which[enrolled.rows] == one) for one in np.unique(which).tolist() or [0]}
    searches = _joined(
        [
            _search(asking, entries, part=one, tick=part_of(tick, i, len(galleries) + (resamples > 0)))
            for i, (one, entries) in enumerate(galleries.items())
        ]
    )
    notes = []
    inside = int(np.count_nonzero(np.isin(asking.ids, enrolled.ids)))
    if inside:
        notes.append(tr("{n} probes are enrolled themselves, so they find their own picture.", n=inside))
    left, bad = asking.unlabelled + enrolled.unlabelled, asking.invalid + enrolled.invalid
    if left:
        notes.append(tr("{n} without identity are left out.", n=left))
    if bad:
        notes.append(tr("{n} without usable vector are left out.", n=bad))
    return _summary(
        searches,
        sizes=tuple(len(entries) for entries in galleries.values()),
        people=tuple(len(np.unique(entries.identity)) for entries in galleries.values()),
        fpirs=fpirs,
        rule=rule,
        ranks=ranks,
        how=how,
        resamples=resamples,
        seed=seed,
        notes=tuple(notes),
        invalid=bad,
        unlabelled=left,
        tick=part_of(tick, len(galleries), len(galleries) + 1),
    )


# What a click shows: lines of Searches, the worst first.


def missed(searches: Searches, rank: int) -> NDArray[np.int64]:
    """Mated probes that have not found their person by `rank`."""
    return _by_margin(searches, searches.mated & (searches.rank > rank))


def misses(searches: Searches, threshold: Threshold, *, rule: str = "nist", first: bool = True) -> NDArray[np.int64]:
    """Mated probes that are not recognised at `threshold`; with `first`, also those whose mate is not the first."""
    right = _accepted(searches.mate_score, _each(searches, threshold), rule)
    if first:
        right &= searches.rank == 1
    return _by_margin(searches, searches.mated & ~right)


def false_alarms(searches: Searches, threshold: Threshold, *, rule: str = "nist") -> NDArray[np.int64]:
    """Non-mated probes that are taken for somebody at `threshold`, the highest score first."""
    wrong = ~searches.mated & _accepted(searches.other_score, _each(searches, threshold), rule)
    lines = np.flatnonzero(wrong)
    return lines[np.argsort(-searches.other_score[lines], kind="stable")]


def compare(
    a: Identification, b: Identification, *, resamples: int = RESAMPLES, seed: int = 0, tick: Tick = silent
) -> Paired:
    """Model B minus model A over the searches that both could make, at the ranks and rates of `a`, by its rule."""
    lines_a, lines_b = _common(a.searches, b.searches)
    notes = []
    lost = max(len(a.searches.query), len(b.searches.query)) - len(lines_a)
    if lost:
        notes.append(tr("{n} searches that only one model could make are left out.", n=lost))
    if a.n_gallery != b.n_gallery:
        notes.append(tr("The galleries differ: {a} and {b} entries.", a=a.n_gallery, b=b.n_gallery))
    old, new = _Rates(_take(a.searches, lines_a)), _Rates(_take(b.searches, lines_b))
    weights = _weights(old, resamples, seed)
    ranks = tuple(r for r, _ in a.ranks)
    R = max(ranks, default=1)
    cmc = new.cmc(R) - old.cmc(R)
    drawn = new.cmc_draws(weights, R) - old.cmc_draws(weights, R) if weights is not None else None
    shown_ranks = []
    for r, of_a in a.ranks:
        why = of_a.why or dict(b.ranks).get(r, of_a).why or _why_rank(old.n_mated, r, size=R, enrolled=2)
        value = Measure.none(why) if why else Measure(float(cmc[r - 1]), n=old.n_mated)
        shown_ranks.append((r, value if why or drawn is None else _between(value, drawn[:, r - 1])))
    fpirs, rule = tuple(point.target for point in a.open), a.open[0].rule if a.open else "nist"
    shown_open = [(target, Measure.none(_why_open(target, old)[0])) for target in fpirs]
    if old.opened:
        tpir = new.tpir(fpirs, rule)[0] - old.tpir(fpirs, rule)[0]
        drawn = None
        if weights is not None:
            draws = [x.tpir_draws(weights, fpirs, rule, tick=part_of(tick, i, 2))[0] for i, x in enumerate((old, new))]
            drawn = draws[1] - draws[0]
        for i, target in enumerate(fpirs):
            why, _ = _why_open(target, old)
            value = Measure(float(tpir[i]), n=old.n_mated, why=why, supported=not why)
            shown_open[i] = (target, value if drawn is None else _between(value, drawn[:, i]))
    return Paired(tuple(shown_ranks), tuple(shown_open), old.n_mated, old.n_unmated, tuple(notes))


def tpir(
    searches: Searches, fpir: float, *, rule: str = "nist", resamples: int = 0, seed: int = 0, tick: Tick = silent
) -> tuple[float, NDArray[np.float64]]:
    """TPIR (rank 1) at one FPIR, NaN where there is none, and (B,) of draws of people; none where nothing is asked."""
    rates = _Rates(searches)
    if not rates.opened:
        return float("nan"), np.zeros(0)
    weights = _weights(rates, resamples, seed)
    drawn = rates.tpir_draws(weights, [fpir], rule, tick=tick)[0][:, 0] if weights is not None else np.zeros(0)
    return float(rates.tpir([fpir], rule)[0][0]), drawn


def drawn(
    found: Identification, *, resamples: int = RESAMPLES, seed: int = 0, tick: Tick = silent
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(B,) draws of people twice: TPIR (rank 1) at the first of the FPIRs, and the share of first ranks.

    The same draws for all tests of the same probes; none where nothing can be said of them.
    """
    rates = _Rates(found.searches)
    weights = _weights(rates, resamples, seed)
    if weights is None:
        return np.zeros(0), np.zeros(0)
    first = rates.cmc_draws(weights, 1)[:, 0]
    if not rates.opened:
        return np.zeros(0), first
    point = found.open[0]
    return rates.tpir_draws(weights, [point.target], point.rule, tick=tick)[0][:, 0], first


def _search(query: Side, gallery: Side, *, part: int, tick: Tick) -> Searches:
    Q = len(query)
    order, start, stop = pairs_of(query.identity, gallery.identity)
    rank, mate, other = np.zeros(Q, np.int64), np.full(Q, -1, np.int64), np.full(Q, -1, np.int64)
    mate_score, other_score = np.full(Q, -np.inf), np.full(Q, -np.inf)
    for here, score in cosines(query, gallery, pairs=int((stop - start).sum()), tick=tick):
        first = here.start
        row, column = flat_pairs(order, start[here], stop[here])
        mated = np.flatnonzero(stop[here] > start[here])
        if len(mated):
            own = score[row, column]
            score[row, column] = -np.inf
            begins = np.flatnonzero(np.r_[True, row[1:] != row[:-1]])
            best = np.maximum.reduceat(own, begins)
            hits = np.flatnonzero(own == np.repeat(best, np.diff(np.r_[begins, len(row)])))
            _, leading = np.unique(row[hits], return_index=True)
            mate[first + mated] = gallery.ids[column[hits[leading]]]
            mate_score[first + mated] = best
            every = len(mated) == len(score)
            rank[first + mated] = 1 + np.count_nonzero((score if every else score[mated]) >= best[:, None], axis=1)
        top = score.argmax(axis=1)
        top_score = score[np.arange(len(score)), top]
        other_score[here] = top_score
        other[here] = np.where(np.isfinite(top_score), gallery.ids[top], -1)
    return Searches(
        query=query.ids,
        identity=query.identity,
        gallery=np.full(Q, part, np.int8),
        mated=stop > start,
        rank=rank,
        mate=mate,
        mate_score=mate_score,
        other=other,
        other_score=other_score,
    )


def _joined(parts: Sequence[Searches]) -> Searches:
    return Searches(**{f.name: np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(Searches)})


def _take(searches: Searches, lines: NDArray[np.int64]) -> Searches:
    return Searches(**{f.name: getattr(searches, f.name)[lines] for f in fields(Searches)})


def _common(a: Searches, b: Searches) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Lines of the same probe in the same gallery, known there to both or to none."""
    key = [("query", np.int64), ("gallery", np.int8), ("mated", np.bool_)]
    packed = []
    for searches in (a, b):
        keys = np.empty(len(searches.query), key)
        keys["query"], keys["gallery"], keys["mated"] = searches.query, searches.gallery, searches.mated
        packed.append(keys)
    _, of_a, of_b = np.intersect1d(packed[0], packed[1], return_indices=True)
    return of_a, of_b


# Clicks


def _by_margin(searches: Searches, chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
    lines = np.flatnonzero(chosen)
    return lines[np.argsort(searches.margin[lines], kind="stable")]


def _each(searches: Searches, threshold: Threshold) -> NDArray[np.float64]:
    """(Q,) the threshold of the gallery that each line searched."""
    if threshold is None or isinstance(threshold, int | float):
        threshold = [threshold]
    values = np.array([np.inf if t is None else t for t in threshold])
    place = np.zeros(len(searches.gallery), np.int64) if len(values) == 1 else searches.gallery.astype(np.int64) - 1
    found: NDArray[np.float64] = values[place]
    return found


def _accepted(score: NDArray[np.float64], threshold: NDArray[np.float64], rule: str) -> NDArray[np.bool_]:
    accepted: NDArray[np.bool_] = score > threshold if rule == "mixbct" else score >= threshold
    return accepted


# Rates, of all searches and of draws of them


class _OneGallery:
    """The searches in one gallery, sorted so that a draw of identities costs a few running sums."""

    def __init__(self, searches: Searches, code: NDArray[np.int64]) -> None:
        unmated = np.flatnonzero(~searches.mated)
        unmated = unmated[np.argsort(-searches.other_score[unmated], kind="stable")]
        mated = np.flatnonzero(searches.mated)
        mated = mated[np.argsort(-searches.mate_score[mated], kind="stable")]
        self.score = searches.mate_score[mated]  # descending, as `top`
        self.first = searches.rank[mated] == 1
        self.rank = searches.rank[mated]
        self.code, self.unmated_code = code[mated], code[unmated]
        self.n_mated, self.n_unmated = len(mated), len(unmated)
        top = searches.other_score[unmated]
        self.end = np.flatnonzero(np.r_[top[1:] != top[:-1], True]) if len(top) else np.zeros(0, np.int64)
        self.top = top[self.end]  # (g,) different scores of strangers
        self.at = self._accepted(self.top, "right")  # mated probes with score >= top
        self.above = self._accepted(self.top, "left")  # > top
        self.just_above = self._accepted(self.top + 1e-8, "right")

    def _accepted(self, threshold: NDArray[np.float64], side: Literal["left", "right"]) -> NDArray[np.int64]:
        return np.searchsorted(-self.score, -threshold, side).astype(np.int64)

    def accepted(
        self, targets: NDArray[np.float64], rule: str, cumulated: NDArray[np.float64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
        """(B, T) for each draw and target: mated probes accepted (from the top), the group of strangers that decides,
        and whether that group is still accepted. `cumulated` (B, g): the weight of strangers at or above each `top`."""
        n = cumulated[:, -1:]
        groups = len(self.top)
        if rule in ("nist", "roc"):
            allowed = np.floor(targets * n + 1e-9)
            refused = _places(cumulated, allowed, "right")  # the first group that would be too much
            inside = np.minimum(refused, groups - 1)
            above = np.where(refused < groups, self.above[inside], self.n_mated)
            if rule == "roc":
                return above, inside, refused >= groups
            taken = _running(cumulated, refused)
            last = _places(cumulated, taken, "left")  # the last one taken that weighs anything
            some = taken > 0
            last = np.where(some, np.minimum(last, groups - 1), inside)
            return np.where(some, self.at[last], above), last, some
        if rule == "mixbct":
            place = np.maximum(np.trunc(n * targets) - 1, 0) + 1
            group = np.minimum(_places(cumulated, place, "left"), groups - 1)
            return self.above[group], group, np.zeros(group.shape, bool)
        place = np.round(n * targets)
        group = np.minimum(_places(cumulated, np.maximum(place, 1), "left"), groups - 1)
        some = place > 0
        return np.where(some, self.at[group], self.just_above[group]), group, some

    def thresholds(self, targets: NDArray[np.float64], rule: str) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """(T,) threshold, +inf where nothing observed is accepted; (T,) strangers at or above it (above: mixbct)."""
        cumulated = (self.end + 1).astype(np.float64)
        taken, group, inside = (one[0] for one in self.accepted(targets, rule, cumulated[None]))
        top = self.top[group]
        alarms = np.where(inside, cumulated[group], np.r_[0.0, cumulated][group]).astype(np.int64)
        if rule == "mixbct":
            return top, alarms
        if rule == "pfe":
            return np.where(inside, top, top + 1e-8), alarms
        if rule == "nist":
            return np.where(inside, top, np.nextafter(top, np.inf)), alarms
        mates, strangers = np.r_[np.inf, self.score][taken], np.r_[np.inf, self.top][group + inside]
        return np.minimum(mates, strangers), alarms

    def tpir(
        self, targets: NDArray[np.float64], rule: str, weights: NDArray[np.float32] | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(B, T), (B, T): rank 1 and any rank in draws with `weights` (B, people), one of everybody without them; NaN
        where a draw has no mated probe or no stranger."""
        if weights is None:
            weights = np.ones((1, int(max(self.code.max(initial=0), self.unmated_code.max(initial=0))) + 1), np.float32)
        if not self.n_mated or not len(self.top):
            nothing = np.full((len(weights), len(targets)), np.nan)
            return nothing, nothing
        cumulated = np.cumsum(weights[:, self.unmated_code], axis=1, dtype=np.float64)[:, self.end]
        of_mated = weights[:, self.code]
        every = np.cumsum(of_mated, axis=1, dtype=np.float64)
        first = np.cumsum(of_mated * self.first, axis=1, dtype=np.float64)
        taken = self.accepted(targets, rule, cumulated)[0]
        some = (every[:, -1:] > 0) & (cumulated[:, -1:] > 0)
        total = np.where(some, every[:, -1:], np.nan)
        return _running(first, taken) / total, _running(every, taken) / total


def _places(cumulated: NDArray[np.float64], values: NDArray[np.float64], side: Literal["left", "right"]) -> Rows:
    """(B, T) `searchsorted` of each row's values, none above the row's last, in that row; all are whole numbers."""
    B, g = cumulated.shape
    rows = np.arange(B)[:, None]
    apart = rows * (cumulated[:, -1].max(initial=0.0) + 2)  # so that the rows follow each other
    found = np.searchsorted((cumulated + apart).ravel(), values + apart, side)
    inside: Rows = np.clip(found - rows * g, 0, g).astype(np.int64)
    return inside


def _running(sums: NDArray[np.float64], taken: Rows) -> NDArray[np.float64]:
    """(B, T) of running sums (B, n): those of the first `taken`."""
    return np.where(taken > 0, np.take_along_axis(sums, np.maximum(taken - 1, 0), axis=1), 0.0)


class _Rates:
    """Searches by gallery, with codes of the people who search."""

    def __init__(self, searches: Searches) -> None:
        people, code = np.unique(searches.identity, return_inverse=True)
        self.n_people = len(people)
        self.galleries = []
        for one in np.unique(searches.gallery):
            lines = np.flatnonzero(searches.gallery == one)
            self.galleries.append(_OneGallery(_take(searches, lines), code[lines]))
        self.mated_people = len(np.unique(searches.identity[searches.mated]))
        self.n_mated = sum(g.n_mated for g in self.galleries)
        self.n_unmated = sum(g.n_unmated for g in self.galleries)
        self.closed = [g for g in self.galleries if g.n_mated]
        self.opened = [g for g in self.galleries if g.n_mated and g.n_unmated]
        self.unmated_each = min((g.n_unmated for g in self.opened), default=0)

    def cmc(self, R: int) -> NDArray[np.float64]:
        """(R,) zeros where there is no mated probe."""
        one = [np.cumsum(np.bincount(g.rank, minlength=R + 1)[1 : R + 1]) / g.n_mated for g in self.closed]
        found: NDArray[np.float64] = np.mean(one, axis=0) if one else np.zeros(R)
        return found

    def cmc_draws(self, weights: NDArray[np.float32], R: int) -> NDArray[np.float64]:
        """(B, R); NaN where a draw has no mated probe in some gallery."""
        total = np.zeros((len(weights), R))
        for g in self.closed:
            late = np.minimum(g.rank, R + 1) - 1
            hits = np.bincount(g.code * (R + 1) + late, minlength=self.n_people * (R + 1))
            sums = np.cumsum(hits.reshape(self.n_people, R + 1)[:, :R], axis=1, dtype=np.float32)
            counts = np.bincount(g.code, minlength=self.n_people).astype(np.float32)
            with np.errstate(invalid="ignore", divide="ignore"):
                total += (weights @ sums).astype(np.float64) / (weights @ counts)[:, None]
        return total / max(len(self.closed), 1)

    def tpir(self, targets: Sequence[float], rule: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(T,), (T,): rank 1 and any rank, the mean of the galleries."""
        one = [g.tpir(np.asarray(targets, np.float64), rule) for g in self.opened]
        return np.mean([r[0] for r, _ in one], axis=0), np.mean([r[0] for _, r in one], axis=0)

    def tpir_draws(
        self, weights: NDArray[np.float32], targets: Sequence[float], rule: str, *, tick: Tick = silent
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(B, T) twice: each draw finds its own thresholds."""
        asked = np.asarray(targets, np.float64)
        first, every = np.zeros((len(weights), len(asked))), np.zeros((len(weights), len(asked)))
        longest = max((g.n_mated + g.n_unmated for g in self.opened), default=1)
        step = max(1, _TOGETHER // longest)
        for start in range(0, len(weights), step):
            tick(start, len(weights))
            some = slice(start, start + step)
            for g in self.opened:
                of_first, of_every = g.tpir(asked, rule, weights[some])
                first[some] += of_first
                every[some] += of_every
        tick(len(weights), len(weights))
        return first / len(self.opened), every / len(self.opened)


def _weights(rates: _Rates, resamples: int, seed: int) -> NDArray[np.float32] | None:
    """None where nothing can be drawn: not asked for, or only one person has a mate, which shows no spread."""
    if not resamples or rates.mated_people < 2:
        return None
    return bootstrap.identity_weights(rates.n_people, resamples=resamples, seed=seed)


def _between(measure: Measure, draws: NDArray[np.float64] | None, *, rate: bool = False) -> Measure:
    """`rate`: the measure is a share of its n searches."""
    limits = bootstrap.interval(draws) if draws is not None else None
    if limits and rate:
        limits = bootstrap.widened(*limits, measure.n)
    return measure.with_interval(*limits) if limits else measure


def _band(draws: NDArray[np.float64] | None, value: NDArray[np.float64], *, n: int) -> tuple[NDArray[np.float64], ...]:
    """Low and high of each column, rates over n searches; NaN where there is no interval."""
    limits = np.full((2, len(value)), np.nan)
    for place, column in enumerate(draws.T if draws is not None else ()):
        if found := bootstrap.rate_interval(column, n):
            limits[:, place] = found
    return limits[0], limits[1]


def _why_rank(n_mated: int, rank: int, *, size: int, enrolled: int) -> str:
    if not size:
        return tr("nobody is enrolled")
    if not n_mated:
        return tr("no probe shows a person of the gallery")
    if enrolled == 1:
        return tr("one identity is enrolled, so there is nobody to confuse it with")
    if rank > size:
        return tr("the gallery has only {n} entries", n=size)
    return ""


def _why_open(target: float, rates: _Rates) -> tuple[str, bool]:
    """Why there is no rate at this target, or none to rely on; and whether it can be attained at all."""
    if not rates.n_mated:
        return tr("no probe shows a person of the gallery"), False
    if not rates.n_unmated:
        return tr("every probe shows a person of the gallery, so there is no false alarm to count"), False
    n = rates.unmated_each
    if not n:
        return tr("no gallery has both known people and strangers among its probes"), False
    if math.floor(target * n + 1e-9) < 1:
        return tr("FPIR {fpir} cannot be reached with {n} searches of strangers", fpir=rate(target), n=n), False
    if target * n < 3 - 1e-9:
        return tr("FPIR {fpir} has no support with {n} searches of strangers", fpir=rate(target), n=n), True
    return "", True


def _points(
    rates: _Rates, weights: NDArray[np.float32] | None, *, fpirs: Sequence[float], rule: str, tick: Tick
) -> tuple[tuple[OpenPoint, ...], OpenCurve | None]:
    if not rates.opened:
        points = []
        for target in fpirs:
            none = Measure.none(_why_open(target, rates)[0], n=rates.n_mated)
            points.append(OpenPoint(target, rule, none, none, None, 0.0, 0, attainable=False))
        return tuple(points), None
    n = rates.unmated_each
    counts = np.unique(np.r_[0, np.geomspace(1, n, POINTS).round()]).astype(np.int64)
    grid = np.minimum((counts + 1e-6) / n, 1.0)
    targets = np.r_[np.asarray(fpirs, np.float64), grid]
    K = len(fpirs)
    first, every = rates.tpir(targets, rule)
    drawn = rates.tpir_draws(weights, targets, rule, tick=tick) if weights is not None else None
    each = [g.thresholds(targets, rule) for g in rates.opened]
    mean = np.mean([t for t, _ in each], axis=0)
    alarms = np.array([a for _, a in each])
    thresholds = np.full((len(rates.galleries), len(targets)), np.inf)  # a gallery that says nothing accepts nothing
    thresholds[[i for i, g in enumerate(rates.galleries) if g in rates.opened]] = [t for t, _ in each]
    fpir = np.mean([a / g.n_unmated for a, g in zip(alarms, rates.opened)], axis=0)
    points = []
    for i, target in enumerate(fpirs):
        why, attainable = _why_open(target, rates)
        rank1, anyrank = (
            _between(
                Measure(float(value[i]), n=rates.n_mated, why=why, supported=not why),
                drawn[which][:, i] if drawn is not None else None,
                rate=True,
            )
            for which, value in enumerate((first, every))
        )
        own = tuple(float(t) if np.isfinite(t) else None for t in thresholds[:, i])
        shown = float(mean[i]) if np.isfinite(mean[i]) else None
        alarm = int(alarms[:, i].sum())
        points.append(OpenPoint(target, rule, rank1, anyrank, shown, float(fpir[i]), alarm, own, attainable))
    low, high = _band(drawn[0][:, K:] if drawn is not None else None, first[K:], n=rates.n_mated)
    curve = np.c_[fpir[K:], first[K:]]
    kept = np.flatnonzero(np.r_[True, (curve[1:] != curve[:-1]).any(axis=1)])
    at = thresholds[:, K:][:, kept]
    return tuple(points), OpenCurve(
        mean[K:][kept], fpir[K:][kept], first[K:][kept], low[kept], high[kept], thresholds=at
    )


def _summary(
    searches: Searches,
    *,
    sizes: tuple[int, ...],  # entries of each gallery
    people: tuple[int, ...],  # enrolled in each gallery
    fpirs: Sequence[float],
    rule: str,
    ranks: Sequence[int],
    how: str,
    resamples: int,
    seed: int,
    notes: tuple[str, ...],
    invalid: int,
    unlabelled: int,
    tick: Tick,
) -> Identification:
    rates = _Rates(searches)
    weights = _weights(rates, resamples, seed)
    R = min(max(CMC, *ranks), min(sizes)) if rates.n_mated else 0
    cmc = rates.cmc(R)
    drawn = rates.cmc_draws(weights, R) if weights is not None else None
    low, high = _band(drawn, cmc, n=rates.n_mated)
    shown = []
    for r in ranks:
        why = _why_rank(rates.n_mated, r, size=min(sizes), enrolled=min(people))
        if why:
            shown.append((r, Measure.none(why, n=rates.n_mated)))
        else:
            value = Measure(float(cmc[r - 1]), n=rates.n_mated)
            of_rank = drawn[:, r - 1] if drawn is not None else None
            shown.append((r, _between(value, of_rank, rate=True)))
    points, curve = _points(rates, weights, fpirs=fpirs, rule=rule, tick=tick)
    return Identification(
        n_mated=rates.n_mated,
        n_unmated=rates.n_unmated,
        n_gallery=sum(sizes),
        n_enrolled=sum(people),
        n_invalid=invalid,
        galleries=len(sizes),
        cmc=cmc,
        cmc_low=low,
        cmc_high=high,
        ranks=tuple(shown),
        open=points,
        open_curve=curve,
        searches=searches,
        how=how or _how(len(sizes)),
        resamples=len(weights) if weights is not None else 0,
        notes=notes,
        n_unlabelled=unlabelled,
        smallest_fpir=3 / rates.unmated_each if rates.unmated_each else None,
    )


def _how(galleries: int) -> str:
    if galleries > 1:
        return tr("Every probe is searched in both galleries; rates are the mean of both.")
    return tr("Every probe is searched in the gallery.")
