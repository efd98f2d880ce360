"""Pictures that an embedding left out, with the reason for each, and a CSV of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from facelens.errors import FaceLensError
from facelens.images import quarantine
from facelens.session import folders, tasks
from facelens.session.outgoing import outgoing
from facelens.views.controls import label
from facelens.views.leaving import guise, written
from facelens.views.lines import Line, Lines
from facelens.views.panel import Desk
from facelens.words import escaped, plural, tr

MOST = 5_000  # lines in the list; the CSV has all


class LeftOut(QWidget):
    """A list; a double click looks at the picture."""

    look = Signal(object)  # an id has 63 bits, more than a Qt int
    retried = Signal()  # pictures that crashed the decoder may be read again

    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self.desk = desk
        self.skipped: tuple[tuple[int, str], ...] = ()
        self.name = ""
        self.line = label(name="small", wrap=True)
        self.list = Lines()
        self.list.setMinimumHeight(120)
        self.list.setAccessibleName(tr("Pictures left out"))
        self.list.setWhatsThis(tr("Pictures that have no vector, and why. Enter or a double click looks at one."))
        self.list.opened.connect(lambda row: self.look.emit(self.list.lines[row].of))
        self.csv = QPushButton(tr("Export as CSV…"))
        self.csv.setToolTip(tr("Path and reason of each picture that was left out"))
        self.csv.clicked.connect(self._on_csv)
        self.again = QPushButton(tr("Try crashing pictures again"))
        self.again.setToolTip(tr("Embedding reads them once more; one that crashes again is left out again"))
        self.again.clicked.connect(self._on_again)
        foot = QHBoxLayout()
        foot.setSpacing(8)
        foot.addWidget(self.csv)
        foot.addWidget(self.again)
        foot.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        column.addWidget(self.line)
        column.addWidget(self.list, 1)
        column.addLayout(foot)

    def show_skipped(self, name: str, skipped: tuple[tuple[int, str], ...]) -> None:
        """Show what the last embedding with a model left out."""
        self.name, self.skipped = name, skipped
        faces = self.desk.workspace.faces
        self.line.setText(
            plural(len(skipped), "{n} picture has no vector.", "{n} pictures have no vector.") if skipped else ""
        )
        self.again.setVisible(bool(skipped) and self._crashing() > 0)
        lines = []
        for face, why in skipped[:MOST] if faces is not None else ():
            assert faces is not None
            if (row := faces.row_of(face)) is not None:
                lines.append(Line(f"{faces.file_name(row)}   {why}", int(face), escaped(str(faces.path(row)))))
        self.list.fill(lines)

    def _crashing(self) -> int:
        faces = self.desk.workspace.faces
        ids = {face for face, _ in self.skipped}
        return len(ids & quarantine.kept_out(faces, folders.quarantine()).keys()) if faces is not None else 0

    def _on_again(self) -> None:
        faces = self.desk.workspace.faces
        if faces is not None:
            try:
                quarantine.release(faces, folders.quarantine(), np.array([face for face, _ in self.skipped], np.int64))
            except FaceLensError as error:
                self.desk.notify(error)
                return
            self.retried.emit()

    def _on_csv(self) -> None:
        suggested = f"{self.name} left out.csv"
        if name := QFileDialog.getSaveFileName(self, tr("Export as CSV"), suggested, "CSV (*.csv)")[0]:
            self.write(Path(name))

    def write(self, path: Path) -> None:
        """Write path and reason of each picture."""
        faces = self.desk.workspace.faces
        if faces is None:
            return
        try:
            some = faces.take(faces.rows_of(np.array([face for face, _ in self.skipped], np.int64)))
            (told,) = outgoing(guise(self.desk), some)  # of the few, which is done at once
            tasks.write_skipped(path, told, skipped=self.skipped)
            self.desk.tell(written(self.desk, path))
        except FaceLensError as error:
            self.desk.notify(error)
