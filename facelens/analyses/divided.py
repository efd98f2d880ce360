"""Divided: how much the slices of an embedding, each the work of one learner, say the same.

Computes    mean of |r_ab| over dimensions a, b of different slices; r is Pearson's correlation over the faces
Shapes      vectors (N, D), D a multiple of the slices; -> one number in [0, 1]
Reference   Sanakoyeu, Tschernezki, Buchler, Ommer, "Divide and Conquer the Embedding Space", CVPR 2019; the paper
            prints the number without its definition, this is the nearest reading
Departs     dimensions that never change have no correlation and take no part
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from facelens.errors import InputError
from facelens.words import tr


def across_slices(vectors: NDArray[np.floating], slices: int) -> float:
    """How much dimensions of different slices vary together.

    >>> round(across_slices(np.array([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]]), 2), 6)
    1.0
    """
    N, D = vectors.shape
    if slices < 2 or D % slices:
        raise InputError(tr("{d} dimensions cannot be cut into {n} slices.", d=D, n=slices))
    centred = np.asarray(vectors, np.float64) - np.mean(vectors, 0, dtype=np.float64)
    length = np.linalg.norm(centred, axis=0)
    alive = length > 1e-12 * np.sqrt(max(N, 1))
    unit = centred[:, alive] / length[alive]
    slice_of = np.repeat(np.arange(slices), D // slices)[alive]
    apart = slice_of[:, None] != slice_of[None]
    if not apart.any():
        raise InputError(tr("No two slices vary, so they cannot be compared."))
    return float(min(np.abs(unit.T @ unit)[apart].mean(), 1.0))
