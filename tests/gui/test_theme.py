"""The two themes hold what the visual guide measured, and dress the application without a word from Qt."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QFont, QPalette
from PySide6.QtWidgets import QApplication

from facelens.views import theme
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
