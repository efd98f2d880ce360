"""ResNet-50 for retrieval and re-identification: a d-dimensional embedding on top of the usual network.

Computes    plain: f = W p + b, p = mean of m over places (f = p without W); with the bag-of-tricks neck: f = BN(p)
            m = layer4(layer3(layer2(layer1(maxpool(relu(BN(conv7x7(x))))))))
Shapes      x (B, 3, 224, 224) or (B, 3, 256, 128) float; m (B, 2048, 7, 7) or, last stride 1, (B, 2048, 16, 8), the
            patch map; f (B, D), D = 128 for divide and conquer, 512 or 2048 for re-identification
Reference   He, Zhang, Ren, Sun, "Deep Residual Learning", CVPR 2016; Luo, Gu, Liao, Lai, Jiang, "Bag of Tricks and
            a Strong Baseline for Deep Person Re-identification", CVPR workshops 2019; Sanakoyeu, Tschernezki,
            Buechler, Ommer, "Divide and Conquer the Embedding Space for Metric Learning", CVPR 2019;
            names as in torchvision, and as in michuanhaohao/reid-strong-baseline for the neck
Departs     `fc` holds the embedding where torchvision has the classifier
"""

from __future__ import annotations

from torch import Tensor, nn

from facelens.features.models import Output
from facelens.features.models.stages import checked_tap, run

STAGES = ("conv1", "bn1", "relu", "maxpool", "layer1", "layer2", "layer3", "layer4")


class Bottleneck(nn.Module):
    """1x1, 3x3 (with the stride), 1x1 convolutions and a skip."""

    def __init__(self, channels_in: int, width: int, *, stride: int) -> None:
        super().__init__()
        channels = 4 * width
        self.conv1 = nn.Conv2d(channels_in, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride=stride, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, channels, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(channels)
        self.relu = nn.ReLU()
        self.downsample: nn.Module | None = None
        if stride != 1 or channels_in != channels:
            self.downsample = nn.Sequential(
                nn.Conv2d(channels_in, channels, 1, stride=stride, bias=False), nn.BatchNorm2d(channels)
            )

    def forward(self, x: Tensor) -> Tensor:
        skip = x if self.downsample is None else self.downsample(x)
        y: Tensor = self.relu(self.bn1(self.conv1(x)))
        y = self.relu(self.bn2(self.conv2(y)))
        y = self.relu(self.bn3(self.conv3(y)) + skip)
        return y


class ResNet50(nn.Module):
    """`dimensions` 2048 leaves `fc` out: the embedding is the mean of the map."""

    def __init__(self, *, dimensions: int = 512, last_stride: int = 2, patch_layer: str = "layer4") -> None:
        super().__init__()
        self.patch_layer = checked_tap(patch_layer, STAGES)
        self.conv1 = nn.Conv2d(3, 64, 7, stride=2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.relu = nn.ReLU()
        self.maxpool = nn.MaxPool2d(3, stride=2, padding=1)
        channels = 64
        for stage, (width, count, stride) in enumerate(
            zip((64, 128, 256, 512), (3, 4, 6, 3), (1, 2, 2, last_stride)), start=1
        ):
            first = Bottleneck(channels, width, stride=stride)
            channels = 4 * width
            rest = (Bottleneck(channels, width, stride=1) for _ in range(count - 1))
            self.add_module(f"layer{stage}", nn.Sequential(first, *rest))
        self.fc: nn.Module = nn.Identity() if dimensions == 2048 else nn.Linear(2048, dimensions)

    def forward(self, x: Tensor) -> Output:
        m, patches = run(self, x, stages=STAGES, tap=self.patch_layer)
        return Output(self.fc(m.mean((2, 3))), patches)


class ResNet50Neck(nn.Module):
    """The bag-of-tricks network: `base` is a ResNet-50 that keeps its last size, `bottleneck` the normalising neck."""

    def __init__(self, *, last_stride: int = 1, patch_layer: str = "layer4") -> None:
        super().__init__()
        self.base = ResNet50(dimensions=2048, last_stride=last_stride, patch_layer=patch_layer)
        self.bottleneck = nn.BatchNorm1d(2048)
        self.bottleneck.bias.requires_grad_(False)  # no shift: classes are told apart by angle

    def forward(self, x: Tensor) -> Output:
        pooled, patches, _ = self.base(x)
        return Output(self.bottleneck(pooled), patches)
