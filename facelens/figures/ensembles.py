"""Figures of an ensemble, for a paper or a note: two scores of every face, accuracy against the number of members."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from facelens.analyses.correlation import spearman
from facelens.analyses.measure import Measure
from facelens.analyses.uncertainty import Size, Uncertainty
from facelens.errors import InputError
from facelens.figures.charts import SUBJECT, Limits, Plot
from facelens.figures.scales import Array
from facelens.figures.style import INK, style
from facelens.words import escaped, number, plural, tr

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DIVERSITY = {
    "D-T": "D-T: one model, several transforms",
    "D-TG": "D-TG: several models, one architecture",
    "D-TGA": "D-TGA: several architectures",
}
LOOKS: dict[str, dict[str, Any]] = {  # one ink each, and a dash, so that no line is told by its colour alone
    "D-T": {"color": "#8a6100", "marker": "o"},
    "D-TG": {"color": "#007e7f", "marker": "s", "dashes": (5, 2.5)},
    "D-TGA": {"color": "#8c4d90", "marker": "^", "dashes": (1.5, 2)},
}
KINDS = ((-1, "no other picture", "text3", "o"), (1, "right", "good", "o"), (0, "wrong", "bad", "x"))
MANY = 5_000  # dots from which they are drawn as pixels, also where lines are not
SPARE = 0.04  # of the range, at both ends
REFUSED = 0.35  # opacity


# What the screen and the figures have in common


def correlation_words(found: Measure, x: str, y: str) -> str:
    """Rank correlation of two scores in words.

    >>> correlation_words(Measure(-0.58, -0.63, -0.53, n=1302), "quality", "variance")
    'Spearman −0.58 [−0.63, −0.53] over 1,302 faces; higher quality, lower variance'
    """
    if not found.defined or found.value is None:
        return tr("Spearman n/a: {why}", why=found.why) if found.why else ""
    said = tr("Spearman {value} over {n} faces", value=found.text(2), n=found.n)
    if found.low is not None and found.high is not None and found.low <= 0 <= found.high:
        return tr("{said}; no order is shown", said=said)
    words = "{said}; higher {x}, higher {y}" if found.value > 0 else "{said}; higher {x}, lower {y}"
    return tr(words, said=said, x=x, y=y)


def score_range(values: Array) -> tuple[float, float]:
    """From the lowest to the highest with a little room, from 0 where it is near.

    >>> score_range(np.array([0.1, 0.9])), score_range(np.zeros(0))
    ((0.0, 0.932), (0.0, 1.0))
    """
    if not len(values):
        return 0.0, 1.0
    low, high = float(values.min()), float(values.max())
    spare = (high - low) * SPARE or abs(high) * SPARE or 0.5
    near = 0 <= low < 0.3 * high
    return 0.0 if near else low - spare, high + spare


def size_range(measures: Sequence[Measure]) -> tuple[float, float]:
    """Limits of an axis that shows all values with their intervals, and a little room."""
    ends = [end for one in measures for end in (one.value, one.low, one.high) if end is not None]
    if not ends:
        return 0.0, 1.0
    spare = max(0.08 * (max(ends) - min(ends)), 0.002)
    return max(0.0, min(ends) - spare), min(1.0, max(ends) + spare)


def best_of(found: Uncertainty) -> int | None:
    """The member that is best by itself."""
    values = [one.alone.value if one.alone.defined and one.alone.value is not None else -1.0 for one in found.members]
    best = int(np.argmax(values)) if values else -1
    return best if best >= 0 and values[best] >= 0 else None


def together_words(found: Uncertainty) -> str:
    """What is to be said where all together are worse than the best one."""
    best, together = best_of(found), found.together
    if best is None or not together.defined or together.value is None:
        return ""
    alone, name = found.members[best].alone, escaped(found.members[best].name)
    if alone.value is None or together.value >= alone.value:
        return ""
    less = number(alone.value - together.value, 3)
    if together.high is not None and alone.low is not None and together.high < alone.low:
        return tr("Together is {less} below {name} alone: leave weak members out.", less=less, name=name)
    return tr("Together is {less} below {name} alone; the intervals overlap.", less=less, name=name)


# The figures


def draw_scatter(
    x: Array,
    y: Array,
    *,
    x_name: str,
    y_name: str,
    right: NDArray[np.int8] | None = None,
    limit: float = np.inf,
    lower: bool = False,
    people: NDArray[np.int32] | None = None,
    gallery: str = "",
) -> Figure:
    """Score `y` over score `x` of every face, those above `limit` lighter; with `lower` y is written as its negative.

    `people` (N,) are codes of identities, by which the interval of the correlation is worked out.
    """
    both = np.isfinite(x) & np.isfinite(y)
    if not both.any():
        raise InputError(tr("No face has both scores, so there is nothing to draw."))
    sign = -1.0 if lower else 1.0
    refused = y > limit
    low, high = (sign * end for end in score_range(y[both]))
    with style():
        plot = Plot(
            x_name, y_name, Limits(score_range(x[both]), (min(low, high), max(low, high)), 0.0), "linear", "linear",
            foot=0.38,
        )  # fmt: skip
        kinds = np.full(len(x), -1, np.int8) if right is None else right
        handles = []
        for kind, words, ink, marker in KINDS:
            for these, alpha in (((kinds == kind) & both & refused, REFUSED), ((kinds == kind) & both & ~refused, 0.8)):
                drawn = plot.axes.scatter(
                    x[these], sign * y[these], s=9 if marker == "o" else 14, c=INK[ink], marker=marker, alpha=alpha,
                    linewidths=0 if marker == "o" else 0.9, rasterized=int(both.sum()) > MANY, zorder=2 + (kind == 0),
                    label=f"{tr(words)} {int(((kinds == kind) & both).sum()):,}",
                )  # fmt: skip
            if right is not None and ((kinds == kind) & both).any():
                handles.append(drawn)
        plot.legend(handles)
        if refused.any() and np.isfinite(limit):
            _line(plot, sign * limit, int(refused.sum()), lower=lower)
        said = correlation_words(spearman(x, sign * y, groups=people), x_name, y_name)
        missing = int((~both).sum())
        told = [escaped(gallery), plural(int(both.sum()), "{n} face", "{n} faces")]
        if missing:
            told.append(tr("{n} without both scores", n=missing))
        plot.caption([said, " · ".join(t for t in told if t)])
        return plot.figure


def _line(plot: Plot, value: float, refused: int, *, lower: bool) -> None:
    words = (
        tr("refuse below {value}", value=number(value)) if lower else tr("refuse above {value}", value=number(value))
    )
    count = plural(refused, "{n} face refused", "{n} faces refused")
    plot.axes.axhline(value, color=INK["text"], linewidth=1.2, zorder=6)
    plot.axes.annotate(
        f"{words} · {count}", (1.0, value), xycoords=("axes fraction", "data"), xytext=(0, 3),
        textcoords="offset points", ha="right", va="bottom", fontsize=7, color=INK["text"], zorder=7,
    )  # fmt: skip


def draw_sizes(sizes: Sequence[Size], *, task: str = "1:1", gallery: str = "") -> Figure:
    """Accuracy against the number of members, a line for each level of diversity."""
    drawn = [(one, one.verification if task == "1:1" else one.identification) for one in sizes]
    drawn = [(one, measure) for one, measure in drawn if measure.defined]
    if not drawn:
        raise InputError(tr("The accuracy of smaller ensembles is not known, so there is nothing to draw."))
    most = max(one.members for one, _ in drawn)
    title = tr("TAR, higher is better") if task == "1:1" else tr("TPIR, higher is better")
    limits = Limits((0.7, most + 0.3), size_range([measure for _, measure in drawn]), 0.0)
    with style():
        plot = Plot(tr("members of the ensemble"), title, limits, "linear", "linear")
        plot.axes.xaxis.set_ticks(range(1, most + 1), [str(n) for n in range(1, most + 1)])
        handles = []
        shown = [key for key in DIVERSITY if any(one.diversity == key for one, _ in drawn)]
        for place, key in enumerate(shown):
            mine = sorted((pair for pair in drawn if pair[0].diversity == key), key=lambda pair: pair[0].members)
            x = np.array([one.members for one, _ in mine]) + (place - (len(shown) - 1) / 2) * 0.06
            y = np.array([measure.value for _, measure in mine], np.float64)
            ends = [(m.low, m.high) if m.low is not None and m.high is not None else (m.value,) * 2 for _, m in mine]
            low, high = np.array(ends, np.float64).T
            look = dict(LOOKS[key])
            plot.axes.errorbar(
                x, y, yerr=[np.maximum(y - low, 0), np.maximum(high - y, 0)], fmt="none", ecolor=look["color"],
                elinewidth=1, capsize=1.8, capthick=1, zorder=2,
            )  # fmt: skip
            handles += plot.axes.plot(
                x, y, linewidth=SUBJECT, markersize=4.2, label=tr(DIVERSITY[key]), zorder=3, **look
            )
        plot.legend(handles)
        told = [escaped(gallery), task, tr("mean of all choices of members, 95 % intervals")]
        plot.caption([" · ".join(t for t in told if t)])
        return plot.figure
