"""Vectors to other programs, one file for each: `npz`, `parquet`, `tensorboard`, `fiftyone`.

What they write is what these programs document; nothing of it is run. `Outgoing` is what all of them tell.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from facelens import __version__
from facelens.errors import InputError
from facelens.features.featureset import FeatureSet
from facelens.images.faceset import FaceSet, Ids, Rows
from facelens.words import escaped, tr

Floats = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Near:
    """The nearest of each face, in the space of the vectors: `places` (N, k) among those that go out, -1 for none."""

    places: Rows
    distances: Floats  # (N, k) 1 - cosine
    how: str = ""  # in words


@dataclass(frozen=True, eq=False)
class Outgoing:
    """Faces that go out, N of them in the order of the vectors, and what is known about each."""

    faces: FaceSet
    features: FeatureSet
    places: Rows  # (N,) of the vectors
    rows: Rows  # (N,) of the faces
    points: Floats | None = None  # (N, 2) on a map, NaN for those that are not on it
    near: Near | None = None
    said: dict[str, str] = field(default_factory=dict)  # how points and the nearest were found
    files: tuple[str, ...] | None = None  # (N,) where pictures lie that were written for this export

    @classmethod
    def of(
        cls, features: FeatureSet, faces: FaceSet, *, without: Ids | None = None, unusable: bool = False
    ) -> Outgoing:
        """All that have a usable vector and are not in `without`; where `unusable`, the others as well."""
        known = len(faces.rows_of(features.ids))
        if known != len(features):
            raise InputError(
                tr("{n} vectors belong to faces that are not in this gallery.", n=len(features) - known),
                hint=tr("Export with the gallery the vectors were made from."),
            )
        going = np.ones(len(features), bool) if unusable else ~np.isin(features.ids, features.invalid)
        if without is not None and len(without):
            going &= ~np.isin(features.ids, without)
        places = np.flatnonzero(going)
        rows = faces.rows_of(features.ids[places])
        if faces.disguised:  # in an order that tells nothing
            place = np.zeros(len(faces), np.int64)
            place[rows] = places
            rows = faces.listed(rows)
            places = place[rows]
        return cls(faces, features, places, rows)

    def __len__(self) -> int:
        return len(self.places)

    @property
    def ids(self) -> Ids:
        """(N,) of the faces."""
        return self.features.ids[self.places]

    @property
    def told_ids(self) -> Ids:
        """(N,) the same as they may be told."""
        return self.faces.told_ids[self.rows]

    @property
    def left_out(self) -> int:
        """Faces of the gallery that do not go out."""
        return len(self.faces) - len(self)

    @property
    def whole(self) -> bool:
        """Whether all vectors go out, in their order."""
        return len(self) == len(self.features) and not self.faces.disguised

    def vectors(self, some: slice) -> Floats:
        """(n, D), read now."""
        found: Floats = self.features.vectors[self.places[some]]
        return found

    @cached_property
    def names(self) -> list[bytes]:
        """Paths inside the gallery, exact."""
        return list(self.faces.paths.take(self.rows))

    def name(self, n: int) -> str:
        """The path inside the gallery, fit to be shown."""
        return escaped(os.fsdecode(self.names[n]))

    def identity(self, n: int) -> str:
        """Who it is, "" where that is not known."""
        return escaped(self.faces.identity.name(int(self.rows[n])))

    @cached_property
    def _root(self) -> str:
        return str(self.faces.root.absolute())

    def file(self, n: int) -> str | None:
        """Where the picture lies; None where it lies inside another file, no text can say it, or nobody may know."""
        if self.files is not None:
            return self.files[n]
        if self.faces.embedded or self.faces.disguised:
            return None
        try:
            file = os.path.normpath(os.path.join(self._root, self.names[n].decode()))
            file.encode()
        except UnicodeError:
            return None
        return file

    def blocks(self, size: int) -> Iterator[slice]:
        """Stretches of at most `size` faces; one that is empty where there are none at all."""
        for start in range(0, max(1, len(self)), size):
            yield slice(start, min(start + size, len(self)))

    @property
    def about(self) -> dict[str, Any]:
        """Whose vectors these are, for the metadata of a file."""
        provenance = self.features.provenance
        card = provenance.card
        return {
            "made_by": f"FaceLens {__version__}",
            "gallery": escaped(self.faces.name),
            "model": escaped(provenance.model),
            "sha256": provenance.weights,
            "licence": escaped(card.licence) if card is not None else "",
            "fingerprint": provenance.fingerprint,
            "dimensions": self.features.dimensions,
            **self.said,
        }


def free_names(wanted: list[str], taken: set[str]) -> list[str]:
    """Names of columns that are none of `taken` and differ, also for programs that do not see capitals.

    >>> free_names(["age", "ID", "Age"], {"id"})
    ['age', 'ID_', 'Age_']
    """
    used, found = {name.lower() for name in taken}, []
    for name in wanted:
        name = name or "_"
        while name.lower() in used:
            name += "_"
        used.add(name.lower())
        found.append(name)
    return found
