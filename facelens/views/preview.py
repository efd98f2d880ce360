"""The import preview: when FaceLens cannot tell which column is what, it shows twenty rows and asks."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QFormLayout,
    QVBoxLayout,
    QWidget,
)

from facelens.images.readers.manifest import Preview
from facelens.views.controls import Combo, label
from facelens.views.tables import Cell, Column, ResultTable
from facelens.words import escaped, tr

ROLES = (
    ("path", "Picture file", "The column with the names of the picture files, from the folder of the manifest"),
    ("identity", "Identity", "The column that says who it is; faces with the same value are one person"),
    ("split", "Split", "The column that says train, test or gallery"),
    ("template", "Template", "The column that gathers pictures of one enrolment"),
    ("camera", "Camera", "The column that names the camera; used by re-identification protocols"),
)


class ImportPreview(QDialog):
    """Columns with a guess for each role; the user corrects it and opens."""

    def __init__(
        self, preview: Preview, message: str, then: Callable[[Mapping[str, str]], None], parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(tr("Which column is what?"))
        self.resize(760, 560)
        self._then = then
        self.table = table = ResultTable(tr("First rows of the file"), raw=True)
        table.setWhatsThis(tr("The first rows, as they are read; choose above what the columns are."))
        table.fill(
            [Column(escaped(name), align="left") for name in preview.header],
            [[_cell(str(value)) for value in row[: len(preview.header)]] for row in preview.rows],
        )
        self.combos: dict[str, QComboBox] = {}
        form = QFormLayout()
        for role, text, tip in ROLES:
            combo = Combo()
            combo.setAccessibleName(tr(text))
            combo.setToolTip(tr(tip))
            combo.addItem(tr("none"), "")
            for name in preview.header:
                combo.addItem(escaped(name), name)
            combo.setCurrentIndex(max(0, combo.findData(preview.guess.get(role, ""))))
            combo.currentIndexChanged.connect(self._on_changed)
            self.combos[role] = combo
            form.addRow(tr(text), combo)
        self.buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Open | QDialogButtonBox.StandardButton.Cancel)
        self.buttons.accepted.connect(self._on_open)
        self.buttons.rejected.connect(self.reject)
        column = QVBoxLayout(self)
        column.setContentsMargins(16, 16, 16, 12)
        column.setSpacing(12)
        column.addWidget(label(message, wrap=True))
        column.addLayout(form)
        column.addWidget(table, 1)
        column.addWidget(self.buttons)
        self._on_changed()

    def options(self) -> dict[str, str]:
        """Role to column, as chosen."""
        return {role: combo.currentData() for role, combo in self.combos.items() if combo.currentData()}

    def _on_changed(self) -> None:
        button = self.buttons.button(QDialogButtonBox.StandardButton.Open)
        button.setEnabled("path" in self.options())
        button.setToolTip("" if "path" in self.options() else tr("Say which column names the picture files."))

    def _on_open(self) -> None:
        self.accept()
        self._then(self.options())


def _cell(value: str) -> Cell:
    shown = escaped(value)
    return Cell(shown, tip=shown)
