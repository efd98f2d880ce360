"""The pieces of work the window asks for, called directly."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from facelens.errors import Cancelled, InputError
from facelens.images.faceset import FaceSet, Labels
from facelens.session import tasks


def gallery(root: Path, people: dict[str, int], *, start: int = 0) -> Path:
    n = start
    for name, count in people.items():
        (root / name).mkdir(parents=True)
        for i in range(count):
            pixels = np.random.default_rng(n).integers(0, 255, (8, 8, 3), np.uint8)
            Image.fromarray(pixels).resize((48, 48)).save(root / name / f"{i}.png")
            n += 1
    return root


def test_open_and_check(tmp_path: Path) -> None:
    ticks: list[int] = []
    reading = tasks.open_gallery(gallery(tmp_path / "g", {"A": 2, "B": 3}))
    assert len(reading.faces) == 5
    diagnosis = tasks.check_gallery(reading.faces, tick=lambda done, total, note="": ticks.append(done))
    assert diagnosis.faces == 5 and ticks


def test_a_gallery_without_pictures(tmp_path: Path) -> None:
    (tmp_path / "empty" / "A").mkdir(parents=True)
    with pytest.raises(InputError) as caught:
        tasks.open_gallery(tmp_path / "empty")
    assert "empty" in caught.value.message and caught.value.hint


def test_joined(tmp_path: Path) -> None:
    first = tasks.open_gallery(gallery(tmp_path / "one", {"A": 2, "B": 1})).faces
    second = tasks.open_gallery(gallery(tmp_path / "two", {"A": 1, "C": 2}, start=50)).faces
    first = first.with_columns({"blur": np.array([1.0, 2, 3]), "split": Labels.of(["x", "y", "x"])})
    second = second.with_columns({"blur": np.array([4.0, 5, 6]), "pose": np.array([7.0, 8, 9])})
    both = tasks.joined(first, second)
    assert len(both) == 6 and both.identity.names == ("A", "B", "C")
    assert [both.identity.name(i) for i in range(6)] == ["A", "A", "B", "A", "C", "C"]
    assert both.columns["blur"].tolist() == [1, 2, 3, 4, 5, 6]
    assert np.isnan(both.columns["pose"][:3]).all() and both.columns["pose"][3:].tolist() == [7, 8, 9]
    assert [both.columns["split"].name(i) for i in range(6)] == ["x", "y", "x", None, None, None] or (
        [both.columns["split"].name(i) or None for i in range(6)] == ["x", "y", "x", None, None, None]
    )
    assert np.array_equal(both.ids[:3], first.ids) and len(np.unique(both.ids)) == 6
    for row in range(6):
        source, place = (first, row) if row < 3 else (second, row - 3)
        assert both.path(row).resolve() == source.path(place).resolve()


def test_joined_landmarks(tmp_path: Path) -> None:
    one = tasks.open_gallery(gallery(tmp_path / "one", {"A": 1})).faces
    two = tasks.open_gallery(gallery(tmp_path / "two", {"B": 1}, start=9)).faces
    points = np.ones((1, 5, 2), np.float32)
    marked = FaceSet(one.name, one.root, one.paths, one.identity, {}, points, one.ids.copy())
    both = tasks.joined(marked, two)
    assert both.landmarks is not None
    assert both.landmarks[0].tolist() == points[0].tolist() and np.isnan(both.landmarks[1]).all()
    assert tasks.joined(one, two).landmarks is None


def test_the_same_gallery_twice_is_refused(tmp_path: Path) -> None:
    faces = tasks.open_gallery(gallery(tmp_path / "one", {"A": 2})).faces
    with pytest.raises(InputError, match="twice"):
        tasks.joined(faces, faces)


def test_two_sides_may_hold_the_same_pictures(tmp_path: Path) -> None:
    faces = tasks.open_gallery(gallery(tmp_path / "one", {"A": 2, "B": 1})).faces
    both = tasks.joined(faces, faces, apart=True)
    assert len(np.unique(both.ids)) == 6 and np.array_equal(both.ids[:3], faces.ids)
    assert [both.path(row) for row in range(3)] == [both.path(row) for row in range(3, 6)]
    tasks.build_protocol(faces, tmp_path / "g.bin", folds=1, per_fold=1)
    packed = tasks.open_gallery(tmp_path / "g.bin").faces
    assert len(tasks.joined(faces, packed, apart=True)) == 3 + len(packed)


def test_a_container_cannot_be_joined(tmp_path: Path) -> None:
    faces = tasks.open_gallery(gallery(tmp_path / "g", {"A": 4, "B": 4})).faces
    tasks.build_protocol(faces, tmp_path / "g.bin", folds=1, per_fold=2)
    packed = tasks.open_gallery(tmp_path / "g.bin").faces
    with pytest.raises(InputError, match=r"\.bin"):
        tasks.joined(faces, packed)


@pytest.mark.parametrize("name", ["pairs.txt", "pairs.bin"])
def test_build_protocol(tmp_path: Path, name: str) -> None:
    faces = tasks.open_gallery(gallery(tmp_path / "g", {"A": 4, "B": 4, "C": 3})).faces
    assert tasks.build_protocol(faces, tmp_path / name, folds=2, per_fold=3, seed=1) == 12
    first = (tmp_path / name).read_bytes()
    tasks.build_protocol(faces, tmp_path / f"again_{name}", folds=2, per_fold=3, seed=1)
    assert (tmp_path / f"again_{name}").read_bytes() == first, "the seed gives the list"


def test_build_protocol_can_be_stopped(tmp_path: Path) -> None:
    faces = tasks.open_gallery(gallery(tmp_path / "g", {"A": 4, "B": 4})).faces

    def stop(done: int, total: int, note: str = "") -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        tasks.build_protocol(faces, tmp_path / "pairs.txt", folds=1, per_fold=2, tick=stop)
    assert not (tmp_path / "pairs.txt").exists()


def test_imported_vectors_are_a_store_that_knows_its_gallery(tmp_path: Path) -> None:
    from facelens.features.store import Store, imported

    faces = tasks.open_gallery(gallery(tmp_path / "g", {"A": 2, "B": 3})).faces
    np.save(tmp_path / "v.npy", np.arange(20, dtype=np.float32).reshape(5, 4) + 1)
    first = tasks.import_vectors(tmp_path / "v.npy", faces, by_order=True, root=tmp_path / "s")
    assert first.store is not None and first.name == "v" and first.size > 0
    kept = Store.open(tmp_path / "s", first.store.name)
    assert kept.imported is not None and kept.imported["file"] == "v.npy" and kept.opened == faces.opened
    (tmp_path / "g" / "A" / "0.png").touch()  # vectors made elsewhere do not follow the state of the picture
    (again,) = tasks.kept_imports(faces, tmp_path / "s")
    np.testing.assert_array_equal(again.features.vectors, first.features.vectors)
    other = tasks.open_gallery(gallery(tmp_path / "h", {"A": 2})).faces
    assert imported(other, tmp_path / "s") == [] and tasks.kept_imports(other, tmp_path / "nowhere") == ()
