"""Attributes that say nothing about who it is: what is learnt to mine more variations, and the mining itself.

Computes    L_A   = -sum_a log p(l^(a) | x), a over the attributes that are known of a picture
            L_adv = -1/N sum_c log p_D(y = c | x), c over the N people: D cannot tell them apart
            L     = L_A + L_adv, each the mean over the batch, for the network and the attributes; D is held still
            L_D   = -log p_D(y = y_x | x), for D alone, f is held still
            mined u^(a) = p(l^(a) = 1 | x), soft, beside the labels of the variations that were done
Shapes      f (B, D) what the attribute network gives; l (B, A) in [0, 1], NaN = not known; y (B,) int;
            u (N, T) in [0, 1] becomes (N, T + A)
Reference   Shi, Yu, Sohn, Chandraker, Jain, "Towards Universal Representation Learning for Deep Face Recognition",
            CVPR 2020 (mining more variations: smiling, young, gender)
Departs     D is linear and both terms weigh the same, neither is published; L_adv is smallest at p = 1/N, where it is
            log N and not 0; pictures with some attributes unknown learn from the others
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from facelens.features.losses import Terms, weighted
from facelens.progress import Tick, silent
from facelens.words import tr

WEIGHTS: Mapping[str, float] = {"attribute": 1.0, "adversarial": 1.0}


def attribution(told: Tensor, attributes: Tensor) -> Tensor:
    """L_A of each picture: logits and labels (B, A) -> (B,). Labels may be soft, and NaN where nobody knows."""
    told = _precise(told)
    wanted = attributes.to(told.dtype)
    known = wanted.isfinite()
    cost = F.binary_cross_entropy_with_logits(told, wanted.nan_to_num(), reduction="none")
    return cost.masked_fill(~known, 0.0).sum(1)


def anonymity(told: Tensor) -> Tensor:
    """L_adv of each picture: logits (B, N) -> (B,). Least where all people are as likely."""
    return -F.log_softmax(_precise(told), 1).mean(1)


class Attributes(nn.Module):
    """The loss of an attribute network and its classifier, and of D, which looks for identities in what it gives.

    One step is: `discriminate` on what the network gave, step D's optimiser, then call the loss, step the others.
    """

    def __init__(
        self, dimensions: int, attributes: int, *, identities: int, weights: Mapping[str, float] = WEIGHTS
    ) -> None:
        super().__init__()
        if unknown := set(weights) - set(WEIGHTS):
            raise ValueError(f"weights of unknown terms: {sorted(unknown)}")
        self.weights = {**WEIGHTS, **weights}
        self.classifier = nn.Linear(dimensions, attributes)
        self.discriminator = nn.Linear(dimensions, identities)

    def own_parameters(self) -> Iterator[nn.Parameter]:
        """What is trained together with the network: all but D."""
        return self.classifier.parameters()

    def discriminator_parameters(self) -> Iterator[nn.Parameter]:
        """What D's own optimiser trains."""
        return self.discriminator.parameters()

    def forward(self, features: Tensor, attributes: Tensor) -> Terms:
        """What network and classifier minimise. (B, D) and (B, A). Gradients pass through D and leave it as it is."""
        told = self.classifier(features)
        if attributes.shape != told.shape:
            raise ValueError(f"attributes are {tuple(told.shape)}, not {tuple(attributes.shape)}")
        weight, bias = self.discriminator.weight.detach(), self.discriminator.bias.detach()
        terms = {
            "attribute": attribution(told, attributes).mean(),
            "adversarial": anonymity(F.linear(features, weight, bias)).mean(),
        }
        return weighted(terms, self.weights)

    def discriminate(self, features: Tensor, labels: Tensor) -> Terms:
        """What D minimises. (B, D) and (B,). No gradient reaches the features."""
        return weighted({"identity": F.cross_entropy(_precise(self.discriminator(features.detach())), labels)}, {})


@torch.no_grad()
def mine(
    network: nn.Module, classifier: nn.Linear, pictures: Iterable[Tensor], *, total: int = 0, tick: Tick = silent
) -> Tensor:
    """Soft labels of pictures that come in batches (B, 3, H, W): (N, A) on the processor. `total` is for progress."""
    trained = network.training
    network.eval()  # one picture's label must not depend on its neighbours
    found: list[Tensor] = []
    try:
        for batch in pictures:
            tick(sum(map(len, found)), total, tr("Mining variations"))
            found.append(torch.sigmoid(classifier(network(batch).embedding)).cpu())
    finally:
        network.train(trained)
    return torch.cat(found) if found else torch.empty(0, classifier.out_features)


def appended(variations: Tensor, mined: Tensor) -> Tensor:
    """u with mined variations after those that were done: (N, T) and (N, A) -> (N, T + A)."""
    if len(variations) != len(mined):
        raise ValueError(f"{len(variations)} pictures have labels, {len(mined)} were mined")
    return torch.cat([variations.to(mined.dtype), mined.to(variations.device)], 1)


def _precise(x: Tensor) -> Tensor:
    """Float32 at least: half precision has three digits, and logarithms of small numbers need more."""
    return x if x.dtype == torch.float64 else x.float()
