"""Backups, unsaved work, and what a file may open by itself."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from facelens.resources import sample_data
from facelens.session import archive, folders, shelf
from facelens.session.archive import Archive, Gallery, Layout, Place

ROOT = Path(__file__).resolve().parents[2]


def test_ten_backups_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "work.facelens"
    assert shelf.back_up(path) is None, "nothing to keep"
    for i in range(13):
        path.write_text(f"{i}")
        assert shelf.back_up(path, at_once=True) is not None
    assert [one.read_text() for one in shelf.backups(path)] == [str(i) for i in range(12, 2, -1)]
    assert shelf.origin(shelf.backups(path)[0]) == path and shelf.origin(path) is None
    other = tmp_path / "other" / "work.facelens"
    other.parent.mkdir()
    assert shelf.backups(other) == [], "of the same name, but another file"


def test_backups_are_not_made_with_every_save(tmp_path: Path) -> None:
    path = tmp_path / "work.facelens"
    path.write_text("a")
    first = shelf.back_up(path)
    assert first is not None and shelf.back_up(path) is None
    long_ago = time.time() - shelf.BETWEEN - 1
    os.utime(first, (long_ago, long_ago))
    assert shelf.back_up(path) is not None


def test_backups_are_for_the_user_alone(tmp_path: Path) -> None:
    (tmp_path / "a.facelens").write_text("a")
    shelf.back_up(tmp_path / "a.facelens")
    assert folders.data().stat().st_mode & 0o077 == 0


def test_relative_places_of_a_backup_start_at_the_file(tmp_path: Path) -> None:
    path = tmp_path / "work.facelens"
    archive.write(Archive(galleries=(Gallery(Place(tmp_path / "faces")),)), path)
    copy = shelf.back_up(path)
    assert copy is not None
    [gallery] = archive.read(copy, folder=shelf.origin(copy).parent).galleries  # type: ignore[union-attr]
    assert gallery.place.path == tmp_path / "faces" and gallery.place.home == "inside"


def test_work_of_an_open_window_is_not_offered() -> None:
    session = shelf.Session()
    archive.write(Archive(), session.path)
    assert shelf.unsaved() == []
    session.close()
    [left] = shelf.unsaved()
    assert left.path == session.path and not left.crashed and shelf.is_unsaved(left.path)
    shelf.forget(left)
    assert shelf.unsaved() == [] and not list(session.path.parent.iterdir())


CRASH = """
import os, signal, sys
from pathlib import Path
from facelens.session import archive, shelf
session = shelf.Session()
if sys.argv[1]:
    session.works_on(Path(sys.argv[1]))
else:
    archive.write(archive.Archive(query="x"), session.path)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("saved", [False, True])
def test_work_of_a_window_that_was_killed_is_offered(tmp_path: Path, saved: bool) -> None:
    path = tmp_path / "a.facelens"
    archive.write(Archive(), path)
    subprocess.run([sys.executable, "-c", CRASH, str(path) if saved else ""], cwd=ROOT, check=False)
    [left] = shelf.unsaved()
    assert left.crashed and (left.path == path) is saved and shelf.is_unsaved(left.path) is not saved
    shelf.forget(left)
    assert shelf.unsaved() == [] and path.exists()


def test_only_the_last_sessions_are_kept() -> None:
    for _ in range(shelf.UNSAVED + 3):
        session = shelf.Session()
        archive.write(Archive(), session.path)
        session.close()
    assert len(shelf.unsaved()) == shelf.UNSAVED
    assert shelf.unsaved()[0].path == session.path


def test_only_places_that_were_open_here_are_known(tmp_path: Path) -> None:
    gallery = Gallery(Place(tmp_path / "faces"), options={"root": "/crops"})
    layout = Layout("browse", b"made here")
    assert not shelf.known(tmp_path / "faces") and not shelf.own_layout(layout)
    shelf.remember(Archive(galleries=(gallery,), layout=layout))
    assert shelf.known(tmp_path / "faces") and shelf.known(Path("/crops")) and shelf.own_layout(layout)
    assert not shelf.known(tmp_path / "faces" / "..") and not shelf.known(tmp_path)
    assert not shelf.own_layout(Layout("browse", b"made elsewhere"))
    assert shelf.known(sample_data() / "checkpoints")
    shelf.trust([Path("/chosen")])
    assert shelf.known(Path("/chosen")) and shelf.known(tmp_path / "faces")


@pytest.mark.parametrize("content", [b"", b"[]", b'{"places": 3, "layouts": []}', b'{"places": [1], "layouts": []}'])
def test_a_damaged_book_knows_nothing(content: bytes) -> None:
    (folders.data() / "known.json").write_bytes(content)
    assert not shelf.known(Path("/a"))
    shelf.trust([Path("/a")])
    assert shelf.known(Path("/a"))
