"""Diversity: how much more members bring to an ensemble, by how different they are.

Computes    accuracy of ensembles of 1 .. M members, nothing refused, the mean over all choices of so many: TAR at a FAR
            over all pairs, TPIR at an FPIR with templates; intervals of that mean, each draw of identities used for
            all choices
            D-T    several transforms of one model
            D-TG   of different models of one architecture
            D-TGA  of different architectures
Shapes      members M x (N, D) in one space, the query's (N, D) or none: then each ensemble is compared with itself
Reference   Shoshan et al., "Asymmetric Image Retrieval with Cross Model Compatible Ensembles", WACV 2024
Departs     of many choices some are drawn, of many faces those of some people; `choices` and n tell how many
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from facelens.analyses import bootstrap, pairs_left, similarity, templates_left
from facelens.analyses.ensemble import combined
from facelens.analyses.measure import Measure
from facelens.analyses.pairs_left import Faces, Left
from facelens.analyses.scores import Floats
from facelens.analyses.templates_left import Found
from facelens.analyses.uncertainty import Size
from facelens.images.faceset import Ids
from facelens.progress import Tick, silent
from facelens.words import tr

LEVELS = ("D-T", "D-TG", "D-TGA")
CHOICES = 30  # ensembles of one size and level
MANY = 2000  # choices that are looked through for their level
FACES = 3000
RESAMPLES = 200


def level(models: Sequence[str], networks: Sequence[str]) -> str:
    """How different members are; an architecture that is not known is taken for the same.

    >>> level(["a", "a"], ["r18", "r18"]), level(["a", "b"], ["r18", ""]), level(["a", "b"], ["r18", "r50"])
    ('D-T', 'D-TG', 'D-TGA')
    """
    if len(set(models)) < 2:
        return LEVELS[0]
    return LEVELS[2] if len(set(networks) - {""}) > 1 else LEVELS[1]


def sizes(
    members: Sequence[Floats],
    *,
    models: Sequence[str],
    networks: Sequence[str],
    ids: Ids,
    identity: NDArray[np.int32],
    query: Floats | None = None,
    far: float = 1e-3,
    fpir: float = 1e-2,
    resamples: int = RESAMPLES,
    seed: int = 0,
    tick: Tick = silent,
) -> tuple[Size, ...]:
    """Accuracy by number of members, for every level of diversity there is; one member stands at the start of each.

    Only faces that every member and the query know are compared.
    """
    usable = np.logical_and.reduce([similarity.unit(one)[1] for one in [*members, *([] if query is None else [query])]])
    rows = np.flatnonzero(usable)
    faces = pairs_left.usable(members[0][rows], members[0][rows], np.asarray(ids)[rows], np.asarray(identity)[rows])
    if len(faces) > FACES:
        faces = faces.some_people(FACES, seed=seed)
    rows = rows[faces.rows]
    own = np.asarray(ids, np.int64)[rows], np.asarray(identity, np.int32)[rows]
    asking = None if query is None else query[rows]
    seen = [one[rows] for one in members]
    measured: dict[tuple[int, ...], tuple[_Accuracy, _Accuracy]] = {}
    plan = _plan(models, networks, seed=seed)
    wanted = list(dict.fromkeys(chosen for _, _, choices in plan for chosen in choices))
    for number, chosen in enumerate(wanted):
        tick(number, len(wanted), tr("Comparing ensembles"))
        gallery = combined([seen[i] for i in chosen]).vectors if len(chosen) > 1 else seen[chosen[0]]
        compared = pairs_left.usable(gallery if asking is None else asking, gallery, *own)
        weights = bootstrap.identity_weights(compared.people, resamples=resamples, seed=seed)
        measured[chosen] = _verified(compared, far, weights), _identified(compared, own[0], fpir, weights, seed=seed)
    tick(len(wanted), len(wanted), tr("Comparing ensembles"))
    made = []
    for count, name, choices in plan:
        one_to_one, one_to_n = (_mean([measured[one][task] for one in choices]) for task in (0, 1))
        made.append(Size(count, name, one_to_one, one_to_n, len(choices)))
    return tuple(made)


def _plan(models: Sequence[str], networks: Sequence[str], *, seed: int) -> list[tuple[int, str, list[tuple[int, ...]]]]:
    """Members, level and choices of every number to be shown, by level."""
    generator = np.random.default_rng(seed)
    found: dict[str, dict[int, list[tuple[int, ...]]]] = {}
    M = len(models)
    for count in range(2, M + 1):
        for chosen in _choices(M, count, generator):
            name = level([models[i] for i in chosen], [networks[i] for i in chosen])
            found.setdefault(name, {}).setdefault(count, []).append(chosen)
    if M == 1:
        found[LEVELS[0]] = {}
    made = []
    for name in [one for one in LEVELS if one in found]:
        taking_part = sorted({i for choices in found[name].values() for chosen in choices for i in chosen} or {0})
        alone: list[tuple[int, ...]] = [(i,) for i in taking_part]
        for count, choices in [(1, alone), *found[name].items()]:
            if len(choices) > CHOICES:
                choices = [choices[i] for i in np.sort(generator.choice(len(choices), CHOICES, replace=False))]
            made.append((count, name, choices))
    return made


def _choices(M: int, count: int, generator: np.random.Generator) -> list[tuple[int, ...]]:
    """So many of M members, in all ways, or where these are many in some."""
    if comb(M, count) <= MANY:
        return list(combinations(range(M), count))
    drawn = (np.sort(generator.choice(M, count, replace=False)) for _ in range(MANY))
    return sorted({tuple(int(i) for i in chosen) for chosen in drawn})


_Accuracy = tuple[Measure, NDArray[np.float64]]  # of one ensemble, and its draws


def _verified(faces: Faces, far: float, weights: NDArray[np.float32]) -> _Accuracy:
    once = np.ones(len(faces.rows), np.int16)
    pairs, depth = pairs_left.collected(faces, once, steps=1, far=far, both=True)
    left = Left(pairs, once, steps=1, both=True)
    why = left.why(far)
    if left.undefined:
        return Measure.none(why), np.zeros(0)
    measure = Measure(float(left.tar(far)[0][0, 0]), n=int(left.n_genuine[0]), why=why, supported=not why)
    return measure, Left(pairs.upto(depth), once, steps=1, both=True).tar(far, weights)[0][:, 0]


def _identified(faces: Faces, ids: Ids, fpir: float, weights: NDArray[np.float32], *, seed: int) -> _Accuracy:
    setting = templates_left.divided(faces, ids, seed=seed)
    alike, once = np.ones(len(setting.picture)), np.ones(len(setting.picture), np.int16)
    pools = templates_left.pooled(
        faces.gallery, setting, once, steps=1, last=np.zeros(len(once)), weights=alike, unenrol=False
    )
    found = Found(templates_left.searched(faces.query, setting, pools), setting, faces, fpir=fpir, rule="nist")
    value = float(found.tpir()[0][0, 0])
    if np.isnan(value):
        return Measure.none(found.why), np.zeros(0)
    return Measure(value, n=int(found.n[0]), why=found.why, supported=not found.why), found.tpir(weights)[0][:, 0]


def _mean(each: Sequence[_Accuracy]) -> Measure:
    """The mean of several accuracies, with the interval of that mean; the first reason where one has none."""
    for measure, _ in each:
        if measure.value is None:
            return measure
    first = each[0][0]
    value = float(np.mean([measure.value for measure, _ in each]))
    limits = (
        bootstrap.rate_interval(np.mean([drawn for _, drawn in each], axis=0), first.n) if each[0][1].size else None
    )
    return replace(first, value=value).with_interval(*(limits or (None, None)))
