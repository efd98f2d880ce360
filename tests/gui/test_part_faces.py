"""Selected faces with their maps: who is seen and where, what clicks and keys do, what is hatched and said."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QImage, QShortcut

from facelens.session.selection import Selection
from facelens.views import heat, theme
from facelens.views.panel import Desk
from facelens.views.part_faces import PartFaces
from facelens.views.part_map import PartMap
from tests.gui.parted import hover, made_faces, shown

LEFT, KEYS = Qt.MouseButton.LeftButton, Qt.Key
NONE, CTRL = Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.ControlModifier
COUNT, K = 60, 8


@pytest.fixture
def view(desk: Desk, panel: Callable[..., PartFaces], tmp_path: Path) -> PartFaces:
    """60 faces of 8 parts; nothing is selected."""
    faces = made_faces(tmp_path, COUNT)
    desk.store.update(faces=faces)
    made = panel(PartFaces)
    made.resize(436, 396)
    made.show_values(*shown(faces, count=K))
    return made


def select(view: PartFaces, count: int, *, current: int | None = None) -> np.ndarray:
    """Select the first faces; returns their ids."""
    ids = np.sort(view._shown.ids[:count])
    view.desk.store.update(selection=Selection(ids, current))
    return ids


def values_of(view: PartFaces) -> np.ndarray:
    """(n, K) of the faces, as they are seen."""
    return view._shown.values[[view._shown.row_of(int(face)) for face in view.ids]]


# Who is seen


def test_selected_faces_by_their_mean_and_those_without_last(view: PartFaces) -> None:
    ids = select(view, 9)
    assert sorted(view.ids) == ids.tolist()
    means = [np.nanmean(row) if np.isfinite(row).any() else np.inf for row in values_of(view)]
    assert means == sorted(means) and means[-1] == np.inf
    select(view, COUNT)  # many are sorted in another way
    means = [np.nanmean(row) if np.isfinite(row).any() else np.inf for row in values_of(view)]
    assert len(means) == COUNT and means == sorted(means)


def test_examples_are_the_surest_the_mixed_and_the_least_sure(view: PartFaces) -> None:
    values = view._shown.values
    mean = {face: np.nanmean(row) for face, row in zip(view._shown.ids.tolist(), values) if np.isfinite(row).any()}
    ordered = sorted(mean, key=mean.get)
    n = len(view.ids) // 3
    assert n > 1 and view._plan.bounds == (0, n, 2 * n, 3 * n)
    low, mixed, high = (view.ids[i * n : (i + 1) * n].tolist() for i in range(3))
    assert low == ordered[:n] and high == ordered[::-1][:n]
    apart = {face: np.nanstd(values[view._shown.row_of(face)]) for face in ordered[n:-n]}
    assert mixed == sorted(apart, key=apart.get, reverse=True)[:n]
    assert view.subtitle == "nothing selected: the surest, the mixed, the least sure"


def test_where_all_means_are_the_same_examples_differ_by_their_spread(view: PartFaces) -> None:
    values = np.random.default_rng(3).random((COUNT, K)).astype(np.float32)
    values *= K / values.sum(1, keepdims=True)
    view.show_values(*shown(view._shown.faces, count=K, shown="share", values=values, kind="slices"))
    spread = values_of(view).std(1)
    n = len(spread) // 2
    assert (np.diff(spread[:n]) >= 0).all() and spread[0] == pytest.approx(values.std(1).min())
    assert (np.diff(spread[n:]) <= 0).all() and spread[n] == pytest.approx(values.std(1).max())
    assert view.lines(int(view.ids[0]))[0].startswith("spread ")


def test_few_faces_are_examples_once_each(view: PartFaces) -> None:
    for count in (5, 3, 2, 1, 0):
        faces = view._shown.faces.take(np.arange(count))
        values = np.arange(2.0 * count, dtype=np.float32).reshape(count, 2)
        view.show_values(*shown(faces, count=2, values=values))
        view.grab()
        assert len(set(view.ids.tolist())) == len(view.ids) and bool(len(view.ids)) == bool(count)


def test_the_subtitle_counts_and_tells_once(view: PartFaces) -> None:
    told: list[str] = []
    view.subtitled.connect(lambda: told.append(view.subtitle))
    select(view, 6)
    view.desk.store.update(selection=Selection(view._shown.ids[6:12]))
    view.desk.store.update(selection=Selection(np.array([*view._shown.ids[:2], 7])))
    assert told == [
        "6 faces · cells are parts, not places",
        "2 faces, 1 without a vector · cells are parts, not places",
    ]
    view.desk.store.update(selection=Selection(np.array([7])))
    assert view.current_text() == "No selected face has a vector of this model."
    view.show_nothing("no parts")
    view.grab()
    assert view.subtitle == "" and view.accessibleDescription() == "no parts"


# Where they are


@pytest.mark.parametrize("parts", [3, 8, 16, 64])
def test_every_cell_is_hit_by_its_own_hit_test(view: PartFaces, parts: int) -> None:
    view.show_values(*shown(view._shown.faces, count=parts))
    for count in (0, 1, 6, COUNT):
        select(view, count)
        check_hits(view, parts)


def check_hits(view: PartFaces, parts: int) -> None:
    for place in view.seen():
        face = view.face_rect(place)
        assert view.face_at(face.center())[0] == view.ids[place] and view.cell_at(face.center()) is None
        for part in range(parts):
            box = view.cell_rect(place, part)
            assert min(box.width(), box.height()) >= 4 and box.left() > face.right()
            for spot in (box.topLeft(), box.center(), box.bottomRight() - QPointF(0.5, 0.5)):
                assert view.cell_at(spot) == (place, part) and view.face_at(spot) is None


def test_as_large_as_lets_all_be_seen_or_small_and_scrolled(view: PartFaces) -> None:
    for count, side, columns in ((1, 200, 1), (2, 160, 1), (3, 96, 2), (6, 96, 2), (11, 60, 3), (COUNT, 40, 4)):
        select(view, count)
        boxes = [view.face_rect(place) for place in range(count)]
        for i, box in enumerate(boxes):
            whole = box.adjusted(0, 0, box.width() + 6, 18)
            assert not any(whole.intersects(other) for other in boxes[i + 1 :])
            assert view.rect().toRectF().contains(whole) or count == COUNT
        assert boxes[0].width() == side and len({box.x() for box in boxes}) == columns
        assert bool(view._bar.maximum()) == (count == COUNT)


def test_a_face_chosen_elsewhere_is_brought_into_sight(view: PartFaces) -> None:
    select(view, COUNT)
    last = int(view.ids[-1])
    assert view.height() < view.face_rect(COUNT - 1).bottom()
    view.desk.store.update(selection=view.selection.looking_at(last))
    assert view.rect().toRectF().contains(view.face_rect(COUNT - 1))


# What the user does


def test_a_cell_makes_its_part_current_and_a_face_is_looked_at(qtbot, view: PartFaces, calls) -> None:
    select(view, 6)
    chosen: list[int] = []
    view.part_chosen.connect(chosen.append)
    qtbot.mouseClick(view, LEFT, NONE, view.cell_rect(2, 5).center().toPoint())
    assert chosen == [5] and view.selection.current is None
    third = int(view.ids[2])
    spot = view.face_rect(2).center().toPoint()
    qtbot.mouseClick(view, LEFT, NONE, spot)
    assert view.selection.current == third and len(view.selection) == 6
    qtbot.mouseDClick(view, LEFT, NONE, spot)
    assert calls.named("act") == ["view.loupe"]
    qtbot.mouseClick(view, LEFT, CTRL, spot)
    assert third not in view.selection and third not in view.ids and len(view.ids) == 5


def test_keys_walk_take_out_and_choose_parts(qtbot, view: PartFaces, calls) -> None:
    select(view, 6)
    view.part_chosen.connect(view.set_part)
    ids = view.ids.tolist()
    for key, place in ((KEYS.Key_Down, 0), (KEYS.Key_Right, 1), (KEYS.Key_Down, 3), (KEYS.Key_End, 5)):
        qtbot.keyClick(view, key)
        assert view.selection.current == ids[place] and len(view.selection) == 6
    qtbot.keyClick(view, KEYS.Key_Home)
    qtbot.keyClick(view, KEYS.Key_Delete)
    assert view.ids.tolist() == ids[1:] and view.selection.current == ids[1]
    qtbot.keyClick(view, KEYS.Key_Space)
    assert ids[1] not in view.selection
    qtbot.keyClick(view, KEYS.Key_BracketRight)
    assert view._part == 1
    qtbot.keyClick(view, KEYS.Key_Left)
    qtbot.keyClick(view, KEYS.Key_Return)
    assert calls.named("act") == ["view.loupe"]
    qtbot.keyClick(view, KEYS.Key_Escape)
    assert view.examples and not len(view.selection)


def test_delete_is_for_the_view_while_something_is_selected(qtbot, view: PartFaces) -> None:
    excluded: list[None] = []
    shortcut = QShortcut(KEYS.Key_Delete, view)  # elsewhere it excludes faces from the gallery
    shortcut.activated.connect(lambda: excluded.append(None))
    view.activateWindow()
    view.setFocus()
    ids = select(view, 2)
    view.look(int(ids[0]))
    qtbot.keyClick(view, KEYS.Key_Delete)
    assert view.selection.ids.tolist() == [ids[1]] and not excluded
    select(view, 0)
    qtbot.keyClick(view, KEYS.Key_Delete)
    assert excluded


# What is painted and said


def test_colours_are_of_the_one_scale_and_unknown_cells_are_hatched(view: PartFaces) -> None:
    select(view, 2)
    view.set_part(7)
    image = view.grab().toImage().convertToFormat(QImage.Format.Format_RGB32)
    shown_, scale = values_of(view), view._shown.spread
    ground = theme.current().q("sunk").rgb()
    for part in range(7):
        box = view.cell_rect(0, part).adjusted(6, 20, -6, -22)  # between the words
        inks = {image.pixel(x, int(box.center().y())) for x in range(int(box.left()), int(box.right()))}
        colour = heat.shade(float(shown_[0, part]), scale.low, scale.high)
        if colour is None:
            assert len(inks) > 1, "hatched"
        else:
            assert inks == {colour.rgb()}
        assert ground not in inks
    assert np.isnan(shown_[0]).sum() == 1 and np.isnan(shown_[1]).all()


def test_a_cell_tells_its_value_and_a_face_its_mean(view: PartFaces) -> None:
    select(view, 3)
    row = view._shown.row_of(int(view.ids[0]))
    column = view._shown.values[:, 4]
    value = float(column[row])
    rank = round(100 * ((column < value).sum() + 0.5) / (COUNT - 1))
    hover(view, view.cell_rect(0, 4).center())
    assert view._cell == (0, 4) and view.hovered is None
    wanted = f"part 5 · log σ² {value:.2f} · s {np.exp(-value):.1f} · p{rank}".replace("-", "−")
    assert view._shown.part_text(row, 4) == wanted
    view.grab()
    hover(view, view.face_rect(0).center())
    assert view._cell is None and view.hovered == view.ids[0]
    assert view._shown.part_text(1, 0) == "part 1 · no log σ²: no usable confidence"


def test_what_a_screen_reader_says(view: PartFaces) -> None:
    ids = select(view, 3)
    view.set_part(2)
    view.look(int(ids[0]))
    place = view.ids.tolist().index(ids[0])
    row = view._shown.row_of(int(ids[0]))
    said = view.accessibleDescription().split(", ")
    assert said[1] == view._shown.summary_text(row) and said[2] == view._shown.part_text(row, 2)
    assert said[0] in ("Ada", "Bo", "Cy") and said[3:] == ["selected", f"{place + 1} of 3"]


def test_maps_have_full_rows_where_they_are_nearly_square() -> None:
    for parts in range(1, 65):
        found = PartMap.make(parts, 96)
        assert found.rows <= found.columns <= max(2 * found.rows, 2)
        assert parts <= found.rows * found.columns < parts + found.columns
        assert {found.at(*found.cell(part).center().toTuple()) for part in range(parts)} == set(range(parts))
