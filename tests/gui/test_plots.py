"""Charts: what is clicked, dragged and typed comes out in the units of the axis; nothing undefined is ever drawn."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyqtgraph as pg
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QColor, QImage, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from facelens.figures import scales
from facelens.views import theme
from facelens.views.plots import Axis, Band, Bars, Chart, Mark, Point, Series, Zone

LEFT = Qt.MouseButton.LeftButton
CTRL, SHIFT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier
FAR = Axis("FAR (log), lower is stricter", scale="log", low=1e-6, high=1.0)
TAR = Axis("TAR, higher is better", low=0.8, high=1.0)
EDGES = np.linspace(-0.4, 1.0, 71)


def curve(side: str = "B", *, n: int = 400, lift: float = 0.0) -> Series:
    far = np.logspace(-6, 0, n)
    tar = 1 - 0.1 * (np.log10(far) / -6) ** 2 - lift
    band = Band(tar - 0.02, np.minimum(tar + 0.02, 1))
    return Series(side.lower(), far, tar, side=side, name="model", headline="AUC 0.9991", band=band)


def scores() -> list[Bars]:
    centre = (EDGES[:-1] + EDGES[1:]) / 2
    impostor = np.rint(1e5 * np.exp(-(((centre - 0.03) / 0.1) ** 2))).astype(np.int64)
    genuine = np.rint(900 * np.exp(-(((centre - 0.67) / 0.15) ** 2))).astype(np.int64)
    return [
        Bars("impostor", EDGES, impostor, colour="bad", hatched=True, name="impostor", headline="N = 1,241,470"),
        Bars("genuine", EDGES, genuine, name="genuine", headline="N = 7,110"),
    ]


@pytest.fixture
def show(qtbot: Any) -> Any:
    def build(chart: Chart, width: int = 520, height: int = 250) -> Chart:
        qtbot.addWidget(chart)
        chart.resize(width, height)
        with qtbot.waitExposed(chart):
            chart.show()
        return chart

    return build


@pytest.fixture
def roc(show: Any) -> Chart:
    chart = show(Chart(FAR, TAR, name="ROC"))
    chart.set_series([curve("A", lift=0.03), curve("B")])
    chart.set_zones([Zone(1e-6, 2.4e-6, "no support")])
    return chart


@pytest.fixture
def histogram(show: Any) -> Chart:
    chart = show(
        Chart(Axis("cosine, higher = more alike", low=-0.4, high=1.0), Axis("share of pairs"), name="Scores"), 800
    )
    chart.set_bars(scores(), scaled=True)
    return chart


def at(chart: Chart, x: float, y: float) -> QPoint:
    """The pixel where a value is drawn."""
    px = chart._px(scales.forward(chart.x_axis.scale, x))
    py = chart._py(scales.forward(chart.y_axis.scale, y))
    return QPoint(round(float(px)), round(float(py)))


def drag(chart: Chart, start: QPoint, end: QPoint, button: Qt.MouseButton = LEFT) -> None:
    view = chart.viewport()
    QTest.mousePress(view, button, pos=start)
    for share in (0.3, 0.7, 1.0):
        QTest.mouseMove(view, start + (end - start) * share)
    QTest.mouseRelease(view, button, pos=end)


def picture(chart: Chart) -> QImage:
    return chart.grab().toImage()


def heard(signal: Any) -> list[tuple[Any, ...]]:
    got: list[tuple[Any, ...]] = []
    signal.connect(lambda *values: got.append(values))
    return got


# Scales


def test_scales_there_and_back() -> None:
    values = np.array([1e-4, 0.01, 0.4])
    for scale in ("linear", "log", "deviate"):
        places = scales.forward(scale, values)
        assert [scales.inverse(scale, float(p)) for p in places] == pytest.approx(values)
    assert scales.forward("deviate", 0.5) == 0


@pytest.mark.parametrize(
    ("scale", "low", "high", "texts"),
    [
        ("log", 1e-6, 1.0, ["1e-6", "1e-5", "1e-4", "1e-3", "1e-2", "1e-1", "1"]),
        ("deviate", 5e-5, 0.4, ["0.01 %", "0.1 %", "1 %", "10 %", "40 %"]),
        ("linear", -0.4, 1.0, ["−0.4", "−0.2", "0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]),
        ("linear", 0.0, 12_414.0, ["0", "2,500", "5,000", "7,500", "10,000"]),
        ("linear", 1.0, 1.0, []),
    ],
)
def test_ticks(scale: str, low: float, high: float, texts: list[str]) -> None:
    ends = scales.forward(scale, np.array([low, high]))
    room = 7 if scale != "linear" or low < 0 else 5
    made = scales.ticks(scale, *map(float, ends), room=room)
    assert [text for _, text in made] == texts
    assert [scales.inverse(scale, p) for p, _ in made] == pytest.approx([_read(t) for t in texts])


def _read(text: str) -> float:
    value = float(text.replace("−", "-").replace(",", "").removesuffix(" %"))
    return value / 100 if text.endswith("%") else value


def test_ticks_of_a_narrow_view_are_still_there() -> None:
    assert len(scales.ticks("log", -3.2, -2.9)) >= 2
    assert len(scales.ticks("deviate", -2.0, -1.5)) >= 2


def test_thinned_curve_keeps_its_extremes() -> None:
    x = np.linspace(0, 1, 10_000)
    y = np.zeros(10_000)
    y[1234] = 7
    starts = scales.thin(x, 500)
    assert starts is not None and len(starts) <= 501
    assert np.maximum.reduceat(y, starts).max() == 7
    assert scales.thin(x[:100], 500) is None


# Curves


def test_pixels_are_where_pyqtgraph_draws(roc: Chart) -> None:
    box = roc._plot.getViewBox().sceneBoundingRect()
    assert abs(box.left() - roc._box().left()) < 1 and abs(box.bottom() - roc._box().bottom()) < 1
    assert abs(box.right() - roc._box().right()) < 1 and abs(box.top() - roc._box().top()) < 1
    spot = roc._plot.getViewBox().mapViewToScene(QPointF(-3.0, 0.9))
    assert (spot - QPointF(at(roc, 1e-3, 0.9))).manhattanLength() < 2


def test_a_click_on_a_curve_says_which_point_and_keeps_the_ring(roc: Chart) -> None:
    got = heard(roc.picked)
    b = curve("B")
    QTest.mouseClick(roc.viewport(), LEFT, pos=at(roc, b.x[200], b.y[200]))
    assert len(got) == 1 and got[0][0] == "b" and abs(got[0][1] - 200) <= 1
    a = curve("A", lift=0.03)
    QTest.mouseClick(roc.viewport(), LEFT, pos=at(roc, a.x[100], a.y[100]))
    assert got[1][0] == "a" and abs(got[1][1] - 100) <= 1
    assert roc.ring == Mark("a", got[1][1])
    QTest.mouseClick(roc.viewport(), LEFT, pos=at(roc, 1e-2, 0.82))
    assert len(got) == 2 and roc.ring is not None, "a click beside every mark changes nothing"
    cleared = heard(roc.cleared)
    QTest.keyClick(roc, Qt.Key.Key_Escape)
    assert roc.ring is None and len(cleared) == 1


def test_far_points_of_a_curve_can_be_hit_between_them(show: Any) -> None:
    chart = show(Chart(Axis("share kept", low=0, high=1), Axis("risk", low=0, high=1)))
    chart.set_series([Series("s", np.array([0.0, 1.0]), np.array([0.0, 1.0]), name="risk")])
    got = heard(chart.picked)
    QTest.mouseClick(chart.viewport(), LEFT, pos=at(chart, 0.4, 0.4))
    assert got == [("s", 0)]


def test_references_and_zero_rates_cannot_be_clicked(show: Any) -> None:
    chart = show(Chart(FAR, Axis("TAR, higher is better", low=0, high=1)))
    far = np.array([0.0, 1e-4, 1e-2, 1.0])
    chart.set_series(
        [
            Series("r", far, far, reference=True, name="random"),
            Series("b", far, np.array([0.2, 0.5, 0.8, 1.0]), side="B"),
        ]
    )
    got = heard(chart.picked)
    QTest.mouseClick(chart.viewport(), LEFT, pos=at(chart, 1e-4, 1e-4))
    assert not got
    QTest.mouseClick(chart.viewport(), LEFT, pos=at(chart, 1e-2, 0.8))
    assert got == [("b", 2)], "the index is that of the input, the undrawable point counted"


def test_hover_rings_and_tells_the_value(roc: Chart) -> None:
    b = curve("B")
    before = picture(roc)
    QTest.mouseMove(roc.viewport(), at(roc, b.x[200], b.y[200]))
    assert roc._hover is not None and roc._hover.key == "b"
    name, x, y = roc._card_lines(roc._hover)
    assert name == "B model" and x.startswith("FAR ") and y.startswith("TAR 0.97") and y.count("0.9") == 3
    assert picture(roc) != before
    QApplication.sendEvent(roc, _leave())
    assert roc._hover is None


def _leave() -> Any:
    from PySide6.QtCore import QEvent

    return QEvent(QEvent.Type.Leave)


# The decision line


def test_drag_the_line(roc: Chart) -> None:
    roc.set_decision(1e-4, "FAR 1e-4", "TAR 0.96")
    moved, settled = heard(roc.moved), heard(roc.settled)
    drag(roc, at(roc, 1e-4, 0.85) + QPoint(7, 0), at(roc, 1e-2, 0.85) + QPoint(7, 0))
    assert len(moved) >= 2 and len(settled) == 1
    assert settled[0][0] == pytest.approx(1e-2, rel=0.03), "grabbed beside it, the line does not jump to the pointer"
    assert roc.decision == settled[0][0] == moved[-1][0]
    drag(roc, at(roc, roc.decision, 0.85), QPoint(5000, 60))
    assert roc.decision == pytest.approx(1.0), "the line stays on the axis"


def test_only_the_grab_zone_drags(roc: Chart) -> None:
    roc.set_decision(1e-4)
    moved, brushed = heard(roc.moved), heard(roc.brushed)
    drag(roc, at(roc, 1e-4, 0.85) + QPoint(10, 0), at(roc, 1e-2, 0.85))
    assert not moved and not brushed and roc.decision == 1e-4
    picked = heard(roc.picked)
    b = curve("B")
    QTest.mouseClick(roc.viewport(), LEFT, pos=at(roc, 1e-4, float(np.interp(1e-4, b.x, b.y))))
    assert len(picked) == 1 and not moved, "a click on the line where it meets a curve is a click on the curve"


def test_the_cursor_says_what_can_be_dragged(roc: Chart) -> None:
    roc.set_decision(1e-4)
    QTest.mouseMove(roc.viewport(), at(roc, 1e-4, 0.85) + QPoint(8, 0))
    assert roc.viewport().cursor().shape() == Qt.CursorShape.SplitHCursor
    QTest.mouseMove(roc.viewport(), at(roc, 1e-2, 0.83))
    assert roc.viewport().cursor().shape() == Qt.CursorShape.ArrowCursor


def test_keys_move_the_line(roc: Chart) -> None:
    roc.set_decision(1e-4, step=0.1)
    moved, settled = heard(roc.moved), heard(roc.settled)
    QTest.keyClick(roc, Qt.Key.Key_Right)
    assert moved == settled == [(pytest.approx(10**-3.9),)]
    QTest.keyClick(roc, Qt.Key.Key_Left, SHIFT)
    assert roc.decision == pytest.approx(10**-4.9)
    for _ in range(3):
        QTest.keyClick(roc, Qt.Key.Key_Left, SHIFT)
    assert roc.decision == pytest.approx(1e-6)
    assert len(settled) == 4, "a key that moves nothing tells nothing"


def test_setting_never_tells(roc: Chart) -> None:
    told = [heard(s) for s in (roc.moved, roc.settled, roc.picked, roc.brushed, roc.cleared)]
    roc.set_decision(1e-3)
    roc.set_brush(1e-4, 1e-2)
    roc.set_ring("b", 3)
    roc.set_decision(float("nan"))
    assert roc.decision is None
    roc.set_brush(None)
    roc.set_ring(None)
    assert not any(told)


def test_a_panel_may_round_the_line_while_it_is_dragged(roc: Chart) -> None:
    roc.set_decision(1e-4)
    roc.moved.connect(lambda v: roc.set_decision(10 ** round(np.log10(v))))
    settled = heard(roc.settled)
    drag(roc, at(roc, 1e-4, 0.85), at(roc, 1.5e-2, 0.85))
    assert settled == [(pytest.approx(1e-2),)]


# Histograms


def test_a_click_on_a_bin(histogram: Chart) -> None:
    got = heard(histogram.bin_picked)
    QTest.mouseClick(histogram.viewport(), LEFT, pos=at(histogram, 0.05, 0.5))
    assert got == [("impostor", pytest.approx(0.04), pytest.approx(0.06))]
    QTest.mouseClick(histogram.viewport(), LEFT, pos=at(histogram, 0.67, 0.02))
    assert got[1] == ("genuine", pytest.approx(0.66), pytest.approx(0.68))
    assert histogram.ring is not None and histogram.ring.bin
    name, span, count = histogram._card_lines(histogram.ring)
    assert (name, span, count) == ("genuine", "0.660 to 0.680", "900 pairs")


def test_a_bin_of_a_few_pairs_can_be_hit(histogram: Chart) -> None:
    bars = scores()
    few = int(np.flatnonzero(bars[0].counts > 0)[-1])
    got = heard(histogram.bin_picked)
    histogram.set_bars(bars[:1])
    QTest.mouseClick(histogram.viewport(), LEFT, pos=at(histogram, (EDGES[few] + EDGES[few + 1]) / 2, 0) - QPoint(0, 5))
    assert got and got[0][1] == pytest.approx(EDGES[few])
    QTest.mouseClick(histogram.viewport(), LEFT, pos=at(histogram, 0.95, 0) - QPoint(0, 5))
    assert len(got) == 1, "an empty bin holds nothing to show"


def test_where_two_groups_overlap_both_can_be_hit(histogram: Chart) -> None:
    edges = np.array([0.0, 0.5, 1.0])
    both = [Bars("high", edges, np.array([100, 10])), Bars("low", edges, np.array([50, 10]))]
    got = heard(histogram.bin_picked)
    for bars in (both, both[::-1]):
        histogram.set_bars(bars)
        for height, key in ((25, "low"), (80, "high")):
            QTest.mouseClick(histogram.viewport(), LEFT, pos=at(histogram, 0.25, height))
            assert got[-1] == (key, 0.0, 0.5)
    assert len(got) == 4


def test_brush_holds_whole_bins(histogram: Chart) -> None:
    live, brushed = heard(histogram.brushing), heard(histogram.brushed)
    drag(histogram, at(histogram, 0.103, 0.9), at(histogram, 0.296, 0.9))
    assert len(live) >= 1 and brushed == [(pytest.approx(0.1), pytest.approx(0.3))]
    bars = scores()
    inside = slice(25, 35)
    impostors, genuines = (int(b.counts[inside].sum()) for b in bars)
    assert histogram._counted() == f"impostor {impostors:,} · genuine {genuines:,} · 0.100 to 0.300"
    drag(histogram, at(histogram, 0.3, 0.5), at(histogram, 0.5, 0.5))
    assert brushed[1] == (pytest.approx(0.1), pytest.approx(0.5)), "a grip moves one end"
    drag(histogram, at(histogram, 0.1, 0.5), at(histogram, 0.7, 0.5))
    assert brushed[2] == (pytest.approx(0.5), pytest.approx(0.7)), "pulled over the other end, they change places"
    cleared = heard(histogram.cleared)
    QTest.keyClick(histogram, Qt.Key.Key_Escape)
    assert histogram.brush is None and len(cleared) == 1


def test_marks_outside_the_brush_drop_to_sixty_percent(histogram: Chart) -> None:
    spot = at(histogram, 0.03, 1.0) + QPoint(1, 0)
    base, before = QColor(theme.current().base), picture(histogram).pixelColor(spot)
    histogram.set_brush(0.4, 0.6)
    after = picture(histogram).pixelColor(spot)
    expected = [0.6 * a + 0.4 * b for a, b in zip(before.getRgb()[:3], base.getRgb()[:3])]
    assert after.getRgb()[:3] == pytest.approx(expected, abs=3) and before != after


def test_the_axis_says_that_groups_are_scaled(histogram: Chart) -> None:
    assert histogram._y_title() == "share of pairs, each group scaled to its peak"
    assert histogram._view[2:] == (0.0, 1.0)
    histogram.set_bars(scores())
    assert histogram._y_title() == "share of pairs"
    assert histogram._view[2:] == (0.0, pytest.approx(max(b.counts.max() for b in scores())))


# The view


def wheel(chart: Chart, pos: QPoint, turn: int) -> bool:
    """Whether the chart took it."""
    event = QWheelEvent(
        QPointF(pos),
        QPointF(chart.viewport().mapToGlobal(pos)),
        QPoint(),
        QPoint(0, turn),
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    event.setAccepted(True)
    QApplication.sendEvent(chart.viewport(), event)
    return event.isAccepted()


def test_wheel_zooms_at_the_pointer_and_f_fits(roc: Chart) -> None:
    whole = roc._view
    pos = at(roc, 1e-3, 0.9)
    wheel(roc, pos, 240)
    low, high, bottom, top = roc._view
    assert whole[0] < low < -3 < high < whole[1] and whole[2] < bottom < 0.9 < top < whole[3]
    assert (at(roc, 1e-3, 0.9) - pos).manhattanLength() <= 1
    drag(roc, at(roc, 1e-3, 0.9), at(roc, 1e-3, 0.9) + QPoint(40, 0), Qt.MouseButton.MiddleButton)
    assert (at(roc, 1e-3, 0.9) - pos - QPoint(40, 0)).manhattanLength() <= 1
    QTest.keyClick(roc, Qt.Key.Key_F)
    assert roc._view == whole
    assert not wheel(roc, pos, -600) and roc._view == whole, "nothing is outside, so the page may scroll"
    wheel(roc, pos, 240)
    QTest.mouseDClick(roc.viewport(), LEFT, pos=at(roc, 1e-3, 0.82))
    assert roc._view == whole


def test_counts_stay_on_the_ground(histogram: Chart) -> None:
    wheel(histogram, at(histogram, 0.3, 0.5), 480)
    assert histogram._view[2:] == (0.0, 1.0) and histogram._view[0] > -0.4
    assert any(text for _, text in histogram._rulers["bottom"]._tickLevels[0])


# Never late


def test_a_long_curve_is_drawn_with_what_can_be_seen(show: Any) -> None:
    chart = show(Chart(FAR, TAR))
    chart.set_series([curve("B", n=40_000)])
    (drawn,) = chart._drawn
    assert drawn.curve is not None and drawn.band is not None
    assert len(drawn.curve.xData) <= 2 * chart._box().width() + 4
    x, y = drawn.curve.getData()
    assert np.interp(-3, x, y) == pytest.approx(float(tar_at(1e-3)), abs=1e-3)
    chart._look_at((-3.1, -3.0, 0.8, 1.0))
    assert 400 < len(drawn.curve.xData) <= 2 * chart._box().width() + 4, "zoomed in, every point is there again"


def tar_at(far: float) -> float:
    return float(1 - 0.1 * (np.log10(far) / -6) ** 2)


def test_moving_the_line_does_not_draw_the_curves_again(show: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    painted: list[object] = []

    class Counted(pg.PlotCurveItem):
        def paint(self, *how: Any) -> None:
            painted.append(self)
            super().paint(*how)

    monkeypatch.setattr(pg, "PlotCurveItem", Counted)
    chart = show(Chart(FAR, TAR))
    chart.set_series([curve("A", lift=0.02), curve("B")])
    chart.set_decision(1e-4)
    chart.viewport().repaint()
    assert len(painted) >= 4, "two curves with their bands"
    painted.clear()
    drag(chart, at(chart, 1e-4, 0.85), at(chart, 1e-2, 0.85))
    chart.viewport().repaint()
    assert not painted
    chart.set_series([curve("B")])
    chart.viewport().repaint()
    assert painted


# Keys walk the marks


def test_keys_walk_the_marks(roc: Chart) -> None:
    roc.set_decision(1e-4)
    got = heard(roc.picked)
    QTest.keyClick(roc, Qt.Key.Key_Right, CTRL)
    first = roc._hover
    assert first is not None and first.key == "b" and curve().x[first.index] == pytest.approx(1e-4, rel=0.05)
    QTest.keyClick(roc, Qt.Key.Key_Right, CTRL)
    QTest.keyClick(roc, Qt.Key.Key_Right, CTRL | SHIFT)
    assert roc._hover == Mark("b", first.index + 11)
    QTest.keyClick(roc, Qt.Key.Key_Down, CTRL)
    assert roc._hover == Mark("a", first.index + 11)
    assert "TAR" in roc.accessibleDescription()
    QTest.keyClick(roc, Qt.Key.Key_Return)
    assert got == [("a", first.index + 11)] and roc.decision == 1e-4


def test_keys_walk_the_bins(histogram: Chart) -> None:
    got = heard(histogram.bin_picked)
    QTest.keyClick(histogram, Qt.Key.Key_Right)
    first = histogram._hover
    assert first is not None and first.key == "genuine" and EDGES[first.index] == pytest.approx(0.29, abs=0.02)
    QTest.keyClick(histogram, Qt.Key.Key_Right)
    QTest.keyClick(histogram, Qt.Key.Key_Return)
    assert got == [("genuine", EDGES[first.index + 1], EDGES[first.index + 2])]


def test_other_keys_go_on_to_the_window(roc: Chart) -> None:
    from PySide6.QtCore import QEvent
    from PySide6.QtGui import QKeyEvent

    for key in (Qt.Key.Key_Escape, Qt.Key.Key_G, Qt.Key.Key_Up):
        event = QKeyEvent(QEvent.Type.KeyPress, key, Qt.KeyboardModifier.NoModifier)
        roc.set_decision(1e-4)
        roc.keyPressEvent(event)
        assert not event.isAccepted(), key


# Points with whiskers


def test_points_with_whiskers(show: Any) -> None:
    chart = show(Chart(Axis("rank", low=1, high=20, ticks=(1, 5, 10, 20)), Axis("found by rank", low=0.9, high=1)))
    rank = np.arange(1.0, 21.0)
    chart.set_series(
        [
            Series(
                s.lower(),
                rank,
                np.full(20, 0.95),
                side=s,
                kind="points",
                band=Band(np.full(20, 0.92), np.full(20, 0.98)),
            )
            for s in "AB"
        ]
    )
    got = heard(chart.picked)
    for shift, key in ((-4, "a"), (4, "b")):
        QTest.mouseClick(chart.viewport(), LEFT, pos=at(chart, 10, 0.95) + QPoint(shift, 0))
        assert got[-1] == (key, 9), "equal points stand beside each other"
    ink = QColor(theme.current().B)
    image = picture(chart)
    whisker = at(chart, 10, 0.93)
    columns = [image.pixelColor(whisker + QPoint(dx, 0)) for dx in range(0, 9)]
    assert min(sum(abs(a - b) for a, b in zip(c.getRgb(), ink.getRgb())) for c in columns) < 120


# Themes, nothing to show, odd input


def test_theme_switch(roc: Chart) -> None:
    app = QApplication.instance()
    assert isinstance(app, QApplication)
    try:
        for scheme, look in (("light", theme.LIGHT), ("dark", theme.DARK)):
            theme.apply(app, scheme)
            image = picture(roc)
            assert image.pixelColor(2, image.height() - 3).name() == look.base
            drawn = {image.pixelColor(x, y).name() for x in range(image.width()) for y in range(26, 210, 2)}
            assert look.B in drawn and look.A in drawn
    finally:
        theme.apply(app, "system")


def test_nothing_to_show(show: Any) -> None:
    chart = show(Chart(FAR, TAR))
    empty = np.zeros(0)
    chart.set_note("n/a: one identity, so there is no impostor pair")
    chart.set_series([Series("b", empty, empty, side="B", band=Band(empty, empty))])
    chart.set_bars([Bars("g", empty, np.zeros(0, np.int64))])
    chart.set_points([Point("b", 0.0, float("nan")), Point("gone", 1e-3, 0.9)])
    chart.set_decision(None)
    picture(chart)
    for key in (Qt.Key.Key_Left, Qt.Key.Key_Right, Qt.Key.Key_F, Qt.Key.Key_Return, Qt.Key.Key_Escape):
        QTest.keyClick(chart, key)
    drag(chart, QPoint(80, 80), QPoint(200, 90))
    assert "one identity" in chart.accessibleDescription() and chart.brush is None


@pytest.mark.parametrize("scale", ["linear", "log", "deviate"])
def test_undefined_values_are_not_drawn(show: Any, scale: Any) -> None:
    chart = show(Chart(Axis("x", scale=scale), Axis("y", scale=scale)))
    values = np.array([np.nan, -1.0, 0.0, 1e-3, 0.02, 0.5, 1.0, np.inf])
    y = np.array([0.1, 0.1, 0.1, 0.1, np.nan, 0.3, 1.0, 0.1])
    chart.set_series([Series("s", values, y, band=Band(np.full(8, np.nan), np.full(8, 1.0)))])
    assert np.isfinite(chart._view).all()
    for drawn in chart._drawn:
        assert np.isfinite(drawn.x).all() and np.isfinite(drawn.y).all()
        assert drawn.low is not None and drawn.high is not None
        assert np.isfinite(drawn.low).all() and np.isfinite(drawn.high).all()
    picture(chart)


def test_one_value_and_constant_values(show: Any) -> None:
    chart = show(Chart(Axis("x"), Axis("y")))
    chart.set_series([Series("s", np.array([0.3]), np.array([0.7]))])
    picture(chart)
    chart.set_series([])
    chart.set_bars([Bars("g", np.array([0.0, 1.0]), np.array([0]))])
    picture(chart)
    assert chart._view == (0.0, 1.0, 0.0, 1.0)


def test_a_ring_of_what_is_gone(roc: Chart) -> None:
    roc.set_ring("b", 399)
    picture(roc)
    roc.set_series([curve("A")])
    assert roc.ring is None
    roc.set_ring("nobody", 10)
    picture(roc)


def test_a_line_to_read_cannot_be_moved(show: Any) -> None:
    chart = show(Chart(Axis("1 − cosine", scale="log", low=1e-8, high=2.0), Axis("pictures"), movable=False))
    chart.set_bars([Bars("pictures", np.logspace(-8, 0, 41), np.arange(40), one="{n} picture", many="{n} pictures")])
    chart.set_decision(1e-3, "pass line 0.999")
    moved = heard(chart.moved)
    spot = at(chart, 1e-3, 20)
    drag(chart, spot, spot + QPoint(60, 0))
    QTest.keyClick(chart, Qt.Key.Key_Right)
    assert not moved and chart.decision == 1e-3
    assert chart._hover is not None and chart._hover.bin, "arrows walk the bins"


def test_moving_the_line_paints_no_axis_and_places_no_name_anew(
    show: Any, pump: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []

    def watch(owner: Any, name: str) -> None:
        real = getattr(owner, name)
        monkeypatch.setattr(owner, name, lambda self, *given: (done.append(name), real(self, *given))[1])

    watch(pg.AxisItem, "paint")
    watch(Chart, "_free")
    chart = show(Chart(Axis("cosine", low=-0.4, high=1.0), Axis("share of pairs")), 800)
    chart.set_bars(scores(), scaled=True)
    chart.set_decision(0.4, "threshold 0.400", step=0.005)
    pump()
    assert {"paint", "_free"} == set(done)
    done.clear()
    chart.set_decision(0.41)
    pump()
    assert not done


def test_names_that_differ_at_their_end_are_told_apart_in_a_narrow_legend(show: Any) -> None:
    chart = show(Chart(FAR, TAR), 300)
    seen = []
    for end in ("1.0", "2.0"):
        chart.set_series([replace(curve("B"), name=f"a network with a very long name {end}")])
        seen.append(picture(chart))
    assert seen[0] != seen[1]


def test_a_legend_keeps_clear_of_the_line_in_a_narrow_chart(show: Any) -> None:
    chart = show(Chart(replace(FAR, low=1e-5), TAR), 320)
    chart.set_series([replace(curve(side), name="mobilefacenet of the house") for side in "AB"])
    chart.set_zones([Zone(1e-5, 4e-5, "no support")])
    chart.set_decision(1e-2)
    picture(chart)
    assert not chart._corner.left() <= chart._line_px() <= chart._corner.right()


def test_zone_hides_the_curve_and_says_why(roc: Chart) -> None:
    b = curve("B")
    spot = at(roc, 1.4e-6, float(np.interp(1.4e-6, b.x, b.y)))
    ink = QColor(theme.current().B).name()
    around = [QPoint(dx, dy) for dx in (-1, 0, 1) for dy in (-2, -1, 0, 1, 2)]
    assert ink not in {picture(roc).pixelColor(spot + p).name() for p in around}
    assert "no support" in roc.accessibleDescription()
    roc.set_zones([])
    assert ink in {picture(roc).pixelColor(spot + p).name() for p in around}


def test_spoken(roc: Chart) -> None:
    roc.set_decision(1e-4, "FAR 1e-4", "TAR 0.9642")
    assert roc.accessibleName() == "ROC"
    said = roc.accessibleDescription()
    assert "TAR, higher is better over FAR (log), lower is stricter." in said
    assert "B model AUC 0.9991." in said and "Line: FAR 1e-4 TAR 0.9642." in said


def test_the_legend_lies_in_a_free_corner(roc: Chart) -> None:
    picture(roc)
    assert roc._corner is not None and roc._corner.center().x() > roc._box().center().x()
    assert roc._corner.center().y() > roc._box().center().y()
    assert roc._busy(roc._corner) == 0


def test_a_small_chart_is_still_painted(show: Any) -> None:
    chart = show(Chart(FAR, TAR), 160, 110)
    chart.set_series([curve("A"), curve("B")])
    chart.set_decision(1e-4, "threshold 0.421", "FAR 1.0e-4 · FRR 0.0358")
    picture(chart)


def test_the_legend_keeps_clear_of_the_line_and_of_what_has_no_support(roc: Chart) -> None:
    roc.set_zones([Zone(1e-6, 3e-5, "no support")])
    for width in (560, 420, 300):
        roc.resize(width, 240)
        for decision in (1e-4, 1e-3, 1e-2, 0.3):
            roc.set_decision(decision)
            picture(roc)
            line, zone = roc._line_px(), roc._zone_spans()[0][1]
            assert roc._corner.left() >= zone
            if width > 300:
                assert not roc._corner.left() - 4 < line < roc._corner.right() + 4, (width, decision)


def test_the_name_of_a_reference_lies_beside_the_curves(show: Any) -> None:
    x = np.geomspace(1e-3, 0.4, 60)
    one = Series("A", x, np.clip(0.02 * (0.4 / x) ** 0.3, 0, 0.39), side="A", name="model", headline="EER 0.03")
    line = np.array([1e-6, 1 - 1e-6])
    diagonal = Series("eer", line, line, reference=True, name="EER", label_at=0.5)
    axis = Axis("rate", scale="deviate", low=1e-3, high=0.4)
    det = show(Chart(axis, axis), 420, 240)
    det.set_series([diagonal, one])
    picture(det)
    spot = det._said["eer"]
    assert not spot.isEmpty() and not spot.intersects(det._corner)
    assert det._busy(spot, besides=det._drawn[0]) == 0


def test_space_and_drag_pans_and_space_alone_picks(roc: Chart) -> None:
    picked: list[object] = []
    roc.picked.connect(lambda *mark: picked.append(mark))
    view, start = roc.viewport(), roc._box().center().toPoint()
    wheel = QWheelEvent(
        QPointF(start), QPointF(view.mapToGlobal(start)), QPoint(), QPoint(0, 360),
        Qt.MouseButton.NoButton, Qt.KeyboardModifier.NoModifier, Qt.ScrollPhase.NoScrollPhase, False,
    )  # fmt: skip
    QApplication.sendEvent(view, wheel)
    before = roc._view
    QTest.keyPress(roc, Qt.Key.Key_Space)
    QTest.mousePress(view, LEFT, pos=start)
    QTest.mouseMove(view, start + QPoint(30, 0))
    QTest.mouseRelease(view, LEFT, pos=start + QPoint(30, 0))
    QTest.keyRelease(roc, Qt.Key.Key_Space)
    assert roc._view[0] < before[0] and roc._view[1] - roc._view[0] == pytest.approx(before[1] - before[0])
    assert not picked
    QTest.keyClick(roc, Qt.Key.Key_Right)
    QTest.keyClick(roc, Qt.Key.Key_Space)
    assert len(picked) == 1
