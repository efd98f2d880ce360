"""Figures of an upgrade's cross-tests, for a paper or a note: the matrix, the gains, and models that follow each other.

Every figure names gallery, old and new model, what was measured, N and how its intervals were made.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from facelens.analyses.crossing import SELF, Bound, CrossTest, Gain, Matrix
from facelens.analyses.measure import Measure
from facelens.analyses.upgrade import Upgrade
from facelens.errors import InputError
from facelens.figures import crossing_words as words
from facelens.figures.page import HEAD, LINE, MARGIN, Page, elided, lines, mark, readable, undefined, wrapped
from facelens.figures.rails import GAP, NAMES, RAIL, VALUES, Rails, reach, room_for
from facelens.figures.style import INK, style
from facelens.words import escaped, number, plural, tr

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CELL, TALL, SIDE = 1.16, 0.66, 1.2  # inches of a cell, and of the names at its left
CHANCE = "#ededed"


def told(found: Upgrade, gallery: str, *, resamples: int | None = None) -> list[str]:
    """Gallery, models, on whom, and how intervals were made; where there are none `resamples` is None."""
    plan, matrix = found.plan, found.matrix
    people = plural(matrix.people, "{n} person", "{n} people")
    return [
        escaped(gallery),
        tr("{old} → {new}", old=escaped(plan.old), new=escaped(plan.new)),
        tr("{faces} of {people}", faces=plural(matrix.faces, "N = {n} face", "N = {n} faces"), people=people),
        *([tr("unseen in fitting")] if matrix.fitted_people else []),
        *([] if resamples is None else [intervals(resamples)]),
    ]


def intervals(resamples: int) -> str:
    """How intervals were made."""
    if not resamples:
        return tr("no intervals")
    return tr("95 % intervals, identities resampled {n} ×", n=resamples)


# The matrix


def draw_matrix(found: Upgrade, *, gallery: str = "", task: str = "") -> Figure:
    """Queries of one model in the gallery of another; the test the verdict speaks of has a frame."""
    matrix, plan, task = found.matrix, found.plan, task or found.plan.task
    n = len(matrix.models)
    left, top = MARGIN + SIDE, HEAD + 0.52
    width = max(left + n * CELL + MARGIN, 5.0)
    foot = [tr("frame: what the verdict speaks of"), tr("chance: no better than guessing")]
    foot += wrapped([*_untested(matrix, task), *_mapped(matrix)], width - 2 * MARGIN)
    with style():
        page = Page(width, top + n * TALL + 0.2 + LINE * len(lines(foot, width - 2 * MARGIN)))
        title = tr("Cross-test: {asked}, higher is better", asked=words.asked(plan, task))
        page.head(title, told(found, gallery, resamples=plan.resamples))
        page.text(left + n * CELL / 2, HEAD + 0.08, tr("gallery"), size=6.5, ink="text3", ha="center")
        page.text(MARGIN, HEAD + 0.24, tr("query"), size=6.5, ink="text3")
        for i, name in enumerate(matrix.models):
            for x, down, room, look in (
                (left + (i + 0.5) * CELL, HEAD + 0.24, CELL, {"ha": "center"}),
                (MARGIN, top + (i + 0.5) * TALL - 0.07, SIDE, {}),
            ):
                page.text(x, down, words.role(plan, name), size=7.5, fontweight="bold", **look)
                page.text(x, down + 0.14, elided(escaped(name), 6.5, room - 0.1), size=6.5, ink="text3", **look)
        axes = page.axes(left, top, n * CELL, n * TALL)
        axes.set_axis_off()
        axes.set(xlim=(0, n), ylim=(n, 0))
        limits = words.shades(matrix, task)
        for i, query in enumerate(matrix.models):
            for j, searched in enumerate(matrix.models):
                _cell(axes, j, i, matrix, (query, searched), task, limits)
        _frame(axes, *(matrix.models.index(name) for name in (plan.old, plan.new)))
        page.foot(foot)
        return page.figure


def _untested(matrix: Matrix, task: str) -> list[str]:
    """Why cells have no value; of two models once."""
    tests = [matrix.test(query, gallery) for query in matrix.models for gallery in matrix.models]
    whys = [one.measure(task).why for one in tests if one is not None]
    same = {frozenset(re.findall(r"[\w.]+", why)): why for why in reversed(whys) if why}
    return [tr("n/a: {why}", why=why.removesuffix(".")) for why in reversed(same.values())]


def _mapped(matrix: Matrix) -> list[str]:
    """How the two meet, where anything was mapped."""
    said = [f"{words.direction_name(one.direction)}: {(one.why or one.how).removesuffix('.')}" for one in matrix.fitted]
    if matrix.fitted_people:
        said.append(tr("fitted on {n} other people", n=matrix.fitted_people))
    return said


def _cell(
    axes: Axes, x: int, y: int, matrix: Matrix, names: tuple[str, str], task: str, limits: tuple[float, float]
) -> None:
    from matplotlib import colormaps
    from matplotlib.patches import Rectangle

    test = matrix.test(*names)
    measure = test.measure(task) if test is not None else Measure.none("")
    gap = 0.03
    if test is None or not measure.defined or measure.value is None:
        undefined(axes, x + gap, y + gap, 1 - 2 * gap, 1 - 2 * gap)
        axes.text(
            x + 0.5, y + 0.5, tr("n/a"), fontsize=7, color=INK["text2"], ha="center", va="center",
            bbox={"facecolor": INK["base"], "edgecolor": "none", "pad": 1.5},
        )  # fmt: skip
        return
    colour = colormaps["viridis"]((measure.value - limits[0]) / (limits[1] - limits[0]))
    ground = CHANCE if test.chance else colour
    ink = INK["text3"] if test.chance else readable(colour)
    axes.add_patch(Rectangle((x + gap, y + gap), 1 - 2 * gap, 1 - 2 * gap, facecolor=ground, linewidth=0))
    told = [(words.value(measure), 9.0, not test.chance)]
    if under := tr("chance") if test.chance else words.interval(measure):
        told.append((under, 6.0, False))
    others = [one for one in matrix.tests if (one.query, one.gallery) == names and one is not test]
    if test.direction != SELF and (others or test.direction != "direct"):
        told.append((words.direction_name(test.direction), 6.0, False))
        told += [(_other(one, task), 5.2, False) for one in others]
    heights = [0.22 if size > 8 else 0.16 if size > 5.5 else 0.135 for _, size, _ in told]
    place = y + 0.5 - sum(heights) / 2
    for (text, size, bold), high in zip(told, heights):
        weight = "bold" if bold else "normal"
        axes.text(
            x + 0.5, place + high / 2, text, fontsize=size, color=ink, ha="center", va="center", fontweight=weight
        )
        place += high


def _other(test: CrossTest, task: str) -> str:
    measure = test.measure(task)
    value = tr("chance") if test.chance else words.value(measure)
    return f"{words.direction_name(test.direction)} {value}"


def _frame(axes: Axes, x: int, y: int) -> None:
    from matplotlib.patches import Rectangle

    look: dict[str, Any] = {"fill": False, "edgecolor": INK["text"], "linewidth": 1.8, "clip_on": False, "zorder": 5}
    axes.add_patch(Rectangle((x + 0.025, y + 0.025), 0.95, 0.95, **look))


# Gains


def draw_gains(found: Upgrade, *, gallery: str = "", task: str = "") -> Figure:
    """Per cent of the way from old to upper, by the new model itself and by each direction; hollow: not telling."""
    plan, task = found.plan, task or found.plan.task
    gains = [one for one in found.matrix.gains if one.task == task]
    if not plan.upper or not gains:
        raise InputError(
            tr("There are no gains to draw: no upper model is named."),
            hint=tr("Name the new model as it would be without regard to the old one."),
        )
    foot = [words.possible(gains[0]), tr("per cent of |upper − old|"), words.asked(plan, task)]
    with style():
        rails = Rails(
            tr("Gains: share of the way from old to upper"),
            [*told(found, gallery, resamples=plan.resamples), tr("upper {name}", name=escaped(plan.upper))],
            len(gains), words.gain_limits(gains), foot,
        )  # fmt: skip
        axes = rails.axes
        step = 50 if axes.get_xlim()[1] - axes.get_xlim()[0] <= 200 else 100
        marks = [share for share in range(-500, 501, step) if axes.get_xlim()[0] <= share <= axes.get_xlim()[1]]
        axes.set_xticks(marks, [tr("{share} %", share=number(share, 0)) for share in marks])
        axes.axvline(0, color="#ababab", linewidth=1.0, zorder=1.5)
        for i, gain in enumerate(gains):
            _gain(rails, i, gain)
        return rails.page.figure


def _gain(rails: Rails, i: int, gain: Gain) -> None:
    strong = gain.telling and (gain.best or gain.of == "performance")
    ink = "text" if strong else "text2" if gain.telling else "text3"
    name = tr("{name} (best)", name=words.gain_name(gain)) if gain.best else words.gain_name(gain)
    colour = INK["B"] if strong else INK[ink]
    rails.write(i, name, words.gain_told(gain), ink=ink, bold=strong)
    rails.point(gain.percent, i, colour, filled=gain.telling)


# A sequence


def draw_sequence(found: Upgrade, *, gallery: str = "", task: str = "") -> Figure:
    """Models that follow each other: the newer one's queries in the older one's gallery, between each by itself."""
    plan, task = found.plan, task or found.plan.task
    bounds = [one for one in found.matrix.bounds if one.task == task]
    tests = [_tests(found.matrix, one) for one in bounds]
    known = [one.measure(task) for row in tests for one in row if one is not None]
    limits = reach(known)
    if limits is None:
        why = next((one.why for one in known if one.why), tr("no two models follow each other"))
        raise InputError(tr("There is no sequence to draw: {why}.", why=why))
    foot = [
        tr("ring: older model alone"),
        tr("diamond: newer queries in the older gallery"),
        tr("disc: newer model alone"),
        tr("the diamond should lie between the other two"),
    ]
    with style():
        said = [words.bound_words(plan, one) for one in bounds]
        values = room_for(said, 6.5, least=VALUES, most=3.4)
        rails = Rails(
            tr("Sequence: {asked}, higher is better", asked=words.asked(plan, task)),
            told(found, gallery, resamples=plan.resamples), len(bounds), limits, foot, row=0.46, values=values,
        )  # fmt: skip
        rails.rates()
        for i, (bound, row) in enumerate(zip(bounds, tests)):
            under = tr("→ {high}", high=escaped(bound.high))
            rails.write(i, escaped(bound.low), said[i], indent=0.16, under=under)
            if bound.above.defined and bound.below.defined:
                place = NAMES + MARGIN + RAIL + GAP, rails.middle(i) - 0.06
                mark(rails.page.bare(*place, 0.12, 0.12), bound.holds, x=0.5, y=0.5)
            looks = (("A", "o", False, -0.26), ("text", "D", True, 0.0), ("B", "o", True, 0.26))
            for test, (ink, marker, filled, off) in zip(row, looks):
                if test is not None:
                    rails.point(test.measure(task), i + off, INK[ink], marker=marker, filled=filled)
        return rails.page.figure


def _tests(matrix: Matrix, bound: Bound) -> tuple[CrossTest | None, ...]:
    return (
        matrix.test(bound.low, bound.low),
        matrix.test(bound.high, bound.low, bound.direction),
        matrix.test(bound.high, bound.high),
    )
