"""Protocol: which faces a published test compares, in which groups.

Shapes    pairs (P, 2) int64 rows of the FaceSet; same (P,) bool; fold (P,) int32
          templates: template, row, media (L,) int64, a line for each picture of each template
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

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
class Templates:
    """Which pictures make up which template, from which media (a photograph, a video); a picture may be in several."""

    template: NDArray[np.int64]
    row: NDArray[np.int64]  # of the FaceSet
    media: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.template)

    @cached_property
    def numbers(self) -> NDArray[np.int64]:
        """(T,) the templates, ascending."""
        return np.unique(self.template)


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
    templates: Templates | None = None

    @cached_property
    def digest(self) -> str:
        """Fingerprint of what is compared with what; two tests of one name need not be the same."""
        state = hashlib.sha256(repr((self.name, self.groups_of)).encode("utf-8", "backslashreplace"))

        def add(name: str, *arrays: NDArray[np.int64] | NDArray[np.int32] | NDArray[np.bool_]) -> None:
            state.update(repr((name, [(array.shape, array.dtype.str) for array in arrays])).encode())
            for array in arrays:
                state.update(np.ascontiguousarray(array).tobytes())

        if self.pairs is not None:
            add(f"pairs of {self.pairs.of}", self.pairs.pairs, self.pairs.same, self.pairs.fold)
        for name in sorted(self.groups):
            add(f"group {name}", self.groups[name])
        if self.templates is not None:
            add("templates", self.templates.template, self.templates.row, self.templates.media)
        return state.hexdigest()
