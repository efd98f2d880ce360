"""Jury: how each part of an embedding votes on a pair, and what becomes of the score when some are left out.

Computes    score = sum over the parts kept of votes (see `parts`); threshold t at a FAR: of the pool's impostors the
            (k + 1)-th highest score, k = floor(FAR n); same person: score above it
            fair share of part k in the threshold: m_k + (t - sum of m) / |S|, m_k its mean vote on impostors; a part
            disagrees where its vote lies on the other side of its share than the score of the threshold
            rank of a face: how many others score higher with the query, plus one, the query itself left out
            Recall@1: share of queries that find a face of the same person first, see `part_search`
Shapes      votes (K,), products (N, K), kept (K,) bool
Reference   Shi, Yu, Sohn, Chandraker, Jain, "Towards Universal Representation Learning for Deep Face Recognition",
            CVPR 2020
Departs     rates come from a pool of pairs, not from all; the Measure says of how many, and of TAR nothing more: it is
            read off while boxes are ticked
            a part that is left out says what it would add if it alone came back: its vote among the parts kept and
            itself. It neither counts nor disagrees
            without parts, or without the confidence of a face that a vote needs, there is no score: NaN, and why
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from facelens.analyses import part_search
from facelens.analyses.measure import Measure
from facelens.analyses.parts import BLOCK, Floats, Parts, parts_of, pool, votes_between
from facelens.analyses.verification import support
from facelens.errors import InputError
from facelens.features.featureset import FeatureSet
from facelens.images.faceset import Ids, Rows
from facelens.progress import Tick, silent
from facelens.words import tr

Array = NDArray[np.float64]
Kept = NDArray[np.bool_]
Numbers = NDArray[np.floating]

SOME_GENUINE, SOME_IMPOSTOR = 10_000, 30_000  # pairs that an average is taken over
QUERIES = 2_000  # that Recall@1 is counted over
LOOKS = 400_000_000  # comparisons of parts by likelihood, which take longer: fewer queries where there are more
ROUNDING = 1e-6  # of scores that were added up in different ways
_LEAST = 1e-12


@dataclass(frozen=True, eq=False)
class Ruling:
    """What is decided at a FAR with some parts kept."""

    kept: NDArray[np.bool_]  # (K,)
    far: float
    threshold: float | None  # None where the pool has too few impostors for this FAR
    tar: Measure  # over the pool
    typical: Array  # (K,) mean vote on impostor pairs
    genuine: Array  # (K,) mean vote on genuine pairs
    share: Array  # (K,) of each part in the threshold, NaN for those left out and without a threshold
    why: str = ""  # there is no threshold


@dataclass(frozen=True, eq=False)
class Verdict:
    """One pair."""

    query: int  # ids
    gallery: int
    genuine: bool | None  # whether they are the same person; None: nobody knows
    votes: Array  # (K,) adding up to the score; parts left out: what they would say, see `kept`
    kept: NDArray[np.bool_]
    score: float
    whole: float  # the score with all parts
    same: bool | None  # as decided; None without a threshold
    disagree: tuple[int, ...]  # parts whose vote speaks against the decision
    why: str = ""  # there is no score


@dataclass(frozen=True)
class Standing:
    """Where the gallery face of a pair stands in the query's list, with all parts and with those kept."""

    before: int  # 0: it has no score
    after: int
    of: int  # faces in the list
    mate_before: int  # the first face of the query's person, 0 = there is none
    mate_after: int


@dataclass(frozen=True, eq=False)
class Average:
    """Votes over many pairs."""

    which: str  # of WHICH
    votes: Array  # (K,) mean
    low: Array  # (K,) quartiles
    high: Array
    n: int  # pairs
    among: str  # in words: among which pairs
    why: str = ""  # there is none


WHICH = ("false matches", "false non-matches", "genuine", "impostor")


# Votes of many pairs


def _surety(parts: Parts) -> Floats:
    """(N, K) log sigma^2, which some ways to match need."""
    if parts.log_variance is None:
        raise InputError(
            tr("This model does not say how sure its parts are."), hint=tr("Match by cosine, or choose another model.")
        )
    return parts.log_variance


