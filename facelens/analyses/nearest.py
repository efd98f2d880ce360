"""Nearest faces: those whose vectors point most nearly the same way.

Computes    cosine of some faces with all others, the k largest of each; exact
            of all with all (`every`): exact up to EXACT faces; of more, the best of CANDIDATES * k that are nearest
            by the first REDUCED principal components, with their exact cosine
Shapes      vectors (N, D); result ids (n, k) and cosine (n, k), largest first
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from facelens.features.featureset import FeatureSet
from facelens.images.faceset import FaceSet, Ids, Rows
from facelens.progress import Tick, part_of, silent
from facelens.words import plural, tr

BLOCK = 1 << 22  # floats looked at at once
HELD = 1 << 25  # cosines held at once
EXACT = 50_000  # faces that are all compared with each other in all dimensions
CANDIDATES = 4
LINKED = 10  # nearest faces that a map leads to


def nearest(
    features: FeatureSet, face: int, *, k: int = 5, without: Ids | None = None, tick: Tick = silent
) -> tuple[Ids, NDArray[np.float32]]:
    """The `k` faces nearest to `face`, itself and those in `without` left out; none where it has no vector."""
    ids, cosine = neighbours(features, np.array([face], np.int64), k=k, without=without, tick=tick)
    there = np.isfinite(cosine[0])
    return ids[0, there], cosine[0, there]


def neighbours(
    features: FeatureSet, faces: Ids, *, k: int = 5, without: Ids | None = None, tick: Tick = silent
) -> tuple[Ids, NDArray[np.float32]]:
    """(n, k) the faces nearest to each of `faces`, itself and those in `without` left out, and their cosines.

    Where there are fewer, or it has no vector, id -1 and cosine -inf fill up.
    """
    rows, found = features.rows_of(faces)
    ids, best = np.full((len(faces), k), -1, np.int64), np.full((len(faces), k), -np.inf, np.float32)
    left_out = np.isin(features.ids, features.invalid)
    if without is not None and len(without):
        left_out |= np.isin(features.ids, without)
    places = np.flatnonzero(found)
    size = max(1, HELD // max(1, len(features)))
    for begin in range(0, len(rows), size):
        some = slice(begin, begin + size)
        cosine = _cosines(features, rows[some], tick=tick)
        cosine[:, left_out | ~np.isfinite(cosine).all(0)] = -np.inf
        cosine[np.arange(len(cosine)), rows[some]] = -np.inf
        for place, line in zip(places[some].tolist(), cosine):
            n = min(k, int(np.count_nonzero(np.isfinite(line))))
            top = np.argpartition(-line, n - 1)[:n] if 0 < n < len(line) else np.arange(len(line))
            top = top[np.lexsort((features.ids[top], -line[top]))][:n]
            ids[place, :n], best[place, :n] = features.ids[top], line[top]
    return ids, best


def _cosines(features: FeatureSet, rows: NDArray[np.int64], *, tick: Tick) -> NDArray[np.float32]:
    """(n, N) of some faces with all, block by block: vectors may lie on disk."""
    vectors, norms, N = features.vectors, features.norms, len(features)
    query = vectors[rows] / norms[rows, None]
    cosine = np.empty((len(rows), N), np.float32)
    step = max(1, BLOCK // max(1, features.dimensions))
    for start in range(0, N, step):
        tick(start, N)
        some = slice(start, start + step)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            cosine[:, some] = query @ vectors[some].T / norms[some]
    return cosine


@dataclass(frozen=True, eq=False)
class Links:
    """From a face to its nearest by one model."""

    pairs: NDArray[np.int64]  # (k, 2) ids
    right: NDArray[np.bool_] | None  # (k,) whether both are one person; None where that is not known
    cosine: NDArray[np.float32]  # (k,)

    @property
    def words(self) -> str:
        """How many of them are right."""
        n = plural(len(self.pairs), "{n} nearest vector", "{n} nearest vectors")
        return n if self.right is None else tr("{n}: {right} of the same person", n=n, right=int(self.right.sum()))


def links(
    faces: FaceSet,
    features: Sequence[FeatureSet],
    face: int,
    *,
    k: int = LINKED,
    without: Ids | None = None,
    tick: Tick = silent,
) -> tuple[Links, ...]:
    """Links from a face to those nearest to it among `faces`, by each of some models."""
    made = []
    for one in features:
        ids, cosine = nearest(one, face, k=k, without=without, tick=tick)
        here = np.array([faces.row_of(other) is not None for other in ids.tolist()], bool)
        ids, cosine = ids[here], cosine[here]
        pairs = np.column_stack([np.full(len(ids), face, np.int64), ids])
        codes = faces.identity.codes[faces.rows_of(pairs.reshape(-1))].reshape(-1, 2) if len(ids) else pairs
        known = bool(len(ids)) and bool((codes >= 0).all())
        made.append(Links(pairs, codes[:, 0] == codes[:, 1] if known else None, cosine))
    return tuple(made)


def every(features: FeatureSet, ids: Ids, *, k: int = 15, tick: Tick = silent) -> tuple[Rows, NDArray[np.float32]]:
    """(N, k) places in `ids` of the faces nearest to each of them, itself left out, and their cosines.

    Where there are fewer, place -1 and cosine -inf fill up. All of `ids` must have a usable vector.
    """
    from facelens.analyses import layouts, similarity

    rows, found = features.rows_of(ids)
    if not found.all():
        raise ValueError("a face without usable vector has no nearest")
    x, alone = _Unit(features, rows), np.arange(len(rows))
    if len(rows) <= EXACT or features.dimensions <= layouts.REDUCED:
        held = x[:]
        near, cosine = similarity.top_k(held, held, k=k, without=alone, tick=tick)
        return near, np.asarray(cosine, np.float32)
    held = layouts.pca(x, layouts.REDUCED, tick=part_of(tick, 0, 20))[0]
    wider = min(CANDIDATES * k, len(rows) - 1)
    near, _ = layouts.between(held, held, wider, without=alone, metric="cosine", tick=part_of(tick, 0, 2))
    places, best = np.empty((len(rows), k), np.int64), np.empty((len(rows), k), np.float32)
    step = max(1, BLOCK // (wider * features.dimensions))
    for start in range(0, len(rows), step):
        part_of(tick, 1, 2)(start, len(rows))
        some = slice(start, min(start + step, len(rows)))
        asked, answers = x[some], x[near[some].reshape(-1)].reshape(some.stop - start, wider, -1)
        cosine = np.einsum("nd,nkd->nk", asked, answers)
        order = np.argsort(-cosine, axis=1, kind="stable")[:, :k]
        places[some] = np.take_along_axis(near[some], order, 1)
        best[some] = np.take_along_axis(cosine, order, 1)
    return places, best


class _Unit:
    """(N, D) vectors of length 1, read when rows are asked for."""

    def __init__(self, features: FeatureSet, rows: Rows) -> None:
        self._features, self._rows = features, rows

    @property
    def shape(self) -> tuple[int, ...]:
        return len(self._rows), self._features.dimensions

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, some: slice | Rows, /) -> NDArray[np.float32]:
        rows = self._rows[some]
        found: NDArray[np.float32] = self._features.vectors[rows] / self._features.norms[rows, None]
        return found
