"""K learners, each with a slice of the embedding and a cluster of the data: margin loss on one slice at a time.

Computes    l(a, p) = max(0, d_ap - beta + alpha),  l(a, n) = max(0, beta - d_an + alpha),  d = sqrt(|a - b|^2 + 1e-8);
            L = (sum of all l + nu |beta|) / (number of l that are not 0);
            negatives drawn with P(n | a) ~ 1 / q(d),  log q(d) = (n - 2) log d + (n - 3) / 2 log(1 - d^2 / 4),
            d from below brought to 0.5, P = 0 from d = 1.4 on; n the dimensions the loss sees
Shapes      embedding (B, D); with learner k columns k D/K to (k + 1) D/K, with None all; brought to length 1 here
Reference   Sanakoyeu, Tschernezki, Buechler, Ommer, "Divide and Conquer the Embedding Space for Metric Learning",
            CVPR 2019; Wu, Manmatha, Smola, Kraehenbuehl, "Sampling Matters in Deep Embedding Learning", ICCV 2017
Departs     an anchor with no negative in reach keeps its positives; in up to three dimensions, where q has no peak,
            negatives in reach are drawn evenly. `closest` is what the authors' code does instead of drawing
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from facelens.features.losses import Terms, weighted
from facelens.features.models.divided import slice_of

ALPHA, BETA = 0.2, 1.2
REACH = 1.4  # alpha + beta: a negative farther away costs nothing
NEAREST = 0.5  # nearer negatives count as this near: they are few, and their gradients are mostly noise


class Pairs(NamedTuple):
    """What a batch is compared by.

    positive   (P, 2) int64, anchor and another picture of the same person
    negative   (Q, 2) int64, anchor and a picture of somebody else
    """

    positive: Tensor
    negative: Tensor


class Sampler(Protocol):
    """Chooses pairs from unit vectors (B, n) and labels (B,). No gradient passes."""

    def __call__(self, unit: Tensor, labels: Tensor, *, generator: torch.Generator | None = None) -> Pairs: ...


def distances(unit: Tensor) -> Tensor:
    """Between all unit vectors: (B, n) -> (B, B), at least 0.01."""
    with torch.autocast(unit.device.type, enabled=False):
        return (2.0 - 2.0 * (unit @ unit.T)).clamp(min=1e-4).sqrt()


def negative_weights(distance: Tensor, allowed: Tensor, *, dimensions: int) -> Tensor:
    """P(n | a), rows adding up to 1; a row of zeros where no allowed negative is nearer than 1.4.

    Beyond sqrt(2) 1 / q grows again, so that without this cut the most distant would be drawn.
    """
    d = distance.double().clamp(min=NEAREST)
    logarithm = torch.zeros_like(d)
    if dimensions > 3:
        logarithm = (2.0 - dimensions) * d.log() - (dimensions - 3) / 2 * (1.0 - d.square() / 4).clamp(min=1e-8).log()
    within = allowed & (distance < REACH)
    # Against the largest of its own row: 1 / q spans more than a number can hold.
    weight = torch.softmax(logarithm.masked_fill(~within, -torch.inf), 1)
    return torch.where(within, weight, 0.0)


def distance_weighted(unit: Tensor, labels: Tensor, *, generator: torch.Generator | None = None) -> Pairs:
    """All positives; for each of them one negative of its anchor, drawn so that every distance gets its share."""
    with torch.no_grad():
        same, positive = _positives(labels)
        weight = negative_weights(distances(unit), ~same, dimensions=unit.shape[1])
        anchors = positive[:, 0]
        anchors = anchors[weight[anchors].sum(1) > 0]
        if not len(anchors):
            return Pairs(positive, positive[:0])
        drawn = torch.multinomial(weight[anchors], 1, generator=generator)[:, 0]
        return Pairs(positive, torch.stack([anchors, drawn], 1))


def closest(unit: Tensor, labels: Tensor, *, generator: torch.Generator | None = None) -> Pairs:
    """All positives; as many negatives of each anchor, the closest that are not closer than 0.5."""
    with torch.no_grad():
        same, positive = _positives(labels)
        distance = distances(unit)
        far = distance.masked_fill(same | (distance < NEAREST), torch.inf)
        found, order = far.sort(dim=1, stable=True)
        wanted = same.sum(1) - 1
        places = torch.arange(len(labels), device=labels.device)
        taken = (places[None] < wanted[:, None]) & found.isfinite()
        anchors, columns = taken.nonzero(as_tuple=True)
        return Pairs(positive, torch.stack([anchors, order[anchors, columns]], 1))


SAMPLERS: dict[str, Sampler] = {"distance-weighted": distance_weighted, "closest": closest}


class Margin(nn.Module):
    """Margin loss of vectors and labels. `learn_beta` makes the boundary a parameter, `nu` keeps it small."""

    def __init__(
        self,
        *,
        sampler: str = "distance-weighted",
        alpha: float = ALPHA,
        beta: float = BETA,
        learn_beta: bool = False,
        nu: float = 0.0,
    ) -> None:
        super().__init__()
        if sampler not in SAMPLERS:
            raise ValueError(f"sampler is one of {list(SAMPLERS)}, not {sampler!r}")
        self.sampler = sampler
        self.alpha, self.nu = alpha, nu
        self.beta = nn.Parameter(torch.tensor(float(beta)), requires_grad=learn_beta)

    def forward(self, vectors: Tensor, labels: Tensor, *, generator: torch.Generator | None = None) -> Terms:
        """(B, n), (B,) -> terms "positive" and "negative", which add up, and "boundary" with nu."""
        unit = F.normalize(vectors if vectors.dtype == torch.float64 else vectors.float(), dim=1, eps=1e-12)
        return self.of_pairs(unit, SAMPLERS[self.sampler](unit.detach(), labels, generator=generator))

    def of_pairs(self, unit: Tensor, pairs: Pairs) -> Terms:
        """The loss of pairs chosen already. Nothing violated: 0, with a graph."""
        beta = self.beta.to(unit.dtype)
        positive = F.relu(_apart(unit, pairs.positive) - beta + self.alpha)
        negative = F.relu(beta - _apart(unit, pairs.negative) + self.alpha)
        count = ((positive > 0).sum() + (negative > 0).sum()).clamp(min=1)
        terms = {"positive": positive.sum() / count, "negative": negative.sum() / count}
        if self.nu:
            terms["boundary"] = self.nu * beta.abs() / count
        return weighted(terms, {})


class Divided(nn.Module):
    """Margin loss of one learner, or, with learner None, of the embedding as one vector."""

    def __init__(self, dimensions: int, *, learners: int = 8, margin: Margin | None = None) -> None:
        super().__init__()
        if dimensions % learners:
            raise ValueError(f"{learners} learners cannot share {dimensions} dimensions evenly")
        self.dimensions, self.learners = dimensions, learners
        self.margin = margin or Margin()

    def forward(
        self, embedding: Tensor, labels: Tensor, learner: int | None = None, *, generator: torch.Generator | None = None
    ) -> Terms:
        """A learner's batch comes from its cluster; columns of other learners get a gradient of exactly 0."""
        if learner is not None:
            if not 0 <= learner < self.learners:
                raise IndexError(f"there are learners 0 to {self.learners - 1}, not {learner}")
            embedding = embedding[:, slice_of(learner, learners=self.learners, dimensions=self.dimensions)]
        terms: Terms = self.margin(embedding, labels, generator=generator)
        return terms


def _positives(labels: Tensor) -> tuple[Tensor, Tensor]:
    """Who is the same person as whom, and the pairs of two pictures of one person, both ways round."""
    same = labels[:, None] == labels[None]  # (B, B)
    pairs = same.clone()
    pairs.fill_diagonal_(False)
    return same, pairs.nonzero()


def _apart(unit: Tensor, pairs: Tensor) -> Tensor:
    # Of the pairs themselves: 2 - 2 cos has no digits left for twins. 1e-8: the root has no slope at 0.
    return ((unit[pairs[:, 0]] - unit[pairs[:, 1]]).square().sum(1) + 1e-8).sqrt()
