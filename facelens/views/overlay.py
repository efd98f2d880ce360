"""What lies over the curves of a chart: legend and names, zones, decision line, brush, rings and value cards."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QFontMetricsF, QPainter, QPen

from facelens.figures.scales import Array, forward
from facelens.views import theme
from facelens.views.canvas import LEFT, RIGHT, Canvas, Drawn
from facelens.views.series import Bars, Mark, Zone
from facelens.words import plural, tr

NAME = 48  # px of a model's name that the legend keeps where there is little room


class Overlay(Canvas):
    """All of a chart but the hands."""

    aside = ""  # a few words on the line of the x title
    line_words = "left"  # of the line, where both sides are free
    name_plates = True  # something to stand on for names of curves

    def drawForeground(self, painter: QPainter, rect: QRectF) -> None:
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        box = self._box()
        for zone, (left, right) in zip(self._zones, self._zone_spans()):
            self._paint_zone(painter, zone, QRectF(left, box.top(), right - left, box.height() - 0.5))
        painter.save()
        painter.setClipRect(box.adjusted(-8, -8, 8, 1))
        for place, drawn in enumerate(d for d in self._drawn if d.series.kind == "points"):
            self._paint_points(painter, drawn, place)
        painter.restore()
        if self._brush is not None:
            self._paint_brush(painter, box)
        self._paint_legend(painter, box)
        self._paint_names(painter, box)
        self._paint_decision(painter, box)
        painter.save()
        painter.setClipRect(box.adjusted(-7, -7, 7, 7))
        self._paint_operating_points(painter)
        painter.restore()
        for mark, width in ((self._ring, 2.2), (self._hover, 1.6)):
            if mark is not None:
                self._paint_ring(painter, mark, width)
        self._paint_titles(painter)
        now = theme.current()
        if self._note:
            painter.setFont(theme.font(11))
            painter.setPen(now.q("text3"))
            flags = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
            painter.drawText(box.adjusted(24, 8, -24, -8), int(flags), self._note)
        if self._hover is not None and not self._drag:
            self._paint_card(painter, self._hover)
        if self.hasFocus() and self._by_key:
            painter.setPen(QPen(now.q("accent"), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(QRectF(self.viewport().rect()).adjusted(1, 1, -1, -1), 4, 4)
        painter.restore()

    def _paint_titles(self, painter: QPainter) -> None:
        """What the axes are, and at the left under them what is said about the whole."""
        now, size = theme.current(), self.viewport().size()
        foot = size.height() - 6
        _say(painter, QPointF(8, 15), self._y_title(), now.text2, 10, width=size.width() - 16)
        _say(painter, QPointF(LEFT, foot), self.aside, now.text2, 10, width=size.width() - LEFT - RIGHT)
        taken = LEFT + _wide(self.aside, 10) + 12 if self.aside else 8.0
        room = size.width() - RIGHT - taken
        if room > 0:
            at = QPointF(size.width() - RIGHT, foot)
            _say(painter, at, self.x_axis.title, now.text2, 10, right=True, width=room)

    def _paint_zone(self, painter: QPainter, zone: Zone, area: QRectF) -> None:
        now = theme.current()
        if area.width() < 1:
            return
        painter.fillRect(area, now.q("base"))
        painter.fillRect(area, QBrush(now.q("text3", 0.45), Qt.BrushStyle.BDiagPattern))
        metrics = QFontMetricsF(theme.font(10))
        if area.width() < metrics.height() - 2 or not zone.reason:
            return
        text = metrics.elidedText(zone.reason, Qt.TextElideMode.ElideRight, area.height() - 10)
        plate = QRectF(0, 0, metrics.horizontalAdvance(text) + 8, metrics.height())
        painter.save()
        painter.translate(area.center().x() - plate.height() / 2, area.bottom() - 4)
        painter.rotate(-90)
        painter.fillRect(plate, now.q("base", 0.85))
        painter.setFont(theme.font(10))
        painter.setPen(now.q("text2"))
        painter.drawText(plate, int(Qt.AlignmentFlag.AlignCenter), text)
        painter.restore()

    def _shift(self, place: int) -> float:
        """Sideways pixels of the points of one of several series, so that whiskers stand beside each other."""
        several = sum(d.series.kind == "points" for d in self._drawn)
        return (place - (several - 1) / 2) * 7.0

    def _paint_points(self, painter: QPainter, drawn: Drawn, place: int) -> None:
        now = theme.current()
        colour = now.q(drawn.series.ink)
        xs, ys = self._px(drawn.x) + self._shift(place), self._py(drawn.y)
        painter.setPen(QPen(colour, 1.4))
        if drawn.low is not None and drawn.high is not None:
            for x, low, high in zip(xs, self._py(drawn.low), self._py(drawn.high)):
                painter.drawLine(QPointF(x, low), QPointF(x, high))
                for y in (low, high):
                    painter.drawLine(QPointF(x - 2.5, y), QPointF(x + 2.5, y))
        hollow = drawn.series.side == "A"
        painter.setPen(QPen(colour, 1.8) if hollow else QPen(now.q("base"), 1))
        painter.setBrush(now.q("base") if hollow else colour)
        radius = 3.2 if hollow else 4.0
        for x, y in zip(xs, ys):
            painter.drawEllipse(QPointF(x, y), radius, radius)

    def _paint_operating_points(self, painter: QPainter) -> None:
        now = theme.current()
        inks = {d.series.key: d.series.ink for d in self._drawn}
        for point in self._points:
            x = float(forward(self.x_axis.scale, point.x))
            y = float(forward(self.y_axis.scale, point.y))
            if point.key in inks and np.isfinite([x, y]).all():
                painter.setPen(QPen(now.q("base"), 1.4))
                painter.setBrush(now.q(inks[point.key]))
                painter.drawEllipse(QPointF(float(self._px(x)), float(self._py(y))), 5.2, 5.2)

    def _paint_names(self, painter: QPainter, box: QRectF) -> None:
        """Names on the curves, and beside the histograms."""
        now = theme.current()
        taken = self._taken(box)
        for drawn in self._drawn:
            series = drawn.series
            if series.side or not series.name or not len(drawn.x):
                continue
            spot = self._said.get(series.key)
            if spot is None or any(spot.intersects(t) for t in taken):
                spot = self._said[series.key] = self._beside(drawn, box, taken)
            if not spot.isEmpty():
                taken.append(spot)
                if self.name_plates:
                    self._paint_plate(painter, spot.adjusted(-2, 0, 2, 0))
                _say(painter, QPointF(spot.left(), spot.bottom() - 3), series.name, now.q(series.ink).name(), 10)
        for one in self._bars:
            if not one.name:
                continue
            spot_rect = self._said.get(f"bars {one.key}")
            if spot_rect is None:
                spot_rect = self._said[f"bars {one.key}"] = self._beside_bars(one, box, taken)
            taken.append(spot_rect)
            _say(
                painter,
                QPointF(spot_rect.left(), spot_rect.top() + 11),
                one.name,
                now.q(one.colour).name(),
                11,
                bold=True,
            )
            _say(painter, QPointF(spot_rect.left(), spot_rect.top() + 26), one.headline, now.text3, 10)

    def _taken(self, box: QRectF) -> list[QRectF]:
        """Where names cannot stand."""
        return [self._corner.adjusted(-4, -2, 4, 2)] if self._corner is not None else []

    def _beside_bars(self, bars: Bars, box: QRectF, taken: Sequence[QRectF]) -> QRectF:
        """Where the name of a histogram is free of all of them, at its own side."""
        width = max(_wide(bars.name, 11, bold=True), _wide(bars.headline, 10))
        to_left = len(self._bars) < 2 or _centre(bars) == min(_centre(one) for one in self._bars)
        sides = (box.left() + 8, box.right() - 8 - width)
        sides = sides if to_left else sides[::-1]
        heights = [box.top() + share * (box.height() - 30) for share in (0.45, 0.3, 0.15, 0.0, 0.6)]
        return self._free(
            [QRectF(x, y, width, 30) for y in heights for x in sides[: 1 if len(self._bars) > 1 else 2]], taken
        )

    def _beside(self, drawn: Drawn, box: QRectF, taken: Sequence[QRectF]) -> QRectF:
        """Where the name of a curve is free of the others: over it or under it; empty where there is no room."""
        order = np.argsort(drawn.x)
        wide, spots = _wide(drawn.series.name, 10), []
        for share in (drawn.series.label_at, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1):
            place = self._view[0] + share * (self._view[1] - self._view[0])
            x, y = float(self._px(place)), float(self._py(np.interp(place, drawn.x[order], drawn.y[order])))
            spots += [QRectF(x - 5 - wide, y - 16, wide, 13), QRectF(x + 8, y + 3, wide, 13)]
        inside = [r for r in spots if box.contains(r) and not any(r.intersects(t) for t in taken)]
        return min(inside, key=lambda r: self._busy(r, besides=drawn), default=QRectF())

    def _free(self, spots: Sequence[QRectF], taken: Sequence[QRectF] = ()) -> QRectF:
        """The first of `spots` that covers the least."""
        return min(spots, key=lambda r: self._busy(r) + 1000 * sum(r.intersects(t) for t in taken))

    def _busy(self, rect: QRectF, *, besides: Drawn | None = None) -> float:
        """How much of the marks lies under `rect`, in pixels of its width; a band counts a little."""
        total = 0.0
        near = rect.adjusted(-5, -5, 5, 5)
        for drawn in self._drawn:
            if len(drawn.x) < 2 or drawn is besides:
                continue
            columns = np.linspace(near.left(), near.right(), 24)
            xs, ys, *band = self._track(drawn)
            here = np.interp(columns, xs, ys, left=np.inf, right=np.inf)
            share = (0.5 if drawn.series.reference else 1.0) * near.width() / 24
            total += share * np.count_nonzero((here > near.top()) & (here < near.bottom()))
            if band:
                low, high = (np.interp(columns, xs, edge, left=np.nan, right=np.nan) for edge in band)
                under = (high < near.bottom()) & (low > near.top())
                total += 0.15 * share * np.count_nonzero(under)
        for one in self._bars:
            edges = self._px(forward(self.x_axis.scale, one.edges))
            tops = self._py(self._heights(one))
            overlap = np.minimum(edges[1:], near.right()) - np.maximum(edges[:-1], near.left())
            total += float(overlap[(overlap > 0) & (tops < near.bottom())].sum())
        for left, right in self._zone_spans():
            total += max(0.0, min(right, near.right()) - max(left, near.left()))
        for point in self._points:
            x, y = forward(self.x_axis.scale, point.x), forward(self.y_axis.scale, point.y)
            if np.isfinite([x, y]).all():
                total += 12 * near.contains(QPointF(float(self._px(x)), float(self._py(y))))
        return total

    def _paint_plate(self, painter: QPainter, rect: QRectF) -> None:
        """A ground for words that lie on a line; over a band alone it would only bite a piece out of it."""
        columns = np.linspace(rect.left(), rect.right(), 24)
        for drawn in self._drawn:
            if len(drawn.x) < 2:
                continue
            xs, ys = self._track(drawn)[:2]
            here = np.interp(columns, xs, ys, left=np.inf, right=np.inf)
            if np.any((here > rect.top() - 1) & (here < rect.bottom() + 1)):
                painter.fillRect(rect, theme.current().q("base", 0.72))
                return

    def _track(self, drawn: Drawn) -> tuple[Array, ...]:
        """x and y of a curve and the edges of its band in pixels, from left to right."""
        key = drawn.series.key
        if key not in self._tracks:
            order = slice(None) if drawn.x[-1] >= drawn.x[0] else slice(None, None, -1)
            heights = [values for values in (drawn.y, drawn.low, drawn.high) if values is not None]
            self._tracks[key] = (self._px(drawn.x)[order], *(self._py(values)[order] for values in heights))
        return self._tracks[key]

    def _paint_legend(self, painter: QPainter, box: QRectF) -> None:
        rows = [d.series for d in reversed(self._drawn) if d.series.side and not d.series.reference]
        if not rows or not any(len(d.x) for d in self._drawn):
            self._corner = None
            return
        now = theme.current()
        heads, names = max(_wide(s.headline, 10) for s in rows), max(_wide(s.name, 10) for s in rows)
        if self._corner is None or not self._stays(self._corner, 46 + names + (18 + heads if heads else 0)):
            self._corner, self._headed = self._legend_spot(box, names=names, heads=heads, height=19 * len(rows))
            self._beside_line = self._line_px()
        names = self._corner.width() - 46 - (18 + heads if heads and self._headed else 0)
        self._paint_plate(painter, self._corner.adjusted(-3, -1, 3, 1))
        for i, series in enumerate(rows):
            y0 = self._corner.top() + 19 * i + 9.5
            left = self._corner.left()
            if series.kind == "points":
                painter.setPen(QPen(now.q(series.ink), 1.8))
                painter.setBrush(now.q("base") if series.side == "A" else now.q(series.ink))
                painter.drawEllipse(QPointF(left + 13, y0), 3.4, 3.4)
            else:
                painter.setPen(self._pen(series))
                painter.drawLine(QPointF(left, y0), QPointF(left + 25, y0))
            _say(painter, QPointF(left + 32, y0 + 4), series.side, now.text, 10)
            _say(painter, QPointF(left + 46, y0 + 4), series.name, now.text, 10, width=names, middle=True)
            if self._headed:
                _say(painter, QPointF(self._corner.right(), y0 + 4), series.headline, now.text2, 10, right=True)

    def _stays(self, at: QRectF, width: float) -> bool:
        """Whether the legend is clear of the line, and as wide as it can be."""
        line = self._line_px()
        if line != self._beside_line and at.width() < width - 0.5:
            return False
        return line is None or line == self._beside_line or not at.left() - 6 < line < at.right() + 6

    def _legend_spot(self, box: QRectF, *, names: float, heads: float, height: float) -> tuple[QRectF, bool]:
        """The freest place for the legend, clear of zones and of the line, and whether its numbers have room.

        Where there is little room, names are cut, or the numbers go, which tables have too.
        """
        start = box.left() + 10
        for left, right in self._zone_spans():
            if left <= box.left() + 1:
                start = max(start, right + 10)
        line, end = self._line_px(), box.right() - 4
        whole = [(start, end)]
        spans = whole if line is None else [(max(start, line + 10), end), (start, min(end, line - 10))]
        for open_spans in (spans, whole):
            spots: list[tuple[float, QRectF, bool]] = []
            for heading in (heads, 0.0) if heads else (0.0,):
                extra = 46 + (18 + heading if heading else 0)
                dropped = 90 if heads and not heading else 0
                for low, high in open_spans:
                    wide = min(extra + names, high - low)
                    if wide < extra + min(names, NAME):
                        continue
                    for x in (high - wide, low, (low + high - wide) / 2):
                        for y in (box.bottom() - 10 - height, box.top() + 6):
                            spot = QRectF(x, y, wide, height)
                            cost = round(self._busy(spot) + 0.3 * (extra + names - wide)) + dropped
                            spots.append((cost, spot, bool(heading)))
            if spots:
                _, spot, headed = min(spots, key=lambda one: one[0])
                return spot, headed
        return QRectF(box.left() + 10, box.bottom() - 10 - height, max(46 + NAME, box.width() - 20), height), False

    def _zone_spans(self) -> list[tuple[float, float]]:
        """Left and right of each zone, in pixels."""
        if self._spans is not None:
            return self._spans
        spans = self._spans = []
        for zone in self._zones:
            ends = np.sort(forward(self.x_axis.scale, np.array([zone.low, zone.high])))
            left, right = self._px(
                np.clip(np.nan_to_num(ends, neginf=self._view[0], posinf=self._view[1]), *self._view[:2])
            )
            spans.append((float(left), float(right)))
        return spans

    def _paint_decision(self, painter: QPainter, box: QRectF) -> None:
        x = self._line_px()
        if x is None:
            return
        now = theme.current()
        held = self._drag == "line" or self._over_line
        painter.setPen(QPen(now.q("text"), 1.6))
        painter.drawLine(QPointF(x, box.top() - 4), QPointF(x, box.bottom()))
        if self._movable:
            handle = QRectF(x - 4, box.bottom() - 9, 8, 18)
            by_key = self.hasFocus() and self._by_key
            painter.setPen(QPen(now.q("accent"), 2) if held or by_key else Qt.PenStyle.NoPen)
            painter.setBrush(now.q("text"))
            painter.drawRoundedRect(handle, 2.5, 2.5)
        title, meaning = self._decision_text
        spot = self._words_spot(x, box)
        if spot is None:
            return
        right = spot.left() < x
        painter.fillRect(spot.adjusted(-3, 0, 3, 0), now.q("base", 0.9))
        edge = spot.right() if right else spot.left()
        _say(painter, QPointF(edge, spot.top() + 11), title, now.text, 11, bold=True, right=right)
        _say(painter, QPointF(edge, spot.top() + 25), meaning, now.text2, 10, right=right)

    def _words_spot(self, x: float, box: QRectF) -> QRectF | None:
        """Where the words of the line at pixel `x` stand."""
        title, meaning = self._decision_text
        if not title and not meaning:
            return None
        width = max(_wide(title, 11, bold=True), _wide(meaning, 10))
        height = 29 if meaning else 15
        sides = [QRectF(x - 8 - width, box.top() - 2, width, height), QRectF(x + 8, box.top() - 2, width, height)]
        if self.line_words == "right":
            sides.reverse()
        inside = [s for s in sides if s.left() >= box.left() - 40 and s.right() <= box.right() + 12] or sides[:1]
        # The side is changed only for a clear gain, or the text would jump while the line moves.
        if len(inside) > 1 and self._busy(inside[1]) + 60 < self._busy(inside[0]):
            return inside[1]
        return inside[0]

    def _paint_brush(self, painter: QPainter, box: QRectF) -> None:
        assert self._brush is not None
        now = theme.current()
        low, high = np.clip(self._px(np.array(self._brush)), box.left(), box.right())
        veil = now.q("base", 0.4)  # what is under it drops to 60 %
        painter.fillRect(QRectF(box.left(), box.top(), low - box.left(), box.height() - 1), veil)
        painter.fillRect(QRectF(high, box.top(), box.right() - high, box.height() - 1), veil)
        painter.fillRect(QRectF(low, box.top(), high - low, box.height() - 1), now.q("accent", 0.13))
        painter.setPen(QPen(now.q("accent"), 1))
        painter.drawLine(QPointF(low, box.top()), QPointF(low, box.bottom()))
        painter.drawLine(QPointF(high, box.top()), QPointF(high, box.bottom()))
        painter.setPen(QPen(now.q("base"), 1))
        painter.setBrush(now.q("accent"))
        for x in (low, high):
            painter.drawRoundedRect(QRectF(x - 3.5, box.center().y() - 11, 7, 22), 2, 2)
        text = self._brush_text or self._counted()
        width = _wide(text, 10) + 12
        tag = self._tag_spot((low + high) / 2, width, box)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.drawRoundedRect(tag, 3, 3)
        _say(painter, QPointF(tag.left() + 6, tag.top() + 12.5), text, now.onaccent, 10)

    def _tag_spot(self, middle: float, width: float, box: QRectF) -> QRectF:
        """Where the tag of the brush stands."""
        return QRectF(min(max(middle - width / 2, box.left()), box.right() - width), box.top() - 7, width, 17)

    def _counted(self) -> str:
        """What the brush holds, in words."""
        low, high = self.brush or (0.0, 0.0)
        span = tr("{low} to {high}", low=self.x_axis.write(low), high=self.x_axis.write(high))
        if not self._bars:
            return span
        parts = []
        for one in self._bars:
            centres = (one.edges[:-1] + one.edges[1:]) / 2
            n = int(np.asarray(one.counts)[(centres >= low) & (centres <= high)].sum())
            parts.append(f"{one.name} {n:,}".strip() if len(self._bars) > 1 else plural(n, one.one, one.many))
        return " · ".join([*parts, span])

    def _spot(self, mark: Mark) -> QPointF | None:
        """Where a mark is, in pixels; None when it is out of sight or gone."""
        if mark.bin:
            one = next((b for b in self._bars if b.key == mark.key), None)
            if one is None or not 0 <= mark.index < len(one.counts):
                return None
            edges = self._px(forward(self.x_axis.scale, one.edges[mark.index : mark.index + 2]))
            spot = QPointF(float(edges.mean()), float(self._py(self._heights(one)[mark.index])))
        else:
            found = self._find(mark.key)
            if found is None:
                return None
            drawn, shift = found
            at = np.flatnonzero(drawn.index == mark.index)
            if not len(at):
                return None
            spot = QPointF(float(self._px(drawn.x[at[0]])) + shift, float(self._py(drawn.y[at[0]])))
        return spot if self._box().adjusted(-8, -8, 8, 8).contains(spot) else None

    def _find(self, key: str) -> tuple[Drawn, float] | None:
        place = 0
        for drawn in self._drawn:
            points = drawn.series.kind == "points"
            if drawn.series.key == key:
                return drawn, self._shift(place) if points else 0.0
            place += points
        return None

    def _paint_ring(self, painter: QPainter, mark: Mark, width: float) -> None:
        spot = self._spot(mark)
        if spot is None:
            return
        now = theme.current()
        painter.setPen(QPen(now.q("accent"), width))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        if mark.bin:
            one = next(b for b in self._bars if b.key == mark.key)
            left, right = self._px(forward(self.x_axis.scale, one.edges[mark.index : mark.index + 2]))
            painter.drawRect(QRectF(left, spot.y(), right - left, max(2.0, float(self._py(0.0)) - spot.y())))
            return
        painter.drawEllipse(spot, 7.5, 7.5)

    def _card_lines(self, mark: Mark) -> Sequence[str]:
        if self.describe is not None:
            return self.describe(mark)
        if mark.bin:
            one = next(b for b in self._bars if b.key == mark.key)
            low, high = (self.x_axis.write(float(v)) for v in one.edges[mark.index : mark.index + 2])
            n = int(one.counts[mark.index])
            return one.name, tr("{low} to {high}", low=low, high=high), plural(n, one.one, one.many)
        series = next(d.series for d in self._drawn if d.series.key == mark.key)
        y = f"{self.y_axis.short} {self.y_axis.write(float(series.y[mark.index]))}"
        if series.band is not None and len(series.band.low) == len(series.y):
            ends = [float(v[mark.index]) for v in (series.band.low, series.band.high)]
            if np.isfinite(ends).all():
                y += f" [{self.y_axis.write(ends[0])}, {self.y_axis.write(ends[1])}]"
        head = " ".join(t for t in (series.side, series.name) if t)
        return head, f"{self.x_axis.short} {self.x_axis.write(float(series.x[mark.index]))}", y

    def _paint_card(self, painter: QPainter, mark: Mark) -> None:
        spot = self._spot(mark)
        lines = [line for line in self._card_lines(mark) if line] if spot is not None else []
        if spot is None or not lines:
            return
        now = theme.current()
        width = max(_wide(line, 10, bold=i == 0) for i, line in enumerate(lines)) + 16
        height = 15 * len(lines) + 9
        x = min(max(spot.x() - width / 2, 3.0), self.viewport().width() - width - 3)
        y = spot.y() - 14 - height
        if y < 2:
            y = spot.y() + 14
        card = QRectF(x, y, width, height)
        painter.setPen(QPen(now.q("line2"), 1))
        painter.setBrush(now.q("raised"))
        painter.drawRoundedRect(card, 6, 6)
        for i, line in enumerate(lines):
            ink = now.text if i == 0 else now.text2
            _say(painter, QPointF(card.left() + 8, card.top() + 15 + 15 * i), line, ink, 10, bold=i == 0)


def _centre(bars: Bars) -> float:
    counts = np.asarray(bars.counts, np.float64)
    total = counts.sum()
    return float(((bars.edges[:-1] + bars.edges[1:]) / 2 * counts).sum() / total) if total > 0 else 0.0


def _wide(text: str, px: int, *, bold: bool = False) -> float:
    return QFontMetricsF(theme.font(px, bold=bold)).horizontalAdvance(text) if text else 0.0


def _say(
    painter: QPainter, at: QPointF, text: str, colour: str, px: int, *, bold: bool = False, right: bool = False,
    width: float = 0.0, middle: bool = False,
) -> None:  # fmt: skip
    """One line of text whose baseline starts (or, with `right`, ends) at `at`; names are cut in the `middle`."""
    if not text:
        return
    font = theme.font(px, bold=bold)
    if width:
        cut = Qt.TextElideMode.ElideMiddle if middle else Qt.TextElideMode.ElideRight
        text = QFontMetricsF(font).elidedText(text, cut, width)
    painter.setFont(font)
    painter.setPen(theme.current().q(colour))
    painter.drawText(QPointF(at.x() - _wide(text, px, bold=bold), at.y()) if right else at, text)
