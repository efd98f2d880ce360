"""The foot of the projection page: what colours and shapes are chosen by, what they mean, how many faces have each.

A click on a colour or a shape selects its faces.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSignalBlocker, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QGuiApplication,
    QIcon,
    QLinearGradient,
    QPainter,
    QPaintEvent,
    QPen,
    QPixmap,
    QPolygonF,
)
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QMenu, QSizePolicy, QToolButton, QWidget

from facelens.images.faceset import FaceSet, Ids, Labels
from facelens.views import heat, theme
from facelens.views.colouring import Colouring, Entry
from facelens.views.controls import Combo, FlowLayout, add_heading, draw_text, label, text_width, together, tool_button
from facelens.views.grid import band_mode, value_text
from facelens.views.projection_controls import choose
from facelens.words import escaped, plural, tr

SHAPES = 24  # values of a column up to which it can tell augmented pictures from originals
MARK = 12  # px
RAMP = 96  # px of the colours of numbers


class Ramp(QWidget):
    """The colours of numbers, with what they begin and end at."""

    def __init__(self) -> None:
        super().__init__()
        self._colouring: Colouring | None = None
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def show_colours(self, colouring: Colouring) -> None:
        """Another scale."""
        self._colouring = colouring
        low, high = self._limits()
        self.setAccessibleName(tr("{title} from {low} to {high}", title=colouring.title, low=low, high=high))
        self.setAccessibleDescription(colouring.bright)
        self.updateGeometry()
        self.update()

    def _limits(self) -> tuple[str, str]:
        assert self._colouring is not None
        return value_text(self._colouring.low), value_text(self._colouring.high)

    def sizeHint(self) -> QSize:
        if self._colouring is None:
            return QSize(0, 22)
        low, high = self._limits()
        said = text_width(low, 10) + text_width(high, 10) + text_width(self._colouring.bright, 10)
        return QSize(int(said) + RAMP + 28, 22)

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._colouring is None:
            return
        painter, (low, high) = QPainter(self), self._limits()
        x, high_ = 0.0, float(self.height())
        draw_text(painter, QRectF(x, 0, text_width(low, 10) + 2, high_), low, "text2", 10)
        x += text_width(low, 10) + 6
        ramp = QLinearGradient(x, 0, x + RAMP, 0)
        for share in np.linspace(0, 1, 9).tolist():
            ramp.setColorAt(share, heat.shade(share, 0.0, 1.0) or QColor())
        painter.fillRect(QRectF(x, (high_ - 8) / 2, RAMP, 8), ramp)
        x += RAMP + 6
        draw_text(painter, QRectF(x, 0, text_width(high, 10) + 2, high_), high, "text2", 10)
        x += text_width(high, 10) + 12
        draw_text(painter, QRectF(x, 0, self.width() - x, high_), self._colouring.bright, "text3", 10)


class EntryButton(QToolButton):
    """A mark, what it stands for, and how many faces have it; a click picks these."""

    picked = Signal(object, object)  # places, Mode

    def __init__(self, shape: str, entry: Entry) -> None:
        super().__init__()
        count = len(entry.places)
        self.setIcon(QIcon(mark(shape, entry.colour, self.devicePixelRatioF())))
        self.setIconSize(QSize(MARK, MARK))
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.setText(f"{entry.words}  {count:,}")
        self.setFont(theme.font(10))
        self.setFixedHeight(22)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setToolTip(
            plural(count, "Click selects this face. Shift adds.", "Click selects these {n} faces. Shift adds.")
        )
        self.setAccessibleName(f"{entry.words} {count:,}")
        self.clicked.connect(lambda: self.picked.emit(entry.places, band_mode(QGuiApplication.keyboardModifiers())))


class Legend(QWidget):
    """See the module's words."""

    select = Signal(object, object)  # ids, Mode
    coloured = Signal(str)  # IDENTITY, UNSURE, CHANGE, MOVED or a column
    focused = Signal(bool)  # the people of the selection alone are to have colours; or everybody again
    shaped = Signal(str, object)  # a column ("" for none), and which of its values are augmented; None: not said

    def __init__(self) -> None:
        super().__init__()
        self.setAccessibleName(tr("Legend"))
        self._ids: Ids = np.zeros(0, np.int64)
        self.entries: list[QToolButton] = []
        self.colour = self._combo(tr("Colour"), tr("What the colour of a dot says"))
        self.colour.activated.connect(lambda _: self.coloured.emit(self.colour.currentData()))
        self.shape = self._combo(tr("Shape"), tr("A column that tells augmented pictures from originals"))
        self.shape.activated.connect(lambda _: self.shaped.emit(self.shape.currentData(), None))
        self.values = tool_button("sliders", tr("Which values of the column are augmented pictures"), size=14)
        self.values.setFixedSize(22, 22)
        self.values.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.values.setMenu(QMenu(self.values))
        self.focus = tool_button("pin", "", text=tr("Focus"), size=14)
        self.focus.setFixedHeight(22)
        self.focus.setFont(theme.font(10))
        self.focus.setCheckable(True)
        self.focus.clicked.connect(self.focused)
        self.note, self.ramp = label(name="cap"), Ramp()
        self.note.setFixedHeight(22)
        self.note.setContentsMargins(4, 0, 0, 0)
        left, right = QWidget(), QWidget()
        self._colours, self._shapes = FlowLayout(left, gap=4), QHBoxLayout(right)
        self._colours.setContentsMargins(10, 4, 0, 4)
        self._shapes.setContentsMargins(0, 4, 8, 4)
        self._shapes.setSpacing(4)
        for part in (together(label(tr("Colour"), name="sub"), self.colour), self.focus, self.ramp, self.note):
            self._colours.addWidget(part)
        for part in (label(tr("Shape"), name="sub"), self.shape, self.values):
            self._shapes.addWidget(part)
        line = QHBoxLayout(self)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(16)
        line.addWidget(left, 1)
        line.addWidget(right, 0, Qt.AlignmentFlag.AlignTop)
        self._right = right

    def offer_shapes(self, there: bool) -> None:
        """Whether shapes are free to tell augmented pictures."""
        self._right.setVisible(there)

    def _combo(self, name: str, tip: str) -> QComboBox:
        made = Combo()
        made.setAccessibleName(name)
        made.setToolTip(tip)
        made.setFixedHeight(22)
        return made

    def fill(
        self,
        faces: FaceSet | None,
        colours: Sequence[tuple[str, str]],
        *,
        colour: str,
        shape: str,
        augmented: frozenset[str],
    ) -> None:
        """Offer `colours` (words, what), and the columns of a gallery that shapes can be chosen by."""
        choose(self.colour, colours, colour)
        choose(self.shape, [(tr("none"), ""), *((escaped(name), name) for name in shape_columns(faces))], shape)
        column = faces.columns.get(shape) if faces is not None else None
        menu = self.values.menu()
        menu.clear()
        self.values.setVisible(isinstance(column, Labels))
        if not isinstance(column, Labels):
            return
        add_heading(menu, tr("Augmented"))
        for name in column.names:
            action = menu.addAction(escaped(name))
            action.setCheckable(True)
            action.setChecked(name in augmented)
            action.triggered.connect(lambda _=False, name=name: self.shaped.emit(shape, augmented ^ {name}))

    def show_focus(self, *, offered: bool, on: bool, chosen: bool) -> None:
        """Offer to colour only the people of the selection where somebody is `chosen`, or to end that."""
        self.focus.setVisible(offered)
        with QSignalBlocker(self.focus):
            self.focus.setChecked(on)
        self.focus.setEnabled(on or chosen)
        if on:
            tip = tr("Everybody has a colour again")
        elif chosen:
            tip = tr("Only the people of the selection keep their colours; the others are grey")
        else:
            tip = tr("Select faces first: then only those people keep their colours")
        self.focus.setToolTip(tip)

    def show_legend(self, ids: Ids, colouring: Colouring | None, shapes: Sequence[tuple[str, Entry]] = ()) -> None:
        """Explain the colours and the `shapes` (of dots.Dots) of some faces; without colours, shapes lead."""
        self._ids = ids
        for old in self.entries:
            self._colours.removeWidget(old)
            self._shapes.removeWidget(old)
            old.hide()
            old.deleteLater()
        numbers = colouring is not None and colouring.numbers
        if colouring is not None and numbers:
            self.ramp.show_colours(colouring)
        self.note.setText(colouring.note if colouring is not None else "")
        self.ramp.setVisible(numbers)
        self.note.setVisible(bool(self.note.text()))
        self.entries = []
        for entry in colouring.entries if colouring is not None else ():
            self.entries.append(self._entry("disc", entry))
            self._colours.addWidget(self.entries[-1])
        for shape, entry in shapes:
            self.entries.append(self._entry(shape, entry))
            (self._shapes if colouring is not None else self._colours).addWidget(self.entries[-1])

    def _entry(self, shape: str, entry: Entry) -> QToolButton:
        made = EntryButton(shape, entry)
        made.picked.connect(lambda places, mode: self.select.emit(self._ids[places], mode))
        return made


