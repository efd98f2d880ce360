"""Mixed galleries: rates of queries by the new model where some of the gallery is the old model's still.

Computes    a queue says in which order the faces of the gallery are embedded anew; after step s those with
            entered <= s are new, and all queries are. Of a pair only the gallery's face decides which of its two
            scores counts, so each step is the one before it and the difference its faces make: no pair is scored twice.
            1:1  genuine and impostor scores of every gallery face in bins; sums over the faces; TAR at the FAR, linear
                 inside the bin that decides
            1:N  one picture of a person enrolled, as identification.split has it; the best stranger of a mixed gallery
                 is the best of the new ones so far and of the old ones that are left
Shapes      entered (W, N) the step at which a face becomes new, by queue; rates (W, S)
Departs     1:1  TAR is wrong by no more than the share of genuine pairs in one bin, 2^-13 of cosine
                 Draws weigh at most `SAMPLE` impostor and `GENUINE` genuine pairs, taken at random beyond, and are
                 centred on the rate of all pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from facelens.analyses import bootstrap, identification, similarity
from facelens.analyses.identification import Searches
from facelens.analyses.scores import Floats
from facelens.images.faceset import Ids
from facelens.progress import Tick, part_of, silent
from facelens.words import tr

Array = NDArray[np.float64]
Counts = NDArray[np.int64]
Steps = NDArray[np.int16]

SCALE = 1 << 13  # bins in a unit of cosine
BINS = 2 * SCALE + 1
COLUMNS = 256  # gallery faces counted at once
MEMORY = 1 << 25  # bytes of a block of products
SAMPLE = 1 << 21
GENUINE = 1 << 16
TAIL = 4  # the highest impostors that are weighed, as a multiple of the FAR


class Sides(NamedTuple):
    """Queries and gallery, both as they are while the gallery is old and once it is new; unit, of the same N faces."""

    query: Floats
    old: Floats  # the gallery that `query` is searched in
    new: Floats  # queries and gallery of the new model by itself


class Drawing(NamedTuple):
    """What people are drawn for: some queues at some steps, the first and the last of which are the same for all."""

    queues: tuple[int, ...]
    steps: tuple[int, ...]
    resamples: int
    seed: int = 0

    def over(self, drawn: Callable[[int, int], Array], *, tick: Tick) -> Array:
        """(queues, steps, B) of what `drawn` says of a queue and a step."""
        rows: list[list[Array]] = []
        for i, queue in enumerate(self.queues):
            rows.append([])
            for k, step in enumerate(self.steps):
                tick(i * len(self.steps) + k, len(self.queues) * len(self.steps), tr("Drawing identities"))
                known = rows[0][k] if i and step in (self.steps[0], self.steps[-1]) else None
                rows[-1].append(drawn(queue, step) if known is None else known)
        return np.array(rows)


class Rates(NamedTuple):
    """A rate at every step of every queue, NaN where there is none, and what draws of people make of some of them."""

    value: Array  # (W, S)
    drawn: Array  # (queues, steps, B) as asked for, centred on the value; B is 0 where nothing can be drawn
    n: int  # genuine pairs, or searches of enrolled people


def verified(
    sides: Sides,
    identity: NDArray[np.int32],
    entered: Steps,
    *,
    steps: int,
    far: float,
    drawing: Drawing,
    tick: Tick = silent,
) -> Rates:
    """1:1 over all pairs of a query and another face of the gallery: TAR at the FAR of each mixed gallery."""
    counted = _counted(sides, identity, entered, steps=steps, seed=drawing.seed, tick=part_of(tick, 0, 2))
    value = counted.tar(far)
    drawn = np.zeros((len(drawing.queues), len(drawing.steps), 0))
    if drawing.resamples and np.isfinite(value).all():
        people = int(identity.max()) + 1
        weights = bootstrap.identity_weights(people, resamples=drawing.resamples, seed=drawing.seed)

        def draw(queue: int, step: int) -> Array:
            middle, some = counted.pairs.tar(entered[queue] <= step, identity, weights, far)
            centred: Array = some - middle + value[queue, step]
            return centred

        drawn = drawing.over(draw, tick=part_of(tick, 1, 2))
    return Rates(value, drawn, counted.pairs.genuine_pairs)


# 1:1


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Some pairs of both kinds, with their scores while the gallery is old and once it is new."""

    first: Counts
    second: Counts
    old: Floats
    new: Floats
    genuine: NDArray[np.bool_]
    impostors: int  # of all pairs
    genuine_pairs: int

    def tar(
        self, renewed: NDArray[np.bool_], identity: NDArray[np.int32], weights: NDArray[np.float32], far: float
    ) -> tuple[float, Array]:
        """TAR of these pairs, and (B,) of draws, where the faces `renewed` are new; each finds its own threshold."""
        score = np.where(renewed[self.second], self.new, self.old)
        strangers = np.flatnonzero(~self.genuine)
        tail = min(len(strangers), int(TAIL * far * len(strangers)) + 64)
        highest = strangers[np.argpartition(-score[strangers], tail - 1)[:tail]]
        highest = highest[np.argsort(-score[highest], kind="stable")]
        mates = np.flatnonzero(self.genuine)
        mates = mates[np.argsort(-score[mates], kind="stable")]
        one, two = identity[self.first[highest]], identity[self.second[highest]]
        who = identity[self.first[mates]]
        sizes = np.bincount(identity, minlength=weights.shape[1]).astype(np.float64)
        found = []
        for part in (np.ones((1, weights.shape[1]), np.float32), weights):
            faces = part * sizes
            total = faces.sum(axis=1) ** 2 - (faces**2).sum(axis=1)
            allowed = far * total * (len(strangers) / self.impostors)
            running = np.cumsum(part[:, one] * part[:, two], axis=1, dtype=np.float64)
            refused = np.minimum((running <= allowed[:, None] + 1e-9).sum(axis=1), tail - 1)
            accepted = np.searchsorted(-score[mates], -score[highest[refused]], side="left")
            right = np.cumsum(part[:, who], axis=1, dtype=np.float64)
            with np.errstate(invalid="ignore", divide="ignore"):
                above = np.where(accepted > 0, right[np.arange(len(part)), accepted - 1], 0.0)
                found.append(above / right[:, -1])
        return float(found[0][0]), found[1]


