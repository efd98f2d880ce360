"""What views of parts show: a value for each part of each face, and how one of them is told."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from facelens.analyses.parts import Floats, Layout, Spread
from facelens.figures.part_words import Words, part_name
from facelens.images.faceset import FaceSet, Ids, Rows
from facelens.views.grid import percentile
from facelens.words import tr

BLOCK = 2048  # faces looked at at once
EVEN = 1e-3  # means that differ by less than this share of the scale say nothing


@dataclass(frozen=True, eq=False)
class PartValues:
    """Values (N, K) of the faces `ids`, with their scale and their words."""

    faces: FaceSet
    ids: Ids
    values: Floats
    spread: Spread
    layout: Layout
    words: Words

    @property
    def parts(self) -> int:
        """K."""
        return self.layout.parts

    # Who is where

    @cached_property
    def _by_id(self) -> tuple[Ids, Rows]:
        order = np.argsort(self.ids, kind="stable").astype(np.int64)
        return self.ids[order], order

    def rows_of(self, ids: Ids) -> Rows:
        """Rows of those ids that have values."""
        known, order = self._by_id
        if not len(known) or not len(ids):
            return np.zeros(0, np.int64)
        at = np.minimum(np.searchsorted(known, ids), len(known) - 1)
        return np.asarray(order[at[known[at] == ids]], np.int64)

    def row_of(self, face: int | None) -> int | None:
        """The row of one face."""
        if face is None:
            return None
        rows = self.rows_of(np.array([face], np.int64))
        return int(rows[0]) if len(rows) else None

    # One number for a face

    @cached_property
    def _moments(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        mean, apart = np.empty(len(self.ids)), np.empty(len(self.ids))
        ones = np.ones(self.parts, np.float32)
        for start in range(0, len(self.ids), BLOCK):  # few at once, so that they stay in the cache
            some = slice(start, start + BLOCK)
            values = self.values[some]
            known = np.isfinite(values)
            counts = np.count_nonzero(known, axis=1)
            values = np.where(known, values, 0)
            with np.errstate(invalid="ignore"):
                mean[some] = values @ ones / counts
            off = (values - mean[some, None].astype(np.float32)) * known
            apart[some] = np.sqrt(np.einsum("nk,nk->n", off, off) / np.maximum(counts, 1))
            apart[some][counts < 2] = np.nan
        return mean, apart

    @property
    def mean(self) -> NDArray[np.float64]:
        """(N,) of the parts that are known; NaN where none is."""
        return self._moments[0]

    @property
    def apart(self) -> NDArray[np.float64]:
        """(N,) how much the parts of a face differ: their standard deviation; NaN where fewer than two are known."""
        return self._moments[1]

    @cached_property
    def even(self) -> bool:
        """Whether all faces have the same mean, as shares of a vector have: then only how parts differ tells."""
        known = self.mean[np.isfinite(self.mean)]
        scale = self.spread.high - self.spread.low
        return len(known) > 1 and float(known.max() - known.min()) < EVEN * scale

    @property
    def summary(self) -> NDArray[np.float64]:
        """(N,) the number that stands under a face: its mean, or how much its parts differ."""
        return self.apart if self.even else self.mean

    @cached_property
    def order(self) -> Rows:
        """Rows by their summary, the lowest first, those without last."""
        return np.argsort(self.summary, kind="stable").astype(np.int64)

    @cached_property
    def _differing(self) -> Rows:
        """Rows by how much their parts differ, the most first."""
        return np.argsort(-self.apart, kind="stable").astype(np.int64)

    def in_order(self, rows: Rows) -> Rows:
        """The same rows, by their summary."""
        if 8 * len(rows) < len(self.ids):
            rows = np.sort(rows)
            return np.asarray(rows[np.argsort(self.summary[rows], kind="stable")], np.int64)
        chosen = np.zeros(len(self.ids), bool)
        chosen[rows] = True
        return np.asarray(self.order[chosen[self.order]], np.int64)

    def examples(self, count: int) -> tuple[Rows, ...]:
        """Faces for those who see none: of low, of mixed, of high values; nobody twice, `count` of each at most.

        Low and high are those of the lowest and highest mean, the highest first; mixed are those of the others whose
        parts differ most. Where all means are the same: the faces whose parts differ least, and most.
        """
        known = self.order[: np.count_nonzero(np.isfinite(self.summary))]
        n = min(count, max(1, len(known) // (2 if self.even else 3)))
        low, high = known[:n], known[n:][::-1][:n]
        if self.even:
            return low, high
        likely = self._differing[: len(low) + len(high) + n]
        mixed = likely[~np.isin(likely, np.concatenate([low, high])) & np.isfinite(self.apart[likely])]
        return low, mixed[:n], high

    # Words

    def told(self, row: int, part: int) -> list[str]:
        """One part of one face: its name, its value, and where that stands among all faces if there is one."""
        place = percentile(self.values[:, part], row)
        said = [part_name(self.layout, part), self.words.told(float(self.values[row, part]))]
        return said if place is None else [*said, f"p{round(place)}"]

    def part_text(self, row: int, part: int) -> str:
        """The same in one line: "part 13 · log σ² −2.90 · s 18.2 · p88"."""
        return " · ".join(self.told(row, part))

    def summary_text(self, row: int) -> str:
        """The number that stands under a face."""
        value = self.words.value(float(self.summary[row]))
        if self.summary[row] != self.summary[row]:
            return tr("no {name}", name=self.words.name)
        return tr("spread {value}", value=value) if self.even else tr("mean {value}", value=value)
