"""Log: what FaceLens did and what went wrong, newest at the foot."""

from __future__ import annotations

import logging
import time

from PySide6.QtGui import QGuiApplication, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QPlainTextEdit, QPushButton, QVBoxLayout, QWidget

from facelens.session import log
from facelens.views import theme
from facelens.views.bridge import Bridge
from facelens.views.panel import Desk, Panel
from facelens.words import tr


class _Lines(QPlainTextEdit):
    """Where the last line is seen it stays in sight when there is less room; else new lines would come out of it."""

    def resizeEvent(self, event: QResizeEvent) -> None:
        bar = self.verticalScrollBar()
        at_end = bar.value() >= bar.maximum()
        super().resizeEvent(event)
        if at_end:
            bar.setValue(bar.maximum())


class LogDock(Panel):
    """Lines of the log, to read and to copy."""

    word = "log"
    title = "Log"

    def __init__(self, desk: Desk, parent: QWidget | None = None) -> None:
        super().__init__(desk, parent)
        self.lines = _Lines()
        self.lines.setObjectName("mono")
        self.lines.setProperty("bare", True)  # it fills its place: no box in a box
        self.lines.setReadOnly(True)
        self.lines.setMaximumBlockCount(2_000)
        self.lines.setFont(theme.font(10, mono=True))
        self.lines.setAccessibleName(tr("Log"))
        self.lines.setToolTip(tr("The same lines are in {path}", path=log.shortened(str(log.path()), paths=True)))
        copy = QPushButton(tr("Copy"))
        copy.setToolTip(tr("Copy all lines"))
        copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(self.lines.toPlainText()))
        foot = QHBoxLayout()
        foot.setContentsMargins(8, 0, 8, 6)
        foot.addStretch(1)
        foot.addWidget(copy)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(6)
        column.addWidget(self.lines, 1)
        column.addLayout(foot)
        self.bridge = Bridge()  # records come from any thread
        self.destroyed.connect(self.bridge.close)
        for record in log.records():
            self._append(record)
        self._stop_log = log.listen(lambda record: self.bridge.post(lambda: self._append(record)))
        self.destroyed.connect(self._stop_log)

    def close_panel(self) -> None:
        self._stop_log()
        self.bridge.close()
        super().close_panel()

    def _append(self, line: log.Line) -> None:
        clock = time.strftime("%H:%M:%S", time.localtime(line.time))
        level = "" if line.level <= logging.INFO else logging.getLevelName(line.level).lower() + ": "
        self.lines.appendPlainText(f"{clock}  {level}{line.text}")
