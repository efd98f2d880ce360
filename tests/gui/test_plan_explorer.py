"""The plan explorer: what is painted is what is hit, rows are the query, what is hidden is told, hands and keys."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray
from PySide6.QtCore import QEvent, QPointF, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from facelens.analyses import flow_picture
from facelens.analyses.reranking import Explained
from facelens.views.flow_lines import Streams, lines
from facelens.views.plan_controls import PlanLook
from facelens.views.plan_explorer import PlanExplorer
from facelens.views.plan_places import BELOW, FACES, VIEWS
from facelens.views.plan_sheet import SIDES, PlanSheet

KEYS = Qt.Key
LEFT = Qt.MouseButton.LeftButton
GRID = (7, 6)
P = 42
WHERE = np.random.default_rng(3).permutation(P)  # patch i of the query goes to WHERE[i]


def crop(seed: int) -> NDArray[np.uint8]:
    return np.random.default_rng(seed).integers(0, 255, (112, 96, 3), np.uint8)


def explained(flow: NDArray[np.float64], grid: tuple[int, int] = GRID, other: tuple[int, int] = GRID) -> Explained:
    distance = np.full(flow.shape, 0.5)
    emd = float((flow * distance).sum())
    return Explained(1, 2, grid, other, flow.sum(1), flow.sum(0), distance, flow, emd, 0.4, 0.0, 0.0, "exact")


def moved_by(where: NDArray[np.int64]) -> NDArray[np.float64]:
    flow = np.zeros((len(where), len(where)))
    flow[np.arange(len(where)), where] = 1 / len(where)
    return flow


def fill(explorer: PlanExplorer, one: Explained) -> PlanSheet:
    explorer.show_match(one, crop(1), crop(2), query_name="Ada", gallery_name="Bo, rank 1", right=True, weighting="APC")
    assert explorer.sheet is not None
    return explorer.sheet


@pytest.fixture
def explorer(leftovers: None) -> Iterator[PlanExplorer]:
    made = PlanExplorer()
    made.resize(690, 530)
    made.show()
    fill(made, explained(moved_by(WHERE)))
    yield made
    for part in (made.controls, made):
        part.close()
        part.deleteLater()


def centre(explorer: PlanExplorer, view: str, patch: int) -> QPointF:
    assert explorer.sheet is not None
    return explorer.sheet.lattice(view).cell(patch).center()


def click(explorer: PlanExplorer, point: QPointF) -> None:
    QTest.mouseClick(explorer, LEFT, Qt.KeyboardModifier.NoModifier, point.toPoint())


@pytest.mark.parametrize(("grid", "other"), [((7, 6), (3, 3)), ((16, 16), (8, 8)), ((4, 4), (7, 7))])
def test_cells_are_hit_where_they_are_painted(
    explorer: PlanExplorer, grid: tuple[int, int], other: tuple[int, int]
) -> None:
    shape = grid[0] * grid[1], other[0] * other[1]
    sheet = fill(explorer, explained(np.full(shape, 1 / shape[0] / shape[1]), grid, other))
    assert sheet.views == VIEWS
    for view, side in SIDES.items():
        lattice = sheet.lattice(view)
        for patch in range(shape[side == "gallery"]):
            cell = lattice.cell(patch)
            for point in (cell.topLeft(), cell.center(), cell.bottomRight() - QPointF(0.5, 0.5)):
                assert sheet.hit(point) == (view, (side, patch), None)
    matrix = sheet.matrix()
    for i in range(shape[0]):
        for j in range(shape[1]):
            cell = matrix.cell(i, j)
            if not cell.isEmpty():  # a pixel may have room for one of two patches only
                assert sheet.hit(cell.center()) == ("plan", ("query", i), j)
    assert sheet.hit(QPointF(2, 2)) is None


def test_rows_are_the_query(explorer: PlanExplorer) -> None:
    sheet = explorer.sheet
    assert sheet is not None
    matrix = sheet.matrix()
    picture = matrix.picture(sheet.shown.flow, (0.0, 1 / P), "viridis", 1.0)
    for i, j in enumerate(WHERE.tolist()):
        explorer.keep(("query", i))
        assert explorer.streams.ends.tolist() == [j]
        (path, _), *more = lines(
            sheet.lattice("query").cell(i), [sheet.lattice("gallery").cell(j)], [1.0], top=0.0
        )  # fmt: skip
        assert not more
        assert path.currentPosition() == centre(explorer, "gallery", j)
        explorer.keep(("gallery", j))
        assert explorer.streams.ends.tolist() == [i]
        at = matrix.cell(i, j).center() - matrix.box.topLeft()
        assert picture.pixelColor(at.toPoint()).green() > 200  # the bright end
        rows, columns = flow_picture.cell(i, GRID, (112, 96))
        shown = sheet.images["flow"].copy(columns.start, rows.start, 16, 16)
        rows, columns = flow_picture.cell(j, GRID, (112, 96))
        assert shown == sheet.images["gallery"].copy(columns.start, rows.start, 16, 16)


def test_flow_picture_of_a_face_with_itself_is_the_face() -> None:
    face = crop(5)
    for grid in ((7, 6), (5, 4), (16, 16)):
        flow = moved_by(np.arange(grid[0] * grid[1]))
        np.testing.assert_array_equal(flow_picture.moved(flow, face, grid, grid, (112, 96)), face)


def test_flow_picture_is_as_bright_as_the_largest_flow() -> None:
    flow = np.array([[0.1, 0.3], [0.2, 0.0], [0.0, 0.2], [0.2, 0.0]])
    made = flow_picture.moved(flow, np.full((8, 8, 3), 200, np.uint8), (1, 2), (2, 2), (8, 8))
    assert made[::4, ::4, 0].tolist() == [[200, 0], [0, 0]]


def test_what_lies_below_the_cut_is_counted(explorer: PlanExplorer) -> None:
    flow = moved_by(WHERE)
    flow[5] = 0
    flow[5, [3, 8, 20, 30]] = np.array([0.5, 0.3, 0.19, 0.01]) / P
    fill(explorer, explained(flow))
    explorer.keep(("query", 5))
    assert explorer.streams.ends.tolist() == [3, 8, 20]
    assert explorer.caption()[2] == "3 targets carry 99 % · 1 more below the cut carries 1 %"
    explorer.controls.cut.setValue(0)
    assert explorer.caption()[2] == "4 targets carry 100 %"
    explorer.controls.cut.setValue(explorer.controls.cut.maximum())
    assert explorer.streams.ends.tolist() == [3, 8]
    QTest.mouseDClick(explorer.controls.cut, LEFT)
    assert explorer.look == PlanLook()
    explorer.name_of = lambda patch: "right brow"
    assert explorer.caption()[:2] == ("Patch row 1, column 6 (right brow)", "mass 0.024 · cost 0.012")
    assert Streams.of(np.full(60, 1.0), 0.02).told(arriving=False) == "all 60 streams lie below the cut"


def test_click_keeps_and_esc_frees(explorer: PlanExplorer) -> None:
    told: list[object] = []
    explorer.patch_changed.connect(told.append)
    QTest.mouseMove(explorer, centre(explorer, "flow", 9).toPoint())
    assert explorer.current == ("query", 9)
    click(explorer, centre(explorer, "flow", 9))
    QTest.mouseMove(explorer, centre(explorer, "query", 20).toPoint())
    assert explorer.kept == explorer.current == ("query", 9)
    fill(explorer, explained(moved_by(WHERE)))  # the same pair, solved otherwise
    assert explorer.kept == ("query", 9)
    QTest.keyClick(explorer, KEYS.Key_Escape)
    assert explorer.kept is None
    assert explorer.current == ("query", 20)
    QTest.mouseMove(explorer, QPointF(3, 3).toPoint())
    assert told == [("query", 9), ("query", 20), None]


def test_a_cell_of_the_plan_pins_its_stream(explorer: PlanExplorer) -> None:
    sheet = explorer.sheet
    assert sheet is not None
    click(explorer, sheet.matrix().cell(4, 11).center())
    assert (explorer.kept, explorer.target) == (("query", 4), 11)
    assert "→ row 2, column 6: no mass" in explorer.caption()[2]
    goal = int(WHERE[4])
    QTest.mouseMove(explorer, centre(explorer, "gallery", goal).toPoint())
    assert explorer.target == goal  # another stream of the kept patch is brought forward
    click(explorer, centre(explorer, "gallery weights", goal))
    assert (explorer.kept, explorer.target) == (("gallery", goal), None)


def test_keys_walk_patches_and_views(explorer: PlanExplorer) -> None:
    explorer.activateWindow()
    explorer.setFocus(Qt.FocusReason.TabFocusReason)
    seen = []
    for _ in VIEWS:
        seen.append(explorer.accessibleDescription().split(".")[0])
        QTest.keyClick(explorer, KEYS.Key_Right)
        assert explorer.current is not None
        QTest.keyClick(explorer, KEYS.Key_Tab)
    assert seen == ["Query", "Flow", "Gallery", "Query weights", "Whole plan", "Gallery weights"]
    explorer.setFocus(Qt.FocusReason.TabFocusReason)
    for key in (KEYS.Key_Home, KEYS.Key_PageUp, KEYS.Key_Right, KEYS.Key_Down, KEYS.Key_Up, KEYS.Key_Down):
        QTest.keyClick(explorer, key)
    assert explorer.current == ("query", 7)
    assert "Patch row 2, column 2" in explorer.accessibleDescription()
    QTest.keyClick(explorer, KEYS.Key_Return)
    QTest.keyClick(explorer, KEYS.Key_End)
    assert explorer.kept == ("query", 11)
    # Esc is the explorer's while there is something to free, then the window's.
    for mine in (True, True, False):
        asked = QKeyEvent(QEvent.Type.ShortcutOverride, KEYS.Key_Escape, Qt.KeyboardModifier.NoModifier)
        asked.ignore()
        QApplication.sendEvent(explorer, asked)
        assert asked.isAccepted() == mine
        QTest.keyClick(explorer, KEYS.Key_Escape)
    assert explorer.current is None


def test_little_room_shows_one_row_at_a_time(explorer: PlanExplorer) -> None:
    explorer.resize(565, 330)
    assert explorer.sheet is not None
    assert explorer.sheet.views == FACES
    assert explorer.tabs.isVisible()
    assert not explorer.over.isVisible()
    explorer.tabs.button("below").click()
    assert explorer.sheet.views == BELOW
    assert explorer.over.isVisible()
    boxes = list(explorer.sheet.places.boxes.values())
    assert all(explorer.rect().contains(box.toRect()) for box in boxes)
    assert not any(one.intersects(other) for one, other in pairwise(boxes))


def test_saliency_is_asked_for_once_and_shares_the_scale(explorer: PlanExplorer) -> None:
    wanted: list[str] = []
    explorer.heat_wanted.connect(wanted.append)
    explorer.over.button("occlusion").click()
    counts = np.arange(P, dtype=np.float64) - 5
    counts[3] = np.nan
    explorer.set_heat(counts, ("deletion check +0.040", "+0.040"), told="it can be believed")
    assert explorer.caption()[2] == "it can be believed"
    for key in ("weights", "occlusion"):
        explorer.over.button(key).click()
    explorer.grab()
    assert wanted == ["occlusion"]
    assert explorer.sheet is not None
    low, high = explorer.sheet.limits()
    assert low == 0
    assert high == pytest.approx(36 * 41 / np.arange(37).sum())  # weights are 1 in averages, inside these
    fill(explorer, explained(moved_by(WHERE)))
    assert wanted == ["occlusion"] * 2
    assert "Hover" in explorer.caption()[2], "of another pair nothing is known"
    explorer.clear_heat()
    explorer.grab()
    assert explorer.sheet.limits() == pytest.approx((0.9, 1.1))


def test_patches_without_mass_are_hatched_and_say_so(explorer: PlanExplorer) -> None:
    flow = moved_by(WHERE)
    flow[4] = 0
    sheet = fill(explorer, explained(flow))
    assert sheet.whose[4] == -1
    explorer.keep(("query", 4))
    assert explorer.caption()[2] == "no mass, so it takes no part"
    explorer.keep(None)
    pixels = explorer.grab().toImage()
    for patch, hatched in ((4, True), (5, False)):
        cell = sheet.lattice("flow").cell(patch).adjusted(3, 3, -3, -3).toRect()
        shades = {pixels.pixelColor(cell.left() + i, cell.top()).name() for i in range(8)}
        greys = all(len({shade[1:3], shade[3:5], shade[5:7]}) == 1 for shade in shades)
        assert greys == hatched
        assert len(shades) > 1  # lines on the ground, or the picture


def test_nothing_to_show(explorer: PlanExplorer) -> None:
    explorer.keep(("query", 3))
    explorer.show_nothing("No match yet", "Click a face.")
    explorer.grab()
    assert explorer.current is None
    assert not explorer.over.isVisible()
    QTest.keyClick(explorer, KEYS.Key_Right)
    QTest.mouseMove(explorer, QPointF(100, 100).toPoint())
    assert explorer.current is None
