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

from facelens.analyses.plan import OWN, VARIANCE, MatchPlan
from facelens.errors import FaceLensError, InputError
from facelens.images.disguise import Guise
from facelens.images.faceset import Column, FaceSet, Ids, Rows
from facelens.progress import Tick, silent
from facelens.session import actions, drawing, questions
from facelens.session.archive import face_of
from facelens.session.listing import Tapped, listed_again, standing
from facelens.session.outgoing import outgoing
from facelens.session.selection import Selection
from facelens.session.workspace import Workspace
from facelens.words import plural, tr

if TYPE_CHECKING:
    from facelens.analyses.jury import Average, Ruling, Verdict
    from facelens.analyses.nearest import Links
    from facelens.analyses.parts import Layout, Parts
    from facelens.analyses.projection import Projection
    from facelens.analyses.reranking import Sweep
    from facelens.analyses.same_class import SameClass
    from facelens.analyses.uncertainty import Update
    from facelens.analyses.upgrade import Upgrade
    from facelens.figures.projection import Look
    from facelens.figures.sheet import Paper
    from facelens.images.doctor import Finding
    from facelens.session.matching import Searched
    from facelens.session.training import Run

Held = Mapping[str, Any]  # arguments that a panel has worked out already

# What dots of a map can be coloured by besides columns, whose names begin otherwise.
IDENTITY, UNSURE, CHANGE, MOVED = "identity", " unsure", " change", " moved"
ON_MAP = ("change", "identity", "moved")  # what dots of a map of old and new can be coloured by
AVERAGED = 200  # selected faces whose regions are averaged
SCORES = ("quality", "blur", "norm")  # columns that tell how good a picture is, the first that is there
PEOPLE, PICTURES = 8, 2_000  # side by side where nobody is selected, and faces of theirs
# Figures of a study of the parts.
STUDIED = frozenset({"attributes", "attribute curves", "correlation", "two parts", "single parts", "recall"})


@dataclass(frozen=True)
class View:
    """What a figure shows beyond what the workspace says; faces by their path inside the gallery."""

    total: int = 0  # gallery: how many faces there were, where only the first of them are named
    fed: str = ""  # models: the one that was fed in other ways
    forms: tuple[str, ...] = ()  # models: the one that was compared with another file, and where that is
    finding: str = ""  # doctor: the kind whose pictures are shown
    side: str = "b"  # evaluation: whose scores
    asked: str = ""  # evaluation: whose queries, "a" or "b"; "": as the scores
    worst: str = ""  # evaluation: the measure by which the worst of them come first; "": the usual one
    tapped: Tapped | None = None  # evaluation: the pairs behind what was clicked
    log: bool = False  # uncertainty: counts on a logarithmic axis
    people: tuple[str, ...] = ()  # uncertainty: who is listed first; (): the weakest enrolments
    against: str = ""  # uncertainty: the column its score is set beside; "": one of SCORES, or the first
    query: str = ""  # uncertainty: the model that queries would come from; "": the first one that it is not now
    listed: tuple[str, ...] = ()  # confidence: the first faces of the matrix; (): those of the highest mean
    by: str = "mean"  # confidence: what they are sorted by: "face", "mean", or the number of a part from 0
    descending: bool = True
    columns: tuple[int, ...] = ()  # confidence: the order of its parts
    other: int = -1  # confidence: the part that the current one is compared with; -1: the one most like it
    pair: tuple[str, ...] = ()  # confidence: the two faces before the jury; models: whose score is told
    pairs: str = "false matches"  # confidence: which many pairs are before it
    k: int = 1  # learners: of Recall@k
    limit: int = 1  # learners: others find specialists beyond this rank
    candidate: str = ""  # match: the face beside the query; "": the first one found
    cut: float = 0.02  # match: streams with less of the mass of their patch are left out
    cells: str = "flow"  # match: what the cells of the plan are, or "cost", "distance"
    patch: tuple[str, int] | None = None  # match: "query" or "gallery" and which, alone
    heat: tuple[str, ...] = ()  # match: kinds of saliency that are worked out for the pair
    chosen: tuple[str, ...] = ()  # match: queries of another gallery that are averaged
    tried: tuple[MatchPlan, ...] = ()  # match: how else all faces were searched for, grids and solvers
    tested: tuple[str, ...] = ()  # upgrade: the test whose errors are listed: query, gallery, direction
    beside: str = ""  # upgrade: another model that the same people are shown by; projection: beside that on the map
    colour: str = IDENTITY  # projection: IDENTITY, UNSURE, CHANGE, MOVED or a column
    on_map: str = "change"  # upgrade: of ON_MAP
    shape: str = ""  # projection: a column that tells augmented pictures
    augmented: tuple[str, ...] = ()
    groups: str = ""  # projection: a column whose values are listed by how far they moved; "": people
    focus: tuple[str, ...] = ()  # projection: people who alone have colours
    near: str = ""  # projection: the face from which lines lead to its nearest; "": none
    run: str = ""  # training: the folder that holds it
    scale: str = ""  # training: of the terms, "linear" or "log"; "": as they lie
    stage: str = ""  # training: of several in a row, the one that is shown; "": the last that has begun
    hidden: tuple[str, ...] = ()  # training: keys of curves that are switched off, see figures.training


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
    faces, rows, arrangement = workspace.faces, rows_of(workspace), workspace.arrangement
    assert faces is not None
    value = arrangement.sort if arrangement.sort in faces.columns else ""
    wide = faces if arrangement.group in ("", "identity", *faces.columns) else workspace.standing_faces or faces
    return (wide, rows), {"value": value, "group": arrangement.group, "total": max(view.total, len(rows))}


