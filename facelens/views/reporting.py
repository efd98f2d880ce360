"""The report of the open workspace: one job in the worker, and a word on where it lies."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFileDialog

from facelens.session.jobs import Job, Request, State
from facelens.session.workspace import unique_name
from facelens.views.leaving import guise
from facelens.words import escaped, tr

if TYPE_CHECKING:
    from facelens.views.main_window import MainWindow

SLOT = "report"


def ask(window: MainWindow) -> None:
    """Ask where to, and write a report into a new folder there."""
    faces = window.desk.workspace.faces
    assert faces is not None
    if guise(window.desk):  # a report speaks of everything at once, and all of it is of the real people
        title = tr("The report has no pseudonyms and no blurred faces")
        text = tr("Switch both off in the Figure menu to write it, or export figures and tables one by one.")
        window.desk.say(title, text)
        return
    if place := QFileDialog.getExistingDirectory(window, tr("A folder for the report")):
        name = tr("{gallery} report", gallery=faces.name.replace("/", "-"))
        taken = tuple(one.name for one in Path(place).iterdir())
        write(window, Path(place) / unique_name(name, taken))


def write(window: MainWindow, out: Path) -> None:
    """Write a report in the worker, which gets the workspace with all its answers: nothing is worked out twice."""
    from facelens.session import report

    request = Request(
        title=tr("Report on {name}", name=escaped(window.desk.workspace.faces.name)),  # type: ignore[union-attr]
        call=report.write,
        args=(out, report.luggage(window.desk.workspace)),
        kwargs={"views": {word: window.panel(word).figure_view() for word in report.SECTIONS}},
        slot=SLOT,
        unit="",
    )
    window.jobs.submit(request, then=lambda job: _on_written(window, job))


def _on_written(window: MainWindow, job: Job) -> None:
    if job.state is State.FAILED:
        window.desk.notify(job.error, trace=job.trace)
    elif job.state is State.DONE:
        page = str(job.result)
        text = tr("{path}. Open it with a browser; numbers, tables and figures lie beside it.", path=escaped(page))
        card = window.notices.show(tr("The report is written"), text, kind="info", button=tr("Copy the path"))
        card.acted.connect(lambda: QGuiApplication.clipboard().setText(page))
