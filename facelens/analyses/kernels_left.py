"""Compiled: what is left of many pairs, step by step, in many draws of identities at once.

Pairs disappear at a step and do not come back; `gone` is the step at which they do, S where they stay. So steps are
taken backwards, and pairs are only added: sorted by descending `gone`, the first `ends[s]` are there at step s. Weights
are summed up in blocks of 2^shift pairs by descending score, `block` is that of each pair. A draw counts identity c as
often as `weights` says; LANES draws are worked on together, and groups of them shared by threads: `start` to `stop`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from facelens.compiling import compiled

_jit = compiled()
LANES = 16  # draws in a vector of the processor


@_jit
def places(
    one: NDArray[np.int32],
    other: NDArray[np.int32],
    block: NDArray[np.int32],
    ends: NDArray[np.int64],
    first: NDArray[np.int32],
    second: NDArray[np.int32],
    codes: NDArray[np.int32],
    gone: NDArray[np.int16],
    weights: NDArray[np.float32],
    allowed: NDArray[np.float64],
    shift: int,
    found: NDArray[np.int64],
    start: int,
    stop: int,
) -> None:
    """Into `found` (G, S, L): the pair, from the highest, with which those left weigh more than `allowed` (G, S, L).

    Where all together weigh no more: their number. A pair of `one` and `other`, people, weighs the product of both;
    they and `block` are sorted by `gone`, the rest by score.
    """
    steps = found.shape[1]
    mass = np.empty(((len(gone) >> shift) + 1, LANES), np.float32)  # whole numbers that small are exact
    running, total = np.empty(LANES, np.float64), np.empty(LANES, np.float64)
    taken = np.empty(LANES, np.int64)
    for g in range(start, stop):
        weight = weights[g]
        mass[:] = 0
        for s in range(steps - 1, -1, -1):
            for n in range(ends[s + 1], ends[s]):
                b, i, j = block[n], one[n], other[n]
                for k in range(LANES):
                    mass[b, k] += weight[i, k] * weight[j, k]
            limit = allowed[g, s]
            running[:] = 0
            total[:] = 0
            taken[:] = 0
            for b in range(len(mass)):
                for k in range(LANES):
                    running[k] += mass[b, k]
                    inside = running[k] <= limit[k]
                    total[k] = running[k] if inside else total[k]
                    taken[k] += inside
            for k in range(LANES):
                found[g, s, k] = len(gone)
                weighed = total[k]
                for p in range(taken[k] << shift, min((taken[k] + 1) << shift, len(gone))):
                    if gone[p] > s:
                        weighed += weight[codes[first[p]], k] * weight[codes[second[p]], k]
                        if weighed > limit[k]:
                            found[g, s, k] = p
                            break


@_jit
def accepted(
    of: NDArray[np.int32],
    block: NDArray[np.int32],
    ends: NDArray[np.int64],
    first: NDArray[np.int32],
    codes: NDArray[np.int32],
    gone: NDArray[np.int16],
    weights: NDArray[np.float32],
    upto: NDArray[np.int64],
    shift: int,
    share: NDArray[np.float64],
    start: int,
    stop: int,
) -> None:
    """Into `share` (G, S, L): how much of the weight of the pairs left the first `upto` of all have; NaN of nothing.

    A pair is of one person and weighs what that person does; `of` and `block` are sorted by `gone`, the rest by score.
    """
    steps = share.shape[1]
    mass = np.empty(((len(gone) >> shift) + 1, LANES), np.float32)
    every, total = np.empty(LANES, np.float64), np.empty(LANES, np.float64)
    for g in range(start, stop):
        weight = weights[g]
        mass[:] = 0
        for s in range(steps - 1, -1, -1):
            for n in range(ends[s + 1], ends[s]):
                b, i = block[n], of[n]
                for k in range(LANES):
                    mass[b, k] += weight[i, k]
            last = upto[g, s]
            every[:] = 0
            total[:] = 0
            for b in range(len(mass)):
                for k in range(LANES):
                    every[k] += mass[b, k]
                    total[k] += mass[b, k] if b < last[k] >> shift else 0.0
            for k in range(LANES):
                for p in range((last[k] >> shift) << shift, last[k]):
                    if gone[p] > s:
                        total[k] += weight[codes[first[p]], k]
                share[g, s, k] = total[k] / every[k] if every[k] > 0 else np.nan
