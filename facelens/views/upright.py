"""On Python 3.11 what fails in an override of Qt's methods is told, and does not end the program.

An exception that C code raises (a row that numpy does not have, a widget that is gone) has no object yet on Python
3.11; PySide (6.8 to 6.11) hangs the trace on that object where the override was called under another call from Python,
and the program ends. An `except` makes the object; so every override has one around it. Newer Pythons always make it.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from types import FunctionType, MethodDescriptorType
from typing import Any

from PySide6.QtCore import QObject


def install() -> None:
    """For every class of Qt's objects that is made from here on, pyqtgraph's too."""
    if sys.version_info < (3, 12):
        QObject.__init_subclass__ = classmethod(_wrap)  # type: ignore


def _wrap(cls: type, /, **_: Any) -> None:
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
