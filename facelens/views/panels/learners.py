"""Learners: what each part of a divided embedding finds by itself, beside a model that was not divided.

Left the faces that one learner alone finds, right how well each finds anybody; below how recall grows with them, the
groups the embedding falls into, and the ranks of the current face. The current learner is that of all panels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QStackedWidget, QWidget

from facelens.analyses.divided import Learners
from facelens.images.faceset import Ids
from facelens.session import questions
from facelens.session.actions import embeddable
from facelens.session.depicting import View
from facelens.session.questions import LEARNERS
from facelens.session.selection import Mode, Selection
from facelens.session.workspace import Workspace
from facelens.views.asking import Asking
from facelens.views.controls import EmptyState, Segmented, label
from facelens.views.frame import Frame, Places, Skeleton, fill, lay_out, scrolled, split
from facelens.views.learner_controls import LearnerControls
from facelens.views.looking import look
from facelens.views.panel import Desk, Panel
from facelens.views.results import AT_ONCE
from facelens.views.shortcuts import keyed
from facelens.views.working import Working
from facelens.words import escaped, plural, tr

NARROW, WIDE = 840, 1180  # px; under the one the right column lies below the left one
BESIDE, STACKED = 520, 1140  # px; least height of the page
ASKS = frozenset({"faces", "excluded", "features", "models", "model_b", "learners_plan"})  # what changes what is asked


class LearnersPanel(Panel):
    """See the module's words."""

    word = "learners"
    title = "Learners"
    reads = ASKS | {"learners_answer", "part", "selection"}

    def __init__(self, desk: Desk, parent: QWidget | None = None) -> None:
        super().__init__(desk, parent)
        # Charts bring pyqtgraph with them, so they are loaded with the first page that draws.
        from facelens.views.clusters import ClustersPage
        from facelens.views.learner_curve import LearnerCurve
        from facelens.views.learner_ranks import LearnerRanks
        from facelens.views.learner_table import LearnerTable
        from facelens.views.specialists import Specialists

        self.setAccessibleName(tr("Learners"))
        self._shown: Learners | None = None
        self.asking = Asking(
            desk,
            self,
            slot=LEARNERS,
            field="learners_answer",
            question=lambda workspace: workspace.learners_question,
            request=questions.learners,
        )
        self.asking.changed.connect(self._on_job)
        self.controls = LearnerControls(self)
        self.controls.planned.connect(self._on_planned)
        self.controls.ranked.connect(lambda _: self._show_recall())
        look(desk, self.controls.k, "learners_at")
        self.controls.asked.connect(desk.act)
        self.working = Working()
        self.working.cancelled.connect(self.asking.cancel)
        self.notes = label(name="cap", wrap=True)
        self.notes.setContentsMargins(12, 4, 12, 4)
        self.specialists = Specialists(desk)
        self.specialists.pair_wanted.connect(self._on_pair)
        self.table = LearnerTable()
        self.curve = LearnerCurve()
        self.clusters = ClustersPage()
        self.clusters.select.connect(self._on_select)
        self.ranks = LearnerRanks(desk)
        self.parts = (self.specialists, self.table, self.curve, self.clusters, self.ranks)
        for view in self.parts:
            view.part_chosen.connect(self._on_part)
        self.skeleton = Skeleton()
        self.empty = self._build_empty()
        self.pages = QStackedWidget()
        lay_out(self, self.controls, self.working, self.notes, body=self.pages)
        for page in (self.empty, self.skeleton):
            self.pages.addWidget(page)
        self._build_body()

    # -- building

    def _build_body(self) -> None:
        from facelens.views.specialists import LIMITS

        self.top, self.body = split(Qt.Orientation.Horizontal), split(Qt.Orientation.Vertical)
        self.area = scrolled(self.body)
        self.pages.addWidget(self.area)
        rows = scrolled(self.specialists, tr("Faces that one learner alone finds"))
        self.specialists.went.connect(lambda y: rows.ensureVisible(0, y, 0, 60))
        self.only = Frame(tr("Found by one learner only"), rows, yields=True)
        self.limit = Segmented([(str(n), f"> {n}") for n in LIMITS], label=tr("Rank in all others"), height=22)
        self.limit.changed.connect(self._on_limit)
        look(self.desk, self.limit, "beyond")
        self.only.header.add(label(tr("others at rank"), name="sub"))
        self.only.header.add(self.limit)
        self.recall = Frame(tr("Recall"), self.table, yields=True)
        self.below = Places(
            [
                ("curve", tr("Curve"), tr("Recall against the number of dimensions"), self.curve),
                ("clusters", tr("Clusters"), tr("The groups it falls into, and who finds whom in them"), self.clusters),
                ("ranks", tr("Ranks"), tr("The current face in every learner"), self.ranks),
            ],
            label=tr("More about the learners"),
        )
        self.below.changed.connect(lambda _: self._show_below())
        fill(self.body, self.top, self.below, sizes=(60, 40))
        fill(self.top, self.only, self.recall)

    def _build_empty(self) -> EmptyState:
        made = EmptyState("points", tr("No learners yet"))
        self.open = made.add_button(tr("Open gallery…"), lambda: self.desk.act("gallery.open"), primary=True)
        keyed(self.open, "gallery.open", tr("A folder with one sub-folder per person, or with a manifest."))
        self.embed = made.add_button(tr("Embed"), self._on_embed, primary=True)
        self.embed.setToolTip(tr("In the background; what is done already is kept"))
        self.embed.setToolTip(tr("Runs in the background; what is done already is kept"))
        self.next = made.add_button(tr("Open models"), lambda: self.desk.act("model.show"))
        self.next.setToolTip(tr("Loads models and embeds the gallery with them"))
        self.run = made.add_button(tr("Run"), self.asking.run, primary=True)
        self.run.setToolTip(tr("Runs in the background"))
        return made

    def home(self) -> QWidget:
        if self.pages.currentWidget() is self.area:
            return self.specialists
        buttons = (self.open, self.embed, self.run, self.next)
        return next((one for one in buttons if one.isVisible()), self.controls.model)

    def close_panel(self) -> None:
        self.asking.close()
        self.specialists.close_panel()
        self.ranks.close_panel()
        super().close_panel()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        width = event.size().width()
        stacked = width < NARROW
        across = Qt.Orientation.Vertical if stacked else Qt.Orientation.Horizontal
        if across != self.top.orientation() or event.oldSize().width() != width:
            self.top.setOrientation(across)
            side = round(width * (0.43 if width >= WIDE else 0.48))
            self.top.setSizes([500, 500] if stacked else [width - side, side])
        if stacked != (self.body.minimumHeight() == STACKED):
            self.body.setSizes([72, 28] if stacked else [60, 40])
        self.body.setMinimumHeight(STACKED if stacked else BESIDE)
        self.controls.count.setVisible(width >= WIDE)

    # -- what the user sees

    def refresh(self, changed: frozenset[str]) -> None:
        workspace = self.desk.workspace
        found = workspace.learners
        if changed & (ASKS | {"learners_answer"}):
            self.controls.fill(workspace)
        if found is not self._shown:
            self._shown = found
            self._show_learners()
        elif "part" in changed:
            self._show_part()
        self._start()
        self._show_page()

    def _start(self) -> None:
        """Small galleries are looked at without being asked."""
        workspace = self.desk.workspace
        if self._shown is not None or not self.isVisible() or lacking(workspace):
            return
        if workspace.kept_faces is not None and len(workspace.kept_faces) <= AT_ONCE:
            self.asking.start()

    def _show_page(self) -> None:
        workspace, job = self.desk.workspace, self.asking.job()
        self.working.show_job(job)
        before, focus = self.pages.currentWidget(), self.focusWidget()
        if workspace.learners is not None:
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
        self.controls.export.setEnabled(workspace.learners is not None and workspace.learners.complete)

    def _show_empty(self) -> None:
        workspace = self.desk.workspace
        waiting = [name for name in workspace.model_names if not embeddable(workspace, name)]
        reason, there = lacking(workspace), workspace.faces is not None
        no_vectors = there and not workspace.features
        self.open.setVisible(not there or (bool(reason) and not no_vectors))
        self.next.setVisible(no_vectors)
        self.embed.setVisible(no_vectors and bool(waiting))
        self.run.setVisible(not reason)
        if not there:
            words = tr("No gallery yet"), tr("Learners look for people in a gallery. Open one, then embed it.")
        elif not workspace.model_names:
            words = (
                tr("No model yet"),
                tr("Open a divided model and one that was not divided, or any model: it is cut into slices."),
            )
        elif no_vectors:
            words = tr("No vectors yet"), tr("Learners are parts of the vectors of a model. Embed the gallery first.")
            self.embed.setText(tr("Embed with {name}", name=escaped(waiting[0])) if waiting else "")
        elif reason:
            words = tr("Nobody to find"), reason
        else:
            words = (tr("The learners were stopped") if self.asking.declined else tr("Ready to ask the learners")), ""
            n = len(workspace.kept_faces) if workspace.kept_faces is not None else 0
            plan = workspace.resolved_learners
            beside = tr(" beside {name}", name=escaped(plan.baseline)) if plan.baseline else ""
            words = words[0], plural(n, "{n} face", "{n} faces") + f", {escaped(plan.model)}{beside}."
        self.empty.set_message(*words)

    def _show_learners(self) -> None:
        found = self._shown
        self.notes.setText(" ".join(found.notes) if found is not None else "")
        self.notes.setVisible(bool(self.notes.text()))
        self.specialists.show_learners(found)
        if found is None:
            return
        kind = found.own.layout.kind
        titles = {"learners": tr("Found by one learner only"), "slices": tr("Found by one slice only")}
        self.only.header.set_title(titles.get(kind, tr("Found by one part only")))
        self._show_limits()
        self._show_recall()
        self._show_part()

    def _show_limits(self) -> None:
        """Offer the limits at which there are faces."""
        from facelens.views.specialists import LIMITS

        counts = {limit: self.specialists.counts(limit) for limit in LIMITS}
        for limit, n in counts.items():
            button = self.limit.button(str(limit))
            button.setEnabled(n > 0 or limit == LIMITS[0])
            tip = plural(n, "{n} face that all others find beyond rank", "{n} faces that all others find beyond rank")
            button.setToolTip(f"{tip} {limit}" if n else tr("All others beyond rank {n}: no face", n=limit))
        if not counts[self.specialists.limit]:
            self.specialists.set_limit(LIMITS[0])
        self.limit.set_value(str(self.specialists.limit))
        self._show_only()

    def _show_only(self) -> None:
        n = self.specialists.counts(self.specialists.limit)
        self.only.header.set_subtitle(plural(n, "{n} face", "{n} faces") if n else tr("no face"))

    def _show_recall(self) -> None:
        if (found := self._shown) is None:
            return
        k = int(self.controls.k.value())
        self.table.show_learners(found, k)
        n = tr("each face searches all others, N = {n}", n=len(found.queries))
        self.recall.header.set_title(tr("Recall@{k}", k=k))
        self.recall.header.set_subtitle(n)
        self._show_below()

    def _show_below(self) -> None:
        """Fill the page below that is seen."""
        found, key = self._shown, self.below.key
        if found is None:
            return
        if key == "curve":
            self.curve.show_learners(found, int(self.controls.k.value()))
            words = tr("band: 90 % of {n} orders drawn by chance", n=found.own.curve.orders)
        elif key == "clusters":
            self.clusters.show_learners(found)
            words = tr("k-means of the whole vectors, a group for each learner")
        else:
            self.ranks.show_learners(found)
            words = tr("rank of the nearest face of the same person, log scale, lower is better")
        self.below.header.set_subtitle(words)

    def _show_part(self) -> None:
        part, found = self.desk.workspace.part, self._shown
        there = found is not None and 0 <= part < found.own.layout.parts
        for view in self.parts:
            view.set_part(part if there else -1)

    def figure_places(self) -> Sequence[tuple[QWidget, str]]:
        below = {"curve": "dimensions", "clusters": "groups"}.get(self.below.key, self.below.key)
        return (self.only, "specialists"), (self.recall, "table"), (self.below, below)

    def figure_view(self) -> View:
        return View(k=int(self.controls.k.value()), limit=self.specialists.limit)

    # -- jobs

    def _on_job(self) -> None:
        if self.isVisible():
            self._start()
            self._show_page()

    # -- what the user asks

    def show_below(self, key: str) -> None:
        """Bring one page to the front."""
        self.below.show_key(key)

    def _on_planned(self, changes: dict[str, object]) -> None:
        plan = replace(self.desk.workspace.learners_plan, **changes)  # type: ignore[arg-type]
        self.desk.store.update(learners_plan=plan, initiator=self)

    def _on_limit(self, _: int) -> None:
        self.specialists.set_limit(int(self.limit.value()))
        self._show_only()

    def _on_part(self, part: int) -> None:
        self.desk.store.update(part=part, initiator=self)

    def _on_select(self, ids: Ids, mode: Mode) -> None:
        self.desk.store.update(selection=self.desk.workspace.selection.combine(ids, mode), initiator=self)

    def _on_pair(self, face: int, other: int) -> None:
        ids = np.array([face, other], np.int64)
        self.desk.store.update(selection=Selection(ids, face, (face, other)), initiator=self)
        self.desk.act("view.compare")

    def _on_embed(self) -> None:
        from facelens.views.modelling import Modelling

        workspace = self.desk.workspace
        for name in [name for name in workspace.model_names if not embeddable(workspace, name)][:1]:
            Modelling(self.desk, self).embed(name)


def lacking(workspace: Workspace) -> str:
    """Why nobody can be found; "" where somebody can."""
    faces = workspace.kept_faces
    if faces is None:
        return tr("Needs a gallery.")
    if not workspace.learners_question:
        return tr("Needs vectors. Embed the gallery first.")
    codes = faces.identity.codes
    if np.bincount(codes[codes >= 0], minlength=1).max() > 1:
        return ""
    return tr("A learner is right when it finds another face of the same person; nobody here has two faces and a name.")
