"""Retrieval and clusters: against plain loops over the definitions, on dirty galleries, in blocks."""

from __future__ import annotations

import dataclasses
import pickle
import tracemalloc
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from facelens.analyses import search
from facelens.analyses.bootstrap import identity_weights, interval
from facelens.analyses.measure import Measure
from facelens.analyses.retrieval import Queries, Retrieval, agreement, clustering, compare, per_query, retrieve
from facelens.errors import Cancelled


def world(n: int = 60, *, noise: float = 1.0, dtype: Any = np.float32, seed: int = 0) -> dict[str, Any]:
    """Pictures of people, some of them with one only; many scores are equal, exactly in both precisions."""
    rng = np.random.default_rng(seed)
    identity = rng.integers(0, 14, n).astype(np.int32)
    identity[:3] = 100 + np.arange(3)
    centre = np.random.default_rng(99).normal(size=(200, 16))
    vectors = np.sign(centre[identity] + noise * rng.normal(size=(n, 16))).astype(dtype)
    ids = rng.permutation(1000)[:n].astype(np.int64)
    return {"vectors": vectors, "identity": identity, "ids": ids, "camera": rng.integers(0, 3, n).astype(np.int32)}


def run(w: dict[str, Any], gallery: dict[str, Any] | None = None, **options: Any) -> Retrieval:
    g = w if gallery is None else gallery
    seen = {"query_camera": w["camera"], "gallery_camera": g["camera"]} if options.pop("cameras", False) else {}
    return retrieve(
        w["vectors"],
        g["vectors"],
        query_ids=w["ids"],
        gallery_ids=g["ids"],
        query_identity=w["identity"],
        gallery_identity=g["identity"],
        **{"resamples": 0, "same_set": gallery is None, **seen, **options},
    )


def take(w: dict[str, Any], rows: Any) -> dict[str, Any]:
    return {name: column[rows] for name, column in w.items()}


def naive(
    w: dict[str, Any], g: dict[str, Any], *, same_set: bool, cameras: bool, paper: bool
) -> list[dict[str, float]]:
    """The list of every query written out; scores at 1e-6, so that both precisions agree on ties."""
    unit = [x / np.linalg.norm(x, axis=1)[:, None] for x in (v["vectors"].astype(np.float64) for v in (w, g))]
    lines = []
    for q in range(len(w["ids"])):
        listed = []
        itself = 0
        for j in range(len(g["ids"])):
            same = g["identity"][j] == w["identity"][q]
            if same_set and g["ids"][j] == w["ids"][q]:
                itself += bool(same)
                continue
            if cameras and same and g["camera"][j] == w["camera"][q]:
                continue
            listed.append((-round(float(unit[0][q] @ unit[1][j]), 6), j, bool(same)))
        right = [same for _, _, same in sorted(listed)]
        found, R = sum(right), sum(right) + (itself if paper else 0)
        if R == 0:
            continue
        precision = [sum(right[: i + 1]) / (i + 1) for i in range(len(right))]
        places = [i for i, same in enumerate(right) if same]
        line: dict[str, float] = {
            "query": int(w["ids"][q]),
            "R": R,
            "findable": found,
            "P@1": float(right[0]),
            "RP": sum(right[:R]) / R,
            "MAP@R": sum(p for p, same in zip(precision[:R], right) if same) / R,
            "AP": sum(precision[i] for i in places) / found if found else 0,
            "INP": found / (places[-1] + 1) if found else 0,
            "RR": 1 / (places[0] + 1) if found else 0,
            "first": places[0] + 1 if found else 0,
            "nearest": int(g["ids"][min(listed)[1]]),
        }
        lines.append(line)
    return lines


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("r_mode", ["exclude_self", "paper"])
@pytest.mark.parametrize("same_set", [True, False])
@pytest.mark.parametrize("cameras", [False, True])
def test_every_query_is_as_defined(dtype: type, r_mode: str, same_set: bool, cameras: bool) -> None:
    w = world(dtype=dtype)
    g = w if same_set else world(80, dtype=dtype, seed=1)
    found = run(w, None if same_set else g, r_mode=r_mode, cameras=cameras)
    expected = naive(w, g, same_set=same_set, cameras=cameras, paper=r_mode == "paper")
    q = found.queries
    assert q.query.tolist() == [line["query"] for line in expected] and len(expected) > 40
    assert found.n_queries == len(expected) and found.n_skipped == len(w["ids"]) - len(expected)
    assert q.relevant.tolist() == [line["R"] for line in expected]
    assert q.findable.tolist() == [line["findable"] for line in expected]
    assert q.first_right.tolist() == [line["first"] for line in expected]
    assert q.nearest.tolist() == [line["nearest"] for line in expected]
    for name in ("P@1", "RP", "MAP@R", "AP", "INP", "RR"):
        assert q.values[name] == pytest.approx([line[name] for line in expected]), name
    some = [line for line in expected if line["findable"]]
    for name in ("P@1", "RP", "MAP@R"):
        assert found.measures[name].value == pytest.approx(np.mean([line[name] for line in expected]))
    for name, value in (("mAP", "AP"), ("mINP", "INP"), ("MRR", "RR")):
        assert found.measures[name].value == pytest.approx(np.mean([line[value] for line in some]))
        assert found.measures[name].n == len(some)
    for k in (1, 2, 4, 8, 10):
        assert found.measures[f"Recall@{k}"].value == pytest.approx(np.mean([0 < x["first"] <= k for x in expected]))
    assert ("CMC@5" in found.measures) == cameras
    if cameras:
        assert found.measures["CMC@5"].value == pytest.approx(np.mean([0 < line["first"] <= 5 for line in some]))
    assert len({line["RP"] for line in expected}) > 5


