"""Small controls that every panel shares: segments, chips, headers, docks, rails, empty states, banners, focus ring."""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import TypeVar

from PySide6 import QtGui
from PySide6.QtCore import QEvent, QObject, QPoint, QPointF, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFocusEvent,
    QFontMetricsF,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QRegion,
    QResizeEvent,
)
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractSpinBox,
    QApplication,
    QButtonGroup,
    QComboBox,
    QCompleter,
    QDockWidget,
    QFrame,
    QHBoxLayout,
    QLabel,
    QLayout,
    QLayoutItem,
    QMenu,
    QPushButton,
    QSizePolicy,
    QSlider,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionComboBox,
    QStylePainter,
    QToolButton,
    QVBoxLayout,
    QWidget,
    QWidgetAction,
    QWidgetItem,
)
from shiboken6 import isValid

from facelens.views import binding, icons, theme
from facelens.views.hearing import keep_keys
from facelens.words import tr

_Spin = TypeVar("_Spin", bound=QAbstractSpinBox)
CENTRE = Qt.AlignmentFlag.AlignCenter
ALIGN = {
    "left": Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter,
    "right": Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter,
    "centre": CENTRE,
}


# Painted text


@lru_cache(maxsize=64)
def metrics(px: int, bold: bool = False) -> QFontMetricsF:
    """Measures of the interface font at a size."""
    return QFontMetricsF(theme.font(px, bold=bold))


@lru_cache(maxsize=8192)
def shortened(text: str, width: int, px: int, bold: bool = False, middle: bool = False) -> str:
    """`text` cut with an ellipsis to fit `width` pixels, at its end or in the middle."""
    mode = Qt.TextElideMode.ElideMiddle if middle else Qt.TextElideMode.ElideRight
    return metrics(px, bold).elidedText(text, mode, width + 1)


@lru_cache(maxsize=8192)
def text_width(text: str, px: int = 11, bold: bool = False) -> float:
    """How wide `text` is painted."""
    return metrics(px, bold).horizontalAdvance(text)


def draw_text(
    painter: QPainter,
    rect: QRectF,
    text: str,
    colour: QColor | str,
    px: int = 11,
    *,
    bold: bool = False,
    align: str = "left",
    middle: bool = False,
) -> None:
    """Paint one line of text into `rect`, cut with an ellipsis where it does not fit.

    `colour` is a token of the current theme or a colour; `align` is left, right or centre; `middle` is for names of
    files, whose end tells them apart.
    """
    painter.setFont(theme.font(px, bold=bold))
    painter.setPen(colour if isinstance(colour, QColor) else theme.current().q(colour))
    painter.drawText(rect, ALIGN[align], shortened(text, int(rect.width()), px, bold, middle))


# Buttons and labels


def label(text: str = "", *, name: str = "", wrap: bool = False) -> QLabel:
    """A plain-text label; `name` picks a variant of the style sheet (title, name, sub, small, cap)."""
    made = QLabel(text)
    made.setObjectName(name)
    made.setTextFormat(Qt.TextFormat.PlainText)  # names of files and people are shown as they are
    made.setWordWrap(wrap)
    return made


def plain_tip(text: str) -> str:
    """`text` for a tooltip, where a name such as <b>x</b> would otherwise be taken for markup."""
    if not QtGui.Qt.mightBeRichText(text):
        return text
    return "<qt>" + html.escape(text, quote=False).replace("\n", "<br>") + "</qt>"


def allow_choice(combo: QComboBox, place: int, *, able: bool, tip: str = "") -> None:
    """Whether an entry can be chosen, and what its tooltip says.

    By the role that holds an entry's flags, not by its item: PySide does not hear when Qt deletes one, see `binding`.
    """
    combo.setItemData(place, None if able else 0, Qt.ItemDataRole.UserRole - 1)
    combo.setItemData(place, plain_tip(tip), Qt.ItemDataRole.ToolTipRole)


