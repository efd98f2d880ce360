"""Doctor: what is wrong with the gallery, worst first, with the pictures, and one click to leave them out.

The list at the left has one line per kind of trouble with its count; the pictures at the right are those of the
chosen line. A click on a picture selects it everywhere. Excluding changes nothing on disk and can be taken back.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QResizeEvent
from PySide6.QtWidgets import (
    QApplication,
    QBoxLayout,
    QHBoxLayout,
    QPushButton,
    QSplitter,
    QStackedWidget,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)

from facelens.images.doctor import Finding
from facelens.images.faceset import Ids
from facelens.session.depicting import View, findings_of
from facelens.session.jobs import Job
from facelens.session.selection import Mode
from facelens.views import icons, theme
from facelens.views.controls import EmptyState, Header, draw_text, label
from facelens.views.docks.jobs import progress_text
from facelens.views.grid import ThumbnailGrid
from facelens.views.lines import Line, Lines
from facelens.views.panel import Desk, Panel
from facelens.words import plural, tr

MARKS = {"error": ("cross", "bad"), "warning": ("warning", "warn"), "note": ("info", "text3")}
NARROW = 560
NOT_CHECKED = (tr("Not checked yet"), tr("The doctor reads every picture once and lists what is wrong."))


class _Line(QStyledItemDelegate):
    def __init__(self, parent: Lines) -> None:
        super().__init__(parent)
        self._list = parent

    def sizeHint(self, option: QStyleOptionViewItem, index: object) -> QSize:  # type: ignore[override]
        return QSize(200, 29)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: object) -> None:  # type: ignore[override]
        finding: Finding = self._list.lines[index.row()].of  # type: ignore[attr-defined]
        look, box = theme.current(), QRectF(option.rect)
        chosen = bool(option.state & QStyle.StateFlag.State_Selected)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if chosen or option.state & QStyle.StateFlag.State_MouseOver:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(look.q("soft" if chosen else "hover"))
            painter.drawRoundedRect(box.adjusted(4, 1, -4, -1), 4, 4)
        icon, colour = MARKS[finding.severity]
        icons.paint(painter, QRectF(box.x() + 12, box.center().y() - 7, 14, 14), icon, colour)
        draw_text(painter, box.adjusted(34, 0, -60, 0), index.data(), "text" if chosen else "text2", 12)  # type: ignore[attr-defined]
        draw_text(
            painter,
            box.adjusted(0, 0, -14, 0),
            f"{len(finding.ids):,}" if len(finding.ids) else "",
            "text3",
            align="right",
        )
        painter.restore()


class DoctorPanel(Panel):
    """Findings and their pictures."""

    word = "doctor"
    title = "Doctor"
    reads = frozenset({"faces", "diagnosis", "excluded", "selection", "notes"})

    def __init__(self, desk: Desk, parent: QWidget | None = None) -> None:
        super().__init__(desk, parent)
        self.setAccessibleName(tr("Doctor"))
        self.header = Header(tr("Doctor"))
        self.again = self.header.add_button("retry", tr("Check the gallery again"), lambda: desk.act("doctor.run"))
        self.list = Lines()
        self.list.setItemDelegate(_Line(self.list))
        self.list.setAccessibleName(tr("Findings"))
        self.list.setWhatsThis(tr("A line for each kind of trouble, the worst first. A click shows its pictures."))
        self.list.moved.connect(lambda _: self._show_finding())
        self.message = label(name="strong", wrap=True)
        self.detail = label(name="small", wrap=True)
        self.exclude = QPushButton()
        self.exclude.setToolTip(tr("Leaves these faces out of everything here. Nothing on disk changes."))
        self.exclude.clicked.connect(self._on_exclude)
        self.select = QPushButton(tr("Select them"))
        self.select.setToolTip(tr("Makes them the selection, here and in the gallery"))
        self.select.clicked.connect(self._on_select_all)
        self.grid = ThumbnailGrid(desk.thumbnails)
        self.grid.setAccessibleName(tr("Pictures of this finding"))
        self.grid.select.connect(self._on_select)
        self.grid.look.connect(self._on_look)
        self.grid.open_face.connect(self._on_open)
        self.clean = EmptyState(
            "check",
            tr("Nothing is wrong"),
            tr("Every picture could be read, and no doubles or lone identities were found."),
        )
        self.waiting = EmptyState("doctor", *NOT_CHECKED)
        self.check = self.waiting.add_button(tr("Check the gallery"), lambda: desk.act("doctor.run"), primary=True)
        self.check.setToolTip(tr("Reads every picture once; nothing on disk changes"))
        self.pages = QStackedWidget()
        self.pages.addWidget(self.waiting)
        self.pages.addWidget(self.clean)
        self.pages.addWidget(self._findings())
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.setSpacing(0)
        outer.addWidget(self.header)
        outer.addWidget(self.pages, 1)
        self._stop_jobs = desk.jobs.listen(self._on_job)
        self.destroyed.connect(self._stop_jobs)

    def home(self) -> QWidget:
        return next((widget for widget in (self.list, self.check) if widget.isVisible()), self.again)

    def close_panel(self) -> None:
        self._stop_jobs()
        super().close_panel()

    def _findings(self) -> QWidget:
        words = QVBoxLayout()
        words.setSpacing(2)
        words.addWidget(self.message)
        words.addWidget(self.detail)
        buttons = QHBoxLayout()
        buttons.setSpacing(8)
        buttons.addWidget(self.select)
        buttons.addWidget(self.exclude)
        buttons.addStretch(1)
        self.head = head = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        head.setContentsMargins(12, 10, 12, 10)
        head.setSpacing(8)
        head.addLayout(words, 1)
        head.addLayout(buttons)
        right = QWidget()
        right.setObjectName("panel")
        column = QVBoxLayout(right)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(head)
        column.addWidget(self.grid, 1)
        self.split = split = QSplitter(Qt.Orientation.Horizontal)
        split.setHandleWidth(4)
        split.addWidget(self.list)
        split.addWidget(right)
        split.setStretchFactor(1, 1)
        split.setSizes([260, 700])
        split.setChildrenCollapsible(False)
        return split

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        narrow = event.size().width() < NARROW  # opened beside another page
        across = Qt.Orientation.Vertical if narrow else Qt.Orientation.Horizontal
        if across != self.split.orientation():
            self.split.setOrientation(across)
            self.split.setSizes([130, 400] if narrow else [260, 700])
            direction = QBoxLayout.Direction
            self.head.setDirection(direction.TopToBottom if narrow else direction.LeftToRight)

    @property
    def finding(self) -> Finding | None:
        """The chosen finding."""
        return self.list.line.of if self.list.line is not None else None

    def figure_places(self) -> Sequence[tuple[QWidget, str]]:
        return (self.list, "findings"), (self.grid, "pictures")

    def figure_view(self) -> View:
        return View(finding=self.finding.kind if self.finding is not None else "")

    def refresh(self, changed: frozenset[str]) -> None:
        workspace = self.desk.workspace
        diagnosis = workspace.diagnosis
        if changed & {"faces", "diagnosis", "notes"}:
            self._fill()
        if changed & {"selection", "faces", "diagnosis"}:
            self.grid.set_selection(workspace.selection)
        if "excluded" in changed:
            self._show_finding()
        if diagnosis is None:
            self._show_progress()
        else:
            count = plural(len(diagnosis.findings), "{n} finding", "{n} findings")
            checked = plural(diagnosis.faces, "{n} face checked", "{n} faces checked")
            self.header.set_subtitle(f"{checked}, {count}")

    def _on_job(self, job: Job) -> None:
        if job.request.slot == "doctor" and self.isVisible() and self.desk.workspace.diagnosis is None:
            self._show_progress()

    def _show_progress(self) -> None:
        jobs = [job for job in self.desk.jobs.jobs if job.request.slot == "doctor" and not job.state.ended]
        self.header.set_subtitle(tr("checking") if jobs else "")
        if self.check.hasFocus() and jobs:
            self.again.setFocus()
        self.check.setVisible(not jobs)
        if jobs:
            self.waiting.set_message(tr("Checking the gallery"), progress_text(jobs[-1]))
        else:
            self.waiting.set_message(*NOT_CHECKED)

    def _fill(self) -> None:
        diagnosis = self.desk.workspace.diagnosis
        kept = self.finding.kind if self.finding else ""
        if diagnosis is None:
            self.list.fill(())
            self.pages.setCurrentIndex(0)
            return
        findings = findings_of(self.desk.workspace)
        focus = QApplication.focusWidget()
        had_focus = focus is not None and self.isAncestorOf(focus)
        self.pages.setCurrentIndex(2 if findings else 1)
        if had_focus:
            self.home().setFocus()  # the page that had it is gone; Qt would hand it to some button far away
        lines = [Line(one.title, one, one.message, f"{one.severity}: {one.message}") for one in findings]
        self.list.fill(lines, row=next((i for i, one in enumerate(findings) if one.kind == kept), 0))
        self._show_finding()

    def _show_finding(self) -> None:
        faces, finding = self.desk.workspace.faces, self.finding
        if faces is None or finding is None:
            return
        self.message.setText(finding.message)
        few = len(finding.details) <= 4
        self.detail.setText("\n".join(finding.details) if few else ", ".join(finding.details[:8]) + " …")
        self.detail.setVisible(bool(finding.details))
        self.grid.set_faces(faces, faces.rows_of(finding.ids))
        self.grid.set_empty(tr("No single picture"), tr("This finding is about the gallery as a whole."))
        self.grid.set_selection(self.desk.workspace.selection)
        out = np.isin(finding.ids, self.desk.workspace.excluded)
        all_out = bool(len(out)) and bool(out.all())
        self.exclude.setText(tr("Take back {n}", n=len(out)) if all_out else tr("Exclude {n}", n=int((~out).sum())))
        for button in (self.exclude, self.select):
            button.setEnabled(len(finding.ids) > 0)

    def _on_exclude(self) -> None:
        finding, excluded = self.finding, self.desk.workspace.excluded
        if finding is None:
            return
        all_out = bool(np.isin(finding.ids, excluded).all())
        after = np.setdiff1d(excluded, finding.ids) if all_out else np.union1d(excluded, finding.ids)
        self.desk.store.update(excluded=after, initiator=self)

    def _on_select_all(self) -> None:
        if self.finding is not None:
            self._on_select(self.finding.ids, Mode.REPLACE)

    def _on_select(self, ids: Ids, mode: Mode) -> None:
        self.desk.store.update(selection=self.desk.workspace.selection.combine(ids, mode), initiator=self)

    def _on_look(self, face: int) -> None:
        self.desk.store.update(selection=self.desk.workspace.selection.looking_at(face), initiator=self)

    def _on_open(self, face: int) -> None:
        self._on_look(face)
        self.desk.act("view.loupe")
