"""Transport: how the patches of one face must be moved to make the other, at the least cost.

Computes    EMD = min over F >= 0 of sum_ij F_ij D_ij,  row sums of F = u, column sums = v,  D = 1 - S, S_ij = q_i . g_j
            exact: shortest ways for mass that is not placed yet (Hungarian method), distances as whole numbers; of many
            faces they have steps of 2^-20 to 2^-23, which can add no more than one step to a cost
            sinkhorn: the F that minimises <F, D> - eps H(F), by scaling exp((f + g - D) / eps) until the sums hold: to
            1e-12, of many faces to 1e-6 or for 1000 rounds; f_i = min_j D_ij - h_j, g_j = min_i D_ij - f_i, with h = 0
            or, below eps = 0.02, the potentials of the exact plan; so scalings stay small, however small eps is
            paper: K = exp(-D / eps); r = u / (K c), c = v / (K^T r); at most 100 rounds, until mean|r - r'| < 0.1;
            F = diag(r) K diag(c), with the patches of the gallery as rows, as published
            weights: uniform 1 / P; apc relu(q_i . centre of the other); cc relu(q_i . embedding of the other);
            sc sum_j D_ij (distance) or relu(sum_j S_ij) (similarity); lmk landmarks in the cell
Shapes      query (P, C), gallery (G, C) unit vectors; D, S, F (P, G), rows query, columns gallery; u (P,), v (G,)
            of many faces: tables (k, G, P), the way one product of matrices makes them fastest; u (k, P), v (k, G)
Reference   Phan, Nguyen, "DeepFace-EMD: Re-ranking Using Patch-wise Earth Mover's Distance Improves Out-Of-Distribution
            Face Identification", CVPR 2022; Kuhn, The Hungarian method for the assignment problem, 1955; Schmitzer,
            Stabilized sparse scaling algorithms for entropy regularized transport problems, 2019
Departs     exact by default, which the authors do not offer; a patch without mass takes no part; where all masses are 0
            the weights are uniform; the plan always has the query's patches as rows (the authors' picture swaps them)
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from facelens.analyses.patch_sets import PatchSets
from facelens.analyses.plan import PATCH_WEIGHTS, SOLVERS
from facelens.errors import InputError
from facelens.words import tr

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Raw = Floats | Singles

EPSILON = 0.05
PAPER_ROUNDS, PAPER_STOP = 100, 0.1
ROUNDS, TOLERANCE = 20_000, 1e-12
MANY_ROUNDS, MANY_TOLERANCE = 1000, 1e-6  # of many faces, in single precision
STEPS = 1 << 40  # of the largest distance, where one plan is asked for
SHARP = 0.02  # below it rounds start from the potentials of the least cost: there would be too many otherwise
FEW, MANY, TURNS = 8, 64, 3  # faces of the gallery that a core takes at once, and how often at least
ALONE = 128  # the same where there is only one core
GROWN = 1e100  # a scaling that becomes part of the potentials
SMALLEST = 1e-7  # added by the authors to the sum that weights are divided by
WEIGHTS = ("uniform", "apc", "sc distance", "sc similarity", "joint apc")


@dataclass(frozen=True, eq=False)
class Plan:
    """How much goes from each patch of the query to each of the gallery face, and how well that was solved."""

    flow: Floats  # (P, G)
    cost: float  # <F, D>, without any entropy
    solver: str  # "exact", "sinkhorn" or "paper"
    marginal_error: float  # largest difference between the sums of `flow` and the masses
    gap: float  # how far `cost` may lie above the least possible one for its own sums; 0 where that is known
    rounds: int = 0


def weights(
    query: Floats, gallery: Floats, *, kind: str = "uniform", smallest: float = SMALLEST
) -> tuple[Floats, Floats]:
    """u (P,) and v (G,) of two sets of unit patches; each sums to 1, but "joint apc" (experimental): both together."""
    if kind == "uniform":
        return _uniform(len(query)), _uniform(len(gallery))
    if kind in ("apc", "joint apc"):
        u, v = np.maximum(query @ _centre(gallery), 0.0), np.maximum(gallery @ _centre(query), 0.0)
        if kind == "joint apc":
            both = u.sum() + v.sum() + smallest
            return (u / both, v / both) if both > smallest else (_uniform(len(u)) / 2, _uniform(len(v)) / 2)
    elif kind in ("sc distance", "sc similarity"):
        table = 1 - query @ gallery.T if kind == "sc distance" else query @ gallery.T
        u, v = np.maximum(table.sum(1), 0.0), np.maximum(table.sum(0), 0.0)
    else:
        raise ValueError(f"weights are one of {WEIGHTS}, not {kind!r}")
    return _shares(u, smallest), _shares(v, smallest)


def exact(distance: Floats, u: Floats, v: Floats) -> Plan:
    """The plan of least cost. Masses must have the same sum.

    >>> exact(np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([0.5, 0.5]), np.array([0.5, 0.5])).cost
    0.0
    """
    _check(distance, u, v)
    total = float(u.sum())
    if not distance.size or total <= 0:
        return Plan(np.zeros(distance.shape), 0.0, "exact", 0.0, 0.0)
    flow, _, step = _routed(distance, u / total, v / float(v.sum()))
    flow *= total
    return Plan(flow, float((flow * distance).sum()), "exact", _error(flow, u, v), step * total)


def sinkhorn(
    distance: Floats,
    u: Floats,
    v: Floats,
    *,
    epsilon: float = EPSILON,
    rounds: int = ROUNDS,
    tolerance: float = TOLERANCE,
) -> Plan:
    """The smoothed plan, sharper with smaller `epsilon`; any `epsilon` > 0 is safe."""
    _check(distance, u, v)
    if epsilon <= 0:
        raise ValueError("epsilon is above 0")
    rows, columns = np.flatnonzero(u > 0), np.flatnonzero(v > 0)
    flow = np.zeros(distance.shape)
    if not len(rows) or not len(columns):
        return Plan(flow, 0.0, "sinkhorn", 0.0, 0.0)
    inner = distance[np.ix_(rows, columns)]
    a, b = u[rows], v[columns]
    f = (inner - _routed(inner, a / a.sum(), b / b.sum())[1]).min(1) if epsilon < SHARP else inner.min(1)
    g = (inner - f[:, None]).min(0)  # so each row and each column of the kernel has a 1
    kernel, r, c = np.exp((f[:, None] + g - inner) / epsilon), np.zeros(len(a)), np.ones(len(b))
    done = 0
    for done in range(1, rounds + 1):  # noqa: B007 - told at the end
        sums = kernel @ c
        far = np.abs(r * sums - a).max()  # after the columns have been set, the rows show how far it is
        r = a / sums
        c = b / (r @ kernel)
        if far < tolerance:
            break
        if max(r.max(), c.max(), 1 / r.min(), 1 / c.min()) > GROWN:
            f, g = f + epsilon * np.log(r), g + epsilon * np.log(c)
            kernel, r, c = np.exp((f[:, None] + g - inner) / epsilon), np.ones(len(a)), np.ones(len(b))
    moved = r[:, None] * kernel * c
    flow[np.ix_(rows, columns)] = moved
    gap = _gap(inner, moved, f + epsilon * np.log(r))
    return Plan(flow, float((moved * inner).sum()), "sinkhorn", _error(flow, u, v), gap, rounds=done)


def paper(
    distance: Floats,
    u: Floats,
    v: Floats,
    *,
    epsilon: float = EPSILON,
    rounds: int = PAPER_ROUNDS,
    stop: float = PAPER_STOP,
) -> Plan:
    """The authors' settings: stopped early, so the sums hold only roughly, as `marginal_error` says."""
    _check(distance, u, v, balanced=False)
    kernel = np.exp(-distance.T / epsilon)  # (G, P): rows are the gallery's patches
    r, c = np.ones(len(v)), np.ones(len(u))
    done = 0
    for done in range(1, rounds + 1):  # noqa: B007 - told at the end
        before = r
        with np.errstate(divide="ignore", invalid="ignore"):
            r = v / (kernel @ c)
            c = u / (kernel.T @ r)
        if np.abs(r - before).mean() < stop:
            break
    flow = np.nan_to_num(r[:, None] * kernel * c[None, :], posinf=0.0, neginf=0.0).T  # the authors put 0 for NaN
    return Plan(flow, float((flow * distance).sum()), "paper", _error(flow, u, v), _gap(distance, flow, None), done)


