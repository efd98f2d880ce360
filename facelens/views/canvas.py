"""The ground of a chart: axes, curves, bands and histograms as pyqtgraph draws them; pixels are told from values here.

`facelens.views.overlay` paints over it, `facelens.views.plots` adds mouse and keys and is what panels use.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QBrush, QPen, QResizeEvent
from PySide6.QtWidgets import QGraphicsGridLayout, QGraphicsItem, QGraphicsView, QSizePolicy, QWidget

from facelens.figures.scales import Array, forward, inverse, thin, ticks
from facelens.views import theme
from facelens.views.series import Axis, Bars, Mark, Point, Series, Zone
from facelens.words import tr

SPARE = 2.5  # px above the highest value, so that a line there has its full width
TOP, BOTTOM, LEFT, RIGHT = 26, 37, 46, 16  # px around the plot: y title, ticks and x title, ticks, half a tick


class _Ruler(pg.AxisItem):
    """Ticks that the chart works out; no line of its own but at the bottom."""

    def __init__(self, orientation: str) -> None:
        super().__init__(orientation, showValues=True)
        self.enableAutoSIPrefix(False)
        self.setCacheMode(QGraphicsItem.CacheMode.DeviceCoordinateCache)

    def boundingRect(self) -> QRectF:
        # Labels of the first and last tick reach over the ends; pyqtgraph would leave them out.
        return super().boundingRect().adjusted(-24, -10, 24, 10)


class _Plot(pg.GraphicsWidget):
    """A box for curves with a ruler at its left and one at its foot.

    Not pyqtgraph's own plot: each of those brings sixty widgets of a menu that is never shown, and a window full of
    charts takes as long again to be built and to be dressed.
    """

    def __init__(self, left: _Ruler, bottom: _Ruler) -> None:
        super().__init__()
        self._box = pg.ViewBox(parent=self, enableMenu=False, enableMouse=False)
        self._box.disableAutoRange()
        self._box.setDefaultPadding(0)
        self.layout = QGraphicsGridLayout()
        self.layout.setContentsMargins(0, TOP, RIGHT, BOTTOM - 20)
        self.layout.setSpacing(0)
        for item, row, column in ((self._box, 0, 1), (bottom, 1, 1), (left, 0, 0)):
            self.layout.addItem(item, row, column)
        self.layout.setRowStretchFactor(0, 100)
        self.layout.setColumnStretchFactor(1, 100)
        self.setLayout(self.layout)
        for ruler in (left, bottom):
            ruler.linkToView(self._box)
            ruler.setZValue(0.5)

    def getViewBox(self) -> pg.ViewBox:
        return self._box

    def addItem(self, item: QGraphicsItem) -> None:
        self._box.addItem(item, ignoreBounds=True)

    def removeItem(self, item: QGraphicsItem) -> None:
        self._box.removeItem(item)


@dataclass
class Drawn:
    """A series as it is on the screen: finite points as drawn, and which of the input they are."""

    series: Series
    x: Array
    y: Array
    index: NDArray[np.int64]
    low: Array | None
    high: Array | None
    curve: pg.PlotCurveItem | None = None
    band: pg.PlotCurveItem | None = None


class Canvas(pg.GraphicsView):
    """What is set is drawn, and pixels are told from values."""

    def __init__(self, x: Axis, y: Axis, *, name: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent, background=theme.current().base)
        self.x_axis, self.y_axis = x, y
        self.describe: Callable[[Mark], Sequence[str]] | None = None  # lines of the value card, first one bold
        self._drawn: list[Drawn] = []
        self._bars: list[Bars] = []
        self._bar_items: list[pg.PlotCurveItem] = []
        self._scaled = False
        self._zones: tuple[Zone, ...] = ()
        self._points: tuple[Point, ...] = ()
        self._note = ""
        self._decision: float | None = None
        self._decision_text = ("", "")
        self._step: float | None = None
        self._movable = True
        self._brush: tuple[float, float] | None = None  # as drawn
        self._brush_text = ""
        self._hover: Mark | None = None
        self._ring: Mark | None = None
        self._over_line = False
        self._drag = ""  # "line", "brush", "low", "high", "pan"
        self._corner: QRectF | None = None  # of the legend, until something changes
        self._headed = True  # whether there is room for its numbers
        self._beside_line: float | None = None  # where the line stood when the legend was put there
        self._said: dict[str, QRectF] = {}  # names on curves, likewise
        self._tracks: dict[str, tuple[Array, ...]] = {}  # curves in pixels, likewise
        self._spans: list[tuple[float, float]] | None = None  # zones in pixels, likewise
        self._view = (0.0, 1.0, 0.0, 1.0)  # x low, x high, y low, y high, as drawn
        self._by_key = False

        self._rulers = {"bottom": _Ruler("bottom"), "left": _Ruler("left")}
        self._plot = _Plot(**self._rulers)
        self.setCentralItem(self._plot)
        self.setViewportUpdateMode(QGraphicsView.ViewportUpdateMode.FullViewportUpdate)
        self.setAntialiasing(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setMinimumSize(160, 110)
        self.setAccessibleName(name or tr("{y} against {x}", y=y.short, x=x.short))
        theme.follow(self, self._on_theme_changed)
        self._dress()
        self.fit()

    def sizeHint(self) -> QSize:
        return QSize(480, 240)

    def close(self) -> bool:
        # pyqtgraph would empty the scene here, under the feet of whoever still holds the chart, and crash.
        return QGraphicsView.close(self)

    # What is shown

    def set_axes(self, x: Axis, y: Axis) -> None:
        """Other titles, scales or limits; what is drawn stays."""
        self.x_axis, self.y_axis = x, y
        self.set_series([d.series for d in self._drawn])
        self.set_bars(self._bars, scaled=self._scaled)
        self._dress()

    def set_series(self, series: Sequence[Series]) -> None:
        """Draw these curves in this order, the last one on top, all of them in sight."""
        for old in self._drawn:
            for item in (old.curve, old.band):
                if item is not None:
                    self._plot.removeItem(item)
        self._drawn = [self._prepare(s) for s in series]
        self._forget(bins=False)
        self.fit()

    def set_bars(self, bars: Sequence[Bars], *, scaled: bool = False) -> None:
        """Draw these histograms; `scaled` each to its own peak, and then the axis says so."""
        for item in self._bar_items:
            self._plot.removeItem(item)
        self._bars, self._scaled = [one for one in bars if len(one.counts)], scaled
        self._bar_items = []
        for place, one in enumerate(self._bars):
            pair = [pg.PlotCurveItem(antialias=True) for _ in range(2 if one.hatched else 1)]
            for z, item in enumerate(pair):
                item.setZValue(place / 100 + z / 1000)
                item.setCacheMode(QGraphicsItem.CacheMode.DeviceCoordinateCache)
                self._plot.addItem(item)
                item.setData(
                    x=forward(self.x_axis.scale, one.edges),
                    y=self._heights(one),
                    stepMode="center",
                    fillLevel=0,
                    pen=None,
                )
            self._bar_items += pair
        self._forget(bins=True)
        self._dress_bars()
        self.fit()

    def set_zones(self, zones: Sequence[Zone]) -> None:
        """Stretches without support."""
        self._zones, self._spans = tuple(zones), None
        self._refresh()

    def set_points(self, points: Sequence[Point]) -> None:
        """Where the operating point lies on each curve."""
        self._points = tuple(points)
        self._refresh()

    def set_decision(
        self, value: float | None, title: str = "", meaning: str = "", *, step: float | None = None
    ) -> None:
        """Put the line at `value` (None: no line), with what it is and what it means beside it."""
        self._decision = None if value is None or not np.isfinite(value) else float(value)
        self._decision_text = (title, meaning)
        self._step = step if step is not None else self._step
        self._refresh()

    def set_brush(self, low: float | None, high: float | None = None, text: str = "") -> None:
        """Show a brush over [low, high] with `text` in its tag; None takes it away."""
        if low is None or high is None:
            self._brush = None
        else:
            ends = forward(self.x_axis.scale, np.array([low, high]))
            self._brush = (float(ends.min()), float(ends.max())) if np.isfinite(ends).all() else None
        self._brush_text = text
        self._refresh()

    def set_ring(self, key: str | None, index: int = 0, *, bin: bool = False) -> None:
        """Ring one mark as if it had been clicked; None frees it."""
        self._ring = None if key is None else Mark(key, index, bin)
        self._refresh()

    def set_note(self, text: str) -> None:
        """One sentence in the middle of the plot: why nothing is drawn."""
        self._note = text
        self._refresh()

    @property
    def decision(self) -> float | None:
        """Where the line is."""
        return self._decision

    @property
    def ring(self) -> Mark | None:
        """The mark that was clicked."""
        return self._ring

    @property
    def brush(self) -> tuple[float, float] | None:
        """The range that is brushed."""
        if self._brush is None:
            return None
        return self._value_x(self._brush[0]), self._value_x(self._brush[1])

    def fit(self) -> None:
        """Show everything."""
        self._look_at(self._whole())

    # Geometry: values, places (as drawn), pixels

    def _whole(self) -> tuple[float, float, float, float]:
        """The view that shows everything."""
        edges = [forward(self.x_axis.scale, b.edges) for b in self._bars]
        x = self._limits(self.x_axis, [d.x for d in self._drawn] + edges)
        y = self._limits(self.y_axis, [v for d in self._drawn for v in (d.y, d.low, d.high) if v is not None])
        if self._bars:
            top = max((float(self._heights(b).max(initial=0.0)) for b in self._bars), default=0.0)
            y = (0.0, max(y[1] if self.y_axis.high is not None else 0.0, top or 1.0))
        if any(d.series.kind == "points" for d in self._drawn):
            pad = (x[1] - x[0]) * 0.03
            x = (x[0] - pad, x[1] + pad)
        return (*x, *y)

    def _limits(self, axis: Axis, places: Sequence[Array]) -> tuple[float, float]:
        fixed = [None if v is None else float(forward(axis.scale, v)) for v in (axis.low, axis.high)]
        finite = [p[np.isfinite(p)] for p in places]
        finite = [p for p in finite if len(p)]
        low = min((float(p.min()) for p in finite), default=0.0)
        high = max((float(p.max()) for p in finite), default=1.0)
        low = low if fixed[0] is None or not np.isfinite(fixed[0]) else fixed[0]
        high = high if fixed[1] is None or not np.isfinite(fixed[1]) else fixed[1]
        if not high > low:
            low, high = low - 0.5, low + 0.5
        return low, high

    def _look_at(self, view: tuple[float, float, float, float]) -> None:
        self._view = view
        box = self._box()
        spare = (view[3] - view[2]) * SPARE / max(box.height() - SPARE, 1)
        self._plot.getViewBox().setRange(xRange=view[:2], yRange=(view[2], view[3] + spare), padding=0)
        self._lay_out()

    def _box(self) -> QRectF:
        """The plot in pixels."""
        size = self.viewport().size()
        return QRectF(LEFT, TOP, max(1, size.width() - LEFT - RIGHT), max(1, size.height() - TOP - BOTTOM))

    def _px(self, place: Array | float) -> Array:
        box, (low, high, _, _) = self._box(), self._view
        return box.left() + (np.asarray(place) - low) * (box.width() / (high - low))

    def _py(self, place: Array | float) -> Array:
        box, (_, _, low, high) = self._box(), self._view
        return box.bottom() - (np.asarray(place) - low) * (max(box.height() - SPARE, 1) / (high - low))

    def _place_x(self, px: float) -> float:
        box, (low, high, _, _) = self._box(), self._view
        return low + (px - box.left()) * (high - low) / box.width()

    def _value_x(self, place: float) -> float:
        return inverse(self.x_axis.scale, place)

    def _line_px(self) -> float | None:
        if self._decision is None:
            return None
        place = float(forward(self.x_axis.scale, self._decision))
        low, high = self._view[:2]
        if self._decision <= 0 and self.x_axis.scale != "linear":
            place = low  # nothing is accepted: the line stands at the strict end
        slack = (high - low) * 1e-6
        if not low - slack <= place <= high + slack:
            return None
        return float(self._px(place))

    def _prepare(self, series: Series) -> Drawn:
        x = forward(self.x_axis.scale, series.x)
        y = forward(self.y_axis.scale, series.y)
        bounds = forward(self.y_axis.scale, np.array([1e-9, 1 - 1e-9])) if self.y_axis.scale == "deviate" else None
        low = high = None
        if series.band is not None and len(series.band.low) == len(series.band.high) == len(x):
            low, high = (forward(self.y_axis.scale, v) for v in (series.band.low, series.band.high))
        if bounds is not None:  # a share of 0 or 1 is drawn at the far end, outside the usual limits
            y = np.clip(y, *bounds)
            low, high = (None if v is None else np.clip(v, *bounds) for v in (low, high))
        keep = np.isfinite(x) & np.isfinite(y)
        if low is not None and high is not None:
            # Where there is no interval the band has no width.
            low, high = np.where(np.isfinite(low), low, y), np.where(np.isfinite(high), high, y)
        index = np.flatnonzero(keep)
        drawn = Drawn(
            series, x[keep], y[keep], index, None if low is None else low[keep], None if high is None else high[keep]
        )
        if series.kind == "line":
            if low is not None:
                drawn.band = pg.PlotCurveItem(antialias=True, pen=None)
                drawn.band.setZValue(2)
                self._plot.addItem(drawn.band)
            drawn.curve = pg.PlotCurveItem(antialias=True)
            drawn.curve.setZValue(3)
            self._plot.addItem(drawn.curve)
            # Kept as a picture: moving the line over it costs nothing.
            for item in (drawn.curve, drawn.band):
                if item is not None:
                    item.setCacheMode(QGraphicsItem.CacheMode.DeviceCoordinateCache)
            self._dress_series(drawn)
        return drawn

    def _heights(self, bars: Bars) -> Array:
        counts = np.asarray(bars.counts, np.float64)
        peak = counts.max(initial=0.0)
        return counts / peak if self._scaled and peak > 0 else counts

    def _lay_out(self) -> None:
        """Ticks for the room there is, and of each curve no more points than can be seen."""
        self._corner = None
        self._said, self._tracks, self._spans = {}, {}, None
        box, view = self._box(), self._view
        for axis, ruler, low, high, room in (
            (self.x_axis, self._rulers["bottom"], view[0], view[1], min(7, int(box.width() / 62))),
            (self.y_axis, self._rulers["left"], view[2], view[3], min(5, int(box.height() / 26))),
        ):
            ruler.setTicks([self._ticks(axis, low, high, room)])
        self._rulers["left"].setWidth(LEFT)
        self._rulers["bottom"].setHeight(20)
        for drawn in self._drawn:
            if drawn.curve is not None:
                self._trace(drawn, int(box.width()))
        self._refresh()

    def _ticks(self, axis: Axis, low: float, high: float, room: int) -> list[tuple[float, str]]:
        """Places on an axis, and what stands there."""
        if axis.ticks:
            places = [(float(forward(axis.scale, v)), f"{v:g}") for v in axis.ticks]
            return [(p, text) for p, text in places if low <= p <= high]
        return ticks(axis.scale, low, high, room=room)

    def _trace(self, drawn: Drawn, width: int) -> None:
        x, y, low, high = drawn.x, drawn.y, drawn.low, drawn.high
        if len(x) > 2:
            step = np.diff(x)
            if (step <= 0).all():
                x, y = x[::-1], y[::-1]
                low, high = (None if v is None else v[::-1] for v in (low, high))
                step = -step
            if (step >= 0).all():
                a = max(0, int(np.searchsorted(x, self._view[0])) - 1)
                b = min(len(x), int(np.searchsorted(x, self._view[1], side="right")) + 1)
                x, y = x[a:b], y[a:b]
                low, high = (None if v is None else v[a:b] for v in (low, high))
                starts = thin(x, width)
                if starts is not None:
                    least, most = np.minimum.reduceat(y, starts), np.maximum.reduceat(y, starts)
                    rising = y[-1] >= y[0]
                    y = np.stack([least, most] if rising else [most, least], axis=1).ravel()
                    if low is not None and high is not None:
                        low = np.repeat(np.minimum.reduceat(low, starts), 2)
                        high = np.repeat(np.maximum.reduceat(high, starts), 2)
                    ends = np.concatenate([starts[1:] - 1, [len(x) - 1]])
                    x = np.stack([x[starts], x[ends]], axis=1).ravel()
        assert drawn.curve is not None
        drawn.curve.setData(x=x, y=y)
        if drawn.band is not None and low is not None and high is not None:
            drawn.band.setData(
                x=np.concatenate([x, x[::-1]]), y=np.concatenate([low, high[::-1]]), fillLevel="enclosed"
            )

    # Dress

    def _on_theme_changed(self) -> None:
        self._dress()

    def _dress(self) -> None:
        now = theme.current()
        self.setBackground(now.base)
        left, bottom = self._rulers["left"], self._rulers["bottom"]
        for ruler in (left, bottom):
            ruler.setTextPen(now.text3)
            ruler.setStyle(tickFont=theme.font(10))
        left.setPen(None)
        left.setTickPen(pg.mkPen(now.text, width=1))
        left.setStyle(tickAlpha=0.09, tickTextOffset=6, tickLength=0)
        left.setGrid(255)
        bottom.setPen(pg.mkPen(now.line2, width=1))
        if self.x_axis.grid:
            bottom.setTickPen(pg.mkPen(now.text, width=1))
            bottom.setStyle(tickAlpha=0.09, tickTextOffset=6, tickLength=0)
            bottom.setGrid(255)
        else:
            bottom.setTickPen(pg.mkPen(now.line2, width=1))
            bottom.setStyle(tickAlpha=1.0, tickTextOffset=3, tickLength=3)
            bottom.setGrid(False)
        for drawn in self._drawn:
            self._dress_series(drawn)
        self._dress_bars()
        self._refresh()

    def _pen(self, series: Series) -> QPen:
        pen = QPen(theme.current().q(series.ink), 1.5 if series.reference else series.width)
        pen.setCosmetic(True)
        pen.setJoinStyle(Qt.PenJoinStyle.RoundJoin)
        if series.reference:
            pen.setDashPattern(series.dash or (2, 2.5))
        elif series.side == "A":
            pen.setDashPattern([3.6, 2.2])
            pen.setCapStyle(Qt.PenCapStyle.FlatCap)
        elif series.dash:
            pen.setDashPattern(series.dash)
            pen.setCapStyle(Qt.PenCapStyle.FlatCap)
        return pen

    def _dress_series(self, drawn: Drawn) -> None:
        if drawn.curve is not None:
            drawn.curve.setPen(self._pen(drawn.series))
        if drawn.band is not None:
            drawn.band.setBrush(theme.current().q(drawn.series.ink, 0.16))
            drawn.band.setPen(None)

    def _dress_bars(self) -> None:
        now = theme.current()
        items = iter(self._bar_items)
        for one in self._bars:
            item = next(items)
            pen = QPen(now.q(one.colour), 1.4)
            pen.setCosmetic(True)
            item.setPen(pen)
            item.setBrush(now.q(one.colour, 0.27))
            if one.hatched:
                hatch = next(items)
                hatch.setPen(None)
                hatch.setBrush(QBrush(now.q(one.colour, 0.55), Qt.BrushStyle.BDiagPattern))

    def _forget(self, *, bins: bool) -> None:
        """Marks of what is no longer drawn."""
        if self._ring is not None and self._ring.bin == bins:
            self._ring = None
        self._hover = None

    def _refresh(self) -> None:
        self.setAccessibleDescription(self._spoken())
        self.viewport().update()

    def _spoken(self) -> str:
        parts = [tr("{y} over {x}.", y=self._y_title(), x=self.x_axis.title)]
        for drawn in self._drawn:
            if not drawn.series.reference:
                parts.append(
                    " ".join(t for t in (drawn.series.side, drawn.series.name, drawn.series.headline) if t) + "."
                )
        parts += [" ".join(t for t in (b.name, b.headline) if t) + "." for b in self._bars]
        if self._decision is not None:
            said = [t for t in self._decision_text if t] or [self.x_axis.short, self.x_axis.write(self._decision)]
            parts.append(tr("Line: {said}.", said=" ".join(said)))
        parts += [z.reason + "." for z in self._zones if z.reason]
        return " ".join(p for p in [*parts, self._note] if p.strip(" ."))

    def _y_title(self) -> str:
        if self._bars and self._scaled:
            return tr("{title}, each group scaled to its peak", title=self.y_axis.title)
        return self.y_axis.title

    def resizeEvent(self, event: QResizeEvent | None) -> None:
        super().resizeEvent(event)
        if hasattr(self, "_plot"):  # pyqtgraph resizes once while it is being made
            self._look_at(self._view)
