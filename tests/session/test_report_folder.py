"""The folder of a report is whole or not there, whoever is killed, and takes the place of nothing but a report."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from facelens.errors import DiskFull, InputError
from facelens.session import report_folder
from facelens.session.report_folder import FORMAT, OLD, PART, whole


def fill(folder: Path, text: str = "one") -> None:
    for name in ("figures", "tables"):
        (folder / name).mkdir()
    (folder / "figures" / "a.svg").write_text(text)
    (folder / "figures" / "a.svg.recipe.json").write_text("{}")
    (folder / "tables" / "a.tex").write_text(text)
    (folder / "report.html").write_text(text)
    (folder / "report.json").write_text(json.dumps({"format": FORMAT, "text": text}, indent=2))


def test_it_comes_whole_and_gives_way_to_the_next(tmp_path: Path) -> None:
    out = tmp_path / "some" / "where"
    for text in ("one", "two"):
        with whole(out) as folder:
            fill(folder, text)
        assert (out / "report.html").read_text() == text
        assert sorted(path.name for path in out.iterdir()) == ["figures", "report.html", "report.json", "tables"]
    assert [path.name for path in out.parent.iterdir()] == ["where"]
    if os.name == "posix":
        assert out.stat().st_mode & 0o777 == 0o777 & ~_mask()


def _mask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_an_empty_folder_is_taken(tmp_path: Path) -> None:
    (tmp_path / "r").mkdir()
    with whole(tmp_path / "r") as folder:
        fill(folder)
    assert (tmp_path / "r" / "report.json").is_file()


def test_what_fails_leaves_what_was_there(tmp_path: Path) -> None:
    out = tmp_path / "r"
    with whole(out) as folder:
        fill(folder)

    def failing() -> None:
        with whole(out) as folder:
            fill(folder, "half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        failing()
    assert (out / "report.html").read_text() == "one" and [path.name for path in tmp_path.iterdir()] == ["r"]


def test_nothing_but_a_report_gives_way(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.tex").write_text("years of work")
    (tmp_path / "file").write_text("x")
    fake = tmp_path / "fake"
    fake.mkdir()
    (fake / "report.json").write_text('{"format": "another program"}')
    for out in (mine, tmp_path / "file", fake):
        with pytest.raises(InputError, match="is no report of FaceLens") as refused, whole(out):
            raise AssertionError("no work is begun")
        assert refused.value.hint
    with whole(tmp_path / "r") as folder:
        fill(folder)
    (tmp_path / "r" / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match=r"not its own: notes\.txt"), whole(tmp_path / "r"):
        raise AssertionError("no work is begun")
    assert (mine / "thesis.tex").read_text() == "years of work" and (tmp_path / "r" / "notes.txt").is_file()


def test_a_file_that_comes_meanwhile_is_not_lost(tmp_path: Path) -> None:
    def late() -> None:
        with whole(tmp_path / "r") as folder:
            fill(folder)
            (tmp_path / "r").mkdir()
            (tmp_path / "r" / "mine").write_text("x")

    with pytest.raises(InputError, match="is no report"):
        late()
    assert [path.name for path in tmp_path.iterdir()] == ["r"] and (tmp_path / "r" / "mine").is_file()


def test_a_disk_that_is_full_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(report_folder.tempfile, "mkdtemp", full)
    with pytest.raises(DiskFull), whole(tmp_path / "r"):
        raise AssertionError("no work is begun")


def test_what_was_to_give_way_comes_back(tmp_path: Path) -> None:
    """Killed between the two renames."""
    with whole(tmp_path / "r") as folder:
        fill(folder)
    (tmp_path / "r").rename(tmp_path / f".r{OLD}")
    with pytest.raises(ZeroDivisionError), whole(tmp_path / "r"):
        raise ZeroDivisionError
    assert (tmp_path / "r" / "report.html").read_text() == "one" and len(list(tmp_path.iterdir())) == 1


def test_one_that_is_being_written_is_left_alone(tmp_path: Path) -> None:
    with whole(tmp_path / "r") as first:
        with whole(tmp_path / "r") as second:
            fill(second, "second")
        assert first.is_dir()
        fill(first, "first")
    assert (tmp_path / "r" / "report.html").read_text() == "first"


WRITER = """
import sys, time
from pathlib import Path
from facelens.session.report_folder import whole
from tests.session.test_report_folder import fill
print("ready", flush=True)
for n in range(10_000):
    with whole(Path(sys.argv[1])) as folder:
        fill(folder, "x" * 50_000)
        time.sleep(0.002)
"""


@pytest.mark.skipif(os.name != "posix", reason="kill -9")
def test_killed_at_any_moment(tmp_path: Path) -> None:
    """Whole or not there; the next one clears away what was left."""
    rng, out = random.Random(0), tmp_path / "r"
    for _ in range(6):
        with subprocess.Popen([sys.executable, "-c", WRITER, str(out)], stdout=subprocess.PIPE) as writer:
            assert writer.stdout is not None and writer.stdout.readline()
            time.sleep(0.01 + 0.15 * rng.random())
            writer.send_signal(signal.SIGKILL)
        if out.exists():
            assert sorted(path.name for path in out.iterdir()) == ["figures", "report.html", "report.json", "tables"]
            assert len((out / "report.html").read_text()) == 50_000 and json.loads((out / "report.json").read_text())
    (tmp_path / f".r.left{PART}").mkdir()
    with whole(out) as folder:
        fill(folder)
    assert [path.name for path in tmp_path.iterdir()] == ["r"]
