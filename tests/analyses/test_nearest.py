"""Nearest faces: against a plain sort, with vectors that are no use and faces that are left out."""

from __future__ import annotations

import numpy as np
import pytest

from facelens.analyses import nearest as module
from facelens.analyses.nearest import nearest
from facelens.features.featureset import FeatureSet, Provenance


def features(n: int = 50, d: int = 8) -> FeatureSet:
    rng = np.random.default_rng(0)
    return FeatureSet(
        rng.permutation(1000)[:n].astype(np.int64), rng.normal(size=(n, d)).astype(np.float32), Provenance("x", "m")
    )


@pytest.mark.parametrize("block", [1 << 22, 24])
def test_the_same_as_sorting_everything(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BLOCK", block)
    found = features()
    unit = found.vectors / found.norms[:, None]
    for row in (0, 17, 49):
        ids, cosine = nearest(found, int(found.ids[row]), k=5)
        expected = np.argsort(-(unit @ unit[row]), kind="stable")[1:6]
        assert ids.tolist() == found.ids[expected].tolist()
        assert np.allclose(cosine, (unit @ unit[row])[expected], atol=1e-6)


def test_what_is_no_use_or_left_out_is_never_near() -> None:
    good = features()
    vectors = good.vectors.copy()
    vectors[3], vectors[4] = 0, np.nan
    found = FeatureSet(good.ids, vectors, good.provenance)
    ids, cosine = nearest(found, int(found.ids[0]), k=100, without=found.ids[10:20])
    assert len(ids) == 50 - 1 - 2 - 10 and np.isfinite(cosine).all()
    assert not np.isin(ids, found.ids[[0, 3, 4, *range(10, 20)]]).any()
    assert len(nearest(found, int(found.ids[3]))[0]) == 0 and len(nearest(found, -5)[0]) == 0


def test_nobody_else() -> None:
    assert len(nearest(features(1), int(features(1).ids[0]))[0]) == 0
