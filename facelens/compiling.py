"""Compiled inner loops: kept on disk where numba finds a folder it may write to, else compiled anew by each process."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import Any

_log = logging.getLogger("facelens.compiling")


def compiled(*signature: Any, fastmath: bool = False) -> Callable[[Callable[..., Any]], Any]:
    """A decorator as numba's njit: divisions as in numpy, other threads go on meanwhile.

    Without a signature a function is compiled when it is first called, with one at once.
    """
    import numba

    njit: Any = partial(numba.njit, *signature, error_model="numpy", nogil=True, fastmath=fastmath)

    def decorated(function: Callable[..., Any]) -> Any:
        try:
            return njit(cache=True)(function)
        except RuntimeError as error:  # the installation and the home folder are read-only
            _log.info("%s is compiled anew in every process: %s", function.__name__, error)
            return njit()(function)

    return decorated
