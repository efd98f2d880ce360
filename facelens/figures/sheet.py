"""A contact sheet: faces in rows with their names, for a paper or a note."""

from __future__ import annotations

import io
import logging
import math
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from facelens.errors import InputError
from facelens.figures.fonts import lacking, lent
from facelens.figures.page import elided, wide
from facelens.figures.style import INK, style
from facelens.files import atomic_write
from facelens.images import decode
from facelens.images.faceset import FaceSet, Labels, Rows
from facelens.progress import Tick, silent
from facelens.words import escaped, number, plural, tr

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST = 400  # faces on one sheet; more would be a wall nobody reads
CELL, TOP, SIDE = (0.86, 1.04), 0.34, 0.1  # inches: of a face, of the title, at the edges
NAMED = 3.2  # inches that a title may take over fewer faces than are as wide
HEADING, APART, BELOW = 0.2, 0.2, 0.1  # inches: over the faces of a group, beside and under them
FORMATS = ("png", "svg", "pdf")
MOST_PIXELS = 120_000_000
BOXES = "Warning"  # the text of a PNG that names scripts whose letters are boxes


@dataclass(frozen=True, eq=False)
class Section:
    """Faces under one heading, and where it begins: inches from the left and from the top."""

    heading: str
    rows: Rows
    x: float = 0.0
    down: float = 0.0


def contact_sheet(
    faces: FaceSet,
    rows: Rows,
    *,
    value: str = "",
    group: str = "",
    columns: int = 0,
    caption: str = "",
    pixels: int = 112,
    total: int = 0,
    tick: Tick = silent,
) -> Figure:
    """Draw the faces at `rows` in that order; `value` is a column whose number stands under each face.

    `group` is a column whose names become headings, each with its faces under it. A picture that cannot be read is
    drawn as an empty, named place: the sheet never silently leaves one out. More than `MOST` faces are cut, and the
    caption says so; `total` is how many there were, where `rows` have been cut before.
    """
    from matplotlib.figure import Figure

    if not len(rows):
        raise InputError(tr("A contact sheet needs at least one face."), hint=tr("Select some faces first."))
    total, rows = max(total, len(rows)), rows[:MOST]
    sections = _sections(faces, rows, group)
    across = columns or _columns(len(rows), grouped=len(sections) > 1)
    placed, room, low = _placed(sections, across)
    with style():
        title = caption or faces.name
        counted = (
            plural(total, "{n} face", "{n} faces")
            if total == len(rows)
            else tr("first {n} of {total} faces", n=len(rows), total=total)
        )
        if placed[0].heading:
            counted = tr("{faces} by {column}", faces=counted, column=escaped(group))
        told = wide(title, 9, bold=True) + 0.2 + wide(counted, 7)  # beside each other, over a single face too
        width, height = max(room, 2.4 if group else 0.0, min(told, NAMED)) + 2 * SIDE, low + TOP + SIDE
        title = elided(title, 9, width - 2 * SIDE - wide(counted, 7) - 0.2, bold=True)
        figure = Figure(figsize=(width, height))
        figure.text(SIDE / width, 1 - 0.2 / height, title, fontsize=9, fontweight="bold", va="center")
        figure.text(
            1 - SIDE / width, 1 - 0.2 / height, counted, color=INK["text3"], fontsize=7, ha="right", va="center"
        )
        numbers, done = faces.columns.get(value), 0
        for one in placed:
            if one.heading:
                _heading(figure, one, across)
            for i, row in enumerate(one.rows.tolist()):
                tick(done, len(rows), tr("Drawing"))
                done += 1
                x = SIDE + one.x + (i % across) * CELL[0]
                down = TOP + one.down + (HEADING if one.heading else 0) + (i // across) * CELL[1]
                _cell(figure, (x, down), faces, row, numbers if isinstance(numbers, np.ndarray) else None, pixels)
        tick(len(rows), len(rows), "")
    return figure


def _sections(faces: FaceSet, rows: Rows, group: str) -> list[Section]:
    """The faces under the names of a column, in the order in which these come; under no heading where there is none."""
    column = faces.values(group) if group == "identity" or group in faces.columns else None
    if not isinstance(column, Labels):
        return [Section("", rows)]
    codes = column.codes[rows]
    made = []
    for code in dict.fromkeys(codes.tolist()):
        name = escaped(column.names[code]).replace("_", " ") if code >= 0 else tr("none")
        made.append(Section(name, rows[codes == code]))
    return made


def _columns(n: int, *, grouped: bool) -> int:
    """How many faces stand beside each other; headings make a sheet higher, so it is wider."""
    return min(n, max(4, math.ceil(math.sqrt(n * (2.4 if grouped else 1.6)))))


def _placed(sections: Sequence[Section], across: int) -> tuple[list[Section], float, float]:
    """The sections in their places, how wide and how high they are: small ones stand beside each other."""
    made: list[Section] = []
    heading = HEADING if sections[0].heading else 0.0
    line, x, down, widest = 0.0, 0.0, 0.0, 0.0  # how high the line is that is being filled
    for one in sections:
        n = len(one.rows)
        long = min(n, across) * CELL[0]
        if x and x + long > across * CELL[0] + 0.001:
            x, down, line = 0.0, down + line + BELOW, 0.0
        made.append(replace(one, x=x, down=down))
        line = max(line, heading + math.ceil(n / across) * CELL[1])
        widest, x = max(widest, x + long), x + long + APART
        if n > across:
            x = math.inf  # beside several rows there is no place for another heading
    return made, widest, down + line


def _heading(figure: Figure, section: Section, across: int) -> None:
    """The name, and how many are under it; all over its own faces."""
    width, height = figure.get_size_inches()
    n, room = f"{len(section.rows):,}", min(len(section.rows), across) * CELL[0] - 0.06
    name = elided(section.heading, 7, room - wide(n, 6) - 0.07, bold=True)
    y = 1 - (TOP + section.down + 0.1) / height
    figure.text((SIDE + section.x) / width, y, name, fontsize=7, fontweight="bold", va="center")
    after = SIDE + section.x + wide(name, 7, bold=True) + 0.06
    figure.text(after / width, y, n, fontsize=6, color=INK["text3"], va="center")


def _cell(
    figure: Figure, corner: tuple[float, float], faces: FaceSet, row: int, numbers: NDArray[Any] | None, pixels: int
) -> None:
    """A face with its name under it, and its number where there are some; `corner` is its upper left one."""
    width, height = figure.get_size_inches()
    x, y = corner[0], height - corner[1] - CELL[1]
    axes = figure.add_axes((x / width, (y + 0.2) / height, (CELL[0] - 0.06) / width, (CELL[1] - 0.22) / height))
    axes.set_axis_off()
    try:
        axes.imshow(decode.thumbnail_face(faces, row, pixels), aspect="equal", interpolation="antialiased")
    except InputError:
        axes.imshow(np.full((1, 1, 3), 230, np.uint8))
        how: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 5, "color": INK["text3"]}
        axes.text(0.5, 0.5, tr("not readable"), transform=axes.transAxes, **how)
    y = (y + 0.12) / height
    shown = _cut(faces.label(row), 11 if numbers is not None else 16)
    if lacking(shown):  # letters may be twice as wide
        shown = elided(shown, 5.4, CELL[0] - (0.36 if numbers is not None else 0.06))
    figure.text(x / width, y, shown, fontsize=5.4, color=INK["text2"], va="center")
    if numbers is not None:
        told = number(float(numbers[row])) if numbers[row] == numbers[row] else tr("n/a")
        x = (x + CELL[0] - 0.06) / width
        figure.text(x, y, told, fontsize=5.4, color=INK["text3"], ha="right", va="center")


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
    across, high = figure.get_size_inches()
    factor = paper.width / float(across) if paper.width is not None else 1.0
    if kind == "png" and across * high * (paper.dpi * factor) ** 2 > MOST_PIXELS:
        pixels = tuple(int(side * paper.dpi * factor) for side in (across, high))
        message = tr("A picture of {w} × {h} pixels is too large.", w=pixels[0], h=pixels[1])
        raise InputError(message, hint=tr("Take a smaller width or fewer dots per inch, or SVG or PDF."))
    logging.getLogger("fontTools").setLevel(logging.WARNING)  # a PDF's fonts are packed with a line of log a table
    with style(), atomic_write(out) as file, warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"Glyph \d+ .* missing", UserWarning)  # which is told by script, see `lent`
        if kind == "svg":
            _write_svg(figure, file, paper.dpi, factor)
            return out
        with lent(figure) as boxes:
            if kind == "pdf":
                _write_pdf(figure, file, paper.dpi, factor)
            else:
                _write_png(figure, file, paper.dpi, factor, boxes)
    return out


