"""The hand: how one goes back and forth in the history, and what it has to know of mouse and keyboard."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt, QTimer
from PySide6.QtGui import QKeyEvent, QKeySequence
from PySide6.QtWidgets import QAbstractSpinBox, QApplication, QLineEdit, QPlainTextEdit, QTextEdit, QWidget

from facelens.session.keys import keys_of
from facelens.views.panel import Desk
from facelens.words import escaped, tr

LOOK = 40  # ms between two looks whether the mouse button is still down


def go(desk: Desk, done: int) -> None:
    """Undo or redo until that many steps are done, and say so."""
    history = desk.workspace.history
    if done == history.done or not 0 <= done <= len(history.steps):
        return
    back = done < history.done
    step = history.steps[done if back else done - 1].label
    gone = desk.store.go(done)
    said = tr("Undone: {step}", step=step) if back else tr("Done again: {step}", step=step)
    if gone:
        said += " · " + tr("gone, and left as it is: {names}", names=", ".join(map(escaped, gone)))
    desk.tell(said)


class Hand(QObject):
    """Tells the store how long a drag lasts, and leaves Ctrl+Z to text that is being edited."""

    def __init__(self, desk: Desk, parent: QWidget) -> None:
        super().__init__(parent)
        self.desk = desk
        desk.store.held = lambda: QApplication.mouseButtons() != Qt.MouseButton.NoButton
        self._looking = QTimer(self)
        self._looking.setInterval(LOOK)
        self._looking.timeout.connect(self._look)
        self._stop = desk.store.listen(lambda changed, initiator: self._look())
        self._field: QWidget | None = None
        self._entered = ""  # what stood in it when it got the focus, or when Enter was pressed last
        app = QApplication.instance()
        assert isinstance(app, QApplication)
        app.focusChanged.connect(self._on_focus)

    def close(self) -> None:
        """Stop listening."""
        self._stop()
        self._looking.stop()

    def _look(self) -> None:
        store = self.desk.store
        if store.holding and not store.held():
            store.let_go()
        if store.holding and not self._looking.isActive():
            self._looking.start()
        elif not store.holding:
            self._looking.stop()

    def _on_focus(self, old: QWidget | None, new: QWidget | None) -> None:
        if self._field is not None and old is self._field:
            old.removeEventFilter(self)
        self._field = new if isinstance(new, QLineEdit | QAbstractSpinBox | QPlainTextEdit | QTextEdit) else None
        if self._field is not None:
            self._field.installEventFilter(self)
            self._enter()

    def _enter(self) -> None:
        line = _line(self._field)
        self._entered = line.text() if line is not None else ""

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
            if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
                self._enter()  # that is a step, no longer text
        elif event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent):
            key = QKeySequence(event.keyCombination())
            undo, redo = (
                key in map(QKeySequence, keys_of(id)) for id in ("history.undo", "history.redo")
            )
            if (undo or redo) and not self._own(watched, redo=redo):
                event.ignore()
                return True
        return False

    def _own(self, field: QObject, *, redo: bool) -> bool:
        """Whether a text field has something of its own to take back, or to do again."""
        if isinstance(field, QPlainTextEdit | QTextEdit):
            document = field.document()
            return not field.isReadOnly() and (document.isRedoAvailable() if redo else document.isUndoAvailable())
        line = _line(field)
        if line is None or redo:
            return line is not None and line.isRedoAvailable()
        return line.isUndoAvailable() and line.text() != self._entered


def _line(field: QObject | None) -> QLineEdit | None:
    if isinstance(field, QAbstractSpinBox):
        return field.findChild(QLineEdit)
    return field if isinstance(field, QLineEdit) else None