@dataclass(frozen=True, eq=False)
class Tables:
    """What a face and k others, or k pairs of faces, have to do with one another, patch by patch."""

    query: PatchSets  # 1 or k
    gallery: PatchSets  # k
    products: Singles  # (k, G, P + ...) of the others' patches with those of the query, and with the two below
    towards: dict[str, int]  # "apc", "cc" -> the column with the centre, with the embedding of the query

    @property
    def similarity(self) -> Singles:
        """(k, G, P)."""
        return self.products[:, :, : self.query.patches.shape[1]]

    def take(self, rows: NDArray[np.int64]) -> Tables:
        """Some of the others."""
        query = self.query if len(self.query) == 1 else self.query.take(rows)
        return Tables(query, self.gallery.take(rows), self.products[rows], self.towards)


@dataclass(frozen=True, eq=False)
class Solved:
    """The costs of k plans, see Plan."""

    cost: Floats  # (k,)
    error: Floats  # (k,) largest difference between the sums of the plan and the masses
    rounds: NDArray[np.int64]  # (k,)


def tables(query: PatchSets, gallery: PatchSets, *, kinds: Collection[str] = PATCH_WEIGHTS) -> Tables:
    """One face against k as one product of matrices, or k against k others, each with its own; for weights `kinds`."""
    n, (k, G, C) = len(query), gallery.patches.shape
    if n not in (1, k):
        raise ValueError(f"one face is compared with others, or each with its own, not {n} with {k}")
    if query.patches.shape[2] != C:
        raise ValueError(f"patches of {query.patches.shape[2]} and {C} numbers have no cosine")
    asking = [query.patches]
    towards: dict[str, int] = {}
    for kind, vectors in (("apc", query.centre), ("cc", query.embedding)):
        if kind in kinds and vectors.shape[1] == C:
            towards[kind] = query.patches.shape[1] + len(towards)
            asking.append(vectors[:, None])
    columns = np.concatenate(asking, 1) if towards else query.patches
    if n == 1:
        products = (gallery.patches.reshape(k * G, C) @ columns[0].T).reshape(k, G, columns.shape[1])
    else:
        products = gallery.patches @ columns.transpose(0, 2, 1)
    return Tables(query, gallery, products, towards)


