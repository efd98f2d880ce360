"""Models that follow each other: whether the cross-test of two of them lies between each of them by itself.

A row for each pair, neighbours first: a ring for the older model alone, a diamond for the newer one's queries in the
older one's gallery, a disc for the newer model alone, each with its interval.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QPainter, QPen, QPolygonF

from facelens.analyses.crossing import Bound, Matrix
from facelens.analyses.measure import Measure
from facelens.analyses.plan import UpgradePlan
from facelens.figures import crossing_words as words
from facelens.figures.scales import ticks
from facelens.views import marks, theme
from facelens.views.controls import draw_text, text_width
from facelens.views.spots import Rail, Spots
from facelens.words import escaped, tr

EDGE, TOP, FOOT = 12, 22, 36  # px
LEAST, MOST = 26, 52  # px of a row
APART = 9.0  # px from one point of a row down to the next, where there is room
MARK = 14.0
KINDS = ("low", "cross", "high")
REASON = Qt.TextFlag.TextWordWrap | Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter


class SequenceView(Spots):
    """See the module's words."""

    picked = Signal(str, str, str)  # query, gallery, direction: the errors of the cross-test are asked for

    def __init__(self) -> None:
        super().__init__(tr("Sequence of models"))
        self._matrix: Matrix | None = None
        self._plan = UpgradePlan()
        self.bounds: tuple[Bound, ...] = ()
        self.chosen.connect(self._on_chosen)
        self.show_sequence(None, self._plan)

    def show_sequence(self, matrix: Matrix | None, plan: UpgradePlan, *, why: str = "") -> None:
        """Other models, by the task of the plan; without bounds say why there are none."""
        self._matrix, self._plan = matrix, plan
        found = () if matrix is None else matrix.bounds
        self.bounds = tuple(bound for bound in found if bound.task == plan.task)
        self.note = "" if self.bounds else why or tr("not worked out yet")
        self.setMinimumHeight(TOP + FOOT + LEAST * max(len(self.bounds), 1))
        self.renew()

    def values(self, bound: Bound) -> tuple[Measure, Measure, Measure]:
        """The older model alone, the cross-test, the newer model alone."""
        assert self._matrix is not None
        asked = (bound.low, bound.low, ""), (bound.high, bound.low, bound.direction), (bound.high, bound.high, "")
        tests = (self._matrix.test(*one) for one in asked)
        none = Measure.none(tr("not tested"))
        low, cross, high = (none if test is None else test.measure(self._plan.task) for test in tests)
        return low, cross, high

    # Where things are

    def sizeHint(self) -> QSize:
        return QSize(440, TOP + FOOT + MOST * max(len(self.bounds), 1))

    def minimumSizeHint(self) -> QSize:
        return QSize(320, TOP + FOOT + LEAST * max(len(self.bounds), 1))

    @property
    def _pitch(self) -> float:
        return min(max((self.height() - TOP - FOOT) / max(len(self.bounds), 1), LEAST), MOST)

    def spots(self) -> Mapping[Hashable, QRectF]:
        pitch = self._pitch
        rows = (QRectF(4, TOP + i * pitch, self.width() - 8, pitch) for i in range(len(self.bounds)))
        return {(one.low, one.high, one.direction): row for one, row in zip(self.bounds, rows)}

    def _plot(self) -> QRectF:
        names = max((text_width(self._pair(one), 11, True) for one in self.bounds), default=0.0)
        said = max((text_width(words.bound_words(self._plan, one), 10) for one in self.bounds), default=0.0)
        left = EDGE + min(names, 0.28 * self.width()) + 14
        right = self.width() - EDGE - min(said + MARK + 6, 0.36 * self.width()) - 12
        return QRectF(left, TOP, max(right - left, 20.0), self._pitch * len(self.bounds))

    def limits(self) -> tuple[float, float]:
        """Both ends of the scale: all is seen but what is no better than guessing."""
        seen = [m for one in self.bounds for m in (self.values(one)[::2] if self._guesses(one) else self.values(one))]
        known = [v for m in seen for v in (m.value, m.low, m.high) if v is not None]
        low, high = min(known, default=0.0), max(known, default=1.0)
        spare = max(0.06 * (high - low), 0.001)
        return low - spare, high + spare

    def _guesses(self, bound: Bound) -> bool:
        """Whether the cross-test is at chance."""
        assert self._matrix is not None
        test = self._matrix.test(bound.high, bound.low, bound.direction)
        return test is not None and test.chance

    # Painting

    def paint(self, painter: QPainter) -> None:
        now, plot = theme.current(), self._plot()
        rail = Rail(plot.left(), plot.right(), *self.limits())
        title = tr("{asked}, higher is better", asked=words.asked(self._plan))
        draw_text(painter, QRectF(EDGE, 4, self.width() - 2 * EDGE, 16), title, "text2", 10)
        for value, text in ticks("linear", rail.low, rail.high, room=max(2, int(plot.width() / 56))):
            x = round(rail.x(value)) + 0.5
            painter.setPen(QPen(now.q("text", 0.09), 1))
            painter.drawLine(QPointF(x, plot.top()), QPointF(x, plot.bottom() + 2))
            draw_text(painter, QRectF(x - 30, plot.bottom() + 3, 60, 14), text, "text3", 10, align="centre")
        for bound, (key, box) in zip(self.bounds, self.spots().items()):
            if key == self.under:
                painter.fillRect(box, now.q("text", 0.05))
            self._paint_bound(painter, bound, box, rail)
        self._paint_legend(painter, QPointF(EDGE, plot.bottom() + 27))

    def _paint_bound(self, painter: QPainter, bound: Bound, box: QRectF, rail: Rail) -> None:
        now, middle = theme.current(), box.center().y()
        said = words.direction_name(bound.direction) if box.height() >= 30 or bound.direction != "direct" else ""
        name = QRectF(EDGE, middle - (15 if said else 8), rail.left - EDGE - 10, 15)
        draw_text(painter, name, self._pair(bound), "text", 11, bold=True, middle=True)
        draw_text(painter, name.translated(0, 14), said, "text3", 10)
        values = self.values(bound)
        if not any(one.defined for one in values):
            room = QRectF(rail.left, box.top(), self.width() - EDGE - rail.left, box.height())
            self._paint_reason(painter, room, bound)
            return
        for place, (kind, measure) in enumerate(zip(KINDS, values)):
            y = middle + (place - 1) * min(APART, 0.3 * box.height())
            ink = now.q("text" if kind == "cross" else "text3")
            if measure.value is None or not measure.defined:
                draw_text(painter, QRectF(rail.left, y - 7, 60, 14), tr("n/a"), "text3", 10)
            elif not rail.holds(measure.value):
                rail.arrow(painter, measure.value, y, ink, size=5.0)
            else:
                rail.whisker(painter, measure, y, ink, cap=3.0)
                _paint_point(painter, kind, QPointF(rail.x(measure.value), y))
        at = QRectF(rail.right + 12, middle - MARK / 2, MARK, MARK)
        if not (bound.above.defined and bound.below.defined):
            room = QRectF(at.left(), box.top(), self.width() - at.left() - EDGE, box.height())
            self._paint_reason(painter, room, bound)
            return
        (marks.right if bound.holds else marks.wrong)(painter, at, now)
        rest = QRectF(at.right() + 6, middle - 8, self.width() - at.right() - 6 - EDGE, 16)
        draw_text(painter, rest, words.bound_words(self._plan, bound), "text2", 10)

    def _paint_reason(self, painter: QPainter, room: QRectF, bound: Bound) -> None:
        """Why it cannot be said; the card has all of it where there is little room."""
        painter.save()
        painter.setClipRect(room)
        painter.setFont(theme.font(10))
        painter.setPen(theme.current().q("text2"))
        painter.drawText(room, int(REASON), words.bound_words(self._plan, bound))
        painter.restore()

    def _paint_legend(self, painter: QPainter, at: QPointF) -> None:
        texts = (tr("older alone"), tr("newer in older"), tr("newer alone"))
        for kind, text in zip(KINDS, texts):
            _paint_point(painter, kind, at + QPointF(5, 0))
            draw_text(painter, QRectF(at.x() + 14, at.y() - 7, text_width(text, 10) + 2, 14), text, "text2", 10)
            at = at + QPointF(14 + text_width(text, 10) + 16, 0)

    # Words

    def _pair(self, bound: Bound) -> str:
        return f"{words.called(self._plan, bound.low)} → {words.called(self._plan, bound.high)}"

    def _bound(self, key: Hashable) -> Bound:
        return next(one for one in self.bounds if (one.low, one.high, one.direction) == key)

    def told(self, key: Hashable) -> Sequence[str]:
        bound, plan = self._bound(key), self._plan
        low, cross, high = self.values(bound)
        older, newer = words.called(plan, bound.low), words.called(plan, bound.high)
        said = tr("holds") if bound.holds else tr("does not hold")
        return (
            f"{self._pair(bound)}, {words.direction_name(bound.direction)}: {said}, {words.bound_words(plan, bound)}",
            tr(
                "{older} is {low}, {newer} is {high}",
                older=older,
                low=escaped(bound.low),
                newer=newer,
                high=escaped(bound.high),
            ),
            f"{older}/{older}: {words.told(low)}",
            f"{newer}/{older}: {words.told(cross)}",
            f"{newer}/{newer}: {words.told(high)}",
            f"{newer}/{older} − {older}/{older}: {words.difference(bound.above)}",
            f"{newer}/{newer} − {newer}/{older}: {words.difference(bound.below)}",
            tr("By the values; click or Enter: the errors of the cross-test."),
        )

    def spoken(self) -> str:
        return ". ".join(self.told(key)[0] for key in self.spots())

    def _on_chosen(self, key: Hashable) -> None:
        bound = self._bound(key)
        self.picked.emit(bound.high, bound.low, bound.direction)


def _paint_point(painter: QPainter, kind: str, at: QPointF) -> None:
    """A ring, a diamond, or a disc."""
    now = theme.current()
    painter.setPen(QPen(now.q("text2"), 1.7) if kind == "low" else QPen(now.q("base"), 1))
    painter.setBrush(now.q({"low": "base", "cross": "text", "high": "text2"}[kind]))
    if kind == "cross":
        offs = ((0, -5), (5, 0), (0, 5), (-5, 0))
        painter.drawPolygon(QPolygonF([at + QPointF(*off) for off in offs]))
    else:
        painter.drawEllipse(at, 3.8, 3.8)
