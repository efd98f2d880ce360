"""What embedding a part of the old gallery anew reaches, in several orders: whom to take first.

Drag the line, or left and right (Shift: ten steps), to a share of the gallery. A click on a curve or its name chooses
the order, and so do up and down. "Order" asks for the gallery in that order, as a file.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QKeyEvent, QPainter

from facelens.analyses.backfill import Backfill, Order
from facelens.analyses.plan import UpgradePlan
from facelens.figures import crossing_words as words
from facelens.views.canvas import Drawn
from facelens.views.controls import text_width, tool_button
from facelens.views.frame import Frame
from facelens.views.plots import Axis, Band, Mark, Series
from facelens.views.steps import CurveChart
from facelens.words import number, tr

FULL = ""  # the key of what the whole gallery anew reaches
SAMPLE = 26  # px of a piece of a curve
DOTTED = (1.0, 3.0)
DASHES = {
    "flip risk": (7.0, 2.0),
    "random": (5.0, 3.0),
    "uncertainty": (5.0, 2.0, 1.5, 2.0),
    "traffic": (9.0, 3.0),
}


class BackfillChart(Frame):
    """See the module's words. `show_backfill` and `set_share` emit nothing."""

    share = Signal(float)  # of the gallery, 0 .. 1: the line was moved
    order = Signal(str)  # of ORDERS
    export_order = Signal()

    def __init__(self) -> None:
        self.chart = _Curves()
        super().__init__(tr("Backfill"), self.chart, tr("drag the line"))
        self.export = tool_button(
            "export", tr("Save the gallery in this order, first to be embedded first"), text=tr("Order"), size=14
        )
        self.export.setFixedHeight(22)
        self.export.clicked.connect(lambda: self.export_order.emit())
        self.header.add(self.export)
        self._backfill: Backfill | None = None
        self._plan = UpgradePlan()
        self._chosen = ""
        self.chart.describe = self._card
        self.chart.stepped.connect(self._on_stepped)
        self.chart.picked.connect(lambda key, _: self._choose(key))
        self.chart.turned.connect(self._on_turned)
        self.setFocusProxy(self.chart)
        self.show_backfill(None, self._plan)

    def show_backfill(
        self, backfill: Backfill | None, plan: UpgradePlan, *, order: str = "", share: float = 0.0, why: str = ""
    ) -> None:
        """Draw what is reached in the task of the plan, with one order in front; without a backfill say why."""
        known = [one.name for one in backfill.orders] if backfill is not None else []
        self._backfill, self._plan = (backfill if known else None), plan
        self._chosen = order if order in known else (known[0] if known else "")
        self.export.setEnabled(bool(known))
        self.chart.set_note("" if known else why or tr("not worked out yet"))
        self._draw()
        self.set_share(share)

    def set_share(self, share: float) -> None:
        """Put the line there."""
        front = self._front
        if self._backfill is None or front is None:
            self.chart.set_decision(None)
            return
        step = self.chart.step = int(np.abs(self._backfill.shares - share).argmin())
        value, shown = float(front.value[self._plan.task][step]), float(self._backfill.shares[step])
        self.chart.dot = value if np.isfinite(value) else None
        said = (
            tr("{share} reaches {value}", share=order_share(shown), value=number(value, 4))
            if np.isfinite(value)
            else ""
        )
        self.chart.set_decision(shown, said)

    @property
    def _front(self) -> Order | None:
        """The chosen order."""
        return self._backfill.order(self._chosen) if self._backfill is not None else None

    def _draw(self) -> None:
        chart, task, found = self.chart, self._plan.task, self._backfill
        x = Axis(tr("gallery re-embedded"), low=0.0, high=1.0, form=order_share)
        title = tr("{asked}, higher is better", asked=words.asked(self._plan))
        if found is None:
            chart.show_curves([], x, Axis(title, low=0.0, high=1.0))
            chart.set_places(np.zeros(0))
            return
        front, series = self._front, []
        for one in sorted(found.orders, key=lambda o: o is front):  # the chosen one on top
            y, name = one.value[task], words.order_name(one.name)
            if one is front:
                band = Band(one.low[task], one.high[task])
                series.append(Series(one.name, found.shares, y, name=name, colour="accent", band=band, label_at=0.35))
            else:
                dash = DASHES.get(one.name, DASHES["flip risk"])
                series.append(Series(one.name, found.shares, y, name=name, width=1.5, dash=dash, label_at=0.5))
        full = float(found.orders[0].value[task][-1]) if len(found.shares) else np.nan
        if np.isfinite(full):
            ends, flat = np.array([0.0, 1.0]), np.full(2, full)
            said = tr("new/new {value}", value=number(full, words.decimals(full)))
            series.insert(0, Series(FULL, ends, flat, name=said, reference=True, dash=DOTTED, label_at=0.85))
        chart.set_places(found.shares)
        chart.show_curves(series, x, _y_axis(title, series))

    def _card(self, mark: Mark) -> Sequence[str]:
        assert self._backfill is not None
        one, task, i = self._backfill.order(mark.key), self._plan.task, mark.index
        assert one is not None
        value, low, high = (float(part[task][i]) for part in (one.value, one.low, one.high))
        said = number(value, 4) + (f" [{number(low, 4)}, {number(high, 4)}]" if np.isfinite([low, high]).all() else "")
        return (
            words.order_name(one.name),
            tr("{share} of the gallery: {value}", share=order_share(float(self._backfill.shares[i])), value=said),
            one.note,
            "" if one.name == self._chosen else tr("Click: take this order."),
        )

    # What the user does

    def _on_stepped(self, step: int) -> None:
        assert self._backfill is not None
        share = float(self._backfill.shares[step])
        self.set_share(share)
        self.share.emit(share)

    def _choose(self, name: str) -> None:
        self.chart.set_ring(None)
        if name != self._chosen:
            self.order.emit(name)

    def _on_turned(self, by: int) -> None:
        names = [one.name for one in self._backfill.orders] if self._backfill is not None else []
        if len(names) > 1:
            self.order.emit(names[(names.index(self._chosen) + by) % len(names)])


