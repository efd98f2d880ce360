"""What training minimises, one file for each idea. Every loss returns named terms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from torch import Tensor


class Terms(NamedTuple):
    """A loss and what it is made of.

    total   () what is minimised: the terms times their weights
    named   each term before its weight, () and detached, in the order it is shown
    """

    total: Tensor
    named: dict[str, Tensor]


def weighted(terms: Mapping[str, Tensor], weights: Mapping[str, float]) -> Terms:
    """Terms summed with their weights; a term without a weight counts once."""
    total = sum((weights.get(name, 1.0) * term for name, term in terms.items()), start=_zero(terms))
    return Terms(total, {name: term.detach() for name, term in terms.items()})


def _zero(terms: Mapping[str, Tensor]) -> Tensor:
    if not terms:
        raise ValueError("a loss has at least one term")
    return next(iter(terms.values())).new_zeros(())
