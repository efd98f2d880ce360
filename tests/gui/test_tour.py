"""The tour: a whole walk through the real window in a process of its own, with every network socket forbidden."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from facelens.session.drawing import CHARTS, CONFIDENCE, LEARNERS, MATCH, SWEPT, UNCERTAINTY, UPGRADE
from facelens.views.tour import STEPS

ROOT = Path(__file__).resolve().parents[2]
HEAVY = ("torch", "umap", "sklearn", "numba", "pyarrow", "matplotlib")

# Python runs this first in every process, the worker included. It notes which process was guarded, what it did wrong,
# and at the end which heavy libraries it had loaded.
GUARD = """
import atexit, os, sys

_notes = os.environ["GUARD_NOTES"]

def _note(text):
    with open(os.path.join(_notes, str(os.getpid())), "a") as file:
        file.write(text + chr(10))

def _hook(event, args):
    if event == "socket.__new__":
        family = int(args[1])
        if family == -1 or family in (2, 10):  # unknown counts as AF_INET, which is what it becomes
            _note(f"NETWORK {event} {args[1:]}")
            raise PermissionError("no network here")
    elif event in ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr", "socket.getnameinfo"):
        _note(f"NETWORK {event} {args}")
        raise PermissionError("no network here")

sys.addaudithook(_hook)
_note("GUARDED " + " ".join(sys.orig_argv[1:4]))
atexit.register(lambda: _note("LOADED " + " ".join(sorted({name.split(".")[0] for name in sys.modules}))))
"""


@pytest.fixture
def guarded(tmp_path: Path, facelens_home: Path) -> Callable[..., tuple[subprocess.CompletedProcess[str], list[str]]]:
    """Function: run Python with the guard on; gives the result and all notes."""
    guard, notes = tmp_path / "guard", tmp_path / "notes"
    guard.mkdir()
    notes.mkdir()
    (guard / "sitecustomize.py").write_text(GUARD)

    def run(*arguments: str, timeout: float = 300) -> tuple[subprocess.CompletedProcess[str], list[str]]:
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join((str(guard), str(ROOT))),
            "GUARD_NOTES": str(notes),
            "FACELENS_HOME": str(facelens_home),
        }
        done = subprocess.run(
            [sys.executable, *arguments], env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=timeout
        )
        return done, [line for file in sorted(notes.iterdir()) for line in file.read_text().splitlines()]

    return run


def colours(path: Path) -> int:
    with Image.open(path) as image:
        return len(np.unique(np.asarray(image.convert("RGB").resize((360, 225))).reshape(-1, 3), axis=0))


def test_the_guard_guards(guarded: Callable) -> None:
    done, notes = guarded("-c", "import socket; socket.socket()")
    assert done.returncode == 1 and any(note.startswith("NETWORK socket.__new__") for note in notes)
    done, notes = guarded("-c", "import socket; a, b = socket.socketpair(); a.close(); b.close()")
    assert done.returncode == 0


def test_the_whole_tour_without_a_network_and_without_torch(
    guarded: Callable, make_gallery: Callable, tmp_path: Path, facelens_home: Path
) -> None:
    """Every step and every export with the real worker, all models and a training; what makes it half a minute and not
    two is a gallery of 20 faces, and one theme: the second shows the answers of the first. Both: the test below."""
    gallery = make_gallery(tmp_path / "faces", people=tuple(f"Person_{i}" for i in range(5)), pictures=4, broken=1)
    out = tmp_path / "pictures"
    done, notes = guarded("-m", "facelens", "tour", "--out", str(out), "--theme", "light", str(gallery))
    assert done.returncode == 0, done.stderr
    assert not [note for note in notes if note.startswith("NETWORK")]
    assert len([note for note in notes if note.startswith("GUARDED")]) >= 2, "the worker ran without the guard"

    expected = {f"{name}_light.png" for name, _ in STEPS}
    expected |= {"contact_sheet.png", "contact_sheet.svg", "contact_sheet.pdf", "selection.csv"}
    # So few faces support no FAR, and then neither what members reach nor an order of models nor false matches are
    # known. No column is chosen, and no list of pairs is there.
    without = {"breakdown", "pairs", "members", "sizes 1 to 1", "sizes 1 to N", "update", "sequence", *SWEPT}
    without |= {"many pairs", "saliency", "errors"}  # nothing of them was asked for, but a list of errors was clicked
    pages = {"evaluation": CHARTS, "uncertainty": UNCERTAINTY, "confidence": CONFIDENCE, "learners": LEARNERS}
    pages |= {"match": MATCH, "upgrade": UPGRADE}
    for page, names in pages.items():
        kept = {"table", "ranks"} if page in ("learners", "upgrade") else set()  # SWEPT has some of these names
        kept |= {"errors"} if page == "evaluation" else set()
        expected |= {f"{page} {name}.png" for name in names if name not in without - kept}
    expected.add("refused.csv")
    assert {path.name for path in out.iterdir()} == expected
    for path in out.glob("*.png"):
        assert colours(path) > 60, f"{path.name} is blank"
    for name in ("gallery", "loupe", "doctor"):
        with Image.open(out / f"{name}_light.png") as light:
            assert light.size == (1440, 900)
            assert float(np.asarray(light.convert("L")).mean()) > 140
    assert (out / "contact_sheet.svg").read_text().startswith("<?xml")
    assert (out / "contact_sheet.pdf").read_bytes().startswith(b"%PDF")
    with open(out / "selection.csv", newline="") as file:
        assert len(list(csv.DictReader(file))) >= 2

    assert f"{len(expected)} files" in done.stdout and str(out) in done.stdout
    [loaded] = [set(note.split()[1:]) for note in notes if note.startswith("LOADED") and "PySide6" in note]
    # pyarrow maps stored vectors, once there are some.
    assert not loaded & (set(HEAVY) - {"pyarrow"}), "loaded by the process of the window"
    assert not list(facelens_home.rglob("settings.json")), "the tour changes no settings"


@pytest.mark.faults
def test_the_tour_as_it_is_without_a_display(guarded: Callable, tmp_path: Path, facelens_home: Path) -> None:
    """The sample gallery in both themes, as `run.py` walks it; what was worked out for one theme is not asked again."""
    out = tmp_path / "pictures"
    done, notes = guarded("-m", "facelens", "tour", "--out", str(out), timeout=1200)
    assert done.returncode == 0, done.stderr
    assert not [note for note in notes if note.startswith("NETWORK")]
    pictures = {f"{name}_{scheme}.png" for name, _ in STEPS for scheme in ("dark", "light")}
    assert pictures <= {path.name for path in out.iterdir()}
    for path in out.glob("*.png"):
        assert colours(path) > 60, f"{path.name} is blank"
    told = "".join(path.read_text() for path in facelens_home.rglob("*.log"))
    for title in ("Evaluate old and lce", "Upgrade of old to lce", "Train universal"):
        assert told.count(f"{title}: ") == 1, title
    assert not list(facelens_home.rglob("settings.json")), "the tour changes no settings"


def test_a_gallery_that_is_not_there(guarded: Callable, tmp_path: Path) -> None:
    done, _ = guarded("-m", "facelens", "tour", "--out", str(tmp_path / "out"), "--theme", "dark", str(tmp_path / "no"))
    assert done.returncode == 1
    assert "Traceback" not in done.stderr and "no" in done.stderr


def test_a_folder_that_cannot_be_made(guarded: Callable, tmp_path: Path, make_gallery: Callable) -> None:
    (tmp_path / "file").write_text("in the way")
    gallery = make_gallery(tmp_path / "faces", pictures=1)
    done, _ = guarded("-m", "facelens", "tour", "--out", str(tmp_path / "file" / "out"), str(gallery))
    assert done.returncode == 1
    assert "Traceback" not in done.stderr, done.stderr
    assert "file" in done.stderr


PAINTED = """
import json, sys
from facelens.views import app
from facelens.views.main_window import MainWindow

def show(self, real=MainWindow.show):
    self.after_paint(lambda: (print(json.dumps(sorted({name.split(".")[0] for name in sys.modules}))), self.close()))
    real(self)

MainWindow.show = show
sys.exit(app.run())
"""


def test_the_window_is_painted_before_anything_heavy_is_imported(guarded: Callable) -> None:
    import json

    done, _ = guarded("-c", PAINTED)
    assert done.returncode == 0, done.stderr
    loaded = set(json.loads(done.stdout))
    assert "PySide6" in loaded and not loaded & set(HEAVY)
