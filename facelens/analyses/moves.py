"""Moves: how far an upgrade takes every face, and whether its neighbours stay the same.

Computes    moved = 1 - cosine of the face's own two vectors, in the space where new queries meet the old gallery
            neighbours: the k faces nearest to a face in each model's own space, itself left out; kept = how many both
            have; Jaccard = kept / those that either has. Two models need not understand each other for it.
Shapes      old (N, D), new (N, E), query and gallery (N, F) of the same N faces
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from facelens.analyses import similarity
from facelens.analyses.scores import Floats as Vectors
from facelens.images.faceset import Ids
from facelens.progress import Tick, part_of, silent

Floats = NDArray[np.float32]
BLOCK = 1 << 22  # neighbours that are compared with one another at once


@dataclass(frozen=True, eq=False)
class Moves:
    """Faces as the old and the new model have them."""

    ids: Ids  # (N,)
    moved: Floats  # (N,) 1 - cosine of old and new vector, one of them mapped where they do not understand each other
    mapped: bool  # whether it was; NaN in `moved` where they cannot be compared at all
    kept: NDArray[np.int32]  # (N,) of the k nearest faces of the old model, how many the new model has among its k
    jaccard: Floats  # (N,) shared / all of both
    k: int
    people: tuple[str, ...]  # names, those who moved most first
    people_moved: Floats  # (C,) mean over a person's faces
    people_kept: Floats  # (C,) mean
    people_faces: NDArray[np.int32]  # (C,)


def moves(
    old: Vectors,
    new: Vectors,
    sides: tuple[Vectors, Vectors] | None,
    *,
    ids: Ids,
    identity: NDArray[np.int32],
    names: tuple[str, ...],
    mapped: bool = False,
    k: int = 10,
    tick: Tick = silent,
) -> Moves:
    """How the faces lie by both models, all unit vectors; `sides` are query and gallery of new/old, None where the two
    cannot be compared. `names` are those of the codes in `identity`."""
    k = max(0, min(k, len(ids) - 1))
    itself = np.arange(len(ids))
    before, after = (
        similarity.top_k(one, one, k=k, without=itself, tick=part_of(tick, turn, 2))[0]
        for turn, one in enumerate((old, new))
    )
    kept = _shared(before, after)
    moved = np.full(len(ids), np.nan, np.float32)
    if sides is not None:
        moved = (1 - similarity.products_of(*sides, itself, itself)).astype(np.float32)
    present, codes, count = np.unique(identity, return_inverse=True, return_counts=True)
    mean_moved, mean_kept = (np.bincount(codes, one) / count for one in (moved, kept))
    order = np.lexsort((mean_kept, -mean_moved))  # those of whom nothing is known but neighbours: the fewest kept
    jaccard = (kept / np.maximum(2 * k - kept, 1)).astype(np.float32)
    return Moves(
        ids=ids,
        moved=moved,
        mapped=mapped,
        kept=kept,
        jaccard=jaccard,
        k=k,
        people=tuple(names[code] for code in present[order]),
        people_moved=mean_moved[order].astype(np.float32),
        people_kept=mean_kept[order].astype(np.float32),
        people_faces=count[order].astype(np.int32),
    )


@dataclass(frozen=True, eq=False)
class Grouped:
    """Groups of faces, those that moved most first."""

    codes: NDArray[np.int64]  # (G,) of the groups
    moved: NDArray[np.float64]  # (G,) mean over a group's faces
    faces: NDArray[np.int64]  # (G,)


def grouped(moved: Floats, codes: NDArray[np.integer]) -> Grouped:
    """How far groups moved in the mean; faces of no group (code < 0) and of no known way (NaN) are left out.

    >>> found = grouped(np.array([0.1, 0.3, 0.5, 0.9], np.float32), np.array([2, 2, 0, -1]))
    >>> found.codes.tolist(), found.moved.round(2).tolist(), found.faces.tolist()
    ([0, 2], [0.5, 0.2], [1, 2])
    """
    known = (codes >= 0) & np.isfinite(moved)
    present, which, faces = np.unique(codes[known], return_inverse=True, return_counts=True)
    mean = np.bincount(which, moved[known], minlength=len(present)) / np.maximum(faces, 1)
    order = np.argsort(-mean, kind="stable")
    return Grouped(present[order].astype(np.int64), mean[order], faces[order].astype(np.int64))


def _shared(a: NDArray[np.int64], b: NDArray[np.int64]) -> NDArray[np.int32]:
    """(N,) how many of each row of `a` are in the same row of `b`."""
    out = np.zeros(len(a), np.int32)
    step = max(1, BLOCK // max(1, a.shape[1] ** 2))
    for start in range(0, len(a), step):
        some = slice(start, start + step)
        out[some] = (a[some, :, None] == b[some, None, :]).sum(axis=(1, 2))
    return out
