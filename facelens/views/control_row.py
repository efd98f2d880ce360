"""The row of controls over a page: choices at the left, wrapped where there is no room; what leads out at the right."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QMenu, QToolButton, QWidget

from facelens.views.controls import Combo, FlowLayout, label, text_width, together, tool_button, vertical_rule

WIDEST = 220  # px of a choice


class Choice(Combo):
    """One of several, by key. What is filled in from outside is not told."""

    chosen = Signal(object)  # the key, by the user

    def __init__(self, name: str, tip: str) -> None:
        super().__init__()
        self._tip = tip
        self.setAccessibleName(name)
        self.setToolTip(tip)
        self.setFixedHeight(26)
        self.activated.connect(lambda _: self.chosen.emit(self.currentData()))

    def fill(self, items: Sequence[tuple[object, str]], now: object, *, why_not: str = "") -> None:
        """Offer (key, words) and show one of them; `why_not` says why there is nothing to choose."""
        with QSignalBlocker(self):
            if items != [(self.itemData(i), self.itemText(i)) for i in range(self.count())]:
                self.clear()
                for key, text in items:
                    self.addItem(text, key)
            place = next((i for i, (key, _) in enumerate(items) if key == now), 0)
            self.setCurrentIndex(place)
        self.setEnabled(not why_not)
        self.setToolTip(why_not or self._tip)
        self.setFixedWidth(int(min(WIDEST, text_width(self.currentText(), 12) + 36)))
        self.view().setMinimumWidth(int(max([120.0, *(text_width(text, 12) + 24 for _, text in items)])))


class ControlRow(QWidget):
    """See the module's words."""

    asked = Signal(str)  # an action's id

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("header")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        left, right = QWidget(), QWidget()
        self._flow = FlowLayout(left, gap=8)
        self._flow.setContentsMargins(12, 7, 0, 7)
        self._end = QHBoxLayout(right)
        self._end.setContentsMargins(0, 7, 8, 7)
        self._end.setSpacing(8)
        line = QHBoxLayout(self)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(8)
        line.addWidget(left, 1)
        line.addWidget(right, 0, Qt.AlignmentFlag.AlignTop)

    def add(self, words: str, control: QWidget) -> QWidget:
        """A control with its label; both are wrapped as one, and what is given back hides both."""
        made = together(label(words, name="sub"), control) if words else control
        self._flow.addWidget(made)
        return made

    def end(self, *parts: QWidget) -> None:
        """Put something at the right end."""
        for part in parts:
            self._end.addWidget(part)

    def offer(self, icon: str, text: str, tip: str, actions: Sequence[tuple[str, str]]) -> QToolButton:
        """A button at the right end: a click does the first action (id, words), its menu has all."""
        made = tool_button(icon, tip, text=text)
        made.clicked.connect(lambda: self.asked.emit(actions[0][0]))
        if len(actions) > 1:
            made.setPopupMode(QToolButton.ToolButtonPopupMode.MenuButtonPopup)
            menu = QMenu(made)
            for key, words in actions:
                menu.addAction(words).setData(key)
            menu.triggered.connect(lambda action: self.asked.emit(action.data()))
            made.setMenu(menu)
        self.end(vertical_rule(), made)
        return made
