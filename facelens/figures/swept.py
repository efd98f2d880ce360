"""Swept: what a sweep over alpha says at one of its steps, on the screen and on paper."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from facelens.analyses.measure import Measure
from facelens.analyses.reranking import Sweep, SweepRow
from facelens.figures.scales import Array
from facelens.words import tr

MEASURES = ("P@1", "RP", "MAP@R")


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
