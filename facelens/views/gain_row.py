"""Three numbers: what refusing brings in 1:1, in 1:N, and how many errors fewer that is."""

from __future__ import annotations

import re
from dataclasses import dataclass

from PySide6.QtCore import QRectF, QSize
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QWidget

from facelens.analyses.measure import Measure
from facelens.analyses.rejection import Risk
from facelens.figures.refusal import asked, at
from facelens.views.controls import draw_text, plain_tip, text_width, vertical_rule
from facelens.words import number, tr

HEIGHT = 56


@dataclass(frozen=True)
class Gain:
    """One number with its title, what it was before, and the difference; `sign` is -1 where it is known to be worse."""

    title: str
    value: str
    before: str = ""
    under: str = ""
    sign: int = 0
    leads: bool = False  # the value is the difference itself

    @property
    def ink(self) -> str:
        """Token of the difference: coloured only where it is sure."""
        return {1: "good", -1: "bad"}.get(self.sign, "text2")

    @property
    def spoken(self) -> str:
        """All of it in a line."""
        return " ".join(t for t in (f"{self.title}:", self.value, self.before, self.under) if t)


class GainRow(QWidget):
    """Three gains side by side."""

    def __init__(self) -> None:
        super().__init__()
        self.cells = [GainCell(), GainCell(), GainCell()]
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 0, 12, 0)
        row.setSpacing(12)
        for place, cell in enumerate(self.cells):
            if place:
                row.addWidget(vertical_rule(HEIGHT - 12))
            row.addWidget(cell, 1)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.setFixedHeight(HEIGHT)
        self.show_gains(None, None, 0)

    def show_gains(self, verification: Risk | None, identification: Risk | None, step: int, *, why: str = "") -> None:
        """The numbers at a step; without a risk say why there is none."""
        why = why or tr("not worked out yet")
        gains = (
            rate_gain(verification, step, tr("TAR, 1:1"), why),
            rate_gain(identification, step, tr("TPIR, 1:N"), why),
            error_gain(verification, step, tr("Relative error, 1:1"), why),
        )
        for cell, gain in zip(self.cells, gains):
            cell.show_gain(gain)


def rate_gain(risk: Risk | None, step: int, title: str, why: str) -> Gain:
    """TAR or TPIR at a step, from what it was with nothing refused."""
    if risk is None or step >= len(risk.coverage):
        return Gain(title, tr("n/a"), under=why)
    title = f"{asked(risk)}, {risk.task}"
    error, first = (at(risk, risk.error, i) for i in (step, 0))
    if not error.defined or error.value is None:
        return Gain(title, tr("n/a"), under=error.why)
    decimals = max(_decimals(error), _decimals(first))
    value = number(1 - error.value, decimals)
    if not step:
        return Gain(title, value, under=tr("nothing is refused"))
    gain = at(risk, risk.gain, step)
    before = tr("from {value}", value=number(1 - first.value, decimals)) if first.value is not None else ""
    return Gain(title, value, before, gain.text(3, sign=True), _sign(gain))


def error_gain(risk: Risk | None, step: int, title: str, why: str) -> Gain:
    """How the error has changed, as a share of what it was."""
    if risk is None or step >= len(risk.coverage):
        return Gain(title, tr("n/a"), under=why)
    if not step:
        return Gain(title, tr("0 %"), under=tr("nothing is refused"))
    if risk.error.value[0] == 0:
        return Gain(title, tr("n/a"), under=tr("there was no error to begin with"))
    change = at(risk, risk.change, step)
    if not change.defined or change.value is None:
        return Gain(title, tr("n/a"), under=change.why)
    value = tr("{share} %", share=number(100 * change.value, 1, sign=True))
    under = ""
    if change.low is not None and change.high is not None:
        under = f"[{number(100 * change.low, 1, sign=True)}, {number(100 * change.high, 1, sign=True)}]"
    return Gain(title, value, under=under, sign=-_sign(change), leads=True)


def _sign(difference: Measure) -> int:
    """1 or -1 where the interval leaves out 0."""
    if difference.low is None or difference.high is None:
        return 0
    return int(difference.low > 0) - int(difference.high < 0)


def _decimals(error: Measure) -> int:
    """Four above 0.99, else three."""
    return 4 if error.value is not None and 0 < error.value < 0.01 else 3


class GainCell(QWidget):
    """One gain, painted."""

    def __init__(self) -> None:
        super().__init__()
        self.gain = Gain("", "")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)

    def show_gain(self, gain: Gain) -> None:
        """Another one."""
        if gain != self.gain:
            self.gain = gain
            self.setAccessibleName(gain.title)
            self.setAccessibleDescription(gain.spoken)
            self.setToolTip(plain_tip(gain.spoken))
            self.update()

    def minimumSizeHint(self) -> QSize:
        return QSize(60, HEIGHT)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, gain, wide = QPainter(self), self.gain, float(self.width())
        defined = gain.value != tr("n/a")
        draw_text(painter, QRectF(0, 3, wide, 14), gain.title, "text2", 10)
        ink = gain.ink if gain.leads and gain.sign else "text" if defined else "text3"
        draw_text(painter, QRectF(0, 17, wide, 22), gain.value, ink, 18, bold=True)
        at = text_width(gain.value, 18, True) + 9
        draw_text(painter, QRectF(at, 20, max(wide - at, 0), 18), _fitted(gain.before, wide - at), "text2", 10)
        under = _fitted(gain.under, wide)
        draw_text(painter, QRectF(0, 40, wide, 14), under, "text2" if gain.leads else gain.ink, 10)


def _fitted(text: str, room: float) -> str:
    """The text, without the noughts before the point where there is no room for them."""
    return text if text_width(text, 10) <= room else re.sub(r"(?<!\d)0\.", ".", text)
