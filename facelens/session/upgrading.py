"""Upgrading: what is asked of an upgrade, in the window or by a command. Runs in the worker or in a script alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from facelens.analyses import upgrade
from facelens.analyses.cross_errors import CrossErrors, cross_errors
from facelens.analyses.plan import UpgradePlan
from facelens.analyses.same_class import SameClass, most_pictured, same_class
from facelens.analyses.upgrade import Upgrade
from facelens.errors import InputError
from facelens.features import transforms
from facelens.features.featureset import FeatureSet
from facelens.images.faceset import FaceSet, Ids
from facelens.progress import Tick, silent
from facelens.session import filters
from facelens.words import escaped, tr

PEOPLE, SIDES = 6, 2  # who is shown by upgrades, and by how many of them
WAYS = ("backward", "forward")


def study(
    faces: FaceSet,
    plan: UpgradePlan,
    *,
    features: Mapping[str, FeatureSet],
    excluded: Ids | None = None,
    folder: Path | None = None,
    tick: Tick = silent,
) -> Upgrade:
    """What is found about an upgrade, whose models are named in the plan. Transforms are fitted on the faces that pass
    the plan's filter and kept in `folder`. What is there first is offered to whoever watches, see `upgrade.study`."""
    fitting = _fitting(faces, plan)
    return upgrade.study(faces, plan, features=features, fitting=fitting, excluded=excluded, folder=folder, tick=tick)


def errors(
    faces: FaceSet,
    plan: UpgradePlan,
    test: tuple[str, str, str],
    *,
    features: Mapping[str, FeatureSet],
    excluded: Ids | None = None,
    folder: Path | None = None,
    tick: Tick = silent,
) -> CrossErrors:
    """What one test (query, gallery, direction) gets wrong; transforms fitted for the study lie in `folder`."""
    fitting = _fitting(faces, plan)
    return cross_errors(
        faces, plan, test, features=features, fitting=fitting, excluded=excluded, folder=folder, tick=tick
    )


def pictured(faces: FaceSet, found: Upgrade, features: Mapping[str, FeatureSet]) -> SameClass:
    """Some people by the old model, by the new one and by one more; those with the most pictures."""
    plan = found.plan
    upgrades = [plan.new, *plan.others][:SIDES]
    return same_class(features, plan.old, upgrades, most_pictured(faces, found.ids, PEOPLE))


def transform_files(words: Sequence[str], old: FeatureSet, new: FeatureSet) -> tuple[tuple[str, str], ...]:
    """Files of transforms as a command names them, with their directions: DIRECTION=FILE, or FILE alone where it says
    by itself, or by its dimensions, from which model it comes."""
    files: dict[str, str] = {}
    for word in words:
        direction, given, path = word.partition("=")
        if not given or direction not in WAYS:
            direction, path = "", word
        if not Path(path).is_file():
            raise InputError(
                tr("There is no file {path}.", path=escaped(path)),
                hint=tr("Give --transform backward=FILE or forward=FILE."),
            )
        direction = direction or _direction(transforms.load(Path(path)), old, new)
        if not direction:
            raise InputError(
                tr("{file} does not say between which models it maps.", file=escaped(Path(path).name)),
                hint=tr("Say so: --transform backward={file} from new to old, forward={file} from old to new.",
                        file=escaped(path)),
            )  # fmt: skip
        if direction in files:
            raise InputError(
                tr("Two transforms are given for the direction {name}.", name=direction),
                hint=tr("Give one for each direction."),
            )
        files[direction] = path
    return tuple(files.items())


def _direction(found: transforms.Transform, old: FeatureSet, new: FeatureSet) -> str:
    """Where a transform leads, "" where that is not known."""
    models = {"backward": new, "forward": old}
    by_name = [way for way, one in models.items() if found.source and found.source == one.provenance.model]
    by_size = [way for way, one in models.items() if found.dimensions_in == one.dimensions]
    return next((ways[0] for ways in (by_name, by_size) if len(ways) == 1), "")


def _fitting(faces: FaceSet, plan: UpgradePlan) -> Ids | None:
    return faces.ids[filters.parse(plan.fitted_on).rows(faces)] if plan.fitted_on else None