def tool_button(icon: str, tip: str, *, text: str = "", size: int = 16, checkable: bool = False) -> QToolButton:
    """A borderless button whose tooltip is also its accessible name."""
    made = QToolButton()
    icons.dress(made, icon, size)
    made.setToolTip(plain_tip(tip))
    made.setAccessibleName(text or tip)
    made.setCheckable(checkable)
    made.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    if text:
        made.setText(f" {text}")
        made.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
    return made


def inset(spin: _Spin) -> _Spin:
    """A number field whose text stands where that of other fields does: padding of the style sheet does not move it."""
    spin.lineEdit().setTextMargins(6, 0, 0, 0)
    return spin


def add_heading(menu: QMenu, text: str) -> None:
    """Words over the next lines of a menu; those of Qt's own sections are not painted under a style sheet."""
    if not menu.isEmpty():
        menu.addSeparator()
    made = QWidgetAction(menu)
    made.setText(text)
    made.setDefaultWidget(label(text, name="menu_heading"))
    made.setEnabled(False)
    menu.addAction(made)


def dress_offers(completer: QCompleter) -> QCompleter:
    """The list of words that a line offers while one types, in the look of other lists that open."""
    if (popup := completer.popup()) is not None:
        popup.setObjectName("offered")
        popup.setItemDelegate(QStyledItemDelegate(popup))  # the one that is there knows no style sheet
    return completer


def vertical_rule(height: int = 18) -> QFrame:
    """A hairline between groups of controls."""
    made = QFrame()
    made.setObjectName("rule")
    made.setFixedSize(1, height)
    return made


def together(*parts: QWidget) -> QWidget:
    """A label and its control, wrapped into the next line as one."""
    made = QWidget()
    row = QHBoxLayout(made)
    row.setContentsMargins(0, 0, 0, 0)
    row.setSpacing(6)
    for part in parts:
        row.addWidget(part)
    return made


class _Segment(QToolButton):
    """Hears arrows itself: a filter would be asked about each event of each segment, thousands when a page is made."""

    def keyPressEvent(self, event: QKeyEvent) -> None:
        whole = self.parentWidget()
        if not (isinstance(whole, Segmented) and whole.walk(self, event.key())):
            super().keyPressEvent(event)


class Segmented(QWidget):
    """A switch between a few exclusive choices, given as (key, text); arrows move between them.

    With `icons_only` the key names the icon and the text becomes the tooltip.
    """

    changed = Signal(int)  # by the user

    def __init__(
        self, segments: Sequence[tuple[str, str]], *, label: str = "", icons_only: bool = False, height: int = 26
    ) -> None:
        super().__init__()
        self.setObjectName("seg")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setAccessibleName(label)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self._keys = [key for key, _ in segments]
        self._group = QButtonGroup(self)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        last = len(segments) - 1
        for place, (key, text) in enumerate(segments):
            button = _Segment(self)
            button.setCheckable(True)
            button.setFixedHeight(height)
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
            button.setAccessibleName(text)
            if icons_only:
                icons.dress(button, key, 16)
                button.setToolTip(text)
                button.setFixedWidth(30)
                button.setProperty("glyph", True)
            else:
                button.setText(text)
            button.setProperty("at", "only" if not last else {0: "first", last: "last"}.get(place, "middle"))
            self._group.addButton(button, place)
            row.addWidget(button)
        self._group.idClicked.connect(self.changed)
        if segments:
            self.set_current(0)

    def walk(self, segment: QAbstractButton, key: int) -> bool:
        """Choose the next one that can be, to the left or right; whether the key was one for that."""
        step = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}.get(key)  # type: ignore[call-overload]
        if step is None:
            return False
        place = self._group.id(segment) + step
        while 0 <= place < len(self._keys) and not self._can(place):
            place += step
        if 0 <= place < len(self._keys):
            self._group.button(place).setFocus(Qt.FocusReason.TabFocusReason)
            self._group.button(place).click()
        return True

    def _can(self, place: int) -> bool:
        return self._group.button(place).isEnabled() and not self._group.button(place).isHidden()

    def current(self) -> int:
        """The place of the chosen segment."""
        return self._group.checkedId()

    def set_current(self, place: int) -> None:
        """Show a segment as chosen, without telling anybody."""
        self._group.button(place).setChecked(True)

    def value(self) -> str:
        """The key of the chosen segment."""
        return self._keys[self.current()]

    def set_value(self, key: str) -> None:
        """Show `key` as chosen, without telling anybody."""
        self.set_current(self._keys.index(key))

    def place_of(self, key: str) -> int:
        """The place of a choice that can be made, -1 where it cannot."""
        place = self._keys.index(key) if key in self._keys else -1
        return place if place >= 0 and self._can(place) else -1

    def part_at(self, point: QPoint | None) -> str:
        """The key of the segment at a point, or of the one with the focus."""
        there = self.childAt(point) if point is not None else QApplication.focusWidget()
        place = self._group.id(there) if isinstance(there, QAbstractButton) else -1
        return self._keys[place] if place >= 0 else ""

    def button(self, key: str) -> QAbstractButton:
        """The button of one choice, to disable it with a reason."""
        return self._group.button(self._keys.index(key))


