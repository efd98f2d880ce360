"""What an ensemble says about a gallery, on three pages: two scores of every face, whose enrolment is weak, who the
members are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QImage, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from facelens.analyses.measure import Measure
from facelens.analyses.rejection import Recognition
from facelens.analyses.uncertainty import Member, Size, Uncertainty
from facelens.images.faceset import FaceSet
from facelens.session.selection import Mode, Selection
from facelens.views import dots, theme
from facelens.views.members_page import MembersPage
from facelens.views.panel import Desk
from facelens.views.plots import Mark
from facelens.views.score_scatter import ScoreScatter
from facelens.views.weak_identities import COLUMN, HEADINGS, WeakIdentities

LEFT = Qt.MouseButton.LeftButton
SHIFT, CTRL, NONE = (
    Qt.KeyboardModifier.ShiftModifier,
    Qt.KeyboardModifier.ControlModifier,
    Qt.KeyboardModifier.NoModifier,
)


class Heard(list[Any]):
    """What a signal said, one entry a time."""

    def __init__(self, signal: Any) -> None:
        super().__init__()
        signal.connect(lambda *values: self.append(values if len(values) > 1 else values[0]))


@pytest.fixture
def faces(desk: Desk, load: Callable[..., None], tiny_faces: Path) -> FaceSet:
    """Four people with three pictures each."""
    load(tiny_faces, check=False)
    assert desk.workspace.faces is not None
    return desk.workspace.faces


@pytest.fixture
def shown(desk: Desk, pump: Callable[..., None]) -> Iterator[Callable[..., Any]]:
    """Function: a page in a window of its own."""
    made: list[QWidget] = []

    def show(cls: type, width: int = 845, height: int = 380) -> Any:
        page = cls(desk.thumbnails if cls is ScoreScatter else desk)
        page.resize(width, height)
        page.show()
        page.activateWindow()
        made.append(page)
        pump()
        return page

    yield show
    for page in made:
        page.close()
        page.deleteLater()
    pump()


def drag(widget: QWidget, start: QPoint, end: QPoint, *, held: Qt.KeyboardModifier = NONE) -> None:
    QTest.mousePress(widget, LEFT, held, start)
    for share in (0.3, 0.7, 1.0):
        QTest.mouseMove(widget, start + (end - start) * share)
    QTest.mouseRelease(widget, LEFT, held, end)


# Scatter

X = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, np.nan, 0.55])
Y = np.array([0.9, 0.8, 0.75, 0.7, 0.6, 0.5, 0.45, 0.3, 0.2, 0.1, 0.65, 0.35])
RIGHT = np.array([0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1], np.int8)


def recognition(faces: FaceSet) -> Recognition:
    n = len(faces)
    return Recognition(
        RIGHT, faces.ids, np.zeros(n), faces.ids, np.zeros(n), np.zeros(n, np.float32), threshold=0.4, rule="pairs"
    )


@pytest.fixture
def scatter(shown: Callable[..., ScoreScatter], faces: FaceSet) -> ScoreScatter:
    page = shown(ScoreScatter)
    page.show_scores(faces, faces.ids, X, Y, x_name="quality", y_name="variance", recognition=recognition(faces))
    page.set_limit(0.72)
    return page


def dot(page: ScoreScatter, place: int) -> QPoint:
    spot = page._spot(place)
    assert spot is not None
    return spot.toPoint()


def height(page: ScoreScatter, value: float) -> QPoint:
    """A point of the line's handle, if the line were at `value`."""
    return QPoint(round(page._box().left()), round(float(page._to_py(value))))


