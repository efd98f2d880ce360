"""The ground of a scatter of two scores: axes, dots, the line, words.

`facelens.views.score_scatter` moves the line and is what panels use.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QImage, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from facelens.analyses.correlation import spearman
from facelens.analyses.measure import Measure
from facelens.analyses.rejection import Recognition
from facelens.figures.ensembles import correlation_words, score_range
from facelens.figures.scales import ticks
from facelens.images.faceset import FaceSet, Ids
from facelens.views import dots, theme
from facelens.views.cloud import NOTHING, Array, Cloud, View
from facelens.views.controls import draw_text, text_width
from facelens.views.grid import value_text
from facelens.views.hover import Line
from facelens.views.thumbnails import Thumbnails
from facelens.words import plural, tr

TOP, BOTTOM, LEFT, RIGHT = 44, 37, 46, 16  # px around the dots
PALE, PALEST = 0.7, 0.2  # how quickly dots get fainter with their number, and how faint one may be
FAINT = 0.4  # of what is refused


@dataclass(frozen=True)
class Kind:
    """Faces that are drawn alike: what `right` says of them, in words, and how."""

    right: int
    words: str
    shape: str
    colour: str
    few: int  # dots up to which each is fully painted; more of them are fainter


KINDS = (  # in the order they are drawn
    Kind(-1, "no other picture", "disc", "text3", 3_000),
    Kind(1, "right", "disc", "good", 5_000),
    Kind(0, "wrong", "cross", "bad", 1_500),
)


class ScatterGround(Cloud):
    """What is shown is painted; nothing is emitted."""

    def __init__(self, thumbnails: Thumbnails, parent: QWidget | None = None) -> None:
        super().__init__(thumbnails, parent)
        self._sorted = NOTHING
        self._right: NDArray[np.int8] = np.zeros(0, np.int8)
        self._counts = {kind.right: 0 for kind in KINDS}
        self._names = ("", "")
        self._titles = ("", "")
        self._why = ""
        self._turned = False  # whether y is written as its negative
        self._limit = np.inf
        self.correlation = Measure.none("")
        self._layer: QImage | None = None
        self._rings: QImage | None = None
        self._over_line = False
        self.setAccessibleName(tr("Two scores of every face"))
        self.setWhatsThis(
            tr(
                "A dot for each face by two scores. A click selects, a drag selects those inside; Shift adds, Alt "
                "takes away. The wheel zooms, middle drag or Space and drag pans, F shows everything."
            )
        )

    def sizeHint(self) -> QSize:
        return QSize(640, 320)

    # What is shown

    def show_scores(
        self,
        faces: FaceSet | None,
        ids: Ids,
        x: Array,
        y: Array,
        *,
        x_name: str,
        y_name: str,
        x_means: str = "",
        y_means: str = "",
        lower: bool = False,
        recognition: Recognition | None = None,
    ) -> None:
        """Show score `y` over score `x` (N,) of the faces `ids`; NaN where a face has none.

        Faces with a high `y` are refused; with `lower` it is a score turned round, and written as it was. `x_means`
        says what a high value means ("higher = sharper").
        """
        self._faces, self._why, self._turned = faces, "", lower
        self._ids = np.asarray(ids, np.int64)
        self._x, self._y = np.asarray(x, np.float64), np.asarray(y, np.float64)
        self._right = np.full(len(ids), -1, np.int8) if recognition is None else recognition.right
        self._names = x_name, y_name
        self._titles = _title(x_name, x_means), _title(y_name, y_means)
        self._sorted = np.sort(self._y[np.isfinite(self._y)])
        both = np.flatnonzero(np.isfinite(self._x) & np.isfinite(self._y))
        self._drawn = both[np.argsort(self._x[both], kind="stable")]
        self._counts = {kind.right: int((self._right[both] == kind.right).sum()) for kind in KINDS}
        self.correlation = spearman(self._x, -self._y if lower else self._y, groups=self._people())
        self._hover = None
        whole = View(*score_range(self._x[both]), *score_range(self._y[both]))
        if whole != self._whole:
            self._whole = self._view = whole
        self._mark_selected()
        self._lay_out()

    def show_nothing(self, why: str) -> None:
        """Nothing to draw, and what to do about it."""
        self.show_scores(None, np.zeros(0, np.int64), NOTHING, NOTHING, x_name="", y_name="")
        self.correlation, self._why = Measure.none(""), why
        self._tell()

    def set_limit(self, value: float | None) -> None:
        """Faces above it are refused; None or infinite: nobody is."""
        self._limit = np.inf if value is None else float(value)
        self._tell()
        self.update()

    @property
    def limit(self) -> float:
        """Where the line is."""
        return self._limit

    @property
    def refused(self) -> int:
        """How many faces are above the line, also those that have no other score."""
        return len(self._sorted) - int(np.searchsorted(self._sorted, self._limit, side="right"))

    def sentence(self) -> str:
        """Rank correlation in words."""
        return correlation_words(self.correlation, *self._names)

    def _people(self) -> NDArray[np.int32] | None:
        if self._faces is None or not len(self._ids):
            return None
        rows = self._faces.rows_of(self._ids)
        return self._faces.identity.codes[rows] if len(rows) == len(self._ids) else None

    def _written(self, y: float) -> str:
        return value_text(-y if self._turned else y)

    def _words(self, place: int) -> list[Line]:
        """Both scores of a face, with its place among all in the one that refuses."""
        below = np.searchsorted(self._sorted, self._y[place], side="left")
        same = np.searchsorted(self._sorted, self._y[place], side="right") - below
        rank = round(100 * (below + same / 2) / max(len(self._sorted), 1))
        rank = 100 - rank if self._turned else rank
        right = {1: tr("right"), 0: tr("wrong")}.get(int(self._right[place]), "")
        lines: list[Line] = [(self._names[1], f"{self._written(self._y[place])} · p{rank}")]
        lines.append((self._names[0], value_text(self._x[place])))
        return [*lines, (tr("recognised"), right)] if right else lines

    # Geometry

    def _box(self) -> QRectF:
        return QRectF(LEFT, TOP, max(1, self.width() - LEFT - RIGHT), max(1, self.height() - TOP - BOTTOM))

    def _line_py(self) -> float | None:
        """Where the line is; None where it is out of sight."""
        box = self._box()
        if not len(self._sorted):
            return None
        place = float(self._to_py(min(self._limit, self._whole.high)))
        return place if box.top() - 0.5 <= place <= box.bottom() + 0.5 else None

    # Painting

    def paintEvent(self, event: QPaintEvent) -> None:
        now, box, painter = theme.current(), self._box(), QPainter(self)
        painter.fillRect(self.rect(), now.q("base"))
        painter.fillRect(box, now.q("sunk"))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._paint_axes(painter, box)
        self._paint_dots(painter, box)
        self._paint_line(painter, box)
        self._paint_marks(painter)
        self._paint_words(painter, box)
        self._paint_focus(painter)

    def _paint_axes(self, painter: QPainter, box: QRectF) -> None:
        now, view = theme.current(), self._view
        sign = -1 if self._turned else 1
        low, high = sorted((sign * view.low, sign * view.high))
        for place, text in ticks("linear", low, high, room=min(5, int(box.height() / 26))):
            y = float(self._to_py(sign * place))
            painter.setPen(QPen(now.q("text", 0.09), 1))
            painter.drawLine(QPointF(box.left(), y), QPointF(box.right(), y))
            draw_text(painter, QRectF(0, y - 8, LEFT - 6, 16), text, "text3", 10, align="right")
        for place, text in ticks("linear", view.left, view.right, room=min(7, int(box.width() / 62))):
            x = float(self._to_px(place))
            painter.setPen(QPen(now.q("line2"), 1))
            painter.drawLine(QPointF(x, box.bottom()), QPointF(x, box.bottom() + 3))
            draw_text(painter, QRectF(x - 31, box.bottom() + 4, 62, 14), text, "text3", 10, align="centre")
        painter.setPen(QPen(now.q("line2"), 1))
        painter.drawLine(box.bottomLeft(), box.bottomRight())

    def _paint_dots(self, painter: QPainter, box: QRectF) -> None:
        if not len(self._drawn):
            return
        line = self._line_py()
        split = box.top() if self._limit >= self._whole.high else line
        if split is None:
            split = box.top() if self._limit > self._view.high else box.bottom()
        layer, rings = self._pictures(box)
        for opacity, part in (
            (FAINT, QRectF(box.left(), box.top(), box.width(), split - box.top())),
            (1.0, QRectF(box.left(), split, box.width(), box.bottom() - split)),
        ):
            if part.height() > 0:
                painter.save()
                painter.setClipRect(part)
                painter.setOpacity(opacity)
                painter.drawImage(box.topLeft(), layer)
                painter.restore()
        painter.save()
        painter.setClipRect(box)
        painter.drawImage(box.topLeft(), rings)
        painter.restore()

    def _pictures(self, box: QRectF) -> tuple[QImage, QImage]:
        """All dots, and the rings of the selected ones; made anew only where something has changed."""
        if self._layer is not None and self._rings is not None:
            return self._layer, self._rings
        now, size = theme.current(), (int(box.width()), int(box.height()))
        x, y, ratio = self._px - box.left(), self._py - box.top(), self.devicePixelRatioF()
        if self._layer is None:
            layers = []
            for kind in KINDS:
                these = self._right[self._drawn] == kind.right
                opacity = max(PALEST, 0.85 * min(1.0, (kind.few / max(self._counts[kind.right], 1)) ** PALE))
                layers.append(dots.Dots(x[these], y[these], kind.shape, now.q(kind.colour), opacity))
            self._layer = dots.picture(layers, *size, ratio=ratio)
        if self._rings is None:
            these = self._chosen[self._drawn]
            self._rings = dots.picture(
                [dots.Dots(x[these], y[these], "ring", now.q("accent"), 0.9)], *size, ratio=ratio
            )
        return self._layer, self._rings

    def _paint_line(self, painter: QPainter, box: QRectF) -> None:
        y = self._line_py()
        if y is None:
            return
        now = theme.current()
        painter.setPen(QPen(now.q("text"), 1.6))
        painter.drawLine(QPointF(box.left(), y), QPointF(box.right() + 4, y))
        held = self._drag == "line" or self._over_line or (self.hasFocus() and self._by_key)
        painter.setPen(QPen(now.q("accent"), 2) if held else Qt.PenStyle.NoPen)
        painter.setBrush(now.q("text"))
        painter.drawRoundedRect(QRectF(box.left() - 9, y - 4, 18, 8), 2.5, 2.5)
        title, meaning = self._line_words()
        wide = max(text_width(title, 11, True), text_width(meaning, 10)) + 2
        above = y - 33 >= box.top()
        words = QRectF(box.right() - 4 - wide, y - 33 if above else y + 4, wide, 29)
        painter.fillRect(words.adjusted(-3, 0, 3, 0), now.q("sunk", 0.78))
        line = QRectF(words.left(), words.top(), wide, 15)
        draw_text(painter, line, title, "text", 11, bold=True, align="right")
        draw_text(painter, line.translated(0, 14), meaning, "text2", 10, align="right")

    def _line_words(self) -> tuple[str, str]:
        refused = self.refused
        if not refused:
            return tr("nothing refused"), tr("drag down to refuse")
        share = refused / len(self._sorted)
        count = plural(refused, "{n} face refused", "{n} faces refused")
        words = "refuse below {value}" if self._turned else "refuse above {value}"
        kept = np.floor(1000 * (1 - share) + 1e-6) / 10  # as the histogram writes it
        rank = round(100 - kept, 1) if self._turned else kept
        return tr(words, value=self._written(self._limit)), f"p{rank:g} · {count}"

    def _paint_words(self, painter: QPainter, box: QRectF) -> None:
        wide = self.width()
        draw_text(painter, QRectF(8, 4, wide - 16, 16), self.sentence(), "text", 11)
        left = self._paint_legend(painter)
        draw_text(painter, QRectF(8, 24, left - 16, 14), self._titles[1], "text2", 10)
        foot = QRectF(LEFT, self.height() - 18, box.width(), 14)
        draw_text(painter, foot, self._titles[0], "text2", 10, align="right")
        room = box.width() - text_width(self._titles[0], 10) - 16
        if room > 60:
            draw_text(painter, QRectF(LEFT, foot.top(), room, 14), self._left_out(), "text3", 10)
        if not len(self._drawn):
            why = self._why or tr("No face has both scores.")
            painter.setFont(theme.font(11))
            painter.setPen(theme.current().q("text3"))
            flags = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
            painter.drawText(box.adjusted(24, 8, -24, -8), int(flags), why)

    def _left_out(self) -> str:
        """What cannot be seen."""
        parts = []
        if missing := len(self._ids) - len(self._drawn):
            count = plural(missing, "{n} face", "{n} faces")
            parts.append(tr("{count} without {name}", count=count, name=self._names[0]))
        if any(self._counts[kind.right] > kind.few for kind in KINDS):
            parts.append(tr("faint = one face, dense = many"))
        return " · ".join(parts)

    def _paint_legend(self, painter: QPainter) -> float:
        """The kinds that occur, from the right; returns where they begin."""
        now, x = theme.current(), float(self.width() - RIGHT)
        if not self._counts[0] + self._counts[1]:
            return x
        for kind in KINDS:
            n = self._counts[kind.right]
            text = f"{tr(kind.words)} {n:,}"
            if not n or x - text_width(text, 10) - 14 < self.width() / 3:
                continue
            x -= text_width(text, 10) + 1
            draw_text(painter, QRectF(x, 24, text_width(text, 10) + 2, 14), text, "text2", 10)
            x -= 10
            mark = QPointF(x + 3, 31)
            if kind.shape == "cross":
                painter.setPen(QPen(now.q(kind.colour), 1.8))
                for side in (-1, 1):
                    painter.drawLine(mark + QPointF(-2.6, -2.6 * side), mark + QPointF(2.6, 2.6 * side))
            else:
                painter.setPen(Qt.PenStyle.NoPen)
                painter.setBrush(now.q(kind.colour))
                painter.drawEllipse(mark, 2.8, 2.8)
            x -= 12
        return x

    def _said(self) -> list[str]:
        return [self.sentence(), " ".join(self._line_words()) if len(self._sorted) else self._why]

    def _forget(self, *, rings_only: bool = False) -> None:
        self._rings = None
        if not rings_only:
            self._layer = None


def _title(name: str, means: str) -> str:
    return f"{name}, {means}" if means else name
