"""The list of models: name, dimensions, state for the open gallery, and the badge of A or B."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem

from facelens.session.workspace import Workspace
from facelens.views import icons, theme
from facelens.views.chips import badge
from facelens.views.controls import draw_text, text_width
from facelens.views.lines import Line, Lines
from facelens.words import escaped, tr


@dataclass(frozen=True)
class Loaded:
    """What a line says of a model."""

    title: str
    dims: str
    state: str
    mark: str  # A, B or nothing


class _Line(QStyledItemDelegate):
    def __init__(self, parent: Lines) -> None:
        super().__init__(parent)
        self._list = parent

    def sizeHint(self, option: QStyleOptionViewItem, index: object) -> QSize:  # type: ignore[override]
        return QSize(200, 44)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: object) -> None:  # type: ignore[override]
        look, box = theme.current(), QRectF(option.rect)
        line = self._list.lines[index.row()]  # type: ignore[attr-defined]
        model: Loaded = line.of
        chosen = bool(option.state & QStyle.StateFlag.State_Selected)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if chosen or option.state & QStyle.StateFlag.State_MouseOver:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(look.q("soft" if chosen else "hover"))
            painter.drawRoundedRect(box.adjusted(4, 1, -4, -1), 4, 4)
        square = QRectF(box.x() + 12, box.y() + 7, 14, 14)
        if model.mark:
            badge(painter, square, model.mark)
        else:
            icons.paint(painter, square, "cube", "text" if chosen else "text3")
        first = QRectF(box.x() + 34, box.y() + 5, box.width() - 44, 18)
        draw_text(painter, first, model.dims, "text3", 10, align="right")
        name = first.adjusted(0, 0, -text_width(model.dims, 10) - 8, 0)
        draw_text(painter, name, line.text, "text" if chosen else "text2", 12, middle=True)
        colour = "text2" if chosen else "text3"
        draw_text(painter, first.translated(0, 17), f"{model.state} · {model.title}", colour, 10)
        painter.restore()


class ModelList(Lines):
    """One line per model; `chosen` tells which one the user picked."""

    chosen = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.setItemDelegate(_Line(self))
        self.setAccessibleName(tr("Loaded models"))
        self.setWhatsThis(tr("A click shows the card of a model, its key report and its vectors."))
        self.moved.connect(self._on_moved)

    def show_models(self, workspace: Workspace, chosen: str) -> None:
        """Show what is loaded, without telling anybody."""
        names = list(workspace.model_names)
        self.fill([_line(workspace, name) for name in names], row=names.index(chosen) if chosen in names else -1)

    def _on_moved(self, row: int) -> None:
        if row >= 0:
            self.chosen.emit(self.lines[row].text)


def _line(workspace: Workspace, name: str) -> Line:
    found, features = workspace.inspection(name), workspace.features.get(name)
    dims = found.card.dimensions if found is not None else features.dimensions if features is not None else 0
    title = found.title if found is not None else tr("imported")
    where = escaped(str(found.path)) if found is not None else tr("vectors without a model file")
    state = state_of(workspace, name)
    mark = {workspace.model_a: "A", workspace.model_b: "B"}.get(name, "")
    return Line(
        name,
        Loaded(title, tr("{n}-d", n=dims), state, mark),
        "\n".join((name, f"{title}, {dims}-d", state, where)),
        f"{name}, {title}, {dims}-d, {state}",
    )


def state_of(workspace: Workspace, name: str) -> str:
    """Not embedded, some of all, or embedded."""
    done, total = workspace.embedded(name)
    if not done:
        return tr("not embedded")
    return tr("embedded") if done == total else tr("{n} of {total} embedded", n=done, total=total)
