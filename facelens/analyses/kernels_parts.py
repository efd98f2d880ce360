"""Compiled: the rank of the first right face of many searches, each with many choices of parts.

Choices come one after the other, each told by its difference from the one before: `moves` are parts that are added
(sign 1) or taken away (-1), those of choice s from stops[s] to stops[s + 1]; a `fresh` choice starts from nothing. The
same numbers go through the same steps wherever a face stands, so faces with the same vector have the same score.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from facelens.compiling import compiled

_jit = compiled()
TILE = 2048  # faces looked at together, so that their sums stay near the processor


@_jit
def first_right(
    votes: NDArray[np.float32],
    square: NDArray[np.float32],
    moves: NDArray[np.int64],
    signs: NDArray[np.float32],
    stops: NDArray[np.int64],
    fresh: NDArray[np.bool_],
    order: NDArray[np.int64],
    begin: NDArray[np.int64],
    end: NDArray[np.int64],
    found: NDArray[np.int32],
    start: int,
    stop: int,
) -> None:
    """Into `found` (q, S) the ranks of searches `start` to `stop`, ties by place.

    `votes` (K, q, G), -inf where a search meets itself; `square` (K, G) what scores are divided by the root of, (0, G)
    where by nothing. The right faces of search i are order[begin[i] : end[i]], ascending, itself among them.
    """
    K, S, G = votes.shape[0], len(fresh), votes.shape[2]
    divided = len(square) > 0
    total, length, score = np.empty(TILE, np.float32), np.empty(TILE, np.float32), np.empty(TILE, np.float32)
    part, size = np.empty((K, TILE), np.float32), np.empty((len(square), TILE), np.float32)
    best, at = np.empty(S, np.float32), np.empty(S, np.int64)
    for i in range(start, stop):
        best[:] = -np.inf
        at[:] = -1
        right = end[i] - begin[i]
        tiles = (right + TILE - 1) // TILE
        for tile in range(tiles + (G + TILE - 1) // TILE):  # the right faces first, then all
            inside = tile < tiles
            first = TILE * (tile if inside else tile - tiles)
            n = min(TILE, (right if inside else G) - first)
            for k in range(K):
                for j in range(n):
                    part[k, j] = votes[k, i, order[begin[i] + first + j] if inside else first + j]
            if divided:
                for k in range(K):
                    for j in range(n):
                        size[k, j] = square[k, order[begin[i] + first + j] if inside else first + j]
            for s in range(S):
                if fresh[s]:
                    total[:n] = 0
                    length[:n] = 0
                for m in range(stops[s], stops[s + 1]):
                    k, sign = moves[m], signs[m]
                    for j in range(n):
                        total[j] += sign * part[k, j]
                    if divided:
                        for j in range(n):
                            length[j] += sign * size[k, j]
                if divided:
                    for j in range(n):
                        score[j] = total[j] / np.sqrt(max(length[j], np.float32(1e-30)))
                else:
                    for j in range(n):
                        score[j] = total[j]
                if inside:
                    for j in range(n):
                        if score[j] > best[s]:
                            best[s], at[s] = score[j], order[begin[i] + first + j]
                    continue
                # Ahead are those that score higher, and those before it that score the same.
                border, ahead = min(max(at[s] - first, 0), n), 0
                for j in range(border):
                    ahead += score[j] >= best[s]
                for j in range(border, n):
                    ahead += score[j] > best[s]
                if first == 0:
                    found[i, s] = 1
                found[i, s] += ahead
