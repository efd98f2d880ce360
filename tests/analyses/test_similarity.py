"""Similarity: against plain loops, and what is counted against what is kept."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from itertools import combinations, permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from facelens.analyses import similarity, verification
from facelens.analyses.scores import Scores
from facelens.errors import Cancelled, InputError

KINDS = (np.float32, np.float64)


def faces(n: int, d: int = 8, *, people: int = 6, kind: Any = np.float32, seed: int = 0) -> tuple[Any, Any, Any]:
    """Vectors around one centre for each person, their ids and identities."""
    generator = np.random.default_rng(seed)
    identity = generator.integers(0, people, n).astype(np.int32)
    centres = generator.standard_normal((people, d))
    vectors = (centres[identity] + generator.standard_normal((n, d))).astype(kind)
    return vectors, np.arange(n, dtype=np.int64) * 3 + 100, identity


def cosine(a: Any, b: Any) -> float:
    a, b = a.astype(np.float64), b.astype(np.float64)
    return float(a @ b / np.sqrt((a @ a) * (b @ b)))


def table(scores: Scores) -> dict[tuple[int, int], float]:
    return {(int(a), int(b)): float(s) for a, b, s in zip(scores.first, scores.second, scores.score, strict=True)}


def impostors_above(scores: Scores, t: float) -> int:
    """As verification counts them: those kept, and those counted, where t is an edge."""
    kept = int(np.count_nonzero(scores.score[~scores.genuine] >= t))
    if scores.bulk is None or t >= scores.floor:
        return kept
    place = int(np.searchsorted(scores.bulk.edges, t))
    assert scores.bulk.edges[place] == t, "not an edge"
    return kept + int(scores.bulk.counts[place:].sum())


@pytest.fixture
def small_tiles(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(similarity, "TILE", (16, 40))
    return


@pytest.mark.parametrize("kind", KINDS)
def test_unit_vectors(kind: Any) -> None:
    vectors = np.array([[3, 4], [0, 0], [np.nan, 1], [np.inf, 1], [1e-13, 0], [1e-11, 0], [3e30, 4e30]], kind)
    made, valid = similarity.unit(vectors)
    assert valid.tolist() == [True, False, False, False, False, True, True]
    assert made.dtype == kind
    np.testing.assert_allclose(made[[0, 5, 6]], [[0.6, 0.8], [1, 0], [0.6, 0.8]], rtol=1e-6)
    assert not np.any(np.all(made[~valid] == 0, axis=1) & (vectors[~valid] != 0).any(1))  # never turned into zeros


def test_unit_of_few_bits_and_of_none() -> None:
    assert similarity.unit(np.ones((2, 4), np.float16))[0].dtype == np.float32
    made, valid = similarity.unit(np.zeros((0, 4), np.float32))
    assert made.shape == (0, 4) and valid.shape == (0,)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("light", [0, 1 << 22])
def test_blocks(kind: Any, light: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(similarity, "LIGHT", light)
    query, gallery = faces(50, kind=kind)[0], faces(31, kind=kind, seed=1)[0]
    seen = np.full((50, 31), np.nan, kind)
    sizes = []
    for rows, block in similarity.blocks(query, gallery, memory=31 * 8 * 7):
        seen[rows] = block
        sizes.append(block.nbytes)
    np.testing.assert_allclose(seen, query @ gallery.T, rtol=1e-5, atol=1e-6)
    assert max(sizes) <= 31 * 8 * 7 and len(sizes) > 3


def test_blocks_of_nothing() -> None:
    none, some = np.zeros((0, 4), np.float32), np.ones((3, 4), np.float32)
    assert list(similarity.blocks(none, some)) == []
    assert [block.shape for _, block in similarity.blocks(some, none)] == [(3, 0)]
    with pytest.raises(ValueError, match="no cosine"):
        list(similarity.blocks(some, np.ones((3, 5), np.float32)))


def test_read_only_vectors() -> None:
    vectors = similarity.unit(faces(40)[0])[0]
    vectors.flags.writeable = False
    assert [block.shape for _, block in similarity.blocks(vectors, vectors)] == [(40, 40)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("light", [0, 1 << 22], ids=["heavy", "light"])
@pytest.mark.parametrize("k", [1, 70, 600])
def test_top_k(kind: Any, light: int, k: int, small_tiles: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(similarity, "LIGHT", light)
    generator = np.random.default_rng(0)
    # Small whole numbers: exact products, and many ties.
    query, gallery = (generator.integers(-2, 3, (n, 6)).astype(kind) for n in (37, 90))
    without = np.where(np.arange(37) % 3, np.arange(37), -1)
    rows, scores = similarity.top_k(query, gallery, k=k, without=without)
    assert rows.shape == scores.shape == (37, k)
    assert rows.dtype == np.int64 and scores.dtype == kind
    for q in range(37):
        wanted = sorted((-float(query[q] @ gallery[g]), g) for g in range(90) if g != without[q])[:k]
        assert rows[q, : len(wanted)].tolist() == [g for _, g in wanted]
        assert scores[q, : len(wanted)].tolist() == [-s for s, _ in wanted]
        assert (rows[q, len(wanted) :] == -1).all() and (scores[q, len(wanted) :] == -np.inf).all()


def test_top_k_of_nothing() -> None:
    none, some = np.zeros((0, 4), np.float32), np.ones((3, 4), np.float32)
    assert similarity.top_k(none, some, k=2)[0].shape == (0, 2)
    rows, scores = similarity.top_k(some, none, k=2)
    assert (rows == -1).all() and (scores == -np.inf).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("crossed", [False, True])
@pytest.mark.parametrize("keep", [10**6, 60])
def test_all_pairs(kind: Any, crossed: bool, keep: int, small_tiles: None) -> None:
    vectors, ids, identity = faces(40, kind=kind)
    other = faces(40, kind=kind, seed=1)[0] if crossed else None
    vectors[3] = np.nan
    vectors[7] = 0
    identity[[11, 12]] = -1
    if other is not None:
        other[9, 2] = np.inf
    bad = {3, 7, 9} if crossed else {3, 7}
    made = similarity.all_pairs(vectors, ids=ids, identity=identity, against=other, keep=keep)
    order = permutations if crossed else combinations
    usable = [row for row in range(40) if row not in bad]
    compared = [(a, b) for a, b in order(usable, 2) if identity[a] >= 0 and identity[b] >= 0]
    wanted = {(a, b): cosine(vectors[a], (vectors if other is None else other)[b]) for a, b in compared}
    genuine = {pair for pair in compared if identity[pair[0]] == identity[pair[1]]}

    found = table(made)
    assert len(found) == len(made.score)
    assert made.score.dtype == kind
    assert (np.diff(made.score) <= 0).all()
    assert made.invalid.tolist() == [100 + 3 * row for row in sorted(bad)]
    assert made.missing == len(list(order(usable, 2))) - len(compared)
    assert made.n_genuine == len(genuine) and made.n_impostor == len(compared) - len(genuine)
    assert {pair for pair, same in zip(found, made.genuine, strict=True) if same} == genuine
    for pair, score in found.items():
        assert score == pytest.approx(wanted[pair], abs=1e-6)
    if keep > len(compared):
        assert made.bulk is None and set(found) == set(wanted)
    else:
        assert made.bulk is not None
        assert len(found) < len(compared)
        kept = {pair for pair in compared if pair not in genuine and wanted[pair] >= made.floor}
        assert set(found) == genuine | kept
        counts = np.histogram([wanted[p] for p in compared if p not in set(found)], made.bulk.edges)[0]
        # Scores within a rounding of an edge may be on the other side of it in the plain loop.
        assert np.abs(np.cumsum(counts) - np.cumsum(made.bulk.counts)).max() <= 1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("keep", "light"), [(10**6, 1 << 22), (60, 0), (60, 1 << 22)])
def test_two_sets(kind: Any, keep: int, light: int, small_tiles: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(similarity, "LIGHT", light)
    query, ids, who = faces(37, kind=kind)
    gallery, _, whose = faces(50, people=9, kind=kind, seed=1)
    gallery[:5] = query[:5]  # the same picture on both sides is compared as any other
    query[3], gallery[[4, 8]], who[7], whose[[11, 12]] = np.nan, 0, -1, -1
    others = similarity.Others(gallery, np.arange(50, dtype=np.int64) + 100, whose)  # ids that the queries have too
    made = similarity.all_pairs(query, ids=ids, identity=who, others=others, keep=keep)
    np.testing.assert_array_equal(made.ids, np.concatenate([ids, others.ids]))
    np.testing.assert_array_equal(made.identity, np.concatenate([who, whose]))
    usable = [(a, b) for a in range(37) if a != 3 for b in range(50) if b not in (4, 8)]
    compared = [(a, b) for a, b in usable if who[a] >= 0 and whose[b] >= 0]
    wanted = {(a, 37 + b): cosine(query[a], gallery[b]) for a, b in compared}
    genuine = {(a, 37 + b) for a, b in compared if who[a] == whose[b]}
    found = table(made)
    assert made.queries == 37 and len(found) == len(made.score)
    assert made.missing == len(usable) - len(compared)
    assert made.invalid.tolist() == [109, 104, 108]
    assert made.n_genuine == len(genuine) > 0 and made.n_impostor == len(compared) - len(genuine)
    assert {pair for pair, same in zip(found, made.genuine, strict=True) if same} == genuine
    for pair, score in found.items():
        assert score == pytest.approx(wanted[pair], abs=1e-6)
    kept = {pair for pair in wanted if wanted[pair] >= made.floor}
    assert set(found) == genuine | kept and (made.bulk is None) == (keep > len(compared))
    some, total = similarity.pairs_between(query, 0.1, 0.5, ids=ids, identity=who, others=others, genuine=None)
    inside = {pair for pair in wanted if 0.1 <= wanted[pair] < 0.5}
    assert total == len(inside) and set(table(some)) == inside and some.queries == 37


@pytest.mark.parametrize(("n", "m"), [(0, 5), (5, 0), (1, 1)])
def test_two_sets_of_hardly_anything(n: int, m: int) -> None:
    vectors, ids, identity = faces(max(n, m), people=1)
    others = similarity.Others(vectors[:m], ids[:m], identity[:m])
    made = similarity.all_pairs(vectors[:n], ids=ids[:n], identity=identity[:n], others=others, keep=0)
    assert len(made.score) == made.n_genuine == n * m and made.n_impostor == 0


def operating(scores: Scores, k: int) -> tuple[float, float, int]:
    """By the ROC rule, from all pairs: the impostor just too many, the next larger one, the genuine above the first."""
    impostors = np.sort(scores.impostor_scores)[::-1]
    too_many = impostors[k]
    larger = impostors[impostors > too_many]
    return too_many, larger[-1] if len(larger) else np.inf, int((scores.genuine_scores > too_many).sum())


@pytest.mark.parametrize(
    ("kind", "crossed", "collected", "coarse"),  # half of all, such that any three of them meet in every way
    [
        (kind, crossed, collected, coarse)
        for kind in KINDS
        for crossed in (False, True)
        for collected in (1 << 19, 3)
        for coarse in [(kind is np.float32) ^ crossed ^ (collected == 3)]
    ],
)
def test_counted_is_exact_where_rates_are_read(
    kind: Any, crossed: bool, collected: int, coarse: bool, small_tiles: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(similarity, "COLLECTED", collected)
    if coarse:  # bins with many scores each
        monkeypatch.setattr(similarity, "SCALE", 16)
        monkeypatch.setattr(similarity, "BASE", -16 - 16)
        monkeypatch.setattr(similarity, "BINS", 64)
    vectors, ids, identity = faces(130, kind=kind)
    vectors[40:60] = vectors[39]  # ties of 20
    vectors[70:90] = -vectors[39]
    other = vectors + faces(130, kind=kind, seed=2)[0] / 2 if crossed else None
    fars = (0.5, 0.3, 0.1, 0.05, 1e-3)
    every = similarity.all_pairs(vectors, ids=ids, identity=identity, against=other, keep=10**6)
    some = similarity.all_pairs(vectors, ids=ids, identity=identity, against=other, keep=100, fars=fars)
    assert every.bulk is None and some.bulk is not None
    assert some.n_genuine == every.n_genuine and some.n_impostor == every.n_impostor
    assert len(some.score) <= 2 * some.n_genuine
    np.testing.assert_array_equal(some.genuine_scores, every.genuine_scores)
    np.testing.assert_array_equal(some.impostor_scores, every.impostor_scores[: len(some.impostor_scores)])
    assert some.bulk.edges[-1] == some.floor
    assert (np.diff(some.bulk.edges) > 0).all() and (some.bulk.counts >= 0).all()
    below = every.impostor_scores[every.impostor_scores < some.floor]
    np.testing.assert_array_equal(np.histogram(below, some.bulk.edges)[0], some.bulk.counts)

    for far in fars:
        k = int(np.floor(far * every.n_impostor + 1e-9))
        too_many, larger, _ = operating(every, k)
        if too_many >= some.floor:
            continue
        assert far > 1e-3
        just_above = float(np.nextafter(kind(too_many), kind(np.inf)))
        for t in (too_many, just_above, larger):
            assert impostors_above(some, t) == int((every.impostor_scores >= t).sum())

    assert_meeting_is_known(every, some)


def assert_meeting_is_known(every: Scores, some: Scores) -> float:
    """The equal error rate is read off at the observed score where the rates differ least; that score."""
    t = np.unique(every.score.astype(np.float64))
    far_at = 1 - np.searchsorted(every.impostor_scores[::-1], t) / every.n_impostor
    frr_at = np.searchsorted(every.genuine_scores[::-1], t) / every.n_genuine
    meeting = float(t[np.argmin(np.abs(far_at - frr_at))])
    assert impostors_above(some, meeting) == int((every.impostor_scores >= meeting).sum())
    return meeting


def test_equal_error_rate_at_a_genuine_score_too(small_tiles: None) -> None:
    kinds = set()
    for seed in range(6):
        vectors, ids, identity = faces(50, people=16, seed=seed)
        every = similarity.all_pairs(vectors / 9, ids=ids, identity=identity)
        some = similarity.all_pairs(vectors / 9, ids=ids, identity=identity, keep=10)
        meeting = assert_meeting_is_known(every, some)
        kinds.add((meeting in every.genuine_scores, meeting < some.floor))
    assert {(True, True), (False, True)} <= kinds


@pytest.mark.parametrize("kind", KINDS)
def test_counted_gives_the_golden_numbers(kind: Any, golden: Path, small_tiles: None) -> None:
    case = golden / "v15_large"
    inputs = np.load(case / "inputs.npz", allow_pickle=False)
    answer = json.loads((case / "expected.json").read_text())
    wanted, tolerance = answer["expected"], answer["tolerance_abs"]
    vectors = inputs["emb"].astype(kind)
    scores = similarity.all_pairs(vectors, ids=np.arange(len(vectors)), identity=inputs["labels"], keep=500)
    assert scores.bulk is not None and len(scores.score) < 0.1 * (scores.n_genuine + scores.n_impostor)
    for rule, ending in (("roc", ""), ("nist", "_nist")):
        made = verification.verify(scores, fars=(1e-1, 1e-2, 1e-3, 1e-4), rule=rule, resamples=0)
        for point in made.points:
            assert point.tar.value == pytest.approx(wanted[f"tar@far={point.target:g}{ending}"], abs=tolerance)
            assert point.false_matches == wanted[f"false_accepts@far={point.target:g}"]
        assert made.eer.value == pytest.approx(wanted["eer"], abs=tolerance)


@pytest.mark.parametrize("kind", KINDS)
def test_all_scores_equal(kind: Any, small_tiles: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(similarity, "COLLECTED", 20)
    identity = np.arange(60, dtype=np.int32) // 2
    vectors = np.zeros((60, 64), kind)
    vectors[np.arange(60), np.arange(60)] = 1  # all at right angles: every cosine is 0
    made = similarity.all_pairs(vectors, ids=np.arange(60), identity=identity, keep=10)
    assert made.n_genuine == 30 == len(made.score) and made.n_impostor == 60 * 59 // 2 - 30
    assert impostors_above(made, 0.0) == made.n_impostor
    assert impostors_above(made, float(np.nextafter(kind(0), kind(1)))) == 0


@pytest.mark.parametrize("kind", KINDS)
def test_block_sizes_leave_no_trace(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(0)
    vectors = generator.integers(-1, 2, (120, 16)).astype(kind)  # ties, and some that are zero
    vectors[:, 0] = 0
    vectors[5] = 0
    ids, identity = np.arange(120), generator.integers(0, 9, 120).astype(np.int32)
    made = []
    for tile in ((16, 40), (120, 17), (1024, 4096)):
        monkeypatch.setattr(similarity, "TILE", tile)
        made.append([similarity.all_pairs(vectors, ids=ids, identity=identity, keep=keep) for keep in (10**6, 900)])
    for every, some in made[1:]:
        for one, other in zip((every, some), made[0], strict=True):
            np.testing.assert_allclose(one.score, other.score, atol=1e-6)
            assert one.n_impostor == other.n_impostor and one.floor == other.floor
    assert made[0][1].bulk is not None
    again = similarity.all_pairs(vectors, ids=ids, identity=identity, keep=900)
    for name in ("score", "first", "second", "genuine"):
        np.testing.assert_array_equal(getattr(again, name), getattr(made[-1][1], name))
    ties = np.diff(again.score) == 0
    key = again.first.astype(np.int64) * 120 + again.second
    assert ties.any() and (np.diff(key)[ties] > 0).all()


@pytest.mark.parametrize("n", [0, 1, 2])
@pytest.mark.parametrize("keep", [0, 100])
@pytest.mark.parametrize("crossed", [False, True])
def test_hardly_any_faces(n: int, keep: int, crossed: bool) -> None:
    vectors, ids, identity = faces(n, people=1)
    against = vectors if crossed else None
    made = similarity.all_pairs(vectors, ids=ids, identity=identity, against=against, keep=keep)
    assert len(made.score) == made.n_genuine == n * (n - 1) // (1 if crossed else 2)
    assert made.n_impostor == 0
    some, total = similarity.pairs_between(vectors, -1, 1, ids=ids, identity=identity, against=against)
    assert total == 0 and len(some.score) == 0


def test_too_many_genuine_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(similarity, "GENUINE", 100)
    vectors, ids, identity = faces(30, people=1)
    with pytest.raises(InputError, match="435 pairs"):
        similarity.all_pairs(vectors, ids=ids, identity=identity)


@pytest.mark.parametrize("light", [0, 1 << 22], ids=["heavy", "light"])
@pytest.mark.parametrize("genuine", [False, True, None])
@pytest.mark.parametrize("highest", [True, False])
@pytest.mark.parametrize("crossed", [False, True])
def test_pairs_between(
    light: int, genuine: bool | None, highest: bool, crossed: bool, small_tiles: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(similarity, "LIGHT", light)
    monkeypatch.setattr(similarity, "BUFFER", 64)
    vectors, ids, identity = faces(90)
    identity[4] = -1
    vectors[6] = np.nan
    against = faces(90, seed=3)[0] if crossed else None
    every = similarity.all_pairs(vectors, ids=ids, identity=identity, against=against)
    low, high = -0.21, 0.3
    inside = (every.score >= low) & (every.score < high)
    if genuine is not None:
        inside &= every.genuine == genuine
    wanted = np.flatnonzero(inside)
    for limit in (10, 100_000):
        some, total = similarity.pairs_between(
            vectors, low, high, ids=ids, identity=identity, against=against, genuine=genuine, limit=limit,
            highest=highest,
        )  # fmt: skip
        assert total == len(wanted) > 20
        places = wanted[:limit] if highest else wanted[-limit:]
        for name in ("score", "first", "second", "genuine"):
            np.testing.assert_array_equal(getattr(some, name), getattr(every, name)[places])


def test_pairs_of_a_counted_bin(small_tiles: None) -> None:
    vectors, ids, identity = faces(90)
    some = similarity.all_pairs(vectors, ids=ids, identity=identity, keep=50)
    assert some.bulk is not None
    low, high = float(some.bulk.edges[0]), some.floor
    _, total = similarity.pairs_between(vectors, low, high, ids=ids, identity=identity)
    assert total == some.bulk.counts.sum()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("crossed", [False, True])
def test_listed_pairs(kind: Any, crossed: bool) -> None:
    vectors, ids, identity = faces(20, kind=kind)
    other = faces(20, kind=kind, seed=1)[0] if crossed else vectors
    vectors[3] = 0
    pairs = np.array([[0, 1], [2, 3], [4, 5], [3, 6], [7, -1], [8, 9], [1, 0], [5, 5]])
    same = np.array([True, True, False, False, True, False, True, True])
    fold = np.array([0, 0, 0, 0, 1, 1, 1, 1], np.int32)
    made = similarity.listed_pairs(vectors, other, pairs=pairs, same=same, fold=fold, ids=ids, identity=identity)
    usable = [n for n, (a, b) in enumerate(pairs) if a != 3 and b != -1 and (crossed or b != 3)]
    assert made.missing == len(pairs) - len(usable)
    assert made.invalid.tolist() == [109]
    assert made.score.dtype == kind and (np.diff(made.score) <= 0).all()
    assert made.fold is not None
    found = {
        (int(a), int(b)): (pytest.approx(float(s), abs=1e-6), bool(g), int(f))
        for a, b, s, g, f in zip(made.first, made.second, made.score, made.genuine, made.fold, strict=True)
    }
    assert found == {
        tuple(pairs[n].tolist()): (cosine(vectors[pairs[n][0]], other[pairs[n][1]]), same[n], fold[n]) for n in usable
    }


@pytest.mark.parametrize("light", [0, 1 << 22], ids=["heavy", "light"])
def test_a_dense_list(light: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(similarity, "LIGHT", light)
    vectors, ids, identity = faces(50)
    generator = np.random.default_rng(0)
    pairs = np.stack([generator.integers(5, 40, 700), generator.integers(10, 50, 700)], axis=1)
    same = generator.random(700) < 0.5
    plain = similarity.listed_pairs(vectors, vectors, pairs=pairs, same=same, ids=ids, identity=identity)
    monkeypatch.setattr(similarity, "DENSE", 100)
    monkeypatch.setattr(similarity, "MEMORY", 4 * 40 * 4 * 7)
    ticks: list[int] = []
    dense = similarity.listed_pairs(
        vectors, vectors, pairs=pairs, same=same, ids=ids, identity=identity, tick=lambda done, *_: ticks.append(done)
    )
    assert len(ticks) > 4
    np.testing.assert_allclose(dense.score, plain.score, atol=1e-6)
    for a, b, s in zip(dense.first, dense.second, dense.score, strict=True):
        assert float(s) == pytest.approx(cosine(vectors[a], vectors[b]), abs=1e-6)
    key = [sorted(zip(each.first, each.second, each.genuine, strict=True)) for each in (plain, dense)]
    assert key[0] == key[1]


def test_no_listed_pairs() -> None:
    vectors, ids, identity = faces(4)
    made = similarity.listed_pairs(
        vectors, vectors, pairs=np.zeros((0, 2), int), same=np.zeros(0, bool), ids=ids, identity=identity
    )
    assert len(made.score) == 0 == made.missing and made.fold is None


@pytest.mark.parametrize("work", ["blocks", "top_k", "all", "counted", "between", "listed"])
@pytest.mark.parametrize("light", [0, 1 << 22])
def test_stops_when_asked(work: str, light: int, small_tiles: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(similarity, "LIGHT", light)
    vectors, ids, identity = faces(90)
    told: list[tuple[int, int]] = []

    def tick(done: int, total: int, note: str = "") -> None:
        told.append((done, total))
        if stop and len(told) > 2:
            raise Cancelled

    def run() -> object:
        if work == "blocks":
            return list(similarity.blocks(vectors, vectors, memory=90 * 4 * 9, tick=tick))
        if work == "top_k":
            monkeypatch.setattr(similarity, "MEMORY", 90 * 4 * 9 * 4)
            return similarity.top_k(vectors, vectors, k=3, tick=tick)
        if work == "between":
            return similarity.pairs_between(vectors, -1, 1, ids=ids, identity=identity, tick=tick)
        if work == "listed":
            monkeypatch.setattr(similarity, "MEMORY", 64 * 8 * 4)
            pairs, same = np.zeros((9, 2), int), np.ones(9, bool)
            return similarity.listed_pairs(
                vectors, vectors, pairs=pairs, same=same, ids=ids, identity=identity, tick=tick
            )
        return similarity.all_pairs(
            vectors, ids=ids, identity=identity, keep=50 if work == "counted" else 9999, tick=tick
        )

    stop = False
    run()
    shares = [done / total for done, total in told]
    assert shares == sorted(shares) and shares[-1] == 1 and len(told) > 3
    told.clear()
    stop = True
    with pytest.raises(Cancelled):
        run()
    assert len(told) == 3


def test_few_faces_need_neither_torch_nor_compiled_code() -> None:
    program = """
import sys, numpy as np
from facelens.analyses import similarity, verification
vectors = np.random.default_rng(0).standard_normal((900, 4)).astype(np.float32)
ids, identity = np.arange(900), np.arange(900, dtype=np.int32) % 300
scores = similarity.all_pairs(vectors, ids=ids, identity=identity)
few = vectors[:200]
similarity.pairs_between(few, 0.0, 0.1, ids=ids[:200], identity=identity[:200])
similarity.top_k(few, few, k=3)
assert scores.bulk is None
print(sorted(name for name in ("torch", "numba", "scipy") if name in sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
