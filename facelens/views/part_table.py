"""Faces x parts without a pixel: in which order they stand, and where they lie."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from facelens.analyses.parts import Floats, Layout, Spread
from facelens.figures.part_words import Words
from facelens.images.faceset import FaceSet, Ids, Rows, order_numbers
from facelens.views.part_values import PartValues
from facelens.words import tr

By = str | int  # "face", "mean" or a part


@dataclass(frozen=True, eq=False)
class Table(PartValues):
    """Values of the parts of faces, and their orders. A `row` is a place in `ids`."""

    places: Rows  # (N,) of the faces in the gallery
    _orders: dict[tuple[By, bool], Rows] = field(default_factory=dict)

    @classmethod
    def make(cls, faces: FaceSet, ids: Ids, values: Floats, spread: Spread, layout: Layout, words: Words) -> Table:
        """Of those of the faces `ids` that are in the gallery."""
        places = faces.rows_of(ids)
        if len(places) < len(ids):
            known = np.isin(ids, faces.ids)
            ids, values = ids[known], values[known]
        return cls(faces, ids, values, spread, layout, words, places)

    @cached_property
    def part_mean(self) -> Floats:
        """(K,) mean of the faces that have a value."""
        known = np.isfinite(self.values)
        with np.errstate(invalid="ignore"):
            found = self.values.sum(axis=0, dtype=np.float64, where=known) / np.count_nonzero(known, axis=0)
        return np.asarray(found, np.float32)

    @cached_property
    def whole(self) -> bool:
        """Whether every part of every face has a value."""
        return not np.isnan(self.values).any()

    @property
    def summary_name(self) -> str:
        """What the one number of a face is."""
        return tr("spread") if self.even else tr("mean")

    def name(self, row: int) -> str:
        """Who it is."""
        return self.faces.label(int(self.places[row]))

    def order_by(self, by: By, *, descending: bool) -> Rows:
        """Rows sorted by name, summary or one part; ties keep the gallery's order, what has no value comes last."""
        kept = self._orders.get((by, descending))
        if kept is None:
            if by == "face":
                codes = self.faces.identity.codes[self.places]
                keys = np.where(codes < 0, np.nan, codes)
            else:
                keys = self.summary if by == "mean" else self.values[:, int(by)]
            keys = np.ascontiguousarray(keys, np.float32)  # what sorts fastest; people are fewer than it can tell apart
            kept = self._orders[by, descending] = order_numbers(keys, descending=descending)
        return kept

    def parts_by(self, by: str, *, descending: bool, face: int | None = None) -> Rows:
        """Parts sorted by "number", by "mean", or by the values of one "face"."""
        row = self.row_of(face)
        keys = np.arange(self.parts, dtype=np.float32)
        if by == "mean":
            keys = self.part_mean
        elif by == "face" and row is not None:
            keys = np.ascontiguousarray(self.values[row])
        return order_numbers(keys, descending=descending)


# Where things lie

LEFT, SIDE, GAP = 12, 20, 8  # px before the face, of the face, around names and cells
ROW, CELL, HEAD, FOOT = 25, 21, 32, 34
MEAN, RIGHT = 44, 8  # px of a mean, and right of it
NARROW, WIDE = 3, 28  # px from one cell to the next
NAME, NAME_LEAST, NAME_MOST = 118, 64, 168
ENOUGH = 12  # px of a cell under which names give way


@dataclass(frozen=True)
class Seats:
    """Columns of the matrix: names, K cells of `pitch` px of which the last `gap` are free, the mean."""

    parts: int
    name: int
    pitch: int

    @classmethod
    def make(cls, width: int, parts: int) -> Seats:
        """Fill `width`; what whole pixels of cells leave over goes to the names."""
        room = width - LEFT - SIDE - 3 * GAP - MEAN - RIGHT
        pitch = (room - NAME) // parts
        if pitch < ENOUGH:
            pitch = min((room - NAME_LEAST) // parts, ENOUGH)
        pitch = min(max(pitch, NARROW), WIDE)
        return cls(parts, min(max(room - parts * pitch, 0), NAME_MOST), pitch)

    @property
    def gap(self) -> int:
        return 2 if self.pitch >= 16 else 1 if self.pitch >= 6 else 0

    @property
    def names(self) -> int:
        """Left edge of the names."""
        return LEFT + SIDE + GAP

    @property
    def left(self) -> int:
        """Left edge of the first cell."""
        return self.names + self.name + GAP

    @property
    def right(self) -> int:
        """Right edge of the last cell."""
        return self.left + self.parts * self.pitch - self.gap

    @property
    def mean(self) -> int:
        """Right edge of the means."""
        return self.right + GAP + MEAN

    def column(self, x: float) -> int | None:
        """The column under x; cells reach over the gaps, so that nothing flickers between them."""
        at = int((x - self.left) // self.pitch)
        return at if 0 <= at < self.parts else None

    def numbered(self, wide: float) -> int:
        """Every how many columns a number of `wide` px has room over them."""
        return next((n for n in (1, 2, 4, 8, 16, 32) if n * self.pitch >= wide + 4), 64)


def gaps(seats: Seats) -> NDArray[np.bool_]:
    """Which pixels of a line of cells are free."""
    return np.tile(np.arange(seats.pitch) >= seats.pitch - seats.gap, seats.parts)
