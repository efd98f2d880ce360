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

    from facelens.analyses.cross_errors import CrossErrors
    from facelens.analyses.divided import Learners
    from facelens.analyses.evaluation import Evaluation
    from facelens.analyses.jury import Average, Ruling, Verdict
    from facelens.analyses.nearest import Links
    from facelens.analyses.parts import Parts
    from facelens.analyses.plan import EnsemblePlan, MatchPlan
    from facelens.analyses.projection import Projection
    from facelens.analyses.reranking import Sweep
    from facelens.analyses.same_class import SameClass
    from facelens.analyses.uncertainty import Uncertainty, Update
    from facelens.analyses.universal import Study
    from facelens.analyses.upgrade import Upgrade
    from facelens.features.parity import Parity
    from facelens.features.whatif import WhatIf
    from facelens.figures.projection import Look
    from facelens.figures.sheet import Paper
    from facelens.figures.transport import Patch
    from facelens.images.doctor import Finding
    from facelens.images.faceset import FaceSet, Ids, Rows
    from facelens.images.protocol import Pairs
    from facelens.session.ground import Ground
    from facelens.session.listing import Listing
    from facelens.session.matching import Ledgers, Pair, Salient, Searched
    from facelens.session.training import Run

    Tried = tuple[MatchPlan, Sweep | Callable[..., Sweep]]

GALLERY = ("sheet",)
DOCTOR = ("findings", "pictures")
MODELS = ("feeding", "table", "forms")
CHARTS = (
    "roc", "det", "scores", "points", "summary", "breakdown", "confusable", "cmc", "open set", "rates", "retrieval",
    "queries", "errors",
)  # fmt: skip
UNCERTAINTY = (  # also what their files are called
    "histogram", "1 to 1", "1 to N", "strip", "identities", "quadrants", "members", "sizes 1 to 1", "sizes 1 to N",
    "scatter", "update",
)  # fmt: skip
CONFIDENCE = (
    "matrix", "maps", "distributions", "attributes", "attribute curves", "correlation", "two parts", "single parts",
    "recall", "jury", "many pairs",
)  # fmt: skip
LEARNERS = ("specialists", "table", "dimensions", "groups", "ranks")
MATCH = (
    "flow", "ranking", "regions", "retrieval", "occlusions", "weights", "flows", "sweep", "table", "grids", "solvers",
    "pairs", "averaged", "ranks", "painted", "saliency",
)  # fmt: skip
SWEPT = ("sweep", "table", "grids", "solvers", "ranks")  # of MATCH: those that need a search for all faces
SETTINGS = {"grids": "grid", "solvers": "solver"}  # what differs between the searches that these compare
PUBLISHED = (0.0, 0.3, 0.5, 0.7, 1.0)  # alphas
UPGRADE = (
    "matrix", "gains", "sequence", "table", "directions", "compactness", "flips", "backfill", "same people", "map",
    "pairs", "errors",
)  # fmt: skip
PROJECTION = ("map", "moved", "side by side")
TRAINING = ("curves", "confidences", "clusters")


def draw_gallery(
    out: Path,
    faces: FaceSet,
    rows: Rows,
    *,
    value: str = "",
    group: str = "",
    total: int = 0,
    which: Sequence[str] = GALLERY,
    paper: Paper | None = None,
    tick: Tick = silent,
) -> list[Path]:
    """Draw the faces at `rows` in their order, each with its number of a column `value`, under the names of a column
    `group`; they are the first of `total`, where there were more."""
    from facelens.figures.sheet import contact_sheet

    rows = rows if value in faces.columns else faces.listed(rows)  # an order by names must not be seen
    rows = _regrouped(faces, rows, group) if faces.disguised else rows  # nor that of groups

    def figure(name: str, tick: Tick) -> Figure:
        return contact_sheet(faces, rows, value=value, group=group, total=total, tick=tick)

    return _written(out, which, figure, tick, paper)


def _regrouped(faces: FaceSet, rows: Rows, group: str) -> Rows:
    """Rows with groups in the order of what they are called now, those without a name last."""
    from facelens.images.faceset import Labels

    column = faces.identity if group == "identity" else faces.columns.get(group)
    if not isinstance(column, Labels):
        return rows
    names = [(code < 0, column.names[code] if code >= 0 else "") for code in column.codes[rows].tolist()]
    return rows[sorted(range(len(rows)), key=names.__getitem__)]


