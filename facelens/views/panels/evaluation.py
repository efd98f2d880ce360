"""Evaluation: how good models A and B are by the field's protocols, and the pictures behind every number.

The control row says what is asked; below it curves and tables of one kind of test; at the right the pairs or searches
behind whatever was clicked. What is listed is the selection, the pair that is looked at is the pair of all panels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from facelens.analyses.evaluation import Evaluation
from facelens.figures.listed import MOST
from facelens.session.actions import evaluable, matchable, named
from facelens.session.depicting import View
from facelens.session.jobs import Job, State
from facelens.session.keys import hint
from facelens.session.listing import Listing, joined_lists, nothing, of_places, tapped
from facelens.session.questions import EVALUATE
from facelens.session.selection import Selection
from facelens.session.workspace import Operating
from facelens.views.controls import (
    Banner,
    EmptyState,
    label,
)
from facelens.views.evaluating import AT_ONCE, Evaluating, plan_changed, seconds
from facelens.views.evaluation_controls import EvaluationControls
from facelens.views.frame import Frame, Skeleton, fill, lay_out, scrolled, split
from facelens.views.looking import look
from facelens.views.pairs import PairList
from facelens.views.panel import Desk, Panel, while_there
from facelens.views.shortcuts import keyed
from facelens.views.standpoint import Standpoint
from facelens.views.tables import ResultTable
from facelens.views.working import Working
from facelens.words import plural, tr

if TYPE_CHECKING:
    from facelens.analyses.scores import Scores
    from facelens.views.identification_page import IdentificationPage
    from facelens.views.retrieval_page import RetrievalPage

NARROW = 900  # px; under it the list lies below the results, whose tables need 600
WIDE = 1180  # px; from here on the method is named in the control row
LIST, SLIM_LIST = 372, 280  # px; the list beside the results, in a wide window and in others
BESIDE, STACKED = 440, 700  # px; least height of the results with the list beside or below them
Page = TypeVar("Page", bound=QWidget)


class EvaluationPanel(Panel):
    """See the module's words."""

    word = "evaluation"
    title = "Evaluation"
    reads = frozenset(
        {
            "faces",
            "protocol",
            "excluded",
            "features",
            "models",
            "model_a",
            "model_b",
            "plan",
            "crossing",
            "evaluated",
            "operating",
            "selection",
        }
    )

    def __init__(self, desk: Desk, parent: QWidget | None = None) -> None:
        super().__init__(desk, parent)
        # Charts bring pyqtgraph with them, so they are loaded with the first page that draws.
        from facelens.views.plots import Chart
        from facelens.views.verification_page import VerificationPage

        self._charts = Chart
        self.setAccessibleName(tr("Evaluation"))
        self.work = Evaluating(desk)
        self._shown: Evaluation | None = None
        self._declined: tuple[object, ...] = ()  # a question whose job failed or was cancelled: not asked again unasked
        self._running: tuple[object, ...] = ()  # the question that is being answered, or was last
        self._again: Callable[[], Listing] | None = None
        self._asker: object = None
        self.controls = EvaluationControls(self)
        self.controls.planned.connect(lambda asked: plan_changed(desk, self, **asked))
        self.controls.crossed.connect(lambda crossing: desk.store.update(crossing=crossing, initiator=self))
        self.controls.part_chosen.connect(self.show_part)
        self.controls.asked.connect(desk.act)
        self.working = Working()
        self.working.cancel.setToolTip(tr("Stops at once"))
        self.working.cancelled.connect(lambda: desk.jobs.cancel_slot(EVALUATE))
        self.banner = Banner()
        self.notes = label(name="cap", wrap=True)
        self.notes.setContentsMargins(12, 4, 12, 4)
        self.skeleton = Skeleton()
        self.empty = self._build_empty()
        self.pages, self.parts = QStackedWidget(), QStackedWidget()
        lay_out(self, self.controls, self.working, self.banner, self.notes, body=self.pages)
        self.body = split(Qt.Orientation.Horizontal)
        self.area = scrolled(self.body)  # where the window is small the results keep their height
        for page in (self.empty, self.skeleton, self.area):
            self.pages.addWidget(page)
        fill(self.body, self.parts)
        self.verification = VerificationPage(self.parts)
        look(self.desk, self.verification.model, "scores_of", usual=-1)
        self.verification.operated.connect(self._on_operated)
        self.verification.fars_chosen.connect(lambda fars: plan_changed(desk, self, fars=fars))
        self.verification.asked.connect(desk.act)
        self.verification.drawn.connect(self._on_drawn)
        self.verification.listed.connect(self._on_listed)
        for part in (self.verification, QWidget(), QWidget()):
            self.parts.addWidget(part)
        fill(self.body, self._build_list())
        self.body.setStretchFactor(0, 1)
        self._stop_jobs = desk.jobs.listen(self._on_job)
        self.destroyed.connect(self._stop_jobs)

    # -- building

    def _build_list(self) -> QWidget:
        self.list = PairList(self.desk.thumbnails)
        self.list.looked.connect(self._on_looked)
        self.list.opened.connect(self._on_opened)
        self.list.scrolled.connect(self._show_foot)
        self.foot = label(name="cap")
        self.foot.setContentsMargins(12, 6, 12, 6)
        content = QWidget()
        content.setObjectName("grid")
        content.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        column = QVBoxLayout(content)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.list, 1)
        column.addWidget(self.foot)
        self.errors = Frame(tr("Errors on tap"), content, yields=True)
        self.clear = self.errors.header.add_button("close", tr("Empty the list. Esc"), self._on_cleared)
        self.errors.setMinimumWidth(240)
        return self.errors

    def _build_empty(self) -> EmptyState:
        made = EmptyState("chart", tr("Nothing to evaluate yet"))
        self.next = made.add_button(tr("Open models"), lambda: self.desk.act("model.show"), primary=True)
        self.next.setToolTip(tr("Loads a model and embeds the gallery with it"))
        self.open = made.add_button(tr("Open gallery…"), lambda: self.desk.act("gallery.open"), primary=True)
        keyed(self.open, "gallery.open", tr("A folder with one sub-folder per person, or with a manifest."))
        self.run = made.add_button(tr("Evaluate"), lambda: self.desk.act("evaluate.run"), primary=True)
        keyed(self.run, "evaluate.run", tr("Runs in the background."))
        return made

    @cached_property
    def identification(self) -> IdentificationPage:
        """Made when it is first looked at."""
        from facelens.views.identification_page import IdentificationPage

        page = IdentificationPage()
        page.drawn.connect(self._on_drawn)
        return self._put(page, 1)

    @cached_property
    def retrieval(self) -> RetrievalPage:
        """Made when it is first looked at."""
        from facelens.views.retrieval_page import RetrievalPage

        made = RetrievalPage()
        look(self.desk, made.model, "queries_of", usual=-1)
        look(self.desk, made.by, "worst_by")
        return self._put(made, 2)

    def _put(self, page: Page, place: int) -> Page:
        page.listed.connect(self._on_listed)  # type: ignore[attr-defined]
        empty = self.parts.widget(place)
        self.parts.insertWidget(place, page)
        if empty is not None:
            self.parts.removeWidget(empty)
            empty.deleteLater()
        return page

    def home(self) -> QWidget:
        if self.pages.currentWidget() is self.area:
            place = self.parts.currentIndex()
            if place == 0:
                return self.verification.points
            return self.identification.table if place == 1 else self.retrieval.means
        return next((one for one in (self.next, self.open, self.run) if one.isVisible()), self.controls.protocol)

    def close_panel(self) -> None:
        self._stop_jobs()
        super().close_panel()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        width = event.size().width()
        across = Qt.Orientation.Vertical if width < NARROW else Qt.Orientation.Horizontal
        fresh = across != self.body.orientation() or not any(self.body.sizes())
        self.body.setOrientation(across)
        if across is Qt.Orientation.Horizontal and (fresh or event.oldSize().width() != width):
            side = LIST if width >= WIDE else SLIM_LIST
            self.body.setSizes([width - side - self.body.handleWidth(), side])
        elif fresh:
            self.body.setSizes([STACKED - 200, 200])
        self.body.setMinimumHeight(STACKED if across is Qt.Orientation.Vertical else BESIDE)
        self.controls.method.setVisible(width >= WIDE)

    # -- what the user sees

    def refresh(self, changed: frozenset[str]) -> None:
        workspace = self.desk.workspace
        if changed & {"faces", "protocol", "excluded", "plan", "crossing", "features", "model_a", "model_b"}:
            self.controls.fill(workspace)
        evaluation = workspace.evaluation
        if evaluation is not self._shown:
            # The rest of an evaluation that was offered in part: what is listed is still right.
            same = self._shown is not None and evaluation is not None and self._shown.digest == evaluation.digest
            self._shown = evaluation
            if not same:
                self._clear_list()
            if evaluation is not None:
                self._show_evaluation(evaluation)
            self._show_notes()
        elif "operating" in changed and evaluation is not None:
            self.verification.show_operating(workspace.operating)
        if "selection" in changed:
            if len(self.list.listing) and not len(workspace.selection):
                self._clear_list()  # what is listed is the selection: Esc ends both
            self._follow_pair()
        if evaluation is None and self._may_start():
            self.work.run()
        self._show_page()

    def _show_page(self) -> None:
        workspace = self.desk.workspace
        job = self.work.job()
        self.working.show_job(job)
        reason = evaluable(workspace)
        before = self.pages.currentWidget()
        focus = self.focusWidget()
        if workspace.evaluation is not None:
            self.pages.setCurrentWidget(self.area)
        elif job is not None:
            self.pages.setCurrentWidget(self.skeleton)
        else:
            self._show_empty(reason)
            self.pages.setCurrentWidget(self.empty)
        if (
            focus is not None
            and focus.hasFocus()
            and not focus.isVisible()
            and before is not self.pages.currentWidget()
        ):
            self.home().setFocus()  # the page that had it is gone
        usable = workspace.evaluation is not None
        self.controls.tables.setEnabled(usable)
        self.controls.tables.setToolTip(
            tr("Export all numbers, the policy or the figure")
            if usable
            else tr("Nothing is drawn yet. Run Evaluate first{key}.", key=hint("evaluate.run"))
        )

    def _may_start(self) -> bool:
        """Small galleries are evaluated without being asked, unless that was stopped or has failed before."""
        workspace = self.desk.workspace
        if evaluable(workspace) or workspace.question in (self._declined, self._running) or not self.isVisible():
            return False
        return workspace.kept_faces is not None and len(workspace.kept_faces) <= AT_ONCE

    def _show_empty(self, reason: str) -> None:
        workspace = self.desk.workspace
        other_gallery = workspace.faces is None or bool(named(workspace))
        self.open.setVisible(other_gallery)
        self.next.setVisible(bool(reason) and not other_gallery)
        self.run.setVisible(not reason)
        if workspace.faces is None:
            words = tr("No gallery yet"), tr("Evaluation compares the faces of a gallery. Open one, then embed it.")
        elif other_gallery:
            words = (
                tr("Nobody has a name"),
                tr("Evaluation asks who is who. Open one sub-folder per person, a manifest with identities, or pairs."),
            )
        elif not workspace.model_names:
            words = tr("No model yet"), tr("Evaluation needs vectors. Open a model and embed the gallery with it.")
        elif reason:
            words = (
                tr("Not embedded yet"),
                tr("No model in A or B has vectors of this gallery. {reason}", reason=reason),
            )
        else:
            n = len(workspace.kept_faces) if workspace.kept_faces is not None else 0
            stopped = workspace.question == self._declined
            title = tr("The evaluation was stopped") if stopped else tr("Ready to evaluate")
            text = tr("{faces}, {time} on this computer.", faces=plural(n, "{n} face", "{n} faces"), time=self._time())
            words = title, text
        self.empty.set_message(*words)

    def _time(self) -> str:
        expected = seconds(self.desk.workspace)
        if expected < 20:
            return tr("some seconds")
        if expected < 90:
            return tr("about a minute")
        return tr("about {n} minutes", n=round(expected / 60))

    def _show_evaluation(self, evaluation: Evaluation) -> None:
        workspace = self.desk.workspace
        faces = workspace.faces
        assert faces is not None
        names = self._names()
        self.verification.show_evaluation(Standpoint.of(evaluation, faces, names, workspace.operating))
        self._show_part(evaluation)
        found = next(
            (one.verification for one in (evaluation.b, evaluation.a) if one is not None and one.verification), None
        )
        if found is not None and found.resamples:
            what = tr("pairs") if found.resampled == "pairs" else tr("identities")
            self.controls.method.setText(tr("95 % intervals, {what} resampled {n} ×", what=what, n=found.resamples))
        else:
            self.controls.method.setText(tr("no intervals"))

    def _names(self) -> dict[str, str]:
        """What each side is called: its model, or queries of one in the gallery of the other."""
        workspace = self.desk.workspace
        a, b = workspace.model_a, workspace.model_b
        return {
            "A": tr("{q} in {g}", q=a, g=b) if workspace.crossing == "ab" else a,
            "B": tr("{q} in {g}", q=b, g=a) if workspace.crossing == "ba" else b,
        }

    def _show_notes(self) -> None:
        """A banner for what stands in the way; a quiet line for what was left out or is good to know."""
        evaluation = self._shown
        problems: list[str] = []
        notes: list[str] = []
        if evaluation is not None and not evaluation.complete and self.work.job() is None:
            again = hint("evaluate.run")
            problems.append(tr("The evaluation was stopped before it was complete. Evaluate again{key}.", key=again))
        for report in (evaluation.a, evaluation.b) if evaluation is not None else ():
            found = report.verification if report is not None else None
            if found is not None and not found.eer.defined and found.eer.why:
                problems.append(tr("No rate can be given: {why}.", why=found.eer.why))
            notes += report.notes if report is not None else ()
        if evaluation is not None and evaluation.paired is not None:
            notes += evaluation.paired.notes
        first, *others = list(dict.fromkeys(problems)) or [""]
        self.banner.set_message(first, " ".join(others))
        self.notes.setText(" ".join(dict.fromkeys(notes)))
        self.notes.setVisible(bool(notes))

    # -- jobs

    def _on_job(self, job: Job) -> None:
        if job.request.slot != EVALUATE:
            return
        if not job.state.ended:
            self._running = self.desk.workspace.question
        elif job.state is not State.DONE and self.work.job() is None:
            self._declined, self._running = self._running, ()
            self._show_notes()
        if job.state is State.DONE:
            QTimer.singleShot(0, self, self._show_page)  # after whoever asked has got the answer
        elif self.isVisible():
            self._show_page()

    # -- what the user asks

    def show_part(self, part: str) -> None:
        """Bring one kind of test to the front, from its top; the keyboard goes along."""
        self.controls.show_part(part)
        focus = self.parts.focusWidget()
        follows = focus is not None and focus.hasFocus()
        if follows:  # what is hidden would hand it on, and the page would scroll after it
            self.controls.part.button(part).setFocus()
        self.parts.setCurrentWidget(getattr(self, part))
        if self._shown is not None:
            self._show_part(self._shown)
        self.area.verticalScrollBar().setValue(0)
        if follows:
            self.home().setFocus()

    def _show_part(self, evaluation: Evaluation) -> None:
        """Fill the page that is seen; verification has been filled at once."""
        workspace = self.desk.workspace
        faces, place = workspace.faces, self.parts.currentIndex()
        if faces is None:
            return
        if place == 1 and self.identification.evaluation is not evaluation:
            self.identification.show_evaluation(evaluation, faces, self._names())
        elif place == 2 and self.retrieval.evaluation is not evaluation:
            members = workspace.protocol.templates if workspace.protocol is not None else None
            self.retrieval.show_evaluation(evaluation, faces, self._names(), members)

    def _on_operated(self, operating: Operating, settled: bool) -> None:
        self.desk.store.update(operating=operating, initiator=self)
        if settled and self._again is not None and self._asker is not self.verification.scores:
            self._show_listing(self._again())

    def figure_places(self) -> Sequence[tuple[QWidget, str]]:
        page = self.verification
        key = page.places.key
        below = {"slices": "breakdown", "threshold": "points"}.get(key, key)
        parts = [(page.roc_frame, "roc"), (page.det_frame, "det"), (page.scores_frame, "scores"), (page.places, below)]
        if self.parts.currentIndex() == 1:
            found = self.identification
            parts += [(found.open_frame, "open set"), (found.cmc_frame, "cmc"), (found.table_frame, "rates")]
        if self.parts.currentIndex() == 2:
            parts += [(self.retrieval.query_frame, "queries"), (self.retrieval, "retrieval")]
        return [*parts, (self.errors, "errors")]

    def figure_name(self) -> str:
        """Where no part has the keyboard, the first of the kind of test that is in front."""
        return super().figure_name() or ("roc", "cmc", "retrieval")[self.parts.currentIndex()]

    def figure_view(self) -> View:
        view = self.verification.view
        found = self.retrieval if self.parts.currentIndex() == 2 else None
        asked = (found.model.currentData() or "").lower() if found is not None else ""
        worst = found.by.currentData() or "" if found is not None else ""
        side, faces = view.chosen.lower() if view is not None else "b", self.desk.workspace.faces
        listed = tapped(faces, self.list.listing, MOST) if faces is not None else None
        return View(side=side, asked=asked, worst=worst, tapped=listed)

    def _on_drawn(self, name: str) -> None:
        self.desk.draw("evaluation", name)

    # -- the list

    def _on_listed(self, ask: Callable[[], Listing], who: object) -> None:
        if self._asker is not who and hasattr(self._asker, "unframe"):
            self._asker.unframe()  # type: ignore[union-attr]
        self._again, self._asker = ask, who
        self._show_listing(ask())
        if self.body.orientation() is Qt.Orientation.Vertical:
            self.area.ensureWidgetVisible(self.errors, 0, 0)  # what was asked for may lie below

    def _show_listing(self, found: Listing) -> None:
        workspace = self.desk.workspace
        faces = workspace.faces
        if faces is None:
            return
        members = workspace.protocol.templates if workspace.protocol is not None else None
        found = replace(found, members=members)
        self.list.set_empty(tr("Nothing to list"), self._why_empty(found))
        self.list.set_listing(faces, found)
        self._show_foot()
        self._set_title(found.title)
        self.desk.store.update(selection=Selection(found.faces(faces), *self._looking(found, 0)), initiator=self.list)
        if found.missing is not None:
            self._fetch(found)

    def _why_empty(self, found: Listing) -> str:
        """One sentence about a list without a line."""
        if not found.none:
            return found.title and f"{found.title}."
        two = self._shown is not None and self._shown.a is not None and self._shown.b is not None
        if two and found.asked:
            return tr("{letter} has {none}.", letter=found.asked.upper(), none=found.none)
        return tr("There is {none}.", none=found.none)

    def _fetch(self, found: Listing) -> None:
        """Pairs that are only counted are looked up; the list grows when they come."""
        low, high = found.missing or (0.0, 0.0)
        evaluation = self._shown

        def then(result: tuple[Scores, int]) -> None:
            if self._shown is not evaluation or self.list.listing.title != found.title:
                return
            scores, _ = result
            kept = of_places(
                scores, np.arange(len(scores.score), dtype=np.int64), self._threshold(found), title=found.title, total=0
            )
            whole = replace(joined_lists(found.title, (found, kept)), total=found.total, asked=found.asked)
            self._show_listing(replace(whole, missing=None))

        self.work.list_pairs(found.asked or "b", low=low, high=high, genuine=False, then=while_there(self, then))

    def _threshold(self, found: Listing) -> float | None:
        view = self.verification.view
        return view.threshold((found.asked or "b").upper()) if view is not None else None

    def _looking(self, found: Listing, place: int) -> tuple[int | None, tuple[int, int] | None]:
        """(current face, pair) at a place of the list."""
        faces = self.desk.workspace.faces
        if faces is None or not 0 <= place < len(found):
            return None, None
        rows = [found.face_of(faces, int(side[place])) for side in (found.first, found.second)]
        ids = [int(faces.ids[row]) for row in rows if row is not None]
        return (ids[0] if ids else None), ((ids[0], ids[1]) if len(ids) == 2 else None)

    def _on_looked(self, place: int) -> None:
        current, pair = self._looking(self.list.listing, place)
        selection = replace(self.desk.workspace.selection, current=current, pair=pair)
        self.desk.store.update(selection=selection, initiator=self.list)

    def _on_opened(self, place: int) -> None:
        """Explain the pair by patches where a model has them, else put it side by side; it alone is the selection."""
        current, pair = self._looking(self.list.listing, place)
        if pair is not None:
            ids = np.array(pair, np.int64)
            self.desk.store.update(selection=Selection(ids, current, pair), initiator=self.list)
            self.desk.act("view.compare" if matchable(self.desk.workspace) else "match.show")

    def _follow_pair(self) -> None:
        """Another panel may have moved on to a pair that is listed."""
        pair, found = self.desk.workspace.selection.pair, self.list.listing
        if pair is None or not len(found) or found.of != "face":
            return
        if self._looking(found, self.list.current)[1] == pair:
            return
        places = np.flatnonzero((found.first == pair[0]) & (found.second == pair[1]))
        if len(places):
            self.list.set_current(int(places[0]))

    def _on_cleared(self) -> None:
        self._clear_list()
        self.desk.store.update(selection=Selection(), initiator=self)

    def _clear_list(self) -> None:
        self._again, self._asker = None, None
        for chart in self.parts.findChildren(self._charts):
            chart.set_ring(None)
        for table in self.parts.findChildren(ResultTable):
            table.unframe()
        self.verification.scores.set_brush(None)
        self.list.set_empty(
            tr("Nothing is listed"),
            tr("Click a point, a bin, a rank or a cell: the pairs behind it come here, worst first."),
        )
        self.list.set_listing(self.desk.workspace.faces, nothing())
        self._set_title("")
        self._show_foot()

    def _set_title(self, title: str) -> None:
        self.errors.header.set_subtitle(title)
        self.clear.setVisible(bool(title))

    def _show_foot(self) -> None:
        found = self.list.listing
        if not len(found):
            self.foot.setText("")
            return
        shown = self.list.visible_places()
        text = tr("{i} to {j} of {n}", i=shown.start + 1, j=shown.stop, n=found.total)
        if found.total > len(found):
            text += " · " + tr("{n} can be listed", n=len(found))
        self.foot.setText(text)
