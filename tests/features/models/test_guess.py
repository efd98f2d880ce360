"""Architectures are found from names and shapes; a wrong file never half-loads."""

from __future__ import annotations

import json
import time
from typing import Any

import numpy as np
import pytest
import torch

from facelens.errors import InputError, NeedsChoice
from facelens.features.card import Card
from facelens.features.models import MODELS
from facelens.features.models.guess import compare, details, guess, load
from facelens.features.models.shapes import state_shapes

Shapes = dict[str, tuple[int, ...]]

# Architecture and options of files as people have them.
VARIANTS: list[tuple[str, dict[str, Any]]] = [
    *((name, {}) for name in MODELS if name not in ("divided",)),
    ("iresnet50", {"dimensions": 256}),
    ("iresnet100", {"blocks": [6, 26, 60, 6]}),  # IResNet-200
    ("iresnet18", {"grid": [7, 6]}),
    ("mobilefacenet_casia", {"grid": [7, 7]}),
    ("mobilefacenet_casia", {"dimensions": 512}),
    ("mobilefacenet_facexzoo", {"grid": [7, 6], "dimensions": 128}),
    ("mobilefacenet_foamliu", {"dimensions": 256}),
    ("mobilefacenet_insightface", {"blocks": [2, 8, 12, 4], "scale": 4}),
    ("sphere20", {"blocks": [3, 7, 16, 3]}),
    ("sphere20", {"channels": 1}),
    ("resnetface18", {"squeeze": True}),
    ("resnetface18", {"channels": 3}),
    ("inception_resnet_v1", {"dimensions": 128}),
    ("resnet50", {"dimensions": 128}),
    ("resnet50", {"dimensions": 2048}),
    ("small_plain", {"dimensions": 64}),
    ("universal", {"backbone": "small_residual", "parts": 8}),
    ("universal", {"backbone": "small_plain", "parts": 8, "uncertainty": 24}),
    ("universal", {"backbone": "iresnet18", "backbone_options": {"dimensions": 256}}),
]
PREFIXES = ["", "module.", "backbone.", "model.", "features.module.", "encoder.", "net.", "net_state_dict.module."]


def plain(options: object) -> Any:
    return json.loads(json.dumps(options))


@pytest.mark.parametrize(("name", "options"), VARIANTS, ids=[f"{n}-{i}" for i, (n, _) in enumerate(VARIANTS)])
def test_every_variant_is_found(name: str, options: dict[str, Any]) -> None:
    prefix = PREFIXES[len(str(options)) % len(PREFIXES)]
    shapes = {prefix + key: shape for key, shape in state_shapes(name, options).items()}
    ranked = guess(shapes)
    best, score, report = ranked[0]
    assert (best, score, report.prefix) == (name, 1.0, prefix)
    assert plain(dict(report.options)) == options and report.fits
    assert not (report.missing or report.unexpected or report.misshaped or report.ignored)
    assert len(report.matched) == len(shapes)
    assert ranked[1][1] < (1.0 if name in ("universal", "resnet50_neck") else 0.95)  # those hold another of ours
    assert dict(state_shapes(name, report.options)) == dict(state_shapes(name, options))


@pytest.mark.parametrize("prefix", PREFIXES)
@pytest.mark.parametrize("name", ["iresnet18", "mobilefacenet_insightface", "resnet50"])
def test_prefixes(name: str, prefix: str) -> None:
    shapes = {prefix + key: shape for key, shape in state_shapes(name, {}).items()}
    best, score, report = guess(shapes)[0]
    assert (best, score, report.prefix, report.rivals) == (name, 1.0, prefix, ())


