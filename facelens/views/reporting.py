"""The report of the open workspace: one job in the worker, and a word on where it lies."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFileDialog

from facelens.session.jobs import Job, Request, State
from facelens.session.workspace import unique_name
from facelens.views.leaving import guise, hidden_words, stem
from facelens.words import escaped, tr

if TYPE_CHECKING:
    from facelens.views.main_window import MainWindow

SLOT = "report"


def ask(window: MainWindow) -> None:
    """Ask where to, and write a report into a new folder there."""
    assert window.desk.workspace.faces is not None
    if place := QFileDialog.getExistingDirectory(window, tr("A folder for the report")):
        name = tr("{gallery} report", gallery=stem(window.desk).replace("/", "-"))
        taken = tuple(one.name for one in Path(place).iterdir())
        write(window, Path(place) / unique_name(name, taken))


def write(window: MainWindow, out: Path) -> None:
    """Write a report in the worker, which gets the workspace with all its answers: nothing is worked out twice.

    The disguise that the user wants is put on there (`session/cover.py`).
    """
    from facelens.session import report

    request = Request(
        title=tr("Report on {name}", name=escaped(window.desk.workspace.faces.name)),  # type: ignore[union-attr]
        call=report.write,
        args=(out, report.luggage(window.desk.workspace)),
        kwargs={
            "views": {word: window.panel(word).figure_view() for word in report.SECTIONS},
            "guise": guise(window.desk),
        },
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
        title = tr("The report is written{how}", how=hidden_words(job.request.kwargs["guise"]))
        card = window.notices.show(title, text, kind="info", button=tr("Copy the path"))
        card.acted.connect(lambda: QGuiApplication.clipboard().setText(page))
