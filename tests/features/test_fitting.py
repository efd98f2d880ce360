"""Transforms fitted on vectors: unrelated models become comparable, the right way is chosen, and it is all told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from facelens.errors import Cancelled, InputError
from facelens.features import fitting, transforms
from facelens.features.closed_forms import Floats, Moments, Way, procrustes, ridge
from facelens.features.fitting import Fit, Training, cached, copies, fit, fit_unified, key, people_split
from facelens.features.held_out import Scores, check
from facelens.resources import sample_data

Array = NDArray[np.float64]


def unit(x: Array) -> Array:
    made: Array = x / np.linalg.norm(x, axis=1, keepdims=True)
    return made


class World(NamedTuple):
    """What people are like, and who is on each picture."""

    truth: Array
    labels: NDArray[np.int64]

    def seen(self, matrix: Array, *, noise: float | Array = 0.2, seed: int = 0) -> Array:
        """As a model sees them that turns them by `matrix`, with noise of its own."""
        drawn = np.random.default_rng([7, seed]).standard_normal((len(self.truth), matrix.shape[1]))
        return unit(self.truth @ matrix + noise * drawn / matrix.shape[1] ** 0.5)


def world(people: int, *, pictures: int, dimensions: int, seed: int) -> World:
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(people), pictures)
    centres = unit(rng.standard_normal((people, dimensions)))[labels]
    return World(unit(centres + 0.35 * rng.standard_normal((len(labels), dimensions)) / dimensions**0.5), labels)


def rotation(dimensions: int, seed: int) -> Array:
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((dimensions, dimensions)))[0]


def recall(query: Floats, gallery: Floats, labels: NDArray[np.int64]) -> float:
    """Share of queries whose nearest gallery picture, itself left out, shows the same person."""
    score = query @ gallery.T
    np.fill_diagonal(score, -2)
    return float((labels[score.argmax(1)] == labels).mean())


TWO = rotation(64, 1), rotation(64, 2)
SEEN = world(160, pictures=5, dimensions=64, seed=3)
OTHERS = world(60, pictures=5, dimensions=64, seed=4)
X, Y = SEEN.seen(TWO[0], seed=1), SEEN.seen(TWO[1], seed=2)
# Small enough to train in a second or two, and without a start that knows the answer.
SMALL = world(80, pictures=6, dimensions=12, seed=5)
SHORT = Training(from_closed=False, rate=3e-2, batch=128, epochs=1, least=60)


@pytest.mark.parametrize("method", ["ridge", "procrustes", "rbt", "auto"])
def test_unrelated_models_become_comparable(method: str) -> None:
    gallery, query = OTHERS.seen(TWO[0], seed=3), OTHERS.seen(TWO[1], seed=4)
    own = recall(query, query, OTHERS.labels)
    assert recall(query, gallery, OTHERS.labels) < 0.05 and own > 0.9
    found = fit(X, Y, SEEN.labels, method=method, training=Training(batch=128, epochs=1, least=15))
    mapped = found.transform(gallery).astype(np.float64)
    assert (mapped * query).sum(1).mean() > 0.85
    assert recall(query, mapped, OTHERS.labels) > 0.95 * own
    assert found.transform.kind == ("rbt" if method == "rbt" else "linear")
    assert (found.people, found.pictures, found.left_out) == (160, 800, 0)


def test_rbt_learns_by_itself() -> None:
    others = world(40, pictures=6, dimensions=12, seed=6)
    turns = rotation(12, 1), rotation(12, 2)
    found = fit(SMALL.seen(turns[0]), SMALL.seen(turns[1], seed=1), SMALL.labels, method="rbt", training=SHORT)
    assert not found.transform.module.training and found.why == "rbt, trained from the identity."
    gallery, query = others.seen(turns[0], seed=2), others.seen(turns[1], seed=3)
    assert (gallery * query).sum(1).mean() < 0.3
    mapped = found.transform(gallery)
    assert (mapped * query).sum(1).mean() > 0.85 and recall(query, mapped, others.labels) > 0.95


def test_closed_forms_are_kept_as_they_were_solved() -> None:
    long = X * np.linspace(0.5, 9, len(X))[:, None]  # lengths do not matter
    moments = Moments.of(X, Y)
    for found, expected in [
        (fit(long, Y, SEEN.labels, method="ridge"), ridge(moments, strength=0.01)),
        (fit(long, Y, SEEN.labels, method="ridge", strength=2.0), ridge(moments, strength=2.0)),
        (fit(long, Y, SEEN.labels, method="procrustes"), procrustes(moments)),
    ]:
        weight = found.transform.module.state_dict()["matrix.weight"]
        np.testing.assert_allclose(weight.T.numpy(), expected, atol=1e-6)
        np.testing.assert_allclose(found.transform(long[:5]), unit(X[:5] @ expected), atol=1e-5)


@pytest.mark.parametrize(("d_1", "d_2"), [(24, 12), (12, 24)])
@pytest.mark.parametrize("method", ["ridge", "procrustes", "rbt"])
def test_other_dimensions(d_1: int, d_2: int, method: str) -> None:
    rng = np.random.default_rng(0)
    x, y = (SMALL.seen(rng.standard_normal((12, d)) / 12**0.5) for d in (d_1, d_2))
    found = fit(x, y, SMALL.labels, method=method, training=Training(epochs=0, least=3))
    assert (found.transform.dimensions_in, found.transform.dimensions) == (d_1, d_2)
    assert found.transform(x).shape == (len(x), d_2)


# Choosing


def test_procrustes_for_few_people_and_ridge_for_many() -> None:
    """Half of the first model's directions are noisy: many people tell which, and turning alone cannot make them small.
    From few people it is guesswork, and turning the better guess."""
    noise = np.where(np.arange(64) < 32, 0.5, 1.1)
    others = OTHERS.seen(TWO[0], noise=noise, seed=3), OTHERS.seen(TWO[1], noise=0.5, seed=4)
    chosen = []
    for people in (90, 600):
        some = world(people, pictures=4, dimensions=64, seed=8)
        sides = some.seen(TWO[0], noise=noise, seed=1), some.seen(TWO[1], noise=0.5, seed=2)
        worth = {}
        for way in ("ridge", "procrustes"):
            mapped = fit(*sides, some.labels, method=way).transform(others[0]).astype(np.float64)
            scores = Scores.of(mapped, others[1], OTHERS.labels)
            worth[way] = check(Way(way), [scores], people=0).separation
        found = fit(*sides, some.labels)
        assert found.method == max(worth, key=lambda way: worth[way]), worth  # it is so for others, too
        assert found.checks[0].way == Way(found.method, found.strength) and not found.asked
        assert found.why.startswith(f"{found.method}: ") and f"{people} people left out in turn" in found.why
        chosen.append(found.method)
    assert chosen == ["procrustes", "ridge"]


def test_auto_compares_what_it_is_told_to() -> None:
    brief = Training(epochs=0, least=2, batch=64)
    turns = rotation(12, 1), rotation(12, 2)
    sides = SMALL.seen(turns[0]), SMALL.seen(turns[1], seed=1)
    one = fit(*sides, SMALL.labels, among=("procrustes",))
    assert one.method == "procrustes" and one.checks == ()
    all_of_them = fit(*sides, SMALL.labels, among=("ridge", "rbt", "procrustes"), training=brief)
    assert {check.method for check in all_of_them.checks} == {"ridge", "procrustes", "rbt"}
    orders = [check.order for check in all_of_them.checks]
    assert orders == sorted(orders, reverse=True) and all_of_them.method == all_of_them.checks[0].method
    trained = fit(*sides, SMALL.labels, method="rbt", training=brief)
    assert trained.start == str(trained.checks[0].way)
    assert trained.why.startswith(f"rbt, trained from {trained.start}. {trained.start}: ")
    assert fit(*sides, SMALL.labels, method="ridge").why == "ridge, as asked for."


def test_three_people_are_too_few_to_compare() -> None:
    found = fit(X[:15], Y[:15], SEEN.labels[:15])
    assert (found.people, found.checks, found.method, found.strength) == (3, (), "ridge", 1.0)
    assert found.why == "ridge of strength 1: there are too few people to compare ways of fitting."
    assert found.notes == ("15 pictures to fit on are fewer than the model's 64 dimensions: more people would help.",)


# Unified


@pytest.mark.parametrize(("method", "kind"), [("rbt", "rbt"), ("auto", "linear"), ("ridge", "linear")])
def test_unified_members_meet_the_query_in_a_new_space(method: str, kind: str) -> None:
    others = world(40, pictures=6, dimensions=12, seed=6)
    turns = [rotation(12, i) for i in range(3)]
    members = [SMALL.seen(turns[i], seed=i) for i in range(2)]
    seen, brief = SMALL.seen(turns[2], seed=2), Training(rate=1e-2, batch=128, epochs=1, least=10)
    found = fit_unified(
        members,
        seen,
        SMALL.labels,
        method=method,
        training=brief,
        names=("a", "b", "q"),
    )
    raw = others.seen(turns[2], seed=3)
    query = found.query.transform(raw)
    assert (query * raw).sum(1).mean() < 0.999  # the query's side has learned, too
    for i, one in enumerate(found.members):
        mapped = one.transform(others.seen(turns[i], seed=4 + i))
        assert (mapped * query).sum(1).mean() > 0.85 and recall(query, mapped, others.labels) > 0.95
        assert one.mode == "unified" and (one.transform.source, one.transform.target) == ("ab"[i], "")
    # the second is fitted into the space that the first pair has made
    second = fit(members[1], found.query.transform(seen), SMALL.labels, method=method, training=brief)
    np.testing.assert_array_equal(found.members[1].transform(raw), second.transform(raw))
    assert found.members[1].method == second.method
    assert found.members[0].method == found.query.method == found.query.transform.kind == kind
    assert found.query.transform.source == "q" and found.query.why == f"{kind}, trained from the identity."
    assert Fit.of(found.members[1].transform) == found.members[1]


def test_unified_refuses_what_makes_no_sense() -> None:
    with pytest.raises(InputError, match="at least one member"):
        fit_unified([], Y, SEEN.labels)
    with pytest.raises(InputError, match="magic is no way"):
        fit_unified([X], Y, SEEN.labels, method="magic")


# People


def test_draws_take_whole_people_and_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[fitting.Pair] = []
    real = fitting.Pair.drawn

    def watched(self: fitting.Pair) -> fitting.Pair:
        asked.append(real(self))
        return asked[-1]

    monkeypatch.setattr(fitting.Pair, "drawn", watched)
    found = copies(X, Y, SEEN.labels, 3, method="procrustes", seed=4)
    assert [one.draw for one in found] == [0, 1, 2] and len(asked[0].source) == 800
    weights = [one.transform.module.state_dict()["matrix.weight"] for one in found]
    assert not any(torch.allclose(weights[i], weights[j], atol=1e-3) for i in range(3) for j in range(i))
    for drawn in asked[1:]:
        assert len(drawn.source) == 800 and 80 < drawn.people < 125  # about 63 % of 160, some of them twice
        rows, times = np.unique(drawn.source, axis=0, return_counts=True)
        who = {tuple(row.round(9)): label for row, label in zip(X, SEEN.labels)}
        often: dict[int, set[int]] = {}
        for row, n in zip(rows, times):
            often.setdefault(who[tuple(row.round(9))], set()).add(int(n))
        assert all(len(one) == 1 for one in often.values()) and len(rows) == 5 * len(often)
    again = copies(X, Y, SEEN.labels, 3, method="procrustes", seed=4)
    for one, other in zip(weights, again):
        assert torch.equal(one, other.transform.module.state_dict()["matrix.weight"])


def test_copies_are_made_the_way_the_first_was_chosen() -> None:
    found = copies(X, Y, SEEN.labels, 2)
    assert found[0].checks and {one.why for one in found} == {found[0].why}
    assert Fit.of(found[1].transform) == found[1]


def test_the_same_seed_gives_the_same_rbt_and_leaves_chance_alone() -> None:
    def made(seed: int) -> Fit:
        return fit(X, Y, SEEN.labels, method="rbt", seed=seed, training=Training(epochs=0, least=3))

    torch.manual_seed(11)
    expected = torch.rand(3)
    torch.manual_seed(11)
    one = made(1).transform(X[:9])
    assert torch.equal(torch.rand(3), expected)
    two, other = made(1).transform(X[:9]), made(2).transform(X[:9])
    np.testing.assert_array_equal(one, two)
    assert np.abs(one - other).max() > 1e-6


def test_the_order_of_pictures_does_not_matter() -> None:
    order = np.random.default_rng(0).permutation(len(X))
    one, other = fit(X, Y, SEEN.labels), fit(X[order], Y[order], SEEN.labels[order])
    assert one.why == other.why
    np.testing.assert_allclose(one.transform(X[:9]), other.transform(X[:9]), atol=1e-6)


def test_pictures_without_a_name_are_people_of_their_own() -> None:
    labels = SEEN.labels.copy()
    labels[:10] = -1
    assert fit(X, Y, labels, method="ridge").people == 168


def test_people_are_split_by_their_names() -> None:
    names = [f"p{i % 41}" for i in range(300)]
    fitted = people_split(names)
    chosen = {name for name, one in zip(names, fitted) if one}
    assert len(chosen) == 20 and all((name in chosen) == one for name, one in zip(names, fitted))
    turned = people_split([*names[::-1], "p3"])  # another order, and one more picture
    assert turned.tolist() == [*fitted[::-1].tolist(), "p3" in chosen]
    more = people_split([*names, "somebody new"])
    assert sum(a != b for a, b in zip(dict(zip(names, more)).values(), dict(zip(names, fitted)).values())) <= 1
    assert len({name for name, one in zip(names, people_split(names, share=0.8)) if one} - chosen) == 33 - 20
    assert people_split(names, seed=1).tolist() != fitted.tolist()
    assert sorted(people_split(["a", "b", "c"], share=0.01).tolist()) == [False, True, True]
    assert sorted(people_split(["a", "b", "c"], share=1.0).tolist()) == [False, True, True]
    with pytest.raises(InputError, match="a third one to be shown"):
        people_split(["a", "b", "a"])


# Nonsense


def test_useless_vectors_are_left_out_and_counted() -> None:
    x, y = X.copy(), Y.copy()
    x[3], x[40, 2], y[41] = np.nan, np.inf, 0
    found = fit(x, y, SEEN.labels, method="ridge")
    assert (found.left_out, found.pictures) == (3, 797)
    assert found.notes == ("3 pictures are left out: their vectors are no use (not a number, or zero).",)
    kept = np.setdiff1d(np.arange(len(X)), [3, 40, 41])
    expected = fit(X[kept], Y[kept], SEEN.labels[kept], method="ridge")
    np.testing.assert_array_equal(found.transform(X), expected.transform(X))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda x, y, who: (x[:-1], y, who), "Vectors of the same pictures are needed .* 799, 800 and 800"),
        (lambda x, y, who: (x, y, who[:5]), "800, 800 and 5"),
        (lambda x, y, who: (x[:, 0], y, who), "Vectors of the same pictures"),
        (lambda x, y, who: (x, y, who * 0), "cannot be fitted on 1 person"),
        (lambda x, y, who: (x * np.nan, y, who), "cannot be fitted on 0 people"),
        (lambda x, y, who: (x[:0], y[:0], who[:0]), "cannot be fitted on 0 people"),
    ],
)
def test_nonsense_is_refused(change: Callable[..., tuple[Any, Any, Any]], words: str) -> None:
    with pytest.raises(InputError, match=words) as refused:
        fit(*change(X, Y, SEEN.labels))
    assert refused.value.hint


def test_unknown_ways_are_refused() -> None:
    for settings in ({"method": "magic"}, {"among": ("ridge", "magic")}):
        with pytest.raises(InputError, match="magic is no way") as refused:
            fit(X, Y, SEEN.labels, **settings)  # type: ignore[arg-type]
        assert "auto, ridge, procrustes, rbt" in refused.value.hint


# Progress


@pytest.mark.parametrize("settings", [{}, {"method": "rbt", "training": Training(epochs=0, least=4)}])
def test_progress_grows_and_can_be_stopped(settings: dict[str, Any]) -> None:
    seen: list[float] = []

    def tick(done: int, total: int, note: str = "") -> None:
        seen.append(done / total)

    fit(X, Y, SEEN.labels, tick=tick, **settings)
    assert len(seen) > 8 and seen == sorted(seen) and seen[-1] == 1

    def stop(done: int, total: int, note: str = "") -> None:
        if done / total > 0.4:
            raise Cancelled

    with pytest.raises(Cancelled):
        fit(X, Y, SEEN.labels, tick=stop, **settings)


# Files


def test_a_file_says_how_it_was_fitted(tmp_path: Path) -> None:
    found = fit(X, Y, SEEN.labels, names=("old", "new"), seed=3)
    transforms.save(found.transform, tmp_path / "a.safetensors")
    read = transforms.load(tmp_path / "a.safetensors")
    again = Fit.of(read)
    assert (read.source, read.target) == ("old", "new")
    assert again.why == found.why and again.checks == found.checks
    assert replace(again, transform=found.transform) == found
    assert read.made["people"] == 160 and read.made["pictures"] == 800 and read.made["seed"] == 3
    np.testing.assert_array_equal(read(X), found.transform(X))


def test_files_of_before_still_load() -> None:
    paths = sorted((sample_data() / "checkpoints/transforms").iterdir())
    assert len(paths) > 5
    for path in paths:
        assert transforms.load(path).made == {}
    with pytest.raises(InputError, match="does not say how it was fitted"):
        Fit.of(transforms.load(paths[0]))


def test_what_was_fitted_once_is_read(tmp_path: Path) -> None:
    made: list[int] = []

    def make() -> tuple[Fit, ...]:
        made.append(1)
        return copies(X, Y, SEEN.labels, 2, method="ridge")

    name = key(X, Y, SEEN.labels, method="ridge")
    first = cached(tmp_path / "kept", name, make)
    second = cached(tmp_path / "kept", name, make)
    assert len(made) == 1 and [one.draw for one in second] == [0, 1]
    for one, other in zip(first, second):
        assert one.why == other.why
        np.testing.assert_array_equal(one.transform(X[:5]), other.transform(X[:5]))
    files = sorted((tmp_path / "kept").iterdir())
    files[0].write_bytes(b"damaged")
    assert len(cached(tmp_path / "kept", name, make)) == 2 and len(made) == 2
    files[1].unlink()
    assert len(cached(tmp_path / "kept", name, make)) == 2 and len(made) == 3


def test_names_of_what_is_fitted(monkeypatch: pytest.MonkeyPatch) -> None:
    name = key(X, Y, SEEN.labels, training=Training())
    assert key(X.copy(), Y, SEEN.labels, training=Training()) == name
    changed = X.copy()
    changed[-1, -1] += 1e-9
    others = {
        key(changed, Y, SEEN.labels, training=Training()),
        key(X, Y, SEEN.labels[::-1], training=Training()),
        key(X, Y, SEEN.labels, training=Training(rate=1e-2)),
        key(X, Y, SEEN.labels, training=Training(), seed=1),
        key(X.reshape(-1, 32), Y, SEEN.labels, training=Training()),
    }
    monkeypatch.setattr(fitting, "FORMAT", -1)
    others.add(key(X, Y, SEEN.labels, training=Training()))
    assert len(others) == 6 and name not in others


@pytest.mark.parametrize(
    "changes",
    [
        {"dimensions_in": 1e999},
        {"dimensions": 90_000},
        {"options": {"modules": 10**9}, "kind": "rbt"},
        {"options": 3},
        {"made": 5},
    ],
)
def test_a_file_that_lies_about_its_transform_is_refused(changes: dict[str, object], tmp_path: Path) -> None:
    import json

    import torch

    from facelens.features.state import write_tensors

    said = {"kind": "linear", "dimensions_in": 4, "dimensions": 4, "options": {}, "source": "", "target": ""}
    tensors = {"matrix.weight": torch.eye(4)}
    write_tensors(tmp_path / "good", tensors, {transforms.MARK: json.dumps(said)})
    assert transforms.load(tmp_path / "good").dimensions == 4
    write_tensors(tmp_path / "bad", tensors, {transforms.MARK: json.dumps(said | changes)})
    with pytest.raises(InputError, match="is no transform FaceLens can read"):
        transforms.load(tmp_path / "bad")


def test_what_cannot_be_kept_is_not_lost(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file where the folder should be")
    made = fit(X, Y, SEEN.labels, method="ridge")
    assert cached(tmp_path / "taken", "name", lambda: (made,)) == (made,)
