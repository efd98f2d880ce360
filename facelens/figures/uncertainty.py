"""Figures of an ensemble's uncertainty, for a paper or a note: the spread of a score, and what refusing by it does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from facelens.analyses.rejection import Risk
from facelens.errors import InputError
from facelens.figures import page
from facelens.figures.charts import REFERENCE, SUBJECT, Limits, Plot
from facelens.figures.labels import Box, beside
from facelens.figures.refusal import (
    PERCENTILES,
    asked,
    at,
    compared,
    curve_names,
    gaps,
    percent,
    refusal_words,
    risk_limits,
    runs,
    undefined,
)
from facelens.figures.scales import Array, ticks
from facelens.figures.spread import Spread, count_ticks, heights, top
from facelens.figures.style import INK, style
from facelens.words import escaped, plural, tr

if TYPE_CHECKING:
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

Names = tuple[str, str]  # of a curve, long and short


def draw_histogram(
    values: Array,
    words: str,
    *,
    limit: float = np.inf,
    log: bool = False,
    lower: bool = False,
    gallery: str = "",
    whose: str = "",
) -> Figure:
    """A score over faces, paler where it is refused, with the line; `lower` as in `refusal_words`.

    `whose` says which models the score is of.
    """
    from matplotlib import colormaps

    spread = Spread.of(values, np.arange(len(values)))
    if not len(spread):
        raise InputError(tr("No face has a value, so there is nothing to draw."))
    edges = -spread.edges if lower else spread.edges
    with style():
        high = top(spread.counts, log=log)
        plot = Plot(
            words, tr("faces per bin"), Limits((spread.start, float(spread.edges[-1])), (0.0, high), 0.0),
            "linear", "linear", size=(6.4, 2.5 + (0.11 if whose else 0)), foot=0.23 if whose else 0.12, under=0.16,
        )  # fmt: skip
        _set_ticks(plot.axes.yaxis, count_ticks(high, log=log, room=5))
        if limit < spread.edges[-1]:
            plot.axes.set_ylim(0, 1.2 * plot.axes.get_ylim()[1])  # what the line means stands over all bars
        if lower:
            flipped = ticks("linear", float(edges[-1]), float(edges[0]), room=7)
            _set_ticks(plot.axes.xaxis, [(-p, text) for p, text in flipped])
        tall = heights(spread.counts, log=log)
        colours = colormaps["viridis"]((np.arange(len(tall)) + 0.5) / len(tall))
        starts, ends = spread.edges[:-1], spread.edges[1:]
        border = np.clip(limit, starts, ends)
        for left, right, alpha in ((starts, border, 1.0), (border, ends, 0.4)):
            plot.axes.bar(left, tall, right - left, align="edge", color=colours, alpha=alpha, linewidth=0, zorder=2)
        plot.axes.stairs(tall, spread.edges, color=INK["text2"], linewidth=0.5, baseline=None, zorder=2.5)
        _percentiles(plot, spread)
        place = float(np.clip(limit, spread.edges[0], spread.edges[-1]))
        if limit < spread.edges[-1]:
            plot.decision(place, *refusal_words(spread, limit, lower=lower))
        told = [escaped(gallery), plural(len(spread), "{n} face", "{n} faces")]
        if spread.missing:
            told.append(plural(spread.missing, "{n} without a value", "{n} without a value"))
        plot.caption([" · ".join(t for t in told if t), *([whose] if whose else [])])
        return plot.figure


def _percentiles(plot: Plot, spread: Spread) -> None:
    """Where the tenths of the faces lie, under the axis; those without room are not named."""
    named: list[float] = []
    for percentile in PERCENTILES:
        value = float(np.quantile(spread.values, percentile / 100))
        x = (value - plot.low) / (plot.high - plot.low)
        plot.axes.annotate(
            "", (x, -9), xytext=(x, 3), xycoords=("axes fraction", "axes points"),
            textcoords=("axes fraction", "axes points"),
            arrowprops={"arrowstyle": "-", "color": INK["text3"], "lw": 0.7},
        )  # fmt: skip
        if all(abs(x - other) > 0.045 for other in named):
            named.append(x)
            plot.axes.annotate(
                f"p{percentile}", (x, -21), xycoords=("axes fraction", "axes points"), fontsize=7, color=INK["text3"],
                ha="center", va="center",
            )  # fmt: skip


def draw_risk(risk: Risk, *, by: str = "variance", step: int = 0, gallery: str = "", whose: str = "") -> Figure:
    """What refusing by a score does to the errors, with the line at a step; `whose` as in `draw_histogram`."""
    if not np.isfinite(risk.error.value).any():
        raise InputError(tr("There is no error to draw: {why}.", why=undefined(risk, 0)))
    refused = 1 - risk.coverage
    end, high = risk_limits(risk)
    title = tr("1 − {asked}, lower is better", asked=asked(risk))
    with style():
        lines = [tr("AURC {value}", value=risk.area.text())]
        if np.isfinite(risk.error.low).any():
            lines[0] += " · " + tr("95 % intervals, identities resampled")
        lines += [whose] if whose else []
        more = 0.11 * (len(lines) - 1)
        plot = Plot(
            tr("faces kept (coverage)"), title, Limits((0.0, end), (0.0, high), 0.0), "linear", "linear",
            size=(4.6, 3.0 + more), foot=0.26 + more,
        )  # fmt: skip
        _set_ticks(plot.axes.xaxis, [(p, percent(round(1 - p, 9), 0)) for p, _ in ticks("linear", 0.0, end, room=6)])
        names = list(zip(curve_names(risk, by), curve_names(risk, by, short=True)))
        curves = (
            (refused, risk.error.value, names[0], INK["accent"]),
            (refused, risk.random, names[1], INK["text3"]),
            (refused, risk.best, names[2], INK["text3"]),
        )
        looks: tuple[dict[str, Any], ...] = (
            {"linewidth": SUBJECT, "zorder": 3},
            {"linewidth": REFERENCE, "dashes": (1, 2)},
            {"linewidth": REFERENCE, "dashes": (4, 2.5)},
        )
        for (x, y, _, ink), look in zip(curves, looks):
            for one in runs(y):
                alone: dict[str, Any] = {"marker": "o", "markersize": 3} if one.stop - one.start == 1 else {}
                plot.axes.plot(x[one], y[one], color=ink, **look, **alone)
        for one in runs(risk.error.value):
            low, upper = (values[one] for values in (risk.error.low, risk.error.high))
            plot.axes.fill_between(refused[one], low, upper, color=INK["accent"], alpha=0.16, linewidth=0, zorder=2)
        taken: list[Box] = []
        for first, last in gaps(risk.error.value):
            plot.zone(float(refused[first]), float(refused[last]), undefined(risk, min(first + 1, last)))
            (left, right), _ = in_points(plot, refused[[first, last]], np.zeros(2))
            taken.append((float(left), 0.0, float(right), 1e4))
        taken += _mark_step(plot, risk, step)
        name_curves(plot, curves, taken)
        counted = plural(int(risk.kept[0]), "{n} face", "{n} faces")
        told = [t for t in (escaped(gallery), risk.task, counted, compared(risk, 0)) if t]
        plot.caption([" · ".join(told), *lines])
        return plot.figure


def _mark_step(plot: Plot, risk: Risk, step: int) -> list[Box]:
    """The line at a step with its words, and where they are, in points."""
    x = float(1 - risk.coverage[step])
    error = at(risk, risk.error, step)
    words = tr("keep {share}", share=percent(float(risk.coverage[step]))), error.text(3)
    plot.decision(x, *words)
    if error.value is not None:
        plot.axes.plot(x, error.value, "o", color=INK["text"], markersize=5, markeredgecolor=INK["base"], zorder=7)
    wide = max(_wide(words[0], 8, bold=True), _wide(words[1], 7))
    at_line = float(in_points(plot, np.array([x]), np.zeros(1))[0][0])
    left = at_line - 6 - wide if (x - plot.low) / (plot.high - plot.low) > 0.3 else at_line + 4
    return [(at_line - 4, -4.0, at_line + 4, 1e4), (left, -2.0, left + wide + 2, 22.0)]


def name_curves(plot: Plot, curves: Sequence[tuple[Array, Array, Names, str]], taken: list[Box]) -> None:
    """Names beside the curves, where they lie on no line; the shorter one where the longer has no room."""
    tracks = []
    for x, y, *_ in curves:
        longest = max(runs(y), key=lambda one: one.stop - one.start, default=slice(0, 0))
        tracks.append(in_points(plot, x[longest], y[longest]))
    (wide,), (high,) = in_points(plot, np.array([plot.high]), np.array([plot.axes.get_ylim()[0]]))
    box = 0.0, 0.0, float(wide), float(high) - 2
    for i, (_, _, names, ink) in enumerate(curves):
        others = tracks[:i] + tracks[i + 1 :]
        for name in names:
            size = _wide(name, 7), 8.5
            found = beside(tracks[i], others, size, box, taken=taken, clear=name != names[-1])
            if found is not None:
                left, upper = found
                taken.append((left, upper, left + size[0], upper + size[1]))
                plot.axes.annotate(
                    name, (left, high - upper - size[1] + 1.5), xycoords="axes points", fontsize=7, color=ink, zorder=5
                )
                break


def in_points(plot: Plot, x: Array, y: Array) -> tuple[Array, Array]:
    """Values as points from the upper left corner of the axes, y downwards."""
    box = plot.axes.get_position()
    wide, high = (72 * inches for inches in plot.figure.get_size_inches())
    bottom, upper = plot.axes.get_ylim()
    return (
        (x - plot.low) / (plot.high - plot.low) * box.width * wide,
        (upper - y) / (upper - bottom) * box.height * high,
    )


def _wide(text: str, size: float, *, bold: bool = False) -> float:
    """How wide a text is, in points."""
    return 72 * page.wide(text, size, bold=bold)


def _set_ticks(axis: Axis, marks: Sequence[tuple[float, str]]) -> None:
    axis.set_ticks([place for place, _ in marks], [text for _, text in marks])
