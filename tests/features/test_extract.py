"""Extraction: every face once, in order, with the state of its picture; memory, cancelling and bad pictures."""

from __future__ import annotations

import os
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from facelens.errors import Cancelled, DiskFull
from facelens.features import extract
from facelens.features.card import Card
from facelens.features.encoder import Encoded
from facelens.features.extract import embed
from facelens.features.store import Store
from facelens.images.faceset import FaceSet

CARD = Card("pixels", "pixels", size=(8, 8), template="none", dimensions=4)


class Pixels:
    """Vectors that say which picture it was: its first pixel and its mean."""

    card, dimensions, parts = CARD, 4, 0

    def __init__(self, *, confidence: bool = False) -> None:
        self.sizes: list[int] = []
        self.parts = 1 if confidence else 0

    def __call__(self, pictures: NDArray[np.uint8], *, patches: bool = False) -> Encoded:
        self.sizes.append(len(pictures))
        first = pictures[:, 0, 0].astype(np.float32)
        vectors = np.concatenate([first, pictures.reshape(len(pictures), -1).mean(1, keepdims=True)], 1)
        return Encoded(vectors.astype(np.float32), first[:, :1] if self.parts else None)


def gallery(folder: Path, n: int) -> FaceSet:
    folder.mkdir()
    for i in range(n):
        Image.new("RGB", (8, 8), (1 + i % 250, i // 250, 7)).save(folder / f"{i:04}.png")
    return FaceSet.build("g", folder, paths=[f"{i:04}.png" for i in range(n)], identities=["A"] * n)


def store(root: Path, *, parts: int = 0) -> Store:
    return Store.create(root, "0" * 32, card=CARD, dimensions=4, parts=parts)


def expected(rows: NDArray[np.int64]) -> NDArray[np.float32]:
    first = np.stack([1 + rows % 250, rows // 250, np.full(len(rows), 7)], 1).astype(np.float32)
    return np.concatenate([first, first.mean(1, keepdims=True)], 1)


def test_every_face_once(tmp_path: Path) -> None:
    faces, encoder = gallery(tmp_path / "g", 83), Pixels(confidence=True)
    kept = store(tmp_path / "s", parts=1)
    ticks: list[tuple[int, int]] = []
    done = embed(faces, encoder, kept, batch=16, tick=lambda done, total, note="": ticks.append((done, total)))
    assert (done.embedded, done.reused, done.skipped, done.notice) == (83, 0, (), "")
    assert done.sentence() == "83 faces embedded."
    assert encoder.sizes == [16] * 5 + [3] and ticks[0] == (0, 83) and ticks[-1] == (83, 83)
    found = kept.features(faces)
    np.testing.assert_array_equal(found.ids, faces.ids)
    np.testing.assert_allclose(found.vectors, expected(np.arange(83)), atol=1e-5)
    np.testing.assert_array_equal(found.confidence, found.vectors[:, :1])

    again = embed(faces, encoder, kept)
    assert (again.embedded, again.reused) == (0, 83) and len(encoder.sizes) == 6
    assert again.sentence() == "0 faces embedded, 83 were there already."


def test_pictures_that_changed_are_done_again(tmp_path: Path) -> None:
    faces, kept = gallery(tmp_path / "g", 20), store(tmp_path / "s")
    embed(faces, Pixels(), kept)
    Image.new("RGB", (8, 8), (200, 200, 200)).save(tmp_path / "g" / "0007.png")
    os.utime(tmp_path / "g" / "0007.png", ns=(1, 10**18))
    done = embed(faces, Pixels(), kept)
    assert (done.embedded, done.reused) == (1, 19)
    assert kept.features(faces).vectors[7].tolist() == [200, 200, 200, 200]


def test_a_picture_that_changes_while_it_is_read_is_done_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    faces, kept = gallery(tmp_path / "g", 5), store(tmp_path / "s")
    feed = extract.feed_face

    def changing(faces: FaceSet, row: int, card: Card) -> NDArray[np.uint8]:
        picture = feed(faces, row, card)
        if row == 3:
            os.utime(faces.path(3), ns=(1, 10**18))
        return picture

    monkeypatch.setattr(extract, "feed_face", changing)
    embed(faces, Pixels(), kept)
    assert kept.missing(faces).tolist() == [3]


def test_broken_pictures_are_skipped_with_a_reason(tmp_path: Path) -> None:
    faces, kept = gallery(tmp_path / "g", 50), store(tmp_path / "s")
    (tmp_path / "g" / "0003.png").write_bytes(b"")
    (tmp_path / "g" / "0011.png").write_bytes((tmp_path / "g" / "0012.png").read_bytes()[:50])
    (tmp_path / "g" / "0030.png").unlink()
    (tmp_path / "g" / "0031.png").write_text("no picture")
    done = embed(faces, Pixels(), kept, batch=8)
    assert dict(done.skipped) == {
        int(faces.ids[3]): "empty",
        int(faces.ids[11]): "truncated",
        int(faces.ids[30]): "missing",
        int(faces.ids[31]): "not a picture",
    }
    assert (done.embedded, done.sentence()) == (46, "46 faces embedded, 4 pictures skipped.")
    good = np.setdiff1d(np.arange(50), [3, 11, 30, 31])
    np.testing.assert_array_equal(kept.features(faces).ids, faces.ids[good])
    np.testing.assert_allclose(kept.features(faces).vectors, expected(good), atol=1e-5)


def test_points_in_one_place_skip_that_face(tmp_path: Path) -> None:
    faces, encoder = gallery(tmp_path / "g", 3), Pixels()
    encoder.card = CARD.changed(template="arcface112")
    points = np.full((3, 5, 2), np.nan, np.float32)
    points[1] = 4.0
    done = embed(replace(faces, landmarks=points), encoder, store(tmp_path / "s"))
    assert done.skipped == ((int(faces.ids[1]), "The five points of the face lie in one place."),)


@pytest.mark.parametrize("at", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("error", [MemoryError(), RuntimeError("CUDA out of memory. Tried to allocate 2 GiB")])
def test_memory_that_runs_out_halves_the_batch(tmp_path: Path, at: int, error: Exception) -> None:
    class Short(Pixels):
        calls = 0

        def __call__(self, pictures: NDArray[np.uint8], *, patches: bool = False) -> Encoded:
            self.calls += 1
            if self.calls == at:
                raise error
            return super().__call__(pictures)

    faces, kept, encoder = gallery(tmp_path / "g", 100), store(tmp_path / "s"), Short()
    done = embed(faces, encoder, kept, batch=12)
    assert done.embedded == 100 and max(encoder.sizes[at - 1 :]) == 6
    assert done.notice == "Memory ran out; the network took 6 pictures at a time from there on."
    np.testing.assert_allclose(kept.features(faces).vectors, expected(np.arange(100)), atol=1e-5)


@pytest.mark.parametrize("fits", [1, 2, 3, 5])
def test_memory_for_few_pictures(tmp_path: Path, fits: int) -> None:
    class Short(Pixels):
        def __call__(self, pictures: NDArray[np.uint8], *, patches: bool = False) -> Encoded:
            if len(pictures) > fits:
                raise MemoryError
            return super().__call__(pictures)

    faces, kept = gallery(tmp_path / "g", 30), store(tmp_path / "s")
    assert embed(faces, Short(), kept, batch=32).embedded == 30
    np.testing.assert_allclose(kept.features(faces).vectors, expected(np.arange(30)), atol=1e-5)


def test_memory_for_no_picture_at_all(tmp_path: Path) -> None:
    class Full(Pixels):
        device = "cuda"

        def __call__(self, pictures: NDArray[np.uint8], *, patches: bool = False) -> Encoded:
            if self.device == "cuda":
                raise RuntimeError("CUDA out of memory")
            return super().__call__(pictures)

        def use_processor(self) -> None:
            self.device = "cpu"

    faces, kept = gallery(tmp_path / "g", 10), store(tmp_path / "s")
    assert embed(faces, Full(), kept, batch=4).embedded == 10

    class Hopeless(Pixels):
        def __call__(self, pictures: NDArray[np.uint8], *, patches: bool = False) -> Encoded:
            raise MemoryError

    with pytest.raises(MemoryError):
        embed(faces, Hopeless(), store(tmp_path / "t"), batch=4)


def test_other_failures_of_the_network_are_no_memory_errors(tmp_path: Path) -> None:
    class Broken(Pixels):
        def __call__(self, pictures: NDArray[np.uint8], *, patches: bool = False) -> Encoded:
            if self.sizes:
                raise RuntimeError("shape mismatch")
            return super().__call__(pictures)

    faces, kept = gallery(tmp_path / "g", 30), store(tmp_path / "s")
    with pytest.raises(RuntimeError, match="shape mismatch"):
        embed(faces, Broken(), kept, batch=10)
    assert kept.missing(faces).tolist() == list(range(10, 30)), "what was finished is kept"


@pytest.mark.parametrize("at", [0, 1, 17, 40])
def test_cancelling_keeps_what_is_finished(tmp_path: Path, at: int) -> None:
    def stop(done: int, total: int, note: str = "") -> None:
        if done >= at:
            raise Cancelled

    faces, kept = gallery(tmp_path / "g", 60), store(tmp_path / "s")
    before = threading.active_count()
    with pytest.raises(Cancelled):
        embed(faces, Pixels(), kept, batch=10, tick=stop)
    assert threading.active_count() == before, "no thread is left behind"
    finished = -(-at // 10) * 10
    assert kept.missing(faces).tolist() == list(range(finished, 60))
    done = embed(faces, Pixels(), kept, batch=10)
    assert (done.embedded, done.reused) == (60 - finished, finished)
    np.testing.assert_allclose(kept.features(faces).vectors, expected(np.arange(60)), atol=1e-5)


def test_no_room_to_merge_is_no_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    faces, kept = gallery(tmp_path / "g", 10), store(tmp_path / "s")

    def full(*_: object, **__: object) -> None:
        raise DiskFull("The disk is full.")

    monkeypatch.setattr(kept, "compact", full)
    assert embed(faces, Pixels(), kept).embedded == 10 and len(kept.features(faces)) == 10


def test_nothing_to_do(tmp_path: Path) -> None:
    faces = FaceSet.build("g", tmp_path, paths=[], identities=[])
    assert embed(faces, Pixels(), store(tmp_path / "s")).sentence() == "0 faces embedded."
