"""How queries of the new model meet the gallery of the old one: as they are, brought backward, or the gallery forward.

The direction that is meant has a frame; a click or Enter chooses another one. What cannot be done says why.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QPainter, QPen, QPolygonF

from facelens.analyses.crossing import CrossTest, Matrix
from facelens.analyses.plan import DIRECTIONS, UpgradePlan
from facelens.figures import crossing_words as words
from facelens.views import theme
from facelens.views.chips import badge
from facelens.views.controls import draw_text
from facelens.views.hover import WRAP
from facelens.views.spots import Spots
from facelens.words import tr

EDGE, GAP = 8, 6  # px around the three, and between them
CHIP, ARROW, BOX = 16.0, 26.0, 46.0  # px of a letter, of an arrow with its name, and of a box's height
NARROW = 44.0  # px of a box with one letter
TITLE, VALUE, REASON = 22, 32, 58  # px over the boxes, of the values under them, and of words in their place
STEPS = {"direct": ("B", "A"), "backward": ("BA", "A"), "forward": ("B", "AB")}  # spaces of query and gallery
MAPS = {"backward": "T21", "forward": "T12"}


class DirectionDiagram(Spots):
    """See the module's words."""

    direction = Signal(str)  # of DIRECTIONS

    def __init__(self) -> None:
        super().__init__(tr("Direction of new/old"))
        self._matrix: Matrix | None = None
        self._plan = UpgradePlan()
        self.chosen.connect(self._on_chosen)
        self.show_directions(None, self._plan)

    def show_directions(self, matrix: Matrix | None, plan: UpgradePlan, *, why: str = "") -> None:
        """Values of new/old in each direction, by the task of the plan; without a matrix say why there is none."""
        self._matrix, self._plan = matrix, plan
        self.note = "" if matrix is not None else why or tr("not worked out yet")
        self.renew()

    def test(self, direction: Hashable) -> CrossTest | None:
        """New queries in the old gallery, in a direction."""
        tests = self._matrix.tests if self._matrix is not None else ()
        asked = (self._plan.new, self._plan.old, direction)
        return next((one for one in tests if (one.query, one.gallery, one.direction) == asked), None)

    def reason(self, direction: str) -> str:
        """Why a direction has no value; nothing where it has one."""
        test = self.test(direction)
        if test is None:
            return words.missing_words(direction)
        measure = test.measure(self._plan.task)
        return "" if measure.defined else measure.why

    def sizeHint(self) -> QSize:
        return QSize(440, TITLE + round(BOX) + VALUE + 2 * EDGE)

    def minimumSizeHint(self) -> QSize:
        return QSize(390, TITLE + round(BOX) + VALUE + 2 * EDGE)

    def spots(self) -> Mapping[Hashable, QRectF]:
        if self._matrix is None:
            return {}
        wide = (self.width() - 2 * EDGE - 2 * GAP) / 3
        high = min(self.height() - 2 * EDGE, TITLE + BOX + REASON + 6)
        return {name: QRectF(EDGE + i * (wide + GAP), EDGE, wide, high) for i, name in enumerate(DIRECTIONS)}

    # Painting

    def paint(self, painter: QPainter) -> None:
        assert self._matrix is not None
        now = theme.current()
        for name, box in self.spots().items():
            meant = name == self._matrix.direction
            painter.setPen(
                QPen(now.q("text"), 2.2) if meant else QPen(now.q("text2" if name == self.under else "line"), 1)
            )
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), 4, 4)
            self._paint_direction(painter, str(name), box, meant=meant)

    def _paint_direction(self, painter: QPainter, name: str, box: QRectF, *, meant: bool) -> None:
        why, test = self.reason(name), self.test(name)
        ink = "text3" if why else "text"
        head = QRectF(box.left(), box.top() + 3, box.width(), TITLE - 3)
        draw_text(painter, head, words.direction_name(name), ink, 11, bold=meant, align="centre")
        painter.save()
        painter.setOpacity(0.4 if why else 1.0)
        self._paint_boxes(painter, name, QRectF(box.left(), box.top() + TITLE, box.width(), BOX))
        painter.restore()
        under = QRectF(box.left() + 5, box.top() + TITLE + BOX + 4, box.width() - 10, VALUE)
        if why or test is None:
            under.setBottom(box.bottom() - 3)
            painter.setFont(theme.font(10))
            painter.setPen(theme.current().q("text2"))
            painter.drawText(under, int(WRAP | Qt.AlignmentFlag.AlignHCenter), why)
            return
        measure = test.measure(self._plan.task)
        under.setHeight(VALUE / 2)
        value = "text3" if test.chance else "text"
        draw_text(painter, under, words.value(measure), value, 13, bold=not test.chance, align="centre")
        said = tr("chance") if test.chance else words.interval(measure)
        draw_text(painter, under.translated(0, VALUE / 2 - 1), said, "text3", 10, align="centre")

    def _paint_boxes(self, painter: QPainter, name: str, room: QRectF) -> None:
        """Query and gallery with the spaces their vectors are in; the query goes to the gallery."""
        sides = STEPS[name]
        wide = [NARROW if len(spaces) == 1 else 2 * CHIP + ARROW + 10 for spaces in sides]
        gap = min(18.0, room.width() - 6 - sum(wide))
        x = room.center().x() - (sum(wide) + gap) / 2
        middle = room.top() + 33
        for side, spaces, width in zip((tr("query"), tr("gallery")), sides, wide):
            plate = QRectF(x, room.top(), width, BOX)
            painter.setPen(QPen(theme.current().q("line2"), 1))
            painter.setBrush(theme.current().q("sunk"))
            painter.drawRoundedRect(plate.adjusted(0.5, 0.5, -0.5, -0.5), 3, 3)
            caption = QRectF(x, room.top() + 2, width, 14)
            draw_text(painter, caption, side, "text3", 10, align="centre")
            at = x + (width - CHIP * len(spaces) - ARROW * (len(spaces) - 1)) / 2
            for place, letter in enumerate(spaces):
                if place:
                    self._paint_arrow(painter, at + 2, at + ARROW - 2, middle)
                    head = QRectF(at - 1, middle - 15, ARROW + 2, 13)
                    draw_text(painter, head, MAPS[name], "text2", 10, align="centre")
                    at += ARROW
                badge(painter, QRectF(at, middle - CHIP / 2, CHIP, CHIP), letter)
                at += CHIP
            if side == tr("query"):
                self._paint_arrow(painter, plate.right() + 2, plate.right() + gap - 2, middle)
            x += width + gap

    def _paint_arrow(self, painter: QPainter, left: float, right: float, y: float) -> None:
        ink = theme.current().q("text2")
        painter.setPen(QPen(ink, 1.4))
        painter.drawLine(QPointF(left, y), QPointF(right - 3, y))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(ink)
        tip = QPointF(right, y)
        painter.drawPolygon(QPolygonF([tip, tip + QPointF(-5, -3.5), tip + QPointF(-5, 3.5)]))

    # Words

    def choosable(self, key: Hashable) -> bool:
        return not self.reason(str(key))

    def told(self, key: Hashable) -> Sequence[str]:
        name, test = str(key), self.test(key)
        assert self._matrix is not None
        why = self.reason(name)
        meant = (
            tr("This is what new/old means.")
            if name == self._matrix.direction
            else tr("Click or Enter: mean this by new/old.")
        )
        return (
            words.direction_name(name),
            words.direction_words(name),
            tr("n/a: {why}", why=why) if why or test is None else words.measured(self._plan, test, self._plan.task),
            *(one.why for one in self._matrix.fitted if one.direction == name),
            "" if why else meant,
        )

    def spoken(self) -> str:
        return ". ".join(", ".join(part for part in self.told(name) if part) for name in self.spots())

    def _on_chosen(self, key: Hashable) -> None:
        if self._matrix is not None and key != self._matrix.direction:
            self.direction.emit(str(key))
