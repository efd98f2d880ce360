"""Compiled: what is left of many pairs or searches, step by step, in many draws of identities at once.

Pairs disappear at a step and do not come back; `gone` is the step at which they do, S where they stay. So steps are
taken backwards, and pairs are only added: sorted by descending `gone`, the first `ends[s]` are there at step s. Weights
are summed up in blocks of 2^shift pairs by descending score, `block` is that of each pair. A draw counts identity c as
often as `weights` says; LANES draws are worked on together, and groups of them shared by threads: `start` to `stop`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from facelens.analyses.plan import OPEN_RULES
from facelens.compiling import compiled

_jit = compiled()
LANES = 16  # draws in a vector of the processor
NIST, ROC, MIXBCT, PFE = (OPEN_RULES.index(rule) for rule in ("nist", "roc", "mixbct", "pfe"))


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


@_jit
def search(
    scores: NDArray[np.float32],
    changed: NDArray[np.int32],
    removed: NDArray[np.bool_],
    ends: NDArray[np.int64],
    own: NDArray[np.int32],
    templates: int,
    border: int,
    mate: NDArray[np.float32],
    other: NDArray[np.float32],
    start: int,
    stop: int,
) -> None:
    """Into `mate` (S, Q) and `other` (2, S, Q): each probe's score of its own template, and the highest of the others.

    `scores` (Q, T + L) are those of the templates as they begin, then of each changed one, in order. Templates from
    `border` on are those of the second gallery. The own score is NaN once the template is removed.
    """
    present = np.empty(templates, scores.dtype)
    lowest = scores.dtype.type(-np.inf)
    best = np.empty(2, scores.dtype)
    where = np.empty(2, np.int64)
    stale = np.empty(2, np.bool_)
    limits = (0, border, templates)
    for i in range(start, stop):
        present[:] = scores[i, :templates]
        stale[:] = True
        done = 0
        for s in range(len(ends)):
            for n in range(done, ends[s]):
                j = changed[n]
                score = lowest if removed[n] else scores[i, templates + n]
                present[j] = score
                g = 1 if j >= border else 0
                if j == own[i]:
                    continue
                if score >= best[g]:
                    best[g] = score
                    where[g] = j
                elif where[g] == j:
                    stale[g] = True
            done = ends[s]
            for g in range(2):
                if stale[g]:
                    best[g] = lowest
                    where[g] = -1
                    for j in range(limits[g], limits[g + 1]):
                        if present[j] > best[g] and j != own[i]:
                            best[g] = present[j]
                            where[g] = j
                    stale[g] = False
                other[g, s, i] = best[g]
            if own[i] >= 0:
                mate[s, i] = present[own[i]] if present[own[i]] > lowest else np.nan


@_jit
def _threshold(
    top: NDArray[np.float32],
    strangers: NDArray[np.int32],
    weight: NDArray[np.float32],
    k: int,
    n: float,
    fpir: float,
    rule: int,
) -> float:
    """At which a score is accepted, by one of the rules of identification; NaN where `n`, the weight of all, is 0."""
    if n == 0:
        return np.nan
    if rule == MIXBCT:
        allowed = max(np.trunc(n * fpir) - 1, 0.0) + 1
    elif rule == PFE:
        allowed = np.round(n * fpir)
    else:
        allowed = np.floor(n * fpir + 1e-9)
    total = 0.0
    taken = np.inf  # the score of the last group that weighs anything
    before = 0.0  # of the groups above: scores that are equal go together
    for u in range(len(top)):
        total += weight[strangers[u], k]
        if u + 1 < len(top) and top[u + 1] == top[u]:
            continue
        score = np.float64(top[u])
        if rule == MIXBCT and total >= allowed:
            return float(np.nextafter(score, np.inf))
        if rule == PFE and total >= max(allowed, 1.0):
            return score if allowed > 0 else score + 1e-8
        if rule in (NIST, ROC) and total > allowed:
            return taken if rule == NIST and before > 0 else float(np.nextafter(score, np.inf))
        if total > before:
            taken = score
        before = total
    return -np.inf if rule == ROC else taken


@_jit
def found(
    hits: NDArray[np.float32],
    known: NDArray[np.int32],
    top: NDArray[np.float32],
    strangers: NDArray[np.int32],
    weights: NDArray[np.float32],
    fpir: float,
    rule: int,
    share: NDArray[np.float64],
    threshold: NDArray[np.float64],
    start: int,
    stop: int,
) -> None:
    """Into `share` and `threshold` (G, S, L): the share of the hits (S, M) that reach the threshold, by weight.

    A hit that is NaN does not count, -inf is a miss. `top` (S, U) are scores of strangers, descending, and `strangers`
    (S, U) who they are; the threshold follows from them by `rule`. NaN where nobody, or no stranger, is drawn.
    """
    steps = hits.shape[0]
    n, total, every = np.empty(LANES, np.float64), np.empty(LANES, np.float64), np.empty(LANES, np.float64)
    for g in range(start, stop):
        weight = weights[g]
        n[:] = 0
        for u in range(strangers.shape[1]):
            n += weight[strangers[0, u]]
        for s in range(steps):
            for k in range(LANES):
                threshold[g, s, k] = _threshold(top[s], strangers[s], weight, k, n[k], fpir, rule)
            limit = threshold[g, s]
            total[:] = 0
            every[:] = 0
            for i in range(hits.shape[1]):
                hit, c = hits[s, i], known[i]
                if np.isnan(hit):
                    continue
                for k in range(LANES):
                    every[k] += weight[c, k]
                    total[k] += weight[c, k] if hit >= limit[k] else 0.0
            for k in range(LANES):
                share[g, s, k] = total[k] / every[k] if every[k] > 0 and not np.isnan(limit[k]) else np.nan
