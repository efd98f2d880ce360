"""Charts of uncertainty: the line goes from step to step, a brush tells its faces, what has no value says why."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from facelens.analyses.measure import Measure
from facelens.analyses.rejection import Band, Risk, steps
from facelens.views import gain_row, theme
from facelens.views.gain_row import GainRow
from facelens.views.plots import Chart, Mark
from facelens.views.risk_chart import RiskChart
from facelens.views.variance_chart import VarianceChart

LEFT = Qt.MouseButton.LeftButton
SHIFT, CTRL = Qt.KeyboardModifier.ShiftModifier, Qt.KeyboardModifier.ControlModifier
WORDS = "variance 1 − ‖mean‖², higher = models disagree more"


def scores(n: int = 1000) -> Any:
    """Values from 0.02 to 0.44, most of them low, in no order."""
    values = 0.02 + 0.42 * np.linspace(0, 1, n) ** 3
    return np.random.default_rng(0).permutation(values)


def falling(values: Any, task: str = "1:1") -> Risk:
    """A risk over the steps of these values whose error falls from 0.05."""
    refusal = steps(values, lowest=0.6, most=41)
    share = 1 - refusal.coverage
    error = 0.05 * np.exp(-3 * share)
    gain = error[0] - error
    nothing = np.zeros(len(share), np.int64)
    return Risk(
        task=task,
        rate=1e-3 if task == "1:1" else 0.01,
        coverage=refusal.coverage,
        kept=refusal.kept,
        limit=refusal.limit,
        error=Band(error, error - 0.006, error + 0.007),
        gain=Band(gain, gain / 2, gain * 1.5),
        change=Band(error / 0.05 - 1, error / 0.05 - 1.1, error / 0.05 - 1 + gain),
        threshold=np.full(len(share), 0.4),
        n=np.full(len(share), 5000),
        random=np.full(len(share), 0.05),
        best=0.05 * np.exp(-15 * share),
        emptied=nothing,
        dropped=nothing,
        area=Measure(0.0312, 0.0281, 0.0344),
    )


def heard(signal: Any) -> list[Any]:
    got: list[Any] = []
    signal.connect(lambda *values: got.append(values if len(values) != 1 else values[0]))
    return got


def at(chart: Chart, x: float, y: float) -> QPoint:
    """The pixel where a value is drawn."""
    return QPoint(round(float(chart._px(x))), round(float(chart._py(y))))


def drag(chart: Chart, start: QPoint, end: QPoint) -> None:
    view = chart.viewport()
    QTest.mousePress(view, LEFT, pos=start)
    for share in (0.3, 0.7, 1.0):
        QTest.mouseMove(view, start + (end - start) * share)
    QTest.mouseRelease(view, LEFT, pos=end)


def picture(widget: QWidget) -> QImage:
    return widget.grab().toImage()


@pytest.fixture
def see(qtbot: Any) -> Callable[..., Any]:
    def put(widget: QWidget, width: int, height: int) -> QWidget:
        app = QApplication.instance()
        assert isinstance(app, QApplication)
        theme.apply(app, "dark")
        qtbot.addWidget(widget)
        widget.resize(width, height)
        with qtbot.waitExposed(widget):
            widget.show()
        return widget

    return put


@pytest.fixture
def variance(see: Any) -> VarianceChart:
    widget: VarianceChart = see(VarianceChart(), 845, 255)
    values = scores()
    widget.show_values(values, np.arange(len(values)) + 7000, WORDS)
    return widget


@pytest.fixture
def stepped(variance: VarianceChart) -> VarianceChart:
    variance.set_steps(falling(scores()).limit)
    variance.set_step(8)
    return variance


@pytest.fixture
def risk(see: Any) -> RiskChart:
    widget: RiskChart = see(RiskChart(), 560, 270)
    widget.show_risk(falling(scores()))
    widget.set_step(8)
    return widget


# The histogram and its line


def test_the_line_says_what_it_refuses(stepped: VarianceChart) -> None:
    limit = falling(scores()).limit[8]
    assert stepped.refused == np.count_nonzero(scores() > limit) == 80
    assert stepped.chart._decision_text == (f"refuse above {limit:.3f}", "p92 · 80 faces refused")
    assert "80 faces refused" in stepped.chart.accessibleDescription()
    assert "p10 0.020, p50 0.073, p90 0.326" in stepped.chart.accessibleDescription()
    stepped.set_step(0)
    assert stepped.refused == 0 and stepped.chart._decision_text == ("refuse nothing", "1,000 faces kept")


def test_the_line_is_dragged_from_step_to_step(stepped: VarianceChart) -> None:
    moved, settled = heard(stepped.step_moved), heard(stepped.settled)
    limits = falling(scores()).limit
    chart = stepped.chart
    start, end = at(chart, limits[8], 20), at(chart, limits[20] + 1e-4, 20)
    QTest.mouseMove(chart.viewport(), start + QPoint(8, 0))
    assert chart.viewport().cursor().shape() == Qt.CursorShape.SplitHCursor
    drag(chart, start + QPoint(8, 0), end + QPoint(8, 0))
    assert moved[-1] == 20 and len(moved) > 1 and len(settled) == 1
    assert stepped.limit == limits[20] == chart.decision, "the line stands at the step, not where it was let go"
    drag(chart, at(chart, limits[20], 20), QPoint(5000, 50))
    assert moved[-1] == 0 and stepped.refused == 0, "at the right end nothing is refused"


def test_keys_move_the_line_by_steps(stepped: VarianceChart) -> None:
    moved = heard(stepped.step_moved)
    QTest.keyClick(stepped.chart, Qt.Key.Key_Left)
    QTest.keyClick(stepped.chart, Qt.Key.Key_Left, SHIFT)
    QTest.keyClick(stepped.chart, Qt.Key.Key_Right)
    assert moved == [9, 19, 18], "to the left more is refused"
    QTest.keyClick(stepped.chart, Qt.Key.Key_Right, SHIFT)
    QTest.keyClick(stepped.chart, Qt.Key.Key_Right, SHIFT)
    assert moved[-1] == 0


def test_before_there_are_steps_the_line_tells_a_value(variance: VarianceChart) -> None:
    moved, by_step = heard(variance.limit_moved), heard(variance.step_moved)
    chart = variance.chart
    drag(chart, at(chart, chart.decision or 0, 20), at(chart, 0.3, 20))
    assert moved[-1] == pytest.approx(0.3, abs=0.002) and not by_step
    assert variance.refused == np.count_nonzero(scores() > moved[-1])
    drag(chart, at(chart, 0.3, 20), QPoint(5000, 20))
    assert moved[-1] == np.inf and variance.refused == 0


def test_setting_tells_nobody(stepped: VarianceChart, risk: RiskChart) -> None:
    told = [heard(s) for s in (stepped.step_moved, stepped.limit_moved, stepped.settled, stepped.brushed)]
    told += [heard(s) for s in (risk.step_moved, risk.settled, risk.stretch)]
    stepped.set_step(3)
    stepped.set_selection(np.array([7001, 7005]))
    stepped.set_steps(falling(scores()).limit)
    stepped.log = True
    risk.set_step(3)
    risk.set_stretch(2, 9)
    risk.show_risk(None)
    assert not any(told)


def test_what_is_refused_is_paler(stepped: VarianceChart) -> None:
    chart = stepped.chart
    stepped.set_step(0)
    ground = chart._py(0.0)
    spot = QPoint(at(chart, 0.425, 0).x(), round(float(ground)) - 3)
    before = picture(stepped).pixelColor(spot)
    stepped.set_step(20)
    after = picture(stepped).pixelColor(spot)
    assert after != before and after.lightness() < before.lightness(), "what is refused is paler on a dark ground"


# The brush


def inside(low: float, high: float) -> set[int]:
    values = scores()
    return set((np.flatnonzero((values >= low) & (values < high)) + 7000).tolist())


def test_a_brush_tells_the_faces_of_its_bins(stepped: VarianceChart) -> None:
    got, chart = heard(stepped.brushed), stepped.chart
    drag(chart, at(chart, 0.1, 60), at(chart, 0.15, 60))
    low, high = chart.brush or (0.0, 0.0)
    assert low == pytest.approx(0.1) and high == pytest.approx(0.15)
    assert set(got[-1].tolist()) == inside(0.1, 0.15) and len(got) == 1
    assert chart._counted() == f"{len(got[-1])} selected · 0.100 to 0.150"
    drag(chart, at(chart, 0.15, 60), at(chart, 0.2, 60))
    assert set(got[-1].tolist()) == inside(0.1, 0.2), "a grip moves one end"
    QTest.keyClick(chart, Qt.Key.Key_Escape)
    assert chart.brush is None and not len(got[-1])


def test_every_face_lies_in_one_bin(variance: VarianceChart) -> None:
    got, chart = heard(variance.brushed), variance.chart
    drag(chart, at(chart, 0.0, 60), QPoint(5000, 60))
    assert sorted(got[-1].tolist()) == list(range(7000, 8000)), "the highest value is in the last one"
    assert int(variance.spread.counts.sum()) == 1000


def test_a_click_on_a_bin_tells_its_faces(stepped: VarianceChart) -> None:
    got, chart = heard(stepped.brushed), stepped.chart
    drag(chart, at(chart, 0.1, 60), at(chart, 0.15, 60))
    QTest.mouseClick(chart.viewport(), LEFT, pos=at(chart, 0.022, 2))
    assert set(got[-1].tolist()) == inside(0.02, 0.03) and chart.brush is None
    QTest.keyClick(chart, Qt.Key.Key_Right, CTRL)
    QTest.keyClick(chart, Qt.Key.Key_Return)
    assert set(got[-1].tolist()) == inside(0.03, 0.04), "the keyboard walks the bins"
    assert f"{len(got[-1])} faces" in chart._card_lines(chart.ring)


def test_a_brush_goes_when_something_else_is_selected(stepped: VarianceChart) -> None:
    chart = stepped.chart
    stepped.brushed.connect(stepped.set_selection)
    drag(chart, at(chart, 0.1, 60), at(chart, 0.15, 60))
    assert chart.brush is not None
    stepped.set_selection(np.arange(7000, 8000))
    assert chart.brush is not None, "more than it holds"
    stepped.set_selection(np.array([7004]))
    assert chart.brush is None


def test_the_same_shown_again_leaves_all_as_it_is(stepped: VarianceChart, risk: RiskChart) -> None:
    stepped.chart.set_brush(0.1, 0.15)
    stepped.show_values(scores(), np.arange(1000) + 7000, WORDS)
    assert stepped.chart.brush is not None and stepped.refused == 80
    stepped.show_values(scores() / 2, np.arange(1000) + 7000, WORDS)
    assert stepped.chart.brush is None and stepped.refused == 0
    risk.set_stretch(2, 9)
    risk.show_risk(risk.risk)
    assert risk.chart.brush is not None
    risk.show_risk(falling(scores()))
    assert risk.chart.brush is None


def test_what_is_selected_is_seen_in_its_bins(stepped: VarianceChart) -> None:
    before = picture(stepped)
    stepped.set_selection(np.array([3, 7000, 7001, 7002, 99_999]))
    assert int(stepped.chart.selected.sum()) == 3, "strangers are nowhere"
    assert picture(stepped) != before


# Odd input


@pytest.mark.parametrize(
    ("values", "known"),
    [
        (np.zeros(0), 0),
        (np.array([np.nan, np.nan]), 0),
        (np.array([0.3]), 1),
        (np.full(50, 0.25), 50),
        (np.array([0.0, 0.0]), 2),
        (np.array([-3.0, np.nan, 4000.0, np.inf, 12.5]), 3),
        (np.append(np.linspace(0.1, 0.2, 500), 9.0), 501),
        (np.array([1e9, np.nextafter(1e9, 2e9)]), 2),
    ],
)
def test_odd_values(variance: VarianceChart, values: Any, known: int) -> None:
    variance.show_values(values, np.arange(len(values)), "score")
    variance.set_steps(steps(values).limit if known else np.array([np.inf]))
    variance.set_step(1)
    variance.set_selection(np.arange(2))
    for log in (True, False):
        variance.log = log
        assert not picture(variance).isNull()
    assert int(variance.spread.counts.sum()) == known == len(variance.spread)
    assert (np.diff(variance.spread.edges) > 0).all() and len(variance.spread.counts) <= 402
    QTest.keyClick(variance.chart, Qt.Key.Key_Left)
    if not known:
        assert variance.chart.decision is None and "No face has a value" in variance.chart.accessibleDescription()
    if known < len(values):
        assert (
            f"{len(values) - known} face" in variance.chart._y_title()
            and "without a value" in variance.chart._y_title()
        )


def test_a_score_that_is_refused_where_it_is_low_is_written_as_it_is(variance: VarianceChart) -> None:
    quality = 1 - scores()
    variance.show_values(-quality, np.arange(1000), "quality", lower=True)
    variance.set_limit(-0.7)
    title, meaning = variance.chart._decision_text
    assert title == "refuse below 0.700" and f"{np.count_nonzero(quality < 0.7)} faces refused" in meaning
    texts = [text for _, text in variance.chart._rulers["bottom"]._tickLevels[0]]
    assert texts[:2] == ["0.9", "0.8"]
    variance.chart.set_brush(-0.8, -0.7)
    assert variance.chart._counted().endswith("0.700 to 0.800")
    bin_of_quality = Mark("faces", 0, bin=True)
    assert variance.chart._card_lines(bin_of_quality)[1] == "0.970 to 0.980"


def test_counts_on_a_logarithmic_axis(variance: VarianceChart) -> None:
    variance.log = True
    texts = [text for _, text in variance.chart._rulers["left"]._tickLevels[0]]
    assert texts == ["1", "10", "100"]
    one = variance.chart._heights(replace(variance.chart._bars[0], counts=np.array([0, 1])))
    assert one[0] == 0 < one[1], "one face can be seen"


@pytest.mark.parametrize("width", [845, 420])
def test_the_title_lies_on_no_percentile(variance: VarianceChart, width: int) -> None:
    variance.resize(width, 200)
    variance.show_values(scores() * 0.2 + 0.3, np.arange(1000), WORDS)
    chart = variance.chart
    box = chart._plot.getViewBox().sceneBoundingRect()
    assert abs(box.bottom() - chart._box().bottom()) < 1, "what is painted lies where the plot is"
    foot = chart.viewport().height() - 16
    spots = [spot for _, spot in chart._percentiles()]
    assert len(spots) == 3
    from facelens.views.controls import text_width

    start = chart.viewport().width() - 16 - text_width(WORDS, 10)
    assert all(spot.bottom() <= foot or spot.right() < start for spot in spots)


def test_moving_the_line_counts_nothing_anew(stepped: VarianceChart, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*what: Any, **how: Any) -> Any:
        raise AssertionError("counted again")

    for name in ("histogram", "sort", "argsort", "bincount", "quantile"):
        monkeypatch.setattr(np, name, never)
    for step in (3, 30, 0):
        stepped.set_step(step)
        picture(stepped)


# Risk against coverage


def test_all_faces_are_at_the_left(risk: RiskChart) -> None:
    texts = [text for _, text in risk.chart._rulers["bottom"]._tickLevels[0]]
    assert texts == ["100 %", "90 %", "80 %", "70 %", "60 %"]
    assert risk.chart._view[2] == 0 and risk.chart._view[3] > 0.057, "from 0, with room above the band"
    assert risk.chart.y_axis.title == "1 − TAR @ FAR 1e-3, lower is better"
    assert risk.chart.aside == "AURC 0.0312 [0.0281, 0.0344]"
    assert risk.chart._decision_text[0] == "keep 92.0 %"
    said = risk.chart.accessibleDescription()
    assert "keep 92.0 %" in said and "AURC 0.0312" in said and "0.0393 [0.0333, 0.0463]" in said


def test_the_line_of_the_risk_is_dragged_typed_and_clicked(risk: RiskChart) -> None:
    moved, settled, chart = heard(risk.step_moved), heard(risk.settled), risk.chart
    drag(chart, at(chart, 0.08, 0.01), at(chart, 0.2003, 0.01))
    assert moved[-1] == 20 and len(settled) == 1
    QTest.keyClick(chart, Qt.Key.Key_Right)
    QTest.keyClick(chart, Qt.Key.Key_Left, SHIFT)
    assert moved[-2:] == [21, 11], "to the right more is refused"
    error = falling(scores()).error.value
    QTest.mouseClick(chart.viewport(), LEFT, pos=at(chart, 0.3, error[30]))
    assert moved[-1] == 30 and len(settled) == 4 and chart._decision_text[0] == "keep 70.0 %"


def test_a_stretch_of_the_curve_is_two_steps(risk: RiskChart) -> None:
    got, chart = heard(risk.stretch), risk.chart
    drag(chart, at(chart, 0.151, 0.01), at(chart, 0.249, 0.01))
    assert got == [(15, 25)] and chart.brush == (pytest.approx(0.15), pytest.approx(0.25))
    assert chart._counted() == "100 faces · 85.0 % to 75.0 %"
    drag(chart, at(chart, 0.25, 0.03), at(chart, 0.12, 0.03))
    assert got[-1] == (12, 15), "pulled over the other end"
    QTest.keyClick(chart, Qt.Key.Key_Escape)
    assert got[-1] == (0, 0) and chart.brush is None
    risk.set_stretch(4, 9)
    assert chart.brush == (pytest.approx(0.04), pytest.approx(0.09))


def broken(where: slice) -> Risk:
    found = falling(scores())
    for values in (found.error.value, found.error.low, found.error.high, found.best):
        values[where] = np.nan
    return found


def test_what_is_undefined_is_a_gap_that_says_why(risk: RiskChart) -> None:
    risk.show_risk(broken(slice(20, 26)))
    (zone,) = risk.chart._zones
    assert (zone.low, zone.high) == (pytest.approx(0.19), pytest.approx(0.26))
    assert all(not ((d.x > 0.195) & (d.x < 0.255)).any() for d in risk.chart._drawn if "error" in d.series.key)
    view = risk.chart.viewport()
    QTest.mouseMove(view, at(risk.chart, 0.22, 0.05))
    assert risk.chart.toolTip() == "cannot be told from the pairs left"
    QTest.mouseMove(view, at(risk.chart, 0.1, 0.055))
    assert risk.chart.toolTip().startswith("Drag the line")
    risk.set_step(22)
    assert risk.chart._decision_text == ("keep 78.0 %", "n/a: cannot be told from the pairs left")
    assert risk.chart.dot is None


@pytest.mark.parametrize("where", [slice(0, 5), slice(30, None), slice(0, None), slice(1, None), slice(1, 40)])
def test_gaps_anywhere(risk: RiskChart, where: slice) -> None:
    risk.show_risk(broken(where))
    for step in (0, 20, 40):
        risk.set_step(step)
        assert not picture(risk).isNull()
    if where == slice(0, None):
        assert "n/a: cannot be told from the pairs left" in risk.chart.accessibleDescription()


def test_no_risk_says_why(risk: RiskChart) -> None:
    risk.show_risk(None, why="being worked out")
    assert risk.chart.accessibleDescription() == "being worked out" and risk.chart.decision is None
    risk.set_step(4)
    QTest.keyClick(risk.chart, Qt.Key.Key_Right)
    drag(risk.chart, QPoint(100, 100), QPoint(200, 100))
    assert not picture(risk).isNull()
    risk.show_risk(falling(scores()))
    assert "being worked out" not in risk.chart.accessibleDescription()


@pytest.mark.parametrize("size", [(560, 270), (480, 130), (300, 200)])
def test_names_lie_on_no_line(risk: RiskChart, size: tuple[int, int]) -> None:
    risk.resize(*size)
    for step in (0, 4, 20, 36):
        risk.set_step(step)
        picture(risk)
        chart, spots = risk.chart, [spot for spot in risk.chart._said.values() if not spot.isEmpty()]
        assert len(spots) == 3
        for i, spot in enumerate(spots):
            assert not any(spot.intersects(other) for other in spots[i + 1 :])
            line = chart._line_px()
            assert line is not None and not spot.left() <= line <= spot.right()
            for drawn in chart._drawn:
                xs, ys, *_ = chart._track(drawn)
                across = np.interp(np.linspace(spot.left(), spot.right(), 200), xs, ys)
                assert not ((across > spot.top()) & (across < spot.bottom())).any(), (drawn.series.key, step)


def test_a_search_is_asked_for_tpir(risk: RiskChart) -> None:
    risk.show_risk(falling(scores(), "1:N"), by="LightQNet")
    assert risk.chart.y_axis.title == "1 − TPIR @ FPIR 1 %, lower is better"
    assert "by LightQNet, 95 % interval" in [d.series.name for d in risk.chart._drawn]


def test_steps_of_equal_scores(risk: RiskChart) -> None:
    risk.show_risk(falling(np.full(30, 0.2)))
    assert len(risk.chart.places) == 1 and not picture(risk).isNull()
    QTest.keyClick(risk.chart, Qt.Key.Key_Right)
    assert risk.chart.step == 0


# Three numbers


@pytest.fixture
def gains(see: Any) -> GainRow:
    widget: GainRow = see(GainRow(), 540, 56)
    return widget


def told(row: GainRow) -> list[str]:
    return [cell.gain.spoken for cell in row.cells]


def test_three_numbers(gains: GainRow) -> None:
    gains.show_gains(falling(scores()), falling(scores(), "1:N"), 8)
    assert told(gains) == [
        "TAR @ FAR 1e-3, 1:1: 0.961 from 0.950 +0.011 [+0.005, +0.016]",
        "TPIR @ FPIR 1 %, 1:N: 0.961 from 0.950 +0.011 [+0.005, +0.016]",
        "Relative error, 1:1: −21.3 % [−31.3, −20.3]",
    ]
    assert [cell.gain.ink for cell in gains.cells] == ["good"] * 3, "fewer errors are good"
    assert all(cell.accessibleDescription() == cell.gain.spoken for cell in gains.cells)
    assert not picture(gains).isNull()


def test_a_difference_that_may_be_none_has_no_colour(gains: GainRow) -> None:
    found = falling(scores())
    wide = replace(found, gain=Band(found.gain.value, found.gain.value - 1, found.gain.value + 1))
    worse = replace(found, gain=Band(-found.gain.value, -found.gain.value * 2, -found.gain.value / 2))
    gains.show_gains(wide, worse, 8)
    assert [cell.gain.ink for cell in gains.cells] == ["text2", "bad", "good"]


def test_numbers_that_are_not_there_say_why(gains: GainRow) -> None:
    gains.show_gains(broken(slice(8, 9)), None, 8, why="being worked out")
    assert told(gains) == [
        "TAR @ FAR 1e-3, 1:1: n/a cannot be told from the pairs left",
        "TPIR, 1:N: n/a being worked out",
        "Relative error, 1:1: −21.3 % [−31.3, −20.3]",
    ]
    weak = Measure(0.03, why="no support: 40 impostor pairs", supported=False)
    gains.show_gains(replace(falling(scores()), area=weak), None, 8)
    assert told(gains)[0].endswith("n/a no support: 40 impostor pairs") and "no support" in told(gains)[2]
    found = falling(scores())
    perfect = replace(found, error=Band(found.error.value * 0, found.error.low * 0, found.error.high * 0))
    gains.show_gains(perfect, None, 8)
    assert told(gains)[2].endswith("n/a there was no error to begin with")
    gains.show_gains(found, None, 0)
    assert told(gains)[0] == "TAR @ FAR 1e-3, 1:1: 0.950 nothing is refused"


def test_both_themes(variance: VarianceChart, risk: RiskChart) -> None:
    app = QApplication.instance()
    assert isinstance(app, QApplication)
    try:
        for scheme, look in (("light", theme.LIGHT), ("dark", theme.DARK)):
            theme.apply(app, scheme)  # type: ignore[arg-type]
            for widget in (variance, risk):
                image = picture(widget)
                assert image.pixelColor(2, image.height() - 3).name() == look.base
            image = picture(risk)
            drawn = {image.pixelColor(x, y).name() for x in range(50, 500, 3) for y in range(30, 220)}
            assert look.accent in drawn
    finally:
        theme.apply(app, "dark")


def test_a_gain_without_room_drops_its_noughts(qapp: QApplication) -> None:
    assert gain_row._fitted("+0.029 [+0.017, +0.040]", 10) == "+.029 [+.017, +.040]"
    assert gain_row._fitted("from 10.799", 1) == "from 10.799"
    assert gain_row._fitted("from 0.799", 1000) == "from 0.799"
