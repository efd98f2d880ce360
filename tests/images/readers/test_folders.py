from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from facelens.errors import Cancelled, InputError
from facelens.images import readers
from facelens.images.faceset import Labels
from facelens.images.readers import folders

PNG = b"\x89PNG"


def plant(root: Path, *names: str | bytes) -> Path:
    for name in names:
        path = os.path.join(os.fsencode(root), os.fsencode(name))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as stream:
            stream.write(PNG)
    return root


def identities(root: Path, **options: object) -> dict[str, str]:
    faces = readers.read(root, options=options).faces
    return {os.fsdecode(faces.paths[row]): faces.identity.name(row) for row in range(len(faces))}


def test_one_folder_per_person(tmp_path: Path) -> None:
    plant(tmp_path, "bo/2.jpg", "ann/1.png", "ann/notes.txt", "bo/10.jpg", "ann/.hidden.jpg", ".git/x.jpg")
    found = identities(tmp_path)
    assert found == {"ann/.hidden.jpg": "ann", "ann/1.png": "ann", "bo/10.jpg": "bo", "bo/2.jpg": "bo"}
    assert list(found) == sorted(found)
    seen = readers.recognise(tmp_path)
    assert seen is not None and (seen.kind, seen.pictures, seen.identities) == ("folders", 4, 2)


def test_equal_names_in_two_branches_stay_apart_and_it_is_said(tmp_path: Path) -> None:
    plant(tmp_path, "a/ann/1.jpg", "b/ann/1.jpg", "b/bo/1.jpg")
    assert set(identities(tmp_path).values()) == {"a/ann", "b/ann", "b/bo"}
    reading = readers.read(tmp_path)
    assert any("ann" in note and "kept apart" in note for note in reading.notes)
    assert set(identities(tmp_path, identity="name").values()) == {"ann", "bo"}
    assert set(identities(tmp_path, identity="top").values()) == {"a", "b"}
    assert set(identities(tmp_path, identity="none").values()) == {""}
    with pytest.raises(InputError):
        identities(tmp_path, identity="sideways")


def test_what_all_have_in_common_is_no_part_of_the_name(tmp_path: Path) -> None:
    plant(tmp_path, "images/faces/ann/1.jpg", "images/faces/bo/1.jpg")
    assert set(identities(tmp_path).values()) == {"ann", "bo"}
    assert folders.folder_identities(["a"]) == {"a": "a"}
    assert folders.folder_identities(["x/a"]) == {"x/a": "a"}
    assert folders.folder_identities(["a", "a/b", ""]) == {"a": "a", "a/b": "a/b", "": ""}


def test_splits_become_a_column(tmp_path: Path) -> None:
    plant(tmp_path, "train/ann/1.jpg", "test/ann/2.jpg", "Val/bo/1.jpg")
    faces = readers.read(tmp_path).faces
    split = faces.columns["split"]
    assert isinstance(split, Labels)
    got = {faces.file_name(r) + faces.identity.name(r): split.name(r) for r in range(3)}
    assert got == {"1.jpgann": "train", "2.jpgann": "test", "1.jpgbo": "val"}


def test_people_called_test_are_people(tmp_path: Path) -> None:
    plant(tmp_path, "test/1.jpg", "train/1.jpg")
    assert set(identities(tmp_path).values()) == {"test", "train"}


def test_a_flat_folder_has_no_identities_unless_the_names_have(tmp_path: Path) -> None:
    plant(tmp_path / "x", "a.jpg", "b.jpg")
    assert set(identities(tmp_path / "x").values()) == {""}
    plant(tmp_path / "y", "Ann_Lee_0001.jpg", "Ann_Lee_0002.jpg", "Bo_0001.jpg")
    assert set(identities(tmp_path / "y").values()) == {"Ann_Lee", "Bo"}
    seen = readers.recognise(tmp_path / "y")
    assert seen is not None and seen.identities == 2 and "Name_0001" in seen.note
    plant(tmp_path / "z", "IMG_0001.jpg", "IMG_0002.jpg")  # a camera, not a person
    assert set(identities(tmp_path / "z").values()) == {""}


def test_pictures_outside_the_folders_are_counted(tmp_path: Path) -> None:
    plant(tmp_path, "ann/1.jpg", "loose.jpg")
    reading = readers.read(tmp_path)
    assert len(reading.faces) == 2
    assert any(note.startswith("1 picture lies outside") for note in reading.notes)


def test_links_are_left_out_and_counted_or_followed_once(tmp_path: Path) -> None:
    root = plant(tmp_path / "g", "ann/1.jpg", "ann/2.jpg")
    outside = plant(tmp_path / "o", "cy/9.jpg")
    (root / "loop").symlink_to(root)
    (root / "ann" / "self").symlink_to(root / "ann")
    (root / "ann" / "again.jpg").symlink_to(root / "ann" / "1.jpg")
    (root / "nowhere.jpg").symlink_to(root / "gone.jpg")
    (root / "cy").symlink_to(outside / "cy")
    reading = readers.read(root)
    assert len(reading.faces) == 2
    assert any("links were not followed" in note for note in reading.notes)
    reading = readers.read(root, options={"links": True})
    assert reading.notes == ("3 further names of files that are already listed were left out.",)  # no loop was walked
    followed = reading.faces
    targets = sorted(os.path.realpath(followed.path(row)) for row in range(len(followed)))
    assert targets == sorted(map(str, [root / "ann/1.jpg", root / "ann/2.jpg", outside / "cy/9.jpg"]))


