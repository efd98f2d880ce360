"""Ranks before and after: who stands where, what clicks and keys ask for, how ranks move, all queries at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image
from PySide6.QtCore import QPoint, Qt

from facelens.analyses.measure import Measure
from facelens.analyses.reranking import Reranked, Sweep, SweepRow
from facelens.images.faceset import FaceSet, Labels
from facelens.images.packed import Packed
from facelens.session.selection import Mode
from facelens.views.frame import Frame
from facelens.views.panel import Desk
from facelens.views.query_ranks import GAINED, LOST, SAME
from facelens.views.rank_slopes import QUERIES, RankSlopes
from facelens.views.slopes import AFTER, BEFORE, FLOW, Slopes

LEFT, KEYS, HELD = Qt.MouseButton.LeftButton, Qt.Key, Qt.KeyboardModifier
K = 20
MATES = (6, 13)  # entries of the shortlist that show the query's person
NAMES = ("Ada_Byron", "Bo_Chen", "Cy_Diaz")


def gallery(root: Path) -> FaceSet:
    """A query, a shortlist of 20 and one without a name, over three files."""
    for i in range(3):
        Image.new("RGB", (40, 40), (70 * i + 40, 30, 30)).save(root / f"{i}.png")
    codes = np.array([0, *(0 if i in MATES else 1 + i % 2 for i in range(K)), -1], np.int32)
    paths = Packed.of([b"0.png", b"1.png", b"2.png"]).take(codes % 3)
    return FaceSet("g", root, paths, Labels(codes, NAMES), {}, None, np.arange(len(codes)) + 100)


def found(faces: FaceSet) -> Reranked:
    """By patches the two mates come to the front, all others turn round."""
    emd = np.linspace(0.6, 0.4, K)
    emd[list(MATES)] = 0.1, 0.2
    ids = faces.ids[1 : K + 1]
    return Reranked(int(faces.ids[0]), ids, np.linspace(0.5, 0.31, K), emd, np.zeros(K), "exact", (7, 6), 0.01)


class World:
    """One query on a panel of 380 x 600, and what was heard of it."""

    def __init__(self, desk: Desk, made: RankSlopes, root: Path) -> None:
        self.faces, self.panel, self.slopes = gallery(root), made, made.slopes
        self.found = found(self.faces)
        self.ids = self.found.ids.tolist()
        desk.store.update(faces=self.faces)
        self.heard: list[tuple[str, Any]] = []
        for name in ("candidate_chosen", "explain_wanted", "query_wanted", "face_wanted"):
            getattr(made, name).connect(lambda face, name=name: self.heard.append((name, face)))
        for chosen in (made.select, made.select_queries):
            chosen.connect(lambda ids, mode: self.heard.append(("select", (ids.tolist(), mode))))
        made.run_wanted.connect(lambda: self.heard.append(("run", None)))
        self.show(0.7)

    def show(self, alpha: float, **how: Any) -> None:
        told = {"query_picture": None, "painted": "", "first_before": 7, "first_after": 1, "of": 1422}
        self.panel.show_ranking(self.faces, self.found, alpha=alpha, **(told | how))

    def at(self, stage: int, entry: int) -> QPoint:
        return self.slopes.face_box(stage, entry).center().toPoint()


@pytest.fixture
def world(desk: Desk, tmp_path: Path, pump: Callable[..., None]) -> Iterator[World]:
    made = RankSlopes(desk)
    frame = Frame("", made)
    frame.header.add(made.mode)
    frame.resize(380, 630)
    frame.show()
    yield World(desk, made, tmp_path)
    made.close_panel()
    frame.close()
    frame.deleteLater()
    pump()


@pytest.fixture
def slopes(world: World) -> Slopes:
    return world.slopes


# One query


def test_stages_are_in_the_order_of_a_plain_loop(world: World, slopes: Slopes) -> None:
    ranking = slopes.ranking
    assert ranking is not None
    blend = [0.7 * e + 0.3 * (1 - c) for c, e in zip(world.found.cosine, world.found.emd)]
    assert ranking.order.tolist() == sorted(range(K), key=lambda i: blend[i])
    assert [i for i in range(K) if ranking.judged(i) == "right"] == list(MATES)
    world.show(-1.0)
    total = [e + 1 - c for c, e in zip(world.found.cosine, world.found.emd)]
    assert slopes.ranking is not None and slopes.ranking.order.tolist() == sorted(range(K), key=lambda i: total[i])


def test_without_a_name_nobody_is_right_or_wrong(world: World, slopes: Slopes) -> None:
    world.show(0.7, query=int(world.faces.ids[-1]))
    assert slopes.ranking is not None and not slopes.ranking.verdict.any()
    world.panel.grab()


@pytest.mark.parametrize("stage", [BEFORE, AFTER])
def test_clicks(world: World, slopes: Slopes, qtbot: Any, stage: int) -> None:
    entry = 2 if stage == BEFORE else MATES[1]
    face, at = world.ids[entry], world.at(stage, entry)
    qtbot.mouseClick(slopes, LEFT, HELD.NoModifier, at)
    qtbot.mouseClick(slopes, LEFT, HELD.ShiftModifier, at)
    qtbot.mouseClick(slopes, LEFT, HELD.ControlModifier, at)
    qtbot.mouseClick(slopes, LEFT, HELD.AltModifier, at)
    qtbot.mouseDClick(slopes, LEFT, HELD.NoModifier, at)
    selected = [("select", ([face], mode)) for mode in (Mode.TOGGLE, Mode.REMOVE)]
    asked = [("candidate_chosen", face), ("face_wanted", face), *selected, ("explain_wanted", face)]
    assert world.heard == asked and slopes.candidate == face


def test_the_menu_searches_for_a_face_of_the_shortlist(world: World, slopes: Slopes) -> None:
    explain, search, _, add, _ = slopes._menu(2).actions()
    for action in (explain, search, add):
        action.trigger()
    face = world.ids[2]
    asked = [("candidate_chosen", face), ("explain_wanted", face), ("face_wanted", face)]
    assert world.heard == [*asked, ("select", ([face], Mode.ADD))]


def test_keys_walk_a_column_follow_the_line_and_jump(world: World, slopes: Slopes, qtbot: Any) -> None:
    assert slopes.ranking is not None
    order = slopes.ranking.order.tolist()
    qtbot.keyClick(slopes, KEYS.Key_M)
    assert slopes.candidate == world.ids[order[0]] == world.ids[MATES[0]]
    for key in (KEYS.Key_Down, KEYS.Key_Down, KEYS.Key_Left, KEYS.Key_Up, KEYS.Key_End):
        qtbot.keyClick(slopes, key)
    walked = [order[0], order[1], order[2], order[2] - 1, K - 1]
    assert [face for _, face in world.heard] == [world.ids[entry] for entry in walked]
    assert slopes.in_sight(K - 1) and not slopes.in_sight(0)
    qtbot.keyClick(slopes, KEYS.Key_Return)
    qtbot.keyClick(slopes, KEYS.Key_Space)
    assert world.heard[-2:] == [
        ("explain_wanted", world.ids[-1]), ("select", ([world.ids[-1]], Mode.TOGGLE)),
    ]  # fmt: skip


def test_ranks_flow_to_their_places_and_keep_up_with_a_slider(world: World, slopes: Slopes) -> None:
    old = slopes._now.copy()
    for alpha in (0.5, 0.3, 0.0):  # faster than any frame
        world.show(alpha)
    assert slopes.moving and np.array_equal(slopes._now, old), "a step starts where the faces are"
    slopes._flow.setCurrentTime(FLOW // 10)
    assert np.abs(slopes._now - np.arange(K)).sum() < 0.8 * np.abs(old - np.arange(K)).sum(), "most comes first"
    slopes._flow.setCurrentTime(FLOW)
    assert slopes._now.tolist() == list(range(K)), "alpha 0 is the order by cosine"


def test_ranks_are_there_at_once_where_nothing_should_move(world: World, slopes: Slopes, monkeypatch: Any) -> None:
    monkeypatch.setattr(Slopes, "style", lambda self: SimpleNamespace(styleHint=lambda hint: 0))
    world.show(0.0)
    assert not slopes.moving and slopes._now.tolist() == list(range(K))


def test_what_is_out_of_sight_says_where_it_comes_from(world: World, slopes: Slopes) -> None:
    assert not slopes.in_sight(MATES[1]) and slopes.in_sight(MATES[0] - 2)
    assert slopes.aside(AFTER, MATES[1]) == "from 14" and slopes.aside(BEFORE, MATES[1]) == ""
    assert slopes.ranking is not None
    last = int(slopes.ranking.place[0]) + 1
    assert slopes.aside(BEFORE, 0) == f"to {last}"


def test_a_candidate_is_brought_into_sight_where_it_is_in_neither_column(world: World, slopes: Slopes) -> None:
    assert slopes.ranking is not None
    world.panel.set_candidate(world.ids[0])
    assert slopes.bar.value() == 0, "its row by cosine is seen"
    world.panel.set_candidate(world.ids[10])
    assert slopes.bar.value() > 0 and slopes.in_sight(int(slopes.ranking.place[10]))
    assert not world.heard


def test_the_leading_number(world: World) -> None:
    head = world.panel.query
    assert head.ranks == "7 → 1" and head.jump.isEnabled()
    world.show(0.7, first_before=0, first_after=0)
    assert head.ranks == "none" and not head.jump.isEnabled()
    world.show(0.7, first_before=341, first_after=341, painted="Mask")
    assert "Query · mask" in head.words() and "wrong" in head.words()
    assert head.jump.toolTip() == "The first right face stands at rank 341, outside the shortlist"


def test_a_painted_query_is_shown_as_it_was_searched_for(world: World) -> None:
    picture = np.zeros((96, 112, 3), np.uint8)
    picture[..., 2] = 250
    world.show(0.7, query_picture=picture)
    middle = world.panel.query._face_box().center().toPoint()
    assert world.panel.query.grab().toImage().pixelColor(middle).blue() > 240


def test_what_a_screen_reader_says(world: World, slopes: Slopes, qtbot: Any) -> None:
    qtbot.keyClick(slopes, KEYS.Key_M)
    said = slopes.accessibleDescription()
    values = "cosine 0.440, EMD 0.100, blended 0.238"
    assert said == f"Ada Byron, right, rank 7 before, 1 after, {values}, compared with the query"


def test_nothing_to_show(world: World, qtbot: Any) -> None:
    world.panel.show_nothing("No query", "Click a face.")
    assert world.panel.pages.currentWidget() is world.panel.empty
    qtbot.keyClick(world.slopes, KEYS.Key_Down)
    assert not world.heard and world.slopes.count == 0


# All queries


def swept(world: World) -> tuple[Sweep, SweepRow]:
    """Six queries at alpha 0, 0.5 and 1; the last has nobody to find."""
    before = np.array([3, 1, 9, 1, 4, 0], np.int32)
    ranks = np.array([before, [1, 1, 2, 3, 4, 0], [5, 1, 30, 3, 4, 0]], np.int32)
    shares = tuple(Measure(v, v - 0.1, v + 0.1, 5) for v in (0.4, 0.6, 0.2))
    row = SweepRow("apc", (0.0, 0.5, 1.0), {"P@1": shares}, ranks)
    ids = world.faces.ids[:6]
    return Sweep(ids, {"P@1": shares[0]}, before, (row,), "mask", 20, 100, "exact", "how", True), row


def test_queries_that_gained_and_lost(world: World, qtbot: Any) -> None:
    panel, (sweep, row) = world.panel, swept(world)
    panel.show_queries(world.faces, sweep, row, 0.55)
    panel.set_mode(QUERIES)
    ids, table = sweep.queries.tolist(), panel.table
    assert panel.queries.lead == "0.400 → 0.600" and [ids.index(i) for i in table.of_kind(GAINED)] == [0, 2]
    assert len(table.of_kind(LOST)) == 1 and len(table.of_kind(SAME)) == 2
    assert table.order.tolist() == [2, 0, 1, 4, 3, 5], "most gained first, then lost, then those without an answer"
    qtbot.mouseClick(panel.queries.tallies[GAINED], LEFT)
    qtbot.mouseClick(table, LEFT, pos=table.face_box(0).center().toPoint())
    assert world.heard == [("select", ([ids[0], ids[2]], Mode.REPLACE)), ("query_wanted", ids[2])]


def test_the_list_stands_still_while_alpha_moves_until_it_is_sorted_again(world: World, qtbot: Any) -> None:
    panel, (sweep, row) = world.panel, swept(world)
    panel.show_queries(world.faces, sweep, row, 0.5)
    panel.set_mode(QUERIES)
    before = panel.table.order.tolist()
    panel.show_queries(world.faces, sweep, row, 1.0)
    assert panel.table.order.tolist() == before and panel.table.stale
    heading = QPoint(round(panel.table.column("change")[1]) - 20, 10)
    qtbot.mouseClick(panel.table, LEFT, pos=heading)
    assert panel.table.order.tolist() == [1, 4, 3, 0, 2, 5] and not panel.table.stale
    qtbot.mouseClick(panel.table, LEFT, pos=heading)
    assert panel.table.order.tolist() == [2, 3, 0, 1, 4, 5]
    for key in (KEYS.Key_Left, KEYS.Key_R, KEYS.Key_Down, KEYS.Key_Return):
        qtbot.keyClick(panel.table, key)
    assert panel.table.by == "after" and world.heard == [("query_wanted", int(sweep.queries[2]))]


def test_without_a_sweep_there_is_a_button(world: World, qtbot: Any) -> None:
    world.panel.show_queries(world.faces, None, None, 0.7)
    world.panel.set_mode(QUERIES)
    assert world.panel.home() is world.panel.run
    qtbot.mouseClick(world.panel.run, LEFT)
    assert world.heard == [("run", None)]
