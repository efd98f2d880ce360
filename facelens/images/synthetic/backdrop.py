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


def draw_backdrop(size: int, rng: np.random.Generator) -> Floats:
    """A (size, size, 3) picture in linear light, about half as bright as white paper."""
    n = 32
    v, u = np.mgrid[0:n, 0:n].astype(F) / F(n - 1)
    kind = rng.random()
    if kind < 0.45:
        base = np.array(_WALLS[rng.integers(len(_WALLS))], float) * rng.uniform(0.75, 1.1)
        cx, cy = rng.uniform(0.1, 0.9), rng.uniform(0.0, 0.7)
        glow = np.exp(-((u - cx) ** 2 + (v - cy) ** 2) / 0.45)
        picture = base * (0.80 + 0.30 * glow)[..., None]
    elif kind < 0.75:
        base = np.array(_WALLS[rng.integers(len(_WALLS))], float) * rng.uniform(0.6, 0.95)
        picture = np.broadcast_to(base, (n, n, 3)) * (1.08 - 0.25 * v)[..., None]
        for _ in range(int(rng.integers(3, 6))):
            x0, w = rng.uniform(-0.1, 0.9), rng.uniform(0.10, 0.4)
            y0, h = rng.uniform(-0.2, 0.7), rng.uniform(0.25, 0.9)
            inside = _soft(u, x0, x0 + w) * _soft(v, y0, y0 + h)
            tone = base * rng.uniform(0.55, 1.45) + rng.normal(0, 10, 3)
            picture = picture + (tone - picture) * (0.75 * inside)[..., None]
    else:
        sky = np.array([188, 206, 220.0]) * rng.uniform(0.8, 1.05)
        green = np.array(_GREENS[rng.integers(len(_GREENS))], float) * rng.uniform(0.8, 1.15)
        horizon = rng.uniform(0.05, 0.6)
        t = np.clip((v + 0.06 * np.sin(u * 9 + rng.uniform(0, 6)) - horizon) / 0.35, 0, 1)[..., None]
        picture = sky + (green - sky) * t
        spots = rng.normal(0, 1, (7, 7, 1)) * 14
        rough = np.asarray(Image.fromarray(spots[..., 0].astype(F)).resize((n, n), Image.Resampling.BICUBIC))
        picture = picture + rough[..., None]
    if kind >= 0.45:
        for _ in range(int(rng.integers(3, 9))):
            cx, cy, r = rng.uniform(0, 1), rng.uniform(0, 0.8), rng.uniform(0.03, 0.09)
            disc = np.clip((r - np.hypot(u - cx, v - cy)) / 0.03 + 0.5, 0, 1)
            light = np.array([255, 240, 214.0]) if rng.random() < 0.6 else np.array([222, 236, 250.0])
            picture = picture + (light - picture) * (rng.uniform(0.10, 0.35) * disc)[..., None]
    small = Image.fromarray(np.clip(picture, 0, 255).astype(np.uint8))
    return linear(np.asarray(small.resize((size, size), Image.Resampling.BICUBIC)))


def _soft(t: Array, low: float, high: float) -> Array:
    return np.asarray(np.clip((t - low) / 0.06, 0, 1) * np.clip((high - t) / 0.06, 0, 1))
