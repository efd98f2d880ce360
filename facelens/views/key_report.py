"""The key report: which tensors of a file found their place in the network, and which did not; lists folded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QModelIndex, QRectF, QSize, Qt
from PySide6.QtGui import QKeyEvent, QPainter
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem, QVBoxLayout, QWidget

from facelens.views import icons, theme
from facelens.views.controls import draw_text, label
from facelens.views.lines import Line, Lines
from facelens.words import escaped, plural, tr

if TYPE_CHECKING:
    from facelens.features.library import Inspection

MOST = 5_000  # names in one list; nobody reads more
ROW = 24


@dataclass(frozen=True)
class Way:
    """One way a key can miss, with the keys that do."""

    title: str
    names: tuple[str, ...]


class _Row(QStyledItemDelegate):
    """A heading with its count, which unfolds, or a name under it."""

    def __init__(self, parent: _Keys) -> None:
        super().__init__(parent)
        self._list = parent

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex) -> QSize:  # type: ignore[override]
        return QSize(100, ROW)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex) -> None:  # type: ignore[override]
        line, look, box = self._list.lines[index.row()], theme.current(), QRectF(option.rect)
        way: Way | None = line.of
        chosen = bool(option.state & QStyle.StateFlag.State_Selected)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if chosen or (line.able and option.state & QStyle.StateFlag.State_MouseOver):
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(look.q("soft" if chosen else "hover"))
            painter.drawRoundedRect(box.adjusted(4, 1, -4, -1), 4, 4)
        if way is None:
            draw_text(painter, box.adjusted(33, 0, -12, 0), line.text, "text" if chosen else "text2", 11, middle=True)
        else:
            if line.able:
                icon = "chevron-down" if way in self._list.unfolded else "chevron-right"
                icons.paint(painter, QRectF(box.x() + 10, box.y() + 5, 14, 14), icon, "text2")
            draw_text(painter, box.adjusted(33, 0, -70, 0), line.text, "text" if line.able else "text3", 12)
            draw_text(painter, box.adjusted(0, 0, -12, 0), f"{len(way.names):,}", "text3", align="right")
        painter.restore()


class _Keys(Lines):
    """Headings that a click, Enter, Left and Right fold and unfold."""

    def __init__(self) -> None:
        super().__init__()
        self.ways: tuple[Way, ...] = ()
        self.unfolded: set[Way] = set()
        self.setItemDelegate(_Row(self))
        self.setUniformItemSizes(True)
        self.touched.connect(self._on_fold)

    def show_ways(self, ways: tuple[Way, ...]) -> None:
        """Other keys, all folded."""
        self.ways, self.unfolded = ways, set()
        self._list()

    def _list(self, *, row: int = -1) -> None:
        lines = []
        for way in self.ways:
            n = plural(len(way.names), "{n} name", "{n} names")
            state = tr("unfolded") if way in self.unfolded else tr("folded")
            spoken = f"{way.title}, {n}" + (f", {state}" if way.names else "")
            lines.append(Line(way.title, way, spoken=spoken, able=bool(way.names)))
            if way in self.unfolded:
                lines += [Line(escaped(name), tip=escaped(name)) for name in way.names[:MOST]]
                if (more := len(way.names) - MOST) > 0:
                    lines.append(Line(tr("and {n} more", n=more)))
        self.fill(lines, row=row)

    def _on_fold(self, row: int) -> None:
        way: Way | None = self.lines[row].of
        if way is not None:
            self.unfolded ^= {way}
            self._list(row=row)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        keys, way = Qt.Key, self.line.of if self.line is not None else None
        folds = {keys.Key_Return, keys.Key_Enter, keys.Key_Space}
        if way is not None:
            folds.add(keys.Key_Left if way in self.unfolded else keys.Key_Right)
        if way is not None and event.key() in folds:
            self._on_fold(self.row)
        else:
            super().keyPressEvent(event)


class KeyReport(QWidget):
    """A sentence and one folded list for each way a key can miss."""

    def __init__(self) -> None:
        super().__init__()
        self.sentence = label(name="small", wrap=True)
        self.keys = _Keys()
        self.keys.setAccessibleName(tr("Key report"))
        self.keys.setWhatsThis(tr("Which weights of the file belong where in the architecture, and what is left over."))
        self.keys.setMinimumHeight(150)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        column.addWidget(self.sentence)
        column.addWidget(self.keys, 1)

    def set_inspection(self, found: Inspection) -> None:
        """Show how the names fit."""
        keys = found.keys
        if found.kind != "weights":
            self.sentence.setText(tr("The file brings its own network, so there are no keys to match."))
            self.keys.show_ways(())
            self.keys.hide()
            return
        parts = [tr("{n} of {total} tensors of the network found their numbers.", n=keys.matched, total=keys.wanted)]
        if keys.prefix:
            parts.append(tr("The names in the file begin with “{prefix}”.", prefix=escaped(keys.prefix)))
        self.sentence.setText(" ".join(parts))
        self.keys.show_ways(
            (
                Way(tr("missing in the file"), tuple(keys.missing)),
                Way(tr("unexpected: the network has no place for them"), tuple(keys.unexpected)),
                Way(tr("of another shape"), tuple(keys.misshaped)),
                Way(tr("not used: classifier heads, optimizer state and the like"), tuple(keys.ignored)),
            )
        )
        self.keys.show()
