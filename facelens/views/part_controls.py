"""The control row of the confidence page: whose parts, what is shown of them, how they are matched."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtGui import QAction, QActionGroup
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QMenu, QToolButton, QWidget

from facelens.analyses.measure import rate
from facelens.analyses.plan import MATCHES, SHOWN, PartsPlan
from facelens.features.featureset import FeatureSet
from facelens.session.workspace import Workspace
from facelens.views import icons
from facelens.views.controls import (
    Combo,
    FlowLayout,
    add_heading,
    allow_choice,
    label,
    text_width,
    together,
    tool_button,
    vertical_rule,
)
from facelens.words import tr

MATCH_WORDS = {
    "cosine": ("cosine", "The cosine of the parts that vote; all weigh the same"),
    "weighted": ("confidence-weighted", "A cosine in which each part weighs by how sure both faces are of it"),
    "likelihood": ("mutual likelihood", "How likely both faces share one point, given how sure their parts are (PFE)"),
}
CUT_WORDS = {
    "order": ("As they lie", "The first D / K numbers are slice 1, and so on"),
    "rotation": (
        "After a learned rotation",
        "Principal axes of these faces, dealt out so that each slice has its share",
    ),
    "random": ("After a random rotation", "The control: what slices look like that nobody chose"),
}
FARS = (1e-1, 1e-2, 1e-3, 1e-4)


class SliceMenu(QToolButton):
    """How an ordinary embedding is cut: how many slices, by which axes, at length 1 or as they are."""

    planned = Signal(object)  # fields of the plan that change

    def __init__(self) -> None:
        super().__init__()
        icons.dress(self, "sliders", 14)
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setFixedHeight(26)
        self.setAccessibleName(tr("Slices"))
        self.setToolTip(tr("This model has no learned parts. It is cut into slices, which carry no confidence."))
        self.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.setMenu(QMenu(self))
        self.menu().setToolTipsVisible(True)

    def fill(self, plan: PartsPlan, parts: int, possible: list[int], *, learners: bool) -> None:
        """Offer what divides the dimensions; learners are as many as they are."""
        self.setText(" " + (tr("{k} learners", k=parts) if learners else tr("{k} slices", k=parts)))
        menu = self.menu()
        menu.clear()
        if not learners:
            self._section(menu, tr("How many"), [(k, str(k), "") for k in possible], parts, "parts")
            cuts = [(key, tr(words), tr(tip)) for key, (words, tip) in CUT_WORDS.items()]
            self._section(menu, tr("Which numbers"), cuts, plan.cut, "cut")
        lengths = [
            (False, tr("As long as they are"), tr("Slices that carry more of the vector weigh more")),
            (True, tr("All at length 1"), tr("Every slice weighs the same")),
        ]
        self._section(menu, tr("How long"), lengths, plan.unit, "unit")

    def _section(
        self, menu: QMenu, title: str, choices: Sequence[tuple[object, str, str]], now: object, field: str
    ) -> None:
        add_heading(menu, title)
        group = QActionGroup(menu)
        for value, words, tip in choices:
            action = QAction(words, menu)
            action.setToolTip(tip or title)
            action.setCheckable(True)
            action.setChecked(value == now)
            action.triggered.connect(lambda _=False, value=value: self.planned.emit({field: value}))
            group.addAction(action)
            menu.addAction(action)


class PartControls(QWidget):
    """Model, what is shown, how parts are matched; N, and the exports at the right end."""

    planned = Signal(object)  # fields of the plan that change
    asked = Signal(str)  # an action's id

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("header")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.model = self._combo(tr("Model"), tr("Whose parts are looked at"), "model")
        self.slices = SliceMenu()
        self.slices.planned.connect(self.planned)
        self.shown = self._combo(tr("Show"), tr("What the colours say"), "show")
        self.match = self._combo(tr("Match by"), tr("How two faces are compared part by part"), "match")
        self.far = self._combo(tr("FAR"), tr("Where same and different are told apart"), "far")
        for far in FARS:
            self.far.addItem(rate(far), far)
        left = QWidget()
        flow = FlowLayout(left, gap=8)
        flow.setContentsMargins(12, 7, 0, 7)
        flow.addWidget(together(label(tr("Model"), name="sub"), self.model))
        flow.addWidget(self.slices)
        flow.addWidget(together(label(tr("Show"), name="sub"), self.shown))
        flow.addWidget(together(label(tr("Match by"), name="sub"), self.match))
        flow.addWidget(together(label(tr("FAR"), name="sub"), self.far))
        self.count = label(name="sub")
        self.export = tool_button("export", tr("Figures, or the numbers as a table"), text=tr("Figure"))
        self.export.setPopupMode(QToolButton.ToolButtonPopupMode.MenuButtonPopup)
        self.export.clicked.connect(lambda: self.asked.emit("confidence.figure"))
        menu = QMenu(self.export)
        for words, action in (
            (tr("Export the figures…"), "confidence.figure"),
            (tr("Export all faces with their parts (CSV)…"), "confidence.export"),
            (tr("Export what the parts are good for (JSON)…"), "confidence.study"),
        ):
            menu.addAction(words).setData(action)
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

    def _combo(self, name: str, tip: str, field: str) -> QComboBox:
        made = Combo()
        made.setAccessibleName(name)
        made.setToolTip(tip)
        made.setFixedHeight(26)
        made.activated.connect(lambda _: self.planned.emit({field: made.currentData()}))
        return made

    def fill(self, workspace: Workspace) -> None:
        """Offer what the models allow, and show what is asked."""
        from facelens.analyses.parts import divisors, layout
        from facelens.figures.part_words import layout_words, words

        plan, parts = workspace.resolved_parts, workspace.parts
        features = workspace.features.get(plan.model)
        if features is None:
            return
        ground = parts.layout if parts is not None else layout(features, plan)
        models = [(name, f"{name}, {_words(found, plan)}") for name, found in workspace.features.items()]
        _fill(self.model, [(name, text) for name, text in models], plan.model)
        own = ground.kind == "learned"
        self.slices.setVisible(not own)
        if not own:
            possible = divisors(features.dimensions)
            self.slices.fill(plan, ground.parts, possible, learners=ground.kind == "learners")
            self.slices.setToolTip(layout_words(ground))
        values = [key for key in SHOWN if parts is None or key in parts.values]
        _fill(self.shown, [(key, words(key, ground).title) for key in values], plan.show or (values or [""])[0])
        sure = parts is not None and parts.log_variance is not None
        _fill(self.match, [(key, tr(MATCH_WORDS[key][0])) for key in MATCHES], plan.match)
        for place, key in enumerate(MATCHES):
            able = key == "cosine" or sure
            reason = tr("This model does not say how sure its parts are")
            allow_choice(self.match, place, able=able, tip=tr(MATCH_WORDS[key][1]) if able else reason)
        with QSignalBlocker(self.far):
            self.far.setCurrentIndex(self.far.findData(plan.far))
        self.count.setText(
            "" if parts is None else tr("one colour scale for all faces, N = {n}", n=f"{len(parts.ids):,}")
        )


def _words(features: FeatureSet, plan: PartsPlan) -> str:
    """What kind of parts a model has, in a list."""
    from dataclasses import replace

    from facelens.analyses.parts import layout

    ground = layout(features, replace(plan, parts=0))
    return {
        "learned": tr("{k} learned parts", k=ground.parts),
        "learners": tr("{k} learners", k=ground.parts),
    }.get(ground.kind, tr("slices"))


def _fill(combo: QComboBox, items: list[tuple[str, str]], now: str) -> None:
    with QSignalBlocker(combo):
        combo.clear()
        for key, text in items:
            combo.addItem(text, key)
        combo.setCurrentIndex(max(0, combo.findData(now)))
    combo.setFixedWidth(int(min(260, text_width(combo.currentText(), 12) + 36)))
    combo.view().setMinimumWidth(int(max([200.0, *(text_width(text, 12) + 24 for _, text in items)])))
