"""The 3-D head of a made-up person: skull, face relief, skin, ears, and everything that moves with it.

The face is a closed grid of elevation rows and azimuth columns, dense in front. A skull profile gives the base; the
face is a sum of smooth hills over frontal coordinates (x, y). Eyes, brows and lips are painted by the shader at full
sharpness, because they move with each expression; skin tone, freckles, marks, folds and the beard's density are stored
per vertex.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from facelens.images.synthetic.body import build_body
from facelens.images.synthetic.hair import build_hair, hairline
from facelens.images.synthetic.identity import HAIR_COLOURS, Identity
from facelens.images.synthetic.mesh import (
    SKIN,
    SKIN_FACE,
    Array,
    F,
    Floats,
    Mesh,
    bump,
    grid_triangles,
    join,
    linear,
    mix,
    pack,
    ramp,
    sheet,
)
from facelens.images.synthetic.skull import Skull

_SKIN_TONES = linear([[246, 209, 187], [238, 193, 162], [222, 170, 133], [184, 128, 92], [136, 88, 62], [92, 60, 46]])


@dataclass(frozen=True, slots=True)
class Head:
    """The cached geometry of one person at one picture size; ``mesh`` starts with the face grid's R * C vertices."""

    identity: Identity
    size: int
    skull: Skull
    mesh: Mesh
    rest: Floats  # (R, C, 3) face grid without expression
    face: Floats  # (R, C, 2) frontal coordinates
    front: Floats  # (R, C) 1 on the face, 0 behind
    cheek: Floats  # (R, C) where a smile lifts
    row_y: Array  # (R,) frontal y of each row
    row_width: Array  # (R,) half width of the skull
    azimuth: Array  # (C,)
    skin: Floats  # (3,) linear light
    hair_colour: Floats  # (3,)
    hair_range: tuple[int, int]  # vertices a hat covers
    body_range: tuple[int, int]  # vertices that turn only partly with the head


