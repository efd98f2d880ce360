"""Re-ranking: what alpha does, who may move, patches that see through an occlusion, the nearest of all, decisions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from facelens.analyses import decisions, reranking, transport
from facelens.analyses.decisions import Listed, Strangers
from facelens.analyses.patch_sets import PatchSets, sets_of
from facelens.analyses.plan import PATCH_WEIGHTS, PLAIN_SUM, SOLVERS, MatchPlan

PLAN = MatchPlan()


def faces(n: int, *, people: int = 5, grid: tuple[int, int] = (4, 4), seed: int = 0) -> tuple[PatchSets, np.ndarray]:
    """Faces of some people, and who each is."""
    rng = np.random.default_rng(seed)
    identity = np.arange(n) % people
    own = rng.standard_normal((people, 24, *grid))
    maps = own[identity] + rng.standard_normal((n, 24, *grid)) + 1
    embedding = maps.mean((2, 3)) + 0.3 * rng.standard_normal((n, 24))
    return sets_of(np.arange(n) + 100, maps.astype(np.float32), embedding.astype(np.float32)), identity


def shortlist(sets: PatchSets, *, query: int = 0, k: int | None = None) -> tuple[PatchSets, PatchSets, np.ndarray]:
    """One face, the others by descending cosine, and the cosines."""
    cosine = sets.embedding @ sets.embedding[query].astype(np.float64)
    order = np.argsort(-cosine, kind="stable")
    order = order[order != query][:k]
    return sets.take(slice(query, query + 1)), sets.take(order), cosine[order]


def test_no_share_of_the_patches_is_the_first_stage_and_all_of_it_the_second() -> None:
    found = reranking.rerank(*shortlist(faces(20)[0]), PLAN)
    assert np.array_equal(reranking.order(found, alpha=0.0), np.arange(19))
    assert np.array_equal(reranking.order(found, alpha=1.0), np.argsort(found.emd, kind="stable"))
    assert not np.array_equal(reranking.order(found, alpha=1.0), np.arange(19))
    plain = reranking.order(found, alpha=PLAIN_SUM)
    assert np.array_equal(plain, np.argsort(found.emd - found.cosine, kind="stable"))


def test_the_order_by_similarity_is_that_by_distance() -> None:
    query, gallery, cosine = shortlist(faces(12)[0])
    found = reranking.rerank(query, gallery, cosine, PLAN)
    explained = [
        reranking.explain(query, gallery.take(slice(n, n + 1)), PLAN, cosine=c) for n, c in enumerate(found.cosine)
    ]
    similarity = np.array([0.7 * (one.flow * (1 - one.distance)).sum() + 0.3 * one.cosine for one in explained])
    assert np.array_equal(reranking.order(found, alpha=0.7), np.argsort(-similarity, kind="stable"))


@pytest.mark.parametrize("weights", PATCH_WEIGHTS)
@pytest.mark.parametrize("solver", SOLVERS)
def test_a_pair_is_explained_as_it_was_ranked(solver: str, weights: str) -> None:
    plan = MatchPlan(weights=weights, solver=solver, epsilon=0.1)
    query, gallery, cosine = shortlist(faces(4)[0])
    found = reranking.rerank(query, gallery, cosine, plan)
    why = reranking.explain(query, gallery.take(slice(1, 2)), plan, cosine=float(cosine[1]))
    assert (why.query, why.gallery) == (100, int(found.ids[1]))
    assert why.emd == pytest.approx(found.emd[1], abs=3e-6) and why.costs.sum() == pytest.approx(why.emd, abs=1e-12)
    assert why.emd - why.gap <= transport.exact(why.distance, why.flow.sum(1), why.flow.sum(0)).cost + 1e-9
    np.testing.assert_allclose(why.flow.sum(1), why.u, atol=max(why.error, 1e-9))


def test_rows_of_a_plan_are_the_query_by_a_known_permutation() -> None:
    rng = np.random.default_rng(1)
    maps = rng.standard_normal((1, 30, 3, 4)).astype(np.float32)
    order = rng.permutation(12)  # patch j of the gallery face is patch order[j] of the query
    moved = maps.reshape(1, 30, 12)[:, :, order].reshape(1, 30, 4, 3)
    query, gallery = (sets_of(np.array([1]), x, np.ones((1, 30), np.float32)) for x in (maps, moved))
    for solver in SOLVERS:
        why = reranking.explain(query, gallery, MatchPlan(solver=solver), cosine=1.0)
        assert why.grid == (3, 4) and why.gallery_grid == (4, 3)
        assert np.array_equal(why.flow.argmax(0), order) and np.array_equal(why.flow.argmax(1), np.argsort(order))
    exact = reranking.explain(query, gallery, PLAN, cosine=1.0)
    assert exact.emd == pytest.approx(0, abs=1e-6)
    np.testing.assert_allclose(exact.flow[order, np.arange(12)], 1 / 12, atol=1e-12)


def test_patches_find_a_face_that_is_partly_covered() -> None:
    rng = np.random.default_rng(2)
    common = rng.standard_normal(32) * 0.5
    maps = rng.standard_normal((6, 32, 16)) + common[:, None]
    covered = maps[:1].copy()
    covered[..., :4] = 6 * rng.standard_normal((1, 32, 4))  # 4 of 16 cells of the true face are noise, and strong
    gallery = np.concatenate([maps[1:], covered]).reshape(6, 32, 4, 4).astype(np.float32)
    query = sets_of(
        np.array([0]), maps[:1].reshape(1, 32, 4, 4).astype(np.float32), maps[:1].mean(2).astype(np.float32)
    )
    others = sets_of(np.arange(1, 7), gallery, gallery.mean((2, 3)))
    cosine = others.embedding @ query.embedding[0]
    assert cosine.argmax() != 5  # the mean is led astray
    for plan in (PLAN, replace(PLAN, weights="apc")):
        found = reranking.rerank(query, others, cosine, plan)
        assert reranking.order(found, alpha=1.0)[0] == 5
    why = reranking.explain(query, others.take(slice(5, 6)), replace(PLAN, weights="apc"), cosine=0.0)
    assert (why.v[:4] < 1 / 16).all() and why.v[:4].sum() < 0.5 * 4 / 16


def test_a_list_of_one_and_of_none() -> None:
    query, gallery, cosine = shortlist(faces(3)[0])
    one = reranking.rerank(query, gallery.take(slice(0, 1)), cosine[:1], PLAN)
    assert reranking.order(one, alpha=0.7).tolist() == [0] and len(one.emd) == 1
    none = reranking.rerank(query, gallery.take(slice(0, 0)), cosine[:0], PLAN)
    assert len(none.emd) == len(reranking.order(none, alpha=0.7)) == 0
    assert reranking.nearest(query, [], PLAN) is None


def test_a_long_list_is_as_many_short_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    query, gallery, cosine = shortlist(faces(20)[0])
    whole = reranking.rerank(query, gallery, cosine, PLAN).emd
    monkeypatch.setattr(reranking, "TOGETHER", 4)
    told: list[int] = []
    pieces = reranking.rerank(query, gallery, cosine, PLAN, tick=lambda done, total, note="": told.append(done))
    np.testing.assert_allclose(pieces.emd, whole, atol=1e-7)
    assert told == [0, 4, 8, 12, 16]


@pytest.mark.parametrize("solver", ["exact", "sinkhorn"])
@pytest.mark.parametrize("alpha", [0.0, 0.3, 0.7, 1.0, PLAIN_SUM])
def test_the_nearest_of_all_with_most_left_out(alpha: float, solver: str) -> None:
    solved = asked = 0
    for people, weights, step in ((30, "uniform", 10), (120, "apc", 10), (120, "apc", 120), (120, "sc distance", 120)):
        sets, _ = faces(120, people=people)
        plan = MatchPlan(alpha=alpha, solver=solver, weights=weights, epsilon=0.1)
        gallery, cosine = sets.take(slice(1, None)), np.linspace(0.6, 0.4, 119)  # patches know nothing of the cosine
        for query in (sets.take(slice(n, n + 1)) for n in range(0, 12, 2)):
            some = [slice(start, start + step) for start in range(0, 119, step)]
            best = reranking.nearest(query, ((gallery.take(s), cosine[s]) for s in some), plan)
            every = reranking.rerank(query, gallery, cosine, plan)
            distance = reranking.blended(every.cosine, every.emd, alpha=alpha)
            assert best is not None and best.id == every.ids[distance.argmin()]
            assert best.distance == pytest.approx(distance.min(), abs=1e-6)
            assert best.solved <= best.compared <= 119 and (alpha or best.compared <= step)
            solved, asked = solved + best.solved, asked + 119
    assert solver != "exact" or solved < asked / 3


# Decisions


def test_strangers_are_pairs_of_different_people() -> None:
    sets, identity = faces(9, people=3)
    found = decisions.strangers(sets, identity, PLAN)
    pairs = [(i, j) for i in range(9) for j in range(i + 1, 9) if identity[i] != identity[j]]
    D = [1 - sets.patches[i].astype(float) @ sets.patches[j].astype(float).T for i, j in pairs]
    even = np.full(16, 1 / 16)
    np.testing.assert_allclose(found.emd, [transport.exact(d, even, even).cost for d in D], atol=1e-6)
    np.testing.assert_allclose(found.cosine, [sets.embedding[i] @ sets.embedding[j] for i, j in pairs], atol=1e-6)
    assert len(decisions.strangers(sets, identity, PLAN, most=3).emd) == 3  # of 3 faces that lie apart
    assert len(decisions.strangers(sets, np.zeros(9, np.int64), PLAN).emd) == 0


def test_a_threshold_lets_no_more_strangers_pass_than_it_says() -> None:
    rng = np.random.default_rng(0)
    found = Strangers(rng.uniform(-0.2, 0.5, 4000), rng.uniform(0.2, 0.8, 4000))
    for alpha in (0.0, 0.7, PLAIN_SUM):
        distance = reranking.blended(found.cosine, found.emd, alpha=alpha)
        for far in (1e-3, 0.01, 0.5):
            limit = decisions.threshold(found, alpha=alpha, far=far)
            assert limit.value is not None and limit.defined
            passed = (distance < limit.value).mean()
            assert far - 2 / 4000 < passed <= far
    assert not decisions.threshold(found, alpha=0.7, far=1e-5).supported
    assert decisions.threshold(Strangers(np.zeros(0), np.zeros(0)), alpha=0.7, far=0.1).value is None


def test_listed_pairs_by_the_blended_distance(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reranking, "TOGETHER", 64)
    sets, identity = faces(40, people=8)
    rng = np.random.default_rng(3)
    first, second = (rng.integers(0, 40, 300) for _ in range(2))
    keep = first != second
    first, second = first[keep], second[keep]
    pieces = ((sets.take(first[s]), sets.take(second[s])) for s in (slice(0, 100), slice(100, None)))
    cosine, emd = decisions.compare(pieces, PLAN, total=len(first))
    np.testing.assert_allclose(
        cosine, [sets.embedding[i] @ sets.embedding[j] for i, j in zip(first, second)], atol=1e-6
    )
    even = np.full(16, 1 / 16)
    for n in (0, 70, 250):
        D = 1 - sets.patches[first[n]].astype(float) @ sets.patches[second[n]].astype(float).T
        assert emd[n] == pytest.approx(transport.exact(D, even, even).cost, abs=1e-6)
    genuine = identity[first] == identity[second]
    pairs = Listed(sets.ids[first], sets.ids[second], genuine, np.stack([identity[first], identity[second]], 1))
    alphas = (0.0, 0.7, 1.0, PLAIN_SUM)
    found = decisions.verify(pairs, cosine, emd, replace(PLAN, far=0.1), alphas=alphas, resamples=20)
    for alpha, verified in zip(alphas, found.found):
        distance = reranking.blended(cosine, emd, alpha=alpha)
        right = max(((distance <= t) == genuine).mean() for t in distance)
        assert verified.best.share.value == pytest.approx(max(right, (~genuine).mean()))
        limit = np.sort(distance[~genuine])[int(0.1 * (~genuine).sum())]
        assert verified.points[0].tar.value == pytest.approx((distance[genuine] < limit).mean())
        assert verified.resampled == "identities" and verified.points[0].tar.low is not None
