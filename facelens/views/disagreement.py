"""The face that is looked at, and a bar for each member of the ensemble: how far it is from the mean of the others.

The tick on a bar is the median of all faces. A click on a bar selects the faces on which that member is at least as
far away. Keys: up and down walk the members, Enter clicks.
"""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from facelens.analyses.uncertainty import Uncertainty
from facelens.images.faceset import Ids
from facelens.views import marks, portrait, theme
from facelens.views.controls import draw_text, text_width
from facelens.views.grid import band_mode, percentile, value_text
from facelens.views.hearing import tell
from facelens.views.panel import Desk
from facelens.words import escaped, number, plural, tr

MARGIN, GAP = 12, 8
LARGE, SMALL = 112, 64  # px of the face, where there is room and where there is little
LINE, LOWEST, HIGHEST = 15, 22, 40  # px of a line of the sentence, and of a member


class Disagreement(QWidget):
    """See the module's words."""

    select = Signal(object, object)  # ids, Mode

    def __init__(self, desk: Desk, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.desk = desk
        self._found: Uncertainty | None = None
        self._order = self._sorted = np.zeros(0, np.int64)
        self._medians = np.zeros(0)
        self._far = 1.0  # the right end of all bars
        self._face: int | None = None  # id
        self._place: int | None = None  # of the face among those that are shown
        self._limit = np.inf
        self._at = -1  # member under the pointer or the keyboard
        self._by_key = False
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        tell(self, self._tip_at)
        self.setAccessibleName(tr("Which member disagrees about the current face"))
        self.setWhatsThis(
            tr(
                "How far each member is from the mean of the others; the tick is the median of all faces. A click on a "
                "bar selects the faces on which that member is at least as far away. Up and down walk, Enter clicks."
            )
        )
        desk.thumbnails.ready.connect(self._on_ready)

    # What is shown

    def show_uncertainty(self, found: Uncertainty | None) -> None:
        """Another ensemble, or none."""
        same = found is not None and self._found is not None and found.apart is self._found.apart
        self._found = found
        if found is not None and not same:
            self._order = np.argsort(found.ids)
            self._sorted = found.ids[self._order]
            known = np.where(np.isfinite(found.apart), found.apart, np.nan)
            some = np.isfinite(known).any(axis=1)
            self._medians = np.full(len(known), np.nan)
            self._medians[some] = np.nanmedian(known[some], axis=1)
            self._far = float(np.nanmax(known[some])) if some.any() else 1.0
        self.set_face(self._face)

    @property
    def face(self) -> int | None:
        """The id of the face that is looked at."""
        return self._face

    def set_face(self, face: int | None) -> None:
        """Look at another face, by id."""
        self._face, self._place = face, None
        if face is not None and self._found is not None and len(self._sorted):
            at = min(int(np.searchsorted(self._sorted, face)), len(self._sorted) - 1)
            self._place = int(self._order[at]) if self._sorted[at] == face else None
        self._at = min(self._at, self._members() - 1) if self._by_key else -1
        self.setMinimumHeight(self._needed())
        self.setAccessibleDescription(self.sentence())
        self.update()

    def set_limit(self, value: float | None) -> None:
        """Faces above it are refused; None or infinite: nobody is."""
        self._limit = np.inf if value is None else float(value)
        self.update()

    def sentence(self) -> str:
        """Who disagrees most, or why that cannot be said."""
        found, place = self._found, self._place
        if found is None:
            return ""
        if self._face is None:
            return tr("Click a face to see which member disagrees.")
        if place is None:
            return tr("This face is not among those that are shown: the transforms were fitted on its person.")
        apart = found.apart[:, place]
        if not np.isfinite(apart).all():
            lacking = next(one.name for one, value in zip(found.members, apart) if not np.isfinite(value))
            return tr("{name} has no vector of this face.", name=escaped(lacking))
        most = int(np.argmax(apart))
        said = {"value": number(float(apart[most]), 2), "rank": self._rank(most)}
        if len(apart) == 2:
            one, other = (escaped(member.name) for member in found.members)
            return tr("{one} and {other} are {value} apart ({rank})", one=one, other=other, **said)
        name = escaped(found.members[most].name)
        return tr("{name} disagrees most: {value} away from the others ({rank})", name=name, **said)

    def farther(self, member: int) -> Ids:
        """The faces on which a member is at least as far from the others as on the current one."""
        assert self._found is not None and self._place is not None
        apart = self._found.apart[member]
        return np.asarray(self._found.ids[apart >= apart[self._place]], np.int64)

    def _rank(self, member: int) -> str:
        assert self._found is not None and self._place is not None
        rank = percentile(self._found.apart[member], self._place)
        return tr("n/a") if rank is None else f"p{round(rank)}"

    # Where things are

    def _side(self) -> int:
        return LARGE if self.height() >= LARGE + 80 + self._members() * LOWEST else SMALL

    def _members(self) -> int:
        return len(self._found.members) if self._found is not None and self._place is not None else 0

    def _needed(self) -> int:
        return MARGIN + SMALL + GAP + 2 * LINE + 4 + self._members() * LOWEST + 4

    def _box(self, member: int) -> QRectF:
        """What a member takes."""
        top = MARGIN + self._side() + GAP + 2 * LINE + 4
        high = min(HIGHEST, max(LOWEST, (self.height() - top - 4) // max(self._members(), 1)))
        return QRectF(MARGIN, top + member * high, self.width() - 2 * MARGIN, high)

    def _under(self, at: QPointF) -> int:
        return next((i for i in range(self._members()) if self._box(i).contains(at)), -1)

    def sizeHint(self) -> QSize:
        return QSize(300, 300)

    def minimumSizeHint(self) -> QSize:
        return QSize(200, self._needed())

    # Painting

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHints(QPainter.RenderHint.Antialiasing | QPainter.RenderHint.SmoothPixmapTransform)
        faces = self.desk.workspace.faces
        row = faces.row_of(self._face) if faces is not None else None
        if faces is None or row is None or self._found is None:
            painter.setFont(theme.font(11))
            painter.setPen(theme.current().q("text3"))
            flags = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
            painter.drawText(QRectF(self.rect()).adjusted(24, 8, -24, -8), int(flags), self.sentence())
            return
        side = self._side()
        picture = QRectF(MARGIN, MARGIN, side, side)
        refused = self._place is not None and bool(self._found.values[self._place] > self._limit)
        portrait.face(painter, self.desk.thumbnails, faces, row, picture, ground="base", refused=refused)
        self._paint_name(painter, picture, faces.label(row), faces.file_name(row), refused)
        painter.setFont(theme.font(11))
        painter.setPen(theme.current().q("text"))
        words = QRectF(MARGIN, picture.bottom() + GAP - 3, self.width() - 2 * MARGIN, 2 * LINE)
        flags = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextWordWrap
        painter.drawText(words, int(flags), self.sentence())
        for member in range(self._members()):
            self._paint_member(painter, member)

    def _paint_name(self, painter: QPainter, picture: QRectF, name: str, file: str, refused: bool) -> None:
        found, place = self._found, self._place
        assert found is not None
        left = picture.right() + GAP
        wide = self.width() - left - MARGIN
        lines = [(name, "text", 13, True), (file, "text3", 10, False)]
        if place is not None:
            rank = percentile(found.variance, place)
            value = value_text(found.variance[place]) + ("" if rank is None else f" · p{round(rank)}")
            lines.append((tr("variance {value}", value=value), "text2", 11, False))
            words = tr("refused") if refused else tr("kept")
            lines.append((words, "warn" if refused else "text3", 11, False))
        high = min(18.0, picture.height() / len(lines))
        top = picture.center().y() - high * len(lines) / 2
        for i, (text, colour, px, bold) in enumerate(lines):
            draw_text(painter, QRectF(left, top + high * i, wide, high), text, colour, px, bold=bold, middle=i == 1)
        right = int(found.recognition.right[place]) if found.recognition is not None and place is not None else -1
        if right >= 0:
            mark = QRectF(picture.right() - 17, picture.top() + 3, 14, 14)
            (marks.right if right else marks.wrong)(painter, mark, theme.current())

    def _paint_member(self, painter: QPainter, member: int) -> None:
        found, place, now = self._found, self._place, theme.current()
        assert found is not None and place is not None
        box, apart = self._box(member), found.apart[:, place]
        value = float(apart[member])
        known = np.isfinite(value)
        leads = known and len(apart) > 2 and value == np.nanmax(apart)
        words = QRectF(box.left(), box.top(), box.width(), 16)
        rank = self._rank(member) if known else ""
        extreme = known and not 10 < (percentile(found.apart[member], place) or 50) < 90
        draw_text(painter, words, rank, "warn" if extreme else "text3", 10, align="right")
        shown = number(value, 2) if known else tr("no vector")
        draw_text(painter, words.adjusted(0, 0, -32, 0), shown, "text" if known else "text3", 11, align="right")
        room = words.width() - 36 - text_width(shown, 11)
        name = escaped(found.members[member].name)
        here = member == self._at
        colour = "text" if leads or here else "text2"
        draw_text(painter, QRectF(words.left(), words.top(), room, 16), name, colour, 11, bold=leads, middle=True)
        rail = QRectF(box.left(), box.top() + 17, box.width(), 5)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(now.q("line"))
        painter.drawRoundedRect(rail, 2, 2)
        scale = rail.width() / (self._far or 1.0)
        if known:
            painter.setBrush(now.q("text" if leads else "text2"))
            painter.drawRoundedRect(QRectF(rail.left(), rail.top(), max(3.0, value * scale), rail.height()), 2, 2)
        if np.isfinite(self._medians[member]):
            x = rail.left() + self._medians[member] * scale
            for colour, width in ((now.base, 3.0), (now.text3, 1.2)):  # the ground first, so that it shows on a bar
                painter.setPen(QPen(now.q(colour), width))
                painter.drawLine(QPointF(x, rail.top() - 2), QPointF(x, rail.bottom() + 2))
        if here and self._by_key and self.hasFocus():
            painter.setPen(QPen(now.q("accent"), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(box.adjusted(-5, -1, 5, -1), 4, 4)

    # Pointer and keys

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._point(self._under(event.position()), by_key=False)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self._point(self._under(event.position()), by_key=False)
            self._tap(event.modifiers())

    def leaveEvent(self, event: QEvent) -> None:
        if not self._by_key:
            self._point(-1, by_key=False)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = Qt.Key(event.key())
        step = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1}.get(key, 0)
        if step and self._members():
            start = -1 if self._at < 0 and step > 0 else self._at
            self._point(min(max(start + step, 0), self._members() - 1), by_key=True)
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space) and self._at >= 0:
            self._tap(event.modifiers())
        else:
            event.ignore()

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        if event.reason() in (Qt.FocusReason.TabFocusReason, Qt.FocusReason.BacktabFocusReason) and self._members():
            self._point(max(self._at, 0), by_key=True)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.update()

    def _tip_at(self, spot: QPointF) -> str:
        member = self._under(spot)
        return self._tip(member) if member >= 0 else ""

    def _tip(self, member: int) -> str:
        found, place = self._found, self._place
        assert found is not None and place is not None
        value = float(found.apart[member, place])
        if not np.isfinite(value):
            return self.sentence()
        said = tr(
            "{name}: 1 − cosine to the mean of the others is {value}, the median of all faces {median}.",
            name=escaped(found.members[member].name),
            value=number(value, 3),
            median=number(float(self._medians[member]), 3),
        )
        count = len(self.farther(member))
        return (
            said + " " + plural(count, "Click selects this face alone.", "Click selects the {n} faces at least as far.")
        )

    def _point(self, member: int, *, by_key: bool) -> None:
        if (member, by_key) == (self._at, self._by_key):
            return
        self._at, self._by_key = member, by_key
        self.setCursor(Qt.CursorShape.PointingHandCursor if member >= 0 else Qt.CursorShape.ArrowCursor)
        self.setAccessibleDescription(self._tip(member) if member >= 0 and by_key else self.sentence())
        self.update()

    def _tap(self, held: Qt.KeyboardModifier) -> None:
        if self._at >= 0:
            self.select.emit(self.farther(self._at), band_mode(held))

    def _on_ready(self, ids: object) -> None:
        if self.isVisible():
            self.update()
