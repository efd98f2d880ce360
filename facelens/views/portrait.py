"""One face as it is painted: the picture with its corners, what stands in for a missing one, the ring around it."""

from __future__ import annotations

from functools import lru_cache

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QPainter, QPainterPath, QPen, QPixmap

from facelens.images.faceset import FaceSet
from facelens.views import icons, marks, theme
from facelens.views.thumbnails import Thumbnails

RADIUS = 3


def face(
    painter: QPainter,
    thumbnails: Thumbnails,
    faces: FaceSet,
    row: int,
    box: QRectF,
    *,
    ground: str = "sunk",
    refused: bool = False,
) -> None:
    """The face at `row` inside `box`, or what stands for it."""
    now = theme.current()
    pixmap = thumbnails.get(faces, row, round(box.width() * painter.device().devicePixelRatioF()))
    if pixmap is None:
        absent(painter, box, broken=thumbnails.broken(int(faces.ids[row])) is not None)
        picture = box
    else:
        picture = crisp(painter, fitted(pixmap, box))
        painter.drawPixmap(picture, pixmap, QRectF(pixmap.rect()))
    if refused:
        marks.refused(painter, picture, now)
    if pixmap is not None:
        round_corners(painter, picture, now.q(ground).name())


def absent(painter: QPainter, box: QRectF, *, broken: bool) -> None:
    """A picture that is not decoded yet, or cannot be."""
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(theme.current().q("raised"))
    painter.drawRoundedRect(box, RADIUS, RADIUS)
    if broken:
        side = min(24.0, box.width() / 3)
        middle = box.center()
        icons.paint(painter, QRectF(middle.x() - side / 2, middle.y() - side / 2, side, side), "warning", "warn")


def ring(painter: QPainter, box: QRectF, *, selected: bool, current: bool, hovered: bool) -> None:
    """Around a face: selected, looked at, both, or under the pointer. It reaches 5 px over the picture."""
    now = theme.current()
    if not (selected or current or hovered):
        return
    painter.setBrush(Qt.BrushStyle.NoBrush)
    if selected and current:
        painter.setPen(QPen(now.q("accent"), 3))
        painter.drawRoundedRect(box.adjusted(-2.5, -2.5, 2.5, 2.5), 5, 5)
        painter.setPen(QPen(now.q("text"), 1))
        painter.drawRoundedRect(box.adjusted(-4.5, -4.5, 4.5, 4.5), 6, 6)
    elif selected or current:
        painter.setPen(QPen(now.q("accent"), 2))
        painter.drawRoundedRect(box.adjusted(-2, -2, 2, 2), 5, 5)
    else:
        painter.setPen(QPen(now.q("text2"), 1))
        painter.drawRoundedRect(box.adjusted(-1.5, -1.5, 1.5, 1.5), 4, 4)


def fitted(pixmap: QPixmap, box: QRectF) -> QRectF:
    """The largest rectangle of the picture's shape in the middle of `box`."""
    width, height = pixmap.width(), pixmap.height()
    if width == height:
        return box
    scale = min(box.width() / width, box.height() / height)
    made = QRectF(0, 0, round(width * scale), round(height * scale))
    made.moveCenter(box.center())
    return made.toRect().toRectF()


def crisp(painter: QPainter, box: QRectF) -> QRectF:
    """`box` on whole pixels of the screen, where one of the window's is no whole number of them (150 %)."""
    if painter.device().devicePixelRatioF().is_integer():
        return box
    onto = painter.deviceTransform()
    back, _ = onto.inverted()
    return back.mapRect(onto.mapRect(box).toRect().toRectF())


def round_corners(painter: QPainter, box: QRectF, ground: str) -> None:
    """Cover the four corners with the ground. Clipping each picture to a rounded path takes ten times as long."""
    corners = _corners(ground, painter.device().devicePixelRatioF())
    side = corners[0].deviceIndependentSize().width()
    right, bottom = box.right() - side, box.bottom() - side
    spots = ((box.left(), box.top()), (right, box.top()), (box.left(), bottom), (right, bottom))
    for (x, y), corner in zip(spots, corners):
        painter.drawPixmap(QPointF(x, y), corner)


@lru_cache(maxsize=32)
def _corners(ground: str, ratio: float) -> tuple[QPixmap, ...]:
    """Upper left, upper right, lower left, lower right: the ground outside a rounded square."""
    made = []
    for left, top in ((0, 0), (-RADIUS, 0), (0, -RADIUS), (-RADIUS, -RADIUS)):
        pixmap = QPixmap(round(RADIUS * ratio), round(RADIUS * ratio))
        pixmap.setDevicePixelRatio(ratio)
        pixmap.fill(Qt.GlobalColor.transparent)
        path = QPainterPath()
        path.addRect(QRectF(0, 0, RADIUS, RADIUS))
        hole = QPainterPath()
        hole.addRoundedRect(QRectF(left, top, 2 * RADIUS, 2 * RADIUS), RADIUS, RADIUS)
        painter = QPainter(pixmap)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.fillPath(path.subtracted(hole), theme.current().q(ground))
        painter.end()
        made.append(pixmap)
    return tuple(made)
