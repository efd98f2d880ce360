"""The same people by the old model and by one or two upgrades: a ring where the old model has a picture, a disc where
the upgrade does, a line between them; d_pw in the title. Both sides have the same axes, so they can be compared.

A click looks at a face, a double click shows it large. Arrows walk from picture to picture, E shows it large.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QEvent, QPointF, QRect, QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from facelens.analyses.same_class import SameClass, Upgraded
from facelens.images.faceset import FaceSet
from facelens.session.selection import Selection
from facelens.views import theme
from facelens.views.controls import draw_text, text_width
from facelens.views.hearing import keep_keys
from facelens.views.hover import DELAY, FACE, HoverCard
from facelens.views.shortcuts import pressed
from facelens.views.thumbnails import Thumbnails
from facelens.words import escaped, number, plural, tr

HEAD, AROUND, NEAR = 24, 22, 9  # px; title, free around the points, from a dot that still means it
NAMED = 8  # people up to which they are named


class SameClassView(QWidget):
    """See the module's words."""

    look = Signal(object)  # id
    open_face = Signal(object)  # id

    def __init__(self, thumbnails: Thumbnails, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._thumbnails = thumbnails
        self._faces: FaceSet | None = None
        self._found: SameClass | None = None
        self._why = ""
        self._current: int | None = None  # id
        self._hover: tuple[int, int] | None = None  # side, place
        self._card = HoverCard(self)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(DELAY)
        self._timer.timeout.connect(self._show_card)
        self.setMouseTracking(True)
        keep_keys(self, self._wants)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(tr("The same people by the old model and its upgrades"))
        self.setWhatsThis(
            tr(
                "A ring where the old model has a picture, a disc where the upgrade does, a line between them. A click "
                "looks at a face, a double click shows it large; arrows walk."
            )
        )

    def show_class(self, faces: FaceSet | None, found: SameClass | None, *, why: str = "") -> None:
        """Other pictures or models; `why` says why there is nothing."""
        self._faces, self._found, self._why, self._hover = faces, found, why, None
        self._hide_card()
        self._tell()
        self.update()

    def set_selection(self, selection: Selection) -> None:
        """Ring the current face."""
        if selection.current != self._current:
            self._current = selection.current
            self._tell()
            self.update()

    # Geometry

    @property
    def sides(self) -> tuple[Upgraded, ...]:
        """The upgrades side by side."""
        return self._found.upgrades if self._found is not None else ()

    def _side(self, side: int) -> QRectF:
        width = self.width() / max(1, len(self.sides))
        return QRectF(side * width, HEAD, width, self.height() - HEAD)

    def _to_px(self, points: NDArray[np.float32], side: int) -> NDArray[np.float64]:
        """(n, 2) in pixels, one scale for all sides and both directions."""
        assert self._found is not None
        whole = np.vstack([self._found.points, *(one.points for one in self.sides)]).astype(np.float64)
        low, high = whole.min(0), whole.max(0)
        box = self._side(side)
        room = np.array([box.width() - 2 * AROUND, box.height() - 2 * AROUND])
        scale = float(np.min(np.maximum(room, 1) / np.maximum(high - low, 1e-9)))
        middle = (low + high) / 2
        centre = np.array([box.center().x(), box.center().y()])
        return centre + (points.astype(np.float64) - middle) * scale * np.array([1.0, -1.0])

    def _under(self, at: QPointF) -> tuple[int, int] | None:
        if self._found is None or not len(self._found.ids) or not self.sides:
            return None
        side = min(int(at.x() // self._side(0).width()), len(self.sides) - 1)
        both = np.stack([self._to_px(points, side) for points in (self._found.points, self.sides[side].points)])
        away = ((both - np.array([at.x(), at.y()])) ** 2).sum(-1).min(0)
        place = int(np.argmin(away))
        return (side, place) if away[place] <= NEAR**2 else None

    # Painting

    def paintEvent(self, event: QPaintEvent) -> None:
        now, painter = theme.current(), QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.fillRect(self.rect(), now.q("sunk"))
        if self._found is None or not len(self._found.ids) or not self.sides:
            draw_text(painter, QRectF(self.rect()).adjusted(16, 0, -16, 0), self._why, "text3", 12, align="centre")
            return
        for side in range(len(self.sides)):
            self._paint_side(painter, now, side)
            if side:
                painter.setPen(QPen(now.q("line"), 1))
                painter.drawLine(QPointF(self._side(side).left(), 0), QPointF(self._side(side).left(), self.height()))
        if self.hasFocus():
            painter.setPen(QPen(now.q("accent"), 1))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5))

    def _paint_side(self, painter: QPainter, now: theme.Theme, side: int) -> None:
        assert self._found is not None
        one, box = self.sides[side], self._side(side)
        old, new = self._to_px(self._found.points, side), self._to_px(one.points, side)
        painter.setPen(QPen(now.q("text3", 0.55), 1))
        for (x0, y0), (x1, y1) in zip(old.tolist(), new.tolist()):
            painter.drawLine(QPointF(x0, y0), QPointF(x1, y1))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(now.q("A"), 1.6))
        for x, y in old.tolist():
            painter.drawEllipse(QPointF(x, y), 3.4, 3.4)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(now.q("B"))
        for x, y in new.tolist():
            painter.drawEllipse(QPointF(x, y), 3.2, 3.2)
        self._paint_names(painter, now, old, new, box)
        for place, token in ((self._hover[1] if self._hover else None, "text2"), (self._place(), "accent")):
            if place is not None:
                painter.setBrush(Qt.BrushStyle.NoBrush)
                painter.setPen(QPen(now.q(token), 2))
                for x, y in (old[place], new[place]):
                    painter.drawEllipse(QPointF(float(x), float(y)), 7, 7)
        names = tr("{old} → {new}", old=escaped(self._found.old), new=escaped(one.name))
        d = tr("d_pw = {d}, mean cosine {c}", d=number(one.point_distance, 3), c=number(1 - one.point_distance / 2, 3))
        draw_text(painter, QRectF(box.left() + 12, 3, box.width() - 24, HEAD - 4), f"{names}   {d}", "text", 11)
        foot = QRectF(box.left() + 12, box.bottom() - 19, box.width() - 24, 16)
        draw_text(painter, foot, tr("ring: old · disc: new · axes of all vectors shown"), "text3", 10)

    def _paint_names(
        self, painter: QPainter, now: theme.Theme, old: NDArray[np.float64], new: NDArray[np.float64], box: QRectF
    ) -> None:
        assert self._found is not None
        if self._faces is None:
            return
        rows = self._faces.rows_of(self._found.ids)
        codes = self._faces.identity.codes[rows]
        people = np.unique(codes)
        if not 1 < len(people) <= NAMED:
            return
        spots = np.vstack([old, new])
        taken: list[QRectF] = []
        for code in people:
            some = codes == code
            text = self._faces.label(int(rows[some][0]))
            plate = _free_spot(text_width(text, 10) + 10, np.vstack([old[some], new[some]]), spots, taken, box)
            taken.append(plate)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(now.q("raised", 0.86))
            painter.drawRoundedRect(plate, 3, 3)
            draw_text(painter, plate, text, "text", 10, align="centre")

    # Pointer and keys

    def _place(self) -> int | None:
        if self._found is None or self._current is None:
            return None
        found = np.flatnonzero(self._found.ids == self._current)
        return int(found[0]) if len(found) else None

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        under = self._under(event.position())
        if under != self._hover:
            self._hover = under
            self._hide_card()
            if under is not None:
                self._timer.start()
            self.update()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        under = self._under(event.position())
        if event.button() == Qt.MouseButton.LeftButton and under is not None and self._found is not None:
            self.look.emit(int(self._found.ids[under[1]]))

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        under = self._under(event.position())
        if under is not None and self._found is not None:
            self.open_face.emit(int(self._found.ids[under[1]]))

    def leaveEvent(self, event: QEvent) -> None:
        self._hover = None
        self._hide_card()
        self.update()

    def _wants(self, event: QKeyEvent) -> bool:
        return pressed(event, "view.loupe")

    def keyPressEvent(self, event: QKeyEvent) -> None:
        steps = {Qt.Key.Key_Right: 1, Qt.Key.Key_Down: 1, Qt.Key.Key_Left: -1, Qt.Key.Key_Up: -1}
        key, place, large = Qt.Key(event.key()), self._place(), pressed(event, "view.loupe")
        if self._found is None or not len(self._found.ids) or (key not in steps and not large):
            super().keyPressEvent(event)
        elif large:
            if place is not None:
                self.open_face.emit(int(self._found.ids[place]))
        else:
            at = 0 if place is None else (place + steps[key]) % len(self._found.ids)
            self.look.emit(int(self._found.ids[at]))

    def _tell(self) -> None:
        found = self._found
        if found is None:
            self.setAccessibleDescription(self._why)
            return
        said = [plural(len(found.ids), "{n} face", "{n} faces")]
        said += [tr("{name}: d_pw {d}", name=one.name, d=number(one.point_distance, 3)) for one in self.sides]
        place = self._place()
        if place is not None and self._faces is not None:
            said.append(self._faces.label(int(self._faces.rows_of(found.ids[place : place + 1])[0])))
        self.setAccessibleDescription(". ".join(said))

    # The card

    def _show_card(self) -> None:
        if self._hover is None or self._found is None or self._faces is None:
            return
        side, place = self._hover
        face = int(self._found.ids[place])
        row = self._faces.row_of(face)
        if row is None:
            return
        old, new = (self._to_px(points, side)[place] for points in (self._found.points, self.sides[side].points))
        pixmap = self._thumbnails.get(self._faces, row, round(FACE * self.devicePixelRatioF()))
        self._card.tell(pixmap, self._faces.label(row), file=self._faces.file_name(row))
        spot = (old + new) / 2
        self._card.place(QRect(round(float(spot[0])) - 8, round(float(spot[1])) - 8, 16, 16))

    def _hide_card(self) -> None:
        self._timer.stop()
        self._card.hide()

    def sizeHint(self) -> QSize:
        return QSize(640, 200)

    def minimumSizeHint(self) -> QSize:
        return QSize(240, 140)


def _free_spot(
    wide: float, own: NDArray[np.float64], spots: NDArray[np.float64], taken: list[QRectF], box: QRectF
) -> QRectF:
    """Where a name lies on the fewest points and on no other name, near the points it is about."""
    x, y = np.median(own, axis=0)
    left, right = np.percentile(own[:, 0], (10, 90))
    top, foot = np.percentile(own[:, 1], (10, 90))
    aside = wide / 2 + 6
    centres = ((x, top - 13), (x, foot + 13), (left - aside, y), (right + aside, y), (x, top - 28), (x, y))
    best, least = QRectF(), np.inf
    for at in centres:
        plate = QRectF(0, 0, wide, 16)
        plate.moveCenter(QPointF(*map(float, at)))
        plate.moveLeft(min(max(plate.left(), box.left() + 4), box.right() - wide - 4))
        plate.moveTop(min(max(plate.top(), box.top() + 2), box.bottom() - 38))
        inside = (np.abs(spots - (plate.center().x(), plate.center().y())) < (wide / 2 + 3, 11)).all(axis=1)
        cost = inside.sum() + 1000.0 * sum(plate.intersects(other) for other in taken)
        if cost < least:
            best, least = plate, cost
    return best
