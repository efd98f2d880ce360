"""The quadrants: counts against a plain loop, what clicks and keys ask for, and what is painted."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from math import inf
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from PySide6.QtCore import QEvent, QPoint, QPointF, QRectF, Qt
from PySide6.QtGui import QFocusEvent, QHelpEvent, QMouseEvent
from PySide6.QtWidgets import QApplication, QToolTip

from facelens.analyses.rejection import Recognition
from facelens.images.faceset import FaceSet, Labels
from facelens.images.packed import Packed
from facelens.session.selection import Selection
from facelens.views import painted, theme
from facelens.views.panel import Desk
from facelens.views.quadrants import CARD, CARDS, RIGHT, SURE, UNSURE, WRONG, Plan, Quadrants

NONE = Qt.KeyboardModifier.NoModifier
LEFT = Qt.MouseButton.LeftButton
KEYS = Qt.Key
COUNT = 200
SIZE = (556, 345)
SURE_WRONG = (WRONG, SURE)


def many(root: Path, count: int) -> FaceSet:
    """`count` made-up faces over three files."""
    for i in range(3):
        Image.new("RGB", (60, 60), (60 * i + 40, 30, 30)).save(root / f"{i}.png")
    paths = Packed.of([b"0.png", b"1.png", b"2.png"]).take(np.arange(count) % 3)
    identity = Labels((np.arange(count) % 3).astype(np.int32), ("Ada", "Bo", "Cy"))
    return FaceSet("g", root, paths, identity, {}, None, np.random.default_rng(1).permutation(count) + 100)


def recognised(ids: np.ndarray, right: np.ndarray) -> Recognition:
    """A wrong face is closer to the next one than to its mate, which is the one before."""
    mate_score = np.linspace(0.2, 0.7, len(ids))
    other_score = mate_score + np.where(right == 0, 0.1, -0.1)
    mate_score[right < 0] = np.nan
    return Recognition(
        right.astype(np.int8), np.where(right < 0, -1, np.roll(ids, 1)), mate_score, np.roll(ids, -1), other_score,
        np.zeros(len(ids), np.float32), 0.4, "rank 1",
    )  # fmt: skip


class World:
    """200 faces with values 0, 0.005, ... in no order; every seventh is wrong, every thirteenth cannot be judged."""

    def __init__(self, desk: Desk, made: Quadrants, root: Path) -> None:
        self.desk, self.quadrants = desk, made
        self.all = many(root, COUNT)
        self.ids = self.all.ids
        self.values = np.random.default_rng(2).permutation(COUNT) / COUNT
        self.right = np.where(np.arange(COUNT) % 7 == 0, 0, 1)
        self.right[::13] = -1
        desk.store.update(faces=self.all)
        made.resize(*SIZE)
        made.show_faces(self.ids, self.values, recognised(self.ids, self.right), name="variance")
        self.chosen: list[tuple[list[int], str]] = []
        self.pairs: list[tuple[int, int]] = []
        made.chosen.connect(lambda ids, words: self.chosen.append((ids.tolist(), words)))
        made.pair_wanted.connect(lambda face, other: self.pairs.append((face, other)))

    def expected(self, card: tuple[int, int], limit: float) -> list[int]:
        """Ids of a card by a plain loop, the surest or the least sure first."""
        row, column = card
        inside = [
            (value, int(face))
            for face, value, right in zip(self.ids, self.values, self.right)
            if right == row and (value > limit) == (column == UNSURE)
        ]
        return [face for _, face in sorted(inside, reverse=column == UNSURE)]

    @property
    def current(self) -> int | None:
        return self.desk.workspace.selection.current


@pytest.fixture
def world(desk: Desk, panel: Callable[..., Quadrants], tmp_path: Path) -> World:
    return World(desk, panel(Quadrants), tmp_path)


@pytest.fixture
def quadrants(world: World) -> Quadrants:
    world.quadrants.set_limit(0.7)
    return world.quadrants


def at_card(quadrants: Quadrants, card: tuple[int, int]) -> QPoint:
    """A point of a card that no face covers."""
    return quadrants.card_rect(card).topLeft().toPoint() + QPoint(60, 12)


def at_face(quadrants: Quadrants, card: tuple[int, int], place: int) -> QPoint:
    return quadrants.face_rect(card, place).center().toPoint()


# Counts


@pytest.mark.parametrize("limit", [-1.0, 0.0, 0.3, 0.7, 0.995, 2.0, inf])
def test_cards_hold_what_a_plain_loop_finds(world: World, limit: float) -> None:
    world.quadrants.set_limit(limit)
    for card in CARDS:
        expected = world.expected(card, limit)
        assert world.quadrants.faces(card).tolist() == expected and world.quadrants.count(card) == len(expected)
        assert world.quadrants.shown(card).tolist() == expected[: world.quadrants._plan.room]
    judged = int((world.right >= 0).sum())
    assert sum(map(world.quadrants.count, CARDS)) == judged


def test_no_limit_refuses_nobody(world: World) -> None:
    world.quadrants.set_limit(None)
    assert world.quadrants.count((WRONG, UNSURE)) == world.quadrants.count((RIGHT, UNSURE)) == 0
    assert world.quadrants.heading(SURE) == "sure" and world.quadrants.words(SURE_WRONG).startswith("Sure and wrong: ")
    world.quadrants.grab()


def test_words_of_the_cards(world: World, quadrants: Quadrants) -> None:
    wrong, judged = int((world.right == 0).sum()), int((world.right >= 0).sum())
    sure = len(world.expected(SURE_WRONG, 0.7))
    assert [quadrants.heading(column) for column in (SURE, UNSURE)] == [
        "sure  (variance ≤ 0.700)", "unsure  (variance > 0.700)",
    ]  # fmt: skip
    assert quadrants.share(SURE_WRONG) == f"{100 * sure / judged:.1f} % of {judged} faces"
    assert quadrants.consequence(SURE_WRONG) == "another identity scores above the mate"
    assert quadrants.consequence((WRONG, UNSURE)) == f"refusing these removes {wrong - sure} of {wrong} errors"
    assert quadrants.consequence((RIGHT, UNSURE)) == "price of refusing: right faces lost"
    assert quadrants.unjudged() == f"{COUNT - judged} faces not judged: no other picture of their person"


def test_the_line_says_what_is_so(world: World) -> None:
    known = recognised(world.ids, world.right)
    wrong = world.right == 0
    known.other_score[wrong] = known.mate_score[wrong] - 0.1
    world.quadrants.show_faces(world.ids, world.values, known, name="variance")
    assert world.quadrants.consequence(SURE_WRONG) == "the mate is nearest, but below the threshold"
    known.other_score[np.flatnonzero(wrong)[:2]] = 1.0
    world.quadrants.show_faces(world.ids, world.values, known, name="variance")
    n = int(wrong.sum())
    assert world.quadrants.consequence(SURE_WRONG) == f"another identity above the mate in 2 of {n}"


def test_a_face_without_a_value_is_on_no_card(world: World) -> None:
    values = world.values.copy()
    values[np.flatnonzero(world.right == 1)[:4]] = np.nan
    world.quadrants.show_faces(world.ids, values, recognised(world.ids, world.right), name="variance")
    out = 4 + int((world.right < 0).sum())
    assert sum(map(world.quadrants.count, CARDS)) == COUNT - out
    assert world.quadrants.unjudged() == (f"{out} faces not judged: no other picture of their person, or no variance")


def test_a_score_that_was_turned_round_is_written_as_it_is(world: World) -> None:
    quadrants = world.quadrants
    known = recognised(world.ids, world.right)
    quadrants.show_faces(world.ids, world.values - 1, known, name="quality", lower=True)
    quadrants.set_limit(-0.3)
    assert [quadrants.heading(c) for c in (SURE, UNSURE)] == ["sure  (quality ≥ 0.300)", "unsure  (quality < 0.300)"]
    worst = int(quadrants.faces((RIGHT, UNSURE))[0])
    assert quadrants.lines(worst)[0] == ("quality", f"{1 - max(world.values[world.right == 1]):.3f}")


@pytest.mark.parametrize("count", [0, 1, 3])
def test_few_faces(desk: Desk, panel: Callable, tmp_path: Path, count: int) -> None:
    faces = many(tmp_path, count)
    desk.store.update(faces=faces)
    made = panel(Quadrants)
    made.show_faces(faces.ids, np.zeros(count), recognised(faces.ids, np.ones(count)))
    made.set_limit(0.5)
    made.grab()
    assert made.count((RIGHT, SURE)) == count and not made.consequence((WRONG, UNSURE))


def test_what_is_not_worked_out_yet_says_so(world: World, qtbot) -> None:
    world.quadrants.show_faces(world.ids, world.values, None)
    world.quadrants.set_limit(0.5)
    assert world.quadrants.accessibleDescription() == "Whether the faces are recognised is being worked out"
    world.quadrants.grab()
    qtbot.mouseClick(world.quadrants, LEFT, NONE, at_card(world.quadrants, SURE_WRONG))
    assert not world.chosen


# Room


@pytest.mark.parametrize(("width", "height"), [(556, 345), (540, 207), (800, 480), (340, 193), (1100, 260)])
@pytest.mark.parametrize("quiet", [False, True])
def test_cards_and_faces_fit_any_room(width: int, height: int, quiet: bool) -> None:
    plan = Plan.make(width, height + (18 if quiet else 0), quiet=quiet)
    for card in CARDS:
        box = plan.card(card)
        assert QRectF(0, 0, width, height).contains(box)
        assert not any(box.intersects(plan.card(other)) for other in CARDS if other != card)
        boxes = [plan.face(card, place) for place in range(plan.room)]
        foot = box.adjusted(4, 40, -4, -20 if plan.told else -4)
        for i, face in enumerate(boxes):
            assert foot.contains(face) and face.width() == face.height() >= 28
            assert not any(face.intersects(other) for other in boxes[i + 1 :])


def test_the_mock_up_shows_four_faces_and_a_line_and_less_room_smaller_ones() -> None:
    full, flat = Plan.make(556, 345, quiet=False), Plan.make(556, 207, quiet=False)
    assert full.room == 4 and full.told
    assert flat.room >= 4 and not flat.told and flat.size < full.size
    assert Plan.make(800, 480, quiet=False).lines == 2


# What the user asks for


def test_a_click_on_a_card_chooses_its_faces(world: World, quadrants: Quadrants, qtbot) -> None:
    for card in CARDS:
        qtbot.mouseClick(quadrants, LEFT, NONE, at_card(quadrants, card))
    assert [ids for ids, _ in world.chosen] == [world.expected(card, 0.7) for card in CARDS]
    assert (
        world.chosen[1][1] == f"Unsure and wrong: {len(world.expected((WRONG, UNSURE), 0.7))} faces, variance > 0.700"
    )
    world.chosen.clear()
    qtbot.mouseClick(quadrants, LEFT, NONE, QPoint(5, 5))
    quadrants.set_limit(2.0)
    qtbot.mouseClick(quadrants, LEFT, NONE, at_card(quadrants, (RIGHT, UNSURE)))
    assert not world.chosen, "neither the ground nor an empty card"


def test_a_click_on_a_face_looks_at_it(world: World, quadrants: Quadrants, qtbot) -> None:
    world.desk.store.update(selection=Selection(world.ids[:2]))
    qtbot.mouseClick(quadrants, LEFT, NONE, at_face(quadrants, (RIGHT, UNSURE), 2))
    assert world.current == world.expected((RIGHT, UNSURE), 0.7)[2]
    assert len(world.desk.workspace.selection) == 2 and not world.chosen, "and selects nothing"


def test_a_double_click_compares_a_wrong_face_and_opens_a_right_one(
    world: World, quadrants: Quadrants, qtbot, calls
) -> None:
    qtbot.mouseDClick(quadrants, LEFT, NONE, at_face(quadrants, SURE_WRONG, 1))
    face = world.expected(SURE_WRONG, 0.7)[1]
    place = int(np.flatnonzero(world.ids == face)[0])
    assert world.pairs == [(face, int(world.ids[(place + 1) % COUNT]))] and not calls.named("act")
    qtbot.mouseDClick(quadrants, LEFT, NONE, at_face(quadrants, (RIGHT, SURE), 0))
    assert calls.named("act") == ["view.loupe"] and world.current == world.expected((RIGHT, SURE), 0.7)[0]
    assert len(world.pairs) == 1


def test_where_nobody_is_closer_the_mate_is_compared(world: World, quadrants: Quadrants, qtbot) -> None:
    known = recognised(world.ids, world.right)
    known.other_score[:] = -1.0
    quadrants.show_faces(world.ids, world.values, known)
    qtbot.mouseDClick(quadrants, LEFT, NONE, at_face(quadrants, SURE_WRONG, 0))
    place = int(np.flatnonzero(world.ids == world.pairs[0][0])[0])
    assert world.pairs[0][1] == world.ids[place - 1]


def test_keys_walk_cards_and_faces(world: World, quadrants: Quadrants, qtbot, calls) -> None:
    cards = {card: world.expected(card, 0.7) for card in CARDS}
    for key, card, place in (
        (KEYS.Key_Left, SURE_WRONG, CARD), (KEYS.Key_Right, SURE_WRONG, 0), (KEYS.Key_Right, SURE_WRONG, 1),
        (KEYS.Key_Down, (RIGHT, SURE), 1), (KEYS.Key_Right, (RIGHT, SURE), 2), (KEYS.Key_Right, (RIGHT, SURE), 3),
        (KEYS.Key_Right, (RIGHT, UNSURE), CARD), (KEYS.Key_Up, (WRONG, UNSURE), CARD),
        (KEYS.Key_Right, (WRONG, UNSURE), 0),
    ):  # fmt: skip
        qtbot.keyClick(quadrants, key)
        assert quadrants._cursor == (card, place)
        assert place == CARD or world.current == cards[card][place], "a face is looked at as one comes to it"
    qtbot.keyClick(quadrants, KEYS.Key_Return)
    assert [face for face, _ in world.pairs] == [cards[WRONG, UNSURE][0]]
    qtbot.keyClick(quadrants, KEYS.Key_E)
    assert calls.named("act") == ["view.loupe"] and not world.chosen
    for key in (KEYS.Key_Left, KEYS.Key_Space, KEYS.Key_Left, KEYS.Key_Return):
        qtbot.keyClick(quadrants, key)
    assert [ids for ids, _ in world.chosen] == [cards[WRONG, UNSURE], cards[SURE_WRONG]]


def test_the_keyboard_stays_on_a_card_that_lost_its_faces(world: World, quadrants: Quadrants, qtbot) -> None:
    for key in (KEYS.Key_Right, KEYS.Key_Right):
        qtbot.keyClick(quadrants, key)
    quadrants.set_limit(-1.0)
    assert quadrants._cursor == (SURE_WRONG, CARD)
    assert quadrants.accessibleDescription().startswith("Sure and wrong: 0 faces")


# While the line is dragged


def test_new_pictures_wait_until_the_limit_rests(world: World, settle, monkeypatch, qtbot) -> None:
    quadrants = world.quadrants
    quadrants.repaint()
    settle(world.desk)
    asked: set[int] = set()
    real = world.desk.thumbnails.get

    def counted(faces, row, size):
        asked.add(int(faces.ids[row]))
        return real(faces, row, size)

    monkeypatch.setattr(world.desk.thumbnails, "get", counted)
    before = {int(face) for card in CARDS for face in quadrants.shown(card)}
    quadrants.set_limit(0.7)
    quadrants.repaint()
    after = {int(face) for card in CARDS for face in quadrants.shown(card)}
    assert after - before, "other faces are there"
    assert asked <= before, "but their pictures are not asked for"
    qtbot.waitUntil(lambda: after <= asked)


def test_the_first_pictures_do_not_wait(world: World, monkeypatch) -> None:
    asked = []
    monkeypatch.setattr(world.desk.thumbnails, "get", lambda faces, row, size: asked.append(row))
    world.quadrants.show_faces(world.ids, world.values, recognised(world.ids, world.right))
    world.quadrants.set_limit(0.5)
    world.quadrants.repaint()
    assert len(asked) == 4 * world.quadrants._plan.room


# What is painted and told


def colours(quadrants: Quadrants, box: QRectF) -> set[str]:
    image = quadrants.grab(box.toAlignedRect()).toImage()
    return {image.pixelColor(x, y).name() for x in range(image.width()) for y in range(image.height())}


def test_only_sure_and_wrong_has_a_coloured_frame(world: World, quadrants: Quadrants) -> None:
    def framed() -> list[bool]:
        edges = [quadrants.card_rect(card).adjusted(0, 60, 0, -20) for card in CARDS]
        return [theme.DARK.bad in colours(quadrants, QRectF(box.x(), box.y(), 2, box.height())) for box in edges]

    assert framed() == [True, False, False, False]
    quadrants.set_limit(-1.0)
    assert framed() == [False] * 4, "nobody is sure and wrong"


def test_selected_and_current_faces_are_ringed(world: World, quadrants: Quadrants, settle) -> None:
    quadrants.repaint()
    settle(world.desk)
    quadrants.setFocus()
    ring = quadrants.face_rect((RIGHT, SURE), 1).adjusted(-4, -4, 4, 4)
    assert theme.DARK.accent not in colours(quadrants, ring)
    world.desk.store.update(selection=Selection(quadrants.shown((RIGHT, SURE))[1:2]))
    assert theme.DARK.accent in colours(quadrants, ring)


def test_the_card_is_ringed_for_the_keyboard_only(quadrants: Quadrants, qtbot) -> None:
    outside = quadrants.card_rect(SURE_WRONG).adjusted(-3, 40, 0, -40)
    outside.setWidth(3)
    qtbot.mouseClick(quadrants, LEFT, NONE, at_card(quadrants, SURE_WRONG))
    assert theme.DARK.accent not in colours(quadrants, outside)
    QApplication.sendEvent(quadrants, QFocusEvent(QEvent.Type.FocusIn, Qt.FocusReason.TabFocusReason))
    assert theme.DARK.accent in colours(quadrants, outside)


def test_hovering_tells_who_is_close(world: World, quadrants: Quadrants, qtbot) -> None:
    spot = QPointF(at_face(quadrants, SURE_WRONG, 0))
    none = Qt.MouseButton.NoButton
    QApplication.sendEvent(
        quadrants, QMouseEvent(QEvent.Type.MouseMove, spot, quadrants.mapToGlobal(spot), none, none, NONE)
    )
    qtbot.waitUntil(quadrants._card.isVisible)
    face = world.expected(SURE_WRONG, 0.7)[0]
    place = int(np.flatnonzero(world.ids == face)[0])
    known = recognised(world.ids, world.right)
    who = world.all.label((place + 1) % COUNT)
    assert quadrants._card._lines == (
        ("variance", f"{world.values[place]:.3f}"),
        ("mate", f"{known.mate_score[place]:.3f}"),
        (f"like {who}", f"{known.other_score[place]:.3f}"),
    )


def test_a_tip_has_what_there_may_be_no_room_for(quadrants: Quadrants, monkeypatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(QToolTip, "showText", lambda where, text, widget: told.append(text))
    quadrants.resize(556, 207)
    spot = at_card(quadrants, (WRONG, UNSURE))
    QApplication.sendEvent(quadrants, QHelpEvent(QEvent.Type.ToolTip, spot, quadrants.mapToGlobal(spot)))
    assert "refusing these removes" in told[0] and told[0].startswith("Unsure and wrong: ")


def test_screen_readers_hear_cards_and_faces(world: World, quadrants: Quadrants, qtbot, monkeypatch) -> None:
    assert quadrants.accessibleName() == "Uncertainty and correctness"
    said: list[str] = []
    monkeypatch.setattr(painted.QAccessible, "isActive", staticmethod(lambda: True))
    monkeypatch.setattr(painted.QAccessible, "updateAccessibility", staticmethod(lambda e: said.append(e.message())))
    qtbot.keyClick(quadrants, KEYS.Key_Down)
    assert said[-1].startswith("Sure and right: ") and "faces not judged" in said[-1]
    qtbot.keyClick(quadrants, KEYS.Key_Right)
    n = len(world.expected((RIGHT, SURE), 0.7))
    assert said[-1].endswith(f"Sure and right, 1 of {n}") and "variance 0.0" in said[-1]


def test_light_theme(quadrants: Quadrants, qapp: QApplication) -> None:
    theme.apply(qapp, "light")
    assert quadrants.grab().toImage().pixelColor(3, 3).name() == theme.LIGHT.base
    theme.apply(qapp, "dark")


def test_dies_when_it_is_closed(desk: Desk, tmp_path: Path, pump: Callable) -> None:
    faces = many(tmp_path, 20)
    desk.store.update(faces=faces)
    made = Quadrants(desk)
    made.show_faces(faces.ids, np.arange(20.0), recognised(faces.ids, np.arange(20) % 2))
    made.show()
    gone = weakref.ref(made)
    made.close()
    made.deleteLater()
    del made
    pump()
    gc.collect()
    assert gone() is None
