"""Tables of an evaluation as figures: what needs no operating point, and the ranks and rates of searches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from facelens.analyses.evaluation import Evaluation, Report
from facelens.analyses.measure import Measure, rate
from facelens.analyses.verification import Verification
from facelens.errors import InputError
from facelens.figures.breakdown import intervals
from facelens.figures.charts import of_whom
from facelens.figures.tabular import Column, Table, draw_table
from facelens.words import escaped, plural, tr

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Row = tuple[str, list[Measure], Measure | None]  # what is measured, by each model, B minus A
SUMS: tuple[tuple[str, int, Callable[[Verification], Measure | None]], ...] = (
    ("EER, lower is better", 4, lambda v: v.eer),
    ("AUC, higher is better", 4, lambda v: v.auc),
    ("d′, higher is better", 2, lambda v: v.d_prime),
    ("FMR100, lower is better", 4, lambda v: v.fmr100),
    ("FMR1000, lower is better", 4, lambda v: v.fmr1000),
    ("best accuracy, higher is better", 4, lambda v: v.best.share),
    ("accuracy over folds, higher is better", 4, lambda v: v.folds.share if v.folds is not None else None),
)
NOTHING = Measure.none("")


def draw_summary(evaluation: Evaluation) -> Figure:
    """EER, AUC, d′, FMR100, FMR1000 and accuracy of both models, and what B differs by where that was worked out."""
    found = [(side, report) for side, report in evaluation.sides if report.verification is not None]
    if not found:
        raise InputError(tr("There are no scores to draw."))
    paired = evaluation.paired
    differences = {0: paired.eer, 1: paired.auc} if paired is not None else {}
    rows: list[Row] = []
    digits = []
    for i, (name, decimals, of) in enumerate(SUMS):
        measures = [of(report.verification) for _, report in found if report.verification is not None]
        if any(one is not None for one in measures):
            rows.append((tr(name), [one or NOTHING for one in measures], differences.get(i)))
            digits.append(decimals)
    foot = [
        tr("FMR100, FMR1000: genuine pairs refused where 1 %, 0.1 % of impostors may pass"),
        tr("the best threshold is chosen on the pairs themselves"),
    ]
    return _table(tr("Summary of the comparisons"), of_whom(evaluation, found[-1][1]), found, rows, digits, foot)


def draw_rates(evaluation: Evaluation) -> Figure:
    """How many are found by each rank, and at each FPIR, by both models."""
    found = [(side, report) for side, report in evaluation.sides if report.identification is not None]
    searches = [report.identification for _, report in found if report.identification is not None]
    if not searches:
        raise InputError(
            tr("This evaluation holds no {part}, so there is nothing to draw.", part=tr("1:N searches")),
            hint=tr("Run Evaluate with this part."),
        )
    last, paired = searches[-1], evaluation.paired_search
    ranks, rates = (dict(paired.ranks), dict(paired.open)) if paired is not None else ({}, {})
    rows: list[Row] = []
    for k, _ in last.ranks:
        rows.append((tr("rank {k}", k=k), [dict(one.ranks).get(k, NOTHING) for one in searches], ranks.get(k)))
    for point in last.open:
        each = [{p.target: p.rank1 for p in one.open}.get(point.target, NOTHING) for one in searches]
        rows.append((tr("TPIR at FPIR {x}", x=rate(point.target)), each, rates.get(point.target)))
    told = [
        escaped(evaluation.gallery), plural(last.n_mated, "{n} search with a mate", "{n} searches with a mate"),
        tr("{n} without", n=last.n_unmated), plural(last.n_gallery, "{n} gallery entry", "{n} gallery entries"),
        intervals(last.resamples),
    ]  # fmt: skip
    title = tr("Ranks and rates of searches, higher is better")
    return _table(title, told, found, rows, [4] * len(rows), [last.how.removesuffix(".")])


def _table(
    title: str, told: Sequence[str], sides: Sequence[tuple[str, Report]], rows: Sequence[Row], digits: Sequence[int],
    foot: Sequence[str],
) -> Figure:  # fmt: skip
    """A row for each measure; what cannot be said tells why under the table."""
    both = any(difference is not None for *_, difference in rows)
    columns = [Column("", 2.3, right=False)]
    columns += [Column(f"{side} {escaped(one.name)} [95 %]", 1.9) for side, one in sides]
    columns += [Column(tr("B − A, paired"), 1.8)] if both else []
    cells = []
    whys: dict[str, None] = {}
    for (name, measures, difference), decimals in zip(rows, digits):
        said = [one.text(decimals) if one.defined else tr("n/a") for one in measures]
        whys |= dict.fromkeys(one.why for one in measures if not one.defined and one.why)
        known = difference is not None and difference.defined
        more = [difference.text(decimals, sign=True) if known and difference is not None else "–"] if both else []
        cells.append([name, *said, *more])
    reasons = [tr("n/a: {why}", why=why.removesuffix(".")) for why in whys]
    missing = [tr("–: not compared")] if any(row[-1] == "–" for row in cells) else []
    return draw_table(title, told, Table(columns, cells), [*foot, *missing, *reasons])
