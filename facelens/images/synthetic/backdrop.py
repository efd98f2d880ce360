"""What is behind a person: a wall with a soft light, a room out of focus, or greenery with discs of light."""

from __future__ import annotations

import numpy as np
from PIL import Image

from facelens.images.synthetic.mesh import Array, F, Floats

_WALLS = (
    (205, 198, 188),
    (176, 186, 196),
    (190, 176, 160),
    (150, 164, 160),
    (120, 132, 148),
    (196, 182, 184),
    (92, 98, 108),
    (168, 172, 150),
)
_GREENS = ((92, 120, 74), (120, 146, 96), (66, 94, 70), (148, 160, 110))
_LIGHTS = np.array([[255, 240, 214], [222, 236, 250]], F)  # a lamp, daylight
CELLS = 28


def draw_backdrop(rng: np.random.Generator) -> Floats:
    """A (28, 28, 3) picture in linear light, about half as bright as white paper; it is out of focus anyway."""
    t = np.linspace(0, 1, CELLS, dtype=F)
    v, u = t[:, None], t[None]
    kind = rng.random()
    wall = np.array(_WALLS[rng.integers(len(_WALLS))], F)
    if kind < 0.45:
        cx, cy = rng.uniform(0.1, 0.9), rng.uniform(0.0, 0.7)
        glow = np.exp(-((u - F(cx)) ** 2) / F(0.45)) * np.exp(-((v - F(cy)) ** 2) / F(0.45))
        picture = wall * F(rng.uniform(0.75, 1.1)) * (F(0.80) + F(0.30) * glow)[..., None]
    elif kind < 0.75:
        wall = wall * F(rng.uniform(0.6, 0.95))
        picture = wall * (F(1.08) - F(0.25) * v + 0 * u)[..., None]
        count = int(rng.integers(3, 6))
        x0, w = rng.uniform(-0.1, 0.9, count), rng.uniform(0.10, 0.4, count)
        y0, h = rng.uniform(-0.2, 0.7, count), rng.uniform(0.25, 0.9, count)
        across, down = _soft(t, x0, x0 + w), _soft(t, y0, y0 + h)
        tones = wall * rng.uniform(0.55, 1.45, (count, 1)) + rng.normal(0, 10, (count, 3))
        for k in range(count):
            picture += (tones[k].astype(F) - picture) * (F(0.75) * down[k][:, None] * across[k])[..., None]
    else:
        sky = np.array([188, 206, 220], F) * F(rng.uniform(0.8, 1.05))
        green = np.array(_GREENS[rng.integers(len(_GREENS))], F) * F(rng.uniform(0.8, 1.15))
        horizon, phase = rng.uniform(0.05, 0.6), rng.uniform(0, 6)
        below = np.clip((v + F(0.06) * np.sin(u * 9 + F(phase)) - F(horizon)) / F(0.35), 0, 1)
        picture = sky + (green - sky) * below[..., None]
        leaves = Image.fromarray(rng.normal(0, 16, (8, 8)).astype(F))
        leaves = leaves.resize((CELLS, CELLS), Image.Resampling.BICUBIC)
        picture += np.asarray(leaves)[..., None] * (F(0.35) + below[..., None])
    if kind >= 0.45:
        count = int(rng.integers(3, 9))
        cx, cy, r, strength = (
            rng.uniform([0, 0, 0.03, 0.10], [1, 0.8, 0.09, 0.35], (count, 4)).astype(F).T[..., None, None]
        )
        discs = strength * np.clip((r - np.hypot(u - cx, v - cy)) / F(0.035) + F(0.5), 0, 1)
        lights = _LIGHTS[(rng.random(count) < 0.4).astype(int)]
        picture = picture * (1 - discs.sum(0).clip(0, 1))[..., None] + np.tensordot(discs, lights, (0, 0))
    return np.asarray((picture.clip(0, 255) / F(255)) ** F(2.2), F)


def _soft(t: Floats, low: Array, high: Array) -> Floats:
    """1 from low to high with soft ends, (count, CELLS)."""
    rise, fall = (t - low[:, None]) / 0.06, (high[:, None] - t) / 0.06
    return np.asarray(np.clip(rise, 0, 1) * np.clip(fall, 0, 1), F)
