"""Ensemble: vectors of several models in one space become one vector each, and say how much the models disagree.

Computes    mean = (1/M) sum_i Z_i, Z_i unit vectors;  e = mean / ||mean||;  variance = (1/M) sum_i ||Z_i - mean||^2
            = 1 - ||mean||^2
Shapes      members M x (N, D) -> vectors (N, D) float32, variance (N,) float64 in [0, 1]
Reference   "Asymmetric Image Retrieval with Cross Model Compatible Ensembles"
Departs     none; the mean squared distance of pairs of members is 2M / (M - 1) times the variance
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from facelens.errors import InputError
from facelens.words import tr

Floats = NDArray[np.floating]


@dataclass(frozen=True, eq=False)
class Ensemble:
    """One vector for each face, and how far its members lie apart; faces that a member does not know are NaN."""

    vectors: NDArray[np.float32]
    variance: NDArray[np.float64]


def combined(members: Sequence[Floats]) -> Ensemble:
    """The ensemble of vectors (N, D) that lie in one space already."""
    if len(members) < 2:
        raise InputError(
            tr("Variance needs two models or more."), hint=tr("Load a second checkpoint, or use flip variance.")
        )
    if len({np.shape(one) for one in members}) > 1:
        raise InputError(
            tr("The members of an ensemble need the same faces and dimensions."),
            hint=tr("Map them into one space first."),
        )
    mean = np.zeros(np.shape(members[0]), np.float64)
    for one in members:
        wide = np.asarray(one, np.float64)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean += wide / np.linalg.norm(wide, axis=1, keepdims=True)
    mean /= len(members)
    length = np.linalg.norm(mean, axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        vectors = (mean / length[:, None]).astype(np.float32)
    return Ensemble(vectors, np.clip(1 - length**2, 0, 1))
