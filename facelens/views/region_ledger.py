"""Region ledger: what the distance of two faces is made of, by patches and whole face, then by region of the face.

The distance leads, with what it decides and the sum it comes from; under it the regions add up to the EMD, beside the
nearest face of the other kind. A region under the pointer lights up its patches elsewhere. The same bars show the
average over many pairs, with lines for the middle half of them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QStackedWidget, QVBoxLayout, QWidget

from facelens.analyses import regions
from facelens.analyses.regions import Average
from facelens.analyses.reranking import Explained
from facelens.figures.match_words import Blend, small
from facelens.views import marks, theme
from facelens.views.controls import Elided, EmptyState, Segmented, draw_text, plain_tip, text_width
from facelens.views.region_bars import EDGE, Bars, RegionBars
from facelens.words import number, plural, tr

LEAD = 22  # px of the number that leads
WHOLE = 0.4  # how strong the part of the whole face is painted beside that of the patches

Array = NDArray[np.float64]


class _Head(QWidget):
    """The number that leads a page, and what stands around it."""

    def __init__(self, name: str, height: int) -> None:
        super().__init__()
        self.setAccessibleName(name)
        self.setFixedHeight(height)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def tell(self, *sentences: str) -> None:
        """What a screen reader says of it."""
        self.setAccessibleDescription(". ".join(filter(None, sentences)))
        self.update()

    def begin(self) -> QPainter:
        """A painter on an empty ground with a hairline at its foot."""
        painter, now = QPainter(self), theme.current()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.fillRect(self.rect(), now.q("base"))
        painter.setPen(QPen(now.q("line"), 1))
        painter.drawLine(QPointF(0, self.height() - 0.5), QPointF(self.width(), self.height() - 0.5))
        return painter

    def line(self, top: float, height: float) -> QRectF:
        """A line of words."""
        return QRectF(EDGE, top, self.width() - 2 * EDGE, height)


class PairHead(_Head):
    """The distance of a pair, what it decides, the sum it comes from, and the shares as a bar in two parts."""

    def __init__(self) -> None:
        super().__init__(tr("Distance of the pair"), 110)
        self.blend: Blend | None = None
        self.setToolTip(tr("EMD: what it costs to move the patches. 1 − cos: how far the embeddings are apart."))

    def show_blend(self, blend: Blend) -> None:
        """Another distance."""
        self.blend = blend
        judged = {True: tr("right"), False: tr("wrong")}.get(blend.right, "") if blend.right is not None else ""
        named = f"{blend.caption()}: {number(blend.distance)}"
        self.tell(named, " ".join(filter(None, (blend.decision(), judged))), blend.formula(), ", ".join(self._shares()))

    def _shares(self) -> tuple[str, str]:
        assert self.blend is not None
        patches = round(100 * self.blend.share)
        return tr("patches {share} %", share=patches), tr("whole face {share} %", share=100 - patches)

    def bar(self) -> QRectF:
        """Where the two parts are."""
        return self.line(77, 8)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, now, blend = self.begin(), theme.current(), self.blend
        if blend is None:
            return
        draw_text(painter, self.line(8, 14), blend.caption(), "text2", 10)
        lead = self.line(22, 30)
        written = number(blend.distance)
        draw_text(painter, lead, written, "text", LEAD, bold=True)
        x = lead.left() + text_width(written, LEAD, True) + 12
        if blend.right is not None:
            mark = QRectF(x + 0.5, lead.center().y() - 7.5, 15, 15)
            (marks.right if blend.right else marks.wrong)(painter, mark, now)
            x += 22
        draw_text(painter, QRectF(x, lead.top(), lead.right() - x, 30), blend.decision(), "text2", 11)
        draw_text(painter, self.line(54, 18), blend.formula(), "text2", 10 if self._tight(blend) else 11)
        bar = self.bar()
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(now.q("accent", WHOLE))
        painter.drawRoundedRect(bar, 2, 2)
        if blend.share > 0:
            patches = QRectF(bar.left(), bar.top(), bar.width() * blend.share, bar.height())
            painter.setBrush(now.q("accent"))
            painter.drawRoundedRect(patches, 2, 2)
            if blend.share < 1:
                painter.fillRect(QRectF(patches.right() - 1, bar.top(), 2, bar.height()), now.q("base"))
        left, right = self._shares()
        draw_text(painter, self.line(87, 16), left, "text3", 10)
        draw_text(painter, self.line(87, 16), right, "text3", 10, align="right")

    def _tight(self, blend: Blend) -> bool:
        return text_width(blend.formula(), 11) > self.line(0, 0).width()


class SelectionHead(_Head):
    """The mean distance of the patches of many pairs, how it spreads, and which pairs they are."""

    def __init__(self) -> None:
        super().__init__(tr("Average over pairs"), 88)
        self._lead = self._pairs = self._spread = self._what = ""

    def show_average(self, average: Average, what: str) -> None:
        """Another average."""
        mean, low, high = (number(value) for value in average.total)
        self._lead, self._what = mean, what
        self._pairs = plural(average.n, "mean of {n} pair", "mean of {n} pairs")
        self._spread = tr("half of them between {low} and {high}", low=low, high=high)
        self.tell(f"{tr('EMD, lower is closer')}: {mean}", self._pairs, self._spread, what)
        self.setToolTip(plain_tip(what))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = self.begin()
        draw_text(painter, self.line(8, 14), tr("EMD, lower is closer"), "text2", 10)
        lead = self.line(22, 30)
        draw_text(painter, lead, self._lead, "text", LEAD, bold=True)
        x = lead.left() + text_width(self._lead, LEAD, True) + 12
        draw_text(painter, QRectF(x, 24, lead.right() - x, 14), self._pairs, "text2", 11)
        draw_text(painter, QRectF(x, 38, lead.right() - x, 14), self._spread, "text3", 10)
        draw_text(painter, self.line(60, 16), self._what, "text2", 11)


class RegionLedger(QWidget):
    """See the module's words. `mode` is for a header, `foot` may stand elsewhere; `show_*` and `set_*` emit nothing."""

    region_hovered = Signal(object)  # tuple of the patches of a region, or None

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("panel")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._shares: Array | None = None
        self.mode = Segmented([("pair", tr("Pair")), ("selection", tr("Selection"))], label=tr("Ledger of"), height=22)
        self.mode.button("pair").setToolTip(tr("The query and the gallery face that is looked at"))
        self.mode.button("selection").setToolTip(tr("Averaged over the selected faces, each with its nearest mate"))
        self.pair = PairHead()
        self.selection = SelectionHead()
        self.bars = RegionBars()
        self.bars.hovered.connect(self._on_hovered)
        self.foot = Elided(colour="text3", px=10)
        self.foot.setContentsMargins(EDGE, 0, EDGE, 0)
        self.foot.setFixedHeight(22)
        self.empty = EmptyState("chart", "")
        body = QWidget()
        column = QVBoxLayout(body)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        for part in (self.pair, self.selection, self.bars, self.foot):
            column.addWidget(part)
        column.addStretch(1)
        self.pages = QStackedWidget()
        self.pages.addWidget(self.empty)
        self.pages.addWidget(body)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(self.pages)
        self.setMinimumWidth(240)
        self.show_nothing(tr("No match yet"), "")

    def sizeHint(self) -> QSize:
        return QSize(310, super().sizeHint().height())

    # What is shown

    def show_pair(
        self,
        explained: Explained,
        ledger: Array,
        other_ledger: Array | None,
        *,
        alpha: float,
        threshold: float | None,
        genuine: bool | None,
        seconds: float,
        shares: Array,
    ) -> None:
        """A pair, beside the nearest face of the other kind: another person beside a mate, a mate beside another.

        `threshold` is one of the blended distance, `seconds` were spent on the search.
        """
        blend = Blend(explained.emd, explained.cosine, alpha, threshold, genuine)
        key, mark = tr("this face"), tr("nearest of the other kind")
        if genuine is not None:
            key = tr("this mate") if genuine else tr("this other")
            mark = tr("nearest other") if genuine else tr("nearest mate")
        self._show(
            Bars(
                ledger,
                tr("EMD by region"),
                key,
                mark,
                other_ledger,
                weight=regions.mass(explained, shares),
                better=0 if genuine is None else -1 if genuine else 1,
            ),
            shares,
            self.pair,
        )
        self.pair.show_blend(blend)
        self.foot.setText(solved(explained, seconds))
        self.foot.setToolTip(_about(explained))

    def show_selection(
        self, average: Average, other: Average | None, *, what: str, shares: Array | None = None
    ) -> None:
        """The mean over pairs that `what` names, beside that over the nearest others of the same queries."""
        if not average.n:
            self.show_nothing(tr("Nothing to average"), what)
            return
        self._show(
            Bars(
                average.mean,
                tr("Mean EMD by region"),
                tr("these pairs"),
                tr("nearest others"),
                None if other is None or not other.n else other.mean,
                average.low,
                average.high,
                better=-1,
            ),
            shares,
            self.selection,
        )
        self.selection.show_average(average, what)
        self.foot.setText(tr("lines: the middle half of the pairs"))

    def set_alpha(self, alpha: float, *, threshold: float | None = None) -> None:
        """The same pair with another share of the patches; a threshold holds for one share only."""
        if self.pair.blend is not None:
            self.pair.show_blend(replace(self.pair.blend, alpha=alpha, threshold=threshold))

    def show_nothing(self, title: str, text: str) -> None:
        """Why there is no ledger, and what to do."""
        self._shares, self.pair.blend = None, None
        self.empty.set_message(title, text)
        self.foot.setText("")
        self.pages.setCurrentWidget(self.empty)

    def _show(self, bars: Bars, shares: Array | None, head: QWidget) -> None:
        self._shares = shares
        for one in (self.pair, self.selection):
            one.setVisible(one is head)
        self.bars.show_bars(bars)
        self.pages.setCurrentIndex(1)

    def _on_hovered(self, region: int) -> None:
        lit = region >= 0 and self._shares is not None
        self.region_hovered.emit(regions.patches_of(self._shares, region) if lit else None)  # type: ignore[arg-type]


# Words


def solved(explained: Explained, seconds: float) -> str:
    """How a plan was found, and how exactly."""
    return " · ".join(
        (
            explained.solver,
            tr("marginal error {error}", error=small(explained.error)),
            tr("gap {gap}", gap=small(explained.gap)),
            tr("{n} s", n=f"{seconds:.1f}") if seconds >= 1 else tr("{n} ms", n=f"{1000 * seconds:.1f}"),
        )
    )


def _about(explained: Explained) -> str:
    rounds = plural(explained.rounds, "{n} round. ", "{n} rounds. ") if explained.rounds else ""
    return rounds + tr(
        "Marginal error: by how much the plan misses the weights of a patch. Gap: how far its cost may lie above the "
        "least. The time is that of the second stage."
    )
