"""Effects: which attributes of the pictures move the value of which part.

Computes    a column of numbers: rank correlation of the column and the part's value; a group of a column of names:
            2 AUC - 1, see `correlation`; intervals count people, not pictures
            bins of about as many faces each by mid-rank, so that a number many faces have stands by itself
Shapes      values (N, K) of the faces that have them; B bins
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from facelens.analyses import correlation
from facelens.analyses.correlation import Order
from facelens.analyses.measure import Measure
from facelens.analyses.parts import Parts
from facelens.images.faceset import FaceSet, Labels
from facelens.progress import Tick, silent
from facelens.words import tr

BINS = 10
NAMES = 12  # a column with more names is no attribute
FEWEST = 10  # faces with a value; of a group, and of the others

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Effect:
    """How one attribute moves each part."""

    column: str
    group: str  # of a column of names, "" for a column of numbers
    n: int  # faces with a value; of the group, where there is one
    strength: tuple[Measure, ...]  # K numbers in [-1, 1]; above 0: more of it, the value is higher
    edges: Array  # (B + 1,) of bins with about as many faces each, the last one closed; empty for a group
    middle: Array  # (K, B) median value of the faces of each bin; of a group (K, 2): the others, the group
    quartiles: Array  # (K, B, 2)

    @property
    def largest(self) -> float:
        """The largest |strength|."""
        return max((abs(one.value) for one in self.strength if one.value is not None), default=0.0)


def effects(
    faces: FaceSet,
    columns: Sequence[str],
    parts: Parts,
    *,
    shown: str,
    tick: Tick = silent,
) -> tuple[Effect, ...]:
    """How attributes move the value `shown`, the strongest first; what never changes, or few have, is left out."""
    values = parts.values[shown]
    known = np.flatnonzero(np.isfinite(values).all(1))
    rows, identity = faces.rows_of(parts.ids[known]), parts.identity[known]
    found: list[Effect] = []
    ordered = _Ordered(values[known])
    for number, name in enumerate(columns):
        tick(number, len(columns), tr("Looking at attributes"))
        column = faces.values(name)
        if isinstance(column, Labels):
            found += _of_names(name, column.names, column.codes[rows], ordered, identity)
        else:
            found += _of_numbers(name, np.asarray(column, np.float64)[rows], ordered, identity)
    return tuple(sorted(found, key=lambda one: -one.largest))


class _Ordered:
    """The values of each part in order, of some faces; kept as long as the same ones are asked for."""

    def __init__(self, values: NDArray[np.float32]) -> None:
        self.values = values
        self._which = np.zeros(0, np.int64)
        self._orders: list[Order] = []

    def __call__(self, which: NDArray[np.int64]) -> list[Order]:
        if not self._orders or not np.array_equal(which, self._which):
            self._which, self._orders = which, [Order(column) for column in self.values[which].T]
        return self._orders


def _of_numbers(name: str, column: Array, ordered: _Ordered, identity: NDArray[np.int32]) -> list[Effect]:
    which = np.flatnonzero(np.isfinite(column))
    if len(which) < FEWEST:
        return []
    own, people = Order(column[which]), correlation.units(identity[which])
    if len(own.counts) < 2:
        return []
    strength = tuple(correlation.of_orders(own, one, groups=people) for one in ordered(which))
    edges, bins = binned(own)
    middle, quartiles = _spread(ordered.values[which], bins, len(edges) - 1)
    return [Effect(name, "", len(which), strength, edges, middle, quartiles)]


def _of_names(
    name: str, names: Sequence[str], codes: NDArray[np.int32], ordered: _Ordered, identity: NDArray[np.int32]
) -> list[Effect]:
    which = np.flatnonzero(codes >= 0)
    counts = np.bincount(codes[which], minlength=len(names))
    groups = np.flatnonzero(counts)
    if not 2 <= len(groups) <= NAMES:
        return []
    if len(groups) == 2:  # the other says the same the other way round
        groups = groups[[int(counts[groups[1]] <= counts[groups[0]])]]
    people, made = correlation.units(identity[which]), []
    for group in groups[(counts[groups] >= FEWEST) & (len(which) - counts[groups] >= FEWEST)]:
        inside = codes[which] == group
        strength = tuple(correlation.lead(one, inside, groups=people) for one in ordered(which))
        middle, quartiles = _spread(ordered.values[which], inside.astype(np.int64), 2)
        made.append(Effect(name, names[group], int(counts[group]), strength, np.zeros(0), middle, quartiles))
    return made


def binned(order: Order) -> tuple[Array, NDArray[np.int64]]:
    """Edges (B + 1,) of bins of about as many faces each, and the bin of each face.

    >>> binned(Order(np.array([0.0] * 8 + [1, 2])))[0].tolist()
    [0.0, 1.0, 2.0, 2.0]
    """
    tenth = np.minimum(((order.middles + 0.5) * BINS).astype(np.int64), BINS - 1)
    _, first, bins = np.unique(tenth, return_index=True, return_inverse=True)
    return np.append(order.values[first], order.values[-1]).astype(np.float64), bins[order.place]


def _spread(values: NDArray[np.float32], bins: NDArray[np.int64], count: int) -> tuple[Array, Array]:
    """Medians (K, B) and quartiles (K, B, 2) of the values in each bin."""
    order = np.argsort(bins, kind="stable")
    stops = np.cumsum(np.bincount(bins, minlength=count))[:-1]
    quarters = [np.percentile(some, (25, 50, 75), axis=0) for some in np.split(values[order], stops)]  # (3, K) each
    made = np.asarray(quarters, np.float64).transpose(2, 0, 1)  # (K, B, 3)
    return made[..., 1], made[..., ::2]
