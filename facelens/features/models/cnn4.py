"""The four-layer network that learns attributes when more variations are mined.

Computes    f = mean of m over places,  m = four times relu(BN(conv3x3 with stride 2)), widths 64, 128, 256, 512
Shapes      x (B, 3, 112, 112) float; m (B, 512, 7, 7), the patch map; f (B, 512), not a unit vector
Reference   Shi, Yu, Sohn, Chandraker, Jain, "Towards Universal Representation Learning for Deep Face Recognition",
            CVPR 2020, supplement (attribute network)
Departs     only kernel size and widths are published; stride, normalisation, activation and the mean are assumed
"""

from __future__ import annotations

from torch import Tensor, nn

from facelens.features.models import Output
from facelens.features.models.stages import checked_tap, run

STAGES = ("layer1", "layer2", "layer3", "layer4")


class CNN4(nn.Module):
    """Takes any picture of at least 16 x 16 pixels; which size its card asks for, `grid` says: (4, 4) for 64 x 64."""

    def __init__(self, *, channels: int = 3, grid: tuple[int, int] = (7, 7), patch_layer: str = "layer4") -> None:
        super().__init__()
        self.patch_layer = checked_tap(patch_layer, STAGES)
        width_in = channels
        for stage, width in enumerate((64, 128, 256, 512), start=1):
            convolution = nn.Conv2d(width_in, width, 3, stride=2, padding=1, bias=False)
            self.add_module(f"layer{stage}", nn.Sequential(convolution, nn.BatchNorm2d(width), nn.ReLU()))
            width_in = width

    def forward(self, x: Tensor) -> Output:
        m, patches = run(self, x, stages=STAGES, tap=self.patch_layer)
        return Output(m.mean((2, 3)), patches)