def test_the_report_names_what_differs() -> None:
    shapes: Shapes = dict(state_shapes("iresnet18", {}))
    del shapes["layer1.0.bn1.weight"]
    shapes["layer2.0.conv1.weight"] = (1, 2, 3)
    shapes["extra.alpha"] = (4,)
    shapes["classifier.weight"] = (1000, 512)
    shapes["classifier.bias"] = (1000,)
    report = compare("iresnet18", shapes)
    assert report.missing == ("layer1.0.bn1.weight",)
    assert report.misshaped == (("layer2.0.conv1.weight", (1, 2, 3), (128, 64, 3, 3)),)
    assert report.unexpected == ("extra.alpha",)
    assert report.ignored == ("classifier.weight", "classifier.bias")
    assert not report.fits and report.wanted == len(state_shapes("iresnet18", {}))
    assert report.sentence() == (
        "matched 185 of 187; missing: layer1.0.bn1.weight; unexpected: extra.alpha; "
        "other shape than wanted: layer2.0.conv1.weight 1 × 2 × 3, 128 × 64 × 3 × 3; "
        "not used: classifier.weight, classifier.bias"
    )
    assert "layer2.0.conv1.weight: 1 × 2 × 3 in the file, 128 × 64 × 3 × 3 wanted" in details(report)


def test_imagenet_classifier_is_no_embedding() -> None:
    shapes: Shapes = dict(state_shapes("resnet50", {"dimensions": 1000}))
    name, _, report = guess(shapes)[0]
    assert (name, dict(report.options), report.fits) == ("resnet50", {"dimensions": 2048}, True)
    assert report.ignored == ("fc.weight", "fc.bias")


def test_published_logits_are_left_out() -> None:
    name, score, report = guess(dict(state_shapes("inception_resnet_v1", {"classes": 8631})))[0]
    assert (name, report.fits, report.ignored) == ("inception_resnet_v1", True, ("logits.weight", "logits.bias"))
    assert score > 0.99


def test_training_files_with_a_margin_head_and_a_neck() -> None:
    shapes = {f"backbone.{key}": shape for key, shape in state_shapes("iresnet50", {}).items()}
    shapes |= {"head.weight": (85742, 512), "head.bias": (85742,)}
    name, _, report = guess(shapes)[0]
    assert (name, report.fits, report.ignored) == ("iresnet50", True, ("head.weight", "head.bias"))
    neck = {**state_shapes("resnet50_neck", {}), "classifier.weight": (751, 2048)}
    name, _, report = guess(neck)[0]
    assert (name, report.fits, report.prefix) == ("resnet50_neck", True, "")


def test_counters_of_batches_may_be_absent() -> None:
    shapes = {k: s for k, s in state_shapes("iresnet18", {}).items() if not k.endswith("num_batches_tracked")}
    name, score, report = guess(shapes)[0]
    assert (name, score, report.fits) == ("iresnet18", 1.0, True)


def test_no_file_is_any_network() -> None:
    for shapes in ({}, {"a": ()}, {"conv1.weight": (64, 3, 3, 3)}, {"fc.weight": (0, 0)}, {"...": (1,)}):
        assert all(not report.fits and score < 0.1 for _, score, report in guess(shapes))


def test_strange_shapes_do_no_harm() -> None:
    for scale in (0, 1 << 40, 1 << 62):
        for name in ("iresnet18", "mobilefacenet_insightface", "sphere20", "universal"):
            shapes = {key: tuple(scale for _ in shape) for key, shape in state_shapes(name, {}).items()}
            assert not any(report.fits for _, _, report in guess(shapes))
    flat = dict.fromkeys(state_shapes("universal", {}), (3,)) | {"confidence.weight": (5, 0)}
    assert not any(report.fits for _, _, report in guess(flat))


def test_guessing_is_quick() -> None:
    shapes = dict(state_shapes("iresnet100", {}))
    guess(shapes)
    start = time.process_time()
    guess(shapes)
    assert time.process_time() - start < 1


# Loading ------------------------------------------------------------------------------------------------------------


def weights(name: str = "small_plain", prefix: str = "module.", **options: Any) -> dict[str, torch.Tensor]:
    torch.manual_seed(1)
    network = MODELS[name].fitted(options).build()
    for value in network.buffers():
        if value.is_floating_point():
            value.uniform_(0.5, 1.5)
    return {prefix + key: tensor.clone() for key, tensor in network.state_dict().items()}