def test_scatter_says_how_the_scores_go_together(scatter: ScoreScatter, faces: FaceSet) -> None:
    said = scatter.sentence()
    assert said.startswith("Spearman −0.9") and "over 11 faces" in said and "higher quality, lower variance" in said
    scatter.show_scores(faces, faces.ids, X, -Y, x_name="quality", y_name="variance")
    assert "higher quality, higher variance" in scatter.sentence()
    rng = np.random.default_rng(3)
    scatter.show_scores(faces, faces.ids, X, rng.permutation(Y), x_name="quality", y_name="variance")
    assert scatter.sentence().endswith("no order is shown")
    scatter.show_scores(faces, faces.ids, np.ones(12), Y, x_name="quality", y_name="variance")
    assert scatter.sentence() == "Spearman n/a: all faces have the same value"


def test_scatter_counts_what_the_line_refuses(scatter: ScoreScatter) -> None:
    assert scatter.refused == 3
    scatter.set_limit(0.62)
    assert scatter.refused == 5, "the face without the other score is refused too"
    scatter.set_limit(None)
    assert scatter.refused == 0 and "nothing refused" in scatter.accessibleDescription()


def test_scatter_line_is_dragged_and_typed(scatter: ScoreScatter) -> None:
    moved, settled = Heard(scatter.limit_moved), Heard(scatter.limit_settled)
    drag(scatter, height(scatter, 0.72), height(scatter, 0.4))
    assert len(moved) >= 2 and settled == [moved[-1]] and moved[-1] == pytest.approx(0.4, abs=0.01)
    assert scatter.refused == 8
    QTest.keyPress(scatter, Qt.Key.Key_Up)
    assert moved[-1] > settled[0] and len(settled) == 1
    QTest.keyRelease(scatter, Qt.Key.Key_Up)
    assert settled[1:] == [moved[-1]]
    step = moved[-1] - settled[0]
    QTest.keyClick(scatter, Qt.Key.Key_Down, SHIFT)
    assert scatter.limit == pytest.approx(settled[1] - 10 * step)
    before = len(moved)
    scatter.set_limit(0.5)
    assert len(moved) == before, "what is set from outside is not said again"


def test_scatter_line_at_the_top_can_be_pulled_down(scatter: ScoreScatter) -> None:
    scatter.set_limit(np.inf)
    settled = Heard(scatter.limit_settled)
    drag(scatter, height(scatter, scatter._whole.high), height(scatter, 0.5))
    assert settled == [pytest.approx(0.5, abs=0.01)]


def test_scatter_click_looks_at_a_face_and_hover_tells_of_it(
    scatter: ScoreScatter, faces: FaceSet, until: Callable[..., None]
) -> None:
    looked, chosen = Heard(scatter.look), Heard(scatter.select)
    QTest.mouseMove(scatter, dot(scatter, 7))
    until(lambda: scatter._card.isVisible(), "the card")
    assert scatter._card._name == faces.label(7) and ("quality", "0.800") in scatter._card._lines
    QTest.mouseClick(scatter, LEFT, NONE, dot(scatter, 7))
    assert looked == [int(faces.ids[7])]
    assert chosen[0][0].tolist() == [int(faces.ids[7])] and chosen[0][1] is Mode.REPLACE
    assert not scatter._card.isVisible()
    QTest.mouseClick(scatter, LEFT, CTRL, dot(scatter, 5))
    assert chosen[1][1] is Mode.TOGGLE
    QTest.mouseClick(scatter, LEFT, NONE, QPoint(round(scatter._box().right()) - 5, round(scatter._box().top()) + 5))
    assert len(chosen[2][0]) == 0 and len(looked) == 2, "a click on the ground selects nothing"


def test_scatter_brush_selects_what_is_inside(scatter: ScoreScatter, faces: FaceSet) -> None:
    chosen = Heard(scatter.select)
    drag(scatter, dot(scatter, 4) + QPoint(-12, -12), dot(scatter, 6) + QPoint(12, 12))
    assert set(chosen[0][0].tolist()) == set(faces.ids[[4, 5, 6]].tolist()) and chosen[0][1] is Mode.REPLACE
    drag(scatter, dot(scatter, 8) + QPoint(-12, -12), dot(scatter, 8) + QPoint(12, 12), held=SHIFT)
    assert chosen[1][0].tolist() == [int(faces.ids[8])] and chosen[1][1] is Mode.ADD


