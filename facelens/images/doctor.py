"""What is wrong with a gallery, before any work is spent on it.

Shapes    ids (n,) int64 of the faces a finding is about; group (n,) int32: faces with the same number belong together
          (copies of one file), all 0 where a finding is about single faces
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from facelens.images.faceset import Column, Ids

# From worst to mildest. An "error" cannot be used at all, a "warning" spoils results, a "note" is good to know.
SEVERITIES = ("error", "warning", "note")


@dataclass(frozen=True, eq=False)
class Finding:
    """One kind of trouble, the sentence about it, and the faces that have it."""

    kind: str
    severity: str
    message: str
    ids: Ids = field(default_factory=lambda: np.zeros(0, np.int64))
    group: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    details: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """All findings about a gallery, worst first, and what was measured on the way (add it with `faces.with_columns`)."""

    faces: int
    findings: tuple[Finding, ...] = ()
    columns: Mapping[str, Column] = field(default_factory=dict)

    @property
    def bad_ids(self) -> Ids:
        """Ids of the faces that cannot be used: no picture comes out of their file."""
        bad = [finding.ids for finding in self.findings if finding.severity == "error"]
        return np.unique(np.concatenate(bad)) if bad else np.zeros(0, np.int64)

    def usable(self, ids: Ids) -> Ids:
        """`ids` without those that cannot be used, order kept."""
        return ids[~np.isin(ids, self.bad_ids)]

    def finding(self, kind: str) -> Finding | None:
        """The finding of that kind, or None."""
        return next((finding for finding in self.findings if finding.kind == kind), None)
