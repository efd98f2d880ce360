"""Ensembles and refusing at a hundred thousand faces: against plain numpy, against the bare products; and memory."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from facelens.analyses import ensemble, rejection, similarity
from facelens.progress import silent

pytestmark = pytest.mark.bench

D = 512


def people(n: int, *, pictures: int = 10, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Unit vectors, identity, and the noise of each face."""
    generator = np.random.default_rng(seed)
    identity = (np.arange(n) // pictures).astype(np.int32)
    noise = np.random.default_rng(1).uniform(0.8, 2.6, n).astype(np.float32)
    centres = np.random.default_rng(2).standard_normal((int(identity[-1]) + 1, D), dtype=np.float32)
    vectors = np.empty((n, D), np.float32)
    for start in range(0, n, 20_000):
        some = slice(start, start + 20_000)
        part = generator.standard_normal((len(identity[some]), D), dtype=np.float32) * noise[some, None]
        part += centres[identity[some]]
        vectors[some] = part / np.linalg.norm(part, axis=1, keepdims=True)
    return vectors, identity, noise.astype(np.float64)


def seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def plain(members: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The definition, with numpy, all faces at once."""
    units = [one / np.linalg.norm(one.astype(np.float64), axis=1, keepdims=True) for one in members]
    mean = sum(units) / len(units)
    variance = sum(((one - mean) ** 2).sum(axis=1) for one in units) / len(units)
    return mean / np.linalg.norm(mean, axis=1, keepdims=True), variance


def test_four_models_of_a_hundred_thousand_faces_against_numpy() -> None:
    members = [people(100_000, seed=seed)[0] for seed in range(4)]
    turns = []
    for _ in range(3):
        ours, made = seconds(lambda: ensemble.combined(members))
        theirs, (vectors, variance) = seconds(lambda: plain(members))
        turns.append((ours, theirs))
    np.testing.assert_allclose(made.variance, variance, atol=1e-12)
    np.testing.assert_allclose(made.vectors, vectors, atol=1e-6)
    ours, theirs = (min(times) for times in zip(*turns))
    apart, _ = seconds(lambda: ensemble.apart(members))
    print(f"4 x 100,000 x 512: {ours:.2f} s, numpy {theirs:.2f} s, {theirs / ours:.1f} times; apart {apart:.2f} s")
    assert theirs > 2 * ours


def test_refusing_costs_little_more_than_the_products() -> None:
    vectors, identity, noise = people(20_000)
    ids = np.arange(len(vectors))
    rejection.verify_risk(vectors[:3000], vectors[:3000], ids[:3000], identity[:3000], noise[:3000])  # compiled code
    faces = similarity._Faces(vectors, ids=ids, identity=identity, against=None)

    def bare() -> None:
        for _ in faces.tiles(tick=silent, note=""):
            pass

    turns = [
        (seconds(lambda: rejection.verify_risk(vectors, vectors, ids, identity, noise))[0], seconds(bare)[0])
        for _ in range(3)
    ]
    ours, products = min(each for each, _ in turns), min(each for _, each in turns)
    print(f"1:1 of 20,000, 1000 draws: {ours:.1f} s, products alone {products:.1f} s, {ours / products:.1f} times")
    assert ours < 5 * products


def test_a_gallery_as_large_as_lfw() -> None:
    vectors, identity, noise = people(2600, pictures=5)
    sides = vectors, vectors, np.arange(2600), identity
    for _ in range(3):
        one, _ = seconds(lambda: rejection.verify_risk(*sides, noise))
        many, _ = seconds(lambda: rejection.identify_risk(*sides, noise))
        each, _ = seconds(lambda: rejection.recognise(*sides))
    print(f"2,600 faces: 1:1 {one:.2f} s, 1:N {many:.2f} s, recognition {each:.2f} s")


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads the memory's highest mark from /proc")
@pytest.mark.parametrize("task", ["verify_risk", "identify_risk"])
def test_a_hundred_thousand_faces_in_bounded_memory(task: str) -> None:
    program = f"""
import importlib.util, re, time
import numpy as np
from facelens.analyses import rejection
spec = importlib.util.spec_from_file_location("bench", {__file__!r})
bench = importlib.util.module_from_spec(spec)
spec.loader.exec_module(bench)
vectors, identity, noise = bench.people(100_000)
start = time.perf_counter()
found = rejection.{task}(vectors, vectors, np.arange(len(vectors)), identity, noise)
took = time.perf_counter() - start
assert np.isfinite(found.error.value).all() and np.isfinite(found.error.high).all()
# Not getrusage: its highest mark is handed down from the process that started this one.
most = int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1]) * 1024
print(took, most)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    took, most = (float(each) for each in done.stdout.split())
    print(f"{task} of 100,000: {took:.0f} s, at most {most / 1e9:.2f} GB")
    assert most < 4e9
