"""What the second stage does to all queries, against its share alpha: the chosen weights with their interval, the
others thin, cosine alone dotted.

Drag the line, or arrow keys (Shift: ten steps), to move alpha; a double click puts it at 0.7. A click on another curve
or its name chooses those weights. What is measured, and the switch between alpha, grids and solvers, are in `mode`,
which belongs into the header of whoever shows this.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from PySide6.QtCore import QEvent, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QMouseEvent, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QSizePolicy, QStackedWidget, QVBoxLayout, QWidget

from facelens.analyses.measure import Measure
from facelens.analyses.plan import ALPHA, PATCH_WEIGHTS
from facelens.analyses.reranking import Sweep, SweepRow
from facelens.figures.match_words import alpha_title, queries_title, weights_title
from facelens.figures.swept import MEASURES, curve, measured, nearest
from facelens.session.jobs import Job
from facelens.views import theme
from facelens.views.controls import Segmented, draw_text, label, plain_tip, text_width, together
from facelens.views.docks.jobs import progress_text
from facelens.views.frame import Switch
from facelens.views.plots import Axis, Band, Chart, Mark, Series
from facelens.views.sweep_bars import Row, SweepBars, compared
from facelens.words import number, tr

STEP = 0.01  # of alpha
DOTTED = (1.0, 3.0)
DASHES = (
    (5.0, 3.0),
    (9.0, 3.0),
    (5.0, 2.0, 1.5, 2.0),
    (9.0, 2.0, 1.5, 2.0, 1.5, 2.0),
    (14.0, 3.0),
    (14.0, 2.0, 1.5, 2.0),
)
COSINE = ""  # the key of what is found without patches
LEFT = 28  # px before the values, for a piece of the curve
VALUES, NARROW = 168, 400  # px of the values at the right; under this width the line tells its own instead


class SweepChart(QWidget):
    """See the module's words. `show_*` and `set_*` emit nothing."""

    alpha_moved = Signal(float)
    settled = Signal()  # the line was let go
    run_wanted = Signal()
    stop_wanted = Signal()
    weights_chosen = Signal(str)  # of PATCH_WEIGHTS

    def __init__(self) -> None:
        super().__init__()
        self.sweep: Sweep | None = None
        self._busy = False  # whether one is being made
        self.weights, self.alpha = "uniform", ALPHA
        self._dashes: dict[str, tuple[float, ...]] = {}
        self._rows: dict[str, tuple[Sequence[Row], str, str]] = {}  # of the other modes, which is in use, the measure
        self.by = Switch([("alpha", "α"), ("grid", tr("Grid")), ("solver", tr("Solver"))], label=tr("Compare by"))
        self.by.changed.connect(lambda _: self._show_page())
        self.measure = Segmented([(name, name) for name in MEASURES], label=tr("Measure"), height=22)
        for name, tip in (
            ("P@1", tr("Share of queries whose first face is right")),
            ("RP", tr("Share of right faces among the first R, R faces being right")),
            ("MAP@R", tr("The same, with earlier ones counting more")),
        ):
            self.measure.button(name).setToolTip(tip)
        self.measure.changed.connect(lambda _: self._draw())
        self.progress = label(name="cap")
        self.stop, self.again = QPushButton(tr("Cancel")), QPushButton(tr("Run again"))
        self.stop.setToolTip(tr("Stops at once; what was found until then stays"))
        self.again.setToolTip(tr("From the beginning: it was stopped"))
        self.stop.clicked.connect(lambda: self.stop_wanted.emit())
        self.again.clicked.connect(lambda: self.run_wanted.emit())
        for button in (self.stop, self.again):
            button.setFixedHeight(22)
        self.running = together(self.progress, self.stop, self.again)
        self.mode = together(self.running, self.measure, self.by)
        self.chart = AlphaChart()
        self.chart.moved.connect(self._on_moved)
        self.chart.settled.connect(lambda _: self.settled.emit())
        self.chart.picked.connect(lambda key, _: self._choose(key))
        self.chart.describe = self._card
        self.values = Values()
        self.values.chosen.connect(self._choose)
        self.bars = SweepBars()
        self.run = QPushButton(tr("Run over all queries"))
        self.run.setObjectName("primary")
        self.run.setToolTip(tr("Searches for every face of the gallery; runs in the background"))
        self.run.clicked.connect(lambda: self.run_wanted.emit())
        self.setFocusProxy(self.chart)
        self.pages = QStackedWidget()
        for page in (self._build_empty(), self._build_curves(), self.bars):
            self.pages.addWidget(page)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(self.pages)
        for key in ("grid", "solver"):
            self.by.offer(key, False)
        self._draw()

    def _build_empty(self) -> QWidget:
        made = QWidget()
        column = QVBoxLayout(made)
        column.setContentsMargins(16, 8, 16, 8)
        column.setSpacing(8)
        self.none = label(wrap=True)
        self.none.setObjectName("small")
        self.none.setAlignment(Qt.AlignmentFlag.AlignCenter)
        column.addStretch(1)
        column.addWidget(self.none)
        column.addWidget(self.run, 0, Qt.AlignmentFlag.AlignHCenter)
        column.addStretch(1)
        return made

    def _build_curves(self) -> QWidget:
        made = QWidget()
        row = QHBoxLayout(made)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(4)
        row.addWidget(self.chart, 1)
        row.addWidget(self.values)
        return made

    # What is shown

    def show_sweep(self, sweep: Sweep | None, *, weights: str, alpha: float) -> None:
        """Draw a sweep with one way to weigh patches in front; without a sweep offer to run one."""
        if sweep is self.sweep and weights == self.weights:
            self.set_alpha(alpha)
            return
        self.sweep, self.weights, self.alpha = sweep, weights, alpha
        self._draw()

    def show_job(self, job: Job | None) -> None:
        """How far the search for all is; None: it does not run."""
        changed, self._busy = self._busy != (job is not None), job is not None
        self.progress.setText(progress_text(job) if job is not None else "")
        if changed:
            self._draw()

    def set_alpha(self, alpha: float) -> None:
        """Put the line there; below 0 there is none, for the plain sum."""
        self.alpha = alpha
        if self.sweep is not None:
            self._show_alpha()

    def show_bars(self, mode: str, rows: Sequence[Row], *, current: str = "", measure: str = "P@1") -> None:
        """What was found under several grids ("grid") or solvers ("solver"): (label, before, after) of a measure.

        `current` is the one in use; without rows the mode is not offered.
        """
        self._rows[mode] = rows, current, measure
        self.by.offer(mode, bool(rows))
        if not rows and self.by.value() == mode:
            self.by.set_value("alpha")
        self._show_page()

    @property
    def rows(self) -> list[SweepRow]:
        """Ways to weigh patches, the chosen one first."""
        found = [] if self.sweep is None else list(self.sweep.rows)
        known = {key: place for place, key in enumerate(PATCH_WEIGHTS)}
        return sorted(found, key=lambda row: (row.weights != self.weights, known.get(row.weights, len(known))))

    def _show_page(self) -> None:
        mode = self.by.value()
        self.by.setVisible(self.by.offers("grid") or self.by.offers("solver"))
        self.measure.setVisible(mode == "alpha" and self.sweep is not None)
        stopped = not self._busy and self.sweep is not None and not self.sweep.complete
        self.running.setVisible(self._busy or stopped)
        self.stop.setVisible(self._busy)
        self.again.setVisible(stopped)
        self.run.setVisible(not self._busy)
        idle = tr("Not run yet. Searches for every face, before and after, at several alphas.")
        self.none.setText(tr("The first results come after some queries…") if self._busy else idle)
        if mode != "alpha":
            rows, current, measure = self._rows[mode]
            setting = tr("grid") if mode == "grid" else tr("solver")
            self.bars.show_rows(rows, title=compared(measure, setting), current=current)
            self.pages.setCurrentWidget(self.bars)
        else:
            self.pages.setCurrentIndex(0 if self.sweep is None else 1)

    def _draw(self) -> None:
        sweep, name = self.sweep, self.measure.value()
        self._show_page()
        if sweep is None:
            return
        # Dashes stay with their weights, whichever is chosen.
        self._dashes = {row.weights: DASHES[place % len(DASHES)] for place, row in enumerate(sweep.rows)}
        before, series = sweep.before[name], []
        if before.value is not None and before.defined:
            flat = np.full(2, before.value)
            series.append(Series(COSINE, np.array([0.0, 1.0]), flat, reference=True, dash=DOTTED, colour="text2"))
        for row in reversed(self.rows):
            x, y, low, high = curve(row, name)
            if row.weights == self.weights:
                series.append(Series(row.weights, x, y, colour="accent", band=Band(low, high)))
            else:
                dash = self._dashes[row.weights]
                series.append(Series(row.weights, x, y, colour="text2", width=1.3, dash=dash))
        self.chart.set_axes(
            Axis(tr("α, share of EMD in the distance"), low=0.0, high=1.0, form=lambda v: number(v, 2)),
            _y_axis(
                tr("{measure} over {queries}, higher is better", measure=name, queries=queries_title(sweep)), series
            ),
        )
        self.chart.set_series(series)
        drawn = any(len(one.x) for one in series if not one.reference)
        self.chart.set_note("" if drawn else before.text() if sweep.complete else tr("being worked out"))
        self.chart.setToolTip(plain_tip(sweep.how))
        self._show_alpha()

    def _show_alpha(self) -> None:
        """All that alpha moves."""
        assert self.sweep is not None
        name, rows = self.measure.value(), self.rows
        front = rows[0] if rows and rows[0].weights == self.weights else None
        value = measured(front, name, self.alpha) if front is not None else Measure.none(tr("not tried"))
        told = [Value(r.weights, weights_title(r.weights), measured(r, name, self.alpha)) for r in rows]
        told.append(Value(COSINE, tr("cosine only"), self.sweep.before[name]))
        self.values.show_values(told, chosen=self.weights, dashes=self._dashes)
        running = "" if self.sweep.complete else tr("still running") if self._busy else tr("stopped before the end")
        self.chart.aside = " · ".join(part for part in (running, self._step_words(front)) if part)
        narrow = self.values.isHidden()
        words = (alpha_title(self.alpha), value.text(3)) if narrow else ("", "")
        self.chart.said = f"{alpha_title(self.alpha)}, {weights_title(self.weights)} {value.text(3)}"
        self.chart.dot = None
        if front is not None:
            x, y, *_ = curve(front, name)
            self.chart.dot = float(np.interp(self.alpha, x, y)) if len(x) else None
        self.chart.set_decision(None if self.alpha < 0 else self.alpha, *words, step=STEP)

    def _step_words(self, row: SweepRow | None) -> str:
        """At which alpha the values are, where that is not the one of the line."""
        place = nearest(row, self.alpha) if row is not None else None
        if row is None or place is None or abs(row.alphas[place] - self.alpha) < STEP / 2:
            return ""
        return tr("values at {alpha}", alpha=alpha_title(row.alphas[place]))

    def _card(self, mark: Mark) -> Sequence[str]:
        row = next(row for row in self.rows if row.weights == mark.key)
        name = self.measure.value()
        known = [place for place, alpha in enumerate(row.alphas) if alpha >= 0 and row.measures[name][place].defined]
        place = sorted(known, key=lambda i: row.alphas[i])[mark.index]
        value = row.measures[name][place]
        return weights_title(row.weights), alpha_title(row.alphas[place]), f"{name} {value.text(3)}"

    # What the user does

    def _on_moved(self, alpha: float) -> None:
        self.set_alpha(alpha)
        self.alpha_moved.emit(alpha)

    def _choose(self, weights: str) -> None:
        self.chart.set_ring(None)
        if weights in (COSINE, self.weights):
            return
        self.weights_chosen.emit(weights)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        narrow = event.size().width() < NARROW
        if narrow != self.values.isHidden():
            self.values.setHidden(narrow)
            if self.sweep is not None:
                self._show_alpha()


