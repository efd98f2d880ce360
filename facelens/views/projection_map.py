"""The map: a dot for each face, near each other where their vectors are alike.

Circles are originals, outlines of triangles augmented pictures; or triangles up are faces that an upgrade gained, down
those that it lost. Lines lead to where a face is in another map, links to the faces that are nearest to it in truth.
With a selection the others fade, and the people in it are named. A drag draws a lasso or a rectangle. Keys: arrows
walk to the next face in that direction, plus and minus zoom; the rest is as in every cloud.

While one zooms or pans, the last picture is moved; many faces are painted in a thread.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QLineF, QPointF, QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen, QPolygonF, QRegion, QResizeEvent
from PySide6.QtWidgets import QWidget

from facelens.analyses.projection import Projection
from facelens.images.faceset import FaceSet, Ids
from facelens.views import map_scene, theme
from facelens.views.cloud import NOBODY, NOTHING, Array, Cloud, View
from facelens.views.colouring import Colouring
from facelens.views.controls import draw_text, text_width
from facelens.views.hover import Line
from facelens.views.later import Later
from facelens.views.map_scene import Content, Floats, Lines, Scene, Sight
from facelens.views.picking import Index, Loop
from facelens.views.thumbnails import Thumbnails
from facelens.words import plural, tr

TOOLS = ("lasso", "rectangle")
AROUND = 0.04  # of the map that is left free on each side
NAMED = 8  # people of the selection up to which they are named
FOOT = 22  # px of the line at the foot
REST = 90  # ms without zoom, pan or moving points after which everything is painted anew
AT_ONCE = 50_000  # dots up to which painting does not wait for a thread
ARROWS = {
    Qt.Key.Key_Left: (-1, 0),
    Qt.Key.Key_Right: (1, 0),
    Qt.Key.Key_Up: (0, -1),
    Qt.Key.Key_Down: (0, 1),
}


class ProjectionMap(Cloud):
    """See the module's words."""

    viewed = Signal(object)  # View: the user looks at something else

    def __init__(self, thumbnails: Thumbnails, parent: QWidget | None = None) -> None:
        super().__init__(thumbnails, parent)
        self.tool = TOOLS[0]
        self._rank: NDArray[np.int32] = np.zeros(0, np.int32)
        self._front: NDArray[np.bool_] | None = None  # faces that lie over the others
        self._also: tuple[Array, Array] = NOTHING, NOTHING  # further points that the whole has
        self._colouring: Colouring | None = None
        self._augmented: NDArray[np.bool_] = np.zeros(0, bool)
        self._shaped = False  # whether shapes mean anything
        self._kinds: NDArray[np.int8] | None = None
        self._marks: NDArray[np.int8] = np.zeros(0, np.int8)
        self._lines: Lines | None = None
        self._links: NDArray[np.int64] = np.zeros((0, 2), np.int64)  # places in `_ids`
        self._right: NDArray[np.bool_] | None = None  # whether each link joins two faces of one person
        self._echo: int | None = None  # place of the face that is pointed at elsewhere
        self._more: Callable[[int], Sequence[Line]] | None = None
        self._foot = self._why = ""
        self._head: tuple[tuple[str, str], ...] = ()  # words at the top left, each with the token of its colour
        self._loop: Loop | None = None
        self._places: NDArray[np.int64] = NOBODY  # of the selected faces
        self._scene: Scene | None = None
        self._overview: Scene | None = None  # the last one of everything
        self._awaited: tuple[Content, Sight] | None = None
        self._moving = False
        self._rest = QTimer(self)
        self._rest.setSingleShot(True)
        self._rest.setInterval(REST)
        self._rest.timeout.connect(self._on_rest)
        self._later = Later(self)
        self._later.done.connect(self._on_painted)
        self.setAccessibleName(tr("Map of the faces"))
        self.setWhatsThis(
            tr(
                "A dot for each face, near each other where the vectors are alike. A click selects, a drag draws a "
                "lasso or a rectangle; Shift adds, Alt takes away. The wheel zooms, middle drag or Space and drag "
                "pans, F shows everything, arrows walk from face to face."
            )
        )

    def sizeHint(self) -> QSize:
        return QSize(640, 420)

    # What is shown

    def show_map(self, faces: FaceSet, found: Projection, *, same: bool = False) -> None:
        """Show points; where it is the `same` map that goes on, what is looked at stays, and so do the colours."""
        self._faces, self._why = faces, ""
        self._show(found.ids, found.points[:, 0], found.points[:, 1], same=same)

    def show_nothing(self, why: str) -> None:
        """Nothing to draw, and why."""
        self._faces, self._why = None, why
        self._show(NOBODY, NOTHING, NOTHING, same=False)

    def _show(self, ids: Ids, x: NDArray[np.floating], y: NDArray[np.floating], *, same: bool) -> None:
        stays = same and self._view != self._whole
        self._ids, self._x, self._y = ids, np.asarray(x, np.float64), np.asarray(y, np.float64)
        self._order(self._front if same else None)
        if not same:
            self._hover = self._echo = self._colouring = self._kinds = self._lines = self._more = None
            self._augmented, self._links, self._right = np.zeros(len(ids), bool), np.zeros((0, 2), np.int64), None
            self._also, self._moving = (NOTHING, NOTHING), False
            self._mark()
        self._whole = self._everything()
        if not stays:
            self._view = self._whole
        self._mark_selected()
        self._paint_anew()

    def set_points(self, x: NDArray[np.floating], y: NDArray[np.floating]) -> None:
        """Other places (N,) of the same faces, as often as one likes: what is looked at stays."""
        self._x, self._y = np.asarray(x, np.float64), np.asarray(y, np.float64)
        self._moving = True
        self._rest.start()
        self._laid = None
        self.update()

    def set_reach(self, x: NDArray[np.floating], y: NDArray[np.floating]) -> None:
        """Further points that are in sight when everything is: where the faces come from or go to."""
        self._also = np.asarray(x, np.float64), np.asarray(y, np.float64)
        self._reframe()

    def set_colours(self, colouring: Colouring | None) -> None:
        """Colour the faces that are shown; None: by what their shapes say."""
        self._colouring = colouring
        self._order(colouring.front if colouring is not None else None)
        self._paint_anew()

    def _order(self, front: NDArray[np.bool_] | None) -> None:
        """How dots lie over each other: by chance, so that no kind of face lies over all others, but those in `front`;
        always the same way, so that nothing flickers."""
        if front is self._front and len(self._drawn) == len(self._ids):
            return
        self._front = front
        self._drawn = np.random.default_rng(0).permutation(len(self._ids))
        if front is not None:
            self._drawn = self._drawn[np.argsort(front[self._drawn], kind="stable")]
        self._rank = np.empty(len(self._ids), np.int32)
        self._rank[self._drawn] = np.arange(len(self._ids), dtype=np.int32)

    def set_shapes(self, augmented: NDArray[np.bool_] | None) -> None:
        """Which of the faces are augmented; None: nobody knows."""
        self._shaped = augmented is not None
        self._augmented = augmented if augmented is not None else np.zeros(len(self._ids), bool)
        self._mark()

    def set_kinds(self, kinds: NDArray[np.integer] | None) -> None:
        """What became of each face (N,): -1 lost, 0 same, 1 gained. Shapes tell it; None: no more."""
        self._kinds = None if kinds is None else np.asarray(kinds, np.int8)
        self._mark()

    def set_lines(
        self,
        x: NDArray[np.floating] | None,
        y: NDArray[np.floating] | None = None,
        *,
        start: tuple[NDArray[np.floating], NDArray[np.floating]] | None = None,
        shown: NDArray[np.bool_] | None = None,
        colours: Floats | None = None,
        front: NDArray[np.bool_] | None = None,
    ) -> None:
        """A line from each face, or from its `start`, to where it is elsewhere (N,); None: none.

        Of some only where `shown` (N,) says so; in `colours` (N, 3), else in those of what became of the faces. All but
        those in `front` (N,) are grey.
        """
        self._lines = None
        if x is not None and y is not None:
            ends = [np.asarray(v, np.float64) for v in (x, y)]
            begin = None if start is None else (np.asarray(start[0], np.float64), np.asarray(start[1], np.float64))
            self._lines = Lines(ends[0], ends[1], begin, shown, colours, front)
        self.update()

    def set_links(self, pairs: NDArray[np.integer] | None, right: NDArray[np.bool_] | None = None) -> None:
        """Thin lines between the faces of `pairs` (M, 2) of ids, such as neighbours in truth; None: none.

        Those that are not `right` (M,) are dashed, and of the colour of what is wrong.
        """
        ids = np.zeros((0, 2), np.int64) if pairs is None else np.asarray(pairs, np.int64).reshape(-1, 2)
        where = {int(self._ids[place]): int(place) for place in self._known.places(np.unique(ids))}
        there = np.array([one in where and other in where for one, other in ids.tolist()], bool)
        found = [[where[one], where[other]] for one, other in ids[there].tolist()]
        self._links = np.array(found, np.int64).reshape(-1, 2)
        self._right = None if right is None else np.asarray(right, bool)[there]
        self.update()

    def set_hover(self, face: int | None) -> None:
        """Ring the face that is pointed at elsewhere."""
        place = self._place_of(face)
        if place != self._echo:
            self._echo = place
            self.update()

    def set_words(self, more: Callable[[int], Sequence[Line]] | None) -> None:
        """What the card of the face at a place says besides."""
        self._more = more

    def set_foot(self, text: str) -> None:
        """What this is a map of, in a line at the foot."""
        came, self._foot = bool(text) != bool(self._foot), text
        if came:
            self._reframe()
        self._tell()
        self.update()

    def set_head(self, *words: tuple[str, str]) -> None:
        """Whose map it is, at its top left: words, each with the token of its colour."""
        self._head = words
        self._tell()
        self.update()

    def set_tool(self, tool: str) -> None:
        """What a drag draws."""
        self.tool = tool

    def _mark(self) -> None:
        if self._kinds is not None:
            kinds = (map_scene.SAME, map_scene.GAINED, map_scene.UNSEARCHED, map_scene.LOST)  # [-1]: lost
            self._marks = np.array(kinds, np.int8)[self._kinds]
        else:
            self._marks = np.where(self._augmented, map_scene.AUGMENTED, map_scene.ORIGINAL).astype(np.int8)
        self._paint_anew()

    def _mark_selected(self) -> None:
        super()._mark_selected()
        self._places = np.flatnonzero(self._chosen)

    def _said(self) -> list[str]:
        chosen = len(self._places)
        parts = [" ".join(words for words, _ in self._head), self._why or self._foot]
        if self._colouring is not None:
            parts.append(tr("Colour: {title}", title=self._colouring.title))
        if chosen:
            parts.append(plural(chosen, "{n} face selected", "{n} faces selected"))
        return parts

    def _words(self, place: int) -> list[Line]:
        lines: list[Line] = []
        if self._colouring is not None and not self._colouring.people:
            lines.append((self._colouring.title, self._colouring.told(place)))
        if self._shaped:
            said = tr("augmented") if self._augmented[place] else tr("original")
            lines.append((tr("shape"), said))
        return [*lines, *(self._more(place) if self._more is not None else ())]

    # What is looked at: one scale for both directions

    @property
    def camera(self) -> View:
        """What is in sight."""
        return self._view

    @property
    def sees_all(self) -> bool:
        """Whether everything is in sight."""
        return self._view == self._whole

    def see_all(self) -> None:
        """As `fit`, but nobody is told."""
        if self._view != self._whole:
            self._see(self._whole)

    def set_camera(self, view: View) -> None:
        """Look at this, in the same scale for both directions."""
        box = self._box()
        scale = max((view.right - view.left) / box.width(), (view.high - view.low) / box.height())
        x, y = (view.left + view.right) / 2, (view.low + view.high) / 2
        half = scale * box.width() / 2, scale * box.height() / 2
        self._see(View(x - half[0], x + half[0], y - half[1], y + half[1]))

    def _look_at(self, view: View) -> None:
        if view != self._view:
            self._see(view)
            self.viewed.emit(view)

    def _see(self, view: View) -> None:
        self._view, self._laid = view, None
        if self._scene is not None:
            self._rest.start()  # until then the pictures are moved
        self.update()

    def _box(self) -> QRectF:
        return QRectF(0, 0, max(1, self.width()), max(1, self.height() - (FOOT if self._foot else 0)))

    def _everything(self) -> View:
        """All points, in the middle of the box."""
        box = self._box()
        some = [(x, y) for x, y in ((self._x, self._y), self._also) if len(x)]
        if not some:
            return View(0.0, 1.0, 0.0, 1.0)
        low = np.min([(x.min(), y.min()) for x, y in some], axis=0)
        high = np.max([(x.max(), y.max()) for x, y in some], axis=0)
        middle, span = (low + high) / 2, np.maximum(high - low, 1e-9) * (1 + 2 * AROUND)
        size = np.array([box.width(), box.height()])
        half = max(span / size) * size / 2
        left, low_ = middle - half
        right, high_ = middle + half
        return View(float(left), float(right), float(low_), float(high_))

    def _reframe(self) -> None:
        """The box or the whole is another one: the same middle stays, and the same share of the whole."""
        old, view, whole = self._whole, self._view, self._everything()
        self._whole = self._view = whole
        if view != old:
            share = (view.right - view.left) / (old.right - old.left)
            x, y = (view.left + view.right) / 2, (view.low + view.high) / 2
            across, up = share * (whole.right - whole.left) / 2, share * (whole.high - whole.low) / 2
            self._view = View(x - across, x + across, y - up, y + up)
        self._paint_anew()

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._reframe()
        super().resizeEvent(event)

    def _on_rest(self) -> None:
        self._moving = False
        self.update()

    def _paint_anew(self) -> None:
        self._rest.stop()
        self._laid = None
        self._tell()
        self.update()

    # The lasso

    def mousePressEvent(self, event: QMouseEvent) -> None:
        super().mousePressEvent(event)
        self._loop = None

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        super().mouseMoveEvent(event)
        if self._drag == "band" and self.tool == "lasso":
            if self._loop is None:
                self._loop = Loop(self._indexed())
                self._loop.add(*self._anchor)
            self._loop.add(*self._point(event.position()))

    def _indexed(self) -> Index:
        made = self._scene.index if self._scene is not None else None
        if made is not None and made.same(self._x, self._y, self._drawn):
            return made
        return super()._indexed()

    def _brushed(self) -> NDArray[np.int64]:
        return self._loop.places if self._loop is not None else super()._brushed()

    def _count(self) -> int:
        return self._loop.count if self._loop is not None else super()._count()

    def _paint_brush(self, painter: QPainter) -> None:
        if self._loop is None:
            super()._paint_brush(painter)
            return
        now, trail = theme.current(), np.array(self._loop.trail)
        x, y = self._to_px(trail[:, 0]).tolist(), self._to_py(trail[:, 1]).tolist()
        line = QPolygonF([QPointF(*point) for point in zip(x, y)])
        painter.setPen(QPen(now.q("accent"), 1.4, Qt.PenStyle.DashLine))
        painter.setBrush(now.q("accent", 0.13))
        painter.drawPolygon(line, Qt.FillRule.WindingFill)
        self._paint_tag(painter, line.boundingRect().intersected(self._box()))

    # Painting

    def paintEvent(self, event: QPaintEvent) -> None:
        now, box, painter = theme.current(), self._box(), QPainter(self)
        painter.fillRect(self.rect(), now.q("sunk"))
        painter.setRenderHints(QPainter.RenderHint.Antialiasing | QPainter.RenderHint.SmoothPixmapTransform)
        if len(self._drawn):
            painter.save()
            painter.setClipRect(box)
            self._paint_scene(painter, box)
            self._paint_links(painter)
            self._paint_ways(painter)
            painter.restore()
            self._paint_names(painter)
            self._paint_marks(painter)
            if self._echo is not None and self._echo != self._hover:
                self._paint_ring(painter, self._echo)
        self._paint_head(painter)
        if not len(self._drawn) and self._why:
            painter.setFont(theme.font(11))
            painter.setPen(now.q("text3"))
            flags = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
            painter.drawText(box.adjusted(24, 8, -24, -8), int(flags), self._why)
        if self._foot:
            draw_text(painter, QRectF(12, box.bottom(), self.width() - 24, FOOT - 4), self._foot, "text3", 10)
        self._paint_focus(painter)

    def _paint_scene(self, painter: QPainter, box: QRectF) -> None:
        """The pictures; elsewhere than they were painted for, while one zooms or pans."""
        self._make_scene(box)
        if self._scene is None:
            return
        target = self._scene.sight.target(self._view, box)
        over = self._overview
        if over is not None and not target.contains(box):  # what has just come into sight, for now from far away
            painter.save()
            painter.setClipRegion(QRegion(box.toAlignedRect()) - QRegion(target.toRect()))
            for image in over.images:
                painter.drawImage(over.sight.target(self._view, box), image)
            painter.restore()
        for image in self._scene.images:
            painter.drawImage(target, image)

    def _make_scene(self, box: QRectF) -> None:
        """See to it that the scene shows what it should: at once, or soon."""
        sight = Sight(self._view, int(box.width()), int(box.height()), self.devicePixelRatioF())
        content, scene = self._content(), self._scene
        if scene is not None and scene.shows(content) and (scene.sight == sight or self._rest.isActive()):
            return
        if content.effort <= AT_ONCE:
            self._set_scene(map_scene.painted(content, sight, scene))
        elif self._awaited is None or not (self._awaited[0].same(content) and self._awaited[1] == sight):
            self._awaited = content, sight
            self._later.ask(partial(map_scene.painted, content, sight, scene))

    def _content(self) -> Content:
        shades = self._colouring.shades if self._colouring is not None else None
        order = self._drawn, self._rank, self._marks
        return Content(
            self._x, self._y, *order, shades, self._places, self._lines, self._moving, theme.current()
        )  # fmt: skip

    def _on_painted(self, scene: Scene) -> None:
        if self._awaited is not None and len(scene.content.x) == len(self._x):
            if self._awaited[0] is scene.content:
                self._awaited = None
            self._set_scene(scene)
            self.update()

    def _set_scene(self, scene: Scene) -> None:
        self._scene = scene
        if scene.sight.view == self._whole:
            self._overview = scene
        elif self._overview is not None and not self._overview.shows(scene.content):
            self._overview = None

    def _paint_links(self, painter: QPainter) -> None:
        if not len(self._links):
            return
        now, x, y = theme.current(), self._to_px(self._x[self._links]), self._to_py(self._y[self._links])
        lines = [QLineF(*ends) for ends in np.stack([x[:, 0], y[:, 0], x[:, 1], y[:, 1]], 1).tolist()]
        right = [None] * len(lines) if self._right is None else self._right.tolist()
        for kind, pen in (
            (None, QPen(now.q("text2"), 1)),
            (True, QPen(now.q("good"), 1.4)),
            (False, QPen(now.q("bad"), 1.4, Qt.PenStyle.DashLine)),
        ):
            painter.setPen(pen)
            painter.drawLines([line for line, one in zip(lines, right) if one is kind])

    def _paint_ways(self, painter: QPainter) -> None:
        """The line of the face that is pointed at, here or elsewhere, stands out; a small ring where it leads."""
        found = self._lines
        if found is None:
            return
        for place in {self._hover, self._echo, self._current()} - {None}:
            assert place is not None
            begin = (self._x, self._y) if found.start is None else found.start
            x = self._to_px(np.array([begin[0][place], found.x[place]])).tolist()
            y = self._to_py(np.array([begin[1][place], found.y[place]])).tolist()
            painter.setPen(QPen(theme.current().q("text"), 1.4))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawLine(QPointF(x[0], y[0]), QPointF(x[1], y[1]))
            for i in (0, 1) if found.start is not None else (1,):
                painter.drawEllipse(QPointF(x[i], y[i]), 3, 3)

    def _paint_head(self, painter: QPainter) -> None:
        x = 12.0
        if self._head:
            wide = sum(text_width(words, 11, bold=True) + 8 for words, _ in self._head)
            painter.fillRect(QRectF(8, 6, min(wide + 4, self.width() - 16), 20), theme.current().q("sunk", 0.8))
        for words, token in self._head:
            wide = min(text_width(words, 11, bold=True) + 2, self.width() - 12 - x)
            draw_text(painter, QRectF(x, 8, max(wide, 0), 16), words, token, 11, bold=True)
            x += wide + 6

    def _paint_names(self, painter: QPainter) -> None:
        """The people of the selection, else those in front, each at the middle of these faces."""
        chosen = self._places if len(self._places) or self._front is None else np.flatnonzero(self._front)
        if self._faces is None or len(chosen) < 2:
            return
        rows = self._faces.rows_of(self._ids[chosen])
        codes = self._faces.identity.codes[rows]
        people, taken = np.unique(codes[codes >= 0]), list[QRectF]()
        if not 0 < len(people) <= NAMED:
            return
        for code in people.tolist():
            places = chosen[codes == code]
            x, y = float(np.median(self._to_px(self._x[places]))), float(np.median(self._to_py(self._y[places])))
            self._paint_name(painter, self._faces.label(int(rows[codes == code][0])), x, y, taken)

    def _paint_name(self, painter: QPainter, text: str, x: float, y: float, taken: list[QRectF]) -> None:
        wide = text_width(text, 10) + 10
        plate = QRectF(x - wide / 2, y - 28 if y > 34 else y + 12, wide, 16)
        while any(plate.intersects(other) for other in taken):
            plate.translate(0, -17)
        if not self._box().contains(plate.center()):
            return
        taken.append(plate)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme.current().q("raised", 0.86))
        painter.drawRoundedRect(plate, 3, 3)
        draw_text(painter, plate, text, "text", 10, align="centre")

    # Keys

    def keyPressEvent(self, event: QKeyEvent) -> None:
        way = ARROWS.get(Qt.Key(event.key()))
        if way is not None and len(self._drawn):
            self._walk(*way)
        elif event.key() in (Qt.Key.Key_Plus, Qt.Key.Key_Equal, Qt.Key.Key_Minus) and not (
            event.modifiers() & Qt.KeyboardModifier.ControlModifier
        ):
            spot = self._spot(self._hover) if self._hover is not None else None
            self._zoom(1.25 if event.key() == Qt.Key.Key_Minus else 0.8, spot or self._box().center())
        else:
            super().keyPressEvent(event)

    def _walk(self, right: int, down: int) -> None:
        """To the next face in a direction; to the one in the middle where none is pointed at."""
        box = self._box()
        start = self._hover if self._hover is not None else self._current()
        spot = self._spot(start) if start is not None else None
        at = spot or box.center()
        x, y = self._px - at.x(), self._py - at.y()
        far = np.hypot(x, y)
        if spot is not None:
            along, aside = x * right + y * down, np.abs(x * down) + np.abs(y * right)
            far = np.where((along > 0) & (aside <= 2 * along + 4) & (self._drawn != start), along + 2 * aside, np.inf)
        far[(np.abs(self._px - box.center().x()) > box.width() / 2)] = np.inf
        far[(np.abs(self._py - box.center().y()) > box.height() / 2)] = np.inf
        if np.isfinite(far).any():
            self._walk_to(int(self._drawn[int(np.argmin(far))]))
