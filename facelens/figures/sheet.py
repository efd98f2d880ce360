"""A contact sheet: faces in rows with their names, for a paper or a note."""

from __future__ import annotations

import logging
import math
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from facelens.errors import InputError
from facelens.figures.style import INK, style
from facelens.files import atomic_write
from facelens.images import decode
from facelens.images.faceset import FaceSet, Rows
from facelens.progress import Tick, silent
from facelens.words import number, plural, tr

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST = 400  # faces on one sheet; more would be a wall nobody reads
FORMATS = ("png", "svg", "pdf")


def contact_sheet(
    faces: FaceSet,
    rows: Rows,
    *,
    value: str = "",
    columns: int = 0,
    caption: str = "",
    pixels: int = 112,
    tick: Tick = silent,
) -> Figure:
    """Draw the faces at `rows` in that order; `value` is a column whose number stands under each face.

    A picture that cannot be read is drawn as an empty, named place: the sheet never silently leaves one out. More than
    `MOST` faces are cut, and the caption says so.
    """
    from matplotlib.figure import Figure

    if not len(rows):
        raise InputError(tr("A contact sheet needs at least one face."), hint=tr("Select some faces first."))
    total, rows = len(rows), rows[:MOST]
    across = columns or min(len(rows), max(4, math.ceil(math.sqrt(len(rows) * 1.6))))
    down = math.ceil(len(rows) / across)
    cell_w, cell_h, head, side = 0.86, 1.04, 0.34, 0.1  # inches
    width, height = across * cell_w + 2 * side, down * cell_h + head + side
    with style():
        figure = Figure(figsize=(width, height))
        title = caption or faces.name
        counted = (
            plural(total, "{n} face", "{n} faces")
            if total == len(rows)
            else tr("first {n} of {total} faces", n=len(rows), total=total)
        )
        figure.text(side / width, 1 - 0.2 / height, title, fontsize=9, fontweight="bold", va="center")
        figure.text(
            1 - side / width, 1 - 0.2 / height, counted, color=INK["text3"], fontsize=7, ha="right", va="center"
        )
        numbers = faces.columns.get(value)
        for i, row in enumerate(rows):
            tick(i, len(rows), tr("Drawing"))
            x, y = side + (i % across) * cell_w, height - head - (i // across + 1) * cell_h
            axes = figure.add_axes((x / width, (y + 0.2) / height, (cell_w - 0.06) / width, (cell_h - 0.22) / height))
            axes.set_axis_off()
            try:
                axes.imshow(decode.thumbnail_face(faces, int(row), pixels), aspect="equal", interpolation="antialiased")
            except InputError:
                axes.imshow(np.full((1, 1, 3), 230, np.uint8))
                axes.text(
                    0.5,
                    0.5,
                    tr("not readable"),
                    transform=axes.transAxes,
                    ha="center",
                    va="center",
                    fontsize=5,
                    color=INK["text3"],
                )
            shown = _cut(faces.label(int(row)), 11 if isinstance(numbers, np.ndarray) else 16)
            figure.text(
                x / width,
                (y + 0.12) / height,
                shown,
                fontsize=5.4,
                color=INK["text2"],
                va="center",
            )
            if isinstance(numbers, np.ndarray):
                figure.text(
                    (x + cell_w - 0.06) / width,
                    (y + 0.12) / height,
                    number(float(numbers[row])) if numbers[row] == numbers[row] else tr("n/a"),
                    fontsize=5.4,
                    color=INK["text3"],
                    ha="right",
                    va="center",
                )
        tick(len(rows), len(rows), "")
    return figure


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def save(figure: Figure, out: Path, *, dpi: int = 200) -> Path:
    """Write PNG, SVG or PDF by the ending; whole or not at all. No date inside: the same figure gives the same file."""
    kind = out.suffix.lower().lstrip(".")
    if kind not in FORMATS:
        raise InputError(
            tr("{name} has no ending that FaceLens can draw.", name=out.name), hint=tr("Use .png, .svg or .pdf.")
        )
    metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {"Software": "FaceLens"}}[kind]
    logging.getLogger("fontTools").setLevel(logging.WARNING)  # a PDF's fonts are packed with a line of log a table
    with style(), atomic_write(out) as file:
        figure.savefig(file, format=kind, dpi=dpi, metadata=metadata)
    return out
