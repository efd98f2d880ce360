"""Workspace: all that the application knows, as one frozen value."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from facelens.analyses.plan import (
    CURRENT,
    OWN,
    VARIANCE,
    EnsemblePlan,
    MatchPlan,
    PartsPlan,
    Plan,
    ProjectionPlan,
    UpgradePlan,
    resolved,
)
from facelens.errors import FaceLensError
from facelens.images.doctor import Diagnosis
from facelens.images.faceset import FaceSet, Ids, Labels, Opened, Rows, content
from facelens.images.protocol import Protocol
from facelens.session import filters
from facelens.session.annotations import Annotations
from facelens.session.history import History
from facelens.session.identities import IdentityEdits, applied
from facelens.session.looks import Looks
from facelens.session.mark_columns import EDITED, ORIGINAL, called, mark_columns
from facelens.session.selection import Selection
from facelens.session.subsets import Subsets

if TYPE_CHECKING:  # what reads model files and what evaluates them is not needed before there is one
    from facelens.analyses.divided import Learners
    from facelens.analyses.evaluation import Evaluation
    from facelens.analyses.parts import Parts
    from facelens.analyses.projection import Projection
    from facelens.analyses.uncertainty import Uncertainty
    from facelens.analyses.universal import Study
    from facelens.analyses.upgrade import Upgrade
    from facelens.features.card import Card
    from facelens.features.featureset import FeatureSet
    from facelens.features.library import Inspection
    from facelens.images.occlusion import Occlusion
    from facelens.session.draft import Draft
    from facelens.session.training import Run


@dataclass(frozen=True)
class Source:
    """A gallery that is open or has been: what to show in the sources list and the recent list."""

    path: Path
    name: str
    faces: int
    kind: str


@dataclass(frozen=True)
class Table:
    """A table that was read for the open gallery: "scores" of its faces, "pairs" as its test, "vectors" of a model."""

    path: Path
    kind: str
    card: Card | None = field(default=None, compare=False)  # of the model that made the vectors
    weights: str = field(default="", compare=False)  # SHA-256 of its file


@dataclass(frozen=True)
class Arrangement:
    """How the gallery is shown: filter text, sort column and direction, grouping by a column ("" = none)."""

    filter: str = ""
    sort: str = ""
    descending: bool = False
    group: str = ""


@dataclass(frozen=True, eq=False)
class Stored:
    """What lies on disk of one model for the open gallery, and what its last embedding had to say."""

    folder: Path
    fingerprint: str
    size: int  # bytes
    skipped: tuple[tuple[int, str], ...] = ()  # face id, reason
    notes: tuple[str, ...] = ()
    variances: Mapping[str, NDArray[np.float32]] = field(default_factory=dict)  # (N,) by kind, see features.stability


@dataclass(frozen=True)
class Operating:
    """The operating point that all panels share: a FAR, and where a threshold was set by hand, that threshold."""

    far: float = 1e-4
    threshold: float | None = None
    of: str = ""  # "a" or "b": whose threshold it is; the other model goes to the same FAR


@dataclass(frozen=True, eq=False)
class Evaluated:
    """An evaluation and the question it answers (Workspace.question)."""

    question: tuple[object, ...]
    evaluation: Evaluation


@dataclass(frozen=True, eq=False)
class Assessed:
    """What an ensemble said, and the question it answered (Workspace.ensemble_question)."""

    question: tuple[object, ...]
    uncertainty: Uncertainty


@dataclass(frozen=True, eq=False)
class Answer:
    """What was found, and the question it answers."""

    question: tuple[object, ...]
    found: object


Standing = tuple[Annotations, Subsets, IdentityEdits]

CROSSINGS = ("", "ab", "ba")  # each model by itself; queries of A in the gallery of B; of B in the gallery of A
PLAN = Plan(nmi_mean="")  # of the window: clustering takes longer than all the rest, so it is asked for by itself
KEPT_PAIRS = 14_000_000  # of all answers that are kept; two of LFW with two models, some 500 MB
KEPT = 4  # answers


def with_answer(workspace: Workspace, answer: Evaluated) -> tuple[Evaluated, ...]:
    """The answers that are kept, newest first: a few, as long as their pairs do not take too much memory."""
    kept, pairs = [answer], _pairs(answer)
    for old in workspace.evaluated:
        if old.question == answer.question:
            continue
        pairs += _pairs(old)
        if pairs > KEPT_PAIRS or len(kept) == KEPT:
            break
        kept.append(old)
    return tuple(kept)


def _pairs(answer: Evaluated) -> int:
    reports = (answer.evaluation.a, answer.evaluation.b)
    return sum(len(one.scores.score) for one in reports if one is not None and one.scores is not None)


@dataclass(frozen=True, eq=False)
class Workspace:
    """One frozen value; a change makes a new one (see Store). Arrays inside are read-only."""

    faces: FaceSet | None = None
    protocol: Protocol | None = None
    source: Source | None = None
    galleries: tuple[Opened, ...] = ()  # what `faces` were read from, the first and what was added to it
    tables: tuple[Table, ...] = ()  # what else was read for them
    notes: tuple[str, ...] = ()  # what the reader left out, one sentence each
    diagnosis: Diagnosis | None = None
    excluded: Ids = field(default_factory=lambda: np.zeros(0, np.int64))
    arrangement: Arrangement = field(default_factory=Arrangement)
    annotations: Annotations = field(default_factory=Annotations)  # flags, ratings, tags and notes of `faces`
    subsets: Subsets = field(default_factory=Subsets)  # faces under a name
    identity_edits: IdentityEdits = field(default_factory=IdentityEdits)  # `faces` have the names that these lead to
    standing: Standing | None = None  # what the list was arranged by, where that changed since
    selection: Selection = field(default_factory=Selection)
    models: tuple[Inspection, ...] = ()  # their names (card.name) are unique
    features: Mapping[str, FeatureSet] = field(default_factory=lambda: MappingProxyType({}))  # by name; of `faces`
    stored: Mapping[str, Stored] = field(default_factory=lambda: MappingProxyType({}))  # by name; of `faces`
    model: str = ""  # the one that is looked at
    model_a: str = ""  # old
    model_b: str = ""  # new
    plan: Plan = field(default_factory=lambda: PLAN)  # what an evaluation is asked for
    crossing: str = ""  # of CROSSINGS
    evaluated: tuple[Evaluated, ...] = ()  # the last few, newest first
    operating: Operating = field(default_factory=Operating)
    ensemble: EnsemblePlan = field(default_factory=EnsemblePlan)  # what an ensemble is asked for
    assessed: Assessed | None = None
    refusal: int = 0  # step of coverage: how many pictures are refused, see analyses.rejection
    parts_plan: PartsPlan = field(default_factory=PartsPlan)  # which model is looked at part by part, and how
    parts_answer: Answer | None = None
    study_answer: Answer | None = None
    part: int = 0  # the one that is looked at, in all views
    left_out: tuple[int, ...] = ()  # parts that do not vote
    learners_plan: PartsPlan = field(default_factory=PartsPlan)  # which divided model is looked at, beside which
    learners_answer: Answer | None = None
    projection_plan: ProjectionPlan = field(default_factory=ProjectionPlan)  # which vectors are laid out on a map
    projection_answer: Answer | None = None
    match_plan: MatchPlan = field(default_factory=MatchPlan)  # how a face is searched for by its patches
    queries: FaceSet | None = None  # another gallery whose faces are searched for; None: those of `faces`
    queries_answer: Answer | None = None  # their vectors
    query: int | None = None  # id of the face that is searched for
    occlusion: Occlusion | None = None  # what is painted on it
    match_answer: Answer | None = None
    sweep_answer: Answer | None = None
    upgrade_plan: UpgradePlan = field(default_factory=UpgradePlan)  # what the new model is measured against, and how
    upgrade_answer: Answer | None = None
    upgrade_map_answer: Answer | None = None  # the faces as old and new model lay them out
    looks: Looks = field(default_factory=Looks)  # how pages show what they have
    draft: Draft | None = None  # what is to be trained next
    run: Run | None = None  # what is being trained, or was last
    history: History = field(default_factory=History)  # what was done by hand; the store keeps it

    @cached_property
    def question(self) -> tuple[object, ...]:
        """What an evaluation would answer now; empty where there is nothing to evaluate. Equal ones, equal answers."""
        if self.faces is None or not self.evaluable:
            return ()
        vectors = tuple(
            (slot, name, found.provenance.fingerprint, len(found))
            for slot in ("a", "b")
            if (found := self.features.get(name := getattr(self, f"model_{slot}"))) is not None
        )
        test = self.protocol.digest if self.protocol is not None else ""
        column = self.faces.columns.get(self.plan.breakdown)
        split = content(column) if column is not None else 0
        return (self.faces.digest, self.excluded.tobytes(), test, vectors, self.plan, self.crossing, split)

    @property
    def evaluable(self) -> tuple[str, ...]:
        """Models A and B as far as they have vectors of the open gallery."""
        return tuple(dict.fromkeys(name for name in (self.model_a, self.model_b) if name in self.features))

    @property
    def evaluation(self) -> Evaluation | None:
        """The evaluation of exactly what is asked now; never one of other vectors, faces or rules."""
        found = (kept.evaluation for kept in self.evaluated if kept.question == self.question)
        return next(found, None) if self.evaluated and self.question else None

    @cached_property
    def resolved_ensemble(self) -> EnsemblePlan:
        """The ensemble with its members and target named, of the models that have vectors, by a score that is there."""
        plan = resolved(self.ensemble, tuple(self.features), prefer=self.model_b)
        column = self.faces.columns.get(plan.by) if self.faces is not None else None
        gone = plan.by not in OWN and not isinstance(column, np.ndarray)
        return replace(plan, by=VARIANCE, lower=False) if gone else plan

    @cached_property
    def ensemble_question(self) -> tuple[object, ...]:
        """What an ensemble would answer now; empty where it has fewer than two members. Equal ones, equal answers."""
        plan = self.resolved_ensemble
        if self.faces is None or plan.size < 2:
            return ()
        names = dict.fromkeys((*plan.members, plan.target))
        vectors = tuple((name, self.features[name].provenance.fingerprint, len(self.features[name])) for name in names)
        column = self.faces.columns.get(plan.by) if plan.by not in OWN else None  # those are the answer
        values = content(column) if isinstance(column, np.ndarray) else 0
        return (self.faces.digest, vectors, plan, self.excluded.tobytes(), values)

    @property
    def uncertainty(self) -> Uncertainty | None:
        """What the ensemble says that is asked for now; never one of other vectors, faces or rules."""
        kept = self.assessed
        return kept.uncertainty if kept is not None and kept.question == self.ensemble_question else None

    @cached_property
    def resolved_parts(self) -> PartsPlan:
        """The parts with their model named: one that says how sure its parts are, else model B, else any."""
        sure = [name for name, found in self.features.items() if found.confidence is not None]
        names = (self.parts_plan.model, *sure, self.model_b, *self.features)
        return self._cuttable(self.parts_plan, next((name for name in names if name in self.features), ""))

    @cached_property
    def parts_question(self) -> tuple[object, ...]:
        """What parts there would be now; empty where no model has vectors. Equal ones, equal answers."""
        plan = self.resolved_parts
        if self.faces is None or not plan.model:
            return ()
        return (self.faces.digest, self._vectors(plan.model), plan.cutting, self.excluded.tobytes())

    @cached_property
    def study_question(self) -> tuple[object, ...]:
        """What a study of the parts would answer now."""
        plan = self.resolved_parts
        if not self.parts_question or self.faces is None:
            return ()
        columns = ((name, self.faces.contents[name]) for name in attributes(self.faces))
        return (self.parts_question, plan.show, plan.match, plan.far, tuple(sorted(columns)))  # in any order they came

    @property
    def parts(self) -> Parts | None:
        """The parts that are asked for now; never those of other vectors or faces."""
        return _answer(self.parts_answer, self.parts_question)  # type: ignore[return-value]

    @property
    def study(self) -> Study | None:
        """The study that is asked for now."""
        return _answer(self.study_answer, self.study_question)  # type: ignore[return-value]

    @cached_property
    def resolved_learners(self) -> PartsPlan:
        """The learners with model and baseline named: a divided model, beside one that is not."""
        plan = self.learners_plan
        learners = {name: _learners(found) for name, found in self.features.items()}
        names = [*(name for name, k in learners.items() if k > 1), self.model_b, *self.features]
        model = next((name for name in (plan.model, *names) if name in self.features), "")
        others = [name for name in self.features if name != model]
        single = [name for name in others if learners[name] == 1]
        named = () if plan.alone else (plan.baseline, *single, *others)
        baseline = next((name for name in named if name in others), "")
        return replace(self._cuttable(plan, model), baseline=baseline)

    def _cuttable(self, plan: PartsPlan, model: str) -> PartsPlan:
        """The plan with a model, and as many slices as its dimensions can be cut into."""
        fits = not plan.parts or (model in self.features and self.features[model].dimensions % plan.parts == 0)
        return replace(plan, model=model, parts=plan.parts if fits else 0)

    @cached_property
    def learners_question(self) -> tuple[object, ...]:
        """What a look at the learners would answer now; empty where no model has vectors."""
        plan = self.resolved_learners
        if self.faces is None or not plan.model:
            return ()
        vectors = tuple(self._vectors(name) for name in (plan.model, plan.baseline) if name)
        return (self.faces.digest, vectors, plan.cutting, self.excluded.tobytes())

    @property
    def learners(self) -> Learners | None:
        """The look at the learners that is asked for now."""
        return _answer(self.learners_answer, self.learners_question)  # type: ignore[return-value]

    @cached_property
    def resolved_projection(self) -> ProjectionPlan:
        """The map with its model named, and with a part that this model has."""
        plan = self.projection_plan
        plan = replace(plan, model=plan.model if plan.model in self.features else self.resolved_parts.model)
        plan = replace(plan, other=plan.other if plan.other in self.features and plan.other != plan.model else "")
        if plan.part is None or not plan.model or plan.other:
            return replace(plan, part=None)
        from facelens.analyses.parts import layout

        try:
            parts = layout(self.features[plan.model], self.cutting(plan.model)).parts
        except FaceLensError:
            return replace(plan, part=None)
        return replace(plan, part=min(self.part if plan.part == CURRENT else plan.part, parts - 1))

    def cutting(self, model: str) -> PartsPlan:
        """How a model is cut into parts: as it is looked at part by part, if it is."""
        return self.resolved_parts if self.resolved_parts.model == model else PartsPlan(model=model)

    @cached_property
    def projection_question(self) -> tuple[object, ...]:
        """What a map would show now; empty where no model has vectors. Equal ones, equal answers."""
        plan = self.resolved_projection
        if self.faces is None or not plan.model:
            return ()
        cut = self.cutting(plan.model).cutting if plan.part is not None else ()
        vectors = tuple(self._vectors(name) for name in (plan.model, plan.other) if name)
        return (self.faces.pictures, vectors, plan.asked, cut, self.excluded.tobytes())

    @property
    def projection(self) -> Projection | None:
        """The map that is asked for now; principal components until it is finished."""
        return _answer(self.projection_answer, self.projection_question)  # type: ignore[return-value]

    @cached_property
    def resolved_upgrade(self) -> UpgradePlan:
        """The upgrade with old and new named, models A and B where nobody says otherwise; all of them have vectors."""
        plan = self.upgrade_plan
        old, new = plan.old or self.model_a, plan.new or self.model_b
        ends = (old, new)
        upper = plan.upper if plan.upper in self.features and plan.upper not in ends else ""
        others = tuple(one for one in plan.others if one in self.features and one not in (*ends, upper))
        return replace(plan, old=old, new=new, upper=upper, others=others)

    @property
    def upgradable(self) -> bool:
        """Whether old and new are two models with vectors of the open gallery."""
        plan = self.resolved_upgrade
        return plan.old != plan.new and plan.old in self.features and plan.new in self.features

    @cached_property
    def upgrade_question(self) -> tuple[object, ...]:
        """What a look at the upgrade would find now; empty where there are no two models. Equal ones, equal answers."""
        plan = self.resolved_upgrade
        if self.faces is None or not self.upgradable:
            return ()
        names = dict.fromkeys(filter(None, (plan.old, plan.new, plan.upper, *plan.others)))
        vectors = tuple(self._vectors(name) for name in names)
        columns = tuple(
            (name, self.faces.contents[name]) for name in (plan.traffic, VARIANCE) if name in self.faces.columns
        )
        return (self.faces.digest, vectors, plan.asked, columns, self.excluded.tobytes())

    @property
    def upgrade(self) -> Upgrade | None:
        """What is known of the upgrade that is asked for now."""
        return _answer(self.upgrade_answer, self.upgrade_question)  # type: ignore[return-value]

    @cached_property
    def upgrade_map_plan(self) -> ProjectionPlan:
        """The map of old and new: laid out as the projection is."""
        plan = self.resolved_upgrade
        return replace(self.projection_plan, model=plan.old, other=plan.new, part=None)

    @cached_property
    def upgrade_map_question(self) -> tuple[object, ...]:
        """What a map of both would show now."""
        plan = self.upgrade_map_plan
        if self.faces is None or not self.upgradable:
            return ()
        vectors = self._vectors(plan.model), self._vectors(plan.other)
        return (self.faces.pictures, vectors, plan.asked, self.excluded.tobytes())

    @property
    def upgrade_map(self) -> Projection | None:
        """The map of old and new; principal components until it is finished."""
        return _answer(self.upgrade_map_answer, self.upgrade_map_question)  # type: ignore[return-value]

    @cached_property
    def resolved_match(self) -> MatchPlan:
        """The search with its model named: one that has vectors and a file that gives patches."""
        plan = self.match_plan
        names = (plan.model, self.model_b, self.model, *self.features)
        model = next((name for name in names if self.has_patches(name)), "")
        return plan if model == plan.model else replace(plan, model=model, layer="", grid=None)

    def has_patches(self, name: str) -> bool:
        """Whether a model has vectors of the gallery, and a file that gives patch maps."""
        found = self.inspection(name)
        return name in self.features and found is not None and bool(found.card.patch_layer)

    @property
    def query_faces(self) -> FaceSet | None:
        """The faces that are searched for: those of the gallery, or of another one."""
        return self.faces if self.queries is None else self.queries

    @cached_property
    def queries_question(self) -> tuple[object, ...]:
        """Which vectors the queries of another gallery would have now; empty where there are none to have."""
        seen = self.inspection(self.resolved_match.model)
        if self.queries is None or seen is None:
            return ()
        return (*self._asking, seen.sha256, seen.card.digest)

    @property
    def queries_features(self) -> FeatureSet | None:
        """The vectors of the queries of another gallery."""
        return _answer(self.queries_answer, self.queries_question)  # type: ignore[return-value]

    @property
    def _asking(self) -> tuple[object, ...]:
        return () if self.queries is None else (self.queries.root, self.queries.digest)

    @cached_property
    def match_question(self) -> tuple[object, ...]:
        """What a search for the query would find now; empty where there is no query or no model. Alpha is no part."""
        plan, home = self.resolved_match, self.query_faces
        if home is None or self.faces is None or not plan.model or home.row_of(self.query) is None:
            return ()
        return (*self._searched(plan), plan.solving, plan.far, self._asking, self.query, self.occlusion)

    @cached_property
    def sweep_question(self) -> tuple[object, ...]:
        """What a search for all faces would find now."""
        plan = self.resolved_match
        if self.faces is None or not plan.model:
            return ()
        return (*self._searched(plan), replace(plan, weights="").solving, self._asking, self.occlusion)

    def _searched(self, plan: MatchPlan) -> tuple[object, object, object]:
        """Which faces are searched, by which vectors and patches."""
        seen = self.inspection(plan.model)
        patches = (seen.card.patch_layer, seen.card.grid) if seen is not None else ()
        assert self.faces is not None
        return self.faces.digest, (*self._vectors(plan.model), *patches), self.excluded.tobytes()

    def _vectors(self, name: str) -> tuple[object, ...]:
        found = self.features[name]
        return (name, found.provenance.fingerprint, len(found))

    @cached_property
    def shown(self) -> Rows:
        """Rows of `faces` in the order the gallery shows them: not excluded, passing the filter, sorted."""
        if self.faces is None:
            return np.zeros(0, np.int64)
        by_marks = uses_marks(self.arrangement, self.faces) or self.standing is not None
        faces = self.standing_faces if by_marks else self.faces
        return arranged(faces or self.faces, self.arrangement, self.excluded)

    @cached_property
    def standing_faces(self) -> FaceSet | None:
        """The faces with the marks and names that the list is arranged by: what was said since moves nothing."""
        if self.faces is None or self.standing is None:
            return self.marked_faces
        annotations, subsets, edits = self.standing
        return marked(applied(self.faces, edits), annotations, subsets)

    @cached_property
    def marked_faces(self) -> FaceSet | None:
        """The faces with flags, ratings, tags, notes and subsets as columns."""
        return marked(self.faces, self.annotations, self.subsets) if self.faces is not None else None

    @property
    def said(self) -> Standing:
        """What was said about the faces by hand and has a say in their order."""
        return self.annotations, self.subsets, self.identity_edits

    def carry(self, before: Workspace, changed: frozenset[str]) -> None:
        """Take over what was derived before and cannot have changed: a flag among a million faces sorts nothing."""
        frozen = before.standing is None and self.standing == before.said
        of_list = {"faces", "arrangement", "excluded"} | (set() if frozen else {"standing"})
        if self.standing is None and self.faces is not None and uses_marks(self.arrangement, self.faces):
            of_list |= {"annotations", "subsets"}
        origins = {
            "shown": of_list,
            "marked_faces": {"faces", "annotations", "subsets"},
            "standing_faces": {"faces", "annotations", "subsets", "standing"},
            "kept_faces": {"faces", "excluded"},
            "_embedded": {"faces", "excluded", "features"},
        }
        for name, fields in origins.items():
            if name in before.__dict__ and not changed & fields:
                self.__dict__[name] = before.__dict__[name]

    @property
    def shown_ids(self) -> Ids:
        """Ids of the shown faces, in order."""
        return self.faces.ids[self.shown] if self.faces is not None else np.zeros(0, np.int64)

    @cached_property
    def kept_faces(self) -> FaceSet | None:
        """The faces that are not excluded: those a model is shown."""
        if self.faces is None or not len(self.excluded):
            return self.faces
        return self.faces.take(np.flatnonzero(~np.isin(self.faces.ids, self.excluded)).astype(np.int64))

    @property
    def model_names(self) -> tuple[str, ...]:
        """Names of the loaded models, then of vectors that came without one."""
        own = tuple(one.card.name for one in self.models)
        return (*own, *(name for name in self.features if name not in own))

    def inspection(self, name: str) -> Inspection | None:
        """What is known about the file of a model; None for imported vectors."""
        return next((one for one in self.models if one.card.name == name), None)

    def embedded(self, name: str) -> tuple[int, int]:
        """How many of the faces that are not excluded have a vector of a model, and how many there are."""
        if self.kept_faces is None:
            return 0, 0
        return self._embedded.get(name, 0), len(self.kept_faces)

    @cached_property
    def _embedded(self) -> dict[str, int]:
        """By model. Half of all commands ask for it after every step."""
        if self.kept_faces is None:
            return {}
        seen = {name: np.union1d(one.ids, one.invalid) for name, one in self.features.items()}
        return {name: int(np.isin(self.kept_faces.ids, ids).sum()) for name, ids in seen.items()}


def _answer(kept: Answer | None, question: tuple[object, ...]) -> object:
    return kept.found if kept is not None and question and kept.question == question else None


def _learners(features: FeatureSet) -> int:
    """How many learners a model was divided among; 0 for an ordinary one."""
    card = features.provenance.card
    found = card.options.get("learners", 0) if card is not None else 0
    return found if isinstance(found, int) else 0


def marked(faces: FaceSet, annotations: Annotations, subsets: Subsets) -> FaceSet:
    """The faces with columns of what was said about them."""
    return faces.with_columns(mark_columns(faces, annotations, subsets))


def uses_marks(arrangement: Arrangement, faces: FaceSet) -> bool:
    """Whether flags, ratings, tags, notes, subsets or edits may have a part in it."""
    names = called(faces).values()
    text = arrangement.filter.casefold().replace("_", " ")
    return any(name in (arrangement.sort, arrangement.group) or name in text for name in names)


def uses_names(arrangement: Arrangement, faces: FaceSet) -> bool:
    """Whether it depends on who somebody is."""
    names = called(faces)
    if {"identity", names[EDITED], names[ORIGINAL]} & {arrangement.sort, arrangement.group}:
        return True
    try:
        return filters.parse(arrangement.filter).by_names
    except filters.FilterError:
        return False


def arranged(faces: FaceSet, arrangement: Arrangement, excluded: Ids) -> Rows:
    """Rows in display order. Grouping is a sort by the group column that keeps the inner order."""
    order = np.arange(len(faces), dtype=np.int64)
    if arrangement.sort:
        order = faces.order_by(arrangement.sort, descending=arrangement.descending)
    if arrangement.group:
        rank = _group_ranks(faces, arrangement.group)
        order = order[np.argsort(rank[order], kind="stable")]
    keep = np.ones(len(faces), bool)
    if len(excluded):
        keep[faces.rows_of(excluded)] = False
    if arrangement.filter:
        keep &= filters.parse(arrangement.filter).rows(faces)
    return order if keep.all() else order[keep[order]]


def fitting(arrangement: Arrangement, faces: FaceSet) -> Arrangement:
    """The arrangement without what asks for columns that the faces do not have (any more)."""
    if uses_marks(arrangement, faces):
        faces = marked(faces, Annotations(), Subsets())
    known = faces.sortable
    sort, group = (name if name in known else "" for name in (arrangement.sort, arrangement.group))
    text = arrangement.filter
    if text:
        try:
            filters.parse(text).rows(faces)
        except filters.FilterError:
            text = ""
    return replace(arrangement, sort=sort, group=group, filter=text)


def by_variance(arrangement: Arrangement) -> bool:
    """Whether the variance of an ensemble has a part in it, which is there only when the ensemble was asked."""
    return VARIANCE in (arrangement.sort, arrangement.group) or VARIANCE in arrangement.filter.casefold()


def _group_ranks(faces: FaceSet, column: str) -> Rows:
    """(N,) the place of each face's group: equal values share one, missing values come last."""
    values = faces.values(column)
    if isinstance(values, Labels):
        return np.where(values.codes < 0, len(values.names), values.codes).astype(np.int64)
    return np.unique(values, return_inverse=True)[1].astype(np.int64)  # NaN sorts last, as one value


