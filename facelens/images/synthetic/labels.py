"""Ground truth of a picture: where the face's points are and which of them can be seen.

The 68 points follow the usual order: jaw 0-16, brows 17-26, nose 27-35, eyes 36-47, outer lips 48-59, inner lips 60-67;
the five points are the eye centres, the nose tip and the mouth corners. Left means the picture's left.
"""

from __future__ import annotations

import numpy as np

from facelens.images.synthetic.head import Head
from facelens.images.synthetic.mesh import Array, Floats
from facelens.images.synthetic.photo import Photo

_JAW = np.linspace(-1, 1, 17)
_JAW_FALL = np.cos(_JAW * np.pi / 2).clip(0) ** 0.75
_JAW_TURN = np.sin(np.radians(_JAW * 82))


def face_points(head: Head, photo: Photo, surface: Floats, numbers: Floats) -> Array:
    """The 68 points (68, 3) on the moved face grid ``surface`` (R, C, 3), in head axes."""
    flat = np.array(_frontal(head, photo, numbers))
    rows = np.interp(flat[:, 1], head.row_y, np.arange(len(head.row_y)))
    half = np.interp(flat[:, 1], head.row_y, head.row_width)
    turn = np.arcsin(np.clip(flat[:, 0] / np.maximum(half, 0.02), -0.995, 0.995))
    cols = np.interp(turn, head.azimuth, np.arange(len(head.azimuth)))
    i, j = np.minimum(rows.astype(int), surface.shape[0] - 2), np.minimum(cols.astype(int), surface.shape[1] - 2)
    fi, fj = (rows - i)[:, None], (cols - j)[:, None]
    upper = surface[i, j] * (1 - fj) + surface[i, j + 1] * fj
    lower = surface[i + 1, j] * (1 - fj) + surface[i + 1, j + 1] * fj
    return np.asarray(upper * (1 - fi) + lower * fi)


def five_points(points: Array) -> Array:
    """Eye centres, nose tip and mouth corners (5, 2) from the 68 points (68, 2)."""
    return np.stack([points[36:42].mean(0), points[42:48].mean(0), points[30], points[48], points[54]])


def _frontal(head: Head, photo: Photo, numbers: Floats) -> list[tuple[float, float]]:
    p, e = head.identity.shape, numbers.tolist()
    jaw_y = -p["chin_len"] * 0.985 * _JAW_FALL - 0.02
    jaw_x = np.interp(jaw_y, head.row_y, head.row_width) * _JAW_TURN
    points: list[tuple[float, float]] = list(zip(jaw_x.tolist(), jaw_y.tolist()))
    for s in (-1, 1):
        for b in (-1.0, -0.5, 0.0, 0.5, 1.0)[::s]:
            bx = b * e[22] * 0.95
            bend = (b - 0.25) ** 2 * (1 if b > 0.25 else 0.45)
            points.append((s * (e[0] - 0.02 + bx), e[18] + s * e[6] + e[20] * (1 - bend) - 0.02 + e[21] * bx))
    n = p["asym_nose"]
    top, tip = p["eye_y"] + 0.02, -p["nose_len"] + 0.035
    points += [(n * t, top + (tip - top) * t) for t in (0, 0.33, 0.67, 1)]
    points += [(n + v * p["nose_w"], -p["nose_len"] - 0.03 - 0.015 * (1 - abs(v))) for v in (-1, -0.5, 0, 0.5, 1)]
    half, cos, sin = e[2], e[4], e[5]
    for s in (-1, 1):
        ring = [(1, 0), (0.4, 1), (-0.4, 1), (-1, 0), (-0.4, -1), (0.4, -1)]
        if s > 0:
            ring = [(-u, v) for u, v in ring]
        for u, v in ring:
            up = e[3] * (1 - 0.4**2.4) * (1 + 0.10 * u)
            low = -0.66 * e[3] * (1 - 0.4**2.1) * (1 - 0.30 * max(photo.smile, 0))
            height = 0.0 if v == 0 else (up + (low - up) * e[7] if v > 0 else low)
            points.append((s * (e[0] + u * half * cos - height * sin), e[1] + s * e[6] + u * half * sin + height * cos))

    def lip(t: float, side: int, *, inner: bool) -> tuple[float, float]:
        arch = max(1 - t * t, 0.0) ** 0.5
        gap, middle = e[31] * arch, e[27] + e[29] * (t * t - 0.35) + e[30] * t
        if side > 0:
            return e[26] + t * e[28], middle + 0.35 * gap + (0 if inner else e[32] * arch)
        return e[26] + t * e[28], middle - 0.75 * gap - (0 if inner else e[33] * arch)

    points += [lip(t, 1, inner=False) for t in (-1, -0.55, -0.25, 0, 0.25, 0.55, 1)]
    points += [lip(t, -1, inner=False) for t in (0.6, 0.3, 0, -0.3, -0.6)]
    points += [lip(t, 1, inner=True) for t in (-0.85, -0.3, 0, 0.3, 0.85)]
    points += [lip(t, -1, inner=True) for t in (0.3, 0, -0.3)]
    return points
