"""Identification: against plain loops over the definitions, on dirty galleries, in blocks, and what a click shows."""

from __future__ import annotations

import dataclasses
import pickle
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from facelens.analyses import identification as module
from facelens.analyses import search
from facelens.analyses.bootstrap import identity_weights, interval
from facelens.analyses.identification import (
    Identification,
    Searches,
    compare,
    false_alarms,
    identify,
    missed,
    misses,
    split,
)
from facelens.analyses.plan import OPEN_RULES
from facelens.errors import Cancelled

Line = tuple[bool, int, int, float, int, float]  # mated, rank, mate, its score, best other, its score


def world(
    people: int = 12,
    pictures: int = 4,
    strangers: int = 30,
    *,
    noise: float = 1.0,
    dtype: Any = np.float32,
    seed: int = 0,
) -> dict[str, Any]:
    """Two pictures of each person enrolled, the others searched, and strangers; many scores are exactly equal."""
    rng = np.random.default_rng(seed)
    pictures = 4
    centre = rng.normal(size=(people + strangers, 16))
    identity = np.r_[np.repeat(np.arange(people), pictures), people + np.arange(strangers)].astype(np.int32)
    vectors = np.sign(centre[identity] + noise * rng.normal(size=(len(identity), 16))).astype(dtype)
    enrolled = np.zeros(len(identity), bool)
    enrolled[: people * pictures : pictures] = enrolled[1 : people * pictures : pictures] = True
    ids = rng.permutation(10_000)[: len(identity)].astype(np.int64)
    return {
        "query": vectors[~enrolled],
        "gallery": vectors[enrolled],
        "query_ids": ids[~enrolled],
        "gallery_ids": ids[enrolled],
        "query_identity": identity[~enrolled],
        "gallery_identity": identity[enrolled],
    }


def run(w: dict[str, Any], **options: Any) -> Identification:
    rest = dict(w)
    return identify(rest.pop("query"), rest.pop("gallery"), **{"resamples": 0, **rest, **options})


def naive(w: dict[str, Any]) -> list[Line]:
    """One line a probe, in double precision with ties at 1e-6, so that both precisions agree on them."""
    unit = [
        x.astype(np.float64) / np.linalg.norm(x.astype(np.float64), axis=1)[:, None] for x in (w["query"], w["gallery"])
    ]
    lines = []
    for q, label in enumerate(w["query_identity"]):
        mate, mate_score, other, other_score = -1, -np.inf, -1, -np.inf
        scores = [round(float(unit[0][q] @ row), 6) for row in unit[1]]
        for g, score in enumerate(scores):
            if w["gallery_identity"][g] == label:
                if score > mate_score:
                    mate, mate_score = int(w["gallery_ids"][g]), score
            elif score > other_score:
                other, other_score = int(w["gallery_ids"][g]), score
        rank = 0
        if mate >= 0:
            rank = 1
            for g, score in enumerate(scores):
                rank += bool(w["gallery_identity"][g] != label and score >= mate_score)
        lines.append((mate >= 0, rank, mate, mate_score, other, other_score))
    return lines


def naive_open(
    mates: list[float], firsts: list[bool], tops: list[float], *, target: float, rule: str
) -> tuple[float, float, float]:
    """TPIR with rank 1, TPIR with any rank, and the real FPIR, from the words of the rules."""
    n = len(tops)
    strict = rule == "mixbct"
    if rule == "nist":
        fitting = [t for t in tops if sum(x >= t for x in tops) <= target * n + 1e-9]
        threshold = min(fitting) if fitting else float(np.nextafter(max(tops), np.inf))
    elif rule == "roc":
        fitting = [t for t in [*tops, *mates] if sum(x >= t for x in tops) <= target * n + 1e-9]
        threshold = min(fitting) if fitting else np.inf
    elif rule == "mixbct":
        threshold = sorted(tops, reverse=True)[max(int(n * target) - 1, 0)]
    else:
        k = round(n * target)
        threshold = sorted(tops, reverse=True)[k - 1] if k else max(tops) + 1e-8
    right = [m > threshold if strict else m >= threshold for m in mates]
    wrong = [t > threshold if strict else t >= threshold for t in tops]
    return (
        sum(r and f for r, f in zip(right, firsts)) / len(mates),
        sum(right) / len(mates),
        sum(wrong) / n,
    )


