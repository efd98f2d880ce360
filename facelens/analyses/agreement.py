"""Agreement: whether the vectors of two models can be compared, and how the map of one is turned to agree with another.

Computes    apart     (mean of u_i . v_i - mean of u_i . v_j) / sqrt((their variances) / 2): by how many standard
                      deviations a face's two vectors are more alike than those of two faces
            turned    s Q R + t, with the rotation or reflection R, the scale s and the shift t that bring it closest
                      to P; R = U V' of the singular value decomposition of the centred Q' P
            residual  sum |P - Q|^2 / sum |P - mean of P|^2: 0 of one map, 1 of two with nothing in common
            moved     1 - u_i . v_i of a face's two vectors where they can be compared, else |P_i - Q_i| / root mean
                      square of |P - mean of P|: how far a face went on the map
Shapes      vectors (N, D), of length 1; points P, Q (N, 2)
Reference   Schönemann, Carroll, "Fitting one matrix to another", Psychometrika 1970
Departs     none
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from facelens.analyses.layouts import BLOCK, Floats, Vectors

CLEARLY = 1.0  # standard deviations; two networks that were trained apart reach 0.2, any upgrade that is compatible 4
SOME = 3000  # faces it is looked at
_TINY = 1e-12


@dataclass(frozen=True)
class Alike:
    """How alike the vectors of two models are: the mean cosine of a face's two vectors, and of those of two faces."""

    own: float
    others: float
    apart: float

    @property
    def clear(self) -> bool:
        """Whether they can be compared."""
        return self.apart >= CLEARLY


def alike(x: Floats, y: Floats) -> Alike | None:
    """Of vectors row by row of the same faces; None where their dimensions differ, or there is but one face.

    >>> x = np.random.default_rng(0).standard_normal((50, 8))
    >>> alike(x, x).clear, alike(x, x[:, ::-1]).clear, alike(x, x[:, 1:])
    (True, False, None)
    """
    if x.shape != y.shape or len(x) < 2:
        return None
    u, v = (one / np.maximum(np.linalg.norm(one, axis=1, keepdims=True), _TINY) for one in (x, y))
    shift = 1 + len(u) // 3  # neighbours in a gallery are often one person
    own, others = ((u * w).sum(1, dtype=np.float64) for w in (v, np.roll(v, shift, 0)))
    spread = max(float(np.sqrt((own.var() + others.var()) / 2)), _TINY)
    means = float(own.mean()), float(others.mean())
    return Alike(*means, (means[0] - means[1]) / spread)


def turned(points: Floats, onto: Floats) -> Floats:
    """`points` turned, mirrored, scaled and shifted to lie as close to `onto` as they can, row by row.

    >>> onto = np.array([[0, 0], [2, 0], [0, 1]], np.float32)
    >>> turned(7 - 3 * onto[:, ::-1], onto).round(3).tolist() == onto.tolist()
    True
    """
    if not len(points):
        return points
    p, q = np.asarray(onto, np.float64), np.asarray(points, np.float64)
    here, there = p.mean(0), q.mean(0)
    p, q = p - here, q - there
    left, sizes, right = np.linalg.svd(q.T @ p)
    scale = sizes.sum() / max(float((q * q).sum()), _TINY)
    return np.asarray(scale * q @ (left @ right) + here, np.float32)


def residual(points: Floats, other: Floats) -> float:
    """What is left between two maps, in shares of the first's spread.

    >>> residual(np.array([[0, 0], [2, 0]]), np.array([[0, 1], [2, 1]]))
    1.0
    """
    if not len(points):
        return 0.0
    p, q = np.asarray(points, np.float64), np.asarray(other, np.float64)
    spread = float(((p - p.mean(0)) ** 2).sum())
    return float(((p - q) ** 2).sum()) / spread if spread > _TINY else 0.0


def apart(x: Vectors, y: Vectors) -> Floats:
    """(N,) 1 - cosine of the two vectors of each face, of the same dimensions.

    >>> apart(np.array([[3, 0], [0, 2]], np.float32), np.array([[1, 0], [1, 0]], np.float32)).tolist()
    [0.0, 1.0]
    """
    found = np.empty(len(x), np.float32)
    step = max(1, BLOCK // max(1, x.shape[1]))
    for start in range(0, len(x), step):
        u, v = x[start : start + step], y[start : start + step]
        lengths = np.linalg.norm(u, axis=1) * np.linalg.norm(v, axis=1)
        found[start : start + step] = 1 - np.einsum("nd,nd->n", u, v) / np.maximum(lengths, _TINY)
    return found


def walked(points: Floats, other: Floats) -> Floats:
    """(N,) how far each face is from itself on the other map, in shares of the first map's spread.

    >>> walked(np.array([[0, 0], [2, 0]]), np.array([[0, 1], [2, 0]])).tolist()
    [1.0, 0.0]
    """
    p, q = np.asarray(points, np.float64), np.asarray(other, np.float64)
    spread = float(np.sqrt(((p - p.mean(0)) ** 2).sum(1).mean())) if len(p) else 0.0
    return np.asarray(np.hypot(*(p - q).T) / max(spread, _TINY), np.float32)