def test_junk_has_a_switch() -> None:
    w, g = world(), world(80, seed=1)
    without, with_junk = run(w, g, cameras=True), run(w, g, cameras=True, junk=False)
    assert with_junk.measures["mAP"].value == run(w, g).measures["mAP"].value != without.measures["mAP"].value
    unknown = {**w, "camera": np.full(60, -1)}, {**g, "camera": np.full(80, -1)}
    assert run(*unknown, cameras=True).measures == with_junk.measures
    assert "CMC@1" in with_junk.measures and "camera" in without.how and "camera" not in with_junk.how


def test_recall_of_all_counts_those_with_nothing_to_find() -> None:
    w = world()
    some, every = run(w), run(w, recall_of_all=True)
    assert some.n_skipped == 3 and every.measures["Recall@4"].n == 60 and some.measures["Recall@4"].n == 57
    assert every.measures["Recall@4"].value == pytest.approx(some.measures["Recall@4"].value * 57 / 60)
    assert every.measures["MAP@R"] == some.measures["MAP@R"]


def test_paper_mode_can_never_be_perfect() -> None:
    identity = np.repeat(np.arange(5), [2, 3, 4, 5, 1]).astype(np.int32)
    w = {
        "vectors": np.eye(5, dtype=np.float32)[identity],
        "identity": identity,
        "ids": np.arange(15),
        "camera": identity,
    }
    perfect, paper = run(w), run(w, r_mode="paper")
    assert perfect.measures["RP"].value == 1 and perfect.n_queries == 14
    count = np.bincount(identity)[identity]
    assert paper.measures["RP"].value == pytest.approx(np.mean((count - 1) / count)) and paper.n_queries == 15
    assert paper.measures["mAP"].value == 1 and paper.measures["mAP"].n == 14
    assert "itself" in paper.how and "itself" not in perfect.how


def test_a_query_enrolled_under_another_name_does_not_find_itself() -> None:
    w = world()
    g = {**w, "identity": w["identity"].copy()}
    g["identity"][10] = 999
    found = run(w, g, same_set=True)
    line = found.queries.query.tolist().index(w["ids"][10])
    assert w["ids"][10] not in (found.queries.nearest[line], found.queries.nearest_wrong[line])
    cross = run(w, {**w, "ids": w["ids"] + 5000}, same_set=True)  # by id, not by row
    assert (cross.queries.nearest_score > 1 - 1e-6).all()


def test_intervals_are_those_of_the_people_drawn() -> None:
    w = world()
    found = run(w, resamples=60, seed=4)
    q = found.queries
    people = np.unique(w["identity"])
    weights = identity_weights(len(people), resamples=60, seed=4)
    for name in ("P@1", "MAP@R", "mAP", "Recall@4"):
        draws = []
        for weight in weights:
            lines = np.concatenate([np.tile(np.flatnonzero(q.identity == c), int(n)) for c, n in zip(people, weight)])
            draws.append(per_query(q, name)[lines.astype(int)].mean())
        assert (found.measures[name].low, found.measures[name].high) == pytest.approx(interval(np.array(draws)))
    assert found.resamples == 60 and run(w).measures["P@1"].low is None


