"""Transport: the least cost, what smoothing adds, the authors' way; golden families transport and deepface_emd."""

from __future__ import annotations

import itertools
import json
import os
from pathlib import Path

import numpy as np
import pytest

from facelens.analyses import transport
from facelens.analyses.patch_sets import PatchSets, sets_of
from facelens.analyses.plan import PATCH_WEIGHTS, SOLVERS
from facelens.errors import InputError

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
    one = faces(1, (2, 2))
    found = transport.tables(one, one)
    with pytest.raises(ValueError, match="above 0"):
        transport.solve(found, *transport.masses(found, kind="uniform"), solver="sinkhorn", epsilon=0)
    with pytest.raises(ValueError, match="weights are"):
        transport.masses(found, kind="none")
    with pytest.raises(ValueError, match="solvers are"):
        transport.solve(found, *transport.masses(found, kind="uniform"), solver="none")
    with pytest.raises(ValueError, match="have no cosine"):
        transport.tables(one, faces(1, (2, 2), channels=5))
    with pytest.raises(ValueError, match="2 with 3"):
        transport.tables(faces(2, (2, 2)), faces(3, (2, 2)))
    assert transport.exact(np.zeros((0, 0)), np.zeros(0), np.zeros(0)).cost == 0


def test_blend() -> None:
    assert transport.blended(0.5, 0.9) == pytest.approx(0.7 * 0.9 + 0.3 * 0.5)
    assert transport.blended(0.5, 0.9, alpha=-1) == pytest.approx(1.4)
    assert transport.blended(0.5, 0.9, alpha=0) == 0.5


# Many faces at once


def faces(n: int, grid: tuple[int, int], *, seed: int = 0, channels: int = 24) -> PatchSets:
    """Faces that have something in common, and cells of different strength."""
    rng = np.random.default_rng(seed)
    maps = rng.standard_normal((n, channels, *grid)) + 2 * np.random.default_rng(99).standard_normal((channels, 1, 1))
    maps *= rng.random((n, 1, *grid)) * 4
    landmarks = rng.integers(0, 3, (n, grid[0] * grid[1])).astype(np.float32)
    embedding = maps.mean((2, 3)) + rng.standard_normal((n, channels))
    return sets_of(np.arange(n), maps.astype(np.float32), embedding.astype(np.float32), points=landmarks)


def as_pairs(query: PatchSets, gallery: PatchSets, kind: str) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """D, u, v of each pair, number by number."""
    found = []
    for n in range(len(gallery)):
        one = query.take(slice(0, 1) if len(query) == 1 else slice(n, n + 1))
        assert one.points is not None and gallery.points is not None
        q, g = one.patches[0].astype(np.float64), gallery.patches[n].astype(np.float64)
        D = np.array([[1 - a @ b for b in g] for a in q])
        P, G = D.shape
        u, v = {
            "uniform": (np.ones(P), np.ones(G)),
            "apc": (q @ gallery.centre[n], g @ one.centre[0]),
            "cc": (q @ gallery.embedding[n], g @ one.embedding[0]),
            "sc distance": (D.sum(1), D.sum(0)),
            "sc similarity": ((1 - D).sum(1), (1 - D).sum(0)),
            "lmk": (one.points[0], gallery.points[n]),
        }[kind]
        u, v = np.maximum(u, 0), np.maximum(v, 0)
        found.append((D, u / u.sum(), v / v.sum()))
    return found


SIDES = {
    "7x6": (faces(1, (7, 6)), faces(3, (7, 6), seed=1)),
    "8x8 and 4x4": (faces(1, (8, 8)), faces(2, (4, 4), seed=1)),
    "one and one": (faces(1, (3, 3)), faces(1, (2, 5), seed=1)),
    "one patch": (faces(1, (1, 1)), faces(2, (3, 3), seed=1)),
    "each with its own": (faces(3, (3, 4)), faces(3, (4, 4), seed=1)),
}


@pytest.mark.parametrize("kind", PATCH_WEIGHTS)
@pytest.mark.parametrize("sides", SIDES)
def test_many_faces_are_as_each_pair(sides: str, kind: str) -> None:
    query, gallery = SIDES[sides]
    found = transport.tables(query, gallery)
    u, v = transport.masses(found, kind=kind)
    pairs = as_pairs(query, gallery, kind)
    for n, (D, a, b) in enumerate(pairs):
        np.testing.assert_allclose(1 - found.similarity[n].T, D, atol=1e-6)
        np.testing.assert_allclose(u[n], a, atol=1e-6)
        np.testing.assert_allclose(v[n], b, atol=1e-6)
    for solver in SOLVERS:
        solved = transport.solve(found, u, v, solver=solver, epsilon=0.1)
        for n, (D, _, _) in enumerate(pairs):
            plan = transport.pair(D, u[n], v[n], solver=solver, epsilon=0.1)
            assert solved.cost[n] == pytest.approx(plan.cost, abs=3e-6 if solver == "sinkhorn" else 1e-6), solver
            assert solved.error[n] == pytest.approx(plan.marginal_error, abs=2e-6), solver
    assert (transport.bounds(found, u, v) <= transport.solve(found, u, v).cost + 1e-6).all()


