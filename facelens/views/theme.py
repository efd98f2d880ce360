"""Colours, type and the style sheet: one frozen Theme per scheme, taken by painted views, never a literal colour."""

from __future__ import annotations

import importlib.util
import os
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Literal

from PySide6.QtCore import QEvent, QObject, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QFont, QFontDatabase, QGuiApplication, QPalette
from PySide6.QtWidgets import QApplication, QWidget
from shiboken6 import isValid

from facelens.figures import hues

Scheme = Literal["system", "light", "dark"]
TURN = 0.02  # s; after that the window is heard before more widgets are dressed


@dataclass(frozen=True)
class Theme:
    """The tokens of one scheme, as "#rrggbb"."""

    name: str
    win: str  # gaps between panels
    base: str  # panels, headers, bars, charts
    sunk: str  # around pictures, scatter ground
    raised: str  # buttons, combos, floating cards
    hover: str
    line: str  # hairlines inside a panel
    line2: str  # borders of controls, axis line, scroll handle
    text: str
    text2: str
    text3: str
    accent: str
    onaccent: str
    soft: str  # ground of selected rows and cells
    good: str
    bad: str
    warn: str
    A: str
    B: str
    flow: str
    field: str  # ground of inputs
    edge: str  # border of inputs, combos, segments
    ink: str  # glyph on a good or bad mark

    @property
    def dark(self) -> bool:
        return self.name == "dark"

    def q(self, name: str, alpha: float = 1.0) -> QColor:
        """The token as a colour; a name that is no token is read as a colour itself ("#ffffff")."""
        return _colour(getattr(self, name, name), alpha)


@cache
def _colour(value: str, alpha: float) -> QColor:
    colour = QColor(value)
    colour.setAlphaF(alpha)
    return colour


DARK = Theme(
    name="dark", win="#161616", base="#212121", sunk="#191919", raised="#2c2c2c", hover="#363636",
    line="#333333", line2="#4d4d4d", text="#e6e6e6", text2="#b3b3b3", text3="#8c8c8c",
    accent="#4f9dff", onaccent="#0b1726", soft="#243a57", good="#35b99b", bad="#f4764f", warn="#e3b341",
    A="#c9b6ff", B="#f0b03f", flow="#f0b03f", field="#191919", edge="#333333", ink="#0d0d0d",
)  # fmt: skip
LIGHT = Theme(
    name="light", win="#d2d2d2", base="#f3f3f3", sunk="#e7e7e7", raised="#ffffff", hover="#dfdfdf",
    line="#d6d6d6", line2="#ababab", text="#1b1b1b", text2="#4a4a4a", text3="#666666",
    accent="#0a63c9", onaccent="#ffffff", soft="#cfe2fa", good="#08705b", bad="#b8253c", warn="#7d5a00",
    A="#4b2a8c", B="#7d5200", flow="#f0b03f", field="#ffffff", edge="#ababab", ink="#ffffff",
)  # fmt: skip
TOKENS = tuple(f.name for f in fields(Theme) if f.name != "name")


