"""The strip of the toolbar: where it has too little room, parts of it take another shape, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtGui import QAction, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QMenu, QSizePolicy, QToolButton, QWidget

from facelens.views.controls import Segmented, plain_tip, tool_button
from facelens.words import tr

Fold = Callable[[bool], None]  # make a part small, or as large as it likes to be


class ToolStrip(QWidget):
    """Parts in a row. Of `folds` only as many are done as are needed for the others to be shown whole."""

    def __init__(self) -> None:
        super().__init__()
        self.setFixedHeight(40)
        # Its least width must not be that of the window: that is what the folds are for.
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.line = QHBoxLayout(self)
        self.line.setContentsMargins(8, 0, 8, 0)
        self.line.setSpacing(7)
        self.line.setSizeConstraint(QHBoxLayout.SizeConstraint.SetNoConstraint)
        self.folds: Sequence[Fold] = ()
        self._fitting = False

    def fit(self) -> None:
        """Fold what has to be, now that there is another width or another part."""
        if self._fitting:
            return
        self._fitting = True
        try:
            for n in range(len(self.folds) + 1):
                for i, fold in enumerate(self.folds):
                    fold(i < n)
                self.line.invalidate()
                if self.line.minimumSize().width() <= self.width():
                    break
        finally:
            self._fitting = False

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.fit()


class LayoutSwitch(QWidget):
    """Which layout the window has: a segment for each, or where that is too wide a button with a menu."""

    def __init__(self, segments: Segmented, actions: Sequence[QAction]) -> None:
        super().__init__()
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.segments = segments
        self.button = tool_button("columns", tr("Layout"), text=tr("Layout"))
        self.button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.button.setFixedHeight(28)
        menu = QMenu(self.button)
        menu.addActions(list(actions))
        self.button.setMenu(menu)
        self.button.hide()
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        row.addWidget(self.segments)
        row.addWidget(self.button)

    def fold(self, small: bool) -> None:
        """Show the button, or the segments."""
        self.button.setVisible(small)
        self.segments.setVisible(not small)

    def set_words(self, name: str) -> None:
        """What the button says."""
        self.button.setText(f" {name}")
        self.button.setAccessibleName(tr("Layout: {name}", name=name))
        self.button.setToolTip(plain_tip(tr("Layout of the window: {name}. Click for another.", name=name)))
