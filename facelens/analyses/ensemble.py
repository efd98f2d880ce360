"""Ensemble: vectors of several models in one space become one vector each, and say how much the models disagree.

Computes    mean = (1/M) sum_i Z_i, Z_i unit vectors;  e = mean / ||mean||;  variance = (1/M) sum_i ||Z_i - mean||^2
            = 1 - ||mean||^2;  mean over pairs i < j of ||Z_i - Z_j||^2 = 2M / (M - 1) variance
            apart_i = 1 - cosine of Z_i and the mean of the others
            percentile of a value among n = 100 (lower ones + half of those equal to it, itself among them) / n
            Spearman = Pearson correlation of ranks, those of equal values averaged; in a draw each face has the rank
            it has there, as often as it was drawn
Shapes      members M x (N, D) -> vectors (N, D) float32, variance (N,) float64 in [0, 1], apart (M, N) float32
Reference   Shoshan et al., "Asymmetric Image Retrieval with Cross Model Compatible Ensembles", WACV 2024
Departs     none; of the two forms of the spread the variance is kept, `pairwise` makes the other of it
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from facelens.analyses import bootstrap
from facelens.analyses.measure import Measure
from facelens.analyses.plan import RESAMPLES
from facelens.errors import InputError
from facelens.progress import Tick, silent
from facelens.words import tr

Floats = NDArray[np.floating]
Array = NDArray[np.float64]

BLOCK = 1 << 16  # numbers of a member looked at at once: all members stay in the processor's cache
SMALLEST_NORM = 1e-12
DRAWN = 1 << 24  # ranks worked out for an interval: for many faces there are fewer draws


@dataclass(frozen=True, eq=False)
class Ensemble:
    """One vector for each face, and how far its members lie apart; faces that a member does not know are NaN."""

    vectors: NDArray[np.float32]
    variance: NDArray[np.float64]


def combined(members: Sequence[Floats], *, tick: Tick = silent) -> Ensemble:
    """The ensemble of vectors (N, D) that lie in one space already."""
    N, D = _shape(members)
    vectors, variance = np.empty((N, D), np.float32), np.empty(N)
    for some, units in _units(members, tick=tick):
        mean = units.sum(axis=0)
        mean /= len(members)
        squared = np.einsum("nd,nd->n", mean, mean)
        variance[some] = np.clip(1 - squared, 0, 1)
        with np.errstate(invalid="ignore", divide="ignore"):
            vectors[some] = mean / np.sqrt(squared)[:, None]
    return Ensemble(vectors, variance)


def apart(members: Sequence[Floats], *, tick: Tick = silent) -> NDArray[np.float32]:
    """(M, N) 1 - cosine of each member and the mean of the others; NaN where a member is missing or these cancel."""
    N, _ = _shape(members)
    found = np.empty((len(members), N), np.float32)
    for some, units in _units(members, tick=tick):
        total = units.sum(axis=0)
        for one, member in zip(found, units):
            others = total - member
            length = np.sqrt(np.einsum("nd,nd->n", others, others))
            with np.errstate(invalid="ignore", divide="ignore"):
                cosine = np.einsum("nd,nd->n", member, others) / length
            one[some] = np.where(length > SMALLEST_NORM * len(members), 1 - cosine, np.nan)
    return found


def _shape(members: Sequence[Floats]) -> tuple[int, int]:
    """Faces and dimensions of members that can be an ensemble."""
    if len(members) < 2:
        raise InputError(
            tr("Variance needs two models or more."), hint=tr("Load a second checkpoint, or use flip variance.")
        )
    if len({np.shape(one) for one in members}) > 1:
        raise InputError(
            tr("The members of an ensemble need the same faces and dimensions."),
            hint=tr("Map them into one space first."),
        )
    N, D = np.shape(members[0])
    return N, D


def _units(members: Sequence[Floats], *, tick: Tick) -> Iterator[tuple[slice, Array]]:
    """Some faces and their members (M, n, D) at length 1, block by block; what has no direction is NaN.

    A block is written over by the next one.
    """
    N, D = np.shape(members[0])
    step = max(1, BLOCK // max(1, D))
    space = np.empty((len(members), min(step, N), D))
    for number, start in enumerate(range(0, N, step)):
        if number % 16 == 0:
            tick(start, N, tr("Combining models"))
        some = slice(start, min(start + step, N))
        units = space[:, : some.stop - start]
        for unit, one in zip(units, members):
            unit[:] = one[some]
            norm = np.sqrt(np.einsum("nd,nd->n", unit, unit))
            with np.errstate(invalid="ignore", divide="ignore"):
                unit /= norm[:, None]
        yield some, units
    tick(N, N, tr("Combining models"))


def pairwise(variance: Array, members: int) -> Array:
    """The mean squared distance of two members, which is what some call the variance.

    >>> pairwise(np.array([0.3]), 4)
    array([0.8])
    """
    return 2 * members / (members - 1) * variance


def percentiles(values: Array) -> Array:
    """(N,) where each value stands among all, 0 to 100; equal values stand together, NaN stays NaN.

    >>> percentiles(np.array([0.2, 0.1, np.nan, 0.2, 0.9]))
    array([50. , 12.5,  nan, 50. , 87.5])
    """
    values = np.asarray(values, np.float64)
    found = np.full(len(values), np.nan)
    known = ~np.isnan(values)
    if known.any():
        group, counts = _groups(values[known])
        found[known] = 100 * _middles(counts)[group] / counts.sum()
    return found


def spearman(
    a: Array,
    b: Array,
    *,
    identity: NDArray[np.int32] | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
    tick: Tick = silent,
) -> Measure:
    """Rank correlation of two scores of the same faces; those without one of them are left out, `n` counts the others.

    The interval is by draws of people where `identity` (N,) is given, else of faces; a face of nobody known (-1) is
    drawn by itself.
    """
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    known = np.flatnonzero(~(np.isnan(a) | np.isnan(b)))
    n = len(known)
    if n < 3:
        return Measure.none(tr("a rank correlation needs three faces with both scores"), n=n)
    sides = [_groups(one[known]) for one in (a, b)]
    if min(len(counts) for _, counts in sides) < 2:
        return Measure.none(tr("all faces have the same score"), n=n)
    of = np.arange(n) if identity is None else _people(np.asarray(identity)[known])
    C = int(of.max()) + 1
    value = Measure(_correlation(sides, np.ones(n)), n=n)
    if C < 2 or not resamples:
        return value
    resamples = min(resamples, max(100, DRAWN // n))
    drawn = np.empty(resamples)
    for number, weights in enumerate(bootstrap.identity_weights(C, resamples=resamples, seed=seed)):
        if number % 16 == 0:
            tick(number, resamples, tr("Drawing identities"))
        drawn[number] = _correlation(sides, weights[of].astype(np.float64))
    limits = bootstrap.interval(drawn)
    return value.with_interval(*limits) if limits else value


def _groups(values: Array) -> tuple[NDArray[np.int64], Array]:
    """The group of equal values that each belongs to, by ascending value; and how many each group has."""
    _, group, counts = np.unique(values, return_inverse=True, return_counts=True)
    return group, counts.astype(np.float64)


def _middles(counts: Array) -> Array:
    """The rank in the middle of each group, from 0 to the sum of all."""
    middles: Array = np.cumsum(counts) - counts / 2
    return middles


def _people(identity: NDArray[np.int32]) -> NDArray[np.int64]:
    """(N,) codes from 0; each face of nobody known has one of its own."""
    nobody = np.flatnonzero(identity < 0)
    own = identity.astype(np.int64)
    own[nobody] = -1 - np.arange(len(nobody))
    codes: NDArray[np.int64] = np.unique(own, return_inverse=True)[1]
    return codes


def _correlation(sides: list[tuple[NDArray[np.int64], Array]], weights: Array) -> float:
    """Spearman where each face counts so often; NaN where all that count are equal."""
    total = weights.sum()
    ranks = []
    for group, counts in sides:
        drawn = np.bincount(group, weights, minlength=len(counts)).astype(np.float64)
        rank = _middles(drawn)[group]
        ranks.append(rank - total / 2)  # the mean of the ranks, with or without ties
    x, y = ranks
    weighted = weights * x
    spread = (weighted @ x) * (weights @ (y * y))
    return float(weighted @ y / np.sqrt(spread)) if spread > 0 else float("nan")
