"""Grids: how finely a model can be asked to see a face as patches. Needs no torch.

Computes    the grid of the card's own layer; 4 x 4 and 3 x 3 where that is finer, by averaging; the next finer grid of
            an earlier layer, of several the one with most channels, of those the last
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from facelens.features.checkpoint import TORCHSCRIPT
from facelens.words import tr

if TYPE_CHECKING:
    from facelens.features.library import Inspection

COARSER = ((4, 4), (3, 3))
FINEST = 400  # patches: beyond, a transport plan takes long and says little


class Choice(NamedTuple):
    """One way to cut a face: what it is called, and `layer` and `grid` of a MatchPlan."""

    label: str
    layer: str = ""
    grid: tuple[int, int] | None = None


def grids(found: Inspection) -> tuple[Choice, ...]:
    """What a model offers, its own grid first; none where it has no patch map."""
    own = found.card.grid
    if own is None:
        # A program tells its grid when it runs.
        return (Choice(tr("Native")),) if found.kind == TORCHSCRIPT else ()
    choices = [Choice(_sides(own))]
    earlier = [(name, sides) for name, sides in map(_layer, found.layers) if sides[1] > own[0] and sides[2] > own[1]]
    fitting = [(name, sides) for name, sides in earlier if sides[1] * sides[2] <= FINEST]
    if fitting:
        rows, columns = min((sides[1:] for _, sides in fitting), key=lambda grid: grid[0] * grid[1])
        same = [(name, sides[0]) for name, sides in fitting if sides[1:] == (rows, columns)]
        name = max(reversed(same), key=lambda one: one[1])[0]
        choices.append(Choice(_sides((rows, columns)), name))
    choices += [
        Choice(_sides(grid), "", grid) for grid in COARSER if grid[0] <= own[0] and grid[1] <= own[1] and grid != own
    ]
    return tuple(choices)


def _sides(grid: tuple[int, int]) -> str:
    return f"{grid[0]} × {grid[1]}"


def _layer(told: tuple[str, str]) -> tuple[str, tuple[int, int, int]]:
    name, words = told
    channels, rows, columns = map(int, words.split(" × "))
    return name, (channels, rows, columns)
