"""Finding faces: a detector file gives raw photographs the five points that models want them aligned by."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QFileDialog,
    QFormLayout,
    QHBoxLayout,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from facelens.images.faceset import FaceSet, Labels
from facelens.images.quarantine import Again
from facelens.session import folders, tasks
from facelens.session.jobs import Job, Request, State
from facelens.views.controls import label, plain_tip
from facelens.views.panel import Desk
from facelens.words import escaped, plural, tr

COLUMN = "detector"  # what there is to say about single pictures, as a column that can be filtered
POLICIES = {
    "largest": "the largest",
    "centre": "the one nearest to the middle",
    "best": "the surest",
    "only": "none of them",
}


class FindFaces(QDialog):
    """Which detector, and which of several faces; remembered for the next time."""

    def __init__(self, desk: Desk, start: Callable[..., None], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(tr("Find faces"))
        self.setMinimumWidth(480)
        self.desk, self._start = desk, start
        self.path = Path(desk.settings.detector) if desk.settings.detector else None
        self.file = label(name="small", wrap=True)
        self.choose = QPushButton(tr("Choose…"))
        self.choose.setToolTip(tr("The YuNet file of the OpenCV model zoo: face_detection_yunet_2023mar.onnx"))
        self.choose.clicked.connect(self._on_choose)
        self.policy = QComboBox()
        self.policy.setAccessibleName(tr("Which of several faces"))
        self.policy.setToolTip(tr("Which face is meant in a picture that shows several"))
        for key, words in POLICIES.items():
            self.policy.addItem(tr(words), key)
        self.policy.setCurrentIndex(max(0, self.policy.findData(desk.settings.detector_policy)))
        self.anew = QCheckBox(tr("also where the gallery has landmarks"))
        self.anew.setToolTip(tr("Landmarks of the gallery are replaced here; nothing on disk changes"))
        faces = desk.workspace.faces
        self.anew.setVisible(faces is not None and has_landmarks(faces))
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
        self.find_faces = QPushButton(tr("Find faces"))
        self.find_faces.setObjectName("primary")
        buttons.addButton(self.find_faces, QDialogButtonBox.ButtonRole.AcceptRole)
        buttons.accepted.connect(self._on_find)
        buttons.rejected.connect(self.reject)
        row = QHBoxLayout()
        row.setSpacing(8)
        row.addWidget(self.file, 1)
        row.addWidget(self.choose)
        form = QFormLayout()
        form.setHorizontalSpacing(16)
        form.setVerticalSpacing(10)
        form.addRow(tr("Detector"), row)
        form.addRow(tr("Of several faces"), self.policy)
        form.addRow("", self.anew)
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 18, 20, 14)
        column.setSpacing(14)
        column.addWidget(
            label(
                tr(
                    "Models want faces with eyes, nose and mouth in their usual places. A YuNet file finds these five "
                    "points in whole photographs. Nothing on disk changes."
                ),
                wrap=True,
            )
        )
        column.addLayout(form)
        column.addWidget(buttons)
        self._show()

    def _show(self) -> None:
        there = self.path is not None and self.path.is_file()
        name = escaped(self.path.name) if self.path is not None else tr("none chosen")
        self.file.setText(name if there or self.path is None else tr("{name} is not there any more", name=name))
        self.file.setToolTip(plain_tip(escaped(str(self.path or ""))))
        self.find_faces.setEnabled(there)
        self.find_faces.setToolTip(tr("Runs in the background") if there else tr("Choose a detector file first."))

    def _on_choose(self) -> None:
        folder = str(self.path.parent) if self.path is not None else ""
        if name := QFileDialog.getOpenFileName(self, tr("Choose a detector"), folder, "ONNX (*.onnx)")[0]:
            self.take(Path(name))

    def take(self, path: Path) -> None:
        """Use this file."""
        self.path = path
        self._show()

    def _on_find(self) -> None:
        assert self.path is not None
        policy = str(self.policy.currentData())
        self.desk.settle(detector=str(self.path.absolute()), detector_policy=policy)
        self.accept()
        self._start(self.path, policy=policy, anew=self.anew.isChecked() and not self.anew.isHidden())


def has_landmarks(faces: FaceSet) -> bool:
    """Whether any face has its five points."""
    return faces.landmarks is not None and bool(np.isfinite(faces.landmarks).all((1, 2)).any())


class Finding:
    """Runs the detector over the open gallery and puts the points into it."""

    def __init__(
        self, desk: Desk, *, say: Callable[[str, str], object], found: Callable[[], None] = lambda: None
    ) -> None:
        """`say(title, text)` shows what there is to tell, `found` is called when the gallery has its points."""
        self.desk, self._say, self._found = desk, say, found

    def start(self, detector: Path, *, policy: str = "largest", anew: bool = False) -> None:
        """Find the faces that have no points yet, with `anew` all of them."""
        faces = self.desk.workspace.faces
        if faces is None:
            return
        request = Request(
            title=tr("Find faces in {name}", name=faces.name),
            call=tasks.align_gallery,
            args=(replace(faces, landmarks=None) if anew else faces, detector),
            kwargs={"policy": policy, "quarantined": folders.quarantine()},
            slot="align",
            unit=tr("pictures"),
            again=Again(folders.quarantine()),
        )
        self.desk.jobs.submit(request, then=lambda job: self._on_found(job, faces))

    def _on_found(self, job: Job, asked: FaceSet) -> None:
        if job.state is State.FAILED:
            self.desk.notify(job.error, trace=job.trace)
        faces = self.desk.workspace.faces
        if job.state is not State.DONE or faces is None or faces.pictures != asked.pictures:
            return
        done: tasks.Aligned = job.result  # type: ignore[assignment]
        for number in [one.number for one in self.desk.jobs.jobs if one.request.slot.startswith("embed:")]:
            self.desk.jobs.cancel(number)  # what is under way would be of the old points
        columns = {COLUMN: Labels.of([done.notes.get(face) for face in faces.ids.tolist()])} if done.notes else {}
        kept = {name: column for name, column in faces.columns.items() if name != COLUMN}
        faces = replace(faces, landmarks=done.faces.landmarks, columns={**kept, **columns})
        # Vectors of the old points are none of these faces; those of faces whose points stayed come back at once.
        own = [one.card.name for one in self.desk.workspace.models]
        features = {name: made for name, made in self.desk.workspace.features.items() if name not in own}
        self.desk.store.update(faces=faces, features=features, stored={}, initiator=self)
        self._found()
        if done.notes:
            self._say(done.sentence, note_text(done.notes))
        else:
            self.desk.tell(done.sentence)


def note_text(notes: Mapping[int, str]) -> str:
    """What was noted about how many pictures, and how to see them."""
    counts: dict[str, int] = {}
    for note in notes.values():
        counts[note] = counts.get(note, 0) + 1
    most = sorted(counts.items(), key=lambda one: -one[1])[:4]
    said = "; ".join(plural(n, "{n} picture", "{n} pictures") + f": {note}" for note, n in most)
    return tr('{said}. To see them, filter: {column} = "{note}"', said=said, column=COLUMN, note=most[0][0])