def draw_doctor(
    out: Path,
    faces: FaceSet,
    findings: Sequence[Finding],
    *,
    checked: int,
    kind: str = "",
    which: Sequence[str] = DOCTOR,
    paper: Paper | None = None,
    tick: Tick = silent,
) -> list[Path]:
    """The same for what the doctor found; `kind` is the finding whose pictures are drawn, else the first with some."""
    from facelens.figures.findings import draw_finding, draw_findings

    def figure(name: str, tick: Tick) -> Figure:
        if name == "findings":
            return draw_findings(faces, findings, checked=checked)
        pictured = [one for one in findings if len(one.ids)]
        chosen = next((one for one in findings if one.kind == kind), pictured[0] if pictured else None)
        if chosen is None:
            raise InputError(tr("No finding is about single pictures."))
        return draw_finding(faces, chosen, tick=tick)

    return _written(out, which, figure, tick, paper)


def draw_models(
    out: Path,
    faces: FaceSet,
    *,
    model: str = "",
    feeding: WhatIf | Callable[..., WhatIf] | None = None,
    forms: Parity | Callable[..., Parity] | None = None,
    which: Sequence[str] = MODELS,
    paper: Paper | None = None,
    tick: Tick = silent,
) -> list[Path]:
    """The same for trials of models: what came of `feeding` a model in other ways, how far two `forms` of one are
    apart; or what works that out."""
    from facelens.figures import parity, whatif

    known: list[WhatIf] = []  # figure and table are of one trial

    def figure(name: str, tick: Tick) -> Figure:
        if name == "forms":
            if forms is None:
                raise InputError(tr("No two forms were compared."), hint=tr("Compare forms on the Models page first."))
            found = forms(tick=part_of(tick, 0, 2)) if callable(forms) else forms
            return parity.draw_forms(faces, found, tick=part_of(tick, 1, 2))
        if feeding is None:
            raise InputError(tr("No other way of feeding was tried."), hint=tr("Feeding what-if on the Models page."))
        if not known:
            known.append(feeding(tick=tick) if callable(feeding) else feeding)
        draw = {"feeding": whatif.draw_feeding, "table": whatif.draw_feeding_table}[name]
        return draw(known[0], gallery=faces.name, model=model)

    return _written(out, which, figure, tick, paper)


