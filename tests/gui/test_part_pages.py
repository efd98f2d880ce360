"""What is known of the parts of a model: what moves them, how alike they are, what they are good for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget

from facelens.analyses.measure import Measure
from facelens.analyses.parts import Layout, Parts, Pool
from facelens.analyses.universal import Correlation, Curve, Effect, Fusion, Study, Without
from facelens.figures.part_words import words
from facelens.images.faceset import FaceSet, Labels
from facelens.session.selection import Mode, Selection
from facelens.views.cell_grid import CellGrid
from facelens.views.panel import Desk
from facelens.views.part_attributes import PartAttributes
from facelens.views.part_correlation import PartCorrelation, disagreeing
from facelens.views.part_page import PartPage
from facelens.views.part_recall import PartRecall
from facelens.views.plots import Chart, Mark
from tests.gui.evaluation.stub import gallery

LEFT, SHIFT = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.ShiftModifier
K, N = 4, 30
BLUR = np.arange(N) / 10
ROLES = [None, *["plain"] * 19, *["hat"] * 10]


def near(value: float, width: float = 0.05) -> Measure:
    return Measure(value, value - width, value + width, n=N)


def faces() -> FaceSet:
    return gallery(6, 5, blur=BLUR, role=Labels.of(ROLES))


def parts(given: FaceSet, kind: str = "slices", k: int = K) -> Parts:
    values = np.random.default_rng(1).random((N, k)).astype(np.float32)
    none = np.zeros(0, np.int64)
    return Parts(
        ids=given.ids,
        identity=given.identity.codes,
        layout=Layout(kind, k, 8, unit=False),
        rotation=None,
        length=values,
        values={"distance": values},
        spread={},
        pool=Pool(none, none, none.astype(bool), np.zeros((0, k), np.float32)),
    )


def study(k: int = K) -> Study:
    def effect(column: str, group: str, strength: list[Measure], bins: int, edges: list[float]) -> Effect:
        middle = np.arange(k * bins, dtype=np.float64).reshape(k, bins)
        found = tuple((strength * k)[:k])
        return Effect(column, group, N, found, np.array(edges), middle, np.stack([middle - 1, middle + 1], 2))

    moved = [near(0.1), near(-0.62), near(0.02), Measure.none("all faces have the same value")]
    alike = np.full((k, k), 0.5) + np.eye(k) / 2
    alike[0, 2:3] = alike[2:3, 0] = 0.7
    rates = np.linspace(0.4, 0.98, k)[None].repeat(2, 0)
    single = [Without(near(0.9), near(0.3 + 0.1 * (i % 4)), near(0.8 - 0.01 * i), near(0.5)) for i in range(k)]
    return Study(
        "distance",
        effects=(
            effect("role", "hat", [near(0.03)], 2, []),
            effect("blur", "", moved, 3, [0, 1, 2, 2.9]),
        ),
        correlation=Correlation(alike, near(0.53), alike / 4, near(0.13), near(0.51), near(0.12)),
        whole=(near(0.93), near(0.82)),
        without=tuple(single),
        curve=Curve((1, 5), rates, rates - 0.1, rates - 0.05, rates, orders=20, n=N),
        fusion=(Fusion("mean", "cosine", "", near(0.7)),),
        complete=True,
    )


@pytest.fixture
def shown(desk: Desk, pump: Callable[..., None]) -> Iterator[Callable[..., Any]]:
    """Function: a page with the study, or with another one."""
    made: list[QWidget] = []

    def show(cls: type[PartPage], found: Study | None = None, *, kind: str = "slices", k: int = K) -> Any:
        page = cls(desk)
        page.resize(1400, 230)
        page.show()
        page.activateWindow()
        made.append(page)
        given = faces()
        cut = parts(given, kind, k)
        page.show_study(given, cut, found or study(k), words("distance", cut.layout))
        pump()
        return page

    yield show
    for page in made:
        page.close()
        page.deleteLater()
    pump()


class Heard(list[Any]):
    """What a signal said, one entry a time."""

    def __init__(self, signal: Any) -> None:
        super().__init__()
        signal.connect(lambda *values: self.append(values if len(values) > 1 else values[0]))


def click(grid: CellGrid, row: int, part: int, held: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
    QTest.mouseClick(grid.viewport(), LEFT, held, grid.box(row, part).center().toPoint())


def at_bin(chart: Chart, place: float) -> QPoint:
    return QPoint(round(float(chart._px(place))), round(chart._box().center().y()))


# What moves the parts


def test_the_sentence_names_the_part_that_is_moved_most(shown: Callable[..., Any]) -> None:
    page = shown(PartAttributes)
    assert page.attribute == ("blur", ""), "the attribute that moves a part most comes first"
    assert page.sentence.text() == "blur moves slice 2 most: ρ = −0.62 [−0.67, −0.57]"
    click(page.matrix, 0, 0)
    assert page.sentence.text().startswith("role = hat is not shown to move any part; slice 4 comes nearest: 2 AUC − 1")
    assert page.matrix.lines(0, 1)[-1] == "the interval covers 0" and page.matrix.lines(1, 1)[-1] == ""
    assert "all faces have the same value" in page.matrix.lines(1, 3)[1]


def test_a_cell_makes_part_and_attribute_current(shown: Callable[..., Any]) -> None:
    page = shown(PartAttributes)
    chosen = Heard(page.part_chosen)
    click(page.matrix, 0, 2)
    assert chosen == [2] and page.attribute == ("role", "hat") and page.curve.aside.startswith("2 AUC − 1 = +0.03")
    click(page.matrix, -1, 3)
    assert chosen == [2, 3] and page.attribute == ("role", "hat"), "a head chooses the part alone"
    page.set_part(1)
    assert chosen == [2, 3] and page.matrix.part == 1, "what is set from outside is not said again"


def test_a_bin_selects_its_faces(shown: Callable[..., Any]) -> None:
    page = shown(PartAttributes)
    selected = Heard(page.select)
    QTest.mouseClick(page.curve.viewport(), LEFT, pos=at_bin(page.curve, 1.9))
    ids, mode = selected.pop()
    assert mode is Mode.REPLACE and ids.tolist() == faces().ids[(BLUR >= 1) & (BLUR < 2)].tolist()
    assert page._card(Mark("part", 1))[-1] == "10 faces"
    QTest.mouseClick(page.curve.viewport(), LEFT, pos=at_bin(page.curve, 2.5))
    assert len(selected.pop()[0]) == 10, "the last bin has both its ends"
    click(page.matrix, 0, 0)
    QTest.mouseClick(page.curve.viewport(), LEFT, pos=at_bin(page.curve, 1.5))
    assert selected.pop()[0].tolist() == faces().ids[20:].tolist(), "the faces of the group"
    QTest.mouseClick(page.curve.viewport(), LEFT, pos=at_bin(page.curve, 0.5))
    assert selected.pop()[0].tolist() == faces().ids[1:20].tolist(), "the others, but for those nobody named"


def test_keys_walk_the_cells_and_say_what_is_there(shown: Callable[..., Any]) -> None:
    page = shown(PartAttributes)
    chosen = Heard(page.part_chosen)
    page.matrix.setFocus()
    for key in (Qt.Key.Key_Down, Qt.Key.Key_Down, Qt.Key.Key_Right):
        QTest.keyClick(page.matrix, key)
    assert page.matrix.accessibleDescription().startswith("slice 2 · blur. ρ −0.62")
    QTest.keyClick(page.matrix, Qt.Key.Key_Return)
    assert chosen == [1]
    QTest.keyClick(page.matrix, Qt.Key.Key_Escape)
    assert page.matrix.accessibleDescription() == "2 attributes, 4 parts"


# How alike they are


def test_the_mean_stands_beside_its_control(shown: Callable[..., Any]) -> None:
    page = shown(PartCorrelation)
    assert (page.mean.text(), page.interval.text()) == ("0.530", "[0.480, 0.580]")
    assert "random rotation: 0.510" in page.control.text() and "null baseline" in page.control.text()
    assert page.sentence.text().startswith("slice 1 and slice 3 are most alike: r = 0.70")
    QTest.mouseClick(page.kind.button("slices"), LEFT)
    assert page.mean.text() == "0.130" and "rotation: 0.120" in page.control.text()
    assert page.matrix.lines(0, 2)[1] == "mean |r| 0.175"
    assert shown(PartCorrelation, kind="learned").control.isHidden(), "learned parts need no control"


@pytest.mark.parametrize(("held", "mode"), [(Qt.KeyboardModifier.NoModifier, Mode.REPLACE), (SHIFT, Mode.ADD)])
def test_a_cell_selects_the_faces_its_parts_disagree_on(
    shown: Callable[..., Any], held: Qt.KeyboardModifier, mode: Mode
) -> None:
    page = shown(PartCorrelation)
    chosen, selected = Heard(page.part_chosen), Heard(page.select)
    click(page.matrix, 2, 1, held)
    values = page.parts.values["distance"].astype(np.float64)
    z = (values - values.mean(0)) / values.std(0)
    wanted = page.parts.ids[np.argsort(-abs(z[:, 2] - z[:, 1]), kind="stable")[: N // 2]]
    assert chosen == [2] and page.matrix.other == 1
    (ids, how) = selected.pop()
    assert how is mode and ids.tolist() == wanted.tolist()
    click(page.matrix, 3, 3, held)
    assert chosen == [2, 3] and not selected, "a part agrees with itself"


def test_a_dot_is_its_face_and_keys_walk_those_apart(shown: Callable[..., Any]) -> None:
    page = shown(PartCorrelation)
    selected = Heard(page.select)
    far = disagreeing(*page._distances(page.part, page.other))
    QTest.mouseClick(page.cloud, LEFT, pos=page.cloud._spot(far[0]).toPoint())
    assert selected.pop()[0].tolist() == [page.parts.ids[far[0]]]
    page.cloud.setFocus()
    QTest.keyClick(page.cloud, Qt.Key.Key_Right)
    QTest.keyClick(page.cloud, Qt.Key.Key_Return)
    assert selected.pop()[0].tolist() == [page.parts.ids[far[1]]]
    page.set_selection(Selection(ids=np.sort(page.parts.ids[:3])))
    assert page.cloud._chosen.sum() == 3


def test_without_distances_the_dimensions_are_left(shown: Callable[..., Any]) -> None:
    found = study()
    assert found.correlation is not None
    lone = replace(found.correlation, centre=None, centre_mean=Measure.none("nobody has two faces"))
    page = shown(PartCorrelation, replace(found, correlation=lone))
    assert page.kind.value() == "slices" and page.mean.text() == "0.130"
    assert not page.kind.button("centre").isEnabled()
    assert page.kind.button("centre").toolTip() == "nobody has two faces"


# What they are good for


def test_a_bar_or_a_step_of_the_curve_chooses_its_part(shown: Callable[..., Any]) -> None:
    page = shown(PartRecall)
    chosen = Heard(page.part_chosen)
    click(page.bars, 0, 3)
    assert chosen == [3] and page.curve.ring == Mark("ordered", 3)
    QTest.mouseClick(page.curve.viewport(), LEFT, pos=page.curve._spot(Mark("ordered", 1)).toPoint())
    assert chosen == [3, 1] and page.bars.part == 1


def test_the_measure_and_k_are_switched(shown: Callable[..., Any]) -> None:
    page = shown(PartRecall)
    assert page.sentence.text() == "best alone: slice 4, 0.600; one less costs up to 0.030 (slice 1)"
    assert page.bars.lines(0, 3)[1:] == (
        "alone 0.600 [0.550, 0.650]",
        "all without it 0.900 [0.850, 0.950]",
        "all 4 parts 0.930 [0.880, 0.980]",
    )
    QTest.mouseClick(page.measure.button("recall"), LEFT)
    assert "costs up to 0.050 (slice 4)" in page.sentence.text()
    QTest.mouseClick(page.k.button("5"), LEFT)
    assert page.curve.y_axis.title.startswith("Recall@5")
    assert page.table.text(0, 0) == "mean" and page.table.text(0, 2).startswith("0.700")


def test_half_a_study_is_shown_as_far_as_it_goes(shown: Callable[..., Any]) -> None:
    page = shown(PartRecall, replace(study(), curve=None, fusion=(), complete=False))
    assert page.told == "" and page.bars.pairs and page.templates.isHidden()
    assert "being worked out" in page.curve.accessibleDescription()


# All of them


@pytest.mark.parametrize("cls", [PartAttributes, PartCorrelation, PartRecall])
def test_what_is_not_there_is_said(shown: Callable[..., Any], cls: type[PartPage]) -> None:
    page = shown(cls, Study("distance"))
    assert page.told == "being worked out"
    cut = parts(faces())
    why = Measure.none("nobody has a name")
    page.show_study(faces(), cut, Study("distance", whole=(why, why), complete=True), words("distance", cut.layout))
    assert {"PartAttributes": "no attributes", "PartRecall": "nobody has a name"}.get(cls.__name__, "") in page.told
    page.show_nothing("No model has vectors.")
    assert page.told == "No model has vectors."
    page.set_part(2)


@pytest.mark.parametrize("cls", [PartAttributes, PartCorrelation, PartRecall])
@pytest.mark.parametrize("k", [2, 64])
def test_few_and_many_parts_are_drawn(shown: Callable[..., Any], cls: type[PartPage], k: int) -> None:
    page = shown(cls, k=k)
    page.set_part(1)
    for size in ((1400, 230), (900, 400), (1100, 180)):
        page.resize(*size)
        assert not page.grab().isNull()
