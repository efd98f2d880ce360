"""What is behind a person: a wall with a soft light, a room out of focus, or greenery with discs of light."""

from __future__ import annotations

import numpy as np
from PIL import Image

from facelens.images.synthetic.mesh import Array, F, Floats, linear

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
_LAMP, _DAYLIGHT = np.array([255, 240, 214], F), np.array([222, 236, 250], F)
_LINEAR = linear(np.arange(256))


def draw_backdrop(size: int, rng: np.random.Generator) -> Floats:
    """A (size, size, 3) picture in linear light, about half as bright as white paper."""
    n = 28
    t = np.linspace(0, 1, n, dtype=F)
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
        for _ in range(int(rng.integers(3, 6))):
            x0, w = rng.uniform(-0.1, 0.9), rng.uniform(0.10, 0.4)
            y0, h = rng.uniform(-0.2, 0.7), rng.uniform(0.25, 0.9)
            inside = F(0.75) * _soft(u, x0, x0 + w) * _soft(v, y0, y0 + h)
            tone = (wall * rng.uniform(0.55, 1.45) + rng.normal(0, 10, 3)).astype(F)
            picture += (tone - picture) * inside[..., None]
    else:
        sky = np.array([188, 206, 220], F) * F(rng.uniform(0.8, 1.05))
        green = np.array(_GREENS[rng.integers(len(_GREENS))], F) * F(rng.uniform(0.8, 1.15))
        horizon, phase = rng.uniform(0.05, 0.6), rng.uniform(0, 6)
        below = np.clip((v + F(0.06) * np.sin(u * 9 + F(phase)) - F(horizon)) / F(0.35), 0, 1)
        picture = sky + (green - sky) * below[..., None]
        leaves = Image.fromarray(rng.normal(0, 16, (8, 8)).astype(F))
        picture += np.asarray(leaves.resize((n, n), Image.Resampling.BICUBIC))[..., None] * (F(0.35) + below[..., None])
    if kind >= 0.45:
        for _ in range(int(rng.integers(3, 9))):
            cx, cy, r = rng.uniform(0, 1), rng.uniform(0, 0.8), rng.uniform(0.03, 0.09)
            disc = np.clip((F(r) - np.hypot(u - F(cx), v - F(cy))) / F(0.035) + F(0.5), 0, 1)
            light = _LAMP if rng.random() < 0.6 else _DAYLIGHT
            picture += (light - picture) * (F(rng.uniform(0.10, 0.35)) * disc)[..., None]
    small = Image.fromarray(np.clip(picture, 0, 255).astype(np.uint8))
    return np.asarray(_LINEAR[np.asarray(small.resize((size, size), Image.Resampling.BICUBIC))], F)


def _soft(t: Array, low: float, high: float) -> Array:
    return np.asarray(np.clip((t - F(low)) / F(0.06), 0, 1) * np.clip((F(high) - t) / F(0.06), 0, 1))
