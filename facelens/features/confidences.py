"""How the confidences of each sub-embedding are spread over faces, small enough for a row of history.

Computes    for each group of faces and each part: counts in BINS bins, equally wide in the logarithm and the same for
            all groups and parts, and the quantiles MARKS
Shapes      confidence (n, K) of a group, higher is surer, above 0; counts (K, BINS); quantiles (K, 5)
Reference   Shi, Yu, Sohn, Chandraker, Jain, "Towards Universal Representation Learning for Deep Face Recognition",
            CVPR 2020, supplement, Fig. 1
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

BINS = 20
MARKS = (0.05, 0.25, 0.5, 0.75, 0.95)
_LEAST = 1e-12


def spread(groups: Mapping[str, NDArray[np.floating[Any]]]) -> dict[str, Any]:
    """Groups of faces by name, told in numbers that JSON takes; groups without faces are left out.

    >>> told = spread({"clean": np.array([[1.0], [10.0], [100.0]])})
    >>> told["low"], told["high"], told["groups"]["clean"]["quantiles"]
    (1.0, 100.0, [[1.9, 5.5, 10.0, 55.0, 91.0]])
    """
    known = {name: np.log(np.maximum(found, _LEAST, dtype=np.float64)) for name, found in groups.items() if len(found)}
    if not known:
        return {}
    low, high = (float(pick([pick(found) for found in known.values()])) for pick in (np.min, np.max))
    if high < low + 0.02:  # all the same, as at the start: a bin in the middle
        low, high = low - 0.02, high + 0.02
    edges = np.linspace(low, high, BINS + 1)
    told = {
        name: {
            "counts": [np.histogram(np.clip(part, low, high), edges)[0].tolist() for part in found.T],
            "quantiles": [[_short(mark) for mark in np.quantile(np.exp(part), MARKS)] for part in found.T],
        }
        for name, found in known.items()
    }
    return {"low": _short(np.exp(low)), "high": _short(np.exp(high)), "groups": told}


def _short(value: float) -> float:
    return float(f"{value:.4g}")
