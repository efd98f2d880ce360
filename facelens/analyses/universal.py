"""Universal: what the parts of an embedding are good for, and what makes them unsure.

Computes    effect of an attribute on a part: rank correlation of its column and the part's value; of one group of a
            column of names: 2 AUC - 1, the chance that a face of the group has the higher value less the reverse
            correlation of parts: Pearson's r, over the faces, of their distances to the centre of the person;
            of slices: mean |r| over the dimensions of two parts
            without part k, with part k only: TAR at a FAR over the pool of pairs, Recall@1
            recall against the number of parts, in their order and in orders drawn by chance
            template: f_k = n(sum_i f_i,k / v_i,k), variance min_i v_i,k or 1 / sum_i 1 / v_i,k
Shapes      values (N, K), votes (P, K); Measures K
Reference   Shi, Yu, Sohn, Chandraker, Jain, "Towards Universal Representation Learning for Deep Face Recognition",
            CVPR 2020; Shi, Jain, "Probabilistic Face Embeddings", ICCV 2019 (templates)
Departs     the paper names the correlation without its distance: Euclidean here
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from facelens.analyses.measure import Measure
from facelens.images.faceset import Ids

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Effect:
    """How one attribute moves each part."""

    column: str
    group: str  # of a column of names, "" for a column of numbers
    n: int  # faces with a value; of the group, where there is one
    strength: tuple[Measure, ...]  # K numbers in [-1, 1]; above 0: more of it, the value is higher
    edges: Array  # (B + 1,) of bins with about as many faces each; empty for a group
    middle: Array  # (K, B) median value of the faces of each bin; of a group (K, 2): the others, the group
    quartiles: Array  # (K, B, 2)


@dataclass(frozen=True, eq=False)
class Correlation:
    """How alike two parts are: (K, K) and its mean over different parts."""

    centre: Array | None  # of distances to the centre of the person; None where nobody has two faces
    centre_mean: Measure
    slices: Array  # mean |r| of the dimensions of two parts
    slices_mean: Measure
    control_centre: Measure  # slices only: the means after a random rotation, what chance gives
    control_slices: Measure


@dataclass(frozen=True)
class Without:
    """One part left out, and that part alone."""

    tar_without: Measure
    tar_only: Measure
    recall_without: Measure
    recall_only: Measure


@dataclass(frozen=True, eq=False)
class Curve:
    """Recall@k against the number of parts used."""

    ks: tuple[int, ...]  # (R,)
    ordered: Array  # (R, K) the first 1 .. K parts in their order
    low: Array  # (R, K) 5 % and 95 % of orders drawn by chance, and their mean
    mean: Array
    high: Array
    orders: int  # drawn
    n: int  # queries


@dataclass(frozen=True)
class Fusion:
    """One way to make templates of several pictures, and how well a face finds its person's among them."""

    name: str  # "mean", "precision"
    match: str  # of MATCHES
    variance: str  # "min", "bayes", "" where none is used
    first: Measure  # share of faces whose nearest template is their person's; their own picture is left out of it


@dataclass(frozen=True, eq=False)
class Study:
    """What is known of the parts of one model on one gallery; parts that are still being worked out are None."""

    shown: str  # the value that effects are about, of SHOWN
    effects: tuple[Effect, ...] = ()
    correlation: Correlation | None = None
    whole: tuple[Measure, Measure] | None = None  # TAR and Recall@1 with all parts
    without: tuple[Without, ...] = ()  # K
    curve: Curve | None = None
    fusion: tuple[Fusion, ...] = ()
    queries: Ids = field(default_factory=lambda: np.zeros(0, np.int64))  # faces that searched
    notes: tuple[str, ...] = ()
    complete: bool = False
