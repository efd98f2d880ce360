"""Templates left: 1:N searches in a gallery of templates that lose their worst pictures, step by step.

Computes    people with two pictures or more are enrolled with about half of them, in one of two galleries; the other
            pictures are searched in both, those of all other people too: strangers. Template = weighted mean of the
            pictures left, at length 1. A search finds its person when the template's cosine is above that of any
            other in the gallery and reaches the threshold; this is chosen by the highest scores of strangers
            ("nist" and others of identification), in each draw of identities anew; TPIR is the mean of both galleries
Shapes      T templates, those of gallery 1 first; E pictures enrolled, by template; Q probes; S steps; B draws
Reference   Shoshan et al., "Asymmetric Image Retrieval with Cross Model Compatible Ensembles", WACV 2024 (refusing
            before pooling); Grother, Ngan and Hanaoka, NIST IR 8271 (TPIR, FPIR)
Departs     none. A template that loses all its pictures keeps the one that would go last, or is removed; then searches
            of this person no longer count in its gallery, neither as known nor as strangers
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from facelens.analyses import identification, similarity
from facelens.analyses.measure import rate
from facelens.analyses.pairs_left import Array, Faces, Leaves, from_lanes, in_lanes
from facelens.analyses.plan import OPEN_RULES
from facelens.analyses.scores import Floats
from facelens.images.faceset import Ids
from facelens.progress import Tick, silent
from facelens.words import tr

MEMORY = 1 << 26  # bytes of scores looked at at once
DRAWS = 128  # worked out between two ticks
Counts = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Setting:
    """Who is enrolled, and who searches; rows of the faces."""

    picture: Counts  # (E,) enrolled, by template, then by id
    template: NDArray[np.int32]  # (E,) from 0
    first: int  # templates of gallery 1; those of gallery 2 follow
    templates: int
    probe: Counts  # (Q,)
    own: NDArray[np.int32]  # (Q,) template of the same person, -1 for strangers

    @property
    def gallery(self) -> NDArray[np.int8]:
        """(Q,) the gallery, 0 or 1, in which a probe's person is enrolled; -1 for strangers."""
        return np.where(self.own < 0, -1, self.own >= self.first).astype(np.int8)

    @property
    def how(self) -> str:
        """One sentence."""
        return tr(
            "Half of each person's pictures are enrolled in one of two galleries ({a} and {b} people); all others are "
            "searched in both.",
            a=self.first,
            b=self.templates - self.first,
        )


def divided(faces: Faces, ids: Ids, *, seed: int = 0) -> Setting:
    """Enrol half of each person's pictures, of an odd number the larger half; the same ones for the same ids."""
    order = np.argsort(_mixed(ids[faces.rows], seed), kind="stable")
    parts = identification.split(faces.codes, order=order, seed=seed)
    part = np.zeros(faces.people, np.int8)  # 0: strangers
    part[faces.codes[parts.gallery]] = parts.part
    by_person = order[np.argsort(faces.codes[order], kind="stable")]
    codes = faces.codes[by_person]
    pictures = np.bincount(codes, minlength=faces.people)
    place = np.arange(len(codes)) - (np.cumsum(pictures) - pictures)[codes]
    enrolled = (place < (pictures[codes] + 1) // 2) & (part[codes] > 0)
    number = np.full(faces.people, -1, np.int32)
    people = np.flatnonzero(part)
    people = people[np.argsort(part[people], kind="stable")]
    number[people] = np.arange(len(people))
    picture, probe = np.sort(by_person[enrolled]), np.sort(by_person[~enrolled])
    picture = picture[np.argsort(number[faces.codes[picture]], kind="stable")]
    return Setting(
        picture=picture,
        template=number[faces.codes[picture]],
        first=int(np.count_nonzero(part == 1)),
        templates=len(people),
        probe=probe,
        own=number[faces.codes[probe]],
    )


def _mixed(ids: Ids, seed: int) -> NDArray[np.uint64]:
    """Numbers in no order, each from an id and the seed alone (the steps of splitmix64)."""
    with np.errstate(over="ignore"):
        x = ids.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15) * np.uint64(seed + 1)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(x ^ (x >> np.uint64(31)), np.uint64)


