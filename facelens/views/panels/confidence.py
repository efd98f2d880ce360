"""Confidence: which parts of an embedding are sure of a face, and how each votes on a pair.

Top: the matrix of faces and parts, the selected faces with their maps, the jury; foot: what is known of each part. One
part is current in all of them. Whatever is clicked is the selection of all panels; the pair is that of the selection,
or the two faces that were looked at last.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QPushButton, QStackedWidget, QWidget

from facelens.figures.part_words import layout_words, words
from facelens.images.faceset import Ids
from facelens.session import questions
from facelens.session.actions import embeddable
from facelens.session.depicting import View, names_of_faces
from facelens.session.questions import PARTS, STUDY
from facelens.session.selection import Mode
from facelens.views.asking import Asking
from facelens.views.controls import Banner, EmptyState, label
from facelens.views.court import Court
from facelens.views.frame import Frame, Places, Skeleton, fill, lay_out, scrolled, split
from facelens.views.looking import Look, look
from facelens.views.panel import Desk, Panel
from facelens.views.part_controls import PartControls
from facelens.views.results import AT_ONCE
from facelens.views.shortcuts import keyed
from facelens.views.working import Working
from facelens.words import plural, tr

if TYPE_CHECKING:
    from facelens.analyses.parts import Parts
    from facelens.analyses.universal import Study

NARROW = 900  # px; under it the three views of the top row lie below each other
BESIDE, STACKED = 520, 1300  # px; least height of the page


class ConfidencePanel(Panel):
    """See the module's words."""

    word = "confidence"
    title = "Confidence"
    reads = frozenset(
        {
            "faces",
            "excluded",
            "features",
            "models",
            "model_b",
            "parts_plan",
            "parts_answer",
            "study_answer",
            "part",
            "left_out",
            "selection",
        }
    )

    matrix_frame: Frame
    heat_frame: Frame

    def __init__(self, desk: Desk, parent: QWidget | None = None) -> None:
        super().__init__(desk, parent)
        # Charts bring pyqtgraph with them, so they are loaded with the first page that draws.
        from facelens.views.jury import Jury
        from facelens.views.part_attributes import PartAttributes
        from facelens.views.part_correlation import PartCorrelation
        from facelens.views.part_faces import PartFaces
        from facelens.views.part_matrix import PartMatrix
        from facelens.views.part_recall import PartRecall
        from facelens.views.part_spread import PartSpread

        self.setAccessibleName(tr("Confidence"))
        self.cutting = Asking(
            desk,
            self,
            slot=PARTS,
            field="parts_answer",
            question=lambda workspace: workspace.parts_question,
            request=questions.parts,
        )
        self.studying = Asking(
            desk,
            self,
            slot=STUDY,
            field="study_answer",
            question=lambda workspace: workspace.study_question if workspace.parts is not None else (),
            request=questions.study,
        )
        for asking in (self.cutting, self.studying):
            asking.changed.connect(self._on_job)
        self._shown: Parts | None = None
        self._named: str | None = None  # the value that is shown, of SHOWN; None: not shown yet
        self._studied: Study | None = None
        self.controls = PartControls(self)
        self.controls.planned.connect(self._on_planned)
        self.controls.asked.connect(desk.act)
        self.working = Working()
        self.working.cancelled.connect(self._on_cancelled)
        self.banner = Banner()
        self.notes = label(name="cap", wrap=True)
        self.notes.setContentsMargins(12, 4, 12, 4)
        self.matrix = PartMatrix(desk)
        matrix = self.matrix
        for order in (
            Look(desk, matrix, "faces_order", lambda: matrix.faces_order, matrix.take_faces_order),
            Look(desk, matrix, "parts_order", lambda: matrix.parts_order, matrix.take_parts_order),
        ):
            matrix.ordered.connect(order.tell)
        self.matrix.ordered.connect(lambda: self.matrix_frame.header.set_subtitle(self.matrix.order_words))
        self.heat = PartFaces(desk)
        self.heat.subtitled.connect(lambda: self.heat_frame.header.set_subtitle(self.heat.subtitle))
        self.jury = Jury(desk)
        self.court = Court(desk, self.jury, self)
        look(desk, self.jury.mode, "votes_on")
        look(desk, self.jury.selection.which, "voted_pairs")
        self.court.told.connect(self._on_told)
        self.spread = PartSpread(desk)
        self.attributes = PartAttributes(desk)
        self.correlation = PartCorrelation(desk)
        self.recall = PartRecall(desk)
        recall = self.recall
        at = Look(desk, recall, "parts_at", lambda: recall.recall_at, recall.take_recall_at)
        recall.counted.connect(at.tell)
        recall.offered.connect(at.follow)
        look(desk, self.recall.measure, "parts_measure")
        look(desk, self.correlation.kind, "likeness")
        self.studies = (self.attributes, self.correlation, self.recall)
        for view in (self.matrix, self.heat, self.jury, self.spread, *self.studies):
            view.part_chosen.connect(self._on_part)
        for view in (self.matrix, self.spread, self.attributes, self.correlation):
            view.select.connect(self._on_select)
        for view in (self.matrix, self.correlation):
            view.open_face.connect(self._on_open)
            view.look.connect(self._on_look)
        self.jury.look.connect(self._on_look)
        self.skeleton = Skeleton()
        self.empty = self._build_empty()
        self.pages = QStackedWidget()
        lay_out(self, self.controls, self.working, self.banner, self.notes, body=self.pages)
        for page in (self.empty, self.skeleton):
            self.pages.addWidget(page)
        self._build_body()

    # -- building

    def _build_body(self) -> None:
        self.top, self.body = split(Qt.Orientation.Horizontal), split(Qt.Orientation.Vertical)
        self.area = scrolled(self.body)
        self.pages.addWidget(self.area)
        self.matrix_frame = Frame(tr("Faces × parts"), self.matrix, yields=True)
        self.matrix_frame.header.add_menu(self.matrix.menu, tr("Order of faces and parts"))
        self.heat_frame = Frame(tr("Selected faces"), self.heat, tr("cells are parts, not places"), yields=True)
        self.jury_frame = Frame(tr("Jury"), self.jury, tr("how each part votes"))
        self.jury_frame.header.add(self.jury.mode)
        self.jury_frame.header.add_menu(self.jury.menu, tr("Which parts vote"))
        self.foot = Places(
            [
                ("spread", tr("Distribution"), tr("Each part over all faces, with those at its ends"), self.spread),
                ("attributes", tr("Attributes"), tr("Which part goes with blur, pose, occlusion"), self.attributes),
                ("correlation", tr("Correlation"), tr("Which parts say the same"), self.correlation),
                ("recall", tr("Recall"), tr("Each part alone, without it, and so many of them"), self.recall),
            ],
            label=tr("What is known of each part"),
        )
        self.foot.changed.connect(lambda _: self._show_foot())
        self.run_study = QPushButton(tr("Work out"))
        self.run_study.setToolTip(tr("Attributes, correlation and recall of all parts, in the background"))
        self.run_study.clicked.connect(self.studying.run)
        self.run_study.setFixedHeight(22)
        self.foot.header.add(self.run_study)
        fill(self.body, self.top, self.foot, sizes=(62, 38))
        fill(self.top, self.matrix_frame, self.heat_frame, self.jury_frame)

    def _build_empty(self) -> EmptyState:
        made = EmptyState("grid", tr("No parts yet"))
        self.open = made.add_button(tr("Open gallery…"), lambda: self.desk.act("gallery.open"), primary=True)
        keyed(self.open, "gallery.open", tr("A folder with one sub-folder per person, or with a manifest."))
        self.embed = made.add_button(tr("Embed"), self._on_embed, primary=True)
        self.embed.setToolTip(tr("In the background; what is done already is kept"))
        self.embed.setToolTip(tr("Runs in the background; what is done already is kept"))
        self.next = made.add_button(tr("Open models"), lambda: self.desk.act("model.show"))
        self.next.setToolTip(tr("Loads models and embeds the gallery with them"))
        self.run = made.add_button(tr("Cut into parts"), self.cutting.run, primary=True)
        self.run.setToolTip(tr("Runs in the background"))
        return made

    def home(self) -> QWidget:
        if self.pages.currentWidget() is self.area:
            return self.matrix
        return next((one for one in (self.open, self.embed, self.run, self.next) if one.isVisible()), self)

    def close_panel(self) -> None:
        for asking in (self.cutting, self.studying):
            asking.close()
        self.court.close()
        for view in (self.heat, self.spread):
            view.close_panel()
        super().close_panel()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        width = event.size().width()
        stacked = width < NARROW
        across = Qt.Orientation.Vertical if stacked else Qt.Orientation.Horizontal
        if across != self.top.orientation() or not any(self.top.sizes()) or event.oldSize().width() != width:
            self.top.setOrientation(across)
            shares = (34, 33, 33) if stacked else (41, 30, 29)
            self.top.setSizes([round(share * width / 100) for share in shares])
        self.body.setMinimumHeight(STACKED if stacked else BESIDE)
        self.controls.count.setVisible(width >= 1180)

    # -- what the user sees

    def refresh(self, changed: frozenset[str]) -> None:
        workspace = self.desk.workspace
        parts = workspace.parts
        if changed & {"faces", "excluded", "features", "models", "model_b", "parts_plan", "parts_answer"}:
            self.controls.fill(workspace)
        if parts is not self._shown:
            self._shown, self._named, self._studied = parts, None, None
            self.court.set_parts(parts)
        if parts is not None:
            if changed & {"parts_plan", "parts_answer"} and self._named != self._name():
                self._show_values(parts)
            if "faces" in changed:
                self._named = None
                self._show_values(parts)  # names or columns may be others
            if "selection" in changed:
                self._show_selection()
            if "part" in changed or "parts_answer" in changed:
                self._show_part()
            if changed & {"left_out", "parts_plan", "parts_answer", "selection"}:
                self.court.show()
            if workspace.study is not self._studied or "parts_answer" in changed:
                self._studied = workspace.study
                self._show_foot()
        self._start()
        self._show_page()

    def _start(self) -> None:
        if not self.isVisible():
            return
        self.cutting.start()
        workspace = self.desk.workspace
        if workspace.parts is not None and len(workspace.parts.ids) <= AT_ONCE:
            self.studying.start()

    def _show_page(self) -> None:
        workspace = self.desk.workspace
        job = self.cutting.job() or self.studying.job()
        self.working.show_job(job if self.cutting.job() is not None else None)
        self.run_study.setVisible(workspace.study is None and self.studying.job() is None)
        before, focus = self.pages.currentWidget(), self.focusWidget()
        if workspace.parts is not None:
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
        self.controls.export.setEnabled(workspace.parts is not None)
        self._show_notes()

    def _show_empty(self) -> None:
        workspace = self.desk.workspace
        waiting = self._waiting()
        there = bool(workspace.features)
        self.open.setVisible(workspace.faces is None)
        self.embed.setVisible(workspace.faces is not None and not there and bool(waiting))
        self.next.setVisible(workspace.faces is not None and not there)
        self.run.setVisible(workspace.faces is not None and there)
        if workspace.faces is None:
            text = tr("Parts of an embedding are looked at on the faces of a gallery. Open one, then embed it.")
            self.empty.set_message(tr("No gallery yet"), text)
        elif not there:
            text = tr(
                "Any model will do: one with learned parts says how sure each is, any other is cut into slices. "
                "Embed the gallery with one."
            )
            self.empty.set_message(tr("No vectors yet"), text)
            self.embed.setText(tr("Embed with {names}", names=", ".join(waiting)))
        else:
            stopped = self.cutting.declined
            n = len(workspace.kept_faces) if workspace.kept_faces is not None else 0
            title = tr("Cutting was stopped") if stopped else tr("Ready to look at the parts")
            self.empty.set_message(title, plural(n, "{n} face.", "{n} faces."))

    def _waiting(self) -> list[str]:
        """A model worth embedding with: one with learned parts first."""
        workspace = self.desk.workspace
        names = [name for name in workspace.model_names if not embeddable(workspace, name)]
        learned = [name for name in names if (one := workspace.inspection(name)) and one.card.options.get("parts")]
        return (learned or names)[:1]

    def _name(self) -> str:
        """The value that is asked for, where it is there, else the first."""
        plan, parts = self.desk.workspace.resolved_parts, self._shown
        if parts is None:
            return ""
        return plan.show if plan.show in parts.values else next(iter(parts.values), "")

    def _show_values(self, parts: Parts) -> None:
        faces, name = self.desk.workspace.faces, self._name()
        self._named = name
        views = (self.matrix, self.heat, self.spread)
        if faces is None or not name or not len(parts.ids):
            for view in views:
                view.show_nothing(self._why_nothing(parts))
            return
        said = words(name, parts.layout)
        for view in views:
            view.show_values(faces, parts.ids, parts.values[name], parts.spread[name], parts.layout, said)
        self.matrix_frame.header.set_subtitle(self.matrix.order_words)
        self.heat_frame.header.set_subtitle(self.heat.subtitle)
        self._show_selection()
        self._show_part()

    def _why_nothing(self, parts: Parts) -> str:
        if not len(parts.ids):
            return tr("No face has a vector of this model. Embed the gallery with it.")
        return tr("Slices at length 1 carry no confidence, and nobody here has two pictures to compare with.")

    def _show_part(self) -> None:
        part = self._part()
        for view in (self.matrix, self.heat, self.jury, self.spread, *self.studies):
            view.set_part(part)

    def _part(self) -> int:
        return min(self.desk.workspace.part, self._shown.layout.parts - 1) if self._shown is not None else 0

    def _show_selection(self) -> None:
        now = self.desk.workspace.selection
        self.matrix.set_selection(now)
        self.correlation.set_selection(now)
        self.court.follow(now)

    def _show_foot(self) -> None:
        from facelens.analyses.universal import Study

        workspace, parts, key = self.desk.workspace, self._shown, self.foot.key
        if parts is None or workspace.faces is None or key == "spread":
            return
        view, study = getattr(self, key), workspace.study
        if study is None and self.studying.job() is not None:
            study = Study(self._name())  # nothing of it yet
        if study is None:
            view.show_nothing(tr("Not worked out yet for {n} faces. Press Work out.", n=f"{len(parts.ids):,}"))
            return
        name = study.shown if study.shown in parts.values else self._name()
        view.show_study(workspace.faces, parts, study, words(name, parts.layout) if name else None)
        view.set_part(self._part())

    def _show_notes(self) -> None:
        parts = self._shown
        if parts is None:
            self.banner.set_message("")
            self.notes.hide()
            return
        notes = list(parts.notes)
        study = self.desk.workspace.study
        if study is not None:
            notes += study.notes
        if parts.layout.kind == "slices":
            notes.insert(
                0,
                tr(
                    "{what}: a way to look at an ordinary embedding. Slices carry no learned confidence; compare with "
                    "a random rotation.",
                    what=layout_words(parts.layout),
                ),
            )
        elif parts.layout.head == "learned":
            notes.insert(
                0,
                tr(
                    "This head was not calibrated (PA): medium-hard faces get the largest confidence, so do not read "
                    "it as quality."
                ),
            )
        self.notes.setText(" ".join(notes))
        self.notes.setVisible(bool(notes))

    # -- jobs

    def _on_job(self) -> None:
        if self.isVisible():
            self._start()
            self._show_page()
            if self.desk.workspace.study is None:
                self._show_foot()

    def _on_told(self, text: str) -> None:
        self.jury_frame.header.set_subtitle(text)

    def _on_cancelled(self) -> None:
        self.cutting.cancel()
        self.studying.cancel()

    # -- what the user asks

    def show_foot(self, key: str) -> None:
        """Bring one page of the foot to the front."""
        self.foot.show_key(key)

    def figure_places(self) -> Sequence[tuple[QWidget, str]]:
        foot = {"spread": "distributions"}.get(self.foot.key, self.foot.key)
        jury = "many pairs" if self.jury.mode.value() == "selection" else "jury"
        parts = (self.matrix_frame, "matrix"), (self.heat_frame, "maps"), (self.jury_frame, jury)
        return (*parts, (self.correlation.cloud, "two parts"), (self.foot, foot))

    def figure_view(self) -> View:
        from facelens.figures.confidence import LINES

        said = self.court.verdict
        pair = (said.query, said.gallery) if said is not None else (None,)
        faces, matrix = self.desk.workspace.faces, self.matrix
        return View(
            pair=names_of_faces(faces, pair), listed=names_of_faces(faces, matrix.listed(LINES)), by=str(matrix.by),
            descending=matrix.descending, columns=tuple(matrix.columns.tolist()), pairs=self.jury.which,
            other=self.correlation.other,
        )  # fmt: skip

    def figure_held(self) -> dict[str, Any]:
        """The pair before the jury."""
        return self.court.case()

    def _on_planned(self, changes: dict[str, Any]) -> None:
        workspace = self.desk.workspace
        plan = replace(workspace.resolved_parts, **changes)
        also: dict[str, object] = {}
        if changes.keys() & {"model", "parts", "cut"}:
            also = {"left_out": (), "part": 0}
        if "model" in changes:
            plan = replace(plan, parts=0, show="")
        self.desk.store.update(parts_plan=plan, initiator=self, **also)

    def _on_embed(self) -> None:
        from facelens.views.modelling import Modelling

        for name in self._waiting():
            Modelling(self.desk, self).embed(name)

    def _on_part(self, part: int) -> None:
        self.desk.store.update(part=part, initiator=self)

    def _on_select(self, ids: Ids, mode: Mode) -> None:
        self.desk.store.update(selection=self.desk.workspace.selection.combine(ids, mode), initiator=self)

    def _on_look(self, face: int) -> None:
        self.desk.store.update(selection=self.desk.workspace.selection.looking_at(face), initiator=self)

    def _on_open(self, face: int) -> None:
        self._on_look(face)
        self.desk.act("view.loupe")
