"""What PySide gets wrong and would end the program, mended once for all views.

Overrides   An exception that C code raises (a row that numpy does not have, a widget that is gone) has no object yet on
            Python 3.11; where an override was called under another call from Python, PySide (6.8 to 6.11) hangs the
            trace on that object, and the program ends. An `except` makes the object: every override has one around it.
Places      When a layout is added to another, PySide makes an object for every place in it and does not hear when Qt
            deletes that place. What Python makes next at the same address is then known under two names, and when Qt
            deletes it, PySide (6.10, 6.11) looks at it once more after it has let it go. So the objects are let go at
            once, in the call that made them.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from types import FunctionType, MethodDescriptorType
from typing import Any

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QBoxLayout, QGridLayout, QLayout, QSpacerItem, QWidget, QWidgetItem
from shiboken6 import Shiboken


def mend() -> None:
    """For every class of Qt's objects that is made from here on, and every layout; pyqtgraph's too."""
    if sys.version_info < (3, 12):
        QObject.__init_subclass__ = classmethod(_wrap_overrides)  # type: ignore
    for kind, name in ((QBoxLayout, "addLayout"), (QBoxLayout, "insertLayout"), (QGridLayout, "addLayout")):
        setattr(kind, name, _forgetting(getattr(kind, name)))


def _wrap_overrides(cls: type, /, **_: Any) -> None:
    for name, function in list(vars(cls).items()):
        if type(function) is FunctionType and any(
            type(vars(base).get(name)) is MethodDescriptorType for base in cls.__mro__[1:]
        ):
            setattr(cls, name, upright(function))


def upright(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same, but what it raises has its object."""
    if len(inspect.signature(function).parameters) == 1:  # PySide asks a slot how many arguments it takes

        @functools.wraps(function)
        def alone(self: Any) -> Any:
            try:
                return function(self)
            except BaseException:
                raise

        return alone

    @functools.wraps(function)
    def called(self: Any, *given: Any, **named: Any) -> Any:
        try:
            return function(self, *given, **named)
        except BaseException:
            raise

    return called


def _forgetting(add: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(add)
    def added(self: QLayout, *given: Any, **named: Any) -> Any:
        done = add(self, *given, **named)
        for layout in (*given, *named.values()):
            _forget(layout)
        return done

    return added


def _forget(layout: object) -> None:
    if isinstance(layout, QLayout):
        for part in parts(layout):
            _forget(part)


def parts(layout: QLayout) -> list[QWidget | QLayout | None]:
    """What lies in a layout, place by place, None for room; nothing of the places themselves is kept."""
    found: list[QWidget | QLayout | None] = []
    for number in range(layout.count()):
        place = layout.itemAt(number)
        found.append(place if isinstance(place, QLayout) else place.widget() if place is not None else None)
        if isinstance(place, (QWidgetItem, QSpacerItem)) and not Shiboken.createdByPython(place):
            Shiboken.invalidate(place)
    return found


def kept_places() -> int:
    """How many places in layouts that Qt has made are known to Python; none should be for longer than a call."""
    return len(kept())


def kept() -> list[QWidgetItem | QSpacerItem]:
    """Those places; one whose layout is gone may not be touched."""
    places = (one for one in Shiboken.getAllValidWrappers() if isinstance(one, (QWidgetItem, QSpacerItem)))
    return [one for one in places if not Shiboken.createdByPython(one)]
