"""Encoders: what goes into a network, what comes out, and that the fast way says the same as the plain one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from facelens.errors import InputError
from facelens.features import graph, onnx
from facelens.features.card import Card
from facelens.features.encoder import FileEncoder, Program, TorchEncoder, _fused, _Plain, prepared, use_cores
from facelens.features.graph import _piece, _varint
from facelens.features.models import MODELS, Output
from facelens.features.onnx import OnnxEncoder

rng = np.random.default_rng(0)
CARD = Card("a", "a", size=(16, 16), dimensions=5)


@pytest.fixture(autouse=True)
def _cores() -> object:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("order", ["RGB", "BGR", "GREY"])
def test_numbers_a_network_gets(order: str) -> None:
    pictures = rng.integers(0, 256, (2, 8, 9, 3), dtype=np.uint8)
    grey = order == "GREY"
    mean, std = ((100.0,), (50.0,)) if grey else ((10.0, 20.0, 30.0), (2.0, 4.0, 8.0))
    card = Card("a", "a", size=(8, 9), order=order, mean=mean, std=std)
    found = prepared(pictures, card)
    assert found.shape == (2, card.channels, 8, 9) and found.dtype == np.float32 and found.flags.c_contiguous
    for b, y, x, c in np.ndindex(2, 8, 9, card.channels):
        red, green, blue = (float(v) for v in pictures[b, y, x])
        value = {
            "RGB": (red, green, blue),
            "BGR": (blue, green, red),
            "GREY": (0.299 * red + 0.587 * green + 0.114 * blue,),
        }[order][c]
        assert found[b, c, y, x] == pytest.approx((value - mean[c]) / std[c], rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("order", ["RGB", "BGR", "GREY"])
def test_the_fast_way_to_the_same_numbers(order: str) -> None:
    grey = order == "GREY"
    card = CARD.changed(
        order=order, mean=(100.0,) if grey else (10.0, 20.0, 30.0), std=(9.0,) if grey else (2.0, 4.0, 8.0)
    )
    encoder = TorchEncoder(weighed(card), card)
    pictures = rng.integers(0, 256, (3, 16, 16, 3), dtype=np.uint8)
    for some in (pictures, pictures[:, :, ::-1]):
        batch = encoder._batch(some)
        assert batch.is_contiguous(memory_format=torch.channels_last)
        np.testing.assert_allclose(batch.numpy(), prepared(some, card), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("n", [1, 2, 3, 7, 32])
@pytest.mark.parametrize("streams", [2, 3])
def test_pieces_are_put_together_in_order(n: int, streams: int) -> None:
    net = weighed(CARD, patches=True, confidence=True)
    encoder, alone = TorchEncoder(net, CARD), TorchEncoder(net, CARD)
    encoder.streams, alone.streams = streams, 1
    pictures = rng.integers(0, 256, (n, 16, 16, 3), dtype=np.uint8)
    for ours, theirs in zip(encoder(pictures, patches=True), alone(pictures, patches=True)):
        assert ours is not None and theirs is not None
        np.testing.assert_allclose(ours, theirs, atol=1e-5)


def weighed(card: Card, *, patches: bool = False, confidence: bool = False) -> nn.Module:
    """A network that is not the same left and right."""

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = nn.Conv2d(card.channels, 6, 3, stride=2)
            self.norm = nn.BatchNorm2d(6)
            self.out = nn.LazyLinear(5)

        def forward(self, batch: torch.Tensor) -> Output:
            maps = torch.relu(self.norm(self.conv(batch)))
            vector = self.out(maps.flatten(1))
            return Output(vector, maps if patches else None, vector[:, :2].sigmoid() if confidence else None)

    torch.manual_seed(0)
    net = Net()
    net.eval()(torch.zeros(1, card.channels, *card.size))
    return net


@pytest.mark.parametrize("fast", [True, False])
def test_mirror_image_is_added(fast: bool) -> None:
    net = weighed(CARD, patches=True, confidence=True)
    pictures = rng.integers(0, 256, (3, 16, 16, 3), dtype=np.uint8)
    plain = TorchEncoder(net, CARD, fast=fast)
    both = TorchEncoder(net, CARD.changed(flip=True), fast=fast)
    assert (plain.dimensions, plain.parts) == (5, 2)
    once, mirrored, sum_ = plain(pictures, patches=True), plain(pictures[:, :, ::-1]), both(pictures, patches=True)
    np.testing.assert_allclose(sum_.vectors, once.vectors + mirrored.vectors, atol=1e-5)
    assert np.abs(once.vectors - mirrored.vectors).max() > 0.01
    assert sum_.confidence is not None and once.confidence is not None and mirrored.confidence is not None
    np.testing.assert_allclose(sum_.confidence, (once.confidence + mirrored.confidence) / 2, atol=1e-5)
    assert sum_.patches is not None and once.patches is not None and once.patches.shape == (3, 6, 7, 7)
    np.testing.assert_allclose(sum_.patches, once.patches, atol=1e-5)
    assert plain(pictures).patches is None


@pytest.mark.parametrize(
    "name",
    [
        *("small_plain", "small_residual", "small_dense", "cnn4"),
        *(pytest.param(large, marks=pytest.mark.faults) for large in ("mobilefacenet_facexzoo", "resnetface18")),
    ],
)
def test_the_fused_network_says_the_same(name: str) -> None:
    torch.manual_seed(1)
    spec = MODELS[name]
    net = spec.build().eval()
    for module in net.modules():  # statistics of a network that was trained
        if isinstance(module, nn.BatchNorm2d):
            nn.init.normal_(module.running_mean, 0, 0.1)
            nn.init.uniform_(module.running_var, 0.5, 2)
    pictures = rng.integers(0, 256, (5, *spec.card.size, 3), dtype=np.uint8)
    fast, eager = TorchEncoder(net, spec.card), TorchEncoder(net, spec.card, fast=False)
    ours, theirs = fast(pictures, patches=True), eager(pictures, patches=True)
    assert isinstance(fast._traced[True], torch.jit.ScriptModule), "fused, not given up"
    cosine = (ours.vectors * theirs.vectors).sum(1) / np.linalg.norm(ours.vectors, axis=1)
    assert (cosine / np.linalg.norm(theirs.vectors, axis=1)).min() > 1 - 1e-5
    assert ours.patches is not None and theirs.patches is not None
    np.testing.assert_allclose(ours.patches, theirs.patches, atol=1e-2 * np.abs(theirs.patches).max())
    # Batches of another size than the one it was traced with.
    np.testing.assert_allclose(fast(pictures[:1]).vectors, theirs.vectors[:1], rtol=1e-3, atol=1e-3)


def test_where_fusing_changes_the_answer_the_plain_network_is_used() -> None:
    class Fickle(nn.Module):
        times = 0

        def forward(self, batch: torch.Tensor) -> Output:
            Fickle.times += 1
            return Output(batch.mean((2, 3)) + Fickle.times)

    plain = _Plain(Fickle().eval(), patches=False)
    assert _fused(plain, torch.zeros(2, 3, 8, 8)) is plain


def test_a_network_that_cannot_be_traced_runs_plainly() -> None:
    class Untraceable(nn.Module):
        def forward(self, batch: torch.Tensor) -> Output:
            if torch.jit.is_tracing():
                raise RuntimeError("not this one")
            return Output(batch.mean((2, 3)))

    encoder = TorchEncoder(Untraceable(), CARD)
    pictures = rng.integers(0, 256, (3, 16, 16, 3), dtype=np.uint8)
    np.testing.assert_allclose(encoder(pictures).vectors, prepared(pictures, CARD).mean((2, 3)), atol=1e-5)


def test_a_size_the_network_does_not_take() -> None:
    net = weighed(CARD)
    with pytest.raises(InputError) as caught:
        TorchEncoder(net, CARD.changed(size=(20, 20)))
    assert caught.value.message == "The network does not run on pictures of 20 × 20." and caught.value.details
    with pytest.raises(InputError):
        TorchEncoder(net, CARD.changed(order="GREY", mean=(0.0,), std=(1.0,)))


def test_programs() -> None:
    class Two(nn.Module):
        def forward(self, batch: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            return batch[:, :, ::2, ::2], batch.mean((2, 3))

    pictures = rng.integers(0, 256, (3, 16, 16, 3), dtype=np.uint8)
    found = TorchEncoder(Program(torch.jit.script(Two())), CARD, fast=False)(pictures, patches=True)
    np.testing.assert_allclose(found.vectors, prepared(pictures, CARD).mean((2, 3)), atol=1e-5)
    assert found.patches is not None and found.patches.shape == (3, 3, 8, 8)

    class Maps(nn.Module):
        def forward(self, batch: torch.Tensor) -> torch.Tensor:
            return batch

    with pytest.raises(InputError, match="gives no vector"):
        TorchEncoder(Program(torch.jit.script(Maps())), CARD, fast=False)


def tiny_onnx(path: Path, *, size: int = 16) -> Path:
    """y = mean over places of relu(x), written field by field: (N, 3, size, size) -> (N, 3)."""

    def text(number: int, value: str) -> bytes:
        return _piece(number, value.encode())

    def port(name: str, shape: tuple[int | str, ...]) -> bytes:
        dims = b"".join(_piece(1, b"\x08" + _varint(n) if isinstance(n, int) else text(2, n)) for n in shape)
        return text(1, name) + _piece(2, _piece(1, b"\x08\x01" + _piece(2, dims)))

    def node(op: str, source: str, result: str) -> bytes:
        return _piece(1, text(1, source) + text(2, result) + text(4, op))

    body = node("Relu", "x", "map") + node("GlobalAveragePool", "map", "pooled") + node("Flatten", "pooled", "y")
    body += text(2, "g") + _piece(11, port("x", ("N", 3, size, size))) + _piece(12, port("y", ("N", 3)))
    path.write_bytes(b"\x08\x07" + _piece(8, b"\x10\x0d") + _piece(7, body))
    return path


@pytest.mark.skipif(not onnx.installed(), reason="onnxruntime is not installed")
def test_an_onnx_file(tmp_path: Path) -> None:
    path = tiny_onnx(tmp_path / "m.onnx")
    with open(path, "rb") as stream:
        seen = graph.inspect(stream, path.stat().st_size, shown="m")
    card = Card("m", "onnx", size=(16, 16), order="BGR", dimensions=3, flip=True, patch_layer="map", grid=(16, 16))
    encoder = FileEncoder(OnnxEncoder(path, seen, patches="map", threads=1), card, streams=2)
    assert (encoder.dimensions, encoder.parts) == (3, 0)
    pictures = rng.integers(0, 256, (3, 16, 16, 3), dtype=np.uint8)
    found = encoder(pictures, patches=True)
    maps = np.maximum(prepared(pictures, card), 0)
    np.testing.assert_allclose(found.vectors, 2 * maps.mean((2, 3)), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found.patches, maps, atol=1e-6)
    assert encoder(pictures).patches is None
    with pytest.raises(InputError, match="takes pictures of 16 × 16, its card says 32 × 32"):
        FileEncoder(OnnxEncoder(path, seen, threads=1), card.changed(size=(32, 32)))


def test_cores() -> None:
    assert use_cores(1) == 1 == torch.get_num_threads()
    assert use_cores() == torch.get_num_threads() >= 1
