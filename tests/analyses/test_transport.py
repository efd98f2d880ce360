"""Transport: the least cost, what smoothing adds, the authors' way; golden families transport and deepface_emd."""

from __future__ import annotations

import itertools
import json
import os
from pathlib import Path

import numpy as np
import pytest

from facelens.analyses import transport

FOLDER = Path(os.environ.get("FACELENS_SHARED", Path(__file__).resolve().parents[3] / "shared")) / "golden"
CASES = [
    case.parent.name
    for case in sorted(FOLDER.glob("*/expected.json"))
    if json.loads(case.read_text())["family"] in ("transport", "deepface_emd")
]


def unit(x: np.ndarray) -> np.ndarray:
    x = x.astype(np.float64)
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def distances(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    if x.ndim == 1:
        return np.abs(x[:, None].astype(float) - y[None, :]) / 500
    return 1 - unit(x) @ unit(y).T


@pytest.mark.parametrize("name", CASES or ["absent"])
def test_a_golden_case(golden: Path, name: str) -> None:
    case = golden / name
    sheet = json.loads((case / "expected.json").read_text())
    with np.load(case / "inputs.npz", allow_pickle=False) as inputs:
        given = dict(inputs)
    D = distances(given["x"], given["y"])
    got: dict[str, float] = {}
    if sheet["family"] == "transport":
        u, v = given["a"], given["b"]
        got["emd"] = transport.exact(D, u, v).cost
        for key in sheet["expected"]:
            if key.startswith("sinkhorn_cost@reg="):
                got[key] = transport.sinkhorn(D, u, v, epsilon=float(key.partition("=")[2])).cost
    else:
        x, y = unit(given["x"]), unit(given["y"])
        kinds = {"uniform": "uniform", "apc": "apc", "sc": "sc distance", "uew": "joint apc"}
        for key in sheet["expected"]:
            u, v = transport.weights(x, y, kind=kinds[key.removeprefix("sim_")])
            got[key] = float((transport.paper(D, u, v).flow * (1 - D)).sum())
    for key, wanted in sheet["expected"].items():
        assert got[key] == pytest.approx(wanted, rel=0, abs=sheet["tolerance_abs"]), key


def random(p: int, g: int, *, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.random((p, g)), rng.dirichlet(np.ones(p)), rng.dirichlet(np.ones(g))


def test_exact_is_the_best_of_all_assignments() -> None:
    D = random(6, 6)[0]
    u = np.full(6, 1 / 6)
    best = min(sum(D[i, j] for i, j in enumerate(order)) / 6 for order in itertools.permutations(range(6)))
    assert transport.exact(D, u, u).cost == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize(("p", "g"), [(5, 9), (9, 5), (1, 4), (7, 7)])
def test_no_plan_is_cheaper_than_the_exact_one(p: int, g: int) -> None:
    from scipy.optimize import linprog

    D, u, v = random(p, g)
    sums = np.zeros((p + g, p * g))
    for i, j in itertools.product(range(p), range(g)):
        sums[i, i * g + j] = sums[p + j, i * g + j] = 1
    found = linprog(D.ravel(), A_eq=sums, b_eq=np.concatenate([u, v]))
    plan = transport.exact(D, u, v)
    assert plan.cost == pytest.approx(found.fun, abs=1e-9)
    assert plan.marginal_error < 1e-12 and (plan.flow >= 0).all()


def test_smoothing_costs_more_and_says_how_much_it_may_be() -> None:
    D, u, v = random(8, 8, seed=3)
    least = transport.exact(D, u, v).cost
    before = np.inf
    for epsilon in (1.0, 0.2, 0.05, 0.02):
        plan = transport.sinkhorn(D, u, v, epsilon=epsilon)
        assert plan.marginal_error < 1e-10 and least <= plan.cost + 1e-9 < before
        assert plan.cost - least <= plan.gap + 1e-9
        before = plan.cost
    assert transport.sinkhorn(D, u, v, epsilon=1e-4, rounds=300).cost < np.inf  # no overflow, however sharp


def test_rows_are_the_query_by_a_known_permutation() -> None:
    rng = np.random.default_rng(1)
    query = unit(rng.standard_normal((9, 30)))
    order = rng.permutation(9)
    gallery = query[order]  # patch j of the gallery is patch order[j] of the query
    D, even = 1 - query @ gallery.T, np.full(9, 1 / 9)
    for plan in (transport.exact(D, even, even), transport.sinkhorn(D, even, even), transport.paper(D, even, even)):
        assert np.array_equal(plan.flow.argmax(0), order), plan.solver
        assert np.array_equal(plan.flow.argmax(1), np.argsort(order)), plan.solver


@pytest.mark.parametrize("kind", transport.WEIGHTS)
def test_weights_against_loops(kind: str) -> None:
    rng = np.random.default_rng(2)
    q, g = unit(rng.standard_normal((5, 7))), unit(rng.standard_normal((6, 7)))
    u, v = transport.weights(q, g, kind=kind)
    q_mean, g_mean = (m / np.linalg.norm(m) for m in (q.mean(0), g.mean(0)))
    raw = {
        "uniform": ([1.0] * 5, [1.0] * 6),
        "apc": ([max(0, a @ g_mean) for a in q], [max(0, b @ q_mean) for b in g]),
        "sc distance": ([sum(1 - a @ b for b in g) for a in q], [sum(1 - a @ b for a in q) for b in g]),
        "sc similarity": ([max(0, sum(a @ b for b in g)) for a in q], [max(0, sum(a @ b for a in q)) for b in g]),
    }
    raw["joint apc"] = raw["apc"]
    left, right = (np.array(side) for side in raw[kind])
    sums = (left.sum() + right.sum(),) * 2 if kind == "joint apc" else (left.sum(), right.sum())
    np.testing.assert_allclose(u, left / sums[0], atol=1e-6)
    np.testing.assert_allclose(v, right / sums[1], atol=1e-6)


def test_patches_without_mass_take_no_part() -> None:
    D, u, v = random(6, 5, seed=5)
    u[2] = v[0] = 0.0
    u, v = u / u.sum(), v / v.sum()
    for plan in (transport.exact(D, u, v), transport.sinkhorn(D, u, v)):
        assert not plan.flow[2].any() and not plan.flow[:, 0].any() and plan.marginal_error < 1e-9
    opposite = np.array([[1.0, 0.0], [1.0, 0.0]])
    u, v = transport.weights(opposite, -opposite, kind="apc")
    assert u.tolist() == [0.5, 0.5] and v.tolist() == [0.5, 0.5]  # nothing attends to anything: all alike


def test_nonsense_is_refused() -> None:
    D, u, v = random(3, 3)
    with pytest.raises(ValueError, match="same mass"):
        transport.exact(D, u, 2 * v)
    with pytest.raises(ValueError, match="finite"):
        transport.exact(D * np.nan, u, v)
    with pytest.raises(ValueError, match="do not fit"):
        transport.sinkhorn(D, u, v[:2])
    with pytest.raises(ValueError, match="above 0"):
        transport.sinkhorn(D, u, v, epsilon=0)
    assert transport.exact(np.zeros((0, 0)), np.zeros(0), np.zeros(0)).cost == 0


def test_blend() -> None:
    assert transport.blended(0.5, 0.9) == pytest.approx(0.7 * 0.9 + 0.3 * 0.5)
    assert transport.blended(0.5, 0.9, alpha=-1) == pytest.approx(1.4)
    assert transport.blended(0.5, 0.9, alpha=0) == 0.5