@dataclass(frozen=True, eq=False)
class Pooled:
    """Templates as they begin, and every change of one: at step s those from ends[s - 1] to ends[s]."""

    vectors: Floats  # (T + L, D) unit length; zeros where one is removed
    changed: NDArray[np.int32]  # (L,) templates
    ends: Counts  # (S,)
    removed: NDArray[np.bool_]  # (L,)
    emptied: Counts  # (S,) templates that have lost all their pictures
    leaves: Leaves  # (T,) the step at which a template is removed; S where it never is


def pooled(
    vectors: Floats, setting: Setting, leaves: Leaves, *, steps: int, last: Array, weights: Array, unenrol: bool
) -> Pooled:
    """Pool the pictures that are left at each step; `vectors` of all faces, `leaves`, `last`, `weights` (E,).

    An emptied template keeps the picture with the smallest `last`, or where `unenrol` is removed.
    """
    E, T = len(setting.picture), setting.templates
    by_last = np.lexsort((last, setting.template))
    keeper = np.zeros(E, bool)
    keeper[by_last[np.flatnonzero(np.diff(setting.template[by_last], prepend=-1))]] = True
    emptied_at = np.zeros(T, np.int16)
    np.maximum.at(emptied_at, setting.template, leaves)
    made, changed, removed, ends = [], [], [], []
    for step in range(steps):
        now = np.full(T, step == 0)
        now[setting.template[leaves == step]] = True
        empty = emptied_at <= step
        chosen = now[setting.template] & ((leaves > step) | (empty[setting.template] & keeper))
        made.append(_means(vectors, setting, np.flatnonzero(chosen), weights, last))
        if step:
            changed.append(np.flatnonzero(now))
            removed.append(empty[changed[-1]] & unenrol)
        ends.append(sum(len(some) for some in changed))
    gone = np.concatenate([np.zeros(0, bool), *removed])
    whole: NDArray[Any] = np.concatenate(made)
    whole[T:][gone] = 0
    return Pooled(
        vectors=whole,
        changed=np.concatenate([np.zeros(0, np.int32), *changed]).astype(np.int32),
        ends=np.array(ends, np.int64),
        removed=gone,
        emptied=np.count_nonzero(emptied_at[None] <= np.arange(steps)[:, None], axis=1),
        leaves=emptied_at if unenrol else np.full(T, steps, np.int16),
    )


def _means(vectors: Floats, setting: Setting, pictures: Counts, weights: Array, last: Array) -> Floats:
    """(t, D) means of some pictures (places of E) by template; where they cancel, the picture that would go last."""
    if not len(pictures):
        return vectors[:0]
    starts = np.flatnonzero(np.diff(setting.template[pictures], prepend=-1))
    sums = np.add.reduceat(vectors[setting.picture[pictures]] * weights[pictures, None], starts, axis=0)
    norms = np.linalg.norm(sums, axis=1)
    lost = np.flatnonzero(norms < similarity.SMALLEST_NORM * np.add.reduceat(weights[pictures], starts))
    lost = np.union1d(lost, np.flatnonzero(norms == 0))
    for one in lost:
        own = pictures[starts[one] : starts[one + 1] if one + 1 < len(starts) else None]
        sums[one], norms[one] = vectors[setting.picture[own[np.argmin(last[own])]]], 1.0
    means: Floats = (sums / norms[:, None]).astype(vectors.dtype)
    return means


@dataclass(frozen=True, eq=False)
class Searched:
    """Every probe in both galleries at every step."""

    mate: Floats  # (S, Q) score of the own template; -inf for strangers, NaN where it is removed
    other: Floats  # (2, S, Q) the highest score of any other template of each gallery; -inf for none


def searched(query: Floats, setting: Setting, pools: Pooled, *, tick: Tick = silent) -> Searched:
    """Search all probes among the templates of each step; `query` of all faces."""
    from facelens.analyses import kernels_left

    S, Q, T = len(pools.ends), len(setting.probe), setting.templates
    kind = np.result_type(query, pools.vectors)
    mate, other = np.full((S, Q), -np.inf, kind), np.full((2, S, Q), -np.inf, kind)
    if not T:
        return Searched(mate, other)
    for some, block in similarity.blocks(query[setting.probe], pools.vectors, memory=MEMORY, tick=tick):
        arrays = block, pools.changed, pools.removed, pools.ends, setting.own[some], T, setting.first
        similarity.in_threads(len(block), kernels_left.search, *arrays, mate[:, some], other[:, :, some])
    return Searched(mate, other)


