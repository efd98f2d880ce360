"""Filter: one line of words and rules, and the same as chips. Editing one changes the other."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import QStringListModel, Qt, QTimer
from PySide6.QtWidgets import QCompleter, QLabel, QLineEdit, QVBoxLayout, QWidget

from facelens.session import filters
from facelens.session.keys import hint
from facelens.views import icons
from facelens.views.controls import Chip, FlowLayout, dress_offers, plain_tip
from facelens.views.panel import Desk, Panel
from facelens.views.shortcuts import tipped
from facelens.words import tr

MOST_HIGH = 220


def _tip() -> str:
    clears = hint("select.none")
    return tr(
        'Words search names and files. Rules: blur > 0.3, yaw < p10, identity ~ "an", split = test, '
        "joined by and, or, not. Enter applies; stepping back{key} clears.",
        key=clears,
    )


class FilterDock(Panel):
    """The text takes effect on Enter, when a chip is removed, and when typing pauses on a rule that reads well."""

    word = "filter"
    title = "Filter"
    reads = frozenset({"faces", "arrangement", "excluded"})

    def __init__(self, desk: Desk, parent: QWidget | None = None) -> None:
        super().__init__(desk, parent)
        self.line = QLineEdit()
        self.line.setPlaceholderText(tr("Words, or blur > p90"))
        self.line.setAccessibleName(tr("Filter"))
        tipped(self.line, _tip)
        self.line.addAction(icons.icon("filter", colour="accent"), QLineEdit.ActionPosition.LeadingPosition)
        self.words = QStringListModel(self)
        self.completer = dress_offers(QCompleter(self.words, self))
        self.completer.setCompletionMode(QCompleter.CompletionMode.UnfilteredPopupCompletion)
        self.completer.setWidget(self.line)
        self.completer.activated.connect(self._on_completed)
        self.problem = QLabel()
        self.problem.setObjectName("problem")
        self.problem.setWordWrap(True)
        self.problem.setTextFormat(Qt.TextFormat.PlainText)
        self.problem.hide()
        self.chips = QWidget()
        self.flow = FlowLayout(self.chips)
        self.column = column = QVBoxLayout(self)
        column.setContentsMargins(8, 8, 8, 8)
        column.setSpacing(6)
        column.addWidget(self.line)
        column.addWidget(self.problem)
        column.addWidget(self.chips)
        column.addStretch(1)
        self.line.returnPressed.connect(self.apply)
        self.line.textEdited.connect(self._on_edited)

    def subtitle(self) -> str:
        workspace = self.desk.workspace
        if workspace.faces is None or not workspace.arrangement.filter:
            return ""
        return tr("{n} of {total}", n=len(workspace.shown), total=len(workspace.faces))

    def focus_line(self) -> None:
        """Put the cursor into the line."""
        self.line.setFocus()
        self.line.selectAll()

    def apply(self) -> None:
        """Filter the gallery by the text; what cannot be read is explained under the line and changes nothing."""
        text = self.line.text().strip()
        faces = self.desk.workspace.marked_faces
        try:
            expression = filters.parse(text)
            if faces is not None:
                expression.rows(faces)
        except filters.FilterError as error:
            self._complain(error)
            return
        self._complain(None)
        self.desk.store.update(arrangement=replace(self.desk.workspace.arrangement, filter=text), initiator=self)

    def clear(self) -> None:
        """Show all faces again."""
        self.line.clear()
        self.apply()

    def refresh(self, changed: frozenset[str]) -> None:
        text = self.desk.workspace.arrangement.filter
        if "arrangement" in changed and text != self.line.text().strip():
            self.line.setText(text)
            self.line.setCursorPosition(0)
            self._complain(None)
        while item := self.flow.takeAt(0):
            if (old := item.widget()) is not None:
                old.deleteLater()
        try:
            terms = filters.parse(text).terms
        except filters.FilterError:
            terms = ()
        for i, term in enumerate(terms):
            chip = Chip(term, tip=term)
            chip.removed.connect(lambda i=i: self._on_chip_removed(i))
            self.flow.addWidget(chip)
        self.chips.setVisible(bool(terms))
        self._fit()

    def _on_chip_removed(self, i: int) -> None:
        self.line.setText(filters.without(self.desk.workspace.arrangement.filter, i))
        self.apply()

    def _on_edited(self, text: str) -> None:
        faces = self.desk.workspace.marked_faces
        self._complain(None)
        if faces is None:
            return
        words = filters.completions(text, self.line.cursorPosition(), faces) if text else []
        self.words.setStringList(words)
        if words and text.strip():
            self.completer.complete()
        else:
            self._hide_words()

    def _fit(self) -> None:
        """Ask the dock for the height that chips and complaint need, up to a limit."""
        column = self.column
        least = column.totalHeightForWidth(self.width()) if column.hasHeightForWidth() else 0
        self.setMinimumHeight(min(least, MOST_HIGH))

    def _hide_words(self) -> None:
        if (popup := self.completer.popup()) is not None:
            popup.hide()

    def _on_completed(self, word: str) -> None:
        text, at = self.line.text(), self.line.cursorPosition()
        start = filters.word_start(text, at)
        self.line.setText(text[:start] + word + " " + text[at:].lstrip())
        self.line.setCursorPosition(start + len(word) + 1)
        QTimer.singleShot(0, self, self._go_on)  # the list that was chosen from closes first

    def _go_on(self) -> None:
        """After a column or a sign offer what may follow; after a whole test nothing has to."""
        faces, at = self.desk.workspace.marked_faces, self.line.cursorPosition()
        words = filters.completions(self.line.text(), at, faces) if faces is not None else []
        if words and words[0] not in ("and", "or") and self.line.hasFocus():
            self.words.setStringList(words)
            self.completer.complete()

    def _complain(self, error: filters.FilterError | None) -> None:
        self.problem.setVisible(error is not None)
        self.problem.setText("" if error is None else str(error))
        self.problem.setToolTip("" if error is None else plain_tip(str(error)))
        self._fit()
        if error is not None:
            self.line.setSelection(error.position, error.length)
