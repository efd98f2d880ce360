"""Fitting: a transform from one model's space into another's, out of the vectors that both gave for the same pictures.

Computes    ridge, procrustes   closed forms (closed_forms.py), kept as linear transforms
            rbt       residual bottlenecks, trained by the three losses of losses/ensemble.py; their linear skip starts
                      as the closed form that does best in the check
            auto      the best of several ways in a check (held_out.py): people are left out in turn, a fifth at a time,
                      and mapped by a transform fitted on the others. Then it is fitted on everybody
            unified   the query side learns too, once, together with the first member; the others are fitted into the
                      space it makes, since the vectors of one ensemble must lie in one space
Shapes      source (n, d_1), target (n, d_2) of any length; labels (n,) people, -1 = a person of its own each
Reference   Shoshan et al., "Asymmetric Image Retrieval with Cross Model Compatible Ensembles", WACV 2024 (rbt, M2M and
            Unified)
Departs     the paper fits rbt alone, from the identity. Between published networks on LFW, with hundreds of people to
            fit on, ridge does better than that and takes a moment; with fewer people procrustes or a stronger ridge
            does. Started from one of them rbt does about as well as it, at 10 epochs: more make it worse. So "auto"
            compares closed forms, and rbt where it is asked to
"""

from __future__ import annotations

import hashlib
import json
import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from facelens.errors import FaceLensError, InputError
from facelens.features import held_out, transforms
from facelens.features.closed_forms import CLOSED, STRENGTH, Floats, Matrix, Moments, Way, solved
from facelens.features.crops import ordered
from facelens.features.held_out import Check, Codes, Scores
from facelens.features.recipe import TransformLoss
from facelens.features.transforms import Transform
from facelens.progress import Tick, part_of, silent
from facelens.words import plural, tr

Labels = NDArray[np.integer[Any]]

_log = logging.getLogger("facelens.fitting")

METHODS = ("auto", *CLOSED, "rbt")
STRONG = Way("ridge", 1.0)  # for very few people
FORMAT = 1  # raise when the same vectors give another transform than before
SHORTEST = 1e-12
_BLOCK = 16_384  # vectors at a time


@dataclass(frozen=True)
class Training:
    """How a transform learns where no formula gives it."""

    loss: TransformLoss = field(default_factory=lambda: TransformLoss(linear_skip=True))
    rate: float = 1e-3  # of Adam; it falls as a cosine
    decay: float = 1e-4
    batch: int = 512
    epochs: float = 10.0
    least: int = 40  # steps, however few pictures there are
    from_closed: bool = True  # whether a linear skip starts as a closed form; else as the identity

    def steps(self, pictures: int) -> int:
        """How many for so many pictures."""
        return max(self.least, math.ceil(self.epochs * pictures / self.batch))


@dataclass(frozen=True)
class Fit:
    """A transform, and how it was fitted: all of this is in the words of the transform's file too."""

    transform: Transform
    method: str
    people: int
    pictures: int
    strength: float = 0.0  # of a ridge
    left_out: int = 0  # pictures without a usable vector
    start: str = ""  # what training started from, in words
    checks: tuple[Check, ...] = ()  # the best first
    asked: bool = False  # the method was given, not chosen
    mode: str = "m2m"
    seed: int = 0
    draw: int = 0  # see `fit`

    @classmethod
    def of(cls, transform: Transform) -> Fit:
        """What a transform says about itself."""
        made = dict(transform.made)
        try:
            checks = tuple(Check(**one) for one in made.pop("checks"))
            return cls(transform, checks=checks, **made)
        except (KeyError, TypeError) as error:
            raise InputError(tr("The transform does not say how it was fitted."), details=str(error)) from None

    @property
    def why(self) -> str:
        """In a sentence which way was taken, and why."""
        compared = held_out.compared(self.checks)
        if self.start:
            return tr("{way}, trained from {start}.", way=self.method, start=self.start) + f" {compared}".rstrip()
        way = str(Way(self.method, self.strength))
        if self.asked:
            return tr("{way}, as asked for.", way=way)
        return compared or tr("{way}: there are too few people to compare ways of fitting.", way=way)

    @property
    def notes(self) -> tuple[str, ...]:
        """What speaks against relying on it."""
        said = []
        if self.left_out:
            one = "{n} picture is left out: its vector is no use (not a number, or zero)."
            many = "{n} pictures are left out: their vectors are no use (not a number, or zero)."
            said.append(plural(self.left_out, one, many))
        if self.pictures < self.transform.dimensions_in:
            said.append(
                tr(
                    "{n} pictures to fit on are fewer than the model's {d} dimensions: more people would help.",
                    n=self.pictures,
                    d=self.transform.dimensions_in,
                )
            )
        return tuple(said)


