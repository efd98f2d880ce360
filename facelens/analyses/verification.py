"""Verification: how often the same person is accepted when strangers are accepted at a given rate.

Computes    accept iff score >= t; FAR(t) = share of impostor pairs accepted, TAR(t) = share of genuine pairs accepted
            TAR at a target FAR x with N impostor pairs, by rule:
            roc           t = lowest observed score with FAR(t) <= x
            nist          the same among impostor scores only; where none is low enough, just above the highest
            nearest       t with FAR(t) nearest to x, also above it; of two as near the one that accepts more
            conservative  k = floor(x N); accept above the (k + 1)-th highest impostor score
            pfe           k = round(x N); t = k-th highest impostor score, for k = 0 the highest + 1e-8
            EER = (FAR + FRR) / 2 where |FAR - FRR| is least; AUC = share of (genuine, impostor) in right order, ties
            half; d' = (mean genuine - mean impostor) / sqrt((variance genuine + variance impostor) / 2)
            LFW accuracy: d = 2 - 2 score, same iff d < t, t in 0, 0.01 .. 3.99, first best on the other folds
Shapes      Scores in, frozen results out; curve arrays (T,) by descending threshold
Reference   ISO/IEC 19795-1; Phillips et al., NIST; bob.measure (EER, nist); insightface, IJB-C (nearest); Shi and Jain,
            Probabilistic face embeddings, ICCV 2019 (pfe); Huang et al., Labeled faces in the wild, 2007 (folds)
Departs     Impostor pairs that are only counted are known at the edges of their bins: a threshold among them is an
            edge, and all counts are exact there; for d' each counts as the middle of its bin.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from facelens.analyses import bootstrap
from facelens.analyses.bootstrap import Draws
from facelens.analyses.measure import Measure, rate
from facelens.analyses.plan import FARS, RESAMPLES, RULES
from facelens.analyses.scores import Scores, Steps, choose
from facelens.images.faceset import Ids
from facelens.progress import Tick, silent
from facelens.words import tr

CURVE = 4000  # points of a curve
BAND = 200  # rates at which the band of a curve is worked out
LFW_GRID = np.arange(0, 4, 0.01)
ENOUGH = 30  # false matches that can be divided among people or values

Counts = NDArray[np.int64] | NDArray[np.float64]


@dataclass(frozen=True)
class OperatingPoint:
    """Where a target FAR leads: the threshold, and what it accepts and refuses."""

    target: float
    rule: str
    threshold: float | None  # None: nothing is accepted
    tar: Measure
    far: float  # the real one, at the threshold
    false_matches: int  # impostor pairs accepted
    false_non_matches: int  # genuine pairs refused
    status: str = "ok"  # "no support" (rule of 3), "unattainable" (below one impostor pair) or "undefined"
    far_interval: tuple[float, float] | None = None  # of the real FAR at this threshold, where it was asked for


@dataclass(frozen=True, eq=False)
class Curve:
    """FAR and TAR by descending threshold, exact at each point, thinned for drawing; and the band of TAR.

    Above the first threshold nothing is accepted. The band is NaN where there is no interval.
    """

    threshold: NDArray[np.float64]
    far: NDArray[np.float64]
    tar: NDArray[np.float64]
    tar_low: NDArray[np.float64]
    tar_high: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Spread:
    """Intervals of both rates where a threshold stays as it is, whoever had been photographed.

    Of the steps of the scores at `places`; `at_threshold` reads those of any threshold off.
    """

    places: NDArray[np.int64]  # (T,) ascending
    far: NDArray[np.float64]  # (2, T) low and high
    tar: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Histogram:
    """Pairs in bins [edges[i], edges[i + 1]); the last bin holds its upper edge too."""

    edges: NDArray[np.float64]
    genuine: NDArray[np.int64]
    impostor: NDArray[np.int64]


@dataclass(frozen=True)
class Accuracy:
    """Share of right decisions; `how` is "best" (threshold from the same pairs) or "folds" (from the others)."""

    how: str
    share: Measure
    threshold: float | None  # of "folds": the mean over folds
    deviation: float | None = None  # of "folds": population standard deviation over folds


@dataclass(frozen=True, eq=False)
class Verification:
    """All that 1:1 comparisons of one model (or of two, query against gallery) say."""

    n_genuine: int
    n_impostor: int
    n_invalid: int  # things left out: no usable vector
    rule: str
    points: tuple[OperatingPoint, ...]
    eer: Measure
    eer_threshold: float | None
    auc: Measure
    d_prime: Measure
    fmr100: Measure  # FNMR where FMR <= 1 %
    fmr1000: Measure  # FNMR where FMR <= 0.1 %
    best: Accuracy
    folds: Accuracy | None
    curve: Curve
    histogram: Histogram
    smallest_far: float | None  # 3 / N impostors: below it a rate has no support (rule of 3)
    resampled: str = ""  # "identities", "pairs" or "" (no interval)
    resamples: int = 0
    notes: tuple[str, ...] = ()
    spread: Spread | None = None  # None: no interval


@dataclass(frozen=True)
class Difference:
    """New minus old at one operating point, from the same draws of identities."""

    target: float
    tar: Measure


@dataclass(frozen=True)
class Paired:
    """Model B minus model A: only what both could compare, each draw of identities used for both."""

    points: tuple[Difference, ...]
    eer: Measure
    auc: Measure
    n_genuine: int
    n_impostor: int
    notes: tuple[str, ...] = field(default=())


@dataclass(frozen=True, eq=False)
class Folds:
    """Accuracy by the rule of LFW, fold by fold."""

    mean: float
    deviation: float  # population standard deviation
    accuracy: NDArray[np.float64]  # (F,)
    distance: NDArray[np.float64]  # (F,) the threshold that was best on the others


# ---------------------------------------------------------------------------------------------------------------------
# choosing a step. Everywhere: `fa` (T,) impostor pairs accepted, ascending; -1 = nothing is accepted. Bisected and not
# searched by numpy, which would copy millions of counts to compare them with a share: a dragged line asks often.


def _roc(fa: Counts, n: float, target: float) -> int:
    # 1e-9: a target such as 0.29 of 100 pairs means 29 of them, whatever floating point makes of it.
    return bisect_right(fa, target * n + 1e-9) - 1


def _nist(fa: Counts, n: float, target: float) -> int:
    at = _roc(fa, n, target)
    if at < 0 or fa[at] == 0:
        return at
    return bisect_left(fa, fa[at])


def _nearest(fa: Counts, n: float, target: float) -> int:
    below = bisect_right(fa, target * n) - 1
    if below + 1 >= len(fa):
        return below
    above = bisect_right(fa, fa[below + 1]) - 1
    under = fa[below] / n if below >= 0 else 0.0
    return above if abs(fa[above] / n - target) <= abs(under - target) else below


def _pfe(fa: Counts, n: float, target: float) -> int:
    k = round(target * n)
    if k == 0:
        return bisect_right(fa, 0) - 1
    return min(bisect_left(fa, k), len(fa) - 1)


_PLACE: dict[str, Callable[[Counts, float, float], int]] = {
    "roc": _roc,
    "nist": _nist,
    "nearest": _nearest,
    "conservative": _roc,  # above the (k + 1)-th highest impostor is where no more than k are accepted
    "pfe": _pfe,
}


def place(steps: Steps, target: float, *, rule: str = "roc") -> int:
    """Which step a target FAR leads to; -1 where nothing is accepted."""
    if rule not in _PLACE:
        raise ValueError(f"no such rule: {rule}")
    if not len(steps.threshold):
        return -1
    fa = steps.impostor
    n = int(fa[-1])
    at = _PLACE[rule](fa, n, target)
    if rule == "pfe" and round(target * n) == 0 and n:
        highest = steps.threshold[bisect_left(fa, 1)]
        at = bisect_right(steps.threshold, -(highest + 1e-8), key=lambda threshold: -threshold) - 1
    return at


def _multipliable(fa: Counts, ta: Counts) -> tuple[Counts, Counts]:
    """Counts whose products are exact, or beyond the integers at least not wrong: a million faces get there."""
    if 4 * int(fa[-1]) * int(ta[-1]) < 1 << 63:
        return fa, ta
    return fa.astype(np.float64), ta.astype(np.float64)


def _eer(fa: Counts, ta: Counts) -> int:
    """The step of the equal error rate; of two as good the higher threshold, unless one rate ends there (as bob)."""
    fa, ta = _multipliable(fa, ta)
    n, m = fa[-1], ta[-1]
    cost = np.abs(fa * m - (m - ta) * n)
    best = np.flatnonzero(cost == cost.min())
    inside = best[(fa[best] > 0) & (ta[best] > 0)]
    return int(inside[0] if len(inside) else best[-1])


def _auc(fa: Counts, ta: Counts) -> float:
    fa, ta = _multipliable(fa, ta)
    before = np.concatenate([ta[:1] * 0, ta[:-1]])
    twice = np.sum(np.diff(fa, prepend=fa[:1] * 0) * (before + ta))
    return float(twice) / (2.0 * float(fa[-1]) * float(ta[-1]))


def _best(fa: Counts, ta: Counts) -> tuple[float, int]:
    """Most right decisions at one threshold, and its step; the first best from above, -1 where refusing all is best."""
    right = ta + (fa[-1] - fa)
    at = int(np.argmax(right))
    if right[at] <= fa[-1]:
        return float(fa[-1]) / float(fa[-1] + ta[-1]), -1
    return float(right[at]) / float(fa[-1] + ta[-1]), at


# ---------------------------------------------------------------------------------------------------------------------
# what cannot be said


def undefined(scores: Scores) -> str:
    """Why no rate exists, or nothing."""
    if scores.n_genuine + scores.n_impostor == 0:
        return tr("no pair was compared")
    if scores.n_genuine == 0:
        return tr("no genuine pair: nobody has two pictures that can be compared")
    if scores.n_impostor == 0:
        known = bootstrap.identities_of(scores)
        if known is not None and known[1] == 1:
            return tr("one identity, so there is no impostor pair")
        return tr("there is no impostor pair")
    return ""


def one_person(scores: Scores) -> bool:
    """Whether all genuine pairs are known to be of one person: draws of people then say nothing about them."""
    of = scores.identity[scores.first[scores.genuine]]
    return len(of) > 0 and bool(of[0] >= 0) and bool((of == of[0]).all())


def support(target: float, n_impostor: int) -> tuple[str, str]:
    """Status ("ok", "no support", "unattainable") of a target rate, and the sentence for it."""
    if np.floor(target * n_impostor + 1e-9) < 1:
        return "unattainable", tr(
            "unattainable: {n} impostor pairs cannot show a FAR below {x}",
            n=n_impostor,
            x=rate(1 / n_impostor) if n_impostor else "1",
        )
    if target * n_impostor < 3 - 1e-9:
        return "no support", tr(
            "no support: {n} impostor pairs resolve FAR ≥ {x} (rule of 3)", n=n_impostor, x=rate(3 / n_impostor)
        )
    return "ok", ""


# ---------------------------------------------------------------------------------------------------------------------
# draws


@dataclass(frozen=True, eq=False)
class _Sample:
    """The pairs themselves and their draws, read in the same way."""

    scores: Scores
    draws: Draws | None
    tick: Tick = silent

    def over(self, statistic: Callable[[Counts, Counts], float]) -> tuple[float, NDArray[np.float64]]:
        """A statistic of (fa, ta) on the pairs, and (B,) on the draws; NaN where a draw has pairs of one kind only."""
        steps = self.scores.steps
        value = statistic(steps.impostor, steps.genuine)
        if self.draws is None:
            return value, np.zeros(0)
        out = np.full(len(self.draws), np.nan)
        for b, (fa, ta) in enumerate(zip(self.draws.impostor, self.draws.genuine)):
            if b % 128 == 0:
                self.tick(100, 100, tr("Reading rates off"))  # all is drawn; only to stop when asked
            if fa[-1] > 0 and ta[-1] > 0:
                out[b] = statistic(fa, ta)
        return value, out


def _measure(value: float, draws: NDArray[np.float64], *, n: int, why: str = "", of: int | None = None) -> Measure:
    """`of`: it is a share of so many pairs, for which the rule of 3 holds; None for other numbers."""
    measure = Measure(value, n=n, why=why, supported=not why)
    limits = bootstrap.interval(draws) if len(draws) else None
    if limits and of is not None:
        limits = bootstrap.widened(*limits, of)
    return measure.with_interval(*limits) if limits else measure


def _tar(rule: str, target: float) -> Callable[[Counts, Counts], float]:
    def statistic(fa: Counts, ta: Counts) -> float:
        at = _PLACE[rule](fa, float(fa[-1]), target)
        return float(ta[at]) / float(ta[-1]) if at >= 0 else 0.0

    return statistic


def _eer_value(fa: Counts, ta: Counts) -> float:
    at = _eer(fa, ta)
    return (float(fa[at]) / float(fa[-1]) + 1 - float(ta[at]) / float(ta[-1])) / 2


def _point(sample: _Sample, target: float, rule: str) -> OperatingPoint:
    scores = sample.scores
    steps = scores.steps
    n, m = scores.n_impostor, scores.n_genuine
    why = undefined(scores)
    if why:
        return OperatingPoint(target, rule, None, Measure.none(why), 0.0, 0, 0, "undefined")
    status, why = support(target, n)
    at = place(steps, target, rule=rule)
    fa, ta = (int(steps.impostor[at]), int(steps.genuine[at])) if at >= 0 else (0, 0)
    _, draws = sample.over(_tar(rule, target))
    threshold = float(steps.threshold[at]) if at >= 0 else None
    tar = _measure(ta / m, draws, n=m, why=why, of=m)
    return OperatingPoint(target, rule, threshold, tar, fa / n, fa, m - ta, status)


def at_threshold(
    scores: Scores, t: float, *, draws: Draws | None = None, spread: Spread | None = None
) -> OperatingPoint:
    """What one threshold accepts and refuses; among pairs that are only counted it is raised to the next bin.

    `draws` of the same scores, or the `spread` that verify has made of them, give intervals of TAR and FAR.
    """
    steps = scores.steps
    at = bisect_right(steps.threshold, -t, key=lambda threshold: -threshold) - 1
    fa, ta = (int(steps.impostor[at]), int(steps.genuine[at])) if at >= 0 else (0, 0)
    n, m = scores.n_impostor, scores.n_genuine
    tar = Measure(ta / m, n=m) if m else Measure.none(undefined(scores))
    far = fa / n if n else 0.0
    status = "ok" if n and m else "undefined"
    limits = None
    if draws is not None and m and n:
        spread = _spread(draws, at)
    if spread is not None and m and n:
        tar = tar.with_interval(*bootstrap.widened(*_interval_at(spread, spread.tar, at, steps.genuine), m))
        # Rule of 3: where none is accepted, no draw accepts any.
        limits = _interval_at(spread, spread.far, at, steps.impostor) if fa else (0.0, min(1.0, 3 / n))
    return OperatingPoint(far, "threshold", t, tar, far, fa, m - ta, status, limits)


def _spread(draws: Draws, at: int | None = None) -> Spread | None:
    """Intervals at all places of the draws, or only at that of step `at`; None where too few draws say anything."""
    chosen = slice(None)
    if at is not None:
        place = max(0, int(np.searchsorted(draws.places, at, side="right")) - 1)
        chosen = slice(place, place + 1)
    limits = []
    for drawn in (draws.impostor, draws.genuine):
        usable = drawn[:, -1] > 0
        if usable.sum() < max(2, len(drawn) / 2):
            return None
        edge = (1 - bootstrap.LEVEL) / 2
        limits.append(np.quantile(drawn[usable, chosen] / drawn[usable, -1:], [edge, 1 - edge], axis=0))
    return Spread(draws.places[chosen], *limits)


def _interval_at(
    spread: Spread, limits: NDArray[np.float64], at: int, accepted: NDArray[np.int64]
) -> tuple[float, float]:
    """Interval of the share that step `at` accepts."""
    if at < 0:
        return 0.0, 0.0
    place = int(np.searchsorted(spread.places, at, side="right")) - 1
    # Draws are counted at some steps only; what that changes on the pairs themselves it changes in each of them.
    shift = (accepted[at] - accepted[spread.places[place]]) / accepted[-1]
    low, high = np.clip(limits[:, place] + shift, 0.0, 1.0)
    return float(low), float(high)


def _d_prime(scores: Scores, draws: Draws | None) -> Measure:
    genuine, impostor = scores.genuine_scores, scores.impostor_scores
    n = scores.n_genuine + scores.n_impostor
    if not (np.isfinite(genuine).all() and np.isfinite(impostor).all()):
        return Measure.none(tr("some scores are infinite"), n=n)
    bulk = scores.bulk
    middles = (bulk.edges[:-1] + bulk.edges[1:]) / 2 if bulk is not None else np.zeros(0)
    counted = bulk.counts if bulk is not None else np.zeros(0, np.int64)
    centre = float(genuine.mean())  # moments about a point within the scores lose nothing to cancellation

    def moments(power: int) -> tuple[float, float]:
        of_impostors = ((impostor - centre) ** power).sum() + ((middles - centre) ** power * counted).sum()
        return float(((genuine - centre) ** power).mean()), float(of_impostors) / scores.n_impostor

    (g1, i1), (g2, i2) = moments(1), moments(2)
    variance = (max(g2 - g1 * g1, 0.0) + max(i2 - i1 * i1, 0.0)) / 2
    strangers = np.concatenate([impostor, middles[counted > 0]])
    spread = max(float(np.ptp(genuine)), float(np.ptp(strangers)))
    if spread == 0 or variance <= 0:
        return Measure.none(tr("the scores of each kind are all equal, so there is no spread to measure against"), n=n)
    value = (g1 - i1) / float(np.sqrt(variance))
    if draws is None:
        return Measure(value, n=n)

    # Means of each bin of thresholds, weighed by what the draws make of the bin.
    places = draws.places
    kept = np.diff(scores.steps.kept[places], prepend=0)
    bins = np.repeat(np.arange(len(places)), kept)
    T = len(places)
    centred = scores.score[: len(bins)].astype(np.float64) - centre
    thresholds = scores.steps.threshold[places]
    of_bulk = np.minimum(np.searchsorted(-thresholds, -bulk.edges[:-1]), T - 1) if bulk is not None else None

    def drawn(power: int, *, of: bool) -> NDArray[np.float64]:
        wanted = scores.genuine[: len(bins)] == of
        sums = np.bincount(bins[wanted], centred[wanted] ** power, minlength=T)
        counts = np.bincount(bins[wanted], minlength=T).astype(np.float64)
        if not of and of_bulk is not None:
            sums += np.bincount(of_bulk, (middles - centre) ** power * counted, minlength=T)
            counts += np.bincount(of_bulk, counted, minlength=T)
        mean = np.divide(sums, counts, out=np.zeros(T), where=counts > 0)
        accepted = draws.genuine if of else draws.impostor
        # Sum of mass * mean by parts, so that the masses need not be held.
        total: NDArray[np.float64] = accepted[:, -1] * mean[-1] - accepted[:, :-1] @ np.diff(mean)
        with np.errstate(invalid="ignore", divide="ignore"):
            return total / accepted[:, -1]

    g1s, g2s, i1s, i2s = drawn(1, of=True), drawn(2, of=True), drawn(1, of=False), drawn(2, of=False)
    with np.errstate(invalid="ignore", divide="ignore"):
        variances = (np.maximum(g2s - g1s**2, 0) + np.maximum(i2s - i1s**2, 0)) / 2
        out = np.where(variances > 1e-12 * variance, (g1s - i1s) / np.sqrt(variances), np.nan)
    return _measure(value, out, n=n)


# ---------------------------------------------------------------------------------------------------------------------
# folds of a published list


def lfw_accuracy(
    distances: NDArray[np.float64], same: NDArray[np.bool_], folds: NDArray[np.int32] | NDArray[np.int64]
) -> Folds:
    """Accuracy by the rule of LFW on squared distances of unit vectors; a fold's threshold comes from the others."""
    _, codes = np.unique(folds, return_inverse=True)
    counts = np.bincount(_cells(distances, same, codes), minlength=2 * (codes.max() + 1) * _GRID)
    accuracy, at = _fold_accuracies(counts.astype(np.float64)[:, None])
    shares = accuracy[:, 0]
    return Folds(float(shares.mean()), float(shares.std()), shares, LFW_GRID[at[:, 0]])


