"""An ensemble as a command names it: stores of one gallery, tables of scores, files of transforms, a filter.

What it answers is worked out by the same functions, from the same plan, as in the window.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from facelens.analyses import uncertainty
from facelens.analyses.plan import OWN, EnsemblePlan
from facelens.analyses.uncertainty import Uncertainty, Update
from facelens.errors import InputError
from facelens.features import transforms
from facelens.features.featureset import FeatureSet
from facelens.images import quality
from facelens.images.faceset import FaceSet, Labels
from facelens.progress import Tick, silent
from facelens.session import filters
from facelens.session.vectors import SHOWN, open_stores
from facelens.session.workspace import unique_name, with_model_columns
from facelens.words import escaped, tr


@dataclass(frozen=True, eq=False)
class Gathered:
    """A gallery with the vectors of several models, and the columns that tables of scores brought."""

    faces: FaceSet
    features: Mapping[str, FeatureSet]  # by names of models, which are unique; in the order of the stores
    members: tuple[str, ...]  # all but a further query model
    scores: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    update: str = ""  # the model that asks next

    def model(self, name: str) -> str:
        """The name, where there is such a model."""
        if name in self.features:
            return name
        raise InputError(
            tr("There is no model {name} among the stores.", name=escaped(name)),
            hint=tr("Choose one of {names}.", names=_listed(tuple(self.features))),
        )


def gathered(
    names: Sequence[str],
    *,
    cache: Path,
    gallery: Path | None = None,
    scores: Sequence[Path] = (),
    update: str = "",
    tick: Tick = silent,
) -> Gathered:
    """Open the stores and join the scores. `update` is one of the models, or one more store that is no member."""
    opened = open_stores(names, cache=cache, gallery=gallery, tick=tick)
    features = _named(opened.features)
    members = tuple(features)
    if update and update not in features:
        opened = open_stores([*names, update], cache=cache, gallery=gallery, tick=tick)
        features = _named(opened.features)
        update = tuple(features)[-1]
    faces, notes = opened.faces, list(opened.notes)
    columns: list[str] = []
    for path in scores:
        faces, joined = quality.joined(faces, quality.read(path, tick=tick))
        columns += joined.columns
        notes += [f"{escaped(path.name)}: {joined.sentence()}", *joined.notes]
    return Gathered(
        with_model_columns(faces, features, {}),
        features,
        members,
        tuple(dict.fromkeys(columns)),
        tuple(dict.fromkeys(notes)),
        update,
    )


def _named(features: Sequence[FeatureSet]) -> dict[str, FeatureSet]:
    found: dict[str, FeatureSet] = {}
    for one in features:
        found[unique_name(one.provenance.model, tuple(found))] = one
    return found


def _listed(names: Sequence[str]) -> str:
    return ", ".join(escaped(name) for name in names[:SHOWN]) + (", …" if len(names) > SHOWN else "")


def planned(found: Gathered, plan: EnsemblePlan, *, files: Sequence[str] = ()) -> EnsemblePlan:
    """The plan with all models named, where it can be carried out. `files` are transforms, MODEL=FILE or FILE."""
    for name in filter(None, (*plan.members, plan.target)):
        found.model(name)
    members, target = plan.members or found.members, plan.target or found.members[-1]
    plan = replace(plan, members=members, target=target, files=_files(found, files))
    if plan.size < 2:
        raise InputError(
            tr("Variance needs two members or more; this ensemble has {n}.", n=plan.size),
            hint=tr("Give a further STORE; --copies N makes several members of a model that is not the query model."),
        )
    if plan.by not in OWN and plan.by not in (names := score_columns(found.faces)):
        raise InputError(
            tr("The gallery has no score {name}.", name=escaped(plan.by)),
            hint=tr("Join a table with --scores FILE, or choose one of {names}.", names=_listed(names)),
        )
    return plan


def score_columns(faces: FaceSet) -> tuple[str, ...]:
    """Columns that pictures can be refused by."""
    return tuple(name for name, column in faces.columns.items() if not isinstance(column, Labels))


def _files(found: Gathered, words: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Whose transform each file is."""
    files: dict[str, str] = {}
    for word in words:
        name, given, path = word.rpartition("=")
        if Path(word).exists():  # a file may have such a name
            name, given, path = "", "", word
        if not Path(path).is_file():
            raise InputError(
                tr("There is no file {path}.", path=escaped(path)), hint=tr("Give --transform FILE or MODEL=FILE.")
            )
        if not given:
            name = transforms.load(Path(path)).source
        if not name:
            raise InputError(
                tr("{file} does not say of which model it is the transform.", file=escaped(Path(path).name)),
                hint=tr("Say so: --transform MODEL={file}", file=escaped(path)),
            )
        if found.model(name) in files:
            raise InputError(
                tr("Two transforms of {name} are given.", name=escaped(name)), hint=tr("Give one for each model.")
            )
        files[name] = path
    return tuple(files.items())


def assessed(found: Gathered, plan: EnsemblePlan, *, folder: Path, tick: Tick = silent) -> Uncertainty:
    """What the ensemble says; fitted transforms are kept in `folder`."""
    return uncertainty.assess(found.faces, plan, **_given(found, plan, folder), tick=tick)


def updated(found: Gathered, plan: EnsemblePlan, *, folder: Path, tick: Tick = silent) -> Update:
    """What the new query model changes."""
    return uncertainty.update_query(found.faces, plan, target=found.update, **_given(found, plan, folder), tick=tick)


def _given(found: Gathered, plan: EnsemblePlan, folder: Path) -> dict[str, Any]:
    cards = {name: one.provenance.card for name, one in found.features.items()}
    chosen = filters.parse(plan.fitted_on).rows(found.faces) if plan.fitted_on else None
    return {
        "features": found.features,
        "networks": {name: card.design for name, card in cards.items() if card is not None},
        "fitting": None if chosen is None else found.faces.ids[chosen],
        "folder": folder,
    }
