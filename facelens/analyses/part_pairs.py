"""TAR with some of the parts: what share of the genuine pairs of a pool is accepted when only some have a say.

Computes    n impostor pairs, k = floor(FAR n): accept above the (k + 1)-th highest impostor score, TAR = share of the
            genuine pairs accepted; in each draw of people anew: a genuine pair of c weighs w[c], an impostor pair of c
            and d w[c] w[d], and as many of the highest impostors are accepted as weigh no more than FAR of all
Shapes      scores (P,), kept (S, K), weights (B, C)
Departs     a draw that would have to go deeper than the impostors that are kept for it ends at the last of them
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from facelens.analyses import bootstrap, verification
from facelens.analyses.measure import Measure
from facelens.analyses.parts import BLOCK, Parts, scores
from facelens.progress import Tick, silent
from facelens.words import tr

DEEP, DEEPER = 4, 60  # times the impostors accepted, and some more, are kept for draws

Array = NDArray[np.float64]


def rates(
    parts: Parts, kept: NDArray[np.bool_], *, match: str, far: float, resamples: int, seed: int = 0, tick: Tick = silent
) -> tuple[Measure, ...]:
    """TAR over the pool with the parts of each row of `kept` (S, K)."""
    pool, surety = parts.pool, parts.log_variance
    usable = np.ones(len(pool), bool)
    if match != "cosine" and surety is not None:
        told = np.asarray(np.isfinite(surety).all(1))
        usable = told[pool.first] & told[pool.second]
    chosen = np.flatnonzero(usable)
    made = np.empty((len(chosen), len(kept)))
    step = max(1, BLOCK // max(1, kept.shape[1]))
    for start in range(0, len(chosen), step):
        tick(start, 2 * len(chosen), tr("Comparing pairs"))
        some = chosen[start : start + step]
        a, b = pool.first[some], pool.second[some]
        made[start : start + step] = scores(
            match,
            pool.products[some],
            square=(parts.square[a], parts.square[b]),
            log_variance=None if surety is None else (surety[a], surety[b]),
            kept=kept,
            width=parts.layout.width,
        )
    people = parts.identity[pool.first[chosen]], parts.identity[pool.second[chosen]]
    rate = Rate(*people, pool.genuine[chosen], far=far, resamples=resamples, seed=seed)
    found = []
    for number, score in enumerate(made.T):
        tick(len(kept) + number, 2 * len(kept), tr("Comparing pairs"))
        found.append(rate(np.ascontiguousarray(score)))
    return tuple(found)


class Rate:
    """TAR at a FAR of the same pairs by different scores."""

    def __init__(
        self,
        first: NDArray[np.int32],
        second: NDArray[np.int32],
        genuine: NDArray[np.bool_],
        *,
        far: float,
        resamples: int,
        seed: int = 0,
    ) -> None:
        self.genuine, self.impostor = np.flatnonzero(genuine), np.flatnonzero(~genuine)
        self.accepted = int(np.floor(far * len(self.impostor) + 1e-9))
        self.far = far
        if not len(self.genuine):
            self.why = tr("no genuine pair: nobody has two pictures that can be compared")
        elif not len(self.impostor):
            self.why = tr("one identity, so there is no impostor pair")
        else:
            self.why = verification.support(far, len(self.impostor))[1]
        people, code = np.unique(np.concatenate([first, second]), return_inverse=True)
        self.first, self.second = code[: len(first)], code[len(first) :]
        one = len(np.unique(self.first[self.genuine])) < 2  # draws of people say nothing about one
        weights = bootstrap.identity_weights(len(people), resamples=0 if one else resamples, seed=seed)
        self.weights = np.ascontiguousarray(weights.T)  # (C, B)
        self.allowed = far * self._weigh(self.impostor)

    def _weigh(self, pairs: NDArray[np.int64]) -> Array:
        """(B,) what impostor pairs weigh together in each draw."""
        from scipy.sparse import csr_array

        C = len(self.weights)
        cells = self.first[pairs], self.second[pairs]
        count = csr_array((np.ones(len(pairs), np.float32), cells), shape=(C, C))
        return np.asarray(np.einsum("cb,cb->b", count @ self.weights, self.weights, dtype=np.float64))

    def __call__(self, score: Array) -> Measure:
        """TAR by one score."""
        n, m = len(self.impostor), len(self.genuine)
        if not n or not m:
            return Measure.none(self.why, n=m)
        right = np.sort(score[self.genuine])[::-1]
        if self.accepted >= n:
            return Measure(1.0, n=m, why=self.why, supported=not self.why)
        deep = min(n, DEEP * (self.accepted + 1) + DEEPER)
        wrong = score[self.impostor]
        tail = np.argpartition(-wrong, deep - 1)[:deep]
        tail = tail[np.argsort(-wrong[tail], kind="stable")]
        value = float(np.mean(right > wrong[tail[self.accepted]]))
        found = Measure(value, n=m, why=self.why, supported=not self.why)
        if not self.weights.shape[1]:
            return found
        pairs = self.impostor[tail]
        mass = np.cumsum(self.weights[self.first[pairs]] * self.weights[self.second[pairs]], axis=0)  # (deep, B)
        place = np.minimum((mass <= self.allowed + 1e-6).sum(0), deep - 1)
        limits = bootstrap.rate_interval(self._shares(score, wrong[tail[place]]), m)
        return found.with_interval(*limits) if limits else found

    def _shares(self, score: Array, thresholds: Array) -> Array:
        """(B,) what share of the genuine pairs lies above the threshold of each draw."""
        from scipy.sparse import csr_array

        steps, draw = np.unique(-thresholds, return_inverse=True)  # the strictest first
        bins = np.searchsorted(steps, -score[self.genuine], side="right")  # the first step that accepts each pair
        cells = bins, self.first[self.genuine]
        shape = (len(steps) + 1, len(self.weights))
        counts = csr_array((np.ones(len(bins), np.float32), cells), shape=shape)
        above = np.cumsum(counts @ self.weights, axis=0, dtype=np.float64)  # (T + 1, B)
        with np.errstate(invalid="ignore"):
            return np.asarray(above[draw, np.arange(len(draw))] / above[-1])
