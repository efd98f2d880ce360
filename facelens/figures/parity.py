"""Two forms of a model: how far their vectors are apart, with the line to pass, and the pictures that differ most."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from facelens.errors import InputError
from facelens.features.parity import Parity
from facelens.figures.page import HEAD, LINE, MARGIN, Page, elided, lines
from facelens.figures.scales import ticks
from facelens.figures.style import INK, style
from facelens.images.faceset import FaceSet
from facelens.progress import Tick, silent
from facelens.words import escaped, plural, tr

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH, TALL, SIDE = 5.4, 1.6, 0.86  # inches: the page, the chart, a face
WORST = 5  # faces


def pass_words(found: Parity) -> str:
    """What has to be reached."""
    return tr(
        "Passes when every cosine is at least {least} and their mean at least {mean}.",
        least=found.least,
        mean=found.mean,
    )


def draw_forms(faces: FaceSet, found: Parity, *, tick: Tick = silent) -> Figure:
    """The histogram of 1 − cosine with the pass line, and the faces that differ most."""
    if not len(found.cosines):
        raise InputError(found.sentence(), hint=tr("Run the doctor on this gallery."))
    room = WIDTH - 2 * MARGIN
    verdict, foot = lines([found.sentence()], room, size=7), [pass_words(found)]
    if found.skipped:
        foot.append(plural(len(found.skipped), "{n} picture could not be read", "{n} pictures could not be read"))
    known = dict(zip(found.ids.tolist(), found.cosines.tolist(), strict=True))
    worst = [(row, known[face]) for face in found.worst(WORST).tolist() if (row := faces.row_of(face)) is not None]
    top = HEAD + LINE * len(verdict) + 0.16
    below = top + TALL + 0.5
    with style():
        page = Page(WIDTH, below + (SIDE + 0.42 if worst else 0) + 0.1 + LINE * len(lines(foot, room)))
        names = tr("{a} and {b}", a=found.names[0], b=found.names[1])
        pictures = plural(len(found.cosines), "N = {n} picture", "N = {n} pictures")
        page.head(tr("Two forms of a model"), [names, escaped(faces.name), pictures])
        for i, line in enumerate(verdict):
            page.text(MARGIN, HEAD + i * LINE, line, size=7, ink="good" if found.passed else "bad")
        _histogram(page, found, top)
        if worst:
            page.text(MARGIN, below + 0.02, tr("Pictures that differ most, cosine ↑ closer"), size=7, ink="text2")
        for i, (row, cosine) in enumerate(worst):
            tick(i, len(worst), tr("Drawing"))
            x, down = MARGIN + i * (SIDE + 0.1), below + 0.12
            page.face(x, down, SIDE, faces, row)
            said = tr("no vector") if math.isnan(cosine) else f"{cosine:.5f}"
            page.text(x, down + SIDE + 0.08, said, size=6.5)
            page.text(x, down + SIDE + 0.2, elided(faces.label(row), 5.6, SIDE), size=5.6, ink="text3")
        page.foot(foot)
        tick(len(worst), len(worst))
        return page.figure


def _histogram(page: Page, found: Parity, top: float) -> None:
    counts, edges = found.histogram()
    at, line = np.log10(edges), math.log10(1 - found.least)
    page.text(MARGIN, top + 0.02, tr("pictures per bin"), size=7, ink="text2")
    axes = page.axes(MARGIN + 0.36, top + 0.14, WIDTH - 2 * MARGIN - 0.4, TALL - 0.14)
    high = max(int(counts.max()), 1)
    axes.set(xlim=(at[0], at[-1]), ylim=(0, 1.22 * high))
    axes.stairs(counts, at, fill=True, color=INK["accent"], alpha=0.27, linewidth=0, zorder=2)
    axes.stairs(np.where(counts > 0, counts, np.nan), at, color=INK["accent"], linewidth=1.1, zorder=3)
    marks = ticks("log", float(at[0]), float(at[-1]), room=6)
    axes.set_xticks([place for place, _ in marks], [text for _, text in marks])
    whole = [one for one in ticks("linear", 0.0, 1.22 * high, room=4) if float(one[0]).is_integer()]
    axes.set_yticks([place for place, _ in whole], [f"{int(place):,}" for place, _ in whole])
    axes.tick_params(axis="y", labelsize=6, length=0, pad=3)
    axes.tick_params(axis="x", labelsize=6, length=2, pad=2)
    axes.set_axisbelow(True)
    axes.grid(True, axis="y", color=INK["text"], alpha=0.09, linewidth=0.7)
    axes.axvline(line, color=INK["text"], linewidth=1.2, zorder=4)
    said = tr("pass line {least}", least=found.least)
    axes.text(line - 0.06, 1.19 * high, said, fontsize=6.5, fontweight="bold", ha="right", va="top", color=INK["text"])
    across = tr("1 − cosine (log), lower is closer")
    page.text(WIDTH - MARGIN, top + TALL + 0.28, across, size=7, ink="text2", ha="right")