@pytest.mark.parametrize("sides", [(faces(1, (3, 3)), 40), (faces(40, (3, 3)), 40), (faces(1, (3, 3)), 1)])
def test_pieces_of_all_cores_are_the_whole(sides: tuple[PatchSets, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "FEW", 3)
    before = transport._cores()
    monkeypatch.setattr(transport, "_cores", lambda: before * 4)
    query, gallery = sides[0], faces(sides[1], (4, 3), seed=1)
    found = transport.costs(query, gallery, kinds=("uniform", "apc"), solver="sinkhorn", epsilon=0.1)
    table = transport.tables(query, gallery)
    for kind, solved in found.items():
        whole = transport.solve(table, *transport.masses(table, kind=kind), solver="sinkhorn", epsilon=0.1)
        np.testing.assert_allclose(solved.cost, whole.cost, atol=1e-6)
        np.testing.assert_allclose(solved.error, whole.error, atol=1e-6)
        assert (np.abs(solved.rounds - whole.rounds) <= 1).all()
    with pytest.raises(ValueError, match="weights are"):
        transport.costs(query, gallery, kinds=("none",))
    assert all(library.num_threads == threads for library, threads in transport._libraries())
    monkeypatch.undo()
    assert transport._cores() == before


def test_least_costs_are_those_of_another_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POT_BACKEND_DISABLE_PYTORCH", "1")
    ot = pytest.importorskip("ot")
    for grid, other in (((8, 8), (8, 8)), ((7, 6), (7, 6)), ((8, 8), (4, 4)), ((16, 16), (9, 9))):
        found = transport.tables(faces(1, grid), faces(3, other, seed=4))
        for kind in ("uniform", "apc", "sc distance"):
            u, v = transport.masses(found, kind=kind)
            D = 1 - found.similarity.transpose(0, 2, 1).astype(np.float64)
            theirs = [ot.emd2(*line) for line in zip(u, v, D)]
            np.testing.assert_allclose(transport.solve(found, u, v).cost, theirs, atol=1e-6)
            for line, cost in zip(zip(D, u, v), theirs):
                assert transport.exact(*line).cost == pytest.approx(cost, abs=1e-10)


@pytest.mark.parametrize("n", [1, 2, 5, 16, 42, 49])
def test_even_masses_are_assignments(n: int) -> None:
    from scipy.optimize import linear_sum_assignment

    from facelens.analyses import kernels_transport as kernels

    some = np.random.default_rng(n).uniform(-1, 1, (6, n, n))
    hard = np.stack([some[0], np.round(some[1] * 3) / 3, some[2] * 0, some[3] * 1e-3, some[4, :, :1] + some[4] * 1e-6])
    similarity, even = hard.astype(np.float32), np.full((5, n), 1 / n)
    cost, potential = np.zeros(5), np.zeros((5, n), np.float32)
    kernels.least(similarity, even, even, cost, potential)
    distance = 1 - similarity.astype(np.float64)
    best = [line[linear_sum_assignment(line)].mean() for line in distance]
    np.testing.assert_allclose(cost, best, atol=2e-6)
    dual = (distance - potential[:, None]).min(2).mean(1) + potential.mean(1)
    np.testing.assert_allclose(dual, best, atol=5e-6, err_msg="potentials prove that no plan is cheaper")


def test_no_faces() -> None:
    found = transport.tables(faces(1, (3, 3)), faces(0, (3, 3)))
    for kind, solver in itertools.product(PATCH_WEIGHTS, SOLVERS):
        u, v = transport.masses(found, kind=kind)
        assert u.shape == v.shape == (0, 9) and len(transport.solve(found, u, v, solver=solver).cost) == 0


def test_many_faces_without_mass_in_some_patches() -> None:
    rng = np.random.default_rng(3)
    found = transport.tables(faces(1, (5, 5)), faces(4, (5, 5), seed=1))
    u, v = (np.maximum(rng.standard_normal((4, 25)), 0) for _ in range(2))
    u, v = u / u.sum(1, keepdims=True), v / v.sum(1, keepdims=True)
    for solver, epsilon in itertools.product(("exact", "sinkhorn"), (0.1, 0.02)):
        solved = transport.solve(found, u, v, solver=solver, epsilon=epsilon)
        for n in range(4):
            D = 1 - found.similarity[n].T.astype(np.float64)
            assert solved.cost[n] == pytest.approx(
                transport.pair(D, u[n], v[n], solver=solver, epsilon=epsilon).cost, abs=1e-5
            )


def test_where_nothing_attends_all_are_alike() -> None:
    there = np.array([[1.0, 0.0]], np.float32)
    maps = np.broadcast_to(there[:, :, None, None], (1, 2, 2, 2))
    one, other = sets_of(np.array([0]), maps, there), sets_of(np.array([1]), -maps, -there)
    found = transport.tables(one, other)
    for kind in ("apc", "cc", "sc similarity", "lmk"):  # no landmarks either
        for side in transport.masses(found, kind=kind):
            assert side.tolist() == [[0.25] * 4], kind


@pytest.mark.parametrize("broken", [np.nan, np.inf, 1e30, 40.0, -40.0])
def test_a_broken_patch_breaks_only_its_own_face(broken: float) -> None:
    query, gallery = faces(1, (3, 3)), faces(3, (3, 3), seed=1)
    patches, centre = gallery.patches.copy(), gallery.centre.copy()
    patches[1, 4, 7] = centre[1] = broken
    wrong = PatchSets(gallery.ids, patches, centre, gallery.embedding, gallery.grid, gallery.points)
    for kind, solver in itertools.product(("uniform", "apc", "sc distance"), SOLVERS):
        with np.errstate(invalid="ignore", over="ignore"):
            found, right = (
                transport.costs(query, sets, kinds=(kind,), solver=solver)[kind] for sets in (wrong, gallery)
            )
        np.testing.assert_allclose(found.cost[[0, 2]], right.cost[[0, 2]], atol=1e-6)
    with np.errstate(invalid="ignore", over="ignore"):
        both = [transport.tables(query, sets) for sets in (wrong, gallery)]
    found, right = (transport.bounds(one, *transport.masses(one, kind="uniform")) for one in both)
    np.testing.assert_allclose(found[[0, 2]], right[[0, 2]], atol=1e-6)


def test_an_embedding_of_another_length_cannot_weigh() -> None:
    one = faces(1, (2, 2))
    short = PatchSets(one.ids, one.patches, one.centre, one.embedding[:, :5], one.grid)
    with pytest.raises(InputError, match=r"24 numbers .* embedding of 5") as caught:
        transport.masses(transport.tables(short, short), kind="cc")
    assert caught.value.hint


def test_small_epsilon_comes_to_the_least_cost_of_many() -> None:
    found = transport.tables(faces(1, (4, 4)), faces(5, (4, 4), seed=1))
    u, v = transport.masses(found, kind="apc")
    least, before = transport.solve(found, u, v).cost, np.full(5, np.inf)
    for epsilon in (1.0, 0.2, 0.05, 0.01, 0.002):  # exp(-1 / 0.002) is nothing even in double precision
        cost = transport.solve(found, u, v, solver="sinkhorn", epsilon=epsilon).cost
        assert (cost < before + 1e-5).all() and (cost > least - 1e-4).all()
        before = cost
    np.testing.assert_allclose(before, least, atol=5e-4)
    np.testing.assert_allclose(transport.solve(found, u, v, solver="sinkhorn", epsilon=1e-5).cost, least, atol=1e-4)


def test_mass_that_goes_a_long_way_in_small_steps() -> None:
    place = np.linspace(0, 2, 21)
    D = np.abs(place[:, None] - place)
    u = np.exp(-3 * place) / np.exp(-3 * place).sum()
    some = faces(1, (3, 7))
    found = transport.Tables(some, some, (1 - D.T[None]).astype(np.float32), {})
    least = transport.exact(D, u, u[::-1]).cost
    solved = transport.solve(found, u[None], u[None, ::-1].copy(), solver="sinkhorn", epsilon=0.02)
    assert solved.cost[0] == pytest.approx(least, abs=1e-4)  # scalings from e^-65 to e^50
    far = transport.sinkhorn(50 * D, u, u[::-1], epsilon=0.1)  # to e^1000: they become part of the potentials
    assert far.cost == pytest.approx(50 * least, abs=1e-4) and far.marginal_error < 1e-9


def test_the_other_way_round_is_the_same_plan_turned() -> None:
    a, b = faces(1, (5, 4)), faces(1, (4, 4), seed=1)
    D, u, v = as_pairs(a, b, "apc")[0]
    for solver in ("exact", "sinkhorn"):
        there, back = (transport.pair(*line, solver=solver, epsilon=0.1) for line in ((D, u, v), (D.T, v, u)))
        assert there.cost == pytest.approx(back.cost, abs=1e-10)
        np.testing.assert_allclose(there.flow, back.flow.T, atol=1e-9)


def test_sums_hold_and_nothing_flows_back() -> None:
    for D, u, v in as_pairs(*SIDES["8x8 and 4x4"], "sc distance"):
        for solver, within in (("exact", 1e-12), ("sinkhorn", 1e-10), ("paper", 0.02)):
            plan = transport.pair(D, u, v, solver=solver)
            assert (plan.flow >= 0).all()
            np.testing.assert_allclose(plan.flow.sum(0), v, atol=within)
            np.testing.assert_allclose(plan.flow.sum(1), u, atol=within)
            assert plan.marginal_error <= within
