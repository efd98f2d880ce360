"""Confidences in few numbers: nothing is lost or counted twice, and every group has the same bins."""

from __future__ import annotations

import json

import numpy as np

from facelens.features.confidences import BINS, MARKS, spread


def test_every_face_is_counted_once_in_bins_that_all_share() -> None:
    rng = np.random.default_rng(0)
    drawn = {"clean": rng.normal(3, 0.5, (50, 3)), "blur": rng.normal(1, 1.0, (30, 3))}
    groups = {name: np.exp(found).astype(np.float32) for name, found in drawn.items()}
    told = json.loads(json.dumps(spread(groups)))
    edges = np.geomspace(min(g.min() for g in groups.values()), max(g.max() for g in groups.values()), BINS + 1)
    assert np.allclose([told["low"], told["high"]], edges[[0, -1]], rtol=1e-3)
    for name, found in groups.items():
        counts = np.array(told["groups"][name]["counts"])
        assert counts.shape == (3, BINS) and (counts.sum(1) == len(found)).all()
        middle = counts[:, BINS // 2 :].sum(1)
        assert np.allclose(middle, (found > edges[BINS // 2]).sum(0), atol=1)
        assert np.allclose(told["groups"][name]["quantiles"], np.quantile(found, MARKS, axis=0).T, rtol=1e-3)


def test_equal_confidences_and_empty_groups() -> None:
    told = spread({"clean": np.full((9, 2), 24.0), "mask": np.zeros((0, 2))})
    assert list(told["groups"]) == ["clean"] and told["low"] < 24 < told["high"]
    assert [sum(part) for part in told["groups"]["clean"]["counts"]] == [9, 9]
    assert spread({"clean": np.zeros((0, 2))}) == {}
