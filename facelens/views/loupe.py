"""One face large, and a few side by side: fit, real pixels, zoom at the pointer, landmarks."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen, QPixmap, QResizeEvent, QWheelEvent
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from facelens.images.faceset import FaceSet, Rows
from facelens.session.annotations import FLAGGED, REJECTED, Annotations
from facelens.views import icons, marks, theme
from facelens.views.controls import draw_text, label, text_width, tool_button, vertical_rule
from facelens.views.shortcuts import keyed, pressed
from facelens.views.thumbnails import Thumbnails
from facelens.words import tr

MARGIN = 16
STAND_IN = 224  # a thumbnail of this size is shown until the whole picture is there
STEP = 1.25
MOST = 64.0  # screen pixels for one of the picture


@dataclass(frozen=True)
class View:
    """How a picture is looked at, in measures that fit all: zoom 1 = fitted, centre in shares of the picture."""

    zoom: float = 1.0
    x: float = 0.5
    y: float = 0.5


@dataclass(frozen=True)
class Said:
    """What was said about one face."""

    flag: int = 0
    rating: int = 0
    tags: tuple[str, ...] = ()
    note: str = ""

    @property
    def flag_word(self) -> str:
        return {FLAGGED: tr("flagged"), REJECTED: tr("rejected")}.get(self.flag, "")

    @property
    def rating_word(self) -> str:
        return tr("rated {n}", n=self.rating) if self.rating else ""


def said_of(annotations: Annotations, face: int) -> Said:
    """What was said about a face."""
    flag, rating = annotations.flags.of(face), annotations.ratings.of(face)
    return Said(flag, rating, annotations.tags_of(face), annotations.notes.get(face, ""))


class Picture(QWidget):
    """One face on the ground of pictures; wheel zooms at the pointer, middle drag or Space + drag moves it."""

    view_changed = Signal(object)  # View, by the user
    clicked = Signal()

    def __init__(self, thumbnails: Thumbnails) -> None:
        super().__init__()
        self._thumbnails = thumbnails
        self._faces: FaceSet | None = None
        self._row: int | None = None
        self._view = View()
        self._landmarks = False
        self._flag = 0
        self._space = False
        self._grip: QPointF | None = None
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setMinimumSize(80, 80)
        thumbnails.ready.connect(self._on_ready)

    def set_face(self, faces: FaceSet | None, row: int | None) -> None:
        """Show one face, or nothing; the view stays, so that one can step through faces at the same spot."""
        self._faces, self._row = (faces, row) if faces is not None and row is not None else (None, None)
        name = faces.label(row) if faces is not None and row is not None else tr("No face")
        self.setAccessibleName(tr("Picture of {name}", name=name))
        self.update()

    def set_view(self, view: View) -> None:
        """Look at it in another way; tells nobody."""
        self._view = view
        self.update()

    def set_landmarks(self, on: bool) -> None:
        """Draw the five points, where the gallery has them."""
        self._landmarks = on
        self.update()

    def set_flag(self, flag: int) -> None:
        """Flagged (1), rejected (-1) or neither (0)."""
        self._flag = flag
        self.update()

    def hold_space(self, held: bool) -> None:
        """While Space is held, the left button moves the picture."""
        self._space = held
        self.setCursor(Qt.CursorShape.OpenHandCursor if held else Qt.CursorShape.ArrowCursor)

    @property
    def view(self) -> View:
        return self._view

    @property
    def face(self) -> int | None:
        """The id of the face shown."""
        return None if self._faces is None or self._row is None else int(self._faces.ids[self._row])

    def pixmap(self) -> QPixmap | None:
        """The whole picture if it is decoded."""
        return None if self._faces is None or self._row is None else self._thumbnails.whole(self._faces, self._row)

    def real_pixels(self) -> float | None:
        """The zoom at which one pixel of the picture is one of the screen."""
        pixmap = self.pixmap()
        return None if pixmap is None else 1 / (self._fit(pixmap) * self.devicePixelRatioF())

    def scale(self) -> float | None:
        """Device pixels of the screen for one of the picture."""
        pixmap = self.pixmap()
        return None if pixmap is None else self._fit(pixmap) * self._view.zoom * self.devicePixelRatioF()

    def zoom_by(self, factor: float, at: QPointF | None = None) -> None:
        """Larger or smaller, with the point `at` (else the middle) staying in place."""
        pixmap = self.pixmap()
        if pixmap is None:
            return
        most = max(1.0, MOST / self._fit(pixmap))
        zoom = min(max(self._view.zoom * factor, 1.0), most)
        at = QPointF(self.width() / 2, self.height() / 2) if at is None else at
        before, after = self._place(pixmap, self._view), self._place(pixmap, replace(self._view, zoom=zoom))
        share_x = (at.x() - before.left()) / before.width()
        share_y = (at.y() - before.top()) / before.height()
        x = share_x - (at.x() - self.width() / 2) / after.width()
        y = share_y - (at.y() - self.height() / 2) / after.height()
        self._change(View(zoom, x, y) if zoom > 1 else View())

    def _change(self, view: View) -> None:
        view = replace(view, x=min(max(view.x, 0.0), 1.0), y=min(max(view.y, 0.0), 1.0))
        if view != self._view:
            self.set_view(view)
            self.view_changed.emit(view)

    def _fit(self, pixmap: QPixmap) -> float:
        room = (max(self.width() - 2 * MARGIN, 16), max(self.height() - 2 * MARGIN, 16))
        return min(room[0] / pixmap.width(), room[1] / pixmap.height())

    def _place(self, pixmap: QPixmap, view: View) -> QRectF:
        scale = self._fit(pixmap) * view.zoom
        width, height = pixmap.width() * scale, pixmap.height() * scale
        return QRectF(self.width() / 2 - view.x * width, self.height() / 2 - view.y * height, width, height)

    def _on_ready(self, faces: set[int]) -> None:
        if self.face in faces:
            self.update()

    def sizeHint(self) -> QSize:
        return QSize(480, 480)

    def paintEvent(self, event: QPaintEvent) -> None:
        now = theme.current()
        painter = QPainter(self)
        painter.setRenderHints(QPainter.RenderHint.Antialiasing | QPainter.RenderHint.SmoothPixmapTransform)
        painter.fillRect(self.rect(), now.q("sunk"))
        faces, row = self._faces, self._row
        if faces is None or row is None:
            return
        pixmap = self._thumbnails.whole(faces, row)
        if pixmap is None:
            pixmap = self._thumbnails.get(faces, row, STAND_IN)
        if pixmap is not None:
            place = self._place(pixmap, self._view)
            painter.setOpacity(marks.REJECTED if self._flag < 0 else 1.0)
            painter.drawPixmap(place, pixmap, QRectF(pixmap.rect()))
            painter.setOpacity(1.0)
            if self._flag:
                corner = place.intersected(QRectF(self.rect())).topLeft()
                plate = QRectF(corner.x() + 8, corner.y() + 8, 26, 26)
                (marks.flag if self._flag > 0 else marks.reject)(painter, plate, now)
            if self._landmarks:
                self._paint_landmarks(painter, now, faces, row, place)
            return
        side = min(self.width(), self.height()) - 2 * MARGIN
        block = QRectF((self.width() - side) / 2, (self.height() - side) / 2, side, side)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(now.q("raised"))
        painter.drawRoundedRect(block, 3, 3)
        reason = self._thumbnails.broken(int(faces.ids[row]))
        if reason is not None:
            sign = QRectF(0, 0, 40, 40)
            sign.moveCenter(block.center() - QPointF(0, 24))
            icons.paint(painter, sign, "warning", "warn")
            painter.setFont(theme.font(12))
            painter.setPen(now.q("text2"))
            words = Qt.TextFlag.TextWordWrap | Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignTop
            painter.drawText(block.adjusted(16, side / 2 + 8, -16, -8), int(words), reason)

    def _paint_landmarks(self, painter: QPainter, now: theme.Theme, faces: FaceSet, row: int, place: QRectF) -> None:
        whole = self._thumbnails.whole(faces, row)
        if faces.landmarks is None or whole is None:
            return
        painter.setBrush(Qt.BrushStyle.NoBrush)
        for x, y in faces.landmarks[row]:
            if not (np.isfinite(x) and np.isfinite(y)):
                continue
            # Coordinates are those of pixel centres.
            spot = QPointF(
                place.left() + (float(x) + 0.5) / whole.width() * place.width(),
                place.top() + (float(y) + 0.5) / whole.height() * place.height(),
            )
            painter.setPen(QPen(now.q("#000000", 0.45), 3.4))
            painter.drawEllipse(spot, 5, 5)
            painter.setPen(QPen(now.q("flow"), 1.6))
            painter.drawEllipse(spot, 5, 5)

    def wheelEvent(self, event: QWheelEvent) -> None:
        self.zoom_by(STEP ** (event.angleDelta().y() / 120), event.position())
        event.accept()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        left = event.button() == Qt.MouseButton.LeftButton
        if event.button() == Qt.MouseButton.MiddleButton or (left and self._space):
            self._grip = event.position()
            self.setCursor(Qt.CursorShape.ClosedHandCursor)
        elif left:
            self.clicked.emit()
            event.ignore()  # the widget around it takes the keyboard

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        pixmap = self.pixmap()
        if self._grip is None or pixmap is None:
            return
        moved, self._grip = event.position() - self._grip, event.position()
        place = self._place(pixmap, self._view)
        x, y = self._view.x - moved.x() / place.width(), self._view.y - moved.y() / place.height()
        self._change(replace(self._view, x=x, y=y))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if self._grip is not None:
            self._grip = None
            self.hold_space(self._space)


class _Keys(QWidget):
    """What loupe and comparison share: the keys that change the view of their pictures."""

    closed = Signal()
    step = Signal(int)  # to the next (1) or previous (-1) face

    def pictures(self) -> list[Picture]:
        raise NotImplementedError

    def fit(self) -> None:
        """Show whole pictures."""
        self._on_view(View())

    def real_size(self) -> None:
        """One pixel of the picture on one of the screen."""
        zoom = self.pictures()[0].real_pixels() if self.pictures() else None
        if zoom is not None:
            self._on_view(replace(self.pictures()[0].view, zoom=zoom))

    def set_landmarks(self, on: bool) -> None:
        """Draw the five points on every picture."""
        for picture in self.pictures():
            picture.set_landmarks(on)

    def _on_view(self, view: View) -> None:
        for picture in self.pictures():
            picture.set_view(view)

    def _toggle_landmarks(self) -> None:
        raise NotImplementedError

    def keyPressEvent(self, event: QKeyEvent) -> None:
        keys = Qt.Key
        if pressed(event, "view.grid") or pressed(event, "select.none"):
            self.closed.emit()
            return
        if event.modifiers() & ~(Qt.KeyboardModifier.KeypadModifier | Qt.KeyboardModifier.ShiftModifier):
            super().keyPressEvent(event)
            return
        match event.key():
            case keys.Key_Left | keys.Key_Up | keys.Key_PageUp:
                self.step.emit(-1)
            case keys.Key_Right | keys.Key_Down | keys.Key_PageDown:
                self.step.emit(1)
            case keys.Key_F:
                self.fit()
            case keys.Key_Z:
                self.real_size()
            case keys.Key_L:
                self._toggle_landmarks()
            case keys.Key_Plus | keys.Key_Equal | keys.Key_Minus if self.pictures():
                self.pictures()[0].zoom_by(1 / STEP if event.key() == keys.Key_Minus else STEP)
            case keys.Key_Space:
                if not event.isAutoRepeat():
                    for picture in self.pictures():
                        picture.hold_space(True)
            case _:
                super().keyPressEvent(event)

    def keyReleaseEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Space and not event.isAutoRepeat():
            for picture in self.pictures():
                picture.hold_space(False)
        else:
            super().keyReleaseEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self.setFocus(Qt.FocusReason.MouseFocusReason)


class Loupe(_Keys):
    """One face as large as the stage; arrows step through the faces shown, Esc goes back to the grid."""

    def __init__(self, thumbnails: Thumbnails) -> None:
        super().__init__()
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(tr("Loupe"))
        self.setWhatsThis(
            tr(
                "One face, large. Arrows go to the next one, the wheel zooms at the pointer, middle drag moves the "
                "picture; F fits, Z shows real pixels, L landmarks."
            )
        )
        self._picture = Picture(thumbnails)
        self._thumbnails = thumbnails
        self._spoken = ""
        self._name = label(name="title")
        self._file = label(name="sub")
        self._said = label()
        self._facts = label(name="sub")
        self._file.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self._points = tool_button("points", tr("Landmarks (L)"), size=14, checkable=True)
        self._points.toggled.connect(self.set_landmarks)
        strip = QWidget()
        strip.setObjectName("panel")
        strip.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        strip.setFixedHeight(30)
        row = QHBoxLayout(strip)
        row.setContentsMargins(12, 0, 8, 0)
        row.setSpacing(8)
        row.addWidget(self._name)
        row.addWidget(self._file, 1)
        row.addWidget(self._said)
        row.addWidget(self._facts)
        row.addWidget(vertical_rule(14))
        for icon, tip, slot in (
            ("chevron-left", tr("Previous face (Left)"), lambda: self.step.emit(-1)),
            ("chevron-right", tr("Next face (Right)"), lambda: self.step.emit(1)),
            ("fit", tr("Fit (F)"), self.fit),
            ("image", tr("Real pixels (Z)"), self.real_size),
        ):
            button = tool_button(icon, tip, size=14)
            button.clicked.connect(lambda *_, slot=slot: slot())
            row.addWidget(button)
        row.addWidget(self._points)
        close = tool_button("close", tr("Back to the grid"), size=14)
        keyed(close, "view.grid", tr("Back to the grid"))
        close.clicked.connect(self.closed)
        row.addWidget(close)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self._picture, 1)
        column.addWidget(strip)
        self._picture.view_changed.connect(self._describe)
        thumbnails.ready.connect(self._on_ready)

    def pictures(self) -> list[Picture]:
        return [self._picture]

    def set_face(self, faces: FaceSet | None, row: int | None) -> None:
        """Show one face, or say that none is chosen."""
        self._picture.set_face(faces, row)
        shown = faces is not None and row is not None
        self._name.setText(faces.label(row) if shown else tr("No face chosen"))  # type: ignore[union-attr,arg-type]
        self._file.setText(faces.file_name(row) if shown else "")  # type: ignore[union-attr,arg-type]
        has_points = shown and faces.landmarks is not None and bool(np.isfinite(faces.landmarks[row]).any())  # type: ignore[union-attr]
        self._points.setEnabled(has_points)
        self._points.setToolTip(tr("Landmarks (L)") if has_points else tr("This face has no landmarks."))
        self._describe()

    def set_marks(self, said: Said) -> None:
        """What was said about the face: on the picture, and in words beside its name."""
        self._picture.set_flag(said.flag)
        words = ("★" * said.rating, ", ".join(said.tags))
        self._said.setText("   ".join(filter(None, words)))
        self._spoken = ", ".join(filter(None, (said.flag_word, said.rating_word, *said.tags)))
        self._describe()

    def _on_view(self, view: View) -> None:
        super()._on_view(view)
        self._describe()

    def _toggle_landmarks(self) -> None:
        if self._points.isEnabled():
            self._points.toggle()

    def _on_ready(self, faces: set[int]) -> None:
        if self._picture.face in faces:
            self._describe()

    def _describe(self, *_: object) -> None:
        pixmap, scale = self._picture.pixmap(), self._picture.scale()
        text = ""
        if pixmap is not None and scale is not None:
            percent = f"{100 * scale:.0f}"
            text = tr("{w} × {h} · {percent} %", w=pixmap.width(), h=pixmap.height(), percent=percent)
        self._facts.setText(text)
        told = (self._name.text(), self._file.text(), self._spoken, text)
        self.setAccessibleDescription(", ".join(t for t in told if t))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._describe()


class Compare(_Keys):
    """Two to four faces side by side; zooming and moving one moves all."""

    chosen = Signal(object)  # id of the face clicked
    MOST = 4

    def __init__(self, thumbnails: Thumbnails) -> None:
        super().__init__()
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(tr("Compare"))
        self.setWhatsThis(
            tr(
                "Two to four selected faces side by side; zooming and moving one moves all. The wheel zooms at the "
                "pointer, middle drag moves; F fits, Z shows real pixels, L landmarks."
            )
        )
        self._pictures: list[Picture] = []
        self._names: list[_Caption] = []
        self._holders: list[QWidget] = []
        self._shown = 0
        self._across = 0
        self._table = QGridLayout(self)
        self._table.setContentsMargins(0, 0, 0, 0)
        self._table.setSpacing(4)
        for _ in range(self.MOST):
            picture, caption = Picture(thumbnails), _Caption()
            holder = QWidget()
            column = QVBoxLayout(holder)
            column.setContentsMargins(0, 0, 0, 0)
            column.setSpacing(0)
            column.addWidget(picture, 1)
            column.addWidget(caption)
            self._holders.append(holder)
            picture.view_changed.connect(self._on_view)
            picture.clicked.connect(self._on_clicked)
            self._pictures.append(picture)
            self._names.append(caption)
        self._points = False
        self.set_faces(None, np.zeros(0, np.int64))

    def pictures(self) -> list[Picture]:
        return self._pictures[: self._shown]

    def set_faces(self, faces: FaceSet | None, rows: Rows) -> None:
        """Show up to four faces; with fewer than two it says what to do."""
        given = [int(row) for row in rows[: self.MOST]] if faces is not None else []
        self._shown = len(given)
        for place, (picture, caption) in enumerate(zip(self._pictures, self._names)):
            there = place < len(given)
            self._holders[place].setVisible(there)
            picture.set_face(faces if there else None, given[place] if there else None)
            if there and faces is not None:
                caption.set_text(faces.label(given[place]), faces.file_name(given[place]))
        self._arrange()
        names = [faces.label(row) for row in given] if faces is not None else []
        self.setAccessibleDescription(", ".join(names) or self._hint())
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), theme.current().q("win" if self._shown else "sunk"))
        if self._shown < 1:
            middle = self.height() / 2
            icons.paint(painter, QRectF(self.width() / 2 - 20, middle - 60, 40, 40), "compare", "text3", width=0.9)
            draw_text(painter, QRectF(0, middle, self.width(), 20), self._hint(), "text2", 12, align="centre")

    def _arrange(self) -> None:
        """One line or two, whichever gives larger pictures."""
        count = max(self._shown, 1)

        def side(across: int) -> float:
            down = -(-count // across)
            return min(self.width() / across, self.height() / down - 30)

        across = max((count, -(-count // 2)), key=side)
        if across == self._across:
            return
        self._across = across
        for place, holder in enumerate(self._holders):
            self._table.addWidget(holder, place // across, place % across)
        for k in range(self.MOST):
            self._table.setColumnStretch(k, int(k < across))
            self._table.setRowStretch(k, int(k < -(-count // across)))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()

    def _hint(self) -> str:
        return tr("Select two to four faces to see them side by side.")

    def _toggle_landmarks(self) -> None:
        self._points = not self._points
        for picture in self._pictures:
            picture.set_landmarks(self._points)

    def _on_clicked(self) -> None:
        picture = self.sender()
        self.setFocus(Qt.FocusReason.MouseFocusReason)
        if isinstance(picture, Picture) and picture.face is not None:
            self.chosen.emit(picture.face)


class _Caption(QWidget):
    """Name and file under a picture of the comparison."""

    def __init__(self) -> None:
        super().__init__()
        self._name = self._file = ""
        self.setFixedHeight(30)

    def set_text(self, name: str, file: str) -> None:
        self._name, self._file = name, file
        self.setAccessibleName(f"{name}, {file}")
        self.setToolTip(file)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), theme.current().q("base"))
        room = self.width() - 20.0
        taken = min(text_width(self._name, 12, True) + 2, room * 0.6)
        draw_text(painter, QRectF(10, 0, taken, 30), self._name, "text", 12, bold=True)
        rest = QRectF(18 + taken, 0, room - taken - 8, 30)
        draw_text(painter, rest, self._file, "text3", 11, align="right", middle=True)
