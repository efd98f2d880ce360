"""Layouts: points on a plane for vectors of many dimensions, by principal components, UMAP or t-SNE.

Computes    pca    Y = (X - mean) A_2, with A_2 the two axes along which the vectors vary most; of an axis the entry
                   farthest from 0 is positive
            umap   the graph of the k nearest vectors, each edge weighed exp(-(d - rho) / sigma); points such that
                   1 / (1 + a d^(2b)) is like these weights, by stochastic gradient descent from Y
            tsne   points whose neighbours q_ij ~ 1 / (1 + d^2) are distributed like those of the vectors, from Y
Shapes      vectors (N, D) float32, of length 1 where cosine is meant; points (N, 2) float32
Reference   McInnes, Healy, Melville, "UMAP", 2018 (umap-learn); van der Maaten, Hinton, "Visualizing Data using t-SNE",
            JMLR 2008 (openTSNE where it is installed, else scikit-learn)
Departs     UMAP starts from principal components, not from a spectral embedding: the map that refines is the one that
            was shown before, and two models begin alike. Neighbours are exact; of more than WIDE faces, exact among
            the first REDUCED components
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
import threading
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from facelens.analyses import similarity
from facelens.images.faceset import Rows
from facelens.progress import Tick, silent
from facelens.words import tr

Floats = NDArray[np.float32]
Show = Callable[[Floats], None]  # takes points that are not final yet


class Vectors(Protocol):
    """(N, D), an array or what gives rows as one does: so many vectors need not lie in memory all at once."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    def __len__(self) -> int: ...

    def __getitem__(self, some: slice, /) -> Floats: ...


LEAST = 5  # faces that UMAP and t-SNE need
WIDE, REDUCED = 20_000, 50
MANY_EPOCHS, FEW_EPOCHS, SMALL = 500, 200, 10_000  # of UMAP: many for galleries up to SMALL, as its authors do
SHOWN_EVERY = 0.4  # seconds between two looks at points that are not final
BLOCK = 1 << 22  # numbers looked at at once


