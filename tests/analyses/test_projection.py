"""Faces as points on a map."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from facelens.analyses import layouts, projection
from facelens.analyses.plan import PartsPlan, ProjectionPlan
from facelens.analyses.projection import Projection, project, trustworthiness
from facelens.errors import Cancelled, InputError
from facelens.features.featureset import FeatureSet, Provenance
from facelens.images.faceset import FaceSet

ROOT = Path(__file__).resolve().parents[2]
PCA = ProjectionPlan(model="net", method="pca")


def faces_and_vectors(n: int = 60, D: int = 16, *, seed: int = 0, bad: int = 0) -> tuple[FaceSet, FeatureSet]:
    """Six people; the first `bad` vectors are no use."""
    rng = np.random.default_rng(seed)
    vectors = rng.standard_normal((6, D))[np.arange(n) % 6] * 2 + rng.standard_normal((n, D))
    vectors[:bad] = np.nan
    paths = [f"p{i % 6}/{i:03}.png" for i in range(n)]
    faces = FaceSet.build("made up", Path("."), paths=paths, identities=[path[:2] for path in paths])
    return faces, FeatureSet(faces.ids, vectors.astype(np.float32), Provenance("x", "net"))


class Watch:
    """A tick that keeps what it was offered, and stops after so many calls."""

    def __init__(self, calls: int = 10**9) -> None:
        self.left, self.offered = calls, list[Projection]()

    def __call__(self, done: int, total: int, note: str = "") -> None:
        assert 0 <= done <= total
        self.left -= 1
        if self.left < 0:
            raise Cancelled

    def partial(self, value: Any) -> None:
        self.offered.append(value)


@pytest.fixture
def moved(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """UMAP without its library: points that have moved by one; what it was asked with."""
    asked: list[dict[str, Any]] = []

    def umap(x: Any, start: Any, **how: Any) -> Any:
        asked.append(how)
        how["show"](start + np.float32(0.5))
        how["tick"](1, 1)
        return start + np.float32(1)

    monkeypatch.setattr(layouts, "umap", umap)
    return asked


def test_principal_components_are_those_of_the_svd() -> None:
    faces, features = faces_and_vectors()
    unit = features.vectors / np.linalg.norm(features.vectors, axis=1, keepdims=True)
    u, s, axes = np.linalg.svd(unit - unit.mean(0), full_matrices=False)
    sign = np.sign(axes[[0, 1], np.abs(axes[:2]).argmax(1)])
    found = project(faces, PCA, features=features)
    np.testing.assert_allclose(found.points, u[:, :2] * s[:2] * sign, atol=1e-5)
    np.testing.assert_allclose(found.shares, (s**2 / (s**2).sum())[:2], rtol=1e-5)
    assert found.final and found.drawn == "pca" and found.ids.tolist() == faces.ids.tolist() and not found.notes


def test_signs_do_not_depend_on_the_order_of_faces() -> None:
    x = faces_and_vectors()[1].vectors
    order = np.random.default_rng(1).permutation(len(x))
    np.testing.assert_allclose(layouts.pca(x[order])[0], layouts.pca(x)[0][order], atol=1e-4)


@pytest.mark.parametrize("cut", ["order", "rotation"])
def test_one_part_sees_nothing_of_the_others(cut: str) -> None:
    faces, features = faces_and_vectors()
    how = {"parts_plan": PartsPlan(model="net", parts=4, cut=cut)}
    found = project(faces, replace(PCA, part=2), features=features, **how)
    assert not np.allclose(found.points, project(faces, PCA, features=features).points, atol=1e-3)
    if cut == "order":
        other = features.vectors.copy()
        other[:, :8] = other[::-1, :8]  # parts 1 and 2, with their lengths
        changed = replace(features, vectors=other, norms=np.linalg.norm(other, axis=1).astype(np.float32))
        same = project(faces, replace(PCA, part=2), features=changed, **how)
        np.testing.assert_allclose(same.points, found.points, atol=1e-5)
        assert not np.allclose(project(faces, replace(PCA, part=1), features=changed, **how).points, found.points)
    with pytest.raises(InputError, match="no part 5"):
        project(faces, replace(PCA, part=4), features=features, **how)


def test_faces_without_a_usable_vector_are_left_out_and_said() -> None:
    faces, features = faces_and_vectors(bad=3)
    found = project(faces, PCA, features=features, excluded=faces.ids[-5:])
    assert found.ids.tolist() == faces.ids[3:-5].tolist() and np.isfinite(found.points).all()
    assert found.notes == ("3 without usable vector are left out.",)


@pytest.mark.parametrize("n", [0, 1, 2])
def test_hardly_any_faces(n: int) -> None:
    faces, features = faces_and_vectors(6)
    found = project(faces, ProjectionPlan(model="net"), features=features, excluded=faces.ids[n:])
    assert len(found) == n and found.final and found.drawn == "pca" and "needs 5 faces" in found.notes[0]
    assert np.isfinite(found.points).all() and not found.quality.defined


def test_first_the_components_then_the_points_as_they_move(moved: list[dict[str, Any]], tmp_path: Path) -> None:
    faces, features = faces_and_vectors()
    plan, watch = ProjectionPlan(model="net", neighbours=7, seed=3), Watch()
    found = project(faces, plan, features=features, folder=tmp_path, tick=watch)
    assert [(one.drawn, one.final) for one in watch.offered] == [("pca", False), ("umap", False)]
    assert found.final and found.drawn == "umap" and moved[0]["neighbours"] == 7 and moved[0]["seed"] == 3
    np.testing.assert_allclose(found.points, watch.offered[0].points + 1)
    left = project(faces, replace(plan, seed=4), features=features, refine=False)
    assert not left.final and left.drawn == "pca" and len(moved) == 1


def test_points_are_kept_by_what_they_were_made_of(moved: list[dict[str, Any]], tmp_path: Path) -> None:
    faces, features = faces_and_vectors()
    plan = ProjectionPlan(model="net")
    made = project(faces, plan, features=features, folder=tmp_path)
    for same in (plan, replace(plan, perplexity=50, model="other name")):
        again = project(faces, same, features=features, folder=tmp_path, refine=False)
        assert again.final and again.points.tobytes() == made.points.tobytes() and len(moved) == 1
        assert again.quality == made.quality and again.shares == made.shares
    for other in (replace(plan, seed=1), replace(plan, neighbours=9), replace(plan, metric="euclidean")):
        project(faces, other, features=features, folder=tmp_path)
    project(faces, plan, features=faces_and_vectors(seed=1)[1], folder=tmp_path)
    assert len(moved) == 5


@pytest.mark.parametrize("spoil", [lambda data: data[: len(data) // 2], lambda data: b"", lambda data: data[::-1]])
def test_a_damaged_file_is_made_anew(spoil: Any, moved: list[dict[str, Any]], tmp_path: Path) -> None:
    faces, features = faces_and_vectors()
    made = project(faces, ProjectionPlan(), features=features, folder=tmp_path)
    (file,) = tmp_path.iterdir()
    whole = file.read_bytes()
    file.write_bytes(spoil(whole))
    again = project(faces, ProjectionPlan(), features=features, folder=tmp_path)
    assert again.points.tobytes() == made.points.tobytes() and len(moved) == 2
    assert project(faces, ProjectionPlan(), features=features, folder=tmp_path).final and len(moved) == 2


def test_points_of_other_faces_are_not_taken(moved: list[dict[str, Any]], tmp_path: Path) -> None:
    faces, features = faces_and_vectors()
    project(faces, ProjectionPlan(), features=features, folder=tmp_path)
    (file,) = tmp_path.iterdir()
    with np.load(file) as kept:
        spoilt = {name: kept[name] if name == "said" else kept[name][:-1] for name in kept.files}
    np.savez(file, **spoilt)
    found = project(faces, ProjectionPlan(), features=features, folder=tmp_path, anew=True)
    assert len(found.points) == len(faces) and len(moved) == 2


@pytest.mark.parametrize("calls", range(3))
def test_it_stops_when_it_is_no_longer_wanted(calls: int, tmp_path: Path) -> None:
    faces, features = faces_and_vectors()
    with pytest.raises(Cancelled):
        project(faces, PCA, features=features, folder=tmp_path, tick=Watch(calls))
    assert not list(tmp_path.iterdir())


def test_many_faces_are_too_many_for_tsne(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(projection, "TSNE_MOST", 20)
    monkeypatch.setattr(layouts, "tsne", lambda x, start, **how: start)
    faces, features = faces_and_vectors()
    found = project(faces, ProjectionPlan(method="tsne"), features=features)
    assert len(found) == 20 and np.isin(found.ids, faces.ids).all() and "20 of 60 faces" in found.notes[0]


def test_neighbours_against_a_loop() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((50, 6)).astype(np.float32)
    away = np.linalg.norm(x[:, None] - x[None], axis=2)
    np.fill_diagonal(away, np.inf)
    rows, far = layouts.nearest(x, 5, metric="euclidean")
    np.testing.assert_array_equal(rows, np.argsort(away, axis=1)[:, :5])
    np.testing.assert_allclose(far, np.sort(away, axis=1)[:, :5], atol=1e-5)
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    rows, far = layouts.nearest(x, 5, metric="cosine")
    np.testing.assert_allclose(far, 1 - np.take_along_axis(x @ x.T, rows, 1), atol=1e-5)


def test_trustworthiness_against_a_loop() -> None:
    rng = np.random.default_rng(0)
    x, points = rng.standard_normal((40, 5)).astype(np.float32), rng.standard_normal((40, 2)).astype(np.float32)
    n, k, penalty = 40, 6, 0
    for i in range(n):
        others = [j for j in range(n) if j != i]
        near = sorted(others, key=lambda j: float(np.linalg.norm(x[i] - x[j])))
        for j in sorted(others, key=lambda j: float(np.linalg.norm(points[i] - points[j])))[:k]:
            penalty += max(near.index(j) + 1 - k, 0)
    found = trustworthiness(x, points, near=k)
    assert found.value == pytest.approx(1 - 2 * penalty / (n * k * (2 * n - 3 * k - 1))) and found.n == n
    some = trustworthiness(x, points, near=k, judged=20)
    assert some.n == 20 and some.value == pytest.approx(found.value, abs=0.15)
    assert trustworthiness(x[:2], points[:2]).text() == "n/a: there are too few faces"


def test_what_prints_while_tsne_is_listened_to(capsys: pytest.CaptureFixture[str]) -> None:
    told: list[int] = []

    def tick(done: int, total: int, note: str = "") -> None:
        print("at", done)
        told.append(done)

    with contextlib.redirect_stdout(layouts._Steps(tick)):
        print("[t-SNE] Iteration 50: error = 1.2")
    assert told == [50] and capsys.readouterr().out == "at 50\n"


def test_tsne_keeps_people_together_and_can_be_stopped() -> None:
    faces, features = faces_and_vectors()
    plan, watch = ProjectionPlan(model="net", method="tsne", perplexity=10), Watch()
    found = project(faces, plan, features=features, tick=watch)
    assert watch.offered[0].drawn == "pca" and found.quality.value is not None and found.quality.value > 0.85
    away = np.linalg.norm(found.points[:, None] - found.points[None], axis=2)
    np.fill_diagonal(away, np.inf)
    assert (faces.identity.codes[away.argmin(1)] == faces.identity.codes).mean() > 0.9

    def stop(done: int, total: int, note: str = "") -> None:
        if "step" in note:
            raise Cancelled

    with pytest.raises(Cancelled):
        project(faces, plan, features=features, tick=stop)


UMAP = """
import threading
import numpy as np
from facelens.analyses import layouts
from facelens.errors import Cancelled

