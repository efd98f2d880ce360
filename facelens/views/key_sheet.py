"""The keys on one sheet: by menu, to search, to print, and to change."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping
from pathlib import Path

from PySide6.QtCore import QMarginsF, QSizeF, Qt, Signal
from PySide6.QtGui import QKeyEvent, QKeySequence, QPageLayout, QPageSize, QPdfWriter, QTextDocument
from PySide6.QtWidgets import (
    QCheckBox,
    QDialog,
    QFileDialog,
    QGridLayout,
    QHBoxLayout,
    QKeySequenceEdit,
    QLabel,
    QLineEdit,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from facelens.session.actions import ACTIONS, BY_ID, MENUS, Action
from facelens.session.keys import Keys, clashing, fixed, keys_of, usual_left_out, with_key
from facelens.views import icons
from facelens.views.controls import label
from facelens.views.panel import Desk
from facelens.words import tr

MOUSE = (
    ("Click", "Select one face"),
    ("Ctrl+click", "Add or take away one"),
    ("Shift+click", "Select up to here"),
    ("Drag on empty ground", "Rubber band; Shift adds, Alt takes away, Shift+Alt keeps the overlap"),
    ("Double click", "Loupe"),
    ("Ctrl+wheel", "Thumbnail size"),
    ("Arrows, Home, End", "Move; with Shift select"),
    ("Space", "Select or unselect the current face"),
    ("F, Z, L", "In the loupe: fit, real pixels, landmarks"),
    ("Wheel, F", "In loupe, maps and charts: zoom at the pointer, show everything"),
    ("Middle drag, Space+drag", "In loupe, maps and charts: pan"),
)
MOUSE_TITLE = "Mouse and grid"
Block = tuple[str, list[tuple[str, str, str]]]  # title; id ("" for none), key, words


def blocks(chosen: Mapping[str, Keys], *, typed: str = "", everything: bool = False) -> list[Block]:
    """What stands on the sheet: commands with a key by menu, then the mouse; only lines with all typed words."""
    words = typed.lower().split()

    def fits(title: str, key: str, text: str) -> bool:
        return all(word in f"{title} {key} {text}".lower() for word in words)

    found: list[Block] = []
    for title in MENUS:
        rows = [(one.id, tr(" or ").join(keys_of(one.id, chosen)), _words(one)) for one in ACTIONS if one.menu == title]
        found.append((tr(title), [row for row in rows if (row[1] or everything) and fits(tr(title), *row[1:])]))
    mouse = [("", tr(key), tr(text)) for key, text in MOUSE]
    found.append((tr(MOUSE_TITLE), [row for row in mouse if fits(tr(MOUSE_TITLE), *row[1:])]))
    return [block for block in found if block[1]]


def _words(action: Action) -> str:
    return tr(action.text).rstrip("…")


class _KeyField(QKeySequenceEdit):
    """Takes the next key that is pressed; Esc leaves it."""

    left = Signal()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and not event.modifiers():
            self.left.emit()
            return
        super().keyPressEvent(event)


class KeySheet(QDialog):
    """Every key, by menu; a click on one changes it, where no other command and no fixed key is in the way."""

    def __init__(self, desk: Desk, apply: Callable[[dict[str, Keys]], None], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(tr("Keyboard shortcuts"))
        self.desk, self._apply = desk, apply
        self.action = ""  # the one whose key is being changed
        self.caps: dict[str, QPushButton] = {}
        self.search = QLineEdit()
        self.search.setPlaceholderText(tr("Find a command or a key"))
        self.search.setAccessibleName(tr("Find a command or a key"))
        self.search.setToolTip(tr("Shows the lines that hold these words."))
        self.search.setClearButtonEnabled(True)
        self.search.addAction(icons.icon("search", colour="text3"), QLineEdit.ActionPosition.LeadingPosition)
        self.search.textChanged.connect(self._fill)
        self.everything = QCheckBox(tr("All commands"))
        self.everything.setToolTip(tr("Also those that have no key yet"))
        self.everything.toggled.connect(self._fill)
        self.print = _button(tr("Save as PDF…"), tr("The sheet on paper: A4, two columns"), self._on_print)
        self.reset = _button(tr("Usual keys"), tr("Takes back every change of a key"), lambda: self._set({}))
        head = QHBoxLayout()
        head.setContentsMargins(20, 14, 20, 10)
        head.setSpacing(10)
        head.addWidget(self.search, 1)
        for part in (self.everything, self.print, self.reset):
            head.addWidget(part)
        self.area = QScrollArea()
        self.area.setWidgetResizable(True)
        self.area.setAccessibleName(tr("Keyboard shortcuts"))
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(head)
        column.addWidget(self.area, 1)
        column.addWidget(self._build_editor())
        self.told = label(tr("Click a key to change it."), name="sub")
        self.told.setContentsMargins(20, 8, 20, 10)
        column.addWidget(self.told)
        self.resize(860, 680)
        self._fill()
        self.search.setFocus()

    def _build_editor(self) -> QWidget:
        """The strip at the foot in which a key is changed."""
        self.editor = QWidget()
        self.editor.setObjectName("section")
        self.editor.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.of = label()
        self.line = _KeyField()
        self.line.setMaximumSequenceLength(1)
        self.line.setFixedWidth(150)
        self.line.setAccessibleName(tr("New key"))
        self.line.setToolTip(tr("Press the new key here; Esc leaves all as it is."))
        self.line.left.connect(self.leave)
        self.line.keySequenceChanged.connect(lambda _: self._check())
        self.problem = label(name="sub", wrap=True)
        self.take = _button(tr("Set"), tr("Gives the command this key"), self._on_take)
        self.none = _button(tr("No key"), tr("Takes the key away"), lambda: self._put(""))
        self.usual = _button(tr("Usual"), tr("The key that the command had at first"), self._on_usual)
        row = QHBoxLayout(self.editor)
        row.setContentsMargins(20, 10, 20, 10)
        row.setSpacing(8)
        row.addWidget(self.of)
        row.addWidget(self.line)
        row.addWidget(self.problem, 1)
        for part in (self.take, self.none, self.usual):
            row.addWidget(part)
        self.editor.hide()
        return self.editor

    # -- what the user sees

    def _fill(self, *_: object) -> None:
        inner = QWidget()
        inner.setObjectName("panel")
        grid = QGridLayout(inner)
        grid.setContentsMargins(20, 6, 20, 16)
        grid.setHorizontalSpacing(36)
        self.caps = {}
        found = blocks(self.desk.settings.keys, typed=self.search.text(), everything=self.everything.isChecked())
        heights, columns = [0, 0], [QVBoxLayout(), QVBoxLayout()]
        for title, rows in found:
            shorter = heights.index(min(heights))
            columns[shorter].addWidget(self._block(title, rows))
            heights[shorter] += len(rows) + 2
        if not found:
            columns[0].addWidget(label(tr("Nothing fits {typed}", typed=self.search.text()), name="sub"))
        for i, column in enumerate(columns):
            column.addStretch(1)
            grid.addLayout(column, 0, i)
            grid.setColumnStretch(i, 1)
        self.area.setWidget(inner)
        self.reset.setEnabled(bool(self.desk.settings.keys))

    def _block(self, title: str, rows: list[tuple[str, str, str]]) -> QWidget:
        block = QWidget()
        grid = QGridLayout(block)
        grid.setContentsMargins(0, 0, 0, 8)
        grid.setVerticalSpacing(4)
        grid.setColumnMinimumWidth(0, 132)
        grid.setColumnStretch(1, 1)
        grid.addWidget(label(title, name="title"), 0, 0, 1, 2)
        for i, (id, key, text) in enumerate(rows, 1):
            grid.addWidget(self._cap(id, key, text), i, 0, Qt.AlignmentFlag.AlignLeft)
            said = label(text, name="small", wrap=True)
            grid.addWidget(said, i, 1)
        return block

    def _cap(self, id: str, key: str, text: str) -> QWidget:
        if not id:
            cap = QLabel(key)
            cap.setObjectName("key")
            return cap
        button = QPushButton(key or "–")
        button.setObjectName("key")
        button.setAutoDefault(False)
        button.setAccessibleName(tr("{command}: {key}", command=text, key=key or tr("no key")))
        button.setToolTip(tr("Click to change the key"))
        button.clicked.connect(lambda: self.edit(id))
        self.caps[id] = button
        return button

    # -- changing a key

    def edit(self, id: str) -> None:
        """Ask for another key of a command."""
        self.action = id
        self.of.setText(tr("Key of {command}", command=_words(BY_ID[id])))
        self.line.clear()
        self.usual.setEnabled(id in self.desk.settings.keys)
        self.editor.show()
        self.told.hide()
        self._check()
        self.line.setFocus()

    def leave(self) -> None:
        """No key is changed; the sheet is as it was."""
        self.editor.hide()
        self.told.show()
        if self.action in self.caps:
            self.caps[self.action].setFocus()

    @property
    def _typed(self) -> str:
        return self.line.keySequence().toString(QKeySequence.SequenceFormat.PortableText)

    def _check(self) -> None:
        """Say what is in the way of the key."""
        key, said, word = self._typed, "", tr("Set")
        does = fixed(key) if key else ""
        others = clashing(self.action, key, self.desk.settings.keys) if key and not does else ()
        if does:
            said = tr("{key} {does}, and cannot be a command's key.", key=key, does=tr(does))
        elif others:
            said = tr("{key} is the key of {command}, which would lose it.", key=key, command=_words(BY_ID[others[0]]))
            word = tr("Take it")
        elif not key:
            said = tr("Press the new key in the field. Esc leaves all as it is.")
        self.problem.setText(said)
        self.take.setText(word)
        self.take.setEnabled(bool(key) and not does)

    def _on_take(self) -> None:
        self._put(self._typed)

    def _put(self, key: str) -> None:
        self._set(with_key(self.desk.settings.keys, self.action, key))

    def _on_usual(self) -> None:
        """The usual keys of one command; where another has taken one, that one loses it."""
        made = {id: keys for id, keys in self.desk.settings.keys.items() if id != self.action}
        for key in BY_ID[self.action].keys:
            for other in clashing(self.action, key, made):
                made = {**made, other: tuple(one for one in keys_of(other, made) if one != key)}
        self._set(usual_left_out(made))

    def _set(self, chosen: dict[str, Keys]) -> None:
        self._apply(chosen)
        self._fill()
        self.leave()

    # -- on paper

    def _on_print(self) -> None:
        suggested = "facelens-keys.pdf"
        if name := QFileDialog.getSaveFileName(self, tr("Save the keys"), suggested, "PDF (*.pdf)")[0]:
            self.write(Path(name) if Path(name).suffix else Path(name + ".pdf"))

    def write(self, path: Path) -> None:
        """The sheet as an A4 page."""
        page = QPdfWriter(str(path))
        page.setTitle(tr("Keyboard shortcuts"))
        page.setPageLayout(
            QPageLayout(QPageSize(QPageSize.PageSizeId.A4), QPageLayout.Orientation.Portrait, QMarginsF(36, 36, 36, 36))
        )
        page.setResolution(96)
        document = QTextDocument()
        document.setHtml(page_html(blocks(self.desk.settings.keys)))
        document.setPageSize(QSizeF(page.width(), page.height()))
        document.print_(page)
        self.desk.tell(tr("Written to {path}", path=path))


def page_html(found: list[Block]) -> str:
    """The sheet for paper: black on white, two columns."""
    sides: list[list[str]] = [[], []]
    heights = [0, 0]
    for title, rows in found:
        lines = "".join(
            f"<tr><td width='116'><b>{html.escape(key)}</b></td><td>{html.escape(text)}</td></tr>"
            for _, key, text in rows
        )
        shorter = heights.index(min(heights))
        sides[shorter].append(f"<p><b>{html.escape(title)}</b></p><table cellspacing='0'>{lines}</table>")
        heights[shorter] += len(rows) + 2
    cells = "".join(f"<td width='50%' valign='top'>{''.join(side)}</td>" for side in sides)
    style = "body { font-size: 9pt; color: black; }"
    head = html.escape(tr("FaceLens: keyboard shortcuts"))
    table = f"<table width='100%'><tr>{cells}</tr></table>"
    return f"<html><style>{style}</style><body><h3>{head}</h3>{table}</body></html>"


def _button(text: str, tip: str, slot: Callable[[], object]) -> QPushButton:
    made = QPushButton(text)
    made.setAutoDefault(False)
    made.setToolTip(tip)
    made.clicked.connect(lambda: slot())
    return made
