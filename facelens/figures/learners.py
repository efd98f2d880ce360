"""Figures of a divided embedding, for a paper or a note: what each learner alone finds, and what they find together.

Every figure names gallery, model, baseline and N; a baseline is cut into slices, which are not learned parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from facelens.analyses.divided import FAR_OFF, Clusters, Learners, Side
from facelens.analyses.measure import Measure
from facelens.errors import InputError
from facelens.figures.charts import REFERENCE, SUBJECT
from facelens.figures.confidence import name_of
from facelens.figures.page import HATCH, HEAD, MARGIN, Page, elided, undefined
from facelens.figures.part_study import NUMBERED, chart, column_heads, marker_size, name_ends, recall_range, tight
from facelens.figures.part_words import layout_words, part_name, part_word
from facelens.figures.style import INK, style
from facelens.images.faceset import FaceSet, Rows
from facelens.progress import Tick, silent
from facelens.words import escaped, number, plural, tr

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

EACH = 10  # queries of a learner
NOBODY = np.iinfo(np.int32).max  # rank where there is no other learner
MOST = 16  # learners on a sheet of faces
KS = 3  # curves of each model
MARKERS = ("o", "s", "^", "D")


def told(faces: FaceSet, found: Learners) -> list[str]:
    """Gallery, model and baseline with what their parts are, N."""
    sides = [found.own, *([found.baseline] if found.baseline is not None else [])]
    names = [tr("{model} ({parts})", model=name_of(one.model, 1.5), parts=layout_words(one.layout)) for one in sides]
    models = [names[0], *(tr("against {model}", model=name) for name in names[1:])]
    counted = plural(len(found.ids), "N = {n} face", "N = {n} faces")
    searched = plural(len(found.queries), "{n} query", "{n} queries")
    return [name_of(faces.name), *models, counted, searched]


# Specialists


def draw_specialists(
    faces: FaceSet, found: Learners, *, limit: int = 1, each: int = EACH, tick: Tick = silent
) -> Figure:
    """A row for each learner: queries that it alone finds at rank 1, all others beyond `limit`, and under each the face
    it found."""
    K = min(found.own.layout.parts, MOST)
    kept = [np.flatnonzero(~((best := others(found, k)) > 0) | (best > limit)) for k in range(K)]
    if not any(len(some) for some in kept):
        raise InputError(tr("No learner finds a face that the others do not find, so there is nothing to draw."))
    side, left = 0.56, 1.34
    tall = [1.42 if len(some) else 0.72 for some in kept]
    with style():
        page = Page(max(left + each * (side + 0.06) + MARGIN, 5.0), HEAD + sum(tall) + 0.28)
        page.head(tr("Faces that one learner alone finds"), told(faces, found))
        for k in range(K):
            tick(k, K, tr("Drawing"))
            top, ranks = HEAD + sum(tall[:k]), others(found, k)
            _learner(page, top, found, k, ranks)
            if not len(kept[k]):
                page.text(left, top + 0.1, tr("none: others find all that it finds"), size=6.5, ink="text3")
            for i, place in enumerate(kept[k][:each].tolist()):
                x = left + i * (side + 0.06)
                page.face(x, top, side, faces, faces.row_of(int(found.specialists[k][place])))
                if k < len(found.found) and place < len(found.found[k]):
                    page.face(x, top + side + 0.03, side, faces, faces.row_of(int(found.found[k][place])))
                if ranks[place]:
                    text = tr("others {rank}", rank=int(ranks[place]))
                    page.text(x + side / 2, top + 2 * side + 0.11, text, size=5.4, ink="text3", ha="center")
        said = [
            tr("upper: query, lower: the face that the learner found"),
            tr("under them: the best rank at which any other learner finds the person"),
        ]
        if limit > 1:
            said.append(tr("all others beyond rank {n}", n=limit))
        if found.own.layout.parts > MOST:
            said.append(tr("the first {n} of {k} learners", n=MOST, k=found.own.layout.parts))
        page.foot(said)
        tick(K, K)
        return page.figure


def others(found: Learners, learner: int) -> Rows:
    """(n,) for each specialist of a learner: the best rank at which any other finds its person, 0 = nobody does."""
    order = np.argsort(found.queries, kind="stable")
    at = order[np.searchsorted(found.queries, found.specialists[learner], sorter=order)]
    ranks = np.delete(found.ranks[at], learner, axis=1).astype(np.int64)
    never = np.iinfo(np.int64).max
    best = np.where(ranks > 0, ranks, never).min(axis=1, initial=never)
    return np.where(best == never, 0, best)


def _learner(page: Page, top: float, found: Learners, k: int, ranks: Rows) -> None:
    """At the left of a row: who it is, how good alone, how many it alone finds."""
    far = int(((ranks > FAR_OFF) | (ranks == 0)).sum())
    lines = [
        tr("Recall@{k} {value}", k=found.ks[0], value=short(found.own.recall[0][k])),
        plural(len(ranks), "{n} face it alone finds", "{n} faces it alone finds"),
        tr("others beyond rank {rank}: {n}", n=far, rank=FAR_OFF),
    ]
    page.text(MARGIN, top + 0.1, part_name(found.own.layout, k).capitalize(), size=8.5, fontweight="bold")
    for i, text in enumerate(lines):
        page.text(MARGIN, top + 0.28 + i * 0.13, text, size=6, ink="text3")


def short(measure: Measure) -> str:
    """A value without its limits, or that there is none."""
    return number(measure.value) if measure.defined and measure.value is not None else tr("n/a")


# The table


def rows(found: Learners, at: int = 0) -> list[list[str]]:
    """For each learner its dimensions and Recall, beside that of the baseline's slice; then mean and all together."""
    own, other = found.own, found.baseline
    sides = [own, *([other] if other is not None else [])]
    listed = [
        [
            part_name(own.layout, k),
            _dimensions(sides, k, k + 1),
            *(one.recall[at][k].text(3) for one in sides),
        ]
        for k in range(own.layout.parts)
    ]
    listed.append([tr("mean, each alone"), "", *(one.mean[at].text(3) if one.mean else "" for one in sides)])
    everything = _dimensions(sides, 0, own.layout.parts)
    listed.append([tr("all together"), everything, *(one.whole[at].text(3) for one in sides)])
    listed.append([tr("mean |r| across slices"), "", *(one.correlation.text(4) for one in sides)])
    return listed


