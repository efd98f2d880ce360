"""Two trials of a model: whether another form of it says the same, and whether pictures are fed to it the right way."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QDialog, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from facelens.session import questions
from facelens.session.depicting import View, names_of_faces
from facelens.session.jobs import Job, Request, State
from facelens.views.controls import Banner, label
from facelens.views.docks.inspector import Strip
from facelens.views.panel import Desk
from facelens.views.tables import Cell, Column, ResultTable
from facelens.views.working import Working
from facelens.words import escaped, tr

if TYPE_CHECKING:
    from facelens.features.library import Inspection
    from facelens.features.parity import Parity
    from facelens.features.whatif import WhatIf
    from facelens.views.plots import Chart


@dataclass(frozen=True, eq=False)
class Made:
    """A trial that was made: what was asked, how a figure of it is told, and what came of it."""

    request: Request
    view: View
    result: object


class Trial(QDialog):
    """A window of its own that waits for one job and shows what came of it; closing it cancels the job."""

    ended = Signal(object)  # Made

    def __init__(self, desk: Desk, title: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(title)
        self.resize(680, 520)
        self.desk = desk
        self.lead = label(name="name", wrap=True)
        self.note = label(name="small", wrap=True)
        self.working = Working(margins=(0, 0, 0, 0))
        self.working.cancelled.connect(self.reject)
        self.column = QVBoxLayout(self)
        self.column.setContentsMargins(16, 14, 16, 14)
        self.column.setSpacing(8)
        for part in (self.lead, self.note, self.working):
            self.column.addWidget(part)
        self.export = QPushButton(tr("Export figure…"))
        self.export.setToolTip(tr("PNG, SVG or PDF of what came of it, with a preview and a recipe"))
        self.export.setAutoDefault(False)
        self.export.setEnabled(False)
        self.view = View()
        self.request: Request | None = None
        self.job = 0
        self._stop = desk.jobs.listen(self._on_job)
        self.finished.connect(self._on_finished)

    def lay_export(self) -> None:
        """Put the button under everything."""
        foot = QHBoxLayout()
        foot.addStretch(1)
        foot.addWidget(self.export)
        self.column.addLayout(foot)

    def start(self, request: Request | None, view: View) -> None:
        """Begin; `view` is how a figure is told of what comes of it."""
        assert request is not None  # the action's condition
        self.request, self.view = request, view
        self.job = self.desk.jobs.submit(request)
        self.working.show_job(self.desk.jobs.job(self.job))

    def _on_job(self, job: Job) -> None:
        if job.number != self.job:
            return
        self.working.show_job(None if job.state.ended else job)
        if job.state is State.DONE:
            self.show_result(job.result)
            self.export.setEnabled(True)
            assert self.request is not None
            self.ended.emit(Made(self.request, self.view, job.result))
        elif job.state is State.FAILED:
            self.desk.notify(job.error, trace=job.trace)
            self.reject()

    def _on_finished(self) -> None:
        self._stop()
        self.desk.jobs.cancel(self.job)

    def show_result(self, result: object) -> None:
        """Show what came of it."""


class FeedingTrial(Trial):
    """A table of ways to feed a sample; a clear winner is named and can be put into the card."""

    taken = Signal(object)  # the card to propose

    def __init__(self, desk: Desk, found: Inspection, parent: QWidget | None = None) -> None:
        super().__init__(desk, tr("Feeding what-if of {name}", name=found.card.name), parent)
        self.lead.setText(tr("The same pictures, fed in other ways"))
        self.note.setText(
            tr(
                "Separation is the distance between scores of the same person and of different people, in standard "
                "deviations; higher is better. Everything else stays as the card says."
            )
        )
        self.banner = Banner()
        self.banner.acted.connect(self._on_take)
        self.better: object = None
        self.table = ResultTable(tr("Ways of feeding"))
        self.table.setWhatsThis(tr("A row for each way of feeding, with what it does to the separation."))
        self.column.addWidget(self.banner)
        self.column.addWidget(self.table, 1)
        self.lay_export()
        workspace, name = desk.workspace, found.card.name
        chosen = workspace.selection.ids if len(workspace.selection) == 2 else workspace.selection.ids[:0]
        view = View(fed=name, pair=names_of_faces(workspace.faces, chosen.tolist()))
        self.start(questions.feeding(workspace, name, chosen), view)

    def show_result(self, result: object) -> None:
        from facelens.figures.whatif import cells, counted, heads

        what: WhatIf = result  # type: ignore[assignment]
        first, *others = heads(what)
        rows = [[Cell(text) for text in row] for row in cells(what)]
        self.table.fill([Column(first, align="left"), *(Column(head) for head in others)], rows)
        self.lead.setText(tr("{pictures}, fed in other ways", pictures=counted(what)))
        better = what.better()
        if better:
            self.better = better[0].variant.card
            self.banner.set_message(
                what.advice()[0],
                "",
                button=tr("Put into the card"),
                tip=tr("Fills the form; nothing is written before you save the card"),
            )

    def _on_take(self) -> None:
        self.taken.emit(self.better)
        self.accept()


class ParityTrial(Trial):
    """How far two forms of a model are apart: verdict, histogram with the pass line, the pictures that differ most."""

    def __init__(self, desk: Desk, found: Inspection, second: Path, parent: QWidget | None = None) -> None:
        super().__init__(desk, tr("Compare forms of a model"), parent)
        self.lead.setText(tr("{a} and {b}", a=escaped(found.path.name), b=escaped(second.name)))
        self.strip = Strip(desk)
        self.strip.decimals = 5
        self.strip.setAccessibleName(tr("Pictures that differ most"))
        self.strip.clicked.connect(self._on_look)
        self.worst = label(tr("Pictures that differ most, cosine ↑ closer"), name="sub")
        for part in (self.strip, self.worst):
            part.hide()
        self.chart: QWidget | None = None
        name = found.card.name
        self.start(questions.forms(desk.workspace, name, second), View(forms=(name, str(second))))

    def show_result(self, result: object) -> None:
        from facelens.figures.parity import pass_words

        found: Parity = result  # type: ignore[assignment]
        self.lead.setText(found.sentence())
        self.note.setText(pass_words(found))
        self.chart = _histogram(found)
        self.column.addWidget(self.chart, 1)
        self.column.addWidget(self.worst)
        self.column.addWidget(self.strip)
        self.lay_export()
        faces = self.desk.workspace.faces
        if faces is not None:
            scores = dict(zip(found.ids.tolist(), found.cosines.tolist(), strict=True))
            rows = [(faces.row_of(face), scores[face]) for face in found.worst(5).tolist()]
            known = [(row, score) for row, score in rows if row is not None]
            self.strip.show_faces(
                np.array([row for row, _ in known], np.int64),
                scores=[score for _, score in known],
                right=[None] * len(known),
            )
            for part in (self.strip, self.worst):
                part.setVisible(bool(known))

    def _on_look(self, row: int) -> None:
        faces = self.desk.workspace.faces
        if faces is not None:
            self.desk.store.update(selection=self.desk.workspace.selection.looking_at(int(faces.ids[row])))


def _histogram(found: Parity) -> Chart:
    from facelens.views.plots import Axis, Bars, Chart

    counts, edges = found.histogram()
    chart = Chart(
        Axis(tr("1 − cosine, lower is closer"), scale="log", low=float(edges[0]), high=float(edges[-1])),
        Axis(tr("pictures per bin"), low=0.0),
        name=tr("Histogram of 1 − cosine"),
        brush=False,
        movable=False,
    )
    chart.set_bars([Bars("pictures", edges, counts, colour="accent", one="{n} picture", many="{n} pictures")])
    chart.set_decision(1 - found.least, tr("pass line {least}", least=found.least))
    return chart

