"""Single-model variance: which ways to measure it, what each costs, and what it is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QCheckBox, QDialog, QDialogButtonBox, QPushButton, QVBoxLayout, QWidget

from facelens.views.controls import label
from facelens.views.panel import Desk
from facelens.words import plural, tr

if TYPE_CHECKING:
    from facelens.features.library import Inspection

# What is changed, and how it is measured; in the order of features.stability.KINDS.
WAYS = {
    "flip": ("Flip", "The picture and its mirror image: as long as embedding twice."),
    "crop": ("Crop", "The picture and four cuts that are a little tighter: as long as embedding five times."),
    "dropout": ("Dropout", "64 answers with some numbers left out at random (SER-FIQ): as long as embedding once."),
}


class MeasureVariance(QDialog):
    """A box for each way; what has been measured for all faces, or cannot be, says so and is not offered."""

    def __init__(
        self, desk: Desk, found: Inspection, start: Callable[[str, str], None], parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(tr("Single-model variance"))
        self.setMinimumWidth(500)
        self._name, self._start = found.card.name, start
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
        self.measure = QPushButton(tr("Measure"))
        self.measure.setObjectName("primary")
        buttons.addButton(self.measure, QDialogButtonBox.ButtonRole.AcceptRole)
        buttons.accepted.connect(self._on_measure)
        buttons.rejected.connect(self.reject)
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 18, 20, 14)
        column.setSpacing(4)
        lead = tr(
            "How much {name} changes its answer when a picture, or the network, is changed a little. Each way becomes "
            "a column to sort and filter by, higher is less sure. It is one model's own spread, not the variance of "
            "an ensemble, which compares several models.",
            name=self._name,
        )
        column.addWidget(label(lead, wrap=True))
        column.addSpacing(8)
        self.boxes: dict[str, QCheckBox] = {}
        for kind, (title, text) in WAYS.items():
            reason = _reason(desk, found, kind)
            box = self.boxes[kind] = QCheckBox(tr(title))
            box.setToolTip(tr(text))
            box.setEnabled(not reason)
            box.toggled.connect(self._show)
            note = label(reason or tr(text), name="sub", wrap=True)
            note.setContentsMargins(20, 0, 0, 6)
            column.addWidget(box)
            column.addWidget(note)
        column.addSpacing(6)
        column.addWidget(buttons)
        first = next((box for box in self.boxes.values() if box.isEnabled()), None)
        if first is not None:
            first.setChecked(True)
        self._show()

    def _show(self) -> None:
        chosen = any(box.isChecked() for box in self.boxes.values())
        self.measure.setEnabled(chosen)
        self.measure.setToolTip(tr("Runs in the background") if chosen else tr("Choose a way first."))

    def _on_measure(self) -> None:
        self.accept()
        for kind, box in self.boxes.items():
            if box.isChecked():
                self._start(self._name, kind)


def _reason(desk: Desk, found: Inspection, kind: str) -> str:
    """Why a way is not offered, "" where it is."""
    from facelens.features.checkpoint import WEIGHTS

    if kind == "dropout" and found.kind != WEIGHTS:
        return tr("Needs the layers of a network; this file is a finished program.")
    workspace = desk.workspace
    stored, faces = workspace.stored.get(found.card.name), workspace.kept_faces
    if stored is None or faces is None or workspace.faces is None or kind not in stored.variances:
        return ""
    rows = workspace.faces.rows_of(faces.ids)
    known = int(np.isfinite(stored.variances[kind][rows]).sum())
    return plural(known, "Measured for {n} face.", "Measured for all {n} faces.") if known == len(faces) else ""
