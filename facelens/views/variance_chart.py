"""How unsure an ensemble is of its faces: a histogram with the line above which faces are refused.

Drag the line, or arrow keys (Shift: ten steps). Drag elsewhere to brush a range, click a bin: its faces are chosen.
Esc lets go. What is selected elsewhere is drawn in each bin.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF, Signal
from PySide6.QtGui import QColor, QPainter, QPen
from PySide6.QtWidgets import QVBoxLayout, QWidget

from facelens.figures.refusal import PERCENTILES, refusal_words
from facelens.figures.scales import Array
from facelens.figures.spread import Spread, count_ticks, heights, top
from facelens.images.faceset import Ids
from facelens.views import theme
from facelens.views.canvas import BOTTOM, LEFT, RIGHT, TOP
from facelens.views.controls import draw_text, text_width
from facelens.views.plots import Axis, Bars, Mark
from facelens.views.steps import StepChart
from facelens.words import number, plural, tr

KEY = "faces"
ROW = 14  # px of one more line under the axis
REFUSED = 0.45  # how much is left of the colour of what is refused
NOBODY: Ids = np.zeros(0, np.int64)


class VarianceChart(QWidget):
    """A histogram of a score whose high values are refused, with a line, a brush and the selection."""

    step_moved = Signal(int)  # the line was dragged or typed to a step
    limit_moved = Signal(float)  # the same while there are no steps: faces above it are refused
    settled = Signal()  # the line was let go
    brushed = Signal(object)  # ids (n,), by value, of a range or a bin that was chosen; none after Esc

    def __init__(self) -> None:
        super().__init__()
        self.spread = Spread.of(np.zeros(0), NOBODY)
        self.limits: Array = np.zeros(0)
        self.limit = np.inf
        self._shown: tuple[Array, Ids, str, bool] = (np.zeros(0), NOBODY, "", False)
        self._rows: NDArray[np.int64] = np.zeros(0, np.int64)  # places in the spread by ascending id
        self.chart = _Histogram()
        self.chart.describe = self._card
        self.chart.setToolTip(
            tr("Faces right of the line are refused. Drag it, or arrow keys; drag elsewhere to select a range")
        )
        self.chart.stepped.connect(self._on_stepped)
        self.chart.moved.connect(self._on_moved)
        self.chart.settled.connect(lambda _: self.settled.emit())
        self.chart.brushing.connect(lambda *_: self.chart.set_ring(None))
        self.chart.brushed.connect(lambda low, high: self.brushed.emit(self.faces_within(low, high)))
        self.chart.bin_picked.connect(self._on_bin)
        self.chart.cleared.connect(lambda: self.brushed.emit(NOBODY))
        self.setFocusProxy(self.chart)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self.chart)
        self.chart.set_note(tr("No face has a value"))

    # What is shown

    def show_values(self, values: Array, ids: Ids, words: str, *, lower: bool = False) -> None:
        """Draw the values (N,) of faces (N,); `words` are the title of the axis.

        `lower`: the score is refused where it is low, and the values are its negatives; they are written as they were.
        The same values again leave line and brush as they are.
        """
        same = self._shown[2:] == (words, lower) and np.array_equal(self._shown[1], ids)
        if same and np.array_equal(self._shown[0], values, equal_nan=True):
            return
        self._shown = values, ids, words, lower
        self.spread = Spread.of(values, ids)
        self._rows = np.argsort(self.spread.ids, kind="stable")
        self.limits, self.limit = np.zeros(0), np.inf
        self.chart.show_spread(self.spread, words, self._write, lower=lower)
        self.chart.set_places(self.limits)
        self.chart.set_note("" if len(self.spread) else tr("No face has a value"))
        self._say_line()

    def set_steps(self, limits: Array) -> None:
        """Let the line stand only where steps of coverage put it: limits (S,), infinite where nothing is refused."""
        self.limits = np.asarray(limits, np.float64)
        self.chart.set_places(np.clip(self.limits, *self.spread.edges[[0, -1]]))
        if len(self.limits):
            self.set_step(self.chart.step)

    def set_step(self, step: int) -> None:
        """Put the line at a step."""
        if len(self.limits):
            self.chart.step = min(max(step, 0), len(self.limits) - 1)
            self.limit = float(self.limits[self.chart.step])
            self._say_line()

    def set_limit(self, limit: float) -> None:
        """Put the line at a value, while there are no steps; infinite: nothing is refused."""
        self.limit = limit
        self._say_line()

    def set_selection(self, ids: Ids) -> None:
        """Show in each bin how many of its faces are selected; a brush stays while all it holds are among them."""
        sorted_ids = self.spread.ids[self._rows]
        at = np.searchsorted(sorted_ids, ids)
        known = at < len(sorted_ids)
        known[known] = sorted_ids[at[known]] == np.asarray(ids)[known]
        rows = self._rows[at[known]]
        bins = self.spread.bin_of(self.spread.values[rows])
        self.chart.selected = np.bincount(bins, minlength=len(self.spread.counts))
        held = self.chart.brush or self.chart.bin_range()
        if held is not None:
            inside = self.spread.within(*held)
            if np.count_nonzero((rows >= inside.start) & (rows < inside.stop)) < inside.stop - inside.start:
                self.chart.set_brush(None)
                self.chart.set_ring(None)
        self.chart.viewport().update()

    @property
    def log(self) -> bool:
        """Whether counts are on a logarithmic axis."""
        return self.chart.log

    @log.setter
    def log(self, log: bool) -> None:
        self.chart.log = log
        self.chart.fit()

    @property
    def refused(self) -> int:
        """Faces above the line."""
        return self.spread.refused(self.limit)

    def faces_within(self, low: float, high: float) -> Ids:
        """The faces of a range, by value."""
        return self.spread.ids[self.spread.within(low, high)]

    # What is said

    def _write(self, value: float) -> str:
        return number(-value if self.chart.lower else value, self.spread.decimals)

    def _say_line(self) -> None:
        """The line with its words, and what lies beyond it."""
        self.chart.limit = self.limit
        if len(self.spread):
            place = float(np.clip(self.limit, *self.spread.edges[[0, -1]]))
            self.chart.set_decision(place, *refusal_words(self.spread, self.limit, lower=self.chart.lower))
        else:
            self.chart.set_decision(None)

    def _card(self, mark: Mark) -> Sequence[str]:
        low, high = (self._write(float(v)) for v in self.spread.edges[mark.index : mark.index + 2])
        if self.chart.lower:
            low, high = high, low
        chosen = int(self.chart.selected[mark.index])
        return (
            plural(int(self.spread.counts[mark.index]), "{n} face", "{n} faces"),
            tr("{low} to {high}", low=low, high=high),
            tr("{n} selected", n=chosen) if chosen else "",
        )

    # What the user does

    def _on_stepped(self, step: int) -> None:
        self.set_step(step)
        self.step_moved.emit(step)

    def _on_moved(self, value: float) -> None:
        self.set_limit(np.inf if value >= self.spread.edges[-1] else value)
        self.limit_moved.emit(self.limit)

    def _on_bin(self, key: str, low: float, high: float) -> None:
        self.chart.set_brush(None)
        self.brushed.emit(self.faces_within(low, high))


class _Histogram(StepChart):
    """The bins, each in the colour of its value, and under the axis where the tenths of the faces lie."""

    log = lower = False  # counts on a logarithmic axis; values are negatives of what they are written as
    limit = float("inf")
    _missing = 0
    _marks: Sequence[tuple[int, float]] = ()  # percentile, value
    _foot = BOTTOM  # px under the plot

    def __init__(self) -> None:
        super().__init__(Axis(""), Axis(tr("faces per bin")), name=tr("Histogram"))
        self.selected: NDArray[np.int64] = np.zeros(1, np.int64)

    def show_spread(self, spread: Spread, words: str, write: Callable[[float], str], *, lower: bool) -> None:
        """Draw other faces."""
        self.lower = lower
        self.x_axis = Axis(words, low=spread.start, form=write)
        self.selected = np.zeros(len(spread.counts), np.int64)
        self._missing = spread.missing
        known = spread.values
        self._marks = [(p, float(np.quantile(known, p / 100))) for p in PERCENTILES] if len(known) else []
        self.setAccessibleName(tr("Histogram of {what}", what=self.x_axis.short))
        self.set_brush(None)
        self.set_bars([Bars(KEY, spread.edges, spread.counts, one="{n} face", many="{n} faces")])

    def bin_range(self) -> tuple[float, float] | None:
        """Both edges of the bin that was clicked."""
        if self._ring is None or not self._bars:
            return None
        edges = self._bars[0].edges
        return float(edges[self._ring.index]), float(edges[self._ring.index + 1])

    # Geometry

    def _whole(self) -> tuple[float, float, float, float]:
        low, high, *_ = super()._whole()
        return low, high, 0.0, top(self._bars[0].counts if self._bars else np.zeros(0, np.int64), log=self.log)

    def _heights(self, bars: Bars) -> Array:
        return heights(bars.counts, log=self.log)

    def _ticks(self, axis: Axis, low: float, high: float, room: int) -> list[tuple[float, str]]:
        if axis is self.y_axis:
            return count_ticks(high, log=self.log, room=room) if self._bars else []
        made = super()._ticks(axis, low, high, room)
        return [(p, _negated(text)) for p, text in made] if self.lower else made

    def _box(self) -> QRectF:
        size = self.viewport().size()
        return QRectF(LEFT, TOP, max(1, size.width() - LEFT - RIGHT), max(1, size.height() - TOP - self._foot))

    def _lay_out(self) -> None:
        super()._lay_out()
        if self._marks:
            self._make_room()

    def _make_room(self) -> None:
        """One more line under the axis where its title would lie on a percentile."""
        title = self.viewport().width() - RIGHT - text_width(self.x_axis.title, 10) - 8
        foot = BOTTOM + (ROW if any(spot.right() > title for _, spot in self._percentiles()) else 0)
        if foot != self._foot:
            self._foot = foot
            self._plot.layout.setContentsMargins(0, TOP, RIGHT, foot - 20)
            self._look_at(self._view)

    def _percentiles(self) -> list[tuple[str, QRectF]]:
        """What is written at the percentiles, and where; those without room are left out."""
        box = self._box()
        made: list[tuple[str, QRectF]] = []
        for percentile, value in self._marks:
            text = tr("p{percentile}", percentile=percentile)
            wide = text_width(text, 10)
            x = float(self._px(value))
            spot = QRectF(x - wide / 2, box.bottom() + 21, wide, 13)
            if box.left() - 1 <= x <= box.right() + 1 and not any(
                spot.adjusted(-4, 0, 4, 0).intersects(other) for _, other in made
            ):
                made.append((text, spot))
        return made

    # Paint

    def _dress_bars(self) -> None:
        for item in self._bar_items:  # every bin has its own colour: painted below
            item.setVisible(False)

    def drawForeground(self, painter: QPainter, rect: QRectF) -> None:
        painter.save()
        for one in self._bars:
            self._paint_bins(painter, one)
        self._paint_percentiles(painter)
        painter.restore()
        super().drawForeground(painter, rect)

    def _paint_bins(self, painter: QPainter, bars: Bars) -> None:
        box, now = self._box(), theme.current()
        painter.setClipRect(box)
        edges = np.rint(self._px(bars.edges))
        gap = 1 if len(edges) > 1 and (edges[-1] - edges[0]) / len(bars.counts) >= 4 else 0
        ground = round(float(self._py(0.0)))
        tops = np.minimum(np.rint(self._py(self._heights(bars))), ground - 1)
        chosen = np.asarray(self.selected)
        caps = np.minimum(np.rint(self._py(heights(chosen, log=self.log))), ground - 1)
        line = float(self._px(min(self.limit, float(bars.edges[-1]))))
        brushed = self._brushed(bars)  # that they are selected is said already
        for i in np.flatnonzero(bars.counts):
            left, right = edges[i] + gap, max(edges[i + 1], edges[i] + gap + 1)
            fill, edge = _colours(len(bars.counts), now)[i]
            for start, end, share in ((left, min(right, line), 1.0), (max(left, line), right, REFUSED)):
                if end > start:
                    painter.setOpacity(share)
                    painter.fillRect(QRectF(start, tops[i], end - start, ground - tops[i]), fill)
                    painter.fillRect(QRectF(start, tops[i], end - start, 1), edge)
            painter.setOpacity(1.0)
            if chosen[i] and not brushed[i]:
                painter.fillRect(QRectF(left, caps[i], right - left, ground - caps[i]), now.q("#ffffff", 0.35))
                painter.fillRect(QRectF(left, caps[i], right - left, 2), now.q("accent"))

    def _paint_percentiles(self, painter: QPainter) -> None:
        now, box = theme.current(), self._box()
        painter.setClipping(False)
        painter.setPen(QPen(now.q("text3"), 1))
        for _, value in self._marks:
            x = float(self._px(value))
            if box.left() - 1 <= x <= box.right() + 1:
                painter.drawLine(QPointF(x, box.bottom() - 4), QPointF(x, box.bottom() + 6))
        for text, spot in self._percentiles():
            draw_text(painter, spot.adjusted(-1, 0, 1, 0), text, "text3", 10, align="centre")

    # Words

    def _y_title(self) -> str:
        if not self._missing:
            return self.y_axis.title
        missing = plural(self._missing, "{n} face without a value", "{n} faces without a value")
        return f"{self.y_axis.title} · {missing}"

    def _counted(self) -> str:
        low, high = self.brush or (0.0, 0.0)
        n = sum(int(one.counts[self._brushed(one)].sum()) for one in self._bars)
        if self.lower:
            low, high = high, low
        return tr("{n} selected · {low} to {high}", n=n, low=self.x_axis.write(low), high=self.x_axis.write(high))

    def _brushed(self, bars: Bars) -> NDArray[np.bool_]:
        """Which bins lie in the brush."""
        low, high = self._brush or (np.inf, -np.inf)
        slack = 1e-6 * (bars.edges[-1] - bars.edges[0])
        return (bars.edges[:-1] >= low - slack) & (bars.edges[1:] <= high + slack)

    def _spoken(self) -> str:
        n = sum(int(np.sum(b.counts)) for b in self._bars)
        marks = ", ".join(f"p{p} {self.x_axis.write(value)}" for p, value in sorted(self._marks))
        parts = [f"{self._y_title()}, {self.x_axis.title}", plural(n, "{n} face", "{n} faces"), marks]
        if self._decision is not None:
            parts.append(tr("Line: {said}", said=", ".join(t for t in self._decision_text if t)))
        if self._brush is not None:
            parts.append(self._counted())
        return ". ".join(p for p in [*parts, self._note] if p) + "."


def _negated(text: str) -> str:
    """A tick of a negative, as it was.

    >>> _negated("−0.3"), _negated("0.3"), _negated("0.0")
    ('0.3', '−0.3', '0.0')
    """
    return text[1:] if text.startswith("−") else text if not text.strip("0.,") else f"−{text}"


@cache
def _colours(n: int, look: theme.Theme) -> list[tuple[QColor, QColor]]:
    """Viridis over the bins, bright is more of the score; and edges that can be seen on any ground."""
    fills = pg.colormap.get("viridis").map((np.arange(n) + 0.5) / n, mode="qcolor")
    return [(fill, look.q(theme.mix(fill.name(), look.text, 0.45))) for fill in fills]
