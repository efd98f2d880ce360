"""Same query, other occlusions: where the first mate stands before and after the second stage, a row for each.

A click paints that occlusion, or takes it off; the line under the rows runs the current one over all queries. Keys: up
and down move, Enter paints.
"""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QAccessible,
    QAccessibleAnnouncementEvent,
    QFocusEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
)
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QSizePolicy, QVBoxLayout, QWidget

from facelens.images.occlusion import KINDS, Occlusion, title
from facelens.views import marks, theme
from facelens.views.controls import by_keyboard, draw_text, text_width
from facelens.words import tr

EDGE = 12  # px at either side
TOP, ROW = 30, 24  # px of the title and of a row
NUMBERS = 44  # px of a rank
MOVES = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1, Qt.Key.Key_Home: -9, Qt.Key.Key_End: 9}

Ranks = tuple[int, int]  # of the first mate before and after, 0: there is none


class OcclusionRows(QWidget):
    """The rows themselves."""

    chosen = Signal(str)  # a kind of occlusion

    def __init__(self) -> None:
        super().__init__()
        self.kinds: tuple[str, ...] = KINDS[:-1]
        self._ranks: dict[str, Ranks | None] = {}
        self._current = KINDS[0]
        self._under = -1
        self._by_key = False
        self.setAccessibleName(tr("Same query, other occlusions"))
        self.setWhatsThis(
            tr(
                "Where the first right face stands before and after the second stage, a row for each occlusion. A "
                "click or Enter paints it on the query, or takes it off."
            )
        )
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setFixedHeight(TOP + len(self.kinds) * ROW)

    def show_rows(self, ranks: Mapping[str, Ranks | None], current: str) -> None:
        """Other ranks; what is painted by hand has a row while it is there."""
        self.kinds = tuple(kind for kind in KINDS if kind != "brush" or current == "brush")
        self._ranks, self._current = dict(ranks), current
        self._under = min(self._under, len(self.kinds) - 1)
        self.setFixedHeight(TOP + len(self.kinds) * ROW)
        self._speak()
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(300, self.height())

    def row(self, place: int) -> QRectF:
        """Where a row is."""
        return QRectF(0, TOP + place * ROW, self.width(), ROW)

    def at(self, point: QPointF) -> int:
        """The row under a point, -1: none."""
        place = int((point.y() - TOP) // ROW)
        return place if 0 <= place < len(self.kinds) else -1

    def spoken(self, kind: str) -> str:
        """A row in words."""
        ranks = self._ranks.get(kind)
        if ranks is None:
            return tr("{what}, not worked out yet", what=title(kind))
        before, after = ranks
        change = tr("closer") if _gain(ranks) > 0 else tr("farther") if _gain(ranks) < 0 else tr("same")
        return tr("{what}, rank {a} to {b}, {change}", what=title(kind), a=_rank(before), b=_rank(after), change=change)

    # Painting

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, now = QPainter(self), theme.current()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.fillRect(self.rect(), now.q("base"))
        painter.setPen(QPen(now.q("line"), 1))
        painter.drawLine(QPointF(0, 0.5), QPointF(self.width(), 0.5))
        head = QRectF(EDGE, 6, self.width() - 2 * EDGE, 20)
        named, told = tr("Same query, other occlusions"), tr("rank of first mate")
        if text_width(named, 12, True) + 8 + text_width(told, 10) > head.width():
            told = tr("rank")
        draw_text(painter, head, told, "text3", 10, align="right")
        head.setWidth(head.width() - text_width(told, 10) - 8)
        draw_text(painter, head, named, "text", 12, bold=True)
        for place, kind in enumerate(self.kinds):
            self._paint_row(painter, place, kind)
        if self.hasFocus() and self._by_key and self._under >= 0:
            painter.setPen(QPen(now.q("accent"), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(self.row(self._under).adjusted(7, 2, -7, -2), 4, 4)

    def _paint_row(self, painter: QPainter, place: int, kind: str) -> None:
        now, row = theme.current(), self.row(place)
        current = kind == self._current
        if current or place == self._under:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(now.q("soft") if current else now.q("hover", 0.55))
            painter.drawRoundedRect(row.adjusted(6, 1, -6, -1), 3, 3)
        right = row.right() - EDGE
        after, arrow = QRectF(right - 26 - NUMBERS, row.top(), NUMBERS, ROW), QRectF(0, row.top(), 20, ROW)
        arrow.moveRight(after.left())
        before = QRectF(arrow.left() - NUMBERS, row.top(), NUMBERS, ROW)
        draw_text(painter, QRectF(EDGE, row.top(), before.left() - EDGE, ROW), title(kind), "text", 11)
        ranks = self._ranks.get(kind)
        if ranks is None:
            for box in (before, after):
                draw_text(painter, box, "–", "text3", 11, align="right")
            return
        gain = _gain(ranks)
        draw_text(painter, before, _rank(ranks[0]), "text2", 11, align="right")
        draw_text(painter, arrow, "→", "text3", 11, align="right")
        draw_text(painter, after, _rank(ranks[1]), "text" if ranks[1] else "text3", 11, bold=gain > 0, align="right")
        mark = QRectF(right - 9, row.center().y() - 4, 8, 7)
        if gain:
            (marks.gained if gain > 0 else marks.lost)(painter, mark, now)
        else:
            draw_text(painter, QRectF(right - 20, row.top(), 20, ROW), "=", "text3", 11, align="right")

    # Hands

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._go(self.at(event.position()), by_key=False)

    def leaveEvent(self, event: QEvent) -> None:
        self._go(-1, by_key=False)
        super().leaveEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        place = self.at(event.position())
        if event.button() == Qt.MouseButton.LeftButton and place >= 0:
            self._choose(place)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = Qt.Key(event.key())
        if key in MOVES:
            place = self.kinds.index(self._current) if self._under < 0 else self._under + MOVES[key]
            self._go(min(max(place, 0), len(self.kinds) - 1), by_key=True)
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space) and self._under >= 0:
            self._choose(self._under)
        else:
            super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        self._by_key = by_keyboard(event)
        super().focusInEvent(event)
        if self._by_key and self._under < 0 and self._current in self.kinds:
            self._go(self.kinds.index(self._current), by_key=True)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self._go(-1, by_key=False)
        self.update()

    def _choose(self, place: int) -> None:
        if self.kinds[place] != self._current:
            self.chosen.emit(self.kinds[place])

    def _go(self, place: int, *, by_key: bool) -> None:
        self.setCursor(Qt.CursorShape.PointingHandCursor if place >= 0 else Qt.CursorShape.ArrowCursor)
        if place != self._under:
            self._under = place
            self._by_key |= by_key
            self._speak(aloud=by_key)
            self.update()

    def _speak(self, *, aloud: bool = False) -> None:
        every = (self.spoken(kind) for kind in self.kinds)
        text = self.spoken(self.kinds[self._under]) if self._under >= 0 else ". ".join(every)
        self.setAccessibleDescription(text)
        if aloud and QAccessible.isActive():
            QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, text))


