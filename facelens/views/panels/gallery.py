"""The gallery: every face as a thumbnail, sorted, filtered and grouped; one face large; a few side by side.

The user sees the faces that pass the filter, with the sort value under each. A click selects, a double click opens the
loupe, a drag on empty ground draws a rubber band. Sorting never moves the face that is looked at out of sight.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from PySide6.QtCore import QSignalBlocker, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QApplication,
    QComboBox,
    QHBoxLayout,
    QLineEdit,
    QPushButton,
    QSlider,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from facelens.images.faceset import Ids, Labels, Rows
from facelens.session.annotations import BEST, FLAGGED, REJECTED
from facelens.session.keys import hint
from facelens.session.mark_columns import EDITED, ORIGINAL, called
from facelens.session.selection import Mode, Selection
from facelens.views import icons
from facelens.views.controls import Banner, Elided, Segmented, label, plain_tip, tool_button
from facelens.views.grid import SIZES, Marks, ThumbnailGrid
from facelens.views.loupe import Compare, Loupe, said_of
from facelens.views.panel import Desk, Panel
from facelens.views.shortcuts import keyed
from facelens.views.welcome import Welcome
from facelens.words import plural, tr

VIEWS = ("grid", "loupe", "compare")
OF_EDITS = (EDITED, ORIGINAL)  # columns that are offered where an identity is edited
ROOMY, NARROW = 680, 600  # px of the page
MOST_GROUPS = 5_000  # sections beyond this are no help to anyone


class GalleryPanel(Panel):
    """First page of the stage."""

    word = "gallery"
    title = "Gallery"
    reads = frozenset(
        {"faces", "selection", "arrangement", "annotations", "standing", "excluded", "diagnosis", "recent"}
    )

    def __init__(self, desk: Desk, parent: QWidget | None = None) -> None:
        super().__init__(desk, parent)
        self.setAccessibleName(tr("Gallery"))
        self.welcome = Welcome(desk)
        self.grid = ThumbnailGrid(desk.thumbnails)
        self.loupe = Loupe(desk.thumbnails)
        self.compare = Compare(desk.thumbnails)
        self.views = QStackedWidget()
        for view in (self.grid, self.loupe, self.compare):
            self.views.addWidget(view)
        self.banner = Banner()
        self.banner.acted.connect(lambda: desk.act("doctor.show"))
        self.controls = self._build_controls()
        body = QWidget()
        column = QVBoxLayout(body)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.controls)
        column.addWidget(self.banner)
        column.addWidget(self.views, 1)
        self.pages = QStackedWidget()
        self.pages.addWidget(self.welcome)
        self.pages.addWidget(body)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(self.pages)
        self._rows: tuple[object, ...] | None = None  # what the grid was given last
        self._connect()

    def _build_controls(self) -> QWidget:
        row = QWidget()
        row.setObjectName("controlrow")
        row.setFixedHeight(40)
        self.count = label(name="title")
        self.of = Elided(colour="text3", px=11, least=80)
        self.again = QPushButton(tr("Arrange again"))
        self.again.setObjectName("flat")
        since = tr("Faces were marked since the list was arranged. They stay in place until you ask.")
        keyed(self.again, "find.again", since)
        self.again.clicked.connect(lambda: self.desk.act("find.again"))
        self.again.hide()
        self.sort = QComboBox()
        self.sort.setAccessibleName(tr("Sort by"))
        self.sort.setToolTip(_sort_tip(""))
        self.sort.setMinimumWidth(150)
        self.direction = tool_button("ascending", tr("Largest first"), checkable=True)
        self.group = QComboBox()
        self.group.setAccessibleName(tr("Group by"))
        self.group.setToolTip(tr("Put faces with the same value under one heading."))
        self.group.setMinimumWidth(76)
        shapes = [("grid", tr("Grid")), ("loupe", tr("Loupe")), ("compare", tr("Compare"))]
        self.mode = Segmented(shapes, label=tr("View"), icons_only=True)
        for view, text in shapes:
            keyed(self.mode.button(view), f"view.{view}", text)
        self.size_slider = QSlider(Qt.Orientation.Horizontal)
        self.size_slider.setRange(0, len(SIZES) - 1)
        self.size_slider.setFixedWidth(80)
        self.size_slider.setAccessibleName(tr("Thumbnail size"))
        self.size_slider.setToolTip(tr("Thumbnail size in pixels, 48 to 224. Ctrl+wheel on the grid."))
        self._labels: list[QWidget] = []
        line = QHBoxLayout(row)
        line.setContentsMargins(12, 0, 12, 0)
        line.setSpacing(8)
        line.addWidget(self.count)
        line.addWidget(self.of, 1)
        line.addWidget(self.again)
        for text, widget in ((tr("Sort"), self.sort), ("", self.direction), (tr("Group"), self.group)):
            if text:
                said = label(text, name="sub")
                said.setBuddy(widget)
                self._labels.append(said)
                line.addWidget(said)
            line.addWidget(widget)
        line.addSpacing(4)
        line.addWidget(self.mode)
        line.addWidget(self.size_slider)
        return row

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Beside another page there is little room: the slider goes first, then words that tooltips have too."""
        super().resizeEvent(event)
        width = event.size().width()
        self.size_slider.setVisible(width >= ROOMY)
        for said in self._labels:
            said.setVisible(width >= NARROW)

    def _connect(self) -> None:
        self.sort.activated.connect(self._on_sort)
        self.direction.toggled.connect(self._on_sort)
        self.group.activated.connect(self._on_sort)
        self.mode.changed.connect(self._on_mode)
        self.size_slider.valueChanged.connect(lambda i: self.grid.set_thumbnail_size(SIZES[i]))
        self.grid.thumbnail_size_changed.connect(self._on_size)
        self.grid.select.connect(self._on_select)
        self.grid.look.connect(self._on_look)
        self.grid.open_face.connect(self._on_open)
        self.loupe.step.connect(self.step)
        self.loupe.closed.connect(lambda: self.show_view("grid"))
        self.compare.closed.connect(lambda: self.show_view("grid"))
        self.grid.set_thumbnail_size(self.desk.settings.thumbnail_size)
        self._on_size(self.desk.settings.thumbnail_size)

    # -- what the user does

    def _on_select(self, ids: Ids, mode: Mode) -> None:
        self._set(self.desk.workspace.selection.combine(ids, mode))

    def _on_look(self, face: int) -> None:
        self._set(self.desk.workspace.selection.looking_at(face))

    def _on_open(self, face: int) -> None:
        self._on_look(face)
        self.show_view("loupe")

    def _set(self, selection: Selection) -> None:
        self.desk.store.update(selection=selection, initiator=self)

    def _on_sort(self) -> None:
        arrangement = self.desk.workspace.arrangement
        self.desk.store.update(
            arrangement=replace(
                arrangement,
                sort=self.sort.currentData() or "",
                descending=self.direction.isChecked(),
                group=self.group.currentData() or "",
            ),
            initiator=self,
        )

    def _on_mode(self, place: int) -> None:
        self.mode.set_value(self.view)  # stays where it was when the action cannot be used
        self.desk.act(f"view.{VIEWS[place]}")

    def _on_size(self, pixels: int) -> None:
        with QSignalBlocker(self.size_slider):
            self.size_slider.setValue(min(range(len(SIZES)), key=lambda i: abs(SIZES[i] - pixels)))

    def step(self, by: int) -> None:
        """Look at the next or previous shown face."""
        workspace = self.desk.workspace
        ids = workspace.shown_ids
        if not len(ids):
            return
        at = np.flatnonzero(ids == workspace.selection.current)
        place = 0 if not len(at) else min(max(int(at[0]) + by, 0), len(ids) - 1)
        self._set(replace(workspace.selection, current=int(ids[place]), ids=ids[place : place + 1]))

    def resize_thumbnails(self, by: int) -> None:
        """One size up or down."""
        self.size_slider.setValue(self.size_slider.value() + by)

    def show_view(self, view: str) -> None:
        """Grid, loupe or compare."""
        self.views.setCurrentIndex(VIEWS.index(view))
        self.mode.set_value(view)
        self._show_faces()
        (self.grid, self.loupe, self.compare)[VIEWS.index(view)].setFocus()

    @property
    def view(self) -> str:
        """Which of the three views is shown."""
        return VIEWS[self.views.currentIndex()]

    # -- what the user sees

    def refresh(self, changed: frozenset[str]) -> None:
        workspace = self.desk.workspace
        self._show_page(0 if workspace.faces is None else 1)
        if workspace.faces is None:
            self.grid.set_faces(None, np.zeros(0, np.int64))
            self._rows = None
            self.welcome.refresh()
            return
        if changed & {"faces", "arrangement", "excluded", "standing"}:
            self._show_rows()
        if changed & {"faces", "annotations"}:
            self._show_marks()
        if changed & {"faces", "diagnosis"}:
            self._show_banner()
        if "selection" in changed or "faces" in changed:
            self.grid.set_selection(workspace.selection)
        self._show_faces()

    def _show_page(self, place: int) -> None:
        """Welcome or faces; the keyboard goes along, unless the user is typing somewhere."""
        if place == self.pages.currentIndex():
            return
        self.pages.setCurrentIndex(place)
        if not isinstance(QApplication.focusWidget(), QLineEdit):
            self.home().setFocus()

    def home(self) -> QWidget:
        if self.pages.currentIndex() == 0:
            return self.welcome.first
        return (self.grid, self.loupe, self.compare)[self.views.currentIndex()]

    def _show_rows(self) -> None:
        workspace = self.desk.workspace
        faces, arrangement = workspace.faces, workspace.arrangement
        assert faces is not None
        self.again.setVisible(workspace.standing is not None)
        rows, kept = workspace.shown, self._rows
        self._rows = rows, faces, arrangement
        if kept is not None and all(one is other for one, other in zip(kept, self._rows, strict=True)):
            return  # marked faces stay where they are
        self._fill_columns()
        value = arrangement.sort if isinstance(faces.columns.get(arrangement.sort), np.ndarray) else ""
        wide = workspace.standing_faces or faces
        groups = wide.values(arrangement.group) if arrangement.group else None
        self.grid.set_faces(faces, rows, value=value, groups=groups if isinstance(groups, Labels) else None)
        self.grid.set_empty(
            tr("No face matches"),
            tr(
                "No face matches {filter}. Clear the filter{key} or widen it.",
                filter=arrangement.filter,
                key=hint("select.none"),
            )
            if arrangement.filter
            else tr("All faces are excluded. Take them back from the Gallery menu."),
        )
        self.count.setText(plural(len(rows), "{n} face", "{n} faces"))
        self.of.setText(self._summary(len(rows)))

    def _show_marks(self) -> None:
        """Flags, rejections and ratings onto the faces; the list itself is not touched."""
        workspace = self.desk.workspace
        faces, said = workspace.faces, workspace.annotations
        assert faces is not None
        columns: dict[str, np.ndarray] = {}
        if len(said.flags):
            columns = {name: np.zeros(len(faces), bool) for name in ("flagged", "rejected")}
            columns["flagged"][faces.rows_of(said.flags.having(FLAGGED))] = True
            columns["rejected"][faces.rows_of(said.flags.having(REJECTED))] = True
        if len(said.ratings):
            columns["rating"] = np.zeros(len(faces), np.int8)
            for rating in range(1, BEST + 1):
                columns["rating"][faces.rows_of(said.ratings.having(rating))] = rating
        self.grid.set_marks(Marks(**columns))

    def _summary(self, shown: int) -> str:
        workspace = self.desk.workspace
        faces = workspace.faces
        assert faces is not None
        parts = []
        if shown < len(faces):
            parts.append(tr("of {total}", total=len(faces)))
        everyone = faces.identity.codes
        codes = everyone if shown == len(faces) else everyone[workspace.shown]
        seen = np.zeros(len(faces.identity.names) + 1, bool)
        seen[codes] = True  # a missing name, -1, marks the last place
        people = int(np.count_nonzero(seen[:-1]))
        parts.append(plural(people, "{n} identity", "{n} identities") if people else tr("no identities"))
        if workspace.arrangement.filter:
            parts.append(tr("filter on"))
        if len(workspace.excluded):
            parts.append(tr("{n} excluded", n=len(workspace.excluded)))
        return " · ".join(parts)

    def _fill_columns(self) -> None:
        workspace = self.desk.workspace
        faces, arrangement = workspace.faces, workspace.arrangement
        assert faces is not None
        with QSignalBlocker(self.sort), QSignalBlocker(self.group), QSignalBlocker(self.direction):
            self.sort.clear()
            self.sort.addItem(tr("gallery order"), "")
            shown = [kind for kind in called(faces) if faces.given is not None or kind not in OF_EDITS]
            for name in (*faces.sortable, *(called(faces)[kind] for kind in shown)):
                self.sort.addItem(name, name)
            self.sort.setCurrentIndex(max(0, self.sort.findData(arrangement.sort)))
            self.sort.setToolTip(_sort_tip(arrangement.sort))
            self.direction.setChecked(arrangement.descending and bool(arrangement.sort))
            self.direction.setIcon(icons.icon("descending" if arrangement.descending else "ascending"))
            self.direction.setToolTip(
                tr("Largest first. Click for smallest first.")
                if arrangement.descending
                else tr("Smallest first. Click for largest first.")
            )
            self.direction.setEnabled(bool(arrangement.sort))
            self.group.clear()
            self.group.addItem(tr("none"), "")
            wide, mine = workspace.standing_faces or faces, frozenset(called(faces).values())
            for name in ("identity", *wide.columns):
                column = wide.values(name)
                said = name not in mine or (isinstance(column, Labels) and bool((column.codes >= 0).any()))
                if isinstance(column, Labels) and said and (name in mine or 1 < len(column.names) <= MOST_GROUPS):
                    self.group.addItem(name, name)
            self.group.setCurrentIndex(max(0, self.group.findData(arrangement.group)))

    def _show_banner(self) -> None:
        workspace = self.desk.workspace
        assert workspace.faces is not None
        diagnosis = workspace.diagnosis
        bad = len(diagnosis.bad_ids) if diagnosis is not None else 0
        if bad:
            self.banner.set_message(
                tr("{n} of {total} pictures could not be read and are left out.", n=bad, total=len(workspace.faces)),
                tr("All other pictures are here. The list says what is wrong with each."),
                button=tr("Show them"),
                tip=tr("Opens the doctor's list") + hint("doctor.show"),
            )
        else:
            self.banner.set_message("")

    def _show_faces(self) -> None:
        workspace = self.desk.workspace
        faces, selection = workspace.faces, workspace.selection
        if faces is None:
            return
        row = faces.row_of(selection.current) if self.view == "loupe" else None
        rows = self._compared() if self.view == "compare" else np.zeros(0, np.int64)
        if (self.view == "loupe" and row is None) or (self.view == "compare" and not len(rows)):
            self.show_view("grid")  # nothing to look at any more
        elif self.view == "loupe":
            self.loupe.set_face(faces, row)
            self.loupe.set_marks(said_of(workspace.annotations, int(faces.ids[row])))  # type: ignore[index]
        elif self.view == "compare":
            self.compare.set_faces(faces, rows)

    def _compared(self) -> Rows:
        """The selected faces to put side by side, in the order they are shown in."""
        workspace = self.desk.workspace
        faces = workspace.faces
        assert faces is not None
        rows = faces.rows_of(workspace.selection.ids[:5])
        shown = workspace.shown
        return np.append(shown[np.isin(shown, rows)], rows[~np.isin(rows, shown)])[:4]


def _sort_tip(column: str) -> str:
    """What sorting does, under the name of the column, which may be longer than the list is wide."""
    said = tr("Sort the faces by a column. Faces without a value come last.")
    return plain_tip(f"{column}\n{said}" if column else said)
