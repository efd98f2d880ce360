"""Uncertainty: several models look at a gallery; where they disagree, and what follows from it.

Puts together what the other analyses work out: transforms into one space (features/fitting), the ensemble and its
variance (ensemble), what refusing does (rejection), what further members bring (diversity).

People the transforms were fitted on are not shown: their pictures would look surer than they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from facelens.analyses import ensemble, mapping, rejection
from facelens.analyses.correlation import spearman
from facelens.analyses.mapping import Map
from facelens.analyses.measure import Measure
from facelens.analyses.plan import OWN, PAIRWISE, EnsemblePlan
from facelens.analyses.rejection import Recognition, Risk
from facelens.errors import InputError
from facelens.features.featureset import FeatureSet
from facelens.images.faceset import FaceSet, Ids, Labels, Rows
from facelens.progress import Tick, offer, part_of, silent
from facelens.words import escaped, plural, tr

if TYPE_CHECKING:
    from facelens.features.fitting import Fit

Array = NDArray[np.float64]
Floats = NDArray[np.float32]

AMONG = 3000  # faces among which members and sizes are compared; all of them would take too long beyond
REVERSED = 0.1  # rank correlation of variance and vector length from which variance is not to be trusted


@dataclass(frozen=True)
class Member:
    """One member of an ensemble: a model, and how its vectors came into the common space."""

    name: str
    network: str  # its architecture, "" where not known
    dimensions: int
    how: str  # "itself", "ridge", "procrustes", "rbt", "file"
    why: str = ""  # in words: why this way of mapping, or which file
    alone: Measure = field(default_factory=lambda: Measure.none(""))  # TAR of the member by itself
    raw: Measure = field(default_factory=lambda: Measure.none(""))  # TAR before mapping: chance, where spaces differ


@dataclass(frozen=True)
class Size:
    """Accuracy of ensembles with so many members, the mean over all choices of them."""

    members: int
    diversity: str  # "D-T", "D-TG" or "D-TGA"
    verification: Measure  # TAR at the FAR
    identification: Measure  # TPIR at the FPIR
    choices: int  # ensembles that were averaged


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """What an ensemble says about the faces it is shown; parts that are still being worked out are None."""

    ids: Ids  # (N,) the faces that are shown: those of people the transforms were not fitted on
    variance: Array  # (N,) 1 - ||mean||^2; NaN where a member has no vector
    apart: NDArray[np.float32]  # (M, N) 1 - cosine of a member and the mean of the others
    members: tuple[Member, ...]
    target: str  # the model whose space is common, "" for a space of its own
    mode: str  # "m2m" or "unified"
    fitted_people: int  # 0: fitted elsewhere
    fitted_faces: int
    shown_people: int
    together: Measure  # TAR of the ensemble, nothing refused, among the faces the members are compared on
    by: str  # the score pictures are refused by: "variance" or a column
    values: Array  # (N,) that score; higher is refused first, so where `lower` it is the negative
    lower: bool = False  # whether low values of the score are refused first
    verification: Risk | None = None
    identification: Risk | None = None
    recognition: Recognition | None = None
    sizes: tuple[Size, ...] = ()
    weighted: Measure = field(default_factory=lambda: Measure.none(""))  # TPIR with weighted templates, none refused
    problems: tuple[str, ...] = ()  # reasons not to trust the variance
    notes: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether every part is there."""
        return self.identification is not None


@dataclass(frozen=True)
class Update:
    """What a new query model changes, the gallery's pictures being gone: their stored vectors are mapped anew."""

    old: str
    new: str
    rows: tuple[tuple[str, Measure, Measure], ...]  # what is measured, with the old query model, with the new one
    notes: tuple[str, ...] = ()


