"""Figures of what the parts of an embedding are good for: attributes, correlation, one part less, recall.

Every figure names gallery, model, what its parts are and N. What has no value is hatched.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from facelens.analyses.measure import Measure, rate
from facelens.analyses.universal import Correlation, Curve, Effect, Study
from facelens.errors import InputError
from facelens.figures.charts import REFERENCE, SUBJECT
from facelens.figures.confidence import Subject
from facelens.figures.ensembles import size_range
from facelens.figures.page import HEAD, LINE, MARGIN, Page, elided, lines, undefined, wide
from facelens.figures.part_words import part_name, part_word, words
from facelens.figures.scales import Array, ticks
from facelens.figures.style import INK, style
from facelens.words import escaped, number, plural, tr

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST, CURVES = 24, 6  # attributes on a sheet, and with their curves
NUMBERED = 16  # parts up to which cells carry their numbers, and all parts theirs
RANGES = 1.0, 0.25  # the scales of correlation end here or above, so that figures of several models compare
SPACED = 0.135  # inches between two names of curves
LOOKS: tuple[dict[str, Any], ...] = (  # of Recall@k for rising k: never told by colour alone
    {"color": "#0a63c9", "marker": "o"},
    {"color": "#8a6100", "marker": "s"},
    {"color": "#007e7f", "marker": "^"},
    {"color": "#8c4d90", "marker": "D"},
)


# What is said of attributes, here and in lists


def attribute(effect: Effect) -> str:
    """What it is called."""
    name = escaped(effect.column)
    return tr("{column} = {group}", column=name, group=escaped(effect.group)) if effect.group else name


def moves(strength: Measure) -> bool:
    """Whether the interval leaves out 0."""
    low, high = strength.low, strength.high
    return strength.defined and low is not None and high is not None and (low > 0 or high < 0)


def strongest(effects: Sequence[Effect], part: int | None = None) -> list[Effect]:
    """Those that move a part, or any part, most; the ones that are not shown to move it come last."""

    def key(effect: Effect) -> float:
        some = effect.strength if part is None else effect.strength[part : part + 1]
        return max((abs(one.value) - 2 * (not moves(one)) for one in some if one.value is not None), default=-9.0)

    return sorted(effects, key=key, reverse=True)


def draw_effects(study: Study, subject: Subject) -> Figure:
    """Attributes x parts: how much each moves the value, with its sign; hollow where it may be nothing."""
    if not study.effects:
        raise InputError(
            tr("This gallery has no attributes, so there is nothing to draw."),
            hint=tr("Import scores, or open a manifest with columns such as blur or yaw."),
        )
    effects = strongest(study.effects)[:MOST]
    said, K = words(study.shown, subject.layout), subject.layout.parts
    good = -1.0 if study.shown != "share" else 1.0  # a value that rises is worse, but for the share
    strength = [[one.value if one.defined and one.value is not None else None for one in e.strength] for e in effects]
    shown = np.array([[moves(one) for one in e.strength] for e in effects])
    raw = np.array([[np.nan if v is None else v for v in row] for row in strength], np.float64)
    limit = float(np.nanmax(np.abs(raw))) if np.isfinite(raw).any() else 1.0
    values = np.where(np.isnan(raw), np.nan, np.where(shown, good * raw, np.inf))
    texts = [["" if np.isnan(v) else number(v, 2, sign=True) for v in row] for row in raw.tolist()]
    line, left, cell = 0.2, 1.5, 0.42 if K <= 12 else 0.37 if K <= NUMBERED else 0.16
    with style():
        page = Page(max(left + K * cell + 0.62, 5.0), HEAD + 0.2 + len(effects) * line + 0.55)
        page.head(tr("What moves each part: {title}", title=said.title), subject.told)
        column_heads(page, left, HEAD + 0.1, cell, K)
        page.text(left + K * cell + 0.5, HEAD + 0.1, tr("faces"), size=6, ink="text3", ha="right")
        for i, effect in enumerate(effects):
            middle = HEAD + 0.2 + (i + 0.5) * line
            name = elided(attribute(effect), 6.5, left - 0.2)
            page.text(left - 0.08, middle, name, size=6.5, ink="text2", ha="right")
            page.text(left + K * cell + 0.5, middle, f"{effect.n:,}", size=6, ink="text3", ha="right")
        size = K * cell, len(effects) * line
        numbered = texts if K <= NUMBERED else None
        page.cells(left, HEAD + 0.2, size, values, (-limit, limit), signed=True, texts=numbered, points=5.4)
        ends = f"{said.low} {number(-limit, 2)}", f"{said.high} {number(limit, 2, sign=True)}"
        page.scale(MARGIN, page.height - 0.36, tr("the more of it:"), ends if good > 0 else ends[::-1], "", signed=True)
        told = [tr("rank correlation, of a group 2 AUC − 1"), tr("coloured where the 95 % interval leaves out 0")]
        if len(study.effects) > MOST:
            told.append(tr("the strongest {n} of {total}", n=MOST, total=len(study.effects)))
        if np.isnan(raw).any():
            told.append(tr("hatched: no value"))
        page.foot(told)
        return page.figure


def column_heads(page: Page, left: float, down: float, cell: float, K: int) -> None:
    """The numbers of the parts over their columns, as many as there is room for."""
    for k in range(0, K, 1 if K <= NUMBERED else 8):
        page.text(left + (k + 0.5) * cell, down, str(k + 1), size=6, ink="text2", ha="center")


def draw_effect_curves(study: Study, subject: Subject, *, most: int = CURVES) -> Figure:
    """How the value goes along with the attributes that move it most: the part that each moves most, others pale."""
    effects = [one for one in strongest(study.effects) if one.middle.shape[-1] > 1][:most]
    if not effects:
        raise InputError(
            tr("This gallery has no attributes, so there is nothing to draw."),
            hint=tr("Import scores, or open a manifest with columns such as blur or yaw."),
        )
    said = words(study.shown, subject.layout)
    across, tall, columns = 1.85, 1.2, min(len(effects), 3)
    step, down = across + 0.55, -(-len(effects) // columns)
    title = tr("How the parts go along with attributes: {title}", title=said.title)
    width = max(MARGIN + columns * step, wide(title, 9, bold=True) + 2 * MARGIN)
    foot = [
        tr("upwards: {name}, {high}", name=said.name, high=said.high),
        tr("line: median of the part that is moved most, band: half of the faces"), tr("pale: the other parts"),
        tr("bins of about as many faces each; of a group: the others, the group"),
        tr("ρ: rank correlation, of a group 2 AUC − 1, 95 % intervals"),
    ]  # fmt: skip
    with style():
        page = Page(width, HEAD + down * (tall + 0.72) + 0.1 + LINE * len(lines(foot, width - 2 * MARGIN)))
        page.head(title, subject.told)
        for i, effect in enumerate(effects):
            x, top = MARGIN + i % columns * step, HEAD + i // columns * (tall + 0.72)
            part = max(range(len(effect.strength)), key=lambda k, e=effect: _moved(e.strength[k]))  # type: ignore[misc]
            name = tr("{attribute}, {part}", attribute=attribute(effect), part=part_name(subject.layout, part))
            page.text(x, top + 0.08, elided(name, 7, step - 0.12), size=7)
            told = tr("ρ {value}", value=effect.strength[part].text(2, sign=True))
            page.text(x, top + 0.2, elided(told, 6.5, step - 0.12), size=6.5, ink="text3")
            _effect(page.axes(x + 0.36, top + 0.3, across, tall), effect, part)
        page.foot(foot)
        return page.figure


def _moved(strength: Measure) -> float:
    return abs(strength.value) if strength.value is not None else -1.0


def _effect(axes: Axes, effect: Effect, part: int) -> None:
    """Medians over bins of equal width, with the quartiles of one part."""
    B = effect.middle.shape[1]
    low, high = effect.quartiles[part].T
    every = np.concatenate([effect.middle.ravel(), low, high])
    known = every[np.isfinite(every)]
    ends = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
    spare = 0.06 * (ends[1] - ends[0]) or 0.5
    chart(axes, (0.0, float(B)), (ends[0] - spare, ends[1] + spare))
    x = np.arange(B) + 0.5
    for k in range(len(effect.middle)):
        if k != part:
            axes.plot(x, effect.middle[k], color=INK["text3"], linewidth=0.7, alpha=0.45, zorder=2)
    if effect.group:
        axes.errorbar(
            x, effect.middle[part], yerr=[effect.middle[part] - low, high - effect.middle[part]], fmt="o",
            color=INK["accent"], markersize=3.4, elinewidth=1, capsize=2, zorder=3,
        )  # fmt: skip
        axes.set_xticks(x, [tr("others"), elided(escaped(effect.group), 6, 0.9)])
        return
    axes.fill_between(x, low, high, color=INK["accent"], alpha=0.16, linewidth=0)
    axes.plot(x, effect.middle[part], color=INK["accent"], linewidth=SUBJECT, zorder=3)
    by = max(1, B // 3)
    places = list(range(0, B + 1, by))
    axes.set_xticks(places, [short_number(float(effect.edges[place])) for place in places])


def short_number(value: float) -> str:
    """In three figures, or whole.

    >>> short_number(0.1234), short_number(-12.0), short_number(1234.0)
    ('0.123', '−12', '1,234')
    """
    return (f"{value:,.0f}" if 1000 <= abs(value) < 1e6 else f"{value:.3g}").replace("-", "−")


# Correlation


def draw_correlation(found: Correlation, subject: Subject) -> Figure:
    """How alike two parts are: K x K, by distances to the person's centre and by their dimensions."""
    K = subject.layout.parts
    side = min(max(K * 0.28, 1.9), 2.9)
    halves = [
        (found.centre, found.centre_mean, found.control_centre, tr("of distances to the person's centre, r")),
        (found.slices, found.slices_mean, found.control_slices, tr("of their dimensions, mean |r|")),
    ]
    step = max(side + 0.5, 3.3)  # room for the words under it
    with style():
        page = Page(2 * step + 0.34, HEAD + 0.62 + side + 0.5)
        page.head(tr("How alike two parts are: correlation, lower is better"), subject.told)
        for i, (matrix, mean, control, title) in enumerate(halves):
            left = 0.34 + i * step
            page.text(left, HEAD + 0.06, title, size=7, ink="text2")
            page.text(left, HEAD + 0.22, tr("mean {value}", value=mean.text(3)), size=8, fontweight="bold")
            top = HEAD + 0.52
            if matrix is None or not np.isfinite(matrix).any():
                undefined(page.bare(left, top, side, side), 0, 0, 1, 1)
                continue
            cell = side / K
            column_heads(page, left, top - 0.08, cell, K)
            for k in range(0, K, 1 if K <= NUMBERED else 8):
                page.text(left - 0.06, top + (k + 0.5) * cell, str(k + 1), size=6, ink="text2", ha="right")
            values = np.asarray(matrix, np.float64).copy()
            np.fill_diagonal(values, np.inf)
            off = values[np.isfinite(values)]
            low, high = min(0.0, float(off.min())), max(float(off.max()), RANGES[i])
            texts = [[tight(value) for value in row] for row in values.tolist()]
            points = 5.2 if K <= 10 else 4.2
            numbered = texts if K <= NUMBERED else None
            page.cells(left, top, (side, side), values, (low, high), gap=0.5, texts=numbered, points=points)
            page.scale(left, top + side + 0.13, "", (number(low, 2), number(high, 2)), _control(control), width=0.8)
        page.foot(
            [tr("r is Pearson's over the faces"), tr("bright = more alike"), tr("a part with itself is left out")]
        )
        return page.figure


