"""Two parts of every face as dots: one part's distance to the person's centre over the other's.

Those on which the two disagree most are ringed. A click selects the faces around the pointer.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QEvent, QPoint, QPointF, QRect, QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QHideEvent, QImage, QMouseEvent, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from facelens.figures.scales import Array, ticks
from facelens.images.faceset import FaceSet, Ids
from facelens.views import dots, theme
from facelens.views.cell_grid import note
from facelens.views.controls import draw_text, text_width
from facelens.views.grid import band_mode, value_text
from facelens.views.hover import DELAY, FACE, HoverCard, Line
from facelens.views.thumbnails import Thumbnails
from facelens.words import plural, tr

TOP, BOTTOM, LEFT, RIGHT = 24, 34, 46, 14  # px around the dots
NEAR = 7  # px around the pointer
FEW, PALEST = 1_500, 0.05  # dots up to which each is fully painted, and how faint one may be
NOBODY: NDArray[np.int64] = np.zeros(0, np.int64)


class PartCloud(QWidget):
    """See the module's words."""

    select = Signal(object, object)  # ids, Mode

    def __init__(self, thumbnails: Thumbnails) -> None:
        super().__init__()
        self._thumbnails = thumbnails
        self._faces: FaceSet | None = None
        self._ids: Ids = NOBODY
        self._x = self._y = self._px = self._py = np.zeros(0)  # values, and where they are drawn
        self._far = NOBODY
        self._titles = ("", "")
        self._note = ""
        self._picture: QImage | None = None
        self._near = NOBODY  # under the pointer, the nearest first
        self._at = QPointF()
        self._card = HoverCard(self)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(DELAY)
        self._timer.timeout.connect(self._show_card)
        thumbnails.ready.connect(self._on_ready)
        self.setMouseTracking(True)
        self.setMinimumSize(160, 100)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAccessibleName(tr("Two parts of every face"))
        theme.themes.changed.connect(self._on_theme_changed)

    def sizeHint(self) -> QSize:
        return QSize(360, 200)

    def show_parts(
        self, faces: FaceSet, ids: Ids, x: Array, y: Array, far: NDArray[np.int64], titles: tuple[str, str]
    ) -> None:
        """Values (N,) of two parts of faces, NaN where there is none; `far` are the places of those that are ringed."""
        self._faces, self._ids, self._x, self._y, self._far = faces, ids, x, y, far
        self._titles, self._note = titles, ""
        self.setAccessibleDescription(
            tr("{y} over {x}; {n} ringed: they disagree most", y=titles[1], x=titles[0], n=len(far))
        )
        self._lay_out()

    def show_nothing(self, text: str) -> None:
        """Say why there are no dots."""
        self._faces, self._ids, self._x, self._y, self._far = None, NOBODY, np.zeros(0), np.zeros(0), NOBODY
        self._note = text
        self.setAccessibleDescription(text)
        self._lay_out()

    # Where things are

    def _area(self) -> QRectF:
        return QRectF(LEFT, TOP, max(1, self.width() - LEFT - RIGHT), max(1, self.height() - TOP - BOTTOM))

    def _lay_out(self) -> None:
        area, (left, right), (low, high) = self._area(), _limits(self._x), _limits(self._y)
        self._px = area.left() + (self._x - left) * (area.width() / (right - left))
        self._py = area.bottom() - (self._y - low) * (area.height() / (high - low))
        self._picture = None
        self._point_at(None)
        self.update()

    def spot(self, place: int) -> QPoint:
        """Where a face is drawn."""
        return QPoint(round(self._px[place]), round(self._py[place]))

    def _around(self, at: QPointF) -> NDArray[np.int64]:
        away = np.hypot(self._px - at.x(), self._py - at.y())
        found = np.flatnonzero(away <= NEAR)
        return found[np.argsort(away[found], kind="stable")]

    # Painting

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, now = QPainter(self), theme.current()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.fillRect(self.rect(), now.q("base"))
        if self._note:
            note(painter, QRectF(self.rect()), self._note)
            return
        self._paint_axes(painter, self._area())
        if self._picture is None:
            self._picture = self._painted()
        painter.drawImage(QPointF(0, 0), self._picture)
        if len(self._near):
            painter.setPen(QPen(now.q("accent"), 1.6))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawEllipse(self._at, NEAR, NEAR)

    def _painted(self) -> QImage:
        now = theme.current()
        x, y = self._px, self._py
        known = np.isfinite(x) & np.isfinite(y)
        opacity = max(PALEST, min(0.6, (FEW / max(int(known.sum()), 1)) ** 0.7))
        layers = [dots.Dots(x[known], y[known], "disc", now.q("text3"), opacity)]
        layers.append(dots.Dots(x[self._far], y[self._far], "ring", now.q("text")))
        return dots.picture(layers, self.width(), self.height(), ratio=self.devicePixelRatioF())

    def _paint_axes(self, painter: QPainter, area: QRectF) -> None:
        now = theme.current()
        low, high = _limits(self._y)
        for place, text in ticks("linear", low, high, room=min(5, int(area.height() / 26))):
            y = area.bottom() - (place - low) * (area.height() / (high - low))
            painter.setPen(QPen(now.q("text", 0.09), 1))
            painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y))
            draw_text(painter, QRectF(0, y - 7, LEFT - 6, 14), text, "text3", 10, align="right")
        low, high = _limits(self._x)
        for place, text in ticks("linear", low, high, room=min(6, int(area.width() / 62))):
            x = area.left() + (place - low) * (area.width() / (high - low))
            draw_text(painter, QRectF(x - 30, area.bottom() + 2, 60, 14), text, "text3", 10, align="centre")
        painter.setPen(QPen(now.q("line2"), 1))
        painter.drawLine(area.bottomLeft(), area.bottomRight())
        draw_text(painter, QRectF(8, 4, self.width() - 16, 14), self._titles[1], "text2", 10)
        foot = QRectF(8, self.height() - 17, self.width() - 8 - RIGHT, 14)
        draw_text(painter, foot, self._titles[0], "text2", 10, align="right")
        said = tr("ringed: the {n} that disagree most", n=len(self._far))
        if len(self._far) and text_width(said, 10) + text_width(self._titles[0], 10) + LEFT + RIGHT < self.width():
            draw_text(painter, foot.adjusted(LEFT - 8, 0, 0, 0), said, "text3", 10)

    # Hands

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._point_at(event.position())

    def leaveEvent(self, event: QEvent) -> None:
        self._point_at(None)

    def hideEvent(self, event: QHideEvent) -> None:
        self._point_at(None)
        super().hideEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        found = self._around(event.position())
        if event.button() == Qt.MouseButton.LeftButton and len(found):
            self.select.emit(self._ids[found], band_mode(event.modifiers()))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._lay_out()

    def _point_at(self, at: QPointF | None) -> None:
        """The faces around the pointer; the card of the nearest comes after a moment."""
        before = self._near[:1].tolist()
        self._near = self._around(at) if at is not None else NOBODY
        self._at = at if at is not None else self._at
        self.setCursor(Qt.CursorShape.PointingHandCursor if len(self._near) else Qt.CursorShape.ArrowCursor)
        if before != self._near[:1].tolist():
            self._card.hide()
            self._timer.stop()
            if len(self._near):
                self._timer.start()
        self.update()

    def _show_card(self) -> None:
        if not len(self._near) or self._faces is None:
            return
        place = int(self._near[0])
        face = int(self._ids[place])
        row = self._faces.row_of(face)
        if row is None:
            return
        pixmap = self._thumbnails.get(self._faces, row, round(FACE * self.devicePixelRatioF()))
        broken = self._thumbnails.broken(face) if pixmap is None else None
        values = (self._y[place], self._x[place])
        lines: list[Line] = [(title.partition(",")[0], value_text(v)) for title, v in zip(self._titles[::-1], values)]
        if len(self._near) > 1:
            lines.append(plural(len(self._near) - 1, "and {n} other face here", "and {n} other faces here"))
        name, file = self._faces.label(row), self._faces.file_name(row)
        self._card.tell(pixmap, name, file=file, lines=[broken] if broken else lines, broken=broken is not None)
        spot = self.spot(place)
        self._card.place(QRect(spot.x() - NEAR, spot.y() - NEAR, 2 * NEAR, 2 * NEAR))

    def _on_ready(self, ids: object) -> None:
        if self._card.isVisible():
            self._show_card()

    def _on_theme_changed(self) -> None:
        self._picture = None
        self.update()


def _limits(values: Array) -> tuple[float, float]:
    known = values[np.isfinite(values)]
    low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
    room = 0.04 * (high - low) or 0.5
    return low - room, high + room
