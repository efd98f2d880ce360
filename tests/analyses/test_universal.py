"""What parts are good for: every piece of a study against a loop over its equation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from facelens.analyses import bootstrap, effects, jury, part_pairs, part_search, universal
from facelens.analyses.correlation import Order, lead
from facelens.analyses.divided import across_slices
from facelens.analyses.parts import Parts, cut, parts_of, products, votes_between
from facelens.analyses.plan import MATCHES, PartsPlan
from facelens.analyses.universal import Study, fused, study
from facelens.errors import Cancelled, InputError
from facelens.features.featureset import FeatureSet, Provenance
from facelens.images.faceset import Column, FaceSet, Labels

K, WIDTH, PEOPLE, EACH = 4, 3, 15, 4
N, D = PEOPLE * EACH, K * WIDTH


def gallery(
    who: list[str | None] | None = None,
    *,
    learned: bool = True,
    noise: float = 0.9,
    columns: dict[str, Column] | None = None,
) -> tuple[FaceSet, FeatureSet]:
    rng = np.random.default_rng(0)
    who = [f"p{i % PEOPLE:02}" for i in range(N)] if who is None else who
    faces = FaceSet.build(
        "g", Path("."), paths=[f"{i:03}.jpg" for i in range(len(who))], identities=who, columns=columns
    )
    centre = {name: rng.normal(size=D) for name in dict.fromkeys(who)}
    vectors = np.array([centre[name] + noise * rng.normal(size=D) for name in who], np.float32).reshape(-1, D)
    sure = np.exp(rng.normal(2, 1, (len(who), K))).astype(np.float32)
    return faces, FeatureSet(faces.ids, vectors, Provenance("x", "m"), confidence=sure if learned else None)


def studied(
    faces: FaceSet, features: FeatureSet, *, tick: Callable[..., None] | None = None, **plan: object
) -> tuple[Study, Parts]:
    asked = PartsPlan(**{"parts": K, "far": 0.05, **plan})  # type: ignore[arg-type]
    parts = cut(faces, asked, features=features)
    given = {} if tick is None else {"tick": tick}
    return study(faces, parts, asked, features=features, columns=list(faces.columns), resamples=50, **given), parts


def rank_by_loop(parts: Parts, features: FeatureSet, row: int, *, match: str, kept: np.ndarray) -> int:
    product = products(features, parts, int(parts.ids[row]))
    everyone = np.arange(len(parts.ids))
    score = votes_between(parts, np.array([row]), everyone, product, match=match, kept=kept).sum(1)
    order = [j for j in np.argsort(-score, kind="stable") if j != row and parts.identity[j] >= 0]
    return 1 + next(place for place, j in enumerate(order) if parts.identity[j] == parts.identity[row])


# Searches


@pytest.mark.parametrize(("match", "learned"), [("cosine", False), *((match, True) for match in MATCHES)])
def test_ranks_against_lists_that_are_sorted(match: str, learned: bool) -> None:
    who: list[str | None] = [f"p{i % PEOPLE:02}" for i in range(N)]
    who[3] = who[20] = None
    faces, features = gallery(who, learned=learned)
    parts = cut(faces, PartsPlan(parts=K), features=features)
    surety = {"match": match, "log_variance": parts.log_variance}
    made = part_search.gallery(features, parts.ids, parts.identity, parts.layout, **surety)  # type: ignore[arg-type]
    kept = np.random.default_rng(1).random((12, K)) < 0.6
    kept[~kept.any(1), 0] = True
    found = part_search.ranks(made, made.asking, kept)
    assert len(made) == N - 2 and len(made.asking) == N - 2
    for i, row in enumerate(parts.rows_of(made.ids[made.asking])):
        loop = [rank_by_loop(parts, features, int(row), match=match, kept=one) for one in kept]
        assert found[i].tolist() == loop


def test_of_faces_with_one_vector_the_first_is_found_first() -> None:
    rng = np.random.default_rng(0)
    for n, right in ((37, 5), (37, 30), (131, 64)):  # a twin of the right face before it and after it
        who = [f"p{i}" for i in range(n)]
        who[-1] = who[right]
        vectors = rng.normal(size=(n, 8)).astype(np.float32)
        vectors[-1] = vectors[right] + 0.01
        before, after = right - 3, right + 3
        for twin, expected in ((before, 2), (after, 1)):
            one = vectors.copy()
            one[twin] = one[right]
            faces = FaceSet.build("g", Path("."), paths=[f"{i:03}" for i in range(n)], identities=who)
            features = FeatureSet(faces.ids, one, Provenance("x", "m"))
            parts = cut(faces, PartsPlan(parts=2), features=features)
            made = part_search.gallery(features, parts.ids, parts.identity, parts.layout)
            last = np.array([n - 1])
            kept = np.array([[True, True], [True, False], [False, True]])
            assert part_search.ranks(made, last, kept).tolist() == [[expected] * 3]
            assert part_search.nearest(made, last, 1)[0] == (twin if expected == 2 else right)


def test_more_faces_than_a_tile_and_more_queries_than_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    n = 5000
    who = [f"p{i % 1700}" for i in range(n)]
    faces = FaceSet.build("g", Path("."), paths=[f"{i:05}" for i in range(n)], identities=who)
    vectors = rng.normal(size=(1700, 8))[np.arange(n) % 1700] + rng.normal(size=(n, 8))
    features = FeatureSet(faces.ids, vectors.astype(np.float32), Provenance("x", "m"))
    parts = cut(faces, PartsPlan(parts=4), features=features)
    made = part_search.gallery(features, parts.ids, parts.identity, parts.layout)
    kept = np.array([[True, False, True, True], [False, True, False, False]])
    monkeypatch.setattr(part_search, "WORK", 2 * n * 7)
    monkeypatch.setattr(part_search, "FEWEST", 1)
    monkeypatch.setattr(part_search, "MEMORY", 3 * 4 * 4 * n)
    queries = part_search.drawn(made, 2, seed=1)
    assert len(queries) == 7 and np.array_equal(queries, part_search.drawn(made, 2, seed=1))
    found = part_search.ranks(made, queries, kept)
    for row, ranks in zip(queries, found):
        loop = [rank_by_loop(parts, features, int(row), match="cosine", kept=one) for one in kept]
        assert abs(ranks - loop).max() <= 1, "but for the last digit"


def test_recall_against_the_number_of_parts() -> None:
    faces, features = gallery()
    found, parts = studied(faces, features)
    curve = found.curve
    assert curve is not None and found.whole is not None and curve.ks == (1, 2, 4, 8) and curve.n == N
    for n in range(1, K + 1):
        kept = np.arange(K) < n
        ranks = np.array([rank_by_loop(parts, features, row, match="cosine", kept=kept) for row in range(N)])
        assert curve.ordered[:, n - 1].tolist() == pytest.approx([np.mean(ranks <= k) for k in curve.ks])
    assert (np.diff(curve.ordered, axis=0) >= 0).all(), "Recall never falls with k"
    assert (curve.low <= curve.mean + 1e-9).all() and (curve.mean <= curve.high + 1e-9).all()
    assert np.allclose(curve.low[:, -1], curve.ordered[:, -1]) and np.allclose(curve.high[:, -1], curve.ordered[:, -1])
    assert found.whole[1].value == pytest.approx(curve.ordered[0, -1])
    alone = [one.recall_only.value for one in found.without]
    assert alone[0] == pytest.approx(curve.ordered[0, 0]) and curve.mean[0, 0] == pytest.approx(np.mean(alone), abs=0.1)


# Pairs


@pytest.mark.parametrize("match", MATCHES)
def test_tar_with_parts_left_out_is_that_of_the_jury(match: str) -> None:
    faces, features = gallery()
    found, parts = studied(faces, features, match=match)
    assert found.whole is not None
    for k, one in enumerate(found.without):
        for measure, kept in ((one.tar_without, np.arange(K) != k), (one.tar_only, np.arange(K) == k)):
            ruled = jury.ruling(parts, match=match, kept=kept, far=0.05).tar
            assert measure.value == pytest.approx(ruled.value) and measure.n == ruled.n
    pairs = parts.pool
    score = votes_between(parts, pairs.first, pairs.second, pairs.products, match=match).sum(1)
    border = sorted(score[~pairs.genuine], reverse=True)[int(0.05 * (~pairs.genuine).sum())]
    assert found.whole[0].value == pytest.approx(np.mean(score[pairs.genuine] > border))


@pytest.mark.parametrize("digits", [9, 1])
def test_the_interval_of_tar_is_that_of_pairs_that_are_counted_again_and_again(digits: int) -> None:
    rng = np.random.default_rng(0)
    who = np.repeat(np.arange(30, dtype=np.int32), 4)
    first, second = np.array(list(combinations(range(len(who)), 2))).T
    genuine = who[first] == who[second]
    score = rng.normal(size=len(first)) + 2 * genuine + rng.normal(size=30)[who[first]] * genuine
    score, far, B = score.round(digits), 0.02, 60  # with ties, and without
    found = part_pairs.Rate(who[first], who[second], genuine, far=far, resamples=B)(score)
    draws = []
    for weights in bootstrap.identity_weights(30, resamples=B).astype(int):
        times = np.where(genuine, weights[who[first]], weights[who[first]] * weights[who[second]])
        impostors = sorted(np.repeat(score[~genuine], times[~genuine]), reverse=True)
        border = impostors[int(far * len(impostors) + 1e-9)]
        draws.append(np.average(score[genuine] > border, weights=times[genuine]))
    assert (found.low, found.high) == pytest.approx(bootstrap.interval(np.array(draws)), abs=1e-9)
    few = part_pairs.Rate(who[first], who[second], genuine, far=1e-4, resamples=B)(score)
    assert not few.supported and "unattainable" in few.why


# Attributes


def test_effects_are_rank_correlations_and_leads() -> None:
    from scipy.stats import spearmanr

    rng = np.random.default_rng(0)
    faces, features = gallery()
    sure = -np.log(features.confidence[:, 0])  # type: ignore[index]
    blur = np.where(rng.random(N) < 0.6, 0.0, rng.random(N))
    columns: dict[str, Column] = {
        "moves part 1": sure + 0.3 * rng.normal(size=N),
        "blur": np.where(np.arange(N) == 4, np.nan, blur),
        "constant": np.ones(N),
        "role": Labels.of([["clear", "bad", "cover"][int(value > 0) + int(value > 0.9)] for value in blur]),
        "two": Labels.of(["a" if i % 3 else "b" for i in range(N)]),
        "many": Labels.of([str(i) for i in range(N)]),
    }
    faces = faces.with_columns(columns)
    found, parts = studied(faces, features)
    assert found.shown == "variance" and parts.log_variance is not None
    assert found.effects[0].column == "moves part 1"
    named = {(one.column, one.group): one for one in found.effects}
    assert set(named) == {("moves part 1", ""), ("blur", ""), ("role", "bad"), ("role", "clear"), ("two", "b")}
    told = np.isfinite(columns["blur"])  # type: ignore[arg-type]
    for k in range(K):
        rho = spearmanr(blur[told], parts.log_variance[told, k]).statistic
        assert named["blur", ""].strength[k].value == pytest.approx(rho, abs=1e-9)
        inside = columns["role"].codes == 0  # type: ignore[union-attr]
        a, b = parts.log_variance[inside, k], parts.log_variance[~inside, k]
        auc = np.mean([(x > y) + 0.5 * (x == y) for x in a for y in b])
        assert named["role", "bad"].strength[k].value == pytest.approx(2 * auc - 1, abs=1e-9)
        assert named["role", "bad"].middle[k].tolist() == pytest.approx([np.median(b), np.median(a)])
    one = named["blur", ""]
    assert one.n == N - 1 and one.edges[0] == 0 and one.edges[-1] == blur[told].max()
    zero = parts.log_variance[told & (blur == 0)]
    assert np.allclose(one.middle[:, 0], np.median(zero, axis=0)), "what most faces have stands by itself"
    assert np.allclose(one.quartiles[:, 0], np.percentile(zero, (25, 75), axis=0).T)
    assert one.middle.shape == (K, len(one.edges) - 1)


def test_the_interval_of_a_lead_is_that_of_draws_of_people() -> None:
    rng = np.random.default_rng(1)
    who = np.repeat(np.arange(80, dtype=np.int32), 8)
    values = rng.normal(size=80)[who] + rng.normal(size=len(who))
    group = rng.random(len(who)) < 1 / (1 + np.exp(1 - values))
    found, draws = lead(Order(values), group, groups=who), []
    for _ in range(300):
        rows = (rng.integers(0, 80, 80)[:, None] * 8 + np.arange(8)).ravel()
        draws.append(lead(Order(values[rows]), group[rows]).value)
    low, high = np.quantile(np.array(draws, float), [0.025, 0.975])
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.03)


def test_bins_have_about_as_many_faces_each() -> None:
    values = np.random.default_rng(0).normal(size=1000)
    edges, bins = effects.binned(Order(values))
    assert len(edges) == 11 and set(np.bincount(bins)) == {100}
    assert all(((values[bins == b] >= edges[b]) & (values[bins == b] <= edges[b + 1])).all() for b in range(10))


# How alike


@pytest.mark.parametrize("unit", [False, True])
def test_correlations_against_numpy(unit: bool) -> None:
    faces, features = gallery(learned=False)
    found, parts = studied(faces, features, unit=unit)
    told = found.correlation
    assert told is not None and told.centre is not None
    assert np.allclose(told.centre, np.corrcoef(parts.values["distance"].T.astype(float)), atol=1e-6)
    apart = ~np.eye(K, dtype=bool)
    assert told.centre_mean.value == pytest.approx(told.centre[apart].mean())
    flat = parts_of(features, parts, parts.ids).reshape(N, D)
    r = np.abs(np.corrcoef(flat.T))
    for a in range(K):
        for b in range(K):
            pairs = [r[i, j] for i in range(D) for j in range(D) if (i // WIDTH, j // WIDTH) == (a, b) and i != j]
            assert told.slices[a, b] == pytest.approx(np.mean(pairs), abs=1e-6)
    assert told.slices_mean.value == pytest.approx(across_slices(flat, K), abs=1e-6)
    assert told.control_centre.defined and told.control_slices.defined, "slices have a control"
    learned, _ = studied(*gallery())
    assert learned.correlation is not None and not learned.correlation.control_centre.defined


def test_the_interval_of_the_mean_correlation_is_that_of_draws() -> None:
    from facelens.analyses.part_correlation import correlate

    faces, features = gallery(learned=False)
    parts = cut(faces, PartsPlan(parts=K), features=features)
    found = correlate(parts, PartsPlan(parts=K), features=features, resamples=40).centre_mean
    x, apart = parts.values["distance"].astype(float), ~np.eye(K, dtype=bool)
    draws = []
    for weights in bootstrap.identity_weights(PEOPLE, resamples=40).astype(int):
        draws.append(np.corrcoef(np.repeat(x, weights[parts.identity], axis=0).T)[apart].mean())
    assert (found.low, found.high) == pytest.approx(bootstrap.interval(np.array(draws)), abs=1e-6)


# Templates


@pytest.mark.parametrize("rule", ["min", "bayes"])
def test_templates_are_those_of_the_network(rule: str) -> None:
    import torch

    from facelens.features.models.universal import fused as reference

    rng = np.random.default_rng(0)
    parts, surety = rng.normal(size=(12, K, WIDTH)), rng.normal(-3, 2, (12, K))
    whose = rng.permutation(np.repeat(np.arange(3), [5, 4, 3]))
    vectors, variance = fused(parts, surety, rule=rule, whose=whose)
    for one in range(3):
        some = whose == one
        expected = reference(torch.from_numpy(parts[some]), torch.from_numpy(surety[some]).exp(), rule=rule)
        assert np.allclose(vectors[one], expected[0]) and np.allclose(np.exp(variance[one]), expected[1])
    mean = parts.mean(0) / np.linalg.norm(parts.mean(0), axis=1, keepdims=True)
    assert np.allclose(fused(parts, np.full((12, K), -4.0))[0][0], mean)  # T9


def test_a_face_is_left_out_of_the_template_it_is_compared_with() -> None:
    faces, features = gallery(noise=1.4)
    found, parts = studied(faces, features)
    f, v = parts_of(features, parts, parts.ids).astype(np.float64), parts.log_variance
    assert v is not None and [one.name for one in found.fusion] == ["mean", *["precision"] * 5]
    for one in found.fusion:
        hits = []
        for i in range(N):
            score = []
            for person in range(PEOPLE):
                some = np.flatnonzero((parts.identity == person) & (np.arange(N) != i))
                said = v[some] if one.name == "precision" else np.zeros((len(some), K))
                template, spread = fused(f[some], said, rule=one.variance or "min")
                about = ((f[i] * f[i]).sum(1), (template[0] ** 2).sum(1)), (v[i], spread[0])
                product = (f[i] * template[0]).sum(1)
                kept = {"square": about[0], "log_variance": about[1], "width": WIDTH}
                score.append(universal.part_pairs.scores(one.match, product, kept=np.ones((1, K), bool), **kept)[0])
            hits.append(np.argmax(score) == parts.identity[i])
        assert one.first.value == pytest.approx(np.mean(hits)), one
        assert one.first.low is not None and 0.2 < one.first.value < 1


# As a job


def test_results_come_piece_by_piece_and_it_can_be_stopped() -> None:
    faces, features = gallery()

    class Watcher:
        def __init__(self) -> None:
            self.seen: list[Study] = []

        def __call__(self, done: int, total: int, note: str = "") -> None:
            assert 0 <= done <= total

        def partial(self, value: Study) -> None:
            self.seen.append(value)

    watcher = Watcher()
    whole, _ = studied(faces, features, tick=watcher)
    known = [(one.correlation is not None, one.whole is not None, one.complete) for one in watcher.seen]
    assert known == [(False, False, False), (True, False, False), (True, True, False)] and whole.complete

    class Stopped:
        left = 3

        def __call__(self, done: int, total: int, note: str = "") -> None:
            self.left -= 1
            if not self.left:
                raise Cancelled

    with pytest.raises(Cancelled):
        studied(faces, features, tick=Stopped())


@pytest.mark.parametrize(
    "who",
    [["a"], [None] * 6, ["a"] * 6, ["a", "b", "c"], ["a", "a", None, "b"], ["a", "a", "b", "b"]],
    ids=["one face", "nobody known", "one person", "one each", "some known", "two each"],
)
@pytest.mark.parametrize("learned", [True, False])
def test_small_galleries(who: list[str | None], learned: bool) -> None:
    faces, features = gallery(who, learned=learned, columns={"x": np.arange(len(who), dtype=float)})
    for parts in (D, 1):
        found, _ = studied(faces, features, parts=parts, match="likelihood" if learned else "cosine")
        assert found.complete and found.whole is not None and found.curve is not None
        assert all(one.value is not None or one.why for one in found.whole)
        assert found.whole[1].defined == (who.count("a") == 2)


def test_faces_without_confidence_do_not_search() -> None:
    faces, features = gallery()
    sure = features.confidence.copy()  # type: ignore[union-attr]
    sure[7, 2] = np.nan
    lame = replace(features, confidence=sure)
    found, _ = studied(faces, lame, match="likelihood")
    without, _ = studied(faces.take(np.delete(np.arange(N), 7)), features, match="likelihood")
    assert len(found.queries) == N - 1 and found.whole is not None and without.whole is not None
    assert found.whole[1].value == without.whole[1].value and found.whole[0].value == without.whole[0].value
    assert [one.first.value for one in found.fusion] == [one.first.value for one in without.fusion]
    assert len(studied(faces, lame)[0].queries) == N, "a cosine needs none"


def test_a_match_that_needs_confidence_is_refused_without() -> None:
    with pytest.raises(InputError, match="how sure"):
        studied(*gallery(learned=False), match="likelihood")
