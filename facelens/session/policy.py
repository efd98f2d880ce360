"""Threshold policy: the threshold to work with at a target FAR, what it rests on, and what the old one gives now."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from facelens import __version__
from facelens.analyses import verification
from facelens.analyses.evaluation import Evaluation, Report
from facelens.analyses.measure import rate
from facelens.analyses.plan import Plan
from facelens.errors import InputError
from facelens.session.tables import gallery_json, json_text, model_json, plain, written
from facelens.words import tr

POLICY = "facelens threshold policy"


def policy(evaluation: Evaluation, *, target: float) -> dict[str, Any]:
    """The threshold of each model for a target FAR, what the old one's gives with the new model, and what it rests on.

    An InputError where the pairs do not support the rate: a threshold that nobody has measured is no policy.
    """
    models, found = [], []
    for letter, report in evaluation.sides:
        if report.scores is None or report.verification is None:
            continue
        point = _point(report, target, evaluation.plan)
        if point.threshold is None or not point.tar.defined:
            raise InputError(
                tr(
                    "{name} has no threshold for FAR {far}: {why}.",
                    name=report.name,
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
        "gallery": gallery_json(evaluation),
        "queries": plain(evaluation.queries),
        "protocol": evaluation.protocol,
        "evaluation": evaluation.digest,
        "models": models,
        "carried": None,
    }
    if len(found) == 2:
        (_, old, point), (_, new, _) = found
        assert new.scores is not None and point.threshold is not None
        told["carried"] = {
            "from": old.name,
            "to": new.name,
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
        return {"model": model_json(report.gallery, report.gallery_from)}
    return {
        "query_model": model_json(report.query, report.query_from),
        "gallery_model": model_json(report.gallery, report.gallery_from),
    }


def _point_json(report: Report, point: verification.OperatingPoint) -> dict[str, object]:
    assert report.scores is not None
    return {
        "threshold": point.threshold,
        "far": point.far,
        "far_interval": plain(point.far_interval),  # of this threshold, whoever had been photographed
        "tar": plain(point.tar),
        "false_matches": point.false_matches,
        "false_non_matches": point.false_non_matches,
        "n_genuine": report.scores.n_genuine,
        "n_impostor": report.scores.n_impostor,
    }


def write_policy(out: Path, evaluation: Evaluation, *, target: float) -> Path:
    """The threshold policy as JSON."""
    return written(out, json_text(policy(evaluation, target=target)))
