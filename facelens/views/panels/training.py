"""Training: a recipe, a gallery, and what the papers train; every term is seen while it learns.

At the left what is asked, at the right what came of it so far. Stop saves what was learned and Resume goes on, also
after a kill; what is trained lies in Models when it is done. In a narrow panel the two sides share one place.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QResizeEvent, QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QStackedWidget, QWidget

from facelens.errors import FaceLensError
from facelens.session.depicting import View
from facelens.session.jobs import Job, State
from facelens.views.controls import Banner, EmptyState, Segmented
from facelens.views.frame import fill, lay_out, split
from facelens.views.panel import Desk, Panel
from facelens.views.recipe_form import WIDTH, RecipeForm
from facelens.views.training import FIRST, SLOT, Trainer
from facelens.words import tr

OFTEN = 400  # ms between two drawings while rows come in
NARROW = 760  # px; under it form and curves share one place


class TrainingPanel(Panel):
    """See the module's words."""

    word = "training"
    title = "Training"
    reads = frozenset({"draft", "run", "faces", "excluded", "models", "stored"})

    def __init__(self, desk: Desk, parent: QWidget | None = None) -> None:
        super().__init__(desk, parent)
        # Charts bring pyqtgraph with them, so they are loaded with the first page that draws.
        from facelens.views.run_page import RunPage

        self.setAccessibleName(tr("Training"))
        self.work = Trainer(desk)
        self._problem: FaceLensError | None = None  # of the last thing that was asked for
        self.banner = Banner()
        self.banner.dismissed.connect(self._on_dismissed)
        self.sides = Segmented([("form", tr("Recipe")), ("run", tr("Curves"))], label=tr("Side of the training"))
        self.sides.button("form").setToolTip(tr("What is trained, on what and how"))
        self.sides.button("run").setToolTip(tr("What came of it so far"))
        self.sides.changed.connect(lambda _: self._show_sides())
        self.strip = QWidget()
        row = QHBoxLayout(self.strip)
        row.setContentsMargins(12, 7, 12, 7)
        row.addWidget(self.sides)
        row.addStretch(1)
        self.body, self.pages = split(Qt.Orientation.Horizontal), QStackedWidget()
        self.pages.setMinimumWidth(240)
        lay_out(self, self.strip, self.banner, body=self.body)
        self.form = RecipeForm(self.body)
        self.form.chosen.connect(self._on_chosen)
        self.form.changed.connect(self.work.change)
        self.form.given.connect(self._on_given)
        self.form.started.connect(self._on_started)
        self.form.moved.connect(self.work.another_folder)
        fill(self.body, self.form, self.pages)
        self.empty = EmptyState(
            "play",
            tr("Nothing is trained yet"),
            tr("Choose a recipe and press Start. Every term of the loss is drawn while it learns."),
            note=tr("Pictures stay where they are and never leave this computer."),
        )
        self.page = RunPage(self.pages)
        self.page.stopped.connect(self.work.stop)
        self.page.resumed.connect(self.work.resume)
        self.page.shown_models.connect(lambda: desk.act("model.show"))
        self.pages.addWidget(self.empty)
        self.pages.addWidget(self.page)
        self.body.setStretchFactor(0, 0)
        self.body.setStretchFactor(1, 1)
        self.body.setSizes([WIDTH, 900])
        self._later = QTimer(self)
        self._later.setSingleShot(True)
        self._later.setInterval(OFTEN)
        self._later.timeout.connect(self._show_run)
        self._stop_jobs = desk.jobs.listen(self._on_job)
        self.destroyed.connect(self._stop_jobs)

    def home(self) -> QWidget:
        return self.form.recipe if self.form.isVisible() else self.page.stop

    def close_panel(self) -> None:
        self._stop_jobs()
        self._later.stop()
        super().close_panel()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._show_sides()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self.desk.workspace.draft is not None:  # a training may have ended while nobody looked
            self._show_form()
            self.page.show_job(self.work.job())

    # -- showing

    def refresh(self, changed: frozenset[str]) -> None:
        if self.desk.workspace.draft is None:
            self._begin()
            return
        if changed - {"run"} or self.form.running != (self.work.job() is not None):
            self._show_form()
        if "run" in changed:
            run = self.desk.workspace.run
            if run is None or run.folder != self.page.folder or run.files or run.error is not None:
                self._show_run()
            elif not self._later.isActive():
                self._later.start()

    def _begin(self) -> None:
        """The first recipe; a training that was not finished is looked up and offered."""
        self.work.choose(FIRST)
        if last := self.desk.settings.training:
            self.work.look_into(Path(last), offer=True)

    def _show_form(self) -> None:
        self.form.fill(self.desk.workspace, running=self.work.job() is not None)

    def _show_run(self) -> None:
        self._later.stop()
        run = self.desk.workspace.run
        self.pages.setCurrentIndex(0 if run is None else 1)
        if run is not None:
            self.page.show_run(run, self.work.job())
        self._show_banner()

    def _show_banner(self) -> None:
        run = self.desk.workspace.run
        error = self._problem or (run.error if run is not None and self.work.job() is None else None)
        self.banner.set_message(error.message if error is not None else "", error.hint if error is not None else "")

    def _show_sides(self) -> None:
        narrow = self.width() < NARROW
        self.strip.setVisible(narrow)
        self.form.setVisible(not narrow or self.sides.value() == "form")
        self.pages.setVisible(not narrow or self.sides.value() == "run")

    # -- what happens

    def _on_job(self, job: Job) -> None:
        if job.request.slot != SLOT or not self.isVisible():
            return
        self.page.show_job(self.work.job())
        if job.state.ended or job.started is None:
            self._show_form()
            self._show_run()
        run = self.desk.workspace.run
        if job.state is State.CANCELLED and run is not None:
            self.work.look_into(run.folder)  # how far it was saved

    def _on_chosen(self, name: object) -> None:
        self._problem = None
        try:
            self.work.choose(name)  # type: ignore[arg-type]
        except FaceLensError as error:
            self._problem = error
            self._show_form()
        self._show_banner()

    def _on_given(self, role: str, file: str) -> None:
        self.work.give(role, file)

    def _on_started(self) -> None:
        self._problem = None
        self.work.start()
        self.sides.set_value("run")
        self._show_sides()
        if self.work.job() is not None:
            self.page.stop.setFocus()  # the button that was pressed is out of use now

    def _on_dismissed(self) -> None:
        self._problem = None
        self.work.forgive()

    def figure_places(self) -> Sequence[tuple[QWidget, str]]:
        facts = {"part": "confidences", "sizes": "clusters", "facts": "curves"}.get(self.page.facts.key)
        return (self.page.facts, facts or self.page.facts.key), (self.page, "curves")

    def figure_view(self) -> View:
        run = self.desk.workspace.run
        if run is None:
            return View()
        stages, place = run.stages, self.page.stage.currentIndex()
        shown = stages[place] if len(stages) > 1 and 0 <= place < len(stages) else ""
        return View(run=str(run.folder), stage=shown, scale=self.page.scale.value(), hidden=self.page.hidden())

    def open_recipe(self, path: Path) -> None:
        """Take a recipe file, as if it had been chosen here."""
        self._on_chosen(path)
