"""Figures of a match: what moves where between two faces, and what each region adds to the distance.

Pictures are those the network saw. Every figure names gallery, model, grid and how was searched; plans have the query's
patches as rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from facelens.analyses import flow_picture, regions
from facelens.analyses.patch_sets import Grid
from facelens.analyses.plan import MatchPlan
from facelens.analyses.reranking import Explained
from facelens.figures.match_words import Blend, percent, plan_words, small, weights_title
from facelens.figures.page import HEAD, LINE, MARGIN, Page, elided, lines, mark, wide
from facelens.figures.scales import Array, rounded_up
from facelens.figures.style import FLOW, INK, style
from facelens.words import escaped, number, plural, tr

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HIGH, GAP = 1.95, 0.3  # inches of a picture, and between two of them
SMALL = 1.3  # inches of the faces that streams are drawn between
SUMS = 0.16  # inches of the sums beside the plan
CUT = 0.02  # share of a patch's mass; smaller streams are left out
MOST = 16  # streams that are drawn
TOLD = 0.1  # shares of a patch from here on are printed
DUST = 1e-6  # a share that is nothing but rounding
SPAN = 0.2  # of weights over their average: colours tell no smaller differences apart
OPACITY = 0.6  # of weights over a face
WIDEST, ALL = 4.0, 24.0  # points: the strongest stream, all of them together
APART = 0.7  # of the height of a patch: streams of a row leave at different heights

Picture = NDArray[np.uint8]
Patch = tuple[str, int]  # "query" or "gallery", and which


@dataclass(frozen=True, eq=False)
class Face:
    """One side of a match, as the network saw it."""

    picture: Picture
    name: str
    told: str = ""  # its rank, what is painted on it
    right: bool | None = None  # whether it is who is searched for; None: not known
    points: NDArray[np.floating] | None = None  # its five landmarks in the picture

    @property
    def size(self) -> tuple[int, int]:
        """Height, width."""
        return self.picture.shape[0], self.picture.shape[1]

    @property
    def words(self) -> str:
        """Who it is."""
        return ", ".join(filter(None, (escaped(self.name), self.told)))


@dataclass(frozen=True, eq=False)
class Match:
    """Two faces and why they match as they do."""

    found: Explained
    query: Face
    gallery: Face

    @property
    def grids(self) -> tuple[Grid, Grid]:
        """Of the query and of the gallery face."""
        return self.found.grid, self.found.gallery_grid


# What moves where


def draw_flow(
    match: Match, *, plan: MatchPlan, told: Sequence[str], cut: float = CUT, patch: Patch | None = None,
    shown: str = "flow",
) -> Figure:  # fmt: skip
    """Query, flow and gallery face over weights and plan, over the strongest streams, or those of one patch.

    `told` is of whom the figure speaks; streams with less than `cut` of the mass of their patch are left out.
    `shown` are the cells of the plan: "flow", "cost" or "distance".
    """
    found, query, gallery = match.found, match.query, match.gallery
    aspect = query.size[1] / query.size[0]
    high, lower = (room / max(1.0, aspect) for room in (HIGH, SMALL))
    column = high * aspect
    step, streams = column + GAP, strongest(found, cut=cut, patch=patch)
    width, foot = 2 * MARGIN + 3 * column + 2 * GAP, [*_caption(found, plan), *streams.told()]
    with style():
        page = Page(width, HEAD + 2 * (high + 0.24) + 0.42 + lower + 0.2 + LINE * len(lines(foot, width - 2 * MARGIN)))
        page.head(tr("Why two faces match: how patches move"), told)
        places, top = [MARGIN + i * step for i in range(3)], HEAD + 0.24
        below, last = top + high + 0.24, top + 2 * high + 0.66
        moved = flow_picture.moved(found.flow, gallery.picture, found.gallery_grid, found.grid, query.size)
        weighed = weights_title(plan.weights)
        heads = (
            (tr("Query"), query.words),
            (tr("Flow"), tr("gallery patches, moved")),
            (tr("Gallery"), gallery.words),
            (tr("Query weights"), weighed),
            ({"cost": tr("Cost"), "distance": tr("Distance")}.get(shown, tr("Whole plan")), tr("rows = query")),
            (tr("Gallery weights"), weighed),
        )
        for i, (title, aside) in enumerate(heads):
            _title(page, places[i % 3], (top, below)[i // 3] - 0.09, title, aside, column)
        size, limits = (column, high), weight_limits(found)
        cells(page, places[0], top, size, query.picture, found.grid)
        hatch_empty(cells(page, places[1], top, size, moved, found.grid), found.grid, found.u)
        axes = cells(page, places[2], top, size, gallery.picture, found.gallery_grid)
        if gallery.right is not None:
            mark(axes, gallery.right, x=1 - 0.09 / column, y=1 - 0.09 / high)
        for x, face, mass, grid in zip(places[::2], (query, gallery), (found.u, found.v), match.grids):
            axes = cells(page, x, below, size, face.picture, grid)
            warm(axes, mass, grid, limits)
            hatch_empty(axes, grid, mass)
            ends = number(limits[0], 2), tr("{times} × average", times=number(limits[1], 2))
            page.scale(x, below + high + 0.1, "", ends, "", width=0.6)
        _plan(page, places[1], below, size, found, shown)
        title, aside = _streams_title(match, streams), tr("{share} of the mass", share=percent(streams.carried))
        _title(page, places[0], last - 0.09, title, aside, 2 * column + GAP)
        _streams(page, places[0], last, (2 * column + GAP, lower), match, streams)
        _sum(page, places[2], last, column, Blend(found.emd, found.cosine, plan.alpha, genuine=gallery.right))
        page.foot(foot)
        return page.figure


def _caption(found: Explained, plan: MatchPlan) -> list[str]:
    blend = Blend(found.emd, found.cosine, plan.alpha)
    told = [
        *plan_words(plan, found.rounds),
        tr("EMD {value}", value=number(found.emd)),
        tr("cosine {value}", value=number(found.cosine)),
        tr("distance {value}", value=number(blend.distance)),
        tr("marginal error {error}", error=small(found.error)),
    ]
    if found.solver != "exact":
        told.append(tr("at most {gap} above the least", gap=number(found.gap, 3)))
    return [*told, tr("flow is bright where much moves")]


def _title(page: Page, x: float, down: float, title: str, aside: str, room: float) -> None:
    """A view's name at the left, what is said of it at the right."""
    page.text(x, down, title, size=7, fontweight="bold")
    left = room - wide(title, 7, bold=True) - 0.08
    if aside and left > 0.25:
        page.text(x + room, down, elided(aside, 6, left), size=6, ink="text3", ha="right")


