"""The control row of the uncertainty page: which ensemble, which score, what it is compared with, by which rules."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from PySide6.QtCore import QPoint, QSignalBlocker, Qt, Signal
from PySide6.QtGui import QAction, QActionGroup
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QMenu, QToolButton, QWidget

from facelens.analyses.measure import rate
from facelens.analyses.plan import OWN, VARIANCE, EnsemblePlan
from facelens.images.faceset import FaceSet, Labels
from facelens.session.workspace import Workspace
from facelens.views.controls import (
    Combo,
    FlowLayout,
    add_heading,
    label,
    text_width,
    together,
    tool_button,
    vertical_rule,
)
from facelens.views.ensemble_form import EnsembleForm
from facelens.words import plural, tr

# field of the plan: heading, then (value, words, what it means)
RULES: tuple[tuple[str, str, tuple[tuple[object, str, str], ...]], ...] = (
    ("far", "FAR of 1:1", tuple((far, rate(far), "") for far in (1e-1, 1e-2, 1e-3, 1e-4))),
    ("fpir", "FPIR of 1:N", tuple((fpir, f"{100 * fpir:g} %", "") for fpir in (0.1, 0.01, 0.001))),
    (
        "refuse",
        "1:1 leaves out",
        (
            ("both", "pairs with a refused picture", "Neither picture of a pair may be refused."),
            ("gallery", "refused gallery pictures", "A refused picture is not compared with, but may still ask."),
        ),
    ),
    (
        "emptied",
        "A template that lost all its pictures",
        (
            ("keep", "keeps the surest one", "Nobody is un-enrolled."),
            ("unenrol", "is un-enrolled", "Searches of that person are left out and counted."),
        ),
    ),
    (
        "weights",
        "Pictures of a template weigh",
        (
            ("equal", "the same", "The mean of what is kept."),
            ("inverse", "1 / variance", "Pictures on which the models agree count more."),
            ("exponential", "exp(−variance / mean)", "Pictures on which the models agree count more."),
        ),
    ),
    (
        "queries",
        "Compared with the ensemble",
        (
            ("target", "the query model", "Asymmetric: many models index, one small model asks."),
            ("ensemble", "the ensemble itself", "Symmetric: all models on both sides."),
        ),
    ),
    (
        "right",
        "A face is recognised",
        (
            ("pairs", "by most of its pairs", "At most half of its genuine pairs are missed, and its mate is nearest."),
            ("nearest", "by the nearest face", "The nearest face is one of the same person."),
        ),
    ),
)


class UncertaintyControls(QWidget):
    """Ensemble, score, comparison and rules; what was fitted on whom, and the exports, at the right end."""

    planned = Signal(object)  # fields of the plan that change
    scored = Signal(str)  # the score pictures are refused by: "variance" or a column
    compared = Signal(str)  # a column
    asked = Signal(str)  # an action's id

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("header")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.form = EnsembleForm(self)
        self.form.planned.connect(self.planned)
        self.form.hide()
        self.ensemble = tool_button("points", tr("Members, target and transforms of the ensemble"), text=" ", size=14)
        self.ensemble.setAccessibleName(tr("Ensemble"))
        self.ensemble.setObjectName("choice")
        self.ensemble.setFixedHeight(26)
        self.ensemble.clicked.connect(self.open_form)
        self.score = self._combo(tr("Score"), tr("What pictures are ordered and refused by"), self._on_score)
        self.direction = tool_button("descending", "", checkable=True)
        self.direction.clicked.connect(lambda on: self.planned.emit({"lower": on}))
        self.compare = self._combo(
            tr("Compare with"), tr("Another score of the same pictures; see Scatter"), self._on_other
        )
        self.rules = self._build_rules()
        left = QWidget()
        flow = FlowLayout(left, gap=8)
        flow.setContentsMargins(12, 7, 0, 7)
        flow.addWidget(together(label(tr("Ensemble"), name="sub"), self.ensemble))
        flow.addWidget(together(label(tr("Score"), name="sub"), self.score, self.direction))
        flow.addWidget(together(label(tr("Compare with"), name="sub"), self.compare))
        flow.addWidget(self.rules)
        self.fitted = label(name="sub")
        self.export = tool_button("export", tr("The list, the curve or the figures"), text=tr("Export list"))
        self.export.setPopupMode(QToolButton.ToolButtonPopupMode.MenuButtonPopup)
        self.export.clicked.connect(lambda: self.asked.emit("uncertainty.export"))
        menu = QMenu(self.export)
        for words, action in (
            (tr("Export refused faces (CSV)…"), "uncertainty.export"),
            (tr("Export all faces with their scores (CSV)…"), "uncertainty.export_all"),
            (tr("Export the curves (CSV, JSON)…"), "uncertainty.curve"),
            (tr("Export the figures…"), "uncertainty.figure"),
        ):
            menu.addAction(words).setData(action)
        menu.triggered.connect(lambda action: self.asked.emit(action.data()))
        self.export.setMenu(menu)
        right = QWidget()
        end = QHBoxLayout(right)
        end.setContentsMargins(0, 7, 8, 7)
        end.setSpacing(8)
        end.addWidget(self.fitted)
        end.addWidget(vertical_rule())
        end.addWidget(self.export)
        line = QHBoxLayout(self)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(8)
        line.addWidget(left, 1)
        line.addWidget(right, 0, Qt.AlignmentFlag.AlignTop)

    def _combo(self, name: str, tip: str, slot: Callable[[], None]) -> QComboBox:
        made = Combo()
        made.setAccessibleName(name)
        made.setToolTip(tip)
        made.setFixedHeight(26)
        made.activated.connect(lambda _: slot())
        return made

    def _build_rules(self) -> QToolButton:
        made = tool_button("sliders", tr("Rates, and what refusing means"), text=tr("Rules"), size=14)
        made.setFixedHeight(26)
        made.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        menu = QMenu(made)
        menu.setToolTipsVisible(True)
        self.choices: dict[tuple[str, object], QAction] = {}
        for field, heading, values in RULES:
            add_heading(menu, tr(heading))
            only_one = QActionGroup(menu)
            for value, words, tip in values:
                action = menu.addAction(tr(words))
                action.setToolTip(tr(tip) if tip else tr(heading))
                action.setCheckable(True)
                action.triggered.connect(lambda _, field=field, value=value: self.planned.emit({field: value}))
                only_one.addAction(action)
                self.choices[field, value] = action
        made.setMenu(menu)
        return made

    def _on_score(self) -> None:
        self.scored.emit(self.score.currentData())

    def _on_other(self) -> None:
        self.compared.emit(self.compare.currentData() or "")

    def open_form(self) -> None:
        """Let the user put the ensemble together."""
        below = self.ensemble.mapToGlobal(QPoint(0, self.ensemble.height() + 2))
        self.form.open_at(below)

    def fill(self, workspace: Workspace, compared: str) -> None:
        """Offer what the gallery and the models allow, and show what is asked."""
        plan, faces = workspace.resolved_ensemble, workspace.faces
        self.form.fill(workspace)
        self.ensemble.setText(summary(plan))
        self.ensemble.setFixedWidth(int(min(300, text_width(self.ensemble.text(), 12) + 56)))
        names = score_columns(faces)
        with QSignalBlocker(self.score):
            self.score.clear()
            for own in OWN:
                self.score.addItem(tr(own), own)
            for name in names:
                self.score.addItem(name, name)
            self.score.setCurrentIndex(max(0, self.score.findData(plan.by)))
        with QSignalBlocker(self.compare):
            self.compare.clear()
            self.compare.addItem(tr("nothing"), "")
            if plan.by not in OWN:
                self.compare.addItem(tr("variance"), VARIANCE)
            for name in names:
                if name != plan.by:
                    self.compare.addItem(name, name)
            self.compare.setCurrentIndex(max(0, self.compare.findData(compared)))
        self.direction.setVisible(plan.by not in OWN)
        self.direction.setChecked(plan.lower)
        self.direction.setToolTip(
            tr("Low values are refused first. Click for high values.")
            if plan.lower
            else tr("High values are refused first. Click for low values.")
        )
        for (field, value), action in self.choices.items():
            if getattr(plan, field) == value:
                action.setChecked(True)
        self._narrow()

    def set_correlation(self, words: str) -> None:
        """Write the rank correlation beside the name of what is compared."""
        place = self.compare.currentIndex()
        name = self.compare.itemData(place)
        if name and words:
            self.compare.setItemText(place, f"{tr('variance') if name == VARIANCE else name}, {words}")
            self._narrow()

    def _narrow(self) -> None:
        for combo in (self.score, self.compare):
            combo.setFixedWidth(int(min(240, text_width(combo.currentText(), 12) + 36)))
            combo.view().setMinimumWidth(200)


def summary(plan: EnsemblePlan) -> str:
    """The ensemble in a few words.

    >>> summary(EnsemblePlan(members=("a", "b", "c"), target="c"))
    'M2M into c, 3 models'
    """
    models = plural(len(plan.members), "{n} model", "{n} models")
    if plan.size < 2:
        return tr("none")
    if plan.mode == "unified":
        return tr("Unified with {name}, {models}", name=plan.target, models=models)
    return tr("M2M into {name}, {models}", name=plan.target, models=models)


def score_columns(faces: FaceSet | None) -> list[str]:
    """Columns with more than one number, but for the variance itself."""
    if faces is None:
        return []
    found = []
    for name, column in faces.columns.items():
        if isinstance(column, Labels) or name == VARIANCE:
            continue
        known = column[np.isfinite(column)]
        if len(known) and known.min() < known.max():
            found.append(name)
    return found
