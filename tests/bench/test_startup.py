"""How soon one can look and click: first painted window against a bare one, then the first screen of faces."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.bench

# Both measure from the interpreter's first line to the end of the first paint.
BARE = """
import time; start = time.perf_counter()
import sys
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication, QMainWindow
import pyqtgraph

class Plot(pyqtgraph.PlotWidget):
    def paintEvent(self, event):
        super().paintEvent(event)
        QTimer.singleShot(0, lambda: (print(time.perf_counter() - start, flush=True), window.close()))

app = QApplication([])
app.setStyle("Fusion")
window = QMainWindow()
window.setCentralWidget(Plot())
window.resize(1440, 900)
window.show()
app.exec()
"""

OURS = """
import time; start = time.perf_counter()
import sys
from pathlib import Path
from PySide6.QtCore import QTimer
from facelens.views import app
from facelens.views.main_window import MainWindow

gallery = Path(sys.argv[1]) if len(sys.argv) > 1 else None
sys.argv = sys.argv[:1]

def done(window):
    print(time.perf_counter() - start, flush=True)
    window.close()

def look(window):
    grid = window.panel("gallery").grid
    if len(grid.ids) and window.thumbnails.idle and window.thumbnails._pixmaps:
        done(window)
    else:
        QTimer.singleShot(2, lambda: look(window))

def show(self, real=MainWindow.show):
    self.after_paint(lambda: look(self) if gallery else done(self))
    real(self)

MainWindow.show = show
sys.exit(app.run(gallery=gallery))
"""


def measure(program: str, home: Path, *arguments: str) -> float:
    environment = {
        **os.environ, "PYTHONPATH": str(ROOT), "QT_QPA_PLATFORM": "offscreen", "FACELENS_HOME": str(home),
        "PYTHONPYCACHEPREFIX": str(home / "compiled"),  # as on any machine after the first start, also where it is off
    }  # fmt: skip
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], env=environment, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return float(done.stdout.splitlines()[0])


def test_the_window_is_painted_nearly_as_soon_as_a_bare_one(facelens_home: Path) -> None:
    for program in (BARE, OURS):
        measure(program, facelens_home)
    rounds = [(measure(BARE, facelens_home), measure(OURS, facelens_home)) for _ in range(7)]
    bare, ours = (min(times) for times in zip(*rounds))
    print(f"\nbare Qt + pyqtgraph {bare * 1000:.0f} ms, FaceLens {ours * 1000:.0f} ms, ratio {ours / bare:.2f}")
    assert ours <= 1.3 * bare


def test_the_first_screen_of_faces(facelens_home: Path, tmp_path: Path) -> None:
    from PIL import Image

    from facelens.resources import sample_data

    gallery = sample_data()
    if not gallery.is_dir():
        gallery = tmp_path / "faces"
        for i in range(640):
            (gallery / f"p{i // 10:02}").mkdir(parents=True, exist_ok=True)
            Image.effect_noise((160, 160), 40 + i % 50).convert("RGB").save(gallery / f"p{i // 10:02}" / f"{i}.jpg")
    measure(OURS, facelens_home, str(gallery))
    painted = min(measure(OURS, facelens_home) for _ in range(3))
    browsable = min(measure(OURS, facelens_home, str(gallery)) for _ in range(5))
    print(f"\npainted {painted * 1000:.0f} ms, first screen of faces {browsable * 1000:.0f} ms")
    assert browsable - painted < 0.8, "opening the gallery and showing its first screen"
