"""Pairs left: 1:1 comparisons of pictures that are refused one after the other, all steps from one look at all pairs.

Computes    a pair is gone when one of its pictures is refused, or only its gallery picture where only these are;
            TAR at a FAR of x at step s: of the pairs left there, accept above the (floor(x n) + 1)-th highest impostor
            ("roc" of verification), in each draw of identities anew
Shapes      genuine and impostor pairs by descending score; leaves (N,) the step at which a picture is refused; TAR
            (B, S) of B draws
Departs     Impostors are kept from the highest down to where no step needs them, with some to spare: a draw that
            would have to go deeper ends at the last one kept. Where there are too many to keep, some of the people
            stand for all.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from facelens.analyses import similarity, verification
from facelens.analyses.scores import Floats, Scores
from facelens.images.faceset import Ids
from facelens.progress import Tick, part_of, silent
from facelens.words import tr

FACES = 120_000  # beyond, some people stand for all
TAIL = 16_000_000  # impostor pairs kept
SAMPLED = 1000  # faces by which the lowest score that is needed is guessed; up to so many all pairs are kept
SPARE = (2, 4, 8)  # times as many impostors as are accepted: what draws may need; more where a guess was too high
AT_LEAST = 50  # impostors kept beyond that
DRAWS = 128  # worked out between two ticks
CHECKED = 8  # steps by which it is guessed

Array = NDArray[np.float64]
Leaves = NDArray[np.int16]


@dataclass(frozen=True, eq=False)
class Faces:
    """Faces of known people that both models could embed, by ascending id; `rows` are their places among all given."""

    query: Floats  # (n, D) unit
    gallery: Floats
    codes: NDArray[np.int32]  # (n,) people from 0
    rows: NDArray[np.int64]
    ordered: bool  # whether face i against j is another pair than j against i
    notes: tuple[str, ...] = ()

    @property
    def people(self) -> int:
        return int(self.codes.max(initial=-1)) + 1

    def __len__(self) -> int:
        return len(self.rows)

    def part(self, chosen: NDArray[np.int64], *notes: str) -> Faces:
        """Some of them."""
        query = self.query[chosen]
        gallery = query if self.gallery is self.query else self.gallery[chosen]
        codes = np.unique(self.codes[chosen], return_inverse=True)[1].astype(np.int32)
        return Faces(query, gallery, codes, self.rows[chosen], self.ordered, (*self.notes, *notes))

    def some_people(self, faces: int, *, seed: int = 0) -> Faces:
        """People drawn until they have about so many faces."""
        chosen = np.random.default_rng(seed).permutation(self.people)
        running = np.cumsum(np.bincount(self.codes)[chosen])
        some = chosen[: max(2, int(np.searchsorted(running, faces, side="right")))]
        kept = np.flatnonzero(np.isin(self.codes, some))
        note = tr("{n} of {of} people were drawn to stand for all.", n=len(some), of=self.people)
        return self.part(kept, note)


def usable(
    query: Floats, gallery: Floats, ids: Ids, identity: NDArray[np.int32], *, ordered: bool = False, tick: Tick = silent
) -> Faces:
    """What can be compared; equal `query` and `gallery` make pairs without order unless `ordered` says otherwise."""
    if len({len(query), len(gallery), len(ids), len(identity)}) > 1:
        raise ValueError(
            f"{len(query)} queries, {len(gallery)} in the gallery, {len(identity)} names: not the same faces"
        )
    same = query is gallery or (query.shape == gallery.shape and np.array_equal(query, gallery, equal_nan=True))
    asking, good = similarity.unit(query, tick=tick)
    asked, good_too = (asking, good) if same else similarity.unit(gallery, tick=tick)
    known = np.asarray(identity) >= 0
    both = good & good_too
    order = np.argsort(ids, kind="stable")
    rows = order[(both & known)[order]]
    notes = []
    if left := int(np.count_nonzero(both & ~known)):
        notes.append(tr("{n} without identity are left out.", n=left))
    if bad := int(np.count_nonzero(~both)):
        notes.append(tr("{n} without usable vector are left out.", n=bad))
    codes = np.unique(np.asarray(identity)[rows], return_inverse=True)[1].astype(np.int32)
    asking = asking[rows]
    return Faces(asking, asking if same else asked[rows], codes, rows, ordered or not same, tuple(notes))


class Kind(NamedTuple):
    """Pairs by descending score, and whom they are of: rows of the faces."""

    score: Floats
    first: NDArray[np.int32]
    second: NDArray[np.int32]

    def part(self, places: NDArray[np.int64]) -> Kind:
        """Some of them."""
        return Kind(self.score[places], self.first[places], self.second[places])


@dataclass(frozen=True, eq=False)
class Pairs:
    """All genuine pairs, and impostors from the highest down."""

    faces: Faces
    genuine: Kind
    impostor: Kind
    complete: bool  # whether all impostors are there

    @classmethod
    def of(cls, faces: Faces, scores: Scores) -> Pairs:
        every = Kind(scores.score, scores.first, scores.second)
        genuine, impostor = (every.part(np.flatnonzero(scores.genuine == same)) for same in (True, False))
        return cls(faces, genuine, impostor, complete=not np.isfinite(scores.floor))

    def upto(self, count: int) -> Pairs:
        """With so many of the impostors only."""
        if count >= len(self.impostor.score):
            return self
        return Pairs(self.faces, self.genuine, self.impostor.part(np.arange(count)), complete=False)


class Left:
    """The pairs that are left at each of `steps` steps, where picture n of the faces leaves at step leaves[n]."""

    def __init__(self, pairs: Pairs, leaves: Leaves, *, steps: int, both: bool) -> None:
        self.pairs, self.steps = pairs, steps
        self._genuine = _Going(pairs.genuine, pairs.faces.codes, leaves, steps=steps, both=both)
        self._impostor = _Going(pairs.impostor, pairs.faces.codes, leaves, steps=steps, both=both)
        self.n_genuine = self._genuine.ends[:-1]  # (S,)
        codes, C = pairs.faces.codes.astype(np.int64), pairs.faces.people
        leaving = np.bincount(codes * (steps + 1) + leaves, minlength=C * (steps + 1)).reshape(C, steps + 1)
        self._left = np.cumsum(leaving[:, ::-1], axis=1)[:, ::-1][:, 1:].astype(np.float64)  # (C, S) pictures
        self._asking = self._left if both else np.bincount(codes, minlength=C).astype(np.float64)[:, None]
        self.n_impostor = self.impostors(np.ones((1, C), np.float32))[0].round().astype(np.int64)  # (S,)

    @property
    def undefined(self) -> str:
        """Why no rate exists, or nothing."""
        n, m = int(self.n_impostor[0]), int(self.n_genuine[0])
        if n + m == 0:
            return tr("no pair was compared")
        if m == 0:
            return tr("no genuine pair: nobody has two pictures that can be compared")
        return "" if n else tr("one identity, so there is no impostor pair")

    def why(self, far: float) -> str:
        """Why there is no rate at this FAR, or none to rely on."""
        return self.undefined or verification.support(far, int(self.n_impostor[0]))[1]

    def impostors(self, weights: NDArray[np.float32]) -> Array:
        """(B, S) weight of all impostor pairs that are left."""
        wide = np.asarray(weights, np.float64)
        every = (wide @ self._asking) * (wide @ self._left) - (wide * wide) @ (self._asking * self._left)
        return np.asarray(every if self.pairs.faces.ordered else every / 2)

    def places(self, weights: NDArray[np.float32], allowed: Array) -> NDArray[np.int64]:
        """(B, S) the impostor, from the highest, with which those left weigh more than `allowed`; else their number."""
        from facelens.analyses import kernels_left

        going = self._impostor
        found = np.empty((-(-len(weights) // kernels_left.LANES), self.steps, kernels_left.LANES), np.int64)
        arrays = (
            *(going.first, going.second, going.block, going.ends),
            *(self.pairs.impostor.first, self.pairs.impostor.second, self.pairs.faces.codes, going.gone),
            *(in_lanes(weights), in_lanes(allowed), going.shift, found),
        )
        similarity.in_threads(len(found), kernels_left.places, *arrays)
        return from_lanes(found, len(weights))

    def shares(self, weights: NDArray[np.float32], upto: NDArray[np.int64]) -> Array:
        """(B, S) how much of the weight of the genuine pairs left the first `upto` (B, S) of all have."""
        from facelens.analyses import kernels_left

        going = self._genuine
        found = np.empty((-(-len(weights) // kernels_left.LANES), self.steps, kernels_left.LANES), np.float64)
        arrays = (
            *(going.first, going.block, going.ends, self.pairs.genuine.first, self.pairs.faces.codes, going.gone),
            *(in_lanes(weights), in_lanes(upto), going.shift, found),
        )
        similarity.in_threads(len(found), kernels_left.accepted, *arrays)
        return from_lanes(found, len(weights))

    def tar(
        self, far: float, weights: NDArray[np.float32] | None = None, *, tick: Tick = silent
    ) -> tuple[Array, Array]:
        """(B, S) twice: TAR, and the impostor score above which pairs are accepted; NaN where there is no rate.

        Without weights of all pairs as they are, B = 1; NaN too where the impostors that are kept do not suffice.
        """
        last = len(self.pairs.impostor.score)
        if weights is None:
            weights = np.ones((1, self.pairs.faces.people), np.float32)
        elif not self.pairs.complete:
            last -= 1
        share, borders = np.empty((len(weights), self.steps)), np.empty((len(weights), self.steps))
        scores = np.append(self.pairs.impostor.score.astype(np.float64), -np.inf if self.pairs.complete else np.nan)
        negative = -self.pairs.genuine.score.astype(np.float64)
        for start in range(0, len(weights), DRAWS):
            tick(start, len(weights), tr("Drawing identities"))
            some = slice(start, start + DRAWS)
            every = self.impostors(weights[some])
            place = np.minimum(self.places(weights[some], far * every + 1e-9), max(last, 0))
            borders[some] = np.where(every > 0, scores[place], np.nan)
            upto = np.searchsorted(negative, -borders[some], side="left")
            share[some] = np.where(np.isnan(borders[some]), np.nan, self.shares(weights[some], upto))
        return share, borders

    def thresholds(self, border: Array) -> Array:
        """(S,) the lowest score left above each border: from there on pairs are accepted; NaN where there is none."""
        found = np.full(self.steps, np.nan)
        kinds = (self.pairs.genuine.score, self._genuine.gone), (self.pairs.impostor.score, self._impostor.gone)
        for step in np.flatnonzero(~np.isnan(border)):
            for scores, gone in kinds:
                above = bisect_left(scores, -border[step], key=lambda score: -score)
                place = _last_left(gone, above, int(step))
                if place >= 0:
                    found[step] = np.fmin(found[step], scores[place])
        return found


def _last_left(gone: Leaves, stop: int, step: int) -> int:
    """The last place before `stop` that is left at a step; -1 for none."""
    while stop > 0:
        start = max(0, stop - 4096)
        left = np.flatnonzero(gone[start:stop] > step)
        if len(left):
            return start + int(left[-1])
        stop = start
    return -1


def _gone(kind: Kind, leaves: Leaves, *, both: bool) -> Leaves:
    """(P,) the step at which each pair is gone."""
    gone = leaves[kind.second]
    return np.minimum(gone, leaves[kind.first]) if both else gone


class _Going:
    """Pairs of one kind in the order in which they go, the last ones first; see kernels_left."""

    def __init__(self, kind: Kind, codes: NDArray[np.int32], leaves: Leaves, *, steps: int, both: bool) -> None:
        self.gone = _gone(kind, leaves, both=both)  # by score
        self.shift = len(self.gone).bit_length() // 2  # as many blocks as there are pairs in each
        counts = np.bincount(self.gone, minlength=steps + 1)
        self.ends = np.append(np.cumsum(counts[::-1])[::-1][1:], 0)
        order = np.argsort(-self.gone, kind="stable").astype(np.int32)
        self.block = order >> self.shift
        self.first, self.second = codes[kind.first[order]], codes[kind.second[order]]


def in_lanes(rows: NDArray[Any]) -> NDArray[Any]:
    """(B, n) as (G, n, LANES); rows of nothing fill up."""
    from facelens.analyses.kernels_left import LANES

    groups = -(-len(rows) // LANES)
    filled = np.zeros((groups * LANES, rows.shape[1]), rows.dtype)
    filled[: len(rows)] = rows
    return np.ascontiguousarray(filled.reshape(groups, LANES, -1).transpose(0, 2, 1))


def from_lanes(groups: NDArray[Any], count: int) -> NDArray[Any]:
    """(G, n, LANES) as (B, n)."""
    return groups.transpose(0, 2, 1).reshape(-1, groups.shape[1])[:count]


def collected(
    faces: Faces, leaves: Leaves, *, steps: int, far: float, both: bool, tick: Tick = silent
) -> tuple[Pairs, int]:
    """Pairs that suffice at all steps, and how many impostors draws need; `leaves` (N,) of all that were given."""
    if len(faces) > FACES:
        faces = faces.some_people(FACES)
    floor = -np.inf
    for turn, spare in enumerate(SPARE):
        if len(faces) > SAMPLED:
            floor, expected = _guess(faces, leaves, steps=steps, share=1.25 * spare * far, both=both)
            if turn == 0 and expected > TAIL:
                faces = faces.some_people(int(len(faces) * (TAIL / expected) ** 0.5))
            elif expected > 2 * TAIL:
                break
        pairs = _highest(faces, floor, tick=part_of(tick, turn, turn + 1))
        left = Left(pairs, leaves[faces.rows], steps=steps, both=both)
        needed = SPARE[0] * (np.floor(far * left.n_impostor) + 1) + AT_LEAST
        depth = left.places(np.ones((1, faces.people), np.float32), needed[None])
        if pairs.complete or (depth < len(pairs.impostor.score)).all():
            break
    return pairs, int(depth.max(initial=0)) + 1


def _highest(faces: Faces, floor: float, *, tick: Tick) -> Pairs:
    against = faces.gallery if faces.ordered else None
    ids = np.arange(len(faces))
    scores = similarity.highest_pairs(faces.query, floor, ids=ids, identity=faces.codes, against=against, tick=tick)
    return Pairs.of(faces, scores)


def genuine(faces: Faces, *, tick: Tick = silent) -> Kind:
    """All genuine pairs."""
    return _highest(faces, 2.0, tick=tick).genuine


def _guess(faces: Faces, leaves: Leaves, *, steps: int, share: float, both: bool) -> tuple[float, float]:
    """A score above which a share of the impostors left is found at every step, and how many pairs lie above it."""
    rows = np.sort(np.random.default_rng(0).choice(len(faces), SAMPLED, replace=False))
    codes, own = faces.codes[rows], leaves[faces.rows[rows]]
    impostor = codes[:, None] != codes
    if not faces.ordered:
        impostor &= np.tri(SAMPLED, k=-1, dtype=bool)
    scores = (faces.query[rows] @ faces.gallery[rows].T)[impostor]
    gone = np.broadcast_to(own, impostor.shape)
    gone = (np.minimum(gone, own[:, None]) if both else gone)[impostor]
    few = min(len(scores), int(16 * (share * len(scores) + AT_LEAST)))
    if not few:
        return -np.inf, 0.0
    highest = np.argpartition(-scores, few - 1)[:few]
    highest = highest[np.argsort(-scores[highest])]
    deepest = 0
    for step in np.unique(np.linspace(0, steps - 1, CHECKED).astype(int)):
        wanted = share * np.count_nonzero(gone > step) + AT_LEAST
        deepest = max(deepest, int(np.searchsorted(np.cumsum(gone[highest] > step), wanted)))
    if deepest >= len(scores):
        return -np.inf, len(faces) ** 2 / (1 if faces.ordered else 2)
    deepest = min(deepest, few - 1)
    return float(scores[highest[deepest]]), (deepest + 1) * (len(faces) / SAMPLED) ** 2
