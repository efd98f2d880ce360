"""The face that is looked at, and at which rank each learner finds its person: a column for each, higher is farther.

A click on a column makes its learner current. Keys: left and right walk the learners, Enter clicks.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from facelens.analyses.divided import Learners
from facelens.figures.learners import rank_text, ranks_words
from facelens.figures.part_words import part_name
from facelens.views import marks, theme
from facelens.views.cell_grid import frame, note, value_card
from facelens.views.controls import draw_text, text_width
from facelens.views.hover import Line
from facelens.views.painted import PaintedFaces
from facelens.views.panel import Desk
from facelens.words import tr

LEFT, TOP, FOOT, RIGHT = 290, 30, 12, 12  # px around the columns
FACE = 88
WIDEST, BAR = 140.0, 40.0  # px of a column, and of its bar


class LearnerRanks(PaintedFaces):
    """See the module's words."""

    part_chosen = Signal(int)

    def __init__(self, desk: Desk, parent: QWidget | None = None) -> None:
        super().__init__(desk, parent)
        self.found: Learners | None = None
        self.part = -1
        self._order: NDArray[np.int64] = np.zeros(0, np.int64)
        self._at = -1  # column under the pointer or the keyboard
        self._by_key = False
        self.setMinimumHeight(130)
        self.setAccessibleName(tr("Rank of the current face in every learner"))
        words = tr("The rank at which each learner finds this person. A click or Enter makes a learner current.")
        self.setWhatsThis(words)

    def show_learners(self, found: Learners) -> None:
        """Other learners."""
        self.found = found
        self._order = np.argsort(found.queries)
        self._at = -1
        self.refresh(self.reads)

    def set_part(self, part: int) -> None:
        """Another learner is the current one."""
        if part != self.part:
            self.part = part
            self.update()

    @property
    def ranks(self) -> NDArray[np.int32] | None:
        """(K,) of the current face; None where it did not search."""
        found, face = self.found, self.selection.current
        if found is None or face is None or not len(found.queries):
            return None
        at = min(int(np.searchsorted(found.queries, face, sorter=self._order)), len(found.queries) - 1)
        row = int(self._order[at])
        return found.ranks[row] if int(found.queries[row]) == face else None

    def sentence(self) -> str:
        """How many learners find the person, or why that cannot be said."""
        ranks = self.ranks
        if self.selection.current is None:
            return tr("Click a face to see at which rank each learner finds its person.")
        if ranks is None:
            return tr("Not among those that searched: a face needs a vector and another face of its person to find.")
        return ranks_words(ranks)

    def lines(self, face: int) -> Sequence[Line]:
        return ()

    def current_text(self) -> str:
        ranks = self.ranks
        if ranks is None or self.found is None:
            return self.sentence()
        told = [f"{part_name(self.found.own.layout, k)}: {rank_text(int(rank))}" for k, rank in enumerate(ranks)]
        return ". ".join([self.sentence(), told[self._at] if self._at >= 0 else ", ".join(told)])

    # Where things are

    @property
    def _columns(self) -> int:
        return len(self.ranks) if self.ranks is not None else 0

    @property
    def _left(self) -> float:
        return LEFT if self.width() >= 560 else 48.0

    @property
    def _pitch(self) -> float:
        return min(WIDEST, (self.width() - self._left - RIGHT) / max(self._columns, 1))

    def column(self, part: int) -> QRectF:
        """What a learner takes."""
        return QRectF(self._left + part * self._pitch, 4, self._pitch, self.height() - 8)

    def part_at(self, point: QPointF) -> int:
        """The learner under a point, -1 for none."""
        part = int((point.x() - self._left) // max(self._pitch, 1e-6))
        return part if point.x() >= self._left and 0 <= part < self._columns else -1

    def face_at(self, point: QPointF) -> tuple[int, QRectF] | None:
        return None

    def sizeHint(self) -> QSize:
        return QSize(700, 220)

    # Painting

    def paintEvent(self, event: QPaintEvent) -> None:
        now, painter = theme.current(), QPainter(self)
        painter.setRenderHints(QPainter.RenderHint.Antialiasing | QPainter.RenderHint.SmoothPixmapTransform)
        painter.fillRect(event.rect(), now.q("base"))
        area, ranks = QRectF(self.rect()), self.ranks
        if self.selection.current is None or self.found is None:
            note(painter, area, self.sentence())
            return
        wide = self._left == LEFT
        if wide:
            self._paint_face(painter)
        if ranks is None:
            note(painter, area.adjusted(self._left, 0, 0, 0) if wide else area, self.sentence())
            return
        top = float(np.log10(max(int(ranks.max()), 10)))
        self._paint_axis(painter, now, top)
        for part, rank in enumerate(ranks):
            self._paint_column(painter, now, part, int(rank), top)
        if self._at >= 0:
            name = part_name(self.found.own.layout, self._at)
            told = tr("rank of the person: {rank}", rank=rank_text(int(ranks[self._at])))
            value_card(painter, self._bar(self._at, int(ranks[self._at]), top), (name, told), area)

    def _paint_face(self, painter: QPainter) -> None:
        face, faces = self.selection.current, self.desk.workspace.faces
        assert face is not None
        row = faces.row_of(face) if faces is not None else None
        side = min(FACE, self.height() - 24)
        self.paint_face(painter, face, QRectF(12, 12, side, side))
        left = 12 + side + 10
        width = LEFT - left - 40
        if faces is not None and row is not None:
            draw_text(painter, QRectF(left, 12, width, 17), faces.label(row), "text", 12, bold=True)
            draw_text(painter, QRectF(left, 29, width, 15), faces.file_name(row), "text3", 10, middle=True)
        if self.ranks is not None:
            painter.setFont(theme.font(11))
            painter.setPen(theme.current().q("text2"))
            flags = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop | Qt.TextFlag.TextWordWrap
            painter.drawText(QRectF(left, 48, width, 60), int(flags), self.sentence())

    def _paint_axis(self, painter: QPainter, now: theme.Theme, top: float) -> None:
        left = self._left
        for power in range(int(top) + 1):
            y = self._y(10.0**power, top)
            painter.setPen(QPen(now.q("line2") if not power else now.q("text", 0.09), 1))
            painter.drawLine(QPointF(left, y), QPointF(left + self._columns * self._pitch, y))
            label = QRectF(left - 62, y - 8, 56, 16)
            draw_text(painter, label, f"{10**power:,}", "text3", 10, align="right")

    def _y(self, rank: float, top: float) -> float:
        foot = self.height() - FOOT - 18
        return float(foot - np.log10(max(rank, 1.0)) / top * (foot - TOP - 18))

    def _bar(self, part: int, rank: int, top: float) -> QRectF:
        box = self.column(part)
        y = self._y(rank, top)
        wide = min(BAR, max(box.width() - 3, 1.0))
        return QRectF(box.center().x() - wide / 2, y - 2, wide, self.height() - FOOT - 18 - y + 2)

    def _paint_column(self, painter: QPainter, now: theme.Theme, part: int, rank: int, top: float) -> None:
        assert self.found is not None
        box, bar = self.column(part), self._bar(part, rank, top)
        current = part == self.part
        if current:
            painter.fillRect(box.adjusted(2, 0, -2, 0), now.q(theme.mix(now.base, now.soft, 0.4)))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(now.q("good" if rank == 1 else "text3"))
        painter.drawRoundedRect(bar, 2, 2)
        name = part_name(self.found.own.layout, part)
        if text_width(name, 10, bold=True) + 4 > box.width():
            name = str(part + 1)
        if current or text_width(name, 10) + 2 <= box.width():
            head = QRectF(box.center().x() - 40, 8, 80, 16)
            draw_text(painter, head, name, "text" if current else "text2", 10, bold=current, align="centre")
        text = rank_text(rank)
        if text_width(text, 10) + 4 <= box.width() or current:
            value = QRectF(box.center().x() - 40, bar.top() - 17, 80, 15)
            draw_text(painter, value, text, "text", 10, align="centre")
        if rank == 1 and box.width() >= 18:
            marks.right(painter, QRectF(box.center().x() - 6.5, bar.bottom() + 3, 13, 13), now)
        if current or (part == self._at and self._by_key):
            frame(painter, box.adjusted(2, 0, -2, 0))

    # Hands

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._go(self.part_at(event.position()), by_key=False)

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._go(-1, by_key=False)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        part = self.part_at(event.position())
        if event.button() == Qt.MouseButton.LeftButton and part >= 0:
            self.part_chosen.emit(part)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = Qt.Key(event.key())
        step = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}.get(key, 0)
        if step and self._columns:
            start = self._at if self._at >= 0 else max(self.part, 0) - step
            self._go(min(max(start + step, 0), self._columns - 1), by_key=True)
            self.tell_screen_readers(aloud=True)
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space) and self._at >= 0:
            self.part_chosen.emit(self._at)
        else:
            super().keyPressEvent(event)

    def _go(self, part: int, *, by_key: bool) -> None:
        self._by_key = by_key
        if part != self._at:
            self._at = part
            self.setCursor(Qt.CursorShape.PointingHandCursor if part >= 0 else Qt.CursorShape.ArrowCursor)
            self.update()
