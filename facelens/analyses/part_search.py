"""Searches by parts: at which rank a face finds one of its own person when only some of the parts have a say.

Computes    score of query i and face j with the parts S kept: sum over S of votes, see `parts`; of a cosine without
            the length of the query, which is the same for all j
            rank of a query: that of the first face of the same person, ties by place, the query itself left out
Shapes      parts (K, G, D / K); kept (S, K) bool; ranks (Q, S) int32
Departs     where queries x faces x choices are too many, queries are drawn by chance; all faces are searched
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from facelens.analyses import bootstrap, similarity
from facelens.analyses.measure import Measure
from facelens.analyses.parts import Floats, Layout, blocks
from facelens.analyses.plan import RESAMPLES
from facelens.analyses.search import pairs_of
from facelens.features.featureset import FeatureSet
from facelens.images.faceset import Ids, Rows
from facelens.progress import Tick, silent
from facelens.words import tr

WORK = 40_000_000_000  # queries x faces x choices of parts: about half a minute
STEP = 400_000_000  # the same between two ticks
FEWEST = 400  # queries that are always asked
MEMORY = 1 << 27  # bytes of votes looked at at once
REACH = 40.0  # of log variances: beyond, single precision ends

Array = NDArray[np.float64]
Choices = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Gallery:
    """Faces of known people, part by part, as a match compares them."""

    ids: Ids  # (G,)
    identity: NDArray[np.int32]  # (G,)
    parts: Floats  # (K, G, D / K)
    square: Floats  # (K, G) that scores are divided by the root of; likelihood: ||f_k||^2
    variance: Floats | None = None  # (K, G), likelihood only

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def asking(self) -> Rows:
        """Rows of those that have somebody to find."""
        _, code, counts = np.unique(self.identity, return_inverse=True, return_counts=True)
        return np.flatnonzero(counts[code] > 1) if len(counts) > 1 else np.zeros(0, np.int64)

    @property
    def why(self) -> str:
        """Why there is nobody to search for, or nothing."""
        if not len(self):
            return tr("nobody is known by name")
        if self.identity.min() == self.identity.max():
            return tr("one identity, so nothing wrong can be found")
        return "" if len(self.asking) else tr("no query has another picture of the same person")


def gallery(
    features: FeatureSet,
    ids: Ids,
    identity: NDArray[np.int32],
    ground: Layout,
    *,
    rotation: Floats | None = None,
    match: str = "cosine",
    log_variance: Floats | None = None,
    tick: Tick = silent,
) -> Gallery:
    """The faces of `ids` that are known by name, and whose confidence is known where the match asks for it."""
    usable = identity >= 0
    if match != "cosine":
        assert log_variance is not None
        usable &= np.isfinite(log_variance).all(1)
    chosen = np.flatnonzero(usable)
    made = np.empty((ground.parts, len(chosen), ground.width), np.float32)
    square = np.empty((ground.parts, len(chosen)), np.float32)
    variance = np.empty_like(square) if match == "likelihood" else None
    rows = features.rows_of(ids[chosen])[0]
    for some, found in blocks(features, rows, ground, rotation, tick=tick):
        surety = None if log_variance is None else log_variance[chosen[some]]
        made[:, some], square[:, some], spread = compared(match, found, surety)
        if variance is not None and spread is not None:
            variance[:, some] = spread
    return Gallery(ids[chosen], identity[chosen], made, square, variance)


def compared(match: str, found: Floats, log_variance: Floats | None) -> tuple[Floats, Floats, Floats | None]:
    """Parts (n, K, d) and log sigma^2 (n, K) as `Gallery` holds them: parts, square, variance."""
    if match == "weighted" and log_variance is not None:
        ratio = (log_variance.mean(1, keepdims=True) - log_variance) / 2
        found = found * np.exp(np.clip(ratio, -REACH, REACH))[..., None]
    square = np.ascontiguousarray(np.einsum("nkd,nkd->kn", found, found))
    parts = np.ascontiguousarray(found.transpose(1, 0, 2))
    if match != "likelihood" or log_variance is None:
        return parts, square, None
    return parts, square, np.ascontiguousarray(np.exp(np.clip(log_variance, -REACH, REACH)).T)


def votes(query: Gallery, other: Gallery) -> Floats:
    """(K, Q, G) what each part of the queries says to each of the others."""
    found: Floats = query.parts @ other.parts.transpose(0, 2, 1)
    if query.variance is not None and other.variance is not None:
        width = other.parts.shape[2]
        for k, block in enumerate(found):
            both = query.variance[k][:, None] + other.variance[k]
            block *= -2
            block += query.square[k][:, None]
            block += other.square[k]
            np.maximum(block, 0, out=block)
            block /= both
            np.log(both, out=both)
            both *= width
            block += both
            block *= -0.5
    return found


def score(query: Gallery, other: Gallery) -> Floats:
    """(Q, G) sums of votes of all parts; of a cosine without the length of the query."""
    found = votes(query, other).sum(0)
    if other.variance is None:
        found /= np.sqrt(np.maximum(other.square.sum(0), 1e-30))
    return np.asarray(found, np.float32)


def drawn(made: Gallery, choices: int, *, seed: int = 0) -> Rows:
    """Rows of the faces that search: all that have somebody to find, or as many as there is time for."""
    every = made.asking
    limit = max(FEWEST, WORK // max(1, len(made) * choices))
    if len(every) <= limit:
        return every
    return np.sort(np.random.default_rng(seed).choice(every, limit, replace=False))


def ranks(made: Gallery, queries: Rows, kept: Choices, *, tick: Tick = silent) -> NDArray[np.int32]:
    """(Q, S) the rank at which each query finds the first face of its person, with each choice of parts."""
    found = np.zeros((len(queries), len(kept)), np.int32)
    if not len(queries) or not len(kept):
        return found
    from facelens.analyses import kernels_parts

    K, G, _ = made.parts.shape
    different, back = _once(kept)
    moves, signs, stops, fresh = _moves(different)
    order, begin, end = pairs_of(made.identity[queries], made.identity)
    even = made.variance is not None or bool(np.ptp(made.square) < 1e-5)  # all of one length: nothing to divide by
    square = np.zeros((0, G), np.float32) if even else made.square
    each = np.empty((len(queries), len(different)), np.int32)
    at_once = max(2, min(MEMORY // (4 * K * G), STEP // (len(different) * G)))
    for here in np.array_split(np.arange(len(queries)), -(-len(queries) // at_once)):
        tick(int(here[0]), len(queries), tr("Searching by parts"))
        some, lines = queries[here], slice(int(here[0]), int(here[-1]) + 1)
        # A product of one row takes another road through BLAS, on which equal faces may differ: two rows or more.
        block = votes(_part(made, some if len(some) > 1 else np.repeat(some, 2)), made)
        block[:, np.arange(len(some)), some] = -np.inf
        arrays = (moves, signs, stops, fresh, order, begin[lines], end[lines], each[lines])
        similarity.in_threads(len(some), kernels_parts.first_right, block, square, *arrays)
    tick(len(queries), len(queries), tr("Searching by parts"))
    found[:] = each[:, back]
    return found


def nearest(made: Gallery, queries: Rows, part: int, *, tick: Tick = silent) -> Rows:
    """(Q,) the face that each query finds first by one part alone, ties by place, itself left out."""
    alone = Gallery(made.ids, made.identity, made.parts[part : part + 1], made.square[part : part + 1])
    found = np.zeros(len(queries), np.int64)
    at_once = max(2, MEMORY // (4 * max(1, len(made))))
    for start in range(0, len(queries), at_once):
        tick(start, len(queries), tr("Searching by parts"))
        some = queries[start : start + at_once]
        block = score(_part(alone, some), alone)
        block[np.arange(len(some)), some] = -np.inf
        found[start : start + at_once] = block.argmax(1)
    return found


def _part(made: Gallery, rows: Rows) -> Gallery:
    variance = None if made.variance is None else made.variance[:, rows]
    return Gallery(made.ids[rows], made.identity[rows], made.parts[:, rows], made.square[:, rows], variance)


def _once(kept: Choices) -> tuple[Choices, NDArray[np.int64]]:
    """The different choices in the order in which they come first, and which of them each is."""
    _, first, back = np.unique(kept, axis=0, return_index=True, return_inverse=True)
    place = np.empty(len(first), np.int64)
    place[np.argsort(first)] = np.arange(len(first))
    return kept[np.sort(first)], place[back.reshape(-1)]


def _moves(kept: Choices) -> tuple[NDArray[np.int64], Floats, NDArray[np.int64], Choices]:
    """What `kernels_parts` takes: each choice from the one before, or from nothing where that is shorter."""
    changed = np.diff(kept.astype(np.int8), axis=0, prepend=np.zeros((1, kept.shape[1]), np.int8))
    fresh = np.abs(changed).sum(1) >= kept.sum(1)
    changed[fresh] = kept[fresh]
    choice, part = np.nonzero(changed)
    stops = np.append(0, np.cumsum(np.bincount(choice, minlength=len(kept))))
    return part.astype(np.int64), changed[choice, part].astype(np.float32), stops.astype(np.int64), fresh


def prefixes(orders: NDArray[np.int64]) -> Choices:
    """(O, K, K) the first 1 to K parts of each order (O, K).

    >>> prefixes(np.array([[1, 0]])).astype(int).tolist()
    [[[0, 1], [1, 1]]]
    """
    place = np.argsort(orders, axis=1)  # of each part in the order
    return np.asarray(place[:, None, :] <= np.arange(orders.shape[1])[None, :, None], np.bool_)


def shares(
    values: Array,
    identity: NDArray[np.int32],
    *,
    why: str = "",
    rates: bool = True,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> tuple[Measure, ...]:
    """The means of (Q, S) values over the queries, with intervals from drawing people; `rates` lie in 0 to 1."""
    n, S = values.shape
    if why or not n:
        return tuple(Measure.none(why or tr("there is no query")) for _ in range(S))
    means = [Measure(float(value), n=n) for value in values.mean(0)]
    people, code = np.unique(identity, return_inverse=True)
    if not resamples or len(people) < 2:
        return tuple(means)
    from scipy.sparse import csr_array

    of = csr_array((np.ones(n), (code, np.arange(n))), shape=(len(people), n))
    weights = bootstrap.identity_weights(len(people), resamples=resamples, seed=seed)
    draws = (weights @ (of @ values)) / (weights @ np.bincount(code))[:, None]
    limits = np.quantile(draws, [(1 - bootstrap.LEVEL) / 2, (1 + bootstrap.LEVEL) / 2], axis=0).T.tolist()
    if rates:
        limits = [bootstrap.widened(low, high, n) for low, high in limits]
    return tuple(mean.with_interval(low, high) for mean, (low, high) in zip(means, limits))
