"""What a training tells beside its terms: confidences of the same few faces, and what the start could do."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from facelens.features import recipe
from facelens.features.history import history
from facelens.features.recipe import Recipe
from facelens.features.train import train
from facelens.images.faceset import FaceSet

PICTURES = 4
NETWORK = "network.options={backbone='small_plain', parts=4, start=24.0, backbone_options={grid=[2, 2]}}"
SMALL = ["batch.people=3", "batch.pictures=2", "epochs=0", "log=1"]


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("watched")


@pytest.fixture(scope="module")
def faces(room: Path) -> FaceSet:
    """Six people who are noise of 16 x 16, so that a step takes milliseconds."""
    rng, paths = np.random.default_rng(0), [f"{person}-{k}.png" for person in range(6) for k in range(PICTURES)]
    for path in paths:
        Image.fromarray(rng.integers(0, 255, (16, 16, 3), np.uint8)).save(room / path)
    return FaceSet.build("noise", room, paths=paths, identities=[path[0] for path in paths])


def small(name: str, *changes: str) -> Recipe:
    return recipe.load(name, changes=[*SMALL, *changes])


@pytest.fixture(scope="module")
def universal(room: Path, faces: FaceSet) -> Path:
    fast = ["schedule.warmup=0", "loss.confidence_rate=0.03", "optimiser.kind=sgd", "optimiser.rate=0.05"]
    told = small("universal", NETWORK, *fast, "augment.pose=0.0", "validation.every=2", "steps=5")
    train(told, room / "universal", faces=faces, cache=room)
    return room / "universal"


def test_confidences_are_watched_with_and_without_variations(universal: Path) -> None:
    rows = history(universal)
    watched = {row["step"]: row["facts"]["confidences"] for row in rows if "confidences" in row["facts"]}
    assert list(watched) == [2, 4, 5]
    groups, held_out = watched[4]["groups"], 2 * PICTURES
    sizes = {name: {sum(part) for part in group["counts"]} for name, group in groups.items()}
    assert sizes == {"clean": {held_out}, "blur": {held_out // 2}, "occlusion": {held_out // 2}}
    assert all(np.shape(group["quantiles"]) == (4, 5) for group in groups.values())
    assert groups["clean"]["quantiles"] != groups["blur"]["quantiles"]
    assert all(np.shape(row["facts"]["confidence"]) == (4, 5) for row in rows)


def test_weights_to_start_from_are_validated_before_they_learn(universal: Path, room: Path, faces: FaceSet) -> None:
    start = [f"models.start={universal / 'checkpoint.safetensors'}", NETWORK.replace("start", "uncertainty=8, start")]
    told = small("pa-finetune", *start, "validation.every=2", "steps=2")
    train(told, room / "aggregation", faces=faces, cache=room)
    first, *rows = history(room / "aggregation")
    assert first["step"] == 0 and first["terms"] == {} and first["validation"].keys() == rows[-1]["validation"].keys()
    assert set(first["facts"]["confidences"]["groups"]) >= {"clean", "blur"}
    assert [row["step"] for row in rows] == [1, 2]
