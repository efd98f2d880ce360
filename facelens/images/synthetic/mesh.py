"""Sampled surfaces: what every part of a made-up person is built from.

A mesh is a bundle of flat arrays over its V vertices; `sheet` makes one from a grid of points, `ribbons` from many
tapered locks at once, `tube` from a path, and `join` puts several together so that one pass can draw them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[Any]
Floats = NDArray[np.float32]
F = np.float32

# what a vertex is made of; the shader in kernels.py knows the same numbers
SKIN_FACE, SKIN, HAIR, CLOTH, PLAIN, LENS, GLOSS = range(7)


# Numbers are passed on as they are: turned into arrays they would make float32 grids float64.
Values = Array | float


def ramp(a: Values, b: Values, x: Values) -> Array:
    """Smooth step from a to b; a > b gives the falling one."""
    t = np.clip((x - a) / (b - a), 0, 1)
    return np.asarray(t * t * (3 - 2 * t))


def mix(a: Any, b: Any, t: Any) -> Array:
    """a where t = 0, b where t = 1."""
    return np.asarray(a + (b - a) * t)


def bump(x: Values, y: Values, cx: float, cy: float, sx: float, sy: float) -> Array:
    """A Gaussian hill of height one; a column y and a full x cost one exponential per point instead of two."""
    return np.asarray(np.exp(-np.square((x - cx) / sx)) * np.exp(-np.square((y - cy) / sy)))


def linear(rgb: ArrayLike) -> Floats:
    """sRGB 0..255 to linear light."""
    return np.asarray((np.asarray(rgb, F) / 255) ** F(2.2), F)


@dataclass(frozen=True, slots=True)
class Mesh:
    """V vertices and T triangles.

    ``look`` = albedo in linear light (3), coordinates (2: frontal ones on the face, across and along on hair), gloss,
    openness to ambient light, face-skin weight, and hair texture or beard density.
    """

    position: Floats  # (V, 3)
    normal: Floats  # (V, 3)
    tangent: Floats  # (V, 3), zero where there is no hair
    look: Floats  # (V, 9)
    material: NDArray[np.uint8]  # (V,)
    anchor: Floats  # (V, 3) where the vertex goes under a hat
    triangles: NDArray[np.int32]  # (T, 3)
    two_sided: NDArray[np.uint8]  # (T,)


def grid_triangles(rows: int, cols: int, *, flip: bool = False) -> NDArray[np.int32]:
    """Two triangles per cell of a rows x cols grid."""
    i = (np.arange(rows - 1)[:, None] * cols + np.arange(cols - 1)[None]).ravel()
    first, second = np.stack([i, i + 1, i + cols], 1), np.stack([i + 1, i + cols + 1, i + cols], 1)
    # the two of a cell stay together: the rasteriser then finds their vertices and samples in the cache
    triangles = np.stack([first, second], 1).reshape(-1, 3).astype(np.int32)
    return np.ascontiguousarray(triangles[:, ::-1]) if flip else triangles


def surface_normals(points: Array) -> Array:
    """Unit normals of (..., R, C, 3) grids by central differences, right-handed in (column, row)."""
    du, dv = np.gradient(points, axis=-2), np.gradient(points, axis=-3)
    n = np.cross(du, dv)
    return np.asarray(n / (np.linalg.norm(n, axis=-1, keepdims=True) + 1e-9))


def pack(
    shape: tuple[int, ...], albedo: ArrayLike, coords: ArrayLike | None, *, traits: tuple[ArrayLike, ...]
) -> Floats:
    """The ``look`` of vertices that lie on a grid of ``shape``; everything is broadcast to it."""
    look = np.zeros((*shape, 9), F)
    look[..., 0:3] = albedo
    if coords is not None:
        look[..., 3:5] = coords
    for k, value in enumerate(traits):
        look[..., 5 + k] = value
    return look.reshape(-1, 9)


def sheet(
    points: Array,
    albedo: ArrayLike,
    *,
    material: int,
    outward: ArrayLike | None = None,
    gloss: ArrayLike = 0.1,
    openness: ArrayLike = 1.0,
    face: ArrayLike = 0.0,
    texture: ArrayLike = 0.0,
    coords: Array | None = None,
    tangent: Array | None = None,
    anchor: Array | None = None,
    two_sided: bool = False,
) -> Mesh:
    """A mesh from a (R, C, 3) grid; ``outward`` (R, C, 3) decides which side is the outside."""
    rows, cols = points.shape[:2]
    count = rows * cols
    normal = surface_normals(points)
    flip = outward is not None and float((normal * np.asarray(outward)).sum()) < 0
    if flip:
        normal = -normal
    triangles = grid_triangles(rows, cols, flip=flip)
    flat = points.reshape(count, 3).astype(F)
    return Mesh(
        position=flat,
        normal=normal.reshape(count, 3).astype(F),
        tangent=np.zeros((count, 3), F) if tangent is None else tangent.reshape(count, 3).astype(F),
        look=pack((rows, cols), albedo, coords, traits=(gloss, openness, face, texture)),
        material=np.full(count, material, np.uint8),
        anchor=flat if anchor is None else anchor.reshape(count, 3).astype(F),
        triangles=triangles,
        two_sided=np.full(len(triangles), two_sided, np.uint8),
    )


def ribbons(
    path: Array,
    outward: Array,
    *,
    width: Array,
    albedo: Array,
    gloss: float,
    openness: ArrayLike,
    anchor: Array,
    arch: float = 0.55,
    across: int = 5,
    material: int = HAIR,
    texture: float = 1.0,
) -> Mesh:
    """Tapered, arched locks of hair along paths.

    path, outward, anchor (L, n, 3); width (L, n) half widths; albedo (L, 3); openness broadcast to (L, n).
    """
    count, n = path.shape[:2]
    along = np.gradient(path, axis=1)
    along /= np.linalg.norm(along, axis=-1, keepdims=True) + 1e-9
    side = np.cross(along, outward)
    side /= np.linalg.norm(side, axis=-1, keepdims=True) + 1e-9
    out = np.cross(side, along)
    q = np.linspace(-1, 1, across)[None, None, :, None]
    w = width[:, :, None, None]
    points = path[:, :, None] + side[:, :, None] * q * w + out[:, :, None] * (1 - q * q) * w * arch
    normal = out[:, :, None] + side[:, :, None] * q * 2 * arch
    normal = normal / (np.linalg.norm(normal, axis=-1, keepdims=True) + 1e-9)
    per = n * across
    one = grid_triangles(n, across)
    triangles = (np.arange(count, dtype=np.int32)[:, None, None] * per + one[None]).reshape(-1, 3).astype(np.int32)
    length = np.concatenate([np.zeros((count, 1)), np.cumsum(np.linalg.norm(np.diff(path, axis=1), axis=-1), 1)], 1)
    shape = (count, n, across)
    u = np.arange(count)[:, None, None] * 3.7 + np.broadcast_to(q[..., 0], shape) * width[:, :, None] * 0.8
    coords = np.stack([u, np.broadcast_to(length[:, :, None], shape)], -1)
    total = count * per
    open_to = np.broadcast_to(np.broadcast_to(np.asarray(openness, F), (count, n))[:, :, None], shape)
    return Mesh(
        position=points.reshape(total, 3).astype(F),
        normal=normal.reshape(total, 3).astype(F),
        tangent=np.broadcast_to(along[:, :, None], (*shape, 3)).reshape(total, 3).astype(F),
        look=pack(shape, albedo[:, None, None], coords, traits=(gloss, open_to, 0.0, texture)),
        material=np.full(total, material, np.uint8),
        anchor=np.broadcast_to(anchor[:, :, None], (*shape, 3)).reshape(total, 3).astype(F),
        triangles=triangles,
        two_sided=np.ones(len(triangles), np.uint8),
    )


def tube(
    path: ArrayLike,
    radius: ArrayLike,
    albedo: ArrayLike,
    *,
    material: int = PLAIN,
    gloss: float = 0.1,
    openness: ArrayLike = 1.0,
    around: int = 8,
    flat: float = 1.0,
    guide: tuple[float, float, float] = (0.13, 0.2, 1.0),
    face: float = 0.0,
) -> Mesh:
    """A round or flattened tube along a (n, 3) path; ``flat`` scales the thickness towards ``guide``."""
    p = np.asarray(path, float)
    length = np.r_[0, np.cumsum(np.linalg.norm(np.diff(p, axis=0), axis=1))]
    u = np.linspace(0, length[-1], len(p))  # even spacing, else superellipse corners look dashed
    r = np.interp(u, length, np.broadcast_to(np.asarray(radius, float), (len(p),)))
    p = np.stack([np.interp(u, length, p[:, i]) for i in range(3)], 1)
    along = np.gradient(p, axis=0)
    along /= np.linalg.norm(along, axis=1, keepdims=True) + 1e-9
    a = np.cross(along, guide)
    a /= np.linalg.norm(a, axis=1, keepdims=True) + 1e-9
    b = np.cross(along, a)
    w = np.linspace(0, 2 * np.pi, around + 1)
    out = a[:, None] * np.cos(w)[None, :, None] + flat * b[:, None] * np.sin(w)[None, :, None]
    points = p[:, None] + out * r[:, None, None]
    open_to = np.broadcast_to(np.asarray(openness, F), (len(p),))[:, None]
    return sheet(
        points, albedo, material=material, outward=out, gloss=gloss, face=face,
        openness=np.broadcast_to(open_to, (len(p), around + 1)),
    )  # fmt: skip


def ball(
    centre: ArrayLike, radii: ArrayLike, albedo: ArrayLike, *, material: int = PLAIN, gloss: float = 0.1, n: int = 16
) -> Mesh:
    """An ellipsoid."""
    t, f = np.meshgrid(np.linspace(-np.pi, np.pi, 2 * n), np.linspace(-np.pi / 2, np.pi / 2, n))
    d = np.stack([np.cos(f) * np.sin(t), np.sin(f), np.cos(f) * np.cos(t)], -1)
    return sheet(np.asarray(centre) + d * np.asarray(radii), albedo, material=material, outward=d, gloss=gloss)


def join(parts: Sequence[Mesh]) -> Mesh:
    """All parts as one mesh, in the given order."""
    offsets = np.cumsum([0] + [len(p.position) for p in parts[:-1]])
    return Mesh(
        position=np.concatenate([p.position for p in parts]),
        normal=np.concatenate([p.normal for p in parts]),
        tangent=np.concatenate([p.tangent for p in parts]),
        look=np.concatenate([p.look for p in parts]),
        material=np.concatenate([p.material for p in parts]),
        anchor=np.concatenate([p.anchor for p in parts]),
        triangles=np.concatenate([p.triangles + np.int32(o) for p, o in zip(parts, offsets)]),
        two_sided=np.concatenate([p.two_sided for p in parts]),
    )
