"""The strip: who is in which row, what mouse and keys do to the one selection, and what is painted."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from PySide6.QtCore import QEvent, QPoint, QPointF, QRectF, Qt
from PySide6.QtGui import QMouseEvent, QWheelEvent
from PySide6.QtWidgets import QApplication

from facelens.figures.strip import BANDS
from facelens.images.faceset import FaceSet, Labels
from facelens.images.packed import Packed
from facelens.session.selection import Selection
from facelens.views import painted, theme
from facelens.views.panel import Desk
from facelens.views.strip import BandStrip, Seats, disagreement

NONE = Qt.KeyboardModifier.NoModifier
CTRL = Qt.KeyboardModifier.ControlModifier
SHIFT = Qt.KeyboardModifier.ShiftModifier
ALT = Qt.KeyboardModifier.AltModifier
LEFT = Qt.MouseButton.LeftButton
KEYS = Qt.Key
COUNT = 400
SIZE = (876, 394)  # eight in a row


def many(root: Path, count: int) -> FaceSet:
    """`count` made-up faces over four files, the last of which is no picture."""
    for i in range(3):
        Image.new("RGB", (60, 60), (60 * i + 40, 30, 30)).save(root / f"{i}.png")
    (root / "3.png").write_bytes(b"no picture at all")
    which = np.arange(count) % 3
    which[7::100] = 3
    paths = Packed.of([b"0.png", b"1.png", b"2.png", b"3.png"]).take(which)
    identity = Labels((np.arange(count) % 3).astype(np.int32), ("Ada", "Bo", "Cy"))
    return FaceSet("g", root, paths, identity, {}, None, np.random.default_rng(1).permutation(count) + 100)


def numbers(count: int = COUNT) -> tuple[np.ndarray, np.ndarray]:
    """Values in no order, and their percentiles."""
    values = np.random.default_rng(2).permutation(count) / max(count, 1)
    return values, 100 * (values + 0.5 / max(count, 1))


@pytest.fixture
def strip(desk: Desk, panel: Callable[..., BandStrip], tmp_path: Path) -> BandStrip:
    """400 faces with values 0, 0.0025, ..., the upper half of the odd rows wrong."""
    faces = many(tmp_path, COUNT)
    desk.store.update(faces=faces)
    made = panel(BandStrip)
    made.resize(*SIZE)
    values, percentiles = numbers()
    right = np.where(np.arange(COUNT) % 5 == 0, 0, 1).astype(np.int8)
    made.show_faces(faces.ids, values, percentiles, right=right, name="variance")
    return made


def value_of(strip: BandStrip, face: int) -> float:
    return float(strip._values[strip._place(face)])


def values_shown(strip: BandStrip, row: int) -> list[float]:
    return [value_of(strip, int(face)) for face in strip.shown(row)]


def click(qtbot, strip: BandStrip, row: int, column: int, modifiers=NONE) -> int:
    """Click the face at a seat; returns its id."""
    face = int(strip.shown(row)[column])
    qtbot.mouseClick(strip, LEFT, modifiers, strip.box_of(face).center().toPoint())
    return face


def hover(strip: BandStrip, spot: QPointF) -> None:
    where = strip.mapToGlobal(spot)
    move = QMouseEvent(QEvent.Type.MouseMove, spot, where, Qt.MouseButton.NoButton, Qt.MouseButton.NoButton, NONE)
    QApplication.sendEvent(strip, move)


def wheel(strip: BandStrip, row: int, delta: int) -> bool:
    """Turn the wheel over a row; whether the strip took it."""
    spot = strip._seats.box(row, 1).center()
    event = QWheelEvent(
        spot, strip.mapToGlobal(spot), QPoint(), QPoint(0, delta), Qt.MouseButton.NoButton, NONE,
        Qt.ScrollPhase.NoScrollPhase, False,
    )  # fmt: skip
    QApplication.sendEvent(strip, event)
    return event.isAccepted()


def selected(strip: BandStrip) -> list[int]:
    return strip.selection.ids.tolist()


# Who is where


def test_rows_are_bands_of_percentiles(strip: BandStrip) -> None:
    for row, band in enumerate(BANDS):
        seen = strip.shown(row).tolist()
        while strip.turn(row, 1):
            seen.extend(strip.shown(row).tolist())
        inside = (strip._percentiles >= band.low) & (strip._percentiles <= band.high)
        assert sorted(seen) == sorted(strip._ids[inside]), "each once"
    assert [len(walk) for walk in strip._walks] == [40, 40, 20]


def test_low_and_medium_are_spread_and_high_starts_with_the_highest(strip: BandStrip) -> None:
    low, medium, high = (values_shown(strip, row) for row in range(3))
    assert len(low) == len(medium) == len(high) == 8
    assert low[0] == 0 and np.allclose(np.diff(low), 5 / COUNT)
    assert np.allclose(np.diff(medium), 5 / COUNT) and medium[0] >= 0.449 and medium[-1] <= 0.551
    assert high == [(COUNT - 1 - i) / COUNT for i in range(8)]


@pytest.mark.parametrize("count", [0, 1, 3, 12, 13])
def test_few_faces(desk: Desk, panel: Callable, tmp_path: Path, count: int) -> None:
    faces = many(tmp_path, count)
    desk.store.update(faces=faces)
    made = panel(BandStrip)
    made.show_faces(faces.ids, *numbers(count))
    made.grab()
    made.resize(*made.minimumSizeHint().toTuple())
    made.grab()
    assert made.accessibleDescription().startswith("Low p0 to p10: ")


def test_missing_values_are_in_no_row(strip: BandStrip) -> None:
    values, percentiles = numbers()
    low = percentiles <= 10
    values[low], percentiles[low] = np.nan, np.nan
    strip.show_faces(strip._ids, values, percentiles)
    assert not len(strip.shown(0)) and len(strip.shown(1)) == 8
    strip.grab()


@pytest.mark.parametrize(("width", "height"), [(876, 394), (845, 246), (1280, 600), (400, 221), (560, 300)])
def test_three_rows_of_squares_fit_any_room(width: int, height: int) -> None:
    seats = Seats.make(width, height)
    assert 48 <= seats.size <= 112
    boxes = [seats.box(row, column) for row in range(3) for column in range(seats.columns)]
    room = QRectF(0, 0, width, height)
    for i, box in enumerate(boxes):
        assert room.contains(box.adjusted(-5, -18, 5, 2)), "with its ring and its value"
        assert not any(box.adjusted(-4, -18, 4, 0).intersects(other) for other in boxes[i + 1 :])
        assert seats.at(box.center()) == divmod(i, seats.columns)


def test_size_follows_the_room() -> None:
    assert Seats.make(876, 394).columns == 8
    assert Seats.make(876, 246).size < Seats.make(876, 394).size
    assert Seats.make(2400, 900).size == 112 and Seats.make(876, 100).size == 48


# Turning over


def test_the_wheel_turns_one_row_over_until_it_ends(strip: BandStrip) -> None:
    before = [strip.shown(row).tolist() for row in range(3)]
    seen = set(before[0])
    for _ in range(4):
        assert wheel(strip, 0, -120)
        page = values_shown(strip, 0)
        assert page == sorted(page) and max(page) - min(page) > 0.08, "each page reaches through the band"
        seen |= set(strip.shown(0).tolist())
    assert len(seen) == 40
    assert not wheel(strip, 0, -120), "at its end the wheel is for what lies around"
    assert [strip.shown(row).tolist() for row in (1, 2)] == before[1:]
    assert wheel(strip, 1, -60) and strip.shown(1).tolist() == before[1], "half a notch moves nothing yet"
    assert wheel(strip, 1, -60) and strip.shown(1).tolist() != before[1]


def test_arrows_at_the_left_turn_over(qtbot, strip: BandStrip) -> None:
    for by, page in ((1, 1), (1, 2), (-1, 1), (-1, 0), (-1, 0)):
        qtbot.mouseClick(strip, LEFT, NONE, strip.turn_rect(2, by).center().toPoint())
        assert strip._pages == [0, 0, page]
    assert not len(strip.selection), "which selects nothing"


def test_a_face_chosen_elsewhere_is_brought_into_sight(strip: BandStrip, desk: Desk) -> None:
    face = int(strip._ids[strip._walks[1][-1]])
    assert strip.box_of(face) is None
    desk.store.update(selection=Selection(current=face))
    assert strip.box_of(face) is not None and strip._pages == [0, 4, 0]
    strip.turn(1, -1)
    desk.store.update(selection=Selection(strip._ids[:3], current=face))
    assert strip._pages == [0, 3, 0], "a selection alone turns nothing over"


def test_another_size_keeps_the_current_face_in_sight(strip: BandStrip, desk: Desk) -> None:
    face = int(strip._ids[strip._walks[1][-1]])
    desk.store.update(selection=Selection(current=face))
    for size in ((500, 394), (1300, 240), SIZE):
        strip.resize(*size)
        assert strip.rect().contains(strip.box_of(face).toRect())


# Selecting


def test_clicks_select_like_in_the_grid(qtbot, strip: BandStrip) -> None:
    one = click(qtbot, strip, 0, 1)
    assert selected(strip) == [one] and strip.selection.current == one
    other = click(qtbot, strip, 2, 3, CTRL)
    assert selected(strip) == sorted([one, other]) and strip.selection.current == other
    click(qtbot, strip, 2, 3, CTRL)
    assert selected(strip) == [one]
    start = click(qtbot, strip, 1, 2)
    end = click(qtbot, strip, 1, 4, SHIFT)
    assert selected(strip) == sorted(strip.shown(1)[2:5].tolist()) and strip.selection.current == end
    click(qtbot, strip, 1, 2, ALT)
    assert start not in strip.selection and len(strip.selection) == 2
    click(qtbot, strip, 0, 5, SHIFT)
    assert selected(strip) == [int(strip.shown(0)[5])], "from another row the range starts anew"
    qtbot.mouseClick(strip, LEFT, NONE, QPoint(strip.width() - 4, 4))
    assert selected(strip) == []


def test_a_range_reaches_over_pages(qtbot, strip: BandStrip) -> None:
    click(qtbot, strip, 2, 6)
    strip.turn(2, 1)
    click(qtbot, strip, 2, 1, SHIFT)
    ranks = sorted(round((1 - value_of(strip, face)) * COUNT) - 1 for face in selected(strip))
    assert ranks == [6, 7, 8, 9]


def test_the_words_at_the_left_select_the_band(qtbot, strip: BandStrip) -> None:
    words = [strip.key_rect(row).topLeft().toPoint() + QPoint(20, 22) for row in range(3)]
    qtbot.mouseClick(strip, LEFT, NONE, words[2])
    assert selected(strip) == sorted(strip._ids[strip._walks[2]].tolist())
    qtbot.mouseClick(strip, LEFT, SHIFT, words[0])
    assert len(strip.selection) == 60
    qtbot.mouseClick(strip, LEFT, ALT, words[2])
    assert len(strip.selection) == 40


def test_double_click_and_keys_open_the_loupe(qtbot, strip: BandStrip, calls) -> None:
    face = int(strip.shown(1)[5])
    qtbot.mouseDClick(strip, LEFT, NONE, strip.box_of(face).center().toPoint())
    assert strip.selection.current == face and calls.named("act") == ["view.loupe"]
    qtbot.keyClick(strip, KEYS.Key_E)
    qtbot.keyClick(strip, KEYS.Key_Return)
    assert calls.named("act") == ["view.loupe"] * 3


def test_keys_move_select_and_extend(qtbot, strip: BandStrip) -> None:
    qtbot.keyClick(strip, KEYS.Key_Right)
    assert strip.selection.current == strip.shown(0)[0], "the first key shows where one is"
    for key, row, column, page in (
        (KEYS.Key_Right, 0, 1, 0), (KEYS.Key_Left, 0, 0, 0), (KEYS.Key_Left, 0, 0, 0), (KEYS.Key_Up, 0, 0, 0),
        (KEYS.Key_PageDown, 0, 0, 1), (KEYS.Key_Left, 0, 7, 0), (KEYS.Key_Right, 0, 0, 1), (KEYS.Key_PageUp, 0, 0, 0),
        (KEYS.Key_Right, 0, 1, 0), (KEYS.Key_Down, 1, 1, 0), (KEYS.Key_Down, 2, 1, 0), (KEYS.Key_Down, 2, 1, 0),
        (KEYS.Key_End, 2, 3, 2), (KEYS.Key_Right, 2, 3, 2), (KEYS.Key_Up, 1, 3, 0), (KEYS.Key_Home, 1, 0, 0),
    ):  # fmt: skip
        qtbot.keyClick(strip, key)
        assert strip._seat(strip.selection.current) == (row, page, column)
        assert strip._pages[row] == page and selected(strip) == [strip.selection.current]
    qtbot.keyClick(strip, KEYS.Key_Right, SHIFT)
    qtbot.keyClick(strip, KEYS.Key_Right, SHIFT)
    assert selected(strip) == sorted(strip.shown(1)[:3].tolist())
    qtbot.keyClick(strip, KEYS.Key_Right, CTRL)
    assert len(strip.selection) == 3 and strip.selection.current == strip.shown(1)[3]
    qtbot.keyClick(strip, KEYS.Key_Space)
    assert selected(strip) == sorted(strip.shown(1)[:4].tolist())
    qtbot.keyClick(strip, KEYS.Key_Escape)
    assert selected(strip) == [] and strip.selection.current == strip.shown(1)[3]


# What is painted


def pixel(strip: BandStrip, row: int, column: int, dx: int, dy: int) -> str:
    box = strip._seats.box(row, column).toRect()
    return strip.grab().toImage().pixelColor(box.left() + dx, box.top() + dy).name()


def test_refused_wrong_and_selected_are_marked(strip: BandStrip, desk: Desk, settle: Callable) -> None:
    strip.grab()
    settle(desk)
    dark, size = theme.DARK, strip._seats.size
    assert pixel(strip, 2, 0, 40, size - 2) != dark.warn
    third = values_shown(strip, 2)[2]
    strip.set_limit(third)
    assert [pixel(strip, 2, i, 40, size - 2) == dark.warn for i in range(4)] == [True, True, False, False]
    strip.set_limit(None)
    assert pixel(strip, 2, 0, 40, size - 2) != dark.warn
    wrong = [strip._right[strip._place(int(face))] == 0 for face in strip.shown(1)]
    assert 0 < sum(wrong) < 8
    assert [pixel(strip, 1, i, size - 8, 6) == dark.bad for i in range(8)] == wrong
    assert pixel(strip, 0, 3, -2, 30) == dark.sunk
    desk.store.update(selection=Selection(strip.shown(0)[3:4]))
    assert pixel(strip, 0, 3, -2, 30) == dark.accent


def test_a_limit_is_only_a_repaint(strip: BandStrip, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strip, "_arrange", None)
    monkeypatch.setattr(strip, "tell_screen_readers", None)
    seen = [strip.shown(row).tolist() for row in range(3)]
    strip.set_limit(0.5)
    assert [strip.shown(row).tolist() for row in range(3)] == seen


def test_a_face_that_left_the_gallery_is_an_empty_block(strip: BandStrip, desk: Desk, settle: Callable) -> None:
    strip.grab()
    settle(desk)
    gone = int(strip.shown(2)[0])
    faces = desk.workspace.faces
    desk.store.update(faces=faces.take(np.flatnonzero(faces.ids != gone)))
    assert pixel(strip, 2, 0, 40, 40) == theme.DARK.raised


def test_light_theme(strip: BandStrip, qapp: QApplication) -> None:
    theme.apply(qapp, "light")
    assert strip.grab().toImage().pixelColor(3, 3).name() == theme.LIGHT.sunk
    theme.apply(qapp, "dark")


# What is told


def test_the_card_tells_value_percentile_and_members(qtbot, strip: BandStrip) -> None:
    face = int(strip.shown(2)[0])
    asked = []
    strip.describe = lambda face: asked.append(face) or disagreement(["plain", "residual"], np.array([0.12, 0.31]))
    strip.set_limit(0.9)
    hover(strip, strip.box_of(face).center())
    assert strip.hovered == face and not strip._card.isVisible(), "not before its time"
    qtbot.waitUntil(strip._card.isVisible)
    verdict = "wrong" if strip._right[strip._place(face)] == 0 else "right"
    assert strip._card._lines == (
        "variance 0.998 · p100", f"{verdict}, refused", "away from the others", ("residual", "0.31"), ("plain", "0.12"),
    )  # fmt: skip
    assert asked == [face] and strip._card.height() == 76 + 3 * 15
    assert not strip._card.geometry().intersects(strip.box_of(face).toRect())
    strip._card.grab()
    QApplication.sendEvent(strip, QEvent(QEvent.Type.Leave))
    assert strip.hovered is None and not strip._card.isVisible()


def test_a_picture_that_cannot_be_read_says_why(strip: BandStrip, desk: Desk, settle: Callable) -> None:
    faces = desk.workspace.faces
    broken = int(faces.ids[7])
    values, percentiles = numbers()
    values[7], percentiles[7] = 2.0, 100.0
    strip.show_faces(faces.ids, values, percentiles)
    strip.grab()
    settle(desk)
    hover(strip, strip.box_of(broken).center())
    strip._show_card()
    assert "3.png" in strip._card._lines[0] and strip._card.height() == 76
    desk.store.update(selection=Selection(current=broken))
    assert "3.png" in strip.accessibleDescription()


def test_a_score_that_was_turned_round_is_written_as_it_is(strip: BandStrip, desk: Desk) -> None:
    values, percentiles = numbers()
    strip.show_faces(strip._ids, values - 1, percentiles, name="quality", lower=True)  # quality is 1 - value
    assert strip.accessibleDescription() == (
        "High p90 to p100: 40 faces, Medium p45 to p55: 40 faces, Low p0 to p5: 20 faces"
    )
    worst = int(strip.shown(2)[0])
    assert value_of(strip, worst) == max(strip._values)
    strip.set_limit(-0.01)
    assert strip.lines(worst) == ["quality 0.002 · p0", "refused"]


def test_many_members_are_cut_and_unknown_ones_left_out() -> None:
    names = [f"m{i}" for i in range(8)]
    apart = np.arange(8) / 10
    assert disagreement(names, apart)[1:] == [
        ("m7", "0.70"), ("m6", "0.60"), ("m5", "0.50"), ("m4", "0.40"), ("m3", "0.30"), "and 3 more",
    ]  # fmt: skip
    assert disagreement(names, np.full(8, np.nan)) == []


def test_screen_readers_hear_the_current_face(qtbot, strip: BandStrip, monkeypatch: pytest.MonkeyPatch) -> None:
    assert strip.accessibleName() == "Faces by variance"
    assert strip.accessibleDescription() == (
        "Low p0 to p10: 40 faces, Medium p45 to p55: 40 faces, High p95 to p100: 20 faces"
    )
    said = []
    monkeypatch.setattr(painted.QAccessible, "isActive", staticmethod(lambda: True))
    monkeypatch.setattr(painted.QAccessible, "updateAccessibility", staticmethod(lambda e: said.append(e.message())))
    strip.set_limit(0.5)
    click(qtbot, strip, 2, 0)
    assert said[-1] == strip.accessibleDescription()
    assert "variance 0.998 · p100" in said[-1] and said[-1].endswith("selected, High, 1 of 20")
    qtbot.keyClick(strip, KEYS.Key_End)
    assert said[-1].endswith("selected, High, 20 of 20") and "refused" in said[-1]


def test_dies_when_it_is_closed(desk: Desk, tmp_path: Path, pump: Callable) -> None:
    desk.store.update(faces=many(tmp_path, 20))
    made = BandStrip(desk)
    made.show_faces(desk.workspace.faces.ids, *numbers(20))
    made.show()
    gone = weakref.ref(made)
    made.close()
    made.deleteLater()
    del made
    pump()
    gc.collect()
    assert gone() is None
    desk.store.update(selection=Selection(current=100))
