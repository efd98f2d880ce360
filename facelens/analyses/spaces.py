"""Spaces: an upgrade's faces as every model has them, and how the new model's vectors meet the old one's.

Three directions: "direct", as they are; "backward", the new model's vectors mapped into the old space; "forward", the
old ones mapped into the new space. Whatever an upgrade measures, it measures on these vectors.

People the transforms were fitted on do not count: a map looks better on them than it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from facelens.analyses import mapping, similarity, verification
from facelens.analyses.measure import Measure
from facelens.analyses.plan import DIRECTIONS, TRANSFORMS, UpgradePlan
from facelens.analyses.scores import Scores
from facelens.errors import InputError
from facelens.features.featureset import FeatureSet
from facelens.images.faceset import FaceSet, Ids, Rows
from facelens.progress import Tick, part_of, silent
from facelens.words import escaped, plural, tr

if TYPE_CHECKING:
    from facelens.features.fitting import Fit

Floats = NDArray[np.float32]

SELF = "self"  # in place of a direction: one model on both sides
AMONG = 3000  # faces among which it is looked whether two models understand each other
APART = 0.5  # standard deviations by which genuine scores must lie above those of strangers: less is guessing
TAIL, LEAST = 8, 50_000  # impostors that are kept: a multiple of the FAR, and at least so many


@dataclass(frozen=True)
class Fitted:
    """How a transform came about."""

    direction: str  # "backward" or "forward"
    how: str  # "ridge", "procrustes", "rbt", "file"
    why: str  # in words


@dataclass(frozen=True, eq=False)
class Spaces:
    """The faces that count, and their unit vectors by every model."""

    old: str
    new: str
    models: tuple[str, ...]  # old, new, upper, then the others
    ids: Ids  # (N,)
    rows: Rows  # (N,) of the FaceSet
    identity: NDArray[np.int32]  # (N,) nobody unknown
    vectors: dict[str, Floats]  # by model: (N, D)
    mapped: dict[str, Floats]  # by direction: the new model's in the old space, the old one's in the new space
    direction: str  # of DIRECTIONS: the one that is meant by "new/old"
    fitted: tuple[Fitted, ...] = ()
    fitted_people: int = 0  # whom transforms were fitted on: nobody of them counts
    notes: tuple[str, ...] = field(default=())

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def people(self) -> int:
        """How many."""
        return len(np.unique(self.identity))

    def directions(self, query: str, gallery: str) -> tuple[str, ...]:
        """In which two models can be compared; none where their dimensions differ and nothing is mapped."""
        if query == gallery:
            return (SELF,)
        same = self.vectors[query].shape == self.vectors[gallery].shape
        across = tuple(self.mapped) if {query, gallery} == {self.old, self.new} else ()
        return tuple(one for one in DIRECTIONS if one in across or (one == "direct" and same))

    def sides(self, query: str, gallery: str, direction: str = "") -> tuple[Floats, Floats]:
        """Vectors of the queries and of the gallery, row by row of the same faces; they are one array where one model
        is on both sides. Without a direction the one that is meant by "new/old", "direct" for other models.
        """
        known = self.directions(query, gallery)
        wanted = direction or next((one for one in (self.direction, "direct", SELF) if one in known), "direct")
        if wanted not in known:
            raise InputError(
                tr(
                    "Vectors of {query} and {gallery} cannot be compared.",
                    query=escaped(query),
                    gallery=escaped(gallery),
                ),
                hint=tr("Let a transform be fitted between them."),
            )
        moved = {"backward": self.new, "forward": self.old}.get(wanted)
        found = [self.mapped[wanted] if one == moved else self.vectors[one] for one in (query, gallery)]
        return found[0], found[1]


def spaces(
    faces: FaceSet,
    plan: UpgradePlan,
    *,
    features: Mapping[str, FeatureSet],
    fitting: Ids | None = None,
    excluded: Ids | None = None,
    folder: Path | None = None,
    tick: Tick = silent,
) -> Spaces:
    """The models of the plan, which have vectors in `features`, brought together.

    `fitting` are the faces transforms are fitted on; without it half of the people. `folder` keeps fitted transforms.
    """
    models = _models(plan, features)
    old, new = plan.old, plan.new
    rows, notes = mapping.usable(faces, models, features, excluded)
    identity = faces.identity.codes[rows]
    if unknown := int((identity < 0).sum()):
        words = "{n} face is left out: nobody knows who it is.", "{n} faces are left out: nobody knows who they are."
        notes.append(plural(unknown, *words))
        rows, identity = rows[identity >= 0], identity[identity >= 0]
    _nobody_left(rows, tr("Say who some of the faces are, or open a gallery that says it."))
    maps: dict[str, mapping.Map] = {}
    ways = {"backward": (new, old), "forward": (old, new)}  # from whose space into whose
    for direction, file in plan.files:
        source, target = ways[direction]
        maps[direction] = mapping.from_file(Path(file), features[source], features[target])
        notes += mapping.elsewhere(maps[direction], target, features[target].provenance.model)
    understood = _understood(faces.ids[rows], identity, plan, features, tick=part_of(tick, 0, 3))
    needed = _needed(plan, maps, understood)
    fits = np.zeros(len(rows), bool)
    people, worth = 0, dict[str, tuple[float, float]]()
    if needed:
        fits = mapping.fitted_on(faces, rows, fitting, seed=plan.seed)
        shown, people = mapping.unseen(identity, fits)
        found = _fit(plan, {one: ways[one] for one in needed}, features, faces.ids[rows[fits]], identity[fits],
                     folder=folder, tick=part_of(tick, 1, 3))  # fmt: skip
        for one, fit in found.items():
            maps[one] = mapping.Map(fit.method, fit.why, fit.transform)
            notes += fit.notes
            worth[one] = max((check.order for check in fit.checks), default=(0.0, 0.0))
    else:
        shown = ~fits
    _nobody_left(rows[shown], tr("Transforms were fitted on all people. Fit them on fewer, or on another gallery."))
    ids = faces.ids[rows[shown]]
    tick(2, 3, tr("Reading vectors"))
    vectors = {name: features[name].unit(ids)[0] for name in models}
    mapped = {one: maps[one](vectors[ways[one][0]]) for one in DIRECTIONS if one in maps}
    tick(3, 3)
    return Spaces(
        old=old,
        new=new,
        models=models,
        ids=ids,
        rows=rows[shown],
        identity=identity[shown],
        vectors=vectors,
        mapped=mapped,
        direction=_direction(plan, mapped, understood, worth),
        fitted=tuple(Fitted(one, maps[one].how, maps[one].why) for one in mapped),
        fitted_people=people,
        notes=tuple(dict.fromkeys(notes)),
    )


def _nobody_left(rows: NDArray[np.intp], hint: str) -> None:
    if not len(rows):
        raise InputError(tr("No face is left by which models could be compared."), hint=hint)


def compared(
    query: Floats, gallery: Floats, ids: Ids, identity: NDArray[np.int32], *, far: float, tick: Tick = silent
) -> Scores:
    """Scores of all pairs, of all ordered ones where queries and gallery are two arrays.

    Impostors are kept to well below the FAR, in all draws of people too; further down they are only counted.
    """
    sizes = np.unique(identity, return_counts=True)[1].astype(np.int64)
    pairs, genuine = len(ids) * (len(ids) - 1), int((sizes * (sizes - 1)).sum())
    keep = min(similarity.KEEP, max(LEAST, int(TAIL * far * pairs)) + genuine)
    against = None if gallery is query else gallery
    return similarity.all_pairs(query, against=against, ids=ids, identity=identity, keep=keep, fars=(far,), tick=tick)


def at_chance(tar: Measure, far: float) -> bool:
    """Whether a TAR is no better than guessing, which accepts genuine pairs as often as others: TAR = FAR.

    Where both kinds of scores are normal and equally wide, TAR and FAR say how many standard deviations lie between
    their means. It is guessing where that is less than twice `APART`, and by the lower limit of the interval less than
    `APART`: some likeness, such as of blurred faces, is in the vectors of any two networks.

    >>> at_chance(Measure(0.0004, 0.0, 0.002), 1e-3), at_chance(Measure(0.4, 0.3, 0.5), 1e-3)
    (True, False)
    """
    if tar.value is None:
        return False
    low = tar.value if tar.low is None else tar.low
    normal = NormalDist()
    likely, least = (normal.cdf(normal.inv_cdf(far) + apart) for apart in (2 * APART, APART))
    return tar.value < likely and low < least


def _models(plan: UpgradePlan, features: Mapping[str, FeatureSet]) -> tuple[str, ...]:
    """Old, new, upper, then the others."""
    if plan.transforms not in TRANSFORMS or plan.direction not in ("auto", *DIRECTIONS):
        raise ValueError(f"transforms {plan.transforms!r}, direction {plan.direction!r}")
    models = tuple(dict.fromkeys(filter(None, (plan.old, plan.new, plan.upper, *plan.others))))
    if not plan.old or not plan.new or plan.old == plan.new:
        raise InputError(tr("An upgrade is between two models."), hint=tr("Choose an old one and a new one."))
    for name in models:
        if name not in features:
            raise InputError(tr("{name} has no vectors of this gallery.", name=escaped(name)), hint=tr("Embed it."))
    return models


def _understood(
    ids: Ids, identity: NDArray[np.int32], plan: UpgradePlan, features: Mapping[str, FeatureSet], *, tick: Tick
) -> bool:
    """Whether new queries find anybody in the old gallery as it is, by some thousand faces."""
    old, new = features[plan.old], features[plan.new]
    if old.dimensions != new.dimensions:
        return False
    some = mapping.some(identity, AMONG, seed=plan.seed)
    sides = new.unit(ids[some])[0], old.unit(ids[some])[0]
    scores = compared(*sides, ids[some], identity[some], far=plan.far, tick=part_of(tick, 0, 2))
    point, _ = verification.drawn(scores, plan.far, resamples=200, seed=plan.seed, tick=part_of(tick, 1, 2))
    return not at_chance(point.tar, plan.far)


def _needed(plan: UpgradePlan, maps: Mapping[str, mapping.Map], understood: bool) -> list[str]:
    """Directions a transform has to be fitted for."""
    if plan.transforms == "none":
        return []
    missing = [one for one in ("backward", "forward") if one not in maps]
    if plan.transforms == "fit" or plan.direction in missing:
        return missing
    return [] if understood or maps else missing


def _fit(
    plan: UpgradePlan,
    needed: Mapping[str, tuple[str, str]],
    features: Mapping[str, FeatureSet],
    ids: Ids,
    labels: NDArray[np.int32],
    *,
    folder: Path | None,
    tick: Tick,
) -> dict[str, Fit]:
    """A transform for each direction."""
    made: dict[str, Fit] = {}
    for number, (direction, (source, target)) in enumerate(needed.items()):
        (made[direction],) = mapping.fitted(
            features[source].unit(ids)[0],
            features[target].unit(ids)[0],
            labels,
            names=(source, target),
            method=plan.method,
            seed=plan.seed,
            folder=folder,
            tick=part_of(tick, number, len(needed)),
        )
    return made


def _direction(
    plan: UpgradePlan, mapped: Mapping[str, Floats], understood: bool, worth: Mapping[str, tuple[float, float]]
) -> str:
    """What is asked for; else direct where the two understand each other; else what did better on people who were left
    out in fitting, so that nobody who counts has a say in it."""
    if plan.direction != "auto":
        if plan.direction != "direct" and plan.direction not in mapped:
            raise InputError(
                tr("There is no transform for the direction {name}.", name=plan.direction),
                hint=tr("Let it be fitted, choose its file, or choose another direction."),
            )
        return plan.direction
    if understood:
        return "direct"
    there = [one for one in ("forward", "backward") if one in mapped]
    return max(there, key=lambda one: worth.get(one, (0.0, 0.0)), default="direct")
