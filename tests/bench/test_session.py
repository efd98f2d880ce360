"""Speed of the session, as ratios against a peer measured in the same run."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from facelens.images.faceset import FaceSet, Labels
from facelens.images.packed import Packed
from facelens.session.filters import parse
from facelens.session.jobs import JobQueue, Request
from tests.session import work

pytestmark = pytest.mark.bench


def best(call: Callable[[], object], *, times: int = 5) -> float:
    spent = []
    for _ in range(times):
        start = time.perf_counter()
        call()
        spent.append(time.perf_counter() - start)
    return min(spent)


@pytest.fixture(scope="module")
def million() -> FaceSet:
    n, people = 1_000_000, 20_000
    rng = np.random.default_rng(0)
    names = [f"Person_{i:05d}_Smith{i % 7}" for i in range(people)]
    codes = rng.integers(0, people, n).astype(np.int32)
    paths = Packed.of(f"{names[k]}/img_{i:07d}.jpg" for i, k in enumerate(codes))
    variance = rng.random(n).astype(np.float32)
    variance[::50] = np.nan
    return FaceSet("million", Path("/"), paths, Labels(codes, tuple(names)), {"variance": variance}, ids=np.arange(n))


def compare(faces: FaceSet) -> object:
    return faces.columns["variance"] > 0.3  # type: ignore[operator]


def percentile(faces: FaceSet) -> object:
    return faces.columns["variance"] > np.nanpercentile(faces.columns["variance"], 90)  # type: ignore[operator,arg-type]


def gather(faces: FaceSet) -> object:
    chosen = np.array(["smith3" in name.lower() for name in faces.identity.names])
    return chosen[faces.identity.codes]


def search(faces: FaceSet) -> object:
    return np.fromiter((b"smith3" in path.lower() for path in faces.paths), bool, len(faces))


@pytest.mark.parametrize(
    ("text", "peer", "ratio"),
    [
        ("variance > 0.3", compare, 5),
        ("variance > p90", percentile, 1.5),
        ('identity ~ "smith3"', gather, 1.5),
        ('identity = "Person_00003_Smith3"', gather, 1.5),
        (" or ".join(f"identity = Person_{i:05d}_Smith{i % 7}" for i in range(100)), gather, 3),
        ("smith3", search, 0.5),
        ("jpg", search, 0.5),
    ],
)
def test_filter_of_a_million(million: FaceSet, text: str, peer: Callable[[FaceSet], object], ratio: float) -> None:
    parse(text).rows(million)  # folding of names and paths is done once for a gallery
    spent, other = best(lambda: parse(text).rows(million)), best(lambda: peer(million))
    print(f"\n{text[:40]}: {1000 * spent:.1f} ms, {peer.__name__} {1000 * other:.1f} ms")
    assert spent < ratio * other


def test_shared_memory_beats_the_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    queue = JobQueue(post=lambda f: f())
    values = np.zeros(20_000_000)
    queue.wait(queue.submit(Request("x", work.add, (1, 1))), timeout=20)

    def send() -> None:
        queue.wait(queue.submit(Request("x", work.writable, (values,))), timeout=60)

    shared = best(send, times=3)
    monkeypatch.setattr("facelens.session.worker._room", lambda size: False)
    pipe = best(send, times=3)
    queue.shutdown()
    print(f"\n160 MB to the worker: {shared:.3f} s shared, {pipe:.3f} s through the pipe")
    assert shared < pipe


def test_overhead_of_a_job() -> None:
    queue = JobQueue(post=lambda f: f())
    queue.wait(queue.submit(Request("x", work.add, (1, 1))), timeout=20)

    def many() -> None:
        queue.wait([queue.submit(Request("x", work.add, (i, 1))) for i in range(200)][-1], timeout=20)

    spent = best(many, times=3) / 200
    queue.shutdown()
    start = best(lambda: work.add(1, 2, tick=lambda *_: None), times=1000)
    print(f"\none job: {1000 * spent:.2f} ms (bare call {1e6 * start:.1f} us)")
    assert spent < 0.01
