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

from facelens.features.encoder import TorchEncoder, _fused, _Plain, prepared, use_cores
from facelens.features.extract import BATCH, embed
from facelens.features.feed import feed_face
from facelens.features.models import MODELS
from facelens.features.store import Store
from facelens.images.faceset import FaceSet

pytestmark = pytest.mark.bench
PICTURES = 640
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

    def bare() -> tuple[float, float]:
        """The network alone in both ways to use all cores: together on one batch, or each on its own."""
        turns = len(faces) // BATCH

        def work(times: int) -> None:
            with torch.inference_mode():
                for _ in range(times):
                    fused(batch)

        began = time.perf_counter()
        work(turns // 2)
        together = turns // 2 * BATCH / (time.perf_counter() - began)
        cores = torch.get_num_threads()
        with ThreadPoolExecutor(cores, initializer=torch.set_num_threads, initargs=(1,)) as pool:
            list(pool.map(work, [1] * cores))
            began = time.perf_counter()
            list(pool.map(work, [turns // 2] * cores))
            apart = turns // 2 * cores * BATCH / (time.perf_counter() - began)
        torch.set_num_threads(cores)
        return together, apart

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
    # Turn about: whatever else the machine does, it does to all.
    turns = [(*bare(), end_to_end(turn), eager()) for turn in range(4)]
    together, apart, whole, plainly = (max(rates) for rates in zip(*turns))
    for label, rate in (("bare", together), ("bare, a core each", apart), ("whole", whole), ("eager", plainly)):
        record_property(label, round(rate, 1))
    print(
        f"{name}, {kind}: end to end {whole:.1f}/s, bare network {together:.1f}/s (ratio {whole / together:.3f}), with"
        f" a core for each batch {apart:.1f}/s (ratio {whole / apart:.3f}), eager {plainly:.1f}/s"
    )
    assert whole >= REACH * together
    assert whole > plainly
    if kind == "aligned":
        assert whole >= REACH * apart, "even beside the fastest way to run the network"
