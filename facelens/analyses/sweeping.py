"""Sweeping: what the second stage does to many queries, at every share alpha and with every way to weigh patches.

Computes    for each query the places of the right faces: those of the shortlist in the order of Eq. 9 (`reranking`),
            the others where the first stage had them; with R right ones at ranks r_1 < r_2 < ...:
            P@1 = [r_1 = 1]; RP = #{r_i <= R} / R; MAP@R = 1/R sum over r_i <= R of i / r_i; means over queries
Shapes      shortlist of k; alphas (A,); values (A, 3); ranks (A, Q)
Reference   Phan, Nguyen, "DeepFace-EMD", CVPR 2022 (Fig. S3); Musgrave, Belongie and Lim, A metric learning reality
            check, ECCV 2020
Departs     R never counts the query itself
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from facelens.analyses import retrieval
from facelens.analyses.measure import Measure
from facelens.analyses.plan import PLAIN_SUM, RESAMPLES
from facelens.analyses.reranking import Array, Sweep, SweepRow, blended
from facelens.words import tr

ALPHAS = (PLAIN_SUM, *(round(0.05 * step, 2) for step in range(21)))
MEASURES = ("P@1", "RP", "MAP@R")


@dataclass(frozen=True, eq=False)
class Line:
    """What was found for one query."""

    query: int
    person: int
    cosine: Array  # (k,) of the shortlist, descending
    emd: Mapping[str, Array]  # weights -> (k,)
    right: NDArray[np.bool_]  # (k,)
    beyond: NDArray[np.int64]  # ranks of the right faces that are not on the shortlist, ascending


@dataclass
class Tally:
    """Lines as they come in, and what they amount to so far."""

    weights: tuple[str, ...]
    alphas: tuple[float, ...] = ALPHAS
    _queries: list[int] = field(default_factory=list)
    _people: list[int] = field(default_factory=list)
    _before: list[tuple[Array, int]] = field(default_factory=list)  # values (3,), rank of the first right face
    _after: dict[str, list[tuple[Array, NDArray[np.int64]]]] = field(default_factory=dict)  # (A, 3), (A,)

    def __len__(self) -> int:
        return len(self._queries)

    def add(self, line: Line) -> None:
        """Another query."""
        self._queries.append(line.query)
        self._people.append(line.person)
        values, first = _values(line.right[None], line.beyond)
        self._before.append((values[0], int(first[0])))
        for kind in self.weights:
            distance = np.stack([blended(line.cosine, line.emd[kind], alpha=alpha) for alpha in self.alphas])
            places = np.argsort(distance, axis=1, kind="stable")
            self._after.setdefault(kind, []).append(_values(line.right[places], line.beyond))

    def sweep(
        self,
        *,
        occlusion: str,
        gallery: int,
        shortlist: int,
        solver: str,
        how: str,
        complete: bool,
        notes: Sequence[str] = (),
        resamples: int = RESAMPLES,
    ) -> Sweep:
        """Means over the queries so far, with intervals over people."""
        tables = [np.array([one for one, _ in self._before]).reshape(-1, 1, len(MEASURES))]
        for kind in self.weights:
            lines = self._after.get(kind, [])
            tables.append(np.array([one for one, _ in lines]).reshape(-1, len(self.alphas), len(MEASURES)))
        ranks = np.array([first for _, first in self._before], np.int32)
        whole, *steps = np.split(self._measures(tables, ranks > 0, resamples), [1])
        rows = []
        for place, kind in enumerate(self.weights):
            here = steps[0][place * len(self.alphas) : (place + 1) * len(self.alphas)]
            firsts = np.array([first for _, first in self._after.get(kind, [])], np.int32)
            rows.append(
                SweepRow(
                    kind,
                    self.alphas,
                    {name: tuple(here[:, column]) for column, name in enumerate(MEASURES)},
                    firsts.reshape(-1, len(self.alphas)).T,
                )
            )
        return Sweep(
            queries=np.array(self._queries, np.int64),
            before=dict(zip(MEASURES, whole[0])),
            ranks=ranks,
            rows=tuple(rows),
            occlusion=occlusion,
            gallery=gallery,
            shortlist=shortlist,
            solver=solver,
            how=how,
            complete=complete,
            notes=tuple(notes),
        )

    def _measures(self, tables: Sequence[Array], counted: NDArray[np.bool_], resamples: int) -> NDArray[np.object_]:
        """(n, 3) of all tables (Q, ., 3) side by side; the same people are drawn for all of them."""
        values = np.concatenate(tables, 1)
        found = np.empty(values.shape[1:], object)
        if not counted.any():
            found[...] = Measure.none(tr("no query has another picture of the same person"))
            return found
        columns = {str(n): (column, counted) for n, column in enumerate(values.reshape(len(values), -1).T)}
        means = retrieval.means(columns, np.array(self._people, np.int32), resamples=resamples, seed=0)
        found.ravel()[:] = list(means.values())
        return found


def _values(right: NDArray[np.bool_], beyond: NDArray[np.int64]) -> tuple[Array, NDArray[np.int64]]:
    """(A, 3) the measures of A orders (A, k) of a shortlist, and the ranks (A,) of the first right face, 0 for none."""
    A, k = right.shape
    upto = np.cumsum(right, 1)
    here = int(upto[0, -1]) if k else 0
    R = here + len(beyond)
    if not R:
        return np.zeros((A, len(MEASURES))), np.zeros(A, np.int64)
    near = min(R, k)
    ranks = np.arange(1, near + 1)
    counted = upto[:, near - 1] if near else np.zeros(A)
    precision = (upto[:, :near] / ranks * right[:, :near]).sum(1)
    further = beyond[beyond <= R]
    precision = precision + (np.arange(here + 1, here + 1 + len(further)) / further).sum()
    first = right.argmax(1) + 1 if here else np.full(A, beyond[0])
    return np.stack([first == 1, (counted + len(further)) / R, precision / R], 1).astype(np.float64), first
