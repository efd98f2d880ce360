"""Search: who is searched for and who is enrolled, and all cosines between the two, in blocks.

Shapes      query (Q, D), gallery (G, D) unit length; cosines (q, G) of some queries with the whole gallery
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from facelens.analyses import similarity
from facelens.analyses.scores import Floats
from facelens.images.faceset import Ids, Rows
from facelens.progress import Tick

MEMORY = 1 << 26  # bytes of scores looked at at once


@dataclass(frozen=True, eq=False)
class Side:
    """Queries or gallery entries that can be compared: those of known people with a usable vector."""

    vectors: Floats  # (n, D) unit length
    ids: Ids
    identity: NDArray[np.int32]
    rows: Rows  # (n,) of all that were given, ascending
    invalid: int = 0  # left out: no usable vector
    unlabelled: int = 0  # left out: nobody knows who it is

    @classmethod
    def of(cls, unit: tuple[Floats, NDArray[np.bool_]], ids: Ids, identity: NDArray[np.int32]) -> Side:
        """Choose from what `similarity.unit` gave."""
        vectors, good = unit
        ids, identity = np.asarray(ids, np.int64), np.asarray(identity, np.int32)
        known = identity >= 0
        rows = np.flatnonzero(good & known)
        chosen = vectors if len(rows) == len(vectors) else vectors[rows]
        left = int(np.count_nonzero(~good)), int(np.count_nonzero(good & ~known))
        return cls(chosen, ids[rows], identity[rows], rows, *left)

    def __len__(self) -> int:
        return len(self.ids)

    def part(self, places: NDArray[np.bool_]) -> Side:
        """Some of them."""
        vectors = self.vectors if places.all() else self.vectors[places]
        return Side(vectors, self.ids[places], self.identity[places], self.rows[places])


def cosines(query: Side, gallery: Side, *, pairs: int, tick: Tick) -> Iterator[tuple[slice, Floats]]:
    """Some queries and their cosines with the whole gallery, such that equal vectors have equal scores.

    `pairs` says how many scores are of one person: blocks are smaller where these are many, since each takes some
    numbers more to work on.
    """
    Q, G = len(query), len(gallery)
    if not Q or not G:
        return
    memory = max(int(MEMORY / (1 + 16 * pairs / (Q * G))), 3 * 8 * G)
    copies, originals = _copies(gallery.vectors)
    for rows, block in similarity.blocks(query.vectors, gallery.vectors, memory=memory, tick=tick):
        block[:, copies] = block[:, originals]
        yield rows, block


def _copies(vectors: Floats) -> tuple[Rows, Rows]:
    """Rows that hold the same numbers as an earlier one, and which.

    Products of equal vectors may differ in their last bit: the edges of a matrix take other roads through BLAS.
    """
    _, first, code = np.unique(similarity.row_digests(vectors), return_index=True, return_inverse=True)
    original = first[code].astype(np.int64)
    rows = np.flatnonzero(original != np.arange(len(original)))
    same = (vectors[rows] == vectors[original[rows]]).all(axis=1)
    return rows[same], original[rows[same]]


def pairs_of(
    query_identity: NDArray[np.int32], gallery_identity: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """(order, start, stop): the gallery rows of the person of query q are order[start[q] : stop[q]], ascending."""
    order = np.argsort(gallery_identity, kind="stable")
    ordered = gallery_identity[order]
    return order, np.searchsorted(ordered, query_identity, "left"), np.searchsorted(ordered, query_identity, "right")


def flat_pairs(
    order: NDArray[np.int64], start: NDArray[np.int64], stop: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(row, column) of all pairs of some queries, by row; of what `pairs_of` gave for them."""
    count = stop - start
    row = np.repeat(np.arange(len(count)), count)
    ends = np.cumsum(count)
    column = order[np.arange(len(row)) - np.repeat(ends - count - start, count)]
    return row, column
