"""The sheet that exports figures (Ctrl+E): which of the page, how large, in which format, with a preview of one.

Ticked figures are written; the one that is current in the list is shown as it will be printed.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QRectF, QSize, Qt, QTimer
from PySide6.QtGui import QImage, QKeySequence, QPainter, QPaintEvent, QShortcut
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDialog,
    QDoubleSpinBox,
    QFileDialog,
    QFormLayout,
    QHBoxLayout,
    QPushButton,
    QSizePolicy,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from facelens.errors import FaceLensError
from facelens.session.jobs import Job, State
from facelens.session.settings import Drawing
from facelens.views import theme
from facelens.views.controls import Segmented, inset, label
from facelens.views.figures import Figures
from facelens.views.leaving import stem
from facelens.views.lines import Line, Lines
from facelens.words import escaped, number, tr

if TYPE_CHECKING:
    from facelens.figures.sheet import Paper

WIDTHS = ((0.0, "As laid out"), (85.0, "One column, 85 mm"), (174.0, "Two columns, 174 mm"), (254.0, "Slide, 254 mm"))
OTHER = -1.0
INCH = 25.4  # mm
CAPTION, READABLE = 6.0, 5.0  # points of the words under a figure as it is laid out, and the least that journals take
DENSITY = 110  # dots per inch of the preview, for each pixel of the screen's ratio
PATIENCE = 120  # ms
SLOT = "figure preview"
ROW = 26  # px
FORMATS = {
    "png": ("PNG", "Pixels; for slides and web pages"),
    "svg": ("SVG", "Vectors; words stay words that can be edited"),
    "pdf": ("PDF", "Vectors; fonts are inside, for LaTeX and print"),
}


class Sheet(QWidget):
    """A figure on its paper, as large as there is room; or words where there is none."""

    def __init__(self) -> None:
        super().__init__()
        self.setMinimumSize(420, 320)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAccessibleName(tr("Preview"))
        self.image: QImage | None = None
        self.words = ""

    def sizeHint(self) -> QSize:
        return QSize(640, 520)

    def show_image(self, image: QImage | None, words: str = "") -> None:
        """A picture, or why there is none."""
        self.image, self.words = image, words
        self.setAccessibleDescription(words or tr("The figure as it will be written"))
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        now, painter = theme.current(), QPainter(self)
        painter.setRenderHints(QPainter.RenderHint.Antialiasing | QPainter.RenderHint.SmoothPixmapTransform)
        painter.fillRect(self.rect(), now.q("sunk"))
        if self.image is None or self.image.isNull():
            painter.setFont(theme.font(12))
            painter.setPen(now.q("text3"))
            wraps = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
            painter.drawText(QRectF(self.rect()).adjusted(48, 0, -48, 0), wraps, self.words)
            return
        room = QRectF(self.rect()).adjusted(16, 16, -16, -16)
        wide, high = self.image.width(), self.image.height()
        scale = min(room.width() / wide, room.height() / high, 1.0)
        place = QRectF(0, 0, wide * scale, high * scale)
        place.moveCenter(room.center())
        painter.fillRect(place.translated(2, 2), now.q("text", 0.12))
        painter.drawImage(place, self.image)


class FigureSheet(QDialog):
    """Export figures of one page."""

    def __init__(self, figures: Figures, word: str, *, name: str = "", parent: QWidget | None = None) -> None:
        """`name` is the figure to begin with; without it all are ticked and the first is shown."""
        from facelens.session.depicting import DEPICTED

        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.figures, self.desk, self.word = figures, figures.desk, word
        self.row = DEPICTED[word]
        self._closed = False
        self.size_mm: tuple[float, float] | None = None  # of the figure that is shown, as it is laid out
        self.boxes = ""  # scripts of which it has letters that no font here can draw
        title = figures.panel(word).title
        self.setWindowTitle(tr("Export figures: {page}", page=tr(title)))
        self.list = self._build_list(name)
        usual = self.desk.settings.drawing
        self.format = Segmented([(key, words[0]) for key, words in FORMATS.items()], label=tr("Format"))
        for key, (_, tip) in FORMATS.items():
            self.format.button(key).setToolTip(tr(tip))
        self.format.set_value(usual.format)
        self.preset = QComboBox()
        for width, words in (*WIDTHS, (OTHER, "Other width")):
            self.preset.addItem(tr(words), width)
        self.preset.setAccessibleName(tr("Width"))
        self.preset.setToolTip(tr("Everything grows or shrinks with the width: words, lines, pictures"))
        self.width_mm = inset(QDoubleSpinBox())
        self.width_mm.setRange(10, 2000)
        self.width_mm.setDecimals(0)
        self.width_mm.setSuffix(tr(" mm"))
        self.width_mm.setAccessibleName(tr("Width in millimetres"))
        self.width_mm.setToolTip(tr("Width in millimetres; the height follows"))
        self.dpi = inset(QSpinBox())
        self.dpi.setRange(36, 1200)
        self.dpi.setSingleStep(50)
        self.dpi.setSuffix(tr(" dpi"))
        self.dpi.setValue(usual.dpi)
        self.dpi.setAccessibleName(tr("Dots per inch"))
        self.dpi.setToolTip(tr("Of PNG, and of pictures inside SVG and PDF"))
        self.recipe = QCheckBox(tr("Recipe beside the file"))
        self.recipe.setToolTip(
            tr("NAME.recipe.json: data, models, parameters, selection, versions. facelens render draws it again. "
               "It names the pictures by their files.")
        )  # fmt: skip
        self.recipe.setChecked(usual.recipe)
        if self.desk.settings.pseudonyms:
            self.recipe.setEnabled(False)
            self.recipe.setToolTip(tr("Pseudonyms are on; a recipe names the pictures, so none is written."))
        self.told = label(name="sub", wrap=True)
        self.sheet = Sheet()
        self.copy = QPushButton(tr("Copy"))
        self.copy.setToolTip(tr("The figure that is shown, to the clipboard"))
        self.copy.setAutoDefault(False)
        self.save = QPushButton(tr("Save…"))
        self.save.setObjectName("primary")
        self.save.setToolTip(tr("Writes the ticked figures; several get their names added"))
        self.save.setDefault(True)
        self.cancel = QPushButton(tr("Cancel"))
        self.cancel.setToolTip(tr("Closes without writing"))
        self.cancel.setAutoDefault(False)
        self._lay_out()
        self._set_width(usual.width)
        self._later = QTimer(self)
        self._later.setSingleShot(True)
        self._later.setInterval(PATIENCE)
        self._later.timeout.connect(self._preview)
        self.list.moved.connect(self._on_current)
        self.list.ticks_changed.connect(self._tell)
        self.format.changed.connect(lambda _: self._tell())
        self.preset.activated.connect(lambda _: self._on_preset())
        self.width_mm.valueChanged.connect(lambda _: self._tell())
        self.dpi.valueChanged.connect(lambda _: self._tell())
        self.copy.clicked.connect(self._on_copy)
        self.save.clicked.connect(self._on_save)
        self.cancel.clicked.connect(self.reject)
        self.finished.connect(self._on_finished)
        QShortcut(QKeySequence.StandardKey.Copy, self, self._on_copy)
        self._tell()
        self._later.start()
        self.list.setFocus()

    def _build_list(self, name: str) -> Lines:
        made = Lines(height=ROW)
        made.setAccessibleName(tr("Figures of the page"))
        made.setToolTip(tr("Ticked figures are written. Space ticks, arrows show another one."))
        first = name or self.figures.panel(self.word).figure_name()
        keys = list(self.row.titles)
        made.fill(
            [Line(tr(title), key) for key, title in self.row.titles.items()],
            row=keys.index(first) if first in keys else 0,
            ticked=frozenset(row for row, key in enumerate(keys) if not name or key == name),
        )
        made.setVisible(len(keys) > 1)
        return made

    def _lay_out(self) -> None:
        form = QFormLayout()
        form.setHorizontalSpacing(12)
        form.setVerticalSpacing(8)
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.ExpandingFieldsGrow)
        form.addRow(tr("Format"), self.format)
        form.addRow(tr("Width"), self.preset)
        form.addRow("", self.width_mm)
        form.addRow(tr("Density"), self.dpi)
        side = QVBoxLayout()
        side.setSpacing(12)
        side.addWidget(self.list, 1)
        side.addLayout(form)
        side.addWidget(self.recipe)
        side.addWidget(self.told)
        if len(self.list.lines) < 2:
            side.addStretch(1)
        left = QWidget()
        left.setLayout(side)
        left.setFixedWidth(272)
        side.setContentsMargins(0, 0, 0, 0)
        body = QHBoxLayout()
        body.setSpacing(16)
        body.addWidget(left)
        body.addWidget(self.sheet, 1)
        foot = QHBoxLayout()
        foot.setSpacing(8)
        foot.addWidget(self.copy)
        foot.addStretch(1)
        foot.addWidget(self.cancel)
        foot.addWidget(self.save)
        column = QVBoxLayout(self)
        column.setContentsMargins(16, 16, 16, 14)
        column.setSpacing(14)
        column.addLayout(body, 1)
        column.addLayout(foot)
        self.resize(980, 640)

    # -- what is chosen

    @property
    def name(self) -> str:
        """The figure that is shown."""
        return self.row.names[max(self.list.row, 0)]

    @property
    def chosen(self) -> tuple[str, ...]:
        """The figures that are ticked."""
        if len(self.row.names) == 1:
            return self.row.names
        return tuple(name for row, name in enumerate(self.row.names) if row in self.list.ticked)

    def paper(self) -> Paper:
        """How large."""
        from facelens.figures.sheet import Paper

        width = self._width()
        return Paper(width / INCH if width else None, self.dpi.value())

    def _width(self) -> float:
        """mm; 0: as it is laid out."""
        width = float(self.preset.currentData())
        return self.width_mm.value() if width == OTHER else width

    def _set_width(self, width: float) -> None:
        row = next((row for row, (known, _) in enumerate(WIDTHS) if known == width), self.preset.count() - 1)
        self.preset.setCurrentIndex(row)
        self.width_mm.setValue(width or WIDTHS[1][0])
        self.width_mm.setVisible(row == self.preset.count() - 1)

    def _on_preset(self) -> None:
        other = self.preset.currentData() == OTHER
        self.width_mm.setVisible(other)
        if not other and self.preset.currentData():
            self.width_mm.setValue(self.preset.currentData())
        self._tell()

    def _on_current(self, row: int) -> None:
        self.size_mm = None
        self._tell()
        self._later.start()

    # -- what is shown

    def _preview(self) -> None:
        from facelens.figures.sheet import BOXES, Paper

        dpi = round(DENSITY * self.devicePixelRatioF())
        name, word = self.name, self.word
        self.sheet.show_image(self.sheet.image, tr("Drawing…"))

        def then(image: QImage | None, job: Job) -> None:
            if self._closed or name != self.name:
                return
            if image is not None and not image.isNull():
                image.setDevicePixelRatio(1.0)
                self.size_mm = (image.width() / dpi * INCH, image.height() / dpi * INCH)
                self.boxes = image.text(BOXES)
                self.sheet.show_image(image)
            elif job.state is State.FAILED:
                self.size_mm = None
                self.sheet.show_image(None, _why(job.error))
            self._tell()

        try:
            self.figures.picture(word, name, paper=Paper(dpi=dpi), slot=SLOT, then=then)
        except FaceLensError as error:
            self.sheet.show_image(None, _why(error))

    def _tell(self) -> None:
        """How large the figure will be."""
        self.save.setEnabled(bool(self.chosen))
        self.copy.setEnabled(self.size_mm is not None)
        if self.size_mm is None:
            self.told.setText("" if self.chosen else tr("Tick a figure to write it."))
            return
        wide, high = self.size_mm
        factor = self._width() / wide if self._width() else 1.0
        said = tr("{w} × {h} mm", w=number(wide * factor, 0), h=number(high * factor, 0))
        if self.format.value() == "png":
            dots = [round(side * factor / INCH * self.dpi.value()) for side in (wide, high)]
            said = tr("{size}, {w} × {h} pixels", size=said, w=f"{dots[0]:,}", h=f"{dots[1]:,}")
        if factor * CAPTION < READABLE:
            said += "\n" + tr("Captions are {n} pt: too small to read in print", n=number(factor * CAPTION, 1))
        if self.boxes and self.format.value() != "svg":
            said += "\n" + tr(
                "No font here has {scripts}: these letters are boxes. Install one such as Noto Sans, or take SVG, "
                "which keeps words as words.",
                scripts=self.boxes,
            )
        if len(self.chosen) > 1:
            said += "\n" + tr("{n} figures, a file each", n=len(self.chosen))
        self.told.setText(said)

    # -- what is done

    def _on_finished(self) -> None:
        self._closed = True
        self.desk.jobs.cancel_slot(SLOT)

    def _keep(self) -> None:
        drawing = Drawing(self.format.value(), self._width(), self.dpi.value(), self.recipe.isChecked())
        if drawing != self.desk.settings.drawing:
            self.desk.settle(drawing=drawing)

    def _on_copy(self) -> None:
        if self.size_mm is None:
            return
        self._keep()
        self.figures.copy(self.word, self.name, paper=self.paper())

    def _on_save(self) -> None:
        kind = self.format.value()
        what = self.name if len(self.chosen) == 1 and self.word != "gallery" else ""
        page = self.word if self.word != "gallery" else ""
        suggested = " ".join(filter(None, (escaped(stem(self.desk)), page, what)))
        given, _ = QFileDialog.getSaveFileName(
            self, tr("Export figures"), f"{suggested}.{kind}", f"{kind.upper()} (*.{kind})"
        )
        if given:
            self.write(Path(given))

    def write(self, out: Path) -> None:
        """Write the ticked figures to `out`, or beside it with their names where there are several."""
        kind = self.format.value()
        if out.suffix.lower() != f".{kind}":
            out = out.with_name(f"{out.name}.{kind}")
        self._keep()
        self.figures.draw(self.word, out, which=self.chosen, paper=self.paper(), recipe=self.recipe.isChecked())
        self.accept()


def _why(error: BaseException | None) -> str:
    """Why there is no figure, and what to do about it."""
    if not isinstance(error, FaceLensError):
        return tr("This could not be drawn.")
    return f"{error.message}\n{error.hint}".strip()
