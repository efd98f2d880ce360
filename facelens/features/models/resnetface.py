"""ResNetFace: an 18-layer residual network for grey pictures, the ArcFace model of the transport paper.

Computes    f = BN5(W flatten(m) + b),  m = dropout(BN4(layer4(... layer1(maxpool(PReLU(BN(conv(x)))))))));
            block: y = PReLU(skip(x) + [SE] BN(conv(PReLU(BN(conv(BN(x))))))), one PReLU number for the whole block
Shapes      x (B, 1, 128, 128) float; m (B, 512, 8, 8), the patch map; layer3 gives (B, 256, 16, 16);
            f (B, 512), not a unit vector
Reference   Deng et al., "ArcFace", CVPR 2019; Phan, Nguyen, "DeepFace-EMD", CVPR 2022; squeeze and excitation: Hu,
            Shen, Sun, CVPR 2018; names as in ronghuaiyang/arcface-pytorch (`resnet_face18`)
Departs     none. The published weights have no squeeze and excitation
"""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn

from facelens.features.models import Output
from facelens.features.models.stages import checked_tap, run

STAGES = ("conv1", "bn1", "prelu", "maxpool", "layer1", "layer2", "layer3", "layer4", "bn4", "dropout")


class SqueezeExcitation(nn.Module):
    """Every channel weighted by a number in (0, 1) that the means of all channels decide."""

    def __init__(self, channels: int, *, reduction: int = 16) -> None:
        super().__init__()
        self.fc = nn.Sequential(
            nn.Linear(channels, channels // reduction),
            nn.PReLU(),
            nn.Linear(channels // reduction, channels),
            nn.Sigmoid(),
        )

    def forward(self, x: Tensor) -> Tensor:
        weights: Tensor = self.fc(x.mean((2, 3)))  # (B, C)
        return x * weights[:, :, None, None]


class Block(nn.Module):
    """The improved residual block; the first convolution keeps the width, the second changes it."""

    def __init__(self, channels_in: int, channels: int, *, stride: int, squeeze: bool) -> None:
        super().__init__()
        self.bn0 = nn.BatchNorm2d(channels_in)
        self.conv1 = nn.Conv2d(channels_in, channels_in, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels_in)
        self.prelu = nn.PReLU()
        self.conv2 = nn.Conv2d(channels_in, channels, 3, stride=stride, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)
        self.downsample: nn.Module | None = None
        if stride != 1 or channels_in != channels:
            self.downsample = nn.Sequential(
                nn.Conv2d(channels_in, channels, 1, stride=stride, bias=False), nn.BatchNorm2d(channels)
            )
        self.se: nn.Module = SqueezeExcitation(channels) if squeeze else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        skip = x if self.downsample is None else self.downsample(x)
        y: Tensor = self.prelu(self.bn1(self.conv1(self.bn0(x))))
        y = self.se(self.bn2(self.conv2(y)))
        y = self.prelu(y + skip)
        return y


class ResNetFace(nn.Module):
    """`squeeze` adds squeeze and excitation; `grid` is the size of the last map: (8, 8) for 128 x 128."""

    def __init__(
        self,
        *,
        blocks: Sequence[int] = (2, 2, 2, 2),
        dimensions: int = 512,
        grid: tuple[int, int] = (8, 8),
        channels: int = 1,
        squeeze: bool = False,
        patch_layer: str = "dropout",
    ) -> None:
        super().__init__()
        self.patch_layer = checked_tap(patch_layer, STAGES)
        self.conv1 = nn.Conv2d(channels, 64, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.prelu = nn.PReLU()
        self.maxpool = nn.MaxPool2d(2, stride=2)
        width_in = 64
        for stage, (width, count) in enumerate(zip((64, 128, 256, 512), blocks), start=1):
            stride = 1 if stage == 1 else 2
            first = Block(width_in, width, stride=stride, squeeze=squeeze)
            rest = (Block(width, width, stride=1, squeeze=squeeze) for _ in range(count - 1))
            self.add_module(f"layer{stage}", nn.Sequential(first, *rest))
            width_in = width
        self.bn4 = nn.BatchNorm2d(512)
        self.dropout = nn.Dropout()
        self.fc5 = nn.Linear(512 * grid[0] * grid[1], dimensions)
        self.bn5 = nn.BatchNorm1d(dimensions)

    def forward(self, x: Tensor) -> Output:
        m, patches = run(self, x, stages=STAGES, tap=self.patch_layer)
        return Output(self.bn5(self.fc5(m.flatten(1))), patches)
