"""Transforms from one model's space into another's, and the ensemble of several transformed members.

Computes    RBT(x) = skip(x) + sum over p of path_p(x), P = 4 paths;
            path = FC(d, 16) BN PReLU FC(16, 16) BN PReLU FC(16, d) BN PReLU, no biases; T = four RBT in a row;
            linear baseline: T(x) = W x
            ensemble: Z_i = n(T_i(n(x_i))), mean = n(mean_i Z_i), variance = 1 - ||mean_i Z_i||^2
Shapes      x (B, d_in) -> T(x) (B, d_out), not unit vectors; Z (M, B, d_out) unit; mean (B, d_out) unit;
            variance (B,)
Reference   Wang, Chang, Yang, Chen, Lai, "Unified Representation Learning for Cross Model Compatibility", BMVC 2020
            (the block); Shoshan et al., "Asymmetric Image Retrieval with Cross Model Compatible Ensembles", WACV
            2024 (the ensemble)
Departs     batch normalisation takes 0.1 of the newest batch (ports take 0.9, a slip between two libraries'
            conventions);
            the last normalisation of every path starts at 0, so that a transform starts as its skip;
            where d_in and d_out differ, the first block's skip is a matrix (an identity has no meaning there);
            `linear_skip` gives it to equal dimensions too, which helps between unrelated models
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

EPSILON = 2e-5


def _step(width_in: int, width: int) -> list[nn.Module]:
    return [nn.Linear(width_in, width, bias=False), nn.BatchNorm1d(width, eps=EPSILON), nn.PReLU(width)]


def _path(width_in: int, width: int, *, hidden: int) -> nn.Sequential:
    path = nn.Sequential(*_step(width_in, hidden), *_step(hidden, hidden), *_step(hidden, width))
    last = path[-2]
    assert isinstance(last, nn.BatchNorm1d)
    nn.init.zeros_(last.weight)
    return path


def _matrix(width_in: int, width: int) -> nn.Linear:
    matrix = nn.Linear(width_in, width, bias=False)
    nn.init.eye_(matrix.weight)
    return matrix


class RBT(nn.Module):
    """Residual bottleneck transformation: a skip and P narrow paths beside it."""

    def __init__(
        self, dimensions_in: int, dimensions: int, *, paths: int = 4, hidden: int = 16, linear_skip: bool = False
    ) -> None:
        super().__init__()
        needed = linear_skip or dimensions_in != dimensions
        self.skip: nn.Module = _matrix(dimensions_in, dimensions) if needed else nn.Identity()
        self.paths = nn.ModuleList(_path(dimensions_in, dimensions, hidden=hidden) for _ in range(paths))

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.skip(x)
        for path in self.paths:
            y = y + path(x)
        return y


class RBTTransform(nn.Module):
    """RBT blocks in a row."""

    def __init__(
        self,
        dimensions_in: int,
        dimensions: int,
        *,
        modules: int = 4,
        paths: int = 4,
        hidden: int = 16,
        linear_skip: bool = False,
    ) -> None:
        super().__init__()
        first = RBT(dimensions_in, dimensions, paths=paths, hidden=hidden, linear_skip=linear_skip)
        rest = (RBT(dimensions, dimensions, paths=paths, hidden=hidden) for _ in range(modules - 1))
        self.blocks = nn.Sequential(first, *rest)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.blocks(x)
        return y


class LinearTransform(nn.Module):
    """One matrix, the baseline every transform has to beat; starts as the identity."""

    def __init__(self, dimensions_in: int, dimensions: int) -> None:
        super().__init__()
        self.matrix = _matrix(dimensions_in, dimensions)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.matrix(x)
        return y


TRANSFORMS: dict[str, type[RBTTransform] | type[LinearTransform]] = {"rbt": RBTTransform, "linear": LinearTransform}


class Combined(NamedTuple):
    """mean (B, D) unit; variance (B,), NaN for a single member; members (M, B, D) unit."""

    mean: Tensor
    variance: Tensor
    members: Tensor


class Ensemble(nn.Module):
    """One transform for each gallery model, all into the same space."""

    def __init__(self, transforms: Sequence[nn.Module]) -> None:
        super().__init__()
        self.transforms = nn.ModuleList(transforms)

    def forward(self, vectors: Sequence[Tensor]) -> Combined:
        if len(vectors) != len(self.transforms):
            raise ValueError(f"{len(vectors)} vectors for {len(self.transforms)} transforms")
        mapped = [unit(transform(unit(x))) for transform, x in zip(self.transforms, vectors)]
        members = torch.stack(mapped)  # (M, B, D)
        centre = members.mean(0)  # (B, D)
        variance = 1 - centre.square().sum(-1)  # (B,)
        if len(mapped) == 1:
            variance = torch.full_like(variance, torch.nan)  # one member has no spread, which is not a spread of 0
        return Combined(unit(centre), variance, members)


def unit(x: Tensor) -> Tensor:
    """Each row at length 1."""
    y: Tensor = nn.functional.normalize(x, dim=-1, eps=1e-12)
    return y
