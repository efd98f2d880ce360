"""Parts of an embedding: what is said of them and how they vote, against loops over the equations."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from facelens.analyses.divided import across_slices
from facelens.analyses.parts import Layout, cut, layout, parts_of, pool, products, scores, spread, votes, votes_between
from facelens.analyses.plan import CUTS, MATCHES, PartsPlan
from facelens.errors import InputError
from facelens.features.card import Card
from facelens.features.featureset import FeatureSet, Provenance
from facelens.images.faceset import FaceSet

K, WIDTH, PEOPLE, EACH = 4, 3, 9, 4
N, D = PEOPLE * EACH, K * WIDTH


def gallery(who: list[str | None] | None = None, *, learned: bool = False, seed: int = 0) -> tuple[FaceSet, FeatureSet]:
    """Faces of some people, and vectors of a model that lie in another order and know one face more."""
    rng = np.random.default_rng(seed)
    who = [f"p{i // EACH}" for i in range(N)] if who is None else who
    faces = FaceSet.build("g", Path("."), paths=[f"{i:03}.jpg" for i in range(len(who))], identities=who)
    centre = {name: rng.normal(size=D) for name in dict.fromkeys(who)}
    vectors = np.array([centre[name] + 0.7 * rng.normal(size=D) for name in who] + [np.ones(D)], np.float32)
    sure = np.exp(rng.normal(2, 1, (len(vectors), K))).astype(np.float32)
    order, ids = rng.permutation(len(vectors)), np.append(faces.ids, 7)
    features = FeatureSet(ids[order], vectors[order], Provenance("x", "m"), confidence=sure[order] if learned else None)
    return faces, features


def parts_by_loop(features: FeatureSet, face: int, *, unit: bool, rotation: np.ndarray | None) -> np.ndarray:
    x = features.vectors[list(features.ids).index(face)].astype(np.float64)
    u = x / np.sqrt(sum(x * x))
    if rotation is not None:
        u = np.array([row @ u for row in rotation.astype(np.float64)])
    found = np.array([u[k * WIDTH : (k + 1) * WIDTH] for k in range(K)])
    return np.array([one / np.sqrt(sum(one * one)) for one in found]) if unit else found


@pytest.mark.parametrize("cutting", CUTS)
@pytest.mark.parametrize("unit", [False, True])
def test_everything_said_of_parts(cutting: str, unit: bool) -> None:
    faces, features = gallery()
    excluded = faces.ids[[5]]
    found = cut(faces, PartsPlan(parts=K, cut=cutting, unit=unit), features=features, excluded=excluded)
    assert np.array_equal(found.ids, np.delete(faces.ids, 5)) and found.layout == Layout("slices", K, WIDTH, unit=unit)
    f = np.array([parts_by_loop(features, face, unit=unit, rotation=found.rotation) for face in found.ids])
    u = np.array([parts_by_loop(features, face, unit=False, rotation=found.rotation) for face in found.ids])
    assert np.allclose(parts_of(features, found, found.ids[[3, 1]]), f[[3, 1]], atol=1e-6)
    for i, face in enumerate(found.ids):
        own = [j for j in range(len(found.ids)) if found.identity[j] == found.identity[i]]
        for k in range(K):
            centre = sum(f[j, k] for j in own) / len(own)
            assert found.values["distance"][i, k] == pytest.approx(np.sqrt(sum((f[i, k] - centre) ** 2)), abs=1e-6)
            assert found.length[i, k] == pytest.approx(np.sqrt(sum(u[i, k] ** 2)), abs=1e-6)
            if not unit:
                assert found.values["share"][i, k] == pytest.approx(K * sum(u[i, k] ** 2), abs=5e-6)
        if i % 7 == 0:
            loop = [[f[i, k] @ f[j, k] for k in range(K)] for j in range(len(found.ids))]
            assert np.allclose(products(features, found, int(face)), loop, atol=1e-6)
    assert ("share" in found.values) is not unit and np.allclose(found.square, (f**2).sum(2), atol=1e-6)
    pairs = found.pool
    loop = [[f[i, k] @ f[j, k] for k in range(K)] for i, j in zip(pairs.first, pairs.second)]
    assert np.allclose(pairs.products, loop, atol=1e-6)


def test_what_the_head_says_is_a_logarithm_and_what_it_does_not_say_is_missing() -> None:
    faces, features = gallery(learned=True)
    assert features.confidence is not None
    sure = features.confidence.copy()
    sure[3], sure[8, 1], sure[9, 2] = 0, np.nan, -1
    found = cut(faces, PartsPlan(), features=replace(features, confidence=sure))
    rows, _ = features.rows_of(found.ids)
    with np.errstate(all="ignore"):
        expected = -np.log(sure[rows])
    expected[~np.isfinite(expected)] = np.nan
    assert found.log_variance is not None and np.array_equal(found.log_variance, expected, equal_nan=True)
    assert found.layout == Layout("learned", K, WIDTH, unit=True, head="given")
    assert found.notes == (f"{np.isnan(expected).any(1).sum()} have no usable confidence.",)
    told = found.spread["variance"]
    listed = [expected[found.rows_of(ids), k] for k, ids in enumerate(told.lowest)]
    assert all((np.diff(one) >= 0).all() for one in listed), "the lowest first, and none without a value"
    assert (told.counts.sum(1) == np.isfinite(expected).sum(0)).all()


def test_rotations_keep_the_whole_cosine_and_axes_are_not_correlated() -> None:
    faces, features = gallery()
    one = int(faces.ids[4])
    plain = products(features, cut(faces, PartsPlan(parts=K), features=features), one).sum(1)
    for cutting in CUTS[1:]:
        turned = cut(faces, PartsPlan(parts=K, cut=cutting), features=features)
        assert turned.rotation is not None and np.allclose(turned.rotation @ turned.rotation.T, np.eye(D), atol=1e-6)
        assert np.allclose(products(features, turned, one).sum(1), plain, atol=1e-6)
    axes = cut(faces, PartsPlan(parts=K, cut="rotation"), features=features)
    assert across_slices(parts_of(features, axes, axes.ids).reshape(N, D), K) < 1e-3
    shares = axes.values["share"]
    variance = parts_of(features, axes, axes.ids).var(0).sum(1)
    assert variance.max() < 2 * variance.min() and np.allclose(shares.sum(1), K, atol=1e-5), "dealt out evenly"


# Votes


def pair(seed: int = 0) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    f = rng.normal(size=(2, K, WIDTH))
    return f[0], f[1], *rng.normal(-2, 1.5, (2, K))


@pytest.mark.parametrize("match", MATCHES)
@pytest.mark.parametrize("dropped", [(), (1,), (0, 2, 3)])
def test_votes_add_up_to_the_score(match: str, dropped: tuple[int, ...]) -> None:
    f, g, v, w = pair()
    kept = [k for k in range(K) if k not in dropped]
    if match == "likelihood":
        s = np.exp(v) + np.exp(w)
        whole = -0.5 * sum(((f[k] - g[k]) ** 2).sum() / s[k] + WIDTH * np.log(s[k]) for k in kept)
    else:
        a, b = (np.exp(-one / 2) if match == "weighted" else np.ones(K) for one in (v, w))
        x, y = (np.concatenate([weight[k] * side[k] for k in kept]) for weight, side in ((a, f), (b, g)))
        whole = x @ y / np.sqrt((x @ x) * (y @ y))
    mask = np.isin(np.arange(K), kept)
    about = {"square": ((f**2).sum(1), (g**2).sum(1)), "log_variance": (v, w), "width": WIDTH}
    found = votes(match, (f * g).sum(1), kept=mask, **about)
    assert found.sum() == pytest.approx(whole, abs=1e-6) and (found[list(dropped)] == 0).all()
    every = scores(match, (f * g).sum(1), kept=np.array([mask, np.ones(K, bool)]), **about)
    assert every[0] == pytest.approx(whole, abs=1e-9)


def test_likelihood_is_that_of_the_loss() -> None:
    import torch

    from facelens.features.losses.universal import mutual_likelihood

    f, g, v, w = (torch.from_numpy(one) for one in pair(1))
    found = votes(
        "likelihood",
        (f * g).sum(1).numpy(),
        square=((f**2).sum(1).numpy(), (g**2).sum(1).numpy()),
        log_variance=(v.numpy(), w.numpy()),
        width=WIDTH,
    )
    assert found.sum() == pytest.approx(float(mutual_likelihood(f, v.exp(), g, w.exp())), abs=1e-9)


def test_a_sure_prototype_makes_likelihood_a_softmax_of_cosines() -> None:  # T3
    rng = np.random.default_rng(0)
    f, w = rng.normal(size=WIDTH), rng.normal(size=(5, WIDTH))
    f, w = f / np.linalg.norm(f), w / np.linalg.norm(w, axis=1, keepdims=True)
    s = 7.0
    one = np.ones((5, 1))
    none = np.full((5, 1), -np.inf)  # a prototype is a point: its variance is 0
    said = votes("likelihood", (w @ f)[:, None], square=(one, one), log_variance=(one * -np.log(s), none), width=WIDTH)[
        :, 0
    ]
    cosine = s * (w @ f)
    assert np.allclose(np.exp(said) / np.exp(said).sum(), np.exp(cosine) / np.exp(cosine).sum(), atol=1e-12)


def test_equal_confidence_changes_no_order_and_no_confidence_no_part_counts() -> None:  # T8
    faces, features = gallery(learned=True)
    assert features.confidence is not None
    sure = np.ones_like(features.confidence) * 9
    even = cut(faces, PartsPlan(), features=replace(features, confidence=sure))
    row, rest = np.array([0]), np.arange(1, N)
    product = products(features, even, int(faces.ids[0]))[1:]
    f = parts_of(features, even, even.ids).astype(np.float64)
    far = ((f[1:] - f[0]) ** 2).sum((1, 2))
    likely, cosine, weighted = (
        votes_between(even, row, rest, product, match=match).sum(1) for match in ("likelihood", "cosine", "weighted")
    )
    assert np.array_equal(np.argsort(-likely), np.argsort(far)) and np.allclose(weighted, cosine, atol=1e-6)
    sure = np.exp(np.random.default_rng(1).normal(2, 1, sure.shape)).astype(np.float32)
    sure[:, 2] = 1e-9
    unsure = cut(faces, PartsPlan(), features=replace(features, confidence=sure))
    for match in MATCHES[1:]:
        kept = np.array([True, True, False, True])
        whole = votes_between(unsure, row, rest, product, match=match).sum(1)
        without = votes_between(unsure, row, rest, product, match=match, kept=kept).sum(1)
        assert np.array_equal(np.argsort(-whole), np.argsort(-without)), match


def test_a_model_that_says_nothing_is_matched_by_cosine_only() -> None:
    faces, features = gallery()
    found = cut(faces, PartsPlan(parts=K), features=features)
    with pytest.raises(InputError, match="how sure"):
        votes_between(found, np.array([0]), np.array([1]), np.ones((1, K)), match="weighted")
    with pytest.raises(ValueError, match="match is one of"):
        votes("euclid", np.ones(K), square=(np.ones(K), np.ones(K)))


# Pairs and distributions


@pytest.mark.parametrize("limit", [10**6, 40])
@pytest.mark.parametrize("skewed", [False, True])
def test_the_pool_has_each_pair_once(limit: int, skewed: bool) -> None:
    rng = np.random.default_rng(0)
    identity = rng.integers(-1, 12, 300).astype(np.int32)
    if skewed:  # nearly everybody is one person
        identity[:280] = 3
    first, second, genuine = pool(identity, genuine=limit, impostor=limit)
    assert ((identity[first] == identity[second]) == genuine).all() and (identity[first] >= 0).all()
    assert (first < second).all() and len(set(zip(first.tolist(), second.tolist()))) == len(first)
    counts = np.bincount(identity[identity >= 0])
    same = int((counts * (counts - 1) // 2).sum())
    apart = (counts.sum() * (counts.sum() - 1)) // 2 - same
    assert (genuine.sum(), (~genuine).sum()) == (min(limit, same), min(limit, apart))


def test_drawn_pairs_are_fair() -> None:
    identity = np.repeat(np.arange(4, dtype=np.int32), [2, 3, 5, 90])
    drawn = [pool(identity, genuine=30, impostor=30, seed=seed) for seed in range(200)]
    of = np.bincount(np.concatenate([identity[a[~kind]] for a, _, kind in drawn]), minlength=4)
    other = np.bincount(np.concatenate([identity[b[~kind]] for _, b, kind in drawn]), minlength=4)
    sizes = np.array([2, 3, 5, 90])
    expected = sizes * (100 - sizes)
    assert np.allclose((of + other) / (of + other).sum(), expected / expected.sum(), atol=0.02)


def test_a_distribution_names_the_faces_at_its_ends() -> None:
    ids = np.arange(100, 140)
    values = np.random.default_rng(0).normal(size=(40, 2)).astype(np.float32)
    values[:38, 1] = np.nan
    found = spread(ids, values)
    assert found.lowest.shape == (2, 2) and found.lowest[0].tolist() == ids[np.argsort(values[:, 0])[:2]].tolist()
    assert found.highest[1].tolist() == ids[38:][np.argsort(-values[38:, 1])].tolist()
    assert found.counts.sum(1).tolist() == [40, 2] and found.quartiles[0, 1] == pytest.approx(np.median(values[:, 0]))


# Edges


@pytest.mark.parametrize(
    "who",
    [[], ["a"], [None] * 6, ["a"] * 6, ["a", "b", "c"], ["a", "a", None, "b"]],
    ids=["none", "one face", "nobody known", "one person", "one each", "some known"],
)
def test_small_galleries(who: list[str | None]) -> None:
    faces, features = gallery(who)
    for parts in (K, D, 1):
        found = cut(faces, PartsPlan(parts=parts), features=features)
        counts = np.bincount(found.identity[found.identity >= 0], minlength=1)
        assert len(found.pool) == counts.sum() * (counts.sum() - 1) // 2
        assert ("distance" in found.values) == (counts.max(initial=0) > 1) and found.layout.parts == parts
        if who:
            assert products(features, found, int(faces.ids[0])).shape == (len(who), parts)


def test_a_slice_of_nothing_has_no_say() -> None:
    faces, features = gallery()
    vectors = features.vectors.copy()
    vectors[:, :WIDTH] = 0
    found = cut(faces, PartsPlan(parts=K, unit=True), features=replace(features, vectors=vectors))
    assert (found.square[:, 0] == 0).all() and (found.pool.products[:, 0] == 0).all()
    pairs = found.pool
    said = votes_between(found, pairs.first, pairs.second, pairs.products, match="cosine")
    f = parts_of(replace(features, vectors=vectors), found, found.ids).reshape(N, D)
    f /= np.linalg.norm(f, axis=1, keepdims=True)
    assert np.allclose(said.sum(1), (f[pairs.first] * f[pairs.second]).sum(1), atol=1e-6)


def test_how_a_model_falls_into_parts() -> None:
    _, features = gallery(learned=True)

    def of(plan: PartsPlan | None = None, *, sure: bool = False, **options: object) -> Layout:
        card = Card(name="m", architecture="x", options=options)  # type: ignore[arg-type]
        confidence = features.confidence if sure else None
        one = replace(features, confidence=confidence, provenance=Provenance("x", "m", card=card))
        return layout(one, plan or PartsPlan())

    assert of(sure=True) == Layout("learned", K, WIDTH, unit=True, head="learned")
    assert of(sure=True, uncertainty=8).head == "calibrated"
    assert of(learners=3) == Layout("learners", 3, 4, unit=True)
    assert of(learners=3, whole=True) == Layout("learners", 3, 4, unit=False)
    assert of(learners=5) == Layout("slices", 4, 3, unit=False), "12 dimensions: 4 slices"
    with pytest.raises(InputError, match="cannot be cut into 5"):
        of(PartsPlan(parts=5))


def test_a_pool_of_one_person_and_few_others_is_no_list_of_all_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(np, "triu_indices", lambda *_: pytest.fail("all pairs are listed"))
    identity = np.zeros(3000, np.int32)
    first, second, genuine = pool(identity, genuine=50, impostor=50)
    assert genuine.all()
    assert len(first) == 50
    identity[:2] = 1
    first, second, genuine = pool(identity, genuine=50, impostor=50)
    assert (identity[first[~genuine]] != identity[second[~genuine]]).all()
    assert (~genuine).sum() == 50