def test_scatter_walks_by_keys(scatter: ScoreScatter, faces: FaceSet) -> None:
    scatter.set_selection(Selection(current=int(faces.ids[2])))
    looked = Heard(scatter.look)
    QTest.keyClick(scatter, Qt.Key.Key_Right)
    assert faces.label(3) in scatter.accessibleDescription() and "0.700" in scatter.accessibleDescription()
    QTest.keyClick(scatter, Qt.Key.Key_Return)
    assert looked == [int(faces.ids[3])]


def test_scatter_zooms_at_the_pointer_and_back(scatter: ScoreScatter) -> None:
    whole, at = scatter._view, dot(scatter, 5)
    where = QPointF(at)
    event = QWheelEvent(
        where, scatter.mapToGlobal(where), QPoint(), QPoint(0, 240), LEFT & ~LEFT, NONE, Qt.ScrollPhase.NoScrollPhase,
        False,
    )  # fmt: skip
    QApplication.sendEvent(scatter, event)
    assert scatter._view.right - scatter._view.left < whole.right - whole.left
    assert (dot(scatter, 5) - at).manhattanLength() <= 2
    QTest.keyClick(scatter, Qt.Key.Key_F)
    assert scatter._view == whole


def colours(page: QWidget, spot: QPoint, reach: int = 3) -> list[QColor]:
    image: QImage = page.grab().toImage()
    return [image.pixelColor(spot + QPoint(x, y)) for x in range(-reach, reach + 1) for y in range(-reach, reach + 1)]


def nearest(page: QWidget, spot: QPoint, colour: str) -> int:
    """How close a pixel around a spot comes to a colour."""
    want = QColor(colour)
    return min(
        abs(c.red() - want.red()) + abs(c.green() - want.green()) + abs(c.blue() - want.blue())
        for c in colours(page, spot)
    )


def test_scatter_refused_faces_are_lighter_and_wrong_ones_are_crosses(scatter: ScoreScatter) -> None:
    now = theme.current()
    assert nearest(scatter, dot(scatter, 4), now.good) < 60 < nearest(scatter, dot(scatter, 1), now.good)
    scatter.set_limit(None)
    assert nearest(scatter, dot(scatter, 1), now.good) < 60
    assert nearest(scatter, dot(scatter, 0), now.bad) < 60
    assert nearest(scatter, dot(scatter, 11), now.text3) < 60
    disc, cross = (dots.stamp(shape, 1.0) for shape in ("disc", "cross"))
    middle = len(cross) // 2
    assert cross[middle + 2, middle + 2] > 0.5 > cross[middle + 3, middle] and disc[middle + 2, middle] > 0.5


def test_scatter_rings_the_selection(scatter: ScoreScatter, faces: FaceSet) -> None:
    assert nearest(scatter, dot(scatter, 4) + QPoint(4, 0), theme.current().accent) > 60
    scatter.set_selection(Selection(faces.ids[4:5]))
    assert nearest(scatter, dot(scatter, 4) + QPoint(4, 0), theme.current().accent) < 60


def test_many_dots_get_denser_not_other(scatter: ScoreScatter) -> None:
    place, grey = np.full(1000, 20.0), QColor("#808080")
    one, many = (
        dots.picture([dots.Dots(place[:n], place[:n], "disc", grey, 0.1)], 40, 40).pixelColor(20, 20).alphaF()
        for n in (1, 1000)
    )
    assert one == pytest.approx(0.1, abs=0.01) and many > 0.99


@pytest.mark.parametrize("n", [0, 1])
def test_scatter_without_much_to_show(shown: Callable[..., ScoreScatter], faces: FaceSet, n: int) -> None:
    page = shown(ScoreScatter, 420, 200)
    page.show_scores(faces, faces.ids[:n], X[:n], Y[:n], x_name="quality", y_name="variance")
    page.set_limit(0.5)
    page.grab()
    assert page.refused == n and page.sentence().startswith("Spearman n/a")
    for key in (Qt.Key.Key_Left, Qt.Key.Key_Up, Qt.Key.Key_Return, Qt.Key.Key_F):
        QTest.keyClick(page, key)
    drag(page, QPoint(100, 80), QPoint(200, 120))
    page.show_nothing("Choose another score.")
    page.grab()
    assert page.accessibleDescription() == "Choose another score."


