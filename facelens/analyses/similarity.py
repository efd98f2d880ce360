"""Similarity: cosines between many vectors, in blocks, so that memory stays bounded however many there are.

Computes    cosine of unit vectors = their product; all pairs of a set, listed pairs, the k best of a gallery
Shapes      vectors (N, D), query (Q, D), gallery (G, D), float32 or float64, which is kept
Departs     none up to `keep` pairs. Beyond, impostor pairs below `floor` are only counted, in bins of 2^-16 with
            further edges where a rate is read off: for each target FAR the (k + 1)-th largest impostor score, the
            place just above it and the next larger impostor score (k = floor(FAR n)), and the same around the equal
            error rate. There FAR, TAR and EER are exact, as they are everywhere above `floor`, where also the best
            accuracy lies (unless one bin holds more impostors than are kept: nearly all are equal). AUC, d' and the
            shape of curves below `floor` are true to a bin.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from facelens.analyses.plan import FARS
from facelens.analyses.scores import Bulk, Floats, Scores
from facelens.errors import InputError
from facelens.images.faceset import Ids
from facelens.progress import Tick, silent
from facelens.words import tr

MEMORY = 1 << 28  # bytes of one block of whole rows
TILE = (1024, 4096)  # rows and columns looked at at once where whole rows are not needed
LIGHT = 1 << 22  # products up to here are left to numpy: torch and compiled code cost more to load than they save
SMALLEST_NORM = 1e-12
KEEP = 4_000_000  # pairs kept one by one
GENUINE = 20_000_000  # genuine pairs that can be kept
SCALE = 1 << 16  # bins of counted pairs in a unit of cosine
BASE = -SCALE - 16  # the first bin; products of unit vectors can lie a little outside -1 .. 1
BINS = 2 * (SCALE + 16)
COLLECTED = 1 << 19  # scores of one bin that are looked at one by one, to find the one that decides
FINER = 13  # powers of 2 by which a bin that holds more is divided
FINEST = 68  # below 2^-68 cosines are equal
BUFFER = 1 << 17  # pairs a thread puts down at once
DENSE = 1_000_000  # listed pairs from which on it may pay to take all products of their rows
WORTH = 64  # how many products of a block cost as much as one of two rows that are looked up
INSERTED = 512  # up to so many best ones are kept by insertion; for more of them whole rows are sorted


def unit(vectors: Floats, *, tick: Tick = silent) -> tuple[Floats, NDArray[np.bool_]]:
    """The rows of `vectors` at length 1, and which of them are usable: finite, with a norm above 1e-12.

    Rows that are not usable are returned as they came; leave them out.
    """
    kept: Floats = np.asarray(vectors, np.result_type(vectors, np.float32))
    made: Floats = np.empty(kept.shape, kept.dtype)
    valid = np.zeros(len(kept), np.bool_)
    step = max(1, MEMORY // 16 // max(1, 8 * kept.shape[1]))
    for start in range(0, len(kept), step):
        tick(0, 1)
        some = slice(start, start + step)
        part = np.asarray(kept[some], np.float64)  # a float32 norm can overflow or vanish where the vector is fine
        with np.errstate(invalid="ignore", over="ignore"):
            norms = np.sqrt(np.einsum("nd,nd->n", part, part))
        good = np.isfinite(norms) & (norms > SMALLEST_NORM)
        valid[some] = good
        made[some] = part / np.where(good, norms, 1.0)[:, None]
    return made, valid


class _Products:
    """Blocks of products of two sets of vectors, by numpy or torch, whichever is right for their number.

    A block is written over by the next one. The same rows and columns give the same bits each time.
    """

    def __init__(self, query: Floats, gallery: Floats, *, rows: int, columns: int) -> None:
        if query.shape[1] != gallery.shape[1]:
            raise ValueError(f"vectors of {query.shape[1]} and {gallery.shape[1]} numbers have no cosine")
        kind = np.result_type(query, gallery, np.float32)
        self.query: Floats = np.require(query, kind, ["C", "W"])  # torch grumbles about what must not be written
        self.gallery: Floats = self.query if gallery is query else np.require(gallery, kind, ["C", "W"])
        self.light = len(query) * len(gallery) <= LIGHT
        rows, columns = min(rows, len(query)), min(columns, len(gallery))
        self._multiply: Callable[[slice, slice], Floats]
        self._space: Any
        if self.light:
            self._space = np.empty(rows * columns, kind)
            self._multiply = self._by_numpy
        else:
            import torch

            self._space = torch.empty(rows * columns, dtype=torch.float32 if kind == np.float32 else torch.float64)
            self._pair: Any = torch.from_numpy(self.query), torch.from_numpy(self.gallery)
            self._multiply = self._by_torch

    def __call__(self, rows: slice, columns: slice) -> Floats:
        return self._multiply(rows, columns)

    def _by_numpy(self, rows: slice, columns: slice) -> Floats:
        query, gallery = self.query[rows], self.gallery[columns]
        block: Floats = self._space[: len(query) * len(gallery)].reshape(len(query), len(gallery))
        np.matmul(query, gallery.T, out=block)
        return block

    def _by_torch(self, rows: slice, columns: slice) -> Floats:
        import torch

        query, gallery = self._pair[0][rows], self._pair[1][columns]
        block = self._space[: len(query) * len(gallery)].view(len(query), len(gallery))
        with torch.inference_mode():
            torch.mm(query, gallery.T, out=block)
        made: Floats = block.numpy()
        return made


def row_digests(vectors: Floats) -> NDArray[np.uint64]:
    """(N,) a number for each vector (N, D); equal ones have equal numbers, others hardly ever.

    >>> found = row_digests(np.array([[1, 2], [2, 1], [1, 2]], np.float32))
    >>> bool(found[0] == found[2] != found[1])
    True
    """
    n, D = vectors.shape
    found = np.empty(n, np.uint64)
    words = D * vectors.dtype.itemsize // 4
    factors = np.frombuffer(hashlib.shake_128(b"facelens").digest(8 * words), "<u8") | np.uint64(1)
    step = max(1, (MEMORY >> 4) // max(1, 8 * words))
    for start in range(0, n, step):
        some = np.ascontiguousarray(vectors[start : start + step]).view(np.uint32)
        found[start : start + step] = some.astype(np.uint64) @ factors
    return found


def _even(count: int, step: int) -> list[slice]:
    """`count` things in slices of at most `step`, all of nearly one size: a short last one would round differently."""
    pieces = -(-count // max(1, step))
    limits = [count * piece // max(1, pieces) for piece in range(pieces + 1)]
    return [slice(start, stop) for start, stop in pairwise(limits)]


def blocks(
    query: Floats, gallery: Floats, *, memory: int = MEMORY, tick: Tick = silent
) -> Iterator[tuple[slice, Floats]]:
    """Rows of `query`, and the (q, G) products with all of `gallery`, block by block of at most `memory` bytes.

    Use a block before asking for the next one, which is written over it; it may be changed.
    """
    item = np.result_type(query, gallery, np.float32).itemsize
    step = max(1, memory // max(1, len(gallery) * item))
    multiply = _Products(query, gallery, rows=step, columns=len(gallery))
    everything = slice(0, len(gallery))
    for some in _even(len(query), step):
        tick(some.start, len(query))
        yield some, multiply(some, everything)
    tick(len(query), len(query))


def top_k(
    query: Floats, gallery: Floats, *, k: int, without: NDArray[np.int64] | None = None, tick: Tick = silent
) -> tuple[NDArray[np.int64], Floats]:
    """Rows of `gallery` with the `k` largest products for each query, and these; (Q, k), descending.

    Of equal ones the smaller row is first. `without` (Q,) is a row to leave out for each query, such as itself; -1
    for none. Where there are fewer than `k`, row -1 and score -inf fill up. Vectors must be usable (see `unit`).
    """
    Q, G = len(query), len(gallery)
    rows = np.full((Q, k), -1, np.int64)
    scores: Floats = np.full((Q, k), -np.inf, np.result_type(query, gallery, np.float32))
    if Q == 0 or G == 0 or k == 0:
        return rows, scores
    left_out = np.full(Q, -1, np.int64) if without is None else np.ascontiguousarray(without, np.int64)
    if Q * G <= LIGHT or k > INSERTED:
        _sorted_best(query, gallery, left_out, rows=rows, scores=scores, tick=tick)
        return rows, scores
    from facelens.analyses import kernels

    multiply = _Products(query, gallery, rows=TILE[0], columns=TILE[1])
    query_blocks, gallery_blocks = _even(Q, TILE[0]), _even(G, TILE[1])
    total = len(query_blocks) * len(gallery_blocks)
    with _Threads() as threads:
        for number, some in enumerate(query_blocks):
            for place, columns in enumerate(gallery_blocks):
                tick(number * len(gallery_blocks) + place, total)
                block = multiply(some, columns)
                threads.rows(len(block), kernels.best, block, columns.start, left_out[some], scores[some], rows[some])
    tick(total, total)
    return rows, scores


def _sorted_best(
    query: Floats,
    gallery: Floats,
    without: NDArray[np.int64],
    *,
    rows: NDArray[np.int64],
    scores: Floats,
    tick: Tick,
) -> None:
    """The same by sorting whole rows."""
    k = min(rows.shape[1], len(gallery))
    for some, block in blocks(query, gallery, memory=MEMORY // 4, tick=tick):
        np.negative(block, out=block)
        leaving = np.flatnonzero(without[some] >= 0)
        block[leaving, without[some][leaving]] = np.inf
        order = np.argsort(block, axis=1, kind="stable")[:, :k]
        best: Floats = np.negative(np.take_along_axis(block, order, axis=1))
        scores[some, :k] = best
        rows[some, :k] = np.where(np.isfinite(best), order, -1)


class _Threads:
    """Threads that share the rows of a block."""

    def __init__(self) -> None:
        self.count = min(8, os.cpu_count() or 1)
        self._pool = ThreadPoolExecutor(self.count)

    def __enter__(self) -> _Threads:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown()

    def tally(self, tile: _Tile, scale: float, base: float, counts: NDArray[np.int64]) -> None:
        """Add the impostor pairs of a tile to `counts`."""
        from facelens.analyses import kernels

        def part(start: int, stop: int) -> NDArray[np.int64]:
            own = np.zeros(len(counts) + 1, np.int64)
            compiled: Any = kernels.tally
            compiled(*tile, scale, base, own, start, stop)
            return own

        for own in self.rows(len(tile.block), part):
            counts += own[:-1]

    def pick(
        self,
        tile: _Tile,
        kind: int,
        wanted: NDArray[np.uint8],
        lows: NDArray[np.float64],
        highs: NDArray[np.float64],
    ) -> list[_Pairs]:
        """The wanted pairs of a tile, by row."""
        from facelens.analyses import kernels

        def part(start: int, stop: int) -> list[_Pairs]:
            room = max(BUFFER, tile.block.shape[1])
            score = np.empty(room, tile.block.dtype)
            first, second = np.empty(room, np.int32), np.empty(room, np.int32)
            made = []
            compiled: Any = kernels.pick
            while start < stop:
                start, used = compiled(
                    *tile, kind, float(SCALE), float(BASE), wanted, lows, highs, score, first, second, start, stop
                )
                if used:
                    made.append(_Pairs(score[:used].copy(), first[:used].copy(), second[:used].copy()))
            return made

        return [each for made in self.rows(len(tile.block), part) for each in made]

    def rows(self, count: int, work: Callable[..., Any], *args: Any) -> list[Any]:
        """`work(*args, start, stop)` over `count` rows in as many parts as there are threads; what they returned."""
        parts = _even(count, -(-count // self.count))
        return [each.result() for each in [self._pool.submit(work, *args, part.start, part.stop) for part in parts]]


def in_threads(count: int, work: Callable[..., Any], *args: Any) -> list[Any]:
    """`work(*args, start, stop)` over `count` rows, shared among threads: for compiled loops."""
    with _Threads() as threads:
        return threads.rows(count, work, *args)


class Others(NamedTuple):
    """A second set of faces, which the first is searched in; identities are numbered alike in both."""

    vectors: Floats  # (G, D)
    ids: Ids
    identity: NDArray[np.int32]


def all_pairs(
    vectors: Floats,
    *,
    ids: Ids,
    identity: NDArray[np.int32],
    against: Floats | None = None,
    others: Others | None = None,
    keep: int = KEEP,
    fars: tuple[float, ...] = FARS,
    tick: Tick = silent,
) -> Scores:
    """Scores of all unordered pairs of `vectors` (N, D), or of all ordered pairs of two different faces where
    `against` (N, D) holds the same faces by another model: `first` is then the row in `vectors`, `second` in `against`.

    With `others` each of `vectors` is compared with each of these instead: the rows of Scores are those of `vectors`,
    then those of the others; `first` is of the former, `second` of the latter, and `queries` the number of the former.

    Faces without a usable vector (in either) are left out and listed in `invalid`. Faces whose identity is not known
    (-1) are left out too, because their pairs are of no known kind; `missing` counts these pairs.

    Up to `keep` pairs all are kept. Beyond, the genuine ones are kept, and the highest impostors, as many as make
    `keep` together, but not fewer than there are genuine ones; the others are counted (see the head of this file).
    """
    faces = _Faces(vectors, ids=ids, identity=identity, against=against, others=others, tick=tick)
    n_genuine = faces.genuine_pairs()
    _refuse_too_many(n_genuine)
    floor, bulk = -np.inf, None
    if faces.pairs <= keep:
        found = faces.every_pair(tick=tick)
    else:
        with _Threads() as threads:
            found, floor, bulk = _highest(
                faces, threads, n_genuine=n_genuine, budget=max(keep - n_genuine, n_genuine), fars=fars, tick=tick
            )
    return faces.scores(found, floor=floor, bulk=bulk, tick=tick)


def _refuse_too_many(n_genuine: int) -> None:
    if n_genuine > GENUINE:
        raise InputError(
            tr("{n} pairs of faces of the same person are too many to keep", n=f"{n_genuine:,}"),
            hint=tr("Choose fewer faces of each person. Up to {n} such pairs can be kept.", n=f"{GENUINE:,}"),
        )


def highest_pairs(
    vectors: Floats,
    floor: float,
    *,
    ids: Ids,
    identity: NDArray[np.int32],
    against: Floats | None = None,
    tick: Tick = silent,
) -> Scores:
    """All genuine pairs of `all_pairs` and the impostors from about `floor` upwards, in one turn.

    The `floor` of the result is the edge of a bin, not above what was asked for; nothing is known of impostors below.
    """
    from facelens.analyses import kernels

    faces = _Faces(vectors, ids=ids, identity=identity, against=against, tick=tick)
    _refuse_too_many(faces.genuine_pairs())
    bottom = int(np.clip(np.floor(np.clip(floor, -2, 2) * SCALE) - BASE, 0, BINS - 1))
    wanted, of_all = np.zeros(BINS + 1, np.uint8), np.full(BINS + 1, 2, np.uint8)
    wanted[bottom:BINS] = 2
    of_all[BINS] = 0
    no_ranges = np.zeros(0, np.float64), np.zeros(0, np.float64)
    parts = [_Pairs.none(faces.kind)]
    with _Threads() as threads:
        for tile in faces.tiles(tick=tick, note=tr("Comparing all pairs")):
            parts += threads.pick(tile, kernels.GENUINE, of_all, *no_ranges)
            parts += threads.pick(tile, kernels.IMPOSTOR, wanted, *no_ranges)
    found = _Pairs.joined(parts)
    parts.clear()  # as large as what they were joined to
    return faces.scores(found, floor=(bottom + BASE) / SCALE if bottom else -np.inf, tick=tick)


def nearest_others(
    vectors: Floats, *, identity: NDArray[np.int32], against: Floats | None = None, tick: Tick = silent
) -> tuple[NDArray[np.int64], Floats]:
    """The row of the nearest face of anybody else, of `against` where it is given, and its score; -1 and -inf for none.

    All vectors must be usable and of known people. Of equal ones the smaller row is taken.
    """
    from facelens.analyses import kernels

    faces = _Faces(vectors, ids=np.arange(len(vectors)), identity=identity, against=against, tick=tick)
    rows, scores = np.full(len(vectors), -1, np.int64), np.full(len(vectors), -np.inf, faces.kind)
    with _Threads() as threads:
        for tile in faces.tiles(tick=tick, note=tr("Comparing all pairs")):
            if not faces.ordered:  # rows before a face first, then those after it
                threads.rows(tile.block.shape[1], kernels.others, *tile, True, scores, rows)
            threads.rows(tile.block.shape[0], kernels.others, *tile, False, scores, rows)
    return rows, scores


def pairs_between(
    vectors: Floats,
    low: float,
    high: float,
    *,
    ids: Ids,
    identity: NDArray[np.int32],
    against: Floats | None = None,
    others: Others | None = None,
    genuine: bool | None = False,
    limit: int = 5000,
    highest: bool = True,
    tick: Tick = silent,
) -> tuple[Scores, int]:
    """The pairs of one kind (None: both) with low <= score < high, and how many there are.

    They are those of `all_pairs` of the same faces, to the last bit. Where there are more than `limit`, the highest
    are given, or the lowest, as `highest` says.
    """
    faces = _Faces(vectors, ids=ids, identity=identity, against=against, others=others, tick=tick)
    if faces.light:
        found = faces.every_pair(tick=tick)
        inside = (found.score >= low) & (found.score < high)
        if genuine is not None:
            inside &= (faces.codes[found.first] == faces.codes[found.second]) == genuine
        found = found.chosen(inside)
        total = len(found.score)
        return faces.scores(_outermost(found, limit, highest=highest, n=len(faces.rows))), total
    from facelens.analyses import kernels

    kind = kernels.EITHER if genuine is None else kernels.GENUINE if genuine else kernels.IMPOSTOR
    wanted = np.zeros(BINS + 1, np.uint8)
    start, stop = (int(np.clip(np.floor(np.clip(edge, -2, 2) * SCALE) - BASE, 0, BINS - 1)) for edge in (low, high))
    wanted[start : stop + 1] = 1
    ranges = np.array([low], np.float64), np.array([high], np.float64)
    total = 0
    found = _Pairs.none(faces.kind)
    with _Threads() as threads:
        for tile in faces.tiles(tick=tick, note=tr("Comparing all pairs")):
            for some in threads.pick(tile, kind, wanted, *ranges):
                total += len(some.score)
                found = _Pairs.joined([found, some])
                if len(found.score) > 4 * limit + BUFFER:
                    found = _outermost(found, limit, highest=highest, n=len(faces.rows))
    return faces.scores(_outermost(found, limit, highest=highest, n=len(faces.rows))), total


def listed_pairs(
    query: Floats,
    gallery: Floats,
    *,
    pairs: NDArray[np.integer[Any]],
    same: NDArray[np.bool_],
    ids: Ids,
    identity: NDArray[np.int32],
    fold: NDArray[np.int32] | None = None,
    of: str = "face",
    tick: Tick = silent,
) -> Scores:
    """Scores of a published list: `pairs` (P, 2) are a row of `query` and one of `gallery`, the same things by the same
    model or another.

    `same` (P,) says which pairs are genuine. Pairs of which a side has no usable vector, or none at all (row -1),
    are left out; `missing` counts them, and `invalid` lists the faces of the list that caused it.
    """
    single = gallery is query
    query, valid = unit(query)
    gallery, valid_too = (query, valid) if single else unit(gallery)
    first, second = np.asarray(pairs, np.int64).reshape(-1, 2).T
    there, there_too = first >= 0, second >= 0
    there[there] = valid[first[there]]
    there_too[there_too] = valid_too[second[there_too]]
    usable = np.flatnonzero(there & there_too)
    score = products_of(query, gallery, first[usable], second[usable], tick=tick)
    order = np.argsort(-score, kind="stable")
    places = usable[order]
    bad = np.concatenate([first[~there & (first >= 0)], second[~there_too & (second >= 0)]])
    return Scores(
        ids=ids,
        identity=np.asarray(identity, np.int32),
        score=score[order],
        first=first[places].astype(np.int32),
        second=second[places].astype(np.int32),
        genuine=np.asarray(same, np.bool_)[places],
        fold=None if fold is None else np.asarray(fold, np.int32)[places],
        of=of,
        invalid=np.asarray(ids)[np.unique(bad)],
        missing=len(first) - len(usable),
    )


def products_of(
    query: Floats, gallery: Floats, first: NDArray[np.int64], second: NDArray[np.int64], *, tick: Tick = silent
) -> Floats:
    """(P,) products of rows `first` of `query` with rows `second` of `gallery`."""
    score: Floats = np.empty(len(first), np.result_type(query, gallery))
    rows, row = np.unique(first, return_inverse=True)
    columns, column = np.unique(second, return_inverse=True)
    if len(first) > DENSE and len(rows) * len(columns) <= WORTH * len(first):
        # So many of the pairs of these rows are asked for that all their products are the shorter way.
        order = np.argsort(row, kind="stable")
        ends = np.searchsorted(row[order], np.arange(len(rows) + 1))
        for some, block in blocks(query[rows], gallery[columns], memory=MEMORY // 4, tick=tick):
            places = order[ends[some.start] : ends[some.stop]]
            score[places] = block[row[places] - some.start, column[places]]
        return score
    step = max(1, MEMORY // 64 // max(1, query.shape[1] * score.itemsize))
    for start in range(0, len(first), step):
        tick(start, len(first))
        some = slice(start, start + step)
        score[some] = np.einsum("pd,pd->p", query[first[some]], gallery[second[some]])
    tick(len(first), len(first))
    return score


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Pairs in any order, by row of the faces that are compared."""

    score: Floats
    first: NDArray[np.int32]
    second: NDArray[np.int32]

    @classmethod
    def none(cls, kind: np.dtype[Any]) -> _Pairs:
        return cls(np.zeros(0, kind), np.zeros(0, np.int32), np.zeros(0, np.int32))

    @classmethod
    def joined(cls, parts: list[_Pairs]) -> _Pairs:
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in ("score", "first", "second")))

    def chosen(self, which: NDArray[Any]) -> _Pairs:
        return _Pairs(self.score[which], self.first[which], self.second[which])

    def order(self, n: int, *, tick: Tick = silent) -> NDArray[np.int64]:
        """Descending; of equal scores by first, then second row of `n`, so that blocks leave no trace."""
        tick(1, 1, tr("Sorting pairs"))
        by_row = np.argsort(self.first.astype(np.int64) * n + self.second, kind="stable")
        tick(1, 1, tr("Sorting pairs"))
        made: NDArray[np.int64] = by_row[np.argsort(-self.score[by_row], kind="stable")]
        tick(1, 1, tr("Sorting pairs"))
        return made


