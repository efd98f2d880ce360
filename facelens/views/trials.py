"""Two trials of a model: whether another form of it says the same, and whether pictures are fed to it the right way."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QDialog, QVBoxLayout, QWidget

from facelens.session import folders, tasks
from facelens.session.jobs import Job, Request, State
from facelens.views.controls import Banner, label
from facelens.views.docks.inspector import Strip
from facelens.views.panel import Desk
from facelens.views.tables import Cell, Column, ResultTable
from facelens.views.working import Working
from facelens.words import escaped, number, plural, tr

if TYPE_CHECKING:
    from facelens.features.library import Inspection
    from facelens.features.parity import Parity
    from facelens.features.whatif import WhatIf
    from facelens.views.plots import Chart


class Trial(QDialog):
    """A window of its own that waits for one job and shows what came of it; closing it cancels the job."""

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
        self.job = 0
        self._stop = desk.jobs.listen(self._on_job)
        self.finished.connect(self._on_finished)

    def start(self, request: Request) -> None:
        """Begin."""
        self.job = self.desk.jobs.submit(request)
        self.working.show_job(self.desk.jobs.job(self.job))

    def _on_job(self, job: Job) -> None:
        if job.number != self.job:
            return
        self.working.show_job(None if job.state.ended else job)
        if job.state is State.DONE:
            self.show_result(job.result)
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
        workspace = desk.workspace
        faces = workspace.kept_faces
        assert faces is not None  # the action's condition
        chosen = faces.rows_of(workspace.selection.ids)
        self.start(
            Request(
                title=tr("Try ways of feeding {name}", name=found.card.name),
                call=tasks.try_feeding,
                args=(faces, found.path),
                kwargs={
                    "card": found.card,
                    "consents": folders.consents(),
                    "pair": (int(chosen[0]), int(chosen[1])) if len(chosen) == 2 else None,
                },
                slot="feeding",
            )
        )

    def show_result(self, result: object) -> None:
        what: WhatIf = result  # type: ignore[assignment]
        pair = any(one.score is not None for one in what.outcomes)
        heads = [tr("fed"), tr("separation ↑"), tr("gain, 98 %"), tr("same person"), tr("others"), tr("norm")]
        heads += [tr("pair")] if pair else []
        rows: list[list[Cell]] = []
        for one in what.outcomes:
            low, high = one.gain
            gain = "" if not rows or low != low else f"[{_signed(low)}, {_signed(high)}]"
            cells = [one.variant.name, _shown(one.separation, 2), gain, _shown(one.genuine, 3), _shown(one.impostor, 3)]
            cells += [_shown(one.norm, 1)] + ([_shown(one.score, 3)] if pair and one.score is not None else [])
            rows.append([Cell(text) for text in cells])
        self.table.fill([Column(heads[0], align="left"), *(Column(head) for head in heads[1:])], rows)
        people = plural(what.people, "{n} person", "{n} people")
        self.lead.setText(tr("{n} pictures of {people}, fed in other ways", n=what.pictures, people=people))
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

    def __init__(self, desk: Desk, first: Path, second: Path, parent: QWidget | None = None) -> None:
        super().__init__(desk, tr("Compare forms of a model"), parent)
        self.lead.setText(tr("{a} and {b}", a=escaped(first.name), b=escaped(second.name)))
        self.strip = Strip(desk)
        self.strip.decimals = 5
        self.strip.setAccessibleName(tr("Pictures that differ most"))
        self.strip.clicked.connect(self._on_look)
        self.worst = label(tr("Pictures that differ most, cosine ↑ closer"), name="sub")
        for part in (self.strip, self.worst):
            part.hide()
        self.chart: QWidget | None = None
        faces = desk.workspace.kept_faces
        assert faces is not None  # the action's condition
        self.start(
            Request(
                title=tr("Compare {a} and {b}", a=escaped(first.name), b=escaped(second.name)),
                call=tasks.compare_forms,
                args=(faces, first, second),
                kwargs={"consents": folders.consents()},
                slot="parity",
            )
        )

    def show_result(self, result: object) -> None:
        found: Parity = result  # type: ignore[assignment]
        self.lead.setText(found.sentence())
        self.note.setText(
            tr(
                "Passes when every cosine is at least {least} and their mean at least {mean}.",
                least=found.least,
                mean=found.mean,
            )
        )
        self.chart = _histogram(found)
        self.column.addWidget(self.chart, 1)
        self.column.addWidget(self.worst)
        self.column.addWidget(self.strip)
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


def _shown(value: float | None, decimals: int) -> str:
    return tr("n/a") if value is None or value != value else number(value, decimals=decimals)


def _signed(value: float) -> str:
    return ("+" if value > 0 else "") + number(value, decimals=2)
