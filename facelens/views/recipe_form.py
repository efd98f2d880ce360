"""The left side of the training page: which recipe, on what, with which models and settings, into which folder.

Form and Text are two views of one thing, the text of the recipe: a field writes into it, and what the recipe's own
check has to say about it stands below, with the line.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QRectF, QSignalBlocker, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QResizeEvent, QTextFormat
from PySide6.QtWidgets import (
    QComboBox,
    QFileDialog,
    QGridLayout,
    QHBoxLayout,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
    QStackedWidget,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTextEdit,
    QVBoxLayout,
    QWidget,
)

from facelens.errors import InputError
from facelens.features.recipe import Recipe
from facelens.session.draft import ROLES, Draft, offered, reason, value_of
from facelens.session.glance import MODELS, VECTORS
from facelens.session.workspace import Workspace
from facelens.views import theme
from facelens.views.controls import Combo, Header, Segmented, draw_text, label, plain_tip, tool_button
from facelens.views.frame import scrolled
from facelens.words import escaped, plural, tr

WIDTH = 316
LABELS, FIELD = 56, 54  # px of the labels left of the fields, and of a number
TYPED = 350  # ms after the last key until the text is read
ABOUT = Qt.ItemDataRole.UserRole + 1


class RecipeForm(QWidget):
    """What is asked. It changes nothing itself: it says what the user wants."""

    chosen = Signal(object)  # a recipe's name, or a file
    changed = Signal(object)  # the draft as it is now
    given = Signal(str, str)  # a model's role and its file
    started = Signal()
    moved = Signal()  # into another folder

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("panel")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setMinimumWidth(264)
        self.draft: Draft | None = None
        self.running = False
        self._workspace = Workspace()
        self.header = Header(tr("Recipe"))
        self.switch = Segmented([("form", tr("Form")), ("text", tr("Text"))], label=tr("View of the recipe"), height=22)
        self.switch.button("form").setToolTip(tr("The settings that are changed most often"))
        self.switch.button("text").setToolTip(tr("The whole recipe, to read and to change"))
        self.header.add(self.switch)
        self.open = self.header.add_button("folder", tr("Open a recipe file (TOML)"), self._on_open)
        self.recipe = Combo()
        self.recipe.setAccessibleName(tr("Recipe"))
        self.recipe.setToolTip(tr("What is trained, and how"))
        self.recipe.setFixedHeight(26)
        self.recipe.setItemDelegate(_Offer(self.recipe))
        self.recipe.view().setMinimumWidth(440)
        for name, about in offered():
            self.recipe.addItem(name, name)
            self.recipe.setItemData(self.recipe.count() - 1, about, ABOUT)
        self.recipe.activated.connect(lambda _: self.chosen.emit(self.recipe.currentData()))
        self.about = label(name="small", wrap=True)
        head = QVBoxLayout()
        head.setContentsMargins(12, 10, 12, 0)
        head.setSpacing(6)
        head.addWidget(self.recipe)
        head.addWidget(self.about)
        self.text = Editor()
        self.text.setAccessibleName(tr("Text of the recipe"))
        self.text.setWhatsThis(tr("The recipe as TOML; form and text say the same. What cannot be read is marked."))
        self._typing = QTimer(self)
        self._typing.setSingleShot(True)
        self._typing.setInterval(TYPED)
        self._typing.timeout.connect(self._on_typed)
        self.text.textChanged.connect(self._typing.start)
        self.pages = QStackedWidget()
        self.switch.changed.connect(self.pages.setCurrentIndex)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.header)
        column.addLayout(head)
        column.addSpacing(10)
        column.addWidget(self.pages, 1)
        self._build_form()
        self.pages.addWidget(self.text)
        column.addLayout(self._build_foot())

    # -- building

    def _build_form(self) -> None:
        inner = self._grid_in = QWidget()
        inner.setObjectName("panel")
        self.pages.addWidget(scrolled(inner, tr("Settings of the training")))
        grid = self._grid = QGridLayout(inner)
        grid.setContentsMargins(12, 0, 12, 8)
        grid.setHorizontalSpacing(6)
        grid.setVerticalSpacing(8)
        grid.setColumnMinimumWidth(0, LABELS)
        grid.setColumnStretch(1, 1)
        self.source = _combo(tr("Faces"), tr("What is trained on"))
        self.source.activated.connect(lambda _: self._change(source=self.source.currentData()))
        self.people = self._field("data.people", tr("Drawn people"))
        self.pictures = self._field("data.pictures", tr("Pictures of each drawn person"))
        self.drawn = _line(
            self.people, label(tr("people ×"), name="sub"), self.pictures, label(tr("pictures"), name="sub")
        )
        self.roles: dict[str, QComboBox] = {}
        self.length = self._field("", tr("How long it is trained"))
        self.length.editingFinished.connect(self._on_length)
        self.unit = Segmented([("epochs", tr("epochs")), ("steps", tr("steps"))], label=tr("Length in"), height=26)
        self.unit.button("epochs").setToolTip(tr("An epoch has shown every picture once"))
        self.unit.button("steps").setToolTip(tr("A step is one batch"))
        self.unit.changed.connect(lambda _: self._on_unit())
        self.rate = self._field("optimiser.rate", tr("Learning rate at its highest"))
        self.batch_people = self._field("batch.people", tr("People in a batch"))
        self.batch_pictures = self._field("batch.pictures", tr("Pictures of each person in a batch"))
        self.batch_size = self._field("batch.size", tr("Pictures in a batch"))
        self.balanced = _line(
            self.batch_people, label(tr("people ×"), name="sub"), self.batch_pictures, label(tr("pictures"), name="sub")
        )
        self.plain = _line(self.batch_size, label(tr("pictures"), name="sub"))
        self.plain.hide()
        self.seed = self._field("seed", tr("The same seed gives the same model"))
        self.out = QLineEdit()
        self.out.setAccessibleName(tr("Folder"))
        self.out.editingFinished.connect(self._on_out)
        self.browse = tool_button("open", tr("Choose the folder for what is trained"), size=14)
        self.browse.setFixedSize(26, 26)
        self.browse.clicked.connect(self._on_browse)
        self._row(tr("Faces"), self.source, self.drawn)
        self.role_labels = {}
        for role, name in ROLES.items():
            combo = self.roles[role] = _combo(tr(name), tr("A loaded model, or a file"))
            combo.activated.connect(partial(self._on_role, role))
            self.role_labels[role] = self._row(tr(name).split()[0], combo)
            for part in (combo, self.role_labels[role]):
                part.hide()
        self._row(tr("Length"), _line(self.length, self.unit))
        self._row(tr("Rate"), _line(self.rate))
        self._row(tr("Batch"), self.balanced, self.plain)
        self._row(tr("Seed"), _line(self.seed))
        self._row(tr("Folder"), _line(self.out, self.browse, stretch=self.out))
        grid.setRowStretch(grid.rowCount(), 1)

    def _build_foot(self) -> QVBoxLayout:
        self.problem = label(name="problem", wrap=True)
        self.problem.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.note = label(
            tr("This folder holds a training. What is changed here goes into another one."), name="small", wrap=True
        )
        self.start = QPushButton(tr("Start"))
        self.start.setObjectName("primary")
        self.start.setMinimumHeight(32)
        self.start.clicked.connect(self.started)
        self.elsewhere = QPushButton(tr("Train anew in another folder"))
        self.elsewhere.setToolTip(tr("With the same recipe, from the beginning"))
        self.elsewhere.clicked.connect(self.moved)
        foot = QVBoxLayout()
        foot.setContentsMargins(12, 8, 12, 12)
        foot.setSpacing(8)
        for part in (self.problem, self.note, self.elsewhere, self.start):
            foot.addWidget(part)
        return foot

    def _field(self, key: str, tip: str) -> QLineEdit:
        made = QLineEdit()
        made.setAccessibleName(tip)
        made.setToolTip(tip)
        made.setFixedSize(FIELD, 26)
        if key:
            made.editingFinished.connect(lambda: self._on_value(key, made))
        return made

    def _row(self, name: str, *contents: QWidget) -> QWidget:
        row = self._grid.rowCount()
        shown = label(name, name="sub")
        shown.setFixedHeight(26)
        self._grid.addWidget(shown, row, 0, Qt.AlignmentFlag.AlignTop)
        column = QVBoxLayout()
        column.setSpacing(8)
        for content in contents:
            column.addWidget(content)
        self._grid.addLayout(column, row, 1)
        return shown

    # -- showing

    def fill(self, workspace: Workspace, *, running: bool) -> None:
        """Show what is asked; while a training runs it can be read, not changed."""
        draft = self.draft = workspace.draft
        self._workspace, self.running = workspace, running
        if draft is None:
            return
        self._show_recipe(draft)
        if draft.text != self.text.toPlainText():
            with QSignalBlocker(self.text):
                self.text.setPlainText(draft.text)
        self.text.mark(_line_of(draft.problem))
        self.text.setReadOnly(running)
        if draft.recipe is not None:
            self._show_fields(draft, draft.recipe, workspace)
        for part in (self.recipe, self.open):
            part.setEnabled(not running)
        self._grid_in.setEnabled(not running)
        self._show_foot(draft, running=running)

    def _show_recipe(self, draft: Draft) -> None:
        place = self.recipe.findData(draft.name)
        if place < 0:
            self.recipe.insertItem(0, draft.title, draft.name)
            place = 0
        self.recipe.setCurrentIndex(place)
        said = draft.recipe.about if draft.recipe is not None else self.recipe.itemData(place, ABOUT) or ""
        self.about.setText(said)
        self.about.setVisible(bool(said))

    def _show_fields(self, draft: Draft, recipe: Recipe, workspace: Workspace) -> None:
        faces = workspace.kept_faces
        with QSignalBlocker(self.source):
            self.source.clear()
            if faces is not None:
                n = plural(len(faces), "{n} face", "{n} faces")
                self.source.addItem(tr("{name}, {n}", name=faces.name, n=n), "open")
            elif draft.source == "open":
                self.source.addItem(tr("a gallery that is not open"), "open")
            if recipe.data.gallery:
                self.source.addItem(escaped(Path(recipe.data.gallery).name), "stated")
            self.source.addItem(tr("the sample world, drawn"), "drawn")
            self.source.setCurrentIndex(max(0, self.source.findData(draft.source)))
        self.source.setToolTip(plain_tip(tr("What is trained on: {what}", what=self.source.currentText())))
        self.drawn.setVisible(draft.source == "drawn")
        for role, combo in self.roles.items():
            there = role in draft.needed
            combo.setVisible(there)
            self.role_labels[role].setVisible(there)
            if there:
                self._fill_role(role, combo, getattr(recipe.models, role), workspace)
        self.balanced.setVisible(recipe.batch.kind != "plain")
        self.plain.setVisible(recipe.batch.kind == "plain")
        unit = "steps" if recipe.steps else "epochs"
        self.unit.set_value(unit)
        for field, value in (
            (self.people, recipe.data.people),
            (self.pictures, recipe.data.pictures),
            (self.length, getattr(recipe, unit)),
            (self.rate, recipe.optimiser.rate),
            (self.batch_people, recipe.batch.people),
            (self.batch_pictures, recipe.batch.pictures),
            (self.batch_size, recipe.batch.size),
            (self.seed, recipe.seed),
        ):
            _write(field, f"{value:g}" if isinstance(value, float) else str(value))
        _write(self.out, str(draft.out))
        self.out.setToolTip(plain_tip(tr("What is trained is written here: {path}", path=escaped(str(draft.out)))))

    def _fill_role(self, role: str, combo: QComboBox, file: str, workspace: Workspace) -> None:
        with QSignalBlocker(combo):
            combo.clear()
            known = {str(one.path): one.card.name for one in workspace.models}
            if role not in ("start", "attributes"):  # vectors alone will do
                own = set(known.values())
                known |= {str(kept.folder): name for name, kept in workspace.stored.items() if name not in own}
            if not file:
                combo.addItem(tr("not chosen"), "")
            for path, name in known.items():
                combo.addItem(name, path)
            if file and file not in known:
                combo.addItem(escaped(Path(file).name), file)
            combo.addItem(tr("Choose a file…"), None)
            combo.setCurrentIndex(max(0, combo.findData(file)))
        combo.setToolTip(plain_tip(escaped(file) or tr("A loaded model, or a file")))

    def _show_foot(self, draft: Draft, *, running: bool) -> None:
        why = reason(draft, gallery=self._workspace.faces is not None)
        taken = not running and draft.taken
        self.note.setVisible(taken)
        self.problem.setText(why)
        self.problem.setVisible(bool(why) and not running and not taken)
        self.elsewhere.setVisible(taken)
        self.start.setVisible(not taken)
        self.start.setEnabled(not running and not why)
        tip = tr("A training is running; stop it first.") if running else why
        self.start.setToolTip(
            plain_tip(tip or tr("Runs in the background; a graphics card is used where there is one"))
        )
        self.start.setAccessibleDescription(tip)

    # -- what the user does

    def _on_open(self) -> None:
        if name := QFileDialog.getOpenFileName(self, tr("Open a recipe"), "", tr("Recipes") + " (*.toml)")[0]:
            self.chosen.emit(Path(name))

    def _change(self, **fields: Any) -> None:
        if self.draft is not None:
            self.changed.emit(replace(self.draft, **fields))

    def _set(self, values: dict[str, Any]) -> None:
        """Write values into the text; what cannot be written there is said."""
        if self.draft is None:
            return
        try:
            self.changed.emit(self.draft.with_values(values))
        except InputError as error:
            self.problem.setText(str(error))
            self.problem.show()

    def _on_value(self, key: str, field: QLineEdit) -> None:
        if field.isModified():
            field.setModified(False)
            self._set({key: value_of(field.text())})

    def _on_length(self) -> None:
        if self.length.isModified():
            self.length.setModified(False)
            self._on_unit()

    def _on_unit(self) -> None:
        unit = self.unit.value()
        other = "steps" if unit == "epochs" else "epochs"
        self._set({other: None, unit: value_of(self.length.text())})

    def _on_role(self, role: str, place: int) -> None:
        combo = self.roles[role]
        file = combo.itemData(place)
        if file is None:
            kinds = tr("Models and vectors") + f" ({' '.join(f'*{end}' for end in dict.fromkeys((*MODELS, *VECTORS)))})"
            file = QFileDialog.getOpenFileName(self, tr(ROLES[role]), "", f"{kinds};;{tr('All files')} (*)")[0]
            if not file:
                if self.draft is not None and self.draft.recipe is not None:
                    self._fill_role(role, combo, getattr(self.draft.recipe.models, role), self._workspace)
                return
        self.given.emit(role, file)

    def _on_out(self) -> None:
        self.out.setCursorPosition(0)  # or it shows its tail
        if self.out.isModified() and self.out.text().strip():
            self.out.setModified(False)
            self._change(out=Path(self.out.text().strip()).expanduser().absolute())

    def _on_browse(self) -> None:
        if name := QFileDialog.getExistingDirectory(
            self, tr("Folder for what is trained"), str(self.draft and self.draft.out.parent)
        ):
            self._change(out=Path(name))

    def _on_typed(self) -> None:
        if self.draft is not None and self.text.toPlainText() != self.draft.text:
            self._change(text=self.text.toPlainText())


class Editor(QPlainTextEdit):
    """Text with numbered lines, one of which may be marked."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("mono")
        self.setFont(theme.font(11, mono=True))
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setTabChangesFocus(True)
        self._numbers = _Numbers(self)
        self._marked = 0
        self.setViewportMargins(34, 0, 0, 0)
        self.updateRequest.connect(lambda *_: self._numbers.update())
        theme.follow(self, self._on_theme_changed)

    def _on_theme_changed(self) -> None:
        self.mark(self._marked)

    def mark(self, number: int) -> None:
        """Show a line as the one that is wrong; 0 for none."""
        self._marked = number
        block = self.document().findBlockByNumber(number - 1)
        marks = []
        if number and block.isValid():
            mark = QTextEdit.ExtraSelection()
            mark.format.setBackground(theme.current().q("warn", 0.2))  # type: ignore[attr-defined]
            mark.format.setProperty(QTextFormat.Property.FullWidthSelection, True)  # type: ignore[attr-defined]
            mark.cursor = self.textCursor()  # type: ignore[attr-defined]
            mark.cursor.setPosition(block.position())  # type: ignore[attr-defined]
            marks.append(mark)
        self.setExtraSelections(marks)
        self._numbers.update()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        inside = self.contentsRect()
        self._numbers.setGeometry(QRect(inside.left(), inside.top(), 34, inside.height()))

    def paint_numbers(self, painter: QPainter) -> None:
        """The numbers beside the lines that are seen."""
        block = self.firstVisibleBlock()
        while block.isValid():
            where = self.blockBoundingGeometry(block).translated(self.contentOffset())
            if where.top() > self.viewport().height():
                return
            number = block.blockNumber() + 1
            ink = "warn" if number == self._marked else "text3"
            line = QRectF(0, where.top() + self.viewport().y() - self.contentsRect().top(), 28, where.height())
            draw_text(painter, line, str(number), ink, 10, align="right")
            block = block.next()


