"""Depicting: what can be drawn of a workspace, panel by panel, and what that takes.

`DEPICTED` is the table: the figures of a panel, which questions have to be answered for each, and which arguments the
function of `drawing` gets. The window draws with what it has in hand; a recipe that is redrawn without one works the
same out first. What a figure shows beyond what the workspace says is a `View`, plain enough to be written down.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from facelens.analyses.plan import OWN, VARIANCE
from facelens.errors import FaceLensError, InputError
from facelens.images.disguise import Guise
from facelens.images.faceset import FaceSet, Ids, Rows
from facelens.progress import Tick, silent
from facelens.session import actions, drawing, questions
from facelens.session.archive import face_of
from facelens.session.listing import standing
from facelens.session.outgoing import outgoing
from facelens.session.workspace import Workspace
from facelens.words import tr

if TYPE_CHECKING:
    from facelens.analyses.jury import Ruling, Verdict
    from facelens.analyses.parts import Layout, Parts
    from facelens.analyses.projection import Projection
    from facelens.analyses.reranking import Sweep
    from facelens.analyses.same_class import SameClass
    from facelens.analyses.uncertainty import Update
    from facelens.analyses.upgrade import Upgrade
    from facelens.figures.projection import Look
    from facelens.figures.sheet import Paper
    from facelens.session.matching import Searched
    from facelens.session.training import Run

Held = Mapping[str, Any]  # arguments that a panel has worked out already

# What dots of a map can be coloured by besides columns, whose names begin otherwise.
IDENTITY, UNSURE, CHANGE, MOVED = "identity", " unsure", " change", " moved"
SCORES = ("quality", "blur", "norm")  # columns that tell how good a picture is, the first that is there
PEOPLE, PICTURES = 8, 2_000  # side by side where nobody is selected, and faces of theirs
# Figures of a study of the parts.
STUDIED = frozenset({"attributes", "attribute curves", "correlation", "single parts", "recall"})


@dataclass(frozen=True)
class View:
    """What a figure shows beyond what the workspace says; faces by their path inside the gallery."""

    side: str = "b"  # evaluation: whose scores
    log: bool = False  # uncertainty: counts on a logarithmic axis
    against: str = ""  # uncertainty: the column its score is set beside; "": one of SCORES, or the first
    query: str = ""  # uncertainty: the model that queries would come from; "": the first one that it is not now
    pair: tuple[str, ...] = ()  # confidence: the two faces before the jury
    candidate: str = ""  # match: the face beside the query; "": the first one found
    cut: float = 0.02  # match: streams with less of the mass of their patch are left out
    patch: tuple[str, int] | None = None  # match: "query" or "gallery" and which, alone
    beside: str = ""  # upgrade: another model that the same people are shown by; projection: beside that on the map
    colour: str = IDENTITY  # projection: IDENTITY, UNSURE, CHANGE, MOVED or a column
    shape: str = ""  # projection: a column that tells augmented pictures
    augmented: tuple[str, ...] = ()
    focus: tuple[str, ...] = ()  # projection: people who alone have colours
    run: str = ""  # training: the folder that holds it
    stage: str = ""  # training: of several in a row, the one that is shown; "": the last that has begun


@dataclass(frozen=True)
class Depicted:
    """The figures of one panel."""

    titles: Mapping[str, str]  # by name
    needs: actions.Reason  # why nothing can be drawn; "" where something can
    draw: Callable[..., list[Path]]  # of `drawing`: draw(out, *arguments, which=, paper=, tick=)
    arguments: Callable[[Workspace, View], tuple[tuple[Any, ...], dict[str, Any]]]
    hold: Callable[[Workspace, View, Tick], dict[str, Any]]  # what a panel would have in hand
    answers: Callable[[frozenset[str], View], tuple[str, ...]]  # of questions.QUESTIONS, that these figures need
    gallery: bool = True  # whether they are of an open gallery

    @property
    def names(self) -> tuple[str, ...]:
        """The figures, in their order."""
        return tuple(self.titles)


def depict(
    workspace: Workspace,
    panel: str,
    out: Path,
    *,
    which: Sequence[str] = (),
    view: View | None = None,
    paper: Paper | None = None,
    guise: Guise | None = None,
    tick: Tick = silent,
) -> list[Path]:
    """Draw figures of a panel, all by default, without a window: what is not answered yet is worked out here.

    `guise` says what is to be hidden.
    """
    row, view = DEPICTED[panel], view or View()
    which = tuple(which) or row.names
    if panel == "training" and workspace.run is None:
        workspace = replace(workspace, run=held_run(view))
    workspace = questions.answered(workspace, row.answers(frozenset(which), view), tick=tick)
    if reason := row.needs(workspace):
        raise InputError(reason)
    given, named = row.arguments(workspace, view)
    named |= row.hold(workspace, view, tick)
    given, named = outgoing(guise or Guise(), given, named, first=workspace.faces)
    return row.draw(out, *given, **named, which=which, paper=paper, tick=tick)


def _to(*names: str) -> Callable[[frozenset[str], View], tuple[str, ...]]:
    return lambda which, view: names


def _nothing(workspace: Workspace, view: View, tick: Tick) -> dict[str, Any]:
    return {}


# Gallery


def rows_of(workspace: Workspace) -> Rows:
    """Selected faces in display order, or all shown ones where nothing is selected."""
    shown, faces = workspace.shown, workspace.faces
    if faces is None or not len(workspace.selection):
        return shown
    chosen = shown[np.isin(faces.ids[shown], workspace.selection.ids)]
    return chosen if len(chosen) else faces.rows_of(workspace.selection.ids)


def _gallery(workspace: Workspace, view: View) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return (workspace.faces, rows_of(workspace)), {"value": workspace.arrangement.sort}


# Evaluation


def _evaluation(workspace: Workspace, view: View) -> tuple[tuple[Any, ...], dict[str, Any]]:
    found = workspace.evaluation
    assert found is not None
    report = getattr(found, view.side) or found.b or found.a
    by_hand = workspace.operating.threshold if workspace.operating.of == view.side else None
    here = standing(report, workspace.operating.far, threshold=by_hand) if report is not None else None
    # Charts draw what was worked out from the scores; these, some 50 MB a model, stay here.
    a, b = (replace(one, scores=None) if one is not None else None for one in (found.a, found.b))
    point = {"threshold": here.threshold, "far": here.far} if here is not None else {}
    return (replace(found, a=a, b=b),), {"side": view.side, "faces": workspace.faces, **point}


# Uncertainty


def _uncertainty(workspace: Workspace, view: View) -> tuple[tuple[Any, ...], dict[str, Any]]:
    found = workspace.uncertainty
    assert found is not None
    more = {"step": workspace.refusal, "lower": found.lower, "log": view.log, "plan": workspace.resolved_ensemble}
    return (workspace.faces, found), {
        **more, "against": against_of(workspace, view), "update": update_of(workspace, view),
    }  # fmt: skip


def against_of(workspace: Workspace, view: View) -> str:
    """The score beside that of the ensemble: the one that is asked for, else one that tells of the picture."""
    faces, found = workspace.faces, workspace.uncertainty
    assert faces is not None and found is not None
    if isinstance(faces.columns.get(view.against), np.ndarray):
        return view.against
    if found.by != VARIANCE:
        return VARIANCE
    known = [name for name, column in faces.columns.items() if isinstance(column, np.ndarray) and name not in OWN]
    return next((name for name in SCORES if name in known), known[0] if known else "")


def update_of(workspace: Workspace, view: View) -> Callable[..., Update] | None:
    """What works out what another query model changes; None where there is no other."""
    from facelens.analyses.uncertainty import update_query

    plan, faces = workspace.resolved_ensemble, workspace.faces
    others = [name for name in workspace.features if name != plan.target]
    target = view.query if view.query in others else next(iter(others), "")
    if not target or faces is None:
        return None
    given = questions.ensemble_of(workspace)
    given["features"] = {**given["features"], target: workspace.features[target]}
    return partial(update_query, faces, plan, target=target, **given)


# Confidence and learners


def _confidence(workspace: Workspace, view: View) -> tuple[tuple[Any, ...], dict[str, Any]]:
    plan, selection = workspace.resolved_parts, workspace.selection
    chosen = selection.ids if len(selection) else None
    more = {"shown": plan.show, "selection": chosen, "far": plan.far, "model": plan.model}
    return (workspace.faces, workspace.parts, workspace.study), more


def _hold_jury(workspace: Workspace, view: View, tick: Tick) -> dict[str, Any]:
    from facelens.analyses.jury import Bench, verdict

    parts, plan = workspace.parts, workspace.resolved_parts
    faces = tuple(face_of(workspace.faces, name) for name in view.pair)
    if parts is None or len(faces) != 2 or None in faces:
        return {}
    match, kept = matched_by(workspace), voting(workspace, parts)
    ruling: Ruling = Bench(parts, match).ruling(kept=kept, far=plan.far)
    features = workspace.features[plan.model]
    said: Verdict = verdict(parts, features, *faces, match=match, kept=kept, ruling=ruling)  # type: ignore[arg-type]
    return {"verdict": said, "ruling": ruling, "match": match}


def matched_by(workspace: Workspace) -> str:
    """How parts of two faces are matched: as it is asked for, where the model says how sure it is."""
    sure = workspace.parts is not None and workspace.parts.log_variance is not None
    return workspace.resolved_parts.match if sure else "cosine"


def voting(workspace: Workspace, parts: Parts) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """(K,) the parts that are not left out."""
    kept = np.ones(parts.layout.parts, bool)
    kept[[part for part in workspace.left_out if part < len(kept)]] = False
    return kept


def _learners(workspace: Workspace, view: View) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return (workspace.faces, workspace.learners), {}


# Match


def found_of(workspace: Workspace) -> Searched | None:
    """What the search that is asked for now has found."""
    kept = workspace.match_answer
    there = kept is not None and bool(workspace.match_question) and kept.question == workspace.match_question
    return kept.found if kept is not None and there else None  # type: ignore[return-value]


def sweep_of(workspace: Workspace) -> Sweep | None:
    """What the search for all faces that is asked for now has found."""
    kept = workspace.sweep_answer
    return kept.found if kept is not None and kept.question == workspace.sweep_question else None  # type: ignore[return-value]


def _match(workspace: Workspace, view: View) -> tuple[tuple[Any, ...], dict[str, Any]]:
    more = {
        "searched": found_of(workspace),
        "plan": workspace.resolved_match,
        "pair": None,
        "query": workspace.query,
        "queries": workspace.queries,
        "sweep": sweep_of(workspace),
        "ground": questions.ground(workspace) if workspace.resolved_match.model else None,
        "pairs": workspace.protocol.pairs if workspace.protocol is not None else None,
        "cut": view.cut,
        "patch": view.patch,
    }
    return (workspace.faces,), more


def _hold_pairs(workspace: Workspace, view: View, tick: Tick) -> dict[str, Any]:
    from facelens.session.matched import first_face, nearest_other

    found, alpha = found_of(workspace), workspace.resolved_match.alpha
    if found is None:
        return {}
    face = face_of(workspace.faces, view.candidate) if view.candidate else first_face(found, alpha)
    other = nearest_other(found, face, alpha) if face is not None else None
    held = {}
    for name, one in (("pair", face), ("other", other)):
        if one is not None:
            request = questions.explanation(workspace, one, slot="")
            held[name] = request.call(*request.args, **request.kwargs)
    return held


# Upgrade


def _upgrade(workspace: Workspace, view: View) -> tuple[tuple[Any, ...], dict[str, Any]]:
    found, plan = workspace.upgrade, workspace.resolved_upgrade
    assert found is not None
    dimensions = {name: workspace.features[name].dimensions for name in found.matrix.models}
    more = {"task": plan.task, "order": order_of(workspace), "share": plan.share, "dimensions": dimensions}
    return (workspace.faces, found), {**more, "laid": workspace.upgrade_map, "people": same_people(workspace, view)}


def order_of(workspace: Workspace) -> str:
    """The order of the backfill that is in front: the one asked for, else the first; "" where there is none."""
    found, name = workspace.upgrade, workspace.resolved_upgrade.order
    if found is None or found.backfill is None or not found.backfill.orders:
        return ""
    return name if found.backfill.order(name) is not None else found.backfill.orders[0].name


def same_people(workspace: Workspace, view: View) -> SameClass | None:
    """The people that are looked at, by the new model and by another one."""
    from facelens.analyses.same_class import same_class

    plan = workspace.resolved_upgrade
    if workspace.upgrade is None or workspace.faces is None:
        return None
    upgrades = [name for name in (plan.new, view.beside) if name in workspace.features]
    return same_class(workspace.features, plan.old, upgrades, pictured(workspace))


def pictured(workspace: Workspace) -> Ids:
    """Pictures of the people that are selected, or of those with the most of them, among those that count."""
    from facelens.analyses.same_class import most_pictured

    found, faces = workspace.upgrade, workspace.faces
    assert found is not None and faces is not None
    codes = faces.identity.codes[faces.rows_of(found.ids)]
    chosen = faces.identity.codes[faces.rows_of(workspace.selection.ids)]
    who = np.unique(chosen[np.isin(chosen, codes)])
    return (found.ids[np.isin(codes, who)] if len(who) else most_pictured(faces, found.ids, PEOPLE))[:PICTURES]


# Projection


def _projection(workspace: Workspace, view: View) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return (workspace.faces, workspace.projection), {
        "look": look_of(workspace, view),
        "alone": alone_of(workspace, view),
    }


def alone_of(workspace: Workspace, view: View) -> tuple[Callable[..., Projection], ...]:
    """What lays out the model on the map and another one, each by itself; nothing where there is no other."""
    plan = workspace.resolved_projection
    other = next((name for name in (plan.other, view.beside, workspace.model_a, workspace.model_b, *workspace.features)
                  if name in workspace.features and name != plan.model), "")  # fmt: skip
    if not other or plan.model not in workspace.features:
        return ()
    # The older one at the left, as a baseline stands.
    names = (plan.model, other) if plan.other or other != workspace.model_a else (other, plan.model)
    made: list[Callable[..., Any]] = []
    for name in names:
        single = replace(workspace, projection_plan=replace(plan, model=name, other="", part=None))
        request = questions.projection(single)
        if request is None:
            return ()
        made.append(partial(request.call, *request.args, **request.kwargs))
    return tuple(made)


def look_of(workspace: Workspace, view: View) -> Look:
    """What the dots of the map say."""
    from facelens.figures.projection import Look

    found, selection, upgrade = workspace.projection, workspace.selection, upgrade_on_map(workspace)
    values, said, change = None, "", None
    if found is not None and view.colour == UNSURE:
        values, said = unsure(workspace, found.ids)
    if found is not None and upgrade is not None and view.colour == CHANGE:
        change = upgrade.change_of(found.ids)
    return Look(
        by={CHANGE: "change", MOVED: "moved"}.get(view.colour, view.colour),
        change=change,
        values=values,
        values_title=said,
        shape=view.shape,
        augmented=frozenset(view.augmented),
        focus=frozenset(view.focus) if view.colour == IDENTITY else frozenset(),
        selection=selection.ids if len(selection) else None,
    )


def upgrade_on_map(workspace: Workspace) -> Upgrade | None:
    """What is known of the faces as an upgrade changes them; with two models on the map, of theirs."""
    found, plan = workspace.upgrade, workspace.resolved_projection
    if found is None or found.flips is None:
        return None
    others = plan.other and (plan.model, plan.other) != (found.plan.old, found.plan.new)
    return None if others else found


def unsure(workspace: Workspace, ids: Ids) -> tuple[np.ndarray[Any, np.dtype[np.float32]] | None, str]:
    """(N,) logarithm of the variance of the part on the map, and what that is called; None where no model says."""
    plan = workspace.resolved_projection
    features, ground = workspace.features.get(plan.model), _learned(workspace)
    if features is None or features.confidence is None or ground is None:
        return None, ""
    rows, known = features.rows_of(ids)
    values = np.full(len(ids), np.nan, np.float32)
    with np.errstate(divide="ignore", invalid="ignore"):
        values[known] = -np.log(features.confidence[rows, _part(workspace, ground)])
    return values, unsure_words(workspace)


def unsure_words(workspace: Workspace) -> str:
    """What that is called; "" where the model on the map does not say how sure it is of its parts."""
    from facelens.figures.part_words import part_name, words

    ground = _learned(workspace)
    if ground is None:
        return ""
    name, part = words("variance", ground).name, part_name(ground, _part(workspace, ground))
    return tr("{value}, {part}", value=name, part=part)


def ground_of(workspace: Workspace) -> Layout | None:
    """The parts of the model on the map."""
    from facelens.analyses.parts import layout

    name = workspace.resolved_projection.model
    try:
        return layout(workspace.features[name], workspace.cutting(name)) if name else None
    except FaceLensError:
        return None  # a number of slices that does not divide its dimensions


def _learned(workspace: Workspace) -> Layout | None:
    """Those parts, where the model has learned to say how sure it is of them."""
    ground = ground_of(workspace)
    return ground if ground is not None and ground.kind == "learned" else None


def _part(workspace: Workspace, ground: Layout) -> int:
    """The part on the map; where all are on it, the one that is looked at."""
    part = workspace.resolved_projection.part
    return part if part is not None else min(workspace.part, ground.parts - 1)


# Training


def _training(workspace: Workspace, view: View) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return (workspace.run,), {"stage": view.stage}


def held_run(view: View) -> Run | None:
    """The training that a view is of, from its folder."""
    from facelens.session.training import held

    return held(Path(view.run)) if view.run else None


# All of them. Titles are what a figure is called where one is chosen.
DEPICTED: Mapping[str, Depicted] = {
    "gallery": Depicted(
        {"sheet": "Contact sheet"}, actions.faces_shown, drawing.draw_gallery, _gallery, _nothing, _to()
    ),
    "evaluation": Depicted(
        {
            "roc": "ROC",
            "det": "DET",
            "scores": "Scores",
            "points": "Operating points",
            "breakdown": "Breakdown by a column",
            "confusable": "Confusable people",
            "cmc": "CMC",
            "open set": "Open set",
            "retrieval": "Retrieval",
        },
        actions.evaluated,
        drawing.draw_charts,
        _evaluation,
        _nothing,
        _to("evaluation"),
    ),
    "uncertainty": Depicted(
        {
            "histogram": "Histogram",
            "1 to 1": "Risk, 1:1",
            "1 to N": "Risk, 1:N",
            "strip": "Faces in three rows",
            "quadrants": "Uncertainty and correctness",
            "members": "Members",
            "sizes 1 to 1": "How many members, 1:1",
            "sizes 1 to N": "How many members, 1:N",
            "scatter": "Against another score",
            "update": "Query update",
        },
        actions.assessed,
        drawing.draw_uncertainty,
        _uncertainty,
        _nothing,
        _to("uncertainty"),
    ),
    "confidence": Depicted(
        {
            "maps": "Maps beside faces",
            "distributions": "Distributions",
            "attributes": "Attributes",
            "attribute curves": "Curves of attributes",
            "correlation": "Correlation",
            "single parts": "Single parts",
            "recall": "Recall",
            "jury": "Jury of the pair",
        },
        actions.parted,
        drawing.draw_confidence,
        _confidence,
        _hold_jury,
        lambda which, view: ("parts", "study") if which & STUDIED else ("parts",),
    ),
    "learners": Depicted(
        {"specialists": "Specialists", "table": "Table", "dimensions": "Dimensions", "groups": "Clusters"},
        actions.learnt,
        drawing.draw_learners,
        _learners,
        _nothing,
        _to("learners"),
    ),
    "match": Depicted(
        {
            "flow": "Flow",
            "ranking": "Ranking",
            "regions": "Regions",
            "retrieval": "Retrieval sheet",
            "occlusions": "Retrieval sheet, occluded",
            "weights": "Ways to weigh patches",
            "flows": "Flow by each weighting",
            "sweep": "All queries",
            "table": "All queries, table",
            "pairs": "Listed pairs",
        },
        actions.matched,
        drawing.draw_match,
        _match,
        _hold_pairs,
        lambda which, view: ("match", "sweep") if which & set(drawing.SWEPT) else ("match",),
    ),
    "upgrade": Depicted(
        {
            "matrix": "Cross-tests",
            "gains": "Gains",
            "sequence": "Sequence",
            "table": "Table of the models",
            "directions": "Directions",
            "compactness": "Distances within a person",
            "flips": "Flips",
            "backfill": "Backfill",
            "same people": "Same people",
            "map": "Map of old and new",
        },
        actions.upgraded,
        drawing.draw_upgrade,
        _upgrade,
        _nothing,
        lambda which, view: ("upgrade", "upgrade map") if "map" in which else ("upgrade",),
    ),
    "projection": Depicted(
        {"map": "Map", "side by side": "Two models side by side"},
        actions.mapped,
        drawing.draw_projection,
        _projection,
        _nothing,
        lambda which, view: ("projection", "upgrade") if view.colour == CHANGE else ("projection",),
    ),
    "training": Depicted(
        {"curves": "Curves", "confidences": "Confidences", "clusters": "Clusters of the learners"},
        actions.trained,
        drawing.draw_training,
        _training,
        _nothing,
        _to(),
        gallery=False,
    ),
}


def names_of_faces(faces: FaceSet | None, ids: Sequence[int | None]) -> tuple[str, ...]:
    """Faces by their path, for a View; empty where one is not there."""
    from facelens.session.archive import names_of

    if any(face is None for face in ids):
        return ()
    found = names_of(faces, np.array(ids, np.int64))
    return found if len(found) == len(ids) else ()
