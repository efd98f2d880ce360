"""How much of the way from old to upper arrives: performance and upgrade gains in per cent, with their intervals.

What upper has over old is written under the axis; where that is not known to be other than 0 the gains are greyed out.
A click or Enter on a gain shows its formula with the numbers in it. What is far off the axis is an arrow at its edge.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from math import ceil, floor

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QPainter, QPen
from PySide6.QtWidgets import QPushButton, QStackedWidget, QVBoxLayout, QWidget

from facelens.analyses.crossing import Gain, Matrix
from facelens.analyses.plan import UpgradePlan
from facelens.figures import crossing_words as words
from facelens.views import theme
from facelens.views.controls import draw_text, label, text_width
from facelens.views.spots import Rail, Spots
from facelens.words import number, tr

EDGE, TOP = 12, 8  # px
AXIS, FOOT = 17, 16  # px of the numbers under the axis, and of what the per cents are of
ROW = 40  # px of a row at most


class GainChart(QStackedWidget):
    """See the module's words."""

    choose_upper = Signal()  # there is no upper model: the user wants to name one

    def __init__(self) -> None:
        super().__init__()
        self.rows = Rows()
        self.choose = QPushButton(tr("Choose the upper model…"))
        self.allow(True)
        self.choose.clicked.connect(lambda: self.choose_upper.emit())
        self.addWidget(self.rows)
        self.addWidget(self._build_empty())
        self.show_gains(None, UpgradePlan())

    def _build_empty(self) -> QWidget:
        made = QWidget()
        made.setObjectName("panel")
        column = QVBoxLayout(made)
        column.setContentsMargins(24, 8, 24, 12)
        column.setSpacing(8)
        said = label(
            tr("Gains compare with an upper model: the new one as it would be, trained without regard to the old one."),
            name="small",
            wrap=True,
        )
        said.setAlignment(Qt.AlignmentFlag.AlignCenter)
        column.addStretch(1)
        column.addWidget(said)
        column.addWidget(self.choose, 0, Qt.AlignmentFlag.AlignHCenter)
        column.addStretch(1)
        return made

    def allow(self, there: bool) -> None:
        """Whether there is a model that could be the upper one."""
        self.choose.setEnabled(there)
        tip = tr("A model with vectors of this gallery, as good as the new one could be")
        self.choose.setToolTip(tip if there else tr("No third model has vectors of this gallery. Embed it with one."))

    def show_gains(self, matrix: Matrix | None, plan: UpgradePlan, *, why: str = "") -> None:
        """Draw other gains, of the plan's task; without an upper model offer to choose one."""
        gains = () if matrix is None else tuple(gain for gain in matrix.gains if gain.task == plan.task)
        self.rows.show_gains(gains, why=why)
        self.setCurrentIndex(0 if plan.upper or matrix is None else 1)


