"""The tour: the real window without a display, walked through every panel, one picture each.

Later panels add a step to STEPS; the README's screenshots come from here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from PySide6.QtCore import QCoreApplication, QEventLoop
from PySide6.QtWidgets import QWidget

from facelens.errors import FaceLensError
from facelens.resources import sample_data
from facelens.session import log
from facelens.session.jobs import State
from facelens.session.selection import Selection
from facelens.session.settings import Settings
from facelens.views import theme
from facelens.views.app import make_application
from facelens.views.main_window import MainWindow
from facelens.words import tr

SIZE = (1440, 900)
PATIENCE = 120.0  # seconds for one step


def walk(out: Path, *, themes: Sequence[str] = ("dark", "light"), gallery: Path | None = None) -> list[Path]:
    """Write a picture of every panel in each theme, and every figure a panel can export; returns the files."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = tr("The folder {path} cannot be made: {why}.", path=out, why=error.strerror)
        raise FaceLensError(message, hint=tr("Choose another folder with --out.")) from error
    crashes: list[BaseException] = []
    restore = log.install(on_crash=lambda error, trace: crashes.append(error))
    try:
        return _walk(out, themes, gallery or sample_data(), crashes)
    finally:
        restore()  # before an error leaves: whoever calls must hear of it


def _walk(out: Path, themes: Sequence[str], gallery: Path, crashes: list[BaseException]) -> list[Path]:
    app = make_application()
    written: list[Path] = []
    for scheme in themes:
        theme.apply(app, scheme)  # type: ignore[arg-type]
        # Nothing of the user's own settings shows in the tour, and the tour changes none of them.
        window = MainWindow(Settings(theme=scheme), remember=False)
        window.resize(*SIZE)
        window.show()
        guide = Guide(window, out, scheme=scheme, gallery=gallery, crashes=crashes)
        try:
            for name, step in STEPS:
                step(guide)
                written += guide.shoot(name)
            if scheme == themes[0]:
                written += guide.export()
        finally:
            window.jobs.shutdown()
            window.close()
            window.deleteLater()
            app.sendPostedEvents(None, 0)
    return written


class Guide:
    """Drives one window."""

    def __init__(
        self, window: MainWindow, out: Path, *, scheme: str, gallery: Path, crashes: list[BaseException]
    ) -> None:
        self.window, self.out, self.scheme, self.gallery, self.crashes = window, out, scheme, gallery, crashes

    def settle(self) -> None:
        """Wait until no job runs and no thumbnail is awaited."""
        end = time.monotonic() + PATIENCE
        quiet = 0
        while quiet < 3:
            QCoreApplication.processEvents(QEventLoop.ProcessEventsFlag.AllEvents, 20)
            busy = (
                any(job.state in (State.WAITING, State.RUNNING) for job in self.window.jobs.jobs)
                or not self.window.thumbnails.idle
            )
            quiet = 0 if busy else quiet + 1
            if time.monotonic() > end:
                raise FaceLensError(
                    tr("The tour waited too long for a job."), hint=tr("Look into the log, and run it again.")
                )
            if busy:
                time.sleep(0.005)
        if self.crashes:
            raise self.crashes[0]  # Qt only prints what escapes a slot; the tour must not look finished then
        failed = [job for job in self.window.jobs.jobs if job.state is State.FAILED]
        if failed and failed[0].error is not None:
            raise failed[0].error

    def shoot(self, name: str, widget: QWidget | None = None) -> list[Path]:
        """Save a picture of the window."""
        self.settle()
        path = self.out / f"{name}_{self.scheme}.png"
        target = widget or self.window
        if not target.grab().save(str(path), "PNG"):
            raise FaceLensError(
                tr("{path} could not be written.", path=path), hint=tr("Choose another folder with --out.")
            )
        return [path]

    def export(self) -> list[Path]:
        """Every figure and list the panels export."""
        paths = [self.out / f"contact_sheet.{kind}" for kind in ("png", "svg", "pdf")]
        for path in paths:
            self.window.commands.export_sheet(path)
            self.settle()
        self.window.commands.export_list(self.out / "selection.csv")
        return [*paths, self.out / "selection.csv"]


# -- the steps, in order; each leaves the window as its picture shows it


def _welcome(guide: Guide) -> None:
    pass


def _gallery(guide: Guide) -> None:
    guide.window.opening.open(guide.gallery)
    guide.settle()
    workspace = guide.window.store.workspace
    assert workspace.faces is not None
    if "degradation" in workspace.faces.columns:
        guide.window.store.update(arrangement=replace(workspace.arrangement, sort="degradation", descending=True))
    ids = guide.window.store.workspace.shown_ids
    picked = ids[np.array([1, 2, 9, 10, 11])] if len(ids) > 12 else ids[:2]
    guide.window.store.update(selection=Selection(ids=picked, current=int(picked[-2 if len(picked) > 1 else 0])))


def _filtered(guide: Guide) -> None:
    workspace = guide.window.store.workspace
    assert workspace.faces is not None
    text = (
        "degradation > p80 and split = test"
        if "degradation" in workspace.faces.columns
        else workspace.faces.label(0).split()[0]
    )
    if "split" not in workspace.faces.columns and "degradation" in workspace.faces.columns:
        text = "degradation > p80"
    guide.window.store.update(arrangement=replace(workspace.arrangement, filter=text, group="identity"))


def _loupe(guide: Guide) -> None:
    workspace = guide.window.store.workspace
    guide.window.store.update(arrangement=replace(workspace.arrangement, filter="", group=""))
    guide.window.act("view.loupe")


def _compare(guide: Guide) -> None:
    workspace = guide.window.store.workspace
    guide.window.store.update(selection=replace(workspace.selection, ids=workspace.selection.ids[:4]))
    guide.window.act("view.compare")


def _palette(guide: Guide) -> None:
    guide.window.act("view.grid")
    guide.window.act("palette.open")
    guide.window.palette_card.line.setText("co")


def _doctor(guide: Guide) -> None:
    guide.window.palette_card.close_palette()
    guide.window.act("doctor.show")


def _drop(guide: Guide) -> None:
    guide.window.stage.show_page("gallery")
    guide.window.veil.show_for(guide.gallery, may_add=True)


def _match_layout(guide: Guide) -> None:
    guide.window.veil.hide()
    guide.window.act("layout.match")
    guide.window.act("view.compare")


def _back(guide: Guide) -> None:
    guide.window.act("view.grid")
    guide.window.act("layout.browse")


STEPS: tuple[tuple[str, Callable[[Guide], None]], ...] = (
    ("welcome", _welcome),
    ("gallery", _gallery),
    ("filter", _filtered),
    ("loupe", _loupe),
    ("compare", _compare),
    ("palette", _palette),
    ("doctor", _doctor),
    ("drop", _drop),
    ("match_layout", _match_layout),
    ("browse_layout", _back),
)
