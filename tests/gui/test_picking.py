"""Which of many points is meant: against plain loops, and the same at any zoom."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QPolygonF
from PySide6.QtTest import QTest

from facelens.analyses.plan import ProjectionPlan
from facelens.analyses.projection import Projection
from facelens.images.faceset import FaceSet
from facelens.views.panel import Desk
from facelens.views.picking import Index, Known, Loop
from facelens.views.projection_map import ProjectionMap
from tests.gui.conftest import pump

LEFT, NONE = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier


def points(n: int = 400, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    x, y = np.random.default_rng(seed).normal(size=(2, n))
    return x, y


def index(x: np.ndarray, y: np.ndarray) -> Index:
    return Index(x, y, np.random.default_rng(9).permutation(len(x)))


def test_the_nearest_against_a_loop() -> None:
    x, y = points()
    found = index(x, y)
    for at_x, at_y, reach, squeeze in np.random.default_rng(1).uniform([-2, -2, 0.01, 0.3], [2, 2, 0.4, 3], (200, 4)):
        far = np.hypot(x - at_x, (y - at_y) * squeeze)
        expected = int(np.argmin(far)) if far.min() <= reach else None
        assert found.nearest(at_x, at_y, reach, squeeze=squeeze) == expected


def test_a_rectangle_against_a_loop() -> None:
    x, y = points()
    x[:5], y[:5] = 0.25, 0.75  # on the border
    found = index(x, y)
    for left, low in np.random.default_rng(2).uniform(-2, 1, (50, 2)):
        inside = (x >= left) & (x <= left + 0.9) & (y >= low) & (y <= low + 0.7)
        assert sorted(found.within(left, left + 0.9, low, low + 0.7)) == np.flatnonzero(inside).tolist()
    assert sorted(found.within(0.25, 0.25, 0.75, 0.75)) == [0, 1, 2, 3, 4]


def turns(trail: list[tuple[float, float]], x: float, y: float) -> int:
    """How often a closed line turns around a point, edge by edge."""
    total = 0
    for (x0, y0), (x1, y1) in zip(trail, [*trail[1:], trail[0]]):
        if (y0 <= y) != (y1 <= y):
            right = x0 + (y - y0) / (y1 - y0) * (x1 - x0) > x
            total += (1 if y1 > y0 else -1) * right
    return total


@pytest.mark.parametrize("seed", range(4))
def test_a_loop_against_a_loop_and_against_qt(seed: int) -> None:
    x, y = points(300, seed)
    trail = [(float(a), float(b)) for a, b in np.random.default_rng(seed).uniform(-1.5, 1.5, (9, 2))]
    loop = Loop(index(x, y))
    for step in trail:
        loop.add(*step)
    expected = [i for i in range(300) if turns(trail, x[i], y[i])]
    assert sorted(loop.places.tolist()) == expected and loop.count == len(expected) and expected
    drawn = QPolygonF([QPointF(*one) for one in trail])
    inside = [i for i in range(300) if drawn.containsPoint(QPointF(x[i], y[i]), Qt.FillRule.WindingFill)]
    assert inside == expected, "what is filled is what is selected"


def test_points_at_the_height_of_a_corner_are_counted_once() -> None:
    x, y = (axis.reshape(-1).astype(float) for axis in np.meshgrid(np.arange(9) + 0.5, np.arange(9)))
    for trail in ([(0.0, 0.0), (8.0, 4.0), (0.0, 8.0)], [(4.0, 0.0), (8.0, 3.0), (8.0, 6.0), (4.0, 8.0)]):
        loop = Loop(index(x, y))
        for step in trail:
            loop.add(*step)
        assert sorted(loop.places.tolist()) == [i for i in range(len(x)) if turns(trail, x[i], y[i])]


def test_ids_are_found_whether_few_or_many() -> None:
    ids = np.random.default_rng(0).permutation(10_000)[:500].astype(np.int64)
    known = Known(ids)
    for asked in (ids[[3, 9]], np.array([-1, ids[5], 10**6]), ids[::-1], np.zeros(0, np.int64)):
        expected = [i for one in asked for i in np.flatnonzero(ids == one)]
        assert known.places(asked).tolist() == expected
    assert Known(np.zeros(0, np.int64)).places(np.arange(20)).tolist() == []


@pytest.fixture
def shown(desk: Desk) -> Iterator[ProjectionMap]:
    n = 3000
    faces = FaceSet.build(
        "made up", Path("."), paths=[f"{i:04}.png" for i in range(n)], identities=[f"p{i % 50}" for i in range(n)]
    )
    made = ProjectionMap(desk.thumbnails)
    made.resize(500, 400)
    made.show()
    found = np.column_stack(points(n)).astype(np.float32)
    made.show_map(faces, Projection(faces.ids, found, ProjectionPlan(), "umap", final=True))
    pump()
    yield made
    made.close()
    made.deleteLater()
    pump()


@pytest.mark.parametrize("tool", ["lasso", "rectangle"])
def test_a_lasso_selects_the_same_faces_at_any_zoom(shown: ProjectionMap, tool: str) -> None:
    """The same loop in the coordinates of the points, drawn far away, near, and moved aside."""
    corners = [(-0.4, -0.3), (0.5, -0.4), (0.1, 0.05), (0.6, 0.5), (-0.5, 0.4)]
    heard: list[set[int]] = []
    shown.set_tool(tool)
    shown.select.connect(lambda ids, mode: heard.append(set(ids.tolist())))
    x, y = shown._x, shown._y
    middle = shown._box().center()
    trails = []
    for zoom, aside in ((1.0, QPoint(0, 0)), (0.6, QPoint(0, 0)), (0.45, QPoint(30, -20))):
        shown.fit()
        if zoom < 1:
            shown._zoom(zoom, middle)
            shown._pan(aside.toPointF())
        pump()
        trail = [QPoint(round(float(shown._to_px(a))), round(float(shown._to_py(b)))) for a, b in corners]
        trails.append([shown._point(one.toPointF()) for one in trail])
        QTest.mousePress(shown, LEFT, NONE, trail[0])
        for one in trail[1:]:
            QTest.mouseMove(shown, one)
        QTest.mouseRelease(shown, LEFT, NONE, trail[-1])
    for trail, found in zip(trails, heard):
        if tool == "lasso":
            expected = {int(shown._ids[i]) for i in range(len(x)) if turns(trail, x[i], y[i])}
        else:
            (x0, y0), (x1, y1) = trail[0], trail[-1]
            inside = (x >= min(x0, x1)) & (x <= max(x0, x1)) & (y >= min(y0, y1)) & (y <= max(y0, y1))
            expected = set(shown._ids[inside].tolist())
        assert found == expected
    # Where a pixel ends, the loops differ by a hair: hardly anybody lies there.
    for found in heard[1:]:
        assert len(found ^ heard[0]) <= 0.05 * len(heard[0])


def test_exactly_the_same_loop_holds_exactly_the_same_faces(shown: ProjectionMap) -> None:
    corners = [(-0.4, -0.3), (0.5, -0.4), (0.6, 0.5), (-0.5, 0.4)]
    found = []
    for zoom in (1.0, 0.5, 0.1):
        shown.fit()
        if zoom < 1:
            shown._zoom(zoom, shown._box().center())
        pump()
        loop = Loop(shown._indexed())
        for corner in corners:
            loop.add(*corner)
        found.append(sorted(loop.places.tolist()))
    assert found[0] == found[1] == found[2] and len(found[0]) > 200
