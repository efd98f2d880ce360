"""A map of faces: a dot for each; of two models side by side, with a line from where a face was to where it is.

Very many dots and lines are pictures inside the file, so that it opens; words stay words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from facelens.analyses.flips import GAINED, LOST, SAME, UNSEARCHED
from facelens.analyses.nearest import Links
from facelens.analyses.projection import NAMES, Projection
from facelens.errors import InputError
from facelens.figures import hues
from facelens.figures.page import HEAD, LINE, MARGIN, Page, elided, lines, name_places, wide
from facelens.figures.projection_words import moved_as, sentence, title
from facelens.figures.style import INK, style
from facelens.images.faceset import FaceSet, Ids, Labels
from facelens.words import escaped, number, plural, tr

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ONE, TWO, GAP = 5.2, 3.3, 0.2  # inches: side of a map, of each of two, and between them
GROUND = "#f6f6f6"
MANY = 5_000  # dots or lines that become a picture
MOST_LINES = 50_000  # of more, some stand for all
LISTED = 10  # names in the legend
TOLD_APART = 12  # names with hues of their own
NAMED = 8  # people in focus or selected up to which they are named
GREY = "#9a9a9a"
LINKS = {None: ("-", "text2"), True: ("-", "good"), False: ("--", "bad")}  # to the nearest, by whether it is right
LINES = ("-", "--")  # marks that are lines
MARKS = {  # in order of drawing; a space behind a mark: only its outline
    UNSEARCHED: ("o ", GREY, 0.7),
    SAME: ("o", GREY, 0.7),
    GAINED: ("^", INK["good"], 1.5),
    LOST: ("v", INK["bad"], 1.5),
}

Floats = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Look:
    """What dots say: by `by` (identity, a column, "moved", "change"; "": nothing), with what else is needed for it."""

    by: str = "identity"
    change: NDArray[np.int8] | None = None  # (N,) of flips.LOST, SAME, GAINED, UNSEARCHED, in the order of the map
    values: Floats | None = None  # (N,) numbers that are not a column, and what they are called
    values_title: str = ""
    shape: str = ""  # a column that tells augmented pictures
    augmented: frozenset[str] = frozenset()
    focus: frozenset[str] = frozenset()  # people who alone have colours
    selection: Ids | None = None


def draw_map(faces: FaceSet, found: Projection, look: Look | None = None, links: Sequence[Links] = ()) -> Figure:
    """The map as a figure in the light theme; `links` from one face to its nearest, by each model that is on it."""
    look = look or Look()
    if not len(found):
        raise InputError(tr("There are no faces on the map."), hint=tr("Embed the gallery first."))
    rows = faces.rows_of(found.ids)
    if len(rows) != len(found):
        raise InputError(tr("The map is of other faces."), hint=tr("Lay out the open gallery first."))
    shades, legend, scale = _colours(faces, rows, found, look)
    legend += _linked(links)
    two = found.other is not None
    side, count = (TWO, 2) if two else (ONE, 1)
    width = 2 * MARGIN + count * side + (count - 1) * GAP
    foot = [sentence(found), *(one for one in found.notes if one != found.agreement)]
    if two:
        foot.append(tr("lines lead to where the same face is in the other map"))
    foot += _near(faces, found, links)
    room = width - 2 * MARGIN
    entries = _rows(legend, room)
    below = 0.2 * (len(entries) + (scale is not None)) + 0.1
    with style():
        page = Page(width, HEAD + side + (0.2 if two else 0) + below + LINE * len(lines(foot, room)) + 0.12)
        page.head(title(found.plan, found.drawn), [escaped(faces.name), _counted(found, faces, rows)])
        top = HEAD + (0.2 if two else 0)
        sides = [(found.points, found.other)] if not two else [(found.points, found.other), (found.other, found.points)]
        box = _box(found)
        for place, (points, other) in enumerate(sides):
            left = MARGIN + place * (side + GAP)
            if two:
                name, ink = ((found.plan.model, "A"), (found.plan.other, "B"))[place]
                said = tr("Old  {name}", name=escaped(name)) if not place else tr("New  {name}", name=escaped(name))
                page.text(left, HEAD + 0.06, elided(said, 8, side, bold=True), size=8, ink=ink, fontweight="bold")
            axes = page.axes(left, top, side, side)
            axes.set(xlim=box[0], ylim=box[1], xticks=[], yticks=[], facecolor=GROUND)
            axes.spines[:].set_visible(False)
            if points is None:
                continue
            if other is not None:
                _ways(axes, points, other, shades, look)
            _dots(axes, points, shades, faces, rows, look, side)
            if place < len(links) and len(links[place].pairs):
                _links(axes, points, found.ids, links[place])
            _names(axes, points, faces, rows, found, look)
        down = top + side + 0.12
        for line in entries:
            _entries(page, line, down)
            down += 0.2
        if scale is not None:
            page.scale(MARGIN, down, scale[0], scale[1], scale[2])
        page.foot(foot)
        return page.figure


def draw_side_by_side(faces: FaceSet, sides: Sequence[Projection], look: Look | None = None) -> Figure:
    """Maps of several models beside each other, each laid out by itself, so that places on two of them do not compare.

    After Shi et al., "Towards Universal Representation Learning", CVPR 2020, supplement, fig. 4: colours are people,
    discs original and triangles augmented pictures.
    """
    look = look or Look()
    if look.by in ("moved", "change") or look.values is not None:  # which only a map of two models together has
        look = replace(look, by="identity", change=None, values=None, values_title="")
    sides = [one for one in sides if len(one)]
    if not sides:
        raise InputError(tr("There are no faces on the map."), hint=tr("Embed the gallery first."))
    width = 2 * MARGIN + len(sides) * TWO + (len(sides) - 1) * GAP
    room, rows = width - 2 * MARGIN, [faces.rows_of(one.ids) for one in sides]
    if any(len(some) != len(one) for some, one in zip(rows, sides)):
        raise InputError(tr("The map is of other faces."), hint=tr("Lay out the open gallery first."))
    shades = [_colours(faces, some, one, look) for some, one in zip(rows, sides)]
    _, legend, scale = shades[0]
    foot = [tr("each model is laid out by itself: places on two maps do not compare"), *_made(sides)]
    foot += dict.fromkeys(note for one in sides for note in one.notes)
    entries = _rows(legend, room)
    below = 0.2 * (len(entries) + (scale is not None)) + 0.1
    with style():
        page = Page(width, HEAD + 0.34 + TWO + below + LINE * len(lines(foot, room)) + 0.12)
        names = tr(" and ").join(escaped(one.plan.model) for one in sides)
        title_ = tr("{method} of {names}, side by side", method=NAMES[sides[0].drawn], names=names)
        page.head(title_, [escaped(faces.name), _counted(sides[0], faces, rows[0])])
        top = HEAD + 0.34
        for i, (one, some, (colours, _, _)) in enumerate(zip(sides, rows, shades)):
            left = MARGIN + i * (TWO + GAP)
            said = f"({'abcdef'[i]}) {escaped(one.plan.model)}" if len(sides) > 1 else escaped(one.plan.model)
            page.text(left, HEAD + 0.08, elided(said, 8, TWO, bold=True), size=8, fontweight="bold")
            page.text(left, HEAD + 0.23, _kept(one), size=6.5, ink="text3")
            axes, box = page.axes(left, top, TWO, TWO), _box(one)
            axes.set(xlim=box[0], ylim=box[1], xticks=[], yticks=[], facecolor=GROUND)
            axes.spines[:].set_visible(False)
            _dots(axes, one.points, colours, faces, some, look, TWO)
            _names(axes, one.points, faces, some, one, look)
        down = top + TWO + 0.12
        for line in entries:
            _entries(page, line, down)
            down += 0.2
        if scale is not None:
            page.scale(MARGIN, down, scale[0], scale[1], scale[2])
        page.foot(foot)
        return page.figure


def _kept(one: Projection) -> str:
    """How far the map can be trusted, and of how many faces it is."""
    told = [plural(len(one), "N = {n} face", "N = {n} faces")]
    if one.final and one.quality.value is not None:
        told.append(tr("trustworthiness {value}", value=number(one.quality.value, 2)))
    return " · ".join(told)


def _made(sides: Sequence[Projection]) -> list[str]:
    """How the maps were made, once."""
    plan, drawn = sides[0].plan, sides[0].drawn
    if drawn == "pca":
        return [tr("two principal components of each")]
    more = {"umap": tr("{n} neighbours", n=plan.neighbours), "tsne": tr("perplexity {n}", n=int(plan.perplexity))}
    return [tr(plan.metric), more[drawn], tr("seed {n}", n=plan.seed)]


Entry = tuple[str, str, str]  # mark, colour, words
Scale = tuple[str, tuple[str, str], str]


def _colours(
    faces: FaceSet, rows: NDArray[np.int64], found: Projection, look: Look
) -> tuple[Floats, list[Entry], Scale | None]:
    """(N, 3) the colour of each dot, what the legend says, and a scale of numbers."""
    n, entries, scale = len(found), list[Entry](), None
    grey = np.tile(_rgb(GREY), (n, 1))
    values, name = look.values, look.values_title
    if look.by == "moved" and found.moved is not None:
        values, name = found.moved, tr("moved: {what}", what=moved_as(found))
    column = faces.columns.get(look.by)
    if look.change is not None and look.by == "change":
        words = {GAINED: tr("gained"), LOST: tr("lost"), SAME: tr("same"), UNSEARCHED: tr("not searched")}
        for kind in words:
            mark, ink, _ = MARKS[kind]
            if kind == UNSEARCHED and not (look.change == kind).any():
                continue
            entries.append((mark, ink, f"{words[kind]} {int((look.change == kind).sum()):,}"))
            grey[look.change == kind] = _rgb(ink)
        shades = grey
    elif values is None and look.by == "identity":
        shades, entries = _people(faces, rows, look)
    elif values is None and isinstance(column, Labels):
        shades, entries = _named(column, rows)
    elif values is not None or column is not None:
        shades, scale = _numbers(values if values is not None else np.asarray(column)[rows], name or escaped(look.by))
    else:
        shades = grey
    if isinstance(faces.columns.get(look.shape), Labels) and look.change is None:
        entries += [("o", INK["text2"], tr("original")), ("^ ", INK["text2"], tr("augmented"))]
    return shades, entries, scale


def _people(faces: FaceSet, rows: NDArray[np.int64], look: Look) -> tuple[Floats, list[Entry]]:
    codes, names = faces.identity.codes[rows], faces.identity.names
    palette, entries = hues.people(names), list[Entry]()
    if look.focus:
        listed = np.array([name in look.focus for name in names], bool)
        palette[~listed] = _rgb("#cfcfcf")
        for code in np.flatnonzero(listed).tolist()[:LISTED]:
            n = int((codes == code).sum())
            entries.append(("o", _hex(palette[code]), f"{escaped(names[code]).replace('_', ' ')} {n:,}"))
    else:
        n = len(np.unique(codes[codes >= 0]))
        entries.append(("", INK["text3"], plural(n, "{n} person, a colour for each", "{n} people, a colour for each")))
    return np.vstack([palette, _rgb(GREY)])[codes], entries


def _named(column: Labels, rows: NDArray[np.int64]) -> tuple[Floats, list[Entry]]:
    codes, names = column.codes[rows], column.names
    counts = np.bincount(codes[codes >= 0], minlength=len(names))
    there = [code for code in np.argsort(-counts, kind="stable").tolist() if counts[code]]
    if len(there) > TOLD_APART:
        palette = hues.people(names)
    else:
        palette = np.zeros((len(names), 3), np.float32)
        for place, code in enumerate(sorted(there)):
            palette[code] = hues.distinct(place, len(there))
    entries = [("o", _hex(palette[code]), f"{escaped(names[code])} {counts[code]:,}") for code in there[:LISTED]]
    if rest := there[LISTED:]:
        entries.append(("", INK["text3"], tr("{n} others", n=len(rest))))
    return np.vstack([palette, _rgb(GREY)])[codes], entries


def _numbers(values: NDArray[Any], name: str) -> tuple[Floats, Scale]:
    from matplotlib import colormaps

    known = np.asarray(values, np.float64)
    fine = np.isfinite(known)
    low, high = np.percentile(known[fine], (1, 99)) if fine.any() else (0.0, 1.0)
    if not high > low:
        low, high = low - 0.5, high + 0.5
    shades = colormaps["viridis"](np.clip((np.where(fine, known, low) - low) / (high - low), 0, 1))[:, :3]
    shades[~fine] = _rgb(GREY)
    return shades.astype(np.float32), (name, (number(float(low), 2), number(float(high), 2)), tr("bright = higher"))


def _box(found: Projection) -> tuple[tuple[float, float], tuple[float, float]]:
    """Limits of both maps: one scale for both directions, everything in sight."""
    points = found.points if found.other is None else np.concatenate([found.points, found.other])
    low, high = points.min(0), points.max(0)
    middle, half = (low + high) / 2, float(max(np.ptp(points, axis=0).max(), 1e-6)) * 0.54
    across, up = ((float(value - half), float(value + half)) for value in middle)
    return across, up


def _dots(
    axes: Axes, points: Floats, shades: Floats, faces: FaceSet, rows: NDArray[np.int64], look: Look, side: float
) -> None:
    n = len(points)
    area = max(0.6, min(9.0, 30_000 / max(n, 1))) * (1.0 if side == ONE else (TWO / ONE) ** 2)
    how: dict[str, Any] = {"linewidths": 0, "rasterized": n > MANY, "zorder": 3}
    alpha = 0.9 if n <= MANY else 0.5
    if look.change is not None and look.by == "change":
        for kind, (mark, ink, large) in MARKS.items():
            some = look.change == kind
            if not some.any():
                continue
            quiet = kind in (SAME, UNSEARCHED)
            size, ink_alpha = (area * large, alpha) if quiet else (max(area, 6) * large, 0.95)
            x, y = points[some].T
            if mark.endswith(" "):
                hollow = {"linewidths": 0.5, "facecolors": "none", "edgecolors": ink}
                axes.scatter(x, y, s=size, marker=mark.strip(), alpha=ink_alpha, **how | hollow)
            else:
                axes.scatter(x, y, s=size, c=ink, marker=mark, alpha=ink_alpha, **how)
        return
    order = np.random.default_rng(0).permutation(n)  # so that no kind of face lies over all others
    front = np.isin(rows, np.flatnonzero(_in_focus(faces, look))) if look.focus else np.zeros(n, bool)
    order = order[np.argsort(front[order], kind="stable")]
    column = faces.columns.get(look.shape)
    outline = np.zeros(n, bool)
    if isinstance(column, Labels):
        outline = np.array([*(name in look.augmented for name in column.names), False])[column.codes[rows]]
    plain, drawn = order[~outline[order]], order[outline[order]]
    x, y = points[plain].T
    axes.scatter(x, y, s=area, c=shades[plain], alpha=alpha, **how)
    if len(drawn):
        x, y = points[drawn].T
        outlines: Any = shades[drawn]
        how |= {"linewidths": 0.5, "facecolors": "none", "edgecolors": outlines}
        axes.scatter(x, y, s=1.6 * area, marker="^", alpha=alpha, **how)


def _in_focus(faces: FaceSet, look: Look) -> NDArray[np.bool_]:
    listed = np.array([*(name in look.focus for name in faces.identity.names), False])
    return np.asarray(listed[faces.identity.codes])


def _ways(axes: Axes, points: Floats, other: Floats, shades: Floats, look: Look) -> None:
    from matplotlib.collections import LineCollection

    n = len(points)
    some = np.arange(n)
    if n > MOST_LINES:
        some = np.sort(np.random.default_rng(0).choice(n, MOST_LINES, replace=False))
    alpha = float(np.clip(60 / max(len(some), 1), 0.02, 0.4))
    tells = look.change is not None and look.by == "change"
    kinds = [(some, GREY if tells else shades[some], alpha, 0.4)]
    if tells and look.change is not None:
        for kind in (GAINED, LOST):
            kinds.append((np.flatnonzero(look.change == kind), MARKS[kind][1], 0.7, 0.7))
    for these, colour, ink, thick in kinds:
        made = np.stack([points[these], other[these]], axis=1)
        axes.add_collection(
            LineCollection(list(made), colors=colour, linewidths=thick, alpha=ink, zorder=2, rasterized=n > MANY)
        )


def _links(axes: Axes, points: Floats, ids: Ids, links: Links) -> None:
    """Lines from a face, which is ringed, to its nearest as far as they are on the map; dashed to other people."""
    from matplotlib.collections import LineCollection

    where = {face: place for place, face in enumerate(ids.tolist())}
    right = [None] * len(links.pairs) if links.right is None else links.right.tolist()
    for kind, (mark, ink) in LINKS.items():
        pairs = [pair for pair, one in zip(links.pairs.tolist(), right) if one is kind]
        ends = [[points[where[one]], points[where[other]]] for one, other in pairs if one in where and other in where]
        if ends:
            axes.add_collection(
                LineCollection(ends, colors=INK[ink], linewidths=0.9, linestyles=mark, zorder=4), autolim=False
            )
    if (place := where.get(int(links.pairs[0, 0]))) is not None:
        x, y = points[place]
        axes.scatter([x], [y], s=30, facecolors="none", edgecolors=INK["text"], linewidths=1.0, zorder=5)


def _linked(links: Sequence[Links]) -> list[Entry]:
    """What the legend says of them."""
    words = {None: tr("nearest vector"), True: tr("nearest, same person"), False: tr("nearest, another person")}
    there = [some for some in links if len(some.pairs)]
    kinds = {one for some in there for one in (some.right.tolist() if some.right is not None else [None])}
    return [(mark, INK[ink], words[kind]) for kind, (mark, ink) in LINKS.items() if kind in kinds]


def _near(faces: FaceSet, found: Projection, links: Sequence[Links]) -> list[str]:
    """Whose nearest they are, and how many of them are right."""
    models = (found.plan.model, found.plan.other) if found.other is not None else ("",)
    known = [(name, one) for name, one in zip(models, links) if len(one.pairs)]
    row = faces.row_of(int(known[0][1].pairs[0, 0])) if known else None
    said = [f"{escaped(name)}: {one.words}" if name else one.words for name, one in known]
    return [tr("ring: {name}", name=faces.label(row)), *said] if row is not None else []


def _names(
    axes: Axes, points: Floats, faces: FaceSet, rows: NDArray[np.int64], found: Projection, look: Look
) -> None:
    """Who is in focus or selected, at the middle of these faces."""
    chosen = np.zeros(len(points), bool)
    if look.selection is not None and len(look.selection):
        chosen = np.isin(found.ids, look.selection)
        x, y = points[chosen].T
        axes.scatter(x, y, s=14, facecolors="none", edgecolors=INK["accent"], linewidths=0.7, zorder=5)
    elif look.focus:
        chosen = _in_focus(faces, look)[rows]
    codes = np.where(chosen, faces.identity.codes[rows], -1)
    people = np.unique(codes[codes >= 0])
    named = []
    for code in people.tolist() if len(people) <= NAMED else ():
        x, y = (float(value) for value in np.median(points[codes == code], axis=0))
        named.append((escaped(faces.identity.names[code]).replace("_", " "), x, y))
    name_places(axes, named, ground=GROUND)


def _rows(entries: Sequence[Entry], room: float) -> list[list[tuple[float, Entry]]]:
    """Entries of the legend with their places from the left, on as many lines as they need."""
    made: list[list[tuple[float, Entry]]] = []
    x = room + 1
    for entry in entries:
        long = wide(entry[2], 6.5) + _marked(entry) + 0.16
        if x + long > room:
            made.append([])
            x = 0.0
        made[-1].append((x, entry))
        x += long
    return made


def _marked(entry: Entry) -> float:
    """The room for a mark, in inches."""
    return 0.0 if not entry[0] else 0.3 if entry[0] in LINES else 0.16


def _entries(page: Page, line: Sequence[tuple[float, Entry]], down: float) -> None:
    for x, entry in line:
        mark, colour, words = entry
        if mark in LINES:
            axes = page.bare(MARGIN + x, down - 0.06, 0.24, 0.12)
            axes.plot([0, 1], [0.5, 0.5], mark, color=colour, linewidth=0.9)
        elif mark:
            axes = page.bare(MARGIN + x, down - 0.06, 0.12, 0.12)
            fill = "none" if mark.endswith(" ") else colour
            axes.plot([0.5], [0.5], mark.strip(), markersize=4.5, markerfacecolor=fill, markeredgecolor=colour,
                      markeredgewidth=0.7)  # fmt: skip
        page.text(MARGIN + x + _marked(entry), down, words, size=6.5, ink="text2")


def _counted(found: Projection, faces: FaceSet, rows: NDArray[np.int64]) -> str:
    people = len(np.unique(faces.identity.codes[rows]))
    return tr(
        "{faces} of {people}",
        faces=plural(len(found), "N = {n} face", "N = {n} faces"),
        people=plural(people, "{n} person", "{n} people"),
    )


def _rgb(colour: str) -> Floats:
    return np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)], np.float32)


def _hex(rgb: Floats) -> str:
    return "#" + "".join(f"{round(float(v) * 255):02x}" for v in rgb)
