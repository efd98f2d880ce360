"""Rails: a row for each thing, its name at the left, its value as a point with a whisker, and in words at the right."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from facelens.analyses.measure import Measure
from facelens.figures.page import HEAD, LINE, MARGIN, Page, elided, lines, wide
from facelens.figures.scales import ticks
from facelens.figures.style import INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROW, NAMES, RAIL, VALUES = 0.3, 1.72, 2.6, 1.86  # inches: a row, what stands left of the rail, the rail, right of it
GAP = 0.12  # between the rail and the words


class Rails:
    """A page with `n` rows on one axis; all places are inside `style()`."""

    def __init__(
        self, title: str, told: Sequence[str], n: int, limits: tuple[float, float], foot: Sequence[str], *,
        row: float = ROW, names: float = NAMES, values: float = VALUES, above: float = 0.0,
    ) -> None:  # fmt: skip
        """`above` is room for heads over the rows."""
        self.row, self.names, self.values = row, names, values
        self.top = HEAD + 0.1 + above
        width, high = names + RAIL + values + 2 * MARGIN, n * row
        self.page = Page(width, self.top + high + 0.4 + LINE * len(lines(foot, width - 2 * MARGIN)))
        self.page.head(title, told)
        self.axes: Axes = self.page.axes(MARGIN + names, self.top, RAIL, high)
        self.axes.set(xlim=limits, ylim=(n - 0.5, -0.5), yticks=[])
        self.axes.tick_params(axis="x", labelsize=6, length=2, pad=2)
        self.axes.set_axisbelow(True)
        self.axes.grid(True, axis="x", color=INK["text"], alpha=0.09, linewidth=0.7)
        self.page.foot(foot)

    def middle(self, i: float) -> float:
        """How far down the middle of a row is, in inches."""
        return self.top + (i + 0.5) * self.row

    def head(self, name: str, value: str) -> None:
        """What stands over names and values."""
        for x, text in ((MARGIN, name), (MARGIN + self.names + RAIL + GAP, value)):
            self.page.text(x, self.top - 0.1, text, size=6.5, ink="text3")

    def rates(self) -> None:
        """Round numbers under the rail."""
        marks = ticks("linear", *self.axes.get_xlim(), room=5)
        self.axes.set_xticks([place for place, _ in marks], [text for _, text in marks])

    def write(
        self, i: float, name: str, value: str, *, ink: str = "text", bold: bool = False, indent: float = 0.0,
        under: str = "",
    ) -> None:  # fmt: skip
        """Name and value of a row; `under` the name, `indent` leaves room before the value."""
        down, weight = self.middle(i), "bold" if bold else "normal"
        up = 0.06 if under else 0.0
        self.page.text(
            MARGIN, down - up, elided(name, 7, self.names - 0.1, bold=bold), size=7, ink=ink, fontweight=weight
        )
        if under:
            self.page.text(MARGIN, down + up, elided(under, 6, self.names - 0.1), size=6, ink="text3")
        x = MARGIN + self.names + RAIL + GAP + indent
        room = self.values - GAP - indent
        told = [value] if bold or wide(value, 6.5) <= room else lines([value], room, size=6.5)
        told = [*told[:2], " ".join(told[2:])] if len(told) > 2 else told
        for n, line in enumerate(told):
            shift = (n - (len(told) - 1) / 2) * LINE
            self.page.text(
                x, down + shift, elided(line, 6.5, room, bold=bold), size=6.5, ink=ink, fontweight=weight
            )

    def point(self, measure: Measure, y: float, colour: str, *, marker: str = "o", filled: bool = True) -> None:
        """A value with its whisker; what is beyond the axis is an arrow at its edge; nothing where there is none."""
        if not measure.defined or measure.value is None:
            return
        axes, (low, high) = self.axes, self.axes.get_xlim()
        if measure.low is not None and measure.high is not None:
            ends = [min(max(end, low), high) for end in (measure.low, measure.high)]
            axes.plot(ends, [y, y], color=colour, linewidth=1.1, zorder=2)
            for end, real in zip(ends, (measure.low, measure.high)):
                if end == real:
                    axes.plot([end], [y], marker="|", markersize=5, color=colour, zorder=2)
        if not low <= measure.value <= high:
            at, arrow = (low, "<") if measure.value < low else (high, ">")
            axes.plot([at], [y], marker=arrow, markersize=5, color=colour, clip_on=False, zorder=4)
            return
        axes.plot(
            [measure.value], [y], marker=marker, markersize=4.6, markerfacecolor=colour if filled else INK["base"],
            markeredgecolor=colour, markeredgewidth=1.0, zorder=3,
        )  # fmt: skip


def room_for(words: Sequence[str], size: float, *, least: float, most: float, bold: bool = False) -> float:
    """Inches that the longest of some words take beside a rail, and a little more.

    >>> room_for(["a"], 7, least=1.5, most=3.0), room_for(["long " * 40], 7, least=1.5, most=3.0)
    (1.5, 3.0)
    """
    return min(max(least, *(wide(one, size, bold=bold) + 0.3 for one in words)), most)


def reach(measures: Sequence[Measure], *, least: float = 0.02) -> tuple[float, float] | None:
    """Limits of an axis that shows values with their whiskers, and a little room; None where there is none.

    >>> reach([Measure(0.5, 0.4, 0.6), Measure.none("")]), reach([])
    ((0.388, 0.612), None)
    """
    ends = [end for one in measures if one.defined for end in (one.value, one.low, one.high) if end is not None]
    if not ends:
        return None
    spare = 0.06 * max(max(ends) - min(ends), least)
    return round(min(ends) - spare, 12), round(max(ends) + spare, 12)
