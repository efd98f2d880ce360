"""Access: controls have names and say what they do, the keyboard reaches everything, names are no markup."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6 import QtGui
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractScrollArea,
    QAbstractSlider,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QLabel,
    QLineEdit,
    QListWidget,
    QProgressBar,
    QScrollBar,
    QTabBar,
    QWidget,
)

from facelens.session.selection import Selection
from facelens.views.controls import Chip, Rail
from facelens.views.key_sheet import KeySheet
from facelens.views.main_window import MainWindow
from facelens.views.preview import ImportPreview
from facelens.views.sheets import BuildPairs, LocalData

CONTROLS = (
    QAbstractButton,
    QAbstractSlider,
    QAbstractSpinBox,
    QAbstractScrollArea,
    QComboBox,
    QLineEdit,
    QProgressBar,
    QTabBar,
    Chip,
    Rail,
)
TIPPED = (QAbstractButton, QComboBox, QAbstractSlider, QLineEdit, QAbstractSpinBox)


def qts_own(part: QWidget) -> bool:
    """Parts that Qt makes inside its controls; the control speaks for them."""
    up = part.parentWidget()
    while up is not None:
        if isinstance(up, (QComboBox, QAbstractSpinBox, QLineEdit)):
            return True
        up = up.parentWidget()
    return isinstance(part, QScrollBar) or part.objectName().startswith("qt_") or type(part).__name__ in (
        "QTableCornerButton", "QHeaderView", "QMenuBarExtension", "QToolBarExtension",
    )  # fmt: skip


def nameless(root: QWidget) -> list[str]:
    """Visible controls without a name, or without a word on what they do."""
    found = []
    for part in (root, *root.findChildren(QWidget)):
        if not part.isVisible() or not isinstance(part, CONTROLS) or qts_own(part):
            continue
        where = f"{type(part).__name__} {part.objectName()!r} in {type(part.parentWidget()).__name__}"
        text = part.text() if isinstance(part, QAbstractButton) else ""
        if not (part.accessibleName() or text).strip():
            found.append(f"no name: {where}")
        in_a_box = isinstance(part.parentWidget(), QDialogButtonBox)
        if isinstance(part, TIPPED) and not in_a_box and not part.toolTip().strip():
            found.append(f"no tooltip: {where} {part.accessibleName() or text!r}")
    return found


@pytest.fixture
def crowded(window: MainWindow, make_gallery: Callable, tmp_path: Path, settle: Callable) -> MainWindow:
    """A window in which everything that can show shows: findings, banner, filter, selection, jobs, notices."""
    root = make_gallery(
        tmp_path / "<b>crowd</b>", people=("<b>bold</b>", "a & b", "Cy", "Di"), broken=2, manifest=False
    )
    window.opening.open(root)
    settle(window)
    window.opening.open(tmp_path / "nowhere")
    settle(window)
    ids = window.store.workspace.shown_ids
    window.commands.show_identity("<b>bold</b>")
    window.store.update(selection=Selection(ids=ids[:3], current=int(ids[0])))
    settle(window)
    return window


def states(window: MainWindow, settle: Callable) -> Iterator[str]:
    yield "grid"
    for view in ("loupe", "compare", "grid"):
        window.act(f"view.{view}")
        settle(window)
        yield view
    window.act("doctor.show")
    settle(window)
    yield "doctor"
    window.stage.show_page("gallery")
    window.open_beside("doctor")
    yield "beside"
    window.act("palette.open")
    yield "palette"
    window.palette_card.close_palette()
    window.act("gallery.close")
    yield "welcome"


def test_every_control_has_a_name_and_says_what_it_does(crowded: MainWindow, settle: Callable) -> None:
    wrong: dict[str, list[str]] = {}
    for state in states(crowded, settle):
        if found := nameless(crowded):
            wrong[state] = found
    assert not wrong


def test_dialogs_too(crowded: MainWindow, pump: Callable, tmp_path: Path) -> None:
    from facelens.images.readers.manifest import preview

    table = tmp_path / "odd.csv"
    table.write_text("a;b;who\n" + "\n".join(f"x{i}.png;y{i}.png;<b>p{i}</b>" for i in range(5)))
    dialogs: list[QDialog] = [
        KeySheet(crowded.desk, crowded.set_keys, crowded),
        LocalData(crowded.desk, crowded),
        BuildPairs(lambda *_: None, "pairs.txt", crowded),
        ImportPreview(preview(table), "Two columns hold picture names.", lambda _: None, crowded),
    ]
    for dialog in dialogs:
        dialog.show()
        pump()
        assert not nameless(dialog), type(dialog).__name__
        assert dialog.windowTitle()
        dialog.reject()
        pump()


def test_menus_have_a_name_for_every_line(window: MainWindow) -> None:
    for menu_action in window.menuBar().actions():
        menu = menu_action.menu()
        assert menu_action.text() and menu is not None
        for action in menu.actions():
            assert action.isSeparator() or action.text()


def labels(root: QWidget) -> list[QLabel]:
    return [label for label in root.findChildren(QLabel) if label.text()]


def test_names_are_never_markup(crowded: MainWindow, settle: Callable) -> None:
    """Labels are plain text, and no tooltip that holds a name is read as HTML."""
    for state in states(crowded, settle):
        rich = [
            label.text()
            for label in labels(crowded)
            if label.textFormat() != Qt.TextFormat.PlainText and QtGui.Qt.mightBeRichText(label.text())
        ]
        assert not rich, state
        tips = [part.toolTip() for part in crowded.findChildren(QWidget)]
        for rows in crowded.findChildren(QListWidget):
            tips += [rows.item(i).toolTip() for i in range(rows.count())]
        assert not [tip for tip in tips if "<b>" in tip], state


def test_an_ampersand_in_a_name_is_shown(open_window: Callable) -> None:
    from facelens.session.settings import Recent, Settings

    window = open_window(Settings(theme="dark", recent=(Recent("/x/<b>y</b>", "Smith & Sons", 3),)))
    row = next(b for b in window.panel("gallery").welcome.findChildren(QAbstractButton) if b.objectName() == "recent")
    assert row.text().strip() == "Smith && Sons" and row.accessibleName() == "Open Smith & Sons"
    assert "<b>" not in row.toolTip()


def tabbed(window: MainWindow, start: QWidget, most: int = 120) -> list[QWidget]:
    """What Tab reaches, in order, from one widget until it comes round."""
    start.setFocus()
    reached: list[QWidget] = []
    for _ in range(most):
        focus = QApplication.focusWidget()
        if focus in reached:
            break
        reached.append(focus)
        QTest.keyClick(focus, Qt.Key.Key_Tab)
    return reached


def test_tab_reaches_the_control_row_and_the_docks(browsing: MainWindow) -> None:
    browsing.act("select.next")
    panel = browsing.panel("gallery")
    panel.sort.setCurrentIndex(1)
    panel.sort.activated.emit(1)
    reached = tabbed(browsing, panel.grid)
    for control in (panel.sort, panel.direction, panel.group, panel.size_slider, panel.grid):
        assert control in reached
    assert any(panel.mode.isAncestorOf(part) for part in reached)
    assert browsing.stage.tabs in reached and browsing.find_button in reached and browsing.theme_button in reached
    assert browsing.panel("filter").line in reached
    assert browsing.panel("identities").search in reached and browsing.panel("identities").list in reached
    assert browsing.panel("sources").list in reached


def test_tab_walks_the_control_row_from_left_to_right(browsing: MainWindow) -> None:
    panel = browsing.panel("gallery")
    row = [part for part in tabbed(browsing, panel.sort) if panel.controls.isAncestorOf(part)]
    places = [part.mapTo(panel.controls, QPoint(0, 0)).x() for part in row]
    assert places == sorted(places) and len(row) >= 4


def test_tabs_of_the_stage_by_keyboard(browsing: MainWindow) -> None:
    browsing.stage.tabs.setFocus()
    QTest.keyClick(browsing.stage.tabs, Qt.Key.Key_Right)
    assert browsing.stage.word == "doctor"


def test_the_chosen_face_is_read_out(browsing: MainWindow) -> None:
    grid = browsing.panel("gallery").grid
    QTest.keyClick(grid, Qt.Key.Key_Right)
    assert "Ada Byron" in grid.accessibleDescription() and "1 of 12" in grid.accessibleDescription()


def test_a_control_that_cannot_be_used_says_why(window: MainWindow) -> None:
    for button in window.toolbar.findChildren(QAbstractButton):
        if button.isVisible() and not button.isEnabled():
            assert button.toolTip().startswith(("Needs ", "Nothing to "))


def test_words_a_user_reads() -> None:
    """No begging, cheering or blaming in anything that goes through tr."""
    import ast
    import re

    root = Path(os.path.dirname(__file__)).parents[1] / "facelens"
    bad: list[str] = []
    for file in root.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            called = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("tr", "plural")
            for part in node.args if called else []:
                text = part.value if isinstance(part, ast.Constant) and isinstance(part.value, str) else ""
                if "!" in text.replace("!=", "") or re.search(
                    r"\b(please|oops|successfully|sorry|invalid)\b", text, re.I
                ):
                    bad.append(f"{file.name}: {text}")
    assert not bad