def assess(
    faces: FaceSet,
    plan: EnsemblePlan,
    *,
    features: Mapping[str, FeatureSet],
    networks: Mapping[str, str] | None = None,
    fitting: Ids | None = None,
    excluded: Ids | None = None,
    folder: Path | None = None,
    tick: Tick = silent,
) -> Uncertainty:
    """Everything the plan asks of an ensemble. Members and target are named in it and have vectors in `features`.

    `fitting` are the faces transforms are fitted on; without it half of the people. `folder` keeps fitted transforms.
    What is there first, the variance, is offered to whoever watches.
    """
    common = _common(
        faces,
        plan,
        features=features,
        fitting=fitting,
        excluded=excluded,
        folder=folder,
        tick=part_of(tick, 0, 4),
    )
    made = ensemble.combined(common.members)
    apart = ensemble.apart(common.members)
    notes = list(common.notes)
    values, by_notes = _values(faces, common, plan, made.variance)
    notes += by_notes
    problems = _doubts(common, features, made.variance)
    members = tuple(
        Member(
            name=each.name,
            network=(networks or {}).get(each.model, ""),
            dimensions=features[each.model].dimensions,
            how=each.how,
            why=each.why,
            alone=Measure.none(tr("being worked out")),
        )
        for each in common.parts
    )
    found = Uncertainty(
        ids=common.ids,
        variance=made.variance,
        apart=apart,
        members=members,
        target=plan.target if plan.mode == "m2m" else "",
        mode=plan.mode,
        fitted_people=common.fitted_people,
        fitted_faces=common.fitted_faces,
        shown_people=len(np.unique(common.identity[common.identity >= 0])),
        together=Measure.none(tr("being worked out")),
        by=plan.by,
        values=values,
        lower=plan.by not in OWN and plan.lower,
        problems=tuple(problems),
        notes=tuple(dict.fromkeys(notes)),
    )
    offer(tick, found)
    query = common.query if plan.queries == "target" else made.vectors
    sides = query, made.vectors, common.ids, common.identity
    verified = rejection.verify_risk(
        *sides,
        values,
        far=plan.far,
        refuse=plan.refuse,
        resamples=plan.resamples,
        seed=plan.seed,
        tick=part_of(tick, 3, 12),
    )
    found = replace(found, verification=verified, together=_at_first(verified))
    offer(tick, found)
    recognised = rejection.recognise(*sides, far=plan.far, rule=plan.right, tick=part_of(tick, 4, 12))
    found = replace(found, recognition=recognised)
    offer(tick, found)
    identified = _identified(sides, values, plan, variance=made.variance, tick=part_of(tick, 5, 12))
    weighing = replace(plan, weights="inverse")
    weighted = _identified(sides, values, weighing, variance=made.variance, most=1, tick=part_of(tick, 6, 12))
    found = replace(found, identification=identified, weighted=_at_first(weighted))
    offer(tick, found)
    return _compared(found, common, features, query, made.vectors, plan, tick=part_of(tick, 2, 3))


def update_query(
    faces: FaceSet,
    plan: EnsemblePlan,
    *,
    target: str,
    features: Mapping[str, FeatureSet],
    networks: Mapping[str, str] | None = None,
    fitting: Ids | None = None,
    excluded: Ids | None = None,
    folder: Path | None = None,
    tick: Tick = silent,
) -> Update:
    """A gallery of stored vectors, searched with the plan's target, and then with another query model."""
    if target == plan.target:
        raise InputError(tr("{name} is the query model already.", name=escaped(target)), hint=tr("Choose another."))
    files = plan.files if plan.mode == "m2m" else ()  # others lead into another space
    members = tuple(name for name in plan.members if name != target)
    if not members:
        raise InputError(
            tr("The gallery has no vectors but those of {name} itself.", name=escaped(target)),
            hint=tr("Choose another query model, or a further member."),
        )
    plan = replace(plan, mode="m2m", members=members, files=files)
    spaces = [
        _common(
            faces,
            asked,
            features=features,
            fitting=fitting,
            excluded=excluded,
            folder=folder,
            tick=part_of(tick, turn, 4),
        )
        for turn, asked in enumerate((plan, replace(plan, target=target, files=())))
    ]
    shared = np.intersect1d(spaces[0].ids, spaces[1].ids)  # nobody who was fitted on, before or after
    if not len(shared):
        raise InputError(
            tr("No face is left to show: transforms are fitted on all people."),
            hint=tr("Fit on some of the people, or on another gallery."),
        )
    measures: dict[str, list[Measure]] = {}
    for turn, common in enumerate(spaces):
        gallery = ensemble.combined(common.members).vectors if len(common.members) > 1 else common.members[0]
        some = np.isin(common.ids, shared)
        sides = common.query[some], gallery[some], common.ids[some], common.identity[some]
        ticks = part_of(tick, 2 + turn, 4)
        flat = np.zeros(len(shared))
        one = rejection.verify_risk(
            *sides, flat, far=plan.far, resamples=plan.resamples, seed=plan.seed, most=1, tick=part_of(ticks, 0, 2)
        )
        many = _identified(sides, flat, plan, most=1, tick=part_of(ticks, 1, 2))
        measures.setdefault("1:1", []).append(_at_first(one))
        measures.setdefault("1:N", []).append(_at_first(many))
    notes = (note for common in spaces for note in common.notes)
    rows = tuple((name, pair[0], pair[1]) for name, pair in measures.items())
    return Update(plan.target, target, rows, tuple(dict.fromkeys(notes)))


