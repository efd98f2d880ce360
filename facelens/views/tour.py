"""The tour: the real window without a display, walked through every panel, one picture each.

Later panels add a step to STEPS; the README's screenshots come from here.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from PySide6.QtCore import QCoreApplication, QEventLoop
from PySide6.QtWidgets import QWidget

from facelens.analyses.plan import ProjectionPlan
from facelens.errors import FaceLensError
from facelens.images import decode
from facelens.images.occlusion import Occlusion
from facelens.resources import sample_data
from facelens.session import log
from facelens.session.drawing import CHARTS, CONFIDENCE, LEARNERS, MATCH, UNCERTAINTY, UPGRADE
from facelens.session.jobs import Request, State
from facelens.session.selection import Selection
from facelens.session.settings import Settings
from facelens.session.workspace import Assessed, Evaluated, Operating, with_variance
from facelens.views import theme
from facelens.views.app import make_application
from facelens.views.main_window import MainWindow
from facelens.views.modelling import SAMPLE_UPGRADES
from facelens.words import tr

SIZE = (1440, 900)
PATIENCE = 120.0  # seconds for one step
SHEET = 60  # faces on the contact sheet
SHORT = {  # what makes the universal recipe one of seconds
    "epochs": None,
    "steps": 40,
    "log": 1,
    "validation.every": 8,
    "batch.people": 10,
    "batch.pictures": 3,
    "augment.pose": 0.0,
    "optimiser.kind": "adam",
    "optimiser.rate": 0.003,
    "schedule.warmup": 2,
    "network.options": {"backbone": "small_plain", "parts": 8, "start": 24.0, "backbone_options": {"grid": [3, 3]}},
}


def walk(out: Path, *, themes: Sequence[str] = ("dark", "light"), gallery: Path | None = None) -> list[Path]:
    """Write a picture of every panel in each theme, and every figure a panel can export; returns the files."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = tr("The folder {path} cannot be made: {why}.", path=out, why=error.strerror)
        raise FaceLensError(message, hint=tr("Choose another folder with --out.")) from error
    crashes: list[BaseException] = []
    restore = log.install(on_crash=lambda error, trace: crashes.append(error))
    try:
        with tempfile.TemporaryDirectory(prefix="facelens-tour-") as room:
            return _walk(out, themes, gallery or sample_data(), crashes, Kept(Path(room)))
    finally:
        restore()  # before an error leaves: whoever calls must hear of it


def _walk(out: Path, themes: Sequence[str], gallery: Path, crashes: list[BaseException], kept: Kept) -> list[Path]:
    app = make_application()
    written: list[Path] = []
    for scheme in themes:
        theme.apply(app, scheme)  # type: ignore[arg-type]
        # Nothing of the user's own settings shows in the tour, and the tour changes none of them.
        # Nobody sits before it, so its worker need not stand back: the tour only waits for it.
        window = MainWindow(Settings(theme=scheme), remember=False, nice=0)
        window.desk.vectors = kept.room / "features"
        window.resize(*SIZE)
        window.show()
        guide = Guide(window, out, scheme=scheme, gallery=gallery, crashes=crashes, kept=kept)
        try:
            for name, step in STEPS:
                step(guide)
                written += guide.shoot(name)
            written += guide.exported
        finally:
            window.jobs.shutdown()
            window.close()
            window.deleteLater()
            app.sendPostedEvents(None, 0)
    return written


@dataclass
class Kept:
    """What one theme leaves to the next."""

    room: Path  # a folder that is deleted after the tour
    once: set[Path] = field(default_factory=set)  # figures that are written
    evaluated: tuple[Evaluated, ...] = ()
    assessed: Assessed | None = None
    answers: dict[str, object] = field(default_factory=dict)  # by field of the workspace


