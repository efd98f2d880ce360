"""Identities: who is in the gallery, with a face, a colour and a count.

A click shows only that identity, Ctrl+click adds one, Alt+click leaves one out; all of it through the filter text, so
the two never disagree. F2 or the menu of a row renames the person.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import replace

import numpy as np
from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPoint, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QKeyEvent, QMouseEvent, QPainter
from PySide6.QtWidgets import (
    QHeaderView,
    QLineEdit,
    QMenu,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QVBoxLayout,
    QWidget,
)

from facelens.session import filters
from facelens.views import icons, theme
from facelens.views.controls import draw_text
from facelens.views.panel import Desk, Panel
from facelens.words import escaped, tr

ROW = 27


class Identities(QAbstractTableModel):
    """Names that pass the search, most pictures first."""

    def __init__(self) -> None:
        super().__init__()
        self.names: tuple[str, ...] = ()
        self.counts = np.zeros(0, np.int64)
        self.covers = np.zeros(0, np.int64)  # a row to draw for each name
        self.shown = np.zeros(0, np.int64)

    def rowCount(self, parent: QModelIndex | None = None) -> int:  # type: ignore[override]
        return 0 if parent is not None and parent.isValid() else len(self.shown)

    def columnCount(self, parent: QModelIndex | None = None) -> int:  # type: ignore[override]
        return 1

    def data(self, index: QModelIndex, role: int = Qt.ItemDataRole.DisplayRole) -> object:  # type: ignore[override]
        if not index.isValid():
            return None
        code = int(self.shown[index.row()])
        name = escaped(self.names[code]).replace("_", " ")
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return name
            case Qt.ItemDataRole.UserRole:
                return code
            case Qt.ItemDataRole.AccessibleTextRole:
                return tr("{name}, {n} faces", name=name, n=int(self.counts[code]))
        return None

    def show(self, order: np.ndarray) -> None:
        self.beginResetModel()
        self.shown = order
        self.endResetModel()


class _Row(QStyledItemDelegate):
    """21 px face, colour dot, name, count."""

    def __init__(self, dock: IdentitiesDock) -> None:
        super().__init__(dock)
        self.dock = dock

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex) -> QSize:  # type: ignore[override]
        return QSize(100, ROW)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex) -> None:  # type: ignore[override]
        look, model, desk = theme.current(), self.dock.model, self.dock.desk
        code = int(model.shown[index.row()])
        box = QRectF(option.rect)
        chosen = code in self.dock.chosen
        painter.save()
        painter.setRenderHints(QPainter.RenderHint.Antialiasing | QPainter.RenderHint.SmoothPixmapTransform)
        painter.setPen(Qt.PenStyle.NoPen)
        if chosen or option.state & QStyle.StateFlag.State_MouseOver:
            painter.setBrush(QColor(look.soft if chosen else look.hover))
            painter.drawRoundedRect(box.adjusted(4, 1, -4, -1), 4, 4)
        faces = desk.workspace.faces
        place = QRectF(box.x() + 10, box.y() + 3, 21, 21)
        if faces is not None:
            cover = desk.thumbnails.get(faces, int(model.covers[code]), 48)
            if cover is not None:
                painter.drawPixmap(place, cover, _square(cover.width(), cover.height()))
            else:
                painter.setBrush(QColor(look.raised))
                painter.drawRoundedRect(place, 3, 3)
        painter.setBrush(theme.identity_colour(model.names[code], look))
        painter.drawEllipse(QPointF(box.x() + 41, box.center().y()), 4, 4)
        draw_text(painter, box.adjusted(51, 0, -50, 0), index.data(), "text" if chosen else "text2")
        draw_text(painter, box.adjusted(0, 0, -12, 0), f"{int(model.counts[code]):,}", "text3", align="right")
        if option.state & QStyle.StateFlag.State_HasFocus and self.dock.list.hasFocus():
            painter.setPen(QColor(look.accent))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(box.adjusted(4.5, 1.5, -4.5, -1.5), 4, 4)
        painter.restore()


def _square(width: float, height: float) -> QRectF:
    side = min(width, height)
    return QRectF((width - side) / 2, (height - side) / 2, side, side)


class _List(QTableView):
    """One column of rows. A list view walks over every row at each change; a table of fixed rows does not.

    Typing does not search either: with a million rows that freezes.
    """

    def __init__(self, dock: IdentitiesDock) -> None:
        super().__init__(dock)
        self.setShowGrid(False)
        self.setMouseTracking(True)
        self.setSelectionMode(QTableView.SelectionMode.NoSelection)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QTableView.ScrollMode.ScrollPerPixel)
        self.setTabKeyNavigation(False)
        across, down = self.horizontalHeader(), self.verticalHeader()
        across.hide()
        across.setStretchLastSection(True)
        down.hide()
        down.setMinimumSectionSize(ROW)
        down.setDefaultSectionSize(ROW)
        down.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.customContextMenuRequested.connect(dock.show_menu)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        dock = self.parent()
        if event.key() == Qt.Key.Key_F2 and isinstance(dock, IdentitiesDock) and self.currentIndex().isValid():
            dock.rename(self.currentIndex().data(Qt.ItemDataRole.UserRole))
        else:
            super().keyPressEvent(event)

    def keyboardSearch(self, search: str) -> None:
        dock = self.parent()
        if isinstance(dock, IdentitiesDock) and search.strip():
            dock.search.setFocus()
            dock.search.setText(search)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        index = self.indexAt(event.position().toPoint())
        dock = self.parent()
        if index.isValid() and isinstance(dock, IdentitiesDock) and event.button() == Qt.MouseButton.LeftButton:
            dock.choose(index.data(Qt.ItemDataRole.UserRole), event.modifiers())
        super().mouseReleaseEvent(event)


class IdentitiesDock(Panel):
    """The list, and a field to find a name in it."""

    word = "identities"
    title = "Identities"
    reads = frozenset({"faces", "excluded", "arrangement"})

    def __init__(self, desk: Desk, parent: QWidget | None = None) -> None:
        super().__init__(desk, parent)
        self.chosen: frozenset[int] = frozenset()
        self.model = Identities()
        self.search = QLineEdit()
        self.search.setPlaceholderText(tr("Find identity"))
        self.search.setAccessibleName(tr("Find identity"))
        self.search.setToolTip(tr("Shows the identities whose name holds these letters."))
        self.search.addAction(icons.icon("search", colour="text3"), QLineEdit.ActionPosition.LeadingPosition)
        self.search.setClearButtonEnabled(True)
        self.list = _List(self)
        self.list.setModel(self.model)
        self.list.setItemDelegate(_Row(self))
        self.list.setAccessibleName(tr("Identities"))
        self.list.setToolTip(
            tr("Click shows one identity, Ctrl+click adds one, Alt+click leaves one out. F2 renames a person.")
        )
        self.list.activated.connect(
            lambda index: self.choose(index.data(Qt.ItemDataRole.UserRole), Qt.KeyboardModifier.NoModifier)
        )
        self.search.textChanged.connect(self._fill)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 8, 0, 0)
        column.setSpacing(6)
        top = QVBoxLayout()
        top.setContentsMargins(8, 0, 8, 0)
        top.addWidget(self.search)
        column.addLayout(top)
        column.addWidget(self.list, 1)
        desk.thumbnails.ready.connect(self._on_ready)

    def _on_ready(self, _ids: object) -> None:
        if self.isVisible():
            self.list.viewport().update()

    def subtitle(self) -> str:
        faces = self.desk.workspace.faces
        return f"{len(faces.identity.names):,}" if faces is not None else ""

    def refresh(self, changed: frozenset[str]) -> None:
        faces = self.desk.workspace.faces
        if changed & {"faces", "excluded"}:
            if faces is None:
                self.model.names, self.model.counts = (), np.zeros(0, np.int64)
            else:
                codes = faces.identity.codes.copy()
                if len(self.desk.workspace.excluded):
                    codes[faces.rows_of(self.desk.workspace.excluded)] = -1
                self.model.names = faces.identity.names
                named = codes >= 0
                self.model.counts = np.bincount(codes[named], minlength=len(self.model.names))
                covers = np.zeros(len(self.model.names), np.int64)
                rows = np.flatnonzero(named)[::-1]
                covers[codes[rows]] = rows  # the last write wins: the first picture of each
                self.model.covers = covers
            self._fill()
        self.chosen = frozenset(code for name in self._chosen_names() if (code := self._code(name)) >= 0)
        self.list.viewport().update()

    def _chosen_names(self) -> tuple[str, ...]:
        try:
            found = filters.choice(self.desk.workspace.arrangement.filter, "identity")
        except filters.FilterError:
            return ()
        return found[1] if found else ()

    def _code(self, name: str) -> int:
        at = bisect_left(self.model.names, name)
        return at if at < len(self.model.names) and self.model.names[at] == name else -1

    def _fill(self) -> None:
        counts = self.model.counts
        order = np.argsort(-counts, kind="stable")
        order = order[counts[order] > 0]
        wanted = self.search.text().strip().lower().replace(" ", "_")
        if wanted:
            keep = [code for code in order.tolist() if wanted in self.model.names[code].lower().replace(" ", "_")]
            order = np.array(keep, np.int64)
        self.model.show(order)

    def choose(self, code: int, modifiers: Qt.KeyboardModifier) -> None:
        """Show one identity (again: all), add one, or leave one out."""
        arrangement = self.desk.workspace.arrangement
        name = self.model.names[code]
        if modifiers & Qt.KeyboardModifier.AltModifier:
            text = filters.adding(arrangement.filter, filters.comparison("identity", "!=", name))
        else:
            add = bool(modifiers & Qt.KeyboardModifier.ControlModifier)
            codes = self.chosen ^ {code} if add else frozenset() if self.chosen == {code} else {code}
            text = filters.choosing(arrangement.filter, "identity", [self.model.names[i] for i in sorted(codes)])
        self.desk.store.update(arrangement=replace(arrangement, filter=text), initiator=self)

    def show_menu(self, position: QPoint) -> None:
        """What can be done with a person."""
        index = self.list.indexAt(position)
        if not index.isValid():
            return
        code = index.data(Qt.ItemDataRole.UserRole)
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction(tr("Show only this person"), lambda: self.choose(code, Qt.KeyboardModifier.NoModifier))
        menu.addAction(tr("Select these faces"), lambda: self._select(code))
        menu.addSeparator()
        menu.addAction(tr("Rename…"), lambda: self.rename(code))
        menu.popup(self.list.viewport().mapToGlobal(position))

    def rename(self, code: int) -> None:
        """Ask for another name of a person."""
        from facelens.views.naming import NameSheet, faces_of

        name = self.model.names[code]
        if len(ids := faces_of(self.desk.workspace, name)):
            NameSheet(self.desk, ids, self.window(), person=name).open()

    def _select(self, code: int) -> None:
        faces, workspace = self.desk.workspace.faces, self.desk.workspace
        if faces is not None:
            ids = faces.ids[faces.identity.codes == code]
            ids = ids[~np.isin(ids, workspace.excluded)]
            self.desk.store.update(selection=replace(workspace.selection, ids=ids), initiator=self)
