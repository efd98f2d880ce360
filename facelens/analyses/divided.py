"""Divided: what each learner of a divided embedding finds by itself, and how much the learners say the same.

Computes    Recall@k of each part alone: share of faces with one of the same person among the k nearest by that part
            specialists of a learner: faces that it alone finds at rank 1, those first that all others find latest; in
            the paper those that no other finds among its first 30
            clusters: k-means of the whole embedding into K; stability: NMI of clusters found from different seeds
            mean of |r_ab| over dimensions a, b of different slices; r is Pearson's correlation over the faces
Shapes      vectors (N, D), D a multiple of the slices; ranks (Q, K), 0 = nobody to find
Reference   Sanakoyeu, Tschernezki, Buchler, Ommer, "Divide and Conquer the Embedding Space", CVPR 2019; the paper
            prints the correlation without its definition, this is the nearest reading
Departs     parts of length 1 are compared by cosine, others by their distance, which for the former is the same order;
            dimensions that never change have no correlation and take no part
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from facelens.analyses.measure import Measure
from facelens.analyses.parts import Layout
from facelens.analyses.universal import Curve
from facelens.errors import InputError
from facelens.images.faceset import Ids
from facelens.words import tr

FAR_OFF = 30  # the paper's: rank up to which another learner must not find anybody


@dataclass(frozen=True, eq=False)
class Side:
    """One model, learner by learner."""

    model: str
    layout: Layout
    recall: tuple[tuple[Measure, ...], ...]  # for each of `Learners.ks` K Measures: that learner alone
    whole: tuple[Measure, ...]  # for each of `Learners.ks`: all learners together
    correlation: Measure  # mean |r| between dimensions of different slices
    curve: Curve
    mean: tuple[Measure, ...] = ()  # for each of `Learners.ks`: mean of the learners, each alone


@dataclass(frozen=True, eq=False)
class Clusters:
    """The gallery in K groups of the whole embedding, and who finds whom."""

    learner: NDArray[np.int32]  # (N,) of `Learners.ids`: the group, named by the learner that is best for it
    sizes: NDArray[np.int64]  # (K,) faces
    people: NDArray[np.int64]  # (K,) people with most of their faces there
    stability: Measure  # NMI of groups found from different seeds, its range over them as interval
    kept: Measure  # share of faces in the same group after matching, likewise
    recall: NDArray[np.float64]  # (K learners, K groups) Recall@1 of the faces of a group, NaN for an empty one


@dataclass(frozen=True, eq=False)
class Learners:
    """A divided embedding beside its baseline, which is cut into as many slices; parts still being worked out: None."""

    ids: Ids  # (N,) faces both models know, in the gallery's order
    ks: tuple[int, ...]
    own: Side
    baseline: Side | None  # None where no other model is there
    ranks: NDArray[np.int32]  # (Q, K) rank of the first right face for each learner of `own`, 0 = nobody to find
    queries: Ids  # (Q,)
    specialists: tuple[Ids, ...]  # K lists of all it alone finds at rank 1, by falling lowest rank in the others
    clusters: Clusters | None = None
    notes: tuple[str, ...] = field(default=())
    complete: bool = False
    found: tuple[Ids, ...] = ()  # K lists beside `specialists`: the face that learner found
    gain: tuple[Measure, ...] = ()  # for each of `ks`: mean of own less that of the baseline, on the same resamples
    whole_gain: tuple[Measure, ...] = ()  # for each of `ks`: own less baseline with all learners together, likewise


def across_slices(vectors: NDArray[np.floating], slices: int) -> float:
    """How much dimensions of different slices vary together.

    >>> round(across_slices(np.array([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]]), 2), 6)
    1.0
    """
    N, D = vectors.shape
    if slices < 2 or D % slices:
        raise InputError(tr("{d} dimensions cannot be cut into {n} slices.", d=D, n=slices))
    centred = np.asarray(vectors, np.float64) - np.mean(vectors, 0, dtype=np.float64)
    length = np.linalg.norm(centred, axis=0)
    alive = length > 1e-12 * np.sqrt(max(N, 1))
    unit = centred[:, alive] / length[alive]
    slice_of = np.repeat(np.arange(slices), D // slices)[alive]
    apart = slice_of[:, None] != slice_of[None]
    if not apart.any():
        raise InputError(tr("No two slices vary, so they cannot be compared."))
    return float(min(np.abs(unit.T @ unit)[apart].mean(), 1.0))
