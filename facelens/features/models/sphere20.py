"""Sphere20: the plain residual network of SphereFace and CosFace, without any normalisation layer.

Computes    f = W flatten(m) + b,  m = layer4(layer3(layer2(layer1(x))));
            layer: PReLU(conv3x3 with stride 2), then blocks y = x + PReLU(conv(PReLU(conv(x))))
Shapes      x (B, 3, 112, 96) float; m (B, 512, 7, 6), the patch map (7 rows, 6 columns); f (B, 512), not a unit vector
Reference   Liu, Wen, Yu, Li, Raj, Song, "SphereFace", CVPR 2017; Wang et al., "CosFace", CVPR 2018;
            names as in MuggleWang/CosFace_pytorch
Departs     none; blocks (3, 7, 16, 3) is that release's 64-layer form
"""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn

from facelens.features.models import Output
from facelens.features.models.stages import checked_tap, run

STAGES = ("layer1", "layer2", "layer3", "layer4")


class Block(nn.Module):
    """x + PReLU(conv(PReLU(conv(x))))."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.prelu1 = nn.PReLU(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.prelu2 = nn.PReLU(channels)
        # Nearly the identity at first: without normalisation layers anything larger grows from block to block.
        nn.init.normal_(self.conv1.weight, std=0.01)
        nn.init.normal_(self.conv2.weight, std=0.01)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.prelu2(self.conv2(self.prelu1(self.conv1(x))))
        return x + y


class Sphere(nn.Module):
    """`grid` is the size of the last map: (7, 6) for 112 x 96."""

    def __init__(
        self,
        *,
        blocks: Sequence[int] = (1, 2, 4, 1),
        dimensions: int = 512,
        grid: tuple[int, int] = (7, 6),
        channels: int = 3,
        patch_layer: str = "layer4",
    ) -> None:
        super().__init__()
        self.patch_layer = checked_tap(patch_layer, STAGES)
        width_in = channels
        for stage, (width, count) in enumerate(zip((64, 128, 256, 512), blocks), start=1):
            first = nn.Conv2d(width_in, width, 3, stride=2, padding=1)
            nn.init.xavier_uniform_(first.weight)
            nn.init.zeros_(first.bias)  # type: ignore[arg-type]
            layer = nn.Sequential(first, nn.PReLU(width), *(Block(width) for _ in range(count)))
            self.add_module(f"layer{stage}", layer)
            width_in = width
        self.fc = nn.Linear(512 * grid[0] * grid[1], dimensions)
        nn.init.xavier_uniform_(self.fc.weight)
        nn.init.zeros_(self.fc.bias)

    def forward(self, x: Tensor) -> Output:
        m, patches = run(self, x, stages=STAGES, tap=self.patch_layer)
        return Output(self.fc(m.flatten(1)), patches)
