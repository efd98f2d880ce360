"""The palette: every command, identity and picture by typing. Commands that cannot be used say why."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QObject, QRectF, QSignalBlocker, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QPainter
from PySide6.QtWidgets import (
    QFrame,
    QLineEdit,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)
from shiboken6 import isValid

from facelens.images.faceset import FaceSet
from facelens.session import filters
from facelens.session.actions import ACTIONS
from facelens.session.workspace import Workspace
from facelens.views import icons, portrait, theme
from facelens.views.controls import draw_text, text_width
from facelens.views.lines import Line, Lines
from facelens.views.thumbnails import Thumbnails
from facelens.words import escaped, tr

WIDTH = 560
MOST = 12  # people, and pictures
FACE = 22  # px


@dataclass(frozen=True)
class Entry:
    """One line: what it says, its key, why it cannot be used, and what it does."""

    text: str
    kind: str  # command, identity, picture
    target: object
    key: str = ""
    reason: str = ""
    row: int = -1  # of the face that is shown before it
    state: str = ""  # of a switch: on or off


def entries(
    typed: str, workspace: Workspace, keys: Callable[[str], str], on: Callable[[str], bool] | None = None
) -> list[Entry]:
    """Lines that fit what was typed, best first: what is called so, commands before people; then what speaks of it.

    A command fits when every typed word is in its text, tip or menu. Words at the start of the text come first, what
    cannot be used comes last; after the commands that only speak of it come pictures. `on` tells of a switch how it
    stands.
    """
    words = typed.lower().split()
    found: list[tuple[tuple[bool, bool, int, int], Entry]] = []
    for place, action in enumerate(ACTIONS):
        if action.id == "palette.open":
            continue
        text, rest = tr(action.text), f"{tr(action.menu)} {tr(action.tip)}".lower()
        if all(word in text.lower() or word in rest for word in words):
            start = (
                0
                if words and text.lower().startswith(words[0])
                else 1
                if all(word in text.lower() for word in words)
                else 2
            )
            reason = action.needs(workspace)
            rank = (start == 2, bool(reason and words), start, place)
            state = "" if on is None or not action.checkable else tr("on") if on(action.id) else tr("off")
            found.append((rank, Entry(text.rstrip("…"), "command", action.id, keys(action.id), reason, state=state)))
    found.sort(key=lambda pair: pair[0])
    called = [entry for (aside, *_), entry in found if not aside]
    speaking = [entry for (aside, *_), entry in found if aside]
    faces = workspace.faces
    if faces is None or not words:
        return called + speaking
    wanted = " ".join(words).replace(" ", "_")
    fits = [code for code, name in enumerate(faces.identity.names) if wanted in name.lower().replace(" ", "_")]
    return called + [_person(faces, code) for code in fits[:MOST]] + speaking + _pictures(faces, typed.strip())


def _person(faces: FaceSet, code: int) -> Entry:
    name, of = faces.identity.names[code], faces.identity.codes == code
    return Entry(escaped(name).replace("_", " "), "identity", name, row=int(of.argmax()) if of.any() else -1)


def _pictures(faces: FaceSet, typed: str) -> list[Entry]:
    if len(typed) < 3:
        return []
    rows = filters.parse(filters.comparison("path", "~", typed)).rows(faces).nonzero()[0][:MOST].tolist()
    return [Entry(faces.file_name(row), "picture", int(faces.ids[row]), row=row) for row in rows]


class _Line(QStyledItemDelegate):
    def __init__(self, parent: Lines, workspace: Callable[[], Workspace], thumbnails: Thumbnails) -> None:
        super().__init__(parent)
        self._list, self._workspace, self._thumbnails = parent, workspace, thumbnails

    def sizeHint(self, option: QStyleOptionViewItem, index: object) -> QSize:  # type: ignore[override]
        return QSize(200, 44 if self._list.lines[index.row()].of.reason else 30)  # type: ignore[attr-defined]

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: object) -> None:  # type: ignore[override]
        entry: Entry = self._list.lines[index.row()].of  # type: ignore[attr-defined]
        look, box = theme.current(), QRectF(option.rect)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if option.state & QStyle.StateFlag.State_Selected:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(look.q("soft"))
            painter.drawRoundedRect(box.adjusted(6, 1, -6, -1), 4, 4)
            painter.setBrush(look.q("accent"))
            painter.drawRoundedRect(QRectF(box.x() + 6, box.y() + 6, 3, box.height() - 12), 1.5, 1.5)
        x, faces = 18.0, self._workspace().faces
        if faces is not None and 0 <= entry.row < len(faces):
            ground = "soft" if option.state & QStyle.StateFlag.State_Selected else "raised"
            spot = QRectF(box.x() + x, box.y() + (30 - FACE) / 2, FACE, FACE)
            portrait.face(painter, self._thumbnails, faces, entry.row, spot, ground=ground)
            x += FACE + 8
        top = QRectF(box.x() + x, box.y(), box.width() - x - 110, 30 if not entry.reason else 28)
        draw_text(painter, top, entry.text, "text3" if entry.reason else "text", 12)
        note = entry.state or {"identity": tr("identity"), "picture": tr("picture")}.get(entry.kind, "")
        if entry.key:
            wide = text_width(entry.key, 10) + 14
            painter.setPen(look.q("line2"))
            painter.setBrush(look.q("raised"))
            painter.drawRoundedRect(QRectF(box.right() - 16 - wide, box.y() + 6.5, wide, 17), 3, 3)
            draw_text(
                painter,
                QRectF(box.right() - 16 - wide, box.y() + 6.5, wide, 17),
                entry.key,
                "text2",
                10,
                align="centre",
            )
        elif note:
            draw_text(painter, QRectF(box.right() - 110, box.y(), 94, 30), note, "text3", 10, align="right")
        if entry.reason:
            icon = "lock" if entry.target is not None else "info"
            icons.paint(painter, QRectF(box.x() + 18, box.y() + 25, 12, 12), icon, "text3")
            draw_text(painter, QRectF(box.x() + 36, box.y() + 22, box.width() - 50, 18), entry.reason, "text2", 11)
        painter.restore()


class Palette(QFrame):
    """A card over the window; Enter runs, Esc closes."""

    chosen = Signal(object)  # Entry

    def __init__(
        self,
        window: QWidget,
        workspace: Callable[[], Workspace],
        keys: Callable[[str], str],
        thumbnails: Thumbnails,
        on: Callable[[str], bool] | None = None,
    ) -> None:
        super().__init__(window)
        self._window = window
        self.setObjectName("palette")
        self.setAccessibleName(tr("Command palette"))
        self._workspace, self._keys, self._on = workspace, keys, on
        self._came_from: QWidget | None = None
        self.line = QLineEdit()
        self.line.setObjectName("palette_line")
        self.line.setFixedHeight(34)
        self.line.setPlaceholderText(tr("Find a face, an identity or a command"))
        self.line.setAccessibleName(tr("Find a face, an identity or a command"))
        self.line.setToolTip(tr("Arrows choose, Enter runs, Esc closes."))
        self.line.addAction(icons.icon("search", colour="text3"), QLineEdit.ActionPosition.LeadingPosition)
        self.line.textChanged.connect(self._fill)
        self.line.installEventFilter(self)
        self.list = Lines()
        self.list.setItemDelegate(_Line(self.list, workspace, thumbnails))
        thumbnails.ready.connect(self._on_ready)
        self.list.setAccessibleName(tr("Matches"))
        self.list.setWhatsThis(tr("Commands, identities and pictures that fit; what cannot be used says why."))
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.list.touched.connect(lambda _: self._run())
        column = QVBoxLayout(self)
        column.setContentsMargins(10, 10, 10, 8)
        column.setSpacing(6)
        column.addWidget(self.line)
        column.addWidget(self.list, 1)
        self.hide()

    def _on_ready(self, _ids: object) -> None:
        if self.isVisible():
            self.list.viewport().update()

    def open(self) -> None:
        """Show the palette, empty, over the middle of the window."""
        window = self._window
        with QSignalBlocker(self.line):
            self.line.clear()
        self._fill("")
        self._came_from = window.focusWidget()
        self.show()
        self.raise_()
        self.line.setFocus()

    def _fit(self) -> None:
        """As high as its lines, up to a limit, under the toolbar's middle."""
        window = self._window
        lines = sum(self.list.sizeHintForRow(i) for i in range(len(self.list.lines))) or 44
        self.setFixedSize(min(WIDTH, window.width() - 40), min(lines + 62, 500, window.height() - 120))
        self.move((window.width() - self.width()) // 2, 66)

    def close_palette(self) -> None:
        """Hide, and give the keyboard back."""
        self.hide()
        if self._came_from is not None and isValid(self._came_from):
            self._came_from.setFocus()

    def _fill(self, typed: str) -> None:
        found = entries(typed, self._workspace(), self._keys, self._on)
        nothing = Entry(tr("Nothing fits {typed}", typed=typed), "command", None, reason=tr("Try a part of a name."))
        notes = [one.reason or one.key or one.state or one.kind for one in found or [nothing]]
        lines = [
            Line(one.text, one, spoken=f"{one.text}, {note}", able=bool(found))
            for one, note in zip(found or [nothing], notes)
        ]
        self.list.fill(lines, row=0 if found else -1)
        self._fit()

    def _step(self, by: int) -> None:
        if self.list.line is not None:
            self.list.go(min(max(self.list.row + by, 0), len(self.list.lines) - 1))

    def _run(self) -> None:
        entry: Entry | None = self.list.line.of if self.list.line is not None else None
        if entry is None or entry.target is None or entry.reason:
            return
        self.close_palette()
        self.chosen.emit(entry)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self.line and isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            match event.key():
                case Qt.Key.Key_Down | Qt.Key.Key_Up:
                    self._step(1 if event.key() == Qt.Key.Key_Down else -1)
                    return True
                case Qt.Key.Key_PageDown | Qt.Key.Key_PageUp:
                    self._step(10 if event.key() == Qt.Key.Key_PageDown else -10)
                    return True
                case Qt.Key.Key_Return | Qt.Key.Key_Enter:
                    self._run()
                    return True
                case Qt.Key.Key_Escape:
                    self.close_palette()
                    return True
        if watched is self.line and event.type() == QEvent.Type.FocusOut and self.isVisible():
            self.hide()
        return False
