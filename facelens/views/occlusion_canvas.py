"""The query as a canvas: cover parts of the face by hand, or put on a mask, sunglasses, a crop or blocks.

Drag to cover, with Shift to uncover; the wheel makes the brush larger and smaller. Keys: arrows move the brush, Space
covers, Delete uncovers, plus and minus change its size. What is done is told while it is done, a few times a second.
"""

from __future__ import annotations

from math import hypot

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QEvent, QPointF, QRectF, QSignalBlocker, QSize, Qt, QTimer, Signal
from PySide6.QtGui import (
    QColor,
    QFocusEvent,
    QImage,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPainterPath,
    QPaintEvent,
    QPen,
    QWheelEvent,
)
from PySide6.QtWidgets import QPushButton, QSizePolicy, QSlider, QVBoxLayout, QWidget

from facelens.images.occlusion import GREY, Occlusion
from facelens.views import theme
from facelens.views.controls import FlowLayout, Segmented, by_keyboard, label, together, tool_button
from facelens.views.hearing import keep_keys
from facelens.views.thumbnails import image_of
from facelens.words import plural, tr

OFTEN = 60  # ms; no two changes are told in less
LEAST, MOST, RADIUS = 0.02, 0.30, 0.09  # of the brush, as a share of the picture's width
APART = 0.35  # radii between two dabs of a stroke
ERASED = 0.7  # of the brush: dabs whose middle lies so near are taken off
ARROWS = {
    Qt.Key.Key_Left: (-1, 0), Qt.Key.Key_Right: (1, 0), Qt.Key.Key_Up: (0, -1), Qt.Key.Key_Down: (0, 1),
}  # fmt: skip
TIPS = {
    "brush": "Cover the query by hand",
    "mask": "A mask over mouth and nose",
    "sunglasses": "Dark glasses over the eyes",
    "crop70": "The edges are cut off",
    "blocks": "Blocks at places drawn by chance",
}
ERASERS = (Qt.Key.Key_Delete, Qt.Key.Key_Backspace)
SIZES = {Qt.Key.Key_Plus: 1.15, Qt.Key.Key_Equal: 1.15, Qt.Key.Key_Minus: 1 / 1.15}

Dab = tuple[float, float, float]  # x, y in 0..1 of width and height, radius of the width
Picture = NDArray[np.uint8]


