"""Rank correlation: whether two scores put the faces in the same order, and how sure that is.

Computes    rho = mean(a b) / sqrt(var(a) var(b)), a and b mid-ranks of x and y over (-1/2, 1/2)
            influence of face i = (a_i b_i + mean over faces with higher x of b + mean over faces with higher y of a) /
            sqrt(var(a) var(b)), less its mean: what the face adds, also through the ranks of the others
            error of rho = sqrt(sum over people of (sum of their influence)^2) / N;  interval = tanh(atanh(rho) -+ 1.96
            error / (1 - rho^2))
Shapes      x, y (N,); groups (N,) codes of people, -1 for nobody, who counts alone
Reference   Spearman, The proof and measurement of association between two things, 1904; Fisher's transformation;
            Liang and Zeger, Longitudinal data analysis using generalized linear models, 1986, for sums over groups
Departs     no draws: the interval of a hundred thousand faces takes no longer than their ranks. Where most values are
            tied it is somewhat wider than that of draws
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from facelens.analyses.measure import Measure
from facelens.words import plural, tr

Array = NDArray[np.float64]
REACH = 1.959964  # of a normal deviate, 95 %
FEWEST = 4  # faces


def spearman(x: Array, y: Array, *, groups: NDArray[np.int32] | None = None) -> Measure:
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
    x, y = np.asarray(x, np.float64)[known], np.asarray(y, np.float64)[known]
    in_x, in_y = _Order(x), _Order(y)
    a, b = in_x.ranks(), in_y.ranks()
    spread = float(np.sqrt(a.var() * b.var()))
    if spread == 0:
        return Measure.none(tr("all faces have the same value"), n=n)
    rho = float(np.clip(np.mean(a * b) / spread, -1, 1))
    units = np.arange(n) if groups is None else _units(np.asarray(groups)[known])
    people = int(units.max()) + 1
    if people < 2 or abs(rho) > 1 - 1e-12:
        return Measure(rho, n=n)
    influence = (a * b + in_x.above(b) + in_y.above(a)) / spread
    influence -= influence.mean()
    sums = np.bincount(units, influence, people)
    error = float(np.sqrt((sums**2).sum() * people / (people - 1))) / n / (1 - rho**2)
    low, high = np.tanh(np.arctanh(rho) + REACH * error * np.array([-1.0, 1.0]))
    return Measure(rho, float(low), float(high), n=n)


class _Order:
    """Which of the different values each face has, ascending, and how many faces have it."""

    def __init__(self, values: Array) -> None:
        _, self.place, self.counts = np.unique(values, return_inverse=True, return_counts=True)

    def ranks(self) -> Array:
        """Mid-ranks over (-1/2, 1/2), ties together."""
        middle = (np.cumsum(self.counts) - self.counts / 2) / len(self.place) - 0.5
        return np.asarray(middle[self.place], np.float64)

    def above(self, other: Array) -> Array:
        """For each face the mean over all of `other` where their value is higher, half of it where it is the same."""
        sums = np.bincount(self.place, other, len(self.counts))
        higher = (sums.sum() - np.cumsum(sums) + sums / 2) / len(self.place)
        return np.asarray(higher[self.place], np.float64)


def _units(groups: NDArray[np.int32]) -> NDArray[np.int64]:
    """Codes 0 to C - 1 without gaps; whoever has none is a unit by itself."""
    codes = groups.astype(np.int64)
    alone = codes < 0
    codes[alone] = codes.max(initial=0) + 1 + np.arange(int(alone.sum()))
    return np.unique(codes, return_inverse=True)[1].astype(np.int64)
