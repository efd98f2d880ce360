"""A page: a figure laid out in inches from its upper left corner, with faces, cells of colour and their scale."""

from __future__ import annotations

import math
from collections.abc import Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np

from facelens.errors import InputError
from facelens.figures.fonts import USUAL, lacking
from facelens.figures.scales import Array
from facelens.figures.style import INK
from facelens.images import decode
from facelens.images.faceset import FaceSet
from facelens.words import tr

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

MARGIN = 0.1
HEAD, LINE = 0.54, 0.115  # inches: above the content, and a line of the caption
HATCH = "/////"
NAME = 1.35  # inches of a name on a map


class Page:
    """Places are inches to the right and down."""

    def __init__(self, width: float, height: float) -> None:
        from matplotlib.figure import Figure

        self.figure: Figure = Figure(figsize=(width, height))
        self.width, self.height = width, height

    def text(self, x: float, down: float, text: str, *, size: float = 7, ink: str = "text", **more: Any) -> None:
        """Words, their middle at this height."""
        look: dict[str, Any] = {"fontsize": size, "color": INK[ink], "va": "center"} | more
        self.figure.text(x / self.width, 1 - down / self.height, text, **look)

    def axes(self, x: float, down: float, width: float, height: float) -> Axes:
        """Axes by their upper left corner."""
        return self.figure.add_axes(
            (x / self.width, 1 - (down + height) / self.height, width / self.width, height / self.height)
        )

    def bare(self, x: float, down: float, width: float, height: float) -> Axes:
        """Axes of nothing but what is drawn in them: the unit square."""
        made = self.axes(x, down, width, height)
        made.set_axis_off()
        made.set(xlim=(0, 1), ylim=(0, 1))
        return made

    def head(self, title: str, told: Sequence[str]) -> None:
        """What is shown, and under it of whom."""
        room = self.width - 2 * MARGIN
        self.text(MARGIN, 0.17, elided(title, 9, room, bold=True), size=9, fontweight="bold")
        for i, line in enumerate(lines([t for t in told if t], room, size=6.5)[:2]):
            self.text(MARGIN, 0.31 + i * LINE, elided(line, 6.5, room), size=6.5, ink="text3")

    def foot(self, told: Sequence[str]) -> None:
        """The caption, on as many lines as it needs."""
        for i, line in enumerate(reversed(lines(told, self.width - 2 * MARGIN))):
            self.text(MARGIN, self.height - 0.11 - i * LINE, line, size=6, ink="text3")

    def face(self, x: float, down: float, side: float, faces: FaceSet, row: int | None, *, pixels: int = 168) -> Axes:
        """A face in a square, whole and in its own shape; one that cannot be read is an empty place that says so."""
        axes = self.bare(x, down, side, side)
        picture(axes, faces, row, pixels)
        return axes

    def cells(
        self, x: float, down: float, size: tuple[float, float], values: Array, limits: tuple[float, float], *,
        signed: bool = False, gap: float = 0.8, texts: Sequence[Sequence[str]] | None = None, points: float = 6,
    ) -> Axes:  # fmt: skip
        """(rows, columns) values as cells of colour on one scale, words inside; NaN is hatched, infinity no cell."""
        from matplotlib.colors import Normalize

        axes, colours = self.axes(x, down, *size), _colours(signed)
        axes.set_axis_off()
        rows, columns = values.shape
        gap = min(gap, 72 * 0.08 * min(size[0] / columns, size[1] / rows))
        axes.set(xlim=(0, columns), ylim=(rows, 0))
        scale = Normalize(*limits, clip=True)
        for row, column in np.argwhere(np.isnan(values)).tolist():
            undefined(axes, column, row, 1, 1)
        axes.pcolormesh(
            np.arange(columns + 1), np.arange(rows + 1), np.ma.masked_invalid(values), cmap=colours,
            norm=scale, edgecolors=INK["base"], linewidth=gap, zorder=2,
        )  # fmt: skip
        if texts is not None:
            for row in range(rows):
                for column in range(columns):
                    value = values[row, column]
                    ink = INK["text3"]
                    if np.isfinite(value):
                        ink = readable(colours(scale(float(value))))
                    axes.text(
                        column + 0.5, row + 0.52, texts[row][column], fontsize=points, color=ink, ha="center",
                        va="center", zorder=3,
                    )  # fmt: skip
        return axes

    def scale(
        self, x: float, down: float, name: str, ends: tuple[str, str], bright: str, *, signed: bool = False,
        width: float = 1.3,
    ) -> None:  # fmt: skip
        """The scale of colours with its limits and what they mean, in one line."""
        at = x
        if name:
            self.text(at, down, name, size=6.5, ink="text2")
            at += wide(name, 6.5) + 0.12
        self.text(at, down, ends[0], size=6.5, ink="text3")
        at += wide(ends[0], 6.5) + 0.06
        axes = self.axes(at, down - 0.045, width, 0.09)
        axes.set_axis_off()
        axes.pcolormesh(np.linspace(0, 1, 65), [0, 1], np.arange(64)[None], cmap=_colours(signed), linewidth=0.5)
        axes.collections[0].set_edgecolor("face")  # no seams in vector files
        at += width + 0.06
        self.text(at, down, ends[1], size=6.5, ink="text3")
        self.text(at + wide(ends[1], 6.5) + 0.16, down, bright, size=6.5, ink="text3")


