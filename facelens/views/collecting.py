"""Collect for sharing: what goes into the zip, what is hidden, how large it gets, and what others will see of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QImage, QPainter, QPainterPath, QPaintEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QDialog,
    QDialogButtonBox,
    QFileDialog,
    QGridLayout,
    QHBoxLayout,
    QLineEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from facelens.images import decode, giving
from facelens.images.decode import PictureError
from facelens.images.disguise import Disguise, Guise
from facelens.images.quarantine import Again
from facelens.session import collecting, folders
from facelens.session.collect_words import licence
from facelens.session.collecting import Choice, Collected, Collection
from facelens.session.jobs import Job, Request, State
from facelens.views import theme
from facelens.views.controls import Segmented, draw_text, label
from facelens.views.later import Later
from facelens.views.leaving import stem
from facelens.views.panel import Desk
from facelens.views.sheets import size_text
from facelens.words import escaped, plural, tr

if TYPE_CHECKING:
    from facelens.views.main_window import MainWindow

SHOWN = 6  # faces of the example
SIDE, CELL = 72, 86  # pixels of one of them, and of its place
WIDTH, LINE = 600, 15  # pixels of the sheet, and of a line of small words
ZIP = "zip (*.zip)"
PICTURES = {
    "none": ("None", "A drawn tile stands for each face. Vectors are then what others work with."),
    "thumbnails": ("Small", "Large ones get some 160 pixels on the shorter side; models can still use them."),
    "originals": ("Originals", "As large as they are here."),
}


class Collecting:
    """From what is open to a zip."""

    def __init__(self, window: MainWindow) -> None:
        self.window, self.desk = window, window.desk

    def open(self) -> None:
        """Ask what goes into it."""
        given = Collection.of(self.window.keeping.workspace, page=self.window.stage.word)
        CollectSheet(self.desk, given, lambda choice: self._ask_where(given, choice), self.window).open()

    def _ask_where(self, given: Collection, choice: Choice) -> None:
        name = "shared" if choice.guise.pseudonyms else giving.safe(stem(self.desk))
        if chosen := QFileDialog.getSaveFileName(self.window, tr("Collect for sharing"), f"{name}.zip", ZIP)[0]:
            path = Path(chosen)
            self.collect(given, path if path.suffix.lower() == ".zip" else path.with_name(f"{path.name}.zip"), choice)

    def collect(self, given: Collection, out: Path, choice: Choice) -> None:
        """Write it, in the worker."""
        request = Request(
            title=tr("Collect {name}", name=escaped(out.name)),
            call=collecting.collect,
            args=(given, out, choice),
            kwargs={"quarantined": folders.quarantine()},
            slot="collect",
            unit="",
            again=Again(folders.quarantine()),
        )
        self.desk.jobs.submit(request, then=self._on_collected)

    def _on_collected(self, job: Job) -> None:
        if job.state is State.FAILED:
            self.desk.notify(job.error, trace=job.trace)
        elif isinstance(done := job.result, Collected):
            title = tr("{name} is written, {size}", name=escaped(done.path.name), size=size_text(done.size))
            self.desk.say(title, " ".join(done.said))


@dataclass(frozen=True, eq=False)
class Example:
    """Some faces as they will be in the zip, and about how large it gets."""

    choice: Choice
    size: int
    faces: tuple[tuple[QImage | None, str], ...]


class CollectSheet(QDialog):
    """Switches; every change shows what it does to the size and to some of the faces."""

    def __init__(
        self, desk: Desk, given: Collection, then: Callable[[Choice], None], parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(tr("Collect for sharing"))
        self.given, self._then = given, then
        self._models = collecting.own_models(given)
        settings = desk.settings

        segments = [(kind, tr(title)) for kind, (title, _) in PICTURES.items()]
        self.pictures = Segmented(segments, label=tr("Pictures"))
        self.pictures.set_value("thumbnails")
        self.picture_note = label(name="sub", wrap=True)
        self.vectors = _box(tr("Vectors"), checked=bool(given.features))
        self.models = _box(tr("Model files"))
        self.pseudonyms = _box(tr("Pseudonyms"), checked=settings.pseudonyms)
        self.words = _box(tr("Notes, and names of tags and subsets"))
        self.key = QLineEdit()
        self.key.setAccessibleName(tr("Key of the pseudonyms"))
        self.key.setPlaceholderText(tr("another each time"))
        self.key.setToolTip(
            tr("The same words give the same pseudonyms, so that two zips of one gallery can be put together.")
        )
        self.key.setMaximumWidth(220)
        self.blur = _box(tr("Blur faces"), checked=settings.blur)

        self.rows = QGridLayout()
        self.rows.setColumnMinimumWidth(0, 84)
        self.rows.setColumnStretch(1, 1)
        self.rows.setHorizontalSpacing(12)
        self.rows.setVerticalSpacing(2)
        self._row(tr("Pictures"), self.pictures, self.picture_note)
        self._row(tr("With them"), self.vectors, _note(self._vector_words()))
        self._row("", self.models, _note(self._model_words()))
        self.pseudonym_note = _note(
            tr(
                "People are P0001, P0002, …; files, gallery and plans name nobody. Columns of numbers stay, those of "
                "text become codes, but for split, role and plain words such as yes and no."
            )
        )
        self._row(tr("Hidden"), self.pseudonyms, self.pseudonym_note)
        self.words_note = _note(tr("As they were written. Without it notes stay here and tags get numbers."))
        self._row("", self.words, self.words_note, indent=20)
        key_row = QHBoxLayout()
        key_row.setContentsMargins(20, 2, 0, 0)
        key_row.setSpacing(8)
        self.key_label = label(tr("Key"), name="small")
        key_row.addWidget(self.key_label)
        key_row.addWidget(self.key)
        key_row.addStretch(1)
        self.rows.addLayout(key_row, self.rows.rowCount(), 1)
        self.rows.setRowMinimumHeight(self.rows.rowCount(), 6)
        self._row("", self.blur, _note(tr("Nine pixels across are left of each picture: nobody can be made out.")))

        self.example = _Faces()
        self.told = label(name="problem", wrap=True)
        self.told.setMinimumHeight(2 * LINE)  # so that nothing jumps
        self.told.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
        self.about = label(name="strong")
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
        self.go = QPushButton(tr("Collect…"))
        self.go.setObjectName("primary")
        self.go.setDefault(True)
        buttons.addButton(self.go, QDialogButtonBox.ButtonRole.AcceptRole)
        buttons.accepted.connect(self._on_accept)
        buttons.rejected.connect(self.reject)
        foot = QHBoxLayout()
        foot.addWidget(self.about)
        foot.addStretch(1)
        foot.addWidget(buttons)

        column = QVBoxLayout(self)
        column.setContentsMargins(20, 18, 20, 14)
        column.setSpacing(12)
        column.addWidget(label(self._lead(), wrap=True))
        column.addLayout(self.rows)
        seen = QVBoxLayout()
        seen.setSpacing(6)
        seen.addWidget(label(tr("What others will see"), name="quiet"))
        seen.addWidget(self.example)
        column.addLayout(seen)
        column.addWidget(self.told)
        column.addLayout(foot)

        self._later = Later(self)
        self._later.done.connect(self._show_example)
        self.pictures.changed.connect(self._show)
        self.key.textChanged.connect(self._show)
        for box in (self.vectors, self.models, self.pseudonyms, self.words, self.blur):
            box.toggled.connect(self._show)
        self._show()
        self.setFixedSize(WIDTH, column.totalHeightForWidth(WIDTH))
        self.pictures.button(self.pictures.value()).setFocus()

    def _row(self, title: str, control: QWidget, note: QWidget, *, indent: int = 0) -> None:
        row = self.rows.rowCount()
        if title:
            self.rows.setRowMinimumHeight(row, 8)
            row += 1
            heading = label(title, name="quiet")
            self.rows.addWidget(heading, row, 0, Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
        for place, part in enumerate((control, note)):
            held = QHBoxLayout()
            under = (20, 0) if isinstance(control, QCheckBox) else (0, 4)  # words that go with the control above
            left, top = under if place else (0, 0)
            held.setContentsMargins(indent + left, top, 0, 0)
            held.addWidget(part)
            if isinstance(part, Segmented):
                held.addStretch(1)
            self.rows.addLayout(held, row + place, 1)
        self.rows.setRowMinimumHeight(row + 2, 4)

    # -- what is chosen

    @property
    def choice(self) -> Choice:
        """What is asked for now."""
        hidden = self.pseudonyms.isChecked()
        key = self.key.text().strip() if hidden else ""
        return Choice(
            self.pictures.value(),
            self.vectors.isChecked(),
            self.models.isChecked(),
            hidden and self.words.isChecked(),
            Guise(hidden, self.blur.isChecked(), key),
        )

    def _show(self) -> None:
        choice = self.choice
        self.picture_note.setText(tr(PICTURES[choice.pictures][1]))
        self.vectors.setEnabled(bool(self.given.features))
        self.models.setEnabled(bool(self._models))
        for part in (self.words, self.words_note, self.key, self.key_label):
            part.setEnabled(choice.guise.pseudonyms)
        self.blur.setEnabled(choice.pictures != "none")
        nothing = choice.pictures == "none" and not choice.vectors
        self.go.setEnabled(not nothing)
        self.go.setToolTip(tr("Choose pictures or vectors first.") if nothing else tr("Asks where to write it"))
        self.told.setText(" ".join(self._warnings(choice)))
        self.about.setText(tr("About …"))
        given = self.given
        self._later.ask(lambda: _example(given, choice))

    def _warnings(self, choice: Choice) -> list[str]:
        """What others can still find out."""
        said = []
        if choice.guise.pseudonyms and choice.pictures != "none" and not choice.guise.blur:
            said.append(tr("People can be recognised on the pictures."))
        if choice.vectors:
            said.append(tr("Vectors are biometric data: whoever has the model can look people up by them."))
        if choice.models:
            said.append(tr("Pass models on only as their licences allow."))
        return said

    def _show_example(self, found: object) -> None:
        if isinstance(found, Example) and found.choice == self.choice:
            self.about.setText(tr("About {size}", size=size_text(found.size)))
            self.example.set_faces(found.faces)

    def _on_accept(self) -> None:
        choice = self.choice
        self.accept()
        self._then(choice)

    # -- words

    def _lead(self) -> str:
        kept = len(self.given.kept)
        faces, left = plural(kept, "{n} face", "{n} faces"), len(self.given.faces) - kept
        said = [tr("One zip with {faces}, marks and plans, which opens on another computer.", faces=faces)]
        if left:
            said.append(plural(left, "{n} excluded face stays here.", "{n} excluded faces stay here."))
        return " ".join([*said, tr("FaceLens sends nothing; you pass it on yourself.")])

    def _vector_words(self) -> str:
        names = [escaped(name) for name in self.given.features]
        return tr("Of {names}", names=_listed(names)) if names else tr("No model has vectors of this gallery.")

    def _model_words(self) -> str:
        if not self._models:
            along = bool(self.given.models)
            return tr("The models in use come with FaceLens.") if along else tr("No model is loaded.")
        return _listed([f"{escaped(one.card.name)}: {licence(one.card)}" for one in self._models])


def _listed(names: list[str], most: int = 4) -> str:
    return ", ".join(names[:most]) + (", …" if len(names) > most else ".")


def _box(text: str, *, checked: bool = False) -> QCheckBox:
    made = QCheckBox(text)
    made.setChecked(checked)
    return made


def _note(text: str) -> QWidget:
    return label(text, name="sub", wrap=True)


def _example(given: Collection, choice: Choice) -> Example:
    """Not in the thread of the window: pictures are read."""
    rows = given.kept
    some = rows[np.unique(np.linspace(0, max(len(rows) - 1, 0), min(SHOWN, len(rows))).astype(np.int64))]
    faces = given.faces.take(some)
    told = Disguise(choice.guise, faces).faces(faces)
    shown: list[tuple[QImage | None, str]] = []
    for row in range(len(told)):
        try:
            pixels = decode.decode(giving.given(told, row, choice.pictures).data)
            shown.append((_image(pixels), told.file_name(row) if told.disguised else told.label(row)))
        except PictureError:
            shown.append((None, told.label(row)))
    return Example(choice, collecting.estimate(given, choice), tuple(shown))


def _image(pixels: np.ndarray) -> QImage:
    pixels = np.ascontiguousarray(pixels)
    high, wide = pixels.shape[:2]
    return QImage(pixels.data, wide, high, 3 * wide, QImage.Format.Format_RGB888).copy()


class _Faces(QWidget):
    """Some faces as others will see them, with their names."""

    def __init__(self) -> None:
        super().__init__()
        self._faces: tuple[tuple[QImage | None, str], ...] = ()
        self.setFixedHeight(SIDE + 20)
        self.setAccessibleName(tr("As others will see it"))
        self.setToolTip(tr("Some faces as they will be in the zip"))

    def sizeHint(self) -> QSize:
        return QSize(SHOWN * CELL, SIDE + 20)

    def set_faces(self, faces: tuple[tuple[QImage | None, str], ...]) -> None:
        """Show these."""
        self._faces = faces
        self.setAccessibleDescription(", ".join(name for _, name in faces))
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHints(QPainter.RenderHint.Antialiasing | QPainter.RenderHint.SmoothPixmapTransform)
        now = theme.current()
        for place in range(max(len(self._faces), 0 if self._faces else SHOWN)):
            box = QRectF(place * (self.width() - SIDE) / (SHOWN - 1), 0, SIDE, SIDE)
            image, name = self._faces[place] if self._faces else (None, "")
            edge = QPainterPath()
            edge.addRoundedRect(box, 3, 3)
            painter.fillPath(edge, now.q(now.raised))
            if image is not None:
                side = min(image.width(), image.height())
                painter.setClipPath(edge)
                painter.drawImage(
                    box, image, QRectF((image.width() - side) / 2, (image.height() - side) / 2, side, side)
                )
                painter.setClipping(False)
            draw_text(painter, QRectF(box.left(), SIDE + 3, SIDE, 15), name, "text3", 10)
        painter.end()
