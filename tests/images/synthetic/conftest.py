"""People shared by the tests of the sample world; building a head takes longer than drawing it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest

from facelens.images.synthetic import Head, build_head, sample_identity


@cache
def _head(seed: int, size: int) -> Head:
    return build_head(sample_identity(seed), size=size)


@pytest.fixture(scope="session")
def head_of() -> Callable[..., Head]:
    """head_of(seed, size=112): a head, built once for the whole run."""

    def get(seed: int, size: int = 112) -> Head:
        return _head(seed, size)

    return get
