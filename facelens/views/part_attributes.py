"""What moves each part: attributes x parts, and how the current part goes along with the current attribute.

A click on a cell makes its part and attribute the current ones; a click on a bin of the curve selects its faces.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QPainter, QPen, QResizeEvent
from PySide6.QtWidgets import QApplication, QWidget

from facelens.analyses.measure import Measure
from facelens.analyses.universal import Effect
from facelens.figures.part_words import part_name
from facelens.figures.scales import Array
from facelens.images.faceset import Labels
from facelens.views import theme
from facelens.views.cell_grid import CellGrid, ColourKey, frame, hatch
from facelens.views.controls import draw_text, text_width
from facelens.views.frame import split
from facelens.views.grid import band_mode, value_text
from facelens.views.panel import Desk
from facelens.views.part_page import PartPage, headed
from facelens.views.plots import Axis, Band, Chart, Mark, Series
from facelens.words import escaped, number, plural, tr

NARROW = 1150  # px under which there is no room for all that the colours mean
SIDE = (96, 190)  # px of the attributes' names, at least and at most


class PartAttributes(PartPage):
    """See the module's words."""

    def __init__(self, desk: Desk, parent: QWidget | None = None) -> None:
        super().__init__(desk, parent)
        self.attribute = ("", "")  # column and group of the current one
        self._bin: NDArray[np.int64] = np.zeros(0, np.int64)  # of each face of the parts, -1: none
        self._given: Array = np.zeros(0)  # the attribute of each, of a column of numbers
        self.matrix = Effects()
        self.key = ColourKey(hollow=tr("interval covers 0"))
        self.curve = BinChart()
        self.matrix.chosen.connect(self._on_chosen)
        self.curve.picked.connect(self._on_bin)
        self.curve.describe = self._card
        left, self.sentence = headed(self.matrix, self.key)
        self.put(split(Qt.Orientation.Horizontal, left, self.curve, sizes=(600, 400)))

    def missing(self) -> str | None:
        assert self.study is not None
        if self.study.effects and self.words is not None:
            return None
        if not self.study.complete:
            return ""
        return tr(
            "This gallery has no attributes. "
            "Import scores, or open a manifest with columns such as blur, yaw, occlusion."
        )

    def fill(self) -> None:
        assert self.study is not None and self.words is not None and self.parts is not None
        effects = self.study.effects
        if self.attribute not in [(one.column, one.group) for one in effects]:
            first = max(effects, key=lambda one: _most(one)[0])
            self.attribute = (first.column, first.group)
        good = -1 if self.study.shown != "share" else 1
        self.matrix.show_effects(effects, [part_name(self.parts.layout, k) for k in range(self._K)], good=good)
        limit = self.matrix.limit
        ends = (f"{self.words.low} {number(-limit, 1, sign=True)}", f"{number(limit, 1, sign=True)} {self.words.high}")
        tip = tr("Left: the more of an attribute, the lower the value of a part. Hollow: the interval covers 0")
        self.key.show_colours(*ends, lambda share: tint((2 * share - 1) * limit, limit, good=good), tip=tip)
        self._fill_attribute()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.key.shorten(event.size().width() < NARROW)

    def fill_part(self) -> None:
        self.matrix.set_part(self.part)
        self._draw()

    @property
    def effect(self) -> Effect:
        """The current attribute."""
        assert self.study is not None
        return next(one for one in self.study.effects if (one.column, one.group) == self.attribute)

    @property
    def _K(self) -> int:
        assert self.parts is not None
        return self.parts.layout.parts

    def _fill_attribute(self) -> None:
        """The sentence and the curve of another attribute."""
        assert self.study is not None
        effect = self.effect
        self._sort(effect)
        self.matrix.set_row(self.study.effects.index(effect))
        self.sentence.setText(self._sentence(effect))
        self.fill_part()

    def _sentence(self, effect: Effect) -> str:
        assert self.parts is not None
        most, part = _most(effect)
        name = head(effect)
        if part < 0:
            return tr("{name}: {why}", name=name, why=effect.strength[0].why)
        found = effect.strength[part]
        said = f"{_measure(effect)} = {found.text(2, sign=True)}"
        if most <= 0:
            return tr(
                "{name} is not shown to move any part; {part} comes nearest: {said}",
                name=name,
                part=part_name(self.parts.layout, part),
                said=said,
            )
        return tr("{name} moves {part} most: {said}", name=name, part=part_name(self.parts.layout, part), said=said)

    # Bins

    def _sort(self, effect: Effect) -> None:
        """Find the bin of each face of the parts; of a group it is 1, of the others 0."""
        assert self.faces is not None and self.parts is not None and self.study is not None
        rows, column = self.faces.rows_of(self.parts.ids), self.faces.columns[effect.column]
        known = np.isfinite(self.parts.values[self.study.shown]).all(1)
        if isinstance(column, Labels):
            codes = column.codes[rows]
            known &= codes >= 0
            found = codes == column.names.index(effect.group)
        else:
            self._given = np.asarray(column[rows], np.float64)
            known &= np.isfinite(self._given)
            found = np.searchsorted(effect.edges[1:-1], self._given, side="right")
        self._bin = np.where(known, found, -1).astype(np.int64)

    def _on_bin(self, _: str, place: int) -> None:
        assert self.parts is not None
        self.select.emit(self.parts.ids[self._bin == place], band_mode(QApplication.keyboardModifiers()))

    def _draw(self) -> None:
        assert self.words is not None and self.parts is not None
        effect, part = self.effect, self.part
        name = part_name(self.parts.layout, part)
        title = tr("{value} of {part}, median and quartiles; thin: the others", value=self.words.name, part=name)
        under = f"{head(effect)}, {plural(effect.n, '{n} face', '{n} faces')}"
        ticks = [tr("others"), escaped(effect.group)] if effect.group else [value_text(x) for x in effect.edges]
        self.curve.aside = f"{_measure(effect)} = {effect.strength[part].text(2, sign=True)}"
        self.curve.show_bins(effect, part, ticks, title=title, under=under)

    def _card(self, mark: Mark) -> Sequence[str]:
        assert self.words is not None and self.parts is not None
        effect, place = self.effect, mark.index
        if effect.group:
            where = head(effect) if place else tr("others")
        else:
            inside = self._given[self._bin == place]
            low, high = value_text(inside.min()), value_text(inside.max())
            span = low if low == high else tr("{low} to {high}", low=low, high=high)
            where = f"{head(effect)} {span}"
        middle, (low_, high_) = effect.middle[self.part, place], effect.quartiles[self.part, place]
        return (
            where,
            f"{self.words.name} {self.words.value(middle)} [{self.words.value(low_)}, {self.words.value(high_)}]",
            plural(int((self._bin == place).sum()), "{n} face", "{n} faces"),
        )

    def _on_chosen(self, row: int, part: int, _: object) -> None:
        assert self.study is not None
        if row >= 0:
            one = self.study.effects[row]
            if (one.column, one.group) != self.attribute:
                self.attribute = (one.column, one.group)
                self._fill_attribute()
        if part != self.part:
            self.set_part(part)
            self.part_chosen.emit(part)


