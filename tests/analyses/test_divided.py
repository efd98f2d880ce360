"""What learners find alone and together, and how much the slices of an embedding say the same."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

from facelens.analyses import bootstrap
from facelens.analyses.divided import Learners, across_slices, learners, specialised
from facelens.analyses.part_search import Gallery
from facelens.analyses.plan import PartsPlan
from facelens.analyses.retrieval import retrieve
from facelens.errors import InputError
from facelens.features.card import Card
from facelens.features.featureset import FeatureSet, Provenance
from facelens.images.faceset import FaceSet


def test_against_a_loop() -> None:
    vectors = np.random.default_rng(0).normal(size=(40, 6)) @ np.random.default_rng(1).normal(size=(6, 6))
    found = [
        abs(np.corrcoef(vectors[:, a], vectors[:, b])[0, 1]) for a in range(6) for b in range(6) if a // 2 != b // 2
    ]
    assert across_slices(vectors, 3) == pytest.approx(np.mean(found), abs=1e-12)


def test_inside_a_slice_everything_may_be_the_same() -> None:
    rng = np.random.default_rng(0)
    one, other = rng.normal(size=(2, 4000, 1))
    assert across_slices(np.hstack([one, 2 * one, other, -other]), 2) < 0.05
    assert across_slices(np.hstack([one, other, 2 * one, -other]), 2) > 0.45


def test_dimensions_that_never_change_take_no_part() -> None:
    rng = np.random.default_rng(0)
    one = rng.normal(size=(50, 1))
    assert across_slices(np.hstack([one, np.full((50, 1), 1e6), -one, np.zeros((50, 1))]), 2) == pytest.approx(1)
    with pytest.raises(InputError, match="No two slices"):
        across_slices(np.ones((5, 4)), 2)


@pytest.mark.parametrize("slices", [1, 3])
def test_slices_that_do_not_fit(slices: int) -> None:
    with pytest.raises(InputError, match="cannot be cut"):
        across_slices(np.ones((5, 4)), slices)


# Learners

PEOPLE, EACH, K, WIDTH = 14, 5, 3, 4
N, D = PEOPLE * EACH, K * WIDTH


def gallery(who: list[str | None] | None = None) -> tuple[FaceSet, dict[str, FeatureSet]]:
    """A model of three learners, one of twelve dimensions that lacks a face, and one of eight."""
    rng = np.random.default_rng(0)
    who = [f"p{i % PEOPLE:02}" for i in range(N)] if who is None else who
    faces = FaceSet.build("g", Path("."), paths=[f"{i:03}" for i in range(len(who))], identities=who)
    names = list(dict.fromkeys(who))

    def features(name: str, dimensions: int, *, without: int = 0, **options: int) -> FeatureSet:
        centre = rng.normal(size=(len(names), dimensions))
        vectors = [centre[names.index(one)] + 0.8 * rng.normal(size=dimensions) for one in who]
        ids = faces.ids[: len(who) - without]
        card = Card(name=name, architecture="x", options=options)
        return FeatureSet(ids, np.array(vectors[: len(ids)], np.float32), Provenance(name, name, card=card))

    made = {"d": features("d", D, learners=K, whole=1), "u": features("u", D, without=1), "8": features("8", 8)}
    return faces, made


def looked(who: list[str | None] | None = None, *, baseline: str = "u", **plan: object) -> Learners:
    faces, features = gallery(who)
    asked = PartsPlan(model="d", baseline=baseline, **plan)  # type: ignore[arg-type]
    return learners(faces, asked, features=features, resamples=80)


def test_a_learner_finds_what_a_search_by_its_slice_finds() -> None:
    faces, features = gallery()
    found = looked()
    assert np.array_equal(found.ids, faces.ids[:-1]) and found.notes == ("1 without usable vector are left out.",)
    assert found.baseline is not None and found.complete and found.ks == (1, 2, 4, 8)
    identity = faces.identity.codes[:-1]
    for side, name in ((found.own, "d"), (found.baseline, "u")):
        rows, _ = features[name].rows_of(found.ids)
        whole = features[name].vectors[rows]
        for k in range(K + 1):
            vectors = whole if k == K else whole[:, k * WIDTH : (k + 1) * WIDTH]
            one = retrieve(
                vectors,
                vectors,
                query_ids=found.ids,
                gallery_ids=found.ids,
                query_identity=identity,
                gallery_identity=identity,
                same_set=True,
                recalls=found.ks,
                resamples=80,
            )
            for at, r in enumerate(found.ks):
                told = side.whole[at] if k == K else side.recall[at][k]
                assert told == one.measures[f"Recall@{r}"]
            if k < K and name == "d":
                assert np.array_equal(found.ranks[:, k], one.queries.first_right)
        values = np.array([[one.value for one in row] for row in side.recall])
        assert (np.diff(values, axis=0) >= 0).all() and [one.value for one in side.mean] == pytest.approx(
            values.mean(1)
        )
        assert side.curve.ordered[:, -1].tolist() == pytest.approx([one.value for one in side.whole])
        unit = whole / np.linalg.norm(whole, axis=1, keepdims=True)
        assert side.correlation.value == pytest.approx(across_slices(unit, K), abs=1e-6)


def test_gains_are_of_the_same_draws() -> None:
    found = looked()
    assert found.baseline is not None
    for at in range(len(found.ks)):
        means = found.own.mean[at].value, found.baseline.mean[at].value
        assert found.gain[at].value == pytest.approx(means[0] - means[1])  # type: ignore[operator]
        wholes = found.own.whole[at].value, found.baseline.whole[at].value
        assert found.whole_gain[at].value == pytest.approx(wholes[0] - wholes[1])  # type: ignore[operator]
    faces, features = gallery()
    same = learners(faces, PartsPlan(model="d", baseline="e"), features={"d": features["d"], "e": features["d"]})
    assert all((one.value, one.low, one.high) == (0, 0, 0) for one in (*same.gain, *same.whole_gain))


def test_specialists_are_what_one_learner_alone_finds() -> None:
    ranks = np.array([[1, 40, 31], [1, 2, 50], [1, 1, 50], [3, 1, 2], [2, 2, 2], [1, 60, 60], [1, 2, 9]], np.int32)
    n = len(ranks)
    turned = np.random.default_rng(0).normal(size=(3, n, 2)).astype(np.float32)
    made = Gallery(np.arange(n), np.arange(n, dtype=np.int32), turned, (turned**2).sum(2))
    chosen, found = specialised(ranks, np.arange(n), made)
    assert [one.tolist() for one in chosen] == [[5, 0, 1, 6], [3], []]
    unit = turned[0] / np.linalg.norm(turned[0], axis=1, keepdims=True)
    cosine = unit @ unit.T - 9 * np.eye(n)
    assert found[0].tolist() == cosine[[5, 0, 1, 6]].argmax(1).tolist() and len(found[2]) == 0


def test_who_a_specialist_found_is_the_right_person() -> None:
    found = looked()
    faces, _ = gallery()
    assert sum(map(len, found.specialists)) > 5
    for k in range(K):
        asking, answered = (faces.identity.codes[faces.rows_of(ids[k])] for ids in (found.specialists, found.found))
        assert np.array_equal(asking, answered) and (found.specialists[k] != found.found[k]).all()


def test_groups_are_named_by_the_learner_that_is_best_for_them() -> None:
    found = looked()
    groups = found.clusters
    assert groups is not None and groups.sizes.sum() == N - 1 and groups.people.sum() == PEOPLE
    at = np.searchsorted(np.sort(found.ids), found.queries)
    learner = groups.learner[np.argsort(found.ids)][at]
    for g in range(K):
        expected = (found.ranks[learner == g] == 1).mean(0)
        assert groups.recall[:, g].tolist() == pytest.approx(expected)
    best = max(groups.recall[range(K), order].sum() for order in permutations(range(K)))
    assert np.trace(groups.recall) == pytest.approx(best)
    assert groups.stability.low is not None and groups.stability.low <= groups.stability.value <= groups.stability.high  # type: ignore[operator]


def test_groups_that_are_there_are_found_from_every_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    from facelens.analyses import divided

    rng = np.random.default_rng(0)
    faces, features = gallery()
    axes = np.eye(D)[np.arange(N) % PEOPLE % K * WIDTH] + 0.05 * rng.normal(size=(N, D))
    one = {"d": FeatureSet(faces.ids, axes.astype(np.float32), features["d"].provenance)}
    for sample in (20_000, 30):  # all faces, and some that stand for all
        monkeypatch.setattr(divided, "SAMPLE", sample)
        found = learners(faces, PartsPlan(model="d"), features=one).clusters
        assert found is not None and found.stability.value == pytest.approx(1) and found.kept.value == 1
        assert len(set(zip(found.learner.tolist(), (np.arange(N) % PEOPLE % K).tolist()))) == K
        assert sorted(found.people) == [4, 5, 5]


def test_a_baseline_that_cannot_be_cut_is_none() -> None:
    found = looked(baseline="8")
    assert found.baseline is None and found.gain == () and len(found.ids) == N
    assert found.notes == ("No baseline: the 8 dimensions of 8 cannot be cut into 3 slices.",)
    assert looked(alone=True).baseline is None


@pytest.mark.parametrize(
    "who",
    [["a", "a"], [None] * 6, ["a"] * 6, ["a", "b", "c"], ["a", "a", None, "b"]],
    ids=["one person", "nobody known", "one person, many faces", "one each", "some known"],
)
def test_small_galleries(who: list[str | None]) -> None:
    found = looked(who, baseline="")
    assert found.complete and found.ranks.shape[1] == K and len(found.specialists) == K
    assert found.own.whole[0].defined == (who[-1] == "b")
    assert found.own.whole[0].defined or found.own.whole[0].why


def test_draws_of_recall_are_those_of_identities() -> None:
    faces, _ = gallery()
    found = looked(baseline="")
    hits = (found.ranks[:, 0] == 1).astype(float)
    who = faces.identity.codes[faces.rows_of(found.queries)]
    draws = [np.average(hits, weights=w[who]) for w in bootstrap.identity_weights(PEOPLE, resamples=80)]
    one = found.own.recall[0][0]
    assert (one.low, one.high) == pytest.approx(bootstrap.interval(np.array(draws)), abs=1e-6)