def tight(value: float) -> str:
    """A share in little room: two decimals without a nought before them; nothing where there is no number.

    >>> tight(0.634), tight(-0.05), tight(1.0), tight(np.nan)
    ('.63', '−.05', '1.00', '')
    """
    return number(value, 2).replace("0.", ".", 1) if np.isfinite(value) else ""


def _control(control: Measure) -> str:
    """What chance gives."""
    if not control.defined or control.value is None:
        return ""
    return tr("after a random rotation: mean {value}", value=number(control.value, 3))


# One part less, one part alone


def draw_without(study: Study, subject: Subject, *, far: float) -> Figure:
    """TAR and Recall@1 with one part alone, and with all but one."""
    if not study.without or study.whole is None:
        raise InputError(tr("What single parts do is not worked out yet."))
    names = tr("TAR @ FAR {far}", far=rate(far)), tr("Recall@1")
    rows = (
        (tr("{name}, one part alone, higher is better"), ("tar_only", "recall_only"), True),
        (tr("{name}, all but one part, higher is better"), ("tar_without", "recall_without"), False),
    )
    K = subject.layout.parts
    width, tall = min(max(0.3 * K, 2.6), 4.4), 1.15
    with style():
        page = Page(2 * (width + 1.0) + 0.1, HEAD + 2 * (tall + 0.56) + 0.22)
        page.head(tr("One part alone, and one part less"), subject.told)
        for i, (title, fields, from_zero) in enumerate(rows):
            for j, (field, whole) in enumerate(zip(fields, study.whole)):
                x, top = 0.5 + j * (width + 1.0), HEAD + 0.22 + i * (tall + 0.56)
                page.text(x - 0.4, top - 0.14, title.format(name=names[j]), size=7, ink="text2")
                measures = [getattr(one, field) for one in study.without]
                axes = page.axes(x, top, width, tall)
                _single(axes, measures, whole, from_zero=from_zero)
                if i:
                    page.text(x + width, top + tall + 0.24, part_word(subject.layout), size=7, ink="text2", ha="right")
        page.foot([tr("whiskers: 95 % intervals"), tr("dashed: all parts")])
        return page.figure


