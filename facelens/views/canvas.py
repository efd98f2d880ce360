"""The painted part of a chart: axes, curves, bands, histograms, zones, decision line, brush, rings and value cards.

`facelens.views.plots` adds mouse and keys and is what panels use.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import (
    QBrush,
    QFontMetricsF,
    QPainter,
    QPen,
    QResizeEvent,
)
from PySide6.QtWidgets import QGraphicsItem, QGraphicsView, QSizePolicy, QWidget

from facelens.figures.scales import Array, forward, inverse, thin, ticks, write
from facelens.views import theme
from facelens.words import plural, tr

SPARE = 2.5  # px above the highest value, so that a line there has its full width
NAME = 64  # px of a model's name that the legend keeps where there is little room
TOP, BOTTOM, LEFT, RIGHT = 26, 37, 46, 16  # px around the plot: y title, ticks and x title, ticks, half a tick


# What is drawn


@dataclass(frozen=True)
class Axis:
    """One direction of a chart: its title ("TAR, higher is better"), scale and limits; None fits the data.

    "log" is log10; "deviate" is the normal deviate of a share, as on a DET. `form` writes a value where it is read off.
    """

    title: str
    scale: Literal["linear", "log", "deviate"] = "linear"
    low: float | None = None
    high: float | None = None
    ticks: tuple[float, ...] = ()
    grid: bool = False  # vertical lines; horizontal ones are always there
    form: Callable[[float], str] | None = None

    @property
    def short(self) -> str:
        """The quantity alone.

        >>> Axis("FAR (log), lower is stricter").short
        'FAR'
        """
        return self.title.split(",")[0].split("(")[0].strip()

    def write(self, value: float) -> str:
        """A value as a card shows it."""
        return self.form(value) if self.form is not None else write(self.scale, value)


@dataclass(frozen=True, eq=False)
class Band:
    """The 95 % interval of a series, point by point; an empty one is none."""

    low: Array
    high: Array


@dataclass(frozen=True, eq=False)
class Series:
    """A curve, or single points with whiskers. A is dashed, B solid; a reference is thin and cannot be clicked."""

    key: str
    x: Array
    y: Array
    side: str = ""  # "A", "B" or none of them
    name: str = ""
    headline: str = ""  # the value beside the name in the legend
    band: Band | None = None
    kind: Literal["line", "points"] = "line"
    reference: bool = False
    colour: str = ""  # token; A and B have theirs
    width: float = 2.2
    dash: tuple[float, ...] = ()  # of one that is neither A nor a reference; () is solid
    label_at: float = 0.8  # where on the curve its name stands, share of the width; A and B are in the legend

    @property
    def ink(self) -> str:
        """Token of the line."""
        return self.colour or self.side or ("text3" if self.reference else "text2")


@dataclass(frozen=True, eq=False)
class Bars:
    """A histogram: counts (T,) in bins of edges (T + 1,)."""

    key: str
    edges: Array
    counts: NDArray[np.int64] | Array
    colour: str = "good"
    hatched: bool = False
    name: str = ""
    headline: str = ""  # under the name
    one: str = "{n} pair"
    many: str = "{n} pairs"


@dataclass(frozen=True)
class Zone:
    """A stretch of the x axis where nothing can be said, and why."""

    low: float
    high: float
    reason: str


@dataclass(frozen=True)
class Point:
    """A mark on the series `key`: where the operating point lies."""

    key: str
    x: float
    y: float


class _Ruler(pg.AxisItem):
    """Ticks that the chart works out; no line of its own but at the bottom."""

    def __init__(self, orientation: str) -> None:
        super().__init__(orientation, showValues=True)
        self.enableAutoSIPrefix(False)
        self.setCacheMode(QGraphicsItem.CacheMode.DeviceCoordinateCache)

    def boundingRect(self) -> QRectF:
        # Labels of the first and last tick reach over the ends; pyqtgraph would leave them out.
        return super().boundingRect().adjusted(-24, -10, 24, 10)


@dataclass
class _Drawn:
    """A series as it is on the screen: finite points as drawn, and which of the input they are."""

    series: Series
    x: Array
    y: Array
    index: NDArray[np.int64]
    low: Array | None
    high: Array | None
    curve: pg.PlotCurveItem | None = None
    band: pg.PlotCurveItem | None = None


@dataclass(frozen=True)
class Mark:
    """What can be pointed at: point `index` of series `key`, or bin `index` of bars `key`."""

    key: str
    index: int
    bin: bool = False


# The canvas


class Canvas(pg.GraphicsView):
    """All of a chart but the hands: what is set is painted, and pixels are told from values."""

    def __init__(self, x: Axis, y: Axis, *, name: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent, background=theme.current().base)
        self.x_axis, self.y_axis = x, y
        self.describe: Callable[[Mark], Sequence[str]] | None = None  # lines of the value card, first one bold
        self._drawn: list[_Drawn] = []
        self._bars: list[Bars] = []
        self._bar_items: list[pg.PlotCurveItem] = []
        self._scaled = False
        self._zones: tuple[Zone, ...] = ()
        self._points: tuple[Point, ...] = ()
        self._note = ""
        self._decision: float | None = None
        self._decision_text = ("", "")
        self._step: float | None = None
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
        self._view = (0.0, 1.0, 0.0, 1.0)  # x low, x high, y low, y high, as drawn
        self._by_key = False

        self._rulers = {"bottom": _Ruler("bottom"), "left": _Ruler("left")}
        self._plot = pg.PlotItem(axisItems=dict(self._rulers), enableMenu=False)
        self._plot.ctrlMenu.setParent(self, Qt.WindowType.Popup)  # never shown; as our child it goes when we go
        self._plot.hideButtons()
        self._plot.setMouseEnabled(False, False)
        self._plot.layout.setContentsMargins(0, TOP, RIGHT, BOTTOM - 20)
        self._plot.layout.setSpacing(0)
        self._plot.layout.setRowFixedHeight(0, 0)
        self._plot.titleLabel.setMaximumHeight(0)
        self._plot.getViewBox().disableAutoRange()
        self._plot.getViewBox().setDefaultPadding(0)
        self.setCentralItem(self._plot)
        self.setViewportUpdateMode(QGraphicsView.ViewportUpdateMode.FullViewportUpdate)
        self.setAntialiasing(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setMinimumSize(160, 110)
        self.setAccessibleName(name or tr("{y} against {x}", y=y.short, x=x.short))
        theme.themes.changed.connect(self._on_theme_changed)
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
                self._plot.addItem(item, ignoreBounds=True)
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
        self._zones = tuple(zones)
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

    def _prepare(self, series: Series) -> _Drawn:
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
        drawn = _Drawn(
            series, x[keep], y[keep], index, None if low is None else low[keep], None if high is None else high[keep]
        )
        if series.kind == "line":
            if low is not None:
                drawn.band = pg.PlotCurveItem(antialias=True, pen=None)
                drawn.band.setZValue(2)
                self._plot.addItem(drawn.band, ignoreBounds=True)
            drawn.curve = pg.PlotCurveItem(antialias=True)
            drawn.curve.setZValue(3)
            self._plot.addItem(drawn.curve, ignoreBounds=True)
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
        self._said = {}
        box, view = self._box(), self._view
        for side, axis, low, high, room in (
            ("bottom", self.x_axis, view[0], view[1], min(7, int(box.width() / 62))),
            ("left", self.y_axis, view[2], view[3], min(5, int(box.height() / 26))),
        ):
            if axis.ticks:
                places = [(float(forward(axis.scale, v)), f"{v:g}") for v in axis.ticks]
                marks = [(p, text) for p, text in places if low <= p <= high]
            else:
                marks = ticks(axis.scale, low, high, room=room)
            self._rulers[side].setTicks([marks])
        self._rulers["left"].setWidth(LEFT)
        self._rulers["bottom"].setHeight(20)
        for drawn in self._drawn:
            if drawn.curve is not None:
                self._trace(drawn, int(box.width()))
        self._refresh()

    def _trace(self, drawn: _Drawn, width: int) -> None:
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
            pen.setDashPattern([2, 2.5])
        elif series.side == "A":
            pen.setDashPattern([3.6, 2.2])
            pen.setCapStyle(Qt.PenCapStyle.FlatCap)
        elif series.dash:
            pen.setDashPattern(series.dash)
            pen.setCapStyle(Qt.PenCapStyle.FlatCap)
        return pen

    def _dress_series(self, drawn: _Drawn) -> None:
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

    # Painting: everything over the curves

    def drawForeground(self, painter: QPainter, rect: QRectF) -> None:
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        box = self._box()
        for zone, (left, right) in zip(self._zones, self._zone_spans()):
            self._paint_zone(painter, zone, QRectF(left, box.top(), right - left, box.height() - 0.5))
        painter.save()
        painter.setClipRect(box.adjusted(-8, -8, 8, 1))
        for place, drawn in enumerate(d for d in self._drawn if d.series.kind == "points"):
            self._paint_points(painter, drawn, place)
        painter.restore()
        if self._brush is not None:
            self._paint_brush(painter, box)
        self._paint_legend(painter, box)
        self._paint_names(painter, box)
        self._paint_decision(painter, box)
        painter.save()
        painter.setClipRect(box.adjusted(-7, -7, 7, 7))
        self._paint_operating_points(painter)
        painter.restore()
        for mark, width in ((self._ring, 2.2), (self._hover, 1.6)):
            if mark is not None:
                self._paint_ring(painter, mark, width)
        now = theme.current()
        wide = self.viewport().width()
        _say(painter, QPointF(8, 15), self._y_title(), now.text2, 10, width=wide - 16)
        _say(
            painter, QPointF(wide - RIGHT, self.viewport().height() - 6), self.x_axis.title, now.text2, 10,
            right=True, width=wide - RIGHT - 8,
        )  # fmt: skip
        if self._note:
            painter.setFont(theme.font(11))
            painter.setPen(now.q("text3"))
            flags = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
            painter.drawText(box.adjusted(24, 8, -24, -8), int(flags), self._note)
        if self._hover is not None and not self._drag:
            self._paint_card(painter, self._hover)
        if self.hasFocus() and self._by_key:
            painter.setPen(QPen(now.q("accent"), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(QRectF(self.viewport().rect()).adjusted(1, 1, -1, -1), 4, 4)
        painter.restore()

    def _paint_zone(self, painter: QPainter, zone: Zone, area: QRectF) -> None:
        now = theme.current()
        if area.width() < 1:
            return
        painter.fillRect(area, now.q("base"))
        painter.fillRect(area, QBrush(now.q("text3", 0.45), Qt.BrushStyle.BDiagPattern))
        metrics = QFontMetricsF(theme.font(10))
        if area.width() < metrics.height() - 2 or not zone.reason:
            return
        text = metrics.elidedText(zone.reason, Qt.TextElideMode.ElideRight, area.height() - 10)
        plate = QRectF(0, 0, metrics.horizontalAdvance(text) + 8, metrics.height())
        painter.save()
        painter.translate(area.center().x() - plate.height() / 2, area.bottom() - 4)
        painter.rotate(-90)
        painter.fillRect(plate, now.q("base", 0.85))
        painter.setFont(theme.font(10))
        painter.setPen(now.q("text2"))
        painter.drawText(plate, int(Qt.AlignmentFlag.AlignCenter), text)
        painter.restore()

    def _shift(self, place: int) -> float:
        """Sideways pixels of the points of one of several series, so that whiskers stand beside each other."""
        several = sum(d.series.kind == "points" for d in self._drawn)
        return (place - (several - 1) / 2) * 7.0

    def _paint_points(self, painter: QPainter, drawn: _Drawn, place: int) -> None:
        now = theme.current()
        colour = now.q(drawn.series.ink)
        xs, ys = self._px(drawn.x) + self._shift(place), self._py(drawn.y)
        painter.setPen(QPen(colour, 1.4))
        if drawn.low is not None and drawn.high is not None:
            for x, low, high in zip(xs, self._py(drawn.low), self._py(drawn.high)):
                painter.drawLine(QPointF(x, low), QPointF(x, high))
                for y in (low, high):
                    painter.drawLine(QPointF(x - 2.5, y), QPointF(x + 2.5, y))
        hollow = drawn.series.side == "A"
        painter.setPen(QPen(colour, 1.8) if hollow else QPen(now.q("base"), 1))
        painter.setBrush(now.q("base") if hollow else colour)
        radius = 3.2 if hollow else 4.0
        for x, y in zip(xs, ys):
            painter.drawEllipse(QPointF(x, y), radius, radius)

    def _paint_operating_points(self, painter: QPainter) -> None:
        now = theme.current()
        inks = {d.series.key: d.series.ink for d in self._drawn}
        for point in self._points:
            x = float(forward(self.x_axis.scale, point.x))
            y = float(forward(self.y_axis.scale, point.y))
            if point.key in inks and np.isfinite([x, y]).all():
                painter.setPen(QPen(now.q("base"), 1.4))
                painter.setBrush(now.q(inks[point.key]))
                painter.drawEllipse(QPointF(float(self._px(x)), float(self._py(y))), 5.2, 5.2)

    def _paint_names(self, painter: QPainter, box: QRectF) -> None:
        """Names on the curves, and beside the histograms."""
        now = theme.current()
        taken = [self._corner.adjusted(-4, -2, 4, 2)] if self._corner is not None else []
        for drawn in self._drawn:
            series = drawn.series
            if series.side or not series.name or not len(drawn.x):
                continue
            spot = self._said.get(series.key)
            if spot is None or any(spot.intersects(t) for t in taken):
                spot = self._said[series.key] = self._beside(drawn, box, taken)
            if not spot.isEmpty():
                taken.append(spot)
                painter.fillRect(spot.adjusted(-2, 0, 2, 0), now.q("base", 0.72))
                _say(painter, QPointF(spot.left(), spot.bottom() - 3), series.name, now.q(series.ink).name(), 10)
        for one in self._bars:
            if not one.name:
                continue
            spot_rect = self._said.get(f"bars {one.key}")
            if spot_rect is None:
                spot_rect = self._said[f"bars {one.key}"] = self._beside_bars(one, box, taken)
            taken.append(spot_rect)
            _say(
                painter,
                QPointF(spot_rect.left(), spot_rect.top() + 11),
                one.name,
                now.q(one.colour).name(),
                11,
                bold=True,
            )
            _say(painter, QPointF(spot_rect.left(), spot_rect.top() + 26), one.headline, now.text3, 10)

    def _beside_bars(self, bars: Bars, box: QRectF, taken: Sequence[QRectF]) -> QRectF:
        """Where the name of a histogram is free of all of them, at its own side."""
        width = max(_wide(bars.name, 11, bold=True), _wide(bars.headline, 10))
        to_left = len(self._bars) < 2 or _centre(bars) == min(_centre(one) for one in self._bars)
        sides = (box.left() + 8, box.right() - 8 - width)
        sides = sides if to_left else sides[::-1]
        heights = [box.top() + share * (box.height() - 30) for share in (0.45, 0.3, 0.15, 0.0, 0.6)]
        return self._free(
            [QRectF(x, y, width, 30) for y in heights for x in sides[: 1 if len(self._bars) > 1 else 2]], taken
        )

    def _beside(self, drawn: _Drawn, box: QRectF, taken: Sequence[QRectF]) -> QRectF:
        """Where the name of a curve is free of the others: over it or under it; empty where there is no room."""
        order = np.argsort(drawn.x)
        wide, spots = _wide(drawn.series.name, 10), []
        for share in (drawn.series.label_at, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1):
            place = self._view[0] + share * (self._view[1] - self._view[0])
            x, y = float(self._px(place)), float(self._py(np.interp(place, drawn.x[order], drawn.y[order])))
            spots += [QRectF(x - 5 - wide, y - 16, wide, 13), QRectF(x + 8, y + 3, wide, 13)]
        inside = [r for r in spots if box.contains(r) and not any(r.intersects(t) for t in taken)]
        return min(inside, key=lambda r: self._busy(r, besides=drawn), default=QRectF())

    def _free(self, spots: Sequence[QRectF], taken: Sequence[QRectF] = ()) -> QRectF:
        """The first of `spots` that covers the least."""
        return min(spots, key=lambda r: self._busy(r) + 1000 * sum(r.intersects(t) for t in taken))

    def _busy(self, rect: QRectF, *, besides: _Drawn | None = None) -> float:
        """How much of the marks lies under `rect`, in pixels of its width; a band counts a little."""
        total = 0.0
        near = rect.adjusted(-5, -5, 5, 5)
        for drawn in self._drawn:
            if len(drawn.x) < 2 or drawn is besides:
                continue
            columns = np.linspace(near.left(), near.right(), 24)
            xs, ys = self._px(drawn.x), self._py(drawn.y)
            order = slice(None) if xs[-1] >= xs[0] else slice(None, None, -1)
            here = np.interp(columns, xs[order], ys[order], left=np.inf, right=np.inf)
            share = (0.5 if drawn.series.reference else 1.0) * near.width() / 24
            total += share * np.count_nonzero((here > near.top()) & (here < near.bottom()))
            if drawn.low is not None and drawn.high is not None:
                low, high = (
                    np.interp(columns, xs[order], self._py(edge)[order], left=np.nan, right=np.nan)
                    for edge in (drawn.low, drawn.high)
                )
                under = (high < near.bottom()) & (low > near.top())
                total += 0.15 * share * np.count_nonzero(under)
        for one in self._bars:
            edges = self._px(forward(self.x_axis.scale, one.edges))
            tops = self._py(self._heights(one))
            overlap = np.minimum(edges[1:], near.right()) - np.maximum(edges[:-1], near.left())
            total += float(overlap[(overlap > 0) & (tops < near.bottom())].sum())
        for left, right in self._zone_spans():
            total += max(0.0, min(right, near.right()) - max(left, near.left()))
        for point in self._points:
            x, y = forward(self.x_axis.scale, point.x), forward(self.y_axis.scale, point.y)
            if np.isfinite([x, y]).all():
                total += 12 * near.contains(QPointF(float(self._px(x)), float(self._py(y))))
        return total

    def _paint_legend(self, painter: QPainter, box: QRectF) -> None:
        rows = [d.series for d in reversed(self._drawn) if d.series.side and not d.series.reference]
        if not rows or not any(len(d.x) for d in self._drawn):
            self._corner = None
            return
        now = theme.current()
        heads, names = max(_wide(s.headline, 10) for s in rows), max(_wide(s.name, 10) for s in rows)
        if self._corner is None or not self._stays(self._corner, 46 + names + (18 + heads if heads else 0)):
            self._corner, self._headed = self._legend_spot(box, names=names, heads=heads, height=19 * len(rows))
            self._beside_line = self._line_px()
        names = self._corner.width() - 46 - (18 + heads if heads and self._headed else 0)
        painter.fillRect(self._corner.adjusted(-3, -1, 3, 1), now.q("base", 0.72))
        for i, series in enumerate(rows):
            y0 = self._corner.top() + 19 * i + 9.5
            left = self._corner.left()
            if series.kind == "points":
                painter.setPen(QPen(now.q(series.ink), 1.8))
                painter.setBrush(now.q("base") if series.side == "A" else now.q(series.ink))
                painter.drawEllipse(QPointF(left + 13, y0), 3.4, 3.4)
            else:
                painter.setPen(self._pen(series))
                painter.drawLine(QPointF(left, y0), QPointF(left + 25, y0))
            _say(painter, QPointF(left + 32, y0 + 4), series.side, now.text, 10)
            _say(painter, QPointF(left + 46, y0 + 4), series.name, now.text, 10, width=names)
            if self._headed:
                _say(painter, QPointF(self._corner.right(), y0 + 4), series.headline, now.text2, 10, right=True)

    def _stays(self, at: QRectF, width: float) -> bool:
        """Whether the legend is clear of the line, and as wide as it can be."""
        line = self._line_px()
        if line != self._beside_line and at.width() < width - 0.5:
            return False
        return line is None or line == self._beside_line or not at.left() - 6 < line < at.right() + 6

    def _legend_spot(self, box: QRectF, *, names: float, heads: float, height: float) -> tuple[QRectF, bool]:
        """The freest place for the legend, clear of zones and of the line, and whether its numbers have room.

        Where there is little room, names are cut, or the numbers go, which tables have too.
        """
        start = box.left() + 10
        for left, right in self._zone_spans():
            if left <= box.left() + 1:
                start = max(start, right + 10)
        line, end = self._line_px(), box.right() - 4
        whole = [(start, end)]
        spans = whole if line is None else [(max(start, line + 10), end), (start, min(end, line - 10))]
        for open_spans in (spans, whole):
            spots: list[tuple[float, QRectF, bool]] = []
            for heading in (heads, 0.0) if heads else (0.0,):
                extra = 46 + (18 + heading if heading else 0)
                dropped = 90 if heads and not heading else 0
                for low, high in open_spans:
                    wide = min(extra + names, high - low)
                    if wide < extra + min(names, NAME):
                        continue
                    for x in (high - wide, low, (low + high - wide) / 2):
                        for y in (box.bottom() - 10 - height, box.top() + 6):
                            spot = QRectF(x, y, wide, height)
                            cost = round(self._busy(spot) + 0.3 * (extra + names - wide)) + dropped
                            spots.append((cost, spot, bool(heading)))
            if spots:
                _, spot, headed = min(spots, key=lambda one: one[0])
                return spot, headed
        return QRectF(box.left() + 10, box.bottom() - 10 - height, max(46 + NAME, box.width() - 20), height), False

    def _zone_spans(self) -> list[tuple[float, float]]:
        """Left and right of each zone, in pixels."""
        spans = []
        for zone in self._zones:
            ends = np.sort(forward(self.x_axis.scale, np.array([zone.low, zone.high])))
            left, right = self._px(
                np.clip(np.nan_to_num(ends, neginf=self._view[0], posinf=self._view[1]), *self._view[:2])
            )
            spans.append((float(left), float(right)))
        return spans

    def _paint_decision(self, painter: QPainter, box: QRectF) -> None:
        x = self._line_px()
        if x is None:
            return
        now = theme.current()
        held = self._drag == "line" or self._over_line
        painter.setPen(QPen(now.q("text"), 1.6))
        painter.drawLine(QPointF(x, box.top() - 4), QPointF(x, box.bottom()))
        handle = QRectF(x - 4, box.bottom() - 9, 8, 18)
        painter.setPen(QPen(now.q("accent"), 2) if held or (self.hasFocus() and self._by_key) else Qt.PenStyle.NoPen)
        painter.setBrush(now.q("text"))
        painter.drawRoundedRect(handle, 2.5, 2.5)
        title, meaning = self._decision_text
        if not title and not meaning:
            return
        width = max(_wide(title, 11, bold=True), _wide(meaning, 10))
        sides = [QRectF(x - 8 - width, box.top() - 2, width, 29), QRectF(x + 8, box.top() - 2, width, 29)]
        inside = [s for s in sides if s.left() >= box.left() - 40 and s.right() <= box.right() + 12] or sides[:1]
        # The side is changed only for a clear gain, or the text would jump while the line moves.
        spot = inside[0]
        if len(inside) > 1 and self._busy(inside[1]) + 60 < self._busy(inside[0]):
            spot = inside[1]
        right = spot.left() < x
        painter.fillRect(spot.adjusted(-3, 0, 3, 0), now.q("base", 0.78))
        edge = spot.right() if right else spot.left()
        _say(painter, QPointF(edge, spot.top() + 11), title, now.text, 11, bold=True, right=right)
        _say(painter, QPointF(edge, spot.top() + 25), meaning, now.text2, 10, right=right)

    def _paint_brush(self, painter: QPainter, box: QRectF) -> None:
        assert self._brush is not None
        now = theme.current()
        low, high = np.clip(self._px(np.array(self._brush)), box.left(), box.right())
        veil = now.q("base", 0.4)  # what is under it drops to 60 %
        painter.fillRect(QRectF(box.left(), box.top(), low - box.left(), box.height() - 1), veil)
        painter.fillRect(QRectF(high, box.top(), box.right() - high, box.height() - 1), veil)
        painter.fillRect(QRectF(low, box.top(), high - low, box.height() - 1), now.q("accent", 0.13))
        painter.setPen(QPen(now.q("accent"), 1))
        painter.drawLine(QPointF(low, box.top()), QPointF(low, box.bottom()))
        painter.drawLine(QPointF(high, box.top()), QPointF(high, box.bottom()))
        painter.setPen(QPen(now.q("base"), 1))
        painter.setBrush(now.q("accent"))
        for x in (low, high):
            painter.drawRoundedRect(QRectF(x - 3.5, box.center().y() - 11, 7, 22), 2, 2)
        text = self._brush_text or self._counted()
        width = _wide(text, 10) + 12
        left = min(max((low + high) / 2 - width / 2, box.left()), box.right() - width)
        tag = QRectF(left, box.top() - 7, width, 17)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.drawRoundedRect(tag, 3, 3)
        _say(painter, QPointF(tag.left() + 6, tag.top() + 12.5), text, now.onaccent, 10)

    def _counted(self) -> str:
        """What the brush holds, in words."""
        low, high = self.brush or (0.0, 0.0)
        span = tr("{low} to {high}", low=self.x_axis.write(low), high=self.x_axis.write(high))
        if not self._bars:
            return span
        parts = []
        for one in self._bars:
            centres = (one.edges[:-1] + one.edges[1:]) / 2
            n = int(np.asarray(one.counts)[(centres >= low) & (centres <= high)].sum())
            parts.append(f"{one.name} {n:,}".strip() if len(self._bars) > 1 else plural(n, one.one, one.many))
        return " · ".join([*parts, span])

    def _spot(self, mark: Mark) -> QPointF | None:
        """Where a mark is, in pixels; None when it is out of sight or gone."""
        if mark.bin:
            one = next((b for b in self._bars if b.key == mark.key), None)
            if one is None or not 0 <= mark.index < len(one.counts):
                return None
            edges = self._px(forward(self.x_axis.scale, one.edges[mark.index : mark.index + 2]))
            spot = QPointF(float(edges.mean()), float(self._py(self._heights(one)[mark.index])))
        else:
            found = self._find(mark.key)
            if found is None:
                return None
            drawn, shift = found
            at = np.flatnonzero(drawn.index == mark.index)
            if not len(at):
                return None
            spot = QPointF(float(self._px(drawn.x[at[0]])) + shift, float(self._py(drawn.y[at[0]])))
        return spot if self._box().adjusted(-8, -8, 8, 8).contains(spot) else None

    def _find(self, key: str) -> tuple[_Drawn, float] | None:
        place = 0
        for drawn in self._drawn:
            points = drawn.series.kind == "points"
            if drawn.series.key == key:
                return drawn, self._shift(place) if points else 0.0
            place += points
        return None

    def _paint_ring(self, painter: QPainter, mark: Mark, width: float) -> None:
        spot = self._spot(mark)
        if spot is None:
            return
        now = theme.current()
        painter.setPen(QPen(now.q("accent"), width))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        if mark.bin:
            one = next(b for b in self._bars if b.key == mark.key)
            left, right = self._px(forward(self.x_axis.scale, one.edges[mark.index : mark.index + 2]))
            painter.drawRect(QRectF(left, spot.y(), right - left, max(2.0, float(self._py(0.0)) - spot.y())))
            return
        painter.drawEllipse(spot, 7.5, 7.5)

    def _card_lines(self, mark: Mark) -> Sequence[str]:
        if self.describe is not None:
            return self.describe(mark)
        if mark.bin:
            one = next(b for b in self._bars if b.key == mark.key)
            low, high = (self.x_axis.write(float(v)) for v in one.edges[mark.index : mark.index + 2])
            n = int(one.counts[mark.index])
            return one.name, tr("{low} to {high}", low=low, high=high), plural(n, one.one, one.many)
        series = next(d.series for d in self._drawn if d.series.key == mark.key)
        y = f"{self.y_axis.short} {self.y_axis.write(float(series.y[mark.index]))}"
        if series.band is not None and len(series.band.low) == len(series.y):
            ends = [float(v[mark.index]) for v in (series.band.low, series.band.high)]
            if np.isfinite(ends).all():
                y += f" [{self.y_axis.write(ends[0])}, {self.y_axis.write(ends[1])}]"
        head = " ".join(t for t in (series.side, series.name) if t)
        return head, f"{self.x_axis.short} {self.x_axis.write(float(series.x[mark.index]))}", y

    def _paint_card(self, painter: QPainter, mark: Mark) -> None:
        spot = self._spot(mark)
        lines = [line for line in self._card_lines(mark) if line] if spot is not None else []
        if spot is None or not lines:
            return
        now = theme.current()
        width = max(_wide(line, 10, bold=i == 0) for i, line in enumerate(lines)) + 16
        height = 15 * len(lines) + 9
        x = min(max(spot.x() - width / 2, 3.0), self.viewport().width() - width - 3)
        y = spot.y() - 14 - height
        if y < 2:
            y = spot.y() + 14
        card = QRectF(x, y, width, height)
        painter.setPen(QPen(now.q("line2"), 1))
        painter.setBrush(now.q("raised"))
        painter.drawRoundedRect(card, 6, 6)
        for i, line in enumerate(lines):
            ink = now.text if i == 0 else now.text2
            _say(painter, QPointF(card.left() + 8, card.top() + 15 + 15 * i), line, ink, 10, bold=i == 0)

    def resizeEvent(self, event: QResizeEvent | None) -> None:
        super().resizeEvent(event)
        if hasattr(self, "_plot"):  # pyqtgraph resizes once while it is being made
            self._look_at(self._view)


def _centre(bars: Bars) -> float:
    counts = np.asarray(bars.counts, np.float64)
    total = counts.sum()
    return float(((bars.edges[:-1] + bars.edges[1:]) / 2 * counts).sum() / total) if total > 0 else 0.0


def _wide(text: str, px: int, *, bold: bool = False) -> float:
    return QFontMetricsF(theme.font(px, bold=bold)).horizontalAdvance(text) if text else 0.0


def _say(
    painter: QPainter, at: QPointF, text: str, colour: str, px: int, *, bold: bool = False, right: bool = False,
    width: float = 0.0,
) -> None:  # fmt: skip
    """One line of text whose baseline starts (or, with `right`, ends) at `at`."""
    if not text:
        return
    font = theme.font(px, bold=bold)
    if width:
        text = QFontMetricsF(font).elidedText(text, Qt.TextElideMode.ElideRight, width)
    painter.setFont(font)
    painter.setPen(theme.current().q(colour))
    painter.drawText(QPointF(at.x() - _wide(text, px, bold=bold), at.y()) if right else at, text)
