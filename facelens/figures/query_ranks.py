"""Figures of ranks: of every query before and after the second stage, and of one query under each occlusion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from facelens.analyses.plan import MatchPlan
from facelens.analyses.reranking import Sweep
from facelens.errors import InputError
from facelens.figures.match_words import alpha_title, plan_words, solver_words, weights_title
from facelens.figures.page import HEAD, LINE, MARGIN, Page, elided, lines
from facelens.figures.style import style
from facelens.figures.swept import after_of, forward, in_order, order_words
from facelens.figures.tabular import Column, Table, draw_table
from facelens.images.faceset import FaceSet
from facelens.images.occlusion import title
from facelens.progress import Tick, silent
from facelens.words import escaped, tr

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST, ROWS = 60, 20  # queries on a page, and in a column
COLUMN, ROW, FACE = 2.5, 0.36, 0.32  # inches: from one column to the next, a row, a picture
ENDS = (1.54, 1.88, 2.34)  # inches: where the ranks before and after end, and the change


def draw_query_ranks(
    home: FaceSet, sweep: Sweep, *, plan: MatchPlan, told: Sequence[str], order: str = "change", tick: Tick = silent
) -> Figure:  # fmt: skip
    """The rank of the first right face of every query of `home`, in the `order` of the list on the page."""
    row = next((row for row in sweep.rows if row.weights == plan.weights), None)
    if row is None or not len(sweep.queries):
        raise InputError(tr("All queries are not searched for yet."), hint=tr("Search for all faces first."))
    rows = home.listed(home.rows_of(sweep.queries))  # equals stand in an order that tells nothing of names
    place = {face: i for i, face in enumerate(sweep.queries.tolist())}
    here = np.array([place[face] for face in home.ids[rows].tolist()], np.int64)
    before, after = sweep.ranks[here].astype(np.int64), after_of(sweep, row, plan.alpha)[here].astype(np.int64)
    names = [home.label(at) for at in rows.tolist()]
    places = in_order(before, after, names, order)
    shown, change = places[:MOST].tolist(), forward(before, after)
    known = before > 0
    counts = [int((known & (np.sign(change) == kind)).sum()) for kind in (1, -1, 0)]
    words = tr("▲ {gained} gained, ▼ {lost} lost, {same} the same", gained=counts[0], lost=counts[1], same=counts[2])
    foot = [
        tr("rank of the first right face by cosine, then at {alpha}", alpha=alpha_title(plan.alpha)),
        tr("weights {name}", name=weights_title(plan.weights)), solver_words(sweep.solver, plan.epsilon),
        tr("shortlist {k}", k=sweep.shortlist or tr("all")), order_words(order), sweep.how.removesuffix("."),
        *([] if len(shown) == len(places) else [tr("the first {n} of {total}", n=len(shown), total=len(places))]),
        *([] if sweep.complete else [tr("not complete: the sweep was still running")]),
    ]  # fmt: skip
    columns = -(-len(shown) // ROWS)
    width = 2 * MARGIN + max(columns, 2) * COLUMN - 0.1
    deep = min(len(shown), ROWS)
    with style():
        page = Page(width, HEAD + 0.42 + deep * ROW + 0.16 + LINE * len(lines(foot, width - 2 * MARGIN)))
        page.head(tr("Ranks of all queries"), told)
        page.text(MARGIN, HEAD + 0.08, words, size=7, ink="text2")
        for column in range(columns):
            x = MARGIN + column * COLUMN
            page.text(x, HEAD + 0.29, tr("query"), size=6, ink="text3")
            for end, head in zip(ENDS, (tr("before"), tr("after"), tr("change"))):
                page.text(x + end, HEAD + 0.29, head, size=6, ink="text3", ha="right")
        for i, at in enumerate(shown):
            tick(i, len(shown), tr("Drawing"))
            column, line = divmod(i, ROWS)
            x, down = MARGIN + column * COLUMN, HEAD + 0.42 + line * ROW
            middle = down + FACE / 2
            page.face(x, down, FACE, home, int(rows[at]), pixels=96)
            room = ENDS[0] - FACE - 0.08 - 0.28
            page.text(x + FACE + 0.08, middle, elided(escaped(names[at]), 6.2, room), size=6.2)
            if not known[at]:
                page.text(x + ENDS[2], middle, tr("nobody to find"), size=6, ink="text3", ha="right")
                continue
            page.text(x + ENDS[0], middle, f"{before[at]:,}", size=6.5, ink="text2", ha="right")
            page.text(x + ENDS[1], middle, f"{after[at]:,}", size=6.5, fontweight="bold", ha="right")
            page.text(x + ENDS[2], middle, _moved(int(change[at])), size=6.5, ink=_ink(int(change[at])), ha="right")
        page.foot(foot)
        tick(len(shown), len(shown))
        return page.figure


def draw_occlusion_ranks(
    ranks: Mapping[str, tuple[int, int]], *, now: str, query: str, plan: MatchPlan, told: Sequence[str]
) -> Figure:
    """Where the first right face of one query stands under each kind of occlusion; that of the page is bold."""
    rows, inks, bold = [], [], set[int]()
    for i, (kind, (before, after)) in enumerate(ranks.items()):
        change = before - after
        rows.append([title(kind), *(f"{rank:,}" if rank else tr("none") for rank in (before, after)), _moved(change)])
        inks.append(["", "", "", _ink(change)])
        if kind == now:
            bold.add(i)
    columns = [
        Column(tr("painted on the query"), 1.7, right=False), Column(tr("before"), 0.8), Column(tr("after"), 0.8),
        Column(tr("change"), 0.8),
    ]  # fmt: skip
    foot = [
        tr("query: {name}", name=escaped(query)), tr("rank of the first right face, by cosine and after the patches"),
        *plan_words(plan), *([] if all(before for before, _ in ranks.values()) else [tr("none: nobody to find")]),
    ]  # fmt: skip
    table = Table(columns, rows, bold=bold, inks=inks)
    return draw_table(tr("Same query, other occlusions"), told, table, foot)


def _moved(change: int) -> str:
    return f"▲ {change:,}" if change > 0 else f"▼ {-change:,}" if change else "="


def _ink(change: int) -> str:
    return "good" if change > 0 else "bad" if change else "text3"
