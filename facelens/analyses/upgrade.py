"""Upgrade: may the new model be used without embedding the gallery anew? Everything that speaks for it and against.

Puts together spaces (who counts, how the two meet), crossing (matrix, gains, bounds), flips, moves and backfill.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from facelens.analyses import backfill as filling
from facelens.analyses import flips as flipping
from facelens.analyses import moves as moving
from facelens.analyses.backfill import Backfill, Queue
from facelens.analyses.crossing import Matrix, crossed
from facelens.analyses.flips import UNSEARCHED, Flips
from facelens.analyses.moves import Moves
from facelens.analyses.plan import VARIANCE, UpgradePlan
from facelens.analyses.spaces import Spaces, spaces
from facelens.errors import InputError
from facelens.features.featureset import FeatureSet
from facelens.images.faceset import FaceSet, Ids, Labels
from facelens.progress import Tick, offer, part_of, silent
from facelens.words import escaped, tr


@dataclass(frozen=True, eq=False)
class Upgrade:
    """What is found so far; parts that are still being worked out are None."""

    plan: UpgradePlan  # with its models named
    ids: Ids  # (N,) the faces that count: those with vectors of all models, of people no transform was fitted on
    matrix: Matrix
    flips: Flips | None = None
    moves: Moves | None = None
    backfill: Backfill | None = None
    complete: bool = False

    def change_of(self, ids: Ids) -> NDArray[np.int8]:
        """(n,) of flips.LOST, SAME, GAINED by searches; UNSEARCHED for faces that are not among them."""
        out = np.full(len(ids), UNSEARCHED, np.int8)
        if self.flips is not None and len(self.flips.searches.ids):
            known = self.flips.searches.ids
            order = np.argsort(known)
            at = np.minimum(np.searchsorted(known, ids, sorter=order), len(known) - 1)
            place = order[at]
            out = np.where(known[place] == ids, self.flips.searches.change[place], UNSEARCHED).astype(np.int8)
        return out


def study(
    faces: FaceSet,
    plan: UpgradePlan,
    *,
    features: Mapping[str, FeatureSet],
    fitting: Ids | None = None,
    excluded: Ids | None = None,
    folder: Path | None = None,
    tick: Tick = silent,
) -> Upgrade:
    """Everything that is asked of an upgrade. Its models are named in the plan and have vectors in `features`.

    `fitting` are the faces transforms are fitted on; without it half of the people. `folder` keeps fitted transforms.
    What is there first is offered to whoever watches: the matrix, then flips, then moves.
    """
    _traffic(faces, plan)  # before work is spent on it
    space = spaces(
        faces,
        plan,
        features=features,
        fitting=fitting,
        excluded=excluded,
        folder=folder,
        tick=part_of(tick, 0, 10),
    )
    found = Upgrade(plan, space.ids, crossed(space, plan, tick=_part(tick, 1, 5)))
    offer(tick, found)
    old, new = space.vectors[space.old], space.vectors[space.new]
    sides = space.sides(space.new, space.old, space.direction) if _meet(space) else None
    who: dict[str, Any] = {"ids": space.ids, "identity": space.identity}
    if sides is not None:
        limits = _threshold(found.matrix, space.old, space.old), _threshold(found.matrix, space.new, space.old)
        changed = flipping.flips(old, *sides, **who, far=plan.far, thresholds=limits, tick=_part(tick, 5, 6))
        found = replace(found, flips=changed)
        offer(tick, found)
    moved = moving.moves(
        old,
        new,
        sides,
        **who,
        names=tuple(faces.identity.names),
        mapped=space.direction != "direct",
        tick=_part(tick, 6, 7),
    )
    found = replace(found, moves=moved)
    if sides is not None and found.flips is not None:
        offer(tick, found)
        filled = filling.backfill(
            *sides,
            new,
            **who,
            queues=_queues(faces, plan, space, features[plan.old], found.flips),
            far=plan.far,
            fpir=plan.fpir,
            resamples=plan.resamples,
            seed=plan.seed,
            tick=_part(tick, 7, 10),
        )
        found = replace(found, backfill=filled)
    tick(10, 10)
    return replace(found, complete=True)


def _part(tick: Tick, begin: int, end: int) -> Tick:
    """From one tenth of all the work to another."""

    def inner(done: int, total: int, note: str = "") -> None:
        tick(int(1000 * (begin + (end - begin) * min(1.0, done / max(total, 1)))), 10_000, note)

    return inner


def _meet(space: Spaces) -> bool:
    return space.direction in space.directions(space.new, space.old)


def _threshold(matrix: Matrix, query: str, gallery: str) -> float | None:
    test = matrix.test(query, gallery)
    return test.threshold if test is not None else None


def _queues(faces: FaceSet, plan: UpgradePlan, space: Spaces, old: FeatureSet, flips: Flips) -> list[Queue]:
    """Orders of embedding the gallery anew."""
    made = [filling.by_flip_risk(space.ids, space.identity, flips.searches)]
    variance = faces.columns.get(VARIANCE)
    if isinstance(variance, np.ndarray) and np.isfinite(variance[space.rows]).any():
        values = variance[space.rows].astype(np.float64)
        made.append(filling.by_uncertainty(values, tr("Highest variance of the ensemble first.")))
    else:
        lengths = old.norms[old.rows_of(space.ids)[0]].astype(np.float64)
        words = tr("Shortest vectors of {name} first: there is no variance of an ensemble.", name=escaped(plan.old))
        made.append(filling.by_uncertainty(-lengths, words))
    made.append(filling.by_chance(len(space), seed=plan.seed))
    traffic = _traffic(faces, plan)
    if traffic is not None:
        made.append(filling.by_traffic(traffic[space.rows], escaped(plan.traffic)))
    return made


def _traffic(faces: FaceSet, plan: UpgradePlan) -> NDArray[np.float64] | None:
    """How often each face is asked for; None where nobody says which column that is."""
    if not plan.traffic:
        return None
    column = faces.columns.get(plan.traffic)
    if column is None or isinstance(column, Labels):
        raise InputError(
            tr("The gallery has no column of numbers {name}.", name=escaped(plan.traffic)),
            hint=tr("Import a table that has it, or choose another column for the traffic."),
        )
    return np.asarray(column, np.float64)
