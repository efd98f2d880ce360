"""What parts are good for: recall against how many are used, each part alone and all without it, and templates.

A click on a part, or on the point of the curve where it was added, makes it the current one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QPainter, QPen, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QWidget

from facelens.analyses.measure import Measure, rate
from facelens.analyses.universal import Fusion, Without
from facelens.figures.part_words import part_name
from facelens.figures.scales import ticks
from facelens.views import theme
from facelens.views.cell_grid import CellGrid, frame, hatch
from facelens.views.controls import Segmented, draw_text, text_width
from facelens.views.frame import split
from facelens.views.panel import Desk
from facelens.views.part_controls import MATCH_WORDS
from facelens.views.part_page import PartPage, headed
from facelens.views.plots import Axis, Band, Chart, Mark, Series
from facelens.views.tables import Cell, Column, ResultTable, measure_cell
from facelens.words import number, plural, tr

NEARLY = 0.95  # of what all parts reach
WIDTHS = (0.3, 0.41, 0.29)  # of the curve, the bars and the templates
TALL, NARROW = 330, 1150  # px; above this height and under this width the templates stand under the curve
AXIS, TITLE, ROOM = 46, 16, 0.56  # px of an axis and of a title, the share of the height for parts alone
FUSIONS = {
    "mean": ("mean", "All pictures weigh the same"),
    "precision": ("by precision", "Each part listens most to the pictures it is surest of"),
}
VARIANCES = {
    "min": ("{match}, least σ²", "The variance of a template is that of its surest picture, as in PFE"),
    "bayes": ("{match}, joint σ²", "The variance of a template is 1 / Σ 1/σ² of its pictures"),
}


class PartRecall(PartPage):
    """See the module's words."""

    counted = Signal()  # by the user: at how many neighbours
    offered = Signal()  # other numbers of them

    def __init__(self, desk: Desk, parent: QWidget | None = None) -> None:
        super().__init__(desk, parent)
        self.curve = Chart(Axis(""), Axis(""), name=tr("Recall against the number of parts"), brush=False)
        self.curve.describe = self._card
        self.curve.picked.connect(lambda _, place: self._choose(place))
        self.k = Segmented([], label=tr("Recall at how many neighbours"), height=22)
        self._ks: tuple[int, ...] = ()
        holder = QWidget()
        self._k_row = QHBoxLayout(holder)
        self._k_row.setContentsMargins(0, 0, 0, 0)
        self._k_row.addWidget(self.k)
        self.measure = Segmented([("tar", tr("TAR")), ("recall", tr("Recall@1"))], label=tr("Measure"), height=22)
        self.measure.button("tar").setToolTip(
            tr("Share of pairs of one person that are accepted, at the FAR asked for")
        )
        self.measure.button("recall").setToolTip(tr("Share of faces whose nearest other face is of the same person"))
        self.measure.changed.connect(lambda _: self._fill_bars())
        self.bars = PartBars()
        self.bars.chosen.connect(lambda _, part, mode: self._choose(part))
        self.table = ResultTable(tr("Templates of several pictures"))
        left, self.reach = headed(self.curve, holder)
        middle, self.sentence = headed(self.bars, self.measure)
        self.templates, self.best = headed(self.table)
        self.templates.hide()
        self.left = split(Qt.Orientation.Vertical, left)
        self.pieces = split(
            Qt.Orientation.Horizontal,
            self.left,
            middle,
            self.templates,
            sizes=[round(1000 * share) for share in WIDTHS],
        )
        self._where = (False, True)  # of the templates: under the curve, hidden
        self.put(self.pieces)

    def missing(self) -> str | None:
        assert self.study is not None
        study = self.study
        if study.curve is not None or study.without or study.whole is not None:
            known = [one.why for one in study.whole or () if not one.defined]
            return known[0] if study.complete and len(known) == 2 else None
        if not study.complete:
            return ""
        return " ".join(study.notes) or tr("n/a: nobody has two faces, so nobody can be found again")

    def fill(self) -> None:
        self._fill_ks()
        self._draw_curve()
        self._fill_bars()
        self._fill_templates()

    def fill_part(self) -> None:
        self.bars.set_part(self.part)
        drawn = self.study is not None and self.study.curve is not None and self.study.curve.n
        self.curve.set_ring("ordered" if drawn else None, self.part)

    def _choose(self, part: int) -> None:
        if part != self.part:
            self.set_part(part)
            self.part_chosen.emit(part)

    # How many

    def _fill_ks(self) -> None:
        assert self.study is not None
        ks = self.study.curve.ks if self.study.curve is not None else ()
        if ks == self._ks:
            return
        before, self._ks = self.recall_at, ks
        self._k_row.removeWidget(self.k)
        self.k.deleteLater()
        self.k = Segmented([(str(k), str(k)) for k in ks], label=tr("Recall at how many neighbours"), height=22)
        for k in ks:
            self.k.button(str(k)).setToolTip(tr("Whether one of the {k} nearest faces is of the same person", k=k))
        if self.k.place_of(before) >= 0:
            self.k.set_value(before)
        self.k.changed.connect(lambda _: self._on_counted())
        self._k_row.addWidget(self.k)
        self.offered.emit()

    def _on_counted(self) -> None:
        self._draw_curve()
        self.counted.emit()

    @property
    def recall_at(self) -> str:
        """At how many neighbours, as it is kept."""
        return self.k.value() if self._ks else ""

    def take_recall_at(self, k: str) -> bool:
        """Draw it at so many neighbours, "" for the least; False where that is not offered."""
        place = self.k.place_of(k) if k else 0
        if place < 0 or not self._ks:
            return False
        self.k.set_current(place)
        self._draw_curve()
        return True

    def _draw_curve(self) -> None:
        assert self.study is not None and self.parts is not None
        curve, K = self.study.curve, self.parts.layout.parts
        if curve is None or not curve.n:
            self.reach.setText("")
            self.curve.set_axes(Axis(""), Axis(""))
            self.curve.set_series([])
            self.curve.set_note(tr("being worked out") if not self.study.complete else self._why())
            return
        row = self.k.current()
        name, x = tr("Recall@{k}", k=curve.ks[row]), np.arange(1.0, K + 1)
        every = max(1, -(-K // 8))
        self.curve.set_axes(
            Axis(
                tr("parts used; {n} searches", n=curve.n),
                low=1 - 0.02 * K,
                high=K * 1.02,
                ticks=tuple(float(n) for n in range(1, K + 1) if n == 1 or n % every == 0),
                form=lambda n: f"{n:.0f}",
            ),
            Axis(tr("{name}, higher is better", name=name), low=_floor(curve.low[row].min()), high=1.0),
        )
        chance = tr("{n} orders by chance, 5 % to 95 %", n=curve.orders)
        self.curve.set_series(
            [
                Series("chance", x, curve.mean[row], band=Band(curve.low[row], curve.high[row]), name=chance,
                       colour="text2", dash=(3, 2.5), width=1.5, label_at=0.5),
                Series("ordered", x, curve.ordered[row], name=tr("in their order"), colour="text"),
            ]
        )  # fmt: skip
        self.curve.set_note("")
        enough = int(np.argmax(curve.mean[row] >= NEARLY * curve.ordered[row, -1])) + 1
        self.reach.setText(tr("{n} of {all} reach 95 % of {name}", n=enough, all=K, name=name))
        self.reach.setToolTip(
            tr("Mean of orders drawn by chance, against {value} with all parts", value=number(curve.ordered[row, -1]))
        )
        self.fill_part()

    def _why(self) -> str:
        assert self.study is not None
        known = [one.why for one in self.study.whole or () if one.why]
        return known[-1] if known else tr("not worked out")

    def _card(self, mark: Mark) -> Sequence[str]:
        assert self.study is not None and self.study.curve is not None and self.parts is not None
        curve, row, at = self.study.curve, self.k.current(), mark.index
        used = plural(at + 1, "{n} part", "{n} parts")
        low, mean, high = (number(one[row, at]) for one in (curve.low, curve.mean, curve.high))
        return (
            tr("{used}, {part} added last", used=used, part=part_name(self.parts.layout, at)),
            tr("in their order {value}", value=number(curve.ordered[row, at])),
            tr("by chance {mean} [{low}, {high}]", mean=mean, low=low, high=high),
        )

    # Which

    def _fill_bars(self) -> None:
        assert self.study is not None and self.parts is not None
        study, ground = self.study, self.parts.layout
        tar = self.measure.value() == "tar"
        names = [part_name(ground, k) for k in range(ground.parts)]
        whole = study.whole[0 if tar else 1] if study.whole is not None else None
        waits = tr("being worked out") if not study.complete else self._why()
        name = tr("TAR @ FAR {far}", far=rate(self.desk.workspace.resolved_parts.far)) if tar else tr("Recall@1")
        self.bars.show_parts(study.without, whole, names, name=name, tar=tar, note=waits)
        self.bars.set_part(self.part)
        self.sentence.setText(self._sentence(names))

    def _sentence(self, names: Sequence[str]) -> str:
        alone = {k: one for k, (one, _) in enumerate(self.bars.pairs) if one.defined and one.value is not None}
        rest = {k: one for k, (_, one) in enumerate(self.bars.pairs) if one.defined and one.value is not None}
        if not alone or not rest or self.bars.whole is None or self.bars.whole.value is None:
            return ""
        best = max(alone, key=lambda k: alone[k].value or 0)
        worst = min(rest, key=lambda k: rest[k].value or 0)
        lost = self.bars.whole.value - (rest[worst].value or 0)
        first = tr("best alone: {part}, {value}", part=names[best], value=number(alone[best].value or 0))
        if lost <= 0:
            return tr("{first}; one less costs nothing", first=first)
        cost = number(lost)
        return tr("{first}; one less costs up to {cost} ({part})", first=first, cost=cost, part=names[worst])

    # Templates

    def _fill_templates(self) -> None:
        assert self.study is not None
        found = self.study.fusion
        self.templates.setVisible(bool(found))
        self._arrange()
        if not found:
            return
        columns = (
            Column(tr("template"), tr("How the pictures of a person are put together"), align="left"),
            Column(tr("match"), tr("How a face is compared with a template"), align="left"),
            Column(tr("found"), tr("Share of faces whose nearest template is their person's, made of other pictures")),
        )
        self.table.fill(columns, [_row(one) for one in found])
        self.best.setText(tr("Templates: faces that find their person"))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()

    def _arrange(self) -> None:
        """Templates stand beside the bars, or where that is too narrow under the curve."""
        under = self.height() > TALL and self.width() < NARROW
        where = (under, self.templates.isHidden())
        if where == self._where:
            return
        self._where = where
        if under != (self.left.count() > 1):
            hidden = self.templates.isHidden()
            (self.left if under else self.pieces).addWidget(self.templates)
            self.templates.setHidden(hidden)
        for pieces, room, shares in (
            (self.pieces, self.width(), WIDTHS if not under and not self.templates.isHidden() else (0.42, 0.58)),
            (self.left, self.height(), (0.54, 0.46)),
        ):
            pieces.setSizes([round(room * share) for share in shares])


def _row(one: Fusion) -> list[Cell]:
    words, tip = FUSIONS.get(one.name, (one.name, ""))
    match, how = MATCH_WORDS.get(one.match, (one.match, ""))
    match = tr(match)
    if one.variance in VARIANCES:
        said, how = VARIANCES[one.variance]
        match = tr(said, match=match)
    return [
        Cell(tr(words), tip=tr(tip)),
        Cell(match, colour="text2", tip=tr(how)),
        measure_cell(one.first, decimals=3),
    ]


def _floor(value: float) -> float:
    """The next tenth below, that some room is left under a curve."""
    return max(0.0, float(np.floor(10 * value - 0.2)) / 10) if np.isfinite(value) else 0.0


class PartBars(CellGrid):
    """For each part a bar, the measure with it alone; under it on another scale a dot, with all but this part."""

    side = AXIS
    lowest, highest = 90.0, 10_000.0

    def __init__(self) -> None:
        super().__init__(tr("Each part alone, and all without it"))
        self.pairs: tuple[tuple[Measure, Measure], ...] = ()  # alone, without
        self.whole: Measure | None = None
        self._names: Sequence[str] = ()
        self._name = ""
        self._top, self._low, self._high = 1.0, 0.0, 1.0  # ends of the two scales

    def show_parts(
        self, without: Sequence[Without], whole: Measure | None, names: Sequence[str], *, name: str,
        tar: bool, note: str,
    ) -> None:  # fmt: skip
        """Draw TAR or Recall@1, called `name`; `note` says why there is nothing."""
        self._names, self._name = names, name
        self.whole = whole
        self.pairs = tuple(
            (one.tar_only, one.tar_without) if tar else (one.recall_only, one.recall_without) for one in without
        )
        known = [whole] if whole is not None else []
        ends = [_ends(one) for one in [*known, *(alone for alone, _ in self.pairs)] if one.defined]
        self._top = min(1.0, float(np.ceil(10 * max((high for _, high in ends), default=1.0) - 1e-9)) / 10)
        ends = [_ends(one) for one in [*known, *(rest for _, rest in self.pairs)] if one.defined]
        low, high = min((low for low, _ in ends), default=0.0), max((high for _, high in ends), default=1.0)
        room = max(0.08 * (high - low), 0.002)
        self._low, self._high = low - room, min(high + room, 1.0) if high < 1 else 1.0 + room
        self.set_shape(1 if self.pairs else 0, len(self.pairs), note)

    def words(self) -> str:
        return ". ".join([self.note] if not self.pairs else [tr("{k} parts", k=self.columns), self._whole_words()])

    def _whole_words(self) -> str:
        return tr("all {k} parts {value}", k=self.columns, value=self.whole.text(3)) if self.whole is not None else ""

    def lines(self, row: int, part: int) -> Sequence[str]:
        alone, rest = self.pairs[part]
        return (
            f"{self._names[part]} · {self._name}",
            tr("alone {value}", value=alone.text(3)),
            tr("all without it {value}", value=rest.text(3)),
            self._whole_words(),
        )

    # Where things are: bars above, dots below

    def _areas(self) -> tuple[QRectF, QRectF]:
        whole = self.box(0, 0).united(self.box(0, self.columns - 1)).adjusted(0, 0, 0, -6)
        high = whole.height() - 2 * TITLE
        upper = QRectF(whole.left(), whole.top() + TITLE, whole.width(), high * ROOM)
        lower = QRectF(whole.left(), upper.bottom() + TITLE, whole.width(), high * (1 - ROOM))
        return upper, lower

    def _y(self, value: float, area: QRectF, low: float, high: float) -> float:
        return area.bottom() - (value - low) / max(high - low, 1e-9) * (area.height() - 2)

    def paint_rows(self, painter: QPainter, first: int, last: int) -> None:
        upper, lower = self._areas()
        self._paint_scale(painter, upper, 0.0, self._top, tr("{name} of this part alone", name=self._name))
        self._paint_scale(painter, lower, self._low, self._high, tr("all without it"))
        for part in range(self.columns):
            self.paint_cell(painter, self.box(0, part), 0, part)
        now, whole = theme.current(), self.whole
        if whole is None or not whole.defined or whole.value is None:
            return
        for area, low, high in ((upper, 0.0, self._top), (lower, self._low, self._high)):
            ends = [self._y(end, area, low, high) for end in _ends(whole)]
            band = QRectF(area.left(), ends[1], area.width(), ends[0] - ends[1])
            painter.fillRect(band, now.q("text", 0.1))
            pen = QPen(now.q("text"), 1.3)
            pen.setDashPattern([3, 2.5])
            painter.setPen(pen)
            y = self._y(whole.value, area, low, high)
            painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y))

    def _paint_scale(self, painter: QPainter, area: QRectF, low: float, high: float, title: str) -> None:
        now = theme.current()
        made = (ticks("linear", low, high, room=room) for room in (5, 4, 3, 2))
        for place, text in next((some for some in made if 15 * len(some) <= area.height()), []):
            y = self._y(place, area, low, high)
            painter.setPen(QPen(now.q("text", 0.09), 1))
            painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y))
            draw_text(painter, QRectF(0, y - 7, AXIS - 6, 14), text, "text3", 10, align="right")
        over = QRectF(area.left() + 2, area.top() - TITLE, area.width() - 4, 14)
        draw_text(painter, over, title, "text2", 10)
        said = f"╌ {self._whole_words()}"
        if low == 0.0 and self.whole is not None and text_width(title + said, 10) + 30 < over.width():
            draw_text(painter, over, said, "text2", 10, align="right")

    def paint_cell(self, painter: QPainter, box: QRectF, row: int, part: int) -> None:
        now, (upper, lower) = theme.current(), self._areas()
        (alone, rest), middle = self.pairs[part], box.center().x()
        wide = max(2.0, min(box.width() - 4, 26.0))
        if alone.defined and alone.value is not None:
            top = self._y(alone.value, upper, 0.0, self._top)
            painter.fillRect(QRectF(middle - wide / 2, top, wide, upper.bottom() - top), now.q("text3", 0.6))
            self._paint_whisker(painter, middle, alone, upper, 0.0, self._top)
        else:
            hatch(painter, QRectF(middle - wide / 2, upper.top(), wide, upper.height()))
        if rest.defined and rest.value is not None:
            self._paint_whisker(painter, middle, rest, lower, self._low, self._high)
            painter.setPen(QPen(now.q("base"), 1))
            painter.setBrush(now.q("text"))
            painter.drawEllipse(QPointF(middle, self._y(rest.value, lower, self._low, self._high)), 3.6, 3.6)
        else:
            hatch(painter, QRectF(middle - wide / 2, lower.top(), wide, lower.height()))

    def _paint_whisker(
        self, painter: QPainter, x: float, found: Measure, area: QRectF, low: float, high: float
    ) -> None:
        painter.setPen(QPen(theme.current().q("text"), 1.2))
        ends = [self._y(end, area, low, high) for end in _ends(found)]
        cap = 2.5 if self.pitch > 10 else 1.0
        painter.drawLine(QPointF(x, ends[0]), QPointF(x, ends[1]))
        for y in ends:
            painter.drawLine(QPointF(x - cap, y), QPointF(x + cap, y))

    def paint_hover(self, painter: QPainter, box: QRectF) -> None:
        painter.fillRect(box.adjusted(0, 0, 0, -4), theme.current().q("text", 0.08))

    def paint_over(self, painter: QPainter) -> None:
        if 0 <= self.part < self.columns:
            box = self.box(0, self.part).adjusted(1, 0, -1, 0)
            for area in self._areas():
                frame(painter, QRectF(box.left(), area.top() - 1, box.width(), area.height() + 2))


def _ends(found: Measure) -> tuple[float, float]:
    """The interval, or the value where there is none."""
    value = found.value if found.value is not None else 0.0
    return (value if found.low is None else found.low), (value if found.high is None else found.high)