def _dimensions(sides: Sequence[Side], first: int, last: int) -> str:
    """Those of some learners, counted from 1; of both models where they differ."""
    widths = dict.fromkeys(one.layout.width for one in sides)
    return " / ".join(tr("{first} to {last}", first=first * width + 1, last=last * width) for width in widths)


def gains(found: Learners, at: int = 0) -> list[str]:
    """What own is better by, in words."""
    said = []
    for name, some in ((tr("each alone, on average"), found.gain), (tr("all together"), found.whole_gain)):
        if at < len(some) and some[at].defined:
            said.append(f"{name} {some[at].text(3, sign=True)}")
    return said


def draw_table(faces: FaceSet, found: Learners, *, k: int = 1) -> Figure:
    """Recall@k of each learner alone beside the slices of the baseline."""
    at = found.ks.index(k) if k in found.ks else 0
    heads = ["", tr("dimensions"), escaped(found.own.model)]
    if found.baseline is not None:
        heads.append(escaped(found.baseline.model))
    listed, line = rows(found, at), 0.21
    ends = [1.5, 2.35, *(2.35 + 1.7 * (i + 1) for i in range(len(heads) - 2))]
    with style():
        page = Page(max(ends[-1] + MARGIN, 5.0), HEAD + 0.24 + len(listed) * line + 0.42)
        page.head(tr("Recall@{k} of each learner alone, higher is better", k=found.ks[at]), told(faces, found))
        for i, (head, end) in enumerate(zip(heads, ends)):
            if i:
                page.text(end, HEAD + 0.1, elided(head, 7, 1.55), ink="text3", ha="right")
        axes = page.bare(MARGIN, HEAD + 0.2, page.width - 2 * MARGIN, 0.02)
        axes.axhline(0.5, color="#ababab", linewidth=0.7)
        for n, cells in enumerate(listed):
            middle = HEAD + 0.24 + (n + 0.5) * line
            together = n >= found.own.layout.parts
            for i, (text, end) in enumerate(zip(cells, ends)):
                ink = "text2" if i == 0 else "text3" if i == 1 else "text"
                x, ha = (MARGIN, "left") if i == 0 else (end, "right")
                weight = "bold" if together and i == 0 else "normal"
                page.text(x, middle, text, size=7, ink=ink, ha=ha, fontweight=weight)
        page.foot(
            [
                *(tr("difference: {gain}", gain=gain) for gain in gains(found, at)),
                tr("95 % intervals over identities"),
                tr("|r|: between dimensions of different slices, lower is better"),
            ]
        )
        return page.figure


# Recall against dimensions


