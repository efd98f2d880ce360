"""Why not the nearest other: mate, query and nearest other person side by side, and the region that tells them apart.

A click on mate or other makes that face the one that is looked at, a double click shows it large. Keys: left and right
move between the two, Enter chooses.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QImage, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from facelens.analyses import reranking
from facelens.analyses.regions import told
from facelens.analyses.reranking import Explained
from facelens.images.faceset import FaceSet
from facelens.views import marks, portrait, theme
from facelens.views.controls import draw_text
from facelens.views.hover import Line
from facelens.views.painted import PaintedFaces
from facelens.views.panel import Desk
from facelens.views.thumbnails import image_of
from facelens.words import number, tr

EDGE = 12  # px at either side
FACE, TOP = 70, 34  # px of a face, and over it
HEIGHT = TOP + FACE + 46
MATE, QUERY, OTHER = range(3)


class WhyNot(PaintedFaces):
    """See the module's words."""

    candidate_chosen = Signal(object)  # id of the face

    def __init__(self, desk: Desk, parent: QWidget | None = None) -> None:
        super().__init__(desk, parent)
        self._faces: FaceSet | None = None
        self._ids: tuple[int, int, int] | None = None  # mate, query, other
        self._distances = (np.nan, np.nan)  # of mate and other
        self._current = -1  # the id that is looked at
        self._painted: QImage | None = None
        self._place = -1  # the face that the keyboard is at
        self.sentence = ""
        self.setAccessibleName(tr("Why not the nearest other"))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setFixedHeight(HEIGHT)

    # What is shown

    def show_triple(
        self,
        faces: FaceSet,
        shown: Explained,
        other: Explained,
        ledger: NDArray[np.float64],
        other_ledger: NDArray[np.float64],
        *,
        alpha: float,
        query: int,
        mate: bool,
        picture: NDArray[np.uint8] | None = None,
    ) -> None:
        """The face that is looked at and the nearest of the other kind; `mate`: the first of them is the mate.

        `picture` is the query as it was searched for, where that is not the picture of the gallery.
        """
        self._faces, self._current = faces, shown.gallery
        pair, ledgers = (shown, other), (ledger, other_ledger)
        if not mate:
            pair, ledgers = pair[::-1], ledgers[::-1]
        self._ids = pair[0].gallery, query, pair[1].gallery
        cosine, emd = (np.array(part) for part in zip(*((one.cosine, one.emd) for one in pair)))
        near, nearest = (float(value) for value in reranking.blended(cosine, emd, alpha=alpha))
        self._distances = near, nearest
        self._painted = None if picture is None else image_of(picture)
        self.sentence = told(ledgers[0] - ledgers[1])
        self.setToolTip(tr("What the regions of the mate add to the EMD beyond those of the other; less is closer."))
        self.refresh(frozenset())

    def show_nothing(self) -> None:
        """There is no mate, or nobody else."""
        self._ids, self.sentence = None, ""
        self.refresh(frozenset())

    def sizeHint(self) -> QSize:
        return QSize(300, HEIGHT)

    def current_text(self) -> str:
        if self._ids is None or self._faces is None:
            return ""
        mate, other = (number(value) for value in self._distances)
        said = [tr("mate {mate}, other {other}", mate=mate, other=other), self.sentence]
        row = self._faces.row_of(self._ids[self._place]) if self._place >= 0 else None
        return ". ".join([self._faces.label(row), *said] if row is not None else said)

    def lines(self, face: int) -> Sequence[Line]:
        place = self._ids.index(face) if self._ids is not None and face in self._ids else QUERY
        if place == QUERY:
            return [tr("is searched for")]
        return [tr("the same person") if place == MATE else tr("another person"), (tr("distance"), self._value(place))]

    def _value(self, place: int) -> str:
        return number(self._distances[0 if place == MATE else 1])

    # Where things are

    def boxes(self) -> tuple[QRectF, QRectF, QRectF]:
        """Mate at the left, query in the middle, other at the right."""
        middle, right = (self.width() - FACE) / 2, self.width() - EDGE - FACE
        mate, query, other = (QRectF(round(x), TOP, FACE, FACE) for x in (EDGE, middle, right))
        return mate, query, other

    def face_at(self, point: QPointF) -> tuple[int, QRectF] | None:
        for face, box in zip(self._ids or (), self.boxes()):
            if box.contains(point):
                return face, box
        return None

    # Painting

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, now = QPainter(self), theme.current()
        painter.setRenderHints(QPainter.RenderHint.Antialiasing | QPainter.RenderHint.SmoothPixmapTransform)
        painter.fillRect(self.rect(), now.q("base"))
        painter.setPen(QPen(now.q("line"), 1))
        painter.drawLine(QPointF(0, 0.5), QPointF(self.width(), 0.5))
        title = QRectF(EDGE, 8, self.width() - 2 * EDGE, 18)
        draw_text(painter, title, tr("Why not the nearest other"), "text", 12, bold=True)
        if self._ids is None:
            return
        for place, (face, box) in enumerate(zip(self._ids, self.boxes())):
            self._paint_one(painter, place, face, box)
        words = QRectF(EDGE, TOP + FACE + 20, self.width() - 2 * EDGE, 20)
        draw_text(painter, words, self.sentence, "text2", 11)

    def _paint_one(self, painter: QPainter, place: int, face: int, box: QRectF) -> None:
        now = theme.current()
        if place == QUERY and self._painted is not None:
            _paint_picture(painter, self._painted, box)
        else:
            self.paint_face(painter, face, box)
        looked_at = face == self._current and place != QUERY
        portrait.ring(painter, box, selected=looked_at, current=False, hovered=face == self.hovered)
        if place != QUERY:
            corner = QRectF(box.right() - 11, box.top() - 4, 15, 15)
            (marks.right if place == MATE else marks.wrong)(painter, corner, now)
        if place == self._place and self.hasFocus():
            painter.setPen(QPen(now.q("accent"), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(box.adjusted(-4, -4, 4, 4), 6, 6)
        under = QRectF(box.left(), box.bottom() + 4, box.width(), 14)
        named = (tr("mate"), tr("query"), tr("other"))[place]
        draw_text(painter, under, named, "text3", 10, align="centre" if place == QUERY else "left")
        if place != QUERY:
            draw_text(painter, under, self._value(place), "text", 10, align="right")

    # Hands

    def mousePressEvent(self, event: QMouseEvent) -> None:
        found = self.face_at(event.position())
        if event.button() == Qt.MouseButton.LeftButton and found is not None:
            self._choose(found[0])

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        super().mouseMoveEvent(event)
        there = self._ids is not None and self.hovered in (self._ids[MATE], self._ids[OTHER])
        self.setCursor(Qt.CursorShape.PointingHandCursor if there else Qt.CursorShape.ArrowCursor)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        found = self.face_at(event.position())
        if found is not None and self._faces is not None and self._faces.row_of(found[0]) is not None:
            self.open_face(found[0])

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = event.key()
        if key in (Qt.Key.Key_Left, Qt.Key.Key_Right) and self._ids is not None:
            self._place = MATE if key == Qt.Key.Key_Left else OTHER
            self.tell_screen_readers(aloud=True)
            self.update()
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self._ids is not None and self._place >= 0:
            self._choose(self._ids[self._place])
        else:
            super().keyPressEvent(event)

    def _choose(self, face: int) -> None:
        assert self._ids is not None
        if face in (self._ids[MATE], self._ids[OTHER]):
            self.candidate_chosen.emit(face)


def _paint_picture(painter: QPainter, image: QImage, box: QRectF) -> None:
    scale = min(box.width() / image.width(), box.height() / image.height())
    inner = QRectF(0, 0, image.width() * scale, image.height() * scale)
    inner.moveCenter(box.center())
    inner = portrait.crisp(painter, inner)
    painter.drawImage(inner, image)
    portrait.round_corners(painter, inner, theme.current().q("base").name())
