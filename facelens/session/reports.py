"""Evaluations as blocks, and as the lines of text that the command prints."""

from __future__ import annotations

from facelens.analyses import verification
from facelens.analyses.evaluation import Evaluation, Report
from facelens.analyses.measure import Measure, rate
from facelens.analyses.plan import Plan
from facelens.images.faceset import FaceSet
from facelens.session.blocks import Block
from facelens.session.blocks import lines as as_lines
from facelens.words import escaped, number, tr

TABLE = 10  # confusable people that are listed


def lines(evaluation: Evaluation, *, faces: FaceSet) -> list[str]:
    """Everything that was worked out, as a person reads it."""
    return as_lines(blocks(evaluation, faces=faces))


def blocks(evaluation: Evaluation, *, faces: FaceSet) -> list[Block]:
    """The same as blocks."""
    said = [Block(told=_who(evaluation))]
    for letter, report in evaluation.sides:
        title = tr("Model {letter}: {name}", letter=letter, name=report.name)
        said += [Block(title, told=report.notes, heads=True), *_report_blocks(report, evaluation, faces)]
    return said + _differences(evaluation)


def _who(evaluation: Evaluation) -> list[str]:
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
    return told


def _report_blocks(report: Report, evaluation: Evaluation, faces: FaceSet) -> list[Block]:
    said: list[Block] = []
    if report.verification is not None:
        said += _verification(report.verification)
    if report.slices:
        said.append(_slices(report, evaluation.plan))
    if report.confusable and report.confused_at is not None:
        said.append(_confusable(report, faces))
    if report.identification is not None:
        said += _identification(report)
    if report.retrieval is not None:
        said.append(_retrieval(report))
    return said


def interval_words(resampled: str, resamples: int) -> str:
    """Where intervals come from."""
    if not resamples:
        return tr("without intervals")
    what = tr("identities") if resampled != "pairs" else tr("pairs, because not all identities are known")
    return tr("95 % intervals from {n} draws of {what}", n=resamples, what=what)


def _verification(found: verification.Verification) -> list[Block]:
    title = tr(
        "Verification: {g} genuine and {i} impostor pairs; rule {rule}; {intervals}",
        g=found.n_genuine,
        i=found.n_impostor,
        rule=found.rule,
        intervals=interval_words(found.resampled, found.resamples),
    )
    rows = [[tr("FAR"), tr("threshold"), tr("real FAR"), tr("false matches"), tr("TAR")]]
    for point in found.points:
        if point.tar.defined:
            shown = tr("nothing accepted") if point.threshold is None else number(point.threshold, 4)
            rows.append([rate(point.target), shown, f"{point.far:.2e}", f"{point.false_matches:,}", point.tar.text()])
        else:
            rows.append([rate(point.target), point.tar.text()])
    others = [
        ["EER", found.eer.text()],
        ["AUC", found.auc.text()],
        ["d'", found.d_prime.text(2)],
        ["FMR100", found.fmr100.text()],
        ["FMR1000", found.fmr1000.text()],
        [tr("accuracy, best threshold"), _accuracy(found.best)],
        *([[tr("accuracy, folds"), _accuracy(found.folds)]] if found.folds is not None else []),
    ]
    return [Block(title, rows, noted=found.notes), Block(rows=others, headed=False, goes_on=True)]


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


def _slices(report: Report, plan: Plan) -> Block:
    assert report.verification is not None
    title = tr("By {column}, at the thresholds of all pairs", column=escaped(plan.breakdown))
    point = verification.telling_point(report.verification)
    if point is None:
        return Block(title, told=(tr("no rate has support"),))
    at, target = report.verification.points.index(point), rate(point.target)
    rows = [[plan.breakdown, tr("faces"), tr("genuine"), tr("impostor"), f"TAR @ {target}", f"FAR @ {target}", "EER"]]
    for one in report.slices:
        counts = [f"{n:,}" for n in (one.faces, one.n_genuine, one.n_impostor)]
        rows.append([one.value, *counts, one.tar[at][1].text(), _rate_text(one.far[at][1]), one.eer.text()])
    return Block(title, rows)


