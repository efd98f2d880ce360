"""FeatureSet: what one model says about the faces of one gallery. Needs no torch.

Shapes    ids (N,) int64; vectors (N, D) float32 as the model gave them (not normalised); norms (N,) float32
          confidence (N, S) float32 or None; invalid (n,) int64 ids whose vector is no use (NaN, Inf, zero norm)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from facelens.features.card import Card
from facelens.images.faceset import Ids, Rows


@dataclass(frozen=True)
class Provenance:
    """Where vectors come from; `fingerprint` names gallery, weights and feeding: equal fingerprints, equal vectors."""

    fingerprint: str
    model: str
    weights: str = ""  # SHA-256 of the checkpoint, "" for imported vectors
    card: Card | None = None
    versions: dict[str, str] = field(default_factory=dict)
    file: str = field(default="", compare=False)  # where the model lay; "" where that is not known


@dataclass(frozen=True, eq=False)
class FeatureSet:
    """Read-only; `vectors` may be mapped from disk, so take the rows you need."""

    ids: Ids
    vectors: NDArray[np.float32]
    provenance: Provenance
    norms: NDArray[np.float32] = field(default_factory=lambda: np.zeros(0, np.float32))
    confidence: NDArray[np.float32] | None = None
    invalid: Ids = field(default_factory=lambda: np.zeros(0, np.int64))

    def __post_init__(self) -> None:
        if not len(self.norms) and len(self.ids):
            with np.errstate(over="ignore", invalid="ignore"):
                object.__setattr__(self, "norms", np.linalg.norm(self.vectors, axis=1).astype(np.float32))
        if not len(self.invalid):
            bad = ~np.isfinite(self.norms) | (self.norms <= 1e-12)
            object.__setattr__(self, "invalid", self.ids[bad])

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def dimensions(self) -> int:
        """D."""
        return int(self.vectors.shape[1])

    @cached_property
    def _by_id(self) -> tuple[Ids, Rows]:
        order = np.argsort(self.ids).astype(np.int64)
        return self.ids[order], order

    def rows_of(self, ids: Ids) -> tuple[Rows, NDArray[np.bool_]]:
        """Rows of the ids that have a usable vector, and which of `ids` those are."""
        known, order = self._by_id
        if not len(known):
            return np.zeros(0, np.int64), np.zeros(len(ids), bool)
        at = np.minimum(np.searchsorted(known, ids), len(known) - 1)
        found = (known[at] == ids) & ~np.isin(ids, self.invalid)
        return order[at[found]], found

    def take(self, rows: Rows) -> FeatureSet:
        """The vectors at `rows`, in that order."""
        confidence = None if self.confidence is None else self.confidence[rows]
        ids = self.ids[rows]
        kept = self.invalid[np.isin(self.invalid, ids)]
        return FeatureSet(ids, self.vectors[rows], self.provenance, self.norms[rows], confidence, kept)

    def unit(self, ids: Ids) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """(n, D) unit vectors of the ids that have one, and which of `ids` those are."""
        rows, found = self.rows_of(ids)
        return self.vectors[rows] / self.norms[rows, None], found
