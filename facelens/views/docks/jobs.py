"""Jobs: what is running, how far it is, how long it still takes; cancel, retry, details."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QLabel, QProgressBar, QScrollArea, QToolButton, QVBoxLayout, QWidget

from facelens.errors import FaceLensError
from facelens.features.shard import amount
from facelens.session.jobs import Job, State
from facelens.views.controls import Elided, tool_button
from facelens.views.panel import Desk, Panel
from facelens.words import tr

KEPT = 30  # finished jobs that stay in the list


def progress_text(job: Job) -> str:
    """One line: "1,096 of 2,610 · 640 faces/s · 2 s left"."""
    match job.state:
        case State.WAITING:
            return tr("waiting")
        case State.CANCELLED:
            return (
                tr("cancelled at {done} of {total}; finished work is kept", done=job.done, total=job.total)
                if job.total and job.request.unit
                else tr("cancelled")
            )
        case State.FAILED:
            return (
                job.error.message
                if isinstance(job.error, FaceLensError)
                else tr("failed: {error}", error=type(job.error).__name__)
            )
        case State.DONE:
            parts = [tr("{n} done", n=_count(job, job.total))] if job.total and job.request.unit else [tr("done")]
            if job.started is not None and job.finished is not None:
                parts.append(duration(job.finished - job.started))
            return " · ".join(parts)
    parts = []
    if job.total and job.request.unit:
        parts.append(tr("{done} of {total}", done=_count(job, job.done), total=_count(job, job.total)))
    elif job.total:  # steps that nobody counts
        parts.append(tr("{percent} %", percent=int(100 * job.done / job.total)))
    if job.note:
        parts.insert(0, job.note)
    if job.rate and job.rate >= 1 and job.request.unit not in ("bytes", ""):
        parts.append(tr("{rate} {unit}/s", rate=round(job.rate), unit=job.request.unit))
    if job.eta_seconds is not None:
        parts.append(tr("{time} left", time=duration(job.eta_seconds, fine=False)))
    return " · ".join(parts) or tr("starting")


def _count(job: Job, n: int) -> str | int:
    return amount(n) if job.request.unit == "bytes" else n


def duration(seconds: float, *, fine: bool = True) -> str:
    """For people; `fine` shows tenths of a second, which an estimate does not have."""
    if seconds < 10 and fine:
        return f"{seconds:.1f} s"
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


class JobRow(QWidget):
    """Name, bar, line of numbers, buttons."""

    def __init__(self, dock: JobsDock, number: int) -> None:
        super().__init__()
        self.name, self.line, self.bar = Elided(), QLabel(), QProgressBar()
        self.line.setTextFormat(Qt.TextFormat.PlainText)
        self.line.setObjectName("cap")
        self.line.setWordWrap(True)
        self.bar.setTextVisible(False)
        self.cancel = _button("close", tr("Cancel"))
        self.retry = _button("retry", tr("Retry"))
        self.details = _button("info", tr("Details"))
        self.cancel.clicked.connect(lambda: dock.cancel_or_dismiss(number))
        self.retry.clicked.connect(lambda: dock.retry(number))
        self.details.clicked.connect(lambda: dock.show_details(number))
        head = QHBoxLayout()
        head.setSpacing(2)
        head.addWidget(self.name, 1)
        for button in (self.retry, self.details, self.cancel):
            head.addWidget(button)
        column = QVBoxLayout(self)
        column.setContentsMargins(12, 5, 6, 5)
        column.setSpacing(3)
        column.addLayout(head)
        column.addWidget(self.bar)
        column.addWidget(self.line)

    def show_job(self, job: Job) -> None:
        self.name.setText(job.request.title)
        self.line.setText(progress_text(job))
        self.bar.setRange(0, 1000 if job.total or job.state is not State.RUNNING else 0)
        share = 1.0 if job.state is State.DONE else job.done / job.total if job.total else 0.0
        self.bar.setValue(round(1000 * share))
        self.bar.setAccessibleName(
            tr("{title}: {percent} percent", title=job.request.title, percent=round(100 * share))
        )
        kind = {State.DONE: "good", State.FAILED: "bad"}.get(job.state, "")
        if self.bar.property("kind") != kind:
            self.bar.setProperty("kind", kind)
            self.bar.style().unpolish(self.bar)
            self.bar.style().polish(self.bar)
        ended = job.state in (State.DONE, State.FAILED, State.CANCELLED)
        self.cancel.setToolTip(tr("Remove from the list") if ended else tr("Cancel; finished work is kept"))
        self.cancel.setAccessibleName(
            tr("Remove {title}", title=job.request.title) if ended else tr("Cancel {title}", title=job.request.title)
        )
        self.retry.setVisible(job.state in (State.FAILED, State.CANCELLED))
        self.details.setVisible(job.state is State.FAILED)


def _button(name: str, tip: str) -> QToolButton:
    button = tool_button(name, tip, size=13)
    button.setFixedSize(22, 20)
    return button


class JobsDock(Panel):
    """Newest first."""

    word = "jobs"
    title = "Jobs"

    def __init__(self, desk: Desk, parent: QWidget | None = None) -> None:
        super().__init__(desk, parent)
        self.rows: dict[int, JobRow] = {}
        self.inner = QWidget()
        self.column = QVBoxLayout(self.inner)
        self.column.setContentsMargins(0, 4, 0, 4)
        self.column.setSpacing(0)
        self.nothing = QLabel(tr("No job yet. Opening, checking and embedding show their progress here."))
        self.nothing.setObjectName("sub")
        self.nothing.setContentsMargins(12, 6, 12, 6)
        self.nothing.setWordWrap(True)
        self.column.addWidget(self.nothing)
        self.column.addStretch(1)
        area = QScrollArea()
        area.setWidgetResizable(True)
        area.setWidget(self.inner)
        area.setAccessibleName(tr("Jobs"))
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(area)
        for job in desk.jobs.jobs:
            self._on_job(job)
        self._stop_jobs = desk.jobs.listen(self._on_job)
        self.destroyed.connect(self._stop_jobs)

    def subtitle(self) -> str:
        """For the header: "1 running, 1 waiting"."""
        states = [job.state for job in self.desk.jobs.jobs]
        parts = [
            tr(text, n=n)
            for text, n in (("{n} running", states.count(State.RUNNING)), ("{n} waiting", states.count(State.WAITING)))
            if n
        ]
        return ", ".join(parts)

    def cancel_or_dismiss(self, number: int) -> None:
        job = next((job for job in self.desk.jobs.jobs if job.number == number), None)
        if job is None or job.state in (State.DONE, State.FAILED, State.CANCELLED):
            self.desk.jobs.dismiss(number)
            self._remove(number)
        else:
            self.desk.jobs.cancel(number)

    def retry(self, number: int) -> None:
        job = self.desk.jobs.job(number)
        if job is not None and job.state in (State.FAILED, State.CANCELLED):  # a second click comes too late
            self.desk.jobs.retry(number)

    def show_details(self, number: int) -> None:
        job = next((job for job in self.desk.jobs.jobs if job.number == number), None)
        if job is not None and job.error is not None:
            self.desk.notify(job.error, trace=job.trace)

    def close_panel(self) -> None:
        self._stop_jobs()
        super().close_panel()

    def _on_job(self, job: Job) -> None:
        row = self.rows.get(job.number)
        if row is None:
            row = self.rows[job.number] = JobRow(self, job.number)
            self.column.insertWidget(0, row)
            while len(self.rows) > KEPT:
                self._remove(min(self.rows))
        row.show_job(job)
        self.nothing.hide()

    def _remove(self, number: int) -> None:
        row = self.rows.pop(number, None)
        if row is not None:
            self.column.removeWidget(row)
            row.deleteLater()
        self.nothing.setVisible(not self.rows)
