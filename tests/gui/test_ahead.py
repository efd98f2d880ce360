"""What pages are made of is loaded before one is opened, with breaths between."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
STORY = """
import gc, sys, time
from facelens.views.app import load_ahead, make_application
from facelens.views.main_window import MainWindow
from facelens.views.panels import PANELS

app = make_application()
window = MainWindow(remember=False)
window.show()
files = {f"facelens.views.panels.{page.place.split(':')[0]}" for page in PANELS}
assert not files <= set(sys.modules) and "pyqtgraph" not in sys.modules
heard = []
load_ahead(window)
end = time.monotonic() + 60
while not gc.get_freeze_count() and time.monotonic() < end:
    heard.append(len(files & set(sys.modules)))
    app.processEvents()
    time.sleep(0.001)
assert files <= set(sys.modules) and "pyqtgraph" in sys.modules and "torch" not in sys.modules
assert len(set(heard)) >= len(files) - 2, "the window was heard between two of them"
assert gc.get_freeze_count() > 50_000
assert len(gc.get_objects()) < gc.get_freeze_count() / 2, "what the collector looks through"
window.close()
print("ok")
"""


def test_files_of_pages_are_loaded_one_by_one_and_kept_from_the_collector(facelens_home: Path) -> None:
    environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen", "FACELENS_HOME": str(facelens_home)}
    done = subprocess.run(
        [sys.executable, "-c", STORY], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0 and done.stdout.strip() == "ok", done.stderr[-3000:]
