"""Made-up models of some people: an old one, upgrades in its space, others in spaces of their own."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from facelens.analyses.plan import UpgradePlan
from facelens.features.featureset import FeatureSet, Provenance
from facelens.images.faceset import FaceSet

PEOPLE, PICTURES, D = 40, 5, 16
PLAN = UpgradePlan(old="old", new="new", far=1e-2, fpir=0.1, resamples=40)


def gallery(people: int = PEOPLE, pictures: int = PICTURES) -> FaceSet:
    names = [f"p{p:02}" for p in range(people) for _ in range(pictures)]
    asked = np.random.default_rng(3).integers(0, 50, len(names)).astype(np.float64)
    paths = [f"{name}/{i}.png" for i, name in enumerate(names)]
    return FaceSet.build("drawn", Path("nowhere"), paths=paths, identities=names, columns={"asked": asked})


def vectors(faces: FaceSet, x: np.ndarray, name: str) -> FeatureSet:
    return FeatureSet(faces.ids, np.asarray(x, np.float32), Provenance(f"{name}-{hash(x.tobytes())}", name))


def models(faces: FaceSet, *, seed: int = 0) -> dict[str, FeatureSet]:
    """Old; mid and new in its space, each nearer to the truth; worse in it too; upper and apart turned; wide as well,
    of more dimensions."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=(len(faces.identity.names), D))[faces.identity.codes]
    drift = rng.normal(size=truth.shape)
    turns = [np.linalg.qr(rng.normal(size=(D, D)))[0] for _ in range(2)]
    wide = np.linalg.qr(rng.normal(size=(2 * D, D)))[0].T

    def near(noise: float) -> np.ndarray:
        return truth + noise * (0.6 * drift + 0.8 * rng.normal(size=drift.shape))

    made = {
        "old": near(1.2),
        "mid": near(1.0),
        "new": near(0.8),
        "worse": near(1.7),
        "upper": near(0.5) @ turns[0],
        "apart": near(0.8) @ turns[1],
        "wide": near(0.8) @ wide,
    }
    lengths = 1 + rng.random(len(faces))
    return {name: vectors(faces, x * lengths[:, None], name) for name, x in made.items()}
