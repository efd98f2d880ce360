"""Recall against the number of dimensions: learner after learner, beside slice after slice of the baseline, and in
orders drawn by chance. A click on the curve makes the learner current that was added there."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from facelens.analyses.divided import Learners, Side
from facelens.figures.part_words import part_name, part_word
from facelens.views.plots import Axis, Band, Chart, Mark, Point, Series
from facelens.words import escaped, number, tr

CHANCE = (1.0, 2.5)  # dashes
TICKS = 8


class LearnerCurve(Chart):
    """See the module's words."""

    part_chosen = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(Axis(tr("dimensions")), Axis(""), name=tr("Recall by dimensions"), brush=False, parent=parent)
        self.found: Learners | None = None
        self.k, self.part = 1, -1
        self.describe = self._told
        self.picked.connect(self._on_picked)

    def show_learners(self, found: Learners, k: int) -> None:
        """Recall@k of other learners."""
        self.found, self.k = found, k
        sides = [side for side in (found.baseline, found.own) if side is not None]
        self.set_axes(*self._axes(found, sides))
        self.set_series([self._chance(side) for side in sides] + [self._curve(side) for side in sides])
        self._dot()

    def _axes(self, found: Learners, sides: Sequence[Side]) -> tuple[Axis, Axis]:
        low, high = _range([values for side in sides for values in self._values(side)[1:]])
        width, K = found.own.layout.width, found.own.layout.parts
        steps = tuple(float(width * k) for k in range(1, K + 1) if k % -(-K // TICKS) == 0 or k == 1)
        title = tr("dimensions, a {part} more at each step", part=part_word(found.own.layout))
        first, last = min(side.layout.width for side in sides), max(side.layout.dimensions for side in sides)
        x = Axis(title, low=0.7 * first, high=last + 0.1 * width, ticks=steps, form=_count)
        return x, Axis(tr("Recall@{k}, higher is better", k=self._ks[self._at]), low=low, high=high)

    def _curve(self, side: Side) -> Series:
        x, y, *_ = self._values(side)
        letter = self._letter(side)
        return Series(letter, x, y, side=letter, name=escaped(side.model), headline=number(float(y[-1]), 3))

    def _chance(self, side: Side) -> Series:
        x, _, low, mean, high = self._values(side)
        letter = self._letter(side)
        name = tr("{name}, any order", name=escaped(side.model))
        return Series(
            f"{letter} chance",
            x,
            mean,
            colour=letter,
            name=name,
            band=Band(low, high),
            reference=True,
            dash=CHANCE,
            label_at=0.45,
        )

    def set_part(self, part: int) -> None:
        """Another learner is the current one."""
        if part != self.part:
            self.part = part
            self._dot()

    def _dot(self) -> None:
        """Where the current learner comes in."""
        if self.found is None or not 0 <= self.part < self.found.own.layout.parts:
            self.set_points([])
            return
        x, y, *_ = self._values(self.found.own)
        self.set_points([Point("B", float(x[self.part]), float(y[self.part]))])

    @property
    def _ks(self) -> tuple[int, ...]:
        return self.found.own.curve.ks if self.found is not None else (1,)

    @property
    def _at(self) -> int:
        return self._ks.index(self.k) if self.k in self._ks else 0

    def _letter(self, side: Side) -> str:
        return "B" if self.found is not None and side is self.found.own else "A"

    def _values(self, side: Side) -> tuple[np.ndarray, ...]:
        curve, at = side.curve, self._at
        x = side.layout.width * np.arange(1.0, curve.ordered.shape[1] + 1)
        return x, curve.ordered[at], curve.low[at], curve.mean[at], curve.high[at]

    def _told(self, mark: Mark) -> Sequence[str]:
        assert self.found is not None
        side = self.found.own if mark.key.startswith("B") or self.found.baseline is None else self.found.baseline
        x, y, low, mean, high = (float(values[mark.index]) for values in self._values(side))
        first, last = part_name(side.layout, 0), part_name(side.layout, mark.index)
        name = first if not mark.index else tr("{first} to {last}", first=first, last=last)
        chance = f"{number(mean, 3)} [{number(low, 3)}, {number(high, 3)}]"
        return (
            tr("{name}: {d} dimensions", name=escaped(side.model), d=int(x)),
            f"{name}: {number(y, 3)}",
            tr("in any order: {chance}", chance=chance),
        )

    def _on_picked(self, key: str, index: int) -> None:
        self.set_ring(None)
        if key == "B":
            self.part_chosen.emit(index)


def _range(values: Sequence[np.ndarray]) -> tuple[float, float]:
    """Where all curves are seen, with a little room."""
    known = np.concatenate([one[np.isfinite(one)] for one in values])
    low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
    spare = max(0.05 * (high - low), 0.005)
    return max(0.0, low - spare), min(1.0, high + spare)


def _count(value: float) -> str:
    return f"{value:,.0f}"
