"""Compiled: what it costs to move the patches of one face to those of many others.

`similarity` (k, R, C') float32 holds a table for each pair, of which the first C columns count; masses `a` (k, R) and
`b` (k, C) have the same sum. What is found goes into arrays (k,). Which of the two faces the rows are makes no
difference to it.

The least cost: mass goes, from one row after the other, along the shortest way to a column that lacks some, back over
mass that was placed before where that is shorter. Distances are whole numbers, so the plan is the best there is for
them; the number of the column stands in their last bits, so that one minimum tells both how far it is and where.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from facelens.compiling import compiled

Whole = NDArray[Any]  # int32 or int64

_jit, _quick = compiled(), compiled(fastmath=True)
LANES = 16  # numbers in a vector of the processor: lines are filled up to a multiple of it
FAR, FAR_64 = np.int32(1 << 30), np.int64(1 << 60)  # beyond all distances, which stay below a fourth of it
NOTHING = np.float32(1e-38)
OUTSIDE = np.float32(4)  # beyond all distances


@_jit
def filled(n: int) -> int:
    """How long a line of `n` is."""
    return (n + LANES - 1) // LANES * LANES


@_jit
def bits_of(n: int) -> int:
    """How many bits tell `n` places apart."""
    bits = 0
    while (1 << bits) < n:
        bits += 1
    return bits


@_jit
def shares(rows: int, columns: int) -> int:
    """How many parts the mass is divided into: about 2^52, such that even masses are whole numbers."""
    return (1 << 52) // (rows * columns) * (rows * columns)


@_jit
def whole(masses: NDArray[np.float64], total: int, out: NDArray[np.int64]) -> None:
    """Masses with a sum of 1 as whole numbers with a sum of `total`."""
    rest = total
    for i in range(len(masses)):
        out[i] = np.int64(masses[i] * total + 0.5)
        rest -= out[i]
    if rest != 0:
        out[out.argmax()] += rest


@_jit
def even(masses: NDArray[np.float64]) -> bool:
    """Whether all are alike."""
    return bool(masses.min() == masses.max())


@_jit
def route(
    distance: Whole,
    far: Any,
    a: NDArray[np.int64],
    b: NDArray[np.int64],
    rows: NDArray[np.int32],
    amount: NDArray[np.int64],
    count: NDArray[np.int32],
) -> Whole:
    """The plan of least cost of one pair; `a` and `b`, whole numbers with the same sum, are used up.

    `distance` (R, W) has the column in its last bits, and is `far` beyond the last column. Column j gets `amount[j, t]`
    from row `rows[j, t]`, t < `count[j]`. Returned are the potentials of the columns, shifted as `distance` is.
    """
    kind = distance.dtype.type
    R, W = distance.shape
    mask = kind((1 << bits_of(W)) - 1)
    shut = kind(-far - far // 4)
    # Each on its own: lines of one array are not told apart by the compiler, which then takes number after number.
    g, by = np.full(W, far, distance.dtype), np.zeros(W, distance.dtype)
    left, short, seen = np.empty(W, distance.dtype), np.empty(W, distance.dtype), np.empty(W, distance.dtype)
    via, slot, reached = np.empty(R, np.int32), np.empty(R, np.int32), np.full(R, -1, np.int32)
    count[:] = 0
    for i in range(R):
        if a[i] > 0:
            for j in range(W):
                less = distance[i, j] < g[j]
                g[j] = distance[i, j] if less else g[j]
                by[j] = kind(i) if less else by[j]
    for j in range(len(b)):  # each column takes what its nearest row has
        g[j] -= j
        i = by[j]
        moved = min(a[i], b[j])
        if moved > 0:
            rows[j, 0], amount[j, 0], count[j] = i, moved, 1
            a[i] -= moved
            b[j] -= moved
    g[len(b) :] = 0
    turn = -1
    for s in range(R):
        while a[s] > 0:
            turn += 1
            reached[s] = turn
            steps = 0
            best = far
            for j in range(W):
                x = kind(distance[s, j] - g[j])
                left[j], short[j], by[j] = g[j], x, kind(s)
                best = min(best, x)
            while True:
                end = best & mask
                length = kind(best - end)
                if b[end] > 0:
                    break
                short[end], left[end] = far, shut
                seen[steps] = best
                steps += 1
                new = False
                for t in range(count[end]):
                    i = rows[end, t]
                    if reached[i] == turn:
                        continue
                    reached[i], via[i], slot[i] = turn, end, t
                    base = kind(length - (distance[i, end] - end - g[end]))
                    best = far
                    for j in range(W):
                        x = kind(base + distance[i, j] - left[j])
                        less = x < short[j]
                        y = min(x, short[j])
                        short[j] = y
                        by[j] = kind(i) if less else by[j]
                        best = min(best, y)
                    new = True
                if not new:
                    best = far
                    for j in range(W):
                        best = min(best, short[j])
            for step in range(steps):
                j = seen[step] & mask
                g[j] += seen[step] - j - length
            moved = min(a[s], b[end])
            i = by[end]
            while i != s:
                moved = min(moved, amount[via[i], slot[i]])
                i = by[via[i]]
            a[s] -= moved
            b[end] -= moved
            j = end
            while True:
                i = by[j]
                t = 0
                while t < count[j] and rows[j, t] != i:
                    t += 1
                if t == count[j]:
                    rows[j, t], amount[j, t] = i, 0
                    count[j] += 1
                amount[j, t] += moved
                if i == s:
                    break
                j, t = via[i], slot[i]
                amount[j, t] -= moved
                if amount[j, t] == 0:
                    count[j] -= 1
                    rows[j, t], amount[j, t] = rows[j, count[j]], amount[j, count[j]]
    return g


@_jit
def assign(distance: NDArray[np.int32], row_of: NDArray[np.int32]) -> NDArray[np.int32]:
    """As `route`, of as many rows as columns with even masses: into `row_of` (W,) the row that each column gets.

    Returned are the potentials of the columns.
    """
    R, W = distance.shape
    mask = np.int32((1 << bits_of(W)) - 1)
    shut = np.int32(-FAR - FAR // 4)
    g, by = np.full(W, FAR, np.int32), np.zeros(W, np.int32)
    left, short, seen = np.empty(W, np.int32), np.empty(W, np.int32), np.empty(W, np.int32)
    column_of = np.full(R, -1, np.int32)
    row_of[:] = -1
    for i in range(R):
        for j in range(W):  # the number of the row takes the place of that of the column
            g[j] = min(g[j], np.int32(distance[i, j] + np.int32(i - j)))
    for j in range(R):
        by[j] = g[j] & mask
        g[j] -= by[j]
        if column_of[by[j]] < 0:
            row_of[j] = by[j]
            column_of[by[j]] = j
    g[R:] = 0
    for s in range(R):
        if column_of[s] >= 0:
            continue
        steps = 0
        best = FAR
        for j in range(W):
            x = np.int32(distance[s, j] - g[j])
            left[j], short[j], by[j] = g[j], x, np.int32(s)
            best = min(best, x)
        while True:
            end = best & mask
            length = np.int32(best - end)
            i = row_of[end]
            if i < 0:
                break
            short[end], left[end] = FAR, shut
            seen[steps] = best
            steps += 1
            base = np.int32(length - (distance[i, end] - end - g[end]))
            best = FAR
            for j in range(W):
                x = np.int32(base + distance[i, j] - left[j])
                less = x < short[j]
                y = min(x, short[j])
                short[j] = y
                by[j] = i if less else by[j]
                best = min(best, y)
        for step in range(steps):
            j = seen[step] & mask
            g[j] += seen[step] - j - length
        while True:
            i = by[end]
            had = column_of[i]
            row_of[end], column_of[i] = i, end
            if i == s:
                break
            end = had
    return g


@_jit
def least(
    similarity: NDArray[np.float32],
    a: NDArray[np.float64],
    b: NDArray[np.float64],
    cost: NDArray[np.float64],
    potential: NDArray[np.float32],
) -> None:
    """Into `cost` the least one, with up to 64 columns to a step of 2^-21, with 128 to 2^-20; and potentials (k, C)."""
    R, C = similarity.shape[1], b.shape[1]
    W = filled(C)
    bits = bits_of(W)
    step, limit = np.float32(1 << (27 - bits)), np.int32(1 << (28 - bits))
    total = shares(R, C)
    distance = np.empty((R, W), np.int32)
    distance[:] = FAR
    rows, amount, count = np.empty((W, R), np.int32), np.empty((W, R), np.int64), np.empty(W, np.int32)
    supply, demand = np.empty(R, np.int64), np.empty(C, np.int64)
    row_of = np.empty(W, np.int32)
    for p in range(len(a)):
        for i in range(R):
            for j in range(C):
                d = np.int32((np.float32(1) - similarity[p, i, j]) * step)
                d = min(max(d, np.int32(0)), limit)  # also what is no number
                distance[i, j] = (d << bits) | np.int32(j)
        if R == C and even(a[p]) and even(b[p]):
            g = assign(distance, row_of)
            spent = 0.0
            for j in range(C):
                potential[p, j] = np.float32(g[j] >> bits) / step
                spent += 1.0 - np.float64(similarity[p, row_of[j], j])
            cost[p] = spent / C
            continue
        whole(a[p], total, supply)
        whole(b[p], total, demand)
        g = route(distance, FAR, supply, demand, rows, amount, count)
        spent = 0.0
        for j in range(C):
            potential[p, j] = np.float32(g[j] >> bits) / step
            for t in range(count[j]):
                spent += amount[j, t] * (1.0 - np.float64(similarity[p, rows[j, t], j]))
        cost[p] = spent / total


@_jit
def bounds(
    similarity: NDArray[np.float32],
    a: NDArray[np.float64],
    b: NDArray[np.float64],
    found: NDArray[np.float64],
) -> None:
    """Into `found` a cost that no plan can be below: every row goes to its nearest column, then what columns lack."""
    R, C = similarity.shape[1], b.shape[1]
    nearest, line, low = np.empty(C, np.float32), np.empty(C, np.float32), np.empty(1, np.float32)
    bits, nearest_bits, low_bits = line.view(np.int32), nearest.view(np.int32), low.view(np.int32)  # see `smooth`
    for p in range(len(a)):
        nearest[:] = OUTSIDE
        total = 0.0
        for i in range(R):
            for j in range(C):
                line[j] = max(np.float32(1) - similarity[p, i, j], np.float32(0))
            lowest = bits[0]
            for j in range(C):
                lowest = min(lowest, bits[j])
            low_bits[0] = lowest
            total += a[p, i] * low[0]
            for j in range(C):
                line[j] -= low[0]
            for j in range(C):
                nearest_bits[j] = min(nearest_bits[j], bits[j])
        for j in range(C):
            total += b[p, j] * nearest[j]
        found[p] = total


@_quick
def _powers(x: NDArray[np.float32], out: NDArray[np.float32], scale: NDArray[np.float32]) -> None:
    """2^x of numbers up to 0, to 2e-7 of it; `scale` is room to work."""
    exponent = scale.view(np.int32)
    for j in range(len(x)):
        y = max(x[j], np.float32(-126))
        down = np.floor(y)
        z = y - down
        power = np.float32(1.8775767e-3)
        power = power * z + np.float32(8.9893397e-3)
        power = power * z + np.float32(5.5826318e-2)
        power = power * z + np.float32(2.4015361e-1)
        power = power * z + np.float32(6.9315308e-1)
        out[j] = power * z + np.float32(9.9999994e-1)
        exponent[j] = (np.int32(down) + np.int32(127)) << 23
    for j in range(len(x)):
        out[j] *= scale[j]


@_quick
def smooth(
    similarity: NDArray[np.float32],
    a: NDArray[np.float64],
    b: NDArray[np.float64],
    potential: NDArray[np.float32],
    epsilon: float,
    most: int,
    tolerance: float,
    cost: NDArray[np.float64],
    error: NDArray[np.float64],
    rounds: NDArray[np.int64],
) -> None:
    """Scale rows and columns in turn until the sums of rows hold to `tolerance`, at most `most` times.

    Starts from a `potential` (k, C) of columns, 0 or below, and the others that follow from it: then there is a 1 in
    every row and column of the kernel, and no scaling grows beyond what single precision holds.
    """
    R, C = similarity.shape[1], b.shape[1]
    W = filled(C)
    scale = np.float32(1.4426950408889634 / epsilon)  # of powers of 2
    distance, kernel = np.empty((R, W), np.float32), np.empty((R, W), np.float32)
    f, g, line = np.empty(R, np.float32), np.empty(W, np.float32), np.empty(W, np.float32)
    f_bits, bits = f.view(np.int32), line.view(np.int32)  # as numbers from 0 up, in the same order, quicker to compare
    r, c = np.empty(R, np.float32), np.empty(W, np.float32)
    u, v, sums = np.empty(R, np.float32), np.zeros(W, np.float32), np.empty(W, np.float32)
    sums_bits = sums.view(np.int32)
    distance[:, C:] = OUTSIDE
    for p in range(len(a)):
        u[:] = a[p]
        v[:C] = b[p]
        g[:C] = potential[p]
        g[C:] = 0
        sums[:] = 2 * OUTSIDE
        for i in range(R):
            for j in range(C):
                distance[i, j] = max(np.float32(1) - similarity[p, i, j], np.float32(0))
            for j in range(W):
                line[j] = distance[i, j] - g[j]
            lowest = bits[0]
            for j in range(W):
                lowest = min(lowest, bits[j])
            f_bits[i] = lowest
            for j in range(W):
                line[j] = distance[i, j] - f[i] + OUTSIDE
            for j in range(W):
                sums_bits[j] = min(sums_bits[j], bits[j])
        sums -= OUTSIDE
        for i in range(R):
            for j in range(W):
                line[j] = (f[i] + sums[j] - distance[i, j]) * scale
            _powers(line, kernel[i], g)
        r[:] = 0
        c[:C] = 1
        c[C:] = 0
        done = 0
        while done < most:
            done += 1
            off = np.float32(0)
            sums[:] = 0
            for i in range(R):
                s = np.float32(0)
                for j in range(W):
                    s += kernel[i, j] * c[j]
                off = max(off, abs(r[i] * s - u[i]))
                r[i] = u[i] / max(s, NOTHING)
                for j in range(W):
                    sums[j] += r[i] * kernel[i, j]
            for j in range(W):
                c[j] = v[j] / max(sums[j], NOTHING)
            if off < tolerance:
                break
        spent, off = 0.0, np.float32(0)
        for i in range(R):
            s, d = np.float32(0), np.float32(0)
            for j in range(W):
                x = kernel[i, j] * c[j]
                s += x
                d += x * distance[i, j]
            spent += np.float64(d * r[i])
            off = max(off, abs(s * r[i] - u[i]))
        cost[p], error[p], rounds[p] = spent, off, done


@_jit
def published(
    similarity: NDArray[np.float32],
    a: NDArray[np.float64],
    b: NDArray[np.float64],
    epsilon: float,
    most: int,
    enough: float,
    cost: NDArray[np.float64],
    error: NDArray[np.float64],
    rounds: NDArray[np.int64],
) -> None:
    """The authors' rounds: until the scalings of rows change by less than `enough` on average, at most `most` times.

    Rows are the patches of the gallery, as the authors have them.
    """
    R, C = similarity.shape[1], b.shape[1]
    kernel = np.empty((R, C))
    r, c, sums = np.empty(R), np.empty(C), np.empty(C)
    for p in range(len(a)):
        for i in range(R):
            for j in range(C):
                kernel[i, j] = np.exp((np.float64(similarity[p, i, j]) - 1) / epsilon)
        r[:] = 1
        c[:] = 1
        done = 0
        while done < most:
            done += 1
            change = 0.0
            sums[:] = 0
            for i in range(R):
                s = 0.0
                for j in range(C):
                    s += kernel[i, j] * c[j]
                scale = a[p, i] / s
                change += abs(scale - r[i])
                r[i] = scale
                for j in range(C):
                    sums[j] += scale * kernel[i, j]
            for j in range(C):
                c[j] = b[p, j] / sums[j]
            if change / R < enough:
                break
        spent, off = 0.0, 0.0
        sums[:] = 0
        for i in range(R):
            s = 0.0
            for j in range(C):
                x = r[i] * kernel[i, j] * c[j]
                x = x if np.isfinite(x) else 0.0
                s += x
                sums[j] += x
                spent += x * (1 - np.float64(similarity[p, i, j]))
            off = max(off, abs(s - a[p, i]))
        for j in range(C):
            off = max(off, abs(sums[j] - b[p, j]))
        cost[p], error[p], rounds[p] = spent, off, done
