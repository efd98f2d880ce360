"""Kernels: what is done with every single number of a block of similarities, compiled.

Each works on some rows of a block and lets go of the interpreter, so that threads can share a block by rows.
Imported only where there is a lot to do: compiling, and even loading what was compiled, costs a second.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from facelens.compiling import compiled

_jit = compiled()
CHUNK = 256  # numbers looked at together, in loops that are vectorised


@_jit
def best(
    block: NDArray[np.float32],
    column: int,
    without: NDArray[np.int64],
    scores: NDArray[np.float32],
    rows: NDArray[np.int64],
    start: int,
    stop: int,
) -> None:
    """Put what is better in rows `start` to `stop` of `block` into the descending lists `scores` and `rows`.

    Blocks come by ascending columns, the first of this one is `column`; so of equals the one with the smaller column
    is ahead. `without` is a column that must not be taken.
    """
    k = scores.shape[1]
    columns = block.shape[1]
    for i in range(start, stop):
        least = scores[i, k - 1]
        for first in range(0, columns, CHUNK):
            last = min(first + CHUNK, columns)
            better = 0
            for j in range(first, last):
                better += block[i, j] > least
            if better == 0:
                continue
            for j in range(first, last):
                score = block[i, j]
                if score > least and column + j != without[i]:
                    place = k - 1
                    while place > 0 and scores[i, place - 1] < score:
                        scores[i, place] = scores[i, place - 1]
                        rows[i, place] = rows[i, place - 1]
                        place -= 1
                    scores[i, place] = score
                    rows[i, place] = column + j
                    least = scores[i, k - 1]


@_jit
def others(
    block: NDArray[np.float32],
    row: int,
    column: int,
    codes: NDArray[np.int32],
    ordered: bool,
    across: bool,
    scores: NDArray[np.float32],
    rows: NDArray[np.int64],
    start: int,
    stop: int,
) -> None:
    """Put the best column of another code into `scores` and `rows`, for the rows `start` to `stop` of the block.

    With `across` the best row, for its columns `start` to `stop`. The block starts at `row` and `column` of all things
    compared; unless `ordered`, only columns after a row count. Of equals the one that came first stays.
    """
    for i in range(0 if across else start, block.shape[0] if across else stop):
        me = row + i
        begin = 0 if ordered else max(0, me + 1 - column)
        if across:
            for j in range(max(begin, start), stop):
                if block[i, j] > scores[column + j] and codes[column + j] != codes[me]:
                    scores[column + j] = block[i, j]
                    rows[column + j] = me
        else:
            for j in range(begin, block.shape[1]):
                if block[i, j] > scores[me] and codes[column + j] != codes[me]:
                    scores[me] = block[i, j]
                    rows[me] = column + j


IMPOSTOR, GENUINE, EITHER = 0, 1, 2


@_jit
def _bins(
    line: NDArray[np.float32],
    others: NDArray[np.int32],
    code: int,
    kind: int,
    scale: float,
    base: float,
    bins: int,
    places: NDArray[np.int32],
) -> None:
    """The bin of each score in `line`, or `bins` where it has none or the pair is of another kind.

    Bin n holds base + n <= score * scale < base + n + 1. `scale` is a power of 2, so this is exact. Without a branch:
    the loop is vectorised.
    """
    factor, lowest, none = line.dtype.type(scale), line.dtype.type(base), line.dtype.type(bins)
    wrong = kind == IMPOSTOR
    either = kind == EITHER
    for j in range(len(line)):
        place = np.floor(line[j] * factor) - lowest
        good = (place >= 0) & (place < none) & (((others[j] == code) != wrong) | either)
        places[j] = np.int32(place if good else none)


@_jit
def tally(
    block: NDArray[np.float32],
    row: int,
    column: int,
    codes: NDArray[np.int32],
    ordered: bool,
    scale: float,
    base: float,
    counts: NDArray[np.int64],
    start: int,
    stop: int,
) -> None:
    """Count the impostor pairs of rows `start` to `stop` in bins as above; the last of `counts` is for all others.

    The block starts at `row` and `column` of all things compared. Counted are the columns after a row, or where
    `ordered` all but the row itself, which is of its own identity.
    """
    columns = block.shape[1]
    bins = len(counts) - 1
    places = np.empty(CHUNK, np.int32)
    others = codes[column : column + columns]
    for i in range(start, stop):
        me = row + i
        for begin in range(0 if ordered else max(0, me + 1 - column), columns, CHUNK):
            end = min(begin + CHUNK, columns)
            _bins(block[i, begin:end], others[begin:end], codes[me], IMPOSTOR, scale, base, bins, places)
            for j in range(end - begin):
                counts[np.uint64(places[j])] += 1


@_jit
def pick(
    block: NDArray[np.float32],
    row: int,
    column: int,
    codes: NDArray[np.int32],
    ordered: bool,
    kind: int,
    scale: float,
    base: float,
    wanted: NDArray[np.uint8],
    lows: NDArray[np.float64],
    highs: NDArray[np.float64],
    scores: NDArray[np.float32],
    first: NDArray[np.int32],
    second: NDArray[np.int32],
    start: int,
    stop: int,
) -> tuple[int, int]:
    """Collect the pairs of one kind that are wanted; the row it came to, and how many pairs it put down.

    It stops before a row that may not fit in. `wanted` by bin: 0 no, 1 where one of the ranges low <= score < high
    holds it, 2 yes; the last is for all others and must be 0.
    """
    columns = block.shape[1]
    bins = len(wanted) - 1
    places = np.empty(CHUNK, np.int32)
    others = codes[column : column + columns]
    used = 0
    for i in range(start, stop):
        if used + columns > len(scores):
            return i, used
        me = row + i
        code = codes[me]
        for begin in range(0 if ordered else max(0, me + 1 - column), columns, CHUNK):
            end = min(begin + CHUNK, columns)
            if kind == GENUINE:
                same = np.int32(0)
                for other in others[begin:end]:
                    same += np.int32(other == code)
                if same == 0:
                    continue
            _bins(block[i, begin:end], others[begin:end], code, kind, scale, base, bins, places)
            for j in range(end - begin):
                how = wanted[np.uint64(places[j])]
                if how == 0 or column + begin + j == me:
                    continue
                score = block[i, begin + j]
                if how == 1:
                    for n in range(len(lows)):
                        if lows[n] <= score < highs[n]:
                            how = 2
                            break
                if how == 2:
                    scores[used] = score
                    first[used] = me
                    second[used] = column + begin + j
                    used += 1
    return stop, used
