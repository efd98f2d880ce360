"""An upgrade as the table of a paper, and the three directions in which new queries meet the old gallery.

After Meng et al., "Learning Compatible Embeddings", ICCV 2021, supplement, tables 1, 2, 4 and 6: a row for each model,
with what it reaches alone, its queries in the old gallery by each direction, and both gains.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import copysign
from typing import TYPE_CHECKING

from facelens.analyses.crossing import CrossTest, Gain, Matrix
from facelens.analyses.measure import Measure
from facelens.analyses.plan import DIRECTIONS, UpgradePlan
from facelens.analyses.upgrade import Upgrade
from facelens.figures import crossing_words as words
from facelens.figures.crossing import told
from facelens.figures.page import HEAD, LINE, MARGIN, Page, lines, wrapped
from facelens.figures.style import INK, style
from facelens.figures.tabular import Column, Table, draw_table
from facelens.words import escaped, number, tr

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CARD, TALL, GAP = 2.0, 1.5, 0.12  # inches of a direction, and between two
CHIP, BOX, ARROW = 0.17, 0.46, 0.3  # of a letter, of the height of a box, of an arrow with its name
STEPS = {"direct": ("B", "A"), "backward": ("BA", "A"), "forward": ("B", "AB")}  # spaces of query and gallery
MAPS = {"backward": "T21", "forward": "T12"}
NOTHING = "–"


# The table


@dataclass(frozen=True, eq=False)
class ModelRow:
    """One model: by itself, its queries in the old gallery, and what it gains."""

    name: str
    role: str
    dimensions: int | None
    alone: Measure
    cross: Mapping[str, CrossTest]  # by direction
    performance: Measure | None  # per cent; None: not asked of it
    upgrade: Gain | None


def model_rows(found: Upgrade, task: str = "", dimensions: Mapping[str, int] | None = None) -> list[ModelRow]:
    """Old, those in between, new, upper, as far as there are such."""
    plan, matrix, task = found.plan, found.matrix, task or found.plan.task
    gains = [one for one in matrix.gains if one.task == task]
    made = []
    for name in dict.fromkeys((plan.old, *plan.others, plan.new, *([plan.upper] if plan.upper else []))):
        own = matrix.test(name, name)
        cross = {} if name == plan.old else _crossed(matrix, name, plan.old)
        made.append(
            ModelRow(
                name,
                words.role(plan, name),
                (dimensions or {}).get(name),
                own.measure(task) if own is not None else Measure.none(tr("not tested")),
                cross,
                _performance(plan, name, gains),
                next((one for one in gains if one.best), None) if name == plan.new and plan.upper else None,
            )
        )
    return made


def _crossed(matrix: Matrix, query: str, gallery: str) -> dict[str, CrossTest]:
    found = [one for one in matrix.tests if (one.query, one.gallery) == (query, gallery)]
    return {one.direction: one for one in found if one.direction in DIRECTIONS}


def _performance(plan: UpgradePlan, name: str, gains: list[Gain]) -> Measure | None:
    """What a model gains by itself; upper gains all there is, up or down."""
    of = next((one for one in gains if one.of == "performance"), None)
    if of is None or not plan.upper or name not in (plan.new, plan.upper):
        return None
    if name == plan.new:
        return of.percent
    possible = of.possible
    return (
        Measure(copysign(100.0, possible.value)) if possible.defined and possible.value else Measure.none(possible.why)
    )


def _lined(measure: Measure, *, chance: bool = False) -> str:
    """A rate over its interval."""
    under = tr("chance") if chance else words.interval(measure)
    return "\n".join(filter(None, (words.value(measure), under)))


def _gained(measure: Measure | None) -> str:
    """Per cent over their interval."""
    if measure is None:
        return NOTHING
    if not measure.defined or measure.value is None:
        return tr("n/a")
    under = ""
    if measure.low is not None and measure.high is not None:
        under = "[{}, {}]".format(*(words.percent(end).removesuffix(" %") for end in (measure.low, measure.high)))
    return "\n".join(filter(None, (words.percent(measure.value), under)))


def draw_upgrade_table(
    found: Upgrade, *, gallery: str = "", task: str = "", dimensions: Mapping[str, int] | None = None
) -> Figure:
    """A row for each model; the new one is bold, and the direction that is meant has an ink of its own."""
    plan, task = found.plan, task or found.plan.task
    listed = model_rows(found, task, dimensions)
    rows, inks = [], []
    for one in listed:
        tests = [one.cross.get(way) for way in DIRECTIONS]
        cross = [
            NOTHING if t is None or not t.measure(task).defined else _lined(t.measure(task), chance=t.chance)
            for t in tests
        ]
        size = NOTHING if one.dimensions is None else str(one.dimensions)
        upgrade = None if one.upgrade is None else one.upgrade.percent
        name = escaped(one.name)
        rows.append(
            [f"{name}\n{one.role}", size, _lined(one.alone), *cross, _gained(one.performance), _gained(upgrade)]
        )
        faint = ["text3" if text == NOTHING or (t is not None and t.chance) else "" for text, t in zip(cross, tests)]
        ends = ["text3" if rows[-1][i] in (NOTHING, tr("n/a")) else "" for i in (6, 7)]
        inks.append(["text", "text2", "", *faint, *ends])
    asked = words.asked(plan, task)
    columns = [
        Column(tr("model"), 1.5, right=False), Column(tr("dimensions"), 0.72), Column(tr("alone"), 0.92),
        *(Column(words.direction_name(way), 0.92) for way in DIRECTIONS),
        Column(tr("performance gain"), 1.12), Column(tr("upgrade gain"), 1.05),
    ]  # fmt: skip
    foot = [
        tr("{asked}, higher is better", asked=asked),
        tr("alone: queries and gallery of the model; else its queries in the gallery of {old}", old=escaped(plan.old)),
        tr("gains in per cent of |upper − old|, the upgrade by its best direction"),
        tr("chance: no better than guessing"),
    ]
    bold = {i for i, one in enumerate(listed) if one.name == plan.new}
    table = Table(columns, rows, bold=bold, rules={0}, groups=[(3, 5, tr("in the old gallery"))], inks=inks)
    title = tr("Upgrade: {asked}", asked=asked)
    return draw_table(title, told(found, gallery, resamples=plan.resamples), table, foot)


# Directions


def draw_directions(found: Upgrade, *, gallery: str = "", task: str = "") -> Figure:
    """How new queries meet the old gallery by each direction, and what comes of it; the one meant has a frame."""
    plan, matrix, task = found.plan, found.matrix, task or found.plan.task
    width = 2 * MARGIN + 3 * CARD + 2 * GAP
    foot = [
        tr("A: vectors of {old}, B: vectors of {new}", old=escaped(plan.old), new=escaped(plan.new)),
        tr("T21 maps new into old, T12 old into new"),
        tr("frame: what new/old means here"),
    ]
    foot += wrapped([one.why for one in matrix.fitted if one.why], width - 2 * MARGIN)
    with style():
        page = Page(width, HEAD + 0.04 + TALL + 0.16 + LINE * len(lines(foot, width - 2 * MARGIN)))
        title = tr("Directions of new/old: {asked}, higher is better", asked=words.asked(plan, task))
        page.head(title, told(found, gallery, resamples=plan.resamples))
        for i, name in enumerate(DIRECTIONS):
            x, top = MARGIN + i * (CARD + GAP), HEAD + 0.04
            _direction(page, x, top, name, found, task)
        page.foot(foot)
        return page.figure


def _direction(page: Page, x: float, top: float, name: str, found: Upgrade, task: str) -> None:
    from matplotlib.patches import Rectangle

    plan, matrix = found.plan, found.matrix
    test = _crossed(matrix, plan.new, plan.old).get(name)
    measure = test.measure(task) if test is not None else Measure.none(words.missing_words(name))
    meant, there = name == matrix.direction, measure.defined
    axes = page.bare(x, top, CARD, TALL)
    ink, wide = (INK["text"], 1.8) if meant else (INK["line"], 0.8)
    axes.add_patch(Rectangle((0, 0), 1, 1, fill=False, edgecolor=ink, linewidth=wide, clip_on=False))
    page.text(
        x + CARD / 2, top + 0.15, words.direction_name(name), size=8, ha="center", ink="text" if there else "text3",
        fontweight="bold" if meant else "normal",
    )  # fmt: skip
    _boxes(page, x, top + 0.3, name, alpha=1.0 if there else 0.4)
    down = top + 0.3 + BOX
    if test is None or not there:
        for i, line in enumerate(wrapped([measure.why or tr("not tested")], CARD - 0.2, 6)[:4]):
            page.text(x + CARD / 2, down + 0.18 + 0.11 * i, line, size=6, ink="text2", ha="center")
        return
    bold = "normal" if test.chance else "bold"
    value = "text3" if test.chance else "text"
    page.text(x + CARD / 2, down + 0.22, words.value(measure), size=11, ink=value, ha="center", fontweight=bold)
    under = tr("chance") if test.chance else words.interval(measure)
    page.text(x + CARD / 2, down + 0.4, under, size=6.5, ink="text3", ha="center")
    for i, line in enumerate(lines([words.direction_words(name)], CARD - 0.12, size=5.6)[:2]):
        page.text(x + CARD / 2, down + 0.55 + 0.1 * i, line, size=5.6, ink="text3", ha="center")


def _boxes(page: Page, left: float, top: float, name: str, *, alpha: float) -> None:
    """Query and gallery with the spaces their vectors are in; the query goes to the gallery."""
    from matplotlib.patches import FancyBboxPatch

    axes = page.axes(left, top, CARD, BOX)
    axes.set_axis_off()
    axes.set(xlim=(0, CARD), ylim=(BOX, 0))
    wide = [0.5 if len(spaces) == 1 else 2 * CHIP + ARROW + 0.12 for spaces in STEPS[name]]
    gap = 0.22
    x, middle = (CARD - sum(wide) - gap) / 2, 0.31
    for place, (side, spaces, width) in enumerate(zip((tr("query"), tr("gallery")), STEPS[name], wide)):
        axes.add_patch(
            FancyBboxPatch(
                (x, 0.02), width, BOX - 0.04, boxstyle="round,pad=0,rounding_size=0.04", facecolor="#f3f3f3",
                edgecolor="#ababab", linewidth=0.7, alpha=alpha,
            )
        )  # fmt: skip
        axes.text(x + width / 2, 0.11, side, fontsize=6, color=INK["text3"], ha="center", va="center", alpha=alpha)
        at = x + (width - CHIP * len(spaces) - ARROW * (len(spaces) - 1)) / 2
        for turn, letter in enumerate(spaces):
            if turn:
                _arrow(axes, at + 0.03, at + ARROW - 0.03, middle, alpha)
                axes.text(
                    at + ARROW / 2, middle - 0.075, MAPS[name], fontsize=5, color=INK["text2"], ha="center",
                    va="center", alpha=alpha,
                )  # fmt: skip
                at += ARROW
            _chip(axes, at, middle, letter, alpha)
            at += CHIP
        if not place:
            _arrow(axes, x + width + 0.03, x + width + gap - 0.03, middle, alpha)
        x += width + gap


def _chip(axes: Axes, x: float, y: float, letter: str, alpha: float) -> None:
    """A model by its letter: A is dashed."""
    from matplotlib.patches import Rectangle

    style = (0, (2.2, 1.2)) if letter == "A" else "-"
    axes.add_patch(
        Rectangle(
            (x, y - CHIP / 2), CHIP, CHIP, facecolor=(INK[letter], 0.12 * alpha), edgecolor=(INK[letter], alpha),
            linewidth=1.0, linestyle=style,
        )
    )  # fmt: skip
    axes.text(
        x + CHIP / 2, y + 0.005, letter, fontsize=6.5, fontweight="bold", color=INK[letter], ha="center", va="center",
        alpha=alpha,
    )  # fmt: skip


def _arrow(axes: Axes, left: float, right: float, y: float, alpha: float) -> None:
    axes.annotate(
        "", (right, y), xytext=(left, y), arrowprops={"arrowstyle": "-|>", "color": INK["text2"], "lw": 0.9,
        "mutation_scale": 6, "shrinkA": 0, "shrinkB": 0, "alpha": alpha},
    )  # fmt: skip


def distance_rows(found: Upgrade) -> list[tuple[str, Measure, Measure, Measure]]:
    """How close the pictures of a person lie by each model: to the centre, of two pictures, as an angle."""
    return [(one.model, one.centre, one.pairs, one.angle) for one in found.matrix.compactness]


def draw_compactness(found: Upgrade, *, gallery: str = "") -> Figure:
    """The same as a table, with d_pw of old and new under it."""
    plan = found.plan
    rows = [
        [f"{escaped(name)}\n{words.role(plan, name)}", centre.text(3), pairs.text(3), angle.text(1)]
        for name, centre, pairs, angle in distance_rows(found)
    ]
    columns = [Column(tr("model"), 1.5, right=False), Column(tr("to the centre, squared"), 1.6)]
    columns += [Column(tr("of two pictures, squared"), 1.6), Column(tr("angle to the centre, degrees"), 1.75)]
    distance = found.matrix.point_distance.text(3)
    foot = [
        tr("lower is closer"),
        tr("d_pw of old and new, mean squared distance of a picture's two vectors: {value}", value=distance),
    ]
    title = tr("How close the pictures of a person lie")
    return draw_table(title, told(found, gallery, resamples=plan.resamples), Table(columns, rows), foot)


def shown_percent(measure: Measure) -> str:
    """A gain as tables of papers print it, without the sign of per cent.

    >>> shown_percent(Measure(-1942.105)), shown_percent(Measure(10.526))
    ('−1942.11', '+10.53')
    """
    return number(measure.value, 2, sign=True) if measure.defined and measure.value is not None else NOTHING
