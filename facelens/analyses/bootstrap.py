"""Bootstrap: how far a number may move when other people had been photographed.

Computes    B times: draw C identities with replacement; identity c then counts w[c] times. A genuine pair of c counts
            w[c], an impostor pair of c and d counts w[c] w[d], a query of c counts w[c]. Interval: 2.5 % and 97.5 %
            of the statistic over the draws; a rate that no draw moves from 0 or 1 reaches 3 / n from it (rule of 3).
Shapes      weights (B, C) float32; Draws: accepted pairs (B, T) at T thresholds, descending
Reference   Bolle, Ratha and Pankanti, Error analysis of pattern recognition systems: the subsets bootstrap, CVIU 2004
Departs     Where no identity is known, pairs are drawn instead (each kind by itself), and the result says so.
            Thresholds: all where there are at most `THRESHOLDS`; else the lowest rates each, the others in steps of
            about 1 % of the rate.
            Impostors: the `EXACT` highest as above; those below to first order, sum of s[c] w[c] - n, where s[c]
            counts the pairs of c: what is left out is of relative size 1 / sqrt(n). Those that are only counted
            keep the shape of their distribution, and weigh what is left of the total, known from the sizes of
            the identities.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from facelens.analyses.plan import RESAMPLES
from facelens.analyses.scores import Scores, Steps
from facelens.progress import Tick, silent
from facelens.words import tr

LEVEL = 0.95
THRESHOLDS = 3000  # at which draws are counted
EXACT = 1 << 17  # impostor pairs whose weight is worked out pair by pair
_BLOCK = 1 << 23  # numbers held at a time while pairs are weighed


def identity_weights(n: int, *, resamples: int = RESAMPLES, seed: int = 0) -> NDArray[np.float32]:
    """(B, n) how often each identity is drawn; the same numbers for the same n, so two models can be paired."""
    generator = np.random.default_rng(seed)
    weights = np.zeros((resamples, n), np.float32)
    if n:
        for row in weights:
            row[:] = np.bincount(generator.integers(0, n, n, dtype=np.int32), minlength=n)
    return weights


def interval(draws: NDArray[np.float64], *, level: float = LEVEL) -> tuple[float, float] | None:
    """The middle `level` of the draws that are numbers; None where fewer than half of them are."""
    usable = draws[np.isfinite(draws)]
    if len(usable) < max(2, len(draws) / 2):
        return None
    low, high = np.quantile(usable, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def rate_interval(draws: NDArray[np.float64], n: int) -> tuple[float, float] | None:
    """`interval` of a rate over `n` things. Where every draw gives 0, or every draw 1, the rule of 3 says how far.

    >>> rate_interval(np.ones(100), 30), rate_interval(np.zeros(100), 2)
    ((0.9, 1.0), (0.0, 1.0))
    """
    limits = interval(draws)
    return limits if limits is None else widened(*limits, n)


def widened(low: float, high: float, n: int) -> tuple[float, float]:
    """Limits of a rate over `n` things; those that reach 0 or 1 are no narrower than the rule of 3 says.

    One error among n has about the same limit, because its person is drawn up to three times; so a rate that is higher
    never has a limit that is lower.

    >>> widened(1.0, 1.0, 30), widened(0.98, 1.0, 30), widened(0.6, 1.0, 30)
    ((0.9, 1.0), (0.9, 1.0), (0.6, 1.0))
    """
    reach = min(1.0, 3 / n) if n else 1.0
    at_zero, at_one = abs(low) < 1e-12, abs(high - 1) < 1e-12  # but for the last digits of a sum
    return (min(low, 1 - reach) if at_one else low), (max(high, reach) if at_zero else high)


@dataclass(frozen=True, eq=False)
class Draws:
    """Every draw as what T thresholds accept in it, by descending threshold; the last one accepts everything."""

    how: str  # "identities" or "pairs": what was drawn
    places: NDArray[np.int64]  # (T,) of the steps of the scores
    impostor: NDArray[np.float64]  # (B, T)
    genuine: NDArray[np.float64]  # (B, T)

    def __len__(self) -> int:
        return len(self.impostor)


def thin(steps: Steps, limit: int) -> NDArray[np.int64]:
    """At most `limit` places of `steps`: low rates first, then even steps of both rates; always the first and last.

    Of the highest impostor scores both the step itself and the one above it are taken, so that every rule has its
    choice there.
    """
    T = len(steps.threshold)
    if limit >= T:
        return np.arange(T, dtype=np.int64)
    jumps = np.flatnonzero(np.diff(steps.impostor, prepend=0))
    each, even = limit // 6, limit // 3
    single = jumps[:each]
    dense = jumps[each:]
    if len(dense):
        accepted = steps.impostor[dense]
        aims = np.geomspace(accepted[0], accepted[-1], even)
        dense = dense[np.minimum(np.searchsorted(accepted, aims), len(dense) - 1)]
    aims = np.linspace(0, steps.genuine[-1], limit - 2 * len(single) - min(len(dense), even) - 2)
    quantiles = np.minimum(np.searchsorted(steps.genuine, aims), T - 1)
    places = np.unique(np.concatenate([single, np.maximum(single - 1, 0), dense, quantiles, [0, T - 1]]))
    return places.astype(np.int64)


def identities_of(scores: Scores) -> tuple[NDArray[np.int32], int] | None:
    """(N,) codes 0..C - 1 of the identities that are compared, and C; None where one is not known."""
    compared = np.zeros(len(scores.ids), bool)
    compared[scores.first] = True
    compared[scores.second] = True
    if scores.bulk is not None:
        # All pairs of known people were compared, also those of faces that appear in no kept pair.
        compared |= ~np.isin(scores.ids, scores.invalid) & (scores.identity >= 0)
    if not compared.any() or (scores.identity[compared] < 0).any():
        return None
    present, codes = np.unique(scores.identity[compared], return_inverse=True)
    rows = np.full(len(scores.ids), -1, np.int32)
    rows[compared] = codes
    return rows, len(present)


def draw(
    scores: Scores,
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
    pairwise: NDArray[np.int64] | None = None,
    exact: int = EXACT,
    thresholds: int = THRESHOLDS,
    tick: Tick = silent,
) -> Draws:
    """Draw identities, or pairs where not all identities are known.

    `pairwise` (P,) gives pairs a number of their own, so that a draw of pairs is the same for two models.
    """
    tick(0, 100, tr("Drawing identities"))
    places = thin(scores.steps, thresholds)
    known = identities_of(scores)
    if known is not None:
        rows, C = known
        weights = identity_weights(C, resamples=resamples, seed=seed)
        impostor, genuine = _weigh(scores, places, rows, weights, exact=exact, tick=tick)
        return Draws("identities", places, impostor, genuine)
    steps = scores.steps
    kinds = []
    generator = np.random.default_rng(seed)
    for number, accepted in enumerate((steps.impostor[places], steps.genuine[places])):
        tick(number, 2, tr("Drawing pairs"))
        counts = np.diff(accepted, prepend=0)
        n = int(counts.sum())
        if pairwise is not None:
            wanted = scores.genuine if number else ~scores.genuine
            kinds.append(_weigh_pairs(scores, places, pairwise, wanted, resamples=resamples, seed=seed + number))
        elif n:
            kinds.append(np.cumsum(generator.multinomial(n, counts / n, size=resamples), axis=1).astype(np.float64))
        else:
            kinds.append(np.zeros((resamples, len(places))))
    tick(2, 2, tr("Drawing pairs"))
    return Draws("pairs", places, kinds[0], kinds[1])


def _weigh(
    scores: Scores,
    places: NDArray[np.int64],
    rows: NDArray[np.int32],
    weights: NDArray[np.float32],
    *,
    exact: int,
    tick: Tick,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Accepted impostor and genuine pairs (B, T) of every draw."""
    from scipy.sparse import csr_array

    note = tr("Drawing identities")
    tick(0, 100, note)
    B, C = weights.shape
    T = len(places)
    steps = scores.steps
    kept = steps.kept[places]
    by_identity = np.ascontiguousarray(weights.T)
    # Pairs come by descending score, so each threshold takes the pairs up to kept[t].
    bins = np.repeat(np.arange(T), np.diff(kept, prepend=0))
    first, second = rows[scores.first[: len(bins)]], rows[scores.second[: len(bins)]]

    at = np.flatnonzero(scores.genuine[: len(bins)])
    of_identity = csr_array((np.ones(len(at), np.float32), (bins[at], first[at])), shape=(T, C))
    genuine = _running(of_identity @ by_identity)
    tick(10, 100, note)

    at = np.flatnonzero(~scores.genuine[: len(bins)])
    # The border lies between two thresholds, so that every bin is of one kind.
    stop = len(at) if len(at) <= exact else int(np.searchsorted(at, kept[bins[at[exact]]], side="left"))
    tail, others = at[:stop], at[stop:]
    mass = np.zeros((T, B), np.float32)
    block = max(1, _BLOCK // max(B, 1))
    for start in range(0, len(tail), block):
        tick(10 + 60 * start // len(tail), 100, note)
        part = tail[start : start + block]
        pair_weights = by_identity[first[part]]
        pair_weights *= by_identity[second[part]]
        low, high = int(bins[part[0]]), int(bins[part[-1]]) + 1
        ones = np.ones(len(part), np.float32)
        into = csr_array((ones, (bins[part] - low, np.arange(len(part)))), shape=(high - low, len(part)))
        mass[low:high] += into @ pair_weights
    tick(70, 100, note)
    if len(others):
        low, high = int(bins[others[0]]), int(bins[others[-1]]) + 1
        cells = (bins[others] - low) * np.int64(C)
        counts = np.bincount(cells + first[others], minlength=(high - low) * C)
        counts += np.bincount(cells + second[others], minlength=(high - low) * C)
        shares = counts.reshape(high - low, C).astype(np.float32)
        mass[low:high] += shares @ by_identity - shares.sum(axis=1, keepdims=True) / 2
    tick(90, 100, note)
    if scores.bulk is not None:
        counted = np.diff(steps.impostor[places] - (kept - scores.genuine_above[kept]), prepend=0)
        total = _impostors(scores, rows, weights)
        left = np.maximum(total - mass.sum(axis=0, dtype=np.float64), 0)
        mass += (counted / max(1, counted.sum())).astype(np.float32)[:, None] * left.astype(np.float32)
    impostor = np.maximum.accumulate(_running(mass), axis=1)
    tick(100, 100, note)
    return impostor, genuine


def _running(mass: NDArray[np.float32]) -> NDArray[np.float64]:
    return np.ascontiguousarray(np.cumsum(mass, axis=0, dtype=np.float64).T)


def _impostors(scores: Scores, rows: NDArray[np.int32], weights: NDArray[np.float32]) -> NDArray[np.float64]:
    """(B,) weight of all impostor pairs, from the number of rows of each identity; all pairs were compared."""
    C = weights.shape[1]
    W = weights.astype(np.float64)
    if scores.queries:  # two sets, each of one against each of the other
        left, right = rows[: scores.queries], rows[scores.queries :]
        queries, gallery = (np.bincount(side[side >= 0], minlength=C).astype(np.float64) for side in (left, right))
    else:
        queries = gallery = np.bincount(rows[rows >= 0], minlength=C).astype(np.float64)
    ordered = (W @ queries) * (W @ gallery) - (W * W) @ (queries * gallery)
    plain = float(queries.sum() * gallery.sum() - (queries * gallery).sum())
    drawn: NDArray[np.float64] = ordered * (scores.n_impostor / max(plain, 1.0))
    return drawn


def _weigh_pairs(
    scores: Scores,
    places: NDArray[np.int64],
    numbers: NDArray[np.int64],
    wanted: NDArray[np.bool_],
    *,
    resamples: int,
    seed: int,
) -> NDArray[np.float64]:
    """Accepted pairs (B, T) of one kind when pairs are drawn; a pair is known by its number, whatever its score."""
    T = len(places)
    bins = np.repeat(np.arange(T), np.diff(scores.steps.kept[places], prepend=0))
    at = np.flatnonzero(wanted)
    order = at[np.argsort(numbers[at], kind="stable")]
    generator = np.random.default_rng(seed)
    out = np.zeros((resamples, T))
    if len(order):
        of_pair = bins[order]
        for row in out:
            row[:] = np.cumsum(np.bincount(of_pair[generator.integers(0, len(order), len(order))], minlength=T))
    return out
