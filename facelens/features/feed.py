"""Feeding: from a picture on disk to the pixels a network is shown, as its card says. Needs no torch.

When the pixels that come out of here change, raise `store.PREPROCESSING`.

Shapes    a fed picture is (height, width, 3) uint8, RGB; channel order, grey and scaling are the encoder's business
"""

from __future__ import annotations

import threading

import numpy as np
from numpy.typing import NDArray

from facelens.features.card import Card
from facelens.images import decode
from facelens.images.align import TEMPLATES, similarity, warp
from facelens.images.faceset import FaceSet

MEGAPIXEL = 1 << 20
_own = threading.local()  # a place for each thread to decode into: the system takes its time to hand out fresh memory


def feed(picture: NDArray[np.uint8], points: NDArray[np.floating] | None, card: Card) -> NDArray[np.uint8]:
    """The picture as the network sees it.

    With five points it is aligned to the card's template. Without, it counts as aligned already: it is brought to the
    template's size as it is. Then the card's crop is cut out and brought to the card's input size.
    """
    if card.template != "none":
        target = TEMPLATES[card.template]
        if points is not None and np.isfinite(points).all():
            picture = warp(picture, similarity(points, target.points), target.size)
        else:
            picture = resized(picture, target.size)
    if card.crop is not None:
        top, left, bottom, right = card.crop
        picture = picture[top:bottom, left:right]
    return resized(picture, card.size)


def feed_face(faces: FaceSet, row: int, card: Card) -> NDArray[np.uint8]:
    """Read one face of a gallery and feed it; PictureError where no picture comes out of its file."""
    points = None if faces.landmarks is None else faces.landmarks[row]
    if not hasattr(_own, "pixels"):
        _own.pixels = np.empty(3 * MEGAPIXEL, np.uint8)
    fed = feed(decode.read_face(faces, row, into=_own.pixels), points, card)
    return fed.copy() if np.may_share_memory(fed, _own.pixels) else fed


def resized(picture: NDArray[np.uint8], size: tuple[int, int]) -> NDArray[np.uint8]:
    """The whole picture at `size` (height, width); untouched where it has that size."""
    if picture.shape[:2] == tuple(size):
        return picture
    from PIL import Image

    return np.asarray(Image.fromarray(picture).resize((size[1], size[0]), Image.Resampling.BILINEAR))
