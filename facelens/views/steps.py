"""A chart whose line stands only at steps: it is dragged to the nearest one, and a key moves it by one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Signal
from PySide6.QtGui import QPainter, QPen
from PySide6.QtWidgets import QWidget

from facelens.figures.labels import Box, beside
from facelens.figures.scales import Array
from facelens.views import theme
from facelens.views.canvas import Drawn
from facelens.views.controls import text_width
from facelens.views.plots import Axis, Chart


class StepChart(Chart):
    """A chart with steps on a linear x axis. Without steps its line moves freely, and `moved` tells."""

    stepped = Signal(int)  # the line is at another step

    def __init__(self, x: Axis, y: Axis, *, name: str, parent: QWidget | None = None) -> None:
        super().__init__(x, y, name=name, brush=True, parent=parent)
        self.places: Array = np.zeros(0)  # (S,) where the steps are, ascending or descending
        self.step = 0
        self.line_words = "right"

    def set_places(self, places: Array) -> None:
        """Other steps; the line stays at its number."""
        self.places = np.asarray(places, np.float64)
        self.step = min(self.step, max(len(self.places) - 1, 0))

    def nearest(self, place: float) -> int:
        """The step closest to a place; of several there, the present one."""
        away = np.abs(self.places - place)
        return self.step if away[self.step] == away.min() else int(away.argmin())

    def _move_line(self, place: float) -> None:
        if len(self.places):
            self._go(self.nearest(place))
        else:
            super()._move_line(place)

    def _type_line(self, steps: int) -> None:
        if len(self.places):
            rising = self.places[-1] >= self.places[0]
            self._go(self.step + (steps if rising else -steps))
        else:
            super()._type_line(steps)

    def _go(self, step: int) -> None:
        step = min(max(step, 0), len(self.places) - 1)
        if step != self.step:
            self.step, self._decision = step, float(self.places[step])
            self._unsettled, self._hover = True, None
            self.viewport().update()
            self.stepped.emit(step)

    def _tag_spot(self, middle: float, width: float, box: QRectF) -> QRectF:
        """Above the plot, beside the title; inside it only where there is no room."""
        first = 8 + text_width(self._y_title(), 10) + 8
        if first + width > box.right():
            return super()._tag_spot(middle, width, box)
        return QRectF(max(min(middle - width / 2, box.right() - width), first), box.top() - 19, width, 17)


class CurveChart(StepChart):
    """Curves over steps: their names lie on no line, and a dot marks the value at the line."""

    name_plates = False
    dot: float | None = None

    def _taken(self, box: QRectF) -> list[QRectF]:
        taken = super()._taken(box)
        taken += [QRectF(left, box.top(), right - left, box.height()) for left, right in self._zone_spans()]
        line = self._line_px()
        if line is not None:
            taken.append(QRectF(line - 7, box.top() - 6, 14, box.height() + 12))
            spot = self._words_spot(line, box)
            if spot is not None:
                taken.append(spot.adjusted(-4, 0, 4, 2))
        return taken

    def _beside(self, drawn: Drawn, box: QRectF, taken: Sequence[QRectF]) -> QRectF:
        return self._spot_beside(drawn, box, taken)

    def _spot_beside(self, drawn: Drawn, box: QRectF, taken: Sequence[QRectF], *, clear: bool = False) -> QRectF:
        """Where the name of a curve stands; with `clear` only where it can be taken for no other one's."""
        x, y, *_ = self._track(drawn)
        tracks = [self._track(one) for one in self._drawn if one is not drawn and len(one.x)]
        others = [(xs, ys) for xs, ys, *_ in tracks]
        size = text_width(drawn.series.name, 10), 12.0
        held, best = [_box(one) for one in taken], drawn.series.label_at
        found = beside((x, y), others, size, _box(box), taken=held, prefer=best, clear=clear)
        return QRectF(*found, *size) if found is not None else QRectF()

    def _paint_operating_points(self, painter: QPainter) -> None:
        super()._paint_operating_points(painter)  # a step between gaps
        line = self._line_px()
        if line is not None and self.dot is not None:
            now = theme.current()
            painter.setPen(QPen(now.q("base"), 1.6))
            painter.setBrush(now.q("text"))
            painter.drawEllipse(QPointF(line, float(self._py(self.dot))), 5.2, 5.2)


def _box(rect: QRectF) -> Box:
    return rect.left(), rect.top(), rect.right(), rect.bottom()
