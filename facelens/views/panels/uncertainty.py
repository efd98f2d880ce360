"""Uncertainty: where the models of an ensemble disagree, and what refusing the worst pictures does.

Left the histogram of the score over the faces in its order; right the errors that are left against the share of faces
that is kept, over who is sure and wrong. One line stands in all of them: what lies beyond it is refused. Whatever is
brushed or clicked is the selection of all panels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QMenu, QStackedWidget, QToolButton, QVBoxLayout, QWidget

from facelens.analyses.measure import rate
from facelens.analyses.plan import OWN, VARIANCE
from facelens.figures.refusal import score_means, score_words
from facelens.images.faceset import Ids
from facelens.session import filters
from facelens.session.actions import assessable, embeddable
from facelens.session.depicting import View
from facelens.session.jobs import Job, State
from facelens.session.questions import ASSESS, limit_of
from facelens.session.selection import Mode, Selection
from facelens.views.assessing import AT_ONCE, Assessing, asked
from facelens.views.controls import Banner, EmptyState, Segmented, label, tool_button
from facelens.views.frame import Frame, Places, Skeleton, fill, lay_out, scrolled, split
from facelens.views.grid import Marks, ThumbnailGrid
from facelens.views.looking import Look, look
from facelens.views.panel import Desk, Panel, while_there
from facelens.views.shortcuts import keyed
from facelens.views.uncertainty_controls import UncertaintyControls
from facelens.views.working import Working
from facelens.words import number, plural, tr

if TYPE_CHECKING:
    from facelens.analyses.rejection import Risk
    from facelens.analyses.uncertainty import Uncertainty, Update
    from facelens.views.hover import Line
    from facelens.views.members_page import MembersPage
    from facelens.views.score_scatter import ScoreScatter
    from facelens.views.weak_identities import WeakIdentities

NARROW, WIDE = 840, 1180  # px; under the one the right column lies below the left one
BESIDE, STACKED = 520, 1000  # px; least height of the page
ON_THE_WAY = ("inspect:", "vectors:", "embed:")  # slots of jobs that may bring a member
Page = TypeVar("Page", bound=QWidget)


class UncertaintyPanel(Panel):
    """See the module's words."""

    word = "uncertainty"
    title = "Uncertainty"
    reads = frozenset(
        {
            "faces",
            "excluded",
            "features",
            "models",
            "model_b",
            "ensemble",
            "assessed",
            "refusal",
            "selection",
        }
    )

    def __init__(self, desk: Desk, parent: QWidget | None = None) -> None:
        super().__init__(desk, parent)
        # Charts bring pyqtgraph with them, so they are loaded with the first page that draws.
        from facelens.views.gain_row import GainRow
        from facelens.views.quadrants import Quadrants
        from facelens.views.risk_chart import RiskChart
        from facelens.views.strip import BandStrip
        from facelens.views.variance_chart import VarianceChart

        self.setAccessibleName(tr("Uncertainty"))
        self.work = Assessing(desk)
        self.compared = ""  # the score in the scatter
        self._shown: Uncertainty | None = None
        self._declined: tuple[object, ...] = ()  # a question whose job failed or was cancelled: not asked again unasked
        self._running: tuple[object, ...] = ()
        self._updated: tuple[object, ...] = ()  # the question to which another query model was tried
        self._tried = ""  # that model
        self._stretched: Ids = np.zeros(0, np.int64)  # what was chosen on the curve
        self.controls = UncertaintyControls(self)
        self.controls.planned.connect(lambda changes: asked(desk, self, **changes))
        self.controls.scored.connect(self._on_scored)
        self.controls.compared.connect(self.compare_with)
        look(self.desk, self.controls.compare, "compared")
        self.controls.asked.connect(desk.act)
        self.working = Working()
        self.working.cancel.setToolTip(tr("Stops at once; transforms that are fitted are kept"))
        self.working.cancelled.connect(lambda: desk.jobs.cancel_slot(ASSESS))
        self.banner = Banner()
        self.notes = label(name="cap", wrap=True)
        self.notes.setContentsMargins(12, 4, 12, 4)
        self.variance = VarianceChart()
        self.variance.step_moved.connect(self._on_step)
        self.variance.brushed.connect(self._on_chosen)
        self.strip = BandStrip(desk)
        self.strip.describe = self._members_of
        self.grid = ThumbnailGrid(desk.thumbnails)
        self.grid.set_thumbnail_size(80)
        self.grid.select.connect(self._on_select)
        self.grid.look.connect(self._on_look)
        self.grid.open_face.connect(self._on_open)
        self.risk = RiskChart()
        self.risk.step_moved.connect(self._on_step)
        self.risk.stretch.connect(self._on_stretch)
        self.gains = GainRow()
        self.quadrants = Quadrants(desk)
        self.quadrants.chosen.connect(self._on_quadrant)
        self.quadrants.pair_wanted.connect(self._on_pair)
        self.skeleton = Skeleton()
        self.empty = self._build_empty()
        self.pages = QStackedWidget()
        lay_out(self, self.controls, self.working, self.banner, self.notes, body=self.pages)
        for page in (self.empty, self.skeleton):
            self.pages.addWidget(page)
        self._build_body()
        self._stop_jobs = desk.jobs.listen(self._on_job)
        self.destroyed.connect(self._stop_jobs)

    # -- building

    def _build_body(self) -> None:
        self.left, self.right = split(Qt.Orientation.Vertical), split(Qt.Orientation.Vertical)
        self.body = split(Qt.Orientation.Horizontal)
        self.area = scrolled(self.body)
        self.pages.addWidget(self.area)
        self.histogram = Frame(tr("Variance"), self.variance)
        self.counts = Segmented([("linear", tr("linear")), ("log", tr("log"))], label=tr("Counts"), height=22)
        self.counts.button("linear").setToolTip(tr("Counts of faces as they are"))
        self.counts.button("log").setToolTip(tr("Equal steps for equal factors: few faces are seen beside many"))
        self.counts.changed.connect(self._on_counts)
        look(self.desk, self.counts, "counts")
        self.histogram.header.add(self.counts)
        self.below = Places(
            [
                ("strip", tr("Strip"), tr("Low, medium and high: three rows of faces"), self.strip),
                ("grid", tr("Grid"), tr("All faces, the worst first"), self.grid),
                ("identities", tr("Identities"), tr("Whose enrolment is weak"), QWidget()),
                ("members", tr("Members"), tr("Which model disagrees, and what each brings"), QWidget()),
                ("scatter", tr("Scatter"), tr("Against another score"), QWidget()),
            ],
            label=tr("Faces by score"),
        )
        self.below.changed.connect(lambda _: self._show_below())
        self.update_menu = QMenu(self)
        self.update_menu.aboutToShow.connect(self._list_query_models)
        self.query_update = tool_button(
            "swap",
            tr("What another query model would change; the gallery is not embedded again"),
            text=tr("Query update"),
            size=14,
        )
        self.query_update.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.query_update.setMenu(self.update_menu)
        self.below.header.add(self.query_update)
        self.task = Segmented([("1:1", "1:1"), ("1:N", "1:N")], label=tr("Kind of test"), height=22)
        self.task.button("1:1").setToolTip(tr("Pairs of pictures; refused ones take part in no pair"))
        self.task.button("1:N").setToolTip(tr("Searches among templates; refused pictures leave their template"))
        self.task.changed.connect(lambda _: self._show_risk())
        look(self.desk, self.task, "risk_task")
        curve = QWidget()
        column = QVBoxLayout(curve)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.gains)
        column.addWidget(self.risk, 1)
        self.curve = Frame(tr("Risk against coverage"), curve, tr("drag the line"), yields=True)
        self.curve.header.add(self.task)
        self.correct = Frame(tr("Uncertainty and correctness"), self.quadrants, yields=True)
        fill(self.body, self.left, self.right)
        fill(self.left, self.histogram, self.below, sizes=(36, 64))
        fill(self.right, self.curve, self.correct, sizes=(50, 50))

    def _build_empty(self) -> EmptyState:
        made = EmptyState("points", tr("No ensemble yet"))
        self.open = made.add_button(tr("Open gallery…"), lambda: self.desk.act("gallery.open"), primary=True)
        keyed(self.open, "gallery.open", tr("A folder with one sub-folder per person, or with a manifest."))
        self.embed = made.add_button(tr("Embed"), self._on_embed, primary=True)
        self.embed.setToolTip(tr("In the background; what is done already is kept"))
        self.next = made.add_button(tr("Open models"), lambda: self.desk.act("model.show"))
        self.next.setToolTip(tr("Loads models and embeds the gallery with them"))
        self.run = made.add_button(tr("Run"), lambda: self.desk.act("uncertainty.run"), primary=True)
        keyed(self.run, "uncertainty.run", tr("Runs in the background."))
        return made

    @cached_property
    def identities(self) -> WeakIdentities:
        """Made when it is first looked at."""
        from facelens.views.weak_identities import WeakIdentities

        made = self._put(WeakIdentities(self.desk), "identities")
        made.select.connect(self._on_select)
        made.look.connect(self._on_look)
        made.only.connect(self._on_only)
        made.ordered.connect(
            Look(self.desk, made, "people_order", lambda: made.people_order, made.take_order).tell
        )
        return made

    @cached_property
    def members(self) -> MembersPage:
        """Made when it is first looked at."""
        from facelens.views.members_page import MembersPage

        made = self._put(MembersPage(self.desk), "members")
        look(self.desk, made.task, "members_task")
        made.select.connect(self._on_select)
        return made

    @cached_property
    def scatter(self) -> ScoreScatter:
        """Made when it is first looked at."""
        from facelens.views.score_scatter import ScoreScatter

        made = self._put(ScoreScatter(self.desk.thumbnails), "scatter")
        made.select.connect(self._on_select)
        made.look.connect(self._on_look)
        made.open_face.connect(self._on_open)
        made.limit_moved.connect(self._on_limit)
        return made

    def _put(self, page: Page, key: str) -> Page:
        place = self.below.keys.index(key)
        stand_in = self.below.stack.widget(place)
        shown = self.below.stack.currentIndex()
        self.below.stack.insertWidget(place, page)
        if stand_in is not None:
            self.below.stack.removeWidget(stand_in)
            stand_in.deleteLater()
        self.below.stack.setCurrentIndex(shown)
        return page

    def home(self) -> QWidget:
        if self.pages.currentWidget() is self.area:
            return self.variance.chart
        buttons = (self.open, self.embed, self.run, self.next)
        return next((one for one in buttons if one.isVisible()), self.controls.ensemble)

    def close_panel(self) -> None:
        self._stop_jobs()
        self.strip.close_panel()
        self.quadrants.close_panel()
        super().close_panel()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        width = event.size().width()
        stacked = width < NARROW
        across = Qt.Orientation.Vertical if stacked else Qt.Orientation.Horizontal
        if across != self.body.orientation() or not any(self.body.sizes()) or event.oldSize().width() != width:
            self.body.setOrientation(across)
            side = round(width * (0.39 if width >= WIDE else 0.45))
            self.body.setSizes([550, 450] if stacked else [width - side, side])
        self.body.setMinimumHeight(STACKED if stacked else BESIDE)
        self.controls.fitted.setVisible(width >= WIDE)

    # -- what the user sees

    def refresh(self, changed: frozenset[str]) -> None:
        workspace = self.desk.workspace
        found = workspace.uncertainty
        if changed & {"faces", "excluded", "features", "models", "model_b", "ensemble"}:
            self.controls.fill(workspace, self.compared)
            if self._updated and self._updated != workspace.ensemble_question:
                self._updated, self._tried = (), ""
                self.members.show_update(())  # it was another ensemble's
            if found is self._shown is not None:
                self._show_correlation()
                self._show_below()  # columns may have come or gone
        if found is not self._shown:
            self._shown = found
            if found is not None:
                self._show_uncertainty(found)
            self._show_notes()
        elif "refusal" in changed and found is not None:
            self._show_step()
        if "selection" in changed and found is not None:
            self._show_selection()
        self._start()
        self._show_page()

    def _start(self) -> None:
        if self._shown is None and self._may_start():
            self._running = self.desk.workspace.ensemble_question
            self.work.run()

    def _show_page(self) -> None:
        workspace = self.desk.workspace
        job = self.work.job()
        self.working.show_job(job)
        before, focus = self.pages.currentWidget(), self.focusWidget()
        if workspace.uncertainty is not None:
            self.pages.setCurrentWidget(self.area)
        elif job is not None:
            self.pages.setCurrentWidget(self.skeleton)
        else:
            self._show_empty()
            self.pages.setCurrentWidget(self.empty)
        gone = focus is not None and focus.hasFocus() and not focus.isVisible()
        if gone and before is not self.pages.currentWidget():
            self.home().setFocus()
        self.controls.setVisible(workspace.faces is not None and len(workspace.features) > 0)
        self.controls.export.setEnabled(workspace.uncertainty is not None)

    def _may_start(self) -> bool:
        """Small galleries are looked at without being asked, unless that was stopped or has failed before."""
        workspace = self.desk.workspace
        question = workspace.ensemble_question
        if assessable(workspace) or question in (self._declined, self._running) or not self.isVisible():
            return False
        if any(job.request.slot.startswith(ON_THE_WAY) and not job.state.ended for job in self.desk.jobs.jobs):
            return False  # further members come soon
        slow = workspace.ensemble.method == "rbt" or workspace.ensemble.mode == "unified"
        return not slow and workspace.kept_faces is not None and len(workspace.kept_faces) <= AT_ONCE

    def _show_empty(self) -> None:
        workspace = self.desk.workspace
        reason = assessable(workspace)
        waiting = [name for name in workspace.model_names if not embeddable(workspace, name)]
        self.open.setVisible(workspace.faces is None)
        self.next.setVisible(workspace.faces is not None and bool(reason))
        self.embed.setVisible(workspace.faces is not None and bool(reason) and bool(waiting))
        self.run.setVisible(not reason)
        if workspace.faces is None:
            words = tr("No gallery yet"), tr("An ensemble looks at the faces of a gallery. Open one, then embed it.")
        elif not workspace.model_names:
            words = (
                tr("No model yet"),
                tr("Variance needs two models or more. Open some and embed the gallery with them."),
            )
        elif reason:
            words = tr("Variance needs two models or more"), reason
            some = ", ".join(waiting[:2])
            self.embed.setText(tr("Embed with {names}", names=some))
            self.embed.setToolTip(tr("Runs in the background; what is done already is kept"))
        else:
            n = len(workspace.kept_faces) if workspace.kept_faces is not None else 0
            stopped = workspace.ensemble_question == self._declined
            words = (
                tr("The ensemble was stopped") if stopped else tr("Ready to compare the models"),
                plural(n, "{n} face", "{n} faces")
                + ", "
                + plural(len(workspace.resolved_ensemble.members), "{n} model.", "{n} models."),
            )
        self.empty.set_message(*words)

    def _show_uncertainty(self, found: Uncertainty) -> None:
        from facelens.analyses.ensemble import percentiles

        plan = self.desk.workspace.resolved_ensemble
        self._percentiles = percentiles(found.values)
        self._order = np.argsort(found.ids)
        self._sorted_ids = found.ids[self._order]
        name = tr("variance") if plan.by == VARIANCE else plan.by
        self.histogram.header.set_title(name[:1].upper() + name[1:])
        self.histogram.header.set_subtitle(tr("N = {n} faces", n=len(found.ids)))
        words = score_words(plan.by) if plan.by in OWN else name
        self.variance.show_values(found.values, found.ids, words, lower=found.lower)
        self.variance.set_steps(found.verification.limit if found.verification is not None else np.zeros(0))
        right = found.recognition.right if found.recognition is not None else None
        how = {"name": name, "lower": found.lower}
        self.strip.show_faces(found.ids, found.values, self._percentiles, right=right, **how)  # type: ignore[arg-type]
        self.quadrants.show_faces(found.ids, found.values, found.recognition, **how)  # type: ignore[arg-type]
        rates = tr("1:1 at FAR {far}", far=rate(plan.far))
        self.correct.header.set_subtitle(rates)
        self.controls.fitted.setText(self._fitted(found))
        self._show_risk()
        self._show_below()
        self._show_correlation()
        self._show_step()
        self._show_selection()

    def _fitted(self, found: Uncertainty) -> str:
        faces = plural(len(found.ids), "{n} face", "{n} faces")
        if not found.fitted_people:
            return tr("fitted elsewhere, shown on {faces}", faces=faces)
        return tr(
            "fitted on {a}, shown on the other {b} · {faces}",
            a=plural(found.fitted_people, "{n} person", "{n} people"),
            b=found.shown_people,
            faces=faces,
        )

    def _risk(self) -> Risk | None:
        found = self._shown
        if found is None:
            return None
        return found.verification if self.task.value() == "1:1" else found.identification

    def _show_risk(self) -> None:
        plan = self.desk.workspace.resolved_ensemble
        self.risk.show_risk(self._risk(), by=tr("variance") if plan.by == VARIANCE else plan.by)
        self._show_step()

    def _show_below(self) -> None:
        """Fill the page of faces that is seen."""
        found, workspace, key = self._shown, self.desk.workspace, self.below.key
        self.query_update.setVisible(key == "members")
        faces = workspace.faces
        if found is None or faces is None or not hasattr(self, "_percentiles"):
            return
        plan = workspace.resolved_ensemble
        name = tr("variance") if plan.by == VARIANCE else plan.by
        if key == "grid":
            order = np.argsort(-np.nan_to_num(found.values, nan=-np.inf), kind="stable")
            self.grid.set_faces(
                faces, faces.rows_of(found.ids[order]), value=plan.by if plan.by in faces.columns else ""
            )
            self.grid.set_selection(workspace.selection)
        elif key == "identities":
            self.identities.show_faces(faces, found.ids, found.values, found.recognition, score=name, lower=found.lower)
        elif key == "members":
            self.members.show_uncertainty(found)
        elif key == "scatter":
            other = faces.columns.get(self.compared)
            if isinstance(other, np.ndarray):
                x = np.asarray(other, np.float64)[faces.rows_of(found.ids)]
                self.scatter.show_scores(
                    faces,
                    found.ids,
                    x,
                    found.values,
                    x_name=self.compared,
                    y_name=name,
                    y_means=score_means(plan.by, lower=found.lower),
                    lower=found.lower,
                    recognition=found.recognition,
                )
            else:
                self.scatter.show_nothing(tr("Choose a score under Compare with."))
        self._show_step()
        self._show_selection()

    def _show_correlation(self) -> None:
        from facelens.analyses.correlation import spearman

        found, faces = self._shown, self.desk.workspace.faces
        column = faces.columns.get(self.compared) if faces is not None and self.compared else None
        if found is None or faces is None or not isinstance(column, np.ndarray):
            return
        rho = spearman(
            np.asarray(column, np.float64)[faces.rows_of(found.ids)], -found.values if found.lower else found.values
        )
        if rho.value is not None:
            self.controls.set_correlation(f"ρ = {number(rho.value, 2)}")

    def _show_step(self) -> None:
        """Everything that follows the line."""
        found, step, limit = self._shown, self.desk.workspace.refusal, limit_of(self.desk.workspace)
        if found is None:
            return
        self.variance.set_step(step)
        self.risk.set_step(step)
        self.gains.show_gains(found.verification, found.identification, step)
        self.strip.set_limit(limit)
        self.quadrants.set_limit(limit)
        key = self.below.key
        if key == "grid":
            self._mark_grid(limit)
        elif key in ("identities", "members", "scatter"):
            getattr(self, key).set_limit(limit)

    def _mark_grid(self, limit: float) -> None:
        found, faces = self._shown, self.desk.workspace.faces
        assert found is not None and faces is not None
        rows = faces.rows_of(found.ids)
        refused, verdict = np.zeros(len(faces), bool), np.zeros(len(faces), np.int8)
        refused[rows] = found.values > limit
        if found.recognition is not None:
            verdict[rows] = np.where(found.recognition.right == 0, -1, 0)
        self.grid.set_marks(Marks(refused=refused, verdict=verdict))

    def _show_selection(self) -> None:
        selection = self.desk.workspace.selection
        self.variance.set_selection(selection.ids)
        if not np.array_equal(np.sort(selection.ids), np.sort(self._stretched)):
            self.risk.set_stretch(0, 0)  # another selection than that stretch
        if self.below.key == "grid":
            self.grid.set_selection(selection)
        elif self.below.key in ("members", "scatter", "identities"):
            getattr(self, self.below.key).set_selection(selection)

    def _show_notes(self) -> None:
        """A banner for what makes the variance untrustworthy, a quiet line for what is good to know."""
        found = self._shown
        problems = found.problems if found is not None else ()
        first, *others = problems or ("",)
        self.banner.set_message(first, " ".join(others))
        notes = list(found.notes) if found is not None else []
        if found is not None and found.weighted.defined:
            notes.append(
                tr("Templates weighted by 1 / variance, nothing refused: TPIR {value}.", value=found.weighted.text(3))
            )
        self.notes.setText(" ".join(notes))
        self.notes.setVisible(bool(notes))

    def _members_of(self, face: int) -> Sequence[Line]:
        """Lines of the hover card: how far each member is from the others."""
        from facelens.views.strip import disagreement

        found, place = self._shown, self._place(face)
        if found is None or place is None:
            return []
        return disagreement([one.name for one in found.members], found.apart[:, place])

    def _place(self, face: int) -> int | None:
        at = int(np.searchsorted(self._sorted_ids, face))
        return int(self._order[at]) if at < len(self._sorted_ids) and self._sorted_ids[at] == face else None

    # -- jobs

    def figure_places(self) -> Sequence[tuple[QWidget, str]]:
        task = {"1:1": "1 to 1", "1:N": "1 to N"}
        below = self.below.key if self.below.key in ("strip", "identities", "scatter") else ""
        if self.below.key == "members":
            places, size = self.members.places.key, task[self.members.task.value()]
            below = f"sizes {size}" if places == "sizes" else places
        curve = task[self.task.value()]
        return (self.histogram, "histogram"), (self.below, below), (self.curve, curve), (self.correct, "quadrants")

    def figure_view(self) -> View:
        from facelens.figures.enrolled import MOST

        people = self.identities.names(MOST) if self.below.key == "identities" else ()
        return View(log=self.variance.log, against=self.compared, query=self._tried, people=people)

    def _on_job(self, job: Job) -> None:
        if job.request.slot.startswith(ON_THE_WAY) and job.state.ended:
            QTimer.singleShot(0, self, self._start)
        if job.request.slot != ASSESS:
            return
        if not job.state.ended:
            self._running = self.desk.workspace.ensemble_question
        elif job.state is not State.DONE and self.work.job() is None:
            self._declined, self._running = self._running, ()
        if job.state is State.DONE:
            self._running = ()  # its answer may have come too late for what is asked now
            QTimer.singleShot(0, self, self._show_page)  # after whoever asked has got the answer
        elif self.isVisible():
            self._show_page()

    # -- what the user asks

    def show_below(self, key: str) -> None:
        """Bring one page of faces to the front."""
        self.below.show_key(key)

    def _on_embed(self) -> None:
        from facelens.views.modelling import Modelling

        workspace = self.desk.workspace
        for name in [name for name in workspace.model_names if not embeddable(workspace, name)][:2]:
            Modelling(self.desk, self).embed(name)

    def _on_counts(self, _: int) -> None:
        self.variance.log = self.counts.value() == "log"

    def _on_scored(self, name: str) -> None:
        """Refuse by another score: low values first, where they are those of faces the models disagree on."""
        from facelens.analyses.correlation import spearman

        found, faces = self._shown, self.desk.workspace.faces
        lower = False
        column = faces.columns.get(name) if faces is not None else None
        if found is not None and faces is not None and name != VARIANCE and isinstance(column, np.ndarray):
            rho = spearman(np.asarray(column, np.float64)[faces.rows_of(found.ids)], found.variance)
            lower = rho.value is not None and rho.value < 0
        if self.compared == name:
            self.compared = VARIANCE if name != VARIANCE else ""
        asked(self.desk, self, by=name, lower=lower)

    def compare_with(self, name: str) -> None:
        """Show another score against this one; "" for none."""
        self.compared = name
        self.controls.fill(self.desk.workspace, name)
        self._show_correlation()
        if name:
            self.show_below("scatter")
        self._show_below()

    def _list_query_models(self) -> None:
        self.update_menu.clear()
        workspace = self.desk.workspace
        names = [name for name in workspace.features if name != workspace.resolved_ensemble.target]
        for name in names:
            self.update_menu.addAction(name).triggered.connect(lambda _=False, name=name: self._on_query_model(name))
        if not names:
            self.update_menu.addAction(tr("No other model has vectors")).setEnabled(False)

    def _on_query_model(self, name: str) -> None:
        def show(found: Update) -> None:
            self._updated, self._tried = self.desk.workspace.ensemble_question, name
            self.members.show_update(found.rows, old=found.old, new=found.new)

        self.work.update_query(name, while_there(self, show))

    def _on_step(self, step: int) -> None:
        self.desk.store.update(refusal=step, initiator=self)

    def _on_limit(self, limit: float) -> None:
        """The line of the scatter: to the nearest step."""
        risk = self._shown.verification if self._shown is not None else None
        if risk is not None:
            finite = np.where(np.isfinite(risk.limit), risk.limit, np.nanmax(self._shown.values))  # type: ignore[union-attr]
            self._on_step(int(np.abs(finite - limit).argmin()))

    def _on_stretch(self, first: int, last: int) -> None:
        """A stretch of the curve: the faces that are refused between two steps."""
        found, risk = self._shown, self._risk()
        if found is not None and risk is not None:
            high, low = sorted((float(risk.limit[first]), float(risk.limit[last])), reverse=True)
            self._stretched = found.ids[(found.values > low) & (found.values <= high)]
            self._on_chosen(self._stretched)

    def _on_chosen(self, ids: Ids) -> None:
        current = int(ids[-1]) if len(ids) else None
        self.desk.store.update(selection=Selection(np.asarray(ids, np.int64), current), initiator=self)

    def _on_select(self, ids: Ids, mode: Mode) -> None:
        self.desk.store.update(selection=self.desk.workspace.selection.combine(ids, mode), initiator=self)

    def _on_look(self, face: int) -> None:
        self.desk.store.update(selection=self.desk.workspace.selection.looking_at(face), initiator=self)

    def _on_only(self, name: str) -> None:
        """The gallery shows one person and nobody else."""
        arrangement = self.desk.workspace.arrangement
        text = filters.choosing(arrangement.filter, "identity", [name])
        self.desk.store.update(arrangement=replace(arrangement, filter=text), initiator=self)
        self.desk.act("view.grid")

    def _on_open(self, face: int) -> None:
        self._on_look(face)
        self.desk.act("view.loupe")

    def _on_quadrant(self, ids: Ids, words: str) -> None:
        self._on_chosen(ids)
        self.desk.tell(words)

    def _on_pair(self, face: int, other: int) -> None:
        ids = np.array([face, other], np.int64)
        self.desk.store.update(selection=Selection(ids, face, (face, other)), initiator=self)
        self.desk.act("view.compare")
