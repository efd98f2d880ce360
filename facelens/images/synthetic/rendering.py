"""One picture of a person: turn, light, draw, develop.

The head's vertices are moved by the expression, turned by yaw, pitch and roll, and drawn through a z-buffer with four
samples a pixel. Light is a key lamp with a cast shadow, a weak fill from the other side, and a sky and ground that
light from all around; skin lets red light through further than blue. All of it happens in linear light, the camera
comes last.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from facelens.images.synthetic.backdrop import draw_backdrop
from facelens.images.synthetic.camera import camera_gain, develop, tone_curve
from facelens.images.synthetic.expression import expression_numbers
from facelens.images.synthetic.head import Head
from facelens.images.synthetic.labels import face_points, five_points
from facelens.images.synthetic.mesh import Array, F, Floats, Mesh, join, linear, ramp
from facelens.images.synthetic.occluders import dress, hat_line
from facelens.images.synthetic.photo import Photo

CAMERA = 7.5  # distance in head units
SCALE = 0.362  # pixels per head unit and pixel of the frame
SAMPLES = 2  # per pixel and axis
SHADOW_CELLS, SHADOW_HALF = 60, 1.75

_CLOTHS = (
    (62, 78, 104), (150, 62, 58), (92, 112, 96), (210, 202, 188), (52, 54, 60), (176, 144, 104), (118, 96, 128),
    (84, 124, 140), (196, 150, 140), (228, 226, 222), (120, 126, 78), (70, 60, 56), (200, 172, 92), (98, 60, 76),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Rendered:
    """A picture and its ground truth; points are in pixels with the origin at the picture's top left corner."""

    picture: NDArray[np.uint8]  # (H, W, 3)
    landmarks: Floats  # (5, 2)
    points: Floats  # (68, 2)
    visible: NDArray[np.bool_]  # (68,)
    mask: NDArray[np.uint8]  # (H, W) how much of each pixel is bare face skin
    photo: Photo


def rotation(yaw: float, pitch: float, roll: float) -> Floats:
    """Yaw first, then pitch, then roll, in degrees."""
    a, b, c = np.radians([yaw, -pitch, roll])
    turn = np.array([[np.cos(a), 0, np.sin(a)], [0, 1, 0], [-np.sin(a), 0, np.cos(a)]])
    nod = np.array([[1, 0, 0], [0, np.cos(b), -np.sin(b)], [0, np.sin(b), np.cos(b)]])
    tilt = np.array([[np.cos(c), -np.sin(c), 0], [np.sin(c), np.cos(c), 0], [0, 0, 1]])
    return np.asarray(tilt @ nod @ turn, F)


