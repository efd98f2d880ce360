"""What trains a transform between two models: equal vectors, equal beliefs, and the right person from either side.

Computes    z_g = n(T_g(n(gallery vector))), z_q = n(T_q(n(query vector))) of the same picture with label y
            similarity  mean of 1 - z_g . z_q
            kl          mean of KL(p_q || p_g),  p = softmax(k z W^T / t), no margin
            dual        CosFace(z_g, y; W) + CosFace(z_q, y; W), one W for both sides
            total       dual + lambda_s similarity + lambda_k kl, both lambdas 1
            M2M: only the gallery side is mapped, into the query model's own space: z_q and p_q are fixed targets.
            Unified: both sides are mapped into a new space and both learn.
Shapes      z_g, z_q (B, D), made unit here; labels (B,) int64; W (C, D), unit rows
Reference   Wang, Chang, Yang, Chen, Lai, "Unified Representation Learning for Cross Model Compatibility", BMVC 2020
            (the three losses); Shoshan et al., "Asymmetric Image Retrieval with Cross Model Compatible Ensembles",
            WACV 2024 (M2M)
Departs     assumed, since no text or code at hand states them: the form of similarity, KL's direction, the lambdas,
            the margin in dual; KL is not multiplied by t^2 as distillation often does;
            k is the head's scale 64 with t = 4: at 64 the softmax is one-hot and KL either 0 or huge
"""

from __future__ import annotations

from typing import Any, Self

import torch.nn.functional as F
from torch import Tensor, nn

from facelens.features.losses import Terms, weighted
from facelens.features.losses.margin import CosFace, MarginHead, class_means, unit_rows

DIRECTIONS = ("q->g", "g->q", "symmetric")


def similarity(z_g: Tensor, z_q: Tensor) -> Tensor:
    """Mean of 1 - cosine, (): half the mean squared distance of the unit vectors."""
    # The distance, not 1 - the cosine: exactly 0 for equal vectors, and no digits lost near them.
    return (unit_rows(z_g) - unit_rows(z_q)).square().sum(1).mean() / 2


def divergence(gallery: Tensor, query: Tensor, *, direction: str = "q->g") -> Tensor:
    """Mean KL divergence between the softmax of two sets of logits (B, C), ().

    "q->g" is KL(query || gallery), "g->q" KL(gallery || query), "symmetric" the mean of the two.
    """
    if direction == "symmetric":
        return (divergence(gallery, query) + divergence(query, gallery)) / 2
    if direction not in DIRECTIONS:
        raise ValueError(f"direction is one of {DIRECTIONS}, not {direction!r}")
    true, found = (query, gallery) if direction == "q->g" else (gallery, query)
    return F.kl_div(found.log_softmax(1), true.log_softmax(1), log_target=True, reduction="batchmean")


class _Mapping(nn.Module):
    """Options of both ways.

    kl_scale is what cosines are multiplied by before the softmax, the head's scale where None; temperature divides
    them.
    """

    fixed_query: bool

    def __init__(
        self,
        head: MarginHead,
        *,
        similarity_weight: float = 1.0,
        kl_weight: float = 1.0,
        dual_weight: float = 1.0,
        kl_direction: str = "q->g",
        kl_scale: float | None = None,
        temperature: float = 4.0,
    ) -> None:
        super().__init__()
        if kl_direction not in DIRECTIONS:
            raise ValueError(f"kl_direction is one of {DIRECTIONS}, not {kl_direction!r}")
        self.head = head
        self.weights = {"similarity": similarity_weight, "kl": kl_weight, "dual": dual_weight}
        self.kl_direction = kl_direction
        self.sharpness = (head.scale if kl_scale is None else kl_scale) / temperature

    def forward(self, z_g: Tensor, z_q: Tensor, *, labels: Tensor) -> Terms:
        if self.fixed_query:
            z_q = z_q.detach()
        gallery, query = (self.sharpness * self.head.cosines(z) for z in (z_g, z_q))  # (B, C) each
        if self.fixed_query:
            query = query.detach()  # a head that learns must not move the target either
        terms = {
            "similarity": similarity(z_g, z_q),
            "kl": divergence(gallery, query, direction=self.kl_direction),
            "dual": self.head.loss(z_g, labels) + self.head.loss(z_q, labels),
        }
        return weighted(terms, self.weights)


class M2M(_Mapping):
    """Gallery vectors into the query model's own space, which stays as it is."""

    fixed_query = True

    @classmethod
    def of_prototypes(
        cls, prototypes: Tensor, *, frozen: bool = True, head: dict[str, Any] | None = None, **options: Any
    ) -> Self:
        """The shared head is a frozen copy of the query model's prototypes (C, D); `head` goes to CosFace."""
        return cls(CosFace.of(prototypes, frozen=frozen, **(head or {})), **options)


class Unified(_Mapping):
    """Both sides into a new space that both learn."""

    fixed_query = False

    @classmethod
    def of_vectors(
        cls,
        vectors: Tensor,
        labels: Tensor,
        *,
        frozen: bool = False,
        head: dict[str, Any] | None = None,
        **options: Any,
    ) -> Self:
        """The shared head starts at the class means of mapped vectors (N, D) and learns; `head` goes to CosFace."""
        means, _ = class_means(vectors.detach(), labels)
        return cls(CosFace.of(means, frozen=frozen, **(head or {})), **options)
