"""Charts: curves with bands, histograms, points with whiskers; one look, one way to click, drag and type.

A panel says what is to be seen and listens; the chart does the rest.

    roc = Chart(
        Axis(tr("FAR (log), lower is stricter"), scale="log", low=1e-6, high=1.0),
        Axis(tr("TAR, higher is better"), low=0.8, high=1.0),
        name=tr("ROC"),
    )
    roc.set_series([Series("b", far, tar, side="B", name="mobilefacenet 2.0", headline="AUC 0.9991",
                           band=Band(tar_low, tar_high))])
    roc.set_zones([Zone(1e-6, 2.4e-6, tr("no support"))])
    roc.set_points([Point("b", 1e-4, 0.9642)])
    roc.set_decision(1e-4, step=0.05)              # step: decades on a log axis, units on a linear one
    roc.picked.connect(...)                        # (series key, index): a point of a curve was clicked
    roc.moved.connect(...)                         # (value): the line is being dragged; settled: it was let go

    scores = Chart(Axis(tr("cosine, higher = more alike"), low=-0.4, high=1.0), Axis(tr("share of pairs"), low=0.0))
    scores.set_bars([Bars("impostor", edges, impostor, colour="bad", hatched=True, name=tr("impostor"),
                          headline=tr("N = {n}", n=1_241_470)),
                     Bars("genuine", edges, genuine, name=tr("genuine"))], scaled=True)
    scores.set_decision(0.421, tr("threshold 0.421"), tr("FAR 1.0e-4 · FRR 0.0358"), step=0.005)
    scores.bin_picked.connect(...)                 # (key, low, high); brushed: (low, high)

Also: `set_note` says why nothing is drawn, `set_brush` and `set_ring` put back what was chosen, `describe` (a callable
of a Mark) writes another value card, `kind="points"` draws single points with whiskers (a CMC), `reference=True` a thin
dashed line with its name on it, `movable=False` makes the line one to read. `facelens.figures.charts` has the limits of
the usual charts (`roc_limits`, ...).

Values go in and come out in the units of the axis, never as they are drawn. `set_*` never emits. Left drag moves the
line or brushes, middle drag or Space and drag pans, the wheel zooms at the pointer, F and double-click fit. Keys:
arrows move the line (Shift: ten steps), Ctrl+arrows walk the marks, Enter clicks the mark, Esc frees ring, then brush.
Without a line the arrows walk the marks. Importing this module imports pyqtgraph, so only a page that draws does it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QEvent, QPointF, Qt, Signal
from PySide6.QtGui import QCursor, QFocusEvent, QKeyEvent, QMouseEvent, QWheelEvent
from PySide6.QtWidgets import QWidget

from facelens.figures.scales import Array, forward
from facelens.views.overlay import Overlay
from facelens.views.series import Axis, Band, Bars, Mark, Point, Series, Zone
from facelens.views.space_bar import SpaceBar
from facelens.words import tr

__all__ = ["Axis", "Band", "Bars", "Chart", "Mark", "Point", "Series", "Zone"]

GRAB = 9  # px each side of the decision line
NEAR = 10  # px from a mark that still mean it
STILL = 4  # px a click may move
BINS_LIFT = 8  # px above a bar that still mean it, so that a bin of one pair can be hit


class Chart(Overlay):
    """One plot. See the text of the module for how to use it."""

    moved = Signal(float)  # the decision line, while it is dragged or typed
    settled = Signal(float)  # the decision line was let go
    picked = Signal(str, int)  # series, nearest point
    bin_picked = Signal(str, float, float)  # bars, low, high
    brushing = Signal(float, float)  # while the brush is drawn
    brushed = Signal(float, float)  # low, high
    cleared = Signal()  # Esc: nothing is picked or brushed any more

    def __init__(
        self,
        x: Axis,
        y: Axis,
        *,
        name: str = "",
        brush: bool | None = None,
        movable: bool = True,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(x, y, name=name, parent=parent)
        self.setWhatsThis(
            tr(
                "What is under the pointer says more; a click picks it, where something is behind it. A line with a "
                "handle is dragged, or moved by the arrow keys. The wheel zooms, middle drag or "
                "Space and drag pans, F shows everything."
            )
        )
        self._brushable = brush  # None: where there are bars
        self._movable = movable  # whether the line can be
        self._space = SpaceBar()
        self._press: QPointF | None = None
        self._from = 0.0  # pixels from the pointer to the line, or the end of the brush that stays
        self._unsettled = False  # the line has moved and `settled` was not told yet

    # Pointing

    def _under(self, at: QPointF) -> Mark | None:
        """The mark under the pointer."""
        box = self._box()
        if not box.adjusted(-6, -8, 6, 6).contains(at):
            return None
        best: tuple[float, Mark] | None = None
        for drawn in self._drawn:
            if drawn.series.reference or not len(drawn.x):
                continue
            found = self._find(drawn.series.key)
            xs, ys = self._px(drawn.x) + (found[1] if found else 0.0), self._py(drawn.y)
            place = int(np.argmin((xs - at.x()) ** 2 + (ys - at.y()) ** 2))
            away = float(np.hypot(xs[place] - at.x(), ys[place] - at.y()))
            if drawn.series.kind == "line" and len(xs) > 1:
                order = slice(None) if xs[-1] >= xs[0] else slice(None, None, -1)
                here = float(np.interp(at.x(), xs[order], ys[order], left=np.inf, right=np.inf))
                if abs(here - at.y()) < away:  # between two far points of the curve
                    away = abs(here - at.y())
            if away <= NEAR and (best is None or away < best[0]):
                best = away, Mark(drawn.series.key, int(drawn.index[place]))
        if best is not None:
            return best[1]
        bottom = float(self._py(0.0))
        hit: tuple[float, Mark] | None = None
        for one in self._bars:
            edges = self._px(forward(self.x_axis.scale, one.edges))
            at_bin = int(np.searchsorted(edges, at.x(), side="right")) - 1
            if not 0 <= at_bin < len(one.counts) or one.counts[at_bin] <= 0:
                continue
            top = float(self._py(self._heights(one)[at_bin]))
            if top - BINS_LIFT <= at.y() <= bottom + 4 and (hit is None or top > hit[0]):
                hit = top, Mark(one.key, at_bin, bin=True)  # the lower bar lies in the higher one
        return None if hit is None else hit[1]

    def _on_line(self, at: QPointF) -> bool:
        x, box = self._line_px(), self._box()
        if x is None or not self._movable:
            return False
        return abs(at.x() - x) <= GRAB and box.top() - 6 <= at.y() <= box.bottom() + 10

    def _grip(self, at: QPointF) -> str:
        """Which part of the brush is under the pointer."""
        box = self._box()
        if self._brush is None or not box.contains(at):
            return ""
        low, high = self._px(np.array(self._brush))
        if min(abs(at.x() - low), abs(at.x() - high)) <= 6:
            return "low" if abs(at.x() - low) < abs(at.x() - high) else "high"
        return ""

    def _pick(self, mark: Mark) -> None:
        self._ring = mark
        self._refresh()
        if mark.bin:
            one = next(b for b in self._bars if b.key == mark.key)
            self.bin_picked.emit(mark.key, float(one.edges[mark.index]), float(one.edges[mark.index + 1]))
        else:
            self.picked.emit(mark.key, mark.index)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        at = event.position()
        self._by_key = False
        self.setFocus(Qt.FocusReason.MouseFocusReason)
        if self._space.pans(event):
            self._press, self._drag = at, "pan"
            self.viewport().setCursor(Qt.CursorShape.ClosedHandCursor)
        elif event.button() == Qt.MouseButton.LeftButton:
            self._press = at
            self._drag = self._grip(at) or ("line" if self._on_line(at) else "")
            if self._drag == "line":
                self._from = (self._line_px() or at.x()) - at.x()
        event.accept()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        at = event.position()
        if self._press is None:
            self._point_at(at)
        elif self._drag == "pan":
            self._pan(at - self._press)
            self._press = at
        elif self._drag == "line":
            if self._unsettled or abs(at.x() - self._press.x()) > 1:
                self._move_line(self._place_x(at.x() + self._from))
        else:
            self._drag_brush(at)
        event.accept()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        at, press, drag = event.position(), self._press, self._drag
        if press is None or event.button() not in (Qt.MouseButton.LeftButton, Qt.MouseButton.MiddleButton):
            return
        self._press, self._drag = None, ""
        if drag == "line" and self._unsettled:
            self._settle()
        elif drag in ("brush", "low", "high") and self._brush is not None:
            self.brushed.emit(*(self.brush or (0.0, 0.0)))
        elif drag != "pan" and (at - press).manhattanLength() <= STILL:
            mark = self._under(at)
            if mark is not None:
                self._pick(mark)
        self._point_at(at)
        self._refresh()
        event.accept()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self.fit()
        event.accept()

    def wheelEvent(self, event: QWheelEvent) -> None:
        box, at = self._box(), event.position()
        turn = event.angleDelta().y()
        if not turn or not box.contains(at):
            event.ignore()  # the page under the chart scrolls
            return
        factor = 0.85 ** (turn / 120)
        whole = self._whole()
        x0, x1, y0, y1 = self._view
        x = x0 + (at.x() - box.left()) / box.width() * (x1 - x0)
        new_x = _within((x - (x - x0) * factor, x + (x1 - x) * factor), whole[:2])
        new_y: tuple[float, float] = (y0, y1)
        if not self._bars:
            y = y0 + (box.bottom() - at.y()) / box.height() * (y1 - y0)
            new_y = _within((y - (y - y0) * factor, y + (y1 - y) * factor), whole[2:])
        view = (*new_x, *new_y)
        if view == self._view:
            event.ignore()  # nothing outside: the page goes on scrolling
            return
        if new_x[1] - new_x[0] > 1e-6 * (whole[1] - whole[0]):
            self._look_at(view)
        event.accept()

    def leaveEvent(self, event: QEvent) -> None:
        self._hover, self._over_line = None, False
        self.viewport().update()

    def _pan(self, by: QPointF) -> None:
        box, whole = self._box(), self._whole()
        x0, x1, y0, y1 = self._view
        dx = -by.x() * (x1 - x0) / box.width()
        dy = 0.0 if self._bars else by.y() * (y1 - y0) / box.height()
        dx = min(max(dx, whole[0] - x0), whole[1] - x1)
        dy = min(max(dy, whole[2] - y0), whole[3] - y1)
        self._look_at((x0 + dx, x1 + dx, y0 + dy, y1 + dy))

    def point_again(self) -> None:
        """Hover what lies under a pointer that rests, after something else was drawn under it."""
        if self._press is None and self.viewport().underMouse():
            self._point_at(QPointF(self.viewport().mapFromGlobal(QCursor.pos())))

    def _point_at(self, at: QPointF) -> None:
        over = self._on_line(at)
        mark = self._under(at)
        grip = self._grip(at)
        if grip or over:
            shape = Qt.CursorShape.SplitHCursor
        else:
            shape = Qt.CursorShape.PointingHandCursor if mark is not None else Qt.CursorShape.ArrowCursor
        if self.viewport().cursor().shape() != shape:
            self.viewport().setCursor(shape)
        if (over, mark) != (self._over_line, self._hover):
            self._over_line, self._hover = over, mark
            self.viewport().update()

    def _move_line(self, place: float) -> None:
        place = min(max(place, self._view[0]), self._view[1])
        value = self._value_x(place)
        if value == self._decision:
            return
        self._decision, self._unsettled, self._hover = value, True, None
        self.viewport().update()
        self.moved.emit(value)

    def _settle(self) -> None:
        if self._unsettled and self._decision is not None:
            self._unsettled = False
            self._refresh()
            self.settled.emit(self._decision)

    def _drag_brush(self, at: QPointF) -> None:
        assert self._press is not None
        can = self._brushable if self._brushable is not None else bool(self._bars)
        if not can or (not self._drag and abs(at.x() - self._press.x()) <= STILL):
            return
        box = self._box()
        here = self._snapped(self._place_x(min(max(at.x(), box.left()), box.right())))
        if not self._drag:
            if not box.adjusted(-4, -10, 4, 4).contains(self._press):
                return
            self._drag, self._hover = "brush", None
            self._from = self._snapped(self._place_x(min(max(self._press.x(), box.left()), box.right())))
        elif self._drag in ("low", "high") and self._brush is not None:
            self._from = self._brush[1] if self._drag == "low" else self._brush[0]
            self._drag = "brush"
        low, high = sorted((self._from, here))
        if high > low and (low, high) != self._brush:
            self._brush, self._brush_text = (low, high), ""
            self.viewport().update()
            self.brushing.emit(*(self.brush or (0.0, 0.0)))

    def _snapped(self, place: float) -> float:
        """The nearest edge of a bin, so that a brush holds whole bins."""
        if not self._bars:
            return place
        edges = forward(self.x_axis.scale, self._bars[0].edges)
        return float(edges[int(np.argmin(np.abs(edges - place)))])

    # Keys

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, held = event.key(), event.modifiers()
        steps = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}.get(Qt.Key(key), 0)
        rows = {Qt.Key.Key_Up: 1, Qt.Key.Key_Down: -1}.get(Qt.Key(key), 0)
        times = 10 if held & Qt.KeyboardModifier.ShiftModifier else 1
        walks = self._decision is None or not self._movable or bool(held & Qt.KeyboardModifier.ControlModifier)
        if self._space.pressed(event):
            event.accept()
            return
        if steps and not walks:
            self._type_line(steps * times)
        elif (steps or rows) and walks and self._walk(steps * times, rows):
            pass
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self._hover is not None:
            self._pick(self._hover)
        elif key == Qt.Key.Key_F and not held:
            self.fit()
        elif key == Qt.Key.Key_Escape and (self._ring is not None or self._brush is not None):
            if self._ring is not None:
                self._ring = None
            else:
                self._brush = None
            self._refresh()
            self.cleared.emit()
        else:
            event.ignore()
            return
        self._by_key = True
        self.viewport().update()
        event.accept()

    def keyReleaseEvent(self, event: QKeyEvent) -> None:
        if not event.isAutoRepeat() and event.key() in (Qt.Key.Key_Left, Qt.Key.Key_Right):
            self._settle()
        if self._space.clicked(event) and self._hover is not None:
            self._pick(self._hover)
            self._by_key = True
            self.viewport().update()
        event.accept()

    def _type_line(self, steps: int) -> None:
        assert self._decision is not None
        low, high = self._view[:2]
        step = self._step or (high - low) / 200
        place = float(forward(self.x_axis.scale, self._decision))
        self._move_line((place if np.isfinite(place) else low) + steps * step)

    def _walk(self, steps: int, rows: int) -> bool:
        """Move the hovered mark along its series, or to the next series at the same place; False: nothing to walk."""
        lists: list[tuple[str, bool, NDArray[np.int64], Array]] = [
            (d.series.key, False, d.index, self._px(d.x)) for d in self._drawn if len(d.x) and not d.series.reference
        ]
        for one in self._bars:
            full = np.flatnonzero(np.asarray(one.counts) > 0)
            if len(full):
                edges = self._px(forward(self.x_axis.scale, one.edges))
                lists.append((one.key, True, full, (edges[full] + edges[full + 1]) / 2))
        if not lists:
            return False
        start = self._hover or self._ring
        row = next(
            (i for i, (key, bins, _, _) in enumerate(lists) if start and (key, bins) == (start.key, start.bin)), None
        )
        if row is None or start is None:
            line = self._line_px()
            row, x = len(lists) - 1, line if line is not None else self._box().center().x()
            steps = 0
        else:
            _, _, index, xs = lists[row]
            x = float(xs[int(np.argmin(np.abs(index - start.index)))])
            row = (row + rows) % len(lists)
        key, bins, index, xs = lists[row]
        if rows or start is None or start.key != key:
            place = int(np.argmin(np.abs(xs - x)))
        else:
            place = int(np.argmin(np.abs(index - start.index)))
        order = 1 if xs[-1] >= xs[0] else -1
        place = min(max(place + order * steps, 0), len(index) - 1)
        self._hover = Mark(key, int(index[place]), bins)
        self.setAccessibleDescription(". ".join(self._card_lines(self._hover)))
        return True

    def focusInEvent(self, event: QFocusEvent) -> None:
        self._by_key = event.reason() in (
            Qt.FocusReason.TabFocusReason, Qt.FocusReason.BacktabFocusReason, Qt.FocusReason.ShortcutFocusReason,
        )  # fmt: skip
        super().focusInEvent(event)
        self.viewport().update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self._space.leave()
        self._settle()
        super().focusOutEvent(event)
        self.viewport().update()


def _within(span: tuple[float, float], whole: tuple[float, float]) -> tuple[float, float]:
    """`span` moved and cut so that it lies in `whole`."""
    width = min(span[1] - span[0], whole[1] - whole[0])
    low = min(max(span[0], whole[0]), whole[1] - width)
    return low, low + width