def pca(x: Vectors, count: int = 2, *, tick: Tick = silent) -> tuple[Floats, NDArray[np.float64]]:
    """(N, count) along the axes of most variance, and which share of all variance each has; 0 for axes there are not.

    >>> points, shares = pca(np.array([[3, 0, 0], [-3, 0, 0], [0, 1, 0], [0, -1, 0]], np.float32))
    >>> abs(points).round(3).tolist(), shares.round(2).tolist()
    ([[3.0, 0.0], [3.0, 0.0], [0.0, 1.0], [0.0, 1.0]], [0.9, 0.1])
    """
    n, D = x.shape
    points, shares = np.zeros((n, count), np.float32), np.zeros(count)
    if not n or not D:
        return points, shares
    step = max(1, BLOCK // D)
    fine = n * D * D <= 1 << 31  # sums in double precision where they take a moment
    exact: type[np.floating] = np.float64 if fine else np.float32
    # One turn: sums are taken about a place near the mean, and moved there afterwards.
    near = x[:step].mean(0, dtype=np.float64).astype(exact)
    total, moment = np.zeros(D), np.zeros((D, D))
    for start in range(0, n, step):
        tick(start, 2 * n, tr("Principal components"))
        part = x[start : start + step] - near
        total += part.sum(0)
        moment += part.T @ part
    moment -= np.outer(total, total) / n
    mean = near + total / n
    values, axes = np.linalg.eigh(moment)
    found = min(count, D)
    axes = axes.T[::-1][:found]  # rows, the widest first
    axes = axes * np.where(axes[np.arange(found), np.abs(axes).argmax(1)] < 0, -1.0, 1.0)[:, None]
    shares[:found] = np.maximum(values[::-1][:found], 0) / max(float(np.maximum(values, 0).sum()), 1e-30)
    across, away = axes.T.astype(np.float32), mean @ axes.T
    for start in range(0, n, step):
        tick(n + start, 2 * n, tr("Principal components"))
        points[start : start + step, :found] = x[start : start + step] @ across - away
    return points, shares


def warm(*, tick: Tick = silent) -> None:
    """Load and compile what UMAP needs, which takes a process some ten seconds once: ahead of the first map."""
    x = np.random.default_rng(0).standard_normal((3 * LEAST, 4)).astype(np.float32)
    umap(x, x[:, :2], neighbours=LEAST, epochs=2, tick=tick)


def umap(
    x: Vectors,
    start: Floats,
    *,
    neighbours: int = 15,
    min_dist: float = 0.1,
    metric: str = "cosine",
    seed: int = 0,
    epochs: int | None = None,
    show: Show = lambda points: None,
    tick: Tick = silent,
) -> Floats:
    """UMAP from `start`; the same input, the same points. Cancelled between epochs."""
    n = len(x)
    k = min(neighbours, n)
    near, far = nearest(x, k - 1, metric=metric, tick=_share(tick, 0, 0.2))
    tick(200, 1000, tr("Loading UMAP"))
    from umap.layouts import optimize_layout_euclidean, tqdm
    from umap.umap_ import find_ab_params, fuzzy_simplicial_set, make_epochs_per_sample

    tick(250, 1000, tr("Weighing neighbours"))
    random = np.random.RandomState(seed)
    graph = fuzzy_simplicial_set(
        start,  # only looked at for their number: neighbours are known
        k,
        random,
        "precomputed",
        knn_indices=np.column_stack([np.arange(n), near]).astype(np.int32),
        knn_dists=np.column_stack([np.zeros(n), far]).astype(np.float32),
    )[0].tocoo()
    epochs = epochs or (MANY_EPOCHS if n <= SMALL else FEW_EPOCHS)
    graph.sum_duplicates()
    graph.data[graph.data < graph.data.max() / epochs] = 0  # an edge that would never be drawn
    graph.eliminate_zeros()
    first = start + random.normal(scale=1e-5 * max(float(np.ptp(start)), 1e-9), size=start.shape)
    points: Floats = (10 * (first - first.min(0)) / np.maximum(np.ptp(first, axis=0), 1e-9)).astype(np.float32)
    a, b = find_ab_params(1.0, min_dist)
    tqdm.set_lock(threading.RLock())  # whoever is stopped while the bar is written leaves its lock taken for good
    optimize_layout_euclidean(
        points,  # moved where they are
        points,
        graph.row,
        graph.col,
        epochs,
        n,
        make_epochs_per_sample(graph.data, epochs),
        a,
        b,
        random.randint(-(2**31) + 1, 2**31 - 2, 3).astype(np.int64),
        gamma=1.0,
        initial_alpha=1.0,
        negative_sample_rate=5.0,
        parallel=False,
        tqdm_kwds={
            "disable": False,
            "file": _Epochs(points, epochs, show, _share(tick, 0.3, 1)),
            "bar_format": "{n}",
            "mininterval": 0.1,
        },
        move_other=True,
    )
    return points


def tsne(
    x: Floats, start: Floats, *, perplexity: float = 30.0, seed: int = 0, show: Show = lambda points: None, tick: Tick
) -> Floats:
    """t-SNE from `start`. Cancelled between some dozen steps."""
    perplexity = min(perplexity, max(1.0, (len(x) - 1) / 3))
    start = start / max(float(start[:, 0].std()), 1e-9) * 1e-4
    # Threads wait for each other at every step, and burn time where others want the cores: never all of them.
    threads = min(8, max(1, (os.cpu_count() or 1) // 2)) if len(x) > 2_000 else 1
    tick(0, 1000, tr("Loading t-SNE"))
    if engine() == "openTSNE":
        from openTSNE import TSNE

        last = time.monotonic()

        def watch(iteration: int, error: float, embedding: Floats) -> None:
            nonlocal last
            # It counts the 250 steps of early exaggeration first, then the others anew.
            tick(iteration, 750, tr("t-SNE, step {n}", n=iteration))
            if time.monotonic() - last > SHOWN_EVERY:
                last = time.monotonic()
                show(np.array(embedding, np.float32))

        made = TSNE(
            perplexity=perplexity,
            initialization=start,
            neighbors="exact",
            random_state=seed,
            n_jobs=threads,
            callbacks=watch,
            callbacks_every_iters=10,
        ).fit(x)
        return np.array(made, np.float32)
    from sklearn.manifold import TSNE
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    class Talking(TSNE):  # type: ignore[misc]
        """It has no callback, but says now and then how far it is; more often this way."""

        _N_ITER_CHECK = 10

    with contextlib.redirect_stdout(_Steps(tick)), threadpool_limits(threads, user_api="openmp"):  # type: ignore[type-var]
        made = Talking(
            init=start.astype(np.float32),
            perplexity=perplexity,
            min_grad_norm=0.0,  # at so small a start the gradient is small as well
            random_state=seed,
            n_jobs=threads,
            verbose=2,
        ).fit_transform(x)
    return np.asarray(made, np.float32)


def engine() -> str:
    """Whose t-SNE is used."""
    return "openTSNE" if find_spec("openTSNE") is not None else "scikit-learn"


def nearest(x: Vectors, k: int, *, metric: str, tick: Tick = silent) -> tuple[Rows, Floats]:
    """(N, k) the nearest other vectors, and how far they are; 1 - cosine where that is the metric."""
    n, D = x.shape
    held = pca(x, REDUCED)[0] if n > WIDE and D > REDUCED else x[:]
    return between(held, held, k, without=np.arange(n), metric=metric, tick=tick)


def between(
    query: Floats, gallery: Floats, k: int, *, without: Rows | None = None, metric: str, tick: Tick = silent
) -> tuple[Rows, Floats]:
    """(Q, k) the nearest of the gallery, the one in `without` left out, and how far they are."""
    # x.y - |y|^2 / 2 is largest where |x - y| is smallest.
    sides = np.ones((len(query), 1), np.float32), -0.5 * np.einsum("nd,nd->n", gallery, gallery)[:, None]
    wide = (np.ascontiguousarray(np.hstack(both), np.float32) for both in zip((query, gallery), sides))

    def told(done: int, total: int, note: str = "") -> None:
        tick(done, total, tr("Finding neighbours"))

    rows, _ = similarity.top_k(*wide, k=k, without=without, tick=told)
    far: Floats = np.empty((len(query), k), np.float32)
    step = max(1, BLOCK // max(1, k * query.shape[1]))
    for start in range(0, len(query), step):
        some = slice(start, start + step)
        apart = gallery[rows[some]] - query[some, None]
        far[some] = np.einsum("nkd,nkd->nk", apart, apart)
    far = np.asarray(far / 2 if metric == "cosine" else np.sqrt(far), np.float32)
    order = np.argsort(far, axis=1, kind="stable")
    return np.take_along_axis(rows, order, 1), np.take_along_axis(far, order, 1)


def _share(tick: Tick, start: float, stop: float) -> Tick:
    """The tick of a stretch of the work."""

    def inner(done: int, total: int, note: str = "") -> None:
        tick(round(1000 * (start + (stop - start) * done / max(total, 1))), 1000, note)

    return inner


class _Epochs:
    """What UMAP's progress bar is written to: how far it is, how the points look meanwhile, and where it is stopped."""

    def __init__(self, points: Floats, epochs: int, show: Show, tick: Tick) -> None:
        self._points, self._epochs, self._show, self._tick = points, epochs, show, tick
        self._last = time.monotonic()

    def write(self, text: str) -> None:
        if not (number := text.strip()).isdigit():
            return
        self._tick(int(number), self._epochs, tr("Epoch {n} of {epochs}", n=int(number), epochs=self._epochs))
        if int(number) and time.monotonic() - self._last > SHOWN_EVERY:
            self._last = time.monotonic()
            self._show(self._points.copy())

    def flush(self) -> None:
        pass


class _Steps:
    """What scikit-learn's t-SNE prints to."""

    def __init__(self, tick: Tick, steps: int = 1000) -> None:
        self._tick, self._steps, self._out = tick, steps, sys.stdout

    def write(self, text: str) -> int:
        with contextlib.redirect_stdout(self._out):  # whoever listens may print as well
            if found := re.search(r"Iteration (\d+)", text):
                self._tick(int(found[1]), self._steps, tr("t-SNE, step {n}", n=int(found[1])))
            return len(text)

    def flush(self) -> None:
        pass