def render(head: Head, photo: Photo) -> Rendered:
    """Draw ``head`` as ``photo`` says; the same two give the same bytes."""
    from facelens.images.synthetic import kernels

    size, n = head.size, head.size * SAMPLES
    rng = np.random.default_rng(photo.seed)
    wardrobe = np.random.default_rng([photo.seed, 5])
    turn = rotation(photo.yaw, photo.pitch, photo.roll)
    body_turn = rotation(photo.yaw * 0.35, photo.pitch * 0.12, photo.roll * 0.15)
    az, el = np.radians(photo.light_azimuth), np.radians(photo.light_elevation)
    to_light = np.array([np.sin(az) * np.cos(el), np.sin(el), np.cos(az) * np.cos(el)], F)
    numbers = expression_numbers(head, photo, turn.T @ to_light)
    surface, normal = np.empty_like(head.rest), np.empty_like(head.rest)
    kernels.express(head.rest, head.face, head.front, head.cheek, surface, numbers)
    kernels.grid_normals(surface, normal, 1.0)
    props = dress(head, photo, surface, wardrobe)
    mesh = join([head.mesh, *props]) if props else head.mesh
    count = surface.shape[0] * surface.shape[1]
    position, normals = mesh.position.copy(), mesh.normal.copy()
    position[:count], normals[:count] = surface.reshape(-1, 3), normal.reshape(-1, 3)
    if photo.hat > 0:
        _flatten_hair(head, mesh, position, hat_line(photo.hat))
    shift_x, shift_y = _framing(photo)
    focal = n * SCALE * photo.zoom * (1 + 0.45 * photo.crop)
    centre_x, centre_y = (0.5 + shift_x) * n, (0.485 + shift_y) * n
    view = np.empty((len(position), 9), F)
    screen = np.empty((len(position), 2), F)
    kernels.pose(
        position, normals, mesh.tangent, mesh.material, *head.body_range, turn, body_turn,
        centre_x, centre_y, focal, CAMERA, view, screen,
    )  # fmt: skip
    axes = _light_axes(to_light)
    shadow = kernels.shadow_map(view, axes, SHADOW_HALF, SHADOW_CELLS)
    depth = np.full((n, n), -9.0, F)
    which = np.full((n, n), -1, np.int32)
    kind = np.full((n, n), 255, np.uint8)
    bary = np.empty((n, n, 2), F)
    kernels.rasterise(screen, view, mesh.triangles, mesh.two_sided, mesh.material, depth, which, kind, bary)
    light = _light_numbers(photo, to_light, wardrobe)
    rgb, face = np.empty((n, n, 3), F), np.zeros((n, n), F)
    kernels.shade(
        which, kind, bary, depth, mesh.triangles, view, mesh.look, numbers, light, axes, SHADOW_HALF, shadow, rgb, face,
    )  # fmt: skip
    picture, mask = np.empty((size, size, 3), F), np.empty((size, size), F)
    kernels.resolve(
        which,
        rgb,
        face,
        draw_backdrop(rng),
        0.25 + 0.65 * photo.key,
        SAMPLES,
        camera_gain(photo),
        tone_curve(),
        picture,
        mask,
    )
    points3 = face_points(head, photo, surface, numbers) @ turn.T
    scale = focal / (1 - points3[:, 2] / CAMERA)
    flat = np.stack([centre_x + points3[:, 0] * scale, centre_y - points3[:, 1] * scale], 1)
    visible = _seen(flat, points3[:, 2], depth)
    points = np.asarray(flat / SAMPLES, F)
    return Rendered(
        picture=develop(picture, photo),
        landmarks=np.asarray(five_points(points), F),
        points=points,
        visible=visible,
        mask=(np.clip(mask, 0, 1) * 255 + 0.5).astype(np.uint8),
        photo=photo,
    )


def _flatten_hair(head: Head, mesh: Mesh, position: Floats, line: float) -> None:
    """Tuck the hair above the hat's edge under the hat."""
    a, b = head.hair_range
    low = line - 0.16 * (1 - mesh.anchor[a:b, 2:3].clip(-1, 1)) / 2
    tucked = ramp(-0.10, 0.03, mesh.anchor[a:b, 1:2] - low).astype(F)
    position[a:b] += (mesh.anchor[a:b] - position[a:b]) * tucked


def _framing(photo: Photo) -> tuple[float, float]:
    """Shift of the frame's centre; a crop pushes the face over one edge, chosen by the seed."""
    x = photo.shift_x + 0.42 * photo.crop * (1 if photo.seed % 2 else -1)
    y = photo.shift_y + 0.30 * photo.crop * (photo.seed % 3 - 1)
    return x, y


def _light_axes(to_light: Floats) -> Floats:
    x, y, z = to_light.tolist()
    level = (x * x + z * z) ** 0.5 + 1e-9
    right = (z / level, 0.0, -x / level)
    up = (y * right[2], z * right[0] - x * right[2], -y * right[0])
    return np.array([right, up, (x, y, z)], F)


def _light_numbers(photo: Photo, to_light: Floats, rng: np.random.Generator) -> Floats:
    """The numbers `kernels.shade` reads, in its order."""
    fill = np.array([-np.sign(to_light[0] + 1e-6) * 0.75, 0.1, 0.65])
    cloth = linear(_CLOTHS[rng.integers(len(_CLOTHS))])
    return np.concatenate(
        [
            to_light,
            fill / np.linalg.norm(fill),
            [1 + 0.09 * photo.warmth, 1.0, 1 - 0.12 * photo.warmth],
            [photo.key * 0.98, photo.ambient * 0.92, 0.16 * photo.key + 0.06],
            [0.98, 1.0, 1.04],
            [0.66, 0.56, 0.50],
            cloth,
        ]
    ).astype(F)


def _seen(points: Array, z: Array, depth: Floats) -> NDArray[np.bool_]:
    """Whether each point lies in the frame and nothing stands more than a little before it."""
    n = depth.shape[0]
    inside = (points >= 0).all(1) & (points < n).all(1)
    i, j = np.clip(points.astype(int), 0, n - 1).T
    return np.asarray(inside & (z > depth[j, i] - 0.09))
