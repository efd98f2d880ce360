"""Rejection: what refusing the worst pictures does to the errors of those that are kept.

Computes    steps of coverage c from 1 downwards; of N pictures the c N with the lowest score u are kept, ties together
            1:1  a pair is compared when both pictures are kept; error = 1 - TAR at the same FAR, the threshold found
                 anew on the pairs that are left
            1:N  refused pictures leave the templates of the gallery before pooling; error = 1 - TPIR at the same FPIR
            relative error = (error - error at c = 1) / error at c = 1;  AURC = area below error over c, trapezoid,
            divided by the range of c
Shapes      arrays over S steps, by descending coverage; per face (N,)
Reference   Shoshan et al., "Asymmetric Image Retrieval with Cross Model Compatible Ensembles", WACV 2024
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from facelens.analyses.measure import Measure
from facelens.images.faceset import Ids

Array = NDArray[np.float64]
Counts = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Band:
    """Values over the steps with their limits; NaN where there is none."""

    value: Array
    low: Array
    high: Array


@dataclass(frozen=True, eq=False)
class Risk:
    """The errors that are left at every step of coverage, by one score; step 0 keeps everything."""

    task: str  # "1:1" or "1:N"
    rate: float  # the FAR or FPIR asked for
    coverage: Array  # (S,) kept / N, descending from 1
    kept: Counts  # (S,) pictures
    limit: Array  # (S,) pictures with a score above it are refused; inf at step 0
    error: Band  # (S,) 1 - TAR or 1 - TPIR
    gain: Band  # (S,) TAR or TPIR minus that of step 0, paired
    change: Band  # (S,) relative error: -0.3 is 30 % fewer errors
    threshold: Array  # (S,) similarity above which two are the same
    n: Counts  # (S,) genuine pairs, or searches of enrolled people
    random: Array  # (S,) error when as many are refused at random
    best: Array  # (S,) error when pictures are refused by their own errors, which nobody knows beforehand
    emptied: Counts  # (S,) 1:N: templates that lost all their pictures (kept with the best one, or un-enrolled)
    dropped: Counts  # (S,) 1:N: searches that no longer count because their person was un-enrolled
    area: Measure  # AURC
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Recognition:
    """For every face whether it is recognised: `right` 1, wrong 0, -1 where its person has no other picture."""

    right: NDArray[np.int8]  # (N,)
    mate: Ids  # (N,) the closest face of the same person, -1
    mate_score: Array  # (N,) NaN where there is none
    other: Ids  # (N,) the closest face of anybody else, -1
    other_score: Array
    missed: NDArray[np.float32]  # (N,) share of its genuine pairs below the threshold, NaN without one
    threshold: float | None  # at the FAR of 1:1; None where there is none
    rule: str  # of RULES
