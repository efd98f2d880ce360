"""History: every step since the gallery was opened, newest at the foot; a click goes there.

What is done is in text colour, the present step has the accent's bar, what was undone waits in grey below it.
"""

from __future__ import annotations

from PySide6.QtCore import QAbstractListModel, QModelIndex, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QKeyEvent, QPainter, QResizeEvent
from PySide6.QtWidgets import QListView, QStyle, QStyledItemDelegate, QStyleOptionViewItem, QVBoxLayout, QWidget

from facelens.session.history import UNDOABLE, History
from facelens.views import theme
from facelens.views.controls import draw_text, plain_tip
from facelens.views.hand import go
from facelens.views.panel import Desk, Panel
from facelens.words import plural, tr

ROW = 25
PLACE = Qt.ItemDataRole.UserRole  # the panel a step belongs to


class Steps(QAbstractListModel):
    """The steps, before them how it began."""

    def __init__(self) -> None:
        super().__init__()
        self.history = History()

    def show(self, history: History) -> None:
        """Take the steps of now."""
        old, new = len(self.history.steps), len(history.steps)
        if old < new:
            self.beginInsertRows(QModelIndex(), old + 1, new)
            self.history = history
            self.endInsertRows()
        elif old > new:
            self.beginRemoveRows(QModelIndex(), new + 1, old)
            self.history = history
            self.endRemoveRows()
        self.history = history
        self.dataChanged.emit(self.index(0), self.index(new))

    def rowCount(self, parent: QModelIndex | None = None) -> int:  # type: ignore[override]
        return 0 if parent is not None and parent.isValid() else 1 + len(self.history.steps)

    def data(self, index: QModelIndex, role: int = Qt.ItemDataRole.DisplayRole) -> object:  # type: ignore[override]
        row = index.row()
        if not 0 <= row <= len(self.history.steps):
            return None
        step = self.history.steps[row - 1] if row else None
        words = step.label if step is not None else tr("Beginning")
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return words
            case Qt.ItemDataRole.ToolTipRole:
                return plain_tip(words)
            case Qt.ItemDataRole.AccessibleTextRole:
                said = {row == self.history.done: tr("now"), row > self.history.done: tr("undone")}.get(True, "")
                return ", ".join(filter(None, (words, self.data(index, PLACE), said)))  # type: ignore[arg-type]
        if role == PLACE:
            return tr(step.place) if step is not None else ""
        return None


class _Row(QStyledItemDelegate):
    """What was done, and in which panel."""

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex) -> QSize:  # type: ignore[override]
        return QSize(100, ROW)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex) -> None:  # type: ignore[override]
        look, steps = theme.current(), index.model()
        assert isinstance(steps, Steps)
        now, undone = index.row() == steps.history.done, index.row() > steps.history.done
        box = QRectF(option.rect)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        if now or option.state & QStyle.StateFlag.State_MouseOver:
            painter.setBrush(QColor(look.soft if now else look.hover))
            painter.drawRoundedRect(box.adjusted(4, 1, -4, -1), 4, 4)
        if now:
            painter.setBrush(QColor(look.accent))
            painter.drawRoundedRect(QRectF(box.x() + 4, box.y() + 5, 3, box.height() - 10), 1.5, 1.5)
        place = index.data(PLACE)
        room = 84 if place else 12
        words = index.data()
        ink = "text3" if undone else "text" if now else "text2"
        draw_text(painter, box.adjusted(14, 0, -room, 0), words[:1].upper() + words[1:], ink)
        draw_text(painter, box.adjusted(box.width() - 80, 0, -12, 0), place, "text3", 10, align="right")
        if option.state & QStyle.StateFlag.State_HasFocus:
            painter.setPen(QColor(look.accent))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(box.adjusted(4.5, 1.5, -4.5, -1.5), 4, 4)
        painter.restore()


class _List(QListView):
    """Enter and Space go to the step under the cursor; that stays in sight when the list gets its room."""

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.scrollTo(self.currentIndex())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
            self.clicked.emit(self.currentIndex())
        else:
            super().keyPressEvent(event)


class HistoryDock(Panel):
    """The list of steps."""

    word = "history"
    title = "History"
    reads = frozenset({*UNDOABLE, "faces", "history"})

    def __init__(self, desk: Desk, parent: QWidget | None = None) -> None:
        super().__init__(desk, parent)
        self.steps = Steps()
        self.list = _List()
        self.list.setModel(self.steps)
        self.list.setItemDelegate(_Row(self.list))
        self.list.setUniformItemSizes(True)
        self.list.setMouseTracking(True)
        self.list.setSelectionMode(QListView.SelectionMode.NoSelection)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.setAccessibleName(tr("History"))
        words = tr("Every step since the gallery was opened. A click or Enter goes there, or back again.")
        self.list.setWhatsThis(words)
        self.list.clicked.connect(lambda index: go(desk, index.row()))
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 4, 0, 4)
        column.addWidget(self.list)

    def home(self) -> QWidget:
        return self.list

    def subtitle(self) -> str:
        n = self.desk.workspace.history.done
        return plural(n, "{n} step", "{n} steps") if n else ""

    def refresh(self, changed: frozenset[str]) -> None:
        self.steps.show(self.desk.workspace.history)
        now = self.steps.index(self.steps.history.done)
        self.list.setCurrentIndex(now)
        self.list.scrollTo(now)