class OcclusionTable(QWidget):
    """See the module's words. `show_rows` emits nothing."""

    occlusion_chosen = Signal(object)  # Occlusion, or None
    sweep_wanted = Signal(str)  # a kind of occlusion

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("panel")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._current = KINDS[0]
        self.rows = OcclusionRows()
        self.rows.chosen.connect(lambda kind: self.occlusion_chosen.emit(Occlusion(kind) if kind != "none" else None))
        self.run = QPushButton()
        self.run.setObjectName("flat")
        self.run.setToolTip(tr("The same is done to every query; the chart of all queries shows what comes of it"))
        self.run.clicked.connect(lambda: self.sweep_wanted.emit(self._current))
        under = QHBoxLayout()
        under.setContentsMargins(EDGE - 4, 1, EDGE, 5)
        under.addWidget(self.run)
        under.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.rows)
        column.addLayout(under)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.show_rows({}, "none")

    def show_rows(self, ranks: Mapping[str, Ranks | None], current: str) -> None:
        """Ranks of the first mate before and after by kind of occlusion, None or missing: not worked out yet.

        `current` is the kind that is painted now.
        """
        self._current = current
        self.rows.show_rows(ranks, current)
        as_they_are = current == "none"
        self.run.setText(
            tr("Run over all queries")
            if as_they_are
            else tr("Run over all queries: {what}", what=title(current).lower())
        )


def _gain(ranks: Ranks) -> int:
    """Above 0: nearer to the top than before. No mate at all is behind every rank."""
    before, after = (rank or 1 << 62 for rank in ranks)
    return (before > after) - (before < after)


def _rank(rank: int) -> str:
    return f"{rank:,}" if rank else tr("none")