def open_lists(s: Searches, lines: NDArray[np.int64] | None = None) -> tuple[list[float], list[bool], list[float]]:
    lines = np.arange(len(s.query)) if lines is None else lines
    mated = lines[s.mated[lines]]
    return s.mate_score[mated].tolist(), (s.rank[mated] == 1).tolist(), s.other_score[lines[~s.mated[lines]]].tolist()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_line_is_as_defined(dtype: type) -> None:
    w = world(dtype=dtype)
    s = run(w).searches
    for q, (mated, rank, mate, mate_score, other, other_score) in enumerate(naive(w)):
        assert (bool(s.mated[q]), int(s.rank[q])) == (mated, rank)
        assert int(s.mate[q]) == mate and int(s.other[q]) == other
        assert s.mate_score[q] == pytest.approx(mate_score, abs=2e-6)
        assert s.other_score[q] == pytest.approx(other_score, abs=2e-6)
    assert np.unique(s.rank).size > 3  # the world is not trivial
    assert s.mate_score.dtype == s.other_score.dtype == np.float64


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("rule", OPEN_RULES)
def test_rates_are_as_defined(rule: str, dtype: type) -> None:
    w = world(strangers=77, dtype=dtype)
    found = run(w, rule=rule, fpirs=(0.5, 0.2, 0.1, 0.05, 0.01, 1.0), ranks=(1, 2, 3, 24, 25))
    s = found.searches
    ranks = s.rank[s.mated]
    for r, measure in found.ranks[:4]:
        assert measure.value == pytest.approx(np.mean([rank <= r for rank in ranks]))
        assert measure.n == len(ranks) and found.cmc[r - 1] == measure.value
    assert found.ranks[4][1].value is None and "24" in found.ranks[4][1].why
    for point in found.open:
        expected = naive_open(*open_lists(s), target=point.target, rule=rule)
        assert (point.rank1.value, point.anyrank.value, point.fpir) == pytest.approx(expected), point
        assert point.false_alarms == round(point.fpir * 77) == len(false_alarms(s, point.thresholds, rule=rule))
        lost = len(misses(s, point.thresholds, rule=rule)), len(misses(s, point.thresholds, rule=rule, first=False))
        assert lost == pytest.approx([(1 - v) * found.n_mated for v in expected[:2]])
    assert (found.n_mated, found.n_unmated, found.n_gallery, found.n_enrolled) == (24, 77, 24, 12)


def test_rates_without_support_say_so() -> None:
    points = {p.target: p for p in run(world(strangers=30), fpirs=(0.2, 0.1, 0.09, 0.03)).open}
    assert points[0.2].rank1.defined and points[0.1].rank1.defined
    assert not points[0.09].rank1.supported and points[0.09].attainable and "30" in points[0.09].rank1.why
    assert not points[0.03].rank1.supported and not points[0.03].attainable
    assert points[0.09].rank1.why != points[0.03].rank1.why
    assert run(world(strangers=30)).smallest_fpir == pytest.approx(0.1)