# Doctor


def _doctor(workspace: Workspace, view: View) -> tuple[tuple[Any, ...], dict[str, Any]]:
    assert workspace.diagnosis is not None
    return (workspace.faces, findings_of(workspace)), {"checked": workspace.diagnosis.faces, "kind": view.finding}


def findings_of(workspace: Workspace) -> tuple[Finding, ...]:
    """What the doctor says, and what was noted when the gallery was read."""
    from facelens.images.doctor import Finding

    found, notes = workspace.diagnosis, workspace.notes
    message = plural(len(notes), "{n} note from reading the gallery.", "{n} notes from reading the gallery.")
    reading = (Finding("reading notes", "note", message, details=notes),) if notes else ()
    return (*found.findings, *reading) if found is not None else ()


# Models


def _models(workspace: Workspace, view: View) -> tuple[tuple[Any, ...], dict[str, Any]]:
    made = {}
    faces = [face_of(workspace.faces, name) for name in view.pair]
    pair = np.array([face for face in faces if face is not None], np.int64)
    if view.fed and (request := questions.feeding(workspace, view.fed, pair)) is not None:
        made["feeding"] = partial(request.call, *request.args, **request.kwargs)
    if view.forms and (request := questions.forms(workspace, view.forms[0], Path(view.forms[1]))) is not None:
        made["forms"] = partial(request.call, *request.args, **request.kwargs)
    return (workspace.faces,), {"model": view.fed, **made}


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
    more: dict[str, Any] = {"worst": view.worst, "asked": view.asked or view.side}
    if view.tapped is not None and workspace.faces is not None:
        members = workspace.protocol.templates if workspace.protocol is not None else None
        more["listed"] = listed_again(workspace.faces, view.tapped, members)
    return (replace(found, a=a, b=b),), {"side": view.side, "faces": workspace.faces, **more, **point}


# Uncertainty


def _uncertainty(workspace: Workspace, view: View) -> tuple[tuple[Any, ...], dict[str, Any]]:
    found = workspace.uncertainty
    assert found is not None
    more = {"step": workspace.refusal, "lower": found.lower, "log": view.log, "plan": workspace.resolved_ensemble}
    return (workspace.faces, found), {
        **more, "against": against_of(workspace, view), "update": update_of(workspace, view),
        "people": codes_of(workspace, view.people),
    }  # fmt: skip


def codes_of(workspace: Workspace, names: Sequence[str]) -> tuple[int, ...]:
    """People by their codes, as far as they are there."""
    known = {name: code for code, name in enumerate(workspace.faces.identity.names)} if workspace.faces else {}
    return tuple(known[name] for name in names if name in known)


def against_of(workspace: Workspace, view: View) -> str:
    """The score beside that of the ensemble: the one that is asked for, else one that tells of the picture."""
    faces, found = workspace.faces, workspace.uncertainty
    assert faces is not None and found is not None
    if isinstance(faces.columns.get(view.against), np.ndarray):
        return view.against
    if found.by != VARIANCE:
        return VARIANCE
    known = [name for name, column in faces.columns.items() if name not in OWN and _varies(column)]
    return next((name for name in SCORES if name in known), known[0] if known else "")


