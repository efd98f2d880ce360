"""Made-up models that follow each other, and what is found of an upgrade between two of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from unittest.mock import patch

import numpy as np

from facelens.analyses import backfill
from facelens.analyses.plan import UpgradePlan
from facelens.analyses.upgrade import Upgrade, study
from facelens.features.featureset import FeatureSet
from facelens.images.faceset import FaceSet, Ids
from tests.gui.evaluation.stub import features

PLAN = UpgradePlan(old="old", new="new", far=0.05, fpir=0.1, resamples=40)
ASKED = replace(PLAN, old="", new="")  # models A and B


def models(faces: FaceSet, *, D: int = 16, seed: int = 7) -> dict[str, FeatureSet]:
    """Old; new, mid and next in its space, each nearer to the truth; upper in a space of its own; wide in another."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(len(faces.identity.names), D))
    truth, drift = centres[faces.identity.codes], rng.normal(size=(len(faces), D))
    turn = np.linalg.qr(rng.normal(size=(D, D)))[0]
    wide = rng.normal(size=(D, 2 * D))

    def near(noise: float) -> np.ndarray:
        return truth + noise * (0.6 * drift + 0.8 * rng.normal(size=drift.shape))

    made = {
        "old": near(1.2),
        "mid": near(1.05),
        "new": near(0.9),
        "next": near(0.75),
        "upper": near(0.6) @ turn,
        "wide": near(0.9) @ wide,
    }
    return {name: features(faces, x, name) for name, x in made.items()}


def studied(
    faces: FaceSet, found: Mapping[str, FeatureSet], plan: UpgradePlan = PLAN, *, excluded: Ids | None = None
) -> Upgrade:
    """All there is to know of an upgrade, at fewer shares of the backfill; the real study, also where a test has put
    another in its place."""
    with patch.object(backfill, "backfill", partial(backfill.backfill, steps=10)):
        return study(faces, plan, features=found, excluded=excluded)
