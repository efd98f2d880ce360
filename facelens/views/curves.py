"""Curves over the steps of a training: a chart under a legend that has the last value of each curve.

A click on a name in the legend hides its curve. One curve may lead: it is drawn in the colour of text, on top.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np
from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QVBoxLayout, QWidget

from facelens.figures.crossing_words import decimals
from facelens.figures.scales import Array
from facelens.session.columns import Columns, thinned
from facelens.views import theme
from facelens.views.controls import FlowLayout, draw_text, plain_tip, text_width
from facelens.views.plots import Axis, Band, Chart, Point, Series, Zone
from facelens.words import number, tr

HUES = (85, 195, 325, 40, 285, 145, 240, 10)  # degrees, far from each other in this order
DASHES: tuple[tuple[float, ...], ...] = ((), (5, 2.5), (1.5, 2), (6, 2, 1.5, 2))
POINTS = 250  # of a curve
MAGNITUDES = 30.0  # curves that lie so far apart are shown on a logarithmic axis


@dataclass(frozen=True, eq=False)
class Curve:
    """Values (n,) at steps (n,); NaN where there is none."""

    name: str
    steps: Array
    values: Array
    leads: bool = False
    band: tuple[Array, Array] | None = None  # lower and upper end

    def same(self, other: Curve) -> bool:
        """Whether both are drawn alike."""
        arrays = zip((self.steps, self.values, *(self.band or ())), (other.steps, other.values, *(other.band or ())))
        said = (self.name, self.leads, self.band is None) == (other.name, other.leads, other.band is None)
        return said and all(np.array_equal(mine, its, equal_nan=True) for mine, its in arrays)

    @property
    def last(self) -> float:
        """The newest value."""
        known = self.values[np.isfinite(self.values)]
        return float(known[-1]) if len(known) else math.nan


class Curves(QWidget):
    """A legend over a chart whose x axis is the steps of a training."""

    def __init__(
        self,
        title: str,
        *,
        name: str,
        low: float | None = None,
        high: float | None = None,
        write: Callable[[float], str] | None = None,
    ) -> None:
        """`write` says how values are written, else with four digits."""
        super().__init__()
        self.title, self.low, self._high, self.write = title, low, high, write or short
        self._curves: tuple[Curve, ...] = ()
        self._steps = 1
        self._log = False
        self._start: Mapping[str, float] = {}
        self._drawn: tuple[object, ...] = ()
        self.legend = QWidget()
        self._flow = FlowLayout(self.legend, gap=2)
        self._flow.setContentsMargins(8, 6, 8, 0)
        self.keys: dict[str, Key] = {}
        self.chart = Chart(self._x(), self._y(), name=name, brush=False)
        self.chart.describe = lambda mark: self._card(mark.key, mark.index)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.legend)
        column.addWidget(self.chart, 1)
        theme.follow(self, self._draw)

    def show_curves(
        self, curves: Sequence[Curve], *, steps: int, start: Mapping[str, float] | None = None, log: bool = False
    ) -> None:
        """Draw these; `start` are values at the beginning, drawn as thin lines across."""
        drawn = tuple(map(_thinned, curves))
        same = len(drawn) == len(self._curves) and all(map(Curve.same, drawn, self._curves))
        if same and (steps, log, self.title, self.low) == self._drawn and (start or {}) == self._start:
            return  # nothing new, and painting takes its time
        self._drawn = (steps, log, self.title, self.low)
        self._curves, self._log, self._start = drawn, log, start or {}
        self._steps = max(steps, 1)
        if (self.chart.x_axis, self.chart.y_axis) != (self._x(), self._y()):
            self.chart.set_axes(self._x(), self._y())
        self._fill()
        self._draw()

    @property
    def hidden(self) -> frozenset[str]:
        """Names of the curves that are switched off."""
        return frozenset(name for name, key in self.keys.items() if not key.isChecked())

    def set_zones(self, zones: Sequence[Zone]) -> None:
        """Stretches of steps that are something else."""
        self.chart.set_zones(zones)

    def set_note(self, text: str) -> None:
        """Why nothing is drawn."""
        self.chart.set_note(text)

    def _x(self) -> Axis:
        return Axis(tr("step"), low=0.0, high=float(self._steps), form=_count)

    def _y(self) -> Axis:
        low = None if self._log else self.low
        return Axis(self.title, scale="log" if self._log else "linear", low=low, high=self._high, form=short)

    def _fill(self) -> None:
        names = [one.name for one in self._curves]
        if list(self.keys) != names:
            while item := self._flow.takeAt(0):
                if (old := item.widget()) is not None:
                    old.hide()
                    old.deleteLater()
            hidden = self.hidden
            self.keys = {}
            for name in names:
                key = self.keys[name] = Key(name, self.write)
                key.setChecked(name not in hidden)
                key.toggled.connect(self._draw)
                self._flow.addWidget(key)
            self.legend.setVisible(bool(names))
        for place, one in enumerate(self._curves):
            self.keys[one.name].show_value(one, place)

    def _draw(self) -> None:
        shown = [(place, one) for place, one in enumerate(self._curves) if self.keys[one.name].isChecked()]
        series = []
        for place, one in shown:
            if one.name in self._start:
                level = np.full(2, self._start[one.name])
                across = np.array([0.0, float(self._steps)])
                series.append(Series(f"start {one.name}", across, level, reference=True, colour=shade(place)))
        for place, one in sorted(shown, key=lambda found: found[1].leads):
            look = {"colour": "text"} if one.leads else {"colour": shade(place), "width": 1.6, "dash": dash(place)}
            band = Band(*one.band) if one.band is not None else None
            series.append(Series(one.name, one.steps, one.values, headline=self.write(one.last), band=band, **look))  # type: ignore[arg-type]
        self.chart.set_series(series)
        alone = [one for _, one in shown if len(one.steps) == 1]  # one value makes no line
        self.chart.set_points([Point(one.name, float(one.steps[0]), float(one.values[0])) for one in alone])
        self.chart.point_again()

    def _card(self, name: str, index: int) -> tuple[str, ...]:
        one = next(curve for curve in self._curves if curve.name == name)
        return name, tr("step {n}", n=int(one.steps[index])), self.write(float(one.values[index]))


def _thinned(curve: Curve) -> Curve:
    """No more points than can be told apart."""
    if curve.band is not None:  # of few points anyway
        return curve
    steps, values = thinned(curve.steps, curve.values, most=POINTS)
    return replace(curve, steps=steps, values=values)


class Key(QAbstractButton):
    """A line of the legend: how the curve is drawn, its name, its last value. Checked while the curve is shown."""

    def __init__(self, name: str, write: Callable[[float], str] | None = None) -> None:
        super().__init__()
        self.write = write or short
        self.setText(name)
        self.setCheckable(True)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setFixedHeight(18)
        self._leads, self._place, self._value = False, 0, ""

    def show_value(self, curve: Curve, place: int) -> None:
        """What the curve is at, and the place that decides how it is drawn."""
        self._leads, self._place = curve.leads, place
        before, self._value = self._value, self.write(curve.last)
        if len(before) != len(self._value):
            self.updateGeometry()
        self.setAccessibleName(f"{curve.name} {self._value}")
        self.setToolTip(
            plain_tip(tr("{name}, last {value}. Click to hide or show it", name=curve.name, value=self._value))
        )
        self.update()

    def sizeHint(self) -> QSize:
        value = max(text_width("0.0000", 10), text_width(self._value, 10))
        return QSize(round(48 + text_width(self.text(), 10, self._leads) + value), 18)

    def paintEvent(self, event: QPaintEvent) -> None:
        now, painter = theme.current(), QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        on = self.isChecked()
        pen = QPen(
            now.q("text" if self._leads else shade(self._place), 1.0 if on else 0.35), 2.2 if self._leads else 1.6
        )
        if not self._leads and dash(self._place):
            pen.setDashPattern(dash(self._place))
        painter.setPen(pen)
        painter.drawLine(2, 9, 22, 9)
        wide = text_width(self.text(), 10, self._leads)
        ink = "text" if on else "text3"
        draw_text(painter, QRectF(28, 0, wide + 4, 18), self.text(), ink, 10, bold=self._leads)
        draw_text(painter, QRectF(34 + wide, 0, self.width() - wide - 34, 18), self._value if on else "", "text3", 10)


def curves_of(
    columns: Columns,
    part: str,
    *,
    lead: str = "",
    only: Sequence[str] = (),
    but: Sequence[str] = (),
    words: Mapping[str, str] = MappingProxyType({}),
) -> list[Curve]:
    """A curve for each name in a part of the rows, `only` some in their order; `words` are what people call them."""
    steps, found = columns.steps, columns.part(part)
    names = [name for name in only or found if name in found and name not in but]
    return [Curve(called(name, words), steps, found[name], name == lead) for name in names]


def called(name: str, words: Mapping[str, str]) -> str:
    """The name of a curve on the screen; the last word of a name may be one of `words`."""
    *which, last = name.split(" ")
    return " ".join([*which, tr(words[last]) if last in words else last.replace("_", " ")])


def shade(place: int) -> str:
    """The colour of the curve at a place."""
    lightness = 0.76 if theme.current().dark else 0.52
    return theme.oklch(lightness, 0.125, math.radians(HUES[place % len(HUES)])).name()


def dash(place: int) -> tuple[float, ...]:
    """How its line is broken."""
    return DASHES[place % len(DASHES)]


def metric(value: float) -> str:
    """A share of cases: always three decimals, four close to 1.

    >>> metric(0.2), metric(0.99123)
    ('0.200', '0.9912')
    """
    return "" if math.isnan(value) else number(value, decimals(value))


def short(value: float) -> str:
    """A value in four figures.

    >>> short(0.84231), short(572.699), short(-3.1), short(5.1e-6)
    ('0.8423', '572.7', '−3.1', '5.1e-6')
    """
    if math.isnan(value):
        return ""
    digits, _, power = f"{value:.4g}".partition("e")
    return digits.replace("-", "−") + (f"e{int(power)}" if power else "")  # 5.1e-6, as everywhere


def _count(value: float) -> str:
    return f"{value:,.0f}"


def negative(curves: Sequence[Curve]) -> bool:
    """Whether some values lie below 0, where no logarithm can show them; 0 itself is only left out."""
    return any(bool((one.values < 0).any()) for one in curves)


def far_apart(curves: Sequence[Curve]) -> bool:
    """Whether some curves would lie flat on the axis beside the others, and a logarithmic one can show them all."""
    known = [one.values[one.values > 0] for one in curves]
    known = [values for values in known if len(values)]
    if len(known) < 2 or negative(curves):
        return False
    return bool(max(values.max() for values in known) > MAGNITUDES * min(np.median(values) for values in known))
