"""MobileFaceNet: the small face network of phones, in the four layouts its weights are published in.

Computes    f = BN(W g), g = depthwise convolution of the whole map m (each place has its own weight),
            m = act(BN(conv1x1(bottlenecks(depthwise(conv(x))))));
            bottleneck: y = BN(conv1x1(act(BN(dw3x3(act(BN(conv1x1(x)))))))), + x where stride is 1 and widths agree
Shapes      x (B, 3, 112, 112) or (B, 3, 112, 96) float; m (B, 512, 7, 7) or (B, 512, 7, 6), the patch map;
            f (B, D), D = 128 or 512, not a unit vector
Reference   Chen, Liu, Gao, Han, "MobileFaceNets: Efficient CNNs for Accurate Real-Time Face Verification on Mobile
            Devices", CCBR 2018; names as in Xiaoccer/MobileFaceNet_Pytorch (casia), JDAI-CV/FaceX-Zoo (facexzoo;
            also TreB1eN/InsightFace_Pytorch), foamliu/MobileFaceNet (foamliu), insightface arcface_torch
            (insightface)
Departs     from the paper, as the releases do: foamliu has ReLU and ReLU6 for PReLU and a 1x1 convolution with bias
            at the end; insightface is twice as wide, and its first depthwise layer has two inputs to a group
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from torch import Tensor, nn

from facelens.features.models import Output
from facelens.features.models.stages import checked_tap, run


class Step(NamedTuple):
    """One bottleneck: channels in, inside, out, and its stride."""

    channels_in: int
    hidden: int
    channels: int
    stride: int

    @property
    def skips(self) -> bool:
        return self.stride == 1 and self.channels_in == self.channels


# The paper's table 1: expansion, channels, repeats, stride of the first of them.
_TABLE = ((2, 64, 5, 2), (4, 128, 1, 2), (2, 128, 6, 1), (4, 128, 1, 2), (2, 128, 2, 1))
BOTTLENECKS = sum(repeats for _, _, repeats, _ in _TABLE)


def _steps() -> Iterator[Step]:
    channels_in = 64
    for expansion, channels, repeats, stride in _TABLE:
        for i in range(repeats):
            yield Step(channels_in, channels_in * expansion, channels, stride if i == 0 else 1)
            channels_in = channels


def _conv(
    channels_in: int, channels: int, kernel: int | tuple[int, int] = 1, *, stride: int = 1, groups: int = 1
) -> nn.Conv2d:
    padding = 1 if kernel == 3 else 0
    return nn.Conv2d(channels_in, channels, kernel, stride=stride, padding=padding, groups=groups, bias=False)


class ConvBlock(nn.Module):
    """Convolution, normalisation and, unless `linear`, PReLU."""

    def __init__(
        self,
        channels_in: int,
        channels: int,
        *,
        kernel: int | tuple[int, int] = 1,
        stride: int = 1,
        groups: int = 1,
        linear: bool = False,
    ) -> None:
        super().__init__()
        self.conv = _conv(channels_in, channels, kernel, stride=stride, groups=groups)
        self.bn = nn.BatchNorm2d(channels)
        self.prelu = nn.Identity() if linear else nn.PReLU(channels)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.prelu(self.bn(self.conv(x)))
        return y


# casia ------------------------------------------------------------------------------------------------------------


class CasiaBottleneck(nn.Module):
    """All eight layers in one sequence called `conv`."""

    def __init__(self, step: Step) -> None:
        super().__init__()
        self.skips = step.skips
        self.conv = nn.Sequential(
            _conv(step.channels_in, step.hidden),
            nn.BatchNorm2d(step.hidden),
            nn.PReLU(step.hidden),
            _conv(step.hidden, step.hidden, 3, stride=step.stride, groups=step.hidden),
            nn.BatchNorm2d(step.hidden),
            nn.PReLU(step.hidden),
            _conv(step.hidden, step.channels),
            nn.BatchNorm2d(step.channels),
        )

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.conv(x)
        return x + y if self.skips else y


class CasiaMobileFaceNet(nn.Module):
    """Layout `casia`. `grid` is the size of the last map: (7, 6) for 112 x 96."""

    STAGES = ("conv1", "dw_conv1", *(f"blocks.{i}" for i in range(BOTTLENECKS)), "conv2")

    def __init__(self, *, dimensions: int = 128, grid: tuple[int, int] = (7, 6), patch_layer: str = "conv2") -> None:
        super().__init__()
        self.patch_layer = checked_tap(patch_layer, self.STAGES)
        self.conv1 = ConvBlock(3, 64, kernel=3, stride=2)
        self.dw_conv1 = ConvBlock(64, 64, kernel=3, groups=64)
        self.blocks = nn.Sequential(*map(CasiaBottleneck, _steps()))
        self.conv2 = ConvBlock(128, 512)
        self.linear7 = ConvBlock(512, 512, kernel=(grid[0], grid[1]), groups=512, linear=True)
        self.linear1 = ConvBlock(512, dimensions, linear=True)

    def forward(self, x: Tensor) -> Output:
        m, patches = run(self, x, stages=self.STAGES, tap=self.patch_layer)
        return Output(self.linear1(self.linear7(m)).flatten(1), patches)


# facexzoo ---------------------------------------------------------------------------------------------------------


class NamedBottleneck(nn.Module):
    """The three convolutions are called `conv`, `conv_dw`, `project`."""

    def __init__(self, step: Step) -> None:
        super().__init__()
        self.skips = step.skips
        self.conv = ConvBlock(step.channels_in, step.hidden)
        self.conv_dw = ConvBlock(step.hidden, step.hidden, kernel=3, stride=step.stride, groups=step.hidden)
        self.project = ConvBlock(step.hidden, step.channels, linear=True)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.project(self.conv_dw(self.conv(x)))
        return x + y if self.skips else y


class Repeated(nn.Module):
    """Bottlenecks in a row, called `model`."""

    def __init__(self, steps: Sequence[Step]) -> None:
        super().__init__()
        self.model = nn.Sequential(*map(NamedBottleneck, steps))

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.model(x)
        return y


class FaceXZooMobileFaceNet(nn.Module):
    """Layout `facexzoo`."""

    STAGES = ("conv1", "conv2_dw", "conv_23", "conv_3", "conv_34", "conv_4", "conv_45", "conv_5", "conv_6_sep")

    def __init__(
        self, *, dimensions: int = 512, grid: tuple[int, int] = (7, 7), patch_layer: str = "conv_6_sep"
    ) -> None:
        super().__init__()
        self.patch_layer = checked_tap(patch_layer, self.STAGES)
        steps = list(_steps())
        self.conv1 = ConvBlock(3, 64, kernel=3, stride=2)
        self.conv2_dw = ConvBlock(64, 64, kernel=3, groups=64)
        self.conv_23 = NamedBottleneck(steps[0])
        self.conv_3 = Repeated(steps[1:5])
        self.conv_34 = NamedBottleneck(steps[5])
        self.conv_4 = Repeated(steps[6:12])
        self.conv_45 = NamedBottleneck(steps[12])
        self.conv_5 = Repeated(steps[13:15])
        self.conv_6_sep = ConvBlock(128, 512)
        self.conv_6_dw = ConvBlock(512, 512, kernel=(grid[0], grid[1]), groups=512, linear=True)
        self.linear = nn.Linear(512, dimensions, bias=False)
        self.bn = nn.BatchNorm1d(dimensions)

    def forward(self, x: Tensor) -> Output:
        m, patches = run(self, x, stages=self.STAGES, tap=self.patch_layer)
        return Output(self.bn(self.linear(self.conv_6_dw(m).flatten(1))), patches)


# foamliu ----------------------------------------------------------------------------------------------------------


def _relu6(channels_in: int, channels: int, kernel: int = 1, *, stride: int = 1, groups: int = 1) -> nn.Sequential:
    convolution = _conv(channels_in, channels, kernel, stride=stride, groups=groups)
    return nn.Sequential(convolution, nn.BatchNorm2d(channels), nn.ReLU6())


class Separable(nn.Module):
    """Depthwise, then pointwise convolution, each with its own normalisation and ReLU."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.depthwise = _conv(channels, channels, 3, groups=channels)
        self.pointwise = _conv(channels, channels)
        self.bn1 = nn.BatchNorm2d(channels)
        self.bn2 = nn.BatchNorm2d(channels)
        self.relu = nn.ReLU()

    def forward(self, x: Tensor) -> Tensor:
        x = self.relu(self.bn1(self.depthwise(x)))
        y: Tensor = self.relu(self.bn2(self.pointwise(x)))
        return y