def _scaled(parts: Parts, rows: Rows | slice, *, match: str) -> tuple[Floats | None, Floats]:
    """(n, K) what a part is multiplied by before a cosine, up to a factor of each face, and its squared length then.

    None: by 1.
    """
    if match not in ("cosine", "weighted"):
        raise ValueError(f"{match!r} is no cosine")
    square = parts.square[rows]
    if match == "cosine":
        return None, square
    surety = _surety(parts)[rows]
    known = np.isfinite(surety)
    mean = np.where(known, surety, 0).sum(1) / np.maximum(known.sum(1), 1)
    weights = np.asarray(np.exp((mean[:, None] - surety) / 2), np.float32)
    return weights, square * weights**2


def _votes(parts: Parts, first: Rows, second: Rows, product: Numbers, *, match: str, kept: Kept) -> Array:
    """(n, K) votes on pairs of rows; those of the parts left out as if each alone came back."""
    if match == "likelihood":
        return _likelihoods(parts, first, second, product)
    found, lengths = np.asarray(product, np.float64), []
    for rows in (first, second):
        weights, square = _scaled(parts, rows, match=match)
        found = found if weights is None else found * weights
        mass = np.asarray(square, np.float64)
        lengths.append(np.where(kept, mass, 0).sum(1, keepdims=True) + np.where(kept, 0, mass))
    return np.asarray(found / np.maximum(np.sqrt(lengths[0] * lengths[1]), _LEAST))


def _likelihoods(parts: Parts, first: Rows, second: Rows, product: Numbers) -> Array:
    """(n, K) votes by likelihood, which are the same whoever else votes; NaN where a confidence is not known."""
    with np.errstate(invalid="ignore"):
        return votes_between(parts, first, second, product, match="likelihood")


class _Sums:
    """(n, K) what is added up of each pair; where a part has nothing to go by (NaN), a pair that needs it is lost."""

    def __init__(self, summands: Numbers) -> None:
        unknown = np.isnan(summands)
        self._gappy = np.flatnonzero(unknown.any(1))
        self._gaps = unknown[self._gappy]
        self.summands = np.nan_to_num(summands) if len(self._gappy) else summands

    def of(self, kept: Kept) -> Numbers:
        """(n,) over the parts kept."""
        found: Numbers = self.summands @ kept.astype(self.summands.dtype)
        return found

    def lost(self, kept: Kept) -> Rows:
        """Pairs of which a part that is kept says nothing."""
        return self._gappy[(self._gaps & kept).any(1)]


def _inverse(mass: Floats, kept: Kept) -> Floats:
    """(N,) 1 / the length of each face with the parts kept."""
    length = np.sqrt(mass @ kept.astype(np.float32))
    return np.asarray(1 / np.maximum(length, np.float32(_LEAST)), np.float32)


