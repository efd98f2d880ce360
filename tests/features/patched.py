"""A few drawn faces with landmarks and a small trained network, for tests of patches."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path

from facelens.features.patching import Model
from facelens.images import readers
from facelens.images.faceset import FaceSet

SAMPLE = Path(__file__).resolve().parents[2] / "sample_data"
NET = SAMPLE / "checkpoints" / "plain.safetensors"


def drawn(folder: Path, *, people: int = 5, each: int = 4) -> FaceSet:
    """A gallery of its own with the first pictures of some people, and their dense points."""
    folder.mkdir()
    kept: dict[str, int] = {}
    with (SAMPLE / "manifest.csv").open(encoding="utf-8", newline="") as file:
        head, *lines = csv.reader(file)
    chosen = [head]
    for line in lines:
        name = line[head.index("identity")]
        if (name in kept or len(kept) < people) and kept.get(name, 0) < each:
            kept[name] = kept.get(name, 0) + 1
            chosen.append(line)
            (folder / line[0]).parent.mkdir(exist_ok=True)
            shutil.copy(SAMPLE / line[0], folder / line[0])
    with (folder / "manifest.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(chosen)
    paths = {line[0] for line in chosen}
    points = (SAMPLE / "points68.csv").read_text("utf-8").splitlines()
    own = [line for line in points if line.split(",", 1)[0] in paths]  # "path" of the head among them
    (folder / "points68.csv").write_text("\n".join(own), "utf-8")
    return readers.read(folder / "manifest.csv").faces


def model(net: Path = NET) -> Model:
    """The network by the card beside it."""
    return Model(net)
