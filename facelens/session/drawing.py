"""Figures of faces, evaluations, ensembles, parts, learners, matches, upgrades, maps and trainings as files.

Each function draws those figures of one panel that are asked for, in the worker or in a script alike.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from facelens.errors import InputError
from facelens.progress import Tick, part_of, silent
from facelens.words import escaped, tr

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from facelens.analyses.divided import Learners
    from facelens.analyses.evaluation import Evaluation
    from facelens.analyses.jury import Ruling, Verdict
    from facelens.analyses.parts import Parts
    from facelens.analyses.plan import EnsemblePlan, MatchPlan
    from facelens.analyses.projection import Projection
    from facelens.analyses.reranking import Sweep
    from facelens.analyses.same_class import SameClass
    from facelens.analyses.uncertainty import Uncertainty, Update
    from facelens.analyses.universal import Study
    from facelens.analyses.upgrade import Upgrade
    from facelens.figures.projection import Look
    from facelens.figures.sheet import Paper
    from facelens.figures.transport import Patch
    from facelens.images.faceset import FaceSet, Ids, Rows
    from facelens.images.protocol import Pairs
    from facelens.session.ground import Ground
    from facelens.session.matching import Pair, Searched
    from facelens.session.training import Run

GALLERY = ("sheet",)
CHARTS = ("roc", "det", "scores", "points", "breakdown", "confusable", "cmc", "open set", "retrieval")
UNCERTAINTY = (  # also what their files are called
    "histogram", "1 to 1", "1 to N", "strip", "quadrants", "members", "sizes 1 to 1", "sizes 1 to N", "scatter",
    "update",
)  # fmt: skip
CONFIDENCE = (
    "maps", "distributions", "attributes", "attribute curves", "correlation", "single parts", "recall", "jury",
)  # fmt: skip
LEARNERS = ("specialists", "table", "dimensions", "groups")
MATCH = ("flow", "ranking", "regions", "retrieval", "occlusions", "weights", "flows", "sweep", "table", "pairs")
SWEPT = ("sweep", "table")  # of MATCH: those that need a search for all faces
PUBLISHED = (0.0, 0.3, 0.5, 0.7, 1.0)  # alphas
UPGRADE = (
    "matrix", "gains", "sequence", "table", "directions", "compactness", "flips", "backfill", "same people", "map",
)  # fmt: skip
PROJECTION = ("map", "side by side")
TRAINING = ("curves", "confidences", "clusters")


def draw_gallery(
    out: Path,
    faces: FaceSet,
    rows: Rows,
    *,
    value: str = "",
    which: Sequence[str] = GALLERY,
    paper: Paper | None = None,
    tick: Tick = silent,
) -> list[Path]:
    """Draw the faces at `rows` in their order, each with its number of a column `value`."""
    from facelens.figures.sheet import contact_sheet

    rows = rows if value in faces.columns else faces.listed(rows)  # an order by names must not be seen
    return _written(out, which, lambda name, tick: contact_sheet(faces, rows, value=value, tick=tick), tick, paper)


def draw_charts(
    out: Path,
    evaluation: Evaluation,
    *,
    which: Sequence[str] = CHARTS,
    side: str = "b",
    threshold: float | None = None,
    far: float | None = None,
    faces: FaceSet | None = None,
    paper: Paper | None = None,
    tick: Tick = silent,
) -> list[Path]:
    """Draw charts to `out`, or where there are several to files beside it with their names added; leaves out what
    cannot be drawn, unless nothing can. Scores are those of `side`, with the threshold given; `faces` are those that
    were evaluated, for pictures of them."""

    def figure(name: str, tick: Tick) -> Figure:
        return _figure(evaluation, name, side=side, threshold=threshold, far=far, faces=faces, tick=tick)

    return _written(out, which, figure, tick, paper)


def draw_uncertainty(
    out: Path,
    faces: FaceSet,
    uncertainty: Uncertainty,
    *,
    which: Sequence[str] = UNCERTAINTY,
    step: int = 0,
    lower: bool = False,
    log: bool = False,
    plan: EnsemblePlan | None = None,
    against: str = "",
    update: Callable[..., Update] | None = None,
    paper: Paper | None = None,
    tick: Tick = silent,
) -> list[Path]:
    """The same for an ensemble at a step of coverage; `lower`: its values are negatives, `log`: of the counts.

    `plan` tells the rates, `against` is the column its score is set beside, `update` works out what another query model
    changes.
    """
    from facelens.analyses.ensemble import percentiles
    from facelens.figures import ensembles, quadrants
    from facelens.figures import uncertainty as figures
    from facelens.figures.refusal import score_words
    from facelens.figures.strip import face_strip

    found, whose = uncertainty, ensembles.ensemble_words(uncertainty)
    risks = {"1 to 1": found.verification, "1 to N": found.identification}
    sizes = {"sizes 1 to 1": "1:1", "sizes 1 to N": "1:N"}
    first = found.verification or found.identification
    limit = float(first.limit[min(step, len(first.limit) - 1)]) if first is not None else math.inf
    known = found.recognition

    def figure(name: str, tick: Tick) -> Figure:
        if name == "histogram":
            words = score_words(found.by)
            return figures.draw_histogram(
                found.values, words, limit=limit, log=log, lower=lower, gallery=faces.name, whose=whose
            )
        if name == "strip":
            return face_strip(
                faces, found.ids, values=found.values, percentiles=percentiles(found.values),
                right=known.right if known is not None else None, limit=limit if math.isfinite(limit) else None,
                name=found.by, lower=lower, whose=whose, tick=tick,
            )  # fmt: skip
        if name == "quadrants":
            if known is None:
                raise InputError(tr("Whether the faces are recognised is not worked out yet."))
            groups = quadrants.Groups(found.values, known, limit)
            return quadrants.draw_quadrants(
                faces, found.ids, groups, name=found.by, lower=lower, far=plan.far if plan is not None else None,
                whose=whose, tick=tick,
            )  # fmt: skip
        if name == "members":
            return ensembles.draw_members(found, gallery=faces.name)
        if name in sizes:
            risk = risks[name.removeprefix("sizes ")]
            return ensembles.draw_sizes(found.sizes, task=sizes[name], gallery=faces.name, whose=whose, risk=risk)
        if name == "scatter":
            column = faces.columns.get(against)
            if not isinstance(column, np.ndarray):
                raise InputError(
                    tr("There is no other score to set beside {score}.", score=found.by), hint=tr("Import scores.")
                )
            rows = faces.rows_of(found.ids)
            return ensembles.draw_scatter(
                np.asarray(column, np.float64)[rows], found.values, x_name=against, y_name=found.by, lower=lower,
                right=known.right if known is not None else None, limit=limit, people=faces.identity.codes[rows],
                gallery=faces.name, whose=whose,
            )  # fmt: skip
        if name == "update":
            if update is None:
                raise InputError(
                    tr("There is no other query model to change to."), hint=tr("Embed the gallery with another model.")
                )
            rates = {} if plan is None else {"far": plan.far, "fpir": plan.fpir}
            return ensembles.draw_update(update(tick=tick), gallery=faces.name, **rates)
        risk = risks[name]
        if risk is None:
            raise InputError(tr("What refusing does is not worked out yet."))
        return figures.draw_risk(
            risk, by=found.by, step=min(step, len(risk.coverage) - 1), gallery=faces.name, whose=whose
        )

    return _written(out, which, figure, tick, paper)


def draw_confidence(
    out: Path,
    faces: FaceSet,
    parts: Parts,
    study: Study | None = None,
    *,
    which: Sequence[str] = CONFIDENCE,
    shown: str = "",
    selection: Ids | None = None,
    verdict: Verdict | None = None,
    ruling: Ruling | None = None,
    match: str = "cosine",
    far: float = 1e-3,
    model: str = "",
    paper: Paper | None = None,
    tick: Tick = silent,
) -> list[Path]:
    """The same for the parts of a model: maps of the selected faces, or of some from sure to unsure; what a study has
    by now, at the FAR it was made for; the jury of a pair where there is a verdict."""
    from facelens.figures import confidence, part_study

    shown = shown if shown in parts.values else next(iter(parts.values), "")
    subject = confidence.Subject.of(faces, parts, model)
    missing = InputError(tr("This is not worked out yet."), hint=tr("Wait for the study of the parts."))

    def figure(name: str, tick: Tick) -> Figure:
        if name == "maps":
            return confidence.draw_maps(faces, parts, shown=shown, ids=selection, model=model, tick=tick)
        if name == "distributions":
            return confidence.draw_distributions(faces, parts, shown=shown, model=model, tick=tick)
        if name == "jury":
            if verdict is None:
                raise InputError(tr("No pair is chosen."), hint=tr("Choose two faces."))
            return confidence.draw_jury(faces, parts, verdict, ruling=ruling, match=match, model=model)
        if study is None:
            raise missing
        if name == "attributes":
            return part_study.draw_effects(study, subject)
        if name == "attribute curves":
            return part_study.draw_effect_curves(study, subject)
        if name == "single parts":
            return part_study.draw_without(study, subject, far=far)
        if name == "correlation" and study.correlation is not None:
            return part_study.draw_correlation(study.correlation, subject)
        if name == "recall" and study.curve is not None:
            return part_study.draw_recall(study.curve, subject)
        raise missing

    return _written(out, which, figure, tick, paper)


def draw_learners(
    out: Path,
    faces: FaceSet,
    learners: Learners,
    *,
    which: Sequence[str] = LEARNERS,
    paper: Paper | None = None,
    tick: Tick = silent,
) -> list[Path]:
    """The same for the learners of a divided model, beside its baseline where there is one."""
    from facelens.figures import learners as figures

    def figure(name: str, tick: Tick) -> Figure:
        if name == "specialists":
            return figures.draw_specialists(faces, learners, tick=tick)
        draw = {"table": figures.draw_table, "dimensions": figures.draw_dimensions, "groups": figures.draw_clusters}
        return draw[name](faces, learners)

    return _written(out, which, figure, tick, paper)


def draw_match(
    out: Path,
    faces: FaceSet,
    searched: Searched | None,
    pair: Pair | None,
    *,
    plan: MatchPlan,
    query: int | None = None,
    name: str = "",
    queries: FaceSet | None = None,
    other: Pair | None = None,
    sweep: Sweep | None = None,
    ground: Ground | None = None,
    pairs: Pairs | None = None,
    cut: float = 0.02,
    patch: Patch | None = None,
    which: Sequence[str] = MATCH,
    paper: Paper | None = None,
    tick: Tick = silent,
) -> list[Path]:
    """The same for a search by patches, for one of the faces found, and for all queries.

    `query`, `name` and `queries` say who is searched for, see `matched.Subject`. `other` is the
    nearest face of the other kind; `cut` and `patch` are those on screen, see `figures.transport.draw_flow`. `ground`
    is where was searched: sheets search there for the same face, painted otherwise or weighed in other ways. `pairs`
    are those that a test lists.
    """
    from facelens.figures import reranking, retrieved, transport, weighing
    from facelens.session import deciding
    from facelens.session.match_sheets import Sheets
    from facelens.session.matched import Subject, first_face

    missing = InputError(tr("No match is worked out yet."), hint=tr("Search for a face first."))
    subject = Subject(faces, searched, plan, query, name, queries)

    def sheet(which: str, searched: Searched, tick: Tick) -> Figure:
        """What is worked out here."""
        if faces.behind is not None:
            message = tr("This sheet is worked out from pictures as they are, so there is none in disguise.")
            raise InputError(message, hint=tr("Switch pseudonyms and blurring off for it."))
        if ground is None or query is None:
            raise missing
        sheets = Sheets(ground, subject, query)
        part = part_of(tick, 0, 2)
        if which in ("retrieval", "occlusions"):
            blocks = [sheets.block(searched.occlusion, tick=part)] if which == "retrieval" else sheets.blocks(tick=part)
            return retrieved.draw_retrieval(faces, blocks, plan=plan, told=subject.told, tick=part_of(tick, 1, 2))
        face = pair.found.gallery if pair is not None else first_face(searched, plan.alpha)
        if face is None:
            raise missing
        if which == "flows":
            weighed = sheets.weighed(face, searched.occlusion, sheets.weights(), tick=part)
            return weighing.draw_flows(weighed, plan=plan, told=subject.told)
        return weighing.draw_weights(sheets.by_occlusion(face, tick=part), plan=plan, told=subject.told)

    def verified(tick: Tick) -> Figure:
        if ground is None or pairs is None:
            raise InputError(tr("No test with pairs is open."), hint=tr("Read a list of pairs in Evaluation first."))
        alphas = sorted({*PUBLISHED, max(plan.alpha, 0.0)})
        found = deciding.verify(ground, pairs, plan, alphas=(*alphas, -1.0), tick=tick)
        grid = pair.found.grid if pair is not None else plan.grid
        return reranking.draw_verified(found, plan=plan, told=subject.whose(grid))

    def figure(which: str, tick: Tick) -> Figure:
        if which == "pairs":
            return verified(tick)
        if which in SWEPT:
            if sweep is None:
                raise InputError(tr("All queries are not searched for yet."), hint=tr("Search for all faces first."))
            grid = pair.found.grid if pair is not None else plan.grid
            draw = {"sweep": reranking.draw_sweep, "table": reranking.draw_before_after}[which]
            return draw(sweep, plan=plan, told=subject.swept(sweep, grid))
        if searched is None:
            raise missing
        if which in ("retrieval", "occlusions", "weights", "flows"):
            return sheet(which, searched, tick)
        if which == "ranking":
            right = searched.right if subject.known else None
            first = searched.first, searched.after(plan.alpha)
            return reranking.draw_ranking(
                faces, searched.found, query=subject.query(), right=right, first=first, plan=plan, told=subject.told,
                tick=tick,
            )  # fmt: skip
        if pair is None:
            raise missing
        if which == "flow":
            return transport.draw_flow(subject.match(pair), plan=plan, told=subject.told, cut=cut, patch=patch)
        against = None if other is None else subject.match(other)
        return transport.draw_regions(subject.match(pair), against, plan=plan, told=subject.told)

    return _written(out, which, figure, tick, paper)


def draw_upgrade(
    out: Path,
    faces: FaceSet,
    found: Upgrade,
    *,
    task: str = "",
    order: str = "",
    share: float | None = None,
    people: SameClass | None = None,
    laid: Projection | None = None,
    dimensions: Mapping[str, int] | None = None,
    which: Sequence[str] = UPGRADE,
    paper: Paper | None = None,
    tick: Tick = silent,
) -> list[Path]:
    """The same for an upgrade, by its `task`; `order` of the backfill is in front, `people` are shown by upgrades,
    `laid` is the map of old and new, and `dimensions` are those of the models."""
    from facelens.figures import backfill, crossing, flips, same_class, upgrade_table
    from facelens.figures.projection import Look, draw_map

    tests = {
        "matrix": crossing.draw_matrix,
        "gains": crossing.draw_gains,
        "sequence": crossing.draw_sequence,
        "directions": upgrade_table.draw_directions,
    }

    def figure(name: str, tick: Tick) -> Figure:
        if name in tests:
            return tests[name](found, gallery=faces.name, task=task)
        if name == "table":
            return upgrade_table.draw_upgrade_table(found, gallery=faces.name, task=task, dimensions=dimensions)
        if name == "compactness":
            return upgrade_table.draw_compactness(found, gallery=faces.name)
        if name == "flips":
            return flips.draw_flips(faces, found, tick=tick)
        if name == "backfill":
            return backfill.draw_backfill(found, gallery=faces.name, task=task, order=order, share=share)
        if name == "map":
            if laid is None:
                raise InputError(tr("The map of old and new is not there yet."), hint=tr("Wait for it."))
            return draw_map(faces, laid, Look(by="change", change=found.change_of(laid.ids)))
        if people is None:
            raise InputError(tr("Nobody is chosen to be shown by two upgrades."))
        return same_class.draw_same_class(faces, people)

    return _written(out, which, figure, tick, paper)


def draw_projection(
    out: Path,
    faces: FaceSet,
    found: Projection,
    *,
    look: Look | None = None,
    alone: Sequence[Callable[..., Projection]] = (),
    which: Sequence[str] = PROJECTION,
    paper: Paper | None = None,
    tick: Tick = silent,
) -> list[Path]:
    """The same for a map of the faces; `alone` lay out each of some models by itself."""
    from facelens.figures.projection import draw_map, draw_side_by_side

    def figure(name: str, tick: Tick) -> Figure:
        if name == "map":
            return draw_map(faces, found, look)
        if len(alone) < 2:
            raise InputError(
                tr("There is no other model to stand beside this one."),
                hint=tr("Embed the gallery with another model."),
            )
        sides = [lay(tick=part_of(tick, i, len(alone))) for i, lay in enumerate(alone)]
        return draw_side_by_side(faces, sides, look)

    return _written(out, which, figure, tick, paper)


def draw_training(
    out: Path,
    run: Run,
    *,
    stage: str = "",
    which: Sequence[str] = TRAINING,
    paper: Paper | None = None,
    tick: Tick = silent,
) -> list[Path]:
    """The same for a training as far as it is: its `stage`, or where it has several the last one that has begun."""
    from facelens.figures import training as figures

    shown = stage if stage in run.stages else run.stage
    rows = [row for row in run.rows if row.get("stage", "") == shown]
    recipe = run.recipe
    told = [
        escaped(recipe.name or recipe.kind),
        *([tr("stage {name}", name=escaped(shown))] if shown else []),
        tr("on {name}", name=escaped(run.name)) if run.name else tr("on drawn people"),
        tr("seed {n}", n=recipe.seed),
    ]
    draw = {"curves": figures.draw_curves, "confidences": figures.draw_confidences, "clusters": figures.draw_clusters}
    return _written(out, which, lambda name, tick: draw[name](rows, told), tick, paper)


def _written(
    out: Path, which: Sequence[str], draw: Callable[[str, Tick], Figure], tick: Tick, paper: Paper | None
) -> list[Path]:
    from facelens.figures.sheet import save

    written, problem = [], None
    for i, name in enumerate(which):
        tick(i, len(which), name)
        path = out if len(which) == 1 else out.with_name(f"{out.stem} {name}{out.suffix}")
        try:
            written.append(save(draw(name, part_of(tick, i, len(which))), path, paper=paper))
        except InputError as error:
            problem = error
    if not written and problem is not None:
        raise problem
    tick(len(which), len(which))
    return written


def _figure(
    evaluation: Evaluation, name: str, *, side: str, threshold: float | None, far: float | None, faces: FaceSet | None,
    tick: Tick,
) -> Figure:  # fmt: skip
    from facelens.figures import breakdown, charts

    report = getattr(evaluation, side) or evaluation.b or evaluation.a
    if name == "scores":
        if report is None or report.verification is None:
            raise InputError(tr("There are no scores to draw."))
        return charts.histogram(report, threshold=threshold, far=far, told=charts.of_whom(evaluation, report))
    if name == "confusable":
        if report is None or report.verification is None or faces is None:
            raise InputError(tr("There are no scores to draw."))
        return breakdown.draw_confusable(faces, evaluation, report, tick=tick)
    if name == "breakdown":
        return breakdown.draw_breakdown(evaluation, far=far)
    draw = {
        "roc": charts.roc,
        "det": charts.det,
        "points": charts.operating_points,
        "cmc": charts.cmc,
        "open set": charts.open_set,
        "retrieval": breakdown.draw_retrieval,
    }[name]
    return draw(evaluation)