class CanvasView(QWidget):
    """A picture and the dabs on it."""

    stroked = Signal()  # dabs were put on or taken off
    released = Signal()  # the end of a stroke
    resized = Signal()  # the brush

    def __init__(self) -> None:
        super().__init__()
        self.dabs: tuple[Dab, ...] = ()
        self.radius = RADIUS
        self.brushing = True  # False: dabs are not shown, the next stroke begins anew
        self._picture: QImage | None = None
        self._clean: QImage | None = None
        self._spot: QPointF | None = None  # of the brush, in 0..1
        self._last: QPointF | None = None  # where a stroke has come to
        self._erases = False
        self._by_key = False
        self.setAccessibleName(tr("Query to paint on"))
        self.setWhatsThis(
            tr("Drag covers, Shift uncovers, the wheel sizes the brush. Arrows move it, Space covers, Del uncovers.")
        )
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        keep_keys(self, self._wants)
        self.setCursor(Qt.CursorShape.BlankCursor)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setMinimumSize(120, 120)

    def sizeHint(self) -> QSize:
        return QSize(420, 420)

    def show_pictures(self, picture: QImage, clean: QImage | None) -> None:
        """What was searched for, and the same without anything on it where that is known."""
        self._picture, self._clean = picture, clean
        self.update()

    def set_dabs(self, dabs: tuple[Dab, ...], *, brushing: bool) -> None:
        """Other dabs; not in the middle of a stroke, which knows more."""
        if self._last is None:
            self.dabs, self.brushing = dabs, brushing
            self._tell()

    def set_radius(self, radius: float) -> None:
        """A larger or smaller brush."""
        self.radius = min(max(radius, LEAST), MOST)
        self.update()

    def _tell(self) -> None:
        said = plural(len(self.dabs), "{n} dab", "{n} dabs") if self.brushing and self.dabs else tr("nothing covered")
        self.setAccessibleDescription(said)
        self.update()

    # Where things are

    def area(self) -> QRectF:
        """Where the picture is."""
        if self._picture is None:
            return QRectF()
        room = QRectF(self.rect()).adjusted(12, 12, -12, -12)
        wide, high = self._picture.width(), self._picture.height()
        scale = min(room.width() / wide, room.height() / high)
        made = QRectF(0, 0, round(wide * scale), round(high * scale))
        made.moveCenter(room.center())
        return made.toRect().toRectF()

    def place(self, point: QPointF) -> QPointF:
        """A point of the widget in 0..1 of the picture."""
        area = self.area()
        return QPointF((point.x() - area.left()) / area.width(), (point.y() - area.top()) / area.height())

    def _disc(self, x: float, y: float, radius: float) -> QRectF:
        area = self.area()
        r = radius * area.width()
        return QRectF(area.left() + x * area.width() - r, area.top() + y * area.height() - r, 2 * r, 2 * r)

    def _away(self, one: QPointF, other: QPointF) -> float:
        """How far two places are apart, as a share of the width."""
        area = self.area()
        return hypot(one.x() - other.x(), (one.y() - other.y()) * area.height() / max(area.width(), 1))

    # Painting

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, now = QPainter(self), theme.current()
        painter.setRenderHints(QPainter.RenderHint.Antialiasing | QPainter.RenderHint.SmoothPixmapTransform)
        painter.fillRect(self.rect(), now.q("sunk"))
        if self._picture is None:
            return
        area = self.area()
        under = self._clean if self.brushing and self._clean is not None else self._picture
        painter.drawImage(area, under)
        painter.save()
        painter.setClipRect(area)
        if self.brushing and self.dabs:
            path = QPainterPath()
            path.setFillRule(Qt.FillRule.WindingFill)
            for dab in self.dabs:
                path.addEllipse(self._disc(*dab))
            painter.fillPath(path, QColor(GREY, GREY, GREY))
        painter.restore()
        if self._spot is not None:
            disc = self._disc(self._spot.x(), self._spot.y(), self.radius)
            painter.setBrush(Qt.BrushStyle.NoBrush)
            style = Qt.PenStyle.DashLine if self._erases else Qt.PenStyle.SolidLine
            for colour, wide in (("#000000", 3.0), ("#ffffff", 1.4)):
                painter.setPen(QPen(now.q(colour, 0.75), wide, style))
                painter.drawEllipse(disc)
        if self.hasFocus() and self._by_key:
            painter.setPen(QPen(now.q("accent"), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(area.adjusted(-4, -4, 4, 4), 4, 4)

    # Hands

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton and self._picture is not None:
            self._erases = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
            self._last = self.place(event.position())
            self._dab(self._last)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._picture is None:
            return
        spot = self.place(event.position())
        self._spot = spot
        if self._last is None:
            self._erases = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        else:
            self._stroke(spot)
        self.update()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton and self._last is not None:
            self._last = None
            self._erases = False
            self.released.emit()

    def leaveEvent(self, event: QEvent) -> None:
        self._spot = None
        self.update()
        super().leaveEvent(event)

    def wheelEvent(self, event: QWheelEvent) -> None:
        if event.angleDelta().y():
            self._resize(1.15 ** (event.angleDelta().y() / 120))
        event.accept()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = Qt.Key(event.key())
        spot = self._spot or QPointF(0.5, 0.5)
        if key in ARROWS:
            across, down = ARROWS[key]
            step = self.radius / 2
            self._spot = QPointF(min(max(spot.x() + across * step, 0), 1), min(max(spot.y() + down * step, 0), 1))
            self.update()
        elif key in SIZES:
            self._resize(SIZES[key])
        elif key in (Qt.Key.Key_Space, *ERASERS) and self._picture is not None:
            self._spot, self._erases = spot, key != Qt.Key.Key_Space
            self._dab(spot)
            self._erases = False
            self.released.emit()
        else:
            super().keyPressEvent(event)

    def _wants(self, event: QKeyEvent) -> bool:
        """Delete takes a dab off, say, whatever the window's own shortcut does with that key."""
        return event.key() in (*ERASERS, Qt.Key.Key_Space, *ARROWS)

    def focusInEvent(self, event: QFocusEvent) -> None:
        self._by_key = by_keyboard(event)
        super().focusInEvent(event)
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.update()

    def _resize(self, factor: float) -> None:
        self.set_radius(self.radius * factor)
        self.resized.emit()

    def _stroke(self, to: QPointF) -> None:
        """Dabs from where the stroke has come to, so close that they make one line."""
        assert self._last is not None
        start = self._last
        steps = int(self._away(start, to) / (APART * self.radius))
        for step in range(1, steps + 1):
            self._last = start + (to - start) * (step / steps)
            self._dab(self._last)

    def _dab(self, at: QPointF) -> None:
        if not self.brushing:
            self.dabs, self.brushing = (), True
        before = self.dabs
        if self._erases:
            reach = ERASED * self.radius
            self.dabs = tuple(dab for dab in before if self._away(QPointF(dab[0], dab[1]), at) > reach)
        elif -self.radius < at.x() < 1 + self.radius and -self.radius < at.y() < 1 + self.radius:
            self.dabs = (*before, (round(at.x(), 4), round(at.y(), 4), round(self.radius, 4)))
        if self.dabs != before:
            self._tell()
            self.stroked.emit()


class OcclusionCanvas(QWidget):
    """See the module's words. `show_picture` and `set_occlusion` emit nothing."""

    occlusion_changed = Signal(object)  # Occlusion, or None

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("panel")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._occlusion: Occlusion | None = None
        self._seed = 0
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(OFTEN)
        self._timer.timeout.connect(self._on_time)
        self._owed = False
        kinds = [("brush", tr("Brush")), ("mask", tr("Mask")), ("sunglasses", tr("Sunglasses")),
                 ("crop70", tr("Crop")), ("blocks", tr("Blocks"))]  # fmt: skip
        self.kind = Segmented(kinds, label=tr("What is painted"))
        for key, words in TIPS.items():
            self.kind.button(key).setToolTip(tr(words))
        self.view = CanvasView()
        self.slider = QSlider(Qt.Orientation.Horizontal)
        self.slider.setRange(0, 100)
        self.slider.setFixedWidth(110)
        self._named = label(name="sub")
        self._value = label(name="small")
        self._value.setMinimumWidth(34)
        self.again = tool_button("retry", tr("The same at another place, or in another colour"), size=14)
        self.clear = QPushButton(tr("Clear"))
        self.clear.setToolTip(tr("The query as it is"))
        self._hint = label(name="cap")
        row = QWidget()
        flow = FlowLayout(row, gap=10)
        flow.setContentsMargins(12, 7, 12, 7)
        for part in (self.kind, together(self._named, self.slider, self._value), together(self.again, self.clear),
                     self._hint):  # fmt: skip
            part.setFixedHeight(26)  # in one line, whatever stands in it
            flow.addWidget(part)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(row)
        column.addWidget(self.view, 1)
        self.kind.changed.connect(lambda _: self._on_kind())
        self.slider.valueChanged.connect(self._on_slid)
        self.again.clicked.connect(self._on_again)
        self.clear.clicked.connect(self._on_clear)
        self.view.stroked.connect(self._on_stroked)
        self.view.released.connect(self._flush)
        self.view.resized.connect(self._show)
        self.setMinimumWidth(self.kind.sizeHint().width() + 24)
        self._show()

    @property
    def occlusion(self) -> Occlusion | None:
        """What is painted now."""
        return self._occlusion

    def show_picture(self, picture: Picture, *, clean: Picture | None = None) -> None:
        """The query as it was searched for, (H, W, 3); `clean` is the same with nothing painted on it."""
        self.view.show_pictures(image_of(picture), None if clean is None else image_of(clean))

    def set_occlusion(self, occlusion: Occlusion | None) -> None:
        """Show what is painted."""
        if occlusion == self._occlusion or self._owed:  # what comes back from a stroke that has gone on is old
            return
        self._occlusion = None if occlusion is None or occlusion.clear else occlusion
        if self._occlusion is None:
            self.kind.set_value("brush")
            self.view.set_dabs((), brushing=True)
        else:
            self._seed = self._occlusion.seed
            brushing = self._occlusion.kind == "brush"
            self.kind.set_value(self._occlusion.kind)
            self.view.set_dabs(self._occlusion.strokes, brushing=brushing)
        self._show()

    # What the user does

    def _on_kind(self) -> None:
        kind = self.kind.value()
        self.view.set_dabs((), brushing=kind == "brush")
        self._become(None if kind == "brush" else Occlusion(kind, seed=self._seed))

    def _on_slid(self, value: int) -> None:
        if self.kind.value() == "brush":
            self.view.set_radius(LEAST + (MOST - LEAST) * value / 100)
            self._show()
        else:
            self._become(Occlusion(self.kind.value(), strength=max(value, 1) / 100, seed=self._seed))

    def _on_again(self) -> None:
        self._seed += 1
        if self._occlusion is not None:
            self._become(Occlusion(self._occlusion.kind, strength=self._occlusion.strength, seed=self._seed))

    def _on_clear(self) -> None:
        self.kind.set_value("brush")
        self.view.set_dabs((), brushing=True)
        self._become(None)
        self._flush()

    def _on_stroked(self) -> None:
        self.kind.set_value("brush")
        self._become(Occlusion("brush", strokes=self.view.dabs) if self.view.dabs else None)

    def _become(self, occlusion: Occlusion | None) -> None:
        if occlusion == self._occlusion:
            return
        self._occlusion = occlusion
        self._show()
        self._owed = True
        if not self._timer.isActive():
            self._on_time()

    def _on_time(self) -> None:
        if self._owed:
            self._owed = False
            self._timer.start()
            self.occlusion_changed.emit(self._occlusion)

    def _flush(self) -> None:
        """At the end of a stroke nothing waits."""
        self._timer.stop()
        self._on_time()

    def _show(self) -> None:
        """The controls of what is painted now."""
        brushing = self.kind.value() == "brush"
        strength = self._occlusion.strength if self._occlusion is not None else 1.0
        place = (self.view.radius - LEAST) / (MOST - LEAST) if brushing else strength
        with QSignalBlocker(self.slider):
            self.slider.setValue(round(100 * place))
        self._named.setText(tr("Size") if brushing else tr("Strength"))
        self.slider.setAccessibleName(tr("Size of the brush") if brushing else tr("Strength"))
        sized = tr("How much of the width the brush covers")
        self.slider.setToolTip(sized if brushing else tr("How much of it is painted, 0 to 100 %"))
        share = 2 * self.view.radius if brushing else strength
        self._value.setText(tr("{share} %", share=f"{100 * share:.0f}"))
        self.again.setVisible(not brushing)
        self.clear.setEnabled(self._occlusion is not None)
        brush = tr("Drag covers, Shift uncovers, the wheel sizes the brush")
        self._hint.setText(brush if brushing else tr("Drag on the picture to cover it by hand instead"))