class AlphaChart(Chart):
    """Curves over alpha; the line stands at hundredths."""

    dot: float | None = None  # the value of the chosen weights at the line
    said = ""  # the same in words

    def __init__(self) -> None:
        super().__init__(Axis("", low=0.0, high=1.0), Axis(""), name=tr("Sweep over alpha"), brush=False)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton and self.decision is not None:
            self._move_line(ALPHA)
            self._settle()
        event.accept()

    def _move_line(self, place: float) -> None:
        super()._move_line(round(min(max(place, 0.0), 1.0) / STEP) * STEP)

    def _ticks(self, axis: Axis, low: float, high: float, room: int) -> list[tuple[float, str]]:
        return super()._ticks(axis, low, high, max(room, 4) if axis is self.y_axis else room)  # a low chart has few

    def _paint_operating_points(self, painter: QPainter) -> None:
        super()._paint_operating_points(painter)
        line = self._line_px()
        if line is not None and self.dot is not None:
            now = theme.current()
            painter.setPen(QPen(now.q("base"), 1.6))
            painter.setBrush(now.q("text"))
            painter.drawEllipse(QPointF(line, float(self._py(self.dot))), 5.2, 5.2)

    def _spoken(self) -> str:
        parts = [self._note, self.y_axis.title, self.x_axis.title, self.aside, self.said]
        return ". ".join(part for part in parts if part) + "."


