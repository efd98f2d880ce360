"""Cells in rows, a column for each part: heads, value card, keyboard and words for screen readers.

A click or Enter chooses a cell, a click on the head of a column its part. Arrows, Home and End move, Esc lets go.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QAccessible,
    QAccessibleAnnouncementEvent,
    QBrush,
    QFocusEvent,
    QKeyEvent,
    QLinearGradient,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
)
from PySide6.QtWidgets import QAbstractScrollArea, QWidget

from facelens.views import theme
from facelens.views.controls import by_keyboard, draw_text, text_width
from facelens.views.grid import band_mode
from facelens.words import tr

HEAD, EDGE = 22, 8  # px of the columns' heads, and right of the cells
Place = tuple[int, int]  # row, part; row -1 is the head of a column
ENTER = (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space)


class CellGrid(QAbstractScrollArea):
    """Subclasses say what a cell is (`paint_cell`) and what is told of it (`lines`)."""

    chosen = Signal(int, int, object)  # row, part, Mode of the keys that were held

    side = 30  # px left of the cells
    lowest, highest, widest = 22.0, 30.0, 72.0  # px of a row, and of a column

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.rows = self.columns = 0
        self.part = -1
        self.note = ""  # why there are no cells
        self._under: Place | None = None  # where the pointer or the keyboard is
        self._by_key = False
        self.setAccessibleName(name)
        self.setWhatsThis(tr("The pointer makes a cell say more. Arrows walk the cells, Enter or a click chooses one."))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setMinimumSize(160, 80)
        self.viewport().setMouseTracking(True)

    def paint_cell(self, painter: QPainter, box: QRectF, row: int, part: int) -> None:
        """One cell."""
        raise NotImplementedError

    def lines(self, row: int, part: int) -> Sequence[str]:
        """What is told of a cell, the first line is its title."""
        raise NotImplementedError

    def paint_hover(self, painter: QPainter, box: QRectF) -> None:
        """The cell under the pointer or the keyboard."""
        painter.setPen(QPen(theme.current().q("text"), 1.6))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRect(box.adjusted(0, 0, -1, -1))

    def paint_side(self, painter: QPainter, box: QRectF, row: int) -> None:
        """What stands left of a row."""

    def paint_over(self, painter: QPainter) -> None:
        """What lies over the cells: by default the frame of the current part."""
        if 0 <= self.part < self.columns and self.rows:
            top, foot = self.box(0, self.part), self.box(self.rows - 1, self.part)
            frame(painter, top.united(foot).adjusted(-0.5, -0.5, 0.5, 0.5))

    def words(self) -> str:
        """What a screen reader says of the whole."""
        return self.note

    # What is shown

    def set_shape(self, rows: int, columns: int, note: str = "") -> None:
        """Other cells; `note` says why there are none."""
        if (rows, columns) != (self.rows, self.columns):
            self._under = None
        self.rows, self.columns, self.note = rows, columns, note
        self._roll()
        self._speak()
        self.viewport().update()

    def set_part(self, part: int) -> None:
        """Another part is the current one."""
        if part != self.part:
            self.part = part
            self.viewport().update()

    def sizeHint(self) -> QSize:
        return QSize(480, 200)

    # Where things are

    @property
    def pitch(self) -> float:
        """From one column to the next."""
        return min(self.widest, (self.viewport().width() - self.side - EDGE) / max(self.columns, 1))

    @property
    def line(self) -> float:
        """From one row to the next."""
        room = (self.viewport().height() - HEAD - 2) / max(self.rows, 1)
        return min(max(room, self.lowest), self.highest)

    def box(self, row: int, part: int) -> QRectF:
        """The place of a cell, with the gap beside it."""
        x = self.side + part * self.pitch
        if row < 0:
            return QRectF(x, 0, self.pitch, HEAD - 2)
        return QRectF(x, HEAD + row * self.line - self.verticalScrollBar().value(), self.pitch, self.line)

    def at(self, point: QPointF) -> Place | None:
        """What is under a point."""
        part = int((point.x() - self.side) // max(self.pitch, 1e-6))
        if not 0 <= part < self.columns or not self.rows:
            return None
        if point.y() < HEAD:
            return (-1, part)
        row = int((point.y() - HEAD + self.verticalScrollBar().value()) // self.line)
        return (row, part) if row < self.rows else None

    def _roll(self) -> None:
        """The scroll bar has as far to go as there are rows out of sight."""
        room = self.viewport().height() - HEAD - 2
        bar = self.verticalScrollBar()
        bar.setRange(0, max(0, round(self.rows * self.line - room)))
        bar.setPageStep(max(1, room))
        bar.setSingleStep(round(self.line))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._roll()

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        self.viewport().update()

    # Painting

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self.viewport())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        area = QRectF(self.viewport().rect())
        painter.fillRect(area, theme.current().q("base"))
        if not self.rows or not self.columns:
            note(painter, area, self.note)
        else:
            painter.setClipRect(area.adjusted(0, HEAD - 1, 0, 0))
            first = int(self.verticalScrollBar().value() // self.line)
            last = min(self.rows, first + int(area.height() // self.line) + 2)
            self.paint_rows(painter, first, last)
            self.paint_over(painter)
            painter.setClipping(False)
            self._paint_heads(painter)
            if self._under is not None:
                self._paint_under(painter, area)
        if self.hasFocus() and self._by_key:
            painter.setPen(QPen(theme.current().q("accent"), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(area.adjusted(1, 1, -1, -1), 4, 4)

    def paint_rows(self, painter: QPainter, first: int, last: int) -> None:
        """The rows from one to before another."""
        for row in range(first, last):
            top = self.box(row, 0)
            self.paint_side(painter, QRectF(0, top.top(), self.side, top.height()), row)
            for part in range(self.columns):
                self.paint_cell(painter, self.box(row, part), row, part)

    def _paint_heads(self, painter: QPainter) -> None:
        """Numbers of the parts, as many as there is room for; the current one always."""
        every = -(-(text_width(str(self.columns), 10) + 4) // max(self.pitch, 1))
        for part in range(self.columns):
            box = self.box(-1, part)
            if part == self.part:
                wide = max(box.width() - 2, text_width(str(part + 1), 11, True) + 8)
                plate = QRectF(box.center().x() - wide / 2, 2, wide, HEAD - 6)
                painter.setPen(QPen(theme.current().q("accent"), 1))
                painter.setBrush(theme.current().q("soft"))
                painter.drawRoundedRect(plate, 3, 3)
                draw_text(painter, plate, str(part + 1), "text", 11, bold=True, align="centre")
            elif part % every == 0 and abs(part - self.part) * self.pitch > self.pitch * (every - 0.5):
                wide = max(box.width(), text_width(str(part + 1), 10) + 2)
                at = QRectF(box.center().x() - wide / 2, 0, wide, HEAD - 2)
                draw_text(painter, at, str(part + 1), "text2", 10, align="centre")

    def _paint_under(self, painter: QPainter, area: QRectF) -> None:
        assert self._under is not None
        row, part = self._under
        box = self.box(row, part)
        if row >= 0:
            self.paint_hover(painter, box)
            value_card(painter, box, self.lines(row, part), area)

    # Hands

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._go(self.at(event.position()), by_key=False)

    def leaveEvent(self, event: QEvent) -> None:
        self._go(None, by_key=False)
        super().leaveEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        found = self.at(event.position())
        if event.button() == Qt.MouseButton.LeftButton and found is not None:
            self.chosen.emit(*found, band_mode(event.modifiers()))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = Qt.Key(event.key())
        across = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1, Qt.Key.Key_Home: -64, Qt.Key.Key_End: 64}.get(key, 0)
        down = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1}.get(key, 0)
        if (across or down) and self.rows:
            row, part = self._under or (0, max(self.part, 0))
            if self._under is not None:
                row, part = max(row, 0) + down, part + across
            self._go((min(max(row, 0), self.rows - 1), min(max(part, 0), self.columns - 1)), by_key=True)
        elif key in ENTER and self._under is not None:
            self.chosen.emit(*self._under, band_mode(event.modifiers()))
        elif key == Qt.Key.Key_Escape and self._under is not None:
            self._go(None, by_key=True)
        else:
            super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        self._by_key = by_keyboard(event)
        super().focusInEvent(event)
        self.viewport().update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self._go(None, by_key=False)
        self.viewport().update()

    def _go(self, place: Place | None, *, by_key: bool) -> None:
        shape = Qt.CursorShape.ArrowCursor if place is None else Qt.CursorShape.PointingHandCursor
        self.viewport().setCursor(shape)
        if place == self._under:
            return
        self._under = place
        if by_key:
            self._by_key = True
            if place is not None:
                self._show(place[0])
            self._speak(aloud=True)
        self.viewport().update()

    def _show(self, row: int) -> None:
        """Scroll a row into sight."""
        box, bar = self.box(row, 0), self.verticalScrollBar()
        beyond = box.bottom() - self.viewport().height()
        bar.setValue(bar.value() + round(min(0, box.top() - HEAD) + max(0, beyond)))

    def _speak(self, *, aloud: bool = False) -> None:
        known = self._under is not None and self._under[0] >= 0
        text = ". ".join(self.lines(*self._under)) if known and self._under is not None else self.words()
        self.setAccessibleDescription(text)
        if aloud and QAccessible.isActive():
            QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, text))


class ColourKey(QWidget):
    """What the colours of cells mean: both ends in words, and what a `hollow` one is."""

    BAR = 62  # px

    def __init__(self, *, hollow: str = "") -> None:
        super().__init__()
        self._low = self._high = ""
        self._hollow, self._short = hollow, False
        self._colour: Callable[[float], str] = lambda share: theme.current().base

    def show_colours(self, low: str, high: str, colour: Callable[[float], str], *, tip: str) -> None:
        """Other limits; `colour` is that of a share of the way from `low` to `high`."""
        self._low, self._high, self._colour = low, high, colour
        self.setToolTip(tip)
        self.setAccessibleName(tr("Colours from {low} to {high}", low=low, high=high))
        self.setFixedSize(self.sizeHint())
        self.update()

    def sizeHint(self) -> QSize:
        wide = text_width(self._low, 10) + text_width(self._high, 10) + self.BAR + 14
        return QSize(round(wide + (text_width(self._hollow, 10) + 32 if self._hollow and not self._short else 0)), 20)

    def shorten(self, short: bool) -> None:
        """Leave the hollow cells to the tooltip, where there is little room."""
        if short != self._short:
            self._short = short
            self.setFixedSize(self.sizeHint())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, now = QPainter(self), theme.current()
        left = text_width(self._low, 10)
        draw_text(painter, QRectF(0, 0, left + 2, 20), self._low, "text2", 10)
        bar = QRectF(left + 6, 6, self.BAR, 9)
        fade = QLinearGradient(bar.topLeft(), bar.topRight())
        for step in range(9):
            fade.setColorAt(step / 8, now.q(self._colour(step / 8)))
        painter.fillRect(bar, fade)
        draw_text(painter, QRectF(bar.right() + 6, 0, self.width(), 20), self._high, "text2", 10)
        if self._hollow and not self._short:
            x = bar.right() + text_width(self._high, 10) + 20
            painter.setPen(QPen(now.q("line2"), 1))
            painter.drawRect(QRectF(x + 0.5, 6.5, 9, 8))
            draw_text(painter, QRectF(x + 15, 0, self.width(), 20), self._hollow, "text2", 10)


# Painted bits that the pages share


def frame(painter: QPainter, box: QRectF) -> None:
    """What the user chose."""
    painter.setPen(QPen(theme.current().q("accent"), 1.6))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.drawRoundedRect(box, 3, 3)


def hatch(painter: QPainter, box: QRectF) -> None:
    """No value; the card has the reason."""
    painter.fillRect(box, QBrush(theme.current().q("text3", 0.45), Qt.BrushStyle.BDiagPattern))


def note(painter: QPainter, area: QRectF, text: str) -> None:
    """Why nothing is drawn."""
    painter.setFont(theme.font(11))
    painter.setPen(theme.current().q("text3"))
    flags = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
    painter.drawText(area.adjusted(24, 8, -24, -8), int(flags), text)


def value_card(painter: QPainter, target: QRectF, lines: Sequence[str], area: QRectF) -> None:
    """A few lines over a mark, under it where there is no room, never outside `area`."""
    now = theme.current()
    lines = [line for line in lines if line]
    wide = max(text_width(line, 10, i == 0) for i, line in enumerate(lines)) + 17
    high = 15.0 * len(lines) + 9
    x = min(max(target.center().x() - wide / 2, area.left() + 3), area.right() - wide - 3)
    y = target.top() - 6 - high
    if y < area.top() + 2:
        y = target.bottom() + 6
    if y + high > area.bottom() - 2:  # neither fits: beside the mark
        y = area.bottom() - 2 - high
        left = target.left() - wide - 6
        x = left if left > area.left() else min(target.right() + 6, area.right() - wide - 3)
    card = QRectF(x, y, wide, high)
    painter.setPen(QPen(now.q("line2"), 1))
    painter.setBrush(now.q("raised"))
    painter.drawRoundedRect(card, 6, 6)
    for i, line in enumerate(lines):
        at = QRectF(card.left() + 8, card.top() + 5 + 15 * i, wide - 15, 15)
        draw_text(painter, at, line, "text" if i == 0 else "text2", 10, bold=i == 0)
