"""A gallery on disk with the stores of two models, for tests of what evaluations start with and become."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from facelens.analyses.plan import Plan
from facelens.features.card import Card
from facelens.features.store import Store, fingerprint
from facelens.images.faceset import FaceSet

D = 12
PLAN = Plan(resamples=40, fars=(0.1, 0.02, 1e-6), breakdown="light")
PEOPLE, EACH = 10, 4


@dataclass(frozen=True)
class World:
    """A gallery on disk with two stores, old and new."""

    gallery: Path
    faces: FaceSet
    cache: Path
    old: Path
    new: Path


def vectors_of(faces: FaceSet, spread: float) -> np.ndarray:
    rng = np.random.default_rng(int(100 * spread))
    centres = np.random.default_rng(1).normal(size=(PEOPLE, D))
    return (centres[faces.identity.codes] + spread * rng.normal(size=(len(faces), D))).astype(np.float32)


def stored(faces: FaceSet, cache: Path, name: str, spread: float) -> Path:
    card = Card(name, "small_plain", dimensions=D)
    store = Store.create(
        cache,
        fingerprint(faces, weights=name, card=card),
        card=card,
        weights="ab" * 32,
        gallery=faces.name,
        opened=faces.opened,
    )
    with store.writer(total=len(faces)) as writer:
        writer.append(faces.ids, vectors_of(faces, spread))
    return store.folder
