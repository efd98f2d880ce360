"""Enrolment: the same numbers as a loop over the people."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from facelens.analyses.enrolment import enrolment
from facelens.analyses.rejection import Recognition
from facelens.images.faceset import FaceSet


def gallery(names: list[str]) -> FaceSet:
    paths = [f"{i:03}.png" for i in range(len(names))]
    return FaceSet.build("gallery", Path("nowhere"), paths=paths, identities=names)


def recognised(right: np.ndarray) -> Recognition:
    none = np.zeros(len(right))
    ids = none.astype(np.int64)
    return Recognition(right.astype(np.int8), ids, none, ids, none, none.astype(np.float32), None, "pairs")


def test_against_a_loop_over_people() -> None:
    rng = np.random.default_rng(0)
    names = [["", "ada", "bo", "cy", "di"][i] for i in rng.integers(0, 5, 60)]
    faces = gallery(names)
    rows = rng.permutation(60)[:50]  # some faces are not asked about
    values, right = rng.uniform(size=50), rng.integers(-1, 2, 50)
    values[rng.integers(0, 50, 6)] = np.nan
    found, limit = enrolment(faces, rows, values, recognised(right)), 0.6
    refused = found.refused(limit)
    assert [faces.identity.names[code] for code in found.codes] == ["ada", "bo", "cy", "di"]
    for person, name in enumerate(["ada", "bo", "cy", "di"]):
        mine = [i for i in range(50) if names[rows[i]] == name]
        known = [values[i] for i in mine if np.isfinite(values[i])]
        some = found.faces(person)
        assert set(found.rows[some].tolist()) == {int(rows[i]) for i in mine}
        assert found.values[some][: len(known)].tolist() == sorted(known, reverse=True), "worst first, without last"
        assert found.pictures[person] == len(mine) and refused[person] == sum(v > limit for v in known)
        assert (found.mean[person], found.highest[person]) == (pytest.approx(np.mean(known)), max(known))
        assert found.right[person] == sum(right[i] == 1 for i in mine)
        assert found.judged[person] == sum(right[i] >= 0 for i in mine)
    assert np.argmax(found.percentile) == np.argmax(found.mean)


@pytest.mark.parametrize("names", [[], ["", ""]])
def test_nobody_has_a_name(names: list[str]) -> None:
    found = enrolment(gallery(names), np.arange(len(names)), np.ones(len(names)))
    assert len(found.codes) == len(found.mean) == len(found.refused(0.5)) == 0


def test_a_person_without_any_score_is_not_refused() -> None:
    found = enrolment(gallery(["ada", "bo"]), np.arange(2), np.array([np.nan, 0.3]))
    assert np.isnan(found.mean[0]) and found.refused(0.1).tolist() == [0, 1] and found.judged.tolist() == [0, 0]
