from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

from facelens.errors import InputError
from facelens.images import faceset
from facelens.images.faceset import FaceSet, Labels, face_ids


def made(n: int, *, seed: int = 0) -> FaceSet:
    rng = np.random.default_rng(seed)
    names = [None, "b", "a", "c"]
    score = rng.integers(0, 4, n).astype(np.float64)
    score[rng.random(n) < 0.3] = np.nan
    return FaceSet.build(
        "test",
        Path("/nowhere"),
        paths=[f"p{i * 7919 % 1009:04d}.jpg" for i in range(n)],
        identities=[names[i] for i in rng.integers(0, 4, n)],
        columns={
            "score": score,
            "narrow": score.astype(np.float32),
            "count": rng.integers(-2, 2, n),
            "colour": Labels.of(["red", "", "blue"][i] for i in rng.integers(0, 3, n)),
        },
        landmarks=rng.random((n, 5, 2)).astype(np.float32),
    )


def slow_order(faces: FaceSet, column: str, *, descending: bool) -> list[int]:
    """Python's own stable sort, missing values last in both directions."""
    values = faces.values(column)
    if isinstance(values, Labels):
        plain = [values.name(i) or None for i in range(len(faces))]
    else:
        plain = [None if v != v else v for v in values.tolist()]
    known = [i for i in range(len(faces)) if plain[i] is not None]
    missing = [i for i in range(len(faces)) if plain[i] is None]
    return (
        sorted(known, key=lambda i: plain[i], reverse=False) + missing
        if not descending
        else _down(known, plain) + missing
    )


def _down(known: list[int], plain: list[object]) -> list[int]:
    # reverse=True keeps the order of equals in Python, as wanted here
    return sorted(known, key=lambda i: plain[i], reverse=True)


@pytest.mark.parametrize("n", [0, 1, 2, 57])
@pytest.mark.parametrize("column", ["path", "identity", "score", "narrow", "count", "colour"])
@pytest.mark.parametrize("descending", [False, True])
def test_order_against_a_plain_sort(n: int, column: str, descending: bool) -> None:
    faces = made(n, seed=n)
    assert faces.order_by(column, descending=descending).tolist() == slow_order(faces, column, descending=descending)


def test_order_of_infinities_and_all_missing() -> None:
    faces = made(4).with_columns({"x": np.array([np.inf, -np.inf, np.nan, 0.0]), "none": np.full(4, np.nan)})
    assert faces.order_by("x").tolist() == [1, 3, 0, 2]
    assert faces.order_by("x", descending=True).tolist() == [0, 3, 1, 2]
    assert faces.order_by("none").tolist() == [0, 1, 2, 3]


def test_order_of_integers_beyond_float_precision() -> None:
    faces = made(3).with_columns({"x": np.array([2**62 + 1, 2**62, 2**62 - 1])})
    assert faces.order_by("x").tolist() == [2, 1, 0]
    assert faces.order_by("x", descending=True).tolist() == [0, 1, 2]


def test_order_is_a_permutation_under_shuffling() -> None:
    faces = made(57)
    rows = np.random.default_rng(1).permutation(57)
    mixed = faces.take(rows)
    a = faces.columns["score"][faces.order_by("score")]
    b = mixed.columns["score"][mixed.order_by("score")]
    np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("n", [0, 1, 57])
def test_rows_of_against_a_loop(n: int) -> None:
    faces = made(n)
    rng = np.random.default_rng(2)
    wanted = np.concatenate([faces.ids[rng.permutation(n)], np.array([5, -1], np.int64)])
    known = faces.ids.tolist()
    assert faces.rows_of(wanted).tolist() == [known.index(i) for i in wanted.tolist() if i in known]
    assert faces.row_of(None) is None and faces.row_of(5) is None
    assert all(faces.row_of(i) == row for row, i in enumerate(known))


@pytest.mark.parametrize("rows", [[], [3], [5, 2, 9, 2]])
def test_take_against_single_rows(rows: list[int]) -> None:
    faces = made(12)
    taken = faces.take(np.array(rows, np.int64))
    assert len(taken) == len(rows)
    for new, old in enumerate(rows):
        assert taken.paths[new] == faces.paths[old]
        assert taken.identity.name(new) == faces.identity.name(old)
        assert taken.columns["colour"].name(new) == faces.columns["colour"].name(old)
        assert taken.ids[new] == faces.ids[old]
        np.testing.assert_array_equal(taken.landmarks[new], faces.landmarks[old])
    assert all(name in {faces.identity.name(row) for row in rows} for name in taken.identity.names)


def test_ids_belong_to_paths_not_to_rows() -> None:
    faces = made(20)
    again = FaceSet.build("other", Path("/else"), paths=list(faces.paths)[::-1], identities=[None] * 20)
    assert again.ids.tolist() == faces.ids.tolist()[::-1]
    assert (face_ids([b"a"], source="x") != face_ids([b"a"])).all()


def test_the_same_path_twice_is_refused() -> None:
    with pytest.raises(InputError, match="twice"):
        FaceSet.build("g", Path("."), paths=["a", "b", "a"], identities=[None] * 3)


def test_a_short_column_is_refused() -> None:
    with pytest.raises(InputError, match="identity"):
        FaceSet.build("g", Path("."), paths=["a", "b"], identities=[None])
    with pytest.raises(InputError, match="x"):
        FaceSet.build("g", Path("."), paths=["a"], identities=[None], columns={"x": np.zeros(2)})


def test_arrays_are_read_only_and_travel_by_pickle() -> None:
    faces = made(9)
    with pytest.raises(ValueError, match="read-only"):
        faces.columns["score"][0] = 1
    with pytest.raises(TypeError):
        faces.columns["new"] = np.zeros(9)  # type: ignore[index]
    again = pickle.loads(pickle.dumps(faces))
    assert again.digest == faces.digest and list(again.paths) == list(faces.paths)


def test_digest_follows_the_identities() -> None:
    one = FaceSet.build("g", Path("."), paths=["a", "b"], identities=["x", "y"])
    two = FaceSet.build("g", Path("."), paths=["a", "b"], identities=["x", "x"])
    assert one.digest != two.digest


def test_labels_counts_and_missing() -> None:
    labels = Labels.of(["b", None, "a", "", "b"])
    assert labels.names == ("a", "b") and labels.counts().tolist() == [1, 2]
    assert [labels.name(i) for i in range(5)] == ["b", "", "a", "", "b"]
    assert Labels.of([]).counts().tolist() == []


def test_many_ids_are_found_as_few_are(monkeypatch: pytest.MonkeyPatch) -> None:
    faces = FaceSet.build("g", Path("."), paths=[f"{i}.png" for i in range(60)], identities=["a"] * 60)
    rng = np.random.default_rng(0)
    for ids in (faces.ids, faces.ids[::-1], rng.choice(faces.ids, 40), np.append(faces.ids[5:30], [-1, 2**62])):
        rows = faces.rows_of(ids)
        assert rows.tolist() == [at for one in ids.tolist() if (at := faces.row_of(one)) is not None]
        with monkeypatch.context() as patched:
            patched.setattr(faceset, "MANY", 3)
            assert faces.rows_of(ids).tolist() == rows.tolist()
