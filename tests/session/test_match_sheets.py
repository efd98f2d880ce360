"""Sheets of a search: the same query under other occlusions and weights gives what searching for it anew gives."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from facelens.analyses.flow_picture import moved
from facelens.analyses.plan import MatchPlan
from facelens.analyses.reranking import blended, order
from facelens.errors import InputError
from facelens.images.occlusion import Occlusion
from facelens.images.protocol import Pairs
from facelens.session import ground, matching
from facelens.session.drawing import draw_match
from facelens.session.match_sheets import Sheets
from facelens.session.matched import Subject
from tests.session.test_matching import World, made

PLAN = MatchPlan(shortlist=10, weights="apc")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return made(tmp_path_factory.mktemp("sheets"))


@pytest.fixture(autouse=True, scope="module")
def forgotten() -> Iterator[None]:
    yield
    ground.forget()


def sheets(world: World, row: int = 6, *, occlusion: Occlusion | None = None) -> Sheets:
    face = int(world.faces.ids[row])
    searched = matching.search(world.ground, face, PLAN, occlusion=occlusion)
    return Sheets(world.ground, Subject(world.faces, searched, PLAN, face), face)


def test_blocks_are_searches(world: World) -> None:
    made = sheets(world)
    blocks = made.blocks()
    assert [block.title for block in blocks] == ["As it is", "Mask", "Sunglasses", "Crop to 70 %"]
    for block, kind in zip(blocks, ("none", "mask", "sunglasses", "crop70")):
        anew = matching.search(made.ground, made.face, PLAN, occlusion=Occlusion(kind))
        found, places = anew.found, order(anew.found, alpha=PLAN.alpha)
        distance = blended(found.cosine, found.emd, alpha=PLAN.alpha)
        assert [hit.face for hit in block.before] == found.ids[:5].tolist()
        assert [hit.face for hit in block.after] == found.ids[places[:5]].tolist()
        np.testing.assert_allclose([hit.value for hit in block.after], distance[places[:5]])
        assert [hit.right for hit in block.before] == anew.right[:5].tolist()
        assert block.first == (anew.first, anew.after(PLAN.alpha))
        pair = matching.explain(made.ground, made.face, block.after[1].face, PLAN, occlusion=Occlusion(kind))
        told = pair.found
        flow = moved(told.flow, pair.gallery.crop, told.gallery_grid, told.grid, anew.shown.crop.shape[:2])
        np.testing.assert_array_equal(block.after[1].flow, flow)
        np.testing.assert_array_equal(block.query.picture, anew.shown.crop)
        assert all(hit.flow is None for hit in block.before)


def test_what_is_painted_by_hand_stands_beside_the_usual(world: World) -> None:
    brush = Occlusion("brush", strokes=((0.5, 0.5, 0.2),))
    made = sheets(world, occlusion=brush)
    assert [one.kind for one in made.kinds(("none", "mask"))] == ["none", "mask", "brush"]
    strong = sheets(world, occlusion=Occlusion("mask", strength=0.5))
    assert [one.strength for one in strong.kinds(("none", "mask"))] == [1.0, 0.5], "as it is painted now"
    assert strong.found(Occlusion("mask", strength=0.5), tick=lambda *_: None) is strong.searched


def test_each_way_to_weigh(world: World) -> None:
    made = sheets(world)
    face = int(made.searched.found.ids[0])
    kinds = made.weights()
    weighed = made.weighed(face, Occlusion(), kinds)
    assert "apc" in weighed and "uniform" in weighed and set(weighed) <= set(kinds)
    for kind, match in weighed.items():
        pair = matching.explain(made.ground, made.face, face, replace(PLAN, weights=kind))
        np.testing.assert_array_equal(match.found.u, pair.found.u)
        assert match.found.emd == pair.found.emd
    rows = made.by_occlusion(face)
    assert [title for title, _ in rows] == ["As it is", "Mask", "Sunglasses"]
    masked = rows[1][1]["apc"]
    pair = matching.explain(made.ground, made.face, face, PLAN, occlusion=Occlusion("mask"))
    np.testing.assert_array_equal(masked.query.picture, pair.query.crop)
    np.testing.assert_array_equal(masked.found.u, pair.found.u)
    assert all("uniform" not in one for _, one in rows)


def test_a_way_that_cannot_be_gone_is_left_out(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    made, real = sheets(world), matching.explain

    def explain(where: Any, query: int, face: int, plan: MatchPlan, **more: Any) -> Any:
        if plan.weights == "cc":
            raise InputError("Patches of 4 numbers cannot be weighed by an embedding of 8.")
        return real(where, query, face, plan, **more)

    monkeypatch.setattr(matching, "explain", explain)
    face = int(made.searched.found.ids[0])
    assert list(made.weighed(face, Occlusion(), ("apc", "cc", "uniform"))) == ["apc", "uniform"]
    with pytest.raises(InputError, match="cannot be weighed"):
        made.weighed(face, Occlusion(), ("cc",))


def test_the_same_sheets_twice(world: World, tmp_path: Path) -> None:
    made = sheets(world)
    written = []
    for name in ("a", "b"):
        written.append(
            draw_match(
                tmp_path / f"{name}.svg", world.faces, made.searched, None, plan=PLAN, query=made.face,
                ground=made.ground, which=("retrieval", "occlusions", "weights", "flows"),
            )
        )  # fmt: skip
    for one, two in zip(*written, strict=True):
        assert one.read_bytes() == two.read_bytes()
    assert len(written[0]) == 4


def test_listed_pairs(world: World, tmp_path: Path) -> None:
    made, codes = sheets(world), world.faces.identity.codes
    rows = np.array([(0, 1), (0, 4), (2, 1), (5, 6), (8, 9), (8, 3)])
    listed = Pairs(rows, codes[rows[:, 0]] == codes[rows[:, 1]], np.zeros(len(rows), np.int32))
    given: dict[str, Any] = {"plan": PLAN, "query": made.face, "ground": made.ground, "which": ("pairs",)}
    (one,) = draw_match(tmp_path / "p.svg", world.faces, made.searched, None, pairs=listed, **given)
    text = one.read_text()
    right = int(listed.same.sum())
    assert f"{right} genuine, {len(rows) - right} impostor pairs" in text
    assert [alpha in text for alpha in ("α 0.30", "α 0.50", "α 0.70", "α 1.00", "plain sum")] == [True] * 5
    with pytest.raises(InputError, match="No test with pairs"):
        draw_match(tmp_path / "q.svg", world.faces, made.searched, None, **given)
