"""Uncertainty against correctness: four cards of faces, sure or unsure, right or wrong, with what follows from each.

A click on a card chooses all its faces, a click on a face looks at it, a double click on a wrong one compares it with
the face that got in the way. Arrows walk cards and faces; Enter chooses or compares, E shows a face large.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isfinite

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from facelens.analyses.rejection import Recognition
from facelens.images.faceset import Ids
from facelens.views import marks, portrait, theme
from facelens.views.controls import draw_text, text_width
from facelens.views.grid import value_text
from facelens.views.hearing import tell
from facelens.views.hover import Line
from facelens.views.painted import STEP, PaintedFaces
from facelens.views.panel import Desk
from facelens.views.shortcuts import pressed
from facelens.words import number, plural, tr

SETTLE = 150  # ms without another limit until pictures are asked for
LEFT, TOP, EDGE, GAP = 34, 22, 8, 7  # px; words of the rows, words of the columns, ground, between cards
HEAD, FOOT, QUIET = 42, 20, 18  # px; title and share of a card, the line under its faces, the line under all cards
LEAST, FAIR, MANY, MOST = 28, 36, 44, 80  # px; sides of a face; under FAIR its words give way, under MANY second rows
ACROSS = 4  # faces in a row rather than larger ones
APART = 6  # px between faces
WRONG, RIGHT = 0, 1  # rows
SURE, UNSURE = 0, 1  # columns
CARDS = tuple((row, column) for row in (WRONG, RIGHT) for column in (SURE, UNSURE))
CARD = -1  # the place of the keyboard on a card itself; 0 and more are its faces

Card = tuple[int, int]
Places = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Judged:
    """Faces of one row, by ascending value, so that a limit parts them at one place."""

    values: NDArray[np.float64]
    places: Places  # in the arrays that were given
    beaten: NDArray[np.int64]  # (n + 1,) how many of the first k have somebody else closer than their mate

    @classmethod
    def of(cls, values: NDArray[np.float64], recognition: Recognition, right: int) -> Judged:
        """The faces that are right (1) or wrong (0); those without a value are left out."""
        inside = np.flatnonzero((recognition.right == right) & np.isfinite(values))
        places = inside[np.argsort(values[inside], kind="stable")]
        beaten = recognition.other_score[places] > recognition.mate_score[places]
        return cls(values[places], places, np.concatenate([[0], np.cumsum(beaten)]))

    def __len__(self) -> int:
        return len(self.places)

    def part(self, limit: float) -> int:
        """How many are at or under a limit."""
        return int(np.searchsorted(self.values, limit, "right"))


@dataclass(frozen=True)
class Plan:
    """Where cards and their faces are."""

    width: float  # of a card
    height: float
    size: int  # of a face
    columns: int
    lines: int
    pitch: float  # from one face to the next
    told: bool  # whether there is room for a line under the faces

    @classmethod
    def make(cls, width: int, height: int, *, quiet: bool) -> Plan:
        """Cards over all the room, which faces fill as far as they can."""
        wide = (width - LEFT - EDGE - GAP) / 2
        high = (height - TOP - EDGE - GAP - (QUIET if quiet else 0)) / 2
        room, free = int(wide) - 16, int(high) - HEAD - 8
        told = free - FOOT >= FAIR
        free -= FOOT if told else 0
        across = (room + APART) // ACROSS - APART
        tries = []
        for lines in (1, 2, 3):
            size = max(LEAST, min(MOST, (free + APART) // lines - APART, max(across, FAIR)) // STEP * STEP)
            if lines == 1 or size >= MANY:
                tries.append((size, max(1, (room + APART) // (size + APART)), lines))
        size, columns, lines = max(tries, key=lambda one: one[0] ** 2 * one[1] * one[2])
        pitch = min((room - size) / max(columns - 1, 1), 1.5 * size)
        return cls(wide, high, size, columns, lines, pitch, told)

    def card(self, card: Card) -> QRectF:
        row, column = card
        return QRectF(LEFT + column * (self.width + GAP), TOP + row * (self.height + GAP), self.width, self.height)

    def face(self, card: Card, place: int) -> QRectF:
        box, (line, column) = self.card(card), divmod(place, self.columns)
        x, y = round(box.x() + 8 + column * self.pitch), round(box.y()) + HEAD + line * (self.size + APART)
        return QRectF(x, y, self.size, self.size)

    @property
    def room(self) -> int:
        """Faces on a card."""
        return self.columns * self.lines


class Quadrants(PaintedFaces):
    """Four cards; see the module's words for what mouse and keys do."""

    chosen = Signal(object, str)  # ids of a card's faces, and what they are
    pair_wanted = Signal(object, object)  # id of a wrong face, id of the one to compare it with

    def __init__(self, desk: Desk, parent: QWidget | None = None) -> None:
        super().__init__(desk, parent)
        tell(self, self._tip_at)
        self._name, self._lower = "", False
        self._ids: Ids = np.zeros(0, np.int64)
        self._values: NDArray[np.float64] = np.zeros(0)
        self._recognition: Recognition | None = None
        self._judged: tuple[Judged, Judged] | None = None  # by row
        self._limit = inf
        self._parts = (0, 0)  # by row: how many are sure
        self._asked: set[int] = set()  # faces whose pictures may be shown while the limit moves
        self._cursor: tuple[Card, int] = (CARDS[0], CARD)
        self._pointed: Card | None = None
        self._by_key = False  # the ring around a card is for the keyboard
        self._settle_timer = QTimer(self)
        self._settle_timer.setSingleShot(True)
        self._settle_timer.setInterval(SETTLE)
        self._settle_timer.timeout.connect(self.update)
        self._plan = Plan.make(self.width(), self.height(), quiet=False)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAccessibleName(tr("Uncertainty and correctness"))
        self.setWhatsThis(
            tr(
                "Faces by sure or unsure, right or wrong. A click on a card selects all its faces, on a face looks at "
                "it; a double click compares a wrong one with the face that got in the way. Arrows walk, Enter selects "
                "or compares."
            )
        )

    # What is shown

    def show_faces(
        self,
        ids: Ids,
        values: NDArray[np.float64],
        recognition: Recognition | None,
        *,
        name: str = "",
        lower: bool = False,
    ) -> None:
        """Show faces by `values`, called `name`, of which high ones are refused; arrays are (N,) in the order of `ids`.

        `recognition` is None while it is being worked out. With `lower` the values were turned round, and are written
        as they are: low ones are refused.
        """
        self._ids, self._values, self._recognition = ids, values, recognition
        self._name, self._lower = name or tr("value"), lower
        self._judged = (
            None if recognition is None else (Judged.of(values, recognition, 0), Judged.of(values, recognition, 1))
        )
        self._asked = set()
        self._settle_timer.stop()
        self.set_under(None)
        self._arrange()
        self._part()

    def set_limit(self, limit: float | None) -> None:
        """Faces above it are unsure. Counts follow at once, pictures that are not there yet when it rests."""
        self._limit = inf if limit is None else limit
        if self._asked:
            self._settle_timer.start()
        self.set_under(None)
        self._part()

    def _part(self) -> None:
        if self._judged is not None:
            wrong, right = self._judged
            self._parts = wrong.part(self._limit), right.part(self._limit)
        self._move(*self._cursor)
        self.refresh(self.reads)

    def count(self, card: Card) -> int:
        """How many faces a card has."""
        row, column = card
        if self._judged is None:
            return 0
        return self._parts[row] if column == SURE else len(self._judged[row]) - self._parts[row]

    def faces(self, card: Card) -> Ids:
        """Ids of the faces of a card: sure ones from the surest, unsure ones from the least sure."""
        return self._ids[self._places(card)]

    def _places(self, card: Card) -> Places:
        row, column = card
        if self._judged is None:
            return np.zeros(0, np.int64)
        places, part = self._judged[row].places, self._parts[row]
        return places[:part] if column == SURE else places[part:][::-1]

    @property
    def _total(self) -> int:
        return sum(map(len, self._judged)) if self._judged is not None else 0

    @property
    def _unjudged(self) -> int:
        return len(self._ids) - self._total if self._judged is not None else 0

    def _arrange(self) -> None:
        self._plan = Plan.make(self.width(), self.height(), quiet=self._unjudged > 0)
        self._move(*self._cursor)

    def resizeEvent(self, event: QResizeEvent) -> None:
        self.set_under(None)
        self._arrange()

    def sizeHint(self) -> QSize:
        return QSize(556, 345)

    def minimumSizeHint(self) -> QSize:
        return QSize(340, TOP + EDGE + GAP + QUIET + 2 * (HEAD + LEAST + 8))

    # Words

    def kind(self, card: Card) -> str:
        """What a card holds."""
        return (
            (tr("Sure and wrong"), tr("Unsure and wrong")),
            (tr("Sure and right"), tr("Unsure and right")),
        )[card[0]][card[1]]

    def share(self, card: Card) -> str:
        """How much of all that is."""
        percent = number(100 * self.count(card) / max(self._total, 1), 1)
        return tr("{percent} % of {faces}", percent=percent, faces=plural(self._total, "{n} face", "{n} faces"))

    def consequence(self, card: Card) -> str:
        """What follows from it, in one line."""
        count = self.count(card)
        if self._judged is None or not count:
            return ""
        wrong = self._judged[WRONG]
        if card == (WRONG, SURE):
            beaten = int(wrong.beaten[count])
            if beaten == count:
                return tr("another identity scores above the mate")
            if not beaten:
                return tr("the mate is nearest, but below the threshold")
            return tr("another identity above the mate in {k} of {n}", k=beaten, n=count)
        if card == (WRONG, UNSURE):
            return tr("refusing these removes {n} of {errors}", n=count, errors=_errors(len(wrong)))
        return tr("price of refusing: right faces lost") if card == (RIGHT, UNSURE) else ""

    def heading(self, column: int) -> str:
        """What a column means."""
        word = tr("sure") if column == SURE else tr("unsure")
        return f"{word}  ({self._rule(column)})" if isfinite(self._limit) else word

    def _rule(self, column: int) -> str:
        limit = value_text(-self._limit if self._lower else self._limit)
        return f"{self._name} {('≥<' if self._lower else '≤>')[column]} {limit}"

    def unjudged(self) -> str:
        """The faces that are on no card."""
        known, n = self._recognition, self._unjudged
        if not n or known is None:
            return ""
        alone = int(np.count_nonzero(known.right < 0))
        why = tr("no other picture of their person") if alone else ""
        if n > alone:
            nothing = tr("no {name}", name=self._name)
            why = tr("{why}, or {other}", why=why, other=nothing) if why else nothing
        return plural(n, "{n} face not judged", "{n} faces not judged") + f": {why}"

    def words(self, card: Card) -> str:
        """A card in one sentence."""
        count = plural(self.count(card), "{n} face", "{n} faces")
        return f"{self.kind(card)}: {count}" + (f", {self._rule(card[1])}" if isfinite(self._limit) else "")

    def lines(self, face: int) -> Sequence[Line]:
        place = self._place(face)
        if place is None or self._recognition is None:
            return ()
        value = -self._values[place] if self._lower else self._values[place]
        told: list[Line] = [(self._name, value_text(value))]
        known, faces = self._recognition, self.desk.workspace.faces
        if isfinite(known.mate_score[place]):
            told.append((tr("mate"), number(float(known.mate_score[place]))))
        row = faces.row_of(int(known.other[place])) if faces is not None else None
        if faces is not None and row is not None:
            told.append((tr("like {name}", name=faces.label(row)), number(float(known.other_score[place]))))
        return told

    def current_text(self) -> str:
        card, place = self._cursor
        if self._judged is None:
            return tr("Whether the faces are recognised is being worked out")
        if place == CARD:
            return ", ".join(
                text for text in (self.words(card), self.share(card), self.consequence(card), self.unjudged()) if text
            )
        face = int(self.faces(card)[place])
        faces = self.desk.workspace.faces
        row = faces.row_of(face) if faces is not None else None
        told = [line if isinstance(line, str) else " ".join(line) for line in self.lines(face)]
        name = faces.label(row) if faces is not None and row is not None else ""
        where = tr("{place} of {count}", place=place + 1, count=self.count(card))
        return ", ".join(text for text in (name, *told, self.kind(card), where) if text)

    # Which face is where

    def card_rect(self, card: Card) -> QRectF:
        """Where a card is."""
        return self._plan.card(card)

    def face_rect(self, card: Card, place: int) -> QRectF:
        """Where a face of a card is."""
        return self._plan.face(card, place)

    def shown(self, card: Card) -> Ids:
        """Ids of the faces that are seen on a card."""
        return self._ids[self._places(card)[: self._plan.room]]

    def _spot(self, point: QPointF) -> tuple[Card, int] | None:
        """The card under a point, and the face."""
        for card in CARDS:
            if self.card_rect(card).contains(point):
                seen = range(len(self.shown(card)))
                return card, next((i for i in seen if self.face_rect(card, i).contains(point)), CARD)
        return None

    def face_at(self, point: QPointF) -> tuple[int, QRectF] | None:
        spot = self._spot(point)
        if spot is None or spot[1] == CARD:
            return None
        return int(self.shown(spot[0])[spot[1]]), self.face_rect(*spot)

    def _place(self, face: int) -> int | None:
        found = np.flatnonzero(self._ids == face)
        return int(found[0]) if len(found) else None

    # Painting

    def paintEvent(self, event: QPaintEvent) -> None:
        now = theme.current()
        painter = QPainter(self)
        painter.setRenderHints(QPainter.RenderHint.Antialiasing | QPainter.RenderHint.SmoothPixmapTransform)
        painter.fillRect(event.rect(), now.q("base"))
        if self._judged is None:
            draw_text(painter, QRectF(self.rect()), self.current_text(), "text3", 11, align="centre")
            return
        if not self._settle_timer.isActive():
            self._asked = {int(face) for card in CARDS for face in self.shown(card)}
        for column in (SURE, UNSURE):
            box = self.card_rect((WRONG, column))
            draw_text(painter, QRectF(box.x(), 3, box.width(), 15), self.heading(column), "text2", 10)
        for row, word in ((WRONG, tr("wrong")), (RIGHT, tr("right"))):
            box = self.card_rect((row, SURE))
            painter.save()
            painter.translate(LEFT / 2, box.center().y())
            painter.rotate(-90)
            draw_text(painter, QRectF(-box.height() / 2, -8, box.height(), 16), word, "text2", 10, align="centre")
            painter.restore()
        for card in reversed(CARDS):
            self._paint_card(painter, now, card)
        foot = QRectF(LEFT, self.height() - QUIET - 2, self.width() - LEFT - EDGE, QUIET)
        draw_text(painter, foot, self.unjudged(), "text3", 10)

    def _paint_card(self, painter: QPainter, now: theme.Theme, card: Card) -> None:
        box, count = self.card_rect(card), self.count(card)
        hot = card == (WRONG, SURE) and count > 0
        edge = "bad" if hot else "line2" if card == self._pointed else "line"
        painter.setPen(QPen(now.q(edge), 1.4 if hot else 1))
        painter.setBrush(now.q("sunk"))
        painter.drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), 5, 5)
        if self._by_key and self._cursor == (card, CARD):
            painter.setPen(QPen(now.q("accent"), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(box.adjusted(-2, -2, 2, 2), 7, 7)
        x, y, width = box.x(), box.y(), box.width()
        mark = marks.wrong if card[0] == WRONG else marks.right
        mark(painter, QRectF(x + 9, y + 9, 14, 14), now)
        number_width = text_width(f"{count:,}", 15, bold=True)
        title = QRectF(x + 30, y + 7, width - 30 - 18 - number_width, 18)
        draw_text(painter, title, self.kind(card), "text", 11, bold=hot)
        draw_text(painter, QRectF(x, y + 6, width - 10, 20), f"{count:,}", "text", 15, bold=True, align="right")
        draw_text(painter, QRectF(x + 30, y + 23, width - 40, 14), self.share(card), "text3", 10)
        if not count:
            line = QRectF(x + 8, self.face_rect(card, 0).y(), width - 16, self._plan.size)
            draw_text(painter, line, tr("no face"), "text3", 10)
        self._paint_faces(painter, card)
        if self._plan.told:
            under = QRectF(x + 8, self.face_rect(card, self._plan.room - 1).bottom() + 4, width - 16, 15)
            draw_text(painter, under, self.consequence(card), "text2" if hot else "text3", 10)

    def _paint_faces(self, painter: QPainter, card: Card) -> None:
        shown = list(enumerate(map(int, self.shown(card))))
        for place, face in reversed(shown):
            box = self.face_rect(card, place)
            if face in self._asked:
                self.paint_face(painter, face, box)
            else:
                portrait.absent(painter, box, broken=False)
        for place, face in shown:
            self.paint_ring(painter, face, self.face_rect(card, place))

    # Mouse

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self.set_under(None)
        self._by_key = False
        spot = self._spot(event.position())
        if event.button() != Qt.MouseButton.LeftButton or spot is None:
            return
        self._move(*spot)
        self._act(*spot)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        spot = self._spot(event.position())
        if event.button() == Qt.MouseButton.LeftButton and spot is not None and spot[1] != CARD:
            self._open(*spot)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        super().mouseMoveEvent(event)
        spot = self._spot(event.position())
        self._point_at(None if spot is None else spot[0])

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._point_at(None)

    def _point_at(self, card: Card | None) -> None:
        if card != self._pointed:
            self._pointed = card
            self.setCursor(Qt.CursorShape.ArrowCursor if card is None else Qt.CursorShape.PointingHandCursor)
            self.update()

    def _tip_at(self, point: QPointF) -> str:
        spot = self._spot(point)
        if spot is None or spot[1] != CARD or self._judged is None:
            return ""
        parts = (self.words(spot[0]), self.consequence(spot[0]), tr("Click to select them"))
        return "\n".join(filter(None, parts))

    def _act(self, card: Card, place: int) -> None:
        """What a click does."""
        if place != CARD:
            self.look(int(self.shown(card)[place]))
        elif self.count(card):
            self.chosen.emit(self.faces(card), self.words(card))
        self.tell_screen_readers(aloud=True)

    def _open(self, card: Card, place: int) -> None:
        """What a double click on a face does."""
        at = int(self._places(card)[place])
        face, other = int(self._ids[at]), self._opponent(at)
        if card[0] == WRONG and other is not None:
            self.look(face)
            self.pair_wanted.emit(face, other)
        else:
            self.open_face(face)

    def _opponent(self, place: int) -> int | None:
        """Whom a wrong face was taken for; the mate it was not matched with, where nobody is closer."""
        known = self._recognition
        assert known is not None
        beaten = known.other_score[place] > known.mate_score[place]
        other = int(known.other[place] if beaten or known.mate[place] < 0 else known.mate[place])
        return other if other >= 0 else None

    # Keyboard

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, self._by_key = Qt.Key(event.key()), True
        (row, column), place = self._cursor
        last = len(self.shown((row, column))) - 1
        target: tuple[Card, int] | None = None
        match key:
            case Qt.Key.Key_Right if place < last:
                target = (row, column), place + 1
            case Qt.Key.Key_Right if column == SURE:
                target = (row, UNSURE), CARD
            case Qt.Key.Key_Left if place > CARD:
                target = (row, column), place - 1
            case Qt.Key.Key_Left if column == UNSURE:
                target = (row, SURE), CARD
            case Qt.Key.Key_Down | Qt.Key.Key_Up:
                target = (RIGHT if key == Qt.Key.Key_Down else WRONG, column), place
        if target is not None:
            self._move(*target)
            if self._cursor[1] != CARD:
                self._act(*self._cursor)
            self.tell_screen_readers(aloud=True)
        elif key in (Qt.Key.Key_Left, Qt.Key.Key_Right):
            return  # at the edge
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and place != CARD:
            self._open(*self._cursor)
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
            self._act(*self._cursor)
        elif pressed(event, "view.loupe") and place != CARD:
            self.open_face(int(self.shown((row, column))[place]))
        else:
            super().keyPressEvent(event)

    def _move(self, card: Card, place: int) -> None:
        """Put the keyboard on a card or one of its faces, as far as it has so many."""
        self._cursor = card, min(place, len(self.shown(card)) - 1)
        self.update()

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self._by_key = event.reason() in (Qt.FocusReason.TabFocusReason, Qt.FocusReason.BacktabFocusReason)
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self._by_key = False
        self.update()


def _errors(count: int) -> str:
    return plural(count, "{n} error", "{n} errors")
