"""Projection: the faces as a map, near each other where a model finds them alike.

Of the whole vector or of one part of it, by principal components at once, then refined by UMAP or t-SNE; of one model,
or of two, with who moved most beside it. Colour says who it is, what is known of a face or what became of it, shape
which pictures are augmented. Lines lead from the current face to those that are nearest to it in truth. Whatever is
clicked, brushed or chosen in the legend is the selection of all panels; with a selection the others fade.

As a dock at the foot of the window it is all map: what is chosen most often moves into its header.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QStackedWidget, QVBoxLayout, QWidget

from facelens.analyses.nearest import Links
from facelens.analyses.parts import Layout, layout
from facelens.analyses.projection import NAMES, Projection
from facelens.analyses.upgrade import Upgrade
from facelens.errors import FaceLensError
from facelens.figures.part_words import words
from facelens.figures.projection_words import sentence
from facelens.images.faceset import FaceSet, Ids, Labels
from facelens.session import questions
from facelens.session.actions import embeddable
from facelens.session.depicting import (
    CHANGE,
    IDENTITY,
    MOVED,
    UNSURE,
    View,
    names_of_faces,
    unsure,
    unsure_words,
    upgrade_on_map,
)
from facelens.session.jobs import Request
from facelens.session.questions import PROJECT
from facelens.session.selection import Mode
from facelens.session.workspace import Workspace
from facelens.views import theme
from facelens.views.asking import Asking
from facelens.views.colouring import Colouring, Entry, by_names, by_numbers
from facelens.views.control_row import Choice
from facelens.views.controls import EmptyState, Header, label, tool_button
from facelens.views.face_change import FaceChange
from facelens.views.frame import Frame, fill, lay_out, split
from facelens.views.hover import Line
from facelens.views.looking import Look, look
from facelens.views.moved_list import MovedList
from facelens.views.near_links import NearLinks
from facelens.views.old_new_map import OldNewMap, changed_entries
from facelens.views.panel import Desk, Panel
from facelens.views.projection_controls import ProjectionControls
from facelens.views.projection_legend import (
    Legend,
    colour_columns,
    shape_columns,
)
from facelens.views.projection_map import ProjectionMap
from facelens.views.shortcuts import keyed
from facelens.views.working import Working
from facelens.words import escaped, number, plural, tr

AT_ONCE = 5_000  # faces that are laid out in full without being asked
AUGMENTED = ("augmented", "degraded")  # values of a column that are taken for augmented pictures
LIMITED = 200_000  # numbers that the limits of a scale are found from
LOW = 330  # px of height under which the map has all the room
NARROW = 860  # px of width under which nobody is listed beside it


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
            "upgrade_answer",
            "selection",
        }
    )

    def __init__(self, desk: Desk, parent: QWidget | None = None) -> None:
        super().__init__(desk, parent)
        self.setAccessibleName(tr("Projection"))
        self.colour = IDENTITY
        self.shape, self.augmented = "", frozenset[str]()
        self.focus = frozenset[str]()  # people who alone have colours; empty: everybody
        self.grouped = ""  # the column whose groups are listed by how far they moved; "": people
        self._linked = True  # whether links to the nearest vectors are wanted
        self._links: tuple[Links, ...] = ()
        self._headed: tuple[QWidget, ...] = ()  # what stands in the header of a dock where there is little room
        self._changes: tuple[Upgrade, FaceChange] | None = None
        self._columns: list[str] = []  # that faces can be coloured by
        self._guessed: object = None  # the gallery that was searched for a column of augmented pictures
        self._shown: Projection | None = None
        self._of: tuple[object, ...] = ()  # the question that the map answers
        self._wanted: tuple[object, ...] = ()  # a question that is to be answered in full, though there are many faces
        self._anew: tuple[object, ...] = ()  # a question for which no map of nearly the same faces is good enough
        self.asking = Asking(
            desk,
            self,
            slot=PROJECT,
            field="projection_answer",
            question=lambda workspace: workspace.projection_question,
            request=self._request,
        )
        self.asking.changed.connect(self._on_job)
        self.controls = ProjectionControls(self)
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
        self.pair = OldNewMap(desk.thumbnails, legend=False)
        self.pair.select.connect(self._on_select)
        self.pair.look.connect(self._on_look)
        self.pair.open_face.connect(self._on_open)
        self.pair.keep_switch()
        look(desk, self.pair.switch, "map_sides")
        self.moved = MovedList(desk)
        self.beside = Frame(tr("Moved most"), self.moved)
        self.groups = Choice(tr("Groups"), tr("Whose mean way from old to new is listed"))
        self.groups.setFixedHeight(22)
        self.groups.chosen.connect(self._on_groups)
        look(desk, self.groups, "moved_groups")
        self.beside.header.add(self.groups)
        for one in (self.map, self.pair):
            self.controls.armed.connect(one.set_tool)
            self.controls.fit.connect(one.fit)
        self.controls.linked.connect(self._on_linked)
        self._colour_look = Look(desk, self, "map_colour", lambda: self.colour, self._follow_colour)
        self._shape_look = Look(desk, self, "map_shape", self._shape, self._follow_shape)
        self._focus_look = Look(desk, self, "map_focus", lambda: tuple(sorted(self.focus)), self._follow_focus)
        self._links_look = Look(desk, self, "nearest", lambda: self._linked, self._follow_links)
        self.controls.asked.connect(desk.act)
        self.near = NearLinks(desk, self)
        self.near.found.connect(self._on_near)
        self.legend = Legend()
        self.legend.select.connect(self._on_select)
        self.legend.coloured.connect(self._on_coloured)
        self.legend.shaped.connect(self._on_shaped)
        self.legend.focused.connect(self._on_focused)
        self.sides, self.views, self.pages = split(Qt.Orientation.Horizontal), QStackedWidget(), QStackedWidget()
        lay_out(self, self.controls, self.working, self.notes, body=self.pages)
        self.body, self.empty = QWidget(), self._build_empty()
        for page in (self.empty, self.body):
            self.pages.addWidget(page)
        column = QVBoxLayout(self.body)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.views, 1)
        column.addWidget(self.legend)
        for view in (self.map, self.sides):
            self.views.addWidget(view)
        fill(self.sides, self.pair, self.beside, sizes=(1000, 232))
        self.sides.setStretchFactor(1, 0)
        theme.follow(self, self._on_theme)

    def _build_empty(self) -> EmptyState:
        made = EmptyState("points", tr("No map yet"))
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
        if self.pages.currentWidget() is self.body:
            return self.map if self._both is None else self.pair.new_map
        return next((one for one in (self.open, self.embed, self.run, self.next) if one.isVisible()), self)

    def close_panel(self) -> None:
        self.asking.close()
        self.near.close()
        self.moved.close_panel()
        super().close_panel()

    def dress(self, header: Header) -> None:
        """Put what is needed most into the header of a dock; it shows there while the page itself has no room."""
        self.short_colour = Choice(tr("Colour"), tr("What the colour of a dot says"))
        self.short_colour.setFixedHeight(22)
        self.short_colour.chosen.connect(self._on_coloured)
        fit = tool_button("fit", tr("Show everything (F)"), size=14)
        fit.clicked.connect(self.controls.fit)
        lasso = tool_button("lasso", tr("A drag draws around faces, not a rectangle"), size=14, checkable=True)
        lasso.setChecked(self.controls.tool.value() == "lasso")
        lasso.toggled.connect(self._on_lasso)
        for one in (fit, lasso, self.short_colour):  # each before the last one
            one.setFixedHeight(22)
            header.insert(one)
        self._headed = (self.short_colour, lasso, fit)
        self._fit_room()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_room()

    @property
    def low(self) -> bool:
        """Whether there is room for the map alone."""
        return self.height() < LOW

    def _fit_room(self) -> None:
        self.beside.setVisible(self.width() >= NARROW and not self.low)
        for one in self._headed:
            one.setVisible(self.low)
        self._show_page()

    # -- what the user sees

    @property
    def _both(self) -> Projection | None:
        """The map, where it has two models."""
        return self._shown if self._shown is not None and self._shown.other is not None else None

    def refresh(self, changed: frozenset[str]) -> None:
        workspace = self.desk.workspace
        found = workspace.projection
        if "faces" in changed:
            self._fit_columns()
        if changed - {"selection", "projection_answer"}:
            self._fill()
        follows = {"part", "parts_plan"} if self.colour == UNSURE else set[str]()
        recolour = found is not None and bool(changed & {"faces", "features", "upgrade_answer", *follows})
        if found is not self._shown or "faces" in changed:
            recolour = self._show_map(found) or recolour
        if recolour:
            self._show_colours()
        if "selection" in changed:
            for one in (self.map, self.pair):
                one.set_selection(workspace.selection)
            self._show_focus()
        if self.isVisible():
            self.asking.start()
        self._ask_links()
        self._show_page()

    def _fill(self) -> None:
        workspace, ground = self.desk.workspace, self._layout()
        self.controls.fill(workspace, ground)
        colours = [(tr("identity"), IDENTITY), *((escaped(name), name) for name in self._columns)]
        if named := unsure_words(workspace):
            colours.insert(1, (named, UNSURE))
        if self._upgrade() is not None:
            colours.insert(1, (tr("change"), CHANGE))
        if workspace.resolved_projection.other:
            colours.insert(1, (tr("moved"), MOVED))
        self.legend.fill(workspace.faces, colours, colour=self.colour, shape=self.shape, augmented=self.augmented)
        if self._headed:
            self.short_colour.fill([(key, tr("colour: {what}", what=words)) for words, key in colours], self.colour)
        groups = [("", tr("people")), *((name, escaped(name)) for name in shape_columns(workspace.faces))]
        self.groups.fill(groups, self.grouped)

    def _upgrade(self) -> Upgrade | None:
        return upgrade_on_map(self.desk.workspace)

    def _fit_columns(self) -> None:
        """Take columns that are there; in a gallery that says which pictures are augmented, show it."""
        faces = self.desk.workspace.faces
        self._columns = colour_columns(faces)
        if self.colour not in (IDENTITY, UNSURE, CHANGE, MOVED, *self._columns):
            self.colour = IDENTITY
        if self.grouped not in ("", *shape_columns(faces)):
            self.grouped = ""
        if self.focus and (faces is None or not self.focus & set(faces.identity.names)):
            self.focus = frozenset()
        if self.shape not in ("", *shape_columns(faces)):
            self.shape = ""
        if faces is not None and self._guessed != faces.pictures:
            self._guessed = faces.pictures
            self.shape, self.augmented = guess(faces)

    def _show_map(self, found: Projection | None) -> bool:
        """Show points; whether they need colours, for they are others than before."""
        workspace = self.desk.workspace
        same = self._of == workspace.projection_question and self._shown is not None
        self._shown, self._of = found, workspace.projection_question
        if found is None or workspace.faces is None:
            self.map.show_nothing("")
            self.map.set_foot("")
            self.pair.show_nothing("")
            self.moved.show_moved(None, None)
            return False
        if found.other is None:
            self.map.show_map(workspace.faces, found, same=same)
            self.map.set_selection(workspace.selection)
        else:
            self.pair.set_names(escaped(found.plan.model), escaped(found.plan.other))
            self.pair.show_map(workspace.faces, found, same=same)
            self.pair.set_words(self._card)
            self.pair.set_selection(workspace.selection)
            self._show_moved()
        self.views.setCurrentWidget(self.map if found.other is None else self.sides)
        self._show_words()
        return not same

    def _show_words(self) -> None:
        """What the map is made of, under one, over two; and what is good to know."""
        found = self._shown
        if found is None:
            return
        said, notes = sentence(found, self._layout()), [one for one in found.notes if one != found.agreement]
        if self._links and self._links[0].pairs.size:
            said = f"{said} · {self._links[0].words}"
        self.map.set_foot(said)
        self.notes.setText(" ".join(notes if found.other is None else [f"{said}.", *notes]))

    def _show_moved(self) -> None:
        found, faces = self._both, self.desk.workspace.faces
        rows = faces.rows_of(found.ids) if faces is not None and found is not None else None
        if found is None or faces is None or rows is None or len(rows) != len(found):
            return
        column = faces.columns.get(self.grouped)
        labels = column if isinstance(column, Labels) else faces.identity
        self.moved.show_moved(found, replace(labels, codes=labels.codes[rows]), people=labels is faces.identity)

    def _card(self, face: int) -> list[Line]:
        """What the card of a face says of its way from old to new."""
        upgrade, found = self._upgrade(), self._both
        if upgrade is not None:
            if self._changes is None or self._changes[0] is not upgrade:
                self._changes = upgrade, FaceChange(upgrade)
            if told := self._changes[1].lines(face):
                return told
        if found is None or found.moved is None:
            return []
        return [(tr("moved"), number(float(found.moved[np.flatnonzero(found.ids == face)[0]]), 2))]

    def _show_colours(self) -> None:
        found, faces = self._shown, self.desk.workspace.faces
        if found is None or faces is None:
            return
        rows = faces.rows_of(found.ids)
        if len(rows) != len(found):
            return  # other faces, whose map comes soon
        change = self._change(found)
        colouring = None if change is not None else self._colouring(faces, rows, found)
        augmented, shapes = self._shapes(faces, rows) if change is None else (None, changed_entries(change))
        if found.other is None:
            self.map.set_kinds(change)
            self.map.set_shapes(augmented)
            self.map.set_colours(colouring)
        else:
            self.pair.set_change(change)
            self.pair.set_shapes(augmented)
            self.pair.set_colours(colouring)
        self.legend.show_legend(found.ids, colouring, shapes)
        self.legend.offer_shapes(change is None)
        self._show_focus()

    def _change(self, found: Projection) -> NDArray[np.int8] | None:
        """What became of each face, where colours are to tell it."""
        upgrade = self._upgrade()
        return upgrade.change_of(found.ids) if upgrade is not None and self.colour == CHANGE else None

    def figure_view(self) -> View:
        augmented, focus = tuple(sorted(self.augmented)), tuple(sorted(self.focus))
        shown = View(colour=self.colour, shape=self.shape, augmented=augmented, focus=focus, groups=self.grouped)
        current = self.desk.workspace.selection.current if self._linked else None
        return replace(shown, near="".join(names_of_faces(self.desk.workspace.faces, [current])))

    def figure_places(self) -> Sequence[tuple[QWidget, str]]:
        return (self.beside, "moved"), (self.body, "map")

    def _show_focus(self) -> None:
        chosen = len(self.desk.workspace.selection) > 0
        self.legend.show_focus(offered=self.colour == IDENTITY, on=bool(self.focus), chosen=chosen)

    def _colouring(self, faces: FaceSet, rows: NDArray[np.int64], found: Projection) -> Colouring:
        if self.colour == UNSURE and (made := self._unsure(found.ids)) is not None:
            return made
        if self.colour == MOVED and found.moved is not None:
            return by_numbers(tr("moved"), found.moved, bright=tr("bright = moved more"))
        column = faces.columns.get(self.colour)
        if isinstance(column, Labels):
            return by_names(escaped(self.colour), replace(column, codes=column.codes[rows]))
        if column is not None:
            return by_numbers(escaped(self.colour), column[rows])
        people = replace(faces.identity, codes=faces.identity.codes[rows])
        return by_names(tr("identity"), people, people=True, focus=self.focus)

    def _unsure(self, ids: Ids) -> Colouring | None:
        """How unsure the model is of a part."""
        ground, (values, name) = self._layout(), unsure(self.desk.workspace, ids)
        confidence = self._confidence()
        if confidence is None or ground is None or values is None:
            return None
        with np.errstate(divide="ignore", invalid="ignore"):
            some = -np.log(np.asarray(confidence[:: max(1, confidence.size // LIMITED)], np.float64))
        some = some[np.isfinite(some)]
        low, high = (float(v) for v in np.percentile(some, (1, 99))) if len(some) else (0.0, 1.0)
        said = words("variance", ground)
        return by_numbers(name, values, low=low, high=high, bright=said.bright, written=said.value)

    def _confidence(self) -> NDArray[np.floating] | None:
        workspace = self.desk.workspace
        features = workspace.features.get(workspace.resolved_projection.model)
        return features.confidence if features is not None else None

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
        self.legend.setVisible(found is not None and len(found) > 0 and not self.low)
        self.notes.setVisible(found is not None and bool(self.notes.text()) and not self.low)
        self.controls.setVisible(workspace.faces is not None and len(workspace.features) > 0 and not self.low)
        self.controls.export.setEnabled(found is not None)
        unfinished = found is not None and not found.final
        offered = found is not None and job is None and (unfinished or found.borrowed > 0)
        for part in (self.controls.run, self.controls.run_rule):
            part.setVisible(offered)
        method = NAMES[workspace.resolved_projection.method]
        self.controls.run.setText(tr("Refine with {method}", method=method) if unfinished else tr("Lay out anew"))
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
        faces, asked = workspace.kept_faces, workspace.projection_question
        small = faces is not None and len(faces) <= AT_ONCE
        return questions.projection(workspace, refine=small or self._wanted == asked, anew=self._anew == asked)

    def _on_job(self) -> None:
        if self.isVisible():
            self.asking.start()
            self._show_page()

    # -- what the user asks

    def refine(self) -> None:
        """Lay out in full what is seen by its principal components, or as a map of nearly the same faces had it."""
        found, question = self.desk.workspace.projection, self.desk.workspace.projection_question
        self._wanted = question
        if found is not None and found.final:
            self._anew = question
        self.asking.run()

    def _on_coloured(self, what: str) -> None:
        self.colour_by(what)
        self._colour_look.tell()

    def _follow_colour(self, what: str) -> bool:
        there = self.legend.colour.findData(what) >= 0
        if there:
            self.colour_by(what)
        return there

    def _on_shaped(self, column: str, augmented: frozenset[str] | None) -> None:
        self.shape_by(column, augmented)
        self._shape_look.tell()

    def _shape(self) -> tuple[str, ...]:
        """As it is kept: () where it is what goes without saying."""
        faces = self.desk.workspace.faces
        usual = faces is None or (self.shape, self.augmented) == guess(faces)
        return () if usual else (self.shape, *sorted(self.augmented))

    def _follow_shape(self, said: tuple[str, ...]) -> bool:
        faces = self.desk.workspace.faces
        column, *values = said or ("",)
        if faces is None or column not in ("", *shape_columns(faces)):
            return False
        self.shape_by(*((column, frozenset(values)) if said else guess(faces)))
        return True

    def _follow_links(self, on: bool) -> None:
        self.controls.links.setChecked(on)
        self._linked = on
        self._ask_links()

    def colour_by(self, what: str) -> None:
        """Colour by IDENTITY, UNSURE, CHANGE, MOVED or a column."""
        self.colour = what
        self._fill()
        self._show_colours()

    def focus_on(self, on: bool) -> None:
        """Only the people of the selection have colours; or everybody again."""
        faces, self.focus = self.desk.workspace.faces, frozenset()
        if on and faces is not None:
            codes = np.unique(faces.identity.codes[faces.rows_of(self.desk.workspace.selection.ids)])
            self.focus = frozenset(faces.identity.names[code] for code in codes[codes >= 0].tolist())
        self._show_colours()

    def _on_focused(self, on: bool) -> None:
        self.focus_on(on)
        self._focus_look.tell()

    def _follow_focus(self, people: tuple[str, ...]) -> bool:
        faces = self.desk.workspace.faces
        if faces is None or (people and not {*people} & {*faces.identity.names}):
            return False
        self.focus = frozenset(people)
        self._show_colours()
        return True

    def _on_groups(self, column: str) -> None:
        self.grouped = column
        self._show_moved()

    def _on_lasso(self, on: bool) -> None:
        tool = "lasso" if on else "select"
        self.controls.tool.set_value(tool)
        self.controls.armed.emit("lasso" if on else "rectangle")

    # -- links to the nearest vectors

    def _on_linked(self, on: bool) -> None:
        self._linked = on
        self._ask_links()
        self._links_look.tell()

    def _ask_links(self) -> None:
        plan, face = self.desk.workspace.resolved_projection, self.desk.workspace.selection.current
        wanted = self._linked and self._shown is not None and self.isVisible()
        self.near.ask(face if wanted else None, [name for name in (plan.model, plan.other) if name])

    def _on_near(self, links: tuple[Links, ...]) -> None:
        self._links = links
        first = links[0] if links else None
        self.map.set_links(first.pairs if first else None, first.right if first else None)
        self.pair.set_links([(one.pairs, one.right) for one in links])
        self._show_words()

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


def guess(faces: FaceSet) -> tuple[str, frozenset[str]]:
    """The column that tells augmented pictures from originals, and its values; "" where none sounds so."""
    for name in shape_columns(faces):
        column = faces.columns[name]
        if isinstance(column, Labels) and (found := _sounding(column)):
            return name, found
    return "", frozenset()


def _sounding(column: Labels) -> frozenset[str]:
    return frozenset(name for name in column.names if name.lower().startswith(AUGMENTED))
