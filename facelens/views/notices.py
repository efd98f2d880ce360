"""The three ways a failure is shown, drawn in one file.

Bad input     a banner inside the panel that met it (controls.Banner; the panel declares the words)
Failed job    a notice over the stage: what happened, what to do, details folded
Anything else a notice that says it is our fault, with the trace and the place of the log
"""

from __future__ import annotations

import logging

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPlainTextEdit, QPushButton, QVBoxLayout, QWidget

from facelens.errors import FaceLensError
from facelens.session import log
from facelens.views import icons, theme
from facelens.views.controls import label, tool_button
from facelens.words import tr

WIDTH, GAP, MOST = 430, 14, 3


class Notice(QFrame):
    """A card that stays until it is closed."""

    closed = Signal()
    acted = Signal()

    def __init__(
        self,
        title: str,
        text: str,
        *,
        details: str = "",
        kind: str = "bad",
        button: str = "",
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setObjectName("notice")
        self.setProperty("kind", kind)
        self.setFixedWidth(WIDTH)
        self.setAccessibleName(title)
        self.setAccessibleDescription(text)
        self._kind = kind
        self._mark = mark = QLabel()
        mark.setFixedHeight(24)  # as high as the button at the other end, so that one line stands on one line
        self._paint_mark()
        theme.follow(self, self._paint_mark)
        # The words of an error are a sentence; as a title it ends without a stop.
        name = label(title if ". " in title else title.removesuffix("."), name="name", wrap=True)
        close = tool_button("close", tr("Close"), size=14)
        close.setFixedSize(24, 24)
        close.clicked.connect(self.dismiss)
        head = QHBoxLayout()
        head.setSpacing(9)
        head.addWidget(mark, 0, Qt.AlignmentFlag.AlignTop)
        head.addWidget(name, 1)
        head.addWidget(close, 0, Qt.AlignmentFlag.AlignTop)
        self.column = column = QVBoxLayout(self)
        column.setContentsMargins(14, 12, 10, 12)
        column.setSpacing(8)
        column.addLayout(head)
        if text:
            column.addWidget(label(text, name="empty_text", wrap=True))
        if button:
            self.button = QPushButton(button)
            self.button.setToolTip(text)
            self.button.clicked.connect(self.acted)
            self.button.clicked.connect(self.dismiss)
            column.addWidget(self.button, 0, Qt.AlignmentFlag.AlignLeft)
        self.details = QPlainTextEdit(details)
        self.details.setObjectName("mono")
        self.details.setReadOnly(True)
        self.details.setFont(theme.font(10, mono=True))
        self.details.setFixedHeight(110)
        self.details.setAccessibleName(tr("Details"))
        self.details.hide()
        column.addWidget(self.details)
        if details:
            copy = QPushButton(icons.icon("copy"), tr("Copy details"))
            copy.setToolTip(tr("Copy the message and its details, to put into a report"))
            copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(f"{title}\n{text}\n\n{details}"))
            self.fold = QPushButton(tr("Show details"))
            self.fold.setToolTip(tr("What the program itself said"))
            self.fold.setObjectName("flat")
            self.fold.clicked.connect(self._on_fold)
            foot = QHBoxLayout()
            foot.addWidget(copy)
            foot.addStretch(1)
            foot.addWidget(self.fold)
            column.addLayout(foot)

    def _paint_mark(self) -> None:
        icon, ink = ("warning", "bad") if self._kind == "bad" else ("info", "accent")
        self._mark.setPixmap(icons.pixmap(icon, 18, ink, self.devicePixelRatioF()))

    def _on_fold(self) -> None:
        self.details.setVisible(self.details.isHidden())
        self.fold.setText(tr("Show details") if self.details.isHidden() else tr("Hide details"))
        self.fit()
        if isinstance(board := self.parent(), QWidget):
            board.update()

    def fit(self) -> None:
        """As high as its words need at the width it has."""
        self.column.activate()
        self.setFixedHeight(self.column.totalHeightForWidth(WIDTH))

    def dismiss(self) -> None:
        """Take the card down for good."""
        self.hide()
        self.closed.emit()
        self.deleteLater()


class Notices(QObject):
    """Stacks notices at the bottom right over a widget."""

    def __init__(self, over: QWidget) -> None:
        super().__init__(over)
        self.over = over
        self.cards: list[Notice] = []
        over.installEventFilter(self)

    def error(self, error: BaseException, *, trace: str = "") -> Notice:
        """Show a failure: stated ones with their hint, others as a report; what brings a trace is in the log."""
        if isinstance(error, FaceLensError):
            return self.show(
                error.message, error.hint, details="\n".join(part for part in (error.details, trace) if part)
            )
        if not trace:
            logging.getLogger("facelens").error("unexpected %s", type(error).__name__, exc_info=error)
        return self.show(
            tr("Something went wrong inside FaceLens"),
            tr(
                "Your work is kept. Copy the details into a report; the log is at {path}",
                path=log.shortened(str(log.path()), paths=True),
            ),
            details=trace or f"{type(error).__name__}: {error}",
        )

    def show(self, title: str, text: str = "", *, details: str = "", kind: str = "bad", button: str = "") -> Notice:
        """Put up a card; the oldest goes when there are too many."""
        for old in self.cards[: max(0, len(self.cards) - MOST + 1)]:
            old.dismiss()
        card = Notice(title, text, details=details, kind=kind, button=button, parent=self.over)
        card.closed.connect(lambda: self._on_closed(card))
        self.cards.append(card)
        card.show()
        card.fit()
        card.installEventFilter(self)
        self._place()
        return card

    def close_all(self) -> None:
        """Take all cards down."""
        for card in tuple(self.cards):
            card.dismiss()

    def _on_closed(self, card: Notice) -> None:
        if card in self.cards:
            self.cards.remove(card)
        self._place()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.Resize, QEvent.Type.LayoutRequest, QEvent.Type.Hide):
            self._place()
        return False

    def _place(self) -> None:
        y = self.over.height() - GAP
        for card in reversed(self.cards):
            if card.isVisible():
                y -= card.height()
                card.move(self.over.width() - card.width() - GAP, max(GAP, y))
                card.raise_()
                y -= 8