class Themes(QObject):
    """Which tokens are in use, and who has still to put them on."""

    changed = Signal(object)  # Theme

    def __init__(self) -> None:
        super().__init__()
        self.scheme: Scheme = "system"
        self.theme = DARK
        self.pages: weakref.WeakSet[QWidget] = weakref.WeakSet()  # that call `dress` when they are shown
        self.undressed: weakref.WeakSet[QWidget] = weakref.WeakSet()  # of them, those that wear another theme
        self.followers: weakref.WeakKeyDictionary[QWidget, list[weakref.WeakMethod]] = weakref.WeakKeyDictionary()
        self._curtains: weakref.WeakSet[QWidget] = weakref.WeakSet()  # windows that are not painted meanwhile
        self._turns: Iterator[None] = iter(())
        self._next = QTimer(self)
        self._next.setSingleShot(True)
        self._next.timeout.connect(self._dress_next)
        self._hints: QObject | None = None

    def follow(self, app: QGuiApplication) -> None:
        """Listen to the desktop's switch, once for each application object."""
        hints = app.styleHints()
        if self._hints is not hints:
            self._hints = hints
            hints.colorSchemeChanged.connect(self._on_desktop_switched)

    def _on_desktop_switched(self) -> None:
        app = QApplication.instance()
        if self.scheme == "system" and isinstance(app, QApplication):
            _wear(app, self.scheme, by_and_by=True)

    def seen(self) -> list[QWidget]:
        """Pages in sight that have still to put it on."""
        return [page for page in tuple(self.undressed) if isValid(page) and page.isVisible()]

    def dress_by_and_by(self, frame: Sequence[QWidget]) -> None:
        """The frame, then pages in sight, some widgets in each round of the event loop.

        What is seen changes when all of them have changed.
        """
        for window in {one.window() for one in (*frame, *self.seen())}:
            if window.isVisible() and window.updatesEnabled():
                window.setUpdatesEnabled(False)
                self._curtains.add(window)
        self._turns = _turns(frame)
        self._next.start(0)

    def _dress_next(self) -> None:
        end, done = time.monotonic() + TURN, False
        try:
            done = all(time.monotonic() < end for _ in self._turns)
        except BaseException:
            self._turns = _turns(())  # the others have theirs
            raise
        finally:
            if done:
                self.draw_curtains()
            else:
                self._next.start(0)

    def draw_curtains(self) -> None:
        """Nobody has a turn any more; windows are painted again."""
        self._next.stop()
        self._turns = iter(())
        windows, self._curtains = tuple(self._curtains), weakref.WeakSet()
        for window in windows:
            if isValid(window):
                window.setUpdatesEnabled(True)


themes = Themes()


def current() -> Theme:
    """The theme in use."""
    return themes.theme


def follow(widget: QWidget, call: Callable[[], object]) -> None:
    """Call this method of a widget each time it has put on another theme; all are painted again without that."""
    themes.followers.setdefault(widget, []).append(weakref.WeakMethod(call))


def apply(app: QApplication, scheme: Scheme = "system", *, by_and_by: bool = False) -> Theme:
    """Dress the whole application; "system" follows the desktop from now on.

    `by_and_by`: in turns, so that the window hears what is asked of it meanwhile.
    """
    themes.follow(app)
    themes.scheme = scheme
    wanted = {"light": Qt.ColorScheme.Light, "dark": Qt.ColorScheme.Dark}.get(scheme, Qt.ColorScheme.Unknown)
    app.styleHints().setColorScheme(wanted)
    return _wear(app, scheme, by_and_by=by_and_by)


def _wear(app: QApplication, scheme: Scheme, *, by_and_by: bool = False) -> Theme:
    # A desktop that does not say gets the dark theme: pictures read better in a dark room.
    light = scheme == "light" or (scheme == "system" and app.styleHints().colorScheme() == Qt.ColorScheme.Light)
    theme = LIGHT if light else DARK
    if app.styleSheet() and app.palette().color(QPalette.ColorRole.Window) == theme.q("base") and themes.theme is theme:
        return theme  # it wears it already
    themes.theme = theme
    if not app.styleSheet():
        app.setStyle("Fusion")
    # Given another sheet, Qt dresses whom it knows, one by one and each with all that lies in it. So it is made to
    # forget them first, and they are dressed here, once each: the frame of windows, then pages in sight, and pages
    # that nobody sees when they are shown. Pages have nine tenths of all widgets.
    app.style().unpolish(app)
    app.setStyleSheet(style_sheet(theme))
    app.setPalette(palette(theme))
    if app.font() != font(12):
        app.setFont(font(12))
    pages = [page for page in tuple(themes.pages) if isValid(page)]
    later = {one for page in pages for one in _all_of(page)}
    themes.undressed.update(pages)
    windows = [top for top in app.topLevelWidgets() if top.parentWidget() is None]
    frame = [one for top in windows for one in _all_of(top) if one not in later]
    themes.changed.emit(theme)
    if by_and_by:
        themes.dress_by_and_by(frame)
    else:
        for _ in _turns(frame):
            pass
        themes.draw_curtains()
    return theme