class Chip(QFrame):
    """A short removable condition or tag."""

    removed = Signal()
    clicked = Signal()

    def __init__(self, text: str, *, count: str = "", removable: bool = True, tip: str = "") -> None:
        super().__init__()
        self.setObjectName("chip")
        self.setFixedHeight(20)
        self.setAccessibleName(f"{text} {count}".strip())
        self.setToolTip(plain_tip(tip))
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        keep_keys(self, self._wants)
        row = QHBoxLayout(self)
        row.setContentsMargins(8, 0, 3 if removable else 8, 0)
        row.setSpacing(4)
        self._label = label(text)
        row.addWidget(self._label)
        if count:
            row.addWidget(label(count, name="cap"))
        if removable:
            close = tool_button("close", tr("Remove {name}", name=text), size=9)
            close.setFixedSize(14, 14)
            close.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # Delete does it from the chip itself
            close.clicked.connect(self.removed)
            row.addWidget(close)

    def text(self) -> str:
        return self._label.text()

    def set_on(self, on: bool) -> None:
        """Mark the chip as active."""
        self.setProperty("on", on)
        self.style().unpolish(self)
        self.style().polish(self)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton and self.rect().contains(event.position().toPoint()):
            self.clicked.emit()

    def _wants(self, event: QKeyEvent) -> bool:
        """Delete on a chip removes the chip, whatever the window's own shortcut does with that key."""
        return event.key() in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace):
            self.removed.emit()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
            self.clicked.emit()
        else:
            super().keyPressEvent(event)


class FlowLayout(QLayout):
    """Widgets one after another, wrapped into lines like words."""

    def __init__(self, parent: QWidget | None = None, *, gap: int = 4) -> None:
        super().__init__(parent)
        self._items: list[QLayoutItem] = []
        self._gap = gap
        self.setContentsMargins(0, 0, 0, 0)

    def addWidget(self, widget: QWidget) -> None:
        self.addChildWidget(widget)
        self.addItem(QWidgetItem(widget))  # one of ours: it knows when Qt deletes it, see `binding`

    def addItem(self, item: QLayoutItem) -> None:
        self._items.append(item)

    def count(self) -> int:
        return len(self._items)

    def itemAt(self, place: int) -> QLayoutItem | None:  # type: ignore[override]
        return self._items[place] if 0 <= place < len(self._items) else None

    def takeAt(self, place: int) -> QLayoutItem | None:  # type: ignore[override]
        return self._items.pop(place) if 0 <= place < len(self._items) else None

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        return self._arrange(QRect(0, 0, width, 0), place=False)

    def setGeometry(self, rect: QRect) -> None:
        super().setGeometry(rect)
        self._arrange(rect, place=True)

    def sizeHint(self) -> QSize:
        return self.minimumSize()

    def minimumSize(self) -> QSize:
        # One item must not force the dock wider than it is: items wider than the line are cut.
        height = max((item.sizeHint().height() for item in self._items), default=0)
        margins = self.contentsMargins()
        return QSize(40, height + margins.top() + margins.bottom())

    def _arrange(self, rect: QRect, *, place: bool) -> int:
        margins = self.contentsMargins()
        area = rect.adjusted(margins.left(), margins.top(), -margins.right(), -margins.bottom())
        x, y, line = area.x(), area.y(), 0
        for item in self._items:
            if item.isEmpty():  # hidden: no gap either
                continue
            size = item.sizeHint()
            width = min(size.width(), max(area.width(), 1))
            if x > area.x() and x + width > area.right() + 1:
                x, y, line = area.x(), y + line + self._gap, 0
            if place:
                item.setGeometry(QRect(x, y, width, size.height()))
            x += width + self._gap
            line = max(line, size.height())
        return y + line - rect.y() + margins.bottom()


