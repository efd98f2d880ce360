"""Fusion: templates of several pictures, in which each part listens most to the pictures it is surest of.

Computes    template: f_k = n(sum_i f_i,k / v_i,k), its variance min_i v_i,k ("min") or 1 / sum_i 1 / v_i,k ("bayes");
            "mean": f_k = n(sum_i f_i,k)
            first: share of faces nearest to the template of their person, which is made of the other pictures
Shapes      parts (n, K, D / K) of length 1, log variances (n, K); templates (T, K, D / K), (T, K)
Reference   Shi, Jain, "Probabilistic Face Embeddings", ICCV 2019
Departs     PFE has a variance for each dimension; a tie with the template of somebody else is a miss
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from facelens.analyses import part_search
from facelens.analyses.measure import Measure
from facelens.analyses.part_search import Gallery
from facelens.analyses.parts import Parts, parts_of
from facelens.analyses.plan import MATCHES, RESAMPLES
from facelens.analyses.search import flat_pairs, pairs_of
from facelens.features.featureset import FeatureSet
from facelens.images.faceset import Ids, Rows
from facelens.progress import Tick, part_of, silent
from facelens.words import tr

RULES = ("min", "bayes")  # of the variance of a template
BLOCK = 1 << 22  # numbers looked at at once

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Fusion:
    """One way to make templates of several pictures, and how well a face finds its person's among them."""

    name: str  # "mean", "precision"
    match: str  # of MATCHES
    variance: str  # "min", "bayes", "" where none is used
    first: Measure  # share of faces whose nearest template is their person's; their own picture is left out of it


def fused(
    parts: NDArray[np.floating], log_variance: NDArray[np.floating], *, rule: str = "min", whose: Rows | None = None
) -> tuple[Array, Array]:
    """Templates of several pictures, the surer ones weighing more: (n, K, d) and (n, K) -> (T, K, d) and (T, K).

    `whose` (n,) is the template each picture belongs to, 0 to T - 1; not given: all make one. `rule` says what
    becomes of log sigma^2: "min" takes that of the surest picture, as PFE does, "bayes" that of the product.
    """
    if rule not in RULES:
        raise ValueError(f"rule is one of {RULES}, not {rule!r}")
    whose = np.zeros(len(parts), np.int64) if whose is None else whose
    order = np.argsort(whose, kind="stable")
    whose = whose[order]
    starts = np.flatnonzero(np.diff(whose, prepend=-1))
    log_variance = np.asarray(log_variance, np.float64)[order]
    surest = np.minimum.reduceat(log_variance, starts)  # (T, K)
    weight = np.exp(np.repeat(surest, np.diff(starts, append=len(whose)), axis=0) - log_variance)
    total = np.add.reduceat(np.asarray(parts, np.float64)[order] * weight[..., None], starts)
    unit = total / np.maximum(np.linalg.norm(total, axis=2, keepdims=True), 1e-12)
    return unit, surest if rule == "min" else surest - np.log(np.add.reduceat(weight, starts))


def fusion(
    parts: Parts,
    features: FeatureSet,
    queries: Ids,
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
    tick: Tick = silent,
) -> tuple[Fusion, ...]:
    """Ways to make templates: how often a query is nearest to that of its person, made of the other pictures."""
    assert parts.log_variance is not None
    told = np.flatnonzero((parts.identity >= 0) & np.isfinite(parts.log_variance).all(1))
    told = told[np.argsort(parts.identity[told], kind="stable")]
    faces = _Faces(parts, features, told)
    several = np.bincount(faces.person, minlength=1)
    asking = np.flatnonzero(np.isin(parts.ids[told], queries) & (several[faces.person] > 1))
    why = ""
    if len(several) < 2:
        why = tr("one identity, so nothing wrong can be found")
    elif not len(asking):
        why = tr("no query has another picture of the same person")
    ways = [("mean", "cosine", ""), ("precision", "cosine", "")]
    ways += [("precision", match, rule) for match in MATCHES[1:] for rule in RULES]
    found = []
    for number, way in enumerate(ways):
        hits = faces.nearest(asking, *way, tick=part_of(tick, number, len(ways))) if not why else np.zeros(0)
        who = parts.identity[told[asking]] if not why else np.zeros(0, np.int32)
        (first,) = part_search.shares(hits[:, None], who, why=why, resamples=resamples, seed=seed)
        found.append(Fusion(*way, first))
    return tuple(found)


class _Faces:
    """Faces of known people that say how sure they are, person by person."""

    def __init__(self, parts: Parts, features: FeatureSet, told: Rows) -> None:
        assert parts.log_variance is not None
        self.parts, self.features = parts, features
        self.ids, self.log_variance = parts.ids[told], parts.log_variance[told]
        self.person = np.unique(parts.identity[told], return_inverse=True)[1].astype(np.int64)
        self.order, self.begin, self.end = pairs_of(self.person.astype(np.int32), self.person.astype(np.int32))

    def nearest(self, asking: Rows, name: str, match: str, rule: str, *, tick: Tick) -> Array:
        """(Q,) 1 where the nearest template is that of the person, else 0."""
        way = (name, match, rule)
        people = self._templates(np.arange(len(self.ids)), self.person, *way, tick=tick)
        hits = np.zeros(len(asking))
        counts = np.cumsum((self.end - self.begin)[asking])
        limit = min(
            BLOCK // max(1, self.parts.layout.dimensions), part_search.MEMORY // (4 * self.log_variance.shape[1])
        )
        start = 0
        while start < len(asking):
            tick(start, len(asking), tr("Making templates"))
            used = counts[start - 1] if start else 0
            stop = max(start + 1, int(np.searchsorted(counts, used + limit)))
            stop = min(stop, start + max(2, part_search.MEMORY // (4 * self.log_variance.shape[1] * len(people))))
            some = asking[start:stop]
            query, others = flat_pairs(self.order, self.begin[some], self.end[some])
            other = others != some[query]
            without = self._templates(others[other], query[other], *way, tick=tick)
            alone = self._templates(some, np.arange(len(some)), *way, tick=tick)
            score = part_search.score(alone, people)
            score[np.arange(len(some)), self.person[some]] = -np.inf
            hits[start:stop] = part_search.score(alone, without).diagonal() > score.max(1)
            start = stop
        return hits

    def _templates(self, faces: Rows, whose: Rows, name: str, match: str, rule: str, *, tick: Tick) -> Gallery:
        """Templates 0 to T - 1 of faces that come template by template, as a match compares them."""
        starts = np.append(np.flatnonzero(np.diff(whose, prepend=-1)), len(whose))
        step = max(1, BLOCK // max(1, self.parts.layout.dimensions))
        made, sure, at = [], [], 0
        while at < len(starts) - 1:
            tick(0, 1)
            stop = max(at + 1, int(np.searchsorted(starts, starts[at] + step, side="right")) - 1)
            some = faces[starts[at] : starts[stop]]
            told = self.log_variance[some]
            said = np.zeros_like(told) if name == "mean" else told
            own = parts_of(self.features, self.parts, self.ids[some])
            one, variance = fused(
                own, said, rule=rule or RULES[0], whose=whose[starts[at] : starts[stop]] - whose[starts[at]]
            )
            made.append(one.astype(np.float32))
            sure.append(variance.astype(np.float32))
            at = stop
        found = part_search.compared(match, np.concatenate(made), np.concatenate(sure))
        T = len(found[0][0])
        return Gallery(np.arange(T), np.arange(T, dtype=np.int32), *found)
