"""Faces x parts: a row for each face, a cell for each part, all on one scale of colours; only what is seen is painted.

A click on a row selects as in the grid (Ctrl toggles, Shift takes the range, Alt takes away), on a cell it makes the
part current too; a double-click or Enter opens the face. A click on a head sorts by it, again or with Shift the other
way round. Keys: up and down walk the faces, left and right the parts, Space selects.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from PySide6.QtCore import QPoint, QPointF, QRect, QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import (
    QAccessible,
    QAccessibleAnnouncementEvent,
    QBrush,
    QContextMenuEvent,
    QFocusEvent,
    QHideEvent,
    QImage,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPainterPath,
    QPaintEvent,
    QPen,
    QResizeEvent,
)
from PySide6.QtWidgets import QAbstractScrollArea, QApplication, QFrame, QWidget

from facelens.analyses.parts import Floats, Layout, Spread
from facelens.figures.part_words import Words, layout_words, part_name
from facelens.images.faceset import FaceSet, Ids, Rows
from facelens.session.selection import Mode, Selection
from facelens.views import heat, icons, portrait, theme
from facelens.views.controls import draw_text, text_width
from facelens.views.grid import MODIFIERS, SCROLL_BAR
from facelens.views.hearing import tell, when_left
from facelens.views.hover import DELAY, FACE, HoverCard, Line, paint_tag
from facelens.views.panel import Desk
from facelens.views.part_menu import PARTS_BY, OrderMenu
from facelens.views.part_table import CELL, FOOT, GAP, HEAD, LEFT, MEAN, ROW, SIDE, By, Seats, Table, gaps
from facelens.views.shortcuts import enters, pressed
from facelens.words import plural, tr

KEY, KEY_LEAST, KEY_MOST = 9, 56, 170  # px of the colour key
KEYS = Qt.Key
MOVES = (KEYS.Key_Up, KEYS.Key_Down, KEYS.Key_Home, KEYS.Key_End, KEYS.Key_PageUp, KEYS.Key_PageDown)
WAYS = {False: "ascending", True: "descending"}


class Spot(NamedTuple):
    """What lies under a point: in the "head", on a "face", a "cell", the rest of a "row", in the "foot"."""

    zone: str
    place: int = -1  # in the order shown
    by: By = ""  # of a head: what it sorts by; of a cell: its part


class PartMatrix(QAbstractScrollArea):
    """See the module's words. It changes nothing itself: it says what the user wants and shows what it is given."""

    part_chosen = Signal(int)
    select = Signal(object, object)  # ids, Mode
    look = Signal(object)  # id of the face that became current
    open_face = Signal(object)  # id
    ordered = Signal()  # faces or parts stand in another order

    def __init__(self, desk: Desk, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.desk = desk
        self._table: Table | None = None
        self._nothing = ""
        self._by: By = "mean"
        self._descending = True
        self._order: Rows = np.zeros(0, np.int64)  # rows of the table as they are listed
        self._parts_by, self._parts_descending = "number", False
        self._parts_of: int | None = None  # the face whose values order the parts
        self._columns: Rows = np.zeros(0, np.int64)  # parts as they stand side by side
        self._part = 0
        self._selection = Selection()
        self._anchor: int | None = None  # id from which Shift extends
        self._spot: Spot | None = None  # under the pointer
        self.setObjectName("panel")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(tr("Faces by parts"))
        self.setWhatsThis(
            tr(
                "A row for each face, a cell for each part. A click selects the face and makes the part the current "
                "one, on a head it sorts. Up and down walk the faces, left and right the parts, Space selects, Enter "
                "opens."
            )
        )
        self.viewport().setAccessibleName(tr("Faces by parts"))
        self.viewport().setMouseTracking(True)
        when_left(self.viewport(), self._on_left)
        tell(self.viewport(), self._tip_at)
        self.viewport().setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        for side, height in ((Qt.AlignmentFlag.AlignTop, HEAD), (Qt.AlignmentFlag.AlignBottom, FOOT)):
            room = QWidget()  # so that the scroll bar stands beside the rows alone
            room.setFixedHeight(height)
            self.addScrollBarWidget(room, side)
        self._card = HoverCard(self.viewport())
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(DELAY)
        self._timer.timeout.connect(self._show_card)
        self.menu = OrderMenu(self)
        self.menu.aboutToShow.connect(self._tell_menu)
        self.menu.faces_by.connect(self._on_faces_by)
        self.menu.faces_turned.connect(lambda: self.set_order(self._by, not self._descending))
        self.menu.parts_by.connect(lambda key: self.order_parts(key, key != "number"))
        self.menu.parts_turned.connect(self._turn_parts)
        self.menu.brought.connect(self._on_bring)
        desk.thumbnails.ready.connect(self._on_ready)

    # What is shown

    def show_values(
        self, faces: FaceSet, ids: Ids, values: Floats, spread: Spread, layout: Layout, words: Words
    ) -> None:
        """Show (N, K) `values` of the faces `ids`; order and place stay where they still make sense."""
        held, before = self._held(), self._table
        self._table = Table.make(faces, ids, values, spread, layout, words)
        if isinstance(self._by, int) and self._by >= layout.parts:
            self._by = "mean"
        self._part = min(self._part, layout.parts - 1)
        self._sort()
        self._sort_parts()
        self._relayout()
        if before is None or before.faces.root != faces.root:
            self.verticalScrollBar().setValue(0)
        elif held is not None:
            self._hold(held)
        self._tell_screen_readers()

    def show_nothing(self, text: str) -> None:
        """Say why there is nothing to show."""
        self._table, self._nothing = None, text
        self._order = self._columns = np.zeros(0, np.int64)
        self._set_spot(None)
        self._relayout()
        self._tell_screen_readers()

    def set_part(self, part: int) -> None:
        """Frame another part as the current one; nothing is sorted."""
        if self._table is not None:
            part = min(max(part, 0), self._table.layout.parts - 1)
        if part != self._part:
            self._part = part
            self.viewport().update()
            self._tell_screen_readers()

    def set_selection(self, selection: Selection) -> None:
        """Show another selection; the list stays where it is."""
        if selection.current != self._selection.current:
            self._anchor = selection.current
        self._selection = selection
        self.viewport().update()
        self._tell_screen_readers()

    def set_order(self, by: By, descending: bool) -> None:
        """List the faces by "face" (their name), "mean" or a part. The current face stays in sight, else the top is."""
        if (by, descending) == (self._by, self._descending):
            return
        held = self._held()
        self._by, self._descending = by, descending
        self._sort()
        self.verticalScrollBar().setValue(0)
        if held is not None:
            self._hold(held)
        self._reordered()

    def order_parts(self, by: str, descending: bool) -> None:
        """Stand the parts by "number", by "mean", or by the values that the current "face" has now."""
        self._parts_by, self._parts_descending = by, descending
        self._parts_of = self._selection.current if by == "face" else None
        self._sort_parts()
        self._reordered()

    def _turn_parts(self) -> None:
        self._parts_descending = not self._parts_descending
        self._sort_parts()
        self._reordered()

    @property
    def faces_order(self) -> str:
        """As it is kept: what by, and which way."""
        return f"{self._by} {WAYS[self._descending]}"

    @property
    def parts_order(self) -> str:
        """As it is kept."""
        return f"{self._parts_by} {WAYS[self._parts_descending]}"

    def take_faces_order(self, said: str) -> bool:
        """An order as it was kept; False where there is no such part."""
        by, _, way = said.rpartition(" ")
        part = int(by) if by.isdigit() else None
        if self._table is None or by not in ("face", "mean", str(part)) or (part or 0) >= self._table.layout.parts:
            return False
        self.set_order(by if part is None else part, way == WAYS[True])
        return True

    def take_parts_order(self, said: str) -> bool:
        """An order as it was kept; by the values of the face that is current now."""
        by, _, way = said.rpartition(" ")
        if by not in PARTS_BY or self._table is None:
            return False
        self.order_parts(by, way == WAYS[True])
        return True

    def _reordered(self) -> None:
        self._set_spot(None)
        self.viewport().update()
        self._tell_screen_readers(aloud=True)
        self.ordered.emit()

    @property
    def by(self) -> By:
        """What faces are sorted by."""
        return self._by

    @property
    def descending(self) -> bool:
        return self._descending

    def listed(self, most: int) -> list[int]:
        """Ids of the first faces."""
        return [] if self._table is None else self._table.ids[self._order[:most]].tolist()

    @property
    def order_words(self) -> str:
        """How faces and parts are sorted."""
        table = self._table
        if table is None:
            return ""
        which = table.words.highest if self._descending else table.words.lowest
        if self._by == "mean" and table.even:
            which = tr("widest") if self._descending else tr("narrowest")
        if self._by == "face":
            said = tr("sorted by name, Z to A") if self._descending else tr("sorted by name")
        elif self._by == "mean":
            said = tr("sorted by {name}, {which} first", name=table.summary_name, which=which)
        else:
            said = tr("sorted by {part}, {which} first", part=part_name(table.layout, int(self._by)), which=which)
        row = table.row_of(self._parts_of)
        if self._parts_by == "mean":
            return tr("{faces} · columns by mean", faces=said)
        if self._parts_by == "face" and row is not None:
            return tr("{faces} · columns as of {name}", faces=said, name=table.name(row))
        return said

    @property
    def ids(self) -> Ids:
        """Faces in the order shown."""
        return np.zeros(0, np.int64) if self._table is None else self._table.ids[self._order]

    @property
    def columns(self) -> Rows:
        """Parts in the order shown."""
        return self._columns

    def _sort(self) -> None:
        if self._table is not None:
            self._order = self._table.order_by(self._by, descending=self._descending)

    def _sort_parts(self) -> None:
        if self._table is not None:
            self._columns = self._table.parts_by(self._parts_by, descending=self._parts_descending, face=self._parts_of)

    # Where things lie

    @property
    def seats(self) -> Seats:
        """Where the columns are. Room for the scroll bar is kept free also while there is none."""
        return Seats.make(self.width() - SCROLL_BAR, max(1, len(self._columns)))

    def _body(self) -> QRect:
        """Where the rows are seen."""
        return self.viewport().rect().adjusted(0, HEAD, 0, -FOOT)

    def row_box(self, place: int) -> QRectF:
        """A row, in coordinates of the viewport."""
        return QRectF(0, HEAD + place * ROW - self.verticalScrollBar().value(), self.viewport().width(), ROW)

    def face_box(self, place: int) -> QRectF:
        """The small picture of a row."""
        return QRectF(LEFT, self.row_box(place).top() + (ROW - SIDE) / 2, SIDE, SIDE)

    def cell_box(self, place: int, part: int) -> QRectF:
        """One cell."""
        seats, column = self.seats, self._column_of(part)
        top = self.row_box(place).top() + (ROW - CELL) / 2
        return QRectF(seats.left + column * seats.pitch, top, seats.pitch - seats.gap, CELL)

    def head_box(self, by: By) -> QRectF:
        """What is clicked to sort."""
        seats = self.seats
        if by == "face":
            return QRectF(0, 0, seats.left, HEAD)
        if by == "mean":
            return QRectF(seats.right, 0, seats.mean - seats.right, HEAD)
        return QRectF(seats.left + self._column_of(int(by)) * seats.pitch, 0, seats.pitch - seats.gap, HEAD)

    def spot_at(self, point: QPointF) -> Spot | None:
        """What lies under a point."""
        if self._table is None:
            return None
        seats, body = self.seats, self._body()
        column = seats.column(point.x())
        part = None if column is None else int(self._columns[column])
        if point.y() < body.top():
            return Spot("head", by=part if part is not None else "face" if point.x() < seats.left else "mean")
        if point.y() > body.bottom():
            return Spot("foot")
        place = int((point.y() - HEAD + self.verticalScrollBar().value()) // ROW)
        if not 0 <= place < len(self._order):
            return None
        if part is not None:
            return Spot("cell", place, part)
        return Spot("face" if point.x() < seats.left else "row", place)

    def _column_of(self, part: int) -> int:
        return int(np.flatnonzero(self._columns == part)[0])

    def _place_of(self, face: int | None) -> int | None:
        row = None if self._table is None else self._table.row_of(face)
        found = np.flatnonzero(self._order == (-1 if row is None else row))
        return int(found[0]) if len(found) else None

    def _seen(self) -> range:
        """Places that can be seen, the cut ones among them."""
        top, height = self.verticalScrollBar().value(), self._body().height()
        return range(top // ROW, min((top + height - 1) // ROW + 1, len(self._order)))

    def _held(self) -> tuple[int, int] | None:
        """The current face and its height on the screen, where it is seen."""
        face = self._selection.current
        place = self._place_of(face)
        if face is None or place is None or place not in self._seen():
            return None
        return face, place * ROW - self.verticalScrollBar().value()

    def _hold(self, held: tuple[int, int]) -> None:
        place = self._place_of(held[0])
        if place is not None:
            self.verticalScrollBar().setValue(place * ROW - held[1])
            self._bring(place)

    def _bring(self, place: int) -> None:
        """Scroll as little as needed to show a row whole."""
        bar, height = self.verticalScrollBar(), self._body().height()
        bar.setValue(min(max(bar.value(), (place + 1) * ROW - height), place * ROW))

    def _relayout(self) -> None:
        bar, height = self.verticalScrollBar(), max(0, self._body().height())
        bar.setSingleStep(ROW)
        bar.setPageStep(max(ROW, height // ROW * ROW))
        bar.setRange(0, max(0, len(self._order) * ROW - height))
        self.viewport().update()

    def resizeEvent(self, event: QResizeEvent) -> None:
        held = self._held()
        self._relayout()
        if held is not None:
            self._hold(held)

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        self._set_spot(None)
        self.viewport().update()

    def minimumSizeHint(self) -> QSize:
        return QSize(320, HEAD + 3 * ROW + FOOT)

    def sizeHint(self) -> QSize:
        return QSize(578, HEAD + 13 * ROW + FOOT)

    # Painting

    def paintEvent(self, event: QPaintEvent) -> None:
        now, painter = theme.current(), QPainter(self.viewport())
        painter.fillRect(event.rect().adjusted(-1, -1, 1, 1), now.q("base"))  # see the grid
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        table = self._table
        if table is None:
            painter.setFont(theme.font(11))
            painter.setPen(now.q("text3"))
            flags = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
            painter.drawText(QRectF(self.viewport().rect()).adjusted(24, 8, -24, -8), int(flags), self._nothing)
            return
        seats, seen = self.seats, self._seen()
        painter.setClipRect(self._body())
        strips = self._strips(table, seats, seen)
        # Backwards, because the newest request is decoded first and eyes start at the top.
        for place in reversed(seen):
            self._paint_row(painter, table, seats, place, strips, place - seen.start)
        painter.setClipping(False)
        self._paint_head(painter, table, seats)
        self._paint_part(painter)
        painter.setClipRect(self._body())
        self._paint_pointed(painter)
        painter.setClipping(False)
        self._paint_foot(painter, table, seats)
        if self._spot is not None and self._spot.zone == "cell":
            part = int(self._spot.by)
            text = table.part_text(int(self._order[self._spot.place]), part)
            paint_tag(painter, self.cell_box(self._spot.place, part), text, room=QRectF(self.viewport().rect()))

    def _strips(self, table: Table, seats: Seats, seen: range) -> QImage:
        """The cells that are seen: a line of pixels for each row, clear between cells and where there is no value."""
        rows = self._order[seen.start : seen.stop]
        values = np.repeat(table.values[np.ix_(rows, self._columns)], seats.pitch, axis=1)
        values[:, gaps(seats)] = np.nan
        return heat.picture(values, table.spread.low, table.spread.high)

    def _paint_row(self, painter: QPainter, table: Table, seats: Seats, place: int, strips: QImage, line: int) -> None:
        now, box, row = theme.current(), self.row_box(place), int(self._order[place])
        face = int(table.ids[row])
        selected, current = face in self._selection, face == self._selection.current
        hovered = self._spot is not None and self._spot.place == place
        ground = now.soft if selected else theme.mix(now.base, now.text, 0.05) if hovered else now.base
        painter.fillRect(box, now.q(ground))
        if current:
            painter.fillRect(QRectF(0, box.top(), 3, ROW), now.q("accent"))
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        portrait.face(
            painter, self.desk.thumbnails, table.faces, int(table.places[row]), self.face_box(place), ground=ground
        )
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, False)
        ink = "text" if selected or current or hovered else "text2"
        draw_text(painter, QRectF(seats.names, box.top(), seats.name, ROW), table.name(row), ink, 11)
        values = table.values[row]
        cells = QRectF(seats.left, box.top() + (ROW - CELL) / 2, strips.width(), CELL)
        for part in np.flatnonzero(np.isnan(values)).tolist():
            painter.fillRect(self.cell_box(place, part), _hatch())
        painter.drawImage(cells, strips, QRectF(0, line, strips.width(), 1))
        mean = QRectF(seats.right + GAP, box.top(), MEAN, ROW)
        draw_text(painter, mean, table.words.value(float(table.summary[row])), ink, 11, align="right")

    def _paint_head(self, painter: QPainter, table: Table, seats: Seats) -> None:
        over = self._spot.by if self._spot is not None and self._spot.zone == "head" else None
        for by, words in (("face", tr("face")), ("mean", table.summary_name)):
            ink = "text" if by in (over, self._by) else "text3"
            wide = text_width(words, 10)
            left = LEFT if by == "face" else seats.mean - wide
            draw_text(painter, QRectF(left, 5, wide + 2, 18), words, ink, 10)
            if by == self._by:
                self._paint_arrow(painter, left + wide + 9 if by == "face" else left - 9, 14)
        every = seats.numbered(text_width(str(seats.parts), 10))
        shown = {int(part) for part in self._columns[every - 1 :: every]}
        taken = [self._plate()]  # by the current part, and by the one under the pointer
        if isinstance(over, int) and over != self._part:
            taken.append(self._number(over))
            draw_text(painter, taken[1], str(over + 1), "text", 10, bold=True, align="centre")
        for part in shown - {over, self._part}:
            box = self._number(part)
            if not any(box.intersects(other) for other in taken):
                draw_text(painter, box, str(part + 1), "text2", 10, align="centre")
        if isinstance(self._by, int):
            self._paint_arrow(painter, self.head_box(self._by).center().x(), 27)

    def _paint_arrow(self, painter: QPainter, x: float, y: float) -> None:
        """Down: the highest stands first."""
        name = "chevron-down" if self._descending else "chevron-up"
        icons.paint(painter, QRectF(x - 5, y - 5, 10, 10), name, "text", width=2.0)

    def _number(self, part: int) -> QRectF:
        """Where the number of a part stands."""
        half = text_width(str(part + 1), 10, True) / 2 + 2
        return QRectF(self.head_box(part).center().x() - half, 5, 2 * half, 18)

    @property
    def _pen(self) -> float:
        """Of the frame around the current part: it fills the gaps beside the column."""
        return max(self.seats.gap, 1.2)

    def _plate(self) -> QRectF:
        """Behind the number of the current part."""
        head = self.head_box(self._part)
        half = max((head.width() + self._pen) / 2, text_width(str(self._part + 1), 10, True) / 2 + 4)
        return QRectF(head.center().x() - half, 4, 2 * half, 19)

    def _paint_part(self, painter: QPainter) -> None:
        """The frame of the current part, around its number and its column."""
        now, head, body = theme.current(), self.head_box(self._part), self._body()
        foot = min(self.row_box(len(self._order)).top(), body.bottom() + 1)
        pen = self._pen
        plate, column = self._plate(), head.adjusted(-pen / 2, 4, pen / 2, foot - HEAD - pen / 2)
        outline = QPainterPath()
        outline.addRoundedRect(plate, 4, 4)
        painter.fillPath(outline, now.q("soft"))
        rest = QPainterPath()
        rest.addRoundedRect(column, 2, 2)
        painter.setPen(QPen(now.q("accent"), pen))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawPath(outline.united(rest).simplified())
        draw_text(painter, plate, str(self._part + 1), "text", 10, bold=True, align="centre")
        if self._by == self._part:
            self._paint_arrow(painter, plate.center().x(), 27)

    def _paint_pointed(self, painter: QPainter) -> None:
        """The cell under the pointer, and the one where the keyboard is."""
        now, spots = theme.current(), []
        if self.hasFocus() and (place := self._place_of(self._selection.current)) is not None:
            spots.append((place, self._part))
        if self._spot is not None and self._spot.zone == "cell":
            spots.append((self._spot.place, int(self._spot.by)))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        for place, part in spots:
            box = self.cell_box(place, part)
            for ink, width, out in (("base", 1.0, 2.0), ("text", 2.0, 0.5)):
                painter.setPen(QPen(now.q(ink), width))
                painter.drawRoundedRect(box.adjusted(-out, -out, out, out), 2, 2)

    def _paint_foot(self, painter: QPainter, table: Table, seats: Seats) -> None:
        """What is shown, the scale of its colours with both ends, what bright means."""
        words, line = table.words, QRectF(LEFT, self._body().bottom() + 9, self.viewport().width() - LEFT - 4, 18)
        low, high = words.value(table.spread.low), words.value(table.spread.high)
        none = "" if table.whole else tr("no value")
        before = line.left() + text_width(words.name, 10) + 14 + text_width(low, 10) + 5
        after = 5 + text_width(high, 10) + 14
        room = line.right() - before - after - text_width(words.bright, 10) - 2
        hatched = 19 + text_width(none, 10) + 14
        if none and room - hatched >= KEY_LEAST:  # else only the cells tell it, under the pointer
            after, room = after + hatched, room - hatched
        else:
            none = ""
        wide = min(max(room, KEY_LEAST), KEY_MOST)
        left = round(max(before, min(seats.left, before + room - wide)))
        key = QRectF(left, line.center().y() - KEY / 2, round(wide), KEY)
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        painter.drawImage(key, heat.picture(np.linspace(0, 1, 128, dtype=np.float32)[None], 0.0, 1.0))
        draw_text(painter, line, words.name, "text2", 10)
        draw_text(
            painter, QRectF(line.left(), line.top(), key.left() - 5 - line.left(), 18), low, "text2", 10, align="right"
        )
        line.setLeft(key.right() + 5)
        draw_text(painter, line, high, "text2", 10)
        if none:
            swatch = QRectF(line.left() + text_width(high, 10) + 14, key.top(), 14, KEY)
            painter.fillRect(swatch, _hatch())
            draw_text(painter, line.adjusted(swatch.right() + 5 - line.left(), 0, 0, 0), none, "text2", 10)
        draw_text(painter, line.adjusted(after - 5, 0, 0, 0), words.bright, "text2", 10)

    def _on_ready(self, faces: set[int]) -> None:
        if self._table is None or not self.isVisible():
            return
        seen = self._seen()
        if not faces.isdisjoint(self._table.ids[self._order[seen.start : seen.stop]].tolist()):
            self.viewport().update()
            if self._card.isVisible():
                self._show_card()

    # Hovering

    def _set_spot(self, spot: Spot | None) -> None:
        if spot == self._spot:
            return
        self._spot = spot
        self._hide_card()
        if spot is not None and spot.zone == "face":
            self._timer.start()
        self.viewport().update()

    def _hide_card(self) -> None:
        self._timer.stop()
        self._card.hide()

    def _show_card(self) -> None:
        table, spot = self._table, self._spot
        if table is None or spot is None or spot.zone != "face" or QApplication.activePopupWidget() is not None:
            return
        row = int(self._order[spot.place])
        at = int(table.places[row])
        pixmap = self.desk.thumbnails.get(table.faces, at, round(FACE * self.devicePixelRatioF()))
        broken = self.desk.thumbnails.broken(int(table.ids[row])) if pixmap is None else None
        value, mean = float(table.values[row, self._part]), float(table.summary[row])
        told = ((table.summary_name, mean), (part_name(table.layout, self._part), value))
        lines: list[Line] = [broken] if broken else [(words, table.words.value(number)) for words, number in told]
        name, file = table.name(row), table.faces.file_name(at)
        self._card.tell(pixmap, name, file=file, lines=lines, broken=broken is not None)
        self._card.place(self.face_box(spot.place).toAlignedRect().adjusted(0, -4, 0, 4), away=2)

    def _on_left(self) -> None:
        self._set_spot(None)

    def _tip_at(self, point: QPointF) -> str:
        return self._tip(self.spot_at(point))

    def _tip(self, spot: Spot | None) -> str:
        table = self._table
        if table is None or spot is None:
            return ""
        words = table.words
        if spot.zone == "foot":
            said = [
                words.title,
                words.bright,
                tr("One scale for all faces and parts: the 1st to the 99th percentile of all values"),
                tr("What lies beyond has the colour of the end"),
            ]
            return "\n".join(said if table.whole else [*said, tr("Hatched: {why}", why=words.missing)])
        if spot.zone != "head":
            return ""
        if isinstance(spot.by, int):
            mean = f"{words.name} {words.value(float(table.part_mean[spot.by]))}"
            said = [tr("{part}: mean {value}", part=part_name(table.layout, spot.by), value=mean)]
        elif spot.by == "face":
            said = []
        else:
            said = [tr("How much the parts of a face differ") if table.even else tr("Mean of the parts of a face")]
        return "\n".join([*said, tr("Click sorts by it, again the other way round")])

    def hideEvent(self, event: QHideEvent) -> None:
        self._set_spot(None)
        super().hideEvent(event)

    # Mouse

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._set_spot(self.spot_at(event.position()) if not event.buttons() else None)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        spot = self.spot_at(event.position())
        self._hide_card()
        if event.button() != Qt.MouseButton.LeftButton or spot is None:
            return
        if spot.zone == "head":
            self._sort_by(spot.by, turned=bool(event.modifiers() & MODIFIERS.ShiftModifier))
        elif spot.place >= 0:
            self._choose(spot.place, event.modifiers())
            if spot.zone == "cell":
                self._choose_part(int(spot.by))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        event.accept()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        spot = self.spot_at(event.position())
        if event.button() != Qt.MouseButton.LeftButton or event.modifiers() or spot is None or spot.place < 0:
            self.mousePressEvent(event)
        else:
            self.open_face.emit(self._face(spot.place))

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        spot = self.spot_at(QPointF(event.pos()))
        mouse = event.reason() == QContextMenuEvent.Reason.Mouse
        if self._table is None or (mouse and (spot is None or spot.zone != "head")):
            event.ignore()
            return
        self.menu.popup(event.globalPos() if mouse else self.viewport().mapToGlobal(QPoint(LEFT, HEAD)))

    # What the user chooses

    def _face(self, place: int) -> int:
        assert self._table is not None
        return int(self._table.ids[self._order[place]])

    def _sort_by(self, by: By, *, turned: bool) -> None:
        """Numbers the highest first, names from A; what is sorted by it already is turned round."""
        if by == self._by:
            self.set_order(by, not self._descending)
        else:
            self.set_order(by, (by != "face") != turned)
        if isinstance(by, int):
            self._choose_part(by)

    def _choose_part(self, part: int) -> None:
        if part != self._part:
            self.set_part(part)
            self.part_chosen.emit(part)

    def _choose(self, place: int, modifiers: MODIFIERS) -> None:
        """What a click on a row does."""
        face = self._face(place)
        shift, control = bool(modifiers & MODIFIERS.ShiftModifier), bool(modifiers & MODIFIERS.ControlModifier)
        if modifiers & MODIFIERS.AltModifier:
            self.select.emit(np.array([face]), Mode.REMOVE)
        elif shift:
            self._look_at(face)
            self.select.emit(self._range_to(place), Mode.ADD if control else Mode.REPLACE)
        else:
            self._look_at(face)
            self._anchor = face
            self.select.emit(np.array([face]), Mode.TOGGLE if control else Mode.REPLACE)
        self._tell_screen_readers(aloud=True)

    def _range_to(self, place: int) -> Ids:
        start = self._place_of(self._anchor)
        start = place if start is None else start
        assert self._table is not None
        return self._table.ids[self._order[min(start, place) : max(start, place) + 1]]

    def _look_at(self, face: int) -> None:
        if face != self._selection.current:
            self._selection = self._selection.looking_at(face)
            self.viewport().update()
            self.look.emit(face)

    # Keyboard

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, modifiers = Qt.Key(event.key()), event.modifiers() & ~MODIFIERS.KeypadModifier
        self._hide_card()
        if not len(self._order):
            super().keyPressEvent(event)
            return
        place = self._place_of(self._selection.current)
        if key in MOVES:
            self._go(self._target(key, place), modifiers)
        elif key in (KEYS.Key_Left, KEYS.Key_Right):
            column = self._column_of(self._part) + (1 if key == KEYS.Key_Right else -1)
            self._choose_part(int(self._columns[min(max(column, 0), len(self._columns) - 1)]))
            self._tell_screen_readers(aloud=True)
        elif place is not None and key == KEYS.Key_Space:
            self._anchor = self._selection.current
            self.select.emit(np.array([self._face(place)]), Mode.TOGGLE)
        elif place is not None and (enters(event) or pressed(event, "view.loupe")):
            self.open_face.emit(self._face(place))
        elif pressed(event, "select.none") and len(self._selection):
            self.select.emit(np.zeros(0, np.int64), Mode.REPLACE)
        else:
            super().keyPressEvent(event)

    def _target(self, key: Qt.Key, place: int | None) -> int:
        last, page = len(self._order) - 1, max(1, self._body().height() // ROW)
        if place is None:  # the first key shows where one is
            return last if key == KEYS.Key_End else -(-self.verticalScrollBar().value() // ROW)
        steps = {
            KEYS.Key_Up: place - 1, KEYS.Key_Down: place + 1, KEYS.Key_Home: 0, KEYS.Key_End: last,
            KEYS.Key_PageUp: place - page, KEYS.Key_PageDown: place + page,
        }  # fmt: skip
        return min(max(steps[key], 0), last)

    def _go(self, place: int, modifiers: MODIFIERS) -> None:
        """Move to another face; it is selected too, unless Ctrl is held."""
        if self._anchor is None:
            self._anchor = self._selection.current
        self._bring(place)
        if modifiers & MODIFIERS.ControlModifier:
            self._look_at(self._face(place))
            self._tell_screen_readers(aloud=True)
        else:
            self._choose(place, modifiers & MODIFIERS.ShiftModifier)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.viewport().update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.viewport().update()

    # The menu

    def _tell_menu(self) -> None:
        table = self._table
        self.menu.setEnabled(table is not None)
        if table is None:
            return
        row = table.row_of(self._selection.current)
        by = self._by if isinstance(self._by, str) else "part" if self._by == self._part else ""
        same = self._parts_by != "face" or self._parts_of == self._selection.current
        self.menu.tell(
            mean=table.summary_name,
            part=part_name(table.layout, self._part),
            face="" if row is None else table.name(row),
            faces_by=by,
            parts_by=self._parts_by if same else "",
        )

    def _on_faces_by(self, key: str) -> None:
        self.set_order(self._part if key == "part" else key, key != "face")

    def _on_bring(self) -> None:
        place = self._place_of(self._selection.current)
        if place is not None:
            self._bring(place)

    # Screen readers

    def current_text(self) -> str:
        """What a screen reader says about where the keyboard is."""
        table, place = self._table, self._place_of(self._selection.current)
        if table is None:
            return self._nothing
        if place is None:
            count = plural(len(self._order), "{n} face", "{n} faces")
            return ", ".join((count, layout_words(table.layout), part_name(table.layout, self._part), self.order_words))
        row = int(self._order[place])
        parts = (
            table.name(row),
            table.part_text(row, self._part).replace(" · ", ", "),
            table.summary_text(row),
            tr("selected") if int(table.ids[row]) in self._selection else tr("not selected"),
            tr("{place} of {count}", place=place + 1, count=len(self._order)),
            self.order_words,
        )
        return ", ".join(parts)

    def _tell_screen_readers(self, *, aloud: bool = False) -> None:
        text = self.current_text()
        self.setAccessibleDescription(text)
        if aloud and QAccessible.isActive():
            QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, text))


def _hatch() -> QBrush:
    """The ground of what has no value."""
    return QBrush(theme.current().q("text3", 0.45), Qt.BrushStyle.BDiagPattern)