def test_scatter_of_a_score_that_refuses_low_values(scatter: ScoreScatter, faces: FaceSet) -> None:
    quality = 1 - Y  # a low one is refused
    scatter.show_scores(faces, faces.ids, X, -quality, x_name="sharpness", y_name="quality", lower=True)
    scatter.set_limit(-0.28)
    assert "refuse below 0.280 p25 · 3 faces refused" in scatter.accessibleDescription()
    assert "higher sharpness, higher quality" in scatter.sentence()
    assert scatter._words(9)[0] == ("quality", "0.900 · p96")


# Identities

VARIANCE = np.array([0.1, 0.2, 0.3, 0.5, 0.6, 0.7, 0.2, 0.8, 0.9, 0.1, 0.1, 0.43])  # three pictures of each


@pytest.fixture
def weak(shown: Callable[..., WeakIdentities], faces: FaceSet) -> WeakIdentities:
    page = shown(WeakIdentities)
    page.show_faces(faces, faces.ids, VARIANCE, recognition(faces))
    return page


def listed(page: WeakIdentities) -> list[str]:
    return [page.text(row, "person") for row in range(len(page.order))]


def cell(page: WeakIdentities, row: int, key: str) -> QPoint:
    return page.visualRect(page.model().index(row, COLUMN[key])).center()


def thumbnail(page: WeakIdentities, row: int, place: int) -> QPoint:
    box = QRectF(page.visualRect(page.model().index(row, 0)))
    return page._face_box(box, place).center().toPoint()


