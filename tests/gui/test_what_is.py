"""What is this: the pointer asks, a card answers where one clicks, and nothing else happens by that click."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from facelens.session import guide
from facelens.views.main_window import MainWindow
from facelens.views.panels import PANELS
from facelens.views.what_is import explained, names

SHIFT = Qt.KeyboardModifier.ShiftModifier


def ask(window: MainWindow) -> None:
    """As from the menu: with the pointer."""
    menu = next(action.menu() for action in window.menuBar().actions() if action.text() == "Help")
    menu.aboutToHide.emit()
    window.actions_by_id["guide.what"].trigger()


def click(widget: QWidget, point: QPoint | None = None) -> None:
    QTest.mouseClick(widget, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, point or widget.rect().center())


def asked_by_cursor() -> bool:
    cursor = QApplication.overrideCursor()
    return cursor is not None and cursor.shape() == Qt.CursorShape.WhatsThisCursor


def test_a_click_explains_and_does_nothing_else(browsing: MainWindow, pump: Callable) -> None:
    panel = browsing.panel("gallery")
    before = browsing.store.workspace
    ask(browsing)
    assert asked_by_cursor() and browsing.what.shown is None
    click(panel.grid.viewport() if hasattr(panel.grid, "viewport") else panel.grid)
    card = browsing.what.shown
    assert card is not None and card.title.text() == "Faces" and "ring" in card.text.text().lower()
    assert browsing.store.workspace is before, "the click went through to the grid"
    assert not asked_by_cursor(), "one click, one answer"
    click(panel.direction)
    assert browsing.what.shown is None, "a click elsewhere closes the card"


def test_a_button_is_not_pressed(browsing: MainWindow) -> None:
    button = browsing.theme_button
    pressed: list[int] = []
    for signal in (button.pressed, button.released, button.clicked):
        signal.connect(lambda: pressed.append(1))
    ask(browsing)
    click(button)
    assert not pressed
    card = browsing.what.shown
    assert card is not None and card.said.title == "Switch between light and dark"
    assert card.said.page == "start"


def test_escape_ends_it_and_leaves_the_selection(browsing: MainWindow, pump: Callable) -> None:
    browsing.act("select.all")
    ask(browsing)
    QTest.keyClick(browsing.panel("gallery").grid, Qt.Key.Key_Escape)
    assert not asked_by_cursor() and not browsing.what.asking
    assert len(browsing.store.workspace.selection) == 12
    ask(browsing)
    click(browsing.panel("gallery").sort)
    assert browsing.what.shown is not None
    QTest.keyClick(QApplication.focusWidget(), Qt.Key.Key_Escape)
    assert browsing.what.shown is None and len(browsing.store.workspace.selection) == 12
    QTest.keyClick(browsing.panel("gallery").grid, Qt.Key.Key_Escape)
    assert not len(browsing.store.workspace.selection), "then it means the window again"


def test_asking_twice_ends_it(browsing: MainWindow) -> None:
    ask(browsing)
    ask(browsing)
    assert not browsing.what.asking and not asked_by_cursor()


def test_a_right_click_ends_it(browsing: MainWindow) -> None:
    ask(browsing)
    grid = browsing.panel("gallery").grid
    QTest.mouseClick(grid.viewport() if hasattr(grid, "viewport") else grid, Qt.MouseButton.RightButton)
    assert not browsing.what.asking and browsing.what.shown is None


def test_by_the_keyboard_the_focus_is_explained_and_followed(browsing: MainWindow, pump: Callable) -> None:
    panel = browsing.panel("gallery")
    panel.sort.setFocus()
    QTest.keyClick(panel.sort, Qt.Key.Key_F1, SHIFT)
    pump()
    card = browsing.what.shown
    assert card is not None and card.title.text() == "Sort"
    QTest.keyClick(panel.sort, Qt.Key.Key_Tab)
    while QApplication.focusWidget() is not panel.group:
        QTest.keyClick(QApplication.focusWidget(), Qt.Key.Key_Tab)
    assert browsing.what.shown.title.text() == "Group"
    QTest.keyClick(panel.group, Qt.Key.Key_Down)
    assert browsing.what.shown is None and not browsing.what.asking, "any other key does what it always does"
    assert QApplication.focusWidget() is panel.group


def test_from_the_palette_too(browsing: MainWindow, pump: Callable) -> None:
    panel = browsing.panel("gallery")
    panel.group.setFocus()
    browsing.act("palette.open")
    QTest.keyClicks(browsing.palette_card.line, "what is this")
    QTest.keyClick(browsing.palette_card.line, Qt.Key.Key_Return)
    pump()
    assert browsing.what.shown is not None and browsing.what.shown.title.text() == "Group"


def test_more_leads_to_the_section(browsing: MainWindow, pump: Callable) -> None:
    ask(browsing)
    click(browsing.panel("filter").line)
    card = browsing.what.shown
    assert card is not None and card.title.text() == "Filter" and "p10" in card.formula.text()
    assert QApplication.focusWidget() is card.more
    QTest.keyClick(card.more, Qt.Key.Key_Space)
    pump()
    book = browsing.commands.guide
    assert book.isVisible() and book.page == "workspace"
    assert book.rows[book.list.row].anchor == "filter" and browsing.what.shown is None


def test_the_guides_key_opens_what_the_card_says(browsing: MainWindow, pump: Callable) -> None:
    ask(browsing)
    click(browsing.panel("gallery").group)
    QTest.keyClick(QApplication.focusWidget(), Qt.Key.Key_F1)
    pump()
    assert browsing.commands.guide.rows[browsing.commands.guide.list.row].anchor == "group"


def test_a_card_lies_inside_the_window(browsing: MainWindow) -> None:
    for widget in (browsing.theme_button, browsing.local, browsing.panel("gallery").grid, browsing.stage.tabs):
        for point in (QPoint(1, 1), widget.rect().bottomRight() - QPoint(1, 1)):
            card = browsing.what.explain(widget, point)
            assert browsing.rect().contains(card.geometry()), widget
            spot = widget.mapTo(browsing, point)
            assert not card.geometry().contains(spot), "it hides what it explains"
            assert card.column.totalHeightForWidth(card.width()) <= card.height()
    browsing.what.end()


def test_the_cursor_is_given_back_when_the_window_closes(browsing: MainWindow, close: Callable) -> None:
    ask(browsing)
    close(browsing)
    assert QApplication.overrideCursor() is None


# -- from a widget to words

WIDGETS = {
    "evaluation": {
        "verification.roc": ("ROC", "TAR(t)"), "verification.det": ("DET", "probit"),
        "verification.roc_frame": ("ROC", "TAR(t)"), "verification.points": ("TAR at a FAR", "FAR(t) <= x"),
        "controls.rule": ("TAR at a FAR", "NIST"), "identification.cmc": ("CMC", "rank"),
        "identification.open": ("Open set", "FPIR"), "retrieval.means": ("MAP@R", "1/R"), "list": ("Errors on tap", ""),
    },
    "uncertainty": {
        "variance": ("Variance", "1 - |mean|^2"), "variance.chart": ("Variance", "1 - |mean|^2"),
        "risk": ("Risk against coverage", "AURC"), "gains": ("Gains of refusing", "relative"),
        "quadrants": ("Sure and wrong", "nearest"), "controls.ensemble": ("Ensemble", "ridge"),
    },
    "confidence": {
        "matrix": ("Faces and parts", ""), "heat": ("log σ²", "-log s_k"), "jury.ballots": ("Jury", "likelihood"),
        "jury.foot": ("Disagreeing votes", "fair share"), "spread": ("Distribution", ""),
        "attributes": ("Attributes", "2 AUC - 1"), "correlation": ("Correlation of parts", "Pearson"),
    },
    "learners": {
        "specialists": ("Found by one learner only", "rank_k = 1"), "table": ("Recall of each learner", "Recall@k"),
        "curve": ("Recall by dimensions", ""),
    },
    "match": {
        "explorer": ("Transport plan", "sum_ij F_ij D_ij"), "controls.alpha": ("Alpha", "Eq. 9"),
        "ledger": ("Region ledger", "share_i,r"), "ledger.foot": ("Decision", "gap"), "slopes": ("Ranking", "stage 2"),
        "sweep": ("All queries", "MAP@R"), "why_not": ("Why not the nearest other", ""),
    },
    "upgrade": {
        "verdict": ("Verdict", "A(new/old)"), "matrix": ("Cross-test", "TPIR"), "gains": ("Gains", "upper"),
        "cards": ("Flips", "same FAR"), "backfill": ("Backfill", "flip risk"), "people": ("d_pw", "2 - 2 mean cosine"),
        "map": ("Old and new map", "moved"),
    },
    "projection": {"map": ("Map", "PCA"), "controls.other": ("Two models on one map", "s Q R + t")},
    "doctor": {"list": ("Findings", ""), "exclude": ("Exclude", "")},
    "models": {"embed": ("Embed", "cosine"), "list": ("Loaded models", ""), "form.mean": ("Mean", "")},
    "training": {"form.recipe": ("Recipe", ""), "page.terms": ("Terms of the loss", "CosFace")},
}  # fmt: skip


@pytest.mark.parametrize("word", WIDGETS)
def test_charts_and_numbers_of_a_panel_are_explained(panel: Callable, word: str) -> None:
    made = panel(next(page for page in PANELS if page.word == word).load(), shown=False)
    for path, (title, formula) in WIDGETS[word].items():
        widget = made
        for name in path.split("."):
            widget = getattr(widget, name)
        said = explained(widget)
        assert (said.title, formula in said.formula) == (title, True), f"{path}: {said}"
        assert guide.page(said.page).section(said.anchor) is not None


@pytest.mark.parametrize("page", PANELS, ids=lambda page: page.word)
def test_what_has_no_words_of_its_own_tells_of_the_page(panel: Callable, page: object) -> None:
    made = panel(page.load(), shown=False)  # type: ignore[attr-defined]
    said = explained(made)
    assert said.page == page.word and said.text == guide.page(page.word).summary  # type: ignore[attr-defined]
    inner = QWidget(made)
    assert explained(inner).text == said.text


def test_a_segment_is_explained_by_itself(panel: Callable) -> None:
    from facelens.views.panels.match import MatchPanel

    controls = panel(MatchPanel).controls
    controls.show()
    weights = controls.weights
    for key, title in (("uniform", "Uniform"), ("apc", "APC"), ("sc distance", "SC"), ("cc", "CC"), ("lmk", "LMK")):
        button = weights.button(key)
        assert explained(weights, button.geometry().center()).title == title
        assert explained(button, button.rect().center()).title == title
    assert explained(weights).title == "Weights"


def test_a_row_of_a_table_is_explained_by_itself(panel: Callable) -> None:
    from facelens.views.points import SummaryTable
    from facelens.views.tables import Cell, Column

    table = SummaryTable()
    try:
        table.resize(400, 200)
        table.fill([Column("measure"), Column("A")], [[Cell("EER"), Cell("1")], [Cell("AUC"), Cell("2")]])
        for row, title in ((0, "EER"), (1, "AUC, d′, FMR100, accuracy")):
            box = table.visualRect(table.model_.index(row, 1))
            point = table.viewport().mapTo(table, box.center())
            assert explained(table, point).title == title
            assert explained(table.viewport(), box.center()).title == title
    finally:
        table.deleteLater()


def test_a_switch_tells_of_what_it_leads_to(panel: Callable) -> None:
    from facelens.views.panels.uncertainty import UncertaintyPanel

    made = panel(UncertaintyPanel)
    made.pages.setCurrentWidget(made.area)
    below = made.below
    button = below.switch.button("strip")
    said = explained(button, button.rect().center())
    assert said.title == "Strip" and "three rows" in said.text and said.anchor == "low-medium-high"


def test_a_label_speaks_for_its_control(panel: Callable) -> None:
    from facelens.views.panels.evaluation import EvaluationPanel

    controls = panel(EvaluationPanel).controls
    group = controls.groups["open_rule"]
    label = next(part for part in group.children() if getattr(part, "text", None) and part.text() == "Open-set rule")
    group.show()
    assert explained(label).title == "Open set"


def test_names_go_from_the_particular_to_the_general(panel: Callable) -> None:
    from facelens.views.panels.evaluation import EvaluationPanel

    made = panel(EvaluationPanel, shown=False)
    found = list(names(made.controls.conventions["open_rule"]))
    assert "EvaluationControls.conventions:open_rule" in found
    found = list(names(made.verification.det))
    assert found.index("VerificationPage.det") < found.index("Chart")
