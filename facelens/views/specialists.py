"""What each learner sees that no other does: a row of faces for each, in the corner of a face the one it found of the
same person, under it at which rank the best of the others finds the person. Learners without such faces come last.

A click on a face selects it (Ctrl toggles, Shift adds, Alt takes away), on the words at the left or on the number at
the right all of the row. Double-click compares a face with the one that was found. Arrows walk, Enter compares, on the
words it selects all; E shows a face large.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from facelens.analyses.divided import FAR_OFF, Learners
from facelens.figures.learners import NOBODY, rank_text
from facelens.figures.part_words import part_name
from facelens.images.faceset import Ids
from facelens.session.selection import Mode
from facelens.views import marks, theme
from facelens.views.controls import draw_text, text_width
from facelens.views.grid import band_mode
from facelens.views.hearing import tell
from facelens.views.hover import Line
from facelens.views.painted import STEP, PaintedFaces
from facelens.views.panel import Desk
from facelens.views.shortcuts import pressed
from facelens.words import plural, tr

LIMITS = (1, 5, 10, FAR_OFF)  # ranks beyond which all other learners find somebody; the last is the paper's
LEFT, RIGHT, EDGE, GAP = 124, 12, 4, 8  # px; words, ground at the right and above, between faces
LEAST, MOST, BETWEEN = 48, 96, 12  # px; sides of a face, least between rows
RANK = 18  # px of the words under a face
LOWEST, THIN = LEAST + RANK + BETWEEN, 26  # px of a row with faces, and without
INSET = 0.42  # of a face: the one that was found
TOLD = 16  # ranks on the hover card
HEAD = -1  # the place of the keyboard on the words of a row

Seat = tuple[int, int]  # row, column


@dataclass(frozen=True)
class Seats:
    """Where faces are: a row for each learner, a thin one where it has none."""

    size: int
    columns: int
    tops: tuple[float, ...]  # of the rows, and where the last one ends

    @classmethod
    def make(cls, width: int, height: int, some: Sequence[bool]) -> Seats:
        """Squares as large as the height allows, for rows of which `some` have faces."""
        full = sum(some)
        free = height - 2 * EDGE - THIN * (len(some) - full)
        line = min(max(free / max(full, 1), LOWEST), MOST + RANK + 3 * BETWEEN)
        size = min(MOST, int(line) - RANK - BETWEEN) // STEP * STEP
        columns = max(1, (width - LEFT - RIGHT + GAP) // (size + GAP))
        tops = accumulate((line if one else THIN for one in some), initial=float(EDGE))
        return cls(size, columns, tuple(tops))

    @staticmethod
    def least(some: Sequence[bool]) -> int:
        """The height that is needed."""
        return 2 * EDGE + sum(LOWEST if one else THIN for one in some)

    def row(self, row: int, width: float) -> QRectF:
        """All of a row."""
        return QRectF(4, self.tops[row] + 1, width - 8, self.tops[row + 1] - self.tops[row] - 2)

    def at(self, y: float) -> int:
        """The row at a height; -1 above the first one."""
        return bisect_right(self.tops, y) - 1

    def box(self, row: int, column: int) -> QRectF:
        top = (self.tops[row] + self.tops[row + 1] - self.size - RANK) / 2
        return QRectF(LEFT + column * (self.size + GAP), round(top), self.size, self.size)

    def inset(self, row: int, column: int) -> QRectF:
        """Where the face that was found is."""
        box, side = self.box(row, column), round(self.size * INSET)
        return QRectF(box.right() - side, box.bottom() - side, side, side)


class Specialists(PaintedFaces):
    """See the module's words."""

    part_chosen = Signal(int)
    pair_wanted = Signal(object, object)  # a face, and the one that was found
    went = Signal(int)  # the keyboard is in the row around this pixel

    def __init__(self, desk: Desk, parent: QWidget | None = None) -> None:
        super().__init__(desk, parent)
        tell(self, self._tip_at)
        self.found: Learners | None = None
        self.limit, self.part = LIMITS[0], -1
        self._margins: list[NDArray[np.int32]] = []  # of each specialist: the lowest rank in another learner, falling
        self._order: NDArray[np.int64] = np.zeros(0, np.int64)
        self._listed: list[int] = []  # learners as they are listed
        self._cursor: Seat = (0, HEAD)
        self._by_key = False
        self._seats = Seats.make(self.width(), self.height(), ())
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAccessibleName(tr("Faces that one learner alone finds"))
        self.setWhatsThis(
            tr(
                "A row of faces for each learner: those that no other learner finds. A click selects a face, on the "
                "words at the left all of the row; a double click or Enter compares it with the one that was found. "
                "Arrows walk."
            )
        )

    # What is shown

    def show_learners(self, found: Learners | None) -> None:
        """Other learners, or none."""
        same = found is not None and self.found is not None and found.ranks is self.found.ranks
        self.found = found
        if not same:
            self._order = np.argsort(found.queries) if found is not None else np.zeros(0, np.int64)
            K = found.own.layout.parts if found is not None else 0
            self._margins = [self._margin(k) for k in range(K)]
            self._cursor = (0, HEAD)
        self._arrange()

    def _margin(self, part: int) -> NDArray[np.int32]:
        assert self.found is not None
        ranks = self.found.ranks[self._places(self.found.specialists[part])]
        return np.asarray(np.delete(ranks, part, axis=1).min(axis=1, initial=NOBODY), np.int32)

    def set_limit(self, limit: int) -> None:
        """All other learners find somebody beyond this rank only."""
        self.limit = limit
        self._arrange()

    def set_part(self, part: int) -> None:
        """Another learner is the current one."""
        if part != self.part:
            self.part = part
            self.update()

    def counts(self, limit: int) -> int:
        """How many faces there are at a limit, in all rows."""
        return sum(int((margins > limit).sum()) for margins in self._margins)

    @property
    def rows(self) -> int:
        """K."""
        return len(self._margins)

    def row_of(self, part: int) -> int:
        """The row of a learner."""
        return self._listed.index(part)

    def ids(self, row: int) -> Ids:
        """All faces of a row, the widest margin first."""
        assert self.found is not None
        part = self._listed[row]
        return self.found.specialists[part][: int((self._margins[part] > self.limit).sum())]

    def mate(self, row: int, column: int) -> int:
        """The face that was found."""
        assert self.found is not None
        return int(self.found.found[self._listed[row]][column])

    def _rank(self, row: int, column: int) -> int:
        """At which rank the best of the others finds the person."""
        return int(self._margins[self._listed[row]][column])

    def shown(self, row: int) -> Ids:
        """The faces of a row that are seen; where there are more, the last place tells how many."""
        ids, room = self.ids(row), self._seats.columns
        return ids if len(ids) <= room else ids[: room - 1]

    # Words

    def name(self, row: int) -> str:
        """What a row is called."""
        assert self.found is not None
        return part_name(self.found.own.layout, self._listed[row])

    def count_text(self, row: int) -> str:
        """How many faces a row has."""
        n = len(self.ids(row))
        return plural(n, "{n} only it finds", "{n} only it finds") if n else tr("no face that only it finds")

    def lines(self, face: int) -> Sequence[Line]:
        """The rank of the nearest face of the same person, learner by learner; of many learners the best ones."""
        found = self.found
        if found is None or not len(places := self._places(np.array([face], np.int64))):
            return ()
        ranks = found.ranks[int(places[0])]
        parts = list(range(len(ranks)))
        if len(parts) > TOLD:
            parts = sorted(sorted(parts, key=lambda k: (ranks[k] == 0, ranks[k]))[:TOLD])
        texts = [rank_text(int(ranks[k])) for k in parts]
        if len(parts) <= TOLD // 2:
            told: list[Line] = [(part_name(found.own.layout, k), text) for k, text in zip(parts, texts)]
        else:
            short = [f"{k + 1}: {text}" for k, text in zip(parts, texts)]
            half = -(-len(short) // 2)
            told = [(a, b) for a, b in zip(short[:half], [*short[half:], ""])]
        rest = len(ranks) - len(parts)
        more = [plural(rest, "and {n} more, farther", "and {n} more, farther")] if rest else []
        return [tr("rank of the person"), *told, *more]

    def current_text(self) -> str:
        if not self.rows:
            return ""
        row, column = self._cursor
        head = f"{self.name(row)}, {self.count_text(row)}"
        faces = self.desk.workspace.faces
        if column == HEAD or faces is None:
            return head
        face = int(self.shown(row)[column])
        at = faces.row_of(face)
        told = [line if isinstance(line, str) else " ".join(line) for line in self.lines(face)]
        place = tr("{place} of {count}", place=column + 1, count=len(self.ids(row)))
        return ", ".join([faces.label(at) if at is not None else "", *told, head, place])

    # Which face is where

    def _places(self, ids: Ids) -> NDArray[np.int64]:
        """Rows of `ranks` of those of the faces that searched."""
        assert self.found is not None
        queries = self.found.queries
        if not len(queries):
            return np.zeros(0, np.int64)
        at = np.minimum(np.searchsorted(queries, ids, sorter=self._order), len(queries) - 1)
        rows = self._order[at]
        return np.asarray(rows[queries[rows] == ids], np.int64)

    def _arrange(self) -> None:
        """Seats for the room there is."""
        some = [bool((margins > self.limit).any()) for margins in self._margins]
        self._listed = sorted(range(len(some)), key=lambda part: not some[part])
        some = [some[part] for part in self._listed]
        self.setMinimumHeight(Seats.least(some))
        self._seats = Seats.make(self.width(), self.height(), some)
        self.set_under(None)
        self._move(*self._cursor)
        self.refresh(self.reads)

    def _seat_at(self, point: QPointF) -> Seat | None:
        """The face under a point, HEAD for the words and for the number at the end."""
        row = self._seats.at(point.y())
        if not 0 <= row < self.rows:
            return None
        if point.x() < LEFT - GAP / 2:
            return row, HEAD
        column = int((point.x() - LEFT) // (self._seats.size + GAP))
        if not 0 <= column < self._seats.columns or not self._seats.box(row, column).contains(point):
            return None
        shown = len(self.shown(row))
        return (row, column) if column < shown else (row, HEAD) if shown < len(self.ids(row)) else None

    def face_at(self, point: QPointF) -> tuple[int, QRectF] | None:
        seat = self._seat_at(point)
        if seat is None or seat[1] == HEAD:
            return None
        inset = self._seats.inset(*seat)
        if inset.contains(point):
            return self.mate(*seat), inset
        return int(self.shown(seat[0])[seat[1]]), self._seats.box(*seat)

    def box_of(self, face: int) -> QRectF | None:
        """Where a face is seen."""
        for row in range(self.rows):
            found = np.flatnonzero(self.shown(row) == face)
            if len(found):
                return self._seats.box(row, int(found[0]))
        return None

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._arrange()

    def sizeHint(self) -> QSize:
        return QSize(700, 360)

    def minimumSizeHint(self) -> QSize:
        return QSize(LEFT + RIGHT + 3 * LEAST, LOWEST)

    # Painting

    def paintEvent(self, event: QPaintEvent) -> None:
        now = theme.current()
        painter = QPainter(self)
        painter.setRenderHints(QPainter.RenderHint.Antialiasing | QPainter.RenderHint.SmoothPixmapTransform)
        painter.fillRect(event.rect(), now.q("sunk"))
        if not self.rows:
            return
        first, last = (self._seats.at(y) for y in (event.rect().top(), event.rect().bottom()))
        first, last = max(first, 0), min(last, self.rows - 1)
        for row in reversed(range(first, last + 1)):  # what is asked for last is decoded first
            self._paint_row(painter, now, row)

    def _paint_row(self, painter: QPainter, now: theme.Theme, row: int) -> None:
        area = self._seats.row(row, self.width())
        current = self._listed[row] == self.part
        if current:
            painter.setPen(QPen(now.q("accent"), 1.4))
            painter.setBrush(now.q(theme.mix(now.sunk, now.soft, 0.4)))
            painter.drawRoundedRect(area, 5, 5)
        middle, width = area.center().y(), LEFT - 24
        ids, shown = self.ids(row), self.shown(row)
        name = QRectF(14, middle - (17 if len(ids) else 9), width, 18)
        count = QRectF(14, middle + 1, width, 15) if len(ids) else QRectF(LEFT, middle - 8, self.width() - LEFT, 16)
        draw_text(painter, name, self.name(row), "text" if len(ids) else "text2", 12, bold=current)
        draw_text(painter, count, self.count_text(row), "text3", 10)
        if self._by_key and self.hasFocus() and self._cursor == (row, HEAD):
            painter.setPen(QPen(now.q("accent"), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(QRectF(8, name.y() - 3, LEFT - 16, 40 if len(ids) else 23), 4, 4)
        for column, face in reversed(list(enumerate(map(int, shown)))):
            self._paint_seat(painter, now, row, column, face)
        if len(shown) < len(ids):
            box = self._seats.box(row, len(shown))
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(now.q("raised"))
            painter.drawRoundedRect(box, 3, 3)
            draw_text(painter, box, f"+{len(ids) - len(shown):,}", "text2", 12, align="centre")

    def _paint_seat(self, painter: QPainter, now: theme.Theme, row: int, column: int, face: int) -> None:
        box, inset = self._seats.box(row, column), self._seats.inset(row, column)
        self.paint_face(painter, face, box)
        mate = self.mate(row, column)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(now.q("sunk"))
        painter.drawRoundedRect(inset.adjusted(-2, -2, 1, 1), 4, 4)
        self.paint_face(painter, mate, inset)
        self.paint_ring(painter, mate, inset)
        marks.right(painter, QRectF(box.right() - 16, box.top() + 3, 13, 13), now)
        rank = rank_text(self._rank(row, column))
        words = tr("others {rank}", rank=rank)
        under = QRectF(box.x() - GAP / 2, box.bottom() + 5, box.width() + GAP, RANK - 5)
        fits = text_width(words, 10) <= under.width()
        draw_text(painter, under, words if fits else rank, "text2", 10, align="centre")
        self.paint_ring(painter, face, box)

    # Mouse

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self.set_under(None)
        self._by_key = False
        seat = self._seat_at(event.position())
        if event.button() != Qt.MouseButton.LeftButton:
            return
        found, held = self.face_at(event.position()), band_mode(event.modifiers())
        if seat is None:
            if held is Mode.REPLACE:
                self.choose(np.zeros(0, np.int64), held)
        elif found is None:
            self._move(*seat)
            self._choose_row(seat[0], held)
        else:
            self._move(*seat)
            self.choose(np.array([found[0]]), held, current=found[0] if held is not Mode.REMOVE else None)
        self.tell_screen_readers(aloud=True)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        seat = self._seat_at(event.position())
        if event.button() == Qt.MouseButton.LeftButton and seat is not None and seat[1] != HEAD:
            self._open(*seat)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        super().mouseMoveEvent(event)
        over = self._seat_at(event.position()) is not None
        self.setCursor(Qt.CursorShape.PointingHandCursor if over else Qt.CursorShape.ArrowCursor)

    def _tip_at(self, spot: QPointF) -> str:
        seat = self._seat_at(spot)
        return self._tip(seat[0]) if seat is not None and seat[1] == HEAD else ""

    def _tip(self, row: int) -> str:
        name, n = self.name(row), len(self.ids(row))
        if not n:
            return tr("Whom {name} finds first, another finds within rank {rank}.", name=name, rank=self.limit)
        return tr(
            "{name} finds them first; all others beyond rank {rank} only. Click selects all {n}.",
            name=name,
            rank=self.limit,
            n=n,
        )

    def _choose_row(self, row: int, held: Mode) -> None:
        ids = self.ids(row)
        self.choose(ids, held, current=int(ids[0]) if len(ids) and held is Mode.REPLACE else None)
        self.part_chosen.emit(self._listed[row])

    def _open(self, row: int, column: int) -> None:
        self.pair_wanted.emit(int(self.shown(row)[column]), self.mate(row, column))

    # Keyboard

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, (row, column) = Qt.Key(event.key()), self._cursor
        step = {
            Qt.Key.Key_Left: (0, -1),
            Qt.Key.Key_Right: (0, 1),
            Qt.Key.Key_Up: (-1, 0),
            Qt.Key.Key_Down: (1, 0),
        }.get(key)
        enter = key in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        if not self.rows:
            super().keyPressEvent(event)
            return
        self._by_key = True
        if step is not None:
            self._move(row + step[0], column + step[1])
            if self._cursor[1] != HEAD:
                face = int(self.shown(self._cursor[0])[self._cursor[1]])
                self.choose(np.array([face]), Mode.REPLACE, current=face)
            self.went.emit(round(self._seats.row(self._cursor[0], 0).center().y()))
            self.tell_screen_readers(aloud=True)
        elif column == HEAD and (enter or key == Qt.Key.Key_Space):
            self._choose_row(row, band_mode(event.modifiers()))
        elif column != HEAD and enter:
            self._open(row, column)
        elif column != HEAD and pressed(event, "view.loupe"):
            self.open_face(int(self.shown(row)[column]))
        else:
            super().keyPressEvent(event)

    def _move(self, row: int, column: int) -> None:
        """Put the keyboard on a row or one of its faces, as far as there are so many."""
        row = min(max(row, 0), max(self.rows - 1, 0))
        last = len(self.shown(row)) - 1 if self.rows else HEAD
        self._cursor = row, min(max(column, HEAD), last)
        self.update()

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self._by_key = event.reason() in (Qt.FocusReason.TabFocusReason, Qt.FocusReason.BacktabFocusReason)
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.update()