def build_head(identity: Identity, *, size: int = 112) -> Head:
    """The head of ``identity`` for pictures of ``size`` px; build it once per person and draw many pictures with it."""
    detail = float(np.clip(size / 112, 0.7, 4.0)) ** 0.65
    rng = np.random.default_rng([104729, identity.seed])
    skull = Skull(identity)
    elevation = _spaced(-90, 90, int(98 * detail), dense=(-76, 28), factor=4.5)
    azimuth = _spaced(-180, 180, int(106 * detail), dense=(-66, 66), factor=4.5)
    x, y, z, width = skull.grid(elevation, azimuth)
    c = np.cos(azimuth)[None].astype(F)
    front = ramp(0.05, 0.35, c) + 0 * x
    relief, fold = _relief(identity, x, y)
    albedo = _skin_colour(identity)
    skin = albedo.copy()
    colour = _paint_skin(identity, x, y, front, fold, skin, rng, azimuth, width)
    if identity.scar is not None:
        sx, sy, a = identity.scar
        u, v = (x - sx) * np.cos(a) + (y - sy) * np.sin(a), -(x - sx) * np.sin(a) + (y - sy) * np.cos(a)
        mark = np.exp(-((v / 0.010) ** 2)) * ramp(0.12, 0.07, np.abs(u)) * front
        colour = mix(colour, skin * np.array([1.12, 0.92, 0.92]) + 0.03, 0.6 * mark[..., None])
        relief = relief - 0.008 * mark
    beard, beard_lift = _beard(identity, x, y, c)
    relief = relief + beard_lift
    hair_colour = linear(HAIR_COLOURS[identity.hair])
    # the scalp shows through at the hairline: a soft tint instead of an edge
    line = hairline(identity, np.degrees(azimuth))[None]
    cover = ramp(-0.035, 0.09, y - line)
    strength = {"bald": 0.0, "buzz": 0.62, "recede": 0.75}.get(identity.style, 0.88)
    grain = 1 + (0.16 if identity.style == "buzz" else 0.05) * rng.normal(size=x.shape)
    colour = mix(colour, np.maximum(hair_colour, 0.004) * grain[..., None], (strength * cover)[..., None])
    rest = np.stack([x, np.broadcast_to(y, x.shape), z + relief * front], -1).astype(F)
    openness = _cavities(rest, front, detail)
    if identity.style not in ("bald", "buzz"):
        openness *= 1 - 0.30 * ramp(-0.11, 0.0, y - line)
    openness *= mix(1, 0.55, ramp(-0.86, -1.0, y) * ramp(0.55, 0.2, z))
    face_weight = (1 - cover) * ramp(-0.15, 0.2, c) + 0 * x
    gloss = 0.22 * front * (1 - 0.6 * cover) + 0.10
    gloss = (
        gloss
        * (1 - 0.2 * bump(x, y, 0, -0.1, 0.09, 0.2) + 0.25 * bump(x, y, 0, 0.4, 0.35, 0.2))
        * (1 - 0.35 * ramp(0.4, 0.9, identity.age))
    )
    rows, cols = x.shape
    face = np.stack([x, np.broadcast_to(y, x.shape)], -1)
    # towards the ears x stands still; texture needs a coordinate that goes on
    beyond = np.sign(azimuth) * np.clip(np.abs(azimuth) - np.radians(62), 0, None)
    spread = face + np.stack([width[:, None] * (0.45 * beyond)[None], np.zeros_like(x)], -1).astype(F)
    from facelens.images.synthetic.kernels import grid_normals

    normal = np.empty_like(rest)
    grid_normals(rest, normal, 1.0)
    count = rows * cols
    triangles = grid_triangles(rows, cols)
    if identity.style not in ("bald", "buzz"):
        # scalp well inside the hair is never seen
        buried = ((y - line) > 0.16).ravel()
        triangles = triangles[~buried[triangles].all(1)]
    grid = Mesh(
        position=rest.reshape(count, 3),
        normal=normal.reshape(count, 3),
        tangent=np.zeros((count, 3), F),
        look=pack((rows, cols), colour, spread, traits=(gloss, openness, face_weight, beard)),
        material=np.full(count, SKIN_FACE, np.uint8),
        anchor=rest.reshape(count, 3),
        triangles=triangles,
        two_sided=np.zeros(len(triangles), np.uint8),
    )
    ears = _ears(identity, skin, detail)
    hair = build_hair(identity, skull, hair_colour, detail=detail)
    body = build_body(identity, skin, detail=detail)
    hair_start = count + sum(len(e.position) for e in ears)
    hair_end = hair_start + sum(len(h.position) for h in hair)
    lift = sum(bump(x, y, s * 0.35, -0.27, 0.15, 0.13) for s in (-1, 1))
    return Head(
        identity=identity,
        size=size,
        skull=skull,
        mesh=join([grid, *ears, *hair, body]),
        rest=rest,
        face=face,
        front=front.astype(F),
        cheek=np.asarray(lift, F),
        row_y=y[:, 0],
        row_width=width,
        azimuth=azimuth,
        skin=skin,
        hair_colour=hair_colour,
        hair_range=(hair_start, hair_end),
        body_range=(hair_end, hair_end + len(body.position)),
    )


def _spaced(low: float, high: float, count: int, *, dense: tuple[float, float], factor: float) -> Array:
    """``count`` angles in radians from low to high degrees, ``factor`` times denser inside ``dense``."""
    fine = np.linspace(low, high, 2000)
    weight = np.cumsum(
        1 + (factor - 1) * ramp(dense[0] - 12, dense[0] + 4, fine) * ramp(dense[1] + 12, dense[1] - 4, fine)
    )
    weight = (weight - weight[0]) / (weight[-1] - weight[0])
    return np.radians(np.interp(np.linspace(0, 1, count), weight, fine))


def _skin_colour(identity: Identity) -> Floats:
    at = identity.melanin * 5
    tone = np.array([np.interp(at, np.arange(6), _SKIN_TONES[:, i]) for i in range(3)])
    return np.asarray(tone * np.array([1 + 0.03 * identity.undertone, 1.0, 1 - 0.09 * identity.undertone]), F)


