"""Colours of names: the same on screen and on paper, in every session."""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

CHROMA = 0.125
DARK, LIGHT = 0.74, 0.56  # lightness on a dark and on a light ground

Rgb = tuple[float, float, float]


def person(name: str, middle: float = LIGHT) -> Rgb:
    """Hue and lightness from a hash of the name; it never identifies a person alone, so collisions do no harm.

    >>> person("Ada") == person("Ada") != person("Bo")
    True
    """
    digest = zlib.crc32(name.encode("utf-8", "surrogateescape"))
    return oklch(middle + 0.05 * ((digest >> 12) % 3 - 1), CHROMA, (digest % 1009) / 1009 * 2 * math.pi)


def people(names: Sequence[str], middle: float = LIGHT) -> NDArray[np.float32]:
    """(C, 3) the colour of each."""
    return _people(tuple(names), middle).copy()


@lru_cache(maxsize=4)
def _people(names: tuple[str, ...], middle: float) -> NDArray[np.float32]:
    # There are some thousand colours, so each is made once however many people there are.
    digests = np.fromiter((zlib.crc32(one.encode("utf-8", "surrogateescape")) for one in names), np.int64, len(names))
    kinds = digests % 1009 * 3 + (digests >> 12) % 3  # what `person` looks at
    kinds, first, which = np.unique(kinds, return_index=True, return_inverse=True)
    return np.array([person(names[place], middle) for place in first], np.float32).reshape(len(kinds), 3)[which]


def distinct(place: int, of: int, middle: float = LIGHT) -> Rgb:
    """One of a few colours that are told apart: hues all around, every other one darker."""
    light = middle + (0.06 if place % 2 else -0.06) * (of > 2)
    return oklch(light, CHROMA, (0.12 + place / max(of, 1)) * 2 * math.pi)


def oklch(lightness: float, chroma: float, hue: float) -> Rgb:
    """OKLCH as red, green and blue from 0 to 1, out-of-gamut parts clipped; hue in radians.

    >>> [round(v, 2) for v in oklch(1.0, 0.0, 0.0)]
    [1.0, 1.0, 1.0]
    """
    a, b = chroma * math.cos(hue), chroma * math.sin(hue)
    l_ = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    m_ = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    s_ = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    return (
        _gamma(4.0767416621 * l_ - 3.3077115913 * m_ + 0.2309699292 * s_),
        _gamma(-1.2684380046 * l_ + 2.6097574011 * m_ - 0.3413193965 * s_),
        _gamma(-0.0041960863 * l_ - 0.7034186147 * m_ + 1.7076147010 * s_),
    )


def _gamma(v: float) -> float:
    return min(1.0, max(0.0, 12.92 * v if v <= 0.0031308 else 1.055 * v ** (1 / 2.4) - 0.055))
