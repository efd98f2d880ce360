"""Own icons: one open path on a 16 x 16 grid, painted in a token of the current theme whenever they are drawn."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from functools import cache
from pathlib import Path

from PySide6.QtCore import QByteArray, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QIcon, QIconEngine, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QAbstractButton

from facelens.resources import assets
from facelens.session import folders
from facelens.views import theme


@cache
def names() -> tuple[str, ...]:
    """Every icon there is."""
    return tuple(sorted(path.stem for path in (assets() / "icons").glob("*.svg")))


@cache
def _drawing(name: str) -> str:
    return (assets() / "icons" / f"{name}.svg").read_text(encoding="utf-8")


def svg(name: str, colour: str, *, width: float | None = None) -> str:
    """The icon's file with its stroke in `colour` ("#rrggbb") and, where given, another stroke width."""
    text = _drawing(name).replace("currentColor", colour)
    return text if width is None else re.sub(r'stroke-width="[^"]*"', f'stroke-width="{width}"', text)


@cache
def _rendered(name: str, colour: str, pixels: int, width: float | None) -> QPixmap:
    made = QPixmap(pixels, pixels)
    made.fill(Qt.GlobalColor.transparent)
    painter = QPainter(made)
    QSvgRenderer(QByteArray(svg(name, colour, width=width).encode())).render(painter, QRectF(0, 0, pixels, pixels))
    painter.end()
    return made


def pixmap(
    name: str, size: int = 16, colour: str = "text2", ratio: float = 1.0, *, width: float | None = None
) -> QPixmap:
    """The icon as a picture; `colour` is a token of the current theme or "#rrggbb"."""
    if width is None and size >= 32:
        width = 0.9  # a large icon keeps the weight of the text beside it
    shown = QPixmap(_rendered(name, theme.current().q(colour).name(), round(size * ratio), width))
    shown.setDevicePixelRatio(ratio)
    return shown


def paint(painter: QPainter, rect: QRectF, name: str, colour: str, *, width: float | None = None) -> None:
    """Paint the icon into a square, sharp at the painter's resolution."""
    ratio = painter.device().devicePixelRatioF()
    size = max(1, round(rect.width()))
    painter.drawPixmap(rect.topLeft(), pixmap(name, size, colour, ratio, width=width))


class _Engine(QIconEngine):
    """Asks for the colour at every painting, so that icons follow the theme without being set again."""

    def __init__(self, name: str, colour: str) -> None:
        super().__init__()
        self._name = name
        self._colour = colour

    def clone(self) -> QIconEngine:
        # Qt takes what it is given here without telling Python, which would free it at once.
        copy = _Engine(self._name, self._colour)
        _COPIES.append(copy)
        return copy

    def paint(self, painter: QPainter, rect: QRect, mode: QIcon.Mode, state: QIcon.State) -> None:
        ratio = painter.device().devicePixelRatioF()
        made = self.pixmap(rect.size() * ratio, mode, state)
        made.setDevicePixelRatio(ratio)
        painter.drawPixmap(rect.topLeft(), made)

    def pixmap(self, size: QSize, mode: QIcon.Mode, state: QIcon.State) -> QPixmap:
        now = theme.current()
        if mode == QIcon.Mode.Disabled:
            colour = theme.mix(now.text3, now.base, 0.35)
        elif state == QIcon.State.On and self._colour == "text2":
            colour = now.text
        else:
            colour = now.q(self._colour).name()
        return QPixmap(_rendered(self._name, colour, max(1, min(size.width(), size.height())), None))

    def scaledPixmap(self, size: QSize, mode: QIcon.Mode, state: QIcon.State, scale: float) -> QPixmap:
        return self.pixmap(size * scale, mode, state)


_COPIES: list[QIconEngine] = []  # made only when somebody changes a copy of an icon, which the application does not


@cache
def icon(name: str, *, colour: str = "text2") -> QIcon:
    """The icon for buttons and menus; fainter when disabled, stronger when checked.

    One for each name and colour, which lives as long as the program: where the last button with an icon went, Qt
    destroyed an engine that Python had freed before, and the program crashed now and then.
    """
    _drawing(name)  # a wrong name fails here, not while painting
    return QIcon(_Engine(name, colour))


def dress(button: QAbstractButton, name: str, size: int = 16) -> None:
    """Give a button its icon."""
    button.setIcon(icon(name))
    button.setIconSize(QSize(size, size))


def folder() -> Path:
    """Where coloured copies lie."""
    return folders.cache() / "icons"


def write(name: str, colour: str, *, width: float = 1.5, size: int = 16) -> Path:
    """A coloured copy on disk, which is the only thing a style sheet can show."""
    text = svg(name, colour, width=width).replace('width="16" height="16"', f'width="{size}" height="{size}"')
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    try:
        return _written(folder() / f"{name}-{digest}.svg", text)
    except OSError:  # a full or read-only disk must not cost the user the window
        return _written(_spare_folder() / f"{name}-{digest}.svg", text)


def _written(path: Path, text: str) -> Path:
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        half = path.with_suffix(f".{os.getpid()}")
        half.write_text(text, encoding="utf-8")
        half.replace(path)
    return path


@cache
def _spare_folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="facelens-icons-"))
