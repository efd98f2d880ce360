"""Retrieval on the evaluation page: means with intervals, and every query behind them, the worst first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QComboBox, QVBoxLayout, QWidget

from facelens.analyses.evaluation import Evaluation, Report
from facelens.analyses.measure import Measure
from facelens.analyses.retrieval import Queries, Retrieval
from facelens.images.faceset import FaceSet
from facelens.images.protocol import Templates
from facelens.session import listing
from facelens.session.listing import Listing
from facelens.views.controls import Combo
from facelens.views.frame import Frame, split
from facelens.views.tables import Cell, Column, ResultTable, difference_cell, measure_cell, reason_row
from facelens.words import number, plural, tr

HEADER = 30  # px, over a table
KEPT = 500  # rows of a table that are not made again
MOST = 0.6  # of the page, for the means
MEANINGS = {
    "P@1": "Share of queries whose nearest picture shows the same person",
    "RP": "Share of right pictures among the first R, where R is how many there are",
    "MAP@R": "Like RP, and right pictures count more the earlier they come",
    "mAP": "Mean precision at each right picture",
    "mINP": "How early the last right picture comes",
    "MRR": "One over the rank of the first right picture",
    "NMI": "How well groups found without names agree with the names; 0 to 1",
    "ARI": "Share of pairs that groups and names agree on; chance counts as 0",
}


class _Lines(Sequence[Sequence[Cell]]):
    """Rows that are made when they are painted: a table of a hundred thousand queries costs nothing to fill."""

    def __init__(self, page: RetrievalPage, queries: Queries, order: NDArray[np.int64], shown: Sequence[str]) -> None:
        self.page, self.queries, self.order, self.shown = page, queries, order, shown
        self.values = [listing.query_values(queries, name) for name in shown]
        self._made: dict[int, list[Cell]] = {}
        self._faces = page.faces

    def __len__(self) -> int:
        return len(self.order)

    def __getitem__(self, place):  # type: ignore[no-untyped-def]
        if isinstance(place, slice):
            return [self[i] for i in range(*place.indices(len(self)))]
        if len(self._made) >= KEPT or self._faces is not self.page.faces:
            self._made, self._faces = {}, self.page.faces
        if place not in self._made:  # every cell that is painted asks for its row
            self._made[place] = self._make(place)
        return self._made[place]

    def _make(self, place: int) -> list[Cell]:
        row = int(self.order[place])
        queries = self.queries
        cells = [Cell(self.page.label_of(int(queries.query[row])), taps=True)]
        for values in self.values:
            cells.append(Cell(number(float(values[row]), 3) if values is not None else tr("n/a"), taps=True))
        first = int(queries.first_right[row])
        cells.append(Cell(f"{first:,}" if first else tr("not found"), taps=True))
        cells.append(Cell(f"{int(queries.relevant[row]):,}", taps=True))
        wrong = int(queries.nearest_wrong[row])
        cells.append(Cell(self.page.label_of(wrong) if wrong >= 0 else tr("nobody"), taps=True))
        score = float(queries.nearest_wrong_score[row])
        cells.append(Cell(number(score, 3) if np.isfinite(score) else tr("n/a"), taps=True))
        return cells


class RetrievalPage(QWidget):
    """See the module's words."""

    listed = Signal(object, object)  # Callable[[], Listing], widget that asked

    def __init__(self) -> None:
        super().__init__()
        self.sides: tuple[tuple[str, Report, Retrieval], ...] = ()
        self.evaluation: Evaluation | None = None
        self.faces: FaceSet | None = None
        self.members: Templates | None = None
        self._wanted = ""  # the model the user has chosen; until then it is the newest
        self.means = ResultTable(tr("Means over queries"), large=True)
        self.means.tapped.connect(self._on_mean)
        self.queries = ResultTable(tr("Queries, worst first"))
        self.queries.tapped.connect(self._on_query)
        self.model = Combo()
        self.model.setToolTip(tr("Whose queries are listed"))
        self.model.setAccessibleName(tr("Model of the queries"))
        self.by = Combo()
        self.by.setToolTip(tr("By which measure the worst comes first"))
        self.by.setAccessibleName(tr("Worst by"))
        for combo in (self.model, self.by):
            combo.setFixedHeight(22)
            combo.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
            combo.activated.connect(lambda _: self._on_chosen())
        self.means_frame = Frame(tr("Retrieval"), self.means)
        self.query_frame = Frame(tr("Queries"), self.queries, tr("worst first"))
        for combo in (self.by, self.model):
            self.query_frame.header.add(combo)
        self.rows = split(Qt.Orientation.Vertical, self.means_frame, self.query_frame, sizes=(300, 360))
        self._divided = False  # by hand
        self.rows.splitterMoved.connect(lambda *_: setattr(self, "_divided", True))
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(self.rows)

    def show_evaluation(
        self, evaluation: Evaluation, faces: FaceSet, names: Mapping[str, str], members: Templates | None
    ) -> None:
        """Fill both tables anew."""
        self.evaluation, self.faces, self.names, self.members = evaluation, faces, names, members
        self.sides = tuple(
            (letter, report, found) for letter, report in evaluation.sides if (found := report.retrieval) is not None
        )
        with QSignalBlocker(self.model), QSignalBlocker(self.by):
            by = self.by.currentData()
            self.model.clear()
            for letter, _, _ in self.sides:
                self.model.addItem(tr("model {letter}", letter=letter), letter)
            place = self.model.findData(self._wanted)
            self.model.setCurrentIndex(place if place >= 0 else self.model.count() - 1)
            self.by.clear()
            for name in self._sortable():
                self.by.addItem(tr("worst in {name}", name=name), name)
            place = self.by.findData(by or "MAP@R")
            self.by.setCurrentIndex(max(0, place))
        self._fill_means()
        self._fill_queries()
        self._divide()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._divide()

    def _divide(self) -> None:
        """All measures are seen where the page is high enough; the list of queries scrolls anyway."""
        if not self._divided:
            whole = self.height() - self.rows.handleWidth()
            upper = min(HEADER + self.means.full_height() + 2, round(MOST * whole))
            self.rows.setSizes([upper, whole - upper])

    def _sortable(self) -> list[str]:
        if not self.sides:
            return []
        found = self.sides[-1][2]
        return [name for name in found.measures if listing.query_values(found.queries, name) is not None]

    def _why(self) -> str:
        waits = self.evaluation is not None and not self.evaluation.complete
        return tr("not worked out yet") if waits else tr("no query could be made")

    def label_of(self, thing: int) -> str:
        """What to call a query: name and file, or its template."""
        faces = self.faces
        if faces is None:
            return ""
        if self.sides and self.sides[0][1].of == "template":
            return tr("template {n}", n=str(thing))
        row = faces.row_of(thing)
        if row is None:
            return tr("not in this gallery")
        name, file = faces.label(row), faces.file_name(row)
        rest = file.removeprefix(name.replace(" ", "_")).lstrip("_- ")  # the name has been said
        return name if name == file else f"{name} · {rest}"

    # -- means

    def _fill_means(self) -> None:
        both = len(self.sides) > 1
        columns = [Column(tr("measure"), "", "left", 0.5)]
        columns += [
            Column(tr("{letter}  mean [95 %]", letter=letter), tr("{name}, higher is better", name=self.names[letter]))
            for letter, _, _ in self.sides
        ]
        if both:
            columns.append(
                Column(tr("B − A, paired"), tr("From the same draws of identities; coloured where 0 is outside"))
            )
        columns.append(Column(tr("below 1"), tr("Queries that are not perfect in this measure"), share=0.4))
        self._names: list[str] = []
        rows = []
        for name in dict.fromkeys(key for _, report, _ in self.sides for key in measures_of(report)):
            self._names.append(name)
            found = [measures_of(report).get(name, Measure.none(tr("not worked out"))) for _, report, _ in self.sides]
            cells = [Cell(name, tip=tr(MEANINGS.get(name, "")), taps=True)]
            if not any(one.defined for one in found):
                text = found[-1].text()
                rows.append([*cells, Cell(text, why=True, span=len(columns) - 1), *(Cell() for _ in columns[2:])])
                continue
            cells += [measure_cell(one, taps=True) for one in found]
            if both:
                paired = self.evaluation.paired_retrieval if self.evaluation is not None else None
                measure = paired.measures.get(name) if paired is not None else None
                coming = self.evaluation is not None and not self.evaluation.complete
                cells.append(difference_cell(measure, coming=coming))
            values = listing.query_values(self.sides[-1][2].queries, name)
            cells.append(
                Cell(f"{int((values < 1).sum()):,}", taps=True)
                if values is not None
                else Cell(tr("one number for all"), colour="text3")
            )
            rows.append(cells)
        if not rows:
            rows = [reason_row(self._why(), len(columns))]
        self.means.fill(columns, rows)
        last = self.sides[-1][2] if self.sides else None
        if last is not None:
            parts = [plural(last.n_queries, "{n} query", "{n} queries")]
            if last.n_skipped:
                parts.append(tr("{n} with nothing to find", n=last.n_skipped))
            self.means_frame.header.set_subtitle(", ".join(parts) + tr(" · higher is better"))
            self.means_frame.header.setToolTip(last.how)

    def _on_mean(self, row: int, column: int) -> None:
        if row >= len(self._names) or self.means.model_.rows[row][min(column, 1)].why:
            return
        name = self._names[row]
        letter, report, found = self.sides[column - 1 if 1 <= column <= len(self.sides) else -1]
        if listing.query_values(found.queries, name) is not None:
            self._list(letter, lambda: listing.below_perfect(report, name))

    # -- queries

    def _on_chosen(self) -> None:
        self._wanted = self.model.currentData() or ""
        self._fill_queries()

    def _fill_queries(self) -> None:
        by = self.by.currentData() or ""
        side = next((one for one in self.sides if one[0] == self.model.currentData()), None)
        shown = [name for name in ("P@1", "RP", "MAP@R", "mAP") if name in self._sortable()]
        columns = [
            Column(tr("query"), align="left", share=1.4),
            *(Column(name, tr(MEANINGS.get(name, "")), share=0.3) for name in shown),
            Column(tr("first right at"), tr("Rank of the first picture of the same person"), share=0.3),
            Column(tr("to find"), tr("Other pictures of the same person"), share=0.3),
            Column(tr("nearest other"), tr("The nearest picture of somebody else"), "left", 1.2),
            Column(tr("score"), tr("Of the nearest other; higher = more alike"), share=0.3),
        ]
        if side is None or not len(side[2].queries.query) or not by:
            why = tr("no query has anything to find") if side is not None else self._why()
            measures = list(measures_of(side[1]).values()) if side is not None else []
            why = next((one.text() for one in measures if not one.defined and one.why), why)
            self._order = np.zeros(0, np.int64)
            self.queries.fill(columns, [reason_row(why, len(columns))])
            return
        queries = side[2].queries
        self._order = queries.worst(by)
        self.queries.fill(columns, _Lines(self, queries, self._order, shown))
        self.queries.scrollToTop()
        self.query_frame.header.set_subtitle(tr("worst first, by {name}", name=by))

    def _on_query(self, row: int, column: int) -> None:
        side = next((one for one in self.sides if one[0] == self.model.currentData()), None)
        if side is None or row >= len(self._order):
            return
        letter, report, found = side
        line = int(self._order[row])
        label = self.label_of(int(found.queries.query[line]))
        self._list(letter, lambda: listing.one_query(report, line, label=label), self.queries)

    def _list(self, letter: str, ask, who: object = None) -> None:  # type: ignore[no-untyped-def]
        def named() -> Listing:
            found = ask()
            title = f"{letter}: {found.title}" if len(self.sides) > 1 else found.title
            return replace(found, title=title, asked=letter.lower())

        self.listed.emit(named, who or self.means)


def measures_of(report: Report) -> dict[str, Measure]:
    """All means of a report, clustering at the end."""
    found = dict(report.retrieval.measures) if report.retrieval is not None else {}
    if report.clustering is not None:
        found |= dict(report.clustering.measures)
    return found