class GlobalDepthwise(nn.Module):
    """One weight for each channel and place."""

    def __init__(self, channels: int, grid: tuple[int, int]) -> None:
        super().__init__()
        self.depthwise = _conv(channels, channels, (grid[0], grid[1]), groups=channels)
        self.bn = nn.BatchNorm2d(channels)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.bn(self.depthwise(x))
        return y


class Relu6Bottleneck(nn.Module):
    """A sequence called `conv`, with the first two convolutions as sequences of their own."""

    def __init__(self, step: Step) -> None:
        super().__init__()
        self.skips = step.skips
        self.conv = nn.Sequential(
            _relu6(step.channels_in, step.hidden),
            _relu6(step.hidden, step.hidden, 3, stride=step.stride, groups=step.hidden),
            _conv(step.hidden, step.channels),
            nn.BatchNorm2d(step.channels),
        )

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.conv(x)
        return x + y if self.skips else y


class FoamliuMobileFaceNet(nn.Module):
    """Layout `foamliu`."""

    STAGES = ("conv1", "dw_conv", *(f"features.{i}" for i in range(BOTTLENECKS)), "conv2")

    def __init__(self, *, dimensions: int = 128, grid: tuple[int, int] = (7, 7), patch_layer: str = "conv2") -> None:
        super().__init__()
        self.patch_layer = checked_tap(patch_layer, self.STAGES)
        self.conv1 = _relu6(3, 64, 3, stride=2)
        self.dw_conv = Separable(64)
        self.features = nn.Sequential(*map(Relu6Bottleneck, _steps()))
        self.conv2 = _relu6(128, 512)
        self.gdconv = GlobalDepthwise(512, grid)
        self.conv3 = nn.Conv2d(512, dimensions, 1)
        self.bn = nn.BatchNorm2d(dimensions)

    def forward(self, x: Tensor) -> Output:
        m, patches = run(self, x, stages=self.STAGES, tap=self.patch_layer)
        return Output(self.bn(self.conv3(self.gdconv(m))).flatten(1), patches)