def heading(page: WeakIdentities, key: str) -> None:
    head = page.horizontalHeader()
    x = head.sectionViewportPosition(COLUMN[key]) + head.sectionSize(COLUMN[key]) // 2
    QTest.mouseClick(head.viewport(), LEFT, NONE, QPoint(x, head.height() // 2))


def test_identities_those_who_keep_least_come_first(weak: WeakIdentities) -> None:
    assert listed(weak) == ["Cy Diaz", "Bo Chen", "Di Eng", "Ada Byron"], "by mean, while nothing is refused"
    weak.set_limit(0.45)
    assert listed(weak) == ["Bo Chen", "Cy Diaz", "Di Eng", "Ada Byron"]
    assert [weak.text(row, "left") for row in range(4)] == ["none", "1", "3", "3"]
    assert weak.text(1, "refused") == "67 %" and weak.text(0, "mean") == "0.600 p62"
    assert weak.text(3, "right") == "2 of 3" and weak.text(2, "right") == "2 of 2"
    assert weak.summary() == "4 people: 1 keeps no picture, 1 only one"
    weak.set_limit(None)
    assert weak.summary() == "4 people, everybody keeps two pictures or more"


def test_identities_a_click_selects_a_person_and_looks_at_the_worst(weak: WeakIdentities, faces: FaceSet) -> None:
    chosen, looked = Heard(weak.select), Heard(weak.look)
    QTest.mouseClick(weak.viewport(), LEFT, NONE, cell(weak, 0, "mean"))
    assert set(chosen[0][0].tolist()) == set(faces.ids[6:9].tolist()) and chosen[0][1] is Mode.REPLACE
    assert looked == [int(faces.ids[8])]
    QTest.mouseClick(weak.viewport(), LEFT, SHIFT, thumbnail(weak, 1, 2))
    assert set(chosen[1][0].tolist()) == set(faces.ids[3:6].tolist()) and chosen[1][1] is Mode.ADD
    assert looked[1] == int(faces.ids[3]), "the third worst"


def test_identities_are_walked_and_asked_for_by_keys(weak: WeakIdentities, faces: FaceSet) -> None:
    chosen, only = Heard(weak.select), Heard(weak.only)
    weak.setFocus()
    QTest.keyClick(weak, Qt.Key.Key_Down)
    assert set(chosen[0][0].tolist()) == set(faces.ids[3:6].tolist())
    QTest.keyClick(weak, Qt.Key.Key_Return)
    QTest.mouseDClick(weak.viewport(), LEFT, NONE, cell(weak, 3, "left"))
    assert only == ["Bo_Chen", "Ada_Byron"], "as the gallery calls them"


def test_identities_are_sorted_by_heading_and_by_keys(weak: WeakIdentities) -> None:
    heading(weak, "person")
    assert listed(weak) == ["Ada Byron", "Bo Chen", "Cy Diaz", "Di Eng"]
    heading(weak, "person")
    assert listed(weak)[0] == "Di Eng"
    heading(weak, "highest")
    assert listed(weak) == ["Cy Diaz", "Bo Chen", "Di Eng", "Ada Byron"]
    QTest.keyClick(weak, Qt.Key.Key_R)
    assert listed(weak) == ["Ada Byron", "Di Eng", "Bo Chen", "Cy Diaz"]
    QTest.keyClick(weak, Qt.Key.Key_Left)
    assert weak.title(HEADINGS[COLUMN["mean"]]) == "mean ↓" and listed(weak)[0] == "Cy Diaz"
    heading(weak, "right")
    assert listed(weak)[0] == "Ada Byron", "one of three is wrong"


def test_identities_who_is_current_stays_so_when_the_list_is_sorted_anew(weak: WeakIdentities) -> None:
    QTest.mouseClick(weak.viewport(), LEFT, NONE, cell(weak, 0, "left"))
    assert listed(weak)[weak.currentIndex().row()] == "Cy Diaz"
    weak.set_limit(0.45)
    assert weak.currentIndex().row() == 1 and listed(weak)[1] == "Cy Diaz"


def test_identities_tint_who_is_selected_and_tell_of_a_face(
    weak: WeakIdentities, faces: FaceSet, until: Callable[..., None]
) -> None:
    spot, soft = cell(weak, 0, "left") + QPoint(-12, 12), theme.current().soft
    weak.set_selection(Selection(faces.ids[6:8]))
    partly = weak.viewport().grab().toImage().pixelColor(spot)
    weak.set_selection(Selection(faces.ids[6:9]))
    assert weak.viewport().grab().toImage().pixelColor(spot) == QColor(soft) != partly != QColor(theme.current().base)
    weak.set_limit(0.85)
    QTest.mouseMove(weak.viewport(), thumbnail(weak, 0, 0))
    until(lambda: weak._card.isVisible(), "the card")
    assert weak._card._lines == (("variance", "0.900 · refused"),)


def test_identities_give_up_columns_where_there_is_little_room(weak: WeakIdentities) -> None:
    def columns() -> list[str]:
        return [one.key for one in HEADINGS if not weak.isColumnHidden(COLUMN[one.key])]

    assert columns() == ["person", "pictures", "spread", "mean", "highest", "refused", "left", "right"]
    weak.resize(380, 200)
    assert columns() == ["person", "mean", "left", "right"]
    assert sum(weak.columnWidth(COLUMN[key]) for key in columns()) <= weak.viewport().width()


def test_identities_of_a_score_that_refuses_low_values(weak: WeakIdentities, faces: FaceSet) -> None:
    weak.show_faces(faces, faces.ids, VARIANCE - 1, score="quality", lower=True)
    weak.set_limit(-0.35)
    assert listed(weak)[0] == "Cy Diaz" and weak.text(0, "highest") == "0.100" and weak.text(0, "mean") == "0.367 p12"
    assert weak.title(HEADINGS[COLUMN["highest"]]) == "lowest" and weak.title(HEADINGS[COLUMN["spread"]]) == "quality"
    assert weak.isColumnHidden(COLUMN["right"]), "nobody was recognised yet"


def test_identities_of_nobody(weak: WeakIdentities, faces: FaceSet) -> None:
    weak.show_faces(None, np.zeros(0, np.int64), np.zeros(0))
    weak.set_limit(0.2)
    weak.grab()
    assert not len(weak.order) and "no enrolment" in weak._why
    for key in (Qt.Key.Key_Down, Qt.Key.Key_Return, Qt.Key.Key_Right, Qt.Key.Key_R):
        QTest.keyClick(weak, key)


# Members

NAMES = ("plain", "residual", "target")
ALONE = (Measure(0.90, 0.88, 0.92, n=500), Measure(0.96, 0.95, 0.97, n=500), Measure(0.93, 0.91, 0.95, n=500))
TOGETHER = Measure(0.97, 0.96, 0.98)


def ensemble(faces: FaceSet, *, members: int = 3, together: Measure = TOGETHER) -> Uncertainty:
    """Made up: member 1 is farther from the others than anybody, most of all on the last face."""
    apart = np.linspace(0.1, 0.4, len(faces), dtype=np.float32) * np.array([[0.5], [1.0], [0.7]], np.float32)
    made = [Member(NAMES[i], "net", 128, "ridge", "beats Procrustes", ALONE[i], Measure(0.002)) for i in range(2)]
    made.append(Member(NAMES[2], "", 64, "itself", "", ALONE[2]))
    sizes = [
        Size(n, kind, Measure(0.9 + 0.01 * n, 0.88, 0.96), Measure(0.7 + 0.01 * n, 0.6, 0.8), choices=3)
        for kind in ("D-T", "D-TGA")
        for n in (1, 2, 3)
    ]
    return Uncertainty(
        ids=faces.ids,
        variance=VARIANCE,
        apart=apart[:members],
        members=tuple(made[:members]),
        target=NAMES[2],
        mode="m2m",
        fitted_people=4,
        fitted_faces=12,
        shown_people=4,
        together=together,
        by="variance",
        values=VARIANCE,
        recognition=recognition(faces),
        sizes=tuple(sizes),
    )


@pytest.fixture
def page(shown: Callable[..., MembersPage], faces: FaceSet) -> MembersPage:
    made = shown(MembersPage)
    made.show_uncertainty(ensemble(faces))
    return made


def test_members_who_disagrees_about_the_current_face(page: MembersPage, faces: FaceSet) -> None:
    assert page.face.sentence() == "Click a face to see which member disagrees."
    page.set_selection(Selection(current=int(faces.ids[11])))
    assert page.face.sentence() == "residual disagrees most: 0.40 away from the others (p96)"
    page.set_selection(Selection(current=123))
    assert "not among those that are shown" in page.face.sentence()
    page.grab()


def test_members_two_are_as_far_from_each_other(page: MembersPage, faces: FaceSet) -> None:
    found = ensemble(faces, members=2)
    page.show_uncertainty(replace(found, apart=found.apart[[0, 0]]))
    page.set_selection(Selection(current=int(faces.ids[0])))
    assert page.face.sentence() == "plain and residual are 0.05 apart (p4)"


def test_members_one_without_a_vector_is_named(page: MembersPage, faces: FaceSet) -> None:
    found = ensemble(faces)
    apart = found.apart.copy()
    apart[0, 2] = np.nan
    page.show_uncertainty(replace(found, apart=apart))
    page.set_selection(Selection(current=int(faces.ids[2])))
    page.grab()
    assert page.face.sentence() == "plain has no vector of this face."


def test_members_a_bar_selects_the_faces_that_are_as_far(page: MembersPage, faces: FaceSet) -> None:
    page.set_selection(Selection(current=int(faces.ids[9])))
    chosen = Heard(page.select)
    QTest.mouseClick(page.face, LEFT, NONE, page.face._box(1).center().toPoint())
    assert set(chosen[0][0].tolist()) == set(faces.ids[9:].tolist()) and chosen[0][1] is Mode.REPLACE
    page.set_selection(Selection(current=int(faces.ids[11])))
    for _ in range(2):
        QTest.keyClick(page.face, Qt.Key.Key_Down)
    assert page.face.accessibleDescription().startswith("residual: 1 − cosine to the mean of the others is 0.400")
    QTest.keyClick(page.face, Qt.Key.Key_Return)
    assert chosen[1][0].tolist() == [int(faces.ids[11])]


def test_members_the_face_says_whether_it_is_refused(page: MembersPage, faces: FaceSet) -> None:
    page.set_selection(Selection(current=int(faces.ids[4])))
    spot = QPoint(20, round(page.face._side()) + 11)  # the foot of the face
    page.set_limit(0.59)
    assert nearest(page.face, spot, theme.current().warn) < 30
    page.set_limit(0.6)
    assert nearest(page.face, spot, theme.current().warn) > 60, "at the limit it is kept"


def test_members_table_ends_with_all_together_and_marks_the_best(page: MembersPage) -> None:
    table = page.members
    column = [table.text(row, 0) for row in range(4)]
    assert column == ["plain", "residual · best alone", "target", "together"] and table.marked == 1
    assert table.text(0, 4) == "0.0020" and table.text(3, 5) == "0.9700 [0.960, 0.980]"
    assert table.text(0, 3) == "ridge" and table.cell(0, 3).tip == "beats Procrustes"
    assert table.text(2, 3) == "the target" and table.text(2, 4) == "as alone" and table.text(2, 1) == "not known"


@pytest.mark.parametrize(
    ("together", "said"),
    [
        (Measure(0.97, 0.96, 0.98), ""),
        (Measure(0.955, 0.94, 0.97), "Together is 0.005 below residual alone; the intervals overlap."),
        (Measure(0.92, 0.91, 0.93), "Together is 0.040 below residual alone: leave weak members out."),
        (Measure.none("being worked out"), ""),
    ],
)
def test_members_warns_where_the_best_one_is_better(
    page: MembersPage, faces: FaceSet, together: Measure, said: str
) -> None:
    page.show_uncertainty(ensemble(faces, together=together))
    assert page.warning.text() == said and page.warning.isVisible() == bool(said)


def test_members_accuracy_against_their_number(page: MembersPage, faces: FaceSet) -> None:
    QTest.mouseClick(page.places.switch.button("sizes"), LEFT)
    chart = page.sizes
    assert [drawn.series.key for drawn in chart._drawn] == ["D-T", "D-TGA"] and chart.y_axis.short == "TAR"
    assert chart._drawn[0].y.tolist() == pytest.approx([0.91, 0.92, 0.93])
    assert chart._card_lines(Mark("D-TGA", 2)) == ("D-TGA · 3 members", "0.930 [0.880, 0.960]", "mean over 3 choices")
    QTest.mouseClick(page.task.button("1:N"), LEFT)
    assert chart._drawn[0].y.tolist() == pytest.approx([0.71, 0.72, 0.73]) and chart.y_axis.short == "TPIR"
    page.show_uncertainty(replace(ensemble(faces), sizes=()))
    assert not chart._drawn and "Worked out last" in chart._note


def test_members_query_update_is_shown_when_there_is_one(page: MembersPage) -> None:
    assert not page.places.switch.offers("update")
    page.show_update([("1:N", Measure(0.74, 0.70, 0.78), Measure(0.79, 0.75, 0.83))], old="small", new="large")
    assert page.places.key == "update" and page.updates.text(0, 2) == "0.7900 [0.750, 0.830]"
    assert [column.title for column in page.updates.model_.columns] == ["measure", "small", "large"]
    page.show_update([])
    assert page.places.key == "members"


def test_members_stand_under_each_other_where_there_is_little_room(page: MembersPage) -> None:
    assert page.parts.orientation() is Qt.Orientation.Horizontal
    page.resize(400, 380)
    assert page.parts.orientation() is Qt.Orientation.Vertical