def cells(page: Page, x: float, down: float, size: tuple[float, float], picture: Picture, grid: Grid) -> Axes:
    """A picture in whose axes a patch is one wide and one high, with hairlines between patches."""
    rows, columns = grid
    axes = page.axes(x, down, *size)
    axes.set_axis_off()
    axes.imshow(picture, extent=(0, columns, rows, 0), aspect="auto", interpolation="bilinear")
    axes.set(xlim=(0, columns), ylim=(rows, 0))
    look: dict[str, Any] = {"color": "#ffffff", "alpha": 0.13, "linewidth": 0.5, "zorder": 2.2}
    axes.hlines(range(1, rows), 0, columns, **look)
    axes.vlines(range(1, columns), 0, rows, **look)
    return axes


def weight_limits(*several: Explained) -> tuple[float, float]:
    """The one scale of the weights of both faces, in averages; of several pairs the same for all."""
    both = np.concatenate([mass * len(mass) for found in several for mass in (found.u, found.v)])
    low, high = float(both.min()), float(both.max())
    more = max(0.0, SPAN - (high - low)) / 2
    return low - more, high + more


def warm(axes: Axes, mass: Array, grid: Grid, limits: tuple[float, float]) -> None:
    """Weights over a face, in averages."""
    rows, columns = grid
    axes.imshow(
        (mass * len(mass)).reshape(grid), extent=(0, columns, rows, 0), aspect="auto", interpolation="bilinear",
        cmap="viridis", vmin=limits[0], vmax=limits[1], alpha=OPACITY, zorder=2,
    )  # fmt: skip


