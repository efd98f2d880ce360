"""Enrolment: what is left of each person when the worst pictures are refused.

Computes    for every person the pictures, mean and highest of a score u, where that mean stands among all people, how
            many pictures are refused (u above the limit) and how many are recognised
Shapes      N faces of C people, grouped: those of person c lie from starts[c] on, worst first; u may be NaN, which no
            limit refuses
Departs     none
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from facelens.analyses.ensemble import percentiles
from facelens.analyses.rejection import Recognition
from facelens.images.faceset import FaceSet, Rows

Array = NDArray[np.float64]
Counts = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Enrolment:
    """The people of a gallery and how well they are enrolled; faces of nobody are not here."""

    rows: Rows  # (N,) of the FaceSet
    values: Array  # (N,)
    starts: Counts  # (C,)
    codes: NDArray[np.int32]  # (C,) of the identity, ascending
    pictures: Counts  # (C,)
    mean: Array  # (C,) NaN where no picture has a score
    highest: Array  # (C,)
    percentile: Array  # (C,) of the mean among the means of all people
    right: Counts  # (C,) pictures that are recognised
    judged: Counts  # (C,) of so many; 0 where there is no other picture

    def refused(self, limit: float) -> Counts:
        """(C,) pictures above `limit`."""
        if not len(self.starts):
            return np.zeros(0, np.int64)
        return np.asarray(np.add.reduceat(self.values > limit, self.starts, dtype=np.int64), np.int64)

    def faces(self, person: int) -> slice:
        """Where the pictures of a person lie in `rows` and `values`."""
        start = int(self.starts[person])
        return slice(start, start + int(self.pictures[person]))


def enrolment(faces: FaceSet, rows: Rows, values: Array, recognition: Recognition | None = None) -> Enrolment:
    """What the scores `values` (n,) of the faces at `rows` say about the people they show."""
    codes = faces.identity.codes[rows]
    named = np.flatnonzero(codes >= 0)
    worst_first = np.argsort(-values[named], kind="stable")  # NaN last
    order = named[worst_first[np.argsort(codes[named][worst_first], kind="stable")]]
    codes, values = codes[order], np.asarray(values, np.float64)[order]
    starts = np.flatnonzero(np.diff(codes, prepend=-1)).astype(np.int64)
    known = np.isfinite(values)
    right = recognition.right[order] if recognition is not None else np.full(len(order), -1, np.int8)

    def total(of: Array | NDArray[np.bool_]) -> Array:
        return np.add.reduceat(of, starts, dtype=np.float64) if len(starts) else np.zeros(0)

    with np.errstate(invalid="ignore"):
        mean = total(np.where(known, values, 0.0)) / total(known)
    return Enrolment(
        rows=np.asarray(rows, np.int64)[order],
        values=values,
        starts=starts,
        codes=codes[starts],
        pictures=np.diff(starts, append=len(codes)),
        mean=mean,
        highest=values[starts],
        percentile=percentiles(mean),
        right=total(right == 1).astype(np.int64),
        judged=total(right >= 0).astype(np.int64),
    )
