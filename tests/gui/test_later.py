"""Threads speak to the window, also to one that is just being deleted."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest
from PySide6.QtCore import QObject

from facelens.views.bridge import Bridge
from facelens.views.later import Later

ROOT = Path(__file__).resolve().parents[2]
# In a process of its own: what goes wrong here ends it.
RACE = """
import sys, time
from PySide6.QtCore import QCoreApplication, QEvent, QObject
from facelens.views.later import Later

class Window(QObject):
    heard = 0
    def on_done(self, result):
        Window.heard += result

app = QCoreApplication([])
sys.setswitchinterval(1e-6)
end, asked = time.monotonic() + 4, 0
while time.monotonic() < end:
    windows = []
    for number in range(20):
        window = Window()
        later = Later(window)
        later.done.connect(window.on_done)
        later.ask(lambda: 1)
        windows.append((window, later))
        if number % 2:
            app.processEvents()
    for window, later in windows:
        window.deleteLater()
    del windows, window, later
    app.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    app.processEvents()
    asked += 20
print(asked, Window.heard)
"""


def test_a_window_may_be_deleted_while_a_thread_speaks_to_it() -> None:
    done = subprocess.run([sys.executable, "-c", RACE], cwd=ROOT, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr[-3000:]
    asked, heard = map(int, done.stdout.split())
    assert 0 < heard <= asked


def test_of_what_waits_only_the_newest_is_done(qtbot) -> None:  # type: ignore[no-untyped-def]
    gate, told = threading.Event(), []
    window = QObject()
    later = Later(window)
    later.done.connect(told.append)
    later.ask(lambda: gate.wait(10) and "first")
    for word in ("second", "third"):
        later.ask(lambda word=word: word)  # type: ignore[misc]
    gate.set()
    qtbot.waitUntil(lambda: len(told) >= 2 or told == ["third"])
    assert told[-1] == "third" and "second" not in told


def test_work_that_fails_does_not_keep_the_next_from_being_done(qtbot, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    told: list[object] = []
    failed: list[type[BaseException]] = []
    monkeypatch.setattr(threading, "excepthook", lambda what: failed.append(what.exc_type))
    window = QObject()
    later = Later(window)
    later.done.connect(told.append)
    later.ask(lambda: 1 // 0)
    qtbot.waitUntil(lambda: failed == [ZeroDivisionError])
    later.ask(lambda: "done")
    qtbot.waitUntil(lambda: told == ["done"])


def test_what_was_posted_is_dropped_once_the_bridge_is_closed(qtbot) -> None:  # type: ignore[no-untyped-def]
    told: list[str] = []
    bridge, other = Bridge(), Bridge()
    bridge.post(lambda: told.append("first"))
    bridge.close()
    bridge.post(lambda: told.append("second"))
    other.post(lambda: told.append("other"))
    qtbot.waitUntil(lambda: bool(told))
    assert told == ["other"]
