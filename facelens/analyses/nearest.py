"""Nearest faces: those whose vectors point most nearly the same way.

Computes    cosine of one face with all others, the k largest
Shapes      vectors (N, D); result ids (k,) and cosine (k,), largest first
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from facelens.features.featureset import FeatureSet
from facelens.images.faceset import Ids
from facelens.progress import Tick, silent

BLOCK = 1 << 22  # floats looked at at once


def nearest(
    features: FeatureSet, face: int, *, k: int = 5, without: Ids | None = None, tick: Tick = silent
) -> tuple[Ids, NDArray[np.float32]]:
    """The `k` faces nearest to `face`, itself and those in `without` left out; none where it has no vector."""
    rows, found = features.rows_of(np.array([face], np.int64))
    if not found.any():
        return np.zeros(0, np.int64), np.zeros(0, np.float32)
    row = int(rows[0])
    vectors, norms = features.vectors, features.norms
    query = vectors[row] / norms[row]
    cosine = np.empty(len(features), np.float32)
    step = max(1, BLOCK // max(1, features.dimensions))
    for start in range(0, len(features), step):
        tick(start, len(features))
        some = slice(start, start + step)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            cosine[some] = vectors[some] @ query / norms[some]
    left_out = np.isin(features.ids, features.invalid)
    left_out[row] = True
    if without is not None and len(without):
        left_out |= np.isin(features.ids, without)
    cosine[left_out | ~np.isfinite(cosine)] = -np.inf
    k = min(k, int(np.count_nonzero(np.isfinite(cosine))))
    best = np.argpartition(-cosine, k - 1)[:k] if 0 < k < len(cosine) else np.arange(len(cosine))
    best = best[np.lexsort((features.ids[best], -cosine[best]))][:k]
    return features.ids[best], cosine[best]
