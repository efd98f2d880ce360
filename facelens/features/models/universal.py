"""Sub-embeddings with a confidence for each: one vector that knows which of its parts to trust.

Computes    f^(k) = n(k-th of K equal groups of the backbone's embedding), supplement section 3 (||f^(k)|| = 1);
            s^(k) = exp(clamp(w_k . flatten(m) + b_k, -10, 7)), m the backbone's patch map
Shapes      embedding (B, D), K unit vectors of D / K numbers side by side, so its norm is sqrt(K);
            confidence (B, K), > 0; patches (B, C, rows, columns) of the backbone. K = 16, D = 512
Reference   Shi, Yu, Sohn, Chandraker, Jain, "Towards Universal Representation Learning for Deep Face Recognition",
            CVPR 2020
Departs     the first branch is the backbone's own embedding layer; the clamp keeps exp finite; confidences start at
            64, near the scale CosFace uses: from 1 the first loss is all margin and the gradients are tiny
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn

from facelens.errors import InputError
from facelens.features.models import MODELS, Output
from facelens.features.models.shapes import measured
from facelens.words import escaped, tr

START = 64.0
LOWEST, HIGHEST = -10.0, 7.0  # of the logarithm


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


class Universal(nn.Module):
    """Wraps any backbone that has a patch map of `features` numbers in all."""

    def __init__(self, backbone: nn.Module, *, features: int, parts: int = 16, start: float = START) -> None:
        super().__init__()
        self.parts = parts
        self.backbone = backbone
        self.confidence = nn.Linear(features, parts)
        nn.init.zeros_(self.confidence.weight)
        nn.init.constant_(self.confidence.bias, math.log(start))

    def forward(self, x: Tensor) -> Output:
        embedding, patches, _ = self.backbone(x)
        logarithm = self.confidence(patches.flatten(1)).clamp(LOWEST, HIGHEST)  # (B, K)
        return Output(parts_of(embedding, self.parts).flatten(1), patches, logarithm.exp())


def universal(
    backbone: str = "iresnet100",
    *,
    parts: int = 16,
    start: float = START,
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
    return Universal(spec.build(), features=size.channels * rows * columns, parts=parts, start=start)
