"""Sources: the gallery that is open, those opened before, and the loaded models. A click opens or shows one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QModelIndex, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter
from PySide6.QtWidgets import (
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)

from facelens.views import icons, theme
from facelens.views.controls import draw_text
from facelens.views.lines import Line, Lines
from facelens.views.panel import Desk, Panel
from facelens.words import escaped, plural, tr

MOST = 12  # galleries


@dataclass(frozen=True)
class Source:
    """A gallery with its place, or a model without one."""

    name: str
    count: str
    path: Path | None = None
    opened: bool = False


class _Row(QStyledItemDelegate):
    def __init__(self, parent: Lines) -> None:
        super().__init__(parent)
        self._list = parent

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex) -> QSize:  # type: ignore[override]
        return QSize(100, 25)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex) -> None:  # type: ignore[override]
        look, box = theme.current(), QRectF(option.rect)
        source: Source = self._list.lines[index.row()].of
        is_open = source.opened
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if is_open or option.state & QStyle.StateFlag.State_MouseOver:
            painter.setPen(Qt.PenStyle.NoPen)
            ground = QColor(look.hover) if not is_open else QColor(look.text)
            if is_open:
                ground.setAlpha(14)
            painter.setBrush(ground)
            painter.drawRoundedRect(box.adjusted(4, 1, -4, -1), 4, 4)
        icons.paint(
            painter,
            QRectF(box.x() + 12, box.y() + 5.5, 14, 14),
            "folder" if source.path is not None else "cube",
            "accent" if is_open else "text3",
        )
        draw_text(painter, box.adjusted(33, 0, -62, 0), index.data(), "text" if is_open else "text2")
        draw_text(painter, box.adjusted(0, 0, -12, 0), source.count, "text3", 10, align="right")
        if option.state & QStyle.StateFlag.State_HasFocus:
            painter.setPen(QColor(look.accent))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(box.adjusted(4.5, 1.5, -4.5, -1.5), 4, 4)
        painter.restore()


class SourcesDock(Panel):
    """A short list; the open gallery is marked."""

    word = "sources"
    title = "Sources"
    reads = frozenset({"faces", "source", "recent", "models", "features"})

    def __init__(self, desk: Desk, parent: QWidget | None = None) -> None:
        super().__init__(desk, parent)
        self.list = Lines()
        self.list.setItemDelegate(_Row(self.list))
        self.list.setAccessibleName(tr("Galleries and models"))
        self.list.setWhatsThis(tr("What is open and what was open before. A click opens a gallery or shows a model."))
        self.list.opened.connect(self._on_open)
        self.list.touched.connect(self._on_open)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 4, 0, 4)
        column.addWidget(self.list)
        self.setMinimumHeight(70)

    def sizeHint(self) -> QSize:
        return QSize(232, 120)

    def refresh(self, changed: frozenset[str]) -> None:
        opened = self.desk.workspace.source
        galleries = [_gallery(opened.path, opened.name, opened.faces, opened=True)] if opened else []
        earlier = [
            _gallery(Path(one.path), one.name, one.faces)
            for one in self.desk.settings.recent
            if opened is None or Path(one.path) != opened.path
        ]
        galleries += earlier[: MOST - len(galleries)]
        at = 1 if opened else 0  # the models in use stand right under the open gallery, earlier galleries after them
        self.list.fill([*galleries[:at], *self._models(), *galleries[at:]])

    def _models(self) -> list[Line]:
        workspace, lines = self.desk.workspace, []
        for name in workspace.model_names:
            found, features = workspace.inspection(name), workspace.features.get(name)
            dims = features.dimensions if features is not None else found.card.dimensions if found is not None else 0
            done, total = workspace.embedded(name)
            state = tr("{n} of {total} faces embedded", n=done, total=total) if total else tr("no gallery is open")
            tip = "\n".join((name, found.title if found else tr("imported vectors"), state))
            lines.append(Line(name, Source(name, tr("{n}-d", n=dims)), tip))
        return lines

    def _on_open(self, row: int) -> None:
        source: Source = self.list.lines[row].of
        if source.path is None:
            self.desk.store.update(model=source.name, initiator=self)
            self.desk.act("model.show")
        elif not source.opened:
            self.desk.open_path(source.path)


def _gallery(path: Path, name: str, faces: int, *, opened: bool = False) -> Line:
    where = tr("{path}, {faces}", path=escaped(str(path)), faces=plural(faces, "{n} face", "{n} faces"))
    return Line(escaped(name), Source(name, f"{faces:,}", path, opened), where)