@dataclass(frozen=True)
class UnifiedFit:
    """Transforms into a space of their own: of the query model, and of each member."""

    query: Fit
    members: tuple[Fit, ...]


def fit(
    source: Floats,
    target: Floats,
    labels: Labels,
    *,
    method: str = "auto",
    strength: float = STRENGTH,
    among: Sequence[str] = CLOSED,
    training: Training | None = None,
    draw: int = 0,
    seed: int = 0,
    names: tuple[str, str] = ("", ""),
    tick: Tick = silent,
) -> Fit:
    """A transform that brings vectors of the source model into the target model's space (M2M).

    method    of METHODS; "auto" takes the best of `among`, methods too
    strength  of a ridge that is asked for
    draw      0: everybody once; else a number for as many people drawn with replacement: several different transforms
              of one model
    names     of the two models, for the file
    """
    from facelens.features import learned

    for one in (method, *among):
        if one not in METHODS:
            raise _unknown(one)
    training = training or Training()
    pair = Pair.of(source, target, labels, draw=draw, seed=seed)
    tried = _ways(among) if method == "auto" else [Way(method, strength if method == "ridge" else 0.0)]
    warm = training.from_closed and (training.loss.linear_skip or pair.sides[0] != pair.sides[1])
    checked = tried if len(tried) > 1 else []
    if warm and Way("rbt") in tried:
        checked = [*_ways(CLOSED), *(way for way in checked if way.method not in CLOSED)]
    checks = pair.checks(checked, training, tick=part_of(tick, 0, 2))
    closed = next((one.way for one in checks if one.method in CLOSED), STRONG)
    way = tried[0] if len(tried) == 1 else next((one.way for one in checks if one.way in tried), STRONG)
    drawn, ticks, start = pair.drawn(), part_of(tick, 1, 2), ""
    if way.method == "rbt":
        start = str(closed) if warm else tr("the identity")
        made = learned.into_target(drawn, drawn.start(closed, training), training, tick=ticks)
    else:
        made = learned.linear(solved(way, drawn.moments(tick=ticks)))
    tick(1, 1)
    facts = {"method": way.method, "strength": way.strength, "asked": method != "auto"}
    named = replace(made, source=names[0], target=names[1])
    return _told(named, pair, start=start, checks=checks, **facts)


def fit_unified(
    members: Sequence[Floats],
    query: Floats,
    labels: Labels,
    *,
    method: str = "auto",
    training: Training | None = None,
    draw: int = 0,
    seed: int = 0,
    names: Sequence[str] = (),
    tick: Tick = silent,
) -> UnifiedFit:
    """Transforms of every member and of the query model into a space of their own.

    The query's and the first member's are trained together: as rbt where that is the method, else as linear ones,
    which do as well between published networks. The query's then stays as it is, and every further member is fitted
    into the space it makes by `method`. Their checks compare ways of fitting; the query's side has seen the people.
    `names` are those of the members, then that of the query model.
    """
    from facelens.features import learned

    if not len(members):
        raise InputError(tr("An ensemble needs at least one member."), hint=tr("Choose a model."))
    if method not in METHODS:
        raise _unknown(method)
    training = training or Training()
    called = tuple(names) or ("",) * (len(members) + 1)
    pair = Pair.of(members[0], query, labels, draw=draw, seed=seed)
    ticks = [part_of(tick, i, len(members) + 1) for i in range(len(members) + 1)]
    checks = pair.checks(_ways(CLOSED), training, tick=ticks[0])
    closed = checks[0].way if checks else STRONG
    drawn = pair.drawn()
    kind = "rbt" if method == "rbt" else "linear"
    first, asking = learned.into_both(drawn, drawn.start(closed, training), training, kind=kind, tick=ticks[1])
    facts = {"method": kind, "asked": True, "mode": "unified"}
    identity = tr("the identity")
    start = str(closed) if training.from_closed else identity
    fitted = [_told(replace(first, source=called[0]), pair, start=start, checks=checks, **facts)]
    common = asking(np.asarray(query))
    for place in range(1, len(members)):
        one = fit(
            members[place],
            common,
            labels,
            method=method,
            training=training,
            draw=draw,
            seed=seed,
            names=(called[place], ""),
            tick=ticks[place + 1],
        )
        fitted.append(_saying(replace(one, mode="unified")))
    return UnifiedFit(_told(replace(asking, source=called[-1]), pair, start=identity, **facts), tuple(fitted))


