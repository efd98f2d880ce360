"""Queries of one model in the gallery of another, as a heat map: rows ask, columns are searched.

The cell the verdict speaks of, new in old, has a frame. Where a test was done in several directions the one that is
meant is shown, and a corner says that there are others. A click or Enter on a cell asks for its errors.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPen, QPolygonF
from PySide6.QtWidgets import QScrollArea

from facelens.analyses.crossing import SELF, CrossTest, Matrix
from facelens.analyses.plan import TASKS, UpgradePlan
from facelens.figures import crossing_words as words
from facelens.views import heat, theme
from facelens.views.cell_grid import hatch
from facelens.views.controls import Segmented, draw_text, text_width
from facelens.views.frame import Frame
from facelens.views.spots import Spots
from facelens.words import escaped, tr

EDGE, GAP = 10, 3  # px at the sides, and between cells
ROLES, NAMES, ABOVE = 15, 13, 13  # px of the lines over the columns: role, model, "gallery"
LEAST = QSize(44, 20)  # px of a cell; under that the matrix scrolls
TALL, TALLER, TALLEST = 30, 46, 84  # px of a cell: from here on with interval, with direction, and no more


class CrossMatrix(Frame):
    """See the module's words."""

    picked = Signal(str, str, str)  # query, gallery, direction: the errors of a test are asked for
    task = Signal(str)  # of TASKS

    def __init__(self) -> None:
        self.cells = Cells()
        area = QScrollArea()
        area.setWidgetResizable(True)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        area.setAccessibleName(tr("Cross-test"))
        area.setWidget(self.cells)
        super().__init__(tr("Cross-test"), area)
        self._area = area
        self.choice = Segmented([(task, task) for task in TASKS], label=tr("Task"), height=22)
        self.choice.button("1:1").setToolTip(tr("Verification: is it the same person? TAR at a FAR"))
        self.choice.button("1:N").setToolTip(tr("Identification: who is it? TPIR at an FPIR"))
        self.choice.changed.connect(lambda _: self.task.emit(self.choice.value()))
        self.header.add(self.choice)
        self.cells.chosen.connect(self._on_chosen)
        self.cells.walked.connect(self._on_walked)
        self.setFocusProxy(self.cells)
        self.show_matrix(None, UpgradePlan())

    def show_matrix(self, matrix: Matrix | None, plan: UpgradePlan, *, why: str = "") -> None:
        """Draw other tests, by the task of the plan; without a matrix say why there is none."""
        self.choice.set_value(plan.task)
        self.header.set_subtitle(tr("{asked}, higher is better", asked=words.asked(plan)))
        self.cells.show_matrix(matrix, plan, why=why)

    def _on_chosen(self, key: Hashable) -> None:
        test = self.cells.test(key)
        if test is not None:
            self.picked.emit(test.query, test.gallery, test.direction)

    def _on_walked(self, key: Hashable | None) -> None:
        box = self.cells.spots().get(key)
        if box is not None:
            at = box.center().toPoint()
            self._area.ensureVisible(at.x(), at.y(), round(box.width() / 2) + 4, round(box.height() / 2) + 4)


