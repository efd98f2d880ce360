"""A contact sheet: faces in rows with their names, for a paper or a note."""

from __future__ import annotations

import io
import logging
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

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
MOST_PIXELS = 120_000_000


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


@dataclass(frozen=True)
class Paper:
    """How large a figure is written: its width in inches, in which all of it grows or shrinks, and dots per inch."""

    width: float | None = None  # None: as it was laid out
    dpi: int = 200


def save(figure: Figure, out: Path, *, paper: Paper | None = None) -> Path:
    """Write PNG, SVG or PDF by the ending; whole or not at all. No date inside: the same figure gives the same file.

    Words stay words in SVG and PDF; the fonts of a PDF are inside it.
    """
    paper = paper or Paper()
    kind = out.suffix.lower().lstrip(".")
    if kind not in FORMATS:
        raise InputError(
            tr("{name} has no ending that FaceLens can draw.", name=out.name), hint=tr("Use .png, .svg or .pdf.")
        )
    wide, high = figure.get_size_inches()
    factor = paper.width / float(wide) if paper.width is not None else 1.0
    if kind == "png" and wide * high * (paper.dpi * factor) ** 2 > MOST_PIXELS:
        pixels = tuple(int(side * paper.dpi * factor) for side in (wide, high))
        message = tr("A picture of {w} × {h} pixels is too large.", w=pixels[0], h=pixels[1])
        raise InputError(message, hint=tr("Take a smaller width or fewer dots per inch, or SVG or PDF."))
    logging.getLogger("fontTools").setLevel(logging.WARNING)  # a PDF's fonts are packed with a line of log a table
    with style(), atomic_write(out) as file:
        _WRITERS[kind](figure, file, paper.dpi, factor)
    return out


def _write_png(figure: Figure, file: IO[bytes], dpi: int, factor: float) -> None:
    figure.savefig(file, format="png", dpi=dpi * factor, metadata={"Software": "FaceLens"})


def _write_svg(figure: Figure, file: IO[bytes], dpi: int, factor: float) -> None:
    """The drawing keeps its own units; the size of the picture is told apart from them."""
    drawn = io.BytesIO()
    figure.savefig(drawn, format="svg", dpi=dpi * factor, metadata={"Date": None})
    raw = drawn.getvalue()
    if factor != 1:
        head, tag, rest = raw.partition(b"<svg ")
        size = re.compile(rb'\b(width|height)="([0-9.]+)pt"')
        opening, end, body = rest.partition(b">")
        raw = head + tag + size.sub(lambda m: b'%s="%.6gpt"' % (m[1], float(m[2]) * factor), opening) + end + body
    file.write(raw)


def _write_pdf(figure: Figure, file: IO[bytes], dpi: int, factor: float) -> None:
    if factor == 1:
        figure.savefig(file, format="pdf", dpi=dpi, metadata={"CreationDate": None})
        return
    from matplotlib.backends.backend_mixed import MixedModeRenderer
    from matplotlib.backends.backend_pdf import Op, PdfFile, RendererPdf

    before = figure.dpi
    figure.set_dpi(72)
    wide, high = figure.get_size_inches()

    class Scaled(PdfFile):
        """A page that is larger or smaller than what is drawn on it."""

        def beginStream(self, id: int, len: Any, extra: Any = None, png: Any = None) -> None:  # noqa: N802
            if extra is not None and "PatternType" in extra:  # hatches lie in the units of the page, not of the drawing
                extra = extra | {"Matrix": [factor, 0, 0, factor, 0, 72 * high * factor]}
            super().beginStream(id, len, extra, png)  # type: ignore[no-untyped-call]

    made = Scaled(file, metadata={"CreationDate": None})  # type: ignore[no-untyped-call]
    try:
        made.newPage(wide * factor, high * factor)  # type: ignore[no-untyped-call]
        made.width, made.height = wide, high  # lines are cut off at its edge
        made.output(factor, 0, 0, factor, 0, 0, Op.concat_matrix)  # type: ignore[no-untyped-call]
        renderer = MixedModeRenderer(figure, wide, high, dpi * factor, RendererPdf(made, dpi * factor, high, wide))  # type: ignore[no-untyped-call]
        figure.draw(renderer)  # type: ignore[arg-type]
        renderer.finalize()  # type: ignore[no-untyped-call]
        made.finalize()  # type: ignore[no-untyped-call]
    finally:
        made.close()  # type: ignore[no-untyped-call]
        figure.set_dpi(before)


_WRITERS = {"png": _write_png, "svg": _write_svg, "pdf": _write_pdf}
