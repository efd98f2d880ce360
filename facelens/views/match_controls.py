"""The control row of the match page: whose patches, how they weigh and move, and what they count in the score."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QObject, QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import QComboBox, QDoubleSpinBox, QHBoxLayout, QMenu, QSlider, QToolButton, QWidget

from facelens.analyses.plan import ALPHA, PATCH_WEIGHTS, PLAIN_SUM, SOLVERS
from facelens.figures.match_words import SOLVER_WORDS, WEIGHT_WORDS
from facelens.session.workspace import Workspace
from facelens.views.controls import (
    Combo,
    FlowLayout,
    Segmented,
    inset,
    label,
    text_width,
    together,
    tool_button,
    vertical_rule,
)
from facelens.words import number, tr

SHORTLISTS = (10, 30, 50, 100, 200, 0)
STEPS = 100  # of alpha


class MatchControls(QWidget):
    """Alpha, weights, grid, solver, shortlist, model; occluding and the exports at the right end."""

    planned = Signal(object)  # fields of the plan that change
    occlude = Signal(bool)
    asked = Signal(str)  # an action's id

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("header")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.alpha = QSlider(Qt.Orientation.Horizontal)
        self.alpha.setRange(0, STEPS)
        self.alpha.setFixedWidth(110)
        self.alpha.setAccessibleName(tr("Alpha"))
        self.alpha.setToolTip(
            tr("Share of patch distance in the score. 0 = cosine only, 1 = patches only. Double-click: 0.7.")
        )
        self.alpha.valueChanged.connect(lambda step: self.planned.emit({"alpha": step / STEPS}))
        self.alpha.installEventFilter(self)
        self.value = label("0.70")
        self.value.setFixedWidth(30)
        self.sum = tool_button("plus", tr("Plain sum of both distances instead of a share"), checkable=True)
        self.sum.clicked.connect(lambda on: self.planned.emit({"alpha": PLAIN_SUM if on else ALPHA}))
        self.weights = Segmented([(key, tr(WEIGHT_WORDS[key][0])) for key in PATCH_WEIGHTS], label=tr("Weights"))
        for key in PATCH_WEIGHTS:
            self.weights.button(key).setToolTip(tr(WEIGHT_WORDS[key][1]))
        self.weights.changed.connect(lambda _: self.planned.emit({"weights": self.weights.value()}))
        self.grid = self._combo(tr("Grid"), tr("How finely faces are cut into patches"))
        self._grids: list[tuple[str, object]] = []  # layer and grid, row by row of that list
        self.grid.activated.connect(lambda i: self.planned.emit(dict(zip(("layer", "grid"), self._grids[i]))))
        self.solver = self._combo(tr("Solver"), tr("How the plan is found"))
        for key in SOLVERS:
            self.solver.addItem(tr(SOLVER_WORDS[key][0]), key)
            self.solver.setItemData(self.solver.count() - 1, tr(SOLVER_WORDS[key][1]), Qt.ItemDataRole.ToolTipRole)
        self.solver.activated.connect(lambda _: self.planned.emit({"solver": self.solver.currentData()}))
        self.epsilon = inset(QDoubleSpinBox())
        self.epsilon.setRange(0.001, 1.0)
        self.epsilon.setDecimals(3)
        self.epsilon.setSingleStep(0.01)
        self.epsilon.setKeyboardTracking(False)
        self.epsilon.setFixedHeight(26)
        self.epsilon.setAccessibleName(tr("Epsilon"))
        self.epsilon.setToolTip(tr("How much the plan is smoothed; 0.05 as published"))
        self.epsilon.valueChanged.connect(lambda value: self.planned.emit({"epsilon": round(value, 4)}))
        self.epsilon_row = together(label(tr("ε"), name="sub"), self.epsilon)
        self.shortlist = self._combo(tr("Shortlist"), tr("How many of the first stage the second one looks at"))
        for k in SHORTLISTS:
            self.shortlist.addItem(str(k) if k else tr("all"), k)
        self.shortlist.setItemData(
            len(SHORTLISTS) - 1, tr("Every face of the gallery by patches; takes long"), Qt.ItemDataRole.ToolTipRole
        )
        self.shortlist.activated.connect(lambda _: self.planned.emit({"shortlist": self.shortlist.currentData()}))
        self.model = self._combo(tr("Model"), tr("Whose vectors and patches are compared"))
        self.model.activated.connect(lambda _: self.planned.emit({"model": self.model.currentData()}))
        left = QWidget()
        flow = FlowLayout(left, gap=8)
        flow.setContentsMargins(12, 7, 0, 7)
        flow.addWidget(together(label("α", name="sub"), self.alpha, self.value, self.sum))
        flow.addWidget(together(label(tr("Weights"), name="sub"), self.weights))
        flow.addWidget(together(label(tr("Grid"), name="sub"), self.grid))
        flow.addWidget(together(label(tr("Solver"), name="sub"), self.solver))
        flow.addWidget(self.epsilon_row)
        flow.addWidget(together(label(tr("Shortlist"), name="sub"), self.shortlist))
        self.model_row = together(label(tr("Model"), name="sub"), self.model)
        flow.addWidget(self.model_row)
        self.occluder = tool_button("brush", tr("Paint on the query"), text=tr("Occlude"), checkable=True)
        self.occluder.toggled.connect(self.occlude)
        self.export = tool_button("export", tr("Figures, or the ranking as a table"), text=tr("Figure"))
        self.export.setPopupMode(QToolButton.ToolButtonPopupMode.MenuButtonPopup)
        self.export.clicked.connect(lambda: self.asked.emit("match.figure"))
        menu = QMenu(self.export)
        for words, action in (
            (tr("Export the figures…"), "match.figure"),
            (tr("Export the ranking (CSV, JSON)…"), "match.export"),
        ):
            menu.addAction(words).setData(action)
        menu.triggered.connect(lambda action: self.asked.emit(action.data()))
        self.export.setMenu(menu)
        right = QWidget()
        end = QHBoxLayout(right)
        end.setContentsMargins(0, 7, 8, 7)
        end.setSpacing(8)
        for part in (self.occluder, vertical_rule(), self.export):
            end.addWidget(part)
        line = QHBoxLayout(self)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(8)
        line.addWidget(left, 1)
        line.addWidget(right, 0, Qt.AlignmentFlag.AlignTop)

    def _combo(self, name: str, tip: str) -> QComboBox:
        made = Combo()
        made.setAccessibleName(name)
        made.setToolTip(tip)
        made.setFixedHeight(26)
        return made

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self.alpha and event.type() == QEvent.Type.MouseButtonDblClick:
            self.planned.emit({"alpha": ALPHA})
            return True
        return super().eventFilter(watched, event)

    def fill(self, workspace: Workspace) -> None:
        """Offer what the models allow, and show what is asked."""
        from facelens.features.grids import grids

        plan = workspace.resolved_match
        seen = workspace.inspection(plan.model)
        with QSignalBlocker(self.alpha):
            self.alpha.setValue(round(STEPS * max(plan.alpha, 0)))
        self.alpha.setEnabled(plan.alpha >= 0)
        self.value.setText(number(plan.alpha, 2) if plan.alpha >= 0 else tr("sum"))
        self.sum.setChecked(plan.alpha < 0)
        self.weights.set_value(plan.weights)
        with QSignalBlocker(self.epsilon):
            self.epsilon.setValue(plan.epsilon)
        self.epsilon_row.setVisible(plan.solver != "exact")
        choices = list(grids(seen)) if seen is not None else []
        names = [(name, name) for name in workspace.features if workspace.has_patches(name)]
        self._grids = [(choice.layer, choice.grid) for choice in choices]
        asked = (plan.layer, plan.grid)
        place = self._grids.index(asked) if asked in self._grids else 0
        self._fill(self.grid, [(choice.label, i) for i, choice in enumerate(choices)], place)
        self._fill(self.model, names, plan.model)
        self.model_row.setVisible(len(names) > 1)
        self.solver.setCurrentIndex(self.solver.findData(plan.solver))
        self.shortlist.setCurrentIndex(self.shortlist.findData(plan.shortlist))
        for combo in (self.solver, self.shortlist):
            combo.setFixedWidth(int(text_width(combo.currentText(), 12) + 36))

    def _fill(self, combo: QComboBox, items: Sequence[tuple[str, object]], now: object) -> None:
        with QSignalBlocker(combo):
            combo.clear()
            for text, data in items:
                combo.addItem(text, data)
            place = next((i for i, (_, data) in enumerate(items) if data == now), 0)
            combo.setCurrentIndex(place)
        combo.setFixedWidth(int(min(200, text_width(combo.currentText(), 12) + 36)))
        combo.view().setMinimumWidth(int(max([90.0, *(text_width(text, 12) + 24 for text, _ in items)])))
