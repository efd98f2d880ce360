"""Figures of an evaluation, for a paper or a note: the charts of the panel, redrawn in the light theme.

Every figure names gallery, models, direction, N and how its intervals were made. What has no value says why.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from facelens.analyses.evaluation import Evaluation, Report
from facelens.analyses.measure import Measure, rate
from facelens.analyses.verification import OperatingPoint, Verification
from facelens.errors import InputError
from facelens.figures import page
from facelens.figures.scales import Array, forward, ticks
from facelens.figures.style import INK, style
from facelens.words import escaped, number, tr

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SUBJECT, REFERENCE, EDGE = 1.7, 1.1, 1.1  # points; 2.2, 1.5 and 1.4 pixels on the screen
LINE = 0.115  # inches of a line of the caption
RANKS = 20  # most ranks drawn; a point each with its whisker
NAME = 36  # letters of a name on a line of the legend
FLOORS = (0.0, 0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99)
CEILINGS = (0.4, 0.6, 0.9, 0.99)


@dataclass(frozen=True)
class Limits:
    """What a chart of rates shows: both axes, and where support begins (0: everywhere, as far as known)."""

    x: tuple[float, float]
    y: tuple[float, float]
    support: float


def roc_limits(evaluation: Evaluation) -> Limits:
    """FAR from a whole power of ten with support to 1; TAR from a round number below all bands to 1."""
    found = [v for _, r in evaluation.sides if (v := r.verification) is not None]
    support = max((v.smallest_far for v in found if v.smallest_far), default=0.0)
    seen = min((float(v.curve.far[v.curve.far > 0].min(initial=1.0)) for v in found), default=1e-6)
    low = min(_decade(support or seen), 0.1)
    least = 1.0
    for v in found:
        inside = v.curve.far >= max(support, low)
        least = min(least, float(_band(v.curve.tar_low, v.curve.tar_high, v.curve.tar)[0][inside].min(initial=1.0)))
    return Limits((low, 1.0), (_floor(least), 1.0), support)


def det_limits(evaluation: Evaluation) -> Limits:
    """Both rates from what the pairs can resolve to 40 %, or higher where the two rates meet there."""
    found = [v for _, r in evaluation.sides if (v := r.verification) is not None]
    support = max((v.smallest_far for v in found if v.smallest_far), default=0.0)
    low_x = min(max(_decade(support or 1e-4), 1e-5), 1e-2)  # a deviate axis stretches what is rarer than that
    low_y = min((max(_decade(3 / v.n_genuine), 1e-4) for v in found if v.n_genuine), default=1e-3)
    worst = max((v.eer.value for v in found if v.eer.value is not None), default=0.0)
    high = next((c for c in CEILINGS if c >= 1.5 * worst), CEILINGS[-1])
    return Limits((low_x, high), (min(low_y, 1e-2), high), support)


def open_limits(evaluation: Evaluation) -> Limits:
    """FPIR from a whole power of ten with support to 1; TPIR from a round number below all bands to 1."""
    found = [i for _, r in evaluation.sides if (i := r.identification) is not None and i.open_curve is not None]
    support = max((i.smallest_fpir for i in found if i.smallest_fpir), default=0.0)
    low = min(_decade(support or 1e-3), 0.1)
    least = 1.0
    for i in found:
        c = i.open_curve
        assert c is not None
        inside = c.fpir >= max(support, low)
        least = min(least, float(_band(c.tpir_low, c.tpir_high, c.tpir)[0][inside].min(initial=1.0)))
    return Limits((low, 1.0), (_floor(least), 1.0), support)


def _band(low: Array, high: Array, y: Array) -> tuple[Array, Array]:
    """The interval of each point; no width where there is none."""
    return np.where(np.isfinite(low), low, y), np.where(np.isfinite(high), high, y)


def _decade(value: float) -> float:
    """The whole power of ten at or below.

    >>> _decade(2.4e-6), _decade(1e-3)
    (1e-06, 0.001)
    """
    return float(10.0 ** np.floor(np.log10(max(value, 1e-12)) + 1e-9))


def _floor(least: float) -> float:
    return max((f for f in FLOORS if f <= least), default=0.0)


# The figures


def roc(evaluation: Evaluation) -> Figure:
    """TAR over FAR, with bands, the operating points of the plan, and the stretch without support."""
    reports = _with(evaluation, "verification", tr("1:1 comparisons"))
    limits = roc_limits(evaluation)
    with style():
        plot = Plot(tr("FAR (log), lower is stricter"), tr("TAR, higher is better"), limits, "log", "linear")
        handles = []
        for side, report in reports:
            v = report.verification
            assert v is not None
            c = v.curve
            inside = c.far >= max(limits.support, 0.0)
            head = tr("AUC {value}", value=v.auc.text()) if v.auc.defined else ""
            drawn = plot.line(
                side, c.far, c.tar, _band(c.tar_low, c.tar_high, c.tar), inside, _label(side, report, head)
            )
            handles += drawn
            for p in v.points:
                if p.tar.defined and p.far > 0:
                    plot.dot(side, p.target, p.tar.value or 0.0)
            if not drawn:
                plot.note(tr("n/a: {why}", why=v.eer.why))
        plot.zone(limits.x[0], limits.support, tr("no support"))
        plot.legend(handles)
        plot.caption(_pairs_lines(evaluation, reports))
        return plot.figure


def det(evaluation: Evaluation) -> Figure:
    """False non-match rate over false match rate on normal deviate axes."""
    reports = _with(evaluation, "verification", tr("1:1 comparisons"))
    limits = det_limits(evaluation)
    with style():
        plot = Plot(
            tr("false match rate (normal deviate), lower is better"),
            tr("false non-match rate (normal deviate), lower is better"),
            limits, "deviate", "deviate", grid=True, size=(4.6, 3.4),
        )  # fmt: skip
        ends = np.array([max(limits.x[0], limits.y[0]), min(limits.x[1], limits.y[1])])
        plot.reference(ends, ends, tr("EER"))
        handles = []
        for side, report in reports:
            v = report.verification
            assert v is not None
            c = v.curve
            inside = (c.far >= max(limits.support, 0.0)) & (c.far > 0) & (c.far < 1)
            head = tr("EER {value}", value=v.eer.text()) if v.eer.defined else ""
            low, high = _band(c.tar_low, c.tar_high, c.tar)
            drawn = plot.line(side, c.far, 1 - c.tar, (1 - high, 1 - low), inside, _label(side, report, head))
            handles += drawn
            if v.eer.defined and v.eer.value is not None and 0 < v.eer.value < 1:
                plot.dot(side, v.eer.value, v.eer.value)
            if not drawn:
                plot.note(tr("n/a: {why}", why=v.eer.why))
        plot.zone(limits.x[0], limits.support, tr("no support"))
        plot.legend(handles)
        plot.caption(_pairs_lines(evaluation, reports))
        return plot.figure


def histogram(
    report: Report, *, threshold: float | None = None, far: float | None = None, told: Sequence[str] = ()
) -> Figure:
    """Genuine and impostor scores, each group scaled to its peak; the line is `threshold`, `far` what it lets in.

    `told` is of whom it speaks, under the chart.
    """
    v = report.verification
    if v is None:
        raise _missing(tr("1:1 comparisons"))
    h = v.histogram
    with style():
        edges = np.asarray(h.edges, np.float64)
        span = (float(edges[0]), float(edges[-1])) if len(edges) > 1 else (-1.0, 1.0)
        lined = threshold is not None and span[0] <= threshold <= span[1]
        plot = Plot(
            tr("score, {model}, higher = more alike", model=report.name),
            tr("share of pairs, each group scaled to its peak"),
            Limits(span, (0.0, 1.0), 0.0), "linear", "linear", size=(6.4, 2.5), foot=0.26 if told else 0.02,
        )  # fmt: skip
        plot.axes.set_ylim(0.0, 1.24 if lined else 1.015)  # what the line means stands over all bars
        shown, places = False, []
        for counts, ink, hatch, name, n in (
            (h.impostor, INK["bad"], "/////", tr("impostor"), v.n_impostor),
            (h.genuine, INK["good"], "", tr("genuine"), v.n_genuine),
        ):
            peak = int(counts.max(initial=0))
            if peak:
                plot.steps(edges, counts / peak, ink, hatch)
                shown = True
            places.append((name, tr("N = {n}", n=n), ink, hatch))
        plot.groups(places)
        if not shown:
            plot.note(tr("n/a: there is no pair"))
        if lined and threshold is not None:
            meaning = "" if far is None else tr("FAR {far}", far=rate(far))
            plot.decision(threshold, tr("threshold {value}", value=number(threshold, 3)), meaning)
        if told:
            plot.caption(told)
        return plot.figure


def of_whom(evaluation: Evaluation, report: Report) -> tuple[str, str]:
    """Gallery, test, N and how intervals were made, for a figure of one report."""
    return _pairs_lines(evaluation, [("", report)])


def cmc(evaluation: Evaluation) -> Figure:
    """Share of searches whose person is found by rank, one point with its interval for each rank."""
    reports = _with(evaluation, "identification", tr("1:N searches"))
    most = max(1, min(RANKS, max(len(r.identification.cmc) for _, r in reports if r.identification is not None)))
    found_all = [r.identification for _, r in reports if r.identification is not None]
    lows = [_band(f.cmc_low, f.cmc_high, f.cmc)[0][:most] for f in found_all]
    least = min(float(low[np.isfinite(low)].min(initial=1.0)) for low in lows)
    with style():
        plot = Plot(
            tr("rank"), tr("found by rank, higher is better"),
            Limits((0.4, most + 0.6), (_floor(least), 1.0), 0.0), "linear", "linear",
        )  # fmt: skip
        plot.ranks(most)
        handles = []
        for i, (side, report) in enumerate(reports):
            found = report.identification
            assert found is not None
            n = min(most, len(found.cmc))
            if not n or not found.n_mated:
                plot.note(tr("n/a: no searched person is in the gallery"))
                continue
            first = found.ranks[0][1] if found.ranks else Measure.none("")
            head = tr("rank 1 {value}", value=first.text()) if first.defined else ""
            shift = (i - (len(reports) - 1) / 2) * 0.26
            handles += plot.points(
                side,
                np.arange(1, n + 1, dtype=np.float64) + shift,
                found.cmc[:n],
                _band(found.cmc_low[:n], found.cmc_high[:n], found.cmc[:n]),
                _label(side, report, head),
            )
        plot.legend(handles, loc="lower right")  # what is found grows with the rank, and "best" sees no whiskers
        plot.caption(_searches_lines(evaluation, reports))
        return plot.figure


def open_set(evaluation: Evaluation) -> Figure:
    """TPIR over FPIR: how many enrolled people are found when strangers raise an alarm at a given rate."""
    reports = _with(evaluation, "identification", tr("1:N searches"))
    limits = open_limits(evaluation)
    with style():
        plot = Plot(
            tr("FPIR (log), lower is stricter"), tr("TPIR at rank 1, higher is better"), limits, "log", "linear"
        )
        handles = []
        for side, report in reports:
            found = report.identification
            assert found is not None
            c = found.open_curve
            if c is None or not len(c.fpir):
                plot.note(tr("n/a: every searched person is in the gallery, so nobody can be turned away"))
                continue
            inside = c.fpir >= limits.support
            head = next(
                (
                    tr("{value} at {rate}", value=p.rank1.text(), rate=rate(p.target))
                    for p in found.open
                    if p.rank1.defined
                ),
                "",
            )
            band = _band(c.tpir_low, c.tpir_high, c.tpir)
            handles += plot.line(side, c.fpir, c.tpir, band, inside, _label(side, report, head))
            for p in found.open:
                if p.rank1.defined and p.fpir > 0:
                    plot.dot(side, p.target, p.rank1.value or 0.0)
        plot.zone(limits.x[0], limits.support, tr("no support"))
        plot.legend(handles)
        plot.caption(_searches_lines(evaluation, reports))
        return plot.figure


def operating_points(evaluation: Evaluation) -> Figure:
    """The table of target FARs; a row without support says so instead of a value."""
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

    reports = _with(evaluation, "verification", tr("1:1 comparisons"))
    heads = [tr("target FAR"), *(tr("{side} TAR [95 %]", side=side) for side, _ in reports)]
    if evaluation.paired is not None:
        heads.append(tr("B − A, paired"))
    last = reports[-1]
    heads += [tr("threshold {side}", side=last[0]), tr("false matches {side}", side=last[0])]
    differences = {d.target: d.tar for d in evaluation.paired.points} if evaluation.paired is not None else {}
    by_side = [{p.target: p for p in _points(report)} for _, report in reports]
    targets = sorted({t for points in by_side for t in points}, reverse=True)
    widths = [0.95, *(1.75 for _ in reports), *([1.85] if evaluation.paired is not None else []), 0.95, 1.2]
    row, wide = 0.25, sum(widths) + 0.2
    told = " · ".join(_pairs_lines(evaluation, reports)).split(" · ")
    caption = page.lines(told, wide - 0.2, size=6.5)
    high = row * (len(targets) + 1) + 0.38 + LINE * len(caption)
    with style():
        figure = Figure(figsize=(wide, high))
        axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        axes.set_axis_off()
        axes.set_xlim(0, wide)
        axes.set_ylim(high, 0)
        ends = 0.1 + np.cumsum(widths)
        top = 0.12 + row
        for i, (head, end) in enumerate(zip(heads, ends)):
            _cell(axes, head, 0.1 if i == 0 else end - 0.06, 0.1 + row / 2, i, INK["text3"])
        axes.plot([0.1, wide - 0.1], [top, top], color="#ababab", linewidth=0.7)
        for n, target in enumerate(targets):
            middle = top + row * (n + 0.5)
            points = [points.get(target) for points in by_side]
            _cell(axes, rate(target), 0.1, middle, 0, INK["text"])
            without = [p for p in points if p is not None and not p.tar.defined]
            if without and len(without) == len([p for p in points if p is not None]):
                axes.add_patch(
                    Rectangle(
                        (ends[0], middle - row / 2 + 0.02),
                        wide - 0.1 - ends[0],
                        row - 0.04,
                        facecolor=INK["base"],
                        edgecolor=INK["line"],
                        hatch="/////",
                        linewidth=0,
                    )
                )
                axes.text(
                    ends[0] + 0.1, middle, without[0].tar.text(), color=INK["text2"], fontsize=7.5, va="center",
                    bbox={"facecolor": INK["base"], "edgecolor": "none", "pad": 1.5},
                )  # fmt: skip
                continue
            texts = [(p.tar.text() if p is not None else tr("n/a"), INK["text"]) for p in points]
            if evaluation.paired is not None:
                texts.append(_signed(differences.get(target)))
            p = points[-1]
            shown = number(p.threshold, 3) if p is not None and p.threshold is not None else tr("n/a")
            texts += [(shown, INK["text"]), (f"{p.false_matches:,}" if p is not None else tr("n/a"), INK["text"])]
            for i, (text, ink) in enumerate(texts):
                _cell(axes, text, ends[i + 1] - 0.06, middle, i + 1, ink)
        for i, line in enumerate(reversed(caption)):
            axes.text(0.1, high - 0.14 - i * LINE, line, color=INK["text3"], fontsize=6.5, va="center")
        return figure


def _points(report: Report) -> tuple[OperatingPoint, ...]:
    assert report.verification is not None
    return report.verification.points


def _cell(axes: Axes, text: str, x: float, y: float, column: int, ink: str) -> None:
    axes.text(x, y, text, color=ink, fontsize=7.5, ha="right" if column else "left", va="center")


def _signed(difference: Measure | None) -> tuple[str, str]:
    """A difference is coloured only when its interval leaves 0 out."""
    if difference is None or not difference.defined:
        return (tr("n/a") if difference is None else difference.text()), INK["text2"]
    sure = difference.low is not None and difference.high is not None and (difference.low > 0 or difference.high < 0)
    ink = (INK["good"] if (difference.value or 0) > 0 else INK["bad"]) if sure else INK["text"]
    return difference.text(sign=True), ink


# What they have in common


def _with(evaluation: Evaluation, part: str, words: str) -> list[tuple[str, Report]]:
    """The reports that hold `part`; at least one."""
    found = [(side, report) for side, report in evaluation.sides if getattr(report, part) is not None]
    if not found:
        raise _missing(words)
    return found


def _missing(words: str) -> InputError:
    return InputError(
        tr("This evaluation holds no {part}, so there is nothing to draw.", part=words),
        hint=tr("Run Evaluate with this part."),
    )


def _label(side: str, report: Report, headline: str) -> str:
    name = "\n".join(wrap(report.name, NAME))
    return "\n".join(t for t in (f"{side}  {name}", headline) if t)


def _resampled(v: Verification) -> str:
    if not v.resamples or not v.resampled:
        return tr("no intervals")
    if v.resampled == "identities":
        return tr("95 % intervals, identities resampled {n} ×", n=v.resamples)
    return tr("95 % intervals, pairs resampled {n} ×", n=v.resamples)


def _pairs_lines(evaluation: Evaluation, reports: Sequence[tuple[str, Report]]) -> tuple[str, str]:
    v = reports[-1][1].verification
    assert v is not None
    pairs = tr("{g} genuine, {i} impostor pairs", g=v.n_genuine, i=v.n_impostor)
    rule = tr("TAR rule {rule}", rule=v.rule.upper() if v.rule in ("roc", "nist", "pfe") else v.rule)
    told = [escaped(evaluation.gallery), escaped(evaluation.protocol), pairs]
    return " · ".join(told), f"{rule} · {_resampled(v)}"


def _searches_lines(evaluation: Evaluation, reports: Sequence[tuple[str, Report]]) -> tuple[str, str]:
    found = reports[-1][1].identification
    assert found is not None
    searches = tr(
        "{mated} searches with a mate, {unmated} without, {n} gallery entries",
        mated=found.n_mated, unmated=found.n_unmated, n=found.n_gallery,
    )  # fmt: skip
    how = tr("95 % intervals, identities resampled {n} ×", n=found.resamples) if found.resamples else tr("no intervals")
    return f"{escaped(evaluation.gallery)} · {searches}", how


class Plot:
    """One pair of axes with titles that lie flat: y above at the left, x below at the right."""

    def __init__(
        self,
        x: str,
        y: str,
        limits: Limits,
        x_scale: str,
        y_scale: str,
        *,
        grid: bool = False,
        size: tuple[float, float] = (4.6, 3.0),
        foot: float = 0.26,
        under: float = 0.0,
    ) -> None:
        """In inches: `foot` is room for the caption, `under` for more between the axis and its title."""
        from matplotlib.figure import Figure

        self.x_scale, self.y_scale = x_scale, y_scale
        self.figure: Figure = Figure(figsize=size)
        wide, high = size
        low = foot + 0.42 + under
        self.axes: Axes = self.figure.add_axes((0.5 / wide, low / high, 1 - 0.68 / wide, 1 - (low + 0.32) / high))
        self.low, self.high = (float(v) for v in forward(x_scale, np.array(limits.x)))
        bottom, top = (float(v) for v in forward(y_scale, np.array(limits.y)))
        self.axes.set_xlim(self.low, self.high)
        self.axes.set_ylim(bottom, top + (top - bottom) * 0.015)
        for axis, scale, low, end, room in (
            (self.axes.xaxis, x_scale, self.low, self.high, 7),
            (self.axes.yaxis, y_scale, bottom, top, 5),
        ):
            marks = ticks(scale, low, end, room=room)
            axis.set_ticks([p for p, _ in marks], [text for _, text in marks])
            axis.set_tick_params(labelsize=7, length=2 if axis is self.axes.xaxis and not grid else 0, pad=4)
        self.axes.set_axisbelow(True)
        self.axes.grid(True, axis="both" if grid else "y", color=INK["text"], alpha=0.09, linewidth=0.7)
        look: dict[str, Any] = {"fontsize": 7.5, "color": INK["text2"], "va": "center"}
        x, y = (page.elided(title, 7.5, wide - 0.26) for title in (x, y))
        self.figure.text(0.08 / wide, 1 - 0.17 / high, y, **look)
        self.figure.text(1 - 0.18 / wide, (foot + 0.14) / high, x, ha="right", **look)
        self._size = size
        self._noted = False

    def line(
        self, side: str, x: Array, y: Array, band: tuple[Array, Array], inside: NDArray[np.bool_], label: str
    ) -> list[Any]:
        """A curve with its band where `inside`; nothing for no points. Gives what the legend needs."""
        px, py = forward(self.x_scale, x), forward(self.y_scale, np.clip(y, *self._ends()))
        bands = [forward(self.y_scale, np.clip(v, *self._ends())) for v in band]
        keep = np.isfinite(px) & np.isfinite(py) & inside
        if not keep.any():
            return []
        self.axes.fill_between(
            px[keep], bands[0][keep], bands[1][keep], color=INK[side], alpha=0.16, linewidth=0, zorder=2
        )
        dashes: dict[str, Any] = {"dashes": (3.6, 2.2)} if side == "A" else {}
        return list(
            self.axes.plot(
                px[keep],
                py[keep],
                color=INK[side],
                linewidth=SUBJECT,
                label=label,
                zorder=3,
                solid_joinstyle="round",
                **dashes,
            )
        )

    def _ends(self) -> tuple[float, float]:
        return (1e-9, 1 - 1e-9) if self.y_scale == "deviate" else (-np.inf, np.inf)

    def reference(self, x: Array, y: Array, name: str) -> None:
        px, py = forward(self.x_scale, x), forward(self.y_scale, y)
        self.axes.plot(px, py, color=INK["text3"], linewidth=REFERENCE, dashes=(2, 2.5), zorder=1.5)
        share = 0.86
        self.axes.text(
            px[0] + share * (px[1] - px[0]), py[0] + share * (py[1] - py[0]), f"{name}  ", color=INK["text3"],
            fontsize=7, ha="right", va="bottom",
        )  # fmt: skip

    def points(self, side: str, x: Array, y: Array, band: tuple[Array, Array], label: str) -> list[Any]:
        """Single points, each with its whisker; A is hollow."""
        reach = [np.maximum(y - band[0], 0), np.maximum(band[1] - y, 0)]
        drawn = self.axes.errorbar(
            x, y, yerr=reach, fmt="o", color=INK[side], markersize=4.2, capsize=1.8, elinewidth=1, capthick=1,
            markerfacecolor=INK["base"] if side == "A" else INK[side], markeredgecolor=INK[side], label=label, zorder=3,
            clip_on=False,
        )  # fmt: skip
        return [drawn]

    def dot(self, side: str, x: float, y: float) -> None:
        self.axes.plot(
            forward(self.x_scale, x), forward(self.y_scale, y), "o", color=INK[side], markersize=5,
            markeredgecolor=INK["base"], markeredgewidth=0.8, zorder=4,
        )  # fmt: skip

    def steps(self, edges: Array, heights: Array, ink: str, hatch: str) -> None:
        self.axes.stairs(heights, edges, fill=True, facecolor=(ink, 0.27), linewidth=0, zorder=2)
        if hatch:
            self.axes.stairs(
                heights, edges, fill=True, facecolor="none", edgecolor=(ink, 0.6), hatch=hatch, linewidth=0, zorder=2.2
            )
        self.axes.stairs(heights, edges, color=ink, linewidth=EDGE, baseline=None, zorder=3)

    def groups(self, groups: Sequence[tuple[str, str, str, str]]) -> None:
        """What is filled and what is hatched, at the right of the y title: name, what is said of it, ink, hatch."""
        from matplotlib.patches import Rectangle

        wide, high = self._size
        x, y = wide - 0.18, high - 0.17
        for name, said, ink, hatch in reversed(groups):
            self.figure.text(x / wide, y / high, said, fontsize=7, color=INK["text3"], ha="right", va="center")
            x -= page.wide(said, 7) + 0.05
            self.figure.text(
                x / wide, y / high, name, fontsize=7.5, fontweight="bold", color=ink, ha="right", va="center"
            )
            x -= page.wide(name, 7.5, bold=True) + 0.05
            box = (x - 0.14) / wide, (y - 0.045) / high
            self.figure.add_artist(
                Rectangle(
                    box, 0.14 / wide, 0.09 / high, facecolor=(ink, 0.27), edgecolor=ink, hatch=hatch, linewidth=0.7
                )
            )
            x -= 0.14 + 0.24

    def zone(self, low: float, high: float, reason: str) -> None:
        """The stretch without support, hatched, with its reason written upwards."""
        from matplotlib.patches import Rectangle

        ends = np.clip(
            np.nan_to_num(forward(self.x_scale, np.array([low, high])), neginf=self.low), self.low, self.high
        )
        if not ends[1] > ends[0]:
            return
        bottom, top = self.axes.get_ylim()
        self.axes.add_patch(
            Rectangle(
                (ends[0], bottom),
                ends[1] - ends[0],
                top - bottom,
                facecolor=INK["base"],
                edgecolor=INK["line"],
                hatch="/////",
                linewidth=0,
                zorder=5,
            )
        )
        if (ends[1] - ends[0]) / (self.high - self.low) > 0.028:
            self.axes.text(
                float(ends.mean()), bottom + 0.04 * (top - bottom), reason, rotation=90, ha="center", va="bottom",
                fontsize=6.5, color=INK["text2"], zorder=6,
                bbox={"facecolor": INK["base"], "edgecolor": "none", "pad": 1, "alpha": 0.85},
            )  # fmt: skip

    def decision(self, x: float, title: str, meaning: str) -> None:
        self.axes.axvline(x, color=INK["text"], linewidth=1.2, zorder=6)
        left = (x - self.low) / (self.high - self.low) > 0.3
        at, ha = (-5, "right") if left else (5, "left")
        for text, y, bold in ((title, -5, True), (meaning, -15, False)):
            self.axes.annotate(
                text, (x, 1.0), xycoords=("data", "axes fraction"), xytext=(at, y), textcoords="offset points", ha=ha,
                va="center", fontsize=8 if bold else 7, fontweight="bold" if bold else "normal",
                color=INK["text"] if bold else INK["text2"], zorder=7,
            )  # fmt: skip

    def ranks(self, most: int) -> None:
        shown = [r for r in (1, 5, 10, 15, 20) if r <= most] if most > 6 else list(range(1, most + 1))
        self.axes.xaxis.set_ticks(shown, [str(r) for r in shown])

    def note(self, text: str) -> None:
        """Why nothing is drawn; the first reason counts."""
        if not self._noted:
            self._noted = True
            self.axes.text(
                0.5, 0.5, text, transform=self.axes.transAxes, ha="center", va="center", color=INK["text3"], wrap=True
            )

    def legend(self, handles: Sequence[Any], *, loc: Literal["best", "lower right"] = "best") -> None:
        if handles:
            self.axes.legend(
                handles=list(reversed(handles)), loc=loc, fontsize=7, handlelength=2.6,
                labelcolor=INK["text"], facecolor=INK["base"], edgecolor="none", framealpha=0.85, borderaxespad=0.8,
            )  # fmt: skip

    def caption(self, lines: Sequence[str]) -> None:
        """Under the axes, a line each; for what is too long for a line the page grows. Comes last."""
        broken = [short for line in lines for short in page.lines(line.split(" · "), self._size[0] - 0.16)]
        self._grow(LINE * (len(broken) - len(lines)))
        wide, high = self._size
        look: dict[str, Any] = {"fontsize": 6, "color": INK["text3"], "va": "bottom", "linespacing": 1.35}
        self.figure.text(0.08 / wide, 0.05 / high, "\n".join(broken), **look)

    def _grow(self, more: float) -> None:
        """So many inches below; all that is there stays as far from the upper edge, and as large."""
        if not more:
            return
        (wide, high), now = self._size, self._size[1] + more
        self._size = wide, now
        self.figure.set_size_inches(wide, now)
        left, bottom, across, tall = self.axes.get_position().bounds
        self.axes.set_position((left, (bottom * high + more) / now, across, tall * high / now))
        for text in self.figure.texts:
            text.set_y((text.get_position()[1] * high + more) / now)
        for box in self.figure.patches:
            if box is not self.figure.patch:
                box.set(y=(box.get_y() * high + more) / now, height=box.get_height() * high / now)  # type: ignore[attr-defined]