class Value(NamedTuple):
    """A line of the values: whose it is, and the measure."""

    key: str
    name: str
    measure: Measure


class Values(QWidget):
    """What each way to weigh patches reaches at the line, beside a piece of its curve; a click chooses it."""

    chosen = Signal(str)

    ONE, TWO = 17, 32  # px of a value in one line, and in two; the chosen one always has two
    TOP = 10

    def __init__(self) -> None:
        super().__init__()
        self._values: list[Value] = []
        self._dashes: dict[str, tuple[float, ...]] = {}
        self._chosen = ""
        self._under = -1
        self.setFixedWidth(VALUES)
        self.setMouseTracking(True)
        self.setAccessibleName(tr("Values at the line"))
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Expanding)

    def show_values(self, values: list[Value], *, chosen: str, dashes: dict[str, tuple[float, ...]]) -> None:
        """Other values, the chosen one first."""
        self._values, self._chosen, self._dashes = values, chosen, dashes
        self.setAccessibleDescription(". ".join(f"{one.name} {one.measure.text(3)}" for one in values))
        self.update()

    @property
    def pitch(self) -> int:
        """Of those that are not chosen: two lines where there is room."""
        return self.TWO if self.TOP + len(self._values) * self.TWO <= self.height() else self.ONE

    def top(self, place: int) -> float:
        """Where a value begins."""
        return self.TOP + (place and self.TWO + (place - 1) * self.pitch)

    def at(self, y: float) -> int:
        """The value at a height, -1: none."""
        return next((i for i in range(len(self._values)) if self.top(i) <= y < self.top(i + 1)), -1)

    def paintEvent(self, event: QPaintEvent) -> None:
        now, painter = theme.current(), QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        names = max((text_width(one.name, 11) for one in self._values), default=0.0)
        for place, one in enumerate(self._values):
            top, first = self.top(place), one.key == self._chosen
            ink = "accent" if first else "text" if place == self._under and self._taps(place) else "text2"
            self._paint_sample(painter, now, one.key, top + 8)
            draw_text(painter, QRectF(LEFT, top, self.width() - LEFT, 16), one.name, ink, 11, bold=first)
            text, shade = one.measure.text(3), "text" if first else "text2"
            if place == 0 or self.pitch == self.TWO:
                draw_text(painter, QRectF(LEFT, top + 15, self.width() - LEFT - 4, 14), text, shade, 10)
            else:
                value = number(one.measure.value) if one.measure.defined and one.measure.value is not None else text
                rest = QRectF(LEFT + names + 10, top, self.width() - LEFT - names - 14, 16)
                draw_text(painter, rest, value, shade, 10)

    def _taps(self, place: int) -> bool:
        return place >= 0 and self._values[place].key not in (COSINE, self._chosen)

    def _paint_sample(self, painter: QPainter, now: theme.Theme, key: str, y: float) -> None:
        first = key == self._chosen
        pen = QPen(now.q("accent" if first else "text2"), 2.2 if first else 1.4)
        pen.setCapStyle(Qt.PenCapStyle.FlatCap)
        if not first:
            pen.setDashPattern(DOTTED if key == COSINE else self._dashes.get(key, DASHES[0]))
        painter.setPen(pen)
        painter.drawLine(QPointF(2, y), QPointF(LEFT - 6, y))

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        under = self.at(event.position().y())
        self.setCursor(Qt.CursorShape.PointingHandCursor if self._taps(under) else Qt.CursorShape.ArrowCursor)
        if under != self._under:
            self._under = under
            one = self._values[under] if under >= 0 else None
            self.setToolTip(plain_tip(f"{one.name} {one.measure.text(3)}") if one is not None else "")
            self.update()

    def leaveEvent(self, event: QEvent) -> None:
        self._under = -1
        self.update()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        place = self.at(event.position().y())
        if event.button() == Qt.MouseButton.LeftButton and self._taps(place):
            self.chosen.emit(self._values[place].key)


def _y_axis(title: str, series: Sequence[Series]) -> Axis:
    """Room for all curves and the band of the chosen one."""
    known = [one.y for one in series]
    known += [edge for one in series if one.band is not None for edge in (one.band.low, one.band.high)]
    values = np.concatenate(known) if known else np.zeros(0)
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)
    spare = max(0.06 * (high - low), 0.004)
    return Axis(title, low=max(0.0, low - spare), high=min(1.0, high + spare), form=number)
