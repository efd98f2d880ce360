"""The control row of the learners page: whose learners, beside which model, at which rank a face counts as found."""

from __future__ import annotations

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QMenu, QToolButton, QWidget

from facelens.session.workspace import Workspace
from facelens.views.controls import (
    Combo,
    FlowLayout,
    Segmented,
    allow_choice,
    label,
    text_width,
    together,
    tool_button,
    vertical_rule,
)
from facelens.views.part_controls import SliceMenu
from facelens.words import escaped, plural, tr

KS = (1, 2, 4, 8)


class LearnerControls(QWidget):
    """Model, its slices where it has no learners, baseline, k; N and the exports at the right end."""

    planned = Signal(object)  # fields of the plan that change
    ranked = Signal(int)  # k of Recall@k
    asked = Signal(str)  # an action's id

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("header")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.model = _combo(tr("Model"), tr("Whose learners are looked at; an ordinary model is cut into slices"))
        self.model.activated.connect(lambda _: self.planned.emit({"model": self.model.currentData()}))
        self.slices = SliceMenu()
        self.slices.planned.connect(self.planned)
        self.baseline = _combo(tr("Baseline"), tr("The model it is compared with, cut into as many slices"))
        self.baseline.activated.connect(lambda _: self._on_baseline())
        self.k = Segmented([(str(k), f"@{k}") for k in KS], label=tr("Recall at"))
        for k in KS:
            tip = plural(k, "The nearest face is of the same person", "One of the {n} nearest is of the same person")
            self.k.button(str(k)).setToolTip(tip)
        self.k.changed.connect(lambda _: self.ranked.emit(int(self.k.value())))
        left = QWidget()
        flow = FlowLayout(left, gap=8)
        flow.setContentsMargins(12, 7, 0, 7)
        flow.addWidget(together(label(tr("Model"), name="sub"), self.model))
        flow.addWidget(self.slices)
        flow.addWidget(together(label(tr("Baseline"), name="sub"), self.baseline))
        flow.addWidget(together(label(tr("Recall"), name="sub"), self.k))
        self.count = label(name="sub")
        self.export = tool_button("export", tr("Figures, or the numbers as a table"), text=tr("Figure"))
        self.export.setPopupMode(QToolButton.ToolButtonPopupMode.MenuButtonPopup)
        self.export.clicked.connect(lambda: self.asked.emit("learners.figure"))
        menu = QMenu(self.export)
        menu.addAction(tr("Export the figures…")).setData("learners.figure")
        menu.addAction(tr("Export the numbers (CSV, JSON)…")).setData("learners.export")
        menu.triggered.connect(lambda action: self.asked.emit(action.data()))
        self.export.setMenu(menu)
        right = QWidget()
        end = QHBoxLayout(right)
        end.setContentsMargins(0, 7, 8, 7)
        end.setSpacing(8)
        end.addWidget(self.count)
        end.addWidget(vertical_rule())
        end.addWidget(self.export)
        line = QHBoxLayout(self)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(8)
        line.addWidget(left, 1)
        line.addWidget(right, 0, Qt.AlignmentFlag.AlignTop)

    def _on_baseline(self) -> None:
        name = self.baseline.currentData()
        self.planned.emit({"baseline": name, "alone": not name})

    def fill(self, workspace: Workspace) -> None:
        """Offer what the models allow, and show what is asked."""
        from facelens.analyses.parts import divisors, layout
        from facelens.figures.part_words import layout_words

        plan, found = workspace.resolved_learners, workspace.learners
        features = workspace.features.get(plan.model)
        if features is None:
            return
        ground = found.own.layout if found is not None else layout(features, plan)
        names = list(workspace.features)
        _fill(self.model, [(name, escaped(name)) for name in names], plan.model)
        others = [(name, escaped(name)) for name in names if name != plan.model]
        _fill(self.baseline, [("", tr("nothing")), *others], plan.baseline)
        self.baseline.setEnabled(bool(others))
        for place, (name, _) in enumerate(others, 1):
            d = workspace.features[name].dimensions
            able = d % ground.parts == 0
            tip = "" if able else tr("Its {d} dimensions cannot be cut into {k} slices.", d=d, k=ground.parts)
            allow_choice(self.baseline, place, able=able, tip=tip)
        tip = tr("The model it is compared with, cut into as many slices")
        self.baseline.setToolTip(tip if others else tr("No other model has vectors of this gallery."))
        self.slices.setVisible(ground.kind != "learned")
        if ground.kind != "learned":
            learners = ground.kind == "learners"
            self.slices.fill(plan, ground.parts, divisors(features.dimensions), learners=learners)
        n = "" if found is None else tr("N = {n}", n=len(found.ids))
        slices = layout_words(ground) if ground.kind == "slices" else ""
        self.count.setText(" · ".join(text for text in (slices, n) if text))


def _combo(name: str, tip: str) -> QComboBox:
    made = Combo()
    made.setAccessibleName(name)
    made.setToolTip(tip)
    made.setFixedHeight(26)
    return made


def _fill(combo: QComboBox, items: list[tuple[str, str]], now: str) -> None:
    with QSignalBlocker(combo):
        combo.clear()
        for key, text in items:
            combo.addItem(text, key)
        combo.setCurrentIndex(max(0, combo.findData(now)))
    combo.setFixedWidth(int(min(220, text_width(combo.currentText(), 12) + 36)))
    combo.view().setMinimumWidth(int(max([160.0, *(text_width(text, 12) + 24 for _, text in items)])))
