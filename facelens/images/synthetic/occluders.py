"""Glasses, sunglasses, mask, scarf, hand and hat: surfaces in head axes that stand before the face.

A strength says how much is covered: thicker frames, larger lenses, a higher mask or scarf, a hand nearer the eyes, a
deeper hat.
"""

from __future__ import annotations

import numpy as np

from facelens.images.synthetic.head import Head
from facelens.images.synthetic.mesh import (
    CLOTH,
    GLOSS,
    LENS,
    PLAIN,
    SKIN,
    Array,
    F,
    Floats,
    Mesh,
    linear,
    mix,
    ramp,
    sheet,
    tube,
)
from facelens.images.synthetic.photo import Photo

_FRAMES = ((26, 26, 28), (74, 48, 30), (116, 30, 38), (44, 60, 88), (168, 146, 104), (60, 62, 66))
_MASKS = ((150, 192, 216), (232, 234, 236), (52, 56, 62), (190, 210, 196))
_WOOLS = (
    (164, 60, 56),
    (52, 78, 118),
    (206, 178, 128),
    (84, 112, 92),
    (120, 82, 116),
    (66, 70, 78),
    (196, 120, 72),
    (222, 214, 200),
)


def hat_line(strength: float) -> float:
    """Height of the hat's edge in front."""
    return float(mix(0.58, 0.26, strength))


def dress(head: Head, photo: Photo, surface: Floats, rng: np.random.Generator) -> list[Mesh]:
    """Everything this picture puts on or before the face, for the moved face grid ``surface`` (R, C, 3)."""
    out: list[Mesh] = []
    if photo.glasses > 0:
        out += _glasses(head, surface, photo.glasses, rng, dark=False)
    if photo.sunglasses > 0:
        out += _glasses(head, surface, photo.sunglasses, rng, dark=True)
    if photo.mask > 0:
        out += _mask(head, surface, photo.mask, rng)
    if photo.scarf > 0:
        out += _scarf(head, photo.scarf, rng)
    if photo.hat > 0:
        out += _hat(head, photo.hat, rng)
    if photo.hand > 0:
        out += _hand(head, photo.hand, rng)
    return out


def _glasses(head: Head, surface: Floats, s: float, rng: np.random.Generator, *, dark: bool) -> list[Mesh]:
    p = head.identity.shape
    colour = linear(_FRAMES[rng.integers(len(_FRAMES))])
    power = float(rng.choice([2.0, 2.6, 3.6]))
    grow = 0.02 * (s - 0.5)
    w, h = (
        rng.uniform(0.185, 0.205) + grow,
        (rng.uniform(0.145, 0.17) if power < 2.3 else rng.uniform(0.115, 0.15)) + grow,
    )
    if dark:
        w, h = w + 0.012 + 0.02 * s, h + 0.01 + 0.025 * s
    cy = p["eye_y"] - 0.02
    x, y = head.face[..., 0], head.face[..., 1]
    zone = (np.abs(y - cy) < h) & (np.abs(x) > 0.10) & (np.abs(x) < p["eye_d"] + w) & (head.front > 0.3)
    curve = 0.30
    z0 = float((surface[..., 2] + curve * x * x)[zone].max()) + 0.025

    def bend(at: Array) -> Array:
        return np.asarray(z0 - curve * at**2)

    a = np.linspace(0, 2 * np.pi, 61)

    def power_of(v: Array) -> Array:
        return np.asarray(np.sign(v) * np.abs(v) ** (2 / power))

    out: list[Mesh] = []
    thick = 0.011 + 0.010 * s
    cx = max(p["eye_d"] + 0.005, w + 0.05)
    for q in (-1, 1):
        rx, ry = q * cx + w * power_of(np.cos(a)), cy + h * power_of(np.sin(a)) * (1 + 0.06 * np.cos(a) * q)
        out.append(tube(np.stack([rx, ry, bend(rx)], 1), thick, colour, material=GLOSS, gloss=0.5))
        t = np.linspace(0, 1, 20)
        hinge = q * (cx + w)
        temple = np.stack(
            [
                mix(hinge, q * (p["head_w"] + 0.03), np.minimum(t * 2.5, 1) ** 0.7),
                cy + 0.06 - 0.02 * t,
                mix(bend(np.array(hinge)), -0.12, t),
            ],
            1,
        )
        out.append(tube(temple, thick * 0.95, colour, material=GLOSS, gloss=0.4))
        if dark:
            uu, vv = np.meshgrid(np.linspace(0.0, 1, 9), np.linspace(0, 2 * np.pi, 41))
            lx, ly = (
                q * cx + w * uu * power_of(np.cos(vv)),
                cy + h * uu * power_of(np.sin(vv)) * (1 + 0.06 * np.cos(vv) * q),
            )
            points = np.stack([lx, ly, bend(lx) + 0.03 * (1 - uu**2)], -1)
            tint = linear((34, 32, 36)) * (1 + 1.6 * ramp(0.6, -1.0, (ly - cy) / h))[..., None]
            out.append(sheet(points, tint, material=LENS, outward=(0, 0, 1.0), gloss=0.9, two_sided=True))
    t = np.linspace(-1, 1, 14)
    bx = t * (cx - w + 0.01)
    out.append(
        tube(
            np.stack([bx, cy + 0.035 + 0.022 * (1 - t * t), bend(bx) + 0.012], 1),
            thick * 1.05,
            colour,
            material=GLOSS,
            gloss=0.5,
        )
    )
    return out


