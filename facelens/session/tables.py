"""Evaluations as tables for other programs: JSON, CSV and LaTeX. What has no value is null, empty or a dash."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from facelens import __version__
from facelens.analyses.evaluation import Evaluation, Report
from facelens.analyses.measure import Measure, rate
from facelens.analyses.scores import Scores
from facelens.features.featureset import Provenance
from facelens.features.store import versions
from facelens.files import atomic_write
from facelens.images.builder import guarded
from facelens.images.faceset import FaceSet
from facelens.progress import Tick, silent
from facelens.words import escaped


def write_json(out: Path, evaluation: Evaluation, *, faces: FaceSet) -> Path:
    """The numbers of an evaluation as a file."""
    return written(out, json_text(evaluation_json(evaluation, faces=faces)))


def evaluation_json(evaluation: Evaluation, *, faces: FaceSet) -> dict[str, object]:
    """Everything but the single pairs and searches, for programs; no number stands for a value that there is not."""
    return {
        "format": "facelens evaluation",
        "facelens": __version__,
        "versions": versions(),
        "digest": evaluation.digest,
        "gallery": gallery_json(evaluation),
        "queries": plain(evaluation.queries),
        "protocol": evaluation.protocol,
        "plan": plain(evaluation.plan),
        "models": {letter: _report_json(one, faces) for letter, one in evaluation.sides},
        "b_minus_a": {
            "verification": plain(evaluation.paired),
            "identification": plain(evaluation.paired_search),
            "retrieval": plain(evaluation.paired_retrieval),
        },
    }


def json_text(told: object) -> str:
    return json.dumps(told, indent=2, allow_nan=False) + "\n"


def written(out: Path, text: str) -> Path:
    with atomic_write(out) as file:
        file.write(text.encode("utf-8", "backslashreplace"))
    return out


def gallery_json(evaluation: Evaluation) -> dict[str, object]:
    return {
        "name": escaped(evaluation.gallery),
        "digest": evaluation.gallery_digest,
        "faces": evaluation.faces,
        "identities": evaluation.identities,
    }


def _report_json(report: Report, faces: FaceSet) -> dict[str, object]:
    names = faces.identity.names
    return {
        "query": model_json(report.query, report.query_from),
        "gallery": model_json(report.gallery, report.gallery_from),
        "compared": report.of,
        "notes": list(report.notes),
        "pairs": None if report.scores is None else _scores_json(report.scores),
        "verification": plain(report.verification),
        "identification": plain(report.identification),
        "retrieval": plain(report.retrieval),
        "clustering": plain(report.clustering),
        "slices": [plain(one) for one in report.slices],
        "confusable": {
            "threshold": report.confused_at,
            "people": [
                {
                    "first": escaped(names[one.first]),
                    "second": escaped(names[one.second]),
                    "false_matches": one.false_matches,
                    "pairs": one.pairs,
                    "best": one.best,
                    "best_pair": [_thing(face, faces, of=report.of)[0] for face in one.pair],
                }
                for one in report.confusable
            ],
        },
    }


def model_json(name: str, source: Provenance | None) -> dict[str, object]:
    told: dict[str, object] = {"name": escaped(name)}
    if source is not None:
        card = None if source.card is None else source.card.as_json()
        told |= {
            "weights_sha256": source.weights or None,
            "fingerprint": source.fingerprint,
            "card": card,
            "versions": dict(source.versions),
        }
    return told


def _scores_json(scores: Scores) -> dict[str, object]:
    return {
        "genuine": scores.n_genuine,
        "impostor": scores.n_impostor,
        "missing": scores.missing,
        "invalid": len(scores.invalid),
        "kept_one_by_one_from": plain(float(scores.floor)),
    }


# A line for each face or step: tables and curves say those better.
_NOT_IN_JSON = frozenset({"searches", "queries", "clusters", "ids", "spread"})


def plain(value: object) -> Any:
    """Results as what JSON has; what is not a number becomes null."""
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in fields(value) if f.name not in _NOT_IN_JSON}
    if isinstance(value, Mapping):
        return {str(name): plain(one) for name, one in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    return escaped(value) if isinstance(value, str) else value


def _thing(number: int, faces: FaceSet, *, of: str) -> tuple[str, str]:
    """Path and identity of a face, or the number of a template."""
    if number < 0:
        return "", ""
    if of == "template":
        return str(number), ""
    row = faces.row_of(number)
    if row is None:
        return "" if faces.disguised else str(number), ""
    return escaped(os.fsdecode(faces.paths[row])), escaped(faces.identity.name(row))


def write_csv(out: Path, evaluation: Evaluation, *, faces: FaceSet) -> Path:
    """Every measure as a line of `out`; beside it NAME-searches.csv and NAME-queries.csv, a line for each of them."""
    written(out, csv_text(MEASURES, _measure_rows(evaluation)))
    searches, queries = list(_search_rows(evaluation, faces)), list(_query_rows(evaluation, faces))
    if searches:
        written(out.with_name(f"{out.stem}-searches{out.suffix}"), csv_text(SEARCHES, searches))
    if queries:
        written(out.with_name(f"{out.stem}-queries{out.suffix}"), csv_text(QUERIES, queries))
    return out


MEASURES = (
    "model", "part", "measure", "slice", "target", "rule", "value", "low", "high", "n", "supported", "why",
    "threshold", "real_rate", "errors", "n_genuine", "n_impostor",
)  # fmt: skip
SEARCHES = (
    "model", "query", "identity", "gallery", "enrolled", "rank", "mate", "mate_score", "other", "other_identity",
    "other_score",
)  # fmt: skip
QUERIES = (
    "model", "query", "identity", "relevant", "P@1", "RP", "MAP@R", "AP", "INP", "first_right", "nearest",
    "nearest_identity", "nearest_score",
)  # fmt: skip


def csv_text(names: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow([guarded(name) for name in names])
    for row in rows:
        writer.writerow([guarded(cell) if isinstance(cell, str) else _cell(cell) for cell in row])
    return text.getvalue()


def _cell(value: object) -> object:
    if value is None or (isinstance(value, (float, np.floating)) and not np.isfinite(value)):
        return ""
    return f"{float(value):.9g}" if isinstance(value, (float, np.floating)) else value


def _measure_rows(evaluation: Evaluation) -> Iterator[list[object]]:
    def row(model: str, part: str, measure: str, found: Measure, **more: object) -> list[object]:
        shown: dict[str, object] = {
            "model": model, "part": part, "measure": measure, "value": found.value, "low": found.low,
            "high": found.high, "n": found.n, "supported": int(found.supported), "why": found.why, **more,
        }  # fmt: skip
        return [shown.get(name) for name in MEASURES]

    for letter, report in evaluation.sides:
        model = f"{letter} {report.name}"
        found = report.verification
        if found is not None:
            counts = {"n_genuine": found.n_genuine, "n_impostor": found.n_impostor}
            for point in found.points:
                more = {"threshold": point.threshold, "real_rate": point.far, "errors": point.false_matches, **counts}
                yield row(model, "verification", "TAR", point.tar, target=point.target, rule=point.rule, **more)
            for name in ("eer", "auc", "d_prime", "fmr100", "fmr1000"):
                yield row(model, "verification", name, getattr(found, name), **counts)
            for accuracy in (found.best, found.folds):
                if accuracy is not None:
                    more = {"threshold": accuracy.threshold, **counts}
                    yield row(model, "verification", f"accuracy_{accuracy.how}", accuracy.share, **more)
        for one in report.slices:
            counts = {"n_genuine": one.n_genuine, "n_impostor": one.n_impostor}
            for name, pairs in (("TAR", one.tar), ("FAR", one.far)):
                for target, measure in pairs:
                    yield row(model, "breakdown", name, measure, target=target, slice=one.value, **counts)
            yield row(model, "breakdown", "eer", one.eer, slice=one.value, **counts)
        searched = report.identification
        if searched is not None:
            for rank, measure in searched.ranks:
                yield row(model, "identification", f"rank {rank}", measure)
            for opened in searched.open:
                more = {"threshold": opened.threshold, "real_rate": opened.fpir, "errors": opened.false_alarms}
                for name, measure in (("TPIR rank 1", opened.rank1), ("TPIR any rank", opened.anyrank)):
                    yield row(model, "identification", name, measure, target=opened.target, rule=opened.rule, **more)
        for part, measures in (("retrieval", report.retrieval), ("clustering", report.clustering)):
            for name, measure in (measures.measures if measures is not None else {}).items():
                yield row(model, part, name, measure)
    yield from (row("B - A", part, name, measure, target=target) for part, name, target, measure in _gains(evaluation))


def _gains(evaluation: Evaluation) -> Iterator[tuple[str, str, float | None, Measure]]:
    if evaluation.paired is not None:
        for point in evaluation.paired.points:
            yield "verification", "TAR", point.target, point.tar
        yield "verification", "eer", None, evaluation.paired.eer
        yield "verification", "auc", None, evaluation.paired.auc
    if evaluation.paired_search is not None:
        for rank, measure in evaluation.paired_search.ranks:
            yield "identification", f"rank {rank}", None, measure
        for target, measure in evaluation.paired_search.open:
            yield "identification", "TPIR rank 1", target, measure
    if evaluation.paired_retrieval is not None:
        for name, measure in evaluation.paired_retrieval.measures.items():
            yield "retrieval", name, None, measure


def _search_rows(evaluation: Evaluation, faces: FaceSet) -> Iterator[list[object]]:
    for letter, report in evaluation.sides:
        if report.identification is None:
            continue
        found = report.identification.searches
        for line in np.argsort(found.margin, kind="stable").tolist():
            query, identity = _thing(int(found.query[line]), faces, of=report.of)
            mate, _ = _thing(int(found.mate[line]), faces, of=report.of)
            other, other_identity = _thing(int(found.other[line]), faces, of=report.of)
            yield [
                f"{letter} {report.name}", query, identity, int(found.gallery[line]), int(found.mated[line]),
                int(found.rank[line]) or None, mate, float(found.mate_score[line]), other, other_identity,
                float(found.other_score[line]),
            ]  # fmt: skip


def _query_rows(evaluation: Evaluation, faces: FaceSet) -> Iterator[list[object]]:
    for letter, report in evaluation.sides:
        if report.retrieval is None:
            continue
        found = report.retrieval.queries
        for line in found.worst().tolist() if len(found.query) else []:
            query, identity = _thing(int(found.query[line]), faces, of=report.of)
            nearest, nearest_identity = _thing(int(found.nearest[line]), faces, of=report.of)
            values = [float(found.values[name][line]) if name in found.values else None for name in QUERIES[4:9]]
            yield [
                f"{letter} {report.name}", query, identity, int(found.relevant[line]), *values,
                int(found.first_right[line]) or None, nearest, nearest_identity, float(found.nearest_score[line]),
            ]  # fmt: skip


_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": "$<$", ">": "$>$", "|": "$|$", "−": "$-$",
    "×": r"$\times$", "±": r"$\pm$", "·": r"$\cdot$", "→": r"$\to$", "≥": r"$\geq$", "≤": r"$\leq$", "‖": r"$\|$",
    "²": "$^2$", "α": r"$\alpha$", "ε": r"$\varepsilon$", "ρ": r"$\rho$", "σ": r"$\sigma$", "Σ": r"$\Sigma$",
    "…": r"\dots{}",
}  # fmt: skip


def latex_text(text: str) -> str:
    r"""Words as LaTeX sets them; signs that a usual font has not are taken from the mathematical ones.

    >>> latex_text("net_1 50%")
    'net\\_1 50\\%'
    """
    return "".join(_LATEX.get(c, c) for c in text)


def latex(evaluation: Evaluation) -> str:
    """Operating points, EER and P@1 of the models as a tabular without packages; what has no support is a dash."""
    plan = evaluation.plan
    heads = [rf"TAR @ {rate(target)}" for target in plan.fars] + ["EER", "P@1"]
    body, said = [], []
    for letter, report in evaluation.sides:
        cells = [latex_text(f"{letter}: {report.name}")]
        found = report.verification
        cells += [latex_cell(point.tar) for point in found.points] if found is not None else ["--"] * len(plan.fars)
        cells.append(latex_cell(found.eer) if found is not None else "--")
        hit = report.retrieval.measures.get("P@1") if report.retrieval is not None else None
        cells.append(latex_cell(hit) if hit is not None else "--")
        body.append(" & ".join(cells) + r" \\")
        if found is not None:
            said.append(f"{letter}: {found.n_genuine} genuine, {found.n_impostor} impostor pairs, rule {found.rule}")
    paired = evaluation.paired
    if paired is not None:
        found_gain = evaluation.paired_retrieval
        hit = found_gain.measures.get("P@1") if found_gain is not None else None
        cells = ["B $-$ A", *(latex_cell(point.tar, sign=True) for point in paired.points)]
        cells += [latex_cell(paired.eer, sign=True), latex_cell(hit, sign=True) if hit is not None else "--"]
        body += [r"\hline", " & ".join(cells) + r" \\"]
    asked = evaluation.queries
    comments = [
        f"{evaluation.gallery}: {evaluation.faces} faces, {evaluation.identities} people; {evaluation.protocol}",
        *([f"queries of {asked.name}: {asked.faces} faces, {asked.identities} people"] if asked is not None else []),
        *said,
        f"95 % intervals from {plan.resamples} draws of identities; -- has no support; digest {evaluation.digest}",
    ]
    return "\n".join(
        [
            *(f"% {' '.join(escaped(line).split())}" for line in comments),
            rf"\begin{{tabular}}{{l{'c' * len(heads)}}}",
            r"\hline",
            " & ".join(["Model", *heads]) + r" \\",
            r"\hline",
            *body,
            r"\hline",
            r"\end{tabular}",
            "",
        ]
    )


def latex_ticked(evaluation: Evaluation, *, tick: Tick = silent) -> str:
    """`latex` as a job."""
    tick(0, 1)
    return latex(evaluation)


def latex_cell(measure: Measure, decimals: int = 3, *, sign: bool = False) -> str:
    """A value with its interval in small type; a dash where there is none."""
    if not measure.defined:
        return "--"
    value, _, limits = measure.text(decimals, sign=sign).replace("−", "$-$").partition(" ")
    return value + (rf" {{\scriptsize {limits}}}" if limits else "")


def write_latex(out: Path, evaluation: Evaluation, *, faces: FaceSet) -> Path:
    """The table of `latex` as a file."""
    return written(out, latex(evaluation))