@dataclass(frozen=True, eq=False)
class _Counted:
    """All pairs in bins: of the old gallery, and what changes at each step of each queue."""

    impostor: Counts  # (BINS,)
    genuine: Counts
    impostor_change: Counts  # (W, S, BINS)
    genuine_change: Counts
    pairs: _Pairs

    def tar(self, far: float) -> Array:
        """(W, S)."""
        out = np.full(self.impostor_change.shape[:2], np.nan)
        n, m = int(self.impostor.sum()), int(self.genuine.sum())
        if not n or not m:
            return out
        for o, changes in enumerate(zip(self.impostor_change, self.genuine_change)):
            # Highest bin first: what lies at or above its lower edge.
            strangers, mates = (
                np.cumsum((whole + np.cumsum(change, axis=0))[:, ::-1], axis=1)
                for whole, change in zip((self.impostor, self.genuine), changes)
            )
            for s, (fa, ta) in enumerate(zip(strangers, mates)):
                allowed = np.floor(far * n + 1e-9)
                at = int(np.searchsorted(fa, allowed, side="right"))  # the first bin that holds one too many
                if at == BINS:
                    out[o, s] = 1.0
                    continue
                before, mates_before = (int(one[at - 1]) if at else 0 for one in (fa, ta))
                inside = (allowed - before) / (fa[at] - before)
                out[o, s] = (mates_before + inside * (ta[at] - mates_before)) / m
        return out


def _blocks(sides: Sides, *, tick: Tick) -> Iterator[tuple[slice, slice, Floats, Floats]]:
    """Queries, gallery faces, and their products with the old and the new gallery."""
    N = len(sides.new)
    for start in range(0, N, COLUMNS):
        columns = slice(start, min(start + COLUMNS, N))
        ticks = part_of(tick, start, N)
        note = tr("Comparing all pairs")
        old = similarity.blocks(sides.query, sides.old[columns], memory=MEMORY)
        new = similarity.blocks(sides.new, sides.new[columns], memory=MEMORY)
        for (rows, before), (_, after) in zip(old, new):
            ticks(rows.start * COLUMNS, N, note)
            yield rows, columns, before, after
    tick(1, 1)


def _bins(block: Floats) -> Counts:
    return np.clip((block + 1) * SCALE, 0, BINS - 1).astype(np.int64)


