"""Ranking: a shortlist in the order of both stages, and what is said of each of its faces."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from facelens.analyses import reranking
from facelens.analyses.reranking import Reranked
from facelens.images.faceset import FaceSet
from facelens.words import number, tr

RIGHT, WRONG, UNKNOWN = 1, -1, 0


@dataclass(frozen=True, eq=False)
class Ranking:
    """A query and its shortlist; an entry is a place by cosine, counted from 0."""

    faces: FaceSet
    found: Reranked
    alpha: float
    query: int  # id; the person on it, also where it was painted on
    rows: NDArray[np.int64]  # (k,) of `faces`, -1 where a face is gone
    verdict: NDArray[np.int8]  # (k,) RIGHT, WRONG, or UNKNOWN where a name is missing
    distance: NDArray[np.float64]  # (k,)
    order: NDArray[np.int64]  # (k,) entries, the nearest first
    place: NDArray[np.int64]  # (k,) of each entry in `order`

    @classmethod
    def make(cls, faces: FaceSet, found: Reranked, *, alpha: float, query: int, person: int | None = None) -> Ranking:
        """Put a shortlist in the order of a share of the patches.

        `person` is who the query is among the identities of `faces`, -1: nobody there; None: as `faces` say.
        """
        order = reranking.order(found, alpha=alpha)
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        rows = _rows(faces, found.ids)
        codes = np.where(rows >= 0, faces.identity.codes[rows], -1) if len(faces) else np.full(len(rows), -1)
        if person is None:
            asked = faces.row_of(query)
            person = -1 if asked is None else int(faces.identity.codes[asked])
        verdict = np.where(codes == person, RIGHT, WRONG)
        verdict[(codes < 0) | (person < 0)] = UNKNOWN
        distance = reranking.blended(found.cosine, found.emd, alpha=alpha)
        return cls(faces, found, alpha, query, rows, verdict.astype(np.int8), distance, order, place)

    def __len__(self) -> int:
        return len(self.order)

    def same_faces(self, other: Ranking | None) -> bool:
        """Whether the first stage found the same, so that ranks may move from one to the other."""
        return other is not None and np.array_equal(self.found.ids, other.found.ids)

    @cached_property
    def entries(self) -> dict[int, int]:
        """The entry of each id."""
        return {face: entry for entry, face in enumerate(self.found.ids.tolist())}

    @cached_property
    def first(self) -> int | None:
        """The entry of the first right face after the second stage."""
        right = np.flatnonzero(self.verdict[self.order] == RIGHT)
        return int(self.order[right[0]]) if len(right) else None

    # Words

    def name(self, entry: int) -> str:
        """Whom an entry shows."""
        return self.faces.label(int(self.rows[entry])) if self.rows[entry] >= 0 else tr("not in the gallery")

    def judged(self, entry: int) -> str:
        """Whether an entry is right, in a word."""
        return {RIGHT: tr("right"), WRONG: tr("wrong")}.get(int(self.verdict[entry]), "")

    def told(self, entry: int) -> tuple[tuple[str, str], ...]:
        """What is known of an entry: what it is, and the value."""
        before, after = (f"{rank:,}" for rank in (entry + 1, int(self.place[entry]) + 1))
        return (
            (tr("cosine"), number(float(self.found.cosine[entry]))),
            (tr("EMD"), number(float(self.found.emd[entry]))),
            (self.blend, number(float(self.distance[entry]))),
            (tr("rank"), tr("{before} → {after}", before=before, after=after)),
        )

    @property
    def blend(self) -> str:
        """What the second stage sorts by."""
        return tr("sum") if self.alpha < 0 else tr("blended")


def _rows(faces: FaceSet, ids: NDArray[np.int64]) -> NDArray[np.int64]:
    """(k,) rows of ids, -1 where there is none."""
    found = faces.rows_of(ids)
    if len(found) == len(ids):
        return found
    known = dict(zip(faces.ids[found].tolist(), found.tolist()))
    return np.array([known.get(face, -1) for face in ids.tolist()], np.int64)
