"""Rank correlation: whether two scores put the faces in the same order, and how sure that is.

Computes    rho = mean(a b) / sqrt(var(a) var(b)), a and b mid-ranks of x and y over (-1/2, 1/2)
            influence of face i = (a_i b_i + mean over faces with higher x of b + mean over faces with higher y of a) /
            sqrt(var(a) var(b)), less its mean: what the face adds, also through the ranks of the others
            error of rho = sqrt(sum over people of (sum of their influence)^2) / N;  interval = tanh(atanh(rho) -+ 1.96
            error / (1 - rho^2))
            lead of a group = 2 AUC - 1: the chance that one of the group has the higher value than one of the others,
            less the reverse; its influences are those of AUC (placements), the interval as above
Shapes      x, y (N,); groups (N,) codes of people, -1 for nobody, who counts alone
Reference   Spearman, The proof and measurement of association between two things, 1904; Fisher's transformation;
            Liang and Zeger, Longitudinal data analysis using generalized linear models, 1986, for sums over groups;
            Obuchowski, Nonparametric analysis of clustered ROC curve data, 1997
Departs     no draws: the interval of a hundred thousand faces takes no longer than their ranks. Where most values are
            tied it is somewhat wider than that of draws
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from facelens.analyses.measure import Measure
from facelens.words import plural, tr

Array = NDArray[np.float64]
REACH = 1.959964  # of a normal deviate, 95 %
FEWEST = 4  # faces


def spearman(x: Array, y: Array, *, groups: NDArray[np.integer] | None = None) -> Measure:
    """Rank correlation of two scores over the faces that have both, with its interval where there are two people.

    >>> spearman(np.arange(5.0), np.array([3.0, 4, 5, 6, 9])).value
    1.0
    >>> spearman(np.arange(5.0), np.ones(5)).text()
    'n/a: all faces have the same value'
    """
    known = np.isfinite(x) & np.isfinite(y)
    n = int(known.sum())
    if n < FEWEST:
        count = plural(n, "{n} face has both scores", "{n} faces have both scores")
        return Measure.none(tr("{count}, it takes {least}", count=count, least=FEWEST), n=n)
    people = None if groups is None else np.asarray(groups)[known]
    return of_orders(Order(np.asarray(x)[known]), Order(np.asarray(y)[known]), groups=people)


def of_orders(in_x: Order, in_y: Order, *, groups: NDArray[np.integer] | None = None) -> Measure:
    """`spearman` of scores that are in order already, of the same faces."""
    n = len(in_x.place)
    a, b = in_x.ranks, in_y.ranks
    spread = float(np.sqrt(a.var() * b.var()))
    if spread == 0:
        return Measure.none(tr("all faces have the same value"), n=n)
    rho = float(np.clip(np.mean(a * b) / spread, -1, 1))
    influence = (a * b + in_x.above(b) + in_y.above(a)) / spread
    return _bounded(rho, (influence - influence.mean()) / n, groups)


def lead(order: Order, group: NDArray[np.bool_], *, groups: NDArray[np.integer] | None = None) -> Measure:
    """2 AUC - 1 of the faces of a group against the others: 1 where all of them have the higher value.

    >>> lead(Order(np.array([1.0, 2, 3, 4])), np.array([False, False, True, True])).value
    1.0
    """
    n, inside = len(group), int(np.count_nonzero(group))
    if not 0 < inside < n:
        return Measure.none(tr("there is nobody to compare with"), n=inside)
    # How many of the other kind have the lower value, those with the same one by half.
    whole, own = np.cumsum(order.counts) - order.counts / 2, np.bincount(order.place, group, len(order.counts))
    below = np.cumsum(own) - own / 2
    placed = np.where(group, (whole - below)[order.place] / (n - inside), 1 - below[order.place] / inside)
    area = float(placed[group].mean())
    influence = 2 * (placed - area) / np.where(group, inside, n - inside)
    found = _bounded(2 * area - 1, influence, groups)
    return replace(found, n=inside)


def _bounded(value: float, influence: Array, groups: NDArray[np.integer] | None) -> Measure:
    """A number in [-1, 1] with its interval, from what each face adds to it."""
    n = len(influence)
    of = np.arange(n) if groups is None else units(np.asarray(groups))
    people = int(of.max()) + 1
    if people < 2 or abs(value) > 1 - 1e-12:
        return Measure(value, n=n)
    sums = np.bincount(of, influence, people)
    error = float(np.sqrt((sums**2).sum() * people / (people - 1))) / (1 - value**2)
    low, high = np.tanh(np.arctanh(value) + REACH * error * np.array([-1.0, 1.0]))
    return Measure(value, float(low), float(high), n=n)


class Order:
    """Which of the different values each face has, ascending, and how many faces have it."""

    def __init__(self, values: NDArray[np.floating]) -> None:
        self.values, self.place, self.counts = np.unique(values, return_inverse=True, return_counts=True)

    @cached_property
    def middles(self) -> Array:
        """Mid-rank of each different value over (-1/2, 1/2)."""
        return np.asarray((np.cumsum(self.counts) - self.counts / 2) / len(self.place) - 0.5)

    @cached_property
    def ranks(self) -> Array:
        """Mid-rank of each face, ties together."""
        return np.asarray(self.middles[self.place])

    def above(self, other: Array) -> Array:
        """For each face the mean over all of `other` where their value is higher, half of it where it is the same."""
        sums = np.bincount(self.place, other, len(self.counts))
        higher = (sums.sum() - np.cumsum(sums) + sums / 2) / len(self.place)
        return np.asarray(higher[self.place], np.float64)


def units(groups: NDArray[np.integer]) -> NDArray[np.int64]:
    """Codes 0 to C - 1 without gaps; whoever has none is a unit by itself.

    >>> units(np.array([7, -1, 7, 2, -1])).tolist()
    [1, 2, 1, 0, 3]
    """
    codes = groups.astype(np.int64)
    alone = codes < 0
    codes[alone] = codes.max(initial=0) + 1 + np.arange(int(alone.sum()))
    highest = int(codes.max(initial=0))
    if highest <= 4 * len(codes):  # counting is quicker than sorting
        number = np.cumsum(np.bincount(codes, minlength=highest + 1) > 0) - 1
        return np.asarray(number[codes], np.int64)
    return np.unique(codes, return_inverse=True)[1].astype(np.int64)
