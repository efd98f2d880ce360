"""How alike the parts of an embedding are.

Computes    Pearson's r, over the faces, of the distances of two parts to the centre of the person
            mean |r_ab| over dimensions a of one part and b of another, r over the faces
            slices only: both after a rotation by chance, which is what slices give by themselves
Shapes      distances (N, K), vectors (N, D), r (K, K); intervals from drawing people
Reference   Shi, Yu, Sohn, Chandraker, Jain, "Towards Universal Representation Learning for Deep Face Recognition",
            CVPR 2020; Sanakoyeu, Tschernezki, Buechler, Ommer, "Divide and Conquer the Embedding Space", CVPR 2019
Departs     the papers name the correlations without their definitions: Euclidean distances, and absolute values here.
            Of N faces that know nothing of each other mean |r| is about 0.8 / sqrt(N), not 0
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from facelens.analyses import bootstrap
from facelens.analyses.measure import Measure
from facelens.analyses.parts import Floats, Layout, Parts, blocks, measured, rotated
from facelens.analyses.plan import RESAMPLES, PartsPlan
from facelens.features.featureset import FeatureSet
from facelens.images.faceset import Rows
from facelens.progress import Tick, part_of, silent
from facelens.words import tr

BLOCK = 1 << 22  # numbers looked at at once

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Correlation:
    """How alike two parts are: (K, K) and its mean over different parts."""

    centre: Array | None  # of distances to the centre of the person; None where nobody has two faces
    centre_mean: Measure
    slices: Array  # mean |r| of the dimensions of two parts; of one part: of its different dimensions
    slices_mean: Measure
    control_centre: Measure  # slices only: the means after a random rotation, what chance gives
    control_slices: Measure


def correlate(
    parts: Parts, plan: PartsPlan, *, features: FeatureSet, resamples: int = RESAMPLES, tick: Tick = silent
) -> Correlation:
    """How much the parts say the same."""
    rows = features.rows_of(parts.ids)[0]
    ground, nothing = parts.layout, Measure.none(tr("parts that were learned are not cut"))
    distance = parts.values.get("distance")
    centre, centre_mean = _of_distances(distance, parts.identity, resamples=resamples, seed=plan.seed, tick=tick)
    slices, slices_mean = of_dimensions(features, rows, ground, parts.rotation, tick=part_of(tick, 0, 3))
    control_centre = control_slices = nothing
    if ground.kind == "slices":
        other = rotated(features, rows, ground, replace(plan, cut="random", seed=plan.seed + 1))
        _, distance = measured(features, rows, parts.identity, ground, other, tick=part_of(tick, 1, 3))
        _, control_centre = _of_distances(distance, parts.identity, resamples=resamples, seed=plan.seed, tick=tick)
        _, control_slices = of_dimensions(features, rows, ground, other, tick=part_of(tick, 2, 3))
    return Correlation(centre, centre_mean, slices, slices_mean, control_centre, control_slices)


def _of_distances(
    distance: Floats | None, identity: NDArray[np.int32], *, resamples: int, seed: int, tick: Tick = silent
) -> tuple[Array | None, Measure]:
    """Pearson's r of the columns (N, K), and the mean of those of different parts."""
    told = np.flatnonzero(np.isfinite(distance).all(1)) if distance is not None else np.zeros(0, np.int64)
    if distance is None or not len(told):
        return None, Measure.none(tr("nobody has two faces, so there is no centre"))
    x = distance[told].astype(np.float64)
    x -= x.mean(0)
    x /= np.maximum(x.std(0), 1e-12)  # so that sums of squares keep their digits
    K = x.shape[1]
    people, code = np.unique(identity[told], return_inverse=True)
    r = _pearson(x.sum(0), x.T @ x, len(x))
    if K < 2:
        return r, Measure.none(tr("one part has no other to be compared with"), n=len(x))
    apart = ~np.eye(K, dtype=bool)
    if not np.isfinite(r[apart]).any():
        return r, Measure.none(tr("no two parts vary"), n=len(x))
    mean = Measure(_mean(r[apart]), n=len(x))
    if len(people) < 2 or not resamples:
        return r, mean
    weights = bootstrap.identity_weights(len(people), resamples=resamples, seed=seed)
    total, moment, n = np.zeros((resamples, K)), np.zeros((resamples, K * K)), np.zeros(resamples)
    order = np.argsort(code, kind="stable")
    step = max(1, BLOCK // (K * K))
    for start in range(0, len(order), step):
        tick(start, len(order), tr("Drawing identities"))
        some = order[start : start + step]
        one = x[some]
        each = np.concatenate([one, (one[:, :, None] * one[:, None]).reshape(len(one), -1), np.ones((len(one), 1))], 1)
        begin = np.flatnonzero(np.diff(code[some], prepend=-1))
        drawn = weights[:, code[some][begin]] @ np.add.reduceat(each, begin)
        total, moment, n = total + drawn[:, :K], moment + drawn[:, K:-1], n + drawn[:, -1]
    draws = np.array([_mean(_pearson(*one)[apart]) for one in zip(total, moment.reshape(-1, K, K), n)])
    limits = bootstrap.interval(draws)
    return r, mean.with_interval(*limits) if limits else mean


def _mean(values: Array) -> float:
    """Of those that are known; NaN where none is, as in a draw of one person with two alike faces."""
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else float("nan")


def _pearson(total: Array, moment: Array, n: float) -> Array:
    """(D, D) correlations from sums (D,) and sums of products (D, D); NaN where something never changes."""
    mean = total / n
    covariance = moment / n - np.outer(mean, mean)
    spread = np.sqrt(np.maximum(np.diag(covariance), 0))
    spread = np.where(spread > 1e-6 * np.sqrt(np.maximum(np.diag(moment) / n, 1e-300)), spread, np.nan)
    return np.asarray(np.clip(covariance / np.outer(spread, spread), -1, 1))


def of_dimensions(
    features: FeatureSet, rows: Rows, ground: Layout, rotation: Floats | None = None, *, tick: Tick = silent
) -> tuple[Array, Measure]:
    """Mean |r| of the dimensions of two parts (K, K), and that of all dimensions of different parts."""
    D, K, N = ground.dimensions, ground.parts, len(rows)
    if N < 2:
        return np.full((K, K), np.nan), Measure.none(tr("it takes two faces"), n=N)
    total, moment = np.zeros(D), np.zeros((D, D))
    for _, found in blocks(features, rows, ground, rotation, tick=tick):
        flat = found.reshape(len(found), D).astype(np.float64)
        total += flat.sum(0)
        moment += flat.T @ flat
    return between(_pearson(total, moment, N), K, n=N)


def between(r: Array, parts: int, *, n: int = 0) -> tuple[Array, Measure]:
    """Mean |r| of the dimensions of two parts, and that of all dimensions of different parts.

    Dimensions that never change have no correlation (NaN) and take no part, nor does a dimension with itself.
    """
    D = len(r)
    far = np.abs(r)
    np.fill_diagonal(far, np.nan)
    known = np.isfinite(far)
    cells = np.where(known, far, 0).reshape(parts, D // parts, parts, -1).sum((1, 3))
    counts = known.reshape(parts, D // parts, parts, -1).sum((1, 3))
    with np.errstate(invalid="ignore"):
        mean = cells / counts
    apart = ~np.eye(parts, dtype=bool)
    if not counts[apart].sum():
        return mean, Measure.none(tr("no two parts vary"), n=n)
    return mean, Measure(float(cells[apart].sum() / counts[apart].sum()), n=n)
