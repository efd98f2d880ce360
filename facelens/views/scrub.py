"""The way from old to new as a slider: what is dragged follows at once, play goes there by itself.

Arrows go on by a hundredth, PageUp and PageDown by a tenth, Home and End to old and to new.
"""

from __future__ import annotations

from PySide6.QtCore import QEasingCurve, QSignalBlocker, Qt, QVariantAnimation, Signal
from PySide6.QtWidgets import QHBoxLayout, QSlider, QWidget

from facelens.views import motion
from facelens.views.controls import label, tool_button
from facelens.words import tr

STEPS = 100
LONG = 600  # ms from old to new


class Scrub(QWidget):
    """See the module's words."""

    moved = Signal(float)  # 0: old, 1: new

    def __init__(self) -> None:
        super().__init__()
        self.old, self.new = label(tr("old"), name="side_a"), label(tr("new"), name="side_b")
        self.slider = QSlider(Qt.Orientation.Horizontal)
        self.slider.setRange(0, STEPS)
        self.slider.setPageStep(STEPS // 10)
        self.slider.setValue(STEPS)
        self.slider.setAccessibleName(tr("From old to new"))
        self.slider.setToolTip(tr("Moves every face from where the old model has it to where the new one does. Arrows"))
        self.slider.valueChanged.connect(self._on_slider)
        self.play = tool_button("retry", tr("Play from old to new"), size=14)
        self.play.setFixedSize(24, 22)
        self.play.clicked.connect(self.run)
        self._share = 1.0
        self._flow = QVariantAnimation(self)
        self._flow.setDuration(LONG)
        self._flow.setEasingCurve(QEasingCurve.Type.InOutCubic)
        self._flow.valueChanged.connect(self._on_flow)
        self._flow.setStartValue(0.0)
        self._flow.setEndValue(1.0)
        line = QHBoxLayout(self)
        line.setContentsMargins(12, 0, 8, 0)
        line.setSpacing(8)
        for part in (self.old, self.slider, self.new, self.play):
            line.addWidget(part, 1 if part is self.slider else 0)
        self.setFixedHeight(30)

    @property
    def share(self) -> float:
        """How far on the way to new."""
        return self._share

    @property
    def running(self) -> bool:
        """Whether it goes by itself."""
        return self._flow.state() == QVariantAnimation.State.Running

    def set_share(self, share: float) -> None:
        """Stand there; nobody is told."""
        self._flow.stop()
        self._share = share
        with QSignalBlocker(self.slider):
            self.slider.setValue(round(share * STEPS))

    def run(self) -> None:
        """From old to new; at once, and back the next time, where nothing is to move."""
        self._flow.stop()
        if motion.wanted(self):
            self._flow.start()
        else:
            self.slider.setValue(0 if self.slider.value() == STEPS else STEPS)

    def _on_flow(self, share: float) -> None:
        if self.running:
            self._share = float(share)
            with QSignalBlocker(self.slider):
                self.slider.setValue(round(self._share * STEPS))
            self.moved.emit(self._share)

    def _on_slider(self, step: int) -> None:
        self._flow.stop()
        self._share = step / STEPS
        self.moved.emit(self._share)
