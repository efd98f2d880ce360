"""Whose faces are searched for: those of the open gallery, or of another one."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QWidget

from facelens.images.faceset import FaceSet
from facelens.views.controls import Segmented, label, plain_tip, shortened
from facelens.words import escaped, plural, tr

HERE, OTHER = "here", "other"
EDGE, LEAST = 12, 60  # px


class QuerySet(QWidget):
    """A choice of two; the second one asks for a folder, and is called as that is."""

    other_wanted = Signal()
    here_wanted = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("header")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._name = ""
        self.choice = Segmented([(HERE, tr("This gallery")), (OTHER, tr("Folder…"))], label=tr("Query set"), height=22)
        self.choice.button(HERE).setToolTip(tr("Faces of the open gallery are searched for"))
        self.choice.changed.connect(lambda _: self._on_chosen())
        self.title = label(tr("Query set"), name="sub")
        row = QHBoxLayout(self)
        row.setContentsMargins(EDGE, 5, EDGE, 5)
        row.setSpacing(8)
        row.addWidget(self.title)
        row.addWidget(self.choice)
        row.addStretch(1)
        self.show_set(None)

    def show_set(self, queries: FaceSet | None, told: str = "") -> None:
        """Which faces are searched for; `told` is what else there is to say about them."""
        self._name = "" if queries is None else escaped(queries.name)
        self.choice.set_value(HERE if queries is None else OTHER)
        tips = [tr("A folder, whose faces are searched for in the open gallery")]
        if queries is not None:
            n = plural(len(queries), "{n} face", "{n} faces")
            tips = [tr("{name}, {n}", name=self._name, n=n), *([told] if told else []), tr("Click for another folder")]
        self.choice.button(OTHER).setToolTip(plain_tip("\n".join(tips)))
        self._fit()

    @property
    def apart(self) -> bool:
        """Whether another gallery is shown."""
        return bool(self._name)

    def _fit(self) -> None:
        button = self.choice.button(OTHER)
        taken = self.title.sizeHint().width() + self.choice.button(HERE).sizeHint().width() + 2 * EDGE + 8 + 24
        room = max(LEAST, self.width() - taken)
        words = self._name or tr("Folder…")
        button.setText(shortened(words, room, 12, middle=True))
        button.setAccessibleName(words)

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._fit()

    def _on_chosen(self) -> None:
        wanted = self.choice.value()
        self.choice.set_value(OTHER if self.apart else HERE)  # until it is there
        if wanted == OTHER:
            self.other_wanted.emit()
        elif self.apart:
            self.here_wanted.emit()
