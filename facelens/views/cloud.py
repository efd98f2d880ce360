"""Faces as dots on a ground: what is in sight, which dot the pointer means, zoom, pan, brush, and the card of a face.

A click selects a face and looks at it, a double click opens it, a drag over the ground selects those inside (Shift
adds, Alt takes away, both intersect, Ctrl toggles). The wheel zooms at the pointer, middle drag or Space and drag
pans, F and a double click on the ground show everything, Enter selects. What the dots mean and how they look,
subclasses say.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QEvent, QPointF, QRect, QRectF, Qt, QTimer, Signal
from PySide6.QtGui import QFocusEvent, QHideEvent, QKeyEvent, QMouseEvent, QPainter, QPen, QResizeEvent, QWheelEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from facelens.images.faceset import FaceSet, Ids
from facelens.session.selection import Mode, Selection
from facelens.views import theme
from facelens.views.controls import draw_text, text_width
from facelens.views.grid import band_mode
from facelens.views.hover import DELAY, FACE, HoverCard, Line
from facelens.views.picking import Index, Known
from facelens.views.space_bar import SpaceBar
from facelens.views.thumbnails import Thumbnails
from facelens.words import plural

Array = NDArray[np.float64]
NEAR = 8  # px from a dot that still mean it
STILL = 4  # px a click may move
DEEPEST = 1e-4  # of the whole that the wheel zooms to
NOTHING: Array = np.zeros(0)
NOBODY: Ids = np.zeros(0, np.int64)


@dataclass(frozen=True)
class View:
    """What is in sight: ranges of both coordinates."""

    left: float
    right: float
    low: float
    high: float


class Cloud(QWidget):
    """See the module's words. Nothing is emitted by what is set from outside."""

    select = Signal(object, object)  # ids, Mode
    look = Signal(object)  # id of the face that became current
    open_face = Signal(object)  # id
    hovered = Signal(object)  # id of the face under the pointer or reached by keys; None: no more

    def __init__(self, thumbnails: Thumbnails, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._thumbnails = thumbnails
        self._faces: FaceSet | None = None
        self._ids: Ids = NOBODY
        self._x = self._y = NOTHING
        self._drawn: NDArray[np.int64] = NOBODY  # places in `_ids` of the faces that have a dot
        self._laid: tuple[Array, Array] | None = None  # pixels of `_drawn`
        self._index: Index | None = None
        self._known = Known(NOBODY)
        self._selection = Selection()
        self._chosen: NDArray[np.bool_] = np.zeros(0, bool)
        self._looked_at: int | None = None  # place in `_ids`
        self._view = self._whole = View(0.0, 1.0, 0.0, 1.0)
        self._hover: int | None = None  # place in `_ids`
        self._press: QPointF | None = None
        self._anchor = (0.0, 0.0)  # where it was pressed, in the coordinates of the points
        self._at = QPointF()  # the pointer
        self._drag = ""  # "band", "pan", or what a subclass drags
        self._held = Qt.KeyboardModifier.NoModifier
        self._by_key = False
        self._space = SpaceBar()
        self._card = HoverCard(self)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(DELAY)
        self._timer.timeout.connect(self._show_card)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.setMinimumSize(200, 140)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        thumbnails.ready.connect(self._on_ready)
        theme.follow(self, self._on_theme_changed)

    # For subclasses

    def _box(self) -> QRectF:
        """Where the dots are."""
        return QRectF(self.rect())

    def _words(self, place: int) -> list[Line]:
        """Lines of a face's card."""
        return []

    def _said(self) -> list[str]:
        """What the picture says, for screen readers."""
        return []

    def _forget(self, *, rings_only: bool = False) -> None:
        """Pictures of the dots, or of what marks the selected ones, are no longer right."""

    # What is shown

    def set_selection(self, selection: Selection) -> None:
        """Mark the selected faces and the one that is looked at."""
        if selection == self._selection:
            return
        self._selection = selection
        self._mark_selected()
        self._forget(rings_only=True)
        self._tell()
        self.update()

    def fit(self) -> None:
        """Show everything."""
        self._look_at(self._whole)

    def _mark_selected(self) -> None:
        if self._known.ids is not self._ids:
            self._known = Known(self._ids)
        self._chosen = np.zeros(len(self._ids), bool)
        self._chosen[self._known.places(self._selection.ids)] = True
        self._looked_at = self._place_of(self._selection.current)

    def _place_of(self, face: int | None) -> int | None:
        if face is None:
            return None
        found = self._known.places(np.array([face], np.int64))
        return int(found[0]) if len(found) else None

    def _tell(self) -> None:
        parts = self._said()
        if self._hover is not None and self._faces is not None:
            row = self._faces.row_of(int(self._ids[self._hover]))
            lines = (line if isinstance(line, str) else " ".join(line) for line in self._words(self._hover))
            parts += [self._faces.label(row) if row is not None else "", *lines]
        self.setAccessibleDescription(". ".join(part for part in parts if part))

    # Geometry

    def _to_px(self, x: Array | float) -> Array:
        box, view = self._box(), self._view
        return box.left() + (np.asarray(x) - view.left) * (box.width() / (view.right - view.left))

    def _to_py(self, y: Array | float) -> Array:
        box, view = self._box(), self._view
        return box.bottom() - (np.asarray(y) - view.low) * (box.height() / (view.high - view.low))

    def _value_at(self, py: float) -> float:
        box, view = self._box(), self._view
        return float(view.low + (box.bottom() - py) * (view.high - view.low) / box.height())

    def _point(self, at: QPointF) -> tuple[float, float]:
        """A place in the coordinates of the points."""
        box, view = self._box(), self._view
        return view.left + (at.x() - box.left()) / box.width() * (view.right - view.left), self._value_at(at.y())

    @property
    def _px(self) -> Array:
        """Pixels of the drawn faces, from the left."""
        return self._lay()[0]

    @property
    def _py(self) -> Array:
        """Pixels of the drawn faces, from the top."""
        return self._lay()[1]

    def _lay(self) -> tuple[Array, Array]:
        if self._laid is None:
            self._laid = self._to_px(self._x[self._drawn]), self._to_py(self._y[self._drawn])
        return self._laid

    def _indexed(self) -> Index:
        """The drawn points, ready to be searched."""
        if self._index is None or not self._index.same(self._x, self._y, self._drawn):
            self._index = Index(self._x, self._y, self._drawn)
        return self._index

    def _look_at(self, view: View) -> None:
        self._view = view
        self._lay_out()

    def _lay_out(self) -> None:
        self._laid = None
        self._forget()
        self._tell()
        self.update()

    def _under(self, at: QPointF) -> int | None:
        """The face whose dot is nearest, if it is near."""
        if not len(self._drawn) or not self._box().adjusted(-6, -6, 6, 6).contains(at):
            return None
        box, view = self._box(), self._view
        across, up = box.width() / (view.right - view.left), box.height() / (view.high - view.low)
        return self._indexed().nearest(*self._point(at), NEAR / across, squeeze=up / across)

    def _spot(self, place: int) -> QPointF | None:
        """Where a face's dot is; None where it is out of sight or has none."""
        spot = QPointF(float(self._to_px(self._x[place])), float(self._to_py(self._y[place])))
        return spot if self._box().adjusted(-4, -4, 4, 4).contains(spot) else None

    def _current(self) -> int | None:
        return self._looked_at

    # The brush: a rectangle, unless a subclass has another one

    def _band(self) -> QRectF:
        start = QPointF(float(self._to_px(self._anchor[0])), float(self._to_py(self._anchor[1])))
        return QRectF(start, self._at).normalized()

    def _brushed(self) -> NDArray[np.int64]:
        """Places of the faces inside."""
        (x0, y0), (x1, y1) = self._anchor, self._point(self._at)
        return self._indexed().within(min(x0, x1), max(x0, x1), min(y0, y1), max(y0, y1))

    def _count(self) -> int:
        """How many these are."""
        return len(self._brushed())

    def _paint_brush(self, painter: QPainter) -> None:
        now, band = theme.current(), self._band().intersected(self._box().adjusted(-6, -6, 6, 6))
        painter.setPen(QPen(now.q("accent"), 1))
        painter.setBrush(now.q("accent", 0.13))
        painter.drawRect(band)
        self._paint_tag(painter, band)

    def _paint_tag(self, painter: QPainter, band: QRectF) -> None:
        """How many faces are inside."""
        text = plural(self._count(), "{n} face", "{n} faces")
        tag = QRectF(band.left(), band.top() - 19, text_width(text, 10) + 12, 17)
        if tag.top() < 2:
            tag.moveTop(band.top() + 2)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme.current().q("accent"))
        painter.drawRoundedRect(tag, 3, 3)
        draw_text(painter, tag, text, "onaccent", 10, align="centre")

    # Painting

    def _paint_marks(self, painter: QPainter) -> None:
        """What lies over the dots: the brush, the face under the pointer, the one that is looked at."""
        if self._drag == "band":
            self._paint_brush(painter)
        for place in (self._hover, self._current()):
            if place is not None:
                self._paint_ring(painter, place)

    def _paint_ring(self, painter: QPainter, place: int) -> None:
        spot, now = self._spot(place), theme.current()
        if spot is None:
            return
        painter.setBrush(Qt.BrushStyle.NoBrush)
        if self._ids[place] == self._selection.current:
            painter.setPen(QPen(now.q("accent"), 3))
            painter.drawEllipse(spot, 6.5, 6.5)
            painter.setPen(QPen(now.q("text"), 1))
            painter.drawEllipse(spot, 8.5, 8.5)
        else:
            painter.setPen(QPen(now.q("text"), 1.4))
            painter.drawEllipse(spot, 7.5, 7.5)

    def _paint_focus(self, painter: QPainter) -> None:
        if self.hasFocus() and self._by_key:
            painter.setPen(QPen(theme.current().q("accent"), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), 4, 4)

    # Pointer

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._by_key = False
        self.setFocus(Qt.FocusReason.MouseFocusReason)
        self._hide_card()
        at = event.position()
        if self._space.pans(event):
            self._press, self._drag = at, "pan"
            self.setCursor(Qt.CursorShape.ClosedHandCursor)
        elif event.button() == Qt.MouseButton.LeftButton:
            self._press, self._held, self._at, self._drag = at, event.modifiers(), at, ""
            self._anchor = self._point(at)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        at = event.position()
        if self._press is None:
            self._point_at(at)
        elif self._drag == "pan":
            self._pan(at - self._press)
            self._press = at
        else:
            self._at = at
            if (at - self._press).manhattanLength() > STILL and len(self._drawn):
                self._drag = "band"
                self._set_hover(None)
            self.update()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if self._press is None or event.button() not in (Qt.MouseButton.LeftButton, Qt.MouseButton.MiddleButton):
            return
        at, drag = event.position(), self._drag
        inside = self._ids[self._brushed()] if drag == "band" else NOBODY
        press, self._press, self._drag = self._press, None, ""
        if drag == "band":
            self.select.emit(inside, band_mode(self._held))
        elif not drag and (at - press).manhattanLength() <= STILL:
            self._click(self._under(at))
        self._point_at(at)
        self.update()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        if event.button() != Qt.MouseButton.LeftButton:
            return
        place = self._under(event.position())
        if place is None:
            self.fit()
        else:
            self._hide_card()
            self.open_face.emit(int(self._ids[place]))

    def wheelEvent(self, event: QWheelEvent) -> None:
        turn = event.angleDelta().y()
        if not turn or not self._box().contains(event.position()) or not self._zoom(
            0.85 ** (turn / 120), event.position()
        ):  # fmt: skip
            event.ignore()  # nothing outside: the page goes on scrolling
        else:
            event.accept()

    def _zoom(self, factor: float, at: QPointF) -> bool:
        """Show `factor` of what is seen, the place `at` where it is; False where there is no more."""
        view, whole = self._view, self._whole
        x, y = self._point(at)
        span = max(factor, DEEPEST * (whole.right - whole.left) / (view.right - view.left))
        new = View(
            *_within(x - (x - view.left) * span, x + (view.right - x) * span, whole.left, whole.right),
            *_within(y - (y - view.low) * span, y + (view.high - y) * span, whole.low, whole.high),
        )
        if new == view:
            return False
        self._hide_card()
        self._look_at(new)
        return True

    def _pan(self, by: QPointF) -> None:
        box, view, whole = self._box(), self._view, self._whole
        x = -by.x() * (view.right - view.left) / box.width()
        y = by.y() * (view.high - view.low) / box.height()
        self._look_at(
            View(
                *_within(view.left + x, view.right + x, whole.left, whole.right),
                *_within(view.low + y, view.high + y, whole.low, whole.high),
            )
        )

    def leaveEvent(self, event: QEvent) -> None:
        self._set_hover(None)
        self._hide_card()

    def hideEvent(self, event: QHideEvent) -> None:
        self._hide_card()
        super().hideEvent(event)

    def _point_at(self, at: QPointF) -> None:
        place = self._under(at)
        self._cursor(Qt.CursorShape.ArrowCursor if place is None else Qt.CursorShape.PointingHandCursor)
        self._hover_over(place)

    def _cursor(self, shape: Qt.CursorShape) -> None:
        if self.cursor().shape() != shape:
            self.setCursor(shape)

    def _hover_over(self, place: int | None) -> None:
        if place != self._hover:
            self._hide_card()
            if place is not None:
                self._timer.start()
            self._set_hover(place)

    def _set_hover(self, place: int | None) -> None:
        if place != self._hover:
            self._hover = place
            self.hovered.emit(None if place is None else int(self._ids[place]))
            self.update()

    def _click(self, place: int | None) -> None:
        if place is None:
            if self._held == Qt.KeyboardModifier.NoModifier:
                self.select.emit(NOBODY, Mode.REPLACE)
            return
        self.select.emit(self._ids[place : place + 1], band_mode(self._held))
        self.look.emit(int(self._ids[place]))

    # The card

    def _show_card(self) -> None:
        place, faces = self._hover, self._faces
        if place is None or faces is None:
            return
        spot, row = self._spot(place), faces.row_of(int(self._ids[place]))
        if spot is None or row is None:
            self._hide_card()
            return
        pixmap = self._thumbnails.get(faces, row, round(FACE * self.devicePixelRatioF()))
        broken = self._thumbnails.broken(int(self._ids[place])) if pixmap is None else None
        lines = [broken] if broken else self._words(place)
        self._card.tell(pixmap, faces.label(row), file=faces.file_name(row), lines=lines, broken=broken is not None)
        self._card.place(QRect(round(spot.x()) - 8, round(spot.y()) - 8, 16, 16))

    def _hide_card(self) -> None:
        self._timer.stop()
        self._card.hide()

    def _on_ready(self, ids: object) -> None:
        if self._card.isVisible():
            self._show_card()

    # Keys

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = Qt.Key(event.key())
        if self._space.pressed(event):
            return
        if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self._hover is not None:
            self._choose(event)
        elif key == Qt.Key.Key_F and not event.modifiers():
            self.fit()
        elif key == Qt.Key.Key_Escape and self._drag == "band":
            self._press, self._drag = None, ""
        else:
            event.ignore()
            return
        self._by_key = True
        self.update()

    def keyReleaseEvent(self, event: QKeyEvent) -> None:
        if self._space.clicked(event) and self._hover is not None:
            self._choose(event)
            self._by_key = True
            self.update()

    def _choose(self, event: QKeyEvent) -> None:
        """Click the face that is pointed at, by the keyboard."""
        assert self._hover is not None
        self._held = event.modifiers()
        self._click(self._hover)

    def _walk_to(self, place: int) -> None:
        """Point at a face by the keyboard."""
        self._set_hover(place)
        self._by_key = True
        self._show_card()
        self._tell()
        self.update()

    def focusInEvent(self, event: QFocusEvent) -> None:
        self._by_key = event.reason() in (
            Qt.FocusReason.TabFocusReason, Qt.FocusReason.BacktabFocusReason, Qt.FocusReason.ShortcutFocusReason,
        )  # fmt: skip
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self._space.leave()
        self._hide_card()
        self.update()

    # Theme, size

    def _on_theme_changed(self) -> None:
        self._forget()
        self.update()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._lay_out()


def _within(low: float, high: float, least: float, most: float) -> tuple[float, float]:
    """A range moved and cut so that it lies in another."""
    width = min(high - low, most - least)
    start = min(max(low, least), most - width)
    return start, start + width
