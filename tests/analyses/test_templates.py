from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from facelens.analyses import templates as pooling
from facelens.analyses.templates import flip_note, pool
from facelens.features.card import Card
from facelens.features.featureset import FeatureSet, Provenance
from facelens.images.faceset import FaceSet
from facelens.images.protocol import Templates

N, D = 60, 8


@pytest.fixture
def faces() -> FaceSet:
    rng = np.random.default_rng(3)
    columns = {"det_score": rng.uniform(0.3, 1, N)}
    return FaceSet.build(
        "ijb",
        Path("."),
        paths=[f"{i}.jpg" for i in range(N)],
        identities=[f"p{i % 5}" for i in range(N)],
        columns=columns,
    )


@pytest.fixture
def features(faces: FaceSet) -> FeatureSet:
    rng = np.random.default_rng(4)
    vectors = rng.normal(size=(N, D)).astype(np.float32) * rng.uniform(0.5, 20, (N, 1)).astype(np.float32)
    return FeatureSet(faces.ids[::-1].copy(), vectors, Provenance("f", "net"))


@pytest.fixture
def members(faces: FaceSet) -> Templates:
    """Pictures of one person in each template, half of them in a second template too, several to a media."""
    rng = np.random.default_rng(5)
    template = np.concatenate([np.arange(N) % 5 + 10 * (np.arange(N) // 20), 100 + np.arange(0, N, 2) % 5])
    row = np.concatenate([np.arange(N), np.arange(0, N, 2)])
    order = rng.permutation(len(row))
    return Templates(template[order].astype(np.int64), row[order].astype(np.int64), rng.integers(0, 3, len(row)))


def naive(
    faces: FaceSet, features: FeatureSet, members: Templates, *, detector_score: bool, keep_norm: bool, bad: set[int]
) -> dict[int, np.ndarray]:
    vector_of = dict(zip(features.ids.tolist(), features.vectors.astype(np.float64), strict=True))
    media: dict[int, dict[int, list[np.ndarray]]] = {}
    for template, row, of in zip(members.template.tolist(), members.row.tolist(), members.media.tolist(), strict=True):
        face = int(faces.ids[row])
        if face in bad:
            continue
        e = vector_of[face]
        if not keep_norm:
            e = e / np.linalg.norm(e)
        if detector_score:
            e = e * faces.columns["det_score"][row]  # type: ignore[index]
        media.setdefault(template, {}).setdefault(of, []).append(e)
    pooled = {}
    for template, by_media in media.items():
        total = np.sum([np.mean(e, axis=0) for e in by_media.values()], axis=0)
        pooled[template] = total / np.linalg.norm(total)
    return pooled


@pytest.mark.parametrize("keep_norm", [True, False])
@pytest.mark.parametrize("detector_score", [True, False])
@pytest.mark.parametrize("block", [1, 7, 1 << 14])
def test_against_plain_loops(
    faces: FaceSet,
    features: FeatureSet,
    members: Templates,
    monkeypatch: pytest.MonkeyPatch,
    keep_norm: bool,
    detector_score: bool,
    block: int,
) -> None:
    monkeypatch.setattr(pooling, "BLOCK", block)
    excluded = faces.ids[[3, 8]]
    made = pool(
        features, faces, templates=members, detector_score=detector_score, keep_norm=keep_norm, excluded=excluded
    )
    bad = set(excluded.tolist())
    wanted = naive(faces, features, members, detector_score=detector_score, keep_norm=keep_norm, bad=bad)
    assert made.numbers.tolist() == sorted(wanted) and not len(made.empty)
    np.testing.assert_allclose(made.vectors, [wanted[t] for t in sorted(wanted)], atol=1e-6)
    assert [faces.identity.names[c] for c in made.identity] == [f"p{t % 5}" for t in sorted(wanted)]
    assert made.pictures.sum() == (~np.isin(faces.ids[members.row], excluded)).sum()


def test_a_template_without_a_usable_picture_is_told(faces: FaceSet, features: FeatureSet) -> None:
    vectors = features.vectors.copy()
    vectors[features.rows_of(faces.ids[[0]])[0]] = np.nan
    hurt = FeatureSet(features.ids, vectors, features.provenance)
    members = Templates(np.array([7, 8, 9, 9]), np.array([0, 1, 0, 2]), np.array([1, 1, 1, 1]))
    made = pool(hurt, faces, templates=members)
    assert made.numbers.tolist() == [8, 9] and made.empty.tolist() == [7] and made.pictures.tolist() == [1, 1]
    assert any("1 template has no usable picture" in note for note in made.notes)


def test_vectors_that_cancel_out_make_no_template(faces: FaceSet, features: FeatureSet) -> None:
    vectors = features.vectors.copy()
    a, b = (int(features.rows_of(faces.ids[[row]])[0][0]) for row in (0, 5))
    vectors[b] = -vectors[a]
    members = Templates(np.array([1, 1]), np.array([0, 5]), np.array([1, 1]))
    made = pool(FeatureSet(features.ids, vectors, features.provenance), faces, templates=members, detector_score=False)
    assert made.empty.tolist() == [1] and not len(made.numbers)


def test_no_templates_and_no_scores(faces: FaceSet, features: FeatureSet) -> None:
    none = Templates(*(np.zeros(0, np.int64) for _ in range(3)))
    assert len(pool(features, faces, templates=none).numbers) == 0
    bare = replace(faces, columns={})
    members = Templates(np.array([1, 1]), np.array([0, 5]), np.array([1, 2]))
    made = pool(features, bare, templates=members)
    assert any("no detector scores" in note for note in made.notes)
    np.testing.assert_array_equal(made.vectors, pool(features, faces, templates=members, detector_score=False).vectors)


def test_flip_says_what_stored_vectors_hold(features: FeatureSet) -> None:
    assert "not known" in flip_note(features, flip=True)

    def of(flip: bool) -> FeatureSet:
        card = Card(name="net", architecture="small_plain", flip=flip)
        return replace(features, provenance=replace(features.provenance, card=card))

    assert flip_note(of(True), flip=True) == "" == flip_note(of(False), flip=False)
    assert "without the mirrored" in flip_note(of(False), flip=True)
    assert "with the mirrored" in flip_note(of(True), flip=False)
