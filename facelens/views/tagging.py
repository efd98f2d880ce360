"""What is said about a face, where it is said: flag, stars, tags with a line to type them in, and a note."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QSignalBlocker, QSize, QStringListModel, Qt, Signal
from PySide6.QtGui import QFocusEvent
from PySide6.QtWidgets import QCompleter, QHBoxLayout, QLineEdit, QPlainTextEdit, QToolButton, QVBoxLayout, QWidget

from facelens.errors import FaceLensError
from facelens.images.faceset import Ids
from facelens.session.annotations import BEST, FLAGGED, NAME_LENGTH, REJECTED, flagged, noted, rated, tagged, untagged
from facelens.views.controls import Chip, FlowLayout, dress_offers, tool_button
from facelens.views.loupe import said_of
from facelens.views.panel import Desk
from facelens.views.shortcuts import keyed
from facelens.words import escaped, plural, tr

NOTE_HEIGHT = 46


class TagLine(QLineEdit):
    """A line for tags, several with commas; known ones are offered while typing. Enter adds them."""

    entered = Signal(list)  # names

    def __init__(self, tip: str) -> None:
        super().__init__()
        self.setToolTip(tip)
        self.setMaxLength(5 * NAME_LENGTH)
        self._known = QStringListModel(self)
        completer = QCompleter(self._known, self)
        completer.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        completer.setFilterMode(Qt.MatchFlag.MatchContains)
        self.setCompleter(dress_offers(completer))
        self.returnPressed.connect(self._on_return)

    def set_known(self, names: list[str]) -> None:
        """Tags that exist."""
        if names != self._known.stringList():
            self._known.setStringList(names)

    def _on_return(self) -> None:
        names = [name.strip() for name in self.text().replace(";", ",").split(",") if name.strip()]
        if names:
            self.entered.emit(names)


def put_tags(desk: Desk, ids: Ids, names: list[str]) -> bool:
    """Tag faces, in one step; False, and a notice, where a name cannot be."""
    said = desk.workspace.annotations
    try:
        for name in names:
            said = tagged(said, ids, name)
    except FaceLensError as error:
        desk.notify(error)
        return False
    desk.store.update(annotations=said)
    faces, tags = plural(len(ids), "{n} face", "{n} faces"), ", ".join(escaped(name) for name in names)
    desk.tell(tr("{faces} tagged {tags}", faces=faces, tags=tags))
    return True


class _Note(QPlainTextEdit):
    """A few words; leaving the field keeps them."""

    left = Signal()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.left.emit()


class _Star(QToolButton):
    """A star is narrower than a button with a letter."""

    def sizeHint(self) -> QSize:
        return QSize(20, 22)

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()


class FaceMarks(QWidget):
    """Flag, stars, tags and note of one face, to see and to change."""

    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self.desk = desk
        self.face: int | None = None
        self.flag = tool_button("flag", tr("Flag"), size=14, checkable=True)
        self.reject = tool_button("close", tr("Reject"), size=14, checkable=True)
        keyed(self.flag, "mark.flag", tr("Flag"))
        keyed(self.reject, "mark.reject", tr("Reject"))
        self.flag.clicked.connect(lambda: self._flag(FLAGGED))
        self.reject.clicked.connect(lambda: self._flag(REJECTED))
        self.stars = [self._star(n) for n in range(1, BEST + 1)]
        top = QHBoxLayout()
        top.setSpacing(2)
        for part in (self.flag, self.reject):
            top.addWidget(part)
        top.addSpacing(8)
        for star in self.stars:
            top.addWidget(star)
        top.addStretch(1)
        self.chips = QWidget()
        self.flow = FlowLayout(self.chips)
        self.line = TagLine(tr("Type a tag and press Enter; several with commas."))
        self.line.setPlaceholderText(tr("Add a tag"))
        self.line.setAccessibleName(tr("Add a tag to this face"))
        self.line.entered.connect(self._on_entered)
        self.note = _Note()
        self.note.setObjectName("note")
        self.note.setPlaceholderText(tr("Note"))
        self.note.setAccessibleName(tr("Note on this face"))
        self.note.setToolTip(tr("A few words on this face; kept when you leave the field."))
        self.note.setFixedHeight(NOTE_HEIGHT)
        self.note.setTabChangesFocus(True)
        self.note.left.connect(self.keep_note)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(6)
        column.addLayout(top)
        column.addWidget(self.chips)
        column.addWidget(self.line)
        column.addWidget(self.note)

    def _star(self, n: int) -> QToolButton:
        star = _Star()
        star.setObjectName("star")
        star.setText("☆")
        star.setCheckable(True)
        star.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        star.setAccessibleName(tr("Rate {n}", n=n))
        star.setToolTip(tr("Rate {n}; again: no rating", n=n))
        star.clicked.connect(lambda: self._rate(n))
        return star

    def show_face(self, face: int) -> None:
        """Show what was said about a face; a note that is being written is not touched."""
        if face != self.face and self.note.document().isModified():
            self.keep_note()  # it belongs to the face it was written for
        said = said_of(self.desk.workspace.annotations, face)
        other, self.face = face != self.face, face
        self.flag.setChecked(said.flag == FLAGGED)
        self.reject.setChecked(said.flag == REJECTED)
        for n, star in enumerate(self.stars, 1):
            star.setText("★" if n <= said.rating else "☆")
            star.setChecked(n == said.rating)
        while item := self.flow.takeAt(0):
            if (old := item.widget()) is not None:
                old.hide()
                old.deleteLater()
        for name in said.tags:
            chip = Chip(escaped(name), tip=tr("Del takes the tag {name} off this face", name=escaped(name)))
            chip.removed.connect(lambda name=name: self._untag(name))
            self.flow.addWidget(chip)
        self.chips.setVisible(bool(said.tags))
        self.line.set_known(list(self.desk.workspace.annotations.tags))
        if other or (said.note != self.note.toPlainText() and not self.note.hasFocus()):
            with QSignalBlocker(self.note):
                self.note.setPlainText(said.note)

    def keep_note(self) -> None:
        """Write the note down, where it changed."""
        if self.face is not None:
            now = self.desk.workspace.annotations
            self.note.document().setModified(False)
            self.desk.store.update(annotations=noted(now, self._one, self.note.toPlainText()))

    @property
    def _one(self) -> Ids:
        return np.array([self.face], np.int64)

    def _flag(self, level: int) -> None:
        now = self.desk.workspace.annotations
        if self.face is not None:
            again = now.flags.of(self.face) == level
            self.desk.store.update(annotations=flagged(now, self._one, 0 if again else level))

    def _rate(self, rating: int) -> None:
        now = self.desk.workspace.annotations
        if self.face is not None:
            again = now.ratings.of(self.face) == rating
            self.desk.store.update(annotations=rated(now, self._one, 0 if again else rating))

    def _untag(self, name: str) -> None:
        self.desk.store.update(annotations=untagged(self.desk.workspace.annotations, self._one, name))

    def _on_entered(self, names: list[str]) -> None:
        if self.face is not None and put_tags(self.desk, self._one, names):
            self.line.clear()
