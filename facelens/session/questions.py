"""Questions: what is asked of a workspace, the work that answers it, and where the answer is kept.

Each question follows from the workspace, so the window, a figure that is redrawn next year and a report ask the same.
`QUESTIONS` is the table of those whose answers the workspace keeps; `answered` works some of them out here and now, the
window asks the worker (`views/asking.py`).
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from facelens.progress import Tick, part_of, silent
from facelens.session import filters, folders
from facelens.session.jobs import Request
from facelens.session.workspace import (
    Answer,
    Assessed,
    Evaluated,
    Workspace,
    attributes,
    with_answer,
    with_variance,
)
from facelens.words import escaped, tr

if TYPE_CHECKING:
    from facelens.analyses.uncertainty import Uncertainty
    from facelens.features.featureset import FeatureSet
    from facelens.images.faceset import Ids
    from facelens.session.ground import Ground

Question = tuple[object, ...]

# Slots of their jobs.
EVALUATE, ASSESS, PARTS, STUDY, LEARNERS, PROJECT = "evaluate", "assess", "parts", "study", "learners", "projection"
SEARCH, SWEEP, QUERIES = "match", "sweep", "query vectors"
FEED, FORMS = "feeding", "parity"
UPGRADE, UPGRADE_MAP, UPGRADE_ERRORS = "upgrade", "upgrade map", "upgrade errors"

KEPT_FIRST = 0.95  # share of the faces that are kept before anybody moved the line


# Evaluation


def evaluation(workspace: Workspace) -> Request | None:
    """What measures models A and B by the test that is asked for."""
    from facelens.analyses import evaluation

    if not workspace.question:
        return None
    return Request(
        title=tr("Evaluate {names}", names=tr(" and ").join(workspace.evaluable)),
        call=evaluation.evaluate_both,
        args=(workspace.faces, workspace.protocol, workspace.plan),
        kwargs={**sides(workspace), "excluded": workspace.excluded},
        slot=EVALUATE,
        unit="",  # its steps mean nothing to anybody
        short=True,
    )


def sides(workspace: Workspace) -> dict[str, FeatureSet | None]:
    """Vectors of gallery and queries for each side. A side is named for its queries; both at once may be one model."""
    a, b = (workspace.features.get(name) for name in (workspace.model_a, workspace.model_b))
    return {
        "a": b if workspace.crossing == "ab" else a,
        "b": a if workspace.crossing == "ba" else b,
        "query_a": a if workspace.crossing == "ab" else None,
        "query_b": b if workspace.crossing == "ba" else None,
    }


# Uncertainty


def uncertainty(workspace: Workspace) -> Request | None:
    """What puts the ensemble together; a FilterError where the people it is fitted on cannot be found."""
    from facelens.analyses import uncertainty

    if not workspace.ensemble_question:
        return None
    return Request(
        title=tr("Ensemble of {names}", names=", ".join(workspace.resolved_ensemble.members)),
        call=uncertainty.assess,
        args=(workspace.faces, workspace.resolved_ensemble),
        kwargs=ensemble_of(workspace),
        slot=ASSESS,
        unit="",
        short=True,
    )


def ensemble_of(workspace: Workspace) -> dict[str, Any]:
    """What an ensemble works with."""
    plan, faces = workspace.resolved_ensemble, workspace.faces
    assert faces is not None
    names = dict.fromkeys((*plan.members, plan.target))
    return {
        "features": {name: workspace.features[name] for name in names},
        "networks": {name: found.card.design for name in names if (found := workspace.inspection(name)) is not None},
        "fitting": faces.ids[filters.parse(plan.fitted_on).rows(faces)] if plan.fitted_on else None,
        "excluded": workspace.excluded,
        "folder": transforms(),
    }


def transforms() -> Path:
    """Where fitted transforms are kept."""
    return folders.cache() / "transforms"


def limit_of(workspace: Workspace) -> float:
    """Faces whose score is above it are refused; infinite where none is."""
    found = workspace.uncertainty
    risk = found.verification if found is not None else None
    return float(risk.limit[min(workspace.refusal, len(risk.limit) - 1)]) if risk is not None else math.inf


def first_step(found: Uncertainty) -> int:
    """Where the line stands before anybody moved it: 5 % are refused, where that can be asked."""
    risk = found.verification
    return int(abs(risk.coverage - KEPT_FIRST).argmin()) if risk is not None else 0


# Confidence and learners


def parts(workspace: Workspace) -> Request | None:
    """What finds the parts of an embedding."""
    from facelens.analyses import parts

    plan = workspace.resolved_parts
    if workspace.faces is None or not plan.model:
        return None
    return Request(
        title=tr("Parts of {name}", name=plan.model),
        call=parts.cut,
        args=(workspace.faces, plan),
        kwargs={"features": workspace.features[plan.model], "excluded": workspace.excluded},
        slot=PARTS,
        unit="",
        short=True,
    )


def study(workspace: Workspace) -> Request | None:
    """What studies the parts that are there."""
    from facelens.analyses import universal

    plan, found = workspace.resolved_parts, workspace.parts
    if workspace.faces is None or found is None:
        return None
    shown = plan.show if plan.show in found.values else next(iter(found.values), "")
    match = plan.match if found.log_variance is not None else "cosine"
    return Request(
        title=tr("What the parts of {name} are good for", name=plan.model),
        call=universal.study,
        args=(workspace.faces, found, replace(plan, show=shown, match=match)),
        kwargs={"features": workspace.features[plan.model], "columns": attributes(workspace.faces)},
        slot=STUDY,
        unit="",
        short=True,
    )


def learners(workspace: Workspace) -> Request | None:
    """What looks at the learners of a divided embedding."""
    from facelens.analyses import divided

    plan = workspace.resolved_learners
    if workspace.faces is None or not plan.model:
        return None
    names = [name for name in (plan.model, plan.baseline) if name]
    return Request(
        title=tr("Learners of {name}", name=plan.model),
        call=divided.learners,
        args=(workspace.faces, plan),
        kwargs={"features": {name: workspace.features[name] for name in names}, "excluded": workspace.excluded},
        slot=LEARNERS,
        unit="",
        short=True,
    )


# Projection


def projection(workspace: Workspace, *, refine: bool = True, anew: bool = False) -> Request | None:
    """What lays the faces out on a map; without `refine` by principal components only."""
    from facelens.analyses.parts import layout
    from facelens.analyses.projection import project
    from facelens.errors import FaceLensError
    from facelens.figures.projection_words import title

    plan = workspace.resolved_projection
    if workspace.faces is None or not plan.model:
        return None
    features = workspace.features[plan.model]
    try:
        ground = layout(features, workspace.cutting(plan.model))
    except FaceLensError:
        ground = None
    return Request(
        title=title(plan, plan.method, ground),
        call=project,
        args=(workspace.faces, plan),
        kwargs={
            "features": features,
            "other": workspace.features[plan.other] if plan.other else None,
            "parts_plan": workspace.cutting(plan.model),
            "excluded": workspace.excluded,
            "folder": maps(),
            "refine": refine,
            "anew": anew,
        },
        slot=PROJECT,
        unit="",
        short=True,
    )


def maps() -> Path:
    """Where finished maps are kept."""
    return folders.cache() / "projections"


# Match


def ground(workspace: Workspace) -> Ground:
    """Where is searched now, and by which model."""
    from facelens.features.patching import Model
    from facelens.session.ground import Ground

    plan = workspace.resolved_match
    seen = workspace.inspection(plan.model)
    assert seen is not None and workspace.faces is not None
    return Ground(
        workspace.faces,
        workspace.features[plan.model],
        Model(seen.path, seen.card, folders.consents()),
        folders.cache() / "patches",
        excluded=workspace.excluded,
        queries=workspace.queries,
        asking=workspace.queries_features,
        quarantined=folders.quarantine(),
    )


def query_vectors(workspace: Workspace, root: Path | None = None) -> Request | None:
    """What gives the queries of another gallery their vectors, which are kept under `root`."""
    from facelens.session import match_queries

    if workspace.queries is None or not workspace.resolved_match.model:
        return None
    return Request(
        title=tr("Embed {name}", name=escaped(workspace.queries.name)),
        call=match_queries.embed,
        args=(workspace.queries, ground(workspace).model),
        kwargs={"root": root or folders.vectors(), "quarantined": folders.quarantine()},
        slot=QUERIES,
    )


def search(workspace: Workspace) -> Request | None:
    """What finds the query in the gallery."""
    from facelens.session import matching

    if workspace.faces is None or not workspace.match_question:
        return None
    return Request(
        title=tr("Search by patches"),
        call=matching.search,
        args=(ground(workspace), workspace.query, workspace.resolved_match),
        kwargs={"occlusion": workspace.occlusion},
        slot=SEARCH,
        short=True,
    )


def explanation(workspace: Workspace, gallery: int, *, slot: str) -> Request:
    """What tells why the query and a face match as they do."""
    from facelens.session import matching

    return Request(
        title=tr("Explain a match"),
        call=matching.explain,
        args=(ground(workspace), workspace.query, gallery, workspace.resolved_match),
        kwargs={"occlusion": workspace.occlusion},
        slot=slot,
        short=True,
    )


def sweep(workspace: Workspace) -> Request | None:
    """What searches for every face."""
    from facelens.session import matching

    if workspace.faces is None or not workspace.sweep_question:
        return None
    return Request(
        title=tr("Search for all faces"),
        call=matching.sweep,
        args=(ground(workspace), workspace.resolved_match),
        kwargs={"occlusion": workspace.occlusion},
        slot=SWEEP,
        unit=tr("queries"),
    )


# Upgrade


def upgrade(workspace: Workspace) -> Request | None:
    """What looks at the upgrade that is asked for."""
    from facelens.session import upgrading

    plan = workspace.resolved_upgrade
    if workspace.faces is None or not workspace.upgradable:
        return None
    return Request(
        title=tr("Upgrade of {old} to {new}", old=escaped(plan.old), new=escaped(plan.new)),
        call=upgrading.study,
        args=(workspace.faces, plan),
        kwargs=_models_of_upgrade(workspace),
        slot=UPGRADE,
        unit="",
        short=True,
    )


def upgrade_errors(workspace: Workspace, test: tuple[str, str, str]) -> Request | None:
    """What lists the errors of a test (query, gallery, direction)."""
    from facelens.session import upgrading

    plan, (query, gallery, _) = workspace.resolved_upgrade, test
    if workspace.faces is None or not workspace.upgradable:
        return None
    return Request(
        title=tr("Errors of {query}/{gallery}", query=escaped(query), gallery=escaped(gallery)),
        call=upgrading.errors,
        args=(workspace.faces, plan, test),
        kwargs=_models_of_upgrade(workspace),
        slot=UPGRADE_ERRORS,
        unit="",
        short=True,
    )


def feeding(workspace: Workspace, model: str, pair: Ids | None = None) -> Request | None:
    """What feeds a sample to a model in other ways; `pair` are two faces whose score is told as well."""
    from facelens.session import tasks

    faces, found = workspace.kept_faces, workspace.inspection(model)
    if faces is None or found is None:
        return None
    rows = faces.rows_of(pair).tolist() if pair is not None else []
    return Request(
        title=tr("Try ways of feeding {name}", name=model),
        call=tasks.try_feeding,
        args=(faces, found.path),
        kwargs={
            "card": found.card,
            "consents": folders.consents(),
            "pair": (rows[0], rows[1]) if len(rows) == 2 else None,
        },
        slot=FEED,
    )


def forms(workspace: Workspace, model: str, other: Path) -> Request | None:
    """What compares a model with another file of it."""
    from facelens.session import tasks

    faces, found = workspace.kept_faces, workspace.inspection(model)
    if faces is None or found is None:
        return None
    names = {"a": escaped(found.path.name), "b": escaped(other.name)}
    return Request(
        title=tr("Compare {a} and {b}", **names),
        call=tasks.compare_forms,
        args=(faces, found.path, other),
        kwargs={"consents": folders.consents()},
        slot=FORMS,
    )


def upgrade_map(workspace: Workspace, *, refine: bool = True) -> Request | None:
    """What lays out the faces as both models have them."""
    from facelens.analyses.projection import project

    plan = workspace.upgrade_map_plan
    if workspace.faces is None or not workspace.upgradable:
        return None
    return Request(
        title=tr("Map of {old} and {new}", old=escaped(plan.model), new=escaped(plan.other)),
        call=project,
        args=(workspace.faces, plan),
        kwargs={
            "features": workspace.features[plan.model],
            "other": workspace.features[plan.other],
            "excluded": workspace.excluded,
            "folder": maps(),
            "refine": refine,
        },
        slot=UPGRADE_MAP,
        unit="",
        short=True,
    )


def _models_of_upgrade(workspace: Workspace) -> dict[str, object]:
    plan = workspace.resolved_upgrade
    names = filter(None, (plan.old, plan.new, plan.upper, *plan.others))
    return {
        "features": {name: workspace.features[name] for name in names},
        "excluded": workspace.excluded,
        "folder": transforms(),
    }


# All of them


@dataclass(frozen=True)
class Asked:
    """One kind of question whose answer the workspace keeps."""

    question: Callable[[Workspace], Question]  # empty where nothing is asked
    request: Callable[[Workspace], Request | None]
    keep: Callable[[Workspace, Question, Any], dict[str, object]]  # fields of the workspace with the answer
    there: Callable[[Workspace], bool]  # whether it is answered
    after: tuple[str, ...] = ()  # what has to be answered before


def _keep_evaluation(workspace: Workspace, question: Question, found: Any) -> dict[str, object]:
    return {"evaluated": with_answer(workspace, Evaluated(question, found))}


def _keep_uncertainty(workspace: Workspace, question: Question, found: Any) -> dict[str, object]:
    assert workspace.faces is not None
    return {"assessed": Assessed(question, found), "faces": with_variance(workspace.faces, found)}


def _kept(field: str) -> Callable[[Workspace, Question, Any], dict[str, object]]:
    return lambda workspace, question, found: {field: Answer(question, found)}


def _plain(question: str, request: Callable[[Workspace], Request | None], field: str, *after: str) -> Asked:
    """A question of the workspace by its name, whose Answer is kept in `field`."""

    def there(workspace: Workspace) -> bool:
        kept = getattr(workspace, field)
        return kept is not None and kept.question == getattr(workspace, question)

    return Asked(lambda workspace: getattr(workspace, question), request, _kept(field), there, after)  # type: ignore[no-any-return]


QUESTIONS: Mapping[str, Asked] = {
    "evaluation": Asked(
        lambda workspace: workspace.question, evaluation, _keep_evaluation, lambda w: w.evaluation is not None
    ),
    "uncertainty": Asked(
        lambda workspace: workspace.ensemble_question,
        uncertainty,
        _keep_uncertainty,
        lambda w: w.uncertainty is not None and w.uncertainty.complete,
    ),
    "parts": _plain("parts_question", parts, "parts_answer"),
    "study": _plain("study_question", study, "study_answer", "parts"),
    "learners": _plain("learners_question", learners, "learners_answer"),
    "projection": _plain("projection_question", projection, "projection_answer"),
    "query vectors": _plain("queries_question", query_vectors, "queries_answer"),
    "match": _plain("match_question", search, "match_answer", "query vectors"),
    "sweep": _plain("sweep_question", sweep, "sweep_answer", "query vectors"),
    "upgrade": _plain("upgrade_question", upgrade, "upgrade_answer"),
    "upgrade map": _plain("upgrade_map_question", upgrade_map, "upgrade_map_answer"),
}


# Results that a workspace file notes. A search by patches and maps are not among them: their pages ask by themselves.
NOTED = ("evaluation", "uncertainty", "parts", "study", "learners", "upgrade")


def digest(question: Question) -> str:
    """A name for what was asked: which faces, vectors, rules and columns."""
    return hashlib.sha256(repr(question).encode("utf-8", "backslashreplace")).hexdigest()


def results(workspace: Workspace) -> dict[str, str]:
    """The results that are there, each by the digest of its question."""
    asked = {name: QUESTIONS[name] for name in NOTED}
    questions = {name: one.question(workspace) for name, one in asked.items() if one.there(workspace)}
    return {name: digest(question) for name, question in questions.items() if question}


def answered(workspace: Workspace, names: Iterable[str], *, tick: Tick = silent) -> Workspace:
    """The workspace with answers to these of QUESTIONS, worked out now where they are not there.

    What cannot be asked of it (no vectors, no query) stays without an answer; what fails raises.
    """
    wanted = list(dict.fromkeys(one for name in names for one in (*QUESTIONS[name].after, name)))
    for place, name in enumerate(wanted):
        asked = QUESTIONS[name]
        question = asked.question(workspace)
        if not question or asked.there(workspace) or (request := asked.request(workspace)) is None:
            continue
        found = request.call(*request.args, **request.kwargs, tick=part_of(tick, place, len(wanted)))
        workspace = replace(workspace, **asked.keep(workspace, question, found))  # type: ignore[arg-type]
    return workspace
