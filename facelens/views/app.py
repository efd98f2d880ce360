"""Starting the window: first paint, then everything else."""

from __future__ import annotations

import gc
import logging
import os
import sys
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, QtMsgType, qInstallMessageHandler
from PySide6.QtWidgets import QApplication

from facelens.errors import NoDisplay
from facelens.session import log
from facelens.session.settings import Settings
from facelens.views import theme
from facelens.views.controls import FocusRing
from facelens.views.main_window import MainWindow
from facelens.views.panels import PANELS
from facelens.views.tidying import Tidying
from facelens.words import tr

SOON = 800  # ms after the first paint
BREATH = 30  # ms between two of the files that pages are made of
_LEVELS = {
    QtMsgType.QtDebugMsg: logging.DEBUG,
    QtMsgType.QtInfoMsg: logging.INFO,
    QtMsgType.QtWarningMsg: logging.WARNING,
}


def make_application(arguments: list[str] | None = None) -> QApplication:
    """The one QApplication, in our dress."""
    app = QApplication.instance() or QApplication(arguments or ["facelens"])
    assert isinstance(app, QApplication)
    app.setApplicationName("FaceLens")
    app.setApplicationDisplayName("FaceLens")
    app.setDesktopFileName("facelens")
    if app.findChild(Tidying) is None:
        Tidying(app)
    return app


def run(*, gallery: Path | None = None, sample: bool = False) -> int:
    """Show the window until it is closed; raises NoDisplay where none can be opened."""
    _check_display()
    restore = log.install(
        on_crash=lambda error, trace: window.bridge.post(lambda: window.notices.error(error, trace=trace))
    )
    qInstallMessageHandler(
        lambda kind, _context, text: logging.getLogger("facelens.qt").log(_LEVELS.get(kind, logging.ERROR), text)
    )
    app = make_application(sys.argv)
    settings = Settings.load()
    theme.apply(app, settings.theme)  # type: ignore[arg-type]
    FocusRing().follow(app)
    window = MainWindow(settings)
    if gallery is not None:
        window.after_paint(lambda: window.open_path(gallery))
    elif sample:
        window.after_paint(window.opening.sample)
    window.after_paint(window.keeping.offer)
    window.after_paint(lambda: QTimer.singleShot(SOON, window, lambda: load_ahead(window)))
    window.show()
    try:
        return app.exec()
    finally:
        restore()


def load_ahead(window: QObject) -> None:
    """What pages are made of, before one is opened: charts, then the files of one page after the other.

    None of it is ever garbage, and it is nearly all that the collector would look through, so that is kept from it.
    """
    waiting: list[Callable[[], object]] = [_load_charts, *(page.load for page in PANELS)]
    timer = QTimer(window)

    def load_next() -> None:
        if waiting:
            waiting.pop(0)()
        else:
            timer.stop()
            timer.deleteLater()
            gc.freeze()

    timer.timeout.connect(load_next)
    timer.start(BREATH)


def _load_charts() -> None:
    import facelens.views.plots  # noqa: F401


def _check_display() -> None:
    """Qt aborts the process where it finds no display, so look before."""
    platform = os.environ.get("QT_QPA_PLATFORM", "")
    if not sys.platform.startswith("linux") or platform in ("offscreen", "minimal", "vnc"):
        return
    if os.environ.get("WAYLAND_DISPLAY") or _x_answers(os.environ.get("DISPLAY", "")):
        return
    raise NoDisplay(tr("There is no display to open a window on."), hint=tr("Run: facelens tour --out tour"))


def _x_answers(display: str) -> bool:
    """Whether an X server listens at `display`; only local sockets are looked at closely."""
    import socket

    if not display:
        return False
    host, _, number = display.rpartition(":")
    if host not in ("", "unix"):
        return True  # a forwarded display: Qt finds out
    path = f"/tmp/.X11-unix/X{number.split('.')[0]}"
    for address in (path, "\0" + path):
        with socket.socket(socket.AF_UNIX) as probe:
            try:
                probe.connect(address)
                return True
            except OSError:
                continue
    return False
