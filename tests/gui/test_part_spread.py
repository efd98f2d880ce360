"""Small multiples of parts: where they are, what a click selects, what is told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QImage

from facelens.session.selection import Mode
from facelens.views import theme
from facelens.views.panel import Desk
from facelens.views.part_spread import LEFT as WORDS
from facelens.views.part_spread import NARROW, PartSpread, Spot
from tests.gui.parted import hover, made_faces, shown

LEFT, KEYS = Qt.MouseButton.LeftButton, Qt.Key
NONE, SHIFT = Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.ShiftModifier
COUNT, K = 60, 8


@pytest.fixture
def view(desk: Desk, panel: Callable[..., PartSpread], tmp_path: Path) -> PartSpread:
    """60 faces of 8 parts; whatever part is chosen becomes the current one."""
    faces = made_faces(tmp_path, COUNT)
    desk.store.update(faces=faces)
    made = panel(PartSpread)
    made.resize(1200, 250)
    made.show_values(*shown(faces, count=K))
    made.part_chosen.connect(made.set_part)
    return made


@pytest.mark.parametrize("parts", [2, 16, 64])
def test_every_face_and_every_bin_is_hit_by_its_own_hit_test(view: PartSpread, parts: int) -> None:
    view.show_values(*shown(view._shown.faces, count=parts))
    for width, height in ((1440, 250), (700, 190), (1200, 520)):
        view.resize(width, height)
        for current in (0, parts - 1):
            view.set_part(current)
            assert view.rect().toRectF().contains(view.multiple_rect(current))
            for part in view.seen():
                check_hits(view, part)
        assert bool(view._bar.maximum()) == (parts * NARROW > width - 100)


def check_hits(view: PartSpread, part: int) -> None:
    box = view.multiple_rect(part)
    assert box.width() >= NARROW - 1
    if box.right() > view.width() or box.left() < WORDS:
        return  # scrolled half out
    assert view.spot_at(box.topLeft() + QPointF(3, 3)) == Spot(part)
    assert view.face_rect(part, view.each).top() == view._plan.end(1), "beside the words for the high end"
    for place, face in enumerate(view.ends(part)):
        spot = view.face_rect(part, place).center()
        assert box.contains(view.face_rect(part, place))
        assert view.spot_at(spot) == Spot(part, place=place) and view.face_at(spot)[0] == face
    for at in np.flatnonzero(view._counts[part]).tolist():
        assert view.spot_at(view.bin_rect(part, at).center()) == Spot(part, bin=at)


def test_the_ends_are_the_lowest_and_the_highest(view: PartSpread) -> None:
    column, ids = view._shown.values[:, 3], view._shown.ids
    known = sorted((float(value), int(face)) for value, face in zip(column, ids) if value == value)
    n = view.each
    assert n >= 2
    assert view.ends(3) == [face for _, face in known[:n]] + [face for _, face in known[::-1][:n]]


def test_more_faces_where_there_is_height(view: PartSpread) -> None:
    few = view._plan.lines
    view.resize(1200, 520)
    assert (few, view._plan.lines) == (1, 3)


def test_a_click_chooses_the_part_selects_a_value_looks_at_a_face(qtbot, view: PartSpread, calls) -> None:
    selected: list[tuple[list[int], Mode]] = []
    view.select.connect(lambda ids, mode: selected.append((sorted(ids.tolist()), mode)))
    qtbot.mouseClick(view, LEFT, NONE, (view.multiple_rect(2).topLeft() + QPointF(8, 8)).toPoint())
    assert view._part == 2 and not selected
    column, edges = view._shown.values[:, 5], view._edges
    for at, held in ((len(edges) - 2, NONE), (int(view._counts[5].argmax()), SHIFT)):
        at = at if view._counts[5, at] else int(np.flatnonzero(view._counts[5])[-1])
        qtbot.mouseClick(view, LEFT, held, view.bin_rect(5, at).center().toPoint())
        last = at == len(edges) - 2
        inside = [edges[at] <= v and (v < edges[at + 1] or (last and v <= edges[at + 1])) for v in column]
        ids, mode = selected.pop()
        assert ids == sorted(view._shown.ids[inside].tolist()) and len(ids) == view._counts[5, at]
        assert mode is (Mode.ADD if held else Mode.REPLACE) and view._part == 5
    spot = view.face_rect(1, view.each).center().toPoint()
    qtbot.mouseClick(view, LEFT, NONE, spot)
    assert view.selection.current == view.ends(1)[view.each] and view._part == 1
    qtbot.mouseDClick(view, LEFT, NONE, spot)
    assert calls.named("act") == ["view.loupe"]


def test_bins_that_are_seen_hold_all_faces(view: PartSpread) -> None:
    assert view._counts.shape[1] < view._shown.spread.counts.shape[1], "merged until they can be hit"
    for part in range(K):
        counts = [len(view.faces_of(part, at)) for at in range(view._counts.shape[1])]
        assert counts == view._counts[part].tolist() and sum(counts) >= COUNT - 2


def test_keys_walk_parts_faces_and_values(qtbot, view: PartSpread, calls) -> None:
    selected: list[np.ndarray] = []
    view.select.connect(lambda ids, mode: selected.append(ids))
    qtbot.keyClick(view, KEYS.Key_Right)
    assert view._part == 1 and "part 2, median log σ²" in view.accessibleDescription()
    qtbot.keyClick(view, KEYS.Key_Down)
    assert view.selection.current == view.ends(1)[0] and view.accessibleDescription().endswith("surest")
    qtbot.keyClick(view, KEYS.Key_Right)
    assert view.selection.current == view.ends(2)[0], "the same row"
    qtbot.keyClick(view, KEYS.Key_Return)
    assert calls.named("act") == ["view.loupe"]
    qtbot.keyClick(view, KEYS.Key_PageDown)
    middle = view._bin
    low, high = view._edges[middle : middle + 2]
    assert low <= np.nanmedian(view._shown.values[:, 2]) <= high
    qtbot.keyClick(view, KEYS.Key_PageDown)
    assert view._bin > middle and view.accessibleDescription() == view.bin_text(2, view._bin)
    qtbot.keyClick(view, KEYS.Key_Space)
    assert selected[-1].tolist() == view.faces_of(2, view._bin).tolist()
    qtbot.keyClick(view, KEYS.Key_End)
    assert view._part == K - 1


def test_a_part_without_values_is_hatched(view: PartSpread) -> None:
    values = view._shown.values.copy()
    values[:, 4] = np.nan
    view.show_values(*shown(view._shown.faces, count=K, values=values))
    image = view.grab().toImage().convertToFormat(QImage.Format.Format_RGB32)
    box, ground = view._box(4).adjusted(12, 4, -12, -4).toRect(), theme.current().q("base").rgb()
    line = [image.pixel(x, box.center().y()) for x in range(box.left(), box.right())]
    assert ground in line and any(ink != ground for ink in line)
    assert view.spot_at(QPointF(box.center())) == Spot(4)


def test_what_is_told(view: PartSpread) -> None:
    at = int(view._counts[6].argmax())
    low, high = (f"{edge:.2f}".replace("-", "−") for edge in view._edges[at : at + 2])
    assert view.bin_text(6, at) == f"part 7 · log σ² {low} to {high} · {view._counts[6, at]} faces"
    hover(view, view.bin_rect(6, at).center())
    assert view._spot == Spot(6, bin=at) and view.hovered is None
    view.grab()
    hover(view, view.face_rect(6, 0).center())
    face = view.ends(6)[0]
    assert view.hovered == face and view.lines(face)[0] == ("part 7", "p1")
    view.show_nothing("no parts")
    view.grab()
    assert view.accessibleDescription() == "no parts" and view.spot_at(QPointF(300, 100)) is None