class Guide:
    """Drives one window."""

    def __init__(
        self,
        window: MainWindow,
        out: Path,
        *,
        scheme: str,
        gallery: Path,
        crashes: list[BaseException],
        kept: Kept,
    ) -> None:
        self.window, self.out, self.scheme, self.gallery, self.crashes = window, out, scheme, gallery, crashes
        self.kept, self.exported = kept, list[Path]()

    def settle(self) -> None:
        """Wait until no job runs and no thumbnail is awaited."""
        end = time.monotonic() + PATIENCE
        quiet = 0
        while quiet < 3:
            QCoreApplication.processEvents(QEventLoop.ProcessEventsFlag.AllEvents, 20)
            busy = (
                any(job.state in (State.WAITING, State.RUNNING) for job in self.window.jobs.jobs)
                or not self.window.thumbnails.idle
            )
            quiet = 0 if busy else quiet + 1
            if time.monotonic() > end:
                raise FaceLensError(
                    tr("The tour waited too long for a job."), hint=tr("Look into the log, and run it again.")
                )
            if busy:
                time.sleep(0.005)
        if self.crashes:
            raise self.crashes[0]  # Qt only prints what escapes a slot; the tour must not look finished then
        failed = [job for job in self.window.jobs.jobs if job.state is State.FAILED]
        if failed and failed[0].error is not None:
            raise failed[0].error

    def linger(self, seconds: float = 0.5) -> None:
        """Let what waits for a pause begin, and end."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            QCoreApplication.processEvents(QEventLoop.ProcessEventsFlag.AllEvents, 20)
        self.settle()

    def shoot(self, name: str, widget: QWidget | None = None) -> list[Path]:
        """Save a picture of the window."""
        self.settle()
        path = self.out / f"{name}_{self.scheme}.png"
        target = widget or self.window
        focus = self.window.focusWidget()
        if focus is not None and self.window.stage.current.isAncestorOf(focus):
            focus.clearFocus()  # nobody has touched a key
        if not target.grab().save(str(path), "PNG"):
            raise FaceLensError(
                tr("{path} could not be written.", path=path), hint=tr("Choose another folder with --out.")
            )
        return [path]

    def export(self) -> None:
        """Every figure and list the panels export; they look the same in every theme, so one is enough."""
        paths = [self.out / f"contact_sheet.{kind}" for kind in ("png", "svg", "pdf")]
        if paths[-1] in self.kept.once:
            return
        for path in paths:
            self.window.commands.figures.draw("gallery", path)
            self.settle()
        self.window.commands.export_list(self.out / "selection.csv")
        self.settle()
        figures = [self.out / f"evaluation {chart}.png" for chart in CHARTS]
        self.window.commands.figures.draw("evaluation", self.out / "evaluation.png")
        self.settle()
        window = self.window
        if window.store.workspace.uncertainty is not None:
            window.commands.figures.draw("uncertainty", self.out / "uncertainty.png")
            self.settle()
            window.commands.assessing.export_faces(self.out / "refused.csv", refused=True)
            self.settle()
            figures += [self.out / f"uncertainty {name}.png" for name in UNCERTAINTY] + [self.out / "refused.csv"]
        if window.store.workspace.parts is not None:
            window.commands.figures.draw("confidence", self.out / "confidence.png")
            self.settle()
            figures += [self.out / f"confidence {name}.png" for name in CONFIDENCE]
        if window.store.workspace.match_answer is not None:
            window.commands.figures.draw("match", self.out / "match.png")
            self.settle()
            figures += [self.out / f"match {name}.png" for name in MATCH if name != "sweep"]  # minutes of work
        if window.store.workspace.learners is not None:
            window.commands.figures.draw("learners", self.out / "learners.png")
            self.settle()
            figures += [self.out / f"learners {name}.png" for name in LEARNERS]
        if window.store.workspace.upgrade is not None:
            window.commands.figures.draw("upgrade", self.out / "upgrade.png")
            self.settle()
            figures += [self.out / f"upgrade {name}.png" for name in UPGRADE]
        self.exported = [*paths, self.out / "selection.csv", *(path for path in figures if path.exists())]
        self.kept.once.update(self.exported)

    def arrange(self, **changes: str | bool) -> None:
        """Change sort, filter or group."""
        arrangement = self.window.store.workspace.arrangement
        self.window.store.update(arrangement=replace(arrangement, **changes))  # type: ignore[arg-type]

    @property
    def score(self) -> str:
        """A column worth sorting by: how degraded a picture is, else the first number there is."""
        faces = self.window.store.workspace.faces
        assert faces is not None
        numbers = [name for name, column in faces.columns.items() if isinstance(column, np.ndarray)]
        return "degradation" if "degradation" in numbers else numbers[0] if numbers else ""


# -- the steps, in order; each leaves the window as its picture shows it


def _welcome(guide: Guide) -> None:
    pass


def _gallery(guide: Guide) -> None:
    guide.window.opening.open(guide.gallery)
    guide.settle()
    ids = guide.window.store.workspace.shown_ids
    picked = ids[[2, 3, 10, 11, 12]] if len(ids) > 12 else ids[:2]
    guide.window.store.update(selection=Selection(ids=picked, current=int(picked[-2])))


def _sorted(guide: Guide) -> None:
    guide.arrange(sort=guide.score, descending=True)


def _filtered(guide: Guide) -> None:
    guide.arrange(filter=f"{guide.score} > p80" if guide.score else "not nobody", group="identity")


def _loupe(guide: Guide) -> None:
    guide.arrange(filter="", group="", sort="")
    guide.window.act("view.loupe")


def _compare(guide: Guide) -> None:
    workspace = guide.window.store.workspace
    guide.window.store.update(selection=replace(workspace.selection, ids=workspace.selection.ids[:4]))
    guide.window.act("view.compare")


def _models(guide: Guide) -> None:
    """The checkpoints that come with FaceLens; the second theme finds the vectors of the first."""
    guide.window.modelling.load_sample()
    guide.settle()
    guide.window.stage.show_page("models")


def _evaluation(guide: Guide) -> None:
    """An old model and its upgrade."""
    window, kept = guide.window, guide.kept
    window.store.update(operating=Operating(1e-2), evaluated=kept.evaluated)
    window.apply_layout("upgrade")  # without its page, which would ask what nobody sees
    window.act("evaluate.show")
    guide.settle()
    kept.evaluated = window.store.workspace.evaluated
    page = window.panel("evaluation")
    page.verification.points.tap(1, len(page.verification.points.model_.columns) - 1)  # type: ignore[attr-defined]


def _identification(guide: Guide) -> None:
    page = guide.window.panel("evaluation")
    page.show_part("identification")  # type: ignore[attr-defined]
    page.identification.table.tap(0, 2)  # type: ignore[attr-defined]


def _retrieval(guide: Guide) -> None:
    page = guide.window.panel("evaluation")
    page.show_part("retrieval")  # type: ignore[attr-defined]
    page.retrieval.queries.tap(0, 0)  # type: ignore[attr-defined]


def _uncertainty(guide: Guide) -> None:
    """Three models in one space: where they disagree, and what refusing does."""
    window, kept = guide.window, guide.kept
    faces = window.store.workspace.faces
    if kept.assessed is not None and faces is not None:
        window.store.update(assessed=kept.assessed, faces=with_variance(faces, kept.assessed.uncertainty))
    window.act("uncertainty.show")
    guide.settle()
    found = kept.assessed = window.store.workspace.assessed
    risk = found.uncertainty.verification if found is not None else None
    if risk is not None:
        window.store.update(refusal=int(abs(risk.coverage - 0.9).argmin()))


def _scatter(guide: Guide) -> None:
    page = guide.window.panel("uncertainty")
    page.compare_with(guide.score)  # type: ignore[attr-defined]


def _members(guide: Guide) -> None:
    workspace = guide.window.store.workspace
    found = workspace.uncertainty
    if found is not None:
        worst = int(found.ids[np.nanargmax(found.variance)])
        ids = np.union1d(workspace.selection.ids, np.array([worst], np.int64))
        guide.window.store.update(selection=Selection(ids=ids, current=worst))
    guide.window.panel("uncertainty").show_below("members")  # type: ignore[attr-defined]


def _confidence(guide: Guide) -> None:
    """Sub-embeddings that say how sure they are; two faces of one person before the jury."""
    _show_answered(guide, "confidence", "parts_answer", "study_answer")
    window = guide.window
    faces, parts = window.store.workspace.faces, window.store.workspace.parts
    if faces is None or parts is None or "variance" not in parts.values:
        return
    order = parts.ids[np.argsort(parts.values["variance"].mean(1))]
    picked = order[np.linspace(0, len(order) - 1, 6).astype(np.int64)]
    person = faces.identity.codes[faces.row_of(int(picked[-2])) or 0]
    mates = faces.ids[faces.identity.codes == person]
    window.store.update(selection=Selection(picked, int(picked[-2]), (int(mates[0]), int(picked[-2]))), left_out=(1,))
    for _ in range(2):
        guide.linger()  # rates of the parts that vote, then of all


def _attributes(guide: Guide) -> None:
    guide.window.panel("confidence").show_foot("attributes")  # type: ignore[attr-defined]


def _learners(guide: Guide) -> None:
    _show_answered(guide, "learners", "learners_answer")


def _match(guide: Guide) -> None:
    """A masked face is searched for; why its patches match."""
    window = guide.window
    workspace = window.store.workspace
    faces = workspace.faces
    if faces is None:
        return
    masked = faces.columns.get("mask")
    query = int(faces.ids[0])
    if isinstance(masked, np.ndarray):
        clear = np.flatnonzero(np.nan_to_num(masked) == 0)
        query = int(faces.ids[clear[min(40, len(clear) - 1)]])
    plan = replace(workspace.match_plan, weights="apc")
    window.apply_layout("upgrade")
    window.store.update(selection=Selection(current=query), match_plan=plan, occlusion=Occlusion("mask"))
    window.act("match.show")
    guide.settle()


def _upgrade(guide: Guide) -> None:
    """An upgrade by LCE beside two others and a model that knows nothing of the old one."""
    window = guide.window
    plan = replace(window.store.workspace.upgrade_plan, others=SAMPLE_UPGRADES, far=1e-2, resamples=300)
    window.store.update(upgrade_plan=plan, projection_plan=ProjectionPlan(method="tsne"), selection=Selection())
    _show_answered(guide, "upgrade", "upgrade_answer", "upgrade_map_answer")
    found = window.store.workspace.upgrade
    if found is not None and found.flips is not None and len(found.flips.lost):
        worst = int(found.flips.searches.ids[found.flips.lost[0]])
        window.store.update(selection=Selection(np.array([worst], np.int64), worst))


def _same_people(guide: Guide) -> None:
    guide.window.store.update(selection=Selection())
    page = guide.window.panel("upgrade")
    page.show_middle("sequence")  # type: ignore[attr-defined]
    page.show_upper("people")  # type: ignore[attr-defined]


def _projection(guide: Guide) -> None:
    """The map as the paper draws it: a colour for each person, triangles for degraded pictures."""
    guide.window.store.update(projection_plan=ProjectionPlan(method="tsne"), selection=Selection())
    _show_answered(guide, "projection", "projection_answer")


def _old_and_new(guide: Guide) -> None:
    """The same faces by the old model and the new one: where each moved, and what was gained and lost."""
    from facelens.session.depicting import CHANGE, IDENTITY

    window, plan = guide.window, guide.window.store.workspace.resolved_upgrade
    asked = ProjectionPlan(method="tsne", model=plan.old, other=plan.new)
    window.store.update(projection_plan=asked, selection=Selection())
    guide.settle()
    page = window.panel("projection")
    page.colour_by(CHANGE if window.store.workspace.upgrade is not None else IDENTITY)  # type: ignore[attr-defined]


def _show_answered(guide: Guide, word: str, *fields: str) -> None:
    """A panel that waits for answers; the second theme has those of the first."""
    window, kept = guide.window, guide.kept.answers
    window.store.update(**{name: kept[name] for name in fields if name in kept})
    window.act(f"{word}.show")
    guide.settle()
    kept.update({name: getattr(window.store.workspace, name) for name in fields})


def _training(guide: Guide) -> None:
    """A real training, short and of small pictures, in the worker that has torch already; then what it has told."""
    from facelens.session.draft import Draft
    from facelens.session.training import train_model

    window, room = guide.window, guide.kept.room / "trained"
    window.act("training.show")
    draft = Draft.of("universal", source="open", root=room).with_values(SHORT)
    if not (room / "universal").exists():
        faces = window.store.workspace.kept_faces
        request = Request(
            title=tr("Train {name}", name="universal"),
            call=train_model,
            args=(draft.final, room / "universal"),
            kwargs={"faces": faces},
            unit=tr("steps"),
        )
        window.jobs.submit(request)
        guide.settle()
    window.store.update(draft=replace(draft, out=room / "universal"))
    window.panel("training").work.look_into(room / "universal")  # type: ignore[attr-defined]


def _palette(guide: Guide) -> None:
    guide.window.act("layout.browse")
    guide.window.act("view.grid")
    guide.window.act("palette.open")
    guide.window.palette_card.line.setText("co")


def _drop(guide: Guide) -> None:
    guide.window.palette_card.close_palette()
    guide.window.veil.show_for(guide.gallery, may_add=True)


def _match_layout(guide: Guide) -> None:
    window = guide.window
    window.veil.hide()
    picked = window.store.workspace.shown_ids[:3]
    window.store.update(selection=Selection(picked, int(picked[0])))
    window.act("layout.match")
    window.act("view.compare")


def _export(guide: Guide) -> None:
    """A page of faces is chosen, so that the sheet is one page too."""
    window = guide.window
    window.act("view.grid")
    window.act("layout.browse")
    picked = window.store.workspace.shown_ids[:SHEET]
    window.store.update(selection=Selection(picked, int(picked[0])))
    guide.export()


def _doctor(guide: Guide) -> None:
    """A gallery with nothing wrong shows nothing, so the doctor is shown a copy that was spoiled on purpose."""
    with tempfile.TemporaryDirectory(prefix="facelens-tour-") as room:
        guide.window.opening.open(_spoiled(guide, Path(room) / "spoiled copy"))
        guide.window.act("doctor.show")
        guide.settle()
        findings = guide.window.panel("doctor").list  # type: ignore[attr-defined]
        findings.go(min(3, len(findings.lines) - 1))
        guide.settle()  # the pictures are read while they are still there


def _spoiled(guide: Guide, room: Path) -> Path:
    faces = guide.window.store.workspace.faces
    assert faces is not None
    rows = np.flatnonzero(faces.identity.codes >= 0)[:60]
    for i, row in enumerate(rows.tolist()):
        data = decode.face_bytes(faces, row)
        if i in (3, 17, 31):
            data = (b"", data[: len(data) // 3], b"<html>not found</html>")[i % 3]
        target = room / faces.identity.name(row) / f"{i:04d}.jpg"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
        if i % 20 == 5:  # the same picture under another name
            (room / "Somebody_Else").mkdir(exist_ok=True)
            (room / "Somebody_Else" / f"{i:04d}.jpg").write_bytes(data)
    return room


STEPS: tuple[tuple[str, Callable[[Guide], None]], ...] = (
    ("welcome", _welcome),
    ("gallery", _gallery),
    ("sorted", _sorted),
    ("filter", _filtered),
    ("loupe", _loupe),
    ("compare", _compare),
    ("models", _models),
    ("evaluation", _evaluation),
    ("identification", _identification),
    ("retrieval", _retrieval),
    ("uncertainty", _uncertainty),
    ("scatter", _scatter),
    ("members", _members),
    ("confidence", _confidence),
    ("attributes", _attributes),
    ("learners", _learners),
    ("match", _match),
    ("upgrade", _upgrade),
    ("same_people", _same_people),
    ("projection", _projection),
    ("old_and_new", _old_and_new),
    ("training", _training),
    ("palette", _palette),
    ("drop", _drop),
    ("match_layout", _match_layout),
    ("browse_layout", _export),
    ("doctor", _doctor),
)