class Found:
    """How many searches find their person at each step, at a rate `fpir` of false alarms."""

    def __init__(self, searched: Searched, setting: Setting, faces: Faces, *, fpir: float, rule: str) -> None:
        self.steps = len(searched.mate)
        self.n = np.zeros(self.steps, np.int64)  # searches of people who are enrolled
        self.strangers: dict[int, int] = {}  # in each gallery, 0 or 1, that has known people and strangers
        self._fpir, self._rule, self._people = fpir, OPEN_RULES.index(rule), faces.people
        self._galleries = []
        of = faces.codes[setting.probe]
        for gallery, other in enumerate(searched.other):
            known, strangers = np.flatnonzero(setting.gallery == gallery), np.flatnonzero(setting.gallery != gallery)
            mate = searched.mate[:, known]
            counted = ~np.isnan(mate)
            self.n += np.count_nonzero(counted, axis=1)
            if len(known) and len(strangers):
                with np.errstate(invalid="ignore"):
                    hits = np.where(counted, np.where(mate > other[:, known], mate, -np.inf), np.nan)
                order = np.argsort(-other[:, strangers], axis=1, kind="stable")
                top = np.take_along_axis(other[:, strangers], order, axis=1)
                self._galleries.append((hits, of[known], top, of[strangers][order]))
                self.strangers[gallery] = len(strangers)

    @property
    def why(self) -> str:
        """Why there is no rate, or none to rely on; or nothing."""
        if not self.n[0]:
            return tr("nobody is enrolled")
        if not self.strangers:
            return tr("every probe shows a person of the gallery, so there is no false alarm to count")
        n, fpir = min(self.strangers.values()), rate(self._fpir)
        if np.floor(self._fpir * n + 1e-9) < 1:
            return tr("FPIR {fpir} cannot be reached with {n} searches of strangers", fpir=fpir, n=n)
        if self._fpir * n < 3 - 1e-9:
            return tr("FPIR {fpir} has no support with {n} searches of strangers", fpir=fpir, n=n)
        return ""

    def tpir(self, weights: NDArray[np.float32] | None = None, *, tick: Tick = silent) -> tuple[Array, Array]:
        """(B, S) twice: TPIR and threshold, means of the galleries; NaN where none says anything.

        Without weights of all searches as they are, B = 1.
        """
        if weights is None:
            weights = np.ones((1, self._people), np.float32)
        left = np.array([~np.isnan(hits).all(axis=1) for hits, *_ in self._galleries]).reshape(-1, self.steps)
        made = np.full((2, len(weights), self.steps), np.nan)
        for start in range(0, len(weights) if len(left) else 0, DRAWS):
            tick(start, len(weights), tr("Drawing identities"))
            each = np.where(left[:, None, None], self._each(weights[start : start + DRAWS]), 0)
            with np.errstate(invalid="ignore"):
                made[:, start : start + DRAWS] = each.sum(axis=0) / left.sum(axis=0)  # nobody left: 0 / 0
        return made[0], made[1]

    def thresholds(self) -> Array:
        """(2,) of both galleries at the first step; NaN where one says nothing."""
        made = np.full(2, np.nan)
        made[list(self.strangers)] = self._each(np.ones((1, self._people), np.float32))[:, 1, 0, 0]
        return made

    def _each(self, weights: NDArray[np.float32]) -> Array:
        """(galleries, 2, B, S) TPIR and threshold."""
        from facelens.analyses import kernels_left

        lanes = in_lanes(weights)
        each = []
        for arrays in self._galleries:
            made = np.empty((2, len(lanes), self.steps, kernels_left.LANES))
            similarity.in_threads(len(lanes), kernels_left.found, *arrays, lanes, self._fpir, self._rule, *made)
            each.append([from_lanes(one, len(weights)) for one in made])
        return np.array(each)
