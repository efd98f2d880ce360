"""Thumbnails: decoded elsewhere, newest first, bounded, and honest about broken pictures."""

from __future__ import annotations

import gc
import threading
import weakref
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from facelens.errors import InputError
from facelens.images import quarantine
from facelens.images.faceset import FaceSet
from facelens.views import thumbnails as module
from facelens.views.thumbnails import Thumbnails

SIZE = 64


def gallery(root: Path, count: int, *, side: int = 40) -> FaceSet:
    root.mkdir(exist_ok=True)
    for i in range(count):
        Image.new("RGB", (side, side), (10 * i % 256, 90, 200)).save(root / f"{i:03}.png")
    return FaceSet.build(root.name, root, paths=[f"{i:03}.png" for i in range(count)], identities=["a"] * count)


@pytest.fixture
def thumbs(qtbot):
    made = Thumbnails(threads=2)
    yield made
    made.close()


def wait_for(qtbot, thumbs: Thumbnails, faces: FaceSet, row: int, size: int = SIZE):
    qtbot.waitUntil(lambda: thumbs.get(faces, row, size) is not None)
    return thumbs.get(faces, row, size)


def test_nothing_at_first_then_told_then_there(qtbot, thumbs, tmp_path) -> None:
    faces = gallery(tmp_path / "g", 1)
    with qtbot.waitSignal(thumbs.ready) as told:
        assert thumbs.get(faces, 0, SIZE) is None
    assert told.args == [{int(faces.ids[0])}]
    pixmap = thumbs.get(faces, 0, SIZE)
    assert pixmap.toImage().pixelColor(5, 5).getRgb()[:3] == (0, 90, 200)


def test_whole_picture_inside_the_square(qtbot, thumbs, tmp_path) -> None:
    Image.new("RGB", (300, 100)).save(tmp_path / "wide.png")
    faces = FaceSet.build("g", tmp_path, paths=["wide.png"], identities=["a"])
    pixmap = wait_for(qtbot, thumbs, faces, 0)
    assert (pixmap.width(), pixmap.height()) == (64, 21)
    qtbot.waitUntil(lambda: thumbs.whole(faces, 0) is not None)
    assert thumbs.whole(faces, 0).width() == 300


def test_another_size_stands_in_until_the_right_one_is_there(qtbot, thumbs, tmp_path) -> None:
    faces = gallery(tmp_path / "g", 1, side=200)
    wait_for(qtbot, thumbs, faces, 0, 48)
    assert thumbs.get(faces, 0, 101).width() == 48
    qtbot.waitUntil(lambda: thumbs.get(faces, 0, 101).width() == 101)


def test_broken_pictures_have_a_reason_and_are_asked_for_once(qtbot, thumbs, tmp_path, monkeypatch) -> None:
    (tmp_path / "bad.jpg").write_bytes(b"")
    faces = FaceSet.build("g", tmp_path, paths=["bad.jpg"], identities=["a"])
    face = int(faces.ids[0])
    assert thumbs.broken(face) is None
    with qtbot.waitSignal(thumbs.ready):
        thumbs.get(faces, 0, SIZE)
    assert "bad.jpg is empty" in thumbs.broken(face)
    monkeypatch.setattr(module.decode, "thumbnail_face", lambda *_: pytest.fail("read again"))
    assert thumbs.get(faces, 0, SIZE) is None and thumbs.idle
    monkeypatch.undo()
    Image.new("RGB", (8, 8)).save(tmp_path / "bad.jpg")
    thumbs.forget()
    wait_for(qtbot, thumbs, faces, 0)
    assert thumbs.broken(face) is None


def test_a_decoder_that_fails_in_its_own_way_breaks_one_picture_only(qtbot, thumbs, tmp_path, monkeypatch) -> None:
    faces = gallery(tmp_path / "g", 2)
    real = module.decode.thumbnail_face

    def moody(faces: FaceSet, row: int, size: int):
        if row == 0:
            raise RuntimeError("odd bits")
        return real(faces, row, size)

    monkeypatch.setattr(module.decode, "thumbnail_face", moody)
    thumbs.get(faces, 0, SIZE)
    wait_for(qtbot, thumbs, faces, 1)
    qtbot.waitUntil(lambda: thumbs.broken(int(faces.ids[0])) is not None)
    assert "odd bits" in thumbs.broken(int(faces.ids[0]))