class Bench:
    """The pool of pairs, brought to where only sums are left to take: a ruling takes milliseconds.

    Make it once for the parts and a match, in a thread; ask it whenever another part is left out.
    """

    def __init__(self, parts: Parts, match: str) -> None:
        self._first, self._second = first, second = parts.pool.first, parts.pool.second
        self._genuine = parts.pool.genuine
        self._mass: Floats | None = None
        summands: Numbers = parts.pool.products
        if match == "likelihood":
            summands = _likelihoods(parts, first, second, summands)
        else:
            weights, mass = _scaled(parts, slice(None), match=match)
            self._mass = np.nan_to_num(mass)
            summands = summands if weights is None else summands * weights[first] * weights[second]
        self._sums = _Sums(summands)

    def _factor(self, kept: Kept) -> Numbers:
        """(P,) what turns summands into votes."""
        if self._mass is None:
            return np.ones(len(self._first))
        inverse = _inverse(self._mass, kept)
        return inverse[self._first] * inverse[self._second]

    def scores(self, kept: Kept) -> Numbers:
        """(P,) of the pairs of the pool; NaN: none."""
        found = self._factor(kept) * self._sums.of(kept)
        found[self._sums.lost(kept)] = np.nan
        return found

    def ruling(self, *, kept: Kept, far: float) -> Ruling:
        """The threshold at a FAR with some parts kept, and what it accepts."""
        kept = np.asarray(kept, bool)
        nothing = np.full(len(kept), np.nan)
        if not kept.any():
            why = tr("no part votes")
            return Ruling(kept, far, None, Measure.none(why), nothing, nothing, nothing, why)
        factor = self._factor(kept)
        score = factor * self._sums.of(kept)
        genuine, impostor = self._genuine, ~self._genuine
        if len(lost := self._sums.lost(kept)):
            genuine, impostor = genuine.copy(), impostor.copy()
            genuine[lost] = impostor[lost] = False
        typical, own = (np.where(kept, self._mean(factor * some), np.nan) for some in (impostor, genuine))
        others, n = score[impostor], int(np.count_nonzero(impostor))
        n_genuine = int(np.count_nonzero(genuine))
        status, why = support(far, n) if n else ("undefined", tr("there is no impostor pair"))
        if status != "ok":
            return Ruling(kept, far, None, Measure.none(why, n=n_genuine), typical, own, nothing, why)
        place = max(0, n - 1 - int(np.floor(far * n + 1e-9)))
        threshold = float(np.partition(others, place)[place])
        accepted = int(np.count_nonzero(score[genuine] > threshold))
        tar = Measure(accepted / n_genuine, n=n_genuine) if n_genuine else Measure.none(tr("there is no genuine pair"))
        share = typical + (threshold - float(np.nansum(typical))) / int(kept.sum())
        return Ruling(kept, far, threshold, tar, typical, own, share)

    def _mean(self, factor: Numbers) -> Array:
        """(K,) the mean of summands times factor over the pairs whose factor is not 0; NaN over none."""
        summands, n = self._sums.summands, int(np.count_nonzero(factor))
        if not n:
            return np.full(summands.shape[1], np.nan)
        step = 4096  # float32 adds up so many without harm
        total = np.zeros(summands.shape[1])
        for start in range(0, len(factor), step):
            total += factor[start : start + step] @ summands[start : start + step]
        return total / n


def ruling(parts: Parts, *, match: str, kept: Kept, far: float) -> Ruling:
    """The threshold at a FAR over the pool with some parts kept, once; a `Bench` answers again and again."""
    return Bench(parts, match).ruling(kept=kept, far=far)


# One pair


def _above(score: Numbers | float, threshold: float) -> Kept:
    """Whether a score is above by more than rounding: the pair that set the threshold is not."""
    return np.asarray(np.asarray(score) - threshold > ROUNDING * max(1.0, abs(threshold)))


def _pair(parts: Parts, query: int, gallery: int) -> Rows:
    rows = parts.rows_of(np.array([query, gallery], np.int64))
    if len(rows) < 2:
        raise InputError(tr("One of the two faces has no vector of this model."), hint=tr("Embed the gallery with it."))
    return rows


def verdict(
    parts: Parts, features: FeatureSet, query: int, gallery: int, *, match: str, kept: Kept, ruling: Ruling
) -> Verdict:
    """How the parts vote on two faces, and what that decides at the threshold of a ruling on the same parts."""
    kept = np.asarray(kept, bool)
    rows = _pair(parts, query, gallery)
    a, b = np.asarray(parts_of(features, parts, parts.ids[rows]), np.float64)
    pair = rows[:1], rows[1:], np.einsum("kd,kd->k", a, b)[None]
    votes = _votes(parts, *pair, match=match, kept=kept)[0]
    whole = float(_votes(parts, *pair, match=match, kept=np.ones_like(kept))[0].sum())
    score = float(votes[kept].sum()) if kept.any() else np.nan
    people = parts.identity[rows]
    genuine = None if people.min() < 0 else bool(people[0] == people[1])
    why = ""
    if np.isnan(score):
        why = tr("a face has no usable confidence") if kept.any() else tr("no part votes")
    same = None if ruling.threshold is None or why else bool(_above(score, ruling.threshold))
    against = np.zeros(len(kept), bool) if same is None else kept & ((votes > ruling.share) != same)
    disagree = tuple(int(k) for k in np.flatnonzero(against))
    return Verdict(query, gallery, genuine, votes, kept, score, whole, same, disagree, why)


