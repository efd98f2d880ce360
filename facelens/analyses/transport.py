"""Transport: how the patches of one face must be moved to make the other, at the least cost.

Computes    EMD = min over F >= 0 of sum_ij F_ij D_ij,  row sums of F = u, column sums = v,  D = 1 - S, S_ij = q_i . g_j
            exact: network simplex; a linear assignment where all masses are equal
            sinkhorn: the F that minimises <F, D> - eps H(F), with potentials in the logarithm, until the sums hold
            paper: K = exp(-D / eps); r = u / (K c), c = v / (K^T r); at most 100 rounds, until mean|r - r'| < 0.1;
            F = diag(r) K diag(c), with the patches of the gallery as rows, as published
            weights: uniform 1 / P; apc relu(q_i . mean g); sc sum_j D_ij (distance) or relu(sum_j S_ij) (similarity)
Shapes      query (P, D), gallery (G, D) unit vectors; D, S, F (P, G), rows query, columns gallery; u (P,), v (G,)
Reference   Phan, Nguyen, "DeepFace-EMD: Re-ranking Using Patch-wise Earth Mover's Distance Improves Out-Of-Distribution
            Face Identification", CVPR 2022
Departs     exact by default, which the authors do not offer; a patch without mass takes no part; where all masses are 0
            the weights are uniform; the plan always has the query's patches as rows (the authors' picture swaps them)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

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
    rows, columns = np.flatnonzero(u > 0), np.flatnonzero(v > 0)
    inner = np.ascontiguousarray(distance[np.ix_(rows, columns)])
    a, b = u[rows], v[columns]
    flow = np.zeros(distance.shape)
    if not len(rows) or not len(columns):
        return Plan(flow, 0.0, "exact", 0.0, 0.0)
    if len(rows) == len(columns) and np.ptp(a) <= 1e-15 and np.ptp(b) <= 1e-15:
        from scipy.optimize import linear_sum_assignment

        i, j = linear_sum_assignment(inner)
        flow[rows[i], columns[j]] = a[i]
    else:
        import ot

        b = b * (a.sum() / b.sum())  # equal to the last bit, which the solver asks for
        flow[np.ix_(rows, columns)] = ot.emd(a, b, inner, numItermax=1_000_000)
    return Plan(flow, float((flow * distance).sum()), "exact", _error(flow, u, v), 0.0)


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
    log_a, log_b = np.log(a), np.log(b)
    f, g = np.zeros(len(a)), np.zeros(len(b))
    done = 0
    for done in range(1, rounds + 1):
        f = epsilon * (log_a - _log_sum((g[None, :] - inner) / epsilon, axis=1))
        g = epsilon * (log_b - _log_sum((f[:, None] - inner) / epsilon, axis=0))
        # After the columns have been set, the rows show how far it is.
        if done % 10 == 0 or done == rounds:
            moved = np.exp((f[:, None] + g[None, :] - inner) / epsilon)
            if np.abs(moved.sum(1) - a).max() < tolerance:
                break
    moved = np.exp((f[:, None] + g[None, :] - inner) / epsilon)
    flow[np.ix_(rows, columns)] = moved
    return Plan(flow, float((moved * inner).sum()), "sinkhorn", _error(flow, u, v), _gap(inner, moved, f), rounds=done)


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
    """What one face and k others have to do with one another, patch by patch."""

    query: PatchSets  # one
    gallery: PatchSets  # k
    similarity: Singles  # (P, k, G)
    towards: dict[str, Singles]  # "apc", "cc" -> (k, G) of the others' patches with what stands for the query


@dataclass(frozen=True, eq=False)
class Solved:
    """The least costs of k faces, see Plan."""

    cost: Floats  # (k,)
    error: Floats  # (k,) largest difference between the sums of the plan and the masses
    rounds: NDArray[np.int64]  # (k,)


def tables(query: PatchSets, gallery: PatchSets) -> Tables:
    """One face against k, as one product of matrices."""
    if len(query) != 1:
        raise ValueError(f"one face is compared with others, not {len(query)}")
    (P, C), (k, G, D) = query.patches.shape[1:], gallery.patches.shape
    if C != D:
        raise ValueError(f"patches of {C} and {D} numbers have no cosine")
    rows = {"apc": query.centre, "cc": query.embedding if query.embedding.shape[1] == C else query.centre[:0]}
    asking = np.concatenate([query.patches[0], *rows.values()])
    products = (asking @ gallery.patches.reshape(k * G, C).T).reshape(len(asking), k, G)
    towards = {name: products[P + i] for i, (name, row) in enumerate(rows.items()) if len(row)}
    return Tables(query, gallery, products[:P], towards)


def masses(found: Tables, *, kind: str) -> tuple[Floats, Floats]:
    """u (k, P) and v (k, G), each line sums to 1; `kind` of PATCH_WEIGHTS."""
    query, gallery = found.query, found.gallery
    P, k, G = found.similarity.shape
    u: Raw = np.ones((k, P))
    v: Raw = np.ones((k, G))
    if kind == "apc":
        u, v = gallery.centre @ query.patches[0].T, found.towards["apc"]
    elif kind == "cc":
        if "cc" not in found.towards:
            raise InputError(
                tr(
                    "Patches of {C} numbers cannot be weighed by an embedding of {D}.",
                    C=query.patches.shape[2],
                    D=query.embedding.shape[1],
                ),
                hint=tr("Choose other weights, or a layer with as many channels as the embedding has numbers."),
            )
        u, v = gallery.embedding @ query.patches[0].T, found.towards["cc"]
    elif kind in ("sc distance", "sc similarity"):
        u, v = found.similarity.sum(2, dtype=np.float64).T, found.similarity.sum(0, dtype=np.float64)
        if kind == "sc distance":
            u, v = G - u, P - v
    elif kind == "lmk":
        if query.points is not None:
            u = np.repeat(query.points, k, 0)
        if gallery.points is not None:
            v = gallery.points
    elif kind != "uniform":
        raise ValueError(f"weights are one of {PATCH_WEIGHTS}, not {kind!r}")
    return _lines(u), _lines(v)


def solve(found: Tables, u: Floats, v: Floats, *, solver: str = "exact", epsilon: float = EPSILON) -> Solved:
    """What it costs to move the patches of the query to those of each of the others; `solver` of SOLVERS."""
    if solver not in SOLVERS:
        raise ValueError(f"solvers are {SOLVERS}, not {solver!r}")
    distance = 1 - found.similarity.transpose(1, 0, 2).astype(np.float64)
    plans = [_SOLVE[solver](D, a, b, epsilon) for D, a, b in zip(distance, u, v)]
    return Solved(
        np.array([plan.cost for plan in plans]),
        np.array([plan.marginal_error for plan in plans]),
        np.array([plan.rounds for plan in plans], np.int64),
    )


def pair(distance: Floats, u: Floats, v: Floats, *, solver: str = "exact", epsilon: float = EPSILON) -> Plan:
    """One plan; `solver` of SOLVERS."""
    return _SOLVE[solver](distance, u, v, epsilon)


def blended(cosine: float, patch_similarity: float, *, alpha: float = 0.7) -> float:
    """Similarity of two faces, Eq. 9: alpha of the patches, the rest of the whole; below 0 the plain sum of both."""
    return cosine + patch_similarity if alpha < 0 else alpha * patch_similarity + (1 - alpha) * cosine


_SOLVE: dict[str, Callable[[Floats, Floats, Floats, float], Plan]] = {
    "exact": lambda distance, u, v, epsilon: exact(distance, u, v),
    "sinkhorn": lambda distance, u, v, epsilon: sinkhorn(distance, u, v, epsilon=epsilon),
    "paper": lambda distance, u, v, epsilon: paper(distance, u, v, epsilon=epsilon),
}


def _lines(raw: Raw) -> Floats:
    """Each line with a sum of 1: masses below 0 are none, and where there is none all are alike."""
    found = np.maximum(raw, 0.0, dtype=np.float64)
    total = found.sum(1, keepdims=True)
    return np.where(total > 0, found / np.where(total > 0, total, 1.0), 1.0 / max(found.shape[1], 1))


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


def _log_sum(values: Floats, *, axis: int) -> Floats:
    top = values.max(axis=axis, keepdims=True)
    summed: Floats = np.log(np.exp(values - top).sum(axis=axis)) + top.squeeze(axis)
    return summed


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
