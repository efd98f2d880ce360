"""Selection: the one thing every panel reads and writes.

Shapes    ids (n,) int64, sorted and unique
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum

import numpy as np

from facelens.images.faceset import Ids


class Mode(Enum):
    """What a new set of faces does to the selected one."""

    REPLACE = "replace"
    ADD = "add"
    REMOVE = "remove"
    TOGGLE = "toggle"
    INTERSECT = "intersect"


_NONE: Ids = np.zeros(0, np.int64)


@dataclass(frozen=True, eq=False)
class Selection:
    """Selected faces, the face looked at, and the pair under comparison (query, gallery); all by stable id."""

    ids: Ids = field(default_factory=lambda: _NONE)
    current: int | None = None
    pair: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        ids = _unique(np.asarray(self.ids, np.int64))
        ids.flags.writeable = False
        object.__setattr__(self, "ids", ids)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Selection):
            return NotImplemented
        return self.current == other.current and self.pair == other.pair and np.array_equal(self.ids, other.ids)

    def __hash__(self) -> int:
        return hash((self.current, self.pair, self.ids.tobytes()))

    def __len__(self) -> int:
        return len(self.ids)

    def __contains__(self, face: int) -> bool:
        at = int(np.searchsorted(self.ids, face))
        return at < len(self.ids) and int(self.ids[at]) == face

    def combine(self, ids: Ids, mode: Mode = Mode.REPLACE) -> Selection:
        """The selection after `ids` have been put to it; `current` and `pair` stay.

        >>> Selection(np.array([1, 2])).combine(np.array([2, 3]), Mode.TOGGLE).ids.tolist()
        [1, 3]
        """
        ids = _unique(np.asarray(ids, np.int64))
        return replace(self, ids=ids if mode is Mode.REPLACE else _combined(self.ids, ids, mode))

    def looking_at(self, face: int | None) -> Selection:
        """The same selection with another current face."""
        return replace(self, current=face)


def _unique(ids: Ids) -> Ids:
    """Sorted, each once. Ids that are so already are only looked at: a million take a millisecond."""
    if (ids[1:] > ids[:-1]).all():
        return ids.view()
    ids = np.sort(ids)
    return np.asarray(ids[np.append(True, ids[1:] != ids[:-1])], np.int64)


def _combined(old: Ids, new: Ids, mode: Mode) -> Ids:
    """Both are sorted and unique, so an id occurs once or twice among all; which one, the lowest bit tells."""
    both = np.concatenate(
        [old.astype(np.uint64) << np.uint64(1), (new.astype(np.uint64) << np.uint64(1)) | np.uint64(1)]
    )
    if not len(both):
        return old
    both.sort()
    ids = (both >> np.uint64(1)).astype(np.int64)
    is_new = (both & np.uint64(1)).astype(bool)
    twice = ids[1:] == ids[:-1]
    first, second = np.append(twice, False), np.append(False, twice)
    match mode:
        case Mode.ADD:
            keep = ~second
        case Mode.TOGGLE:
            keep = ~first & ~second
        case Mode.INTERSECT:
            keep = second
        case _:
            keep = ~first & ~second & ~is_new
    return np.asarray(ids[keep], np.int64)
