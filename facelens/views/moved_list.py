"""Who moved most from old to new: people, or the groups of a column, by the mean way of their faces.

The face is the one of the group that moved most. A click selects the group and looks at that face (Shift adds, Alt
takes away); a double click shows it large. Keys: up and down walk, Enter selects, E shows it large.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from facelens.analyses.moves import grouped
from facelens.analyses.projection import Projection
from facelens.images.faceset import Ids, Labels
from facelens.session.selection import Mode
from facelens.views import theme
from facelens.views.controls import draw_text, text_width
from facelens.views.grid import band_mode
from facelens.views.hover import Line
from facelens.views.painted_rows import ENTER, KEYS, PaintedRows
from facelens.views.panel import Desk
from facelens.views.shortcuts import pressed
from facelens.words import escaped, number, plural, tr

ROW, SIDE, EDGE = 38, 30, 10  # px of a row, of the face in it, left and right
BAR = 3  # px, high


class MovedList(PaintedRows):
    """See the module's words."""

    head = 22
    commands = ("view.loupe",)

    def __init__(self, desk: Desk, parent: QWidget | None = None) -> None:
        super().__init__(desk, parent)
        self._ids: Ids = np.zeros(0, np.int64)
        self._moved: NDArray[np.float32] = np.zeros(0, np.float32)
        self._codes: NDArray[np.int64] = np.zeros(0, np.int64)  # of each face
        self._names: Sequence[str] = ()
        self._people = False
        self._told_as = ""
        self._found = grouped(self._moved, self._codes)
        self._places: dict[int, NDArray[np.int64]] = {}  # of the faces of a row, the one that moved most first
        self._cursor = -1
        self.bar.setAccessibleName(tr("Scroll the groups"))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAccessibleName(tr("Who moved most"))
        self.setWhatsThis(
            tr(
                "Who moved most from old to new, by the mean way of their faces. A click selects the group; Shift "
                "adds, Alt takes away. Up and down walk, Enter selects."
            )
        )

    def show_moved(self, found: Projection | None, labels: Labels | None, *, people: bool = True) -> None:
        """Groups of the faces of a map with two models, by names (N,) in its order, which may be those of `people`."""
        self._people = people
        joint = found is not None and found.how == "joint"
        self._told_as = tr("mean 1 − cosine of old and new") if joint else tr("mean way, in shares of the spread")
        if found is None or found.moved is None or labels is None:
            self._ids, self._moved, self._codes, self._names = (
                np.zeros(0, np.int64), np.zeros(0, np.float32), np.zeros(0, np.int64), ()
            )  # fmt: skip
        else:
            self._ids, self._moved = found.ids, found.moved
            self._codes, self._names = labels.codes.astype(np.int64), labels.names
        self._found, self._places, self._cursor = grouped(self._moved, self._codes), {}, -1
        self.roll()
        self.refresh(self.reads)

    @property
    def count(self) -> int:
        return len(self._found.codes)

    @property
    def pitch(self) -> float:
        return ROW

    def sizeHint(self) -> QSize:
        return QSize(232, 8 * ROW)

    def minimumSizeHint(self) -> QSize:
        return QSize(180, 2 * ROW)

    def name(self, place: int) -> str:
        """What the group of a row is called."""
        name = escaped(self._names[int(self._found.codes[place])])
        return name.replace("_", " ") if self._people else name

    def group(self, place: int) -> Ids:
        """The faces of a row, the one that moved most first."""
        if place not in self._places:
            inside = np.flatnonzero(self._codes == self._found.codes[place])
            self._places[place] = inside[np.argsort(-self._moved[inside], kind="stable")]
        return self._ids[self._places[place]]

    # Words

    def lines(self, face: int) -> Sequence[Line]:
        at = int(np.flatnonzero(self._ids == face)[0])
        return ((tr("moved"), number(self._moved[at], 2)), tr("most in its group"))

    def _told(self, place: int) -> str:
        n = plural(int(self._found.faces[place]), "{n} face", "{n} faces")
        return tr("{name}, {n}, moved {by}", name=self.name(place), n=n, by=number(self._found.moved[place], 2))

    def current_text(self) -> str:
        if not self.count:
            return tr("nobody")
        return self._told(self._cursor) if 0 <= self._cursor < self.count else self._told(0)

    # Where things are

    def face_at(self, point: QPointF) -> tuple[int, QRectF] | None:
        place = self.place_at(point.y())
        if place is None or not self._box(place).contains(point):
            return None
        return int(self.group(place)[0]), self._box(place)

    def _box(self, place: int) -> QRectF:
        return QRectF(EDGE, round(self.top(place) + (ROW - SIDE) / 2), SIDE, SIDE)

    # Painting

    def paintEvent(self, event: QPaintEvent) -> None:
        now, painter = theme.current(), QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.fillRect(self.rect(), now.q("base"))
        most = float(self._found.moved[0]) if self.count else 1.0
        chosen = self.selection.ids
        for place in self.seen():
            self._paint_row(painter, place, most, chosen)
        painter.fillRect(QRectF(0, 0, self.width(), self.head), now.q("base"))
        draw_text(painter, QRectF(EDGE, 3, self.width() - 2 * EDGE, 16), self._told_as, "text3", 10)

    def _paint_row(self, painter: QPainter, place: int, most: float, chosen: Ids) -> None:
        now, top, right = theme.current(), self.top(place), self.body.right() - EDGE
        ids = self.group(place)
        if len(chosen) >= len(ids) and bool(np.isin(ids, chosen).all()):
            painter.fillRect(QRectF(0, top, self.body.width(), ROW), now.q("soft"))
        self.paint_face(painter, int(ids[0]), self._box(place))
        self.paint_ring(painter, int(ids[0]), self._box(place))
        left, value = EDGE + SIDE + 8, number(self._found.moved[place], 2)
        room = right - left - text_width(value, 11) - 8
        draw_text(painter, QRectF(left, top + 4, room, 15), self.name(place), "text", 11)
        draw_text(painter, QRectF(right - 60, top + 4, 60, 15), value, "text", 11, align="right")
        said = f"{int(self._found.faces[place]):,}"
        draw_text(painter, QRectF(right - 60, top + 19, 60, 13), said, "text3", 10, align="right")
        long = right - left - text_width(said, 10) - 8
        share = float(self._found.moved[place]) / most if most > 0 else 0.0
        painter.fillRect(QRectF(left, top + 24, long, BAR), now.q("line"))
        painter.fillRect(QRectF(left, top + 24, long * max(share, 0.0), BAR), now.q("text2"))
        if place == self._cursor and self.by_key and self.hasFocus():
            painter.setPen(QPen(now.q("accent"), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(QRectF(2, top + 1, self.body.width() - 4, ROW - 2), 4, 4)

    # Pointer and keys

    def mousePressEvent(self, event: QMouseEvent) -> None:
        place = self.place_at(event.position().y())
        if event.button() == Qt.MouseButton.LeftButton and place is not None:
            self._cursor = place
            self._choose(place, band_mode(event.modifiers()))

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        place = self.place_at(event.position().y())
        if place is not None:
            self.open_face(int(self.group(place)[0]))

    def _choose(self, place: int, mode: Mode) -> None:
        ids = self.group(place)
        self.choose(ids, mode, current=int(ids[0]))
        self.tell_screen_readers()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = Qt.Key(event.key())
        to = self.target(key, self._cursor if self._cursor >= 0 else None)
        if to is not None:
            self._cursor, self.by_key = to, True
            self.bring(to)
            self.tell_screen_readers(aloud=True)
            self.update()
        elif key in (*ENTER, KEYS.Key_Space) and self._cursor >= 0:
            self._choose(self._cursor, band_mode(event.modifiers()))
        elif pressed(event, "view.loupe") and self._cursor >= 0:
            self.open_face(int(self.group(self._cursor)[0]))
        else:
            super().keyPressEvent(event)
