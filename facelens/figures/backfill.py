"""Figure of a backfill: what new queries reach as more of the old gallery is embedded anew, in several orders."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from facelens.analyses.backfill import DRAWS, Backfill, Order
from facelens.analyses.upgrade import Upgrade
from facelens.errors import InputError
from facelens.figures import crossing_words as words
from facelens.figures.charts import REFERENCE, SUBJECT, Limits, Plot
from facelens.figures.crossing import told
from facelens.figures.labels import Box
from facelens.figures.scales import Array, ticks
from facelens.figures.style import INK, style
from facelens.figures.uncertainty import Names, name_curves
from facelens.words import number, tr

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LOOKS: dict[str, dict[str, Any]] = {  # never told by colour alone: the one in front is solid
    "flip risk": {"dashes": (6, 1.8)},
    "uncertainty": {"dashes": (4, 1.6, 1.2, 1.6)},
    "random": {"dashes": (3, 2.4)},
    "traffic": {"dashes": (8, 2.4)},
}


def draw_backfill(
    found: Upgrade, *, gallery: str = "", task: str = "", order: str = "", share: float | None = None
) -> Figure:
    """The rate against the share that is new, one order in front; the line at a share where one is given."""
    filled, plan, task = found.backfill, found.plan, task or found.plan.task
    drawable = [one for one in filled.orders if np.isfinite(one.value[task]).any()] if filled is not None else []
    if filled is None or not drawable:
        raise InputError(tr("There is no backfill to draw."), hint=tr("Let it be worked out first."))
    front = next((one for one in drawable if one.name == order), drawable[0])
    lower, upper = (np.where(np.isnan(side), front.value[task], side) for side in (front.low[task], front.high[task]))
    every = np.concatenate([lower, upper, *(one.value[task] for one in drawable)])
    low, high = float(np.nanmin(every)), float(np.nanmax(every))
    span = max(high - low, 0.005)
    with style():
        plot = Plot(
            tr("share of the gallery embedded anew"), tr("{asked}, higher is better", asked=words.asked(plan, task)),
            Limits((0.0, 1.0), (max(low - 0.08 * span, 0.0), min(high + 0.12 * span, 1.0)), 0.0), "linear", "linear",
            size=(5.6, 3.2),
        )  # fmt: skip
        if share is not None:  # what the line means stands over all curves
            bottom, top = plot.axes.get_ylim()
            plot.axes.set_ylim(bottom, top + 0.16 * (top - bottom))
        marks = ticks("linear", 0.0, 1.0, room=5)
        plot.axes.xaxis.set_ticks([p for p, _ in marks], [tr("{share} %", share=number(100 * p, 0)) for p, _ in marks])
        plot.axes.fill_between(filled.shares, lower, upper, color=INK["accent"], alpha=0.16, linewidth=0, zorder=2)
        curves: list[tuple[Array, Array, Names, str]] = []
        for one in sorted(drawable, key=lambda o: o is not front):
            first = one is front
            ink = INK["accent"] if first else INK["text2"]
            look = {"linewidth": SUBJECT, "zorder": 4} if first else {"linewidth": REFERENCE, **LOOKS[one.name]}
            plot.axes.plot(filled.shares, one.value[task], color=ink, **look)
            name = words.order_name(one.name)
            curves.append((filled.shares, one.value[task], (name, name), ink))
        curves.append(_whole(plot, front, filled, task))
        taken: list[Box] = _decision(plot, filled, front, task, share) if share is not None else []
        name_curves(plot, curves, taken)
        said = told(found, gallery, resamples=min(plan.resamples, DRAWS))
        said.append(tr("band: {name}", name=words.order_name(front.name)))
        plot.caption([" · ".join(said[:3]), " · ".join(said[3:])])
        return plot.figure


def _whole(plot: Plot, front: Order, filled: Backfill, task: str) -> tuple[Array, Array, Names, str]:
    """What the whole gallery anew reaches, dotted."""
    end = float(front.value[task][-1])
    y = np.full(len(filled.shares), end)
    plot.axes.plot(filled.shares, y, color=INK["text3"], linewidth=REFERENCE, dashes=(1, 2), zorder=1.5)
    name = tr("new/new {value}", value=number(end, words.decimals(end)))
    return filled.shares, y, (name, name), INK["text3"]


def _decision(plot: Plot, filled: Backfill, front: Order, task: str, share: float) -> list[Box]:
    step = int(np.abs(filled.shares - share).argmin())
    x, value = float(filled.shares[step]), float(front.value[task][step])
    title = tr("{share} % reaches {value}", share=number(100 * x, 0), value=number(value, 4))
    plot.decision(x, title, words.order_name(front.name))
    plot.axes.plot(x, value, "o", color=INK["text"], markersize=5, markeredgecolor=INK["base"], zorder=7)
    wide = plot.axes.get_position().width * plot.figure.get_size_inches()[0] * 72
    left = x * wide - 110 if x > 0.3 else x * wide
    return [(left, -2.0, left + 112, 24.0)]
