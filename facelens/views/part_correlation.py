"""How alike the parts are: part x part, the mean over different parts, and the two parts of the chosen cell.

A click on a cell makes the part of its row the current one and selects the faces on which its two parts disagree most.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PySide6.QtCore import QRectF, Qt, Signal
from PySide6.QtGui import QImage, QPainter, QPen, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from facelens.figures.part_pairs import disagreeing
from facelens.figures.part_words import part_name
from facelens.figures.scales import Array
from facelens.session.selection import Mode, Selection
from facelens.views import heat, theme
from facelens.views.cell_grid import EDGE, HEAD, CellGrid, ColourKey, frame
from facelens.views.controls import Segmented, draw_text, label, text_width
from facelens.views.panel import Desk
from facelens.views.part_cloud import PartCloud
from facelens.views.part_page import PartPage, headed
from facelens.words import number, tr

SUMMARY = 236  # px of the leading number and what it is
STRETCH = 2.6  # how much wider than high a cell may be
SMALL = 7  # px of a row under which cells are one picture
BLACK, WHITE = "#111111", "#ffffff"


class PartCorrelation(PartPage):
    """See the module's words."""

    look = Signal(object)  # id of the face that became current
    open_face = Signal(object)  # id

    def __init__(self, desk: Desk, parent: QWidget | None = None) -> None:
        super().__init__(desk, parent)
        self.other = -1  # the part that the current one is compared with; -1: the one most alike
        self.kind = Segmented(
            [("centre", tr("Distances")), ("slices", tr("Dimensions"))], label=tr("What is correlated"), height=22
        )
        self.kind.button("slices").setToolTip(tr("Mean |r| over the dimensions of two parts"))
        self.kind.changed.connect(lambda _: self._fill_kind())
        self.key = ColourKey()
        self.mean = label(name="lead")
        self.interval = label(name="cap")
        self.meaning = label(name="small", wrap=True)
        self.control = label(name="small", wrap=True)
        summary = QWidget()
        summary.setFixedWidth(SUMMARY)
        column = QVBoxLayout(summary)
        column.setContentsMargins(12, 2, 12, 4)
        column.setSpacing(1)
        column.addWidget(label(tr("mean over different parts"), name="cap"))
        for shown, gap in ((self.mean, 0), (self.interval, 5), (self.meaning, 5), (self.control, 0)):
            column.addWidget(shown)
            column.addSpacing(gap)
        column.addStretch(1)
        self.matrix = Alike()
        self.cloud = PartCloud(desk.thumbnails)
        self.matrix.chosen.connect(self._on_chosen)
        self.cloud.select.connect(self.select)
        self.cloud.look.connect(self.look)
        self.cloud.open_face.connect(self.open_face)
        both = QWidget()
        row = QHBoxLayout(both)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        row.addWidget(summary)
        row.addWidget(self.matrix)
        row.addWidget(self.cloud, 1)
        page, self.sentence = headed(both, self.key, self.kind)
        self.put(page)

    def missing(self) -> str | None:
        assert self.study is not None
        if self.study.correlation is not None:
            return None
        return "" if not self.study.complete else tr("n/a: one part has no other to be compared with")

    def fill(self) -> None:
        assert self.study is not None and self.study.correlation is not None and self.parts is not None
        there = self.study.correlation.centre is not None
        tip = tr("Pearson's r, over the faces, of their distances to the centre of the person")
        self.kind.button("centre").setEnabled(there)
        self.kind.button("centre").setToolTip(tip if there else self.study.correlation.centre_mean.why)
        if not there:
            self.kind.set_value("slices")
        self._fill_kind()

    def _fill_kind(self) -> None:
        """The matrix and its mean, of distances or of dimensions."""
        assert self.study is not None and self.study.correlation is not None and self.parts is not None
        found, ground = self.study.correlation, self.parts.layout
        centre = self.kind.value() == "centre"
        values = found.centre if centre and found.centre is not None else found.slices
        mean = found.centre_mean if centre else found.slices_mean
        control = found.control_centre if centre else found.control_slices
        names = [part_name(ground, k) for k in range(ground.parts)]
        what = tr("r") if centre else tr("mean |r|")
        self.matrix.show_values(np.asarray(values, np.float64), names, what=what)
        low, high = self.matrix.limits
        tip = tr("Limits are those of different parts; a part with itself has no colour")
        self.key.show_colours(
            number(low, 2), number(high, 2), lambda share: _shade(low + share * (high - low), low, high), tip=tip
        )
        self.mean.setText(number(mean.value, 3) if mean.defined and mean.value is not None else tr("n/a"))
        ends = mean.low is not None and mean.high is not None and mean.defined
        self.interval.setText(mean.text(3).partition(" ")[2] if ends else mean.why)
        self.interval.setVisible(bool(self.interval.text()))
        self.meaning.setText(
            tr("Distances to the person's centre, Pearson; lower is more diverse")
            if centre
            else tr("|r| of the dimensions of two parts, Pearson; lower is more diverse")
        )
        self.control.setText(
            tr(
                "After a random rotation: {control}. Slices of an ordinary model are a null baseline: "
                "nobody taught them to differ.",
                control=control.text(3),
            )
        )
        self.control.setVisible(ground.kind == "slices")
        self.sentence.setText(self._sentence(names, what))
        self._fit()
        self.fill_part()

    def _sentence(self, names: Sequence[str], what: str) -> str:
        values = self.matrix.different
        if not np.isfinite(values).any():
            return ""
        pairs = [np.unravel_index(int(at), values.shape) for at in (np.nanargmax(values), np.nanargmin(values))]
        (a, b), (c, d) = ((int(i), int(j)) for i, j in pairs)
        return tr(
            "{a} and {b} are most alike: {what} = {most}; {c} and {d} least: {least}",
            a=names[a],
            b=names[b],
            c=names[c],
            d=names[d],
            what=what,
            most=number(values[a, b], 2),
            least=number(values[c, d], 2),
        )

    def set_selection(self, selection: Selection) -> None:
        """Mark the selected faces among the dots."""
        self.cloud.set_selection(selection)

    def _distances(self, part: int, other: int) -> tuple[Array, Array] | None:
        """Of all faces to the centres of their people, in two parts; None where nobody has one."""
        assert self.parts is not None
        distance = self.parts.values.get("distance")
        if distance is None:
            return None
        return distance[:, part].astype(np.float64), distance[:, other].astype(np.float64)

    def set_part(self, part: int) -> None:
        if part != self.part:
            self.other = -1
        super().set_part(part)

    def fill_part(self) -> None:
        assert self.parts is not None and self.faces is not None
        K, values = self.parts.layout.parts, self.matrix.different
        if not 0 <= self.other < K or self.other == self.part:
            near = np.where(np.isfinite(values[self.part]), values[self.part], -np.inf)
            self.other = int(near.argmax()) if K > 1 else self.part
        self.matrix.set_pair(self.part, self.other)
        distances = self._distances(self.part, self.other)
        if distances is None:
            why = tr("Nobody has two faces, so no face has a distance to the centre of its person.")
            self.cloud.show_nothing(why)
            return
        y, x = distances
        names = part_name(self.parts.layout, self.other), part_name(self.parts.layout, self.part)
        self.cloud.show_parts(self.faces, self.parts.ids, x, y, disagreeing(x, y), names)

    def _on_chosen(self, row: int, column: int, mode: Mode) -> None:
        assert self.parts is not None
        part = column if row < 0 else row
        if row >= 0 and row != column:
            self.other = column
        changed, self.part = part != self.part, part
        self.fill_part()
        if changed:
            self.part_chosen.emit(part)
        if row >= 0 and row != column and (distances := self._distances(row, column)) is not None:
            self.select.emit(self.parts.ids[disagreeing(*distances)], mode)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """The matrix is as wide as its cells like to be, and leaves room for the dots."""
        room = max(200, round((self.width() - SUMMARY) * 0.62))
        self.matrix.setFixedWidth(min(room, self.matrix.wanted(self.height() - 28)))


