"""The model card as a form: how pictures are fed to a model, what it gives, whose it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QBoxLayout,
    QCheckBox,
    QComboBox,
    QFormLayout,
    QHBoxLayout,
    QLineEdit,
    QPushButton,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from facelens.errors import FaceLensError, InputError
from facelens.features.card import ORDERS, TEMPLATES, Card, beside
from facelens.views.controls import Combo, label, plain_tip
from facelens.words import escaped, tr

if TYPE_CHECKING:
    from facelens.features.library import Inspection

NARROW = 560
TEMPLATE_WORDS = {
    "arcface112": "ArcFace, 112 × 112",
    "cosface96x112": "CosFace, 96 × 112",
    "facenet160": "FaceNet, 160 × 160",
    "none": "none, resize only",
}


class CardForm(QWidget):
    """Shows the card of an inspection; `card` is what the fields say now."""

    edited = Signal()
    saved = Signal(object)  # the card
    reverted = Signal()
    architecture_chosen = Signal(str)
    network_chosen = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.found: Inspection | None = None
        self._build_fields()
        self.problem = label(name="problem", wrap=True)
        self.place = label(name="cap", wrap=True)
        self.place.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.save = QPushButton(tr("Save card"))
        self.revert = QPushButton(tr("Revert"))
        self.save.clicked.connect(self._on_save)
        self.revert.clicked.connect(self.reverted)
        self.sides = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self.sides.setSpacing(24)
        for form in self._forms():
            self.sides.addLayout(form, 1)
        foot = QHBoxLayout()
        foot.setSpacing(8)
        foot.addWidget(self.save)
        foot.addWidget(self.revert)
        foot.addWidget(self.place, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        column.addLayout(self.sides)
        column.addWidget(self.problem)
        column.addLayout(foot)
        column.addStretch(1)

    def _build_fields(self) -> None:
        self.name = _line(tr("Name"), tr("What lists and charts call this model"))
        self.architecture = _combo(
            tr("Architecture"), tr("The network the weights belong to. Choosing another compares the keys anew.")
        )
        self.architecture.activated.connect(
            lambda: self.architecture_chosen.emit(str(self.architecture.currentData() or ""))
        )
        self.network = _combo(tr("Network"), tr("The file holds several networks. Choosing another reads it anew."))
        self.network.activated.connect(lambda: self.network_chosen.emit(str(self.network.currentData() or "")))
        self.height_field = _side(tr("Input height in pixels"))
        self.width_field = _side(tr("Input width in pixels"))
        self.order = _combo(tr("Channel order"), tr("The order of colours in which the model was trained"))
        for order in ORDERS:
            self.order.addItem(tr("grey, one channel") if order == "GREY" else order, order)
        self.mean = _line(
            tr("Mean"), tr("Taken from each pixel, 0 to 255, before it is divided: one number, or one for each channel")
        )
        self.std = _line(tr("Std"), tr("Each pixel is divided by this: one number, or one for each channel"))
        self.template = _combo(tr("Alignment"), tr("Where eyes, nose and mouth lie in pictures that have landmarks"))
        for template in TEMPLATES:
            self.template.addItem(tr(TEMPLATE_WORDS[template]), template)
        self.crop = _line(
            tr("Crop"), tr("Top, left, bottom, right in pixels of the aligned picture; empty for the whole of it")
        )
        self.crop.setPlaceholderText(tr("whole picture"))
        self.flip = QCheckBox(tr("add the mirrored picture"))
        self.flip.setToolTip(tr("The vector is the sum of the picture's and its mirror image's. Takes twice the time."))
        self.flip.setAccessibleName(tr("Flip"))
        self.dimensions = label(name="small")
        self.patch = _combo(tr("Patch layer"), tr("The layer whose output is the patch map"))
        self._layers: list[tuple[str, tuple[int, int] | None]] = []  # row by row of that list
        self.licence = _line(tr("Licence"), tr("What the weights may be used for, as their author says"))
        self.licence.setPlaceholderText(tr("not stated"))
        self.notes = _line(tr("Notes"), tr("Anything worth knowing about this model"))
        for line in (self.name, self.mean, self.std, self.crop, self.licence, self.notes):
            line.textEdited.connect(self._on_edit)
        for combo in (self.order, self.template, self.patch):
            combo.activated.connect(self._on_edit)
        for spin in (self.height_field, self.width_field):
            spin.valueChanged.connect(self._on_edit)
        self.flip.toggled.connect(self._on_edit)

    def _forms(self) -> tuple[QFormLayout, QFormLayout]:
        size = QHBoxLayout()
        size.setSpacing(6)
        for part in (self.height_field, label("×", name="sub"), self.width_field):
            size.addWidget(part)
        size.addStretch(1)
        first = (
            (tr("name"), self.name),
            (tr("network"), self.network),
            (tr("architecture"), self.architecture),
            (tr("input"), size),
            (tr("channels"), self.order),
            (tr("mean"), self.mean),
            (tr("std"), self.std),
        )
        second = (
            (tr("alignment"), self.template),
            (tr("crop"), self.crop),
            (tr("flip"), self.flip),
            (tr("patch layer"), self.patch),
            (tr("licence"), self.licence),
            (tr("notes"), self.notes),
            (tr("gives"), self.dimensions),
        )
        self.first_form = _form(first)
        return self.first_form, _form(second)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        direction = QBoxLayout.Direction
        self.sides.setDirection(direction.TopToBottom if event.size().width() < NARROW else direction.LeftToRight)
        self.sides.setSpacing(6 if event.size().width() < NARROW else 20)

    # -- showing

    def set_inspection(self, found: Inspection, *, propose: Card | None = None) -> None:
        """Fill the fields, with `propose` instead of the card in use; edits that were not saved are gone."""
        from facelens.features.models import MODELS

        self.found = found
        card = propose or found.card
        blockers = [
            QSignalBlocker(part) for part in (self.height_field, self.width_field, self.flip, self.architecture)
        ]
        self.architecture.clear()
        if found.kind == "weights":
            for spec in sorted(MODELS.values(), key=lambda spec: spec.title):
                self.architecture.addItem(spec.title, spec.name)
        else:
            self.architecture.addItem(found.title, card.architecture)
        self.architecture.setCurrentIndex(self.architecture.findData(card.architecture))
        self.architecture.setEnabled(found.kind == "weights")
        self.architecture.setToolTip(
            tr("The network the weights belong to. Choosing another compares the keys anew.")
            if found.kind == "weights"
            else tr("The file brings its own network.")
        )
        self._show_networks(found)
        self._show_layers(found)
        self.height_field.setValue(card.size[0])
        self.width_field.setValue(card.size[1])
        self.order.setCurrentIndex(self.order.findData(card.order))
        self.template.setCurrentIndex(self.template.findData(card.template))
        self.flip.setChecked(card.flip)
        crop = ", ".join(map(str, card.crop)) if card.crop else ""
        for line, text in (
            (self.name, card.name),
            (self.mean, numbers_text(card.mean)),
            (self.std, numbers_text(card.std)),
            (self.crop, crop),
            (self.licence, card.licence),
            (self.notes, card.notes),
        ):
            line.setText(text)
            line.setCursorPosition(0)
        self.dimensions.setText(tr("{n} dimensions", n=card.dimensions))
        del blockers
        self._show_state()

    def _show_networks(self, found: Inspection) -> None:
        from facelens.features.library import network_words

        self.network.clear()
        for name in found.networks:
            self.network.addItem(network_words(name), name)
        self.first_form.setRowVisible(self.network, bool(found.networks))

    def _show_layers(self, found: Inspection) -> None:
        card = found.card
        offered: list[tuple[str, str, tuple[int, int] | None]] = [(tr("none"), "", None)]
        offered += [(f"{escaped(name)}  {shape}", name, _grid(shape)) for name, shape in found.layers]
        if card.patch_layer and card.patch_layer not in [name for name, _ in found.layers]:
            grid = f"  {card.grid[0]} × {card.grid[1]}" if card.grid else ""
            offered.append((f"{escaped(card.patch_layer)}{grid}", card.patch_layer, card.grid))
        self.patch.clear()
        self.patch.addItems([words for words, _, _ in offered])
        self._layers = [(layer, grid) for _, layer, grid in offered]
        self.patch.setCurrentIndex([layer for layer, _ in self._layers].index(card.patch_layer))
        own = bool(found.layers)
        self.patch.setEnabled(own)
        self.patch.setToolTip(
            tr("The layer whose output is the patch map: channels × rows × columns")
            if own
            else tr("Given by the architecture.")
        )

    def card(self) -> Card:
        """What the fields say; InputError where that is no card."""
        assert self.found is not None
        order = str(self.order.currentData())
        channels = 1 if order == "GREY" else 3
        layer, grid = self._layers[self.patch.currentIndex()]
        name = self.name.text().strip()
        if not name:
            raise InputError(tr("The model needs a name."))
        return self.found.card.changed(
            name=name,
            size=(self.height_field.value(), self.width_field.value()),
            order=order,
            mean=_numbers(self.mean.text(), channels, tr("Mean")),
            std=_numbers(self.std.text(), channels, tr("Std")),
            template=str(self.template.currentData()),
            crop=_crop(self.crop.text()),
            flip=self.flip.isChecked(),
            patch_layer=layer,
            grid=grid,
            licence=self.licence.text().strip(),
            notes=self.notes.text().strip(),
        )

    @property
    def dirty(self) -> bool:
        """Whether the fields differ from the card in use."""
        try:
            return self.found is not None and self.card() != self.found.card
        except FaceLensError:
            return True

    def _on_edit(self) -> None:
        self._show_state()
        self.edited.emit()

    def _show_state(self) -> None:
        if self.found is None:
            return
        wrong = ""
        try:
            self.card()
        except FaceLensError as error:
            wrong = error.message
        self.problem.setText(wrong)
        self.problem.setVisible(bool(wrong))
        place = beside(self.found.path)
        there = place.is_file()
        self.save.setEnabled(not wrong and (self.dirty or not there))
        self.save.setToolTip(plain_tip(wrong or tr("Writes {path}", path=escaped(str(place)))))
        self.revert.setEnabled(self.dirty)
        self.revert.setToolTip(tr("Takes the changes back") if self.dirty else tr("Nothing was changed."))
        self.place.setText(
            tr("{name} lies beside the file", name=escaped(place.name))
            if there
            else tr("not saved: these are the usual values of this architecture")
        )

    def _on_save(self) -> None:
        self.saved.emit(self.card())


def numbers_text(values: tuple[float, ...]) -> str:
    """One number where all are the same.

    >>> numbers_text((127.5, 127.5, 127.5)), numbers_text((1.0, 2.5))
    ('127.5', '1, 2.5')
    """
    return f"{values[0]:g}" if len(set(values)) == 1 else ", ".join(f"{value:g}" for value in values)


def _numbers(text: str, channels: int, name: str) -> tuple[float, ...]:
    try:
        values = tuple(float(part) for part in text.replace(";", ",").split(","))
    except ValueError:
        raise InputError(tr("{name} is a number, or one for each channel: 127.5, 127.5, 127.5", name=name)) from None
    if len(values) not in (1, channels) or not all(abs(value) < 1e6 for value in values):
        raise InputError(tr("{name} needs one number, or {n}.", name=name, n=channels))
    return values * channels if len(values) == 1 else values


def _crop(text: str) -> tuple[int, int, int, int] | None:
    if not text.strip():
        return None
    try:
        top, left, bottom, right = (int(part) for part in text.split(","))
    except ValueError:
        raise InputError(tr("Crop is four whole numbers: top, left, bottom, right")) from None
    if not (0 <= top < bottom <= 2048 and 0 <= left < right <= 2048):
        raise InputError(tr("Crop is empty or lies outside: top is above bottom, left is before right."))
    return top, left, bottom, right


def _grid(shape: str) -> tuple[int, int]:
    rows, columns = shape.split(" × ")[1:3]
    return int(rows), int(columns)


def _line(name: str, tip: str) -> QLineEdit:
    made = QLineEdit()
    made.setAccessibleName(name)
    made.setToolTip(tip)
    return made


def _combo(name: str, tip: str) -> QComboBox:
    made = Combo()
    made.setAccessibleName(name)
    made.setToolTip(tip)
    made.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
    made.setMinimumContentsLength(12)
    return made


def _side(name: str) -> QSpinBox:
    made = QSpinBox()
    made.setRange(8, 2048)
    made.setAlignment(Qt.AlignmentFlag.AlignCenter)
    made.setAccessibleName(name)
    made.setToolTip(name)
    return made


def _form(rows: tuple[tuple[str, object], ...]) -> QFormLayout:
    form = QFormLayout()
    form.setHorizontalSpacing(12)
    form.setVerticalSpacing(6)
    form.setLabelAlignment(Qt.AlignmentFlag.AlignLeft)
    form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
    for text, field in rows:
        said = label(text, name="sub")
        said.setMinimumWidth(72)
        form.addRow(said, field)  # type: ignore[call-overload]
    return form