def draw_dimensions(faces: FaceSet, found: Learners, *, k: int = 1) -> Figure:
    """Recall@k with the first learners, one more at a time, of both models; the band is that of `k`."""
    sides = [("B", found.own), *([("A", found.baseline)] if found.baseline is not None else [])]
    width, K = found.own.layout.width, found.own.layout.parts
    most = max(one.layout.width for _, one in sides)
    ks = found.own.curve.ks
    at = ks.index(k) if k in ks else 0
    drawn = sorted({at, *range(min(KS, len(ks)))})
    curves = [some for _, one in sides for some in (one.curve.ordered[drawn], one.curve.low[[at]])]
    with style():
        page = Page(6.0, HEAD + 2.7 + 0.62)
        page.head(tr("Recall against dimensions, learner by learner"), told(faces, found))
        page.text(MARGIN, HEAD + 0.06, tr("Recall@k, higher is better"), size=7, ink="text2")
        axes = page.axes(0.5, HEAD + 0.18, 4.1, 2.5)
        chart(axes, (0.8 * min(one.layout.width for _, one in sides), (K + 0.2) * most), recall_range(curves), room=6)
        by = max(1, -(-K // 8))
        axes.set_xticks([k * width for k in range(by, K + 1, by)])
        ends = []
        for side, one in reversed(sides):
            dashes: dict[str, Any] = {"dashes": (3.6, 2.2)} if side == "A" else {}
            x = one.layout.width * np.arange(1, K + 1)
            for i in drawn:
                if i == at:
                    axes.fill_between(x, one.curve.low[i], one.curve.high[i], color=INK[side], alpha=0.16, linewidth=0)
                inner = INK["base"] if side == "A" else INK[side]
                axes.plot(
                    x, one.curve.ordered[i], color=INK[side], linewidth=SUBJECT if side == "B" else REFERENCE + 0.3,
                    marker=MARKERS[drawn.index(i)], markersize=marker_size(K), markerfacecolor=inner, zorder=3,
                    clip_on=False, **dashes,
                )  # fmt: skip
                name = tr("R@{k} {model}", model=escaped(one.model), k=ks[i])
                ends.append((float(one.curve.ordered[i][-1]), elided(name, 6.5, 1.25), INK[side]))
        name_ends(page, axes, 4.66, ends)
        page.text(4.6, HEAD + 2.97, tr("dimensions used"), size=7, ink="text2", ha="right")
        chance = tr("Recall@{k} in 90 % of {n} orders drawn by chance", k=ks[at], n=found.own.curve.orders)
        page.foot([tr("line: learners in their order"), tr("band: {what}", what=chance)])
        return page.figure


# Ranks of one face


def ranks_of(found: Learners, face: int | None) -> NDArray[np.int32] | None:
    """(K,) the rank at which each learner finds a face's person; None where it did not search."""
    at = np.flatnonzero(found.queries == (-1 if face is None else face))
    return found.ranks[at[0]] if len(at) else None


def ranks_words(ranks: NDArray[np.int32]) -> str:
    """How many learners find the person.

    >>> ranks_words(np.array([1, 1, 7], np.int32))
    '2 of 3 find the person first'
    """
    n, k = int((ranks == 1).sum()), len(ranks)
    if n == k:
        return tr("all {k} find the person first", k=k)
    if not n:
        return tr("none of {k} finds the person first", k=k)
    return tr("{n} of {k} find the person first", n=n, k=k)


def rank_text(rank: int) -> str:
    """A rank; 0 is nobody to find.

    >>> rank_text(1234), rank_text(0)
    ('1,234', 'none')
    """
    return f"{rank:,}" if 0 < rank < NOBODY else tr("none")


def draw_ranks(faces: FaceSet, found: Learners, face: int | None, *, part: int = -1) -> Figure:
    """At which rank each learner finds the person of one face; the learner `part` is bold."""
    from matplotlib.ticker import NullLocator

    ranks = ranks_of(found, face)
    if face is None:
        raise InputError(tr("No face is current."), hint=tr("Click a face first."))
    if ranks is None:
        raise InputError(
            tr("This face did not search."), hint=tr("Take one that has a vector and another picture of its person.")
        )
    K, row = len(ranks), faces.row_of(face)
    top, tall, left, side = HEAD + 0.3, 1.5, 2.3, 0.8
    pitch = min(max(4.2 / K, 0.16), 0.6)
    most = max(float(ranks[(ranks > 0) & (ranks < NOBODY)].max(initial=10)), 10.0)
    with style():
        page = Page(left + max(K * pitch, 2.7) + MARGIN, top + tall + 0.62)
        page.head(tr("At which rank each learner finds a face's person"), told(faces, found))
        page.face(MARGIN, top, side, faces, row)
        name = escaped(faces.label(row)) if row is not None else ""
        page.text(MARGIN, top + side + 0.12, elided(name, 7, 1.6, bold=True), size=7, fontweight="bold")
        page.text(MARGIN, top + side + 0.26, ranks_words(ranks), size=6, ink="text2")
        page.text(left - 0.42, HEAD + 0.08, tr("rank (log), lower is better"), size=7, ink="text2")
        axes = page.axes(left, top, K * pitch, tall)
        axes.set(xlim=(0.5, K + 0.5), ylim=(0.8, 1.6 * most), yscale="log")
        powers = range(int(np.log10(most)) + 1)
        axes.set_yticks([10.0**power for power in powers], [f"{10**power:,}" for power in powers])
        axes.yaxis.set_minor_locator(NullLocator())
        axes.tick_params(axis="y", labelsize=6, length=0, pad=3)
        axes.tick_params(axis="x", labelsize=6, length=0, pad=2)
        axes.grid(True, axis="y", color=INK["text"], alpha=0.09, linewidth=0.7)
        axes.set_axisbelow(True)
        by = 1 if K <= NUMBERED else 8
        axes.set_xticks(range(1, K + 1, by), [str(k) for k in range(1, K + 1, by)])
        for k, rank in enumerate(ranks.tolist()):
            known = 0 < rank < NOBODY
            if known:
                ink = INK["good" if rank == 1 else "text3"]
                axes.bar(k + 1, rank - 0.8, 0.62, bottom=0.8, color=ink, linewidth=0, zorder=2)
            else:
                undefined(axes, k + 0.69, 0.8, 0.62, most)
            if K <= NUMBERED or k == part:
                axes.annotate(
                    rank_text(rank), (k + 1, rank if known else 0.8), xytext=(0, 2), textcoords="offset points",
                    ha="center", fontsize=6, fontweight="bold" if k == part else "normal", color=INK["text"],
                )  # fmt: skip
        page.text(left + K * pitch, top + tall + 0.24, part_word(found.own.layout), size=7, ink="text2", ha="right")
        told_part = [tr("bold: {part}", part=part_name(found.own.layout, part))] if 0 <= part < K else []
        page.foot([tr("rank of the nearest face of the same person"), tr("green: first"), *told_part])
        return page.figure


# Clusters


def draw_clusters(faces: FaceSet, found: Learners) -> Figure:
    """How large the groups of the embedding are, and how well each learner finds the faces of each."""
    groups = found.clusters
    if groups is None:
        raise InputError(tr("The groups of the embedding are not worked out yet."))
    K, names = len(groups.sizes), 0.72
    cell = min(max(2.6 / K, 0.08), 0.56)
    side, top = K * cell, HEAD + 0.44
    wide, tall = max(side, 2.0), max(side, 1.4)
    left = 0.95 + wide + names
    with style():
        page = Page(left + max(side, 2.4) + MARGIN, top + tall + 0.72)
        page.head(tr("Groups of the embedding, and who finds whom"), told(faces, found))
        page.text(MARGIN, HEAD + 0.06, tr("faces of each group; hatched: people"), size=7, ink="text2")
        _sizes(page.axes(0.55, top, wide, tall), groups)
        page.text(0.55 + wide, top + tall + 0.26, tr("group"), size=7, ink="text2", ha="right")
        title = tr("Recall@1, learner by group, higher is better")
        page.text(left - names, HEAD + 0.06, title, size=7, ink="text2")
        column_heads(page, left, top - 0.08, cell, K)
        for k in range(0, K, 1 if K <= NUMBERED else 8):
            name = part_name(found.own.layout, k)
            page.text(left - 0.06, top + (k + 0.5) * cell, name, size=6, ink="text2", ha="right")
        recall = np.asarray(groups.recall, np.float64)
        low, high = recall_range([recall])
        texts = [[tight(value) for value in row] for row in recall.tolist()] if K <= NUMBERED else None
        page.cells(left, top, (side, side), recall, (low, high), texts=texts, points=6 if K <= 8 else 4.4)
        ends = number(low, 2), number(high, 2)
        page.scale(left, top + side + 0.14, "", ends, tr("bright = finds more"), width=0.8)
        nmi, again = groups.stability.text(3), groups.kept.text(3)
        page.foot(
            [tr("NMI of groups from other seeds {nmi}", nmi=nmi), tr("in the same group again {kept}", kept=again)]
        )
        return page.figure


def _sizes(axes: Axes, groups: Clusters) -> None:
    """Faces and people of each group as bars."""
    K = len(groups.sizes)
    chart(axes, (0.5, K + 0.5), (0.0, 1.08 * max(int(groups.sizes.max(initial=1)), 1)))
    x = np.arange(1, K + 1)
    axes.bar(x - 0.2, groups.sizes, 0.36, color=INK["accent"], alpha=0.55, linewidth=0, zorder=2)
    axes.bar(
        x + 0.2, groups.people, 0.36, facecolor=INK["base"], edgecolor=INK["text2"], hatch=HATCH, lw=0.6, zorder=2
    )  # fmt: skip
    by = 1 if K <= NUMBERED else 8
    axes.set_xticks(x[::by], [str(k) for k in x[::by]])
