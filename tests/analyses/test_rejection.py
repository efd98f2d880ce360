"""Rejection: every step, threshold and interval against loops over the definitions."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from facelens.analyses import bootstrap, pairs_left, rejection, similarity, templates_left, verification
from facelens.analyses.identification import identify
from facelens.analyses.plan import OPEN_RULES
from facelens.analyses.rejection import Risk, identify_risk, recognise, steps, verify_risk
from facelens.errors import InputError

World = dict[str, Any]


def unit(vectors: np.ndarray) -> np.ndarray:
    made: np.ndarray = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return made


def world(*, people: int = 12, pictures: int = 4, two: bool = False, seed: int = 0, dimensions: int = 8) -> World:
    """Faces of which some are noisier, by one model or by two; the values tell the noise."""
    rng = np.random.default_rng(seed)
    identity = np.repeat(np.arange(people), pictures).astype(np.int32)
    n = len(identity)
    noise = rng.uniform(0.1, 1.5, n)
    true = rng.normal(size=(people, dimensions))[identity]
    gallery = unit(true + noise[:, None] * rng.normal(size=true.shape))
    query = unit(true + noise[:, None] * rng.normal(size=true.shape)) if two else gallery
    return {
        "query": query,
        "gallery": gallery,
        "ids": rng.permutation(1000)[:n].astype(np.int64),
        "identity": identity,
        "values": (noise + 0.2 * rng.normal(size=n)).round(1),  # some are equal
    }


def naive_tar(pairs: list[tuple[float, bool, float]], far: float) -> tuple[float, float]:
    """TAR and threshold of (score, genuine, weight): the lowest observed score that accepts few enough impostors."""
    impostors = sum(weight for _, same, weight in pairs if not same)
    genuine = sum(weight for _, same, weight in pairs if same)
    if not impostors or not genuine:
        return np.nan, np.nan
    best = (0.0, np.nan)
    for t in sorted({score for score, _, _ in pairs}, reverse=True):
        alarms = sum(weight for score, same, weight in pairs if not same and score >= t)
        if alarms > far * impostors + 1e-9:
            break
        best = sum(weight for score, same, weight in pairs if same and score >= t) / genuine, t
    return best


def naive_pairs(
    given: World, kept: np.ndarray, *, refuse: str, ordered: bool, weights: np.ndarray | None = None
) -> list[tuple[float, bool, float]]:
    made = []
    who = given["identity"]
    for i, j in itertools.permutations(range(len(who)), 2):
        if (not ordered and i > j) or not kept[j] or (refuse == "both" and not kept[i]):
            continue
        same = bool(who[i] == who[j])
        weight = 1.0 if weights is None else float(weights[who[i]] * (1 if same else weights[who[j]]))
        made.append((float(given["query"][i] @ given["gallery"][j]), same, weight))
    return made


def test_steps_by_counting() -> None:
    values = np.array([0.3, 0.9, np.nan, 0.3, 0.5, 0.9, 0.1, np.inf, 0.2, 0.15])
    found = steps(values)
    assert found.limit.tolist() == [np.inf, 0.9, 0.5, 0.3, 0.2]
    for step, limit in enumerate(found.limit):
        refused = values > limit
        assert found.kept[step] == len(values) - refused.sum()
        np.testing.assert_array_equal(found.leaves <= step, refused)
    np.testing.assert_array_equal(found.coverage, found.kept / 10)
    assert found.notes == ("1 picture has no score and is never refused.",)


@pytest.mark.parametrize("lowest", [0.4, 0.75])
@pytest.mark.parametrize("most", [1, 2, 7, 120])
def test_steps_are_even_and_not_too_many(lowest: float, most: int) -> None:
    values = np.random.default_rng(0).normal(size=500)
    found = steps(values, lowest=lowest, most=most)
    assert len(found) == most and found.kept[0] == 500
    if most > 1:
        assert found.coverage[-1] == lowest
        assert np.abs(np.diff(found.coverage) - (lowest - 1) / (most - 1)).max() <= 1 / 500 + 1e-9


@pytest.mark.parametrize("values", [np.full(5, np.nan), np.ones(5), np.zeros(0), np.array([1.0])])
def test_scores_that_refuse_nobody_have_one_step(values: np.ndarray) -> None:
    found = steps(values)
    assert len(found) == 1 and found.limit[0] == np.inf and (found.leaves == 1).all()
    assert found.kept[0] == len(values) and bool(found.notes) == bool(len(values))


def test_too_many_equal_ones_end_the_steps() -> None:
    assert len(steps(np.r_[np.ones(7), np.zeros(3)])) == 1  # refusing seven leaves less than 40 %
    assert steps(np.r_[np.ones(6), np.zeros(4)]).kept.tolist() == [10, 4]


@pytest.mark.parametrize("refuse", ["both", "gallery"])
@pytest.mark.parametrize("two", [False, True])
def test_1_to_1_by_the_definition(two: bool, refuse: str) -> None:
    given = world(people=8, two=two)
    found = verify_risk(**given, far=0.02, refuse=refuse, resamples=12, seed=4)
    assert len(found.coverage) > 6
    ordered = two or refuse == "gallery"
    weights = bootstrap.identity_weights(8, resamples=12, seed=4)
    drawn = []
    for step, limit in enumerate(found.limit):
        kept = given["values"] <= limit
        pairs = naive_pairs(given, kept, refuse=refuse, ordered=ordered)
        tar, threshold = naive_tar(pairs, 0.02)
        assert found.error.value[step] == pytest.approx(1 - tar, abs=1e-12)
        assert found.threshold[step] == pytest.approx(threshold, abs=1e-12)
        assert found.n[step] == sum(same for _, same, _ in pairs)
        each = [naive_pairs(given, kept, refuse=refuse, ordered=ordered, weights=one) for one in weights]
        drawn.append([1 - naive_tar(one, 0.02)[0] for one in each])
    errors = np.array(drawn).T
    for step in range(len(found.limit)):
        low, high = bootstrap.rate_interval(errors[:, step], int(found.n[step]))  # type: ignore[misc]
        assert (found.error.low[step], found.error.high[step]) == pytest.approx((low, high), abs=1e-9)
        gain = np.quantile(errors[:, 0] - errors[:, step], [0.025, 0.975])
        assert (found.gain.low[step], found.gain.high[step]) == pytest.approx(tuple(gain), abs=1e-9)
        change = np.quantile(errors[:, step] / errors[:, 0] - 1, [0.025, 0.975])
        assert (found.change.low[step], found.change.high[step]) == pytest.approx(tuple(change), abs=1e-9)
    error = found.error.value
    np.testing.assert_allclose(found.gain.value, error[0] - error)
    np.testing.assert_allclose(found.change.value, (error - error[0]) / error[0])
    assert (found.random == error[0]).all()
    areas = [
        sum((a + b) / 2 * (c - d) for a, b, c, d in zip(one, one[1:], found.coverage, found.coverage[1:]))
        / (1 - found.coverage[-1])
        for one in [error, *errors]
    ]
    assert found.area.value == pytest.approx(areas[0])
    assert (found.area.low, found.area.high) == pytest.approx(tuple(np.quantile(areas[1:], [0.025, 0.975])))


@pytest.mark.parametrize("refuse", ["both", "gallery"])
def test_1_to_1_best_order_by_loops(refuse: str) -> None:
    given = world(two=True, seed=3)
    found = verify_risk(**given, far=0.02, refuse=refuse, resamples=0)
    who, n = given["identity"], len(given["identity"])
    key = []
    for i in range(n):
        as_gallery = [given["query"][j] @ given["gallery"][i] for j in range(n) if j != i and who[i] == who[j]]
        as_query = [given["query"][i] @ given["gallery"][j] for j in range(n) if j != i and who[i] == who[j]]
        scores = as_gallery + (as_query if refuse == "both" else [])
        key.append((-np.mean([score < found.threshold[0] for score in scores]), np.mean(scores)))
    order = sorted(range(n), key=lambda i: key[i])
    for step, count in enumerate(found.kept):
        kept = ~np.isin(np.arange(n), order[: n - count])
        tar, _ = naive_tar(naive_pairs(given, kept, refuse=refuse, ordered=True), 0.02)
        assert found.best[step] == pytest.approx(1 - tar, abs=1e-12)
    assert found.best.mean() < found.error.value.mean()


def same(a: Risk, b: Risk) -> None:
    for name in ("coverage", "kept", "limit", "threshold", "n", "random", "best", "emptied", "dropped"):
        np.testing.assert_allclose(getattr(a, name), getattr(b, name), atol=1e-9, err_msg=name)
    for name in ("error", "gain", "change"):
        for part in ("value", "low", "high"):
            x, y = (getattr(getattr(risk, name), part) for risk in (a, b))
            np.testing.assert_allclose(x, y, atol=1e-9, err_msg=f"{name} {part}")


def test_1_to_1_whatever_the_order_of_faces_and_the_axes() -> None:
    given = world(two=True)
    found = verify_risk(**given, far=0.02, resamples=20)
    order = np.random.default_rng(1).permutation(len(given["ids"]))
    same(found, verify_risk(**{name: array[order] for name, array in given.items()}, far=0.02, resamples=20))
    turn = np.linalg.qr(np.random.default_rng(2).normal(size=(8, 8)))[0]
    turned = {**given, "query": given["query"] @ turn, "gallery": given["gallery"] @ turn}
    same(found, verify_risk(**turned, far=0.02, resamples=20))


@pytest.mark.parametrize("two", [False, True])
def test_1_to_1_with_few_impostors_kept_is_the_same(two: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    given = world(people=40, pictures=5, two=two)
    whole = verify_risk(**given, far=0.01, resamples=20)
    kept = []
    highest = similarity.highest_pairs

    def spied(*args: Any, **kwargs: Any) -> Any:
        kept.append(highest(*args, **kwargs))
        return kept[-1]

    monkeypatch.setattr(similarity, "highest_pairs", spied)
    monkeypatch.setattr(pairs_left, "SAMPLED", 60)
    monkeypatch.setattr(pairs_left, "AT_LEAST", 5)
    few = verify_risk(**given, far=0.01, resamples=20)
    assert np.isfinite(kept[-1].floor) and 1000 < len(kept[-1].score) < 200 * 199 / (2 if not two else 1)
    same(whole, few)


def test_1_to_1_says_where_too_few_impostors_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    given = world(people=40, pictures=5)
    whole = verify_risk(**given, far=0.01, resamples=0)
    monkeypatch.setattr(pairs_left, "SAMPLED", 60)
    # The guess is too high, and stays so.
    monkeypatch.setattr(pairs_left, "_guess", lambda *args, **kwargs: (float(whole.threshold[0]) - 1e-3, 1.0))
    few = verify_risk(**given, far=0.01, resamples=5)
    unknown = np.isnan(few.error.value)
    assert unknown.any() and not unknown[0]
    np.testing.assert_array_equal(few.error.value[~unknown], whole.error.value[~unknown])
    assert any("more impostor pairs are needed than can be kept" in note for note in few.notes)


def test_1_to_1_of_too_many_faces_is_of_some_people(monkeypatch: pytest.MonkeyPatch) -> None:
    given = world(people=40, pictures=5)
    monkeypatch.setattr(pairs_left, "FACES", 102)
    found = verify_risk(**given, far=0.01, resamples=0)
    assert found.n[0] == 20 * 10 and "20 of 40 people were drawn to stand for all." in found.notes
    assert found.kept[0] == 200
    order = np.random.default_rng(1).permutation(200)
    same(found, verify_risk(**{name: array[order] for name, array in given.items()}, far=0.01, resamples=0))


def test_1_to_1_begins_as_verification() -> None:
    given = world(people=20)
    scores = similarity.all_pairs(given["query"], ids=given["ids"], identity=given["identity"])
    point = verification.verify(scores, fars=(0.01,), resamples=40, seed=1).points[0]
    found = verify_risk(**given, far=0.01, resamples=40, seed=1)
    assert 1 - found.error.value[0] == pytest.approx(point.tar.value) and found.threshold[0] == point.threshold
    assert (1 - found.error.high[0], 1 - found.error.low[0]) == pytest.approx((point.tar.low, point.tar.high))


def test_1_to_1_of_equal_scores() -> None:
    """Many pairs of the same two directions: all equal impostors are refused together."""
    rng = np.random.default_rng(0)
    vectors = np.eye(4)[rng.integers(0, 4, 60)]
    identity = rng.integers(0, 12, 60).astype(np.int32)
    values = rng.integers(0, 9, 60).astype(float)
    given: World = {
        "query": vectors, "gallery": vectors, "ids": np.arange(60), "identity": identity, "values": values,
    }  # fmt: skip
    found = verify_risk(**given, far=0.3, resamples=0)
    for step, limit in enumerate(found.limit):
        tar, _ = naive_tar(naive_pairs(given, values <= limit, refuse="both", ordered=False), 0.3)
        assert found.error.value[step] == pytest.approx(1 - tar, abs=1e-12)


def test_faces_without_vector_or_name_are_left_out() -> None:
    given = world(two=True)
    wider = {name: np.concatenate([array, array[:3]]) for name, array in given.items()}
    wider["ids"][-3:] = [-1, -2, -3]
    wider["query"][-3] = np.nan
    wider["gallery"][-2] = 0
    wider["identity"][-1] = -1
    wider["values"][-3:] = np.nan
    found = verify_risk(**wider, far=0.02, resamples=10)
    expected = verify_risk(**given, far=0.02, resamples=10)
    np.testing.assert_array_equal(found.error.value, expected.error.value)
    np.testing.assert_array_equal(found.error.high, expected.error.high)
    np.testing.assert_array_equal(found.kept, expected.kept + 3)
    assert "1 without identity are left out." in found.notes and "2 without usable vector are left out." in found.notes


@pytest.mark.parametrize(
    ("identity", "why"),
    [
        (np.zeros(12), "one identity, so there is no impostor pair"),
        (np.arange(12), "no genuine pair: nobody has two pictures that can be compared"),
        (np.full(12, -1), "no pair was compared"),
    ],
)
def test_1_to_1_where_there_is_no_rate(identity: np.ndarray, why: str) -> None:
    given = {**world(people=3), "identity": identity.astype(np.int32)}
    found = verify_risk(**given, far=0.1)
    assert found.why == found.area.why == why and found.area.value is None
    for values in (found.error.value, found.error.low, found.random, found.best, found.change.value):
        assert np.isnan(values).all()
    assert len(found.n) == len(found.coverage) == len(found.limit)


def test_1_to_1_without_any_face() -> None:
    nothing = np.zeros((0, 8))
    found = verify_risk(nothing, nothing, np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(0))
    assert found.area.why == "no pair was compared" and found.coverage.shape == (1,)


def test_scores_that_are_not_known_refuse_nobody() -> None:
    given = {**world(), "values": np.full(48, np.nan)}
    found = verify_risk(**given, far=0.02, resamples=10)
    assert found.kept.tolist() == [48] and np.isfinite(found.error.value[0]) and found.area.value is None
    assert "no range" in found.area.why and "48 pictures have no score and are never refused." in found.notes


def test_no_error_has_the_rule_of_3() -> None:
    given = world()
    perfect = unit(np.eye(12)[given["identity"]] + 1e-3)
    found = verify_risk(**{**given, "query": perfect, "gallery": perfect}, far=0.02, resamples=20)
    assert (found.error.value == 0).all() and np.isnan(found.change.value).all()
    np.testing.assert_allclose(found.error.high, np.minimum(1, 3 / found.n))
    assert (found.gain.value == 0).all()


def test_one_person_with_two_pictures_has_no_interval() -> None:
    given = world()
    identity = np.arange(48).astype(np.int32)
    identity[1] = 0
    found = verify_risk(**{**given, "identity": identity}, far=0.02)
    assert np.isfinite(found.error.value[0]) and np.isnan(found.error.low).all()
    assert any("of one person" in note for note in found.notes)


def test_a_rate_without_support_says_so() -> None:
    given = world()
    found = verify_risk(**given, far=1e-3, resamples=0)
    assert not found.area.supported and "no support" in found.area.why
    better = verify_risk(**given, far=3.5e-3, resamples=0)
    assert better.area.supported and any("has no support" in note for note in better.notes)


def test_many_pairs_have_fewer_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rejection, "WEIGHED", 0)
    monkeypatch.setattr(rejection, "LEAST_DRAWS", 7)
    assert "Intervals are of 7 draws, because there are many pairs." in verify_risk(**world(), far=0.02).notes


@pytest.mark.parametrize("rule", ["pairs", "nearest"])
@pytest.mark.parametrize("two", [False, True])
def test_recognition_by_loops(two: bool, rule: str) -> None:
    given = world(people=20, pictures=3, two=two, seed=5)
    given["identity"][[0, 3, 4]] = [50, 51, -1]  # two with one picture, one of nobody
    values = given.pop("values")
    found = recognise(**given, far=0.01, rule=rule)
    who, ids = given["identity"], given["ids"]
    cosine = given["query"] @ given["gallery"].T
    pairs = [
        (float(cosine[i, j]), bool(who[i] == who[j]), 1.0)
        for i, j in itertools.permutations(range(60), 2)
        if who[i] >= 0 and who[j] >= 0 and (two or i < j)
    ]
    _, threshold = naive_tar(pairs, 0.01)
    assert found.threshold == pytest.approx(threshold, abs=1e-12) and found.rule == rule
    for i in range(60):
        mates = [j for j in range(60) if j != i and who[i] == who[j] >= 0]
        others = [j for j in range(60) if who[i] >= 0 and who[j] >= 0 and who[i] != who[j]]
        if not mates:
            assert found.right[i] == -1 and found.mate[i] == -1 and np.isnan(found.mate_score[i])
            assert np.isnan(found.missed[i]) and (found.other[i] == -1) == (who[i] < 0)
            continue
        mate, other = (max(some, key=lambda j: float(cosine[i, j])) for some in (mates, others))
        assert (found.mate[i], found.other[i]) == (ids[mate], ids[other])
        assert found.mate_score[i] == pytest.approx(cosine[i, mate], abs=1e-12)
        assert found.other_score[i] == pytest.approx(cosine[i, other], abs=1e-12)
        missed = np.mean([cosine[i, j] < threshold - 1e-12 for j in mates])
        assert found.missed[i] == pytest.approx(missed, abs=1e-6)
        right = cosine[i, mate] > cosine[i, other] and (rule == "nearest" or missed <= 0.5)
        assert found.right[i] == right
    assert 5 < (found.right == 1).sum() < 55 and len(values) == 60
    order = np.random.default_rng(1).permutation(60)
    again = recognise(**{name: array[order] for name, array in given.items()}, far=0.01, rule=rule)
    for name in ("right", "mate", "mate_score", "other", "other_score", "missed"):
        np.testing.assert_allclose(getattr(again, name), getattr(found, name)[order], atol=1e-12, err_msg=name)


def test_recognition_of_equal_faces_takes_the_smaller_id_and_is_not_right() -> None:
    vectors = np.eye(3)[[0, 0, 0, 0, 1, 1]]
    identity = np.array([0, 0, 1, 1, 2, 2], np.int32)
    found = recognise(vectors, vectors, np.array([9, 8, 7, 6, 5, 4]), identity, far=0.5, rule="nearest")
    assert found.right.tolist() == [0, 0, 0, 0, 1, 1]
    assert found.mate.tolist() == [8, 9, 6, 7, 4, 5] and found.other.tolist() == [6, 6, 8, 8, 6, 6]
    assert not found.missed.any()
    strict = recognise(vectors, vectors, np.array([9, 8, 7, 6, 5, 4]), identity, far=0.1)
    assert strict.threshold is None and (strict.missed == 1).all()  # genuine pairs score as high as impostors, no more


def test_recognition_in_tiles_and_with_a_threshold_of_some_people(monkeypatch: pytest.MonkeyPatch) -> None:
    given = world(people=40, pictures=5)
    del given["values"]
    whole = recognise(**given, far=0.01)
    monkeypatch.setattr(similarity, "TILE", (17, 23))
    tiled = recognise(**given, far=0.01)
    for name in ("right", "mate", "other", "missed"):
        np.testing.assert_array_equal(getattr(tiled, name), getattr(whole, name), err_msg=name)
    monkeypatch.setattr(pairs_left, "SAMPLED", 60)
    monkeypatch.setattr(pairs_left, "TAIL", 500)
    some = recognise(**given, far=0.01)
    assert (some.right >= 0).all() and len(some.notes) == 1 and some.threshold != whole.threshold
    np.testing.assert_array_equal(some.mate, whole.mate)
    monkeypatch.setattr(pairs_left, "FACES", 102)
    fewer = recognise(**given, far=0.01)
    assert np.count_nonzero(fewer.right >= 0) == 100


def test_recognition_where_there_is_nothing_to_confuse() -> None:
    given = world(people=1, pictures=4)
    del given["values"]
    found = recognise(**given)
    assert found.threshold is None and found.right.tolist() == [1] * 4 and (found.other == -1).all()
    assert np.isnan(found.missed).all() and np.isnan(found.other_score).all()
    nothing = np.zeros((0, 4))
    assert len(recognise(nothing, nothing, np.zeros(0, np.int64), np.zeros(0, np.int32)).right) == 0


class Divided:
    """Who is enrolled, by rows of what was given."""

    def __init__(self, given: World, seed: int = 0) -> None:
        faces = pairs_left.usable(given["query"], given["gallery"], given["ids"], given["identity"])
        setting = templates_left.divided(faces, given["ids"], seed=seed)
        self.template = {int(faces.rows[i]): int(t) for i, t in zip(setting.picture, setting.template)}
        self.probe = [int(row) for row in faces.rows[setting.probe]]
        self.own = dict(zip(self.probe, setting.own.tolist()))
        self.part = [1 if t < setting.first else 2 for t in range(setting.templates)]
        self.pictures = [[row for row, own in self.template.items() if own == t] for t in range(setting.templates)]


def naive_templates(
    given: World, setting: Divided, kept: np.ndarray, weight: np.ndarray, *, last: np.ndarray
) -> list[np.ndarray | None]:
    """The weighted mean of the pictures kept of each template, None where there is none left."""
    made: list[np.ndarray | None] = []
    for rows in setting.pictures:
        left = [row for row in rows if kept[row]]
        total = sum((weight[row] * given["gallery"][row] for row in left), np.zeros(given["gallery"].shape[1]))
        made.append(total / np.linalg.norm(total) if left else None)
    return made


@pytest.mark.parametrize("pictures", [1, 2, 3, 5, 8])
def test_half_of_the_pictures_are_enrolled(pictures: int) -> None:
    given = world(people=9, pictures=pictures)
    given["identity"][: 2 * pictures] = [0] * pictures + list(range(50, 50 + pictures))  # some with one picture
    setting = Divided(given)
    assert sorted([*setting.template, *setting.probe]) == list(range(9 * pictures))
    several = 8 if pictures > 1 else 0
    assert len(setting.part) == several and setting.part.count(1) == (several + 1) // 2
    for rows in setting.pictures:
        assert len(rows) == (pictures + 1) // 2 and len({given["identity"][row] for row in rows}) == 1
    for row, own in setting.own.items():
        who = given["identity"][row]
        assert own == (-1 if (given["identity"] == who).sum() == 1 else setting.template[
            next(other for other in setting.template if given["identity"][other] == who)
        ])  # fmt: skip
    order = np.random.default_rng(3).permutation(9 * pictures)
    again = Divided({name: array[order] for name, array in given.items()})
    assert {order[row]: own for row, own in again.template.items()} == setting.template
    if pictures > 1:
        assert Divided(given, seed=1).template != setting.template


@pytest.mark.parametrize("weights", ["equal", "inverse", "exponential"])
@pytest.mark.parametrize("two", [False, True])
def test_1_to_n_by_the_definition(two: bool, weights: str) -> None:
    """Templates by loops; their rates and intervals by what evaluates galleries."""
    given = world(people=14, pictures=5, two=two, seed=2)
    given["identity"][5:10] = [80, 81, 82, 83, 84]  # strangers
    given["values"] = np.abs(given["values"])
    given["values"][20] = np.nan
    setting = Divided(given, seed=3)
    how: dict[str, Any] = {"fpir": 0.1, "weights": weights, "eps": 0.02, "tau": 0.7, "resamples": 25, "seed": 3}
    found = identify_risk(**given, **how)
    values, enrolled = given["values"], sorted(setting.template)
    known = np.where(np.isnan(values), np.nanmedian(values[enrolled]), values)
    weight = {"equal": np.ones(70), "inverse": 1 / (known + 0.02), "exponential": np.exp(-known / 0.7)}[weights]
    order = np.where(np.isnan(values), -np.inf, values)
    assert len(found.limit) > 8 and found.emptied[-1] > 0
    seen = []
    for step, limit in enumerate(found.limit):
        kept = ~(values > limit)
        empty = [rows for rows in setting.pictures if not kept[rows].any()]
        for rows in empty:
            kept[min(rows, key=lambda row: (order[row], given["ids"][row]))] = True
        templates = np.array(naive_templates(given, setting, kept, weight, last=order))
        expected = identify(
            given["query"][setting.probe],
            templates,
            query_ids=given["ids"][setting.probe],
            gallery_ids=-np.arange(1, len(templates) + 1),
            query_identity=given["identity"][setting.probe],
            gallery_identity=np.array([given["identity"][rows[0]] for rows in setting.pictures]),
            part=np.array(setting.part, np.int8),
            fpirs=(0.1,),
            resamples=25,
            seed=3,
        )
        point = expected.open[0]
        assert 1 - found.error.value[step] == pytest.approx(point.rank1.value, abs=1e-12)
        assert found.threshold[step] == pytest.approx(point.threshold, abs=1e-12)
        limits = 1 - found.error.high[step], 1 - found.error.low[step]
        assert limits == pytest.approx((point.rank1.low, point.rank1.high), abs=1e-12)
        assert found.n[step] == expected.n_mated and found.emptied[step] == len(empty) and found.dropped[step] == 0
        seen.append(found.error.value[step])
    assert len(set(seen)) > 2
    np.testing.assert_allclose(found.gain.value, found.error.value[0] - found.error.value)
    assert found.gain.low[0] == found.gain.high[0] == 0
    assert (found.gain.low[1:] <= found.gain.value[1:]).mean() > 0.8


@pytest.mark.parametrize("rule", OPEN_RULES)
@pytest.mark.parametrize("fpir", [0.02, 0.1, 0.3])
def test_1_to_n_where_people_are_unenrolled(rule: str, fpir: float) -> None:
    given = world(people=14, pictures=4, two=True, seed=4)
    given["identity"][:4] = [80, 81, 82, 83]
    setting = Divided(given)
    found = identify_risk(**given, fpir=fpir, rule=rule, emptied="unenrol", resamples=10)
    assert found.dropped[-1] > 0
    for step, limit in enumerate(found.limit):
        kept = given["values"] <= limit
        templates = naive_templates(given, setting, kept, np.ones(56), last=given["values"])
        rates = []
        mated = 0
        for part in (1, 2):
            there = [t for t, one in enumerate(templates) if one is not None and setting.part[t] == part]
            gone = [t for t, one in enumerate(templates) if one is None and setting.part[t] == part]
            probes = [row for row in setting.probe if setting.own[row] not in gone]
            expected = identify(
                given["query"][probes],
                np.array([templates[t] for t in there]),
                query_ids=given["ids"][probes],
                gallery_ids=-np.arange(1, len(there) + 1),
                query_identity=given["identity"][probes],
                gallery_identity=np.array([given["identity"][setting.pictures[t][0]] for t in there]),
                fpirs=(fpir,),
                rule=rule,
                resamples=0,
            )
            rates.append(expected.open[0].rank1.value)
            mated += expected.n_mated
        assert 1 - found.error.value[step] == pytest.approx(np.mean(rates), abs=1e-12)
        assert found.n[step] == mated and found.dropped[step] == found.n[0] - mated
        assert found.emptied[step] == sum(one is None for one in templates)


def test_1_to_n_other_orders_by_loops() -> None:
    given = world(people=14, pictures=4, two=True, seed=4)
    setting = Divided(given)
    found = identify_risk(**given, fpir=0.1, resamples=0)
    enrolled = [row for rows in setting.pictures for row in rows]
    ids, who = given["ids"], given["identity"]

    def errors(order: list[int]) -> list[float]:
        made = []
        for limit in found.limit:
            count = int((given["values"][enrolled] > limit).sum())
            kept = np.ones(56, bool)
            kept[order[:count]] = False
            for rows in setting.pictures:
                if not kept[rows].any():
                    kept[max(rows, key=order.index)] = True
            templates = np.array(naive_templates(given, setting, kept, np.ones(56), last=given["values"]))
            expected = identify(
                given["query"][setting.probe],
                templates,
                query_ids=ids[setting.probe],
                gallery_ids=-np.arange(1, 15),
                query_identity=who[setting.probe],
                gallery_identity=np.array([who[rows[0]] for rows in setting.pictures]),
                part=np.array(setting.part, np.int8),
                fpirs=(0.1,),
                resamples=0,
            )
            thresholds.append(expected.open[0].thresholds)
            made.append(1 - float(expected.open[0].rank1.value or 0))
        return made

    thresholds: list[tuple[float | None, ...]] = []
    in_order = sorted(enrolled, key=lambda row: (setting.template[row], ids[row]))
    generator = np.random.default_rng(0)
    several = [errors([in_order[i] for i in generator.permutation(28)]) for _ in range(rejection.RANDOM)]
    np.testing.assert_allclose(found.random, np.mean(several, axis=0), atol=1e-12)
    first = thresholds[0]

    def own_errors(row: int) -> tuple[float, float]:
        scores = [given["query"][p] @ given["gallery"][row] for p in setting.probe if who[p] == who[row]]
        threshold = first[setting.part[setting.template[row]] - 1]
        return -float(np.mean([score < threshold for score in scores])), float(np.mean(scores))

    np.testing.assert_allclose(found.best, errors(sorted(in_order, key=own_errors)), atol=1e-12)


@pytest.mark.parametrize("emptied", ["keep", "unenrol"])
def test_1_to_n_whatever_the_order_of_faces_the_axes_and_the_blocks(
    emptied: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = world(people=14, two=True)
    how: dict[str, Any] = {"fpir": 0.1, "resamples": 20, "emptied": emptied}
    found = identify_risk(**given, **how)
    order = np.random.default_rng(1).permutation(56)
    same(found, identify_risk(**{name: array[order] for name, array in given.items()}, **how))
    turn = np.linalg.qr(np.random.default_rng(2).normal(size=(8, 8)))[0]
    turned = {**given, "query": given["query"] @ turn, "gallery": given["gallery"] @ turn}
    same(found, identify_risk(**turned, **how))
    monkeypatch.setattr(templates_left, "MEMORY", 1)  # a probe at a time
    same(found, identify_risk(**given, **how))


def test_a_template_never_comes_to_nothing() -> None:
    """Two pictures that are opposite have no mean; the surer one stands for the person."""
    vectors = unit(np.random.default_rng(0).normal(size=(12, 4)))
    identity = np.repeat([0, 1, 2], 4).astype(np.int32)
    given: World = {
        "query": vectors, "gallery": vectors, "ids": np.arange(12), "identity": identity, "values": np.arange(12.0),
    }  # fmt: skip
    one, other = Divided(given).pictures[0]
    vectors[other] = -vectors[one]
    faces = pairs_left.usable(vectors, vectors, given["ids"], identity)
    setting = templates_left.divided(faces, given["ids"])
    for last, surer in ((np.arange(6.0), one), (-np.arange(6.0), other)):
        pools = templates_left.pooled(
            vectors, setting, np.ones(6, np.int16), steps=1, last=last, weights=np.ones(6), unenrol=False
        )
        np.testing.assert_allclose(pools.vectors[0], vectors[surer])
    assert np.isfinite(identify_risk(**given, fpir=0.3, resamples=0).error.value).all()


@pytest.mark.parametrize(
    ("identity", "why"),
    [
        (np.zeros(12), "every probe shows a person of the gallery, so there is no false alarm to count"),
        (np.arange(12), "nobody is enrolled"),
        (np.full(12, -1), "nobody is enrolled"),
    ],
)
def test_1_to_n_where_there_is_no_rate(identity: np.ndarray, why: str) -> None:
    found = identify_risk(**{**world(people=3), "identity": identity.astype(np.int32)}, fpir=0.1)
    assert found.why == found.area.why == why and found.area.value is None
    for values in (found.error.value, found.error.low, found.threshold, found.random, found.best, found.change.value):
        assert np.isnan(values).all() and len(values) == len(found.coverage)


def test_1_to_n_without_scores_or_support() -> None:
    given = world(people=20)
    found = identify_risk(**{**given, "values": np.full(80, np.nan)}, fpir=0.2, weights="inverse")
    assert found.kept.tolist() == [80] and found.error.low[0] <= found.error.value[0] <= found.error.high[0]
    assert found.random[0] == found.best[0] == found.error.value[0] and "no range" in found.area.why
    assert "has no support" in identify_risk(**given, fpir=0.05, resamples=0).area.why
    assert "cannot be reached" in identify_risk(**given, fpir=0.001, resamples=0).area.why
    with pytest.raises(InputError, match="not negative"):
        identify_risk(**{**given, "values": given["values"] - 9}, fpir=0.1, weights="inverse")


def test_t6_noise_is_refused_and_errors_go() -> None:
    """A tenth of the gallery's pictures is noise: variance finds it, and refusing it pays in both tasks."""
    from facelens.analyses.ensemble import combined

    rng = np.random.default_rng(0)
    people, pictures = 50, 6
    identity = np.repeat(np.arange(people), pictures).astype(np.int32)
    n = len(identity)
    true = rng.normal(size=(people, 32))[identity]
    noisy = rng.permutation(n)[: n // 10]
    members = []
    for _ in range(4):
        one = true + 0.7 * rng.normal(size=true.shape)
        one[noisy] = rng.normal(size=(len(noisy), 32))
        members.append(one)
    ensemble = combined(members)
    query = unit(true + 0.7 * rng.normal(size=true.shape)).astype(np.float32)
    refused = np.argsort(ensemble.variance)[-(n // 10) :]
    assert len(np.intersect1d(refused, noisy)) > 0.9 * len(noisy)
    sides = query, ensemble.vectors, np.arange(n), identity, ensemble.variance
    one = verify_risk(*sides, far=1e-2, refuse="gallery", resamples=200)
    many = identify_risk(*sides, fpir=0.05, resamples=200)
    for risk in (one, many):
        at = int(np.searchsorted(-risk.coverage, -0.9))
        assert risk.change.value[at] < -0.5 and risk.error.value[at] < 0.5 * risk.random[at]
        assert risk.gain.low[at] >= 0 and risk.gain.high[at] > 0
    assert one.gain.low[int(np.searchsorted(-one.coverage, -0.9))] > 0


@pytest.mark.parametrize("rule", OPEN_RULES)
def test_1_to_n_of_equal_scores(rule: str) -> None:
    """One picture in each template, of few directions: many people and strangers score the same."""
    rng = np.random.default_rng(7)
    vectors = np.eye(9)[rng.integers(0, 9, 40)]
    vectors[:30:2] = vectors[1:30:2]
    identity = np.r_[np.repeat(np.arange(15), 2), np.arange(20, 30)].astype(np.int32)
    given: World = {
        "query": vectors, "gallery": vectors, "ids": np.arange(40), "identity": identity, "values": np.zeros(40),
    }  # fmt: skip
    setting = Divided(given)
    for fpir in (0.05, 0.3, 0.5):
        found = identify_risk(**given, fpir=fpir, rule=rule, resamples=30)
        expected = identify(
            vectors[setting.probe],
            np.array([vectors[rows[0]] for rows in setting.pictures]),
            query_ids=np.array(setting.probe),
            gallery_ids=-np.arange(1, 16),
            query_identity=identity[setting.probe],
            gallery_identity=np.array([identity[rows[0]] for rows in setting.pictures]),
            part=np.array(setting.part, np.int8),
            fpirs=(fpir,),
            rule=rule,
            resamples=30,
        ).open[0].rank1  # fmt: skip
        assert 1 - found.error.value[0] == pytest.approx(expected.value, abs=1e-12)
        limits = 1 - found.error.high[0], 1 - found.error.low[0]
        assert limits == pytest.approx((expected.low, expected.high), abs=1e-12)


@pytest.mark.parametrize("case", ["v01_balanced", "v02_imbalanced", "v03_hard", "v11_invalid_rows", "v15_large"])
def test_1_to_1_begins_with_golden_numbers(golden: Path, case: str) -> None:
    with np.load(golden / case / "inputs.npz", allow_pickle=False) as inputs:
        vectors, labels = inputs["emb"].astype(np.float64), inputs["labels"].astype(np.int32)
    told = json.loads((golden / case / "expected.json").read_text())["expected"]
    n = len(labels)
    for far in (0.1, 0.01, 0.001):
        found = verify_risk(vectors, vectors, np.arange(n), labels, np.arange(n) % 97.0, far=far, resamples=0)
        assert 1 - found.error.value[0] == pytest.approx(told[f"tar@far={far}"], abs=1e-9)
        assert found.n[0] == told["n_genuine"]
