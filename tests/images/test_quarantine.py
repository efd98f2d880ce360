"""Pictures that take the process with them: found out, written down, left out, and tried again when asked."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from facelens.images import doctor, quarantine
from facelens.images.faceset import FaceSet
from facelens.images.quarantine import Again, Guard, guarded, kept_out, left_behind, release
from tests.killer import install, poison

ROOT = Path(__file__).resolve().parents[2]


def gallery(folder: Path, n: int = 6) -> FaceSet:
    folder.mkdir()
    for i in range(n):
        Image.new("RGB", (8, 8), (40 * i, 0, 7)).save(folder / f"{i}.png")
    return FaceSet.build("g", folder, paths=[f"{i}.png" for i in range(n)], identities=["A"] * n)


@pytest.fixture
def verdicts(monkeypatch: pytest.MonkeyPatch) -> dict[int, str]:
    """What trying a picture alone says, by row; the processes themselves are tested below."""
    said: dict[int, str] = {}
    monkeypatch.setattr(quarantine, "tried_alone", lambda faces, row, patience: said.get(row, ""))
    return said


def died(faces: FaceSet, folder: Path, *rows: int) -> None:
    """A process that died while it read `rows`."""
    guard = Guard(faces, folder)
    assert guard._marks is not None
    marks = np.zeros((quarantine.SLOTS, 2), np.int64)
    for slot, row in enumerate(rows):
        marks[slot] = faces.ids[row], 1
    (folder / f"reading-1-{len(list(folder.iterdir()))}.marks").write_bytes(marks.tobytes())
    guard.close()


def test_a_culprit_is_written_down_and_kept_out(tmp_path: Path, verdicts: dict[int, str]) -> None:
    faces, book = gallery(tmp_path / "g"), tmp_path / "q"
    died(faces, book, 2, 4)
    verdicts[4] = "crashed"
    with guarded(faces, book) as guard:
        assert [bool(guard.why(row)) for row in range(6)] == [False, False, False, False, True, False]
        assert guard.why(4) == "crashed the decoder twice and was skipped"
    assert not left_behind(book) and b"4.png" not in (book / quarantine.BOOK).read_bytes()
    verdicts.clear()
    with guarded(faces, book) as guard:  # without being asked it is not even tried
        assert guard.why(4)
    assert release(faces, book, faces.ids[:2]) == 0 and kept_out(faces, book).keys() == {int(faces.ids[4])}
    assert release(faces, book) == 1 and not kept_out(faces, book)


def test_a_file_that_changed_is_another_picture(tmp_path: Path, verdicts: dict[int, str]) -> None:
    faces, book = gallery(tmp_path / "g"), tmp_path / "q"
    died(faces, book, 1)
    verdicts[1] = "hung"
    with guarded(faces, book) as guard:
        assert "did not come out" in guard.why(1)
    os.utime(tmp_path / "g" / "1.png", ns=(1, 10**18))
    with guarded(faces, book) as guard:
        assert guard.why(1) == ""


def test_marks_are_there_while_a_picture_is_read_and_only_then(tmp_path: Path) -> None:
    faces, book = gallery(tmp_path / "g"), tmp_path / "q"
    with guarded(faces, book) as guard:
        assert guard._marks is not None
        with guard.reading(3):
            assert int(faces.ids[3]).to_bytes(8, "little") in guard._marks.read_bytes()
            assert not left_behind(book)  # we live
        assert not guard._marks.read_bytes().strip(b"\0")
    assert [path.name for path in book.iterdir()] == []


def test_suspects_of_another_gallery_wait_for_it(tmp_path: Path, verdicts: dict[int, str]) -> None:
    faces, book = gallery(tmp_path / "g"), tmp_path / "q"
    other = FaceSet.build("h", tmp_path / "g", paths=["a/1.png"], identities=["A"])
    died(other, book, 0)
    verdicts[0] = "crashed"
    with guarded(faces, book) as guard:
        assert not any(guard.why(row) for row in range(6))
    assert len(left_behind(book)) == 1
    with guarded(other, book) as guard:
        assert guard.why(0)
    assert not left_behind(book)


def test_another_start_is_worth_it_while_culprits_are_found(tmp_path: Path, verdicts: dict[int, str]) -> None:
    faces, book = gallery(tmp_path / "g"), tmp_path / "q"
    again = Again(book)
    assert not again(0)  # nobody was reading anything
    died(faces, book, 1)
    assert again(0)
    verdicts[1] = "crashed"
    Guard(faces, book).settle()
    died(faces, book, 2)
    assert again(1)
    Guard(faces, book).settle()  # innocent
    died(faces, book, 3)
    assert again(2)
    Guard(faces, book).settle()
    died(faces, book, 3)
    assert not again(3)  # twice in vain
    assert again(0)  # the user has pressed Retry


def test_a_folder_that_cannot_be_written_guards_nothing(tmp_path: Path) -> None:
    (tmp_path / "q").write_text("a file")
    faces = gallery(tmp_path / "g")
    with guarded(faces, tmp_path / "q") as guard, guard.reading(0):
        assert guard.why(0) == ""
    with guarded(faces, None) as guard, guard.reading(0):
        assert guard.why(0) == ""


def test_the_doctor_names_them(tmp_path: Path, verdicts: dict[int, str]) -> None:
    faces, book = gallery(tmp_path / "g"), tmp_path / "q"
    died(faces, book, 5)
    verdicts[5] = "crashed"
    with guarded(faces, book) as guard:
        found = doctor.diagnose(faces, guard=guard).finding("crash")
    assert found is not None and found.severity == "error" and found.ids.tolist() == [faces.ids[5]]
    assert found.message == "1 picture crashes the decoder and cannot be used."
    assert found.details == ("5.png crashed the decoder twice and was skipped.",)


# With a decoder that really kills whoever calls it.


def test_tried_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, monkeypatch)
    faces = gallery(tmp_path / "g")
    poison(tmp_path / "g" / "1.png", "EXIT")
    poison(tmp_path / "g" / "2.png", "HANG")
    (tmp_path / "g" / "3.png").write_bytes(b"no picture at all")
    found = [quarantine.tried_alone(faces, row, patience=20 if row != 2 else 1.5) for row in range(4)]
    assert found == ["", "crashed", "hung", ""]


def test_a_picture_that_hangs_ends_the_process_that_watches(tmp_path: Path) -> None:
    faces = gallery(tmp_path / "g")
    script = f"""
        import pickle, sys, time
        from pathlib import Path
        from facelens.images.quarantine import Guard
        faces = pickle.load(sys.stdin.buffer)
        guard = Guard(faces, Path({str(tmp_path / "q")!r}), patience=0.1, watch=True)
        with guard.reading(2):
            time.sleep(60)
    """
    import pickle

    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        input=pickle.dumps(faces),
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        timeout=30,
    )
    assert ran.returncode == quarantine.HUNG, ran.stderr
    assert [ids.tolist() for ids in left_behind(tmp_path / "q").values()] == [[faces.ids[2]]]
