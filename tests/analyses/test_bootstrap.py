"""Intervals against a resampling that rebuilds the lists of pairs, and their coverage where the truth is known."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from statistics import NormalDist

import numpy as np
import pytest

from facelens.analyses import bootstrap
from facelens.analyses.bootstrap import draw, identities_of, identity_weights, interval, thin
from facelens.analyses.measure import Measure
from facelens.analyses.plan import RULES
from facelens.analyses.scores import Bulk, Scores, choose, from_arrays
from facelens.analyses.verification import Verification, lfw_accuracy, verify
from facelens.errors import Cancelled


def all_pairs(labels: np.ndarray, score: np.ndarray) -> Scores:
    """Of a matrix of scores."""
    i, j = np.triu_indices(len(labels), 1)
    values = score[i, j]
    order = np.argsort(-values, kind="stable")
    return Scores(
        ids=np.arange(len(labels)),
        identity=labels.astype(np.int32),
        score=values[order],
        first=i[order].astype(np.int32),
        second=j[order].astype(np.int32),
        genuine=(labels[i] == labels[j])[order],
    )


def world(identities: int, faces: int, *, generator: np.random.Generator, spread: float = 1.0) -> Scores:
    """Scores with an effect of each identity on its genuine pairs and on all its impostor pairs."""
    labels = np.repeat(np.arange(identities), faces)
    easy = generator.normal(0, spread, identities)
    alike = generator.normal(0, 0.5 * spread, identities)
    noise = generator.normal(size=(len(labels), len(labels)))
    genuine = 2.5 + easy[labels][:, None] + 0.5 * noise
    impostor = alike[labels][:, None] + alike[labels][None] + noise
    return all_pairs(labels, np.where(labels[:, None] == labels[None], genuine, impostor))


def rebuilt(scores: Scores, weights: np.ndarray) -> Scores | None:
    """Identity c in weights[c] copies: the pairs within each copy, and those between copies of different people."""
    codes, _ = identities_of(scores)
    copies = [c for c, w in enumerate(weights) for _ in range(int(w))]
    genuine: list[float] = []
    impostor: list[float] = []
    table: dict[tuple[int, int], list[float]] = {}
    for s, a, b in zip(scores.score, codes[scores.first], codes[scores.second]):
        table.setdefault((min(a, b), max(a, b)), []).append(float(s))
    for c in copies:
        genuine += table.get((c, c), [])
    for a, b in itertools.combinations(copies, 2):
        if a != b:
            impostor += table.get((min(a, b), max(a, b)), [])
    return from_arrays(np.array(genuine), np.array(impostor)) if genuine and impostor else None


def caught(monkeypatch: pytest.MonkeyPatch) -> list[np.ndarray]:
    """The draws behind each interval; the interval itself becomes their number in this list, from 2 on."""
    seen: list[np.ndarray] = [np.zeros(0)] * 2  # 0 and 1 would be taken for rates

    def interval(draws: np.ndarray) -> tuple[float, float]:
        seen.append(draws)
        return len(seen) - 1, len(seen) - 1

    monkeypatch.setattr(bootstrap, "interval", interval)
    return seen


def measures(result: Verification) -> list[Measure]:
    single = [result.eer, result.auc, result.d_prime, result.fmr100, result.fmr1000, result.best.share]
    return [*(point.tar for point in result.points), *single]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("decimals", [None, 1], ids=["distinct", "ties"])
def test_draws_are_those_of_rebuilt_lists(rule: str, decimals: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    scores = world(7, 3, generator=np.random.default_rng(2))
    if decimals is not None:
        scores = replace(scores, score=np.round(scores.score, decimals))
    seen = caught(monkeypatch)
    result = verify(scores, fars=(0.2, 0.05), rule=rule, resamples=12, seed=3)
    drawn = np.array([seen[int(measure.low)] for measure in measures(result)]).T
    by_hand = []
    for weights in identity_weights(7, resamples=12, seed=3):
        again = rebuilt(scores, weights)
        assert again is not None
        result = verify(again, fars=(0.2, 0.05), rule=rule, resamples=0)
        by_hand.append([measure.value for measure in measures(result)])
    assert drawn == pytest.approx(np.array(by_hand), abs=1e-6)
    assert len({tuple(row) for row in by_hand}) > 6  # the draws do differ


def test_a_draw_of_one_kind_only_has_no_statistic() -> None:
    labels = np.array([0, 0, 1])
    scores = all_pairs(labels, np.array([[1, 0.9, 0.1], [0.9, 1, 0.2], [0.1, 0.2, 1]]))
    drawn = draw(scores, resamples=200)
    assert (drawn.impostor[:, -1] == 0).any() and (drawn.genuine[:, -1] == 0).any()
    result = verify(scores, fars=(0.5,), resamples=200)
    assert result.points[0].tar.value == 1 and result.eer.value == 0
    for measure in (result.eer, result.auc, result.d_prime, result.points[0].tar):
        assert measure.low is None or np.isfinite([measure.low, measure.high]).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_fast_way_agrees_with_pair_by_pair(dtype: type) -> None:
    scores = world(60, 4, generator=np.random.default_rng(0))
    scores = replace(scores, score=scores.score.astype(dtype))
    assert scores.n_impostor > 28_000
    slow = draw(scores, resamples=100, exact=1 << 40, thresholds=1 << 40)
    fast = draw(scores, resamples=100, exact=2000, thresholds=900)
    assert len(fast.places) <= 900 and len(slow.places) == len(scores.steps.threshold)
    for slow_counts, fast_counts, tolerance in (
        (slow.impostor[:, fast.places], fast.impostor, 0.03),
        (slow.genuine[:, fast.places], fast.genuine, 1e-6),
    ):
        close = np.abs(slow_counts - fast_counts) <= tolerance * slow_counts + 1e-6
        assert close.mean() > 0.97
    tail = scores.steps.impostor[fast.places] <= 1500
    assert np.array_equal(slow.impostor[:, fast.places[tail]], fast.impostor[:, tail])


@pytest.mark.parametrize("thresholds", [600, 90])
def test_the_interval_of_the_fast_way_is_that_of_the_slow_one(thresholds: int, monkeypatch: pytest.MonkeyPatch) -> None:
    scores = world(50, 4, generator=np.random.default_rng(5))
    slow = verify(scores, fars=(0.1, 0.01), resamples=300)
    quick = {**draw.__kwdefaults__, "exact": 1500, "thresholds": thresholds}
    monkeypatch.setattr(draw, "__kwdefaults__", quick)
    fast = verify(scores, fars=(0.1, 0.01), resamples=300)
    pairs = [(one.tar, other.tar) for one, other in zip(slow.points, fast.points)]
    for one, other in [*pairs, (slow.eer, fast.eer), (slow.auc, fast.auc), (slow.d_prime, fast.d_prime)]:
        assert one.value == other.value
        width = one.high - one.low
        assert other.low == pytest.approx(one.low, abs=0.07 * width)
        assert other.high == pytest.approx(one.high, abs=0.07 * width)
    known = slow.curve.far > 0.002
    off = (
        np.abs(fast.curve.tar_low - slow.curve.tar_low)[known]
        + np.abs(fast.curve.tar_high - slow.curve.tar_high)[known]
    )
    assert off.mean() < 0.016 and off.max() < 0.05


def test_folds_are_drawn_by_identity(monkeypatch: pytest.MonkeyPatch) -> None:
    scores = world(9, 3, generator=np.random.default_rng(4))
    score = np.clip(scores.score / 5, -1, 1)
    scores = replace(scores, score=score, fold=(np.arange(len(score)) % 4).astype(np.int32))
    seen = caught(monkeypatch)
    folds = verify(scores, fars=(), resamples=10, seed=1).folds
    assert folds is not None
    first, second = scores.identity[scores.first], scores.identity[scores.second]
    by_hand = []
    for weights in identity_weights(9, resamples=10, seed=1):
        times = np.where(scores.genuine, weights[first], weights[first] * weights[second]).astype(int)
        again = [np.repeat(values, times) for values in (2 - 2 * score, scores.genuine, scores.fold)]
        by_hand.append(lfw_accuracy(*again).mean)
    assert seen[int(folds.share.low)] == pytest.approx(np.array(by_hand))


def test_pairs_that_are_only_counted_keep_the_interval() -> None:
    whole = world(50, 4, generator=np.random.default_rng(6))
    impostors = whole.impostor_scores
    floor = float(impostors[4000])
    edges = np.linspace(impostors[-1] - 1e-9, floor, 2049)
    kept = np.flatnonzero(whole.genuine | (whole.score >= floor))
    counts = np.histogram(impostors[impostors < floor], edges)[0]
    part = replace(choose(whole, kept), floor=floor, bulk=Bulk(edges, counts))
    # Above the floor the denominators alone come from elsewhere: the sizes of the identities.
    slow, fast = (draw(scores, resamples=200) for scores in (whole, part))
    assert fast.impostor[:, -1] == pytest.approx(slow.impostor[:, -1], rel=1e-5)
    assert fast.genuine[:, -1] == pytest.approx(slow.genuine[:, -1])
    one, other = (verify(scores, fars=(0.1, 0.01), resamples=200) for scores in (whole, part))
    for a, b in zip(one.points, other.points):
        assert b.tar.value == a.tar.value
        assert (b.tar.low, b.tar.high) == pytest.approx((a.tar.low, a.tar.high), abs=0.01)
    for a, b in ((one.eer, other.eer), (one.auc, other.auc), (one.d_prime, other.d_prime)):
        width = a.high - a.low
        assert (b.low, b.high) == pytest.approx((a.low, a.high), abs=0.15 * width)


def test_two_sets_against_each_other_have_their_own_denominator() -> None:
    generator = np.random.default_rng(0)
    labels = np.repeat(np.arange(20), 4)
    # Some people are mostly among the queries, others mostly in the gallery.
    asked = (np.arange(80) % 4 == 0) ^ (labels < 10)
    labels = np.concatenate([labels[asked], labels[~asked]])
    n = int(asked.sum())
    first, second = (grid.ravel() for grid in np.meshgrid(np.arange(n), np.arange(n, 80), indexing="ij"))
    genuine = labels[first] == labels[second]
    score = np.where(genuine, 2.0, 0.0) + generator.normal(size=len(first))
    score[(labels[first] == 3) & ~genuine] -= 9  # somebody who is in no pair above the floor, but in many below
    order = np.argsort(-score)
    whole = Scores(np.arange(80), labels.astype(np.int32), score[order], first[order].astype(np.int32),
                   second[order].astype(np.int32), genuine[order], queries=n)  # fmt: skip
    floor = float(whole.impostor_scores[300])
    edges = np.linspace(whole.impostor_scores[-1], floor, 100)
    below = whole.impostor_scores[whole.impostor_scores < floor]
    part = replace(choose(whole, np.flatnonzero(whole.genuine | (whole.score >= floor))), floor=floor,
                   bulk=Bulk(edges, np.histogram(below, edges)[0]))  # fmt: skip
    slow, fast = draw(whole, resamples=50), draw(part, resamples=50)
    assert fast.impostor[:, -1] == pytest.approx(slow.impostor[:, -1], rel=1e-5)


def test_somebody_unknown_whose_pairs_are_left_out_changes_nothing() -> None:
    whole = world(12, 3, generator=np.random.default_rng(1))
    floor = float(whole.impostor_scores[40])
    counted = Bulk(np.array([-99.0, floor]), np.array([int((whole.impostor_scores < floor).sum())]))
    part = replace(choose(whole, np.flatnonzero(whole.genuine | (whole.score >= floor))), floor=floor, bulk=counted)
    ids, identity = np.append(part.ids, 999), np.append(part.identity, np.int32(-1))
    further = draw(replace(part, ids=ids, identity=identity), resamples=5)
    assert further.how == "identities"
    np.testing.assert_array_equal(further.impostor, draw(part, resamples=5).impostor)


def test_identities_that_are_not_known_have_their_pairs_drawn() -> None:
    scores = world(10, 3, generator=np.random.default_rng(0))
    assert draw(scores, resamples=5).how == "identities"
    unknown = replace(scores, identity=np.where(scores.identity == 3, -1, scores.identity).astype(np.int32))
    drawn = draw(unknown, resamples=400)
    assert drawn.how == "pairs" and verify(unknown, resamples=5).resampled == "pairs"
    assert (drawn.impostor[:, -1] == scores.n_impostor).all() and (drawn.genuine[:, -1] == scores.n_genuine).all()
    assert drawn.impostor.mean(axis=0) == pytest.approx(scores.steps.impostor, rel=0.1, abs=0.5)
    # The share below the median of a kind has the spread of a binomial.
    at = np.searchsorted(scores.steps.impostor, scores.n_impostor / 2)
    assert drawn.impostor[:, at].std() == pytest.approx(np.sqrt(scores.n_impostor) / 2, rel=0.15)


def test_the_interval_holds_the_truth_as_often_as_it_says() -> None:
    """About 95 of 100 worlds; drawing pairs instead would be far too sure of itself."""
    # Impostors of `world` are normal with variance 1.5, genuine scores with mean 2.5 and variance 1.25.
    threshold = NormalDist(0, math.sqrt(1.5)).inv_cdf(0.9)
    truth = 1 - NormalDist(2.5, math.sqrt(1.25)).cdf(threshold)
    held = {"identities": 0, "pairs": 0}
    generator = np.random.default_rng(1)
    for _ in range(40):
        scores = world(25, 3, generator=generator)
        unknown = replace(scores, identity=np.full_like(scores.identity, -1))
        for each in (scores, unknown):
            result = verify(each, fars=(0.1,), resamples=60)
            tar = result.points[0].tar
            held[result.resampled] += tar.low <= truth <= tar.high
    assert 34 <= held["identities"] <= 40
    assert held["pairs"] < 32


# ---------------------------------------------------------------------------------------------------------------------


def test_weights_are_numbers_of_draws_and_depend_on_nothing_but_n_and_seed() -> None:
    weights = identity_weights(30, resamples=500, seed=2)
    assert weights.dtype == np.float32 and (weights.sum(axis=1) == 30).all()
    assert np.array_equal(weights, identity_weights(30, resamples=500, seed=2))
    assert not np.array_equal(weights, identity_weights(30, resamples=500, seed=3))
    assert np.array_equal(weights[:100], identity_weights(30, resamples=100, seed=2))
    assert weights.mean(axis=0) == pytest.approx(np.ones(30), abs=0.2)
    assert weights.var() == pytest.approx(29 / 30, rel=0.05)
    assert identity_weights(0, resamples=3).shape == (3, 0)


def test_an_interval_needs_half_of_the_draws() -> None:
    draws = np.arange(101.0)
    assert interval(draws) == pytest.approx((2.5, 97.5))
    draws[:50] = np.nan
    assert interval(draws) is not None
    draws[:60] = np.nan
    assert interval(draws) is None and interval(np.zeros(0)) is None


def test_thinning_keeps_the_low_rates_and_both_ends() -> None:
    generator = np.random.default_rng(0)
    steps = from_arrays(generator.normal(2, 1, 3000), generator.normal(0, 1, 30_000)).steps
    places = thin(steps, 1200)
    assert len(places) <= 1200 and (np.diff(places) > 0).all()
    assert (places[0], places[-1]) == (0, len(steps.threshold) - 1)
    assert set(range(1, 200)) <= set(steps.impostor[places])
    jumps = np.flatnonzero(np.diff(steps.impostor, prepend=0))[1:200]
    assert set(jumps) | set(jumps - 1) <= set(places)
    dense = steps.impostor[places]
    assert (np.diff(dense[dense > 200]) / dense[dense > 200][:-1]).max() < 0.03
    assert np.diff(steps.genuine[places]).max() < 3000 / 100
    assert np.array_equal(thin(steps, 1 << 20), np.arange(len(steps.threshold)))


def test_drawing_can_be_stopped() -> None:
    def stop(done: int, total: int, note: str = "") -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        verify(world(6, 3, generator=np.random.default_rng(0)), tick=stop)


def test_a_perfect_rate_reaches_as_far_as_what_it_counts() -> None:
    scores = all_pairs(np.repeat(np.arange(30), 2), np.kron(np.eye(30), np.ones((2, 2))))
    result = verify(scores, fars=(0.1,), resamples=50)
    assert scores.n_genuine == 30 and result.points[0].tar.value == 1
    assert (result.points[0].tar.low, result.points[0].tar.high) == (pytest.approx(0.9), 1)
    assert (result.fmr100.value, result.fmr100.low, result.fmr100.high) == (0, 0, pytest.approx(0.1))
    assert (result.curve.tar_low >= 0.9 - 1e-12).all() and (result.curve.tar_low < 1).any()
    assert (result.eer.value, result.eer.low, result.eer.high) == (0, 0, pytest.approx(0.1))
    assert (result.auc.low, result.auc.high) == (pytest.approx(0.9), 1) and result.best.share.low < 1


def test_fewer_errors_have_no_lower_limit() -> None:
    """None among 240 pairs is not less certain than one, and one not less than two."""
    lows = []
    for errors in (0, 1, 2):
        score = np.kron(np.eye(80), np.ones((3, 3)))
        for person in range(errors):
            score[3 * person, 3 * person + 1] = score[3 * person + 1, 3 * person] = -1
        lows.append(verify(all_pairs(np.repeat(np.arange(80), 3), score), fars=(0.1,), resamples=400).points[0].tar.low)
    assert lows[0] >= lows[1] - 0.002 and lows[1] >= lows[2] and lows[0] < 1
