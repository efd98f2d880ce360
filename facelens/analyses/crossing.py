"""Crossing: queries of one model searched in the gallery of another, over any number of models and in both orders.

Computes    1:1  TAR at the FAR over all pairs of two faces; of two models all ordered pairs, one face as the query's
                 vector and the other as the gallery's. So both orders of two models are the same test
            1:N  TPIR (rank 1) at the FPIR and the share of first ranks, galleries and probes as the evaluation has them
            gains, criterion and bounds as compatible.py has them; all from the same draws of people, so that
            differences are paired. A gain's interval is that of the ratio of each draw
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from facelens.analyses import bootstrap, identification, verification
from facelens.analyses.compatible import (
    IntraClass,
    bct_criterion,
    gain,
    gains,
    in_sequence,
    intra_class,
    point_distance,
)
from facelens.analyses.identification import Identification
from facelens.analyses.measure import Measure
from facelens.analyses.plan import DIRECTIONS, TASKS, UpgradePlan
from facelens.analyses.spaces import SELF as SELF
from facelens.analyses.spaces import Fitted as Fitted
from facelens.analyses.spaces import Spaces, at_chance, compared
from facelens.analyses.verification import OperatingPoint
from facelens.progress import Tick, part_of, silent
from facelens.words import escaped, tr

Array = NDArray[np.float64]
Floats = NDArray[np.float32]

_NONE: Array = np.zeros(0)


@dataclass(frozen=True)
class CrossTest:
    """Queries of one model in the gallery of another."""

    query: str
    gallery: str
    direction: str  # of DIRECTIONS, or SELF
    verification: Measure  # TAR at the plan's FAR
    identification: Measure  # TPIR at the plan's FPIR
    first: Measure  # 1:N: how often the best match is the right person
    threshold: float | None = None  # where that FAR lies
    chance: bool = False  # no better than guessing (spaces.at_chance): the vectors do not understand each other

    def measure(self, task: str) -> Measure:
        """What the matrix shows for a task of TASKS."""
        return self.verification if task == "1:1" else self.identification


@dataclass(frozen=True)
class Gain:
    """How much of what the upper model could give arrives, in per cent."""

    of: str  # "performance", or a direction
    task: str  # of TASKS
    percent: Measure
    got: Measure  # new - old, or cross - old
    possible: Measure  # upper - old, signed; the formula divides by its absolute value
    telling: bool  # whether `possible` is known to be other than 0: else the per cents say nothing
    best: bool = False  # of the directions, the one that counts as the upgrade gain


@dataclass(frozen=True)
class Bound:
    """Of two models that follow each other: the cross-test should lie between the two models by themselves."""

    low: str  # the older one
    high: str  # the newer one
    direction: str
    task: str
    above: Measure  # cross - self of the older: the criterion of backward compatible training asks for > 0
    below: Measure  # self of the newer - cross
    holds: bool  # low <= cross <= high, by the values


@dataclass(frozen=True)
class Compactness:
    """How close the pictures of a person lie, by three definitions."""

    model: str
    centre: Measure  # mean squared distance to the person's centre
    pairs: Measure  # mean squared distance of two pictures
    angle: Measure  # mean angle to the centre, in degrees


@dataclass(frozen=True)
class Matrix:
    """All tests between some models."""

    models: tuple[str, ...]  # rows and columns: old, new, upper, then the others
    tests: tuple[CrossTest, ...]
    direction: str  # of DIRECTIONS: the one that is meant by "new/old"
    difference: dict[str, Measure]  # by task: new/old - old/old, from the same draws of people
    gains: tuple[Gain, ...] = ()
    bounds: tuple[Bound, ...] = ()
    compactness: tuple[Compactness, ...] = ()
    point_distance: Measure = field(default_factory=lambda: Measure.none(""))  # d_pw of old and new
    fitted: tuple[Fitted, ...] = ()
    fitted_people: int = 0  # whom transforms were fitted on: nobody of them counts
    faces: int = 0
    people: int = 0
    genuine: int = 0  # pairs
    impostor: int = 0
    notes: tuple[str, ...] = ()

    def test(self, query: str, gallery: str, direction: str = "") -> CrossTest | None:
        """The test of two models; by the direction that is meant where none is given and there are several."""
        wanted = direction or (SELF if query == gallery else self.direction)
        found = [one for one in self.tests if (one.query, one.gallery) == (query, gallery)]
        return next((one for one in found if one.direction == wanted), found[0] if found else None)


def crossed(found: Spaces, plan: UpgradePlan, *, tick: Tick = silent) -> Matrix:
    """All tests between the models of `found`."""
    table = _Table(found, plan, tick=tick)
    chain = tuple(dict.fromkeys((found.old, *plan.others, found.new)))
    own = table(found.old, found.old)
    meant = table(found.new, found.old, found.direction)
    return Matrix(
        models=found.models,
        tests=tuple(one.test for one in table.results.values()),
        direction=found.direction,
        difference={task: _between(bct_criterion, task, own, meant) for task in TASKS},
        gains=tuple(one for task in TASKS for one in _gains(table, task, upper=plan.upper)),
        bounds=tuple(_bound(table, *pair, task) for task in TASKS for pair in pairwise(chain)),
        compactness=table.compactness(),
        point_distance=table.point_distance(),
        fitted=found.fitted,
        fitted_people=found.fitted_people,
        faces=len(found),
        people=found.people,
        genuine=own.genuine,
        impostor=own.impostor,
        notes=tuple(dict.fromkeys((*found.notes, *table.notes))),
    )


def searched(
    found: Spaces, plan: UpgradePlan, query: Floats, gallery: Floats, *, tick: Tick = silent
) -> Identification:
    """The searches of a test, `query` in `gallery` row by row of the faces of `found`; without intervals."""
    split = _split(found, plan)
    return identification.identify(
        query[split.probe],
        gallery[split.gallery],
        query_ids=found.ids[split.probe],
        gallery_ids=found.ids[split.gallery],
        query_identity=found.identity[split.probe],
        gallery_identity=found.identity[split.gallery],
        part=split.part,
        fpirs=(plan.fpir,),
        ranks=(1,),
        resamples=0,
        tick=tick,
    )


def _split(found: Spaces, plan: UpgradePlan) -> identification.Split:
    order = np.argsort(found.ids).astype(np.int64)  # the first picture of a person is that of the evaluation
    return identification.split(found.identity, order=order, seed=plan.seed)


class _Result(NamedTuple):
    """A test, and what it is in every draw of people."""

    test: CrossTest
    draws: dict[str, Array]  # by task: (B,), empty where there are none
    genuine: int
    impostor: int


class _Table:
    """Every test of some models, worked out once."""

    def __init__(self, found: Spaces, plan: UpgradePlan, *, tick: Tick) -> None:
        self.found, self.plan = found, plan
        self.notes = [_split(found, plan).how]
        wanted = [
            (query, gallery, direction)
            for query in found.models
            for gallery in found.models
            for direction in _listed(found, query, gallery)
        ]
        self.verified: dict[tuple[frozenset[str], str], _Verified] = {}
        self.results: dict[tuple[str, str, str], _Result] = {}
        for number, key in enumerate(wanted):
            self.results[key] = self._result(*key, tick=part_of(tick, number, len(wanted)))
        tick(1, 1)

    def __call__(self, query: str, gallery: str, direction: str = "") -> _Result:
        return self.results[query, gallery, direction or (SELF if query == gallery else "direct")]

    def directions(self) -> list[_Result]:
        """New queries in the old gallery, by every direction that understands; by all where none does."""
        found = [one for (*names, _), one in self.results.items() if names == [self.found.new, self.found.old]]
        there = [one for one in found if one.test.verification.value is not None]
        return [one for one in there if not one.test.chance] or there

    def _result(self, query: str, gallery: str, direction: str, *, tick: Tick) -> _Result:
        found, plan = self.found, self.plan
        if direction not in found.directions(query, gallery):
            why = self._apart(query, gallery)
            return _Result(CrossTest(query, gallery, direction, why, why, why), dict.fromkeys(TASKS, _NONE), 0, 0)
        tick(0, 1, f"{query}/{gallery}")
        both = frozenset((query, gallery)), direction
        sides = found.sides(query, gallery, direction)
        if both not in self.verified:
            # All pairs of two faces, in both orders: whose are the queries makes no difference.
            scores = compared(*sides, found.ids, found.identity, far=plan.far, tick=part_of(tick, 0, 3))
            point, draws = verification.drawn(
                scores, plan.far, resamples=plan.resamples, seed=plan.seed, tick=part_of(tick, 1, 3)
            )
            self.verified[both] = _Verified(point, draws, scores.n_genuine, scores.n_impostor)
        verified = self.verified[both]
        many, accepted, first = self._searched(*sides, tick=part_of(tick, 2, 3))
        test = CrossTest(
            query,
            gallery,
            direction,
            verification=verified.point.tar,
            identification=_limited(many.open[0].rank1, accepted),
            first=_limited(many.ranks[0][1], first),
            threshold=verified.point.threshold,
            chance=direction != SELF and at_chance(verified.point.tar, plan.far),
        )
        return _Result(test, {"1:1": verified.draws, "1:N": accepted}, verified.genuine, verified.impostor)

    def _searched(self, query: Floats, gallery: Floats, *, tick: Tick) -> tuple[Identification, Array, Array]:
        plan = self.plan
        found = searched(self.found, plan, query, gallery, tick=part_of(tick, 0, 2))
        draws = identification.drawn(found, resamples=plan.resamples, seed=plan.seed, tick=part_of(tick, 1, 2))
        return found, *draws

    def _apart(self, query: str, gallery: str) -> Measure:
        sides = [(escaped(name), self.found.vectors[name].shape[1]) for name in (query, gallery)]
        (one, a), (other, b) = sides
        words = "{one} has {a} dimensions, {other} has {b}: without a transform they cannot be compared"
        return Measure.none(tr(words, one=one, a=a, other=other, b=b))

    def compactness(self) -> tuple[Compactness, ...]:
        """Of every model, over people with two pictures or more."""
        identity = self.found.identity
        made = []
        for name in self.found.models:
            each = [intra_class(self.found.vectors[name], identity, one) for one in IntraClass]
            made.append(Compactness(name, *(self._mean(one, np.ones(len(one))) for one in each)))
        return tuple(made)

    def point_distance(self) -> Measure:
        """d_pw of old and new, over faces."""
        found = self.found
        if "direct" not in found.directions(found.new, found.old):
            return self._apart(found.old, found.new)
        each = point_distance(found.vectors[found.old], found.vectors[found.new])
        counts = np.bincount(self.codes).astype(np.float64)
        return self._mean(np.bincount(self.codes, each) / np.maximum(counts, 1), counts)

    @cached_property
    def codes(self) -> NDArray[np.int64]:
        """(N,) people numbered from 0 by ascending code."""
        return np.unique(self.found.identity, return_inverse=True)[1].astype(np.int64)

    @cached_property
    def weights(self) -> NDArray[np.float32]:
        """(B, C) draws of people."""
        return bootstrap.identity_weights(self.found.people, resamples=self.plan.resamples, seed=self.plan.seed)

    def _mean(self, value: Array, size: Array) -> Measure:
        """The mean over people, each of whom counts as `size`; NaN says nothing."""
        known = np.isfinite(value)
        size, total = size * known, np.where(known, value, 0) * size
        n = int(known.sum())
        if not n:
            return Measure.none(tr("nobody has two pictures"))
        with np.errstate(invalid="ignore", divide="ignore"):
            draws = _sums(self.weights, total) / _sums(self.weights, size) if n > 1 else _NONE
        limits = bootstrap.interval(draws) if len(draws) else None
        made = Measure(float(total.sum() / size.sum()), n=n)
        return made.with_interval(*limits) if limits else made


def _sums(weights: NDArray[np.float32], of: Array) -> Array:
    """(B,) sums over people, drawn; in single precision, for the draws of many people fill much memory."""
    return (weights @ of.astype(np.float32)).astype(np.float64)


class _Verified(NamedTuple):
    point: OperatingPoint
    draws: Array
    genuine: int
    impostor: int


def _listed(found: Spaces, query: str, gallery: str) -> tuple[str, ...]:
    """Directions of two models; "direct" also where it is not possible, to say why."""
    there = found.directions(query, gallery)
    return there if query == gallery else tuple(one for one in DIRECTIONS if one == "direct" or one in there)


def _limited(rate: Measure, draws: Array) -> Measure:
    limits = bootstrap.rate_interval(draws, rate.n) if len(draws) and rate.value is not None else None
    return rate.with_interval(*limits) if limits else rate


def _between(of: Callable[..., Any], task: str, *results: _Result) -> Measure:
    """What `of` makes of the numbers of some tests, and of each draw of them."""
    measures = [one.test.measure(task) for one in results]
    why = next((one.why for one in measures if one.why), "")
    values = [one.value for one in measures]
    if None in values:
        return Measure.none(why)
    made = Measure(float(of(*values)), n=min(one.n for one in measures), why=why, supported=not why)
    draws = [one.draws[task] for one in results]
    if len({len(one) for one in draws}) > 1 or not len(draws[0]):
        return made
    limits = bootstrap.interval(of(*draws))
    return made.with_interval(*limits) if limits else made


def _gains(table: _Table, task: str, *, upper: str) -> list[Gain]:
    """Of the new model by itself, and of its queries in the old gallery by every direction."""
    found = table.found
    old, new = table(found.old, found.old), table(found.new, found.new)
    best = table(upper, upper) if upper else None
    possible = Measure.none(tr("there is no upper model to compare with"))
    if best is not None:
        possible = _between(bct_criterion, task, old, best)
    telling = possible.defined and _apart_from_0(possible)
    made = []
    for of, one in (("performance", new), *((each.test.direction, each) for each in table.directions())):
        got = _between(bct_criterion, task, old, one)
        percent = Measure.none(possible.why or got.why)
        if best is not None and got.value is not None and possible.value is not None:
            percent = gain(got.value, possible.value)
            if percent.value is not None:
                percent = _between(lambda a, b, c: gains(b - a, c - a), task, old, one, best)
        made.append(Gain(of, task, percent, got, possible, telling))
    # Two directions may reach the same, as a rotation and its inverse do: one of them counts, the one that is meant.
    reached = [(one.got.value, one.of == found.direction, one.of) for one in made[1:] if one.got.value is not None]
    return [replace(one, best=bool(reached) and one.of == max(reached)[2]) for one in made]


def _apart_from_0(measure: Measure) -> bool:
    return measure.low is not None and measure.high is not None and (measure.low > 0 or measure.high < 0)


def _bound(table: _Table, low: str, high: str, task: str) -> Bound:
    direction = table.found.direction if (low, high) == (table.found.old, table.found.new) else "direct"
    older, newer, cross = table(low, low), table(high, high), table(high, low, direction)
    values = [one.test.measure(task).value for one in (older, cross, newer)]
    return Bound(
        low,
        high,
        direction,
        task,
        above=_between(bct_criterion, task, older, cross),
        below=_between(bct_criterion, task, cross, newer),
        holds=None not in values and in_sequence(*values),  # type: ignore[arg-type]
    )
