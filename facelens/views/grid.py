"""The thumbnail grid: a million faces without an object for any of them; every position is computed.

A click selects (Ctrl toggles, Shift takes the range, Alt takes away). A drag from empty ground or from a face that is
not selected draws a rubber band (Shift adds, Alt takes away, both intersect); from a selected one it carries files out.
The grid changes nothing itself: it says what the user wants and shows the Selection it is given.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QMimeData, QPoint, QPointF, QRect, QRectF, QSize, Qt, QTimer, QUrl, Signal
from PySide6.QtGui import (
    QAccessible,
    QAccessibleAnnouncementEvent,
    QContextMenuEvent,
    QDrag,
    QFocusEvent,
    QHideEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QAbstractScrollArea, QApplication, QFrame, QWidget

from facelens.images.faceset import FaceSet, Ids, Labels, Rows
from facelens.session.selection import Mode, Selection
from facelens.views import icons, marks, portrait, theme
from facelens.views.cells import CAPTION, CAPTION_GAP, MARGIN, SECTION, Layout
from facelens.views.controls import draw_text, text_width
from facelens.views.hearing import when_left
from facelens.views.hover import DELAY, HoverCard
from facelens.views.shortcuts import enters, pressed
from facelens.views.thumbnails import Thumbnails
from facelens.words import escaped, number, plural, tr

SIZES = (48, 64, 80, 101, 128, 160, 224)
DEFAULT_SIZE = 101
SCROLL_BAR = 10
NAME_ROOM = 28  # less shows no more of a name than an ellipsis
SMALL = 64  # at this size and less only right and wrong are marked
MOST_DRAGGED = 1_000
MODIFIERS = Qt.KeyboardModifier


@dataclass(frozen=True, eq=False)
class Marks:
    """What is drawn onto faces, each (N,) by row of the FaceSet, or None."""

    excluded: NDArray[np.bool_] | None = None
    flagged: NDArray[np.bool_] | None = None
    rejected: NDArray[np.bool_] | None = None
    rating: NDArray[np.int8] | None = None  # 1 to 5, 0 for none
    verdict: NDArray[np.int8] | None = None  # 1 right, -1 wrong, 0 nothing to say
    refused: NDArray[np.bool_] | None = None


# What it looks like


class ThumbnailGrid(QAbstractScrollArea):
    """Faces in the order given; see the module's words for what the mouse does."""

    select = Signal(object, object)  # ids, Mode
    look = Signal(object)  # id of the face that became current
    open_face = Signal(object)  # id
    thumbnail_size_changed = Signal(int)
    hovered = Signal(object)  # id or None
    menu_requested = Signal(QPoint)  # global position

    def __init__(self, thumbnails: Thumbnails, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._thumbnails = thumbnails
        self._faces: FaceSet | None = None
        self._rows: Rows = np.zeros(0, np.int64)
        self._ids: Ids = np.zeros(0, np.int64)
        self._value = ""
        self._numbers: NDArray | None = None
        self._groups: Labels | None = None
        self._starts: NDArray[np.int64] | None = None
        self._marks = Marks()
        self._selection = Selection()
        self._preview: tuple[Ids, Mode] | None = None  # what the rubber band would do
        self._current: int | None = None  # id
        self._anchor: int | None = None  # id from which Shift extends
        self._size = DEFAULT_SIZE
        self._layout = Layout.make(0, 0, size=self._size)
        self._empty = ("", "")
        self._hover: int | None = None  # place
        self._press: _Press | None = None
        self._band: tuple[QPointF, QPointF] | None = None  # in contents coordinates
        self._wheel = 0
        self.describe: Callable[[FaceSet, int], Sequence[str]] | None = None  # the two lines of the hover card

        self.setObjectName("grid")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(tr("Faces"))
        self.setWhatsThis(
            tr(
                "A click selects; Ctrl toggles, Shift takes the range, Alt takes away. A drag over the ground draws a "
                "rubber band, a double click or Enter opens a face. Arrows walk, Space selects, Ctrl+wheel changes the "
                "size."
            )
        )
        self.viewport().setMouseTracking(True)
        when_left(self.viewport(), self._on_left)
        self.viewport().setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.viewport().setAccessibleName(tr("Faces"))
        self._card = HoverCard(self.viewport())
        self._card_timer = _timer(self, DELAY, self._show_card)
        self._scroll_timer = _timer(self, 16, self._auto_scroll, single=False)
        thumbnails.ready.connect(self._on_ready)

    # What is shown

    def set_faces(self, faces: FaceSet | None, rows: Rows, *, value: str = "", groups: Labels | None = None) -> None:
        """Show `rows` of `faces` in that order; the column `value` is written under each face.

        With `groups` (a column of `faces`), each run of equal names gets a heading. The face that is looked at, or else
        the first one in sight, stays where it is on the screen if it is still there.
        """
        keep = self._anchor_face() if faces is not None else None
        same_gallery = faces is not None and self._faces is not None and faces.root == self._faces.root
        if faces is None or self._faces is None or faces.pictures != self._faces.pictures:
            self._marks = Marks()  # those it has are of the rows of other faces
        self._faces = faces
        self._rows = np.asarray(rows, np.int64) if faces is not None else np.zeros(0, np.int64)
        self._ids = faces.ids[self._rows] if faces is not None else np.zeros(0, np.int64)
        self._value = value
        column = faces.values(value) if faces is not None and value else None
        self._numbers = column if isinstance(column, np.ndarray) else None
        self._groups = groups if faces is not None else None
        self._starts = None
        if self._groups is not None and len(self._rows):
            codes = self._groups.codes[self._rows]
            self._starts = np.concatenate(([0], np.flatnonzero(codes[1:] != codes[:-1]) + 1)).astype(np.int64)
        self._hover = None
        self._press = self._band = self._preview = None
        self._hide_card()
        self._relayout()
        if not same_gallery:
            self._anchor = None
            self.verticalScrollBar().setValue(0)
        elif keep is not None:
            self._put_back(keep)
        self._tell_screen_readers()

    def set_selection(self, selection: Selection) -> None:
        """Show another selection; a current face that was chosen elsewhere is brought into sight."""
        self._selection = selection
        if selection.current != self._current:
            self._current = selection.current
            place = self.place_of(selection.current)
            if place is not None:
                self._bring(place)
                self._anchor = selection.current
        self.viewport().update()
        self._tell_screen_readers()

    def set_marks(self, given: object) -> None:
        """Marks on faces: an object with any of the fields of `Marks`."""
        self._marks = Marks(**{one.name: getattr(given, one.name, None) for one in fields(Marks)})
        self.viewport().update()
        self._tell_screen_readers()

    def set_empty(self, title: str, text: str = "") -> None:
        """What to say when there is no face to show."""
        self._empty = title, text
        self.viewport().update()

    def set_thumbnail_size(self, size: int) -> None:
        """Another size, the nearest of SIZES; the face that is looked at stays where it is."""
        self._resize_cells(min(SIZES, key=lambda known: abs(known - size)), self._anchor_face())

    @property
    def thumbnail_size(self) -> int:
        return self._size

    @property
    def ids(self) -> Ids:
        """Ids of the faces shown, in order."""
        return self._ids

    @property
    def current(self) -> int | None:
        """The face looked at."""
        return self._current

    def place_of(self, face: int | None) -> int | None:
        """Where a face is in the order shown."""
        if face is None or not len(self._ids):
            return None
        found = np.flatnonzero(self._ids == face)
        return int(found[0]) if len(found) else None

    def cell_rect(self, place: int) -> QRect:
        """The picture at `place`, in coordinates of the viewport."""
        x, y = self._layout.corner(place)
        return QRect(x, y - self._top, self._size, self._size)

    # Commands

    def select_all(self) -> None:
        """Select every face that is shown."""
        self.select.emit(self._ids, Mode.REPLACE)

    def invert(self) -> None:
        """Select what is not selected, among the faces shown."""
        self.select.emit(self._ids, Mode.TOGGLE)

    def clear(self) -> None:
        """Select nothing."""
        self.select.emit(np.zeros(0, np.int64), Mode.REPLACE)

    # Geometry

    @property
    def _top(self) -> int:
        return self.verticalScrollBar().value()

    def _relayout(self) -> None:
        # Room for the scroll bar is kept free also while there is none, so that its coming moves nothing.
        width = self.width() - SCROLL_BAR
        self._layout = Layout.make(len(self._rows), width, size=self._size, starts=self._starts)
        scroll = self.verticalScrollBar()
        scroll.setSingleStep(max(1, self._layout.line // 3))  # a notch of the wheel is three steps, one line
        scroll.setPageStep(self.viewport().height())
        scroll.setRange(0, max(0, self._layout.height - self.viewport().height()))
        self.viewport().update()

    def _anchor_face(self) -> list[tuple[int, int]] | None:
        """Faces to hold on to, best first, as (id, height on screen); None to stay at the top."""
        if not len(self._ids):
            return None
        bottom = self._top + self.viewport().height()
        seen = [p for _, first, after in self._layout.visible(self._top, bottom) for p in range(first, after)]
        current = self.place_of(self._current)
        ordered = ([current] if current in seen else []) + (seen if self._top else [])
        return [(int(self._ids[p]), self._layout.corner(p)[1] - self._top) for p in ordered if p is not None] or None

    def _put_back(self, faces: list[tuple[int, int]]) -> None:
        for face, height in faces[:64]:
            place = self.place_of(face)
            if place is not None:
                self.verticalScrollBar().setValue(self._layout.corner(place)[1] - height)
                return

    def _resize_cells(self, size: int, keep: list[tuple[int, int]] | None) -> None:
        if size == self._size:
            return
        self._size = size
        self._hide_card()
        self._relayout()
        if keep is not None:
            self._put_back(keep)
        self.thumbnail_size_changed.emit(size)

    def _bring(self, place: int) -> None:
        """Scroll as little as needed to show a place whole."""
        top = self._layout.corner(place)[1] - 8 - (self._layout.heading if place in self._layout.starts else 0)
        bottom = self._layout.corner(place)[1] + self._layout.line - 3
        if top < self._top:
            self.verticalScrollBar().setValue(top)
        elif bottom > self._top + self.viewport().height():
            self.verticalScrollBar().setValue(bottom - self.viewport().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        keep = self._anchor_face()
        self._relayout()
        if keep is not None:
            self._put_back(keep)

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        self._hide_card()
        self._set_hover(None)
        self.viewport().update()

    def minimumSizeHint(self) -> QSize:
        return QSize(2 * MARGIN + self._size + SCROLL_BAR, 2 * MARGIN + self._layout.line)

    # Painting

    def paintEvent(self, event: QPaintEvent) -> None:
        now = theme.current()
        painter = QPainter(self.viewport())
        painter.setRenderHints(QPainter.RenderHint.Antialiasing | QPainter.RenderHint.SmoothPixmapTransform)
        area = event.rect()
        painter.fillRect(area.adjusted(-1, -1, 1, 1), now.q("sunk"))  # at 150 % a row half painted would be half black
        if self._faces is None or not len(self._rows):
            self._paint_empty(painter, now)
            return
        top = self._top
        pixels = round(self._size * self.devicePixelRatioF())
        self._thumbnails.expect(self._layout.columns * (self.viewport().height() // self._layout.line + 2))
        # A current face's ring reaches 6 px over the edge of its cell.
        for section, first, after in self._layout.visible(top + area.top() - 6, top + area.bottom() + 7):
            if self._layout.heading:
                self._paint_heading(painter, now, section, int(self._layout.tops[section]) - top)
            if first == after:
                continue
            selected = self._selected(self._ids[first:after])
            # Backwards, because the newest request is decoded first and eyes start at the top.
            for place in range(after - 1, first - 1, -1):
                box = QRectF(self.cell_rect(place))
                self._paint_cell(painter, now, place, box, bool(selected[place - first]), pixels)
        if self._band is not None:
            self._paint_band(painter, now)

    def _selected(self, ids: Ids) -> NDArray[np.bool_]:
        """Which of the faces are shown as selected; only they are looked up, however many are selected."""
        before = _among(ids, self._selection.ids)
        if self._preview is None:
            return before
        banded, mode = _among(ids, self._preview[0]), self._preview[1]
        match mode:
            case Mode.REPLACE:
                return banded
            case Mode.ADD:
                return before | banded
            case Mode.REMOVE:
                return before & ~banded
            case Mode.TOGGLE:
                return before ^ banded
            case Mode.INTERSECT:
                return before & banded

    def _paint_cell(
        self, painter: QPainter, now: theme.Theme, place: int, box: QRectF, selected: bool, pixels: int
    ) -> None:
        faces = self._faces
        assert faces is not None
        row = int(self._rows[place])
        face = int(self._ids[place])
        if selected:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(now.q("soft"))
            painter.drawRoundedRect(box.adjusted(-4, -4, 4, 22), 5, 5)
        pixmap = self._thumbnails.get(faces, row, pixels)
        reason = self._thumbnails.broken(face) if pixmap is None else None
        excluded = _flag(self._marks.excluded, row) or _flag(self._marks.rejected, row)
        if pixmap is not None:
            picture = portrait.crisp(painter, portrait.fitted(pixmap, box))
            if excluded:
                painter.setOpacity(marks.REJECTED)
            painter.drawPixmap(picture, pixmap, QRectF(pixmap.rect()))
            painter.setOpacity(1.0)
            if self._size > SMALL and _flag(self._marks.refused, row):
                marks.refused(painter, picture, now)
            portrait.round_corners(painter, picture, now.q("soft" if selected else "sunk").name())
        else:
            portrait.absent(painter, box, broken=reason is not None)
        self._paint_marks(painter, now, row, box, excluded)
        portrait.ring(painter, box, selected=selected, current=face == self._current, hovered=place == self._hover)
        if pixmap is None and reason is None:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(now.q("raised"))
            painter.drawRoundedRect(QRectF(box.left(), box.bottom() + 9, self._size * 0.5, 6), 3, 3)
            return
        caption = QRectF(box.left(), box.bottom() + CAPTION_GAP, self._size, CAPTION)
        stars = 0 if self._marks.rating is None or self._size <= SMALL else int(self._marks.rating[row])
        shown = "  ".join(part for part in (f"{stars}★" if stars else "", self._value_text(row)) if part)
        if shown:
            draw_text(painter, caption, shown, "text" if selected else "text3", 10, align="right")
            caption.setRight(caption.right() - text_width(shown, 10) - 5)
        if caption.width() >= NAME_ROOM:
            draw_text(painter, caption, faces.label(row), "text" if selected else "text2", 10)

    def _paint_marks(self, painter: QPainter, now: theme.Theme, row: int, box: QRectF, excluded: bool) -> None:
        small = self._size <= SMALL
        verdict = 0 if self._marks.verdict is None else int(self._marks.verdict[row])
        if verdict:
            side, gap = (13, 2) if small else (15, 4)
            spot = QRectF(box.right() - side - gap, box.top() + gap, side, side)
            (marks.right if verdict > 0 else marks.wrong)(painter, spot, now)
        if small:
            return
        if excluded or _flag(self._marks.flagged, row):
            plate = QRectF(box.left() + 4, box.top() + 4, 19, 19)
            (marks.reject if excluded else marks.flag)(painter, plate, now)

    def _paint_heading(self, painter: QPainter, now: theme.Theme, section: int, y: int) -> None:
        first, after = int(self._layout.starts[section]), int(self._layout.starts[section + 1])
        if y + SECTION < 0 or y > self.viewport().height():
            return
        name = self._group_name(section)
        width = min(text_width(name, 12, True) + 2, self.viewport().width() * 0.7)
        draw_text(painter, QRectF(MARGIN, y + 6, width, 18), name, "text", 12, bold=True)
        rest = QRectF(MARGIN + width + 8, y + 6, 120, 18)
        draw_text(painter, rest, f"{after - first:,}", "text3", 11)

    def _paint_band(self, painter: QPainter, now: theme.Theme) -> None:
        painter.setPen(QPen(now.q("accent"), 1))
        painter.setBrush(now.q("accent", 0.13))
        painter.drawRect(self._band_rect().translated(0, -self._top).adjusted(0.5, 0.5, -0.5, -0.5))

    def _paint_empty(self, painter: QPainter, now: theme.Theme) -> None:
        title, text = self._empty
        if not title:
            return
        width, middle = self.viewport().width(), self.viewport().height() / 2
        icons.paint(painter, QRectF(width / 2 - 20, middle - 76, 40, 40), "search", "text3", width=0.9)
        draw_text(painter, QRectF(16, middle - 24, width - 32, 22), title, "text", 16, bold=True, align="centre")
        painter.setFont(theme.font(12))
        painter.setPen(now.q("text2"))
        words = Qt.TextFlag.TextWordWrap | Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignTop
        column = min(width - 32, 420)
        painter.drawText(QRectF((width - column) / 2, middle + 4, column, 80), int(words), text)

    def _value_text(self, row: int) -> str:
        return "" if self._numbers is None else value_text(self._numbers[row])

    def _group_name(self, section: int) -> str:
        assert self._groups is not None
        name = self._groups.name(int(self._rows[self._layout.starts[section]]))
        return name.replace("_", " ") if name else tr("none")

    def _on_ready(self, faces: set[int]) -> None:
        if not self.isVisible() or not len(self._ids):
            return
        bottom = self._top + self.viewport().height()
        for _, first, after in self._layout.visible(self._top, bottom):
            for place in range(first, after):
                if int(self._ids[place]) in faces:
                    self.viewport().update(self.cell_rect(place).adjusted(-7, -7, 7, 24))

    # Hovering

    def _set_hover(self, place: int | None) -> None:
        if place == self._hover:
            return
        for changed in (self._hover, place):
            if changed is not None and changed < len(self._ids):
                self.viewport().update(self.cell_rect(changed).adjusted(-7, -7, 7, 7))
        self._hover = place
        self._hide_card()
        if place is not None:
            self._card_timer.start()
        self.hovered.emit(None if place is None else int(self._ids[place]))

    def _hide_card(self) -> None:
        self._card_timer.stop()
        self._card.hide()

    def _show_card(self) -> None:
        faces, place = self._faces, self._hover
        if faces is None or place is None or self._band is not None or QApplication.activePopupWidget() is not None:
            return
        row, face = int(self._rows[place]), int(self._ids[place])
        pixmap = self._thumbnails.get(faces, row, round(self._size * self.devicePixelRatioF()))
        reason = self._thumbnails.broken(face)
        lines = [reason] if reason else list(self.describe(faces, row) if self.describe else self._lines(faces, row))
        self._card.tell(pixmap, faces.label(row), file=faces.file_name(row), lines=lines, broken=reason is not None)
        # Above the picture and its ring, so that the face one looks at stays free.
        self._card.place(self.cell_rect(place).adjusted(0, -6, 0, CAPTION_GAP + CAPTION), away=2)

    def _lines(self, faces: FaceSet, row: int) -> list[str]:
        lines = []
        if self._numbers is not None:
            rank = percentile(self._numbers, row)
            lines.append(f"{self._value} {self._value_text(row)}" + ("" if rank is None else f" · p{round(rank)}"))
        code = int(faces.identity.codes[row])
        if code >= 0:
            count = int(np.count_nonzero(faces.identity.codes == code))
            lines.append(plural(count, "{n} face of this identity", "{n} faces of this identity"))
        return lines

    def _on_left(self) -> None:
        self._set_hover(None)

    def hideEvent(self, event: QHideEvent) -> None:
        self._hide_card()
        super().hideEvent(event)

    # Mouse

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._hide_card()
        if event.button() == Qt.MouseButton.RightButton:
            self._take_for_menu(self._place_at(event.position()))
        if event.button() != Qt.MouseButton.LeftButton:
            return
        place = self._place_at(event.position())
        inside = place is not None and self._ids[place] in self._selection
        self._press = _Press(event.position(), place, event.modifiers(), inside)
        if place is not None and not inside and event.modifiers() == MODIFIERS.NoModifier:
            # At once, not on release: a click should be answered when it is felt.
            self._choose(place, MODIFIERS.NoModifier)
            self._press = _Press(event.position(), place, event.modifiers(), inside, answered=True)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._press is None:
            self._set_hover(self._place_at(event.position()))
            return
        if self._band is not None:
            self._stretch(event.position())
            return
        self._set_hover(None)
        far = (event.position() - self._press.position).manhattanLength() >= QApplication.startDragDistance()
        if not far or not event.buttons() & Qt.MouseButton.LeftButton:
            return
        if self._press.inside and self._press.modifiers == MODIFIERS.NoModifier:
            self._press = None
            self._drag_out()
            return
        start = self._press.position + QPointF(0, self._top)
        self._band = start, start
        self._stretch(event.position())

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        press, self._press = self._press, None
        if event.button() != Qt.MouseButton.LeftButton or press is None:
            return
        if self._band is not None:
            ids = self._ids[self._layout.within(self._band_rect())]
            self._scroll_timer.stop()
            self._band = self._preview = None
            self.viewport().update()
            self.select.emit(ids, band_mode(press.modifiers))
        elif press.place is not None:
            if not press.answered:
                self._choose(press.place, press.modifiers)
        else:
            self._click_ground(press)

    def _click_ground(self, press: _Press) -> None:
        section = self._layout.section_at(press.position.x(), press.position.y() + self._top)
        if section is not None:
            ids = self._ids[self._layout.starts[section] : self._layout.starts[section + 1]]
            self.select.emit(ids, band_mode(press.modifiers))
        elif press.modifiers == MODIFIERS.NoModifier:
            self.clear()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        place = self._place_at(event.position())
        if place is not None and event.button() == Qt.MouseButton.LeftButton and not event.modifiers():
            self.open_face.emit(int(self._ids[place]))
        else:
            self.mousePressEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        self._hide_card()
        if event.reason() == QContextMenuEvent.Reason.Mouse:
            self.menu_requested.emit(event.globalPos())
            return
        place = self.place_of(self._current)
        spot = self.cell_rect(place).center() if place is not None else self.viewport().rect().center()
        self.menu_requested.emit(self.viewport().mapToGlobal(spot))

    def _take_for_menu(self, place: int | None) -> None:
        """A menu speaks of the selection, so the face under it joins by replacing unless it is part of it."""
        if place is not None and self._ids[place] not in self._selection:
            self._choose(place, MODIFIERS.NoModifier)

    def wheelEvent(self, event: QWheelEvent) -> None:
        if not event.modifiers() & MODIFIERS.ControlModifier:
            super().wheelEvent(event)
            return
        self._wheel += event.angleDelta().y()
        steps, self._wheel = int(self._wheel / 120), self._wheel - int(self._wheel / 120) * 120
        at = min(max(SIZES.index(self._size) + steps, 0), len(SIZES) - 1)
        self._zoom(SIZES[at], event.position())
        event.accept()

    def _zoom(self, size: int, position: QPointF) -> None:
        """Another size with the face under the pointer kept under it, as far as the columns allow."""
        if size == self._size:
            return
        keep = self._anchor_face()
        if len(self._ids):
            place = self._layout.nearest(position.x() - self._size / 2, position.y() + self._top)
            share = (position.y() + self._top - self._layout.corner(place)[1]) / self._layout.line
            share = min(max(share, 0.0), 1.0)
            keep = [(int(self._ids[place]), round(position.y() - share * (size + 29)))]
        self._resize_cells(size, keep)

    def _place_at(self, position: QPointF) -> int | None:
        return self._layout.at(position.x(), position.y() + self._top) if len(self._ids) else None

    def _band_rect(self) -> QRectF:
        assert self._band is not None
        return QRectF(*self._band).normalized()

    def _stretch(self, position: QPointF) -> None:
        assert self._band is not None and self._press is not None
        self._band = self._band[0], position + QPointF(0, self._top)
        ids = self._ids[self._layout.within(self._band_rect())]
        self._preview = np.sort(ids), band_mode(self._press.modifiers)
        outside = position.y() < 0 or position.y() > self.viewport().height()
        if outside != self._scroll_timer.isActive():
            self._scroll_timer.start() if outside else self._scroll_timer.stop()
        self.viewport().update()

    def _auto_scroll(self) -> None:
        if self._band is None:
            self._scroll_timer.stop()
            return
        y = self._band[1].y() - self._top
        beyond = y if y < 0 else y - self.viewport().height()
        before = self._top
        self.verticalScrollBar().setValue(before + round(min(max(beyond / 3, -80), 80)))
        self._stretch(QPointF(self._band[1].x(), y))

    def _drag_out(self) -> None:
        drag = QDrag(self)
        drag.setMimeData(self._carried())
        place = self.place_of(self._current)
        if place is not None and self._faces is not None:
            pixmap = self._thumbnails.get(self._faces, int(self._rows[place]), self._size)
            if pixmap is not None:
                drag.setPixmap(pixmap.scaledToWidth(64, Qt.TransformationMode.SmoothTransformation))
        drag.exec(Qt.DropAction.CopyAction)

    def _carried(self) -> QMimeData:
        """The files of the selected faces, and their paths as text."""
        made = QMimeData()
        if self._faces is not None and not self._faces.embedded:
            inside = self._rows[self._selected(self._ids)][:MOST_DRAGGED]
            paths = [self._faces.path(int(row)).absolute() for row in inside]
            # From the percent-encoded form: names that are no text would lose their odd bytes otherwise.
            made.setUrls([QUrl.fromEncoded(path.as_uri().encode()) for path in paths])
            made.setText("\n".join(escaped(str(path)) for path in paths))
        return made

    # Choosing

    def _choose(self, place: int, modifiers: MODIFIERS) -> None:
        """What a click on a face does."""
        face = int(self._ids[place])
        shift, control = bool(modifiers & MODIFIERS.ShiftModifier), bool(modifiers & MODIFIERS.ControlModifier)
        if modifiers & MODIFIERS.AltModifier:
            self.select.emit(np.array([face]), Mode.REMOVE)
        elif shift:
            self._look_at(place)
            self.select.emit(self._range_to(place), Mode.ADD if control else Mode.REPLACE)
        else:
            self._anchor = face
            self._look_at(place)
            self.select.emit(np.array([face]), Mode.TOGGLE if control else Mode.REPLACE)
        self._tell_screen_readers(aloud=True)

    def _range_to(self, place: int) -> Ids:
        start = self.place_of(self._anchor)
        if start is None:
            self._anchor, start = int(self._ids[place]), place
        return self._ids[min(start, place) : max(start, place) + 1]

    def _look_at(self, place: int) -> None:
        face = int(self._ids[place])
        if face == self._current:
            return
        self._current = face
        self.viewport().update()
        self.look.emit(face)

    # Keyboard

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, modifiers = event.key(), event.modifiers() & ~MODIFIERS.KeypadModifier
        self._hide_card()
        if key == Qt.Key.Key_Escape and self._band is not None:
            self._press = self._band = self._preview = None
            self._scroll_timer.stop()
            self.viewport().update()
            return
        if not len(self._ids):
            super().keyPressEvent(event)
            return
        place = self.place_of(self._current)
        target = self._target(key, place)
        if target is not None:
            self._go(target, modifiers)
        elif place is not None and key == Qt.Key.Key_Space:
            self._anchor = self._current
            self.select.emit(self._ids[place : place + 1], Mode.TOGGLE)
        elif place is not None and (enters(event) or pressed(event, "view.loupe")):
            self.open_face.emit(int(self._ids[place]))
        elif pressed(event, "select.all"):
            self.select_all()
        elif pressed(event, "select.invert"):
            self.invert()
        elif pressed(event, "select.none") and len(self._selection):
            self.clear()
        else:
            super().keyPressEvent(event)

    def _target(self, key: int, place: int | None) -> int | None:
        """Where a key leads from `place`; None for keys that do not move."""
        last = len(self._ids) - 1
        moves = Qt.Key
        if key not in (
            moves.Key_Left, moves.Key_Right, moves.Key_Up, moves.Key_Down,
            moves.Key_Home, moves.Key_End, moves.Key_PageUp, moves.Key_PageDown,
        ):  # fmt: skip
            return None
        if place is None:
            # The first key shows where one is: the first face in sight.
            return last if key == moves.Key_End else self._layout.nearest(0, self._top + self._layout.line / 2)
        x, y = self._layout.corner(place)
        page = max(1, self.viewport().height() // self._layout.line) * self._layout.line
        match key:
            case moves.Key_Left:
                return max(place - 1, 0)
            case moves.Key_Right:
                return min(place + 1, last)
            case moves.Key_Up:
                return self._layout.above(place)
            case moves.Key_Down:
                return self._layout.below(place)
            case moves.Key_Home:
                return 0
            case moves.Key_End:
                return last
            case moves.Key_PageUp:
                return min(self._layout.nearest(x, y - page), place)
            case _:
                return max(self._layout.nearest(x, y + page), place)

    def _go(self, place: int, modifiers: MODIFIERS) -> None:
        """Move the current face; it is selected too, unless Ctrl is held."""
        if self._anchor is None:
            self._anchor = self._current if self._current is not None else int(self._ids[place])
        self._bring(place)
        if modifiers & MODIFIERS.ControlModifier:
            self._look_at(place)
            self._tell_screen_readers(aloud=True)
        else:
            self._choose(place, modifiers & MODIFIERS.ShiftModifier)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self._tell_screen_readers()

    # Screen readers

    def current_text(self) -> str:
        """What a screen reader says about the current face."""
        place = self.place_of(self._current)
        faces = self._faces
        if place is None or faces is None:
            return plural(len(self._ids), "{n} face", "{n} faces") if len(self._ids) else " ".join(self._empty).strip()
        row = int(self._rows[place])
        verdict = 0 if self._marks.verdict is None else int(self._marks.verdict[row])
        rating = 0 if self._marks.rating is None else int(self._marks.rating[row])
        parts = [
            faces.label(row),
            f"{self._value} {self._value_text(row)}" if self._numbers is not None else "",
            tr("selected") if int(self._ids[place]) in self._selection else tr("not selected"),
            {1: tr("right"), -1: tr("wrong")}.get(verdict, ""),
            tr("excluded") if _flag(self._marks.excluded, row) else "",
            tr("flagged") if _flag(self._marks.flagged, row) else "",
            tr("rejected") if _flag(self._marks.rejected, row) else "",
            tr("rated {n}", n=rating) if rating else "",
            tr("refused") if _flag(self._marks.refused, row) else "",
            self._thumbnails.broken(int(self._ids[place])) or "",
            tr("{place} of {count}", place=place + 1, count=len(self._ids)),
        ]
        return ", ".join(part for part in parts if part)

    def _tell_screen_readers(self, *, aloud: bool = False) -> None:
        text = self.current_text()
        self.setAccessibleDescription(text)  # which tells them by itself
        if aloud and QAccessible.isActive():
            QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, text))


@dataclass(frozen=True, eq=False)
class _Press:
    position: QPointF
    place: int | None
    modifiers: MODIFIERS
    inside: bool  # the face was selected when the button went down
    answered: bool = False


def band_mode(modifiers: MODIFIERS) -> Mode:
    """What many faces at once do to the selection: Shift adds, Alt takes away, both intersect, Ctrl toggles."""
    shift, alt = bool(modifiers & MODIFIERS.ShiftModifier), bool(modifiers & MODIFIERS.AltModifier)
    if shift and alt:
        return Mode.INTERSECT
    if alt:
        return Mode.REMOVE
    if modifiers & MODIFIERS.ControlModifier:
        return Mode.TOGGLE
    return Mode.ADD if shift else Mode.REPLACE


def value_text(value: object) -> str:
    """A number as it stands under a face, so that those of a column can be compared.

    >>> value_text(np.float32(0.41249)), value_text(10.024), value_text(np.int64(12345)), value_text(float("nan"))
    ('0.412', '10.02', '12,345', 'n/a')
    """
    if isinstance(value, (int, np.integer)):
        return f"{int(value):,}".replace("-", "−")
    real = float(value)  # type: ignore[arg-type]
    if real != real:
        return tr("n/a")
    if abs(real) >= 100:
        return f"{real:,.0f}".replace("-", "−")
    return number(real, decimals=3 if abs(real) < 10 else 2)


def percentile(values: NDArray, row: int) -> float | None:
    """Share in percent of the known values below the one at `row`, ties counted half; None where there is none."""
    value = values[row]
    if value != value:
        return None
    known = np.count_nonzero(values == values)
    below = np.count_nonzero(values < value)
    equal = np.count_nonzero(values == value)
    return 100.0 * (below + 0.5 * equal) / known


def _among(ids: Ids, known: Ids) -> NDArray[np.bool_]:
    """Which ids occur in the sorted `known`."""
    if not len(known):
        return np.zeros(len(ids), bool)
    at = np.minimum(np.searchsorted(known, ids), len(known) - 1)
    return known[at] == ids


def _flag(column: NDArray | None, row: int) -> bool:
    return column is not None and bool(column[row])


def _timer(owner: ThumbnailGrid, interval: int, slot: Callable[[], None], *, single: bool = True) -> QTimer:
    made = QTimer(owner)
    made.setInterval(interval)
    made.setSingleShot(single)
    made.timeout.connect(slot)
    return made