class Rows(Spots):
    """A row for each gain."""

    def __init__(self) -> None:
        super().__init__(tr("Gains, share of the way from old to upper"))
        self.gains: tuple[Gain, ...] = ()
        self.chosen.connect(self.keep)

    def show_gains(self, gains: Sequence[Gain], *, why: str = "") -> None:
        """Other gains."""
        self.gains = tuple(gains)
        self.note = "" if gains else why or tr("not worked out yet")
        self.renew()

    def minimumSizeHint(self) -> QSize:
        return QSize(260, TOP + 4 * 20 + AXIS + FOOT)

    def sizeHint(self) -> QSize:
        return QSize(440, 155)

    # Where things are

    def limits(self) -> tuple[float, float]:
        """Both ends of the axis."""
        return words.gain_limits(self.gains)

    def _columns(self) -> tuple[float, float]:
        """Pixels of the names and of the values."""
        names = max((text_width(self._name(gain), 11, gain.best) for gain in self.gains), default=0.0)
        values = max((text_width(self._value(gain), 11, True) for gain in self.gains), default=0.0)
        return min(names, 0.4 * self.width()) + 2, min(values, 0.3 * self.width()) + 2

    @property
    def pitch(self) -> float:
        """From one row to the next."""
        return min(ROW, (self.height() - TOP - AXIS - FOOT) / max(len(self.gains), 1))

    def rail(self) -> Rail:
        """Where per cents are drawn."""
        names, values = self._columns()
        left, right = EDGE + names + 12, self.width() - EDGE - values - 12
        return Rail(left, max(right, left + 20), *self.limits())

    def spots(self) -> Mapping[Hashable, QRectF]:
        rows = (
            (gain.of, QRectF(4, TOP + i * self.pitch, self.width() - 8, self.pitch))
            for i, gain in enumerate(self.gains)
        )
        return dict(rows)

    # Painting

    def paint(self, painter: QPainter) -> None:
        now, rail, foot = theme.current(), self.rail(), TOP + self.pitch * len(self.gains)
        step = 50 if rail.high - rail.low <= 200 else 100
        for share in range(ceil(rail.low / step) * step, floor(rail.high) + 1, step):
            x = round(rail.x(share)) + 0.5
            painter.setPen(QPen(now.q("line2") if share == 0 else now.q("text", 0.09), 1))
            painter.drawLine(QPointF(x, TOP), QPointF(x, foot + 2))
            said = tr("{share} %", share=number(share, 0))
            draw_text(painter, QRectF(x - 30, foot + 2, 60, AXIS - 2), said, "text3", 10, align="centre")
        names, values = self._columns()
        for gain, box in zip(self.gains, self.spots().values()):
            if gain.of == self.under:
                painter.fillRect(box, now.q("text", 0.05))
            strong = gain.telling and (gain.best or gain.of == "performance")
            ink = "text" if strong else "text2" if gain.telling else "text3"
            name = QRectF(EDGE, box.top(), names, box.height())
            draw_text(painter, name, self._name(gain), ink, 11, bold=gain.best and gain.telling)
            value = QRectF(self.width() - EDGE - values, box.top(), values, box.height())
            draw_text(painter, value, self._value(gain), ink, 11, bold=strong, align="right")
            self._paint_gain(painter, gain, rail, box.center().y(), strong=strong)
        if self.gains:
            of = QRectF(EDGE, foot + AXIS - 1, self.width() - 2 * EDGE, FOOT)
            draw_text(painter, of, words.possible(self.gains[0]), "text3" if self.gains[0].telling else "text2", 10)

    def _paint_gain(self, painter: QPainter, gain: Gain, rail: Rail, y: float, *, strong: bool) -> None:
        share, now = gain.percent, theme.current()
        if share.value is None or not share.defined:
            return
        ink = now.q("B" if strong else "text2" if gain.telling else "text3")
        rail.whisker(painter, share, y, ink)
        if not rail.holds(share.value):
            rail.arrow(painter, share.value, y, ink, size=6.0)
            return
        painter.setPen(QPen(now.q("base") if gain.telling else ink, 1.4))
        painter.setBrush(ink if gain.telling else now.q("base"))  # hollow: says nothing
        painter.drawEllipse(QPointF(rail.x(share.value), y), 5, 5)

    # Words

    def _name(self, gain: Gain) -> str:
        return tr("{name} (best)", name=words.gain_name(gain)) if gain.best else words.gain_name(gain)

    def _value(self, gain: Gain) -> str:
        share = gain.percent
        return words.percent(share.value) if share.defined and share.value is not None else tr("n/a")

    def told(self, key: Hashable) -> Sequence[str]:
        gain = next(gain for gain in self.gains if gain.of == key)
        if key == self._kept:
            return self._name(gain), *words.formula(gain)
        return self._name(gain), words.gain_told(gain), words.possible(gain), tr("Click or Enter: the formula.")

    def spoken(self) -> str:
        said = [f"{self._name(gain)} {words.gain_told(gain)}" for gain in self.gains]
        return ". ".join([*said, words.possible(self.gains[0])]) if self.gains else self.note
