"""Networks, one file each, with the state-dict names of their public releases. MODELS lists what FaceLens knows.

Only this table is cheap to import: the files behind it import torch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from facelens.features.card import Card

if TYPE_CHECKING:
    from torch import Tensor, nn


class Output(NamedTuple):
    """What every network returns.

    embedding   (B, D), not normalised
    patches     (B, C, rows, columns) or None: the last feature map that still knows where things are
    confidence  (B, S) or None: one number for each sub-embedding, higher is surer
    """

    embedding: Tensor
    patches: Tensor | None = None
    confidence: Tensor | None = None


@dataclass(frozen=True)
class Spec:
    """One architecture: where it is built, the card it usually has, and how many parameters that makes."""

    name: str
    place: str  # "module:function" below this package; the function takes `options` and returns an nn.Module
    card: Card
    parameters: int
    title: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)

    def build(self, **options: Any) -> nn.Module:
        """The network, freshly initialised; its forward takes (B, channels, height, width) and returns an Output."""
        module, function = self.place.split(":")
        made: nn.Module = getattr(import_module(f"{__name__}.{module}"), function)(**{**self.options, **options})
        return made


MODELS: Mapping[str, Spec] = {}