def _rate_text(measure: Measure) -> str:
    if not measure.defined or measure.value is None:
        return measure.text()
    shown = f"{measure.value:.2e}"
    if measure.low is not None and measure.high is not None:
        shown += f" [{measure.low:.1e}, {measure.high:.1e}]"
    return shown


def _confusable(report: Report, faces: FaceSet) -> Block:
    names = faces.identity.names
    assert report.confused_at is not None
    title = tr("People taken for one another, at threshold {t}", t=number(report.confused_at, 4))
    # Where pairs are only counted, nobody knows whose they are: then the number is of those from the floor up.
    only_counted = report.scores is not None and report.scores.bulk is not None
    rows = [
        [tr("false matches"), tr("of high pairs") if only_counted else tr("of pairs"), tr("best score"), tr("people")]
    ]
    for one in report.confusable[:TABLE]:
        if one.false_matches:
            who = f"{escaped(names[one.first])}, {escaped(names[one.second])}"
            rows.append([f"{one.false_matches:,}", f"{one.pairs:,}", number(one.best, 4), who])
    return Block(title, rows) if len(rows) > 1 else Block(title, told=(tr("nobody"),))


def _identification(report: Report) -> list[Block]:
    found = report.identification
    assert found is not None
    title = tr(
        "Identification: {mated} searches of enrolled people, {unmated} of others; {n} entries; {intervals}",
        mated=found.n_mated,
        unmated=found.n_unmated,
        n=found.n_gallery,
        intervals=interval_words("identities", found.resamples),
    )
    ranks = [[tr("rank {k}", k=rank), measure.text()] for rank, measure in found.ranks]
    rows = [[tr("FPIR"), tr("rule"), tr("real FPIR"), tr("TPIR, rank 1"), tr("TPIR, any rank")]]
    for point in found.open:
        if point.rank1.defined:
            shown = [point.rule, f"{point.fpir:.2e}", point.rank1.text(), point.anyrank.text()]
            rows.append([rate(point.target), *shown])
        else:
            rows.append([rate(point.target), point.rank1.text()])
    noted = [line for line in (found.how, *found.notes) if line]
    return [Block(title, ranks, noted=noted, headed=False), Block(rows=rows, goes_on=True)]


def _retrieval(report: Report) -> Block:
    found = report.retrieval
    assert found is not None
    title = tr(
        "Retrieval: {q} queries in {g}, {s} with nothing to find; {intervals}",
        q=found.n_queries,
        g=found.n_gallery,
        s=found.n_skipped,
        intervals=interval_words("identities", found.resamples),
    )
    rows = [[name, measure.text()] for name, measure in found.measures.items()]
    if report.clustering is not None:
        mean = report.clustering.mean
        rows += [
            [f"{name} ({mean})" if name == "NMI" else name, measure.text()]
            for name, measure in report.clustering.measures.items()
        ]
    return Block(title, rows, noted=[line for line in (found.how, *found.notes) if line], headed=False)


def _differences(evaluation: Evaluation) -> list[Block]:
    said: list[Block] = []
    if evaluation.paired is not None:
        paired = evaluation.paired
        title = tr(
            "B minus A, the same draws for both: {g} genuine and {i} impostor pairs",
            g=paired.n_genuine,
            i=paired.n_impostor,
        )
        rows = [[f"TAR @ {rate(point.target)}", point.tar.text(sign=True)] for point in paired.points]
        rows += [["EER", paired.eer.text(sign=True)], ["AUC", paired.auc.text(sign=True)]]
        said.append(Block(title, rows, noted=paired.notes, headed=False))
    if evaluation.paired_search is not None:
        searched = evaluation.paired_search
        rows = [[tr("rank {k}", k=rank), measure.text(sign=True)] for rank, measure in searched.ranks]
        rows += [[f"TPIR @ {rate(target)}", measure.text(sign=True)] for target, measure in searched.open]
        said.append(Block(tr("B minus A, searches"), rows, noted=searched.notes, headed=False))
    if evaluation.paired_retrieval is not None:
        found = evaluation.paired_retrieval
        rows = [[name, measure.text(sign=True)] for name, measure in found.measures.items()]
        said.append(Block(tr("B minus A, retrieval"), rows, noted=found.notes, headed=False))
    return said
