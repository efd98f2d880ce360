"""Backfill: how good a search becomes as more and more of the old gallery is embedded anew, and whom to take first.

Computes    TAR at the FAR (1:1) and TPIR at the FPIR (1:N) of new queries in a gallery of which a share is new
            orders of embedding anew:
            flip risk    the faces of the person whose worst search new/old has the smallest margin first; of a person
                         those first that are found worst themselves
            uncertainty  the most uncertain picture first: by a column of variance, else the shortest old vector
            traffic      the picture that is asked for most often first
            random       the mean of several orders by chance
Shapes      shares (S,); values (S,) by order and task
Departs     see mixed: bins of cosine for 1:1; bands at some of the shares, between them drawn straight
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from facelens.analyses import bootstrap, mixed
from facelens.analyses.flips import Searched
from facelens.analyses.mixed import Drawing, Rates, Sides
from facelens.analyses.plan import TASKS
from facelens.analyses.scores import Floats as Vectors
from facelens.images.faceset import Ids, order_numbers
from facelens.progress import Tick, part_of, silent
from facelens.words import tr

Floats = NDArray[np.float64]
Places = NDArray[np.int64]
STEPS = 50
BANDS = 10  # steps from one share with a band to the next
DRAWS = 200
CHANCES = 5  # orders by chance


@dataclass(frozen=True, eq=False)
class Order:
    """One order of embedding anew."""

    name: str  # of plan.BACKFILLS
    ids: Ids  # (N,) the gallery, first to be embedded first
    value: dict[str, Floats]  # by task: (S,) TAR or TPIR at each share; NaN where there is none
    low: dict[str, Floats]
    high: dict[str, Floats]
    note: str = ""  # what uncertainty or risk was taken


@dataclass(frozen=True, eq=False)
class Backfill:
    """What the new model reaches in a gallery that is partly the old one's."""

    shares: Floats  # (S,) 0 .. 1
    orders: tuple[Order, ...]  # without those there is no column for

    def order(self, name: str) -> Order | None:
        """By name."""
        return next((one for one in self.orders if one.name == name), None)


@dataclass(frozen=True, eq=False)
class Queue:
    """In which order faces are embedded anew; several ways where it is chance."""

    name: str  # of plan.BACKFILLS
    ways: tuple[Places, ...]  # (N,) places of the faces each, first to be embedded first
    note: str


def by_flip_risk(ids: Ids, identity: NDArray[np.int32], searches: Searched) -> Queue:
    """The faces of the people who are nearest to not being found any more first; those without a mate last."""
    known = np.argsort(ids)
    own = np.full(len(ids), np.inf)
    own[known[np.searchsorted(ids[known], searches.ids)]] = searches.new_margin
    worst = np.full(int(identity.max(initial=0)) + 1, np.inf)
    np.minimum.at(worst, identity, own)
    note = tr(
        "People by the smallest margin of their searches new/old, smallest first; of a person, the picture with the "
        "smallest margin first. It takes searches of these people to know it."
    )
    return Queue("flip risk", (np.lexsort((own, worst[identity])),), note)


def by_uncertainty(values: NDArray[np.float64], note: str) -> Queue:
    """The highest values first, those that are not known last."""
    return Queue("uncertainty", (order_numbers(np.asarray(values, np.float64), descending=True),), note)


def by_traffic(values: NDArray[np.float64], column: str) -> Queue:
    """What is asked for most often first, what is not known last."""
    note = tr("Highest {column} first.", column=column)
    return Queue("traffic", (order_numbers(np.asarray(values, np.float64), descending=True),), note)


def by_chance(n: int, *, seed: int = 0, chances: int = CHANCES) -> Queue:
    """Several orders by chance, the mean of which counts."""
    generator = np.random.default_rng(seed)
    ways = tuple(generator.permutation(n).astype(np.int64) for _ in range(chances))
    return Queue("random", ways, tr("The mean of {n} orders by chance; the first of them is the one given.", n=chances))


def backfill(
    query: Vectors,
    old: Vectors,
    new: Vectors,
    *,
    ids: Ids,
    identity: NDArray[np.int32],
    queues: Sequence[Queue],
    far: float = 1e-3,
    fpir: float = 1e-2,
    steps: int = STEPS,
    resamples: int = DRAWS,
    seed: int = 0,
    tick: Tick = silent,
) -> Backfill:
    """New queries in a gallery that is embedded anew by `queues`.

    `query` and `old` are the two sides of new/old, `new` the new model in its own space: unit vectors of the same
    faces, of known people.
    """
    shares = np.arange(steps + 1) / steps
    done = np.floor(shares * len(ids) + 0.5).astype(np.int64)  # faces that are new at each share
    every = [way for queue in queues for way in queue.ways]
    entered = np.empty((len(every), len(ids)), np.int16)
    for row, way in zip(entered, every):
        row[way] = np.searchsorted(done, np.arange(len(ids)), side="right")
    codes = np.unique(identity, return_inverse=True)[1].astype(np.int32)
    sides = Sides(query, old, new)
    at = (*range(0, steps, BANDS), steps)
    starts = np.cumsum([0, *(len(queue.ways) for queue in queues)])
    drawing = Drawing(tuple(starts[:-1].tolist()), at, min(resamples, DRAWS), seed)
    ticks = [part_of(tick, turn, 2) for turn in range(2)]
    pairs = mixed.verified(sides, codes, entered, steps=steps + 1, far=far, drawing=drawing, tick=ticks[0])
    many = mixed.identified(sides, ids, codes, entered, steps=steps + 1, fpir=fpir, drawing=drawing, tick=ticks[1])
    orders = []
    for number, queue in enumerate(queues):
        ways = slice(starts[number], starts[number + 1])
        bands = [_band(rates, ways, number, at) for rates in (pairs, many)]
        value, low, high = (dict(zip(TASKS, part)) for part in zip(*bands))
        orders.append(Order(queue.name, ids[queue.ways[0]], value, low, high, queue.note))
    return Backfill(shares, tuple(orders))


def _band(rates: Rates, ways: slice, queue: int, at: Sequence[int]) -> tuple[Floats, Floats, Floats]:
    """Mean of the ways of a queue and its limits: at some steps by draws for the first way, between them straight."""
    value = rates.value[ways].mean(axis=0)
    off = np.full((2, len(at)), np.nan)  # from the value
    for place, draws in enumerate(rates.drawn[queue]):
        if len(draws) and (found := bootstrap.rate_interval(draws, rates.n)):
            off[:, place] = np.array(found) - rates.value[ways.start, at[place]]
    every = np.arange(len(value))
    low, high = (np.clip(value + np.interp(every, at, side), 0, 1) for side in off)
    return value, low, high
