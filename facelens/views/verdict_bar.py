"""What is found about an upgrade, in one sentence, with its evidence and with what it does not say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtGui import QGuiApplication, QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QProgressBar, QSizePolicy, QVBoxLayout, QWidget

from facelens.views import theme
from facelens.views.controls import label, tool_button
from facelens.words import tr

EDGES = {"good": "good", "bad": "bad", "open": "text3"}  # tokens by tone
EDGE, LEAST = 4, 58  # px of the edge, and of the bar
CARD = 420  # px


class Said(Protocol):
    """A verdict: what is said, on what grounds, and what must not be read into it."""

    @property
    def tone(self) -> str: ...  # "good", "bad" or "open": neither is shown

    @property
    def sentence(self) -> str: ...

    @property
    def evidence(self) -> str: ...

    @property
    def caveats(self) -> tuple[str, ...]: ...


class VerdictBar(QWidget):
    """The sentence leads; its edge says by colour what the words say too."""

    def __init__(self) -> None:
        super().__init__()
        self._said: Said | None = None
        self.sentence, self.evidence = _words(14, bold=True), _words(11, name="small")
        self.bar = QProgressBar()
        self.bar.setTextVisible(False)
        self.bar.setFixedWidth(360)
        self.caveats = tool_button(
            "info", tr("What must not be read into the sentence"), text=tr("What this does not say")
        )
        self.copy = tool_button("copy", tr("Copy the sentence and its evidence"), text=tr("Copy"))
        self.card = CaveatCard(self)
        self.caveats.clicked.connect(self._on_caveats)
        self.copy.clicked.connect(self._on_copy)
        column = QVBoxLayout()
        column.setSpacing(4)
        column.addStretch(1)
        column.addWidget(self.sentence)
        column.addWidget(self.evidence)
        column.addWidget(self.bar, 0, Qt.AlignmentFlag.AlignLeft)
        column.addStretch(1)
        row = QHBoxLayout(self)
        row.setContentsMargins(EDGE + 14, 8, 12, 8)
        row.setSpacing(12)
        row.addLayout(column, 1)
        row.addWidget(self.caveats)
        row.addWidget(self.copy)
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.setMinimumHeight(LEAST)
        self.setAccessibleName(tr("Verdict"))
        self.show_working(tr("not worked out yet"))

    def show_verdict(self, said: Said, notes: Sequence[str] = ()) -> None:
        """Say something else; `notes` on how it was measured stand on the card too."""
        self._said = said
        self._show(said.sentence, said.evidence)
        self.card.show_caveats(said.caveats, notes)

    def show_working(self, text: str, evidence: str = "", *, share: float | None = None) -> None:
        """Nothing can be said yet: how far it is; `share` 0 .. 1, None where that is not known."""
        self._said = None
        self._show(text, evidence)
        self.bar.setVisible(share is not None)
        self.bar.setValue(round(100 * (share or 0.0)))
        self.bar.setAccessibleName(tr("Progress of {title}", title=text))

    @property
    def tone(self) -> str:
        """The token of the edge."""
        return EDGES.get(self._said.tone, "text3") if self._said is not None else "line2"

    def _show(self, sentence: str, evidence: str) -> None:
        self.sentence.setText(sentence)
        self.evidence.setText(evidence)
        self.evidence.setVisible(bool(evidence))
        self.bar.hide()
        self.card.hide()
        self.caveats.setVisible(self._said is not None and bool(self._said.caveats))
        self.copy.setVisible(self._said is not None)
        self.setAccessibleDescription(f"{sentence} {evidence}".strip())
        self.updateGeometry()
        self.update()

    def _on_caveats(self) -> None:
        self.card.open_under(self.caveats)

    def _on_copy(self) -> None:
        if self._said is not None:
            QGuiApplication.clipboard().setText(f"{self._said.sentence}\n{self._said.evidence}".strip())

    def paintEvent(self, event: QPaintEvent) -> None:
        now, painter = theme.current(), QPainter(self)
        painter.fillRect(self.rect(), now.q("base"))
        painter.fillRect(QRect(0, 0, EDGE, self.height()), now.q(self.tone))


class CaveatCard(QFrame):
    """What the sentence does not say; goes with Esc or a click elsewhere."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent, Qt.WindowType.Popup)
        self.setObjectName("palette")  # a floating card
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(tr("What this does not say"))
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(16, 12, 16, 14)
        self._column.setSpacing(7)
        self._column.addWidget(label(tr("What this does not say"), name="title"))
        self._lines: list[QLabel] = []
        self.setFixedWidth(CARD)

    def show_caveats(self, caveats: Sequence[str], notes: Sequence[str] = ()) -> None:
        """Other ones."""
        for old in self._lines:
            old.hide()
            old.deleteLater()
        self._lines = [label(text, name="small", wrap=True) for text in caveats]
        if notes:
            self._lines.append(label(tr("How it was measured"), name="title"))
            self._lines += [label(text, name="small", wrap=True) for text in notes]
        for line in self._lines:
            self._column.addWidget(line)
        self.setAccessibleDescription(" ".join((*caveats, *notes)))

    def open_under(self, button: QWidget) -> None:
        """Show it below a button, its right edge there."""
        self.setFixedHeight(self._column.totalHeightForWidth(CARD))
        self.move(button.mapToGlobal(QPoint(button.width() - CARD, button.height() + 3)))
        self.show()
        self.setFocus(Qt.FocusReason.PopupFocusReason)


def _words(px: int, *, bold: bool = False, name: str = "") -> QLabel:
    made = label(wrap=True, name=name)
    made.setFont(theme.font(px, bold=bold))
    made.setMinimumWidth(120)
    made.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    return made
