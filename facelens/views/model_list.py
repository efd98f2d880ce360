"""The list of models: name, dimensions, state for the open gallery, and the badge of A or B."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSignalBlocker, QSize, Qt, Signal
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QListWidget, QListWidgetItem, QStyle, QStyledItemDelegate, QStyleOptionViewItem

from facelens.session.workspace import Workspace
from facelens.views import icons, theme
from facelens.views.chips import badge
from facelens.views.controls import draw_text, plain_tip, text_width
from facelens.words import escaped, tr

NAME, TITLE, DIMS, STATE, MARK = (Qt.ItemDataRole.UserRole + i for i in range(5))


class _Line(QStyledItemDelegate):
    def sizeHint(self, option: QStyleOptionViewItem, index: object) -> QSize:  # type: ignore[override]
        return QSize(200, 44)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: object) -> None:  # type: ignore[override]
        look, box = theme.current(), QRectF(option.rect)
        chosen = bool(option.state & QStyle.StateFlag.State_Selected)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if chosen or option.state & QStyle.StateFlag.State_MouseOver:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(look.q("soft" if chosen else "hover"))
            painter.drawRoundedRect(box.adjusted(4, 1, -4, -1), 4, 4)
        mark = index.data(MARK)  # type: ignore[attr-defined]
        square = QRectF(box.x() + 12, box.y() + 7, 14, 14)
        if mark:
            badge(painter, square, mark)
        else:
            icons.paint(painter, square, "cube", "text" if chosen else "text3")
        first = QRectF(box.x() + 34, box.y() + 5, box.width() - 44, 18)
        dims = index.data(DIMS)  # type: ignore[attr-defined]
        draw_text(painter, first, dims, "text3", 10, align="right")
        name = first.adjusted(0, 0, -text_width(dims, 10) - 8, 0)
        draw_text(painter, name, index.data(NAME), "text" if chosen else "text2", 12, middle=True)  # type: ignore[attr-defined]
        state, title = index.data(STATE), index.data(TITLE)  # type: ignore[attr-defined]
        colour = "text2" if chosen else "text3"
        draw_text(painter, first.translated(0, 17), f"{state} · {title}", colour, 10)
        painter.restore()


class ModelList(QListWidget):
    """One line per model; `chosen` tells which one the user picked."""

    chosen = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.setItemDelegate(_Line(self))
        self.setMouseTracking(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setAccessibleName(tr("Loaded models"))
        self.setWhatsThis(tr("A click shows the card of a model, its key report and its vectors."))
        self.currentItemChanged.connect(self._on_current)

    def fill(self, workspace: Workspace, chosen: str) -> None:
        """Show what is loaded, without telling anybody."""
        with QSignalBlocker(self):
            self.clear()
            for name in workspace.model_names:
                item = _item(workspace, name)
                self.addItem(item)
                if name == chosen:
                    self.setCurrentItem(item)

    def _on_current(self, item: QListWidgetItem | None) -> None:
        if item is not None:
            self.chosen.emit(item.data(NAME))


def _item(workspace: Workspace, name: str) -> QListWidgetItem:
    found, features = workspace.inspection(name), workspace.features.get(name)
    dims = found.card.dimensions if found is not None else features.dimensions if features is not None else 0
    title = found.title if found is not None else tr("imported")
    where = escaped(str(found.path)) if found is not None else tr("vectors without a model file")
    state = state_of(workspace, name)
    item = QListWidgetItem(name)
    item.setData(NAME, name)
    item.setData(TITLE, title)
    item.setData(DIMS, tr("{n}-d", n=dims))
    item.setData(STATE, state)
    item.setData(MARK, {workspace.model_a: "A", workspace.model_b: "B"}.get(name, ""))
    item.setToolTip(plain_tip("\n".join((name, f"{title}, {dims}-d", state, where))))
    item.setData(Qt.ItemDataRole.AccessibleTextRole, f"{name}, {title}, {dims}-d, {state}")
    return item


def state_of(workspace: Workspace, name: str) -> str:
    """Not embedded, some of all, or embedded."""
    done, total = workspace.embedded(name)
    if not done:
        return tr("not embedded")
    return tr("embedded") if done == total else tr("{n} of {total} embedded", n=done, total=total)
