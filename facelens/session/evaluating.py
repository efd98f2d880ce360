"""Evaluations for window and command alike: open what is evaluated, and write down what came of it.

A store is given as its folder, as the start of its name in the cache, or as a file of exported vectors.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from facelens import __version__
from facelens.analyses import verification
from facelens.analyses.evaluation import Evaluation, Report
from facelens.analyses.measure import Measure, rate
from facelens.analyses.plan import Plan
from facelens.analyses.scores import Scores
from facelens.analyses.things import Searching
from facelens.errors import InputError
from facelens.features import exchange
from facelens.features.featureset import FeatureSet, Provenance
from facelens.features.store import MANIFEST, Store, stores, versions
from facelens.files import atomic_write
from facelens.images import readers
from facelens.images.builder import guarded
from facelens.images.faceset import FaceSet, Ids
from facelens.images.protocol import Protocol
from facelens.progress import Tick, silent
from facelens.session.reports import model_name, sides
from facelens.session.tasks import joined, open_gallery
from facelens.words import escaped, plural, tr

if TYPE_CHECKING:
    from facelens.features.exchange import Vectors

SHOWN = 5  # stores that a message names
POLICY = "facelens threshold policy"


@dataclass(frozen=True, eq=False)
class Opened:
    """A gallery, its test, and the vectors of each store that was asked for, in that order."""

    faces: FaceSet
    protocol: Protocol | None
    features: tuple[FeatureSet, ...]
    notes: tuple[str, ...] = ()
    queries: FeatureSet | None = None  # of the store of queries
    searching: Searching | None = None  # where the queries are of another gallery: `faces` then holds both


def open_stores(
    names: Sequence[str],
    *,
    cache: Path,
    gallery: Path | None = None,
    protocol: Path | None = None,
    query: str = "",
    query_gallery: Path | None = None,
    tick: Tick = silent,
) -> Opened:
    """Open stores and the gallery they were made from (or `gallery`, where it has moved), with its test or `protocol`.

    All stores must hold vectors of the faces of one gallery; those of `query` may be of another, which is opened too
    (or `query_gallery`).
    """
    found = [_located(name, cache) for name in names]
    reading = _gallery_of(found, names, gallery, tick=tick)
    faces, notes = reading.faces, list(reading.notes)
    test = reading.protocol
    if protocol is not None:
        test, left_out = readers.pairs_of(protocol, faces)
        notes += left_out
    features = []
    for name, one in zip(names, found, strict=True):
        made, said = _features(name, one, faces)
        features.append(made)
        notes += said
    opened = Opened(faces, test, tuple(features), tuple(dict.fromkeys(notes)))
    if not query:
        return opened
    kept = _located(query, cache)
    homes = {one.path.resolve() for one in (faces.opened, *(getattr(one, "opened", None) for one in found)) if one}
    other = _queries_from(query, kept, faces, homes=homes, given=query_gallery, tick=tick)
    if other is None:
        made, said = _features(query, kept, faces)
        return replace(opened, queries=made, notes=tuple(dict.fromkeys((*opened.notes, *said))))
    return _beside(opened, other, *_features(query, kept, other.faces))


def _queries_from(
    name: str, kept: Store | Vectors, faces: FaceSet, *, homes: set[Path], given: Path | None, tick: Tick
) -> readers.Reading | None:
    """The gallery of the queries, where it is not that of `faces`."""
    if given is not None:
        reading = open_gallery(given, tick=tick)
    elif isinstance(kept, Store):
        if kept.opened is None or kept.opened.path.resolve() in homes:
            return None
        if not kept.opened.path.exists():
            raise InputError(
                tr("The gallery of the queries is not at {path} any more.", path=escaped(str(kept.opened.path))),
                hint=tr("Say where it is now: --query-gallery PATH."),
            )
        opened = kept.opened
        reading = open_gallery(opened.path, kind=opened.kind or None, options=opened.options, tick=tick)
    else:
        if kept.names is None or len(exchange.join(kept, faces).features):
            return None  # vectors of these faces: names are all that a file says about its gallery
        reading = readers.Reading(exchange.faces_of(kept, root=Path(name).absolute().parent))
    other = reading.faces
    same_place = other.root.resolve() == faces.root.resolve() and other.embedded == faces.embedded
    # The same pictures under two names, such as a folder and a list of it, are one gallery.
    return None if same_place and np.array_equal(np.sort(other.ids), np.sort(faces.ids)) else reading


def _beside(opened: Opened, other: readers.Reading, queries: FeatureSet, said: Sequence[str]) -> Opened:
    """Queries of another gallery beside the gallery, as one set of faces in which each has an id of its own."""
    faces, asking = opened.faces, other.faces
    both = replace(joined(faces, asking, apart=True), name=faces.name)
    ids = both.ids[len(faces) :]

    def renumbered(old: Ids) -> Ids:
        return ids[asking.rows_of(old)]

    notes = []
    if alike := int(np.isin(asking.ids, faces.ids).sum()):
        one = "{n} query has the same path as a face of the gallery; the two are compared as well."
        many = "{n} queries have the same paths as faces of the gallery; they are compared with these as well."
        notes.append(plural(alike, one, many))
    return replace(
        opened,
        faces=both,
        queries=replace(queries, ids=renumbered(queries.ids), invalid=renumbered(queries.invalid)),
        searching=Searching(asking.name, ids, tuple(notes)),
        notes=tuple(dict.fromkeys((*opened.notes, *other.notes, *said))),
    )


def _located(name: str, cache: Path) -> Store | Vectors:
    """What a word on the command line means: a folder, a file, or the start of a name in the cache."""
    path = Path(name)
    if path.is_dir():
        if (path / MANIFEST).is_file() or re.fullmatch("[0-9a-f]{8,64}", path.name):
            return _store(path)
        inside = stores(path)
        if len(inside) == 1:
            return _store(inside[0].folder)
        if inside:
            raise _several(name, [f"{one.fingerprint[:12]} ({escaped(one.model)})" for one in inside])
        raise InputError(
            tr("{path} is no store.", path=escaped(name)),
            hint=tr("A store is a folder with {file}; “facelens embed” says where it makes one.", file=MANIFEST),
        )
    if path.is_file():
        return exchange.read(path)
    fits = [one for one in stores(cache) if one.fingerprint.startswith(name.lower())] if len(name) >= 4 else []
    if len(fits) == 1:
        return _store(fits[0].folder)
    if fits:
        raise _several(name, [f"{one.fingerprint[:12]} ({escaped(one.model)})" for one in fits])
    raise InputError(
        tr("There is no store {name}.", name=escaped(name)),
        hint=tr("Give its folder, or the start of a name that “facelens models cached” lists."),
    )


def _store(folder: Path) -> Store:
    folder = folder.absolute()
    try:
        return Store.open(folder.parent, folder.name)
    except ValueError:
        raise InputError(
            tr("{path} has been renamed.", path=escaped(str(folder))),
            hint=tr("A store keeps the name that “facelens embed” gave it."),
        ) from None


def _several(name: str, fits: list[str]) -> InputError:
    listed = ", ".join(fits[:SHOWN]) + (", …" if len(fits) > SHOWN else "")
    return InputError(
        tr("{name} could be several stores: {listed}.", name=escaped(name), listed=listed),
        hint=tr("Give more of its name."),
    )


def _gallery_of(
    found: Sequence[Store | Vectors], names: Sequence[str], given: Path | None, *, tick: Tick
) -> readers.Reading:
    if given is not None:
        return open_gallery(given, tick=tick)
    kept = [one for one in found if isinstance(one, Store)]
    opened = next((one.opened for one in kept if one.opened is not None), None)
    if opened is not None:
        if not opened.path.exists():
            raise InputError(
                tr("The gallery of this store is not at {path} any more.", path=escaped(str(opened.path))),
                hint=tr("Say where it is now: --gallery PATH."),
            )
        return open_gallery(opened.path, kind=opened.kind or None, options=opened.options, tick=tick)
    if kept:
        raise InputError(
            tr("This store does not say where its gallery lies: an earlier version made it."),
            hint=tr("Say where it is: --gallery PATH."),
        )
    first = found[0]
    assert not isinstance(first, Store)
    return readers.Reading(exchange.faces_of(first, root=Path(names[0]).absolute().parent))


def _features(name: str, one: Store | Vectors, faces: FaceSet) -> tuple[FeatureSet, list[str]]:
    notes = []
    if isinstance(one, Store):
        # As embedded: whether a picture has changed since, the next embedding finds out.
        made = one.features(faces, lazy=True)
        if one.notice:
            notes.append(one.notice)
    else:
        joined = exchange.join(one, faces)
        made = joined.features
        notes += [f"{line}." for line in joined.report if "no vector" not in line and "no use" not in line]
    if not len(made) and not len(made.invalid):
        raise InputError(
            tr("No vector of {name} belongs to a face of {gallery}.", name=escaped(name), gallery=escaped(faces.name)),
            hint=tr("Give the gallery it was made from: --gallery PATH, or --query-gallery PATH for queries."),
        )
    return made, notes


# Writing it down


def write_json(out: Path, evaluation: Evaluation, *, faces: FaceSet) -> Path:
    """Everything but the single pairs and searches, for programs; no number stands for a value that there is not."""
    told = {
        "format": "facelens evaluation",
        "facelens": __version__,
        "versions": versions(),
        "digest": evaluation.digest,
        "gallery": _gallery_json(evaluation),
        "queries": _plain(evaluation.queries),
        "protocol": evaluation.protocol,
        "plan": _plain(evaluation.plan),
        "models": {letter: _report_json(one, faces) for letter, one in sides(evaluation)},
        "b_minus_a": {
            "verification": _plain(evaluation.paired),
            "identification": _plain(evaluation.paired_search),
            "retrieval": _plain(evaluation.paired_retrieval),
        },
    }
    return _written(out, _json(told))


def _json(told: object) -> str:
    return json.dumps(told, indent=2, allow_nan=False) + "\n"


def _written(out: Path, text: str) -> Path:
    with atomic_write(out) as file:
        file.write(text.encode("utf-8", "backslashreplace"))
    return out


def _gallery_json(evaluation: Evaluation) -> dict[str, object]:
    return {
        "name": escaped(evaluation.gallery),
        "digest": evaluation.gallery_digest,
        "faces": evaluation.faces,
        "identities": evaluation.identities,
    }


def _report_json(report: Report, faces: FaceSet) -> dict[str, object]:
    names = faces.identity.names
    return {
        "query": _model_json(report.query, report.query_from),
        "gallery": _model_json(report.gallery, report.gallery_from),
        "compared": report.of,
        "notes": list(report.notes),
        "pairs": None if report.scores is None else _scores_json(report.scores),
        "verification": _plain(report.verification),
        "identification": _plain(report.identification),
        "retrieval": _plain(report.retrieval),
        "clustering": _plain(report.clustering),
        "slices": [_plain(one) for one in report.slices],
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


def _model_json(name: str, source: Provenance | None) -> dict[str, object]:
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
        "kept_one_by_one_from": _plain(float(scores.floor)),
    }


# A line for each face or step: tables and curves say those better.
_NOT_IN_JSON = frozenset({"searches", "queries", "clusters", "ids", "spread"})


def _plain(value: object) -> Any:
    """Results as what JSON has; what is not a number becomes null."""
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: _plain(getattr(value, f.name)) for f in fields(value) if f.name not in _NOT_IN_JSON}
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    if isinstance(value, np.generic):
        return _plain(value.item())
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
        return str(number), ""
    return escaped(os.fsdecode(faces.paths[row])), escaped(faces.identity.name(row))


def write_csv(out: Path, evaluation: Evaluation, *, faces: FaceSet) -> Path:
    """Every measure as a line of `out`; beside it NAME-searches.csv and NAME-queries.csv, a line for each of them."""
    _written(out, _csv(MEASURES, _measure_rows(evaluation)))
    searches, queries = list(_search_rows(evaluation, faces)), list(_query_rows(evaluation, faces))
    if searches:
        _written(out.with_name(f"{out.stem}-searches{out.suffix}"), _csv(SEARCHES, searches))
    if queries:
        _written(out.with_name(f"{out.stem}-queries{out.suffix}"), _csv(QUERIES, queries))
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


def _csv(names: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(names)
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

    for letter, report in sides(evaluation):
        model = f"{letter} {model_name(report)}"
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
    for letter, report in sides(evaluation):
        if report.identification is None:
            continue
        found = report.identification.searches
        for line in np.argsort(found.margin, kind="stable").tolist():
            query, identity = _thing(int(found.query[line]), faces, of=report.of)
            mate, _ = _thing(int(found.mate[line]), faces, of=report.of)
            other, other_identity = _thing(int(found.other[line]), faces, of=report.of)
            yield [
                f"{letter} {model_name(report)}", query, identity, int(found.gallery[line]), int(found.mated[line]),
                int(found.rank[line]) or None, mate, float(found.mate_score[line]), other, other_identity,
                float(found.other_score[line]),
            ]  # fmt: skip


def _query_rows(evaluation: Evaluation, faces: FaceSet) -> Iterator[list[object]]:
    for letter, report in sides(evaluation):
        if report.retrieval is None:
            continue
        found = report.retrieval.queries
        for line in found.worst().tolist() if len(found.query) else []:
            query, identity = _thing(int(found.query[line]), faces, of=report.of)
            nearest, nearest_identity = _thing(int(found.nearest[line]), faces, of=report.of)
            values = [float(found.values[name][line]) if name in found.values else None for name in QUERIES[4:9]]
            yield [
                f"{letter} {model_name(report)}", query, identity, int(found.relevant[line]), *values,
                int(found.first_right[line]) or None, nearest, nearest_identity, float(found.nearest_score[line]),
            ]  # fmt: skip


_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
}  # fmt: skip


def latex_text(text: str) -> str:
    r"""A name as LaTeX sets it.

    >>> latex_text("net_1 50%")
    'net\\_1 50\\%'
    """
    return "".join(_LATEX.get(c, c) for c in text)


def latex(evaluation: Evaluation) -> str:
    """Operating points, EER and P@1 of the models as a tabular without packages; what has no support is a dash."""
    plan = evaluation.plan
    heads = [rf"TAR @ {rate(target)}" for target in plan.fars] + ["EER", "P@1"]
    body, said = [], []
    for letter, report in sides(evaluation):
        cells = [latex_text(f"{letter}: {model_name(report)}")]
        found = report.verification
        cells += [_latex_cell(point.tar) for point in found.points] if found is not None else ["--"] * len(plan.fars)
        cells.append(_latex_cell(found.eer) if found is not None else "--")
        hit = report.retrieval.measures.get("P@1") if report.retrieval is not None else None
        cells.append(_latex_cell(hit) if hit is not None else "--")
        body.append(" & ".join(cells) + r" \\")
        if found is not None:
            said.append(f"{letter}: {found.n_genuine} genuine, {found.n_impostor} impostor pairs, rule {found.rule}")
    paired = evaluation.paired
    if paired is not None:
        found_gain = evaluation.paired_retrieval
        hit = found_gain.measures.get("P@1") if found_gain is not None else None
        cells = ["B $-$ A", *(_latex_cell(point.tar, sign=True) for point in paired.points)]
        cells += [_latex_cell(paired.eer, sign=True), _latex_cell(hit, sign=True) if hit is not None else "--"]
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


def _latex_cell(measure: Measure, *, sign: bool = False) -> str:
    if not measure.defined:
        return "--"
    value, _, limits = measure.text(3, sign=sign).replace("−", "$-$").partition(" ")
    return value + (rf" {{\scriptsize {limits}}}" if limits else "")


def write_latex(out: Path, evaluation: Evaluation, *, faces: FaceSet) -> Path:
    """The table of `latex` as a file."""
    return _written(out, latex(evaluation))


# Thresholds to work with


def policy(evaluation: Evaluation, *, target: float) -> dict[str, Any]:
    """The threshold of each model for a target FAR, what the old one's gives with the new model, and what it rests on.

    An InputError where the pairs do not support the rate: a threshold that nobody has measured is no policy.
    """
    models, found = [], []
    for letter, report in sides(evaluation):
        if report.scores is None or report.verification is None:
            continue
        point = _point(report, target, evaluation.plan)
        if point.threshold is None or not point.tar.defined:
            raise InputError(
                tr(
                    "{name} has no threshold for FAR {far}: {why}.",
                    name=model_name(report),
                    far=rate(target),
                    why=point.tar.why or tr("nothing is accepted"),
                ),
                hint=tr("Choose a higher FAR, or evaluate more faces."),
            )
        found.append((letter, report, point))
        spread = _at(report, point.threshold).far_interval
        told_point = _point_json(report, replace(point, far_interval=spread))
        models.append({"letter": letter, **_models_json(report), **told_point})
    if not found:
        raise InputError(tr("There are no operating points."), hint=tr("Evaluate with verification first."))
    told = {
        "format": POLICY,
        "version": 1,
        "facelens": __version__,
        "target_far": target,
        "rule": evaluation.plan.rule,
        "decision": "accept where cosine >= threshold",
        "gallery": _gallery_json(evaluation),
        "queries": _plain(evaluation.queries),
        "protocol": evaluation.protocol,
        "evaluation": evaluation.digest,
        "models": models,
        "carried": None,
    }
    if len(found) == 2:
        (_, old, point), (_, new, _) = found
        assert new.scores is not None and point.threshold is not None
        told["carried"] = {
            "from": model_name(old),
            "to": model_name(new),
            **_point_json(new, _at(new, point.threshold)),
            # among pairs that are only counted, a threshold is known to the width of a bin
            "exact": new.scores.bulk is None or point.threshold >= new.scores.floor,
        }
    return told


def _at(report: Report, threshold: float) -> verification.OperatingPoint:
    """What a threshold gives, with intervals from the draws of the evaluation."""
    assert report.scores is not None and report.verification is not None
    return verification.at_threshold(report.scores, threshold, spread=report.verification.spread)


def _point(report: Report, target: float, plan: Plan) -> verification.OperatingPoint:
    assert report.scores is not None and report.verification is not None
    for point in report.verification.points:
        if abs(point.target - target) <= 1e-9 * target:
            return point
    made = verification.verify(report.scores, fars=(target,), rule=plan.rule, resamples=plan.resamples, seed=plan.seed)
    return made.points[0]


def _models_json(report: Report) -> dict[str, object]:
    if report.query == report.gallery:
        return {"model": _model_json(report.gallery, report.gallery_from)}
    return {
        "query_model": _model_json(report.query, report.query_from),
        "gallery_model": _model_json(report.gallery, report.gallery_from),
    }


def _point_json(report: Report, point: verification.OperatingPoint) -> dict[str, object]:
    assert report.scores is not None
    return {
        "threshold": point.threshold,
        "far": point.far,
        "far_interval": _plain(point.far_interval),  # of this threshold, whoever had been photographed
        "tar": _plain(point.tar),
        "false_matches": point.false_matches,
        "false_non_matches": point.false_non_matches,
        "n_genuine": report.scores.n_genuine,
        "n_impostor": report.scores.n_impostor,
    }


def write_policy(out: Path, evaluation: Evaluation, *, target: float) -> Path:
    """The threshold policy as JSON."""
    return _written(out, _json(policy(evaluation, target=target)))
