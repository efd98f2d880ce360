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
    QAbstractItemView,
    QAbstractScrollArea,
    QAbstractSlider,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QFrame,
    QGraphicsView,
    QKeySequenceEdit,
    QLabel,
    QLineEdit,
    QListView,
    QPlainTextEdit,
    QProgressBar,
    QScrollBar,
    QStackedWidget,
    QTabBar,
    QWidget,
)

from facelens.session.selection import Selection
from facelens.views.controls import Chip, Rail
from facelens.views.frame import Places
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
TIPPED = (
    QAbstractButton,
    QComboBox,
    QAbstractSlider,
    QLineEdit,
    QAbstractSpinBox,
    QAbstractItemView,
    QPlainTextEdit,
    QKeySequenceEdit,
    QGraphicsView,
)
FIELDS = (QLineEdit, QAbstractSpinBox, QComboBox, QPlainTextEdit, QKeySequenceEdit)


def qts_own(part: QWidget) -> bool:
    """Parts that Qt makes inside its controls; the control speaks for them."""
    up = part.parentWidget()
    while up is not None:
        if isinstance(up, (QComboBox, QAbstractSpinBox, QLineEdit, QKeySequenceEdit)):
            return True
        up = up.parentWidget()
    return isinstance(part, QScrollBar) or part.objectName().startswith("qt_") or type(part).__name__ in (
        "QTableCornerButton", "QHeaderView", "QMenuBarExtension", "QToolBarExtension", "QComboBoxPrivateContainer",
    )  # fmt: skip


def painted(part: QWidget) -> bool:
    """Whether it is a view of our own that the keyboard or the pointer can do something with."""
    own = [cls for cls in type(part).__mro__ if cls.__module__.startswith("facelens")]
    paints = any("paintEvent" in cls.__dict__ for cls in own)
    return paints and part.focusPolicy() != Qt.FocusPolicy.NoFocus


def labelled(part: QWidget) -> bool:
    """Whether a visible label says what a field is for."""
    return any(one.buddy() is part and one.isVisible() and one.text() for one in part.window().findChildren(QLabel))


def nameless(root: QWidget) -> list[str]:
    """Visible controls without a name, or without a word on what they do."""
    found = []
    for part in (root, *root.findChildren(QWidget)):
        known = isinstance(part, (*CONTROLS, *TIPPED)) or painted(part)
        if not part.isVisible() or not known or qts_own(part):
            continue
        where = f"{type(part).__name__} {part.objectName()!r} in {type(part.parentWidget()).__name__}"
        text = part.text() if isinstance(part, QAbstractButton) else ""
        if not (part.accessibleName() or text).strip():
            found.append(f"no name: {where}")
        in_a_box = isinstance(part.parentWidget(), QDialogButtonBox)
        told = part.toolTip().strip() or part.whatsThis().strip() or (isinstance(part, FIELDS) and labelled(part))
        if (isinstance(part, TIPPED) or painted(part)) and not in_a_box and not told:
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
    settle(window)
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


def pages(part: QWidget, settle: Callable[[], object]) -> Iterator[None]:
    """Every page of every switch and stack in a panel, one after the other; some are made when they are chosen."""
    for places in part.findChildren(Places):
        at = places.key
        for key in (*places.keys, at):
            if places.isVisible() and places.switch.offers(key):
                places.show_key(key)
                settle()
                yield
    for stack in part.findChildren(QStackedWidget):
        at = stack.currentIndex()
        for i in range(stack.count()):
            stack.setCurrentIndex(i)
            QApplication.processEvents()
            yield
        stack.setCurrentIndex(at)


def popups(window: QWidget) -> Iterator[QWidget]:
    """Cards and forms of our own that lie over the window."""
    found = [one for one in window.findChildren(QFrame) if one.windowType() == Qt.WindowType.Popup]
    for one in found:
        if type(one).__module__.startswith("facelens"):
            one.show()
            QApplication.processEvents()
            yield one
            one.hide()


