"""The grid: positions against a naive walk, the grammar of selecting against a small model, and what is painted."""

from __future__ import annotations

import gc
import random
import weakref
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from PySide6.QtCore import QEvent, QPoint, QPointF, QRectF, Qt
from PySide6.QtGui import QContextMenuEvent, QImage, QMouseEvent, QPainter, QWheelEvent
from PySide6.QtWidgets import QApplication

from facelens.images.faceset import FaceSet, Labels
from facelens.images.packed import Packed
from facelens.session.selection import Mode, Selection
from facelens.views import grid as module
from facelens.views import portrait, theme
from facelens.views.cells import MARGIN, SECTION, Layout
from facelens.views.grid import SIZES, Marks, ThumbnailGrid, percentile
from facelens.views.thumbnails import Thumbnails

NONE = Qt.KeyboardModifier.NoModifier
CTRL = Qt.KeyboardModifier.ControlModifier
SHIFT = Qt.KeyboardModifier.ShiftModifier
ALT = Qt.KeyboardModifier.AltModifier
LEFT = Qt.MouseButton.LeftButton
PEOPLE = ("Ada", "Bo", "Cy", "Di")


@pytest.fixture(autouse=True)
def _dark(qapp: QApplication) -> None:
    theme.apply(qapp, "dark")


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    for i in range(4):
        Image.new("RGB", (60, 60), (60 * i + 40, 30, 30)).save(tmp_path / f"{i}.png")
    (tmp_path / "broken.jpg").write_bytes(b"no picture at all")
    return tmp_path


def many(root: Path, count: int, *, broken: tuple[int, ...] = ()) -> FaceSet:
    """`count` made-up faces over four files."""
    which = np.arange(count) % 4
    which[list(broken)] = 4
    paths = Packed.of([b"0.png", b"1.png", b"2.png", b"3.png", b"broken.jpg"]).take(which)
    identity = Labels((np.arange(count) % 4).astype(np.int32), PEOPLE)
    columns = {"quality": np.linspace(0, 1, count), "rank": np.arange(count)}
    return FaceSet("g", root, paths, identity, columns, None, np.random.default_rng(1).permutation(count) + 100)


class Model:
    """What the store does with the grid's wishes."""

    def __init__(self, grid: ThumbnailGrid) -> None:
        self.grid = grid
        self.selection = Selection()
        self.opened: list[int] = []
        grid.select.connect(self.on_select)
        grid.look.connect(self.on_look)
        grid.open_face.connect(self.opened.append)

    def on_select(self, ids: np.ndarray, mode: Mode) -> None:
        self.selection = self.selection.combine(ids, mode)
        self.grid.set_selection(self.selection)

    def on_look(self, face: int) -> None:
        self.selection = self.selection.looking_at(face)
        self.grid.set_selection(self.selection)

    @property
    def places(self) -> list[int]:
        return sorted(self.grid.place_of(int(face)) for face in self.selection.ids)

    @property
    def current(self) -> int | None:
        return self.grid.place_of(self.selection.current)


@pytest.fixture
def thumbs(qtbot):
    made = Thumbnails(threads=2)
    yield made
    made.close()


@pytest.fixture
def grid(qtbot, thumbs):
    made = ThumbnailGrid(thumbs)
    qtbot.addWidget(made)
    made.resize(2 * MARGIN + 5 * 111 + 10, 400)  # five columns at the default size
    made.show()
    return made


@pytest.fixture
def model(grid, pictures) -> Model:
    faces = many(pictures, 60)
    grid.set_faces(faces, np.arange(60), value="quality")
    assert grid._layout.columns == 5
    return Model(grid)


def settle(qtbot, grid: ThumbnailGrid) -> None:
    grid.viewport().repaint()
    qtbot.waitUntil(lambda: grid._thumbnails.idle)
    grid.viewport().repaint()


def click(qtbot, grid: ThumbnailGrid, place: int, modifiers=NONE, button=LEFT) -> None:
    qtbot.mouseClick(grid.viewport(), button, modifiers, grid.cell_rect(place).center())


def send(grid: ThumbnailGrid, kind: QEvent.Type, at: QPoint, modifiers=NONE, buttons=LEFT) -> None:
    button = Qt.MouseButton.NoButton if kind == QEvent.Type.MouseMove else LEFT
    spot = QPointF(at)
    event = QMouseEvent(kind, spot, grid.viewport().mapToGlobal(spot), button, buttons, modifiers)
    QApplication.sendEvent(grid.viewport(), event)


