"""State-dict names of public releases, as facts: what their files hold must be what our networks hold."""

from __future__ import annotations

import pytest

from facelens.features.models import MODELS
from facelens.features.models.shapes import state_shapes

FACTS = {
    "iresnet100": {
        "conv1.weight": (64, 3, 3, 3),
        "prelu.weight": (64,),
        "layer1.0.downsample.0.weight": (64, 64, 1, 1),
        "layer1.0.downsample.1.running_var": (64,),
        "layer2.12.bn3.weight": (128,),
        "layer3.29.prelu.weight": (256,),
        "layer4.2.conv2.weight": (512, 512, 3, 3),
        "bn2.running_mean": (512,),
        "fc.weight": (512, 25088),
        "fc.bias": (512,),
        "features.weight": (512,),
        "features.running_var": (512,),
    },
    "mobilefacenet_insightface": {
        "layers.0.layers.0.weight": (128, 3, 3, 3),
        "layers.0.layers.2.weight": (128,),
        "layers.1.layers.0.weight": (128, 2, 3, 3),
        "layers.2.layers.0.layers.0.weight": (128, 128, 1, 1),
        "layers.3.layers.3.layers.2.layers.1.bias": (128,),
        "layers.5.layers.5.layers.1.layers.0.weight": (256, 1, 3, 3),
        "layers.6.layers.1.layers.0.weight": (512, 1, 3, 3),
        "conv_sep.layers.2.weight": (512,),
        "features.layers.0.layers.0.weight": (512, 1, 7, 7),
        "features.layers.2.weight": (512, 512),
        "features.layers.3.running_mean": (512,),
    },
    "sphere20": {
        "layer1.0.weight": (64, 3, 3, 3),
        "layer1.0.bias": (64,),
        "layer1.1.weight": (64,),
        "layer3.5.conv2.weight": (256, 256, 3, 3),
        "layer4.2.prelu2.weight": (512,),
        "fc.weight": (512, 21504),
        "fc.bias": (512,),
    },
    "resnetface18": {
        "conv1.weight": (64, 1, 3, 3),
        "prelu.weight": (1,),
        "layer1.0.bn0.weight": (64,),
        "layer2.0.conv1.weight": (64, 64, 3, 3),
        "layer2.0.conv2.weight": (128, 64, 3, 3),
        "layer2.0.downsample.0.weight": (128, 64, 1, 1),
        "bn4.weight": (512,),
        "fc5.weight": (512, 32768),
        "bn5.running_mean": (512,),
    },
    "inception_resnet_v1": {
        "conv2d_1a.conv.weight": (32, 3, 3, 3),
        "conv2d_4b.bn.running_var": (256,),
        "repeat_1.4.branch2.2.conv.weight": (32, 32, 3, 3),
        "repeat_1.0.conv2d.bias": (256,),
        "mixed_6a.branch1.2.conv.weight": (256, 192, 3, 3),
        "repeat_2.9.branch1.2.conv.weight": (128, 128, 7, 1),
        "mixed_7a.branch2.1.conv.weight": (256, 256, 3, 3),
        "repeat_3.4.branch1.1.conv.weight": (192, 192, 1, 3),
        "block8.conv2d.weight": (1792, 384, 1, 1),
        "last_linear.weight": (512, 1792),
        "last_bn.weight": (512,),
    },
    "resnet50": {
        "conv1.weight": (64, 3, 7, 7),
        "layer1.0.downsample.0.weight": (256, 64, 1, 1),
        "layer3.5.conv3.weight": (1024, 256, 1, 1),
        "layer4.0.downsample.1.running_mean": (2048,),
        "fc.weight": (512, 2048),
        "fc.bias": (512,),
    },
    "resnet50_neck": {"base.layer4.2.bn3.bias": (2048,), "bottleneck.weight": (2048,)},
}
# Tensors in each release's state dict. A convolution has 1, its normalisation 5 with the counter of batches, PReLU 1.
_IRESNET = (1 + 5 + 1) + 4 * 6 + (5 + 2 + 5)  # stem, four projected skips, end
COUNTS = {
    "iresnet18": _IRESNET + 8 * 18,
    "iresnet34": _IRESNET + 16 * 18,
    "iresnet50": _IRESNET + 24 * 18,
    "iresnet100": _IRESNET + 49 * 18,
    "mobilefacenet_casia": 333,  # counted in the published file
    "mobilefacenet_facexzoo": 333,
    "mobilefacenet_foamliu": 307,
    "sphere20": 4 * 3 + 8 * 4 + 2,
    "resnetface18": (1 + 5 + 1) + 8 * 18 + 3 * 6 + (5 + 2 + 5),
    "inception_resnet_v1": 6 * (6 + 5 * 6 + 4 + 10 * 4 + 7 + 6 * 4) + 2 * (5 + 10 + 6) + 1 + 5,
    "resnet50": 320,  # torchvision
}


@pytest.mark.parametrize("name", FACTS)
def test_names_and_shapes(name: str) -> None:
    shapes = state_shapes(name, {})
    assert {key: shapes.get(key) for key in FACTS[name]} == FACTS[name]


@pytest.mark.parametrize("name", COUNTS)
def test_number_of_tensors(name: str) -> None:
    assert len(state_shapes(name, {})) == COUNTS[name]


def test_logits_are_optional() -> None:
    assert "logits.weight" not in state_shapes("inception_resnet_v1", {})
    assert state_shapes("inception_resnet_v1", {"classes": 8631})["logits.weight"] == (8631, 512)


def test_published_variants_build() -> None:
    assert state_shapes("sphere20", {"blocks": (3, 7, 16, 3)})["layer3.17.conv1.weight"] == (256, 256, 3, 3)
    large = state_shapes("mobilefacenet_insightface", {"blocks": (2, 8, 12, 4), "scale": 4})
    assert large["layers.1.layers.1.layers.2.layers.0.weight"] == (256, 128, 1, 1)
    assert "layer1.0.se.fc.2.weight" in state_shapes("resnetface18", {"squeeze": True})
    assert MODELS["resnet50"].build(dimensions=2048).state_dict().keys().isdisjoint({"fc.weight", "fc.bias"})
