"""Inner loops work where nothing can be kept on disk: a read-only installation with a read-only home."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "facelens"


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """No folder can be written to: numba tries its ways to find one, and refuses when it knows no more."""
    from numba.core import caching

    monkeypatch.setattr(caching.CacheImpl, "_locator_classes", [])
    with pytest.raises(RuntimeError, match="no locator"):
        caching.FunctionCache(anew)


def anew(place: str) -> ModuleType:
    """A module as a new process would import it."""
    spec = importlib.util.spec_from_file_location("anew", PACKAGE / place)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.usefixtures("nowhere")
def test_drawing() -> None:
    assert anew("images/synthetic/kernels.py").ramp(0.0, 1.0, 0.5) == 0.5


@pytest.mark.usefixtures("nowhere")
def test_aligning() -> None:
    picture = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
    moved = np.empty_like(picture)
    anew("images/warping.py").bilinear(picture, np.array([1.0, 0, 0, 0, 1, 0]), moved)
    assert np.array_equal(moved, picture)


@pytest.mark.usefixtures("nowhere")
def test_comparing() -> None:
    scores, rows = np.full((1, 2), -np.inf, np.float32), np.full((1, 2), -1, np.int64)
    block = np.array([[0.1, 0.9, 0.5]], np.float32)
    anew("analyses/kernels.py").best(block, 10, np.array([-1]), scores, rows, 0, 1)
    assert rows.tolist() == [[11, 12]]
