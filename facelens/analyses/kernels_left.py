"""Compiled: what is left of many pairs or searches, step by step, and in each draw of identities.

Things disappear at a step and do not come back; `gone` is the step at which they do, S where they stay. So steps are
taken backwards, and things are only added: `order` has them by descending `gone`, the first `ends[s]` are there at step
s. A draw b counts an identity weights[b, c] times. Draws are shared among threads: from `start` to `stop`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from facelens.compiling import compiled

_jit = compiled()


@_jit
def places(
    one: NDArray[np.int32],
    other: NDArray[np.int32],
    gone: NDArray[np.int16],
    order: NDArray[np.int32],
    ends: NDArray[np.int64],
    weights: NDArray[np.float32],
    allowed: NDArray[np.float64],
    shift: int,
    found: NDArray[np.int64],
    start: int,
    stop: int,
) -> None:
    """Into `found` (B, S): the first of the pairs, from the highest, with which those left weigh more than `allowed`.

    A pair of `one` and `other` weighs the product of both. Where all together weigh no more: their number.
    """
    steps = found.shape[1]
    mass = np.empty((len(gone) >> shift) + 1, np.float64)
    for b in range(start, stop):
        weight = weights[b]
        mass[:] = 0
        for s in range(steps - 1, -1, -1):
            for n in range(ends[s + 1], ends[s]):
                p = order[n]
                mass[p >> shift] += np.float64(weight[one[p]]) * weight[other[p]]
            limit = allowed[b, s]
            total = 0.0
            block = 0
            while block < len(mass) and total + mass[block] <= limit:
                total += mass[block]
                block += 1
            found[b, s] = len(gone)
            for p in range(block << shift, min((block + 1) << shift, len(gone))):
                if gone[p] > s:
                    total += np.float64(weight[one[p]]) * weight[other[p]]
                    if total > limit:
                        found[b, s] = p
                        break


@_jit
def accepted(
    of: NDArray[np.int32],
    gone: NDArray[np.int16],
    order: NDArray[np.int32],
    ends: NDArray[np.int64],
    weights: NDArray[np.float32],
    upto: NDArray[np.int64],
    shift: int,
    share: NDArray[np.float64],
    start: int,
    stop: int,
) -> None:
    """Into `share` (B, S): how much of the weight of the pairs left the first `upto` (B, S) have; NaN of nothing."""
    steps = share.shape[1]
    mass = np.empty((len(gone) >> shift) + 1, np.float64)
    for b in range(start, stop):
        weight = weights[b]
        mass[:] = 0
        every = 0.0
        for s in range(steps - 1, -1, -1):
            for n in range(ends[s + 1], ends[s]):
                p = order[n]
                mass[p >> shift] += weight[of[p]]
                every += weight[of[p]]
            last = upto[b, s]
            total = 0.0
            for block in range(last >> shift):
                total += mass[block]
            for p in range((last >> shift) << shift, last):
                if gone[p] > s:
                    total += weight[of[p]]
            share[b, s] = total / every if every > 0 else np.nan
