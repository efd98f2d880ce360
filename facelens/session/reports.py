"""Evaluations as lines of text: what the command prints."""

from __future__ import annotations

from collections.abc import Sequence

from facelens.analyses import verification
from facelens.analyses.evaluation import Evaluation, Report
from facelens.analyses.measure import Measure, rate
from facelens.analyses.plan import Plan
from facelens.images.faceset import FaceSet
from facelens.words import escaped, number, tr

TABLE = 10  # confusable people that are listed


def lines(evaluation: Evaluation, *, faces: FaceSet) -> list[str]:
    """Everything that was worked out, as a person reads it."""
    told = [
        tr(
            "{gallery}: {faces} faces, {people} people. Test: {protocol}.",
            gallery=escaped(evaluation.gallery),
            faces=evaluation.faces,
            people=evaluation.identities,
            protocol=escaped(evaluation.protocol),
        )
    ]
    if evaluation.queries is not None:
        asked = evaluation.queries
        told.append(
            tr(
                "Queries of {name}: {faces} faces, {people} people, of whom the gallery has {known}.",
                name=escaped(asked.name),
                faces=asked.faces,
                people=asked.identities,
                known=asked.enrolled,
            )
        )
    for letter, report in evaluation.sides:
        told += ["", tr("Model {letter}: {name}", letter=letter, name=report.name)]
        told += _report_lines(report, evaluation, faces)
    told += _difference_lines(evaluation)
    return told


def _report_lines(report: Report, evaluation: Evaluation, faces: FaceSet) -> list[str]:
    plan = evaluation.plan
    told = [f"  {note}" for note in report.notes]
    if report.verification is not None:
        told += ["", *_verification_lines(report.verification)]
    if report.slices:
        told += ["", *_slice_lines(report, plan)]
    if report.confusable and report.confused_at is not None:
        told += ["", *_confusable_lines(report, faces)]
    if report.identification is not None:
        told += ["", *_identification_lines(report)]
    if report.retrieval is not None:
        told += ["", *_retrieval_lines(report)]
    return told


def interval_words(resampled: str, resamples: int) -> str:
    """Where intervals come from."""
    if not resamples:
        return tr("without intervals")
    what = tr("identities") if resampled != "pairs" else tr("pairs, because not all identities are known")
    return tr("95 % intervals from {n} draws of {what}", n=resamples, what=what)


def _verification_lines(found: verification.Verification) -> list[str]:
    told = [
        tr(
            "Verification: {g} genuine and {i} impostor pairs; rule {rule}; {intervals}",
            g=found.n_genuine,
            i=found.n_impostor,
            rule=found.rule,
            intervals=interval_words(found.resampled, found.resamples),
        ),
        *(f"  {note}" for note in found.notes),
    ]
    rows = [[tr("FAR"), tr("threshold"), tr("real FAR"), tr("false matches"), tr("TAR")]]
    for point in found.points:
        if point.tar.defined:
            shown = tr("nothing accepted") if point.threshold is None else number(point.threshold, 4)
            rows.append([rate(point.target), shown, f"{point.far:.2e}", f"{point.false_matches:,}", point.tar.text()])
        else:
            rows.append([rate(point.target), point.tar.text()])
    told += table(rows)
    told += table(
        [
            ["EER", found.eer.text()],
            ["AUC", found.auc.text()],
            ["d'", found.d_prime.text(2)],
            ["FMR100", found.fmr100.text()],
            ["FMR1000", found.fmr1000.text()],
            [tr("accuracy, best threshold"), _accuracy(found.best)],
            *([[tr("accuracy, folds"), _accuracy(found.folds)]] if found.folds is not None else []),
        ]
    )
    return told


def _accuracy(found: verification.Accuracy) -> str:
    shown = found.share.text()
    if not found.share.defined:
        return shown
    if found.deviation is not None:
        shown += f" ± {number(found.deviation, 4)}"
    if found.threshold is not None:
        t = number(found.threshold, 4)
        shown += " " + (tr("at {t}", t=t) if found.how == "best" else tr("at {t} on average", t=t))
    return shown


def _slice_lines(report: Report, plan: Plan) -> list[str]:
    assert report.verification is not None
    told = [tr("By {column}, at the thresholds of all pairs", column=escaped(plan.breakdown))]
    point = verification.telling_point(report.verification)
    if point is None:
        return [*told, "  " + tr("no rate has support")]
    at, target = report.verification.points.index(point), rate(point.target)
    rows = [[plan.breakdown, tr("faces"), tr("genuine"), tr("impostor"), f"TAR @ {target}", f"FAR @ {target}", "EER"]]
    for one in report.slices:
        counts = [f"{n:,}" for n in (one.faces, one.n_genuine, one.n_impostor)]
        rows.append([one.value, *counts, one.tar[at][1].text(), _rate_text(one.far[at][1]), one.eer.text()])
    return told + table(rows)


