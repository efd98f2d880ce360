"""Attributes of faces: rules about the columns of a gallery, and the labels that follow from them. Needs no torch.

A rule is a comparison, `smile > 0.5`, `age < 30`, `role = cover`, or a column alone, which holds where its number is
above 0: so tables that write 0 and 1 and tables that write -1 and 1 need no more than the name.

Shapes    labels (N, A) float32: 1 where a rule holds, 0 where it does not, NaN where the column has no value
"""

from __future__ import annotations

import difflib
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from facelens.errors import InputError
from facelens.images.faceset import Column, Labels
from facelens.words import escaped, tr

_RULE = re.compile(r"\s*([^<>=]*[^<>=\s])\s*(?:([<>=])\s*([^<>=]*[^<>=\s])\s*)?")


@dataclass(frozen=True)
class Rule:
    """One attribute: `sign` is >, < or =."""

    column: str
    sign: str = ">"
    value: str = "0"

    @classmethod
    def of(cls, text: object) -> Rule | None:
        """Read a rule, None where it is none.

        >>> Rule.of("smile > 0.5")
        Rule(column='smile', sign='>', value='0.5')
        >>> Rule.of("glasses")
        Rule(column='glasses', sign='>', value='0')
        """
        found = _RULE.fullmatch(text) if isinstance(text, str) else None
        if found is None:
            return None
        made = cls(found[1], found[2], found[3]) if found[2] else cls(found[1])
        return made if made.sign == "=" or not math.isnan(made.number) else None

    @property
    def number(self) -> float:
        """The value as a number, NaN where it is a word."""
        try:
            return float(self.value)
        except ValueError:
            return math.nan

    def holds(self, columns: Mapping[str, Column]) -> NDArray[np.float32]:
        """(N,) 1, 0 or NaN."""
        column = columns.get(self.column)
        if column is None:
            near = difflib.get_close_matches(self.column, columns, n=1)
            known = tr("Its columns are {names}.", names=", ".join(map(escaped, columns))) if columns else ""
            raise InputError(
                tr("The gallery has no column {name}.", name=escaped(self.column)),
                hint=tr("Did you mean {near}?", near=near[0]) if near else known,
            )
        if isinstance(column, Labels):
            return self._named(column)
        values = np.asarray(column, np.float64)
        if self.sign == "=":
            holds = values == self.number
        else:
            holds = values > self.number if self.sign == ">" else values < self.number
        return np.where(np.isnan(values), np.nan, holds).astype(np.float32)

    def _named(self, column: Labels) -> NDArray[np.float32]:
        if self.sign != "=":
            few = ", ".join(map(escaped, column.names[:5]))
            raise InputError(
                tr("The column {name} holds words, not numbers: {words}.", name=escaped(self.column), words=few),
                hint=tr("Write {name} = WORD.", name=escaped(self.column)),
            )
        code = column.names.index(self.value) if self.value in column.names else -2
        return np.where(column.codes < 0, np.nan, column.codes == code).astype(np.float32)


def labels(rules: Mapping[str, str], columns: Mapping[str, Column]) -> NDArray[np.float32]:
    """What the rules, by name of the attribute, say of every face."""
    found = []
    for text in rules.values():
        rule = Rule.of(text)
        assert rule is not None, text
        found.append(rule.holds(columns))
    return np.stack(found, 1)


def told_apart(rules: Mapping[str, str], given: NDArray[np.float32]) -> None:
    """Refuse attributes that the labels (n, A) give one value, or none: there would be nothing to learn."""
    for (name, rule), values in zip(rules.items(), given.T):
        if not ((values == 0).any() and (values == 1).any()):
            raise InputError(
                tr("The attribute {name} is the same on all pictures that are trained on.", name=escaped(name)),
                hint=tr("Change its rule, {rule}, or leave it out.", rule=escaped(rule)),
            )


@dataclass(frozen=True, eq=False)
class Head:
    """What reads attributes off the vectors of an attribute network: a linear map, weight (A, D) and bias (A,). It lies
    in the file of that network, which is otherwise a model like any other."""

    names: tuple[str, ...]
    weight: NDArray[np.float32]
    bias: NDArray[np.float32]

    WEIGHT: ClassVar[str] = "classifier.weight"
    BIAS: ClassVar[str] = "classifier.bias"
    NAMES: ClassVar[str] = "facelens_attributes"  # a JSON list in the words of the file

    @classmethod
    def read(cls, path: Path) -> Head:
        """The head in a file that was trained."""
        from safetensors import SafetensorError, safe_open

        try:
            with safe_open(path, "np") as file:
                weight, bias = (np.asarray(file.get_tensor(name), np.float32) for name in (cls.WEIGHT, cls.BIAS))
                names = json.loads((file.metadata() or {})[cls.NAMES])
        except (OSError, SafetensorError, LookupError, ValueError) as error:
            raise _no_head(path, str(error)) from None
        plain = isinstance(names, list) and all(isinstance(name, str) for name in names)
        if not plain or weight.ndim != 2 or not len(names) == len(weight) == len(bias):
            raise _no_head(path, f"{names} {weight.shape} {bias.shape}")
        return cls(tuple(names), weight, bias)


def _no_head(path: Path, details: str) -> InputError:
    return InputError(
        tr("{name} is no attribute network.", name=escaped(path.name)),
        hint=tr("Train one: facelens train attributes."),
        details=details,
    )
