"""Rows of a training as columns of numbers, which grow as rows come in: nothing is read twice to be drawn."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from facelens.session.training import Row

PARTS = ("terms", "facts", "validation")
Array = NDArray[np.float64]


class Columns:
    """The numbers of each part of the rows, by name, in the order in which they first came."""

    def __init__(self) -> None:
        self._rows: Sequence[Row] = ()
        self._steps: list[float] = []
        self._rates: list[float] = []
        self._parts: dict[str, dict[str, list[float]]] = {part: {} for part in PARTS}

    def update(self, rows: Sequence[Row]) -> None:
        """Take rows; those that were there before are not looked at again.

        >>> columns = Columns()
        >>> columns.update([{"step": 1, "rate": 0.1, "terms": {"loss": 2.0}}])
        >>> columns.part("terms")["loss"]
        array([2.])
        """
        known = len(self._rows)
        if known > len(rows) or (known and rows[known - 1] is not self._rows[-1]):
            self.__init__()  # type: ignore[misc]
            known = 0
        for row in rows[known:]:
            self._add(row)
        self._rows = rows

    def _add(self, row: Row) -> None:
        count = len(self._steps)
        self._steps.append(float(row["step"]))
        self._rates.append(float(row["rate"]))
        for part, columns in self._parts.items():
            for name, value in row.get(part, {}).items():
                if isinstance(value, (int, float)):
                    column = columns.setdefault(name, [])
                    column += [np.nan] * (count - len(column))
                    column.append(float(value))

    @property
    def steps(self) -> Array:
        """(n,) the step of each row."""
        return np.array(self._steps)

    @property
    def rates(self) -> Array:
        """(n,) the learning rate of each row."""
        return np.array(self._rates)

    def part(self, part: str) -> dict[str, Array]:
        """(n,) of each name; NaN where a row has none."""
        count = len(self._steps)
        return {name: np.array(column + [np.nan] * (count - len(column))) for name, column in self._parts[part].items()}


def thinned(steps: Array, values: Array, *, most: int) -> tuple[Array, Array]:
    """What is known, in at most `most` points: means of neighbours, at the last step of each.

    >>> thinned(np.arange(5.0), np.array([1.0, 3.0, np.nan, 5.0, 7.0]), most=2)
    (array([1., 4.]), array([2., 6.]))
    """
    known = np.isfinite(values)
    steps, values = steps[known], values[known]
    together = -(-len(values) // most)
    if together <= 1:
        return steps, values
    starts = np.arange(0, len(values), together)
    counts = np.diff(np.append(starts, len(values)))
    return steps[starts + counts - 1], np.add.reduceat(values, starts) / counts