def _outermost(found: _Pairs, limit: int, *, highest: bool, n: int) -> _Pairs:
    """The `limit` highest or lowest, of equals those that come first."""
    if len(found.score) <= limit:
        return found
    if highest:
        return found.chosen(found.order(n)[:limit])
    mirrored = _Pairs(-found.score, found.first, found.second)
    return found.chosen(mirrored.order(n)[:limit])


class _Tile(NamedTuple):
    """A block of products, and where it stands."""

    block: Floats
    row: int
    column: int
    codes: NDArray[np.int32]
    ordered: bool


class _Faces:
    """What can be compared of a set of faces, or of two: usable vectors of known people.

    The faces of a second set are numbered on from those of the first, so that one list of codes serves for both.
    """

    def __init__(
        self,
        vectors: Floats,
        *,
        ids: Ids,
        identity: NDArray[np.int32],
        against: Floats | None = None,
        others: Others | None = None,
        tick: Tick = silent,
    ) -> None:
        self.ids, self.identity = np.asarray(ids), np.asarray(identity, np.int32)
        self.ordered = against is not None or others is not None
        self.two = others is not None
        self.queries = len(vectors) if self.two else 0
        query, valid = unit(vectors, tick=tick)
        known = self.identity >= 0
        gallery = query
        if others is not None:
            gallery, valid_too = unit(others.vectors, tick=tick)
            self.ids = np.concatenate([self.ids, np.asarray(others.ids)])
            self.identity = np.concatenate([self.identity, np.asarray(others.identity, np.int32)])
            known_too = self.identity[self.queries :] >= 0
            rows, columns = np.flatnonzero(valid & known), np.flatnonzero(valid_too & known_too)
            self.pairs = len(rows) * len(columns)
            self.unknown_pairs = int(valid.sum()) * int(valid_too.sum()) - self.pairs
            self.valid = np.concatenate([valid, valid_too])
            self.rows = np.concatenate([rows, columns + self.queries])
            query, gallery = _chosen(query, rows), _chosen(gallery, columns)
        else:
            if against is not None:
                if len(against) != len(vectors):
                    raise ValueError(f"{len(vectors)} faces against {len(against)}: they must be the same faces")
                gallery, valid_too = unit(against, tick=tick)
                valid = valid & valid_too
            self.valid = valid
            self.rows = np.flatnonzero(valid & known)
            ways = 1 if self.ordered else 2
            m, n = int(np.count_nonzero(valid)), len(self.rows)
            self.pairs = n * (n - 1) // ways
            self.unknown_pairs = m * (m - 1) // ways - self.pairs
            gallery = _chosen(gallery, self.rows)
            query = _chosen(query, self.rows) if self.ordered else gallery
        self.codes = np.unique(self.identity[self.rows], return_inverse=True)[1].astype(np.int32)
        self.height = len(query)
        self.first_column = self.height if self.two else 0
        self._multiply = _Products(query, gallery, rows=TILE[0], columns=TILE[1])
        self.kind = self._multiply.query.dtype
        self.light = self._multiply.light

    def genuine_pairs(self) -> int:
        if self.two:
            people = int(self.codes.max(initial=-1)) + 1
            sides = (self.codes[: self.first_column], self.codes[self.first_column :])
            searching, searched = (np.bincount(side, minlength=people).astype(np.int64) for side in sides)
            return int((searching * searched).sum())
        counts = np.bincount(self.codes).astype(np.int64)
        return int((counts * (counts - 1)).sum()) // (1 if self.ordered else 2)

    def tiles(self, *, tick: Tick, note: str, done: int = 0, turns: int = 1) -> Iterator[_Tile]:
        """All that has to be looked at, in the same blocks each time; where pairs have no order, half of it."""
        width = len(self.rows) - self.first_column
        places = [
            (rows, slice(columns.start + begin, columns.stop + begin))
            for rows in _even(self.height, TILE[0])
            for begin in [0 if self.ordered else rows.start]
            for columns in _even(width - begin, TILE[1])
        ]
        for number, (rows, columns) in enumerate(places):
            tick(done * len(places) + number, turns * len(places), note)
            column = columns.start + self.first_column
            yield _Tile(self._multiply(rows, columns), rows.start, column, self.codes, self.ordered)
        tick((done + 1) * len(places), turns * len(places), note)

    def every_pair(self, *, tick: Tick) -> _Pairs:
        """All pairs, without compiled code."""
        parts = [_Pairs.none(self.kind)]
        for tile in self.tiles(tick=tick, note=tr("Comparing all pairs")):
            me = tile.row + np.arange(tile.block.shape[0], dtype=np.int32)[:, None]
            other = tile.column + np.arange(tile.block.shape[1], dtype=np.int32)[None, :]
            rows, columns = np.nonzero(other != me if self.ordered else other > me)
            first, second = me[rows, 0], other[0, columns]
            parts.append(_Pairs(tile.block[rows, columns], first, second))
        return _Pairs.joined(parts)

    def scores(self, found: _Pairs, *, floor: float = -np.inf, bulk: Bulk | None = None, tick: Tick = silent) -> Scores:
        found = found.chosen(found.order(len(self.rows), tick=tick))
        return Scores(
            ids=self.ids,
            identity=self.identity,
            score=found.score,
            first=self.rows[found.first].astype(np.int32),
            second=self.rows[found.second].astype(np.int32),
            genuine=self.codes[found.first] == self.codes[found.second],
            floor=floor,
            bulk=bulk,
            invalid=self.ids[~self.valid],
            missing=self.unknown_pairs,
            queries=self.queries,
        )