def _single(axes: Axes, measures: Sequence[Measure], whole: Measure, *, from_zero: bool) -> None:
    """A value for each part beside that of all parts."""
    K = len(measures)
    low, high = size_range([*measures, whole])
    low = 0.0 if from_zero else low
    chart(axes, (0.4, K + 0.6), (low, high))
    by = 1 if K <= NUMBERED else 8
    axes.set_xticks(range(1, K + 1, by), [str(k) for k in range(1, K + 1, by)])
    for k, one in enumerate(measures):
        if not one.defined or one.value is None:
            undefined(axes, k + 0.6, low, 0.8, high - low)
            continue
        if from_zero:
            axes.bar(k + 1, one.value, 0.7, color=INK["accent"], alpha=0.35, linewidth=0, zorder=2)
        ends = (one.low, one.high) if one.low is not None and one.high is not None else (one.value, one.value)
        axes.errorbar(
            k + 1, one.value, yerr=[[max(one.value - ends[0], 0)], [max(ends[1] - one.value, 0)]], fmt="o",
            color=INK["accent"], markersize=3.2, elinewidth=0.9, capsize=1.6, capthick=0.9, zorder=3, clip_on=False,
        )  # fmt: skip
    if whole.defined and whole.value is not None:
        axes.axhline(whole.value, color=INK["text2"], linewidth=REFERENCE, dashes=(3.6, 2.2), zorder=2.5)
        axes.annotate(
            tr("all {value}", value=number(whole.value, 3)), (1.0, whole.value), xycoords=("axes fraction", "data"),
            xytext=(3, 0), textcoords="offset points", va="center", fontsize=6, color=INK["text2"],
        )  # fmt: skip


