"""Workspace: all that the application knows, as one frozen value."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from facelens.images.doctor import Diagnosis
from facelens.images.faceset import FaceSet, Ids, Labels, Rows
from facelens.images.protocol import Protocol
from facelens.session import filters
from facelens.session.selection import Selection


@dataclass(frozen=True)
class Source:
    """A gallery that is open or has been: what to show in the sources list and the recent list."""

    path: Path
    name: str
    faces: int
    kind: str


@dataclass(frozen=True)
class Arrangement:
    """How the gallery is shown: filter text, sort column and direction, grouping by a column ("" = none)."""

    filter: str = ""
    sort: str = ""
    descending: bool = False
    group: str = ""


@dataclass(frozen=True, eq=False)
class Workspace:
    """One frozen value; a change makes a new one (see Store). Arrays inside are read-only."""

    faces: FaceSet | None = None
    protocol: Protocol | None = None
    source: Source | None = None
    notes: tuple[str, ...] = ()  # what the reader left out, one sentence each
    diagnosis: Diagnosis | None = None
    excluded: Ids = field(default_factory=lambda: np.zeros(0, np.int64))
    arrangement: Arrangement = field(default_factory=Arrangement)
    selection: Selection = field(default_factory=Selection)

    @cached_property
    def shown(self) -> Rows:
        """Rows of `faces` in the order the gallery shows them: not excluded, passing the filter, sorted."""
        if self.faces is None:
            return np.zeros(0, np.int64)
        return arranged(self.faces, self.arrangement, self.excluded)

    @property
    def shown_ids(self) -> Ids:
        """Ids of the shown faces, in order."""
        return self.faces.ids[self.shown] if self.faces is not None else np.zeros(0, np.int64)


def arranged(faces: FaceSet, arrangement: Arrangement, excluded: Ids) -> Rows:
    """Rows in display order. Grouping is a sort by the group column that keeps the inner order."""
    order = np.arange(len(faces), dtype=np.int64)
    if arrangement.sort:
        order = faces.order_by(arrangement.sort, descending=arrangement.descending)
    if arrangement.group:
        rank = _group_ranks(faces, arrangement.group)
        order = order[np.argsort(rank[order], kind="stable")]
    keep = np.ones(len(faces), bool)
    if len(excluded):
        keep[faces.rows_of(excluded)] = False
    if arrangement.filter:
        keep &= filters.parse(arrangement.filter).rows(faces)
    return order if keep.all() else order[keep[order]]


def _group_ranks(faces: FaceSet, column: str) -> Rows:
    """(N,) the place of each face's group: equal values share one, missing values come last."""
    values = faces.values(column)
    if isinstance(values, Labels):
        return np.where(values.codes < 0, len(values.names), values.codes).astype(np.int64)
    return np.unique(values, return_inverse=True)[1].astype(np.int64)  # NaN sorts last, as one value
