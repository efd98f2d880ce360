"""The report of a workspace: what it can say, section by section, as a page, a JSON twin, LaTeX tables and figures.

Everything is said by the functions that the window and the commands use, of what is answered already where it is; what
is not is worked out here. A section that cannot be said gives its reason. The folder is written whole or not at all.
In disguise everything is asked of the workspace as it is, and said and drawn of the one under `cover`.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from facelens import __version__
from facelens.analyses.measure import rate
from facelens.errors import FaceLensError, InputError
from facelens.figures.sheet import Paper
from facelens.figures.verdict import FEW, Verdict
from facelens.images.disguise import Guise
from facelens.images.faceset import FaceSet
from facelens.progress import Tick, part_of, silent
from facelens.session import actions, block_latex, depicting, figure_recipe, questions, report_cards
from facelens.session.annotations import Annotations
from facelens.session.blocks import Block
from facelens.session.cover import Cover
from facelens.session.depicting import DEPICTED, View
from facelens.session.drawing import SETTINGS, SWEPT
from facelens.session.history import History
from facelens.session.report_cards import TITLES, CardOf
from facelens.session.report_folder import FORMAT, PAGE, TWIN, whole
from facelens.session.subsets import Subsets
from facelens.session.tables import evaluation_json, json_text, plain, written
from facelens.session.tables import latex as evaluation_latex
from facelens.session.web_page import Picture, Section, page
from facelens.session.workspace import Workspace
from facelens.words import escaped, number, plural, tr

SECTIONS = tuple(TITLES)
HEAVY = 2 << 20  # bytes of an SVG above which the page has a PNG in its place
PAPER = Paper(dpi=150)  # of pictures inside SVG


@dataclass(frozen=True, eq=False)
class Case:
    """What a section speaks of. All of them take the faces from here."""

    workspace: Workspace
    view: View
    held: Mapping[str, Any] = field(default_factory=dict)  # for its figures, see depicting.Depicted.hold

    @property
    def faces(self) -> FaceSet:
        """Who is shown, under the names that are written."""
        assert self.workspace.faces is not None
        return self.workspace.faces


@dataclass(frozen=True, eq=False)
class Said:
    """What a section says."""

    blocks: Sequence[Block]
    numbers: Mapping[str, object]
    caveats: Sequence[str] = ()
    verdict: Verdict | None = None
    which: tuple[str, ...] = ()  # of its figures; none named: all
    tables: Mapping[str, str] = field(default_factory=dict)  # LaTeX besides that of the blocks, by the name of the file


@dataclass(frozen=True, eq=False)
class Part:
    """How a section is made."""

    answers: Callable[[Workspace], tuple[str, ...]]  # of questions.QUESTIONS, that it rests on
    say: Callable[[Case, Tick], Said]
    needs: actions.Reason  # why it cannot be said, once those are answered


def write(
    out: Path,
    workspace: Workspace,
    *,
    only: Sequence[str] = (),
    sweep: bool = False,
    views: Mapping[str, View] | None = None,
    notes: Sequence[str] = (),
    guise: Guise | None = None,
    tick: Tick = silent,
) -> Path:
    """Write the report into the folder `out`, and give its page.

    `only` are SECTIONS, all without; with `sweep` every face is searched for by its patches where that is not done yet,
    which takes minutes. `views` say how the panels look at their figures. `notes` are what was not as it was. `guise`
    says what is to be hidden.
    """
    names = chosen(only)
    if workspace.faces is None:
        raise InputError(tr("There is no gallery to report on."), hint=tr("Open a gallery first."))
    with whole(out) as folder:
        made = _Report(folder, workspace, views or {}, Cover(guise or Guise(), workspace), sweep=sweep)
        for place, name in enumerate(names):
            made.add(name, tick=part_of(tick, place, len(names)))
        made.finish(notes)
        tick(1, 1)
    return out / PAGE


def chosen(only: Sequence[str]) -> tuple[str, ...]:
    """The sections that are asked for, in their order."""
    if unknown := [name for name in only if name not in SECTIONS]:
        raise InputError(
            tr("A report has no section {name}.", name=escaped(unknown[0])),
            hint=tr("Choose of {names}.", names=", ".join(SECTIONS)),
        )
    return tuple(name for name in SECTIONS if not only or name in only)


def luggage(workspace: Workspace) -> Workspace:
    """The workspace as it travels to the worker: with its answers, so that nothing is worked out twice.

    Vectors travel as the name of their store; what is heavy are evaluated scores and pools of pairs, some 20 MB for the
    sample gallery. What no report speaks of stays behind.
    """
    now = workspace.question
    return replace(
        workspace,
        features=dict(workspace.features),
        stored=dict(workspace.stored),
        evaluated=tuple(kept for kept in workspace.evaluated if kept.question == now),
        annotations=Annotations(tags={}, notes={}),
        subsets=Subsets({}, {}),
        standing=None,
        identity_edits=replace(workspace.identity_edits, aside={}),  # of pictures that are not here
        draft=None,
        run=None,
        history=History(),
    )


class _Report:
    """A report that is being put together in a folder."""

    def __init__(
        self, folder: Path, workspace: Workspace, views: Mapping[str, View], cover: Cover, *, sweep: bool
    ) -> None:
        self.folder, self.workspace, self.views, self.cover, self.sweep = folder, workspace, views, cover, sweep
        self.sections: list[Section] = []
        self.told: dict[str, dict[str, object]] = {}
        self.drafts = folder / "drafts"  # pictures that the page has in place of heavy ones
        for name in ("figures", "tables"):
            (folder / name).mkdir()

    def add(self, name: str, *, tick: Tick) -> None:
        """Work out a section, draw its figures and write its tables."""
        part, title = PARTS[name], tr(TITLES[name])
        try:
            case = self._case(name, part_of(tick, 0, 3))
            if reason := part.needs(case.workspace):
                raise InputError(reason)
            case = replace(case, held=DEPICTED[name].hold(case.workspace, case.view, part_of(tick, 1, 3)))
            hidden = replace(case, workspace=self.cover.workspace(case.workspace), held=self.cover.of(case.held))
            said = part.say(hidden, part_of(tick, 1, 3))
        except FaceLensError as error:
            self._without(name, title, self.cover.why(error))
            return
        pictures = self._drawn(name, case, said, part_of(tick, 2, 3))
        section = Section(name, title, said.blocks, pictures, said.verdict, said.caveats)
        self.sections.append(section)
        self.told[name] = {
            "title": title,
            "reason": None,
            "verdict": plain(said.verdict),
            "caveats": list(said.caveats),
            "blocks": [_plain_block(block) for block in said.blocks],
            "figures": [
                {"name": one, "title": picture.title, "file": _figure_file(name, one)}
                for one, picture in pictures.items()
            ],
            "tables": self._tables(name, said),
            "numbers": said.numbers,
        }

    def _case(self, name: str, tick: Tick) -> Case:
        """The workspace with the answers that a section rests on.

        A column that comes with an answer is for this section alone: another one would be of other faces with it.
        """
        workspace = self.workspace
        view = self.views.get(name) or _view(workspace)
        figures = DEPICTED[name].answers(frozenset(DEPICTED[name].names) - {*SWEPT}, view)
        more = ("sweep",) if name == "match" and self.sweep else ()
        now = questions.answered(workspace, (*PARTS[name].answers(workspace), *figures, *more), tick=tick)
        self.workspace = replace(now, faces=workspace.faces)
        if now.uncertainty is not None and not now.refusal:  # nobody has moved the line
            now = replace(now, refusal=questions.first_step(now.uncertainty))
        return Case(now, view)

    def _without(self, name: str, title: str, reason: str) -> None:
        self.sections.append(Section(name, title, reason=reason))
        self.told[name] = {"title": title, "reason": reason}

    def _drawn(self, name: str, case: Case, said: Said, tick: Tick) -> dict[str, Picture]:
        """The figures of a section, as files with their recipes beside them, and as the page shows them.

        What cannot be drawn is left out: it is not worked out, or there is nothing of it. A recipe names pictures, so
        there is none under pseudonyms.
        """
        row, which, guise = DEPICTED[name], said.which or DEPICTED[name].names, self.cover.guise
        given, named = row.arguments(case.workspace, case.view)
        given, named = self.cover.of(given), self.cover.of({**named, **case.held})
        recipe = None
        if not guise.pseudonyms:
            recipe = figure_recipe.recipe_of(case.workspace, name, view=case.view, paper=PAPER, blur=guise.blur)
        pictures = {}
        for place, one in enumerate(which):
            path = self.folder / _figure_file(name, one)
            part = part_of(tick, place, len(which))
            try:
                figure_recipe.draw(path, name, given, named, which=(one,), paper=PAPER, recipe=recipe, tick=part)
            except InputError:
                continue
            if path.stat().st_size > HEAVY:
                self.drafts.mkdir(exist_ok=True)
                path = self.drafts / f"{path.stem}.png"
                row.draw(path, *given, **named, which=(one,), paper=Paper(), tick=silent)
            pictures[one] = Picture(tr(row.titles[one]), path)
        return pictures

    def _tables(self, name: str, said: Said) -> list[str]:
        """The tables of a section as LaTeX: a file for each block that has one, named by its place among them."""
        made, title = dict(said.tables), ""
        for block in said.blocks:
            title = block.title or title
            if block.columns > 1:
                made[f"{name}-{len(made) - len(said.tables) + 1:02d}"] = block_latex.tabular(block, title=title)
        files = [f"tables/{stem}.tex" for stem in made]
        for file, text in zip(files, made.values()):
            written(self.folder / file, text)
        return files

    def finish(self, notes: Sequence[str]) -> None:
        """Write the page and its twin."""
        workspace, now = self.cover.workspace(self.workspace), datetime.now().astimezone()
        faces = Case(workspace, View()).faces
        said = [section.name for section in self.sections if not section.reason]
        data, models = report_cards.data(workspace, faces), report_cards.models(workspace)
        settings, environment = report_cards.settings(workspace, said), report_cards.environment()
        caveats = self._caveats(self.cover.lines(notes), data, models)
        title, guise = tr("Report on {gallery}", gallery=escaped(faces.name)), self.cover.guise
        sections = [
            Section(
                "caveats", tr("What this does not say"), [Block(name, told=told) for name, told in caveats.items()]
            ),
            Section("data", tr("Data"), data.blocks),
            Section("models", tr("Models"), models.blocks),
            *self.sections,
            Section("settings", tr("Settings"), settings.blocks, narrow=True),
            Section("environment", tr("Environment"), environment.blocks),
        ]
        twin = {
            "format": FORMAT,
            "facelens": __version__,
            "title": title,
            "made": now.isoformat(timespec="seconds"),
            **({"disguise": {"pseudonyms": guise.pseudonyms, "blur": guise.blur}} if guise else {}),
            "caveats": plain(caveats),
            "data": data.numbers,
            "models": models.numbers,
            "sections": self.told,
            "settings": settings.numbers,
            "environment": environment.numbers,
        }
        told = [tr("Made on {when} with FaceLens {version}.", when=f"{now:%Y-%m-%d %H:%M %Z}", version=__version__)]
        told += self.cover.told()
        foot = tr("tables for LaTeX in tables/, figures with their recipes in figures/")
        if guise.pseudonyms:
            foot = tr("tables for LaTeX in tables/, figures in figures/, without recipes, which would name pictures")
        written(self.folder / TWIN, json_text(twin))
        written(self.folder / PAGE, page(title, sections, told=told, files=(TWIN,), foot=foot))
        shutil.rmtree(self.drafts, ignore_errors=True)

    def _caveats(self, notes: Sequence[str], data: CardOf, models: CardOf) -> dict[str, list[str]]:
        """What must not be read into it, by where it is from."""
        told = {
            tr("Since the workspace was saved"): notes,
            tr("Data"): data.caveats,
            tr("Models"): models.caveats,
            **{section.title: section.caveats for section in self.sections},
        }
        return {title: list(lines) for title, lines in told.items() if lines}


def _view(workspace: Workspace) -> View:
    """How figures look where no panel says: the pair under comparison is before the jury."""
    pair = workspace.selection.pair
    return View(pair=depicting.names_of_faces(workspace.faces, pair) if pair is not None else ())


def _figure_file(name: str, one: str) -> str:
    return f"figures/{'-'.join((name, *one.split()))}.svg"


def _plain_block(block: Block) -> dict[str, object]:
    kept = {"title": block.title, "noted": block.noted, "rows": block.rows, "told": block.told}
    return {"headed": block.headed, **{key: plain(value) for key, value in kept.items()}}


# Evaluation


def _evaluation(case: Case, tick: Tick) -> Said:
    from facelens.session import reports

    found = case.workspace.evaluation
    assert found is not None
    caveats = [*_few(found.identities)]
    for letter, report in found.sides:
        missing = [] if report.verification is None else [p for p in report.verification.points if not p.tar.defined]
        if missing:
            which = ", ".join(rate(point.target) for point in missing)
            words = "Anything about FAR {which} of {letter}: there are too few impostor pairs to measure it."
            caveats.append(tr(words, which=which, letter=letter))
    if found.paired is not None:
        caveats.append(tr("Which model is better, wherever the interval of B minus A covers 0."))
    return Said(
        reports.blocks(found, faces=case.faces),
        evaluation_json(found, faces=case.faces),
        caveats,
        tables={"evaluation": evaluation_latex(found)},
    )


def _few(people: int) -> list[str]:
    """On whom it rests."""
    counted = plural(people, "{n} person", "{n} people")
    told = [tr("Anything about other people: {people} of this gallery were tested.", people=counted)]
    if people < FEW:
        told.append(tr("Much: intervals that are drawn from fewer than {n} people are too narrow.", n=FEW))
    return told


# Uncertainty


def _uncertainty(case: Case, tick: Tick) -> Said:
    from facelens.session.uncertainty_report import UncertaintyReport

    found, now = case.workspace.uncertainty, case.workspace
    assert found is not None
    risk = found.verification
    share = 1 - float(risk.coverage[min(now.refusal, len(risk.coverage) - 1)]) if risk is not None else 0.0
    report = UncertaintyReport(case.faces, found, now.resolved_ensemble, share)
    caveats = [
        *_few(found.shown_people),
        tr("That a picture with a high variance is a bad one: variance tells them apart only where transforms were "
           "fitted on clean pictures; with bad ones among those, it can say the reverse."),
    ]  # fmt: skip
    if found.identification is not None:
        words = "That refusing helps elsewhere: it helps galleries with bad pictures, and can harm clean ones in 1:N."
        caveats.append(tr(words))
    alone = [(one.alone.value, one.name) for one in found.members if one.alone.defined and one.alone.value is not None]
    together = found.together
    if alone and together.defined and together.value is not None and (best := max(alone))[0] >= together.value:
        said = {"name": escaped(best[1]), "own": number(best[0], 4), "all": number(together.value, 4)}
        caveats.append(tr("That many are better than one: {name} alone reaches {own}, all together {all}.", **said))
    return Said(report.blocks(), report.as_json(), caveats)


# Confidence and learners


def _confidence(case: Case, tick: Tick) -> Said:
    from facelens.analyses import jury
    from facelens.analyses.parts import products
    from facelens.session.confidence_report import ConfidenceReport, Pair

    now, parts, study = case.workspace, case.workspace.parts, case.workspace.study
    assert parts is not None and study is not None
    match, kept = depicting.matched_by(now), depicting.voting(now, parts)
    plan = replace(now.resolved_parts, match=match)
    features = now.features[plan.model]
    held = case.held
    ruling = held["ruling"] if held else jury.Bench(parts, match).ruling(kept=kept, far=plan.far)
    pair, recall = None, None
    if held:
        said = held["verdict"]
        first, second = said.query, said.gallery
        near = products(features, parts, first)
        pair = Pair(said, jury.standing(parts, near, first, second, match=match, kept=kept))
    if not kept.all():
        recall = jury.recall(parts, features, match=match, kept=kept, seed=plan.seed, tick=tick)
    report = ConfidenceReport(case.faces, parts, study, plan, ruling, recall, pair)
    caveats = _slices(parts.layout.kind)
    if parts.layout.kind == "learned" and parts.layout.head == "learned":
        caveats.append(tr("That σ² of a part is a probability: its head was learned and not calibrated."))
    if study.effects:
        caveats.append(tr("That an attribute is the cause: it and a part go together on these pictures, no more."))
    return Said(report.blocks(), report.as_json(), caveats)


def _slices(kind: str) -> list[str]:
    if kind != "slices":
        return []
    return [
        tr("That the parts were learned: slices of an ordinary embedding are as good after any rotation of it. They "
           "show what comes by itself, to compare learned parts with.")
    ]  # fmt: skip


def _learners(case: Case, tick: Tick) -> Said:
    from facelens.session.learners_report import LearnersReport
    from facelens.session.part_tables import learners_json

    found = case.workspace.learners
    assert found is not None
    caveats = _slices(found.own.layout.kind)
    if found.clusters is not None and found.clusters.stability.defined:
        nmi = found.clusters.stability.text(3)
        caveats.append(
            tr("That there are just these groups: those from other seeds agree with them by NMI {nmi}.", nmi=nmi)
        )
    return Said(LearnersReport(case.faces, found).blocks(), learners_json(case.faces, found), caveats)


# Match


def _match(case: Case, tick: Tick) -> Said:
    from facelens.session.match_report import Found, MatchReport, RerankReport
    from facelens.session.match_tables import sweep_json
    from facelens.session.matched import Subject

    now = case.workspace
    plan, searched, sweep = now.resolved_match, depicting.found_of(now), _swept(now)
    held = case.held
    blocks: list[Block] = []
    numbers: dict[str, object] = {"search": None, "sweep": None}
    grid = None
    if searched is not None and "pair" in held:
        subject = Subject(case.faces, searched, plan, now.query, queries=now.queries)
        one = MatchReport(subject, Found(searched, held["pair"], held.get("other")))
        blocks, numbers["search"], grid = one.blocks(), one.as_json(), searched.found.grid
    if sweep is not None:
        all_of_them = RerankReport(case.faces, sweep, plan, grid)
        blocks += [Block(tr("All queries"), heads=True), *all_of_them.blocks()]
        numbers["sweep"] = sweep_json(case.faces, sweep, plan)
    caveats = [tr("What happens in another gallery: whether it holds a clear picture of the query decides much.")]
    if sweep is None:
        caveats.insert(0, tr("Anything about other queries: one was searched for."))
        caveats.append(
            tr("That this α is the best here: only a search for all queries, at several of them, shows that.")
        )
    if plan.solver != "exact":
        words = "What exact transport would give: this solver blurs, with ε {epsilon}."
        caveats.append(tr(words, epsilon=f"{plan.epsilon:g}"))
    names = [name for name in DEPICTED["match"].names if name not in SETTINGS]  # which search for all again
    which = tuple(name for name in names if (sweep is not None if name in SWEPT else bool(held)))
    return Said(blocks, numbers, caveats, which=which)


def _swept(workspace: Workspace) -> Any:
    """The search for all faces, where all were searched for."""
    found = depicting.sweep_of(workspace)
    return found if found is not None and found.complete else None


def _matchable(workspace: Workspace) -> str:
    return actions.matched(workspace) if _swept(workspace) is None else actions.matchable(workspace)


# Upgrade


def _upgrade(case: Case, tick: Tick) -> Said:
    from facelens.session.upgrade_report import UpgradeReport

    now, found = case.workspace, case.workspace.upgrade
    assert found is not None
    features = {name: now.features[name] for name in found.matrix.models}
    task, order = now.resolved_upgrade.task, depicting.order_of(now)
    report = UpgradeReport(case.faces, found, task=task, order=order, features=features)
    section = report.section({})
    blocks = [Block(told=report.who()), *section.blocks]
    return Said(blocks, report.as_json(), section.caveats, section.verdict)


def _upgrade_answers(workspace: Workspace) -> tuple[str, ...]:
    """An order of the backfill by uncertainty takes the variance of an ensemble."""
    return ("uncertainty", "upgrade") if workspace.upgrade_plan.order == "uncertainty" else ("upgrade",)


# Projection


def _projection(case: Case, tick: Tick) -> Said:
    from facelens.figures.projection_words import sentence

    found = case.workspace.projection
    assert found is not None
    told = sentence(found, depicting.ground_of(case.workspace))
    if found.drawn == "pca":
        held = round(100 * sum(found.shares))
        caveats = [tr("What lies beside this plane: it holds {share} % of the variance.", share=held)]
    else:
        caveats = [
            tr("How far two faces are from each other: a map keeps who is near, not how far, nor how large a group is.")
        ]
    if found.how == "aligned":
        words = "That a face has moved by so much: each model has its own map, and they were only turned to agree."
        caveats.append(tr(words))
    numbers = {
        "sentence": told,
        "plan": plain(found.plan),
        "faces": len(found),
        "drawn": found.drawn,
        "shares_of_variance": plain(found.shares) if found.drawn == "pca" else None,
        "trustworthiness": plain(found.quality),
        "trustworthiness_of_other": plain(found.other_quality) if found.other is not None else None,
        "how": found.how or None,
        "residual": found.residual,
        "notes": list(found.notes),
    }
    notes = [one for one in found.notes if one != found.agreement]
    return Said([Block(told=(f"{told}.", *notes))], numbers, caveats)


def _answers(*names: str) -> Callable[[Workspace], tuple[str, ...]]:
    return lambda workspace: names


PARTS: Mapping[str, Part] = {
    "evaluation": Part(_answers("evaluation"), _evaluation, actions.evaluated),
    "uncertainty": Part(_answers("uncertainty"), _uncertainty, actions.rejected),
    "confidence": Part(_answers("parts", "study"), _confidence, actions.studied),
    "learners": Part(_answers("learners"), _learners, actions.learnt),
    "match": Part(_answers("match"), _match, _matchable),
    "upgrade": Part(_upgrade_answers, _upgrade, actions.upgraded),
    "projection": Part(_answers("projection"), _projection, actions.mapped),
}
