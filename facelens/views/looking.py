"""Looking: a control of a page that is one of the workspace's Looks. It is kept in the file, and undone.

What the user chooses with it becomes a step; what is undone, or comes from a file, is chosen with it again as soon as
it is seen and offers that.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from PySide6.QtCore import QEvent, QObject, QTimer
from PySide6.QtWidgets import QComboBox, QWidget
from shiboken6 import isValid

from facelens.session.looks import Looks
from facelens.views.controls import Segmented
from facelens.views.panel import Desk


class Look(QObject):
    """One of them: `value` tells it as it is shown, `show` shows another one, False where it cannot be shown yet.

    While `seen` is hidden it listens to nobody; what has changed meanwhile is shown when it is seen again.
    """

    def __init__(
        self, desk: Desk, seen: QWidget, name: str, value: Callable[[], Any], show: Callable[[Any], object]
    ) -> None:
        super().__init__(seen)
        self.desk, self.name = desk, name
        self._seen, self._value, self._show = seen, value, show
        self._known = getattr(Looks(), name)  # what was wanted when it was shown last
        self._stop: Callable[[], None] = _nothing
        seen.installEventFilter(self)
        if seen.isVisible():
            self._listen()

    @property
    def _wanted(self) -> Any:
        return getattr(self.desk.workspace.looks, self.name)

    def tell(self) -> None:
        """The user has chosen."""
        self._known = self._value()
        self.desk.store.update(initiator=self, looks=replace(self.desk.workspace.looks, **{self.name: self._known}))

    def follow(self) -> None:
        """Show what is wanted, where that is something else than it was."""
        wanted = self._wanted
        if wanted == self._known or not isValid(self._seen) or not self._seen.isVisible():
            return
        with self.desk.store.aside():
            if wanted == self._value() or self._show(wanted) is not False:
                self._known = wanted

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Show:
            self._listen()
        elif event.type() == QEvent.Type.Hide:
            self._stop()
            self._stop = _nothing
        return False

    def _listen(self) -> None:
        if self._stop is not _nothing:
            return
        heard = weakref.WeakMethod(self._on_store)  # the store must not keep a closed page alive

        def listener(changed: frozenset[str], initiator: object) -> None:
            if method := heard():
                method(changed, initiator)

        self._stop = self.desk.store.listen(listener)
        QTimer.singleShot(0, self, self.follow)  # when its page has caught up

    def _on_store(self, changed: frozenset[str], initiator: object) -> None:
        if initiator is not self:
            self.follow()


def _nothing() -> None:
    """Nobody is listened to."""


def look(desk: Desk, control: Segmented | QComboBox, name: str, *, usual: int = 0) -> Look:
    """Make a control one of the Looks; "" is its place `usual`. After its page listens to it, for that comes first."""
    if isinstance(control, Segmented):
        made = Look(desk, control, name, control.value, lambda key: _press(control, key))
        control.changed.connect(lambda _: made.tell())
    else:
        made = Look(desk, control, name, lambda: control.currentData() or "", lambda key: _choose(control, key, usual))
        control.activated.connect(lambda _: made.tell())
    return made


def _press(control: Segmented, key: str) -> bool:
    """As a click does."""
    place = control.place_of(key) if key else 0
    if place < 0:
        return False
    control.set_current(place)
    control.changed.emit(place)
    return True


def _choose(control: QComboBox, key: str, usual: int) -> bool:
    place = control.findData(key) if key else usual % max(1, control.count())
    if not 0 <= place < control.count():
        return False
    control.setCurrentIndex(place)
    control.activated.emit(place)
    return True
