"""The selected faces, each with a map beside it: a cell for each part, bright where its value is high.

Cells are parts, not places of the face, so they never lie over it. While nothing is selected there are examples, chosen
by their values: faces of which all parts are sure, some, none.

A click on a face looks at it (Ctrl takes it out of the selection or puts it in, Alt takes it out), a double click shows
it large; a click on a cell makes that part the current one. Keys: arrows, Home, End and the page keys move, Space and
Ctrl+click do the same, Delete takes out, Enter opens, Escape clears the selection, [ and ] walk the parts.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from math import ceil

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QBrush, QColor, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen, QResizeEvent, QWheelEvent
from PySide6.QtWidgets import QScrollBar, QSizePolicy, QWidget

from facelens.analyses.parts import Floats, Layout, Spread
from facelens.figures.part_words import Words, part_name
from facelens.images.faceset import FaceSet, Ids, Rows
from facelens.session.selection import Mode
from facelens.views import heat, portrait, theme
from facelens.views.controls import draw_text, text_width
from facelens.views.grid import SCROLL_BAR, percentile
from facelens.views.hearing import keep_keys
from facelens.views.hover import Line, paint_tag
from facelens.views.painted import STEP, PaintedFaces
from facelens.views.panel import Desk
from facelens.views.part_map import PartMap
from facelens.views.part_values import PartValues
from facelens.views.shortcuts import enters, pressed
from facelens.words import plural, tr

LEAST, MOST = 40, 208  # px; sides of a face and of its map
EXAMPLE = 96  # px; the side that examples need not exceed: more of them instead
EDGE, BESIDE = 12, 6  # px; ground, from a face to its map
BETWEEN, MORE = 14, 40  # px; from a map to the next face, and what may be added where there is room
UNDER, CAPTION, APART = 4, 14, 10  # px; above the caption, the caption, to the next line
HEADING = 18  # px; over examples of a kind
TOLD = 38  # px; a cell so large tells its part and value
NARROW = 124  # px; a face and its map so narrow leave out the word before the value
MODIFIERS = Qt.KeyboardModifier


@dataclass(frozen=True)
class Plan:
    """Where faces and their maps are, by arithmetic: lines of pairs, in sections that may have a heading."""

    side: int
    columns: int
    pitch: float
    bounds: tuple[int, ...]  # first place of each section, then the count
    heading: int = 0

    @classmethod
    def fit(cls, count: int, width: int, height: int, *, least: int) -> Plan:
        """Pairs as large as lets all of them be seen at once, or small ones that scroll."""
        across = max(1, (width - 2 * EDGE + BETWEEN) // (2 * least + BESIDE + BETWEEN))
        fitting = []
        for columns in range(1, min(count, across) + 1):
            wide = ((width - 2 * EDGE + BETWEEN) / columns - BETWEEN - BESIDE) / 2
            high = (height - 2 * EDGE + APART) / ceil(count / columns) - UNDER - CAPTION - APART
            side = int(min(wide, high, MOST)) // STEP * STEP
            if side >= least:
                fitting.append((columns, side))
        if not fitting:
            width -= SCROLL_BAR
            columns = max(1, (width - 2 * EDGE + BETWEEN) // (2 * least + BESIDE + BETWEEN))
            return cls(least, columns, _pitch(width, least, columns), (0, count))
        largest = max(side for _, side in fitting)
        # Of those that are about as large, the one that fills more of the width.
        columns, side = max(each for each in fitting if each[1] >= 0.9 * largest)
        return cls(side, columns, _pitch(width, side, columns), (0, count))

    @classmethod
    def sections(cls, count: int, width: int, height: int, *, least: int) -> Plan:
        """So many sections, all with as many pairs as there is room for."""
        room = (height - 2 * EDGE + APART) / max(count, 1) - HEADING
        over = UNDER + CAPTION + APART
        lines = max(1, int(room // (EXAMPLE + over)))
        side = max(least, min(EXAMPLE, int(room / lines - over), (width - 2 * EDGE - BESIDE) // 2) // STEP * STEP)
        columns = max(1, (width - 2 * EDGE + BETWEEN) // (2 * side + BESIDE + BETWEEN))
        bounds = tuple(range(0, count * columns * lines + 1, columns * lines))
        return cls(side, columns, _pitch(width, side, columns), bounds, HEADING)

    def holding(self, counts: Sequence[int]) -> Plan:
        """The same room with fewer faces in its sections."""
        bounds = tuple(int(n) for n in np.cumsum([0, *counts]))
        return Plan(self.side, self.columns, self.pitch, bounds, self.heading)

    @property
    def wide(self) -> int:
        """A face and its map."""
        return 2 * self.side + BESIDE

    @property
    def line(self) -> int:
        return self.side + UNDER + CAPTION + APART

    @cached_property
    def tops(self) -> tuple[int, ...]:
        """Upper edges of the sections, their headings included; then the lower edge of the last."""
        lines = [ceil((after - first) / self.columns) for first, after in pairwise(self.bounds)]
        return tuple(accumulate((self.heading + n * self.line for n in lines), initial=EDGE))

    @property
    def height(self) -> int:
        return self.tops[-1] - APART + EDGE

    def corner(self, place: int) -> tuple[int, int]:
        """The upper left corner of a face."""
        section = bisect_right(self.bounds, place, hi=len(self.bounds) - 1) - 1
        line, column = divmod(place - self.bounds[section], self.columns)
        return EDGE + round(column * self.pitch), self.tops[section] + self.heading + line * self.line

    def at(self, x: float, y: float) -> int | None:
        """The place whose face, map or caption covers a point."""
        column = int((x - EDGE) // self.pitch)
        if not 0 <= column < self.columns or not 0 <= x - EDGE - round(column * self.pitch) < self.wide:
            return None
        for top, (first, after) in zip(self.tops, pairwise(self.bounds)):
            line, under = divmod(y - top - self.heading, self.line)
            place = first + int(line) * self.columns + column
            if line >= 0 and under < self.line - APART and place < after:
                return place
        return None

    def visible(self, top: float, bottom: float) -> Iterator[int]:
        """Places that reach between two heights."""
        for upper, (first, after) in zip(self.tops, pairwise(self.bounds)):
            start = upper + self.heading
            low = first + max(0, int((top - start) // self.line)) * self.columns
            high = first + max(0, ceil((bottom - start) / self.line)) * self.columns
            yield from range(low, min(high, after))


class PartFaces(PaintedFaces):
    """See the module's words. One scale of colours holds for all faces."""

    part_chosen = Signal(int)
    subtitled = Signal()  # the subtitle is another one

    def __init__(self, desk: Desk, parent: QWidget | None = None) -> None:
        super().__init__(desk, parent)
        keep_keys(self, self._wants)
        self._shown: PartValues | None = None
        self._message = self._subtitle = ""
        self._part = 0
        self._rows: Rows = np.zeros(0, np.int64)  # of the values, in the order they are seen
        self._selected: Ids = np.zeros(0, np.int64)
        self._plan = Plan.fit(0, self.width(), self.height(), least=LEAST)
        self._map = PartMap.make(1)
        self._cell: tuple[int, int] | None = None  # place and part under the pointer
        self._looked: int | None = None  # the current face that was brought into sight
        self._bar = QScrollBar(Qt.Orientation.Vertical, self)
        self._bar.setAccessibleName(tr("Scroll the selected faces"))
        self._bar.valueChanged.connect(self._on_scrolled)
        self._bar.hide()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAccessibleName(tr("Selected faces"))
        self.setWhatsThis(
            tr(
                "Each face with a map beside it: a cell for each part, bright where its value is high. A click on a "
                "face looks at it, on a cell makes that part the current one. Arrows move, Enter opens, Delete takes "
                "out, [ and ] walk the parts."
            )
        )

    # What is shown

    def show_values(
        self, faces: FaceSet, ids: Ids, values: Floats, spread: Spread, layout: Layout, words: Words
    ) -> None:
        """Show (N, K) values of the faces `ids`."""
        self._shown, self._message = PartValues(faces, ids, values, spread, layout, words), ""
        self._gather()

    def show_nothing(self, text: str) -> None:
        """There are no values; `text` says why."""
        self._shown, self._message = None, text
        self._gather()

    def set_part(self, part: int) -> None:
        """Another part is the current one."""
        self._part = part
        self.update()
        self.tell_screen_readers()

    @property
    def subtitle(self) -> str:  # type: ignore[override]
        """How many faces these are, or that they are examples."""
        return self._subtitle

    @property
    def examples(self) -> bool:
        """Whether nothing is selected, so that the faces are examples."""
        return not len(self._selected)

    def refresh(self, changed: frozenset[str]) -> None:
        if not np.array_equal(self._selected, self.selection.ids):
            self._gather()
        current = self.selection.current
        if current != self._looked:
            self._looked = current
            self._bring(self._place(current))
        super().refresh(changed)

    def _gather(self) -> None:
        """Those who are to be seen, and where."""
        self._selected, shown = self.selection.ids, self._shown
        self._rows = np.zeros(0, np.int64)
        if shown is not None and len(self._selected):
            self._rows = shown.in_order(shown.rows_of(self._selected))
            self._message = "" if len(self._rows) else tr("No selected face has a vector of this model.")
        self._bar.setValue(0)
        self._arrange()
        self._bring(self._place(self.selection.current))
        self._name()
        self.set_under(None)
        self._point_at(None)
        self.update()
        self.tell_screen_readers()

    def _arrange(self) -> None:
        """Room for all, as large as it goes."""
        shown, width, height = self._shown, self.width(), self.height()
        parts = shown.parts if shown is not None else 1
        least = max(LEAST, PartMap.make(parts).least)
        if shown is not None and self.examples:
            self._plan = Plan.sections(len(self._kinds()), width, height, least=least)
            chosen = shown.examples(self._plan.bounds[1] if len(self._plan.bounds) > 1 else 0)
            self._plan = self._plan.holding([len(rows) for rows in chosen])
            self._rows = np.concatenate(chosen)
        else:
            self._plan = Plan.fit(len(self._rows), width, height, least=least)
        self._map = PartMap.make(parts, self._plan.side)
        self._bar.setGeometry(width - SCROLL_BAR, 0, SCROLL_BAR, height)
        self._bar.setSingleStep(self._plan.line // 3)
        self._bar.setPageStep(height)
        self._bar.setRange(0, max(0, self._plan.height - height))
        self._bar.setVisible(self._bar.maximum() > 0)

    def resizeEvent(self, event: QResizeEvent) -> None:
        first = next(self._plan.visible(self._bar.value(), self.height()), None) if self._bar.value() else None
        self._arrange()
        self._bring(first)
        self._bring(self._place(self.selection.current))
        self.set_under(None)
        self._point_at(None)

    def sizeHint(self) -> QSize:
        return QSize(436, 396)

    def minimumSizeHint(self) -> QSize:
        return QSize(2 * EDGE + 2 * LEAST + BESIDE + SCROLL_BAR, 2 * EDGE + LEAST + UNDER + CAPTION)

    # Words

    def _kinds(self) -> Sequence[tuple[str, str]]:
        """What examples there are: their name, and how they were chosen."""
        assert self._shown is not None
        if self._shown.even:
            return (tr("even"), tr("parts differ least")), (tr("uneven"), tr("parts differ most"))
        words = self._shown.words
        return (
            (words.lowest, tr("lowest mean")),
            (tr("mixed"), tr("parts differ most")),
            (words.highest, tr("highest mean")),
        )

    def _name(self) -> None:
        text, shown = "", self._shown
        if shown is not None and self.examples:
            text = tr("nothing selected: {kinds}", kinds=", ".join(tr("the {kind}", kind=k) for k, _ in self._kinds()))
        elif shown is not None:
            text = plural(len(self._rows), "{n} face", "{n} faces")
            if missing := len(self._selected) - len(self._rows):
                text += ", " + tr("{n} without a vector", n=missing)
            cells = {"slices": tr("cells are slices, not places"), "learners": tr("cells are learners, not places")}
            text += " · " + cells.get(shown.layout.kind, tr("cells are parts, not places"))
        if text != self._subtitle:
            self._subtitle = text
            self.subtitled.emit()

    def lines(self, face: int) -> Sequence[Line]:
        shown = self._shown
        row = shown.row_of(face) if shown is not None else None
        if shown is None or row is None:
            return ()
        place = percentile(shown.summary, row)
        told: list[Line] = [shown.summary_text(row) + ("" if place is None else f" · p{round(place)}")]
        values = shown.values[row]
        if np.isfinite(values).any():
            for word, part in ((shown.words.lowest, np.nanargmin(values)), (shown.words.highest, np.nanargmax(values))):
                told.append((word, f"{part_name(shown.layout, int(part))}  {shown.words.value(float(values[part]))}"))
        return told

    def current_text(self) -> str:
        shown, place = self._shown, self._place(self.selection.current)
        if shown is None or self._message:
            return self._message
        if place is None:
            return self._subtitle
        row = int(self._rows[place])
        face = int(shown.ids[row])
        told = [
            self._called(row),
            shown.summary_text(row),
            shown.part_text(row, self._part) if self._part < shown.parts else "",
            tr("selected") if face in self.selection else tr("not selected"),
            self.desk.thumbnails.broken(face) or "",
            tr("{place} of {count}", place=place + 1, count=len(self._rows)),
        ]
        return ", ".join(text for text in told if text)

    def _called(self, row: int) -> str:
        assert self._shown is not None
        at = self._shown.faces.row_of(int(self._shown.ids[row]))
        return self._shown.faces.label(at) if at is not None else ""

    # Who is where

    @property
    def ids(self) -> Ids:
        """Ids of the faces, in the order they are seen."""
        return self._shown.ids[self._rows] if self._shown is not None else np.zeros(0, np.int64)

    def face_rect(self, place: int) -> QRectF:
        """Where a face is, on screen."""
        x, y = self._plan.corner(place)
        return QRectF(x, y - self._bar.value(), self._plan.side, self._plan.side)

    def cell_rect(self, place: int, part: int) -> QRectF:
        """Where a part of a face is, on screen."""
        return self._map.cell(part, self.face_rect(place).topRight() + QPointF(BESIDE, 0))

    def seen(self) -> list[int]:
        """Places that are on screen."""
        top = self._bar.value()
        return list(self._plan.visible(top, top + self.height()))

    def face_at(self, point: QPointF) -> tuple[int, QRectF] | None:
        place = self._plan.at(point.x(), point.y() + self._bar.value())
        if place is None:
            return None
        box = self.face_rect(place)
        return None if self._on_map(box, point) else (int(self.ids[place]), box)

    def cell_at(self, point: QPointF) -> tuple[int, int] | None:
        """The place and the part of the cell under a point."""
        place = self._plan.at(point.x(), point.y() + self._bar.value())
        if place is None or not self._on_map(box := self.face_rect(place), point):
            return None
        part = self._map.at(point.x() - box.right() - BESIDE, point.y() - box.top())
        return (place, part) if part is not None else None

    def _on_map(self, box: QRectF, point: QPointF) -> bool:
        return point.x() >= box.right() + BESIDE / 2 and point.y() < box.bottom()

    def _place(self, face: int | None) -> int | None:
        row = self._shown.row_of(face) if self._shown is not None else None
        if row is None:
            return None
        found = np.flatnonzero(self._rows == row)
        return int(found[0]) if len(found) else None

    def _bring(self, place: int | None) -> None:
        """Scroll as little as shows a place whole."""
        if place is not None and self._bar.maximum():
            top = self._plan.corner(place)[1] - EDGE
            bottom = top + EDGE + self._plan.line
            self._bar.setValue(min(max(self._bar.value(), bottom - self.height()), top))

    def _on_scrolled(self) -> None:
        self.set_under(None)
        self._point_at(None)
        self.update()

    # Painting

    def paintEvent(self, event: QPaintEvent) -> None:
        now, shown = theme.current(), self._shown
        painter = QPainter(self)
        painter.setRenderHints(QPainter.RenderHint.Antialiasing | QPainter.RenderHint.SmoothPixmapTransform)
        painter.fillRect(event.rect(), now.q("sunk"))
        if shown is None or not len(self._rows):
            painter.setFont(theme.font(11))
            painter.setPen(now.q("text3"))
            flags = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
            painter.drawText(QRectF(self.rect()).adjusted(24, 8, -24, -8), int(flags), self._message)
            return
        seen = self.seen()
        self.desk.thumbnails.expect(len(seen))
        if self.examples:
            self._paint_headings(painter)
        rows, boxes = self._rows[seen].tolist(), [self.face_rect(place) for place in seen]
        shades = heat.shades(shown.values[rows], shown.spread.low, shown.spread.high)
        maps, tall = self._map.pictures(shades, ratio := self.devicePixelRatioF()), round(self._plan.side * ratio)
        # Backwards, because the newest request is decoded first and eyes start at the top.
        for i in reversed(range(len(seen))):
            self.paint_face(painter, int(shown.ids[rows[i]]), boxes[i])
            beside = boxes[i].translated(self._plan.side + BESIDE, 0)
            painter.drawImage(beside, maps, QRectF(0, i * tall, maps.width(), tall))
            self._paint_over(painter, now, beside, rows[i], shades[i])
            self._paint_caption(painter, boxes[i], rows[i])
        for row, box in zip(rows, boxes):
            face = int(shown.ids[row])
            # That a face is selected needs no mark: it would not be here otherwise.
            current, hovered = face == self.selection.current, face == self.hovered
            portrait.ring(painter, box, selected=False, current=current, hovered=hovered)
        if self._cell is not None:
            place, part = self._cell
            box = self.cell_rect(place, part)
            self._frame(painter, box, now.q("text"))
            paint_tag(painter, box, shown.part_text(int(self._rows[place]), part), room=QRectF(self.rect()))

    def _paint_headings(self, painter: QPainter) -> None:
        for section, (name, why) in enumerate(self._kinds()):
            y = self._plan.tops[section] - self._bar.value() - 3
            width = text_width(name, 11)
            draw_text(painter, QRectF(EDGE, y, width + 2, 16), name, "text", 11)
            rest = QRectF(EDGE + width + 8, y, self.width() - 2 * EDGE - width - 8, 16)
            draw_text(painter, rest, why, "text3", 10)

    def _paint_over(
        self, painter: QPainter, now: theme.Theme, box: QRectF, row: int, shades: NDArray[np.uint8]
    ) -> None:
        """What is on a map besides its colours: hatching, numbers, the frame of the current part."""
        known = shades[:, 3] > 0
        if not known.all():
            hatch = QBrush(now.q("text3", 0.6), Qt.BrushStyle.BDiagPattern)
            for part in np.flatnonzero(~known).tolist():
                cell = self._map.cell(part, box.topLeft())
                painter.fillRect(cell, now.q("line", 0.6))  # small cells have hardly a line of the hatching
                painter.fillRect(cell, hatch)
        if not known.any():
            self._paint_missing(painter, now, box)
            return
        if min(self._map.cell(0).size().toTuple()) >= TOLD:
            self._paint_told(painter, now, box, row, shades)
        if self._part < self._map.parts:
            self._frame(painter, self._map.cell(self._part, box.topLeft()), now.q("accent"))

    def _paint_told(
        self, painter: QPainter, now: theme.Theme, box: QRectF, row: int, shades: NDArray[np.uint8]
    ) -> None:
        """Cells that are large enough say which part they are, and its value."""
        assert self._shown is not None
        values, say = self._shown.values[row].tolist(), self._shown.words.value
        for part, (r, g, b, known) in enumerate(shades.tolist()):
            cell = self._map.cell(part, box.topLeft())
            ink = now.q("#101010" if 0.3 * r + 0.59 * g + 0.11 * b > 128 else "#ffffff" if known else "text2")
            draw_text(painter, QRectF(cell.x() + 4, cell.y() + 3, cell.width() - 8, 13), str(part + 1), ink, 10)
            if known:
                line = QRectF(cell.x() + 2, cell.bottom() - 17, cell.width() - 6, 14)
                draw_text(painter, line, say(values[part]), ink, 10, align="right")

    def _paint_missing(self, painter: QPainter, now: theme.Theme, box: QRectF) -> None:
        """Why no part of a face has a value, where there is room for it."""
        assert self._shown is not None
        flags = int(Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap)
        room = box.adjusted(8, 8, -8, -8)
        painter.setFont(theme.font(10))
        words = painter.boundingRect(room, flags, self._shown.words.missing)
        if words.isEmpty() or not room.contains(words):
            return
        painter.fillRect(words.adjusted(-4, -2, 4, 2), now.q("sunk"))
        painter.setPen(now.q("text3"))
        painter.drawText(words, flags, self._shown.words.missing)

    def _frame(self, painter: QPainter, box: QRectF, colour: QColor) -> None:
        """Round one cell; the ground on both sides keeps it apart from cells of a like colour."""
        painter.setBrush(Qt.BrushStyle.NoBrush)
        for ink, width in ((theme.current().q("sunk"), 4), (colour, 2)):
            painter.setPen(QPen(ink, width))
            painter.drawRoundedRect(box.adjusted(-1, -1, 1, 1), self._map.radius + 0.5, self._map.radius + 0.5)

    def _paint_caption(self, painter: QPainter, box: QRectF, row: int) -> None:
        shown = self._shown
        assert shown is not None
        line = QRectF(box.left(), box.bottom() + UNDER, self._plan.wide, CAPTION)
        brief = self._plan.wide < NARROW
        value = shown.words.value(float(shown.summary[row])) if brief else shown.summary_text(row)
        draw_text(painter, line, value, "text3", 10, align="right")
        line.setWidth(line.width() - text_width(value, 10) - 6)
        draw_text(painter, line, self._called(row), "text2", 10)

    # Mouse

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        super().mouseMoveEvent(event)
        self._point_at(self.cell_at(event.position()) if event.buttons() == Qt.MouseButton.NoButton else None)

    def leaveEvent(self, event: QEvent) -> None:
        self._point_at(None)
        super().leaveEvent(event)

    def _point_at(self, cell: tuple[int, int] | None) -> None:
        if cell != self._cell:
            self._cell = cell
            self.setCursor(Qt.CursorShape.ArrowCursor if cell is None else Qt.CursorShape.PointingHandCursor)
            self.update()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self.set_under(None)
        if event.button() != Qt.MouseButton.LeftButton:
            return
        cell, found = self.cell_at(event.position()), self.face_at(event.position())
        if cell is not None:
            self.part_chosen.emit(cell[1])
        elif found is not None:
            self._act(found[0], event.modifiers())

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        found = self.face_at(event.position())
        if found is not None and event.button() == Qt.MouseButton.LeftButton and not event.modifiers():
            self.open_face(found[0])
        else:
            self.mousePressEvent(event)

    def wheelEvent(self, event: QWheelEvent) -> None:
        self._bar.wheelEvent(event)
        event.setAccepted(self._bar.maximum() > 0)

    def _act(self, face: int, modifiers: MODIFIERS) -> None:
        """What a click on a face does."""
        self._looked = face
        if modifiers & MODIFIERS.AltModifier:
            self.choose(np.array([face]), Mode.REMOVE)
        elif modifiers & MODIFIERS.ControlModifier:
            self.choose(np.array([face]), Mode.TOGGLE)
        else:
            self.look(face)
        self.tell_screen_readers(aloud=True)

    # Keyboard

    def _wants(self, event: QKeyEvent) -> bool:
        """Delete takes out of the selection here; elsewhere it excludes faces from the gallery."""
        return event.key() == Qt.Key.Key_Delete and bool(len(self._selected))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, current = Qt.Key(event.key()), self.selection.current
        self.set_under(None)
        self._point_at(None)
        place = self._place(current)
        target = self._target(key, place) if len(self._rows) else None
        step = {Qt.Key.Key_BracketLeft: -1, Qt.Key.Key_BracketRight: 1}.get(key)
        if target is not None:
            self._bring(target)
            self._act(int(self.ids[target]), MODIFIERS.NoModifier)
        elif step is not None and self._shown is not None:
            self.part_chosen.emit(min(max(self._part + step, 0), self._shown.parts - 1))
        elif pressed(event, "select.none") and len(self._selected):
            self.choose(np.zeros(0, np.int64), Mode.REPLACE)
        elif place is None or current is None:
            super().keyPressEvent(event)
        elif key == Qt.Key.Key_Space:
            self.choose(np.array([current]), Mode.TOGGLE)
        elif key == Qt.Key.Key_Delete and len(self._selected):
            self._take_out(place)
        elif enters(event) or pressed(event, "view.loupe"):
            self.open_face(current)
        else:
            super().keyPressEvent(event)

    def _take_out(self, place: int) -> None:
        """Take a face out of the selection and look at the one that comes to its place."""
        ids = self.ids
        after = ids[place + 1] if place + 1 < len(ids) else ids[place - 1] if place else ids[place]
        self.choose(ids[place : place + 1], Mode.REMOVE, current=int(after))
        self.tell_screen_readers(aloud=True)

    def _target(self, key: Qt.Key, place: int | None) -> int | None:
        """The place a key leads to; None for keys that do not move."""
        keys, columns, last = Qt.Key, self._plan.columns, len(self._rows) - 1
        page = max(1, self.height() // self._plan.line) * columns
        steps = {
            keys.Key_Left: -1, keys.Key_Right: 1, keys.Key_Up: -columns, keys.Key_Down: columns,
            keys.Key_PageUp: -page, keys.Key_PageDown: page, keys.Key_Home: -last, keys.Key_End: last,
        }  # fmt: skip
        if key not in steps:
            return None
        return 0 if place is None else min(max(place + steps[key], 0), last)


def _pitch(width: int, side: int, columns: int) -> float:
    """From one face to the next: what is left over goes between them, up to MORE each."""
    wide = 2 * side + BESIDE
    return (
        min((width - 2 * EDGE - wide) / max(columns - 1, 1), wide + BETWEEN + MORE) if columns > 1 else wide + BETWEEN
    )
