"""Cards that tell more about what is under the pointer: a face, or a mark in a few words."""

from __future__ import annotations

import math
from collections.abc import Sequence

from PySide6.QtCore import QPoint, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen, QPixmap
from PySide6.QtWidgets import QWidget

from facelens.views import icons, theme
from facelens.views.controls import draw_text, metrics, text_width

SIZE = QSize(208, 76)
DELAY = 120  # ms
AWAY = 14  # px between the point and the card
FACE = 64
FIRST, LINE = 39, 15  # px to the first line of values, and from one to the next

WRAP = Qt.TextFlag.TextWordWrap | Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop

class Inked(str):
    """A line in the colour of a token: what is lost, what is gained. Never the colour alone: the words say it too."""

    token: str

    def __new__(cls, text: str, token: str) -> Inked:
        made = super().__new__(cls, text)
        made.token = token
        return made


Line = str | tuple[str, str]  # a pair stands at the left and at the right; the right one is never cut


class Card(QWidget):
    """Floats over the window beside what it tells of. Takes no pointer events."""

    def __init__(self, owner: QWidget) -> None:
        super().__init__(owner)
        self._owner = owner
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setAttribute(Qt.WidgetAttribute.WA_NoSystemBackground)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.hide()

    def place(self, target: QRect, *, away: int = AWAY) -> None:
        """Show the card above `target` (in the owner's coordinates), below where there is no room, never over it."""
        window = self._owner.window()
        if self.parentWidget() is not window:
            self.setParent(window)  # may lie outside its view, not outside the window
        corner = self._owner.mapTo(window, target.topLeft())
        box = QRect(corner, target.size())
        x = min(max(box.center().x() - self.width() // 2, 4), max(4, window.width() - self.width() - 4))
        y = box.top() - away - self.height()
        if y < 4:
            y = box.bottom() + 1 + away
        self.move(QPoint(x, y))
        self.show()
        self.raise_()

    def paint_ground(self, painter: QPainter) -> None:
        """What everything on it lies on."""
        now = theme.current()
        painter.setRenderHints(QPainter.RenderHint.Antialiasing | QPainter.RenderHint.SmoothPixmapTransform)
        painter.setPen(QPen(now.q("line2"), 1))
        painter.setBrush(now.q("raised"))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), 6, 6)


class HoverCard(Card):
    """208 x 76, higher for many lines: face, name, file, the values in play."""

    def __init__(self, owner: QWidget) -> None:
        super().__init__(owner)
        self._pixmap: QPixmap | None = None
        self._name = self._file = ""
        self._lines: tuple[Line, ...] = ()
        self._broken = False
        self.setFixedSize(SIZE)

    def tell(
        self, pixmap: QPixmap | None, name: str, *, file: str = "", lines: Sequence[Line] = (), broken: bool = False
    ) -> None:
        """Set what is on the card."""
        self._pixmap, self._name, self._file, self._lines, self._broken = pixmap, name, file, tuple(lines), broken
        more = 0 if broken else max(len(self._lines) - 2, 0)
        self.setFixedSize(SIZE.width(), SIZE.height() + more * LINE)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        now = theme.current()
        painter = QPainter(self)
        self.paint_ground(painter)
        face = QRectF(6, 6, FACE, FACE)
        if self._pixmap is not None:
            size = QSize(self._pixmap.width(), self._pixmap.height()).scaled(
                QSize(FACE, FACE), Qt.AspectRatioMode.KeepAspectRatio
            )
            inner = QRectF(0, 0, size.width(), size.height())
            inner.moveCenter(face.center())
            painter.drawPixmap(inner, self._pixmap, QRectF(self._pixmap.rect()))
        else:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(now.q("hover"))
            painter.drawRoundedRect(face, 3, 3)
            if self._broken:
                icons.paint(painter, QRectF(face.center().x() - 9, face.center().y() - 9, 18, 18), "warning", "warn")
        left, width = 78, self.width() - 84
        draw_text(painter, QRectF(left, 6, width, 16), self._name, "text", 11, bold=True)
        draw_text(painter, QRectF(left, 22, width, 15), self._file, "text3", 10, middle=True)
        if self._broken:
            painter.setFont(theme.font(10))
            painter.setPen(now.q("warn"))
            painter.drawText(QRectF(left, 38, width, 32), int(WRAP), " ".join(map(str, self._lines)))
            return
        for i, line in enumerate(self._lines):
            rest = QRectF(left, FIRST + i * LINE, width, LINE)
            if isinstance(line, tuple):
                line, value = line
                draw_text(painter, rest, value, "text", 10, align="right")
                rest.setWidth(rest.width() - text_width(value, 10) - 6)
            draw_text(painter, rest, line, line.token if isinstance(line, Inked) else "text2", 10)


class WordCard(Card):
    """A few lines, the first one bold, wrapped where they are long."""

    WIDEST, EDGE = 340, 9  # px

    def __init__(self, owner: QWidget) -> None:
        super().__init__(owner)
        self._lines: list[tuple[str, float]] = []  # with the height each takes

    def tell(self, lines: Sequence[str]) -> None:
        """Set what is on the card."""
        told = [line for line in lines if line]
        room = self.WIDEST - 2 * self.EDGE
        widest = max((text_width(line, self._px(i), bold=not i) for i, line in enumerate(told)), default=0.0)
        inner = min(math.ceil(widest) + 1, room)
        self._lines = [(line, self._height(line, i, inner)) for i, line in enumerate(told)]
        self.setFixedSize(inner + 2 * self.EDGE, math.ceil(sum(high for _, high in self._lines)) + 14)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, y = QPainter(self), 7.0
        self.paint_ground(painter)
        for i, (line, high) in enumerate(self._lines):
            painter.setFont(theme.font(self._px(i), bold=not i))
            painter.setPen(theme.current().q("text2" if i else "text"))
            painter.drawText(QRectF(self.EDGE, y, self.width() - 2 * self.EDGE + 1, high), int(WRAP), line)
            y += high

    def _px(self, place: int) -> int:
        return 10 if place else 11

    def _height(self, line: str, place: int, width: float) -> float:
        made = metrics(self._px(place), not place)
        return made.boundingRect(QRectF(0, 0, width + 1, 1000), int(WRAP), line).height() + 3


def paint_tag(painter: QPainter, target: QRectF, text: str, *, room: QRectF) -> None:
    """A value card of one line above `target`, below where there is no room, never over it."""
    now = theme.current()
    width, height = min(text_width(text, 10) + 16, room.width() - 4), 22.0
    x = min(max(target.center().x() - width / 2, room.left() + 2), room.right() - width - 2)
    y = target.top() - height - 6
    card = QRectF(round(x) + 0.5, round(y if y >= room.top() + 2 else target.bottom() + 6) + 0.5, width, height)
    painter.setPen(QPen(now.q("line2"), 1))
    painter.setBrush(now.q("raised"))
    painter.drawRoundedRect(card, 5, 5)
    draw_text(painter, card.adjusted(8, 0, -6, 0), text, "text", 10)