# One space


@dataclass(frozen=True)
class _Part:
    name: str  # of the member
    model: str
    how: str
    why: str


@dataclass(frozen=True, eq=False)
class _Common:
    """The faces that are shown, as every member and the queries see them in one space."""

    ids: Ids
    rows: Rows  # of the FaceSet
    identity: NDArray[np.int32]
    parts: tuple[_Part, ...]
    members: list[Floats]  # (N, D) unit each
    query: Floats
    fitted_people: int
    fitted_faces: int
    notes: tuple[str, ...]


def _common(
    faces: FaceSet,
    plan: EnsemblePlan,
    *,
    features: Mapping[str, FeatureSet],
    fitting: Ids | None,
    excluded: Ids | None,
    folder: Path | None,
    tick: Tick,
) -> _Common:
    """Fit what has to be fitted, map, and leave out the people it was fitted on."""
    models = tuple(dict.fromkeys((*plan.members, plan.target)))
    rows, notes = mapping.usable(faces, models, features, excluded)
    identity = faces.identity.codes[rows]
    files = _files(plan)
    needed = [name for name in models if name not in files and not (plan.mode == "m2m" and name == plan.target)]
    fits = np.zeros(len(rows), bool)
    if needed:
        fits = mapping.fitted_on(faces, rows, fitting, seed=plan.seed)
    shown, people = mapping.unseen(identity, fits)
    ids, to_fit = faces.ids[rows[shown]], faces.ids[rows[fits]]
    maps, doubts = _maps(
        plan, models, needed, features, to_fit, identity[fits], folder=folder, tick=part_of(tick, 0, 2)
    )
    parts, members = [], []
    for name in plan.members:
        for number, one in enumerate(maps[name]):
            called = name if len(maps[name]) == 1 else f"{name} ({number + 1})"
            parts.append(_Part(called, name, one.how, one.why))
            members.append(one(features[name].unit(ids)[0]))
    query = maps[plan.target][0](features[plan.target].unit(ids)[0])
    return _Common(
        ids,
        rows[shown],
        identity[shown],
        tuple(parts),
        members,
        query,
        people,
        int(fits.sum()),
        (*notes, *doubts),
    )


