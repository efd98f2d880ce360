"""Small networks for the sample world, different enough to be an ensemble: plain, residual, depthwise.

Computes    f = BN(W g),  g = depthwise convolution of the whole map m (each place has its own weight),
            m = trunk(x), which halves the size three times
Shapes      x (B, 3, 64, 64) float; m (B, C, 8, 8), the patch map; f (B, D), D = 128 or 96, not a unit vector
Reference   own; the head is MobileFaceNet's, because a mean over places forgets where things are
Departs     none
"""

from __future__ import annotations

from torch import Tensor, nn

from facelens.features.models import Output
from facelens.features.models.stages import checked_tap, run

STAGES = ("stem", "stage1", "stage2", "stage3")


def _conv(channels_in: int, channels: int, kernel: int = 3, *, stride: int = 1, groups: int = 1) -> nn.Sequential:
    padding = kernel // 2
    convolution = nn.Conv2d(channels_in, channels, kernel, stride=stride, padding=padding, groups=groups, bias=False)
    return nn.Sequential(convolution, nn.BatchNorm2d(channels), nn.PReLU(channels))


class Skip(nn.Module):
    """x + inside(x)."""

    def __init__(self, *inside: nn.Module) -> None:
        super().__init__()
        self.inside = nn.Sequential(*inside)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.inside(x)
        return x + y


def _plain(channels_in: int, channels: int) -> nn.Sequential:
    return nn.Sequential(_conv(channels_in, channels, stride=2), _conv(channels, channels))


def _residual(channels_in: int, channels: int) -> nn.Sequential:
    inside = (_conv(channels, channels), nn.Conv2d(channels, channels, 3, padding=1, bias=False))
    return nn.Sequential(_conv(channels_in, channels, stride=2), Skip(*inside, nn.BatchNorm2d(channels)))


def _depthwise(channels_in: int, channels: int) -> nn.Sequential:
    hidden = 3 * channels
    wide = 3 * channels_in
    project = (nn.Conv2d(hidden, channels, 1, bias=False), nn.BatchNorm2d(channels))
    down = (_conv(channels_in, wide, 1), _conv(wide, wide, stride=2, groups=wide))
    narrow = (nn.Conv2d(wide, channels, 1, bias=False), nn.BatchNorm2d(channels))
    return nn.Sequential(
        *down, *narrow, Skip(_conv(channels, hidden, 1), _conv(hidden, hidden, 5, groups=hidden), *project)
    )


# kind -> how a stage is made, widths of stem and stages
KINDS = {
    "plain": (_plain, (16, 32, 64, 128)),
    "residual": (_residual, (16, 32, 64, 96)),
    "depthwise": (_depthwise, (24, 32, 48, 96)),
}


class Small(nn.Module):
    """`kind` is plain, residual or depthwise; `grid` is the size of the last map: (8, 8) for 64 x 64."""

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
        self.stem = _conv(channels, stem)
        self.stage1 = stage(stem, first)
        self.stage2 = stage(first, second)
        self.stage3 = stage(second, last)
        self.places = nn.Sequential(
            nn.Conv2d(last, last, (grid[0], grid[1]), groups=last, bias=False), nn.BatchNorm2d(last), nn.Flatten()
        )
        self.linear = nn.Linear(last, dimensions, bias=False)
        self.features = nn.BatchNorm1d(dimensions)

    def forward(self, x: Tensor) -> Output:
        m, patches = run(self, x, stages=STAGES, tap=self.patch_layer)
        return Output(self.features(self.linear(self.places(m))), patches)