def _write_png(figure: Figure, file: IO[bytes], dpi: int, factor: float, boxes: Sequence[str]) -> None:
    """`boxes` are scripts of which no letter could be drawn: the picture tells them to who looks at it."""
    told = {BOXES: ", ".join(boxes)} if boxes else {}
    figure.savefig(file, format="png", dpi=dpi * factor, metadata={"Software": "FaceLens", **told})


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
    across, high = figure.get_size_inches()

    class Scaled(PdfFile):
        """A page that is larger or smaller than what is drawn on it."""

        def beginStream(self, id: int, len: Any, extra: Any = None, png: Any = None) -> None:  # noqa: N802
            if extra is not None and "PatternType" in extra:  # hatches lie in the units of the page, not of the drawing
                extra = extra | {"Matrix": [factor, 0, 0, factor, 0, 72 * high * factor]}
            super().beginStream(id, len, extra, png)  # type: ignore[no-untyped-call]

    made = Scaled(file, metadata={"CreationDate": None})  # type: ignore[no-untyped-call]
    try:
        made.newPage(across * factor, high * factor)  # type: ignore[no-untyped-call]
        made.width, made.height = across, high  # lines are cut off at its edge
        made.output(factor, 0, 0, factor, 0, 0, Op.concat_matrix)  # type: ignore[no-untyped-call]
        renderer = MixedModeRenderer(figure, across, high, dpi * factor, RendererPdf(made, dpi * factor, high, across))  # type: ignore[no-untyped-call]
        figure.draw(renderer)  # type: ignore[arg-type]
        renderer.finalize()  # type: ignore[no-untyped-call]
        made.finalize()  # type: ignore[no-untyped-call]
    finally:
        made.close()  # type: ignore[no-untyped-call]
        figure.set_dpi(before)