def _relief(identity: Identity, x: Array, y: Array) -> tuple[Array, Array]:
    """Height of the face over the skull, and the depth of its folds."""
    p, age = identity.shape, identity.age
    both = (-1, 1)
    d = p["cheek"] * sum(bump(x, y, s * 0.38, p["cheek_y"], 0.20, 0.15) for s in both)
    d = d - 0.045 * sum(bump(x, y, s * 0.43, -0.52, 0.16, 0.2) for s in both) * (1.1 - 6 * p["cheek"])
    d = d + p["muzzle"] * bump(x, y, 0, -p["mouth_y"], 0.25, 0.17)
    d = d + p["chin_z"] * bump(x, y, 0, -p["chin_len"] + 0.12, p["chin_w"], 0.11)
    d = d - 0.03 * bump(x, y, 0, -p["mouth_y"] - 0.15, 0.16, 0.05)
    d = d - sum(p["eye_z"] * bump(x, y, s * p["eye_d"], p["eye_y"] + 0.01, 0.20, 0.115) for s in both)
    d = d - 0.5 * sum(p["eye_z"] * bump(x, y, s * p["eye_d"] * 0.52, p["eye_y"] + 0.05, 0.07, 0.10) for s in both)
    d = d + p["brow_ridge"] * sum(bump(x, y, s * 0.24, p["brow_y"] - 0.02, 0.2, 0.07) for s in both)
    d = d + _nose(identity, x - p["asym_nose"] * ramp(0.1, -0.3, y), y)
    fold = np.zeros_like(x)
    ny = -p["nose_len"] + 0.02
    t = np.clip((ny - y) / 0.28, 0, 1)
    for s in both:
        at = s * (p["nose_w"] + 0.055 + 0.12 * t**0.8)
        fold += (
            np.exp(-(((x - at) / 0.026) ** 2))
            * ramp(ny + 0.02, ny - 0.08, y)
            * ramp(ny - 0.34, ny - 0.16, y)
            * (0.05 + 0.75 * age)
        )
        for j in both:
            u, v = s * x - p["eye_d"] - p["eye_w"] - 0.03, y - p["eye_y"] - 0.025 * j
            fold += (
                np.exp(-(((v - j * 0.45 * u) / 0.010) ** 2))
                * ramp(0, 0.03, u)
                * ramp(0.11, 0.05, u)
                * max(0.0, age - 0.45)
                * 1.1
            )
    for j in range(3):
        at = 0.33 + 0.075 * j + 0.02 * np.cos(x * 6 + j)
        fold += np.exp(-(((y - at) / 0.012) ** 2)) * ramp(0.40, 0.15, np.abs(x)) * max(0.0, age - 0.45) * 0.9
    return d - 0.012 * fold, fold


def _nose(identity: Identity, x: Array, y: Array) -> Array:
    """Bridge with sloping sides, a round tip, two wings and the groove above the lip."""
    p = identity.shape
    length, wide = p["nose_len"], p["nose_w"]
    t = np.clip((0.14 - y) / (length + 0.12), 0, 1.0)
    bridge = p["nose_b"] * 0.62 * ramp(-0.45, 0.55, t) + p["nose_tip"] * 0.80 * t**1.5
    bridge = bridge + p["nose_hump"] * np.exp(-(((t - 0.45) / 0.2) ** 2))
    width = 0.072 + 0.030 * t * t * (wide / 0.124)
    sides = 0.55 * np.exp(-((x / (width * 1.15)) ** 2)) + 0.45 * np.exp(-((x / (width * 2.2)) ** 2))
    d = bridge * sides * ramp(-length - 0.075, -length + 0.055, y) * ramp(0.36, 0.02, y)
    d = d + (0.055 + 0.2 * (p["nose_tip"] - 0.100)) * bump(x, y, 0, -length + 0.035, p["nose_ball"], 0.072)
    for s in (-1, 1):
        d = d + 0.070 * bump(x, y, s * wide * 0.86, -length + 0.014, 0.046 + 0.15 * (wide - 0.124), 0.050)
        d = d - 0.020 * bump(x, y, s * (wide + 0.055), -length + 0.035, 0.026, 0.060)
    return d - 0.014 * bump(x, y, 0, -length - 0.125, 0.026, 0.05)


