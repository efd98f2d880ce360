"""All queries of a sweep: where the first right face of each stood by cosine, and where it stands with the patches.

A click on a row searches for that face, on a heading sorts by it, again the other way round; a click on a count selects
those queries. Keys: up and down walk, Enter searches, Space selects, left and right sort by the column beside, R turns.
Queries of another gallery are listed before they are searched for.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from facelens.figures.swept import ORDERS, REVERSED, forward, in_order
from facelens.images.faceset import FaceSet, Ids
from facelens.session.selection import Mode, Selection
from facelens.views import icons, marks, portrait, theme
from facelens.views.controls import draw_text, text_width
from facelens.views.grid import MODIFIERS, SCROLL_BAR
from facelens.views.hover import Line
from facelens.views.painted_rows import ENTER, KEYS, PaintedRows
from facelens.views.panel import Desk
from facelens.words import plural, tr

ROW, SIDE = 34, 28  # px of a row and of the face in it
EDGE = 12
GAINED, SAME, LOST = 1, 0, -1
UNSEARCHED = -1  # instead of a rank
COLUMNS = ORDERS
NUMBER, CHANGE = 52, 60  # px of a column
Ranks = NDArray[np.int64]


class QueryRanks(PaintedRows):
    """See the module's words."""

    query_wanted = Signal(object)  # id
    select = Signal(object, object)  # ids, Mode
    ordered = Signal()  # they stand in another order

    head = 26
    keys = (KEYS.Key_R,)

    def __init__(self, desk: Desk, parent: QWidget | None = None) -> None:
        super().__init__(desk, parent)
        self._faces: FaceSet | None = None
        self.ids: Ids = np.zeros(0, np.int64)
        self.before: Ranks = np.zeros(0, np.int64)  # 0: nobody to find; UNSEARCHED
        self.after: Ranks = np.zeros(0, np.int64)
        self.by, self.turned = "change", False
        self.stale = False  # the ranks have changed since they were sorted
        self.order: Ranks = np.zeros(0, np.int64)  # as they are listed
        self.chosen: Selection | None = None  # of queries that are not of the gallery
        self._query: int | None = None
        self._cursor = -1  # a place in the list
        self._head = ""  # the heading under the pointer
        self.bar.setAccessibleName(tr("Scroll the queries"))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAccessibleName(tr("All queries"))
        self.setWhatsThis(
            tr(
                "The rank of the first right face of every query, before and after. A click searches for a query, a "
                "click on a head sorts, R turns the order round. Up and down walk, left and right choose the column."
            )
        )

    @property
    def painted_faces(self) -> FaceSet | None:
        return self._faces

    @property
    def selection(self) -> Selection:
        return super().selection if self.chosen is None else self.chosen

    # What is shown

    def show_faces(self, faces: FaceSet) -> None:
        """Queries that are not searched for yet."""
        unknown = np.full(len(faces), UNSEARCHED, np.int32)
        self.show_ranks(faces, faces.ids, unknown, unknown)

    def set_after(self, after: NDArray[np.int32]) -> None:
        """Other ranks of the same queries; the list keeps its order, so that alpha can be watched."""
        if not np.array_equal(after, self.after):
            self.after = after.astype(np.int64)
            self.stale = self.by in ("after", "change")
            self.update()

    def set_chosen(self, chosen: Selection | None) -> None:
        """Which of the queries are selected, where they are not of the gallery; None: as the workspace says."""
        self.chosen = chosen
        self.update()

    def show_ranks(self, faces: FaceSet, ids: Ids, before: NDArray[np.int32], after: NDArray[np.int32]) -> None:
        """Other ranks; the list keeps its order while the queries are the same and were searched for."""
        known = not len(self.before) or self.before[0] != UNSEARCHED
        same, more = known and np.array_equal(ids, self.ids), bool(np.isin(self.ids, ids).all())
        changed = not np.array_equal(before, self.before) or not np.array_equal(after, self.after)
        self._faces, self.ids = faces, ids
        self.before, self.after = before.astype(np.int64), after.astype(np.int64)
        if not same:
            self._cursor = -1
            self._sort()
            self.bar.setValue(self.bar.value() if more else 0)
        elif changed:
            self.stale = self.by in ("after", "change")
        self.roll()
        self.refresh(self.reads)

    def set_query(self, face: int | None) -> None:
        """Mark the query that is looked at."""
        self._query = face
        self.update()

    @property
    def change(self) -> Ranks:
        """(Q,) how many ranks each came forward."""
        return forward(self.before, self.after)

    def of_kind(self, kind: int) -> Ids:
        """Queries that gained, lost, or stayed; those with nobody to find are none of them."""
        return self.ids[(np.sign(self.change) == kind) & (self.before > 0)]

    def sort_by(self, by: str, *, turned: bool = False) -> None:
        """List the queries by a column: the most gained first, the best rank first, names from A; or turned round."""
        self.by, self.turned = by, turned
        self._sort()
        self._cursor = -1
        self.bar.setValue(0)
        self.refresh(self.reads)
        self.ordered.emit()

    @property
    def queries_order(self) -> str:
        """As it is kept."""
        return f"{self.by} {REVERSED}" if self.turned else self.by

    def take_order(self, said: str) -> bool:
        """An order as it was kept; False where there is no such column."""
        by, _, way = said.partition(" ")
        if by not in COLUMNS:
            return False
        self.sort_by(by, turned=way == REVERSED)
        return True

    def _sort(self) -> None:
        names: list[str] = []
        if self.by == "name":
            rows = [self._row(face) for face in self.ids.tolist()]
            names = [(self._faces.label(row) if self._faces is not None and row is not None else "") for row in rows]
        self.stale = False
        self.order = in_order(self.before, self.after, names, self.queries_order)

    @property
    def count(self) -> int:
        return len(self.order)

    @property
    def pitch(self) -> float:
        return ROW

    def sizeHint(self) -> QSize:
        return QSize(380, self.head + 12 * ROW)

    def minimumSizeHint(self) -> QSize:
        return QSize(240, self.head + 3 * ROW)

    def _row(self, face: int) -> int | None:
        return self._faces.row_of(face) if self._faces is not None else None

    # Where things are

    def column(self, by: str) -> tuple[float, float]:
        """Left and right of a column."""
        end = self.width() - SCROLL_BAR - 6
        edges = (0.0, end - CHANGE - 2 * NUMBER, end - CHANGE - NUMBER, end - CHANGE, end)
        place = COLUMNS.index(by)
        return edges[place], edges[place + 1]

    def face_box(self, place: int) -> QRectF:
        """Where the face of a row is."""
        return QRectF(EDGE, round(self.top(place) + (ROW - SIDE) / 2), SIDE, SIDE)

    def face_at(self, point: QPointF) -> tuple[int, QRectF] | None:
        place = self.place_at(point.y())
        if place is None or point.x() > self.body.right():
            return None
        return int(self.ids[self.order[place]]), self.face_box(place)

    def heading_at(self, point: QPointF) -> str:
        """The heading under a point."""
        inside = (by for by in COLUMNS if self.column(by)[0] <= point.x() < self.column(by)[1])
        return next(inside, "") if point.y() < self.head and self.count else ""

    # Words

    def _said(self, at: int) -> str:
        """What became of a query."""
        change = int(self.change[at])
        if self.before[at] <= 0:
            return tr("nobody to find") if not self.before[at] else ""
        if change > 0:
            return plural(change, "{n} rank gained", "{n} ranks gained")
        return plural(-change, "{n} rank lost", "{n} ranks lost") if change else tr("same rank")

    def lines(self, face: int) -> Sequence[Line]:
        at = int(np.flatnonzero(self.ids == face)[0])
        if self.before[at] <= 0:
            return (self._said(at) or tr("not searched for yet"),)
        ranks = tr("{before} → {after}", before=int(self.before[at]), after=int(self.after[at]))
        return (tr("first mate"), ranks), self._said(at)

    def current_text(self) -> str:
        if not self.count or self._faces is None:
            return tr("No query")
        if not 0 <= self._cursor < self.count:
            return plural(self.count, "{n} query", "{n} queries")
        at = int(self.order[self._cursor])
        row = self._row(int(self.ids[at]))
        name = self._faces.label(row) if row is not None else ""
        ranks = tr("rank {before} before, {after} after", before=int(self.before[at]), after=int(self.after[at]))
        return ", ".join(part for part in (name, ranks if self.before[at] > 0 else "", self._said(at)) if part)

    # Painting

    def paintEvent(self, event: QPaintEvent) -> None:
        now, painter = theme.current(), QPainter(self)
        painter.setRenderHints(QPainter.RenderHint.Antialiasing | QPainter.RenderHint.SmoothPixmapTransform)
        painter.fillRect(event.rect(), now.q("base"))
        self._paint_heads(painter, now)
        painter.setClipRect(self.body)
        # Backwards, because the newest request is decoded first and eyes start at the top.
        for place in reversed(self.seen()):
            self._paint_row(painter, now, place)

    def _paint_heads(self, painter: QPainter, now: theme.Theme) -> None:
        titles = {"name": tr("query"), "before": tr("before"), "after": tr("after"), "change": tr("change")}
        for by, title in titles.items():
            left, right = self.column(by)
            ink = "text" if by in (self.by, self._head) else "text3"
            align = "left" if by == "name" else "right"
            box = QRectF(left + (EDGE if by == "name" else 0), 4, right - left - EDGE, 18)
            if by == "name":
                box.setWidth(min(box.width(), text_width(title, 10) + 2))
            draw_text(painter, box, title, ink, 10, align=align)
            if by == self.by and not self.stale:
                x = box.right() + (3 if by == "name" else -text_width(title, 10) - 13)
                arrow = "chevron-up" if self.turned else "chevron-down"
                icons.paint(painter, QRectF(x, 9, 10, 10), arrow, "text", width=2.0)
        painter.setPen(QPen(now.q("line2"), 1))
        painter.drawLine(QPointF(0, self.head - 0.5), QPointF(self.width(), self.head - 0.5))

    def _paint_row(self, painter: QPainter, now: theme.Theme, place: int) -> None:
        at = int(self.order[place])
        face, top = int(self.ids[at]), self.top(place)
        hovered = face == self.hovered
        ground = now.soft if face == self._query else theme.mix(now.base, now.text, 0.05) if hovered else now.base
        painter.fillRect(QRectF(0, top, self.body.width(), ROW), now.q(ground))
        row, box = self._row(face), self.face_box(place)
        if row is None or self._faces is None:
            portrait.absent(painter, box, broken=False)
            name = tr("not in the gallery")
        else:
            portrait.face(painter, self.desk.thumbnails, self._faces, row, box, ground=ground)
            name = self._faces.label(row)
        portrait.ring(painter, box, selected=face in self.selection, current=False, hovered=hovered)
        draw_text(
            painter, QRectF(box.right() + 8, top, self.column("name")[1] - box.right() - 8, ROW), name, "text", 11
        )
        if self.before[at] <= 0:
            whole = QRectF(self.column("before")[0], top, self.column("change")[1] - self.column("before")[0] - 12, ROW)
            draw_text(painter, whole, self._said(at), "text3", 10, align="right")
        else:
            self._paint_ranks(painter, now, at, top)
        if self.by_key and self.hasFocus() and place == self._cursor:
            painter.setPen(QPen(now.q("accent"), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(QRectF(1, top + 1, self.body.width() - 2, ROW - 2), 4, 4)

    def _paint_ranks(self, painter: QPainter, now: theme.Theme, at: int, top: float) -> None:
        for by, ranks in (("before", self.before), ("after", self.after)):
            left, right = self.column(by)
            ink = "text" if by == "after" else "text2"
            box = QRectF(left, top, right - left - EDGE, ROW)
            draw_text(painter, box, f"{int(ranks[at]):,}", ink, 11, bold=by == "after", align="right")
        left, right = self.column("after")
        draw_text(painter, QRectF(left + 2, top, 14, ROW), "→", "text3", 11)
        change, (left, right) = int(self.change[at]), self.column("change")
        mark = QRectF(right - EDGE - 10, top + ROW / 2 - 5, 10, 10)
        marks.change(painter, mark, now, change)
        if change:
            box = QRectF(left, top, mark.left() - 6 - left, ROW)
            draw_text(painter, box, f"{abs(change):,}", "text2", 11, align="right")

    # Mouse

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self.set_under(None)
        self.by_key = False
        if event.button() != Qt.MouseButton.LeftButton:
            return
        heading, found = self.heading_at(event.position()), self.face_at(event.position())
        if heading:
            turned = self.turned if self.stale else not self.turned
            self.sort_by(heading, turned=heading == self.by and turned)
        elif found is not None:
            self._cursor = self.place_at(event.position().y()) or 0
            self._act(found[0], event.modifiers())

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        super().mouseMoveEvent(event)
        heading = self.heading_at(event.position())
        on = heading or self.face_at(event.position()) is not None
        self.setCursor(Qt.CursorShape.PointingHandCursor if on else Qt.CursorShape.ArrowCursor)
        if heading != self._head:
            self._head = heading
            self.update()

    def _act(self, face: int, held: MODIFIERS) -> None:
        if held & (MODIFIERS.ControlModifier | MODIFIERS.AltModifier):
            mode = Mode.REMOVE if held & MODIFIERS.AltModifier else Mode.TOGGLE
            self.select.emit(np.array([face], np.int64), mode)
        else:
            self.query_wanted.emit(face)

    # Keyboard

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, self.by_key = Qt.Key(event.key()), True
        target = self.target(key, self._cursor if self._cursor >= 0 else None)
        aside = {KEYS.Key_Left: -1, KEYS.Key_Right: 1}.get(key, 0)
        if target is not None:
            self._cursor = target
            self.bring(target)
        elif aside:
            self.sort_by(COLUMNS[(COLUMNS.index(self.by) + aside) % len(COLUMNS)])
        elif key == KEYS.Key_R:
            self.sort_by(self.by, turned=not self.turned)
        elif key in (*ENTER, KEYS.Key_Space) and 0 <= self._cursor < self.count:
            held = MODIFIERS.ControlModifier if key == KEYS.Key_Space else MODIFIERS.NoModifier
            self._act(int(self.ids[self.order[self._cursor]]), held)
        else:
            super().keyPressEvent(event)
            return
        self.update()
        self.tell_screen_readers(aloud=True)
