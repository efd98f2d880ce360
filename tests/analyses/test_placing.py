"""New faces on a map: where components would put them, between their nearest, and where they are already."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from facelens.analyses import layouts, placing
from facelens.analyses.plan import ProjectionPlan
from facelens.analyses.projection import place, project
from facelens.errors import InputError
from facelens.features.featureset import FeatureSet, Provenance
from facelens.images.faceset import FaceSet


def vectors(n: int = 60, d: int = 12) -> np.ndarray:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, d)) * np.linspace(2, 0.2, d)
    return (x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32)


@pytest.mark.parametrize("block", [1 << 22, 100])
def test_along_components_the_new_are_where_the_fit_puts_them(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placing, "BLOCK", block)
    x = vectors()
    known, new = x[:50], x[50:]
    points, _ = layouts.pca(known)
    axes = np.linalg.svd(known - known.mean(0), full_matrices=False)[2][:2]
    signs = np.sign(((known - known.mean(0)) @ axes.T * points).sum(0))
    np.testing.assert_allclose(placing.along(known, points, new), (new - known.mean(0)) @ axes.T * signs, atol=1e-4)
    turned = points @ np.array([[0, 2], [-2, 0]], np.float32) + 5
    found = placing.along(known, turned, new)
    np.testing.assert_allclose(found, placing.along(known, points, new) @ [[0, 2], [-2, 0]] + 5, atol=1e-3)


def test_among_the_nearest_against_a_loop() -> None:
    x = vectors()
    known, new = x[:50], x[50:]
    points = np.random.default_rng(1).normal(size=(50, 2)).astype(np.float32)
    found = placing.among(known, points, new, metric="cosine")
    for one, at in zip(new, found):
        far = 1 - known @ one
        near = np.argsort(far)[: placing.NEAREST]
        weight = 1 / far[near] ** 2
        np.testing.assert_allclose(at, (weight[:, None] * points[near]).sum(0) / weight.sum(), atol=1e-3)
    np.testing.assert_allclose(placing.among(known, points, known[:3], metric="cosine"), points[:3], atol=1e-3)


def test_nobody_is_known() -> None:
    nothing, points = np.zeros((0, 12), np.float32), np.zeros((0, 2), np.float32)
    assert placing.along(nothing, points, vectors(2)).tolist() == [[0, 0], [0, 0]]
    assert placing.among(nothing, points, vectors(2), metric="cosine").tolist() == [[0, 0], [0, 0]]


def test_faces_of_another_gallery_come_onto_the_map() -> None:
    x = vectors()
    faces = FaceSet.build("known", Path("."), paths=[f"a/{i}.png" for i in range(50)], identities=["a"] * 50)
    features = FeatureSet(faces.ids, x[:50], Provenance("x", "net"))
    further = FeatureSet(np.arange(10, dtype=np.int64), np.vstack([x[50:59], np.zeros((1, 12), np.float32)]),
                         Provenance("x", "net"))  # fmt: skip
    found = project(faces, ProjectionPlan(model="net", method="pca"), features=features)
    ids, points = place(found, further, features=features)
    assert ids.tolist() == list(range(9)), "one has no usable vector"
    np.testing.assert_allclose(points, placing.along(x[:50], found.points, x[50:59]), atol=1e-4)
    refined = replace(found, drawn="umap")
    ids, points = place(refined, further, features=features)
    np.testing.assert_allclose(points, placing.among(x[:50], found.points, x[50:59], metric="cosine"), atol=1e-4)
    narrow = FeatureSet(further.ids, further.vectors[:, :6], Provenance("x", "net"))
    with pytest.raises(InputError, match="not of one model"):
        place(found, narrow, features=features)
    with pytest.raises(ValueError, match="no second model"):
        place(found, further, features=features, second=True)