def _chosen(vectors: Floats, rows: NDArray[np.int64]) -> Floats:
    return vectors if len(rows) == len(vectors) else vectors[rows]


class _Range(NamedTuple):
    """Counted impostors low <= score < high in which a place must be found; `above` of them lie at or above `high`."""

    low: float
    high: float
    above: int
    size: int
    power: int  # its width is 2^-power

    def first_part(self) -> float:
        """The first of the bins that divide it, as a number of these from 0."""
        return float(self.low * 2.0 ** (self.power + FINER))


class _Finding:
    """Finds the scores at which rates are read off, among impostors of which only the number in each bin is known.

    Known are thresholds `t`, ascending, and how many impostors lie `above` each (at it or above). A bin is settled when
    all impostors in it have the same score, its lower edge.
    """

    def __init__(
        self,
        t: NDArray[np.float64],
        above: NDArray[np.int64],
        *,
        impostors: int,
        genuine: NDArray[np.float64],
        fars: tuple[float, ...],
        kind: np.dtype[Any],
    ) -> None:
        self.coarse = t
        self.t = t
        self.above = above
        self.power = np.full(len(t), SCALE.bit_length() - 1)
        self.impostors = impostors
        self.genuine = genuine  # ascending
        self.kind = kind
        # 1 and 0.1 % are always asked for: FMR100 and FMR1000.
        self.ranks = sorted({int(np.floor(far * impostors + 1e-9)) + 1 for far in (*fars, 1e-2, 1e-3)})

    def ranges(self) -> list[_Range]:
        """The bins that must be looked into next."""
        wanted = {place for places in [*self._by_rank(), self._by_error()] for place in places}
        return [
            _Range(
                low=float(self.t[i]),
                high=float(self.t[i + 1]),
                above=int(self.above[i + 1]),
                size=int(self.above[i] - self.above[i + 1]),
                power=int(self.power[i]),
            )
            for i in sorted(wanted)
            if not self._settled(i)
        ]

    def _settled(self, i: int) -> bool:
        if self.power[i] >= FINEST or self.above[i] == self.above[i + 1]:
            return True
        least = np.spacing(np.nextafter(np.abs(self.t[i]).astype(self.kind), self.kind.type(0)))
        return bool(2.0 ** -int(self.power[i]) <= least)

    def _by_rank(self) -> list[list[int]]:
        """For each rank the bin of the impostor of this rank, and the next one above that is not empty."""
        found = []
        for rank in self.ranks:
            if self.above[-1] < rank <= self.above[0]:
                i = int(np.flatnonzero(self.above >= rank)[-1])
                found.append([i, *self._next(i)])
        return found

    def _by_error(self) -> list[int]:
        """The bin in which the rates of both errors meet, and its neighbours that are not empty."""
        if not len(self.genuine) or not self.impostors:
            return []
        i = int(np.flatnonzero(self._excess(self.t, self.above) >= 0)[-1])
        if i == len(self.t) - 1:
            return []  # they meet among the pairs that are kept
        before = np.flatnonzero(self.above[:i] > self.above[i])[-1:]
        return [*(int(place) for place in before), i, *self._next(i)]

    def _next(self, i: int) -> list[int]:
        """The next bin above that is not empty; none where that is among the pairs that are kept."""
        rest = self.above[i + 1 :]
        return [i + int(np.count_nonzero(rest == rest[0]))] if rest[0] > rest[-1] else []

    def _excess(self, t: NDArray[np.float64], above: NDArray[np.int64]) -> NDArray[np.float64]:
        """False match rate less false non-match rate."""
        refused = np.searchsorted(self.genuine, t, side="left") / len(self.genuine)
        return np.asarray(above / self.impostors - refused)

    def collected(self, of: _Range, scores: Floats) -> None:
        """These are the scores in a bin."""
        assert len(scores) == of.size, "products differ from one turn to the next"
        values, counts = np.unique(scores.astype(np.float64), return_counts=True)
        self._put(of, values, counts, power=FINEST)

    def divided(self, of: _Range, counts: NDArray[np.int64]) -> None:
        """So many are in each part of a bin."""
        assert counts.sum() == of.size, "products differ from one turn to the next"
        power = of.power + FINER
        self._put(of, of.low + np.arange(len(counts)) / 2.0**power, counts, power=power)

    def _put(self, of: _Range, t: NDArray[np.float64], counts: NDArray[np.int64], *, power: int) -> None:
        above = of.above + np.cumsum(counts[::-1])[::-1]
        i = int(np.searchsorted(self.t, of.low))
        old = slice(i, i + 1) if t[0] > of.low else slice(i, i)  # an empty bin is left below the lowest score
        powers = np.full(len(t), power)
        self.t = np.concatenate([self.t[:i], self.t[old], t, self.t[i + 1 :]])
        self.above = np.concatenate([self.above[:i], self.above[old], above, self.above[i + 1 :]])
        self.power = np.concatenate([self.power[:i], self.power[old], powers, self.power[i + 1 :]])

    def bulk(self) -> Bulk:
        """The counted pairs, with edges where a rate is read off."""
        observed = {i for places in self._by_rank() for i in places}
        meeting = self._by_error()
        observed.update(meeting)
        extra = [self.t[sorted(observed)]]
        if meeting:
            between = self.genuine[
                np.searchsorted(self.genuine, self.t[meeting[0]]) : np.searchsorted(
                    self.genuine, self.t[meeting[-1]], side="right"
                )
            ]
            place = int(np.count_nonzero(self._excess(between, self._above(between)) >= 0))
            extra.append(between[max(0, place - 1) : place + 1])
        exact = np.concatenate(extra)
        beside = np.nextafter(exact.astype(self.kind), self.kind.type(np.inf)).astype(np.float64)
        first = max(0, int(np.flatnonzero(self.above == self.above[0])[-1]))
        t = np.unique(np.concatenate([self.coarse, exact, beside]))
        t = t[(t >= self.coarse[self.coarse <= self.t[first]][-1]) & (t <= self.t[-1])]
        return Bulk(edges=t, counts=-np.diff(self._above(t)))

    def _above(self, t: NDArray[np.float64]) -> NDArray[np.int64]:
        """Impostors at or above thresholds, each of them known or inside a settled bin."""
        return np.asarray(self.above[np.searchsorted(self.t, t, side="left")], np.int64)


