"""The table of networks: parameters, output shapes and cards against public figures and against counting by hand."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
import torch

from facelens.errors import InputError
from facelens.features.card import ORDERS, Card
from facelens.features.models import MODELS, NARROW, shapes
from facelens.features.models.shapes import hollow, measured

ROOT = Path(__file__).resolve().parents[3]


def parameters(name: str, **options: object) -> int:
    return sum(p.numel() for p in hollow(MODELS[name].fitted(options)).parameters())


# Counting by hand: k x k weights, normalisation 2 a channel, PReLU 1 a channel --------------------------------------


def conv(channels_in: int, channels: int, k: int, *, groups: int = 1) -> int:
    return channels_in // groups * channels * k * k


def iresnet(blocks: Iterable[int]) -> int:
    total = conv(3, 64, 3) + 3 * 64
    widths = [64, 64, 128, 256, 512]
    for (before, width), count in zip(pairwise(widths), blocks):
        for i in range(count):
            inside = before if i == 0 else width
            total += 2 * inside + conv(inside, width, 3) + 3 * width + conv(width, width, 3) + 2 * width
            total += conv(inside, width, 1) + 2 * width if i == 0 else 0
    return total + 2 * 512 + 512 * 49 * 512 + 512 + 2 * 512


def mobilefacenet(*, dimensions: int, places: int, prelu: bool) -> int:
    act = 3 if prelu else 2  # normalisation, and a slope where there is one
    total = conv(3, 64, 3) + act * 64 + 9 * 64 + act * 64
    inside = 64
    for expansion, width, count in ((2, 64, 5), (4, 128, 1), (2, 128, 6), (4, 128, 1), (2, 128, 2)):
        for _ in range(count):
            hidden = inside * expansion
            total += inside * hidden + act * hidden + 9 * hidden + act * hidden + hidden * width + 2 * width
            inside = width
    total += 128 * 512 + act * 512 + places * 512 + 2 * 512
    return total + 512 * dimensions + 2 * dimensions


def sphere20() -> int:
    total = 0
    for before, width, count in ((3, 64, 1), (64, 128, 2), (128, 256, 4), (256, 512, 1)):
        total += conv(before, width, 3) + width + width + count * 2 * (conv(width, width, 3) + width)
    return total + 512 * 42 * 512 + 512


def resnetface18() -> int:
    total = conv(1, 64, 3) + 2 * 64 + 1
    for before, width in pairwise((64, 64, 128, 256, 512)):
        for inside, last in ((before, width), (width, width)):
            total += 2 * inside + conv(inside, inside, 3) + 2 * inside + 1 + conv(inside, last, 3) + 2 * last
            total += inside * last + 2 * last if inside != last else 0
    return total + 2 * 512 + 512 * 64 * 512 + 512 + 2 * 512


@pytest.mark.parametrize(
    ("name", "by_hand", "published"),
    [
        # insightface, arcface_torch: r18, r34, r50, r100; in millions, as commonly printed
        ("iresnet18", iresnet((2, 2, 2, 2)), 24.03),
        ("iresnet34", iresnet((3, 4, 6, 3)), 34.14),
        ("iresnet50", iresnet((3, 4, 14, 3)), 43.59),
        ("iresnet100", iresnet((3, 13, 30, 3)), 65.16),
        # Chen et al. 2018, table 4: 0.99 million
        ("mobilefacenet_casia", mobilefacenet(dimensions=128, places=42, prelu=True), 1.00),
        ("mobilefacenet_facexzoo", mobilefacenet(dimensions=512, places=49, prelu=True), 1.20),
        # and a pointwise convolution behind the first depthwise one, and a bias
        (
            "mobilefacenet_foamliu",
            mobilefacenet(dimensions=128, places=49, prelu=False) + 64 * 64 + 2 * 64 + 128,
            1.00,
        ),
        ("sphere20", sphere20(), 22.67),
        ("resnetface18", resnetface18(), 25.63),
    ],
)
def test_parameters_counted_by_hand(name: str, by_hand: int, published: float) -> None:
    assert parameters(name) == by_hand == MODELS[name].parameters
    assert round(by_hand / 1e6, 2) == published


@pytest.mark.parametrize(
    ("name", "options", "published"),
    [
        ("inception_resnet_v1", {}, 23_482_624),  # facenet-pytorch, InceptionResnetV1 without logits
        ("inception_resnet_v1", {"classes": 8631}, 27_910_327),  # and with those of its VGGFace2 weights
        ("resnet50", {"dimensions": 1000}, 25_557_032),  # torchvision, resnet50
        ("resnet50_neck", {}, 25_557_032 - 2049 * 1000 + 2 * 2048),  # without classifier, with the neck
        ("universal", {}, 65_156_160 + 16 * (512 * 49 + 1)),  # IResNet-100 and a 16-d confidence branch
    ],
)
def test_parameters_published(name: str, options: dict[str, int], published: int) -> None:
    assert parameters(name, **options) == published


@pytest.mark.parametrize("name", MODELS)
def test_table_is_right(name: str) -> None:
    spec = MODELS[name]
    assert spec.name == name == spec.card.architecture and spec.title
    assert parameters(name) == spec.parameters
    size = measured(spec)
    assert (size.dimensions, size.grid) == (spec.card.dimensions, spec.card.grid)
    assert spec.card.patch_layer and spec.card.order in ORDERS
    assert len(spec.card.mean) == len(spec.card.std) == spec.card.channels
    assert Card.from_json(spec.card.as_json()) == spec.card


@pytest.mark.parametrize(
    ("name", "channels", "grid"),
    [
        ("iresnet50", 512, (7, 7)),
        ("resnetface18", 512, (8, 8)),
        ("sphere20", 512, (7, 6)),
        ("inception_resnet_v1", 1792, (3, 3)),
        ("mobilefacenet_casia", 512, (7, 6)),
        ("mobilefacenet_facexzoo", 512, (7, 7)),
        ("mobilefacenet_foamliu", 512, (7, 7)),
        ("mobilefacenet_insightface", 512, (7, 7)),
        ("resnet50", 2048, (7, 7)),
        ("resnet50_neck", 2048, (16, 8)),
        ("cnn4", 512, (7, 7)),
    ],
)
def test_patch_maps(name: str, channels: int, grid: tuple[int, int]) -> None:
    assert measured(MODELS[name])[1:] == (channels, grid)


def test_other_patch_layers() -> None:
    assert measured(MODELS["resnetface18"].fitted({"patch_layer": "layer3"}))[1:] == (256, (16, 16))
    assert measured(MODELS["iresnet18"].fitted({"patch_layer": ""}))[1:] == (0, None)
    with pytest.raises(InputError, match="no patch layer layer9"):
        MODELS["iresnet18"].build(patch_layer="layer9")


@pytest.mark.parametrize("name", MODELS)
def test_every_network_runs_and_learns(name: str) -> None:
    torch.manual_seed(0)
    # Small pictures and few blocks: the same code in a fraction of the time.
    short = {"blocks": (1, 1, 1, 1)} if name.startswith(("iresnet", "sphere", "resnetface")) else {}
    fixed = name.startswith(("inception", "resnet50", "cnn4"))
    options = short | ({} if fixed else {"grid": (2, 2)})
    if name in ("universal", "divided"):
        options = {"backbone": "small_residual", "backbone_options": {"grid": (2, 2)}}
    spec = MODELS[name].fitted(options)
    size = (96, 96) if name.startswith("inc") else (64, 64) if fixed else spec.card.size
    network = spec.build()
    x = torch.randn(2, spec.card.channels, *size)
    embedding, patches, confidence = network(x)
    assert embedding.ndim == 2 and embedding.isfinite().all() and (confidence is not None) == (name == "universal")
    assert patches is not None and patches.ndim == 4
    if not fixed:
        assert embedding.shape == (2, spec.card.dimensions) and patches.shape[2:] == (2, 2)
    if confidence is not None:
        embedding = embedding * confidence.mean()
    embedding.square().mean().backward()
    still = {key for key, p in network.named_parameters() if p.requires_grad and p.grad is None}
    assert not still
    network.eval()
    with torch.no_grad():
        alone = network(x[:1]).embedding
        torch.testing.assert_close(alone, network(x).embedding[:1], rtol=1e-4, atol=1e-4)


def test_small_networks_are_small_and_differ() -> None:
    small = [spec for name, spec in MODELS.items() if name.startswith("small_")]
    assert len(small) >= 3 and all(spec.parameters < 500_000 and spec.card.size == (64, 64) for spec in small)
    assert all(spec.card.grid == (8, 8) for spec in small)
    assert len({tuple(hollow(spec).state_dict()) for spec in small}) == len(small)
    assert {spec.card.dimensions for spec in small} == {96, 128}


def test_cards_feed_as_published() -> None:
    casia, zoo, foam = (MODELS[f"mobilefacenet_{name}"].card for name in ("casia", "facexzoo", "foamliu"))
    assert (casia.size, casia.crop, casia.order) == ((112, 96), (0, 8, 112, 104), "RGB")
    assert (zoo.order, zoo.mean, zoo.std) == ("BGR", (127.5,) * 3, (128.0,) * 3)
    assert tuple(round(m / 255, 3) for m in foam.mean) == (0.485, 0.456, 0.406)
    assert tuple(round(s / 255, 3) for s in foam.std) == (0.229, 0.224, 0.225)
    assert MODELS["resnetface18"].card.order == "GREY" and MODELS["resnetface18"].card.size == (128, 128)
    assert MODELS["inception_resnet_v1"].card.template == "facenet160"


def test_a_card_follows_its_options() -> None:
    casia = MODELS["mobilefacenet_casia"].fitted({"grid": (7, 7), "dimensions": 256})
    assert (casia.card.size, casia.card.crop, casia.card.grid) == ((112, 112), None, (7, 7))
    assert casia.card.dimensions == 256 and casia.card.options == {"grid": (7, 7), "dimensions": 256}
    zoo = MODELS["mobilefacenet_facexzoo"].fitted({"grid": [7, 6]})
    assert (zoo.card.size, zoo.card.crop) == ((112, 96), NARROW)
    grey = MODELS["sphere20"].fitted({"channels": 1}).card
    assert (grey.order, grey.mean, grey.std) == ("GREY", (127.5,), (127.5,))
    colour = MODELS["resnetface18"].fitted({"channels": 3}).card
    assert (colour.order, colour.mean) == ("RGB", (127.5,) * 3)


def test_a_head_is_fed_as_its_backbone() -> None:
    spec = MODELS["universal"].fitted({"backbone": "mobilefacenet_casia", "backbone_options": {"grid": [7, 7]}})
    assert (spec.card.size, spec.card.crop, spec.card.dimensions, spec.card.std[0]) == ((112, 112), None, 128, 128.0)
    assert spec.card.architecture == spec.card.name == "universal" and spec.card.patch_layer == "conv2"
    again = MODELS["universal"].fitted(Card.from_json(spec.card.as_json()).options)
    assert again.card == spec.card


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("iresnet50", {"depth": 51}),
        ("iresnet50", {"colour": "red"}),
        ("small_plain", {"dimensions": "many"}),
        ("small_plain", {"dimensions": -1}),
        ("small_plain", {"kind": "round"}),
        ("sphere20", {"grid": 7}),
        ("universal", {"backbone": "nothing"}),
        ("universal", {"backbone": "small_plain", "parts": 0}),
    ],
)
def test_options_that_make_no_sense_are_said_so(name: str, options: dict[str, object]) -> None:
    with pytest.raises(InputError):
        MODELS[name].build(**options)


def test_table_imports_without_torch() -> None:
    code = "import sys, facelens.features.models, facelens.features.models.geometry; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


def test_the_layers_written_down_are_those_of_the_networks() -> None:
    for spec in MODELS.values():
        if spec.name == "universal":
            assert shapes.layers(spec) == ()
            continue
        assert shapes.layers(spec) == shapes.measured_layers(spec), spec.name
        assert dict(shapes.layers(spec))[spec.card.patch_layer][1:] == spec.card.grid
    wide = replace(MODELS["resnet50"], card=MODELS["resnet50"].card.changed(size=(96, 160)))
    assert dict(shapes.layers(wide))["layer4"] == (2048, 3, 5)
    small = replace(MODELS["iresnet18"], card=MODELS["iresnet18"].card.changed(size=(96, 96)))
    assert shapes.layers(small) == ()  # does not run at that size
