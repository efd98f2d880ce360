"""Figures of an ensemble, for a paper or a note: two scores of every face, what each member and another query model
bring, accuracy against the number of members."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from facelens.analyses.correlation import spearman
from facelens.analyses.measure import Measure, rate
from facelens.analyses.rejection import Risk
from facelens.analyses.uncertainty import Size, Uncertainty, Update
from facelens.errors import InputError
from facelens.figures.charts import SUBJECT, Limits, Plot
from facelens.figures.labels import Box
from facelens.figures.rails import Rails, reach, room_for
from facelens.figures.refusal import asked
from facelens.figures.scales import Array
from facelens.figures.style import INK, style
from facelens.figures.uncertainty import in_points, name_curves
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
MAPPED = {
    "itself": "the target",
    "ridge": "ridge",
    "procrustes": "Procrustes",
    "rbt": "RBT",
    "linear": "a matrix, trained",
    "file": "from a file",
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


def ensemble_words(found: Uncertainty) -> str:
    """Which models, and whose space is common: what a score of theirs is a score of."""
    if not found.members:
        return ""
    names = ", ".join(escaped(one.name) for one in found.members)
    told = tr("ensemble of {n}: {names}", n=len(found.members), names=names)
    where = tr("in the space of {name}", name=escaped(found.target)) if found.target else tr("in a space of their own")
    return f"{told}, {where}"


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
    whose: str = "",
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
        sense = tr("lower is less sure") if lower else tr("higher is less sure")
        plot = Plot(
            x_name, f"{y_name}, {sense}", Limits(score_range(x[both]), (min(low, high), max(low, high)), 0.0),
            "linear", "linear", size=(4.6, 3.2), foot=0.38 if whose else 0.28,
        )  # fmt: skip
        kinds = np.full(len(x), -1, np.int8) if right is None else right
        handles = []
        for kind, words, ink, marker in KINDS:
            for these, alpha in (((kinds == kind) & both & refused, REFUSED), ((kinds == kind) & both & ~refused, 0.8)):
                drawn = plot.axes.scatter(
                    x[these], sign * y[these], s=9 if marker == "o" else 14, c=INK[ink], marker=marker, alpha=alpha,
                    linewidths=0 if marker == "o" else 0.9, rasterized=int(both.sum()) > MANY, zorder=2 + (kind == 0),
                    clip_on=False,  # the axes reach to the outermost faces, which are drawn whole
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
        plot.caption([said, " · ".join(t for t in told if t), *([whose] if whose else [])])
        return plot.figure


def _line(plot: Plot, value: float, refused: int, *, lower: bool) -> None:
    words = (
        tr("refuse below {value}", value=number(value)) if lower else tr("refuse above {value}", value=number(value))
    )
    from matplotlib.patheffects import withStroke

    count = plural(refused, "{n} face refused", "{n} faces refused")
    plot.axes.axhline(value, color=INK["text"], linewidth=1.2, zorder=6)
    plot.axes.annotate(
        f"{words} · {count}", (1.0, value), xycoords=("axes fraction", "data"), xytext=(0, 3),
        textcoords="offset points", ha="right", va="bottom", fontsize=7, color=INK["text"], zorder=7,
        path_effects=[withStroke(linewidth=2.5, foreground=INK["base"])],
    )  # fmt: skip


def draw_sizes(
    sizes: Sequence[Size], *, task: str = "1:1", gallery: str = "", whose: str = "", risk: Risk | None = None
) -> Figure:
    """Accuracy against the number of members, a line for each level of diversity.

    `whose` are the members; `risk` is of the same task, and tells the rate at which is measured.
    """
    drawn = [(one, one.verification if task == "1:1" else one.identification) for one in sizes]
    drawn = [(one, measure) for one, measure in drawn if measure.defined]
    if not drawn:
        raise InputError(tr("The accuracy of smaller ensembles is not known, so there is nothing to draw."))
    most = max(one.members for one, _ in drawn)
    what = asked(risk) if risk is not None else tr("TAR") if task == "1:1" else tr("TPIR")
    title = tr("{asked}, higher is better", asked=what)
    limits = Limits((0.7, most + 0.3), size_range([measure for _, measure in drawn]), 0.0)
    with style():
        plot = Plot(
            tr("members of the ensemble"),
            title,
            limits,
            "linear",
            "linear",
            size=(4.6, 3.1),
            foot=0.37 if whose else 0.26,
        )
        plot.axes.xaxis.set_ticks(range(1, most + 1), [str(n) for n in range(1, most + 1)])
        named, taken = [], list[Box]()
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
            plot.axes.plot(x, y, linewidth=SUBJECT, markersize=4.2, label=tr(DIVERSITY[key]), zorder=3, **look)
            named.append((x, y, (tr(DIVERSITY[key]), key), str(look["color"])))
            (across, upper), (_, lower) = in_points(plot, x, high), in_points(plot, x, low)
            taken += [(a - 3, top - 2, a + 3, foot + 2) for a, top, foot in zip(across, upper, lower)]
        name_curves(plot, named, taken)
        told = [escaped(gallery), task]
        how = [tr("mean of all choices of members"), tr("95 % intervals, identities resampled")]
        plot.caption([" · ".join(t for t in told if t), " · ".join(how), *([whose] if whose else [])])
        return plot.figure


def draw_members(found: Uncertainty, *, gallery: str = "") -> Figure:
    """What each member finds by itself, before and after its vectors are mapped, and what all find together."""
    rows = [*((one.name, one.alone, one.raw) for one in found.members), ("", found.together, None)]
    limits = reach([one for _, alone, raw in rows for one in (alone, raw) if one is not None])
    if not found.members or limits is None:
        raise InputError(tr("What the members find is not known, so there is nothing to draw."))
    risk, best = found.verification, best_of(found)
    what = tr("{asked}, higher is better", asked=asked(risk)) if risk is not None else tr("TAR, higher is better")
    told = [escaped(gallery), plural(len(found.ids), "N = {n} face", "N = {n} faces"), _target(found)]
    if found.fitted_people:
        told.append(tr("mapped by what {n} other people taught", n=found.fitted_people))
    foot = [
        tr("disc: a member by itself, mapped"),
        tr("cross: before mapping, against the query model as it is"),
        tr("square: the mean of all"),
        tr("95 % intervals, identities resampled"),
    ]
    foot += [note] if (note := together_words(found).rstrip(".")) else []
    with style():
        under = [_mapped(one.how, one.network, one.dimensions) for one in found.members]
        names = room_for(under, 6, least=2.5, most=3.6)
        title = tr("Members of the ensemble: {what}", what=what)
        rails = Rails(title, told, len(rows), limits, foot, row=0.36, above=0.14, names=names, values=1.5)
        rails.rates()
        rails.head(tr("member"), tr("alone"))
        for i, one in enumerate(found.members):
            name = tr("{name} (best alone)", name=escaped(one.name)) if i == best else escaped(one.name)
            rails.write(i, name, one.alone.text(3), bold=i == best, under=under[i])
            if one.how != "itself":
                rails.point(one.raw, i + 0.22, INK["text3"], marker="x", filled=False)
            rails.point(one.alone, i, INK["accent"])
        last = len(found.members)
        rails.axes.axhline(last - 0.5, color="#ababab", linewidth=0.7)
        rails.write(last, tr("together"), found.together.text(3), bold=True)
        rails.point(found.together, last, INK["text"], marker="s")
        return rails.page.figure


def _target(found: Uncertainty) -> str:
    if not found.target:
        return tr("unified: in a space of their own")
    return tr("model to model: in the space of {name}", name=escaped(found.target))


def _mapped(how: str, network: str, dimensions: int) -> str:
    """How a member came into the common space, and what it is."""
    mapped = tr("the target itself") if how == "itself" else tr("mapped: {how}", how=tr(MAPPED.get(how, how)))
    return ", ".join(filter(None, (mapped, escaped(network), tr("{n} dimensions", n=dimensions))))


def draw_update(found: Update, *, gallery: str = "", far: float | None = None, fpir: float | None = None) -> Figure:
    """Searches in a gallery of stored vectors before and after the query model is changed for another one."""
    limits = reach([one for _, before, after in found.rows for one in (before, after)])
    if limits is None:
        raise InputError(tr("What another query model changes is not known, so there is nothing to draw."))
    told = [escaped(gallery), tr("query model {old} → {new}", old=escaped(found.old), new=escaped(found.new))]
    told += [tr("{what}: N = {n}", what=what, n=before.n) for what, before, _ in found.rows if before.n]
    foot = [
        tr("ring: before, disc: after"),
        tr("the gallery is not embedded again: its stored vectors are mapped into the new space"),
        tr("95 % intervals, identities resampled"),
    ]
    with style():
        said = [tr("{when}: queries of {name}", when=when, name=escaped(name))
                for when, name in ((tr("before"), found.old), (tr("after"), found.new))]  # fmt: skip
        names = room_for(said, 7, least=2.2, most=3.6, bold=True)
        title = tr("Query update, higher is better")
        rails = Rails(title, told, 2 * len(found.rows), limits, foot, names=names, values=1.5)
        rails.rates()
        for i, (what, before, after) in enumerate(found.rows):
            name = f"{what}  {_rate(what, far, fpir)}"
            rails.write(2 * i, name, before.text(3), under=said[0])
            rails.write(2 * i + 1, said[1], after.text(3), bold=True)
            rails.point(before, 2 * i, INK["A"], filled=False)
            rails.point(after, 2 * i + 1, INK["B"])
            if i:
                rails.axes.axhline(2 * i - 0.5, color=INK["line"], linewidth=0.7)
        return rails.page.figure


def _rate(what: str, far: float | None, fpir: float | None) -> str:
    """What is measured by a kind of test."""
    if what == "1:1":
        return tr("TAR @ FAR {rate}", rate=rate(far)) if far is not None else tr("TAR")
    return tr("TPIR @ FPIR {rate}", rate=rate(fpir)) if fpir is not None else tr("TPIR")
