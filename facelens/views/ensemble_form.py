"""The card on which an ensemble is put together: members, the query model, how they come into one space."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QPoint, QSignalBlocker, Qt, Signal
from PySide6.QtGui import QHideEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QFileDialog,
    QFormLayout,
    QFrame,
    QGridLayout,
    QLineEdit,
    QSpinBox,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from facelens.analyses.plan import METHODS, MODES, EnsemblePlan
from facelens.errors import FaceLensError
from facelens.images.faceset import FaceSet
from facelens.session import filters
from facelens.session.workspace import Workspace
from facelens.views.controls import Combo, inset, label, plain_tip, tool_button
from facelens.words import plural, tr

MODE_WORDS = {
    "m2m": ("M2M", "Every member is mapped into the query model's own space; queries stay as they are."),
    "unified": ("Unified", "Members and queries are mapped into a new space; the query model needs its transform too."),
}
METHOD_WORDS = {
    "auto": (
        "best on held-out people",
        "Ridge and Procrustes are tried on people left out of the fit; the better one is taken.",
    ),
    "ridge": ("ridge", "A matrix, least squares; good with some hundred people or more."),
    "procrustes": ("Procrustes", "A rotation; safer with few people."),
    "rbt": ("RBT", "The paper's residual blocks, trained with its three losses from the better matrix; takes longer."),
}
TRANSFORMS = "safetensors (*.safetensors)"


class EnsembleForm(QFrame):
    """Opens below its button; every change counts at once."""

    planned = Signal(object)  # fields of the plan that change

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, Qt.WindowType.Popup)
        self.setObjectName("floating")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setAccessibleName(tr("Ensemble"))
        self._names: tuple[str, ...] = ()
        self._plan = EnsemblePlan()
        self._faces: FaceSet | None = None
        self.boxes: dict[str, QCheckBox] = {}
        self.files: dict[str, str] = {}
        self.members = QGridLayout()
        self.members.setHorizontalSpacing(10)
        self.members.setVerticalSpacing(2)
        self.target = Combo()
        self.target.setToolTip(tr("The model that asks. With M2M its space is the common one."))
        self.mode, self.method = Combo(), Combo()
        for combo, keys, words in ((self.mode, MODES, MODE_WORDS), (self.method, METHODS, METHOD_WORDS)):
            for key in keys:
                combo.addItem(tr(words[key][0]), key)
                combo.setItemData(combo.count() - 1, tr(words[key][1]), Qt.ItemDataRole.ToolTipRole)
        self.copies = inset(QSpinBox())
        self.copies.setRange(1, 8)
        self.copies.setToolTip(
            tr("Transforms of each member, each fitted on people drawn anew. With one model this is diversity D-T.")
        )
        self.fitted_on = QLineEdit()
        self.fitted_on.setPlaceholderText(tr("half of the people"))
        self.fitted_on.setToolTip(
            tr("A filter, such as blur < p50: transforms are fitted on these faces, and their people are not shown.")
        )
        self.others = label(name="cap")
        self.trouble = label(name="cap", wrap=True)
        self.trouble.hide()
        form = QFormLayout()
        form.setLabelAlignment(Qt.AlignmentFlag.AlignLeft)
        form.setHorizontalSpacing(14)
        form.setVerticalSpacing(8)
        for said_name, field in (
            (tr("Query model"), self.target),
            (tr("Common space"), self.mode),
            (tr("Transforms"), self.method),
            (tr("Copies"), self.copies),
            (tr("Fitted on"), self.fitted_on),
        ):
            said = label(said_name, name="sub")
            said.setBuddy(field)
            field.setAccessibleName(said_name)
            form.addRow(said, field)
        self.advice = label(
            tr(
                "Fit on clean pictures: transforms that have seen blurred faces agree about blurred faces, "
                "and the variance no longer tells."
            ),
            name="cap",
            wrap=True,
        )
        column = QVBoxLayout(self)
        column.setContentsMargins(16, 14, 16, 14)
        column.setSpacing(10)
        column.addWidget(label(tr("Members"), name="title"))
        column.addLayout(self.members)
        column.addWidget(self.others)
        column.addLayout(form)
        column.addWidget(self.trouble)
        column.addWidget(self.advice)
        self.setMinimumWidth(420)
        self._connect()

    def _connect(self) -> None:
        self.target.activated.connect(lambda: self.planned.emit({"target": self.target.currentData()}))
        self.mode.activated.connect(lambda: self.planned.emit({"mode": self.mode.currentData()}))
        self.method.activated.connect(lambda: self.planned.emit({"method": self.method.currentData()}))
        self.copies.valueChanged.connect(lambda n: self.planned.emit({"copies": n}))
        self.fitted_on.textEdited.connect(self._check_filter)
        self.fitted_on.editingFinished.connect(self._on_fitted_on)

    def open_at(self, place: QPoint) -> None:
        """Show it with its top left corner there."""
        self.adjustSize()
        self.move(place)
        self.show()
        first = next(iter(self.boxes.values()), None)
        (first or self.target).setFocus(Qt.FocusReason.PopupFocusReason)

    def fill(self, workspace: Workspace) -> None:
        """Show the ensemble that is asked for; models without vectors are counted, and cannot be chosen."""
        plan = workspace.resolved_ensemble
        if self._names != workspace.model_names:
            self._names = workspace.model_names
            self._list_members()
        self._faces, self._plan, self.files = workspace.faces, plan, dict(plan.files)
        for name, box in self.boxes.items():
            there = name in workspace.features
            with QSignalBlocker(box):
                box.setChecked(name in plan.members)
            box.setVisible(there)
            self._show_file(name, self.files.get(name, ""), there and not (plan.mode == "m2m" and name == plan.target))
        without = [name for name in self._names if name not in workspace.features]
        words = ("{n} model has no vectors of this gallery.", "{n} models have no vectors of this gallery.")
        self.others.setText(plural(len(without), *words))
        self.others.setToolTip(plain_tip(", ".join(without)))
        self.others.setVisible(bool(without))
        with QSignalBlocker(self.target):
            self.target.clear()
            for name in workspace.features:
                self.target.addItem(name, name)
            self.target.setCurrentIndex(max(0, self.target.findData(plan.target)))
        for combo, value in ((self.mode, plan.mode), (self.method, plan.method)):
            combo.setCurrentIndex(combo.findData(value))
            combo.setToolTip(plain_tip(str(combo.currentData(Qt.ItemDataRole.ToolTipRole))))
        with QSignalBlocker(self.copies), QSignalBlocker(self.fitted_on):
            self.copies.setValue(plan.copies)
            if not self.fitted_on.hasFocus():
                self.fitted_on.setText(plan.fitted_on)

    def _list_members(self) -> None:
        while (item := self.members.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.hide()
                widget.deleteLater()
        self.boxes.clear()
        self._rows: dict[str, tuple[QToolButton, QToolButton]] = {}
        for row, name in enumerate(self._names):
            box = QCheckBox(name)
            box.setToolTip(plain_tip(tr("Whether {name} is a member of the ensemble", name=name)))
            box.toggled.connect(self._on_members)
            choose = tool_button("folder", "", text=tr("Transform file…"), size=12)
            choose.clicked.connect(lambda _=False, name=name: self._choose_file(name))
            remove = tool_button("close", tr("Fit a transform of {name} here instead", name=name), size=12)
            remove.clicked.connect(lambda _=False, name=name: self._set_file(name, ""))
            self.boxes[name], self._rows[name] = box, (choose, remove)
            box.setMinimumHeight(24)  # rows of one height, also that of the target, which needs no transform
            self.members.addWidget(box, row, 0)
            self.members.addWidget(choose, row, 1, Qt.AlignmentFlag.AlignRight)
            self.members.addWidget(remove, row, 2)
        self.members.setColumnStretch(0, 1)

    def _show_file(self, name: str, path: str, there: bool) -> None:
        choose, remove = self._rows[name]
        choose.setText(Path(path).name if path else tr("Transform file…"))
        choose.setToolTip(
            plain_tip(path) if path else tr("Map {name} with a transform that was fitted elsewhere", name=name)
        )
        choose.setVisible(there)
        remove.setVisible(there and bool(path))

    def _on_members(self) -> None:
        chosen = tuple(name for name, box in self.boxes.items() if box.isChecked())
        if replace(self._plan, members=chosen).size < 2:
            self._say(
                plural(
                    len(chosen),
                    "An ensemble needs two members or more; {n} is chosen.",
                    "An ensemble needs two members or more; {n} are chosen.",
                )
            )
            return
        self._say("")
        self.planned.emit({"members": chosen})

    def hideEvent(self, event: QHideEvent) -> None:
        self._on_fitted_on()  # a card that opens like a menu is closed without any field losing the focus
        super().hideEvent(event)

    def _check_filter(self) -> bool:
        """Whether the filter can be used; says why not."""
        try:
            found = filters.parse(self.fitted_on.text().strip())
            if self._faces is not None:
                found.rows(self._faces)
        except FaceLensError as error:
            self._say(f"{error.message} {error.hint}")
            return False
        self._say("")
        return True

    def _on_fitted_on(self) -> None:
        text = self.fitted_on.text().strip()
        if text == self._plan.fitted_on:
            return
        if self._check_filter():
            self.planned.emit({"fitted_on": text})
        elif not self.isVisible():
            self.fitted_on.setText(self._plan.fitted_on)
            self._say("")

    def _choose_file(self, name: str) -> None:
        chosen = QFileDialog.getOpenFileName(self, tr("Transform of {name}", name=name), "", TRANSFORMS)[0]
        if chosen:
            self._set_file(name, chosen)

    def _set_file(self, name: str, path: str) -> None:
        files = {key: value for key, value in {**self.files, name: path}.items() if value}
        self.planned.emit({"files": tuple(files.items())})

    def _say(self, text: str) -> None:
        self.trouble.setText(text)
        self.trouble.setVisible(bool(text))
        self.adjustSize()
