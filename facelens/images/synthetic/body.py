"""Neck, shoulders and a garment, so that the head does not float."""

from __future__ import annotations

import numpy as np

from facelens.images.synthetic.identity import Identity
from facelens.images.synthetic.mesh import CLOTH, SKIN, Array, F, Floats, Mesh, join, ramp, sheet

_HEIGHTS = np.array([-0.55, -0.95, -1.08, -1.18, -1.28, -1.42, -1.60, -1.85, -2.2])


_FINE = np.linspace(-_HEIGHTS[0], -_HEIGHTS[-1], 120)


def _smooth(knots: Array) -> Array:
    """Cubic curve through values (9, k) at the heights above, as a table (120, k) at _FINE."""
    at = -_HEIGHTS
    slope = np.gradient(knots, at, axis=0)
    i = np.clip(np.searchsorted(at, _FINE, side="right") - 1, 0, len(at) - 2)
    step = (at[i + 1] - at[i])[:, None]
    t = (_FINE - at[i])[:, None] / step
    start = (1 + 2 * t) * (1 - t) ** 2 * knots[i] + t * (1 - t) ** 2 * step * slope[i]
    return np.asarray(start + t * t * (3 - 2 * t) * knots[i + 1] + t * t * (t - 1) * step * slope[i + 1])


def build_body(identity: Identity, skin: Floats, *, detail: float) -> Mesh:
    """Neck and shoulders; the cloth's albedo is white here and coloured by each picture."""
    broad = 0.93 if identity.feminine else 1.06
    neck = (0.335 if identity.feminine else 0.40) * identity.shape["head_w"] / 0.70
    half = np.array([neck, neck * 0.99, neck * 1.06, 0.56, 0.80, 1.06, 1.24, 1.32, 1.36])
    half[3:] *= broad
    depth = np.array([neck * 0.98, neck * 0.98, neck * 1.02, 0.43, 0.46, 0.50, 0.54, 0.58, 0.60])
    centre = np.array([-0.02, -0.10, -0.14, -0.16, -0.18, -0.18, -0.16, -0.14, -0.12])
    table = _smooth(np.stack([half, depth, centre], 1))

    def ring(azimuth: Array, y: Array, grow: Array | float) -> tuple[Array, Array]:
        h, d, c = (np.interp(-y, _FINE, table[:, k]) for k in range(3))
        power = 2.0 + 0.5 * ramp(-1.1, -1.5, y)
        s, k = np.sin(azimuth), np.cos(azimuth)
        x = np.sign(s) * np.abs(s) ** (2 / power) * (h + grow)
        z = np.sign(k) * np.abs(k) ** (2 / power) * (d + grow) + c
        out = np.stack([np.sin(azimuth), 0.4 + 0 * y, np.cos(azimuth)], -1)
        return np.stack([x, y, z], -1), out

    # the back of the body is never seen
    azimuth = np.radians(np.linspace(-140, 140, int(52 * detail)))
    t, y = np.meshgrid(azimuth, np.linspace(-0.55, -1.42, int(22 * detail)))
    points, out = ring(t, y, 0.0)
    shade = 0.30 + 0.70 * ramp(-0.84, -1.22, y + 0.05 * (1 - np.cos(t)))
    collarbone = (
        0.02
        * np.exp(-(((y + 1.27 - 0.05 * np.abs(np.sin(t))) / 0.03) ** 2))
        * ramp(0.1, 0.3, np.abs(np.sin(t)))
        * ramp(0, 0.3, np.cos(t))
    )
    points[..., 2] += collarbone
    colour = skin * np.array([0.97, 0.93, 0.92], F) * (0.80 + 0.20 * shade)[..., None]
    parts = [sheet(points, colour, material=SKIN, outward=out, gloss=0.14, openness=shade)]
    rng = np.random.default_rng([92821, identity.seed])
    kind = str(rng.choice(["crew", "vee", "scoop", "high"], p=[0.45, 0.2, 0.2, 0.15]))
    dip = {"crew": 0.05, "vee": 0.24, "scoop": 0.17, "high": -0.06}[kind]
    spread = {"crew": 0.9, "vee": 0.42, "scoop": 0.75, "high": 1.2}[kind]
    top = -1.145 - dip * np.exp(-((azimuth / spread) ** 2)) + (0.02 if kind == "high" else 0.0)
    s = np.linspace(0, 1, int(20 * detail))[:, None]
    y = top[None] + (-2.15 - top[None]) * s**1.25
    t = azimuth[None] + 0 * y
    below = top[None] - y
    # a knitted band at the neck, then the cloth hanging off the shoulders in faint folds
    band = 0.022 * np.exp(-(((below - 0.035) / 0.030) ** 2))
    folds = 0.012 * np.sin(t * 9 + 5 * y) * ramp(0.15, 0.6, below) * ramp(-1.2, -1.6, y)
    points, out = ring(t, y, 0.022 * ramp(-0.004, 0.02, below) + band + folds)
    tone = 1 - 0.10 * np.exp(-(((below - 0.075) / 0.010) ** 2)) - 0.05 * ramp(0.06, 0.0, below)
    rib = 1 + 0.05 * np.sin(t * 120) * ramp(0.07, 0.05, below)
    openness = 0.72 + 0.28 * ramp(-1.14, -1.3, y)
    colour = np.repeat((tone * rib)[..., None], 3, -1)
    parts.append(sheet(points, colour, material=CLOTH, outward=out, gloss=0.02, openness=openness))
    return join(parts)
