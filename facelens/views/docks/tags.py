"""Tags: flags, ratings, tags and subsets, each with its count; a line tags the faces at hand.

A click shows only those faces, Ctrl+click adds some, Alt+click leaves some out; all of it through the filter text, so
the two never disagree.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from PySide6.QtCore import QModelIndex, QPoint, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QKeyEvent, QMouseEvent, QPainter
from PySide6.QtWidgets import (
    QHBoxLayout,
    QInputDialog,
    QMenu,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)

from facelens.errors import FaceLensError
from facelens.images.faceset import Ids
from facelens.session import filters
from facelens.session.annotations import BEST, FLAGGED, REJECTED, alike, cleaned, retagged, untagged
from facelens.session.identities import taken_back
from facelens.session.mark_columns import EDITED, FLAG, FLAG_WORDS, RATING, SUBSET, TAG, YES, called
from facelens.session.selection import Selection
from facelens.session.subsets import dropped, put, renamed
from facelens.views import icons, theme
from facelens.views.combining import CombineSubsets
from facelens.views.controls import draw_text, tool_button
from facelens.views.lines import Line, Lines
from facelens.views.panel import Desk, Panel
from facelens.views.tagging import TagLine, put_tags
from facelens.words import escaped, plural, tr

ROW, HEAD = 23, 26
ICONS = {FLAG: "flag", SUBSET: "layers", EDITED: "pencil"}


@dataclass(frozen=True, eq=False)
class Entry:
    """A row: faces that have something in common, or with no name the heading of such rows."""

    kind: str
    name: str
    text: str
    ids: Ids


def entries(desk: Desk) -> list[Entry]:
    """Rows under their headings; a heading without rows is left out, but flags are always there."""
    said, subsets, edits = desk.workspace.said
    none = np.zeros(0, np.int64)
    levels = ((FLAGGED, tr("Flagged")), (REJECTED, tr("Rejected")))
    groups = {
        (FLAG, tr("Flags")): [Entry(FLAG, FLAG_WORDS[n], text, said.flags.having(n)) for n, text in levels],
        (TAG, tr("Tags")): [Entry(TAG, name, escaped(name), ids) for name, ids in said.tags.items()],
        (SUBSET, tr("Subsets")): [Entry(SUBSET, name, escaped(name), ids) for name, ids in subsets.items()],
        (RATING, tr("Ratings")): [
            Entry(RATING, str(n), "★" * n, ids) for n in range(BEST, 0, -1) if len(ids := said.ratings.having(n))
        ],
        (EDITED, tr("Identities")): [Entry(EDITED, YES, tr("Edited"), edits.ids)] if len(edits) else [],
    }
    return [one for (kind, title), rows in groups.items() if rows for one in (Entry(kind, "", title, none), *rows)]


def _line(entry: Entry) -> Line:
    if not entry.name:
        return Line(entry.text, entry, able=False)
    spoken = tr("rated {n}", n=entry.name) if entry.kind == RATING else entry.text
    return Line(entry.text, entry, spoken=f"{spoken}, {plural(len(entry.ids), '{n} face', '{n} faces')}")


class _Row(QStyledItemDelegate):
    """Mark, name, count; a heading is bold."""

    def __init__(self, dock: TagsDock) -> None:
        super().__init__(dock)
        self.dock = dock

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex) -> QSize:  # type: ignore[override]
        return QSize(100, ROW if self.dock.list.lines[index.row()].able else HEAD)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex) -> None:  # type: ignore[override]
        entry: Entry = self.dock.list.lines[index.row()].of
        look, box = theme.current(), QRectF(option.rect)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if not entry.name:
            draw_text(painter, box.adjusted(12, 4, -12, 0), entry.text, "text2", 11, bold=True)
            painter.restore()
            return
        chosen = (entry.kind, alike(entry.name)) in self.dock.chosen
        painter.setPen(Qt.PenStyle.NoPen)
        if chosen or option.state & QStyle.StateFlag.State_MouseOver:
            painter.setBrush(QColor(look.soft if chosen else look.hover))
            painter.drawRoundedRect(box.adjusted(4, 1, -4, -1), 4, 4)
        spot = QRectF(box.x() + 13, box.center().y() - 6.5, 13, 13)
        if entry.kind == TAG:
            painter.setBrush(theme.identity_colour(entry.name, look))
            painter.drawRoundedRect(QRectF(spot.center().x() - 4, spot.center().y() - 4, 8, 8), 2, 2)
        elif entry.kind != RATING:
            icon = "close" if entry.name == FLAG_WORDS[REJECTED] else ICONS[entry.kind]
            icons.paint(painter, spot, icon, "text" if chosen else "text3")
        left = 13 if entry.kind == RATING else 33
        draw_text(painter, box.adjusted(left, 0, -58, 0), entry.text, "text" if chosen else "text2")
        draw_text(painter, box.adjusted(0, 0, -12, 0), f"{len(entry.ids):,}", "text3", align="right")
        if option.state & QStyle.StateFlag.State_HasFocus and self.dock.list.hasFocus():
            painter.setPen(QColor(look.accent))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(box.adjusted(4.5, 1.5, -4.5, -1.5), 4, 4)
        painter.restore()


class _List(Lines):
    """Keys do what the mouse does: Enter shows, Del deletes, F2 renames."""

    def __init__(self, dock: TagsDock) -> None:
        super().__init__(dock)
        self.dock = dock
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.customContextMenuRequested.connect(dock.show_menu)

    def entry(self) -> Entry | None:
        """The row the keyboard is on."""
        return self.dock.entry_at(self.row)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        entry = self.dock.entry_at(self.indexAt(event.position().toPoint()).row())
        if entry is not None and event.button() == Qt.MouseButton.LeftButton:
            self.dock.choose(entry, event.modifiers())
        super().mouseReleaseEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        entry, keys = self.entry(), Qt.Key
        if entry is not None and event.key() in (keys.Key_Return, keys.Key_Enter, keys.Key_Space):
            self.dock.choose(entry, event.modifiers())
        elif entry is not None and event.key() == keys.Key_F2:
            self.dock.rename(entry)
        else:
            super().keyPressEvent(event)


class TagsDock(Panel):
    """The line, the list, and what makes subsets."""

    word = "tags"
    title = "Tags"
    reads = frozenset({"faces", "annotations", "subsets", "identity_edits", "arrangement", "selection"})

    def __init__(self, desk: Desk, parent: QWidget | None = None) -> None:
        super().__init__(desk, parent)
        self.chosen: frozenset[tuple[str, str]] = frozenset()  # rows that the filter chooses
        self.line = TagLine(tr("Tags the selected faces, or the current one; several tags with commas."))
        self.line.setAccessibleName(tr("Tag the selected faces"))
        self.line.entered.connect(self._on_entered)
        self.list = _List(self)
        self.list.setItemDelegate(_Row(self))
        self.list.setAccessibleName(tr("Flags, ratings, tags and subsets"))
        self.list.setToolTip(tr("Click shows these faces only, Ctrl+click adds some, Alt+click leaves some out."))
        self.from_selection = tool_button("plus", tr("Make a subset of the selected faces"), size=14)
        self.from_shown = tool_button("filter", tr("Make a subset of the shown faces"), size=14)
        self.combine = tool_button("layers", tr("Combine two subsets: and, or, xor, not"), size=14)
        self.from_selection.clicked.connect(lambda: desk.act("subset.make"))
        self.from_shown.clicked.connect(lambda: desk.act("subset.make_shown"))
        self.combine.clicked.connect(lambda: desk.act("subset.combine"))
        self.pencil = tool_button("pencil", tr("Rename the tag or subset (F2)"), size=14)
        self.pencil.clicked.connect(lambda: self._on_entry(self.rename))
        self.bin = tool_button("trash", tr("Delete the tag or subset; no face is deleted"), size=14)
        self.bin.clicked.connect(lambda: self._on_entry(self.remove))
        foot = QHBoxLayout()
        foot.setContentsMargins(8, 2, 8, 4)
        foot.setSpacing(2)
        for part in (self.from_selection, self.from_shown, self.combine):
            foot.addWidget(part)
        foot.addStretch(1)
        foot.addWidget(self.pencil)
        foot.addWidget(self.bin)
        top = QVBoxLayout()
        top.setContentsMargins(8, 8, 8, 4)
        top.addWidget(self.line)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(top)
        column.addWidget(self.list, 1)
        column.addLayout(foot)
        self.list.moved.connect(lambda _: self._enable())
        self.setMinimumHeight(120)

    def sizeHint(self) -> QSize:
        return QSize(232, 260)

    def subtitle(self) -> str:
        tags = len(self.desk.workspace.annotations.tags)
        return f"{tags:,}" if tags else ""

    # -- what the user sees

    def refresh(self, changed: frozenset[str]) -> None:
        workspace = self.desk.workspace
        n = len(workspace.selection) or int(workspace.selection.current is not None)
        able = workspace.faces is not None and n > 0
        self.line.setEnabled(able)
        words = plural(n, "Tag {n} face", "Tag {n} faces") if able else tr("Tag: select faces first")
        self.line.setPlaceholderText(words)
        self.line.set_known(list(workspace.annotations.tags))
        self.from_selection.setEnabled(workspace.faces is not None and len(workspace.selection) > 0)
        for part in (self.from_shown, self.combine):
            part.setEnabled(workspace.faces is not None)
        if changed & {"faces", "annotations", "subsets", "identity_edits"}:
            self._fill()
        if changed & {"faces", "arrangement", "annotations", "subsets", "identity_edits"}:
            self.chosen = self._chosen()
            self.list.viewport().update()
        self._enable()

    def _fill(self) -> None:
        at, kept = self.list.row, self.list.entry()
        shown = entries(self.desk) if self.desk.workspace.faces is not None else []
        if kept is not None:
            same = [i for i, one in enumerate(shown) if (one.kind, one.name) == (kept.kind, kept.name)]
            at = same[0] if same else min(at, len(shown) - 1)
        self.list.fill([_line(entry) for entry in shown], row=at)

    @property
    def entries(self) -> list[Entry]:
        """What is listed, row by row."""
        return [line.of for line in self.list.lines]

    def entry_at(self, row: int) -> Entry | None:
        """What a row stands for; None for headings and beyond the list."""
        found: Entry | None = self.list.lines[row].of if 0 <= row < len(self.list.lines) else None
        return found if found is not None and found.name else None

    def _enable(self) -> None:
        entry = self.list.entry()
        able = entry is not None and entry.kind in (TAG, SUBSET)
        self.pencil.setEnabled(able)
        self.bin.setEnabled(able)

    def _chosen(self) -> frozenset[tuple[str, str]]:
        workspace = self.desk.workspace
        found = []
        if workspace.faces is not None and workspace.arrangement.filter:
            for kind, column in called(workspace.faces).items():
                try:
                    choice = filters.choice(workspace.arrangement.filter, column)
                except filters.FilterError:
                    return frozenset()
                found += [(kind, alike(name)) for name in (choice[1] if choice else ())]
        return frozenset(found)

    # -- what the user does

    def choose(self, entry: Entry, modifiers: Qt.KeyboardModifier) -> None:
        """Show these faces only (again: all), add some, or leave some out."""
        workspace = self.desk.workspace
        if workspace.faces is None or not entry.name:
            return
        arrangement, column = workspace.arrangement, called(workspace.faces)[entry.kind]
        if modifiers & Qt.KeyboardModifier.AltModifier:
            text = filters.adding(arrangement.filter, "not " + filters.comparison(column, "=", entry.name))
        else:
            choice = filters.choice(arrangement.filter, column)
            names = list(choice[1]) if choice else []
            same = [name for name in names if alike(name) == alike(entry.name)]
            if modifiers & Qt.KeyboardModifier.ControlModifier:
                names = [name for name in names if name not in same] if same else [*names, entry.name]
            else:
                names = [] if same and len(names) == 1 else [entry.name]
            text = filters.choosing(arrangement.filter, column, names)
        self.desk.store.update(arrangement=replace(arrangement, filter=text), initiator=self)

    def show_menu(self, position: QPoint) -> None:
        """What can be done with a row."""
        entry = self.entry_at(self.list.indexAt(position).row())
        if entry is None:
            return
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction(tr("Select these faces"), lambda: self._select(entry))
        if entry.kind == TAG:
            off = menu.addAction(tr("Take the tag off the selected faces"), lambda: self._untag(entry))
            off.setEnabled(len(self.desk.workspace.selection) > 0)
        if entry.kind == EDITED:
            menu.addAction(tr("Take back identity edits"), lambda: self._take_back(entry))
        if entry.kind in (TAG, SUBSET):
            menu.addSeparator()
            menu.addAction(tr("Rename…"), lambda: self.rename(entry))
            menu.addAction(tr("Delete"), lambda: self.remove(entry))
        menu.popup(self.list.viewport().mapToGlobal(position))

    def make(self, ids: Ids) -> None:
        """Ask for a name and keep faces under it."""
        self._ask(
            tr("Make a subset"),
            plural(len(ids), "Name of the subset of {n} face", "Name of the subset of {n} faces"),
            "",
            lambda name: self.desk.store.update(subsets=put(self.desk.workspace.subsets, name, ids)),
        )

    def combine_subsets(self) -> None:
        """Ask which two, and how."""
        CombineSubsets(self.desk, self.window()).open()

    def rename(self, entry: Entry) -> None:
        """Ask for another name."""
        if entry.kind in (TAG, SUBSET):
            self._ask(tr("Rename"), tr("New name"), entry.name, lambda name: self._rename(entry, name))

    def _rename(self, entry: Entry, name: str) -> None:
        workspace = self.desk.workspace
        changes: dict[str, object] = {}
        if entry.kind == TAG and entry.name in workspace.annotations.tags:
            changes["annotations"] = retagged(workspace.annotations, entry.name, name)
        elif entry.kind == SUBSET and entry.name in workspace.subsets:
            changes["subsets"] = renamed(workspace.subsets, entry.name, name)
        if changes and (entry.kind, alike(entry.name)) in self.chosen and workspace.faces is not None:
            # What the filter chooses keeps being chosen.
            column, arrangement = called(workspace.faces)[entry.kind], workspace.arrangement
            choice = filters.choice(arrangement.filter, column)
            names = [cleaned(name) if alike(one) == alike(entry.name) else one for one in (choice or (0, ()))[1]]
            changes["arrangement"] = replace(arrangement, filter=filters.choosing(arrangement.filter, column, names))
        self.desk.store.update(**changes)

    def remove(self, entry: Entry) -> None:
        """Delete a tag or a subset; the faces stay, and it can be undone."""
        workspace = self.desk.workspace
        if entry.kind == TAG:
            self.desk.store.update(annotations=untagged(workspace.annotations, entry.ids, entry.name))
        elif entry.kind == SUBSET:
            self.desk.store.update(subsets=dropped(workspace.subsets, entry.name))

    def _ask(self, title: str, text: str, name: str, then: Callable[[str], object]) -> None:
        dialog = QInputDialog(self.window())
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setWindowTitle(title)
        dialog.setLabelText(text)
        dialog.setTextValue(name)

        def done(given: str) -> None:
            try:
                then(given)
            except FaceLensError as error:
                self.desk.notify(error)

        dialog.textValueSelected.connect(done)
        dialog.open()

    def _on_entry(self, then: Callable[[Entry], None]) -> None:
        if (entry := self.list.entry()) is not None:
            then(entry)

    def _select(self, entry: Entry) -> None:
        current = self.desk.workspace.selection.current
        self.desk.store.update(selection=Selection(entry.ids, current), initiator=self)

    def _take_back(self, entry: Entry) -> None:
        edits = self.desk.workspace.identity_edits
        self.desk.store.update(identity_edits=taken_back(edits, entry.ids))

    def _untag(self, entry: Entry) -> None:
        workspace = self.desk.workspace
        self.desk.store.update(annotations=untagged(workspace.annotations, workspace.selection.ids, entry.name))

    def _on_entered(self, names: list[str]) -> None:
        selection = self.desk.workspace.selection
        ids = selection.ids
        if not len(ids) and selection.current is not None:
            ids = np.array([selection.current], np.int64)
        if len(ids) and put_tags(self.desk, ids, names):
            self.line.clear()