def head(effect: Effect) -> str:
    """What an attribute is called."""
    name = escaped(effect.column)
    return tr("{column} = {group}", column=name, group=escaped(effect.group)) if effect.group else name


def shown(strength: Measure) -> bool:
    """Whether the interval leaves out 0."""
    low, high = strength.low, strength.high
    return strength.defined and low is not None and high is not None and (low > 0 or high < 0)


def _measure(effect: Effect) -> str:
    return tr("2 AUC − 1") if effect.group else tr("ρ")


def _most(effect: Effect) -> tuple[float, int]:
    """How much an attribute moves the part it moves most, and that part; at most 0 where no part is shown to move."""
    known = [(abs(one.value) - (not shown(one)), k) for k, one in enumerate(effect.strength) if one.value is not None]
    return max(known, default=(-2.0, -1))


class Effects(CellGrid):
    """Attributes x parts; a cell is filled by how much it moves, hollow where that may be nothing."""

    lowest, highest, widest = 22.0, 28.0, 100.0

    def __init__(self) -> None:
        super().__init__(tr("Attributes and parts"))
        self.effects: tuple[Effect, ...] = ()
        self.row = -1
        self.limit = 1.0  # of the colours
        self._names: Sequence[str] = ()
        self._good = 1

    def show_effects(self, effects: tuple[Effect, ...], names: Sequence[str], *, good: int) -> None:
        """Draw these; `good` is the sign of what is welcome."""
        self.effects, self._names, self._good = effects, names, good
        known = [abs(one.value) for effect in effects for one in effect.strength if one.value is not None]
        self.limit = min(1.0, max(0.1, np.ceil(10 * max(known, default=1.0) - 1e-9) / 10))
        widest = max(text_width(head(one), 11) + text_width(f"{one.n:,}", 10) + 32 for one in effects)
        self.side = round(min(max(widest, SIDE[0]), SIDE[1]))
        self.set_shape(len(effects), len(names))

    def set_row(self, row: int) -> None:
        """Another attribute is the current one."""
        if row != self.row:
            self.row = row
            self._show(row)
            self.viewport().update()

    def words(self) -> str:
        return tr("{rows} attributes, {columns} parts", rows=self.rows, columns=self.columns)

    def lines(self, row: int, part: int) -> Sequence[str]:
        effect, found = self.effects[row], self.effects[row].strength[part]
        what = f"{_measure(effect)} {found.text(2, sign=True)}"
        covered = "" if shown(found) or not found.defined else tr("the interval covers 0")
        return f"{self._names[part]} · {head(effect)}", what, covered

    def paint_side(self, painter: QPainter, box: QRectF, row: int) -> None:
        effect, current = self.effects[row], row == self.row
        n = f"{effect.n:,}"
        wide = text_width(n, 10)
        draw_text(painter, QRectF(box.right() - wide - 9, box.top(), wide + 1, box.height()), n, "text3", 10)
        room = QRectF(12, box.top(), box.width() - wide - 27, box.height())
        draw_text(painter, room, head(effect), "text" if current else "text2", 11, middle=bool(effect.group))

    def paint_cell(self, painter: QPainter, box: QRectF, row: int, part: int) -> None:
        now, found = theme.current(), self.effects[row].strength[part]
        inner = box.adjusted(0.5, 0.5, -1.5, -1.5) if box.width() > 6 else box.adjusted(0, 0.5, -0.5, -1.5)
        if found.value is None:
            hatch(painter, inner)
            return
        ink = now.text3
        if shown(found):
            ground = tint(found.value, self.limit, good=self._good)
            painter.fillRect(inner, now.q(ground))
            ink = max((now.text, now.ink), key=lambda one: theme.contrast(one, ground))
        else:
            painter.setPen(QPen(now.q("line"), 1))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(inner)
        text = _fitted(found.value, inner.width())
        if text:
            draw_text(painter, inner.adjusted(-4, 0, 4, 0), text, now.q(ink), 10, align="centre")

    def paint_over(self, painter: QPainter) -> None:
        super().paint_over(painter)
        if 0 <= self.row < self.rows and 0 <= self.part < self.columns:
            box = self.box(self.row, self.part)
            frame(painter, box.adjusted(0, 0, -1, -1))
            frame(painter, box.adjusted(1.5, 1.5, -2.5, -2.5))


