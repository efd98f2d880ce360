"""Alignment: turn, scale and shift a face so that its five points lie where a network expects them.

Computes    the similarity T (rotation, one scale, shift) that minimises sum_i |T(p_i) - q_i|^2 (Umeyama, closed form)
Shapes      points (5, 2) float, x and y in pixels: left eye, right eye, nose, left and right mouth corner as seen
Reference   S. Umeyama, Least-squares estimation of transformation parameters between two point patterns, PAMI 1991
Departs     mirrored solutions are never taken; pictures much larger than the target are reduced first, so that nothing
            aliases (a plain bilinear warp of a large photograph skips pixels)
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from facelens.errors import InputError
from facelens.words import tr

_log = logging.getLogger("facelens.align")


SMALLEST = 1e-5  # scale: no picture is so large that a face had to be made smaller than this


@dataclass(frozen=True, eq=False)
class Template:
    """Where the five points belong in a picture of `size` (height, width)."""

    size: tuple[int, int]
    points: NDArray[np.float64]


def _template(height: int, width: int, *points: tuple[float, float]) -> Template:
    return Template((height, width), np.array(points, np.float64))


TEMPLATES: Mapping[str, Template] = {
    "arcface112": _template(
        112, 112, (38.2946, 51.6963), (73.5318, 51.5014), (56.0252, 71.7366), (41.5493, 92.3655), (70.7299, 92.2041)
    ),
    "cosface96x112": _template(
        112, 96, (30.2946, 51.6963), (65.5318, 51.5014), (48.0252, 71.7366), (33.5493, 92.3655), (62.7299, 92.2041)
    ),
    "facenet160": _template(
        160, 160, (61.4356, 54.6963), (118.5318, 54.6963), (93.5252, 90.7366), (68.5493, 122.3655), (110.7299, 122.3641)
    ),
}


def similarity(points: NDArray[np.floating], onto: NDArray[np.floating]) -> NDArray[np.float64]:
    """(2, 3) matrix that brings `points` onto `onto`; refuses points that are missing or all in one place.

    >>> shift = similarity(np.eye(5, 2), np.eye(5, 2) + [3, 4])
    >>> np.allclose(shift, [[1, 0, 3], [0, 1, 4]])
    True
    """
    p, q = np.asarray(points, np.float64), np.asarray(onto, np.float64)
    if not np.isfinite(p).all():
        raise InputError(
            tr("The face has no five points."), hint=tr("Give landmarks in the manifest, or use a detector.")
        )
    centre_p, centre_q = p.mean(0), q.mean(0)
    p, q = p - centre_p, q - centre_q
    spread = float((p**2).sum())
    if spread < 1e-9:
        raise InputError(tr("The five points of the face lie in one place."))
    # In the plane a similarity without mirror image is one complex factor: (a + ib) minimises |factor p - q|^2.
    a = float((p * q).sum()) / spread
    b = float((p[:, 0] * q[:, 1] - p[:, 1] * q[:, 0]).sum()) / spread
    if not math.hypot(a, b) > SMALLEST:
        raise InputError(tr("The five points of the face have not the shape of a face."))
    turn = np.array([[a, -b], [b, a]])
    return np.column_stack([turn, centre_q - turn @ centre_p])


def warp(picture: NDArray[np.uint8], matrix: NDArray[np.float64], size: tuple[int, int]) -> NDArray[np.uint8]:
    """The picture moved by `matrix`, cut to `size` (height, width); outside is black. Bilinear, free of aliasing."""
    from PIL import Image

    (a, b, c), (d, e, f) = matrix.tolist()
    shrink = max(1, int(1 / max(math.hypot(a, d), 1e-6)))
    det = a * e - b * d
    a, b, d, e = e / det, -b / det, -d / det, a / det
    # Where the centre (x + 1/2, y + 1/2) of a pixel comes from; a pixel of the picture covers [k, k + 1).
    c, f = 0.5 - a * (c + 0.5) - b * (f + 0.5), 0.5 - d * (c + 0.5) - e * (f + 0.5)
    height, width = size
    top, bottom = _part(d * width, e * height, f, picture.shape[0], step=shrink)
    left, right = _part(a * width, b * height, c, picture.shape[1], step=shrink)
    if top >= bottom or left >= right:
        return np.zeros((height, width, 3), np.uint8)
    picture = picture[top:bottom, left:right]
    motion = np.array([a, b, c - left, d, e, f - top])
    if shrink > 1:
        picture = np.asarray(Image.fromarray(picture).reduce(shrink))
        motion /= shrink
    if _compiled is not None:
        moved = np.empty((height, width, 3), np.uint8)
        _compiled(np.ascontiguousarray(picture), motion, moved)
        return moved
    image, data = Image.fromarray(picture), tuple(motion.tolist())
    return np.asarray(image.transform((width, height), Image.Transform.AFFINE, data, Image.Resampling.BILINEAR))


def _part(across: float, down: float, start: float, length: int, *, step: int) -> tuple[int, int]:
    """Which pixels of a line the target is taken from, in whole steps; a little more than needed, none outside."""
    low = start + min(across, 0) + min(down, 0)
    high = start + max(across, 0) + max(down, 0)
    first = max(0, math.floor(low / step) - 1) * step
    return first, min(length, (math.ceil(high / step) + 1) * step)


_compiled: Callable[[NDArray[np.uint8], NDArray[np.float64], NDArray[np.uint8]], None] | None = None


def hasten() -> None:
    """Load the compiled warp, which gives the same pixels; worth its second or so for thousands of pictures.

    Where it cannot be compiled, everything stays as it is.
    """
    global _compiled
    if _compiled is not None:
        return
    try:
        from facelens.images.warping import bilinear
    except Exception as error:  # whatever a compiler may meet
        _log.warning("pictures are aligned without the compiled loop: %s", error)
    else:
        _compiled = bilinear


def align(picture: NDArray[np.uint8], points: NDArray[np.floating], template: str = "arcface112") -> NDArray[np.uint8]:
    """The face in the position of a template."""
    target = TEMPLATES[template]
    return warp(picture, similarity(points, target.points), target.size)