# insightface ------------------------------------------------------------------------------------------------------


class Layers(nn.Module):
    """Anything in a row, called `layers`; with a skip around it where asked."""

    def __init__(self, *layers: nn.Module, skips: bool = False) -> None:
        super().__init__()
        self.skips = skips
        self.layers = nn.Sequential(*layers)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.layers(x)
        return x + y if self.skips else y


def _layers(
    channels_in: int,
    channels: int,
    kernel: int | tuple[int, int] = 1,
    *,
    stride: int = 1,
    groups: int = 1,
    linear: bool = False,
) -> Layers:
    convolution = _conv(channels_in, channels, kernel, stride=stride, groups=groups)
    activation = [] if linear else [nn.PReLU(channels)]
    return Layers(convolution, nn.BatchNorm2d(channels), *activation)


def _bottleneck(step: Step) -> Layers:
    return Layers(
        _layers(step.channels_in, step.hidden),
        _layers(step.hidden, step.hidden, 3, stride=step.stride, groups=step.hidden),
        _layers(step.hidden, step.channels, linear=True),
        skips=step.skips,
    )


class InsightFaceMobileFaceNet(nn.Module):
    """Layout `insightface`. blocks (1, 4, 6, 2), scale 2 is its `mbf`; (2, 8, 12, 4), scale 4 its `mbf_large`."""

    STAGES = (*(f"layers.{i}" for i in range(8)), "conv_sep")

    def __init__(
        self,
        *,
        dimensions: int = 512,
        grid: tuple[int, int] = (7, 7),
        blocks: Sequence[int] = (1, 4, 6, 2),
        scale: int = 2,
        patch_layer: str = "conv_sep",
    ) -> None:
        super().__init__()
        self.patch_layer = checked_tap(patch_layer, self.STAGES)
        narrow, wide = 64 * scale, 128 * scale

        def repeated(channels: int, hidden: int, count: int) -> Layers:
            return Layers(*(_bottleneck(Step(channels, hidden, channels, 1)) for _ in range(count)))

        self.layers = nn.ModuleList(
            [
                _layers(3, narrow, 3, stride=2),
                # 64 groups whatever the width: this is how the weights were trained.
                _layers(narrow, narrow, 3, groups=64) if blocks[0] == 1 else repeated(narrow, 128, blocks[0]),
                _bottleneck(Step(narrow, 128, narrow, 2)),
                repeated(narrow, 128, blocks[1]),
                _bottleneck(Step(narrow, 256, wide, 2)),
                repeated(wide, 256, blocks[2]),
                _bottleneck(Step(wide, 512, wide, 2)),
                repeated(wide, 256, blocks[3]),
            ]
        )
        self.conv_sep = _layers(wide, 512)
        self.features = Layers(
            _layers(512, 512, (grid[0], grid[1]), groups=512, linear=True),
            nn.Flatten(),
            nn.Linear(512, dimensions, bias=False),
            nn.BatchNorm1d(dimensions),
        )

    def forward(self, x: Tensor) -> Output:
        m, patches = run(self, x, stages=self.STAGES, tap=self.patch_layer)
        return Output(self.features(m), patches)
