"""The two themes hold what the visual guide measured, and dress the application without a word from Qt."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QFont, QPalette
from PySide6.QtWidgets import (
    QApplication,
    QComboBox,
    QDialogButtonBox,
    QLabel,
    QLineEdit,
    QPushButton,
    QSpinBox,
    QWidget,
)
from pytestqt.qtbot import QtBot

from facelens.views import theme
from facelens.views.main_window import MainWindow
from facelens.views.panels import PANELS
from facelens.views.theme import DARK, LIGHT, Theme

INKS = ("text", "text2", "text3", "accent", "good", "bad", "warn", "A", "B")


@pytest.mark.parametrize("scheme", [DARK, LIGHT], ids=lambda t: t.name)
@pytest.mark.parametrize("ink", INKS)
def test_inks_can_be_read_on_panels_and_around_pictures(scheme: Theme, ink: str) -> None:
    for ground in ("base", "sunk"):
        assert theme.contrast(getattr(scheme, ink), getattr(scheme, ground)) >= 4.5


@pytest.mark.parametrize("scheme", [DARK, LIGHT], ids=lambda t: t.name)
def test_text_on_selected_ground_and_on_the_accent(scheme: Theme) -> None:
    assert theme.contrast(scheme.text, scheme.soft) >= 9
    assert theme.contrast(scheme.onaccent, scheme.accent) >= 4.5
    assert theme.contrast(scheme.ink, scheme.good) >= 4.5
    assert theme.contrast(scheme.ink, scheme.bad) >= 4.5


def test_surfaces_have_no_tint() -> None:
    for scheme in (DARK, LIGHT):
        for token in ("win", "base", "sunk", "raised", "hover", "line", "line2", "text", "text2", "text3"):
            colour = scheme.q(token)
            assert colour.red() == colour.green() == colour.blue(), token


def test_apply_dresses_palette_font_and_sheet(qapp: QApplication) -> None:
    assert theme.apply(qapp, "light") is LIGHT
    assert qapp.palette().color(QPalette.ColorRole.Window).name() == LIGHT.base
    assert qapp.palette().color(QPalette.ColorGroup.Disabled, QPalette.ColorRole.Text).name() != LIGHT.text
    assert theme.apply(qapp, "dark") is DARK and theme.current() is DARK
    assert qapp.palette().color(QPalette.ColorRole.Window).name() == DARK.base
    assert qapp.font().pixelSize() == 12
    assert qapp.font().featureValue(QFont.Tag("tnum")) == 1
    assert DARK.accent in qapp.styleSheet() and LIGHT.accent not in qapp.styleSheet()


def test_every_picture_of_the_sheet_is_there(qapp: QApplication) -> None:
    pictures = re.findall(r'url\("([^"]+)"\)', theme.style_sheet(DARK))
    assert len(pictures) >= 5
    assert all(Path(path).read_text().startswith("<svg") for path in pictures)


def test_sheet_uses_tokens_only(qapp: QApplication) -> None:
    sheet = theme.style_sheet(LIGHT)
    foreign = {c for c in re.findall(r"#[0-9a-f]{6}", sheet) if c in {getattr(DARK, t) for t in theme.TOKENS}}
    shared = {getattr(LIGHT, t) for t in theme.TOKENS}
    assert not foreign - shared


def test_switching_tells_painted_views(qapp: QApplication) -> None:
    told: list[Theme] = []
    theme.apply(qapp, "dark")
    theme.themes.changed.connect(told.append)
    try:
        theme.apply(qapp, "light")
        theme.apply(qapp, "dark")
    finally:
        theme.themes.changed.disconnect(told.append)
    assert told == [LIGHT, DARK]


def test_what_is_worn_is_not_put_on_again(qapp: QApplication) -> None:
    told: list[Theme] = []
    theme.apply(qapp, "light")
    theme.themes.changed.connect(told.append)
    try:
        theme.apply(qapp, "light")
        assert not told
        qapp.setStyleSheet("")
        theme.apply(qapp, "light")
    finally:
        theme.themes.changed.disconnect(told.append)
    assert told == [LIGHT] and LIGHT.accent in qapp.styleSheet()


def test_widgets_that_are_there_change_their_dress(qapp: QApplication) -> None:
    label = QLabel("words")
    label.setObjectName("quiet")
    label.show()
    for scheme, worn in (("light", LIGHT), ("dark", DARK), ("light", LIGHT)):
        theme.apply(qapp, scheme)  # type: ignore[arg-type]
        assert label.palette().color(QPalette.ColorRole.WindowText).name() == worn.text3
    label.deleteLater()


def test_a_page_that_was_hidden_changes_its_dress_when_it_is_shown(browsing: MainWindow, settle: Callable) -> None:
    """Seen in every pixel, whether the theme changed before its eyes or not."""
    app = QApplication.instance()
    assert isinstance(app, QApplication)
    words = [cls.word for cls in PANELS]
    seen = {}
    app.setCursorFlashTime(0)  # or a field looks different half of the time
    for word in words:
        browsing.stage.show_page(word)
        settle(browsing)
    for before_its_eyes in (True, False):
        for word in words:
            browsing.stage.show_page(word if before_its_eyes else words[words.index(word) - 1])
            settle(browsing)
            theme.apply(app, "light")
            browsing.stage.show_page(word)
            settle(browsing)
            seen[word, before_its_eyes] = browsing.stage.current.grab().toImage()
            theme.apply(app, "dark")
    assert not [word for word in words if seen[word, True] != seen[word, False]]
    assert not theme.themes.undressed.intersection({browsing.stage.current})


def test_pages_in_sight_change_their_dress_by_and_by(browsing: MainWindow, settle: Callable, qtbot: QtBot) -> None:
    """In the end they look as if all had changed at once; the window is not painted before that."""
    app = QApplication.instance()
    assert isinstance(app, QApplication)
    browsing.stage.show_page("evaluation")
    browsing.open_beside("match")
    settle(browsing)
    seen = {}
    for by_and_by in (False, True):
        theme.apply(app, "light", by_and_by=by_and_by)
        assert browsing.updatesEnabled() != by_and_by
        assert bool(theme.themes.seen()) == by_and_by
        qtbot.waitUntil(browsing.updatesEnabled)
        settle(browsing)
        assert not theme.themes.seen()
        seen[by_and_by] = browsing.grab().toImage()
        theme.apply(app, "dark")
        settle(browsing)
    assert seen[True] == seen[False]


def test_the_window_is_painted_again_whatever_goes_wrong(browsing: MainWindow, settle: Callable, qtbot: QtBot) -> None:
    class Broken(QWidget):
        def on_theme(self) -> None:
            raise ZeroDivisionError

    app = QApplication.instance()
    assert isinstance(app, QApplication)
    broken = Broken(browsing.stage.current)
    theme.follow(broken, broken.on_theme)
    with qtbot.capture_exceptions() as failed:
        theme.apply(app, "light", by_and_by=True)
        qtbot.waitUntil(browsing.updatesEnabled)
    assert [kind for kind, *_ in failed] == [ZeroDivisionError] and not theme.themes.seen()
    broken.deleteLater()
    settle(browsing)
    theme.apply(app, "dark", by_and_by=True)
    theme.apply(app, "light")  # before the others had their turn
    assert browsing.updatesEnabled() and not theme.themes.seen()
    theme.apply(app, "dark")


def test_who_follows_is_told_when_it_is_dressed(qapp: QApplication) -> None:
    class Painted(QWidget):
        def __init__(self) -> None:
            super().__init__()
            self.told: list[Theme] = []

        def on_theme(self) -> None:
            self.told.append(theme.current())

    theme.apply(qapp, "dark")
    page = Painted()
    theme.themes.pages.add(page)
    theme.follow(page, page.on_theme)
    theme.apply(qapp, "light")
    assert not page.told, "nobody sees it"
    theme.dress(page)
    assert page.told == [LIGHT]
    page.show()
    theme.apply(qapp, "dark")
    assert page.told == [LIGHT, DARK]
    page.deleteLater()


def test_system_follows_the_desktop(qapp: QApplication, monkeypatch: pytest.MonkeyPatch) -> None:
    said = Qt.ColorScheme.Light
    hints = type(qapp.styleHints())
    monkeypatch.setattr(hints, "colorScheme", lambda self: said)
    assert theme.apply(qapp, "system") is LIGHT
    said = Qt.ColorScheme.Dark
    qapp.styleHints().colorSchemeChanged.emit(said)
    assert theme.current() is DARK
    theme.apply(qapp, "light")
    qapp.styleHints().colorSchemeChanged.emit(said)
    assert theme.current() is LIGHT, "an explicit choice does not follow"


def test_identity_colours_stay_and_differ() -> None:
    # Pinned by value: it must be the same in every session.
    assert theme.identity_colour("Winona_Ryder", DARK).name() == "#de7c68"
    assert len({theme.identity_colour(f"person {i}", DARK).name() for i in range(50)}) > 45
    assert all(theme.contrast(theme.identity_colour(f"p{i}", DARK).name(), DARK.sunk) > 4 for i in range(200))


def test_surrogates_in_names_have_a_colour() -> None:
    assert theme.identity_colour("a\udcff", LIGHT).isValid()


@pytest.fixture(autouse=True)
def _dark_again(qapp: QApplication):
    yield
    theme.apply(qapp, "dark")


def test_fields_and_buttons_of_a_form_are_of_one_height(qapp: QApplication) -> None:
    theme.apply(qapp, "dark")
    made: list[QWidget] = [QLineEdit(), QComboBox(), QSpinBox(), QPushButton("Save")]
    for one in made:
        one.ensurePolished()
    assert {one.sizeHint().height() for one in made} == {26}


def test_buttons_of_dialogs_have_no_icons_and_what_goes_on_is_at_the_right(qapp: QApplication) -> None:
    theme.apply(qapp, "dark")
    box = QDialogButtonBox(QDialogButtonBox.StandardButton.Save | QDialogButtonBox.StandardButton.Cancel)
    box.show()
    save, cancel = (box.button(getattr(QDialogButtonBox.StandardButton, name)) for name in ("Save", "Cancel"))
    assert save.icon().isNull() and cancel.icon().isNull()
    assert save.x() > cancel.x()
    box.close()
