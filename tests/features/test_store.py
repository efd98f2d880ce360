"""The feature store: what goes in comes out, in the order asked for, never for another picture, model or feeding."""

from __future__ import annotations

import json
import os
import pickle
import stat
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from facelens.errors import DiskFull, InputError
from facelens.features import shard, store
from facelens.features.card import Card
from facelens.features.store import Damaged, MappedFeatures, Store, fingerprint, picture_keys
from facelens.images.faceset import FaceSet, Opened

D = 8
CARD = Card("test net", "small", dimensions=D)
WEIGHTS = "ab" * 32


def gallery(root: Path, n: int = 40, *, pictures: bool = False) -> FaceSet:
    if pictures:
        root.mkdir(exist_ok=True)
        for i in range(n):
            (root / f"{i:03}.jpg").write_bytes(b"x" * (i + 1))
    return FaceSet.build("g", root, paths=[f"{i:03}.jpg" for i in range(n)], identities=[f"p{i % 5}" for i in range(n)])


def vectors_of(n: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, D)).astype(np.float32)


def made(root: Path, faces: FaceSet, *, parts: int = 0) -> Store:
    name = fingerprint(faces, weights=WEIGHTS, card=CARD)
    return Store.create(root, name, card=CARD, weights=WEIGHTS, gallery=faces.name, parts=parts)


def filled(root: Path, faces: FaceSet, vectors: np.ndarray, *, shards: int = 1) -> Store:
    kept = made(root, faces)
    with kept.writer(total=len(faces)) as writer:
        for rows in np.array_split(np.arange(len(faces)), shards):
            writer.append(faces.ids[rows], vectors[rows], keys=picture_keys(faces, rows))
            writer.flush()
    return kept


def files(kept: Store) -> list[Path]:
    return sorted(kept.folder.glob("*.arrow"))


@pytest.mark.parametrize("shards", [1, 3])
def test_what_goes_in_comes_out(tmp_path: Path, shards: int) -> None:
    faces, vectors = gallery(tmp_path / "g"), vectors_of(40)
    filled(tmp_path / "cache", faces, vectors, shards=shards)
    again = Store.open(tmp_path / "cache", fingerprint(faces, weights=WEIGHTS, card=CARD))
    assert len(again) == 40 and len(files(again)) == shards and not len(again.missing(faces))
    found = again.features(faces)
    np.testing.assert_array_equal(found.ids, faces.ids)
    np.testing.assert_array_equal(found.vectors, vectors)
    np.testing.assert_allclose(found.norms, np.linalg.norm(vectors, axis=1), rtol=1e-6)
    assert not found.vectors.flags.writeable and not found.norms.flags.writeable
    assert found.confidence is None and found.provenance.card == CARD and found.provenance.weights == WEIGHTS
    assert found.provenance.model == "test net" and "numpy" in found.provenance.versions
    assert again.size == sum(path.stat().st_size for path in again.folder.iterdir()) and again.notice == ""


def test_vectors_follow_a_gallery_that_moves(tmp_path: Path) -> None:
    """Those of pictures that are still the same; the old store stays, and no other model's is taken."""
    faces, vectors, root = gallery(tmp_path / "g", pictures=True), vectors_of(40), tmp_path / "cache"
    old = filled(root, faces, vectors, shards=3)
    os.rename(tmp_path / "g", tmp_path / "moved")
    moved = gallery(tmp_path / "moved")
    (tmp_path / "moved" / "007.jpg").write_bytes(b"another picture")
    name = fingerprint(moved, weights=WEIGHTS, card=CARD)
    for other in (fingerprint(moved, weights="cd" * 32, card=CARD), fingerprint(moved, weights=WEIGHTS, card=CARD)[:8]):
        store.follow(moved, root, old.fingerprint, other)
    for hostile in ("../../etc", "", "f" * 32):
        store.follow(moved, root, hostile, name)
    assert [path.name for path in root.iterdir()] == [old.fingerprint]
    store.follow(moved, root, old.fingerprint, name)
    found = Store.open(root, name).features(moved)
    same = np.delete(np.arange(40), 7)
    np.testing.assert_array_equal(found.ids, moved.ids[same])
    np.testing.assert_array_equal(found.vectors, vectors[same])
    assert Store.open(root, name).missing(moved).tolist() == [7] and len(Store.open(root, old.fingerprint)) == 40


