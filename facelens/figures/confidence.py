"""Figures of how sure the parts of an embedding are, for a paper or a note: maps, distributions, the jury of a pair.

Every figure names gallery, model, what its parts are and N; one scale of colours holds for all faces.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from facelens.analyses.ensemble import percentiles
from facelens.analyses.jury import Ruling, Verdict
from facelens.analyses.measure import rate
from facelens.analyses.parts import Layout, Parts, Spread
from facelens.errors import InputError
from facelens.figures.page import HATCH, HEAD, MARGIN, Page, elided, mapped, wide, wrapped
from facelens.figures.part_words import Words, layout_words, part_name, words
from facelens.figures.scales import Array, ticks
from facelens.figures.strip import BANDS, Band
from facelens.figures.style import INK, style
from facelens.images.faceset import FaceSet, Ids, Rows
from facelens.progress import Tick, silent
from facelens.words import escaped, number, plural, tr

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST = 60  # faces on a sheet of maps
ACROSS = 5  # faces with their maps in a row
COLUMNS = 16  # distributions in a row
EACH = 3  # faces at either end of a part
LISTED = 12  # parts that a caption counts up
LINES = 24  # faces of a matrix
NUMBERED = 24  # parts up to which all of a matrix are numbered
SIDE, GAP, ROW = 0.66, 0.14, 0.92  # inches: a face and its map, between two of them, a row


@dataclass(frozen=True)
class Subject:
    """Of whom a figure speaks."""

    gallery: str
    model: str
    layout: Layout
    faces: int  # N

    @classmethod
    def of(cls, faces: FaceSet, parts: Parts, model: str) -> Subject:
        """The parts of a model on a gallery."""
        return cls(faces.name, model, parts.layout, len(parts.ids))

    @property
    def told(self) -> list[str]:
        """Gallery, model, what its parts are, N."""
        counted = plural(self.faces, "N = {n} face", "N = {n} faces")
        return [name_of(self.gallery), name_of(self.model), layout_words(self.layout), counted]


def name_of(name: str, room: float = 2.2) -> str:
    """A name in a head, not longer than so many inches: what follows it must be seen."""
    return elided(escaped(name), 6.5, room)


def means(values: NDArray[np.floating]) -> Array:
    """(N,) the mean over the parts that have a value, NaN where none has."""
    known = np.isfinite(values)
    total = np.where(known, values, 0).sum(1, dtype=np.float64)
    return np.where(known.any(1), total / np.maximum(known.sum(1), 1), np.nan)


def _of(parts: Parts, shown: str) -> tuple[NDArray[np.float32], Spread, Words]:
    if shown not in parts.spread:
        raise InputError(tr("No face has such a value, so there is nothing to draw."))
    return parts.values[shown], parts.spread[shown], words(shown, parts.layout)


def _scale(page: Page, x: float, down: float, spread: Spread, said: Words) -> None:
    ends = said.value(spread.low), said.value(spread.high)
    page.scale(x, down, said.name, ends, said.bright)


# Maps


def draw_maps(
    faces: FaceSet, parts: Parts, *, shown: str, ids: Ids | None = None, model: str = "", tick: Tick = silent
) -> Figure:
    """Faces with a cell for each part: those of `ids`, else some that are low, medium and high on average."""
    values, spread, said = _of(parts, shown)
    mean = means(values)
    chosen = parts.rows_of(ids) if ids is not None else np.zeros(0, np.int64)
    lines, left = _lines(chosen[:MOST]) if len(chosen) else _banded(mean), MARGIN if len(chosen) else 1.02
    step = 2 * SIDE + 0.04 + GAP
    across = max(len(places) for _, _, places in lines)
    total, done = sum(len(places) for _, _, places in lines), 0
    width = max(left + across * step - GAP + MARGIN, 5.0)
    with style():
        page = Page(width, HEAD + len(lines) * ROW + 0.47)
        subject = Subject.of(faces, parts, model)
        counted = plural(len(chosen), "{n} face chosen", "{n} faces chosen") if len(chosen) else ""
        if len(chosen) > MOST:
            counted = tr("first {n} of {total} faces chosen", n=MOST, total=len(chosen))
        page.head(tr("A cell for each part: {title}", title=said.title), [*subject.told, counted])
        for i, (band, count, places) in enumerate(lines):
            top = HEAD + i * ROW
            if band is not None:
                _band(page, top, band, count)
            for column, place in enumerate(places.tolist()):
                tick(done, total, tr("Drawing"))
                done += 1
                x, row = left + column * step, faces.row_of(int(parts.ids[place]))
                page.face(x, top, SIDE, faces, row)
                page.cells(
                    x + SIDE + 0.04, top, (SIDE, SIDE), mapped(values[place]), (spread.low, spread.high), gap=1.1
                )
                average = tr("mean {value}", value=said.value(float(mean[place])))
                page.text(x + 2 * SIDE + 0.04, top + SIDE + 0.09, average, size=5.6, ink="text2", ha="right")
                name = faces.label(row) if row is not None else ""
                page.text(x, top + SIDE + 0.09, elided(escaped(name), 5.6, SIDE + 0.02), size=5.6, ink="text2")
        _scale(page, MARGIN, page.height - 0.38, spread, said)
        page.foot(_cells_words(parts.layout, values))
        tick(total, total)
        return page.figure


def _lines(chosen: Rows) -> list[tuple[Band | None, int, Rows]]:
    return [(None, 0, chosen[start : start + ACROSS]) for start in range(0, len(chosen), ACROSS)]


def _banded(mean: Array) -> list[tuple[Band | None, int, Rows]]:
    """Faces spread through each band of their mean; the last ones are the highest there are."""
    known = np.flatnonzero(np.isfinite(mean))
    if not len(known):
        raise InputError(tr("No face has such a value, so there is nothing to draw."))
    share = percentiles(mean[known])
    found = [(band, known[band.places(mean[known], share)]) for band in BANDS]
    return [(band, len(places), band.walk(places, ACROSS)[:ACROSS]) for band, places in found if len(places)]


def _band(page: Page, top: float, band: Band, count: int) -> None:
    """At the left of a row: its colour on the scale, its word, its percentiles, how many are in it."""
    from matplotlib import colormaps

    page.bare(MARGIN, top, 0.04, SIDE).axvspan(0, 1, color=colormaps["viridis"](band.middle), linewidth=0)
    page.text(0.22, top + SIDE / 2 - 0.16, tr(band.word), size=8.5, fontweight="bold")
    page.text(0.22, top + SIDE / 2 + 0.01, tr("p{low} to p{high}", low=band.low, high=band.high), ink="text3", size=6)
    page.text(0.22, top + SIDE / 2 + 0.14, plural(count, "{n} face", "{n} faces"), ink="text3", size=6)


def _cells_words(layout: Layout, values: NDArray[np.floating]) -> list[str]:
    first, last = part_name(layout, 0), part_name(layout, layout.parts - 1)
    told = [
        tr("cells: {first} to {last}, row by row; they are no places in the picture", first=first, last=last),
        tr("one scale for all faces, from p1 to p99"),
    ]
    if np.isnan(values).any():
        told.append(tr("hatched: no value"))
    return told


# Faces x parts


def draw_matrix(
    faces: FaceSet, parts: Parts, *, shown: str, ids: Ids | None = None, columns: Sequence[int] = (), by: str = "mean",
    descending: bool = True, model: str = "", tick: Tick = silent,
) -> Figure:  # fmt: skip
    """A row for each of the faces `ids`, which are the first when sorted `by` "face", "mean" or the number of a part;
    without them those of the highest mean. A cell for each part, in the order of `columns`."""
    values, spread, said = _of(parts, shown)
    mean, K = means(values), parts.layout.parts
    places = parts.rows_of(ids) if ids is not None else np.argsort(-mean, kind="stable")
    places = places[:LINES]
    order = [*columns] if sorted(columns) == [*range(K)] else [*range(K)]
    line, left, cell = 0.25, 1.62, min(max(4.6 / K, 0.09), 0.3)
    with style():
        page = Page(max(left + K * cell + 0.66, 5.0), HEAD + 0.2 + len(places) * line + 0.56)
        page.head(tr("Faces and parts: {title}", title=said.title), Subject.of(faces, parts, model).told)
        for at, k in enumerate(order):
            if K <= NUMBERED or not k % 8:
                bold = "bold" if by == str(k) else "normal"
                x = left + (at + 0.5) * cell
                page.text(x, HEAD + 0.1, str(k + 1), size=6, ink="text2", ha="center", fontweight=bold)
        page.text(left + K * cell + 0.5, HEAD + 0.1, tr("mean"), size=6, ink="text3", ha="right")
        for i, place in enumerate(places.tolist()):
            tick(i, len(places), tr("Drawing"))
            down, row = HEAD + 0.2 + i * line, faces.row_of(int(parts.ids[place]))
            page.face(MARGIN, down + 0.015, line - 0.03, faces, row, pixels=56)
            name = escaped(faces.label(row)) if row is not None else ""
            shorter = elided(name, 6.5, left - line - 0.24)
            page.text(MARGIN + line + 0.04, down + line / 2, shorter, size=6.5, ink="text2")
            page.text(left + K * cell + 0.5, down + line / 2, said.value(float(mean[place])), size=6.5, ha="right")
        limits, cells = (spread.low, spread.high), values[places][:, order].astype(np.float64)
        page.cells(left, HEAD + 0.2, (K * cell, len(places) * line), cells, limits, gap=0.8)
        _scale(page, MARGIN, page.height - 0.38, spread, said)
        which = said.highest if descending else said.lowest
        part = part_name(parts.layout, int(by)) if by.isdecimal() and int(by) < K else tr("mean")
        words = tr("sorted by name") if by == "face" else tr("sorted by {what}, {which} first", what=part, which=which)
        told = [words, tr("the first {n} of {total}", n=len(places), total=len(parts.ids))]
        told += [tr("hatched: no value")] if np.isnan(values[places]).any() else []
        page.foot([*told, tr("one scale for all faces, from p1 to p99")])
        tick(len(places), len(places))
        return page.figure


# Distributions


def draw_distributions(
    faces: FaceSet, parts: Parts, *, shown: str, model: str = "", each: int = EACH, tick: Tick = silent
) -> Figure:
    """How the values of each part are spread over the faces, with the faces at both ends."""
    from matplotlib import colormaps

    _, spread, said = _of(parts, shown)
    K = parts.layout.parts
    columns = min(K, COLUMNS)
    rows = math.ceil(K / columns)
    side, left, tall = min(max(0.52, 5.6 / columns - 0.1), 0.8), 0.86, 1.0
    step = side + 0.1
    block = 0.2 + tall + 0.1 + 2 * (each * (side + 0.04) + 0.1)
    width = max(left + columns * step, 5.0)
    seen = spread.counts.sum(0) > 0  # the axis ends where there is nobody any more
    first, last = (int(np.flatnonzero(seen)[end]) for end in (0, -1)) if seen.any() else (0, len(seen) - 1)
    edges, counts = spread.edges[first : last + 2], spread.counts[:, first : last + 1]
    colours = colormaps["viridis"](np.clip((_middles(edges) - spread.low) / (spread.high - spread.low), 0, 1))
    done, total = 0, 2 * each * K
    with style():
        page = Page(width, HEAD + rows * block + 0.47)
        page.head(
            tr("How each part is spread: {title}", title=said.title),
            Subject.of(faces, parts, model).told,
        )
        for k in range(K):
            x, top = left + k % columns * step, HEAD + k // columns * block
            if k % columns == 0:
                _axis(page, top + 0.2, (edges[0], edges[-1]), tall, said, left=left, right=page.width - MARGIN)
                for i, word in enumerate((said.lowest, said.highest)):
                    down = top + 0.3 + tall + i * (each * (side + 0.04) + 0.1) + side / 2
                    page.text(MARGIN, down, word, size=7, ink="text2")
            page.text(x + side / 2, top + 0.1, part_name(parts.layout, k), size=6.5, ha="center")
            axes = page.axes(x, top + 0.2, side, tall)
            axes.set_axis_off()
            half = counts[k] / max(int(counts[k].max(initial=0)), 1)
            axes.set(xlim=(-1.02, 1.02), ylim=(edges[-1], edges[0]))
            axes.barh(edges[:-1], 2 * half, np.diff(edges), -half, align="edge", color=colours, linewidth=0)
            for edge in (half, -half):
                outline = np.where(half > 0, edge, np.nan)
                axes.stairs(outline, edges, orientation="horizontal", color=INK["text2"], linewidth=0.4, baseline=None)
            low, median, high = spread.quartiles[k]
            axes.plot([0, 0], [low, high], color=INK["text"], linewidth=1.4, solid_capstyle="butt")
            axes.plot(0, median, "o", markersize=3.2, color=INK["base"], markeredgecolor=INK["text"])
            for i, ids in enumerate((spread.lowest[k], spread.highest[k])):
                for n, face in enumerate(ids[:each].tolist()):
                    tick(done, total, tr("Drawing"))
                    done += 1
                    down = top + 0.3 + tall + i * (each * (side + 0.04) + 0.1) + n * (side + 0.04)
                    page.face(x, down, side, faces, faces.row_of(int(face)), pixels=112)
        _scale(page, MARGIN, page.height - 0.38, spread, said)
        widths = tr("width: faces per bin, each part to its own widest")
        page.foot([widths, tr("dot: median"), tr("bar: half of the faces"), tr("colours from p1 to p99")])
        tick(total, total)
        return page.figure


def _middles(edges: Array) -> Array:
    return (edges[:-1] + edges[1:]) / 2


def _axis(
    page: Page, top: float, ends: tuple[float, float], tall: float, said: Words, *, left: float, right: float
) -> None:
    """Values from the lowest down to the highest, with lines across."""
    axes = page.axes(left - 0.06, top, right - left + 0.06, tall)
    axes.set(xlim=(0, 1), ylim=(ends[1], ends[0]))
    axes.set_axis_off()
    for place, text in ticks("linear", *ends, room=4):
        axes.axhline(place, color=INK["text"], alpha=0.09, linewidth=0.7, zorder=0)
        page.text(
            left - 0.1, top + tall * (place - ends[0]) / (ends[1] - ends[0]), text, size=6, ink="text3", ha="right"
        )
    page.text(MARGIN, top, said.low, size=6, ink="text3", va="top")
    page.text(MARGIN, top + tall, said.high, size=6, ink="text3", va="bottom")


# The jury


def draw_jury(
    faces: FaceSet,
    parts: Parts,
    verdict: Verdict,
    *,
    ruling: Ruling | None = None,
    match: str = "cosine",
    model: str = "",
) -> Figure:
    """One pair: how each part votes, what it adds up to, and what is decided."""
    if verdict.why:
        raise InputError(tr("There is no score: {why}.", why=verdict.why))
    line, side, left = 0.165, 0.92, 2.35
    votes = _Votes(parts.layout, verdict, ruling, 1 if match == "likelihood" else 3)
    with style():
        page = Page(6.4, HEAD + 0.22 + max(parts.layout.parts * line + 0.24, 2.1) + 0.36)
        page.head(tr("How each part votes on a pair"), [*Subject.of(faces, parts, model).told, tr(MATCHED[match])])
        for i, face in enumerate((verdict.query, verdict.gallery)):
            x, row = MARGIN + i * (side + 0.08), faces.row_of(face)
            page.face(x, HEAD + 0.06, side, faces, row)
            name = escaped(faces.label(row)) if row is not None else ""
            page.text(x, HEAD + side + 0.15, elided(name, 5.6, side), size=5.6, ink="text2")
        votes.decision(page, HEAD + side + 0.42)
        votes.bars(page, left, HEAD + 0.22, line)
        page.foot(votes.caption())
        return page.figure


MATCHED = {
    "cosine": "matched by cosine",
    "weighted": "matched by cosine in which sure parts weigh more",
    "likelihood": "matched by mutual likelihood",
}


@dataclass(frozen=True, eq=False)
class _Votes:
    """The jury's side of the figure."""

    layout: Layout
    verdict: Verdict
    ruling: Ruling | None
    decimals: int

    def number(self, value: float, *, sign: bool = False) -> str:
        return number(value, self.decimals, sign=sign)

    def decision(self, page: Page, down: float) -> None:
        """The score, what is decided by it, and by which threshold."""
        found, ruling = self.verdict, self.ruling
        page.text(MARGIN, down, self.number(found.score), size=14, fontweight="bold")
        if found.same is not None:
            told, ink = tr("same person") if found.same else tr("different people"), "text"
            if found.genuine is not None:
                right = found.same == found.genuine
                told = f"{told}, {tr('right') if right else tr('wrong')}"
                ink = "good" if right else "bad"
            page.text(MARGIN, down + 0.22, told, size=8, ink=ink, fontweight="bold")
        lines = []
        if ruling is not None and ruling.threshold is not None:
            at = self.number(ruling.threshold)
            lines.append(tr("threshold {value} at FAR {far}", value=at, far=rate(ruling.far)))
        elif ruling is not None:
            lines.append(tr("no threshold: {why}", why=ruling.why))
        kept, K = int(found.kept.sum()), self.layout.parts
        if kept < K:
            lines.append(tr("score of all {k} parts {value}", k=K, value=self.number(found.whole)))
        lines.append(tr("{n} of {k} parts vote", n=kept, k=K))
        for i, text in enumerate(wrapped(lines, 1.9, 6.5)):
            page.text(MARGIN, down + 0.4 + 0.13 * i, text, size=6.5, ink="text3")

    def bars(self, page: Page, left: float, down: float, line: float) -> None:
        """A bar for each part, to the right where it speaks for the same person."""
        found, K = self.verdict, self.layout.parts
        votes = np.nan_to_num(found.votes)
        share = self.ruling.share if self.ruling is not None else np.full(K, np.nan)
        ends = np.concatenate([votes, share[np.isfinite(share)], [0.0]])
        low, high = float(ends.min()), float(ends.max())
        room = (high - low or 1.0) * 0.02
        name = max(wide(part_name(self.layout, k), 6.5) for k in range(K))
        x, width = left + name + 0.1, page.width - MARGIN - 0.5 - left - name - 0.1
        axes = page.axes(x, down, width, K * line)
        axes.set_axis_off()
        axes.set(xlim=(low - room, high + room), ylim=(K - 0.5, -0.5))
        axes.axvline(0, color=INK["text2"], linewidth=0.7, zorder=3)
        zero = x + width * (room - low) / (high - low + 2 * room)
        page.text(zero + 0.06, down - 0.1, tr("▸ for"), size=6.5, ink="good")
        if low < 0:
            page.text(zero - 0.06, down - 0.1, tr("against ◂"), size=6.5, ink="bad", ha="right")
        for k in range(K):
            middle, vote = down + (k + 0.5) * line, float(votes[k])
            kept = bool(found.kept[k])
            ink = INK["good"] if vote > 0 else INK["bad"]
            page.text(left, middle, part_name(self.layout, k), size=6.5, ink="text2" if kept else "text3")
            if kept:
                axes.barh(k, vote, 0.68, color=ink, linewidth=0, zorder=2)
            else:
                axes.barh(
                    k, vote, 0.64, facecolor="none", edgecolor=ink, hatch=HATCH, linewidth=0.7, linestyle=(0, (3, 2))
                )
            if kept and np.isfinite(share[k]):
                axes.plot([share[k]] * 2, [k - 0.45, k + 0.45], color=INK["text"], linewidth=1.1, zorder=4)
            told = self.number(vote, sign=True) if kept else tr("left out")
            page.text(page.width - MARGIN, middle, told, size=6.5, ink="text" if kept else "text3", ha="right")
        page.text(
            page.width - MARGIN, down + K * line + 0.12, f"Σ = {self.number(self.verdict.score)}", size=7.5,
            fontweight="bold", ha="right",
        )  # fmt: skip

    def caption(self) -> list[str]:
        """What the bars are."""
        found = self.verdict
        told = [tr("bars add up to the score")]
        if self.ruling is not None and np.isfinite(self.ruling.share).any():
            told.append(tr("line across a bar: the part's share of the threshold"))
        if not found.kept.all():
            told.append(tr("hatched: left out, what it would add"))
        against = ", ".join([str(k + 1) for k in found.disagree[:LISTED]] + ["…"] * (len(found.disagree) > LISTED))
        if found.same is not None:
            n, kept = len(found.disagree), int(found.kept.sum())
            told.append(tr("{n} of {k} disagree: {which}", n=n, k=kept, which=against) if n else tr("none disagrees"))
        return told
