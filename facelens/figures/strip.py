"""Three rows of faces, sure to unsure: the figure by which one sees what a score means.

A row is a band of percentiles. The first two show faces spread evenly through their band, the last one starts with the
least sure. Values are such that higher ones are refused first; a score of which low values are refused is turned round
inside, and written as it is (`lower`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from facelens.errors import InputError
from facelens.figures.page import LINE, elided, mark, picture
from facelens.figures.style import INK, style
from facelens.images.faceset import FaceSet, Ids
from facelens.progress import Tick, silent
from facelens.words import number, plural, tr

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Places = NDArray[np.int64]
Values = NDArray[np.float64]
WARN = "#7d5a00"


@dataclass(frozen=True)
class Band:
    """A row: percentiles from `low` to `high`, both among it."""

    word: str
    low: int
    high: int
    falling: bool = False  # the highest first, one after another; else spread from the lowest on

    @property
    def middle(self) -> float:
        """Where its colour lies on the scale, 0 to 1."""
        return (self.low + self.high) / 200

    def written(self, lower: bool) -> Band:
        """How the band is called where the score is turned round.

        >>> BANDS[2].written(True)
        Band(word='Low', low=0, high=5, falling=True)
        """
        if not lower:
            return self
        word = {"Low": "High", "High": "Low"}.get(self.word, self.word)
        return Band(word, 100 - self.high, 100 - self.low, self.falling)

    def places(self, values: Values, percentiles: Values) -> Places:
        """Which of the faces are in the band, by value; ties keep their order."""
        inside = np.flatnonzero((percentiles >= self.low) & (percentiles <= self.high))
        keys = -values[inside] if self.falling else values[inside]
        return np.asarray(inside[np.argsort(keys, kind="stable")], np.int64)

    def walk(self, ordered: Places, room: int) -> Places:
        """The same faces page by page, `room` on each; every page of a spread band reaches through all of it.

        >>> Band("Low", 0, 10).walk(np.arange(7), 3).tolist()
        [0, 3, 5, 1, 4, 6, 2]
        """
        if self.falling:
            return ordered
        page = np.arange(len(ordered)) * room % max(len(ordered), 1) // room
        return ordered[np.argsort(page, kind="stable")]


BANDS = (Band("Low", 0, 10), Band("Medium", 45, 55), Band("High", 95, 100, falling=True))


def face_strip(
    faces: FaceSet,
    ids: Ids,
    *,
    values: Values,
    percentiles: Values,
    right: NDArray[np.int8] | None = None,
    limit: float | None = None,
    name: str = "",
    lower: bool = False,
    columns: int = 8,
    caption: str = "",
    whose: str = "",
    pixels: int = 168,
    tick: Tick = silent,
) -> Figure:
    """Draw the three bands of `values` of the faces `ids`, the value above each face; `whose` says of which models.

    Faces above `limit` have a bar at the foot (refused), those with `right` 0 a cross. A picture that cannot be read
    is drawn as an empty place that says so.
    """
    from matplotlib.figure import Figure

    if not len(ids):
        raise InputError(tr("The strip needs at least one face."), hint=tr("Work out the ensemble first."))
    shown = [(band, band.places(values, percentiles)) for band in BANDS]
    total = sum(min(len(ordered), columns) for _, ordered in shown)
    side, gap, left, head, foot, line = 0.8, 0.07, 1.05, 0.36, 0.36 if whose else 0.24, 1.06  # inches
    width, height = left + columns * (side + gap) + 0.06, head + len(BANDS) * line + foot
    done, sign = 0, -1 if lower else 1
    with style():
        figure = Figure(figsize=(width, height))
        title = caption or tr("{gallery}: faces by {name}", gallery=faces.name, name=name or tr("value"))
        title = elided(title, 9, width - 1.3, bold=True)
        figure.text(0.1 / width, 1 - 0.18 / height, title, fontsize=9, fontweight="bold", va="center")
        figure.text(
            1 - 0.12 / width,
            1 - 0.18 / height,
            plural(len(ids), "N = {n} face", "N = {n} faces"),
            color=INK["text3"],
            fontsize=7,
            ha="right",
            va="center",
        )
        for row, (band, ordered) in enumerate(shown):
            top = height - head - row * line
            _key(figure, band.written(lower), len(ordered), top=top, size=(width, height))
            if not len(ordered):
                none = tr("no face in this band")
                figure.text(left / width, (top - 0.56) / height, none, fontsize=6.5, color=INK["text3"], va="center")
            for column, place in enumerate(band.walk(ordered, columns)[:columns]):
                tick(done, total, tr("Drawing"))
                done += 1
                x, y = left + column * (side + gap), top - 0.16 - side
                axes = figure.add_axes((x / width, y / height, side / width, side / height))
                axes.set_axis_off()
                found = faces.row_of(int(ids[place]))
                picture(axes, faces, found, pixels)
                _text(axes, 0.5, 1.08, number(sign * float(values[place])), size=6, colour="text2")
                if limit is not None and values[place] > limit:
                    axes.axhspan(0, 0.035, facecolor=WARN, edgecolor="none", zorder=3)
                if right is not None and right[place] == 0:
                    mark(axes, False, x=0.89, y=0.89)
        said = [_legend(name, limit=limit, lower=lower, marked=right is not None), *([whose] if whose else [])]
        for i, text in enumerate(reversed(said)):
            text = elided(text, 6, width - left - 0.1)
            figure.text(
                left / width, (0.12 + i * LINE) / height, text, color=INK["text3"], fontsize=6, va="center"
            )  # fmt: skip
        tick(total, total, "")
    return figure


def _key(figure: Figure, band: Band, count: int, *, top: float, size: tuple[float, float]) -> None:
    """At the left of a row: its colour on the scale, its word, its percentiles, how many are in it."""
    import matplotlib
    from matplotlib.patches import Rectangle

    width, height = size
    colour = matplotlib.colormaps["viridis"](band.middle)
    box = Rectangle(
        (0.1 / width, (top - 0.96) / height), 0.04 / width, 0.96 / height, facecolor=colour, edgecolor="none"
    )
    figure.add_artist(box)
    said = (
        (0.36, tr(band.word), 8.5, "bold", "text"),
        (0.53, tr("p{low} to p{high}", low=band.low, high=band.high), 6.5, "normal", "text3"),
        (0.67, plural(count, "{n} face", "{n} faces"), 6.5, "normal", "text3"),
    )
    for down, text, points, weight, ink in said:
        figure.text(
            0.22 / width, (top - down) / height, text, fontsize=points, fontweight=weight, color=INK[ink], va="center"
        )


def _text(axes: Axes, x: float, y: float, text: str, *, size: float, colour: str) -> None:
    axes.text(x, y, text, ha="center", va="center", fontsize=size, color=INK[colour], zorder=4)


def _legend(name: str, *, limit: float | None, lower: bool, marked: bool) -> str:
    sense = tr("lower is less sure") if lower else tr("higher is less sure")
    parts = [tr("above each face: {name}, {sense}", name=name or tr("value"), sense=sense)]
    if limit is not None and math.isfinite(limit):
        where = number(-limit if lower else limit)
        parts.append(
            tr("bar: refused below {limit}", limit=where) if lower else tr("bar: refused above {limit}", limit=where)
        )
    if marked:
        parts.append(tr("cross: wrong"))
    return " · ".join(parts)
