"""Searches by patches: both stages against loops over the equations; painted queries, other galleries, bad pictures."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from facelens.analyses import transport
from facelens.analyses.patch_sets import averaged
from facelens.analyses.plan import MatchPlan
from facelens.analyses.reranking import order
from facelens.analyses.retrieval import retrieve
from facelens.errors import Cancelled, InputError
from facelens.features import patching
from facelens.features.featureset import FeatureSet
from facelens.features.feed import feed_face
from facelens.features.patching import Model
from facelens.images.faceset import FaceSet
from facelens.images.occlusion import Occlusion
from facelens.session import ground, matching, tasks
from facelens.session.ground import Ground
from tests.features.patched import NET, drawn, model

PLAN = MatchPlan(shortlist=10)


class World(NamedTuple):
    faces: FaceSet
    features: FeatureSet
    root: Path

    @property
    def ground(self) -> Ground:
        return Ground(self.faces, self.features, model(), self.root / "maps")

    def but(self, **changes: Any) -> Ground:
        return replace(self.ground, **changes)

    def unit(self) -> np.ndarray:
        return self.features.unit(self.faces.ids)[0].astype(np.float64)

    def patches(self, row: int, grid: tuple[int, int] | None = None) -> np.ndarray:
        """(P, C) as defined, from the picture."""
        net = patching.network(model())
        told = net.encoder(feed_face(self.faces, row, net.card)[None].copy(), patches=True)
        assert told.patches is not None
        cells = averaged(told.patches, grid)[0].astype(np.float64)
        cells = cells.reshape(len(cells), -1).T
        return cells / np.linalg.norm(cells, axis=1, keepdims=True)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    root = tmp_path_factory.mktemp("match")
    return made(root)


def made(root: Path, **size: int) -> World:
    faces = drawn(root / "g", **size)
    done = tasks.embed_gallery(faces, NET, root=root / "store")
    return World(faces, done.features(faces), root)


@pytest.fixture(autouse=True, scope="module")
def forgotten() -> Iterator[None]:
    yield
    ground.forget()


@pytest.mark.parametrize("grid", [None, (4, 4)])
def test_both_stages(world: World, grid: tuple[int, int] | None) -> None:
    faces, query = world.faces, 6
    plan = replace(PLAN, grid=grid)
    found = matching.search(world.ground, int(faces.ids[query]), plan)
    cosine = world.unit() @ world.unit()[query]
    order = [row for row in np.argsort(-cosine, kind="stable") if row != query]
    assert found.found.ids.tolist() == faces.ids[order[:10]].tolist()
    np.testing.assert_allclose(found.found.cosine, cosine[order[:10]], atol=1e-6)
    right = faces.identity.codes[order] == faces.identity.codes[query]
    np.testing.assert_array_equal(found.right, right[:10])
    assert (found.gallery, found.first) == (len(faces) - 1, int(np.argmax(right)) + 1)
    assert found.first_id == faces.ids[order[np.argmax(right)]]
    assert found.found.grid == (grid or (8, 8)) and found.found.query == faces.ids[query]
    np.testing.assert_array_equal(found.shown.crop, feed_face(faces, query, patching.network(model()).card))

    mine = world.patches(query, grid)
    u = np.full(len(mine), 1 / len(mine))
    for row, emd in zip(order[:10], found.found.emd):
        assert emd == pytest.approx(transport.exact(1 - mine @ world.patches(row, grid).T, u, u).cost, abs=2e-4)
    distance = 0.7 * found.found.emd + 0.3 * (1 - found.found.cosine)
    assert found.after(0.7) == int(np.argmax(right[np.argsort(distance, kind="stable")])) + 1
    assert found.after(0.0) == found.first


def test_faces_left_out_and_right_ones_beyond_the_shortlist(world: World) -> None:
    faces, query = world.faces, 6
    mates = faces.ids[(faces.identity.codes == faces.identity.codes[query]) & (np.arange(len(faces)) != query)]
    found = matching.search(world.but(excluded=mates), int(faces.ids[query]), PLAN)
    assert (found.first, found.first_id, found.after(0.7)) == (0, -1, 0)
    assert found.gallery == len(faces) - 4 and not found.right.any()
    assert not np.isin(found.found.ids, mates).any()
    cosine = world.unit() @ world.unit()[query]
    far = int(np.argmin(np.where(np.isin(faces.ids, mates), cosine, np.inf)))  # the mate that is found last
    but = np.setdiff1d(mates, faces.ids[far])
    short = matching.search(world.but(excluded=but), int(faces.ids[query]), replace(PLAN, shortlist=1))
    rank = int((cosine[~np.isin(faces.ids, [*but, faces.ids[query]])] > cosine[far]).sum()) + 1
    assert short.first == rank and len(short.found.ids) == 1
    assert short.after(0.7) == rank  # 1 stays 1, and nobody beyond the shortlist moves


def test_equals_stand_as_they_lie_in_the_gallery(world: World) -> None:
    faces = world.faces
    alike = np.array(world.features.vectors)
    alike[:] = alike[0]
    told = replace(world.features.provenance, fingerprint="alike")
    given = world.but(features=FeatureSet(world.features.ids, alike, told))
    query = int(np.flatnonzero(faces.identity.codes == faces.identity.codes[-1])[0])
    found = matching.search(given, int(faces.ids[query]), replace(PLAN, shortlist=3))
    others = np.delete(faces.ids, query)
    assert found.found.ids.tolist() == others[:3].tolist()
    assert found.first == others.tolist().index(found.first_id) + 1 == query + 1


def test_all_faces_by_patches(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching, "MANY", 64 * 19)
    monkeypatch.setattr(matching, "TOGETHER", 6)
    query = int(world.faces.ids[0])
    found = matching.search(world.ground, query, replace(PLAN, shortlist=0))
    assert len(found.found.ids) == found.gallery == 19 and (np.diff(found.found.cosine) <= 0).all()
    assert "All 19 faces" in found.notes[0]
    few = matching.search(world.ground, query, PLAN)
    np.testing.assert_allclose(found.found.emd[:10], few.found.emd, atol=1e-6)


def test_a_painted_query(world: World) -> None:
    faces, query = world.faces, int(world.faces.ids[3])
    asked = Occlusion("sunglasses")
    plain = matching.search(world.ground, query, PLAN)
    found = matching.search(world.ground, query, PLAN, occlusion=asked)
    seen = patching.look(faces, 3, patching.network(model()), occlusion=asked)
    np.testing.assert_array_equal(found.shown.crop, seen.shown.crop)
    assert found.found.query == -1 and query not in found.found.ids
    wanted = world.unit() @ (seen.vector / np.linalg.norm(seen.vector))
    np.testing.assert_allclose(found.found.cosine, np.sort(np.delete(wanted, 3))[::-1][:10], atol=1e-5)
    assert np.abs(found.found.emd - plain.found.emd).max() > 1e-3
    stays = matching.search(world.ground, query, PLAN, occlusion=asked, original=True)
    assert query in stays.found.ids and stays.gallery == found.gallery + 1


def test_a_query_of_another_gallery(world: World, tmp_path: Path) -> None:
    faces, row = world.faces, 5
    apart = faces.take(np.array([row]))
    assert tuple(apart.identity.names) != tuple(faces.identity.names)  # a code of its own
    query = int(apart.ids[0])
    found = matching.search(world.but(queries=apart), query, PLAN, original=True)
    assert found.gallery == len(faces) and found.found.ids[0] == query and found.first == 1 and found.right[0]
    assert found.found.emd[0] == pytest.approx(0, abs=1e-3)
    without = matching.search(world.but(queries=apart), query, PLAN)  # a picture of the same name
    assert without.gallery == len(faces) - 1 and query not in without.found.ids
    nobody = replace(apart, identity=type(apart.identity).of(["Nobody"]))
    assert matching.search(world.but(queries=nobody), query, PLAN).first == 0


def test_vectors_and_patches_of_another_gallery_are_kept_too(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = drawn(tmp_path / "q", people=2, each=2)
    looked_at = world.but(queries=others)
    asked = matching.sweep(looked_at, PLAN, weights=("uniform",), alphas=(0.7,))
    found = matching.search(looked_at, int(others.ids[1]), PLAN)
    vectors = tasks.embed_gallery(others, NET, root=tmp_path / "store").features(others)
    known = world.but(queries=others, asking=vectors)
    monkeypatch.setattr(patching, "look", None)
    monkeypatch.setattr(patching, "looks", lambda home, rows, *_, **__: [] if not len(rows) else pytest.fail("looked"))
    again = matching.search(known, int(others.ids[1]), PLAN)
    np.testing.assert_array_equal(again.found.ids, found.found.ids)
    np.testing.assert_allclose(again.found.emd, found.found.emd, atol=2e-4)
    np.testing.assert_array_equal(again.shown.crop, found.shown.crop)
    swept = matching.sweep(known, PLAN, weights=("uniform",), alphas=(0.7,))
    np.testing.assert_array_equal(swept.rows[0].ranks, asked.rows[0].ranks)
    assert matching.ledgers(known, others.ids, PLAN).mate.n == 4


def test_broken_pictures_leave_their_place_to_others(tmp_path: Path) -> None:
    world = made(tmp_path, people=3, each=3)
    faces, query = world.faces, int(world.faces.ids[0])
    best = int(matching.search(world.ground, query, replace(PLAN, shortlist=1)).found.ids[0])
    row = faces.row_of(best)
    assert row is not None
    faces.path(row).write_bytes(b"")
    found = matching.search(world.ground, query, replace(PLAN, shortlist=4))
    assert len(found.found.ids) == 4 and best not in found.found.ids and found.gallery == 7
    assert faces.file_name(row) in found.notes[0]
    told = matching.ledgers(world.ground, faces.ids[:1], replace(PLAN, shortlist=1))
    assert told.mate.n + told.other.n == 1 and faces.file_name(row) in told.notes[0]
    with pytest.raises(InputError, match=faces.file_name(row)):
        matching.explain(world.ground, query, best, PLAN)


def test_why_two_faces_match(world: World) -> None:
    faces = world.faces
    query, other = int(faces.ids[0]), int(faces.ids[5])
    plan = replace(PLAN, weights="apc")
    found = matching.explain(world.ground, query, other, plan)
    told = found.found
    assert (told.query, told.gallery, told.grid) == (query, other, (8, 8))
    np.testing.assert_allclose(told.distance, 1 - world.patches(0) @ world.patches(5).T, atol=2e-3)
    np.testing.assert_allclose(told.flow.sum(1), told.u, atol=1e-9)
    np.testing.assert_allclose(told.flow.sum(0), told.v, atol=1e-9)
    assert told.cosine == pytest.approx(float(world.unit()[0] @ world.unit()[5]), abs=1e-6)
    card = patching.network(model()).card
    for shown, row in ((found.query, 0), (found.gallery, 5)):
        np.testing.assert_array_equal(shown.crop, feed_face(faces, row, card))
        assert shown.points is not None and shown.points.shape == (5, 2)
    searched = matching.search(world.ground, query, replace(plan, shortlist=0))
    assert searched.found.emd[searched.found.ids.tolist().index(other)] == pytest.approx(told.emd, abs=1e-5)


def test_landmarks_weigh_patches(world: World) -> None:  # T9
    faces, plan = world.faces, replace(PLAN, weights="lmk")
    query, other = int(faces.ids[0]), int(faces.ids[5])
    found = matching.explain(world.ground, query, other, plan)
    assert found.notes == () and found.found.u.sum() == pytest.approx(1)
    counts = found.found.u / found.found.u[found.found.u > 0].min()
    np.testing.assert_allclose(counts, counts.round(), atol=1e-9)  # points in cells
    assert 40 < counts.sum() <= 68

    (faces.root / "points68.csv").rename(faces.root / "away.csv")
    try:
        ground.forget()
        found = matching.explain(world.ground, query, other, plan)
        assert "Only 5 landmarks" in found.notes[0]
        cells = np.floor(found.query.points * 8 / 64).astype(int)  # type: ignore[operator]
        wanted = np.zeros(64)
        np.add.at(wanted, cells[:, 1] * 8 + cells[:, 0], 0.2)
        np.testing.assert_allclose(found.found.u, wanted, atol=1e-6)
        asked = Occlusion("crop70")
        cropped = matching.explain(world.ground, query, other, plan, occlusion=asked)
        row, column = np.floor(cropped.query.points * 8 / 64).astype(int)[:, ::-1].T  # type: ignore[operator]
        inside = (row >= 0) & (row < 8) & (column >= 0) & (column < 8)
        assert set(np.flatnonzero(cropped.found.u)) == set((row * 8 + column)[inside]) != set(np.flatnonzero(wanted))
        bare = matching.explain(world.but(faces=replace(faces, landmarks=None)), query, other, plan)
        assert "No landmarks" in bare.notes[0] and np.ptp(bare.found.u) == 0
    finally:
        (faces.root / "away.csv").rename(faces.root / "points68.csv")
        ground.forget()


def test_where_the_similarity_hangs(world: World) -> None:
    faces = world.faces
    query, other = int(faces.ids[0]), int(faces.ids[1])
    plan = replace(PLAN, grid=(4, 4))
    for kind in ("occlusion", "gradient"):
        found = matching.saliency(world.ground, query, other, plan, kind=kind)
        assert f"{found.check.area:.3f}" in found.titles[-1] in found.titles[0] and found.sentence
        assert found.values.shape == (4, 4) and np.isfinite(found.values).all() and found.kind == kind
        assert found.check.salient[0] == pytest.approx(float(world.unit()[0] @ world.unit()[1]), abs=1e-4)
    bare = Model(NET, patching.network(model()).card.changed(patch_layer="", grid=None))
    found = matching.saliency(world.but(model=bare), query, other, PLAN)
    assert found.values.shape == matching.GRID


@pytest.mark.parametrize("painted", [None, Occlusion("blocks", 0.5)])
def test_a_sweep_is_many_searches(world: World, painted: Occlusion | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching, "TELL", 0.0)
    monkeypatch.setattr(matching, "BLOCK", 6)
    faces = world.faces
    parts: list[Any] = []

    class Tick:
        def __init__(self) -> None:
            self.seen: list[tuple[int, int]] = []

        def __call__(self, done: int, total: int, note: str = "") -> None:
            self.seen.append((done, total))

        def partial(self, value: object) -> None:
            parts.append(value)

    tick = Tick()
    found = matching.sweep(world.ground, PLAN, occlusion=painted, alphas=(0.0, 0.7), tick=tick)
    assert tick.seen[-1] == (20, 20) and [len(one.queries) for one in parts] == list(range(1, 21))
    assert not parts[-1].complete and found.complete and found.occlusion == ("blocks" if painted else "")
    assert "the clear picture of a query is not in the gallery" in found.how and found.gallery == 19
    assert [row.weights for row in found.rows] == ["uniform", "apc", "sc distance", "sc similarity", "lmk"]
    np.testing.assert_array_equal(found.queries, faces.ids)
    for weights, row in (("uniform", found.rows[0]), ("apc", found.rows[1]), ("lmk", found.rows[4])):
        plan = replace(PLAN, weights=weights)
        for place in (0, 9, 19):
            one = matching.search(world.ground, int(faces.ids[place]), plan, occlusion=painted)
            assert (found.ranks[place], row.ranks[1, place]) == (one.first, one.after(0.7))
            assert row.ranks[0, place] == one.first


def test_before_the_second_stage_it_is_retrieval(world: World) -> None:
    faces, x = world.faces, world.features.vectors
    found = matching.sweep(world.ground, replace(PLAN, shortlist=2), weights=("uniform",))
    ids, who = faces.ids, faces.identity.codes
    wanted = retrieve(
        x, x, query_ids=ids, gallery_ids=ids, query_identity=who, gallery_identity=who, same_set=True
    ).measures
    for name, one in found.before.items():
        assert one.value == pytest.approx(wanted[name].value) and one.low == pytest.approx(wanted[name].low)


def test_who_is_searched_for(world: World) -> None:
    faces = world.faces
    given: dict[str, Any] = {"weights": ("uniform",), "alphas": (0.7,)}
    firsts = faces.ids[::4]
    apart = matching.sweep(world.but(excluded=firsts), PLAN, among=firsts, **given)
    assert apart.gallery == 15 and len(apart.queries) == 5 and "no query is in the gallery" in apart.how
    stays = matching.sweep(world.ground, PLAN, among=firsts, original=True, occlusion=Occlusion("mask", 0.3), **given)
    assert stays.gallery == 20 and "every query is in the gallery" in stays.how
    others = faces.take(np.arange(0, 20, 5), name="others")
    away = matching.sweep(world.but(queries=others), PLAN, original=True, **given)
    assert away.gallery == 20 and away.ranks.tolist() == [1] * 4  # each finds itself
    away = matching.sweep(world.but(queries=others), PLAN, **given)
    assert away.gallery == 19 and "same name" in away.how
    lone = faces.take(np.arange(0, 20, 4))
    alone = world.but(faces=lone, features=replace_rows(world.features, lone.ids))
    with pytest.raises(InputError, match="nobody to search for"):
        matching.sweep(alone, PLAN)


def replace_rows(features: FeatureSet, ids: np.ndarray) -> FeatureSet:
    rows, _ = features.rows_of(ids)
    told = replace(features.provenance, fingerprint=f"{len(ids)} of them")
    return FeatureSet(ids, np.array(features.vectors[rows]), told)


def test_a_sweep_can_be_stopped(world: World) -> None:
    def tick(done: int, total: int, note: str = "") -> None:
        if done > 2:
            raise Cancelled

    with pytest.raises(Cancelled):
        matching.sweep(world.ground, PLAN, tick=tick)


def test_ledgers_add_up_to_the_distances_they_average(world: World) -> None:
    faces, ids = world.faces, world.faces.ids[[0, 7]]
    found = matching.ledgers(world.ground, ids, PLAN)
    sums: dict[bool, list[float]] = {True: [], False: []}
    for face in ids.tolist():
        one = matching.search(world.ground, face, PLAN)
        places = order(one.found, alpha=PLAN.alpha)
        for same, some in sums.items():
            some.append(float(one.found.emd[places[one.right[places] == same][0]]))
    assert found.mate.n == found.other.n == 2
    assert found.mate.mean.sum() == pytest.approx(np.mean(sums[True]), abs=1e-5)
    assert found.other.mean.sum() == pytest.approx(np.mean(sums[False]), abs=1e-5)
    alone = matching.ledgers(world.but(excluded=faces.ids[1:4]), ids[:1], PLAN)
    assert alone.mate.n == 0 and alone.other.n == 1


def test_everything_travels_between_processes(world: World) -> None:
    given = pickle.loads(pickle.dumps((world.ground, int(world.faces.ids[0]), PLAN)))
    found = pickle.loads(pickle.dumps(matching.search(*given, occlusion=Occlusion("mask"))))
    assert found.after(0.7) >= 1
    with pytest.raises(InputError, match="is not there"):
        matching.search(world.ground, 12345, PLAN)