def _highest(
    faces: _Faces, threads: _Threads, *, n_genuine: int, budget: int, fars: tuple[float, ...], tick: Tick
) -> tuple[_Pairs, float, Bulk | None]:
    """All genuine pairs, the highest impostors up to `budget`, the floor of these, and the count of the others."""
    from facelens.analyses import kernels

    counting, choosing = tr("Counting all pairs"), tr("Collecting the highest pairs")
    no_ranges = np.zeros(0, np.float64), np.zeros(0, np.float64)
    counts = np.zeros(BINS, np.int64)
    parts = [_Pairs.none(faces.kind)]
    all_of_them = np.full(BINS + 1, 2, np.uint8)
    all_of_them[BINS] = 0
    for tile in faces.tiles(tick=tick, note=counting, turns=2):
        threads.tally(tile, float(SCALE), float(BASE), counts)
        parts += threads.pick(tile, kernels.GENUINE, all_of_them, *no_ranges)
    genuine = _Pairs.joined(parts)
    assert len(genuine.score) == n_genuine
    # above[b] impostors lie at or above the lower edge of bin b.
    above = np.concatenate([np.cumsum(counts[::-1])[::-1], [0]])
    edges = (BASE + np.arange(BINS + 1)) / SCALE
    bottom = int(np.flatnonzero(above <= budget)[0])

    finding = _Finding(
        edges[: bottom + 1],
        above[: bottom + 1],
        impostors=int(above[0]),
        genuine=np.sort(genuine.score.astype(np.float64)),
        fars=fars,
        kind=faces.kind,
    )
    open_ranges = finding.ranges()
    wanted = np.zeros(BINS + 1, np.uint8)
    wanted[bottom:BINS] = 2
    parts, turn = [genuine], 1
    while turn == 1 or open_ranges:
        few = [each for each in open_ranges if each.size <= COLLECTED]
        many = [each for each in open_ranges if each.size > COLLECTED]
        for each in few:
            wanted[int(np.floor(each.low * SCALE)) - BASE] = 1
        lows, highs = (np.array([getattr(each, side) for each in few], np.float64) for side in ("low", "high"))
        finer = [np.zeros(1 << FINER, np.int64) for _ in many]
        loose: list[_Pairs] = []
        for tile in faces.tiles(tick=tick, note=choosing, done=turn, turns=max(2, turn + 1)):
            for each, into in zip(many, finer):
                threads.tally(tile, 2.0 ** (each.power + FINER), each.first_part(), into)
            if few or turn == 1:
                loose += threads.pick(tile, kernels.IMPOSTOR, wanted, lows, highs)
        below = _Pairs.joined([_Pairs.none(faces.kind), *loose])
        kept = below.score >= edges[bottom]
        parts.append(below.chosen(kept))
        below = below.chosen(~kept)
        for each in few:
            finding.collected(each, below.score[(below.score >= each.low) & (below.score < each.high)])
        for each, into in zip(many, finer):
            finding.divided(each, into)
        wanted[:] = 0
        open_ranges = finding.ranges()
        turn += 1
    found = _Pairs.joined(parts)
    if bottom == 0 or above[0] == above[bottom]:
        return found, -np.inf, None
    return found, float(edges[bottom]), finding.bulk()
