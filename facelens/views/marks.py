"""Marks on faces and in charts: each says by shape and glyph what its colour says too.

Right      disc with a check        Wrong     rounded square with a cross
Gained     triangle up              Lost      triangle down            Same   small dot
Flag, reject  white glyph on a dark plate     Refused   bar at the foot of the face
"""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QPainter, QPen, QPolygonF

from facelens.views import icons
from facelens.views.theme import Theme

DARK_EDGE, PLATE = "#000000", "#000000"
NO_PEN = Qt.PenStyle.NoPen


def right(painter: QPainter, rect: QRectF, theme: Theme) -> None:
    """The answer was right."""
    painter.setPen(QPen(theme.q(DARK_EDGE, 0.6), 1))
    painter.setBrush(theme.q("good"))
    painter.drawEllipse(rect)
    icons.paint(painter, _glyph(rect), "check", theme.ink, width=2.4)


def wrong(painter: QPainter, rect: QRectF, theme: Theme) -> None:
    """The answer was wrong."""
    painter.setPen(QPen(theme.q(DARK_EDGE, 0.6), 1))
    painter.setBrush(theme.q("bad"))
    painter.drawRoundedRect(rect, 2.5, 2.5)
    icons.paint(painter, _glyph(rect), "cross", theme.ink, width=2.4)


def flag(painter: QPainter, rect: QRectF, theme: Theme) -> None:
    """Flagged by the user."""
    _plate(painter, rect, theme, "flag")


def reject(painter: QPainter, rect: QRectF, theme: Theme) -> None:
    """Rejected by hand; the face itself is shown at `REJECTED` opacity."""
    _plate(painter, rect, theme, "close")


REJECTED = 0.38


def refused(painter: QPainter, face: QRectF, theme: Theme) -> None:
    """A rule refuses the face: a bar at its foot."""
    painter.setPen(NO_PEN)
    painter.setBrush(theme.q("warn"))
    painter.drawRect(QRectF(face.left(), face.bottom() - 3, face.width(), 3))


def gained(painter: QPainter, rect: QRectF, theme: Theme) -> None:
    """Better than before."""
    _triangle(painter, rect, theme, "good", up=True)


def lost(painter: QPainter, rect: QRectF, theme: Theme) -> None:
    """Worse than before."""
    _triangle(painter, rect, theme, "bad", up=False)


def same(painter: QPainter, rect: QRectF, theme: Theme) -> None:
    """As before."""
    painter.setPen(NO_PEN)
    painter.setBrush(theme.q("text3"))
    painter.drawEllipse(rect.center(), rect.width() * 0.22, rect.width() * 0.22)


def change(painter: QPainter, rect: QRectF, theme: Theme, by: float) -> None:
    """Better, worse, or as before: the mark of a sign."""
    (gained if by > 0 else lost if by < 0 else same)(painter, rect, theme)


def _glyph(rect: QRectF) -> QRectF:
    return rect.adjusted(2, 2, -2, -2)


def _plate(painter: QPainter, rect: QRectF, theme: Theme, name: str) -> None:
    painter.setPen(NO_PEN)
    painter.setBrush(theme.q(PLATE, 0.65))
    painter.drawRoundedRect(rect, 3, 3)
    icons.paint(painter, rect.adjusted(2.5, 2.5, -2.5, -2.5), name, "#ffffff", width=1.8)


def _triangle(painter: QPainter, rect: QRectF, theme: Theme, colour: str, *, up: bool) -> None:
    tip, foot = (rect.top(), rect.bottom()) if up else (rect.bottom(), rect.top())
    painter.setPen(QPen(theme.q(DARK_EDGE, 0.6), 1))
    painter.setBrush(theme.q(colour))
    corners = [QPointF(rect.center().x(), tip), QPointF(rect.right(), foot), QPointF(rect.left(), foot)]
    painter.drawPolygon(QPolygonF(corners))
