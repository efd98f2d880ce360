"""What is this: the pointer asks, and a card where one clicks says what it is, its formula and where that comes from.

A widget is known by its class and by the attribute under which something it lies in has it; session/guide.py tells
which section of the guide explains that. What has no section says what its tooltip says, and else what its page is
about. By the keyboard the control with the focus is explained at once, and the card follows Tab.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, QPoint, QRect, QSize, Qt, QTimer
from PySide6.QtGui import (
    QAccessible,
    QAccessibleAnnouncementEvent,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QTextDocumentFragment,
)
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractSlider,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QFrame,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)
from shiboken6 import isValid

from facelens.session import guide
from facelens.session.keys import hint
from facelens.views import binding, theme
from facelens.views.controls import Segmented, label, tool_button
from facelens.views.frame import Frame, Places
from facelens.views.panel import Panel
from facelens.words import tr

if TYPE_CHECKING:
    from facelens.views.main_window import MainWindow

WIDE, NARROW = 440, 360  # px of a card with and without a formula
AWAY = 14  # px from the pointer
CONTROLS = (QAbstractButton, QAbstractSlider, QAbstractSpinBox, QComboBox, QLineEdit)
MOVING = (Qt.Key.Key_Tab, Qt.Key.Key_Backtab)
KEEPING = ("guide.open", "guide.what", "region.next", "region.previous")  # commands that leave a card as it is
MODIFIERS = (Qt.Key.Key_Shift, Qt.Key.Key_Control, Qt.Key.Key_Alt, Qt.Key.Key_Meta, Qt.Key.Key_AltGr)


@dataclass(frozen=True)
class Said:
    """What a card says, and where the guide says more."""

    title: str
    text: str
    page: str
    anchor: str = ""
    formula: str = ""
    reference: str = ""


# -- from a widget to words


def explained(widget: QWidget, point: QPoint | None = None) -> Said:
    """What there is to say about a widget, or about what lies at a point of it."""
    near = _spoken_for(widget)
    own = _section(near, point if near is widget else _moved(widget, near, point))
    if own is not None:
        return _of(own)
    above = next((found for outer in _outwards(near) if (found := _section(outer, _moved(widget, outer, point)))), None)
    page = _page_of(near)
    tip = _tip_of(widget) or _tip_of(near)
    name = widget.accessibleName() or near.accessibleName()
    if isinstance(near, (*CONTROLS, Segmented)) and tip and name:
        rest = _of(above) if above is not None else _of(guide.page(page).sections[0])
        text = tip if above is not None else f"{tip}\n\n{rest.text}"
        return Said(name, text, rest.page, rest.anchor, rest.formula, rest.reference)
    return _of(above if above is not None else guide.page(page).sections[0])


def _of(section: guide.Section) -> Said:
    return Said(
        section.title, section.summary, section.page, section.anchor, section.formula, section.reference
    )  # fmt: skip


def _spoken_for(widget: QWidget) -> QWidget:
    """The control that a part of it belongs to; a label speaks for what stands behind it."""
    if isinstance(widget, QLabel):
        beside = widget.buddy() or _behind(widget)
        return beside if beside is not None else widget
    found = widget
    for outer in _outwards(widget):
        if not isinstance(outer, (Segmented, QComboBox, QAbstractSpinBox)):
            break
        found = outer
    return found


def _behind(widget: QLabel) -> QWidget | None:
    """The control after a label in the same short row."""
    owner = widget.parentWidget()
    row = owner.layout() if owner is not None else None
    if not isinstance(row, QHBoxLayout):
        return None
    parts = binding.parts(row)
    after = parts[parts.index(widget) + 1 :] if widget in parts else []
    first = next((part for part in after if isinstance(part, QWidget) and not part.isHidden()), None)
    return first if isinstance(first, (*CONTROLS, Segmented)) else None


def _section(widget: QWidget, point: QPoint | None) -> guide.Section | None:
    terms = guide.terms()
    return next((terms[name] for name in names(widget, point) if name in terms), None)


def names(widget: QWidget, point: QPoint | None = None) -> Iterator[str]:
    """What a section of the guide may call a widget: with the part of it that is meant, then as a whole."""
    bases = [*_held_as(widget), *_classes(type(widget))]
    part = _part_of(widget, point)
    if part:
        known = {key.partition(":")[2] for key in guide.terms() if ":" in key}
        word = next((one for one in known if tr(one) == part), part)  # a heading may be translated
        yield from (f"{base}:{word}" for base in bases if ":" not in base)
    yield from bases
    inside = _shown_in(widget, point)
    if inside is not None:
        yield from names(inside)


def _held_as(widget: QWidget) -> Iterator[str]:
    """Owner and attribute; the owner is something the widget lies in, or a part of that."""
    for outer in _outwards(widget):
        yield from _attributes(outer, widget)
        for part in tuple(vars(outer).values()):
            if isinstance(part, QWidget) and part is not widget:
                yield from _attributes(part, widget)


def _attributes(owner: QWidget, widget: QWidget) -> Iterator[str]:
    for attribute, value in tuple(vars(owner).items()):
        if value is widget:
            yield from (f"{name}.{attribute}" for name in _classes(type(owner)))
        elif isinstance(value, dict):
            for key, one in value.items():
                if one is widget:
                    yield from (f"{name}.{attribute}:{key}" for name in _classes(type(owner)))


def _classes(cls: type) -> list[str]:
    """Of a widget, as far as they are ours."""
    return [one.__name__ for one in cls.__mro__ if one.__module__.startswith("facelens.")]


def _part_of(widget: QWidget, point: QPoint | None) -> str:
    """Which of its parts is meant: what the widget itself has at a point, or where the keyboard is."""
    ask = getattr(widget, "part_at", None)
    return str(ask(point)) if callable(ask) else ""


def _shown_in(widget: QWidget, point: QPoint | None) -> QWidget | None:
    """What a frame is about: its content, or the one its switch is pointed at for."""
    if isinstance(widget, Frame):
        return widget.content
    if isinstance(widget, Places):
        key = widget.switch.part_at(_moved(widget, widget.switch, point)) or widget.key
        return widget.stack.widget(widget.keys.index(key)) if key in widget.keys else None
    return None


def _outwards(widget: QWidget) -> Iterator[QWidget]:
    outer = widget.parentWidget()
    while outer is not None:
        yield outer
        outer = outer.parentWidget()


def _moved(widget: QWidget, other: QWidget, point: QPoint | None) -> QPoint | None:
    return None if point is None else other.mapFromGlobal(widget.mapToGlobal(point))


def _page_of(widget: QWidget) -> str:
    """The page of the panel that a widget lies in."""
    for one in (widget, *_outwards(widget)):
        if isinstance(one, Panel) and one.word in guide.PAGES:
            return one.word
    return guide.PAGES[0]


def _tip_of(widget: QWidget) -> str:
    said = widget.toolTip() or widget.whatsThis()  # a painted view has no tooltip, its cards would lie under it
    return QTextDocumentFragment.fromHtml(said).toPlainText().strip() if said else ""


# -- the card


class TermCard(QFrame):
    """Floats over the window beside what it explains."""

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self.setObjectName("palette")  # a floating card
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._window = window
        self.said: Said | None = None
        self.title = label(name="name", wrap=True)
        self.text = label(name="empty_text", wrap=True)
        self.formula = label(name="mono")
        self.formula.setFont(theme.font(10, mono=True))
        self.formula.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.reference = label(name="sub", wrap=True)
        for part in (self.text, self.formula, self.reference):
            part.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.close_button = tool_button("close", tr("Close"), size=12)
        self.close_button.setFixedSize(20, 20)
        self.more = QPushButton()
        self.more.setObjectName("flat")
        head = QHBoxLayout()
        head.setSpacing(8)
        head.addWidget(self.title, 1)
        head.addWidget(self.close_button, 0, Qt.AlignmentFlag.AlignTop)
        self.column = QVBoxLayout(self)
        self.column.setContentsMargins(14, 11, 10, 10)
        self.column.setSpacing(7)
        self.column.addLayout(head)
        for part in (self.text, self.formula, self.reference):
            self.column.addWidget(part)
        self.column.addWidget(self.more, 0, Qt.AlignmentFlag.AlignLeft)
        self.hide()

    def tell(self, said: Said) -> None:
        """Set what is on the card."""
        self.said = said
        self.title.setText(said.title)
        self.text.setText(said.text)
        self.formula.setText(said.formula)
        self.formula.setVisible(bool(said.formula))
        self.reference.setText(tr("Reference: {who}", who=said.reference))
        self.reference.setVisible(bool(said.reference))
        self.more.setText(tr("More in the guide") + hint("guide.open"))
        self.more.setToolTip(tr("Opens the page {title}", title=guide.page(said.page).title))
        self.setAccessibleName(said.title)
        self.setAccessibleDescription(" ".join(part for part in (said.text, said.formula, said.reference) if part))
        width = WIDE if said.formula else NARROW
        need = self.formula.sizeHint().width() + 28 if said.formula else 0
        self.setFixedWidth(min(max(width, need), self._window.width() - 16))
        self.column.activate()
        self.setFixedHeight(self.column.totalHeightForWidth(self.width()))

    def place(self, target: QRect) -> None:
        """Show it below `target`, in the window's coordinates, above or beside it where there is no room."""
        window = self._window
        x = min(max(target.left(), 8), max(8, window.width() - self.width() - 8))
        y = target.bottom() + AWAY
        if y + self.height() > window.height() - 8:
            y = target.top() - AWAY - self.height()
        if y < 8:  # beside it, where neither is possible
            y = min(max(8, target.top()), max(8, window.height() - self.height() - 8))
            right = target.right() + AWAY
            x = right if right + self.width() <= window.width() - 8 else max(8, target.left() - AWAY - self.width())
        self.move(x, y)
        self.show()
        self.raise_()