def hatch_empty(axes: Axes, grid: Grid, mass: Array) -> None:
    """Hatch patches without mass."""
    from matplotlib.patches import Rectangle

    for patch in np.flatnonzero(mass <= 0).tolist():
        row, column = divmod(patch, grid[1])
        axes.add_patch(
            Rectangle(
                (column, row), 1, 1, facecolor=(0, 0, 0, 0.35), edgecolor=(1, 1, 1, 0.28), hatch="/////", linewidth=0,
                zorder=3,
            )
        )  # fmt: skip


def _plan(page: Page, x: float, down: float, size: tuple[float, float], found: Explained, shown: str) -> None:
    """The plan as a matrix, with the sums of rows at its left and those of columns on top."""
    P, G = found.flow.shape
    across, high = size[0] - SUMS - 0.03, size[1] - SUMS - 0.03
    left, top = x + SUMS + 0.03, down + SUMS + 0.03
    axes = page.axes(left, top, across, high)
    axes.set_axis_off()
    values = {"cost": found.costs, "distance": found.distance}.get(shown, found.flow)
    least, most = float(values.min()) if shown == "distance" else 0.0, float(values.max())
    axes.imshow(values, aspect="auto", interpolation="nearest", cmap="viridis", vmin=least, vmax=most or 1.0)
    for mass, by_rows in ((found.u, True), (found.v, False)):
        for place in np.flatnonzero(mass <= 0).tolist():
            look: dict[str, Any] = {"facecolor": "none", "edgecolor": (1, 1, 1, 0.12), "hatch": "/////", "linewidth": 0}
            (axes.axhspan if by_rows else axes.axvspan)(place - 0.5, place + 0.5, **look)
    u, v = found.u * P, found.v * G  # in averages, so that grids of other sizes have bars of a like length
    longest = float(max(u.max(), v.max()))
    beside, above = page.axes(x, top, SUMS, high), page.axes(left, down, across, SUMS)
    beside.barh(np.arange(P), u, 0.8, color=INK["text2"], linewidth=0)
    beside.set(xlim=(longest, 0), ylim=(P - 0.5, -0.5))
    above.bar(np.arange(G), v, 0.8, color=INK["text2"], linewidth=0)
    above.set(xlim=(-0.5, G - 0.5), ylim=(0, longest))
    for one in (beside, above):
        one.set_axis_off()
    unit = {"cost": tr("{mass} cost"), "distance": tr("{mass} 1 − cos")}.get(shown, tr("{mass} mass"))
    page.scale(left, down + size[1] + 0.1, "", (_figures(least), unit.format(mass=_figures(most))), "", width=0.6)


def _figures(value: float) -> str:
    """A small share, in two figures."""
    return number(value, max(3, 1 - int(np.floor(np.log10(value))))) if value > 0 else "0"


# Streams


class Streams(NamedTuple):
    """The strongest streams of a plan, or of one of its patches, strongest first."""

    ends: NDArray[np.int64]  # (n, 2) patches of query and gallery
    mass: Array  # (n,)
    shares: Array  # (n,) of the mass of the patch
    of: int  # how many there are above the cut
    below: int  # and below it
    carried: float  # of the mass, by those that are drawn
    cut: float
    patch: Patch | None = None  # whose streams they are, if not of all

    def told(self) -> list[str]:
        """Which are drawn, and which are not."""
        told = [tr("width of a stream: its mass")]
        if len(self.mass) < self.of:
            drawn = tr("{n} of {of} streams are drawn", n=len(self.mass), of=self.of)
            told.append(tr("{drawn}: those with most mass, of equals the nearest", drawn=drawn))
        if self.below:
            hidden = plural(self.below, "{n} stream", "{n} streams")
            told.append(tr("{hidden} below {cut} of a patch left out", hidden=hidden, cut=percent(self.cut)))
        return told