def _maps(
    plan: EnsemblePlan,
    models: Sequence[str],
    needed: Sequence[str],
    features: Mapping[str, FeatureSet],
    ids: Ids,
    labels: NDArray[np.int32],
    *,
    folder: Path | None,
    tick: Tick,
) -> tuple[dict[str, list[Map]], list[str]]:
    """How each model comes into the common space, several ways where copies are asked for; and what speaks against."""
    files = _files(plan)
    if plan.mode == "unified" and files and needed:
        raise InputError(
            tr("A common space of its own needs a transform of every model, or of none."),
            hint=tr("Choose the files that are missing too, the query model's among them, or none."),
        )
    into = features[plan.target] if plan.mode == "m2m" else None
    maps = {name: [mapping.from_file(Path(files[name]), features[name], into)] for name in models if name in files}
    if plan.mode == "m2m":
        maps[plan.target] = [Map("itself")]
    notes: list[str] = []
    if into is not None:
        for (one,) in maps.values():
            notes += mapping.elsewhere(one, plan.target, into.provenance.model)
    if not needed:
        return maps, notes
    fitted = _fitted(plan, needed, features, ids, labels, folder=folder, tick=tick)
    for name, fits in fitted.items():
        maps[name] = [Map(one.method, one.why, one.transform) for one in fits]
        notes += [note for one in fits for note in one.notes]
    return maps, list(dict.fromkeys(notes))


def _files(plan: EnsemblePlan) -> dict[str, str]:
    """Transforms that come from files, by model. With M2M the query model stays as it is, whatever file it has."""
    return {name: file for name, file in plan.files if plan.mode != "m2m" or name != plan.target}


def _fitted(
    plan: EnsemblePlan,
    needed: Sequence[str],
    features: Mapping[str, FeatureSet],
    ids: Ids,
    labels: NDArray[np.int32],
    *,
    folder: Path | None,
    tick: Tick,
) -> dict[str, Sequence[Fit]]:
    """Transforms of the models that need one; those that are kept in `folder` are not fitted again."""
    from facelens.features import fitting

    unit = {name: features[name].unit(ids)[0] for name in dict.fromkeys((*needed, plan.target))}

    if plan.mode == "unified":
        members = [name for name in needed if name != plan.target]

        def make_unified() -> Sequence[Fit]:
            tick(0, 1, tr("Fitting into a common space"))
            made = fitting.fit_unified(
                [unit[name] for name in members],
                unit[plan.target],
                labels,
                method=plan.method,
                seed=plan.seed,
                names=(*members, plan.target),
                tick=tick,
            )
            return (*made.members, made.query)

        arrays = [*(unit[name] for name in (*members, plan.target)), labels]
        how = {"method": plan.method, "mode": plan.mode, "copies": plan.copies, "seed": plan.seed, "name": "unified"}
        fits = mapping.kept(folder, make_unified, *arrays, **how)
        return {name: [one] for name, one in zip((*members, plan.target), fits, strict=True)}
    return {
        name: mapping.fitted(
            unit[name],
            unit[plan.target],
            labels,
            names=(name, plan.target),
            method=plan.method,
            copies=plan.copies,
            seed=plan.seed,
            folder=folder,
            tick=part_of(tick, number, len(needed)),
        )
        for number, name in enumerate(needed)
    }


def _values(faces: FaceSet, common: _Common, plan: EnsemblePlan, variance: Array) -> tuple[Array, list[str]]:
    """The score pictures are refused by, higher first."""
    if plan.by in OWN:
        return (ensemble.pairwise(variance, len(common.members)) if plan.by == PAIRWISE else variance), []
    column = faces.columns.get(plan.by)
    if column is None or isinstance(column, Labels):
        raise InputError(
            tr("The gallery has no score {name}.", name=escaped(plan.by)), hint=tr("Choose another, or import it.")
        )
    values = np.asarray(column, np.float64)[common.rows]
    missing = int(np.isnan(values).sum())
    words = ("{n} face has no value, and is never refused.", "{n} faces have no value, and are never refused.")
    return (-values if plan.lower else values), ([plural(missing, *words)] if missing else [])


