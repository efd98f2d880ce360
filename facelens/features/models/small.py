"""Small networks for the sample world, different enough to be an ensemble: plain, residual, dense.

Computes    f = BN(W g),  g = depthwise convolution of the whole map m (each place has its own weight),
            m = trunk(x), which halves the size three times
Shapes      x (B, 3, 64, 64) float; m (B, C, 8, 8), the patch map; f (B, D), D = 128 or 96, not a unit vector
Reference   own; the head is MobileFaceNet's, because a mean over places forgets where things are
Departs     none
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from facelens.features.models import Output
from facelens.features.models.stages import checked_tap, run

STAGES = ("stem", "stage1", "stage2", "stage3")


def _conv(channels_in: int, channels: int, *, stride: int = 1) -> nn.Sequential:
    convolution = nn.Conv2d(channels_in, channels, 3, stride=stride, padding=1, bias=False)
    return nn.Sequential(convolution, nn.BatchNorm2d(channels), nn.LeakyReLU(0.1, inplace=True))


class Skip(nn.Module):
    """x + inside(x)."""

    def __init__(self, *inside: nn.Module) -> None:
        super().__init__()
        self.inside = nn.Sequential(*inside)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.inside(x)
        return x + y


class Beside(nn.Module):
    """x and inside(x), one behind the other in the channels."""

    def __init__(self, inside: nn.Module) -> None:
        super().__init__()
        self.inside = inside

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([x, self.inside(x)], 1)


def _plain(channels_in: int, channels: int, stride: int) -> nn.Sequential:
    return nn.Sequential(_conv(channels_in, channels, stride=stride), _conv(channels, channels))


def _residual(channels_in: int, channels: int, stride: int) -> nn.Sequential:
    inside = (_conv(channels, channels), nn.Conv2d(channels, channels, 3, padding=1, bias=False))
    return nn.Sequential(_conv(channels_in, channels, stride=stride), Skip(*inside, nn.BatchNorm2d(channels)))


def _dense(channels_in: int, channels: int, stride: int) -> nn.Sequential:
    """Half of the channels at once, two quarters that see all that is there before them."""
    half, quarter = channels // 2, channels // 4
    first = _conv(channels_in, half, stride=stride)
    return nn.Sequential(first, Beside(_conv(half, quarter)), Beside(_conv(half + quarter, quarter)))


# kind -> how a stage is made, widths of stem and stages
KINDS = {
    "plain": (_plain, (24, 48, 80, 112)),
    "residual": (_residual, (24, 48, 72, 80)),
    "dense": (_dense, (32, 64, 128, 160)),
}
STRIDES = (2, 2, 2, 1)


class Small(nn.Module):
    """`kind` is plain, residual or dense; `grid` is the size of the last map: (8, 8) for 64 x 64."""

    def __init__(
        self,
        kind: str = "plain",
        *,
        dimensions: int = 128,
        grid: tuple[int, int] = (8, 8),
        channels: int = 3,
        patch_layer: str = "stage3",
    ) -> None:
        super().__init__()
        self.patch_layer = checked_tap(patch_layer, STAGES)
        stage, (stem, first, second, last) = KINDS[kind]
        self.stem = _conv(channels, stem, stride=STRIDES[0])
        self.stage1 = stage(stem, first, STRIDES[1])
        self.stage2 = stage(first, second, STRIDES[2])
        self.stage3 = stage(second, last, STRIDES[3])
        self.places = nn.Sequential(
            nn.Conv2d(last, last, (grid[0], grid[1]), groups=last, bias=False), nn.BatchNorm2d(last), nn.Flatten()
        )
        self.linear = nn.Linear(last, dimensions, bias=False)
        self.features = nn.BatchNorm1d(dimensions)

    def forward(self, x: Tensor) -> Output:
        m, patches = run(self, x, stages=STAGES, tap=self.patch_layer)
        return Output(self.features(self.linear(self.places(m))), patches)
