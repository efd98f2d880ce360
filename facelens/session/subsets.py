"""Subsets: faces under a name, and the algebra of them: and, or, xor, not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from facelens.images.faceset import FaceSet, Ids
from facelens.session.annotations import by_path, named_faces, paths_of, spelled

OPERATIONS = ("and", "or", "xor", "not")


@dataclass(frozen=True, eq=False)
class Subsets(Mapping[str, Ids]):
    """Sorted ids by name, in the order in which they were made."""

    of: Mapping[str, Ids] = field(default_factory=lambda: MappingProxyType({}))
    aside: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))  # paths not here

    # Like Annotations, these are compared by being the same: a change makes new ones.
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def __getitem__(self, name: str) -> Ids:
        return self.of[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.of)

    def __len__(self) -> int:
        return len(self.of)

    @property
    def nbytes(self) -> int:
        """About what they take in memory."""
        return sum(ids.nbytes for ids in self.of.values())

    @property
    def unknown(self) -> int:
        """How many pictures in them the gallery does not have."""
        return len({path for paths in self.aside.values() for path in paths})


def put(subsets: Subsets, name: str, ids: Ids) -> Subsets:
    """With faces under a name; one of that name is replaced, in its place."""
    name = spelled(name, subsets)
    aside = {one: paths for one, paths in subsets.aside.items() if one != name}
    return Subsets(MappingProxyType({**subsets.of, name: np.unique(ids)}), MappingProxyType(aside))


def dropped(subsets: Subsets, name: str) -> Subsets:
    """Without one."""
    kept, aside = ({one: what for one, what in part.items() if one != name} for part in (subsets.of, subsets.aside))
    return Subsets(MappingProxyType(kept), MappingProxyType(aside))  # type: ignore[arg-type]


def renamed(subsets: Subsets, old: str, new: str) -> Subsets:
    """With another name for one, in its place; one that had that name goes."""
    new = spelled(new, (one for one in subsets if one != old))
    kept, aside = (
        {new if one == old else one: what for one, what in part.items() if one == old or one != new}
        for part in (subsets.of, subsets.aside)
    )
    return Subsets(MappingProxyType(kept), MappingProxyType(aside))  # type: ignore[arg-type]


def combined(operation: str, first: Ids, second: Ids) -> Ids:
    """Faces in both (and), in either (or), in exactly one (xor), in the first only (not).

    >>> combined("xor", np.array([1, 2]), np.array([2, 3])).tolist()
    [1, 3]
    """
    joins: dict[str, Callable[[Ids, Ids], Ids]] = {
        "and": np.intersect1d,
        "or": np.union1d,
        "xor": np.setxor1d,
        "not": np.setdiff1d,
    }
    return np.asarray(joins[operation](first, second), np.int64)


def as_plain(subsets: Subsets, faces: FaceSet) -> dict[str, list[str]]:
    """What JSON has: paths inside the gallery by name, with those that are not here now."""
    return {name: [*paths_of(ids, faces), *subsets.aside.get(name, ())] for name, ids in subsets.items()}


def from_plain(value: object, faces: FaceSet) -> Subsets:
    """What `as_plain` gave; a value of another kind is an InputError, paths that are not here are kept aside."""
    ids, waiting = named_faces(value, "subsets", by_path(faces))
    aside = {name: paths for name, paths in waiting.items() if paths}
    return Subsets(MappingProxyType(ids), MappingProxyType(aside))
