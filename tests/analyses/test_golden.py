"""Numbers of independent implementations: every folder of the golden vectors is a case, and a new one counts by itself.

`FAMILIES` says who answers for a family: a function of this file (inputs -> values by the keys of expected.json), or
the file that holds its test. A family that is not listed fails.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from facelens.analyses.measure import Measure
from facelens.analyses.scores import Scores, from_arrays
from facelens.analyses.verification import at_threshold, lfw_accuracy, place, verify

Inputs = dict[str, np.ndarray]
TARGETS = ("0.1", "0.01", "0.001", "0.0001")


def all_pairs(emb: np.ndarray, labels: np.ndarray, *, dtype: type = np.float64) -> Scores:
    """Cosines of all unordered pairs of the rows that can be normalised."""
    emb = emb.astype(np.float64)
    norms = np.linalg.norm(emb, axis=1)
    usable = np.isfinite(norms) & (norms > 0)
    unit = emb[usable] / norms[usable, None]
    rows = np.flatnonzero(usable)
    i, j = np.triu_indices(len(rows), 1)
    score = (unit @ unit.T)[i, j].astype(dtype)
    order = np.argsort(-score, kind="stable")
    first, second = rows[i[order]], rows[j[order]]
    return Scores(
        ids=np.arange(len(emb)),
        identity=labels.astype(np.int32),
        score=score[order],
        first=first.astype(np.int32),
        second=second.astype(np.int32),
        genuine=labels[first] == labels[second],
        invalid=np.flatnonzero(~usable),
    )


def _value(measure: Measure) -> float | None:
    return measure.value


def _verification(scores: Scores, thresholds: np.ndarray) -> dict[str, Any]:
    targets = tuple(float(x) for x in TARGETS)
    result = verify(scores, fars=targets, resamples=0)
    nist = verify(scores, fars=targets, rule="nist", resamples=0)
    got: dict[str, Any] = {
        "n_genuine": result.n_genuine,
        "n_impostor": result.n_impostor,
        "n_invalid_rows": result.n_invalid,
        "invalid_index_sum": int(scores.invalid.sum()),
        "valid_rows": len(scores.ids) - result.n_invalid,
        "auc": _value(result.auc),
        "eer": _value(result.eer),
        "min_measurable_far": 1 / result.n_impostor if result.n_impostor else None,
    }
    for name, point, by_nist in zip(TARGETS, result.points, nist.points):
        got[f"tar@far={name}"] = _value(point.tar)
        got[f"tar@far={name}_status"] = point.status
        got[f"tar@far={name}_shown"] = point.tar.defined
        got[f"tar@far={name}_nist"] = _value(by_nist.tar)
        got[f"thr@far={name}"] = point.threshold
        got[f"real_far@far={name}"] = point.far
        got[f"false_accepts@far={name}"] = point.false_matches
    if result.n_genuine and result.n_impostor:
        at = place(scores.steps, 0.0)
        got["tar_at_zero_false_accepts"] = scores.steps.genuine[at] / result.n_genuine if at >= 0 else 0.0
        for i, t in enumerate(thresholds):
            point = at_threshold(scores, float(t))
            got[f"far@thr[{i}]"] = point.far
            got[f"tar@thr[{i}]"] = _value(point.tar)
    return got


def embeddings(inputs: Inputs) -> dict[str, Any]:
    return _verification(all_pairs(inputs["emb"], inputs["labels"]), inputs["thresholds"])


def bare_scores(inputs: Inputs) -> dict[str, Any]:
    score, same = inputs["score_int"] / float(inputs["scale"]), inputs["same"].astype(bool)
    return _verification(from_arrays(score[same], score[~same]), inputs["thresholds"])


def lfw(inputs: Inputs) -> dict[str, Any]:
    one, other = (inputs[name].astype(np.float64) for name in ("emb1", "emb2"))
    one, other = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in (one, other))
    # As KFold(10, shuffle=False) of scikit-learn: in order, the first folds one longer where it does not divide.
    folds = np.concatenate([np.full(len(part), f) for f, part in enumerate(np.array_split(one[:, 0], 10))])
    result = lfw_accuracy(((one - other) ** 2).sum(axis=1), inputs["same"].astype(bool), folds)
    return {"acc_mean": result.mean, "acc_std": result.deviation, "acc_folds": result.accuracy}


FAMILIES: dict[str, Callable[[Inputs], dict[str, Any]] | str] = {
    "verification_embeddings": embeddings,
    "verification_scores": bare_scores,
    "lfw10fold": lfw,
    "identification": "test_golden_search.py",
    "retrieval": "test_golden_search.py",
    "market1501": "test_golden_search.py",
    "clustering": "test_golden_search.py",
    "transport": "test_transport.py",
    "deepface_emd": "test_transport.py",
}

# Read when tests are collected, so before the fixture `golden`, which skips where the folder is absent.
FOLDER = Path(os.environ.get("FACELENS_SHARED", Path(__file__).resolve().parents[3] / "shared")) / "golden"
CASES = sorted(path.name for path in FOLDER.glob("*") if path.is_dir())


def differences(case: Path, got: dict[str, Any]) -> list[str]:
    """Where `got` is not what the folder expects, in words; also for the families whose tests are elsewhere."""
    sheet = json.loads((case / "expected.json").read_text())
    wrong = []
    for key, wanted in sheet["expected"].items():
        if wanted is None:  # a threshold that refuses everything
            if got.get(key, "absent") is not None:
                wrong.append(f"{key}: {got.get(key, 'absent')} instead of none")
            continue
        if got.get(key) is None:
            wrong.append(f"{key}: nothing instead of {wanted}")
        elif not np.allclose(got[key], wanted, rtol=0, atol=sheet["tolerance_abs"]):
            wrong.append(f"{key}: {got[key]} instead of {wanted}")
    for key, status in sheet["status"].items():
        if status.startswith("undefined"):
            if got.get(key) is not None:
                wrong.append(f"{key}: {got[key]}, but it is {status}")
        elif status == "unattainable":
            if got.get(key + "_status") != status or got.get(key + "_shown") is not False:
                wrong.append(f"{key}: must be marked unattainable and not be shown")
        elif status == "ok":
            if got.get(key + "_status", "ok") not in ("ok", "no support"):
                wrong.append(f"{key}: marked {got[key + '_status']}")
        else:
            wrong.append(f"{key}: no such status as {status}")
    return wrong


@pytest.mark.parametrize("name", CASES or ["absent"])
def test_a_golden_case(golden: Path, name: str) -> None:
    case = golden / name
    family = json.loads((case / "expected.json").read_text())["family"]
    assert family in FAMILIES, f"{name}: nobody answers for the family {family}"
    answer = FAMILIES[family]
    if isinstance(answer, str):
        assert family in (Path(__file__).parent / answer).read_text(), f"{answer} must test the family {family}"
        return
    with np.load(case / "inputs.npz", allow_pickle=False) as inputs:
        wrong = differences(case, answer(dict(inputs)))
    assert not wrong, "\n".join(wrong)
