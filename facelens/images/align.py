"""Alignment: turn, scale and shift a face so that its five points lie where a network expects them.

Computes    the similarity T (rotation, one scale, shift) that minimises sum_i |T(p_i) - q_i|^2 (Umeyama, closed form)
Shapes      points (5, 2) float, x and y in pixels: left eye, right eye, nose, left and right mouth corner as seen
Reference   S. Umeyama, Least-squares estimation of transformation parameters between two point patterns, PAMI 1991
Departs     mirrored solutions are never taken; pictures much larger than the target are reduced first, so that nothing
            aliases (a plain bilinear warp of a large photograph skips pixels)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from facelens.errors import InputError
from facelens.words import tr


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
    turn = np.array([[a, -b], [b, a]])
    return np.column_stack([turn, centre_q - turn @ centre_p])


def warp(picture: NDArray[np.uint8], matrix: NDArray[np.float64], size: tuple[int, int]) -> NDArray[np.uint8]:
    """The picture moved by `matrix`, cut to `size` (height, width); outside is black. Bilinear, free of aliasing."""
    from PIL import Image

    scale = float(np.hypot(matrix[0, 0], matrix[1, 0]))
    image = Image.fromarray(picture)
    shrink = max(1, int(1 / max(scale, 1e-6)))
    if shrink > 1:
        # A reduced pixel k covers the original from k * shrink on: its centre is at (k + 1/2) shrink - 1/2.
        image = image.reduce(shrink)
        matrix = matrix @ np.array([[shrink, 0, (shrink - 1) / 2], [0, shrink, (shrink - 1) / 2], [0, 0, 1]])
    back = np.linalg.inv(np.vstack([matrix, [0, 0, 1]]))
    # Pillow samples at pixel centres (x + 1/2) and takes the position in the same convention.
    offset = back[:2, :2] @ [-0.5, -0.5] + back[:2, 2] + 0.5
    data = (back[0, 0], back[0, 1], offset[0], back[1, 0], back[1, 1], offset[1])
    moved = image.transform((size[1], size[0]), Image.Transform.AFFINE, data, Image.Resampling.BILINEAR)
    return np.asarray(moved)


def align(picture: NDArray[np.uint8], points: NDArray[np.floating], template: str = "arcface112") -> NDArray[np.uint8]:
    """The face in the position of a template."""
    target = TEMPLATES[template]
    return warp(picture, similarity(points, target.points), target.size)
