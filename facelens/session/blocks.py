"""Blocks: what a report says, as titled tables with lines around them; they become text, a page and LaTeX alike."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

Rows = list[list[str]]


@dataclass(frozen=True)
class Block:
    """A titled table with lines under it; without title and rows it is lines by themselves.

    A row that is shorter than the others ends in words that may run on.
    """

    title: str = ""
    rows: Rows = field(default_factory=list)
    told: Sequence[str] = ()  # under the table
    noted: Sequence[str] = ()  # between title and table
    headed: bool = True  # whether the first row names the columns
    heads: bool = False  # the title is that of the blocks after it
    goes_on: bool = False  # belongs to the block before
    figures: tuple[str, ...] = ()  # of the panel, that show the same

    def __bool__(self) -> bool:
        return bool(self.title or self.rows or self.told or self.noted)

    @property
    def columns(self) -> int:
        """How many the table has."""
        return max((len(row) for row in self.rows), default=0)

    def lines(self) -> list[str]:
        """As text."""
        if not self.title and not self.rows:
            return [*self.noted, *self.told]
        said = [self.title] if self.title else []
        return [*said, *(f"  {one}" for one in self.noted), *table(self.rows), *(f"  {one}" for one in self.told)]


def lines(blocks: Iterable[Block]) -> list[str]:
    """As text, an empty line between any two that do not belong together."""
    said: list[str] = []
    for block in filter(None, blocks):
        said += ["", *block.lines()] if said and not block.goes_on else block.lines()
    return said


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Columns under each other; a short row ends in words that may run on."""
    if not rows:
        return []
    columns = max(len(row) for row in rows)
    widths = [
        max((len(row[place]) for row in rows if place < len(row) - 1 or len(row) == columns), default=0)
        for place in range(columns)
    ]
    made = []
    for row in rows:
        cells = [cell if place == len(row) - 1 else cell.ljust(widths[place]) for place, cell in enumerate(row)]
        made.append("  " + "  ".join(cells).rstrip())
    return made
