"""Icons: one open path each, painted in the theme of the moment."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest
import shiboken6
from PySide6.QtCore import QSize
from PySide6.QtGui import QIcon, QPixmap
from PySide6.QtWidgets import QApplication, QPushButton, QToolButton

from facelens.resources import assets
from facelens.views import icons, theme

NEEDED = {
    "open", "save", "undo", "redo", "search", "filter", "folder", "cube", "layers", "close", "float", "pin", "more",
    "plus", "flag", "cross", "check", "grid", "loupe", "compare", "export", "moon", "sun", "shield", "warning",
    "download", "eye", "swap", "copy", "lock", "star", "lasso", "fit", "columns", "jobs", "log", "doctor", "retry",
    "trash", "info", "chevron-down", "keyboard", "image", "ascending", "descending",
}  # fmt: skip


@pytest.fixture(autouse=True)
def _dark(qapp: QApplication) -> None:
    theme.apply(qapp, "dark")


def ink(pixmap: QPixmap) -> set[str]:
    """Colours of the pixels that are fully painted."""
    image = pixmap.toImage()
    colours = set()
    for y in range(image.height()):
        for x in range(image.width()):
            colour = image.pixelColor(x, y)
            if colour.alpha() > 250:
                colours.add(colour.name())
    return colours


def test_all_that_the_window_needs_are_there() -> None:
    assert set(icons.names()) >= NEEDED


@pytest.mark.parametrize("path", sorted((assets() / "icons").glob("*.svg")), ids=lambda p: p.stem)
def test_one_open_path_on_a_grid_of_16(path) -> None:
    root = ET.parse(path).getroot()
    assert root.get("viewBox") == "0 0 16 16"
    (drawing,) = list(root)
    assert drawing.tag.endswith("path") and drawing.get("fill") == "none" and drawing.get("stroke") == "currentColor"
    assert drawing.get("stroke-linecap") == drawing.get("stroke-linejoin") == "round"
    assert ink(icons.pixmap(path.stem, 32, "text", width=2.4)), "nothing is painted"


def test_icon_follows_the_theme_by_itself(qapp: QApplication) -> None:
    made = icons.icon("check")
    assert ink(made.pixmap(64)) == {theme.DARK.text2}
    theme.apply(qapp, "light")
    assert ink(made.pixmap(64)) == {theme.LIGHT.text2}


def test_disabled_is_fainter_and_checked_is_stronger() -> None:
    made = icons.icon("check")
    faint = made.pixmap(QSize(64, 64), QIcon.Mode.Disabled)
    strong = made.pixmap(QSize(64, 64), QIcon.Mode.Normal, QIcon.State.On)
    assert ink(strong) == {theme.DARK.text}
    assert theme.contrast(ink(faint).pop(), theme.DARK.base) < theme.contrast(theme.DARK.text3, theme.DARK.base)


def test_sharp_on_dense_screens() -> None:
    assert icons.icon("grid").pixmap(QSize(16, 16), 2.0).size() == QSize(32, 32)
    shown = icons.pixmap("grid", 16, "accent", 2.0)
    assert (shown.width(), shown.devicePixelRatio()) == (32, 2.0)


def test_an_icon_that_is_not_there_fails_where_it_is_asked_for() -> None:
    with pytest.raises(FileNotFoundError):
        icons.icon("no-such-icon")


def test_copies_of_an_icon_can_be_changed(qtbot) -> None:
    button = QToolButton()
    qtbot.addWidget(button)
    icons.dress(button, "pin", 14)
    copy = QIcon(button.icon())
    copy.addPixmap(QPixmap(16, 16))  # detaches, which clones the engine
    button.setIcon(copy)
    button.grab()
    assert ink(copy.pixmap(64))


def test_style_sheet_copies_survive_a_full_disk(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setattr(icons.folders, "cache", lambda: blocked)
    made = icons.write("check", "#123456")
    assert "#123456" in made.read_text()
    assert icons.write("check", "#123456") == made


def test_the_engine_of_an_icon_outlives_its_buttons(qapp: QApplication) -> None:
    first = icons.icon("export")
    assert icons.icon("export") is first
    for _ in range(50):
        button = QPushButton()
        button.setIcon(icons.icon("export"))
        button.grab()
        shiboken6.delete(button)
    assert not first.pixmap(16).isNull()
