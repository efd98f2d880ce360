"""IResNet: the residual networks of ArcFace, 18 to 100 layers deep.

Computes    f = BN(W dropout(flatten(m)) + b),  m = BN(layer4(layer3(layer2(layer1(PReLU(BN(conv(x))))))));
            block: y = skip(x) + BN(conv(PReLU(BN(conv(BN(x)))))), the second convolution carries the stride
Shapes      x (B, 3, 112, 112) float; m (B, 512, 7, 7), the patch map; f (B, D), D = 512, not a unit vector
Reference   Deng, Guo, Xue, Zafeiriou, "ArcFace: Additive Angular Margin Loss for Deep Face Recognition", CVPR 2019;
            Duta, Liu, Zhu, Shao, "Improved Residual Networks for Image and Video Recognition", ICPR 2020;
            names as in insightface, recognition/arcface_torch
Departs     no automatic half precision inside the network: the caller decides
"""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn

from facelens.features.models import Output
from facelens.features.models.stages import checked_tap, run

BLOCKS = {18: (2, 2, 2, 2), 34: (3, 4, 6, 3), 50: (3, 4, 14, 3), 100: (3, 13, 30, 3)}
STAGES = ("conv1", "bn1", "prelu", "layer1", "layer2", "layer3", "layer4", "bn2")


class Block(nn.Module):
    """Two 3x3 convolutions with normalisation before, between and after; the skip is projected where shapes change."""

    def __init__(self, channels_in: int, channels: int, *, stride: int) -> None:
        super().__init__()
        self.bn1 = nn.BatchNorm2d(channels_in)
        self.conv1 = nn.Conv2d(channels_in, channels, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)
        self.prelu = nn.PReLU(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, stride=stride, padding=1, bias=False)
        self.bn3 = nn.BatchNorm2d(channels)
        self.downsample: nn.Module | None = None
        if stride != 1 or channels_in != channels:
            self.downsample = nn.Sequential(
                nn.Conv2d(channels_in, channels, 1, stride=stride, bias=False), nn.BatchNorm2d(channels)
            )

    def forward(self, x: Tensor) -> Tensor:
        skip = x if self.downsample is None else self.downsample(x)
        y: Tensor = self.conv1(self.bn1(x))
        y = self.conv2(self.prelu(self.bn2(y)))
        y = self.bn3(y) + skip
        return y


class IResNet(nn.Module):
    """`depth` names a published size, `blocks` gives any other; `grid` is the last map's size, (7, 7) for 112 x 112."""

    def __init__(
        self,
        depth: int = 50,
        *,
        blocks: Sequence[int] = (),
        dimensions: int = 512,
        grid: tuple[int, int] = (7, 7),
        dropout: float = 0.0,
        patch_layer: str = "bn2",
    ) -> None:
        super().__init__()
        self.patch_layer = checked_tap(patch_layer, STAGES)
        self.conv1 = nn.Conv2d(3, 64, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.prelu = nn.PReLU(64)
        channels_in = 64
        for stage, (channels, count) in enumerate(zip((64, 128, 256, 512), blocks or BLOCKS[depth]), start=1):
            layer = [
                Block(channels_in if i == 0 else channels, channels, stride=2 if i == 0 else 1) for i in range(count)
            ]
            self.add_module(f"layer{stage}", nn.Sequential(*layer))
            channels_in = channels
        self.bn2 = nn.BatchNorm2d(512)
        self.dropout = nn.Dropout(dropout)
        self.fc = nn.Linear(512 * grid[0] * grid[1], dimensions)
        self.features = nn.BatchNorm1d(dimensions)
        self.features.weight.requires_grad_(False)  # a free scale would only undo the normalisation that follows

    def forward(self, x: Tensor) -> Output:
        m, patches = run(self, x, stages=STAGES, tap=self.patch_layer)
        return Output(self.features(self.fc(self.dropout(m.flatten(1)))), patches)
