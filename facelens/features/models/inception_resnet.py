"""Inception-ResNet-v1: the network of FaceNet's public ports.

Computes    f = BN(W dropout(mean of m over places)),
            m = block8(repeat_3(mixed_7a(repeat_2(mixed_6a(repeat_1(stem(x)))))));
            every residual block: y = relu(x + scale * conv1x1(concatenated branches)), scale .17, .10, .20;
            the last one, block8: scale 1, no relu
Shapes      x (B, 3, 160, 160) float; m (B, 1792, 3, 3), the patch map; f (B, 512), not a unit vector
Reference   Szegedy, Ioffe, Vanhoucke, Alemi, "Inception-v4, Inception-ResNet and the Impact of Residual Connections
            on Learning", AAAI 2017; Schroff, Kalenichenko, Philbin, "FaceNet", CVPR 2015;
            names as in timesler/facenet-pytorch
Departs     the release ends with L2 normalisation; here, as with every network, the norm is kept.
            `classes` builds the release's `logits` layer, which is never used for the embedding
"""

from __future__ import annotations

from torch import Tensor, nn
from torch import cat as concatenate

from facelens.features.models import Output
from facelens.features.models.stages import checked_tap, run

STAGES = (
    *("conv2d_1a", "conv2d_2a", "conv2d_2b", "maxpool_3a", "conv2d_3b", "conv2d_4a", "conv2d_4b"),
    *("repeat_1", "mixed_6a", "repeat_2", "mixed_7a", "repeat_3", "block8"),
)
Size = int | tuple[int, int]


class Conv(nn.Module):
    """Convolution, normalisation, ReLU. `same` pads so that the size is kept."""

    def __init__(
        self, channels_in: int, channels: int, kernel: Size = 1, *, stride: int = 1, same: bool = True
    ) -> None:
        super().__init__()
        height, width = (kernel, kernel) if isinstance(kernel, int) else kernel
        padding = (height // 2, width // 2) if same else (0, 0)
        self.conv = nn.Conv2d(channels_in, channels, (height, width), stride=stride, padding=padding, bias=False)
        self.bn = nn.BatchNorm2d(channels, eps=0.001)
        self.relu = nn.ReLU()

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.relu(self.bn(self.conv(x)))
        return y


def _reduce(channels_in: int, channels: int) -> Conv:
    return Conv(channels_in, channels, 3, stride=2, same=False)


class Residual(nn.Module):
    """Branches side by side, projected to the width of the input, scaled and added to it."""

    def __init__(
        self, channels: int, width: int, branches: list[nn.Module], *, scale: float, relu: bool = True
    ) -> None:
        super().__init__()
        self.scale = scale
        self.width = len(branches)
        for i, branch in enumerate(branches):
            self.add_module(f"branch{i}", branch)
        self.conv2d = nn.Conv2d(width * len(branches), channels, 1)
        self.relu: nn.Module = nn.ReLU() if relu else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        parts = [self.get_submodule(f"branch{i}")(x) for i in range(self.width)]
        y: Tensor = self.relu(self.conv2d(concatenate(parts, 1)) * self.scale + x)
        return y


def _block35() -> Residual:
    branches: list[nn.Module] = [
        Conv(256, 32),
        nn.Sequential(Conv(256, 32), Conv(32, 32, 3)),
        nn.Sequential(Conv(256, 32), Conv(32, 32, 3), Conv(32, 32, 3)),
    ]
    return Residual(256, 32, branches, scale=0.17)


def _block17() -> Residual:
    long = nn.Sequential(Conv(896, 128), Conv(128, 128, (1, 7)), Conv(128, 128, (7, 1)))
    return Residual(896, 128, [Conv(896, 128), long], scale=0.10)


def _block8(*, scale: float, relu: bool) -> Residual:
    long = nn.Sequential(Conv(1792, 192), Conv(192, 192, (1, 3)), Conv(192, 192, (3, 1)))
    return Residual(1792, 192, [Conv(1792, 192), long], scale=scale, relu=relu)


class Mixed(nn.Module):
    """Branches that halve the size, side by side with a maximum of the input."""

    def __init__(self, *branches: nn.Module) -> None:
        super().__init__()
        self.width = len(branches) + 1
        for i, branch in enumerate((*branches, nn.MaxPool2d(3, stride=2))):
            self.add_module(f"branch{i}", branch)

    def forward(self, x: Tensor) -> Tensor:
        return concatenate([self.get_submodule(f"branch{i}")(x) for i in range(self.width)], 1)


class InceptionResNetV1(nn.Module):
    """`classes` > 0 adds the classifier of the published files."""

    def __init__(
        self, *, dimensions: int = 512, classes: int = 0, dropout: float = 0.6, patch_layer: str = "block8"
    ) -> None:
        super().__init__()
        self.patch_layer = checked_tap(patch_layer, STAGES)
        self.conv2d_1a = _reduce(3, 32)
        self.conv2d_2a = Conv(32, 32, 3, same=False)
        self.conv2d_2b = Conv(32, 64, 3)
        self.maxpool_3a = nn.MaxPool2d(3, stride=2)
        self.conv2d_3b = Conv(64, 80)
        self.conv2d_4a = Conv(80, 192, 3, same=False)
        self.conv2d_4b = _reduce(192, 256)
        self.repeat_1 = nn.Sequential(*(_block35() for _ in range(5)))
        self.mixed_6a = Mixed(_reduce(256, 384), nn.Sequential(Conv(256, 192), Conv(192, 192, 3), _reduce(192, 256)))
        self.repeat_2 = nn.Sequential(*(_block17() for _ in range(10)))
        self.mixed_7a = Mixed(
            nn.Sequential(Conv(896, 256), _reduce(256, 384)),
            nn.Sequential(Conv(896, 256), _reduce(256, 256)),
            nn.Sequential(Conv(896, 256), Conv(256, 256, 3), _reduce(256, 256)),
        )
        self.repeat_3 = nn.Sequential(*(_block8(scale=0.20, relu=True) for _ in range(5)))
        self.block8 = _block8(scale=1.0, relu=False)
        self.avgpool_1a = nn.AdaptiveAvgPool2d(1)
        self.dropout = nn.Dropout(dropout)
        self.last_linear = nn.Linear(1792, dimensions, bias=False)
        self.last_bn = nn.BatchNorm1d(dimensions, eps=0.001)
        if classes:
            self.logits = nn.Linear(dimensions, classes)

    def forward(self, x: Tensor) -> Output:
        m, patches = run(self, x, stages=STAGES, tap=self.patch_layer)
        pooled = self.dropout(self.avgpool_1a(m)).flatten(1)
        return Output(self.last_bn(self.last_linear(pooled)), patches)
