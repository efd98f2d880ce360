"""Verification on the evaluation page: ROC and DET, scores, and what hangs on the operating point they share.

Drag the point on the ROC or the threshold on the scores, or click a row: all follow, by looking it up in the scores
that are there. A click on a curve, a bin or a cell asks for the pairs behind it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QMenu, QToolButton, QVBoxLayout, QWidget

from facelens.analyses.measure import Measure, rate
from facelens.figures import charts
from facelens.session import listing
from facelens.session.listing import Listing
from facelens.session.workspace import Operating
from facelens.views.controls import Combo, tool_button
from facelens.views.frame import Frame, Places, fill, lay_out, offer_figure, split
from facelens.views.plots import Axis, Band, Bars, Chart, Point, Series, Zone
from facelens.views.points import ConfusableTable, PointsTable, SliceTable, SummaryTable, ThresholdBench
from facelens.views.standpoint import Side, Standpoint, figures
from facelens.words import number, tr

SNAP = 0.02  # decades from a row at which the line jumps to it
MORE_FARS = (0.1, 0.05, 0.02, 0.01, 5e-3, 2e-3, 1e-3, 5e-4, 1e-4, 1e-5, 1e-6, 1e-7)
LOW = 560  # px; under this height the scores share the place of the tables
ROWS = (262, 216, 236)  # heights of the three rows
TIGHT = 760  # px; under this width buttons of the tables show their icon only
SLIM = 620  # px; under this width the two curves share one place


class VerificationPage(QWidget):
    """See the module's words."""

    listed = Signal(object, object)  # Callable[[], Listing] to ask (again), widget that asked
    operated = Signal(object, bool)  # Operating, whether it is settled
    fars_chosen = Signal(object)  # tuple of target FARs
    asked = Signal(str)  # an action's id
    drawn = Signal(str)  # a chart that is to be written to a file

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.view: Standpoint | None = None
        self._wanted = ""  # the model the user has chosen; until then it is the newest
        self._build_charts()
        self._build_tables()
        self._build()

    # -- building

    def _build_charts(self) -> None:
        self.roc = Chart(
            Axis(tr("FAR (log), lower is stricter"), scale="log", low=1e-6, high=1.0),
            Axis(tr("TAR, higher is better"), low=0.0, high=1.0),
            name=tr("ROC"),
        )
        self.roc.setToolTip(tr("Drag the line, or arrow keys: the operating point. Click a curve for its errors."))
        self.roc.moved.connect(lambda far: self._on_far(far, False))
        self.roc.settled.connect(lambda far: self._on_far(far, True))
        self.roc.picked.connect(self._on_picked)
        share = Axis(tr("false match rate (normal deviate)"), scale="deviate", low=1e-4, high=0.4, grid=True)
        self.det = Chart(
            share,
            Axis(tr("false non-match rate, lower is better"), scale="deviate", low=1e-3, high=0.4),
            name=tr("DET"),
        )
        self.det.setToolTip(tr("Both error rates on normal-deviate axes. Click a curve for its errors."))
        self.det.picked.connect(self._on_picked)
        self.scores = Chart(
            Axis(tr("cosine, higher = more alike"), low=-1.0, high=1.0),
            Axis(tr("share of pairs"), low=0.0, high=1.0),
            name=tr("Scores"),
        )
        self.scores.setToolTip(
            tr("Pairs at or above this threshold are accepted. Drag, or arrow keys; brush bins for their pairs.")
        )
        self.scores.moved.connect(lambda t: self._on_threshold(t, False))
        self.scores.settled.connect(lambda t: self._on_threshold(t, True))
        self.scores.bin_picked.connect(self._on_bin)
        self.scores.brushed.connect(self._on_brush)
        self.model = Combo()
        self.model.setToolTip(tr("Whose scores are drawn; tables of one model follow"))
        self.model.setAccessibleName(tr("Model of the scores"))
        self.model.setFixedHeight(22)
        self.model.activated.connect(lambda _: self._on_model())
        self.roc_frame = Frame(tr("ROC"), self.roc, tr("click a point for its pairs"))
        self.det_frame = Frame(tr("DET"), self.det)
        self.scores_frame = Frame(tr("Scores"), self.scores, tr("drag the line, brush bins"))
        self.scores_frame.header.add(self.model)
        for frame, chart, name in (
            (self.roc_frame, self.roc, "roc"),
            (self.det_frame, self.det, "det"),
            (self.scores_frame, self.scores, "scores"),
        ):
            offer_figure(frame, chart, self._draws(name))

    def _draws(self, name: str) -> Callable[[], None]:
        return lambda: self.drawn.emit(name)

    def _build_tables(self) -> None:
        self.points, self.summary = PointsTable(), SummaryTable()
        self.slices, self.confusable = SliceTable(), ConfusableTable()
        self.bench = ThresholdBench()
        for table in (self.points, self.summary, self.slices, self.confusable):
            table.listed.connect(lambda ask, table=table: self._list(ask, table))
        self.bench.listed.connect(lambda ask: self._list(ask, self.bench.table))
        self.bench.asked.connect(self.asked)
        for chooser in (self.points, self.bench):
            chooser.operated.connect(lambda operating: self.operated.emit(operating, True))
        self.score_place = QWidget()  # the scores move in here where the page is low
        inner = QVBoxLayout(self.score_place)
        inner.setContentsMargins(0, 0, 0, 0)
        self.places = Places(
            [
                ("scores", tr("Scores"), tr("The scores of one model, with the threshold"), self.score_place),
                ("points", tr("Points"), tr("TAR at each target FAR"), self.points),
                ("summary", tr("Summary"), tr("EER, AUC, d′, FMR100, FMR1000, accuracy"), self.summary),
                ("slices", tr("Breakdown"), tr("The same for each value of a column"), self.slices),
                ("confusable", tr("Confusable"), tr("Identities that look alike to the model"), self.confusable),
                (
                    "threshold",
                    tr("Threshold"),
                    tr("Choose a target FAR, carry a threshold, export a policy"),
                    self.bench,
                ),
            ],
            label=tr("Tables"),
        )
        self.places.changed.connect(lambda _: self._show_table())
        self.latex = tool_button("copy", tr("Copy the table as LaTeX"), text=tr("LaTeX"), size=14)
        self.latex.clicked.connect(lambda: self.asked.emit("evaluate.latex"))
        self.add_far = tool_button("plus", tr("Add a target FAR, or take one out"), text=tr("FAR"), size=14)
        self.add_far.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        menu = QMenu(self.add_far)
        menu.aboutToShow.connect(lambda: self._fill_fars(menu))
        self.add_far.setMenu(menu)
        for button in (self.latex, self.add_far):
            button.setFixedHeight(22)
            self.places.header.add(button)

    def _build(self) -> None:
        self.curves, self.rows = split(Qt.Orientation.Horizontal), split(Qt.Orientation.Vertical)
        lay_out(self, body=self.rows)
        fill(self.rows, self.curves, self.scores_frame, self.places, sizes=ROWS)
        fill(self.curves, self.roc_frame, self.det_frame, sizes=(1, 1))
        self.slim = Combo()
        self.slim.addItems([tr("ROC"), tr("DET")])
        self.slim.setAccessibleName(tr("Curve"))
        self.slim.setToolTip(tr("Which of the two curves is shown; widen the page to see both"))
        self.slim.setFixedHeight(22)
        self.slim.activated.connect(lambda _: self._arrange())
        self.roc_frame.header.add(self.slim)
        self.low: bool | None = None
        self._arrange()
        self.places.show_key("points")

    def switch_shows(self, key: str) -> bool:
        """Whether a table can be chosen now; the scores only where they have no row of their own."""
        return self.places.switch.offers(key)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()

    def _arrange(self) -> None:
        """Two rows instead of three where the page is low, one curve instead of two where it is narrow."""
        narrow, low = self.width() < SLIM, self.height() < LOW
        holder = self.det_frame if narrow and self.slim.currentIndex() == 1 else self.roc_frame
        if self.slim.parentWidget() is not holder.header:
            holder.header.add(self.slim)
        self.slim.setVisible(narrow)
        style = (
            Qt.ToolButtonStyle.ToolButtonIconOnly
            if self.width() < TIGHT
            else Qt.ToolButtonStyle.ToolButtonTextBesideIcon
        )
        for button in (self.latex, self.add_far):
            button.setToolButtonStyle(style)
        self.roc_frame.setVisible(not narrow or self.slim.currentIndex() == 0)
        self.det_frame.setVisible(not narrow or self.slim.currentIndex() == 1)
        if low == self.low:
            return
        self.low = low
        if low:
            layout = self.score_place.layout()
            assert layout is not None
            layout.addWidget(self.scores)
            self.places.header.add(self.model)
            self.scores_frame.hide()
        else:
            body = self.scores_frame.layout()
            assert body is not None
            body.addWidget(self.scores)
            self.scores_frame.header.insert(self.model)
            self.scores_frame.show()
        self.scores.show()
        self.places.offer("scores", low)
        self.rows.setSizes([*ROWS] if not low else [240, 0, 220])
        self._show_head()

    # -- what the user sees

    def show_evaluation(self, view: Standpoint) -> None:
        """Draw everything anew."""
        with QSignalBlocker(self.model):
            self.model.clear()
            for side in view.sides:
                self.model.addItem(tr("model {letter}", letter=side.letter), side.letter)
            place = self.model.findData(self._wanted)
            self.model.setCurrentIndex(place if place >= 0 else self.model.count() - 1)
        self.view = replace(view, chosen=self.model.currentData() or "")
        self._draw_roc(self.view)
        self._draw_det(self.view)
        self._draw_scores(self.view)
        self.summary.show_view(self.view)
        self.confusable.show_view(self.view)
        self.show_operating(view.operating)

    def show_operating(self, operating: Operating) -> None:
        """Let everything follow the shared operating point; nothing is worked out anew."""
        if self.view is None:
            return
        self.view = view = self.view.at(operating)
        self._show_line(view)
        self._show_table()

    def _show_table(self) -> None:
        """Fill the table that is seen; the others follow when they are."""
        if self.view is not None:
            tables: dict[str, PointsTable | SliceTable | ThresholdBench]
            tables = {"points": self.points, "slices": self.slices, "threshold": self.bench}
            shown = tables.get(self.places.key)
            if shown is not None:
                shown.show_view(self.view)
        self._show_head()

    # -- curves

    def _draw_roc(self, view: Standpoint) -> None:
        limits = charts.roc_limits(view.evaluation)
        series = []
        for side in view.sides:
            curve, keep = side.verification.curve, side.drawn
            head = _head("AUC", side.verification.auc)
            series.append(self._series(view, side, curve.far[keep], curve.tar[keep], headline=head))
        self.roc.set_axes(
            Axis(tr("FAR (log), lower is stricter"), scale="log", low=limits.x[0], high=limits.x[1]),
            Axis(tr("TAR, higher is better"), low=limits.y[0], high=limits.y[1]),
        )
        self.roc.set_series(series)
        self.roc.set_zones(
            [Zone(limits.x[0], limits.support, tr("no support"))] if limits.support > limits.x[0] else []
        )
        self.roc.set_note(_why(view) if not any(len(one.x) for one in series) else "")

    def _draw_det(self, view: Standpoint) -> None:
        limits = charts.det_limits(view.evaluation)
        series, points = [], []
        for side in view.sides:
            curve, keep, eer = side.verification.curve, side.drawn, side.verification.eer
            head = _head("EER", eer)
            series.append(self._series(view, side, curve.far[keep], 1 - curve.tar[keep], headline=head, flipped=True))
            if eer.value is not None and len(keep):
                points.append(Point(side.letter, eer.value, eer.value))
        diagonal = np.array([1e-6, 1 - 1e-6])
        reference = [Series("eer", diagonal, diagonal, reference=True, name=tr("EER"), label_at=0.86)] if points else []
        self.det.set_axes(
            Axis(
                tr("false match rate (normal deviate)"), scale="deviate", low=limits.x[0], high=limits.x[1], grid=True
            ),
            Axis(tr("false non-match rate, lower is better"), scale="deviate", low=limits.y[0], high=limits.y[1]),
        )
        self.det.set_series([*reference, *series])
        self.det.set_points(points)
        self.det.set_note(_why(view) if not any(len(one.x) for one in series) else "")

    def _series(
        self,
        view: Standpoint,
        side: Side,
        x: NDArray[np.float64],
        y: NDArray[np.float64],
        *,
        headline: str,
        flipped: bool = False,
    ) -> Series:
        curve = side.verification.curve
        low, high = curve.tar_low[side.drawn], curve.tar_high[side.drawn]
        band = Band(1 - high, 1 - low) if flipped else Band(low, high)
        return Series(side.letter, x, y, side=side.letter, name=view.names[side.letter], headline=headline, band=band)

    def _draw_scores(self, view: Standpoint) -> None:
        side = view.side
        if side is None:
            self.scores.set_bars([])
            self.scores.set_note(tr("No pair could be compared"))
            return
        found = side.verification.histogram
        self.scores.set_axes(
            Axis(
                tr("cosine, {name}, higher = more alike", name=view.names[side.letter]),
                low=float(found.edges[0]) if len(found.edges) else -1.0,
                high=float(found.edges[-1]) if len(found.edges) else 1.0,
            ),
            Axis(tr("share of pairs"), low=0.0, high=1.0),
        )
        bars = [
            Bars(
                "impostor",
                found.edges,
                found.impostor,
                colour="bad",
                hatched=True,
                name=tr("impostor"),
                headline=tr("N = {n}", n=side.verification.n_impostor),
            ),
            Bars(
                "genuine",
                found.edges,
                found.genuine,
                colour="good",
                name=tr("genuine"),
                headline=tr("N = {n}", n=side.verification.n_genuine),
            ),
        ]
        there = [bar for bar in bars if len(bar.counts) and np.asarray(bar.counts).sum()]
        self.scores.set_bars(there, scaled=True)
        self.scores.set_brush(None)
        self.scores.set_note("" if there else tr("No pair could be compared"))

    def _show_line(self, view: Standpoint) -> None:
        far = view.operating.far
        measures = {side.letter: view.tar(side, None) for side in view.sides}
        self.roc.set_decision(far if any(tar.value is not None for tar in measures.values()) else None, step=0.05)
        # Where a rate has no support the line stands, but no number is drawn.
        self.roc.set_points([Point(k, far, tar.value or 0.0) for k, tar in measures.items() if tar.defined])
        here = view.standing(view.chosen)
        if here is None or here.threshold is None:
            self.scores.set_decision(None)
            return
        misses = tr("FRR {v}", v=number(1 - here.tar, 4)) if here.tar is not None else tr("no genuine pair")
        meaning = tr("FAR {far} · {misses}", far=figures(here.far), misses=misses)
        self.scores.set_decision(here.threshold, tr("threshold {t}", t=number(here.threshold, 3)), meaning, step=0.005)

    # -- the operating point moves

    def _on_far(self, far: float, settled: bool) -> None:
        targets = self.view.targets if self.view is not None else ()
        near = min(targets, key=lambda target: abs(np.log(target / far)), default=None)
        # The line snaps to a row it comes close to; between rows it stands anywhere.
        if near is not None and abs(np.log10(near / far)) < SNAP:
            far = near
        self.operated.emit(Operating(far), settled)

    def _on_threshold(self, threshold: float, settled: bool) -> None:
        side = self.view.side if self.view is not None else None
        here = listing.standing(side.report, 0.0, threshold=threshold) if side is not None else None
        if side is not None and here is not None:
            least = 1 / max(side.verification.n_impostor, 1)  # a FAR of 0 has no place on a log axis
            self.operated.emit(Operating(max(here.far, least), threshold, side.letter.lower()), settled)

    def _on_model(self) -> None:
        self._wanted = self.model.currentData() or ""
        if self.view is not None:
            self.view = replace(self.view, chosen=self._wanted)
            self._draw_scores(self.view)
            self.confusable.show_view(self.view)
            self.show_operating(self.view.operating)

    # -- taps on charts

    def _on_picked(self, letter: str, index: int) -> None:
        side = self.view.side_of(letter) if self.view is not None else None
        if side is None or index >= len(side.drawn):
            return
        curve, at = side.verification.curve, int(side.drawn[index])
        self.operated.emit(Operating(float(curve.far[at]), float(curve.threshold[at]), letter.lower()), True)
        self._list(lambda now: now.errors(letter), self.sender())

    def _on_bin(self, key: str, low: float, high: float) -> None:
        self.scores.set_brush(None)
        self._list(lambda now: now.in_range(low, high, genuine=key == "genuine"), self.scores)

    def _on_brush(self, low: float, high: float) -> None:
        self._list(lambda now: now.in_range(low, high), self.scores)

    def _list(self, ask: Callable[[Standpoint], Listing], who: object) -> None:
        self.listed.emit(lambda: ask(self.view) if self.view is not None else listing.nothing(), who)

    def _fill_fars(self, menu: QMenu) -> None:
        menu.clear()
        if self.view is None:
            return
        now = self.view.targets

        def offer(words: str, fars: tuple[float, ...]) -> None:
            menu.addAction(words).triggered.connect(lambda: self.fars_chosen.emit(fars))

        if self.view.live is not None:
            here = float(f"{self.view.live:.1e}")
            if here not in now:
                offer(tr("Add {far}, where the line is", far=rate(here)), tuple(sorted({*now, here}, reverse=True)))
        for far in MORE_FARS:
            if far not in now:
                offer(tr("Add {far}", far=rate(far)), tuple(sorted({*now, far}, reverse=True)))
        menu.addSeparator()
        for far in now if len(now) > 1 else ():
            offer(tr("Take out {far}", far=rate(far)), tuple(t for t in now if t != far))

    # -- the head of the tables

    def _show_head(self) -> None:
        key = self.places.key
        self.latex.setVisible(key == "points")
        self.add_far.setVisible(key == "points")
        self.model.setVisible(key == "scores" or not self.low)
        self.places.header.set_subtitle(self._subtitle(key))

    def _subtitle(self, key: str) -> str:
        view = self.view
        if view is None or not view.sides:
            return ""
        found, target = view.sides[-1].verification, view.nearest_target
        if key in ("points", "summary"):
            pairs = tr("{g} genuine, {i} impostor pairs", g=found.n_genuine, i=found.n_impostor)
            better = tr("TAR: higher is better") if key == "points" else tr("EER, FMR: lower is better, others higher")
            return f"{pairs} · {better}"
        if key == "slices" and target is not None:
            return tr("at the threshold of FAR {far}", far=rate(target))
        if key == "confusable":
            return tr("model {letter}, most false matches first", letter=view.chosen)
        return tr("drag the line, brush bins") if key == "scores" else ""


# -- words and numbers


def _head(what: str, measure: Measure) -> str:
    return f"{what} {measure.text()}" if measure.defined else tr("{what} n/a", what=what)


def _why(view: Standpoint) -> str:
    """Why there is no curve, in one sentence."""
    for side in view.sides:
        for measure in (side.verification.eer, side.verification.auc):
            if not measure.defined and measure.why:
                return measure.text()
    return tr("No pair could be compared")