# Panels


class Header(QWidget):
    """The 30 px head of a panel: title, quiet subtitle, then small controls at the right end.

    With `yields` the title gives way to a subtitle that says more and needs its room.
    """

    def __init__(self, title: str, subtitle: str = "", *, yields: bool = False) -> None:
        super().__init__()
        self._yields = yields
        self.setObjectName("header")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setFixedHeight(30)
        row = QHBoxLayout(self)
        row.setContentsMargins(10, 0, 6, 0)
        row.setSpacing(8)
        self._title = label(title, name="title")
        self._subtitle = Elided(subtitle, colour="text3", px=11, least=120)
        row.addWidget(self._title)
        row.addWidget(self._subtitle, 1)
        self._row = row

    def sizeHint(self) -> QSize:
        # A dock gives its title bar the height of the hint, whatever the fixed height says.
        return QSize(super().sizeHint().width(), 30)

    def title(self) -> str:
        return self._title.text()

    def set_title(self, text: str) -> None:
        self._title.setText(text)

    def lead(self, control: QWidget) -> QWidget:
        """Put a control in the place of the title."""
        self._title.hide()
        self._row.insertWidget(0, control)
        return control

    def room_for(self, control: QWidget) -> int:
        """How wide a control may be when the others have what they need."""
        return self.width() - self.minimumSizeHint().width() + control.minimumSizeHint().width()

    def subtitle(self) -> str:
        return self._subtitle.text()

    def set_subtitle(self, text: str) -> None:
        self._subtitle.setText(text)
        self._yield()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._yield()

    def _yield(self) -> None:
        if self._yields:
            title = 0 if self._title.isHidden() else self._title.sizeHint().width() + self._row.spacing()
            room = self.width() - self.minimumSizeHint().width() + title
            both = self._title.sizeHint().width() + self._row.spacing() + text_width(self.subtitle(), 11)
            self._title.setVisible(not self.subtitle() or both <= room)

    def add(self, widget: QWidget) -> QWidget:
        """Put a control at the right end."""
        self._row.addWidget(widget)
        self._chain()
        return widget

    def insert(self, widget: QWidget) -> QWidget:
        """Put a control right after the subtitle, before those that are there."""
        self._row.insertWidget(2, widget)
        self._chain()
        return widget

    def _chain(self) -> None:
        """Tab walks the controls as they stand, before what lies under the header."""
        stops = [
            stop
            for part in binding.parts(self._row)
            if isinstance(part, QWidget)
            for stop in (part, *part.findChildren(QWidget))
            if stop.focusPolicy() & Qt.FocusPolicy.TabFocus and stop.window() is self.window()  # no list that pops up
        ]
        for one, other in pairwise(stops):
            self.setTabOrder(one, other)

    def add_button(self, icon: str, tip: str, slot: Callable[[], object] | None = None) -> QToolButton:
        """Put a small button at the right end."""
        made = tool_button(icon, tip, size=14)
        made.setFixedSize(22, 22)
        if slot is not None:
            made.clicked.connect(lambda *_: slot())
        self.add(made)
        return made

    def add_menu(self, menu: QMenu, tip: str = "") -> QToolButton:
        """Put the "more" button with its menu at the right end."""
        made = self.add_button("more", tip or tr("More"))
        made.setMenu(menu)
        made.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        return made


