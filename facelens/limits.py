"""Limits that the user may raise: how large a picture and a model file may be. Kept in the environment.

Every process that is started inherits them, and any of them can be set for one command.
"""

from __future__ import annotations

import os

MEGAPIXELS = "FACELENS_MEGAPIXELS"
MODEL_GB = "FACELENS_MODEL_GB"
USUAL = {MEGAPIXELS: 89.0, MODEL_GB: 8.0}
LARGEST = {MEGAPIXELS: 2000.0, MODEL_GB: 512.0}


def megapixels() -> float:
    """A picture with more is not opened."""
    return _number(MEGAPIXELS)


def model_bytes() -> int:
    """What the tensors of a model file may take; a file of four times that is not even read."""
    return int(_number(MODEL_GB) * 2**30)


def _number(name: str) -> float:
    try:
        said = float(os.environ.get(name, ""))
    except ValueError:
        return USUAL[name]
    return min(said, LARGEST[name]) if said > 0 else USUAL[name]


def chosen(megapixels: float, model_gb: float) -> dict[str, str]:
    """Settings as an environment; usual values too, so that they take the place of others."""
    return {MEGAPIXELS: f"{megapixels:g}", MODEL_GB: f"{model_gb:g}"}
