"""Figures of the second stage of a search: who came first before and after it, and what it does to many queries.

Every figure names gallery, model, grid and how was searched. Right and wrong, up and down are told by shape as well as
by colour.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from facelens.analyses.decisions import Verified
from facelens.analyses.measure import Measure
from facelens.analyses.plan import MatchPlan
from facelens.analyses.reranking import Reranked, Sweep, SweepRow, blended, order
from facelens.errors import InputError
from facelens.figures.charts import REFERENCE
from facelens.figures.match_words import alpha_title, plan_words, setting, solver_words, weights_title
from facelens.figures.page import HEAD, LINE, MARGIN, Page, elided, lines, mark, undefined, wide
from facelens.figures.part_study import chart, name_ends
from facelens.figures.rails import Rails, reach
from facelens.figures.style import INK, style
from facelens.figures.swept import MEASURES, curve, measured, steps
from facelens.figures.tabular import Column, Table, draw_table
from facelens.figures.transport import Face
from facelens.images.faceset import FaceSet
from facelens.progress import Tick, silent
from facelens.words import escaped, number, plural, tr

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TOP, MOST = 8, 10  # faces of either stage
FACE, ROW = 0.56, 0.66  # inches of a face, and from one to the next
QUERY = 1.3
BEFORE, AFTER = 1.78, 4.5  # inches where the two columns begin
NAMES = 0.95  # of what stands beside a face
LOOKS: dict[str, dict[str, Any]] = {  # of weights: never told by colour alone
    "uniform": {"color": "#0a63c9", "marker": "o", "linestyle": "-"},
    "apc": {"color": "#8a6100", "marker": "s", "linestyle": (0, (6, 1.6))},
    "sc distance": {"color": "#007e7f", "marker": "^", "linestyle": (0, (4, 1.4, 1.2, 1.4))},
    "sc similarity": {"color": "#8c4d90", "marker": "D", "linestyle": (0, (2.4, 1.4))},
    "cc": {"color": "#4a4a4a", "marker": "v", "linestyle": (0, (8, 1.6, 1.2, 1.6, 1.2, 1.6))},
    "lmk": {"color": "#5b7a1d", "marker": "P", "linestyle": (0, (1.4, 1.2))},
}
SUM, BESIDE = 1.16, 0.036  # where plain sums stand on the axis of alpha, and how far apart
MARKED = 12  # steps up to which each has a mark


# Who came first


def draw_ranking(
    faces: FaceSet,
    found: Reranked,
    *,
    query: Face,
    right: NDArray[np.bool_] | None,
    first: tuple[int, int],
    plan: MatchPlan,
    told: Sequence[str],
    top: int = TOP,
    tick: Tick = silent,
) -> Figure:
    """The query, the first faces by cosine and the first ones after the second stage, joined by lines.

    `right` (k,) says which of the shortlist are who is searched for, None: not known; `first` are the ranks of the
    first of them before and after, 0 where there is none.
    """
    places = order(found, alpha=plan.alpha)
    shown = min(top, MOST, len(places))
    distance = blended(found.cosine, found.emd, alpha=plan.alpha)
    after = np.empty(len(places), np.int64)
    after[places] = np.arange(len(places))
    width = AFTER + 0.2 + FACE + 0.08 + NAMES + MARGIN
    foot = [*plan_words(plan), tr("Stage 2 looks at the first {k} of stage 1", k=len(places))]
    if right is not None:
        foot.append(tr("disc with a check: right, square with a cross: wrong"))
    with style():
        body = max(shown * ROW, QUERY + 0.95)
        page = Page(width, HEAD + 0.3 + body + 0.24 + LINE * len(lines(foot, width - 2 * MARGIN)))
        page.head(tr("Before and after the second stage"), told)
        head, start = HEAD + 0.08, HEAD + 0.24
        _query(page, start, query, first if right is not None else None)
        page.text(BEFORE, head, tr("Stage 1: cosine, higher is closer"), size=6.5, ink="text2")
        named = tr("Stage 2: sum, lower is closer") if plan.alpha < 0 else tr("Stage 2: blended, lower is closer")
        page.text(AFTER, head, named, size=6.5, ink="text2")
        _slopes(page, start, after, places, right, shown)
        for rank in range(shown):
            tick(rank, shown, tr("Drawing"))
            down, entry = start + rank * ROW, int(places[rank])
            one = rank, _row(faces, found, rank), None if right is None else bool(right[rank])
            _candidate(page, BEFORE, down, faces, one, [number(float(found.cosine[rank]))])
            one = rank, _row(faces, found, entry), None if right is None else bool(right[entry])
            _candidate(page, AFTER, down, faces, one, [number(float(distance[entry])), _moved(entry, rank)])
        if right is not None and first[0]:
            for x, rank in zip((BEFORE, AFTER), first):
                if rank > shown:
                    words = tr("first right face at rank {rank}", rank=rank)
                    page.text(x, start + shown * ROW + 0.02, words, size=6, ink="good")
        page.foot(foot)
        tick(shown, shown)
        return page.figure


def _row(faces: FaceSet, found: Reranked, entry: int) -> int | None:
    return faces.row_of(int(found.ids[entry]))


def _query(page: Page, top: float, query: Face, first: tuple[int, int] | None) -> None:
    """The face that is searched for, and where the first right one stands."""
    high = QUERY / max(1.0, query.size[1] / query.size[0])
    axes = page.bare(MARGIN, top, high * query.size[1] / query.size[0], high)
    axes.imshow(query.picture, extent=(0, 1, 0, 1), aspect="auto", interpolation="bilinear")
    room = BEFORE - MARGIN - 0.15
    page.text(MARGIN, top + high + 0.12, elided(escaped(query.name), 7, room, bold=True), size=7, fontweight="bold")
    page.text(MARGIN, top + high + 0.26, elided(query.told or tr("query"), 6.5, room), size=6.5, ink="text2")
    if first is None:
        return
    page.text(MARGIN, top + high + 0.46, tr("first right face, rank"), size=6, ink="text3")
    if not first[0]:
        page.text(MARGIN, top + high + 0.64, tr("nobody to find"), size=7)
        return
    words = tr("{before} → {after}", before=first[0], after=first[1])
    page.text(MARGIN, top + high + 0.66, words, size=13, fontweight="bold")
    x = MARGIN + wide(words, 13, bold=True) + 0.14
    mark(page.bare(x - 0.1, top + high + 0.56, 0.2, 0.2), first[1] == 1, x=0.5, y=0.5)


def _candidate(
    page: Page, x: float, down: float, faces: FaceSet, one: tuple[int, int | None, bool | None], told: Sequence[str]
) -> None:
    """A face of the shortlist: its rank, its picture, who it is and what is told of it."""
    rank, row, right = one
    page.text(x + 0.1, down + FACE / 2, str(rank + 1), size=6.5, ink="text3", ha="right")
    axes = page.face(x + 0.2, down, FACE, faces, row, pixels=112)
    if right is not None:
        mark(axes, right, x=0.97, y=0.95, size=6.5)
    beside = x + 0.2 + FACE + 0.08
    name = escaped(faces.label(row)) if row is not None else ""
    page.text(beside, down + FACE / 2 - 0.13, elided(name, 6, NAMES), size=6)
    for i, line in enumerate(told):
        page.text(beside, down + FACE / 2 + 0.12 * i, line, size=6, ink="text2" if not i else "text3")


def _moved(before: int, after: int) -> str:
    """How a face changed its place."""
    if before == after:
        return tr("same rank")
    sign = "▲" if after < before else "▼"
    return tr("{sign} from {rank}", sign=sign, rank=before + 1)


def _slopes(
    page: Page, top: float, after: NDArray[np.int64], places: NDArray[np.int64], right: NDArray[np.bool_] | None,
    shown: int,
) -> None:  # fmt: skip
    """Lines between the columns; those that come from below the fold are dashed, those that go there end at it."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    left, end = BEFORE + 0.2 + FACE + 0.08 + NAMES, AFTER - 0.06
    axes = page.axes(left, top, end - left, shown * ROW)
    axes.set_axis_off()
    axes.set(xlim=(0, 1), ylim=(shown * ROW, 0))
    fold = shown * ROW
    for entry in dict.fromkeys([*range(shown), *places[:shown].tolist()]):
        good = right is not None and bool(right[entry])
        y0, y1 = (min(rank * ROW + FACE / 2, fold) for rank in (entry, int(after[entry])))
        below = entry >= shown
        axes.add_patch(
            PathPatch(
                Path([(0, y0), (0.5, y0), (0.5, y1), (1, y1)], [1, 4, 4, 4]), facecolor="none",
                edgecolor=INK["good" if good else "text3"], linewidth=2.0 if good else 0.7,
                linestyle=(0, (3, 1.6)) if below else "-", alpha=1.0 if good else 0.8, zorder=3 if good else 2,
            )
        )  # fmt: skip


