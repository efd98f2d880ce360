"""Regions: which part of the face a patch lies on, so that the cost of a match can be told by eyes, nose and mouth.

Computes    share of each region in a cell: of a fine raster of points inside the cell, those that lie in the region;
            lines across the face (over the brows, under the eyes, at the foot of the nose), a wedge for the nose, a
            strip for the mouth and an oval for the face cut it, placed and turned by the five landmarks or, without
            them, by where the aligned face has them; shares of a cell add up to exactly 1
            ledger: sum over the query's patches i of share_i,r sum_j F_ij D_ij; adds up to the EMD
            mass: sum over i of share_i,r sum_j F_ij; adds up to 1
Shapes      landmarks (5, 2) x and y in pixels; shares (P, R), R = len(REGIONS); ledger and mass (R,)
Reference   none
Departs     none
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from facelens.analyses.patch_sets import Grid
from facelens.images.align import TEMPLATES
from facelens.words import number, tr

if TYPE_CHECKING:
    from facelens.analyses.reranking import Explained

REGIONS = ("forehead", "eyes", "nose", "cheeks", "mouth", "outside")
FOREHEAD, EYES, NOSE, CHEEKS, MOUTH, OUTSIDE = range(len(REGIONS))

FINE = 16  # points along a side of a cell; a power of two, so that shares add up to 1 to the last bit

# Lengths in pixels of the aligned face of 112 x 112, from the middle between the eyes, down and to the side.
EYES_APART, EYES_TO_MOUTH = 35.24, 40.69
BROWS, LIDS = -14.0, 10.0  # over the brows, under the eyes
BRIDGE, BRIDGE_HALF, WING_HALF = -6.0, 5.0, 12.0  # where the nose begins, half as wide as it is there and at its foot
UNDER_NOSE = 7.0  # from the tip of the nose to its foot
MOUTH_HALF = 21.0
TOP, CHIN, FACE_HALF = -40.0, 64.0, 40.0  # of the oval

Array = NDArray[np.float64]
Size = tuple[int, int]


class _Face(NamedTuple):
    """A frame through the five points: `across` and `down` are unit vectors, `px` one pixel of the aligned face."""

    eyes: Array  # (2,) the middle between them
    across: Array
    down: Array
    px: float
    tip: tuple[float, float]  # of the nose, in the frame
    halves: tuple[float, float]  # how wide the left and the right half are seen, 1: from the front

    def seen(self, x: Array, y: Array) -> tuple[Array, Array]:
        """Places of the picture in the frame: to the right, downwards."""
        away = np.stack([x - self.eyes[0], y - self.eyes[1]], -1) / self.px
        return away @ self.across, away @ self.down


# Where patches lie


def shares(grid: Grid, landmarks: NDArray[np.floating] | None, size: Size) -> Array:
    """How much of each cell of a crop of `size` (height, width) is forehead, eyes, nose, cheeks, mouth, outside."""
    (rows, columns), (height, width) = grid, size
    y = (np.arange(rows * FINE) + 0.5) * height / (rows * FINE) - 0.5
    x = (np.arange(columns * FINE) + 0.5) * width / (columns * FINE) - 0.5
    region = _region(_face(landmarks, size), *np.meshgrid(x, y))
    cells = region.reshape(rows, FINE, columns, FINE).transpose(0, 2, 1, 3).reshape(rows * columns, -1)
    return np.stack([(cells == r).mean(1) for r in range(len(REGIONS))], 1)


def patches_of(shares: Array, region: int) -> tuple[int, ...]:
    """The patches that stand for a region: those with at least half as much of it as the one that has most.

    >>> patches_of(np.array([[0.9, 0.1], [0.5, 0.5], [0.0, 1.0]]), 1)
    (1, 2)
    """
    most = float(shares[:, region].max(initial=0))
    return tuple(int(patch) for patch in np.flatnonzero(shares[:, region] >= most / 2)) if most > 0 else ()


def name_of(patch: int, grid: Grid, landmarks: NDArray[np.floating] | None = None, size: Size = (112, 112)) -> str:
    """What lies in the middle of a patch, in words; left and right are those of the picture.

    >>> [name_of(patch, (7, 7)) for patch in (16, 23, 24, 31, 36, 45)]
    ['left brow', 'left eye', 'bridge of the nose', 'nose', 'left cheek', 'chin']
    """
    row, column = divmod(patch, grid[1])
    x = np.array((column + 0.5) * size[1] / grid[1] - 0.5)
    y = np.array((row + 0.5) * size[0] / grid[0] - 0.5)
    face = _face(landmarks, size)
    region = int(_region(face, x, y))
    side, down = (float(place) for place in face.seen(x, y))
    left = side < 0
    if region == EYES:
        if abs(side) > EYES_APART * 0.5 + 14:
            return tr("left temple") if left else tr("right temple")
        if down > BRIDGE:
            return tr("left eye") if left else tr("right eye")
        if abs(side) < BRIDGE_HALF:
            return tr("between the brows")
        return tr("left brow") if left else tr("right brow")
    if region == NOSE:
        return tr("bridge of the nose") if down < face.tip[1] / 2 else tr("nose")
    if region == CHEEKS:
        if down > EYES_TO_MOUTH + 4:
            return tr("left side of the jaw") if left else tr("right side of the jaw")
        return tr("left cheek") if left else tr("right cheek")
    if region == MOUTH:
        return tr("mouth") if down < EYES_TO_MOUTH + 9 else tr("chin")
    return tr("forehead") if region == FOREHEAD else tr("outside the face")


def _region(face: _Face, x: Array, y: Array) -> NDArray[np.int64]:
    """The region of each point of the picture."""
    side, down = face.seen(x, y)
    tip_side, tip_down = face.tip
    foot = tip_down + UNDER_NOSE
    along = np.clip(down / foot, 0, 1)  # of the nose
    nose = np.abs(side - tip_side * along) < BRIDGE_HALF + (WING_HALF - BRIDGE_HALF) * along
    half = np.where(side < 0, face.halves[0], face.halves[1])
    middle, high = (TOP + CHIN) / 2, (CHIN - TOP) / 2
    beyond = np.abs(side / (FACE_HALF * half)) ** 2.4 + np.abs((down - middle) / high) ** 2.4 > 1
    return np.select(
        [
            beyond,
            nose & (down > BRIDGE) & (down <= foot),
            down <= BROWS,
            down <= LIDS,
            (down > foot) & (np.abs(side) < MOUTH_HALF * half),
        ],
        [OUTSIDE, NOSE, FOREHEAD, EYES, MOUTH],
        CHEEKS,
    )


def _face(landmarks: NDArray[np.floating] | None, size: Size) -> _Face:
    """The frame of the landmarks; of the aligned face where they are missing or all in one place."""
    points = _aligned(size) if landmarks is None else np.asarray(landmarks, np.float64)
    if not np.isfinite(points).all() or np.ptp(points, 0).max() < 1:
        points = _aligned(size)
    eyes, nose, mouth = points[:2].mean(0), points[2], points[3:].mean(0)
    apart, height = (float(np.hypot(*away)) for away in (points[1] - points[0], mouth - eyes))
    down = (mouth - eyes) / height if height > 1e-9 else np.array([0.0, 1.0])
    across = np.array([down[1], -down[0]])
    # A turned head brings the eyes together and leaves the height; a lifted one the other way round.
    px = max(apart / EYES_APART, height / EYES_TO_MOUTH)
    tip = (nose - eyes) / px
    sides = ((points[:2] + points[3:]) / 2 - nose) @ across * (-1, 1) / (16.2 * px)
    left, right = (float(half) for half in 0.4 + 0.6 * np.clip(sides, 0, 1.5))
    return _Face(eyes, across, down, px, (float(tip @ across), float(tip @ down)), (left, right))


def _aligned(size: Size) -> Array:
    """Where the five points lie in an aligned crop; a size without a template of its own holds the common one."""
    for template in TEMPLATES.values():
        if template.size == size:
            return template.points
    height, width = size
    scale = min(height / 112, width / 96)
    return (TEMPLATES["arcface112"].points - 55.5) * scale + ((width - 1) / 2, (height - 1) / 2)


# What they cost


def ledger(explained: Explained, shares: Array) -> Array:
    """(R,) what each region of the query adds to the EMD."""
    return np.asarray(shares.T @ explained.costs.sum(1))


def mass(explained: Explained, shares: Array) -> Array:
    """(R,) how much of the query's weight lies in each region."""
    return np.asarray(shares.T @ explained.flow.sum(1))