@pytest.mark.slow
def test_every_panel_dock_and_popup_with_models_and_answers(
    open_window: Callable, make_gallery: Callable, tmp_path: Path
) -> None:
    """The steps of the tour: real models on a small gallery, every panel with its answers, all pages of it."""
    from facelens.session.settings import Settings
    from facelens.views import tour
    from facelens.views.panels import PANELS

    window = open_window(Settings(theme="dark"), remember=False)
    window.desk.vectors = tmp_path / "features"
    people = tuple(f"Person_{i}" for i in range(5))
    gallery = make_gallery(tmp_path / "faces", people=people, pictures=4, broken=1)
    guide = tour.Guide(
        window, tmp_path, scheme="dark", gallery=gallery, crashes=[], kept=tour.Kept(tmp_path / "kept")
    )
    wrong: dict[str, str] = {}
    shown = set()
    for name, step in tour.STEPS:
        if name == "browse_layout":  # only writes figures
            continue
        step(guide)
        guide.settle()
        shown.add(window.stage.word)
        wrong |= dict.fromkeys(nameless(window), name)
        for _ in pages(window.stage.current, guide.settle):
            wrong |= dict.fromkeys(nameless(window), f"pages of {name}")
        for popup in popups(window):
            wrong |= dict.fromkeys(nameless(popup), f"popups of {name}")
    window.act("layout.browse")
    for dock in window.docks.values():
        dock.show()
    guide.settle()
    wrong |= dict.fromkeys(nameless(window), "docks")
    assert not wrong
    assert shown == {cls.word for cls in PANELS}, "a step of the tour shows each panel"


def own_dialogs() -> set[type[QDialog]]:
    import pkgutil
    from importlib import import_module

    import facelens.views

    for found in pkgutil.walk_packages(facelens.views.__path__, "facelens.views."):
        import_module(found.name)

    def below(cls: type) -> set[type]:
        return {one for sub in cls.__subclasses__() for one in (sub, *below(sub))}

    return {one for one in below(QDialog) if one.__module__.startswith("facelens")}


def test_dialogs_too(crowded: MainWindow, pump: Callable, settle: Callable, tmp_path: Path) -> None:
    import torch
    from safetensors.torch import save_file

    from facelens.features.models import MODELS
    from facelens.images.readers.manifest import preview
    from facelens.views.collecting import CollectSheet
    from facelens.views.combining import CombineSubsets
    from facelens.views.figure_sheet import FigureSheet
    from facelens.views.finding import FindFaces
    from facelens.views.naming import NameSheet
    from facelens.views.sheets import LimitsSheet
    from facelens.views.stability import MeasureVariance
    from facelens.views.trials import FeedingTrial, ParityTrial, Trial

    torch.manual_seed(0)
    file = tmp_path / "net.safetensors"
    save_file(MODELS["small_plain"].build().state_dict(), file)
    crowded.modelling.load(file)
    settle(crowded)
    seen, desk = crowded.store.workspace.models[0], crowded.desk
    table = tmp_path / "odd.csv"
    table.write_text("a;b;who\n" + "\n".join(f"x{i}.png;y{i}.png;<b>p{i}</b>" for i in range(5)))
    ids = crowded.store.workspace.faces.ids  # type: ignore[union-attr]
    dialogs: list[QDialog] = [
        KeySheet(desk, crowded.set_keys, crowded),
        LocalData(desk, crowded),
        LimitsSheet(desk, crowded),
        BuildPairs(lambda *_: None, "pairs.txt", crowded),
        ImportPreview(preview(table), "Two columns hold picture names.", lambda _: None, crowded),
        CombineSubsets(desk, crowded),
        NameSheet(desk, ids[:2], crowded),
        NameSheet(desk, ids[:3], crowded, person="<b>bold</b>"),
        FindFaces(desk, lambda *_, **__: None, crowded),
        MeasureVariance(desk, seen, lambda *_: None, crowded),
        FeedingTrial(desk, seen, crowded),
        ParityTrial(desk, seen, file, crowded),
    ]
    elsewhere = {FigureSheet, CollectSheet}  # see test_figure_sheet.py and test_collecting.py
    assert own_dialogs() == {type(one) for one in dialogs} | {Trial} | elsewhere, "a new dialog is shown here as well"
    for dialog in dialogs:
        dialog.show()
        settle(crowded)
        assert not nameless(dialog), type(dialog).__name__
        assert dialog.windowTitle()
        dialog.reject()
        pump()
    dialogs.clear()


def test_what_is_this_is_asked_for_by_a_key(browsing: MainWindow, pump: Callable) -> None:
    grid = browsing.panel("gallery").grid
    assert "rubber band" in grid.whatsThis() and browsing.key_of("guide.what") == "Shift+F1"


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
        for rows in crowded.findChildren(QListView):
            indexes = [rows.model().index(i, 0) for i in range(min(100, rows.model().rowCount()))]
            tips += [index.data(Qt.ItemDataRole.ToolTipRole) or "" for index in indexes]
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
