"""The job a panel waits for, shown inside that panel."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QProgressBar, QPushButton, QVBoxLayout, QWidget

from facelens.session.jobs import Job
from facelens.views.controls import label
from facelens.views.docks.jobs import progress_text
from facelens.words import tr


class Working(QWidget):
    """A job this panel waits for: name, bar, numbers, Cancel."""

    cancelled = Signal()

    def __init__(self, *, margins: tuple[int, int, int, int] = (12, 8, 12, 8)) -> None:
        super().__init__()
        self.name, self.line, self.bar = label(), label(name="cap"), QProgressBar()
        self.bar.setTextVisible(False)
        self.cancel = QPushButton(tr("Cancel"))
        self.cancel.setToolTip(tr("Stops at once; finished work is kept"))
        self.cancel.clicked.connect(self.cancelled)
        words = QVBoxLayout()
        words.setSpacing(3)
        for part in (self.name, self.bar, self.line):
            words.addWidget(part)
        row = QHBoxLayout(self)
        row.setContentsMargins(*margins)
        row.setSpacing(12)
        row.addLayout(words, 1)
        row.addWidget(self.cancel)
        self.hide()

    def show_job(self, job: Job | None) -> None:
        """Show how far it is; None hides."""
        self.setVisible(job is not None)
        if job is None:
            return
        self.name.setText(job.request.title)
        self.line.setText(progress_text(job))
        self.bar.setRange(0, 1000 if job.total else 0)
        self.bar.setValue(round(1000 * job.done / job.total) if job.total else 0)
        self.bar.setAccessibleName(tr("Progress of {title}", title=job.request.title))