class Held:
    """A decoder that waits at the door, to see in which order pictures come to it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.order: list[int] = []
        self.entered, self.open = threading.Event(), threading.Event()
        monkeypatch.setattr(module.decode, "thumbnail_face", self)

    def __call__(self, faces: FaceSet, row: int, size: int) -> np.ndarray:
        self.order.append(row)
        self.entered.set()
        if not self.open.wait(10):
            raise InputError("held for ever")
        return np.zeros((4, 4, 3), np.uint8)


def test_the_newest_request_is_served_first_and_old_ones_are_dropped(qtbot, tmp_path, monkeypatch) -> None:
    held = Held(monkeypatch)
    monkeypatch.setattr(module, "MOST_WAITING", 5)
    thumbs = Thumbnails(threads=1)
    faces = FaceSet.build("g", tmp_path, paths=[f"{i}.png" for i in range(100)], identities=["a"] * 100)
    thumbs.get(faces, 99, SIZE)
    assert held.entered.wait(10)
    for row in range(20):
        thumbs.get(faces, row, SIZE)
    thumbs.get(faces, 17, SIZE)  # asked for again: it is in sight
    held.open.set()
    qtbot.waitUntil(lambda: thumbs.idle)
    assert held.order == [99, 17, 19, 18, 16, 15]
    thumbs.close()


def test_budget_is_kept_and_the_least_used_go(qtbot, tmp_path) -> None:
    cost = 40 * 40 * 4
    thumbs = Thumbnails(budget=3 * cost, threads=1)
    faces = gallery(tmp_path / "g", 6)
    for row in range(3):
        wait_for(qtbot, thumbs, faces, row)
    thumbs.get(faces, 0, SIZE)  # used again
    wait_for(qtbot, thumbs, faces, 3)
    assert {key.face for key in thumbs._pixmaps} == {int(faces.ids[i]) for i in (0, 2, 3)}
    assert thumbs._bytes == 3 * cost
    assert len(thumbs._sizes) == 3
    thumbs.close()


def test_galleries_that_share_ids_do_not_share_pictures(qtbot, thumbs, tmp_path) -> None:
    one, two = gallery(tmp_path / "one", 1, side=10), gallery(tmp_path / "two", 1, side=20)
    assert one.ids[0] == two.ids[0]
    assert wait_for(qtbot, thumbs, one, 0).width() == 10
    assert wait_for(qtbot, thumbs, two, 0).width() == 20


def test_ready_is_told_in_batches(qtbot, thumbs, tmp_path) -> None:
    faces = gallery(tmp_path / "g", 30)
    told: list[set[int]] = []
    thumbs.ready.connect(told.append)
    for row in range(30):
        thumbs.get(faces, row, SIZE)
    qtbot.waitUntil(lambda: thumbs.idle)
    assert set().union(*told) == set(faces.ids.tolist())
    assert len(told) < 30


def test_close_waits_for_its_threads_and_answers_no_more(qtbot, tmp_path) -> None:
    before = threading.active_count()
    thumbs = Thumbnails(threads=3)
    faces = gallery(tmp_path / "g", 8)
    for row in range(8):
        thumbs.get(faces, row, SIZE)
    thumbs.close()
    assert threading.active_count() == before
    assert thumbs.get(faces, 0, SIZE) is None and thumbs.idle
    thumbs.close()


def test_dies_without_close_and_lets_its_threads_go(qtbot) -> None:
    thumbs = Thumbnails(threads=2)
    threads, gone = list(thumbs._threads), weakref.ref(thumbs)
    del thumbs
    gc.collect()
    assert gone() is None
    for thread in threads:
        thread.join(5)
        assert not thread.is_alive()


def test_a_picture_that_was_read_when_the_program_died_is_left_alone_until_it_has_been_tried(
    tmp_path: Path, qtbot
) -> None:
    pictures = gallery(tmp_path / "g", 4)
    book = tmp_path / "q"
    book.mkdir()
    marks = np.zeros((quarantine.SLOTS, 2), np.int64)
    marks[3] = pictures.ids[1], 1
    (book / "reading-1-0.marks").write_bytes(marks.tobytes())
    thumbs = Thumbnails(threads=1, quarantined=book)
    assert thumbs.get(pictures, 1, 64) is None and thumbs.get(pictures, 0, 64) is None
    qtbot.waitUntil(lambda: thumbs.get(pictures, 0, 64) is not None)
    assert "tried alone" in (thumbs.broken(int(pictures.ids[1])) or "")
    with quarantine.guarded(pictures, book):  # what the doctor does: it is innocent
        pass
    thumbs.recheck(pictures)
    assert thumbs.broken(int(pictures.ids[1])) is None
    qtbot.waitUntil(lambda: thumbs.get(pictures, 1, 64) is not None)
    assert len(list(book.glob("*.marks"))) == 1  # our own, while we live
    thumbs.close()
    assert not list(book.glob("*.marks"))


def test_a_quarantined_picture_is_not_decoded_for_a_thumbnail(tmp_path: Path, qtbot) -> None:
    pictures = gallery(tmp_path / "g", 4)
    (tmp_path / "q").mkdir()
    quarantine._note(tmp_path / "q", pictures, {int(pictures.ids[2]): "crashed"})
    thumbs = Thumbnails(threads=1, quarantined=tmp_path / "q")
    assert thumbs.get(pictures, 2, 64) is None and thumbs.idle
    assert thumbs.broken(int(pictures.ids[2])) == "The picture crashed the decoder twice and was skipped."
    thumbs.close()
