"""A small made-up search by patches, for tests of figures and tables."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from facelens.analyses.measure import Measure
from facelens.analyses.plan import MatchPlan
from facelens.analyses.reranking import Explained, Reranked, Sweep, SweepRow
from facelens.features.patching import Shown
from facelens.images.faceset import FaceSet
from facelens.images.occlusion import Occlusion
from facelens.session.matching import Pair, Searched
from tests.figures.parted import make_faces as parted_faces

PLAN = MatchPlan(model="net", weights="apc", alpha=0.5, shortlist=4)
QUERY, FOUND = 0, (4, 8, 1, 12)  # rows of the faces; the third is the same person


def make_faces(folder: Path) -> FaceSet:
    """24 faces of 6 people; the last picture cannot be read."""
    return parted_faces(folder)


def make_searched(faces: FaceSet) -> Searched:
    """Blended distances are .40, .39, .30, .45: the third comes first, the first third."""
    found = Reranked(
        -1,
        faces.ids[list(FOUND)],
        np.array([0.6, 0.5, 0.45, 0.4]),
        np.array([0.4, 0.28, 0.05, 0.3]),
        np.full(4, 1e-9),
        "exact",
        (2, 2),
        0.1,
    )
    right = np.array([False, False, True, False])
    return Searched(found, right, 23, 3, int(faces.ids[1]), make_shown(1), Occlusion("mask"), ("a note",))


def make_shown(seed: int) -> Shown:
    return Shown(np.random.default_rng(seed).integers(0, 255, (12, 12, 3), np.uint8), None)


def make_pair(faces: FaceSet, row: int) -> Pair:
    """Four patches of the query move to six of the gallery face; patch 3 has no mass, patch 0 splits."""
    flow = np.zeros((4, 6))
    flow[0, 5], flow[0, 4], flow[1, 0], flow[2, 2] = 0.3, 0.1, 0.35, 0.25
    distance = np.linspace(0.1, 0.8, 24).reshape(4, 6)
    told = Explained(
        -1, int(faces.ids[row]), (2, 2), (2, 3), flow.sum(1), flow.sum(0), distance, flow,
        float((flow * distance).sum()), 0.45, 2e-16, 0.0, "exact",
    )  # fmt: skip
    return Pair(told, make_shown(1), make_shown(row))


def make_sweep(faces: FaceSet) -> Sweep:
    """Three queries, one with nobody to find; patches help one of the others."""

    def some(*values: float) -> tuple[Measure, ...]:
        return tuple(Measure(value, value - 0.05, value + 0.04, 2) for value in values)

    names = ("P@1", "RP", "MAP@R")
    alphas = (-1.0, 0.0, 0.5, 1.0)
    ranks = np.array([[1, 2, 0], [3, 2, 0], [1, 2, 0], [1, 4, 0]], np.int32)
    rows = [
        SweepRow(kind, alphas, {name: some(0.62, 0.6, 0.7 + more, 0.5) for name in names}, ranks)
        for kind, more in (("uniform", 0.0), ("apc", 0.1))
    ]
    before = dict(zip(names, some(0.6, 0.6, 0.6)))
    return Sweep(
        faces.ids[:3], before, np.array([3, 2, 0], np.int32), tuple(rows), "mask", 23, 4, "exact",
        "3 faces are searched for.", complete=True,
    )  # fmt: skip
