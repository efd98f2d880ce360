"""Placing: where faces belong on a map that was made without them.

Computes    along    the linear map that brought the known vectors to their points, applied to further ones: exact for
                     principal components, however they were turned
            among    sum_j w_j p_j / sum_j w_j over the k nearest known vectors j, w_j = 1 / d_j^2: for maps that no
                     formula gives. A face that is known is put where it is
Shapes      vectors (N, D), points (N, 2); further vectors (n, D) and their points (n, 2)
Departs     UMAP's authors move the new points some epochs further; here they stay at the mean, which needs nothing
            compiled and moves nobody else
"""

from __future__ import annotations

import numpy as np

from facelens.analyses import layouts
from facelens.analyses.layouts import BLOCK, Floats, Vectors
from facelens.progress import Tick, silent
from facelens.words import tr

NEAREST = 5
_TINY = 1e-12


def along(x: Vectors, points: Floats, further: Floats, *, tick: Tick = silent) -> Floats:
    """(n, 2) by the linear map between vectors and points that are known."""
    n, D = x.shape
    if not n:
        return np.zeros((len(further), 2), np.float32)
    step = max(1, BLOCK // max(1, D))
    near, middle = x[:step].mean(0, dtype=np.float64), points.mean(0, dtype=np.float64)
    total, moment, product = np.zeros(D), np.zeros((D, D)), np.zeros((D, 2))
    for start in range(0, n, step):
        tick(start, n, tr("Placing new faces"))
        some = slice(start, start + step)
        part = x[some] - near
        total += part.sum(0)
        moment += part.T @ part
        product += part.T @ (points[some] - middle)
    moment -= np.outer(total, total) / n
    axes = np.linalg.lstsq(moment, product, rcond=1e-9)[0]  # where vectors do not vary, nothing is known: 0
    return np.asarray((further - near - total / n) @ axes + middle, np.float32)


def among(x: Floats, points: Floats, further: Floats, *, metric: str, tick: Tick = silent) -> Floats:
    """(n, 2) between the points of the nearest known vectors."""
    k = min(NEAREST, len(x))
    if not k:
        return np.zeros((len(further), 2), np.float32)
    rows, far = layouts.between(further, x, k, metric=metric, tick=tick)
    weights = 1 / np.maximum(far.astype(np.float64), _TINY) ** 2
    weights /= weights.sum(1, keepdims=True)
    return np.asarray(np.einsum("nk,nkc->nc", weights, points[rows]), np.float32)