def chart(axes: Axes, x: tuple[float, float], y: tuple[float, float], *, room: int = 4) -> None:
    """Axes as charts have them: a line at the foot, lines across, few ticks."""
    axes.set(xlim=x, ylim=y)
    marks = ticks("linear", *y, room=room)
    axes.set_yticks([p for p, _ in marks], [text for _, text in marks])
    axes.tick_params(axis="y", labelsize=6, length=0, pad=3)
    axes.tick_params(axis="x", labelsize=6, length=2, pad=2)
    axes.set_axisbelow(True)
    axes.grid(True, axis="y", color=INK["text"], alpha=0.09, linewidth=0.7)


# Recall against the number of parts


def draw_recall(curve: Curve, subject: Subject) -> Figure:
    """Recall@k against the number of parts, in their order and in orders drawn by chance."""
    K, most = subject.layout.parts, min(len(curve.ks), len(LOOKS))
    with style():
        page = Page(5.4, HEAD + 2.6 + 0.62)
        page.head(tr("Recall against the number of parts"), subject.told)
        page.text(MARGIN, HEAD + 0.06, tr("Recall@k, higher is better"), size=7, ink="text2")
        axes = page.axes(0.5, HEAD + 0.18, 4.05, 2.4)
        chart(axes, (0.8, K + 0.2), recall_range([curve.ordered[:most], curve.low[:most]]), room=6)
        _count_ticks(axes, K)
        x = np.arange(1, K + 1)
        ends = []
        for i in reversed(range(most)):
            axes.fill_between(x, curve.low[i], curve.high[i], color=LOOKS[i]["color"], alpha=0.16, linewidth=0)
            axes.plot(x, curve.mean[i], color=LOOKS[i]["color"], linewidth=REFERENCE, dashes=(2, 2.5), zorder=2)
            axes.plot(
                x, curve.ordered[i], linewidth=SUBJECT, markersize=marker_size(K), zorder=3, clip_on=False, **LOOKS[i]
            )
            ends.append((float(curve.ordered[i][-1]), tr("Recall@{k}", k=curve.ks[i]), str(LOOKS[i]["color"])))
        name_ends(page, axes, 4.6, ends)
        page.text(4.55, HEAD + 2.86, _number_of(subject), size=7, ink="text2", ha="right")
        told = [
            tr("line: parts in their order"),
            tr("dashes and band: mean and 90 % of {n} orders drawn by chance", n=curve.orders),
            plural(curve.n, "{n} query", "{n} queries"),
        ]
        page.foot(told)
        return page.figure