def strongest(found: Explained, *, cut: float = CUT, patch: Patch | None = None, most: int = MOST) -> Streams:
    """Streams that carry at least `cut` of what their patch has, the first `most` by mass; of equals the nearest."""
    flow, axis = found.flow, 1
    if patch is not None:
        axis = 1 if patch[0] == "query" else 0
        flow = flow * (np.arange(flow.shape[1 - axis]) == patch[1]).reshape((-1, 1) if axis else (1, -1))
    whole = flow.sum(axis, keepdims=True)
    shares = flow / np.where(whole > 0, whole, 1.0)
    real = shares > DUST
    i, j = np.nonzero(real & (shares >= cut))
    best = np.lexsort((found.distance[i, j], -np.round(flow[i, j], 9)))[:most]
    i, j, of = i[best], j[best], len(i)
    carried = float(flow[i, j].sum() / max(flow.sum(), 1e-300))
    below = int(real.sum()) - of
    return Streams(np.stack([i, j], 1), flow[i, j], shares[i, j], of, below, carried, cut, patch)


def _streams_title(match: Match, streams: Streams) -> str:
    if streams.patch is None:
        return tr("Strongest streams")
    side, i = streams.patch
    face, grid = (match.query, match.grids[0]) if side == "query" else (match.gallery, match.grids[1])
    row, column = divmod(i, grid[1])
    where = {"row": row + 1, "column": column + 1}
    called = tr("Patch row {row}, column {column}", **where)
    if side == "gallery":
        called = tr("Gallery patch row {row}, column {column}", **where)
    return f"{called} ({regions.name_of(i, grid, face.points, face.size)})"


class _Side(NamedTuple):
    """A face beside the other one, in inches."""

    left: float
    wide: float
    high: float
    grid: Grid

    def cell(self, patch: int) -> tuple[float, float, float, float]:
        """Left, top, width, height."""
        row, column = divmod(patch, self.grid[1])
        wide, high = self.wide / self.grid[1], self.high / self.grid[0]
        return self.left + column * wide, row * high, wide, high

    def end(self, patch: int) -> tuple[float, float]:
        """Where a stream begins or ends: in the middle, in other columns at other heights."""
        left, top, wide, high = self.cell(patch)
        return left + wide / 2, top + high * (0.5 + APART * ((patch % self.grid[1] + 0.5) / self.grid[1] - 0.5))


def _streams(
    page: Page, x: float, down: float, size: tuple[float, float], match: Match, streams: Streams
) -> None:  # fmt: skip
    """Both faces with lines from patch to patch."""
    from matplotlib.patches import PathPatch, Rectangle
    from matplotlib.path import Path

    across, high = size
    axes = page.axes(x, down, across, high)
    axes.set_axis_off()
    sides = []
    for place, (face, grid) in enumerate(zip((match.query, match.gallery), match.grids)):
        breadth = high * face.size[1] / face.size[0]
        side = _Side(place * (across - breadth), breadth, high, grid)
        box = side.left, side.left + breadth, high, 0
        axes.imshow(face.picture, extent=box, aspect="auto", interpolation="bilinear", alpha=0.75)
        sides.append(side)
    axes.set(xlim=(0, across), ylim=(high, 0))
    total, top = float(streams.mass.sum()) or 1.0, float(streams.mass.max(initial=0)) or 1.0
    for mass, ends in reversed(list(zip(streams.mass.tolist(), streams.ends.tolist()))):
        width = max(0.6, min(WIDEST * mass / top, ALL * mass / total))
        (x0, y0), (x1, y1) = (side.end(end) for side, end in zip(sides, ends))
        bend = 0.42 * (x1 - x0)
        curve = Path([(x0, y0), (x0 + bend, y0), (x1 - bend, y1), (x1, y1)], [1, 4, 4, 4])
        for colour, more, strong in (("#000000", 1.0, 0.45), (FLOW, 0.0, 1.0)):
            axes.add_patch(
                PathPatch(
                    curve, facecolor="none", edgecolor=colour, alpha=strong, linewidth=width + more, zorder=4,
                    capstyle="round",
                )
            )  # fmt: skip
        for side, end in zip(sides, ends):
            left, up, wide, tall = side.cell(end)
            axes.add_patch(Rectangle((left, up), wide, tall, facecolor="none", edgecolor=FLOW, linewidth=0.9, zorder=3))
    if streams.patch is not None:
        other = 1 if streams.patch[0] == "query" else 0
        for share, ends in zip(streams.shares.tolist(), streams.ends.tolist()):
            if share >= TOLD:
                left, up, wide, tall = sides[other].cell(ends[other])
                axes.text(
                    left + wide / 2, up + tall / 2, percent(share), fontsize=5, color="#ffffff", ha="center",
                    va="center", zorder=6,
                    bbox={"boxstyle": "round,pad=0.2", "facecolor": (0, 0, 0, 0.78), "edgecolor": "none"},
                )  # fmt: skip


