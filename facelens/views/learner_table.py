"""How well each learner finds faces by itself and how well all do together, beside a model that was not divided."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import QRectF, Signal
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from facelens.analyses.divided import Learners, Side
from facelens.analyses.measure import Measure
from facelens.figures.part_words import part_name
from facelens.views.cell_grid import frame
from facelens.views.gain_row import HEIGHT, Gain, GainCell
from facelens.views.tables import Cell, Column, ResultTable, difference_cell, measure_cell
from facelens.words import escaped, number, tr

SUMMARY = 3  # rows over those of the learners: all together, their mean, the correlation


class LearnerTable(QWidget):
    """The leading number over a table with a row for each learner; the current one is framed."""

    part_chosen = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.lead = GainCell()
        self.lead.setFixedHeight(HEIGHT)
        self.table = _Table(tr("Recall of each learner"))
        self.table.tapped.connect(lambda row, _: self._on_tapped(row))
        self.setFocusProxy(self.table)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        top = QVBoxLayout()
        top.setContentsMargins(12, 4, 12, 4)
        top.addWidget(self.lead)
        column.addLayout(top)
        column.addWidget(self.table, 1)

    def show_learners(self, found: Learners, k: int) -> None:
        """Recall@k of other learners."""
        at = found.ks.index(k) if k in found.ks else 0
        self.lead.show_gain(leading(found, at))
        own, base = found.own, found.baseline
        name = escaped(own.model)
        columns = [
            Column(_heading(own), align="left", share=0.3),
            Column(f"B  {name}", tr("Recall@{k} of {name}, higher is better", k=found.ks[at], name=name)),
        ]
        if base is not None:
            other = escaped(base.model)
            tip = tr("{name}, cut into as many slices; its slices have no counterparts here", name=other)
            columns.append(Column(f"A  {other}", tip))
            columns.append(Column(tr("gain"), tr("B less A, the same people resampled")))
        self.table.fill(columns, [*self._summary(found, at), *self._learners(found, at)])

    def set_part(self, part: int) -> None:
        """Another learner is the current one."""
        self.table.set_ringed(SUMMARY + part if part >= 0 else -1)

    def _summary(self, found: Learners, at: int) -> list[list[Cell]]:
        own, base = found.own, found.baseline
        tips = (
            tr("All {d} dimensions", d=own.layout.dimensions),
            tr("Mean of the learners, each alone"),
            tr("Mean |r| of dimensions of different slices; lower is less alike"),
        )
        together = [Cell(tr("all together"), bold=True, tip=tips[0]), measure_cell(own.whole[at])]
        alone = [Cell(tr("mean of each"), tip=tips[1]), measure_cell(own.mean[at])]
        pairs = [Cell(tr("correlation"), tip=tips[2]), measure_cell(own.correlation)]
        if base is not None:
            whole, mean, alike = base.whole[at], base.mean[at], base.correlation
            together += [measure_cell(whole), _gain(difference(found.whole_gain, at, whole, own.whole[at]))]
            alone += [measure_cell(mean), _gain(difference(found.gain, at, mean, own.mean[at]))]
            pairs += [measure_cell(alike), _gain(difference((), 0, alike, own.correlation), lower=True)]
        return [together, alone, pairs]

    def _learners(self, found: Learners, at: int) -> list[list[Cell]]:
        own, base = found.own, found.baseline
        rows = []
        for k, measure in enumerate(own.recall[at]):
            first, last = k * own.layout.width + 1, (k + 1) * own.layout.width
            row = [
                Cell(
                    part_name(own.layout, k), taps=True, tip=tr("dimensions {first} to {last}", first=first, last=last)
                ),
                measure_cell(measure, taps=True),
            ]
            if base is not None:
                there = k < len(base.recall[at])
                row += [measure_cell(base.recall[at][k]) if there else Cell(tr("none"), colour="text3"), Cell()]
            rows.append(row)
        return rows

    def _on_tapped(self, row: int) -> None:
        self.table.unframe()
        if row >= SUMMARY:
            self.part_chosen.emit(row - SUMMARY)


class _Table(ResultTable):
    """A table with a frame around the row of the current learner."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.ringed = -1

    def set_ringed(self, row: int) -> None:
        """Frame another row; -1 for none."""
        if row != self.ringed:
            self.ringed = row
            self.viewport().update()

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if 0 <= self.ringed < len(self.model_.rows):
            painter = QPainter(self.viewport())
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            top, high = self.rowViewportPosition(self.ringed), self.rowHeight(self.ringed)
            frame(painter, QRectF(2, top + 1, self.viewport().width() - 4, high - 2))


def leading(found: Learners, at: int) -> Gain:
    """Mean recall of the learners beside the slices of the baseline; of slices, which nobody taught, that of all."""
    own, base, k = found.own, found.baseline, found.ks[at]
    if own.layout.kind == "slices":
        title = tr("Recall@{k} of the whole vector, higher is better", k=k)
        value, other, gains = own.whole[at], base.whole[at] if base is not None else None, found.whole_gain
    else:
        words = tr("learners") if own.layout.kind == "learners" else tr("parts")
        title = tr("Mean Recall@{k} of {n} {parts}, each alone, higher is better", k=k, n=own.layout.parts, parts=words)
        value, other, gains = own.mean[at], base.mean[at] if base is not None else None, found.gain
    if not value.defined or value.value is None:
        return Gain(title, tr("n/a"), under=value.why)
    under = _interval(value)
    before, sign = "", 0
    if base is not None and other is not None and other.value is not None:
        name = escaped(base.model)
        before = tr("{name} {value}", name=name, value=number(other.value, 3))
        if own.layout.kind != "slices":
            before = tr("slices of {name} {value}", name=name, value=number(other.value, 3))
        gain = difference(gains, at, other, value)
        if gain is not None and gain.defined:
            under = tr("difference {gain}", gain=gain.text(3, sign=True))
            sign = 0 if gain.low is None or gain.high is None else int(gain.low > 0) - int(gain.high < 0)
    return Gain(title, number(value.value, 3), before, under, sign)


def difference(gains: tuple[Measure, ...], at: int, base: Measure, own: Measure) -> Measure | None:
    """Own less baseline: as it was measured on the same resamples, else of the two numbers."""
    if at < len(gains):
        return gains[at]
    if base.value is None or own.value is None:
        return None
    return Measure(own.value - base.value, n=min(own.n, base.n))


def _heading(own: Side) -> str:
    return {"learners": tr("learner"), "slices": tr("slice")}.get(own.layout.kind, tr("part"))


def _interval(measure: Measure) -> str:
    if measure.low is None or measure.high is None:
        return tr("N = {n}", n=measure.n) if measure.n else ""
    return f"[{number(measure.low, 3)}, {number(measure.high, 3)}] · " + tr("N = {n}", n=measure.n)


def _gain(measure: Measure | None, *, lower: bool = False) -> Cell:
    cell = difference_cell(measure, lower=lower)
    return cell if measure is None or cell.why else replace(cell, text=measure.text(3, sign=True))
