"""The shortlist by cosine beside the same by the second stage, the two places of each face joined by a line.

A click makes a face the candidate that is compared with the query, Shift+click searches for it, Ctrl and Alt select as
in the grid, a double click asks to explain it. Keys: up and down walk a column and choose, left and right follow the
line to the other one, M jumps to the first right face, Enter explains, Space selects, E shows the face large.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QAbstractAnimation, QEasingCurve, QPointF, QRectF, QSize, Qt, QVariantAnimation, Signal
from PySide6.QtGui import QContextMenuEvent, QKeyEvent, QMouseEvent, QPainter, QPainterPath, QPaintEvent, QPen
from PySide6.QtWidgets import QMenu, QSizePolicy, QWidget

from facelens.session.selection import Mode
from facelens.views import marks, motion, portrait, theme
from facelens.views.controls import draw_text, text_width
from facelens.views.grid import MODIFIERS
from facelens.views.hover import Line
from facelens.views.painted import STEP
from facelens.views.painted_rows import ENTER, KEYS, PaintedRows
from facelens.views.panel import Desk
from facelens.views.ranking import RIGHT, Ranking
from facelens.views.shortcuts import pressed
from facelens.words import number, tr

FLOW = 150  # ms in which ranks move
LOW, HIGH = 62, 76  # px of a row
EDGE, APART, BESIDE = 4, 6, 8  # px; left of all, from the rank to the face, from the face to its words
LINE = 13  # px of a line of words
MARK = 14  # px
BEYOND = 1.5  # rows out of sight to which a line still leads
BEFORE, AFTER = 0, 1  # stages

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Plan:
    """Where the two columns and what is in a row are."""

    pitch: float
    side: int  # of a face
    rank: float  # px of the widest rank
    column: float
    gap: float  # for the lines between the columns

    @classmethod
    def make(cls, width: float, room: float, count: int) -> Plan:
        """Columns over the width; rows as high as lets whole ones fill the room."""
        rows = max(1, int(room // LOW))
        pitch = max(LOW, min(HIGH, room / rows))
        gap = min(max(0.16 * width, 36), 96)
        column = (width - EDGE - gap) / 2
        side = int(min(pitch - 16, column / 3)) // STEP * STEP
        return cls(pitch, side, text_width(f"{count:,}", 10) + 5, column, gap)

    def left(self, stage: int) -> float:
        """Where a column begins."""
        return EDGE + stage * (self.column + self.gap)

    def box(self, stage: int, top: float) -> QRectF:
        """A row of a column."""
        return QRectF(self.left(stage), top, self.column, self.pitch)

    def face(self, stage: int, top: float) -> QRectF:
        """The picture in a row."""
        x = round(self.left(stage) + self.rank + APART)
        return QRectF(x, round(top + (self.pitch - self.side) / 2), self.side, self.side)

    def words(self, stage: int, top: float) -> QRectF:
        """What is written beside it."""
        left = self.face(stage, top).right() + BESIDE
        return QRectF(left, top, max(0.0, self.left(stage) + self.column - 3 - left), self.pitch)


class Slopes(PaintedRows):
    """See the module's words."""

    candidate_chosen = Signal(object)  # id
    explain_wanted = Signal(object)  # id
    query_wanted = Signal(object)  # id
    select = Signal(object, object)  # ids, Mode

    foot = 12
    keys = (KEYS.Key_M,)
    commands = ("view.loupe",)

    def __init__(self, desk: Desk, parent: QWidget | None = None) -> None:
        super().__init__(desk, parent)
        self.ranking: Ranking | None = None
        self.candidate: int | None = None
        self._stage, self._cursor = AFTER, -1  # where the keyboard is: a column and an entry
        self._from: Floats = np.zeros(0)  # (k,) places of the second stage when the move began
        self._now: Floats = np.zeros(0)  # (k,) as they are drawn
        self._plan = Plan.make(380, 560, 100)
        self._flow = QVariantAnimation(self)
        self._flow.setStartValue(0.0)
        self._flow.setEndValue(1.0)
        self._flow.setDuration(FLOW)
        # Fast at first: while alpha is dragged every step begins anew, and the faces must not fall behind.
        self._flow.setEasingCurve(QEasingCurve.Type.OutCubic)
        self._flow.valueChanged.connect(self._on_flow)
        self.bar.setAccessibleName(tr("Scroll the shortlist"))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAccessibleName(tr("Ranks before and after"))
        self.setWhatsThis(
            tr(
                "The shortlist by cosine beside the same by the second stage. A click compares a face with the query, "
                "Shift+click searches for it. Up and down walk a column, left and right change it, Enter explains, "
                "Space selects."
            )
        )

    # What is shown

    def show_ranking(self, ranking: Ranking | None) -> None:
        """Another ranking; where it is of the same faces they move to their new places."""
        before, self.ranking = self.ranking, ranking
        self.set_under(None)
        self._flow.stop()
        if ranking is None:
            self._now, self._cursor = np.zeros(0), -1
        elif not ranking.same_faces(before):
            self._now, self._cursor = ranking.place.astype(np.float64), -1
            self.bar.setValue(0)
        elif not np.array_equal(self._now, ranking.place):
            self._begin(ranking)
        self.roll()
        self._point_at_candidate()
        self.update()
        self.tell_screen_readers()

    def _begin(self, ranking: Ranking) -> None:
        """Let the faces move; at once where the desktop wants no motion."""
        if not motion.wanted(self):
            self._now = ranking.place.astype(np.float64)
            return
        self._from = self._now
        self._flow.start()

    def _on_flow(self, share: float) -> None:
        if self.ranking is not None and self._flow.state() == QAbstractAnimation.State.Running:
            self._now = self._from + (self.ranking.place - self._from) * share
            self.update()

    @property
    def moving(self) -> bool:
        """Whether faces are on the way to their places."""
        return self._flow.state() == QAbstractAnimation.State.Running

    def set_candidate(self, face: int | None) -> None:
        """Frame the face that is compared with the query; it is brought into sight where it is in neither column."""
        if face == self.candidate:
            return
        self.candidate = face
        self._point_at_candidate()
        if self._cursor >= 0 and not any(self.in_sight(self._place(stage, self._cursor)) for stage in (BEFORE, AFTER)):
            self.bring(self._place(AFTER, self._cursor))
        self.update()
        self.tell_screen_readers()

    def _point_at_candidate(self) -> None:
        if self.ranking is not None and self.candidate is not None:
            self._cursor = self.ranking.entries.get(self.candidate, self._cursor)

    def jump(self) -> None:
        """Go to the first right face and compare it."""
        if self.ranking is not None and self.ranking.first is not None:
            self._go(AFTER, self.ranking.first)

    @property
    def count(self) -> int:
        return 0 if self.ranking is None else len(self.ranking)

    @property
    def pitch(self) -> float:
        return self._plan.pitch

    def roll(self) -> None:
        self._plan = Plan.make(self.body.width(), self.body.height(), self.count)
        super().roll()

    def sizeHint(self) -> QSize:
        return QSize(380, self.head + 8 * HIGH + self.foot)

    def minimumSizeHint(self) -> QSize:
        return QSize(240, self.head + 2 * LOW + self.foot)

    # Where entries are

    def _place(self, stage: int, entry: int) -> int:
        assert self.ranking is not None
        return entry if stage == BEFORE else int(self.ranking.place[entry])

    def _drawn(self, stage: int, entry: int) -> float:
        """The place at which an entry is drawn."""
        return float(entry if stage == BEFORE else self._now[entry])

    def spot_at(self, point: QPointF) -> tuple[int, int] | None:
        """The stage and the entry under a point."""
        ranking, place = self.ranking, self.place_at(point.y())
        if ranking is None or place is None or point.y() > self.body.bottom():
            return None
        for stage in (BEFORE, AFTER):
            if 0 <= point.x() - self._plan.left(stage) <= self._plan.column:
                return stage, place if stage == BEFORE else int(ranking.order[place])
        return None

    def box(self, stage: int, entry: int) -> QRectF:
        """Where an entry is in a column."""
        return self._plan.box(stage, self.top(self._drawn(stage, entry))).adjusted(0, 3, 0, -3)

    def face_box(self, stage: int, entry: int) -> QRectF:
        """Where its picture is."""
        return self._plan.face(stage, self.top(self._drawn(stage, entry)))

    def face_at(self, point: QPointF) -> tuple[int, QRectF] | None:
        spot = self.spot_at(point)
        if spot is None or self.ranking is None or self.moving:
            return None
        return int(self.ranking.found.ids[spot[1]]), self.face_box(*spot)

    # Words

    def lines(self, face: int) -> Sequence[Line]:
        ranking = self.ranking
        entry = ranking.entries.get(face) if ranking is not None else None
        if ranking is None or entry is None:
            return ()
        *values, (rank, ranks) = ranking.told(entry)
        judged = ranking.judged(entry)
        return *values, (f"{judged}, {rank}" if judged else rank, ranks)

    def aside(self, stage: int, entry: int) -> str:
        """Where an entry comes from or goes to, where that cannot be seen."""
        other = self._place(1 - stage, entry)
        if self.in_sight(other):
            return ""
        return tr("from {rank}", rank=other + 1) if stage == AFTER else tr("to {rank}", rank=other + 1)

    def current_text(self) -> str:
        ranking, entry = self.ranking, self._cursor
        if ranking is None or not len(ranking):
            return tr("No ranking")
        if entry < 0:
            return tr("{n} faces by cosine and by patches", n=len(ranking))
        told = [" ".join(pair) for pair in ranking.told(entry)[:-1]]
        before, after = entry + 1, self._place(AFTER, entry) + 1
        ranks = tr("rank {before} before, {after} after", before=before, after=after)
        chosen = tr("compared with the query") if self._face(entry) == self.candidate else ""
        return ", ".join(part for part in (ranking.name(entry), ranking.judged(entry), ranks, *told, chosen) if part)

    # Painting

    def paintEvent(self, event: QPaintEvent) -> None:
        now, ranking = theme.current(), self.ranking
        painter = QPainter(self)
        painter.setRenderHints(QPainter.RenderHint.Antialiasing | QPainter.RenderHint.SmoothPixmapTransform)
        painter.fillRect(event.rect(), now.q("base"))
        if ranking is None:
            return
        self._paint_heads(painter, ranking)
        seen = self.seen()
        before = np.arange(seen.start, seen.stop)
        after = np.flatnonzero((self._now > seen.start - 1) & (self._now < seen.stop))
        painter.setClipRect(self.body.adjusted(0, 0, 0, self.foot))
        self._paint_lines(painter, now, ranking, np.union1d(before, after))
        painter.setClipRect(self.body)
        entry = ranking.entries.get(self.candidate, -1) if self.candidate is not None else -1
        for stage in (BEFORE, AFTER) if entry >= 0 else ():
            painter.setPen(QPen(now.q("accent"), 1.4))
            painter.setBrush(now.q("soft"))
            painter.drawRoundedRect(self.box(stage, entry).adjusted(0.7, 0, -0.7, 0), 4, 4)
        for place in seen:
            for stage in (BEFORE, AFTER):
                rank = QRectF(self._plan.left(stage), self.top(place), self._plan.rank, self.pitch)
                draw_text(painter, rank, f"{place + 1:,}", "text3", 10, align="right")
        # Backwards, because the newest request is decoded first and eyes start at the top.
        for one in reversed(before):
            self._paint_entry(painter, now, ranking, BEFORE, int(one))
        for one in sorted(after, key=lambda i: (i == entry, ranking.verdict[i] == RIGHT, -self._now[i])):
            self._paint_entry(painter, now, ranking, AFTER, int(one))
        if self.by_key and self.hasFocus() and self._cursor >= 0:
            painter.setPen(QPen(now.q("accent"), 2.4))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(self.box(self._stage, self._cursor).adjusted(1, 0, -1, 0), 4, 4)

    def _paint_heads(self, painter: QPainter, ranking: Ranking) -> None:
        """What each column is sorted by; the arrow points to where closer ones are."""
        for stage, words in enumerate((tr("Stage 1  cosine ↑"), tr("Stage 2  {blend} ↓", blend=ranking.blend))):
            draw_text(painter, QRectF(self._plan.left(stage) + 8, 4, self._plan.column, 18), words, "text2", 10)

    def _paint_lines(self, painter: QPainter, now: theme.Theme, ranking: Ranking, entries: NDArray[np.int64]) -> None:
        """From where each face was to where it is: thin ones first, right ones and the candidate over them."""
        hovered = self.hovered

        def weight(entry: int) -> int:
            face = self._face(entry)
            return 2 * (face == self.candidate) + 4 * (ranking.verdict[entry] == RIGHT) + (face == hovered)

        painter.setBrush(Qt.BrushStyle.NoBrush)
        for entry in sorted(entries.tolist(), key=weight):
            face, right = self._face(entry), ranking.verdict[entry] == RIGHT
            there = self.in_sight(entry) and self.in_sight(self._place(AFTER, entry))
            ink, width = (now.q("good"), 2.4) if right else (now.q("text3", 0.85 if there else 0.5), 1.1)
            if face == self.candidate and not right:
                ink, width = now.q("accent"), 1.8
            elif face == hovered:
                ink, width = (ink, 3.0) if right else (now.q("text"), 1.6)
            pen = QPen(ink, width)
            pen.setCapStyle(Qt.PenCapStyle.RoundCap)
            if not self.in_sight(entry):
                pen.setDashPattern([3.5 if right else 4.0, 2.5 if right else 3.5])
                pen.setCapStyle(Qt.PenCapStyle.FlatCap)
            painter.setPen(pen)
            painter.drawPath(self._path(entry))

    def _path(self, entry: int) -> QPainterPath:
        low, high = self.head - BEYOND * self.pitch, self.body.bottom() + self.foot + BEYOND * self.pitch
        ends = (min(max(self.top(self._drawn(stage, entry) + 0.5), low), high) for stage in (BEFORE, AFTER))
        start = QPointF(self._plan.left(BEFORE) + self._plan.column + 3, next(ends))
        end = QPointF(self._plan.left(AFTER) - 3, next(ends))
        bend = QPointF(0.5 * (end.x() - start.x()), 0)
        path = QPainterPath(start)
        path.cubicTo(start + bend, end - bend, end)
        return path

    def _paint_entry(self, painter: QPainter, now: theme.Theme, ranking: Ranking, stage: int, entry: int) -> None:
        face, row, verdict = self._face(entry), int(ranking.rows[entry]), int(ranking.verdict[entry])
        top, chosen = self.top(self._drawn(stage, entry)), face == self.candidate
        box, words = self.face_box(stage, entry), self._plan.words(stage, top)
        ground = now.soft if chosen else theme.mix(now.base, now.text, 0.05) if face == self.hovered else now.base
        if not chosen and (self.moving or face == self.hovered):  # faces that pass each other stay apart
            painter.fillRect(
                QRectF(box.left() - 2, top + 3, words.right() + 3 - box.left(), self.pitch - 6), now.q(ground)
            )
        if row < 0:
            portrait.absent(painter, box, broken=False)
        else:
            portrait.face(painter, self.desk.thumbnails, ranking.faces, row, box, ground=ground)
        portrait.ring(painter, box, selected=face in self.selection, current=False, hovered=face == self.hovered)
        if verdict:
            mark = QRectF(box.right() - MARK + 4, box.top() - 4, MARK, MARK)
            (marks.right if verdict == RIGHT else marks.wrong)(painter, mark, now)
        lines = self._written(ranking, stage, entry, words.width())
        y = words.center().y() - LINE * len(lines) / 2
        for text, quiet in lines:
            draw_text(painter, QRectF(words.left(), y, words.width(), LINE), text, "text2" if quiet else "text", 10)
            y += LINE

    def _written(self, ranking: Ranking, stage: int, entry: int, room: float) -> list[tuple[str, bool]]:
        """Name, value and where it comes from, in as few lines as the room takes; the flag is for quiet ones."""
        values = ranking.found.cosine if stage == BEFORE else ranking.distance
        value, aside = number(float(values[entry])), self.aside(stage, entry)
        both = f"{value}  {aside}".strip()
        rest = [both] if text_width(both, 10) <= room else [value, aside]
        return [(line, False) for line in _folded(ranking.name(entry), room)] + [(line, True) for line in rest]

    # Mouse

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self.set_under(None)
        self.by_key = False
        spot = self.spot_at(event.position())
        if event.button() != Qt.MouseButton.LeftButton or spot is None:
            return
        face, held = self._face(spot[1]), event.modifiers()
        if held & MODIFIERS.ShiftModifier:
            self.query_wanted.emit(face)
        elif held & (MODIFIERS.ControlModifier | MODIFIERS.AltModifier):
            mode = Mode.REMOVE if held & MODIFIERS.AltModifier else Mode.TOGGLE
            self.select.emit(np.array([face], np.int64), mode)
        else:
            self._go(*spot)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        spot = self.spot_at(event.position())
        if spot is not None and event.button() == Qt.MouseButton.LeftButton and not event.modifiers():
            self.explain_wanted.emit(self._face(spot[1]))
        else:
            self.mousePressEvent(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        super().mouseMoveEvent(event)
        on = self.spot_at(event.position()) is not None
        self.setCursor(Qt.CursorShape.PointingHandCursor if on else Qt.CursorShape.ArrowCursor)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        mouse = event.reason() == QContextMenuEvent.Reason.Mouse
        spot = self.spot_at(QPointF(event.pos())) if mouse else (self._stage, self._cursor)
        if spot is None or spot[1] < 0 or self.ranking is None:
            event.ignore()
            return
        self.set_under(None)
        menu = self._menu(spot[1])
        menu.popup(event.globalPos() if mouse else self.mapToGlobal(self.face_box(*spot).center().toPoint()))

    def _menu(self, entry: int) -> QMenu:
        """What can be done with a face of the shortlist."""
        face = self._face(entry)
        ids = np.array([face], np.int64)
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction(tr("Explain the match"), lambda: self._explain(entry))
        menu.addAction(tr("Search for this face"), lambda: self.query_wanted.emit(face))
        menu.addSeparator()
        chosen = face in self.selection
        text = tr("Take out of the selection") if chosen else tr("Add to the selection")
        menu.addAction(text, lambda: self.select.emit(ids, Mode.REMOVE if chosen else Mode.ADD))
        menu.addAction(tr("Show large"), lambda: self.open_face(face))
        return menu

    # Keyboard

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, entry, self.by_key = Qt.Key(event.key()), self._cursor, True
        self.set_under(None)
        place = self._place(self._stage, entry) if entry >= 0 else None
        target = self.target(key, place)
        ranking = self.ranking
        if target is not None and ranking is not None:
            self._go(self._stage, target if self._stage == BEFORE else int(ranking.order[target]))
        elif key in (KEYS.Key_Left, KEYS.Key_Right) and entry >= 0:
            self._go(BEFORE if key == KEYS.Key_Left else AFTER, entry)
        elif key == KEYS.Key_M:
            self.jump()
        elif entry < 0:
            super().keyPressEvent(event)
        elif key in ENTER:
            self._explain(entry)
        elif key == KEYS.Key_Space:
            self.select.emit(np.array([self._face(entry)], np.int64), Mode.TOGGLE)
        elif pressed(event, "view.loupe"):
            self.open_face(self._face(entry))
        else:
            super().keyPressEvent(event)

    def _face(self, entry: int) -> int:
        assert self.ranking is not None
        return int(self.ranking.found.ids[entry])

    def _go(self, stage: int, entry: int) -> None:
        """Put the keyboard on a face and compare it with the query."""
        self._stage, self._cursor = stage, entry
        self.bring(self._place(stage, entry))
        face = self._face(entry)
        if face != self.candidate:
            self.candidate = face
            self.candidate_chosen.emit(face)
        self.update()
        self.tell_screen_readers(aloud=True)

    def _explain(self, entry: int) -> None:
        self._go(self._stage, entry)
        self.explain_wanted.emit(self._face(entry))


def _folded(name: str, room: float) -> list[str]:
    """A name in a line, or in two where it is too long for one and has a place to be parted at."""
    first, _, rest = name.partition(" ")
    whole = text_width(name, 10) <= room or not rest or text_width(first, 10) > room
    return [name] if whole else [first, rest]
