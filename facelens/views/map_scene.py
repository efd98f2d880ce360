"""What a map looks like: pictures of its lines, its dots and the selected ones, each made anew only when it must be.

A scene is painted in any thread, and does not change afterwards.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QRectF
from PySide6.QtGui import QColor, QImage

from facelens.views import dots, traces
from facelens.views.cloud import View
from facelens.views.picking import Array, Index, Places
from facelens.views.theme import Theme

Floats = NDArray[np.float32]
ORIGINAL, AUGMENTED, UNSEARCHED, SAME, GAINED, LOST = range(6)  # what a mark means
MARKS = {  # in the order they are drawn: shape, and its size beside a disc of an original
    ORIGINAL: ("disc", 1.0),
    AUGMENTED: ("triangle", 1.0),
    UNSEARCHED: ("hollow", 0.8),
    SAME: ("disc", 0.8),
    GAINED: ("up", 1.35),
    LOST: ("down", 1.35),
}
INKS = {  # where faces have no colours of their own
    ORIGINAL: "text3",
    AUGMENTED: "text3",
    UNSEARCHED: "text3",
    SAME: "text3",
    GAINED: "good",
    LOST: "bad",
}
FADED = 0.5  # opacity of faces that are not selected
LARGEST, SMALLEST = 1.3, 0.55  # sizes of dots where there is much room for each, and where there is none
ROOM = 0.1  # size of a dot for each pixel between it and the next, if they lay evenly
PLAIN = 0.9  # size that triangles of what was gained and lost have at least, beside MARKS
SPARSE, DENSE = 0.85, 0.4  # their opacities
QUIET = 0.3  # ink of grey lines where most pass: they are the ground for those that tell something
FEW = 300  # grey lines; of more each has less ink, so that the faces are seen through them
DEAR = 8  # a line takes as long as so many dots
MOVING = 2_000  # lines that are drawn while points move
NONE: Places = np.zeros(0, np.int64)
Shown = tuple[Array, Array, NDArray[np.int8], NDArray[np.int32]]  # x, y, marks and ranks of some faces


@dataclass(frozen=True)
class Sight:
    """What is looked at, in a picture of this size."""

    view: View
    width: int
    height: int
    ratio: float

    def px(self, x: Array) -> Array:
        """Pixels from the left."""
        across = self.width / (self.view.right - self.view.left)
        return x * across - self.view.left * across

    def py(self, y: Array) -> Array:
        """Pixels from the top."""
        up = self.height / (self.view.high - self.view.low)
        return self.view.high * up - y * up

    def target(self, now: View, box: QRectF) -> QRectF:
        """Where its picture belongs when something else is looked at in the box."""
        if now == self.view:
            return box
        then = self.view
        across, up = box.width() / (now.right - now.left), box.height() / (now.high - now.low)
        return QRectF(
            box.left() + (then.left - now.left) * across,
            box.bottom() - (then.high - now.low) * up,
            (then.right - then.left) * across,
            (then.high - then.low) * up,
        )


@dataclass(frozen=True, eq=False)
class Lines:
    """Lines to where each face is elsewhere, from its dot or from a place of their own."""

    x: Array  # (N,)
    y: Array
    start: tuple[Array, Array] | None = None
    shown: NDArray[np.bool_] | None = None  # (N,)
    colours: Floats | None = None  # (N, 3); by the mark of each where there are none
    front: NDArray[np.bool_] | None = None  # (N,) those that tell something, over the others in grey


@dataclass(frozen=True, eq=False)
class Content:
    """What a map shows. Arrays are never changed, only replaced: the same array has the same picture."""

    x: Array  # (N,)
    y: Array
    drawn: Places  # (N,) the order in which dots lie over each other
    rank: NDArray[np.int32]  # (N,) the place of each in that order
    marks: NDArray[np.int8]  # (N,) of MARKS
    shades: Floats | None  # (N, 3)
    chosen: Places
    lines: Lines | None
    moving: bool  # points are on their way: there is no time for everything
    theme: Theme

    @property
    def effort(self) -> int:
        """How much there is to paint, in dots."""
        lines = 0 if self.lines is None else len(self.x) if self.lines.shown is None else int(self.lines.shown.sum())
        return len(self.x) + DEAR * (min(lines, MOVING) if self.moving else lines)

    def same(self, other: Content) -> bool:
        """Whether both show the same."""
        return _same(*(tuple(getattr(one, part.name) for part in fields(Content)) for one in (self, other)))


@dataclass(frozen=True, eq=False)
class Ready:
    """What dots need, in the order in which the index has the points: what is in sight lies together."""

    index: Index | None  # none while points are moving
    x: Array
    y: Array
    marks: NDArray[np.int8]
    rank: NDArray[np.int32]
    table: dots.Packed | None  # colours of the faces, in the order of drawing
    of: tuple[object, ...]  # marks, rank, colours

    @classmethod
    def made(cls, content: Content, before: Ready | None) -> Ready:
        """From the one before comes what is still right."""
        of = (content.marks, content.rank, content.shades)
        table = None
        if content.shades is not None:
            same = before is not None and before.of[2] is content.shades and before.of[1] is content.rank
            table = before.table if before is not None and same else dots.packed(content.shades)[content.drawn]
        if content.moving:
            return cls(None, content.x, content.y, content.marks, content.rank, table, of)
        index = before.index if before is not None else None
        if index is None or not index.same(content.x, content.y, content.drawn):
            index = Index(content.x, content.y, content.drawn)
        elif before is not None and _same(before.of[:2], of[:2]):
            return cls(index, before.x, before.y, before.marks, before.rank, table, of)
        at = index.place
        return cls(index, index.across, index.up, content.marks[at], content.rank[at], table, of)


@dataclass(frozen=True, eq=False)
class Scene:
    """Pictures over each other."""

    sight: Sight
    content: Content
    names: tuple[str, ...]  # of the pictures that are drawn, from the lowest to the highest
    pictures: dict[str, tuple[tuple[object, ...], QImage]]  # each with what it shows
    ready: Ready

    @property
    def index(self) -> Index | None:
        """Of the points, unless they are moving."""
        return self.ready.index

    @property
    def images(self) -> list[QImage]:
        """What is drawn, one over the other."""
        return [self.pictures[name][1] for name in self.names]

    def shows(self, content: Content) -> bool:
        """Whether it is of these things, wherever they are looked at from."""
        return self.content.same(content)


def painted(content: Content, sight: Sight, before: Scene | None) -> Scene:
    """A scene; from the one before comes what is still right."""
    ready = Ready.made(content, before.ready if before is not None else None)
    brush = _Brush(content, sight, ready)
    dots_ = (sight, content.theme, content.x, content.y, content.marks)
    makers: dict[str, tuple[tuple[object, ...], Callable[[], QImage]]] = {
        "lines": ((*dots_, content.lines, content.chosen, content.moving), brush.lines),
        "ground": ((*dots_, content.shades), brush.ground),
        "faded": (dots_, brush.faded),
        "front": ((*dots_, content.shades, content.chosen), brush.front),
    }
    names = ("faded", "front") if len(content.chosen) else ("ground",)
    if content.lines is not None:
        names = ("lines", *names)
    pictures = dict[str, tuple[tuple[object, ...], QImage]]()
    for name, (shows, make) in makers.items():
        old = before.pictures.get(name) if before is not None else None
        if old is not None and _same(old[0], shows):
            pictures[name] = old
        elif name in names:
            pictures[name] = shows, make()
    return Scene(sight, content, names, pictures, ready)


def _same(one: tuple[object, ...], other: tuple[object, ...]) -> bool:
    """Whether each is the very same, or a plain value that is equal."""
    return all(a is b or (isinstance(a, (bool, Sight)) and a == b) for a, b in zip(one, other, strict=True))


class _Brush:
    """Paints the pictures of a scene."""

    def __init__(self, content: Content, sight: Sight, ready: Ready) -> None:
        self._content, self._sight, self._ready = content, sight, ready

    @cached_property
    def _seen(self) -> Shown:
        """Faces in sight, and some around."""
        view, ready = self._sight.view, self._ready
        if ready.index is None:
            return ready.x, ready.y, ready.marks, ready.rank
        x, y = 0.03 * (view.right - view.left), 0.03 * (view.high - view.low)
        rows = ready.index.rows(view.low - y, view.high + y)
        across, up = ready.x[rows], ready.y[rows]
        inside = (across >= view.left - x) & (across <= view.right + x)
        inside &= (up >= view.low - y) & (up <= view.high + y)
        if inside.all():
            return across, up, ready.marks[rows], ready.rank[rows]
        return across[inside], up[inside], ready.marks[rows][inside], ready.rank[rows][inside]

    @cached_property
    def _style(self) -> tuple[float, float]:
        """Size and opacity of a dot: the less room there is for each, the smaller and fainter."""
        apart = (self._sight.width * self._sight.height / max(len(self._seen[0]), 1)) ** 0.5
        size = min(max(ROOM * apart, SMALLEST), LARGEST)
        return round(size, 2), DENSE + (SPARSE - DENSE) * (size - SMALLEST) / (LARGEST - SMALLEST)

    def ground(self) -> QImage:
        """All faces."""
        return self._picture(self._dots(self._seen))

    def faded(self) -> QImage:
        """All faces, in grey."""
        return self._picture(self._dots(self._seen, grey=True))

    def front(self) -> QImage:
        """The selected ones. Their halos lie under the dots: where many are selected, colours are still seen."""
        these, (size, _) = self._content.chosen, self._style
        halo = dots.Dots(*self._px(these), "halo", self._content.theme.q("accent"), 0.85, max(size, 0.8))
        content = self._content
        shown = content.x[these], content.y[these], content.marks[these], content.rank[these]
        return self._picture([halo, *self._dots(shown)])

    def lines(self) -> QImage:
        """Lines of all faces that have one; with a selection, the others' are grey and lie below."""
        found, content, now = self._content.lines, self._content, self._content.theme
        assert found is not None
        these = np.arange(len(content.x)) if found.shown is None else np.flatnonzero(found.shown)
        x0, y0 = (content.x, content.y) if found.start is None else found.start
        if content.moving and len(these) > MOVING:
            far = np.hypot(found.x[these] - x0[these], found.y[these] - y0[these])
            these = these[np.argpartition(far, -MOVING)[-MOVING:]]
        layers = []

        def lay(some: Places, colour: QColor | Floats, opacity: float, *, quiet: bool = False) -> None:
            begin = self._sight.px(x0[some]), self._sight.py(y0[some])
            end = self._sight.px(found.x[some]), self._sight.py(found.y[some])
            full = QUIET if quiet else dots.FULL
            layers.append(traces.Lines(*begin, *end, colour, opacity, full, leading=not quiet))

        faint = float(np.clip(0.3 * (FEW / max(len(these), 1)) ** 0.5, 0.06, 0.3))
        front = found.front
        if len(content.chosen):
            front = np.zeros(len(content.x), bool)
            front[content.chosen] = True
        if front is not None:
            lay(these[~front[these]], now.q("text3"), faint / 2, quiet=True)
            these = these[front[these]]
        if found.colours is not None:
            few = len(these) <= traces.LEADING
            lay(these, found.colours[these], 0.7 if few else max(faint, 0.15), quiet=not few)
        else:
            for mark, ink in INKS.items():
                some = these[content.marks[these] == mark]
                lay(some, now.q(ink), faint if ink == "text3" else 0.8, quiet=ink == "text3")
        return traces.picture(layers, self._sight.width, self._sight.height, ratio=self._sight.ratio)

    def _dots(self, shown: Shown, *, grey: bool = False) -> list[dots.Dots]:
        (size, opacity), now, (x, y, marks, rank) = self._style, self._content.theme, shown
        px, py, layers = self._sight.px(x), self._sight.py(y), list[dots.Dots]()
        alike = len(marks) > 0 and bool((marks == marks[0]).all())
        for mark, (shape, scale) in MARKS.items():
            some = (slice(None) if marks[0] == mark else NONE) if alike else np.flatnonzero(marks == mark)
            if not len(marks[some]):
                continue
            table = self._ready.table
            colour = now.q("text3" if grey else INKS[mark]) if grey or table is None else table
            tells = mark in (GAINED, LOST)
            ink = min(FADED, opacity) if grey else SPARSE if tells else opacity
            large = round(scale * (max(size, PLAIN) if tells else size), 2)
            layers.append(dots.Dots(px[some], py[some], shape, colour, ink, large, rank[some], crowd=True))
        return layers

    def _px(self, these: Places) -> tuple[Array, Array]:
        return self._sight.px(self._content.x[these]), self._sight.py(self._content.y[these])

    def _picture(self, layers: list[dots.Dots]) -> QImage:
        return dots.picture(layers, self._sight.width, self._sight.height, ratio=self._sight.ratio)
