"""Swept: what a sweep over alpha says at one of its steps, on the screen and on paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from facelens.analyses.measure import Measure
from facelens.analyses.reranking import Sweep, SweepRow
from facelens.figures.scales import Array
from facelens.words import tr

MEASURES = ("P@1", "RP", "MAP@R")
ORDERS, REVERSED = ("name", "before", "after", "change"), "reversed"  # of a list of queries: "change reversed"
Ranks = NDArray[np.int64]


def nearest(row: SweepRow, alpha: float) -> int | None:
    """The step closest to a share of the patches; None where the plain sum is asked for and was not tried.

    >>> row = SweepRow("apc", (-1.0, 0.0, 0.5, 1.0), {}, np.zeros((4, 0), np.int32))
    >>> nearest(row, 0.7), nearest(row, -1.0), nearest(row, 0.0)
    (2, 0, 1)
    """
    tried = [place for place, one in enumerate(row.alphas) if (one < 0) == (alpha < 0)]
    return min(tried, key=lambda place: abs(row.alphas[place] - alpha), default=None)


def measured(row: SweepRow, name: str, alpha: float) -> Measure:
    """A measure at the step closest to alpha."""
    place = nearest(row, alpha)
    if place is None or name not in row.measures:
        return Measure.none(tr("not tried"))
    return row.measures[name][place]


def curve(row: SweepRow, name: str) -> tuple[Array, Array, Array, Array]:
    """Alphas, values and both ends of their intervals, for the steps where there is a value; the plain sum is none."""
    pairs = zip(row.alphas, row.measures.get(name, ()))
    known = sorted(((a, one) for a, one in pairs if a >= 0 and one.defined), key=lambda pair: pair[0])
    ends = [
        (alpha, one.value, one.value if one.low is None else one.low, one.value if one.high is None else one.high)
        for alpha, one in known
    ]
    x, y, low, high = np.array(ends, np.float64).reshape(-1, 4).T
    return x, y, low, high


def moved(sweep: Sweep, ranks: NDArray[np.int32]) -> tuple[int, int]:
    """For how many queries the first right face comes earlier than by cosine alone, and for how many later."""
    known = sweep.ranks > 0
    return int((ranks < sweep.ranks)[known].sum()), int((ranks > sweep.ranks)[known].sum())


def after_of(sweep: Sweep, row: SweepRow, alpha: float) -> NDArray[np.int32]:
    """(Q,) ranks of the first right face at the step closest to alpha."""
    place = nearest(row, alpha)
    return row.ranks[place] if place is not None else sweep.ranks


def forward(before: Ranks, after: Ranks) -> Ranks:
    """(Q,) how many ranks each query came forward."""
    return np.where(before > 0, before - after, 0)


def in_order(before: Ranks, after: Ranks, names: Sequence[str], order: str) -> Ranks:
    """Places of queries in the order of a list: the most gained first, the best rank first, names from A; or reversed.

    >>> in_order(np.array([3, 1, 0]), np.array([1, 1, 0]), ["b", "a", "c"], "change reversed").tolist()
    [1, 0, 2]
    """
    by, _, way = order.partition(" ")
    keys = {"before": before, "after": after}
    values = keys.get(by, -forward(before, after))
    if by == "name":
        values = np.unique(np.array(names), return_inverse=True)[1] if len(names) else np.zeros(0, np.int64)
    values = -values if way == REVERSED else values
    return np.lexsort((np.arange(len(before)), before, values, before <= 0))


def order_words(order: str) -> str:
    """An order of queries in words."""
    by, _, way = order.partition(" ")
    words = {
        "name": (tr("by name"), tr("by name, from Z")),
        "before": (tr("best rank before first"), tr("worst rank before first")),
        "after": (tr("best rank after first"), tr("worst rank after first")),
    }
    return words.get(by, (tr("most gained first"), tr("most lost first")))[way == REVERSED]


@dataclass(frozen=True, eq=False)
class Step:
    """One way to search all queries: by cosine alone, or with a second stage."""

    weights: str  # "": cosine alone
    alpha: float
    measures: dict[str, Measure]
    better: int = 0  # queries whose first right face comes earlier than by cosine alone
    worse: int = 0


def steps(sweep: Sweep, alpha: float) -> list[Step]:
    """Cosine alone, then every way to weigh patches at the step closest to alpha."""
    made = [Step("", 0.0, {name: sweep.before.get(name, Measure.none("")) for name in MEASURES})]
    for row in sweep.rows:
        place = nearest(row, alpha)
        if place is not None:
            measures = {name: measured(row, name, alpha) for name in MEASURES}
            made.append(Step(row.weights, row.alphas[place], measures, *moved(sweep, row.ranks[place])))
    return made