def copies(
    source: Floats, target: Floats, labels: Labels, count: int, *, tick: Tick = silent, **settings: Any
) -> tuple[Fit, ...]:
    """Several transforms of one model: the first as `fit` makes it, the others the same way on people drawn anew."""
    first = fit(source, target, labels, tick=part_of(tick, 0, count), **settings)
    same = {**settings, "method": first.method, "strength": first.strength}
    others = (fit(source, target, labels, draw=i, tick=part_of(tick, i, count), **same) for i in range(1, count))
    return first, *(_saying(replace(one, checks=first.checks, asked=first.asked)) for one in others)


def people_split(names: Sequence[str], *, share: float = 0.5, seed: int = 0) -> NDArray[np.bool_]:
    """(N,) which pictures transforms are fitted on, given the name of the person on each: all those of a share of the
    people.

    Who it is follows from the names: neither the order of pictures nor further pictures change it, and further people
    change it for hardly anybody. Where a gallery has a column `split` of its own, its training pictures are the better
    choice.

    >>> people_split(["a", "b", "a", "c", "d"]).tolist()
    [True, True, True, False, False]
    """
    people, codes = np.unique(np.asarray(names, str), return_inverse=True)
    if len(people) < 3:
        raise InputError(
            tr("Transforms need two people to be fitted on, and a third one to be shown."),
            hint=tr("Choose a gallery of more people, or transforms that were fitted elsewhere."),
        )
    fitted = np.zeros(len(people), bool)
    fitted[ordered(tuple(people.tolist()), seed)[: min(max(round(share * len(people)), 2), len(people) - 1)]] = True
    chosen: NDArray[np.bool_] = fitted[codes]
    return chosen


def key(*arrays: NDArray[Any], **settings: Any) -> str:
    """A name for what is fitted on these vectors and labels with these settings; other content, another name."""
    state = hashlib.sha256(json.dumps([FORMAT, settings], sort_keys=True, default=asdict).encode())
    for one in arrays:
        state.update(f"{one.dtype.str} {one.shape}".encode())
        for start in range(0, len(one), _BLOCK):
            state.update(np.ascontiguousarray(one[start : start + _BLOCK]).data)
    return state.hexdigest()[:32]


def cached(folder: Path, name: str, make: Callable[[], Sequence[Fit]]) -> tuple[Fit, ...]:
    """What was fitted under `name` (see `key`) before, from `folder`; else it is made, and kept if it can be."""
    found = sorted(folder.glob(f"{name}-*-of-*.safetensors"))
    if found and len(found) == int(found[0].stem.rpartition("-")[2]):
        try:
            return tuple(Fit.of(transforms.load(path)) for path in found)
        except InputError:
            pass  # damaged: it is fitted again
    made = tuple(make())
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for place, one in enumerate(made):
            transforms.save(one.transform, folder / f"{name}-{place:03d}-of-{len(made)}.safetensors")
    except (OSError, FaceLensError) as error:
        _log.warning("transforms are not kept in %s: %s", folder, error)
    return made


def _ways(methods: Sequence[str]) -> list[Way]:
    """Ways to try; a ridge is tried at two strengths."""
    ways = {"ridge": [Way("ridge", STRENGTH), STRONG]}
    return [way for one in methods for way in ways.get(one, [Way(one)])]


