"""Training: a recipe, a gallery, and what the papers train; every term is seen while it learns.

At the left what is asked, at the right what came of it so far: how far it is, each term of the loss, the validation on
people who are held out, the learning rate, what the kind of training has to tell beside that, and the log. Stop saves
what was learned and Resume goes on, also after a kill. What is trained lies in Models when it is done.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import (
    QHBoxLayout,
    QPlainTextEdit,
    QProgressBar,
    QPushButton,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from facelens.session.draft import Draft
from facelens.session.jobs import Job
from facelens.session.training import Run, words
from facelens.views import theme
from facelens.views.controls import Banner, EmptyState, label
from facelens.views.docks.jobs import progress_text
from facelens.views.frame import Frame, split
from facelens.views.panel import Desk, Panel
from facelens.views.recipe_form import WIDTH, RecipeForm
from facelens.views.training import FIRST, SLOT, Trainer
from facelens.words import escaped, tr

OFTEN = 200  # ms between two drawings while rows come in
NARROW = 720  # px; under it the form lies above the curves


class TrainingPanel(Panel):
    """See the module's words."""

    word = "training"
    title = "Training"
    reads = frozenset({"draft", "run", "faces", "excluded", "models", "stored"})

    def __init__(self, desk: Desk, parent: QWidget | None = None) -> None:
        super().__init__(desk, parent)
        # Charts bring pyqtgraph with them, so they are loaded with the first page that draws.
        from facelens.views.curves import Curves

        self.setAccessibleName(tr("Training"))
        self.work = Trainer(desk)
        self.form = RecipeForm()
        self.form.chosen.connect(self._on_chosen)
        self.form.changed.connect(self._on_changed)
        self.form.started.connect(self.work.start)
        self.form.moved.connect(self.work.another_folder)
        self.banner = Banner()
        self.terms = Curves(tr("loss terms, lower is better"), name=tr("Terms of the loss"), low=0.0)
        self.checks = Curves(tr("held-out people, higher is better"), name=tr("Validation"), low=0.0, high=1.0)
        self.rate = Curves(tr("learning rate"), name=tr("Learning rate"), low=0.0)
        self.log = QPlainTextEdit()
        self.pages = QStackedWidget()
        self.empty = EmptyState(
            "play",
            tr("Nothing trained yet"),
            tr("Choose a recipe at the left and press Start. Every term of the loss is drawn while it learns."),
            note=tr("Pictures stay where they are and never leave this computer."),
        )
        self.pages.addWidget(self.empty)
        self.pages.addWidget(self._build_run())
        self.body = split(Qt.Orientation.Horizontal, self.form, self.pages)
        self.body.setStretchFactor(1, 1)
        self.body.setSizes([WIDTH, 900])
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.setSpacing(0)
        outer.addWidget(self.banner)
        outer.addWidget(self.body, 1)
        self._later = QTimer(self)
        self._later.setSingleShot(True)
        self._later.setInterval(OFTEN)
        self._later.timeout.connect(self._show_run)
        self._stop_jobs = desk.jobs.listen(self._on_job)
        self.destroyed.connect(self._stop_jobs)

    # -- building

    def _build_run(self) -> QWidget:
        self.lead = label(name="lead")
        self.line = label(name="small", wrap=True)
        self.bar = QProgressBar()
        self.bar.setTextVisible(False)
        self.bar.setAccessibleName(tr("Progress of the training"))
        self.stop = QPushButton(tr("Stop"))
        self.stop.setToolTip(tr("Ends after the step at hand; what was learned is saved, and Resume goes on"))
        self.stop.clicked.connect(self.work.stop)
        self.resume = QPushButton(tr("Resume"))
        self.resume.setObjectName("primary")
        self.resume.setToolTip(tr("Goes on where it stopped, with its own recipe and gallery"))
        self.resume.clicked.connect(self.work.resume)
        self.models = QPushButton(tr("Show models"))
        self.models.setToolTip(tr("What was trained is there"))
        self.models.clicked.connect(lambda: self.desk.act("model.show"))
        said = QVBoxLayout()
        said.setSpacing(3)
        for part in (self.lead, self.bar, self.line):
            said.addWidget(part)
        top = QHBoxLayout()
        top.setContentsMargins(16, 10, 12, 10)
        top.setSpacing(12)
        top.addLayout(said, 1)
        for button in (self.stop, self.resume, self.models):
            top.addWidget(button, 0, Qt.AlignmentFlag.AlignVCenter)
        strip = QWidget()
        strip.setObjectName("header")
        strip.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        strip.setLayout(top)
        self._above = split(
            Qt.Orientation.Horizontal,
            Frame(tr("Terms"), self.terms),
            Frame(tr("Validation"), self.checks),
            sizes=(3, 2),
        )
        self.log.setObjectName("mono")
        self.log.setReadOnly(True)
        self.log.setFont(theme.font(10, mono=True))
        self.log.setAccessibleName(tr("Log of the training"))
        self.log.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self._below = split(
            Qt.Orientation.Horizontal,
            Frame(tr("Learning rate"), self.rate),
            Frame(tr("Log"), self.log),
            sizes=(1, 2),
        )
        rows = split(Qt.Orientation.Vertical, self._above, self._below, sizes=(3, 2))
        made = QWidget()
        column = QVBoxLayout(made)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(strip)
        column.addWidget(rows, 1)
        return made

    def home(self) -> QWidget:
        return self.form.recipe

    def close_panel(self) -> None:
        self._stop_jobs()
        self._later.stop()
        super().close_panel()

    # -- showing

    def refresh(self, changed: frozenset[str]) -> None:
        if self.desk.workspace.draft is None:
            if last := self.desk.settings.training:
                self.work.look_into(Path(last), offer=True)
            self.work.choose(FIRST)
            return
        self._show_form()
        if "run" in changed and not self._later.isActive():
            self._later.start()

    def _show_form(self) -> None:
        self.form.fill(self.desk.workspace, running=self.work.job() is not None)

    def _show_run(self) -> None:
        from facelens.views.curves import Curve, far_apart

        run, job = self.desk.workspace.run, self.work.job()
        self.pages.setCurrentIndex(0 if run is None else 1)
        self._show_problem(run)
        self._show_job(job)
        if run is None:
            return
        rows = [row for row in run.rows if row.get("stage", "") == run.stage]
        steps = np.array([row["step"] for row in rows], np.float64)

        def curves(part: str, lead: str = "") -> list[Curve]:
            names = dict.fromkeys(name for row in rows for name in row.get(part, {}))
            return [
                Curve(name, steps, np.array([row.get(part, {}).get(name, np.nan) for row in rows]), name == lead)
                for name in names
            ]

        terms = curves("terms", "loss")
        self.terms.show_curves(terms, steps=run.steps, log=far_apart(terms))
        self.checks.show_curves(curves("validation"), steps=run.steps)
        self.rate.show_curves(
            [Curve(tr("rate"), steps, np.array([row["rate"] for row in rows]), leads=True)] if rows else [],
            steps=run.steps,
        )
        self.log.setPlainText("\n".join(words(row) for row in run.rows))
        self.log.moveCursor(self.log.textCursor().MoveOperation.End)

    def _show_problem(self, run: Run | None) -> None:
        error = run.error if run is not None else None
        self.banner.set_message(error.message if error else "", error.hint if error else "")

    def _show_job(self, job: Job | None) -> None:
        run = self.desk.workspace.run
        if run is None:
            return
        done = run.rows[-1]["step"] if run.rows else run.step
        name = escaped(run.recipe.name)
        self.stop.setVisible(job is not None)
        self.resume.setVisible(job is None and not run.files)
        self.models.setVisible(job is None and bool(run.files))
        self.lead.setText(tr("{done} of {total} steps", done=done, total=run.steps) if run.steps else name)
        if job is not None:
            self.line.setText(f"{name} · {progress_text(job)}")
            self.bar.setRange(0, 1000 if job.total else 0)
            self.bar.setValue(round(1000 * job.done / job.total) if job.total else 0)
        else:
            state = tr("done") if run.files else tr("stopped")
            self.line.setText(f"{name} · {state} · {escaped(str(run.folder))}")
            self.bar.setRange(0, 1000)
            self.bar.setValue(round(1000 * done / run.steps) if run.steps else 0)

    # -- what happens

    def _on_job(self, job: Job) -> None:
        if job.request.slot != SLOT or not self.isVisible():
            return
        self._show_job(self.work.job())
        if job.state.ended or job.done == 0:
            self._show_form()

    def _on_chosen(self, name: object) -> None:
        self.work.choose(name)  # type: ignore[arg-type]

    def _on_changed(self, draft: Draft) -> None:
        self.work.change(draft)
