"""A feature set: rows by id, unit vectors, and nothing of what is no use."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from facelens.features.card import Card
from facelens.features.featureset import FeatureSet, Provenance


def made(vectors: np.ndarray, ids: list[int] | None = None) -> FeatureSet:
    numbers = np.arange(len(vectors)) * 10 + 5 if ids is None else np.array(ids)
    return FeatureSet(numbers.astype(np.int64), np.asarray(vectors, np.float32), Provenance("f", "net"))


def test_norms_follow_from_the_vectors() -> None:
    found = made(np.array([[3, 4], [0, 2]]))
    assert found.norms.tolist() == [5, 2] and found.dimensions == 2 and len(found) == 2 and not len(found.invalid)
    assert found.norms.dtype == np.float32


def test_what_is_no_use_is_named_and_never_found() -> None:
    odd = [[1, 0], [0, 0], [np.nan, 1], [np.inf, 1], [-np.inf, np.inf], [1e-20, 0], [3e38, 3e38], [0, 1]]
    found = made(np.array(odd))
    assert found.invalid.tolist() == [15, 25, 35, 45, 55, 65]
    units, there = found.unit(found.ids)
    assert there.tolist() == [True, *[False] * 6, True]
    assert units.tolist() == [[1, 0], [0, 1]]


def test_rows_of_ids_in_the_order_asked_for() -> None:
    found = made(np.eye(4), [40, 10, 30, 20])
    rows, there = found.rows_of(np.array([10, 99, 20, 40, 10, -1]))
    assert rows.tolist() == [1, 3, 0, 1] and there.tolist() == [True, False, True, True, True, False]
    units, _ = found.unit(np.array([20, 10]))
    assert units.tolist() == [[0, 0, 0, 1], [0, 1, 0, 0]]


@pytest.mark.parametrize("seed", range(20))
def test_against_a_dictionary(seed: int) -> None:
    dice = np.random.default_rng(seed)
    ids = dice.permutation(100)[: int(dice.integers(0, 30))]
    vectors = dice.normal(size=(len(ids), 3)).astype(np.float32)
    vectors[dice.random(len(ids)) < 0.2] = dice.choice([0.0, np.nan, np.inf])
    truth = {int(i): v for i, v in zip(ids, vectors) if np.isfinite(v).all() and v.any()}
    asked = dice.integers(0, 100, 40)
    units, there = made(vectors, ids.tolist()).unit(asked)
    assert there.tolist() == [int(i) in truth for i in asked]
    for unit, face in zip(units, asked[there].tolist()):
        np.testing.assert_allclose(unit, truth[face] / np.linalg.norm(truth[face]), rtol=1e-5)


def test_nothing_in_it() -> None:
    empty = made(np.zeros((0, 7)))
    assert len(empty) == 0 and empty.dimensions == 7 and not len(empty.invalid)
    units, there = empty.unit(np.array([1, 2]))
    assert units.shape == (0, 7) and there.tolist() == [False, False]
    assert made(np.eye(2)).unit(np.zeros(0, np.int64))[0].shape == (0, 2)


def test_travels_between_processes() -> None:
    card = Card("net", "small", options={"parts": 4})
    sent = FeatureSet(np.array([1, 2]), np.eye(2, dtype=np.float32), Provenance("f", "net", "ab", card, {"torch": "2"}))
    found = pickle.loads(pickle.dumps(sent))
    assert found.provenance == sent.provenance and found.ids.tolist() == [1, 2]
    np.testing.assert_array_equal(found.vectors, sent.vectors)