def _paint_skin(
    identity: Identity,
    x: Array,
    y: Array,
    front: Array,
    fold: Array,
    skin: Floats,
    rng: np.random.Generator,
    azimuth: Array,
    width: Array,
) -> Array:
    p, age = identity.shape, identity.age
    rows, cols = x.shape
    colour = np.broadcast_to(skin, (rows, cols, 3)).astype(F)
    patches = rng.normal(size=(12, 18))
    ri, ci = np.linspace(0, 10.99, rows), np.linspace(0, 16.99, cols)
    i, j = ri.astype(int)[:, None], ci.astype(int)[None]
    fi, fj = (ri % 1)[:, None], (ci % 1)[None]
    low = (patches[i, j] * (1 - fj) + patches[i, j + 1] * fj) * (1 - fi) + (
        patches[i + 1, j] * (1 - fj) + patches[i + 1, j + 1] * fj
    ) * fi
    colour = colour * (1 + 0.018 * low)[..., None]
    red = 0.60 * sum(bump(x, y, s * 0.38, -0.25, 0.17, 0.14) for s in (-1, 1)) + 0.55 * bump(
        x, y, 0, -p["nose_len"] + 0.04, 0.11, 0.09
    )
    red = (red + 0.22 * bump(x, y, 0, -p["chin_len"] + 0.1, 0.2, 0.1)) * identity.flush * front
    colour = colour * (1 + red[..., None] * np.array([0.02, -0.19, -0.17]))
    socket = sum(bump(x, y, s * p["eye_d"], p["eye_y"] - 0.005, 0.17, 0.105) for s in (-1, 1)) * front
    colour = colour * (1 - np.array([0.10, 0.17, 0.13]) * (socket * (0.55 + 0.6 * age))[..., None])
    # a lighter centre of the face and a slightly deeper outline give it form even in flat light
    colour = colour * (1 + 0.05 * bump(x, y, 0, 0.05, 0.4, 0.5) * front)[..., None]
    colour = colour * (1 - np.array([0.22, 0.27, 0.27]) * (np.clip(fold, 0, 1) * front)[..., None])
    dots = np.zeros((rows, cols), F)
    if identity.freckles > 0.05:
        n = int(170 * min(identity.freckles, 1.2))
        spots = zip(
            rng.normal(0, 0.30, n), rng.normal(-0.18, 0.11, n), rng.uniform(0.008, 0.015, n), rng.uniform(0.3, 0.9, n)
        )
        for fx, fy, fr, fs in spots:
            _dab(dots, x, y, fx, fy, fr, fs, azimuth, width)
        colour = colour * (1 - np.array([0.20, 0.36, 0.44]) * np.minimum(dots, 1)[..., None])
    marks = np.zeros((rows, cols), F)
    for mx, my, mr in identity.moles:
        _dab(marks, x, y, mx, my, mr, 1.0, azimuth, width)
    return np.asarray(colour * (1 - np.array([0.62, 0.74, 0.74]) * marks[..., None]))


def _dab(
    target: Floats, x: Array, y: Array, cx: float, cy: float, radius: float, value: float, azimuth: Array, width: Array
) -> None:
    """Paint a soft dot at frontal coordinates, touching only a few cells."""
    i = int(np.clip(np.searchsorted(y[:, 0], cy), 1, len(width) - 2))
    if abs(cx) > 0.85 * width[i]:
        return
    j = int(np.searchsorted(azimuth, np.arcsin(cx / width[i])))
    a, b = slice(max(i - 5, 0), i + 6), slice(max(j - 5, 0), j + 6)
    dot = value * ramp(1.4, 0.5, np.hypot(x[a, b] - cx, y[a] - cy) / radius)
    target[a, b] = np.maximum(target[a, b], dot)


