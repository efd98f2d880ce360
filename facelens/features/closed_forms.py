"""Matrices that bring one model's vectors near another's, without training. Needs no torch.

Computes    x_i, y_i the unit vectors of picture i by the two models, n pictures, d_1 and d_2 dimensions
            ridge       the W that makes mean_i ||x_i W - y_i||^2 + (s / d_1) ||W||^2 smallest, that is
                        (X'X + s n / d_1)^-1 X'Y. n / d_1 is the mean eigenvalue of X'X, so that a strength s means the
                        same whatever the number of pictures
            procrustes  the W of orthonormal rows (d_1 <= d_2) or columns (d_1 >= d_2) that makes sum_i x_i W . y_i
                        largest: U V' of the singular vectors of X'Y
Shapes      source (n, d_1), target (n, d_2) unit; X'X (d_1, d_1), X'Y (d_1, d_2), W (d_1, d_2) float64
Reference   Hoerl, Kennard, "Ridge Regression", 1970; Schönemann, "A generalized solution of the orthogonal Procrustes
            problem", 1966
Departs     none
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from facelens.progress import Tick, silent
from facelens.words import tr

Floats = NDArray[np.floating[Any]]
Matrix = NDArray[np.float64]

CLOSED = ("ridge", "procrustes")
STRENGTH = 0.01
_BLOCK = 16_384  # pictures at a time


class Way(NamedTuple):
    """A method of fitting, with its strength where it is a ridge."""

    method: str
    strength: float = 0.0

    def __str__(self) -> str:
        usual = self.method != "ridge" or self.strength == STRENGTH
        return self.method if usual else tr("ridge of strength {s}", s=f"{self.strength:g}")


@dataclass(frozen=True, eq=False)
class Moments:
    """All that closed forms need to know of n pictures: X'X and X'Y. Those of some pictures can be taken out again."""

    xx: Matrix
    xy: Matrix
    n: int

    @classmethod
    def of(cls, source: Floats, target: Floats, *, tick: Tick = silent) -> Moments:
        """Of unit vectors."""
        xx, xy = np.zeros((source.shape[1], source.shape[1])), np.zeros((source.shape[1], target.shape[1]))
        for start in range(0, len(source), _BLOCK):
            tick(start, len(source))
            x, y = (np.asarray(one[start : start + _BLOCK], np.float64) for one in (source, target))
            xx += x.T @ x
            xy += x.T @ y
        return cls(xx, xy, len(source))

    def __sub__(self, other: Moments) -> Moments:
        return Moments(self.xx - other.xx, self.xy - other.xy, self.n - other.n)


def solved(way: Way, moments: Moments) -> Matrix:
    """W, by one of CLOSED."""
    return ridge(moments, strength=way.strength) if way.method == "ridge" else procrustes(moments)


def ridge(moments: Moments, *, strength: float = STRENGTH) -> Matrix:
    """W that is near everywhere, and keeps small where there is little to go by."""
    width = len(moments.xx)
    lifted = moments.xx + strength * moments.n / width * np.eye(width)
    return np.asarray(np.linalg.solve(lifted, moments.xy), np.float64)


def procrustes(moments: Moments) -> Matrix:
    """W that turns and mirrors, and stretches nothing."""
    u, _, v = np.linalg.svd(moments.xy, full_matrices=False)
    found: Matrix = u @ v
    return found
