"""A monkey at the real window and its worker: no exception, no warning of Qt, no leaked panel, no stall."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from facelens.resources import sample_data, sample_models

ROOT = Path(__file__).resolve().parents[2]
MONKEY = Path(__file__).with_name("monkey.py")
PEOPLE = 12
MODELS = ("old", "lce", "universal")


@pytest.fixture
def gallery(tmp_path: Path) -> Path:
    """Some people of the sample, with their columns."""
    root = tmp_path / "gallery"
    people = sorted(path.name for path in sample_data().iterdir() if path.is_dir() and path.name != "checkpoints")
    for name in people[:PEOPLE]:
        shutil.copytree(sample_data() / name, root / name)
    head, *rows = (sample_data() / "manifest.csv").read_text("utf-8").splitlines()
    kept = [row for row in rows if row.split("/")[0] in people[:PEOPLE]]
    (root / "manifest.csv").write_text("\n".join([head, *kept]) + "\n", "utf-8")
    return root


def let_loose(room: Path, gallery: Path, home: Path, *, seed: int, steps: int) -> dict[str, Any]:
    """What it saw; in a process of its own, as the program is."""
    room.mkdir()
    models = []
    for path in (one for one in sample_models() if one.stem in MODELS):  # it may write cards beside them
        for file in path.parent.glob(f"{path.name}*"):
            shutil.copy(file, room / file.name)
        models.append(str(room / path.name))
    assert len(models) == len(MODELS)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "FACELENS_HOME": str(home), "QT_QPA_PLATFORM": "offscreen"}
    done = subprocess.run(
        [sys.executable, str(MONKEY), str(room), str(gallery), str(seed), str(steps), *models],
        env=environment, cwd=room, capture_output=True, text=True, timeout=3600,  # it types names of folders, too
    )  # fmt: skip
    last = done.stdout.strip().splitlines()[-1:]
    assert last and last[0].startswith("{"), f"seed {seed}, it ended with {done.returncode}: {done.stderr[-6000:]}"
    told = json.loads(last[0])
    assert not told["heard"], (told["heard"][0], told["last"])
    assert told["steps"] == steps and not told["leaked"], told
    return told


@pytest.mark.slow
def test_a_monkey_breaks_nothing(tmp_path: Path, gallery: Path, facelens_home: Path) -> None:
    told = let_loose(tmp_path / "room", gallery, facelens_home, seed=2, steps=600)
    assert len(told["pages"]) == 11
    assert not [one for one in told["stalls"] if one[0] > 1], "where other work goes on beside it, seconds are longer"


@pytest.mark.faults
@pytest.mark.parametrize("seed", [3, 4, 5])
def test_a_patient_monkey_breaks_nothing(seed: int, tmp_path: Path, gallery: Path, facelens_home: Path) -> None:
    told = let_loose(tmp_path / "room", gallery, facelens_home, seed=seed, steps=20_000)
    assert not told["stalls"], told["stalls"]
