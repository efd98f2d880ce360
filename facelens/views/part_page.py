"""What the pages about the parts of a model share: a line of words over the content, or why there is none."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QStackedLayout, QVBoxLayout, QWidget

from facelens.analyses.parts import Parts
from facelens.analyses.universal import Study
from facelens.figures.part_words import Words
from facelens.images.faceset import FaceSet
from facelens.views import theme
from facelens.views.cell_grid import note
from facelens.views.controls import Elided
from facelens.views.panel import Desk
from facelens.words import tr

LINE = 28  # px of the line of words


class PartPage(QWidget):
    """One page; `show_*` and `set_*` emit nothing."""

    part_chosen = Signal(int)
    select = Signal(object, object)  # ids, Mode

    def __init__(self, desk: Desk, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.desk = desk
        self.setObjectName("panel")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.faces: FaceSet | None = None
        self.parts: Parts | None = None
        self.study: Study | None = None
        self.words: Words | None = None
        self.part = 0
        self.content, self._nothing = QWidget(), Nothing()
        self._stack = QStackedLayout(self)
        self._stack.addWidget(self._nothing)
        self._stack.addWidget(self.content)

    def put(self, content: QWidget) -> None:
        """What is shown where there is something to show."""
        column = QVBoxLayout(self.content)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(content)

    def show_study(self, faces: FaceSet, parts: Parts, study: Study, words: Words | None) -> None:
        """What is known by now, some of it may be missing; `words` are those of the value that effects are about."""
        self.faces, self.parts, self.study, self.words = faces, parts, study, words
        self.part = min(self.part, parts.layout.parts - 1)
        why = self.missing()
        if why is None:
            self._stack.setCurrentWidget(self.content)
            self.fill()
        else:
            self._say(why, waiting=not study.complete)

    def show_nothing(self, text: str) -> None:
        """Say why there is nothing."""
        self.faces = self.parts = self.study = self.words = None
        self._say(text, waiting=False)

    def set_part(self, part: int) -> None:
        """Another part is the current one."""
        if part != self.part:
            self.part = part
            if self._stack.currentWidget() is self.content:
                self.fill_part()

    def missing(self) -> str | None:
        """Why this page cannot be shown; None where it can, "" where it is being worked out."""
        raise NotImplementedError

    def fill(self) -> None:
        """Show the study."""
        raise NotImplementedError

    def fill_part(self) -> None:
        """Show the current part."""
        raise NotImplementedError

    @property
    def told(self) -> str:
        """What stands there instead of the content, "" where the content is shown."""
        return "" if self._stack.currentWidget() is self.content else self._nothing.text

    def _say(self, text: str, *, waiting: bool) -> None:
        self._nothing.say(text or tr("being worked out"), waiting=waiting)
        self._stack.setCurrentWidget(self._nothing)


class Nothing(QWidget):
    """A sentence instead of the content; while it is being worked out, over where it will be."""

    def __init__(self) -> None:
        super().__init__()
        self.text = ""
        self._waiting = False

    def say(self, text: str, *, waiting: bool) -> None:
        """Another sentence."""
        self.text, self._waiting = text, waiting
        self.setAccessibleName(text)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, now = QPainter(self), theme.current()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        area = QRectF(self.rect())
        if self._waiting:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(now.q(theme.mix(now.base, now.text, 0.05)))
            painter.drawRoundedRect(QRectF(12, 10, area.width() * 0.3, 10), 3, 3)
            foot = max(area.height() - LINE - 12, 20)
            painter.drawRoundedRect(QRectF(12, LINE, area.width() * 0.58 - 12, foot), 4, 4)
            painter.drawRoundedRect(QRectF(area.width() * 0.58 + 12, LINE, area.width() * 0.42 - 24, foot), 4, 4)
        note(painter, area, self.text)


def headed(content: QWidget, *controls: QWidget) -> tuple[QWidget, Elided]:
    """Content under a line of words with controls at its right end; and that line."""
    made, words = QWidget(), Elided(px=12)
    words.setFixedHeight(LINE)
    line = QHBoxLayout()
    line.setContentsMargins(12, 0, 12, 0)
    line.setSpacing(12)
    line.addWidget(words, 1)
    for control in controls:
        line.addWidget(control)
    column = QVBoxLayout(made)
    column.setContentsMargins(0, 0, 0, 0)
    column.setSpacing(0)
    column.addLayout(line)
    column.addWidget(content, 1)
    return made, words
