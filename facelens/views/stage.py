"""The stage: a tab strip with one page per panel, the gallery first; a page can also open beside another as a dock."""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QApplication,
    QHBoxLayout,
    QMenu,
    QStackedWidget,
    QTabBar,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from facelens.views.controls import text_width, tool_button
from facelens.views.panel import Desk, Panel
from facelens.views.panels import PANELS
from facelens.words import tr

TAB = 12  # px between the name of a page and the end of its tab, as the style sheet says


class _Panels(dict[str, Panel]):
    """Panels by their word, each made when it is first asked for: a page nobody opens costs no start-up time."""

    def __init__(self, desk: Desk, pages: QStackedWidget) -> None:
        super().__init__()
        self._desk, self._pages = desk, pages

    def __missing__(self, word: str) -> Panel:
        place = [cls.word for cls in PANELS].index(word)
        panel = self[word] = PANELS[place](self._desk, self._pages)
        empty = self._pages.widget(place)
        self._pages.insertWidget(place, panel)
        if empty is not None:
            self._pages.removeWidget(empty)
            empty.deleteLater()
        return panel


class Stage(QWidget):
    """The central widget of the window."""

    beside = Signal(str)  # the word of a panel to open as a dock
    moved = Signal(str)

    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self.setObjectName("stage")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setMinimumSize(560, 360)
        self.tabs = QTabBar()
        for button in self.tabs.findChildren(QToolButton):  # they come where there is no room for all pages
            left = button.objectName() == "ScrollLeftButton"
            button.setToolTip(tr("Pages to the left") if left else tr("Pages to the right"))
        self.tabs.setDrawBase(False)
        self.tabs.setExpanding(False)
        self.tabs.setAccessibleName(tr("Panels"))
        self.tabs.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.pages = QStackedWidget()
        self.panels = _Panels(desk, self.pages)
        for cls in PANELS:
            self.tabs.addTab(tr(cls.title))
            self.pages.addWidget(QWidget())
        self.pages.setCurrentWidget(self.panels[PANELS[0].word])
        self.tabs.currentChanged.connect(self._on_tab)
        self.open_beside = tool_button("columns", tr("Open a page beside this one"), size=14)
        self.open_beside.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        menu = QMenu(self.open_beside)
        menu.aboutToShow.connect(lambda: self._fill(menu))
        menu.triggered.connect(lambda action: self.beside.emit(action.data()))
        self.open_beside.setMenu(menu)
        self._strip = strip = QWidget()
        strip.setObjectName("stagetabs")
        strip.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        strip.setFixedHeight(32)
        line = QHBoxLayout(strip)
        line.setContentsMargins(4, 0, 6, 0)
        line.addWidget(self.tabs)
        line.addStretch(1)
        line.addWidget(self.open_beside)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(strip)
        column.addWidget(self.pages, 1)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_tabs()

    def _fit_tabs(self) -> None:
        """Where not all pages have room, their tabs stand closer."""
        needed = sum(text_width(tr(cls.title), 12) + 2 * TAB for cls in PANELS)
        room = self.width() - self.open_beside.sizeHint().width() - 20
        tight = needed > room
        if tight != bool(self.tabs.property("tight")):
            self.tabs.setProperty("tight", tight)
            self.tabs.style().unpolish(self.tabs)
            self.tabs.style().polish(self.tabs)
            QApplication.sendEvent(self.tabs, QEvent(QEvent.Type.StyleChange))  # or it keeps the widths it has measured

    @property
    def current(self) -> Panel:
        """The page that is shown."""
        return self.panels[self.word]

    @property
    def word(self) -> str:
        """The word of the page that is shown."""
        return PANELS[self.tabs.currentIndex()].word

    def show_page(self, word: str) -> None:
        """Bring a page to the front."""
        self.tabs.setCurrentIndex([cls.word for cls in PANELS].index(word))

    def _on_tab(self, index: int) -> None:
        self.pages.setCurrentWidget(self.current)
        self.current.home().setFocus()
        self.moved.emit(self.word)

    def _fill(self, menu: QMenu) -> None:
        menu.clear()
        for cls in PANELS:
            if cls.word not in ("gallery", self.word):
                action = menu.addAction(tr("Open {title} beside", title=tr(cls.title)))
                action.setData(cls.word)
        if menu.isEmpty():
            menu.addAction(tr("No other page to open")).setEnabled(False)
