"""Run a network stage by stage and keep what one stage gives: its patch map.

Computes    x_0 = picture, x_i = stage_i(x_{i-1}); returns x_n and x_t, t the stage that is tapped
Shapes      x (B, channels, height, width) -> last (B, ...), tapped (B, C, rows, columns) or None
Reference   none
Departs     none
"""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn

from facelens.errors import InputError
from facelens.words import escaped, tr


def run(network: nn.Module, x: Tensor, *, stages: Sequence[str], tap: str = "") -> tuple[Tensor, Tensor | None]:
    """The output of the last of the named stages, and that of the stage called `tap` ("" for none)."""
    tapped: Tensor | None = None
    for name in stages:
        x = network.get_submodule(name)(x)
        if name == tap:
            tapped = x
    return x, tapped


def checked_tap(tap: str, stages: Sequence[str]) -> str:
    """`tap`, if the network has such a stage; the last one in it, if it is a row of them."""
    tap = next((name for name in reversed(stages) if name.startswith(f"{tap}.")), tap) if tap else ""
    if tap and tap not in stages:
        raise InputError(
            tr("This network has no patch layer {name}.", name=escaped(tap)),
            hint=tr("Layers with a patch map: {names}.", names=", ".join(stages)),
        )
    return tap
