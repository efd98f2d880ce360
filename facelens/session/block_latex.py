"""Blocks as LaTeX: a tabular for each table, without packages."""

from __future__ import annotations

from collections.abc import Sequence

from facelens.session.blocks import Block
from facelens.session.tables import latex_text
from facelens.words import escaped


def tabular(block: Block, *, title: str = "") -> str:
    """The table of a block; its title, or `title`, and the lines around it are comments.

    A row that is shorter than the others ends in a cell over the columns that it lacks.
    """
    columns, headed = block.columns, block.headed and len(block.rows) > 1
    rows = [_row(row, columns) for row in block.rows]
    if headed:
        rows.insert(1, r"\hline")
    return "\n".join(
        [
            *(f"% {line}" for line in map(_comment, (title or block.title, *block.noted, *block.told)) if line),
            rf"\begin{{tabular}}{{{'l' * columns}}}",
            r"\hline",
            *rows,
            r"\hline",
            r"\end{tabular}",
            "",
        ]
    )


def _comment(line: str) -> str:
    return " ".join(escaped(line).split())


def _row(row: Sequence[str], columns: int) -> str:
    cells = [latex_text(escaped(cell)) for cell in row]
    if cells and cells[0][:1] in ("[", "*"):  # after the end of a row LaTeX would take it for an argument
        cells[0] = "{}" + cells[0]
    if len(cells) < columns:
        cells[-1] = rf"\multicolumn{{{columns - len(cells) + 1}}}{{l}}{{{cells[-1]}}}"
    return " & ".join(cells) + r" \\"
