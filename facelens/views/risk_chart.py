"""What refusing the worst faces does to the errors of those that are kept: error over coverage, all faces at the left.

Drag the line, or arrow keys (Shift: ten steps); a click on the curve puts it there. Drag elsewhere to choose the faces
that are refused between two steps. Esc lets go.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from PySide6.QtCore import QPointF, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from facelens.analyses.rejection import Risk
from facelens.figures import refusal as words
from facelens.figures.scales import Array
from facelens.views.controls import plain_tip
from facelens.views.gain_row import GainRow
from facelens.views.plots import Axis, Band, Mark, Point, Series, Zone
from facelens.views.steps import CurveChart
from facelens.words import number, plural, tr

__all__ = ["GainRow", "RiskChart"]

LOW, NARROW = 190, 420  # px; under this height or width less is written
DOTTED, DASHED = (1.0, 3.0), (4.5, 3.0)


class RiskChart(QWidget):
    """One risk, its references, and the line at the step that is kept."""

    step_moved = Signal(int)  # the line was dragged, typed or clicked to a step
    settled = Signal()  # the line was let go
    stretch = Signal(int, int)  # two steps: the faces refused between them were chosen; equal ones after Esc

    def __init__(self) -> None:
        super().__init__()
        self.risk: Risk | None = None
        self._by, self._low = "", False  # the score; whether there is little room
        self._starts: dict[str, int] = {}  # the step at which a curve of the chart begins
        self.chart = _Curve()
        self.chart.describe = self._card
        self.chart.count = self._chosen
        self.chart.stepped.connect(self._on_stepped)
        self.chart.settled.connect(lambda _: self.settled.emit())
        self.chart.picked.connect(self._on_picked)
        self.chart.brushed.connect(self._on_brushed)
        self.chart.cleared.connect(lambda: self.stretch.emit(0, 0))
        self.setFocusProxy(self.chart)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self.chart)
        self.show_risk(None)

    def show_risk(self, risk: Risk | None, *, by: str = "variance", why: str = "") -> None:
        """Draw the errors left when faces are refused by a score; without a risk say why there is none."""
        if risk is not None and risk is self.risk and by == self._by:
            return  # line and brush stay
        self.risk, self._by = (risk if risk is not None and len(risk.coverage) else None), by
        self.chart.set_brush(None)
        self.chart.set_note(why or tr("not worked out yet"))
        self._draw()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if self._low != (event.size().height() < LOW or event.size().width() < NARROW):
            self._low = not self._low
            self._draw()

    def _draw(self) -> None:
        chart, risk = self.chart, self.risk
        self._starts = {}
        if risk is None:
            chart.show_curves([], Axis(tr("faces kept (coverage)"), low=0.0, high=0.4), Axis(""))
            chart.set_places(np.zeros(0))
            chart.set_zones([])
            chart.aside = ""
            chart.set_decision(None)
            return
        refused = 1 - risk.coverage
        end, top = words.risk_limits(risk)
        own, chance, best = words.curve_names(risk, self._by, short=self._low)
        curves = [
            *self._curves("random", refused, risk.random, name=chance, reference=True, dash=DOTTED),
            *self._curves("best", refused, risk.best, name=best, reference=True, dash=DASHED, label_at=0.75),
            *self._curves("error", refused, risk.error.value, name=own, colour="accent"),
        ]
        x = Axis(tr("faces kept (coverage)"), low=0.0, high=end, form=lambda v: words.percent(1 - v))
        y = Axis(tr("1 − {asked}, lower is better", asked=words.asked(risk)), low=0.0, high=top, form=_error)
        chart.set_places(refused)
        chart.show_curves(curves, x, y)
        lone = [one.start for one in words.runs(risk.error.value) if one.stop - one.start == 1]
        chart.set_points([Point(f"error {i}", float(refused[i]), float(risk.error.value[i])) for i in lone])
        drawn = bool(np.isfinite(risk.error.value).any())
        holes = words.gaps(risk.error.value) if drawn else []
        chart.set_zones([Zone(refused[a], refused[b], words.undefined(risk, min(a + 1, b))) for a, b in holes])
        chart.aside = tr("AURC {value}", value=risk.area.text())
        chart.set_note("" if drawn else tr("n/a: {why}", why=words.undefined(risk, 0)))
        self.set_step(chart.step)

    def set_step(self, step: int) -> None:
        """Put the line at a step."""
        risk = self.risk
        if risk is None:
            return
        step = self.chart.step = min(max(step, 0), len(risk.coverage) - 1)
        error = words.at(risk, risk.error, step)
        self.chart.dot = error.value
        title = tr("keep {share}", share=words.percent(float(risk.coverage[step])))
        self.chart.said = error.text(4)
        self.chart.set_decision(1 - float(risk.coverage[step]), title, "" if self._low else error.text(3))

    def set_stretch(self, first: int, last: int) -> None:
        """Show the stretch between two steps as chosen; equal ones: none."""
        risk = self.risk
        if risk is None or first == last:
            self.chart.set_brush(None)
        else:
            low, high = sorted(1 - risk.coverage[[first, last]])
            self.chart.set_brush(float(low), float(high))

    def _curves(self, key: str, x: Array, y: Array, **how: object) -> list[Series]:
        """A curve in as many pieces as it has; the longest has the name."""
        found = words.runs(y)
        longest = max(found, key=lambda one: one.stop - one.start, default=None)
        made = []
        for one in found:
            band = Band(self.risk.error.low[one], self.risk.error.high[one]) if key == "error" and self.risk else None
            look = how if one == longest else {**how, "name": ""}
            made.append(Series(f"{key} {one.start}", x[one], y[one], band=band, **look))  # type: ignore[arg-type]
            self._starts[made[-1].key] = one.start
        return made

    def _chosen(self, first: int, last: int) -> str:
        """What a stretch holds, in words."""
        assert self.risk is not None
        n = int(abs(self.risk.kept[first] - self.risk.kept[last]))
        ends = (words.percent(float(self.risk.coverage[i])) for i in sorted((first, last)))
        return tr(
            "{faces} · {high} to {low}", faces=plural(n, "{n} face", "{n} faces"), high=next(ends), low=next(ends)
        )

    def _card(self, mark: Mark) -> Sequence[str]:
        risk = self.risk
        assert risk is not None
        step = self._starts[mark.key] + mark.index
        error = words.at(risk, risk.error, step)
        refused = int(risk.kept[0] - risk.kept[step])
        return (
            tr("keep {share}", share=words.percent(float(risk.coverage[step]))),
            f"{self.chart.y_axis.short} {error.text(4)}",
            " · ".join((plural(refused, "{n} face refused", "{n} faces refused"), words.compared(risk, step))),
        )

    def _on_stepped(self, step: int) -> None:
        self.set_step(step)
        self.step_moved.emit(step)

    def _on_picked(self, key: str, index: int) -> None:
        self.chart.set_ring(None)
        step = self._starts[key] + index
        if step != self.chart.step:
            self._on_stepped(step)
            self.settled.emit()

    def _on_brushed(self, low: float, high: float) -> None:
        first, last = self.chart.closest(low), self.chart.closest(high)
        self.stretch.emit(first, last)


class _Curve(CurveChart):
    """Curves over the share that is refused; the axis says what is kept."""

    said = ""  # the error at the line, in words

    def __init__(self) -> None:
        super().__init__(Axis(""), Axis(""), name=tr("Risk against coverage"))
        self.tip = tr("Drag the line, or arrow keys; drag elsewhere to select the faces refused between two steps")
        self.setToolTip(self.tip)
        self.count: Callable[[int, int], str] = lambda first, last: ""  # what a stretch holds, in words

    def show_curves(self, curves: Sequence[Series], x: Axis, y: Axis) -> None:
        """Draw other ones."""
        self.x_axis, self.y_axis = x, y
        self._brushable = bool(curves)
        self.set_points([])
        self.set_series(curves)

    def closest(self, place: float) -> int:
        """The step next to a place."""
        return int(np.abs(self.places - place).argmin())

    def _ticks(self, axis: Axis, low: float, high: float, room: int) -> list[tuple[float, str]]:
        made = super()._ticks(axis, low, high, room) if self._drawn else []
        return [(p, words.percent(round(1 - p, 9), 0)) for p, _ in made] if axis is self.x_axis else made

    def _snapped(self, place: float) -> float:
        return float(self.places[self.closest(place)]) if len(self.places) else place

    def _counted(self) -> str:
        low, high = self.brush or (0.0, 0.0)
        return self.count(self.closest(low), self.closest(high))

    def _point_at(self, at: QPointF) -> None:
        super()._point_at(at)
        tip = plain_tip(self._reason(at.x()) or self.tip)
        if tip != self.toolTip():
            self.setToolTip(tip)

    def _reason(self, x: float) -> str:
        """Why there is no curve at a pixel."""
        spans = zip(self._zones, self._zone_spans())
        return next((zone.reason for zone, (left, right) in spans if left < x < right), "")

    def _spoken(self) -> str:
        if self._note:
            return self._note
        line = tr("Line: {kept}, {error}", kept=self._decision_text[0], error=self.said)
        parts = [self.y_axis.title, self.x_axis.title, self.aside, line]
        parts += [z.reason for z in self._zones]
        return ". ".join(p for p in parts if p) + "."


def _error(value: float) -> str:
    return number(value, 4)
