"""People taken for one another, against a plain count of all their pairs."""

from __future__ import annotations

import numpy as np
import pytest

from facelens.analyses import confusable as module
from facelens.analyses.confusable import confusable
from facelens.analyses.scores import Scores
from facelens.analyses.similarity import all_pairs


def compared(n: int, *, people: int) -> Scores:
    rng = np.random.default_rng(0)
    identity = rng.integers(0, people, n).astype(np.int32)
    return all_pairs(rng.normal(size=(n, 8)).astype(np.float32), ids=100 + 3 * np.arange(n), identity=identity)


def test_confusable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CHUNK", 9)
    scores = compared(60, people=7)
    identity, row = scores.identity, {face: place for place, face in enumerate(scores.ids.tolist())}
    score = dict(zip(zip(scores.first.tolist(), scores.second.tolist()), scores.score.tolist()))
    made = confusable(scores, threshold=0.75)
    wanted: dict[tuple[int, int], list[float]] = {}
    for a, b, s, g in zip(scores.first, scores.second, scores.score, scores.genuine, strict=True):
        if not g:
            low, high = sorted((int(identity[a]), int(identity[b])))
            wanted.setdefault((low, high), []).append(float(s))
    assert {(each.first, each.second) for each in made} == set(wanted)
    for each in made:
        all_of_them = wanted[each.first, each.second]
        assert each.best == max(all_of_them) and each.pairs == len(all_of_them)
        assert each.false_matches == sum(s >= 0.75 for s in all_of_them)
        a, b = (row[face] for face in each.pair)
        assert (identity[a], identity[b]) == (each.first, each.second)
        assert score[min(a, b), max(a, b)] == each.best
    keys = [(-each.false_matches, -each.best) for each in made]
    assert keys == sorted(keys) and made[0].false_matches > made[-1].false_matches
    matched = sum(each.false_matches > 0 for each in made)
    assert 2 < matched < len(made) - 2
    for limit in (2, matched + 2):
        assert confusable(scores, threshold=0.75, limit=limit) == made[:limit]
    nobody = confusable(scores, threshold=2.0)
    assert not any(each.false_matches for each in nobody) and nobody[0].best == scores.impostor_scores[0]


def test_nobody_is_confusable() -> None:
    assert confusable(compared(5, people=1), threshold=0.0) == ()
