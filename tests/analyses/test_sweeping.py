"""Sweeps: every number against loops over its definition, also where right faces lie beyond the shortlist."""

from __future__ import annotations

import numpy as np
import pytest

from facelens.analyses.reranking import Sweep
from facelens.analyses.sweeping import ALPHAS, Line, Tally


def a_line(rng: np.random.Generator, query: int, *, gallery: int = 30, k: int = 8) -> tuple[Line, np.ndarray]:
    """A query, and its whole gallery as the first stage has it: which are right."""
    right = rng.random(gallery) < rng.choice([0.0, 0.1, 0.5])
    emd = {kind: rng.integers(0, 9, k) / 8 for kind in ("uniform", "apc")}  # with equals
    cosine = np.sort(rng.integers(0, 9, k) / 8)[::-1]
    beyond = np.flatnonzero(right[k:]) + k + 1
    return Line(query, query % 7, cosine, emd, right[:k], beyond), right


def slowly(right: np.ndarray) -> tuple[float, float, float, int]:
    R = int(right.sum())
    if not R:
        return 0, 0, 0, 0
    hits = [right[: i + 1].sum() / (i + 1) * right[i] for i in range(R)]
    return float(right[0]), right[:R].mean(), float(np.sum(hits)) / R, int(np.argmax(right)) + 1


def told(tally: Tally, **changes: object) -> Sweep:
    asked = {"occlusion": "mask", "gallery": 30, "shortlist": 8, "solver": "exact", "how": "so", "complete": True}
    return tally.sweep(**{**asked, **changes})  # type: ignore[arg-type]


def test_every_number_is_its_definition() -> None:
    rng = np.random.default_rng(0)
    tally = Tally(("uniform", "apc"), (-1.0, 0.0, 0.25, 0.5, 1.0))
    lines = [a_line(rng, query) for query in range(60)]
    for line, _ in lines:
        tally.add(line)
    found = told(tally)
    wanted = np.array([slowly(right) for _, right in lines])
    has = wanted[:, 3] > 0
    assert 5 < has.sum() < 60 and (wanted[:, 3] > 8).any()
    np.testing.assert_array_equal(found.ranks, wanted[:, 3])
    for column, name in enumerate(("P@1", "RP", "MAP@R")):
        one = found.before[name]
        assert one.value == pytest.approx(wanted[has, column].mean()) and one.n == has.sum()
        assert one.low is not None and one.high is not None and one.low <= one.value <= one.high
    for row in found.rows:
        for place, alpha in enumerate(row.alphas):
            after = []
            for line, right in lines:
                emd, cosine = line.emd[row.weights], line.cosine
                blend = emd + 1 - cosine if alpha < 0 else alpha * emd + (1 - alpha) * (1 - cosine)
                order = sorted(range(8), key=lambda i: (blend[i], i))
                after.append(slowly(np.concatenate([right[order], right[8:]])))
            values = np.array(after)
            np.testing.assert_array_equal(row.ranks[place], values[:, 3])
            for column, name in enumerate(("P@1", "RP", "MAP@R")):
                assert row.measures[name][place].value == pytest.approx(values[has, column].mean())
    np.testing.assert_array_equal(found.rows[0].ranks[1], found.ranks)  # T5: alpha 0 is the first stage
    assert {-1.0, 0.0, 0.3, 0.5, 0.7, 1.0} <= set(ALPHAS)


def test_nothing_to_find_and_nothing_at_all() -> None:
    tally = Tally(("uniform",), (0.0, 1.0))
    assert told(tally).before["P@1"].value is None and told(tally).rows[0].ranks.shape == (2, 0)
    tally.add(Line(1, 1, np.zeros(3), {"uniform": np.zeros(3)}, np.zeros(3, bool), np.zeros(0, np.int64)))
    found = told(tally, complete=False, resamples=0)
    assert "same person" in found.before["RP"].why and found.ranks.tolist() == [0] and not found.complete
    tally.add(Line(2, 2, np.zeros(0), {"uniform": np.zeros(0)}, np.zeros(0, bool), np.array([4])))
    assert told(tally).ranks.tolist() == [0, 4]  # nobody on the shortlist