def _mask(head: Head, surface: Floats, s: float, rng: np.random.Generator) -> list[Mesh]:
    """A surgical mask: a sheet stretched from the nose to under the chin, with ear loops."""
    p = head.identity.shape
    colour = linear(_MASKS[rng.integers(len(_MASKS))])
    u, v = np.meshgrid(np.linspace(-1, 1, 45), np.linspace(0, 1, 30))
    top = mix(-0.34, -0.10, s) - 0.16 * np.abs(u) ** 1.8
    bottom = -p["chin_len"] - 0.02 + 0.34 * np.abs(u) ** 2.2
    y = mix(top, bottom, v)
    turn = u * np.radians(66)
    half = np.interp(y, head.row_y, head.row_width)
    half = np.maximum(half, 0.50 * (1 - 0.4 * ramp(-0.75, -1.1, y)))
    x = half * np.sin(turn) * 1.03
    ridge = np.exp(-((x / 0.19) ** 2))
    z = 0.79 * np.cos(turn) ** 0.92 * (1 - 0.10 * ramp(-0.75, -1.1, y)) + 0.07
    face_z = _face_depth(head, surface, x, y)
    peak = 0.16 * ridge * ramp(-1.15, -0.55, y) * mix(0.75, 1, ramp(-0.2, -0.45, y))
    z = np.maximum(z + peak, face_z + 0.035)
    for _ in range(3):  # cloth is stretched: no dents
        z[1:-1, 1:-1] = np.maximum(
            0.25 * (z[:-2, 1:-1] + z[2:, 1:-1] + z[1:-1, :-2] + z[1:-1, 2:]), face_z[1:-1, 1:-1] + 0.03
        )
    pleat = np.sin(v * np.pi * 8) * ramp(0.15, 0.3, v) * ramp(0.85, 0.7, v)
    z = z + 0.010 * pleat
    edge = 1 - 0.10 * (ramp(0.05, 0.03, v) + ramp(0.95, 0.97, v) + ramp(0.94, 0.97, np.abs(u)))
    tint = colour * (edge * (1 + 0.05 * pleat))[..., None]
    out = [sheet(np.stack([x, y, z], -1), tint, material=PLAIN, outward=(0, 0, 1.0), gloss=0.0, two_sided=True)]
    ear = p["head_w"] * 0.99
    t = np.linspace(0, 1, 16)
    for q in (-1, 1):
        col = -1 if q > 0 else 0
        for row, ey in ((1, 0.02), (-2, -0.26)):
            start = np.array([x[row, col], y[row, col], z[row, col]])
            path = np.stack(
                [mix(start[0], q * (ear + 0.015), np.sqrt(t)), mix(start[1], ey, t), mix(start[2], -0.06, t)], 1
            )
            out.append(tube(path, 0.011, linear((236, 236, 236)), around=6, gloss=0.0))
    return out


def _face_depth(head: Head, surface: Floats, x: Array, y: Array) -> Array:
    """z of the face surface under frontal coordinates."""
    half = np.interp(y, head.row_y, head.row_width)
    turn = np.arcsin(np.clip(x / np.maximum(half, 0.05), -0.99, 0.99))
    i = np.clip(np.interp(y, head.row_y, np.arange(len(head.row_y))).round().astype(int), 0, surface.shape[0] - 1)
    j = np.clip(
        np.interp(turn, head.azimuth, np.arange(len(head.azimuth))).round().astype(int), 0, surface.shape[1] - 1
    )
    return np.asarray(surface[i, j, 2], float)