def test_worst_first() -> None:
    q = run(world(noise=1.5)).queries
    order = q.worst("MAP@R")
    values = q.values["MAP@R"][order]
    assert (np.diff(values) >= 0).all() and values[0] == 0
    margin = (q.nearest_right_score - q.nearest_wrong_score)[order]
    assert (np.diff(margin[values == 0]) >= 0).all() and np.count_nonzero(values == 0) > 2
    assert per_query(q, "Recall@1")[q.worst("Recall@1")[0]] == 0
    assert (per_query(q, "mAP") == q.values["AP"]).all()
    assert (q.nearest_score >= np.maximum(q.nearest_wrong_score, q.nearest_right_score) - 1e-9).all()


def stated(measures: Mapping[str, Measure]) -> None:
    for m in measures.values():
        assert (m.value is None) == bool(m.why)
        assert m.value is None or -1 <= m.value <= 1
        assert m.low is None or m.low <= m.high
        assert "nan" not in m.text()


@pytest.mark.parametrize("r_mode", ["exclude_self", "paper"])
def test_dirty_galleries_have_a_stated_result(r_mode: str) -> None:
    w = world()
    single = w["identity"] >= 100
    for rows, why in [
        (slice(0, 0), "no query"),
        (slice(5, 6), "no other picture"),
        (w["identity"] == w["identity"][10], "one identity"),
        (single, "no query has another picture"),
    ]:
        found = run(take(w, rows), resamples=20, r_mode=r_mode)
        stated(found.measures)
        assert all(why in m.why for m in found.measures.values()), found.measures
        assert found.n_queries == len(found.queries.query) == len(found.queries.values["AP"])
        assert len(found.queries.worst()) == found.n_queries
    for query, gallery, why in [
        (slice(0, 0), slice(None), "no query"),
        (slice(None), slice(0, 0), "no other picture"),
        (single, ~single, "no query has another picture"),
    ]:
        found = run(take(w, query), take(w, gallery), resamples=20, cameras=True, r_mode=r_mode)
        stated(found.measures)
        assert all(why in m.why for m in found.measures.values())
    few = run(take(w, slice(0, 20)), resamples=20)
    stated(few.measures)
    assert "19" in few.measures["Recall@100"].why and few.measures["Recall@10"].defined
    one = run(take(w, slice(10, 11)), w, resamples=20)
    stated(one.measures)
    assert one.n_queries == 1 and one.measures["P@1"].low is None and one.resamples == 0


def test_equal_scores_stand_in_the_order_of_the_gallery() -> None:
    w = {**world(), "vectors": np.ones((60, 16))}
    found = run(w, resamples=20)
    stated(found.measures)
    for q, line in enumerate([w["ids"].tolist().index(i) for i in found.queries.query]):
        others = [j for j in range(60) if j != line]
        first = next(i for i, j in enumerate(others) if w["identity"][j] == w["identity"][line])
        assert found.queries.first_right[q] == first + 1


def test_what_cannot_be_compared_is_left_out_and_counted() -> None:
    w = world()
    w["vectors"][20], w["vectors"][21], w["vectors"][22, 1] = np.nan, 0, np.inf
    w["identity"][25] = -1
    good = np.ones(60, bool)
    good[[20, 21, 22, 25]] = False
    found, clean = run(w, resamples=20), run(take(w, good), resamples=20)
    assert (found.n_invalid, found.n_unlabelled, len(found.notes), clean.notes) == (3, 1, 2, ())
    assert dict(found.measures) == dict(clean.measures) and found.n_gallery == 56
    other = run(w, {**w, "vectors": w["vectors"].copy()}, resamples=0)  # another set: its own are counted too
    assert other.n_invalid == 6 and other.n_unlabelled == 2


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_blocks_change_nothing(dtype: type, monkeypatch: pytest.MonkeyPatch) -> None:
    w = world(dtype=dtype)
    whole = run(w)
    for memory in (1, 60 * 8 * 7):
        monkeypatch.setattr(search, "MEMORY", memory)
        part = run(w)
        assert dict(part.measures) == dict(whole.measures)
        for f in dataclasses.fields(Queries):
            if f.name != "values":
                a, b = getattr(part.queries, f.name), getattr(whole.queries, f.name)
                assert np.allclose(a, b, rtol=0, atol=1e-6) if f.name.endswith("score") else np.array_equal(a, b)