def lines(words: Sequence[str], room: float, *, size: float = 6) -> list[str]:
    """Words with points between them, on as many lines as they need; what is longer than a line is broken at spaces.

    >>> lines(["one", "two"], 9.0), lines(["one", "two"], 0.2), lines(["a word and another"], 0.5)
    (['one · two'], ['one', 'two'], ['a word and', 'another'])
    """
    found: list[str] = []
    for word in words:
        longer = f"{found[-1]} · {word}" if found else word
        if found and wide(longer, size) <= room:
            found[-1] = longer
        else:
            found += _broken(word, room, size)
    return found


def _broken(text: str, room: float, size: float) -> list[str]:
    """A text on as many lines as it needs; a single word that is longer than a line is cut."""
    if wide(text, size) <= room:
        return [text]
    made: list[str] = []
    for word in text.split(" "):
        longer = f"{made[-1]} {word}" if made else word
        if made and wide(longer, size) <= room:
            made[-1] = longer
        else:
            made.append(elided(word, size, room))
    return made


def name_places(axes: Axes, names: Sequence[tuple[str, float, float]], *, size: float = 6, ground: str) -> None:
    """Names over points of a map (name, x, y): cut where they are long, inside the axes, lower where one is there."""
    from matplotlib.patheffects import withStroke

    box, figure = axes.get_position(), axes.figure
    assert figure is not None
    across, high = (72 * inches for inches in figure.get_size_inches())  # type: ignore[union-attr]
    room, tall = box.width * across, box.height * high
    (left, right), (low, top) = axes.get_xlim(), axes.get_ylim()
    taken: list[tuple[float, float, float, float]] = []
    for name, x, y in names:
        shown = elided(name, size, min(NAME, 0.6 * room / 72))
        long, at = 72 * wide(shown, size), (x - left) / (right - left) * room
        start = min(max(at - long / 2, 1.0), max(room - long - 1.0, 1.0))
        up = (y - low) / (top - low) * tall
        places = [up + 6, up - 6 - size, up + 8 + size, up - 8 - 2 * size]
        free = [one for one in places if 0 <= one <= tall - size and not _meets(start, one, long, size, taken)]
        place = free[0] if free else min(max(places[0], 0.0), tall - size)
        taken.append((start, place, start + long, place + size))
        axes.annotate(
            shown, (start, place), xycoords="axes points", fontsize=size, color=INK["text"], ha="left", va="bottom",
            zorder=6, path_effects=[withStroke(linewidth=2, foreground=ground)],
        )  # fmt: skip


def _meets(x: float, y: float, long: float, high: float, taken: Sequence[tuple[float, float, float, float]]) -> bool:
    return any(x < right and left < x + long and y < top and low < y + high for left, low, right, top in taken)


def _colours(signed: bool) -> Colormap:
    """Bright is more; or from bad to good around zero."""
    from matplotlib import colormaps
    from matplotlib.colors import LinearSegmentedColormap

    if not signed:
        return colormaps["viridis"]
    return LinearSegmentedColormap.from_list("signed", [INK["bad"], "#f3f3f3", INK["good"]])


