"""The real window on a real X display, driven by a pointer and keys from outside."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from typing import Any

import pytest
from PIL import Image

from facelens.resources import sample_data

ROOT = Path(__file__).resolve().parents[2]
pytestmark = [pytest.mark.xvfb, pytest.mark.slow]

PROGRAM = """
import json, sys
from pathlib import Path
from PySide6.QtCore import QTimer
from facelens.views import app
from facelens.views.main_window import MainWindow

gallery, picture = sys.argv[1], sys.argv[2]
sys.argv = sys.argv[:1]

def say(**what):
    print(json.dumps(what), flush=True)

def tell(window):
    page = window.panel("gallery")
    selection = window.store.workspace.selection
    shown = window.store.workspace.shown_ids.tolist()
    say(selected=[shown.index(i) for i in selection.ids.tolist() if i in shown], view=page.view,
        current=shown.index(selection.current) if selection.current in shown else None,
        palette=window.palette_card.isVisible(), layout=window.layout_name)

def ready(window):
    if window.jobs.busy or not window.thumbnails.idle:
        QTimer.singleShot(20, lambda: ready(window))
        return
    window.activateWindow()
    page = window.panel("gallery")
    spots = [page.grid.viewport().mapToGlobal(page.grid.cell_rect(i).center()) for i in range(6)]
    say(ready=[[p.x(), p.y()] for p in spots], size=[window.width(), window.height()],
        screen=[window.screen().size().width(), window.screen().size().height()])
    window.store.listen(lambda changed, who: QTimer.singleShot(0, lambda: tell(window)))
    state = {}
    def watch():
        now = (page.view, window.palette_card.isVisible(), window.layout_name)
        if state.get("last", now) != now:
            tell(window)
        state["last"] = now
    timer = QTimer(window)
    timer.timeout.connect(watch)
    timer.start(20)
    window.destroyed.connect(timer.stop)

def show(self, real=MainWindow.show):
    self.after_paint(lambda: (self.opening.open(Path(gallery)), QTimer.singleShot(50, lambda: ready(self))))
    real(self)

def close(self, event, real=MainWindow.closeEvent):
    self.grab().save(picture)
    real(self, event)

MainWindow.show, MainWindow.closeEvent = show, close
sys.exit(app.run())
"""


class Remote:
    """The program, what it says, and hands on its display."""

    def __init__(self, display: str, home: Path, gallery: Path, picture: Path) -> None:
        self.environment = {
            **os.environ, "DISPLAY": display, "QT_QPA_PLATFORM": "xcb", "PYTHONPATH": str(ROOT),
            "FACELENS_HOME": str(home), "QT_SCALE_FACTOR": "1",
        }  # fmt: skip
        self.environment.pop("WAYLAND_DISPLAY", None)
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(gallery), str(picture)],
            env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.lines: Queue[dict[str, Any]] = Queue()
        Thread(target=self._read, daemon=True).start()
        self.state: dict[str, Any] = {}

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.put(json.loads(line))

    def until(self, condition: Callable[[dict[str, Any]], object], what: str) -> dict[str, Any]:
        end = time.monotonic() + 60  # the models of the sample gallery are read and embedded meanwhile
        while not (self.state and condition(self.state)):
            try:
                self.state = self.lines.get(timeout=0.2)
            except Empty:
                if self.process.poll() is not None or time.monotonic() > end:
                    self.process.kill()
                    raise AssertionError(f"{what}: {self.state} {self.process.communicate()[1]}") from None
        return self.state

    def do(self, *arguments: object) -> None:
        subprocess.run(["xdotool", *map(str, arguments)], env=self.environment, check=True, timeout=10)


@pytest.mark.skipif(not shutil.which("xdotool"), reason="xdotool is not installed")
def test_hands_on_the_real_window(xvfb: str, tiny_faces: Path, tmp_path: Path, facelens_home: Path) -> None:
    gallery = sample_data() if sample_data().is_dir() else tiny_faces
    picture = tmp_path / "window.png"
    remote = Remote(xvfb, facelens_home, gallery, picture)
    try:
        spots = remote.until(lambda s: "ready" in s, "the gallery did not open")["ready"]
        assert remote.state["size"] == [1440, 900] or remote.state["screen"] < [1440, 900]
        remote.do("mousemove", *spots[2], "click", 1)
        remote.until(lambda s: s.get("selected") == [2] and s["current"] == 2, "a click selects")
        remote.do("mousemove", *spots[4], "keydown", "ctrl", "click", 1, "keyup", "ctrl")
        remote.until(lambda s: sorted(s.get("selected", [])) == [2, 4], "Ctrl+click adds")
        remote.do("key", "c")
        remote.until(lambda s: s.get("view") == "compare", "C compares")
        remote.do("key", "Escape")
        remote.until(lambda s: s.get("view") == "grid", "Esc goes back")
        remote.do("key", "Right")
        remote.until(lambda s: s.get("current") == 5, "an arrow moves")
        remote.do("key", "ctrl+k")
        remote.until(lambda s: s.get("palette"), "Ctrl+K opens the palette")
        remote.do("type", "report layout")
        remote.do("key", "Return")
        remote.until(lambda s: s.get("layout") == "report" and not s["palette"], "typing runs a command")
        remote.do("key", "ctrl+1")
        remote.until(lambda s: s.get("layout") == "browse", "Ctrl+1 goes back")
        remote.do("key", "e")
        remote.until(lambda s: s.get("view") == "loupe", "E opens the loupe")
        remote.do("key", "ctrl+q")
        assert remote.process.wait(timeout=10) == 0
    finally:
        remote.process.kill()
        _, errors = remote.process.communicate()
    assert "Traceback" not in errors, errors
    with Image.open(picture) as image:
        assert image.width > 1000 and len(image.convert("RGB").resize((300, 200)).getcolors(60_000) or []) > 100


def test_no_display_is_told(tmp_path: Path, facelens_home: Path) -> None:
    environment = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")}
    for display in ({}, {"DISPLAY": ":987"}):
        done = subprocess.run(
            [sys.executable, "-m", "facelens", "gui"], env={**environment, **display, "PYTHONPATH": str(ROOT)},
            capture_output=True, text=True, timeout=60, cwd=tmp_path,
        )  # fmt: skip
        assert done.returncode == 3, done.stderr
        assert "no display" in done.stderr and "facelens tour --out" in done.stderr
        assert "Traceback" not in done.stderr
