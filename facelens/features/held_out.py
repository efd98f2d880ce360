"""What a way of fitting is worth on people it has not seen: scores across two models. Needs no torch.

Computes    genuine scores: cosines of a mapped vector and a target vector of different pictures of one person; where
            there are fewer than 20, also those of the same picture; impostor scores: of different people
            TAR at FAR 1e-3, else at 1e-2, where ten impostors lie above; the separation
            (mean genuine - mean impostor) / sqrt((variance genuine + variance impostor) / 2)
Shapes      mapped, target (n, d) unit, labels (n,) -> scores (pairs,)
Reference   d' of signal detection
Departs     a TAR with fewer impostors is not given; ways are then compared by their separation, which few pairs give
            well, and so are ways of equal TAR
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from facelens.features.closed_forms import Matrix, Way
from facelens.words import number, plural, tr

Codes = NDArray[np.int64]

PARTS = 5  # of the people, left out in turn
FARS = {"1e-3": 1e-3, "1e-2": 1e-2}
SUPPORT = 10  # impostor pairs above a FAR
_FEW = 20  # genuine pairs
_MOST, _OF_ONE = 1000, 20  # pictures of each part that are compared, and of each person among them


@dataclass(frozen=True)
class Check:
    """What one way of fitting was worth. `tar` is None, and `far` "", where there are too few pairs for one."""

    method: str
    strength: float
    far: str
    tar: float | None
    separation: float
    people: int  # that were compared

    @property
    def way(self) -> Way:
        """What was checked."""
        return Way(self.method, self.strength)

    @property
    def order(self) -> tuple[float, float]:
        """Higher is better."""
        return self.tar or 0.0, self.separation

    @property
    def separated(self) -> str:
        """The separation as it is written."""
        return number(self.separation, 2)

    @property
    def value(self) -> str:
        """The number that ways are compared by first."""
        return self.separated if self.tar is None else number(self.tar, 4)


class Scores(NamedTuple):
    """Cosines across two models: of different pictures of a person, of different people, of the same picture."""

    genuine: Matrix
    impostor: Matrix
    same: Matrix

    @classmethod
    def of(cls, mapped: Matrix, target: Matrix, labels: Codes) -> Scores:
        """All pairs."""
        cosines = mapped @ target.T
        alike = labels[:, None] == labels
        itself = np.eye(len(labels), dtype=bool)
        return cls(cosines[alike & ~itself], cosines[~alike], cosines[itself])


def parts(labels: Codes, *, seed: int) -> Iterator[tuple[Codes, Codes]]:
    """Rows of each part of the people 0 ... C - 1, and those among them that are compared; nothing where there are too
    few people for two parts with two people each."""
    people = int(labels.max()) + 1
    order = np.random.default_rng([6, seed]).permutation(people)
    count = min(PARTS, people // 2)
    for part in (order[i::count] for i in range(count)) if count > 1 else ():
        place = np.full(people, -1)
        place[part] = np.arange(len(part))
        where = place[labels]
        rows = np.flatnonzero(where >= 0)
        grouped = rows[np.argsort(where[rows], kind="stable")]
        first = np.searchsorted(where[grouped], where[grouped])
        yield rows, grouped[np.arange(len(grouped)) - first < _OF_ONE][:_MOST]


def check(way: Way, found: Sequence[Scores], *, people: int) -> Check:
    """Scores of all parts together."""
    genuine, impostor, same = (np.concatenate(one) for one in zip(*found))
    if len(genuine) < _FEW:
        genuine = np.concatenate([genuine, same])
    spread = math.sqrt((genuine.var() + impostor.var()) / 2)
    separation = float((genuine.mean() - impostor.mean()) / max(spread, 1e-12))
    for name, far in FARS.items():
        above = int(far * len(impostor) + 1e-9)
        if above >= SUPPORT and len(genuine) >= _FEW:
            last = len(impostor) - above - 1
            threshold = np.partition(impostor, last)[last]  # at most `above` impostors are higher
            return Check(*way, name, float((genuine > threshold).mean()), separation, people)
    return Check(*way, "", None, separation, people)


def compared(checks: Sequence[Check]) -> str:
    """Checks in a sentence, the best first."""
    if not checks:
        return ""
    best, *rest = checks
    level = tr("TAR {value} at FAR {far}", value=best.value, far=best.far)
    equal = bool(rest and best.far) and len({one.tar for one in checks}) == 1
    values = [one.separated if equal else one.value for one in checks]
    what = level if best.far and not equal else tr("separation {value}", value=values[0])
    if rest:
        others = ", ".join(
            tr("{value} of {way}", value=value, way=str(one.way)) for one, value in zip(rest, values[1:])
        )
        what = tr("{what} against {others}", what=what, others=others)
    if equal:
        what = tr("{what} ({level} for all)", what=what, level=level)
    where = plural(best.people, "on {n} person left out in turn", "on {n} people left out in turn")
    return tr("{way}: {what}, {where}.", way=str(best.way), what=what, where=where)
