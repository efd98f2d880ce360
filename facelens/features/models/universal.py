"""Sub-embeddings with a confidence for each: one vector that knows which of its parts to trust.

Computes    f^(k) = n(k-th of K equal groups of the backbone's embedding), supplement section 3 (||f^(k)|| = 1);
            s^(k) = exp(clamp(w_k . flatten(m) + b_k, -10, 7)), m the backbone's patch map;
            with an uncertainty head (PA) s^(k) = 1 / v^(k), v the head's variance, see `Uncertainty`;
            fused f^(k) = n(sum_i f_i^(k) / v_i^(k)), variance min_i v_i^(k) or 1 / sum_i (1 / v_i^(k))
Shapes      embedding (B, D), K unit vectors of D / K numbers side by side, so its norm is sqrt(K);
            confidence (B, K), > 0; patches (B, C, rows, columns) of the backbone. K = 16, D = 512
Reference   Shi, Yu, Sohn, Chandraker, Jain, "Towards Universal Representation Learning for Deep Face Recognition",
            CVPR 2020; Shi, Jain, "Probabilistic Face Embeddings", ICCV 2019 (the uncertainty head)
Departs     the first branch is the backbone's own embedding layer; the clamp keeps exp finite; confidences start at
            64, near the scale CosFace uses: from 1 the first loss is all margin and the gradients are tiny;
            the uncertainty head has K outputs, one for each part, where PFE has one for each dimension
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from facelens.errors import InputError
from facelens.features.models import MODELS, Output
from facelens.features.models.shapes import measured
from facelens.words import escaped, tr

START = 64.0
LOWEST, HIGHEST = -10.0, 7.0  # of the logarithm
LEAST = math.log(1e-6)  # of the logarithm of a variance


def parts_of(embedding: Tensor, parts: int) -> Tensor:
    """The groups of an embedding as unit vectors: (B, D) -> (B, K, D / K)."""
    if embedding.shape[-1] % parts:
        raise InputError(
            tr("{d} dimensions cannot be cut into {k} equal parts.", d=int(embedding.shape[-1]), k=parts),
            hint=tr("Choose a number of parts that divides the dimensions."),
        )
    groups = embedding.reshape(*embedding.shape[:-1], parts, -1)
    unit: Tensor = nn.functional.normalize(groups, dim=-1, eps=1e-12)
    return unit


def fused(parts: Tensor, variance: Tensor, *, rule: str = "min") -> tuple[Tensor, Tensor]:
    """One template of several pictures: (n, K, d) and (n, K) -> (K, d), the surer pictures weighing more, and (K,).

    `rule` says what becomes of the variance: "min" takes the surest picture's, as PFE does, "bayes" the product's.
    """
    precision = variance.reciprocal()
    unit: Tensor = nn.functional.normalize((parts * precision[..., None]).sum(0), dim=-1, eps=1e-12)  # (K, d)
    if rule == "min":
        return unit, variance.amin(0)
    if rule == "bayes":
        return unit, precision.sum(0).reciprocal()
    raise ValueError(f"rule is min or bayes, not {rule!r}")


class Uncertainty(nn.Module):
    """The logarithm of the variance of each part: FC, BN, ReLU, FC, BN, then one scale and one shift for all parts.

    Everything starts at exp(shift): the last BN has no scale of its own, and the shared one starts at almost nothing.
    """

    def __init__(self, features: int, *, hidden: int, parts: int) -> None:
        super().__init__()
        self.fc1 = nn.Linear(features, hidden, bias=False)  # what follows takes the mean away
        self.bn1 = nn.BatchNorm1d(hidden)
        self.fc2 = nn.Linear(hidden, parts, bias=False)
        self.bn2 = nn.BatchNorm1d(parts, affine=False)
        self.scale = nn.Parameter(torch.tensor(1e-4))
        self.shift = nn.Parameter(torch.tensor(-7.0))

    def forward(self, x: Tensor) -> Tensor:
        inner = self.fc2(nn.functional.relu(self.bn1(self.fc1(x))))
        raw = self.scale * self.bn2(inner) + self.shift  # (B, K)
        # log(1e-6 + exp(raw)): a variance of nothing would make one part decide everything
        smooth: Tensor = nn.functional.softplus(raw - LEAST, threshold=40) + LEAST
        return smooth.clamp(max=-LOWEST)


class Universal(nn.Module):
    """Wraps any backbone that has a patch map of `features` numbers in all.

    With `uncertainty` (the width of that head's hidden layer) the confidences are its 1 / variance.
    `calibrate()` leaves only that head to be trained.
    """

    def __init__(
        self, backbone: nn.Module, *, features: int, parts: int = 16, start: float = START, uncertainty: int = 0
    ) -> None:
        super().__init__()
        self.parts = parts
        self.backbone = backbone
        self.confidence = nn.Linear(features, parts)
        nn.init.zeros_(self.confidence.weight)
        nn.init.constant_(self.confidence.bias, math.log(start))
        self.uncertainty = Uncertainty(features, hidden=uncertainty, parts=parts) if uncertainty else None
        self._calibrates = False

    def calibrate(self) -> list[nn.Parameter]:
        """Freeze all but the uncertainty head, running means included, and give its parameters."""
        if self.uncertainty is None:
            raise InputError(
                tr("This network has no uncertainty head."), hint=tr("Build it with the option uncertainty.")
            )
        self._calibrates = True
        self.requires_grad_(False)
        self.uncertainty.requires_grad_(True)
        self.train(self.training)
        return list(self.uncertainty.parameters())

    def train(self, mode: bool = True) -> Universal:
        super().train(mode)
        if self._calibrates and self.uncertainty is not None:
            super().train(False)
            self.uncertainty.train(mode)
        return self

    def forward(self, x: Tensor) -> Output:
        embedding, patches, _ = self.backbone(x)
        parts = parts_of(embedding, self.parts).flatten(1)
        flat = patches.flatten(1)
        if flat.device.type in ("cpu", "cuda") and torch.is_autocast_enabled(flat.device.type):
            with torch.autocast(flat.device.type, enabled=False):  # three digits of a logarithm are too few
                return Output(parts, patches, self._surety(flat.float()))
        return Output(parts, patches, self._surety(flat))

    def _surety(self, flat: Tensor) -> Tensor:
        if self.uncertainty is not None:
            precision: Tensor = self.uncertainty(flat).neg().exp()  # (B, K)
            return precision
        logarithm: Tensor = self.confidence(flat).clamp(LOWEST, HIGHEST)  # (B, K)
        return logarithm.exp()


def universal(
    backbone: str = "iresnet100",
    *,
    parts: int = 16,
    start: float = START,
    uncertainty: int = 0,
    backbone_options: Mapping[str, Any] | None = None,
) -> Universal:
    """The head around one of MODELS."""
    if backbone not in MODELS or backbone in ("universal", "divided"):
        raise InputError(tr("There is no backbone {name}.", name=escaped(backbone)))
    spec = MODELS[backbone].fitted(backbone_options or {})
    size = measured(spec)
    if size.dimensions % parts:
        raise InputError(tr("{d} dimensions cannot be cut into {k} equal parts.", d=size.dimensions, k=parts))
    rows, columns = size.grid or (0, 0)
    features = size.channels * rows * columns
    return Universal(spec.build(), features=features, parts=parts, start=start, uncertainty=uncertainty)
