"""How a plan is looked at: what is hidden, how strong colours lie over faces, which colours."""

from __future__ import annotations

from dataclasses import dataclass, replace

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QSlider, QWidget

from facelens.views import heat
from facelens.views.controls import label, text_width, together, vertical_rule
from facelens.words import tr

STEP = 0.005  # of the cut


@dataclass(frozen=True)
class PlanLook:
    """What is remembered of it."""

    cut: float = 0.02  # share of a patch's mass; smaller streams are hidden
    opacity: float = 0.6  # of colours over faces
    colours: str = heat.COLOURS[0]


class Slider(QSlider):
    """A slider that a double click puts back."""

    def __init__(self, most: int, usual: int, *, wide: int) -> None:
        super().__init__(Qt.Orientation.Horizontal)
        self.usual = usual
        self.setRange(0, most)
        self.setPageStep(max(1, most // 10))
        self.setFixedWidth(wide)
        self.setValue(usual)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self.setValue(self.usual)


class PlanControls(QWidget):
    """One row for the header of the panel."""

    changed = Signal(object)  # PlanLook, by the user

    def __init__(self) -> None:
        super().__init__()
        usual = PlanLook()
        self.look = usual
        self.cut = Slider(round(0.2 / STEP), round(usual.cut / STEP), wide=76)
        self.cut.setAccessibleName(tr("Hide mass below"))
        self.cut.setToolTip(
            tr("Streams with a smaller share of the mass of their patch are hidden and counted. Double-click: 2 %.")
        )
        self.said = label(name="small")
        self.said.setFixedWidth(round(text_width("19.5 %", 11)) + 4)
        self.opacity = Slider(100, round(100 * usual.opacity), wide=58)
        self.opacity.setAccessibleName(tr("Opacity"))
        self.opacity.setToolTip(tr("How strong the colours of weights lie over the faces. Double-click: 60 %."))
        self.colours = QComboBox()
        self.colours.setAccessibleName(tr("Colours"))
        self.colours.setToolTip(tr("Colours of weights and of the plan; bright is more in both"))
        self.colours.setFixedHeight(22)
        for name in heat.COLOURS:
            self.colours.addItem(name, name)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(8)
        row.addWidget(together(label(tr("hide mass below"), name="sub"), self.cut, self.said))
        row.addWidget(vertical_rule(16))
        row.addWidget(together(label(tr("opacity"), name="sub"), self.opacity))
        row.addWidget(self.colours)
        self.cut.valueChanged.connect(lambda value: self._change(cut=value * STEP))
        self.opacity.valueChanged.connect(lambda value: self._change(opacity=value / 100))
        self.colours.activated.connect(lambda _: self._change(colours=self.colours.currentData()))
        self.show_look(usual)

    def show_look(self, look: PlanLook) -> None:
        """Stand as told, without telling anybody."""
        self.look = look
        with QSignalBlocker(self.cut), QSignalBlocker(self.opacity):
            self.cut.setValue(round(look.cut / STEP))
            self.opacity.setValue(round(100 * look.opacity))
        self.colours.setCurrentIndex(max(0, self.colours.findData(look.colours)))
        self._say()

    def _change(self, **fields: object) -> None:
        self.look = replace(self.look, **fields)  # type: ignore[arg-type]
        self._say()
        self.changed.emit(self.look)

    def _say(self) -> None:
        self.said.setText(tr("{share} %", share=f"{100 * self.look.cut:g}"))