def _varies(column: Column) -> bool:
    known = column[np.isfinite(column)] if isinstance(column, np.ndarray) else np.zeros(0)
    return len(known) > 0 and bool((known != known[0]).any())


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
    found = [face for name in view.listed if (face := face_of(workspace.faces, name)) is not None]
    listed = np.array(found, np.int64) if found else None
    order = {"listed": listed, "columns": view.columns, "by": view.by, "descending": view.descending}
    more = {"shown": plan.show, "selection": chosen, "far": plan.far, "model": plan.model, **order}
    many = {"part": workspace.part, "other": view.other, "average": average_of(workspace, view)}
    return (workspace.faces, workspace.parts, workspace.study), {**more, **many, "match": matched_by(workspace)}


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


def average_of(workspace: Workspace, view: View) -> Callable[[], tuple[Average, Ruling]] | None:
    """What works out how the parts vote on many pairs, among the selected faces or all; None where nothing is cut."""
    from facelens.session.tasks import jury_average

    parts, plan = workspace.parts, workspace.resolved_parts
    if parts is None or plan.model not in workspace.features:
        return None
    return partial(
        jury_average, parts, workspace.features[plan.model], ids=workspace.selection.ids, which=view.pairs,
        match=matched_by(workspace), kept=voting(workspace, parts), far=plan.far,
    )  # fmt: skip


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
    current = {"face": workspace.selection.current, "part": workspace.part}
    return (workspace.faces, workspace.learners), {"k": view.k, "limit": view.limit, **current}


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
        "tried": tried_of(workspace, view),
        "ground": questions.ground(workspace) if workspace.resolved_match.model else None,
        "pairs": workspace.protocol.pairs if workspace.protocol is not None else None,
        "cut": view.cut,
        "patch": view.patch,
        "cells": view.cells,
        "order": workspace.looks.queries_order,
        "averaged": averaged_of(workspace, view),
        "salient": salient_of(workspace, view),
    }
    return (workspace.faces,), more


def salient_of(workspace: Workspace, view: View) -> tuple[Callable[..., Any], ...]:
    """What works out the maps of the pair that the page has."""
    from facelens.session import matching

    face = candidate_of(workspace, view)
    if face is None or workspace.query is None:
        return ()
    given = questions.ground(workspace), workspace.query, face, workspace.resolved_match
    return tuple(partial(matching.saliency, *given, occlusion=workspace.occlusion, kind=kind) for kind in view.heat)


def candidate_of(workspace: Workspace, view: View) -> int | None:
    """The face beside the query."""
    from facelens.session.matched import first_face

    found = found_of(workspace)
    if found is None:
        return None
    if view.candidate:
        return face_of(workspace.faces, view.candidate)
    return first_face(found, workspace.resolved_match.alpha)


def averaged_of(workspace: Workspace, view: View) -> tuple[int, Callable[..., Any]] | None:
    """How many selected faces are averaged by region, and what works it out; None where they are fewer than two."""
    from facelens.session import matching

    found = [face_of(workspace.queries, name) for name in view.chosen] if workspace.queries is not None else []
    chosen = Selection(np.array([face for face in found if face is not None], np.int64))
    ids = (workspace.selection if workspace.queries is None else chosen).ids[:AVERAGED]
    plan = workspace.resolved_match
    if len(ids) < 2 or not plan.model:
        return None
    return len(ids), partial(
        matching.ledgers, questions.ground(workspace), ids, plan, occlusion=workspace.occlusion
    )  # fmt: skip


def tried_of(workspace: Workspace, view: View) -> tuple[tuple[MatchPlan, Any], ...]:
    """All faces searched for by each of several plans: what works it out, or the answer where that is there."""
    made: list[tuple[MatchPlan, Any]] = []
    for plan in view.tried:
        other = replace(workspace, match_plan=plan)
        if (request := questions.sweep(other)) is not None:
            made.append((plan, sweep_of(other) or partial(request.call, *request.args, **request.kwargs)))
    return tuple(made)


def _hold_pairs(workspace: Workspace, view: View, tick: Tick) -> dict[str, Any]:
    from facelens.session.matched import nearest_other

    found, alpha = found_of(workspace), workspace.resolved_match.alpha
    if found is None:
        return {}
    face = candidate_of(workspace, view)
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
    more |= {"look": look_of_upgrade(workspace, view), "errors": errors_of(workspace, view)}
    return (workspace.faces, found), {**more, "laid": workspace.upgrade_map, "people": same_people(workspace, view)}


def errors_of(workspace: Workspace, view: View) -> Callable[..., Any] | None:
    """What works out the errors of a test; None where none is chosen, or it is none of those that were made."""
    found = workspace.upgrade
    test = found.matrix.test(*view.tested) if found is not None and len(view.tested) == 3 else None
    if test is None or test.direction != view.tested[2]:
        return None
    request = questions.upgrade_errors(workspace, (test.query, test.gallery, test.direction))
    return None if request is None else partial(request.call, *request.args, **request.kwargs)