def _doubts(common: _Common, features: Mapping[str, FeatureSet], variance: Array) -> list[str]:
    """Reasons not to trust the variance. Long vectors are of clear faces: where these vary most, it is reversed."""
    lengths = [features[part.model] for part in common.parts]
    rhos = []
    for one in {found.provenance.fingerprint: found for found in lengths}.values():
        rows, _ = one.rows_of(common.ids)
        rho = spearman(one.norms[rows].astype(np.float64), variance, groups=common.identity)
        if rho.value is not None:
            rhos.append(rho.value if rho.low is None else rho.low)
    if rhos and min(rhos) > REVERSED:
        return [
            tr(
                "Variance is higher for faces with long vectors, as a rule the clear ones (ρ at least {rho}). "
                "Transforms that were fitted on blurred or covered faces do this: fit them on clean ones.",
                rho=f"{min(rhos):.2f}",
            )
        ]
    return []


# Numbers


def _identified(
    sides: tuple[Floats, Floats, Ids, NDArray[np.int32]],
    values: Array,
    plan: EnsemblePlan,
    *,
    variance: Array | None = None,
    most: int = rejection.MOST,
    tick: Tick,
) -> Risk:
    return rejection.identify_risk(
        *sides,
        values,
        fpir=plan.fpir,
        emptied=plan.emptied,
        weights=plan.weights,
        uncertainty=variance,
        resamples=plan.resamples,
        seed=plan.seed,
        most=most,
        tick=tick,
    )


def _at_first(risk: Risk) -> Measure:
    """TAR or TPIR with nothing refused."""
    error = risk.error
    if not len(error.value) or np.isnan(error.value[0]):
        return Measure.none(risk.why or tr("no pair can be counted"))
    made = Measure(1 - float(error.value[0]), n=int(risk.n[0]), why=risk.why, supported=not risk.why)
    low, high = 1 - float(error.high[0]), 1 - float(error.low[0])
    return made if np.isnan(low) else made.with_interval(low, high)


def _compared(
    found: Uncertainty,
    common: _Common,
    features: Mapping[str, FeatureSet],
    query: Floats,
    vectors: Floats,
    plan: EnsemblePlan,
    *,
    tick: Tick,
) -> Uncertainty:
    """What each member, and the ensemble's `vectors`, are worth among some thousand faces, the same for all."""
    from facelens.analyses import diversity

    some, notes = mapping.some(common.identity, AMONG, seed=plan.seed), []
    if len(some) < len(common.ids):
        people = len(np.unique(common.identity[some]))
        notes = [tr("Members are compared on {n} faces of {people} people.", n=len(some), people=people)]
    ids, identity = common.ids[some], common.identity[some]
    members = [one[some] for one in common.members]
    asks = query[some] if plan.queries == "target" else None
    own = features[plan.target].unit(ids)[0]  # the query model's, mapped nowhere
    ticks = part_of(tick, 0, 2)

    def tar(asking: Floats, answering: Floats, number: int) -> Measure:
        risk = rejection.verify_risk(
            asking,
            answering,
            ids,
            identity,
            np.zeros(len(ids)),
            far=plan.far,
            resamples=plan.resamples,
            seed=plan.seed,
            most=1,
            tick=part_of(ticks, number, 2 * len(members) + 1),
        )
        return _at_first(risk)

    described = []
    for i, (one, part, mapped) in enumerate(zip(found.members, common.parts, members, strict=True)):
        alone = tar(mapped if asks is None else asks, mapped, 2 * i)
        raw = alone
        if one.how != "itself":
            unmapped = features[part.model].unit(ids)[0]
            raw = Measure.none(tr("other dimensions than the query model"))
            if unmapped.shape == own.shape:
                raw = tar(own, unmapped, 2 * i + 1)
        described.append(replace(one, alone=alone, raw=raw))
    together = found.together
    if len(some) < len(common.ids):
        together = tar(vectors[some] if asks is None else asks, vectors[some], 2 * len(members))
    sizes = diversity.sizes(
        members,
        query=asks,
        models=[part.model for part in common.parts],
        networks=[one.network for one in found.members],
        ids=ids,
        identity=identity,
        far=plan.far,
        fpir=plan.fpir,
        seed=plan.seed,
        tick=part_of(tick, 1, 2),
    )
    notes = list(dict.fromkeys((*found.notes, *notes)))
    return replace(found, members=tuple(described), together=together, sizes=sizes, notes=tuple(notes))