def tint(value: float, limit: float, *, good: int) -> str:
    """A colour around the panel's grey: welcome or not, the further from 0 the fuller."""
    now = theme.current()
    share = min(1.0, abs(value) / limit)
    return theme.mix(now.base, now.good if value * good > 0 else now.bad, 0.12 + 0.88 * share)


def _fitted(value: float, room: float) -> str:
    """A signed number as long as there is room for, at least its sign."""
    whole = number(value, 2, sign=True)
    for text in (whole, whole.replace("0.", ".", 1), whole[0] if value else ""):
        if text_width(text, 10) <= room:
            return text
    return ""


class BinChart(Chart):
    """Median and quartiles of one part over bins of equal width; anywhere over a bin means it."""

    _labels: Sequence[str] = ()  # of the ends of bins, or of the bins themselves
    _named = False
    _others: pg.PlotCurveItem | None = None  # the other parts

    def __init__(self) -> None:
        super().__init__(Axis(""), Axis(""), name=tr("The current part by the current attribute"), brush=False)
        self._others = pg.PlotCurveItem(antialias=True)
        self._others.setZValue(1)
        self._plot.addItem(self._others)
        self._dress()

    def show_bins(self, effect: Effect, part: int, labels: Sequence[str], *, title: str, under: str) -> None:
        """The curve of one part, and faint those of all others."""
        ring = self.ring if labels == self._labels else None
        self._labels, self._named = labels, bool(effect.group)
        assert self._others is not None
        K, B = effect.middle.shape
        x = np.arange(B) + 0.5
        low, high = effect.quartiles[part].T
        self._others.setData(
            x=np.tile(np.append(x, np.nan), K),
            y=np.column_stack([effect.middle, np.full(K, np.nan)]).ravel(),
            connect="finite",
        )
        bounds = _bounds(np.concatenate([effect.middle.ravel(), low, high]))
        self.x_axis, self.y_axis = Axis(under, low=0.0, high=float(B)), Axis(title, low=bounds[0], high=bounds[1])
        kind = {"kind": "points", "colour": "text"} if effect.group else {"colour": "text"}
        self.set_series([Series("part", x, effect.middle[part], band=Band(low, high), **kind)])  # type: ignore[arg-type]
        if ring is not None:
            self.set_ring("part", ring.index)

    def _dress(self) -> None:
        super()._dress()
        if self._others is not None:
            pen = QPen(theme.current().q("text3", 0.45), 1)
            pen.setCosmetic(True)
            self._others.setPen(pen)

    def _ticks(self, axis: Axis, low: float, high: float, room: int) -> list[tuple[float, str]]:
        if axis is not self.x_axis:
            return super()._ticks(axis, low, high, room)
        if self._named:
            return [(place + 0.5, text) for place, text in enumerate(self._labels)]
        widest = max((text_width(text, 10) for text in self._labels), default=0.0) + 10
        every = max(1, -(-len(self._labels) * widest // max(self._box().width(), 1)))
        return [(float(i), text) for i, text in enumerate(self._labels) if i % every == 0 and low <= i <= high]

    def _under(self, at: QPointF) -> Mark | None:
        box = self._box()
        if not box.contains(at) or not self._drawn:
            return None
        place = int(self._place_x(at.x()))
        return Mark("part", place) if place in self._drawn[0].index else None

    def _paint_ring(self, painter: QPainter, mark: Mark, width: float) -> None:
        box = self._box()
        left, right = self._px(np.array([mark.index, mark.index + 1.0]))
        column = QRectF(left, box.top(), right - left, box.height()).intersected(box)
        painter.fillRect(column, theme.current().q("accent", 0.13 if mark == self._ring else 0.07))
        super()._paint_ring(painter, mark, width)


def _bounds(values: Array) -> tuple[float, float]:
    known = values[np.isfinite(values)]
    if not len(known):
        return 0.0, 1.0
    low, high = float(known.min()), float(known.max())
    room = 0.06 * (high - low) or 0.5
    return low - room, high + room
