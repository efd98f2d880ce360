"""Divided: what each learner of a divided embedding finds by itself, and how much the learners say the same.

Computes    Recall@k of each part alone: share of faces with one of the same person among the k nearest by that part
            specialists of a learner: faces that it alone finds at rank 1, those first that all others find latest; in
            the paper those that no other finds among its first 30
            clusters: k-means of the whole embedding into K; stability: NMI of clusters found from different seeds; each
            is named by one learner, such that the sum of Recall@1 of learners in their own clusters is largest
            mean of |r_ab| over dimensions a, b of different slices; r is Pearson's correlation over the faces
Shapes      vectors (N, D), D a multiple of the slices; ranks (Q, K), 0 = nobody to find
Reference   Sanakoyeu, Tschernezki, Buchler, Ommer, "Divide and Conquer the Embedding Space", CVPR 2019; the paper
            prints the correlation without its definition, this is the nearest reading
Departs     a slice is compared by its cosine, also of a baseline, where the paper says nothing; several slices by the
            cosine of what they make together; beyond SAMPLE faces clusters are found on some of them; dimensions
            that never change have no correlation and take no part
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from facelens.analyses import part_search
from facelens.analyses.measure import Measure
from facelens.analyses.part_correlation import of_dimensions
from facelens.analyses.part_search import Gallery
from facelens.analyses.parts import Layout, layout, rotated
from facelens.analyses.plan import PartsPlan
from facelens.analyses.universal import RECALLS, RESAMPLES, Curve, Recalled, recalled
from facelens.errors import InputError
from facelens.features import clusters as dividing
from facelens.features.featureset import FeatureSet
from facelens.images.faceset import FaceSet, Ids, Rows
from facelens.progress import Tick, offer, part_of, silent
from facelens.words import tr

FAR_OFF = 30  # the paper's: rank up to which another learner must not find anybody
SEEDS = 5  # from which clusters are found
SAMPLE = 20_000  # faces that clusters are found on


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


def learners(
    faces: FaceSet,
    plan: PartsPlan,
    *,
    features: Mapping[str, FeatureSet],
    excluded: Ids | None = None,
    resamples: int = RESAMPLES,
    tick: Tick = silent,
) -> Learners:
    """What each learner of `plan.model` finds, beside slices of `plan.baseline`; whoever watches is offered parts."""
    ground = layout(features[plan.model], plan)
    notes: list[str] = []
    beside = _baseline(features, plan, ground.parts, notes)
    ids = faces.ids if excluded is None else faces.ids[~np.isin(faces.ids, excluded)]
    of = len(ids)
    for name in (plan.model, *([plan.baseline] if beside is not None else [])):
        ids = ids[features[name].rows_of(ids)[1]]
    if of - len(ids):
        notes.append(tr("{n} without usable vector are left out.", n=of - len(ids)))
    identity = faces.identity.codes[faces.rows_of(ids)].astype(np.int32)
    if unknown := int((identity < 0).sum()):
        notes.append(tr("{n} without identity take no part in searches.", n=unknown))

    def looked(name: str, layout: Layout, number: int) -> _Looked:
        one = features[name]
        return _looked(name, one, layout, plan, ids, identity, resamples=resamples, tick=part_of(tick, number, 3))

    own = looked(plan.model, ground, 0)
    specialists, found = specialised(own.found.ranks[:, :-1], own.found.queries, own.gallery)
    known = Learners(
        ids=ids,
        ks=own.side.curve.ks,
        own=own.side,
        baseline=None,
        ranks=own.found.ranks[:, :-1],
        queries=own.found.queries,
        specialists=specialists,
        notes=(*notes, *own.found.notes),
        found=found,
    )
    offer(tick, known)
    if beside is not None:
        other = looked(plan.baseline, beside, 1)
        gain, whole = _gains(own, other, resamples=resamples, seed=plan.seed)
        known = replace(known, baseline=other.side, gain=gain, whole_gain=whole)
        offer(tick, known)
    if len(ids) >= ground.parts > 1:
        vectors = features[plan.model].unit(ids)[0]
        groups = _clusters(vectors, identity, known, own.found, seed=plan.seed, tick=part_of(tick, 2, 3))
        known = replace(known, clusters=groups)
    return replace(known, complete=True)


def _baseline(features: Mapping[str, FeatureSet], plan: PartsPlan, K: int, notes: list[str]) -> Layout | None:
    """How the baseline is cut, into as many slices; None where there is none or it cannot be."""
    if plan.alone or plan.baseline not in features or plan.baseline == plan.model:
        return None
    D = features[plan.baseline].dimensions
    if D % K:
        words = tr("No baseline: the {d} dimensions of {name} cannot be cut into {k} slices.")
        notes.append(words.format(d=D, name=plan.baseline, k=K))
        return None
    own = layout(features[plan.baseline], replace(plan, parts=K))
    return own if own.parts == K else Layout("slices", K, D // K, unit=plan.unit)


@dataclass(frozen=True, eq=False)
class _Looked:
    """One model, and the searches behind it; the last rank is that of all learners together."""

    side: Side
    gallery: Gallery
    found: Recalled


def _looked(
    name: str,
    features: FeatureSet,
    ground: Layout,
    plan: PartsPlan,
    ids: Ids,
    identity: NDArray[np.int32],
    *,
    resamples: int,
    tick: Tick,
) -> _Looked:
    K = ground.parts
    rows = features.rows_of(ids)[0]
    rotation = rotated(features, rows, ground, plan, tick=tick)
    made = part_search.gallery(features, ids, identity, ground, rotation=rotation, tick=tick)
    kept = np.concatenate([np.eye(K, dtype=bool), np.ones((1, K), bool)])
    found = recalled(made, kept, ks=RECALLS, seed=plan.seed, tick=tick)
    recall, whole, mean = [], [], []
    for k in found.curve.ks:
        hits = (found.ranks <= k).astype(np.float64)
        hits = np.concatenate([hits, hits[:, :K].mean(1, keepdims=True)], axis=1)
        *each, together, middle = part_search.shares(
            hits, found.identity, why=made.why, resamples=resamples, seed=plan.seed
        )
        recall.append(tuple(each))
        whole.append(together)
        mean.append(middle)
    _, correlation = of_dimensions(features, rows, ground, rotation, tick=tick)
    side = Side(name, ground, tuple(recall), tuple(whole), correlation, found.curve, tuple(mean))
    return _Looked(side, made, found)


def _gains(
    own: _Looked, other: _Looked, *, resamples: int, seed: int
) -> tuple[tuple[Measure, ...], tuple[Measure, ...]]:
    """For each k how much more the learners find than the slices of the baseline: on average, and together."""
    found = []
    for k in own.side.curve.ks:
        a, b = ((one.found.ranks <= k).astype(np.float64) for one in (own, other))
        more = np.stack([a[:, :-1].mean(1) - b[:, :-1].mean(1), a[:, -1] - b[:, -1]], axis=1)
        why = own.gallery.why
        found.append(part_search.shares(more, own.found.identity, why=why, rates=False, resamples=resamples, seed=seed))
    return tuple(one[0] for one in found), tuple(one[1] for one in found)


def specialised(ranks: NDArray[np.int32], queries: Ids, made: Gallery) -> tuple[tuple[Ids, ...], tuple[Ids, ...]]:
    """For each learner the queries that it alone finds at rank 1, those that all others find latest first, and whom
    it found; ties in the order of the queries."""
    K = ranks.shape[1]
    chosen, found = [], []
    for k in range(K):
        others = np.delete(ranks, k, axis=1)
        latest = others.min(1) if K > 1 else np.zeros(len(ranks), np.int32)
        alone = np.flatnonzero((ranks[:, k] == 1) & (latest > 1))
        alone = alone[np.argsort(-latest[alone], kind="stable")]
        chosen.append(queries[alone])
        found.append(made.ids[part_search.nearest(made, _rows(made, queries[alone]), k)])
    return tuple(chosen), tuple(found)


def _rows(made: Gallery, ids: Ids) -> Rows:
    order = np.argsort(made.ids, kind="stable")
    return np.asarray(order[np.searchsorted(made.ids[order], ids)], np.int64)


def _clusters(
    vectors: NDArray[np.float32],
    identity: NDArray[np.int32],
    known: Learners,
    found: Recalled,
    *,
    seed: int,
    tick: Tick,
) -> Clusters:
    """The gallery in as many groups as there are learners, each named by one of them."""
    from scipy.optimize import linear_sum_assignment

    K = known.own.layout.parts
    groups: list[NDArray[np.int32]] = []
    for number in range(SEEDS):
        share = part_of(tick, number, SEEDS)
        groups.append(_grouped(vectors, K, seed=seed + number, tick=share))
    alike = [dividing.stability(a, b) for a, b in combinations(groups, 2)]
    kept = [float(np.mean(dividing.relabelled(a, b, learners=K) == b)) for a, b in combinations(groups, 2)]
    group, n = groups[0], len(vectors)
    place = np.argsort(known.ids, kind="stable")
    of_query = group[place[np.searchsorted(known.ids[place], found.queries)]]
    hits = (found.ranks[:, :K] == 1).astype(np.float64)
    recall = np.full((K, K), np.nan)
    for g in np.unique(of_query):
        recall[:, g] = hits[of_query == g].mean(0)
    best, at = linear_sum_assignment(np.nan_to_num(recall), maximize=True)  # learner, group
    name = np.empty(K, np.int32)
    name[at] = best
    learner = name[group].astype(np.int32)
    told = identity >= 0
    whose = np.zeros((int(identity.max(initial=-1)) + 1, K), np.int64)
    np.add.at(whose, (identity[told], learner[told]), 1)
    at_home = whose[whose.sum(1) > 0].argmax(1)
    return Clusters(
        learner=learner,
        sizes=np.bincount(learner, minlength=K).astype(np.int64),
        people=np.bincount(at_home, minlength=K).astype(np.int64),
        stability=Measure(float(np.mean(alike)), min(alike), max(alike), n=n),
        kept=Measure(float(np.mean(kept)), min(kept), max(kept), n=n),
        recall=recall[:, at[np.argsort(best)]],
    )


def _grouped(vectors: NDArray[np.float32], K: int, *, seed: int, tick: Tick) -> NDArray[np.int32]:
    """(N,) groups 0 to K - 1, found on at most SAMPLE of the faces."""

    def told(done: int, total: int, note: str = "") -> None:
        tick(done, total, note or tr("Grouping faces"))

    if len(vectors) <= SAMPLE:
        return dividing.divide(vectors, K, seed=seed, tick=told)
    some = vectors[np.sort(np.random.default_rng(seed).choice(len(vectors), SAMPLE, replace=False))]
    group = dividing.divide(some, K, seed=seed, tick=told)
    centre = np.stack([some[group == k].mean(0) for k in range(K)])
    near = vectors @ centre.T - np.square(centre).sum(1) / 2
    return np.asarray(near.argmax(1), np.int32)
