"""Occlusion: what is painted on a face that is searched for, to see who finds it all the same.

Computes    a picture with a mask, sunglasses, a crop or black blocks as `perturb` draws them, or with round dabs of
            grey; done to the very pixels a network is shown, so that what is seen is what was matched
Shapes      picture (H, W, 3) uint8; points (..., 2) x and y in its pixels
Reference   Phan, Nguyen, "DeepFace-EMD", CVPR 2022 (mask, sunglasses, crop of 70 %)
Departs     masks and glasses are drawn, not rendered over a fitted head
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from facelens.images import perturb
from facelens.words import tr

Picture = NDArray[np.uint8]

KINDS = ("none", "mask", "sunglasses", "crop70", "blocks", "brush")
TRIED = KINDS[:-1]  # those that need no hand
GREY = 127  # of dabs: the middle of what a network is fed
_DRAWN = {"mask": "mask", "sunglasses": "sunglasses", "crop70": "crop70", "blocks": "occlusion"}


@dataclass(frozen=True)
class Occlusion:
    """What is painted; the same value paints the same on the same face."""

    kind: str = "none"  # of KINDS
    strength: float = 1.0  # 0..1, see perturb; dabs: how much they cover
    seed: int = 0
    strokes: tuple[tuple[float, float, float], ...] = ()  # dabs: x, y in 0..1 of width and height, radius of the width

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"occlusions are {KINDS}, not {self.kind!r}")

    @property
    def clear(self) -> bool:
        """Whether nothing is painted."""
        return self.kind == "none" or self.strength == 0 or (self.kind == "brush" and not self.strokes)


CLEAR = Occlusion()


def title(kind: str) -> str:
    """A kind of occlusion as it is shown."""
    return {
        "none": tr("None"),
        "mask": tr("Mask"),
        "sunglasses": tr("Sunglasses"),
        "crop70": tr("Crop to 70 %"),
        "blocks": tr("Blocks"),
        "brush": tr("Painted by hand"),
    }[kind]


def painted(
    picture: Picture, occlusion: Occlusion, *, face: int = 0, landmarks: NDArray[np.floating] | None = None
) -> Picture:
    """The picture with the occlusion on it; chance is drawn by the seed and the face, so that each has its own."""
    if occlusion.clear:
        return picture.copy()
    if occlusion.kind == "brush":
        return _dabbed(picture, occlusion)
    vary = perturb.VARIATIONS[_DRAWN[occlusion.kind]].vary
    return vary(picture, occlusion.strength, seed=_seed(occlusion, face), landmarks=landmarks)


def moved(
    points: NDArray[np.floating], size: tuple[int, int], occlusion: Occlusion, *, face: int = 0
) -> NDArray[np.float64]:
    """Where points of a picture of `size` (height, width) are after `painted`: only a crop moves them."""
    found = np.asarray(points, np.float64)
    if occlusion.clear or occlusion.kind != "crop70":
        return found
    left, top, kept = perturb.crop_window(occlusion.strength, np.random.default_rng(_seed(occlusion, face)))
    height, width = size
    return np.asarray((found + 0.5 - np.array([left * width, top * height])) / kept - 0.5)


def _seed(occlusion: Occlusion, face: int) -> int:
    return int(np.random.SeedSequence([occlusion.seed, face]).generate_state(1, np.uint64)[0])


def _dabbed(picture: Picture, occlusion: Occlusion) -> Picture:
    height, width = picture.shape[:2]
    y, x = np.mgrid[:height, :width].astype(np.float32) + np.float32(0.5)
    cover = np.zeros((height, width), np.float32)
    for across, down, radius in occlusion.strokes:
        far = np.hypot(x - across * width, y - down * height)
        cover = np.maximum(cover, np.clip(radius * width - far + np.float32(0.5), 0, 1))  # an edge of one pixel
    cover *= np.float32(occlusion.strength)
    return np.asarray(picture + cover[..., None] * (GREY - picture.astype(np.float32)) + 0.5).astype(np.uint8)
