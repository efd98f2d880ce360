"""Sources: the gallery that is open, those opened before, and the loaded models. A click opens or shows one."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QModelIndex, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter
from PySide6.QtWidgets import (
    QListWidget,
    QListWidgetItem,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)

from facelens.views import icons, theme
from facelens.views.controls import draw_text, plain_tip
from facelens.views.panel import Desk, Panel
from facelens.words import escaped, plural, tr

PATH, COUNT, OPEN, MODEL = (Qt.ItemDataRole.UserRole + i for i in range(4))


class _Row(QStyledItemDelegate):
    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex) -> QSize:  # type: ignore[override]
        return QSize(100, 25)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex) -> None:  # type: ignore[override]
        look, box = theme.current(), QRectF(option.rect)
        is_open = bool(index.data(OPEN))
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
            "cube" if index.data(MODEL) else "folder",
            "accent" if is_open else "text3",
        )
        draw_text(painter, box.adjusted(33, 0, -62, 0), index.data(), "text" if is_open else "text2")
        draw_text(painter, box.adjusted(0, 0, -12, 0), index.data(COUNT), "text3", 10, align="right")
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
        self.list = QListWidget()
        self.list.setItemDelegate(_Row(self.list))
        self.list.setMouseTracking(True)
        self.list.setAccessibleName(tr("Galleries and models"))
        self.list.setWhatsThis(tr("What is open and what was open before. A click opens a gallery or shows a model."))
        self.list.itemActivated.connect(self._on_open)
        self.list.itemClicked.connect(self._on_open)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 4, 0, 4)
        column.addWidget(self.list)
        self.setMinimumHeight(70)

    def sizeHint(self) -> QSize:
        return QSize(232, 120)

    def refresh(self, changed: frozenset[str]) -> None:
        self.list.clear()
        opened = self.desk.workspace.source
        rows = [(opened.path, opened.name, opened.faces)] if opened else []
        rows += [
            (Path(r.path), r.name, r.faces)
            for r in self.desk.settings.recent
            if opened is None or Path(r.path) != opened.path
        ]
        for path, name, faces in rows[:12]:
            item = QListWidgetItem(escaped(name))
            item.setData(PATH, str(path))
            item.setData(COUNT, f"{faces:,}")
            item.setData(OPEN, opened is not None and path == opened.path)
            where = tr("{path}, {faces}", path=escaped(str(path)), faces=plural(faces, "{n} face", "{n} faces"))
            item.setToolTip(plain_tip(where))
            self.list.addItem(item)
        workspace = self.desk.workspace
        models = workspace.model_names
        at = 1 if opened else 0  # the models in use stand right under the open gallery, earlier galleries after them
        for place, name in enumerate(models):
            found, features = workspace.inspection(name), workspace.features.get(name)
            dims = features.dimensions if features is not None else found.card.dimensions if found is not None else 0
            item = QListWidgetItem(name)
            item.setData(MODEL, name)
            item.setData(COUNT, tr("{n}-d", n=dims))
            done, total = workspace.embedded(name)
            state = tr("{n} of {total} faces embedded", n=done, total=total) if total else tr("no gallery is open")
            item.setToolTip(plain_tip("\n".join((name, found.title if found else tr("imported vectors"), state))))
            self.list.insertItem(at + place, item)

    def _on_open(self, item: QListWidgetItem) -> None:
        if item.data(MODEL):
            self.desk.store.update(model=item.data(MODEL), initiator=self)
            self.desk.act("model.show")
            return
        path = Path(item.data(PATH))
        opened = self.desk.workspace.source
        if opened is None or path != opened.path:
            self.desk.open_path(path)
