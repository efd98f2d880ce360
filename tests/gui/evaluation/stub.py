"""Made-up galleries and vectors for the evaluation page."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from facelens.features.featureset import FeatureSet, Provenance
from facelens.images.faceset import FaceSet
from facelens.session.workspace import PLAN, Operating
from facelens.views.panel import Desk

FARS = (0.2, 0.05, 0.01, 1e-5)


def gallery(people: int = 6, pictures: int = 5, **columns: Any) -> FaceSet:
    """Faces without pictures: the list shows them as broken, which is enough here."""
    names = [f"Person_{i}" for i in range(people) for _ in range(pictures)]
    return FaceSet.build(
        "stub",
        Path("/nowhere"),
        paths=[f"{name}/{k:02}.png" for k, name in enumerate(names)],
        identities=names,
        columns=columns,
    )


def vectors(faces: FaceSet, name: str, *, seed: int = 0, noise: float = 0.9, D: int = 8) -> FeatureSet:
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(len(faces.identity.names), D))
    x = centres[faces.identity.codes] + noise * rng.normal(size=(len(faces), D))
    return features(faces, x, name)


def features(faces: FaceSet, x: np.ndarray, name: str) -> FeatureSet:
    return FeatureSet(faces.ids, np.asarray(x, np.float32), Provenance(f"{name}-{hash(x.tobytes())}", name))


def put(desk: Desk, faces: FaceSet, *found: FeatureSet, **changes: Any) -> None:
    """Models A and B (or B alone) with vectors of the gallery."""
    names = [one.provenance.model for one in found]
    plan = replace(PLAN, fars=FARS, resamples=40)
    places = dict(zip(("model_a", "model_b") if len(names) > 1 else ("model_b",), names))
    settings = {"plan": plan, "operating": Operating(0.05), "features": dict(zip(names, found)), **places, **changes}
    desk.store.update(faces=faces, **settings)


def choose(combo: Any, data: object) -> None:
    place = combo.findData(data)
    assert place >= 0
    combo.setCurrentIndex(place)
    combo.activated.emit(place)