def for_another_gallery(workspace: Workspace) -> dict[str, object]:
    """The fields about vectors when the gallery changes: models stay, imported vectors go."""
    names = [one.card.name for one in workspace.models]
    kept = {slot: name if (name := getattr(workspace, slot)) in names else "" for slot in ("model_a", "model_b")}
    model = workspace.model if workspace.model in names else (names[0] if names else "")
    evaluation: dict[str, object] = {"evaluated": (), "plan": PLAN, "crossing": "", "operating": Operating()}
    evaluation |= {"ensemble": EnsemblePlan(), "assessed": None, "refusal": 0}
    evaluation |= {"parts_plan": PartsPlan(), "parts_answer": None, "study_answer": None, "part": 0, "left_out": ()}
    evaluation |= {"learners_plan": PartsPlan(), "learners_answer": None}
    evaluation |= {"projection_plan": ProjectionPlan(), "projection_answer": None}
    evaluation |= {"match_plan": replace(workspace.match_plan, model="", layer="", grid=None), "match_answer": None}
    evaluation |= {"queries": None, "queries_answer": None, "query": None, "occlusion": None, "sweep_answer": None}
    evaluation |= {"upgrade_plan": UpgradePlan(), "upgrade_answer": None, "upgrade_map_answer": None}
    said = {"annotations": Annotations(), "subsets": Subsets(), "identity_edits": IdentityEdits()}
    return {"features": {}, "stored": {}, "model": model, **kept, **evaluation, **said}


