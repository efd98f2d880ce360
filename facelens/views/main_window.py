"""The main window: menus, toolbar, stage, docks and status bar around one workspace."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QByteArray, QEvent, QPoint, QSize, Qt, QTimer
from PySide6.QtGui import (
    QAction,
    QActionGroup,
    QCloseEvent,
    QDragEnterEvent,
    QDragLeaveEvent,
    QDragMoveEvent,
    QDropEvent,
    QKeySequence,
    QPaintEvent,
    QShowEvent,
)
from PySide6.QtWidgets import (
    QMainWindow,
    QMenu,
    QMessageBox,
    QProgressBar,
    QPushButton,
    QStatusBar,
    QToolBar,
    QWidget,
)

from facelens.errors import NeedsChoice
from facelens.session import folders, keys, shelf
from facelens.session.actions import ACTIONS, BY_ID, MENUS
from facelens.session.archive import Layout
from facelens.session.glance import glance
from facelens.session.jobs import Job, JobQueue, State
from facelens.session.settings import SIZES, Settings
from facelens.session.store import Store
from facelens.session.workspace import Workspace
from facelens.views import icons, motion, theme
from facelens.views.bridge import Bridge
from facelens.views.chips import ModelChip
from facelens.views.commands import Commands
from facelens.views.controls import Dock, Segmented, label, plain_tip, tool_button, vertical_rule
from facelens.views.docks import DOCKS
from facelens.views.docks.jobs import progress_text
from facelens.views.drop import DropVeil
from facelens.views.finding import FindFaces, Finding
from facelens.views.hand import Hand
from facelens.views.keeping import Keeping
from facelens.views.modelling import Modelling
from facelens.views.notices import Notices
from facelens.views.opening import Opening
from facelens.views.palette import Entry, Palette
from facelens.views.panel import Desk, Panel
from facelens.views.panels import PANELS
from facelens.views.preview import ImportPreview
from facelens.views.shortcuts import keyed, shortcuts
from facelens.views.stage import Stage
from facelens.views.thumbnails import Thumbnails
from facelens.views.tool_strip import LayoutSwitch, ToolStrip
from facelens.views.what_is import WhatIs
from facelens.words import escaped, plural, tr

AREAS = {
    "left": Qt.DockWidgetArea.LeftDockWidgetArea,
    "right": Qt.DockWidgetArea.RightDockWidgetArea,
    "bottom": Qt.DockWidgetArea.BottomDockWidgetArea,
}
# Which docks a layout shows. Browse surrounds the stage; the others give it the width.
LAYOUTS: Mapping[str, tuple[str, ...]] = {
    "browse": ("sources", "filter", "identities", "tags", "inspector", "jobs", "log", "history"),
    "match": (),
    "upgrade": (),
    "report": (),
}
FACE_MENU = (
    ("view.loupe", "view.compare"),
    ("mark.flag", "mark.reject", "mark.unflag", "mark.tag"),
    ("identity.name", "identity.rename", "identity.back"),
    ("select.identity", "faces.copy_paths", "faces.exclude"),
    ("figure.export", "data.export"),
)
AT_THE_FOOT = ("projection",)  # pages that open under the stage, not at its side
FOOT = 206  # px, of a page there
NARROW = 1000  # px of the window
LONGEST = 60  # letters of what would be undone
PROGRESS_DELAY = 600  # ms before a job is worth a bar in the status line


class StatusBar(QStatusBar):
    """A message takes the place of the news for a while, never that of the mark before them."""

    def __init__(self) -> None:
        super().__init__()
        self._news: list[QWidget] = []
        self._empty: set[QWidget] = set()  # news that have nothing to say
        self._said = label()
        self._said.setContentsMargins(4, 0, 0, 0)
        self._end = QTimer(self)
        self._end.setSingleShot(True)
        self._end.timeout.connect(self.clearMessage)

    def add_news(self, *parts: QWidget) -> None:
        """Widgets that give way to a message."""
        self._news = [*parts]
        for part in (*parts, self._said):
            self.addWidget(part)
        self._said.hide()

    def showMessage(self, text: str, timeout: int | None = None) -> None:
        self._said.setText(text)
        self._said.setVisible(bool(text))
        self._show_news()
        self._end.stop()
        if text and timeout:
            self._end.start(timeout)

    def set_empty(self, *parts: QWidget, empty: bool) -> None:
        """News that have nothing to say are not shown, nor are the lines before them."""
        self._empty = self._empty | set(parts) if empty else self._empty - set(parts)
        self._show_news()

    def _show_news(self) -> None:
        for part in self._news:
            part.setVisible(not self._said.text() and part not in self._empty)

    def clearMessage(self) -> None:
        self.showMessage("")

    def currentMessage(self) -> str:
        return self._said.text()


class MainWindow(QMainWindow):
    """Builds the parts and connects them; what the commands do is in `commands.py`."""

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        store: Store | None = None,
        remember: bool = True,
        nice: int = 10,
    ) -> None:
        """`nice`: how far the worker stands back behind other programs; the window in front of somebody comes first."""
        super().__init__()
        self.setObjectName("win")
        self.setWindowTitle("FaceLens")
        self.setAcceptDrops(True)
        self.resize(1440, 900)
        self.setMinimumSize(900, 560)
        self.setDockOptions(QMainWindow.DockOption.AllowNestedDocks | QMainWindow.DockOption.AllowTabbedDocks)
        self.bridge = Bridge()
        self.destroyed.connect(self.bridge.close)
        self.store = store or Store()
        self.jobs = JobQueue(post=self._post, nice=nice)
        self.thumbnails = Thumbnails(quarantined=folders.quarantine(), parent=self)
        self.desk = Desk(
            store=self.store,
            jobs=self.jobs,
            thumbnails=self.thumbnails,
            settings=settings or Settings.load(),
            act=self.act,
            open_path=self.open_path,
            notify=lambda error, trace="": self.notices.error(error, trace=trace),
            tell=lambda text: self.statusBar().showMessage(text, 8000),
            say=self._say,
            draw=lambda word, name="": self.commands.export_figure(word, name),
            remember=remember,
        )
        motion.reduced = self.desk.settings.still
        keys.use(self.desk.settings.keys)
        self.hand = Hand(self.desk, self)
        self.modelling = Modelling(self.desk, self)
        self.opening = Opening(
            self.desk,
            choose=self._on_choice,
            opened=self.modelling.look_up_all,
            sampled=self.modelling.load_sample,
            leaving=lambda: self.keeping.leave(),
        )
        self.finding = Finding(
            self.desk,
            say=lambda title, text: self.notices.show(title, text, kind="info"),
            found=self.modelling.look_up_all,
        )
        self.stage = Stage(self.desk)
        self.setCentralWidget(self.stage)
        self.keeping = Keeping(self)
        self.keeping.changed.connect(self._show_status)
        self.docks: dict[str, Dock] = {}
        self.dock_panels: dict[str, Panel] = {}
        self._build_docks()
        self.notices = Notices(self.stage)
        self.veil = DropVeil(self.stage)
        self.actions_by_id: dict[str, QAction] = {}
        self.what = WhatIs(self)
        self.commands = Commands(self)
        self._build_actions()
        self._build_menus()
        self._build_toolbar()
        self._build_status()
        self.palette_card = Palette(
            self,
            lambda: self.store.workspace,
            self.key_of,
            self.thumbnails,
            on=lambda id: self.actions_by_id[id].isChecked(),
        )
        self.palette_card.chosen.connect(self._on_palette)
        self.stage.beside.connect(self.open_beside)
        self.stage.panels["gallery"].grid.menu_requested.connect(self._show_menu)  # type: ignore[attr-defined]
        self._stop = [self.store.listen(self._on_store), self.jobs.listen(self._on_job)]
        self.layout_name = "browse"
        self._closing = False
        self._painted: list[Callable[[], None]] = []
        self.apply_layout(self.desk.settings.layout if self.desk.settings.layout in LAYOUTS else "browse")
        if self.desk.settings.geometry:
            self.restoreGeometry(QByteArray(self.desk.settings.geometry))
        self._refresh_actions()
        self._show_status()
        self.stage.current.home().setFocus()

    # -- building

    def _build_docks(self) -> None:
        for cls, area in DOCKS:
            panel = cls(self.desk)
            dock = Dock(tr(cls.title), cls.word, content=panel)
            dock.setAllowedAreas(Qt.DockWidgetArea.AllDockWidgetAreas)
            self.docks[cls.word] = dock
            self.dock_panels[cls.word] = panel
            self.addDockWidget(AREAS[area], dock)
        self.setCorner(Qt.Corner.BottomLeftCorner, Qt.DockWidgetArea.LeftDockWidgetArea)
        self.setCorner(Qt.Corner.BottomRightCorner, Qt.DockWidgetArea.RightDockWidgetArea)
        self.docks["sources"].header.insert(self._small("plus", "gallery.open"))
        # Beside the cross that closes the dock another one is only there while there is something to clear.
        self.clear_filter = self._small("close", "find.clear")
        self.docks["filter"].header.insert(self.clear_filter)

    def _small(self, icon: str, action: str) -> QWidget:
        button = tool_button(icon, tr(BY_ID[action].text).rstrip("…"), size=14)
        button.setFixedSize(22, 22)
        button.clicked.connect(lambda: self.act(action))
        return button

    def _build_actions(self) -> None:
        for spec in ACTIONS:
            action = QAction(tr(spec.text), self)
            action.setObjectName(spec.id)
            action.setShortcuts([QKeySequence(key) for key in keys.keys_of(spec.id)])
            action.setCheckable(spec.checkable)
            if spec.icon:
                action.setIcon(icons.icon(spec.icon))
            action.setIconVisibleInMenu(False)
            action.triggered.connect(lambda _=False, id=spec.id: self.act(id))
            self.addAction(action)
            self.actions_by_id[spec.id] = action
        for kind in ("theme", "layout"):
            group = QActionGroup(self)
            for id, action in self.actions_by_id.items():
                if id.startswith(f"{kind}.") and BY_ID[id].checkable:
                    group.addAction(action)

    def _build_menus(self) -> None:
        for title in MENUS:
            menu = self.menuBar().addMenu(tr(title))
            menu.setToolTipsVisible(True)
            menu.aboutToShow.connect(self._refresh_actions)
            inner: QMenu | None = None
            for spec in ACTIONS:
                if spec.menu != title:
                    continue
                if spec.line_above and not menu.isEmpty():
                    menu.addSeparator()
                    inner = None
                if len(spec.place) > 1 and inner is None:
                    inner = menu.addMenu(tr(spec.place[1]))
                    inner.setToolTipsVisible(True)
                (inner if inner is not None and len(spec.place) > 1 else menu).addAction(self.actions_by_id[spec.id])
            if title == "File":
                self._build_recent(menu)
            if title == BY_ID["guide.what"].menu:
                menu.aboutToHide.connect(self.what.left_menu)
            if title == "Window":
                menu.addSeparator()
                for word in self.docks:
                    menu.addAction(self.docks[word].toggleViewAction())

    def _build_recent(self, menu: QMenu) -> None:
        recent = QMenu(tr("Open recent"), menu)
        recent.setToolTipsVisible(True)
        recent.triggered.connect(lambda action: self.open_path(Path(action.data())))
        menu.insertMenu(self.actions_by_id["gallery.add"], recent)

        def fill() -> None:
            recent.clear()
            for entry in self.desk.settings.workspaces:
                action = recent.addAction(escaped(Path(entry.path).name).replace("&", "&&"))
                action.setToolTip(escaped(entry.path))
                action.setData(entry.path)
            recent.addSeparator()
            for entry in self.desk.settings.recent:
                action = recent.addAction(escaped(entry.name).replace("&", "&&"))
                action.setToolTip(escaped(entry.path))
                action.setData(entry.path)
            if not [action for action in recent.actions() if not action.isSeparator()]:
                recent.addAction(tr("Nothing opened yet")).setEnabled(False)

        recent.aboutToShow.connect(fill)

    def _show_menu(self, position: QPoint) -> None:
        """The menu of a face: what is done most often with one."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        for group in FACE_MENU:
            menu.addActions([self.actions_by_id[id] for id in group])
            menu.addSeparator()
        self._refresh_actions()
        menu.popup(position)

    def _build_toolbar(self) -> None:
        bar = QToolBar(tr("Toolbar"), self)
        bar.setObjectName("toolbar")
        bar.setMovable(False)
        bar.setIconSize(QSize(16, 16))
        bar.toggleViewAction().setVisible(False)
        self.layouts = Segmented([(name, tr(name.capitalize())) for name in LAYOUTS], label=tr("Layout"), height=28)
        for name in LAYOUTS:
            keyed(self.layouts.button(name), f"layout.{name}", tr(BY_ID[f"layout.{name}"].text))
        self.layouts.changed.connect(lambda i: self.act(f"layout.{tuple(LAYOUTS)[i]}"))
        self.find_button = QPushButton(
            icons.icon("search", colour="text3"), tr("Find a face, an identity or a command")
        )
        self.find_button.setObjectName("find")
        self.find_button.setFixedHeight(28)
        self.find_button.setMinimumWidth(330)
        keyed(self.find_button, "palette.open", tr("Find a face, an identity or a command"))
        self.find_button.clicked.connect(lambda: self.act("palette.open"))
        self.theme_button = tool_button("moon", tr("Switch between light and dark"))
        self.theme_button.clicked.connect(self._on_theme_button)
        self.switch = LayoutSwitch(self.layouts, [self.actions_by_id[f"layout.{name}"] for name in LAYOUTS])
        # One widget with a layout of its own: a tool bar's own layout knows no exact heights.
        self.strip = strip = ToolStrip()
        line = strip.line
        for part in (
            self._tool("gallery.open", "open"),
            self._tool("workspace.save", "save"),
            self._tool("history.undo", "undo"),
            self._tool("history.redo", "redo"),
            vertical_rule(),
            self.switch,
        ):
            line.addWidget(part)
        line.addStretch(1)
        line.addWidget(self.find_button)
        line.addStretch(1)
        self.chips = {slot: ModelChip(self.desk, self.modelling, slot) for slot in ("model_a", "model_b")}
        self.swap_button = self._tool("model.swap", "swap")
        for part in (self.chips["model_a"], self.swap_button, self.chips["model_b"]):
            part.hide()
            line.addWidget(part)
        for part in (self._tool("figure.export", "export", text=tr("Export")), self.theme_button):
            line.addWidget(part)
        if (layout := bar.layout()) is not None:
            layout.setContentsMargins(0, 0, 0, 0)
        bar.setFixedHeight(42)
        bar.addWidget(strip)
        strip.folds = (self._fold_find, self.switch.fold)
        self.toolbar = bar
        self.addToolBar(Qt.ToolBarArea.TopToolBarArea, bar)

    def _tool(self, id: str, icon: str, *, text: str = "") -> QWidget:
        action = self.actions_by_id[id]

        def tip() -> str:
            key = self.key_of(id)
            return action.text().replace("&&", "&").rstrip("…") + (f" ({key})" if key else "")

        button = tool_button(icon, tip(), text=text)
        button.clicked.connect(lambda: self.act(id))

        def follow() -> None:
            button.setEnabled(action.isEnabled())
            button.setToolTip(plain_tip(tip()) if action.isEnabled() else action.toolTip())

        action.changed.connect(follow)
        return button

    def _build_status(self) -> None:
        bar = StatusBar()
        self.setStatusBar(bar)
        bar.setSizeGripEnabled(False)
        bar.setFixedHeight(25)
        bar.setContentsMargins(0, 0, 8, 0)
        self.local = tool_button(
            "shield",
            tr("FaceLens opens no network connection. Click to show or delete what it keeps on this disk."),
            text=tr("Local only"),
            size=14,
        )
        self.local.setIcon(icons.icon("shield", colour="good"))
        self.local.setObjectName("local")
        self.local.clicked.connect(lambda: self.act("cache.show"))
        self.selected, self.about = label(name="status_strong"), label(name="sub")
        for news in (self.selected, self.about):
            news.setContentsMargins(4, 0, 4, 0)  # as far from the line before as from the one behind
        self.job_name, self.job_bar = label(name="small"), QProgressBar()
        self.job_bar.setFixedWidth(110)
        self.job_bar.setTextVisible(False)
        self.job_bar.setAccessibleName(tr("Progress of the running job"))
        for part in (self.local, vertical_rule(12)):
            bar.addWidget(part)
        self.about_rule = vertical_rule(12)
        bar.add_news(self.selected, self.about_rule, self.about)
        self.saved = label(name="sub")
        for widget in (self.job_name, self.job_bar, self.saved):
            bar.addPermanentWidget(widget)
            widget.hide()
        self._job_timer = QTimer(self)
        self._job_timer.setSingleShot(True)
        self._job_timer.setInterval(PROGRESS_DELAY)
        self._job_timer.timeout.connect(self._show_job)

    def _post(self, function: Callable[[], object]) -> None:
        """Run what a job has to report on this thread; none of it is done by hand."""

        def aside() -> None:
            with self.store.aside():
                function()

        self.bridge.post(aside)

    # -- acting

    def act(self, id: str) -> None:
        """Run an action by its id; what cannot be used says why in the status bar."""
        reason = BY_ID[id].needs(self.store.workspace)
        if reason:
            self.statusBar().showMessage(reason, 6000)
            return
        self.commands.run(id)
        self._refresh_actions()

    def reduce_motion(self, still: bool) -> None:
        """Whether things may glide, as the user wants it."""
        motion.reduced = still
        self.desk.settle(still=still)

    def key_of(self, id: str) -> str:
        """The first shortcut of an action as text, "" for none."""
        action = self.actions_by_id.get(id)
        keys = action.shortcuts() if action is not None else []
        return keys[0].toString(QKeySequence.SequenceFormat.NativeText) if keys else ""

    def set_keys(self, chosen: dict[str, keys.Keys]) -> None:
        """Other keys for commands; menus, palette and tooltips follow."""
        keys.use(chosen)
        self.desk.settle(keys=chosen)
        for id, action in self.actions_by_id.items():
            action.setShortcuts([QKeySequence(key) for key in keys.keys_of(id)])
        shortcuts.changed.emit()
        self._refresh_actions()

    def panel(self, word: str) -> Panel:
        """A panel or the content of a dock, by its word."""
        return self.dock_panels[word] if word in self.dock_panels else self.stage.panels[word]

    def _refresh_actions(self) -> None:
        workspace = self.store.workspace
        for spec in ACTIONS:
            action = self.actions_by_id[spec.id]
            reason = spec.needs(workspace)
            action.setEnabled(not reason)
            action.setToolTip(reason or tr(spec.tip) or tr(spec.text))
            action.setStatusTip("")
        for id, step in (("history.undo", workspace.history.undo), ("history.redo", workspace.history.redo)):
            words = f"{tr(BY_ID[id].text)} {escaped(step)}".strip()
            self.actions_by_id[id].setText(_short(words).replace("&", "&&"))
        settings = self.desk.settings
        self.actions_by_id[f"theme.{settings.theme}"].setChecked(True)
        self.actions_by_id["view.still"].setChecked(settings.still)
        self.actions_by_id[f"layout.{self.layout_name}"].setChecked(True)
        self.actions_by_id["mark.advance"].setChecked(settings.advance)
        self.actions_by_id["figure.pseudonyms"].setChecked(settings.pseudonyms)
        self.actions_by_id["figure.blur"].setChecked(settings.blur)
        self.layouts.set_value(self.layout_name)
        self.switch.set_words(tr(self.layout_name.capitalize()))
        icons.dress(self.theme_button, "sun" if theme.current().dark else "moon", 16)

    def _on_theme_button(self) -> None:
        self.act("theme.light" if theme.current().dark else "theme.dark")

    def _on_palette(self, entry: Entry) -> None:
        if entry.kind == "command":
            self.act(str(entry.target))
        elif entry.kind == "identity":
            self.commands.show_identity(str(entry.target))
        else:
            self.commands.look_at(int(entry.target))  # type: ignore[call-overload]

    def _on_choice(self, error: NeedsChoice, then: Callable[[Mapping[str, str]], None]) -> None:
        ImportPreview(error.options, error.message, then, self).open()  # type: ignore[arg-type]

    def _say(self, title: str, text: str = "", action: str = "") -> None:
        card = self.notices.show(title, text, kind="info", button=tr(BY_ID[action].text) if action else "")
        card.acted.connect(lambda: self.act(action))

    # -- showing

    def _on_store(self, changed: frozenset[str], initiator: object) -> None:
        self._refresh_actions()
        self._show_status()
        if changed & {"models", "features", "model_a", "model_b"}:
            self._show_chips()
        if "faces" in changed and self.store.workspace.faces is None:
            self.stage.show_page("gallery")

    def _show_status(self) -> None:
        workspace: Workspace = self.store.workspace
        faces = workspace.faces
        name = self.keeping.name or (faces.name if faces is not None else "")
        star = "*" if self.keeping.dirty else ""
        self.setWindowTitle(f"{escaped(name)}{star} — FaceLens" if name else "FaceLens")
        self.saved.setText(self.keeping.said)
        self.saved.setToolTip(plain_tip(escaped(str(self.keeping.path))) if self.keeping.path is not None else "")
        self.saved.setVisible(bool(self.keeping.said))
        if faces is None:
            self.selected.setText(tr("No gallery"))
            self.about.setText("")
        else:
            self.selected.setText(tr("{n} of {total} selected", n=len(workspace.selection), total=len(faces)))
            people = plural(len(faces.identity.names), "{n} identity", "{n} identities")
            self.about.setText(" · ".join((faces.name, plural(len(faces), "{n} face", "{n} faces"), people)))
        bar = self.statusBar()
        assert isinstance(bar, StatusBar)
        bar.set_empty(self.about_rule, self.about, empty=faces is None)
        self.clear_filter.setVisible(bool(workspace.arrangement.filter))
        self._show_subtitles()

    def _show_chips(self) -> None:
        """Models A and B in the toolbar, once there is a model."""
        known = bool(self.store.workspace.model_names)
        for chip in self.chips.values():
            chip.refresh()
            chip.setVisible(known)
        self.swap_button.setVisible(known)
        self.strip.fit()

    def _fold_find(self, small: bool) -> None:
        """The field that opens the palette: its words, or one of them."""
        scarce = bool(self.store.workspace.model_names) or self.width() < NARROW
        self.find_button.setText(tr("Find") if small else tr("Find a face, an identity or a command"))
        self.find_button.setMinimumWidth(90 if small else 270 if scarce else 330)

    def _show_subtitles(self) -> None:
        for word, panel in self.dock_panels.items():
            self.docks[word].header.set_subtitle(panel.subtitle())

    def _on_job(self, job: Job) -> None:
        self.docks["jobs"].header.set_subtitle(self.dock_panels["jobs"].subtitle())
        self.modelling.on_job(job)
        if job.state.ended and job.state is not State.FAILED:  # a failure is logged where it is met
            logging.getLogger("facelens.jobs").info("%s: %s", job.request.title, progress_text(job))
        running = [job for job in self.jobs.jobs if job.state is State.RUNNING]
        if not running:
            self._job_timer.stop()
            self.job_name.hide()
            self.job_bar.hide()
        elif self.job_bar.isVisible():
            self._show_job()
        elif not self._job_timer.isActive():
            self._job_timer.start()

    def _show_job(self) -> None:
        running = [job for job in self.jobs.jobs if job.state is State.RUNNING]
        if not running:
            return
        job = running[0]
        self.job_name.setText(job.request.title)
        self.job_bar.setRange(0, 1000 if job.total else 0)
        self.job_bar.setValue(round(1000 * job.done / job.total) if job.total else 0)
        self.job_name.show()
        self.job_bar.show()

    # -- layouts

    def layout_now(self) -> Layout:
        """How the window is laid out, for the workspace's file."""
        state = bytes(self.saveState(len(DOCKS)).data())
        size = self.stage.panels["gallery"].grid.thumbnail_size  # type: ignore[attr-defined]
        return Layout(self.layout_name, state, self.stage.word, size)

    def take_layout(self, layout: Layout) -> None:
        """Lay the window out as a file says; Qt's own bytes only where a window of this user's has made them."""
        if layout.name in LAYOUTS:
            self._keep_layout()
            if layout.state and shelf.own_layout(layout):
                layouts = {**self.desk.settings.layouts, layout.name: layout.state}
                self.desk.settings = replace(self.desk.settings, layouts=layouts)
                self.layout_name = layout.name
                self.restoreState(QByteArray(layout.state), len(DOCKS))
            elif layout.name != self.layout_name:
                self.apply_layout(layout.name)
        if layout.page in {cls.word for cls in PANELS}:
            self.stage.show_page(layout.page)
        if SIZES[0] <= layout.thumbnails <= SIZES[1]:
            self.stage.panels["gallery"].grid.set_thumbnail_size(layout.thumbnails)  # type: ignore[attr-defined]

    def apply_layout(self, name: str) -> None:
        """Show a named layout as the user left it."""
        if self.isVisible():
            self._keep_layout()
        self.layout_name = name
        kept = self.desk.settings.layouts.get(name, b"")
        if not (kept and self.restoreState(QByteArray(kept), len(DOCKS))):
            self._default_layout(name)
        self.desk.settings = replace(self.desk.settings, layout=name)
        self.stage.current.home().setFocus()  # docks that come and go take the focus with them

    def _default_layout(self, name: str) -> None:
        for dock in self.findChildren(Dock):
            if dock.objectName().startswith("beside-"):
                dock.close()
        for word, dock in self.docks.items():
            dock.setFloating(False)
            dock.setVisible(word in LAYOUTS[name])
        for cls, area in DOCKS:
            self.addDockWidget(AREAS[area], self.docks[cls.word])
        self.splitDockWidget(self.docks["jobs"], self.docks["log"], Qt.Orientation.Horizontal)
        self.splitDockWidget(self.docks["log"], self.docks["history"], Qt.Orientation.Horizontal)
        for word, dock in self.docks.items():
            dock.setVisible(word in LAYOUTS[name])
        self._size_docks()

    def _size_docks(self) -> None:
        left = [self.docks[word] for word in ("sources", "filter", "identities", "tags")]
        self.resizeDocks(left, [146, 104, 316, 250], Qt.Orientation.Vertical)
        self.resizeDocks([left[0], self.docks["inspector"]], [232, 272], Qt.Orientation.Horizontal)
        self.resizeDocks([self.docks["jobs"]], [150], Qt.Orientation.Vertical)
        foot = [self.docks[word] for word in ("jobs", "log", "history")]
        self.resizeDocks(foot, [320, 340, 260], Qt.Orientation.Horizontal)

    def _keep_layout(self) -> None:
        state = bytes(self.saveState(len(DOCKS)).data())
        self.desk.settings = replace(
            self.desk.settings, layouts={**self.desk.settings.layouts, self.layout_name: state}
        )

    def reset_layout(self) -> None:
        """The current layout as it was made."""
        others = {name: state for name, state in self.desk.settings.layouts.items() if name != self.layout_name}
        self._default_layout(self.layout_name)
        self.desk.settings = replace(self.desk.settings, layouts=others)

    def open_beside(self, word: str) -> None:
        """A page as a dock beside the stage."""
        name = f"beside-{word}"
        old = self.findChild(Dock, name)
        if old is not None:
            if self.dockWidgetArea(old) != Qt.DockWidgetArea.NoDockWidgetArea:  # else it is on its way
                old.show()
                old.raise_()
            return
        cls = next(cls for cls in PANELS if cls.word == word)
        dock = Dock(tr(cls.title), name, parent=self)
        dock.hide()
        dock.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        panel = cls(self.desk, dock)
        dock.setWidget(panel)
        if word in AT_THE_FOOT:
            panel.dress(dock.header)  # type: ignore[attr-defined]
        # Making a page and showing it each take their time: between them the window hears what is asked of it.
        place = self._open_at_foot if word in AT_THE_FOOT else self._open_at_right
        QTimer.singleShot(0, dock, lambda: place(dock))

    def _open_at_right(self, dock: Dock) -> None:
        """Between stage and inspector; two would leave the stage no room, so they share a place."""
        right = Qt.DockWidgetArea.RightDockWidgetArea
        there = [
            one
            for one in self.findChildren(Dock)
            if one.objectName().startswith("beside-") and self.dockWidgetArea(one) == right
            if one.isVisible() and not one.isFloating()
        ]
        self.addDockWidget(right, dock)
        if there:
            self.tabifyDockWidget(there[-1], dock)
            dock.show()
            dock.raise_()
            return
        self.splitDockWidget(dock, self.docks["inspector"], Qt.Orientation.Horizontal)
        dock.show()
        self.resizeDocks([dock, self.docks["inspector"]], [420, 240], Qt.Orientation.Horizontal)

    def _open_at_foot(self, dock: Dock) -> None:
        """A dock that needs width: under the stage, with what is there in one place beside it."""
        self.addDockWidget(AREAS["bottom"], dock)
        foot = [self.docks[word] for word in ("jobs", "log", "history")]
        foot = [one for one in foot if not one.isFloating() and self.dockWidgetArea(one) == AREAS["bottom"]]
        if foot:
            self.splitDockWidget(dock, foot[0], Qt.Orientation.Horizontal)
            for one in foot[1:]:
                self.tabifyDockWidget(foot[0], one)
            if foot[0].isVisible():
                foot[0].raise_()
        dock.show()
        self.resizeDocks([dock], [FOOT], Qt.Orientation.Vertical)
        if foot and foot[0].isVisible():
            self.resizeDocks([dock, foot[0]], [640, 340], Qt.Orientation.Horizontal)

    def page_in_front(self) -> str:
        """The word of the page that is worked in: the one on the stage, or one beside it that has the keyboard."""
        focus = self.focusWidget()
        for dock in self.findChildren(Dock):
            if focus is not None and dock.objectName().startswith("beside-") and dock.isAncestorOf(focus):
                return dock.objectName().removeprefix("beside-")
        return self.stage.word

    def regions(self) -> list[QWidget]:
        """What F6 walks: toolbar, stage tabs, stage body, visible docks."""
        beside = [dock for dock in self.findChildren(Dock) if dock.objectName().startswith("beside-")]
        docks = [dock.widget() for dock in (*beside, *self.docks.values()) if dock.isVisible()]
        return [self.toolbar, self.stage.tabs, self.stage.current, *docks]

    # -- dragging in

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        paths = [Path(url.toLocalFile()) for url in event.mimeData().urls() if url.isLocalFile()]
        if paths and event.source() is None:
            self.veil.matching = self.stage.word == "match"
            self.veil.show_for(*paths, may_add=self.store.workspace.faces is not None)
            event.acceptProposedAction()

    def dragMoveEvent(self, event: QDragMoveEvent) -> None:
        self.veil.over(self.veil.mapFrom(self, event.position()))
        event.acceptProposedAction()

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        self.veil.hide()

    def dropEvent(self, event: QDropEvent) -> None:
        self.veil.over(self.veil.mapFrom(self, event.position()))
        paths, doing = self.veil.paths, self.veil.doing
        self.veil.hide()
        event.acceptProposedAction()
        if doing == "model":
            for path in paths:
                if path == paths[0] or glance(path) == "model":
                    self.open_model(path)
        elif paths and doing == "detector":
            self.find_faces(paths[0])
        elif paths and doing == "workspace":
            self.keeping.open(paths[0])
        elif paths and doing == "recipe":
            self.open_recipe(paths[0])
        elif paths and doing == "vectors":
            self.import_vectors(paths[0])
        elif paths and doing == "scores":
            self.opening.take_scores(paths[0])
        elif paths and doing == "pairs":
            self.opening.take_pairs(paths[0])
        elif paths and doing == "queries":
            self.opening.open_queries(paths[0])
        elif paths:
            self.opening.open(paths[0], add=doing == "add")

    def open_path(self, path: Path) -> None:
        """Open what lies there: a gallery, a workspace, a model, vectors or a recipe."""
        ways = {
            "workspace": self.keeping.open,
            "model": self.open_model,
            "detector": self.open_model,
            "vectors": self.import_vectors,
            "recipe": self.open_recipe,
        }
        ways.get(glance(path), self.opening.open)(path)

    def open_model(self, path: Path) -> None:
        """Show the models and say what the file is; a face detector is no model, and is offered as what it is."""
        if glance(path) == "detector":
            self.find_faces(path)
            return
        self.stage.show_page("models")
        self.modelling.load(path)

    def open_recipe(self, path: Path) -> None:
        """Show the training page with a recipe file; nothing starts by itself."""
        self.stage.show_page("training")
        self.stage.panels["training"].open_recipe(path)  # type: ignore[attr-defined]

    def find_faces(self, detector: Path | None = None) -> None:
        """Ask how to find the faces of the open gallery; a `detector` without one is kept for later."""
        if self.store.workspace.faces is None:
            if detector is not None:
                self.desk.settle(detector=str(detector.absolute()))
                said = tr("{name} finds faces. Open a gallery, then choose Find faces.", name=escaped(detector.name))
                self.statusBar().showMessage(said, 12000)
            return
        dialog = FindFaces(self.desk, self.finding.start, self)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        if detector is not None:
            dialog.take(detector)
        dialog.open()

    def import_vectors(self, path: Path) -> None:
        """Show the models and take vectors made elsewhere."""
        if self.store.workspace.faces is not None:
            self.stage.show_page("models")
        self.modelling.import_vectors(path)

    # -- beginning and end

    def after_paint(self, function: Callable[[], None]) -> None:
        """Run `function` once the window has been painted for the first time."""
        self._painted.append(function)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if not self.desk.settings.layouts.get(self.layout_name):
            self._size_docks()  # on the way to its size the window has squeezed them

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        waiting, self._painted = self._painted, []
        for function in waiting:
            QTimer.singleShot(0, function)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "theme_button"):
            icons.dress(self.theme_button, "sun" if theme.current().dark else "moon", 16)

    def closeEvent(self, event: QCloseEvent) -> None:
        if not self._closing and not (self._may_close() and self.keeping.may_close()):
            event.ignore()
            return
        self._closing = True
        self._keep_layout()
        size = self.stage.panels["gallery"].grid.thumbnail_size  # type: ignore[attr-defined]
        self.desk.settle(geometry=bytes(self.saveGeometry().data()), thumbnail_size=size)
        if any(job.request.long for job in self.jobs.running):
            self.hide()  # what was learned is saved first, which may take a moment
        self.what.end()
        self.commands.close_guide()
        # Work first, widgets after: nothing may report to a widget that is gone.
        self.keeping.close()
        self.jobs.shutdown()
        self.hand.close()
        self.bridge.close()
        for stop in self._stop:
            stop()
        for panel in self.findChildren(Panel):
            panel.close_panel()
        self.thumbnails.close()
        super().closeEvent(event)

    def _may_close(self) -> bool:
        running = [
            job for job in self.jobs.jobs if job.state is State.RUNNING and job.request.slot not in ("open", "doctor")
        ]
        if not running:
            return True
        job = running[0]
        share = tr("{percent} %", percent=round(100 * job.done / job.total)) if job.total else tr("working")
        box = QMessageBox(self)
        box.setIcon(QMessageBox.Icon.Question)
        box.setTextFormat(Qt.TextFormat.PlainText)
        box.setText(tr("{title} is still running ({share}).", title=job.request.title, share=share))
        box.setInformativeText(tr("Finished work is kept."))
        stop = box.addButton(tr("Stop and close"), QMessageBox.ButtonRole.AcceptRole)
        keep = box.addButton(tr("Keep working"), QMessageBox.ButtonRole.RejectRole)
        box.setDefaultButton(keep)
        box.exec()
        box.deleteLater()
        return box.clickedButton() is stop

    def sizeHint(self) -> QSize:
        return QSize(1440, 900)


def _short(words: str) -> str:
    """For a menu: a filter may be as long as one likes."""
    return words if len(words) <= LONGEST else words[: LONGEST - 1] + "…"