@dataclass(frozen=True, eq=False)
class Pair:
    """Unit vectors of the same pictures by two models, and who is on them."""

    source: Floats
    target: Floats
    labels: Codes  # 0 ... people - 1
    left_out: int
    seed: int
    draw: int

    @classmethod
    def of(cls, source: Floats, target: Floats, labels: Labels, *, draw: int, seed: int) -> Pair:
        sides = [np.asarray(one) for one in (source, target)]
        labels = np.asarray(labels)
        if any(one.ndim != 2 for one in sides) or labels.ndim != 1 or len({len(labels), *map(len, sides)}) > 1:
            raise InputError(
                tr(
                    "Vectors of the same pictures are needed from both models, and who is on them: {a}, {b} and {c}.",
                    a=len(sides[0]),
                    b=len(sides[1]),
                    c=len(labels),
                ),
                hint=tr("Take the pictures that both models have a vector of."),
            )
        with np.errstate(over="ignore", invalid="ignore"):
            lengths = [np.linalg.norm(one, axis=1) for one in sides]
        usable = np.logical_and(*(np.isfinite(one) & (one > SHORTEST) for one in lengths))
        x, y = (one[usable] / length[usable, None] for one, length in zip(sides, lengths))
        who = labels[usable].astype(np.int64)
        who = np.where(who < 0, who.max(initial=0) + 1 + np.arange(len(who)), who)
        people, codes = np.unique(who, return_inverse=True)
        if len(people) < 2:
            one, many = "A transform cannot be fitted on {n} person.", "A transform cannot be fitted on {n} people."
            raise InputError(
                plural(len(people), one, many), hint=tr("Choose pictures of more people; some hundreds are good.")
            )
        return cls(x, y, codes.astype(np.int64), int((~usable).sum()), seed, draw)

    @property
    def people(self) -> int:
        return int(self.labels.max()) + 1

    @property
    def pictures(self) -> int:
        return len(self.labels)

    @property
    def sides(self) -> tuple[int, int]:
        """d_1 and d_2."""
        return self.source.shape[1], self.target.shape[1]

    @property
    def luck(self) -> int:
        """A seed for what this draw decides by chance."""
        return int(np.random.SeedSequence([self.seed, self.draw]).generate_state(1)[0])

    def take(self, rows: Codes) -> Pair:
        _, codes = np.unique(self.labels[rows], return_inverse=True)
        return replace(self, source=self.source[rows], target=self.target[rows], labels=codes.astype(np.int64))

    def drawn(self) -> Pair:
        """Everybody once, or as many people drawn with replacement, with all their pictures."""
        if not self.draw:
            return self
        who = np.random.default_rng([5, self.seed, self.draw]).integers(self.people, size=self.people)
        times = np.bincount(who, minlength=self.people)
        return self.take(np.repeat(np.arange(self.pictures), times[self.labels]))

    def moments(self, *, tick: Tick = silent) -> Moments:
        return Moments.of(self.source, self.target, tick=tick)

    def start(self, closed: Way, training: Training) -> Matrix:
        """What training starts from."""
        return solved(closed, self.moments()) if training.from_closed else np.eye(*self.sides)

    def checks(self, ways: Sequence[Way], training: Training, *, tick: Tick) -> tuple[Check, ...]:
        """What each way is worth on people who are left out in turn, the best first; none where they are too few."""
        from facelens.features import learned

        parts = list(held_out.parts(self.labels, seed=self.seed)) if ways else []
        if not parts:
            return ()
        whole = self.moments(tick=part_of(tick, 0, 2))
        rest = [whole - self.take(rows).moments() for rows, _ in parts]
        people = len(np.unique(self.labels[np.concatenate([shown for _, shown in parts])]))
        found: list[Check] = []
        for number, way in enumerate(sorted(ways, key=lambda way: way.method not in CLOSED)):
            scores = []
            for place, ((rows, shown), others) in enumerate(zip(parts, rest)):
                ticks = part_of(part_of(tick, 1, 2), number * len(parts) + place, len(ways) * len(parts))
                ticks(0, 1, tr("Trying {way} on people left out", way=str(way)))
                if way.method in CLOSED:
                    mapped = self.source[shown] @ solved(way, others)
                else:
                    closed = max(found, key=lambda one: one.order).way if found else STRONG
                    left = self.take(np.setdiff1d(np.arange(self.pictures), rows))
                    made = learned.into_target(left, left.start(closed, training), training, tick=ticks)
                    mapped = made(self.source[shown]).astype(np.float64)
                mapped /= np.maximum(np.linalg.norm(mapped, axis=1, keepdims=True), SHORTEST)
                scores.append(Scores.of(mapped, np.asarray(self.target[shown], np.float64), self.labels[shown]))
            found.append(held_out.check(way, scores, people=people))
        return tuple(sorted(found, key=lambda one: one.order, reverse=True))


def _told(transform: Transform, pair: Pair, **facts: Any) -> Fit:
    """A fit whose transform says how it was made."""
    same = {name: getattr(pair, name) for name in ("people", "pictures", "left_out", "seed", "draw")}
    return _saying(Fit(transform, **same, **facts))


def _saying(fitted: Fit) -> Fit:
    """The same, with everything about it in the words of the transform too."""
    facts = {one.name: getattr(fitted, one.name) for one in fields(fitted) if one.name != "transform"}
    said = facts | {"checks": [asdict(one) for one in fitted.checks]}
    return replace(fitted, transform=replace(fitted.transform, made=said))


def _unknown(method: str) -> InputError:
    return InputError(
        tr("{method} is no way of fitting a transform.", method=method),
        hint=tr("Choose one of {methods}.", methods=", ".join(METHODS)),
    )
