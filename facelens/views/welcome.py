"""The first page: open something, start from a task, or go on where the last session stopped."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QToolButton, QVBoxLayout, QWidget

from facelens.session import shelf
from facelens.views import icons
from facelens.views.controls import EmptyState, label, plain_tip
from facelens.views.panel import Desk
from facelens.views.shortcuts import keyed
from facelens.words import escaped, plural, tr

TASKS = (
    ("doctor", "Check\na gallery", "gallery.open", "Open a folder and see which pictures are broken, doubled or alone"),
    (
        "image",
        "Browse drawn\nfaces",
        "gallery.open_sample",
        "The sample gallery: people who do not exist, every variation known",
    ),
    ("keyboard", "Learn\nthe keys", "keys.show", "All keyboard shortcuts on one sheet"),
)


LISTED = 5  # rows of what can be gone on with


class Welcome(EmptyState):
    """Shown while no gallery is open."""

    def __init__(self, desk: Desk) -> None:
        super().__init__(
            "download",
            tr("No gallery yet"),
            tr("Drop a folder with one sub-folder per person, a manifest, a pairs.txt, a .bin file or a workspace."),
            note=tr("Pictures stay where they are and never leave this computer."),
        )
        self.desk = desk
        self.first = self.add_button(tr("Open gallery…"), lambda: desk.act("gallery.open"), primary=True)
        keyed(self.first, "gallery.open", tr("A folder with one sub-folder per person, or with a manifest."))
        sample = self.add_button(tr("Open the sample gallery"), lambda: desk.act("gallery.open_sample"))
        sample.setToolTip(tr("Drawn faces of people who do not exist, every variation known"))
        self.add_extra(self._tasks())
        self.recent = QVBoxLayout()
        self.recent.setSpacing(0)
        holder = QWidget()
        holder.setMaximumWidth(560)
        self.recent_holder = holder
        holder.setLayout(self.recent)
        self.add_extra(_centred(holder))
        self.refresh()

    def _tasks(self) -> QWidget:
        row = QWidget()
        row.setMaximumWidth(560)
        line = QHBoxLayout(row)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(8)
        for icon, text, action, tip in TASKS:
            button = QToolButton()
            button.setObjectName("task")
            button.setText(tr(text))
            button.setToolTip(tr(tip))
            button.setAccessibleName(tr(text).replace("\n", " "))
            icons.dress(button, icon, 18)
            button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
            button.setFixedSize(QSize(176, 46))
            button.clicked.connect(lambda _=False, action=action: self.desk.act(action))
            line.addWidget(button)
        return _centred(row)

    def refresh(self) -> None:
        """List what was not saved, and the workspaces and galleries opened before."""
        while item := self.recent.takeAt(0):
            if (old := item.widget()) is not None:
                old.deleteLater()
        settings = self.desk.settings
        left = [one for one in shelf.unsaved() if shelf.is_unsaved(one.path)][:1] if self.desk.remember else []
        workspaces = settings.workspaces[:3]
        galleries = settings.recent[: LISTED - len(left) - len(workspaces)]
        self.recent_holder.setVisible(bool(left or workspaces or galleries))
        if left or workspaces or galleries:
            self.recent.addWidget(label(tr("Recent"), name="cap"))
        for one in left:
            when = f"{datetime.fromtimestamp(one.when):%d %b, %H:%M}"
            self._add_row("history", tr("Go on where you stopped"), str(one.path), when)
        for entry in workspaces:
            self._add_row("save", escaped(entry.name), entry.path, tr("workspace"))
        for entry in galleries:
            self._add_row("folder", escaped(entry.name), entry.path, plural(entry.faces, "{n} face", "{n} faces"))

    def _add_row(self, icon: str, name: str, path: str, note: str) -> None:
        row = QPushButton()
        row.setObjectName("recent")
        row.setIcon(icons.icon(icon, colour="text3"))
        row.setText("  " + name.replace("&", "&&"))  # one alone would underline a letter
        row.setToolTip(plain_tip(escaped(path)))
        row.setAccessibleName(tr("Open {name}", name=name))
        row.clicked.connect(lambda: self.desk.open_path(Path(path)))
        said = QLabel(note, row)
        said.setObjectName("cap")
        inner = QHBoxLayout(row)
        inner.setContentsMargins(0, 0, 10, 0)
        inner.addStretch(1)
        inner.addWidget(said)
        self.recent.addWidget(row)


def _centred(widget: QWidget) -> QWidget:
    holder = QWidget()
    line = QHBoxLayout(holder)
    line.setContentsMargins(0, 0, 0, 0)
    line.addStretch(1)
    line.addWidget(widget, 4)
    line.addStretch(1)
    return holder
