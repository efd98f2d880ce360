"""Vectors and maps to other programs: what the file dialogs offer, the job, and how to open what was written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFileDialog

from facelens.session import exporting
from facelens.session.exporting import TARGETS, Exported
from facelens.session.jobs import Job, Request, State
from facelens.session.mark_columns import spoken
from facelens.views.leaving import leaving
from facelens.views.leaving import written as told_of
from facelens.words import escaped, tr

if TYPE_CHECKING:
    from facelens.views.main_window import MainWindow


@dataclass(frozen=True)
class Kind:
    """One line of a file dialog."""

    words: str
    target: str = ""  # of TARGETS; "" for a table of points alone
    ending: str = ""
    rich: bool = False  # with pictures and the nearest of each face

    @property
    def line(self) -> str:
        """As the dialog shows it."""
        return f"{tr(self.words)} (*{self.ending})"


def _kind(words: str, target: str, *, rich: bool = False) -> Kind:
    return Kind(words, target, TARGETS[target], rich)


PROGRAMS = (
    _kind("Parquet with pictures and nearest faces, for Embedding Atlas", "parquet", rich=True),
    _kind("Folder for TensorBoard's projector", "tensorboard"),
    _kind("Folder for FiftyOne", "fiftyone"),
)
VECTORS = (_kind("npz", "npz"), _kind("Parquet without pictures", "parquet"), *PROGRAMS)
POINTS = (
    Kind("CSV of points", ending=".csv"),
    Kind("Parquet of points", ending=".parquet"),
    Kind("npz of points", ending=".npz"),
    *PROGRAMS,
)


def ask(window: MainWindow, title: str, suggested: str, kinds: Sequence[Kind]) -> tuple[Path, Kind] | None:
    """Where to, and as what; None where the user thinks better of it. A folder has no ending."""
    name, line = QFileDialog.getSaveFileName(window, title, suggested, ";;".join(kind.line for kind in kinds))
    if not name:
        return None
    kind = next((one for one in kinds if one.line == line), None)
    if kind is None:  # a dialog that does not say which was chosen: the ending tells
        kind = next((one for one in kinds if one.ending and name.lower().endswith(one.ending)), kinds[0])
    out, endings = Path(name), {one.ending for one in kinds}
    if out.suffix.lower() in endings:  # that of another line, where the dialog does not change it
        return out.with_suffix(kind.ending), kind
    return Path(name + kind.ending), kind


def export(window: MainWindow, model: str, out: Path, kind: Kind) -> None:
    """Write faces and vectors of a model in the worker; a map goes along where it is the one of this model."""
    workspace = window.desk.workspace
    features, faces = workspace.features.get(model), workspace.faces
    if features is None or faces is None:
        return
    request = Request(
        title=tr("Export {name}", name=escaped(out.name)),
        call=exporting.export,
        args=(features, faces.with_columns(spoken(faces, workspace.annotations, workspace.subsets)), out),
        kwargs={
            "target": kind.target,
            "projection": exporting.map_of(workspace.projection, model),
            "excluded": workspace.excluded,
            "nearest": exporting.NEAREST if kind.rich else 0,
            "thumbnails": exporting.THUMBNAIL if kind.rich else 0,
        },
        slot="export",
        unit="",
    )

    def done(job: Job) -> None:
        if job.state is State.FAILED:
            window.desk.notify(job.error, trace=job.trace)
        elif job.state is State.DONE and isinstance(job.result, Exported):
            _tell(window, job.result)

    window.desk.jobs.submit(leaving(window.desk, request), then=done)


def _tell(window: MainWindow, written: Exported) -> None:
    """Say that it is there; where another program opens it, how."""
    window.desk.tell(told_of(window.desk, written.path))
    if not written.command and not written.notes:
        return
    told = [*written.notes]
    if written.command:
        told.append(tr("To open it in {program}, copy the command and run it.", program=written.program))
    button = tr("Copy the command") if written.command else ""
    title = written.sentence(written.path.name).rstrip(".")
    card = window.notices.show(title, " ".join(told), kind="info", button=button)
    if button:
        card.acted.connect(lambda: QGuiApplication.clipboard().setText(written.command))
