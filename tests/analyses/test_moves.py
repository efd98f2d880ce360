"""Moves, by the definition: displacement, and neighbours in each model's own space."""

from __future__ import annotations

import numpy as np
import pytest

from facelens.analyses import similarity
from facelens.analyses.moves import moves


def test_neighbours_and_displacement_are_those_of_the_definition(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("facelens.analyses.moves.BLOCK", 40)
    rng = np.random.default_rng(0)
    old = similarity.unit(rng.normal(size=(30, 8)))[0]
    new = similarity.unit(old + 0.3 * rng.normal(size=(30, 8)))[0]
    who = (np.arange(30) % 4).astype(np.int32)
    found = moves(old, new, (new, old), ids=np.arange(30) * 5, identity=who, names=("a", "b", "c", "d"), k=6)
    for i in range(30):
        near = [set(np.argsort(-(x @ x[i]))[1:7].tolist()) for x in (old, new)]
        shared = len(near[0] & near[1])
        assert found.kept[i] == shared
        assert found.jaccard[i] == pytest.approx(shared / len(near[0] | near[1]))
        assert found.moved[i] == pytest.approx(1 - old[i] @ new[i], abs=1e-6)
    assert sorted(found.people) == ["a", "b", "c", "d"] and (np.diff(found.people_moved) <= 0).all()
    first = who == "abcd".index(found.people[0])
    assert found.people_moved[0] == pytest.approx(found.moved[first].mean(), abs=1e-6)
    assert (found.people_kept[0], found.people_faces[0]) == (pytest.approx(found.kept[first].mean()), first.sum())


def test_models_that_cannot_be_compared_still_have_neighbours() -> None:
    rng = np.random.default_rng(0)
    old = similarity.unit(rng.normal(size=(6, 8)))[0]
    turned = old @ np.linalg.qr(rng.normal(size=(12, 8)))[0].T  # the same in 12 dimensions
    found = moves(old, turned, None, ids=np.arange(6), identity=np.zeros(6, np.int32), names=("a",), k=10)
    assert np.isnan(found.moved).all() and (found.k, set(found.kept), set(found.jaccard)) == (5, {5}, {1.0})
