"""The control row of the upgrade page: what could be reached, further models, how vectors meet, at which rate."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFileDialog, QMenu, QToolButton, QWidget

from facelens.analyses.measure import rate
from facelens.analyses.plan import DIRECTIONS, FARS, METHODS, UpgradePlan
from facelens.session.workspace import Workspace
from facelens.views.control_row import Choice, ControlRow
from facelens.views.controls import label, tool_button
from facelens.words import escaped, plural, tr

DIRECTION_WORDS = {
    "auto": tr("auto"),
    "direct": tr("direct"),
    "backward": tr("backward"),
    "forward": tr("forward"),
}


class UpgradeControls(ControlRow):
    """Upper, further models, direction, transforms, rate; who counts and the exports at the right end."""

    planned = Signal(object)  # fields of the plan that change

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.upper = Choice(
            tr("Upper model"), tr("The new model as it would be without regard to the old one: what could be gained")
        )
        self.upper.chosen.connect(lambda name: self.planned.emit({"upper": name}))
        self.others_menu, self.others = QMenu(self), tool_button(
            "plus", tr("Further models of the matrix, and of a sequence of upgrades"), text=tr("further")
        )  # fmt: skip
        self.others_menu.triggered.connect(lambda _: self._on_others())
        self.direction = Choice(tr("Direction"), tr("How queries of the new model meet the gallery of the old one"))
        self.direction.chosen.connect(lambda way: self.planned.emit({"direction": way}))
        self.transforms_menu, self.transforms = QMenu(self), tool_button(
            "swap", tr("How vectors of one model come into the space of the other"), text=tr("auto")
        )  # fmt: skip
        for button, menu in ((self.others, self.others_menu), (self.transforms, self.transforms_menu)):
            button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
            button.setMenu(menu)
        self.far = Choice(tr("FAR"), tr("The rate of false matches at which models are compared"))
        self.far.chosen.connect(lambda far: self.planned.emit({"far": far}))
        self.traffic = Choice(tr("Traffic"), tr("A column that says how often a face is asked for, for the backfill"))
        self.traffic.chosen.connect(lambda name: self.planned.emit({"traffic": name}))
        self.add(tr("Upper"), self.upper)
        self.add("", self.others)
        self.add(tr("Direction"), self.direction)
        self.add(tr("Transforms"), self.transforms)
        self.add(tr("FAR"), self.far)
        self.with_traffic = self.add(tr("Traffic"), self.traffic)
        self.count = label(name="sub")
        self.end(self.count)
        self.export = self.offer(
            "export",
            tr("Report"),
            tr("Everything on this page as files"),
            [
                ("upgrade.report", tr("Export the report…")),
                ("upgrade.figure", tr("Export the figures…")),
                ("upgrade.export", tr("Export the numbers (JSON)…")),
                ("upgrade.flips", tr("Export the flips (CSV)…")),
                ("upgrade.order", tr("Export the order of the backfill (CSV)…")),
            ],
        )

    def fill(self, workspace: Workspace) -> None:
        """Offer what the models allow, and show what is asked."""
        plan, faces = workspace.resolved_upgrade, workspace.faces
        if faces is None:
            return
        rest = [name for name in workspace.features if name not in (plan.old, plan.new)]
        none = "" if rest else tr("No third model has vectors of this gallery.")
        self.upper.fill([("", tr("none")), *((name, escaped(name)) for name in rest)], plan.upper, why_not=none)
        self._fill_others([name for name in rest if name != plan.upper], plan)
        self.direction.fill([(way, DIRECTION_WORDS[way]) for way in ("auto", *DIRECTIONS)], plan.direction)
        self._fill_transforms(plan)
        fars = sorted({*FARS, plan.far}, reverse=True)
        self.far.fill([(far, rate(far)) for far in fars], plan.far)
        numbers = [name for name, column in faces.columns.items() if not hasattr(column, "codes")]
        self.traffic.fill([("", tr("none")), *((name, escaped(name)) for name in numbers)], plan.traffic)
        self.with_traffic.setVisible(bool(numbers))
        self.count.setText(_counted(workspace))

    def _fill_others(self, names: list[str], plan: UpgradePlan) -> None:
        self.others_menu.clear()
        for name in (*plan.others, *(name for name in names if name not in plan.others)):
            action = self.others_menu.addAction(escaped(name))
            action.setCheckable(True)
            action.setChecked(name in plan.others)
            action.setData(name)
        self.others.setEnabled(bool(names))
        self.others.setText(" " + (tr("{n} further", n=len(plan.others)) if plan.others else tr("further")))

    def _on_others(self) -> None:
        chosen = tuple(action.data() for action in self.others_menu.actions() if action.isChecked())
        self.planned.emit({"others": chosen})

    def _fill_transforms(self, plan: UpgradePlan) -> None:
        words = {
            "auto": tr("Fit them only where the models do not understand each other"),
            "fit": tr("Fit them always, on half of the people"),
            "none": tr("None: vectors as they are"),
        }
        menu = self.transforms_menu
        menu.clear()
        for key, text in words.items():
            action = menu.addAction(text, partial(self.planned.emit, {"transforms": key}))
            action.setCheckable(True)
            action.setChecked(plan.transforms == key)
        by = menu.addMenu(tr("Fitted by"))
        for method in METHODS:
            action = by.addAction(method, partial(self.planned.emit, {"method": method}))
            action.setCheckable(True)
            action.setChecked(plan.method == method)
        menu.addSeparator()
        files = dict(plan.files)
        for way, text in (
            ("backward", tr("Backward from a file…")),
            ("forward", tr("Forward from a file…")),
        ):
            menu.addAction(text, partial(self._on_file, way))
        if files:
            menu.addAction(tr("No files: fit here"), lambda: self.planned.emit({"files": ()}))
        shown = {"auto": tr("auto"), "fit": plan.method, "none": tr("none")}[plan.transforms]
        self.transforms.setText(" " + (tr("from file") if files else shown))
        self._files = files

    def _on_file(self, way: str) -> None:
        name, _ = QFileDialog.getOpenFileName(
            self, tr("A transform that was fitted elsewhere"), "", tr("Transforms (*.safetensors)")
        )
        if name:
            self.planned.emit({"files": tuple(sorted({**self._files, way: name}.items()))})


def _counted(workspace: Workspace) -> str:
    found = workspace.upgrade
    if found is None:
        return ""
    matrix = found.matrix
    people = plural(matrix.people, "{n} person", "{n} people")
    unseen = tr("{people} unseen in fitting", people=people) if matrix.fitted_people else people
    return tr("N = {n} · {people}", n=matrix.faces, people=unseen)
