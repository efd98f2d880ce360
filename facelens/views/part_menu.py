"""The menu that orders the faces and the parts of the matrix, for those who do not click heads."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Signal
from PySide6.QtGui import QAction, QActionGroup
from PySide6.QtWidgets import QMenu, QWidget

from facelens.words import tr

FACES_BY = ("part", "mean", "face")
PARTS_BY = ("number", "mean", "face")


class OrderMenu(QMenu):
    """Says what the user wants; whoever owns it tells it what is so when it is about to show."""

    faces_by = Signal(str)  # of FACES_BY
    faces_turned = Signal()
    parts_by = Signal(str)  # of PARTS_BY
    parts_turned = Signal()
    brought = Signal()  # the current face into sight

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.faces = self._choices(FACES_BY, ("", "", tr("Faces by name")), self.faces_by.emit)
        self.turn_faces = self.addAction(tr("Faces the other way round"), self.faces_turned.emit)
        self.addSeparator()
        columns = (tr("Columns by number"), tr("Columns by mean"), "")
        self.parts = self._choices(PARTS_BY, columns, self.parts_by.emit)
        self.turn_parts = self.addAction(tr("Columns the other way round"), self.parts_turned.emit)
        self.addSeparator()
        self.bring = self.addAction(tr("Scroll to the current face"), self.brought.emit)

    def _choices(
        self, keys: tuple[str, ...], words: tuple[str, ...], chosen: Callable[..., object]
    ) -> dict[str, QAction]:
        group, made = QActionGroup(self), {}
        for key, text in zip(keys, words):
            made[key] = action = self.addAction(text)
            action.setCheckable(True)
            action.triggered.connect(lambda *_, key=key: chosen(key))
            group.addAction(action)
        return made

    def tell(self, *, part: str, mean: str, face: str, faces_by: str, parts_by: str) -> None:
        """What the current part, a face's number and the current face ("": none) are called; what is sorted by."""
        self.faces["part"].setText(tr("Faces by {name}", name=part))
        self.faces["mean"].setText(tr("Faces by {name}", name=mean))
        named = tr("Columns by the values of {name}", name=face.replace("&", "&&"))
        self.parts["face"].setText(named if face else tr("Columns by the values of the current face"))
        self.parts["face"].setEnabled(bool(face))
        self.bring.setEnabled(bool(face))
        for choices, by in ((self.faces, faces_by), (self.parts, parts_by)):
            for key, action in choices.items():
                action.setChecked(key == by)
