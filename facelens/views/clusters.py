"""The groups that the whole embedding falls into: how large they are, how firm, and which learner finds whom in them.

A row for each group, a column for each learner. A click on a row selects its faces, on a cell it makes the learner
current too, on a number over the cells only that.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QMouseEvent, QPainter, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from facelens.analyses.divided import Clusters, Learners
from facelens.analyses.measure import Measure
from facelens.figures.part_words import part_name
from facelens.session.selection import Mode
from facelens.views import heat, theme
from facelens.views.cell_grid import HEAD, CellGrid, ColourKey, hatch
from facelens.views.controls import draw_text, label
from facelens.views.gain_row import Gain, GainCell
from facelens.views.grid import band_mode
from facelens.words import number, plural, tr

SIDE = 176  # px of the leading numbers
NARROW = 620  # px; under this width they go
FACES = 34  # px of a number of faces


class ClustersPage(QWidget):
    """Leading numbers at the left, groups and learners at the right."""

    part_chosen = Signal(int)
    select = Signal(object, object)  # ids, Mode

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("panel")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.found: Learners | None = None
        self.stability, self.kept = GainCell(), GainCell()
        self.cells = _Cells()
        self.cells.chosen.connect(self._on_chosen)
        self.cells.row_chosen.connect(self._select)
        self.setFocusProxy(self.cells)
        self.legend = label(tr("Recall@1 of the group's faces"), name="cap")
        self.legend.setFixedWidth(_Cells.side)
        self.key = ColourKey()
        self.firm = QWidget()
        self.firm.setFixedWidth(SIDE)
        numbers = QVBoxLayout(self.firm)
        numbers.setContentsMargins(12, 6, 0, 6)
        numbers.setSpacing(12)
        for cell in (self.stability, self.kept):
            cell.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
            cell.setFixedHeight(56)
            numbers.addWidget(cell)
        numbers.addStretch(1)
        grid = QVBoxLayout()
        grid.setSpacing(0)
        grid.addWidget(self.cells, 1)
        foot = QHBoxLayout()
        foot.setContentsMargins(6, 0, 0, 2)
        foot.setSpacing(0)
        for part in (self.legend, self.key):
            foot.addWidget(part)
        foot.addStretch(1)
        grid.addLayout(foot)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 4, 4, 0)
        row.setSpacing(8)
        row.addWidget(self.firm)
        row.addLayout(grid, 1)

    def show_learners(self, found: Learners) -> None:
        """Other learners."""
        self.found = found
        groups = found.clusters
        why = tr("being worked out") if not found.complete else tr("not worked out")
        none = Measure.none(why)
        self.stability.show_gain(_share(tr("stability of groups (NMI)"), groups.stability if groups else none))
        self.kept.show_gain(_share(tr("faces that keep their group"), groups.kept if groups else none))
        self.cells.show_learners(found)
        low, high = (number(end, 2) for end in (self.cells.low, self.cells.high))
        bright = tr("{high}   bright = finds more", high=high)
        self.key.show_colours(
            low, bright, _shade, tip=tr("Share of the group's faces whose nearest is of the same person")
        )
        for part in (self.legend, self.key):
            part.setVisible(groups is not None)

    def set_part(self, part: int) -> None:
        """Another learner is the current one."""
        self.cells.set_part(part)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.firm.setVisible(self.width() >= NARROW)

    def _on_chosen(self, row: int, part: int, mode: Mode) -> None:
        self.part_chosen.emit(part)
        if row >= 0:
            self._select(row, mode)

    def _select(self, row: int, mode: Mode) -> None:
        if self.found is not None and self.found.clusters is not None:
            self.select.emit(self.found.ids[self.found.clusters.learner == row], mode)


class _Cells(CellGrid):
    """Groups in rows, with a bar for how many faces they have; learners in columns."""

    row_chosen = Signal(int, object)  # group, Mode

    side = 250
    lowest, highest, widest = 15.0, 48.0, 170.0

    def __init__(self) -> None:
        super().__init__(tr("Groups and learners"))
        self.found: Learners | None = None
        self.groups: Clusters | None = None
        self.low, self.high = 0.0, 1.0
        self._colours: list[list[QColor]] = []  # by group and learner; clear ones where there is no value

    def show_learners(self, found: Learners) -> None:
        """Other groups."""
        self.found, self.groups = found, found.clusters
        if self.groups is None:
            self.set_shape(0, 0, tr("being worked out") if not found.complete else tr("Nobody could be grouped."))
            return
        known = self.groups.recall[np.isfinite(self.groups.recall)]
        self.low, self.high = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
        shades = heat.shades(self.groups.recall.T, self.low, self.high).tolist()
        self._colours = [[QColor(*shade) for shade in row] for row in shades]
        columns, rows = self.groups.recall.shape
        self.set_shape(rows, columns)

    def paint_side(self, painter: QPainter, box: QRectF, row: int) -> None:
        assert self.groups is not None
        now, groups = theme.current(), self.groups
        n, most = int(groups.sizes[row]), max(int(groups.sizes.max()), 1)
        draw_text(painter, QRectF(6, box.y(), 56, box.height()), tr("group {k}", k=row + 1), "text2", 10)
        rail = QRectF(66, box.center().y() - 4, 80, 8)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(now.q("text3"))
        painter.drawRoundedRect(QRectF(rail.x(), rail.y(), max(2.0, rail.width() * n / most), rail.height()), 2, 2)
        number_box = QRectF(rail.right() + 2, box.y(), FACES, box.height())
        draw_text(painter, number_box, f"{n:,}", "text", 10, align="right")
        people = plural(int(groups.people[row]), "{n} person", "{n} people")
        draw_text(painter, QRectF(number_box.right() + 8, box.y(), 58, box.height()), people, "text3", 10)

    def paint_cell(self, painter: QPainter, box: QRectF, row: int, part: int) -> None:
        assert self.groups is not None
        inner, colour = box.adjusted(0.5, 0.5, -1, -1), self._colours[row][part]
        if not colour.alpha():
            hatch(painter, inner)
            return
        painter.fillRect(inner, colour)
        if box.width() >= 32 and box.height() >= 14:
            value = float(self.groups.recall[part, row])
            ink = QColor("#ffffff" if _dark(colour) else "#111111")
            draw_text(painter, inner, number(value, 2), ink, 10, align="centre")

    def lines(self, row: int, part: int) -> Sequence[str]:
        assert self.groups is not None and self.found is not None
        groups, value = self.groups, float(self.groups.recall[part, row])
        faces = plural(int(groups.sizes[row]), "{n} face", "{n} faces")
        people = plural(int(groups.people[row]), "{n} person", "{n} people")
        said = tr("Recall@1 {value}", value=number(value, 3)) if np.isfinite(value) else tr("nobody searched")
        name = part_name(self.found.own.layout, part)
        return (tr("group {k}, {name}", k=row + 1, name=name), said, f"{faces} · {people}")

    def words(self) -> str:
        if self.groups is None:
            return self.note
        return plural(self.rows, "{n} group", "{n} groups")

    def group_at(self, point: QPointF) -> int | None:
        """The group whose words are under a point."""
        if point.x() >= self.side or point.y() < HEAD or not self.rows:
            return None
        row = int((point.y() - HEAD + self.verticalScrollBar().value()) // self.line)
        return row if row < self.rows else None

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        super().mouseMoveEvent(event)
        if self.group_at(event.position()) is not None:
            self.viewport().setCursor(Qt.CursorShape.PointingHandCursor)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        row = self.group_at(event.position())
        if event.button() == Qt.MouseButton.LeftButton and row is not None:
            self.row_chosen.emit(row, band_mode(event.modifiers()))
        else:
            super().mousePressEvent(event)


def _shade(share: float) -> str:
    colour = heat.shade(share, 0.0, 1.0)
    assert colour is not None
    return colour.name()


def _dark(colour: QColor) -> bool:
    """Whether light ink is read better on a colour."""
    return 0.299 * colour.red() + 0.587 * colour.green() + 0.114 * colour.blue() < 140


def _share(title: str, measure: Measure) -> Gain:
    if not measure.defined or measure.value is None:
        return Gain(title, tr("n/a"), under=measure.why)
    ends = ""
    if measure.low is not None and measure.high is not None:
        ends = tr("seeds {low} to {high}", low=number(measure.low, 2), high=number(measure.high, 2))
    return Gain(title, number(measure.value, 2), under=ends)
