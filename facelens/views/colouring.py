"""Colours of faces by what is known of them: who it is, a column of names or of numbers, how unsure a part is.

Names have a hue each, numbers go from dark to bright (viridis), what is not known is grey. A colour never tells alone:
there is a legend, and whoever shows faces by colour names the value of the one under the pointer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from PySide6.QtGui import QColor

from facelens.figures import hues
from facelens.images.faceset import Labels
from facelens.views import heat, theme
from facelens.views.grid import value_text
from facelens.words import escaped, tr

Floats = NDArray[np.float32]
TOLD_APART = 12  # names that have hues of their own; of more, a hash of each name decides
LISTED = 10  # names in a legend
FAINT = 0.5  # how much of the ground is in the grey of those that are not in focus


@dataclass(frozen=True, eq=False)
class Entry:
    """A line of a legend: what it stands for, and which faces have it."""

    words: str
    colour: QColor
    places: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Colouring:
    """The colours of some faces, and how to read them."""

    title: str
    shades: Floats  # (N, 3) red, green, blue from 0 to 1
    told: Callable[[int], str]  # the value of the face at a place, in words
    entries: tuple[Entry, ...] = ()  # of names, the most frequent first
    note: str = ""  # what the legend says besides
    low: float = 0.0  # of numbers: what the darkest and the brightest colour stand for
    high: float = 0.0
    bright: str = ""  # "bright = less sure"; "" for names
    people: bool = False  # of names: who it is, which is told anyway wherever a face is named
    front: NDArray[np.bool_] | None = None  # (N,) faces that lie over the others; None: nobody is preferred

    @property
    def numbers(self) -> bool:
        """Whether colours go from dark to bright."""
        return bool(self.bright)


def by_names(
    title: str, labels: Labels, *, people: bool = False, focus: frozenset[str] = frozenset()
) -> Colouring:
    """Names, a colour each; `people` have the colour that they have everywhere.

    With a `focus` only the names in it have theirs, all others are a faint grey.
    """
    now, codes = theme.current(), labels.codes
    counts = np.bincount(codes[codes >= 0], minlength=len(labels.names))
    there = [int(code) for code in np.argsort(-counts, kind="stable") if counts[code]]
    hashed = people or len(there) > TOLD_APART
    if hashed:
        palette = hues.people(labels.names, hues.DARK if now.dark else hues.LIGHT)
    else:
        palette = np.zeros((len(labels.names), 3), np.float32)
        for place, code in enumerate(sorted(there)):
            palette[code] = _rgb(distinct(place, len(there)))
    front = None
    if focus:
        listed = np.array([name in focus for name in labels.names], bool)
        palette[~listed] = _rgb(now.q(theme.mix(now.text3, now.sunk, FAINT)))
        front = np.append(listed, False)[codes]
        there = [code for code in there if listed[code]]
    shades = np.vstack([palette, _rgb(now.q("text3"))[None]])[codes]  # [-1]: not known
    entries = []
    if not people or focus:
        for code in there[:LISTED]:
            name = escaped(labels.names[code])
            words = name.replace("_", " ") if people else name
            entries.append(Entry(words, _colour(palette[code]), np.flatnonzero(codes == code)))
        if len(others := there[LISTED:]):
            places = np.flatnonzero(np.isin(codes, others))
            entries.append(Entry(tr("{n} others", n=len(others)), now.q("text2"), places))
    entries += _unknown(codes < 0)
    note = tr("{n} people, a colour for each name", n=len(there)) if people and not focus else ""
    named = partial(_name, labels)
    return Colouring(title, shades, named, tuple(entries), note, people=people, front=front)


def by_numbers(
    title: str,
    values: NDArray[np.floating] | NDArray[np.integer],
    *,
    low: float | None = None,
    high: float | None = None,
    bright: str = "",
    written: Callable[[float], str] = value_text,
) -> Colouring:
    """Numbers from dark to bright, between the 1st and the 99th percentile where no limits are given."""
    known = np.asarray(values, np.float64)
    some = known[np.isfinite(known)]
    if low is None or high is None:
        low, high = (float(v) for v in np.percentile(some, (1, 99))) if len(some) else (0.0, 1.0)
    if not high > low:
        low, high = low - 0.5, high + 0.5
    known = np.where(np.isfinite(known), known, np.nan)
    shades: Floats = np.asarray(heat.shades(known, low, high)[:, :3] / 255, np.float32)
    missing = np.isnan(known)
    shades[missing] = _rgb(theme.current().q("text3"))

    def told(place: int) -> str:
        return tr("not known") if missing[place] else written(values[place])

    said = bright or tr("bright = higher")
    return Colouring(title, shades, told, tuple(_unknown(missing)), low=low, high=high, bright=said)


def distinct(place: int, of: int) -> QColor:
    """One of a few colours that are told apart."""
    return QColor.fromRgbF(*hues.distinct(place, of, hues.DARK if theme.current().dark else hues.LIGHT))


def _unknown(missing: NDArray[np.bool_]) -> Sequence[Entry]:
    places = np.flatnonzero(missing)
    return [Entry(tr("not known"), theme.current().q("text3"), places)] if len(places) else []


def _name(labels: Labels, place: int) -> str:
    return escaped(labels.name(place)) or tr("not known")


def _rgb(colour: QColor) -> Floats:
    return np.array([colour.redF(), colour.greenF(), colour.blueF()], np.float32)


def _colour(rgb: Floats) -> QColor:
    return QColor.fromRgbF(*(min(1.0, max(0.0, float(v))) for v in rgb))
