"""Faces by a score, in three rows: low, medium and high, each a band of percentiles with the value above every face.

A click selects (Ctrl toggles, Shift takes the faces up to here in the same row, Alt takes away), on the words at the
left the whole band. The wheel, the arrows at the left, Page up and Page down turn a row over to the rest of its band.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isfinite

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QResizeEvent, QWheelEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from facelens.figures.strip import BANDS, Band, Places, Values
from facelens.images.faceset import Ids
from facelens.session.selection import Mode
from facelens.views import icons, marks, theme
from facelens.views.controls import draw_text, text_width
from facelens.views.grid import SMALL, band_mode, value_text
from facelens.views.hover import Line
from facelens.views.painted import STEP, PaintedFaces
from facelens.views.panel import Desk
from facelens.views.shortcuts import enters, pressed
from facelens.words import number, plural, tr

LEAST, FAIR, MOST = 48, 72, 112  # px; sides of a face
ACROSS = 8  # faces in a row rather than larger ones, as long as they are of a fair size
LEFT, RIGHT, EDGE = 112, 16, 5  # px; words at the left, ground at the right, above and below
VALUE, UNDER, BETWEEN = 14, 4, 7  # px; the value, what is between it and its face, least between rows
GAP = 8
MOST_TOLD = 5  # members on the hover card
MODIFIERS = Qt.KeyboardModifier


@dataclass(frozen=True)
class Seats:
    """Where faces are: rows and columns of equal squares."""

    size: int
    columns: int
    pitch: float
    line: float

    @classmethod
    def make(cls, width: int, height: int) -> Seats:
        """Squares as large as the height allows; those above FAIR small enough for ACROSS of them."""
        line = (height - 2 * EDGE) / len(BANDS)
        room = max(width - LEFT - RIGHT, LEAST)
        across = max((room + GAP) // ACROSS - GAP, FAIR)
        size = max(LEAST, min(MOST, int(line) - VALUE - UNDER - BETWEEN, across) // STEP * STEP)
        columns = max(1, (room + GAP) // (size + GAP))
        pitch = (room - size) / (columns - 1) if columns > 1 else float(size)
        return cls(size, columns, min(pitch, 1.5 * size), line)

    def top(self, row: int) -> int:
        """The upper edge of the values of a row."""
        return EDGE + round(row * self.line + (self.line - self.height) / 2)

    @property
    def height(self) -> int:
        """Value and face."""
        return VALUE + UNDER + self.size

    def box(self, row: int, column: int) -> QRectF:
        x = LEFT + round(column * self.pitch)
        return QRectF(x, self.top(row) + VALUE + UNDER, self.size, self.size)

    def row_at(self, y: float) -> int:
        return min(max(int((y - EDGE) // self.line), 0), len(BANDS) - 1)

    def at(self, point: QPointF) -> tuple[int, int] | None:
        """(row, column) of the square or value under a point."""
        row, column = self.row_at(point.y()), int((point.x() - LEFT) // self.pitch)
        if not 0 <= column < self.columns:
            return None
        box = self.box(row, column).adjusted(0, -VALUE - UNDER, 0, 0)
        return (row, column) if box.contains(point) else None


class BandStrip(PaintedFaces):
    """Three rows of faces; see the module's words for what mouse and keys do."""

    def __init__(self, desk: Desk, parent: QWidget | None = None) -> None:
        super().__init__(desk, parent)
        self.describe: Callable[[int], Sequence[Line]] | None = None  # further lines of the hover card, by id
        self._name, self._lower = "", False
        self._ids: Ids = np.zeros(0, np.int64)
        self._values: Values = np.zeros(0)
        self._percentiles: Values = np.zeros(0)
        self._right: NDArray[np.int8] | None = None
        self._limit: float | None = None
        self._ordered: list[Places] = [np.zeros(0, np.int64) for _ in BANDS]  # places in `_ids`, by value
        self._walks = self._ordered  # the same, page by page
        self._pages = [0] * len(BANDS)
        self._seats = Seats.make(self.width(), self.height())
        self._anchor: int | None = None  # id from which Shift extends
        self._looked: int | None = None  # the current face that was brought into sight
        self._wheel = 0
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAccessibleName(tr("Faces by value"))
        self.setWhatsThis(
            tr(
                "Faces from low to high, a row for each band of percentiles. A click selects; Ctrl toggles, Shift "
                "takes the faces up to here, Alt takes away. The wheel and the page keys turn a row over."
            )
        )

    # What is shown

    def show_faces(
        self,
        ids: Ids,
        values: Values,
        percentiles: Values,
        *,
        right: NDArray[np.int8] | None = None,
        name: str = "",
        lower: bool = False,
    ) -> None:
        """Show faces by `values`, called `name`, of which high ones are refused; arrays are (N,) in the order of `ids`.

        `percentiles` are 0 to 100, NaN for faces that are in no band; `right` is 1, 0 for wrong, -1 for not known.
        With `lower` the values were turned round, and are written as they are: low ones are refused.
        """
        self._ids, self._values, self._percentiles = ids, values, percentiles
        self._right, self._name, self._lower = right, name, lower
        self._ordered = [band.places(values, percentiles) for band in BANDS]
        self._pages = [0] * len(BANDS)
        self._looked = None
        self._arrange()
        self.setAccessibleName(tr("Faces by {name}", name=name) if name else tr("Faces by value"))
        self.set_under(None)
        self.refresh(self.reads)

    def set_limit(self, limit: float | None) -> None:
        """Faces above it are refused."""
        self._limit = limit
        self.update()

    def refresh(self, changed: frozenset[str]) -> None:
        current = self.selection.current
        if current != self._looked:  # one that was chosen elsewhere is brought into sight
            self._looked = current
            self._bring(current)
        super().refresh(changed)

    def sizeHint(self) -> QSize:
        return QSize(876, 400)

    def minimumSizeHint(self) -> QSize:
        return QSize(LEFT + RIGHT + 3 * LEAST, 2 * EDGE + len(BANDS) * (LEAST + VALUE + UNDER + BETWEEN))

    # Which face is where

    def shown(self, row: int) -> Ids:
        """Ids of the faces that are seen in a row."""
        return self._ids[self._on(row, self._pages[row])]

    def _on(self, row: int, page: int) -> Places:
        """Which faces are on a page."""
        room = self._seats.columns
        return self._walks[row][page * room : (page + 1) * room]

    def _arrange(self) -> None:
        """Seats for the room there is, and who sits where."""
        self._seats = Seats.make(self.width(), self.height())
        self._walks = [band.walk(places, self._seats.columns) for band, places in zip(BANDS, self._ordered)]

    def box_of(self, face: int) -> QRectF | None:
        """Where a face is seen."""
        seat = self._seat(face)
        if seat is None or seat[1] != self._pages[seat[0]]:
            return None
        return self._seats.box(seat[0], seat[2])

    def key_rect(self, row: int) -> QRectF:
        """The words at the left of a row."""
        return QRectF(8, self._seats.top(row), LEFT - 16, self._seats.height)

    def turn_rect(self, row: int, by: int) -> QRectF:
        """The arrow that turns a row back (-1) or on (1)."""
        foot = self._words_top(row) + 49
        right = min(24 + 18 + text_width(self._page_text(row), 10), LEFT - 20)
        return QRectF(21, foot, 15, 15) if by < 0 else QRectF(right, foot, 15, 15)

    def face_at(self, point: QPointF) -> tuple[int, QRectF] | None:
        seat = self._seats.at(point)
        if seat is None:
            return None
        row, column = seat
        shown = self.shown(row)
        return (int(shown[column]), self._seats.box(row, column)) if column < len(shown) else None

    def _place(self, face: int | None) -> int | None:
        """Where a face is among all that were given."""
        found = np.flatnonzero(self._ids == face)
        return int(found[0]) if face is not None and len(found) else None

    def _seat(self, face: int | None) -> tuple[int, int, int] | None:
        """(row, page, column) of a face, whether it is in sight or not."""
        place = self._place(face)
        for row, walk in enumerate(self._walks if place is not None else ()):
            found = np.flatnonzero(walk == place)
            if len(found):
                page, column = divmod(int(found[0]), self._seats.columns)
                return row, page, column
        return None

    def _count(self, row: int) -> int:
        """How many pages a row has."""
        return max(1, -(-len(self._walks[row]) // self._seats.columns))

    def _bring(self, face: int | None) -> None:
        seat = self._seat(face)
        if seat is not None:
            self._pages[seat[0]] = seat[1]

    def turn(self, row: int, by: int) -> bool:
        """Show other faces of a band; False where there are none."""
        page = min(max(self._pages[row] + by, 0), self._count(row) - 1)
        if page == self._pages[row]:
            return False
        self._pages[row] = page
        self.set_under(None)
        self.update()
        return True

    def resizeEvent(self, event: QResizeEvent) -> None:
        first = [shown[0] if len(shown := self.shown(row)) else None for row in range(len(BANDS))]
        self._arrange()
        for row, face in enumerate(first):  # what a row began with stays in sight, the current face above all
            self._pages[row] = min(self._pages[row], self._count(row) - 1)
            if self._pages[row]:
                self._bring(face)
        self._bring(self.selection.current)
        self.set_under(None)

    # Painting

    def paintEvent(self, event: QPaintEvent) -> None:
        now = theme.current()
        painter = QPainter(self)
        painter.setRenderHints(QPainter.RenderHint.Antialiasing | QPainter.RenderHint.SmoothPixmapTransform)
        painter.fillRect(event.rect(), now.q("sunk"))
        # Backwards, because the newest request is decoded first and eyes start at the top.
        for row in reversed(range(len(BANDS))):
            self._paint_key(painter, now, row)
            self._paint_row(painter, now, row)

    def _paint_key(self, painter: QPainter, now: theme.Theme, row: int) -> None:
        band, box = self._written(row), self.key_rect(row)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(pg.colormap.get("viridis").map(band.middle, mode="qcolor"))
        painter.drawRoundedRect(QRectF(12, box.top(), 4, box.height()), 2, 2)
        y, width = self._words_top(row), LEFT - 32
        draw_text(painter, QRectF(24, y, width, 18), tr(band.word), "text", 13, bold=True)
        draw_text(painter, QRectF(24, y + 19, width, 15), _percentiles(band), "text3", 10)
        count = plural(len(self._walks[row]), "{n} face", "{n} faces")
        draw_text(painter, QRectF(24, y + 34, width, 15), count, "text3", 10)
        if self._count(row) > 1:
            self._paint_turns(painter, row)

    def _paint_turns(self, painter: QPainter, row: int) -> None:
        ends = {-1: 0, 1: self._count(row) - 1}
        for by, name in ((-1, "chevron-left"), (1, "chevron-right")):
            box = self.turn_rect(row, by)
            colour = "line2" if self._pages[row] == ends[by] else "text2"
            icons.paint(painter, QRectF(box.x() + 2, box.y() + 2, 11, 11), name, colour)
        left = self.turn_rect(row, -1)
        words = QRectF(left.right() + 2, left.y(), self.turn_rect(row, 1).x() - left.right(), 15)
        draw_text(painter, words, self._page_text(row), "text3", 10)

    def _paint_row(self, painter: QPainter, now: theme.Theme, row: int) -> None:
        shown = [(int(place), int(self._ids[place])) for place in self._on(row, self._pages[row])]
        if not shown:
            box = self._seats.box(row, 0)
            draw_text(painter, QRectF(box.x(), box.y(), 200, box.height()), tr("no face in this band"), "text3", 11)
        for column, (place, face) in reversed(list(enumerate(shown))):
            box = self._seats.box(row, column)
            self.paint_face(painter, face, box, refused=self._refused(place))
            if self._right is not None and self._right[place] == 0:
                side, gap = (13, 2) if self._seats.size <= SMALL else (15, 4)
                marks.wrong(painter, QRectF(box.right() - side - gap, box.top() + gap, side, side), now)
            ink = "text" if BANDS[row].falling or face in self.selection else "text2"
            value = QRectF(box.x() - GAP / 2, box.top() - VALUE - UNDER, box.width() + GAP, VALUE)
            draw_text(painter, value, self._value_text(place), ink, 11, align="centre")
        for column, (_, face) in enumerate(shown):  # over the pictures: a ring reaches towards the next one
            self.paint_ring(painter, face, self._seats.box(row, column))

    def _words_top(self, row: int) -> float:
        box = self.key_rect(row)
        return box.top() + (box.height() - (64 if self._count(row) > 1 else 49)) / 2

    def _page_text(self, row: int) -> str:
        return tr("{i} of {n}", i=self._pages[row] + 1, n=self._count(row))

    def _written(self, row: int) -> Band:
        return BANDS[row].written(self._lower)

    def _value_text(self, place: int) -> str:
        return value_text(-self._values[place] if self._lower else self._values[place])

    def _refused(self, place: int) -> bool:
        return self._limit is not None and bool(self._values[place] > self._limit)

    # Words about a face

    def lines(self, face: int) -> Sequence[Line]:
        place = self._place(face)
        if place is None:
            return ()
        value = f"{self._name} {self._value_text(place)}".strip()
        rank = self._percentiles[place]
        told: list[Line] = [f"{value} · p{round(100 - rank if self._lower else rank)}"]
        words = [text for text in (self._verdict(place), self._refusal(place)) if text]
        if words:
            told.append(", ".join(words))
        return [*told, *(self.describe(face) if self.describe is not None else ())]

    def _verdict(self, place: int) -> str:
        return {1: tr("right"), 0: tr("wrong")}.get(-1 if self._right is None else int(self._right[place]), "")

    def _refusal(self, place: int) -> str:
        return tr("refused") if self._refused(place) else ""

    def current_text(self) -> str:
        faces, seat = self.desk.workspace.faces, self._seat(self.selection.current)
        if faces is None or seat is None:
            return ", ".join(
                f"{tr(band.word)} {_percentiles(band)}: {plural(len(walk), '{n} face', '{n} faces')}"
                for band, walk in zip(map(self._written, range(len(BANDS))), self._walks)
            )
        row, page, column = seat
        face = self.selection.current
        assert face is not None
        at, count = faces.row_of(face), len(self._walks[row])
        told = [line if isinstance(line, str) else " ".join(line) for line in self.lines(face)]
        parts = [
            faces.label(at) if at is not None else "",
            *told,
            tr("selected") if face in self.selection else tr("not selected"),
            self.desk.thumbnails.broken(face) or "",
            tr(self._written(row).word),
            tr("{place} of {count}", place=page * self._seats.columns + column + 1, count=count),
        ]
        return ", ".join(part for part in parts if part)

    # Mouse

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self.set_under(None)
        if event.button() != Qt.MouseButton.LeftButton:
            return
        point, modifiers = event.position(), event.modifiers()
        row = self._seats.row_at(point.y())
        found = self.face_at(point)
        if found is not None:
            self._choose(found[0], modifiers)
        elif by := self._turn_at(row, point):
            self.turn(row, by)
        elif self.key_rect(row).contains(point):
            self.choose(self._ids[self._walks[row]], band_mode(modifiers))
        elif modifiers == MODIFIERS.NoModifier:
            self.choose(np.zeros(0, np.int64), Mode.REPLACE)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        found = self.face_at(event.position())
        if found is not None and event.button() == Qt.MouseButton.LeftButton and not event.modifiers():
            self.open_face(found[0])
        else:
            self.mousePressEvent(event)

    def wheelEvent(self, event: QWheelEvent) -> None:
        turned = event.angleDelta()
        self._wheel += turned.y() or turned.x()
        steps = int(self._wheel / 120)
        self._wheel -= steps * 120
        moved = self.turn(self._seats.row_at(event.position().y()), -steps) if steps else True
        event.setAccepted(moved)  # where a row ends the wheel is for what lies around

    def _turn_at(self, row: int, point: QPointF) -> int:
        if self._count(row) > 1:
            for by in (-1, 1):
                if self.turn_rect(row, by).adjusted(-3, -3, 3, 3).contains(point):
                    return by
        return 0

    def _choose(self, face: int, modifiers: MODIFIERS) -> None:
        """What a click on a face does."""
        control = bool(modifiers & MODIFIERS.ControlModifier)
        self._looked = face
        if modifiers & MODIFIERS.AltModifier:
            self.choose(np.array([face]), Mode.REMOVE)
        elif modifiers & MODIFIERS.ShiftModifier:
            self.choose(self._range_to(face), Mode.ADD if control else Mode.REPLACE, current=face)
        else:
            self._anchor = face
            self.choose(np.array([face]), Mode.TOGGLE if control else Mode.REPLACE, current=face)
        self.tell_screen_readers(aloud=True)

    def _range_to(self, face: int) -> Ids:
        """From the anchor to a face, page after page; from another row it starts anew."""
        end, start = self._seat(face), self._seat(self._anchor)
        assert end is not None
        if start is None or start[0] != end[0]:
            self._anchor, start = face, end
        first, last = sorted(page * self._seats.columns + column for _, page, column in (start, end))
        return self._ids[self._walks[end[0]][first : last + 1]]

    # Keyboard

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, modifiers = Qt.Key(event.key()), event.modifiers() & ~MODIFIERS.KeypadModifier
        self.set_under(None)
        current = self.selection.current
        seat = self._seat(current)
        target = self._target(key, seat)
        if target is not None:
            self._go(target, modifiers)
        elif seat is None or current is None:
            super().keyPressEvent(event)
        elif key == Qt.Key.Key_Space:
            self._anchor = current
            self.choose(np.array([current]), Mode.TOGGLE)
        elif enters(event) or pressed(event, "view.loupe"):
            self.open_face(current)
        elif pressed(event, "select.none") and len(self.selection):
            self.choose(np.zeros(0, np.int64), Mode.REPLACE)
        else:
            super().keyPressEvent(event)

    def _target(self, key: Qt.Key, seat: tuple[int, int, int] | None) -> int | None:
        """The face a key leads to; None for keys that do not move."""
        keys = Qt.Key
        if key not in (
            keys.Key_Left, keys.Key_Right, keys.Key_Up, keys.Key_Down,
            keys.Key_Home, keys.Key_End, keys.Key_PageUp, keys.Key_PageDown,
        ):  # fmt: skip
            return None
        if seat is None:
            return next((int(shown[0]) for row in range(len(BANDS)) if len(shown := self.shown(row))), None)
        row, page, column = seat
        if key in (keys.Key_Up, keys.Key_Down):
            return self._beside(row, column, -1 if key == keys.Key_Up else 1)
        here, last = len(self._on(row, page)), self._count(row) - 1
        match key:
            case keys.Key_Left:
                page, column = (page, column - 1) if column or not page else (page - 1, self._seats.columns)
            case keys.Key_Right:
                page, column = (page, column + 1) if column + 1 < here or page == last else (page + 1, 0)
            case keys.Key_Home:
                page, column = 0, 0
            case keys.Key_End:
                page, column = last, self._seats.columns
            case keys.Key_PageUp:
                page -= 1
            case _:
                page += 1
        on = self._ids[self._on(row, min(max(page, 0), last))]
        return int(on[min(max(column, 0), len(on) - 1)])

    def _beside(self, row: int, column: int, by: int) -> int | None:
        """The face in the same column of the next row that has any, as far as it is seen."""
        while 0 <= row + by < len(BANDS):
            row += by
            shown = self.shown(row)
            if len(shown):
                return int(shown[min(column, len(shown) - 1)])
        return self.selection.current

    def _go(self, face: int, modifiers: MODIFIERS) -> None:
        """Move the current face; it is selected too, unless Ctrl is held."""
        if self._anchor is None:
            self._anchor = self.selection.current
        self._bring(face)
        if modifiers & MODIFIERS.ControlModifier:
            self._looked = face
            self.look(face)
            self.tell_screen_readers(aloud=True)
        else:
            self._choose(face, modifiers & MODIFIERS.ShiftModifier)


def _percentiles(band: Band) -> str:
    return tr("p{low} to p{high}", low=band.low, high=band.high)


def disagreement(members: Sequence[str], apart: NDArray[np.float32]) -> list[Line]:
    """How far each member is from the mean of the others, the farthest first, for `describe`.

    >>> disagreement(["plain", "residual"], np.array([0.12, 0.31], np.float32))
    ['away from the others', ('residual', '0.31'), ('plain', '0.12')]
    """
    known = [i for i in np.argsort(-apart, kind="stable") if isfinite(apart[i])]
    told: list[Line] = [(members[i], number(float(apart[i]), 2)) for i in known[:MOST_TOLD]]
    if len(known) > MOST_TOLD:
        told.append(plural(len(known) - MOST_TOLD, "and {n} more", "and {n} more"))
    return [tr("away from the others"), *told] if told else []
