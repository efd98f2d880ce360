"""Fonts for letters that the usual one does not have: what on this computer has them, and what nothing here can draw.

Only texts that need it get another font, and only where letters are drawn, in PNG and PDF; in SVG words stay words.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.font_manager import FontEntry

USUAL = "DejaVu Sans"
UNFIT = ("emoji", "lastresort", "last resort")  # pictures in colour, and boxes for everything


@contextmanager
def lent(figure: Figure) -> Iterator[tuple[str, ...]]:
    """The figure with fonts for all its letters, as far as there are some; tells the scripts that nothing here has."""
    from matplotlib.text import Text

    changed, left = [], set[str]()
    for one in figure.findobj(Text):
        assert isinstance(one, Text)
        if letters := lacking(one.get_text()):
            names, unknown = families(letters)
            left |= unknown
            changed.append((one, one.get_fontfamily()))
            one.set_fontfamily([USUAL, *names])
    try:
        yield scripts(left)
    finally:
        for one, family in changed:
            one.set_fontfamily(family)


def lacking(text: str) -> frozenset[str]:
    """Letters of a text that the usual font does not have; marks that are not seen do not count.

    >>> sorted(lacking("Ådåm …")), sorted(lacking("Li 李"))
    ([], ['李'])
    """
    if text.isascii():
        return frozenset()
    known = _usual()
    return frozenset(one for one in text if ord(one) not in known and unicodedata.category(one)[0] in "LMNPS")


def scripts(letters: Iterable[str]) -> tuple[str, ...]:
    """What letters belong to, in words.

    >>> scripts("李अ")
    ('CJK', 'Devanagari')
    """
    first = {unicodedata.name(one, "OTHER").split()[0] for one in letters}
    return tuple(sorted(word if word == "CJK" else word.capitalize() for word in first))


@cache
def families(letters: frozenset[str]) -> tuple[tuple[str, ...], frozenset[str]]:
    """Fonts that have these letters, as few as will do, and the letters that none has."""
    left, names = set(letters), list[str]()
    for again in (False, True):
        if again and left:
            _look_again()
        while left:
            best = max(_others(), key=lambda one: _count(one, left), default=None)  # the first of the best
            if best is None or not _count(best, left):
                break
            names.append(best.name)
            left = {one for one in left if ord(one) not in _letters(best.fname)}
    return tuple(names), frozenset(left)


def _count(font: FontEntry, letters: Iterable[str]) -> int:
    known = _letters(font.fname)
    return sum(ord(one) in known for one in letters)


def _others() -> list[FontEntry]:
    """An upright font of each family, in an order that is the same each time: plain ones first."""
    from matplotlib.font_manager import fontManager

    def rank(one: FontEntry) -> tuple[object, ...]:
        plain, heavy = "sans" in one.name.lower(), one.weight not in (400, "normal", "regular", "book")
        return not plain, not one.fname.lower().endswith(".ttf"), one.name, heavy, one.fname

    found: dict[str, FontEntry] = {}
    for one in sorted(fontManager.ttflist, key=rank):
        if one.style == "normal" and not any(word in one.name.lower() for word in UNFIT):
            found.setdefault(one.name, one)
    return list(found.values())


@cache
def _look_again() -> None:
    """Take fonts that came since matplotlib made its list."""
    from matplotlib.font_manager import findSystemFonts, fontManager

    known = {one.fname for one in fontManager.ttflist}
    for path in sorted(set(findSystemFonts()) - known):
        try:
            fontManager.addfont(path)
        except (OSError, RuntimeError, ValueError):
            continue  # one that it cannot read


@cache
def _letters(path: str) -> frozenset[int]:
    """The letters of a font; none where it cannot be drawn with."""
    from matplotlib.font_manager import get_font

    try:
        font = get_font(path)
        return frozenset(font.get_charmap()) if font.scalable else frozenset()
    except (OSError, RuntimeError, ValueError):
        return frozenset()


@cache
def _usual() -> frozenset[int]:
    from matplotlib.font_manager import FontProperties, findfont

    return _letters(findfont(FontProperties(family=USUAL))) & _letters(
        findfont(FontProperties(family=USUAL, weight="bold"))
    )
