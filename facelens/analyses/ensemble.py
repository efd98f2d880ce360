"""Ensemble: vectors of several models in one space become one vector each, and say how much the models disagree.

Computes    mean = (1/M) sum_i Z_i, Z_i unit vectors;  e = mean / ||mean||;  variance = (1/M) sum_i ||Z_i - mean||^2
            = 1 - ||mean||^2;  mean over pairs i < j of ||Z_i - Z_j||^2 = 2M / (M - 1) variance
            apart_i = 1 - cosine of Z_i and the mean of the others
            percentile of a value among n = 100 (lower ones + half of those equal to it, itself among them) / n
Shapes      members M x (N, D) -> vectors (N, D) float32, variance (N,) float64 in [0, 1], apart (M, N) float32
Reference   Shoshan et al., "Asymmetric Image Retrieval with Cross Model Compatible Ensembles", WACV 2024
Departs     none; of the two forms of the spread the variance is kept, `pairwise` makes the other of it
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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


def _groups(values: Array) -> tuple[NDArray[np.int64], Array]:
    """The group of equal values that each belongs to, by ascending value; and how many each group has."""
    _, group, counts = np.unique(values, return_inverse=True, return_counts=True)
    return group, counts.astype(np.float64)


def _middles(counts: Array) -> Array:
    """The rank in the middle of each group, from 0 to the sum of all."""
    middles: Array = np.cumsum(counts) - counts / 2
    return middles