def draw_charts(
    out: Path,
    evaluation: Evaluation,
    *,
    which: Sequence[str] = CHARTS,
    side: str = "b",
    threshold: float | None = None,
    far: float | None = None,
    faces: FaceSet | None = None,
    worst: str = "",
    asked: str = "b",
    listed: Listing | None = None,
    paper: Paper | None = None,
    tick: Tick = silent,
) -> list[Path]:
    """Draw charts to `out`, or where there are several to files beside it with their names added; leaves out what
    cannot be drawn, unless nothing can. Scores are those of `side`, with the threshold given; `faces` are those that
    were evaluated, for pictures of them; `worst` is the measure by which the worst queries come first, those of the
    model `asked`; `listed` are the pairs behind what was clicked."""

    def figure(name: str, tick: Tick) -> Figure:
        if name == "queries":
            from facelens.figures.worst import draw_worst

            report = getattr(evaluation, asked) or evaluation.b or evaluation.a
            if report is None or faces is None:
                raise InputError(tr("There are no scores to draw."))
            return draw_worst(faces, evaluation, report, by=worst, tick=tick)
        if name == "errors":
            return _listed(evaluation, listed, faces, tick)
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
    people: Sequence[int] = (),
    against: str = "",
    update: Callable[..., Update] | None = None,
    paper: Paper | None = None,
    tick: Tick = silent,
) -> list[Path]:
    """The same for an ensemble at a step of coverage; `lower`: its values are negatives, `log`: of the counts.

    `plan` tells the rates, `people` are codes of those who are listed, `against` is the column its score is set beside,
    `update` works out what another query model changes.
    """
    from facelens.analyses.ensemble import percentiles
    from facelens.figures import ensembles, quadrants
    from facelens.figures import uncertainty as figures
    from facelens.figures.enrolled import draw_enrolment
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
        if name == "identities":
            return draw_enrolment(
                faces, found.ids, found.values, known, limit=limit, people=people, name=found.by, lower=lower,
                whose=whose, tick=tick,
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
    listed: Ids | None = None,
    columns: Sequence[int] = (),
    by: str = "mean",
    descending: bool = True,
    verdict: Verdict | None = None,
    ruling: Ruling | None = None,
    average: Callable[[], tuple[Average, Ruling]] | None = None,
    match: str = "cosine",
    part: int = 0,
    other: int = -1,
    far: float = 1e-3,
    model: str = "",
    paper: Paper | None = None,
    tick: Tick = silent,
) -> list[Path]:
    """The same for the parts of a model: a matrix of faces as they are `listed`; maps of the selected faces, or of some
    from sure to unsure; what a study has by now, at the FAR it was made for; the jury of a pair where there is a
    verdict; `average` works out its votes on many pairs; `part` and `other` are two parts, that with the one most like
    it by default."""
    from facelens.figures import confidence, part_pairs, part_study

    shown = shown if shown in parts.values else next(iter(parts.values), "")
    subject = confidence.Subject.of(faces, parts, model)
    missing = InputError(tr("This is not worked out yet."), hint=tr("Wait for the study of the parts."))

    def nearest() -> int:
        """The part most like the current one."""
        alike = study.correlation if study is not None else None
        values = None if alike is None else alike.centre if alike.centre is not None else alike.slices
        if values is None:
            raise missing
        row = np.where(np.isfinite(values[part]), values[part], -np.inf)
        row[part] = -np.inf
        return int(row.argmax())

    def figure(name: str, tick: Tick) -> Figure:
        if name == "matrix":
            return confidence.draw_matrix(
                faces, parts, shown=shown, ids=listed, columns=columns, by=by, descending=descending, model=model,
                tick=tick,
            )  # fmt: skip
        if name == "maps":
            return confidence.draw_maps(faces, parts, shown=shown, ids=selection, model=model, tick=tick)
        if name == "distributions":
            return confidence.draw_distributions(faces, parts, shown=shown, model=model, tick=tick)
        if name == "many pairs":
            if average is None:
                raise missing
            return part_pairs.draw_average(*average(), parts, subject, match=match)
        if name == "two parts":
            return part_pairs.draw_two_parts(parts, subject, part, other if other >= 0 else nearest())
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
    k: int = 1,
    limit: int = 1,
    face: int | None = None,
    part: int = -1,
    paper: Paper | None = None,
    tick: Tick = silent,
) -> list[Path]:
    """The same for the learners of a divided model, beside its baseline where there is one: Recall@k, specialists that
    others find beyond `limit`, the ranks of one face with the learner `part` in front."""
    from facelens.figures import learners as figures

    def figure(name: str, tick: Tick) -> Figure:
        if name == "specialists":
            return figures.draw_specialists(faces, learners, limit=limit, tick=tick)
        if name == "ranks":
            return figures.draw_ranks(faces, learners, face, part=part)
        if name == "groups":
            return figures.draw_clusters(faces, learners)
        draw = {"table": figures.draw_table, "dimensions": figures.draw_dimensions}
        return draw[name](faces, learners, k=k)

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
    tried: Sequence[Tried] = (),
    ground: Ground | None = None,
    pairs: Pairs | None = None,
    cut: float = 0.02,
    patch: Patch | None = None,
    cells: str = "flow",
    order: str = "",
    averaged: tuple[int, Callable[..., Ledgers]] | None = None,
    painted: Mapping[str, Searched] | None = None,
    salient: Sequence[Salient | Callable[..., Salient]] = (),
    which: Sequence[str] = MATCH,
    paper: Paper | None = None,
    tick: Tick = silent,
) -> list[Path]:
    """The same for a search by patches, for one of the faces found, and for all queries.

    `query`, `name` and `queries` say who is searched for, see `matched.Subject`. `other` is the nearest face of the
    other kind; `cut`, `patch` and `cells` are those on screen, see `figures.transport.draw_flow`. `ground` is where was
    searched: sheets search there for the same face, painted otherwise or weighed in other ways. `pairs` are those that
    a test lists. `tried` are searches for all by other grids or solvers, or what works them out. `order` is that of the
    list of all queries, `averaged` how many faces are averaged and what works it out, `painted` what was found for the
    query under some kinds of occlusion, `salient` maps of the pair, or what works them out.
    """
    from facelens.figures import match_words, query_ranks, region_means, reranking, retrieved, transport, weighing
    from facelens.figures.salient import Map, draw_saliency
    from facelens.session import deciding
    from facelens.session.match_sheets import Sheets
    from facelens.session.matched import Subject, first_face

    missing = InputError(tr("No match is worked out yet."), hint=tr("Search for a face first."))
    subject = Subject(faces, searched, plan, query, name, queries)

    def sheet(which: str, searched: Searched, tick: Tick) -> Figure:
        """What is worked out here."""
        if ground is None or query is None or (faces.behind is not None and ground.tells is None):
            raise missing
        sheets = Sheets(ground, subject, query)
        part = part_of(tick, 0, 2)
        if which in ("retrieval", "occlusions"):
            blocks = [sheets.block(searched.occlusion, tick=part)] if which == "retrieval" else sheets.blocks(tick=part)
            return retrieved.draw_retrieval(faces, blocks, plan=plan, told=subject.told, tick=part_of(tick, 1, 2))
        if which == "painted":
            every, now = sheets.ranks(painted or {}, tick=tick), searched.occlusion.kind
            return query_ranks.draw_occlusion_ranks(every, now=now, query=subject.called, plan=plan, told=subject.told)
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

    def settings(by: str, sweep: Sweep, tick: Tick) -> Figure:
        """Searches that differ from the plan in one setting alone, in the order in which they were tried."""
        chosen = [one for one in tried if match_words.same_but_for(one[0], plan, by)]
        found = []
        for i, (asked, one) in enumerate(chosen):
            found.append((asked, one(tick=part_of(tick, i, len(chosen))) if callable(one) else one))
        return reranking.draw_settings(found, by=by, plan=plan, told=subject.swept(sweep, None))

    def figure(which: str, tick: Tick) -> Figure:
        if which == "pairs":
            return verified(tick)
        if which in SWEPT:
            if sweep is None:
                raise InputError(tr("All queries are not searched for yet."), hint=tr("Search for all faces first."))
            grid = pair.found.grid if pair is not None else plan.grid
            told = subject.swept(sweep, grid)
            if which in SETTINGS:
                return settings(SETTINGS[which], sweep, tick)
            if which == "ranks":
                return query_ranks.draw_query_ranks(
                    subject.home, sweep, plan=plan, told=told, order=order or "change", tick=tick
                )
            draw = {"sweep": reranking.draw_sweep, "table": reranking.draw_before_after}[which]
            return draw(sweep, plan=plan, told=told)
        if searched is None:
            raise missing
        if which == "averaged":
            if averaged is None:
                raise InputError(tr("Fewer than two faces are selected."), hint=tr("Select two faces or more."))
            n, work = averaged
            found = work(tick=tick)
            told = subject.whose(searched.found.grid)
            return region_means.draw_region_means(found.mate, found.other, faces=n, plan=plan, told=told)
        if which in ("retrieval", "occlusions", "weights", "flows", "painted"):
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
        if which == "saliency":
            maps = []
            for i, one in enumerate(salient):
                known = one(tick=part_of(tick, i, len(salient))) if callable(one) else one
                maps.append(Map(known.kind, known.values, known.titles[0], known.sentence))
            return draw_saliency(subject.match(pair), maps, told=subject.whose(None))
        if which == "flow":
            return transport.draw_flow(
                subject.match(pair), plan=plan, told=subject.told, cut=cut, patch=patch, shown=cells
            )
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
    look: Look | None = None,
    dimensions: Mapping[str, int] | None = None,
    errors: CrossErrors | Callable[..., CrossErrors] | None = None,
    which: Sequence[str] = UPGRADE,
    paper: Paper | None = None,
    tick: Tick = silent,
) -> list[Path]:
    """The same for an upgrade, by its `task`; `order` of the backfill is in front, `people` are shown by upgrades,
    `laid` is the map of old and new, whose dots say what `look` does, else what changed, and `dimensions` are those of
    the models; `errors` are those of one test, or what works them out."""
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
        if name == "pairs":
            return flips.draw_flip_pairs(faces, found, tick=tick)
        if name == "errors":
            if errors is None:
                raise InputError(
                    tr("No test is chosen whose errors could be drawn."), hint=tr("Click a cell of the cross-tests.")
                )
            known = errors(tick=part_of(tick, 0, 2)) if callable(errors) else errors
            return flips.draw_errors(faces, found, known, tick=part_of(tick, 1, 2))
        if name == "backfill":
            return backfill.draw_backfill(found, gallery=faces.name, task=task, order=order, share=share)
        if name == "map":
            if laid is None:
                raise InputError(tr("The map of old and new is not there yet."), hint=tr("Wait for it."))
            return draw_map(faces, laid, look or Look(by="change", change=found.change_of(laid.ids)))
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
    groups: str = "",
    alone: Sequence[Callable[..., Projection]] = (),
    near: Callable[..., tuple[Links, ...]] | None = None,
    which: Sequence[str] = PROJECTION,
    paper: Paper | None = None,
    tick: Tick = silent,
) -> list[Path]:
    """The same for a map of the faces; `groups` is a column whose values move, else people do, `alone` lay out each of
    some models by itself, `near` finds the nearest of a face, to which lines lead."""
    from facelens.figures.moved import draw_moved
    from facelens.figures.projection import draw_map, draw_side_by_side

    def figure(name: str, tick: Tick) -> Figure:
        if name == "map":
            return draw_map(faces, found, look, near(tick=tick) if near is not None else ())
        if name == "moved":
            return draw_moved(faces, found, groups=groups, tick=tick)
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
    log: bool | None = None,
    hidden: Sequence[str] = (),
    which: Sequence[str] = TRAINING,
    paper: Paper | None = None,
    tick: Tick = silent,
) -> list[Path]:
    """The same for a training as far as it is: its `stage`, or where it has several the last one that has begun; terms
    on a logarithmic axis or not, by default where they lie far apart; without the curves that are `hidden`."""
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

    def figure(name: str, tick: Tick) -> Figure:
        if name == "curves":
            return figures.draw_curves(rows, told, log=log, hidden=hidden)
        if name == "clusters":
            return figures.draw_clusters(rows, told, hidden=hidden)
        return figures.draw_confidences(rows, told)

    return _written(out, which, figure, tick, paper)


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