def _scarf(head: Head, s: float, rng: np.random.Generator) -> list[Mesh]:
    """Thick loops of wool round the neck, pulled up over the chin as the strength grows."""
    c1, c2 = (linear(_WOOLS[i]) for i in rng.choice(len(_WOOLS), 2, replace=False))
    out = []
    bottom, top = -1.24, float(mix(-0.95, -0.42, s))
    loops = 1 + int(np.ceil((top - bottom) / 0.28))
    for k in range(loops):
        t, f = np.meshgrid(np.linspace(-np.pi, np.pi, 72), np.linspace(-np.pi, np.pi, 16))
        height = k / (loops - 1)
        front = (1 + np.cos(t)) / 2
        level = mix(bottom, top, height) - 0.06 - 0.34 * height * s * (1 - front)
        tilt = 0.06 * (-1) ** k * np.sin(t) + 0.03 * np.sin(2 * t + k)
        rad = 0.155 + 0.02 * np.sin(3 * t + 2 * k) + 0.008 * np.sin(t * 17 + f * 2)
        ring = 0.70 - 0.04 * height
        deep = ring + 0.10 + 0.12 * height * s * front
        points = np.stack(
            [
                (ring + rad * np.cos(f) * 0.8) * np.sin(t),
                level + tilt + rad * 1.15 * np.sin(f),
                (deep + rad * np.cos(f) * 0.8) * np.cos(t) - 0.03,
            ],
            -1,
        )
        outward = np.stack([np.cos(f) * np.sin(t), np.sin(f), np.cos(f) * np.cos(t)], -1)
        stripe = ramp(0.55, 0.7, np.sin(t * 7 + k * 2 + 0.35 * f))
        knit = 1 + 0.07 * np.sin(f * 26 + np.sin(t * 70) * 1.2)
        tint = mix(c1, c2, stripe[..., None]) * knit[..., None]
        crease = 0.55 + 0.45 * ramp(-0.6, 0.5, np.cos(f) + 0.3 * np.sin(f))
        out.append(sheet(points, tint, material=PLAIN, outward=outward, gloss=0.0, openness=crease))
    return out


def _hat(head: Head, s: float, rng: np.random.Generator) -> list[Mesh]:
    """A knitted hat with a turned-up edge, or a cap with a peak."""
    skull = head.skull
    cap = rng.random() < 0.5
    colour = linear(_WOOLS[rng.integers(len(_WOOLS))])
    edge = hat_line(s)
    az, q = np.meshgrid(np.linspace(-np.pi, np.pi, 110), np.linspace(0, 1, 36))
    low = edge - 0.16 * (1 - np.cos(az)) / 2 - (0.04 if cap else 0.0)
    start = np.where(low > 0, np.arcsin(np.clip(low / skull.crown, -1, 1)), low)
    angle = mix(start, np.radians(89.5), q)
    out: list[Mesh] = []
    if cap:
        lift = 0.055 + 0.10 * np.sin(np.pi * np.minimum(q * 0.75 + 0.12, 1)) - 0.02 * q
        seam = np.exp(-((((az * 3 / np.pi) % 1 - 0.5) / 0.02) ** 2)) * ramp(0, 0.1, q)
        tint = colour * (1 - 0.16 * seam)[..., None]
    else:
        rib = np.sin(az * 34)
        cuff = ramp(0.30, 0.27, q)
        lift = 0.075 + 0.05 * cuff + 0.12 * ramp(0.3, 1.0, q) + 0.008 * rib
        tint = colour * (1 + 0.10 * rib - 0.10 * np.exp(-(((q - 0.29) / 0.015) ** 2)))[..., None]
    points, outward = skull.over(az, angle, lift)
    openness = 0.65 + 0.35 * ramp(0, 0.12, q)
    out.append(sheet(points, tint, material=PLAIN, outward=outward, gloss=0.0, openness=openness, two_sided=True))
    if cap:
        t, q = np.meshgrid(np.linspace(-1.12, 1.12, 48), np.linspace(0, 1, 16))
        base, _ = skull.over(t, np.arcsin(np.clip((edge + 0.04 + 0 * t) / skull.crown, -1, 1)), 0.03)
        reach = 0.46 * np.cos(t * 1.35).clip(0) ** 0.6
        points = base + np.stack(
            [0.10 * q * np.sin(t), -0.14 * q * q - 0.02 * q - 0.08 * q * np.sin(t) ** 2, reach * q], -1
        )
        out.append(sheet(points, colour * 0.92, material=PLAIN, outward=(0, 1.0, 0.3), gloss=0.02, two_sided=True))
    return out


