"""What every test gets: an offscreen Qt, its own home, no network; what some ask for: real faces, a display."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

# Before anything makes a QApplication. A desktop's own QT_QPA_PLATFORM must not open windows during a test run.
os.environ["QT_QPA_PLATFORM"] = os.environ.get("FACELENS_TEST_PLATFORM", "offscreen")

# Tests that run side by side share the cores; threads that wait for one another by spinning would take them all.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")

ROOT = Path(__file__).resolve().parents[1]
SHARED = Path(os.environ.get("FACELENS_SHARED", ROOT.parent / "shared"))


def _shared(name: str) -> Path:
    folder = SHARED / name
    if not folder.is_dir():
        pytest.skip(f"{folder} is absent (FACELENS_SHARED names another place)")
    return folder


# Files that take longest, the longest first. They are given out first: a file's tests stay in one process, and one that
# begins last keeps it busy long after the others have ended. Slower ones that come later belong here too.
LONG = (
    "tests/gui/test_tour.py",
    "tests/gui/test_models.py",
    "tests/real/test_upgrade.py",
    "tests/real/test_fitting.py",
    "tests/gui/test_docks.py",
    "tests/gui/test_flow.py",
    "tests/gui/test_upgrade.py",
    "tests/gui/test_window.py",
    "tests/session/test_sample.py",
    "tests/gui/test_opening.py",
    "tests/gui/test_training.py",
    "tests/real/test_embedding.py",
)


def pytest_configure(config: pytest.Config) -> None:
    if hasattr(config.option, "loadscopereorder"):  # by itself xdist gives out first what has most tests
        config.option.loadscopereorder = False


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    places = {name: place for place, name in enumerate(LONG)}
    items.sort(key=lambda item: places.get(item.location[0].replace(os.sep, "/"), len(LONG)))


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("real"):
        _shared("real")
    if item.get_closest_marker("xvfb") and not shutil.which("Xvfb"):
        pytest.skip("Xvfb is not installed")


@pytest.fixture(autouse=True)
def facelens_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fresh folder for settings, cache and log of this one test."""
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("FACELENS_HOME", str(home))
    return home


@pytest.fixture(autouse=True)
def network_calls(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Forbid the network, and fail the test even when the code under test swallowed the refusal."""
    calls: list[str] = []

    def refuse(call: str) -> None:
        calls.append(call)
        raise AssertionError(f"FaceLens opens no network connection, but called {call}")

    def guarded(name: str) -> Callable[..., Any]:
        real = getattr(socket.socket, name)

        def call(self: socket.socket, *args: Any) -> Any:
            if self.family in (socket.AF_INET, socket.AF_INET6):
                refuse(f"socket.{name}{args}")
            return real(self, *args)

        return call

    for name in ("connect", "connect_ex", "bind", "sendto"):
        monkeypatch.setattr(socket.socket, name, guarded(name))
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **_: refuse(f"socket.getaddrinfo{args}"))
    yield calls
    assert not calls, f"the network was called: {calls}"


@pytest.fixture(scope="session")
def real_faces() -> Path:
    """The folder of real faces and published weights."""
    return _shared("real")


@pytest.fixture(scope="session")
def golden() -> Path:
    """The folder of numbers from independent implementations."""
    return _shared("golden")


@pytest.fixture(scope="session")
def xvfb() -> Iterator[str]:
    """The name of a virtual X display, 1440 x 900; run the application on it with QT_QPA_PLATFORM=xcb."""
    if not shutil.which("Xvfb"):
        pytest.skip("Xvfb is not installed")
    reader, writer = os.pipe()
    # -displayfd: the server picks a free number and writes it once it takes connections.
    command = ["Xvfb", "-displayfd", str(writer), "-screen", "0", "1440x900x24", "-nolisten", "tcp"]
    server = subprocess.Popen(command, pass_fds=[writer], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.close(writer)
    try:
        with os.fdopen(reader) as pipe:
            number = pipe.readline().strip()
        if not number:
            pytest.skip(f"Xvfb did not start (exit code {server.wait()})")
        yield f":{number}"
    finally:
        server.terminate()
        server.wait()
