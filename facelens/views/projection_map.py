"""The map: a dot for each face, near each other where their vectors are alike.

Circles are originals, outlines of triangles augmented pictures. With a selection the others fade, and the people in it
are named. A drag draws a lasso or a rectangle. Keys: arrows walk to the next face in that direction, plus and minus
zoom; the rest is as in every cloud.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF, QSize, Qt, QTimer
from PySide6.QtGui import QImage, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen, QPolygonF, QResizeEvent
from PySide6.QtWidgets import QWidget

from facelens.analyses.projection import Projection
from facelens.images.faceset import FaceSet, Ids
from facelens.views import dots, theme
from facelens.views.cloud import NOTHING, Cloud, View
from facelens.views.colouring import Colouring
from facelens.views.controls import draw_text, text_width
from facelens.views.hover import Line
from facelens.views.thumbnails import Thumbnails
from facelens.words import plural, tr

TOOLS = ("lasso", "rectangle")
AROUND = 0.04  # of the map that is left free on each side
FADED = 0.5  # opacity of faces that are not selected
NAMED = 8  # people of the selection up to which they are named
FOOT = 22  # px of the line at the foot
REST = 90  # ms without zoom or pan after which dots are painted anew
SIZES = ((1_000, 1.3), (5_000, 1.1), (20_000, 0.9), (100_000, 0.7))  # faces up to which dots have a size
SMALLEST = 0.55
ARROWS = {
    Qt.Key.Key_Left: (-1, 0),
    Qt.Key.Key_Right: (1, 0),
    Qt.Key.Key_Up: (0, -1),
    Qt.Key.Key_Down: (0, 1),
}


class ProjectionMap(Cloud):
    """See the module's words."""

    def __init__(self, thumbnails: Thumbnails, parent: QWidget | None = None) -> None:
        super().__init__(thumbnails, parent)
        self.tool = TOOLS[0]
        self._colouring: Colouring | None = None
        self._augmented: NDArray[np.bool_] = np.zeros(0, bool)
        self._shaped = False  # whether shapes mean anything
        self._foot = self._why = ""
        self._trail: list[QPointF] = []  # of the lasso
        self._ground: dict[bool, QImage] = {}  # all faces: as they are, and faded
        self._front: QImage | None = None  # those that are selected
        self._painted = self._view  # what these pictures show
        self._rest = QTimer(self)
        self._rest.setSingleShot(True)
        self._rest.setInterval(REST)
        self._rest.timeout.connect(self._paint_anew)
        self.setAccessibleName(tr("Map of the faces"))

    def sizeHint(self) -> QSize:
        return QSize(640, 420)

    # What is shown

    def show_map(self, faces: FaceSet, found: Projection, *, same: bool = False) -> None:
        """Show points; where it is the `same` map that goes on, what is looked at stays, and so do the colours."""
        stays = same and self._view != self._whole
        self._faces, self._ids, self._why = faces, found.ids, ""
        self._x, self._y = found.points[:, 0].astype(np.float64), found.points[:, 1].astype(np.float64)
        # By chance, so that no kind of face lies over all others; always the same way, so that nothing flickers.
        self._drawn = np.random.default_rng(0).permutation(len(found))
        if not same:
            self._hover, self._augmented, self._colouring = None, np.zeros(len(found), bool), None
        self._whole = self._everything()
        if not stays:
            self._view = self._whole
        self._mark_selected()
        self._rest.stop()
        self._lay_out()

    def show_nothing(self, why: str) -> None:
        """Nothing to draw, and why."""
        self._faces, self._ids, self._x, self._y = None, np.zeros(0, np.int64), NOTHING, NOTHING
        self._drawn, self._hover, self._why = np.zeros(0, np.int64), None, why
        self._augmented, self._colouring = np.zeros(0, bool), None
        self._mark_selected()
        self._rest.stop()
        self._lay_out()

    def set_colours(self, colouring: Colouring) -> None:
        """Colour the faces that are shown."""
        self._colouring = colouring
        self._paint_anew()

    def set_shapes(self, augmented: NDArray[np.bool_] | None) -> None:
        """Which of the faces are augmented; None: nobody knows."""
        self._shaped = augmented is not None
        self._augmented = augmented if augmented is not None else np.zeros(len(self._ids), bool)
        self._paint_anew()

    def set_foot(self, text: str) -> None:
        """What this is a map of, in a line at the foot."""
        self._foot = text
        self._tell()
        self.update()

    def set_tool(self, tool: str) -> None:
        """What a drag draws."""
        self.tool = tool

    def _said(self) -> list[str]:
        chosen = int(self._chosen.sum())
        parts = [self._why or self._foot]
        if self._colouring is not None:
            parts.append(tr("Colour: {title}", title=self._colouring.title))
        if chosen:
            parts.append(plural(chosen, "{n} face selected", "{n} faces selected"))
        return parts

    def _words(self, place: int) -> list[Line]:
        lines: list[Line] = []
        if self._colouring is not None:
            lines.append((self._colouring.title, self._colouring.told(place)))
        if self._shaped:
            said = tr("augmented") if self._augmented[place] else tr("original")
            lines.append((tr("shape"), said))
        return lines

    # Geometry: one scale for both directions

    def _box(self) -> QRectF:
        return QRectF(0, 0, max(1, self.width()), max(1, self.height() - FOOT))

    def _everything(self) -> View:
        """All points, in the middle of the box."""
        box = self._box()
        if not len(self._x):
            return View(0.0, 1.0, 0.0, 1.0)
        low, high = np.array([self._x.min(), self._y.min()]), np.array([self._x.max(), self._y.max()])
        middle, span = (low + high) / 2, np.maximum(high - low, 1e-9) * (1 + 2 * AROUND)
        size = np.array([box.width(), box.height()])
        half = max(span / size) * size / 2
        left, low_ = middle - half
        right, high_ = middle + half
        return View(float(left), float(right), float(low_), float(high_))

    def resizeEvent(self, event: QResizeEvent) -> None:
        old, view, whole = self._whole, self._view, self._everything()
        self._whole = self._view = whole
        if view != old:  # the same middle, and the same share of the whole
            share = (view.right - view.left) / (old.right - old.left)
            x, y = (view.left + view.right) / 2, (view.low + view.high) / 2
            across, up = share * (whole.right - whole.left) / 2, share * (whole.high - whole.low) / 2
            self._view = View(x - across, x + across, y - up, y + up)
        self._rest.stop()
        super().resizeEvent(event)

    def _look_at(self, view: View) -> None:
        if self._ground and view != self._view:
            self._rest.start()  # until then the pictures are moved
        super()._look_at(view)

    def _forget(self, *, rings_only: bool = False) -> None:
        if rings_only:
            self._front = None
        elif not self._rest.isActive():
            self._ground.clear()
            self._front = None

    def _paint_anew(self) -> None:
        self._rest.stop()
        self._forget()
        self._tell()
        self.update()

    # The lasso

    def mousePressEvent(self, event: QMouseEvent) -> None:
        super().mousePressEvent(event)
        self._trail = [event.position()]

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        super().mouseMoveEvent(event)
        if self._press is not None and (event.position() - self._trail[-1]).manhattanLength() >= 2:
            self._trail.append(event.position())

    def _brushed(self) -> Ids:
        if self.tool != "lasso":
            return super()._brushed()
        wide, high = max(1, self.width()), max(1, self.height())
        mask = QImage(wide, high, QImage.Format.Format_Grayscale8)
        mask.fill(0)
        painter = QPainter(mask)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(Qt.GlobalColor.white)
        painter.drawPolygon(QPolygonF(self._trail), Qt.FillRule.WindingFill)
        painter.end()
        inside = np.frombuffer(mask.constBits(), np.uint8).reshape(high, mask.bytesPerLine())[:, :wide] > 127
        x, y = np.floor(self._px).astype(np.int64), np.floor(self._py).astype(np.int64)
        seen = (x >= 0) & (x < wide) & (y >= 0) & (y < high)
        seen[seen] = inside[y[seen], x[seen]]
        return self._ids[self._drawn[seen]]

    def _paint_brush(self, painter: QPainter) -> None:
        if self.tool != "lasso":
            super()._paint_brush(painter)
            return
        now, line = theme.current(), QPolygonF(self._trail)
        painter.setPen(QPen(now.q("accent"), 1.4, Qt.PenStyle.DashLine))
        painter.setBrush(now.q("accent", 0.13))
        painter.drawPolygon(line, Qt.FillRule.WindingFill)
        self._paint_tag(painter, line.boundingRect())

    # Painting

    def paintEvent(self, event: QPaintEvent) -> None:
        now, box, painter = theme.current(), self._box(), QPainter(self)
        painter.fillRect(self.rect(), now.q("sunk"))
        painter.setRenderHints(QPainter.RenderHint.Antialiasing | QPainter.RenderHint.SmoothPixmapTransform)
        if len(self._drawn):
            self._paint_dots(painter, box)
            self._paint_names(painter)
            self._paint_marks(painter)
        elif self._why:
            painter.setFont(theme.font(11))
            painter.setPen(now.q("text3"))
            flags = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
            painter.drawText(box.adjusted(24, 8, -24, -8), int(flags), self._why)
        if self._foot:
            draw_text(painter, QRectF(12, box.bottom(), self.width() - 24, FOOT - 4), self._foot, "text3", 10)
        self._paint_focus(painter)

    def _paint_dots(self, painter: QPainter, box: QRectF) -> None:
        focused = bool(self._chosen.any())
        if focused not in self._ground or (focused and self._front is None):
            self._rest.stop()
        if not self._rest.isActive() and self._painted != self._view:
            self._ground.clear()
            self._front, self._painted = None, self._view
        if focused not in self._ground:
            self._ground[focused] = self._picture(box, np.ones(len(self._drawn), bool), faded=focused)
        if focused and self._front is None:
            self._front = self._picture(box, self._chosen[self._drawn], faded=False)
        target = self._target(box)
        painter.drawImage(target, self._ground[focused])
        if focused and self._front is not None:
            painter.drawImage(target, self._front)

    def _target(self, box: QRectF) -> QRectF:
        """Where the pictures belong: elsewhere than they were painted for, while one zooms or pans."""
        then, now = self._painted, self._view
        if then == now:
            return box
        across, up = box.width() / (now.right - now.left), box.height() / (now.high - now.low)
        return QRectF(
            box.left() + (then.left - now.left) * across,
            box.bottom() - (then.high - now.low) * up,
            (then.right - then.left) * across,
            (then.high - then.low) * up,
        )

    def _picture(self, box: QRectF, some: NDArray[np.bool_], *, faded: bool) -> QImage:
        """Some of the faces: circles, over them triangles, rings where they are selected."""
        now, n = theme.current(), len(self._drawn)
        size = next((size for most, size in SIZES if n <= most), SMALLEST)
        opacity = FADED if faded else 0.85 * max(0.6, min(1.0, (5_000 / max(n, 1)) ** 0.2))
        grey = now.q("text3")
        x, y = self._px - box.left(), self._py - box.top()
        layers = []
        if not faded and self._chosen.any():  # under the dots: where many are selected, their colours are still seen
            these = np.flatnonzero(some)
            layers.append(dots.Dots(x[these], y[these], "halo", now.q("accent"), 0.85, max(size, 0.8)))
        for shape, kind in (("disc", False), ("triangle", True)):
            these = np.flatnonzero(some & (self._augmented[self._drawn] == kind))
            shades = None if self._colouring is None or faded else self._colouring.shades[self._drawn[these]]
            layers.append(dots.Dots(x[these], y[these], shape, grey if shades is None else shades, opacity, size))
        return dots.picture(layers, int(box.width()), int(box.height()), ratio=self.devicePixelRatioF())

    def _paint_names(self, painter: QPainter) -> None:
        """The people of the selection, each at the middle of the selected faces."""
        if self._faces is None or not self._chosen.any():
            return
        chosen = np.flatnonzero(self._chosen)
        codes = self._faces.identity.codes[self._faces.rows_of(self._ids[chosen])]
        people = np.unique(codes[codes >= 0])
        if not 0 < len(people) <= NAMED or len(codes) < 2:
            return
        taken: list[QRectF] = []
        for code in people.tolist():
            places = chosen[codes == code]
            x, y = float(np.median(self._to_px(self._x[places]))), float(np.median(self._to_py(self._y[places])))
            row = int(self._faces.rows_of(self._ids[places[:1]])[0])
            text = self._faces.label(row)
            plate = QRectF(
                x - text_width(text, 10) / 2 - 5, y - 28 if y > 34 else y + 12, text_width(text, 10) + 10, 16
            )
            while any(plate.intersects(other) for other in taken):
                plate.translate(0, -17)
            if not self._box().contains(plate.center()):
                continue
            taken.append(plate)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(theme.current().q("raised", 0.86))
            painter.drawRoundedRect(plate, 3, 3)
            draw_text(painter, plate, text, "text", 10, align="centre")

    # Keys

    def keyPressEvent(self, event: QKeyEvent) -> None:
        way = ARROWS.get(Qt.Key(event.key()))
        if way is not None and len(self._drawn):
            self._walk(*way)
        elif event.key() in (Qt.Key.Key_Plus, Qt.Key.Key_Equal, Qt.Key.Key_Minus) and not (
            event.modifiers() & Qt.KeyboardModifier.ControlModifier
        ):
            spot = self._spot(self._hover) if self._hover is not None else None
            self._zoom(1.25 if event.key() == Qt.Key.Key_Minus else 0.8, spot or self._box().center())
        else:
            super().keyPressEvent(event)

    def _walk(self, right: int, down: int) -> None:
        """To the next face in a direction; to the one in the middle where none is pointed at."""
        box = self._box()
        start = self._hover if self._hover is not None else self._current()
        spot = self._spot(start) if start is not None else None
        at = spot or box.center()
        x, y = self._px - at.x(), self._py - at.y()
        far = np.hypot(x, y)
        if spot is not None:
            along, aside = x * right + y * down, np.abs(x * down) + np.abs(y * right)
            far = np.where((along > 0) & (aside <= 2 * along + 4) & (self._drawn != start), along + 2 * aside, np.inf)
        far[(np.abs(self._px - box.center().x()) > box.width() / 2)] = np.inf
        far[(np.abs(self._py - box.center().y()) > box.height() / 2)] = np.inf
        if np.isfinite(far).any():
            self._walk_to(int(self._drawn[int(np.argmin(far))]))
