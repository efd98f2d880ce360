"""How patches are weighed, each way beside the others: the weights over both faces, and the flow that comes of them.

After Phan, Nguyen, "DeepFace-EMD", CVPR 2022, figs S1 and S2. Each way to weigh has one scale of colours for all its
maps, with its limits: a few landmarks in one cell would leave nothing to see of the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from facelens.analyses import flow_picture
from facelens.analyses.plan import MatchPlan
from facelens.analyses.reranking import Explained
from facelens.errors import InputError
from facelens.figures.match_words import Blend, alpha_title, solver_words, weights_title
from facelens.figures.page import HEAD, LINE, MARGIN, Page, elided, lines, mark
from facelens.figures.style import style
from facelens.figures.transport import Face, Match, Picture, cells, hatch_empty, warm, weight_limits
from facelens.words import escaped, number, tr

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAP, SMALL = 1.25, 0.72  # inches of a face: of a flow, and of a sheet of weights
Weighed = Mapping[str, Match]  # by the way to weigh, of PATCH_WEIGHTS


def _size(face: Face, side: float) -> tuple[float, float]:
    """Width and height of a face whose longer side is so long."""
    high, wide = face.size
    return side * wide / max(high, wide), side * high / max(high, wide)


def _scale(page: Page, x: float, down: float, limits: tuple[float, float]) -> None:
    """The scale of one way to weigh, in averages."""
    page.scale(x, down, "", (number(limits[0], 2), tr("{times} ×", times=number(limits[1], 2))), "", width=0.45)


def _over(page: Page, x: float, top: float, size: tuple[float, float], face: Face, found: Explained, *, side: str,
          limits: tuple[float, float]) -> None:  # fmt: skip
    """A face with its weights."""
    mass, grid = (found.u, found.grid) if side == "query" else (found.v, found.gallery_grid)
    axes = cells(page, x, top, size, face.picture, grid)
    warm(axes, mass, grid, limits)
    hatch_empty(axes, grid, mass)


# The flow of each


def draw_flows(weighed: Weighed, *, plan: MatchPlan, told: Sequence[str]) -> Figure:
    """A row for each way to weigh: weights of the query, the query made of the other's patches, weights of that."""
    if not weighed:
        raise InputError(tr("No match is worked out yet."), hint=tr("Search for a face first."))
    first = next(iter(weighed.values()))
    query, gallery = first.query, first.gallery
    (wide, high), (other, tall) = _size(query, MAP), _size(gallery, MAP)
    row, names = max(high, tall) + 0.14, 1.02
    starts = [MARGIN + names, MARGIN + names + wide + 0.16, MARGIN + names + 2 * wide + 0.32]
    numbers = starts[2] + other + 0.16
    width = numbers + 1.2 + MARGIN
    foot = [
        alpha_title(plan.alpha), solver_words(plan.solver, plan.epsilon),
        tr("flow: gallery patches where most of the query's mass goes, bright where much moves"),
        tr("distances: lower is closer"), tr("weights in averages, bright = weighs more"), tr("hatched: no weight"),
    ]  # fmt: skip
    top = HEAD + 0.24
    with style():
        page = Page(width, top + len(weighed) * row + 0.14 + LINE * len(lines(foot, width - 2 * MARGIN)))
        page.head(tr("How weights change what moves where"), told)
        for x, room, head in zip(
            starts, (wide, wide, other), (query.words or tr("query"), tr("flow"), gallery.words or tr("gallery"))
        ):
            page.text(x + room / 2, HEAD + 0.1, elided(head, 6.5, room + 0.1), size=6.5, ink="text2", ha="center")
        for i, (kind, match) in enumerate(weighed.items()):
            down, found = top + i * row, match.found
            limits = weight_limits(found)
            name, bold = weights_title(kind), kind == plan.weights
            page.text(MARGIN, down + high / 2, name, size=8, fontweight="bold" if bold else "normal")
            _over(page, starts[0], down, (wide, high), query, found, side="query", limits=limits)
            moved = flow_picture.moved(found.flow, gallery.picture, found.gallery_grid, found.grid, query.size)
            hatch_empty(cells(page, starts[1], down, (wide, high), moved, found.grid), found.grid, found.u)
            _over(page, starts[2], down, (other, tall), gallery, found, side="gallery", limits=limits)
            _numbers(page, numbers, down + high / 2 - 0.1, found, plan)
            _scale(page, numbers, down + high / 2 + 0.26, limits)
        if gallery.right is not None:
            mark(page.bare(starts[2] + other - 0.14, top, 0.14, 0.14), gallery.right, x=0.5, y=0.5)
        page.foot(foot)
        return page.figure