def masses(found: Tables, *, kind: str) -> tuple[Floats, Floats]:
    """u (k, P) and v (k, G), each line sums to 1; `kind` of PATCH_WEIGHTS."""
    query, gallery = found.query, found.gallery
    k, G, P = found.similarity.shape
    even = np.full((k, P), 1 / P), np.full((k, G), 1 / G)
    u: Raw
    v: Raw
    u, v = even
    if kind == "uniform":
        return even
    if kind in ("apc", "cc"):
        if kind not in found.towards:
            raise InputError(
                tr(
                    "Patches of {C} numbers cannot be weighed by an embedding of {D}.",
                    C=query.patches.shape[2],
                    D=query.embedding.shape[1],
                ),
                hint=tr("Choose other weights, or a layer with as many channels as the embedding has numbers."),
            )
        other = gallery.centre if kind == "apc" else gallery.embedding
        alone = len(query) == 1
        u = other @ query.patches[0].T if alone else np.einsum("kpc,kc->kp", query.patches, other)
        v = found.products[:, :, found.towards[kind]]
    elif kind in ("sc distance", "sc similarity"):
        u, v = found.similarity.sum(1), found.similarity.sum(2)
        if kind == "sc distance":
            u, v = G - u, P - v
    elif kind == "lmk":
        if query.points is not None:
            u = np.broadcast_to(query.points, (k, P))
        if gallery.points is not None:
            v = gallery.points
    else:
        raise ValueError(f"weights are one of {PATCH_WEIGHTS}, not {kind!r}")
    return _lines(u), _lines(v)


