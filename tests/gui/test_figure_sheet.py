"""The sheet that exports figures: what it shows is what it writes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog

from facelens.images.faceset import Labels
from facelens.session import figure_recipe
from facelens.session.selection import Selection
from facelens.session.settings import Drawing
from facelens.views.figure_sheet import FigureSheet
from facelens.views.main_window import MainWindow
from tests.gui.evaluation.stub import features
from tests.gui.test_access import nameless

CTRL = Qt.KeyboardModifier.ControlModifier


@pytest.fixture
def evaluated(browsing: MainWindow, settle: Callable) -> MainWindow:
    import numpy as np

    faces = browsing.store.workspace.faces
    assert faces is not None
    rng = np.random.default_rng(0)
    who = rng.normal(size=(len(faces.identity.names), 8))[faces.identity.codes]
    made = {name: features(faces, who + rng.normal(size=who.shape), name) for name in ("one", "two")}
    browsing.store.update(features=made, model_a="one", model_b="two")
    browsing.stage.show_page("evaluation")
    settle(browsing)
    assert browsing.store.workspace.evaluation is not None
    return browsing


def opened(window: MainWindow, settle: Callable, pump: Callable) -> FigureSheet:
    QTest.keyClick(window, Qt.Key.Key_E, CTRL)
    [sheet] = window.findChildren(FigureSheet)
    sheet._later.stop()
    sheet._preview()
    settle(window)
    return sheet


def test_the_page_in_front_is_what_is_exported(browsing: MainWindow, settle: Callable, pump: Callable) -> None:
    browsing.store.update(selection=Selection(ids=browsing.store.workspace.faces.ids[:3]))
    sheet = opened(browsing, settle, pump)
    assert sheet.word == "gallery" and sheet.windowTitle() == "Export figures: Gallery"
    assert sheet.sheet.image is not None and not sheet.list.isVisible() and sheet.chosen == ("sheet",)
    assert "pixels" in sheet.told.text()
    sheet.reject()


def test_figures_are_previewed_ticked_and_written_with_recipes(
    evaluated: MainWindow, settle: Callable, pump: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sheet = opened(evaluated, settle, pump)
    assert sheet.chosen == sheet.row.names and sheet.chosen[:2] == ("roc", "det")
    first = QImage(sheet.sheet.image)
    QTest.keyClick(sheet.list, Qt.Key.Key_Down)
    assert sheet.name == "det" and sheet.size_mm is None and not sheet.copy.isEnabled()
    sheet._preview()
    settle(evaluated)
    assert sheet.sheet.image != first and sheet.copy.isEnabled()
    for row in range(2, len(sheet.list.lines)):
        sheet.list.tick(row, on=False)
    assert sheet.chosen == ("roc", "det") and "2 figures" in sheet.told.text()
    sheet.format.button("svg").click()
    sheet.preset.setCurrentIndex(1)
    sheet._on_preset()
    assert sheet.told.text().startswith("85 ×") and "pixels" not in sheet.told.text()
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(tmp_path / "mine"), ""))
    sheet.save.click()
    settle(evaluated)
    names = {path.name for path in tmp_path.glob("mine*")}
    assert names == {f"mine {name}.svg{more}" for name in ("roc", "det") for more in ("", ".recipe.json")}
    recipe = figure_recipe.read(tmp_path / "mine det.svg.recipe.json")
    assert (recipe.panel, recipe.name, recipe.format) == ("evaluation", "det", "svg")
    assert recipe.paper.width == pytest.approx(85 / 25.4) and recipe.versions["facelens"]
    assert 'width="240.945pt"' in (tmp_path / "mine roc.svg").read_text()[:1500]
    assert evaluated.desk.settings.drawing == Drawing("svg", 85.0, 200, True), "remembered for the next one"
    assert "2 figures. Written to" in evaluated.statusBar().currentMessage()


def test_words_that_nobody_could_read_are_told(evaluated: MainWindow, settle: Callable, pump: Callable) -> None:
    sheet = opened(evaluated, settle, pump)
    assert "too small" not in sheet.told.text()
    sheet.preset.setCurrentIndex(sheet.preset.findData(85.0))
    sheet._on_preset()
    assert "Captions are 4.4 pt: too small to read in print" in sheet.told.text()
    sheet.preset.setCurrentIndex(sheet.preset.findData(174.0))
    sheet._on_preset()
    assert "too small" not in sheet.told.text()
    sheet.reject()


def test_letters_that_no_font_has_are_told(
    browsing: MainWindow, settle: Callable, pump: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    from facelens.figures import fonts

    faces = browsing.store.workspace.faces
    assert faces is not None
    names = tuple(f"{name} नमस्ते" for name in faces.identity.names)
    browsing.store.update(faces=replace(faces, identity=Labels(faces.identity.codes, names)))
    monkeypatch.setattr(fonts, "families", lambda letters: ((), letters))
    sheet = opened(browsing, settle, pump)
    assert sheet.word == "gallery" and sheet.boxes == "Devanagari"
    for kind, told in (("png", True), ("pdf", True), ("svg", False)):
        sheet.format.button(kind).click()
        assert ("No font here has Devanagari: these letters are boxes." in sheet.told.text()) == told
    sheet.reject()


def test_nothing_ticked_writes_nothing(evaluated: MainWindow, settle: Callable, pump: Callable) -> None:
    sheet = opened(evaluated, settle, pump)
    for row in range(len(sheet.list.lines)):
        sheet.list.tick(row, on=False)
    assert not sheet.save.isEnabled()
    sheet.reject()


def test_what_cannot_be_drawn_says_why(evaluated: MainWindow, settle: Callable, pump: Callable) -> None:
    evaluated.stage.show_page("match")
    QTest.keyClick(evaluated, Qt.Key.Key_E, CTRL)
    assert not evaluated.findChildren(FigureSheet)
    assert evaluated.statusBar().currentMessage().startswith("Needs the file of a model with a patch map")
    evaluated.stage.show_page("models")  # has no figures: the gallery's are offered
    QTest.keyClick(evaluated, Qt.Key.Key_E, CTRL)
    [sheet] = evaluated.findChildren(FigureSheet)
    assert sheet.word == "gallery"
    sheet.reject()


def test_what_is_gone_while_the_sheet_is_open_is_said(
    evaluated: MainWindow, settle: Callable, pump: Callable, tmp_path: Path
) -> None:
    sheet = opened(evaluated, settle, pump)
    evaluated.stage.show_page("gallery")
    evaluated.store.update(features={}, evaluated=())
    sheet._preview()
    assert sheet.sheet.image is None
    sheet.write(tmp_path / "late.png")
    settle(evaluated)
    [card] = evaluated.notices.cards
    assert card.accessibleName() == evaluated.commands.figures.reason("evaluation") and not any(tmp_path.glob("late*"))


def test_two_keystrokes_copy_a_figure(evaluated: MainWindow, settle: Callable, facelens_home: Path) -> None:
    QGuiApplication.clipboard().clear()
    evaluated.act("figure.copy")
    settle(evaluated)
    image = QGuiApplication.clipboard().image()
    assert image.width() > 600 and evaluated.statusBar().currentMessage() == "Copied: ROC"
    assert not list(facelens_home.rglob("figure *.png")), "no picture stays in the cache"


def test_the_chart_that_was_clicked_is_the_one_that_is_copied(
    evaluated: MainWindow, settle: Callable, pump: Callable
) -> None:
    page = evaluated.panel("evaluation")
    page.verification.det.setFocus()
    evaluated.act("figure.copy")
    settle(evaluated)
    assert evaluated.statusBar().currentMessage() == "Copied: DET"
    page.verification.places.show_key("confusable")
    page.verification.places.switch.setFocus()
    assert page.figure_name() == "confusable"
    page.verification.det.setFocus()
    sheet = opened(evaluated, settle, pump)
    assert sheet.name == "det" and len(sheet.chosen) > 1, "it is shown first, all are written"
    sheet.reject()
    page.controls.part.button("identification").click()
    page.controls.protocol.setFocus()
    assert page.figure_name() == "cmc", "of the kind of test that is in front"


def test_the_listed_pairs_are_copied(evaluated: MainWindow, settle: Callable, pump: Callable) -> None:
    page = evaluated.panel("evaluation")
    assert page.figure_view().tapped is None
    view = page.verification.view
    page._on_listed(lambda: view.in_range(-1.0, 1.0, genuine=True), page.verification.scores)
    listed, tapped = page.list.listing, page.figure_view().tapped
    assert tapped.title == listed.title and tapped.total == listed.total == len(listed)
    assert [line.score for line in tapped.lines] == listed.score[: len(tapped.lines)].tolist()
    page.list.setFocus()
    assert page.figure_name() == "errors"
    evaluated.act("figure.copy")
    settle(evaluated)
    assert evaluated.statusBar().currentMessage() == "Copied: Errors on tap"


def test_every_place_of_a_page_has_a_figure(browsing: MainWindow) -> None:
    """Whatever has the keyboard, what is copied is a figure of its page."""
    from facelens.session.depicting import DEPICTED

    for word, row in DEPICTED.items():
        names = {name for _, name in browsing.panel(word).figure_places()}
        assert names - {""} <= set(row.names), word
        assert names or word == "gallery", word


def test_closing_while_it_is_drawn(evaluated: MainWindow, settle: Callable, pump: Callable) -> None:
    QTest.keyClick(evaluated, Qt.Key.Key_E, CTRL)
    [sheet] = evaluated.findChildren(FigureSheet)
    sheet._preview()
    QTest.keyClick(sheet, Qt.Key.Key_Escape)
    settle(evaluated)
    pump()
    QApplication.sendPostedEvents(None, 0)
    assert not evaluated.findChildren(FigureSheet) and not evaluated.notices.cards


def test_every_control_has_a_name(evaluated: MainWindow, settle: Callable, pump: Callable) -> None:
    sheet = opened(evaluated, settle, pump)
    assert nameless(sheet) == []
    sheet.reject()
