"""Small dialogs: what is kept on this disk, how large files may be, how to build a verification list."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QFormLayout,
    QGridLayout,
    QHBoxLayout,
    QPushButton,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from facelens import limits
from facelens.errors import FaceLensError
from facelens.session import folders
from facelens.views import icons
from facelens.views.controls import inset, label
from facelens.views.modelling import Modelling, vectors_root
from facelens.views.panel import Desk
from facelens.words import escaped, tr


class LocalData(QDialog):
    """What FaceLens keeps on this disk, how much it is, and a button to delete it."""

    def __init__(self, desk: Desk, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(tr("Local data"))
        self.setMinimumWidth(520)
        self.desk = desk
        self.rows = QGridLayout()
        self.rows.setHorizontalSpacing(16)
        self.rows.setVerticalSpacing(12)
        self.rows.setColumnStretch(2, 1)
        self.purge = QPushButton(tr("Delete cached data"))
        self.purge.setToolTip(
            tr(
                "Deletes vectors, caches, logs, allowed programs, backups, unsaved work and the lists of recent "
                "galleries and workspaces. Pictures, model files and saved workspaces are not touched."
            )
        )
        self.purge.clicked.connect(self._on_purge)
        self.purge.setAutoDefault(False)  # Enter must not delete
        close = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        close.rejected.connect(self.reject)
        close.button(QDialogButtonBox.StandardButton.Close).setDefault(True)
        foot = QHBoxLayout()
        foot.addWidget(self.purge)
        foot.addStretch(1)
        foot.addWidget(close)
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 18, 20, 14)
        column.setSpacing(14)
        column.addWidget(
            label(
                tr("FaceLens opens no network connection. Pictures stay where they are; this is what it writes:"),
                wrap=True,
            )
        )
        column.addLayout(self.rows)
        column.addLayout(foot)
        close.button(QDialogButtonBox.StandardButton.Close).setFocus()
        self._fill()

    def _fill(self) -> None:
        while item := self.rows.takeAt(0):
            if (old := item.widget()) is not None:
                old.deleteLater()
        vectors = vectors_root(self.desk)
        of_vectors = _size(vectors) if vectors.is_dir() else 0
        within = of_vectors if vectors.is_relative_to(folders.cache()) else 0
        kept = (
            (tr("Settings"), folders.config(), _size(folders.config())),
            (tr("Vectors"), vectors, of_vectors),
            (tr("Other cache"), folders.cache(), _size(folders.cache()) - within),
            (tr("Log and state"), folders.state(), _size(folders.state())),
            (tr("Backups, unsaved work"), folders.data(), _size(folders.data())),
        )
        for row, (name, folder, size) in enumerate(kept):
            place = label(escaped(str(folder)), name="small")
            place.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            self.rows.addWidget(label(name), row, 0)
            self.rows.addWidget(label(size_text(size), name="small"), row, 1, Qt.AlignmentFlag.AlignRight)
            self.rows.addWidget(place, row, 2)

    def _on_purge(self) -> None:
        from facelens.features import store

        Modelling(self.desk, self).forget_vectors()
        try:
            store.purge(vectors_root(self.desk))
        except FaceLensError as error:
            self.desk.notify(error)
        for folder in (folders.cache(), folders.state(), folders.data()):
            for child in folder.iterdir():
                if child == icons.folder():
                    continue  # drawings that the controls show; nothing of anybody
                if child.is_dir():
                    shutil.rmtree(child, ignore_errors=True)
                elif child.suffix == ".log":
                    child.write_bytes(b"")  # it is open
                else:
                    child.unlink(missing_ok=True)
        self.desk.settle(recent=(), workspaces=())
        self._fill()


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def size_text(size: int) -> str:
    """Bytes for people.

    >>> size_text(41_200_000), size_text(300), size_text(0)
    ('41 MB', '0.3 kB', 'nothing')
    """
    if not size:
        return tr("nothing")
    for unit, scale in (("GB", 1e9), ("MB", 1e6)):
        if size >= scale:
            return f"{size / scale:.0f} {unit}" if size >= 10 * scale else f"{size / scale:.1f} {unit}"
    return f"{size / 1000:.1f} kB"


class LimitsSheet(QDialog):
    """How large pictures and model files may be."""

    def __init__(self, desk: Desk, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(tr("Limits"))
        self.setMinimumWidth(440)
        self.desk = desk
        self.megapixels = _spin(tr("Megapixels a picture may have"), 1, 2000, desk.settings.megapixels)
        self.model_gb = _spin(tr("Gigabytes the tensors of a model file may take"), 1, 512, desk.settings.model_gb)
        form = QFormLayout()
        form.setHorizontalSpacing(16)
        form.addRow(tr("Megapixels of a picture"), self.megapixels)
        form.addRow(tr("Gigabytes of a model file"), self.model_gb)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Save | QDialogButtonBox.StandardButton.Cancel)
        buttons.accepted.connect(self._on_save)
        buttons.rejected.connect(self.reject)
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 18, 20, 14)
        column.setSpacing(14)
        column.addWidget(
            label(
                tr(
                    "Damaged or malicious files may claim any size. What is larger than this is refused before memory "
                    "is spent on it. A picture of 89 megapixels takes some 270 MB while it is read."
                ),
                wrap=True,
            )
        )
        column.addLayout(form)
        column.addWidget(buttons)

    def _on_save(self) -> None:
        self.desk.settle(megapixels=self.megapixels.value(), model_gb=self.model_gb.value())
        self.desk.jobs.set_environment(limits.chosen(self.megapixels.value(), self.model_gb.value()))
        self.accept()
        self.desk.tell(tr("The limits hold from now on. Check the gallery again to read what was refused."))


class BuildPairs(QDialog):
    """Folds, pairs and seed of a verification list."""

    def __init__(self, then: Callable[[str, int, int, int], None], kind: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(tr("Build a verification list"))
        self._then, self._kind = then, kind
        self.folds = _spin(tr("Folds"), 1, 100, 10)
        self.per_fold = _spin(tr("Genuine pairs in a fold, and as many impostor pairs"), 1, 1_000_000, 300)
        self.seed = _spin(tr("Seed: the same number gives the same list"), 0, 2**31 - 1, 0)
        form = QFormLayout()
        for text, spin in (
            (tr("Folds"), self.folds),
            (tr("Pairs of each kind in a fold"), self.per_fold),
            (tr("Seed"), self.seed),
        ):
            form.addRow(text, spin)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Save | QDialogButtonBox.StandardButton.Cancel)
        buttons.accepted.connect(self._on_save)
        buttons.rejected.connect(self.reject)
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 18, 20, 14)
        column.setSpacing(14)
        column.addWidget(
            label(
                tr("Half of the pairs show one identity, half show two. No picture is paired with itself."), wrap=True
            )
        )
        column.addLayout(form)
        column.addWidget(buttons)

    def _on_save(self) -> None:
        self.accept()
        self._then(self._kind, self.folds.value(), self.per_fold.value(), self.seed.value())


def _spin(text: str, low: int, high: int, value: int) -> QSpinBox:
    spin = inset(QSpinBox())
    spin.setRange(low, high)
    spin.setValue(value)
    spin.setAccessibleName(text)
    spin.setToolTip(text)
    return spin
