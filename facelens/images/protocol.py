"""Protocol: which faces a published test compares, in which groups.

Shapes    pairs (P, 2) int64 rows of the FaceSet; same (P,) bool; fold (P,) int32
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Pairs:
    """1:1 comparisons of faces or, where `of` is "template", of templates (then entries are template numbers)."""

    pairs: NDArray[np.int64]
    same: NDArray[np.bool_]
    fold: NDArray[np.int32]
    of: str = "face"

    def __len__(self) -> int:
        return len(self.same)


@dataclass(frozen=True, eq=False)
class Protocol:
    """A named test: 1:1 pairs, and sets for search ("query", "gallery", "gallery1", "gallery2").

    Groups hold rows of the FaceSet or, where `groups_of` is "template", template numbers.
    """

    name: str
    pairs: Pairs | None = None
    groups: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()  # what the reader left out and why, one sentence each
    groups_of: str = "face"