def test_where_the_gallery_was_opened_from_is_kept(tmp_path: Path) -> None:
    from facelens.images import readers

    (tmp_path / "g" / "ann").mkdir(parents=True)
    (tmp_path / "g" / "ann" / "1.jpg").write_bytes(b"\xff\xd8")
    faces = readers.read(tmp_path / "g", kind="folders", options={"root": "x"}).faces
    assert pickle.loads(pickle.dumps(faces)).opened == faces.opened
    name = fingerprint(faces, weights=WEIGHTS, card=CARD)
    cache = tmp_path / "cache"
    assert Store.create(cache, name, card=CARD).opened is None
    kept = Store.create(cache, name, card=CARD, opened=faces.opened)  # a store of an earlier version learns it
    assert kept.opened == Opened(tmp_path / "g", "folders", {"root": "x"})
    assert Store.create(cache, name, card=CARD).opened == Store.open(cache, name).opened == faces.opened
    elsewhere = Opened(tmp_path / "g" / "list.csv")
    Store.create(cache, name, card=CARD, opened=elsewhere)
    assert Store.open(cache, name).opened == elsewhere
    assert faces.take(np.array([0])).opened == faces.opened


def test_the_order_of_the_faces_asked_for(tmp_path: Path) -> None:
    faces, vectors = gallery(tmp_path / "g"), vectors_of(40)
    kept = filled(tmp_path / "cache", faces, vectors, shards=3)
    order = np.random.default_rng(1).permutation(40)[:17]
    found = kept.features(faces.take(order))
    np.testing.assert_array_equal(found.ids, faces.ids[order])
    np.testing.assert_array_equal(found.vectors, vectors[order])
    np.testing.assert_array_equal(kept.features().ids, faces.ids)  # without faces: as stored


def test_rows_that_lie_together_are_mapped_others_gathered(tmp_path: Path) -> None:
    faces, vectors = gallery(tmp_path / "g"), vectors_of(40)
    kept = filled(tmp_path / "cache", faces, vectors)
    whole, part = kept.features(faces), kept.features(faces.take(np.arange(5, 30)))
    assert isinstance(whole, MappedFeatures) and isinstance(part, MappedFeatures)
    assert np.shares_memory(whole.vectors, part.vectors)
    np.testing.assert_array_equal(part.vectors, vectors[5:30])
    backwards = kept.features(faces.take(np.arange(40)[::-1]))
    assert not isinstance(backwards, MappedFeatures)
    np.testing.assert_array_equal(backwards.vectors, vectors[::-1])


def test_missing_is_what_no_shard_holds(tmp_path: Path) -> None:
    faces, vectors = gallery(tmp_path / "g"), vectors_of(40)
    kept = made(tmp_path / "cache", faces)
    assert len(kept.missing(faces)) == 40 and len(kept.features(faces)) == 0 and len(kept.features()) == 0
    assert kept.features(faces).vectors.shape == (0, D)
    with kept.writer() as writer:
        writer.append(faces.ids[10:20], vectors[10:20])
        assert len(kept.missing(faces)) == 40 and writer.kept == 0  # not on disk yet
        assert writer.flush() == 10 and writer.flush() == 10
        assert kept.missing(faces).tolist() == [*range(10), *range(20, 40)]
    found = kept.features(faces)
    np.testing.assert_array_equal(found.ids, faces.ids[10:20])
    grown = gallery(tmp_path / "g", 50)  # a gallery that grows keeps its store
    assert fingerprint(grown, weights=WEIGHTS, card=CARD) == kept.fingerprint
    assert kept.missing(grown).tolist() == [*range(10), *range(20, 50)]


def test_confidence_comes_along(tmp_path: Path) -> None:
    faces, vectors = gallery(tmp_path / "g"), vectors_of(40)
    sure = np.random.default_rng(2).random((40, 3)).astype(np.float32)
    kept = made(tmp_path / "cache", faces, parts=3)
    with kept.writer() as writer:
        writer.append(faces.ids[:20], vectors[:20], confidence=sure[:20])
        writer.flush()
        writer.append(faces.ids[20:], vectors[20:], confidence=sure[20:])
        with pytest.raises(ValueError):
            writer.append(faces.ids[:1], vectors[:1])
    np.testing.assert_array_equal(kept.features(faces).confidence, sure)
    kept.compact()
    np.testing.assert_array_equal(kept.features(faces).confidence, sure)
    np.testing.assert_array_equal(kept.features(faces.take(np.array([7, 3]))).confidence, sure[[7, 3]])


