"""Each kind of block against its equation, written out with plain functions on its named weights."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from facelens.features.models import inception_resnet, iresnet, mobilefacenet, resnet50, resnetface, sphere20

State = Mapping[str, Tensor]


def shaken(module: nn.Module) -> nn.Module:
    """Every weight and statistic at random, so that none of them can be left out unnoticed."""
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for key, value in module.state_dict().items():
            if value.is_floating_point():
                noise = torch.rand(value.shape, generator=generator, dtype=value.dtype)
                value.copy_(noise + 0.5 if key.endswith("running_var") else noise - 0.4)
    return module.double().eval()


def norm(x: Tensor, w: State, name: str, eps: float = 1e-5) -> Tensor:
    mean, var = w[f"{name}.running_mean"], w[f"{name}.running_var"]
    shape = (1, -1) + (1,) * (x.ndim - 2)
    y = (x - mean.view(shape)) / (var + eps).sqrt().view(shape)
    return y * w[f"{name}.weight"].view(shape) + w[f"{name}.bias"].view(shape)


def prelu(x: Tensor, slope: Tensor) -> Tensor:
    return torch.where(x >= 0, x, x * slope.view(1, -1, 1, 1))


def pictures(*shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(2), dtype=torch.float64)


@pytest.mark.parametrize("stride", [1, 2])
def test_iresnet_block(stride: int) -> None:
    block = shaken(iresnet.Block(6, 6, stride=stride))
    w, x = block.state_dict(), pictures(2, 6, 9, 9)
    y = F.conv2d(norm(x, w, "bn1"), w["conv1.weight"], padding=1)
    y = F.conv2d(prelu(norm(y, w, "bn2"), w["prelu.weight"]), w["conv2.weight"], padding=1, stride=stride)
    skip = x
    if stride == 2:
        skip = norm(F.conv2d(x, w["downsample.0.weight"], stride=2), w, "downsample.1")
    torch.testing.assert_close(block(x), norm(y, w, "bn3") + skip)


def test_iresnet_end() -> None:
    network = shaken(iresnet.IResNet(blocks=(1, 1, 1, 1), dimensions=5, grid=(2, 1)))
    w, x = network.state_dict(), pictures(2, 3, 32, 16)
    embedding, patches, _ = network(x)
    assert patches is not None and patches.shape == (2, 512, 2, 1)
    flat = patches.reshape(2, -1)  # channels first, as the published matrices have it
    torch.testing.assert_close(embedding, norm(flat @ w["fc.weight"].T + w["fc.bias"], w, "features"))
    stem = prelu(norm(F.conv2d(x, w["conv1.weight"], padding=1), w, "bn1"), w["prelu.weight"])
    y = network.get_submodule("layer4")(
        network.get_submodule("layer3")(network.get_submodule("layer2")(network.get_submodule("layer1")(stem)))
    )
    torch.testing.assert_close(patches, norm(y, w, "bn2"))


def test_sphere_block() -> None:
    block = shaken(sphere20.Block(4))
    w, x = block.state_dict(), pictures(2, 4, 5, 5)
    y = prelu(F.conv2d(x, w["conv1.weight"], padding=1), w["prelu1.weight"])
    y = prelu(F.conv2d(y, w["conv2.weight"], padding=1), w["prelu2.weight"])
    torch.testing.assert_close(block(x), x + y)


@pytest.mark.parametrize("squeeze", [False, True])
@pytest.mark.parametrize("stride", [1, 2])
def test_resnetface_block(stride: int, squeeze: bool) -> None:
    block = shaken(resnetface.Block(16, 32, stride=stride, squeeze=squeeze))
    w, x = block.state_dict(), pictures(2, 16, 8, 8)
    assert w["prelu.weight"].shape == (1,) and w["conv1.weight"].shape == (16, 16, 3, 3)
    y = prelu(norm(F.conv2d(norm(x, w, "bn0"), w["conv1.weight"], padding=1), w, "bn1"), w["prelu.weight"])
    y = norm(F.conv2d(y, w["conv2.weight"], padding=1, stride=stride), w, "bn2")
    if squeeze:
        z = y.mean((2, 3)) @ w["se.fc.0.weight"].T + w["se.fc.0.bias"]
        z = torch.where(z >= 0, z, z * w["se.fc.1.weight"])
        y = y * torch.sigmoid(z @ w["se.fc.2.weight"].T + w["se.fc.2.bias"])[:, :, None, None]
    skip = norm(F.conv2d(x, w["downsample.0.weight"], stride=stride), w, "downsample.1")
    torch.testing.assert_close(block(x), prelu(y + skip, w["prelu.weight"]))


def test_resnetface_map_is_normalised() -> None:
    network = shaken(resnetface.ResNetFace(blocks=(1, 1, 1, 1), grid=(1, 1), dimensions=3))
    w = network.state_dict()
    embedding, patches, _ = network(pictures(1, 1, 16, 16))
    assert patches is not None
    flat = patches.flatten(1) @ w["fc5.weight"].T + w["fc5.bias"]
    torch.testing.assert_close(embedding, norm(flat, w, "bn5"))


@pytest.mark.parametrize("stride", [1, 2])
def test_resnet50_bottleneck(stride: int) -> None:
    block = shaken(resnet50.Bottleneck(6, 3, stride=stride))
    w, x = block.state_dict(), pictures(2, 6, 8, 8)
    y = norm(F.conv2d(x, w["conv1.weight"]), w, "bn1").relu()
    y = norm(F.conv2d(y, w["conv2.weight"], stride=stride, padding=1), w, "bn2").relu()
    y = norm(F.conv2d(y, w["conv3.weight"]), w, "bn3")
    skip = norm(F.conv2d(x, w["downsample.0.weight"], stride=stride), w, "downsample.1")
    torch.testing.assert_close(block(x), (y + skip).relu())


def test_neck_normalises_the_mean() -> None:
    network = shaken(resnet50.ResNet50Neck())
    embedding, patches, _ = network(pictures(1, 3, 32, 16))
    assert patches is not None and patches.shape == (1, 2048, 2, 1)
    torch.testing.assert_close(embedding, norm(patches.mean((2, 3)), network.state_dict(), "bottleneck"))


def test_inception_blocks() -> None:
    def unit(x: Tensor, name: str, padding: tuple[int, int] = (0, 0), stride: int = 1) -> Tensor:
        y = F.conv2d(x, w[f"{name}.conv.weight"], padding=padding, stride=stride)
        return norm(y, w, f"{name}.bn", 1e-3).relu()

    block = shaken(inception_resnet._block17())
    w, x = block.state_dict(), pictures(1, 896, 8, 8)
    b1 = unit(unit(unit(x, "branch1.0"), "branch1.1", (0, 3)), "branch1.2", (3, 0))
    both = torch.cat([unit(x, "branch0"), b1], 1)
    y = (F.conv2d(both, w["conv2d.weight"], w["conv2d.bias"]) * 0.10 + x).relu()
    torch.testing.assert_close(block(x), y)
    assert w["branch1.1.conv.weight"].shape[2:] == (1, 7)

    block = shaken(inception_resnet._block8(scale=1.0, relu=False))
    w, x = block.state_dict(), pictures(1, 1792, 3, 3)
    b1 = unit(unit(unit(x, "branch1.0"), "branch1.1", (0, 1)), "branch1.2", (1, 0))
    y = F.conv2d(torch.cat([unit(x, "branch0"), b1], 1), w["conv2d.weight"], w["conv2d.bias"]) + x
    torch.testing.assert_close(block(x), y)

    block = shaken(inception_resnet._block35())
    w, x = block.state_dict(), pictures(1, 256, 5, 5)
    b1 = unit(unit(x, "branch1.0"), "branch1.1", (1, 1))
    b2 = unit(unit(unit(x, "branch2.0"), "branch2.1", (1, 1)), "branch2.2", (1, 1))
    y = F.conv2d(torch.cat([unit(x, "branch0"), b1, b2], 1), w["conv2d.weight"], w["conv2d.bias"])
    torch.testing.assert_close(block(x), (y * 0.17 + x).relu())

    network = shaken(inception_resnet.InceptionResNetV1())
    mixed = network.get_submodule("mixed_6a")
    w, x = mixed.state_dict(), pictures(1, 256, 7, 7)
    b1 = unit(unit(unit(x, "branch1.0"), "branch1.1", (1, 1)), "branch1.2", stride=2)
    parts = [unit(x, "branch0", stride=2), b1, F.max_pool2d(x, 3, stride=2)]
    torch.testing.assert_close(mixed(x), torch.cat(parts, 1))
    scales = [network.get_submodule(f"repeat_{i}.0").scale for i in (1, 2, 3)]
    assert scales == [0.17, 0.10, 0.20]


def test_mobilefacenet_layouts_are_one_network() -> None:
    """The same numbers under the names of two releases give the same vector."""
    casia = shaken(mobilefacenet.CasiaMobileFaceNet(dimensions=16, grid=(7, 7)))
    zoo = shaken(mobilefacenet.FaceXZooMobileFaceNet(dimensions=16, grid=(7, 7)))
    ours, theirs = casia.state_dict(), zoo.state_dict()
    assert len(ours) == len(theirs)
    moved = {key: value.reshape(theirs[key].shape) for key, value in zip(theirs, ours.values())}
    zoo.load_state_dict(moved, strict=True)
    x = pictures(1, 3, 112, 112)
    with torch.no_grad():
        one, other = casia(x), zoo(x)
    torch.testing.assert_close(one.embedding, other.embedding)
    torch.testing.assert_close(one.patches, other.patches)


@pytest.mark.parametrize(("stride", "channels"), [(1, 4), (2, 4), (1, 6)])
def test_mobilefacenet_bottlenecks(stride: int, channels: int) -> None:
    """All four layouts of the block against one equation; the order of tensors is the order of the equation."""
    step = mobilefacenet.Step(4, 8, channels, stride)
    x = pictures(2, 4, 6, 6)
    for make in (
        mobilefacenet.CasiaBottleneck,
        mobilefacenet.NamedBottleneck,
        mobilefacenet.Relu6Bottleneck,
        mobilefacenet._bottleneck,
    ):
        block = shaken(make(step))
        tensors = iter(v for v in block.state_dict().values() if v.ndim)
        slopes = make is not mobilefacenet.Relu6Bottleneck
        y = x
        for padding, groups, pace, linear in ((0, 1, 1, False), (1, 8, stride, False), (0, 1, 1, True)):
            y = F.conv2d(y, next(tensors), padding=padding, groups=groups, stride=pace)
            names = ("weight", "bias", "running_mean", "running_var")
            y = norm(y, {f"n.{name}": next(tensors) for name in names}, "n")
            if not linear:
                y = prelu(y, next(tensors)) if slopes else y.clamp(0, 6)
        assert next(tensors, None) is None
        torch.testing.assert_close(block(x), x + y if stride == 1 and channels == 4 else y)
