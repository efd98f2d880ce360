"""Projection: the faces of a gallery as points on a map, such that faces with similar vectors lie close together.

Computes    points by one of three methods (layouts.py), of the whole vector or of one part f_k of it (parts.py)
            of two models "joint": one fit on the 2 N vectors of both; "aligned": the first by itself, the second from
            the first's points, then turned, mirrored, scaled and shifted onto them (agreement.py). "auto" is joint
            where dimensions are equal and a face's two vectors are clearly more alike than those of two faces:
            agreement.CLEARLY standard deviations of the cosine
            trustworthiness  1 - 2 / (N k (2 N - 3 k - 1)) sum_i sum_j (r(i, j) - k), over the k nearest points j of i
            that are not among its k nearest vectors; r is the rank of j among the vectors around i. 1 where nobody
            on the map is near a stranger, about 0.5 where all are where chance put them
Shapes      vectors (N, D), points (N, 2) float32
Reference   Venna, Kaski, "Neighborhood preservation in nonlinear projection methods", ICANN 2001. Shi et al., "Towards
            Universal Representation Learning", CVPR 2020, fig. 4: the map with originals and augmented pictures
Departs     trustworthiness is the mean over some faces i, each against all others of the same model. A map that was
            kept of nearly the same faces is taken over, and the new ones are placed on it (placing.py)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from facelens.analyses import agreement, keeping, layouts, parts, placing
from facelens.analyses.agreement import Alike
from facelens.analyses.layouts import LEAST, Floats, Vectors
from facelens.analyses.measure import Measure
from facelens.analyses.plan import METRICS, PROJECTIONS, SPACES, PartsPlan, ProjectionPlan
from facelens.errors import FaceLensError, InputError
from facelens.features.featureset import FeatureSet
from facelens.images.faceset import FaceSet, Ids, Rows
from facelens.progress import Tick, offer, part_of, silent
from facelens.words import escaped, number, plural, tr

NAMES = {"pca": "PCA", "umap": "UMAP", "tsne": "t-SNE"}
TSNE_MOST = 20_000  # points
NEAR, JUDGED = 10, 1000  # neighbours on the map that are looked at, of so many faces
HELD = 1 << 26  # numbers up to which vectors are held in memory; beyond they are read again where they are needed
_BLOCK = 1 << 22
_LOOKS = 1 << 27  # distances that a judgement takes at most
_SMALLEST = 1e-12

Moved = Callable[[Floats, Floats | None], None]  # takes points of one model or two that are not final yet


def _unknown() -> Measure:
    return Measure.none("")


@dataclass(frozen=True, eq=False)
class Projection:
    """Faces as points."""

    ids: Ids  # (N,) faces with a usable vector, in the gallery's order
    points: Floats  # (N, 2)
    plan: ProjectionPlan
    drawn: str  # of PROJECTIONS: what these points were made with; PCA until the plan's own method has begun
    final: bool  # whether these are the points that the plan asks for
    shares: tuple[float, float] = (0.0, 0.0)  # of the variance that the two principal components have
    quality: Measure = field(default_factory=_unknown)  # trustworthiness, once the points are final
    notes: tuple[str, ...] = ()
    other: Floats | None = None  # (N, 2) where the plan's second model has the same faces
    how: str = ""  # of two models: "joint", or "aligned": each by itself, the second turned to agree with the first
    residual: float | None = None  # of "aligned": mean squared distance that is left, in shares of the first's spread
    other_quality: Measure = field(default_factory=_unknown)  # of the second model's points among its own vectors
    alike: Alike | None = None  # how far two models' vectors agree; None where their dimensions differ
    moved: Floats | None = None  # (N,) of two models: agreement.apart where "joint", else agreement.walked
    borrowed: int = 0  # faces of the kept map that these places were taken over from; 0: it is of these very faces

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def agreement(self) -> str:
        """How two models came onto one map, in a sentence; "" for one model."""
        name = NAMES[self.drawn]
        if self.how == "aligned" and self.residual is not None:
            left = number(self.residual, 2)
            return tr("{method} of each model, aligned (Procrustes), residual {left}.", method=name, left=left)
        if self.how != "joint" or self.alike is None:
            return ""
        own, others = number(self.alike.own, 2), number(self.alike.others, 2)
        said = (
            tr("{method} fitted on both models: ", method=name)
            if self.alike.clear
            else tr("{method} fitted on both models, whose vectors do not agree: ", method=name)
        )
        return said + tr("cosine {own} of one face, {others} of two.", own=own, others=others)


@dataclass(frozen=True, eq=False)
class Cut:
    """(N, D) vectors of length 1 of some faces, or one part of them, read when rows are asked for."""

    features: FeatureSet
    rows: Rows
    ground: parts.Layout
    rotation: Floats | None
    part: int
    unit: bool  # whether a part is brought to length 1

    @property
    def shape(self) -> tuple[int, ...]:
        return len(self.rows), self.ground.width

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, some: slice | Rows, /) -> Floats:
        rows = self.rows[some]
        x = np.empty((len(rows), self.ground.width), np.float32)
        for places, found in parts.blocks(self.features, rows, self.ground, self.rotation):
            x[places] = found[:, self.part]
        if self.unit:
            x /= np.maximum(np.linalg.norm(x, axis=1, keepdims=True), _SMALLEST)
        return x


Known = Floats | Cut  # vectors of one model, all at once or as they are asked for


@dataclass(frozen=True, eq=False)
class Stack:
    """The vectors of one model, then those of the other."""

    first: Known
    second: Known

    @property
    def shape(self) -> tuple[int, ...]:
        return len(self), self.first.shape[1]

    def __len__(self) -> int:
        return len(self.first) + len(self.second)

    def __getitem__(self, some: slice, /) -> Floats:
        start, stop, _ = some.indices(len(self))
        n = len(self.first)
        upper, lower = slice(min(start, n), min(stop, n)), slice(max(start - n, 0), max(stop - n, 0))
        return np.concatenate([self.first[upper], self.second[lower]])


def project(
    faces: FaceSet,
    plan: ProjectionPlan,
    *,
    features: FeatureSet,
    other: FeatureSet | None = None,
    parts_plan: PartsPlan | None = None,
    excluded: Ids | None = None,
    folder: Path | None = None,
    refine: bool = True,
    anew: bool = False,
    tick: Tick = silent,
) -> Projection:
    """The faces that have a vector and are not excluded, laid out as the plan asks.

    Principal components are offered at once, then points as they move. Without `refine` it is left at the former,
    unless the final points lie in `folder` from before: of these faces, or of most of them, unless it is to be made
    `anew`. `other` are the vectors of the plan's second model, `parts_plan` says how a part is cut.
    """
    if plan.method not in PROJECTIONS or plan.metric not in METRICS or plan.space not in SPACES:
        raise ValueError(f"method is one of {PROJECTIONS}, metric one of {METRICS}, space one of {SPACES}: {plan}")
    if (other is not None) != bool(plan.other):
        raise ValueError(f"vectors of a second model belong to a plan that names it: {plan.other!r}")
    models = (features,) if other is None else (features, other)
    kept = faces.ids if excluded is None else faces.ids[~np.isin(faces.ids, excluded)]
    ids, notes = kept[np.logical_and.reduce([one.rows_of(kept)[1] for one in models])], []
    if missing := len(kept) - len(ids):
        notes.append(
            tr("{n} without usable vector are left out.", n=missing)
            if other is None
            else tr("{n} without usable vectors of both models are left out.", n=missing)
        )
    most = TSNE_MOST // len(models)
    if len(ids) > most and plan.method == "tsne":
        notes.append(tr("t-SNE shows {n} of {total} faces, drawn by chance.", n=most, total=len(ids)))
        ids = ids[np.sort(np.random.default_rng(plan.seed).choice(len(ids), most, replace=False))]
    few = len(ids) < LEAST and plan.method != "pca"
    if few:
        notes.append(tr("{method} needs {n} faces or more; this is PCA.", method=NAMES[plan.method], n=LEAST))
    cut = parts_plan or PartsPlan(model=plan.model)
    x = _held(_cut(features, ids, plan, cut, tick=part_of(tick, 0, 20)))
    y = None
    if other is not None:
        named = replace(plan, model=plan.other), replace(cut, model=plan.other)
        y = _held(_cut(other, ids, *named, tick=part_of(tick, 0, 20)))
    sides = _Sides.of(plan, x, y)
    if len(ids) * (2 if sides.how == "joint" else 1) > layouts.WIDE and plan.method == "umap":
        notes.append(tr("Neighbours are those of the first {n} principal components.", n=layouts.REDUCED))

    def made(points: Floats, second: Floats | None, drawn: str, **more: object) -> Projection:
        found = Projection(ids, points, plan, drawn, other=second, how=sides.how, alike=sides.alike, **more)  # type: ignore[arg-type]
        if second is not None and sides.how == "aligned":
            walked = agreement.walked(points, second)
            found = replace(found, residual=agreement.residual(points, second), moved=walked)
        elif second is not None:
            found = replace(found, moved=sides.moved)
        said = (found.agreement, *notes) if found.agreement else tuple(notes)
        return replace(found, notes=said)

    drawn = "pca" if few else plan.method
    marks: keeping.Digests = np.zeros(0, np.uint64)
    shelf = None
    if folder is not None:
        # Equal vectors and settings, equal points: whatever the gallery and the models are called.
        engine = layouts.engine() if plan.method == "tsne" else ""
        settings = replace(plan, model="", part=None, other="").asked[2:]
        shelf, marks = keeping.Shelf(folder, (*settings, engine, sides.how)), keeping.digests(x, y, tick=silent)
        tick(1, 20)
        if (same := shelf.same(marks)) is not None and (same.other is None) == (y is None):
            qualities = {"quality": same.quality, "other_quality": same.other_quality}
            return made(same.points, same.other, drawn, final=True, shares=same.shares, **qualities)
    borrowed = None
    if shelf is not None and not anew and drawn != "pca":
        borrowed = _borrowed(shelf, marks, sides, plan.metric, tick=part_of(tick, 1, 20))
    if borrowed is not None:
        notes.append(borrowed.note)
        points, second, shares = borrowed.points, borrowed.other, borrowed.shares
        first = made(points, second, drawn, final=True, shares=shares, borrowed=borrowed.of)
    else:
        points, second, shares = sides.components(tick=part_of(tick, 1, 20))
        first = made(points, second, "pca", final=drawn == "pca", shares=shares)
    if not first.final and not refine:
        return first
    offer(tick, first)
    if not first.final:

        def show(moved: Floats, too: Floats | None) -> None:
            offer(tick, made(moved, too, drawn, final=False, shares=shares))

        points, second = sides.refined(points, second, plan, show, tick=_late(tick))
    judged = part_of(tick, 19, 20)
    quality = trustworthiness(x, points, seed=plan.seed, tick=judged)
    too = _unknown() if y is None or second is None else trustworthiness(y, second, seed=plan.seed, tick=judged)
    found = made(points, second, drawn, final=True, shares=shares, quality=quality, other_quality=too)
    if shelf is not None and borrowed is None:
        shelf.put(keeping.Kept(points, marks, shares, quality, second, too))
    tick(1, 1)
    return replace(found, borrowed=first.borrowed)


def place(
    found: Projection,
    further: FeatureSet,
    *,
    features: FeatureSet,
    parts_plan: PartsPlan | None = None,
    second: bool = False,
    tick: Tick = silent,
) -> tuple[Ids, Floats]:
    """Faces that are not on a map, and where they belong there: (n,) those of `further` with a usable vector, (n, 2).

    `features` are those that the map was made of; with `second` both are of its second model.
    """
    plan = replace(found.plan, model=found.plan.other) if second else found.plan
    points = found.other if second else found.points
    if points is None:
        raise ValueError("the map has no second model")
    known = _cut(features, found.ids, plan, parts_plan or PartsPlan(model=plan.model), tick=tick)
    if further.dimensions != features.dimensions:
        raise InputError(
            tr("Vectors of {a} and {b} numbers are not of one model.", a=features.dimensions, b=further.dimensions),
            hint=tr("Embed the new faces with {name}.", name=escaped(plan.model)),
        )
    rows, usable = further.rows_of(further.ids)
    new = replace(known, features=further, rows=rows)[:]
    if found.drawn == "pca":
        return further.ids[usable], placing.along(known, points, new, tick=tick)
    return further.ids[usable], placing.among(known[:], points, new, metric=plan.metric, tick=tick)


def trustworthiness(
    x: Known, points: Floats, *, near: int = NEAR, judged: int = JUDGED, seed: int = 0, tick: Tick = silent
) -> Measure:
    """How far neighbours on the map are neighbours among the vectors; the mean over `judged` faces drawn by chance.

    >>> x = np.random.default_rng(0).standard_normal((40, 2)).astype(np.float32)
    >>> trustworthiness(x, x).value
    1.0
    """
    n, D = x.shape
    k = min(near, (n - 1) // 2)
    if k < 1:
        return Measure.none(tr("there are too few faces"), n=n)
    asked = np.arange(n)
    judged = min(judged, max(100, _LOOKS // n))
    if n > judged:
        asked = np.sort(np.random.default_rng(seed).choice(n, judged, replace=False))
    from scipy.spatial import cKDTree

    tick(0, n, tr("Judging the map"))
    beside = np.asarray(cKDTree(points).query(points[asked], k + 1)[1], np.int64)  # itself is among them, but for ties
    beside = np.take_along_axis(beside, np.argsort(beside == asked[:, None], axis=1, kind="stable"), 1)[:, :k]
    step = max(1, min(_BLOCK // D, _BLOCK // len(asked)))
    own = x[asked]
    there = x[beside.reshape(-1)].reshape(len(asked), k, D)
    limits = np.einsum("nkd,nkd->nk", there, there) - 2 * np.einsum("nkd,nd->nk", there, own)
    closer = np.zeros((len(asked), k), np.int64)
    for start in range(0, n, step):
        tick(start, n, tr("Judging the map"))
        some = x[start : start + step]
        far = np.einsum("nd,nd->n", some, some) - 2 * (own @ some.T)
        for column in range(k):
            less = far < limits[:, column, None]
            for whom in (asked, beside[:, column]):  # neither the face nor the neighbour itself is counted
                here = np.flatnonzero((whom >= start) & (whom < start + len(some)))
                less[here, whom[here] - start] = False
            closer[:, column] += np.count_nonzero(less, axis=1)
    total = int(np.maximum(closer + 1 - k, 0).sum())
    return Measure(1 - 2 * total / (len(asked) * k * (2 * n - 3 * k - 1)), n=len(asked))


def _held(x: Cut) -> Known:
    """In memory where there is room for them."""
    return x[:] if len(x) * x.shape[1] <= HELD else x


def _cut(features: FeatureSet, ids: Ids, plan: ProjectionPlan, parts_plan: PartsPlan, *, tick: Tick = silent) -> Cut:
    """(N, D) of the whole vector, or (N, D / K) of one part."""
    rows, _ = features.rows_of(ids)
    tick(0, 1)
    if plan.part is None:
        whole = parts.Layout("slices", 1, features.dimensions, unit=False)
        return Cut(features, rows, whole, None, 0, unit=False)
    ground = parts.layout(features, parts_plan)
    if not 0 <= plan.part < ground.parts:
        raise InputError(
            tr("{name} has no part {k}.", name=escaped(plan.model), k=plan.part + 1),
            hint=tr("Choose one of its {n} parts, or all.", n=ground.parts),
        )
    rotation = parts.rotated(features, rows, ground, parts_plan, tick=tick)
    return Cut(features, rows, ground, rotation, plan.part, unit=plan.metric == "cosine")


@dataclass(frozen=True, eq=False)
class _Sides:
    """The vectors of one model or two, and how they come onto one map."""

    x: Known
    y: Known | None = None
    how: str = ""
    alike: Alike | None = None

    @cached_property
    def moved(self) -> Floats | None:
        """How far each face's two vectors are apart, where they can be compared."""
        return None if self.y is None or self.how != "joint" else agreement.apart(self.x, self.y)

    @classmethod
    def of(cls, plan: ProjectionPlan, x: Known, y: Known | None) -> _Sides:
        if y is None:
            return cls(x)
        some = slice(None, None, max(1, len(x) // agreement.SOME))
        alike = agreement.alike(x[some], y[some])
        if plan.space == "joint" and x.shape != y.shape:
            raise InputError(
                tr("Vectors of {a} and {b} numbers cannot be fitted together.", a=x.shape[1], b=y.shape[1]),
                hint=tr("Lay out each model by itself and turn one to agree: “aligned”."),
            )
        joint = plan.space == "joint" or (plan.space == "auto" and alike is not None and alike.clear)
        return cls(x, y, "joint" if joint else "aligned", alike)

    def components(self, *, tick: Tick) -> tuple[Floats, Floats | None, tuple[float, float]]:
        """Points of both by principal components, and the share of the variance that these have."""
        both = self.y is not None and self.how == "joint"
        points, shares = layouts.pca(self._stack() if both else self.x, tick=tick)
        told = (float(shares[0]), float(shares[1]))
        if self.y is None:
            return points, None, told
        if both:
            return *_apart(points), told
        return points, agreement.turned(layouts.pca(self.y, tick=tick)[0], points), told

    def refined(
        self, points: Floats, other: Floats | None, plan: ProjectionPlan, show: Moved, *, tick: Tick
    ) -> tuple[Floats, Floats | None]:
        """The same by the plan's method, from there."""
        if self.y is None or other is None:
            return _refined(self.x, points, plan, lambda moved: show(moved, None), tick=tick), None
        if self.how == "joint":
            start = np.concatenate([points, other])
            return _apart(_refined(self._stack(), start, plan, lambda moved: show(*_apart(moved)), tick=tick))
        turned = agreement.turned

        def first(moved: Floats) -> None:
            show(moved, turned(other, moved))

        points = _refined(self.x, points, plan, first, tick=part_of(tick, 0, 2))

        def then(moved: Floats) -> None:
            show(points, turned(moved, points))

        return points, turned(_refined(self.y, points, plan, then, tick=part_of(tick, 1, 2)), points)

    def _stack(self) -> Vectors:
        assert self.y is not None
        made = Stack(self.x, self.y)
        return made[:] if isinstance(self.x, np.ndarray) else made


def _apart(points: Floats) -> tuple[Floats, Floats]:
    """The points of one model, then those of the other."""
    n = len(points) // 2
    return points[:n].copy(), points[n:].copy()


@dataclass(frozen=True, eq=False)
class _Borrowed:
    """Places that were taken over from a map of other faces."""

    points: Floats
    other: Floats | None
    shares: tuple[float, float]
    of: int
    new: int

    @property
    def note(self) -> str:
        one, many = "The map is one of {n} face from before", "The map is one of {n} faces from before"
        said = plural(self.of, one, many)
        if self.new:
            one, many = "; {n} new one is placed beside its nearest", "; {n} new ones are placed beside their nearest"
            said += plural(self.new, one, many)
        return said + "."


def _borrowed(
    shelf: keeping.Shelf, marks: keeping.Digests, sides: _Sides, metric: str, *, tick: Tick
) -> _Borrowed | None:
    found = shelf.like(marks)
    if found is None or (found[0].other is None) != (sides.y is None):
        return None
    map_, at = found
    known, new = np.flatnonzero(at >= 0), np.flatnonzero(at < 0)

    def placed(x: Known, points: Floats) -> Floats:
        here = points[at]
        if len(new):
            here[new] = placing.among(x[known], here[known], x[new], metric=metric, tick=tick)
        return here

    other = None if sides.y is None or map_.other is None else placed(sides.y, map_.other)
    return _Borrowed(placed(sides.x, map_.points), other, map_.shares, len(map_.digests), len(new))


def _refined(x: Vectors, start: Floats, plan: ProjectionPlan, show: layouts.Show, *, tick: Tick) -> Floats:
    if plan.method == "tsne":
        points = layouts.tsne(x[:], start, perplexity=plan.perplexity, seed=plan.seed, show=show, tick=tick)
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
