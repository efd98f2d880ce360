"""How the gallery is arranged."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from facelens.features.featureset import FeatureSet, Provenance
from facelens.images.faceset import FaceSet, Labels
from facelens.images.protocol import Pairs, Protocol
from facelens.session import workspace
from facelens.session.filters import FilterError
from facelens.session.workspace import Arrangement, Evaluated, Workspace, arranged

NONE = np.zeros(0, np.int64)


def gallery(n: int = 40, seed: int = 0) -> FaceSet:
    rng = np.random.default_rng(seed)
    names = [[None, "a", "b", "c"][i] for i in rng.integers(0, 4, n)]
    variance = rng.integers(0, 5, n) / 4
    variance[rng.random(n) < 0.2] = np.nan
    columns = {
        "variance": variance,
        "split": Labels.of([["x", "y", None][i] for i in rng.integers(0, 3, n)]),
        "age": rng.integers(0, 3, n),
    }
    return FaceSet.build("g", Path("/g"), paths=[f"{i:03d}.jpg" for i in range(n)], identities=names, columns=columns)


def naive(faces: FaceSet, arrangement: Arrangement, excluded: set[int]) -> list[int]:
    def key(column: str, row: int) -> tuple[bool, object]:
        values = faces.values(column)
        value = (values.name(row) or None) if isinstance(values, Labels) else float(values[row])
        return (value is None or value != value, value)

    def ordered(rows: list[int], column: str, descending: bool) -> list[int]:
        known = [row for row in rows if not key(column, row)[0]]
        missing = [row for row in rows if key(column, row)[0]]
        distinct = sorted({key(column, row)[1] for row in known}, reverse=descending)
        return [row for value in distinct for row in known if key(column, row)[1] == value] + missing

    rows = [row for row in range(len(faces)) if int(faces.ids[row]) not in excluded]
    if arrangement.filter:
        rows = [row for row in rows if faces.values("age")[row] > 0]
    if arrangement.sort:
        rows = ordered(rows, arrangement.sort, arrangement.descending)
    return ordered(rows, arrangement.group, False) if arrangement.group else rows


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("sort", ["", "path", "identity", "variance", "split", "age"])
@pytest.mark.parametrize("group", ["", "identity", "split", "age", "variance"])
@pytest.mark.parametrize("filter", ["", "age > 0"])
def test_arranged_is_filter_then_sort_then_group(seed: int, sort: str, group: str, filter: str) -> None:
    faces = gallery(seed=seed)
    for descending in (False, True):
        arrangement = Arrangement(filter, sort, descending, group)
        excluded = faces.ids[::7]
        got = arranged(faces, arrangement, excluded)
        assert got.tolist() == naive(faces, arrangement, set(excluded.tolist()))


def test_empty_galleries() -> None:
    assert Workspace().shown.tolist() == [] and Workspace().shown_ids.tolist() == []
    empty = gallery(0)
    assert Workspace(faces=empty, arrangement=Arrangement("a", "variance", True, "identity")).shown.tolist() == []


def test_shown_ids_follow() -> None:
    faces = gallery(5)
    workspace = Workspace(faces=faces, excluded=faces.ids[:1], arrangement=Arrangement(sort="path", descending=True))
    assert workspace.shown.tolist() == [4, 3, 2, 1]
    assert (workspace.shown_ids == faces.ids[[4, 3, 2, 1]]).all()
    assert workspace.shown is workspace.shown, "computed once"


def test_ids_of_another_gallery_exclude_nothing() -> None:
    faces = gallery(5)
    assert len(arranged(faces, Arrangement(), np.array([1, 2, 3]))) == 5


def test_bad_filter_is_told() -> None:
    with pytest.raises(FilterError, match="varience"):
        arranged(gallery(), Arrangement("varience > 1"), NONE)


def test_a_test_of_the_same_name_is_another_question() -> None:
    faces = gallery()
    vectors = FeatureSet(faces.ids, np.ones((40, 2), np.float32), Provenance("f", "net"))
    desk = Workspace(faces=faces, features={"net": vectors}, model_a="net")

    def asked(*rows: tuple[int, int]) -> tuple[object, ...]:
        pairs = Pairs(np.array(rows, np.int64), np.ones(len(rows), bool), np.zeros(len(rows), np.int32))
        return replace(desk, protocol=Protocol("pairs.txt", pairs)).question

    assert asked((0, 1)) == asked((0, 1)) != ()
    assert asked((0, 1)) != asked((0, 2)) and asked((0, 1)) != desk.question


def test_answers_are_kept_as_long_as_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    from types import SimpleNamespace

    def answer(name: str, pairs: int) -> Evaluated:
        report = SimpleNamespace(scores=SimpleNamespace(score=np.zeros(pairs)))
        return Evaluated((name,), SimpleNamespace(a=report, b=None))  # type: ignore[arg-type]

    monkeypatch.setattr(workspace, "KEPT_PAIRS", 100)
    state = Workspace()

    def names(new: Evaluated) -> list[object]:
        nonlocal state
        state = replace(state, evaluated=workspace.with_answer(state, new))
        return [old.question[0] for old in state.evaluated]

    assert [names(answer(name, 10)) for name in "abcde"][-1] == ["e", "d", "c", "b"]
    assert names(answer("d", 10)) == ["d", "e", "c", "b"]
    assert names(answer("big", 85)) == ["big", "d"]
    assert names(answer("huge", 200)) == ["huge"]
    assert names(answer("huge", 210)) == ["huge"]