layouts.MANY_EPOCHS, layouts.SHOWN_EVERY = 60, 0.0
rng, people = np.random.default_rng(0), np.arange(60) % 6
x = (2 * rng.standard_normal((6, 16))[people] + rng.standard_normal((60, 16))).astype(np.float32)
x /= np.linalg.norm(x, axis=1, keepdims=True)
start, seen = layouts.pca(x)[0], []
points = layouts.umap(x, start, neighbours=8, show=seen.append)
away = np.linalg.norm(points[:, None] - points[None], axis=2) + 1e9 * np.eye(60)
assert (people[away.argmin(1)] == people).mean() > 0.9
assert seen and seen[0].shape == points.shape
assert np.array_equal(layouts.umap(x, start, neighbours=8), points)

def stop(done, total, note=""):
    if "Epoch" in note:
        raise Cancelled

def stopped():
    try:
        layouts.umap(x, start, neighbours=8, tick=stop)
    except Cancelled:
        print("stopped")

thread = threading.Thread(target=stopped)
thread.start()
thread.join()
assert np.array_equal(layouts.umap(x, start, neighbours=8), points)  # nobody waits for who was stopped
"""


def test_umap_keeps_people_together_and_can_be_stopped() -> None:
    """Not compiled, which would take longer than all the rest, and for that in a process of its own."""
    uncompiled = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, "-c", UMAP]
    ended = subprocess.run(command, cwd=ROOT, env=uncompiled, capture_output=True, text=True, timeout=100)
    assert ended.returncode == 0 and ended.stdout.strip() == "stopped", ended.stderr


def two(kind: str) -> tuple[FaceSet, FeatureSet, FeatureSet]:
    """A model and an upgrade of it: one that understands it, one that does not, one of other dimensions."""
    faces, features = faces_and_vectors(80)
    rng, x = np.random.default_rng(5), features.vectors
    made = {
        "near": x + 0.3 * rng.standard_normal(x.shape),
        "strange": (x + 0.3 * rng.standard_normal(x.shape)) @ np.linalg.qr(rng.standard_normal((16, 16)))[0],
        "wide": x @ rng.standard_normal((16, 24)),
    }[kind]
    return faces, features, FeatureSet(faces.ids, made.astype(np.float32), Provenance("y", "new"))


def test_models_that_agree_are_fitted_together() -> None:
    faces, old, new = two("near")
    found = project(faces, replace(PCA, other="new"), features=old, other=new)
    assert found.how == "joint" and found.residual is None and "fitted on both models" in found.agreement
    both = np.concatenate([one.vectors / np.linalg.norm(one.vectors, axis=1, keepdims=True) for one in (old, new)])
    points = layouts.pca(both)[0]
    np.testing.assert_allclose(found.points, points[:80], atol=1e-5)
    np.testing.assert_allclose(found.other, points[80:], atol=1e-5)
    np.testing.assert_allclose(found.moved, 1 - (both[:80] * both[80:]).sum(1), atol=1e-5)
    assert found.quality.defined and found.other_quality.defined


@pytest.mark.parametrize("kind", ["strange", "wide"])
def test_models_that_do_not_agree_are_turned_and_the_residual_is_said(kind: str) -> None:
    faces, old, new = two(kind)
    found = project(faces, replace(PCA, other="new"), features=old, other=new)
    assert found.how == "aligned" and found.residual is not None and 0 < found.residual < 1
    assert f"residual {found.residual:.2f}" in found.notes[0] and (found.alike is None) == (kind == "wide")
    alone = project(faces, PCA, features=old)
    np.testing.assert_allclose(found.points, alone.points, atol=1e-6)
    assert found.moved is not None and found.moved.shape == (80,) and (found.moved >= 0).all()
    with pytest.raises(InputError, match="cannot be fitted together") if kind == "wide" else contextlib.nullcontext():
        forced = project(faces, replace(PCA, other="new", space="joint"), features=old, other=new)
        assert forced.how == "joint" and "do not agree" in forced.agreement


def test_both_begin_alike_and_are_kept_together(moved: list[dict[str, Any]], tmp_path: Path) -> None:
    faces, old, new = two("near")
    plan, watch = ProjectionPlan(model="net", other="new"), Watch()
    made = project(faces, plan, features=old, other=new, folder=tmp_path, tick=watch)
    assert len(moved) == 1 and [one.drawn for one in watch.offered] == ["pca", "umap"]
    assert all(one.other is not None and one.moved is not None for one in watch.offered)
    again = project(faces, plan, features=old, other=new, folder=tmp_path, refine=False)
    assert again.final and again.other is not None and made.other is not None and len(moved) == 1
    assert again.other.tobytes() == made.other.tobytes() and again.moved is not None
    swapped = project(faces, replace(plan, model="new", other="net"), features=new, other=old, folder=tmp_path)
    assert len(moved) == 2 and swapped.final, "the other way round is another map"
    project(faces, replace(plan, space="aligned"), features=old, other=new, folder=tmp_path)
    assert len(moved) == 4, "each by itself"
    only = project(faces, ProjectionPlan(model="net"), features=old, folder=tmp_path)
    assert len(moved) == 5 and only.other is None