def _hand(head: Head, s: float, rng: np.random.Generator) -> list[Mesh]:
    """The person's own hand at the face, with bent fingers, a wrist and a sleeve that leaves the frame."""
    skin = head.skin * np.array([1.0, 0.93, 0.90], F)
    q = float(rng.choice([-1, 1]))
    # the palm rests near the cheek or mouth; strength brings it up and in
    palm = np.array([q * mix(0.40, 0.20, s), mix(-0.95, -0.52, s), 0.0])
    palm[2] = 0.93 - 0.25 * palm[0] ** 2
    lean = np.radians(rng.uniform(12, 34)) * q
    up = np.array([-np.sin(lean), np.cos(lean), 0.0])
    across = np.array([np.cos(lean), np.sin(lean), 0.0]) * q
    out: list[Mesh] = []
    spread = rng.uniform(0.10, 0.20)

    def finger(root: Array, direction: Array, length: float, radius: float, curl: float) -> None:
        t = np.linspace(0, 1, 22)
        bend = curl * t**2
        path = root + direction * (length * t)[:, None] + np.array([0, 0, -1.0]) * (length * bend)[:, None]
        knuckle = 1 + 0.08 * np.exp(-(((t - 0.42) / 0.07) ** 2)) + 0.06 * np.exp(-(((t - 0.72) / 0.06) ** 2))
        tip = np.sqrt(np.clip(1 - (np.clip(t - 0.84, 0, 1) / 0.165) ** 2, 0.0, 1))
        tint = (
            np.repeat(skin[None], 22, 0)
            * (1 - 0.10 * np.exp(-(((t - 0.44) / 0.03) ** 2)) - 0.08 * np.exp(-(((t - 0.73) / 0.025) ** 2)))[:, None]
        )
        tint = tint * np.stack([np.ones(22), 1 - 0.08 * t, 1 - 0.08 * t], 1)
        out.append(
            tube(
                path,
                radius * (1 - 0.22 * t) * knuckle * tip + 1e-3,
                tint[:, None],
                material=SKIN,
                gloss=0.22,
                around=14,
                openness=0.85 + 0.15 * t,
            )
        )

    lengths, offsets = (0.36, 0.44, 0.41, 0.32), (-0.215, -0.07, 0.075, 0.21)
    for j in range(4):
        fan = (j - 1.5) * spread * 0.55
        direction = up * np.cos(fan) + across * np.sin(fan)
        root = palm + up * (0.16 - 0.02 * abs(j - 1.3)) + across * offsets[j]
        finger(root - up * 0.10, direction, lengths[j] + 0.10, 0.083 if j < 3 else 0.072, 0.16 + 0.05 * j)
    thumb = -across * np.cos(0.75) + up * np.sin(0.75)
    finger(palm - across * 0.14 - up * 0.18, thumb, 0.42, 0.092, 0.1)
    # palm, wrist and forearm: one tube that narrows at the wrist, then a sleeve over it
    t = np.linspace(0, 1, 40)
    axis = -up + np.array([q * 0.10, 0, 0.0])
    axis = axis / np.linalg.norm(axis)
    path = palm + up * 0.20 + axis * (t * 1.7)[:, None] + np.array([0, 0, -1.0]) * (0.25 * t**1.5)[:, None]
    radius = np.interp(t, [0, 0.03, 0.10, 0.20, 0.30, 0.38, 1.0], [0.10, 0.20, 0.285, 0.27, 0.205, 0.185, 0.24])
    out.append(tube(path, radius, skin, material=SKIN, gloss=0.18, around=26, flat=0.42, openness=0.9))
    sleeve = path[17:] + np.array([0, 0, 0.01])
    wide = 0.235 + 0.05 * t[17:] + 0.022 * np.exp(-(((t[17:] - t[17]) / 0.03) ** 2))
    out.append(tube(sleeve, wide, 1.0, material=CLOTH, gloss=0.0, around=26, flat=0.62, openness=0.95))
    return out