def test_the_last_of_two_wins(tmp_path: Path) -> None:
    faces = gallery(tmp_path / "g")
    old, new = vectors_of(40), vectors_of(40, 1)
    kept = filled(tmp_path / "cache", faces, old)
    with kept.writer() as writer:
        writer.append(faces.ids[5:9], old[5:9])
        writer.append(faces.ids[5:9], new[5:9])
    expected = old.copy()
    expected[5:9] = new[5:9]
    np.testing.assert_array_equal(kept.features(faces).vectors, expected)
    assert len(kept) == 40 and len(kept.features()) == 40
    kept.compact(faces)
    assert len(files(kept)) == 1
    np.testing.assert_array_equal(kept.features().vectors, expected)


def test_useless_vectors_are_kept_and_named(tmp_path: Path) -> None:
    faces, vectors = gallery(tmp_path / "g"), vectors_of(40)
    vectors[3], vectors[4, 2], vectors[5, 0] = 0, np.nan, np.inf
    found = filled(tmp_path / "cache", faces, vectors).features(faces)
    np.testing.assert_array_equal(found.invalid, faces.ids[[3, 4, 5]])
    assert len(filled(tmp_path / "cache", faces, vectors).missing(faces)) == 0
    units, there = found.unit(faces.ids)
    assert there.sum() == 37 and np.isfinite(units).all()


def test_a_writer_copies_what_it_is_given(tmp_path: Path) -> None:
    faces, vectors = gallery(tmp_path / "g"), vectors_of(40)
    kept, room = made(tmp_path / "cache", faces), np.zeros((10, D), np.float32)
    with kept.writer() as writer:
        for start in range(0, 40, 10):
            room[:] = vectors[start : start + 10]
            writer.append(faces.ids[start : start + 10], room)
    np.testing.assert_array_equal(kept.features(faces).vectors, vectors)


def test_a_writer_makes_shards_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "FLUSH_ROWS", 16)
    faces, vectors = gallery(tmp_path / "g"), vectors_of(40)
    kept = made(tmp_path / "cache", faces)
    with kept.writer() as writer:
        for i in range(40):
            writer.append(faces.ids[i : i + 1], vectors[i : i + 1])
        assert writer.kept == 32
    assert len(files(kept)) == 3
    with pytest.raises(ValueError, match="closed"):
        writer.append(faces.ids[:1], vectors[:1])


def test_what_has_come_is_kept_when_a_job_is_stopped(tmp_path: Path) -> None:
    faces, vectors = gallery(tmp_path / "g"), vectors_of(40)
    kept = made(tmp_path / "cache", faces)

    def stopped() -> None:
        with kept.writer() as writer:
            writer.append(faces.ids[:11], vectors[:11])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped()
    assert kept.missing(faces).tolist() == list(range(11, 40))


def test_wrong_dimensions_are_said(tmp_path: Path) -> None:
    faces = gallery(tmp_path / "g")
    kept = made(tmp_path / "cache", faces)
    with kept.writer() as writer, pytest.raises(InputError, match="gives 5 dims, its store has 8"):
        writer.append(faces.ids[:2], np.zeros((2, 5), np.float32))
    with pytest.raises(InputError, match="has 8 dims, the model gives 9"):
        Store.create(tmp_path / "cache", kept.fingerprint, card=CARD.changed(dimensions=9))


# Stale: each ingredient of a vector


def test_each_ingredient_gives_another_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    faces = gallery(tmp_path / "g")
    names = [fingerprint(faces, weights=WEIGHTS, card=CARD), fingerprint(faces, weights="cd" * 32, card=CARD)]
    changes = [
        {"size": (112, 96)},
        {"order": "BGR"},
        {"mean": (0.0, 0.0, 0.0)},
        {"std": (1.0, 1.0, 1.0)},
        {"template": "none"},
        {"crop": (1, 1, 90, 90)},
        {"flip": True},
        {"dimensions": 9},
        {"architecture": "other"},
        {"options": {"parts": 4}},
    ]
    names += [fingerprint(faces, weights=WEIGHTS, card=CARD.changed(**change)) for change in changes]
    names.append(fingerprint(gallery(tmp_path / "h"), weights=WEIGHTS, card=CARD))
    monkeypatch.setattr(store, "PREPROCESSING", store.PREPROCESSING + 1)
    names.append(fingerprint(faces, weights=WEIGHTS, card=CARD))
    assert len(set(names)) == len(names)
    monkeypatch.undo()
    assert fingerprint(faces, weights=WEIGHTS, card=CARD.changed(name="x", licence="MIT", notes="n")) == names[0]


