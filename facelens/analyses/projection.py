"""Projection: the faces of a gallery as points on a map, such that faces with similar vectors lie close together.

Computes    points by one of three methods (layouts.py), of the whole vector or of one part f_k of it (parts.py)
            trustworthiness  1 - 2 / (N k (2 N - 3 k - 1)) sum_i sum_j (r(i, j) - k), over the k nearest points j of i
            that are not among its k nearest vectors; r is the rank of j among the vectors around i. 1 where nobody
            on the map is near a stranger, about 0.5 where all are where chance put them
Shapes      vectors (N, D), points (N, 2) float32
Reference   Venna, Kaski, "Neighborhood preservation in nonlinear projection methods", ICANN 2001. Shi et al., "Towards
            Universal Representation Learning", CVPR 2020, fig. 4: the map with originals and augmented pictures
Departs     trustworthiness is the mean over some faces i, each against all others
"""

from __future__ import annotations

import json
import logging
import zipfile
import zlib
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from facelens.analyses import layouts, parts
from facelens.analyses.layouts import Floats
from facelens.analyses.measure import Measure
from facelens.analyses.plan import METRICS, PROJECTIONS, PartsPlan, ProjectionPlan
from facelens.errors import FaceLensError, InputError
from facelens.features import fitting
from facelens.features.featureset import FeatureSet
from facelens.files import atomic_write
from facelens.images.faceset import FaceSet, Ids, Rows
from facelens.progress import Tick, offer, part_of, silent
from facelens.words import tr

_log = logging.getLogger("facelens.projection")

NAMES = {"pca": "PCA", "umap": "UMAP", "tsne": "t-SNE"}
LEAST = 5  # faces that UMAP and t-SNE need
TSNE_MOST = 20_000
NEAR, JUDGED = 10, 1000  # neighbours on the map that are looked at, of so many faces
FORMAT = 1  # raise when the same vectors give other points than before
_BLOCK = 1 << 24
_SMALLEST = 1e-12


@dataclass(frozen=True, eq=False)
class Projection:
    """Faces as points."""

    ids: Ids  # (N,) faces with a usable vector, in the gallery's order
    points: Floats  # (N, 2)
    plan: ProjectionPlan
    drawn: str  # of PROJECTIONS: what these points were made with; PCA until the plan's own method has begun
    final: bool  # whether these are the points that the plan asks for
    shares: tuple[float, float] = (0.0, 0.0)  # of the variance that the two principal components have
    quality: Measure = field(default_factory=lambda: Measure.none(""))  # trustworthiness, once the points are final
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.ids)


def project(
    faces: FaceSet,
    plan: ProjectionPlan,
    *,
    features: FeatureSet,
    parts_plan: PartsPlan | None = None,
    excluded: Ids | None = None,
    folder: Path | None = None,
    refine: bool = True,
    tick: Tick = silent,
) -> Projection:
    """The faces that have a vector and are not excluded, laid out as the plan asks.

    Principal components are offered at once, then points as they move. Without `refine` it is left at the former,
    unless the final points lie in `folder` from before. `parts_plan` says how a part is cut where the plan has one.
    """
    if plan.method not in PROJECTIONS or plan.metric not in METRICS:
        raise ValueError(f"method is one of {PROJECTIONS}, metric one of {METRICS}: {plan}")
    kept = faces.ids if excluded is None else faces.ids[~np.isin(faces.ids, excluded)]
    rows, found = features.rows_of(kept)
    ids, notes = kept[found], []
    if missing := len(kept) - len(ids):
        notes.append(tr("{n} without usable vector are left out.", n=missing))
    if len(ids) > TSNE_MOST and plan.method == "tsne":
        notes.append(tr("t-SNE shows {n} of {total} faces, drawn by chance.", n=TSNE_MOST, total=len(ids)))
        some = np.sort(np.random.default_rng(plan.seed).choice(len(ids), TSNE_MOST, replace=False))
        ids, rows = ids[some], rows[some]
    x = _vectors(features, rows, plan, parts_plan or PartsPlan(model=plan.model), tick=part_of(tick, 0, 20))
    few = len(ids) < LEAST and plan.method != "pca"
    if few:
        notes.append(tr("{method} needs {n} faces or more; this is PCA.", method=NAMES[plan.method], n=LEAST))
    if len(ids) > layouts.WIDE and plan.method == "umap":
        notes.append(tr("Neighbours are those of the first {n} principal components.", n=layouts.REDUCED))
    # Equal vectors and settings, equal points: whatever the gallery is called, and whoever else is in it.
    engine = layouts.engine() if plan.method == "tsne" else ""
    name = fitting.key(x, projection=FORMAT, asked=plan.asked[2:], engine=engine)
    place = folder / f"{name}.npz" if folder is not None else None
    if place is not None and (stored := _stored(place, len(ids))) is not None:
        points, shares, quality = stored
        return Projection(ids, points, plan, "pca" if few else plan.method, True, shares, quality, tuple(notes))
    points, spread = layouts.pca(x, tick=part_of(tick, 1, 20))
    shares = (float(spread[0]), float(spread[1]))
    first = Projection(ids, points, plan, "pca", plan.method == "pca" or few, shares, notes=tuple(notes))
    if not first.final:
        if not refine:
            return first
        offer(tick, first)

        def show(moved: Floats) -> None:
            offer(tick, replace(first, points=moved, drawn=plan.method))

        points = _refined(x, points, plan, show, tick=_late(tick))
    quality = trustworthiness(x, points, seed=plan.seed, tick=part_of(tick, 19, 20))
    made = replace(first, points=points, drawn="pca" if few else plan.method, final=True, quality=quality)
    if place is not None:
        _store(place, made)
    tick(1, 1)
    return made


