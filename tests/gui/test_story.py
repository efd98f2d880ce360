"""The whole path of a user in one story, with a kill in it: nothing that was done is lost."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from facelens.resources import sample_data, sample_models

ROOT = Path(__file__).resolve().parents[2]
STORY = Path(__file__).with_name("story.py")
pytestmark = [pytest.mark.xvfb, pytest.mark.slow]


class Told:
    """A story that is being told by another process."""

    def __init__(self, *words: object, home: Path, display: str) -> None:
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "FACELENS_HOME": str(home), "QT_SCALE_FACTOR": "1"}
        environment |= {"DISPLAY": display, "QT_QPA_PLATFORM": "xcb"}
        environment.pop("WAYLAND_DISPLAY", None)
        self.process = subprocess.Popen(
            [sys.executable, str(STORY), *map(str, words)],
            env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.steps: dict[str, dict[str, Any]] = {}

    def until(self, last: str) -> dict[str, dict[str, Any]]:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            told = json.loads(line)
            assert not told["warnings"], told
            self.steps[told["step"]] = told
            if told["step"] == last:
                return self.steps
        raise AssertionError(f"it ended after {list(self.steps)}: {self.process.communicate()[1][-3000:]}")

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.communicate()


@pytest.fixture
def told(facelens_home: Path, xvfb: str) -> Iterator[Any]:
    made: list[Told] = []

    def tell(*words: object) -> Told:
        made.append(Told(*words, home=facelens_home, display=xvfb))
        return made[-1]

    yield tell
    for one in made:
        one.process.kill()
        one.process.communicate()


def live(told: Any, room: Path, gallery: Path, old: Path, new: Path) -> None:
    """The story, and what must be true in it."""
    day = told("first", room, gallery, old, new)
    seen = day.until("kill me")
    day.kill()
    assert seen["welcome"]["title"] == "FaceLens"
    faces = seen["open"]["faces"]
    assert faces > 20 and seen["open"]["people"] >= 8
    assert len(seen["embed"]["models"]) == 2 and seen["embed"]["vectors"] == [faces, faces]
    assert seen["embed"]["a"] and seen["embed"]["b"] and seen["embed"]["a"] != seen["embed"]["b"]
    assert seen["evaluate"]["page"] == "evaluation" and 0 <= seen["evaluate"]["eer"] < 0.5
    assert seen["uncertainty"]["page"] == "uncertainty" and seen["uncertainty"]["column"]
    assert seen["browse"]["filter"] == "variance > p50" and 4 < seen["browse"]["shown"] < faces
    assert seen["browse"]["current"] == 1
    assert seen["explain"]["page"] == "match" and seen["explain"]["query"] and seen["explain"]["candidates"] > 1
    assert seen["explain"]["mass"] == pytest.approx(1, abs=1e-3)
    assert seen["compare"]["page"] == "upgrade" and seen["compare"]["verdict"]
    assert seen["tag"]["tags"] == {"look again": 2} and seen["tag"]["flagged"] == 2
    assert "tag look again" in seen["tag"]["undo"]
    assert seen["export"]["files"] == ["figure.png", "figure.png.recipe.json"]
    assert seen["save"]["title"] == "day — FaceLens" and seen["save"]["steps"] > 3
    assert seen["kill me"]["ratings"] == 1

    next_day = told("second", room)
    then = next_day.until("closed")
    assert next_day.process.wait(30) == 0
    assert then["after the kill"]["offered"] == "FaceLens was ended in the middle of work"
    again = then["reopen"]
    assert not then["differs"]["what"], then["differs"]
    assert (again["faces"], again["models"]) == (faces, seen["embed"]["models"])
    assert (again["a"], again["b"]) == (seen["embed"]["a"], seen["embed"]["b"])
    assert again["tags"] == {"look again": 2} and again["ratings"] == 1, "what was done after saving is there too"
    assert again["filter"] == "variance > p50" and again["query"] and again["embedded"] == 0
    assert again["title"] == "day — FaceLens"
    assert (then["undo"]["rejected"], then["undo"]["after"]) == (1, 0) and then["undo"]["redo"]

    drawn = room / "figure.png"
    before = drawn.read_bytes()
    drawn.unlink()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "FACELENS_HOME": os.environ["FACELENS_HOME"]}
    environment.pop("DISPLAY", None)
    rendered = subprocess.run(
        [sys.executable, "-m", "facelens", "render", f"{drawn}.recipe.json"], env=environment, cwd=room,
        capture_output=True, text=True,
    )  # fmt: skip
    assert rendered.returncode == 0, rendered.stderr
    assert drawn.read_bytes() == before, "redrawn by a script, to the byte"


def test_a_day_with_drawn_faces(told: Any, tmp_path: Path) -> None:
    gallery = tmp_path / "faces"
    people = sorted(path for path in sample_data().iterdir() if path.is_dir() and len(list(path.glob("*.jpg"))) >= 4)
    for one in people[:10]:
        (gallery / one.name).mkdir(parents=True)
        for picture in sorted(one.glob("*.jpg"))[:4]:
            shutil.copy(picture, gallery / one.name)
    nets = {path.stem: path for path in sample_models()}
    live(told, tmp_path, gallery, nets["old"], nets["lce"])


@pytest.mark.real
def test_a_day_with_real_faces(told: Any, tmp_path: Path, real_faces: Path) -> None:
    """Some 120 faces of LFW and two published networks."""
    gallery = tmp_path / "faces"
    people = sorted(path for path in (real_faces / "faces" / "lfw" / "aligned112").iterdir() if path.is_dir())
    people = [one for one in people if len(list(one.glob("*.jpg"))) >= 6][:20]
    for one in people:
        (gallery / one.name).mkdir(parents=True)
        for picture in sorted(one.glob("*.jpg"))[:6]:
            shutil.copy(picture, gallery / one.name)
    weights = real_faces / "weights" / "mobilefacenet-facexzoo"
    live(
        told, tmp_path, gallery,
        weights / "face_recognition_1.0.state_dict.pt", weights / "face_recognition_2.0.state_dict.pt",
    )  # fmt: skip
