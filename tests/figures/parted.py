"""Small made-up parts, studies and learners, for tests of figures and tables."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

from facelens.analyses.divided import Clusters, Learners, Side
from facelens.analyses.jury import Ruling, Verdict
from facelens.analyses.measure import Measure
from facelens.analyses.parts import Layout, Parts, Pool, spread
from facelens.analyses.universal import Correlation, Curve, Effect, Fusion, Study, Without
from facelens.images.faceset import FaceSet

N, K = 24, 4
LEARNED = Layout("learned", K, 2, unit=True, head="calibrated")
SLICES = Layout("slices", K, 2, unit=False)
NONE = Measure.none("nobody knows")


def make_faces(folder: Path) -> FaceSet:
    """24 faces of 6 people; the last picture cannot be read."""
    for i in range(N):
        Image.new("RGB", (12, 12), (10 * i, 90, 120)).save(folder / f"={i}.png")
    (folder / f"={N - 1}.png").write_bytes(b"no picture")
    people = [f"=p{i // 4}" for i in range(N)]
    return FaceSet.build("my $1$ gallery", folder, paths=[f"={i}.png" for i in range(N)], identities=people)


def make_parts(faces: FaceSet, layout: Layout = LEARNED) -> Parts:
    """Face i is less sure than face i - 1; one part of face 3 has no value."""
    values = (np.arange(N)[:, None] / 10 + np.arange(K) / 100 - 3).astype(np.float32)
    values[3, 1] = np.nan
    name = "variance" if layout.kind == "learned" else "share"
    some = {name: values, "distance": np.where(values < -2.9, np.nan, values + 4).astype(np.float32)}
    pool = Pool(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, bool), np.zeros((0, K), np.float32))
    spreads = {key: spread(faces.ids, one) for key, one in some.items()}
    codes = faces.identity.codes.astype(np.int32)
    return Parts(faces.ids, codes, layout, None, np.full((N, K), 0.5, np.float32), some, spreads, pool)


def measure(value: float, reach: float = 0.05) -> Measure:
    return Measure(value, value - reach, value + reach, 10)


def make_curve() -> Curve:
    ordered = np.array([[0.4, 0.5, 0.6, 0.7], [0.6, 0.7, 0.8, 0.9]])
    return Curve((1, 4), ordered, ordered - 0.1, ordered - 0.02, ordered + 0.05, 20, 12)


def make_study(shown: str = "variance") -> Study:
    def effect(column: str, group: str, *values: float | None) -> Effect:
        strength = tuple(NONE if value is None else measure(value) for value in values)
        edges = np.zeros(0) if group else np.arange(3.0)
        return Effect(column, group, 20, strength, edges, np.zeros((K, 2)), np.zeros((K, 2, 2)))

    alike = np.where(np.eye(K, dtype=bool), 1.0, 0.5)
    return Study(
        shown,
        (effect("blur", "", 0.01, 0.02, -0.03, None), effect("role", "degraded", 0.4, -0.3, 0.02, 0.2)),
        Correlation(alike, measure(0.5), alike / 10, measure(0.05), measure(0.48), measure(0.04)),
        (measure(0.8), measure(0.9)),
        tuple(Without(measure(0.7 + k / 50), measure(0.3), NONE, measure(0.5)) for k in range(K)),
        make_curve(),
        (Fusion("mean", "cosine", "", measure(0.9)),),
        np.arange(12),
        ("a note",),
        True,
    )


def make_verdict(faces: FaceSet, **changes: object) -> tuple[Verdict, Ruling]:
    kept = np.array([True, True, False, True])
    share = np.where(kept, 0.1, np.nan)
    ruling = Ruling(kept, 1e-3, 0.3, measure(0.8), share, share, share)
    votes = np.array([0.3, 0.25, -0.2, -0.05])
    told = {"genuine": True, "score": 0.5, "whole": 0.3, "same": True, "disagree": (3,), **changes}
    return Verdict(int(faces.ids[0]), int(faces.ids[1]), votes=votes, kept=kept, **told), ruling  # type: ignore[arg-type]


def make_learners(faces: FaceSet, *, baseline: bool = True, groups: bool = True) -> Learners:
    """Learner 1 alone finds faces 5 and 2, learner 2 face 7, the others nobody."""
    ranks = np.full((N, K), 2, np.int32)
    ranks[5], ranks[2], ranks[7], ranks[9] = (1, 40, 50, 60), (1, 3, 4, 9), (8, 1, 6, 7), 0

    def side(model: str, layout: Layout, gain: float) -> Side:
        recall = tuple(tuple(measure(0.1 * (k + 1) + gain) for k in range(K)) for _ in range(2))
        both = measure(0.25 + gain), measure(0.5 + gain)
        whole = measure(0.7 + gain), measure(0.9)
        return Side(model, layout, recall, whole, measure(0.06, 0.01), make_curve(), both)

    lists = [faces.ids[[5, 2]], faces.ids[[7]], faces.ids[:0], faces.ids[:0]]
    found = [faces.ids[[4, 3]], faces.ids[[6]], faces.ids[:0], faces.ids[:0]]
    recall = np.where(np.eye(K, dtype=bool), 0.8, 0.3)
    recall[:, 3] = np.nan
    learner = (np.arange(N) % 3).astype(np.int32)
    clusters = Clusters(learner, np.array([8, 8, 8, 0]), np.array([2, 2, 2, 0]), measure(0.6), measure(0.9), recall)
    return Learners(
        ids=faces.ids,
        ks=(1, 4),
        own=side("divided", Layout("learners", K, 2, unit=True), 0.02),
        baseline=side("=whole", SLICES, 0.0) if baseline else None,
        ranks=ranks,
        queries=faces.ids,
        specialists=tuple(lists),
        clusters=clusters if groups else None,
        complete=True,
        found=tuple(found),
        gain=(measure(0.02), measure(0.02)) if baseline else (),
        whole_gain=(measure(0.02), measure(0.0)) if baseline else (),
    )
