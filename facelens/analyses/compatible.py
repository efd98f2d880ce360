"""Compatible models: how much of what a better model could give an upgrade brings, and how closely vectors lie.

Computes    performance gain = 100 (A(new) - A(old)) / |A(upper) - A(old)|
            upgrade gain     = 100 (max over directions of A(cross) - A(old)) / |A(upper) - A(old)|
            criterion        = A(cross) - A(old) > 0
            bounds           = A(older) <= A(cross) <= A(newer)
            point distance   = ||a_i - b_i||^2 of the same face by two models; d_pw is its mean
            intra-class, of one person with n pictures f_i of length 1, S = sum f_i, c = S / ||S||:
            centre  1/n sum ||f_i - c||^2
            pairs   the mean of ||f_i - f_j||^2 over i < j
            angle   1/n sum of the angle between f_i and c, in degrees
            A: any accuracy; upper: the new model trained without regard to the old one; cross: queries of one model
            searched in a gallery of the other (direct, or backward and forward)
Reference   Meng, Zhang, Xu and Zhou, Learning Compatible Embeddings, ICCV 2021; Shen, Xiong, Xia and Soatto, Towards
            backward-compatible representation learning, CVPR 2020 (the criterion)
Departs     none. The absolute value in the denominator is the paper's: without it the sign turns where the upper model
            is worse than the old one. Which definition of the intra-class distance the paper takes is not known, so
            there are three.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from facelens.analyses.measure import Measure
from facelens.words import tr

Array = NDArray[np.float64]
Vectors = NDArray[np.float32] | NDArray[np.float64]
Number = TypeVar("Number", float, Array)

_BLOCK = 1 << 15  # faces at a time


class IntraClass(StrEnum):
    """What is taken for the distance inside a class."""

    CENTRE = "centre"
    PAIRS = "pairs"
    ANGLE = "angle"


def performance_gain(old: float, new: float, *, upper: float) -> Measure:
    """Per cent of the possible gain that the new model brings by itself.

    >>> performance_gain(93.99, 94.01, upper=94.18).text(2, sign=True)
    '+10.53'
    """
    return gain(new - old, upper - old)


def upgrade_gain(old: float, cross: Iterable[float], *, upper: float) -> Measure:
    """Per cent of the possible gain that the new model brings while the gallery is the old one's; best direction.

    >>> upgrade_gain(93.99, [91.85, 94.27], upper=94.18).text(2, sign=True)
    '+147.37'
    """
    directions = list(cross)
    if not directions:
        return Measure.none(tr("no direction was measured"))
    return gain(max(bct_criterion(old, one) for one in directions), upper - old)


def gain(got: float, possible: float) -> Measure:
    """Per cent of what is possible."""
    percent = float(gains(np.float64(got), np.float64(possible)))
    if np.isnan(percent):
        return Measure.none(tr("the upper model is as good as the old one, so there is nothing to gain"))
    return Measure(percent)


def gains(got: Array | np.float64, possible: Array | np.float64) -> Array:
    """The same of draws; NaN where nothing is possible."""
    # Accuracies come as printed numbers: a difference below what any table prints is none.
    size = np.where(np.abs(possible) < 1e-12, np.nan, np.abs(possible))
    return np.asarray(100.0 * got / size)


def bct_criterion(old: Number, cross: Number) -> Number:
    """How much better new queries do in the old gallery than old ones; compatible training promises more than 0.

    >>> bct_criterion(0.5, 0.75)
    0.25
    """
    return cross - old


def in_sequence(older: float, cross: float, newer: float) -> bool:
    """Whether the test between two models of a sequence lies within the tests of each by itself.

    >>> in_sequence(91.00, 91.80, 93.05), in_sequence(91.00, 90.99, 93.05)
    (True, False)
    """
    return older <= cross <= newer


def point_distance(a: Vectors, b: Vectors) -> Array:
    """(N,) squared distances of unit vectors of the same faces, (N, D) each; d_pw is their mean."""
    out = np.empty(len(a))
    for start in range(0, len(a), _BLOCK):
        some = slice(start, start + _BLOCK)
        out[some] = np.square(a[some].astype(np.float64) - b[some]).sum(axis=1)
    return out


def intra_class(vectors: Vectors, identity: NDArray[np.int32], definition: IntraClass | str) -> Array:
    """(C,) how far apart the pictures of each person are, of unit vectors (N, D), by ascending code of the person.

    NaN for people with one picture, who say nothing.
    """
    wanted = IntraClass(definition)
    _, codes, counts = np.unique(identity, return_inverse=True, return_counts=True)
    out = np.full(len(counts), np.nan)
    order = np.argsort(codes, kind="stable")
    ends = np.cumsum(counts)
    first = 0
    while first < len(counts):  # whole people, some thousand faces at a time
        begin = int(ends[first] - counts[first])
        last = max(first + 1, int(np.searchsorted(ends, begin + _BLOCK, side="right")))
        rows, n = order[begin : int(ends[last - 1])], counts[first:last]
        out[first:last] = _inside(vectors[rows].astype(np.float64), n, wanted)
        first = last
    return np.where(counts > 1, out, np.nan)


def _inside(vectors: Array, counts: NDArray[np.int64], definition: IntraClass) -> Array:
    """Of people that follow one another."""
    begins = np.cumsum(counts) - counts
    sums = np.add.reduceat(vectors, begins, axis=0)
    lengths = np.linalg.norm(sums, axis=1)
    if definition is IntraClass.PAIRS:
        # The sum of all ordered products is ||S||^2, n of which are those of a picture with itself.
        return np.asarray(2 - 2 * (lengths**2 - counts) / np.maximum(counts * (counts - 1), 1))
    centres = sums / np.maximum(lengths, 1e-12)[:, None]
    cosines = np.clip(np.einsum("nd,nd->n", vectors, np.repeat(centres, counts, axis=0)), -1, 1)
    each = 2 - 2 * cosines if definition is IntraClass.CENTRE else np.degrees(np.arccos(cosines))
    return np.asarray(np.add.reduceat(each, begins) / counts)