class Combo(QComboBox):
    """A choice whose words, where there is too little room, are cut in the middle: their ends tell models apart."""

    def paintEvent(self, event: QPaintEvent) -> None:
        option = QStyleOptionComboBox()
        self.initStyleOption(option)
        option.currentText = self.shown_text(option)  # type: ignore[attr-defined]
        painter = QStylePainter(self)
        painter.drawComplexControl(QStyle.ComplexControl.CC_ComboBox, option)
        painter.drawControl(QStyle.ControlElement.CE_ComboBoxLabel, option)

    def shown_text(self, option: QStyleOptionComboBox) -> str:
        """The current text, as much of it as there is room for."""
        part = QStyle.SubControl.SC_ComboBoxEditField
        room = self.style().subControlRect(QStyle.ComplexControl.CC_ComboBox, option, part, self).width()
        text, measures = self.currentText(), self.fontMetrics()
        if not self.itemIcon(self.currentIndex()).isNull():
            room -= self.iconSize().width() + 4
        if measures.horizontalAdvance(text) <= room + 1:  # widths are rounded
            return text
        return measures.elidedText(text, Qt.TextElideMode.ElideMiddle, max(room, 0))


class Elided(QLabel):
    """One line that takes the room there is and is cut with an ellipsis; the tooltip has it in full.

    Where less than `least` pixels would remain of a longer text it is left out.
    """

    def __init__(self, text: str = "", *, colour: str = "text", px: int = 12, least: int = 0) -> None:
        super().__init__()
        self._colour, self._px, self._least = colour, px, least
        self.setFont(theme.font(px))
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setMinimumWidth(0)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.setText(text)

    def setText(self, text: str) -> None:
        super().setText(text)
        self.setToolTip(plain_tip(text))

    def paintEvent(self, event: QPaintEvent) -> None:
        room = QRectF(self.contentsRect())
        if room.width() >= min(self._least, text_width(self.text(), self._px)):
            draw_text(QPainter(self), room, self.text(), self._colour, self._px)


class Dock(QDockWidget):
    """A dock whose title bar is a panel header with float and close."""

    def __init__(self, title: str, name: str, *, content: QWidget | None = None, parent: QWidget | None = None) -> None:
        super().__init__(title, parent)
        self.setObjectName(name)  # saveState knows docks by it
        self.setAccessibleName(title)
        self.header = Header(title)
        self._float = self.header.add_button("float", tr("Float {title}", title=title), self._on_float)
        self._close = self.header.add_button("close", tr("Close {title}", title=title), self.close)
        self.setTitleBarWidget(self.header)
        self.windowTitleChanged.connect(self.header.set_title)
        if content is not None:
            self.setWidget(content)

    def _on_float(self) -> None:
        self.setFloating(not self.isFloating())


class Rail(QWidget):
    """A measured value with the place it has among all: name, value, percentile, and a dot on a rail."""

    def __init__(self, name: str = "", value: str = "", *, percentile: float | None = None) -> None:
        super().__init__()
        self.setFixedHeight(29)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._name, self._value, self._percentile = name, value, percentile
        self.set_value(name, value, percentile=percentile)

    def set_value(self, name: str, value: str, *, percentile: float | None) -> None:
        """Show a value; `percentile` 0 to 100, None where there is nothing to compare with."""
        self._name, self._value, self._percentile = name, value, percentile
        place = "" if percentile is None else tr("percentile {p}", p=round(percentile))
        self.setAccessibleName(name)
        self.setAccessibleDescription(f"{value} {place}".strip())
        self.setToolTip(plain_tip(f"{name}: {value}" + (f", {place}" if place else "")))
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(200, 29)

    def paintEvent(self, event: QPaintEvent) -> None:
        now = theme.current()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        width = self.width()
        extreme = self._percentile is not None and not 10 < self._percentile < 90
        taken = text_width(self._value, 11) + 40
        draw_text(painter, QRectF(0, 0, width - taken - 4, 15), self._name, "text2", 10)
        if self._percentile is None:
            draw_text(painter, QRectF(0, 0, width, 15), self._value, "text", 11, align="right")
        else:
            draw_text(painter, QRectF(0, 0, width - 34, 15), self._value, "text", 11, align="right")
            mark = "warn" if extreme else "text3"
            draw_text(painter, QRectF(0, 0, width, 15), f"p{round(self._percentile)}", mark, 10, align="right")
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(now.q("line"))
        painter.drawRoundedRect(QRectF(0, 18, width, 4), 2, 2)
        if self._percentile is not None:
            painter.setBrush(now.q("warn" if extreme else "text3"))
            painter.drawEllipse(QPointF(5 + (width - 10) * self._percentile / 100, 20), 4.5, 4.5)