def _beard(identity: Identity, x: Array, y: Array, c: Array) -> tuple[Array, Array]:
    """Density of the beard 0..1 and how far it stands off the skin."""
    p, kind = identity.shape, identity.beard
    if kind == "none":
        return np.zeros_like(x), np.zeros_like(x)
    ax, mouth, mw = np.abs(x), -p["mouth_y"], p["mouth_w"]
    lip_top = mouth + p["lip_u"] + 0.012
    nose = -p["nose_len"] - 0.045
    droop = 0.16 * np.clip(ax - 0.06, 0, None)
    tash = (
        ramp(lip_top - 0.02, lip_top + 0.03, y + droop)
        * ramp(nose + 0.03, nose - 0.05, y + 0.25 * ax)
        * ramp(mw + 0.10, mw - 0.06, ax)
    )
    under_lip = mouth - p["lip_l"] * np.sqrt(np.clip(1 - (ax / mw) ** 2, 0, 1)) - 0.012
    chin = ramp(under_lip + 0.01, under_lip - 0.06, y) * ramp(mw + 0.09, mw - 0.08, ax)
    round_mouth = ramp(mw - 0.08, mw + 0.0, ax) * ramp(mw + 0.15, mw + 0.03, ax) * ramp(nose - 0.04, nose - 0.15, y)
    # cheek line: a curve from the moustache up to the ear
    cheek_line = -0.50 + 0.42 * np.clip((ax - 0.28) / 0.40, 0, 1) ** 1.6 - (0.06 if kind == "short" else 0)
    jaw = ramp(mw - 0.02, mw + 0.08, ax) * ramp(cheek_line + 0.05, cheek_line - 0.09, y) * ramp(0.03, -0.08, y)
    below = ramp(under_lip + 0.01, under_lip - 0.06, y) * ramp(mw + 0.30, mw + 0.12, ax)
    full = np.maximum.reduce([tash, below, jaw, round_mouth])
    shape = {
        "stubble": full,
        "moustache": tash,
        "goatee": np.maximum.reduce([tash * 0.9, chin, round_mouth * 0.95]),
        "short": full * 0.86,
        "full": full,
    }[kind]
    shape = shape * ramp(-0.25, 0.0, c)
    depth = {"stubble": 0.0, "moustache": 0.028, "goatee": 0.028, "short": 0.016, "full": 0.055}[kind]
    lower = 1 + (1.2 if kind == "full" else 0.3) * bump(x, y, 0, -p["chin_len"] + 0.08, 0.3, 0.2)
    return shape, depth * ramp(0.2, 1.0, shape) * lower


def _cavities(rest: Floats, front: Array, detail: float) -> Array:
    """How open each point is to light from all around: dips are darker, ridges lighter."""
    from scipy.ndimage import uniform_filter

    size = round(15 * detail) | 1

    def dip(height: Floats) -> Array:
        smooth = uniform_filter(uniform_filter(height, size, mode="nearest"), size, mode="nearest")
        return np.asarray(height - smooth)

    # depth tells on the face, distance from the centre behind it; mixing the two heights first would leave a seam
    d = mix(F(0.4) * dip(np.linalg.norm(rest, axis=-1).astype(F)), dip(np.ascontiguousarray(rest[..., 2])), front)
    return np.asarray(np.clip(1 + 4.2 * np.minimum(d, 0) + 0.9 * np.maximum(d, 0), 0.5, 1.1))


def _ears(identity: Identity, skin: Floats, detail: float) -> list[Mesh]:
    """Two cups with a rolled rim; none where long hair hides them."""
    if identity.style in ("bob", "long", "wavy", "afro"):
        return []
    p = identity.shape
    a, q = np.meshgrid(np.linspace(0, 2 * np.pi, int(30 * detail)), np.linspace(0.02, 1.08, int(13 * detail)))
    out = []
    for s in (-1, 1):
        o = np.radians(p["ear_out"])
        up = np.array([0, 1, -0.22])
        back = np.array([s * np.sin(o), 0, -np.cos(o)])
        outward = np.array([s * np.cos(o), 0, np.sin(o)])
        lobe = 1 - 0.22 * ramp(0.2, -1.0, np.cos(a))
        ey = q * np.cos(a) * p["ear"]
        ex = q * np.sin(a) * p["ear"] * 0.60 * lobe * (1 + 0.10 * np.cos(a))
        rim = 0.042 * np.exp(-(((q - 0.90) / 0.11) ** 2)) - 0.03 * ramp(0.97, 1.08, q)
        ridge = 0.022 * np.exp(-(((q - 0.58) / 0.10) ** 2)) * ramp(-0.6, 0.3, np.sin(a))
        h = rim + ridge - 0.035 * np.exp(-((q / 0.40) ** 2))
        centre = np.array([s * (p["head_w"] * 0.975), -0.10, -0.06]) + back * 0.055
        points = centre + up * ey[..., None] + back * ex[..., None] + outward * h[..., None]
        colour = skin * np.array([1.0, 0.86, 0.83]) * (1 - 0.30 * np.exp(-((q / 0.42) ** 2)))[..., None]
        openness = 1 - 0.45 * np.exp(-((q / 0.45) ** 2)) - 0.15 * np.exp(-(((q - 0.76) / 0.07) ** 2))
        out.append(sheet(points, colour, material=SKIN, outward=outward, gloss=0.2, openness=openness, two_sided=True))
    return out