def test_memory_is_bounded_where_everybody_is_one_of_two(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "MEMORY", 1 << 22)
    rng = np.random.default_rng(0)
    identity = (np.arange(1000) % 2).astype(np.int32)
    w = {"vectors": rng.normal(size=(1000, 4)).astype(np.float32), "identity": identity, "ids": np.arange(1000)}
    tracemalloc.start()
    try:
        run({**w, "camera": identity})
        assert tracemalloc.get_traced_memory()[1] < 1 << 24
    finally:
        tracemalloc.stop()


def test_it_stops_when_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "MEMORY", 1)
    calls = []

    def tick(done: int, total: int, note: str = "") -> None:
        calls.append((done, total))
        if len(calls) == 3:
            raise Cancelled

    with pytest.raises(Cancelled):
        run(world(), tick=tick)
    assert len(calls) == 3
    calls.clear()
    told: list[float] = []
    generator = np.random.default_rng(0)
    identity = np.arange(200, dtype=np.int32) % 40
    vectors = generator.normal(size=(40, 6))[identity] + 0.7 * generator.normal(size=(200, 6))
    clustering(vectors, identity, resamples=0, tick=lambda done, total, note="": told.append(done / total))
    assert told == sorted(told) and told[-1] == 1 and len(told) > 40  # also between two seeds
    for stop in (5, len(told) - 2):
        seen = list(range(stop))
        with pytest.raises(IndexError):
            clustering(vectors, identity, tick=lambda *_, seen=seen: seen.pop())


