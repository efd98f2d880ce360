"""The two transforms of an upgrade: old vectors brought forward, new vectors brought back.

Computes    T12: old -> new space, T21: new -> old space; compared are, by direction,
            direct (f2, f1), backward (T21(f2), f1), forward (f2, T12(f1))
Shapes      f1 (B, d1) of the old model, f2 (B, d2) of the new; T12(f1) (B, d2), T21(f2) (B, d1); unit after n()
Reference   Meng, Zhang, Xu, Zhou, "Learning Compatible Embeddings", ICCV 2021
Departs     d1 and d2 may differ (see ensemble.py); direct then is refused
"""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from facelens.errors import InputError
from facelens.features.models.ensemble import TRANSFORMS, unit
from facelens.words import tr

DIRECTIONS = ("direct", "backward", "forward")


class Compatible(nn.Module):
    """`kind` is rbt or linear; further options go to both transforms."""

    def __init__(self, old_dimensions: int, new_dimensions: int, *, kind: str = "rbt", **options: Any) -> None:
        super().__init__()
        self.old_dimensions, self.new_dimensions = old_dimensions, new_dimensions
        self.old_to_new = TRANSFORMS[kind](old_dimensions, new_dimensions, **options)
        self.new_to_old = TRANSFORMS[kind](new_dimensions, old_dimensions, **options)

    def forward(self, new: Tensor, old: Tensor, *, direction: str = "backward") -> tuple[Tensor, Tensor]:
        """New and old vectors as unit vectors of the space they are compared in."""
        if direction == "backward":
            new = self.new_to_old(unit(new))
        elif direction == "forward":
            old = self.old_to_new(unit(old))
        elif direction != "direct":
            raise ValueError(f"direction is one of {DIRECTIONS}, not {direction!r}")
        elif self.old_dimensions != self.new_dimensions:
            raise InputError(
                tr(
                    "The old model has {old} dimensions, the new one {new}: their vectors cannot be compared directly.",
                    old=self.old_dimensions,
                    new=self.new_dimensions,
                ),
                hint=tr("Use a transform, backward or forward."),
            )
        return unit(new), unit(old)
