"""K learners share one backbone; each owns a slice of the embedding.

Computes    f_k = n(e[k d/K : (k + 1) d/K]),  f = (f_1, ..., f_K),  e the backbone's embedding
Shapes      e (B, D); f (B, D), K unit vectors of D / K numbers side by side, so its norm is sqrt(K); K = 8, D = 128
Reference   Sanakoyeu, Tschernezki, Buechler, Ommer, "Divide and Conquer the Embedding Space for Metric Learning",
            CVPR 2019
Departs     dimensions that K does not divide are refused; the authors' code gives the last learner fewer
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from facelens.errors import InputError
from facelens.features.models import MODELS, Output
from facelens.features.models.shapes import measured
from facelens.features.models.universal import parts_of
from facelens.words import escaped, tr


def slice_of(learner: int, *, learners: int, dimensions: int) -> slice:
    """Where one learner's numbers lie in the embedding.

    >>> slice_of(1, learners=8, dimensions=128)
    slice(16, 32, None)
    """
    width = dimensions // learners
    return slice(learner * width, (learner + 1) * width)


class Divided(nn.Module):
    """Wraps any backbone. `whole` leaves the embedding in one piece, as in the last phase of training."""

    def __init__(self, backbone: nn.Module, *, learners: int = 8, whole: bool = False) -> None:
        super().__init__()
        self.backbone = backbone
        self.learners = learners
        self.whole = whole

    def forward(self, x: Tensor) -> Output:
        embedding, patches, _ = self.backbone(x)
        if not self.whole:
            embedding = parts_of(embedding, self.learners).flatten(1)
        return Output(embedding, patches)


def initialise_slices(layer: nn.Linear, *, learners: int) -> None:
    """Xavier for each learner's rows on their own, so that the number of learners does not change their scale."""
    with torch.no_grad():
        for learner in range(learners):
            rows = slice_of(learner, learners=learners, dimensions=layer.out_features)
            layer.weight[rows] = nn.init.xavier_uniform_(torch.empty_like(layer.weight[rows]))
        if layer.bias is not None:
            layer.bias.zero_()


def divided(
    backbone: str = "resnet50",
    *,
    learners: int = 8,
    whole: bool = False,
    backbone_options: Mapping[str, Any] | None = None,
) -> Divided:
    """The head around one of MODELS."""
    if backbone not in MODELS or backbone in ("universal", "divided"):
        raise InputError(tr("There is no backbone {name}.", name=escaped(backbone)))
    spec = MODELS[backbone].fitted(backbone_options or {})
    dimensions = measured(spec).dimensions
    if dimensions % learners:
        raise InputError(tr("{d} dimensions cannot be cut into {k} equal parts.", d=dimensions, k=learners))
    network = Divided(spec.build(), learners=learners, whole=whole)
    last = getattr(network.backbone, "fc", None)
    if isinstance(last, nn.Linear) and last.out_features == dimensions:
        initialise_slices(last, learners=learners)
    return network
