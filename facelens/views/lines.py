"""A list of lines: what it shows lies in Python, and Qt asks for it.

The lists of Qt that hold items make an object of both worlds for each of them. When Qt deletes such an item where
PySide still remembers something else that lay there in memory, the program ends (see `binding`); so the window has no
such list. A delegate takes what a line stands for from `Lines.lines`, by row: only texts and numbers go through Qt.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QAbstractListModel, QModelIndex, QPersistentModelIndex, QSize, Qt, Signal
from PySide6.QtWidgets import QListView, QWidget

from facelens.views.controls import plain_tip

ROLE = Qt.ItemDataRole
Index = QModelIndex | QPersistentModelIndex


@dataclass(frozen=True, eq=False)
class Line:
    """What a line says, and to whom: `tip` under the mouse, `spoken` to a screen reader; `of` is what it stands for."""

    text: str
    of: Any = None
    tip: str = ""
    spoken: str = ""
    able: bool = True  # whether it can be chosen; headings cannot


class _Model(QAbstractListModel):
    def __init__(self, parent: Lines) -> None:
        super().__init__(parent)
        self.lines: tuple[Line, ...] = ()
        self.ticked: set[int] | None = None  # rows with a tick; None: lines have no box
        self.height = 0

    def fill(self, lines: Sequence[Line], ticked: set[int] | None) -> None:
        self.beginResetModel()
        self.lines, self.ticked = tuple(lines), ticked
        self.endResetModel()

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008  Qt's own signature
        return 0 if parent.isValid() else len(self.lines)

    def flags(self, index: Index) -> Qt.ItemFlag:
        if not index.isValid() or not self.lines[index.row()].able:
            return Qt.ItemFlag.NoItemFlags
        usual = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemNeverHasChildren
        return usual | Qt.ItemFlag.ItemIsUserCheckable if self.ticked is not None else usual

    def data(self, index: Index, role: int = ROLE.DisplayRole) -> Any:
        if not index.isValid():
            return None
        line = self.lines[index.row()]
        match role:
            case ROLE.DisplayRole:
                return line.text
            case ROLE.ToolTipRole:
                return plain_tip(line.tip) or None
            case ROLE.AccessibleTextRole:
                return line.spoken or None
            case ROLE.CheckStateRole if self.ticked is not None:
                return Qt.CheckState.Checked if index.row() in self.ticked else Qt.CheckState.Unchecked
            case ROLE.SizeHintRole if self.height:
                return QSize(0, self.height)
        return None

    def setData(self, index: Index, value: Any, role: int = ROLE.EditRole) -> bool:
        if role != ROLE.CheckStateRole or self.ticked is None or not index.isValid():
            return False
        (self.ticked.add if Qt.CheckState(value) == Qt.CheckState.Checked else self.ticked.discard)(index.row())
        self.dataChanged.emit(index, index, [role])
        return True


class Lines(QListView):
    """Lines below each other; arrows move, Enter opens."""

    moved = Signal(int)  # the current row, -1 for none; not while lines are filled in
    touched = Signal(int)  # a click
    opened = Signal(int)  # Enter or a double click
    ticks_changed = Signal()

    def __init__(self, parent: QWidget | None = None, *, height: int = 0) -> None:
        """`height` is that of all lines, in px; without it the delegate says."""
        super().__init__(parent)
        self._model = _Model(self)
        self._model.height = height
        self._filling = False
        self.setModel(self._model)
        self.setMouseTracking(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.clicked.connect(lambda index: self.touched.emit(index.row()))
        self.activated.connect(lambda index: self.opened.emit(index.row()))
        self._model.dataChanged.connect(lambda *_: self.ticks_changed.emit())

    @property
    def lines(self) -> tuple[Line, ...]:
        """What is listed."""
        return self._model.lines

    @property
    def line(self) -> Line | None:
        """The current one."""
        return self.lines[self.row] if self.row >= 0 else None

    @property
    def row(self) -> int:
        """Of the current line; -1 for none."""
        return self.currentIndex().row()

    @property
    def ticked(self) -> frozenset[int]:
        """Rows whose box is ticked."""
        return frozenset(self._model.ticked or ())

    def fill(self, lines: Sequence[Line], *, row: int = -1, ticked: frozenset[int] | None = None) -> None:
        """Show other lines, with `row` as the current one, and tell nobody; `ticked` gives every line a box."""
        self._filling = True
        try:
            self._model.fill(lines, None if ticked is None else set(ticked))
            self.go(row)
        finally:
            self._filling = False

    def go(self, row: int) -> None:
        """Make a line the current one; -1: none."""
        self.setCurrentIndex(self._model.index(row, 0) if 0 <= row < len(self.lines) else QModelIndex())

    def tick(self, row: int, *, on: bool) -> None:
        """As if its box was clicked."""
        state = Qt.CheckState.Checked if on else Qt.CheckState.Unchecked
        self._model.setData(self._model.index(row, 0), state.value, ROLE.CheckStateRole)

    def currentChanged(self, current: Index, previous: Index) -> None:
        super().currentChanged(current, previous)
        if not self._filling:
            self.moved.emit(current.row())
