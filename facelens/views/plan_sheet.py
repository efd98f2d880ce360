"""The six views of a match as they are painted: both faces and the flow, weights and the plan, and marks on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import floor, log10
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QImage, QPainter

from facelens.analyses import flow_picture
from facelens.analyses.patch_sets import Grid
from facelens.analyses.reranking import Explained
from facelens.views import heat, marks, theme
from facelens.views.controls import draw_text, text_width
from facelens.views.flow_lines import Streams, paint_lines, strength
from facelens.views.patch_view import (
    BLACK,
    WHITE,
    Lattice,
    as_image,
    fitted,
    paint_ends,
    paint_frame,
    paint_grid,
    paint_hatch,
    paint_picture,
    paint_veil,
    warmed,
)
from facelens.views.plan_controls import PlanLook
from facelens.views.plan_matrix import Matrix
from facelens.views.plan_places import BELOW, VIEWS, arranged
from facelens.words import number, tr

Array = NDArray[np.float64]
Patch = tuple[str, int]  # "query" or "gallery", and which

SIDES = {view: "gallery" if view.startswith("gallery") else "query" for view in VIEWS if view != "plan"}
OTHER = {"query": "gallery", "gallery": "query"}
NAMED = ("gallery",)  # whose names are cut rather than left out
SPAN = 0.2  # of weights over their average: colours tell no smaller differences apart
VEIL, UNLIT = 0.3, 0.6
BAR = 48  # px of the colours in a key


class Heat(NamedTuple):
    """How much each patch of the query counts."""

    values: Array  # (P,)
    titles: tuple[str, ...]  # the longest first
    told: str  # whether it can be believed


class PlanSheet:
    """What is shown of a match, and where."""

    def __init__(
        self,
        shown: Explained,
        query: NDArray[np.uint8],
        gallery: NDArray[np.uint8],
        *,
        names: Mapping[str, str],
        right: bool | None,
    ) -> None:
        """`names` has those of "query", "gallery" and "weighting"."""
        self.shown, self.names, self.right = shown, names, right
        self.whose, _ = flow_picture.largest(shown.flow)  # (P,) the patch that each cell of the flow shows
        size = (query.shape[0], query.shape[1])
        moved = flow_picture.moved(shown.flow, gallery, shown.gallery_grid, shown.grid, size)
        self.images = {"query": as_image(query), "flow": as_image(moved), "gallery": as_image(gallery)}
        self.look = PlanLook()
        self.over = "weights"  # or a kind of `heats`
        self.cells = "flow"  # "cost", "distance"
        self.heats: dict[str, Heat] = {}  # how much patches of the query count
        self._warmed: dict[tuple[object, ...], QImage] = {}
        self.arrange(1, 1, lower=False)

    # Where things are

    def arrange(self, width: float, height: float, *, lower: bool) -> None:
        """To the room there is; see `plan_places`."""
        aspect = max(image.width() / image.height() for image in self.images.values())
        self.places = arranged(width, height, aspect=aspect, lower=lower)
        self._lattices: dict[str, Lattice] = {}

    @property
    def views(self) -> tuple[str, ...]:
        """Those that there is room for."""
        return tuple(self.places.boxes)

    def grid(self, side: str) -> Grid:
        """Rows and columns of patches of a face."""
        return self.shown.grid if side == "query" else self.shown.gallery_grid

    def lattice(self, view: str) -> Lattice:
        """Cells of a view that shows a face."""
        if view not in self._lattices:
            side = SIDES[view]
            image = self.images[side]
            box = fitted((image.height(), image.width()), self.places.boxes[view])
            self._lattices[view] = Lattice(box, self.grid(side))
        return self._lattices[view]

    def matrix(self) -> Matrix:
        """Rows and columns of the plan."""
        return Matrix.within(self.places.boxes["plan"], *self.shown.flow.shape)

    def hit(self, point: QPointF) -> tuple[str, Patch, int | None] | None:
        """What is under a point: view, patch, and in the plan the patch that its mass goes to."""
        view = next((view for view, box in self.places.boxes.items() if box.contains(point)), None)
        if view == "plan":
            found = self.matrix().at(point)
            return None if found is None else (view, ("query", found[0]), found[1])
        if view is None or (patch := self.lattice(view).at(point)) is None:
            return None
        return view, (SIDES[view], patch), None

    # What is shown

    def relative(self, view: str) -> Array:
        """What lies over a face, in averages: masses, or how much patches count."""
        values = self.shown.v if view == "gallery weights" else self.shown.u
        if view == "query weights" and self.over in self.heats:
            values = np.maximum(self.heats[self.over].values, 0.0)
        total = float(np.nansum(values))
        return values * (np.isfinite(values).sum() / total) if total > 0 else values * 0.0

    def limits(self) -> tuple[float, float]:
        """The one scale of both faces, in averages."""
        both = np.concatenate([self.relative("query weights"), self.relative("gallery weights")])
        low, high = float(np.nanmin(both)), float(np.nanmax(both))
        more = max(0.0, SPAN - (high - low)) / 2
        return low - more, high + more

    def _plan(self) -> tuple[Array, tuple[float, float], str]:
        """What the matrix shows: values, limits, and what they are."""
        shown = self.shown
        values = {"flow": shown.flow, "cost": shown.costs, "distance": shown.distance}[self.cells]
        unit = {"flow": tr("mass"), "cost": tr("cost"), "distance": tr("1 − cos")}[self.cells]
        low = float(values.min()) if self.cells == "distance" else 0.0
        return values, (low, float(values.max())), unit

    def _subtitles(self, view: str) -> Sequence[str]:
        """What is said beside a title, the longest first."""
        (rows, columns), (P, G) = self.shown.grid, self.shown.flow.shape
        if view == "query":
            size = f"{rows} × {columns}"
            return (f"{self.names['query']} · {size}", tr("{size} patches", size=size), size)
        if view == "query weights" and self.over != "weights":
            return (*self.heats[self.over].titles, "") if self.over in self.heats else (tr("working…"),)
        if view in ("query weights", "gallery weights"):
            return (self.names["weighting"], "")
        if view == "plan":
            return (tr("{size}, rows = query", size=f"{P} × {G}"), f"{P} × {G}")
        return (tr("gallery patches, moved"), tr("moved")) if view == "flow" else (self.names["gallery"],)

    # All that does not move with the pointer

    def paint(self, painter: QPainter, titles: Mapping[str, str | float], ratio: float) -> None:
        """All views, on a screen of `ratio`; `titles` are words, or how wide the control is that stands there."""
        for view in self.views:
            self._paint_title(painter, view, titles[view])
            if view == "plan":
                values, limits, _ = self._plan()
                matrix = self.matrix()
                painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, False)
                picture = matrix.picture(values, limits, self.look.colours, ratio)
                matrix.paint(painter, picture, self.shown.u, self.shown.v)
                painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, True)
            else:
                self._paint_face(painter, view)
            if view in BELOW:
                self._paint_key(painter, view)

    def _paint_title(self, painter: QPainter, view: str, title: str | float) -> None:
        line = self.places.title(view).adjusted(0, 0, 0, -3)
        if isinstance(title, str):
            draw_text(painter, line, title, "text", 12, bold=True)
            title = text_width(title, 12, True)
        rest, said = line.adjusted(title + 6, 0, 0, 0), self._subtitles(view)
        fits = next((text for text in said if text_width(text, 10) <= rest.width()), said[-1] if view in NAMED else "")
        if rest.width() > 24:
            draw_text(painter, rest, fits, "text3", 10, align="right", middle=True)

    def _paint_face(self, painter: QPainter, view: str) -> None:
        lattice, side = self.lattice(view), SIDES[view]
        paint_picture(painter, lattice.box, self.images["flow" if view == "flow" else side])
        empty = (self.shown.u if side == "query" else self.shown.v) <= 0
        if view in BELOW:
            values, limits = self.relative(view), self.limits()
            key = (view, self.over, self.over in self.heats, limits, self.look.colours)
            if key not in self._warmed:
                self._warmed[key] = warmed(values, lattice.grid, limits, self.look.colours)
            paint_picture(painter, lattice.box, self._warmed[key], opacity=self.look.opacity)
            if view == "query weights" and self.over in self.heats:
                empty = ~np.isfinite(values)
        paint_grid(painter, lattice)
        if view in (*BELOW, "flow"):
            for patch in np.flatnonzero(empty).tolist():
                paint_hatch(painter, lattice.cell(patch))
        if view == "gallery" and self.right is not None:
            mark = QRectF(lattice.box.right() - 20, lattice.box.top() + 4, 16, 16)
            (marks.right if self.right else marks.wrong)(painter, mark, theme.current())

    def _paint_key(self, painter: QPainter, view: str) -> None:
        """What the colours of a view mean: both limits, and of what."""
        line = self.places.key(view)
        if view == "plan":
            _, (low, high), unit = self._plan()
            line.setLeft(self.matrix().box.left())
            ends = (small(low), f"{small(high)} {unit}")
        else:
            low, high = self.limits()
            said = number(low, 2), tr("{times} × average", times=number(high, 2)), f"{number(high, 2)} ×"
            room = line.width() - text_width(said[0], 10) - BAR - 10
            ends = (said[0], said[1] if text_width(said[1], 10) <= room else said[2])
        x = line.left() + text_width(ends[0], 10) + 5
        draw_text(painter, line, ends[0], "text3", 10)
        ramp = heat.picture(np.linspace(0, 1, 64)[None], 0.0, 1.0, colours=self.look.colours)
        painter.drawImage(QRectF(x, line.center().y() - 3.5, BAR, 7), ramp)
        draw_text(painter, line.adjusted(x + BAR + 5 - line.left(), 0, 0, 0), ends[1], "text3", 10)

    # Marks

    def paint_lit(self, painter: QPainter, shares: Array) -> None:
        """Patches of the query by how much of each is lit, (P,)."""
        for view in (view for view in self.views if SIDES.get(view) == "query"):
            for patch, share in enumerate(shares.tolist()):
                painter.fillRect(
                    self.lattice(view).cell(patch), theme.current().q(BLACK, round(UNLIT * (1 - share), 2))
                )

    def paint_ring(self, painter: QPainter, patch: Patch) -> None:
        """What is under the pointer while another patch is kept."""
        for view in self.views:
            if SIDES.get(view) == patch[0] and view != "flow":
                paint_frame(painter, self.lattice(view).cell(patch[1]), theme.current().q(WHITE, 0.8), 1.0)

    def paint_current(self, painter: QPainter, current: Patch, streams: Streams, target: int | None) -> None:
        """A patch in all views, and where its mass goes; the stream to `target` is brought forward."""
        (side, patch), now = current, theme.current()
        ends, shares = streams.ends.tolist(), streams.shares.tolist()
        for view in self.views:
            if view == "plan":
                self._paint_in_plan(painter, current, target)
            elif view == "flow":
                self._paint_in_flow(painter, current)
            elif SIDES[view] == side:
                paint_frame(painter, self.lattice(view).cell(patch), now.q("flow"), 2.2)
            else:
                cell = self.lattice(view).cell
                paint_ends(painter, [cell(end) for end in ends], [strength(share) for share in shares])
                if target is not None:
                    paint_frame(painter, cell(target), now.q(WHITE), 2.0)
        if {"query", "gallery"} <= set(self.views):
            there = self.lattice(OTHER[side])
            paint_lines(
                painter,
                self.lattice(side).cell(patch),
                [there.cell(end) for end in ends],
                shares,
                room=there.box,
                chosen=ends.index(target) if target in ends else None,
            )

    def _paint_in_flow(self, painter: QPainter, current: Patch) -> None:
        """What the current patch turned into, or all places where it turned up, in full light; the rest steps back."""
        (side, patch), lattice, image = current, self.lattice("flow"), self.images["gallery"]
        places = [patch] if side == "query" else np.flatnonzero(self.whose == patch).tolist()
        cells = [lattice.cell(place) for place in places]
        paint_veil(painter, lattice.box, VEIL, spared=cells)
        for place, cell in zip(places, cells):
            if (whose := int(self.whose[place])) >= 0:
                rows, columns = flow_picture.cell(whose, self.grid("gallery"), (image.height(), image.width()))
                painter.drawImage(cell, image, QRectF(columns.start, rows.start, len(columns), len(rows)))
            paint_frame(painter, cell, theme.current().q(WHITE), 2.0)

    def _paint_in_plan(self, painter: QPainter, current: Patch, target: int | None) -> None:
        (side, patch), matrix = current, self.matrix()
        (matrix.paint_row if side == "query" else matrix.paint_column)(painter, patch)
        if target is not None:
            matrix.paint_cell(painter, *((patch, target) if side == "query" else (target, patch)))


def small(value: float) -> str:
    """A number with two or three digits that count.

    >>> small(0.0381), small(0.00912), small(0.0), small(0.338)
    ('0.038', '0.0091', '0', '0.338')
    """
    return number(value, min(6, max(3, 1 - floor(log10(value))))) if value > 0 else "0"
