"""The control row of the projection page: which vectors, laid out how."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QPoint, QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import (
    QComboBox,
    QDoubleSpinBox,
    QFormLayout,
    QFrame,
    QHBoxLayout,
    QMenu,
    QPushButton,
    QSpinBox,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from facelens.analyses.parts import Layout
from facelens.analyses.plan import CURRENT, METRICS, PROJECTIONS, SPACES, ProjectionPlan
from facelens.analyses.projection import NAMES
from facelens.figures.part_words import part_name
from facelens.session.workspace import Workspace
from facelens.views.controls import (
    Combo,
    FlowLayout,
    Segmented,
    inset,
    label,
    plain_tip,
    text_width,
    together,
    tool_button,
    vertical_rule,
)
from facelens.words import escaped, tr

METHOD_WORDS = {
    "pca": "The two directions in which the vectors vary most. At once; distances mean what they say",
    "umap": "Who is whose neighbour. Distances between far groups mean little",
    "tsne": "Who is whose neighbour, as the paper draws it. Distances between groups mean nothing",
}
SPACE_WORDS = {
    "auto": ("auto", "Fitted together where vectors of both models can be compared, else each by itself and turned"),
    "joint": ("fitted on both", "One fit on the vectors of both models"),
    "aligned": ("aligned", "Each model by itself; the second is turned, mirrored and scaled onto the first"),
}
ALL = -2  # in the list of parts: all of them
EXPORTS = (("projection.figure", "Export figure…"), ("projection.export", "Export points…"))


class Parameters(QFrame):
    """The card with what a method takes; every change counts at once."""

    planned = Signal(object)  # fields of the plan that change

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent, Qt.WindowType.Popup)
        self.setObjectName("floating")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setAccessibleName(tr("Parameters"))
        self.neighbours = self._number(inset(QSpinBox()), 2, 200, "neighbours")
        self.min_dist = self._number(inset(QDoubleSpinBox()), 0, 1, "min_dist", step=0.05)
        self.perplexity = self._number(inset(QSpinBox()), 2, 200, "perplexity")
        self.seed = self._number(inset(QSpinBox()), 0, 9999, "seed")
        self.distance = Combo()
        for metric in METRICS:
            self.distance.addItem(tr(metric), metric)
        self.distance.activated.connect(lambda _: self.planned.emit({"metric": self.distance.currentData()}))
        self.space = Combo()
        for key in SPACES:
            self.space.addItem(tr(SPACE_WORDS[key][0]), key)
            self.space.setItemData(self.space.count() - 1, tr(SPACE_WORDS[key][1]), Qt.ItemDataRole.ToolTipRole)
        self.space.activated.connect(lambda _: self.planned.emit({"space": self.space.currentData()}))
        self.form = QFormLayout()
        self.form.setLabelAlignment(Qt.AlignmentFlag.AlignLeft)
        self.form.setHorizontalSpacing(14)
        self.form.setVerticalSpacing(8)
        for name, field, tip in (
            (tr("Neighbours"), self.neighbours, tr("Few: fine detail. Many: the large picture")),
            (tr("Least distance"), self.min_dist, tr("How near two points may come; 0 packs groups tightly")),
            (tr("Perplexity"), self.perplexity, tr("About how many neighbours count for each face")),
            (tr("Seed"), self.seed, tr("The same seed gives the same map")),
            (tr("Metric"), self.distance, tr("How far vectors are apart")),
            (tr("Two models"), self.space, tr("How the vectors of two models come onto one map")),
        ):
            field.setAccessibleName(name)
            field.setToolTip(tip)
            self.form.addRow(label(name, name="sub"), field)
        column = QVBoxLayout(self)
        column.setContentsMargins(16, 14, 16, 14)
        column.addLayout(self.form)

    def _number(
        self, field: QSpinBox | QDoubleSpinBox, low: float, high: float, name: str, *, step: float = 1
    ) -> QSpinBox | QDoubleSpinBox:
        field.setRange(low, high)  # type: ignore[arg-type]
        field.setSingleStep(step)  # type: ignore[arg-type]
        field.setKeyboardTracking(False)
        field.valueChanged.connect(lambda value: self.planned.emit({name: value}))
        return field

    def fill(self, plan: ProjectionPlan) -> None:
        """Show what is asked; only what the method takes."""
        for field, value in (
            (self.neighbours, plan.neighbours),
            (self.min_dist, plan.min_dist),
            (self.perplexity, int(plan.perplexity)),
            (self.seed, plan.seed),
        ):
            with QSignalBlocker(field):
                field.setValue(value)  # type: ignore[arg-type]
        self.distance.setCurrentIndex(METRICS.index(plan.metric))
        shown = {self.neighbours: "umap", self.min_dist: "umap", self.perplexity: "tsne"}
        for field, method in shown.items():
            self.form.setRowVisible(field, plan.method == method)
        self.space.setCurrentIndex(SPACES.index(plan.space))
        self.form.setRowVisible(self.space, bool(plan.other))
        self.form.setRowVisible(self.seed, plan.method != "pca")
        self.adjustSize()

    def open_at(self, place: QPoint) -> None:
        """Show it with its top left corner there."""
        self.adjustSize()
        self.move(place)
        self.show()
        fields = (self.neighbours, self.perplexity, self.distance)
        next(field for field in fields if field.isVisible()).setFocus(Qt.FocusReason.PopupFocusReason)


class ProjectionControls(QWidget):
    """See the module's words."""

    planned = Signal(object)  # fields of the plan that change
    armed = Signal(str)  # of projection_map.TOOLS
    refine = Signal()
    fit = Signal()
    linked = Signal(bool)  # links to the nearest vectors are wanted
    asked = Signal(str)  # an action's id

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("header")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.model = self._combo(tr("Model"), tr("Whose vectors are laid out"), self._on_model)
        self.other = self._combo(
            tr("Second model"),
            tr("A model that replaces it: where each face moves to"),
            lambda: self.planned.emit({"other": self.other.currentData()}),
        )
        self.part = self._combo(tr("Part"), tr("The whole vector, or one part of it"), self._on_part)
        self.method = self._combo(tr("Method"), "", self._on_method)
        for key in PROJECTIONS:
            self.method.addItem(NAMES[key], key)
            self.method.setItemData(self.method.count() - 1, tr(METHOD_WORDS[key]), Qt.ItemDataRole.ToolTipRole)
        self.form = Parameters(self)
        self.form.planned.connect(self.planned)
        self.form.hide()
        self.parameters = tool_button("sliders", tr("Neighbours, metric and seed"), text=" ", size=14)
        self.parameters.setAccessibleName(tr("Parameters"))
        self.parameters.setFixedHeight(26)
        self.parameters.clicked.connect(self.open_form)
        left = QWidget()
        flow = FlowLayout(left, gap=8)
        flow.setContentsMargins(12, 7, 0, 7)
        flow.addWidget(together(label(tr("Model"), name="sub"), self.model))
        self.with_other = together(label(tr("to"), name="sub"), self.other)
        flow.addWidget(self.with_other)
        self.with_part = together(label(tr("Part"), name="sub"), self.part)
        flow.addWidget(self.with_part)
        flow.addWidget(together(label(tr("Method"), name="sub"), self.method, self.parameters))
        self.run = QPushButton()
        self.run.setObjectName("primary")
        self.run.setFixedHeight(26)
        self.run.clicked.connect(self.refine)
        self.tool = Segmented([("lasso", tr("Lasso")), ("select", tr("Rectangle"))], label=tr("Drag"), icons_only=True)
        self.tool.button("lasso").setToolTip(tr("A drag draws around faces"))
        self.tool.button("select").setToolTip(tr("A drag draws a rectangle"))
        self.tool.changed.connect(lambda place: self.armed.emit(("lasso", "rectangle")[place]))
        self.links = tool_button(
            "link",
            tr("Lines from the current face to its nearest in the vectors, not on the map; dashed: another person"),
            checkable=True,
        )
        self.links.setAccessibleName(tr("Nearest vectors"))
        self.links.setChecked(True)
        self.links.clicked.connect(self.linked)
        self.whole = tool_button("fit", tr("Show everything (F)"))
        self.whole.clicked.connect(self.fit)
        self.export = tool_button("export", tr("Export this map: figure, or points as a table"))
        self.export.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        menu = QMenu(self.export)
        for key, words in EXPORTS:
            menu.addAction(tr(words)).setData(key)
        menu.triggered.connect(lambda action: self.asked.emit(action.data()))
        self.export.setMenu(menu)
        right = QWidget()
        end = QHBoxLayout(right)
        end.setContentsMargins(0, 7, 8, 7)
        end.setSpacing(8)
        self.run_rule = vertical_rule()
        for part in (self.run, self.run_rule, self.links, self.tool, self.whole, self.export):
            end.addWidget(part)
        self.end = end
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

    def open_form(self) -> None:
        """Let the user set what the method takes."""
        self.form.open_at(self.parameters.mapToGlobal(QPoint(0, self.parameters.height() + 2)))

    def _on_model(self) -> None:
        self.planned.emit({"model": self.model.currentData()})

    def _on_part(self) -> None:
        part = self.part.currentData()
        self.planned.emit({"part": None if part == ALL else part})

    def _on_method(self) -> None:
        self.planned.emit({"method": self.method.currentData()})

    def fill(self, workspace: Workspace, ground: Layout | None) -> None:
        """Offer what the gallery and the models allow, and show what is asked; `ground` are the model's parts."""
        plan = workspace.resolved_projection
        wanted = workspace.projection_plan.part
        names = [(escaped(name), name) for name in workspace.features]
        choose(self.model, names, plan.model)
        choose(self.other, [(tr("no second model"), ""), *(one for one in names if one[1] != plan.model)], plan.other)
        self.with_other.setVisible(len(names) > 1)
        parts: list[tuple[str, object]] = [(tr("all parts"), ALL)]
        if ground is not None and ground.parts > 1:
            here = min(workspace.part, ground.parts - 1)
            parts.append((tr("current: {part}", part=part_name(ground, here)), CURRENT))
            parts += [(part_name(ground, k), k) for k in range(ground.parts)]
        choose(self.part, parts, ALL if plan.part is None else CURRENT if wanted == CURRENT else plan.part)
        self.with_part.setVisible(len(parts) > 1 and not plan.other)
        self.method.setCurrentIndex(PROJECTIONS.index(plan.method))
        self.method.setToolTip(plain_tip(tr(METHOD_WORDS[plan.method])))
        self.form.fill(plan)
        self.parameters.setText(" " + summary(plan))
        self.method.setFixedWidth(int(text_width(self.method.currentText(), 12) + 36))


def choose(combo: QComboBox, items: Sequence[tuple[str, object]], chosen: object) -> None:
    """Offer items (words, value), one of them chosen, without telling anybody."""
    with QSignalBlocker(combo):
        combo.clear()
        for words, value in items:
            combo.addItem(words, value)
        combo.setCurrentIndex(max(0, combo.findData(chosen)))
    combo.setFixedWidth(int(min(200, text_width(combo.currentText(), 12) + 36)))
    combo.view().setMinimumWidth(180)


def summary(plan: ProjectionPlan) -> str:
    """What a method was given, in a few words.

    >>> summary(ProjectionPlan()), summary(ProjectionPlan(method="tsne"))
    ('15 neighbours', 'perplexity 30')
    """
    if plan.method == "umap":
        return tr("{n} neighbours", n=plan.neighbours)
    return tr("perplexity {n}", n=int(plan.perplexity)) if plan.method == "tsne" else tr(plan.metric)