def two_galleries(people: int = 12, **options: Any) -> dict[str, Any]:
    """Five people of twelve in the first, seven in the second."""
    w = world(people, **options)
    return {**w, "part": np.where(w["gallery_identity"] < 5 * people // 12, 1, 2).astype(np.int8)}


@pytest.mark.parametrize("rule", OPEN_RULES)
def test_two_galleries_are_averaged(rule: str) -> None:
    w = two_galleries(strangers=41)
    both = run(w, rule=rule, fpirs=(0.1, 0.3))
    single = []
    for part in (1, 2):
        chosen = w["part"] == part
        one = {**w, "part": None} | {k: w[k][chosen] for k in ("gallery", "gallery_ids", "gallery_identity")}
        single.append(run(one, rule=rule, fpirs=(0.1, 0.3)))
    assert both.galleries == 2 and both.n_gallery == 24 and both.n_enrolled == 12
    assert np.array_equal(both.cmc, (single[0].cmc[:10] + single[1].cmc[:10]) / 2)
    assert "10" in both.ranks[3][1].why  # rank 20 in a gallery of ten
    for i, point in enumerate(both.open):
        parts = [s.open[i] for s in single]
        assert point.rank1.value == pytest.approx(np.mean([p.rank1.value for p in parts]))
        assert point.fpir == pytest.approx(np.mean([p.fpir for p in parts]))
        assert point.thresholds == tuple(p.threshold for p in parts)
        assert point.false_alarms == sum(p.false_alarms for p in parts)
        assert point.false_alarms == len(false_alarms(both.searches, point.thresholds, rule=rule))
        assert len(misses(both.searches, point.thresholds, rule=rule)) == sum(
            len(misses(s.searches, p.threshold, rule=rule)) for s, p in zip(single, parts)
        )
    assert both.n_mated == sum(s.n_mated for s in single) and both.n_unmated == sum(s.n_unmated for s in single)
    assert np.unique(both.searches.gallery).tolist() == [1, 2]


@pytest.mark.parametrize("rule", OPEN_RULES)
@pytest.mark.parametrize(("people", "strangers"), [(7, 9), (3, 1)])  # with few some draws have no stranger, or no mate
def test_each_draw_finds_its_own_threshold(rule: str, people: int, strangers: int) -> None:
    """Draws by running sums are the rates of the searches of the people drawn, one by one."""
    w = two_galleries(people, strangers=strangers)
    fpirs = (0.05, 0.2, 0.5)
    found = run(w, rule=rule, fpirs=fpirs, resamples=40, seed=3)
    s = found.searches
    codes = np.unique(s.identity)
    weights = identity_weights(len(codes), resamples=40, seed=3)
    expected, curve = [], []
    for weight in weights:
        rates, closed = [], []
        for part in (1, 2):
            lines = np.concatenate(
                [
                    np.tile(np.flatnonzero((s.identity == c) & (s.gallery == part)), int(n))
                    for c, n in zip(codes, weight)
                ]
            ).astype(np.int64)
            mates, firsts, tops = open_lists(s, lines)
            rates.append([] if mates and tops else [(np.nan, np.nan)] * len(fpirs))
            for x in fpirs if mates and tops else ():
                rates[-1].append(naive_open(mates, firsts, tops, target=x, rule=rule)[:2])
            closed.append(np.mean(s.rank[lines[s.mated[lines]]] <= 1) if mates else np.nan)
        expected.append(np.mean(rates, axis=0))
        curve.append(np.mean(closed))
    draws = np.array(expected)
    assert people == 7 or np.isnan(draws).any()
    assert np.allclose(module._Rates(s).tpir_draws(weights, fpirs, rule)[0], draws[:, :, 0], equal_nan=True)
    for i, point in enumerate(found.open):
        assert (point.rank1.low, point.rank1.high) == pytest.approx(interval(draws[:, i, 0]) or (None, None))
        assert (point.anyrank.low, point.anyrank.high) == pytest.approx(interval(draws[:, i, 1]) or (None, None))
    if people == 7:  # of three, one gallery has one person, and ranks are not given
        assert (found.cmc_low[0], found.cmc_high[0]) == pytest.approx(interval(np.array(curve)))
        assert (found.ranks[0][1].low, found.ranks[0][1].high) == (found.cmc_low[0], found.cmc_high[0])


def test_a_draw_without_strangers_says_nothing() -> None:
    s = run(world(3, strangers=1)).searches
    weights = identity_weights(4, resamples=40)
    first, every = module._Rates(s).tpir_draws(weights, (0.1, 0.5), "nist")
    absent = (weights[:, 3] == 0) | (weights[:, :3].sum(axis=1) == 0)
    assert 0 < absent.sum() < 40
    assert np.array_equal(np.isnan(first).all(axis=1), absent) and np.array_equal(np.isnan(every).any(axis=1), absent)


def test_the_curve_holds_the_points() -> None:
    found = run(world(strangers=100, noise=1.3), fpirs=(0.1, 0.05), resamples=50)
    curve = found.open_curve
    assert curve is not None
    assert (
        (np.diff(curve.fpir) >= 0).all() and (np.diff(curve.tpir) >= 0).all() and (np.diff(curve.threshold) <= 0).all()
    )
    assert curve.fpir[0] == 0 and curve.fpir[-1] == 1
    assert (curve.tpir_low <= curve.tpir_high).all() and np.isfinite(curve.tpir_low).all()
    for threshold, fpir, tpir in zip(curve.threshold, curve.fpir, curve.tpir):
        assert len(false_alarms(found.searches, threshold)) == round(100 * fpir)
        assert len(misses(found.searches, threshold)) == round((1 - tpir) * found.n_mated)
    for point in found.open:
        assert (point.fpir, point.rank1.value) in set(zip(curve.fpir.tolist(), curve.tpir.tolist()))


def test_clicks_show_the_worst_first() -> None:
    s = run(world(noise=1.5)).searches
    late = missed(s, 1)
    assert set(late.tolist()) == {i for i in range(len(s.query)) if s.mated[i] and s.rank[i] > 1} and len(late) > 2
    assert (np.diff(s.margin[late]) >= 0).all() and (s.margin[late] <= 0).all()
    assert len(missed(s, 0)) == s.mated.sum() and len(missed(s, 100)) == 0
    alarms = false_alarms(s, 0.5)
    assert (np.diff(s.other_score[alarms]) <= 0).all() and not s.mated[alarms].any() and len(alarms)
    assert len(misses(s, None)) == s.mated.sum() and len(false_alarms(s, None)) == 0
    assert len(misses(s, 0.6)) >= len(misses(s, 0.6, first=False))


def test_split_is_disjoint_and_says_how() -> None:
    rng = np.random.default_rng(1)
    identity = rng.integers(0, 40, 90).astype(np.int32)
    identity[::17] = -1
    order = rng.permutation(90)
    made = split(identity, order=order, seed=5)
    again = split(identity, order=order, seed=5)
    assert np.array_equal(made.gallery, again.gallery) and np.array_equal(made.part, again.part)
    assert not np.array_equal(made.gallery, split(identity, order=order, seed=6).gallery)
    known = np.flatnonzero(identity >= 0)
    assert sorted([*made.gallery, *made.probe]) == known.tolist()
    count = np.bincount(identity[known])
    assert sorted(identity[made.gallery]) == np.flatnonzero(count >= 2).tolist()  # each once, so disjoint
    assert abs(np.count_nonzero(made.part == 1) - np.count_nonzero(made.part == 2)) <= 1
    place = np.argsort(order)
    for row in made.gallery:
        assert place[row] == min(place[np.flatnonzero(identity == identity[row])])
    assert str(np.count_nonzero(made.part == 1)) in made.how
    vectors = rng.normal(size=(90, 6))
    found = identify(
        vectors[made.probe],
        vectors[made.gallery],
        query_ids=made.probe,
        gallery_ids=made.gallery,
        query_identity=identity[made.probe],
        gallery_identity=identity[made.gallery],
        part=made.part,
        how=made.how,
        resamples=0,
    )
    several = np.isin(identity[made.probe], identity[made.gallery])
    assert found.n_mated == several.sum() and found.n_unmated == several.sum() + 2 * (~several).sum()
    assert not found.notes and found.how == made.how


@pytest.mark.parametrize("identity", [[], [3], [0, 1, 2], [0, 0], [-1, -1]])
def test_split_of_little(identity: list[int]) -> None:
    made = split(np.array(identity, np.int32))
    assert len(made.gallery) + len(made.probe) == sum(i >= 0 for i in identity)
    assert ("Nobody" in made.how) == (len(made.gallery) == 0)


def stated(found: Identification) -> None:
    """Every number is a number or says why it is none."""
    measures = [m for _, m in found.ranks] + [m for p in found.open for m in (p.rank1, p.anyrank)]
    for m in measures:
        assert (m.value is None) <= bool(m.why)
        assert m.value is None or 0 <= m.value <= 1
        assert m.low is None or (m.high is not None and 0 <= m.low <= m.high <= 1)
        assert m.text() and "nan" not in m.text()
    assert np.isfinite(found.cmc).all() and len(found.cmc) == len(found.cmc_low) == len(found.cmc_high)
    known = np.full(len(found.cmc), found.resamples > 0)  # no band without draws, not even one of no width
    assert (np.isfinite(found.cmc_low) == known).all() and (np.isfinite(found.cmc_high) == known).all()
    assert found.how
    for f in dataclasses.fields(Searches):
        column = getattr(found.searches, f.name)
        assert len(column) == len(found.searches.query) and not np.isnan(column).any()


def take(w: dict[str, Any], queries: Any, entries: Any) -> dict[str, Any]:
    return {k: v[queries] if k.startswith("query") else v[entries] for k, v in w.items()}


def test_dirty_galleries_have_a_stated_result() -> None:
    w = world()
    none, everything = slice(0, 0), slice(None)
    strangers, mated = w["query_identity"] >= 12, w["query_identity"] < 12
    for queries, entries, why in [
        (none, everything, "no probe"),
        (everything, none, "nobody"),
        (none, none, "nobody"),
        (strangers, everything, "no probe"),
        (everything, w["gallery_identity"] == 0, "one identity"),
        (mated, w["gallery_identity"] == 0, "one identity"),
    ]:
        found = run(take(w, queries, entries), resamples=20)
        stated(found)
        assert why in found.ranks[0][1].why
        assert found.open_curve is None or why == "one identity"
    closed = run(take(w, mated, everything), resamples=20)
    stated(closed)
    assert (
        closed.ranks[0][1].defined
        and closed.open[0].rank1.value is None
        and "no false alarm" in closed.open[0].rank1.why
    )
    one = run(take(w, slice(0, 1), everything), resamples=20)
    stated(one)
    assert one.ranks[0][1].value in (0.0, 1.0) and one.ranks[0][1].low is None and one.resamples == 0
    constant = run({**w, "query": np.ones_like(w["query"]), "gallery": np.ones_like(w["gallery"])}, resamples=20)
    stated(constant)
    assert constant.ranks[0][1].value == 0 and (constant.searches.rank[constant.searches.mated] == 23).all()
    assert constant.open[0].rank1.value == 0 and constant.open[0].fpir == 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("memory", [1, search.MEMORY])
@pytest.mark.parametrize("probes", [1, 2, 51])
def test_equal_vectors_tie_exactly(dtype: type, probes: int, memory: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stranger's copy of the mate's picture always counts against it, whatever the product's last bit says."""
    monkeypatch.setattr(search, "MEMORY", memory)
    rng = np.random.default_rng(0)
    gallery = np.repeat(rng.normal(size=(1, 100)), 1003, axis=0).astype(dtype)
    found = identify(
        rng.normal(size=(probes, 100)).astype(dtype),
        gallery,
        query_ids=np.arange(probes) + 5000,
        gallery_ids=np.arange(1003),
        query_identity=np.arange(probes, dtype=np.int32),
        gallery_identity=np.arange(1003, dtype=np.int32),
        resamples=0,
    )
    assert (found.searches.rank == 1003).all() and (found.searches.margin == 0).all()


def test_what_cannot_be_compared_is_left_out_and_counted() -> None:
    w = world()
    w["query"][3], w["query"][4] = np.nan, 0
    w["gallery"][5, 0] = np.inf
    w["query_identity"][7] = w["gallery_identity"][8] = -1
    found = run(w, resamples=20)
    stated(found)
    good_q, good_g = np.ones(len(w["query"]), bool), np.ones(len(w["gallery"]), bool)
    good_q[[3, 4, 7]] = good_g[[5, 8]] = False
    clean = run(take(w, good_q, good_g), resamples=20)
    assert found.n_invalid == 3 and found.n_unlabelled == 2 and len(found.notes) == 2
    assert np.array_equal(found.searches.query, w["query_ids"][good_q])
    assert np.array_equal(found.cmc, clean.cmc) and found.open == clean.open


def test_an_enrolled_probe_is_named() -> None:
    w = world()
    w["gallery_ids"][0] = w["query_ids"][0]
    assert "1 probes" in run(w).notes[0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_blocks_change_nothing(dtype: type, monkeypatch: pytest.MonkeyPatch) -> None:
    w = world(dtype=dtype)
    whole = run(w, resamples=20)
    for memory in (1, 24 * 8 * 2, 24 * 8 * 7):
        monkeypatch.setattr(search, "MEMORY", memory)
        part = run(w, resamples=20)
        for f in dataclasses.fields(Searches):
            # a score may differ in its last bits where a block has one row
            a, b = getattr(part.searches, f.name), getattr(whole.searches, f.name)
            assert np.allclose(a, b, rtol=0, atol=1e-6) if f.name.endswith("score") else np.array_equal(a, b)


def test_it_stops_when_told() -> None:
    calls = []

    def tick(done: int, total: int, note: str = "") -> None:
        assert 0 <= done <= total
        calls.append(done)
        if len(calls) == 3:
            raise Cancelled

    with pytest.raises(Cancelled):
        run(world(), resamples=1000, tick=tick)
    assert len(calls) == 3 and calls == sorted(calls)


def test_results_travel() -> None:
    found = run(two_galleries(), resamples=20)
    there, paired = pickle.loads(pickle.dumps((found, compare(found, found, resamples=5))))
    assert there.open == found.open and there.ranks == found.ranks and paired.n_mated == found.n_mated


def test_only_known_rules() -> None:
    with pytest.raises(ValueError, match="rule"):
        run(world(), rule="fair")
    with pytest.raises(ValueError, match="part"):
        run({**world(), "part": np.zeros(24, np.int8)})


@pytest.mark.parametrize("rule", ["nist", "pfe"])
def test_a_pair_of_models_is_compared_in_the_same_draws(rule: str) -> None:
    w = two_galleries(noise=1.4, strangers=60)
    options = {"rule": rule, "fpirs": (0.1, 0.2, 0.01), "resamples": 100}
    a = run(w, **options)
    same = compare(a, a, resamples=100)
    assert all(m.value == m.low == m.high == 0 for _, m in [*same.ranks[:1], *same.open])
    clear = world(noise=0.5, strangers=60)
    better = run({**w, "query": clear["query"], "gallery": clear["gallery"]}, **options)
    found = compare(a, better, resamples=100)
    assert found.ranks[0][1].value == pytest.approx(better.ranks[0][1].value - a.ranks[0][1].value)
    for (target, m), old, new in zip(found.open, a.open, better.open):
        assert target == old.target and m.value == pytest.approx(new.rank1.value - old.rank1.value)
        assert m.supported == old.rank1.supported and m.low <= m.value <= m.high
    assert found.ranks[0][1].low > 0 and not found.notes
    back = compare(better, a, resamples=100)
    assert back.open[0][1].low == pytest.approx(-found.open[0][1].high)
    assert (found.n_mated, found.n_unmated) == (a.n_mated, a.n_unmated)


def test_models_that_share_nothing() -> None:
    w = world()
    a = run(w, resamples=20)
    b = run({**w, "query_ids": w["query_ids"] + 20_000}, resamples=20)
    found = compare(a, b, resamples=20)
    assert found.n_mated == 0 and found.notes
    assert all(m.value is None and m.why for _, m in [*found.ranks, *found.open])
    fewer = run(take(w, slice(5, None), slice(None)), resamples=20)
    assert compare(a, fewer, resamples=20).n_mated == fewer.n_mated and compare(a, fewer).notes
