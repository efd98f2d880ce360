"""Maps on disk: found by what they were made of, taken over for nearly the same faces, never a damaged one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from facelens.analyses import keeping, layouts
from facelens.analyses.keeping import Kept, Shelf, digests
from facelens.analyses.measure import Measure
from facelens.analyses.plan import ProjectionPlan
from facelens.analyses.projection import project
from facelens.features.featureset import FeatureSet, Provenance
from facelens.images.faceset import FaceSet


def vectors(n: int = 40, d: int = 8, seed: int = 0) -> np.ndarray:
    x = np.random.default_rng(seed).normal(size=(n, d)).astype(np.float32)
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def kept(x: np.ndarray, **more: Any) -> Kept:
    points = np.random.default_rng(1).normal(size=(len(x), 2)).astype(np.float32)
    return Kept(points, digests(x), (0.4, 0.2), Measure(0.93, n=10), **more)


def test_a_digest_belongs_to_a_vector_not_to_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    x, order = vectors(), np.random.default_rng(2).permutation(40)
    found = digests(x)
    np.testing.assert_array_equal(digests(x[order]), found[order])
    assert len(np.unique(found)) == 40
    changed = x.copy()
    changed[7, 3] = np.nextafter(changed[7, 3], np.float32(9))
    assert np.flatnonzero(digests(changed) != found).tolist() == [7]
    monkeypatch.setattr(keeping, "BLOCK", 24)
    np.testing.assert_array_equal(digests(x), found)
    assert not np.isin(digests(x, vectors(seed=3)), found).any(), "a pair is not one of its vectors"


def test_equal_vectors_have_digests_of_their_own() -> None:
    x = vectors()
    x[[3, 9, 20]] = x[0]
    found = digests(x)
    assert len(np.unique(found)) == 40 and np.ptp(found[[0, 3, 9, 20]]) == 3


def test_a_shelf_gives_back_what_was_put_there(tmp_path: Path) -> None:
    x, shelf = vectors(), Shelf(tmp_path, ("umap", 15, 0))
    assert shelf.same(digests(x)) is None and shelf.like(digests(x)) is None
    made = kept(x, other=vectors(40, 2), other_quality=Measure.none("too few", n=3))
    shelf.put(made)
    found = shelf.same(digests(x))
    assert found is not None and found.other is not None
    np.testing.assert_array_equal(found.points, made.points)
    np.testing.assert_array_equal(found.other, made.other)
    assert (found.shares, found.quality, found.other_quality) == (made.shares, made.quality, made.other_quality)
    assert Shelf(tmp_path, ("umap", 16, 0)).same(digests(x)) is None, "of other settings"


def test_a_map_of_nearly_the_same_faces_is_like_it(tmp_path: Path) -> None:
    x, new, shelf = vectors(), vectors(3, seed=9), Shelf(tmp_path, ("umap",))
    made = kept(x)
    shelf.put(made)
    found = shelf.like(digests(np.vstack([new, x[:0:-1]])))  # 39 of 40, in another order, and 3 new ones
    assert found is not None
    assert found[1].tolist() == [-1, -1, -1, *range(39, 0, -1)]
    assert shelf.like(digests(x[:20])) is None, "half of them is another map"
    assert shelf.like(digests(np.vstack([x, vectors(20, seed=8)]))) is None, "too many are new"


@pytest.mark.parametrize(
    "spoil",
    [
        {"points": np.zeros((40, 3), np.float32)},
        {"points": np.full((40, 2), np.nan, np.float32)},
        {"points": np.zeros((40, 2), np.float64)},
        {"digests": np.zeros(39, np.uint64)},
        {"said": np.array("{")},
        {"said": np.array('{"shares": [1]}')},
    ],
)
def test_a_file_that_is_not_right_is_no_map(spoil: dict[str, Any], tmp_path: Path) -> None:
    x, shelf = vectors(), Shelf(tmp_path, ())
    shelf.put(kept(x))
    path = shelf.place(digests(x))
    with np.load(path) as file:
        np.savez(path, **({name: file[name] for name in file.files} | spoil))
    assert shelf.same(digests(x)) is None and shelf.like(digests(x)) is None


def test_a_folder_that_cannot_be_written_costs_nothing(tmp_path: Path) -> None:
    place = tmp_path / "file"
    place.write_text("no folder")
    Shelf(place, ()).put(kept(vectors()))
    assert place.read_text() == "no folder"


def test_new_faces_are_placed_beside_their_nearest_and_it_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []

    def umap(x: Any, start: Any, **how: Any) -> Any:
        made.append(len(x))
        return start * 10

    monkeypatch.setattr(layouts, "umap", umap)
    x = vectors(60)
    x[59] = x[0] + 0.01

    def gallery(n: int) -> tuple[FaceSet, FeatureSet]:
        faces = FaceSet.build("g", Path("."), paths=[f"{i}.png" for i in range(n)], identities=["a"] * n)
        return faces, FeatureSet(faces.ids, x[:n], Provenance("x", "net"))

    plan = ProjectionPlan(model="net")
    faces, features = gallery(57)
    before = project(faces, plan, features=features, folder=tmp_path)
    more, further = gallery(60)
    found = project(more, plan, features=further, folder=tmp_path, refine=False)
    assert made == [57] and found.final and found.borrowed == 57
    np.testing.assert_array_equal(found.points[:57], before.points)
    assert np.linalg.norm(found.points[59] - before.points[0]) < 0.2 * np.ptp(before.points)
    assert found.notes == ("The map is one of 57 faces from before; 3 new ones are placed beside their nearest.",)
    anew = project(more, plan, features=further, folder=tmp_path, anew=True)
    assert made == [57, 60] and not anew.borrowed and not anew.notes