def _sum(page: Page, x: float, down: float, room: float, blend: Blend) -> None:
    """The distance, what the names say, and the sum it is."""
    page.text(x, down - 0.09, elided(blend.caption(), 6, room), size=6, ink="text3")
    page.text(x, down + 0.16, number(blend.distance), size=14, fontweight="bold")
    if blend.genuine is not None:
        at = x + wide(number(blend.distance), 14, bold=True) + 0.12
        mark(page.bare(at - 0.1, down + 0.06, 0.2, 0.2), blend.genuine, x=0.5, y=0.5)
        page.text(at + 0.11, down + 0.16, tr("same person") if blend.genuine else tr("another person"), size=6.5)
    for i, part in enumerate(blend.formula().split("  +  ")):
        page.text(x, down + 0.42 + 0.13 * i, f"+ {part}" if i else part, size=6.5, ink="text2")
    bar = page.bare(x, down + 0.68, room, 0.075)
    bar.axvspan(0, 1, color=INK["accent"], alpha=0.35, linewidth=0)
    bar.axvspan(0, blend.share, color=INK["accent"], linewidth=0)
    patches = round(100 * blend.share)
    page.text(x, down + 0.85, tr("patches {share} %", share=patches), size=6, ink="text3")
    page.text(x + room, down + 0.85, tr("whole face {share} %", share=100 - patches), size=6, ink="text3", ha="right")


# What regions add


def draw_regions(match: Match, other: Match | None = None, *, plan: MatchPlan, told: Sequence[str]) -> Figure:
    """What each region of the query adds to the EMD, beside the nearest face of the other kind."""
    line, left, right, width = 0.2, 0.85, 1.35, 4.9
    own = _ledger(match)
    theirs = None if other is None else _ledger(other)
    difference = None if theirs is None else own - theirs
    genuine = match.gallery.right
    blends = [Blend(one.found.emd, one.found.cosine, plan.alpha) for one in (match, other) if one is not None]
    key, nearest = tr("this face"), tr("nearest of the other kind")
    if genuine is not None:
        key = tr("this mate") if genuine else tr("this other")
        nearest = tr("nearest other") if genuine else tr("nearest mate")
    shown = [(match.gallery, key, blends[0]), (match.query, tr("query"), None)]
    if other is not None:
        shown.append((other.gallery, nearest, blends[1]))
    foot = [*plan_words(plan, match.found.rounds), tr("regions of the query, by its landmarks or the template")]
    foot.append(tr("EMD, lower is closer: the bars add up to it"))
    with style():
        head = HEAD + 0.06 + 0.95 + 0.42
        high = head + 0.3 + (len(own) + 1) * line + 0.42 + LINE * len(lines(foot, width - 2 * MARGIN))
        page = Page(width, high)
        page.head(tr("What each region adds to the distance"), told)
        _triple(page, HEAD + 0.06, shown)
        _key(page, head, left, key, nearest if theirs is not None else "", genuine)
        end = rounded_up(float(np.concatenate([own, *([theirs] if theirs is not None else [])]).max()))
        for region, value in enumerate(own.tolist()):
            down = head + 0.3 + (region + 0.5) * line
            page.text(MARGIN, down, regions.title(region), size=7, ink="text2")
            axes = page.bare(left, down - 0.05, width - left - right, 0.1)
            axes.axvspan(0, 1, color=INK["line"], linewidth=0)
            axes.axvspan(0, value / end, color=INK["accent"], linewidth=0, zorder=2)
            if theirs is not None:
                _tick(axes, float(theirs[region]) / end, genuine)
            _numbers(page, down, value, None if difference is None else float(difference[region]), genuine)
        down = head + 0.34 + (len(own) + 0.5) * line
        rule = page.bare(MARGIN, down - 0.1, width - 2 * MARGIN, 0.01)
        rule.axhline(0.5, color="#ababab", linewidth=0.7)
        page.text(MARGIN, down + 0.02, tr("sum"), size=7, fontweight="bold")
        gap = None if difference is None else float(difference.sum())
        _numbers(page, down + 0.02, float(own.sum()), gap, genuine, bold=True)
        if difference is not None:
            page.text(MARGIN, down + 0.24, regions.told(difference), size=7)
        page.foot(foot)
        return page.figure


