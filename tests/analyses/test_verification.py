"""Verification against loops over the equations, on clean and on dirty scores."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from facelens.analyses import bootstrap, verification
from facelens.analyses.plan import RULES
from facelens.analyses.scores import Bulk, Scores, choose, from_arrays
from facelens.analyses.verification import (
    Verification,
    at_threshold,
    compare,
    histogram,
    lfw_accuracy,
    support,
    verify,
)

TARGETS = (0.5, 0.1, 0.03, 0.01, 0.001)
DTYPES = (np.float32, np.float64)


def world(
    sizes: list[int], *, seed: int = 0, noise: float = 1.0, decimals: int | None = None, dtype: type = np.float64
) -> Scores:
    """All pairs of a small world of identities, some harder than others."""
    generator = np.random.default_rng(seed)
    labels = np.repeat(np.arange(len(sizes)), sizes)
    means = generator.normal(size=(len(sizes), 8))
    hard = generator.uniform(0.3, 1.2, len(sizes))
    x = means[labels] + noise * hard[labels, None] * generator.normal(size=(len(labels), 8))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    i, j = np.triu_indices(len(labels), 1)
    score = (x @ x.T)[i, j].astype(dtype)
    if decimals is not None:
        score = np.round(score, decimals)
    order = np.argsort(-score, kind="stable")
    return Scores(
        ids=np.arange(len(labels)) + 100,
        identity=labels.astype(np.int32) * 3,
        score=score[order],
        first=i[order].astype(np.int32),
        second=j[order].astype(np.int32),
        genuine=(labels[i] == labels[j])[order],
    )


def counted(scores: Scores, keep: int, *, bins: int = 4096) -> Scores:
    """The same with only the `keep` highest impostors one by one."""
    impostors = scores.impostor_scores
    floor = float(impostors[keep - 1])
    low = float(impostors[-1])
    edges = np.linspace(low - 1e-9, floor, bins + 1)
    below = impostors[impostors < floor]
    counts = np.histogram(below, edges)[0]
    assert counts.sum() == len(below)
    kept = np.flatnonzero(scores.genuine | (scores.score >= floor))
    return replace(choose(scores, kept), floor=floor, bulk=Bulk(edges, counts))


def naive_point(genuine: list[float], impostor: list[float], target: float, rule: str) -> tuple[float, int]:
    """TAR and accepted impostors at a target FAR, straight from the definition."""
    n = len(impostor)
    observed = sorted(set(genuine) | set(impostor))

    def far(t: float) -> float:
        return sum(s >= t for s in impostor) / n

    def result(accepted) -> tuple[float, int]:
        return sum(map(accepted, genuine)) / len(genuine), sum(map(accepted, impostor))

    if rule == "roc":
        k = math.floor(target * n + 1e-9)
        t = min((t for t in observed if sum(s >= t for s in impostor) <= k), default=math.inf)
    elif rule == "nist":
        k = math.floor(target * n + 1e-9)
        t = min((t for t in set(impostor) if sum(s >= t for s in impostor) <= k), default=None)
        if t is None:
            return result(lambda s: s > max(impostor))
    elif rule == "nearest":
        points = [(far(t), sum(s >= t for s in genuine) / len(genuine), t) for t in observed] + [(0.0, 0.0, math.inf)]
        points.sort(key=lambda point: (abs(point[0] - target), -point[0], -point[1]))
        t = points[0][2]
    elif rule == "conservative":
        k = math.floor(target * n + 1e-9)
        if k >= n:
            t = -math.inf
        else:
            limit = sorted(impostor, reverse=True)[k]
            return result(lambda s: s > limit)
    else:
        k = round(target * n)
        t = sorted(impostor, reverse=True)[k - 1] if k else max(impostor) + 1e-8
    return result(lambda s: s >= t)


def naive_eer(genuine: list[float], impostor: list[float]) -> float:
    n, m = len(impostor), len(genuine)
    best, value = None, 0.0
    for t in sorted(set(genuine) | set(impostor)):
        fa, fr = sum(s >= t for s in impostor), sum(s < t for s in genuine)
        cost = abs(fa * m - fr * n)
        # From below: as good is better, but not where all genuine are refused or no impostor is accepted.
        if best is None or cost < best or (cost == best and fa > 0 and fr < m):
            best, value = cost, (fa / n + fr / m) / 2
    return value


def naive_auc(genuine: list[float], impostor: list[float]) -> float:
    won = sum(1.0 if g > i else 0.5 if g == i else 0.0 for g in genuine for i in impostor)
    return won / len(genuine) / len(impostor)


def lists(scores: Scores) -> tuple[list[float], list[float]]:
    return [float(s) for s in scores.genuine_scores], [float(s) for s in scores.impostor_scores]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("decimals", [None, 1], ids=["distinct", "ties"])
@pytest.mark.parametrize("rule", RULES)
def test_operating_points_are_those_of_the_definition(rule: str, decimals: int | None, dtype: type) -> None:
    for seed in range(3):
        scores = world([1, 2, 3, 4, 5], seed=seed, decimals=decimals, dtype=dtype)
        genuine, impostor = lists(scores)
        targets = (*TARGETS, 1.0, 7 / len(impostor), 7.5 / len(impostor), 6.5 / len(impostor))
        for point in verify(scores, fars=targets, rule=rule, resamples=0).points:
            tar, accepted = naive_point(genuine, impostor, point.target, rule)
            assert point.tar.value == pytest.approx(tar, abs=1e-12), point
            assert point.false_matches == accepted, point
            assert point.far == pytest.approx(accepted / len(impostor))
            assert point.false_non_matches == round((1 - tar) * len(genuine))
            if point.threshold is None:
                assert accepted == 0 and tar == 0
            else:
                assert sum(s >= point.threshold for s in impostor) == accepted
                assert sum(s >= point.threshold for s in genuine) == len(genuine) - point.false_non_matches


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("decimals", [None, 1], ids=["distinct", "ties"])
def test_single_numbers_are_those_of_the_definition(decimals: int | None, dtype: type) -> None:
    for seed in range(4):
        scores = world([2, 2, 3, 4, 1], seed=seed, decimals=decimals, dtype=dtype)
        genuine, impostor = lists(scores)
        result = verify(scores, resamples=0)
        assert result.eer.value == pytest.approx(naive_eer(genuine, impostor), abs=1e-12)
        assert result.auc.value == pytest.approx(naive_auc(genuine, impostor), abs=1e-12)
        g, i = np.array(genuine), np.array(impostor)
        assert result.d_prime.value == pytest.approx((g.mean() - i.mean()) / math.sqrt((g.var() + i.var()) / 2))
        right = [np.sum(g >= t) + np.sum(i < t) for t in [*genuine, *impostor, np.inf]]
        assert result.best.share.value == pytest.approx(max(right) / len(right[:-1]))
        if result.best.threshold is not None:
            assert np.sum(g >= result.best.threshold) + np.sum(i < result.best.threshold) == max(right)
        assert result.fmr100.value == pytest.approx(1 - naive_point(genuine, impostor, 0.01, "roc")[0])
        assert result.fmr1000.value == pytest.approx(1 - naive_point(genuine, impostor, 0.001, "roc")[0])
        t = result.eer_threshold
        assert t is not None
        assert result.eer.value == pytest.approx((np.mean(i >= t) + np.mean(g < t)) / 2)


def test_the_example_of_the_three_conventions() -> None:
    impostor, genuine = np.arange(1000.0), np.array([985.5, 989.5, 990.5, 995.5, 1500.0])
    taken = {rule: verify(from_arrays(genuine, impostor), fars=(0.01,), rule=rule, resamples=0) for rule in RULES}
    tars = {rule: result.points[0].tar.value for rule, result in taken.items()}
    # Ten impostors may pass: 990 .. 999. The genuine 989.5 is above the eleventh.
    assert tars == {"roc": 0.8, "nist": 0.6, "nearest": 0.8, "conservative": 0.8, "pfe": 0.6}


def test_pfe_accepts_nobody_as_high_as_the_highest_impostor() -> None:
    scores = from_arrays(np.array([0.5 + 5e-9, 0.5 + 2e-8]), np.array([0.5, 0.4]))
    assert verify(scores, fars=(0.1,), rule="pfe", resamples=0).points[0].tar.value == 0.5
    assert verify(scores, fars=(0.1,), rule="nist", resamples=0).points[0].tar.value == 1.0


def same_numbers(one: Verification, other: Verification) -> None:
    for a, b in zip(one.points, other.points):
        assert (a.tar, a.far, a.false_matches, a.status) == (b.tar, b.far, b.false_matches, b.status)
    assert (one.eer, one.auc, one.best.share, one.fmr100) == (other.eer, other.auc, other.best.share, other.fmr100)


def test_a_monotone_change_of_scores_leaves_all_rates() -> None:
    scores = world([3, 3, 4, 2], decimals=2)
    changed = replace(scores, score=np.exp(3 * scores.score))
    same_numbers(verify(scores, resamples=50), verify(changed, resamples=50))


def test_the_order_of_tied_pairs_and_of_the_sides_does_not_matter() -> None:
    scores = world([3, 3, 4, 2], decimals=1)
    shuffled = np.random.default_rng(0).permutation(len(scores.score))
    order = shuffled[np.argsort(-scores.score[shuffled], kind="stable")]
    other = choose(scores, order)
    other = replace(other, first=other.second, second=other.first)
    same_numbers(verify(scores, resamples=50), verify(other, resamples=50))


def test_equal_seeds_give_equal_results() -> None:
    scores = world([3] * 8)
    first, again, other = (verify(scores, resamples=100, seed=seed).eer for seed in (4, 4, 5))
    assert first == again and first != other


# ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("genuine", "impostor", "why"),
    [
        ([], [], "no pair was compared"),
        ([0.5], [], "there is no impostor pair"),
        ([0.5, 0.7], [], "there is no impostor pair"),
        ([], [0.1, 0.2], "no genuine pair: nobody has two pictures that can be compared"),
    ],
)
def test_what_cannot_be_said_says_why(genuine: list[float], impostor: list[float], why: str) -> None:
    scores = from_arrays(np.array(genuine), np.array(impostor))
    result = verify(scores)
    measures = [result.eer, result.auc, result.d_prime, result.fmr100, result.fmr1000, result.best.share]
    measures += [point.tar for point in result.points]
    for measure in measures:
        assert measure.value is None and measure.why == why and not measure.defined
    assert {point.status for point in result.points} == {"undefined"}
    assert result.resampled == "" and len(result.curve.far) == 0
    assert result.histogram.genuine.sum() == len(genuine) and result.histogram.impostor.sum() == len(impostor)
    assert compare(scores, scores).eer.why == why


def test_one_identity_is_named_as_the_reason() -> None:
    assert verify(world([4])).eer.text() == "n/a: one identity, so there is no impostor pair"


def test_one_pair_of_each_kind() -> None:
    result = verify(from_arrays(np.array([0.9]), np.array([0.2])))
    assert result.eer.value == 0 and result.auc.value == 1
    assert result.d_prime.value is None and "no spread" in result.d_prime.why
    assert all(point.status == "unattainable" and point.tar.value == 1 for point in result.points)


@pytest.mark.parametrize("dtype", DTYPES)
def test_constant_scores(dtype: type) -> None:
    scores = from_arrays(np.full(10, 0.1), np.full(200, 0.1))
    result = verify(replace(scores, score=scores.score.astype(dtype)))
    assert (result.eer.value, result.auc.value) == (0.5, 0.5)
    assert result.d_prime.value is None and result.d_prime.why
    point = result.points[0]
    assert (point.tar.value, point.threshold, point.false_matches) == (0.0, None, 0)
    assert result.best.share.value == pytest.approx(200 / 210) and result.best.threshold is None


def test_infinite_scores_are_ranked_but_have_no_spread() -> None:
    scores = from_arrays(np.array([np.inf, 0.5, -np.inf]), np.array([0.3, 0.1, -np.inf, -np.inf] * 20))
    result = verify(scores, fars=(0.3, 0.1))
    assert result.points[0].tar.value == pytest.approx(2 / 3)
    assert result.d_prime.why == "some scores are infinite"
    assert result.histogram.genuine.sum() == 3 and result.histogram.impostor.sum() == 80
    for measure in (result.eer, result.auc, result.best.share):
        assert measure.value is not None and np.isfinite([measure.value, measure.low, measure.high]).all()


def test_nan_is_refused() -> None:
    with pytest.raises(ValueError, match="NaN"):
        from_arrays(np.array([np.nan]), np.array([0.1]))


def test_an_unknown_rule_is_refused() -> None:
    with pytest.raises(ValueError, match="no such rule"):
        verify(world([2, 2]), rule="best")


def test_distances_are_suspected() -> None:
    scores = from_arrays(np.linspace(0, 1, 50), np.linspace(0.5, 1.5, 100))
    assert "distances" in verify(scores, resamples=0).notes[0]
    assert verify(world([2, 2, 2]), resamples=0).notes == ()


def test_too_few_impostors_are_no_support() -> None:
    scores = from_arrays(np.linspace(0.5, 1, 50), np.linspace(0, 0.6, 1000))
    wide, three, two, one, less = verify(scores, fars=(1e-2, 3e-3, 2e-3, 1e-3, 9e-4), resamples=0).points
    assert [point.status for point in (wide, three, two, one, less)] == [
        "ok",
        "ok",
        *["no support"] * 2,
        "unattainable",
    ]
    assert two.tar.text() == "no support: 1,000 impostor pairs resolve FAR ≥ 3e-3 (rule of 3)"
    assert less.tar.text() == "unattainable: 1,000 impostor pairs cannot show a FAR below 1e-3"
    assert less.tar.value is not None and less.false_matches == 0 and not less.tar.defined
    result = verify(scores, resamples=0)
    assert result.fmr1000.why and result.fmr100.defined and result.smallest_far == pytest.approx(3e-3)
    assert support(2.4e-6, 1_241_470)[0] == "no support" and support(1e-6, 0)[0] == "unattainable"


# ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_threshold_accepts_what_is_at_or_above_it(dtype: type) -> None:
    scores = world([3, 3, 2], decimals=2, dtype=dtype)
    genuine, impostor = (np.array(values) for values in lists(scores))
    for t in [*genuine[:3], *impostor[:5], 0.123, 2.0, -2.0, np.nextafter(impostor[0], 2)]:
        point = at_threshold(scores, float(t))
        assert point.false_matches == np.sum(impostor >= t)
        assert point.false_non_matches == np.sum(genuine < t)
        assert point.tar.value == pytest.approx(np.mean(genuine >= t)) and point.threshold == t


def test_a_long_curve_keeps_every_low_rate_and_is_exact_everywhere() -> None:
    generator = np.random.default_rng(0)
    scores = from_arrays(generator.normal(2, 1, 5000), generator.normal(0, 1, 40_000))
    curve = verify(scores, resamples=100).curve
    assert len(curve.far) <= verification.CURVE
    assert (np.diff(curve.threshold) < 0).all() and (np.diff(curve.far) >= 0).all()
    genuine, impostor = scores.genuine_scores, scores.impostor_scores
    for i in range(0, len(curve.far), 37):
        assert curve.far[i] == np.mean(impostor >= curve.threshold[i])
        assert curve.tar[i] == np.mean(genuine >= curve.threshold[i])
    assert set(np.arange(1, 500)) <= set(np.round(curve.far * 40_000).astype(int))
    assert curve.far[-1] == 1 and curve.tar[-1] == 1
    assert (curve.tar_low <= curve.tar_high).all()
    inside = (curve.tar_low - 0.02 <= curve.tar) & (curve.tar <= curve.tar_high + 0.02)
    assert inside.mean() > 0.99


@pytest.mark.parametrize("dtype", DTYPES)
def test_bins_hold_what_a_click_on_them_lists(dtype: type) -> None:
    scores = world([3, 4, 3, 2], dtype=dtype, decimals=2)
    bars = histogram(scores)
    assert bars.genuine.sum() == scores.n_genuine and bars.impostor.sum() == scores.n_impostor
    assert np.allclose(np.diff(bars.edges), 0.01)
    for i in range(len(bars.genuine) - 1):
        low, high = bars.edges[i], bars.edges[i + 1]
        assert len(scores.between(low, high, genuine=True)) == bars.genuine[i]
        assert len(scores.between(low, high, genuine=False)) == bars.impostor[i]


def test_scores_beyond_cosines_have_bins_too() -> None:
    for values in ([-250.0, 12.0], [7.0, 7.0]):
        bars = histogram(from_arrays(np.array(values), np.array(values[:1])))
        assert bars.genuine.sum() == 2 and bars.impostor.sum() == 1 and (np.diff(bars.edges) > 0).all()


# ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", RULES)
def test_impostors_that_are_only_counted_change_nothing_above_the_floor(rule: str) -> None:
    whole = world([4] * 12, noise=1.5)
    part = counted(whole, 200)
    assert part.n_impostor == whole.n_impostor
    one, other = (verify(scores, fars=(0.5, 0.1, 0.01), rule=rule, resamples=0) for scores in (whole, part))
    assert one.points[1].threshold is not None and one.points[1].threshold > part.floor
    assert one.points[1:] == other.points[1:]
    below, exact = other.points[0], one.points[0]
    assert below.tar.value == pytest.approx(exact.tar.value, abs=0.03)
    assert below.threshold is not None
    # The counts belong to the threshold, though it is that of a bin.
    assert below.false_matches == sum(s >= below.threshold for s in lists(whole)[1])
    assert other.eer.value == pytest.approx(one.eer.value, abs=1e-3)
    assert other.auc.value == pytest.approx(one.auc.value, abs=1e-3)
    assert other.d_prime.value == pytest.approx(one.d_prime.value, rel=1e-3)
    assert other.best.share == one.best.share
    assert other.histogram.impostor.sum() == whole.n_impostor
    for t in np.linspace(-1, 1, 41):
        point, true = at_threshold(part, t), at_threshold(whole, t)
        assert point.false_non_matches == pytest.approx(true.false_non_matches, abs=1)
        assert point.false_matches == pytest.approx(true.false_matches, abs=2)


def test_every_step_of_counted_scores_counts_right() -> None:
    whole = world([3] * 10, noise=1.5, decimals=3)
    part = counted(whole, 60, bins=64)
    genuine, impostor = whole.genuine_scores, whole.impostor_scores
    steps = part.steps
    assert (np.diff(steps.threshold) < 0).all()
    assert np.array_equal(steps.impostor, [np.sum(impostor >= t) for t in steps.threshold])
    assert np.array_equal(steps.genuine, [np.sum(genuine >= t) for t in steps.threshold])
    assert (steps.impostor[-1], steps.genuine[-1]) == (len(impostor), len(genuine))
    bars = histogram(part)
    assert np.array_equal(bars.impostor[1:-1], [
        np.sum((impostor >= low) & (impostor < high)) for low, high in zip(bars.edges[1:-2], bars.edges[2:-1])
    ])  # fmt: skip


def test_a_genuine_pair_below_all_counted_ones_has_its_bin() -> None:
    kept = from_arrays(np.array([0.9, -0.655]), np.array([0.8, 0.6]))
    bulk = Bulk(np.array([-0.1, 0.1, 0.5]), np.array([5, 5]))
    bars = histogram(replace(kept, floor=0.5, bulk=bulk))
    assert bars.edges[0] == pytest.approx(-0.66) and bars.genuine[0] == 1 and bars.impostor[0] == 0
    assert bars.impostor.sum() == 12 and bars.genuine.sum() == 2


# ---------------------------------------------------------------------------------------------------------------------


def test_fold_accuracy_is_the_loop_of_lfw() -> None:
    generator = np.random.default_rng(0)
    distances = np.concatenate([generator.uniform(0, 2.2, 60), generator.uniform(1.2, 4.2, 57)])
    distances[::7] = np.round(distances[::7], 2)  # some on the grid
    same = np.arange(117) < 60
    folds = generator.integers(0, 5, 117)
    shares = []
    for fold in range(5):
        train, test = folds != fold, folds == fold
        right = [np.mean((distances[train] < t) == same[train]) for t in np.arange(0, 4, 0.01)]
        t = np.arange(0, 4, 0.01)[int(np.argmax(right))]
        shares.append(np.mean((distances[test] < t) == same[test]))
    result = lfw_accuracy(distances, same, folds)
    assert result.accuracy == pytest.approx(shares)
    assert result.mean == pytest.approx(np.mean(shares)) and result.deviation == pytest.approx(np.std(shares))


def test_a_distance_on_the_grid_is_not_below_it() -> None:
    grid = np.arange(0, 4, 0.01)
    distances, same = np.tile(grid[[50, 51]], 4), np.tile([True, False], 4)
    result = lfw_accuracy(distances, same, np.repeat([0, 1], 4))
    assert result.mean == 1 and result.distance.tolist() == [grid[51]] * 2


def test_a_list_with_folds_has_their_accuracy() -> None:
    generator = np.random.default_rng(0)
    genuine, impostor = generator.normal(0.7, 0.2, 100).clip(-1, 1), generator.normal(0.1, 0.2, 100).clip(-1, 1)
    folds = np.arange(100, dtype=np.int32) % 10
    scores = from_arrays(genuine, impostor, fold_genuine=folds, fold_impostor=folds)
    result = verify(scores, resamples=200)
    expected = lfw_accuracy(2 - 2 * scores.score, scores.genuine, scores.fold)
    assert result.folds is not None and result.folds.how == "folds"
    assert result.folds.share.value == expected.mean and result.folds.deviation == expected.deviation
    assert result.folds.threshold == pytest.approx(1 - expected.distance.mean() / 2)
    assert result.folds.share.low < expected.mean < result.folds.share.high
    assert result.resampled == "pairs"
    assert verify(replace(scores, fold=np.zeros(200, np.int32)), resamples=0).folds is None


# ---------------------------------------------------------------------------------------------------------------------


def test_a_difference_is_taken_on_shared_pairs_only() -> None:
    a, b = world([3] * 8, seed=1, noise=1.2), world([3] * 8, seed=1, noise=0.7)
    without = choose(b, np.flatnonzero((b.first != 2) & (b.second != 2)))
    shared = choose(a, np.flatnonzero((a.first != 2) & (a.second != 2)))
    paired = compare(a, without, fars=(0.1, 0.05), resamples=200)
    assert (paired.n_genuine, paired.n_impostor) == (shared.n_genuine, shared.n_impostor)
    dropped = len(a.score) - len(shared.score)
    assert paired.notes == (f"{dropped} pairs that only one model could compare are left out of the difference",)
    old, new = (verify(scores, fars=(0.1, 0.05), resamples=0) for scores in (shared, without))
    for difference, one, other in zip(paired.points, old.points, new.points):
        assert difference.tar.value == pytest.approx(other.tar.value - one.tar.value)
        assert difference.tar.low <= difference.tar.value <= difference.tar.high
    assert paired.eer.value == pytest.approx(new.eer.value - old.eer.value)
    assert paired.auc.value == pytest.approx(new.auc.value - old.auc.value)


def test_pairs_are_told_apart_whatever_their_ids() -> None:
    """Ids have up to 63 bits, so that products of two of them are those of others too."""
    a = replace(world([2] * 6), ids=np.array([0, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, (1 << 62) - 1]))
    without = choose(a, np.flatnonzero((a.first != 1) & (a.second != 1)))
    paired = compare(a, without, fars=(0.1,), resamples=10)
    assert (paired.n_genuine, paired.n_impostor) == (without.n_genuine, without.n_impostor) == (5, 50)
    assert paired.notes == ("11 pairs that only one model could compare are left out of the difference",)


def test_a_million_faces_have_more_pairs_than_products_of_counts_fit_in() -> None:
    n, m = 500_000_000_000, 19_000_000
    fa, ta = np.array([n // 10, n // 2, n]), np.array([9 * m // 10, m, m])
    assert verification._auc(fa, ta) == pytest.approx(verification._auc(fa / n, ta / m)) == pytest.approx(0.925)
    assert verification._eer_value(fa, ta) == pytest.approx(0.1)


def test_a_model_against_itself_differs_by_nothing() -> None:
    for scores in (world([3] * 8), from_arrays(np.linspace(0, 1, 40), np.linspace(-0.5, 0.5, 60))):
        paired = compare(scores, scores, fars=(0.1,), resamples=100)
        assert (paired.points[0].tar.value, paired.points[0].tar.low, paired.points[0].tar.high) == (0, 0, 0)
        assert (paired.eer.low, paired.eer.high) == (0, 0) and paired.notes == ()


def test_paired_pairs_are_the_same_pairs() -> None:
    generator = np.random.default_rng(0)
    genuine, impostor = generator.normal(1, 1, 200), generator.normal(-1, 1, 300)
    a = from_arrays(genuine, impostor)
    b = from_arrays(genuine + generator.normal(0, 0.05, 200), impostor + generator.normal(0, 0.05, 300))
    paired, alone = compare(a, b, resamples=300), verify(a, resamples=300)
    # Two nearly equal models: the difference is known far better than each number.
    assert paired.auc.high - paired.auc.low < 0.3 * (alone.auc.high - alone.auc.low)
    # The same scores, but each model errs on other pairs: the difference is known no better.
    other = from_arrays(genuine[::-1], impostor[::-1])
    unlike = compare(a, other, resamples=300)
    assert unlike.auc.value == 0 and unlike.auc.high - unlike.auc.low > alone.auc.high - alone.auc.low


def test_a_difference_without_support_says_so() -> None:
    scores = world([3] * 8)
    point = compare(scores, scores, fars=(1e-6,), resamples=10).points[0]
    assert point.tar.value == 0 and not point.tar.defined and "unattainable" in point.tar.why


def test_a_threshold_has_intervals_where_there_are_draws() -> None:
    generator = np.random.default_rng(0)
    identity = np.repeat(np.arange(30, dtype=np.int32), 4)
    first, second = np.triu_indices(120, 1)
    genuine = identity[first] == identity[second]
    score = np.where(genuine, 1.5, 0.0) + generator.normal(size=len(first))
    order = np.argsort(-score)
    scores = Scores(np.arange(120), identity, score[order], first[order].astype(np.int32),
                    second[order].astype(np.int32), genuine[order])  # fmt: skip
    every = bootstrap.draw(scores, resamples=300, thresholds=10**6)
    some = bootstrap.draw(scores, resamples=300, thresholds=60)
    for t in (3.0, 1.7, 0.4, -9.0):
        plain, exact, near = (at_threshold(scores, t, draws=draws) for draws in (None, every, some))
        assert plain.tar.low is None and plain.far_interval is None
        assert exact.tar.value == plain.tar.value == near.tar.value and exact.far == plain.far == near.far
        assert exact.tar.low <= exact.tar.value <= exact.tar.high
        assert exact.far_interval[0] <= exact.far <= exact.far_interval[1]
        # counted at fewer thresholds, an interval is as wide and stands at the same place
        assert (near.tar.low, near.tar.high) == pytest.approx((exact.tar.low, exact.tar.high), abs=0.03)
        assert near.far_interval == pytest.approx(exact.far_interval, abs=0.3 * exact.far)
    none = at_threshold(scores, 99.0, draws=every)
    assert none.far_interval == (0.0, 3 / scores.n_impostor)
    assert (none.tar.low, none.tar.high) == (0.0, 3 / scores.n_genuine)


def test_one_person_shows_no_spread() -> None:
    generator = np.random.default_rng(0)
    identity = np.array([0, 0, 0, *range(1, 20)], np.int32)
    first, second = (one.astype(np.int32) for one in np.triu_indices(22, 1))
    genuine = identity[first] == identity[second]
    score = np.sort(generator.normal(size=len(first)))[::-1]
    scores = Scores(np.arange(22), identity, score, first, second, genuine)
    scores = replace(scores, fold=(np.arange(len(first)) % 2).astype(np.int32))
    found = verify(scores, fars=(0.1,), resamples=50)
    assert found.resamples == 0 and any("one person" in note for note in found.notes)
    assert found.points[0].tar.value is not None and found.points[0].tar.low is None
    assert found.eer.low is None and found.folds.share.low is None
    assert len(found.curve.tar_low) == len(found.curve.tar) and np.isnan(found.curve.tar_low).all()
    assert compare(scores, scores, fars=(0.1,), resamples=50).eer.low is None
    two = replace(scores, identity=np.append(identity[:-1], identity[-2]))
    two = replace(two, genuine=two.identity[first] == two.identity[second])
    assert verify(two, fars=(0.1,), resamples=50).points[0].tar.low is not None


def test_the_spread_of_a_report_gives_the_intervals_of_its_draws() -> None:
    scores = world([4] * 20, seed=3)
    spread = verify(scores, fars=(), resamples=60).spread
    draws = bootstrap.draw(scores, resamples=60)
    for t in (*np.quantile(scores.score, [0.01, 0.4, 0.8, 0.99]), 99.0, -99.0):
        a, b = at_threshold(scores, float(t), spread=spread), at_threshold(scores, float(t), draws=draws)
        assert (a.tar, a.far_interval) == (b.tar, b.far_interval) and a.far_interval is not None
    assert verify(scores, resamples=0).spread is None
