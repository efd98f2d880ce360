"""Figures of what lies behind an evaluation: rates by the values of a column, people taken for one another, retrieval.

Every figure names gallery, models, N and how its intervals were made; model A is a ring, model B a disc.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from facelens.analyses.breakdown import Slice
from facelens.analyses.evaluation import Evaluation, Report
from facelens.analyses.measure import Measure, rate
from facelens.errors import InputError
from facelens.figures.charts import of_whom
from facelens.figures.page import HEAD, LINE, MARGIN, Page, elided, lines
from facelens.figures.rails import GAP, RAIL, Rails, reach
from facelens.figures.style import INK, style
from facelens.images.faceset import FaceSet
from facelens.progress import Tick, silent
from facelens.words import escaped, number, plural, tr

if TYPE_CHECKING:
    from matplotlib.figure import Figure

APART = 0.17  # of a row: A above its middle, B under it
FACE, STEP, TALL, ACROSS, MOST = 0.62, 2.3, 1.12, 3, 12  # inches of a face, a pair of people, a row of pairs; pairs
COLUMN = 1.42  # inches of a value with its interval


def intervals(resamples: int, resampled: str = "identities") -> str:
    """How intervals were made."""
    if not resamples or not resampled:
        return tr("no intervals")
    if resampled == "identities":
        return tr("95 % intervals, identities resampled {n} ×", n=resamples)
    return tr("95 % intervals, pairs resampled {n} ×", n=resamples)


def _models(evaluation: Evaluation) -> list[str]:
    return [f"{side} {report.name}" for side, report in evaluation.sides]


# By the values of a column


def draw_breakdown(evaluation: Evaluation, *, far: float | None = None) -> Figure:
    """TAR of each value of a column at the thresholds of all pairs, at the target nearest to `far`."""
    reports = [(side, report) for side, report in evaluation.sides if report.slices]
    if not reports:
        raise InputError(
            tr("The evaluation is not broken down by a column, so there is nothing to draw."),
            hint=tr("Choose a column as breakdown."),
        )
    last = reports[-1][1]
    target = _target(last.slices, far)
    names = list(dict.fromkeys(one.value for _, report in reports for one in report.slices))
    found = {(side, one.value): one for side, report in reports for one in report.slices}
    limits = reach([_at(one.tar, target) for one in found.values()])
    if limits is None:
        why = next((one.why for side in found.values() for _, one in side.tar if one.why), "")
        raise InputError(tr("There is no rate to draw: {why}.", why=why))
    v = last.verification
    asked = tr("TAR @ FAR {rate}, higher is better", rate=rate(target))
    told = [
        escaped(evaluation.gallery), escaped(evaluation.protocol), *_models(evaluation),
        intervals(v.resamples, v.resampled) if v is not None else "",
    ]  # fmt: skip
    foot = [
        tr("both pictures of a pair have the value; thresholds are those of all pairs"),
        tr("real FAR: of the impostor pairs of the value"),
        *([tr("ring: A, disc: B")] if len(reports) > 1 else []),
    ]
    with style():
        rails = Rails(
            tr("By {column}: {asked}", column=escaped(evaluation.plan.breakdown), asked=asked), told, len(names),
            limits, foot, row=0.34, values=2.6, above=0.14,
        )  # fmt: skip
        rails.rates()
        rails.head(escaped(evaluation.plan.breakdown), tr("TAR, {side}", side=reports[-1][0]))
        rails.page.text(rails.page.width - MARGIN, rails.top - 0.1, tr("real FAR"), size=6.5, ink="text3", ha="right")
        for i, name in enumerate(names):
            own = found.get((reports[-1][0], name))
            tar = _at(own.tar, target) if own is not None else Measure.none(tr("no pair"))
            rails.write(i, escaped(name), tar.text(3), under=_counted(own))
            if own is not None and (wrong := _at(own.far, target)).defined and wrong.value is not None:
                shown = rate(float(f"{wrong.value:.2g}")) if wrong.value else "0"
                rails.page.text(rails.page.width - MARGIN, rails.middle(i), shown, size=6.5, ink="text2", ha="right")
            for side, _ in reports:
                one = found.get((side, name))
                off = 0.0 if len(reports) == 1 else -APART if side == "A" else APART
                if one is not None:
                    rails.point(_at(one.tar, target), i + off, INK[side], filled=side != "A")
        return rails.page.figure


def _target(slices: Sequence[Slice], far: float | None) -> float:
    targets = [target for target, _ in slices[0].tar]
    if not targets:
        raise InputError(tr("There is no rate to draw: no FAR was asked for."))
    known = [t for t in targets if any(_at(one.tar, t).defined for one in slices)] or targets
    wanted = far if far is not None and far > 0 else known[0]
    return min(known, key=lambda one: abs(one - wanted) / max(one, wanted))


def _at(pairs: Sequence[tuple[float, Measure]], target: float) -> Measure:
    return next((measure for one, measure in pairs if one == target), Measure.none(tr("not asked for")))


def _counted(one: Slice | None) -> str:
    if one is None:
        return ""
    faces = plural(one.faces, "{n} face", "{n} faces")
    return tr("{faces}, {n} genuine pairs", faces=faces, n=one.n_genuine)


# People who are taken for one another


def draw_confusable(
    faces: FaceSet, evaluation: Evaluation, report: Report, *, most: int = MOST, tick: Tick = silent
) -> Figure:
    """People taken for one another, most false matches first, with the two pictures that look most alike."""
    if report.of == "template" or not report.confusable:
        why = tr("templates have no one picture") if report.of == "template" else tr("nobody is taken for another")
        raise InputError(tr("There are no confusable people to draw: {why}.", why=why))
    some, names = report.confusable[:most], faces.identity.names
    width = 2 * MARGIN + min(len(some), ACROSS) * STEP
    width, down = max(width, 5.0), -(-len(some) // ACROSS)
    at = number(report.confused_at, 3) if report.confused_at is not None else tr("n/a")
    foot = [tr("the two pictures of them that are most alike"), tr("false matches: pairs above {at}", at=at)]
    if len(report.confusable) > most:
        foot.append(tr("the first {n} of {total} listed", n=most, total=len(report.confusable)))
    with style():
        page = Page(width, HEAD + 0.06 + down * TALL + 0.16 + LINE * len(lines(foot, width - 2 * MARGIN)))
        page.head(tr("People taken for one another"), [report.name, *of_whom(evaluation, report)])
        for i, one in enumerate(some):
            tick(i, len(some), tr("Drawing"))
            x, top = MARGIN + i % ACROSS * STEP, HEAD + 0.06 + i // ACROSS * TALL
            for side, (face, code) in enumerate(zip(one.pair, (one.first, one.second))):
                left = x + side * (FACE + 0.04)
                page.face(left, top, FACE, faces, faces.row_of(int(face)), pixels=112)
                name = escaped(names[code]).replace("_", " ") if 0 <= code < len(names) else ""
                page.text(x, top + FACE + 0.1 + 0.12 * side, elided(name, 6.5, STEP - 0.15), size=6.5)
            beside = x + 2 * FACE + 0.12
            page.text(beside, top + 0.12, number(one.best, 3), size=8.5, fontweight="bold")
            page.text(beside, top + 0.26, tr("best score"), size=6, ink="text3")
            page.text(beside, top + 0.42, f"{one.false_matches:,}", size=8.5, fontweight="bold")
            said = tr("false of {n}", n=one.pairs)
            page.text(beside, top + 0.56, elided(said, 6, STEP - 2 * FACE - 0.2), size=6, ink="text3")
        page.foot(foot)
        tick(1, 1)
        return page.figure


# Retrieval


def draw_retrieval(evaluation: Evaluation) -> Figure:
    """Means over queries with intervals, and what B is better by."""
    reports = [(side, report) for side, report in evaluation.sides if report.retrieval is not None]
    measures = {side: _means(report) for side, report in reports}
    names = list(dict.fromkeys(name for some in measures.values() for name in some))
    limits = reach([one for some in measures.values() for one in some.values()])
    if limits is None and (
        why := next((one.why for some in measures.values() for one in some.values() if one.why), "")
    ):
        raise InputError(tr("There is no mean to draw: {why}.", why=why))
    if limits is None:
        raise InputError(
            tr("This evaluation holds no retrieval, so there is nothing to draw."),
            hint=tr("Run Evaluate with this part."),
        )
    last = reports[-1][1].retrieval
    assert last is not None
    counted = plural(last.n_queries, "N = {n} query", "N = {n} queries")
    told = [escaped(evaluation.gallery), *_models(evaluation), counted, intervals(last.resamples)]
    foot = [last.how.removesuffix("."), *([tr("ring: A, disc: B")] if len(reports) > 1 else [])]
    gains = evaluation.paired_retrieval.measures if evaluation.paired_retrieval is not None else {}
    heads = [tr("{side} [95 %]", side=side) for side, _ in reports] + ([tr("B − A, paired")] if gains else [])
    with style():
        rails = Rails(
            tr("Retrieval: means over queries, higher is better"), told, len(names), limits, foot, names=0.85,
            values=GAP + COLUMN * len(heads) + (0.25 if gains else 0.0), above=0.14,
        )  # fmt: skip
        rails.rates()
        starts = [MARGIN + 0.85 + RAIL + GAP + i * COLUMN for i in range(len(heads))]
        for x, head in zip(starts, heads):
            rails.page.text(x, rails.top - 0.1, head, size=6.5, ink="text3")
        for i, name in enumerate(names):
            rails.write(i, name, "")
            for x, (side, _) in zip(starts, reports):
                one = measures[side].get(name, Measure.none(tr("not worked out")))
                rails.page.text(x, rails.middle(i), elided(one.text(3), 6.5, COLUMN - 0.08), size=6.5)
                off = 0.0 if len(reports) == 1 else -APART if side == "A" else APART
                rails.point(one, i + off, INK[side], filled=side != "A")
            if gains:
                gain = gains.get(name)
                shown, ink = (gain.text(3, sign=True), _sure(gain)) if gain is not None else ("", "text3")
                rails.page.text(starts[-1], rails.middle(i), elided(shown, 6.5, COLUMN + 0.2), size=6.5, ink=ink)
        return rails.page.figure


def _means(report: Report) -> dict[str, Measure]:
    found = dict(report.retrieval.measures) if report.retrieval is not None else {}
    return found | (dict(report.clustering.measures) if report.clustering is not None else {})


def _sure(gain: Measure) -> str:
    """Coloured only where the interval leaves 0 out."""
    if not gain.defined or gain.low is None or gain.high is None or gain.low <= 0 <= gain.high:
        return "text2"
    return "good" if (gain.value or 0) > 0 else "bad"
