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


def placed(
    points: NDArray[np.floating], card: Card, *, five: NDArray[np.floating] | None, size: tuple[int, int]
) -> NDArray[np.float64]:
    """Where points (..., 2) of a picture of `size` (height, width), aligned by its `five`, are in the fed picture."""
    found, (height, width) = np.asarray(points, np.float64), size

    def scaled(to: tuple[int, int]) -> NDArray[np.float64]:  # pixels have their centre at whole numbers
        return np.asarray((found + 0.5) * np.array([to[1] / width, to[0] / height]) - 0.5)

    if card.template != "none":
        target = TEMPLATES[card.template]
        if five is not None and np.isfinite(five).all():
            matrix = similarity(five, target.points)
            found = found @ matrix[:, :2].T + matrix[:, 2]
        else:
            found = scaled(target.size)
        height, width = target.size
    if card.crop is not None:
        top, left, bottom, right = card.crop
        found, height, width = found - np.array([left, top]), bottom - top, right - left
    return scaled(card.size)


def placed_face(
    faces: FaceSet, row: int, card: Card, points: NDArray[np.floating] | None = None
) -> NDArray[np.float64] | None:
    """Where points of one face, by default its five, are in what `feed_face` gives.

    Without any, an aligned picture has its five where the template has them; None where there is no template.
    """
    five = None if faces.landmarks is None else faces.landmarks[row]
    known = five is not None and bool(np.isfinite(five).all())
    if points is None and not known:
        if card.template == "none":
            return None
        target = TEMPLATES[card.template]
        return placed(target.points, card, five=None, size=target.size)
    size = card.size
    if not known or card.template == "none":  # else the five points decide, whatever the size
        seen = decode.header_face(faces, row)
        size = seen.height, seen.width
    wanted = five if points is None else points
    assert wanted is not None
    return placed(wanted, card, five=five if known else None, size=size)


def resized(picture: NDArray[np.uint8], size: tuple[int, int]) -> NDArray[np.uint8]:
    """The whole picture at `size` (height, width); untouched where it has that size."""
    if picture.shape[:2] == tuple(size):
        return picture
    from PIL import Image

    return np.asarray(Image.fromarray(picture).resize((size[1], size[0]), Image.Resampling.BILINEAR))
