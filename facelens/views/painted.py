"""Views that paint faces where they like: what hovering, looking and opening do is the same in all of them."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QPointF, QRectF, Qt, QTimer
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent, QHideEvent, QMouseEvent, QPainter
from PySide6.QtWidgets import QApplication, QWidget

from facelens.images.faceset import FaceSet, Ids
from facelens.session.selection import Mode, Selection
from facelens.views import portrait
from facelens.views.hover import DELAY, HoverCard, Line
from facelens.views.panel import Desk, Panel

STEP = 4  # px; faces that follow the room grow in steps, so that a splitter on the move asks for few sizes


class PaintedFaces(Panel):
    """Faces in boxes. Subclasses say where they are (`face_at`) and what is told of one (`lines`)."""

    reads = frozenset({"faces", "selection"})

    def __init__(self, desk: Desk, parent: QWidget | None = None) -> None:
        super().__init__(desk, parent)
        self._under: tuple[int, QRectF] | None = None  # the face under the pointer
        self._card = HoverCard(self)
        self._card_timer = QTimer(self)
        self._card_timer.setInterval(DELAY)
        self._card_timer.setSingleShot(True)
        self._card_timer.timeout.connect(self._show_card)
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        desk.thumbnails.ready.connect(self._on_ready)

    def face_at(self, point: QPointF) -> tuple[int, QRectF] | None:
        """The face under a point: its id and its box."""
        raise NotImplementedError

    def lines(self, face: int) -> Sequence[Line]:
        """What the hover card tells of a face."""
        raise NotImplementedError

    def current_text(self) -> str:
        """What a screen reader says about where the keyboard is."""
        raise NotImplementedError

    # What the user does

    @property
    def selection(self) -> Selection:
        return self.desk.workspace.selection

    @property
    def painted_faces(self) -> FaceSet | None:
        """Whose faces are painted."""
        return self.desk.workspace.faces

    def look(self, face: int) -> None:
        """Make a face the current one."""
        self.desk.store.update(selection=self.selection.looking_at(face), initiator=self)

    def choose(self, ids: Ids, mode: Mode, *, current: int | None = None) -> None:
        """Put faces to the selection; with `current` that one is looked at too."""
        before = self.selection if current is None else self.selection.looking_at(current)
        self.desk.store.update(selection=before.combine(ids, mode), initiator=self)

    def open_face(self, face: int) -> None:
        """The face, large."""
        self.look(face)
        self.desk.act("view.loupe")

    # Painting

    def paint_face(self, painter: QPainter, face: int, box: QRectF, *, refused: bool = False) -> None:
        """A face, or an empty block where the gallery has it no longer."""
        faces = self.painted_faces
        row = faces.row_of(face) if faces is not None else None
        if faces is None or row is None:
            portrait.absent(painter, box, broken=False)
        else:
            portrait.face(painter, self.desk.thumbnails, faces, row, box, refused=refused)

    def paint_ring(self, painter: QPainter, face: int, box: QRectF) -> None:
        """What the selection and the pointer say of a face."""
        now = self.selection
        portrait.ring(painter, box, selected=face in now, current=face == now.current, hovered=face == self.hovered)

    def refresh(self, changed: frozenset[str]) -> None:
        self.update()
        self.tell_screen_readers()

    def _on_ready(self, faces: set[int]) -> None:
        if self.isVisible():
            self.update()

    # Hovering

    @property
    def hovered(self) -> int | None:
        """The face under the pointer."""
        return None if self._under is None else self._under[0]

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self.set_under(self.face_at(event.position()) if event.buttons() == Qt.MouseButton.NoButton else None)

    def leaveEvent(self, event: QEvent) -> None:
        self.set_under(None)
        super().leaveEvent(event)

    def hideEvent(self, event: QHideEvent) -> None:
        self.set_under(None)
        super().hideEvent(event)

    def set_under(self, found: tuple[int, QRectF] | None) -> None:
        """Another face is under the pointer, or none; its card comes after a moment."""
        if found == self._under:
            return
        self._under = found
        self._card_timer.stop()
        self._card.hide()
        if found is not None:
            self._card_timer.start()
        self.update()

    def _show_card(self) -> None:
        faces = self.painted_faces
        row = faces.row_of(self.hovered) if faces is not None else None
        if faces is None or row is None or self._under is None or QApplication.activePopupWidget() is not None:
            return
        face, box = self._under
        pixmap = self.desk.thumbnails.get(faces, row, round(box.width() * self.devicePixelRatioF()))
        reason = self.desk.thumbnails.broken(face)
        told = [reason] if reason else list(self.lines(face))
        self._card.tell(pixmap, faces.label(row), file=faces.file_name(row), lines=told, broken=reason is not None)
        self._card.place(box.toAlignedRect().adjusted(0, -6, 0, 6), away=2)

    # Screen readers

    def tell_screen_readers(self, *, aloud: bool = False) -> None:
        """Say where the keyboard is."""
        text = self.current_text()
        self.setAccessibleDescription(text)
        if aloud and QAccessible.isActive():
            QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, text))
