"""What the second stage does to all queries together: the measure before and after, and how many gained or lost."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QAbstractButton, QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from facelens.analyses.measure import Measure
from facelens.analyses.reranking import Sweep, SweepRow
from facelens.figures.match_words import alpha_title, queries_title, weights_title
from facelens.figures.swept import measured
from facelens.views import marks, theme
from facelens.views.controls import draw_text, plain_tip, text_width
from facelens.views.query_ranks import GAINED, LOST, SAME
from facelens.words import number, tr

EDGE, LEAD = 12, 22  # px
WORDS = 88  # px of the painted part


class QueriesHead(QWidget):
    """A number before and after, and three counts to click."""

    kind_chosen = Signal(int)  # GAINED, SAME, LOST

    def __init__(self) -> None:
        super().__init__()
        self._title = self._lead = self._under = ""
        self._change: float | None = None
        self.tallies = {kind: Tally(kind) for kind in (GAINED, LOST, SAME)}
        row = QHBoxLayout()
        row.setContentsMargins(EDGE - 6, 0, EDGE, 6)
        row.setSpacing(8)
        for kind, tally in self.tallies.items():
            tally.clicked.connect(lambda *_, kind=kind: self.kind_chosen.emit(kind))
            row.addWidget(tally)
        row.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, WORDS, 0, 0)
        column.addLayout(row)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(tr("All queries"))

    def show_sweep(self, sweep: Sweep, row: SweepRow, *, alpha: float, counts: dict[int, int]) -> None:
        """Other results, and how many queries each kind has."""
        before, after = sweep.before["P@1"], measured(row, "P@1", alpha)
        self._title = queries_title(sweep)
        self._lead = tr("{before} → {after}", before=_value(before), after=_value(after))
        self._change = None
        if before.value is not None and after.value is not None:
            self._change = after.value - before.value
        between = (
            f"[{number(after.low)}, {number(after.high)}]" if after.low is not None and after.high is not None else ""
        )
        how = tr("{weights}, {alpha}", weights=weights_title(row.weights), alpha=alpha_title(alpha))
        self._under = "  ".join(part for part in (between, how) if part)
        for kind, tally in self.tallies.items():
            tally.set_count(counts[kind])
        words = ", ".join((self._title, tr("P@1 {lead}", lead=self._lead), self._under))
        self.setAccessibleDescription(words)
        self.setToolTip(plain_tip("\n".join(part for part in (words, sweep.how) if part)))
        self.update()

    @property
    def lead(self) -> str:
        """The leading number."""
        return self._lead

    def paintEvent(self, event: QPaintEvent) -> None:
        now, painter = theme.current(), QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.fillRect(event.rect(), now.q("sunk"))
        wide = self.width() - 2 * EDGE
        draw_text(painter, QRectF(EDGE, 8, wide, 18), self._title, "text", 13, bold=True)
        draw_text(painter, QRectF(EDGE, 28, wide, 14), tr("P@1, higher is better"), "text3", 10)
        draw_text(painter, QRectF(EDGE, 42, wide, 27), self._lead, "text", LEAD, bold=True)
        if self._change is not None:
            at = QRectF(EDGE + text_width(self._lead, LEAD, bold=True) + 10, 50, 12, 11)
            marks.change(painter, at, now, self._change)
        draw_text(painter, QRectF(EDGE, 70, wide, 14), self._under, "text3", 10)


class Tally(QAbstractButton):
    """How many queries gained, lost or stayed."""

    def __init__(self, kind: int) -> None:
        super().__init__()
        self.kind = kind
        self.count = 0
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setFixedHeight(22)
        self.set_count(0)

    def set_count(self, count: int) -> None:
        """Another number."""
        self.count = count
        words = {GAINED: tr("{n} gained", n=count), LOST: tr("{n} lost", n=count), SAME: tr("{n} same", n=count)}
        self.setText(words[self.kind])
        self.setAccessibleName(self.text())
        self.setToolTip(tr("Select these queries"))
        self.setEnabled(count > 0)
        self.setFixedWidth(self.sizeHint().width())
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(round(text_width(self.text(), 11)) + 30, 22)

    def paintEvent(self, event: QPaintEvent) -> None:
        now, painter = theme.current(), QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self.underMouse() and self.isEnabled():
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(now.q("hover"))
            painter.drawRoundedRect(QRectF(self.rect()), 4, 4)
        marks.change(painter, QRectF(7, 6.5, 10, 9), now, self.kind)
        ink = "text" if self.isEnabled() else "text3"
        draw_text(painter, QRectF(22, 0, self.width() - 22, 22), self.text(), ink, 11)


def _value(measure: Measure) -> str:
    return number(measure.value) if measure.defined and measure.value is not None else tr("n/a")
