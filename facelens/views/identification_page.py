"""Identification on the evaluation page: CMC, open-set curve, and the table of both; a click lists the searches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from facelens.analyses.evaluation import Evaluation, Report
from facelens.analyses.identification import Identification, OpenPoint
from facelens.analyses.measure import Measure, rate
from facelens.figures import charts
from facelens.images.faceset import FaceSet
from facelens.session import listing
from facelens.session.listing import Listing
from facelens.views.frame import Frame, offer_figure, split
from facelens.views.plots import Axis, Band, Chart, Series, Zone
from facelens.views.tables import Cell, Column, ResultTable, difference_cell, measure_cell, reason_row
from facelens.words import number, tr

SLIM = 620  # px; under this width the curves stand one over the other
RANKS = 30  # that are drawn
TICKS = (1.0, 5.0, 10.0, 15.0, 20.0, 25.0, 30.0)


class IdentificationPage(QWidget):
    """See the module's words."""

    listed = Signal(object, object)  # Callable[[], Listing], widget that asked
    drawn = Signal(str)  # a chart that is to be written to a file

    def __init__(self) -> None:
        super().__init__()
        self.sides: tuple[tuple[str, Report, Identification], ...] = ()
        self.evaluation: Evaluation | None = None
        self._lines: list[tuple[str, int | float]] = []  # ("rank", 5) or ("open", 0.01) of each row
        self._drawn: dict[str, np.ndarray] = {}
        self.cmc = Chart(
            Axis(tr("rank"), low=1, high=20, form=lambda rank: f"{rank:.0f}"),
            Axis(tr("share found by this rank, higher is better"), low=0.0, high=1.0),
            name=tr("CMC"),
        )
        self.cmc.setToolTip(tr("Share of searches whose person is among the first. Click a rank for those it misses."))
        self.cmc.picked.connect(self._on_rank)
        self.open = Chart(
            Axis(tr("FPIR (log), lower is stricter"), scale="log", low=1e-3, high=1.0),
            Axis(tr("TPIR at rank 1, higher is better"), low=0.0, high=1.0),
            name=tr("Open set"),
        )
        self.open.setToolTip(
            tr("Share of known people who are found, against the share of strangers taken for somebody. Click a point.")
        )
        self.open.picked.connect(self._on_open)
        self.table = ResultTable(tr("Ranks and rates"), large=True)
        self.table.tapped.connect(self._on_cell)
        self.cmc_frame = Frame(tr("CMC"), self.cmc, tr("click a rank for what it misses"))
        self.open_frame = Frame(tr("Open set"), self.open, tr("click a point for its misses"))
        offer_figure(self.cmc_frame, self.cmc, lambda: self.drawn.emit("cmc"))
        offer_figure(self.open_frame, self.open, lambda: self.drawn.emit("open set"))
        self.table_frame = Frame(tr("Ranks and rates"), self.table)
        self.curves = split(Qt.Orientation.Horizontal, self.cmc_frame, self.open_frame, sizes=(1, 1))
        self.rows = split(Qt.Orientation.Vertical, self.curves, self.table_frame, sizes=(330, 280))
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(self.rows)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        narrow = event.size().width() < SLIM
        self.curves.setOrientation(Qt.Orientation.Vertical if narrow else Qt.Orientation.Horizontal)

    def show_evaluation(self, evaluation: Evaluation, faces: FaceSet, names: Mapping[str, str]) -> None:
        """Draw everything anew."""
        self.evaluation, self.names = evaluation, names
        self.sides = tuple(
            (letter, report, found)
            for letter, report in evaluation.sides
            if (found := report.identification) is not None
        )
        self._draw_cmc()
        self._draw_open()
        self._fill()
        last = self.sides[-1][2] if self.sides else None
        if last is not None:
            words = tr(
                "{m} searches of known people, {u} of strangers, {e} enrolled · higher is better",
                m=last.n_mated,
                u=last.n_unmated,
                e=last.n_enrolled,
            )
            self.table_frame.header.set_subtitle(words)
            self.table_frame.header.setToolTip(last.how)

    def _draw_cmc(self) -> None:
        series, lowest, most = [], [1.0], 1
        for letter, _, found in self.sides:
            y = np.asarray(found.cmc, np.float64)[:RANKS]
            keep = np.flatnonzero(np.isfinite(y))
            first = dict(found.ranks).get(1, Measure.none(tr("not worked out")))
            if not len(keep) or not first.defined:
                continue
            most = max(most, len(y))
            low, high = np.asarray(found.cmc_low)[:RANKS], np.asarray(found.cmc_high)[:RANKS]
            lowest.append(float(np.nanmin(np.fmin(low, y))))
            head = tr("rank 1 {v}", v=first.text())
            band = Band(low[keep], high[keep])
            name = self.names[letter]
            ranks = (keep + 1).astype(np.float64)
            series.append(Series(letter, ranks, y[keep], side=letter, name=name, headline=head, band=band))
        bottom = max(floor for floor in charts.FLOORS if floor <= max(min(lowest), 0.0))
        self.cmc.set_axes(
            Axis(tr("rank"), low=1, high=max(most, 2), ticks=TICKS, form=lambda rank: f"{rank:.0f}"),
            Axis(tr("share found by this rank, higher is better"), low=float(bottom), high=1.0),
        )
        self.cmc.set_series(series)
        self.cmc.set_note("" if series else self._why("ranks"))

    def _draw_open(self) -> None:
        assert self.evaluation is not None
        limits = charts.open_limits(self.evaluation)
        series = []
        self._drawn = {}
        for letter, _, found in self.sides:
            curve = found.open_curve
            if curve is None:
                continue
            least = found.smallest_fpir or 0.0
            keep = np.flatnonzero((curve.fpir > 0) & (curve.fpir >= least * (1 - 1e-9)) & np.isfinite(curve.tpir))
            if not len(keep):
                continue
            self._drawn[letter] = keep
            band = Band(curve.tpir_low[keep], curve.tpir_high[keep])
            name = self.names[letter]
            series.append(Series(letter, curve.fpir[keep], curve.tpir[keep], side=letter, name=name, band=band))
        self.open.set_axes(
            Axis(tr("FPIR (log), lower is stricter"), scale="log", low=limits.x[0], high=limits.x[1]),
            Axis(tr("TPIR at rank 1, higher is better"), low=limits.y[0], high=limits.y[1]),
        )
        self.open.set_series(series)
        edge = limits.support
        self.open.set_zones([Zone(limits.x[0], edge, tr("no support"))] if edge > limits.x[0] else [])
        self.open.set_note("" if series else self._why("open"))

    def _why(self, part: str) -> str:
        for _, _, found in self.sides:
            measures = [m for _, m in found.ranks] if part == "ranks" else [point.rank1 for point in found.open]
            for measure in measures:
                if not measure.defined and measure.why:
                    return measure.text()
        if self.evaluation is not None and not self.evaluation.complete:
            return tr("Not worked out yet")
        return tr("No search could be made")

    # -- the table

    def _fill(self) -> None:
        both = len(self.sides) > 1
        last = self.sides[-1][0] if self.sides else "B"
        columns = [Column(tr("measure"), "", "left", 0.5)]
        columns += [
            Column(tr("{letter}  [95 %]", letter=letter), tr("{name}, higher is better", name=self.names[letter]))
            for letter, _, _ in self.sides
        ]
        if both:
            columns.append(
                Column(tr("B − A, paired"), tr("From the same draws of identities; coloured where 0 is outside"))
            )
        columns.append(
            Column(tr("threshold {letter}", letter=last), tr("With two galleries the mean of both"), share=0.4)
        )
        columns.append(Column(tr("misses"), tr("Searches of known people that fail"), share=0.3))
        columns.append(Column(tr("false alarms"), tr("Searches of strangers that are answered"), share=0.3))
        self._lines, rows = [], []
        ranks = [rank for rank, _ in self.sides[-1][2].ranks] if self.sides else []
        for rank in ranks:
            self._lines.append(("rank", rank))
            cells = [Cell(tr("rank {k}", k=rank), taps=True)]
            measures = [dict(found.ranks).get(rank, Measure.none(tr("not worked out"))) for _, _, found in self.sides]
            rows.append(self._row(cells, measures, self._paired("rank", rank), rank=rank))
        for point in self.sides[-1][2].open if self.sides else ():
            self._lines.append(("open", point.target))
            cells = [Cell(tr("TPIR at FPIR {x}", x=rate(point.target)), taps=True)]
            points = [self._point(found, point.target) for _, _, found in self.sides]
            measures = [p.rank1 if p is not None else Measure.none(tr("not worked out")) for p in points]
            rows.append(self._row(cells, measures, self._paired("open", point.target), point=points[-1]))
        if not rows:
            rows = [reason_row(self._why("ranks"), len(columns))]
        self.table.fill(columns, rows)

    def _row(
        self,
        cells: list[Cell],
        measures: list[Measure],
        paired: Measure | None,
        *,
        rank: int = 0,
        point: OpenPoint | None = None,
    ) -> list[Cell]:
        both = len(self.sides) > 1
        width = 1 + len(self.sides) + both
        report = self.sides[-1][1]
        if not any(measure.defined for measure in measures):
            text = measures[-1].text()
            cells += [Cell(text, why=True, span=width + 2, tip=text), *(Cell() for _ in range(width + 1))]
            return cells
        cells += [measure_cell(measure, taps=True) for measure in measures]
        if both:
            coming = self.evaluation is not None and not self.evaluation.complete
            cells.append(difference_cell(paired, coming=coming))
        threshold = point.threshold if point is not None else None
        cells.append(
            Cell(
                number(threshold, 3) if threshold is not None else tr("none") if point is not None else tr("not used"),
                colour="text" if point else "text3",
            )
        )
        missed = self._misses(report, rank, point)
        cells.append(Cell(f"{missed.total:,}", taps=True))
        alarms = f"{point.false_alarms:,}" if point is not None else tr("not counted")
        cells.append(Cell(alarms, taps=point is not None, colour="text" if point is not None else "text3"))
        return cells

    def _misses(self, report: Report, rank: int, point: OpenPoint | None) -> Listing:
        if point is None:
            return listing.not_within_rank(report, rank)
        return listing.missed_at(report, point.thresholds or point.threshold, rule=point.rule)

    def _point(self, found: Identification, target: float) -> OpenPoint | None:
        return next((point for point in found.open if point.target == target), None)

    def _paired(self, kind: str, key: float) -> Measure | None:
        paired = self.evaluation.paired_search if self.evaluation is not None else None
        if paired is None:
            return None
        return dict(paired.ranks if kind == "rank" else paired.open).get(key)  # type: ignore[arg-type]

    # -- taps

    def _list(self, letter: str, ask: Callable[[], Listing], who: object) -> None:
        def named() -> Listing:
            found = ask()
            title = f"{letter}: {found.title}" if len(self.sides) > 1 else found.title
            return replace(found, title=title, asked=letter.lower())

        self.listed.emit(named, who)

    def _report(self, letter: str) -> tuple[Report, Identification] | None:
        return next(((report, found) for key, report, found in self.sides if key == letter), None)

    def _on_rank(self, letter: str, index: int) -> None:
        if (found := self._report(letter)) is not None:
            report = found[0]
            self._list(letter, lambda: listing.not_within_rank(report, index + 1), self.cmc)

    def _on_open(self, letter: str, index: int) -> None:
        found = self._report(letter)
        if found is None or letter not in self._drawn or found[1].open_curve is None:
            return
        report, curve = found[0], found[1].open_curve
        at = int(self._drawn[letter][index])
        t = [float(v) for v in curve.thresholds[:, at]] if curve.thresholds.size else float(curve.threshold[at])
        rule = found[1].open[0].rule if found[1].open else "nist"
        words = tr("at FPIR {x}", x=rate(float(f"{curve.fpir[at]:.1e}")))

        def ask() -> Listing:
            made = listing.missed_at(report, t, rule=rule)
            return replace(made, title=f"{made.title} {words}", none=f"{made.none} {words}")

        self._list(letter, ask, self.open)

    def _on_cell(self, row: int, column: int) -> None:
        if row >= len(self._lines):
            return
        kind, key = self._lines[row]
        n, both = len(self.sides), len(self.sides) > 1
        letter = self.sides[column - 1][0] if 1 <= column <= n else self.sides[-1][0]
        found = self._report(letter)
        if found is None or self.table.model_.rows[row][min(column, 1)].why:
            return
        report = found[0]
        words = tr("at FPIR {x}", x=rate(float(key)))
        if kind == "rank":
            self._list(letter, lambda: listing.not_within_rank(report, int(key)), self.table)
            return
        point = self._point(found[1], float(key))
        if point is None:
            return
        alarms = column == n + both + 3

        def ask() -> Listing:
            t = point.thresholds or point.threshold
            made = (
                listing.false_alarms(report, t, rule=point.rule)
                if alarms
                else listing.missed_at(report, t, rule=point.rule)
            )
            return replace(made, title=f"{made.title} {words}", none=f"{made.none} {words}")

        self._list(letter, ask, self.table)
