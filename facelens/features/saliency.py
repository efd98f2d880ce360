"""Saliency: which places of a face make it like another one, for any network; torch is loaded by the functions.

Computes    cos(x) = f(x) . g / |f(x)|, g the other face's unit vector
            occlusion: cos(x) - cos(x with cell c covered), for each cell c of a grid
            gradient: sum over the pixels and channels of a cell of |d cos / d x|, the mean over noisy copies of x
            deletion: cos after the first 0, 1, 2, ... steps of covering cells for good, the most salient first, and in
            random orders; area = mean over the steps of (random - salient): above 0 where the map tells something
Shapes      picture (height, width, 3) uint8, as it is fed; map (rows, columns)
Reference   Zeiler, Fergus, "Visualizing and understanding convolutional networks", ECCV 2014 (occlusion); Smilkov,
            Thorat, Kim, Viégas, Wattenberg, "SmoothGrad", 2017; Petsiuk, Das, Saenko, "RISE", BMVC 2018 (deletion)
Departs     what covers a cell is grey or the picture blurred, not black; absolute gradients are averaged
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from facelens.errors import InputError
from facelens.progress import Tick, silent
from facelens.words import escaped, tr

if TYPE_CHECKING:
    from torch import Tensor

    from facelens.features.encoder import Encoder, TorchEncoder

KINDS = ("occlusion", "gradient")
FILLS = ("grey", "blur")
GREY = 127
COPIES, NOISE = 8, 0.1  # of the gradient: how many, and their noise as a share of the picture's range
STEPS, ORDERS = 16, 8  # of the deletion check: how many steps at most, how many random orders
BATCH = 32

Picture = NDArray[np.uint8]
Array = NDArray[np.float64]
Grid = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Deletion:
    """What the similarity does while cells are covered, one step after the other."""

    share: Array  # (S,) of the cells that are covered, from 0 to 1
    salient: Array  # (S,) cosine, the most salient cells first
    random: Array  # (ORDERS, S) cosine, cells in random orders

    @property
    def area(self) -> float:
        """How far the cosine lies below that of a random order, on average; 0 or less: the map tells nothing."""
        return float((self.random.mean(0) - self.salient).mean())


def cells(grid: Grid, size: tuple[int, int]) -> NDArray[np.int64]:
    """(P, 4) top, left, bottom, right of the cells of a grid, in pixels of a picture of `size`; row by row."""
    down, across = (np.arange(n + 1) * side // n for n, side in zip(grid, size))
    return np.array([(down[r], across[c], down[r + 1], across[c + 1]) for r in range(grid[0]) for c in range(grid[1])])


def occlusion(
    picture: Picture,
    other: NDArray[np.floating],
    encoder: Encoder,
    *,
    grid: Grid,
    fill: str = "grey",
    tick: Tick = silent,
) -> Array:
    """How much of the similarity is lost when a cell is covered; below 0 where it is gained."""
    boxes, cover = cells(grid, picture.shape[:2]), _cover(picture, fill)

    def covered() -> Iterator[Picture]:
        yield picture
        for box in boxes:
            yield _covered(picture, cover, box[None])

    found = _cosines(covered(), len(boxes) + 1, other, encoder, tick=tick)
    lost: Array = (found[0] - found[1:]).reshape(grid)
    return lost


def gradient(
    picture: Picture, other: NDArray[np.floating], encoder: Encoder, *, grid: Grid, seed: int = 0, tick: Tick = silent
) -> Array:
    """How much the similarity changes with the pixels of a cell; for networks whose layers are known."""
    from facelens.features.encoder import TorchEncoder, pool

    if not isinstance(encoder, TorchEncoder):
        raise InputError(
            tr("{name} is a finished program without gradients.", name=escaped(encoder.card.name)),
            hint=tr("Use occlusion, which works for every model."),
        )
    import torch

    given = encoder._batch(picture[None].copy()).contiguous()
    goal = torch.from_numpy(np.asarray(other, np.float32) / max(float(np.linalg.norm(other)), 1e-12)).to(encoder.device)
    spread = NOISE * float(given.max() - given.min())

    def slope(number: int) -> Array:
        chance = torch.Generator().manual_seed(COPIES * seed + number)
        x = (given + spread * torch.randn(given.shape, generator=chance).to(encoder.device)).requires_grad_(True)
        (found,) = torch.autograd.grad(_cosine(encoder, x, goal), x)
        return np.asarray(found[0].abs().sum(0).double().cpu().numpy())

    pixels = np.zeros(picture.shape[:2])
    for number, found in enumerate(pool(encoder.streams).map(slope, range(COPIES))):  # each on a core of its own
        pixels += found / COPIES
        tick(number + 1, COPIES)
    boxes = cells(grid, picture.shape[:2])
    return np.array([pixels[top:bottom, left:right].sum() for top, left, bottom, right in boxes]).reshape(grid)


def _cosine(encoder: TorchEncoder, x: Tensor, goal: Tensor) -> Tensor:
    import torch

    found: Tensor = encoder.network(x).embedding[0]
    if encoder.card.flip:
        found = found + encoder.network(x.flip(3)).embedding[0]
    return torch.nn.functional.normalize(found, dim=0) @ goal


def deletion(
    picture: Picture,
    other: NDArray[np.floating],
    encoder: Encoder,
    salience: Array,
    *,
    fill: str = "grey",
    seed: int = 0,
    tick: Tick = silent,
) -> Deletion:
    """Whether a map tells anything: cover what it says matters most, and compare with covering at random."""
    grid = (salience.shape[0], salience.shape[1])
    boxes, cover = cells(grid, picture.shape[:2]), _cover(picture, fill)
    P = len(boxes)
    counts = np.unique(np.linspace(0, P, min(P, STEPS) + 1).round().astype(np.int64))
    chance = np.random.default_rng(seed)
    orders = [np.argsort(-salience.ravel(), kind="stable"), *(chance.permutation(P) for _ in range(ORDERS))]

    def covered() -> Iterator[Picture]:
        for order in orders:
            for count in counts.tolist():
                yield _covered(picture, cover, boxes[order[:count]])

    found = _cosines(covered(), len(orders) * len(counts), other, encoder, tick=tick).reshape(len(orders), len(counts))
    return Deletion(counts / P, found[0], found[1:])


def _cover(picture: Picture, fill: str) -> Picture:
    """What is seen in place of the picture where it is covered."""
    if fill == "grey":
        return np.full_like(picture, GREY)
    if fill != "blur":
        raise ValueError(f"fills are {FILLS}, not {fill!r}")
    from PIL import Image, ImageFilter

    return np.asarray(Image.fromarray(picture).filter(ImageFilter.GaussianBlur(max(picture.shape[:2]) / 10)))


def _covered(picture: Picture, cover: Picture, boxes: NDArray[np.int64]) -> Picture:
    made = picture.copy()
    for top, left, bottom, right in boxes.tolist():
        made[top:bottom, left:right] = cover[top:bottom, left:right]
    return made


def _cosines(
    pictures: Iterator[Picture], count: int, other: NDArray[np.floating], encoder: Encoder, *, tick: Tick
) -> Array:
    goal = np.asarray(other, np.float64)
    goal = goal / max(float(np.linalg.norm(goal)), 1e-12)
    found = np.zeros(count)
    for start in range(0, count, BATCH):
        tick(start, count)
        some = np.stack([next(pictures) for _ in range(min(BATCH, count - start))])
        vectors = encoder(some).vectors.astype(np.float64)
        length = np.maximum(np.linalg.norm(vectors, axis=1), 1e-12)
        found[start : start + len(some)] = vectors @ goal / length
    tick(count, count)
    return found
