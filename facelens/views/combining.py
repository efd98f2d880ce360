"""Combine: two sets of faces with and, or, xor or not, kept as a subset under a name."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox, QDialog, QDialogButtonBox, QFormLayout, QLineEdit, QVBoxLayout, QWidget

from facelens.errors import FaceLensError
from facelens.images.faceset import Ids
from facelens.session.annotations import NAME_LENGTH
from facelens.session.subsets import OPERATIONS, combined, put
from facelens.views.controls import Segmented, label
from facelens.views.panel import Desk
from facelens.words import escaped, plural, tr

TIPS = {
    "and": "Faces that are in both",
    "or": "Faces that are in one of the two, or in both",
    "xor": "Faces that are in exactly one of the two",
    "not": "Faces of the first that are not in the second",
}


def sets(desk: Desk) -> list[tuple[str, Ids]]:
    """What can be combined: subsets, tags, the selected faces, the shown faces."""
    workspace = desk.workspace
    named = [(escaped(name), ids) for name, ids in workspace.subsets.items()]
    tags = [(tr("tag {name}", name=escaped(name)), ids) for name, ids in workspace.annotations.tags.items()]
    chosen = [(tr("selected faces"), workspace.selection.ids)] if len(workspace.selection) else []
    return [*named, *tags, *chosen, (tr("shown faces"), workspace.shown_ids)]


class CombineSubsets(QDialog):
    """Two sets, how they are joined, and what to call it; says how many faces that makes."""

    def __init__(self, desk: Desk, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(tr("Combine subsets"))
        self.setMinimumWidth(420)
        self.desk, self.sets = desk, sets(desk)
        self.first, self.second = self._choice(tr("First"), 0), self._choice(tr("Second"), 1)
        self.join = Segmented([(one, one) for one in OPERATIONS], label=tr("Joined by"))
        for one in OPERATIONS:
            self.join.button(one).setToolTip(tr(TIPS[one]))
        self.join.changed.connect(self._show)
        self.name = QLineEdit()
        self.name.setMaxLength(NAME_LENGTH)
        self.name.setAccessibleName(tr("Name of the subset"))
        self.name.setToolTip(tr("A subset of this name is replaced."))
        self.name.textChanged.connect(self._show)
        self.count = label(name="sub")
        self.problem = label(name="sub", wrap=True)
        self.problem.hide()
        self.buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Save | QDialogButtonBox.StandardButton.Cancel)
        self.buttons.accepted.connect(self._on_save)
        self.buttons.rejected.connect(self.reject)
        form = QFormLayout()
        form.setHorizontalSpacing(16)
        rows = ((tr("First"), self.first), (tr("Joined by"), self.join), (tr("Second"), self.second))
        for text, widget in (*rows, (tr("Name"), self.name), ("", self.count)):
            form.addRow(text, widget)
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 18, 20, 14)
        column.setSpacing(14)
        column.addLayout(form)
        column.addWidget(self.problem)
        column.addWidget(self.buttons)
        self._show()
        self.name.setFocus()

    def _choice(self, name: str, at: int) -> QComboBox:
        made = QComboBox()
        made.addItems([text for text, _ in self.sets])
        made.setCurrentIndex(min(at, len(self.sets) - 1))
        made.setAccessibleName(name)
        made.setToolTip(tr("A subset, a tag, the selected or the shown faces"))
        made.currentIndexChanged.connect(self._show)
        return made

    @property
    def ids(self) -> Ids:
        """The faces that are chosen so."""
        first, second = (self.sets[max(0, one.currentIndex())][1] for one in (self.first, self.second))
        return combined(self.join.value(), first, second)

    def _show(self, *_: object) -> None:
        self.count.setText(plural(len(self.ids), "{n} face", "{n} faces"))
        self.buttons.button(QDialogButtonBox.StandardButton.Save).setEnabled(bool(self.name.text().strip()))

    def _on_save(self) -> None:
        try:
            made = put(self.desk.workspace.subsets, self.name.text(), self.ids)
        except FaceLensError as error:
            self.problem.setText(str(error))
            self.problem.show()
            return
        self.accept()
        self.desk.store.update(subsets=made)
