"""A published network wavers more about real faces that a learnt score calls worse."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from facelens.features import library, stability
from facelens.features.store import Store, fingerprint
from facelens.images import quality, readers

pytestmark = [pytest.mark.real, pytest.mark.slow]


@pytest.mark.parametrize("kind", stability.KINDS)
def test_variance_follows_quality(real_faces: Path, tmp_path: Path, kind: str) -> None:
    from scipy.stats import spearmanr

    lfw = real_faces / "faces" / "lfw"
    scored, _ = quality.joined(readers.read(lfw / "aligned112").faces, quality.read(lfw / "lightqnet.csv"))
    order = scored.order_by("quality")
    faces = scored.take(np.sort(np.concatenate([order[:60], order[-60:]])))
    encoder, seen = library.encoder(real_faces / "weights" / "mobilefacenet-foamliu" / "model.pt")
    kept = Store.create(tmp_path, fingerprint(faces, weights=seen.sha256, card=seen.card), card=seen.card)
    assert stability.measure(faces, encoder, kept, kind).embedded == 120
    found = stability.read(faces, kept.folder)[kind]
    assert spearmanr(found, faces.columns["quality"]).statistic < -0.3
