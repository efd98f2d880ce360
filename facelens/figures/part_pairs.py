"""Figures of parts beside each other: two parts of every face, and how all parts vote on many pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from facelens.analyses.jury import Average, Ruling
from facelens.analyses.measure import Measure
from facelens.analyses.parts import Parts
from facelens.errors import InputError
from facelens.figures.charts import Limits, Plot
from facelens.figures.confidence import MATCHED, Subject
from facelens.figures.ensembles import MANY, score_range
from facelens.figures.part_words import PAIRS, part_name
from facelens.figures.rails import Rails, reach
from facelens.figures.scales import Array
from facelens.figures.style import INK, style
from facelens.words import number, plural, tr

if TYPE_CHECKING:
    from matplotlib.figure import Figure

APART = 50  # faces on which two parts disagree most


def disagreeing(x: Array, y: Array, n: int = APART) -> NDArray[np.int64]:
    """Places of the faces on which two parts disagree most: by the difference of their z-scores, at most half of all.

    >>> disagreeing(np.array([0.0, 0, 0, 1]), np.array([1.0, 0, 0, 0]), 2).tolist()
    [0, 3]
    """
    known = np.flatnonzero(np.isfinite(x) & np.isfinite(y))
    if not len(known):
        return known
    x, y = ((values - values.mean()) / (values.std() or 1.0) for values in (x[known], y[known]))
    away, n = -np.abs(x - y), min(n, len(known) // 2)
    some = np.flatnonzero(away <= np.partition(away, n)[n])  # few are left to put in order
    return known[some[np.argsort(away[some], kind="stable")[:n]]]


def draw_two_parts(parts: Parts, subject: Subject, part: int, other: int) -> Figure:
    """The distance of every face to its person's centre in one part over that in another; rings where they disagree."""
    values, K = parts.values.get("distance"), parts.layout.parts
    if values is None or K < 2:
        raise InputError(tr("Nobody has two faces, so no face has a distance to the centre of its person."))
    y, x = (values[:, min(k, K - 1)].astype(np.float64) for k in (part, other))
    known = np.flatnonzero(np.isfinite(x) & np.isfinite(y))
    if not len(known):
        raise InputError(tr("Nobody has two faces, so no face has a distance to the centre of its person."))
    far = disagreeing(x, y)
    with style():
        names = [part_name(parts.layout, min(k, K - 1)) for k in (other, part)]
        titles = [tr("{part}: distance to the person's centre, higher is farther", part=name) for name in names]
        limits = Limits(score_range(x[known]), score_range(y[known]), 0.0)
        plot = Plot(titles[0], titles[1], limits, "linear", "linear", size=(4.6, 3.6))
        look: dict[str, Any] = {"markersize": 2.6, "markeredgewidth": 0, "alpha": 0.6, "rasterized": len(known) > MANY}
        plot.axes.plot(x[known], y[known], "o", color=INK["text3"], **look)
        plot.axes.plot(
            x[far], y[far], "o", markersize=4.6, markerfacecolor="none", markeredgecolor=INK["accent"],
            markeredgewidth=0.9, zorder=4,
        )  # fmt: skip
        both = np.corrcoef(x[known], y[known])[0, 1] if len(known) > 2 else np.nan
        r = [tr("Pearson r {value}", value=number(float(both), 2))] if np.isfinite(both) else []
        counted = plural(len(far), "{n} face", "{n} faces")
        ringed = tr("rings: {faces} on which they disagree most", faces=counted)
        plot.caption([" · ".join(subject.told), " · ".join([*r, ringed])])
        return plot.figure


def draw_average(average: Average, ruling: Ruling, parts: Parts, subject: Subject, *, match: str = "cosine") -> Figure:
    """How each part votes on many pairs of one kind, with the middle half of them, beside its usual vote."""
    if average.why:
        raise InputError(tr("There are no votes: {why}.", why=average.why))
    alike = average.which == "false non-matches"
    usual: NDArray[np.float64] = ruling.genuine if alike else ruling.typical
    rows = zip(average.votes.tolist(), average.low.tolist(), average.high.tolist())
    votes = [Measure(mean, low, high) for mean, low, high in rows]
    limits = reach([*votes, *(Measure(float(one)) for one in usual if np.isfinite(one))])
    assert limits is not None
    decimals = 1 if match == "likelihood" else 3
    foot = [
        tr("disc: mean vote, whiskers: the middle half of the pairs"),
        tr("line: its usual vote on genuine pairs") if alike else tr("line: its usual vote on impostors"),
        tr("mean score {value}", value=number(float(average.votes[ruling.kept].sum()), decimals)),
        *([] if ruling.kept.all() else [tr("grey: left out")]),
    ]
    told = [*subject.told, tr(MATCHED[match]), tr("{n} of {pairs}", n=f"{average.n:,}", pairs=average.among)]
    with style():
        title = tr("How each part votes on many pairs: {pairs}", pairs=tr(PAIRS[average.which]))
        rails = Rails(title, told, len(votes), limits, foot, row=0.2, names=1.0, values=1.0)
        rails.rates()
        rails.axes.axvline(0, color="#ababab", linewidth=1.0, zorder=1.5)
        for k, one in enumerate(votes):
            kept = bool(ruling.kept[k])
            ink = "text" if kept else "text3"
            said = number(float(average.votes[k]), decimals, sign=True)
            rails.write(k, part_name(parts.layout, k), said, ink=ink)
            rails.point(one, k, INK["accent" if kept else "text3"], filled=kept)
            if np.isfinite(usual[k]):
                rails.axes.plot([usual[k], usual[k]], [k - 0.34, k + 0.34], color=INK["text"], linewidth=1.2, zorder=4)
        return rails.page.figure
