"""Thresholds to work with: measured ones only, and what an old one gives with the new model."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from facelens.analyses.bootstrap import draw
from facelens.analyses.evaluation import Evaluation
from facelens.errors import InputError
from facelens.session.policy import policy, write_policy
from tests.session.evaluated import PLAN, World


def test_policy_carries_the_threshold(both: tuple[World, Evaluation], tmp_path: Path) -> None:
    _, found = both
    told = json.loads(write_policy(tmp_path / "p.json", found, target=0.1).read_text())
    old, new = told["models"]
    points = [one.verification.points[0] for one in (found.a, found.b)]  # type: ignore[union-attr]
    assert [old["threshold"], new["threshold"]] == [one.threshold for one in points]
    assert old["model"]["weights_sha256"] == "ab" * 32 and old["n_impostor"] == 720 and told["rule"] == "roc"
    scores = found.b.scores  # type: ignore[union-attr]
    assert scores is not None
    carried = told["carried"]
    assert carried["threshold"] == points[0].threshold and carried["exact"]
    assert carried["far"] == pytest.approx((scores.impostor_scores >= points[0].threshold).mean())
    assert carried["tar"]["value"] == pytest.approx((scores.genuine_scores >= points[0].threshold).mean())
    # intervals of the same draws: that of the old threshold, and of the real FAR of each
    draws = draw(scores, resamples=PLAN.resamples, seed=PLAN.seed)
    step = np.searchsorted(-scores.steps.threshold, -points[0].threshold, side="right") - 1
    assert (draws.places == np.arange(len(scores.steps.threshold))).all()
    low, high = np.quantile(draws.genuine[:, step] / draws.genuine[:, -1], [0.025, 0.975])
    assert (carried["tar"]["low"], carried["tar"]["high"]) == pytest.approx((low, high))
    low, high = np.quantile(draws.impostor[:, step] / draws.impostor[:, -1], [0.025, 0.975])
    assert carried["far_interval"] == pytest.approx([low, high]) and low < carried["far"] < high
    assert all(one["far_interval"][0] < one["far"] < one["far_interval"][1] for one in told["models"])
    between = policy(found, target=0.05)  # a rate that the plan does not have
    assert points[0].threshold < between["models"][0]["threshold"]
    with pytest.raises(InputError, match="no threshold for FAR 1e-6"):
        policy(found, target=1e-6)
    with pytest.raises(InputError, match="no operating points"):
        policy(replace(found, a=None, b=None), target=0.1)
