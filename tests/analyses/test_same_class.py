"""The same people by several models, on common axes."""

from __future__ import annotations

import numpy as np
import pytest

from facelens.analyses.same_class import most_pictured, same_class
from facelens.images.faceset import Labels
from tests.analyses.upgraded import gallery, models


def test_points_lie_on_common_axes_and_d_pw_is_that_of_the_vectors() -> None:
    faces = gallery(6, 4)
    features = models(faces)
    ids = faces.ids[3:15]
    found = same_class(features, "old", ["new", "wide", "mid"], ids)
    assert found.ids.tolist() == ids.tolist() and [one.name for one in found.upgrades] == ["new", "mid"]
    assert found.left_out == ("wide",)
    unit = {name: features[name].unit(ids)[0].astype(np.float64) for name in ("old", "new", "mid")}
    every = np.vstack(list(unit.values()))
    axes = np.linalg.svd(every - every.mean(0), full_matrices=False)[2][:2]
    points = np.vstack([found.points, *(one.points for one in found.upgrades)]).astype(np.float64)
    expected = (every - every.mean(0)) @ axes.T
    for mine, theirs in zip(points.T, expected.T):  # an axis has no sign
        assert np.allclose(mine, theirs, atol=1e-4) or np.allclose(mine, -theirs, atol=1e-4)
    for one in found.upgrades:
        apart = [float(((a - b) ** 2).sum()) for a, b in zip(unit["old"], unit[one.name])]
        assert one.point_distance == pytest.approx(np.mean(apart), rel=1e-4)


def test_pictures_that_a_model_does_not_know_are_left_out() -> None:
    faces = gallery(4, 3)
    features = models(faces)
    ids = np.append(faces.ids[:5], 12345)
    assert same_class(features, "old", ["new"], ids).ids.tolist() == faces.ids[:5].tolist()
    assert len(same_class(features, "old", ["new"], ids[-1:]).upgrades[0].points) == 0


def test_those_with_the_most_pictures() -> None:
    from dataclasses import replace

    faces = gallery(4, 3)
    faces = replace(faces, identity=Labels.of([*"aabbbbccd", "", "", ""]))
    assert [faces.identity.name(row) for row in faces.rows_of(most_pictured(faces, faces.ids, 2))] == [*"aabbbb"]
