"""Figure of which places of a query make it like another face, by each way to tell, and whether one can believe it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from facelens.errors import InputError
from facelens.figures.page import HEAD, LINE, MARGIN, Page, elided, lines, mark
from facelens.figures.scales import Array
from facelens.figures.style import style
from facelens.figures.transport import GAP, OPACITY, Match, cells
from facelens.words import number, tr

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HIGH = 1.7  # inches of a picture


@dataclass(frozen=True, eq=False)
class Map:
    """How much each place of the query counts, and what its check says."""

    kind: str  # "occlusion" or "gradient"
    values: Array  # (rows, columns), below 0: the places count for nothing
    told: str
    sentence: str


def draw_saliency(match: Match, maps: Sequence[Map], *, told: Sequence[str]) -> Figure:
    """Query and gallery face, then the query under each map with its own scale, in averages of the map."""
    if not maps:
        raise InputError(
            tr("No saliency is worked out for this pair."), hint=tr("Choose Occlusion or Gradient over the query.")
        )
    names = {"occlusion": tr("Occlusion"), "gradient": tr("Gradient")}
    means = {
        "occlusion": tr("occlusion: how much the cosine falls when a place is covered"),
        "gradient": tr("gradient: how much the cosine changes with the pixels of a place"),
    }
    query, gallery = match.query, match.gallery
    shares = [_shares(one.values) for one in maps]
    wide = HIGH * query.size[1] / query.size[0]
    beside = HIGH * gallery.size[1] / gallery.size[0]
    width = max(2 * MARGIN + beside + GAP + (1 + len(maps)) * (wide + GAP) - GAP, 5.4)
    foot = [
        tr("bright = more of the likeness hangs on it"), *(means[one.kind] for one in maps),
        tr("what lowers it counts for nothing"),
        *(f"{names[one.kind]}: {one.sentence}".removesuffix(".") for one in maps),
    ]  # fmt: skip
    with style():
        page = Page(width, HEAD + 0.24 + HIGH + 0.34 + 0.2 + LINE * len(lines(foot, width - 2 * MARGIN)))
        page.head(tr("Which places make two faces alike"), [*told, tr("cosine {c}", c=number(match.found.cosine, 3))])
        top, x = HEAD + 0.24, MARGIN
        for face, title, across in ((gallery, tr("Gallery"), beside), (query, tr("Query"), wide)):
            axes = cells(page, x, top, (across, HIGH), face.picture, (1, 1))
            if face.right is not None:
                mark(axes, face.right, x=1 - 0.09 / across, y=1 - 0.09 / HIGH)
            page.text(x, top - 0.09, title, size=7, fontweight="bold")
            page.text(x, top + HIGH + 0.1, elided(face.words, 6, across), size=6, ink="text2")
            x += across + GAP
        for one, values in zip(maps, shares):
            rows, columns = values.shape
            most = float(values.max()) or 1.0
            axes = cells(page, x, top, (wide, HIGH), query.picture, (rows, columns))
            axes.imshow(
                values, extent=(0, columns, rows, 0), aspect="auto", interpolation="bilinear", cmap="viridis",
                vmin=0.0, vmax=most, alpha=OPACITY, zorder=2,
            )  # fmt: skip
            page.text(x, top - 0.09, names[one.kind], size=7, fontweight="bold")
            page.text(x, top + HIGH + 0.1, elided(one.told, 6, wide), size=6, ink="text2")
            ends = "0", tr("{times} × average", times=number(most, 1))
            page.scale(x, top + HIGH + 0.25, "", ends, "", width=0.6)
            x += wide + GAP
        page.foot(foot)
        return page.figure


def _shares(values: Array) -> Array:
    """What counts, in averages."""
    counted = np.maximum(np.nan_to_num(values), 0.0)
    total = float(counted.sum())
    return counted * (counted.size / total) if total > 0 else counted
