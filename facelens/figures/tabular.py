"""Tables as figures: names at the left, numbers flush right, thin rules; what has no value says why.

A cell of two lines has its interval, or what else is said of the value, small under it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from facelens.figures.page import HEAD, LINE, MARGIN, Page, elided, lines, wide
from facelens.figures.style import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROW, TALL = 0.21, 0.31  # inches: a row, and one whose cells have two lines
NAMES = 2.6  # inches that a column of names may grow to


@dataclass(frozen=True)
class Column:
    """What stands over it, how wide it is in inches (names may need more), whether its cells end at the right."""

    head: str
    width: float
    right: bool = True


@dataclass(frozen=True)
class Table:
    """Cells as they are read; `bold` rows, `rules` under rows, `groups` of columns: first, last, the head of both."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[str]]
    bold: Collection[int] = ()
    rules: Collection[int] = ()
    groups: Sequence[tuple[int, int, str]] = ()
    inks: Sequence[Sequence[str]] = ()  # of the cells, "" for the usual one


def draw_table(title: str, told: Sequence[str], table: Table, foot: Sequence[str]) -> Figure:
    """The table on a page of its own."""
    columns = [column if column.right else _grown(column, i, table) for i, column in enumerate(table.columns)]
    ends = [MARGIN]
    for column in columns:
        ends.append(ends[-1] + column.width)
    width = max(ends[-1] + MARGIN, 5.0)
    over, row = 0.18 if table.groups else 0.0, ROW
    if any("\n" in cell for cells in table.rows for cell in cells):
        row = TALL
    top = HEAD + 0.1 + over + 0.2
    with style():
        page = Page(width, top + len(table.rows) * row + 0.2 + LINE * len(lines(foot, width - 2 * MARGIN)))
        page.head(title, told)
        for first, last, head in table.groups:
            page.text((ends[first] + ends[last + 1]) / 2 + 0.06, HEAD + 0.08, head, size=6.5, ink="text3", ha="center")
            _rule(page, HEAD + 0.17, ends[first] + 0.14, ends[last + 1])
        for i, column in enumerate(columns):
            _cell(page, column, ends[i], ends[i + 1], HEAD + 0.1 + over, column.head, ink="text3")
        _rule(page, top - 0.08, MARGIN, ends[-1])
        for n, cells in enumerate(table.rows):
            middle = top + (n + 0.5) * row - 0.04
            for i, (column, text) in enumerate(zip(columns, cells)):
                ink = (table.inks[n][i] if n < len(table.inks) else "") or ("text" if column.right else "text2")
                _cell(page, column, ends[i], ends[i + 1], middle, text, ink=ink, bold=n in table.bold)
            if n in table.rules:
                _rule(page, top + (n + 1) * row - 0.04, MARGIN, ends[-1])
        page.foot(foot)
        return page.figure


def _grown(column: Column, i: int, table: Table) -> Column:
    """A column of names as wide as they are: cut short, two models can read the same."""
    names = [(cells[i].partition("\n")[0], n in table.bold) for n, cells in enumerate(table.rows) if i < len(cells)]
    needs = max((wide(name, 6.8, bold=bold) + 0.1 for name, bold in names), default=0.0)
    return replace(column, width=max(column.width, min(needs, NAMES)))


def _cell(
    page: Page, column: Column, left: float, end: float, down: float, text: str, *, ink: str, bold: bool = False
) -> None:
    x, ha = (end, "right") if column.right else (left, "left")
    first, _, under = text.partition("\n")
    shown, weight = elided(first, 6.8, column.width - 0.08, bold=bold), "bold" if bold else "normal"
    page.text(x, down - (0.055 if under else 0), shown, size=6.8, ink=ink, ha=ha, fontweight=weight)
    if under:
        page.text(x, down + 0.06, elided(under, 5.6, column.width - 0.06), size=5.6, ink="text3", ha=ha)


def _rule(page: Page, down: float, left: float, right: float) -> None:
    axes = page.bare(left, down - 0.01, right - left, 0.02)
    axes.axhline(0.5, color="#ababab", linewidth=0.7)