@dataclass(frozen=True, eq=False)
class Average:
    """Ledgers of many pairs; half of the pairs lie between `low` and `high`."""

    mean: Array  # (R,)
    low: Array
    high: Array
    total: tuple[float, float, float]  # of the EMD: mean, low, high
    n: int


def averaged(ledgers: Sequence[Array]) -> Average:
    """Mean and quartiles of each region over some pairs; NaN of none.

    >>> averaged([np.array([0.1, 0.2]), np.array([0.3, 0.2])]).mean
    array([0.2, 0.2])
    """
    if not len(ledgers):
        nothing = np.full(len(REGIONS), np.nan)
        return Average(nothing, nothing, nothing, (np.nan, np.nan, np.nan), 0)
    rows = np.stack(ledgers)
    sums = rows.sum(1)
    low, high = np.quantile(np.column_stack([rows, sums]), (0.25, 0.75), axis=0)
    total = (float(sums.mean()), float(low[-1]), float(high[-1]))
    return Average(rows.mean(0), low[:-1], high[:-1], total, len(rows))


def title(region: int) -> str:
    """A region as it is shown."""
    return (tr("forehead"), tr("eyes"), tr("nose"), tr("cheeks"), tr("mouth"), tr("outside"))[region]


def told(difference: Array) -> str:
    """Which region makes most of a difference of two ledgers, and what the others make of it.

    >>> told(np.array([0.005, -0.077, -0.014, 0.009, 0.006, -0.002]))
    'Eyes −0.077, all other regions +0.004.'
    """
    if not np.abs(difference).max(initial=0) >= 0.0005:
        return tr("No region differs by 0.001.")
    most = int(np.abs(difference).argmax())
    rest = float(difference.sum() - difference[most])
    own = number(float(difference[most]), sign=True)
    return tr(
        "{region} {own}, all other regions {rest}.",
        region=title(most).capitalize(),
        own=own,
        rest=number(rest, sign=True),
    )