def _counted(
    sides: Sides, identity: NDArray[np.int32], entered: Steps, *, steps: int, seed: int, tick: Tick
) -> _Counted:
    from scipy.sparse import csr_array

    N, W = len(identity), len(entered)
    counts = np.bincount(identity)
    genuine_pairs = int((counts * (counts - 1)).sum())
    impostors = N * (N - 1) - genuine_pairs
    impostor, genuine = np.zeros(BINS, np.int64), np.zeros(BINS, np.int64)
    impostor_change, genuine_change = (np.zeros((W * steps, BINS), np.int64) for _ in range(2))
    queues = np.arange(W)[:, None] * steps
    generator = np.random.default_rng(seed)
    kept: list[tuple[Floats | Counts, ...]] = []
    for rows, columns, before, after in _blocks(sides, tick=tick):
        wide = columns.stop - columns.start
        ways = (entered[:, columns] + queues).astype(np.int64)  # (W, columns): the sum each face goes into
        into = csr_array(
            (np.ones(ways.size, np.int64), (ways.ravel(), np.tile(np.arange(wide), W))), shape=(W * steps, wide)
        )
        same = identity[rows, None] == identity[None, columns]
        own = np.arange(rows.start, rows.stop)[:, None] == np.arange(columns.start, columns.stop)
        one, two = np.nonzero(same & ~own)
        places = [_bins(block) for block in (before, after)]
        # Genuine pairs are few: one by one. All others by face.
        held = []
        for place in places:
            cells = place + np.arange(wide) * BINS
            every = np.bincount(cells.ravel(), minlength=wide * BINS)
            every -= np.bincount(cells[same], minlength=wide * BINS)
            held.append(every.reshape(wide, BINS))
        impostor += held[0].sum(axis=0)
        impostor_change += into @ (held[1] - held[0])
        genuine += np.bincount(places[0][one, two], minlength=BINS)
        for way in ways[:, two]:
            np.subtract.at(genuine_change, (way, places[0][one, two]), 1)
            np.add.at(genuine_change, (way, places[1][one, two]), 1)
        # Some of both kinds for draws.
        i, j = _some(~same, SAMPLE / max(impostors, 1), generator)
        of_mates = _thinned(np.arange(len(one)), GENUINE / max(genuine_pairs, 1), generator)
        for row, column, kind in ((i, j, False), (one[of_mates], two[of_mates], True)):
            kept.append(
                (rows.start + row, columns.start + column, before[row, column], after[row, column],
                 np.full(len(row), kind))
            )  # fmt: skip
    first, second, old, new, mates = (np.concatenate(one) for one in zip(*kept))
    shape = (W, steps, BINS)
    return _Counted(
        impostor,
        genuine,
        impostor_change.reshape(shape),
        genuine_change.reshape(shape),
        _Pairs(first, second, old, new, mates, impostors, genuine_pairs),
    )


def _some(wanted: NDArray[np.bool_], share: float, generator: np.random.Generator) -> tuple[Counts, Counts]:
    """Rows and columns of a share of the wanted places."""
    if share >= 1:
        rows, columns = np.nonzero(wanted)
        return rows, columns
    places = generator.integers(wanted.size, size=generator.binomial(wanted.size, share))
    rows, columns = np.divmod(places[wanted.ravel()[places]], wanted.shape[1])
    return rows, columns


def _thinned(places: Counts, share: float, generator: np.random.Generator) -> Counts:
    return places if share >= 1 else places[generator.random(len(places)) < share]


# 1:N


def identified(
    sides: Sides,
    ids: Ids,
    identity: NDArray[np.int32],
    entered: Steps,
    *,
    steps: int,
    fpir: float,
    drawing: Drawing,
    tick: Tick = silent,
) -> Rates:
    """1:N: one picture of a person is enrolled, the others search; TPIR (rank 1) at the FPIR of each mixed gallery."""
    W = len(entered)
    split = identification.split(identity, seed=drawing.seed)
    value = np.full((W, steps), np.nan)
    if not len(split.gallery) or not len(split.probe):
        return Rates(value, np.zeros((len(drawing.queues), len(drawing.steps), 0)), 0)
    halves = [split.gallery[split.part == part] for part in (1, 2)]
    found = [
        _searched(sides, ids, identity, entered, split.probe, entries, part, steps, tick=part_of(tick, part - 1, 4))
        for part, entries in enumerate(halves, 1)
        if len(entries)
    ]

    def read(queue: int, step: int, resamples: int = 0) -> tuple[float, Array]:
        searches = _both([one.at(queue, step) for one in found])
        return identification.tpir(searches, fpir, resamples=resamples, seed=drawing.seed)

    for o in range(W):
        part_of(tick, 2, 4)(o, W, tr("Reading rates off"))
        value[o] = [read(o, step)[0] for step in range(steps)]
    drawn = drawing.over(lambda queue, step: read(queue, step, drawing.resamples)[1], tick=part_of(tick, 3, 4))
    return Rates(value, drawn, sum(int(one.mated.sum()) for one in found))