def solve(found: Tables, u: Floats, v: Floats, *, solver: str = "exact", epsilon: float = EPSILON) -> Solved:
    """What it costs to move the patches of the query to those of each of the others; `solver` of SOLVERS."""
    if solver not in SOLVERS:
        raise ValueError(f"solvers are {SOLVERS}, not {solver!r}")
    if epsilon <= 0:
        raise ValueError("epsilon is above 0")
    from facelens.analyses import kernels_transport as kernels

    k = len(u)
    cost, error, rounds = np.zeros(k), np.zeros(k), np.zeros(k, np.int64)
    given = found.products, v, u  # rows are the gallery's patches
    first = np.zeros(u.shape, np.float32)  # potentials
    if solver == "exact" or (solver == "sinkhorn" and epsilon < SHARP):
        kernels.least(*given, cost, first)
    if solver == "sinkhorn":
        first -= first.max(1, keepdims=True, initial=-np.inf)
        kernels.smooth(*given, first, epsilon, MANY_ROUNDS, MANY_TOLERANCE, cost, error, rounds)
    elif solver == "paper":
        kernels.published(*given, epsilon, PAPER_ROUNDS, PAPER_STOP, cost, error, rounds)
    return Solved(cost, error, rounds)


def costs(
    query: PatchSets,
    gallery: PatchSets,
    *,
    kinds: Collection[str] = ("uniform",),
    solver: str = "exact",
    epsilon: float = EPSILON,
) -> dict[str, Solved]:
    """What `solve` gives for each of some `kinds` of weights, of faces as in `tables`; all cores work on it."""
    k, cores = len(gallery), len(_cores())
    found = {kind: Solved(np.zeros(k), np.zeros(k), np.zeros(k, np.int64)) for kind in kinds}
    step = min(max(-(-k // (TURNS * cores)), FEW), MANY) if cores > 1 else ALONE
    starts = iter(range(0, k, step))

    def work() -> None:
        for start in starts:
            some = slice(start, start + step)
            table = tables(query if len(query) == 1 else query.take(some), gallery.take(some), kinds=kinds)
            for kind, whole in found.items():
                part = solve(table, *masses(table, kind=kind), solver=solver, epsilon=epsilon)
                whole.cost[some], whole.error[some], whole.rounds[some] = part.cost, part.error, part.rounds

    with _one_thread():
        others = [_helpers().submit(work) for _ in range(min(cores, -(-k // step)) - 1)]
        with _first_core() if others else nullcontext():
            work()
        for other in others:
            other.result()
    return found


def bounds(found: Tables, u: Floats, v: Floats) -> Floats:
    """(k,) what the costs cannot be below, at a small part of their price."""
    from facelens.analyses import kernels_transport as kernels

    least = np.zeros(len(u))
    kernels.bounds(found.products, v, u, least)
    return least


def pair(distance: Floats, u: Floats, v: Floats, *, solver: str = "exact", epsilon: float = EPSILON) -> Plan:
    """One plan; `solver` of SOLVERS."""
    return _SOLVE[solver](distance, u, v, epsilon)


def _routed(distance: Floats, u: Floats, v: Floats) -> tuple[Floats, Floats, float]:
    """The best plan for masses of 1, potentials of the columns, and the step of its distances."""
    from facelens.analyses import kernels_transport as kernels

    R, C = distance.shape
    low = float(distance.min())
    step = max(float(np.ptp(distance)), 1e-300) / STEPS
    W = kernels.filled(C)
    bits = kernels.bits_of(W)
    table = np.full((R, W), kernels.FAR_64, np.int64)
    table[:, :C] = (np.rint((distance - low) / step).astype(np.int64) << bits) + np.arange(C)
    shares = kernels.shares(R, C)
    a, b = np.empty(R, np.int64), np.empty(C, np.int64)
    kernels.whole(u, shares, a)
    kernels.whole(v, shares, b)
    rows, amount, count = np.empty((W, R), np.int32), np.empty((W, R), np.int64), np.empty(W, np.int32)
    potential = kernels.route(table, kernels.FAR_64, a, b, rows, amount, count)
    flow = np.zeros(distance.shape)
    for j in range(C):
        flow[rows[j, : count[j]], j] = amount[j, : count[j]] / shares
    return flow, (potential[:C] >> bits) * step, step


def blended(cosine: float, patch_similarity: float, *, alpha: float = 0.7) -> float:
    """Similarity of two faces, Eq. 9: alpha of the patches, the rest of the whole; below 0 the plain sum of both."""
    return cosine + patch_similarity if alpha < 0 else alpha * patch_similarity + (1 - alpha) * cosine


_SOLVE: dict[str, Callable[[Floats, Floats, Floats, float], Plan]] = {
    "exact": lambda distance, u, v, epsilon: exact(distance, u, v),
    "sinkhorn": lambda distance, u, v, epsilon: sinkhorn(distance, u, v, epsilon=epsilon),
    "paper": lambda distance, u, v, epsilon: paper(distance, u, v, epsilon=epsilon),
}


def _cores() -> list[int]:
    """Those that this process may use."""
    return sorted(os.sched_getaffinity(0)) if sys.platform == "linux" else list(range(os.cpu_count() or 1))


def _bind(cores: Collection[int]) -> None:
    """Keep this thread on some of the cores, where the system lets us."""
    if sys.platform == "linux":
        with suppress(OSError):
            os.sched_setaffinity(0, cores)


@cache
def _helpers() -> ThreadPoolExecutor:
    """A thread on each core but the first: those of a virtual machine would wake up on the core that calls them."""
    others = _cores()[1:]
    places = iter(others)
    return ThreadPoolExecutor(max(1, len(others)), "transport", lambda: _bind({next(places)}))


@contextmanager
def _first_core() -> Iterator[None]:
    """This thread where none of the helpers is."""
    before = _cores()
    _bind(before[:1])
    try:
        yield
    finally:
        _bind(before)


@cache
def _libraries() -> list[tuple[Any, int]]:
    """Those that multiply matrices, each with its number of threads."""
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

    found = ThreadpoolController().select(user_api="blas").lib_controllers
    return [(library, library.num_threads) for library in found]


@contextmanager
def _one_thread() -> Iterator[None]:
    """Products in one thread each, so that there can be one on every core; threads of a library would wait spinning."""
    for library, _ in _libraries():
        library.set_num_threads(1)
    try:
        yield
    finally:
        for library, threads in _libraries():
            library.set_num_threads(threads)


def _lines(raw: Raw) -> Floats:
    """Each line with a sum of 1: masses below 0 are none, and where there is none all are alike."""
    found = np.maximum(raw, 0.0, dtype=np.float64)
    total = found.sum(1, keepdims=True)
    some = np.isfinite(total) & (total > 0)
    return np.where(some, found / np.where(some, total, 1.0), 1.0 / max(found.shape[1], 1))


def _uniform(n: int) -> Floats:
    return np.full(n, 1.0 / n) if n else np.zeros(0)


def _centre(patches: Floats) -> Floats:
    mean: Floats = patches.mean(0)
    length = float(np.linalg.norm(mean))
    return mean / length if length > 0 else mean


def _shares(masses: Floats, smallest: float) -> Floats:
    total = float(masses.sum())
    shares: Floats = masses / (total + smallest) if total > 0 else _uniform(len(masses))
    return shares


def _check(distance: Floats, u: Floats, v: Floats, *, balanced: bool = True) -> None:
    if distance.shape != (len(u), len(v)):
        raise ValueError(f"distances {distance.shape} do not fit masses of {len(u)} and {len(v)}")
    if not (np.isfinite(distance).all() and np.isfinite(u).all() and np.isfinite(v).all()):
        raise ValueError("distances and masses must be finite")
    if (u < 0).any() or (v < 0).any():
        raise ValueError("masses must not be negative")
    if balanced and len(u) and len(v) and abs(u.sum() - v.sum()) > 1e-6 * max(1.0, float(u.sum())):
        raise ValueError("both sides must have the same mass")


def _error(flow: Floats, u: Floats, v: Floats) -> float:
    if not flow.size:
        return 0.0
    return float(max(np.abs(flow.sum(1) - u).max(), np.abs(flow.sum(0) - v).max()))


def _gap(distance: Floats, flow: Floats, f: Floats | None) -> float:
    """Cost minus a dual value for the sums that `flow` has: an upper limit of what a better plan could save."""
    f = distance.min(1) if f is None else f
    g = (distance - f[:, None]).min(0)
    f = (distance - g[None, :]).min(1)
    dual = float(flow.sum(1) @ f + flow.sum(0) @ g)
    return max(0.0, float((flow * distance).sum()) - dual)