def _rate_text(measure: Measure) -> str:
    if not measure.defined or measure.value is None:
        return measure.text()
    shown = f"{measure.value:.2e}"
    if measure.low is not None and measure.high is not None:
        shown += f" [{measure.low:.1e}, {measure.high:.1e}]"
    return shown


def _confusable_lines(report: Report, faces: FaceSet) -> list[str]:
    names = faces.identity.names
    assert report.confused_at is not None
    told = [tr("People taken for one another, at threshold {t}", t=number(report.confused_at, 4))]
    # Where pairs are only counted, nobody knows whose they are: then the number is of those from the floor up.
    only_counted = report.scores is not None and report.scores.bulk is not None
    rows = [
        [tr("false matches"), tr("of high pairs") if only_counted else tr("of pairs"), tr("best score"), tr("people")]
    ]
    for one in report.confusable[:TABLE]:
        if one.false_matches:
            who = f"{escaped(names[one.first])}, {escaped(names[one.second])}"
            rows.append([f"{one.false_matches:,}", f"{one.pairs:,}", number(one.best, 4), who])
    return told + (table(rows) if len(rows) > 1 else ["  " + tr("nobody")])


def _identification_lines(report: Report) -> list[str]:
    found = report.identification
    assert found is not None
    told = [
        tr(
            "Identification: {mated} searches of enrolled people, {unmated} of others; {n} entries; {intervals}",
            mated=found.n_mated,
            unmated=found.n_unmated,
            n=found.n_gallery,
            intervals=interval_words("identities", found.resamples),
        ),
        *(f"  {line}" for line in (found.how, *found.notes) if line),
    ]
    told += table([[tr("rank {k}", k=rank), measure.text()] for rank, measure in found.ranks])
    rows = [[tr("FPIR"), tr("rule"), tr("real FPIR"), tr("TPIR, rank 1"), tr("TPIR, any rank")]]
    for point in found.open:
        if point.rank1.defined:
            shown = [point.rule, f"{point.fpir:.2e}", point.rank1.text(), point.anyrank.text()]
            rows.append([rate(point.target), *shown])
        else:
            rows.append([rate(point.target), point.rank1.text()])
    return told + table(rows)


def _retrieval_lines(report: Report) -> list[str]:
    found = report.retrieval
    assert found is not None
    told = [
        tr(
            "Retrieval: {q} queries in {g}, {s} with nothing to find; {intervals}",
            q=found.n_queries,
            g=found.n_gallery,
            s=found.n_skipped,
            intervals=interval_words("identities", found.resamples),
        ),
        *(f"  {line}" for line in (found.how, *found.notes) if line),
    ]
    rows = [[name, measure.text()] for name, measure in found.measures.items()]
    if report.clustering is not None:
        mean = report.clustering.mean
        rows += [
            [f"{name} ({mean})" if name == "NMI" else name, measure.text()]
            for name, measure in report.clustering.measures.items()
        ]
    return told + table(rows)


def _difference_lines(evaluation: Evaluation) -> list[str]:
    paired = evaluation.paired
    told: list[str] = []
    if paired is not None:
        told += [
            "",
            tr(
                "B minus A, the same draws for both: {g} genuine and {i} impostor pairs",
                g=paired.n_genuine,
                i=paired.n_impostor,
            ),
            *(f"  {note}" for note in paired.notes),
        ]
        rows = [[f"TAR @ {rate(point.target)}", point.tar.text(sign=True)] for point in paired.points]
        rows += [["EER", paired.eer.text(sign=True)], ["AUC", paired.auc.text(sign=True)]]
        told += table(rows)
    if evaluation.paired_search is not None:
        searched = evaluation.paired_search
        told += ["", tr("B minus A, searches"), *(f"  {note}" for note in searched.notes)]
        rows = [[tr("rank {k}", k=rank), measure.text(sign=True)] for rank, measure in searched.ranks]
        rows += [[f"TPIR @ {rate(target)}", measure.text(sign=True)] for target, measure in searched.open]
        told += table(rows)
    if evaluation.paired_retrieval is not None:
        found = evaluation.paired_retrieval
        told += ["", tr("B minus A, retrieval"), *(f"  {note}" for note in found.notes)]
        told += table([[name, measure.text(sign=True)] for name, measure in found.measures.items()])
    return told


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Columns under each other; a short row ends in words that may run on."""
    if not rows:
        return []
    columns = max(len(row) for row in rows)
    widths = [
        max((len(row[place]) for row in rows if place < len(row) - 1 or len(row) == columns), default=0)
        for place in range(columns)
    ]
    made = []
    for row in rows:
        cells = [cell if place == len(row) - 1 else cell.ljust(widths[place]) for place, cell in enumerate(row)]
        made.append("  " + "  ".join(cells).rstrip())
    return made