NORM = "norm, {name}"  # column of the lengths of a model's vectors
UNSURE = "log variance, {name}"  # column of how unsure a model is of its parts, on the average of them
SPREAD = "{kind} variance, {name}"  # column of how much a single model wavers, see features.stability
_OF_MODELS = re.compile("norm, |[a-z]+ variance, ")


def model_columns(features: Mapping[str, FeatureSet], stored: Mapping[str, Stored]) -> tuple[str, ...]:
    """Names of the columns that models give to a gallery."""
    norms = [NORM.format(name=name) for name in features]
    norms += [UNSURE.format(name=name) for name, found in features.items() if found.confidence is not None]
    return (*norms, *(SPREAD.format(kind=kind, name=name) for name, one in stored.items() for kind in one.variances))


def attributes(faces: FaceSet) -> tuple[str, ...]:
    """Columns that say something about the pictures: all but those that models gave."""
    return tuple(name for name in faces.columns if name != VARIANCE and not _OF_MODELS.match(name))


def with_model_columns(faces: FaceSet, features: Mapping[str, FeatureSet], stored: Mapping[str, Stored]) -> FaceSet:
    """The faces with what each model says about them: length and variance of its vectors; of other models nothing."""
    columns = {name: column for name, column in faces.columns.items() if not _OF_MODELS.match(name)}
    for name, found in features.items():
        values = np.full(len(faces), np.nan, np.float32)
        rows, known = found.rows_of(faces.ids)
        values[known] = found.norms[rows]
        columns[NORM.format(name=name)] = values
        if found.confidence is not None:
            unsure = np.full(len(faces), np.nan, np.float32)
            with np.errstate(divide="ignore", invalid="ignore"):
                unsure[known] = -np.log(found.confidence[rows]).mean(1)
            columns[UNSURE.format(name=name)] = np.where(np.isfinite(unsure), unsure, np.nan).astype(np.float32)
    for name, one in stored.items():
        for kind, measured in one.variances.items():
            columns[SPREAD.format(kind=kind, name=name)] = measured
    mine = model_columns(features, stored)
    return faces if columns.keys() == faces.columns.keys() and not mine else replace(faces, columns=columns)