_GRID = len(LFW_GRID) + 1


def _cells(distances: NDArray[np.float64], same: NDArray[np.bool_], codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """(P,) fold, kind and the first threshold of the grid that calls the pair the same, as one number."""
    first = np.searchsorted(LFW_GRID, distances, side="right")
    cells: NDArray[np.int64] = (codes * 2 + same) * _GRID + first
    return cells


def _fold_accuracies(counts: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Accuracy and threshold (F, B) from the counts of cells (F * 2 * grid, B)."""
    B = counts.shape[1]
    table = counts.reshape(-1, 2, _GRID, B)
    running = np.cumsum(table, axis=2)
    right = running[:, 1, :-1] + running[:, 0, -1:] - running[:, 0, :-1]  # (F, grid, B)
    at = np.argmax(right.sum(axis=0) - right, axis=1)  # (F, B)
    own = np.take_along_axis(right, at[:, None], axis=1)[:, 0]
    with np.errstate(invalid="ignore", divide="ignore"):
        return own / running[:, :, -1].sum(axis=1), at


def _folds(scores: Scores, *, resamples: int, seed: int, tick: Tick) -> Accuracy | None:
    if scores.fold is None or len(np.unique(scores.fold)) < 2:
        return None
    n = len(scores.score)
    why = undefined(scores)
    if why:
        return Accuracy("folds", Measure.none(why, n=n), None)
    distances = 2 - 2 * scores.score.astype(np.float64)
    result = lfw_accuracy(distances, scores.genuine, scores.fold)
    draws = _fold_draws(scores, distances, resamples=resamples, seed=seed, tick=tick) if resamples else np.zeros(0)
    threshold = 1 - float(result.distance.mean()) / 2
    return Accuracy("folds", _measure(result.mean, draws, n=n, of=n), threshold, result.deviation)


def _fold_draws(
    scores: Scores, distances: NDArray[np.float64], *, resamples: int, seed: int, tick: Tick
) -> NDArray[np.float64]:
    from scipy.sparse import csr_array

    assert scores.fold is not None
    _, codes = np.unique(scores.fold, return_inverse=True)
    cells = _cells(distances, scores.genuine, codes)
    P, F = len(cells), int(codes.max()) + 1
    into = csr_array((np.ones(P, np.float32), (cells, np.arange(P))), shape=(2 * F * _GRID, P))
    known = bootstrap.identities_of(scores)
    if known is not None:
        rows, C = known
        weights = bootstrap.identity_weights(C, resamples=resamples, seed=seed)
        first, second = rows[scores.first], rows[scores.second]
    else:
        weights = bootstrap.identity_weights(P, resamples=resamples, seed=seed)
    out = np.full(resamples, np.nan)
    block = max(1, min(resamples, (1 << 22) // max(P, 2 * F * _GRID)))
    for start in range(0, resamples, block):
        tick(start, resamples, tr("Drawing folds"))
        part = weights[start : start + block]
        if known is not None:
            pairs = part[:, first] * np.where(scores.genuine, np.float32(1), part[:, second])
        else:
            pairs = part
        accuracy, _ = _fold_accuracies((into @ np.ascontiguousarray(pairs.T)).astype(np.float64))
        drawn = np.isfinite(accuracy)
        total = np.where(drawn, accuracy, 0).sum(axis=0)
        out[start : start + block] = np.divide(
            total, drawn.sum(axis=0), out=np.full(len(total), np.nan), where=drawn.any(axis=0)
        )
    return out


# ---------------------------------------------------------------------------------------------------------------------
# for drawing


def _curve(scores: Scores, draws: Draws | None, *, tick: Tick) -> Curve:
    empty = np.zeros(0)
    if undefined(scores):
        return Curve(empty, empty, empty, empty, empty)
    steps = scores.steps
    n, m = scores.n_impostor, scores.n_genuine
    places = bootstrap.thin(steps, CURVE)
    far, tar = steps.impostor[places] / n, steps.genuine[places] / m
    low = high = np.full(len(places), np.nan)
    if draws is not None:
        targets = np.concatenate([[0.0], np.geomspace(1 / n, 1, BAND)])

        def read(fa: Counts, ta: Counts) -> NDArray[np.float64]:
            tick(100, 100, tr("Reading rates off"))
            at = np.searchsorted(fa, targets * float(fa[-1]) + 1e-9, side="right")
            return np.concatenate([[0.0], ta])[at] / float(ta[-1])

        drawn = [read(fa, ta) for fa, ta in zip(draws.impostor, draws.genuine) if fa[-1] > 0 and ta[-1] > 0]
        if len(drawn) >= max(2, len(draws) / 2):
            edge = (1 - bootstrap.LEVEL) / 2
            limits = np.quantile(np.array(drawn), [edge, 1 - edge], axis=0)
            low, high = np.interp(far, targets, limits[0]), np.interp(far, targets, limits[1])
            low = np.minimum(low, bootstrap.widened(1, 1, m)[0])
            high = np.maximum(high, bootstrap.widened(0, 0, m)[1])
    return Curve(steps.threshold[places], far, tar, low, high)


def histogram(scores: Scores, *, bins: int = 200) -> Histogram:
    """Pairs of both kinds in equal bins, of 0.01 where scores are cosines; infinite scores are in the outer bins."""
    finite = scores.score[np.isfinite(scores.score)]
    ends = [float(finite[0]), float(finite[-1])] if len(finite) else []
    bulk = scores.bulk
    if bulk is not None and bulk.counts.any():
        used = np.flatnonzero(bulk.counts)
        ends += [float(bulk.edges[used[0]]), float(bulk.edges[used[-1] + 1])]
    if not ends:
        ends = [0.0, 1.0]
    low, high = min(ends), max(ends)
    if low >= -1.001 and high <= 1.001:
        start, stop = int(np.floor(low * 100)), int(np.ceil(high * 100))
        edges = np.arange(start, max(stop, start + 1) + 1) / 100
    else:
        if high - low <= 1e-12 * max(abs(low), abs(high)):
            low, high = low - 0.5, high + 0.5
        edges = np.linspace(low, high, bins + 1)
    if bulk is not None:
        # Below the floor counts are known at the edges of the counted bins only.
        nearest = np.clip(np.searchsorted(bulk.edges, edges), 0, len(bulk.edges) - 1)
        inside = (edges >= bulk.edges[0]) & (edges < scores.floor)
        edges = np.unique(np.where(inside, bulk.edges[nearest], edges))
    kept = scores.above(edges)
    kept[0], kept[-1] = len(scores.score), 0
    genuine = scores.genuine_above[kept]
    impostor = kept - genuine
    if bulk is not None:
        counted = np.concatenate([np.cumsum(bulk.counts[::-1])[::-1], [0]])
        at = np.searchsorted(bulk.edges, edges)
        impostor = impostor + counted[np.minimum(at, len(counted) - 1)]
    return Histogram(edges, -np.diff(genuine), -np.diff(impostor))


# ---------------------------------------------------------------------------------------------------------------------


def verify(
    scores: Scores,
    *,
    fars: tuple[float, ...] = FARS,
    rule: str = "roc",
    resamples: int = RESAMPLES,
    seed: int = 0,
    tick: Tick = silent,
) -> Verification:
    """Everything that 1:1 comparisons say; no intervals where `resamples` is 0."""
    if rule not in RULES:
        raise ValueError(f"no such rule: {rule}")
    why = undefined(scores)
    n, m = scores.n_impostor, scores.n_genuine
    notes = []
    if resamples and not why and one_person(scores):
        resamples = 0
        notes.append(tr("All genuine pairs are of one person, so how far a number may move is not known."))
    draws = None
    if resamples and not why:
        draws = bootstrap.draw(scores, resamples=resamples, seed=seed, tick=tick)
    sample = _Sample(scores, draws, tick)
    points = tuple(_point(sample, target, rule) for target in fars)
    common: dict[str, Any] = {
        "n_genuine": m,
        "n_impostor": n,
        "n_invalid": len(scores.invalid),
        "rule": rule,
        "points": points,
        "curve": _curve(scores, draws, tick=tick),
        "histogram": histogram(scores),
        "smallest_far": 3 / n if n else None,
        "folds": _folds(scores, resamples=resamples, seed=seed, tick=tick),
        "resampled": draws.how if draws is not None else "",
        "resamples": len(draws) if draws is not None else 0,
        "spread": _spread(draws) if draws is not None else None,
    }
    if why:
        none = Measure.none(why, n=n + m)
        return Verification(
            eer=none, eer_threshold=None, auc=none, d_prime=none, fmr100=none, fmr1000=none,
            best=Accuracy("best", none, None), **common,
        )  # fmt: skip
    steps = scores.steps
    at = _best(steps.impostor, steps.genuine)[1]
    auc = _measure(*sample.over(_auc), n=n + m, of=min(n, m))
    if auc.value is not None and auc.value < 0.5:
        notes.append(tr("Genuine pairs score lower than impostor pairs: are these distances instead of similarities?"))
    return Verification(
        eer=_measure(*sample.over(_eer_value), n=n + m, of=min(n, m)),
        eer_threshold=float(steps.threshold[_eer(steps.impostor, steps.genuine)]),
        auc=auc,
        d_prime=_d_prime(scores, draws),
        fmr100=_refused(sample, 1e-2),
        fmr1000=_refused(sample, 1e-3),
        best=Accuracy(
            "best",
            _measure(*sample.over(lambda fa, ta: _best(fa, ta)[0]), n=n + m, of=n + m),
            float(steps.threshold[at]) if at >= 0 else None,
        ),
        notes=tuple(notes),
        **common,
    )


def drawn(
    scores: Scores,
    target: float,
    *,
    rule: str = "roc",
    resamples: int = RESAMPLES,
    seed: int = 0,
    tick: Tick = silent,
) -> tuple[OperatingPoint, NDArray[np.float64]]:
    """One operating point, and its TAR in (B,) draws of identities: the same draws for all tests of the same people.

    No draws where nothing can be said of them.
    """
    draws = None
    if resamples and not undefined(scores) and not one_person(scores):
        draws = bootstrap.draw(scores, resamples=resamples, seed=seed, tick=tick)
    sample = _Sample(scores, draws, tick)
    found = _point(sample, target, rule)
    return found, sample.over(_tar(rule, target))[1] if draws is not None else np.zeros(0)


def _refused(sample: _Sample, target: float) -> Measure:
    """FNMR at the lowest threshold with FMR <= target."""
    value, draws = sample.over(_tar("roc", target))
    scores = sample.scores
    why = support(target, scores.n_impostor)[1]
    return _measure(1 - value, 1 - draws, n=scores.n_genuine, why=why, of=scores.n_genuine)


def telling_point(verified: Verification) -> OperatingPoint | None:
    """The operating point at which to look at parts: the lowest rate with some false matches to divide among them."""
    points = [one for one in verified.points if one.tar.defined and one.threshold is not None]
    points.sort(key=lambda one: -one.target)
    enough = [one for one in points if one.false_matches >= ENOUGH]
    return enough[-1] if enough else points[-1] if points else None


def compare(
    a: Scores,
    b: Scores,
    *,
    fars: tuple[float, ...] = FARS,
    rule: str = "roc",
    resamples: int = RESAMPLES,
    seed: int = 0,
    tick: Tick = silent,
) -> Paired:
    """B minus A on the pairs that both could compare; every draw is used for both."""
    if rule not in RULES:
        raise ValueError(f"no such rule: {rule}")
    a, b, notes = _shared(a, b)
    n, m = min(a.n_impostor, b.n_impostor), min(a.n_genuine, b.n_genuine)
    why = undefined(a) or undefined(b)
    if why:
        none = Measure.none(why)
        return Paired(tuple(Difference(x, none) for x in fars), none, none, m, n, notes)
    samples = []
    known = np.union1d(a.ids, b.ids)
    for scores in (a, b):
        draws = None
        if resamples and not one_person(scores):
            by_pair = bootstrap.identities_of(scores) is None and scores.bulk is None
            numbers = _key(scores, known) if by_pair else None
            draws = bootstrap.draw(scores, resamples=resamples, seed=seed, pairwise=numbers, tick=tick)
        samples.append(_Sample(scores, draws, tick))

    def difference(statistic: Callable[[Counts, Counts], float], *, count: int, why: str = "") -> Measure:
        (old, old_draws), (new, new_draws) = (sample.over(statistic) for sample in samples)
        if len(old_draws) != len(new_draws):
            old_draws = new_draws = np.zeros(0)
        return _measure(new - old, new_draws - old_draws, n=count, why=why)

    points = tuple(Difference(x, difference(_tar(rule, x), count=m, why=support(x, n)[1])) for x in fars)
    eer = difference(_eer_value, count=n + m)
    return Paired(points, eer, difference(_auc, count=n + m), m, n, notes)


def _key(scores: Scores, known: Ids) -> NDArray[np.int64]:
    """(P,) one number for the two things compared, whichever comes first; `known` are all ids, ascending.

    Of their places: ids have 63 bits, so that a product of two would be that of others too.
    """
    place = np.searchsorted(known, scores.ids)
    one, other = place[scores.first], place[scores.second]
    return np.asarray(np.minimum(one, other) * len(known) + np.maximum(one, other), np.int64)


def _shared(a: Scores, b: Scores) -> tuple[Scores, Scores, tuple[str, ...]]:
    """Both, with only the pairs of the other; and what could not be made equal."""
    if a.bulk is None and b.bulk is None:
        known = np.union1d(a.ids, b.ids)
        keys = [_key(scores, known) for scores in (a, b)]
        if len(keys[0]) == len(keys[1]) and np.array_equal(np.sort(keys[0]), np.sort(keys[1])):
            return a, b, ()
        in_a, in_b = np.isin(keys[0], keys[1]), np.isin(keys[1], keys[0])
        dropped = int((~in_a).sum() + (~in_b).sum())
        notes = (tr("{n} pairs that only one model could compare are left out of the difference", n=dropped),)
        return choose(a, np.flatnonzero(in_a)), choose(b, np.flatnonzero(in_b)), notes if dropped else ()
    if np.array_equal(np.setdiff1d(a.ids, a.invalid), np.setdiff1d(b.ids, b.invalid)):
        return a, b, ()
    return a, b, (tr("the models could not read the same faces; too many pairs to leave out those of one model"),)