def test_loads_what_was_saved() -> None:
    tensors = weights()
    network = load(MODELS["small_plain"], tensors)
    assert not network.training
    assert all(torch.equal(value, tensors["module." + key]) for key, value in network.state_dict().items())
    assert network(torch.randn(1, 3, 64, 64)).embedding.isfinite().all()


def test_loads_by_a_card_from_disk() -> None:
    tensors = weights(dimensions=32)
    report = guess({key: tuple(tensor.shape) for key, tensor in tensors.items()})[0][2]
    card = Card.from_json(json.loads(json.dumps(report.spec().card.as_json())))
    assert card.dimensions == 32
    network = load(MODELS[card.architecture].fitted(card.options), tensors)
    assert network(torch.randn(1, 3, 64, 64)).embedding.shape == (1, 32)


def test_half_precision_and_numpy_load() -> None:
    tensors = weights()
    half: dict[str, Any] = {key: t.half() if t.is_floating_point() else t for key, t in tensors.items()}
    network = load(MODELS["small_plain"], half)
    assert {p.dtype for p in network.parameters()} == {torch.float32}
    arrays: dict[str, Any] = {key: np.asarray(t) for key, t in tensors.items()}
    same = load(MODELS["small_plain"], arrays)
    assert torch.equal(same.get_parameter("linear.weight"), tensors["module.linear.weight"])


def test_absent_counters_become_zero() -> None:
    tensors = {k: t for k, t in weights().items() if not k.endswith("num_batches_tracked")}
    network = load(MODELS["small_plain"], tensors)
    assert {int(v) for k, v in network.state_dict().items() if k.endswith("num_batches_tracked")} == {0}


def spoilt(tensors: dict[str, torch.Tensor], how: str) -> None:
    key = "module.linear.weight"
    if how == "missing":
        del tensors[key]
    elif how == "misshaped":
        tensors[key] = tensors[key][:-1]
    elif how == "transposed":
        tensors["module.stem.0.weight"] = tensors["module.stem.0.weight"].transpose(0, 1)
    elif how == "unexpected":
        tensors["module.stage1.0.0.gate"] = torch.zeros(3)
    elif how == "whole numbers":
        tensors[key] = tensors[key].char()
    elif how == "not finite":
        tensors[key][3, 4] = torch.nan


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("missing", "missing: linear.weight"),
        ("misshaped", "other shape than wanted: linear.weight"),
        ("transposed", "other shape than wanted: stem.0.weight"),
        ("unexpected", "unexpected: module.stage1.0.0.gate"),
        ("whole numbers", "module.linear.weight holds whole numbers"),
        ("not finite", "module.linear.weight holds numbers that are not finite"),
    ],
)
def test_a_wrong_file_is_refused(how: str, message: str) -> None:
    tensors = weights()
    spoilt(tensors, how)
    with pytest.raises(InputError, match=message) as caught:
        load(MODELS["small_plain"], tensors)
    assert "Nothing was loaded" in caught.value.hint


@pytest.mark.parametrize("name", ["small_residual", "cnn4", "iresnet18"])
def test_another_architecture_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="do not fit"):
        load(MODELS[name], weights())


def test_two_networks_in_one_file_need_a_choice() -> None:
    student, teacher = weights(prefix="student."), weights(prefix="teacher.")
    teacher["teacher.linear.weight"] += 1
    with pytest.raises(NeedsChoice, match="more than one network") as caught:
        load(MODELS["small_plain"], student | teacher)
    assert set(caught.value.options) == {"student.", "teacher."}  # type: ignore[call-overload]
    network = load(MODELS["small_plain"], student | teacher, prefix="teacher.")
    assert torch.equal(network.get_parameter("linear.weight"), teacher["teacher.linear.weight"])


def test_names_in_messages_are_escaped() -> None:
    tensors = weights() | {"module.stage1.\u202e\n<b>": torch.zeros(2)}
    with pytest.raises(InputError) as caught:
        load(MODELS["small_plain"], tensors)
    assert "\u202e" not in caught.value.message + caught.value.details and "\\u202e" in caught.value.message
