"""A box is ticked: the ruling and the ranks at a hundred thousand faces, against plain numpy over the same pairs."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from facelens.analyses.jury import Bench, Lineup
from facelens.analyses.parts import Layout, Parts, Pool, pool, votes_between
from facelens.analyses.plan import MATCHES

pytestmark = pytest.mark.bench

N, K, FAR = 100_000, 16, 1e-3
KEPT = np.arange(K) % 7 != 3


def made() -> tuple[Parts, np.ndarray]:
    """Parts whose products are drawn, and those of the first face with all."""
    generator = np.random.default_rng(0)
    identity = (np.arange(N) // 10).astype(np.int32)
    first, second, genuine = pool(identity)
    drawn = generator.normal(0, 0.15, (len(first), K)) + 0.3 * genuine[:, None]
    surety = generator.normal(-4, 1, (N, K)).astype(np.float32)
    parts = Parts(
        ids=np.arange(N),
        identity=identity,
        layout=Layout("learned", K, 32, unit=True, head="learned"),
        rotation=None,
        length=np.full((N, K), K**-0.5, np.float32),
        values={"variance": surety},
        spread={},
        pool=Pool(first, second, genuine, drawn.astype(np.float32)),
    )
    return parts, generator.normal(0, 0.15, (N, K)).astype(np.float32)


def quickest(work: Callable[[], Any]) -> tuple[float, Any]:
    """The least seconds of fifteen, and the result."""
    taken = []
    for _ in range(15):
        start = time.perf_counter()
        result = work()
        taken.append(time.perf_counter() - start)
    return min(taken), result


@pytest.mark.parametrize("match", MATCHES)
def test_a_ruling(match: str) -> None:
    parts, _ = made()
    pairs = parts.pool

    def plain() -> tuple[float, float]:
        votes = votes_between(parts, pairs.first, pairs.second, pairs.products, match=match, kept=KEPT)
        score = votes.sum(1)
        others = np.sort(score[~pairs.genuine])[::-1]
        threshold = others[int(FAR * len(others))]
        return float(threshold), float((score[pairs.genuine] > threshold).mean())

    bench = Bench(parts, match)
    ours, ruling = quickest(lambda: bench.ruling(kept=KEPT, far=FAR))
    theirs, (threshold, tar) = quickest(plain)
    print(f"{match}: {1e3 * ours:.1f} ms against {1e3 * theirs:.1f} ms")
    assert ruling.threshold == pytest.approx(threshold, rel=1e-5)
    assert ruling.tar.value == pytest.approx(tar, abs=1e-4)
    assert 3 * ours < theirs


@pytest.mark.parametrize("match", MATCHES)
def test_ranks(match: str) -> None:
    parts, products = made()
    rows = np.arange(N)

    def plain() -> int:
        score = votes_between(parts, np.array([0]), rows, products, match=match, kept=KEPT).sum(1)
        score[0] = -np.inf
        return 1 + int((score > score[5]).sum())

    lineup = Lineup(parts, products, 0, match=match)
    ours, standing = quickest(lambda: lineup.standing(5, kept=KEPT))
    theirs, rank = quickest(plain)
    print(f"{match}: {1e3 * ours:.1f} ms against {1e3 * theirs:.1f} ms")
    assert abs(standing.after - rank) <= 1  # float32
    assert 2 * ours < theirs
