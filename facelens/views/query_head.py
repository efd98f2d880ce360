"""The face that is searched for: its picture, what was painted on it, and where the first right face stands."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QMouseEvent, QPainter, QPaintEvent, QPixmap, QResizeEvent
from PySide6.QtWidgets import QPushButton, QSizePolicy, QWidget

from facelens.images.faceset import FaceSet
from facelens.views import marks, portrait, theme
from facelens.views.controls import draw_text, plain_tip, text_width
from facelens.views.panel import Desk
from facelens.views.thumbnails import image_of
from facelens.words import escaped, tr

EDGE, BESIDE = 12, 14  # px; around, from the picture to the words
FACE, SMALL = 92, 76  # px of the picture, and where there is little room
NARROW = 340  # px
LEAD = 22  # px of the leading number


class QueryHead(QWidget):
    """A picture and a few words; the button jumps to the first right face."""

    jump_wanted = Signal()
    open_wanted = Signal(object)  # id: the query is to be seen large

    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self.desk = desk
        self._faces: FaceSet | None = None
        self._query, self._apart = -1, False
        self._picture: QPixmap | None = None
        self._name = self._what = self._ranks = self._of = self._short_of = self._why = ""
        self._mark = 0  # 1: the first face is right, -1: it is wrong, 0: there is none to find
        self.jump = QPushButton(tr("Jump"), self)
        self.jump.setObjectName("flat")
        self.jump.setToolTip(tr("Go to the first right face (M)"))
        self.jump.setAccessibleName(tr("Go to the first right face"))
        self.jump.clicked.connect(self.jump_wanted)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setFixedHeight(FACE + 2 * EDGE)
        self.setAccessibleName(tr("Query"))
        desk.thumbnails.ready.connect(self._on_ready)

    def show_query(
        self,
        faces: FaceSet,
        query: int,
        *,
        picture: NDArray[np.uint8] | None,
        painted: str,
        before: int,
        after: int,
        of: int,
        shortlist: int,
        apart: bool = False,
    ) -> None:
        """Another query; `before` and `after` are ranks of its first right face among `of`, 0 where there is none.

        `apart`: `faces` are not those that are searched.
        """
        self._faces, self._query, self._apart = faces, query, apart
        self._picture = None if picture is None else QPixmap.fromImage(image_of(picture))
        row = faces.row_of(query)
        self._name = faces.label(row) if row is not None else tr("not in the gallery")
        said = (tr("Query"), escaped(faces.name) if apart else "", painted[:1].lower() + painted[1:])
        self._what = " · ".join(part for part in said if part)
        self._ranks = tr("{before} → {after}", before=before, after=after) if before else tr("none")
        self._mark = 0 if not before else 1 if after == 1 else -1
        counts = {"n": of, "k": shortlist}
        self._of = tr("of {n} gallery faces, shortlist {k}", **counts)
        self._short_of = tr("of {n}, shortlist {k}", **counts)
        self._why = ""
        if not before:
            alone = tr("Nobody else in the gallery has this name")
            self._why = tr("Nobody in the gallery has this name") if apart else alone
        elif after > shortlist:
            self._why = tr("The first right face stands at rank {rank}, outside the shortlist", rank=after)
        self.jump.setEnabled(not self._why)
        self.jump.setToolTip(self._why or tr("Go to the first right face (M)"))
        self.setToolTip(plain_tip(self.words()))
        self.setAccessibleDescription(self.words())
        self.update()

    def words(self) -> str:
        """All of it in a sentence."""
        judged = {1: tr("right"), -1: tr("wrong")}.get(self._mark, "")
        ranks = tr("first mate {ranks} {of}", ranks=self._ranks, of=self._of)
        return ", ".join(part for part in (self._name, self._what, ranks, judged, self._why) if part)

    @property
    def ranks(self) -> str:
        """The leading number."""
        return self._ranks

    def sizeHint(self) -> QSize:
        return QSize(380, FACE + 2 * EDGE)

    # Painting

    @property
    def _side(self) -> int:
        return SMALL if self.width() < NARROW else FACE

    def _face_box(self) -> QRectF:
        return QRectF(EDGE, (self.height() - self._side) / 2, self._side, self._side)

    def paintEvent(self, event: QPaintEvent) -> None:
        now, painter = theme.current(), QPainter(self)
        painter.setRenderHints(QPainter.RenderHint.Antialiasing | QPainter.RenderHint.SmoothPixmapTransform)
        painter.fillRect(event.rect(), now.q("sunk"))
        if self._faces is None:
            return
        self._paint_face(painter, self._face_box())
        left = self._side + EDGE + BESIDE
        wide = self.width() - left - EDGE
        draw_text(painter, QRectF(left, 12, wide, 18), self._name, "text", 13, bold=True)
        draw_text(painter, QRectF(left, 30, wide, 16), self._what, "text2", 11)
        draw_text(painter, QRectF(left, 50, wide, 14), tr("first mate"), "text3", 10)
        draw_text(painter, QRectF(left, 63, wide, 27), self._ranks, "text", LEAD, bold=True)
        if self._mark:
            at = QRectF(left + text_width(self._ranks, LEAD, bold=True) + 10, 69, 15, 15)
            (marks.right if self._mark > 0 else marks.wrong)(painter, at, now)
        of = self._of if text_width(self._of, 10) <= wide else self._short_of
        draw_text(painter, QRectF(left, 91, wide, 14), of, "text3", 10)

    def _paint_face(self, painter: QPainter, box: QRectF) -> None:
        assert self._faces is not None
        row = self._faces.row_of(self._query)
        if self._picture is not None:
            inner = portrait.fitted(self._picture, box)
            inner.moveLeft(box.left())
            inner = portrait.crisp(painter, inner)
            painter.drawPixmap(inner, self._picture, QRectF(self._picture.rect()))
            portrait.round_corners(painter, inner, theme.current().sunk)
        elif row is not None:
            portrait.face(painter, self.desk.thumbnails, self._faces, row, box)
        else:
            portrait.absent(painter, box, broken=False)

    def resizeEvent(self, event: QResizeEvent) -> None:
        size = self.jump.sizeHint()
        self.jump.resize(size)
        self.jump.move(self.width() - EDGE - size.width() + 4, 65)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        row = self._faces.row_of(self._query) if self._faces is not None else None
        if (
            event.button() == Qt.MouseButton.LeftButton
            and row is not None
            and not self._apart
            and self._face_box().contains(event.position())
        ):
            self.open_wanted.emit(self._query)

    def _on_ready(self, faces: set[int]) -> None:
        if self.isVisible() and self._query in faces:
            self.update()
