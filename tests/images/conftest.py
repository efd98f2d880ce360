"""Small galleries drawn on the spot."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

Draw = Callable[..., Path]


def drawn(seed: int, *, width: int = 64, height: int = 64) -> Image.Image:
    """A smooth random picture; different seeds look different, as faces do."""
    coarse = np.random.default_rng(seed).integers(0, 255, (8, 8, 3), np.uint8)
    return Image.fromarray(coarse).resize((width, height), Image.Resampling.BICUBIC)


@pytest.fixture
def draw(tmp_path: Path) -> Draw:
    """draw("a/b.jpg", 3) makes that picture under tmp_path and returns its path."""

    def make(name: str, seed: int = 0, **options: int) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        drawn(seed, **options).save(path)
        return path

    return make


@pytest.fixture
def people(draw: Draw, tmp_path: Path) -> Path:
    """A gallery of four people with three pictures each, in LFW's names."""
    for person, name in enumerate(("Ann_Lee", "Bo_Rask", "Cy_Odum", "Di_Vane")):
        for number in range(1, 4):
            draw(f"people/{name}/{name}_{number:04d}.jpg", 10 * person + number)
    return tmp_path / "people"
