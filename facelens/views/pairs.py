"""The list of pairs behind what was clicked: two faces, what went wrong, by how much. Painted; thousands cost nothing.

Arrows walk the list, Enter compares the pair. The list changes nothing itself: it says where the user looks.
"""

from __future__ import annotations

from math import isfinite

from PySide6.QtCore import QPointF, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QAccessible,
    QAccessibleAnnouncementEvent,
    QFocusEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
)
from PySide6.QtWidgets import QAbstractScrollArea, QFrame

from facelens.images.faceset import FaceSet
from facelens.session.listing import GAINED, KINDS, LOST, RIGHT, Listing, nothing
from facelens.views import icons, marks, theme
from facelens.views.controls import draw_text, text_width
from facelens.views.hearing import tell, when_left
from facelens.views.thumbnails import Thumbnails
from facelens.words import number, tr

CARD, GAP, MARGIN = 72, 6, 8
FACE, SMALL_FACE = 62, 44
NARROW = 300  # px; under it the faces shrink so that the words keep their room


class PairList(QAbstractScrollArea):
    """Cards of pairs, worst first."""

    looked = Signal(int)  # the place that became current, by the user
    opened = Signal(int)
    scrolled = Signal()

    def __init__(self, thumbnails: Thumbnails) -> None:
        super().__init__()
        self.setObjectName("grid")
        self._thumbnails = thumbnails
        self._faces: FaceSet | None = None
        self.listing: Listing = nothing()
        self.current = -1
        self._hover = -1
        self._empty = ("", "")
        self.setAccessibleName(tr("Listed pairs"))
        self.setWhatsThis(tr("The pairs behind what was clicked, worst first. Arrows walk the list, Enter compares."))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.viewport().setMouseTracking(True)
        when_left(self.viewport(), self._on_left)
        tell(self.viewport(), self._tip_at)
        self.verticalScrollBar().setSingleStep(CARD + GAP)
        thumbnails.ready.connect(self._on_ready)

    def set_listing(self, faces: FaceSet | None, listing: Listing) -> None:
        """Show other pairs, from the first on."""
        self._faces, self.listing = faces, listing
        self.current = 0 if len(listing) else -1
        self._hover = -1
        self.verticalScrollBar().setValue(0)
        self._relayout()
        self._describe()

    def set_empty(self, title: str, text: str = "") -> None:
        """What to say while nothing is listed."""
        self._empty = (title, text)
        if not len(self.listing):
            self.viewport().update()
            self._describe()

    def set_current(self, place: int) -> None:
        """Show a place as current, without telling anybody."""
        if 0 <= place < len(self.listing) and place != self.current:
            self.current = place
            self._bring(place)
            self._describe()

    def visible_places(self) -> range:
        """The places that can be seen, the cut ones among them."""
        top = self.verticalScrollBar().value()
        first = max(0, (top - MARGIN) // (CARD + GAP))
        last = (top + self.viewport().height() - MARGIN) // (CARD + GAP)
        return range(first, min(last + 1, len(self.listing)))

    def card_rect(self, place: int) -> QRect:
        """Where a card is, in the viewport."""
        y = MARGIN + place * (CARD + GAP) - self.verticalScrollBar().value()
        return QRect(MARGIN, y, self.viewport().width() - 2 * MARGIN, CARD)

    def pair_text(self, place: int) -> str:
        """A pair in words, as it is read out."""
        faces, one = self._faces, self.listing
        if faces is None or not 0 <= place < len(one):
            return ""
        return ", ".join(
            part
            for part in (
                tr("{i} of {n}", i=place + 1, n=one.total),
                tr(KINDS[one.kind[place]]),
                *self._names(place),
                f"{one.value or tr('score')} {number(float(one.score[place]), 3)}",
                tr("margin {m}", m=number(float(one.margin[place]), 3, sign=True))
                if isfinite(one.margin[place])
                else "",
            )
            if part
        )

    # -- layout

    def _relayout(self) -> None:
        height = 2 * MARGIN + len(self.listing) * (CARD + GAP) - (GAP if len(self.listing) else 0)
        bar = self.verticalScrollBar()
        bar.setPageStep(self.viewport().height())
        bar.setRange(0, max(0, height - self.viewport().height()))
        self.viewport().update()
        self.scrolled.emit()

    def _bring(self, place: int) -> None:
        bar = self.verticalScrollBar()
        top = place * (CARD + GAP)
        if top < bar.value():
            bar.setValue(top)
        elif top + CARD + 2 * MARGIN > bar.value() + self.viewport().height():
            bar.setValue(top + CARD + 2 * MARGIN - self.viewport().height())
        self.viewport().update()

    def _place_at(self, y: float) -> int:
        place, inside = divmod(int(y) + self.verticalScrollBar().value() - MARGIN, CARD + GAP)
        return place if 0 <= place < len(self.listing) and inside < CARD else -1

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._relayout()

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        self.viewport().update()
        self.scrolled.emit()

    def minimumSizeHint(self) -> QSize:
        return QSize(180, 100)

    def sizeHint(self) -> QSize:
        return QSize(372, 400)

    # -- painting

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self.viewport())
        painter.setRenderHints(QPainter.RenderHint.Antialiasing | QPainter.RenderHint.SmoothPixmapTransform)
        look = theme.current()
        painter.fillRect(event.rect(), look.q("sunk"))
        if self._faces is None or not len(self.listing):
            self._paint_empty(painter)
            return
        for place in self.visible_places():
            self._paint_card(painter, look, place)

    def _paint_empty(self, painter: QPainter) -> None:
        title, text = self._empty
        box = QRectF(self.viewport().rect()).adjusted(16, 0, -16, 0)
        draw_text(painter, QRectF(box.x(), box.height() * 0.32, box.width(), 18), title, "text2", 12, align="centre")
        painter.setFont(theme.font(11))
        painter.setPen(theme.current().q("text3"))
        words = Qt.TextFlag.TextWordWrap | Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignTop
        painter.drawText(QRectF(box.x(), box.height() * 0.32 + 22, box.width(), 120), int(words), text)

    def _paint_card(self, painter: QPainter, look: theme.Theme, place: int) -> None:
        one, box = self.listing, QRectF(self.card_rect(place))
        chosen = place == self.current
        ground = "soft" if chosen else "hover" if place == self._hover else "base"
        painter.setPen(QPen(look.q("accent" if chosen else "line"), 2 if chosen and self.hasFocus() else 1))
        painter.setBrush(look.q(ground))
        painter.drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), 5, 5)
        size = FACE if box.width() >= NARROW else SMALL_FACE
        top = box.y() + (CARD - size) / 2
        for k, thing in enumerate((int(one.first[place]), int(one.second[place]))):
            self._paint_face(painter, look, thing, QRectF(box.x() + 5 + k * (size + 5), top, size, size))
        left = box.x() + 2 * size + 21
        width = box.right() - 10 - left
        self._paint_words(painter, look, place, left=left, top=box.y(), width=width, chosen=chosen)

    def _paint_words(
        self, painter: QPainter, look: theme.Theme, place: int, *, left: float, top: float, width: float, chosen: bool
    ) -> None:
        one = self.listing
        kind, score, margin = int(one.kind[place]), float(one.score[place]), float(one.margin[place])
        mark = QRectF(left, top + 8, 14, 14)
        draw = {GAINED: marks.gained, LOST: marks.lost}.get(kind) or (marks.right if kind in RIGHT else marks.wrong)
        draw(painter, mark, look)
        value = number(score, 3) if isfinite(score) else tr("n/a")
        words = tr(KINDS[kind])
        # Where there is little room the score goes to the foot: both must be read in full.
        beside = text_width(words, 12) + 26 + text_width(value, 13, bold=True) <= width
        taken = text_width(value, 13, bold=True) + 6 if beside else 0
        at = QRectF(left, top + (6 if beside else 51), width, 18)
        draw_text(painter, at, value, "text", 13, bold=True, align="right")
        draw_text(painter, QRectF(left + 20, top + 6, width - 20 - taken, 18), words, "text", 12)
        names = self._names(place)
        for line, down in zip(names, (24, 38)):
            draw_text(painter, QRectF(left, top + down, width, 15), line, "text2", 11)
        y = top + 53
        hint = tr("compare  Enter") if chosen and beside and width > 150 else ""
        room = width - (text_width(hint or "0.000", 10) + 8 if hint or not beside else 0)
        foot = tr("margin {m}", m=number(margin, 3, sign=True)) if isfinite(margin) else one.value
        draw_text(painter, QRectF(left, y, room, 14), foot, "text3", 10)
        if hint:
            draw_text(painter, QRectF(left, y, width, 14), hint, "accent", 10, align="right")

    def _paint_face(self, painter: QPainter, look: theme.Theme, thing: int, box: QRectF) -> None:
        faces = self._faces
        assert faces is not None
        row = self.listing.face_of(faces, thing)
        if row is None:
            painter.setPen(QPen(look.q("line2"), 1, Qt.PenStyle.DashLine))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), 3, 3)
            draw_text(painter, box, tr("nobody"), "text3", 10, align="centre")
            return
        ratio = self.devicePixelRatioF()
        pixmap = self._thumbnails.get(faces, row, round(FACE * ratio))
        if pixmap is not None:
            scale = min(box.width() / pixmap.width(), box.height() / pixmap.height())
            inner = QRectF(0, 0, pixmap.width() * scale, pixmap.height() * scale)
            inner.moveCenter(box.center())
            painter.drawPixmap(inner, pixmap, QRectF(pixmap.rect()))
            return
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(look.q("raised"))
        painter.drawRoundedRect(box, 3, 3)
        if self._thumbnails.broken(int(faces.ids[row])):
            icons.paint(painter, QRectF(box.center().x() - 9, box.center().y() - 9, 18, 18), "warning", "warn")

    def _names(self, place: int) -> tuple[str, str]:
        assert self._faces is not None
        return self.listing.names(self._faces, place)

    def _on_ready(self, faces: set[int]) -> None:
        if self.isVisible() and len(self.listing):
            self.viewport().update()

    # -- mouse and keyboard

    def mousePressEvent(self, event: QMouseEvent) -> None:
        place = self._place_at(event.position().y())
        if event.button() == Qt.MouseButton.LeftButton and place >= 0:
            self._go(place)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        place = self._place_at(event.position().y())
        if event.button() == Qt.MouseButton.LeftButton and place >= 0:
            self.opened.emit(place)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._set_hover(self._place_at(event.position().y()))

    def _on_left(self) -> None:
        self._set_hover(-1)

    def _tip_at(self, spot: QPointF) -> str:
        place = self._place_at(spot.y())
        return self.pair_text(place) if place >= 0 else ""

    def _set_hover(self, place: int) -> None:
        if place != self._hover:
            self._hover = place
            self.viewport().update()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        page = max(1, self.viewport().height() // (CARD + GAP))
        last = len(self.listing) - 1
        steps = {
            Qt.Key.Key_Down: self.current + 1,
            Qt.Key.Key_Right: self.current + 1,
            Qt.Key.Key_Up: self.current - 1,
            Qt.Key.Key_Left: self.current - 1,
            Qt.Key.Key_PageDown: self.current + page,
            Qt.Key.Key_PageUp: self.current - page,
            Qt.Key.Key_Home: 0,
            Qt.Key.Key_End: last,
        }
        key = Qt.Key(event.key())
        if key in steps and last >= 0:
            self._go(min(max(steps[key], 0), last))
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.current >= 0:
            self.opened.emit(self.current)
        else:
            super().keyPressEvent(event)

    def _go(self, place: int) -> None:
        self.current = place
        self._bring(place)
        self._describe(aloud=True)
        self.looked.emit(place)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.viewport().update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.viewport().update()

    def _describe(self, *, aloud: bool = False) -> None:
        text = self.pair_text(self.current) if len(self.listing) else " ".join(self._empty)
        self.setAccessibleDescription(text)
        if aloud and QAccessible.isActive():
            QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, text))
