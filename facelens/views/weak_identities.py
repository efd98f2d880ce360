"""Whose enrolment is weak: a row for each person, those who keep the fewest pictures first.

A click selects the person's faces (Ctrl, Shift, Alt as in the grid) and looks at the worst, or at the one that was
clicked; a double-click or Enter asks for a gallery of this person alone. A click on a heading sorts, again reverses.
Keys: up and down move, left and right sort by the column beside, R reverses.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from PySide6.QtCore import (
    QAbstractTableModel,
    QEvent,
    QItemSelectionModel,
    QLineF,
    QModelIndex,
    QPersistentModelIndex,
    QPointF,
    QRectF,
    QSize,
    Qt,
    QTimer,
    Signal,
)
from PySide6.QtGui import QHideEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QHeaderView, QStyledItemDelegate, QStyleOptionViewItem, QTableView, QWidget

from facelens.analyses.enrolment import Counts, Enrolment, enrolment
from facelens.analyses.rejection import Recognition
from facelens.images.faceset import FaceSet, Ids
from facelens.session.selection import Selection
from facelens.views import portrait, theme
from facelens.views.controls import draw_text, plain_tip, text_width
from facelens.views.grid import band_mode, value_text
from facelens.views.hover import DELAY, FACE, HoverCard
from facelens.views.panel import Desk
from facelens.words import escaped, plural, tr

ROW, HEAD = 38, 27
SIDE, PITCH, MOST = 30, 34, 4  # px of a small face, from one to the next, and how many
NAME, SPREAD = 96, 90  # px that a name and the pictures' scores take at least
RANK = 34  # px of a percentile
PADDING = 8
ROLE = Qt.ItemDataRole
Index = QModelIndex | QPersistentModelIndex
ASCENDING, DESCENDING = True, False
WAYS = {ASCENDING: "ascending", DESCENDING: "descending"}


@dataclass(frozen=True)
class Heading:
    """A column: its key, what stands over it, what it means, a long text of it, which end is weak."""

    key: str
    title: str
    tip: str
    sample: str = ""
    first: bool = ASCENDING  # how it is sorted when it is first clicked
    spare: int = 0  # columns go in this order where there is little room; 0 stays


HEADINGS = (
    Heading("person", "person", "Pictures from the worst to the best"),
    Heading("pictures", "pictures", "How many pictures there are of the person", "1,000", spare=4),
    Heading("spread", "each picture", "A tick for each picture, right of the line it is refused; the dot is their mean",
            first=DESCENDING, spare=3),
    Heading("mean", "mean", "Mean of the person's pictures, and where it stands among the means of all people",
            "0.000 p100", DESCENDING),
    Heading("highest", "worst", "The worst picture", "0.000", DESCENDING, spare=1),
    Heading("refused", "refused", "Share of the pictures that the line refuses", "100 %", DESCENDING, spare=2),
    Heading("left", "left", "Pictures that are kept; fewest first, then the highest mean", "1,000"),
    Heading("right", "recognised", "Pictures that are recognised, of those that have another one to be compared with",
            "100 of 100"),
)  # fmt: skip
COLUMN = {heading.key: place for place, heading in enumerate(HEADINGS)}


class _Model(QAbstractTableModel):
    """What screen readers and headings say; rows are painted from arrays."""

    def __init__(self, table: WeakIdentities) -> None:
        super().__init__(table)
        self.table = table

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008  Qt's own signature
        return 0 if parent.isValid() else len(self.table.order)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(HEADINGS)

    def data(self, index: Index, role: int = ROLE.DisplayRole) -> Any:
        if role == ROLE.DisplayRole:
            return self.table.text(index.row(), HEADINGS[index.column()].key)
        if role == ROLE.AccessibleTextRole:
            return self.table.spoken(index.row())
        return None

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = ROLE.DisplayRole) -> Any:
        if orientation is not Qt.Orientation.Horizontal:
            return None
        heading = HEADINGS[section]
        if role == ROLE.DisplayRole:
            return self.table.title(heading)
        if role == ROLE.ToolTipRole:
            return plain_tip(tr(heading.tip))
        if role == ROLE.TextAlignmentRole:
            side = Qt.AlignmentFlag.AlignLeft if heading.key in ("person", "spread") else Qt.AlignmentFlag.AlignRight
            return int(side | Qt.AlignmentFlag.AlignVCenter)
        return None


class _Cells(QStyledItemDelegate):
    def __init__(self, table: WeakIdentities) -> None:
        super().__init__(table)
        self.table = table

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(40, ROW)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        painter.save()
        painter.setRenderHints(QPainter.RenderHint.Antialiasing | QPainter.RenderHint.SmoothPixmapTransform)
        self.table.paint_cell(painter, QRectF(option.rect), index.row(), HEADINGS[index.column()].key)
        painter.restore()


class WeakIdentities(QTableView):
    """See the module's words. Nothing is emitted by `show_faces` and `set_*`."""

    select = Signal(object, object)  # ids, Mode
    look = Signal(object)  # id of the face that became current
    only = Signal(str)  # an identity: the gallery is to show nobody else
    ordered = Signal()  # people stand in another order

    def __init__(self, desk: Desk, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.desk = desk
        self.order = np.zeros(0, np.int64)  # people as they are listed
        self._people: Enrolment | None = None
        self._faces: FaceSet | None = None
        self._score = ""
        self._turned = False  # whether the score is written as its negative
        self._why = ""
        self._limit = np.inf
        self._refused: Counts = np.zeros(0, np.int64)
        self._base = np.zeros(0, np.int64)  # people by descending mean, who is first where all else is equal
        self._ends = (0.0, 1.0)  # of the scores
        self._selection = Selection()
        self._chosen: Counts = np.zeros(0, np.int64)  # how many pictures of each person are selected
        self._sorted, self._ascending = "left", ASCENDING
        self._small = MOST  # faces beside a name
        self._hover: tuple[int, int] | None = None  # person, picture
        self._over = -1  # row under the pointer
        self.setModel(_Model(self))
        self.setItemDelegate(_Cells(self))
        self.setAccessibleName(tr("People, the weakest enrolment first"))
        self.setWhatsThis(
            tr(
                "A row for each person. A click selects their faces or the one clicked, a double click shows only "
                "them; a click on a head sorts. Left and right choose the column, R turns the order round."
            )
        )
        self.setShowGrid(False)
        self.setSelectionMode(QTableView.SelectionMode.NoSelection)
        self.setVerticalScrollMode(QTableView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setAutoScroll(False)  # who is current may be sorted out of sight
        self.setTabKeyNavigation(False)
        self.setMouseTracking(True)
        self.verticalHeader().hide()
        self.verticalHeader().setMinimumSectionSize(ROW)
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.verticalHeader().setDefaultSectionSize(ROW)
        head = self.horizontalHeader()
        head.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        head.setMinimumSectionSize(20)
        head.setFixedHeight(HEAD)
        head.setHighlightSections(False)
        head.setSectionsClickable(True)
        head.sectionClicked.connect(lambda place: self._on_heading(HEADINGS[place]))
        self._card = HoverCard(self.viewport())
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(DELAY)
        self._timer.timeout.connect(self._show_card)
        self.verticalScrollBar().valueChanged.connect(lambda _: self._hide_card())
        desk.thumbnails.ready.connect(self._on_ready)

    # What is shown

    def show_faces(
        self,
        faces: FaceSet | None,
        ids: Ids,
        values: np.ndarray,
        recognition: Recognition | None = None,
        *,
        score: str = "",
        lower: bool = False,
    ) -> None:
        """Show whom the faces `ids` with scores `values` (N,) show; high ones are refused first.

        `score` is what it is called; with `lower` it is one turned round, and written as it was.
        """
        self._hide_card()
        person, self._people = self._current(), None
        self._score, self._turned = score or tr("variance"), lower
        if faces is not None:
            rows = faces.rows_of(ids)
            if len(rows) == len(ids):
                self._people = enrolment(faces, rows, np.asarray(values, np.float64), recognition)
        self._faces, people = faces, self._people
        known = people.values[np.isfinite(people.values)] if people is not None else np.zeros(0)
        self._ends = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
        if people is None or not len(people.codes):
            self._why = tr("No face that is shown has a name, so there is no enrolment to judge.")
            self._base = np.zeros(0, np.int64)
        else:
            self._base = np.argsort(-people.mean, kind="stable")
        self._refused = people.refused(self._limit) if people is not None else np.zeros(0, np.int64)
        self._count_selected()
        self.model().beginResetModel()
        self.order = np.zeros(0, np.int64)
        self._sort()
        self.model().endResetModel()
        self._divide()
        self._make_current(person)
        self._begin()

    def set_limit(self, value: float | None) -> None:
        """Faces above it are refused; None or infinite: nobody is."""
        self._limit = np.inf if value is None else float(value)
        if self._people is None:
            return
        refused = self._people.refused(self._limit)
        if not np.array_equal(refused, self._refused):
            self._refused = refused
            if self._sorted in ("left", "refused"):
                person = self._current()
                self._sort()
                self._make_current(person)
        self.viewport().update()

    def set_selection(self, selection: Selection) -> None:
        """Tint the people whose faces are selected."""
        self._selection = selection
        self._count_selected()
        self.viewport().update()

    def summary(self) -> str:
        """How many people the line leaves without pictures, for a header."""
        if self._people is None:
            return ""
        left = self._people.pictures - self._refused
        none, one = int((left == 0).sum()), int((left == 1).sum())
        people = plural(len(left), "{n} person", "{n} people")
        if not none and not one:
            return tr("{people}, everybody keeps two pictures or more", people=people)
        kept = plural(none, "{n} keeps no picture", "{n} keep no picture")
        return tr("{people}: {none}, {one} only one", people=people, none=kept, one=one)

    def names(self, most: int) -> tuple[str, ...]:
        """The first of those who are listed, by name."""
        people, faces = self._people, self._faces
        if people is None or faces is None:
            return ()
        return tuple(faces.identity.names[int(people.codes[person])] for person in self.order[:most])

    def sort_by(self, key: str, *, ascending: bool | None = None) -> None:
        """List the people by a column; without a direction the weak end comes first."""
        heading = HEADINGS[COLUMN[key]]
        self._sorted, self._ascending = key, heading.first if ascending is None else ascending
        person = self._current()
        self._sort()
        self._make_current(person)
        self.scrollToTop()
        self.horizontalHeader().viewport().update()
        self._divide()
        self.ordered.emit()

    @property
    def people_order(self) -> str:
        """As it is kept: by what, and which way."""
        return f"{self._sorted} {WAYS[self._ascending]}"

    def take_order(self, said: str) -> bool:
        """An order as it was kept; False where there is no such column."""
        key, _, way = said.rpartition(" ")
        if key not in COLUMN:
            return False
        self.sort_by(key, ascending=way == WAYS[ASCENDING])
        return True

    def _count_selected(self) -> None:
        people, faces, known = self._people, self._faces, self._selection.ids
        if people is None or faces is None or not len(people.codes) or not len(known):
            self._chosen = np.zeros(len(self._base), np.int64)
            return
        ids = faces.ids[people.rows]
        at = np.minimum(np.searchsorted(known, ids), len(known) - 1)
        self._chosen = np.add.reduceat(known[at] == ids, people.starts, dtype=np.int64)

    def _sort(self) -> None:
        people = self._people
        if people is None or not len(people.codes):
            self.order = np.zeros(0, np.int64)
            return
        keys: dict[str, Callable[[], np.ndarray]] = {
            "person": lambda: people.codes,
            "pictures": lambda: people.pictures,
            "refused": lambda: self._refused / people.pictures,
            "left": lambda: people.pictures - self._refused,
            "highest": lambda: people.highest,
            "right": lambda: np.where(people.judged, people.right / np.maximum(people.judged, 1), np.nan),
        }
        values = np.asarray(keys.get(self._sorted, lambda: people.mean)(), np.float64)[self._base]
        values = values if self._ascending else -values
        self.order = self._base[np.argsort(values, kind="stable")]  # NaN last

    def _current(self) -> int | None:
        row = self.currentIndex().row()
        return int(self.order[row]) if 0 <= row < len(self.order) else None

    def _make_current(self, person: int | None) -> None:
        found = np.flatnonzero(self.order == (-1 if person is None else person))
        index = self.model().index(int(found[0]), 0) if len(found) else QModelIndex()
        self.selectionModel().setCurrentIndex(index, QItemSelectionModel.SelectionFlag.NoUpdate)

    # Words

    def title(self, heading: Heading) -> str:
        """What stands over a column, with an arrow where it is sorted."""
        arrow = "" if heading.key != self._sorted else " ↑" if self._ascending else " ↓"
        return self._named(heading) + arrow

    def _named(self, heading: Heading) -> str:
        words = {"spread": self._score, "highest": tr("lowest") if self._turned else tr("highest")}
        return words.get(heading.key, tr(heading.title))

    def text(self, row: int, key: str) -> str:
        """What a cell says."""
        people, person = self._people, int(self.order[row])
        assert people is not None and self._faces is not None
        pictures, refused = int(people.pictures[person]), int(self._refused[person])
        match key:
            case "person":
                return escaped(self._faces.identity.names[int(people.codes[person])]).replace("_", " ")
            case "pictures":
                return f"{pictures:,}"
            case "mean":
                rank = people.percentile[person]
                if np.isnan(rank):
                    return tr("n/a")
                return f"{self._written(people.mean[person])} p{round(100 - rank if self._turned else rank)}"
            case "highest":
                return self._written(people.highest[person])
            case "refused":
                return tr("{share} %", share=round(100 * refused / pictures))
            case "left":
                return f"{pictures - refused:,}" if refused < pictures else tr("none")
            case "right":
                judged = int(people.judged[person])
                return tr("{n} of {total}", n=int(people.right[person]), total=judged) if judged else tr("n/a")
        return ""

    def spoken(self, row: int) -> str:
        """A row in words."""
        titles = {"mean": tr("mean {score}", score=self._score)}
        parts = [self.text(row, "person")]
        for heading in HEADINGS[1:]:
            if text := self.text(row, heading.key):
                parts.append(f"{titles.get(heading.key, tr(heading.title))} {text}".strip())
        return ", ".join(parts)

    def _written(self, value: float) -> str:
        return value_text(-value if self._turned else value)

    # Painting

    def paint_cell(self, painter: QPainter, box: QRectF, row: int, key: str) -> None:
        """One cell of the table."""
        people, now, person = self._people, theme.current(), int(self.order[row])
        assert people is not None
        ground = self._ground(row, person)
        painter.fillRect(box, now.q(ground))
        if key == "person":
            self._paint_person(painter, box, row, person, ground)
        elif key == "spread":
            self._paint_spread(painter, box, person)
        else:
            text, inner = self.text(row, key), box.adjusted(PADDING, 0, -PADDING, 0)
            empty = key == "left" and int(self._refused[person]) == int(people.pictures[person])
            colour = "bad" if empty else "text3" if text == tr("n/a") else "text2" if key == "pictures" else "text"
            if key == "mean" and " " in text:  # the percentile stands under the heading's end, quietly
                text, _, rank = text.partition(" ")
                extreme = not 10 < people.percentile[person] < 90
                draw_text(painter, inner, rank, "warn" if extreme else "text3", 10, align="right")
                inner.setRight(inner.right() - RANK)
            draw_text(painter, inner, text, colour, 11, bold=empty, align="right")

    def _ground(self, row: int, person: int) -> str:
        now, people = theme.current(), self._people
        assert people is not None
        if not len(self._chosen) or not self._chosen[person]:
            return theme.mix(now.base, now.text, 0.05) if row == self._over else now.base
        return now.soft if self._chosen[person] == people.pictures[person] else theme.mix(now.base, now.soft, 0.5)

    def _paint_person(self, painter: QPainter, box: QRectF, row: int, person: int, ground: str) -> None:
        people, faces = self._people, self._faces
        assert people is not None and faces is not None
        some = people.faces(person)
        for place in range(min(self._small, int(people.pictures[person]))):
            refused = bool(people.values[some.start + place] > self._limit)
            face = int(people.rows[some.start + place])
            spot = self._face_box(box, place)
            portrait.face(painter, self.desk.thumbnails, faces, face, spot, ground=ground, refused=refused)
            current = int(faces.ids[face]) == self._selection.current
            hovered = self._hover == (person, place)
            if current or hovered:
                painter.setPen(QPen(theme.current().q("accent" if current else "text2"), 2 if current else 1))
                painter.setBrush(Qt.BrushStyle.NoBrush)
                painter.drawRoundedRect(spot.adjusted(-1, -1, 1, 1), 4, 4)
        inner = box.adjusted(PADDING + self._small * PITCH + 4, 0, -PADDING, 0)
        draw_text(painter, inner, self.text(row, "person"), "text", 11)
        if self.hasFocus() and self.currentIndex().row() == row:
            painter.setPen(QPen(theme.current().q("accent"), 2))
            painter.drawLine(QPointF(box.left() + 1, box.top() + 3), QPointF(box.left() + 1, box.bottom() - 3))

    def _paint_spread(self, painter: QPainter, box: QRectF, person: int) -> None:
        people, now = self._people, theme.current()
        assert people is not None
        values = people.values[people.faces(person)]
        values = values[np.isfinite(values)]
        middle = box.center().y()
        painter.setPen(QPen(now.q("line"), 1))
        painter.drawLine(QPointF(self._at(box, self._ends[0]), middle), QPointF(self._at(box, self._ends[1]), middle))
        for refused, colour, alpha in ((False, "text2", 0.8), (True, "text3", 0.5)):
            some = values[(values > self._limit) == refused]
            painter.setPen(QPen(now.q(colour, alpha), 1.6))
            painter.drawLines([QLineF(x, middle - 5, x, middle + 5) for x in (self._at(box, v) for v in some)])
        if len(values):
            painter.setPen(QPen(now.q("base"), 1))
            painter.setBrush(now.q("text"))
            painter.drawEllipse(QPointF(self._at(box, float(people.mean[person])), middle), 3.6, 3.6)
        if self._ends[0] <= self._limit <= self._ends[1]:
            x = self._at(box, self._limit)
            painter.setPen(QPen(now.q("text"), 1.2))
            painter.drawLine(QPointF(x, box.top()), QPointF(x, box.bottom()))

    def _at(self, box: QRectF, value: float) -> float:
        low, high = self._ends
        return float(box.left() + PADDING + 4 + (value - low) / ((high - low) or 1) * (box.width() - 2 * PADDING - 8))

    def _face_box(self, box: QRectF, place: int) -> QRectF:
        return QRectF(box.left() + PADDING + place * PITCH, box.top() + (ROW - SIDE) / 2, SIDE, SIDE)

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if not len(self.order) and self._why:
            painter = QPainter(self.viewport())
            painter.setFont(theme.font(11))
            painter.setPen(theme.current().q("text3"))
            flags = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
            painter.drawText(QRectF(self.viewport().rect()).adjusted(24, 8, -24, -8), int(flags), self._why)

    def _divide(self) -> None:
        """Widths: words take what they need, names and ticks share the rest; columns go where there is no room."""
        room = self.viewport().width()
        judged = self._people is not None and bool(self._people.judged.any())
        shown = [heading for heading in HEADINGS if heading.key != "right" or judged]
        self._small = MOST if room >= 640 else 2 if room >= 420 else 1
        needs = {heading.key: self._needs(heading) for heading in shown}
        for heading in sorted((one for one in shown if one.spare), key=lambda one: one.spare):
            if sum(needs.values()) > room:
                del needs[heading.key]
        rest = max(0.0, room - sum(needs.values()))
        shares = {"person": 0.5, "spread": 0.5} if "spread" in needs else {"person": 1.0}
        for place, heading in enumerate(HEADINGS):
            self.setColumnHidden(place, heading.key not in needs)
            if heading.key in needs:
                self.setColumnWidth(place, int(needs[heading.key] + rest * shares.get(heading.key, 0.0)))

    def _needs(self, heading: Heading) -> float:
        least = {"person": self._small * PITCH + NAME, "spread": SPREAD}.get(heading.key, 0)
        sample = text_width(heading.sample, 11) + (RANK - text_width(" p100", 11) if heading.key == "mean" else 0)
        words = max(text_width(f"{self._named(heading)} ↓", 11), sample)
        return max(least, words + 2) + 2 * PADDING

    # Pointer and keys

    def _face_at(self, at: QPointF) -> tuple[int, int] | None:
        """The person and picture under the pointer."""
        index = self.indexAt(at.toPoint())
        people = self._people
        if people is None or not index.isValid() or HEADINGS[index.column()].key != "person":
            return None
        person, box = int(self.order[index.row()]), QRectF(self.visualRect(index))
        for place in range(min(self._small, int(people.pictures[person]))):
            if self._face_box(box, place).contains(at):
                return person, place
        return None

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._hide_card()
        index = self.indexAt(event.position().toPoint())
        if event.button() != Qt.MouseButton.LeftButton or not index.isValid():
            return
        self.setFocus(Qt.FocusReason.MouseFocusReason)
        self.selectionModel().setCurrentIndex(index, QItemSelectionModel.SelectionFlag.NoUpdate)
        face = self._face_at(event.position())
        self._choose(index.row(), face[1] if face is not None else 0, event.modifiers())

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        face, over = self._face_at(event.position()), self.rowAt(round(event.position().y()))
        if face != self._hover:
            self._hide_card()
            if face is not None:
                self._timer.start()
        if (face, over) != (self._hover, self._over):
            self._hover, self._over = face, over
            self.viewport().update()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        event.accept()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        index = self.indexAt(event.position().toPoint())
        if event.button() == Qt.MouseButton.LeftButton and index.isValid():
            self._ask_for(index.row())

    def leaveEvent(self, event: QEvent) -> None:
        self._hover, self._over = None, -1
        self._hide_card()
        self.viewport().update()
        super().leaveEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, row = Qt.Key(event.key()), self.currentIndex().row()
        aside = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}.get(key, 0)
        if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and row >= 0:
            self._ask_for(row)
        elif key == Qt.Key.Key_Space and row >= 0:
            self._choose(row, 0, event.modifiers())
        elif aside:
            shown = [one.key for place, one in enumerate(HEADINGS) if not self.isColumnHidden(place)]
            at = shown.index(self._sorted) if self._sorted in shown else 0
            self.sort_by(shown[(at + aside) % len(shown)])
        elif key == Qt.Key.Key_R and not event.modifiers():
            self.sort_by(self._sorted, ascending=not self._ascending)
        else:
            super().keyPressEvent(event)
            now = self.currentIndex()
            if now.row() != row and now.isValid():
                self.scrollTo(now)
                self._choose(now.row(), 0, event.modifiers())

    def keyboardSearch(self, search: str) -> None:
        pass  # letters are shortcuts here

    def focusInEvent(self, event: Any) -> None:
        super().focusInEvent(event)
        self._begin()
        self.viewport().update()

    def _begin(self) -> None:
        """The keyboard starts at the first one."""
        if self.hasFocus() and not self.currentIndex().isValid() and len(self.order):
            self._make_current(int(self.order[0]))

    def focusOutEvent(self, event: Any) -> None:
        super().focusOutEvent(event)
        self.viewport().update()

    def _choose(self, row: int, place: int, held: Qt.KeyboardModifier) -> None:
        people, faces = self._people, self._faces
        assert people is not None and faces is not None
        ids = faces.ids[people.rows[people.faces(int(self.order[row]))]]
        self.select.emit(ids, band_mode(held))
        self.look.emit(int(ids[place]))

    def _ask_for(self, row: int) -> None:
        people, faces = self._people, self._faces
        assert people is not None and faces is not None
        self.only.emit(faces.identity.names[int(people.codes[int(self.order[row])])])

    def _on_heading(self, heading: Heading) -> None:
        self.sort_by(heading.key, ascending=not self._ascending if heading.key == self._sorted else None)

    # The card

    def _show_card(self) -> None:
        people, faces = self._people, self._faces
        if self._hover is None or people is None or faces is None:
            return
        person, place = self._hover
        rows = np.flatnonzero(self.order == person)
        if not len(rows):
            return
        at = int(people.starts[person]) + place
        row, value = int(people.rows[at]), float(people.values[at])
        pixmap = self.desk.thumbnails.get(faces, row, round(FACE * self.devicePixelRatioF()))
        broken = self.desk.thumbnails.broken(int(faces.ids[row])) if pixmap is None else None
        refused = tr("refused") if value > self._limit else tr("kept")
        lines = [broken] if broken else [(self._score, f"{self._written(value)} · {refused}")]
        self._card.tell(pixmap, faces.label(row), file=faces.file_name(row), lines=lines, broken=broken is not None)
        box = QRectF(self.visualRect(self.model().index(int(rows[0]), 0)))
        self._card.place(self._face_box(box, place).toRect())

    def _hide_card(self) -> None:
        self._timer.stop()
        self._card.hide()

    def hideEvent(self, event: QHideEvent) -> None:
        self._hide_card()
        super().hideEvent(event)

    # Size and theme

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._divide()

    def _on_ready(self, ids: object) -> None:
        if self.isVisible():
            self.viewport().update()
            if self._card.isVisible():
                self._show_card()