def test_a_changed_picture_is_stale(tmp_path: Path) -> None:
    faces, vectors = gallery(tmp_path / "g", pictures=True), vectors_of(40)
    kept = filled(tmp_path / "cache", faces, vectors)
    before = kept.features(faces).provenance.fingerprint
    assert not len(kept.missing(faces))
    (tmp_path / "g" / "007.jpg").write_bytes(b"larger than it was")
    told = os.stat(tmp_path / "g" / "008.jpg")
    os.utime(tmp_path / "g" / "008.jpg", ns=(told.st_atime_ns, told.st_mtime_ns + 1))
    assert kept.missing(faces).tolist() == [7, 8]
    np.testing.assert_array_equal(kept.features(faces).ids, np.delete(faces.ids, [7, 8]))
    assert not len(kept.missing(faces, lazy=True)) and len(kept.features(faces, lazy=True)) == 40
    with kept.writer() as writer:
        writer.append(faces.ids[7:9], vectors[7:9] + 1, keys=picture_keys(faces, np.array([7, 8])))
    assert not len(kept.missing(faces))
    np.testing.assert_array_equal(kept.features(faces).vectors[7:9], vectors[7:9] + 1)
    assert kept.features(faces).provenance.fingerprint != before


def test_a_picture_that_is_gone_keeps_its_vector(tmp_path: Path) -> None:
    faces, vectors = gallery(tmp_path / "g", pictures=True), vectors_of(40)
    kept = filled(tmp_path / "cache", faces, vectors)
    (tmp_path / "g" / "007.jpg").unlink()
    assert not len(kept.missing(faces)) and len(kept.features(faces)) == 40


def test_moved_landmarks_are_another_alignment(tmp_path: Path) -> None:
    plain = gallery(tmp_path / "g", pictures=True)
    points = np.random.default_rng(0).random((40, 5, 2)).astype(np.float32)
    points[3] = np.nan
    with_points = FaceSet(plain.name, plain.root, plain.paths, plain.identity, landmarks=points, ids=plain.ids)
    moved = points.copy()
    moved[11, 2, 1] += 0.25
    shifted = FaceSet(plain.name, plain.root, plain.paths, plain.identity, landmarks=moved, ids=plain.ids)
    a, b, c = picture_keys(plain), picture_keys(with_points), picture_keys(shifted)
    assert (a != b).all() and np.flatnonzero(b != c).tolist() == [11] and (a > 0).all()
    np.testing.assert_array_equal(picture_keys(shifted, np.array([11, 3])), c[[11, 3]])