def with_variance(faces: FaceSet, uncertainty: Uncertainty | None) -> FaceSet:
    """The faces with the ensemble's variance as a column, NaN for those it was fitted on; without one, it goes."""
    columns = {name: column for name, column in faces.columns.items() if name != VARIANCE}
    if uncertainty is not None:
        values = np.full(len(faces), np.nan, np.float32)
        values[faces.rows_of(uncertainty.ids)] = uncertainty.variance
        columns[VARIANCE] = values
    return faces if columns.keys() == faces.columns.keys() and uncertainty is None else replace(faces, columns=columns)


def outdated(workspace: Workspace) -> bool:
    """Whether the column of the variance is that of other vectors or transforms than are asked for now.

    It stays when faces are excluded, or are given another identity: whoever takes the worst ones out, or finds the
    wrong name on them, goes on to see the others in their order.
    """
    faces, kept, now = workspace.faces, workspace.assessed, workspace.ensemble_question
    if faces is None or kept is None or VARIANCE not in faces.columns:
        return False
    old: EnsemblePlan = kept.question[2]  # type: ignore[assignment]
    return not now or kept.question[1] != now[1] or old.space != workspace.resolved_ensemble.space


def unique_name(name: str, taken: tuple[str, ...]) -> str:
    """The name, with a number where it is taken.

    >>> unique_name("net", ("net", "net (2)"))
    'net (3)'
    """
    number, tried = 1, name
    while tried in taken:
        number += 1
        tried = f"{name} ({number})"
    return tried