@dataclass(frozen=True, eq=False)
class _Mixed:
    """Searches in one gallery, at every step of every queue."""

    ids: Ids  # (Q,)
    identity: NDArray[np.int32]
    part: int
    mated: NDArray[np.bool_]
    entered: Steps  # (W, Q) when the mate becomes new
    mate: tuple[Floats, Floats]  # (Q,) score of the mate, old and new; -inf where there is none
    other: Floats  # (W, S, Q) best stranger

    def at(self, queue: int, step: int) -> Searches:
        """As they are after one step of one queue."""
        mate = np.where(self.entered[queue] <= step, self.mate[1], self.mate[0]).astype(np.float64)
        other = self.other[queue, step].astype(np.float64)
        nobody = np.full(len(self.ids), -1, np.int64)
        rank = np.where(self.mated, np.where(other < mate, 1, 2), 0)
        part = np.full(len(self.ids), self.part, np.int8)
        return Searches(self.ids, self.identity, part, self.mated, rank, nobody, mate, nobody, other)


def _both(parts: list[Searches]) -> Searches:
    return Searches(**{f.name: np.concatenate([getattr(one, f.name) for one in parts]) for f in fields(Searches)})


def _searched(
    sides: Sides,
    ids: Ids,
    identity: NDArray[np.int32],
    entered: Steps,
    probe: Counts,
    entries: Counts,
    part: int,
    steps: int,
    *,
    tick: Tick,
) -> _Mixed:
    Q, W = len(probe), len(entered)
    of_person = np.full(int(identity.max()) + 1, -1, np.int64)
    of_person[identity[entries]] = np.arange(len(entries))
    own = of_person[identity[probe]]
    mated = own >= 0
    mate = [np.full(Q, -np.inf, np.float32) for _ in range(2)]
    other = np.empty((W, steps, Q), np.float32)
    places = [_Groups.of(entered[o, entries], steps) for o in range(W)]
    query, new = sides.query[probe], sides.new[probe]
    old_blocks = similarity.blocks(query, sides.old[entries], memory=MEMORY, tick=tick)
    new_blocks = similarity.blocks(new, sides.new[entries], memory=MEMORY)
    for (rows, before), (_, after) in zip(old_blocks, new_blocks):
        having = np.flatnonzero(mated[rows])
        for block, score in zip((before, after), mate):
            score[rows.start + having] = block[having, own[rows][having]]
            block[having, own[rows][having]] = -np.inf
        for o, groups in enumerate(places):
            other[o, :, rows] = groups.best(before, after)
    when = np.where(mated, entered[:, entries][:, own], 0).astype(np.int16)
    return _Mixed(ids[probe], identity[probe], part, mated, when, (mate[0], mate[1]), other)


class _Groups(NamedTuple):
    """Gallery entries by the step at which they become new."""

    order: Counts
    begins: Counts  # of each group in `order`
    at: Counts  # the step of each group
    steps: int

    @classmethod
    def of(cls, entered: Steps, steps: int) -> _Groups:
        order = np.argsort(entered, kind="stable")
        at, begins = np.unique(entered[order], return_index=True)
        return cls(order, begins, at.astype(np.int64), steps)

    def best(self, before: Floats, after: Floats) -> Floats:
        """(S, q) the best of those that are new by then, and of the others as they were."""
        lowest = np.full((len(before), 1), -np.inf, np.float32)
        new = np.maximum.reduceat(after[:, self.order], self.begins, axis=1)
        old = np.maximum.reduceat(before[:, self.order], self.begins, axis=1)
        so_far = np.concatenate([lowest, np.maximum.accumulate(new, axis=1)], axis=1)
        left = np.concatenate([np.maximum.accumulate(old[:, ::-1], axis=1)[:, ::-1], lowest], axis=1)
        done = np.searchsorted(self.at, np.arange(self.steps), side="right")  # groups that are new at each step
        found: Floats = np.maximum(so_far[:, done], left[:, done]).T
        return found