class _Numbers(QWidget):
    def __init__(self, editor: Editor) -> None:
        super().__init__(editor)
        self._editor = editor

    def paintEvent(self, event: QPaintEvent) -> None:
        self._editor.paint_numbers(QPainter(self))


class _Offer(QStyledItemDelegate):
    """A recipe in the list: its name, and what it is."""

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        return QSize(super().sizeHint(option, index).width(), 25)

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        now, rect = theme.current(), QRectF(option.rect)  # type: ignore[attr-defined]
        if option.state & QStyle.StateFlag.State_Selected:  # type: ignore[attr-defined]
            painter.fillRect(rect, QColor(now.soft))
        draw_text(painter, rect.adjusted(8, 0, 0, 0), str(index.data()), "text", 12)
        draw_text(painter, rect.adjusted(124, 0, -8, 0), str(index.data(ABOUT) or ""), "text2", 11)


def _combo(name: str, tip: str) -> QComboBox:
    made = Combo()
    made.setAccessibleName(name)
    made.setToolTip(tip)
    made.setFixedHeight(26)
    made.setMinimumContentsLength(6)
    made.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
    return made


def _line(*parts: QWidget, stretch: QWidget | None = None) -> QWidget:
    made = QWidget()
    row = QHBoxLayout(made)
    row.setContentsMargins(0, 0, 0, 0)
    row.setSpacing(6)
    for part in parts:
        row.addWidget(part, 1 if part is stretch else 0)
    if stretch is None:
        row.addStretch(1)
    return made


def _write(field: QLineEdit, text: str) -> None:
    """Show a value; what is being typed is left alone."""
    if field.text() != text and not field.isModified():
        field.setText(text)
        field.setCursorPosition(0)


def _line_of(problem: InputError | None) -> int:
    """The line that the recipe's check has named."""
    found = re.search(r"line (\d+)", problem.message) if problem is not None else None
    return int(found[1]) if found else 0
