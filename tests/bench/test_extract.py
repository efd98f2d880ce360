"""Extraction end to end beside the bare network: decoding, aligning and storing cost next to nothing."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from facelens.features.encoder import PIECE, TorchEncoder, _fused, _Plain, prepared, use_cores
from facelens.features.extract import BATCH, embed
from facelens.features.feed import feed_face
from facelens.features.models import MODELS
from facelens.features.store import Store
from facelens.images.align import hasten
from facelens.images.faceset import FaceSet

pytestmark = pytest.mark.bench
PICTURES = 320
ROUNDS = 5
REACH = 0.9  # of the bare network's rate


@pytest.fixture(scope="module")
def photographs(tmp_path_factory: pytest.TempPathFactory) -> FaceSet:
    """JPEGs of 250 x 250 pixels with five points, as photographs of faces have."""
    folder = tmp_path_factory.mktemp("photographs")
    rng = np.random.default_rng(0)
    for i in range(PICTURES):
        small = Image.fromarray(rng.integers(0, 256, (30, 30, 3), dtype=np.uint8))
        small.resize((250, 250), Image.Resampling.BICUBIC).save(folder / f"{i:04}.jpg", quality=75)
    faces = FaceSet.build("p", folder, paths=[f"{i:04}.jpg" for i in range(PICTURES)], identities=["A"] * PICTURES)
    points = np.array([(105, 113), (147, 115), (121, 135), (106, 159), (143, 160)], np.float32)
    return replace(faces, landmarks=points + rng.normal(0, 2, (PICTURES, 5, 2)).astype(np.float32))


def crops(faces: FaceSet, folder: Path) -> FaceSet:
    """The same faces, aligned and cut already."""
    folder.mkdir()
    for row in range(len(faces)):
        picture = feed_face(faces, row, MODELS["mobilefacenet_facexzoo"].card)
        Image.fromarray(picture).save(folder / faces.file_name(row), quality=90)
    return replace(faces, root=folder, landmarks=None)


@pytest.mark.parametrize(
    ("name", "kind"),
    [("mobilefacenet_facexzoo", "photographs"), ("mobilefacenet_facexzoo", "aligned"), ("iresnet18", "photographs")],
)
def test_end_to_end_beside_the_bare_network(
    tmp_path: Path, photographs: FaceSet, record_property: Callable[[str, object], None], name: str, kind: str
) -> None:
    use_cores()
    spec = MODELS[name]
    faces = photographs if name.startswith("mobile") else photographs.take(np.arange(160))
    if kind == "aligned":
        faces = crops(faces, tmp_path / "crops")
    network = spec.build().eval()
    encoder = TorchEncoder(network, spec.card)
    some = np.stack([feed_face(faces, row, spec.card) for row in range(BATCH)])
    batch = torch.from_numpy(prepared(some, spec.card)).contiguous(memory_format=torch.channels_last)
    fused = _fused(_Plain(network, patches=False).eval(), batch)
    eager_net = spec.build().eval()
    plain = torch.from_numpy(prepared(some, spec.card))

    def work(some: torch.Tensor, times: int) -> None:
        with torch.inference_mode():
            for _ in range(times):
                fused(some)

    def together() -> float:
        """The network alone, all cores on one batch."""
        turns = max(2, len(faces) // BATCH // 4)
        began = time.perf_counter()
        work(batch, turns)
        return turns * BATCH / (time.perf_counter() - began)

    def apart(rows: int) -> float:
        """The network alone, every core on batches of its own."""
        cores = torch.get_num_threads()
        turns, some = len(faces) // rows // cores, batch[:rows]
        with ThreadPoolExecutor(cores, initializer=torch.set_num_threads, initargs=(1,)) as pool:
            list(pool.map(work, [some] * cores, [1] * cores))
            began = time.perf_counter()
            list(pool.map(work, [some] * cores, [turns] * cores))
            rate = turns * cores * rows / (time.perf_counter() - began)
        torch.set_num_threads(cores)
        return rate

    def eager() -> float:
        began = time.perf_counter()
        with torch.inference_mode():
            for _ in range(2):
                eager_net(plain)
        return 2 * BATCH / (time.perf_counter() - began)

    def end_to_end(turn: int) -> float:
        store = Store.create(tmp_path, f"{turn:032x}", card=spec.card, dimensions=encoder.dimensions)
        began = time.perf_counter()
        assert embed(faces, encoder, store).embedded == len(faces)
        return len(faces) / (time.perf_counter() - began)

    with torch.inference_mode():
        for _ in range(3):
            fused(batch)
    encoder(some)
    hasten()  # as it is in a long run
    end_to_end(ROUNDS)
    # Turn about: whatever else the machine does, it does to all.
    turns = [(together(), apart(BATCH), apart(PIECE), end_to_end(turn), eager()) for turn in range(ROUNDS)]
    labels = ("bare", "bare, a core each", "bare, small batches", "whole", "eager")
    rates = dict(zip(labels, zip(*turns), strict=True))
    for label, found in rates.items():
        record_property(label, round(max(found), 1))
        ratios = np.array(rates["whole"]) / found
        print(
            f"{name}, {kind}, {label}: {max(found):.1f}/s; end to end {max(rates['whole']) / max(found):.3f} of it"
            f" (rounds {ratios.min():.3f} to {ratios.max():.3f}, middle {np.median(ratios):.3f})"
        )
    best = {label: max(found) for label, found in rates.items()}
    assert best["whole"] >= REACH * best["bare"]
    assert best["whole"] >= REACH * best["bare, a core each"]
    assert best["whole"] > best["eager"]
