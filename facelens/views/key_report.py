"""The key report: which tensors of a file found their place in the network, and which did not; lists folded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSize
from PySide6.QtWidgets import QHeaderView, QTreeWidget, QTreeWidgetItem, QVBoxLayout, QWidget

from facelens.views.controls import label
from facelens.words import escaped, tr

if TYPE_CHECKING:
    from facelens.features.library import Inspection

MOST = 5_000  # names in one list; nobody reads more


class KeyReport(QWidget):
    """A sentence and a tree with one folded list for each way a key can miss."""

    def __init__(self) -> None:
        super().__init__()
        self.sentence = label(name="small", wrap=True)
        self.tree = QTreeWidget()
        self.tree.setColumnCount(2)
        self.tree.setHeaderHidden(True)
        self.tree.setAccessibleName(tr("Key report"))
        self.tree.setWhatsThis(tr("Which weights of the file belong where in the architecture, and what is left over."))
        self.tree.setMinimumHeight(150)
        self.tree.header().setStretchLastSection(False)
        self.tree.header().setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        self.tree.header().setSectionResizeMode(1, QHeaderView.ResizeMode.ResizeToContents)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        column.addWidget(self.sentence)
        column.addWidget(self.tree, 1)

    def set_inspection(self, found: Inspection) -> None:
        """Show how the names fit."""
        self.tree.clear()
        keys = found.keys
        if found.kind != "weights":
            self.sentence.setText(tr("The file brings its own network, so there are no keys to match."))
            self.tree.hide()
            return
        self.tree.show()
        parts = [tr("{n} of {total} tensors of the network found their numbers.", n=keys.matched, total=keys.wanted)]
        if keys.prefix:
            parts.append(tr("The names in the file begin with “{prefix}”.", prefix=escaped(keys.prefix)))
        self.sentence.setText(" ".join(parts))
        for title, names in (
            (tr("missing in the file"), keys.missing),
            (tr("unexpected: the network has no place for them"), keys.unexpected),
            (tr("of another shape"), keys.misshaped),
            (tr("not used: classifier heads, optimizer state and the like"), keys.ignored),
        ):
            head = QTreeWidgetItem([title, f"{len(names):,}"])
            head.setSizeHint(0, QSize(0, 24))
            self.tree.addTopLevelItem(head)
            head.setDisabled(not names)
            for name in names[:MOST]:
                head.addChild(QTreeWidgetItem([escaped(name)]))
            if len(names) > MOST:
                head.addChild(QTreeWidgetItem([tr("and {n} more", n=len(names) - MOST)]))

    def counts(self) -> list[int]:
        """Names in each list, for tests."""
        heads = [self.tree.topLevelItem(i) for i in range(self.tree.topLevelItemCount())]
        return [head.childCount() for head in heads if head is not None]
