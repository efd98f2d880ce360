"""The matrix of faces and parts: orders, what mouse and keys ask for, what is told and painted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from PySide6.QtCore import QEvent, QPointF, Qt
from PySide6.QtGui import QMouseEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from facelens.analyses import parts
from facelens.analyses.parts import Layout
from facelens.figures.part_words import words
from facelens.images.faceset import FaceSet, Labels
from facelens.images.packed import Packed
from facelens.session.selection import Mode, Selection
from facelens.views import heat, theme
from facelens.views.panel import Desk
from facelens.views.part_matrix import PartMatrix
from facelens.views.part_table import ENOUGH, NARROW, ROW, WIDE, Seats

NONE = Qt.KeyboardModifier.NoModifier
CTRL = Qt.KeyboardModifier.ControlModifier
SHIFT = Qt.KeyboardModifier.ShiftModifier
ALT = Qt.KeyboardModifier.AltModifier
LEFT = Qt.MouseButton.LeftButton
KEYS = Qt.Key
N, K = 200, 8
LEARNED = Layout("learned", K, 16, unit=True, head="learned")


def gallery(root: Path, count: int) -> FaceSet:
    """Made-up faces over one file: four people, the last face of nobody."""
    Image.new("RGB", (40, 40), (90, 60, 30)).save(root / "a.png")
    codes = (np.arange(count) % 4).astype(np.int32)
    codes[-1:] = -1
    identity = Labels(codes, ("Ada", "Bo", "Cy", "Di"))
    ids = np.random.default_rng(1).permutation(count) + (1 << 50)
    return FaceSet("g", root, Packed.of([b"a.png"]).take(np.zeros(count, np.int64)), identity, {}, None, ids)


def numbers(count: int = N, k: int = K) -> np.ndarray:
    return np.random.default_rng(2).normal(-3, 1, (count, k)).astype(np.float32)


def fill(
    matrix: PartMatrix, faces: FaceSet, values: np.ndarray, shown: str = "variance", layout: Layout = LEARNED
) -> None:
    spread = parts.spread(faces.ids, values)
    matrix.show_values(faces, faces.ids, values, spread, layout, words(shown, layout))


@pytest.fixture
def faces(tmp_path: Path) -> FaceSet:
    return gallery(tmp_path, N)


@pytest.fixture
def matrix(desk: Desk, faces: FaceSet) -> Iterator[PartMatrix]:
    """200 faces of 8 learned parts, which does what its signals ask for."""
    made = PartMatrix(desk)
    made.resize(578, 400)
    made.asked = []  # type: ignore[attr-defined]
    now = [Selection()]

    def choose(changed: Selection) -> None:
        now[0] = changed
        made.set_selection(changed)

    made.look.connect(lambda face: choose(now[0].looking_at(face)))
    made.select.connect(lambda ids, mode: choose(now[0].combine(ids, mode)))
    for name in ("part_chosen", "look", "select", "open_face", "ordered"):
        getattr(made, name).connect(lambda *what, name=name: made.asked.append((name, *what)))  # type: ignore[attr-defined]
    fill(made, faces, numbers())
    made.show()
    QApplication.processEvents()
    made.asked.clear()  # type: ignore[attr-defined]
    yield made
    made.close()
    made.deleteLater()


def asked(matrix: PartMatrix, name: str) -> list:
    return [what[0] if len(what) == 1 else what for kind, *what in matrix.asked if kind == name]  # type: ignore[attr-defined]


def click(matrix: PartMatrix, point: QPointF, held: Qt.KeyboardModifier = NONE, *, twice: bool = False) -> None:
    (QTest.mouseDClick if twice else QTest.mouseClick)(matrix.viewport(), LEFT, held, point.toPoint())


def head(matrix: PartMatrix, by: str | int, held: Qt.KeyboardModifier = NONE) -> None:
    click(matrix, matrix.head_box(by).center(), held)


def point_at(matrix: PartMatrix, point: QPointF) -> None:
    where = matrix.viewport().mapToGlobal(point)
    held = Qt.MouseButton.NoButton
    QApplication.sendEvent(matrix.viewport(), QMouseEvent(QEvent.Type.MouseMove, point, where, held, held, NONE))


def column(matrix: PartMatrix, faces: FaceSet, part: int) -> np.ndarray:
    """Values of a part as the faces are listed."""
    return numbers()[faces.rows_of(matrix.ids), part]


def selected(matrix: PartMatrix) -> list[int]:
    return matrix._selection.ids.tolist()


# Orders


def test_a_head_sorts_by_its_part_and_again_the_other_way_round(matrix: PartMatrix, faces: FaceSet) -> None:
    head(matrix, 5)
    assert (np.diff(column(matrix, faces, 5)) <= 0).all()
    assert matrix.order_words == "sorted by part 6, least sure first"
    assert asked(matrix, "part_chosen") == [5] and len(asked(matrix, "ordered")) == 1
    head(matrix, 5)
    assert (np.diff(column(matrix, faces, 5)) >= 0).all() and matrix.order_words.endswith("surest first")
    head(matrix, 2, SHIFT)
    assert (np.diff(column(matrix, faces, 2)) >= 0).all()
    head(matrix, 2, SHIFT)
    assert (np.diff(column(matrix, faces, 2)) <= 0).all()
    assert asked(matrix, "part_chosen") == [5, 2]


def test_names_and_means_sort_too(matrix: PartMatrix, faces: FaceSet) -> None:
    head(matrix, "face")
    codes = faces.identity.codes[faces.rows_of(matrix.ids)]
    assert (np.diff(codes[:-1]) >= 0).all() and codes[-1] == -1  # nobody comes last
    head(matrix, "face")
    assert faces.identity.codes[faces.rows_of(matrix.ids)][-1] == -1 and matrix.order_words.endswith("Z to A")
    head(matrix, "mean")
    assert (np.diff(numbers().mean(1)[faces.rows_of(matrix.ids)]) <= 1e-6).all()


def test_what_has_no_value_comes_last_in_both_directions(matrix: PartMatrix, faces: FaceSet) -> None:
    values = numbers()
    values[::10] = np.nan
    fill(matrix, faces, values, "distance")
    for descending in (True, False):
        matrix.set_order(3, descending)
        assert set(matrix.ids[-20:]) == set(faces.ids[::10])


def test_the_columns_have_orders_of_their_own(matrix: PartMatrix, faces: FaceSet) -> None:
    matrix.order_parts("mean", True)
    assert (np.diff(numbers().mean(0)[matrix.columns]) <= 0).all()
    matrix.set_selection(Selection(current=int(faces.ids[7])))
    matrix.menu.aboutToShow.emit()
    matrix.menu.parts["face"].trigger()
    assert (np.diff(numbers()[7, matrix.columns]) <= 0).all() and "columns as of Di" in matrix.order_words
    matrix.menu.turn_parts.trigger()
    assert (np.diff(numbers()[7, matrix.columns]) >= 0).all()
    before = matrix.columns.tolist()
    matrix.set_selection(Selection(current=int(faces.ids[8])))
    assert matrix.columns.tolist() == before  # columns stand still while one walks through faces
    click(matrix, matrix.cell_box(0, before[0]).center())
    assert asked(matrix, "part_chosen") == [before[0]]
    matrix.menu.parts["number"].trigger()
    assert matrix.columns.tolist() == list(range(K))


def test_the_menu_sorts_the_faces(matrix: PartMatrix) -> None:
    matrix.set_part(4)
    matrix.menu.aboutToShow.emit()
    assert matrix.menu.faces["part"].text() == "Faces by part 5" and not matrix.menu.parts["face"].isEnabled()
    matrix.menu.faces["part"].trigger()
    assert matrix.order_words == "sorted by part 5, least sure first"
    matrix.menu.turn_faces.trigger()
    assert matrix.order_words == "sorted by part 5, surest first"


def test_the_current_face_stays_in_sight_while_the_order_changes(matrix: PartMatrix) -> None:
    face = int(matrix.ids[2])
    matrix.set_selection(Selection(current=face))
    for by in (1, 3, "face"):
        matrix.set_order(by, True)
        assert matrix._place_of(face) in matrix._seen()
    matrix.verticalScrollBar().setValue(0 if matrix._place_of(face) > 100 else matrix.verticalScrollBar().maximum())
    matrix.set_order("mean", False)
    assert matrix.verticalScrollBar().value() == 0  # who was out of sight is not followed


def test_a_selection_from_elsewhere_moves_nothing(matrix: PartMatrix) -> None:
    matrix.verticalScrollBar().setValue(40)
    matrix.set_selection(Selection(matrix.ids[150:160], int(matrix.ids[155])))
    assert matrix.verticalScrollBar().value() == 40
    matrix.menu.bring.trigger()
    assert 155 in matrix._seen()


# Mouse and keys


def test_clicks_select_as_in_the_grid(matrix: PartMatrix) -> None:
    ids = matrix.ids
    click(matrix, matrix.face_box(2).center())
    assert selected(matrix) == [ids[2]] and matrix._selection.current == ids[2]
    click(matrix, matrix.face_box(4).center(), CTRL)
    assert selected(matrix) == sorted(ids[[2, 4]])
    click(matrix, matrix.face_box(6).center(), SHIFT)
    assert selected(matrix) == sorted(ids[4:7])
    click(matrix, matrix.face_box(1).center(), CTRL)
    click(matrix, matrix.face_box(2).center(), CTRL | SHIFT)
    assert selected(matrix) == sorted(ids[[1, 2, 4, 5, 6]])
    click(matrix, matrix.face_box(5).center(), ALT)
    assert selected(matrix) == sorted(ids[[1, 2, 4, 6]])
    assert asked(matrix, "part_chosen") == []
    click(matrix, matrix.cell_box(3, 6).center(), CTRL)
    assert asked(matrix, "part_chosen") == [6] and ids[3] in matrix._selection
    click(matrix, matrix.face_box(3).center(), twice=True)
    assert asked(matrix, "open_face") == [ids[3]]


def test_keys_walk_faces_and_parts(matrix: PartMatrix) -> None:
    ids, page = matrix.ids, matrix._body().height() // ROW
    matrix.setFocus()
    for key, held, place in (
        (KEYS.Key_Down, NONE, 0), (KEYS.Key_Down, NONE, 1), (KEYS.Key_PageDown, NONE, 1 + page),
        (KEYS.Key_Up, NONE, page), (KEYS.Key_End, NONE, N - 1), (KEYS.Key_Home, NONE, 0), (KEYS.Key_Down, SHIFT, 1),
    ):  # fmt: skip
        QTest.keyClick(matrix, key, held)
        assert matrix._selection.current == ids[place] and place in matrix._seen()
    assert selected(matrix) == sorted(ids[:2])
    QTest.keyClick(matrix, KEYS.Key_Down, CTRL)
    QTest.keyClick(matrix, KEYS.Key_Space)
    assert selected(matrix) == sorted(ids[:3]) and asked(matrix, "select")[-1][1] is Mode.TOGGLE
    for key in (KEYS.Key_Right, KEYS.Key_Right, KEYS.Key_Left):
        QTest.keyClick(matrix, key)
    assert asked(matrix, "part_chosen") == [1, 2, 1]
    QTest.keyClick(matrix, KEYS.Key_Return)
    assert asked(matrix, "open_face") == [ids[2]]
    QTest.keyClick(matrix, KEYS.Key_Escape)
    assert selected(matrix) == []


# What is told


def test_screen_readers_hear_the_cell(matrix: PartMatrix, faces: FaceSet) -> None:
    values = numbers()
    values[0, 2], values[1:, 2] = -2.9, np.linspace(-9, -3, N - 1)
    fill(matrix, faces, values)
    matrix.set_part(2)
    matrix.set_selection(Selection(faces.ids[:1], int(faces.ids[0])))
    said = matrix.accessibleDescription()
    assert said.startswith("Ada, part 3, log σ² −2.90, s 18.2, p100, mean ") and ", selected, " in said
    assert said.endswith("of 200, sorted by mean, least sure first")
    matrix.show_nothing("No model has vectors yet.")
    assert matrix.accessibleDescription() == "No model has vectors yet." and not len(matrix.ids)
    matrix.grab()


def test_hovering_tells_values_and_shows_who_it_is(
    matrix: PartMatrix, faces: FaceSet, until: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    from facelens.views import part_matrix

    told: list[str] = []
    monkeypatch.setattr(part_matrix, "paint_tag", lambda painter, box, text, *, room: told.append(text))
    values = numbers()
    values[0] = np.nan
    fill(matrix, faces, values, "distance")
    point_at(matrix, matrix.cell_box(1, 5).center())
    matrix.grab()
    assert told[-1].startswith("part 6 · distance −")
    matrix.verticalScrollBar().setValue(matrix.verticalScrollBar().maximum())
    point_at(matrix, matrix.cell_box(N - 1, 5).center())
    matrix.grab()
    assert told[-1] == "part 6 · no distance: no other picture of the person"
    point_at(matrix, matrix.face_box(N - 2).center())
    until(matrix._card.isVisible)
    assert matrix._card._lines[1][0] == "part 1"
    assert "no other picture" in matrix._tip(matrix.spot_at(QPointF(100, matrix.height() - 10)))
    assert matrix._tip(matrix.spot_at(matrix.head_box(3).center())).startswith("part 4: mean distance −")


# What is seen


def test_cells_have_the_colour_of_their_value_and_no_value_is_hatched(matrix: PartMatrix, faces: FaceSet) -> None:
    values = numbers()
    values[:, 7] = np.nan
    spread = parts.spread(faces.ids, values)
    fill(matrix, faces, values)
    matrix.order_parts("mean", True)
    picture = matrix.viewport().grab().toImage()
    rows = faces.rows_of(matrix.ids)
    for place, part in ((0, 1), (3, 6), (8, 4)):
        wanted = heat.shade(float(values[rows[place], part]), spread.low, spread.high)
        assert picture.pixelColor(matrix.cell_box(place, part).center().toPoint()) == wanted
    box = matrix.cell_box(3, 7).toRect()
    seen = {
        picture.pixelColor(x, y).name() for x in range(box.left(), box.right()) for y in range(box.top(), box.bottom())
    }
    assert theme.current().base in seen and len(seen) > 1  # strokes on the ground, no colour of the scale
    assert not any(picture.pixelColor(box.center()) == heat.shade(v, 0.0, 1.0) for v in (0.0, 1.0))


def test_selected_rows_and_the_current_part_are_marked(matrix: PartMatrix) -> None:
    matrix.set_part(3)
    matrix.set_selection(Selection(matrix.ids[[1]], int(matrix.ids[4])))
    picture, now = matrix.viewport().grab().toImage(), theme.current()
    names = int(matrix.seats.left) - 4
    assert picture.pixelColor(names, int(matrix.row_box(1).center().y())).name() == now.soft
    assert picture.pixelColor(names, int(matrix.row_box(2).center().y())).name() == now.base
    assert picture.pixelColor(1, int(matrix.row_box(4).center().y())).name() == now.accent
    edge = matrix.cell_box(2, 3).topLeft() - QPointF(1, -5)
    assert picture.pixelColor(edge.toPoint()).name() == now.accent


@pytest.mark.parametrize("k", [2, 8, 16, 64])
@pytest.mark.parametrize("width", [320, 470, 578, 1200])
def test_columns_fit_any_room(width: int, k: int) -> None:
    seats = Seats.make(width, k)
    assert NARROW <= seats.pitch <= WIDE and seats.name >= 0 and (seats.mean <= width or seats.pitch == NARROW)
    assert seats.pitch >= ENOUGH or seats.name < 118
    assert [seats.column(seats.left + i * seats.pitch + 0.5) for i in range(k)] == list(range(k))
    assert seats.column(seats.left - 1) is None and seats.column(seats.left + k * seats.pitch) is None


def test_another_model_with_other_parts(matrix: PartMatrix, faces: FaceSet) -> None:
    matrix.set_part(7)
    matrix.set_order(7, True)
    slices = Layout("slices", 4, 8, unit=False)
    fill(matrix, faces, np.abs(numbers(k=4)), "distance", slices)
    assert matrix.order_words == "sorted by mean, farthest first" and matrix._part == 3
    fill(matrix, faces, np.full((N, 64), 1, np.float32), "share", Layout("slices", 64, 2, unit=False))
    matrix.grab()
    fill(matrix, gallery(faces.root, 0), np.zeros((0, 4), np.float32), "distance", slices)
    matrix.grab()
    assert matrix.accessibleDescription().startswith("0 faces")


def test_faces_that_left_the_gallery_are_left_out(matrix: PartMatrix, faces: FaceSet) -> None:
    values = numbers()
    fewer = faces.take(np.arange(50, N))
    matrix.show_values(fewer, faces.ids, values, parts.spread(faces.ids, values), LEARNED, words("variance", LEARNED))
    assert set(matrix.ids) == set(fewer.ids)
    matrix.grab()
