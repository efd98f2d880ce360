"""Flips: what a search found with the old model and what it finds with the new one, a card each, the worst first.

A card has the face that searches, the match in the old gallery by the old model (A) over that by the new one (B), each
with a mark for right or wrong; under them how the score of the true mate and the margin changed. A pair that flipped
has the one other picture, and a mark for each model; an error of one test has one mark. A click looks at the face
(Ctrl toggles it in the selection, Shift adds), a double click explains the pair in Match; arrows walk, Enter explains,
E shows the face large.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from facelens.analyses.cross_errors import CrossErrors
from facelens.analyses.flips import LOST, Flips
from facelens.images.faceset import Ids
from facelens.session.selection import Mode, Selection
from facelens.views import marks, theme
from facelens.views.chips import badge
from facelens.views.controls import draw_text
from facelens.views.grid import SCROLL_BAR, band_mode
from facelens.views.hover import Line
from facelens.views.painted_rows import ENTER, PaintedRows
from facelens.views.panel import Desk
from facelens.views.shortcuts import pressed
from facelens.words import number, tr

CARD, HIGH, GAP, EDGE = 152, 146, 8, 10  # px; a card, between cards, around them
FACE, SMALL, ALONE, CHIP = 76, 35, 48, 15  # px; the face, each of two others, the only other, a letter
MOST = 20_000  # cards of pairs

Ruling = tuple[str, bool]  # "A" or "B" or "", and whether it was right


@dataclass(frozen=True)
class Card:
    """A face, whom it was taken for or not, and what is told of it."""

    face: int
    others: tuple[tuple[int, tuple[Ruling, ...]], ...]  # one or two other faces, each with whose rulings on it
    told: tuple[tuple[str, str], ...]  # two lines: what, and how much
    good: bool  # the tone of the second one

    @property
    def other(self) -> int:
        """The one that is to be explained: whom the new model found."""
        return self.others[-1][0]


def searches(flips: Flips, way: int) -> list[Card]:
    """The searches that were lost or gained."""
    found, places = flips.searches, flips.lost if way == LOST else flips.gained
    moved = found.new_margin[places] - found.old_margin[places]  # infinite where one of both accepts nothing
    return [
        Card(
            int(found.ids[i]),
            (
                (int(found.old_match[i]), (("A", bool(found.old_right[i])),)),
                (int(found.new_match[i]), (("B", bool(found.new_right[i])),)),
            ),
            _told(tr("mate"), float(found.old_score[i]), float(found.new_score[i]), float(by)),
            way != LOST,
        )
        for i, by in zip(places.tolist(), moved.tolist())
    ]


def pairs(flips: Flips) -> list[Card]:
    """The genuine pairs that were lost, then those that were gained; the largest change of margin first."""
    found = flips.pairs
    limits = flips.new_threshold - flips.old_threshold
    moved = found.new - found.old - (limits if np.isfinite(limits) else 0.0)
    order = np.argsort(found.change, kind="stable")[:MOST]
    return [
        Card(
            int(found.first[i]),
            ((int(found.second[i]), (("A", found.change[i] == LOST), ("B", found.change[i] != LOST))),),
            _told(tr("score"), float(found.old[i]), float(found.new[i]), float(moved[i])),
            bool(found.change[i] != LOST),
        )
        for i in order.tolist()
    ]


def errors(found: CrossErrors) -> list[Card]:
    """The errors of one test: pairs of one person it misses, then strangers it accepts, each the worst first."""
    words = {True: tr("missed"), False: tr("false match")}
    return [
        Card(
            int(found.first[i]),
            ((int(found.second[i]), (("", False),)),),
            ((words[bool(found.genuine[i])], number(found.score[i], 3)), _margin(float(found.margin[i]))),
            False,
        )
        for i in range(len(found.first))
    ]


def _told(what: str, before: float, after: float, moved: float) -> tuple[tuple[str, str], ...]:
    return (what, f"{number(before, 2)} → {number(after, 2)}"), _margin(moved)


def _margin(moved: float) -> tuple[str, str]:
    return tr("margin"), number(moved, 3, sign=True) if np.isfinite(moved) else tr("n/a")


class FlipCards(PaintedRows):
    """See the module's words."""

    explained = Signal(object, object)  # a face, and the one it is compared with

    head = 0
    commands = ("view.loupe",)

    def __init__(self, desk: Desk, parent: QWidget | None = None) -> None:
        super().__init__(desk, parent)
        self.flips: Sequence[Card] = ()
        self.why = ""
        self._at = 0
        self.setAccessibleName(tr("Flips"))
        self.setWhatsThis(
            tr(
                "What a search found with the old model and finds with the new one, the worst first. A click looks at "
                "the face, a double click or Enter explains the pair in Match; arrows walk."
            )
        )

    def show_flips(self, flips: Sequence[Card], *, why: str = "") -> None:
        """Other cards; `why` says why there are none."""
        self.flips, self.why, self._at = flips, why, 0
        self.bar.setValue(0)
        self.roll()
        self.set_under(None)
        self.refresh(self.reads)

    def ids(self) -> Ids:
        """All faces that have a card."""
        return np.unique(np.array([one.face for one in self.flips], np.int64))

    # Where cards are

    @property
    def columns(self) -> int:
        """Cards side by side."""
        return max(1, int((self.width() - SCROLL_BAR - 2 * EDGE + GAP) // (CARD + GAP)))

    @property
    def count(self) -> int:
        return -(-len(self.flips) // self.columns)

    @property
    def pitch(self) -> float:
        return HIGH + GAP

    def card(self, place: int) -> QRectF:
        """Where a card is."""
        row, column = divmod(place, self.columns)
        room = self.width() - SCROLL_BAR - 2 * EDGE + GAP
        width = room / self.columns - GAP if self.count > 1 else CARD
        return QRectF(EDGE + column * (width + GAP), self.top(row) + GAP, width, HIGH)

    def _boxes(self, place: int) -> list[QRectF]:
        """The face, and whom it was compared with."""
        card = self.card(place)
        face = QRectF(card.left() + 8, card.top() + 8, FACE, FACE)
        others = self.flips[place].others
        if sum(len(rulings) for _, rulings in others) == 1:
            return [face, QRectF(face.right() + 6, face.top(), ALONE, ALONE)]
        tops = (face.top(), face.bottom() - SMALL)[: len(others)]
        return [face, *(QRectF(face.right() + 6, top, SMALL, SMALL) for top in tops)]

    def _place(self, point: QPointF) -> int | None:
        row = self.place_at(point.y() - GAP)
        if row is None:
            return None
        first = row * self.columns
        for place in range(first, min(first + self.columns, len(self.flips))):
            if self.card(place).contains(point):
                return place
        return None

    def face_at(self, point: QPointF) -> tuple[int, QRectF] | None:
        place = self._place(point)
        if place is None:
            return None
        flip, (face, *boxes) = self.flips[place], self._boxes(place)
        faces = (flip.face, *(other for other, _ in flip.others))
        found = zip(faces, (face, *boxes))
        return next(((one, box) for one, box in found if box.contains(point) and one >= 0), None)

    # Words

    def lines(self, face: int) -> Sequence[Line]:
        found = next((one for one in self.flips if one.face == face), None)
        return found.told if found is not None else ()

    def current_text(self) -> str:
        if not self.flips:
            return self.why
        flip = self.flips[min(self._at, len(self.flips) - 1)]
        told = [" ".join(line) for line in flip.told]
        place = tr("{place} of {count}", place=self._at + 1, count=len(self.flips))
        return ", ".join([self._name(flip.face), *told, place])

    def _name(self, face: int) -> str:
        faces = self.desk.workspace.faces
        row = faces.row_of(face) if faces is not None else None
        return faces.label(row) if faces is not None and row is not None else ""

    # Painting

    def paintEvent(self, event: QPaintEvent) -> None:
        now, painter = theme.current(), QPainter(self)
        painter.setRenderHints(QPainter.RenderHint.Antialiasing | QPainter.RenderHint.SmoothPixmapTransform)
        painter.fillRect(event.rect(), now.q("base"))
        if not self.flips:
            draw_text(painter, QRectF(self.rect()).adjusted(16, 0, -16, 0), self.why, "text3", 12, align="centre")
        for row in reversed(self.seen()):  # what is asked for last is decoded first
            first = row * self.columns
            for place in reversed(range(first, min(first + self.columns, len(self.flips)))):
                self._paint_card(painter, now, place)

    def _paint_card(self, painter: QPainter, now: theme.Theme, place: int) -> None:
        flip, card = self.flips[place], self.card(place)
        looked_at = flip.face == self.selection.current
        painter.setPen(QPen(now.q("accent" if looked_at else "line"), 1.4 if looked_at else 1))
        painter.setBrush(now.q("soft" if looked_at else "raised"))
        painter.drawRoundedRect(card.adjusted(0.5, 0.5, -0.5, -0.5), 4, 4)
        if self.by_key and self.hasFocus() and place == self._at:
            painter.setPen(QPen(now.q("accent"), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(card.adjusted(2.5, 2.5, -2.5, -2.5), 3, 3)
        face, *boxes = self._boxes(place)
        self.paint_face(painter, flip.face, face)
        if flip.face in self.selection:
            self.paint_ring(painter, flip.face, face)
        for (other, rulings), box in zip(flip.others, boxes):
            self.paint_face(painter, other, box)
            for place, (letter, is_right) in enumerate(rulings):
                if len(rulings) > 1:  # a line each under the picture
                    chip = QRectF(box.left(), box.bottom() + 6 + 19 * place, CHIP, CHIP)
                    mark = QRectF(chip.right() + 5, chip.top() + 1, 13, 13)
                else:
                    chip = QRectF(box.right() + 3, box.bottom() - CHIP, CHIP, CHIP)
                    mark = QRectF(box.right() - 7, box.top() - 5, 13, 13)
                if letter:
                    badge(painter, chip, letter)
                (marks.right if is_right else marks.wrong)(painter, mark, now)
        words = QRectF(card.left() + 8, face.bottom() + 4, card.width() - 16, 17)
        draw_text(painter, words, self._name(flip.face), "text", 11, bold=looked_at)
        for line, ink in zip(flip.told, ("text2", "good" if flip.good else "bad")):
            words.translate(0, 17)
            draw_text(painter, words, " ".join(line), ink, 11)

    # What the user does

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self.by_key = False
        place = self._place(event.position())
        if event.button() != Qt.MouseButton.LeftButton or place is None:
            return
        self._go(place, event.modifiers())

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        place = self._place(event.position())
        if place is not None and event.button() == Qt.MouseButton.LeftButton:
            self._explain(place)

    def _go(self, place: int, held: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
        self._at = place
        self.bring(place // self.columns)
        face = self.flips[place].face
        mode = band_mode(held)
        chosen = np.array([face], np.int64)
        if mode is Mode.REPLACE:
            other = self.flips[place].other
            pair = (face, other) if other >= 0 else None
            self.desk.store.update(selection=Selection(chosen, face, pair), initiator=self)
        else:
            self.choose(chosen, mode, current=face)
        self.tell_screen_readers(aloud=True)
        self.update()

    def _explain(self, place: int) -> None:
        flip = self.flips[place]
        if flip.other >= 0:
            self.explained.emit(flip.face, flip.other)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, across = Qt.Key(event.key()), {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}
        if not self.flips:
            super().keyPressEvent(event)
            return
        if key in ENTER:
            self._explain(self._at)
        elif pressed(event, "view.loupe"):
            self.open_face(self.flips[self._at].face)
        elif key in across:
            self.by_key = True
            self._go(min(max(self._at + across[key], 0), len(self.flips) - 1))
        elif (row := self.target(key, self._at // self.columns)) is not None:
            self.by_key = True
            self._go(min(row * self.columns + self._at % self.columns, len(self.flips) - 1))
        else:
            super().keyPressEvent(event)

    def sizeHint(self) -> QSize:
        return QSize(5 * CARD, HIGH + 2 * GAP)

    def minimumSizeHint(self) -> QSize:
        return QSize(CARD + 2 * EDGE, HIGH + 2 * GAP)
