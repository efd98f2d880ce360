"""Same class: the pictures of some people as an old model has them and as its upgrades do, on common axes.

Computes    points = (x - mean) A_2, A_2 the two axes along which the unit vectors of all models together vary most
            d_pw = 1/n sum_i || n(f_old,i) - n(f_new,i) ||^2 over these pictures
Shapes      points (n, 2) of each model
Reference   Meng et al., "Learning Compatible Embeddings", ICCV 2021, fig. 1: an upgrade may be farther point to point
            and yet lie inside the old class
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from facelens.analyses.layouts import pca
from facelens.features.featureset import FeatureSet
from facelens.images.faceset import FaceSet, Ids

Floats = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Upgraded:
    """One upgrade of these pictures."""

    name: str
    points: Floats  # (n, 2)
    point_distance: float  # d_pw


@dataclass(frozen=True, eq=False)
class SameClass:
    """Some pictures, as the old model and its upgrades have them."""

    ids: Ids  # (n,)
    old: str
    points: Floats  # (n, 2) of the old model
    upgrades: tuple[Upgraded, ...]
    left_out: tuple[str, ...] = ()  # upgrades of other dimensions: they have no place on these axes


def most_pictured(faces: FaceSet, ids: Ids, people: int) -> Ids:
    """Of these faces, those of the people who have the most of them; of equals the first by name."""
    codes = faces.identity.codes[faces.rows_of(ids)]
    known, counts = np.unique(codes[codes >= 0], return_counts=True)
    chosen = known[np.argsort(-counts, kind="stable")[:people]]
    return ids[np.isin(codes, chosen)]


def same_class(features: Mapping[str, FeatureSet], old: str, upgrades: Sequence[str], ids: Ids) -> SameClass:
    """The pictures `ids` that all models have a usable vector of."""
    there = [name for name in upgrades if features[name].dimensions == features[old].dimensions]
    known = np.ones(len(ids), bool)
    for name in (old, *there):
        known &= features[name].unit(ids)[1]
    ids = ids[known]
    vectors = [features[name].unit(ids)[0] for name in (old, *there)]
    places = pca(np.vstack(vectors))[0] if len(ids) else np.zeros((0, 2), np.float32)
    n = len(ids)
    made = tuple(
        Upgraded(
            name,
            places[(1 + turn) * n : (2 + turn) * n],
            float(np.mean(((vectors[1 + turn] - vectors[0]).astype(np.float64) ** 2).sum(1))) if n else 0.0,
        )
        for turn, name in enumerate(there)
    )
    return SameClass(ids, old, places[:n], made, tuple(name for name in upgrades if name not in there))