def trustworthiness(
    x: Floats, points: Floats, *, near: int = NEAR, judged: int = JUDGED, seed: int = 0, tick: Tick = silent
) -> Measure:
    """How far neighbours on the map are neighbours among the vectors; the mean over `judged` faces drawn by chance.

    >>> x = np.random.default_rng(0).standard_normal((40, 2)).astype(np.float32)
    >>> trustworthiness(x, x).value
    1.0
    """
    n = len(x)
    k = min(near, (n - 1) // 2)
    if k < 1:
        return Measure.none(tr("there are too few faces"), n=n)
    asked = np.arange(n)
    if n > judged:
        asked = np.sort(np.random.default_rng(seed).choice(n, judged, replace=False))
    lengths = np.einsum("nd,nd->n", x, x)
    total, step = 0, max(1, _BLOCK // (4 * n))
    for start in range(0, len(asked), step):
        tick(start, len(asked), tr("Judging the map"))
        some = asked[start : start + step]
        own = np.arange(len(some))
        seen = ((points[some, None] - points[None]) ** 2).sum(2)
        seen[own, some] = np.inf
        neighbours = np.argpartition(seen, k - 1, axis=1)[:, :k]
        far = lengths - 2 * (x[some] @ x.T)
        far[own, some] = np.inf
        for column in neighbours.T:
            rank = 1 + (far < far[own, column][:, None]).sum(1)
            total += int(np.maximum(rank - k, 0).sum())
    return Measure(1 - 2 * total / (len(asked) * k * (2 * n - 3 * k - 1)), n=len(asked))


def _vectors(
    features: FeatureSet, rows: Rows, plan: ProjectionPlan, parts_plan: PartsPlan, *, tick: Tick = silent
) -> Floats:
    """(N, D), or (N, D / K) of one part."""
    if plan.part is None:
        ground, rotation, part = parts.Layout("slices", 1, features.dimensions, unit=False), None, 0
    else:
        ground, part = parts.layout(features, parts_plan), plan.part
        if not 0 <= part < ground.parts:
            raise InputError(
                tr("{name} has no part {k}.", name=plan.model, k=part + 1),
                hint=tr("Choose one of its {n} parts, or all.", n=ground.parts),
            )
        rotation = parts.rotated(features, rows, ground, parts_plan, tick=tick)
    x = np.empty((len(rows), ground.width), np.float32)
    for some, found in parts.blocks(features, rows, ground, rotation, tick=tick):
        x[some] = found[:, part]
    if plan.metric == "cosine" and plan.part is not None:
        x /= np.maximum(np.linalg.norm(x, axis=1, keepdims=True), _SMALLEST)
    return x


def _refined(x: Floats, start: Floats, plan: ProjectionPlan, show: layouts.Show, *, tick: Tick) -> Floats:
    if plan.method == "tsne":
        points = layouts.tsne(x, start, perplexity=plan.perplexity, seed=plan.seed, show=show, tick=tick)
    else:
        points = layouts.umap(
            x,
            start,
            neighbours=plan.neighbours,
            min_dist=plan.min_dist,
            metric=plan.metric,
            seed=plan.seed,
            show=show,
            tick=tick,
        )
    if not np.isfinite(points).all():
        raise FaceLensError(
            tr("{method} found no place for some faces.", method=NAMES[plan.method]),
            hint=tr("Try another metric or more neighbours."),
        )
    return points


def _late(tick: Tick) -> Tick:
    """The tick of what lies between the first points and the judgement."""

    def inner(done: int, total: int, note: str = "") -> None:
        tick(round(100 + 850 * done / max(total, 1)), 1000, note)

    return inner


def _stored(path: Path, n: int) -> tuple[Floats, tuple[float, float], Measure] | None:
    """Points that were found before; None where there are none, or their file is damaged."""
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
            points, said = file["points"], json.loads(str(file["said"]))
        value, judged = said["quality"]
        shares = (float(said["shares"][0]), float(said["shares"][1]))
        quality = Measure.none(said["why"], n=judged) if value is None else Measure(float(value), n=int(judged))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, IndexError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        _log.info("%s is damaged and made anew: %s", path, error)
        return None
    usable = points.shape == (n, 2) and points.dtype == np.float32 and bool(np.isfinite(points).all())
    return (points, shares, quality) if usable else None


def _store(path: Path, made: Projection) -> None:
    said = {"quality": [made.quality.value, made.quality.n], "why": made.quality.why, "shares": made.shares}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as file:
            np.savez(file, points=made.points, said=np.array(json.dumps(said)))
    except (OSError, FaceLensError) as error:
        _log.warning("the map is not kept in %s: %s", path.parent, error)