def dress(page: QWidget) -> None:
    """What a page puts on when it is shown, if the theme was changed meanwhile."""
    if page in themes.undressed:
        for _ in _changing(page):
            pass


def _turns(frame: Sequence[QWidget]) -> Iterator[None]:
    """Dress the frame of windows, then pages in sight; a step for each widget."""
    yield from _putting_on(frame)
    while pages := themes.seen():
        yield from _changing(pages[0])


def _changing(page: QWidget) -> Iterator[None]:
    ones = list(_all_of(page))
    themes.undressed.difference_update(ones)
    yield from _putting_on(ones)


def _putting_on(ones: Sequence[QWidget]) -> Iterator[None]:
    """The sheet that the application has now; outer widgets come before what lies in them."""
    style = QApplication.style()
    for one in ones:
        if isValid(one):  # one that was told may have made others anew
            if one.testAttribute(Qt.WidgetAttribute.WA_WState_Polished):  # else Qt does it when it is shown
                style.polish(one)
            QApplication.sendEvent(one, QEvent(QEvent.Type.StyleChange))
            one.update()
            yield
    for one in ones:
        for call in tuple(themes.followers.get(one, ())):
            if (method := call()) is not None and isValid(one):
                method()
                yield


def _all_of(page: QWidget) -> Iterator[QWidget]:
    yield page
    yield from page.findChildren(QWidget)


# Type


@cache
def _bundled_font() -> bool:
    """Whether the one font is used that looks the same everywhere; loads it."""
    wanted = os.environ.get("FACELENS_FONT") == "bundled" or QGuiApplication.platformName() in ("offscreen", "minimal")
    spec = importlib.util.find_spec("matplotlib") if wanted else None  # finding is not importing
    if spec is None or not spec.origin:
        return False
    folder = Path(spec.origin).parent / "mpl-data" / "fonts" / "ttf"
    names = ("DejaVuSans.ttf", "DejaVuSans-Bold.ttf", "DejaVuSans-Oblique.ttf", "DejaVuSansMono.ttf")
    loaded = [QFontDatabase.addApplicationFont(str(folder / name)) for name in names if (folder / name).is_file()]
    return len(loaded) == len(names) and min(loaded) >= 0


@cache
def font(px: int = 12, *, bold: bool = False, mono: bool = False) -> QFont:
    """The interface font at a size in pixels, figures all of one width. Shared: copy before changing it."""
    if _bundled_font():
        made = QFont("DejaVu Sans Mono" if mono else "DejaVu Sans")
        made.setHintingPreference(QFont.HintingPreference.PreferNoHinting)
        if not mono:
            made.setLetterSpacing(QFont.SpacingType.PercentageSpacing, 97)
    else:
        kind = QFontDatabase.SystemFont.FixedFont if mono else QFontDatabase.SystemFont.GeneralFont
        made = QFontDatabase.systemFont(kind)
    made.setPixelSize(px)
    made.setBold(bold)
    made.setFeature(QFont.Tag("tnum"), 1)
    return made


# Colour


def mix(a: str, b: str, share: float) -> str:
    """The colour `share` of the way from `a` to `b`, in sRGB.

    >>> mix("#000000", "#ffffff", 0.5)
    '#808080'
    """
    one, other = QColor(a), QColor(b)
    parts = ((one.redF(), other.redF()), (one.greenF(), other.greenF()), (one.blueF(), other.blueF()))
    return QColor.fromRgbF(*(x * (1 - share) + y * share for x, y in parts)).name()


