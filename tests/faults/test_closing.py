"""Closing, and being killed, while work is under way: the program ends soon and leaves no process behind."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc to find what is left")

WORK = """
import time

def ticking(*, tick):
    for i in range(10**9):
        tick(i, 10**9)
        time.sleep(0.001)

def deaf(*, tick):
    tick(1, 2)
    time.sleep(600)
"""

PROGRAM = """
import sys
from pathlib import Path
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QMessageBox
import work
from facelens.session.jobs import Request
from facelens.views import app
from facelens.views.main_window import MainWindow

job, place, slot, delay, gallery = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5]

def answer(box):
    print("ASKED", flush=True)
    next(b for b in box.buttons() if b.text() == "Stop and close").click()

QMessageBox.exec = answer

def close(window):
    print("CLOSING", flush=True)
    window.close()

def begin(window):
    if delay != -2:  # the doctor of an opened gallery would take the job's place
        window.opening.open(Path(gallery))
    number = window.jobs.submit(Request("Work", getattr(work, job), slot=slot, place=place))
    print("BEGUN", flush=True)
    if delay >= 0:
        QTimer.singleShot(delay, window.close)
    elif delay == -2:  # as soon as the job is at work
        at_work = QTimer(window)
        at_work.timeout.connect(lambda: close(window) if window.jobs.job(number).done else None)
        at_work.start(1)

def show(self, real=MainWindow.show):
    self.after_paint(lambda: begin(self))
    real(self)

MainWindow.show = show
sys.argv = sys.argv[:1]
sys.exit(app.run())
"""


def belonging(home: Path) -> set[int]:
    """Processes, other than this one, that run with `home`."""
    mark = f"FACELENS_HOME={home}".encode()
    found = set()
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and mark in (folder / "environ").read_bytes().split(b"\0"):
                found.add(int(folder.name))
        except OSError:
            continue
    return found - {os.getpid()}


def gone(home: Path, seconds: float) -> bool:
    end = time.monotonic() + seconds
    while belonging(home):
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


@pytest.fixture
def gallery(tmp_path: Path) -> Path:
    from PIL import Image

    for i in range(40):
        (tmp_path / "faces" / f"p{i % 5}").mkdir(parents=True, exist_ok=True)
        Image.effect_noise((64, 64), 40 + i).convert("RGB").save(tmp_path / "faces" / f"p{i % 5}" / f"{i}.png")
    return tmp_path / "faces"


class App:
    """The application in a process of its own."""

    def __init__(self, folder: Path, home: Path, *arguments: object) -> None:
        (folder / "work.py").write_text(WORK)
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join((str(folder), str(ROOT))),
            "FACELENS_HOME": str(home),
            "QT_QPA_PLATFORM": "offscreen",
        }
        self.home = home
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, *map(str, arguments)],
            env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line == "BEGUN\n", self.process.communicate()[1]
        self.begun = time.monotonic()

    def end(self, timeout: float) -> tuple[int, str, str]:
        out, err = self.process.communicate(timeout=timeout)
        return self.process.returncode, out, err


@pytest.fixture
def started(tmp_path: Path, facelens_home: Path) -> Iterator[list[App]]:
    apps: list[App] = []
    yield apps
    for app in apps:
        if app.process.poll() is None:
            app.process.kill()
            app.process.communicate()


def close_at(app: App, delay: int) -> None:
    code, _, err = app.end(20)
    took = time.monotonic() - app.begun - delay / 1000
    assert code == 0, err
    assert "Traceback" not in err and "QThread" not in err, err
    assert took < 3.5, f"closing took {took:.1f} s"  # 3 s, and the interpreter's own end
    assert gone(app.home, 0.5), f"left behind: {belonging(app.home)}"


@pytest.mark.parametrize(("job", "place"), [("ticking", "process"), ("deaf", "process"), ("ticking", "thread")])
def test_close_during_a_job(
    job: str, place: str, tmp_path: Path, facelens_home: Path, gallery: Path, started: list[App]
) -> None:
    delay = random.Random(f"{job} {place}").randrange(0, 900)
    app = App(tmp_path, facelens_home, job, place, "doctor", delay, gallery)
    started.append(app)
    close_at(app, delay)


@pytest.mark.parametrize("job", ["ticking", "deaf"])
def test_close_when_the_job_is_at_work(
    job: str, tmp_path: Path, facelens_home: Path, gallery: Path, started: list[App]
) -> None:
    app = App(tmp_path, facelens_home, job, "process", "doctor", -2, gallery)
    started.append(app)
    line = app.process.stdout.readline()
    assert line == "CLOSING\n"
    app.begun = time.monotonic()
    close_at(app, 0)


def test_close_during_a_job_that_asks(tmp_path: Path, facelens_home: Path, gallery: Path, started: list[App]) -> None:
    app = App(tmp_path, facelens_home, "ticking", "thread", "embed", 300, gallery)
    started.append(app)
    code, out, err = app.end(20)
    assert code == 0, err
    assert out.count("ASKED") == 1
    assert gone(facelens_home, 0.5)


def test_kill_leaves_no_worker(tmp_path: Path, facelens_home: Path, gallery: Path, started: list[App]) -> None:
    app = App(tmp_path, facelens_home, "deaf", "process", "doctor", -1, gallery)
    started.append(app)
    end = time.monotonic() + 20
    while len(belonging(facelens_home)) < 2:
        assert time.monotonic() < end, "no worker was started"
        time.sleep(0.01)
    app.process.send_signal(signal.SIGKILL)
    app.process.communicate()
    assert gone(facelens_home, 3.0), f"left behind: {belonging(facelens_home)}"


@pytest.mark.faults
def test_many_closes_at_random_moments(tmp_path: Path, facelens_home: Path, gallery: Path, started: list[App]) -> None:
    rng = random.Random(20)
    for _ in range(60):
        delay = rng.randrange(0, 2500)
        app = App(tmp_path, facelens_home, rng.choice(("ticking", "deaf")), "process", "doctor", delay, gallery)
        started.append(app)
        close_at(app, delay)
