"""Breakdown: the same rates for each value of a column, at the thresholds of all pairs.

Computes    TAR and real FAR inside each value at each operating point of the whole gallery, and its own EER
Shapes      values: names as they are; numbers in `BINS` groups of about as many faces each
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from facelens.analyses import verification
from facelens.analyses.measure import Measure
from facelens.analyses.plan import Plan
from facelens.analyses.scores import Scores, choose, restrict
from facelens.analyses.things import Things
from facelens.analyses.verification import Verification
from facelens.images.faceset import FaceSet, Ids, Labels
from facelens.images.protocol import Protocol
from facelens.progress import Tick, part_of
from facelens.words import escaped, plural, tr

SLICES = 24  # values of a breakdown, those of most faces
BINS = 4  # of a column of numbers
FEW = 6  # so many different ones are not divided; of whole numbers as many as are shown


@dataclass(frozen=True)
class Slice:
    """The pairs (or searches) of one value of the breakdown column."""

    value: str
    faces: int
    n_genuine: int
    n_impostor: int
    tar: tuple[tuple[float, Measure], ...]  # target FAR -> TAR at the threshold of the whole gallery
    far: tuple[tuple[float, Measure], ...]  # target FAR -> real FAR inside this slice at that threshold
    eer: Measure
    ids: Ids = field(default_factory=lambda: np.zeros(0, np.int64), compare=False)  # the things of this value


def _values(faces: FaceSet, things: Things, test: Protocol | None, column: str) -> tuple[NDArray[np.int64], list[str]]:
    """(n,) which value of the column each thing has, -1 = none or several; and the values."""
    found = faces.values(column)
    if isinstance(found, Labels):
        codes, names = found.codes.astype(np.int64), [escaped(name) for name in found.names]
    else:
        codes, names = _binned(np.asarray(found, np.float64))
    if things.rows is not None:
        return codes[things.rows], names
    assert test is not None and test.templates is not None
    members = test.templates
    kept = np.flatnonzero(np.isin(members.template, things.ids))  # without those of templates that are left out
    order = kept[np.argsort(members.template[kept], kind="stable")]
    of_member = codes[members.row[order]]
    starts = np.searchsorted(members.template[order], things.ids)
    low, high = np.minimum.reduceat(of_member, starts), np.maximum.reduceat(of_member, starts)
    return np.where(low == high, low, -1), names  # a template of pictures of several values has none


def _binned(values: NDArray[np.float64]) -> tuple[NDArray[np.int64], list[str]]:
    """Numbers as a few values: themselves where there are few, else quarters of about as many faces each.

    A number that a quarter of the faces have (mostly 0: no blur) stands by itself, and the others are divided.
    """
    known = np.isfinite(values)
    different, counts = np.unique(values[known], return_counts=True)
    whole = bool((different == np.floor(different)).all())
    if len(different) <= (SLICES if whole else FEW):
        codes = np.searchsorted(different, values)
        return np.where(known, codes, -1), [f"{value:.6g}" for value in different]
    common = different[counts >= known.sum() / BINS]
    codes = np.full(len(values), -1, np.int64)
    names: list[str] = []
    for low, high in pairwise([-np.inf, *common.tolist(), np.inf]):
        if np.isfinite(low):
            codes[values == low] = len(names)
            names.append(f"{low:.4g}")
        between = known & (values > low) & (values < high)
        if not between.any():
            continue
        bins = max(1, round(BINS * between.sum() / known.sum()))
        edges = np.unique(np.quantile(values[between], np.linspace(0, 1, bins + 1)))
        if len(edges) < 2:
            edges = np.repeat(edges, 2)
        inside = np.searchsorted(edges, values[between], side="right") - 1
        codes[between] = len(names) + np.clip(inside, 0, len(edges) - 2)
        for a, b in pairwise(edges.tolist()):
            names.append(tr("{a} to {b}", a=f"{a:.4g}", b=f"{b:.4g}") if a < b else f"{a:.4g}")
    return codes, names


def slices(
    faces: FaceSet,
    things: Things,
    test: Protocol | None,
    plan: Plan,
    scores: Scores,
    verified: Verification,
    notes: list[str],
    *,
    tick: Tick,
) -> tuple[Slice, ...]:
    """The pairs of each value of the breakdown column, at the thresholds of all pairs.

    Both sides of a pair must have the value; where another gallery searches, the query decides.
    """
    if plan.breakdown not in faces.sortable:
        notes.append(tr("The gallery has no column {name}.", name=escaped(plan.breakdown)))
        return ()
    if not len(things):
        return ()
    codes, names = _values(faces, things, test, plan.breakdown)
    everyone, codes = codes, codes[things.searching]
    counts = np.bincount(codes[codes >= 0], minlength=len(names))
    if missing := int((codes < 0).sum()):
        one = "{n} has no value of {name} (or several) and is in no part."
        many = "{n} have no value of {name} (or several) and are in no part."
        name = escaped(plan.breakdown)
        notes.append(plural(missing, one.replace("{name}", name), many.replace("{name}", name)))
    shown = np.sort(np.argsort(-counts, kind="stable")[:SLICES])
    shown = shown[counts[shown] > 0]
    if hidden := int((counts > 0).sum()) - len(shown):
        notes.append(
            tr("{n} values of {name} with the fewest faces are not shown.", n=hidden, name=escaped(plan.breakdown))
        )
    code_of = np.full(len(scores.ids), -1, np.int64)
    at = things.places(scores.ids)
    code_of[at >= 0] = everyone[at[at >= 0]]
    if things.split is not None:
        notes.append(tr("The parts go by the {name} of the query.", name=escaped(plan.breakdown)))
    made = []
    for number, value in enumerate(shown.tolist()):
        share = part_of(tick, number, len(shown))
        chosen = np.flatnonzero(codes == value)
        if scores.bulk is not None:  # pairs that are only counted belong to nobody: compare those of the value alone
            places = chosen if things.split is None else np.concatenate([chosen, things.searched])
            inside = things.all_pairs(places, fars=plan.fars, tick=share)
        elif things.split is None:
            inside = restrict(scores, code_of == value)
        else:
            inside = choose(scores, np.flatnonzero(code_of[scores.first] == value))
        ids = things.ids[chosen]
        made.append(replace(_slice(names[value], len(ids), inside, verified, plan, tick=share), ids=ids))
    return tuple(made)


def _slice(name: str, n: int, inside: Scores, whole: Verification, plan: Plan, *, tick: Tick) -> Slice:
    inside = replace(inside, fold=None)
    own = verification.verify(inside, fars=(), resamples=plan.resamples, seed=plan.seed, tick=tick)
    tar, far = [], []
    for point in whole.points:
        accepted, wrong = _at(inside, point, own.spread)
        tar.append((point.target, accepted))
        far.append((point.target, wrong))
    return Slice(name, n, inside.n_genuine, inside.n_impostor, tuple(tar), tuple(far), own.eer)


def _at(
    inside: Scores, point: verification.OperatingPoint, spread: verification.Spread | None
) -> tuple[Measure, Measure]:
    """TAR and real FAR of some pairs at the threshold of an operating point of all."""
    n, m = inside.n_impostor, inside.n_genuine
    if not point.tar.supported or point.threshold is None:
        why = point.tar.why or tr("nothing is accepted at this rate")
        return Measure.none(why, n=m), Measure.none(why, n=n)
    own = verification.at_threshold(inside, point.threshold, spread=spread)
    tar = own.tar if m else Measure.none(tr("no genuine pair"))
    far = Measure(own.far, n=n) if n else Measure.none(tr("no impostor pair"))
    return tar, far if own.far_interval is None else far.with_interval(*own.far_interval)