def test_pictures_inside_a_container_have_its_state(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(b"12")
    faces = FaceSet.build("b", tmp_path, paths=["a.bin/0", "a.bin/1"], identities=["x", "y"], embedded=True)
    before = picture_keys(faces)
    assert (before > 0).all()
    (tmp_path / "a.bin").write_bytes(b"123")
    assert (picture_keys(faces) != before).all()


# Merging, deleting, listing


def test_merging_keeps_everything_in_the_order_of_the_faces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    faces, vectors = gallery(tmp_path / "g"), vectors_of(40)
    order = np.random.default_rng(3).permutation(40)
    kept = filled(tmp_path / "cache", faces.take(order), vectors[order], shards=7)
    held = kept.features(faces.take(order[:5]), lazy=True)
    kept.compact(faces.take(np.arange(30)))
    assert len(files(kept)) == 1
    whole = kept.features(faces.take(np.arange(30)))
    assert isinstance(whole, MappedFeatures)
    np.testing.assert_array_equal(whole.vectors, vectors[:30])
    np.testing.assert_array_equal(kept.features(faces).vectors, vectors)
    np.testing.assert_array_equal(held.vectors, vectors[order[:5]])  # what was handed out outlives its file
    before = files(kept)
    kept.compact(faces.take(np.arange(30)))  # nothing to do
    assert files(kept) == before
    monkeypatch.setattr(store, "SCRATCH", 100)  # large ones go through a file
    kept.compact(faces.take(np.arange(40)[::-1]))
    np.testing.assert_array_equal(kept.features().vectors, vectors[::-1])
    assert sorted(p.name for p in kept.folder.iterdir()) == sorted([files(kept)[0].name, "store.json"])


def test_deleting_leaves_nothing(tmp_path: Path) -> None:
    faces, vectors = gallery(tmp_path / "g"), vectors_of(40)
    root = tmp_path / "cache"
    kept = filled(root, faces, vectors)
    held = kept.features(faces)
    kept.purge()
    assert not list(root.rglob("*")) and len(kept.missing(faces)) == 40
    if os.name == "posix":
        np.testing.assert_array_equal(held.vectors, vectors)
    with pytest.raises(InputError, match="no cached features"):
        Store.open(root, kept.fingerprint)
    filled(root, faces, vectors)
    (root / ".0123456789abcdef.00000000.deleted").mkdir()
    (root / "readme").write_text("not ours")
    store.purge(root)
    assert os.listdir(root) == ["readme"]
    store.purge(tmp_path / "nowhere")


def test_what_is_cached_is_listed(tmp_path: Path) -> None:
    assert store.stores(tmp_path / "cache") == []
    faces = gallery(tmp_path / "g")
    kept = filled(tmp_path / "cache", faces, vectors_of(40), shards=2)
    (info,) = store.stores(tmp_path / "cache")
    assert (info.fingerprint, info.gallery, info.model, info.weights) == (kept.fingerprint, "g", "test net", WEIGHTS)
    assert (info.rows, info.dimensions, info.size) == (40, D, kept.size) and info.changed > 0
    manifest = json.loads((kept.folder / "store.json").read_text())
    assert manifest["rows"] == 40 and manifest["weights"] == WEIGHTS and Card.from_json(manifest["card"]) == CARD


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_for_the_owner_alone(tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir(mode=0o755)
    kept = filled(tmp_path / "cache", gallery(tmp_path / "g"), vectors_of(40))
    assert stat.S_IMODE((tmp_path / "cache").stat().st_mode) == 0o700
    assert stat.S_IMODE(kept.folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in kept.folder.iterdir()} == {0o600}


def test_other_programs_open_a_shard(tmp_path: Path) -> None:
    import pyarrow as pa

    faces, vectors = gallery(tmp_path / "g"), vectors_of(40)
    kept = filled(tmp_path / "cache", faces, vectors)
    with pa.memory_map(str(files(kept)[0])) as source:
        table = pa.ipc.open_file(source).read_all()
    assert table.column_names == ["id", "norm", "key", "vector"]
    assert table["id"].to_pylist() == faces.ids.tolist()
    np.testing.assert_array_equal(np.array(table["vector"].to_pylist(), np.float32), vectors)


@pytest.mark.parametrize("shards", [1, 3])
def test_vectors_travel_by_name(tmp_path: Path, shards: int) -> None:
    faces, vectors = gallery(tmp_path / "g", pictures=True), vectors_of(40)
    kept = filled(tmp_path / "cache", faces, vectors, shards=shards)
    found = kept.features(faces.take(np.arange(4, 20)))
    parcel = pickle.dumps(found)
    assert len(parcel) < 2000
    assert pickle.loads(parcel) is found, "those that are in use"
    told = found.provenance
    del found
    again = pickle.loads(parcel)
    np.testing.assert_array_equal(again.vectors, vectors[4:20])
    assert again.provenance == told
    renamed = pickle.loads(pickle.dumps(replace(again, ids=again.ids + 1)))
    np.testing.assert_array_equal(renamed.vectors, vectors[4:20])
    del again
    with kept.writer() as writer:
        writer.append(faces.ids[5:6], vectors[5:6], keys=np.array([5], np.uint64))
    with pytest.raises(Damaged, match="changed meanwhile"):
        pickle.loads(parcel)


def test_equal_fingerprints_equal_vectors(tmp_path: Path) -> None:
    faces, vectors = gallery(tmp_path / "g", pictures=True), vectors_of(40)
    kept = filled(tmp_path / "cache", faces, vectors, shards=3)
    one = kept.features(faces).provenance.fingerprint
    kept.compact()
    assert kept.features(faces).provenance.fingerprint == kept.features().provenance.fingerprint == one
    assert kept.features(faces.take(np.arange(39))).provenance.fingerprint != one
    assert kept.features(faces.take(np.arange(40)[::-1])).provenance.fingerprint != one


# The disk


def test_no_room_is_said_before_work_is_spent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    faces = gallery(tmp_path / "g")
    kept = made(tmp_path / "cache", faces)
    monkeypatch.setattr(store, "free_bytes", lambda folder: 200_000_000)
    with pytest.raises(DiskFull, match=r"3\.1 GB needed, 200 MB free on .*0 of 60,000,000 kept") as told:
        with kept.writer(total=60_000_000):
            raise AssertionError
    assert "Resume" in told.value.hint


def test_a_disk_that_fills_up_keeps_what_was_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    faces, vectors = gallery(tmp_path / "g"), vectors_of(40)
    kept = made(tmp_path / "cache", faces)

    def fill() -> None:
        with kept.writer(total=40) as writer:
            writer.append(faces.ids[:25], vectors[:25])
            writer.flush()
            monkeypatch.setattr(store, "free_bytes", lambda folder: 1000)
            writer.append(faces.ids[25:], vectors[25:])
            writer.flush()

    with pytest.raises(DiskFull, match="25 of 40 kept"):
        fill()
    monkeypatch.undo()
    assert kept.missing(faces).tolist() == list(range(25, 40))


def test_left_over_parts_of_killed_writers_go(tmp_path: Path) -> None:
    faces, vectors = gallery(tmp_path / "g"), vectors_of(40)
    kept = filled(tmp_path / "cache", faces, vectors)
    old, new = kept.folder / ".old.part", kept.folder / ".new.part"
    old.write_bytes(b"x"), new.write_bytes(b"x")
    os.utime(old, (1, 1))
    with kept.writer():
        pass
    assert not old.exists() and new.exists()  # somebody may be writing the new one


def test_only_names_of_our_own_making(tmp_path: Path) -> None:
    for name in ("../../etc", "", "ABCDEF0123", "a/b"):
        with pytest.raises(ValueError):
            Store.open(tmp_path, name)
    faces, vectors = gallery(tmp_path / "g"), vectors_of(40)
    kept = filled(tmp_path / "cache", faces, vectors)
    (kept.folder / "notes.arrow").write_bytes(b"not ours")
    (kept.folder / "readme").write_bytes(b"not ours")
    assert not len(kept.missing(faces)) and not kept.damaged and (kept.folder / "notes.arrow").exists()


def test_a_lost_manifest_comes_back_from_a_shard(tmp_path: Path) -> None:
    faces, vectors = gallery(tmp_path / "g"), vectors_of(40)
    kept = filled(tmp_path / "cache", faces, vectors)
    path = kept.folder / "store.json"
    told = path.read_bytes()
    for bad in (None, b"", told[:100], told.replace(b'"dimensions": 8', b'"dimensions": 9'), b"[]", b"[" * 100_000):
        path.unlink() if bad is None else path.write_bytes(bad)
        again = Store.open(tmp_path / "cache", kept.fingerprint)
        np.testing.assert_array_equal(again.features(faces).vectors, vectors)
        assert json.loads(path.read_bytes())["dimensions"] == D


def test_a_store_of_a_newer_program_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    faces = gallery(tmp_path / "g")
    monkeypatch.setattr(store, "FORMAT", 2)
    kept = made(tmp_path / "cache", faces)
    monkeypatch.setattr(store, "FORMAT", 1)
    with pytest.raises(InputError, match="newer FaceLens"):
        Store.open(tmp_path / "cache", kept.fingerprint)


# Damage


def flip(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


def test_damaged_vectors_are_told_and_only_they_are_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shard, "BLOCK", 4 * D * 12)
    faces, vectors = gallery(tmp_path / "g"), vectors_of(40)
    kept = filled(tmp_path / "cache", faces, vectors)
    name = shard.Shard.named(files(kept)[0])
    assert name is not None
    flip(name.path, name.start + 4 * D * 14)
    again = Store.open(tmp_path / "cache", kept.fingerprint)
    found = again.features(faces)
    assert again.notice == "12 cached features were damaged and will be recomputed."
    left = np.delete(np.arange(40), np.arange(12, 24))
    np.testing.assert_array_equal(found.ids, faces.ids[left])
    np.testing.assert_array_equal(found.vectors, vectors[left])
    assert again.missing(faces).tolist() == list(range(12, 24))
    assert (name.path.with_name(name.path.name + ".damaged")).exists()
    with again.writer() as writer:
        writer.append(faces.ids[12:24], vectors[12:24])
    again.compact(faces)
    np.testing.assert_array_equal(again.features().vectors, vectors)
    assert not list(again.folder.glob("*.damaged"))


def test_lazy_features_are_verified_when_first_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shard, "BLOCK", 4 * D * 10)
    faces, vectors = gallery(tmp_path / "g"), vectors_of(40)
    kept = filled(tmp_path / "cache", faces, vectors)
    name = shard.Shard.named(files(kept)[0])
    assert name is not None
    flip(name.path, name.start + 4 * D * 14)
    again = Store.open(tmp_path / "cache", kept.fingerprint)
    found = again.features(faces, lazy=True)
    assert len(found) == 40 and found.dimensions == D and not again.damaged
    units, _ = found.unit(faces.ids[20:30])  # of blocks that are whole
    np.testing.assert_allclose(units, vectors[20:30] / np.linalg.norm(vectors[20:30], axis=1, keepdims=True), rtol=1e-6)
    with pytest.raises(Damaged, match="10 cached features were damaged"):
        found.unit(faces.ids[12:13])
    with pytest.raises(Damaged):
        found.vectors
    assert again.missing(faces).tolist() == list(range(10, 20))


def test_damage_that_cannot_be_moved_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    faces, vectors = gallery(tmp_path / "g"), vectors_of(40)
    kept = filled(tmp_path / "cache", faces, vectors, shards=2)
    flip(files(kept)[0], 200)

    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "replace", refuse)
    again = Store.open(tmp_path / "cache", kept.fingerprint)
    assert again.missing(faces).tolist() == list(range(20)) and again.damaged == 20
    assert len(again.features(faces)) == 20 and again.damaged == 20