class Lineup:
    """All faces before one query, brought to where only sums are left to take, as in `Bench`.

    `products` (N, K) are those of the query with every face of `parts`.
    """

    def __init__(self, parts: Parts, products: Floats, query: int, *, match: str) -> None:
        self._parts, self._query = parts, query
        self._row = row = int(_pair(parts, query, query)[0])
        self._mass: Floats | None = None
        summands: Numbers = products
        if match == "likelihood":
            summands = _likelihoods(parts, np.array([row]), np.arange(len(products)), products)
        else:
            weights, mass = _scaled(parts, slice(None), match=match)
            self._mass = np.nan_to_num(mass)
            summands = products if weights is None else products * (weights * weights[row])
        self._sums = _Sums(summands)
        person = parts.identity[row]
        self._mates = np.flatnonzero(parts.identity == person) if person >= 0 else np.zeros(0, np.int64)
        self._whole = self._scores(np.ones(products.shape[1], bool))

    def _scores(self, kept: Kept) -> Numbers:
        """(N,) up to the query's own length, which is the same for all; -inf: no score, and the query itself."""
        if not kept.any():
            return np.full(len(self._parts.ids), -np.inf)
        score = self._sums.of(kept)
        if self._mass is not None:
            score = score * _inverse(self._mass, kept)
        score[self._sums.lost(kept)] = -np.inf
        score[self._row] = -np.inf
        return score

    def standing(self, gallery: int, *, kept: Kept) -> Standing:
        """Where a face and the first mate stand in the list."""
        row = int(_pair(self._parts, self._query, gallery)[1])
        places = []
        for score in (self._whole, self._scores(np.asarray(kept, bool))):
            mate = float(score[self._mates].max(initial=-np.inf))
            places += [_rank(score, float(score[row])), _rank(score, mate)]
        before, mate_before, after, mate_after = places
        return Standing(before, after, len(self._parts.ids) - 1, mate_before, mate_after)


def _rank(score: Numbers, one: float) -> int:
    return 1 + int(np.count_nonzero(score > one)) if np.isfinite(one) else 0


def standing(parts: Parts, products: Floats, query: int, gallery: int, *, match: str, kept: Kept) -> Standing:
    """Where a face and the first mate stand in the query's list, once; a `Lineup` answers again and again."""
    return Lineup(parts, products, query, match=match).standing(gallery, kept=kept)


# Many pairs


def average(
    parts: Parts,
    features: FeatureSet,
    *,
    which: str,
    ids: Ids,
    match: str,
    kept: Kept,
    ruling: Ruling,
    bench: Bench | None = None,
) -> Average:
    """Votes over the pairs of one kind among some faces; over the pool where all are given or fewer than two.

    Compared with what is typical of impostors (`Ruling.typical`) it tells which part causes false matches. A `bench`
    of the same parts and match saves making one.
    """
    if which not in WHICH:
        raise ValueError(f"which is one of {WHICH}, not {which!r}")
    kept = np.asarray(kept, bool)
    rows = np.unique(parts.rows_of(ids))
    pooled = len(rows) < 2 or len(rows) == len(parts.ids)
    if pooled:
        first, second, genuine, product = parts.pool.first, parts.pool.second, parts.pool.genuine, parts.pool.products
        among = tr("{n} pairs that stand for the whole gallery", n=len(first))
    else:
        a, b, genuine = pool(parts.identity[rows], genuine=SOME_GENUINE, impostor=SOME_IMPOSTOR)
        first, second, product = rows[a], rows[b], _products(parts, features, rows, (a, b))
        among = tr("{n} pairs among {m} selected faces", n=len(first), m=len(rows))
    nothing = np.full(len(kept), np.nan)

    def none(why: str) -> Average:
        return Average(which, nothing, nothing, nothing, 0, among, why)

    if not kept.any():
        return none(tr("no part votes"))
    wrong, t = which.startswith("false"), ruling.threshold
    if wrong and t is None:
        return none(ruling.why)
    wanted = np.flatnonzero(genuine == (which in ("genuine", "false non-matches")))
    if wrong and pooled:
        wanted = wanted[_mistaken(which, (bench or Bench(parts, match)).scores(kept)[wanted], t)]
    if len(wanted) > SOME_GENUINE + SOME_IMPOSTOR:
        wanted = np.sort(np.random.default_rng(0).choice(wanted, SOME_GENUINE + SOME_IMPOSTOR, replace=False))
    votes = _votes(parts, first[wanted], second[wanted], product[wanted], match=match, kept=kept)
    if wrong and not pooled:
        votes = votes[_mistaken(which, votes[:, kept].sum(1), t)]
    votes = votes[np.isfinite(votes).all(1)]  # where a part has nothing to go by, nothing is added up
    if not len(votes):
        return none(tr("there is none among these pairs"))
    low, high = np.percentile(votes, (25, 75), axis=0)
    return Average(which, votes.mean(0), low, high, len(votes), among)


