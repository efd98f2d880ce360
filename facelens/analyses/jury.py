"""Jury: how each part of an embedding votes on a pair, and what becomes of the score when some are left out.

Computes    score = sum over the parts kept of votes (see `parts`); threshold t at a FAR: of the pool's impostors the
            (k + 1)-th highest score, k = floor(FAR n); same person: score above it
            fair share of part k in the threshold: m_k + (t - sum of m) / |S|, m_k its mean vote on impostors; a part
            disagrees where its vote lies on the other side of its share than the score of the threshold
            rank of a face: how many others score higher with the query, plus one, the query itself left out
Shapes      votes (K,), products (N, K), kept (K,) bool
Reference   Shi, Yu, Sohn, Chandraker, Jain, "Towards Universal Representation Learning for Deep Face Recognition",
            CVPR 2020
Departs     rates come from a pool of pairs, not from all; the Measure says of how many
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from facelens.analyses.measure import Measure

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Ruling:
    """What is decided at a FAR with some parts kept."""

    kept: NDArray[np.bool_]  # (K,)
    far: float
    threshold: float | None  # None where the pool has too few impostors for this FAR
    tar: Measure  # over the pool
    typical: Array  # (K,) mean vote on impostor pairs
    genuine: Array  # (K,) mean vote on genuine pairs
    share: Array  # (K,) of each part in the threshold, NaN for those left out and without a threshold
    why: str = ""  # there is no threshold


@dataclass(frozen=True, eq=False)
class Verdict:
    """One pair."""

    query: int  # ids
    gallery: int
    genuine: bool | None  # whether they are the same person; None: nobody knows
    votes: Array  # (K,) adding up to the score; parts left out: what they would say, see `kept`
    kept: NDArray[np.bool_]
    score: float
    whole: float  # the score with all parts
    same: bool | None  # as decided; None without a threshold
    disagree: tuple[int, ...]  # parts whose vote speaks against the decision


@dataclass(frozen=True)
class Standing:
    """Where the gallery face of a pair stands in the query's list, with all parts and with those kept."""

    before: int
    after: int
    of: int  # faces in the list
    mate_before: int  # the first face of the query's person, 0 = there is none
    mate_after: int


@dataclass(frozen=True, eq=False)
class Average:
    """Votes over many pairs."""

    which: str  # of WHICH
    votes: Array  # (K,) mean
    low: Array  # (K,) quartiles
    high: Array
    n: int  # pairs
    among: str  # in words: among which pairs


WHICH = ("false matches", "false non-matches", "genuine", "impostor")