class Alike(CellGrid):
    """Parts x parts; a cell is the brighter the more alike they are."""

    lowest, highest = 2.0, 34.0

    def __init__(self) -> None:
        super().__init__(tr("How alike parts are"))
        self.values = self.different = np.zeros((0, 0))  # (K, K), and without those of a part with itself
        self.limits = (0.0, 1.0)
        self.other = -1
        self._names: Sequence[str] = ()
        self._what = ""
        self._picture: QImage | None = None  # a pixel a cell

    def show_values(self, values: Array, names: Sequence[str], *, what: str) -> None:
        """Draw (K, K) values; `what` they are called."""
        K = len(values)
        self.values, self._names, self._what, self._picture = values, names, what, None
        self.different = np.where(np.eye(K, dtype=bool), np.nan, values)
        known = self.different[np.isfinite(self.different)]
        low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
        self.limits = np.floor(low * 20) / 20, max(np.ceil(high * 20) / 20, np.floor(low * 20) / 20 + 0.05)
        self.set_shape(K, K)

    def set_pair(self, part: int, other: int) -> None:
        """Another current part, and the one it is compared with."""
        self.part, self.other = part, other
        self.viewport().update()

    def wanted(self, height: int) -> int:
        """How wide it likes to be at a height."""
        line = min(max((height - HEAD - 2) / max(self.rows, 1), self.lowest), self.highest)
        return round(self.side + EDGE + self.columns * min(self.widest, max(STRETCH * line, 6.0)))

    def words(self) -> str:
        return tr("{k} parts with each other", k=self.rows)

    def lines(self, row: int, part: int) -> Sequence[str]:
        if row == part:
            own = self.values[row, row]
            known = own < 1 - 1e-9
            return tr("{part} with itself", part=self._names[row]), f"{self._what} {number(own, 3)}" if known else ""
        found = self.values[row, part]
        said = number(found, 3) if np.isfinite(found) else tr("n/a: one of them does not vary")
        both = tr("{a} and {b}", a=self._names[row], b=self._names[part])
        return both, f"{self._what} {said}", tr("click: the faces on which they disagree most")

    def paint_rows(self, painter: QPainter, first: int, last: int) -> None:
        if self.line >= SMALL:
            super().paint_rows(painter, first, last)
            return
        if self._picture is None:
            self._picture = heat.picture(self.different, *self.limits)
        whole = self.box(0, 0).united(self.box(self.rows - 1, self.columns - 1))
        painter.fillRect(whole, theme.current().q("hover"))
        painter.drawImage(whole, self._picture)
        for row in range(first, last):
            self.paint_side(painter, self.box(row, 0), row)

    def paint_side(self, painter: QPainter, box: QRectF, row: int) -> None:
        """Numbers of the parts, as many as there is room for; the current one always."""
        now, middle = theme.current(), box.center().y()
        if row == self.part:
            plate = QRectF(4, middle - 8, self.side - 8, 15)
            painter.setPen(QPen(now.q("accent"), 1))
            painter.setBrush(now.q("soft"))
            painter.drawRoundedRect(plate, 3, 3)
            draw_text(painter, plate, str(row + 1), "text", 10, bold=True, align="centre")
        elif row % -(-11 // self.line) == 0 and abs(row - self.part) * self.line >= 14:
            draw_text(painter, QRectF(0, middle - 7, self.side - 8, 14), str(row + 1), "text2", 10, align="right")

    def paint_cell(self, painter: QPainter, box: QRectF, row: int, part: int) -> None:
        now, value = theme.current(), float(self.different[row, part])
        inner = box.adjusted(0, 0, -1, -1)
        shade = heat.shade(value, *self.limits)
        painter.fillRect(inner, shade if shade is not None else now.q("hover"))
        if shade is not None and inner.height() >= 11:
            text = number(value, 2)
            for said in (text, text.replace("0.", ".", 1)):
                if text_width(said, 10) + 4 <= inner.width():
                    ink = WHITE if theme.contrast(shade.name(), WHITE) > theme.contrast(shade.name(), BLACK) else BLACK
                    draw_text(painter, inner.adjusted(-3, 0, 3, 0), said, now.q(ink), 10, align="centre")
                    break

    def paint_over(self, painter: QPainter) -> None:
        if 0 <= self.part < self.rows:
            frame(painter, self.box(self.part, 0).united(self.box(self.part, self.columns - 1)).adjusted(-1, -1, 0, 0))
        if 0 <= self.part < self.rows and 0 <= self.other < self.columns and self.other != self.part:
            box = self.box(self.part, self.other).adjusted(-0.5, -0.5, -0.5, -0.5)
            painter.setPen(QPen(theme.current().q(WHITE), 1.4))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(box.adjusted(1.2, 1.2, -1.2, -1.2))
            frame(painter, box)


def _shade(value: float, low: float, high: float) -> str:
    found = heat.shade(value, low, high)
    assert found is not None
    return found.name()