def picture(axes: Axes, faces: FaceSet, row: int | None, pixels: int) -> None:
    """The face in the unit square, whole and in its own shape."""
    axes.set(xlim=(0, 1), ylim=(0, 1))
    try:
        if row is None:
            raise InputError(tr("This face is not in the gallery."))
        image = decode.thumbnail_face(faces, row, pixels)
    except InputError:
        axes.imshow(np.full((1, 1, 3), 230, np.uint8), extent=(0, 1, 0, 1), aspect="auto")
        axes.text(
            0.5, 0.5, tr("not readable"), ha="center", va="center", fontsize=5, color=INK["text3"], zorder=4
        )  # fmt: skip
        return
    high, across = image.shape[:2]
    x, y = across / max(high, across) / 2, high / max(high, across) / 2
    axes.imshow(image, extent=(0.5 - x, 0.5 + x, 0.5 - y, 0.5 + y), aspect="auto", interpolation="antialiased")
    axes.set(xlim=(0, 1), ylim=(0, 1))


def mark(axes: Axes, right: bool, *, x: float = 0.9, y: float = 0.9, size: float = 7) -> None:
    """Right: a disc with a check; wrong: a square with a cross. `x`, `y` in shares of the axes, `size` in points."""
    from matplotlib.path import Path

    check = Path([(-0.5, 0.02), (-0.14, -0.36), (0.52, 0.42)])
    cross = Path([(-0.42, -0.42), (0.42, 0.42), (-0.42, 0.42), (0.42, -0.42)], [1, 2, 1, 2])
    look: dict[str, Any] = {"transform": axes.transAxes, "linestyle": "none", "clip_on": False, "zorder": 8}
    plate, ink = ("o", "good") if right else ("s", "bad")
    axes.plot(
        [x], [y], marker=plate, markersize=size if right else 0.86 * size, markerfacecolor=INK[ink],
        markeredgecolor=(0, 0, 0, 0.6), markeredgewidth=0.5, **look,
    )  # fmt: skip
    axes.plot(
        [x], [y], marker=check if right else cross, markersize=0.52 * size, markerfacecolor="none",
        markeredgecolor="#ffffff", markeredgewidth=0.14 * size, **look,
    )  # fmt: skip


def undefined(axes: Axes, x: float, y: float, width: float, height: float) -> None:
    """A hatched place: nothing is known here."""
    from matplotlib.patches import Rectangle

    axes.add_patch(
        Rectangle(
            (x, y), width, height, facecolor=INK["base"], edgecolor=INK["line"], hatch=HATCH, linewidth=0, zorder=1
        )
    )  # fmt: skip


def shape(parts: int) -> tuple[int, int]:
    """Rows and columns of a map: full rows where that is nearly square, else the last cells are free.

    >>> shape(16), shape(8), shape(12), shape(7)
    ((4, 4), (2, 4), (3, 4), (3, 3))
    """
    rows = next(n for n in range(math.isqrt(parts), 0, -1) if parts % n == 0)
    if parts <= 2 * rows * rows:
        return rows, parts // rows
    columns = math.ceil(math.sqrt(parts))
    return math.ceil(parts / columns), columns


def mapped(values: Array) -> Array:
    """(K,) values in the shape of their map; those left over are no cells, infinity."""
    rows, columns = shape(len(values))
    cells = np.full(rows * columns, np.inf)
    cells[: len(values)] = values
    return cells.reshape(rows, columns)


def readable(colour: Sequence[float]) -> str:
    """Ink for words on a colour."""
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour[:3])
    return INK["text"] if 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.18 else INK["base"]


def wide(text: str, size: float, *, bold: bool = False) -> float:
    """How wide a text is at most, in inches: pixels round letters up."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath

    face = FontProperties(family=USUAL, weight="bold" if bold else "normal")
    if not text.strip():
        return 0.0
    if strange := lacking(text):  # whichever font they are drawn with: as wide as letters of CJK are
        text = "".join("—" if one in strange else one for one in text)
    # Where curves bend counts, not how far they get: the same but for a hair, and much faster.
    return float(TextPath((0, 0), text, size=size, prop=face).vertices[:, 0].max()) * 1.06 / 72


def elided(text: str, size: float, width: float, *, bold: bool = False) -> str:
    """The text as far as there is room, in inches.

    >>> elided("Anna", 6, 1.0), elided("Annabella", 6, 0.3)
    ('Anna', 'Ann…')
    """
    if wide(text, size, bold=bold) <= width:
        return text
    for n in range(len(text) - 1, 0, -1):
        shorter = text[:n].rstrip() + "…"
        if wide(shorter, size, bold=bold) <= width:
            return shorter
    return "…"


def wrapped(lines: Sequence[str], width: float, size: float = 6) -> list[str]:
    """Lines of a caption, broken where they would be wider than so many inches."""
    letters = max(20, int(width / (0.0081 * size)))
    return [short for line in lines for short in (wrap(line, letters) or [""])]
