"""Occlusions: what the table says and asks for; painting on the canvas by hand, by key and with what is ready-made."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QColor, QWheelEvent
from PySide6.QtTest import QTest

from facelens.images.occlusion import GREY, Occlusion
from facelens.views.occlusion_canvas import MOST, RADIUS, OcclusionCanvas
from facelens.views.occlusion_table import OcclusionTable

LEFT = Qt.MouseButton.LeftButton
SHIFT = Qt.KeyboardModifier.ShiftModifier
KEYS = Qt.Key
RED = np.full((112, 96, 3), (200, 0, 0), np.uint8)


@pytest.fixture
def shown(leftovers: None, pump: Callable[..., None]) -> Iterator[Callable[[Any], Any]]:
    made: list[Any] = []

    def show(widget: Any) -> Any:
        made.append(widget)
        widget.resize(500, 500)
        widget.show()
        pump()
        return widget

    yield show
    for widget in made:
        widget.close()
        widget.deleteLater()
    pump()


@pytest.fixture
def canvas(shown: Callable[[Any], Any]) -> OcclusionCanvas:
    made: OcclusionCanvas = shown(OcclusionCanvas())
    made.show_picture(RED)
    return made


def heard(signal: Any) -> list[Any]:
    got: list[Any] = []
    signal.connect(got.append)
    return got


def point(canvas: OcclusionCanvas, x: float, y: float) -> QPoint:
    area = canvas.view.area()
    return QPointF(area.left() + x * area.width(), area.top() + y * area.height()).toPoint()


def drag(canvas: OcclusionCanvas, *places: tuple[float, float], keys: Any = Qt.KeyboardModifier.NoModifier) -> None:
    spots = [point(canvas, *place) for place in places]
    QTest.mousePress(canvas.view, LEFT, keys, spots[0])
    for spot in spots[1:]:
        QTest.mouseMove(canvas.view, spot)
    QTest.mouseRelease(canvas.view, LEFT, keys, spots[-1])


# The table


def test_the_table_says_what_was_gained_and_asks_for_others(shown: Callable[[Any], Any]) -> None:
    table: OcclusionTable = shown(OcclusionTable())
    chosen, wanted = heard(table.occlusion_chosen), heard(table.sweep_wanted)
    ranks = {"none": (1, 1), "mask": (7, 1), "crop70": (61, 1700), "blocks": (0, 4), "sunglasses": None}
    table.show_rows(ranks, "mask")
    assert [table.rows.spoken(kind) for kind in table.rows.kinds] == [
        "None, rank 1 to 1, same",
        "Mask, rank 7 to 1, closer",
        "Sunglasses, not worked out yet",
        "Crop to 70 %, rank 61 to 1,700, farther",
        "Blocks, rank none to 4, closer",
    ]
    for place in range(3):  # what is painted already is not asked for again
        QTest.mouseClick(table.rows, LEFT, pos=table.rows.row(place).center().toPoint())
    assert chosen == [None, Occlusion("sunglasses")]
    for key in (KEYS.Key_End, KEYS.Key_Up, KEYS.Key_Return):
        QTest.keyClick(table.rows, key)
    assert chosen[2:] == [Occlusion("crop70")]
    table.run.click()
    assert wanted == ["mask"] and table.run.text() == "Run over all queries: mask"
    table.show_rows(ranks, "brush")
    assert table.rows.spoken(table.rows.kinds[-1]) == "Painted by hand, not worked out yet"


# The canvas


def test_dragging_covers_what_lies_under_the_brush(canvas: OcclusionCanvas) -> None:
    changes = heard(canvas.occlusion_changed)
    drag(canvas, (0.2, 0.4), (0.5, 0.4), (0.8, 0.4))
    assert canvas.occlusion == changes[-1] and changes[-1].kind == "brush"
    x, y, radius = np.array(changes[-1].strokes).T
    assert x.min() == pytest.approx(0.2, abs=0.01) and x.max() == pytest.approx(0.8, abs=0.04)
    assert np.abs(y - 0.4).max() < 0.01 and (radius == RADIUS).all()
    assert np.diff(x).max() < RADIUS / 2  # one line
    image = canvas.view.grab().toImage()  # at once, before any answer
    assert QColor(image.pixel(point(canvas, 0.5, 0.4))) == QColor(GREY, GREY, GREY)
    assert QColor(image.pixel(point(canvas, 0.5, 0.6))) == QColor(200, 0, 0)


def test_changes_are_told_now_and_then_and_the_last_one_always(canvas: OcclusionCanvas) -> None:
    changes = heard(canvas.occlusion_changed)
    canvas._timer.setInterval(60_000)  # as if the whole stroke took no time
    drag(canvas, *((x, 0.5) for x in np.linspace(0.1, 0.9, 30)))
    assert len(changes) == 2 and len(changes[0].strokes) == 1
    assert changes[1].strokes == canvas.view.dabs and len(changes[1].strokes) > 10


def test_shift_uncovers_and_the_wheel_sizes(canvas: OcclusionCanvas) -> None:
    drag(canvas, (0.2, 0.3), (0.8, 0.3))
    before = canvas.view.dabs
    drag(canvas, (0.8, 0.3), keys=SHIFT)
    assert canvas.view.dabs == tuple(dab for dab in before if 0.8 - dab[0] > 0.7 * RADIUS - 0.01) != before
    drag(canvas, (0.2, 0.3), (0.8, 0.3), keys=SHIFT)
    assert canvas.occlusion is None
    none, where = Qt.MouseButton.NoButton, QPointF(point(canvas, 0.5, 0.5))
    for turn in (120, 12_000):
        event = QWheelEvent(where, where, QPoint(), QPoint(0, turn), none, SHIFT, Qt.ScrollPhase.NoScrollPhase, False)
        canvas.view.wheelEvent(event)
    assert canvas.view.radius == MOST and canvas.slider.value() == 100
    canvas.slider.setValue(0)
    drag(canvas, (0.5, 0.5))
    assert canvas.occlusion == Occlusion("brush", strokes=(pytest.approx((0.5, 0.5, 0.02), abs=0.004),))  # type: ignore[arg-type]


def test_what_is_ready_made_has_a_strength_and_other_places(canvas: OcclusionCanvas) -> None:
    changes = heard(canvas.occlusion_changed)
    canvas._timer.setInterval(0)
    QTest.mouseClick(canvas.kind.button("crop70"), LEFT)
    canvas._flush()
    canvas.slider.setValue(60)
    canvas._flush()
    canvas.again.click()
    canvas._flush()
    assert changes == [Occlusion("crop70"), Occlusion("crop70", 0.6), Occlusion("crop70", 0.6, seed=1)]
    drag(canvas, (0.5, 0.5))  # by hand instead
    assert changes[-1].kind == "brush" and len(changes[-1].strokes) == 1 and canvas.kind.value() == "brush"
    canvas.clear.click()
    assert changes[-1] is None and not canvas.clear.isEnabled()


def test_what_is_painted_elsewhere_is_shown_and_not_told(canvas: OcclusionCanvas) -> None:
    changes = heard(canvas.occlusion_changed)
    painted = Occlusion("brush", strokes=((0.3, 0.3, 0.1),))
    for one in (Occlusion("mask", 0.4), painted, None):
        canvas.set_occlusion(one)
        assert canvas.occlusion == one
        assert canvas.kind.value() == (one.kind if one is not None else "brush")
        assert canvas.view.dabs == (one.strokes if one is not None else ())
    assert changes == []


def test_the_keyboard_paints_too(canvas: OcclusionCanvas) -> None:
    for key in (KEYS.Key_Left, KEYS.Key_Up, KEYS.Key_Space):
        QTest.keyClick(canvas.view, key)
    assert canvas.occlusion == Occlusion("brush", strokes=((0.455, 0.455, RADIUS),))
    QTest.keyClick(canvas.view, KEYS.Key_Delete)
    assert canvas.occlusion is None
