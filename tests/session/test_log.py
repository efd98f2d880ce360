"""The log: what it keeps, what it leaves out, what it catches."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from facelens.session import folders, log

LOGGER = logging.getLogger("facelens.test")


@pytest.fixture
def installed() -> Iterator[None]:
    log.memory.clear()
    restore = log.install()
    yield
    restore()


def test_lines_reach_file_memory_and_listeners(installed: None) -> None:
    heard: list[log.Line] = []
    stop = log.listen(heard.append)
    LOGGER.info("opened %d faces", 12)
    stop()
    LOGGER.debug("unheard")
    LOGGER.warning("later")
    assert [(line.level, line.source, line.text) for line in heard] == [
        (logging.INFO, "facelens.test", "opened 12 faces")
    ]
    assert [line.text for line in log.records()] == ["opened 12 faces", "later"]
    text = log.path().read_text()
    assert "INFO facelens.test: opened 12 faces" in text and "unheard" not in text
    assert log.path().stat().st_mode & 0o777 == 0o600


def test_install_puts_everything_back() -> None:
    root = logging.getLogger("facelens")
    before = (sys.excepthook, threading.excepthook, root.level, list(root.handlers))
    restore = log.install()
    assert sys.excepthook is not before[0]
    restore()
    assert (sys.excepthook, threading.excepthook, root.level, list(root.handlers)) == before


def test_file_rotates(installed: None) -> None:
    for _ in range(400):
        LOGGER.info("x" * 10_000)
    files = sorted(file.name for file in folders.state().glob("facelens.log*"))
    assert files == ["facelens.log", "facelens.log.1", "facelens.log.2"]
    assert all(file.stat().st_size <= 1_050_000 for file in folders.state().glob("facelens.log*"))
    assert all(file.stat().st_mode & 0o077 == 0 for file in folders.state().glob("facelens.log*"))


def test_memory_is_bounded() -> None:
    memory = log.Memory(size=10)
    memory.setFormatter(logging.Formatter("%(message)s"))
    for i in range(100):
        memory.handle(logging.LogRecord("x", logging.INFO, "", 0, str(i), None, None))
    assert [line.text for line in memory.records()] == [str(i) for i in range(90, 100)]


def test_many_threads(installed: None) -> None:
    heard: list[log.Line] = []
    stop = log.listen(heard.append)
    threads = [threading.Thread(target=lambda: [LOGGER.info("a") for _ in range(100)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    stop()
    assert len(heard) == 400 and len(log.records()) == 400


def test_listener_that_fails_does_not_stop_the_log(installed: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logging, "raiseExceptions", False)
    stop = log.listen(lambda line: 1 / 0)
    LOGGER.info("still written")
    stop()
    assert "still written" in log.path().read_text()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("read /data/faces/Ann Smith/1.jpg", "read <path> Smith/1.jpg"),
        ("read '/data/faces/Ann Smith/1.jpg'.", "read '<path>'."),
        ('[Errno 2] No such file: "/a/b"', '[Errno 2] No such file: "<path>"'),
        (r"read C:\Users\ann\1.jpg now", "read <path> now"),
        ("HOME/pictures/ann.jpg", "<path>"),
        ("640 faces/s, 3/4 done, and/or", "640 faces/s, 3/4 done, and/or"),
        ('  File "/usr/lib/python3/x.py", line 3, in f', '  File "/usr/lib/python3/x.py", line 3, in f'),
    ],
)
def test_paths_are_left_out(text: str, expected: str) -> None:
    assert log.shortened(text.replace("HOME", str(Path.home()))) == expected


def test_paths_when_asked() -> None:
    assert log.shortened(f"{Path.home()}/a.jpg /data/b.jpg", paths=True) == "~/a.jpg /data/b.jpg"


def test_no_marker_in_the_log(installed: None) -> None:
    try:
        Path(f"{Path.home()}/secret marker/face.jpg").read_bytes()
    except OSError:
        LOGGER.exception("could not read %r", Path.home() / "secret marker" / "face.jpg")
    written = log.path().read_text() + "".join(line.text for line in log.records())
    assert "FileNotFoundError" in written
    assert "'<path>'" in written and "secret marker/face.jpg" not in written.replace(
        'Path(f"{Path.home()}/secret marker/face.jpg")', ""
    )


def test_huge_entries_are_cut(installed: None) -> None:
    LOGGER.info("start %s end", "x" * 1_000_000)
    (line,) = log.records()
    assert len(line.text) < 21_000 and line.text.startswith("start") and line.text.endswith("end")


def test_uncaught_errors_are_logged_and_handed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    log.memory.clear()
    seen: list[tuple[BaseException, str]] = []
    restore = log.install(on_crash=lambda error, trace: seen.append((error, trace)))
    try:
        error = KeyError("lost")
        sys.excepthook(KeyError, error, None)
        thread = threading.Thread(target=lambda: 1 / 0, name="digger")
        thread.start()
        thread.join()
    finally:
        restore()
    assert seen[0][0] is error and isinstance(seen[1][0], ZeroDivisionError) and "1 / 0" in seen[1][1]
    assert [line.level for line in log.records()] == [logging.CRITICAL] * 2
    assert "digger" in log.records()[1].text and "1 / 0" in log.records()[1].text


def test_interrupt_is_not_a_crash(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    log.memory.clear()
    passed: list[object] = []
    monkeypatch.setattr(sys, "excepthook", lambda *args: passed.append(args))
    restore = log.install()
    sys.excepthook(KeyboardInterrupt, KeyboardInterrupt(), None)
    restore()
    assert len(passed) == 1 and log.records() == ()


def test_segfault_is_written_down(facelens_home: Path) -> None:
    script = "import ctypes; from facelens.session import log; log.install(); ctypes.string_at(0)"
    root = Path(__file__).resolve().parents[2]
    ended = subprocess.run(
        [sys.executable, "-c", script], env={**os.environ, "PYTHONPATH": str(root)}, capture_output=True
    )
    assert ended.returncode == -11
    assert "Segmentation fault" in (facelens_home / "state" / "crash.log").read_text()


def test_no_place_for_the_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("FACELENS_HOME", str(tmp_path / "file"))
    log.memory.clear()
    with pytest.warns(RuntimeWarning, match="no log file"):
        restore = log.install()
    LOGGER.info("only in memory")
    restore()
    assert [line.text for line in log.records()] == ["only in memory"]