def recall_range(curves: Sequence[Array]) -> tuple[float, float]:
    """Limits of an axis that shows all of some curves, and a little room."""
    known = np.concatenate([one[np.isfinite(one)] for one in curves])
    low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
    spare = max(0.05 * (high - low), 0.004)
    return max(0.0, low - spare), min(1.0, high + spare)


def _number_of(subject: Subject) -> str:
    return {"learners": tr("learners used"), "slices": tr("slices used")}.get(subject.layout.kind, tr("parts used"))


def _count_ticks(axes: Axes, K: int) -> None:
    places = list(range(1, K + 1)) if K <= NUMBERED else [1, *range(8, K + 1, 8)]
    axes.set_xticks(places, [str(k) for k in places])


def marker_size(points: int) -> float:
    """Of the marks on a curve; where there are many it is a line."""
    return 3.2 if points <= NUMBERED else 0.0


def name_ends(page: Page, axes: Axes, x: float, ends: Sequence[tuple[float, str, str]]) -> None:
    """Names of curves at their right ends, apart from one another: value, name, colour."""
    low, high = axes.get_ylim()
    box = axes.get_position()
    top, tall = (1 - box.y1) * page.height, box.height * page.height
    down, last = [], -1.0
    for value, name, colour in sorted(ends, reverse=True):
        place = max(top + tall * (high - value) / (high - low), last + SPACED)
        down.append((place, name, colour))
        last = place
    over = max(last - top - tall, 0.0)
    for place, name, colour in down:
        page.text(x, place - over, name, size=6.5, color=colour)
