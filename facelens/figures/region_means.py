"""Figure of what the regions of many faces cost on average, beside the nearest others of the same queries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from facelens.analyses import regions
from facelens.analyses.measure import Measure
from facelens.analyses.plan import MatchPlan
from facelens.analyses.regions import Average
from facelens.errors import InputError
from facelens.figures.match_words import plan_words
from facelens.figures.rails import Rails, reach
from facelens.figures.style import INK, style
from facelens.words import number, plural, tr

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_region_means(
    average: Average, other: Average, *, faces: int, plan: MatchPlan, told: Sequence[str]
) -> Figure:  # fmt: skip
    """The mean EMD by region of so many faces, each with the nearest picture of its person and of another."""
    if not average.n:
        raise InputError(
            tr("None of the selected faces has a picture of its person on the shortlist."), hint=tr("Select others.")
        )
    means = [Measure(*ends) for ends in zip(average.mean.tolist(), average.low.tolist(), average.high.tolist())]
    others = other.mean.tolist() if other.n else []
    limits = reach([*means, *(Measure(one) for one in others)])
    assert limits is not None
    total, low, high = (number(one) for one in average.total)
    half = tr("half of them between {low} and {high}", low=low, high=high)
    foot = [
        tr("disc: mean of these pairs, whiskers: the middle half of them"),
        *([tr("line: mean of the nearest others of the same queries")] if others else []),
        tr("at the right: these pairs, and how far they are from the others") if others else "",
        tr("EMD, lower is closer: the means add up to it"), *plan_words(plan),
        tr("regions of the query, by its landmarks or the template"),
    ]  # fmt: skip
    pairs = plural(average.n, "mean of {n} pair", "mean of {n} pairs")
    said = [*told, plural(faces, "{n} selected face", "{n} selected faces"), f"{tr('EMD')} {total}, {pairs}, {half}"]
    with style():
        title = tr("What each region adds to the distance, on average")
        shown = [one for one in foot if one]
        rails = Rails(title, said, len(means) + 1, (min(limits[0], 0.0), limits[1]), shown, names=0.9, values=1.3)
        rails.rates()
        for i, one in enumerate(means):
            away = average.mean[i] - other.mean[i] if others else np.nan
            rails.write(i, regions.title(i), _said(float(average.mean[i]), float(away)))
            rails.point(one, i, INK["accent"])
            if others:
                rails.axes.plot([others[i]] * 2, [i - 0.3, i + 0.3], color=INK["bad"], linewidth=1.6, zorder=4)
        away = average.total[0] - other.total[0] if others else np.nan
        rails.write(len(means), tr("sum"), _said(average.total[0], away), bold=True)
        return rails.page.figure


def _said(value: float, away: float) -> str:
    return f"{number(value)}  ({number(away, sign=True)})" if np.isfinite(away) else number(value)