def _ledger(match: Match) -> Array:
    query = match.query
    return regions.ledger(match.found, regions.shares(match.found.grid, query.points, query.size))


def _triple(page: Page, top: float, shown: Sequence[tuple[Face, str, Blend | None]]) -> None:
    """Faces side by side with who they are and how far they are from the query."""
    side, step = 0.95, (page.width - 2 * MARGIN + 0.2) / 3
    for i, (face, role, blend) in enumerate(shown):
        x, high = MARGIN + i * step, side * min(1.0, face.size[0] / face.size[1])
        axes = page.bare(x, top + side - high, high * face.size[1] / face.size[0], high)
        axes.imshow(face.picture, extent=(0, 1, 0, 1), aspect="auto", interpolation="bilinear")
        if blend is not None and face.right is not None:
            mark(axes, face.right, x=1 - 0.09 / side, y=1 - 0.09 / high)
        page.text(x, top + side + 0.1, role, size=6.5, ink="text3")
        if blend is not None:
            page.text(x + wide(role, 6.5) + 0.08, top + side + 0.1, number(blend.distance), size=6.5, fontweight="bold")
        page.text(x, top + side + 0.23, elided(face.words, 6, step - 0.2), size=6, ink="text2")


def _key(page: Page, top: float, left: float, key: str, nearest: str, genuine: bool | None) -> None:
    """What bars and ticks are."""
    page.text(MARGIN, top + 0.14, tr("EMD by region"), size=7, fontweight="bold")
    x = max(left, MARGIN + wide(tr("EMD by region"), 7, bold=True) + 0.2)
    page.bare(x, top + 0.11, 0.14, 0.06).axvspan(0, 1, color=INK["accent"], linewidth=0)
    page.text(x + 0.19, top + 0.14, key, size=6.5, ink="text2")
    if nearest:
        x += 0.19 + wide(key, 6.5) + 0.2
        _tick(page.bare(x, top + 0.09, 0.1, 0.1), 0.5, genuine)
        page.text(x + 0.14, top + 0.14, nearest, size=6.5, ink="text2")


def _tick(axes: Axes, x: float, genuine: bool | None) -> None:
    """The value of the other face across a bar."""
    ink = {True: "bad", False: "good", None: "text"}[genuine]
    for colour, width in (("base", 3.4), (ink, 1.6)):
        axes.plot(
            [x, x], [-0.3, 1.3], color=INK[colour], linewidth=width, solid_capstyle="butt", clip_on=False, zorder=3
        )  # fmt: skip


def _numbers(
    page: Page, down: float, value: float, difference: float | None, genuine: bool | None, *, bold: bool = False
) -> None:
    weight = "bold" if bold else "normal"
    page.text(page.width - 0.72, down, number(value), size=7, ha="right", fontweight=weight)
    if difference is not None:
        better = 0.0 if genuine is None else difference if genuine else -difference
        ink = "text3" if number(difference) == number(0) or not better else "good" if better < 0 else "bad"
        page.text(page.width - MARGIN, down, number(difference, sign=True), size=7, ink=ink, ha="right")