# Against a dictionary


@pytest.mark.parametrize("seed", range(12))
def test_a_store_is_a_dictionary_on_disk(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    dice = np.random.default_rng(seed)
    monkeypatch.setattr(shard, "BLOCK", 4 * D * int(dice.integers(1, 20)))
    monkeypatch.setattr(store, "FLUSH_ROWS", int(dice.integers(5, 50)))
    monkeypatch.setattr(store, "SCRATCH", int(dice.choice([0, 1 << 20])))
    faces = gallery(tmp_path / "g", 60)
    kept, other = made(tmp_path / "cache", faces), made(tmp_path / "cache", faces)
    truth: dict[int, np.ndarray] = {}
    for _ in range(25):
        match dice.integers(7):
            case 0 | 1 | 2:
                with kept.writer() as writer:
                    for _ in range(int(dice.integers(1, 4))):
                        rows = dice.choice(60, int(dice.integers(0, 12)))
                        fresh = dice.normal(size=(len(rows), D)).astype(np.float32)
                        writer.append(faces.ids[rows], fresh)
                        truth.update(zip(faces.ids[rows].tolist(), fresh))
                        if dice.random() < 0.3:
                            writer.flush()
            case 3:
                kept = Store.open(tmp_path / "cache", kept.fingerprint)
            case 4:
                kept.compact(faces.take(dice.permutation(60)[:40]) if dice.random() < 0.5 else None)
            case 5:
                kept, other = other, kept  # as another process would have it
            case 6 if dice.random() < 0.1:
                kept.purge()
                truth = {}
        asked = faces.take(dice.permutation(60)[: int(dice.integers(1, 61))])
        found = kept.features(asked, lazy=bool(dice.integers(2)))
        assert found.ids.tolist() == [i for i in asked.ids.tolist() if i in truth]
        for face, vector in zip(found.ids.tolist(), found.vectors):
            np.testing.assert_array_equal(vector, truth[face])
        assert len(kept) == len(truth) == len(kept.features())
        assert kept.missing(asked).tolist() == [r for r, i in enumerate(asked.ids.tolist()) if i not in truth]