def _numbers(page: Page, x: float, down: float, found: Explained, plan: MatchPlan) -> None:
    blend = Blend(found.emd, found.cosine, plan.alpha)
    page.text(x, down - 0.14, tr("EMD {value}", value=number(found.emd)), size=7)
    page.text(x, down, tr("cosine {value}", value=number(found.cosine)), size=6.5, ink="text3")
    page.text(x, down + 0.14, tr("distance {value}", value=number(blend.distance)), size=6.5, ink="text2")


# The weights of each, for several pictures of the query


def draw_weights(rows: Sequence[tuple[str, Weighed]], *, plan: MatchPlan, told: Sequence[str]) -> Figure:
    """A row for each way the query is painted: both faces as they are, and with the weights of each way to weigh."""
    rows = [(title, weighed) for title, weighed in rows if weighed]
    if not rows:
        raise InputError(tr("No match is worked out yet."), hint=tr("Search for a face first."))
    kinds = list(dict.fromkeys(kind for _, weighed in rows for kind in weighed))
    first = next(iter(rows[0][1].values()))
    (wide, high), (other, tall) = _size(first.query, SMALL), _size(first.gallery, SMALL)
    pair, names = wide + other + 0.04, 0.95
    row, step = max(high, tall) + 0.12, pair + 0.16
    width = 2 * MARGIN + names + (len(kinds) + 1) * step - 0.16
    width = max(width, 5.0)
    limits = {kind: weight_limits(*(one[kind].found for _, one in rows if kind in one)) for kind in kinds}
    foot = [
        tr("left of a pair: the query, {name}", name=escaped(first.query.name)),
        tr("right: the gallery face, {name}", name=escaped(first.gallery.name)),
        tr("weights in averages, bright = weighs more"),
        tr("hatched: no weight"),
    ]
    top = HEAD + 0.24
    with style():
        page = Page(width, top + len(rows) * row + 0.34 + LINE * len(lines(foot, width - 2 * MARGIN)))
        page.head(tr("How patches are weighed, each way beside the others"), told)
        places = [MARGIN + names + i * step for i in range(len(kinds) + 1)]
        for x, head in zip(places, (tr("faces"), *(weights_title(kind) for kind in kinds))):
            bold = "bold" if head == weights_title(plan.weights) else "normal"
            page.text(x + pair / 2, HEAD + 0.1, head, size=7, ink="text2", ha="center", fontweight=bold)
        for i, (title, weighed) in enumerate(rows):
            down = top + i * row
            page.text(MARGIN, down + high / 2, elided(title, 7, names - 0.08), size=7)
            some = next(iter(weighed.values()))
            for x, face, size in (
                (places[0], some.query, (wide, high)),
                (places[0] + wide + 0.04, some.gallery, (other, tall)),
            ):
                _plain(page, x, down, size, face.picture)
            for x, kind in zip(places[1:], kinds):
                if (match := weighed.get(kind)) is None:
                    page.text(x + pair / 2, down + high / 2, tr("n/a"), size=6.5, ink="text3", ha="center")
                    continue
                _over(page, x, down, (wide, high), match.query, match.found, side="query", limits=limits[kind])
                _over(
                    page,
                    x + wide + 0.04,
                    down,
                    (other, tall),
                    match.gallery,
                    match.found,
                    side="gallery",
                    limits=limits[kind],
                )
        for x, kind in zip(places[1:], kinds):
            _scale(page, x, top + len(rows) * row + 0.02, limits[kind])
        page.foot(foot)
        return page.figure


def _plain(page: Page, x: float, down: float, size: tuple[float, float], picture: Picture) -> None:
    axes = page.bare(x, down, *size)
    axes.imshow(picture, extent=(0, 1, 0, 1), aspect="auto", interpolation="bilinear")