def test_a_folder_of_links_says_so(tmp_path: Path) -> None:
    root = plant(tmp_path / "g", "ann/1.jpg")
    (tmp_path / "l").mkdir()
    (tmp_path / "l" / "1.jpg").symlink_to(root / "ann/1.jpg")
    with pytest.raises(InputError, match="links"):
        readers.read(tmp_path / "l")
    assert len(readers.read(tmp_path / "l", options={"links": True}).faces) == 1


def test_a_hard_link_is_the_same_file(tmp_path: Path) -> None:
    plant(tmp_path, "ann/1.jpg", "bo/1.jpg")
    os.link(tmp_path / "ann/1.jpg", tmp_path / "bo/2.jpg")
    reading = readers.read(tmp_path)
    assert len(reading.faces) == 2
    assert any("already listed" in note for note in reading.notes)


def test_forty_folders_deep(tmp_path: Path) -> None:
    plant(tmp_path, "/".join("abcdefgh"[i % 8] for i in range(40)) + "/1.jpg", "x/1.jpg")
    assert len(readers.read(tmp_path).faces) == 2
    deep = tmp_path / "deep"
    plant(deep, "/".join(["d"] * 70) + "/1.jpg", "x/1.jpg")
    reading = readers.read(deep)
    assert len(reading.faces) == 1 and any("too deep" in note for note in reading.notes)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="needs a user whom permissions bind")
def test_a_locked_folder_is_passed_over(tmp_path: Path) -> None:
    plant(tmp_path, "ann/1.jpg", "bo/1.jpg")
    (tmp_path / "bo").chmod(0)
    try:
        reading = readers.read(tmp_path)
        assert len(reading.faces) == 1 and any("could not be read: bo" in note for note in reading.notes)
    finally:
        (tmp_path / "bo").chmod(0o755)


def test_a_folder_that_cannot_be_listed_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(tmp_path, "ann/1.jpg", "bo/1.jpg")
    real = os.scandir

    def refuse(path: object) -> object:
        if os.fsencode(path).endswith(b"bo"):  # type: ignore[arg-type]
            raise PermissionError(13, "no")
        return real(path)  # type: ignore[call-overload]

    monkeypatch.setattr(os, "scandir", refuse)
    reading = readers.read(tmp_path)
    assert len(reading.faces) == 1 and any("could not be read: bo" in note for note in reading.notes)


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nothing at"):
        readers.read(tmp_path / "none")
    with pytest.raises(InputError, match="No pictures"):
        readers.read(tmp_path)
    assert readers.recognise(tmp_path) is None
    plant(tmp_path, "a.jpg", "b.xyz")
    with pytest.raises(InputError, match="single picture"):
        readers.read(tmp_path / "a.jpg")
    with pytest.raises(InputError, match="not a gallery"):
        readers.read(tmp_path / "b.xyz")
    with pytest.raises(InputError, match="no layout"):
        readers.read(tmp_path, kind="cube")


def test_recognising_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from facelens.images.readers import layout

    plant(tmp_path, *(f"p{i}/1.jpg" for i in range(30)))
    glance = layout.Glance(tmp_path, entries=20)
    assert len(glance.pictures()) < 20 and not glance.complete


def test_the_walk_can_be_cancelled(tmp_path: Path) -> None:
    plant(tmp_path, "a/1.jpg")

    def stop(done: int, total: int, note: str = "") -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        readers.read(tmp_path, tick=stop)


@pytest.mark.parametrize("seed", range(20))
def test_random_trees_list_every_file_once_under_its_own_folder(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    names = ["ann", "bo", "cy", "train"]
    files = {"/".join([*rng.choice(names, rng.integers(1, 4)), f"{rng.integers(0, 4)}.jpg"]) for _ in range(30)}
    plant(tmp_path, *sorted(files))
    found = identities(tmp_path)
    assert set(found) == files
    by_identity: dict[str, set[str]] = {}
    for path, identity in found.items():
        by_identity.setdefault(identity, set()).add(path.rpartition("/")[0])
    assert all(len(where) == 1 for where in by_identity.values())  # no two folders were merged


def test_present_against_asking_each(tmp_path: Path) -> None:
    plant(tmp_path, *(f"a/{i}.jpg" for i in range(6)), "b/1.jpg", "top.jpg")
    (tmp_path / "a" / "dir.jpg").mkdir()
    wanted = [
        b"a/0.jpg",
        b"a/5.jpg",
        b"a/9.jpg",
        b"a/1.jpg",
        b"b/1.jpg",
        b"b/2.jpg",
        b"top.jpg",
        b"",
        b"a",
        os.fsencode(tmp_path / "top.jpg"),
    ]
    expected = [bool(p) and os.path.isfile(os.path.join(os.fsencode(tmp_path), p)) for p in wanted]
    assert folders.present(tmp_path, wanted).tolist() == expected