class EmptyState(QWidget):
    """What a panel shows while it has nothing to show: icon, one line, one sentence, what to do next."""

    def __init__(self, icon: str, title: str, text: str = "", *, note: str = "") -> None:
        super().__init__()
        self._icon_name = icon
        self._icon = QLabel()
        self._icon.setAlignment(CENTRE)
        self._title = label(title, name="empty_title", wrap=True)
        self._text = label(text, name="empty_text", wrap=True)
        self._note = label(note, name="sub", wrap=True)
        self._buttons = QHBoxLayout()
        self._buttons.setSpacing(8)
        self._buttons.addStretch(1)
        self._buttons.addStretch(1)
        self._extras = QVBoxLayout()
        self._extras.setSpacing(12)
        column = QVBoxLayout(self)
        column.setContentsMargins(24, 12, 24, 12)
        column.setSpacing(0)
        column.addStretch(3)
        column.addWidget(self._icon)
        for gap, shown in ((8, self._title), (6, self._text)):
            column.addSpacing(gap)
            column.addWidget(shown)
        column.addSpacing(14)
        column.addLayout(self._buttons)
        column.addSpacing(12)
        column.addWidget(self._note)
        column.addStretch(2)
        column.addLayout(self._extras)
        column.addStretch(1)
        for shown in (self._title, self._text, self._note):
            shown.setAlignment(CENTRE)
        self.set_message(title, text, note=note)
        self._paint_icon()
        theme.follow(self, self._paint_icon)

    def set_message(self, title: str, text: str = "", *, note: str = "") -> None:
        """Say something else."""
        for shown, words in ((self._title, title), (self._text, text), (self._note, note)):
            shown.setText(words)
            shown.setVisible(bool(words))
        self.setAccessibleName(title)
        self.setAccessibleDescription(f"{text} {note}".strip())

    def add_button(self, text: str, slot: Callable[[], object], *, primary: bool = False) -> QPushButton:
        """Offer the next step; one of them is the primary one."""
        made = QPushButton(text)
        if primary:
            made.setObjectName("primary")
        made.clicked.connect(lambda *_: slot())
        self._buttons.insertWidget(self._buttons.count() - 1, made)
        return made

    def add_extra(self, widget: QWidget) -> QWidget:
        """Put something under the buttons: recent files, tasks."""
        self._extras.addWidget(widget)
        return widget

    def _paint_icon(self) -> None:
        self._icon.setPixmap(icons.pixmap(self._icon_name, 40, "text3", self.devicePixelRatioF()))


class Banner(QWidget):
    """A problem with the input, told inside the panel it concerns, with the one thing that helps."""

    dismissed = Signal()
    acted = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("banner")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._icon = QLabel()
        self._text = label(wrap=True)
        self._detail = label(name="small", wrap=True)
        for shown in (self._text, self._detail):
            shown.setMinimumWidth(80)
            shown.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._button = QPushButton()
        close = tool_button("close", tr("Dismiss"), size=14)
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 8, 8, 8)
        row.setSpacing(10)
        words = QVBoxLayout()
        words.setSpacing(2)
        words.addWidget(self._text)
        words.addWidget(self._detail)
        row.addWidget(self._icon)
        row.addLayout(words, 1)
        row.addWidget(self._button)
        row.addWidget(close)
        self._button.clicked.connect(self.acted)
        close.clicked.connect(self._on_close)
        theme.follow(self, self._paint_icon)
        self._paint_icon()
        self.hide()

    def set_message(self, text: str, detail: str = "", *, button: str = "", tip: str = "") -> None:
        """Show the banner; an empty `text` hides it."""
        self._text.setText(text)
        self._detail.setText(detail)
        self._detail.setVisible(bool(detail))
        self._button.setText(button)
        self._button.setVisible(bool(button))
        self._button.setToolTip(plain_tip(tip))
        self.setAccessibleName(tr("Problem"))
        self.setAccessibleDescription(f"{text} {detail}".strip())
        self.setVisible(bool(text))

    def text(self) -> str:
        return self._text.text()

    def _on_close(self) -> None:
        self.hide()
        self.dismissed.emit()

    def _paint_icon(self) -> None:
        self._icon.setPixmap(icons.pixmap("warning", 18, "warn", self.devicePixelRatioF()))


