"""The control row of the evaluation page: what is asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtGui import QAction, QActionGroup
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QMenu, QToolButton, QWidget

from facelens.analyses.plan import ALL_PAIRS, PARTS
from facelens.images.faceset import CAMERA, Column, Labels
from facelens.session.workspace import CROSSINGS, Workspace
from facelens.views.controls import (
    Combo,
    FlowLayout,
    Segmented,
    label,
    plain_tip,
    text_width,
    together,
    tool_button,
    vertical_rule,
)
from facelens.words import plural, tr


@dataclass(frozen=True)
class Convention:
    """A field of the plan on which the field does not agree: what each choice is called and means, in one sentence."""

    field: str
    name: str
    part: str  # the kind of test that it belongs to
    words: Mapping[object, tuple[str, str]]


CONVENTIONS = (
    Convention(
        "rule",
        "TAR rule",
        "verification",
        {
            "roc": ("ROC", "The smallest observed score of any kind that accepts no more impostors than the target."),
            "nist": ("NIST", "The threshold is one of the impostor scores, the lowest that keeps to the target."),
            "nearest": (
                "nearest",
                "The point of the ROC whose FAR is closest to the target, as insightface and IJB-C code do.",
            ),
            "conservative": ("conservative", "Just above the first impostor that would break the target."),
            "pfe": ("PFE", "The impostor score at the rounded place, as the public code of PFE does."),
        },
    ),
    Convention(
        "open_rule",
        "Open-set rule",
        "identification",
        {
            "nist": (
                "NIST",
                "The threshold is one of the strangers' scores, the lowest that keeps to the target.",
            ),
            "roc": ("ROC", "The smallest observed score of any kind that answers no more strangers than the target."),
            "mixbct": ("MixBCT", "The stranger's score at the place rounded down, and accepted only above it."),
            "pfe": ("PFE", "The stranger's score at the rounded place, as the public code of PFE does."),
        },
    ),
    Convention(
        "r_mode",
        "R counts",
        "retrieval",
        {
            "exclude_self": ("the others", "R is how many other pictures of the person there are."),
            "paper": (
                "the query too",
                "R counts the query itself, so that one right picture is never found, as DeepFace-EMD does.",
            ),
        },
    ),
    Convention(
        "junk",
        "Same camera",
        "retrieval",
        {
            True: (
                "left out",
                "What the query's own camera saw of the person is neither right nor wrong, as in Market-1501.",
            ),
            False: ("counts", "What the query's own camera saw of the person counts as found."),
        },
    ),
    Convention(
        "nmi_mean",
        "Clustering",
        "retrieval",
        {
            "": ("none", "Faces are not grouped without names, which takes longer than all the rest."),
            "arithmetic": ("NMI, arithmetic", "Groups without names; NMI divides by the mean of both entropies."),
            "geometric": ("NMI, geometric", "Groups without names; NMI divides by the root of their product."),
        },
    ),
)
POOLING = (
    ("detector_score", "Weigh by detector score", "A picture counts as much as the detector was sure of it."),
    (
        "keep_norm",
        "Keep the length of vectors",
        "Longer vectors count more; else all are taken at unit length.",
    ),
    (
        "flip",
        "Expect mirrored pictures",
        "Says so where vectors were made without them; embedding mirrors.",
    ),
)
EMPTY_WORDS = {
    "missing": ("Leave out templates without a picture", "Their pairs are left out and counted."),
    "lowest": ("Score templates without a picture lowest", "Their pairs are refused at every threshold, as PFE does."),
}
CROSSING_WORDS = {
    "": ("A and B", "Each model by itself, on the same faces"),
    "ab": ("A in B", "Queries of A are searched in the gallery of B; B by itself beside it"),
    "ba": ("B in A", "Queries of B are searched in the gallery of A; A by itself beside it"),
}


class EvaluationControls(QWidget):
    """Protocol, kind of test, its conventions, breakdown, models; the method and the exports at the right end."""

    planned = Signal(object)  # fields of the plan that change
    crossed = Signal(str)  # of CROSSINGS
    part_chosen = Signal(str)  # of PARTS
    asked = Signal(str)  # an action's id

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("header")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._without: set[str] = set()  # what the gallery has no use for
        self._build()
        self._offer()

    def _combo(self, name: str, tip: str, slot: Callable[[], None]) -> QComboBox:
        made = Combo()
        made.setAccessibleName(name)
        made.setToolTip(tip)
        made.setFixedHeight(26)
        made.activated.connect(lambda _: slot())
        return made

    def _build(self) -> None:
        self.protocol = self._combo(
            tr("Protocol"), tr("Which pairs and searches are made"), lambda: self._planned("protocol", self.protocol)
        )
        self.part = Segmented([(part, tr(part.capitalize())) for part in PARTS], label=tr("Kind of test"))
        for part, tip in zip(
            PARTS,
            (
                tr("1:1, whether two pictures show the same person"),
                tr("1:N, whether a search finds the right person and turns strangers away"),
                tr("What share of the nearest pictures shows the same person"),
            ),
        ):
            self.part.button(part).setToolTip(tip)
        self.part.changed.connect(self._on_part)
        self.conventions: dict[str, QComboBox] = {}
        for one in CONVENTIONS:
            combo = self._combo(tr(one.name), "", partial(self._chosen, one.field))
            for value, (name, tip) in one.words.items():
                combo.addItem(tr(name), value)
                combo.setItemData(combo.count() - 1, tr(tip), Qt.ItemDataRole.ToolTipRole)
            self.conventions[one.field] = combo
        self.rule = self.conventions["rule"]
        self.templates = self._build_templates()
        self.breakdown = self._combo(
            tr("Breakdown"),
            tr("The same numbers for each value of a column; see Breakdown below"),
            lambda: self._planned("breakdown", self.breakdown),
        )
        self.crossing = self._combo(tr("Compare"), "", self._crossed)
        for crossing in CROSSINGS:
            name, tip = CROSSING_WORDS[crossing]
            self.crossing.addItem(tr(name), crossing)
            self.crossing.setItemData(self.crossing.count() - 1, tr(tip), Qt.ItemDataRole.ToolTipRole)
        left = QWidget()
        flow = FlowLayout(left, gap=8)
        flow.setContentsMargins(12, 7, 0, 7)
        flow.addWidget(together(label(tr("Protocol"), name="sub"), self.protocol))
        flow.addWidget(self.part)
        self.groups = {  # a label and its control, by the field of the plan
            one.field: together(label(tr(one.name), name="sub"), self.conventions[one.field]) for one in CONVENTIONS
        }
        self.groups["templates"] = together(self.templates)
        self.groups["breakdown"] = together(label(tr("Breakdown"), name="sub"), self.breakdown)
        self.groups["crossing"] = together(label(tr("Compare"), name="sub"), self.crossing)
        for group in self.groups.values():
            flow.addWidget(group)
        self.method = label(name="sub")
        self.tables = tool_button("export", tr("Export all numbers, the policy or the figure"), text=tr("Tables"))
        self.tables.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        menu = QMenu(self.tables)
        for words, action in (
            (tr("Export tables (JSON, CSV, LaTeX)…"), "evaluate.export"),
            (tr("Copy the table as LaTeX"), "evaluate.latex"),
            (tr("Export threshold policy…"), "evaluate.policy"),
            (tr("Export all figures…"), "evaluate.figure"),
        ):
            menu.addAction(words).setData(action)
        menu.triggered.connect(lambda action: self.asked.emit(action.data()))
        self.tables.setMenu(menu)
        right = QWidget()
        end = QHBoxLayout(right)
        end.setContentsMargins(0, 7, 8, 7)
        end.setSpacing(8)
        end.addWidget(self.method)
        end.addWidget(vertical_rule())
        end.addWidget(self.tables)
        line = QHBoxLayout(self)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(8)
        line.addWidget(left, 1)
        line.addWidget(right, 0, Qt.AlignmentFlag.AlignTop)

    def _build_templates(self) -> QToolButton:
        made = tool_button(
            "sliders", tr("How the pictures of a template become one vector"), text=tr("Templates"), size=14
        )
        made.setFixedHeight(26)
        made.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        menu = QMenu(made)
        menu.setToolTipsVisible(True)
        self.pooling: dict[str, QAction] = {}
        for field, name, tip in POOLING:
            action = menu.addAction(tr(name))
            action.setToolTip(tr(tip))
            action.setCheckable(True)
            action.triggered.connect(lambda on, field=field: self.planned.emit({field: on}))
            self.pooling[field] = action
        menu.addSeparator()
        only_one = QActionGroup(menu)
        for value, (name, tip) in EMPTY_WORDS.items():
            action = menu.addAction(tr(name))
            action.setToolTip(tr(tip))
            action.setCheckable(True)
            action.triggered.connect(lambda _, value=value: self.planned.emit({"empty_templates": value}))
            only_one.addAction(action)
            self.pooling[value] = action
        made.setMenu(menu)
        return made

    def _planned(self, field: str, combo: QComboBox) -> None:
        self.planned.emit({field: combo.currentData()})

    def _chosen(self, field: str) -> None:
        self._planned(field, self.conventions[field])

    def _crossed(self) -> None:
        self.crossed.emit(self.crossing.currentData())

    def _on_part(self, place: int) -> None:
        self.show_part(PARTS[place])
        self.part_chosen.emit(PARTS[place])

    def show_part(self, part: str) -> None:
        """Show a kind of test as chosen, with the conventions that it has."""
        self.part.set_value(part)
        self._offer()

    def _offer(self) -> None:
        """Only what changes the page that is seen."""
        part = self.part.value()
        for one in CONVENTIONS:
            self.groups[one.field].setVisible(one.part == part and one.field not in self._without)
        self.groups["templates"].setVisible("templates" not in self._without)
        self.groups["breakdown"].setVisible(part == "verification")
        self.groups["crossing"].setVisible("crossing" not in self._without)

    def fill(self, workspace: Workspace) -> None:
        """Offer what the gallery and the models allow, and show what is asked."""
        faces, test, plan = workspace.kept_faces, workspace.protocol, workspace.plan
        people = len(np.unique(faces.identity.codes[faces.identity.codes >= 0])) if faces is not None else 0
        with QSignalBlocker(self.protocol), QSignalBlocker(self.breakdown):
            self.protocol.clear()
            self.protocol.addItem(
                tr("all pairs, {people}", people=plural(people, "{n} identity", "{n} identities")), ALL_PAIRS
            )
            if test is not None:
                self.protocol.addItem(test.name, test.name)
            self.protocol.setCurrentIndex(max(0, self.protocol.findData(plan.protocol)))
            self.breakdown.clear()
            self.breakdown.addItem(tr("none"), "")
            for name, column in faces.columns.items() if faces is not None else ():
                if _divides(column):
                    self.breakdown.addItem(name, name)
            self.breakdown.setCurrentIndex(max(0, self.breakdown.findData(plan.breakdown)))
        for one in CONVENTIONS:
            combo, value = self.conventions[one.field], getattr(plan, one.field)
            with QSignalBlocker(combo):
                combo.setCurrentIndex(tuple(one.words).index(value))
            combo.setToolTip(plain_tip(tr(one.words[value][1])))
        for field, _, _ in POOLING:
            self.pooling[field].setChecked(getattr(plan, field))
        self.pooling[plan.empty_templates].setChecked(True)
        with QSignalBlocker(self.crossing):
            self.crossing.setCurrentIndex(CROSSINGS.index(workspace.crossing))
            self.crossing.setToolTip(plain_tip(tr(CROSSING_WORDS[workspace.crossing][1])))
        pooled = test is not None and test.templates is not None and plan.protocol == test.name
        there = {
            "crossing": len(workspace.evaluable) > 1 or bool(workspace.crossing),
            "junk": faces is not None and CAMERA in faces.columns,
            "templates": pooled,
        }
        self._without = {field for field, known in there.items() if not known}
        self._offer()
        self.setVisible(workspace.faces is not None)
        for combo in (self.protocol, *self.conventions.values(), self.breakdown, self.crossing):
            combo.setFixedWidth(int(min(220, text_width(combo.currentText(), 12) + 36)))
            combo.view().setMinimumWidth(200)


def _divides(column: Column) -> bool:
    """Whether a column has values that several faces share, and more than one."""
    if isinstance(column, Labels):
        return 1 < len(column.names) <= max(2, len(column.codes) // 2)
    known = column[np.isfinite(column)]
    return len(known) > 0 and bool(known.min() < known.max())