def look_of_upgrade(workspace: Workspace, view: View) -> Look | None:
    """What the dots of the map of old and new say; None: what became of each face."""
    from facelens.figures.projection import Look

    found, laid = workspace.upgrade, workspace.upgrade_map
    if view.on_map == "identity":
        return Look(by=IDENTITY)
    if view.on_map != "moved" or found is None or found.moves is None or laid is None:
        return None
    known = dict(zip(found.moves.ids.tolist(), found.moves.moved.tolist()))
    values = np.array([known.get(face, np.nan) for face in laid.ids.tolist()], np.float32)
    return Look(by="", values=values, values_title=tr("moved, higher is farther"))


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
        "groups": view.groups,
        "alone": alone_of(workspace, view),
        "near": near_of(workspace, view),
    }


def near_of(workspace: Workspace, view: View) -> Callable[..., tuple[Links, ...]] | None:
    """What finds the nearest of a face by each model on the map, in truth and not there; None where none is asked."""
    from facelens.analyses.nearest import links

    plan, faces = workspace.resolved_projection, workspace.faces
    face = face_of(faces, view.near) if view.near else None
    features = [workspace.features[name] for name in (plan.model, plan.other) if name in workspace.features]
    if faces is None or face is None or not features:
        return None
    return partial(links, faces, features, face, without=workspace.excluded)


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
    log = view.scale == "log" if view.scale else None
    return (workspace.run,), {"stage": view.stage, "log": log, "hidden": view.hidden}


def held_run(view: View) -> Run | None:
    """The training that a view is of, from its folder."""
    from facelens.session.training import held

    return held(Path(view.run)) if view.run else None


# All of them. Titles are what a figure is called where one is chosen.
DEPICTED: Mapping[str, Depicted] = {
    "gallery": Depicted(
        {"sheet": "Contact sheet"}, actions.faces_shown, drawing.draw_gallery, _gallery, _nothing, _to()
    ),
    "doctor": Depicted(
        {"findings": "Findings", "pictures": "Pictures of a finding"},
        actions.diagnosed,
        drawing.draw_doctor,
        _doctor,
        _nothing,
        _to(),
    ),
    "models": Depicted(
        {"feeding": "Ways of feeding", "table": "Ways of feeding, table", "forms": "Two forms of a model"},
        actions.triable,
        drawing.draw_models,
        _models,
        _nothing,
        _to(),
    ),
    "evaluation": Depicted(
        {
            "roc": "ROC",
            "det": "DET",
            "scores": "Scores",
            "points": "Operating points",
            "summary": "Summary",
            "breakdown": "Breakdown by a column",
            "confusable": "Confusable people",
            "cmc": "CMC",
            "open set": "Open set",
            "rates": "Ranks and rates",
            "retrieval": "Retrieval",
            "queries": "Worst queries",
            "errors": "Errors on tap",
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
            "identities": "Enrolment by person",
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
            "matrix": "Faces and parts",
            "maps": "Maps beside faces",
            "distributions": "Distributions",
            "attributes": "Attributes",
            "attribute curves": "Curves of attributes",
            "correlation": "Correlation",
            "two parts": "Two parts",
            "single parts": "Single parts",
            "recall": "Recall",
            "jury": "Jury of the pair",
            "many pairs": "Jury of many pairs",
        },
        actions.parted,
        drawing.draw_confidence,
        _confidence,
        _hold_jury,
        lambda which, view: ("parts", "study") if which & STUDIED else ("parts",),
    ),
    "learners": Depicted(
        {"specialists": "Specialists", "table": "Table", "dimensions": "Dimensions", "groups": "Clusters",
         "ranks": "Ranks of the current face"},
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
            "grids": "All queries by grid",
            "solvers": "All queries by solver",
            "pairs": "Listed pairs",
            "averaged": "Regions of the selection",
            "ranks": "Ranks of all queries",
            "painted": "Ranks by occlusion",
            "saliency": "Saliency",
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
            "pairs": "Flips of pairs",
            "errors": "Errors of a test",
        },
        actions.upgraded,
        drawing.draw_upgrade,
        _upgrade,
        _nothing,
        lambda which, view: ("upgrade", "upgrade map") if "map" in which else ("upgrade",),
    ),
    "projection": Depicted(
        {"map": "Map", "moved": "Who moved most", "side by side": "Two models side by side"},
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
