"""What every panel and dock has in common: it declares what it reads and is refreshed only when that changed."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QWidget
from shiboken6 import isValid

from facelens.session.jobs import JobQueue
from facelens.session.settings import Settings
from facelens.session.store import Listener, Store
from facelens.session.workspace import Workspace
from facelens.views import theme
from facelens.views.thumbnails import Thumbnails

if TYPE_CHECKING:
    from facelens.session.depicting import View


def while_there(owner: QObject, call: Callable[..., None]) -> Callable[..., None]:
    """`call`, as long as Qt has not deleted `owner`: a page beside the stage may be closed while its job runs."""
    return lambda *args: call(*args) if isValid(owner) else None


@dataclass(eq=False)
class Desk:
    """What a panel is given to work with; the window makes one."""

    store: Store
    jobs: JobQueue
    thumbnails: Thumbnails
    settings: Settings
    act: Callable[[str], None]  # run an action by its id
    open_path: Callable[[Path], None]  # open whatever lies there
    notify: Callable[..., object]  # show a failure: notify(error, trace="")

    tell: Callable[[str], None] = lambda text: None  # say in passing that something worked
    say: Callable[..., object] = lambda title, text="", action="": None  # show a card that may lead to an action
    draw: Callable[..., None] = lambda word, name="": None  # show how a figure of a page would be written
    vectors: Path | None = None  # where vectors are kept; None: in the cache
    remember: bool = True  # False in the tour: the user's own settings are neither shown nor changed
    asked: dict[str, tuple[object, ...]] = field(default_factory=dict)  # what is being answered, by the slot of its job
    _listeners: list[Listener] = field(default_factory=list)

    def settle(self, **changes: object) -> None:
        """Change settings, keep them, and tell the panels that read them."""
        self.settings = replace(self.settings, **changes)  # type: ignore[arg-type]
        if self.remember:
            self.settings.save()
        for listener in tuple(self._listeners):
            listener(frozenset(changes), self)

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call `listener(changed, initiator)` after each change of the store or the settings; the result ends that."""
        self._listeners.append(listener)
        stop_store = self.store.listen(listener)

        def stop() -> None:
            stop_store()
            if listener in self._listeners:
                self._listeners.remove(listener)

        return stop

    @property
    def workspace(self) -> Workspace:
        return self.store.workspace


class Panel(QWidget):
    """A view of the workspace. Subclasses set `word`, `title`, `reads` and implement `refresh(changed)`.

    `reads` names fields of the workspace and of the settings.

    Hidden panels do nothing; when they are shown they get everything that changed meanwhile in one refresh.
    """

    word = ""
    title = ""
    reads: frozenset[str] = frozenset()

    def __init__(self, desk: Desk, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("panel")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        theme.themes.pages.add(self)
        self.desk = desk
        self._stale: frozenset[str] = self.reads
        # The store must not keep a closed panel alive.
        heard = weakref.WeakMethod(self._on_store)

        def listener(changed: frozenset[str], initiator: object) -> None:
            if method := heard():
                method(changed, initiator)

        self._stop = desk.listen(listener)
        self.destroyed.connect(self._stop)

    def subtitle(self) -> str:
        """What the header says beside the title."""
        return ""

    def home(self) -> QWidget:
        """Where the keyboard belongs when one comes to this panel. (A focus proxy would hide the rest from Tab.)"""
        return self

    def figure_view(self) -> View:
        """What a figure of this panel shows beyond what the workspace says."""
        from facelens.session.depicting import View

        return View()

    def figure_held(self) -> dict[str, Any]:
        """What it has in hand for its figures, see `session.depicting`."""
        return {}

    def has_figures(self) -> bool:
        """Whether it is to be drawn at all; else the gallery is, wherever the page in front is meant."""
        return True

    def figure_places(self) -> Sequence[tuple[QWidget, str]]:
        """Parts of the page, with the figure that each shows now."""
        return ()

    def figure_name(self) -> str:
        """The figure of the part that has the keyboard, which a click gives it; "" for no one in particular."""
        focus = self.focusWidget()
        places = self.figure_places() if focus is not None else ()
        return next((name for part, name in places if part is focus or part.isAncestorOf(focus)), "")

    def refresh(self, changed: frozenset[str]) -> None:
        """Show the workspace; `changed` names the fields that differ from what is on screen."""

    def _on_store(self, changed: frozenset[str], initiator: object) -> None:
        relevant = changed & self.reads
        if not relevant:
            return
        self._stale |= relevant
        if self.isVisible():
            self._catch_up()

    def _catch_up(self) -> None:
        stale, self._stale = self._stale, frozenset()
        if stale:
            self.refresh(stale)

    def showEvent(self, event: QShowEvent) -> None:
        theme.dress(self)
        with self.desk.store.aside():  # what a panel makes of the selection when it comes is no step
            self._catch_up()
        super().showEvent(event)

    def close_panel(self) -> None:
        """Stop listening; the widget may be destroyed after this."""
        self._stop()