# What it does to many


def _ends(one: Measure) -> tuple[float, float, float]:
    assert one.value is not None
    return one.value, one.value if one.low is None else one.low, one.value if one.high is None else one.high


def draw_sweep(sweep: Sweep, *, plan: MatchPlan, told: Sequence[str]) -> Figure:
    """P@1, RP and MAP@R against alpha, a curve for each way to weigh patches; cosine alone is dotted."""
    across, tall, step = 1.75, 2.1, 2.62
    known = [one for one in sweep.before.values() if one.defined]
    counted = max((one.n for one in known), default=0)
    foot = [
        tr("bands: 95 % intervals, people resampled")
        if any(one.low is not None for one in known)
        else tr("without intervals"),
        tr("dotted: cosine alone"),
        solver_words(sweep.solver, plan.epsilon),
        tr("shortlist {k}", k=sweep.shortlist or tr("all")),
        sweep.how.removesuffix("."),
        plural(counted, "N = {n} query with somebody to find", "N = {n} queries with somebody to find"),
        *([] if sweep.complete else [tr("not complete: the sweep was still running")]),
    ]
    width = 0.42 + 3 * step
    with style():
        page = Page(width, HEAD + 0.42 + tall + 0.62 + LINE * (len(lines(foot, width - 2 * MARGIN)) - 1))
        page.head(tr("What the second stage does, by the share of the patches"), told)
        for i, name in enumerate(MEASURES):
            x, top = 0.42 + i * step, HEAD + 0.42
            page.text(x - 0.32, HEAD + 0.05, tr("{name}, higher is better", name=name), size=7, ink="text2")
            page.text(x - 0.32, HEAD + 0.19, _at(sweep, plan, name), size=6, ink="text3")
            _curves(page, (x, top, across, tall), sweep, plan, name)
            page.text(x + across, top + tall + 0.25, tr("α, share of EMD"), size=6.5, ink="text2", ha="right")
        page.foot(foot)
        return page.figure