def test_fewer_different_pictures_than_people() -> None:
    vectors = np.repeat(np.eye(3, 5), 4, axis=0)
    found = clustering(vectors, np.arange(12, dtype=np.int32) // 2, resamples=0)
    assert len(set(found.clusters[:4]) & set(found.clusters[4:])) == 0 and found.measures["NMI"].value > 0.5


def test_results_travel() -> None:
    w = world()
    found = run(w, resamples=20)
    groups = clustering(w["vectors"], w["identity"], resamples=5)
    there = pickle.loads(pickle.dumps((found, compare(found, found, resamples=5), groups)))
    assert there[0].measures == found.measures and there[0].queries.values.keys() == found.queries.values.keys()


def test_models_that_find_nothing_for_the_same_query() -> None:
    """By the paper's R a query without another picture is one too; here each model has that of another query."""
    w = {"vectors": np.eye(4, dtype=np.float32), "identity": np.array([0, 0, 1, 1], np.int32), "ids": np.arange(4)}
    a, b = (run({**take(w, rows), "camera": None}, r_mode="paper") for rows in ([0, 1, 2], [0, 2, 3]))
    found = compare(a, b, resamples=10)
    assert found.n_queries == 2 and "no query in common" in found.measures["mAP"].why
    assert found.measures["P@1"].value is not None


def test_only_known_modes() -> None:
    with pytest.raises(ValueError, match="r_mode"):
        run(world(), r_mode="best")
    with pytest.raises(ValueError, match="mean"):
        agreement(np.zeros(3, np.int32), np.zeros(3, np.int32), mean="harmonic")


def test_a_pair_of_models_is_compared_in_the_same_draws() -> None:
    w, clear = world(noise=1.5), world(noise=0.3)
    assert np.array_equal(w["identity"], clear["identity"]) and np.array_equal(w["ids"], clear["ids"])
    a, b = run(w, resamples=100), run(clear, resamples=100)
    same, found = compare(a, a, resamples=100), compare(a, b, resamples=100)
    assert all(m.value == m.low == m.high == 0 for m in same.measures.values() if m.value is not None)
    assert list(found.measures) == list(a.measures) and not found.notes and found.n_queries == a.n_queries
    for name, m in found.measures.items():
        if a.measures[name].value is None:
            assert m.value is None and m.why
            continue
        assert m.value == pytest.approx(b.measures[name].value - a.measures[name].value)
        assert m.low <= m.value <= m.high
    assert found.measures["MAP@R"].low > 0
    back = compare(b, a, resamples=100)
    assert back.measures["P@1"].low == pytest.approx(-found.measures["P@1"].high)
    mixed = take(clear, np.random.default_rng(0).permutation(60)[:50])
    part = compare(a, run(mixed, resamples=20), resamples=100)
    assert part.notes and 0 < part.n_queries <= 50
    apart = compare(a, run({**clear, "ids": clear["ids"] + 5000}), resamples=20)
    assert apart.n_queries == 0 and all(m.value is None and m.why for m in apart.measures.values())


def naive_nmi(labels: Any, clusters: Any, mean: str) -> float:
    n = len(labels)

    def entropy(values: Any) -> float:
        return -sum(np.mean(values == v) * np.log(np.mean(values == v)) for v in set(values.tolist()))

    mutual = 0.0
    for a in set(labels.tolist()):
        for b in set(clusters.tolist()):
            both = np.sum((labels == a) & (clusters == b)) / n
            if both:
                mutual += both * np.log(both / (np.mean(labels == a) * np.mean(clusters == b)))
    left, right = entropy(labels), entropy(clusters)
    return mutual / ((left + right) / 2 if mean == "arithmetic" else np.sqrt(left * right))


def naive_ari(labels: Any, clusters: Any, weight: Any) -> float:
    """Over pairs: one of a person weighs w, one of two people w v."""
    i, j = np.triu_indices(len(labels), 1)
    person, cluster = labels[i] == labels[j], clusters[i] == clusters[j]
    w = weight[labels[i]] * np.where(person, 1, weight[labels[j]])
    both, apart = w[person & cluster].sum(), w[person & ~cluster].sum()
    mixed, neither = w[~person & cluster].sum(), w[~person & ~cluster].sum()
    total = both + apart + mixed + neither
    expected = (both + apart) * (both + mixed) / total
    return (both - expected) / ((2 * both + apart + mixed) / 2 - expected)


@pytest.mark.parametrize("mean", ["arithmetic", "geometric"])
def test_agreement_is_as_defined(mean: str) -> None:
    from sklearn.metrics import adjusted_rand_score

    rng = np.random.default_rng(2)
    labels = rng.integers(0, 9, 80).astype(np.int32)
    clusters = np.where(rng.random(80) < 0.6, labels, rng.integers(0, 9, 80)).astype(np.int32)
    found = agreement(labels, clusters, mean=mean, resamples=50)
    assert found["NMI"].value == pytest.approx(naive_nmi(labels, clusters, mean))
    assert found["ARI"].value == pytest.approx(adjusted_rand_score(labels, clusters))
    people = np.unique(labels)
    draws = []
    for weight in identity_weights(len(people), resamples=50):
        rows = np.concatenate([np.tile(np.flatnonzero(labels == c), int(n)) for c, n in zip(people, weight)])
        draws.append(naive_nmi(labels[rows.astype(int)], clusters[rows.astype(int)], mean))
    assert (found["NMI"].low, found["NMI"].high) == pytest.approx(interval(np.array(draws)))
    draws = [naive_ari(labels, clusters, weight) for weight in identity_weights(len(people), resamples=50)]
    assert naive_ari(labels, clusters, np.ones(len(people))) == pytest.approx(found["ARI"].value)
    assert (found["ARI"].low, found["ARI"].high) == pytest.approx(interval(np.array(draws)))
    stated(found)
    stated(agreement(labels[:0], clusters[:0]))
    stated(agreement(labels[:1], clusters[:1]))


def test_clusters_of_people_far_apart_are_the_people() -> None:
    rng = np.random.default_rng(0)
    identity = rng.permutation(np.repeat(np.arange(6), 5)).astype(np.int32)
    vectors = (10 * np.eye(6)[identity] + 0.1 * rng.normal(size=(30, 6))).astype(np.float32)
    vectors[7] = np.nan
    identity[8] = -1
    found = clustering(vectors, identity, resamples=20)
    again = clustering(vectors, identity, resamples=20)
    assert np.array_equal(found.clusters, again.clusters) and (found.clusters[[7, 8]] == -1).all()
    assert found.n_clusters == 6 and all(m.value == pytest.approx(1) for m in found.measures.values())
    stated(found.measures)
    worse = clustering(rng.normal(size=(30, 6)), identity, mean="geometric", resamples=20)
    assert worse.measures["ARI"].value < 0.5 and worse.mean == "geometric"


def test_clusters_of_little_say_why() -> None:
    one, empty = np.ones((4, 3), np.float32), np.zeros((0, 3), np.float32)
    for vectors, identity, why in [
        (empty, [], "no face"),
        (one[:1], [0], "one identity"),
        (one, [0, 0, 0, 0], "one identity"),
        (one, [0, 1, 2, 3], "one picture"),
        (one * np.nan, [0, 0, 1, 1], "no face"),
    ]:
        found = clustering(vectors, np.array(identity, np.int32), resamples=20)
        stated(found.measures)
        assert all(why in m.why for m in found.measures.values()), (why, found.measures)
    same = clustering(one, np.array([0, 0, 1, 1], np.int32), resamples=20)  # nothing tells them apart
    stated(same.measures)
    assert same.measures["ARI"].value == 0
