"""Standpoint: what was evaluated, seen from the shared operating point; the charts and tables of verification ask it.

Everything is looked up in the scores that are there; nothing is worked out anew.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from facelens.analyses.evaluation import Evaluation, Report
from facelens.analyses.measure import Measure, rate
from facelens.analyses.verification import Curve, OperatingPoint, Verification, at_threshold
from facelens.images.faceset import FaceSet
from facelens.session import listing
from facelens.session.listing import Listing, Standing
from facelens.session.workspace import Operating
from facelens.words import tr

Ask = Callable[[], Listing]


@dataclass(frozen=True, eq=False)
class Side:
    """One model: its letter, its results, and which points of its curve are drawn."""

    letter: str
    report: Report
    verification: Verification
    drawn: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Standpoint:
    """An evaluation at an operating point; a change makes a new one."""

    evaluation: Evaluation
    faces: FaceSet
    names: Mapping[str, str]  # what models A and B are called
    operating: Operating
    sides: tuple[Side, ...] = field(default=())
    chosen: str = ""  # the model of charts and tables that have room for one

    @classmethod
    def of(cls, evaluation: Evaluation, faces: FaceSet, names: Mapping[str, str], operating: Operating) -> Standpoint:
        """Look at an evaluation."""
        sides = tuple(
            Side(letter, report, found, _supported(found))
            for letter, report in evaluation.sides
            if (found := report.verification) is not None
        )
        return cls(evaluation, faces, names, operating, sides, sides[-1].letter if sides else "")

    def at(self, operating: Operating) -> Standpoint:
        """The same, from another operating point."""
        return replace(self, operating=operating)

    @property
    def both(self) -> bool:
        """Whether there are two models."""
        return len(self.sides) > 1

    @property
    def side(self) -> Side | None:
        """The chosen model."""
        return self.side_of(self.chosen)

    def side_of(self, letter: str) -> Side | None:
        """The model with this letter."""
        return next((side for side in self.sides if side.letter == letter), None)

    @cached_property
    def targets(self) -> tuple[float, ...]:
        """Target FARs of the table, largest first."""
        return tuple(sorted({p.target for side in self.sides for p in side.verification.points}, reverse=True))

    @property
    def live(self) -> float | None:
        """The FAR of the line where it stands between the rows of the table."""
        off = self.operating.threshold is not None or self.operating.far not in self.targets
        return self.operating.far if off and self.sides else None

    @property
    def nearest_target(self) -> float | None:
        """The row that is meant where values stand only for rows."""
        far = max(self.operating.far, 1e-12)
        return min(self.targets, key=lambda target: abs(np.log(target / far)), default=None)

    @cached_property
    def _standings(self) -> dict[str, Standing | None]:
        return {}

    def standing(self, letter: str) -> Standing | None:
        """Where a model stands at the operating point; None where it has no impostor pair."""
        if letter not in self._standings:
            side = self.side_of(letter)
            by_hand = self.operating.threshold if self.operating.of == letter.lower() else None
            found = listing.standing(side.report, self.operating.far, threshold=by_hand) if side is not None else None
            self._standings[letter] = found
        return self._standings[letter]

    def threshold(self, letter: str) -> float | None:
        """The threshold of a model."""
        here = self.standing(letter)
        return here.threshold if here is not None else None

    def point(self, side: Side, target: float) -> OperatingPoint | None:
        """A row of the table."""
        return next((p for p in side.verification.points if p.target == target), None)

    def tar(self, side: Side, target: float | None) -> Measure:
        """TAR at a target, or where the line is (None)."""
        if target is not None:
            point = self.point(side, target)
            return point.tar if point is not None else Measure.none(tr("not worked out"))
        here, found = self.standing(side.letter), side.verification
        if here is None or here.tar is None:
            return Measure.none(found.eer.why or tr("no genuine pair"))
        if found.smallest_far is not None and self.operating.far < found.smallest_far * (1 - 1e-9):
            why = tr(
                "no support: {n} impostor pairs resolve FAR ≥ {far} (rule of 3)",
                n=found.n_impostor,
                far=rate(found.smallest_far),
            )
            return Measure(here.tar, n=found.n_genuine, why=why, supported=False)
        low, high = _band_at(found.curve, here.threshold)
        return Measure(here.tar, low, high, n=found.n_genuine)

    def at_threshold(self, side: Side, threshold: float) -> OperatingPoint | None:
        """What a threshold gives, with intervals; None where nothing was compared."""
        scores = side.report.scores
        if scores is None or not scores.n_impostor:
            return None
        return at_threshold(scores, threshold, spread=side.verification.spread)

    def who(self, code: int) -> str:
        """An identity by its code."""
        names = self.faces.identity.names
        return names[code].replace("_", " ") if 0 <= code < len(names) else tr("somebody without a name")

    # -- what can be listed; each takes the operating point as it is when it is asked

    def titled(self, found: Listing, side: Side) -> Listing:
        """The title says of which model, where there are two."""
        title = f"{side.letter}: {found.title}" if self.both else found.title
        return replace(found, title=title, asked=side.letter.lower())

    def errors(self, letter: str, *, genuine: bool | None = None, threshold: float | None = None) -> Listing:
        """Errors of a model at the operating point (or at a threshold): of one kind, or of both."""
        side = self.side_of(letter)
        if side is None or side.report.scores is None or self.standing(letter) is None:
            return listing.nothing()
        find = {None: listing.errors, True: listing.false_non_matches, False: listing.false_matches}[genuine]
        t = threshold if threshold is not None else self.threshold(letter)
        return self.titled(find(side.report.scores, t), side)

    def in_range(self, low: float, high: float, *, genuine: bool | None = None) -> Listing:
        """Pairs of the chosen model with scores between two values."""
        side = self.side
        if side is None or side.report.scores is None:
            return listing.nothing()
        edges = side.verification.histogram.edges
        last = bool(len(edges)) and high >= float(edges[-1])
        t = self.threshold(side.letter)
        return self.titled(listing.in_range(side.report.scores, low, high, t, genuine=genuine, last=last), side)

    def flips(self) -> Listing:
        """Genuine pairs that only one of the two models accepts."""
        a, b = self.side_of("A"), self.side_of("B")
        if a is None or b is None or a.report.scores is None or b.report.scores is None:
            return listing.nothing()
        return listing.flipped(a.report.scores, b.report.scores, (self.threshold("A"), self.threshold("B")))

    def between_people(self, first: int, second: int) -> Listing:
        """Pairs of two people, by the chosen model."""
        side = self.side
        if side is None or side.report.scores is None:
            return listing.nothing()
        title = tr("{a} and {b}", a=self.who(first), b=self.who(second))
        t = self.threshold(side.letter)
        return self.titled(listing.between_people(side.report.scores, first, second, t, title=title), side)


def figures(far: float) -> str:
    """A real rate, with two figures.

    >>> figures(0.0001003), figures(0.0)
    ('1.0e-4', '0')
    """
    if far <= 0:
        return "0"
    if far > 0.1:
        return f"{far:.3f}"
    figure, _, power = f"{far:.1e}".partition("e")
    return f"{figure}e{int(power)}"


def far_text(point: OperatingPoint) -> str:
    """The real FAR of a threshold with its interval."""
    low, high = point.far_interval or (None, None)
    shown = figures(point.far)
    return f"{shown} [{figures(low)}, {figures(high)}]" if low is not None and high is not None else shown


def _supported(found: Verification) -> NDArray[np.int64]:
    """Which points of the curve are drawn: those whose FAR the pairs can resolve."""
    far, tar = found.curve.far, found.curve.tar
    usable = np.isfinite(far) & np.isfinite(tar) & (far > 0)
    if found.smallest_far is not None:
        usable &= far >= found.smallest_far * (1 - 1e-9)
    return np.flatnonzero(usable)


def _band_at(curve: Curve, threshold: float | None) -> tuple[float | None, float | None]:
    """The interval of the curve at a threshold."""
    if threshold is None or not len(curve.threshold):
        return None, None
    at = min(int(np.searchsorted(-curve.threshold, -threshold, side="left")), len(curve.threshold) - 1)
    low, high = float(curve.tar_low[at]), float(curve.tar_high[at])
    return (low, high) if np.isfinite(low) and np.isfinite(high) else (None, None)
