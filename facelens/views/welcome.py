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

TASKS = (  # pages that say themselves what they need first
    (
        "eye",
        "Find weak\nenrolments",
        "uncertainty.show",
        "Pictures on which several models disagree, and what refusing them brings",
    ),
    ("compare", "Explain\na match", "match.show", "Who is found for a face, by which of its parts, and why no other"),
    ("swap", "Compare\ntwo models", "evaluate.show", "An old and a new model on the same faces, with all errors"),
)

LISTED = 5  # rows of what can be gone on with
WIDE = 544  # px, of three tasks beside each other


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
        self.recent_holder = holder = QWidget()
        holder.setLayout(self.recent)
        self.add_extra(_centred(holder))
        self.refresh()

    def _tasks(self) -> QWidget:
        row = QWidget()
        line = QHBoxLayout(row)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(8)
        for icon, text, action, tip in TASKS:
            button = QToolButton()
            button.setObjectName("task")
            button.setText("\n".join(f"   {line}" for line in tr(text).split("\n")))  # room between icon and words
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
            heading = label(tr("Recent"), name="cap")
            heading.setIndent(7)  # over the icons
            self.recent.addWidget(heading)
        for one in left:
            when = f"{datetime.fromtimestamp(one.when):%d %b, %H:%M}"
            self._add_row("history", tr("Go on where you stopped"), str(one.path), when)
        for entry in workspaces:
            faces = [plural(entry.faces, "{n} face", "{n} faces")] if entry.faces else []
            self._add_row("save", escaped(entry.name), entry.path, " · ".join((tr("workspace"), *faces)))
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
    """As wide as the tasks, where there is room."""
    holder = QWidget()
    widget.setMaximumWidth(WIDE)
    line = QHBoxLayout(holder)
    line.setContentsMargins(0, 0, 0, 0)
    line.addStretch(1)
    line.addWidget(widget, 1000)
    line.addStretch(1)
    return holder
