"""An inner panel: a header over its content, and the pages that share one place behind a switch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QSize, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QComboBox,
    QMenu,
    QScrollArea,
    QSizePolicy,
    QSplitter,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from facelens.views import theme
from facelens.views.controls import Header, Segmented
from facelens.words import tr

if TYPE_CHECKING:
    from facelens.views.plots import Chart


class Frame(QWidget):
    """Header and content; one of several in a page."""

    def __init__(self, title: str, content: QWidget, subtitle: str = "", *, yields: bool = False) -> None:
        super().__init__()
        self.setObjectName("panel")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.header = Header(title, subtitle, yields=yields)
        self.content = content
        lay_out(self, self.header, body=content)


def offer_figure(frame: Frame, chart: Chart, ask: Callable[[], object]) -> None:
    """The "more" menu of a chart: fit it again, or draw it to a file."""
    menu = QMenu(frame)
    menu.addAction(tr("Show everything (F)"), chart.fit)
    menu.addAction(tr("Export this figure…"), ask)
    frame.header.add_menu(menu, tr("More about {title}", title=frame.header.title()))


class Switch(Segmented):
    """Segments where there is room for them, else a list to choose from; what is not offered is in neither."""

    def __init__(self, segments: Sequence[tuple[str, str]], *, label: str) -> None:
        super().__init__(segments, label=label, height=22)
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self._texts = dict(segments)
        self._offered = [key for key, _ in segments]
        self.folded = False
        self.list = QComboBox()
        self.list.setAccessibleName(label)
        self.list.setToolTip(label)
        self.list.setFixedHeight(22)
        self.list.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self.list.activated.connect(lambda _: self._on_listed())
        row = self.layout()
        assert row is not None
        row.addWidget(self.list)
        self._show()

    def offers(self, key: str) -> bool:
        """Whether a choice can be made now."""
        return key in self._offered

    def offer(self, key: str, there: bool) -> None:
        """Show or hide one choice."""
        self._offered = [other for other in self._texts if (other in self._offered if other != key else there)]
        self._show()

    def rename(self, key: str, text: str) -> None:
        """Other words for a choice: a count, for example."""
        if self._texts[key] != text:
            self._texts[key] = text
            self.button(key).setText(text)
            self._show()

    def fold(self, folded: bool) -> None:
        """Segments or a list; the keyboard stays here."""
        if folded != self.folded:
            focus = self.focusWidget() is not None and self.focusWidget().hasFocus()
            self.folded = folded
            self._show()
            if focus:
                (self.list if folded else self.button(self.value())).setFocus()

    def unfolded_width(self) -> int:
        """What the segments need side by side."""
        return sum(self.button(key).sizeHint().width() for key in self._offered)

    def _can(self, place: int) -> bool:
        key = list(self._texts)[place]
        return key in self._offered and self.button(key).isEnabled()  # folded, no segment is seen

    def set_current(self, place: int) -> None:
        super().set_current(place)
        if hasattr(self, "list"):  # made after the first choice
            self.list.setCurrentIndex(self.list.findData(self.value()))

    def minimumSizeHint(self) -> QSize:
        return QSize(self.list.sizeHint().width(), super().minimumSizeHint().height())

    def _on_listed(self) -> None:
        place = list(self._texts).index(self.list.currentData())
        self.set_current(place)
        self.changed.emit(place)

    def _show(self) -> None:
        self.list.clear()
        for key in self._offered:
            self.list.addItem(self._texts[key], key)
            self.list.setItemData(self.list.count() - 1, self.button(key).toolTip(), Qt.ItemDataRole.ToolTipRole)
        self.list.setCurrentIndex(self.list.findData(self.value()))
        self.list.setVisible(self.folded)
        for key in self._texts:
            button = self.button(key)
            button.setVisible(key in self._offered and not self.folded)
            # Round corners belong to the ends of what is shown.
            ends = {self._offered[0]: "first", self._offered[-1]: "last"}
            button.setProperty("at", ends.get(key, "middle"))
            button.style().unpolish(button)
            button.style().polish(button)


class Places(QWidget):
    """Several contents in one frame; the switch that chooses leads the header, the rest of it belongs to the one shown.

    The switch stands still whatever is shown, and the chosen segment is the title.
    """

    changed = Signal(str)

    def __init__(self, pages: Sequence[tuple[str, str, str, QWidget]], *, label: str) -> None:
        """`pages` are (key, words on the switch, what it is good for, content)."""
        super().__init__()
        self.setObjectName("panel")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.keys = [key for key, *_ in pages]
        self.header = Header("")
        self.switch = Switch([(key, text) for key, text, _, _ in pages], label=label)
        self.stack = QStackedWidget()
        lay_out(self, self.header, body=self.stack)
        self.header.lead(self.switch)  # before what lies under it, for Tab
        for key, _, tip, content in pages:
            self.stack.addWidget(content)
            self.switch.button(key).setToolTip(tip)
        self.switch.changed.connect(lambda place: self.show_key(self.keys[place]))
        self.show_key(self.keys[0])

    @property
    def key(self) -> str:
        """Which page is shown."""
        return self.keys[self.stack.currentIndex()]

    def show_key(self, key: str) -> None:
        """Show one page."""
        self.stack.setCurrentIndex(self.keys.index(key))
        self.switch.set_value(key)
        self.changed.emit(key)

    def offer(self, key: str, there: bool) -> None:
        """Show or hide one choice; a hidden one is left."""
        self.switch.offer(key, there)
        if not there and self.key == key:
            self.show_key(next(other for other in self.keys if other != key))

    def event(self, event: QEvent) -> bool:
        done = super().event(event)
        if event.type() in (QEvent.Type.Resize, QEvent.Type.LayoutRequest):
            self._fold()
        return done

    def _fold(self) -> None:
        self.switch.fold(self.switch.unfolded_width() > self.header.room_for(self.switch))


def lay_out(page: QWidget, *rows: QWidget, body: QWidget) -> None:
    """Rows over what fills the rest of a page.

    Whatever is put into another widget is dressed anew with all that lies in it; so a page is put together from the
    outside in: its body first, still empty, then what lies in that.
    """
    column = QVBoxLayout(page)
    column.setContentsMargins(0, 0, 0, 0)
    column.setSpacing(0)
    for row in rows:
        column.addWidget(row)
    column.addWidget(body, 1)


def split(orientation: Qt.Orientation, *parts: QWidget, sizes: Sequence[int] = ()) -> QSplitter:
    """Parts with a movable gap between them."""
    made = QSplitter(orientation)
    made.setHandleWidth(4)
    made.setChildrenCollapsible(False)
    fill(made, *parts, sizes=sizes)
    return made


def fill(made: QSplitter, *parts: QWidget, sizes: Sequence[int] = ()) -> None:
    """Put parts into one that has its place already."""
    for part in parts:
        made.addWidget(part)
    if sizes:
        made.setSizes(list(sizes))
        for i, size in enumerate(sizes):
            made.setStretchFactor(i, size)


def scrolled(body: QWidget, name: str = "") -> QScrollArea:
    """Results that scroll up and down where they need more room than there is, and never sideways."""
    made = QScrollArea()
    made.setWidgetResizable(True)
    made.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    made.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    made.setAccessibleName(name or tr("Results"))
    made.setWidget(body)
    return made


class Skeleton(QWidget):
    """Where results will be: two charts, one wide chart, some rows."""

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        look = theme.current()
        width, height = self.width(), self.height()
        painter.fillRect(self.rect(), look.q("base"))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(look.q(theme.mix(look.base, look.text, 0.05)))
        gap, half = 12, (width - 36) // 2
        chart = max(40, int(height * 0.32))
        for x, y, w, h in (
            (gap, gap, half, chart),
            (2 * gap + half, gap, half, chart),
            (gap, 2 * gap + chart, width - 2 * gap, max(40, int(height * 0.24))),
        ):
            painter.drawRoundedRect(x, y, w, h, 4, 4)
        y = 3 * gap + chart + max(40, int(height * 0.24)) + 6
        while y + 12 < height:
            for share, start in ((0.05, 0.01), (0.14, 0.18), (0.14, 0.44), (0.14, 0.68), (0.06, 0.92)):
                painter.drawRoundedRect(int(start * width) + gap, y, int(share * width), 10, 3, 3)
            y += 29
