"""Projection: the faces as a map, near each other where a model finds them alike.

Of the whole vector or of one part of it, by principal components at once, then refined by UMAP or t-SNE. Colour says
who it is or what is known of a face, shape which pictures are augmented. Whatever is clicked, brushed or chosen in the
legend is the selection of all panels; with a selection the others fade.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from PySide6.QtWidgets import QStackedWidget, QVBoxLayout, QWidget

from facelens.analyses.parts import Layout, layout
from facelens.analyses.plan import ProjectionPlan
from facelens.analyses.projection import NAMES, Projection, project
from facelens.errors import FaceLensError
from facelens.figures.part_words import part_name, words
from facelens.images.faceset import FaceSet, Ids, Labels
from facelens.session import folders
from facelens.session.actions import embeddable
from facelens.session.jobs import Request
from facelens.session.selection import Mode
from facelens.session.workspace import Workspace
from facelens.views import theme
from facelens.views.asking import Asking
from facelens.views.colouring import Colouring, Entry, by_names, by_numbers
from facelens.views.controls import EmptyState, label
from facelens.views.panel import Desk, Panel
from facelens.views.projection_controls import ProjectionControls
from facelens.views.projection_legend import IDENTITY, UNSURE, Legend, colour_columns, shape_columns
from facelens.views.projection_map import ProjectionMap
from facelens.views.working import Working
from facelens.words import escaped, number, plural, tr

SLOT = "projection"
AT_ONCE = 5_000  # faces that are laid out in full without being asked
AUGMENTED = ("augmented", "degraded")  # values of a column that are taken for augmented pictures
LIMITED = 200_000  # numbers that the limits of a scale are found from


class ProjectionPanel(Panel):
    """See the module's words."""

    word = "projection"
    title = "Projection"
    reads = frozenset(
        {
            "faces",
            "excluded",
            "features",
            "models",
            "model_b",
            "parts_plan",
            "part",
            "projection_plan",
            "projection_answer",
            "selection",
        }
    )

    def __init__(self, desk: Desk, parent: QWidget | None = None) -> None:
        super().__init__(desk, parent)
        self.setAccessibleName(tr("Projection"))
        self.colour = IDENTITY
        self.shape, self.augmented = "", frozenset[str]()
        self._columns: list[str] = []  # that faces can be coloured by
        self._guessed = ""  # the gallery whose columns were looked through for one that tells augmented pictures
        self._shown: Projection | None = None
        self._of: tuple[object, ...] = ()  # the question that the map answers
        self._wanted: tuple[object, ...] = ()  # a question that is to be answered in full, though there are many faces
        self.asking = Asking(
            desk,
            self,
            slot=SLOT,
            field="projection_answer",
            question=lambda workspace: workspace.projection_question,
            request=self._request,
        )
        self.asking.changed.connect(self._on_job)
        self.controls = ProjectionControls()
        self.controls.planned.connect(self._on_planned)
        self.controls.refine.connect(self.refine)
        self.working = Working()
        self.working.cancelled.connect(self.asking.cancel)
        self.notes = label(name="cap", wrap=True)
        self.notes.setContentsMargins(12, 4, 12, 4)
        self.map = ProjectionMap(desk.thumbnails)
        self.map.select.connect(self._on_select)
        self.map.look.connect(self._on_look)
        self.map.open_face.connect(self._on_open)
        self.controls.armed.connect(self.map.set_tool)
        self.controls.fit.connect(self.map.fit)
        self.legend = Legend()
        self.legend.select.connect(self._on_select)
        self.legend.coloured.connect(self.colour_by)
        self.legend.shaped.connect(self.shape_by)
        self.body = QWidget()
        column = QVBoxLayout(self.body)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.map, 1)
        column.addWidget(self.legend)
        self.empty = self._build_empty()
        self.pages = QStackedWidget()
        for page in (self.empty, self.body):
            self.pages.addWidget(page)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.setSpacing(0)
        for part in (self.controls, self.working, self.notes):
            outer.addWidget(part)
        outer.addWidget(self.pages, 1)
        theme.themes.changed.connect(self._on_theme)

    def _build_empty(self) -> EmptyState:
        made = EmptyState("points", tr("No map yet"))
        self.open = made.add_button(tr("Open gallery…"), lambda: self.desk.act("gallery.open"), primary=True)
        self.open.setToolTip(tr("A folder with one sub-folder per person, or with a manifest. Ctrl+O"))
        self.embed = made.add_button(tr("Embed"), self._on_embed, primary=True)
        self.embed.setToolTip(tr("Runs in the background; what is done already is kept"))
        self.next = made.add_button(tr("Open models"), lambda: self.desk.act("model.show"))
        self.next.setToolTip(tr("Loads models and embeds the gallery with them"))
        self.run = made.add_button(tr("Run"), self.asking.run, primary=True)
        self.run.setToolTip(tr("Runs in the background"))
        return made

    def home(self) -> QWidget:
        if self.pages.currentWidget() is self.body:
            return self.map
        return next((one for one in (self.open, self.embed, self.run, self.next) if one.isVisible()), self)

    def close_panel(self) -> None:
        self.asking.close()
        super().close_panel()

    # -- what the user sees

    def refresh(self, changed: frozenset[str]) -> None:
        workspace = self.desk.workspace
        found = workspace.projection
        if "faces" in changed:
            self._fit_columns()
        if changed - {"selection", "projection_answer"}:
            self._fill()
        if found is not self._shown or "faces" in changed:
            self._show_map(found)
        follows = {"part", "parts_plan"} if self.colour == UNSURE else set[str]()
        if found is not None and changed & {"faces", "features", *follows}:
            self._show_colours()
        if "selection" in changed:
            self.map.set_selection(workspace.selection)
        if self.isVisible():
            self.asking.start()
        self._show_page()

    def _fill(self) -> None:
        workspace, ground = self.desk.workspace, self._layout()
        self.controls.fill(workspace, ground)
        colours = [(tr("identity"), IDENTITY), *((escaped(name), name) for name in self._columns)]
        if unsure := self._unsure_words(ground):
            colours.insert(1, (unsure, UNSURE))
        self.legend.fill(workspace.faces, colours, colour=self.colour, shape=self.shape, augmented=self.augmented)

    def _fit_columns(self) -> None:
        """Take columns that are there; in a gallery that says which pictures are augmented, show it."""
        faces = self.desk.workspace.faces
        self._columns = colour_columns(faces)
        if self.colour not in (IDENTITY, UNSURE, *self._columns):
            self.colour = IDENTITY
        if self.shape not in ("", *shape_columns(faces)):
            self.shape = ""
        if faces is not None and self._guessed != faces.digest:
            self._guessed = faces.digest
            self.shape, self.augmented = guess(faces)

    def _show_map(self, found: Projection | None) -> None:
        workspace = self.desk.workspace
        same = self._of == workspace.projection_question and self._shown is not None
        self._shown, self._of = found, workspace.projection_question
        if found is None or workspace.faces is None:
            self.map.show_nothing("")
            self.map.set_foot("")
            return
        self.map.show_map(workspace.faces, found, same=same)
        self.map.set_foot(sentence(found, self._layout()))
        self.map.set_selection(workspace.selection)
        if not same:
            self._show_colours()
        self.notes.setText(" ".join(found.notes))

    def _show_colours(self) -> None:
        found, faces = self._shown, self.desk.workspace.faces
        if found is None or faces is None:
            return
        rows = faces.rows_of(found.ids)
        if len(rows) != len(found):
            return  # other faces, whose map comes soon
        colouring = self._colouring(faces, rows, found.ids)
        augmented, shapes = self._shapes(faces, rows)
        self.map.set_shapes(augmented)
        self.map.set_colours(colouring)
        self.legend.show_legend(found.ids, colouring, shapes)

    def _colouring(self, faces: FaceSet, rows: NDArray[np.int64], ids: Ids) -> Colouring:
        if self.colour == UNSURE and (made := self._unsure(ids)) is not None:
            return made
        column = faces.columns.get(self.colour)
        if isinstance(column, Labels):
            return by_names(escaped(self.colour), replace(column, codes=column.codes[rows]))
        if column is not None:
            return by_numbers(escaped(self.colour), column[rows])
        return by_names(tr("identity"), replace(faces.identity, codes=faces.identity.codes[rows]), people=True)

    def _unsure(self, ids: Ids) -> Colouring | None:
        """How unsure the model is of a part."""
        workspace, ground = self.desk.workspace, self._layout()
        features = workspace.features.get(workspace.resolved_projection.model)
        title = self._unsure_words(ground)
        if features is None or features.confidence is None or ground is None or not title:
            return None
        rows, found = features.rows_of(ids)
        values = np.full(len(ids), np.nan)
        with np.errstate(divide="ignore", invalid="ignore"):
            values[found] = -np.log(features.confidence[rows, self._part(ground)])
            every = max(1, features.confidence.size // LIMITED)
            some = -np.log(np.asarray(features.confidence[::every], np.float64))
        some = some[np.isfinite(some)]
        low, high = (float(v) for v in np.percentile(some, (1, 99))) if len(some) else (0.0, 1.0)
        said = words("variance", ground)
        return by_numbers(title, values, low=low, high=high, bright=said.bright, written=said.value)

    def _unsure_words(self, ground: Layout | None) -> str:
        """What that is called; "" where the model does not say."""
        if ground is None or ground.kind != "learned":
            return ""
        name, part = words("variance", ground).name, part_name(ground, self._part(ground))
        return tr("{value}, {part}", value=name, part=part)

    def _part(self, ground: Layout) -> int:
        """The part on the map; where all are on it, the one that is looked at."""
        workspace = self.desk.workspace
        part = workspace.resolved_projection.part
        return part if part is not None else min(workspace.part, ground.parts - 1)

    def _shapes(
        self, faces: FaceSet, rows: NDArray[np.int64]
    ) -> tuple[NDArray[np.bool_] | None, list[tuple[str, Entry]]]:
        """Which faces are augmented, and what the legend says about it."""
        column = faces.columns.get(self.shape)
        if not isinstance(column, Labels):
            return None, []
        chosen = np.array([*(name in self.augmented for name in column.names), False])
        found = chosen[column.codes[rows]]
        ink = theme.current().q("text2")
        names = ", ".join(escaped(name) for name in column.names if name in self.augmented)
        said = tr("augmented: {names}", names=names) if names else tr("augmented")
        kinds = (("disc", tr("original"), ~found), ("triangle", said, found))
        return found, [(shape, Entry(name, ink, np.flatnonzero(these))) for shape, name, these in kinds]

    def _layout(self) -> Layout | None:
        """The parts of the model on the map."""
        workspace = self.desk.workspace
        name = workspace.resolved_projection.model
        try:
            return layout(workspace.features[name], workspace.cutting(name)) if name else None
        except FaceLensError:
            return None  # a number of slices that does not divide its dimensions

    def _show_page(self) -> None:
        workspace, job = self.desk.workspace, self.asking.job()
        found = workspace.projection
        self.working.show_job(job)
        before, focus = self.pages.currentWidget(), self.focusWidget()
        if found is not None or job is not None:
            self.pages.setCurrentWidget(self.body)
        else:
            self._show_empty()
            self.pages.setCurrentWidget(self.empty)
        gone = focus is not None and focus.hasFocus() and not focus.isVisible()
        if gone and before is not self.pages.currentWidget():
            self.home().setFocus()
        self.legend.setVisible(found is not None and len(found) > 0)
        self.notes.setVisible(found is not None and bool(found.notes))
        self.controls.setVisible(workspace.faces is not None and len(workspace.features) > 0)
        self.controls.run.setVisible(found is not None and not found.final and job is None)
        method = NAMES[workspace.resolved_projection.method]
        self.controls.run.setText(tr("Refine with {method}", method=method))
        self.controls.run.setToolTip(tr("Runs in the background, and shows how the faces move; kept for the next time"))

    def _show_empty(self) -> None:
        workspace = self.desk.workspace
        there, waiting = bool(workspace.features), self._waiting()
        self.open.setVisible(workspace.faces is None)
        self.embed.setVisible(workspace.faces is not None and not there and bool(waiting))
        self.next.setVisible(workspace.faces is not None and not there)
        self.run.setVisible(workspace.faces is not None and there)
        if workspace.faces is None:
            text = tr("A map shows which faces of a gallery a model finds alike. Open one, then embed it.")
            self.empty.set_message(tr("No gallery yet"), text)
        elif not there:
            text = tr("A map lays out the vectors of a model. Embed the gallery with one.")
            self.empty.set_message(tr("No vectors yet"), text)
            self.embed.setText(tr("Embed with {names}", names=", ".join(waiting)))
        else:
            n = len(workspace.kept_faces) if workspace.kept_faces is not None else 0
            title = tr("The projection was stopped") if self.asking.declined else tr("Ready to lay out the faces")
            self.empty.set_message(title, plural(n, "{n} face.", "{n} faces."))

    def _waiting(self) -> list[str]:
        """A model worth embedding with."""
        workspace = self.desk.workspace
        return [name for name in workspace.model_names if not embeddable(workspace, name)][:1]

    # -- jobs

    def _request(self, workspace: Workspace) -> Request | None:
        plan, faces = workspace.resolved_projection, workspace.kept_faces
        if workspace.faces is None or faces is None or not plan.model:
            return None
        small = len(faces) <= AT_ONCE
        return Request(
            title=_of(plan, plan.method, self._layout()),
            call=project,
            args=(workspace.faces, plan),
            kwargs={
                "features": workspace.features[plan.model],
                "parts_plan": workspace.cutting(plan.model),
                "excluded": workspace.excluded,
                "folder": folders.cache() / "projections",
                "refine": small or self._wanted == workspace.projection_question,
            },
            slot=SLOT,
            unit="",
            short=True,
        )

    def _on_job(self) -> None:
        if self.isVisible():
            self.asking.start()
            self._show_page()

    # -- what the user asks

    def refine(self) -> None:
        """Lay out in full what is seen by its principal components."""
        self._wanted = self.desk.workspace.projection_question
        self.asking.run()

    def colour_by(self, what: str) -> None:
        """Colour by IDENTITY, UNSURE or a column."""
        self.colour = what
        self._fill()
        self._show_colours()

    def shape_by(self, column: str, augmented: frozenset[str] | None = None) -> None:
        """Tell augmented pictures from originals by a column; by values that sound so where none are given."""
        faces = self.desk.workspace.faces
        if augmented is None:
            found = faces.columns.get(column) if faces is not None else None
            augmented = _sounding(found) if isinstance(found, Labels) else frozenset()
        self.shape, self.augmented = column, augmented
        self._fill()
        self._show_colours()

    def _on_planned(self, changes: dict[str, object]) -> None:
        plan = replace(self.desk.workspace.projection_plan, **changes)  # type: ignore[arg-type]
        self.desk.store.update(initiator=self, projection_plan=plan)

    def _on_embed(self) -> None:
        from facelens.views.modelling import Modelling

        for name in self._waiting():
            Modelling(self.desk, self).embed(name)

    def _on_select(self, ids: Ids, mode: Mode) -> None:
        self.desk.store.update(selection=self.desk.workspace.selection.combine(ids, mode), initiator=self)

    def _on_look(self, face: int) -> None:
        self.desk.store.update(selection=self.desk.workspace.selection.looking_at(face), initiator=self)

    def _on_open(self, face: int) -> None:
        self._on_look(face)
        self.desk.act("view.loupe")

    def _on_theme(self) -> None:
        self._show_colours()


def sentence(found: Projection, ground: Layout | None) -> str:
    """What a map shows, in a line."""
    plan = found.plan
    said = [_of(plan, found.drawn, ground)]
    if found.drawn == "pca":
        said.append(tr("{a} and {b} % of the variance", a=round(100 * found.shares[0]), b=round(100 * found.shares[1])))
    else:
        more = {"umap": tr("{n} neighbours", n=plan.neighbours), "tsne": tr("perplexity {n}", n=int(plan.perplexity))}
        said += [tr(plan.metric), more[found.drawn], tr("seed {n}", n=plan.seed)]
    said.append(tr("N = {n}", n=len(found)))
    if found.final and found.quality.value is not None:
        said.append(tr("trustworthiness {value}", value=number(found.quality.value, 2)))
    elif not found.final:
        said.append(tr("not refined yet"))
    return " · ".join(said)


def _of(plan: ProjectionPlan, method: str, ground: Layout | None) -> str:
    what = tr("{method} of {name}", method=NAMES[method], name=escaped(plan.model))
    return f"{what}, {part_name(ground, plan.part)}" if plan.part is not None and ground is not None else what


def guess(faces: FaceSet) -> tuple[str, frozenset[str]]:
    """The column that tells augmented pictures from originals, and its values; "" where none sounds so."""
    for name in shape_columns(faces):
        column = faces.columns[name]
        if isinstance(column, Labels) and (found := _sounding(column)):
            return name, found
    return "", frozenset()


def _sounding(column: Labels) -> frozenset[str]:
    return frozenset(name for name in column.names if name.lower().startswith(AUGMENTED))