def _mistaken(which: str, score: Numbers, threshold: float | None) -> Kept:
    """(n,) which pairs are decided wrongly."""
    assert threshold is not None
    return _above(score, threshold) if which == "false matches" else ~_above(score, threshold) & np.isfinite(score)


def _products(parts: Parts, features: FeatureSet, rows: Rows, pairs: tuple[Rows, Rows]) -> Floats:
    """(n, K) f_k . f_k of pairs of `rows`, given by their places among them."""
    (a, b), K = pairs, parts.layout.parts
    if K * len(rows) ** 2 <= BLOCK:  # few faces are in many pairs: all with all at once
        found = parts_of(features, parts, parts.ids[rows])
        every = np.matmul(found.transpose(1, 0, 2), found.transpose(1, 2, 0))  # (K, n, n)
        return np.asarray(every[:, a, b].T, np.float32)
    made = np.empty((len(a), K), np.float32)
    step = max(1, BLOCK // max(1, parts.layout.dimensions))
    for start in range(0, len(made), step):
        some = slice(start, start + step)
        one, other = (parts_of(features, parts, parts.ids[rows[side[some]]]) for side in (a, b))
        made[some] = np.einsum("nkd,nkd->nk", one, other)
    return made


# Searching


def recall(
    parts: Parts,
    features: FeatureSet,
    *,
    match: str,
    kept: Kept,
    queries: int = QUERIES,
    seed: int = 0,
    tick: Tick = silent,
) -> Measure:
    """Recall@1 of the parts kept: at most so many faces search among all that are known by name."""
    kept = np.asarray(kept, bool)
    if not kept.any():
        return Measure.none(tr("no part votes"))
    surety = None if match == "cosine" else np.where(kept, _surety(parts), 0)  # what is left out may be unknown
    made = part_search.gallery(
        features,
        parts.ids,
        parts.identity,
        parts.layout,
        rotation=parts.rotation,
        match=match,
        log_variance=surety,
        tick=tick,
    )
    if made.why:
        return Measure.none(made.why)
    if match == "likelihood":
        queries = min(queries, max(50, LOOKS // (len(made) * int(kept.sum()))))
    asking = made.asking
    if len(asking) > queries:
        asking = np.sort(np.random.default_rng(seed).choice(asking, queries, replace=False))
    found, square, variance = made.parts[kept], made.square[kept], made.variance
    if variance is not None:
        variance = variance[kept]
    else:  # a cosine of some parts is one of the vector that they make together
        found = found.transpose(1, 0, 2).reshape(1, len(made), -1)
        square = square.sum(0, keepdims=True)
    some = part_search.Gallery(made.ids, made.identity, np.ascontiguousarray(found), square, variance)
    ranks = part_search.ranks(some, asking, np.ones((1, len(found)), bool), tick=tick)
    (first,) = part_search.shares(ranks == 1, made.identity[asking], seed=seed)
    return first
