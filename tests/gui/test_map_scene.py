"""Pictures of dots and lines: against plain loops; what is made anew and what is kept."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import QRectF
from PySide6.QtGui import QColor, QImage

from facelens.views import dots, map_scene, theme, traces
from facelens.views.cloud import View
from facelens.views.map_scene import Content, Lines, Sight, painted

WHITE = QColor("#ffffff")


@pytest.fixture(autouse=True)
def app(qapp: Any) -> None:
    """Pictures need an application."""


def pixels(image: QImage) -> Any:
    found = np.frombuffer(image.constBits(), np.uint8).reshape(image.height(), image.width(), 4)
    return found[..., [2, 1, 0, 3]].astype(int)


# Dots


@pytest.mark.parametrize("crowd", [False, True])
@pytest.mark.parametrize("few", [0, 10**9])
def test_ink_against_a_loop(crowd: bool, few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dots, "FEW", few)
    rng = np.random.default_rng(0)
    x, y, opacity = rng.uniform(-4, 44, 50), rng.uniform(-4, 34, 50), 0.3
    found = pixels(dots.picture([dots.Dots(x, y, "disc", WHITE, opacity, 1.0, crowd=crowd)], 40, 30))[..., 3] / 255
    stamp = dots.stamp("disc", 1.0, 1.0)
    reach = len(stamp) // 2
    cover, seen = np.zeros((30, 40)), np.ones((30, 40))
    for a, b in zip(x, y):
        for i in range(len(stamp)):
            for j in range(len(stamp)):
                row, column = int(np.floor(b)) + i - reach, int(np.floor(a)) + j - reach
                if 0 <= row < 30 and 0 <= column < 40:
                    cover[row, column] += stamp[i, j]
                    seen[row, column] *= 1 - opacity * stamp[i, j]
    if crowd:
        slope = (dots.FULL - opacity) / np.log(dots.CROWD)
        expected = np.minimum(opacity * np.minimum(cover, 1) + slope * np.log(np.maximum(cover, 1)), 1)
    else:
        expected = 1 - seen
    np.testing.assert_allclose(found, expected, atol=1.5 / 255)


def test_where_more_lie_there_is_more_ink_and_one_is_not_lost() -> None:
    counts = np.array([1, 2, 10, 100, 10_000], np.float32)
    ink = dots.crowded(counts, 0.2)
    assert ink[0] == pytest.approx(0.2) and (np.diff(ink[:3]) > 0).all() and ink.max() <= 1
    assert dots.crowded(counts, 0.2, 0.5)[-1] <= 1 and dots.crowded(counts[:3], 0.2, 0.5)[-1] < ink[2]


def test_the_highest_rank_lies_on_top_however_dots_are_ordered() -> None:
    shades = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1]], np.float32)
    for order in ([0, 1, 2], [2, 0, 1], [1, 2, 0]):
        rank = np.array(order, np.int32)
        made = dots.Dots(np.full(3, 10.0), np.full(3, 10.0), "disc", shades, 0.9, 1.0, rank, crowd=True)
        red, green, blue, _ = pixels(dots.picture([made], 20, 20))[10, 10]
        assert blue > 200 and red < 60 and green < 60


# Lines


def test_lines_against_a_loop() -> None:
    """Few lines have smooth edges: each step along the longer way shares one unit between two pixels."""
    ends = np.array([[2.5, 3.5, 17.5, 9.5], [4.5, 18.5, 7.5, 2.5], [1.5, 10.5, 15.5, 10.5]])
    x0, y0, x1, y1 = ends.T
    count, _ = traces._passed(ends.T, 20, 20, own=False)
    expected = np.zeros((20, 20))
    for a, b, c, d in zip(x0, y0, x1, y1):
        steps = int(np.floor(max(abs(c - a), abs(d - b))))
        for step in range(steps + 1):
            x, y = a + (c - a) * step / max(abs(c - a), abs(d - b)), b + (d - b) * step / max(abs(c - a), abs(d - b))
            if abs(c - a) >= abs(d - b):
                row, share = int(np.floor(y - 0.5)), (y - 0.5) % 1
                expected[row, int(x)] += 1 - share
                expected[row + 1, int(x)] += share
            else:
                column, share = int(np.floor(x - 0.5)), (x - 0.5) % 1
                expected[int(y), column] += 1 - share
                expected[int(y), column + 1] += share
    np.testing.assert_allclose(count.reshape(20, 20), expected, atol=0.02)


def test_many_lines_are_counted_pixel_by_pixel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traces, "SMOOTH", 0)
    rng = np.random.default_rng(0)
    ends = rng.uniform(0, 19.9, (4, 60))
    count, top = traces._passed(ends, 20, 20, own=True)
    expected, last = np.zeros((20, 20)), np.full((20, 20), -1)
    for line, (a, b, c, d) in enumerate(ends.T):
        long = max(abs(c - a), abs(d - b))
        for step in range(int(np.floor(long)) + 1):
            x, y = a + (c - a) * step / max(long, 1), b + (d - b) * step / max(long, 1)
            expected[int(y), int(x)] += 1
            last[int(y), int(x)] = max(last[int(y), int(x)], line)
    differ = count.reshape(20, 20) != expected
    assert differ.mean() < 0.02 and count.sum() == expected.sum(), "parts of a pixel are rounded"
    assert (top.reshape(20, 20) != last)[~differ].mean() < 0.02


def test_what_is_outside_is_cut_and_nothing_is_drawn_there() -> None:
    ends = np.array([[-50.0, 10, 50, 10], [-10, -10, -5, -20], [5, 5, 5, 5]])
    lines = traces.Lines(*ends.T, WHITE, 1.0)
    found = pixels(traces.picture([lines], 20, 20))[..., 3]
    assert (found[9:11].max(0) > 100).all(), "right across"
    assert found[5, 5] > 100 and found[[0, 1, 15, 19]].max() == 0, "a line of no length is a dot"


def test_a_hundred_thousand_lines_are_density_and_the_longest_stand_out() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(150, 25, (2, 20_000))
    short = traces.Lines(x, y, x + rng.normal(0, 4, 20_000), y + rng.normal(0, 4, 20_000), WHITE, 0.1, 0.4)
    ink = pixels(traces.picture([short], 300, 300))[..., 3] / 255
    assert np.quantile(ink, 0.98) <= 0.75 and ink[150, 150] > ink[150, 90] > 0, "no blot, denser in the middle"


# Scenes


def content(n: int = 50, **more: Any) -> Content:
    rng = np.random.default_rng(0)
    drawn = rng.permutation(n)
    rank = np.empty(n, np.int32)
    rank[drawn] = np.arange(n)
    made: dict[str, Any] = {
        "x": rng.uniform(0, 1, n), "y": rng.uniform(0, 1, n), "drawn": drawn, "rank": rank,
        "marks": np.zeros(n, np.int8), "shades": None, "chosen": np.zeros(0, np.int64), "lines": None,
        "moving": False, "theme": theme.current(),
    }  # fmt: skip
    return Content(**(made | more))


SIGHT = Sight(View(0.0, 1.0, 0.0, 1.0), 200, 100, 1.0)


def test_only_what_changed_is_painted_anew() -> None:
    first = content()
    scene = painted(first, SIGHT, None)
    assert scene.names == ("ground",) and scene.shows(first)
    chosen = content(chosen=np.array([3, 4]))
    for part in ("x", "y", "drawn", "rank", "marks"):
        object.__setattr__(chosen, part, getattr(first, part))
    again = painted(chosen, SIGHT, scene)
    assert again.names == ("faded", "front") and again.pictures["ground"][1] is scene.pictures["ground"][1]
    assert again.index is scene.index and not scene.shows(chosen)
    back = painted(first, SIGHT, again)
    assert back.pictures["ground"][1] is scene.pictures["ground"][1], "nothing to paint when the selection goes"
    moved = painted(first, Sight(View(0.0, 0.5, 0.0, 0.5), 200, 100, 1.0), back)
    assert moved.pictures["ground"][1] is not scene.pictures["ground"][1] and moved.index is scene.index


def test_marks_are_drawn_in_their_order_and_colours() -> None:
    n, now = 3, theme.current()
    marks = np.array([map_scene.LOST, map_scene.GAINED, map_scene.SAME], np.int8)
    same_place = content(n, x=np.full(n, 0.5), y=np.full(n, 0.5), marks=marks)
    red, green = pixels(painted(same_place, SIGHT, None).images[0])[50, 100, :2]
    bad = now.q("bad")
    assert abs(red - bad.red()) < 45 and abs(green - bad.green()) < 60, "lost lies over gained over same"
    apart = content(n, x=np.array([0.25, 0.5, 0.75]), y=np.full(n, 0.5), marks=marks)
    picture = pixels(painted(apart, SIGHT, None).images[0])
    for x, token in ((50, "bad"), (100, "good"), (150, "text3")):
        expected, found = now.q(token), picture[50, x]
        share = found[3] / 255
        assert share > 0.3
        np.testing.assert_allclose(found[:3] / share, [expected.red(), expected.green(), expected.blue()], atol=8)
    lost, gained = picture[44:57, 44:57, 3], picture[44:57, 94:107, 3]
    assert lost[:6].sum() > lost[7:].sum() and gained[:6].sum() < gained[7:].sum(), "down and up"


def test_lines_of_some_and_lines_while_points_move(monkeypatch: pytest.MonkeyPatch) -> None:
    n = 60
    shown = np.zeros(n, bool)
    shown[:10] = True
    to = np.random.default_rng(1).uniform(0, 1, (2, n))
    every, some = content(lines=Lines(*to), n=n), content(lines=Lines(*to, shown=shown), n=n)
    assert every.effort == n + map_scene.DEAR * n and some.effort == n + map_scene.DEAR * 10
    ink = [pixels(painted(one, SIGHT, None).images[0])[..., 3].sum() for one in (every, some)]
    assert 0 < ink[1] < ink[0]
    monkeypatch.setattr(map_scene, "MOVING", 5)
    moving = content(lines=Lines(*to), n=n, moving=True)
    scene = painted(moving, SIGHT, None)
    assert moving.effort == n + map_scene.DEAR * 5 and scene.index is None
    assert pixels(scene.images[0])[..., 3].sum() < ink[0]


def test_a_picture_is_put_where_it_belongs() -> None:
    box = QRectF(0, 0, 200, 100)
    assert SIGHT.target(SIGHT.view, box) == box
    near = View(0.25, 0.75, 0.25, 0.75)
    assert SIGHT.target(near, box) == QRectF(-100, -50, 400, 200)
    assert SIGHT.target(View(0.5, 1.5, 0.0, 1.0), box) == QRectF(-100, 0, 200, 100)
    assert SIGHT.px(np.array([0.25]))[0] == 50 and SIGHT.py(np.array([0.25]))[0] == 75