def _listed(evaluation: Evaluation, listed: Listing | None, faces: FaceSet | None, tick: Tick) -> Figure:
    """The pairs behind what was clicked."""
    from facelens.figures.listed import Pair, draw_listed
    from facelens.session.listing import FALSE_ALARM, GAINED, HIT, KINDS, LOST, MISS, RIGHT

    if listed is None or faces is None:
        raise InputError(tr("No pair is listed."), hint=tr("Click a point, a bin, a rank or a cell first."))
    pairs, of = [], {GAINED: "gained", LOST: "lost"}
    for place, kind in enumerate(listed.kind.tolist()):
        rows = [listed.face_of(faces, int(side[place])) for side in (listed.first, listed.second)]
        mark = of.get(kind, "right" if kind in RIGHT else "wrong")
        pairs.append(
            Pair(
                (rows[0], rows[1]), listed.names(faces, place), tr(KINDS[kind]), mark, float(listed.score[place]),
                float(listed.margin[place]), listed.value,
            )
        )  # fmt: skip
    sides, ahead = evaluation.sides, tr("how far the wrong face is ahead of the right one")
    models = [f"{letter}: {escaped(one.name)}" if len(sides) > 1 else escaped(one.name) for letter, one in sides]
    searched = np.isin(listed.kind, (MISS, HIT, FALSE_ALARM)).any()
    return draw_listed(
        faces, pairs, title=listed.title, told=[*models, escaped(evaluation.gallery)], total=listed.total,
        score=listed.value, margin=ahead if searched else "", tick=tick,
    )  # fmt: skip


def _figure(
    evaluation: Evaluation, name: str, *, side: str, threshold: float | None, far: float | None, faces: FaceSet | None,
    tick: Tick,
) -> Figure:  # fmt: skip
    from facelens.figures import breakdown, charts, summed

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
        "summary": summed.draw_summary,
        "rates": summed.draw_rates,
        "cmc": charts.cmc,
        "open set": charts.open_set,
        "retrieval": breakdown.draw_retrieval,
    }[name]
    return draw(evaluation)
