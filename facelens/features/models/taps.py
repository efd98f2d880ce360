"""Layers of each architecture whose output can be the patch map, as they are at its usual size. Needs no torch.

Written down because finding out takes torch two seconds; a test compares this with what the networks do.
"""

from __future__ import annotations

from collections.abc import Mapping

Sides = tuple[int, int, int]  # channels, rows, columns

# fmt: off
_TABLE = {
    ("iresnet18", "iresnet34", "iresnet50", "iresnet100"):
        "conv1:64x112x112 bn1:64x112x112 prelu:64x112x112 layer1:64x56x56 layer2:128x28x28 layer3:256x14x14 "
        "layer4:512x7x7 bn2:512x7x7",
    ("mobilefacenet_casia",):
        "conv1:64x56x48 dw_conv1:64x56x48 blocks.0:64x28x24 blocks.1:64x28x24 blocks.2:64x28x24 blocks.3:64x28x24 "
        "blocks.4:64x28x24 blocks.5:128x14x12 blocks.6:128x14x12 blocks.7:128x14x12 blocks.8:128x14x12 "
        "blocks.9:128x14x12 blocks.10:128x14x12 blocks.11:128x14x12 blocks.12:128x7x6 blocks.13:128x7x6 "
        "blocks.14:128x7x6 conv2:512x7x6",
    ("mobilefacenet_facexzoo",):
        "conv1:64x56x56 conv2_dw:64x56x56 conv_23:64x28x28 conv_3:64x28x28 conv_34:128x14x14 conv_4:128x14x14 "
        "conv_45:128x7x7 conv_5:128x7x7 conv_6_sep:512x7x7",
    ("mobilefacenet_foamliu",):
        "conv1:64x56x56 dw_conv:64x56x56 features.0:64x28x28 features.1:64x28x28 features.2:64x28x28 "
        "features.3:64x28x28 features.4:64x28x28 features.5:128x14x14 features.6:128x14x14 features.7:128x14x14 "
        "features.8:128x14x14 features.9:128x14x14 features.10:128x14x14 features.11:128x14x14 features.12:128x7x7 "
        "features.13:128x7x7 features.14:128x7x7 conv2:512x7x7",
    ("mobilefacenet_insightface",):
        "layers.0:128x56x56 layers.1:128x56x56 layers.2:128x28x28 layers.3:128x28x28 layers.4:256x14x14 "
        "layers.5:256x14x14 layers.6:256x7x7 layers.7:256x7x7 conv_sep:512x7x7",
    ("sphere20",):
        "layer1:64x56x48 layer2:128x28x24 layer3:256x14x12 layer4:512x7x6",
    ("resnetface18",):
        "conv1:64x128x128 bn1:64x128x128 prelu:64x128x128 maxpool:64x64x64 layer1:64x64x64 layer2:128x32x32 "
        "layer3:256x16x16 layer4:512x8x8 bn4:512x8x8 dropout:512x8x8",
    ("inception_resnet_v1",):
        "conv2d_1a:32x79x79 conv2d_2a:32x77x77 conv2d_2b:64x77x77 maxpool_3a:64x38x38 conv2d_3b:80x38x38 "
        "conv2d_4a:192x36x36 conv2d_4b:256x17x17 repeat_1:256x17x17 mixed_6a:896x8x8 repeat_2:896x8x8 "
        "mixed_7a:1792x3x3 repeat_3:1792x3x3 block8:1792x3x3",
    ("resnet50", "divided"):
        "conv1:64x112x112 bn1:64x112x112 relu:64x112x112 maxpool:64x56x56 layer1:256x56x56 layer2:512x28x28 "
        "layer3:1024x14x14 layer4:2048x7x7",
    ("resnet50_neck",):
        "conv1:64x128x64 bn1:64x128x64 relu:64x128x64 maxpool:64x64x32 layer1:256x64x32 layer2:512x32x16 "
        "layer3:1024x16x8 layer4:2048x16x8",
    ("cnn4",):
        "layer1:64x56x56 layer2:128x28x28 layer3:256x14x14 layer4:512x7x7",
    ("small_plain",):
        "stem:24x32x32 stage1:48x16x16 stage2:80x8x8 stage3:112x8x8",
    ("small_residual",):
        "stem:24x32x32 stage1:48x16x16 stage2:72x8x8 stage3:80x8x8",
    ("small_dense",):
        "stem:32x32x32 stage1:64x16x16 stage2:128x8x8 stage3:160x8x8",
}
# fmt: on


def _read(text: str) -> tuple[tuple[str, Sides], ...]:
    found = []
    for entry in text.split():
        name, _, sides = entry.rpartition(":")
        channels, rows, columns = map(int, sides.split("x"))
        found.append((name, (channels, rows, columns)))
    return tuple(found)


TAPS: Mapping[str, tuple[tuple[str, Sides], ...]] = {
    name: _read(text) for names, text in _TABLE.items() for name in names
}
