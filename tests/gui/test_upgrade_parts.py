"""The parts of the Upgrade page by themselves: what they show, say and emit; what is undefined says why."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from facelens.analyses.crossing import Gain
from facelens.analyses.flips import GAINED, LOST
from facelens.analyses.measure import Measure
from facelens.analyses.same_class import same_class
from facelens.analyses.upgrade import Upgrade
from facelens.features.featureset import FeatureSet
from facelens.figures.verdict import Verdict, verdict
from facelens.images.faceset import FaceSet
from facelens.session.selection import Selection
from facelens.views import theme
from facelens.views.backfill_chart import BackfillChart
from facelens.views.cross_matrix import CrossMatrix
from facelens.views.direction_diagram import DirectionDiagram
from facelens.views.flip_cards import Card, FlipCards, pairs, searches
from facelens.views.gain_chart import GainChart
from facelens.views.panel import Desk
from facelens.views.same_class import SameClassView
from facelens.views.sequence_view import SequenceView
from facelens.views.thumbnails import Thumbnails
from facelens.views.verdict_bar import VerdictBar
from tests.gui.conftest import pump
from tests.gui.evaluation.stub import gallery
from tests.gui.parted import hover
from tests.gui.upgraded import PLAN, models, studied

FIVE = replace(PLAN, upper="upper", others=("mid", "wide"))


@pytest.fixture(scope="module")
def faces() -> FaceSet:
    return gallery(12, 4)


@pytest.fixture(scope="module")
def vectors(faces: FaceSet) -> dict[str, FeatureSet]:
    return models(faces)


@pytest.fixture(scope="module")
def found(faces: FaceSet, vectors: dict[str, FeatureSet]) -> Upgrade:
    """Old, new, upper, one between, and one of other dimensions."""
    return studied(faces, vectors, FIVE)


@pytest.fixture
def shown(leftovers: None) -> Iterator[Any]:
    """Function: a widget, shown at a size."""
    made: list[QWidget] = []

    def show(widget: QWidget, size: tuple[int, int] = (456, 260)) -> Any:
        made.append(widget)
        widget.resize(*size)
        widget.show()
        pump()
        return widget

    yield show
    for widget in made:
        widget.close()
        widget.deleteLater()
    made.clear()
    pump()


def heard(signal: Any) -> list[tuple[Any, ...]]:
    got: list[tuple[Any, ...]] = []
    signal.connect(lambda *values: got.append(values))
    return got


def click(view: QWidget, at: QPointF) -> None:
    QTest.mouseClick(view, Qt.MouseButton.LeftButton, pos=at.toPoint())


def picture(view: QWidget) -> bytes:
    image = view.grab().toImage()
    return bytes(image.constBits())


def both_themes(view: QWidget) -> None:
    """Painted in both, and not the same."""
    app = QApplication.instance()
    seen = []
    for scheme in ("light", "dark"):
        theme.apply(app, scheme)  # type: ignore[arg-type]
        pump()
        seen.append(picture(view))
    assert seen[0] != seen[1]


# The matrix


def test_a_cell_has_value_reason_and_errors(shown: Any, found: Upgrade) -> None:
    view = shown(CrossMatrix())
    assert "not worked out" in view.cells.accessibleDescription()
    view.show_matrix(found.matrix, FIVE)
    got = heard(view.picked)
    click(view.cells, view.cells.spots()["new", "old"].center())
    assert got == [("new", "old", "direct")]
    told = view.cells.told(("wide", "old"))
    assert any(line.startswith("TAR") and "n/a" in line and "dimensions" in line for line in told)
    click(view.cells, view.cells.spots()["wide", "old"].center())
    assert len(got) == 1, "there are no errors of a test that was not done"
    assert "chance" in " ".join(view.cells.told(("upper", "old")))
    said = view.cells.accessibleDescription()
    assert "new/old" in said and "upper/old chance" in said and "nan" not in said.lower()
    both_themes(view)


def test_the_matrix_is_walked_by_the_keyboard(shown: Any, found: Upgrade) -> None:
    view = shown(CrossMatrix())
    view.show_matrix(found.matrix, FIVE)
    view.cells.setFocus()
    got = heard(view.picked)
    for key in (Qt.Key.Key_Home, Qt.Key.Key_Down, Qt.Key.Key_Right, Qt.Key.Key_Return):
        QTest.keyClick(view.cells, key)
    assert got == [("new", "new", "self")]
    assert view.cells.accessibleDescription().startswith("new/new")
    QTest.keyClick(view.cells, Qt.Key.Key_Escape)
    assert view.cells.under is None


def test_the_matrix_scrolls_where_it_has_no_room_and_tasks_are_switched(shown: Any, found: Upgrade) -> None:
    view = shown(CrossMatrix(), (300, 110))
    view.show_matrix(found.matrix, FIVE)
    pump()
    least = min(box.height() for box in view.cells.spots().values())
    assert least > 15, "cells are never squeezed to nothing"
    got = heard(view.task)
    view.choice.button("1:N").click()
    assert got == [("1:N",)]
    view.show_matrix(found.matrix, replace(FIVE, task="1:N"))
    assert "TPIR" in view.header.subtitle()


# Gains


def test_a_gain_shows_its_formula_until_it_is_let_go(shown: Any, found: Upgrade) -> None:
    view = shown(GainChart(), (456, 160))
    view.show_gains(found.matrix, FIVE)
    rows = view.rows
    performance = rows.gains[0]
    click(rows, rows.spots()["performance"].center())
    told = rows.told("performance")
    assert told[1].startswith("new/new − old/old = ") and told[3].startswith("100 × (")
    value = performance.percent.value
    assert value == pytest.approx(100 * performance.got.value / abs(performance.possible.value))
    assert f"{value:+.1f} %" in told[3].replace("−", "-")
    QTest.keyClick(rows, Qt.Key.Key_Escape)
    assert "Click or Enter: the formula." in rows.told("performance")
    both_themes(view)


def test_gains_without_support_say_nothing_and_far_ones_stay_on_the_axis(shown: Any) -> None:
    unknown = Measure.none("there is no upper model to compare with")
    far = Measure(-1600.0, low=-3000.0, high=200.0)
    gains = (
        Gain("performance", "1:1", unknown, Measure(0.1), unknown, telling=False),
        Gain("direct", "1:1", far, Measure(-0.2, low=-0.3, high=0.1), Measure(0.01, low=-0.1, high=0.1), telling=False),
    )
    view = shown(GainChart(), (456, 160)).rows
    view.show_gains(gains)
    view.grab()
    assert "n/a: there is no upper model" in view.told("performance")[1]
    assert view.told("direct")[2].startswith("not telling: upper − old is ")
    low, high = view.limits()
    assert low > -200 and high < 300 and not view.rail().holds(-1600)


def test_without_an_upper_model_the_chart_offers_to_choose_one(shown: Any, found: Upgrade) -> None:
    view = shown(GainChart(), (456, 160))
    view.show_gains(found.matrix, replace(FIVE, upper=""))
    got = heard(view.choose_upper)
    assert view.choose.isVisible()
    view.choose.click()
    view.allow(False)
    assert got == [()] and not view.choose.isEnabled() and "No third model" in view.choose.toolTip()


# Directions and sequence


def test_directions_say_why_there_is_none_and_the_others_can_be_meant(
    shown: Any, faces: FaceSet, vectors: dict[str, FeatureSet], found: Upgrade
) -> None:
    view = shown(DirectionDiagram(), (456, 150))
    view.show_directions(found.matrix, FIVE)
    got = heard(view.direction)
    assert "no transform T21" in view.accessibleDescription()
    click(view, view.spots()["backward"].center())
    click(view, view.spots()["direct"].center())
    assert got == [], "one cannot be had, the other is meant already"
    tests = tuple(replace(one, direction="backward") for one in found.matrix.tests if one.direction == "direct")
    view.show_directions(replace(found.matrix, tests=(*found.matrix.tests, *tests)), FIVE)
    click(view, view.spots()["backward"].center())
    assert got == [("backward",)]
    both_themes(view)


def test_a_sequence_lists_neighbours_with_what_cannot_be_said(shown: Any, found: Upgrade) -> None:
    view = shown(SequenceView(), (456, 200))
    view.show_sequence(found.matrix, FIVE)
    assert [(one.low, one.high) for one in view.bounds] == [("old", "mid"), ("mid", "wide"), ("wide", "new")]
    said = view.accessibleDescription()
    assert "old → mid" in said and "dimensions" in said and "nan" not in said.lower()
    got = heard(view.picked)
    click(view, next(iter(view.spots().values())).center())
    assert got == [("mid", "old", "direct")]
    both_themes(view)
    view.show_sequence(replace(found.matrix, bounds=()), FIVE, why="one model only")
    assert view.accessibleDescription() == "one model only"


# Backfill


def test_the_line_of_the_backfill_is_moved_by_keys_and_says_what_it_reaches(shown: Any, found: Upgrade) -> None:
    view = shown(BackfillChart(), (456, 250))
    view.show_backfill(found.backfill, FIVE, share=0.33)
    assert view.chart._decision_text[0].startswith("30 % reaches"), "what is known, not what lies between"
    shares, orders, exports = heard(view.share), heard(view.order), heard(view.export_order)
    view.chart.setFocus()
    QTest.keyClick(view.chart, Qt.Key.Key_Right)
    assert shares[-1][0] == pytest.approx(0.4)
    value = found.backfill.orders[0].value["1:1"][4]
    assert f"{value:.4f}" in view.chart._decision_text[0]
    QTest.keyClick(view.chart, Qt.Key.Key_Down)
    assert orders == [(found.backfill.orders[1].name,)]
    view.export.click()
    assert exports == [()]
    both_themes(view)


def test_a_backfill_that_is_not_there_says_why(shown: Any, found: Upgrade) -> None:
    view = shown(BackfillChart(), (456, 250))
    view.show_backfill(None, FIVE, why="the two cannot be compared")
    assert not view.export.isEnabled()
    assert "cannot be compared" in view.chart.accessibleDescription()
    gone = {task: np.full_like(curve, np.nan) for task, curve in found.backfill.orders[0].value.items()}
    none = replace(found.backfill.orders[0], value=gone, low=gone, high=gone)
    view.show_backfill(replace(found.backfill, orders=(none,)), FIVE, share=0.5)
    view.grab()
    assert "nan" not in view.chart.accessibleDescription().lower()


# Verdict


def test_the_verdict_has_the_tone_of_its_evidence_and_never_more(shown: Any, found: Upgrade) -> None:
    bar = shown(VerdictBar(), (1440, 60))
    assert bar.tone == "line2" and not bar.copy.isVisible()
    said = verdict(found)
    bar.show_verdict(said, ["People are divided."])
    assert bar.tone == {"good": "good", "bad": "bad", "open": "text3"}[said.tone]
    bar.copy.click()
    assert QGuiApplication.clipboard().text() == f"{said.sentence}\n{said.evidence}"
    bar.caveats.click()
    assert bar.card.isVisible() and "People are divided." in bar.card.accessibleDescription()
    QTest.keyClick(bar.card, Qt.Key.Key_Escape)
    bar.card.hide()
    for tone, token in (("good", "good"), ("bad", "bad"), ("open", "text3")):
        bar.show_verdict(Verdict(tone, "s", "e", ()))
        assert bar.tone == token and not bar.caveats.isVisible()
    bar.show_working("half way", share=0.5)
    assert bar.bar.isVisible() and bar.bar.value() == 50


def test_a_long_verdict_is_wrapped_not_cut(shown: Any) -> None:
    bar = shown(VerdictBar(), (620, 60))
    bar.show_verdict(Verdict("open", "a sentence that is long " * 8, "its evidence " * 20, ("one",)))
    assert bar.heightForWidth(620) > 90 or bar.sizeHint().height() > 90


# Flip cards


@pytest.fixture
def cards(shown: Any, desk: Desk, faces: FaceSet) -> Iterator[FlipCards]:
    desk.store.update(faces=faces)
    made = shown(FlipCards(desk), (700, 180))
    yield made
    made.close_panel()


def test_cards_say_who_was_found_and_how_the_margin_changed(cards: FlipCards, found: Upgrade, desk: Desk) -> None:
    flips = found.flips
    cards.show_flips(searches(flips, GAINED))
    first = cards.flips[0]
    place = int(flips.gained[0])
    assert first.face == flips.searches.ids[place]
    assert [ruling for _, rulings in first.others for ruling in rulings] == [("A", False), ("B", True)]
    assert first.told[1][1].startswith("+") and first.good
    moved = [float(card.told[1][1].replace("−", "-")) for card in cards.flips]
    assert moved == sorted(moved, reverse=True)
    assert all(not card.good for card in searches(flips, LOST))
    assert "1 of" in cards.accessibleDescription()
    both_themes(cards)


def test_pairs_have_one_other_face_and_lost_ones_come_first(cards: FlipCards, found: Upgrade) -> None:
    made = pairs(found.flips)
    lost = int((found.flips.pairs.change == LOST).sum())
    assert [card.good for card in made] == [False] * lost + [True] * (len(made) - lost)
    assert made[0].others[0][1] == (("A", True), ("B", False))
    cards.show_flips(made)
    cards.grab()


def test_cards_are_walked_selected_and_explained(cards: FlipCards, found: Upgrade, desk: Desk) -> None:
    made = pairs(found.flips)
    cards.show_flips(made)
    cards.setFocus()
    got = heard(cards.explained)
    click(cards, cards.card(1).center())
    assert desk.workspace.selection.pair == (made[1].face, made[1].other)
    QTest.keyClick(cards, Qt.Key.Key_Right)
    assert desk.workspace.selection.current == made[2].face
    QTest.keyClick(cards, Qt.Key.Key_Down)
    assert desk.workspace.selection.current == made[2 + cards.columns].face
    QTest.keyClick(cards, Qt.Key.Key_Return)
    assert got == [(made[2 + cards.columns].face, made[2 + cards.columns].other)]
    QTest.keyClick(cards, Qt.Key.Key_Home)
    other = next(place for place in range(cards.columns) if made[place].face != made[0].face)
    at = cards.card(other).center().toPoint()
    QTest.mouseClick(cards, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.ControlModifier, at)
    assert made[other].face in desk.workspace.selection and len(desk.workspace.selection) == 2


def test_a_face_under_the_pointer_tells_its_scores(cards: FlipCards, found: Upgrade) -> None:
    cards.show_flips(searches(found.flips, GAINED))
    hover(cards, QPointF(cards.card(0).topLeft()) + QPointF(30, 30))
    assert cards.hovered == cards.flips[0].face
    assert cards.lines(cards.flips[0].face)[0][0] == "mate"


def test_no_card_one_card_and_many(cards: FlipCards, faces: FaceSet) -> None:
    cards.show_flips((), why="no search was lost")
    assert cards.accessibleDescription() == "no search was lost"
    QTest.keyClick(cards, Qt.Key.Key_Right)
    QTest.keyClick(cards, Qt.Key.Key_Return)
    others = (-1, (("A", True),)), (int(faces.ids[1]), (("B", False),))
    one = Card(int(faces.ids[0]), others, (("mate", "x"), ("margin", "y")), False)
    cards.show_flips((one,))
    cards.grab()
    cards.show_flips([one] * 20_000)
    cards.grab()
    assert cards.bar.maximum() > 100_000
    assert cards.ids().tolist() == [one.face]


# The same people


def test_the_same_people_have_one_scale_and_d_pw_in_the_title(
    shown: Any, faces: FaceSet, vectors: dict[str, FeatureSet]
) -> None:
    thumbnails = Thumbnails(threads=1)
    view = shown(SameClassView(thumbnails), (700, 300))
    view.show_class(faces, None, why="nobody to show")
    assert view.accessibleDescription() == "nobody to show"
    ids = faces.ids[:12]
    made = same_class(vectors, "old", ("new", "mid"), ids)
    view.show_class(faces, made)
    unit = {name: vectors[name].unit(ids)[0] for name in ("old", "new")}
    d_pw = float(((unit["old"] - unit["new"]) ** 2).sum(1).mean())
    assert f"new: d_pw {d_pw:.3f}" in view.accessibleDescription()
    spread = [np.ptp(view._to_px(made.points, side), axis=0) for side in range(2)]
    assert spread[0] == pytest.approx(spread[1]), "both sides can be compared"
    looked, opened = heard(view.look), heard(view.open_face)
    at = view._to_px(made.upgrades[1].points, 1)[3]
    QTest.mouseClick(view, Qt.MouseButton.LeftButton, pos=QPoint(round(at[0]), round(at[1])))
    assert looked[-1][0] in ids.tolist()
    view.set_selection(Selection(current=int(ids[0])))
    view.setFocus()
    QTest.keyClick(view, Qt.Key.Key_Right)
    assert looked[-1] == (int(ids[1]),)
    QTest.keyClick(view, Qt.Key.Key_E)
    assert opened == [(int(ids[0]),)]
    both_themes(view)
    one = same_class(vectors, "old", ("new",), ids[:1])
    view.show_class(faces, one)
    view.grab()
    thumbnails.close()
