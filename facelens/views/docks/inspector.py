"""Inspector: the face that is looked at, its scores, the faces nearest to it, its file, the person's other faces."""

from __future__ import annotations

import os

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QMouseEvent, QPainter, QPainterPath, QPaintEvent, QPixmap
from PySide6.QtWidgets import (
    QFormLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from facelens.analyses.nearest import nearest
from facelens.images.faceset import FaceSet, Ids, Labels
from facelens.session.identities import taken_back
from facelens.session.jobs import Job, Request, State
from facelens.session.workspace import model_columns
from facelens.views import marks, theme
from facelens.views.controls import EmptyState, Rail, draw_text, label, plain_tip, tool_button
from facelens.views.grid import percentile, value_text
from facelens.views.panel import Desk, Panel
from facelens.views.shortcuts import keyed
from facelens.views.tagging import FaceMarks
from facelens.words import escaped, number, tr

FACE, STRIP, FEW = 184, 5, 6
LEAST = 240  # px; less would cut the face and its numbers off
SHARP = (48, 96, 160)  # px of the small faces; as many as they take on the screen
AT_ONCE = 20_000_000  # floats that are compared without a job
_FILE = ("width", "height", "channels", "bytes")  # shown under File, not as scores


class Picture(QWidget):
    """The current face, large."""

    def __init__(self) -> None:
        super().__init__()
        self.setFixedHeight(FACE + 24)
        self.setAccessibleName(tr("Current face"))
        self.pixmap: QPixmap | None = None

    def paintEvent(self, event: QPaintEvent) -> None:
        look = theme.current()
        painter = QPainter(self)
        painter.setRenderHints(QPainter.RenderHint.Antialiasing | QPainter.RenderHint.SmoothPixmapTransform)
        painter.fillRect(self.rect(), look.q("sunk"))
        box = QRectF((self.width() - FACE) / 2, 12, FACE, FACE)
        path = QPainterPath()
        if self.pixmap is None:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(look.q("raised"))
            painter.drawRoundedRect(box, 4, 4)
            return
        size = self.pixmap.deviceIndependentSize().scaled(box.size(), Qt.AspectRatioMode.KeepAspectRatio)
        box = QRectF(QPointF(box.center().x() - size.width() / 2, box.center().y() - size.height() / 2), size)
        path.addRoundedRect(box, 4, 4)
        painter.setClipPath(path)
        painter.drawPixmap(box, self.pixmap, QRectF(self.pixmap.rect()))


class Strip(QWidget):
    """A row of small faces; a click looks at one."""

    clicked = Signal(int)

    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self.desk = desk
        self.rows = np.zeros(0, np.int64)
        self.scores: list[float] = []  # under the faces, where there are any
        self.decimals = 2
        self.right: list[bool | None] = []  # whether it is the same person, None where that is not known
        self.setAccessibleName(tr("Other faces of this identity"))
        self.setToolTip(tr("Click to look at one."))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setCursor(Qt.CursorShape.PointingHandCursor)

    def sizeHint(self) -> QSize:
        return QSize(240, self.heightForWidth(self.width()))

    def heightForWidth(self, width: int) -> int:
        return int(self._side(width)) + (18 if self.scores else 2)

    def show_faces(self, rows: np.ndarray, *, scores: list[float], right: list[bool | None]) -> None:
        """Faces with a score under each and whether they are right."""
        self.rows, self.scores, self.right = rows, scores, right
        faces = self.desk.workspace.faces
        words = {True: tr("right"), False: tr("wrong"), None: ""}
        told = [
            f"{faces.label(int(row))} {number(score, decimals=self.decimals)} {words[good]}".strip()
            for row, score, good in zip(rows, scores, right, strict=True)
            if faces is not None
        ]
        self.setAccessibleDescription(", ".join(told))
        self.setToolTip(plain_tip("\n".join(told)))
        self.setFixedHeight(self.heightForWidth(self.width()))
        self.update()

    def _side(self, width: float) -> float:
        return (width - 5 * (STRIP - 1)) / STRIP

    def _box(self, i: int) -> QRectF:
        side = self._side(self.width())
        return QRectF(i * (side + 5), 0, side, side)

    def resizeEvent(self, event: object) -> None:
        self.setFixedHeight(self.heightForWidth(self.width()))

    def paintEvent(self, event: QPaintEvent) -> None:
        faces, look = self.desk.workspace.faces, theme.current()
        painter = QPainter(self)
        painter.setRenderHints(QPainter.RenderHint.Antialiasing | QPainter.RenderHint.SmoothPixmapTransform)
        sharp = self._box(0).width() * self.devicePixelRatioF()
        pixels = next((size for size in SHARP if size >= sharp), SHARP[-1])  # a dock that is resized asks for few sizes
        for i, row in enumerate(self.rows[:STRIP]):
            box = self._box(i)
            path = QPainterPath()
            path.addRoundedRect(box, 3, 3)
            painter.save()
            painter.setClipPath(path)
            pixmap = self.desk.thumbnails.get(faces, int(row), pixels) if faces is not None else None
            if pixmap is None:
                painter.fillRect(box, look.q("raised"))
            else:
                side = min(pixmap.width(), pixmap.height())
                painter.drawPixmap(
                    box, pixmap, QRectF((pixmap.width() - side) / 2, (pixmap.height() - side) / 2, side, side)
                )
            painter.restore()
            if i < len(self.scores):
                self._mark(painter, box, i)

    def _mark(self, painter: QPainter, box: QRectF, i: int) -> None:
        corner = QRectF(box.right() - 14, box.bottom() - 14, 13, 13)
        if self.right[i] is not None:
            (marks.right if self.right[i] else marks.wrong)(painter, corner, theme.current())
        line = QRectF(box.x() - 2, box.bottom() + 1, box.width() + 4, 14)
        draw_text(painter, line, number(self.scores[i], decimals=self.decimals), "text2", 10, align="centre")

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        for i in range(min(STRIP, len(self.rows))):
            if self._box(i).contains(event.position()):
                self.clicked.emit(int(self.rows[i]))


class Edited(QWidget):
    """The sign of a face whose identity was edited: what the gallery says, and a button to go back to that."""

    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self.desk = desk
        self.face: int | None = None
        self.setObjectName("edited")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.words = label(name="small", wrap=True)
        self.back = tool_button("undo", tr("Take back: this face is again who the gallery says"), size=14)
        self.back.setFixedSize(22, 22)
        self.back.clicked.connect(self._on_back)
        row = QHBoxLayout(self)
        row.setContentsMargins(8, 1, 1, 1)
        row.setSpacing(4)
        row.addWidget(self.words, 1)
        row.addWidget(self.back)

    def show_face(self, faces: FaceSet, row: int) -> None:
        """Say it of one face, or hide where the gallery says the same."""
        self.face, was = int(faces.ids[row]), faces.original.name(row)
        self.setVisible(was != faces.identity.name(row))
        said = escaped(was).replace("_", " ") if was else tr("nobody")
        self.words.setText(tr("Edited. In the gallery: {name}", name=said))
        self.setAccessibleName(self.words.text())
        self.setToolTip(plain_tip(tr("You said who this is. Nothing on disk has changed.")))

    def _on_back(self) -> None:
        edits = self.desk.workspace.identity_edits
        if self.face is not None:
            self.desk.store.update(identity_edits=taken_back(edits, np.array([self.face], np.int64)))


class InspectorDock(Panel):
    """Everything known about one face; each number beside its place in this gallery."""

    word = "inspector"
    title = "Inspector"
    reads = frozenset(
        {"faces", "selection", "annotations", "diagnosis", "excluded", "arrangement", "features", "model_b"}
    )

    def __init__(self, desk: Desk, parent: QWidget | None = None) -> None:
        super().__init__(desk, parent)
        self.picture = Picture()
        self.name, self.file = label(name="name"), label(name="sub")
        for shown in (self.name, self.file):
            shown.setWordWrap(True)
            shown.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.rename = tool_button("pencil", tr("Identity"), size=14)
        self.rename.setFixedSize(22, 22)
        keyed(self.rename, "identity.name", tr("Say who this is; with several selected, of all of them"))
        self.rename.clicked.connect(lambda: desk.act("identity.name"))
        self.edited = Edited(desk)
        self.marks = FaceMarks(desk)
        self.scores = QVBoxLayout()
        self.scores.setSpacing(2)
        self.more = QPushButton()
        self.more.setObjectName("flat")
        self.more.setToolTip(tr("Unusual values come first: those far from the middle of this gallery."))
        self.more.clicked.connect(self._on_more)
        self.strip = Strip(desk)
        keyed(self.strip, "select.identity", tr("Click to look at one, or select all of them"))
        self.strip.clicked.connect(self._on_strip)
        self.near = Strip(desk)
        self.near.setAccessibleName(tr("Nearest faces"))
        self.near.clicked.connect(self._on_strip)
        self.near_note = label(name="cap")
        self.near_head = _section(tr("Nearest faces"), self.near_note)
        self.facts = QFormLayout()
        self.facts.setHorizontalSpacing(12)
        self.facts.setVerticalSpacing(3)
        self.facts.setLabelAlignment(Qt.AlignmentFlag.AlignLeft)
        self.strip_count = label(name="cap")
        self.scores_head = _section(tr("Scores"), label(tr("percentile in this gallery"), name="cap"))
        self.strip_head = _section(tr("Same identity"), self.strip_count)
        self.facts_head = _section(tr("File"))
        inner = QWidget()
        inner.setObjectName("panel")
        column = QVBoxLayout(inner)
        column.setContentsMargins(0, 0, 0, 12)
        column.setSpacing(0)
        column.addWidget(self.picture)
        top = QHBoxLayout()
        top.setSpacing(4)
        top.addWidget(self.name, 1)
        top.addWidget(self.rename, 0, Qt.AlignmentFlag.AlignTop)
        column.addLayout(_padded(top, self.file, top=8, bottom=6))
        column.addLayout(_padded(self.edited, bottom=4))
        column.addLayout(_padded(self.marks, bottom=8))
        column.addWidget(self.scores_head)
        column.addLayout(_padded(self.scores))
        column.addLayout(_padded(_left(self.more), bottom=4))
        column.addWidget(self.near_head)
        column.addLayout(_padded(self.near, bottom=8))
        column.addWidget(self.strip_head)
        column.addLayout(_padded(self.strip, bottom=8))
        column.addWidget(self.facts_head)
        column.addLayout(_padded(self.facts))
        column.addStretch(1)
        self.area = QScrollArea()
        self.area.setWidgetResizable(True)
        self.area.setWidget(inner)
        self.area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.area.setAccessibleName(tr("Details of the current face"))
        self.empty = EmptyState(
            "image", tr("No face chosen"), tr("Click a face in the gallery to see its scores and its file.")
        )
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(self.area)
        outer.addWidget(self.empty)
        desk.thumbnails.ready.connect(self._on_ready)
        self.setMinimumWidth(LEAST)
        self._row: int | None = None
        self._rails: list[Rail] = []
        self._all_scores = False

    def subtitle(self) -> str:
        """For the header: "1 of 6 selected", or "6 selected" while none of them is looked at."""
        selection = self.desk.workspace.selection
        n = len(selection)
        if n <= 1:
            return ""
        return tr("1 of {n} selected", n=n) if selection.current is not None else tr("{n} selected", n=n)

    def refresh(self, changed: frozenset[str]) -> None:
        workspace = self.desk.workspace
        faces = workspace.faces
        self._row = faces.row_of(workspace.selection.current) if faces is not None else None
        self.area.setVisible(self._row is not None)
        self.empty.setVisible(self._row is None)
        if faces is None or self._row is None:
            return
        self.marks.show_face(int(faces.ids[self._row]))
        if changed == {"annotations"}:
            return
        self._show_picture()
        self.name.setText(faces.label(self._row))
        self.edited.show_face(faces, self._row)
        self.file.setText(faces.file_name(self._row))
        self._show_scores(faces, self._row)
        self._show_near(faces, self._row)
        self._show_strip(faces, self._row)
        self._show_facts(faces, self._row)

    def _show_picture(self) -> None:
        faces = self.desk.workspace.faces
        if faces is not None and self._row is not None:
            pixels = round(224 * self.devicePixelRatioF())
            self.picture.pixmap = self.desk.thumbnails.get(faces, self._row, pixels)
            self.picture.setAccessibleDescription(faces.label(self._row))
            self.picture.update()

    def _on_ready(self, _ids: object) -> None:
        if self.isVisible() and self._row is not None:
            self._show_picture()
            self.strip.update()
            self.near.update()

    def _show_scores(self, faces: FaceSet, row: int) -> None:
        scored = self._telling(faces, row)
        self.scores_head.setVisible(bool(scored))
        self.more.setVisible(len(scored) > FEW)
        self.more.setText(tr("Show fewer") if self._all_scores else tr("Show all {n}", n=len(scored)))
        shown = scored if self._all_scores else scored[:FEW]
        while len(self._rails) < len(shown):
            self._rails.append(Rail())
            self.scores.addWidget(self._rails[-1])
        for rail in self._rails[len(shown) :]:
            rail.hide()
        for rail, (name, value, place) in zip(self._rails, shown, strict=False):
            rail.set_value(name, value_text(value), percentile=place)
            rail.show()

    def _telling(self, faces: FaceSet, row: int) -> list[tuple[str, float, float | None]]:
        """Scores of the face: the one the gallery is sorted by, those of models, then the most unusual ones."""
        found = []
        for name, column in faces.columns.items():
            if isinstance(column, np.ndarray) and name not in _FILE and not np.isnan(value := float(column[row])):
                found.append((name, value, percentile(column, row)))
        first = self.desk.workspace.arrangement.sort
        by_models = model_columns(self.desk.workspace.features, self.desk.workspace.stored)
        return sorted(
            found,
            key=lambda score: (
                score[0] != first,
                score[0] not in by_models,
                -abs((score[2] if score[2] is not None else 50) - 50),
            ),
        )

    def _on_more(self) -> None:
        self._all_scores = not self._all_scores
        self.refresh(self.reads)

    def _show_near(self, faces: FaceSet, row: int) -> None:
        """The five nearest faces by model B; large sets are searched in a job."""
        workspace = self.desk.workspace
        features, face = workspace.features.get(workspace.model_b), int(faces.ids[row])
        shown = features is not None and bool(features.rows_of(np.array([face], np.int64))[1].any())
        for part in (self.near_head, self.near):
            part.setVisible(shown)
        if features is None or not shown:
            return
        self.near_note.setText(tr("cosine, model B ↑ closer"))
        self.near_note.setToolTip(
            plain_tip(tr("Cosine of the vectors of {name}, higher is closer", name=workspace.model_b))
        )
        if len(features) * features.dimensions < AT_ONCE:
            self._put_near(face, nearest(features, face, k=STRIP, without=workspace.excluded))
            return
        self.near.show_faces(np.zeros(0, np.int64), scores=[], right=[])
        request = Request(
            title=tr("Nearest faces of {name}", name=faces.label(row)),
            call=nearest,
            args=(features, face),
            kwargs={"k": STRIP, "without": workspace.excluded},
            slot="nearest",
            place="thread",
        )

        def then(job: Job) -> None:
            if job.state is State.DONE:
                self._put_near(face, job.result)  # type: ignore[arg-type]
            elif job.error is not None:
                self.desk.notify(job.error, trace=job.trace)

        self.desk.jobs.submit(request, then=then)

    def _put_near(self, face: int, found: tuple[Ids, np.ndarray]) -> None:
        faces = self.desk.workspace.faces
        if faces is None or self._row is None or int(faces.ids[self._row]) != face:
            return  # somebody else is looked at by now
        ids, scores = found
        codes, own = faces.identity.codes, int(faces.identity.codes[self._row])
        places = [faces.row_of(int(one)) for one in ids]
        kept = [(at, float(score)) for at, score in zip(places, scores, strict=True) if at is not None]
        rows = np.array([at for at, _ in kept], np.int64)
        right = [None if own < 0 or codes[at] < 0 else bool(codes[at] == own) for at in rows]
        self.near.show_faces(rows, scores=[score for _, score in kept], right=right)

    def _show_strip(self, faces: FaceSet, row: int) -> None:
        code = int(faces.identity.codes[row])
        rows = np.flatnonzero(faces.identity.codes == code) if code >= 0 else np.zeros(0, np.int64)
        if len(self.desk.workspace.excluded) and len(rows):
            rows = rows[~np.isin(faces.ids[rows], self.desk.workspace.excluded)]
        total, rows = len(rows), rows[rows != row]
        self.strip.rows = rows
        self.strip.update()
        for part in (self.strip_head, self.strip):
            part.setVisible(len(rows) > 0)
        self.strip_count.setText(tr("{n} faces", n=total))

    def _show_facts(self, faces: FaceSet, row: int) -> None:
        while self.facts.rowCount():
            self.facts.removeRow(0)
        for name, text in self._file_facts(faces, row):
            value = label(text, name="small", wrap=True)
            value.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            value.setToolTip(plain_tip(escaped(str(faces.path(row)))) if name == tr("folder") else "")
            self.facts.addRow(label(name, name="cap"), value)

    def _file_facts(self, faces: FaceSet, row: int) -> list[tuple[str, str]]:
        facts = []
        wide, high, channels, size = (_number(faces, key, row) for key in _FILE)
        known = []  # a manifest may tell some of it, the doctor tells all
        if not np.isnan(wide) and not np.isnan(high):
            known.append(f"{wide:.0f} × {high:.0f}")
        if not np.isnan(channels):
            known.append({1: tr("grey"), 3: "RGB", 4: "RGBA"}.get(int(channels), str(int(channels))))
        if not np.isnan(size):
            known.append(f"{size / 1000:,.1f} kB")
        if known:
            facts.append((tr("size"), ", ".join(known)))
        for name, column in faces.columns.items():
            if isinstance(column, Labels) and column.name(row):
                facts.append((name, escaped(column.name(row))))
        if faces.landmarks is not None and not np.isnan(faces.landmarks[row]).any():
            facts.append((tr("landmarks"), tr("5 points")))
        diagnosis = self.desk.workspace.diagnosis
        if diagnosis is not None:
            found = [finding for finding in diagnosis.findings if int(faces.ids[row]) in finding.ids]
            facts.extend((tr("doctor"), finding.title) for finding in found)
            if not found:
                facts.append((tr("doctor"), tr("nothing found")))
        folder = os.fsdecode(faces.paths[row].rpartition(b"/")[0])
        facts.append((tr("folder"), escaped(folder) or tr("of the gallery")))
        return facts

    def _on_strip(self, row: int) -> None:
        faces = self.desk.workspace.faces
        if faces is not None:
            self.desk.store.update(
                selection=self.desk.workspace.selection.looking_at(int(faces.ids[row])), initiator=self
            )


def _number(faces: FaceSet, column: str, row: int) -> float:
    values = faces.columns.get(column)
    return float(values[row]) if isinstance(values, np.ndarray) else float("nan")


def _section(title: str, note: QLabel | None = None) -> QWidget:
    head = QWidget()
    head.setObjectName("section")
    head.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
    row = QHBoxLayout(head)
    row.setContentsMargins(12, 7, 12, 4)
    text = label(title)
    text.setFont(theme.font(11, bold=True))
    row.addWidget(text)
    row.addStretch(1)
    if note is not None:
        row.addWidget(note)
    return head


def _left(widget: QWidget) -> QHBoxLayout:
    row = QHBoxLayout()
    row.addWidget(widget)
    row.addStretch(1)
    return row


def _padded(*parts: object, top: int = 0, bottom: int = 0) -> QVBoxLayout:
    column = QVBoxLayout()
    column.setContentsMargins(12, top, 12, bottom)
    column.setSpacing(2)
    for part in parts:
        if isinstance(part, QWidget):
            column.addWidget(part)
        else:
            column.addLayout(part)  # type: ignore[arg-type]
    return column
