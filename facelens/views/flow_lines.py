"""Streams: where the mass of one patch goes, or comes from, as lines from one face to the other.

A line is the wider the larger its share, shares from a tenth on are printed, and what lies below the cut is counted
instead of drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPen

from facelens.figures.match_words import percent
from facelens.views import theme
from facelens.views.controls import draw_text, text_width
from facelens.views.patch_view import BLACK, WHITE
from facelens.words import plural, tr

Array = NDArray[np.float64]

TOLD = 0.1  # shares from here on are printed
DUST = 1e-6  # a share that is nothing but rounding
WIDEST = 10.0  # px of all the mass of a patch
THIN = 1.0  # px; no line is thinner
CASING = 1.3  # px that the dark edge is wider
BENT = 0.42  # of the way across: how far a line leaves its patch straight
TAG = 14.0  # px


@dataclass(frozen=True, eq=False)
class Streams:
    """Shares of the mass of one patch, the largest first."""

    ends: NDArray[np.int64]  # patches of the other face
    shares: Array
    below: int  # how many more there are
    hidden: float  # what they carry

    @classmethod
    def of(cls, flow: Array, cut: float) -> Streams:
        """Those of one patch, given what it sends to each patch of the other face.

        >>> found = Streams.of(np.array([0.5, 0.0, 0.49, 0.01]), 0.02)
        >>> found.ends.tolist(), found.below, round(found.hidden, 2)
        ([0, 2], 1, 0.01)
        """
        total = float(flow.sum())
        shares = flow / total if total > 0 else np.zeros(len(flow))
        shown = np.flatnonzero((shares >= cut) & (shares > DUST))
        shown = shown[np.argsort(-shares[shown], kind="stable")]
        below = int((shares > DUST).sum()) - len(shown)
        hidden = float(1 - shares[shown].sum()) if below else 0.0
        return cls(shown, shares[shown], below, hidden)

    def share(self, end: int) -> float:
        """What one of them carries; 0 for one that is not shown."""
        return float(self.shares[self.ends == end].sum())

    def told(self, *, arriving: bool) -> str:
        """How many carry how much, and what is hidden."""
        n, shown = len(self.ends), percent(1 - self.hidden)
        if not n and not self.below:
            return tr("no mass, so it takes no part")
        if not n:
            return plural(self.below, "the one stream lies below the cut", "all {n} streams lie below the cut")
        said = (
            plural(n, "{n} source sends", "{n} sources send")
            if arriving
            else plural(n, "{n} target carries", "{n} targets carry")
        )
        if not self.below:
            return f"{said} {shown}"
        more = plural(self.below, "{n} more below the cut carries", "{n} more below the cut carry")
        return f"{said} {shown} · {more} {percent(self.hidden)}"


def lines(
    start: QRectF, ends: Sequence[QRectF], shares: Sequence[float], *, top: float
) -> list[tuple[QPainterPath, float]]:
    """A line from a cell to each of the others, and how wide it is.

    They leave side by side, in the order in which they arrive, and pass over those that end before them in a row, but
    no higher than `top`.
    """
    away, widest = start.center(), min(WIDEST, max(5.0, 0.4 * start.height()))
    widths = [max(THIN, share * widest) for share in shares]
    squeeze = min(1.0, widest / max(sum(widths), 1e-9))
    bends = []
    passed: dict[int, int] = {}  # row -> how many end there nearer
    for i in sorted(range(len(ends)), key=lambda i: abs(ends[i].center().x() - away.x())):
        row = round(ends[i].top())
        bends.append((max(top, ends[i].center().y() - 0.5 * ends[i].height() * passed.get(row, 0)), i))
        passed[row] = passed.get(row, 0) + 1
    found: list[tuple[QPainterPath, float]] = [(QPainterPath(), 0.0)] * len(ends)
    y = away.y() - squeeze * sum(widths) / 2
    for bend, i in sorted(bends):
        leave, arrive = QPointF(away.x(), y + squeeze * widths[i] / 2), ends[i].center()
        across = BENT * (arrive.x() - leave.x())
        path = QPainterPath(leave)
        path.cubicTo(QPointF(leave.x() + across, leave.y()), QPointF(arrive.x() - across, bend), arrive)
        found[i] = (path, widths[i])
        y += squeeze * widths[i]
    return found


def strength(share: float) -> float:
    """How strong a line, and the frame it ends in, is painted: from a tenth of the mass on, all.

    >>> strength(0.02), strength(0.3)
    (0.48, 1.0)
    """
    return min(1.0, 0.35 + 6.5 * share)


def paint_lines(
    painter: QPainter,
    start: QRectF,
    ends: Sequence[QRectF],
    shares: Sequence[float],
    *,
    room: QRectF,
    chosen: int | None = None,
) -> None:
    """All lines, the widest over the faint ones, that of `chosen` (a place in `ends`) on top; then tags in `room`."""
    now = theme.current()
    made = lines(start, ends, shares, top=room.top())
    painter.setBrush(Qt.BrushStyle.NoBrush)
    faint: dict[float, QPainterPath] = {}  # strength -> all lines of it at once: there may be hundreds
    for i in reversed(range(len(made))):
        if made[i][1] <= THIN and i != chosen:
            strong = 0.3 if chosen is not None else round(strength(shares[i]), 1)
            faint.setdefault(strong, QPainterPath()).addPath(made[i][0])
    for strong, path in sorted(faint.items()):
        for shift in (-1, 1) if strong > 0.4 else ():  # a wider line under each would take fifteen times as long
            painter.strokePath(path.translated(0, shift), _pen(now.q(BLACK, round(0.35 * strong, 2)), THIN))
        painter.strokePath(path, _pen(now.q("flow", strong), THIN))
    wide = [i for i in range(len(made)) if made[i][1] > THIN and i != chosen]
    for i in wide if chosen is None else [*wide, chosen]:
        path, width = made[i]
        strong = round(strength(shares[i]), 1) if chosen is None else 1.0 if i == chosen else 0.3
        width = max(width, 2.4) if i == chosen else width
        painter.strokePath(path, _pen(now.q(BLACK, round(0.45 * strong, 2)), width + CASING))
        painter.strokePath(path, _pen(now.q("flow", strong), width))
    told = [i for i in range(len(made)) if shares[i] >= TOLD or i == chosen]
    _paint_tags(painter, sorted(told, key=lambda i: (i != chosen, -shares[i])), ends, shares, room)


def _pen(colour: QColor, width: float) -> QPen:
    return QPen(colour, width, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap)


def _paint_tags(
    painter: QPainter, told: Sequence[int], ends: Sequence[QRectF], shares: Sequence[float], room: QRectF
) -> None:
    """The first ones have the choice where to stand: on their cell, else beside it."""
    now, taken = theme.current(), list[QRectF]()
    for i in told:
        text, cell = percent(shares[i]), ends[i]
        plate = QRectF(0, 0, text_width(text, 10) + 7, TAG)
        across, down = (cell.width() + plate.width()) / 2, (cell.height() + TAG) / 2
        for dx, dy in ((0, 0), (0, down), (0, -down), (across, 0), (-across, 0), (across, down), (-across, down)):
            plate.moveCenter(cell.center() + QPointF(dx, dy))
            if room.contains(plate) and not any(plate.intersects(other) for other in taken):
                break
        else:
            plate.moveCenter(cell.center())
        plate.moveLeft(min(max(plate.left(), room.left()), room.right() - plate.width()))
        taken.append(QRectF(plate))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(now.q(BLACK, 0.78))
        painter.drawRoundedRect(plate, 3, 3)
        draw_text(painter, plate.adjusted(-4, 0, 4, 0), text, now.q(WHITE), 10, align="centre")
