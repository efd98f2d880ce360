"""The guide: contents at the left, a page at the right, a search over all pages, and the way back.

A window of its own beside the main one, so that both can be seen. Keys: typing in the field searches, down goes to the
list, Enter opens, Alt+Left and Alt+Right go back and forward, Ctrl+F searches, Ctrl+plus, Ctrl+minus and Ctrl+0 change
the size, Esc empties the search, then closes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QObject, QRectF, QSignalBlocker, QSize, Qt
from PySide6.QtGui import QKeyEvent, QKeySequence, QPainter, QShortcut
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLineEdit,
    QSplitter,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)

from facelens.session import guide
from facelens.views import icons, theme
from facelens.views.controls import Header, draw_text, label, tool_button
from facelens.views.guide_text import STEP, GuideText
from facelens.views.lines import Line, Lines
from facelens.views.shortcuts import shortcuts
from facelens.words import tr

SIZE = QSize(980, 760)
LEFT = 250  # px of the contents


@dataclass(frozen=True)
class Row:
    """A line at the left: a page, a section of the page that is shown, or what a search found."""

    page: str
    anchor: str
    text: str
    kind: str  # page, section, hit
    level: int = 2  # of a section
    context: str = ""


@dataclass(frozen=True)
class Spot:
    """Where one was: page, and how far down."""

    page: str
    top: int


class _Line(QStyledItemDelegate):
    def __init__(self, parent: Lines) -> None:
        super().__init__(parent)
        self._list = parent

    def sizeHint(self, option: QStyleOptionViewItem, index: object) -> QSize:  # type: ignore[override]
        return QSize(160, {"page": 27, "section": 23, "hit": 44}[self._list.lines[index.row()].of.kind])  # type: ignore[attr-defined]

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: object) -> None:  # type: ignore[override]
        row: Row = self._list.lines[index.row()].of  # type: ignore[attr-defined]
        look, box = theme.current(), QRectF(option.rect)
        chosen = bool(option.state & QStyle.StateFlag.State_Selected)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if chosen or option.state & QStyle.StateFlag.State_MouseOver:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(look.q("soft" if chosen else "hover"))
            painter.drawRoundedRect(box.adjusted(6, 1, -6, -1), 4, 4)
        if row.kind == "hit":
            draw_text(painter, QRectF(box.x() + 16, box.y() + 4, box.width() - 28, 18), row.text, "text", 12)
            draw_text(painter, QRectF(box.x() + 16, box.y() + 22, box.width() - 28, 16), row.context, "text3", 10)
        elif row.kind == "page":
            draw_text(painter, box.adjusted(16, 0, -12, 0), row.text, "text", 12)
        else:
            indent = 28 + 12 * (row.level - 2)
            draw_text(painter, box.adjusted(indent, 0, -12, 0), row.text, "text" if chosen else "text2", 11)
        painter.restore()


class GuideWindow(QWidget):
    """See the module's words."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, Qt.WindowType.Window)
        self.setObjectName("win")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setWindowTitle(tr("FaceLens guide"))
        self.setMinimumSize(520, 360)
        self.resize(SIZE)
        self._back: list[Spot] = []
        self._forward: list[Spot] = []
        self._build_contents()
        self._build_page()
        middle = QSplitter(Qt.Orientation.Horizontal)
        middle.setHandleWidth(4)
        middle.setChildrenCollapsible(False)
        middle.addWidget(self._contents)
        middle.addWidget(self._right)
        middle.setStretchFactor(1, 1)
        middle.setSizes([LEFT, SIZE.width() - LEFT])
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(middle)
        self._build_keys()
        self.text.setFocus()
        shortcuts.changed.connect(self._on_keys_changed)
        self._show_buttons()

    # -- building

    def _build_contents(self) -> None:
        self.search = QLineEdit()
        self.search.setPlaceholderText(tr("Search the guide"))
        self.search.setAccessibleName(tr("Search the guide"))
        self.search.setToolTip(tr("Lists the sections that hold all words. Down goes to the list, Enter opens."))
        self.search.setClearButtonEnabled(True)
        self.search.addAction(icons.icon("search", colour="text3"), QLineEdit.ActionPosition.LeadingPosition)
        self.search.textChanged.connect(self._on_typed)
        self.search.installEventFilter(self)
        self.list = Lines()
        self.list.setAccessibleName(tr("Contents"))
        self.list.setToolTip(tr("Pages and their sections; Enter opens one"))
        self.list.setItemDelegate(_Line(self.list))
        self.list.moved.connect(self._on_row)
        self.list.touched.connect(self._on_row)
        self.nothing = label(name="sub", wrap=True)
        self.nothing.setContentsMargins(16, 6, 12, 6)
        self.nothing.hide()
        self._contents = QWidget()
        self._contents.setObjectName("panel")
        self._contents.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._contents.setMinimumWidth(180)
        column = QVBoxLayout(self._contents)
        column.setContentsMargins(0, 0, 0, 8)
        column.setSpacing(4)
        field = QHBoxLayout()
        field.setContentsMargins(10, 8, 10, 4)
        field.addWidget(self.search)
        column.addLayout(field)
        column.addWidget(self.nothing)
        column.addWidget(self.list, 1)

    def _build_page(self) -> None:
        self.text = GuideText()
        self.text.followed.connect(self.show_page)
        self.text.zoomed.connect(lambda _: self._show_buttons())
        self.header = Header("")
        self.back = tool_button("chevron-left", tr("Back (Alt+Left)"), size=14)
        self.forward = tool_button("chevron-right", tr("Forward (Alt+Right)"), size=14)
        self.smaller = tool_button("minus", tr("Smaller text (Ctrl+wheel, Ctrl+minus)"), size=14)
        self.larger = tool_button("plus", tr("Larger text (Ctrl+wheel, Ctrl+plus)"), size=14)
        self.back.clicked.connect(self.go_back)
        self.forward.clicked.connect(self.go_forward)
        self.smaller.clicked.connect(lambda: self.text.set_zoom(self.text.zoom - STEP))
        self.larger.clicked.connect(lambda: self.text.set_zoom(self.text.zoom + STEP))
        for button in (self.back, self.forward, self.smaller, self.larger):
            button.setFixedSize(24, 22)
        lead = QWidget()
        row = QHBoxLayout(lead)
        row.setContentsMargins(0, 0, 4, 0)
        row.setSpacing(2)
        self.title = label(name="title")
        for part in (self.back, self.forward, self.title):
            row.addWidget(part)
        self.header.lead(lead)
        for part in (self.smaller, self.larger):
            self.header.add(part)
        self._right = QWidget()
        self._right.setObjectName("panel")
        self._right.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        column = QVBoxLayout(self._right)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.header)
        column.addWidget(self.text, 1)

    def _build_keys(self) -> None:
        for keys, act in (
            ((QKeySequence("Alt+Left"),), self.go_back),
            ((QKeySequence("Alt+Right"),), self.go_forward),
            ((QKeySequence("Ctrl+F"), QKeySequence("Ctrl+K")), self._to_search),
            ((QKeySequence("Ctrl++"), QKeySequence("Ctrl+=")), self.larger.click),
            ((QKeySequence("Ctrl+-"),), self.smaller.click),
            ((QKeySequence("Ctrl+0"),), self._usual_size),
            ((QKeySequence("Esc"),), self._step_back),
            ((QKeySequence("Ctrl+W"),), self.close),
        ):
            self._key(keys, act)

    def _key(self, keys: tuple[QKeySequence, ...], act: Callable[[], object]) -> None:
        for key in keys:
            shortcut = QShortcut(key, self)
            shortcut.activated.connect(lambda: act())

    # -- where one is

    @property
    def page(self) -> str:
        """The word of the page that is shown."""
        return self.text.page

    def show_page(self, word: str, anchor: str = "") -> None:
        """Open a page at a section, and remember where one was."""
        if self.page:
            self._back.append(Spot(self.page, self.text.verticalScrollBar().value()))
            self._forward.clear()
        self._open(word)
        self.text.show_anchor(anchor)
        self._mark(word, anchor)

    def go_back(self) -> None:
        """To where one was before."""
        self._go(self._back, self._forward)

    def go_forward(self) -> None:
        """Again to where one came back from."""
        self._go(self._forward, self._back)

    def _go(self, out: list[Spot], into: list[Spot]) -> None:
        if out:
            into.append(Spot(self.page, self.text.verticalScrollBar().value()))
            spot = out.pop()
            self._open(spot.page)
            self.text.verticalScrollBar().setValue(spot.top)
            self._mark(spot.page, self.text.anchor_here())

    def _open(self, word: str) -> None:
        if word != self.page:
            self.text.show_page(word)
        self.title.setText(guide.page(word).title)
        self.text.find_words(self.search.text())
        if not self.search.text():
            self._fill()
        self._show_buttons()

    def _show_buttons(self) -> None:
        self.back.setEnabled(bool(self._back))
        self.forward.setEnabled(bool(self._forward))
        self.header.set_subtitle("" if self.text.zoom == 1 else f"{round(100 * self.text.zoom)} %")

    # -- contents and search

    @property
    def rows(self) -> list[Row]:
        """What is listed at the left."""
        return [line.of for line in self.list.lines]

    def _fill(self) -> None:
        """Contents with the sections of the page that is shown, or what the search found."""
        typed = self.search.text()
        if typed.strip():
            rows = [
                Row(hit.section.page, hit.section.anchor, _called(hit.section), "hit", context=hit.context)
                for hit in guide.search(typed)
            ]
        else:
            rows = []
            for one in guide.pages():
                rows.append(Row(one.word, "", one.title, "page"))
                if one.word == self.page:
                    rows += [
                        Row(one.word, part.anchor, part.title, "section", part.level) for part in one.sections[1:]
                    ]
        self.list.fill(
            [Line(row.text, row, row.context or row.text, f"{row.text}, {row.context}".rstrip(", ")) for row in rows]
        )
        self.nothing.setText(tr("Nothing fits {typed}", typed=typed))
        self.nothing.setVisible(not rows)

    def _mark(self, word: str, anchor: str) -> None:
        """Show in the list where one is."""
        places = [i for i, row in enumerate(self.rows) if row.page == word and row.anchor == anchor]
        with QSignalBlocker(self.list):
            self.list.go(places[0] if places else -1)

    def _on_typed(self) -> None:
        self._fill()
        self.text.find_words(self.search.text())
        if not self.search.text():
            self._mark(self.page, self.text.anchor_here())

    def _on_row(self, place: int) -> None:
        if 0 <= place < len(self.rows):
            row = self.rows[place]
            self.show_page(row.page, row.anchor)

    def _to_search(self) -> None:
        self.search.setFocus()
        self.search.selectAll()

    def _usual_size(self) -> None:
        self.text.set_zoom(1.0)

    def _step_back(self) -> None:
        if self.search.text():
            self.search.clear()
        else:
            self.close()

    def _on_keys_changed(self) -> None:
        if self.page:
            self.text.show_page(self.page)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self.search and isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            if event.key() == Qt.Key.Key_Down and self.rows:
                self.list.setFocus()
                if self.list.line is None:
                    self.list.go(0)
                return True
            if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.search.text() and self.rows:
                self._on_row(max(self.list.row, 0))
                self.text.setFocus()
                return True
        return False


def _called(section: guide.Section) -> str:
    title = guide.page(section.page).title
    return title if not section.anchor else f"{title} · {section.title}"