def colour_columns(faces: FaceSet | None) -> list[str]:
    """Columns that have more than one value, those of names first."""
    if faces is None:
        return []
    names, numbers = [], []
    for name, column in faces.columns.items():
        if isinstance(column, Labels):
            if len(column.names) > 1:
                names.append(name)
            continue
        known = column[np.isfinite(column)]
        if len(known) and known.min() < known.max():
            numbers.append(name)
    return [*names, *numbers]


def shape_columns(faces: FaceSet | None) -> list[str]:
    """Columns of a few names."""
    columns = faces.columns.items() if faces is not None else ()
    return [name for name, one in columns if isinstance(one, Labels) and 1 < len(one.names) <= SHAPES]


def mark(shape: str, colour: QColor, ratio: float) -> QPixmap:
    """A dot as it stands on the map, large enough for a legend."""
    made = QPixmap(round(MARK * ratio), round(MARK * ratio))
    made.setDevicePixelRatio(ratio)
    made.fill(Qt.GlobalColor.transparent)
    painter = QPainter(made)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    if shape == "triangle":
        painter.setPen(QPen(colour, 1.4))
        painter.drawPolygon(QPolygonF([QPointF(6, 1.8), QPointF(10.8, 10), QPointF(1.2, 10)]))
    elif shape in ("up", "down"):
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colour)
        tip, base = (1.8, 10) if shape == "up" else (10.2, 2)
        painter.drawPolygon(QPolygonF([QPointF(6, tip), QPointF(10.6, base), QPointF(1.4, base)]))
    elif shape == "hollow":
        painter.setPen(QPen(colour, 1.2))
        painter.drawEllipse(QPointF(6, 6), 2.4, 2.4)
    elif shape == "dot":
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colour)
        painter.drawEllipse(QPointF(6, 6), 2.2, 2.2)
    else:
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colour)
        painter.drawEllipse(QPointF(6, 6), 3.4, 3.4)
    painter.end()
    return made
