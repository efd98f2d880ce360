"""Members: who is in the ensemble, who disagrees about the current face, and what each further member brings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QScrollArea, QVBoxLayout, QWidget

from facelens.analyses.measure import Measure, rate
from facelens.analyses.uncertainty import Member, Size, Uncertainty
from facelens.figures.ensembles import DIVERSITY, best_of, size_range, together_words
from facelens.session.selection import Selection
from facelens.views import theme
from facelens.views.controls import Segmented, label
from facelens.views.curves import dash, shade
from facelens.views.disagreement import Disagreement
from facelens.views.frame import Places, split
from facelens.views.panel import Desk
from facelens.views.plots import Axis, Band, Chart, Mark, Point, Series
from facelens.views.tables import Cell, Column, ResultTable, measure_cell, reason_row
from facelens.words import escaped, plural, tr

SLIM = 560  # px; under this width the face stands over the tables
FACE = 0.38  # of the width for the face
MAPPED = {
    "itself": "the target",
    "ridge": "ridge",
    "procrustes": "Procrustes",
    "rbt": "RBT",
    "linear": "a matrix, trained",
    "file": "from a file",
}


class MembersPage(QWidget):
    """See the module's words. Nothing is emitted by `show_*` and `set_*`."""

    select = Signal(object, object)  # ids, Mode: faces on which a member is as far away

    def __init__(self, desk: Desk, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.found: Uncertainty | None = None
        self._values: dict[str, list[tuple[Size, Measure]]] = {}  # of each curve
        self.face = Disagreement(desk)
        self.face.select.connect(self.select)
        area = QScrollArea()
        area.setWidgetResizable(True)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        area.setAccessibleName(tr("Current face"))
        area.setWidget(self.face)
        self.members = ResultTable(tr("Members of the ensemble"))
        self.warning = label(name="small", wrap=True)
        self.warning.setContentsMargins(8, 4, 8, 6)
        who = QWidget()
        column = QVBoxLayout(who)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.members, 1)
        column.addWidget(self.warning)
        self.sizes = Chart(Axis(tr("members")), Axis(tr("accuracy")), name=tr("Accuracy by members"), brush=False)
        self.sizes.describe = self._card
        self.updates = ResultTable(tr("Query update"))
        self.places = Places(
            [
                ("members", tr("Members"), tr("Each member by itself, and all of them together"), who),
                ("sizes", tr("How many"), tr("Accuracy against the number of members"), self.sizes),
                ("update", tr("Query update"), tr("Before and after another query model"), self.updates),
            ],
            label=tr("About the members"),
        )
        self.places.offer("update", False)
        self.places.changed.connect(lambda _: self._show_header())
        self.task = Segmented([("1:1", "1:1"), ("1:N", "1:N")], label=tr("Kind of test"), height=22)
        self.task.button("1:1").setToolTip(tr("TAR of pairs of pictures"))
        self.task.button("1:N").setToolTip(tr("TPIR of searches among templates"))
        self.task.changed.connect(lambda _: self._draw_sizes())
        self.places.header.add(self.task)
        self.parts = split(Qt.Orientation.Horizontal, area, self.places)
        self.parts.splitterMoved.connect(self._on_divided)
        self._divided = False  # by the user, who keeps what he has set
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(self.parts)
        theme.follow(self, self._draw_sizes)
        self.show_uncertainty(None)

    # What is shown

    def show_uncertainty(self, found: Uncertainty | None) -> None:
        """Another ensemble, or more of the same."""
        self.found = found
        self.face.show_uncertainty(found)
        self._fill_members()
        self._draw_sizes()
        self._show_header()

    def set_selection(self, selection: Selection) -> None:
        """Look at the current face."""
        if selection.current != self.face.face:
            self.face.set_face(selection.current)

    def set_limit(self, value: float | None) -> None:
        """Faces above it are refused; None or infinite: nobody is."""
        self.face.set_limit(value)

    def show_update(self, rows: Sequence[tuple[str, Measure, Measure]], *, old: str = "", new: str = "") -> None:
        """What another query model changes: what is measured, before, after. No rows take the table away."""
        columns = [
            Column(tr("measure"), align="left", share=0.4),
            Column(escaped(old) or tr("before"), tr("The query model until now")),
            Column(escaped(new) or tr("after"), tr("The new query model; stored vectors are mapped into its space")),
        ]
        self.updates.fill(columns, [[Cell(what), measure_cell(a), measure_cell(b)] for what, a, b in rows])
        self.places.offer("update", bool(rows))
        if rows:
            self.places.show_key("update")

    def _show_header(self) -> None:
        key, found = self.places.key, self.found
        self.task.setVisible(key == "sizes")
        risk = found.verification if found is not None else None
        if key == "members":
            words = tr("TAR @ FAR {far}, higher is better", far=rate(risk.rate)) if risk is not None else ""
        elif key == "sizes":
            words = tr("mean of all choices, 95 % intervals") if found is not None and found.sizes else ""
        else:
            words = tr("stored vectors mapped anew")
        self.places.header.set_subtitle(words)

    # Members

    def _fill_members(self) -> None:
        columns = (
            Column(tr("member"), align="left", share=1.2),
            Column(tr("network"), align="left", share=0.6, spare=True),
            Column(tr("dimensions"), share=0.2, spare=True),
            Column(tr("mapped"), tr("How its vectors come into the common space"), align="left", share=0.5),
            Column(tr("before mapping"), tr("TAR against the query model as it is; chance, where spaces differ")),
            Column(tr("alone"), tr("TAR of the member by itself, mapped")),
        )
        found = self.found
        if found is None:
            self.members.fill(columns, [reason_row(tr("no ensemble yet"), len(columns))])
            self.members.mark(-1)
            self.warning.hide()
            return
        best = best_of(found)
        rows = [self._row(one, best=i == best) for i, one in enumerate(found.members)]
        count = tr("mean of {n}", n=len(found.members))
        tip = tr("Vectors of different models cannot be averaged before they are mapped.")
        together = measure_cell(found.together)
        rows.append(
            [
                Cell(tr("together"), bold=True, tip=tr("The mean of all members; nothing is refused")),
                Cell(),
                Cell(),
                Cell(count, colour="text2"),
                Cell(tr("not possible"), colour="text3", tip=tip),
                replace(together, bold=not together.why),
            ]
        )
        self.members.fill(columns, rows)
        self.members.mark(best if best is not None else -1)
        self.warning.setText(together_words(found))
        self.warning.setVisible(bool(self.warning.text()))

    def _row(self, one: Member, *, best: bool) -> list[Cell]:
        name = escaped(one.name)
        own = one.how == "itself"
        mapped = tr(MAPPED[one.how]) if one.how in MAPPED else one.how
        raw = Cell(tr("as alone"), colour="text3") if own else _cell(one.raw)
        sizes = {other.dimensions for other in self.found.members if other.how == "itself"} if self.found else set()
        if raw.why and sizes and one.dimensions not in sizes:  # short enough for its column; all of it is in the tip
            raw = replace(raw, text=tr("n/a: other dimensions"))
        return [
            Cell(tr("{name} · best alone", name=name) if best else name, tip=name),
            Cell(escaped(one.network) or tr("not known"), colour="text2" if one.network else "text3"),
            Cell(f"{one.dimensions:,}", colour="text2"),
            Cell(mapped, colour="text2", tip=one.why),
            raw,
            _cell(one.alone),
        ]

    # How many

    def _draw_sizes(self) -> None:
        found, one_to_one = self.found, self.task.value() == "1:1"
        sizes = found.sizes if found is not None else ()
        series, points, self._values = [], [], {}
        for place, (key, words) in enumerate(DIVERSITY.items()):
            mine = sorted((one for one in sizes if one.diversity == key), key=lambda one: one.members)
            measures = [(one, one.verification if one_to_one else one.identification) for one in mine]
            measures = [(one, measure) for one, measure in measures if measure.defined]
            if not measures:
                continue
            x = np.array([one.members for one, _ in measures], np.float64)
            y = np.array([measure.value for _, measure in measures], np.float64)
            ends = [
                (m.low, m.high) if m.low is not None and m.high is not None else (m.value,) * 2 for _, m in measures
            ]
            band = Band(*np.array(ends, np.float64).T)
            self._values[key] = measures
            series.append(
                Series(key, x, y, name=tr(words), band=band, colour=shade(place), dash=dash(place), width=1.8)
            )
            points += [Point(key, float(a), float(b)) for a, b in zip(x, y)]
        what = tr("TAR, higher is better") if one_to_one else tr("TPIR, higher is better")
        most = max((int(one.members) for one in sizes), default=2)
        ticks = tuple(float(n) for n in range(1, most + 1))
        x_axis = Axis(tr("members of the ensemble"), low=0.8, high=most + 0.2, ticks=ticks, form=lambda n: f"{n:.0f}")
        low, high = size_range([measure for mine in self._values.values() for _, measure in mine])
        self.sizes.set_axes(x_axis, Axis(what, low=low, high=high))
        self.sizes.set_series(series)
        self.sizes.set_points(points)
        self.sizes.set_note("" if series else self._why_no_sizes())

    def _why_no_sizes(self) -> str:
        if self.found is None or len(self.found.members) < 2:
            return tr("Needs an ensemble of two members or more.")
        return tr(
            "Worked out last: every choice of members is an ensemble of its own. It needs people with two pictures."
        )

    def _card(self, mark: Mark) -> Sequence[str]:
        size, measure = self._values[mark.key][mark.index]
        count = plural(size.members, "{n} member", "{n} members")
        choices = plural(size.choices, "one choice", "mean over {n} choices")
        return f"{mark.key} · {count}", measure.text(3), choices

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        across = Qt.Orientation.Vertical if event.size().width() < SLIM else Qt.Orientation.Horizontal
        if across != self.parts.orientation() or not self._divided:
            self.parts.setOrientation(across)
            self.parts.setSizes([round(1000 * FACE), round(1000 * (1 - FACE))])
            self._divided = False

    def _on_divided(self) -> None:
        self._divided = True


def _cell(measure: Measure) -> Cell:
    if measure.value is None and not measure.why:
        return Cell(tr("not worked out"), colour="text3")
    return measure_cell(measure)