# Keyboard focus


def by_keyboard(event: QFocusEvent) -> bool:
    """Whether the keyboard came without a click, also one on a tab that passed it on: then its place is marked."""
    clicked = QApplication.mouseButtons() != Qt.MouseButton.NoButton
    return event.reason() != Qt.FocusReason.MouseFocusReason and not clicked


class FocusRing(QObject):
    """A 2 px ring 2 px outside the button that has the keyboard; fields show their own border."""

    REACH = 4  # px from the control to the outer edge of its ring

    def __init__(self) -> None:
        super().__init__()
        self._ringed: QWidget | None = None
        self._shown: _Ring | None = None
        self._watched: list[QWidget] = []  # the control and all it lies in: whatever moves one of them moves the ring

    def follow(self, app: QApplication) -> None:
        """Move with the focus from now on, as long as the application lives."""
        self.setParent(app)
        app.focusChanged.connect(self._on_focus_changed)

    @property
    def shown(self) -> QWidget | None:
        """The ring that is on the screen."""
        return self._shown if self._shown is not None and isValid(self._shown) else None

    def ring(self, widget: QWidget | None) -> None:
        """Ring one control, or none."""
        for one in self._watched:
            if isValid(one):
                one.removeEventFilter(self)
        if (old := self.shown) is not None:
            old.hide()
            old.deleteLater()
        self._ringed, self._shown, self._watched = widget, None, []
        if widget is not None:
            self._watched = [widget, *_outwards(widget)]
            for one in self._watched:
                one.installEventFilter(self)
            # On the window, so that it may lie outside its control; it goes down with that window, this object stays.
            self._shown = _Ring(widget.window())
            self._place()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        kind = event.type()
        if kind in (QEvent.Type.Move, QEvent.Type.Resize, QEvent.Type.Show):
            self._place()
        elif kind == QEvent.Type.ParentChange and watched is not self._ringed:
            self.ring(self._ringed)  # a dock that was taken off is another window
        elif watched is self._ringed and kind in (
            QEvent.Type.Hide, QEvent.Type.ParentChange, QEvent.Type.FocusOut,
        ):  # fmt: skip
            self.ring(None)
        return False

    def _place(self) -> None:
        if self._ringed is None or (ring := self.shown) is None:
            return
        box = seen = self._reached(self._ringed)
        for outer in _outwards(self._ringed):  # what is scrolled out of sight has no ring there
            seen = seen & self._reached(outer)
        ring.setGeometry(box)
        ring.setMask(QRegion(seen.translated(-box.topLeft())))
        ring.setVisible(not seen.isEmpty())
        ring.raise_()

    def _reached(self, widget: QWidget) -> QRect:
        """What a ring around a widget takes of the window."""
        box = QRect(widget.mapTo(widget.window(), QPoint(0, 0)), widget.size())
        return box.adjusted(-self.REACH, -self.REACH, self.REACH, self.REACH)

    def _on_focus_changed(self, old: QWidget | None, now: QWidget | None) -> None:
        # A click shows where it went by itself; the ring is for the keyboard.
        clicked = QApplication.mouseButtons() != Qt.MouseButton.NoButton
        ringed = isinstance(now, (QAbstractButton, QComboBox, QSlider, Chip)) and not clicked
        self.ring(now if ringed else None)


def _outwards(widget: QWidget) -> list[QWidget]:
    """All that a widget lies in, up to its window."""
    found: list[QWidget] = []
    while not widget.isWindow() and (outer := widget.parentWidget()) is not None:
        found.append(outer)
        widget = outer
    return found


class _Ring(QWidget):
    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setAttribute(Qt.WidgetAttribute.WA_NoSystemBackground)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(theme.current().q("accent"), 2))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), 7, 7)
