"""Tables of results: a cell knows what it says, how it is coloured and why it is empty; a click asks what is behind it.

A cell without a value is hatched and says why; it may reach over the cells to its right. The row of the current
operating point is bold and tinted, the clicked cell framed. Where there is little room words take two lines, an
interval the line under its value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from PySide6.QtCore import (
    QAbstractTableModel,
    QItemSelectionModel,
    QModelIndex,
    QPersistentModelIndex,
    QPoint,
    QRectF,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QBrush, QKeyEvent, QPainter, QPen, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QWidget,
)

from facelens.analyses.measure import Measure
from facelens.views import theme
from facelens.views.controls import draw_text, plain_tip, text_width
from facelens.words import number, tr

ROW, TALL = 29, 38  # px; rows of one line and of two
HEAD, TALL_HEAD = 27, 40
MEASURED = 40  # rows that say how wide the columns are
SPANS = 200  # rows that may hold a reason over several cells; longer tables have none
PADDING = 8  # as in the headings, see the style sheet
LEAST = 90  # px that a column of names keeps where there is little room
MOST = 260  # px of a column of a file that is shown as it is
ROLE = Qt.ItemDataRole
Index = QModelIndex | QPersistentModelIndex


@dataclass(frozen=True)
class Column:
    """A heading with what it means; `share` divides the width that is left over, `spare` ones go where none is."""

    title: str
    tip: str = ""
    align: str = "right"
    share: float = 1.0
    spare: bool = False


@dataclass(frozen=True)
class Cell:
    """What one cell says; `why` marks it as hatched (no value, and `text` is the reason) over `span` columns."""

    text: str = ""
    colour: str = "text"
    bold: bool = False
    why: bool = False
    span: int = 1
    tip: str = ""
    taps: bool = False  # a click lists what is behind it


def measure_cell(measure: Measure, *, decimals: int = 4, taps: bool = False) -> Cell:
    """A value with its interval, or why there is none."""
    if not measure.defined or measure.value is None:
        return Cell(measure.text(), why=True, tip=measure.text())
    shown = number(measure.value, decimals)
    if measure.low is not None and measure.high is not None:
        shown += f" [{number(measure.low, decimals - 1)}, {number(measure.high, decimals - 1)}]"
        return Cell(shown, taps=taps, tip=tr("N = {n}", n=measure.n) if measure.n else "")
    return Cell(shown, taps=taps, tip=tr("No interval: too few people, or none was asked for."))


def difference_cell(measure: Measure | None, *, taps: bool = False, lower: bool = False, coming: bool = False) -> Cell:
    """B minus A: always signed, coloured only where the interval excludes 0; `lower` is better where that is so.

    `coming`: it is still being worked out, so that there is none yet means nothing.
    """
    if measure is None and coming:
        return Cell(tr("to come"), colour="text3", tip=tr("Worked out when both models are done."))
    if measure is None:
        return Cell(tr("not paired"), why=True, tip=tr("The two models could not be compared case by case."))
    if not measure.defined:
        return measure_cell(measure)
    outside = measure.low is not None and measure.high is not None and (measure.low > 0 or measure.high < 0)
    colour = "text" if not outside else "good" if ((measure.value or 0) > 0) is not lower else "bad"
    return Cell(measure.text(4, sign=True), colour=colour, taps=taps)


def reason_row(why: str, columns: int) -> list[Cell]:
    """A row that only says why there are no others."""
    return [Cell(why, why=True, span=columns), *(Cell() for _ in range(columns - 1))]


@lru_cache(maxsize=8192)
def two_lines(text: str) -> tuple[str, str]:
    """Words over two lines, an interval under its value, a file under whom it shows.

    >>> two_lines("0.9643 [0.952, 0.971]"), two_lines("Ada Byron · 0001.jpg")
    (('0.9643', '[0.952, 0.971]'), ('Ada Byron', '0001.jpg'))
    >>> two_lines("false non-matches"), two_lines("AUC")
    (('false', 'non-matches'), ('AUC', ''))
    """
    for between, kept in ((" [", "["), (" · ", "")):
        first, found, second = text.partition(between)
        if found:
            return first, kept + second
    spaces = [i for i, letter in enumerate(text) if letter == " "]
    at = min(spaces, key=lambda i: max(i, len(text) - i), default=len(text))
    return text[:at], text[at + 1 :]


def _second(line: str, px: int) -> int:
    """Type of a second line: intervals are smaller than what they belong to."""
    return 10 if line.startswith("[") else px


def _width(text: str, px: int, *, tall: bool, bold: bool = False) -> float:
    if not tall:
        return text_width(text, px, bold)
    first, second = two_lines(text)
    return max(text_width(first, px, bold), text_width(second, _second(second, px), bold))


class _Model(QAbstractTableModel):
    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.columns: tuple[Column, ...] = ()
        self.rows: Sequence[Sequence[Cell]] = ()
        self.first: Sequence[Sequence[Cell]] = ()  # those that are measured; rows may be made when they are asked for
        self.tall = False

    def fill(self, columns: tuple[Column, ...], rows: Sequence[Sequence[Cell]]) -> None:
        self.beginResetModel()
        self.columns, self.rows, self.first = columns, rows, rows[:MEASURED]
        self.endResetModel()

    def changes_only(self, columns: tuple[Column, ...], rows: Sequence[Sequence[Cell]]) -> bool:
        """Change the words of some cells where that is all there is to change; False where it is not.

        A line that is dragged changes one row of a table many times a second.
        """
        old = self.rows
        if columns != self.columns or not (isinstance(rows, list) and isinstance(old, list) and len(rows) == len(old)):
            return False
        changed = [i for i, (new, was) in enumerate(zip(rows, old)) if new != was]
        if any([cell.span for cell in rows[i]] != [cell.span for cell in old[i]] for i in changed):
            return False
        self.rows, self.first = rows, rows[:MEASURED]
        for i in changed:
            self.dataChanged.emit(self.index(i, 0), self.index(i, len(columns) - 1))
        return True

    def cell(self, index: Index) -> Cell:
        row = self.rows[index.row()]
        return row[index.column()] if index.column() < len(row) else Cell()

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008  Qt's own signature
        return 0 if parent.isValid() else len(self.rows)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self.columns)

    def data(self, index: Index, role: int = ROLE.DisplayRole) -> Any:
        cell = self.cell(index)
        if role == ROLE.DisplayRole:
            return cell.text
        if role == ROLE.ToolTipRole:
            return plain_tip(cell.tip or (cell.text if cell.why else "")) or None
        if role == ROLE.AccessibleTextRole:
            return f"{self.columns[index.column()].title}: {cell.text}"
        return None

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = ROLE.DisplayRole) -> Any:
        if orientation is not Qt.Orientation.Horizontal or section >= len(self.columns):
            return None
        column = self.columns[section]
        if role == ROLE.DisplayRole:
            return "\n".join(two_lines(column.title)) if self.tall else column.title
        if role == ROLE.ToolTipRole:
            return plain_tip(column.tip) or None
        if role == ROLE.TextAlignmentRole:
            side = Qt.AlignmentFlag.AlignRight if column.align == "right" else Qt.AlignmentFlag.AlignLeft
            return int(side | Qt.AlignmentFlag.AlignVCenter)
        return None


class _Cells(QStyledItemDelegate):
    def __init__(self, table: ResultTable) -> None:
        super().__init__(table)
        self.table = table

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(40, TALL if self.table.tall else ROW)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        model = self.table.model_
        cell, column = model.cell(index), model.columns[index.column()]
        look, box = theme.current(), QRectF(option.rect)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        marked = index.row() == self.table.marked
        if marked and index.column() > 0:
            painter.fillRect(box, look.q(theme.mix(look.base, look.soft, 0.45)))
        if cell.why:
            painter.fillRect(box, QBrush(look.q("text3", 0.45), Qt.BrushStyle.BDiagPattern))
        here = self.table.currentIndex()
        framed = here.row() == index.row() and here.column() == index.column() and self.table.framed
        if framed:
            painter.setPen(QPen(look.q("accent"), 2))
            painter.setBrush(look.q("soft"))
            painter.drawRoundedRect(box.adjusted(1, 1, -1, -1), 2, 2)
        elif index == self.table.hovered and cell.taps:
            painter.fillRect(box, look.q("hover"))
        inner = box.adjusted(PADDING, 0, -PADDING, 0)
        bold = cell.bold or (marked and index.column() == 0)
        align = "left" if cell.why else column.align
        if cell.why:  # on its own ground, so that it can be read over the hatch
            split = self.table.tall and text_width(cell.text, 11) > inner.width()
            lines = [line for line in (two_lines(cell.text) if split else (cell.text,)) if line]
            wide = min(inner.width(), max(text_width(line, 11) for line in lines) + 8)
            left, top = inner.x() - 4, inner.center().y() - 7.5 * len(lines)
            painter.fillRect(QRectF(left, box.y() + 5, wide, box.height() - 10), look.q(look.base, 0.85))
            for i, line in enumerate(lines):
                draw_text(painter, QRectF(inner.x(), top + 15 * i, inner.width(), 15), line, "text2", 11)
        elif self.table.tall and self._breaks(cell.text, inner.width(), bold=bold):
            middle, px = inner.center().y(), self.table.px
            first, second = two_lines(cell.text)
            for line, top, size in ((first, middle - 15, px), (second, middle, _second(second, px))):
                at = QRectF(inner.x(), top, inner.width(), 15)
                draw_text(painter, at, line, cell.colour, size, bold=bold, align=align)
        else:
            draw_text(painter, inner, cell.text, cell.colour, self.table.px, bold=bold, align=align)
        painter.restore()

    def _breaks(self, text: str, room: float, *, bold: bool) -> bool:
        return text_width(text, self.table.px, bold) > room and bool(two_lines(text)[1])


class ResultTable(QTableView):
    """A table to read and to click; arrows move, Enter and a click tap a cell."""

    tapped = Signal(int, int)  # row, column

    def __init__(self, name: str, *, large: bool = False, raw: bool = False) -> None:
        """`raw` shows rows of a file as they are: a line each, and it scrolls rather than cut what they say."""
        super().__init__()
        self.large, self.raw = large, raw
        self.px = 12 if large else 11
        self.tall = False  # whether words take two lines
        self.marked = -1  # the row of the current operating point
        self.framed = False  # whether the current cell is the one that was tapped
        self.hovered = QModelIndex()
        self.model_ = _Model(self)
        self.setModel(self.model_)
        self.setItemDelegate(_Cells(self))
        self.setAccessibleName(name)
        self.setWhatsThis(tr("Arrows walk the table; Enter or a click on a number lists what is behind it."))
        self.setShowGrid(False)
        self.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setTabKeyNavigation(False)
        self.setMouseTracking(True)
        self.verticalHeader().hide()
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.verticalHeader().setDefaultSectionSize(ROW)
        head = self.horizontalHeader()
        head.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        head.setFixedHeight(HEAD)
        head.setHighlightSections(False)
        head.setSectionsClickable(False)
        self.clicked.connect(self._on_clicked)
        self.entered.connect(self._on_entered)

    def fill(self, columns: Sequence[Column], rows: Sequence[Sequence[Cell]]) -> None:
        """Show other results; the current cell stays where it is, if it is still there."""
        columns = tuple(columns)
        if not self.model_.changes_only(columns, rows):
            self._reset(columns, rows)
            self._divide()
        elif any(
            need > self.columnWidth(j) + 1 and not self.isColumnHidden(j)
            for j, need in enumerate(self._needs(self.px, tall=self.tall))
        ):
            self._divide()  # columns stand still as long as the words fit

    def _reset(self, columns: tuple[Column, ...], rows: Sequence[Sequence[Cell]]) -> None:
        here = self.currentIndex()
        place = (here.row(), here.column()) if here.isValid() else (-1, -1)
        framed = self.framed
        self.clearSpans()
        self.model_.fill(columns, rows)
        for i, row in enumerate(rows if len(rows) <= SPANS else ()):
            for j, cell in enumerate(row):
                if cell.span > 1:
                    self.setSpan(i, j, 1, cell.span)
        if 0 <= place[0] < len(rows) and place[1] < len(columns):
            self.setCurrentIndex(self.model_.index(*place))
            self.framed = framed

    def mark(self, row: int) -> None:
        """Tint the row of the current operating point; -1 for none."""
        if row != self.marked:
            self.marked = row
            self.viewport().update()

    def unframe(self) -> None:
        """The list no longer shows what was tapped here."""
        self.framed = False
        self.viewport().update()

    def part_at(self, point: QPoint | None) -> str:
        """What the row at a point is called, or the one with the cursor."""
        inside = self.viewport().mapFrom(self, point) if point is not None else None
        index = self.indexAt(inside) if inside is not None else self.currentIndex()
        return self.cell(index.row(), 0).text if index.isValid() else ""

    def cell(self, row: int, column: int) -> Cell:
        """One cell."""
        return self.model_.cell(self.model_.index(row, column))

    def text(self, row: int, column: int) -> str:
        """What a cell says."""
        return self.cell(row, column).text

    def tap(self, row: int, column: int) -> None:
        """As if the cell was clicked."""
        index = self.model_.index(row, column)
        self.selectionModel().setCurrentIndex(index, QItemSelectionModel.SelectionFlag.NoUpdate)
        self._on_clicked(index)

    def _on_clicked(self, index: QModelIndex) -> None:
        self.framed = self.model_.cell(index).taps
        self.viewport().update()
        self.tapped.emit(index.row(), index.column())

    def _on_entered(self, index: QModelIndex) -> None:
        self.hovered = index
        taps = self.model_.cell(index).taps
        self.viewport().setCursor(Qt.CursorShape.PointingHandCursor if taps else Qt.CursorShape.ArrowCursor)
        self.viewport().update()

    def leaveEvent(self, event: Any) -> None:
        self.hovered = QModelIndex()
        self.viewport().update()
        super().leaveEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space) and self.currentIndex().isValid():
            self._on_clicked(self.currentIndex())
            return
        super().keyPressEvent(event)

    def focusInEvent(self, event: Any) -> None:
        if not self.currentIndex().isValid() and self.model_.rows:
            self.setCurrentIndex(self.model_.index(0, 0))
        super().focusInEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._divide()

    def _divide(self) -> None:
        """Every column as wide as its words, then what is left over by share.

        Where there is too little room, first the type gets smaller, then words take two lines, then spare columns go,
        then words of columns that are read from the left are cut; only then the table scrolls.
        """
        columns, room = self.model_.columns, self.viewport().width()
        if not columns:
            return
        if self.raw:
            needs = [min(need, MOST) for need in self._needs(self.px, tall=False)]
            for j, need in enumerate(needs):
                self.setColumnWidth(j, round(need + max(0.0, room - sum(needs)) / len(needs)))
            return
        shown = list(range(len(columns)))
        for px, tall in ((12 if self.large else 11, False), (11, False), (11, True)):
            needs = self._needs(px, tall=tall)
            if sum(needs) <= room:
                break
        while sum(needs[j] for j in shown) > room and (spare := next((j for j in shown if columns[j].spare), None)):
            shown.remove(spare)
        self._set_form(px, tall=tall)
        needs = [needs[j] for j in shown]
        cuts = [max(0.0, need - LEAST) if columns[j].align == "left" else 0.0 for j, need in zip(shown, needs)]
        cut = min(1.0, max(0.0, sum(needs) - room) / (sum(cuts) or 1.0))
        needs = [need - cut * some for need, some in zip(needs, cuts)]
        left = max(0.0, room - sum(needs))
        more = [max(0.0, self._reasons(j, tall=tall) - need) for j, need in zip(shown, needs)]
        given = min(1.0, left / (sum(more) or 1.0))  # to reasons first: cut short, they say nothing
        needs = [need + given * some for need, some in zip(needs, more)]
        left -= given * sum(more)
        shares = sum(columns[j].share for j in shown) or 1.0
        end = 0.0
        for j in range(len(columns)):
            self.setColumnHidden(j, j not in shown)
        for j, need in zip(shown, needs):
            start, end = end, end + need + left * columns[j].share / shares
            self.setColumnWidth(j, round(end) - round(start))

    def _set_form(self, px: int, *, tall: bool) -> None:
        self.px = px
        if tall != self.tall:
            self.tall = self.model_.tall = tall
            self.verticalHeader().setDefaultSectionSize(TALL if tall else ROW)
            self.horizontalHeader().setFixedHeight(TALL_HEAD if tall else HEAD)

    def _needs(self, px: int, *, tall: bool) -> list[float]:
        columns, rows = self.model_.columns, self.model_.first
        needs = []
        for j, column in enumerate(columns):
            texts = [row[j].text for row in rows if j < len(row) and not row[j].why]
            widest = max((_width(text, px, tall=tall, bold=j == 0) for text in texts), default=0.0)
            needs.append(max(widest, _width(column.title, 11, tall=tall) + 2) + 2 * PADDING)
        return needs

    def _reasons(self, column: int, *, tall: bool) -> float:
        """How wide a column must be for the reasons in it to be read."""
        cells = [row[column] for row in self.model_.first if column < len(row)]
        wide = (_width(cell.text, 11, tall=tall) for cell in cells if cell.why and cell.span == 1)
        return max(wide, default=-2.0 * PADDING) + 2 * PADDING + 2

    def full_height(self) -> int:
        """What all rows need."""
        row, head = (TALL, TALL_HEAD) if self.tall else (ROW, HEAD)
        return head + row * len(self.model_.rows)

    def sizeHint(self) -> QSize:
        return QSize(400, HEAD + ROW * min(max(len(self.model_.rows), 3), 8))

    def minimumSizeHint(self) -> QSize:
        return QSize(120, HEAD + 2 * ROW)