def contrast(a: str, b: str) -> float:
    """WCAG contrast of two colours, 1 to 21.

    >>> round(contrast("#000000", "#ffffff"), 1)
    21.0
    """
    high, low = sorted((_luminance(a), _luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def _luminance(value: str) -> float:
    colour = QColor(value)
    parts = (colour.redF(), colour.greenF(), colour.blueF())
    r, g, b = (v / 12.92 if v <= 0.03928 else ((v + 0.055) / 1.055) ** 2.4 for v in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


@cache
def identity_colour(name: str, theme: Theme) -> QColor:
    """The colour of a person, the same in every view and session."""
    return QColor.fromRgbF(*hues.person(name, hues.DARK if theme.dark else hues.LIGHT))


def oklch(lightness: float, chroma: float, hue: float) -> QColor:
    """OKLCH on the screen; hue in radians."""
    return QColor.fromRgbF(*hues.oklch(lightness, chroma, hue))


# Dress


def palette(theme: Theme) -> QPalette:
    """What unstyled controls are painted with."""
    made = QPalette()
    role = QPalette.ColorRole
    alternate = mix(theme.base, theme.text, 0.02)
    for which, value in {
        role.Window: theme.base, role.WindowText: theme.text, role.Base: theme.sunk, role.AlternateBase: alternate,
        role.Text: theme.text, role.Button: theme.raised, role.ButtonText: theme.text, role.Highlight: theme.accent,
        role.HighlightedText: theme.onaccent, role.ToolTipBase: theme.raised, role.ToolTipText: theme.text,
        role.PlaceholderText: theme.text3, role.Link: theme.accent, role.LinkVisited: theme.accent,
        role.Light: theme.hover, role.Midlight: theme.line, role.Mid: theme.line, role.Dark: theme.win,
        role.Shadow: "#000000", role.BrightText: theme.bad, role.Accent: theme.accent,
    }.items():  # fmt: skip
        made.setColor(which, theme.q(value))
    faint = theme.q(mix(theme.text3, theme.base, 0.35))
    for which in (role.WindowText, role.Text, role.ButtonText):
        made.setColor(QPalette.ColorGroup.Disabled, which, faint)
    return made


def style_sheet(theme: Theme) -> str:
    """What the palette cannot do; variants go by object name."""
    from facelens.views import icons  # icons paint in the current theme, so they import this module

    t = theme
    down = icons.write("chevron-down", t.text2).as_posix()
    small_down = icons.write("chevron-down", t.text2, size=12).as_posix()
    up = icons.write("chevron-up", t.text2).as_posix()
    right = icons.write("chevron-right", t.text2).as_posix()
    tick = icons.write("check", t.onaccent, width=2.2).as_posix()
    dash = icons.write("minus", t.onaccent, width=2.2).as_posix()
    menu_tick = icons.write("check", t.text2, width=1.6).as_posix()
    faint = mix(t.text3, t.base, 0.35)
    knob, knob_edge = (t.text, t.text) if t.dark else ("#ffffff", t.accent)
    return f"""
QMainWindow, #win {{ background: {t.win}; }}
QMainWindow::separator {{ background: {t.win}; width: 4px; height: 4px; }}
QMainWindow::separator:hover {{ background: {t.accent}; }}
QSplitter::handle {{ background: {t.win}; }}
QSplitter::handle:hover {{ background: {t.accent}; }}
QToolTip {{ background: {t.raised}; color: {t.text}; border: 1px solid {t.line2}; padding: 4px 6px; }}
QMenuBar {{ background: {t.base}; color: {t.text2}; padding: 1px 4px; }}
QMenuBar::item {{ padding: 4px 8px; background: transparent; border-radius: 4px; }}
QMenuBar::item:selected, QMenuBar::item:pressed {{ background: {t.hover}; color: {t.text}; }}
QMenu {{ background: {t.raised}; color: {t.text}; border: 1px solid {t.line2}; padding: 4px; }}
QMenu::item {{ padding: 4px 24px 4px 8px; border-radius: 4px; }}
QMenu::item:selected {{ background: {t.soft}; color: {t.text}; }}
QMenu::item:disabled {{ color: {faint}; }}
QMenu::icon {{ padding-left: 6px; }}
QMenu::separator {{ height: 1px; background: {t.line}; margin: 4px 6px; }}
QMenu::indicator {{ width: 14px; height: 14px; margin-left: 6px; }}
QMenu::indicator:checked {{ image: url("{menu_tick}"); }}
QMenu::right-arrow {{ image: url("{right}"); width: 12px; height: 12px; }}
#toolbar, QToolBar {{ background: {t.base}; border: none; border-top: 1px solid {t.line};
    border-bottom: 1px solid {t.win}; spacing: 7px; padding: 0 8px; }}
QToolBar::separator {{ background: {t.edge}; width: 1px; margin: 12px 0; }}
QStatusBar, #status {{ background: {t.base}; border-top: 1px solid {t.win}; color: {t.text2}; }}
QStatusBar::item {{ border: none; }}
#panel, #stage {{ background: {t.base}; }}
#card {{ background: {t.base}; border: 1px solid {t.line}; border-radius: 5px; }}
#header {{ background: {t.base}; border: none; border-bottom: 1px solid {t.line}; }}
#title {{ font-weight: bold; font-size: 12px; color: {t.text}; }}
#name {{ font-weight: bold; font-size: 13px; color: {t.text}; }}
#lead {{ font-weight: bold; font-size: 18px; color: {t.text}; }}
#empty_title {{ font-weight: bold; font-size: 16px; color: {t.text}; }}
#empty_text {{ color: {t.text2}; }}
#strong {{ font-weight: bold; color: {t.text}; }}
#side_a, #side_b {{ font-weight: bold; font-size: 11px; }}
#side_a {{ color: {t.A}; }}
#side_b {{ color: {t.B}; }}
#quiet {{ color: {t.text3}; }}
#problem {{ font-size: 11px; color: {t.warn}; }}
#controlrow {{ background: {t.base}; }}
#sub {{ font-size: 11px; color: {t.text3}; }}
#small {{ font-size: 11px; color: {t.text2}; }}
#edited {{ background: {t.soft}; border-radius: 4px; }}
#cap {{ font-size: 10px; color: {t.text3}; }}
#menu_heading {{ font-size: 10px; color: {t.text3}; padding: 4px 8px 2px 8px; }}
#rule {{ background: {t.edge}; border: none; }}
QToolButton {{ background: transparent; border: 1px solid transparent; border-radius: 4px; padding: 3px;
    color: {t.text2}; }}
QToolButton:hover {{ background: {t.hover}; color: {t.text}; }}
QToolButton:pressed {{ background: {t.line2}; }}
QToolButton:checked {{ background: {t.soft}; color: {t.text}; border-color: {t.accent}; }}
QToolButton:disabled {{ color: {faint}; }}
QToolButton:focus, QPushButton:focus, QComboBox:focus, QLineEdit:focus, QSpinBox:focus, QDoubleSpinBox:focus,
    QPlainTextEdit:focus, QTextEdit:focus {{ border: 1px solid {t.accent}; }}
QToolButton#choice {{ background: {t.raised} url("{small_down}") no-repeat right center; background-origin: content;
    border: 1px solid {t.edge}; padding: 2px 6px 2px 8px; color: {t.text}; }}
QToolButton#choice:hover {{ background-color: {t.hover}; }}
QToolButton#choice:focus {{ border-color: {t.accent}; }}
QToolButton::menu-indicator {{ image: none; }}
QToolButton::menu-button {{ background: transparent; border: none; border-radius: 4px; width: 16px; }}
QToolButton::menu-button:hover {{ background: {t.hover}; }}
QToolButton::menu-arrow {{ image: url("{down}"); width: 12px; height: 12px; }}
QPushButton {{ background: {t.raised}; border: 1px solid {t.line2}; border-radius: 4px; padding: 5px 12px;
    color: {t.text}; }}
QPushButton:hover {{ background: {t.hover}; }}
QPushButton:pressed {{ background: {t.line2}; }}
QPushButton:checked {{ background: {t.soft}; border-color: {t.accent}; }}
QPushButton:disabled {{ color: {faint}; background: {t.base}; border-color: {t.line}; }}
QPushButton#primary {{ background: {t.accent}; border-color: {t.accent}; color: {t.onaccent}; font-weight: bold; }}
QPushButton#primary:hover {{ background: {mix(t.accent, t.text, 0.12)}; }}
QPushButton#primary:focus {{ border-color: {t.text}; }}
QPushButton#primary:disabled {{ background: {t.base}; border-color: {t.line}; color: {faint}; }}
QPushButton#flat {{ background: transparent; border: 1px solid transparent; color: {t.accent}; padding: 1px 3px; }}
QPushButton#flat:hover {{ background: {t.hover}; }}
QPushButton#flat:focus {{ border-color: {t.accent}; }}
QPushButton#flat:disabled {{ color: {faint}; }}
QLineEdit, QSpinBox, QDoubleSpinBox {{ background: {t.field}; border: 1px solid {t.edge}; border-radius: 4px;
    padding: 4px 7px; color: {t.text}; selection-background-color: {t.accent}; selection-color: {t.onaccent}; }}
QSpinBox, QDoubleSpinBox {{ padding: 3px 7px 2px 7px; }}
QLineEdit:disabled {{ color: {faint}; background: {t.base}; border-color: {t.line};
    placeholder-text-color: {t.text3}; }}
QDialogButtonBox, QMessageBox {{ dialogbuttonbox-buttons-have-icons: 0; button-layout: 3; }}
QPlainTextEdit, QTextEdit {{ background: {t.field}; border: 1px solid {t.edge}; border-radius: 4px; padding: 2px;
    color: {t.text2}; selection-background-color: {t.accent}; selection-color: {t.onaccent}; }}
QSpinBox::up-button, QSpinBox::down-button, QDoubleSpinBox::up-button, QDoubleSpinBox::down-button {{
    background: transparent; border: none; width: 14px; }}
QSpinBox::up-arrow, QDoubleSpinBox::up-arrow {{ image: url("{up}"); width: 9px; height: 9px; }}
QSpinBox::down-arrow, QDoubleSpinBox::down-arrow {{ image: url("{down}"); width: 9px; height: 9px; }}
QComboBox {{ background: {t.raised}; border: 1px solid {t.edge}; border-radius: 4px; padding: 4px 6px 4px 8px;
    color: {t.text}; }}
#header QComboBox {{ padding: 2px 6px 2px 8px; }}
QComboBox:hover {{ background: {t.hover}; }}
QComboBox:disabled {{ color: {faint}; background: {t.base}; }}
QComboBox::drop-down {{ border: none; width: 18px; }}
QComboBox::down-arrow {{ image: url("{down}"); width: 12px; height: 12px; }}
QComboBox QAbstractItemView {{ background: {t.raised}; border: 1px solid {t.line2}; padding: 2px; outline: 0;
    selection-background-color: {t.soft}; selection-color: {t.text}; }}
QCheckBox, QRadioButton {{ spacing: 6px; color: {t.text}; }}
QCheckBox:disabled, QRadioButton:disabled {{ color: {faint}; }}
QCheckBox::indicator, QTreeView::indicator, QTableView::indicator, QListView::indicator {{ width: 13px; height: 13px;
    border: 1px solid {t.line2}; border-radius: 3px; background: {t.field}; }}
QCheckBox::indicator:checked, QTreeView::indicator:checked, QTableView::indicator:checked,
    QListView::indicator:checked {{
    background: {t.accent}; border-color: {t.accent}; image: url("{tick}"); }}
QCheckBox::indicator:indeterminate {{ background: {t.accent}; border-color: {t.accent}; image: url("{dash}"); }}
QCheckBox::indicator:focus {{ border-color: {t.accent}; }}
QRadioButton::indicator {{ width: 13px; height: 13px; border: 1px solid {t.line2}; border-radius: 7px;
    background: {t.field}; }}
QRadioButton::indicator:checked {{ border: 4px solid {t.accent}; width: 7px; height: 7px; background: {t.onaccent}; }}
QSlider::groove:horizontal {{ height: 4px; background: {t.edge}; border-radius: 2px; }}
QSlider::sub-page:horizontal {{ background: {t.accent}; border-radius: 2px; }}
QSlider::handle:horizontal {{ width: 12px; height: 12px; margin: -5px 0; border-radius: 7px; background: {knob};
    border: 1px solid {knob_edge}; }}
QSlider::handle:horizontal:hover, QSlider::handle:horizontal:focus {{ border: 1px solid {t.accent}; }}
QProgressBar {{ background: {t.line}; border: none; border-radius: 2px; max-height: 4px; min-height: 4px; }}
QProgressBar::chunk {{ background: {t.accent}; border-radius: 2px; }}
QProgressBar[kind="good"]::chunk {{ background: {t.good}; }}
QProgressBar[kind="bad"]::chunk {{ background: {t.bad}; }}
QTabBar {{ background: {t.base}; }}
QTabBar::tab {{ background: transparent; color: {t.text2}; padding: 6px 12px 5px 12px; border: none;
    border-bottom: 2px solid transparent; margin: 0; }}
QTabBar[tight="true"]::tab {{ padding: 6px 6px 5px 6px; }}
QTabBar::tab:selected {{ color: {t.text}; border-bottom: 2px solid {t.accent}; }}
QTabBar::tab:hover {{ color: {t.text}; background: {t.hover}; }}
QTabBar::tab:disabled {{ color: {faint}; }}
#stagetabs {{ border: none; border-bottom: 1px solid {t.line}; background: {t.base}; }}
QTabWidget::pane {{ border: none; }}
QAbstractScrollArea {{ border: none; }}
QAbstractScrollArea::corner {{ background: transparent; border: none; }}
#grid {{ background: {t.sunk}; }}
QTableView, QListView, QTreeView {{ background: {t.base}; border: none; gridline-color: {t.line}; color: {t.text};
    selection-background-color: {t.soft}; selection-color: {t.text}; outline: 0;
    alternate-background-color: {mix(t.base, t.text, 0.02)}; }}
QListView#offered {{ background: {t.raised}; border: 1px solid {t.line2}; padding: 2px; }}
QListView#offered::item {{ padding: 4px 6px; border-radius: 3px; }}
QTableView::item {{ padding: 0 8px; }}
QTableView::item:hover, QListView::item:hover, QTreeView::item:hover {{ background: {mix(t.base, t.text, 0.05)}; }}
QTableView::item:selected, QListView::item:selected, QTreeView::item:selected {{ background: {t.soft};
    color: {t.text}; }}
QHeaderView {{ background: {t.base}; border: none; }}
QHeaderView::section {{ background: {t.base}; color: {t.text3}; border: none; border-bottom: 1px solid {t.line2};
    padding: 4px 8px; font-size: 11px; font-weight: normal; }}
QTableCornerButton::section {{ background: {t.base}; border: none; }}
QScrollBar:vertical {{ background: transparent; width: 10px; margin: 0; }}
QScrollBar::handle:vertical {{ background: {t.line2}; border-radius: 3px; min-height: 24px; margin: 2px; }}
QScrollBar:horizontal {{ background: transparent; height: 10px; margin: 0; }}
QScrollBar::handle:horizontal {{ background: {t.line2}; border-radius: 3px; min-width: 24px; margin: 2px; }}
QScrollBar::handle:hover {{ background: {t.text3}; }}
QScrollBar::add-line, QScrollBar::sub-line {{ width: 0; height: 0; }}
QScrollBar::add-page, QScrollBar::sub-page {{ background: transparent; }}
#seg QToolButton {{ border: 1px solid {t.edge}; border-radius: 0; padding: 2px 9px; margin: 0; color: {t.text2};
    background: {t.raised}; }}
#seg QToolButton[glyph="true"] {{ padding: 2px 5px; }}
#seg QToolButton[at="middle"], #seg QToolButton[at="last"] {{ border-left: none; }}
#seg QToolButton[at="first"] {{ border-top-left-radius: 4px; border-bottom-left-radius: 4px; }}
#seg QToolButton[at="last"] {{ border-top-right-radius: 4px; border-bottom-right-radius: 4px; }}
#seg QToolButton[at="only"] {{ border-radius: 4px; }}
#seg QToolButton:hover {{ background: {t.hover}; color: {t.text}; }}
#seg QToolButton:checked {{ background: {t.soft}; color: {t.text}; border: 1px solid {t.accent}; }}
#seg QToolButton:disabled {{ color: {faint}; background: {t.base}; }}
QPlainTextEdit#note {{ background: {t.field}; border: 1px solid {t.edge}; border-radius: 4px; padding: 1px; }}
QPlainTextEdit#note:focus {{ border-color: {t.accent}; }}
QTextEdit#guide, QTextEdit#guide:focus {{ background: {t.base}; border: none; border-radius: 0; padding: 0; }}
QToolButton#star {{ font-size: 15px; padding: 0; color: {t.text2}; background: transparent;
    border: 1px solid transparent; }}
QToolButton#star:hover {{ background: {t.hover}; border-radius: 3px; }}
QToolButton#star:focus {{ border: 1px solid {t.accent}; border-radius: 3px; }}
#chip {{ background: {t.raised}; border: 1px solid {t.edge}; border-radius: 10px; }}
#chip:hover {{ background: {t.hover}; }}
#chip[on="true"] {{ background: {t.soft}; border-color: {t.accent}; }}
#chip QLabel {{ color: {t.text2}; font-size: 10px; background: transparent; }}
#chip QToolButton {{ padding: 0; border-radius: 7px; }}
#banner {{ background: {mix(t.base, t.warn, 0.14)}; border: none; border-left: 3px solid {t.warn}; }}
#notice {{ background: {t.raised}; border: 1px solid {t.line2}; border-left: 3px solid {t.bad}; border-radius: 6px; }}
#notice[kind="info"] {{ border-left-color: {t.accent}; }}
#mono {{ background: {t.sunk}; border: 1px solid {t.line}; color: {t.text2}; padding: 4px; }}
#mono[bare="true"], #mono[bare="true"]:focus {{ border: none; border-radius: 0; padding: 0 8px; }}
QToolBar#toolbar {{ padding: 0; spacing: 0; }}
QPushButton#find {{ background: {t.field}; border: 1px solid {t.edge}; color: {t.text3}; text-align: left;
    padding: 0 10px; }}
QPushButton#find:hover {{ border-color: {t.line2}; color: {t.text2}; }}
QToolButton#task {{ border: 1px solid {t.line}; border-radius: 5px; background: {t.base}; color: {t.text};
    padding: 4px 10px; }}
QToolButton#task:hover {{ border-color: {t.line2}; background: {t.hover}; }}
QToolButton#task:focus {{ border-color: {t.accent}; }}
QPushButton#recent {{ background: transparent; border: 1px solid transparent; text-align: left; padding: 4px 6px;
    color: {t.text2}; font-size: 11px; }}
QPushButton#recent:hover {{ background: {t.hover}; color: {t.text}; }}
QPushButton#recent:focus {{ border-color: {t.accent}; }}
QFrame#palette {{ background: {t.raised}; border: 1px solid {t.line2}; border-radius: 6px; }}
QFrame#floating {{ background: {t.raised}; border: 1px solid {t.line2}; }}
QFrame#palette QListView {{ background: transparent; }}
QLineEdit#palette_line {{ border: 2px solid {t.accent}; border-radius: 5px; font-size: 13px; }}
#key {{ background: {t.raised}; border: 1px solid {t.line2}; border-radius: 3px; padding: 1px 6px; font-size: 10px;
    color: {t.text2}; }}
#section {{ background: transparent; border: none; border-top: 1px solid {t.line}; }}
QToolButton#local {{ color: {t.text2}; font-size: 11px; padding: 1px 0 1px 4px; }}
#status_strong {{ color: {t.text}; font-size: 11px; }}
"""
