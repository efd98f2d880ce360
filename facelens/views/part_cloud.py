"""Two parts of every face as dots: one part's distance to the person's centre over the other's.

Those on which the two disagree most are ringed; left and right walk them, the most apart first. The rest is as in all
views with a dot for each face.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QImage, QKeyEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from facelens.figures.scales import Array, ticks
from facelens.images.faceset import FaceSet, Ids
from facelens.views import dots, theme
from facelens.views.cell_grid import note
from facelens.views.cloud import NOBODY, NOTHING, Cloud, View
from facelens.views.controls import draw_text, text_width
from facelens.views.grid import value_text
from facelens.views.hover import Line
from facelens.views.thumbnails import Thumbnails
from facelens.words import tr

TOP, BOTTOM, LEFT, RIGHT = 24, 34, 46, 14  # px around the dots
FEW, PALEST = 1_500, 0.05  # dots up to which each is fully painted, and how faint one may be


class PartCloud(Cloud):
    """See the module's words."""

    def __init__(self, thumbnails: Thumbnails, parent: QWidget | None = None) -> None:
        super().__init__(thumbnails, parent)
        self._far: NDArray[np.int64] = NOBODY  # places of those on which the parts disagree most
        self._names = ("", "")
        self._why = ""
        self._picture: QImage | None = None
        self.setMinimumSize(160, 100)
        self.setAccessibleName(tr("Two parts of every face"))
        self.setWhatsThis(
            tr(
                "A dot for each face by its distances in two parts; ringed are those on which they disagree most. A "
                "click selects, a drag selects those inside. The wheel zooms, middle drag or Space and drag pans, F "
                "shows everything, left and right walk the ringed ones."
            )
        )

    def sizeHint(self) -> QSize:
        return QSize(360, 200)

    def show_parts(
        self, faces: FaceSet, ids: Ids, x: Array, y: Array, far: NDArray[np.int64], names: tuple[str, str]
    ) -> None:
        """Distances (N,) of faces in two parts, NaN where there is none; `far` are places of those to be ringed."""
        self._show(faces, ids, x, y, far, names)

    def show_nothing(self, why: str) -> None:
        """Say why there are no dots."""
        self._show(None, NOBODY, NOTHING, NOTHING, NOBODY, ("", ""), why)

    def _show(
        self, faces: FaceSet | None, ids: Ids, x: Array, y: Array, far: NDArray[np.int64], names: tuple[str, str],
        why: str = "",
    ) -> None:  # fmt: skip
        self._hide_card()
        self._faces, self._ids, self._x, self._y, self._far = faces, ids, x, y, far
        self._names, self._why, self._hover = names, why, None
        self._drawn = np.flatnonzero(np.isfinite(x) & np.isfinite(y))
        self._whole = View(*_limits(x[self._drawn]), *_limits(y[self._drawn]))
        self._mark_selected()
        self.fit()

    # For what all clouds share

    def _box(self) -> QRectF:
        return QRectF(LEFT, TOP, max(1, self.width() - LEFT - RIGHT), max(1, self.height() - TOP - BOTTOM))

    def _words(self, place: int) -> list[Line]:
        values = (self._y[place], self._x[place])
        return [(name, value_text(value)) for name, value in zip(self._names[::-1], values)]

    def _said(self) -> list[str]:
        ringed = tr("{n} ringed: the two parts disagree most", n=len(self._far))
        return [self._why] if self._why else [tr("{y} over {x}", y=self._names[1], x=self._names[0]), ringed]

    def _forget(self, *, rings_only: bool = False) -> None:
        self._picture = None

    # Painting

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, box = QPainter(self), self._box()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.fillRect(self.rect(), theme.current().q("base"))
        if self._why:
            note(painter, QRectF(self.rect()), self._why)
        else:
            self._paint_axes(painter, box)
            if self._picture is None:
                self._picture = self._painted(box)
            painter.drawImage(box.topLeft(), self._picture)
            self._paint_marks(painter)
        self._paint_focus(painter)

    def _painted(self, box: QRectF) -> QImage:
        """All dots, rings around those that disagree and around the selected ones."""
        now = theme.current()
        opacity = max(PALEST, min(0.6, (FEW / max(len(self._drawn), 1)) ** 0.7))
        layers = []
        for places, shape, ink, alpha in (
            (self._drawn, "disc", "text3", opacity),
            (self._far, "ring", "text", 1.0),
            (self._drawn[self._chosen[self._drawn]], "ring", "accent", 1.0),
        ):
            x, y = self._to_px(self._x[places]) - box.left(), self._to_py(self._y[places]) - box.top()
            layers.append(dots.Dots(x, y, shape, now.q(ink), alpha))
        return dots.picture(layers, int(box.width()), int(box.height()), ratio=self.devicePixelRatioF())

    def _paint_axes(self, painter: QPainter, box: QRectF) -> None:
        now, view = theme.current(), self._view
        for place, text in ticks("linear", view.low, view.high, room=min(5, int(box.height() / 26))):
            y = float(self._to_py(place))
            painter.setPen(QPen(now.q("text", 0.09), 1))
            painter.drawLine(QPointF(box.left(), y), QPointF(box.right(), y))
            draw_text(painter, QRectF(0, y - 7, LEFT - 6, 14), text, "text3", 10, align="right")
        for place, text in ticks("linear", view.left, view.right, room=min(6, int(box.width() / 62))):
            x = float(self._to_px(place))
            draw_text(painter, QRectF(x - 30, box.bottom() + 2, 60, 14), text, "text3", 10, align="centre")
        painter.setPen(QPen(now.q("line2"), 1))
        painter.drawLine(box.bottomLeft(), box.bottomRight())
        across, up = (tr("{part}, distance to the centre", part=name) for name in self._names)
        draw_text(painter, QRectF(8, 4, self.width() - 16, 14), up, "text2", 10)
        foot = QRectF(LEFT, self.height() - 17, box.width(), 14)
        draw_text(painter, foot, across, "text2", 10, align="right")
        said = tr("ringed: the {n} that disagree most", n=len(self._far))
        if len(self._far) and text_width(said, 10) + text_width(across, 10) + 12 < box.width():
            draw_text(painter, foot, said, "text3", 10)

    # Keys

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}.get(Qt.Key(event.key()))
        if step is None or not len(self._far):
            super().keyPressEvent(event)
            return
        here = np.flatnonzero(self._far == (-1 if self._hover is None else self._hover))
        place = (int(here[0]) + step) % len(self._far) if len(here) else 0
        self._walk_to(int(self._far[place]))


def _limits(values: Array) -> tuple[float, float]:
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)
    room = 0.04 * (high - low) or 0.5
    return low - room, high + room
