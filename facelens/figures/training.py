"""Figures of a training, for a paper or a note: its curves, how sure sub-embeddings are, how learners share the faces.

Drawn from the rows that a training writes every few steps. Every figure names what is trained, on whom, and the steps.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from facelens.errors import InputError
from facelens.figures.charts import REFERENCE, SUBJECT
from facelens.figures.hues import oklch
from facelens.figures.page import HATCH, HEAD, LINE, MARGIN, Page, elided, lines, wide
from facelens.figures.part_study import name_ends
from facelens.figures.scales import Array, forward, ticks
from facelens.figures.style import INK, style
from facelens.words import plural, tr

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

POINTS = 400  # of a curve; of more neighbours are averaged
MOST = 8  # curves of a chart
MAGNITUDES = 30.0  # terms that lie so far apart stand on a logarithmic axis
ACROSS, TALL, NAMES = 2.3, 1.7, 1.4  # inches of a chart, and of the names at its right
STEP = 0.5 + ACROSS + NAMES
HUES = (85, 195, 325, 40, 285, 145, 240, 10)  # degrees, far from each other in this order
DASHES: tuple[tuple[float, ...], ...] = ((), (5, 2.5), (1.5, 2), (6, 2, 1.5, 2))
METRICS = {"precision_at_1": "P@1", "tar_at_far_1e-2": "TAR @ FAR 1e-2"}
CLUSTERS = {"kept": "kept their learner", "stability": "NMI with those before"}
TOLD_APART = (*CLUSTERS, "phase", "sizes", "confidence", "confidences")  # facts that have figures of their own
VARIATIONS = 4  # rows of confidences
RATE, SIZES = "rate rate", "sizes"  # keys of the learning rate, and of the learners with their number behind it

Row = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Curve:
    """Values (n,) at steps (n,) that have one."""

    name: str
    steps: Array
    values: Array
    leads: bool = False
    key: str = ""  # by which it can be hidden: the part of the rows, and its name there
    place: int = 0  # among all, hidden ones too: what its colour follows from

    @property
    def last(self) -> str:
        """The newest value, in four figures."""
        return f"{self.values[-1]:.4g}".replace("-", "−") if len(self.values) else ""


def curves(rows: Sequence[Row], part: str, *, lead: str = "", words: Mapping[str, str] | None = None,
           only: Sequence[str] = (), but: Sequence[str] = ()) -> list[Curve]:  # fmt: skip
    """A curve for each number in a part of the rows, in the order in which they first came."""
    names = dict.fromkeys(
        name for row in rows for name, one in row.get(part, {}).items() if isinstance(one, (int, float))
    )
    made: list[Curve] = []
    for name in only or names:
        if name not in names or name in but:
            continue
        known = [(float(row["step"]), float(row[part][name])) for row in rows if _there(row.get(part, {}).get(name))]
        steps, values = np.array(known, np.float64).reshape(-1, 2).T
        *which, last = name.split(" ")
        called = " ".join([*which, tr((words or {})[last]) if words and last in words else last.replace("_", " ")])
        key, place = f"{part} {name}", len(made)
        made.append(Curve(called, *thinned(steps, values), leads=name == lead, key=key, place=place))
    return [one for one in made if len(one.values)]


def _there(value: object) -> bool:
    return isinstance(value, (int, float)) and math.isfinite(value)


def thinned(steps: Array, values: Array, most: int = POINTS) -> tuple[Array, Array]:
    """At most `most` points: means of neighbours, at the last step of each.

    >>> thinned(np.arange(4.0), np.array([1.0, 3.0, 5.0, 7.0]), 2)
    (array([1., 3.]), array([2., 6.]))
    """
    together = -(-len(values) // most)
    if together <= 1:
        return steps, values
    starts = np.arange(0, len(values), together)
    counts = np.diff(np.append(starts, len(values)))
    return steps[starts + counts - 1], np.add.reduceat(values, starts) / counts


def far_apart(some: Sequence[Curve]) -> bool:
    """Whether some curves would lie flat on the axis beside the others, and a logarithmic one can show them all."""
    known = [one.values[one.values > 0] for one in some]
    known = [values for values in known if len(values)]
    if len(known) < 2 or any((one.values < 0).any() for one in some):
        return False
    return bool(max(values.max() for values in known) > MAGNITUDES * min(np.median(values) for values in known))


# Curves


def draw_curves(
    rows: Sequence[Row], told: Sequence[str], *, log: bool | None = None, hidden: Collection[str] = ()
) -> Figure:
    """Terms of the loss, validation, the learning rate, and what else the kind tells; the loss itself leads.

    `log` says whether terms stand on a logarithmic axis; None: where they lie far apart. `hidden` are keys of curves
    that are left out; the others keep their colours.
    """
    charts: list[tuple[str, list[Curve], dict[str, Any]]] = []
    if terms := curves(rows, "terms", lead="loss"):
        how = {"log": far_apart(terms) if log is None else log}
        charts.append((tr("terms of the loss, lower is better"), terms, how))
    if checks := curves(rows, "validation", words=METRICS):
        charts.append((tr("held-out people, higher is better"), checks, {"unit": True}))
    rate = [(float(row["step"]), float(row["rate"])) for row in rows if _there(row.get("rate"))]
    if rate:
        steps, values = np.array(rate).T
        charts.append((tr("learning rate"), [Curve(tr("rate"), *thinned(steps, values), leads=True, key=RATE)], {}))
    if facts := curves(rows, "facts", but=TOLD_APART):
        charts.append((tr("facts"), facts, {"log": far_apart(facts)}))
    if not charts:
        raise InputError(tr("The training has told nothing yet."), hint=tr("Wait for its first row."))
    seen = [(title, _seen(some, hidden), how) for title, some, how in charts]
    missing = sum(len(some) for _, some, _ in charts) - sum(len(some) for _, some, _ in seen)
    charts = [one for one in seen if one[1]]
    if not charts:
        raise InputError(tr("All curves are hidden."), hint=tr("Click a name over a chart to show its curve."))
    across = min(len(charts), 2)
    down = -(-len(charts) // 2)
    width = max(MARGIN + across * STEP, 5.0)
    foot = [tr("at the right end of a curve: its name and last value"), *_steps(rows)]
    foot += _missing(missing)
    with style():
        page = Page(width, HEAD + down * (TALL + 0.72) + 0.12 + LINE * len(lines(foot, width - 2 * MARGIN)))
        page.head(tr("Training"), told)
        for i, (title, some, how) in enumerate(charts):
            x, top = MARGIN + i % 2 * STEP, HEAD + i // 2 * (TALL + 0.72)
            page.text(x, top + 0.08, tr("{title} (log)", title=title) if how.get("log") else title, size=7, ink="text2")
            _chart(page, x, top + 0.2, some, _total(rows), **how)
        page.foot(foot)
        return page.figure


def _seen(some: Sequence[Curve], hidden: Collection[str]) -> list[Curve]:
    """Those that are not hidden, as many as a chart has."""
    return [one for one in some if one.key not in hidden][:MOST]


def _missing(n: int) -> list[str]:
    return [plural(n, "{n} more curve is not drawn", "{n} more curves are not drawn")] if n else []


def _total(rows: Sequence[Row]) -> int:
    return max(int(rows[-1]["steps"]), 1) if rows else 1


def _steps(rows: Sequence[Row]) -> list[str]:
    """How far it was."""
    if not rows:
        return []
    last, total = int(rows[-1]["step"]), _total(rows)
    if last >= total:
        return [plural(total, "{n} step", "{n} steps")]
    return [tr("{done} of {total} steps: it was not finished", done=last, total=total)]


def _chart(
    page: Page, x: float, top: float, some: Sequence[Curve], steps: int, *, log: bool = False, unit: bool = False
) -> Axes:  # fmt: skip
    """A chart over steps; names stand at the right ends, apart from one another."""
    axes = page.axes(x + 0.42, top, ACROSS, TALL)
    known = np.concatenate([one.values for one in some])
    known = known[known > 0] if log else known
    scale = "log" if log else "linear"
    drawn = forward(scale, known)
    low, high = (float(drawn.min()), float(drawn.max())) if len(drawn) else (0.0, 1.0)
    spare = 0.05 * (high - low) or 0.05 * abs(high) or 0.5
    low, high = low - spare, high + spare
    if unit:
        low, high = max(0.0, low), min(1.02, high)
    elif not log and known.min(initial=0.0) >= 0:
        low = 0.0
    axes.set(xlim=(0, steps), ylim=(low, high))
    marks = ticks(scale, low, high, room=5)
    axes.set_yticks([place for place, _ in marks], [text for _, text in marks])
    across = ticks("linear", 0.0, float(steps), room=4)
    axes.set_xticks([place for place, _ in across], [text for _, text in across])
    axes.tick_params(axis="y", labelsize=6, length=0, pad=3)
    axes.tick_params(axis="x", labelsize=6, length=2, pad=2)
    axes.set_axisbelow(True)
    axes.grid(True, axis="y", color=INK["text"], alpha=0.09, linewidth=0.7)
    ends = []
    for one in sorted(some, key=lambda one: one.leads):
        there = one.values > 0 if log else np.isfinite(one.values)
        if not there.any():
            continue
        colour, dash = (INK["text"], ()) if one.leads else (shade(one.place), DASHES[one.place % len(DASHES)])
        look: dict[str, Any] = {"dashes": dash} if dash else {}
        look |= {"marker": "o", "markersize": 3} if there.sum() == 1 else {}
        values = forward(scale, one.values[there])
        axes.plot(
            one.steps[there], values, color=colour, linewidth=SUBJECT if one.leads else REFERENCE + 0.1,
            zorder=4 if one.leads else 3, clip_on=False, **look,
        )  # fmt: skip
        name = elided(one.name, 6.5, NAMES - 0.16 - wide(one.last, 6.5))
        ends.append((float(values[-1]), f"{name} {one.last}", colour))
    name_ends(page, axes, x + 0.42 + ACROSS + 0.06, ends)
    page.text(x + 0.42 + ACROSS, top + TALL + 0.26, tr("step"), size=7, ink="text2", ha="right")
    return axes


def shade(place: int) -> str:
    """The colour of the curve at a place."""
    rgb = oklch(0.52, 0.125, math.radians(HUES[place % len(HUES)]))
    return "#" + "".join(f"{round(255 * part):02x}" for part in rgb)


# Confidences of sub-embeddings


def draw_confidences(rows: Sequence[Row], told: Sequence[str]) -> Figure:
    """How sure each sub-embedding is of held-out faces, as they are against each variation, at the last step told.

    After Shi et al., "Towards Universal Representation Learning", CVPR 2020, supplement, fig. 1.
    """
    found = [(int(row["step"]), row["facts"]["confidences"]) for row in rows if row.get("facts", {}).get("confidences")]
    if not found:
        raise InputError(
            tr("This training tells of no confidences."), hint=tr("Sub-embeddings with confidences come of universal.")
        )
    step, said = found[-1]
    groups = said["groups"]
    shown = [name for name in groups if name != "clean"][:VARIATIONS] or [""]
    K = len(next(iter(groups.values()))["counts"])
    cell = min(max(5.2 / K, 0.34), 0.72)
    width, high = max(MARGIN + 0.5 + K * cell + MARGIN, 5.0), 1.35
    foot = [
        tr("left half, filled: faces as they are"), tr("right half, hatched: faces with the variation"),
        tr("width: share of faces, one scale for all parts"), tr("line: median"),
        tr("held-out faces at step {n}", n=step),
    ]  # fmt: skip
    shares = {name: _shares(one) for name, one in groups.items() if name in (*shown, "clean")}
    widest = max(float(some.max()) for some in shares.values()) or 1.0
    low, top_value = float(np.log10(said["low"])), float(np.log10(said["high"]))
    with style():
        page = Page(width, HEAD + len(shown) * (high + 0.52) + 0.12 + LINE * len(lines(foot, width - 2 * MARGIN)))
        page.head(tr("How sure each sub-embedding is: confidence (log), higher is surer"), told)
        for i, name in enumerate(shown):
            top = HEAD + i * (high + 0.52)
            page.text(MARGIN, top + 0.08, _against(groups, name), size=7, ink="text2")
            axes = page.axes(MARGIN + 0.5, top + 0.32, K * cell, high)
            axes.set(xlim=(0, K), ylim=(low, top_value), xticks=[])
            axes.spines[:].set_visible(False)
            marks = ticks("log", low, top_value, room=5)
            axes.set_yticks([place for place, _ in marks], [text for _, text in marks])
            axes.tick_params(axis="y", labelsize=6, length=0, pad=3)
            axes.grid(True, axis="y", color=INK["text"], alpha=0.09, linewidth=0.7)
            axes.set_axisbelow(True)
            for k in range(K):
                page.text(MARGIN + 0.5 + (k + 0.5) * cell, top + 0.24, str(k + 1), size=6, ink="text2", ha="center")
                for group, left in (("clean", True), (name, False)):
                    if group in shares:
                        edges = np.linspace(low, top_value, shares[group].shape[1] + 1)
                        _half(axes, k + 0.5, edges, shares[group][k] / widest, left=left)
                        middle = math.log10(max(groups[group]["quantiles"][k][2], 1e-12))
                        reach = -0.3 if left else 0.3
                        axes.plot([k + 0.5, k + 0.5 + reach], [middle] * 2, color=INK["text"], linewidth=1.3, zorder=4)
                axes.axvline(k + 0.5, color="#ababab", linewidth=0.5, zorder=1)
        page.foot(foot)
        return page.figure


def _shares(group: Mapping[str, Any]) -> Array:
    """(K, bins) of the faces."""
    return np.array([np.divide(part, max(sum(part), 1)) for part in group["counts"]], np.float64)


def _against(groups: Mapping[str, Any], name: str) -> str:
    """Who stands at the left and at the right, with N."""
    said = []
    for group in ("clean", name):
        if group in groups:
            n = sum(groups[group]["counts"][0])
            said.append(tr("{name}, N = {n}", name=tr(group.replace("_", " ")), n=n))
    return tr(" against ").join(said)


def _half(axes: Axes, x: float, edges: Array, shares: Array, *, left: bool) -> None:
    """A histogram that stands upright, to one side of a line."""
    reach = (-0.46 if left else 0.46) * shares
    ink = shade(1 if left else 3)
    look: dict[str, Any] = {"facecolor": (ink, 0.27)} if left else {"facecolor": "none", "hatch": HATCH}
    axes.barh(
        edges[:-1],
        reach,
        np.diff(edges),
        x,
        align="edge",
        edgecolor=ink,
        linewidth=0 if left else 0.0,
        zorder=2,
        **look,
    )
    outline = np.where(shares > 0, x + reach, np.nan)
    axes.stairs(outline, edges, orientation="horizontal", color=ink, linewidth=0.8, baseline=None, zorder=3)


# Clusters of learners


def draw_clusters(rows: Sequence[Row], told: Sequence[str], *, hidden: Collection[str] = ()) -> Figure:
    """How many faces keep their learner when they are divided anew, and how many each learner has.

    `hidden` are keys of curves that are left out.
    """
    kept = curves(rows, "facts", only=tuple(CLUSTERS), lead="kept", words=CLUSTERS)
    sizes = [(float(row["step"]), row["facts"]["sizes"]) for row in rows if row.get("facts", {}).get("sizes")]
    if not sizes:
        raise InputError(tr("This training divides no faces."), hint=tr("Learners with clusters come of divided."))
    at = np.array([step for step, _ in sizes])
    shares = np.array([np.divide(counts, max(sum(counts), 1)) for _, counts in sizes])
    learners = [
        Curve(tr("learner {n}", n=i + 1), at, shares[:, i], key=f"{SIZES} {i + 1}", place=i)
        for i in range(shares.shape[1])
    ]
    merged = next((int(row["step"]) for row in rows if row.get("facts", {}).get("phase") == "merged"), None)
    charts = [(tr("share of faces, NMI; 1 is stable"), kept), (tr("share of all faces"), learners)]
    seen = [(title, _seen(some, hidden), some is kept) for title, some in charts]
    missing = sum(len(some) for _, some in charts) - sum(len(some) for _, some, _ in seen)
    seen = [one for one in seen if one[1]]
    if not seen:
        raise InputError(tr("All curves are hidden."), hint=tr("Click a name over a chart to show its curve."))
    width = max(MARGIN + len(seen) * STEP, 5.0)
    foot = _steps(rows) + ([tr("grey: merged, all learn from all")] if merged is not None else [])
    foot += _missing(missing)
    with style():
        page = Page(width, HEAD + TALL + 0.84 + LINE * len(lines(foot, width - 2 * MARGIN)))
        page.head(tr("Clusters of the learners"), told)
        for i, (title, some, unit) in enumerate(seen):
            x = MARGIN + i * STEP
            page.text(x, HEAD + 0.08, title, size=7, ink="text2")
            axes = _chart(page, x, HEAD + 0.2, some, _total(rows), unit=unit)
            if merged is not None and merged < _total(rows):
                axes.axvspan(merged, _total(rows), color=INK["text"], alpha=0.06, linewidth=0)
        page.foot(foot)
        return page.figure