# -- asking


class WhatIs(QObject):
    """Asks what one points at, or where the keyboard is; the window has one."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self.window = window
        self.card: TermCard | None = None
        self.asking = False
        self._follows = False  # the focus, by the keyboard
        self._eaten = False  # a press was ours, so its release is too
        self._watching = False
        self._by_menu = False
        self._came_from: QWidget | None = None

    def left_menu(self) -> None:
        """The menu has been used: what comes now was chosen in it, with the pointer at hand."""
        self._by_menu = True
        QTimer.singleShot(0, self, self._forget_menu)

    def _forget_menu(self) -> None:
        self._by_menu = False

    def start(self) -> None:
        """Ask; a second time ends it. By the keyboard what has the focus is explained at once."""
        by_key = not self._by_menu
        if self.asking:
            self.end()
            return
        self.end()
        self.asking = True
        QApplication.setOverrideCursor(Qt.CursorShape.WhatsThisCursor)
        self._watch(True)
        focus = QApplication.focusWidget()
        if by_key and focus is not None and focus.window() is not None:
            self._follows = True
            QApplication.instance().focusChanged.connect(self._on_focus)  # type: ignore[union-attr]
            self._explain_focus(focus)
        self.window.statusBar().showMessage(tr("Click what you want to know about. Esc ends it."), 6000)

    def end(self) -> None:
        """No question, no card; the keyboard goes back to where it was."""
        self._stop_asking()
        self._watch(False)
        if (card := self.shown) is not None:
            within = card.isAncestorOf(QApplication.focusWidget())  # type: ignore[arg-type]
            card.hide()
            if within and self._came_from is not None and isValid(self._came_from):
                self._came_from.setFocus()
        self._came_from = None

    @property
    def shown(self) -> TermCard | None:
        """The card that is on the screen."""
        there = self.card is not None and isValid(self.card) and self.card.isVisible()
        return self.card if there else None

    @property
    def place(self) -> tuple[str, str] | None:
        """Page and section of the card that is on the screen."""
        card = self.shown
        return (card.said.page, card.said.anchor) if card is not None and card.said is not None else None

    def explain(self, widget: QWidget, point: QPoint | None = None) -> TermCard:
        """Show the card of a widget, at a point of it or beside it."""
        window = widget.window()
        if self.card is None or not isValid(self.card) or self.card.parentWidget() is not window:
            if self.shown is not None:
                self.shown.hide()
            self.card = TermCard(window)
            self.card.close_button.clicked.connect(self.end)
            self.card.more.clicked.connect(self._on_more)
        self.card.tell(explained(widget, point))
        corner = widget.mapTo(window, QPoint(0, 0))
        where = QRect(corner, widget.size()) if point is None else QRect(widget.mapTo(window, point), QSize(1, 1))
        self.card.place(where if point is not None else where & window.rect())
        if QAccessible.isActive():
            told = f"{self.card.accessibleName()}. {self.card.accessibleDescription()}"
            QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self.card, told))
        return self.card

    # -- inside

    def _watch(self, on: bool) -> None:
        app = QApplication.instance()
        if app is not None and on != self._watching:
            self._watching = on
            (app.installEventFilter if on else app.removeEventFilter)(self)

    def _stop_asking(self) -> None:
        if self.asking:
            self.asking = False
            QApplication.restoreOverrideCursor()
            self.window.statusBar().clearMessage()
        if self._follows:
            self._follows = False
            QApplication.instance().focusChanged.disconnect(self._on_focus)  # type: ignore[union-attr]

    def _explain_focus(self, focus: QWidget) -> None:
        large = focus.width() > 600 or focus.height() > 300  # a chart or a grid: the card lies on it
        self.explain(focus, focus.rect().center() if large and not hasattr(focus, "part_at") else None)

    def _on_focus(self, old: QWidget | None, now: QWidget | None) -> None:
        card = self.shown
        if now is not None and self._follows and not (card is not None and card.isAncestorOf(now)):
            self._explain_focus(now)

    def _on_more(self) -> None:
        place = self.place
        self.end()
        if place is not None:
            self.window.commands.open_guide(*place)

    def _on_press(self, widget: QWidget, event: QMouseEvent) -> None:
        self._eaten = True
        self._stop_asking()
        if event.button() == Qt.MouseButton.LeftButton:
            self._came_from = QApplication.focusWidget()
            self.explain(widget, event.position().toPoint()).more.setFocus(Qt.FocusReason.PopupFocusReason)
        else:
            self.end()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        kind = event.type()
        if kind == QEvent.Type.ApplicationDeactivate:
            self.end()
        if not isinstance(watched, QWidget):
            return False
        if kind == QEvent.Type.MouseButtonRelease and self._eaten:
            self._eaten = False
            return True
        if kind == QEvent.Type.MouseButtonPress and isinstance(event, QMouseEvent):
            return self._pressed(watched, event)
        if self.asking and kind in (
            QEvent.Type.MouseButtonDblClick,
            QEvent.Type.MouseMove,
            QEvent.Type.ContextMenu,
            QEvent.Type.ToolTip,
        ):
            return not self._on_card(watched)
        if kind in (QEvent.Type.ShortcutOverride, QEvent.Type.KeyPress) and isinstance(event, QKeyEvent):
            return self._typed(watched, event)
        return False

    def _on_card(self, widget: QWidget) -> bool:
        card = self.shown
        return card is not None and (widget is card or card.isAncestorOf(widget))

    def _pressed(self, widget: QWidget, event: QMouseEvent) -> bool:
        if self._on_card(widget):
            return False
        if self.asking:
            self._on_press(widget, event)
            return True
        self.end()  # a click elsewhere does what it always does
        return False

    def _typed(self, widget: QWidget, event: QKeyEvent) -> bool:
        if event.key() == Qt.Key.Key_Escape:
            if event.type() == QEvent.Type.ShortcutOverride:
                event.accept()  # it means the card, not the window
            else:
                self.end()
            return True
        focus = QApplication.focusWidget()  # a key that nobody wants goes on to whatever the widget lies in
        if not (self._on_card(widget) or (focus is not None and self._on_card(focus)) or self._keeps(event)):
            self.end()  # any other key does what it always does
        return False

    def _keeps(self, event: QKeyEvent) -> bool:
        """Whether a key leaves the card as it is: it moves the focus, or has to do with the guide."""
        if event.key() in (*MOVING, *MODIFIERS):
            return True
        typed = QKeySequence(event.keyCombination())
        return any(typed in self.window.actions_by_id[id].shortcuts() for id in KEEPING)