def drag(grid: ThumbnailGrid, start: QPoint, end: QPoint, modifiers=NONE) -> None:
    send(grid, QEvent.Type.MouseButtonPress, start, modifiers)
    send(grid, QEvent.Type.MouseMove, (start + end) / 2, modifiers)
    send(grid, QEvent.Type.MouseMove, end, modifiers)
    send(grid, QEvent.Type.MouseButtonRelease, end, modifiers, Qt.MouseButton.NoButton)


# Positions


def naive(count: int, starts: list[int] | None, layout: Layout) -> list[tuple[int, int]]:
    """Corners of all pictures, one after another."""
    corners, y = [], MARGIN if starts is None else 0
    bounds = [*(starts or [0]), count]
    for first, after in pairwise(bounds):
        y += 0 if starts is None else SECTION
        for place in range(first, after):
            line, column = divmod(place - first, layout.columns)
            corners.append((MARGIN + round(column * layout.pitch), y + line * (layout.size + 29)))
        y += -(-(after - first) // layout.columns) * (layout.size + 29)
    return corners


@pytest.mark.parametrize("starts", [None, [0], [0, 1, 2, 9, 30], [0, 7, 14, 21]])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("width", [40, 300, 928])
def test_layout_is_the_naive_walk(size: int, width: int, starts: list[int] | None) -> None:
    count = 37
    layout = Layout.make(count, width, size=size, starts=None if starts is None else np.array(starts))
    corners = naive(count, starts, layout)
    assert [layout.corner(i) for i in range(count)] == corners
    assert layout.columns == 1 or layout.x(layout.columns - 1) + size <= max(width - MARGIN, size + MARGIN)
    half = size / 2
    assert [layout.at(x + half, y + half) for x, y in corners] == list(range(count))
    assert [layout.nearest(x + 3, y + half) for x, y in corners] == list(range(count))
    dice = random.Random(size + width)
    for _ in range(40):
        x0, x1 = sorted(dice.uniform(0, width) for _ in range(2))
        y0, y1 = sorted(dice.uniform(-20, layout.height + 20) for _ in range(2))
        rect = QRectF(x0, y0, x1 - x0, y1 - y0)
        meets = [i for i, (x, y) in enumerate(corners) if x < x1 and x + size > x0 and y < y1 and y + size > y0]
        assert layout.within(rect).tolist() == meets
        seen = {p for _, a, b in layout.visible(y0, y1) for p in range(a, b)}
        lines = {i for i, (_, y) in enumerate(corners) if y < y1 and y + size + 29 > y0}
        assert lines <= seen
        assert len(seen) <= len(lines) + 2 * layout.columns


def test_cell_measures_of_the_guide() -> None:
    layout = Layout.make(100, 918, size=101)
    assert (layout.columns, layout.line) == (8, 130)
    assert layout.corner(0) == (11, 11) and layout.corner(8) == (11, 141)


def test_left_over_room_goes_between_columns_but_not_without_end() -> None:
    assert Layout.make(9, 2 * MARGIN + 2 * 111 + 100, size=101).pitch == 135


def test_up_and_down_keep_the_column_over_headings() -> None:
    layout = Layout.make(14, 2 * MARGIN + 3 * 111, size=101, starts=np.array([0, 7, 9]))
    assert layout.columns == 3
    assert [layout.below(p) for p in (0, 4, 5, 6, 7, 8, 13)] == [3, 6, 6, 7, 9, 10, 13]
    assert [layout.above(p) for p in (0, 2, 6, 7, 8, 11, 9)] == [0, 2, 3, 6, 6, 8, 7]


# Mouse


def test_click_grammar(qtbot, grid, model) -> None:
    click(qtbot, grid, 3)
    assert (model.places, model.current) == ([3], 3)
    click(qtbot, grid, 6, CTRL)
    assert (model.places, model.current) == ([3, 6], 6)
    click(qtbot, grid, 3, CTRL)
    assert model.places == [6]
    click(qtbot, grid, 9, SHIFT)
    assert model.places == [3, 4, 5, 6, 7, 8, 9], "the range starts where the last plain or Ctrl click was"
    click(qtbot, grid, 1, SHIFT)
    assert model.places == [1, 2, 3]
    click(qtbot, grid, 2, ALT)
    assert (model.places, model.current) == ([1, 3], 1)
    click(qtbot, grid, 8)
    click(qtbot, grid, 6, SHIFT | CTRL)
    assert model.places == [6, 7, 8]


def test_click_on_one_of_many_selected_leaves_that_one(qtbot, grid, model) -> None:
    click(qtbot, grid, 1)
    click(qtbot, grid, 4, SHIFT)
    click(qtbot, grid, 2)
    assert (model.places, model.current) == ([2], 2)


def test_click_on_empty_ground_clears(qtbot, grid, model) -> None:
    click(qtbot, grid, 1)
    ground = QPoint(grid.cell_rect(1).right() + 4, 60)
    qtbot.mouseClick(grid.viewport(), LEFT, CTRL, ground)
    assert model.places == [1]
    qtbot.mouseClick(grid.viewport(), LEFT, NONE, ground)
    assert model.places == []


def test_random_clicks_follow_a_plain_model(qtbot, grid, model) -> None:
    dice = random.Random(5)
    wanted, anchor = set(), None
    for _ in range(120):
        place, modifiers = dice.randrange(10), dice.choice([NONE, NONE, CTRL, SHIFT, ALT, SHIFT | CTRL])
        click(qtbot, grid, place, modifiers)
        if modifiers == ALT:
            wanted -= {place}
        elif modifiers & SHIFT:
            anchor = place if anchor is None else anchor
            span = set(range(min(anchor, place), max(anchor, place) + 1))
            wanted = wanted | span if modifiers & CTRL else span
        else:
            anchor = place
            wanted = wanted ^ {place} if modifiers == CTRL else {place}
        assert model.places == sorted(wanted)


@pytest.mark.parametrize(
    ("modifiers", "after"),
    [
        (NONE, [0, 1, 5, 6]),
        (SHIFT, [0, 1, 5, 6, 7, 8]),
        (ALT, [7, 8]),
        (SHIFT | ALT, [6]),
        (CTRL, [0, 1, 5, 7, 8]),
    ],
)
def test_rubber_band_grammar(qtbot, grid, model, modifiers, after) -> None:
    click(qtbot, grid, 6)
    click(qtbot, grid, 8, SHIFT)
    shown = []
    send(grid, QEvent.Type.MouseButtonPress, QPoint(3, 3), modifiers)
    for place in (0, 6):
        send(grid, QEvent.Type.MouseMove, grid.cell_rect(place).center(), modifiers)
        shown = np.flatnonzero(grid._selected(grid.ids)).tolist()
    send(grid, QEvent.Type.MouseButtonRelease, grid.cell_rect(6).center(), modifiers, Qt.MouseButton.NoButton)
    assert model.places == after == shown, "what was shown meanwhile is what one gets"
    assert grid._band is None and grid._preview is None


def test_band_tells_once_and_shows_meanwhile(qtbot, grid, model) -> None:
    told = []
    grid.select.connect(lambda *args: told.append(args))
    send(grid, QEvent.Type.MouseButtonPress, QPoint(3, 3))
    for place in (0, 1, 6):
        send(grid, QEvent.Type.MouseMove, grid.cell_rect(place).center())
    assert not told
    assert grid._selected(grid.ids[:10]).tolist() == [True, True, False, False, False, True, True, False, False, False]
    grid.viewport().repaint()
    send(grid, QEvent.Type.MouseButtonRelease, grid.cell_rect(6).center(), buttons=Qt.MouseButton.NoButton)
    assert len(told) == 1


def test_a_band_that_leaves_nothing_shows_nothing(qtbot, grid, model) -> None:
    click(qtbot, grid, 0)
    send(grid, QEvent.Type.MouseButtonPress, QPoint(3, 3), ALT)
    send(grid, QEvent.Type.MouseMove, grid.cell_rect(1).center(), ALT)
    assert not grid._selected(grid.ids[:10]).any()


def test_band_from_a_face_that_is_not_selected(grid, model) -> None:
    drag(grid, grid.cell_rect(2).center(), grid.cell_rect(3).center())
    assert model.places == [2, 3]


def test_escape_gives_up_the_band(qtbot, grid, model) -> None:
    click(qtbot, grid, 9)
    send(grid, QEvent.Type.MouseButtonPress, QPoint(3, 3))
    send(grid, QEvent.Type.MouseMove, grid.cell_rect(6).center())
    qtbot.keyClick(grid, Qt.Key.Key_Escape)
    send(grid, QEvent.Type.MouseButtonRelease, grid.cell_rect(6).center(), buttons=Qt.MouseButton.NoButton)
    assert model.places == [9]


def test_band_scrolls_when_it_leaves_the_view(qtbot, grid, model) -> None:
    send(grid, QEvent.Type.MouseButtonPress, QPoint(3, 3))
    send(grid, QEvent.Type.MouseMove, QPoint(300, 600))
    qtbot.waitUntil(lambda: grid.verticalScrollBar().value() == grid.verticalScrollBar().maximum())
    send(grid, QEvent.Type.MouseButtonRelease, QPoint(300, 600), buttons=Qt.MouseButton.NoButton)
    assert not grid._scroll_timer.isActive()
    assert {p % 5 for p in model.places} == {0, 1, 2} and len(model.places) == 36


def test_dragging_a_selected_face_carries_files(qtbot, grid, model, pictures, monkeypatch) -> None:
    carried = []
    monkeypatch.setattr(grid, "_drag_out", lambda: carried.append(grid._carried()))
    click(qtbot, grid, 1)
    click(qtbot, grid, 2, CTRL)
    drag(grid, grid.cell_rect(1).center(), grid.cell_rect(9).center())
    assert model.places == [1, 2]
    assert [Path(u.toLocalFile()).name for u in carried[0].urls()] == ["1.png", "2.png"]
    assert carried[0].text() == f"{pictures / '1.png'}\n{pictures / '2.png'}"


def test_odd_names_are_carried_whole(grid, tmp_path) -> None:
    faces = FaceSet.build("g", tmp_path, paths=[b"a\xff b.png"], identities=["a"])
    grid.set_faces(faces, np.arange(1))
    grid.set_selection(Selection(faces.ids))
    (url,) = grid._carried().urls()
    assert bytes(url.toEncoded()).endswith(b"/a%FF%20b.png")
    assert grid._carried().text().endswith("a\\xff b.png")


def test_double_click_opens(qtbot, grid, model) -> None:
    qtbot.mouseDClick(grid.viewport(), LEFT, NONE, grid.cell_rect(7).center())
    assert model.opened == [int(grid.ids[7])]


def test_menu_speaks_of_the_face_under_it(qtbot, grid, model) -> None:
    asked = []
    grid.menu_requested.connect(asked.append)
    click(qtbot, grid, 1)
    click(qtbot, grid, 3, SHIFT)
    for place, expected in ((2, [1, 2, 3]), (8, [8])):
        click(qtbot, grid, place, button=Qt.MouseButton.RightButton)
        spot = grid.cell_rect(place).center()
        where = grid.viewport().mapToGlobal(spot)
        QApplication.sendEvent(grid.viewport(), QContextMenuEvent(QContextMenuEvent.Reason.Mouse, spot, where))
        assert model.places == expected and asked[-1] == where
    QApplication.sendEvent(grid.viewport(), QContextMenuEvent(QContextMenuEvent.Reason.Keyboard, QPoint(), QPoint()))
    assert grid.viewport().mapFromGlobal(asked[-1]) == grid.cell_rect(8).center()


# Keyboard


def test_keys_move_select_and_extend(qtbot, grid, model) -> None:
    keys = Qt.Key
    qtbot.keyClick(grid, keys.Key_Right)
    assert (model.places, model.current) == ([0], 0), "the first key shows where one is"
    for key, place in (
        (keys.Key_Right, 1), (keys.Key_Down, 6), (keys.Key_Left, 5), (keys.Key_Up, 0), (keys.Key_Left, 0),
        (keys.Key_End, 59), (keys.Key_Down, 59), (keys.Key_Home, 0), (keys.Key_PageDown, 15), (keys.Key_PageUp, 0),
    ):  # fmt: skip
        qtbot.keyClick(grid, key)
        assert (model.places, model.current) == ([place], place)
    qtbot.keyClick(grid, keys.Key_Down, SHIFT)
    assert (model.places, model.current) == ([0, 1, 2, 3, 4, 5], 5)
    qtbot.keyClick(grid, keys.Key_Left, SHIFT)
    assert model.places == [0, 1, 2, 3, 4]
    qtbot.keyClick(grid, keys.Key_Right, CTRL)
    assert (model.places, model.current) == ([0, 1, 2, 3, 4], 5)
    qtbot.keyClick(grid, keys.Key_Space)
    assert model.places == [0, 1, 2, 3, 4, 5]
    qtbot.keyClick(grid, keys.Key_Space)
    assert model.places == [0, 1, 2, 3, 4]
    qtbot.keyClick(grid, keys.Key_Return)
    qtbot.keyClick(grid, keys.Key_E)
    assert model.opened == [int(grid.ids[5])] * 2


def test_all_invert_none(qtbot, grid, model) -> None:
    click(qtbot, grid, 0)
    qtbot.keyClick(grid, Qt.Key.Key_I, CTRL)
    assert model.places == list(range(1, 60))
    qtbot.keyClick(grid, Qt.Key.Key_A, CTRL)
    assert len(model.places) == 60
    qtbot.keyClick(grid, Qt.Key.Key_Escape)
    assert model.places == []


def test_commands_reach_only_what_is_shown(grid, model, pictures) -> None:
    faces = many(pictures, 60)
    grid.set_faces(faces, np.array([3, 5, 7]))
    grid.select_all()
    assert sorted(model.selection.ids) == sorted(faces.ids[[3, 5, 7]])


def test_the_current_face_stays_in_sight(qtbot, grid, model) -> None:
    for _ in range(9):
        qtbot.keyClick(grid, Qt.Key.Key_Down)
        rect = grid.cell_rect(model.current)
        assert rect.top() >= 0 and rect.bottom() + 19 <= grid.viewport().height()
    qtbot.keyClick(grid, Qt.Key.Key_Home)
    assert grid.verticalScrollBar().value() <= 11


def test_a_face_chosen_elsewhere_is_brought_into_sight(grid, model) -> None:
    grid.set_selection(Selection(grid.ids[[55]], current=int(grid.ids[55])))
    assert grid.viewport().rect().contains(grid.cell_rect(55))
    kept = grid.verticalScrollBar().value()
    grid.set_selection(Selection(grid.ids[[2]], current=int(grid.ids[55])))
    assert grid.verticalScrollBar().value() == kept, "a selection alone moves nothing"


# The list does not jump


def heights(grid: ThumbnailGrid, face: int) -> int:
    return grid.cell_rect(grid.place_of(face)).top()


def test_sorting_keeps_the_current_face_where_it_is(qtbot, grid, model, pictures) -> None:
    faces = many(pictures, 60)
    grid.verticalScrollBar().setValue(500)
    click(qtbot, grid, 27)
    face = int(grid.ids[27])
    before = heights(grid, face)
    grid.set_faces(faces, np.arange(60)[::-1], value="quality")
    assert heights(grid, face) == before and model.current == 32


def test_leaving_faces_out_holds_on_to_the_first_in_sight_that_stays(grid, model, pictures) -> None:
    faces = many(pictures, 60)
    grid.verticalScrollBar().setValue(400)
    first = grid._layout.nearest(0, 400)
    kept = np.array([row for row in range(60) if row not in (first, first + 1, 3, 4)])
    face = int(grid.ids[first + 2])
    before = heights(grid, face)
    grid.set_faces(faces, kept)
    assert heights(grid, face) == before


def test_sorting_at_the_top_stays_at_the_top(grid, model, pictures) -> None:
    grid.set_faces(many(pictures, 60), np.arange(60)[::-1])
    assert grid.verticalScrollBar().value() == 0


def test_another_gallery_starts_at_the_top(grid, model, tmp_path) -> None:
    grid.verticalScrollBar().setValue(500)
    other = replace(many(tmp_path, 60), root=tmp_path / "other")
    grid.set_faces(other, np.arange(60))
    assert grid.verticalScrollBar().value() == 0


def test_resizing_the_window_keeps_the_current_face(qtbot, grid, model) -> None:
    grid.verticalScrollBar().setValue(500)
    click(qtbot, grid, 28)
    before = heights(grid, int(grid.ids[28]))
    grid.resize(grid.width() - 120, grid.height())
    assert grid._layout.columns == 4
    assert heights(grid, int(grid.ids[28])) == before


def test_ctrl_wheel_keeps_the_face_under_the_pointer(grid, model) -> None:
    grid.verticalScrollBar().setValue(600)
    sizes = []
    grid.thumbnail_size_changed.connect(sizes.append)
    spot = QPointF(grid.cell_rect(27).center())
    for delta in (120, 120, -120, -120, -120, -120):
        event = QWheelEvent(
            spot, grid.viewport().mapToGlobal(spot), QPoint(), QPoint(0, delta), Qt.MouseButton.NoButton, CTRL,
            Qt.ScrollPhase.NoScrollPhase, False,
        )  # fmt: skip
        face = grid._layout.nearest(spot.x() - grid.thumbnail_size / 2, spot.y() + grid._top)
        QApplication.sendEvent(grid.viewport(), event)
        rect = grid.cell_rect(face)
        assert rect.top() - 30 <= spot.y() <= rect.bottom() + 30 or grid._top in (0, grid.verticalScrollBar().maximum())
    assert sizes == [128, 160, 128, 101, 80, 64]
    grid.set_thumbnail_size(1000)
    assert grid.thumbnail_size == 224


def test_a_scroll_bar_that_comes_moves_nothing(qtbot, grid, pictures) -> None:
    faces = many(pictures, 60)
    grid.set_faces(faces, np.arange(4))
    alone = grid.cell_rect(3)
    grid.set_faces(faces, np.arange(60))
    qtbot.waitUntil(grid.verticalScrollBar().isVisible)
    assert grid.viewport().width() < grid.width()
    assert grid.cell_rect(3) == alone


# Painting


def pixel(grid: ThumbnailGrid, place: int, dx: int, dy: int) -> str:
    rect = grid.cell_rect(place)
    return grid.viewport().grab().toImage().pixelColor(rect.left() + dx, rect.top() + dy).name()


def test_only_what_is_in_sight_is_asked_for(qtbot, grid, pictures, monkeypatch) -> None:
    asked: set[int] = set()
    real = grid._thumbnails.get

    def counted(faces, row, size):
        asked.add(row)
        return real(faces, row, size)

    monkeypatch.setattr(grid._thumbnails, "get", counted)
    grid.set_faces(many(pictures, 1_000_000), np.arange(1_000_000), value="quality")
    grid.verticalScrollBar().setValue(5_000_000)
    asked.clear()
    grid.viewport().repaint()
    assert 15 <= len(asked) <= 25
    assert grid._layout.nearest(50, 5_000_200) in asked


def test_a_screen_of_many_small_faces_is_filled(qtbot, grid, pictures) -> None:
    grid.set_thumbnail_size(48)
    grid.resize(1900, 1200)
    faces = many(pictures, 2000)
    grid.set_faces(faces, np.arange(2000))
    grid.viewport().repaint()
    qtbot.waitUntil(lambda: grid._thumbnails.idle)
    first, after = next((a, b) for _, a, b in grid._layout.visible(0, 1200))
    assert after - first > 400
    assert all(grid._thumbnails.get(faces, row, 48) is not None for row in range(first, after))


def test_cells_show_picture_ring_plate_and_marks(qtbot, grid, model, pictures) -> None:
    settle(qtbot, grid)
    dark = theme.DARK
    count = 60
    assert pixel(grid, 1, 50, 50) == "#641e1e"
    assert pixel(grid, 1, -2, 50) == dark.sunk
    click(qtbot, grid, 1)
    grid._set_hover(None)
    assert pixel(grid, 1, -2, 50) == dark.accent
    assert pixel(grid, 1, 50, -5) == dark.text, "the current face has a line around its ring"
    assert pixel(grid, 1, 50, 120) == dark.soft
    qtbot.keyClick(grid, Qt.Key.Key_Right, CTRL)
    assert pixel(grid, 2, -2, 50) == dark.accent and pixel(grid, 2, 50, 121) == dark.sunk
    assert pixel(grid, 1, 50, -5) == dark.sunk
    excluded, refused = np.zeros(count, bool), np.zeros(count, bool)
    excluded[3] = refused[4] = True
    verdict = np.zeros(count, np.int8)
    verdict[[6, 7]] = 1, -1
    grid.set_marks(Marks(excluded=excluded, refused=refused, verdict=verdict))
    assert pixel(grid, 4, 50, 99) == dark.warn
    assert pixel(grid, 3, 50, 50) != "#dc1e1e"
    assert pixel(grid, 6, 101 - 17, 6) == dark.good or pixel(grid, 6, 101 - 12, 7) == dark.good
    assert pixel(grid, 7, 101 - 17, 7) == dark.bad


def test_marks_of_other_faces_are_gone(qtbot, grid, model, pictures) -> None:
    click(qtbot, grid, 5)
    grid.set_marks(Marks(rating=np.full(60, 3, np.int8), flagged=np.ones(60, bool)))
    assert "rated 3" in grid.accessibleDescription()
    more = many(pictures, 90)
    grid.set_selection(Selection(current=int(more.ids[80])))
    grid.set_faces(more, np.arange(90))
    assert grid.accessibleDescription().startswith(more.label(80)) and "rated" not in grid.accessibleDescription()


def test_small_faces_carry_only_right_and_wrong(qtbot, grid, model) -> None:
    grid.set_thumbnail_size(64)
    settle(qtbot, grid)
    plain = pixel(grid, 3, 10, 10)
    flagged = np.ones(60, bool)
    grid.set_marks(Marks(flagged=flagged, refused=flagged, verdict=-np.ones(60, np.int8)))
    assert pixel(grid, 3, 10, 10) == plain and pixel(grid, 3, 30, 62) == plain
    assert pixel(grid, 3, 64 - 13, 4) == theme.DARK.bad


def test_not_decoded_is_a_block_and_broken_says_why(qtbot, grid, pictures, monkeypatch) -> None:
    faces = many(pictures, 10, broken=(1,))
    monkeypatch.setattr(grid._thumbnails, "get", lambda *_: None)
    grid.set_faces(faces, np.arange(10))
    assert pixel(grid, 0, 50, 50) == theme.DARK.raised
    assert pixel(grid, 0, 25, 112) == theme.DARK.raised, "a bar for the caption"
    monkeypatch.undo()
    settle(qtbot, grid)
    face = int(faces.ids[1])
    assert "broken.jpg" in grid._thumbnails.broken(face)
    image = grid.viewport().grab(grid.cell_rect(1)).toImage()
    colours = {image.pixelColor(x, y).name() for x in range(101) for y in range(101)}
    assert theme.DARK.warn in colours and theme.DARK.raised in colours
    grid._set_hover(1)
    grid._show_card()
    assert "broken.jpg" in grid._card._lines[0]
    grid.set_selection(Selection(current=face))
    assert "broken.jpg" in grid.current_text()


def test_light_theme_repaints(qtbot, qapp, grid, model) -> None:
    theme.apply(qapp, "light")
    assert grid.viewport().grab().toImage().pixelColor(3, 3).name() == theme.LIGHT.sunk


def test_nothing_to_show_says_so(grid, pictures) -> None:
    grid.set_empty("No face matches", "Clear the filter (Esc) or widen it.")
    grid.set_faces(many(pictures, 4), np.zeros(0, np.int64))
    image = grid.viewport().grab().toImage()
    colours = {image.pixelColor(x, y).name() for x in range(image.width()) for y in range(image.height())}
    assert theme.DARK.text in colours
    assert grid.current_text() == "No face matches Clear the filter (Esc) or widen it."
    grid.set_faces(None, np.zeros(0, np.int64))
    grid.viewport().repaint()


def test_groups_have_headings_that_select(qtbot, grid, model, pictures) -> None:
    faces = many(pictures, 40)
    rows = np.argsort(faces.identity.codes, kind="stable")
    grid.set_faces(faces, rows, groups=faces.identity)
    assert grid._layout.starts.tolist() == [0, 10, 20, 30, 40]
    grid.viewport().repaint()
    qtbot.mouseClick(grid.viewport(), LEFT, NONE, QPoint(20, int(grid._layout.tops[1]) + 12))
    assert model.places == list(range(10, 20))
    qtbot.mouseClick(grid.viewport(), LEFT, SHIFT, QPoint(20, 12))
    assert model.places == list(range(20))


def test_hover_card_is_never_under_the_pointer(qtbot, grid, model) -> None:
    settle(qtbot, grid)
    hovered = []
    grid.hovered.connect(hovered.append)
    for place in (0, 7, 14):
        send(grid, QEvent.Type.MouseMove, grid.cell_rect(place).center(), buttons=Qt.MouseButton.NoButton)
        assert not grid._card.isVisible(), "not before its time"
        qtbot.waitUntil(grid._card.isVisible)
        assert grid._card.size().toTuple() == (208, 76)
        face = grid.cell_rect(place).translated(grid.viewport().mapTo(grid.window(), QPoint()))
        assert not grid._card.geometry().intersects(face)
        assert grid._card._lines[0].startswith("quality ")
        grid._card.grab()
    QApplication.sendEvent(grid.viewport(), QEvent(QEvent.Type.Leave))
    assert not grid._card.isVisible()
    assert hovered == [int(grid.ids[0]), int(grid.ids[7]), int(grid.ids[14]), None]


def test_scrolling_hides_the_card(qtbot, grid, model) -> None:
    grid._set_hover(0)
    grid._show_card()
    assert grid._card.isVisible()
    grid.verticalScrollBar().setValue(50)
    assert not grid._card.isVisible()


def test_percentile_counts_ties_half_and_leaves_missing_out() -> None:
    values = np.array([1.0, 2.0, 2.0, 3.0, np.nan])
    assert [percentile(values, i) for i in range(5)] == [12.5, 50.0, 50.0, 87.5, None]


# Screen readers, life and death


def test_screen_readers_hear_the_current_face(qtbot, grid, model) -> None:
    assert grid.accessibleName() == "Faces" and grid.accessibleDescription() == "60 faces"
    click(qtbot, grid, 5)
    assert grid.accessibleDescription() == "Bo, quality 0.085, selected, 6 of 60"
    verdict = np.full(60, -1, np.int8)
    grid.set_marks(Marks(verdict=verdict))
    qtbot.keyClick(grid, Qt.Key.Key_Right, CTRL)
    assert grid.accessibleDescription() == "Cy, quality 0.102, not selected, wrong, 7 of 60"


def test_moving_is_announced(qtbot, grid, model, monkeypatch) -> None:
    said = []
    monkeypatch.setattr(module.QAccessible, "isActive", staticmethod(lambda: True))
    monkeypatch.setattr(module.QAccessible, "updateAccessibility", staticmethod(lambda e: said.append(e.message())))
    qtbot.keyClick(grid, Qt.Key.Key_Right)
    qtbot.keyClick(grid, Qt.Key.Key_Right, SHIFT)
    qtbot.keyClick(grid, Qt.Key.Key_Right, CTRL)
    assert said == [
        "Ada, quality 0.000, selected, 1 of 60",
        "Bo, quality 0.017, selected, 2 of 60",
        "Cy, quality 0.034, not selected, 3 of 60",
    ]


def test_missing_values_are_named(qtbot, grid, pictures) -> None:
    faces = many(pictures, 8)
    faces = faces.with_columns({"score": np.full(8, np.nan)})
    grid.set_faces(faces, np.arange(8), value="score")
    assert grid._value_text(0) == "n/a"
    grid.viewport().repaint()


def test_dies_when_it_is_closed(qtbot, thumbs, pictures) -> None:
    grid = ThumbnailGrid(thumbs)
    grid.resize(400, 300)
    grid.set_faces(many(pictures, 20), np.arange(20), value="quality")
    grid.show()
    grid._set_hover(1)
    grid._show_card()
    gone = weakref.ref(grid)
    grid.close()
    grid.deleteLater()
    del grid
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    gc.collect()
    assert gone() is None
    theme.apply(QApplication.instance(), "dark")


@pytest.mark.parametrize("ratio", [1.0, 1.25, 1.5, 2.0])
def test_faces_lie_on_whole_pixels_with_round_corners_at_any_scale(qapp: QApplication, ratio: float) -> None:
    image = QImage(300, 300, QImage.Format.Format_ARGB32)
    image.setDevicePixelRatio(ratio)
    image.fill(theme.current().q("sunk"))
    painter = QPainter(image)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    box = portrait.crisp(painter, QRectF(11, 7, 101, 101))
    edges = [edge * ratio for edge in (box.left(), box.top(), box.right(), box.bottom())]
    assert all(abs(edge - round(edge)) < 1e-6 for edge in edges)
    painter.fillRect(box, Qt.GlobalColor.white)
    portrait.round_corners(painter, box, theme.current().sunk)
    painter.end()
    left, top, right, bottom = (round(edge) for edge in edges)
    for x, y in ((left, top), (right - 1, top), (left, bottom - 1), (right - 1, bottom - 1)):
        assert image.pixelColor(x, y).lightness() < 128  # the ground, or nearly
    assert image.pixelColor((left + right) // 2, top).lightness() == 255