def _at(sweep: Sweep, plan: MatchPlan, name: str) -> str:
    """What the chosen weights reach at the chosen alpha, where that was tried."""
    row = next((row for row in sweep.rows if row.weights == plan.weights), None)
    if row is None or plan.alpha not in row.alphas or name not in row.measures:
        return ""
    value = row.measures[name][row.alphas.index(plan.alpha)].text(3)
    return f"{weights_title(plan.weights)}, {alpha_title(plan.alpha)}: {value}"


def _curves(page: Page, box: tuple[float, float, float, float], sweep: Sweep, plan: MatchPlan, name: str) -> None:
    axes = page.axes(*box)
    before = sweep.before[name]
    rows = [(row, curve(row, name)) for row in sweep.rows]
    sums = [(row, _summed(row, name)) for row in sweep.rows]
    known = [part for _, (_, *parts) in rows for part in parts if len(part)]
    known += [np.array(_ends(one)) for one in (before, *(one for _, one in sums if one is not None)) if one.defined]
    if not known:
        undefined(axes, 0, 0, 1, 1)
        axes.set_axis_off()
        return
    every = np.concatenate(known)
    low, high = float(every.min()), float(every.max())
    spare = max(0.06 * (high - low), 0.005)
    summed = any(one is not None for _, one in sums)
    chart(axes, (-0.02, SUM + 0.1 if summed else 1.02), (max(0.0, low - spare), min(1.0, high + spare)), room=5)
    axes.set_xticks([0, 0.5, 1.0, *([SUM] if summed else [])], ["0", "0.5", "1", *([tr("sum")] if summed else [])])
    if plan.alpha >= 0:
        axes.axvline(plan.alpha, color=INK["text"], linewidth=0.8, alpha=0.5, zorder=1)
    ends = []
    if before.defined and before.value is not None:
        axes.axhline(before.value, color=INK["text2"], linewidth=REFERENCE, linestyle=(0, (1, 2)), zorder=2)
        ends.append((before.value, tr("cosine"), INK["text2"]))
    for row, (x, y, least, most) in rows:
        look, front = LOOKS.get(row.weights, LOOKS["uniform"]), row.weights == plan.weights
        axes.fill_between(x, least, most, color=look["color"], alpha=0.2 if front else 0.05, linewidth=0)
        marks = 1 if len(x) <= MARKED else max(1, len(x) // 5)
        axes.plot(
            x, y, linewidth=2.0 if front else 1.2, markersize=3, markevery=marks, zorder=4 if front else 3,
            clip_on=False, **look,
        )  # fmt: skip
        if len(y):
            ends.append((float(y[-1]), weights_title(row.weights), str(look["color"])))
    for i, (row, one) in enumerate(sums):
        if one is not None:
            value, lowest, highest = _ends(one)
            look = LOOKS.get(row.weights, LOOKS["uniform"])
            reach = [[max(value - lowest, 0.0)], [max(highest - value, 0.0)]]
            axes.errorbar(
                SUM + BESIDE * (i - (len(sums) - 1) / 2), value, yerr=np.array(reach), fmt=look["marker"],
                color=look["color"], markersize=2.6, elinewidth=0.7, capsize=1.2, alpha=0.9, clip_on=False,
            )  # fmt: skip
    name_ends(page, axes, box[0] + box[2] + 0.06, ends)


def _summed(row: SweepRow, name: str) -> Measure | None:
    """The plain sum, where it was tried and there is a value."""
    tried = [one for alpha, one in zip(row.alphas, row.measures.get(name, ())) if alpha < 0 and one.defined]
    return tried[0] if tried else None


def draw_before_after(sweep: Sweep, *, plan: MatchPlan, told: Sequence[str]) -> Figure:
    """P@1, RP and MAP@R by cosine alone and with each way to weigh patches; the one of the plan is bold."""
    found = steps(sweep, plan.alpha)
    known = max((one.n for one in sweep.before.values() if one.defined), default=0)
    rows, inks, bold = [], [], set[int]()
    for i, step in enumerate(found):
        name = weights_title(step.weights) if step.weights else tr("Stage 1: cosine")
        moved = ["", ""] if not step.weights else [f"{step.better:,}", f"{step.worse:,}"]
        rows.append([name, *(step.measures[one].text(3) for one in MEASURES), *moved])
        inks.append([""] * 4 + ["good" if step.better else "text3", "bad" if step.worse else "text3"])
        if step.weights and step.weights == plan.weights:
            bold.add(i)
    columns = [Column("", 1.25, right=False), *(Column(one, 1.55) for one in MEASURES)]
    columns += [Column(tr("▲ better"), 0.7), Column(tr("▼ worse"), 0.65)]
    foot = [
        tr("Stage 2 at {alpha}", alpha=alpha_title(found[-1].alpha if len(found) > 1 else plan.alpha)),
        solver_words(sweep.solver, plan.epsilon), tr("shortlist {k}", k=sweep.shortlist or tr("all")),
        sweep.how.removesuffix("."), plural(known, "N = {n} query", "N = {n} queries"),
        tr("higher is better, 95 % intervals, people resampled"),
        tr("better, worse: queries whose first right face comes earlier, later"),
        *([] if sweep.complete else [tr("not complete: the sweep was still running")]),
    ]  # fmt: skip
    table = Table(columns, rows, bold=bold, rules={0}, groups=[(1, 3, tr("means over queries"))], inks=inks)
    return draw_table(tr("Before and after the second stage, all queries"), told, table, foot)


def draw_settings(
    tried: Sequence[tuple[MatchPlan, Sweep]], *, by: str, plan: MatchPlan, told: Sequence[str]
) -> Figure:
    """P@1, RP and MAP@R at the plan's alpha and weights for several grids or solvers, as `by` says; its own is bold."""
    rows = [(asked, sweep, row) for asked, sweep in tried for row in sweep.rows if row.weights == plan.weights]
    if len(rows) < 2:
        few = tr("Only one grid was tried.") if by == "grid" else tr("Only one solver was tried.")
        raise InputError(few, hint=tr("Search for all faces with another one."))
    values = [(sweep.before[name], measured(row, name, plan.alpha)) for name in MEASURES for _, sweep, row in rows]
    limits = reach([one for two in values for one in two])
    if limits is None:
        raise InputError(tr("Nobody could be searched for, so there is nothing to draw."))
    sweep, n = rows[0][1], len(rows)
    foot = [
        tr("ring: cosine alone, disc: after the second stage"),
        tr("weights {name}", name=weights_title(plan.weights)), alpha_title(plan.alpha),
        *([solver_words(plan.solver, plan.epsilon)] if by == "grid" else []),
        tr("shortlist {k}", k=sweep.shortlist or tr("all")), sweep.how.removesuffix("."),
        tr("95 % intervals, people resampled"),
    ]  # fmt: skip
    titles = {"grid": tr("What the second stage does, by grid"), "solver": tr("What the second stage does, by solver")}
    with style():
        rails = Rails(titles[by], told, len(MEASURES) * (n + 1), limits, foot, row=0.22, names=1.6, values=1.5)
        rails.rates()
        for i, name in enumerate(MEASURES):
            rails.write(i * (n + 1), tr("{name}, higher is better", name=name), "", ink="text2")
            for k, (asked, _, _) in enumerate(rows):
                y, (before, after) = i * (n + 1) + k + 1, values[i * n + k]
                front = setting(asked, by) == setting(plan, by)
                rails.write(y, setting(asked, by), after.text(3), bold=front)
                rails.point(Measure(before.value) if before.defined else before, y, INK["text3"], filled=False)
                rails.point(after, y, INK["accent" if front else "text2"])
        return rails.page.figure


# Pairs that a test lists


def draw_verified(verified: Verified, *, plan: MatchPlan, told: Sequence[str]) -> Figure:
    """How well listed pairs are decided by the blended distance at each share of the patches; that of the plan is bold.

    After Phan, Nguyen, "DeepFace-EMD", CVPR 2022, table S6.
    """
    rows, bold = [], set[int]()
    for i, (alpha, found) in enumerate(zip(verified.alphas, verified.found)):
        name = tr("cosine alone (α 0)") if alpha == 0 else alpha_title(alpha)
        folds = found.folds.share if found.folds is not None else Measure.none(tr("the list has no folds"))
        rows.append([name, found.best.share.text(3), folds.text(3), found.eer.text(3), found.auc.text(4)])
        if alpha == plan.alpha:
            bold.add(i)
    if not rows:
        raise InputError(tr("No pair of this test can be compared by patches."), hint=tr("Embed the gallery."))
    first = verified.found[0]
    columns = [
        Column("", 1.35, right=False), Column(tr("accuracy, best threshold"), 1.6), Column(tr("accuracy, folds"), 1.6),
        Column(tr("EER, lower is better"), 1.6), Column(tr("AUC"), 1.75),
    ]  # fmt: skip
    foot = [
        tr("score: 1 − distance"), tr("weights {name}", name=weights_title(verified.weights)),
        solver_words(verified.solver, plan.epsilon),
        tr("{g} genuine, {i} impostor pairs", g=first.n_genuine, i=first.n_impostor),
        tr("the best threshold is chosen on the pairs themselves, those of folds on the other folds"),
        tr("95 % intervals") if first.resamples else tr("no intervals"),
    ]  # fmt: skip
    table = Table(columns, rows, bold=bold, rules={0} if verified.alphas[0] == 0 else ())
    return draw_table(tr("Listed pairs by patches: one person or two"), told, table, foot)