class Cells(Spots):
    """The heat map itself."""

    def __init__(self) -> None:
        super().__init__(tr("Cross-test, queries by galleries"))
        self._matrix: Matrix | None = None
        self._plan = UpgradePlan()
        self._limits = (0.0, 1.0)

    def show_matrix(self, matrix: Matrix | None, plan: UpgradePlan, *, why: str = "") -> None:
        """Other tests."""
        self._matrix, self._plan = matrix, plan
        self.note = "" if matrix is not None and matrix.models else why or tr("not worked out yet")
        self._limits = words.shades(matrix, plan.task)
        self.updateGeometry()
        self.renew()

    def test(self, key: Hashable) -> CrossTest | None:
        """What a cell shows."""
        if self._matrix is None or not isinstance(key, tuple):
            return None
        return self._matrix.test(*key)

    @property
    def models(self) -> tuple[str, ...]:
        return self._matrix.models if self._matrix is not None else ()

    @property
    def speaks(self) -> tuple[str, str]:
        """The cell the verdict speaks of."""
        return self._plan.new, self._plan.old

    # Where things are

    @property
    def _side(self) -> float:
        widest = max((text_width(escaped(name), 10) for name in self.models), default=0.0)
        return EDGE + min(max(widest, 56.0), 92.0, 0.22 * self.width()) + 12

    @property
    def _named(self) -> bool:
        """Whether columns have room for the names of models."""
        return self.height() >= 150

    @property
    def _head(self) -> float:
        return 3 + ABOVE + ROLES + (NAMES if self._named else 0) + 2

    def minimumSizeHint(self) -> QSize:
        n = max(len(self.models), 1)
        return QSize(EDGE + 52 + n * LEAST.width() + EDGE, 3 + ABOVE + ROLES + 2 + n * LEAST.height() + 4)

    def sizeHint(self) -> QSize:
        return QSize(440, 200)

    def spots(self) -> Mapping[Hashable, QRectF]:
        n = max(len(self.models), 1)
        side, head = self._side, self._head
        wide = (self.width() - side - EDGE + GAP) / n
        high = min((self.height() - head - 8 + GAP) / n, TALLEST)
        return {
            (query, gallery): QRectF(side + j * wide, head + i * high, wide - GAP, high - GAP)
            for i, query in enumerate(self.models)
            for j, gallery in enumerate(self.models)
        }

    # Painting

    def paint(self, painter: QPainter) -> None:
        there = self.spots()
        self._paint_heads(painter, there)
        for key, box in there.items():
            self._paint_cell(painter, key, box)
        for key, box in there.items():
            if key == self.speaks:
                self._frame(painter, box.adjusted(-0.5, -0.5, 0.5, 0.5), "text", 2.4)
            elif key == self.under:
                self._frame(painter, box.adjusted(0.5, 0.5, -0.5, -0.5), "text2", 1.4)

    def _paint_heads(self, painter: QPainter, there: Mapping[Hashable, QRectF]) -> None:
        side, models = self._side, self.models
        rows = QRectF(side, 3, self.width() - side - EDGE, ABOVE)
        draw_text(painter, rows, tr("gallery"), "text3", 10, align="centre")
        draw_text(painter, QRectF(EDGE, 3 + ABOVE, side - EDGE, ROLES), tr("query"), "text3", 10)
        for name in models:
            role, box = words.role(self._plan, name), there[models[0], name]
            at = QRectF(box.left() - 1, 3 + ABOVE, box.width() + 2, ROLES)
            short = box.width() < text_width(role, 11, True)
            draw_text(painter, at, escaped(name) if short else role, "text", 11, bold=not short, align="centre")
            if self._named and not short:
                at = at.translated(0, ROLES - 1)
                draw_text(painter, at, escaped(name), "text3", 10, align="centre", middle=True)
            box = there[name, models[0]]
            tall = box.height() >= ROLES + NAMES - 2
            at = QRectF(EDGE, box.center().y() - ROLES + (1 if tall else ROLES / 2), side - EDGE - 8, ROLES)
            plain = tall or name in (self._plan.old, self._plan.new, self._plan.upper)
            draw_text(painter, at, role if plain else escaped(name), "text", 11, bold=plain)
            if tall:
                draw_text(painter, at.translated(0, ROLES - 1), escaped(name), "text3", 10, middle=True)

    def _paint_cell(self, painter: QPainter, key: Hashable, box: QRectF) -> None:
        now, test = theme.current(), self.test(key)
        measure = None if test is None else test.measure(self._plan.task)
        painter.setPen(Qt.PenStyle.NoPen)
        if test is None or measure is None or not measure.defined or measure.value is None:
            painter.setBrush(now.q("sunk"))
            painter.drawRoundedRect(box, 3, 3)
            hatch(painter, box.adjusted(1, 1, -1, -1))
            plate = QRectF(0, 0, text_width(tr("n/a"), 10) + 10, 15)
            plate.moveCenter(box.center())
            painter.fillRect(plate, now.q("sunk"))
            draw_text(painter, plate, tr("n/a"), "text2", 10, align="centre")
            return
        ground = now.q("sunk") if test.chance else heat.shade(measure.value, *self._limits) or now.q("sunk")
        ink = now.q("text3") if test.chance else _ink(ground)
        painter.setBrush(ground)
        painter.drawRoundedRect(box, 3, 3)
        lines = [(words.value(measure), 13 if box.height() >= TALL else 11, not test.chance, 16.0)]
        under = tr("chance") if test.chance else words.interval(measure)
        if under and box.height() >= TALL and text_width(under, 10) <= box.width() - 4:
            lines.append((under, 10, False, 13.0))
        said = words.direction_name(test.direction)
        if (
            box.height() >= TALLER
            and not test.chance
            and (self._others(test) or test.direction not in ("direct", SELF))
        ):
            lines.append((said, 10, False, 12.0))
        y = box.center().y() - sum(high for *_, high in lines) / 2
        for text, px, bold, high in lines:
            draw_text(painter, QRectF(box.left(), y, box.width(), high), text, ink, px, bold=bold, align="centre")
            y += high
        if self._others(test):
            corner = box.topRight() + QPointF(-3, 3)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(ink)
            painter.drawPolygon(QPolygonF([corner, corner - QPointF(7, 0), corner + QPointF(0, 7)]))

    def _frame(self, painter: QPainter, box: QRectF, colour: str, width: float) -> None:
        painter.setPen(QPen(theme.current().q(colour), width))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(box, 3.5, 3.5)

    # Words

    def choosable(self, key: Hashable) -> bool:
        test = self.test(key)
        return test is not None and test.verification.value is not None

    def _others(self, test: CrossTest) -> list[CrossTest]:
        """The same two models in other directions."""
        assert self._matrix is not None
        same = (one for one in self._matrix.tests if (one.query, one.gallery) == (test.query, test.gallery))
        return [one for one in same if one.direction != test.direction]

    def told(self, key: Hashable) -> Sequence[str]:
        assert isinstance(key, tuple)
        plan, test, (query, gallery) = self._plan, self.test(key), key
        title = words.crossed(plan, query, gallery)
        names = escaped(query) if query == gallery else tr(
            "queries of {query}, gallery of {gallery}", query=escaped(query), gallery=escaped(gallery)
        )  # fmt: skip
        if test is None:
            return title, names, tr("not tested")
        if said := words.direction_name(test.direction):
            title = f"{title}, {said}"
        tasks = sorted(TASKS, key=lambda task: task != plan.task)
        return (
            title,
            names,
            words.direction_words(test.direction) if query != gallery else "",
            *(words.measured(plan, test, task) for task in tasks),
            tr("first match right: {value}", value=words.told(test.first)) if test.first.defined else "",
            *(f"{words.direction_name(o.direction)}: {words.measured(plan, o, plan.task)}" for o in self._others(test)),
            tr("What the verdict speaks of.") if key == self.speaks else "",
            tr("Click or Enter: its errors.") if self.choosable(key) else "",
        )

    def spoken(self) -> str:
        parts = []
        for key in self.spots():
            test = self.test(key)
            if test is not None:
                value = test.measure(self._plan.task)
                said = tr("chance") if test.chance else words.told(value)
                parts.append(f"{words.crossed(self._plan, test.query, test.gallery)} {said}")
        return ". ".join([words.asked(self._plan), *parts])


def _ink(ground: QColor) -> QColor:
    """Black or white, whichever is read more easily."""
    name = ground.name()
    dark = theme.contrast(name, "#000000") >= theme.contrast(name, "#ffffff")
    return QColor("#000000" if dark else "#ffffff")
