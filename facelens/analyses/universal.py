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

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from facelens.analyses import part_pairs, part_search
from facelens.analyses.effects import Effect as Effect
from facelens.analyses.effects import effects
from facelens.analyses.fusion import Fusion as Fusion
from facelens.analyses.fusion import fused as fused
from facelens.analyses.fusion import fusion
from facelens.analyses.measure import Measure
from facelens.analyses.part_correlation import Correlation as Correlation
from facelens.analyses.part_correlation import correlate
from facelens.analyses.part_search import Gallery
from facelens.analyses.parts import Parts
from facelens.analyses.plan import SHOWN, PartsPlan
from facelens.errors import InputError
from facelens.features.featureset import FeatureSet
from facelens.images.faceset import FaceSet, Ids
from facelens.progress import Tick, offer, part_of, silent
from facelens.words import plural, tr

RECALLS = (1, 2, 4, 8)
ORDERS = 20  # of parts, drawn by chance
BAND = (5, 95)  # per cent
RESAMPLES = 500

Array = NDArray[np.float64]


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


def study(
    faces: FaceSet,
    parts: Parts,
    plan: PartsPlan,
    *,
    features: FeatureSet,
    columns: Sequence[str],
    resamples: int = RESAMPLES,
    tick: Tick = silent,
) -> Study:
    """What the parts of one model are good for; whoever watches is offered what is known so far."""
    if plan.match != "cosine" and parts.log_variance is None:
        raise InputError(
            tr("This model does not say how sure its parts are."), hint=tr("Match by cosine, or choose another model.")
        )
    shown = plan.show if plan.show in parts.values else next((one for one in SHOWN if one in parts.values), "")
    known = Study(shown, notes=parts.notes)
    if shown:
        known = replace(known, effects=effects(faces, columns, parts, shown=shown, tick=part_of(tick, 0, 5)))
        offer(tick, known)
    known = replace(
        known, correlation=correlate(parts, plan, features=features, resamples=resamples, tick=part_of(tick, 1, 5))
    )
    offer(tick, known)
    known = _with_searches(known, parts, plan, features=features, resamples=resamples, tick=tick)
    offer(tick, known)
    if parts.layout.kind == "learned" and parts.log_variance is not None:
        made = fusion(parts, features, known.queries, resamples=resamples, seed=plan.seed, tick=part_of(tick, 4, 5))
        known = replace(known, fusion=made)
    return replace(known, complete=True)


def _with_searches(
    known: Study, parts: Parts, plan: PartsPlan, *, features: FeatureSet, resamples: int, tick: Tick
) -> Study:
    """TAR and Recall with all parts, without each and with each alone, and the curve."""
    K, every = parts.layout.parts, np.ones((1, parts.layout.parts), bool)
    single = np.eye(K, dtype=bool)
    around = np.concatenate([every, ~single, single])
    tar = part_pairs.rates(
        parts, around, match=plan.match, far=plan.far, resamples=resamples, seed=plan.seed, tick=part_of(tick, 2, 5)
    )
    made = part_search.gallery(
        features,
        parts.ids,
        parts.identity,
        parts.layout,
        rotation=parts.rotation,
        match=plan.match,
        log_variance=parts.log_variance,
        tick=part_of(tick, 3, 5),
    )
    found = recalled(made, around, seed=plan.seed, tick=part_of(tick, 3, 5))
    first = part_search.shares(
        (found.ranks == 1).astype(np.float64),
        found.identity,
        why=made.why,
        resamples=resamples,
        seed=plan.seed,
    )
    one = [Without(tar[1 + k], tar[1 + K + k], first[1 + k], first[1 + K + k]) for k in range(K)]
    notes = [*known.notes, *found.notes]
    if left := len(parts.ids) - len(made):
        notes.append(tr("{n} without identity or confidence take no part in searches.", n=left))
    pool = parts.pool
    genuine = int(pool.genuine.sum())
    notes.append(tr("TAR: {n} genuine and {m} impostor pairs.", n=f"{genuine:,}", m=f"{len(pool) - genuine:,}"))
    return replace(
        known,
        whole=(tar[0], first[0]),
        without=tuple(one),
        curve=found.curve,
        queries=found.queries,
        notes=tuple(notes),
    )


@dataclass(frozen=True, eq=False)
class Recalled:
    """Searches with different parts."""

    queries: Ids  # (Q,)
    identity: NDArray[np.int32]  # (Q,)
    ranks: NDArray[np.int32]  # (Q, S)
    curve: Curve
    notes: tuple[str, ...]


def recalled(
    made: Gallery, kept: NDArray[np.bool_], *, ks: Sequence[int] = RECALLS, seed: int = 0, tick: Tick = silent
) -> Recalled:
    """Ranks with each choice (S, K) of parts, and Recall@k against their number."""
    K = kept.shape[1]
    chance = np.random.default_rng(seed).permuted(np.tile(np.arange(K), (ORDERS, 1)), axis=1)
    along = part_search.prefixes(np.concatenate([np.arange(K)[None], chance])).reshape(-1, K)
    queries = part_search.drawn(made, len(kept) + len(along), seed=seed)
    ranks = part_search.ranks(made, queries, np.concatenate([kept, along]), tick=tick)
    ks = tuple(k for k in ks if k < len(made)) or (1,)
    walks = ranks[:, len(kept) :]
    hits = np.array([(walks <= k).mean(0) if len(queries) else np.full(walks.shape[1], np.nan) for k in ks])
    hits = hits.reshape(len(ks), 1 + ORDERS, K)
    low, high = np.percentile(hits[:, 1:], BAND, axis=1)
    curve = Curve(ks, hits[:, 0], low, hits[:, 1:].mean(1), high, ORDERS, len(queries))
    notes: tuple[str, ...] = ()
    if len(queries) < (all_of := len(made.asking)):
        n = plural(len(queries), "{n} face", "{n} faces")
        notes = (tr("{n} of {of} searched, drawn by chance.", n=n, of=f"{all_of:,}"),)
    return Recalled(made.ids[queries], made.identity[queries], ranks[:, : len(kept)], curve, notes)
