"""How each part is spread over the faces, in small multiples: its distribution, and the faces at its two ends.

A distribution is as wide as it has faces, on one scale for all parts; low values are at the top. A click on a multiple
makes that part the current one; in the distribution it also selects the faces of that value (Shift adds, Alt takes
away, Ctrl toggles). A click on a face looks at it, a double click shows it large. Keys: left, right, Home and End walk
the parts, up and down the faces, the page keys the values; Enter or Space selects the faces of a value, opens a face.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor, log10

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QEvent, QLineF, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QBrush,
    QFocusEvent,
    QKeyEvent,
    QLinearGradient,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QPolygonF,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QScrollBar, QSizePolicy, QWidget

from facelens.analyses.parts import Floats, Layout, Spread
from facelens.figures.part_words import Words, part_name
from facelens.images.faceset import FaceSet, Ids
from facelens.views import heat, theme
from facelens.views.controls import draw_text
from facelens.views.grid import SCROLL_BAR, band_mode
from facelens.views.hover import Line, paint_tag
from facelens.views.painted import STEP, PaintedFaces
from facelens.views.panel import Desk
from facelens.views.part_values import PartValues
from facelens.views.shortcuts import pressed
from facelens.words import number, plural, tr

LEFT, RIGHT, TOP, BOTTOM = 92, 8, 6, 8  # px; words of the rows, ground
NARROW, WIDE = 44, 200  # px; a multiple
HEAD, FOOT = 26, 8  # px; the name of a part, ground under its faces
SHORT, TALL = 52, 180  # px; a distribution
SMALL, LARGE, MOST = 28, 56, 3  # px; sides of a face; lines and columns of them at either end
APART, BETWEEN, UNDER = 4, 10, 14  # px; between faces of an end, between the ends, under a distribution
REACH = 4  # px; how near to a thin place of a distribution a click still is in it
THIN = 1.5  # px; a value that somebody has is seen
STAIR = 3  # px; a bin is no lower, so that it can be hit
DISTRIBUTION = -1  # the place of the keyboard in a multiple; 0 and more are its faces


@dataclass(frozen=True)
class Plan:
    """Where multiples and their faces are."""

    parts: int
    wide: float  # of a multiple
    high: float
    tall: float  # of a distribution
    side: int  # of a face
    columns: int
    lines: int

    @classmethod
    def make(cls, parts: int, width: int, height: int) -> Plan:
        """Multiples side by side; faces as many as there is room for."""
        room = max(width - LEFT - RIGHT, NARROW)
        wide = min(max(room / max(parts, 1), NARROW), WIDE)
        high = height - TOP - BOTTOM - (SCROLL_BAR if wide * parts > room + 1 else 0)
        free = high - HEAD - UNDER - BETWEEN - FOOT
        side = min(LARGE, int(wide) - 8)
        lines = next((n for n in range(MOST, 1, -1) if free - 2 * (n * (side + APART) - APART) >= 1.5 * SHORT), 1)
        if lines == 1:
            side = max(SMALL, min(side, int(free - SHORT) // 2)) // STEP * STEP
        columns = max(1, min(MOST, int(wide - 8 + APART) // (side + APART)))
        tall = min(max(free - 2 * (lines * (side + APART) - APART), SHORT), TALL)
        return cls(parts, wide, high, tall, side, columns, lines)

    @property
    def room(self) -> int:
        """Faces at either end of a part."""
        return self.columns * self.lines

    @property
    def across(self) -> int:
        """All multiples, with the words at their left."""
        return round(LEFT + self.parts * self.wide + RIGHT)

    def multiple(self, part: int) -> QRectF:
        left, right = round(LEFT + part * self.wide), round(LEFT + (part + 1) * self.wide)
        return QRectF(left, TOP, right - left, self.high)

    def distribution(self, part: int) -> QRectF:
        box = self.multiple(part)
        return QRectF(box.x(), TOP + HEAD, box.width(), self.tall)

    def end(self, high: int) -> float:
        """The upper edge of the faces at the low (0) or the high (1) end."""
        return round(TOP + HEAD + self.tall + UNDER + high * (self.lines * (self.side + APART) - APART + BETWEEN))

    def face(self, part: int, high: int, place: int, count: int) -> QRectF:
        """One of `count` faces at an end."""
        line, column = divmod(place, self.columns)
        box, taken = self.multiple(part), min(count, self.columns) * (self.side + APART) - APART
        x = round(box.center().x() - taken / 2) + column * (self.side + APART)
        return QRectF(x, self.end(high) + line * (self.side + APART), self.side, self.side)


@dataclass(frozen=True)
class Spot:
    """What is under a point: a part, and in it a bin of its distribution or one of its faces."""

    part: int
    bin: int | None = None
    place: int | None = None


class PartSpread(PaintedFaces):
    """See the module's words."""

    part_chosen = Signal(int)
    select = Signal(object, object)  # ids, Mode

    def __init__(self, desk: Desk, parent: QWidget | None = None) -> None:
        super().__init__(desk, parent)
        self._shown: PartValues | None = None
        self._message = ""
        self._part = 0
        self._edges: NDArray[np.float64] = np.zeros(0)  # of the bins that are seen
        self._counts: NDArray[np.int64] = np.zeros((0, 0), np.int64)  # (K, bins)
        self._outlines: list[QPolygonF] = []  # of the distributions, unscrolled
        self._place = DISTRIBUTION  # of the keyboard, in the current part
        self._bin: int | None = None  # of the keyboard, where it walks the values
        self._by_key = False
        self._spot: Spot | None = None  # under the pointer
        self._plan = Plan.make(1, self.width(), self.height())
        self._bar = QScrollBar(Qt.Orientation.Horizontal, self)
        self._bar.setAccessibleName(tr("Scroll the parts"))
        self._bar.valueChanged.connect(self._on_scrolled)
        self._bar.hide()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAccessibleName(tr("Distribution of each part"))
        self.setWhatsThis(
            tr(
                "How each part is spread over the faces, with the faces at its two ends. A click makes a part the "
                "current one, in the distribution it selects the faces of that value. Left and right walk the parts, "
                "up and down the faces, the page keys the values."
            )
        )

    # What is shown

    def show_values(
        self, faces: FaceSet, ids: Ids, values: Floats, spread: Spread, layout: Layout, words: Words
    ) -> None:
        """Show how (N, K) values of the faces `ids` are spread."""
        self._shown, self._message = PartValues(faces, ids, values, spread, layout, words), ""
        self._place = DISTRIBUTION
        self._show()

    def show_nothing(self, text: str) -> None:
        """There are no values; `text` says why."""
        self._shown, self._message = None, text
        self._show()

    def set_part(self, part: int) -> None:
        """Another part is the current one."""
        if part != self._part:
            self._place, self._bin = DISTRIBUTION, None
        self._part = part
        self._bring(part)
        self.update()
        self.tell_screen_readers()

    def _show(self) -> None:
        self._arrange()
        self.set_under(None)
        self._point_at(None)
        self.update()
        self.tell_screen_readers()

    def _arrange(self) -> None:
        width, height = self.width(), self.height()
        self._plan = Plan.make(self._shown.parts if self._shown is not None else 1, width, height)
        if self._shown is not None:
            spread = self._shown.spread
            K, bins = spread.counts.shape
            step = next((n for n in range(1, bins) if not bins % n and n * self._plan.tall >= STAIR * bins), 1)
            self._edges, self._counts = spread.edges[::step], spread.counts.reshape(K, -1, step).sum(2)
            self._outlines = [self._outline(part) for part in range(K)]
        self._bin = None
        self._bar.setGeometry(LEFT, height - SCROLL_BAR, max(width - LEFT, 0), SCROLL_BAR)
        self._bar.setSingleStep(round(self._plan.wide / 2))
        self._bar.setPageStep(max(width - LEFT - RIGHT, 1))
        self._bar.setRange(0, max(0, self._plan.across - width))
        self._bar.setVisible(self._bar.maximum() > 0)
        self._place = min(self._place, len(self.ends(self._part)) - 1)
        self._bring(self._part)

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._arrange()
        self.set_under(None)
        self._point_at(None)

    def sizeHint(self) -> QSize:
        return QSize(1440, 250)

    def minimumSizeHint(self) -> QSize:
        return QSize(LEFT + RIGHT + 3 * NARROW, TOP + HEAD + SHORT + UNDER + 2 * SMALL + BETWEEN + FOOT + BOTTOM)

    # Words

    def bin_text(self, part: int, at: int) -> str:
        """One bin of a distribution: "part 6 · log σ² −3.31 to −3.24 · 57 faces"."""
        shown = self._shown
        assert shown is not None
        decimals = max(2, 1 - floor(log10(self._edges[1] - self._edges[0])))
        low, high = (number(float(edge), decimals) for edge in self._edges[at : at + 2])
        between = tr("{name} {low} to {high}", name=shown.words.name, low=low, high=high)
        count = plural(int(self._counts[part, at]), "{n} face", "{n} faces")
        return f"{part_name(shown.layout, part)} · {between} · {count}"

    def lines(self, face: int) -> Sequence[Line]:
        shown, spot = self._shown, self._spot
        row = shown.row_of(face) if shown is not None else None
        if shown is None or row is None or spot is None:
            return ()
        name, value, *place = shown.told(row, spot.part)
        return [(name, "".join(place)), value]

    def current_text(self) -> str:
        shown = self._shown
        if shown is None:
            return self._message
        part = min(self._part, shown.parts - 1)
        faces = self.ends(part)
        if 0 <= self._place < len(faces):
            face = faces[self._place]
            at, row = shown.faces.row_of(face), shown.row_of(face)
            told = [
                shown.faces.label(at) if at is not None else "",
                shown.part_text(row, part) if row is not None else "",
                shown.words.lowest if self._place < self.each else shown.words.highest,
                self.desk.thumbnails.broken(face) or "",
            ]
            return ", ".join(text for text in told if text)
        if self._bin is not None:
            return self.bin_text(part, self._bin)
        count = int(shown.spread.counts[part].sum())
        median = shown.words.value(float(shown.spread.quartiles[part, 1]))
        said = tr("median {name} {value}", name=shown.words.name, value=median)
        return ", ".join([part_name(shown.layout, part), said, plural(count, "{n} face", "{n} faces")])

    # What is where

    @property
    def each(self) -> int:
        """How many faces are seen at either end of a part."""
        return min(self._plan.room, self._shown.spread.lowest.shape[1]) if self._shown is not None else 0

    def ends(self, part: int) -> list[int]:
        """Faces that are seen of a part: those of the lowest values, then those of the highest."""
        if self._shown is None or part >= self._shown.parts:
            return []
        spread, n = self._shown.spread, self.each
        return [*spread.lowest[part, :n].tolist(), *spread.highest[part, :n].tolist()]

    def face_rect(self, part: int, place: int) -> QRectF:
        """Where one of these faces is, on screen."""
        high, place = divmod(place, self.each)
        return self._plan.face(part, high, place, self.each).translated(-self._bar.value(), 0)

    def multiple_rect(self, part: int) -> QRectF:
        """Where all of a part is, on screen."""
        return self._plan.multiple(part).translated(-self._bar.value(), 0)

    def bin_rect(self, part: int, at: int) -> QRectF:
        """Where one bin of a distribution is, on screen."""
        box, width = self._box(part), float(self._widths(part)[at])
        tall = box.height() / self._counts.shape[1]
        return QRectF(box.center().x() - width / 2, box.top() + at * tall, width, tall)

    def _widths(self, part: int) -> NDArray[np.float64]:
        """(bins,) how wide a distribution is."""
        counts, wide = self._counts[part], self._plan.multiple(part).width() - 8
        return np.where(counts > 0, np.maximum(wide * counts / max(int(self._counts.max()), 1), THIN), 0)

    def _outline(self, part: int) -> QPolygonF:
        """A distribution: stairs down its right side and up its left."""
        box = self._plan.distribution(part)
        y = np.repeat(np.linspace(box.top(), box.bottom(), len(self._edges)), 2)[1:-1]
        half = np.repeat(self._widths(part) / 2, 2)
        x = np.concatenate([box.center().x() + half, (box.center().x() - half)[::-1]])
        return QPolygonF([QPointF(*point) for point in zip(x.tolist(), np.concatenate([y, y[::-1]]).tolist())])

    def _box(self, part: int) -> QRectF:
        """Where a distribution is, on screen."""
        return self._plan.distribution(part).translated(-self._bar.value(), 0)

    def spot_at(self, point: QPointF) -> Spot | None:
        """What is under a point."""
        if self._shown is None or point.x() < LEFT:
            return None
        part = int((point.x() + self._bar.value() - LEFT) // self._plan.wide)
        if not 0 <= part < self._shown.parts or not self.multiple_rect(part).top() <= point.y():
            return None
        for place in range(len(self.ends(part))):
            if self.face_rect(part, place).contains(point):
                return Spot(part, place=place)
        box, bins = self._box(part), self._counts.shape[1]
        at = int((point.y() - box.top()) * bins // box.height())
        if 0 <= at < bins and self._counts[part, at]:
            reach = self.bin_rect(part, at)
            if reach.left() - REACH <= point.x() <= reach.right() + REACH:
                return Spot(part, bin=at)
        return Spot(part)

    def face_at(self, point: QPointF) -> tuple[int, QRectF] | None:
        spot = self.spot_at(point)
        if spot is None or spot.place is None:
            return None
        return self.ends(spot.part)[spot.place], self.face_rect(spot.part, spot.place)

    def seen(self) -> range:
        """Parts that are on screen."""
        if self._shown is None:
            return range(0)
        first = int(self._bar.value() // self._plan.wide)
        after = int((self._bar.value() + self.width() - LEFT) // self._plan.wide) + 1
        return range(first, min(after, self._shown.parts))

    def _bring(self, part: int) -> None:
        """Scroll as little as shows a part whole."""
        if self._bar.maximum():
            box = self._plan.multiple(part)
            least = box.right() + RIGHT - self.width()
            self._bar.setValue(round(min(max(self._bar.value(), least), box.left() - LEFT)))

    def _on_scrolled(self) -> None:
        self.set_under(None)
        self._point_at(None)
        self.update()

    # Painting

    def paintEvent(self, event: QPaintEvent) -> None:
        now = theme.current()
        painter = QPainter(self)
        painter.setRenderHints(QPainter.RenderHint.Antialiasing | QPainter.RenderHint.SmoothPixmapTransform)
        painter.fillRect(event.rect(), now.q("base"))
        if self._shown is None:
            painter.setFont(theme.font(11))
            painter.setPen(now.q("text3"))
            flags = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
            painter.drawText(QRectF(self.rect()).adjusted(24, 8, -24, -8), int(flags), self._message)
            return
        self._paint_words(painter, self._shown)
        painter.setClipRect(QRectF(LEFT - 1, 0, self.width() - LEFT + 1, self.height()))
        self.desk.thumbnails.expect(2 * self._plan.room * len(self.seen()))
        gradient = self._gradient()
        for part in reversed(self.seen()):
            self._paint_multiple(painter, now, part, gradient)
        painter.setClipping(False)
        self._paint_tag(painter)

    def _paint_words(self, painter: QPainter, shown: PartValues) -> None:
        box, width = self._plan.distribution(0), LEFT - 12
        low, high = (shown.words.value(float(edge)) for edge in self._edges[[0, -1]])
        for y, text in ((box.top() - 4, f"{low} {shown.words.low}"), (box.bottom() - 10, f"{high} {shown.words.high}")):
            draw_text(painter, QRectF(12, y, width, 14), text, "text3", 10)
        tall = self._plan.lines * (self._plan.side + APART) - APART
        for high_end, word in enumerate((shown.words.lowest, shown.words.highest)):
            draw_text(painter, QRectF(12, self._plan.end(high_end), width, tall), word, "text", 11)

    def _gradient(self) -> QBrush:
        """The colours of values from the top of a distribution to its foot."""
        shown = self._shown
        assert shown is not None
        box, edges = self._plan.distribution(0), self._edges
        made = QLinearGradient(0, box.top(), 0, box.bottom())
        for place in np.linspace(0, 1, 17):
            value = float(edges[0] + place * (edges[-1] - edges[0]))
            if (colour := heat.shade(value, shown.spread.low, shown.spread.high)) is not None:
                made.setColorAt(float(place), colour)
        return QBrush(made)

    def _paint_multiple(self, painter: QPainter, now: theme.Theme, part: int, gradient: QBrush) -> None:
        shown, box = self._shown, self.multiple_rect(part)
        assert shown is not None
        current, under = part == self._part, self._spot is not None and self._spot.part == part
        if current or under:
            painter.setPen(QPen(now.q("accent" if current else "line2"), 1))
            painter.setBrush(now.q("accent", 0.1) if current else Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(box.adjusted(1.5, 0.5, -1.5, -0.5), 4, 4)
        if current and self._by_key and self._place == DISTRIBUTION and self._bin is None:
            painter.setPen(QPen(now.q("accent"), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(box.adjusted(1.5, 0.5, -1.5, -0.5), 4, 4)
        name = part_name(shown.layout, part) if self._plan.wide >= 52 else str(part + 1)
        head = QRectF(box.x() + 2, box.y() + 4, box.width() - 4, 16)
        draw_text(painter, head, name, "text" if current else "text2", 10, bold=current, align="centre")
        self._paint_distribution(painter, now, part, gradient)
        faces = list(enumerate(self.ends(part)))
        for place, face in reversed(faces):
            self.paint_face(painter, face, self.face_rect(part, place))
        for place, face in faces:
            self.paint_ring(painter, face, self.face_rect(part, place))

    def _paint_distribution(self, painter: QPainter, now: theme.Theme, part: int, gradient: QBrush) -> None:
        shown = self._shown
        assert shown is not None
        whole, edges = self._box(part), self._edges
        if not self._counts[part].any():
            painter.fillRect(whole.adjusted(6, 0, -6, 0), QBrush(now.q("text3", 0.45), Qt.BrushStyle.BDiagPattern))
            return
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(gradient)
        painter.drawPolygon(self._outlines[part].translated(-self._bar.value(), 0))
        y = whole.top() + (shown.spread.quartiles[part, 1] - edges[0]) / (edges[-1] - edges[0]) * whole.height()
        reach, x = min(11.0, whole.width() / 4), whole.center().x()
        for ink, width in ((now.q("#000000", 0.45), 3.2), (now.q("#ffffff"), 1.6)):
            painter.setPen(QPen(ink, width))
            painter.drawLine(QLineF(x - reach, y, x + reach, y))

    def _paint_tag(self, painter: QPainter) -> None:
        """The bin under the pointer or the keyboard."""
        spot = self._spot
        if self._by_key and self._bin is not None:
            spot = Spot(self._part, bin=self._bin)
        if spot is None or spot.bin is None:
            return
        box = self.bin_rect(spot.part, spot.bin)
        painter.setPen(QPen(theme.current().q("text"), 1.5))
        y = box.center().y()
        painter.drawLine(QLineF(box.left() - REACH, y, box.right() + REACH, y))
        # Above all of the distribution, which would be hidden by it otherwise.
        paint_tag(painter, self._box(spot.part), self.bin_text(spot.part, spot.bin), room=QRectF(self.rect()))

    # Mouse

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        free = event.buttons() == Qt.MouseButton.NoButton
        self._point_at(self.spot_at(event.position()) if free else None)
        super().mouseMoveEvent(event)

    def leaveEvent(self, event: QEvent) -> None:
        self._point_at(None)
        super().leaveEvent(event)

    def _point_at(self, spot: Spot | None) -> None:
        if spot != self._spot:
            self._spot = spot
            self.setCursor(Qt.CursorShape.ArrowCursor if spot is None else Qt.CursorShape.PointingHandCursor)
            self.update()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self.set_under(None)
        self._by_key = False
        spot = self.spot_at(event.position())
        if event.button() != Qt.MouseButton.LeftButton or spot is None:
            return
        self.part_chosen.emit(spot.part)
        if spot.place is not None:
            self.look(self.ends(spot.part)[spot.place])
        elif spot.bin is not None:
            self.select.emit(self.faces_of(spot.part, spot.bin), band_mode(event.modifiers()))

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        found = self.face_at(event.position())
        if found is not None and event.button() == Qt.MouseButton.LeftButton and not event.modifiers():
            self.open_face(found[0])
        else:
            self.mousePressEvent(event)

    def wheelEvent(self, event: QWheelEvent) -> None:
        turned = event.angleDelta()
        before = self._bar.value()
        self._bar.setValue(round(before - (turned.x() or turned.y()) / 120 * 3 * self._bar.singleStep()))
        event.setAccepted(self._bar.value() != before)

    def faces_of(self, part: int, at: int) -> Ids:
        """The faces that a bin of a part counts."""
        assert self._shown is not None
        edges, column = self._edges, self._shown.values[:, part]
        last = at == len(edges) - 2
        inside = (column >= edges[at]) & (column <= edges[at + 1] if last else column < edges[at + 1])
        return self._shown.ids[inside]

    # Keyboard

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, shown, keys = Qt.Key(event.key()), self._shown, Qt.Key
        if shown is None:
            super().keyPressEvent(event)
            return
        self._by_key = True
        last = shown.parts - 1
        parts = {keys.Key_Left: self._part - 1, keys.Key_Right: self._part + 1, keys.Key_Home: 0, keys.Key_End: last}
        accept = key in (keys.Key_Return, keys.Key_Enter, keys.Key_Space)
        if key in parts:
            self._walk_parts(min(max(parts[key], 0), last))
        elif key in (keys.Key_Up, keys.Key_Down):
            self._walk_faces(1 if key == keys.Key_Down else -1)
        elif key in (keys.Key_PageUp, keys.Key_PageDown):
            self._walk_bins(1 if key == keys.Key_PageDown else -1)
        elif self._place != DISTRIBUTION and (accept or pressed(event, "view.loupe")):
            self.open_face(self.ends(self._part)[self._place])
        elif accept and self._bin is not None:
            self.select.emit(self.faces_of(self._part, self._bin), band_mode(event.modifiers()))
        else:
            super().keyPressEvent(event)
            return
        self.update()
        self.tell_screen_readers(aloud=True)

    def _walk_parts(self, part: int) -> None:
        """To another part, as far down as now."""
        place = self._place
        self.part_chosen.emit(part)
        self._place = min(place, len(self.ends(self._part)) - 1)
        self._look()

    def _walk_faces(self, by: int) -> None:
        self._bin = None
        self._place = min(max(self._place + by, DISTRIBUTION), len(self.ends(self._part)) - 1)
        self._look()

    def _walk_bins(self, by: int) -> None:
        """To the next value that somebody has, from the middle."""
        assert self._shown is not None
        known = np.flatnonzero(self._counts[self._part])
        if not len(known):
            return
        if self._bin is None:
            median = self._shown.spread.quartiles[self._part, 1]
            middle = int(np.searchsorted(self._edges, median, "right")) - 1
            self._bin = int(known[np.abs(known - middle).argmin()])
        else:
            at = int(np.searchsorted(known, self._bin)) + by
            self._bin = int(known[min(max(at, 0), len(known) - 1)])
        self._place = DISTRIBUTION

    def _look(self) -> None:
        if self._place != DISTRIBUTION:
            self.look(self.ends(self._part)[self._place])

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self._by_key = event.reason() in (Qt.FocusReason.TabFocusReason, Qt.FocusReason.BacktabFocusReason)
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self._by_key = False
        self.update()