class _Curves(CurveChart):
    """Curves over the share that is embedded anew."""

    turned = Signal(int)  # the keyboard wants the next order, or the one before

    def __init__(self) -> None:
        super().__init__(Axis(""), Axis(""), name=tr("Backfill"))
        self.setToolTip(tr("Drag the line, or left and right; click a curve for its order, or up and down"))

    def show_curves(self, curves: Sequence[Series], x: Axis, y: Axis) -> None:
        """Draw other ones."""
        self.x_axis, self.y_axis = x, y
        self._brushable = False
        self.set_series(curves)

    def _ticks(self, axis: Axis, low: float, high: float, room: int) -> list[tuple[float, str]]:
        if not self._drawn:
            return []
        if axis is self.y_axis:
            return super()._ticks(axis, low, high, max(room, 3))
        shares = (0.0, 0.25, 0.5, 0.75, 1.0) if room >= 5 else (0.0, 0.5, 1.0)
        return [(share, order_share(share)) for share in shares]

    def _under(self, at: QPointF) -> Mark | None:
        """Also the name of a curve."""
        for key, spot in self._said.items():
            if key != FULL and spot.contains(at):
                return Mark(key, self.step)
        return super()._under(at)

    def _beside(self, drawn: Drawn, box: QRectF, taken: Sequence[QRectF]) -> QRectF:
        """On the curve where no other one is near; else under all of them, with a piece of the line behind it."""
        spot = self._spot_beside(drawn, box, taken, clear=True)
        if not spot.isEmpty():
            return spot
        wide = text_width(drawn.series.name, 10) + SAMPLE + 8
        line, ends = self._line_px(), [box.right() - 2]
        ends += [line - 12] if line is not None else []
        rows = [QRectF(end - wide, box.bottom() - 18 - 15 * row, wide, 13) for row in range(5) for end in ends]
        free = (one for one in rows if not self._busy(one) and not any(one.intersects(other) for other in taken))
        return next(free, QRectF())

    def _paint_names(self, painter: QPainter, box: QRectF) -> None:
        super()._paint_names(painter, box)
        for drawn in self._drawn:
            spot = self._said.get(drawn.series.key, QRectF())
            if spot.width() > text_width(drawn.series.name, 10) + SAMPLE:
                painter.setPen(self._pen(drawn.series))
                y = spot.center().y() + 1
                painter.drawLine(QPointF(spot.right() - SAMPLE, y), QPointF(spot.right(), y))

    def _words_spot(self, x: float, box: QRectF) -> QRectF | None:
        """At the foot of the line, where curves that rise have left room; at its top where they have not."""
        said = self._decision_text[0]
        if not said:
            return None
        wide = text_width(said, 11, True) + 1
        spots = [QRectF(x + side, y, wide, 15) for y in (box.bottom() - 22, box.top() - 2) for side in (9, -9 - wide)]
        inside = [spot for spot in spots if spot.left() >= box.left() - 40 and spot.right() <= box.right() + 12]
        return min(inside or spots[:1], key=lambda spot: self._busy(spot) > 0)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        by = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1}.get(Qt.Key(event.key()), 0)
        if by and self.decision is not None and not event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            self.turned.emit(by)
            event.accept()
        else:
            super().keyPressEvent(event)


def order_share(share: float) -> str:
    """A share of the gallery."""
    return tr("{share} %", share=f"{100 * share:.0f}")


def _y_axis(title: str, series: Sequence[Series]) -> Axis:
    """Room for all curves and the band of the chosen one."""
    known = [one.y for one in series]
    known += [edge for one in series if one.band is not None for edge in (one.band.low, one.band.high)]
    values = np.concatenate(known)
    values = values[np.isfinite(values)]
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)
    spare = max(0.08 * (high - low), 0.001)
    return Axis(title, low=max(0.0, low - 2 * spare), high=min(1.0, high + spare), form=lambda v: number(v, 4))
